"""From bytes to a Spec: what people write wrongly, and the message they get."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_training.finding import Finding, Path
from eks_training.loading import MAX_BYTES, load, load_bytes
from tests.complete import COMPLETE, changed, in_plain_words, loaded, well_placed

pytestmark = pytest.mark.schema

ROOT = FilePath(__file__).resolve().parent.parent
EXAMPLE = (ROOT / "cluster.yaml").read_bytes()


def one(old: str, new: str) -> Finding:
    assert COMPLETE.count(old) == 1, old
    (finding,) = load_bytes(COMPLETE.replace(old, new).encode(), "f").findings
    return finding


@pytest.mark.parametrize(
    ("old", "new", "found", "expected", "hint"),
    [
        ("name: complete", "name: true", "true", "text", 'write "true" in quotes if the word is meant'),
        ("name: complete", "name:", "nothing", "text", ""),
        ("name: complete", "name: [a, b]", "a list of 2", "text", ""),
        ("retention_days: 7", "retention_days: '7'", 'the text "7"', "a whole number", "write 7 without quotes"),
        ("retention_days: 7", "retention_days: 7.0", "7.0", "a whole number", ""),
        ("retention_days: 7", "retention_days: 0x5b", "0x5b", "90 or less", ""),
        ("retention_days: 7", "retention_days: -1", "-1", "0 or more", ""),
        ("mount: false", "mount: no", 'the text "no"', "true or false", "write true or false without quotes"),
        ("longest_job: 72h", "longest_job: 72", "72", "a duration such as 90m, 12h or 3d", ""),
        ("expire_after: 720h", "expire_after: x", 'the text "x"', "a duration such as 90m, 12h or 3d, or `Never`", ""),
        ("auto_import: [NEW]", "auto_import: NEW", 'the text "NEW"', "a list", ""),
        ("labels: {team: a}", "labels: [a]", "a list of 1", "a mapping of names to values", ""),
        ("placement: {existing: my-group}", "placement: custer", 'the text "custer"',
         "`cluster`, `none`, or {existing: NAME}", "perhaps `cluster`"),
        ("placement: {existing: my-group}", "placement: 5", "5", "`cluster`, `none`, or {existing: NAME}", ""),
        ("nodes: {min: 0, max: 8, desired: 4}", "nodes: many", 'the text "many"',
         "a whole number, or {min: NUMBER, max: NUMBER}", ""),
        ("access: public", "access: pubic", 'the text "pubic"', "`private` or `public`", "perhaps `public`"),
    ],
)  # fmt: skip
def test_message_for_a_wrong_value(old: str, new: str, found: str, expected: str, hint: str) -> None:
    finding = one(old, new)
    assert (finding.rule, finding.found, finding.expected, finding.hint) == ("CFG005", found, expected, hint)


@pytest.mark.parametrize("wrong", ["spott", "5", "[spot]"])
def test_a_wrong_short_form_is_marked_where_it_stands(wrong: str) -> None:
    text = EXAMPLE.decode().replace("capacity: on-demand", f"capacity: {wrong}")
    result = load_bytes(text.encode(), "f")
    (finding,) = result.findings
    assert finding.at == ("pools", "h200", "capacity")
    assert finding.expected == "`on-demand`, `spot`, or a section {type: …, id: …}"
    assert finding.span is not None
    assert result.lines[finding.span.line - 1][finding.span.column - 1 :] == wrong


@pytest.mark.parametrize("wrong", ["{range: {max: 3}}", "{fixed: 3}"])
def test_names_of_alternatives_never_stand_in_a_path(wrong: str) -> None:
    text = COMPLETE.replace("nodes: {min: 0, max: 8, desired: 4}", f"nodes: {wrong}")
    paths = {(item.rule, item.at) for item in load_bytes(text.encode(), "f").findings}
    nodes = ("pools", "train", "nodes")
    assert paths == {("CFG004", (*nodes, "max")), ("CFG003", (*nodes, wrong[1:6]))}


@pytest.mark.parametrize(
    ("old", "new", "read"),
    [
        ('account: "111122223333"', "account: 012345678901", lambda spec: spec.account == "012345678901"),
        ('version: "1.35"', "version: 1.30", lambda spec: spec.kubernetes.version == "1.30"),
        ('permissions: "0750"', "permissions: 0700",
         lambda spec: spec.storage.efs["homes"].create.access_points["home"].permissions == "0700"),
        ('compression: LZ4\n        lustre_version: "2.15"', "lustre_version: 2.10",
         lambda spec: spec.storage.lustre["work"].create.lustre_version == "2.10"),
        ("{existing: my-group}", "{existing: 0x10}", lambda spec: spec.pools["train"].placement.existing == "0x10"),
        ("tags: {team: research}", "tags: {team: 1.0}", lambda spec: spec.tags == {"team": "1.0"}),
    ],
)  # fmt: skip
def test_a_number_where_text_is_wanted_is_the_text_of_the_file(old: str, new: str, read: Any) -> None:
    assert COMPLETE.count(old) == 1
    result = load_bytes(COMPLETE.replace(old, new).encode(), "f")
    assert result.findings == ()
    assert read(result.spec)


def test_a_number_that_is_no_text_either_is_shown_as_written() -> None:
    assert one('version: "1.35"', "version: 1.350").found == 'the text "1.350"'


@pytest.mark.parametrize(
    ("path", "ok", "refused"),
    [
        (("storage", "efs", "homes", "create", "access_points", "home", "path"),
         ["/", "/a", "/a/b/c/d"], ["home", "/a/", "/a/b/c/d/e", "/.a", "/" + "a" * 100, "/a b", "/" + "a" * 40 + "!"]),
        (("storage", "efs", "homes", "create", "access_points", "home", "permissions"),
         ["750", "0750", "1777"], ["00750", "8", "rwx"]),
        (("storage", "lustre", "work", "create", "associations", "data", "path"),
         ["/", "/a", "/a/b/", "/a.b/..c"], ["a", "//", "/a//b", "/../a", "/a/..", "/a/./b"]),
        (("storage", "buckets", "data", "existing", "kms_key_arn"),
         ["arn:aws:kms:us-east-2:111122223333:key/mrk-1"], ["alias/x", "arn:aws:kms:us-east-2:111122223333:alias/x"]),
        (("pools", "train", "labels", "team"), ["a", ""], ["ä", "-a"]),
        (("tags", "team"), ["ä", "", "a b"], ["a\nb", "a;b"]),
        (("storage", "lustre", "work", "create", "capacity_gib"), [1200, 2147483647], [0, 2147483648]),
    ],
)  # fmt: skip
def test_forms_of_single_fields(path: Path, ok: list[object], refused: list[object]) -> None:
    for value, good in [*((item, True) for item in ok), *((item, False) for item in refused)]:
        result = loaded(changed(path, lambda section, key, value=value: section.update({key: value})))
        assert (result.findings == ()) is good, value


@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        (b"a: 1\nb: \xff\n", (2, 4), "byte 0xff"),
        ("ä: 1\r\nöö: ".encode() + b"\xc3(\n", (2, 5), "byte 0xc3"),
        ("a: 1".encode("utf-16"), (1, 1), "byte 0xff"),
        (b"#" * (MAX_BYTES + 1), (1, 1), f"more than {MAX_BYTES} bytes"),
    ],
)
def test_bytes_that_are_no_text(data: bytes, place: tuple[int, int], found: str) -> None:
    result = load_bytes(data, "f")
    (finding,) = result.findings
    assert finding.span is not None
    assert (finding.span.line, finding.span.column) == place
    assert finding.found == found
    well_placed(result)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    plain, windows = load_bytes(EXAMPLE, "f"), load_bytes(b"\xef\xbb\xbf" + EXAMPLE.replace(b"\n", b"\r\n"), "f")
    assert plain.spec == windows.spec is not None
    assert plain.lines == windows.lines


def test_the_example_loads_from_its_file() -> None:
    assert load(str(ROOT / "cluster.yaml")).findings == ()


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: FilePath) -> None:
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "no.yaml"))


def test_every_fault_of_a_file_is_found_in_one_run() -> None:
    result = load_bytes(b"name: X\nregion: here\nnetwork: {}\npools: {}\nextra: 1\nextra: 2\n", "f")
    assert {item.rule for item in result.findings} == {"CFG002", "CFG003", "CFG004", "CFG005"}
    assert len(result.findings) == 8
    assert result.spec is None


@given(st.data())
def test_any_mutation_of_the_example_gives_findings_or_a_spec(data: st.DataObject) -> None:
    content = bytearray(EXAMPLE)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = min(len(content), start + data.draw(st.sampled_from([0, 0, 1, 2, 7, 40, 400])))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from(
                    [b"", b"\n", b"  ", b"- ", b": ", b"{", b"]", b"'", b'"', b"&a ", b"*a", b"!x ", b"\t"]
                ),
                st.text(max_size=4).map(lambda text: text.encode("utf-8", "replace")),
                st.integers(0, len(EXAMPLE) - 1).map(lambda at: EXAMPLE[at : at + 60]),
            )
        )
        content[start:end] = piece
    result = load_bytes(bytes(content), "f")
    assert (result.spec is None) == bool(result.findings)
    in_plain_words(tuple(item for item in result.findings if item.rule not in ("CFG001", "CFG002")))
    well_placed(result)


@given(st.binary(max_size=200))
def test_any_bytes_give_findings(data: bytes) -> None:
    result = load_bytes(data, "f")
    assert result.findings
    well_placed(result)


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ("purpose: system", "purpose: sytem", "perhaps `system`"),
        ("purpose: system", "purpose: System", "perhaps `system`"),
        ("purpose: system", "purpose: gpu", ""),
    ],
)
def test_a_word_that_is_nearly_right_gets_the_right_one(before: str, after: str, hint: str) -> None:
    text = (ROOT / "cluster.yaml").read_text()
    assert before in text
    (finding,) = load_bytes(text.replace(before, after).encode(), "c.yaml").findings
    assert finding.hint == hint
