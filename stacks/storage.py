"""File systems and buckets: what must outlive every other stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from constructs.lustre import LustreFileSystem
from constructs.shared_files import SharedFiles
from constructs.training_bucket import TrainingBucket
from eks_training.plan import Plan
from eks_training.plan.value import Output, Value
from stacks.network import NetworkStack


class StorageStack(Stack):
    """Everything stateful that the Plan creates; what exists already creates nothing.

    File systems admit the node security group of the network stack, so nothing here depends on the cluster.
    """

    def __init__(self, scope: Construct, id: str, *, plan: Plan, network: NetworkStack, **stack: Any) -> None:
        super().__init__(scope, id, **stack)
        self._plan = plan
        self._network = network
        self._lustre(self._buckets())
        self._shared_files()

    def _buckets(self) -> dict[str, s3.IBucket]:
        """Every bucket of the Plan by name, for associations."""
        scope, existing = Construct(self, "Buckets"), Construct(self, "ExistingBuckets")
        buckets: dict[str, s3.IBucket] = {}
        for item in self._plan.storage.buckets:
            if item.create:
                made = TrainingBucket(scope, item.name, bucket=item)
                buckets[item.name] = made.bucket
                self._publish(item.bucket_name, made.bucket.bucket_name)
                if made.key:
                    self._publish(item.kms_key_arn, made.key.key_arn)
            else:
                buckets[item.name] = s3.Bucket.from_bucket_name(existing, item.name, str(item.bucket_name))
        return buckets

    def _lustre(self, buckets: Mapping[str, s3.IBucket]) -> None:
        scope = Construct(self, "Lustre")
        for item in self._plan.storage.lustre:
            if item.create:
                lustre = LustreFileSystem(
                    scope,
                    item.name,
                    lustre=item.create,
                    name=f"{self.stack_name}-{item.name}",
                    vpc_id=self._network.vpc.vpc_id,
                    subnet_id=self._network.subnets[self._plan.network.training_subnet.key].subnet_id,
                    node_security_group_id=self._network.node_security_group_id,
                    buckets=buckets,
                )
                self._publish(item.id, lustre.resource.ref)
                self._publish(item.dns_name, lustre.resource.attr_dns_name)
                self._publish(item.mount_name, lustre.resource.attr_lustre_mount_name)

    def _shared_files(self) -> None:
        scope = Construct(self, "Efs")
        for item in self._plan.storage.efs:
            if item.create:
                files = SharedFiles(
                    scope,
                    item.name,
                    files=item,
                    name=f"{self.stack_name}-{item.name}",
                    vpc_id=self._network.vpc.vpc_id,
                    subnet_ids={key: self._network.subnets[key].subnet_id for key in item.mount_target_subnets},
                    node_security_group_id=self._network.node_security_group_id,
                )
                self._publish(item.id, files.resource.ref)
                for point in item.access_points:
                    self._publish(point.id, files.access_points[point.name].ref)

    def _publish(self, planned: Value | None, value: str) -> None:
        """The outputs of the Plan are the only names under which other stages find a value."""
        assert isinstance(planned, Output), planned
        CfnOutput(self, planned.key, value=value)
