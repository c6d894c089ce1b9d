"""Holds objects against a CustomResourceDefinition as an API server would, and says where they differ.

Structure: unknown fields, types, required, enums, patterns, lengths, bounds, sets.  Rules in CEL are evaluated after
the definition's defaults are filled in; rules about the former object (`oldSelf`) cannot be and are listed instead.
Patterns are RE2 there and Python's here; the definitions use only what both read alike.
"""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cel
import yaml

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
# An embedded ObjectMeta; definitions only say "object".
METADATA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"},
        "namespace": {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
# What this file reads; anything else in a schema would go unchecked, so it is refused.
KEYWORDS = {
    "type", "properties", "additionalProperties", "items", "required", "enum", "pattern", "format", "default",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "anyOf", "description",
    "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    "x-kubernetes-validations",
}  # fmt: skip
BITS = {"int32": 31, "int64": 63}

Schema = dict[str, Any]


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found.group(0) if found else ""


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator)


@dataclass
class Definition:
    """One version of a definition, and which of its rules were met, by their text."""

    api_version: str
    kind: str
    namespaced: bool
    schema: Schema
    evaluated: set[str] = field(default_factory=set)
    programs: dict[str, Any] = field(default_factory=dict)

    @property
    def rules(self) -> set[str]:
        """Every rule of the definition's `spec`."""
        return {rule["rule"] for rule in _rules(self.schema["properties"]["spec"])}

    @property
    def transition_rules(self) -> set[str]:
        """Rules about the former object, which is not there."""
        return {rule for rule in self.rules if "oldSelf" in rule}

    def uncompilable(self) -> list[str]:
        """Rules that the CEL library does not understand."""
        found = []
        for rule in sorted(self.rules - self.transition_rules):
            try:
                cel.compile(rule)
            except ValueError as fault:
                found.append(f"{rule}: {fault}")
        return found

    def complaints(self, item: dict[str, Any]) -> list[str]:
        """What an API server would refuse in an object, sorted; a status is refused too."""
        if (item.get("apiVersion"), item.get("kind")) != (self.api_version, self.kind):
            return [f"is {item.get('apiVersion')} {item.get('kind')}, not {self.api_version} {self.kind}"]
        properties = {name: schema for name, schema in self.schema["properties"].items() if name != "status"}
        schema = {**self.schema, "properties": {**properties, "metadata": METADATA}}
        schema["required"] = [*schema.get("required", ()), "metadata"]
        found = list(self._structure("", item, schema))
        if isinstance(item.get("metadata"), dict) and ("namespace" in item["metadata"]) != self.namespaced:
            found.append(f".metadata.namespace: {'missing' if self.namespaced else 'the kind has none'}")
        if not found:
            found = list(self._rules("", with_defaults(item, schema), schema))
        return sorted(found)

    def _structure(self, at: str, value: Any, schema: Schema) -> Iterator[str]:
        unread = schema.keys() - KEYWORDS
        if unread:
            raise NotImplementedError(f"{at}: the schema says {sorted(unread)}")
        if schema.get("x-kubernetes-int-or-string"):
            if isinstance(value, bool) or not isinstance(value, int | str):
                yield f"{at}: {value!r} is neither a whole number nor text"
                return
        elif "type" in schema and not _is(value, schema["type"]):
            yield f"{at}: {value!r} is no {schema['type']}"
            return
        yield from _limits(at, value, schema)
        if isinstance(value, dict):
            yield from self._fields(at, value, schema)
        elif isinstance(value, list):
            for index, part in enumerate(value):
                yield from self._structure(f"{at}[{index}]", part, schema["items"])

    def _fields(self, at: str, value: dict[str, Any], schema: Schema) -> Iterator[str]:
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{at}.{name}: missing"
        known, other = schema.get("properties", {}), schema.get("additionalProperties")
        for name, part in value.items():
            inner = known.get(name, other)
            if inner is None:
                yield f"{at}.{name}: unknown field"
            else:
                yield from self._structure(f"{at}.{name}", part, inner)

    def _rules(self, at: str, value: Any, schema: Schema) -> Iterator[str]:
        for rule in schema.get("x-kubernetes-validations", ()):
            text = rule["rule"]
            if "oldSelf" in text:
                continue
            if text not in self.programs:
                self.programs[text] = cel.compile(text)
            context = cel.Context(variables={"self": value}, functions={"find": _find, "split": _split})
            self.evaluated.add(text)
            try:
                holds = self.programs[text].execute(context)
            except (ValueError, TypeError, RuntimeError) as fault:
                yield f"{at}: rule {text!r} cannot be evaluated: {fault}"
                continue
            if holds is not True:
                yield f"{at}: {rule.get('message', text)}"
        if isinstance(value, dict):
            known, other = schema.get("properties", {}), schema.get("additionalProperties")
            for name, part in value.items():
                yield from self._rules(f"{at}.{name}", part, known.get(name, other) or {})
        elif isinstance(value, list):
            for index, part in enumerate(value):
                yield from self._rules(f"{at}[{index}]", part, schema["items"])


def load(path: Path) -> Definition:
    """The storage version of the definition in a file."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    spec = data["spec"]
    (version,) = (version for version in spec["versions"] if version["storage"])
    return Definition(
        api_version=f"{spec['group']}/{version['name']}",
        kind=spec["names"]["kind"],
        namespaced=spec["scope"] == "Namespaced",
        schema=version["schema"]["openAPIV3Schema"],
    )


def with_defaults(value: Any, schema: Schema) -> Any:
    """A copy with the schema's defaults where nothing is said, as an API server stores it."""
    if isinstance(value, dict):
        known, other = schema.get("properties", {}), schema.get("additionalProperties")
        filled = {name: copy.deepcopy(inner["default"]) for name, inner in known.items() if "default" in inner}
        filled.update(value)
        return {name: with_defaults(part, known.get(name, other) or {}) for name, part in filled.items()}
    if isinstance(value, list):
        return [with_defaults(part, schema.get("items", {})) for part in value]
    return value


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _limits(at: str, value: Any, schema: Schema) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{at}: {value!r} does not match {schema['pattern']}"
        yield from _size(at, len(value), schema.get("minLength"), schema.get("maxLength"), "characters")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _size(at, value, schema.get("minimum"), schema.get("maximum"), "")
        bits = BITS.get(schema.get("format", ""))
        if bits and not -(2**bits) <= value < 2**bits:
            yield f"{at}: {value} does not fit {schema['format']}"
    elif isinstance(value, list):
        yield from _size(at, len(value), schema.get("minItems"), schema.get("maxItems"), "items")
        if schema.get("x-kubernetes-list-type") == "set" and len({repr(part) for part in value}) < len(value):
            yield f"{at}: an item twice"
    elif isinstance(value, dict):
        yield from _size(at, len(value), None, schema.get("maxProperties"), "fields")


def _size(at: str, size: float, low: float | None, high: float | None, unit: str) -> Iterator[str]:
    if low is not None and size < low:
        yield f"{at}: {size} {unit}, at least {low}"
    if high is not None and size > high:
        yield f"{at}: {size} {unit}, at most {high}"


def _rules(schema: Any) -> Iterator[dict[str, str]]:
    if isinstance(schema, dict):
        yield from schema.get("x-kubernetes-validations", ())
        for part in schema.values():
            yield from _rules(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _rules(part)
