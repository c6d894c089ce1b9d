"""The stand-alone delivery: every chart as plain YAML in a folder, with an index of what is where."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cdk8s
from constructs import Construct

from eks_training.files import write_whole
from eks_training.plan import Plan
from k8s.karpenter.chart import KarpenterPools
from k8s.rendering import OutputsFile, Resolve, refuse_unresolved, waves, yaml_text

INDEX = "index.json"
MANIFESTS = "manifests"

Document = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One chart and the parts that must be there before it."""

    name: str
    draw: Callable[[Construct, str, Plan, Resolve], cdk8s.Chart]
    after: tuple[str, ...] = ()


def _karpenter_pools(scope: Construct, id: str, plan: Plan, resolve: Resolve) -> cdk8s.Chart:
    return KarpenterPools(scope, id, plan=plan, resolve=resolve)


PARTS = (Part("karpenter-pools", _karpenter_pools),)


def render(plan: Plan, outputs: Mapping[str, Mapping[str, str]], folder: Path) -> list[Path]:
    """Write the manifests and their index; the index comes last, so it never names a file that is not there.

    Args:
        plan: what to write.
        outputs: deployment outputs by stack and key.
        folder: where to; made when it is not there.

    Raises `MissingOutputs` with all that are missing and `UnresolvedText`, both before anything is written; OSError
    when the folder cannot be written.
    """
    texts = rendered(plan, outputs)
    written = []
    for name, text in texts.items():
        write_whole(folder / name, text)
        written.append(folder / name)
    return written


def rendered(plan: Plan, outputs: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The files of `render` by path inside the folder, the index last; writes nothing."""
    drawn = OutputsFile(outputs).filled(lambda resolve: _drawn(plan, resolve))
    wave = waves({part.name: part.after for part in PARTS})
    texts: dict[str, str] = {}
    manifests: list[Document] = []
    for part in sorted(PARTS, key=lambda part: (wave[part.name], part.name)):
        objects = drawn[part.name]
        if not objects:
            continue
        file = f"{MANIFESTS}/{wave[part.name]:02d}-{part.name}.yaml"
        texts[file] = yaml_text(objects)
        manifests.append(
            {
                "file": file,
                "objects": [_reference(item) for item in objects],
                "wave": wave[part.name],
                "after": list(part.after),
            }
        )
    texts[INDEX] = json.dumps({"releases": [], "manifests": manifests}, indent=2) + "\n"
    refuse_unresolved(texts)
    return texts


def _drawn(plan: Plan, resolve: Resolve) -> dict[str, list[Document]]:
    app = cdk8s.App()
    return {part.name: part.draw(app, part.name, plan, resolve).to_json() for part in PARTS}


def _reference(item: Document) -> Document:
    metadata = item["metadata"]
    reference = {"apiVersion": item["apiVersion"], "kind": item["kind"], "name": metadata["name"]}
    return reference | ({"namespace": metadata["namespace"]} if "namespace" in metadata else {})
