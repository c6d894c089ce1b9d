"""An EKS managed node group from one PoolPlan, with its launch template and placement group."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from constructs.launch_template import NodeLaunchTemplate
from eks_training.plan.pool import PoolPlan, TaintPlan

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


class NodeGroup(Construct):
    """A managed node group.

    Args:
        pool: the pool as decided.
        subnet_ids: where its nodes run; exactly one for training.
        security_group_ids: groups of every interface, the cluster security group among them.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        pool: PoolPlan,
        cluster_name: str,
        node_role_arn: str,
        subnet_ids: Sequence[str],
        security_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id)
        self.placement_group: ec2.CfnPlacementGroup | None = None
        if pool.placement.kind == "create":
            self.placement_group = ec2.CfnPlacementGroup(self, "PlacementGroup", strategy="cluster")
        template = NodeLaunchTemplate(
            self,
            "LaunchTemplate",
            pool=pool,
            security_group_ids=security_group_ids,
            placement_group_name=self.placement_group.attr_group_name if self.placement_group else None,
        )
        self.resource = eks.CfnNodegroup(
            self,
            "Resource",
            cluster_name=cluster_name,
            node_role=node_role_arn,
            subnets=list(subnet_ids),
            ami_type=pool.image.ami_type,
            release_version=pool.image.eks_release,
            capacity_type=pool.capacity.eks_capacity_type,
            launch_template=eks.CfnNodegroup.LaunchTemplateSpecificationProperty(
                id=template.id, version=template.version
            ),
            scaling_config=eks.CfnNodegroup.ScalingConfigProperty(
                min_size=pool.min_nodes, desired_size=pool.desired_nodes, max_size=pool.max_nodes
            ),
            update_config=eks.CfnNodegroup.UpdateConfigProperty(
                max_unavailable=1, update_strategy=pool.update_strategy
            ),
            # An update that evicts past disruption budgets would end running jobs.
            force_update_enabled=False,
            node_repair_config=eks.CfnNodegroup.NodeRepairConfigProperty(enabled=pool.auto_repair),
            labels=dict(pool.labels),
            taints=[_taint(taint) for taint in pool.taints] or None,
        )


def _taint(taint: TaintPlan) -> eks.CfnNodegroup.TaintProperty:
    return eks.CfnNodegroup.TaintProperty(key=taint.key, value=taint.value or None, effect=_EFFECTS[taint.effect])
