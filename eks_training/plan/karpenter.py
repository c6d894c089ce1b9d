"""The Karpenter part of the Plan: what its stack must hold, and what each NodePool and EC2NodeClass must say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from eks_training import naming
from eks_training.facts import Facts
from eks_training.plan.network import NetworkPlan
from eks_training.plan.release import ChartRef, chart_ref, mirrored
from eks_training.plan.value import Output
from eks_training.spec import Cluster
from eks_training.spec.pool import Pool

NAMESPACE = "kube-system"
SERVICE_ACCOUNT = "karpenter"
CONTROLLER_IMAGE = "public.ecr.aws/karpenter/controller"
"""aws/karpenter-provider-aws@bde0065 (tag v1.14.1) charts/karpenter/values.yaml."""


@dataclass(frozen=True)
class Budget:
    """A disruption budget: at most ``nodes`` at a time for these reasons."""

    nodes: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class KarpenterPool:
    """What a NodePool and its EC2NodeClass carry beyond the pool's own fields."""

    capacity_types: tuple[Literal["reserved", "on-demand", "spot"], ...]
    zone_label: tuple[str, str]
    static: bool
    expire_after: str
    termination_grace_period: str | None
    consolidation_policy: Literal["WhenEmpty", "WhenEmptyOrUnderutilized"]
    consolidate_after: str
    budgets: tuple[Budget, ...]
    limits: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class KarpenterPlan:
    """Identities and the interruption queue of the controller."""

    stack: str
    namespace: str
    service_account: str
    isolated_vpc: bool
    instance_profile: Output | None
    node_role: Output
    queue: Output
    crd_chart: ChartRef
    chart: ChartRef
    image_repository: str | None
    """The controller's image from the mirror; None leaves the chart's own."""
    replicas: int
    static_capacity: bool
    """Whether the alpha gate for pools of a fixed size is on."""
    node_selector: tuple[tuple[str, str], ...]


def plan_karpenter(spec: Cluster, facts: Facts, network: NetworkPlan) -> KarpenterPlan:
    """Decide the controller and its surroundings.

    Two replicas never share a host, so a single system node runs one.  IAM has no private endpoint: without a way to
    the internet Karpenter cannot make the instance profile itself, so the stack makes it.
    """
    stack = naming.stack(spec.name, naming.KARPENTER)
    system_nodes = sum(pool.min_nodes for pool in spec.pools.values() if pool.purpose == "system")
    isolated = network.egress == "endpoints"
    return KarpenterPlan(
        stack=stack,
        namespace=NAMESPACE,
        service_account=SERVICE_ACCOUNT,
        isolated_vpc=isolated,
        instance_profile=Output(stack, "NodeInstanceProfile") if isolated else None,
        node_role=Output(stack, "NodeRoleName"),
        queue=Output(stack, "InterruptionQueueName"),
        crd_chart=chart_ref("karpenter-crd", facts.versions, spec.registry_mirror),
        chart=chart_ref("karpenter", facts.versions, spec.registry_mirror),
        image_repository=mirrored(CONTROLLER_IMAGE, spec.registry_mirror) if spec.registry_mirror else None,
        replicas=2 if system_nodes > 1 else 1,
        static_capacity=any(pool.static_capacity for pool in spec.pools.values()),
        node_selector=((naming.LABEL_PURPOSE, "system"),),
    )


def plan_karpenter_pool(
    pool: Pool, network: NetworkPlan, capacity: str, device: str | None, devices_per_node: int
) -> KarpenterPool:
    """Decide the disruption and capacity terms of one pool.

    Args:
        capacity: the pool's capacity type.
        device: extended resource of its accelerators.
        devices_per_node: accelerators of one node.
    """
    training = pool.purpose == "training"
    asked = pool.disruption
    after = asked.consolidate_after if asked.consolidate_after is not None else timedelta(minutes=10)
    static = isinstance(pool.nodes, int)
    limits = {"nodes": str(pool.max_nodes)}
    # A NodePool with a fixed number of nodes accepts no other limit (rule of its definition, karpenter-crd 1.14).
    if device and not static:
        limits[device] = str(pool.max_nodes * devices_per_node)
    return KarpenterPool(
        capacity_types=_capacity_types(capacity),
        zone_label=network.training_zone.node_label,
        static=static,
        expire_after=_expiry(asked.expire_after, training),
        termination_grace_period=go_duration(asked.termination_grace_period)
        if asked.termination_grace_period
        else None,
        consolidation_policy=asked.consolidation or ("WhenEmpty" if training else "WhenEmptyOrUnderutilized"),
        consolidate_after=go_duration(after),
        budgets=(Budget("0", ("Drifted", "Underutilized")), Budget("100%", ("Empty",)))
        if training
        else (Budget("1", ()),),
        limits=tuple(sorted(limits.items())),
    )


def _capacity_types(capacity: str) -> tuple[Literal["reserved", "on-demand", "spot"], ...]:
    """Reserved capacity never falls back to on-demand: that would be silent spending."""
    if capacity == "spot":
        return ("spot",)
    return ("on-demand",) if capacity == "on-demand" else ("reserved",)


def _expiry(asked: timedelta | Literal["Never"] | None, training: bool) -> str:
    if asked is None:
        return "Never" if training else "720h"
    return asked if isinstance(asked, str) else go_duration(asked)


def go_duration(value: timedelta) -> str:
    """A duration as Go writes it: hours, minutes and seconds, without empty parts."""
    seconds = int(value.total_seconds())
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    text = "".join(f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (seconds, "s")) if number)
    return text or "0s"
