"""YAML text with positions: the first stage of the flow.

Takes the text of a file, gives plain Python values plus the place of every key and value.  It reads the YAML 1.2 core
schema from the event stream of the parser: ``no`` stays a word, ``012`` stays twelve, a date stays text.  It must never
guess: duplicate keys, anchors, aliases, merge keys and custom tags are findings, because each of them hides from the
reader what the file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from eks_training.finding import Finding, Path, Severity, Span, short

MAX_DEPTH = 40
"""Nesting that no real configuration reaches; it bounds the walk over hostile input."""

Mark: TypeAlias = Any
"""A place of the parser; two classes without a common base, of the C and of the Python parser."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"(?P<ten>[-+]?[0-9]{1,200})|0o(?P<eight>[0-7]{1,100})|0x(?P<sixteen>[0-9a-fA-F]{1,100})"
    r"|(?P<real>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_BASES = {"ten": 10, "eight": 8, "sixteen": 16}

_LINE_END = re.compile(r"\r\n|[\n\r]")
_UNREADABLE_ASCII = r"[^\t\n\r\x20-\x7e]"
# Beside what YAML forbids: U+0085, U+2028 and U+2029, which this parser takes for the end of a line, even inside a
# comment, and which YAML 1.2 and editors do not.
_UNREADABLE = r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"

_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "map", "seq")}


@dataclass(frozen=True)
class Document:
    """A parsed file: values, and where every key and every value stands."""

    file: str
    lines: tuple[str, ...]
    value: object
    keys: dict[Path, Span] = field(repr=False)
    values: dict[Path, Span] = field(repr=False)

    def span(self, path: Path, *, prefer_key: bool = False) -> Span:
        """Where a path stands; the nearest parent that has a position when the path itself has none.

        ``prefer_key`` asks for the key of a mapping entry (an unknown key is wrong as a key, not as a value).  A value
        of several lines is named by its key.
        """
        value = self.values.get(path)
        if value and not prefer_key and value.line == value.end_line:
            return value
        for length in range(len(path), 0, -1):
            part = path[:length]
            place = self.keys.get(part) or self.values.get(part)
            if place:
                return place
        return Span.point(1, 1)

    def as_written(self, path: Path) -> str:
        """The characters of a single-line value."""
        span = self.values[path]
        return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]


@dataclass
class _Frame:
    """A collection under construction."""

    path: Path
    is_map: bool
    items: dict[str, object] | list[object]
    start: Mark
    pending: str | None = None
    pending_mark: Mark | None = None


def parse(text: str, file: str) -> tuple[Document | None, list[Finding]]:
    """Parse one YAML document.

    Returns the Document, or None when the text is no readable YAML mapping, and the findings either way.  Never raises
    for any text.
    """
    lines = split_lines(text)
    wrong = re.search(_UNREADABLE_ASCII if text.isascii() else _UNREADABLE, text)
    if wrong:
        before = split_lines(text[: wrong.start()])
        why = f"the invisible character #x{ord(wrong[0]):04x}"
        return None, [_syntax(why, Span.point(len(before), len(before[-1]) + 1))]
    reader = _Reader(file, lines)
    try:
        reader.read(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = _point(lines, mark) if mark else Span.point(1, 1)
        why = " ".join(str(part) for part in (error.context, error.problem) if part)
        return None, [_syntax(why, span)]
    except yaml.YAMLError as error:
        return None, [_syntax(" ".join(str(error).split()), Span.point(1, 1))]
    findings = reader.findings
    if reader.broken:
        return None, findings
    if not isinstance(reader.root, dict):
        found = "nothing" if reader.root is None else f"a {_kind(reader.root)}"
        findings.append(
            Finding(
                rule="CFG001",
                severity=Severity.ERROR,
                title="the file is not a mapping",
                found=found,
                expected="keys and values, such as `name: my-cluster`",
                hint="run `python -m eks_training init` for a commented starter",
                span=Span.point(1, 1),
            )
        )
        return None, findings
    return Document(file, lines, reader.root, reader.keys, reader.values), findings


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of a text as the parser counts them; never empty."""
    return tuple(_LINE_END.split(text))


def _span(lines: tuple[str, ...], start: Mark, end: Mark) -> Span:
    """The stretch between two marks; the parser marks what is missing at the end one line below the last."""
    places = []
    for mark in (start, end):
        line = min(mark.line + 1, len(lines))
        past = mark.line >= len(lines)
        places += [line, len(lines[-1]) + 1 if past else min(mark.column, len(lines[line - 1])) + 1]
    return Span(*places)


def _point(lines: tuple[str, ...], mark: Mark) -> Span:
    span = _span(lines, mark, mark)
    return Span.point(span.line, span.column)


def _syntax(why: str, span: Span) -> Finding:
    return Finding(
        rule="CFG001",
        severity=Severity.ERROR,
        title="not readable as YAML",
        found=why,
        expected="one YAML document",
        hint="look at the indentation, the colons and the quotes around this place",
        span=span,
    )


class _Reader:
    """Builds values from parser events without recursion, so that depth cannot exhaust the stack."""

    def __init__(self, file: str, lines: tuple[str, ...]) -> None:
        self.file = file
        self.lines = lines
        self.findings: list[Finding] = []
        self.keys: dict[Path, Span] = {}
        self.values: dict[Path, Span] = {}
        self.root: object = None
        self.broken = False
        self._stack: list[_Frame] = []
        self._documents = 0

    def read(self, text: str) -> None:
        for event in yaml.parse(text, Loader=_Loader):
            if self._take(event):
                return

    def _take(self, event: yaml.Event) -> bool:
        """Handle one event; True ends the reading early."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._refuse(
                    "CFG006",
                    "more than one document in the file",
                    event,
                    "`---` for the second time",
                    "one document",
                    "put the other document in a file of its own",
                )
                return self._stop()
        elif isinstance(event, yaml.AliasEvent):
            self._refuse(
                "CFG006",
                "aliases are not read",
                event,
                f"*{event.anchor}",
                "the value itself",
                "write the value out: what the file says should stand where it is used",
            )
            return self._stop()
        elif isinstance(event, yaml.ScalarEvent):
            self._check_node(event)
            self._scalar(event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._check_node(event)
            return self._open(event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._close(event)
        return False

    def _stop(self) -> bool:
        self.broken = True
        return True

    def _refuse(self, rule: str, title: str, event: yaml.Event, found: str, expected: str, hint: str) -> None:
        mark = event.start_mark
        self.findings.append(
            Finding(
                rule=rule,
                severity=Severity.ERROR,
                title=title,
                found=found,
                expected=expected,
                hint=hint,
                span=_point(self.lines, mark),
            )
        )

    def _check_node(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor:
            self._refuse(
                "CFG006",
                "anchors are not read",
                event,
                f"&{event.anchor}",
                "a plain value",
                "remove the anchor and write the value where it is used",
            )
        if event.tag and event.tag not in _CORE_TAGS and event.tag != "!":
            self._refuse("CFG006", "tags are not read", event, event.tag, "a plain value", "remove the tag")

    def _open(self, event: yaml.Event) -> bool:
        is_map = isinstance(event, yaml.MappingStartEvent)
        if len(self._stack) >= MAX_DEPTH:
            self._refuse(
                "CFG006",
                "nested too deeply",
                event,
                f"more than {MAX_DEPTH} levels",
                "a flatter file",
                "no section of this file needs that depth",
            )
            return self._stop()
        parent = self._stack[-1] if self._stack else None
        if parent and parent.is_map and parent.pending is None:
            self._refuse(
                "CFG005",
                "a key must be a word",
                event,
                "a collection as a key",
                "text as a key",
                "write `name:` before the value",
            )
            return self._stop()
        path = self._next_path()
        self._stack.append(_Frame(path, is_map, {} if is_map else [], event.start_mark))
        return False

    def _close(self, event: yaml.Event) -> None:
        frame = self._stack.pop()
        span = _span(self.lines, frame.start, event.end_mark)
        self.values.setdefault(frame.path, span)
        self._put(frame.items)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        span = _span(self.lines, event.start_mark, event.end_mark)
        parent = self._stack[-1] if self._stack else None
        if parent is not None and parent.is_map and parent.pending is None:
            self._key(parent, event, span)
            return
        self.values.setdefault(self._next_path(), span)
        self._put(_resolve(event))

    def _key(self, frame: _Frame, event: yaml.ScalarEvent, span: Span) -> None:
        key = str(event.value)
        assert isinstance(frame.items, dict)
        if key == "<<":
            self._refuse("CFG006", "merge keys are not read", event, "<<", "the keys themselves", "write the keys out")
        path = (*frame.path, key)
        if key in frame.items:
            first = self.keys[path]
            self.findings.append(
                Finding(
                    rule="CFG002",
                    severity=Severity.ERROR,
                    title="the same key twice",
                    found=f"`{short(key)}` again",
                    expected=f"`{short(key)}` once; it first stands in line {first.line}",
                    hint="remove one of the two, or rename it",
                    span=span,
                )
            )
        else:
            self.keys.setdefault(path, span)
        frame.pending, frame.pending_mark = key, event.start_mark

    def _next_path(self) -> Path:
        if not self._stack:
            return ()
        frame = self._stack[-1]
        if frame.is_map:
            assert frame.pending is not None
            return (*frame.path, frame.pending)
        return (*frame.path, len(frame.items))

    def _put(self, value: object) -> None:
        if not self._stack:
            self.root = value
            return
        frame = self._stack[-1]
        if isinstance(frame.items, dict):
            assert frame.pending is not None
            frame.items.setdefault(frame.pending, value)
            frame.pending = None
        else:
            frame.items.append(value)


def _resolve(event: yaml.ScalarEvent) -> object:
    """The value of a scalar in the YAML 1.2 core schema."""
    text = str(event.value)
    if event.tag or not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    if number is None or number.lastgroup is None:
        return text
    digits = number[number.lastgroup]
    return float(digits) if number.lastgroup == "real" else int(digits, _BASES[number.lastgroup])


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "single value"


def walk(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Every path of a value, parents first."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*path, index))
