"""Messages to the letter: the layout for people, the JSON for programs, and the caret under long and odd lines."""

from __future__ import annotations

import json

import pytest

from eks_training.finding import Finding, Related, Severity, Span
from eks_training.loading import load_bytes
from eks_training.report import COLOUR, MAX_LINE, MAX_TEXT, as_json, block, text

pytestmark = pytest.mark.schema

LINES = ("parallel:", "  tensor: 8", "  pipeline: 4", "pools: {}")
FINDING = Finding(
    rule="PAR001",
    severity=Severity.ERROR,
    title="parallel sizes do not multiply to the number of ranks",
    found="tensor 8 x pipeline 4 x data 3 = 96 ranks",
    expected="8 nodes x 8 accelerators = 64 ranks",
    hint="set data to 2, or nodes to 12",
    at=("parallel", "pipeline"),
    related=(Related(("pools", "train"), "the nodes", Span(4, 1, 4, 6)),),
    span=Span(3, 3, 3, 11),
)


def test_layout_of_a_message() -> None:
    assert block(FINDING, "cluster.yaml", LINES) == (
        "cluster.yaml:3:3: error PAR001: parallel sizes do not multiply to the number of ranks\n"
        "    3 |   pipeline: 4\n"
        "      |   ^^^^^^^^\n"
        "   found:    tensor 8 x pipeline 4 x data 3 = 96 ranks\n"
        "   expected: 8 nodes x 8 accelerators = 64 ranks\n"
        "   hint:     set data to 2, or nodes to 12\n"
        "   related:  cluster.yaml:4:1 the nodes\n"
    )


def test_layout_of_a_report() -> None:
    warning = Finding("AAA001", Severity.WARNING, "a title", "x", "y", "", span=Span(1, 1, 1, 9))
    assert text([warning, FINDING], "c.yaml", LINES) == (
        "c.yaml:1:1: warning AAA001: a title\n"
        "    1 | parallel:\n"
        "      | ^^^^^^^^\n"
        "   found:    x\n"
        "   expected: y\n"
        "\n" + block(FINDING, "c.yaml", LINES) + "\n"
        "c.yaml: 1 error, 1 warning\n"
    )


def test_nothing_found() -> None:
    assert text([], "c.yaml", LINES) == "c.yaml: 0 errors, 0 warnings\n"


def test_colours_only_wrap() -> None:
    coloured = block(FINDING, "f", LINES, COLOUR)
    plain = block(FINDING, "f", LINES)
    for code in (COLOUR.error, COLOUR.dim, COLOUR.off):
        assert code in coloured
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_json_form() -> None:
    assert json.loads(as_json([FINDING], "c.yaml")) == {
        "file": "c.yaml",
        "findings": [
            {
                "rule": "PAR001",
                "severity": "error",
                "title": "parallel sizes do not multiply to the number of ranks",
                "path": "parallel.pipeline",
                "line": 3,
                "column": 3,
                "endLine": 3,
                "endColumn": 11,
                "found": "tensor 8 x pipeline 4 x data 3 = 96 ranks",
                "expected": "8 nodes x 8 accelerators = 64 ranks",
                "hint": "set data to 2, or nodes to 12",
                "related": [{"path": "pools.train", "note": "the nodes", "line": 4}],
            }
        ],
    }


@pytest.mark.parametrize(("start", "end"), [(1, 4), (79, 82), (200, 203), (950, 953), (998, 1001), (1001, 1002)])
def test_caret_stands_under_its_word_in_a_long_line(start: int, end: int) -> None:
    line = "".join(chr(ord("a") + index % 26) for index in range(1000))
    finding = Finding("A", Severity.ERROR, "t", "", "", "", span=Span(1, start, 1, end))
    _, quoted, caret = block(finding, "f", (line,)).rstrip("\n").split("\n")
    assert len(quoted) <= MAX_LINE + len("    1 | ")
    at = caret.index("^")
    assert quoted[at : caret.rindex("^") + 1] in (line[start - 1 : end - 1], "")


@pytest.mark.parametrize(
    ("line", "column", "quoted"),
    [
        ("a:\tb", 4, "a: b"),
        ("größe: x", 8, "größe: x"),
        ("a: \x1b[31mred", 4, "a:  [31mred"),
        ("a: \u202eb", 4, "a:  b"),
    ],
)
def test_odd_characters_keep_columns_and_do_not_reach_the_terminal(line: str, column: int, quoted: str) -> None:
    finding = Finding("A", Severity.ERROR, "t", "", "", "", span=Span(1, column, 1, column + 1))
    _, source, caret = block(finding, "f", (line,)).rstrip("\n").split("\n")
    assert source == f"    1 | {quoted}"
    assert caret.index("^") - len("      | ") == column - 1


def test_values_from_the_file_cannot_steer_the_terminal_or_flood_it() -> None:
    finding = Finding("A", Severity.ERROR, "t", "x\x1b[2Jy", "one\ntwo", "h" * 10_000, span=Span(9, 1, 9, 2))
    shown = block(finding, "f", LINES).split("\n")
    assert shown[1] == "   found:    x [2Jy"
    assert shown[2:4] == ["   expected: one", "             two"]
    assert len(shown[4]) == MAX_TEXT + len("   hint:     ")


def test_a_place_outside_the_text_shows_no_line() -> None:
    finding = Finding("A", Severity.ERROR, "t", "x", "", "", span=Span(9, 1, 9, 2))
    assert block(finding, "f", LINES) == "f:9:1: error A: t\n   found:    x\n"


def test_a_stretch_over_lines_is_marked_to_the_end_of_the_first() -> None:
    finding = Finding("A", Severity.ERROR, "t", "", "", "", span=Span(2, 3, 3, 5))
    assert block(finding, "f", LINES).split("\n")[2] == "      |   ^^^^^^^^^"


def test_findings_of_a_file_are_sorted_by_place() -> None:
    source = b"zone: 1\nname: [1]\nregion: xx\npools: {a: {}}\n"
    loaded = load_bytes(source, "f")
    places = [(item.span.line, item.span.column) for item in loaded.findings if item.span]
    assert len(places) == len(loaded.findings) >= 5
    assert places == sorted(places)
    heads = [line for line in text(loaded.findings, "f", loaded.lines).split("\n") if line.startswith("f:")]
    assert len(heads) == len(places) + 1
