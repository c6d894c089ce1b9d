"""The JSON Schema that editors use: it takes what the loader takes, refuses what is misspelt, and explains each key."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eks_training.document import parse
from eks_training.schema import json_schema
from eks_training.section_fields import field_notes, nested_models
from eks_training.spec import Cluster

pytestmark = pytest.mark.schema

ROOT = Path(__file__).resolve().parent.parent
SCHEMA: dict[str, Any] = json.loads(json_schema())
needs_jsonschema = pytest.mark.skipif(importlib.util.find_spec("jsonschema") is None, reason="jsonschema is missing")


def example() -> Any:
    document, findings = parse((ROOT / "cluster.yaml").read_text(encoding="utf-8"), "cluster.yaml")
    assert document is not None
    assert not findings
    return document.value


def complaints(value: object) -> list[str]:
    validator = importlib.import_module("jsonschema").Draft202012Validator(SCHEMA)
    return [error.message for error in validator.iter_errors(value)]


def sections(node: object, name: str = "Cluster") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the schema that has properties."""
    if isinstance(node, dict):
        if "properties" in node:
            yield name, node
        for key, inner in node.items():
            yield from sections(inner, key)


@needs_jsonschema
def test_the_example_is_accepted() -> None:
    assert complaints(example()) == []


@needs_jsonschema
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), {"regoin": 1}),
        (("pools", "h200"), {"placment": "cluster"}),
        (("storage", "lustre", "scratch", "create"), {"capacity": 1200}),
        (("pools", "system"), {"nodes": "3"}),
        (("pools", "h200"), {"capacity": "spott"}),
        (("network",), {"cidr": 5}),
    ],
)
def test_what_the_loader_refuses_is_refused(path: tuple[str, ...], value: dict[str, object]) -> None:
    whole = example()
    section = whole
    for part in path:
        section = section[part]
    section.update(value)
    assert complaints(whole)


@needs_jsonschema
@pytest.mark.parametrize(
    ("pool", "value"),
    [("h200", {"capacity": "spot"}), ("h200", {"placement": {"existing": "mine"}}), ("system", {"nodes": {"max": 2}})],
)
def test_short_and_long_forms_are_accepted(pool: str, value: dict[str, object]) -> None:
    whole = example()
    whole["pools"][pool].update(value)
    assert complaints(whole) == []


def test_every_property_is_described() -> None:
    bare = [f"{name}.{key}" for name, node in sections(SCHEMA) for key, item in node["properties"].items()
            if not item.get("description")]  # fmt: skip
    assert bare == []


def test_every_section_refuses_unknown_keys() -> None:
    assert [name for name, node in sections(SCHEMA) if node.get("additionalProperties") is not False] == []


def test_every_field_of_every_section_has_a_note_of_its_own() -> None:
    found: list[Any] = [Cluster]
    for model in found:
        notes = field_notes(model)
        assert set(notes) == set(model.model_fields), model
        assert all(note.endswith((".", ")")) for note in notes.values()), model
        for field in model.model_fields.values():
            found += [item for item in nested_models(field.annotation) if item not in found]
    assert len(found) > 30


def test_patterns_are_read_alike_by_python_and_ecmascript() -> None:
    text = json_schema()
    patterns = re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', text)
    assert patterns
    for written in patterns:
        pattern = json.loads(written)
        re.compile(pattern)
        assert "(?P" not in pattern
        assert "\\Z" not in pattern


def test_the_text_is_the_same_in_every_process() -> None:
    code = "from eks_training.schema import json_schema; print(json_schema(), end='')"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {json_schema().encode()}
    assert json_schema().endswith("}\n")
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
