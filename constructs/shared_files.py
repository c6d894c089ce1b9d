"""An EFS file system with its mount targets and access points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import ArnFormat, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from constructs import Construct

from constructs.retention import removal
from eks_training.plan.storage import AccessPointPlan, EfsPlan

NFS_PORT = 2049


class SharedFiles(Construct):
    """An encrypted file system that answers only over TLS and through access points.

    With ``retain`` the data and the access points stay.  Mount targets and their security group go: they hold no data,
    are made again in a minute, and would keep the network from being deleted.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        files: EfsPlan,
        name: str,
        vpc_id: str,
        subnet_ids: Mapping[str, str],
        node_security_group_id: str,
    ) -> None:
        """Make the file system.

        Args:
            files: what the Plan says of it.
            name: value of the Name tag.
            vpc_id: VPC of the subnets.
            subnet_ids: one subnet in each zone, by key in the Plan.
            node_security_group_id: group of the clients.
        """
        super().__init__(scope, id)
        policy = removal(retain=files.retain)
        self.resource = efs.CfnFileSystem(
            self,
            "Resource",
            encrypted=True,
            throughput_mode=files.throughput,
            backup_policy=efs.CfnFileSystem.BackupPolicyProperty(status="ENABLED" if files.backups else "DISABLED"),
            file_system_policy=self._policy(root_access=files.root_access),
        )
        self.resource.apply_removal_policy(policy)
        group = ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            vpc_id=vpc_id,
            group_description=f"EFS file system {name}",
            security_group_ingress=[
                ec2.CfnSecurityGroup.IngressProperty(
                    ip_protocol="tcp",
                    from_port=NFS_PORT,
                    to_port=NFS_PORT,
                    source_security_group_id=node_security_group_id,
                    description="NFS from nodes",
                )
            ],
        )
        targets = Construct(self, "MountTargets")
        for key, subnet_id in subnet_ids.items():
            efs.CfnMountTarget(
                targets,
                key,
                file_system_id=self.resource.ref,
                subnet_id=subnet_id,
                security_groups=[group.attr_group_id],
            )
        points = Construct(self, "AccessPoints")
        self.access_points = {point.name: self._access_point(points, point) for point in files.access_points}
        for made in self.access_points.values():
            made.apply_removal_policy(policy)
        Tags.of(self).add("Name", name)

    def _access_point(self, scope: Construct, point: AccessPointPlan) -> efs.CfnAccessPoint:
        """Every client of the access point is this user, and the directory is made for it on first use."""
        uid, gid = str(point.uid), str(point.gid)
        return efs.CfnAccessPoint(
            scope,
            point.name,
            file_system_id=self.resource.ref,
            posix_user=efs.CfnAccessPoint.PosixUserProperty(uid=uid, gid=gid),
            root_directory=efs.CfnAccessPoint.RootDirectoryProperty(
                path=point.path,
                creation_info=efs.CfnAccessPoint.CreationInfoProperty(
                    owner_uid=uid, owner_gid=gid, permissions=str(point.permissions)
                ),
            ),
        )

    def _policy(self, *, root_access: bool) -> dict[str, Any]:
        """Clients need TLS and an access point, but no IAM identity.

        Both fit the EFS CSI driver: it encrypts in transit unless told not to, and mounts static and dynamic volumes
        through an access point.  It signs no request unless a volume has the mount option ``iam``; so the policy names
        no principals, and the security group decides which machines reach a mount target.  The access points cannot be
        named here, because they need the file system first; through a file system's mount targets only its own can be
        used (EFS User Guide, "Using access points in IAM policies").
        """
        points = Stack.of(self).format_arn(
            service="elasticfilesystem",
            resource="access-point",
            resource_name="*",
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )
        actions = ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
        return {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "ThroughAccessPoints",
                    "Effect": "Allow",
                    "Principal": {"AWS": "*"},
                    "Action": [*actions, *(["elasticfilesystem:ClientRootAccess"] if root_access else [])],
                    "Condition": {
                        "Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"},
                        "ArnLike": {"elasticfilesystem:AccessPointArn": points},
                    },
                },
                {
                    "Sid": "OnlyOverTls",
                    "Effect": "Deny",
                    "Principal": {"AWS": "*"},
                    "Action": "*",
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                },
            ],
        }
