"""What is wrong, where, and what to do about it.

A rule yields a Finding with a path; the engine alone turns the path into a Span.  Reporters (text, JSON) know nothing
about rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from eks_training.document import Document

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indexes from the root of the document."""


class Severity(Enum):
    """An error stops synthesis; a warning is printed and counted by ``--strict``."""

    ERROR = "error"
    WARNING = "warning"


class Span(NamedTuple):
    """A stretch of the file; lines and columns count from 1, the end column is exclusive.  Spans sort by position."""

    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def point(cls, line: int, column: int) -> Span:
        return cls(line, column, line, column + 1)


@dataclass(frozen=True)
class Related:
    """The other side of a conflict: a path (or a resolved span) and what stands there."""

    at: Path
    note: str
    span: Span | None = None


@dataclass(frozen=True)
class Finding:
    """One fault.  ``found``, ``expected`` and ``hint`` are in the user's words."""

    rule: str
    severity: Severity
    title: str
    found: str
    expected: str
    hint: str
    at: Path = ()
    on_key: bool = False
    related: tuple[Related, ...] = ()
    span: Span | None = None

    def order(self) -> tuple[Span, str, str]:
        """Sort key: position first, so that a report reads like the file."""
        return (self.span or Span.point(1, 1), self.rule, self.found)


def has_errors(findings: Iterable[Finding], *, strict: bool = False) -> bool:
    """Whether synthesis must stop; ``strict`` counts warnings as errors."""
    return any(strict or finding.severity is Severity.ERROR for finding in findings)


def locate(finding: Finding, document: Document) -> Finding:
    """Give a finding its place in the file; a finding that has one keeps it."""
    span = finding.span or document.span(finding.at, prefer_key=finding.on_key)
    related = tuple(Related(item.at, item.note, item.span or document.span(item.at)) for item in finding.related)
    return replace(finding, related=related, span=span)


def short(text: str, longest: int = 80) -> str:
    """A text cut to a length that a message can carry."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def path_text(path: Path) -> str:
    """A path as people write it: ``pools.train.taints[0].key``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
