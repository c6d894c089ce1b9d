"""What the stacks that make nodes share: the security groups of a node."""

from __future__ import annotations

from eks_training.plan.pool import PoolPlan
from stacks.network import NetworkStack


def node_security_groups(pool: PoolPlan, network: NetworkStack, cluster_security_group_id: str) -> list[str]:
    """Groups of every interface: the cluster's, the one that storage admits, the EFA group, and the user's."""
    efa = [network.efa_security_group_id] if pool.efa and network.efa_security_group_id else []
    return [cluster_security_group_id, network.node_security_group_id, *efa, *pool.security_groups]
