"""JSON Schema of cluster.yaml for editors, and the notes that stand below the fields of the Spec."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from functools import cache
from typing import Any

from pydantic import BaseModel

from eks_training.spec import Cluster


@cache
def field_notes(model: type[BaseModel]) -> dict[str, str]:
    """The documentation of each field: the text that follows its declaration."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    notes: dict[str, str] = {}
    for declared, following in zip(body, body[1:], strict=False):
        if (
            isinstance(declared, ast.AnnAssign)
            and isinstance(declared.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            notes[declared.target.id] = " ".join(str(following.value.value).split())
    return notes


def json_schema() -> str:
    """The JSON Schema of cluster.yaml, with the notes as descriptions; the same text every time."""
    schema = Cluster.model_json_schema()
    models = {model.__name__: model for model in _all_models(Cluster)}
    for name, section in [("Cluster", schema), *schema.get("$defs", {}).items()]:
        for field, note in field_notes(models[name]).items():
            properties: dict[str, Any] = section.get("properties", {})
            if field in properties:
                properties[field]["description"] = note
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "cluster.yaml"
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _all_models(model: type[BaseModel], seen: set[type[BaseModel]] | None = None) -> set[type[BaseModel]]:
    from eks_training.loading import nested_models

    seen = set() if seen is None else seen
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for nested in nested_models(field.annotation):
                _all_models(nested, seen)
    return seen
