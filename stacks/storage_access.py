"""Who may use storage: CSI drivers and service accounts.  Holds no data and can be made again at any time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from aws_cdk import Acknowledgment, Fn, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

from constructs.addon import ClusterAddon
from constructs.pod_identity import PodIdentityRole
from constructs.training_bucket import bucket_statements
from eks_training.plan import Plan
from eks_training.plan.storage import AccessPlan
from eks_training.plan.value import Value
from stacks.storage import StorageStack

MOUNTPOINT_SERVICE_ACCOUNT = "s3-csi-driver-sa"
"""Service account of the Mountpoint for S3 CSI driver, fixed by its add-on."""


class StorageAccessStack(Stack):
    """Storage drivers of the cluster, and bucket access of service accounts through EKS Pod Identity.

    Values of the storage stack are read by the output names of the Plan.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: Plan,
        cluster_name: str,
        storage: StorageStack | None,
        **stack: Any,
    ) -> None:
        """Install the drivers and link the roles.

        Args:
            plan: the Plan.
            cluster_name: name of the cluster; a token of its stack makes this stack wait for it.
            storage: the stack of created storage, which comes first; None when all storage exists already.
        """
        super().__init__(scope, id, **stack)
        self._cluster_name = cluster_name
        self._buckets = {bucket.name: bucket for bucket in plan.storage.buckets}
        if storage:
            self.add_stack_dependency(storage)
        self._drivers(plan)
        roles = Construct(self, "ServiceAccounts")
        for access in plan.storage.access:
            self._role(roles, access)

    def _drivers(self, plan: Plan) -> None:
        drivers = Construct(self, "Drivers")
        mounted = [bucket.name for bucket in plan.storage.buckets if bucket.mount]
        # Mounted buckets are for reading data: nothing in a Plan lets Mountpoint write.
        reading = [statement for name in mounted for statement in self._statements(name, write=False)]
        for addon in plan.cluster.storage_addons:
            ClusterAddon(
                drivers,
                addon.name,
                addon=addon,
                cluster_name=self._cluster_name,
                statements={MOUNTPOINT_SERVICE_ACCOUNT: reading},
            )
        self._acknowledge_objects(drivers, mounted)
        Validations.of(drivers).acknowledge(
            Acknowledgment(
                id="AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonEFSCSIDriverPolicy]",
                reason="AWS publishes this policy for this driver alone and extends it with the releases that the "
                "add-on installs; a copy would fall behind.",
            ),
            Acknowledgment(
                id="AwsSolutions-IAM5[Resource::*]",
                reason="The drivers describe file systems and mount targets, also of file systems that other stacks "
                "own; on * they only describe, and a description holds no data.",
            ),
        )

    def _role(self, roles: Construct, access: AccessPlan) -> None:
        role = PodIdentityRole(
            roles,
            f"{access.namespace}.{access.service_account}",
            description=f"Buckets of service account {access.namespace}/{access.service_account}",
            statements=[
                statement for use in access.buckets for statement in self._statements(use.bucket, write=use.write)
            ],
        )
        role.associate(self._cluster_name, access.namespace, access.service_account)
        self._acknowledge_objects(role, (use.bucket for use in access.buckets))

    def _statements(self, name: str, *, write: bool) -> list[iam.PolicyStatement]:
        key = self._buckets[name].kms_key_arn
        return bucket_statements(self._arn(name), _read(key) if key else None, write=write)

    def _arn(self, name: str) -> str:
        return self.format_arn(service="s3", region="", account="", resource=_read(self._buckets[name].bucket_name))

    def _acknowledge_objects(self, scope: Construct, buckets: Iterable[str]) -> None:
        """Accept the wildcard over the objects of these buckets, and no other."""
        for name in buckets:
            Validations.of(scope).acknowledge(
                Acknowledgment(
                    id=f"AwsSolutions-IAM5[Resource::{_flat(self.resolve(self._arn(name)))}/*]",
                    reason=f"The wildcard stands for the objects of bucket {name}, whose names nobody knows before. "
                    "Every action on them is named, and none removes versions.",
                )
            )


def _read(planned: Value) -> str:
    return planned if isinstance(planned, str) else Fn.get_stack_output(planned.stack, planned.key)


def _flat(resolved: Any) -> str:
    """An ARN as cdk-nag writes it in the ids of its findings."""
    if isinstance(resolved, str):
        return resolved
    if list(resolved) == ["Fn::Join"]:
        return "".join(_flat(part) for part in resolved["Fn::Join"][1])
    return json.dumps(resolved, separators=(",", ":"))
