"""Identities of Karpenter: the controller's role, the nodes' role and its way into the cluster."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from constructs.acknowledgement import acknowledge_wildcards
from constructs.interruption_queue import InterruptionQueue
from constructs.karpenter_permissions import ControllerScope, policies
from constructs.node_role import NodeRole
from constructs.pod_identity import PodIdentityRole
from eks_training.plan.karpenter import KarpenterPlan


class KarpenterAccess(Construct):
    """Controller role with its Pod Identity association, node role with its access entry, interruption queue."""

    def __init__(self, scope: Construct, id: str, *, karpenter: KarpenterPlan, cluster_name: str) -> None:
        super().__init__(scope, id)
        self.node_role = NodeRole(self, "NodeRole").role
        # In API mode nobody adds the nodes of a role to the cluster but an access entry of this type.
        eks.CfnAccessEntry(
            self,
            "NodeAccess",
            cluster_name=cluster_name,
            principal_arn=self.node_role.role_arn,
            type="EC2_LINUX",
        )
        self.instance_profile: iam.CfnInstanceProfile | None = None
        if karpenter.instance_profile:
            self.instance_profile = iam.CfnInstanceProfile(self, "InstanceProfile", roles=[self.node_role.role_name])
        self.queue = InterruptionQueue(self, "Events").queue
        controller = PodIdentityRole(self, "Controller", description=f"Karpenter controller of {cluster_name}")
        controls = ControllerScope(Stack.of(self), cluster_name, self.node_role.role_arn, self.queue.queue_arn)
        for name, statements in policies(controls).items():
            policy = iam.ManagedPolicy(self, f"{name}Policy", statements=statements, roles=[controller.role])
            acknowledge_wildcards(
                policy,
                controls.wildcards(statements),
                "Karpenter makes resources whose ids do not exist yet: each statement that changes something is bound "
                "to this cluster by tag conditions or only lets a launch use what exists, and each on * only reads.",
            )
        controller.associate(cluster_name, karpenter.namespace, karpenter.service_account)
