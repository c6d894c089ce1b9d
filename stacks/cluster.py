"""The cluster: control plane, add-ons, and the system nodes without which add-ons never become healthy."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from constructs.addon import ClusterAddon
from constructs.control_plane import ControlPlane
from constructs.node_group import NodeGroup
from constructs.node_role import NodeRole
from eks_training import naming
from eks_training.plan import Plan
from eks_training.plan.pool import PoolPlan
from stacks.network import NetworkStack
from stacks.nodes import node_security_groups


class ClusterStack(Stack):
    """An EKS cluster that is ready for pools.

    Order: add-ons that a node needs to become Ready, then the system nodes, then the add-ons that run on them.  Without
    nodes CoreDNS and the storage controllers end as degraded and CloudFormation gives up.

    ``cluster_name`` is the plain name, because policies carry it in the keys of conditions, where no token may stand; a
    stack that takes nothing else from this one must be told to wait for it.
    """

    def __init__(self, scope: Construct, id: str, *, plan: Plan, network: NetworkStack, **stack: Any) -> None:
        super().__init__(scope, id, **stack)
        # CDK's own functions name their role twice, by reference and by DependsOn; harmless, and not ours to change.
        self.template_options.metadata = {"cfn-lint": {"config": {"ignore_checks": ["W3005"]}}}
        self._plan = plan
        self._network = network
        control_plane = ControlPlane(
            self,
            "ControlPlane",
            plan=plan.cluster,
            vpc=network.vpc,
            subnets=[network.subnets[subnet.key] for subnet in plan.network.by_role("control-plane")],
            function_subnets=[network.subnets[subnet.key] for subnet in plan.network.by_role("system")],
        )
        self.cluster = control_plane.cluster
        self.cluster_name: str = plan.cluster.name
        self.cluster_security_group_id: str = self.cluster.cluster_security_group_id
        self.node_role = NodeRole(self, "NodeRole").role
        self.node_role_arn: str = self.node_role.role_arn

        addons = {
            addon.name: ClusterAddon(
                self, naming.pascal(addon.name), addon=addon, cluster_name=self.cluster.cluster_name
            )
            for addon in plan.cluster.addons
        }
        groups = [self._system_nodes(pool) for pool in plan.system_pools]
        for addon in plan.cluster.addons:
            resource = addons[addon.name].resource
            for earlier in addon.after:
                resource.add_resource_dependency(addons[earlier].resource)
            for group in groups:
                first, second = (resource, group.resource) if addon.before_nodes else (group.resource, resource)
                second.add_resource_dependency(first)
        self._outputs()

    def _system_nodes(self, pool: PoolPlan) -> NodeGroup:
        return NodeGroup(
            self,
            naming.pascal(pool.name),
            pool=pool,
            cluster_name=self.cluster.cluster_name,
            node_role_arn=self.node_role_arn,
            subnet_ids=[self._network.subnets[key].subnet_id for key in pool.subnets],
            security_group_ids=node_security_groups(pool, self._plan, self._network, self.cluster_security_group_id),
        )

    def _outputs(self) -> None:
        plan = self._plan
        CfnOutput(self, "ClusterName", value=self.cluster.cluster_name)
        CfnOutput(self, plan.cluster.endpoint.key, value=self.cluster.cluster_endpoint)
        CfnOutput(self, plan.cluster.security_group_id.key, value=self.cluster_security_group_id)
        CfnOutput(
            self,
            "KubeconfigCommand",
            value=f"aws eks update-kubeconfig --region {plan.region} --name {plan.name}",
        )
