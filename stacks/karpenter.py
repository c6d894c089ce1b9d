"""What Karpenter needs from AWS; its chart and its NodePools belong to the Kubernetes layer."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from constructs.karpenter_access import KarpenterAccess
from eks_training import naming
from eks_training.plan import Plan
from eks_training.plan.karpenter import KarpenterPlan
from stacks.cluster import ClusterStack


class KarpenterStack(Stack):
    """Roles, access entry, queue, and the placement groups of Karpenter pools."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: Plan,
        karpenter: KarpenterPlan,
        cluster: ClusterStack,
        **stack: Any,
    ) -> None:
        super().__init__(scope, id, **stack)
        access = KarpenterAccess(self, "Access", karpenter=karpenter, cluster_name=cluster.cluster_name)
        CfnOutput(self, karpenter.node_role.key, value=access.node_role.role_name)
        CfnOutput(self, karpenter.queue.key, value=access.queue.queue_name)
        if karpenter.instance_profile and access.instance_profile:
            CfnOutput(self, karpenter.instance_profile.key, value=access.instance_profile.ref)
        for pool in plan.karpenter_pools:
            if pool.placement.kind == "create":
                key = f"PlacementGroup{naming.pascal(pool.name)}"
                group = ec2.CfnPlacementGroup(self, key, strategy="cluster")
                CfnOutput(self, f"{key}Name", value=group.attr_group_name)
