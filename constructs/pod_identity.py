"""An IAM role that EKS Pod Identity hands to pods, and its link to a service account."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from constructs.acknowledgement import acknowledge_managed_policies


class PodIdentityRole(Construct):
    """A role that pods take through EKS Pod Identity.

    The trust names both actions: EKS tags every session with cluster, namespace and service account, and without
    ``sts:TagSession`` each call ends in AccessDenied (EKS User Guide, "Create IAM role with trust policy required by
    EKS Pod Identity").  That page names no source-account condition and needs none: EKS links a role only to a cluster
    of the role's own account, and only for a caller that may pass the role.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        description: str,
        managed_policies: Sequence[str] = (),
        statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        """Make the role.

        Args:
            description: what takes the role, for the reader of the IAM console.
            managed_policies: names of AWS managed policies, with their path (``service-role/…``).
            statements: what it may do besides.
        """
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Resource",
            description=description,
            assumed_by=iam.SessionTagsPrincipal(iam.ServicePrincipal("pods.eks.amazonaws.com")),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in managed_policies],
        )
        acknowledge_managed_policies(
            self.role,
            managed_policies,
            "The policy that AWS publishes for this component and extends when the component needs new calls.",
        )
        for statement in statements:
            self.role.add_to_policy(statement)

    def associate(self, cluster_name: str, namespace: str, service_account: str) -> eks.CfnPodIdentityAssociation:
        """Give the role to a service account, which need not exist yet."""
        return eks.CfnPodIdentityAssociation(
            self,
            f"{namespace}-{service_account}",
            cluster_name=cluster_name,
            namespace=namespace,
            service_account=service_account,
            role_arn=self.role.role_arn,
        )
