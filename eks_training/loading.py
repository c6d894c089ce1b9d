"""From a file to a Spec: read, parse, validate field by field.

Takes a path, gives a `Loaded`: the Document, the Spec when every field is well-formed, and findings either way.  The
validation library's messages are turned into the user's words here and nowhere else.
"""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from eks_training.document import Document, parse
from eks_training.finding import Finding, Path, Severity, Span, locate
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


def load(file: str) -> Loaded:
    """Read and validate a file.

    Raises OSError when the file cannot be opened; nothing else, whatever the file holds.
    """
    return load_bytes(FilePath(file).read_bytes(), file)


def load_bytes(data: bytes, file: str) -> Loaded:
    """Validate the content of a file; never raises."""
    if len(data) > MAX_BYTES:
        return _refused(file, f"{len(data)} bytes", f"at most {MAX_BYTES} bytes", Span.point(1, 1))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        return _refused(file, f"byte 0x{data[error.start]:02x}", "UTF-8 text", Span.point(line, column))
    text = text.replace("\r\n", "\n")
    document, findings = parse(text, file)
    lines = tuple(text.split("\n"))
    if document is None:
        return Loaded(file, lines, None, None, tuple(findings))
    spec, more = validate(document)
    found = [locate(finding, document) for finding in (*findings, *more)]
    return Loaded(file, lines, document, spec if not findings else None, tuple(sorted(found, key=Finding.order)))


def validate(document: Document) -> tuple[Cluster | None, list[Finding]]:
    """Check every field of a Document on its own.

    A number where text is wanted means the text as it stands in the file: ``1.30`` is a version, ``012345678901`` an
    account.
    """
    value = document.value
    try:
        return Cluster.model_validate(value), []
    except ValidationError as error:
        numbers = [path for path in _numbers_for_text(error) if path in document.values]
        if not numbers:
            return None, [_translate(detail, document) for detail in error.errors(include_url=False)]
    value = deepcopy(value)
    for path in numbers:
        _put(value, path, document.as_written(path))
    try:
        return Cluster.model_validate(value), []
    except ValidationError as error:
        return None, [_translate(detail, document) for detail in error.errors(include_url=False)]


def _numbers_for_text(error: ValidationError) -> Iterable[Path]:
    for detail in error.errors(include_url=False):
        number = isinstance(detail["input"], (int, float)) and not isinstance(detail["input"], bool)
        if detail["type"] == "string_type" and number:
            yield detail["loc"]


def _put(value: Any, path: Path, new: str) -> None:
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new


def _refused(file: str, found: str, expected: str, span: Span) -> Loaded:
    finding = Finding(rule="CFG001", severity=Severity.ERROR, title="not readable as YAML", found=found,
                      expected=expected, hint="is this the right file?", span=span)
    return Loaded(file, (), None, None, (finding,))


# --- the validation library's errors in the user's words ---------------------------------------------------------------


def _translate(detail: ErrorDetails, document: Document) -> Finding:
    kind = detail["type"]
    path, on_key = _document_path(detail["loc"], document)
    context: Mapping[str, Any] = detail.get("ctx", {})
    base = Finding(rule="CFG005", severity=Severity.ERROR, title="a value that this field does not take",
                   found=_shown(detail["input"]), expected="", hint="", at=path, on_key=on_key)
    if kind == "extra_forbidden":
        return _unknown_key(base)
    if kind == "missing":
        return _missing_key(base)
    return replace(base, **_expectation(kind, context, detail["msg"]))


def _document_path(loc: Iterable[str | int], document: Document) -> tuple[Path, bool]:
    """The library's location without the union tags that it inserts; True when the key itself is at fault."""
    path: Path = ()
    parts = list(loc)
    on_key = parts[-1:] == ["[key]"]
    if on_key:
        parts.pop()
    for index, part in enumerate(parts):
        known = (*path, part) in document.keys or (*path, part) in document.values
        if known or index == len(parts) - 1:
            path = (*path, part)
    return path, on_key


def _unknown_key(base: Finding) -> Finding:
    key = str(base.at[-1])
    allowed = fields_at(base.at[:-1])
    near = difflib.get_close_matches(key, allowed, n=3, cutoff=0.6)
    named = near or sorted(allowed)[:MAX_ALTERNATIVES]
    hint = f"did you mean `{near[0]}`?" if near else "remove the key"
    return replace(base, rule="CFG003", title="unknown key", found=f"`{key}`",
                   expected=" or ".join(f"`{name}`" for name in near) if near else "one of " + ", ".join(named),
                   hint=hint, on_key=True)


def _missing_key(base: Finding) -> Finding:
    key = str(base.at[-1])
    section = _description(base.at)
    return replace(base, rule="CFG004", title="a key is missing", found=f"no `{key}` here",
                   expected=section or f"`{key}`", hint=f"add `{key}:` to this section")


def _plain(expected: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda _context: expected


_EXPECTED: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_type": _plain("text"),
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


def _expectation(kind: str, context: Mapping[str, Any], message: str) -> dict[str, str]:
    expected = _EXPECTED[kind](context) if kind in _EXPECTED else message[:1].lower() + message[1:]
    hint = str(context.get("hint", "")) if kind == "form" else ""
    if kind == "bool_type":
        hint = "write true or false without quotes"
    return {"expected": expected, "hint": hint}


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
    text = str(value)
    text = text if len(text) <= 80 else text[:77] + "…"
    return f'the text "{text}"' if isinstance(value, str) else text


# --- what a section may hold --------------------------------------------------------------------------------------------


def fields_at(path: Path) -> tuple[str, ...]:
    """The keys that the section at a path takes; empty when the path leads to no section of fixed keys."""
    models = _models_at(path)
    return tuple(name for model in models for name in model.model_fields)


def _description(path: Path) -> str:
    """The documented meaning of a field, from the docstring below it."""
    from eks_training.schema import field_notes

    for model in _models_at(path[:-1]):
        note = field_notes(model).get(str(path[-1]))
        if note:
            return note
    return ""


def _models_at(path: Path) -> list[type[BaseModel]]:
    candidates: list[Any] = [Cluster]
    for part in path:
        candidates = [found for candidate in candidates for found in _step(candidate, part)]
    return [model for candidate in candidates for model in _models(candidate)]


def _step(annotation: Any, part: str | int) -> Iterable[Any]:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(str(part))
            if field is not None:
                yield field.annotation
        elif typing.get_origin(member) is dict:
            yield typing.get_args(member)[1]
        elif typing.get_origin(member) is list:
            yield typing.get_args(member)[0]


def _models(annotation: Any) -> Iterable[type[BaseModel]]:
    return (member for member in _members(annotation) if isinstance(member, type) and issubclass(member, BaseModel))


def _members(annotation: Any) -> Iterable[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _members(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for member in typing.get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def nested_models(annotation: Any) -> Iterable[type[BaseModel]]:
    """Every model inside an annotation, through lists and mappings."""
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            yield member
        else:
            for inner in typing.get_args(member):
                yield from nested_models(inner)
