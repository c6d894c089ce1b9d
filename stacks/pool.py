"""One managed node group in a stack of its own, so that one that cannot be filled rolls back nothing else."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from constructs.node_group import NodeGroup
from eks_training import naming
from eks_training.plan import Plan
from eks_training.plan.pool import PoolPlan
from stacks.cluster import ClusterStack
from stacks.network import NetworkStack
from stacks.nodes import node_security_groups


class PoolStack(Stack):
    """The node group of one pool."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: Plan,
        pool: PoolPlan,
        network: NetworkStack,
        cluster: ClusterStack,
        **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        group = NodeGroup(
            self,
            naming.pascal(pool.name),
            pool=pool,
            cluster_name=cluster.cluster_name,
            node_role_arn=cluster.node_role_arn,
            subnet_ids=[network.subnets[key].subnet_id for key in pool.subnets],
            security_group_ids=node_security_groups(pool, plan, network, cluster.cluster_security_group_id),
        )
        CfnOutput(self, "NodegroupName", value=group.resource.attr_nodegroup_name)
        if group.placement_group:
            CfnOutput(
                self, f"PlacementGroup{naming.pascal(pool.name)}Name", value=group.placement_group.attr_group_name
            )
