"""From bytes to a Spec: every key is checked at its own line, and every message is in the user's words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from eks_training import report
from eks_training.document import parse, walk
from eks_training.finding import Finding, Path
from eks_training.loading import MAX_BYTES, Loaded, fields_at, load, load_bytes, nested_models, validate
from eks_training.spec import Cluster

pytestmark = pytest.mark.schema

ROOT = FilePath(__file__).resolve().parent.parent
EXAMPLE = (ROOT / "cluster.yaml").read_bytes()

# Every field of every section stands here once; a test below says so.
COMPLETE = """\
name: complete
region: us-east-2
account: "111122223333"
tags: {team: research}
network:
  training_zone: us-east-2b
  second_zone: us-east-2a
  cidr: 10.64.0.0/16
  existing_vpc:
    id: vpc-0123456789abcdef0
    cidr: 10.64.0.0/16
    training_subnet: {id: subnet-0123456789abcdef0, zone: us-east-2b, cidr: 10.64.0.0/20}
    system_subnets: [{id: subnet-0123456789abcdef1, zone: us-east-2b, cidr: 10.64.16.0/24}]
    control_plane_subnets:
      - {id: subnet-0123456789abcdef2, zone: us-east-2b, cidr: 10.64.17.0/27}
      - {id: subnet-0123456789abcdef3, zone: us-east-2a, cidr: 10.64.17.32/27}
  egress: nat
  flow_logs: {enabled: true, retention_days: 30}
kubernetes:
  version: "1.35"
  endpoint: {access: public, allowed_cidrs: [192.0.2.0/24]}
  administrators: ["arn:aws:iam::111122223333:role/admin"]
  scaling_tier: standard
  log_retention_days: 90
  addon_versions: {vpc-cni: v1.20.0-eksbuild.1}
  support: standard
pools:
  train:
    purpose: training
    instance_type: p5.48xlarge
    provisioner: node-group
    nodes: {min: 0, max: 8, desired: 4}
    capacity:
      type: capacity-block
      id: cr-0a1b2c3d4e5f67890
      resource_group: arn:aws:resource-groups:us-east-2:111122223333:group/blocks
      start: "2026-12-01T11:30:00Z"
      end: "2026-12-08T11:30:00Z"
    placement: {existing: my-group}
    efa: all
    image: {family: al2023, release: 1.35.6-20260714}
    root_volume: {size_gib: 500, iops: 3000, throughput_mibps: 250}
    local_nvme: raid0
    labels: {team: a}
    taints: [{key: a.example/b, value: c, effect: NoSchedule}]
    security_groups: [sg-0123456789abcdef0]
    auto_repair: false
    static_capacity: false
    longest_job: 72h
    checkpoint_interval: 30m
    disruption:
      expire_after: 720h
      termination_grace_period: 4h
      consolidation: WhenEmpty
      consolidate_after: 10m
storage:
  removal: retain
  lustre:
    work:
      create:
        deployment: PERSISTENT_2
        storage_class: SSD
        capacity_gib: 9600
        throughput_mbps_per_tib: 500
        throughput_mbps: 4000
        read_cache: {sizing: USER_PROVISIONED, size_gib: 100}
        metadata: {mode: USER_PROVISIONED, iops: 6000}
        efa: true
        compression: LZ4
        lustre_version: "2.15"
        backups: {retention_days: 7, start_time: "04:00", copy_tags: true}
        maintenance_window: "7:03:30"
        associations:
          data:
            bucket: data
            prefix: c4/
            path: /data
            auto_import: [NEW]
            auto_export: [NEW]
            import_metadata_on_create: true
            chunk_mib: 1024
        removal: delete
      existing:
        id: fs-0123456789abcdef0
        dns_name: fs.example.org
        mount_name: a1b2cdef
        deployment: PERSISTENT_2
        lustre_version: "2.15"
  efs:
    homes:
      create:
        throughput: elastic
        backups: true
        access_points: {home: {path: /home, uid: 1000, gid: 100, permissions: "0750"}}
        removal: retain
      existing: {id: fs-0123456789abcdef0, access_points: {home: fsap-0123456789abcdef0}}
  buckets:
    data:
      create:
        bucket_name: example-new
        encryption: s3
        noncurrent_days: 30
        abort_uploads_days: 7
        removal: retain
      existing:
        bucket_name: example-old
        region: us-east-2
        kms_key_arn: arn:aws:kms:us-east-2:111122223333:key/1a2b
      grants: [{namespace: training, service_account: trainer, access: write}]
      mount: false
instance_types:
  p9.48xlarge:
    source: made up for a test
    arch: amd64
    vcpus: 192
    memory_mib: 2097152
    accelerator: {kind: neuron, model: t9, count: 8, memory_mib_each: 1, neuron_cores: 2}
    network_cards: 1
    interfaces_per_card: [8]
    ipv4_per_interface: 50
    efa_interfaces: 1
    efa_cards: [0]
    instance_store_gb: 100
components: {anything: {goes: here}}
suppressions: [{rule: FSX001, at: storage, reason: because of a test}]
"""


@functools.cache
def complete() -> Any:
    document, findings = parse(COMPLETE, "f")
    assert document is not None
    assert not findings
    return document.value


def dumped(value: Any) -> str:
    """One key in a line, so that the line of a finding says which key it means."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=False, width=1000)


def changed(path: Path, change: Any) -> Any:
    """The complete example with `change(section, key)` done at a path."""
    value = yaml.safe_load(dumped(complete()))
    section = value
    for part in path[:-1]:
        section = section[part]
    change(section, path[-1])
    return value


def fields() -> Iterator[tuple[Path, type[BaseModel], str]]:
    """Every field of the complete example with its model."""
    for path, _ in walk(complete()):
        if path and isinstance(path[-1], str) and path[-1] in fields_at(path[:-1]):
            for model in models():
                if tuple(model.model_fields) == fields_at(path[:-1]):
                    yield path, model, path[-1]


@functools.cache
def models() -> tuple[type[BaseModel], ...]:
    found: list[type[BaseModel]] = [Cluster]
    for model in found:
        for field in model.model_fields.values():
            found += [item for item in nested_models(field.annotation) if item not in found]
    return tuple(found)


FIELDS = list(fields())
IDS = [".".join(map(str, path)) for path, _, _ in FIELDS]
MODEL_NAMES = re.compile(rf"\b(?:{'|'.join(model.__name__ for model in models() if not model.__name__.islower())})\b")
LIBRARY_WORDS = re.compile(
    r"pydantic|validat|input should|valid string|nonetype|traceback|function-|union_tag|_type\b|literal\[|\bdict\b",
    re.IGNORECASE,
)


def loaded(value: Any) -> Loaded:
    return load_bytes(dumped(value).encode(), "f")


def in_plain_words(findings: tuple[Finding, ...]) -> None:
    for item in findings:
        ours = f"{item.title} {item.expected} {item.hint}"
        assert not LIBRARY_WORDS.search(f"{ours} {item.found}"), item
        assert not set(MODEL_NAMES.findall(ours)) - {"Karpenter", "Kubernetes", "Region", "Efs", "Metadata"}, item
        assert item.found, item
        assert item.expected, item


def well_placed(result: Loaded) -> None:
    for item in result.findings:
        span = item.span
        assert span is not None
        assert 1 <= span.line <= span.end_line
        assert 1 <= span.column
        if result.lines:
            assert span.end_line <= len(result.lines)
            assert span.column <= len(result.lines[span.line - 1]) + 1
    report.text(result.findings, result.file, result.lines)
    report.as_json(result.findings, result.file)


def test_the_complete_example_has_every_field_of_every_section() -> None:
    every = {(model.__name__, name) for model in models() for name in model.model_fields}
    assert every == {(model.__name__, name) for _, model, name in FIELDS}
    assert loaded(complete()).findings == ()


def misspelt(name: str) -> list[str]:
    middle = len(name) // 2
    swapped = name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]
    return [name + name[-1], *([swapped] if len(name) > 5 and swapped != name else [])]


@pytest.mark.parametrize(("path", "model", "name"), FIELDS, ids=IDS)
def test_a_misspelt_key_is_refused_on_its_line_with_the_right_name(
    path: Path, model: type[BaseModel], name: str
) -> None:
    for wrong in misspelt(name):

        def rename(section: Any, key: str, wrong: str = wrong) -> None:
            items = [(wrong if old == key else old, value) for old, value in section.items()]
            section.clear()
            section.update(items)

        result = loaded(changed(path, rename))
        (finding,) = result.findings
        assert (finding.rule, finding.at) == ("CFG003", (*path[:-1], wrong))
        assert finding.hint == f"did you mean `{name}`?"
        assert finding.span is not None
        line = result.lines[finding.span.line - 1]
        assert line[finding.span.column - 1 : finding.span.end_column - 1] == wrong
        in_plain_words(result.findings)


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, name) for path, model, name in FIELDS if model.model_fields[name].is_required()],
    ids=[name for name, (_, model, field) in zip(IDS, FIELDS, strict=True) if model.model_fields[field].is_required()],
)
def test_a_missing_key_is_named_at_its_section(path: Path, name: str) -> None:
    result = loaded(changed(path, lambda section, key: section.pop(key)))
    (finding,) = result.findings
    assert (finding.rule, finding.at, finding.found) == ("CFG004", path, f"no `{name}` here")
    assert finding.hint == f"add `{name}:` to this section"
    assert finding.expected.endswith((".", ")")), "the description of the field"
    well_placed(result)


WRONG = ([["x"]], {"zzz": {"y": 1}}, True, -1, 1.5, 10**30, "", "no such\nvalue é", "x" * 5000)


@pytest.mark.parametrize(("path", "model", "name"), FIELDS, ids=IDS)
def test_wrong_values_are_refused_in_plain_words(path: Path, model: type[BaseModel], name: str) -> None:
    if path[0] == "components":
        return
    for wrong in WRONG:
        result = loaded(changed(path, lambda section, key, wrong=wrong: section.update({key: wrong})))
        in_plain_words(result.findings)
        well_placed(result)
        assert all(item.at[: len(path)] == path for item in result.findings)
        assert all(len(item.found) < 200 for item in result.findings)


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
         "`cluster`, `none`, or {existing: NAME}", ""),
        ("placement: {existing: my-group}", "placement: 5", "5", "`cluster`, `none`, or {existing: NAME}", ""),
        ("nodes: {min: 0, max: 8, desired: 4}", "nodes: many", 'the text "many"',
         "a whole number, or {min: NUMBER, max: NUMBER}", ""),
        ("access: public", "access: pubic", 'the text "pubic"', "`private` or `public`", ""),
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
    in_plain_words(tuple(item for item in result.findings if item.rule != "CFG001"))
    well_placed(result)


@given(st.binary(max_size=200))
def test_any_bytes_give_findings(data: bytes) -> None:
    result = load_bytes(data, "f")
    assert result.findings
    well_placed(result)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=5,
)


@given(st.sampled_from(FIELDS), VALUES)
def test_any_value_in_any_field_is_refused_in_plain_words_or_read(
    field: tuple[Path, type[BaseModel], str], value: object
) -> None:
    path = field[0]
    document, _ = parse(dumped(changed(path, lambda section, key: section.update({key: value}))), "f")
    if document is not None:
        spec, findings = validate(document)
        assert (spec is None) == bool(findings)
        if path[0] != "components":
            in_plain_words(tuple(item for item in findings if item.rule == "CFG005"))
