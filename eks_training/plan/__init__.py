"""The Plan: every decision, as frozen values.

Takes a Spec that passed the rule book and the Facts; gives one Plan from which the stacks and the charts are written.
No stage after this one decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from eks_training.plan.value import Output

if TYPE_CHECKING:
    from eks_training.facts import Facts
    from eks_training.plan.cluster import ClusterPlan
    from eks_training.plan.devices import DevicesPlan
    from eks_training.plan.karpenter import KarpenterPlan
    from eks_training.plan.network import NetworkPlan
    from eks_training.plan.pool import PoolPlan
    from eks_training.plan.quota import QuotaNeed
    from eks_training.plan.storage import StoragePlan
    from eks_training.spec import Cluster

__all__ = ["Plan", "as_data", "build"]


@dataclass(frozen=True)
class Plan:
    """One training cluster, decided."""

    name: str
    region: str
    account: str | None
    tags: tuple[tuple[str, str], ...]
    registry_mirror: str | None
    network: NetworkPlan
    cluster: ClusterPlan
    pools: tuple[PoolPlan, ...]
    karpenter: KarpenterPlan | None
    storage: StoragePlan
    quotas: tuple[QuotaNeed, ...]
    devices: DevicesPlan

    @property
    def system_pools(self) -> tuple[PoolPlan, ...]:
        """Node groups that live in the cluster's own stack."""
        return tuple(pool for pool in self.pools if pool.stack == self.cluster.stack)

    @property
    def node_group_pools(self) -> tuple[PoolPlan, ...]:
        """Node groups with a stack of their own."""
        return tuple(pool for pool in self.pools if pool.karpenter is None and pool.stack != self.cluster.stack)

    @property
    def karpenter_pools(self) -> tuple[PoolPlan, ...]:
        """Pools that Karpenter provisions."""
        return tuple(pool for pool in self.pools if pool.karpenter is not None)

    @property
    def stacks(self) -> tuple[str, ...]:
        """Every stack, in an order in which they can be deployed."""
        return (
            self.network.stack,
            *((self.storage.stack,) if self.storage.creates else ()),
            self.cluster.stack,
            *((self.storage.access_stack,) if self.storage.needs_access else ()),
            *(pool.stack for pool in self.node_group_pools),
            *((self.karpenter.stack,) if self.karpenter else ()),
        )


def build(spec: Cluster, facts: Facts) -> Plan:
    """Take every decision.

    The rule book has passed without errors; on a Spec that it refuses the result is undefined.
    """
    # The rules ask single modules of the planner; only who plans needs all of them.
    from eks_training.plan.cluster import plan_cluster
    from eks_training.plan.defaults import wants_efa
    from eks_training.plan.devices import plan_devices
    from eks_training.plan.karpenter import plan_karpenter
    from eks_training.plan.network import plan_network
    from eks_training.plan.pool import plan_pool
    from eks_training.plan.quota import quota_needs
    from eks_training.plan.storage import plan_storage

    by_karpenter = any(pool.provisioner == "karpenter" for pool in spec.pools.values())
    efa = any(
        wants_efa(pool, instance)
        for pool in spec.pools.values()
        if (instance := facts.instances.get(pool.instance_type)) is not None
    )
    network = plan_network(spec, efa=efa, karpenter=by_karpenter)
    cluster = plan_cluster(spec, facts)
    pools = tuple(
        plan_pool(name, pool, spec, facts, network, cluster.security_group_id) for name, pool in spec.pools.items()
    )
    return Plan(
        name=spec.name,
        region=spec.region,
        account=spec.account,
        tags=tuple(sorted(spec.tags.items())),
        registry_mirror=spec.registry_mirror,
        network=network,
        cluster=cluster,
        pools=pools,
        karpenter=plan_karpenter(spec, facts, network) if by_karpenter else None,
        storage=plan_storage(spec, network),
        quotas=quota_needs(pools),
        devices=plan_devices(pools, facts, spec.registry_mirror),
    )


def as_data(value: Any) -> Any:
    """A Plan as plain JSON data; an output becomes ``{"stack": …, "output": …}``."""
    if isinstance(value, Output):
        return {"stack": value.stack, "output": value.key}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _field_data(field.type, getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [as_data(item) for item in value]
    return value


def _field_data(declared: Any, value: Any) -> Any:
    """Pairs of strings are a mapping, also when there are none."""
    return dict(value) if declared == "tuple[tuple[str, str], ...]" else as_data(value)
