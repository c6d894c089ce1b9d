"""The NVIDIA and the EFA device plugin with the values that their charts read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eks_training.plan import Plan
from eks_training.plan.devices import DevicePlugin
from eks_training.plan.value import Value
from k8s.release import Release


def releases(plan: Plan, resolve: Callable[[Value], str]) -> list[Release]:
    """The plugins that the Plan's pools need."""
    nvidia, efa = plan.devices.nvidia, plan.devices.efa
    made = []
    if nvidia:
        # The chart runs where the label nvidia.com/gpu.present is true, which the Plan gives to every GPU pool.
        made.append(Release("nvidia-device-plugin", nvidia.chart, nvidia.namespace, _common(nvidia)))
    if efa:
        types = {"keys": ["node.kubernetes.io/instance-type"], "values": list(efa.instance_types)}
        values = {**_common(efa), "supportedInstanceLabels": types}
        made.append(Release("aws-efa-k8s-device-plugin", efa.chart, efa.namespace, values))
    return made


def _common(plugin: DevicePlugin) -> dict[str, Any]:
    image = {"image": {"repository": plugin.image_repository}} if plugin.image_repository else {}
    tolerations = [{"key": taint.key, "operator": "Exists", "effect": taint.effect} for taint in plugin.tolerations]
    return {"tolerations": tolerations, **image}
