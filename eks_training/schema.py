"""JSON Schema of cluster.yaml for editors."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from eks_training.section_fields import field_notes, nested_models
from eks_training.spec import Cluster


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
    seen = set() if seen is None else seen
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for nested in nested_models(field.annotation):
                _all_models(nested, seen)
    return seen
