"""An EKS add-on with the identities of its service accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from constructs.acknowledgement import acknowledge_wildcards
from constructs.pod_identity import PodIdentityRole
from eks_training import naming
from eks_training.plan.cluster import Addon, ServiceAccountRole


class ClusterAddon(Construct):
    """One ``AWS::EKS::Addon``.

    The L1, because the L2 takes neither Pod Identity roles nor a conflict policy.  Conflicts are overwritten: the
    template is the only author of an add-on's fields.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        addon: Addon,
        cluster_name: str,
        statements: Mapping[str, Sequence[iam.PolicyStatement]] | None = None,
    ) -> None:
        """Install the add-on.

        Args:
            addon: what the Plan says of it.
            cluster_name: name of the cluster.
            statements: by service account, what its role may do besides the Plan's actions; for rights on resources
                that only the stack knows.
        """
        super().__init__(scope, id)
        more = statements or {}
        self.resource = eks.CfnAddon(
            self,
            "Resource",
            addon_name=addon.name,
            addon_version=addon.version,
            configuration_values=addon.configuration,
            cluster_name=cluster_name,
            resolve_conflicts="OVERWRITE",
            pod_identity_associations=[
                eks.CfnAddon.PodIdentityAssociationProperty(
                    service_account=role.service_account,
                    role_arn=self._role(addon, role, more.get(role.service_account, ())).role.role_arn,
                )
                for role in addon.roles
            ]
            or None,
        )

    def _role(self, addon: Addon, planned: ServiceAccountRole, more: Sequence[iam.PolicyStatement]) -> PodIdentityRole:
        everywhere = [iam.PolicyStatement(actions=list(planned.actions), resources=["*"])] if planned.actions else []
        identity = PodIdentityRole(
            self,
            naming.pascal(planned.service_account),
            description=f"Service account {planned.service_account} of the EKS add-on {addon.name}",
            managed_policies=planned.managed_policies,
            statements=[*everywhere, *more],
        )
        if everywhere:
            calls = ", ".join(planned.actions)
            acknowledge_wildcards(
                identity, ["Resource::*"], f"Calls that only read, on what no policy can name: {calls}."
            )
        return identity
