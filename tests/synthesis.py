"""Synthesis for tests: YAML text -> Plan -> templates, with the context of cdk.json and no network."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from aws_cdk import App, Stack

from eks_training.facts import facts_for
from eks_training.loading import load_bytes
from eks_training.plan import Plan, build
from eks_training.rulebook import Subject, check

ROOT = Path(__file__).resolve().parent.parent
Template = dict[str, Any]


def plan_of(text: str) -> Plan:
    """The Plan of a configuration that must have no errors."""
    loaded = load_bytes(text.encode(), "test.yaml")
    assert loaded.spec is not None and loaded.document is not None, loaded.findings
    facts = facts_for(loaded.spec)
    errors = [
        finding for finding in check(loaded.document, Subject(loaded.spec, facts)) if finding.severity.value == "error"
    ]
    assert not errors, errors
    return build(loaded.spec, facts)


def new_app(folder: str) -> App:
    """An app with the flags that ``cdk synth`` would give it."""
    return App(outdir=folder, context=json.loads((ROOT / "cdk.json").read_text())["context"])


@dataclass(frozen=True)
class Assembly:
    """What synthesis wrote."""

    plan: Plan
    templates: dict[str, Template]
    manifest: dict[str, Any]
    files: dict[str, bytes]

    def template(self, part: str) -> Template:
        """The template of one stack of the cluster."""
        return self.templates[f"{self.plan.name}-{part}"]


@lru_cache(maxsize=16)
def assembled(text: str) -> Assembly:
    """The whole cloud assembly of a configuration."""
    from stacks.assembly import add_stacks

    plan = plan_of(text)
    with tempfile.TemporaryDirectory() as folder:
        app = new_app(folder)
        add_stacks(app, plan)
        app.synth()
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and not path.relative_to(folder).parts[0].startswith("asset.")
        }
    templates = {
        name.removesuffix(".template.json"): json.loads(content)
        for name, content in files.items()
        if name.endswith(".template.json")
    }
    return Assembly(plan, templates, json.loads(files["manifest.json"]), files)


def template_of(make: Callable[[Stack], object]) -> Template:
    """The template of a stack that holds only what ``make`` adds."""
    with tempfile.TemporaryDirectory() as folder:
        app = new_app(folder)
        stack = Stack(app, "Test")
        make(stack)
        app.synth()
        template: Template = json.loads((Path(folder) / "Test.template.json").read_text())
    return template


def of_type(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """Resources of one type by logical id."""
    return {name: item for name, item in template["Resources"].items() if item["Type"] == kind}


def only(template: Template, kind: str) -> dict[str, Any]:
    """The properties of the one resource of a type."""
    (resource,) = of_type(template, kind).values()
    properties: dict[str, Any] = resource.get("Properties", {})
    return properties


def values(tree: object) -> Iterator[object]:
    """Every leaf and mapping key below a tree."""
    if isinstance(tree, dict):
        for key, item in tree.items():
            yield key
            yield from values(item)
    elif isinstance(tree, list):
        for item in tree:
            yield from values(item)
    else:
        yield tree
