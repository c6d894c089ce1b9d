"""Contracts of custom resources, from the structural schemas of their definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from eks_training.contracts.model import ContractError

ELSEWHERE = "checked against the Kubernetes schema"
FREE = "any field, says the definition; checked against the Kubernetes schema"
CARRIED = {
    "minimum": "min", "maximum": "max", "minLength": "minLength", "maxLength": "maxLength", "minItems": "minItems",
    "maxItems": "maxItems", "minProperties": "minKeys", "maxProperties": "maxKeys", "pattern": "pattern",
}  # fmt: skip
NAMES = {"type": "object", "values": "string"}
METADATA = {
    "type": "object",
    "keys": {
        "name": "string", "namespace": "string", "generateName": "string", "labels": NAMES, "annotations": NAMES,
        "finalizers": {"type": "array", "items": "string"},
        "ownerReferences": {"type": "array", "open": ELSEWHERE},
    },
}  # fmt: skip
"""What an author may write of ObjectMeta; the server fills in the rest."""

Node: TypeAlias = "dict[str, Any] | str"
"""A node as the file spells it; one that is only types is a string."""
Document: TypeAlias = dict[str, Any]


def crd_contracts(definition: Mapping[str, Any], version: str, source: str) -> Iterator[Document]:
    """Yield a contract for every served version of one CustomResourceDefinition.

    Raises `ContractError` when the object is none or a version has no structural schema.
    """
    if definition.get("kind") != "CustomResourceDefinition":
        raise ContractError(f"not a CustomResourceDefinition but {definition.get('kind')!r}")
    spec = definition["spec"]
    group, kind = spec["group"], spec["names"]["kind"]
    for one in spec["versions"]:
        if not one.get("served"):
            continue
        schema = one.get("schema", {}).get("openAPIV3Schema")
        if not schema:
            raise ContractError(f"{group}/{one['name']} {kind}: no structural schema")
        keys = {name: node(child) for name, child in schema.get("properties", {}).items() if name != "status"}
        keys |= {
            "apiVersion": {"type": "string", "enum": [f"{group}/{one['name']}"]},
            "kind": {"type": "string", "enum": [kind]},
            "metadata": METADATA,
        }
        required = sorted({*schema.get("required", []), "apiVersion", "kind", "metadata"} - {"status"})
        yield {
            "name": f"{group}/{one['name']}/{kind}",
            "version": version,
            "source": source,
            "kind": "crd",
            "completeness": "complete",
            "tree": {"type": "object", "keys": keys, "required": required},
        }


def node(schema: Mapping[str, Any]) -> Node:
    """Turn one structural schema into a node."""
    properties = schema.get("properties", {})
    if {"metadata", "spec"} <= properties.keys() and "containers" in properties["spec"].get("properties", {}):
        return {"type": "object", "keys": {"metadata": METADATA, "spec": {"type": "object", "open": ELSEWHERE}}}
    types = [schema["type"]] if "type" in schema else []
    if schema.get("x-kubernetes-int-or-string"):
        types = ["integer", "string"]
    if types and schema.get("nullable"):
        types.append("null")
    made: dict[str, Any] = {"type": "|".join(types)}
    made |= {ours: schema[theirs] for theirs, ours in CARRIED.items() if theirs in schema}
    if "enum" in schema:
        made["enum"] = list(schema["enum"])
    if schema.get("required"):
        made["required"] = sorted(schema["required"])
    if properties:
        made["keys"] = {name: node(child) for name, child in properties.items()}
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        made["values"] = node(more)
    if "items" in schema:
        made["items"] = node(schema["items"])
    anything = "object" in types and not properties and not isinstance(more, Mapping)
    if schema.get("x-kubernetes-preserve-unknown-fields") or more is True or not types:
        made["open"] = FREE
    elif (
        anything
    ):  # {type: object} without properties: the server drops whatever stands below, but for embedded metadata
        made["open"] = ELSEWHERE
    return made if made.keys() != {"type"} else str(made["type"])
