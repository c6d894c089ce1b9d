"""What a chart or a custom resource really accepts, and the check of values against it.

Most charts ignore a key that they do not know, so a typing error would render, deploy and do nothing.  A contract is
the tree of keys that one version of a chart (or of a CustomResourceDefinition) reads: names and types, nothing else.
It is data, made by `contracts.build`; this module loads it and compares.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any, Literal, TypeAlias, get_args

from eks_training.contracts.near import CLOSE, ITEM, LONGEST, NAME, alike, nearest
from eks_training.finding import Path, Severity

Kind: TypeAlias = Literal["chart", "crd"]
Completeness: TypeAlias = Literal["complete", "partial", "stale"]
Problem: TypeAlias = Literal[
    "unknown key", "missing key", "wrong type", "not an allowed value", "wrong form", "out of range"
]

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
WORDS = {"object": "a map", "array": "a list", "integer": "a whole number", "null": "null"}
LIMITS = ("min", "max", "minLength", "maxLength", "minItems", "maxItems", "minKeys", "maxKeys")


class ContractError(ValueError):
    """A contract, or what one is made from, cannot be used; the text says which file and why."""


@dataclass(frozen=True, slots=True)
class Key:
    """One node of the tree.

    ``types`` empty means any type.  ``keys`` are the known children of a map, ``values`` is the form of children whose
    names the user chooses (``names``: the pattern they keep), ``items`` the form of the members of a list.  ``open`` is
    the reason why something unknown is let through here.
    """

    types: tuple[str, ...] = ()
    keys: Mapping[str, Key] = field(default_factory=dict)
    values: Key | None = None
    names: str = ""
    items: Key | None = None
    open: str = ""
    enum: tuple[Any, ...] = ()
    pattern: str = ""
    required: tuple[str, ...] = ()
    limits: Mapping[str, int | float] = field(default_factory=dict)

    @property
    def closed(self) -> bool:
        """Whether a child that is not in ``keys`` is refused."""
        return self.values is None and not self.open and ("object" in self.types or not self.types)


@dataclass(frozen=True)
class Violation:
    """One difference.  ``near`` holds the nearest real places, best first, in the spelling of cluster.yaml."""

    path: Path
    problem: Problem
    found: str
    expected: str
    near: tuple[str, ...]
    severity: Severity


@dataclass(frozen=True)
class Contract:
    """The tree of one chart or one kind, with where it was read and how far it can be trusted.

    ``note`` says why a contract is not complete, or what its completeness rests on.
    """

    name: str
    version: str
    source: str
    kind: Kind
    completeness: Completeness
    tree: Key
    note: str = ""

    @functools.cached_property
    def places(self) -> tuple[tuple[Path, Key], ...]:
        """Every node below the root with its place; chosen names are `*` and list items `[]`."""
        return tuple(_places(self.tree, ()))

    @functools.cached_property
    def spots(self) -> Mapping[str, tuple[Path, ...]]:
        """Where in the tree each name stands."""
        spots: dict[str, tuple[Path, ...]] = {}
        for path, _ in self.places:
            if path[-1] not in (NAME, ITEM):
                spots[str(path[-1])] = (*spots.get(str(path[-1]), ()), path)
        return spots

    def at(self, path: Path) -> Key | None:
        """Return the node that rules over a path: an open one rules over all below it.  None: no such key."""
        return _descend(self.tree, path)


def load(file: File) -> Contract:
    """Read a contract.  Raises `ContractError` when the file is missing or has another form."""
    try:
        return from_json(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ContractError(f"{file}: {error}") from error


def from_json(raw: Any) -> Contract:
    """Return the contract of a decoded file.  Raises `ContractError` on another form."""
    if not isinstance(raw, dict):
        raise ContractError("not a contract: not a map")
    wanted = {"name", "version", "source", "kind", "completeness", "tree"}
    if not wanted <= raw.keys() <= wanted | {"note"}:
        raise ContractError(f"not a contract: the keys must be {', '.join(sorted(wanted))} and perhaps note")
    if raw["kind"] not in get_args(Kind) or raw["completeness"] not in get_args(Completeness):
        raise ContractError(f"not a contract: kind {raw['kind']!r}, completeness {raw['completeness']!r}")
    return Contract(**{**raw, "tree": key_from_json(raw["tree"])})


def key_from_json(raw: Any) -> Key:
    """Return a node; a node that is only types is written as `string|null`.  Raises `ContractError`."""
    if isinstance(raw, str):
        raw = {"type": raw}
    if not isinstance(raw, dict):
        raise ContractError(f"not a node of a contract: {raw!r}")
    rest = dict(raw)
    types = tuple(part for part in str(rest.pop("type", "")).split("|") if part)
    unknown = set(types) - set(TYPES)
    if unknown:
        raise ContractError(f"no such type: {', '.join(sorted(unknown))}")
    patterns = {name: rest.pop(name, "") for name in ("pattern", "names")}
    for pattern in patterns.values():
        try:
            re.compile(pattern)
        except re.error as error:
            raise ContractError(f"pattern {pattern!r}: {error}") from error
    key = Key(
        types=types,
        keys={name: key_from_json(child) for name, child in rest.pop("keys", {}).items()},
        values=key_from_json(rest.pop("values")) if "values" in rest else None,
        items=key_from_json(rest.pop("items")) if "items" in rest else None,
        open=rest.pop("open", ""),
        enum=tuple(rest.pop("enum", ())),
        required=tuple(rest.pop("required", ())),
        limits={name: rest.pop(name) for name in LIMITS if name in rest},
        **patterns,
    )
    if rest:
        raise ContractError(f"not words of a contract: {', '.join(sorted(rest))}")
    return key


def check(contract: Contract, values: Any) -> list[Violation]:
    """Return where values differ from a contract, in the order of the values.  Never raises on decoded JSON or YAML.

    An unknown key is an error only where the contract is complete.  A stale contract only ever warns.  In a chart's
    values null is legal everywhere: Helm takes it as "drop the default".
    """
    return list(_check(contract, contract.tree, values, ()))


def _check(contract: Contract, key: Key, value: Any, at: Path) -> Iterator[Violation]:
    kind = json_type(value)
    if value is None and (contract.kind == "chart" or "null" in key.types):
        return
    if key.types and kind not in key.types and not (kind == "integer" and "number" in key.types):
        yield _violation(contract, at, "wrong type", _shown(value), _either(key.types))
        return
    yield from _scalar(contract, key, value, kind, at)
    if isinstance(value, Mapping):
        yield from _sized(contract, key, "Keys", len(value), "keys", at)
        named = {str(name): child for name, child in value.items()}
        for name in key.required:
            if name not in named:
                yield _violation(contract, (*at, name), "missing key", "nothing", f"{name} is required")
        for name, child in named.items():
            yield from _child(contract, key, name, child, at)
    elif isinstance(value, list | tuple):
        yield from _sized(contract, key, "Items", len(value), "items", at)
        for index, item in enumerate(value if key.items is not None else ()):
            yield from _check(contract, key.items or Key(), item, (*at, index))


def _child(contract: Contract, key: Key, name: str, value: Any, at: Path) -> Iterator[Violation]:
    below = key.keys.get(name, key.values)
    misnamed = name not in key.keys and key.names and not re.search(key.names, name)
    if below is not None and not misnamed:
        yield from _check(contract, below, value, (*at, name))
    elif below is not None or not key.open:
        near = nearest(contract.spots, key.keys, at, name, value)
        known = sorted(key.keys)
        few = f"{', '.join(known[:8])}{f' and {len(known) - 8} more' if len(known) > 8 else ''}"
        if misnamed:
            yield _violation(contract, (*at, name), "wrong form", name, f"a name that matches {key.names}", near)
        else:
            expected = f"one of {few}" if known else "no key at all"
            yield _violation(contract, (*at, name), "unknown key", name[:LONGEST], expected, near)


def _scalar(contract: Contract, key: Key, value: Any, kind: str, at: Path) -> Iterator[Violation]:
    if key.enum and not any(json_type(one) == kind and one == value for one in key.enum):
        words = [str(one) for one in key.enum if one is not None]
        near = tuple(alike(str(value), words, CLOSE)) if kind == "string" else ()
        expected = f"one of {', '.join(word or json.dumps(word) for word in words)}"
        yield _violation(contract, at, "not an allowed value", _shown(value), expected, near)
    elif isinstance(value, str):
        if key.pattern and not re.search(key.pattern, value):
            yield _violation(contract, at, "wrong form", _shown(value), f"text that matches {key.pattern}")
        yield from _sized(contract, key, "Length", len(value), "characters", at)
    elif kind in ("integer", "number"):
        low, high = key.limits.get("min"), key.limits.get("max")
        if low is not None and not value >= low:
            yield _violation(contract, at, "out of range", _shown(value), f"at least {low}")
        elif high is not None and not value <= high:
            yield _violation(contract, at, "out of range", _shown(value), f"at most {high}")


def _sized(contract: Contract, key: Key, what: str, size: int, word: str, at: Path) -> Iterator[Violation]:
    low, high = key.limits.get(f"min{what}"), key.limits.get(f"max{what}")
    if low is not None and size < low:
        yield _violation(contract, at, "out of range", f"{size} {word}", f"at least {low} {word}")
    elif high is not None and size > high:
        yield _violation(contract, at, "out of range", f"{size} {word}", f"at most {high} {word}")


def _violation(
    contract: Contract, at: Path, problem: Problem, found: str, expected: str, near: tuple[str, ...] = ()
) -> Violation:
    sure = contract.completeness == "complete" or (contract.completeness == "partial" and problem != "unknown key")
    return Violation(at, problem, found, expected, near, Severity.ERROR if sure else Severity.WARNING)


def _places(key: Key, at: Path) -> Iterator[tuple[Path, Key]]:
    below = [(name, child) for name, child in sorted(key.keys.items())]
    below += [(name, child) for name, child in ((NAME, key.values), (ITEM, key.items)) if child is not None]
    for name, child in below:
        yield (*at, name), child
        yield from _places(child, (*at, name))


def _descend(key: Key | None, path: Path) -> Key | None:
    for part in path:
        if key is None:
            return None
        below = key.items if isinstance(part, int) or part == ITEM else key.keys.get(part, key.values)
        if below is None and key.open:
            return key
        key = below
    return key


def json_type(value: Any) -> str:
    """Return the JSON type of a decoded value; a YAML date and the like is named after its class."""
    if isinstance(value, bool):
        return "boolean"
    for kind, classes in (
        ("null", type(None)), ("string", str), ("integer", int), ("number", float),
        ("object", Mapping), ("array", list | tuple),
    ):  # fmt: skip
        if isinstance(value, classes):
            return kind
    return type(value).__name__


def _shown(value: Any) -> str:
    kind = json_type(value)
    if isinstance(value, Mapping | list | tuple):
        return f"{WORDS[kind]} with {len(value)} {'keys' if kind == 'object' else 'items'}"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= LONGEST else value[: LONGEST - 3] + "...")
    if isinstance(value, int) and value.bit_length() > LONGEST:
        return "a huge number"
    return str(value).lower() if kind in ("boolean", "null") else str(value)[:LONGEST]


def _either(types: tuple[str, ...]) -> str:
    return " or ".join(WORDS.get(kind, f"a {kind}") for kind in types)
