"""Karpenter's releases: real charts at the pinned version, with values that the pinned chart reads, in order."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from eks_training.contracts.model import check, load
from eks_training.plan import Plan
from k8s.karpenter.releases import releases
from k8s.release import Release
from k8s.render import CONTRACTS, render
from k8s.rendering import OutputsFile
from tests.k8s.deployment import all_pools, outputs_of
from tests.synthesis import ROOT, plan_of

pytestmark = pytest.mark.template


def released(plan: Plan) -> dict[str, Release]:
    return {item.name: item for item in releases(plan, OutputsFile(outputs_of(plan)).resolve)}


def test_the_values_of_the_shipped_cluster() -> None:
    release = released(plan_of((ROOT / "cluster.yaml").read_text()))["karpenter"]
    assert (release.chart.repository, release.chart.version) == ("oci://public.ecr.aws/karpenter/karpenter", "1.14.1")
    assert release.namespace == "kube-system"
    assert release.values == {
        "replicas": 2,
        "serviceAccount": {"name": "karpenter"},
        "nodeSelector": {"eks-training/purpose": "system"},
        "settings": {
            "clusterName": "llm-train",
            "interruptionQueue": "made-InterruptionQueueName",
            "isolatedVPC": False,
            "featureGates": {"staticCapacity": False},
        },
    }


def test_a_mirror_serves_chart_and_image() -> None:
    release = released(plan_of((ROOT / "examples" / "isolated.yaml").read_text()))["karpenter"]
    mirror = "111122223333.dkr.ecr.us-gov-west-1.amazonaws.com/mirror"
    assert release.chart.repository == f"oci://{mirror}/karpenter/karpenter"
    assert release.values["controller"] == {"image": {"repository": f"{mirror}/karpenter/controller"}}
    assert release.values["settings"]["isolatedVPC"] is True


def test_the_gate_for_static_pools_is_on_only_with_one() -> None:
    assert released(plan_of(all_pools()))["karpenter"].values["settings"]["featureGates"] == {"staticCapacity": True}


def test_a_single_system_node_runs_one_replica() -> None:
    text = (ROOT / "cluster.yaml").read_text().replace("nodes: 3\n", "nodes: 1\n", 1)
    assert released(plan_of(text))["karpenter"].values["replicas"] == 1


@pytest.mark.parametrize("text", ["cluster.yaml", "examples/isolated.yaml", "examples/karpenter.yaml"])
def test_the_pinned_charts_read_every_value(text: str) -> None:
    for release in released(plan_of((ROOT / text).read_text())).values():
        contract = load(CONTRACTS / f"{release.chart.name}.json")
        assert contract.completeness == "complete"
        assert check(contract, release.values) == []
        broken = {**release.values, "setings": {}}
        (fault,) = check(contract, broken)
        assert fault.path == ("setings",)


@pytest.fixture
def applied(tmp_path: Path) -> tuple[Path, Path]:
    """A rendered folder, and a folder with `helm` and `kubectl` that write down how they were called."""
    plan = plan_of((ROOT / "cluster.yaml").read_text())
    dist, tools = tmp_path / "dist", tmp_path / "tools"
    render(plan, outputs_of(plan), dist)
    tools.mkdir()
    for name in ("helm", "kubectl"):
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/calls"\n')
        (tools / name).chmod(0o755)
    return dist, tools


def calls(applied: tuple[Path, Path], *arguments: str) -> list[str]:
    dist, tools = applied
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    subprocess.run(["bash", str(dist / "apply.sh"), *arguments], check=True, env=environment, capture_output=True)
    return (dist.parent / "calls").read_text().splitlines()


def test_the_script_applies_wave_by_wave_and_names_files_that_are_there(applied: tuple[Path, Path]) -> None:
    *others, second, third = calls(applied)
    (first,) = (call for call in others if "karpenter" in call)
    assert first.startswith("helm upgrade --install karpenter-crd oci://public.ecr.aws/karpenter/karpenter-crd ")
    assert second.startswith("helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter ")
    assert "--version 1.14.1 --namespace kube-system --values values/karpenter.yaml --wait" in second
    assert third == "kubectl apply --server-side -f manifests/02-karpenter-pools.yaml"
    index = json.loads((applied[0] / "index.json").read_text())
    for entry in (*index["releases"], *index["manifests"]):
        assert list(yaml.safe_load_all((applied[0] / entry.get("file", entry.get("valuesFile"))).read_text()))


def test_a_dry_run_changes_nothing(applied: tuple[Path, Path]) -> None:
    assert all("--dry-run=server" in call for call in calls(applied, "--dry-run"))


def test_the_script_refuses_other_words(applied: tuple[Path, Path]) -> None:
    done = subprocess.run(["bash", str(applied[0] / "apply.sh"), "--all"], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage:" in done.stderr
