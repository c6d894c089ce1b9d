"""Device plugins reach every node that has their device, and the pinned charts read what they are given."""

import pytest

from eks_training.contracts.model import check, load
from k8s.device_plugins.releases import releases
from k8s.release import Release
from k8s.render import CONTRACTS, rendered
from tests.k8s.deployment import HEAD, outputs_of, shipped
from tests.synthesis import ROOT, plan_of

pytestmark = pytest.mark.template

GPU = "purpose: training, instance_type: p5.48xlarge, nodes: 2, placement: none"


def released(text: str) -> dict[str, Release]:
    return {item.name: item for item in releases(plan_of(text), str)}


def tolerated(release: Release) -> set[tuple[str, str, str]]:
    return {(item["key"], item["operator"], item["effect"]) for item in release.values["tolerations"]}


def test_the_shipped_cluster_has_both() -> None:
    found = released((ROOT / "cluster.yaml").read_text())
    assert found.keys() == {"nvidia-device-plugin", "aws-efa-k8s-device-plugin"}
    efa = found["aws-efa-k8s-device-plugin"]
    assert efa.values["supportedInstanceLabels"]["values"] == ["p5.48xlarge", "p5en.48xlarge"]
    assert tolerated(efa) == {("nvidia.com/gpu", "Exists", "NoSchedule")}
    assert (efa.chart.repository, efa.chart.version) == ("https://aws.github.io/eks-charts", "v0.5.30")


def test_every_taint_of_a_pool_is_tolerated_by_its_plugins() -> None:
    taints = "taints: [{key: team, value: a, effect: NoSchedule}, {key: nvidia.com/gpu, effect: NoExecute}]"
    text = f"{HEAD}  one: {{{GPU}, {taints}}}\n  two: {{{GPU}}}\n"
    for release in released(text).values():
        assert tolerated(release) == {
            ("nvidia.com/gpu", "Exists", "NoExecute"),
            ("nvidia.com/gpu", "Exists", "NoSchedule"),
            ("team", "Exists", "NoSchedule"),
        }


def test_gpu_nodes_carry_the_label_by_which_the_plugin_finds_them() -> None:
    for pool in plan_of((ROOT / "cluster.yaml").read_text()).pools:
        assert dict(pool.labels).get("nvidia.com/gpu.present") == ("true" if pool.accelerator else None)


def test_no_plugin_without_its_device() -> None:
    assert released(HEAD) == {}
    neuron = "purpose: training, instance_type: trn1.32xlarge, nodes: 2, placement: none"
    assert released(f"{HEAD}  trn: {{{neuron}}}\n").keys() == {"aws-efa-k8s-device-plugin"}
    plain = "purpose: notebook, instance_type: g5.xlarge, nodes: 1"
    assert released(f"{HEAD}  nb: {{{plain}}}\n").keys() == {"nvidia-device-plugin"}


def test_a_mirror_serves_charts_and_images() -> None:
    for name, release in released((ROOT / "examples" / "isolated.yaml").read_text()).items():
        mirror = "111122223333.dkr.ecr.us-gov-west-1.amazonaws.com/mirror"
        assert release.chart.repository == f"oci://{mirror}/{name}"
        assert release.values["image"]["repository"].startswith(f"{mirror}/")


@pytest.mark.parametrize("text", shipped().values(), ids=shipped().keys())
def test_the_pinned_charts_read_every_value(text: str) -> None:
    for release in released(text).values():
        contract = load(CONTRACTS / f"{release.chart.name}.json")
        assert contract.completeness == "complete"
        assert check(contract, release.values) == []
        (fault,) = check(contract, {**release.values, "toleration": []})
        assert fault.near[0] == "tolerations"


def test_the_script_names_the_repository_of_a_chart_that_is_in_no_oci_registry() -> None:
    plan = plan_of((ROOT / "cluster.yaml").read_text())
    script = rendered(plan, outputs_of(plan))["apply.sh"]
    assert (
        "helm upgrade --install nvidia-device-plugin nvidia-device-plugin"
        " --repo https://nvidia.github.io/k8s-device-plugin --version 0.20.0 --namespace kube-system" in script
    )
