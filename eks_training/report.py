"""Findings as text for people and as JSON for programs.

Takes located findings; knows nothing about rules or the Spec.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eks_training.finding import Finding, Severity, Span, path_text, short

MAX_LINE = 160
"""Columns of a quoted source line; longer lines are cut around the caret."""


MAX_TEXT = 400
"""Characters of one line of a message; what a file holds may be longer than anybody reads."""


@dataclass(frozen=True)
class Style:
    """Terminal colours, empty when the output is no terminal."""

    error: str = ""
    warning: str = ""
    dim: str = ""
    off: str = ""


PLAIN = Style()
COLOUR = Style(error="\x1b[1;31m", warning="\x1b[1;33m", dim="\x1b[2m", off="\x1b[0m")


def text(findings: Sequence[Finding], file: str, lines: Sequence[str], style: Style = PLAIN) -> str:
    """One block per finding, in the order given, and a closing count."""
    blocks = [block(finding, file, lines, style) for finding in findings]
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    blocks.append(f"{file}: {_count(errors, 'error')}, {_count(warnings, 'warning')}\n")
    return "\n".join(blocks)


def block(finding: Finding, file: str, lines: Sequence[str], style: Style = PLAIN) -> str:
    """The message of one finding, with the source line and a caret."""
    span = finding.span or Span.point(1, 1)
    colour = style.error if finding.severity is Severity.ERROR else style.warning
    head = (
        f"{file}:{span.line}:{span.column}: {colour}{finding.severity.value} {finding.rule}{style.off}: {finding.title}"
    )
    parts = [head, *_quote(span, lines, style)]
    parts += _labelled("found:", finding.found)
    parts += _labelled("expected:", finding.expected)
    parts += _labelled("hint:", finding.hint)
    for item in finding.related:
        place = f"{file}:{item.span.line}:{item.span.column}" if item.span else path_text(item.at)
        parts += _labelled("related:", f"{place} {item.note}")
    return "\n".join(parts) + "\n"


def as_json(findings: Sequence[Finding], file: str) -> str:
    """A JSON document with one object per finding; keys and order are stable."""
    return json.dumps({"file": file, "findings": [_record(finding) for finding in findings]}, indent=2) + "\n"


def _record(finding: Finding) -> dict[str, object]:
    span = finding.span or Span.point(1, 1)
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "title": finding.title,
        "path": path_text(finding.at),
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "found": finding.found,
        "expected": finding.expected,
        "hint": finding.hint,
        "related": [
            {"path": path_text(item.at), "note": item.note, **({"line": item.span.line} if item.span else {})}
            for item in finding.related
        ],
    }


def _labelled(label: str, value: str) -> Iterable[str]:
    if not value:
        return
    first, *rest = (_printable(short(line, MAX_TEXT)) for line in value.split("\n"))
    yield f"   {label:<10}{first}"
    yield from (f"   {'':<10}{line}" for line in rest)


def _printable(text: str) -> str:
    """A text that cannot steer the terminal; each character keeps its column."""
    return "".join(char if char.isprintable() else " " for char in text)


def _quote(span: Span, lines: Sequence[str], style: Style) -> Iterable[str]:
    if not 1 <= span.line <= len(lines) or not lines[span.line - 1].strip():
        return
    source = _printable(lines[span.line - 1])
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(source)
    cut = max(0, start - MAX_LINE // 2) if len(source) > MAX_LINE else 0
    shown = source[cut : cut + MAX_LINE]
    width = max(1, min(end - cut, len(shown)) - (start - cut))
    number = f"{span.line:>5}"
    yield f"{style.dim}{number} |{style.off} {shown}"
    yield f"{style.dim}{'':>5} |{style.off} {' ' * (start - cut)}{'^' * width}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
