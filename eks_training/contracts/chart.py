"""Contracts of Helm charts, from values.yaml, values.schema.json and the value paths that the templates name.

A key is legal when one of the three knows it.  Where a chart's own schema closes a map, Helm refuses everything else,
so what only a template names stays illegal there.  What no source describes (a map that is empty by default) is decided
in `facts/open_subtrees.yaml`, with a reason each; what nobody has decided is let through and says so.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from eks_training.contracts.crd import CARRIED, Document
from eks_training.contracts.model import LIMITS, ContractError, json_type

TABLE = Path(__file__).parent.parent / "facts" / "open_subtrees.yaml"
SCALARS = ["boolean", "integer", "number", "string"]
OPEN_SHAPES = {"object": ["object"], "list": ["array"], "any": []}
UNREVIEWED = "nobody has decided yet what stands here"

Draft: TypeAlias = dict[str, Any]
"""A node in the making: types as a list, and notes on where it comes from."""


@dataclass
class ChartFiles:
    """What a chart's folder or archive holds; `templates` is None where its templates were not read.

    A `published` chart is the real thing, so what the table says about copies does not hold for it.
    """

    name: str
    values: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None
    templates: Iterable[str] | None = None
    dependencies: tuple[str, ...] = ()
    subcharts: Mapping[str, ChartFiles] = field(default_factory=dict)
    published: bool = False


@dataclass
class OpenTable:
    """The reviewed table; `used` collects the entries that applied, so that a test finds dead ones."""

    raw: Mapping[str, Any]
    used: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def read(cls, file: Path = TABLE) -> OpenTable:
        """Read the table.  Raises `ContractError`."""
        try:
            return cls(yaml.safe_load(file.read_text(encoding="utf-8")))
        except (OSError, yaml.YAMLError) as error:
            raise ContractError(f"{file}: {error}") from error

    def note(self, chart: str) -> str:
        """Return what the table says about how far a chart's files can be trusted."""
        return str(self.raw["completeness"].get(chart, {}).get("why", ""))

    def reason(self, name: str) -> str:
        return str(self.raw["reasons"][name])

    def entry(self, chart: str, path: tuple[str, ...], draft: Draft) -> Mapping[str, Any] | None:
        """Return the first entry whose pattern matches: the chart's own, then those of all charts.

        The latter give way to a chart's schema and to a default value of another type.
        """
        for section in (chart, "*"):
            for patterns, entry in self.raw["open"].get(section, {}).items():
                for pattern in patterns.split():
                    if not _matches(path, tuple(pattern.split("."))):
                        continue
                    if section == chart or not (_stated(draft) or self._contradicts(entry, draft)):
                        self.used.add((section, pattern))
                        return dict(entry)
        return None

    def _contradicts(self, entry: Mapping[str, Any], draft: Draft) -> bool:
        shape = entry.get("is", "known")
        types = OPEN_SHAPES.get(shape) or thawed(self.raw["shapes"].get(shape, "object"))["types"]
        stated = set(draft["types"]) - {"null"}
        if draft.get("schema") and types and shape not in OPEN_SHAPES:
            return not stated <= set(types)
        return draft["types"] not in ([], SCALARS) and bool(types) and not stated & set(types)


def _matches(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if pattern[0] == "**":
        pattern = pattern[1:]
        path = path[-len(pattern) :]
    return len(path) == len(pattern) and all(map(fnmatch.fnmatchcase, path, pattern))


def chart_document(files: ChartFiles, table: OpenTable, version: str, source: str) -> Document:
    """Return the contract of a chart in the form of its file."""
    stated = None if files.published else table.raw["completeness"].get(files.name)
    if stated is None and files.templates is None:
        stated = {"is": "partial", "why": table.reason("untemplated")}
    document: Document = {
        "name": files.name,
        "version": version,
        "source": source,
        "kind": "chart",
        "completeness": stated["is"] if stated else "complete",
        "tree": _finished(_tree(files, table)),
    }
    return document | ({"note": stated["why"]} if stated else {})


def moved(files: ChartFiles, table: OpenTable) -> list[tuple[str, ...]]:
    """Return the paths that the templates name; those of a bundled subchart stand under its name, as for Helm."""
    bundled = {} if files.published else table.raw["subcharts"].get(files.name, {})
    owners = {top: subchart for subchart, tops in bundled.items() for top in tops.split()}
    paths = [tuple(path.split(".")) for path in files.templates or ()]
    return sorted((owners[path[0]], *path) if path[0] in owners else path for path in paths)


def _tree(files: ChartFiles, table: OpenTable) -> Draft:
    tree = from_schema(files.schema, files.schema, files.values) if files.schema else from_values(files.values)
    for path in moved(files, table):
        _add_template(tree, path)
    for name in files.dependencies:
        keys = tree.setdefault("keys", {})
        if name in files.subcharts:
            keys[name] = thawed(_finished(_tree(files.subcharts[name], table))) | {"decided": True}
        else:
            keys.setdefault(name, {"types": ["object"], "keys": {}})["subchart"] = True
    _decide(tree, (), files.name, table)
    return tree


def from_values(value: Any) -> Draft:
    """Take the types of default values.  Null says nothing, so any scalar may stand there."""
    kind = json_type(value)
    if isinstance(value, Mapping):
        return {"types": ["object"], "keys": {str(name): from_values(child) for name, child in value.items()}}
    if isinstance(value, list):
        items = [from_values(item) for item in value]
        return {"types": ["array"], "items": _union(items)} if items else {"types": ["array"]}
    return {"types": SCALARS if value is None else [kind]}


def _union(drafts: list[Draft]) -> Draft:
    made: Draft = {"types": [], "example": True}
    for draft in drafts:
        made["types"] = sorted({*made["types"], *draft["types"]})
        for name, child in draft.get("keys", {}).items():
            keys = made.setdefault("keys", {})
            keys[name] = _union([keys[name], child]) if name in keys else child
        if "items" in draft:
            made["items"] = _union([made["items"], draft["items"]]) if "items" in made else draft["items"]
    return made


def from_schema(schema: Mapping[str, Any], root: Mapping[str, Any], values: Any) -> Draft:
    """Turn a JSON schema (draft 7; conditions left out) into a draft.

    What is required and has a default need not be in a user's values, so it is not required here.
    """
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    stated = schema.get("type", [])
    made: Draft = {"types": [stated] if isinstance(stated, str) else list(stated), "schema": True}
    defaults = values if isinstance(values, Mapping) else {}
    made |= {ours: schema[theirs] for theirs, ours in CARRIED.items() if theirs in schema}
    if "enum" in schema:
        made["enum"] = list(schema["enum"])
        made["types"] = made["types"] or sorted({json_type(one) for one in schema["enum"]})
    required = sorted(set(schema.get("required", [])) - defaults.keys())
    if required:
        made["required"] = required
    if "properties" in schema:
        made["keys"] = {
            name: from_schema(child, root, defaults.get(name)) for name, child in schema["properties"].items()
        }
    more = schema.get("additionalProperties", True)
    for pattern, child in schema.get("patternProperties", {}).items():
        made["values"] = from_schema(child, root, None)
        if pattern != ".*":
            made["names"] = pattern
    if isinstance(more, Mapping):
        made["values"] = from_schema(more, root, None)
    if "items" in schema:
        made["items"] = from_schema(schema["items"], root, None)
    if more is True and "values" not in made and ("object" in made["types"] or not made["types"]):
        made["free"] = True
        shown = from_values(defaults).get("keys", {})
        if shown:
            made["keys"] = shown | made.get("keys", {})
    return made


def _add_template(tree: Draft, path: tuple[str, ...]) -> None:
    at = tree
    for depth, name in enumerate(path):
        shut = at.get("schema") and not at.get("free")
        if shut and name not in at.get("keys", {}):
            return
        if at["types"] and "object" not in at["types"]:
            at["types"] = [*at["types"], "object"]
        last = depth == len(path) - 1
        at = at.setdefault("keys", {}).setdefault(name, {"types": SCALARS if last else ["object"], "template": True})


def _decide(draft: Draft, path: tuple[str, ...], chart: str, table: OpenTable) -> None:
    """Apply the table to a node and what is below it; name a reason for what stays open."""
    if draft.get("decided"):
        return
    entry = table.entry(chart, path, draft) if path else None
    if entry is not None:
        _apply(draft, entry, path, table)
    for name, child in sorted(draft.get("keys", {}).items()):
        _decide(child, (*path, name), chart, table)
    for part, word in (("values", "*"), ("items", "[]")):
        if part in draft:
            _decide(draft[part], (*path, word), chart, table)
    if entry is not None and "like" in entry:
        draft["like"] = entry["like"]
    if "open" in draft:
        return
    holds_keys = "object" in draft["types"] or not draft["types"]
    holds_items = "array" in draft["types"] or not draft["types"]
    for mark in ("subchart", "free", "example"):
        if draft.get(mark) and holds_keys and "values" not in draft:
            draft["open"] = table.reason(mark)
            return
    if path and (
        (holds_keys and not {"keys", "values", "like"} & draft.keys())
        or (holds_keys and draft.get("keys") == {} and "like" not in draft and not draft.get("settled"))
        or (holds_items and "items" not in draft)
    ):
        draft["open"] = UNREVIEWED


def _stated(draft: Draft) -> bool:
    """Whether the chart's own schema says what stands below."""
    known = {"keys", "values"} & draft.keys() or ("items" in draft and _stated(draft["items"] | {"leaf": True}))
    return bool(draft.get("schema") and not draft.get("free") and (known or draft.get("leaf")))


def _apply(draft: Draft, entry: Mapping[str, Any], path: tuple[str, ...], table: OpenTable) -> None:
    shape = entry.get("is", "known")
    if shape in OPEN_SHAPES:
        types = draft["types"] if draft.get("schema") and draft["types"] else list(OPEN_SHAPES[shape])
        draft.clear()
        draft |= {"types": types, "open": entry["reason"]}
    elif shape == "extended":
        draft["types"] = sorted({*draft["types"], "object"}) if draft["types"] else []
        draft["open"] = entry["reason"]
    elif shape == "known":
        draft["settled"] = True
        for mark in ("free", "example", "subchart"):
            draft.pop(mark, None)
    else:
        draft.clear()
        draft |= thawed(table.raw["shapes"][shape])
    for name, node in entry.get("keys", {}).items():
        draft.setdefault("keys", {})[name] = thawed(
            table.raw["shapes"].get(node, node) if isinstance(node, str) else node
        )
    if "types" in entry:
        draft["types"] = entry["types"].split("|")
    if "enum" in entry:
        draft["enum"] = entry["enum"]


def thawed(node: Any) -> Draft:
    """Turn a node as a contract spells it into a draft."""
    raw: Draft = {"type": node} if isinstance(node, str) else dict(node)
    made: Draft = {"types": [part for part in str(raw.pop("type", "")).split("|") if part], "settled": True}
    for part in ("values", "items"):
        if part in raw:
            made[part] = thawed(raw.pop(part))
    if "keys" in raw:
        made["keys"] = {name: thawed(child) for name, child in raw.pop("keys").items()}
    return made | raw


def _finished(draft: Draft) -> Any:
    """Leave out the notes; resolve `like`, which names the part of the tree that the chart merges each value over."""

    def spell(node: Draft) -> Any:
        made: Draft = {"type": "|".join(node["types"])}
        made |= {name: node[name] for name in ("open", "enum", "pattern", "names", "required", *LIMITS) if name in node}
        if "like" in node:
            pattern: Draft = draft
            for part in node["like"].split("."):
                pattern = pattern.get("keys", {}).get(part) or Draft(types=[], open=UNREVIEWED)
            made["values"] = spell(pattern)
        elif node.get("keys") or ("keys" in node and "values" not in node):
            made["keys"] = {name: spell(child) for name, child in node["keys"].items()}
        made |= {part: spell(node[part]) for part in ("values", "items") if part in node}
        return made["type"] if made.keys() == {"type"} else made

    return spell(draft)
