"""Karpenter's two charts with the values that they read.

The definitions come first: a chart that finds them already made by another release refuses to take them over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eks_training.plan import Plan
from eks_training.plan.karpenter import KarpenterPlan
from eks_training.plan.value import Value
from k8s.release import Release


def releases(plan: Plan, resolve: Callable[[Value], str]) -> list[Release]:
    """The releases of a Plan; none without Karpenter pools."""
    karpenter = plan.karpenter
    if karpenter is None:
        return []
    return [
        Release("karpenter-crd", karpenter.crd_chart, karpenter.namespace, {}),
        Release(
            "karpenter",
            karpenter.chart,
            karpenter.namespace,
            _values(plan, karpenter, resolve),
            after=("karpenter-crd",),
        ),
    ]


def _values(plan: Plan, karpenter: KarpenterPlan, resolve: Callable[[Value], str]) -> dict[str, Any]:
    image = {"image": {"repository": karpenter.image_repository}} if karpenter.image_repository else {}
    return {
        "replicas": karpenter.replicas,
        "serviceAccount": {"name": karpenter.service_account},
        "nodeSelector": dict(karpenter.node_selector),
        "settings": {
            "clusterName": plan.cluster.name,
            "interruptionQueue": resolve(karpenter.queue),
            "isolatedVPC": karpenter.isolated_vpc,
            "featureGates": {"staticCapacity": karpenter.static_capacity},
        },
        **({"controller": image} if image else {}),
    }
