"""Device plugins: without them no node advertises its GPUs or EFA interfaces, whatever its image brings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eks_training.facts import Facts
from eks_training.plan.pool import PoolPlan
from eks_training.plan.release import ChartRef, chart_ref, mirrored

NAMESPACE = "kube-system"
NVIDIA_IMAGE = "nvcr.io/nvidia/k8s-device-plugin"
"""NVIDIA/k8s-device-plugin@1b826ac (tag v0.20.0) deployments/helm/nvidia-device-plugin/values.yaml."""
EFA_IMAGE = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin"
"""aws/eks-charts@5239609 stable/aws-efa-k8s-device-plugin/values.yaml."""


@dataclass(frozen=True)
class Toleration:
    """A taint, whatever its value, that a DaemonSet tolerates."""

    key: str
    effect: str


@dataclass(frozen=True)
class DevicePlugin:
    """One plugin for the pools that have its device."""

    chart: ChartRef
    namespace: str
    instance_types: tuple[str, ...]
    tolerations: tuple[Toleration, ...]
    """Every taint of these pools: a plugin that does not tolerate one never reaches the node."""
    image_repository: str | None
    """The image from the mirror; None leaves the chart's own."""


@dataclass(frozen=True)
class DevicesPlan:
    """The plugins; None where no pool has the device."""

    nvidia: DevicePlugin | None
    efa: DevicePlugin | None


def plan_devices(pools: Iterable[PoolPlan], facts: Facts, mirror: str | None) -> DevicesPlan:
    """Decide which plugins run, where, and what they tolerate.

    Neuron devices have no plugin here: the one chart that could be read lists no trn2 instance.
    """
    pools = tuple(pools)
    gpu = tuple(pool for pool in pools if pool.accelerator and pool.accelerator.kind == "gpu")
    efa = tuple(pool for pool in pools if pool.efa)
    return DevicesPlan(
        nvidia=_plugin("nvidia-device-plugin", NVIDIA_IMAGE, gpu, facts, mirror),
        efa=_plugin("aws-efa-k8s-device-plugin", EFA_IMAGE, efa, facts, mirror),
    )


def _plugin(
    chart: str, image: str, pools: tuple[PoolPlan, ...], facts: Facts, mirror: str | None
) -> DevicePlugin | None:
    if not pools:
        return None
    taints = {(taint.key, taint.effect) for pool in pools for taint in pool.taints}
    return DevicePlugin(
        chart=chart_ref(chart, facts.versions, mirror),
        namespace=NAMESPACE,
        instance_types=tuple(sorted({pool.instance_type for pool in pools})),
        tolerations=tuple(Toleration(key, effect) for key, effect in sorted(taints)),
        image_repository=mirrored(image, mirror) if mirror else None,
    )
