"""The stand-alone delivery: every chart as plain YAML in a folder, with an index of what is where."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cdk8s
from constructs import Construct

from eks_training.contracts.model import check, load
from eks_training.files import write_whole
from eks_training.finding import Severity, path_text
from eks_training.plan import Plan
from k8s.applying import apply_script
from k8s.device_plugins.releases import releases as device_plugin_releases
from k8s.karpenter.chart import KarpenterPools
from k8s.karpenter.releases import releases as karpenter_releases
from k8s.release import Release
from k8s.rendering import OutputsFile, Resolve, refuse_unresolved, waves, yaml_text

INDEX = "index.json"
APPLY = "apply.sh"
MANIFESTS = "manifests"
VALUES = "values"
CONTRACTS = Path(__file__).resolve().parent / "contracts"

Document = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One chart and the parts that must be there before it."""

    name: str
    draw: Callable[[Construct, str, Plan, Resolve], cdk8s.Chart]
    after: tuple[str, ...] = ()


def _karpenter_pools(scope: Construct, id: str, plan: Plan, resolve: Resolve) -> cdk8s.Chart:
    return KarpenterPools(scope, id, plan=plan, resolve=resolve)


PARTS = (Part("karpenter-pools", _karpenter_pools, after=("karpenter",)),)
RELEASES: tuple[Callable[[Plan, Resolve], list[Release]], ...] = (device_plugin_releases, karpenter_releases)


class BrokenContract(ValueError):
    """Values that the pinned chart does not read; a fault of this project, found before anything is written."""


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
    objects, releases = OutputsFile(outputs).filled(lambda resolve: (_drawn(plan, resolve), _released(plan, resolve)))
    parts = {part.name: part for part in PARTS if objects[part.name]}
    wave = waves({**{item.name: item.after for item in releases}, **{name: part.after for name, part in parts.items()}})
    texts = {_values_file(item): yaml_text([item.values]) for item in releases}
    texts |= {_manifest_file(name, wave): yaml_text(objects[name]) for name in parts}
    index: Document = {
        "releases": [
            {
                "name": item.name,
                "chart": item.chart.name,
                "repository": item.chart.repository,
                "version": item.chart.version,
                "namespace": item.namespace,
                "valuesFile": _values_file(item),
                "wave": wave[item.name],
                "after": list(item.after),
            }
            for item in sorted(releases, key=lambda item: (wave[item.name], item.name))
        ],
        "manifests": [
            {
                "file": _manifest_file(name, wave),
                "objects": [_reference(item) for item in objects[name]],
                "wave": wave[name],
                "after": list(part.after),
            }
            for name, part in sorted(parts.items(), key=lambda item: (wave[item[0]], item[0]))
        ],
    }
    texts[APPLY] = apply_script(index)
    texts[INDEX] = json.dumps(index, indent=2) + "\n"
    refuse_unresolved(texts)
    return texts


def _values_file(release: Release) -> str:
    return f"{VALUES}/{release.name}.yaml"


def _manifest_file(name: str, wave: Mapping[str, int]) -> str:
    return f"{MANIFESTS}/{wave[name]:02d}-{name}.yaml"


def _released(plan: Plan, resolve: Resolve) -> list[Release]:
    releases = [release for make in RELEASES for release in make(plan, resolve)]
    broken = [
        f"{release.name}: {path_text(fault.path)}: {fault.problem}, found {fault.found}, expected {fault.expected}"
        for release in releases
        for fault in check(load(CONTRACTS / f"{release.chart.name}.json"), release.values)
        if fault.severity is Severity.ERROR
    ]
    if broken:
        raise BrokenContract("\n".join(broken))
    return releases


def _drawn(plan: Plan, resolve: Resolve) -> dict[str, list[Document]]:
    app = cdk8s.App()
    return {part.name: part.draw(app, part.name, plan, resolve).to_json() for part in PARTS}


def _reference(item: Document) -> Document:
    metadata = item["metadata"]
    reference = {"apiVersion": item["apiVersion"], "kind": item["kind"], "name": metadata["name"]}
    return reference | ({"namespace": metadata["namespace"]} if "namespace" in metadata else {})
