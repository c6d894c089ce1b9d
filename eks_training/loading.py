"""From a file to a Spec: read, parse, validate field by field.

Takes a path, gives a `Loaded`: the Document, the Spec when every field is well-formed, and findings either way.  The
validation library's messages are turned into the user's words here and nowhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from eks_training.document import Document, parse, split_lines
from eks_training.finding import Finding, Path, Severity, Span, locate, short
from eks_training.salvage import Salvaged, salvage
from eks_training.section_fields import description, fields_at, step, tags
from eks_training.spec import Cluster

MAX_BYTES = 1_000_000
"""A configuration larger than this is another file by mistake."""

MAX_ALTERNATIVES = 9
"""Alternatives listed in one message; more than nine are not read."""


@dataclass(frozen=True)
class Loaded:
    """What reading a file gave."""

    file: str
    lines: tuple[str, ...]
    document: Document | None
    spec: Cluster | None
    findings: tuple[Finding, ...]
    salvaged: Salvaged | None = None
    """What can be judged all the same, when there is no Spec."""


def load(file: str) -> Loaded:
    """Read and validate a file.

    Raises OSError when the file cannot be opened; nothing else, whatever the file holds.
    """
    with FilePath(file).open("rb") as stream:
        return load_bytes(stream.read(MAX_BYTES + 1), file)


def load_bytes(data: bytes, file: str) -> Loaded:
    """Validate the content of a file; never raises."""
    if len(data) > MAX_BYTES:
        return _refused(file, f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES} bytes", Span.point(1, 1))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        shown = split_lines(data.decode("utf-8", "replace"))
        before = split_lines(data[: error.start].decode("utf-8", "replace"))
        span = Span.point(len(before), len(before[-1]) + 1)
        return _refused(file, f"byte 0x{data[error.start]:02x}", "UTF-8 text", span, shown)
    text = text.replace("\r\n", "\n")
    document, findings = parse(text, file)
    if document is None:
        return Loaded(file, split_lines(text), None, None, tuple(findings))
    spec, more = validate(document)
    found = [locate(finding, document) for finding in (*findings, *more)]
    found.sort(key=Finding.order)
    if not found:
        return Loaded(file, document.lines, document, spec, ())
    rest = salvage(document.value, more, lambda value: validate(document, value)) if more and not findings else None
    return Loaded(file, document.lines, document, None, tuple(found), rest)


def validate(document: Document, value: Any = None) -> tuple[Cluster | None, list[Finding]]:
    """Check every field of a Document on its own, or of a changed copy of its value.

    A number where text is wanted means the text as it stands in the file: ``1.30`` is a version, ``012345678901`` an
    account.
    """
    value = document.value if value is None else value
    try:
        return Cluster.model_validate(value), []
    except ValidationError as error:
        numbers = list(_numbers_for_text(error, document))
        if not numbers:
            return None, _translated(error, document)
    value = deepcopy(value)
    for path in numbers:
        _put(value, path, document.as_written(path))
    try:
        return Cluster.model_validate(value), []
    except ValidationError as error:
        return None, _translated(error, document)


def _numbers_for_text(error: ValidationError, document: Document) -> Iterable[Path]:
    for detail in error.errors(include_url=False):
        path, _ = _document_path(detail, document)
        number = isinstance(detail["input"], (int, float)) and not isinstance(detail["input"], bool)
        if not number or path not in document.values:
            continue
        words = str(detail.get("ctx", {}).get("expected", "")) if detail["type"] == "literal_error" else ""
        if detail["type"] == "string_type" or f"'{document.as_written(path)}'" in words:
            yield path


def _put(value: Any, path: Path, new: str) -> None:
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new


def _refused(file: str, found: str, expected: str, span: Span, lines: tuple[str, ...] = ()) -> Loaded:
    finding = Finding(
        rule="CFG001",
        severity=Severity.ERROR,
        title="not readable as YAML",
        found=found,
        expected=expected,
        hint="is this the right file?",
        span=span,
    )
    return Loaded(file, lines, None, None, (finding,))


# --- the validation library's errors in the user's words ---


def _translated(error: ValidationError, document: Document) -> list[Finding]:
    """One finding for each place; a misspelt key is not reported as a missing one besides."""
    found: dict[tuple[Path, str, str], Finding] = {}
    for detail in error.errors(include_url=False):
        finding = _translate(detail, document)
        key = (finding.at, finding.rule, finding.found)
        before = found.get(key)
        if before is not None and finding.expected not in before.expected:
            finding = replace(before, expected=f"{before.expected}, or {finding.expected}")
        found[key] = before if before is not None and finding.expected in before.expected else finding
    misspelt = [item for item in found.values() if item.hint.startswith("did you mean")]
    meant = {(*item.at[:-1], item.hint.split("`")[1]) for item in misspelt}
    return [item for item in found.values() if item.rule != "CFG004" or item.at not in meant]


def _translate(detail: ErrorDetails, document: Document) -> Finding:
    kind = detail["type"]
    path, on_key = _document_path(detail, document)
    context: Mapping[str, Any] = detail.get("ctx", {})
    value = detail["input"]
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and path in document.values
    base = Finding(
        rule="CFG005",
        severity=Severity.ERROR,
        title="a value that this field does not take",
        found=short(document.as_written(path)) if number else _shown(value),
        expected="",
        hint="",
        at=path,
        on_key=on_key,
    )
    if kind == "extra_forbidden":
        return _unknown_key(base)
    if kind == "missing":
        return _missing_key(base)
    expected, hint = _expectation(kind, context, detail["msg"], path, value)
    return replace(base, expected=expected, hint=hint)


def _document_path(detail: ErrorDetails, document: Document) -> tuple[Path, bool]:
    """The library's location in terms of the file; True when the key itself is at fault.

    The library inserts the names of union members, which no file holds, and it names the long form of a section that
    the file writes as one word.
    """
    parts = list(detail["loc"])
    on_key = parts[-1:] == ["[key]"]
    if on_key:
        parts.pop()
    path: Path = ()
    candidates: list[Any] = [Cluster]
    members: set[str] = set()
    for index, part in enumerate(parts):
        if part in members:
            members = set()
            continue
        steps = [found for candidate in candidates for found in step(candidate, part)]
        unknown_key = index == len(parts) - 1 and detail["type"] == "extra_forbidden"
        if steps or unknown_key:
            path = (*path, part)
            candidates = steps
            members = {tag for candidate in candidates for tag in tags(candidate)}
    scalars = [path[:length] for length in range(len(path)) if _is_scalar(document.value, path[:length])]
    return (scalars[0] if scalars else path), on_key


def _is_scalar(value: Any, path: Path) -> bool:
    """Whether a single value stands at a path; False when nothing does."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return value is not None and not isinstance(value, (dict, list))


def _unknown_key(base: Finding) -> Finding:
    key = str(base.at[-1])
    allowed = fields_at(base.at[:-1])
    near = difflib.get_close_matches(key, allowed, n=3, cutoff=0.6)
    named = near or sorted(allowed)[:MAX_ALTERNATIVES]
    hint = f"did you mean `{near[0]}`?" if near else "remove the key"
    more = ", …" if len(named) < len(allowed) else ""
    expected = " or ".join(f"`{name}`" for name in near) if near else f"one of {', '.join(named)}{more}"
    return replace(
        base, rule="CFG003", title="unknown key", found=f"`{short(key)}`", expected=expected, hint=hint, on_key=True
    )


def _missing_key(base: Finding) -> Finding:
    key = str(base.at[-1])
    section = description(base.at)
    return replace(
        base,
        rule="CFG004",
        title="a key is missing",
        found=f"no `{key}` here",
        expected=section or f"`{key}`",
        hint=f"add `{key}:` to this section",
    )


def _plain(expected: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda _context: expected


_EXPECTED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_type": _plain("text"),
    "union_tag_not_found": _plain("another kind of value"),
    "finite_number": _plain("a number"),
    "float_type": _plain("a number"),
    "int_parsing_size": _plain("a smaller number"),
    "int_type": _plain("a whole number"),
    "int_from_float": _plain("a whole number"),
    "bool_type": _plain("true or false"),
    "list_type": _plain("a list"),
    "dict_type": _plain("a mapping of names to values"),
    "model_type": _plain("a section with keys and values"),
    "model_attributes_type": _plain("a section with keys and values"),
    "time_delta_type": _plain("a duration such as 90m, 12h or 3d"),
    "datetime_type": _plain("a moment such as 2026-12-01T11:30:00Z"),
    "literal_error": lambda context: str(context["expected"]).replace("'", "`"),
    "greater_than_equal": lambda context: f"{context['ge']} or more",
    "less_than_equal": lambda context: f"{context['le']} or less",
    "too_short": lambda context: f"at least {context['min_length']} entries; there are {context['actual_length']}",
    "too_long": lambda context: f"at most {context['max_length']} entries",
    "string_too_short": lambda context: f"at least {context['min_length']} characters",
    "string_too_long": lambda context: f"at most {context['max_length']} characters",
    "form": lambda context: str(context["expected"]),
}


_SHORT_FORMS = {
    "capacity": "`on-demand`, `spot`, or a section {type: …, id: …}",
    "placement": "`cluster`, `none`, or {existing: NAME}",
    "nodes": "a whole number, or {min: NUMBER, max: NUMBER}",
}
"""Fields that take a word or number as well as a section: what the library knows is only half of it."""

_OF_A_WHOLE_FIELD = {"model_type", "model_attributes_type", "literal_error", "int_type", "int_from_float"}


def _expectation(kind: str, context: Mapping[str, Any], message: str, path: Path, value: object) -> tuple[str, str]:
    expected = _EXPECTED[kind](context) if kind in _EXPECTED else message[:1].lower() + message[1:]
    if kind in _OF_A_WHOLE_FIELD and path[:1] == ("pools",) and path[-1] in _SHORT_FORMS and len(path) == 3:
        expected = _SHORT_FORMS[str(path[-1])]
    hint = str(context.get("hint", "")) if kind == "form" else ""
    if kind == "bool_type":
        hint = "write true or false without quotes"
    elif kind == "int_type" and isinstance(value, str) and value.isascii() and value.isdigit():
        hint = f"write {short(value)} without quotes"
    elif kind == "string_type" and isinstance(value, bool):
        hint = f'write "{str(value).lower()}" in quotes if the word is meant'
    elif kind == "literal_error" and isinstance(value, str):
        words = str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
        near = difflib.get_close_matches(value.lower(), words, n=1) or [w for w in words if w.lower() == value.lower()]
        hint = f"perhaps `{near[0]}`" if near else ""
    return expected, hint


def _shown(value: object) -> str:
    """A value as the user wrote it, short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a section with keys and values"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = short(str(value))
    return f'the text "{text}"' if isinstance(value, str) else text
