"""What the stacks that make nodes share: the security groups of a node."""

from __future__ import annotations

from eks_training.plan import Plan
from eks_training.plan.pool import PoolPlan
from eks_training.plan.value import Output
from stacks.network import NetworkStack


def node_security_groups(
    pool: PoolPlan, plan: Plan, network: NetworkStack, cluster_security_group_id: str
) -> list[str]:
    """The Plan's groups as references to the stacks that make them."""
    references = {
        plan.cluster.security_group_id: cluster_security_group_id,
        plan.network.node_security_group_id: network.node_security_group_id,
        plan.network.efa_security_group_id: network.efa_security_group_id or "",
    }
    return [references[group] if isinstance(group, Output) else group for group in pool.security_groups]
