"""The parser: every key and value has its place, values are what the file says, and no text ends in an exception."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_training.document import MAX_DEPTH, Document, parse, split_lines, walk
from eks_training.finding import Finding, Path, Span

pytestmark = pytest.mark.schema


def document(text: str) -> Document:
    parsed, findings = parse(text, "f")
    assert not findings
    assert parsed is not None
    return parsed


def refusal(text: str) -> Finding:
    parsed, findings = parse(text, "f")
    assert parsed is None
    return findings[0]


def place(span: Span | None) -> tuple[int, int]:
    assert span is not None
    return span.line, span.column


@pytest.mark.parametrize(
    ("text", "path", "key", "value"),
    [
        ("a: 1\nbc: xyz\n", ("bc",), (2, 1), (2, 5, 2, 8)),
        ("a:\n  - b\n  - c: d\n", ("a", 1, "c"), (3, 5), (3, 8, 3, 9)),
        ("a: {b: 1, c: [x, y]}\n", ("a", "c", 1), (1, 18), (1, 18, 1, 19)),
        ("größe: 'äöü'\nx: 1\n", ("größe",), (1, 1), (1, 8, 1, 13)),
        ("日本: {語: 🙂, z: 1}\n", ("日本", "z"), (1, 12), (1, 15, 1, 16)),
        ("a: 1\r\nb: 2\r\n", ("b",), (2, 1), (2, 4, 2, 5)),
        ("a: 1\rb: 2\r", ("b",), (2, 1), (2, 4, 2, 5)),
        ("a:\t1\nb: 2\t# c\n", ("b",), (2, 1), (2, 4, 2, 5)),
        ('"quoted key": v\n', ("quoted key",), (1, 1), (1, 15, 1, 16)),
        ("? a\n: b\n", ("a",), (1, 3), (2, 3, 2, 4)),
        ("--- # first\na: 1\n...\n", ("a",), (2, 1), (2, 4, 2, 5)),
    ],
)
def test_place_of_key_and_value(text: str, path: Path, key: tuple[int, int], value: tuple[int, int, int, int]) -> None:
    parsed = document(text)
    assert place(parsed.span(path, prefer_key=True)) == key
    assert parsed.span(path) == Span(*value)
    assert parsed.as_written(path) == parsed.lines[value[0] - 1][value[1] - 1 : value[3] - 1]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("tRuE", "tRuE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("012", 12),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("1.30", 1.3),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("190:20:30", "190:20:30"),
        ("04:00", "04:00"),
        ("2026-12-01", "2026-12-01"),
        ("2026-12-01T11:30:00Z", "2026-12-01T11:30:00Z"),
        ('"12"', "12"),
        ("'true'", "true"),
        ("! 12", "12"),
        ("!!str 12", "12"),
        ("9" * 200, int("9" * 200)),
        ("|\n  two\n  lines", "two\nlines\n"),
        (">-\n  folded\n  text", "folded text"),
        ("a b  # comment", "a b"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
    ],
)
def test_value_of_a_scalar(written: str, value: object) -> None:
    found = document(f"k: {written}\n").value
    assert found == {"k": value}
    assert isinstance(found, dict)
    assert type(found["k"]) is type(value)


def test_keys_are_text_whatever_they_look_like() -> None:
    assert document("1: a\ntrue: b\nnull: c\n1.5: d\n").value == {"1": "a", "true": "b", "null": "c", "1.5": "d"}


def test_huge_numbers_do_not_hang_or_raise() -> None:
    assert document(f"a: {'9' * 100_000}\nb: 1e999\n").keys.keys() == {("a",), ("b",)}


@pytest.mark.parametrize(
    ("text", "rule", "at"),
    [
        ("a: 1\nb: 2\na: 3\n", "CFG002", (3, 1)),
        ("a: {b: 1, b: 2}\n", "CFG002", (1, 11)),
        ("a: &x 1\n", "CFG006", (1, 4)),
        ("a: !mine 1\n", "CFG006", (1, 4)),
        ("a: !!int 1\n", "CFG006", (1, 4)),
        ("a: !!python/object/apply:os.system [x]\n", "CFG006", (1, 4)),
        ("a: !!binary aGk=\n", "CFG006", (1, 4)),
        ("a:\n  <<: {b: 1}\n", "CFG006", (2, 3)),
    ],
)
def test_features_that_hide_something_are_findings(text: str, rule: str, at: tuple[int, int]) -> None:
    _, findings = parse(text, "f")
    assert [(item.rule, place(item.span)) for item in findings] == [(rule, at)]


@pytest.mark.parametrize(
    ("text", "rule", "at", "says"),
    [
        ("a: &x 1\nb: *x\n", "CFG006", (1, 4), "&x"),
        ("a: 1\n---\nb: 2\n", "CFG006", (2, 1), "`---` for the second time"),
        ("", "CFG001", (1, 1), "nothing"),
        ("# only a comment\n", "CFG001", (1, 1), "nothing"),
        ("null\n", "CFG001", (1, 1), "nothing"),
        ("- a\n", "CFG001", (1, 1), "a list"),
        ("word\n", "CFG001", (1, 1), "a single value"),
        ("a: [1\n", "CFG001", (2, 1), "flow sequence"),
        ("a: 'x\n", "CFG001", (2, 1), "quoted scalar"),
        ("a: 1\n b: 2\n", "CFG001", (2, 3), "mapping values are not allowed"),
        ("a:\n\t- b\n", "CFG001", (2, 1), "cannot start any token"),
        ("? [a]\n: b\n", "CFG005", (1, 3), "a collection as a key"),
        ("{{ value }}: 1\n", "CFG005", (1, 1), "a collection as a key"),
        ("a: 1\nb: x\x00y\n", "CFG001", (2, 5), "#x0000"),
        ("a: \x1b[2J\n", "CFG001", (1, 4), "#x001b"),
        ("a: \ud800\n", "CFG001", (1, 4), "#xd800"),
        ("ä: \x07\n", "CFG001", (1, 4), "#x0007"),
        ("# \u2028 here\nb: 2\n", "CFG001", (1, 3), "invisible character #x2028"),
        ("a: x\x85b: 2\n", "CFG001", (1, 5), "invisible character #x0085"),
        ("a: *missing\n", "CFG006", (1, 4), "*missing"),
        ("%YAML 9.9\n---\na: 1\n", "CFG001", (1, 1), "incompatible YAML document"),
    ],
)
def test_unreadable_text_is_one_finding_with_a_place(text: str, rule: str, at: tuple[int, int], says: str) -> None:
    finding = refusal(text)
    assert (finding.rule, place(finding.span)) == (rule, at)
    assert says in finding.found


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "a:\n" + "  " * 60 + "- - - - -"])
def test_nesting_bombs_are_cheap(text: str) -> None:
    start = time.process_time()
    parsed, findings = parse(text, "f")
    assert time.process_time() - start < 5
    assert parsed is not None or findings


def test_depth_up_to_the_limit_is_read() -> None:
    assert document("a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)).value
    assert refusal("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH).title == "nested too deeply"


def test_billion_laughs_end_at_the_first_alias() -> None:
    assert refusal("a: &a [x]\nb: [*a, *a]\n").rule == "CFG006"


def test_the_first_of_two_equal_keys_keeps_value_and_place() -> None:
    parsed, _ = parse("a: {b: 1}\nc: 2\na: {b: 3}\n", "f")
    assert parsed is not None
    assert parsed.value == {"a": {"b": 1}, "c": 2}
    assert (place(parsed.span(("a", "b"))), parsed.as_written(("a", "b"))) == ((1, 8), "1")


def test_a_path_without_a_place_gets_the_nearest_parent() -> None:
    parsed = document("a:\n  b: 1\n  c:\n    d: 2\n")
    assert place(parsed.span(("a", "missing"))) == (1, 1)
    assert place(parsed.span(("a", "c", "missing", 3))) == (3, 3)
    assert place(parsed.span(("nowhere",))) == (1, 1)
    assert place(parsed.span(("a", "c"))) == (3, 3)


def test_walk_names_every_path_once() -> None:
    parsed = document("a: [1, {b: 2}]\nc: 3\n")
    assert [path for path, _ in walk(parsed.value)] == [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]


def holds(span: Span, lines: tuple[str, ...]) -> bool:
    inside = 1 <= span.line <= span.end_line <= len(lines)
    return inside and 1 <= span.column <= len(lines[span.line - 1]) + 1


YAMLISH = st.text(alphabet=st.sampled_from("ab1 -:?,[]{}#&*!|>'\"%@`\t\n\r\x85\u2028\ufeffä0~<=.\\"), max_size=60)


@given(st.one_of(st.text(max_size=80), YAMLISH))
def test_any_text_gives_values_or_findings_with_places(text: str) -> None:
    parsed, findings = parse(text, "f")
    lines = split_lines(text)
    assert all(item.span is not None and holds(item.span, lines) for item in findings)
    if parsed is None:
        assert findings
        return
    assert parsed.lines == lines
    for path, value in walk(parsed.value):
        if path:
            assert holds(parsed.span(path), lines)
            assert holds(parsed.span(path, prefer_key=True), lines)
        if path in parsed.values and isinstance(value, (int, float)):
            assert parsed.as_written(path).strip()


WORDS = st.text(alphabet=st.sampled_from("abcxyz äé日"), min_size=1, max_size=8).map(str.strip).filter(bool)
TREES = st.recursive(
    st.one_of(WORDS, st.integers(-9999, 9999), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, TREES, max_size=4), st.booleans())
def test_what_json_writes_is_read_back(tree: dict[str, object], crlf: bool) -> None:
    text = json.dumps(tree, indent=2, ensure_ascii=False)
    parsed = document(text.replace("\n", "\r\n") if crlf else text)
    assert parsed.value == tree
    for path, value in walk(parsed.value):
        if path and not isinstance(value, (dict, list)):
            assert parsed.as_written(path) == json.dumps(value, ensure_ascii=False)
