"""An FSx for Lustre file system with its security group and its links to S3."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnResource, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3
from constructs import Construct

from constructs.retention import removal
from eks_training.plan.storage import Association, NewLustre

LNET_PORTS = ((988, 988), (1018, 1023))
"""TCP ports of Lustre, between clients and servers and among servers (FSx for Lustre User Guide, "File system access
control with Amazon VPC")."""


class LustreSecurityGroup(Construct):
    """The security group of a file system.

    FSx refuses a file system whose group is not open yet: whatever uses the group depends on every one of ``rules``.
    """

    def __init__(
        self, scope: Construct, id: str, *, vpc_id: str, node_security_group_id: str, name: str, efa: bool
    ) -> None:
        """Make the group and its rules.

        Args:
            vpc_id: VPC of the file system.
            node_security_group_id: group of the clients.
            name: value of the Name tag.
            efa: clients may come over EFA.  EFA takes only "all traffic" rules between groups, in and out on both
                sides; a rule for all addresses does not count (FSx for Lustre User Guide, "EFA-enabled security
                groups").
        """
        super().__init__(scope, id)
        self.resource = ec2.CfnSecurityGroup(
            self, "Resource", vpc_id=vpc_id, group_description=f"FSx for Lustre file system {name}"
        )
        Tags.of(self.resource).add("Name", name)
        servers, nodes = self.resource.attr_group_id, node_security_group_id
        # Servers call clients back, so the node group opens the same ports to them.
        pairs = (("Servers", servers, servers), ("FromNodes", servers, nodes), ("ToNodes", nodes, servers))
        self.rules: list[CfnResource] = []
        for pair, group, peer in pairs:
            if efa:
                self._ingress(f"{pair}AllIn", group, peer, "-1")
                self._egress(f"{pair}AllOut", group, peer)
            else:
                for ports in LNET_PORTS:
                    self._ingress(f"{pair}{ports[0]}", group, peer, "tcp", *ports)

    def _ingress(
        self, id: str, group: str, peer: str, protocol: str, first: int | None = None, last: int | None = None
    ) -> None:
        rule = ec2.CfnSecurityGroupIngress(
            self,
            id,
            group_id=group,
            source_security_group_id=peer,
            ip_protocol=protocol,
            from_port=first,
            to_port=last,
            description="Lustre",
        )
        self.rules.append(rule)

    def _egress(self, id: str, group: str, peer: str) -> None:
        rule = ec2.CfnSecurityGroupEgress(
            self,
            id,
            group_id=group,
            destination_security_group_id=peer,
            ip_protocol="-1",
            description="Lustre",
        )
        self.rules.append(rule)


class LustreFileSystem(Construct):
    """A file system.

    The L1, because the L2 knows neither EFA nor metadata performance nor Intelligent-Tiering.  With ``retain`` the
    security group and its rules stay too: the network interfaces of a kept file system hold the group, and a stack that
    tried to delete it would get stuck.  A file system that is deleted goes without a final backup (FSx API,
    DeleteFileSystemLustreConfiguration), and its automatic backups go with it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        lustre: NewLustre,
        name: str,
        vpc_id: str,
        subnet_id: str,
        node_security_group_id: str,
        buckets: Mapping[str, s3.IBucket],
    ) -> None:
        """Make the file system.

        Args:
            lustre: what the Plan says of it.
            name: value of the Name tag.
            vpc_id: VPC of the subnet.
            subnet_id: the one subnet of its servers, that of the training nodes.
            node_security_group_id: group of the clients.
            buckets: by name in the Plan, at least those that the associations name.
        """
        super().__init__(scope, id)
        group = LustreSecurityGroup(
            self,
            "SecurityGroup",
            vpc_id=vpc_id,
            node_security_group_id=node_security_group_id,
            name=name,
            efa=lustre.efa,
        )
        self.resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=lustre.lustre_version,
            storage_type=lustre.storage_class,
            storage_capacity=lustre.capacity_gib,
            subnet_ids=[subnet_id],
            security_group_ids=[group.resource.attr_group_id],
            lustre_configuration=_configuration(lustre),
        )
        Tags.of(self.resource).add("Name", name)
        policy = removal(retain=lustre.retain)
        for rule in group.rules:
            self.resource.add_resource_dependency(rule)
        for resource in (self.resource, group.resource, *group.rules):
            resource.apply_removal_policy(policy)
        links = Construct(self, "Associations")
        for association in lustre.associations:
            self._link(links, association, buckets[association.bucket])

    def _link(self, scope: Construct, association: Association, bucket: s3.IBucket) -> None:
        """A link holds no data of its own: taken out of the Plan it is deleted, and files stay on both sides."""
        link = fsx.CfnDataRepositoryAssociation(
            scope,
            association.name,
            file_system_id=self.resource.ref,
            file_system_path=association.path,
            data_repository_path=f"s3://{bucket.bucket_name}/{association.prefix}",
            batch_import_meta_data_on_create=association.import_metadata_on_create,
            imported_file_chunk_size=association.chunk_mib,
            s3=_events(association),
        )
        # FSx checks that it may use the bucket while the link is made; a policy that comes later is a race.
        if bucket.policy:
            link.node.add_dependency(bucket.policy)


def _configuration(lustre: NewLustre) -> fsx.CfnFileSystem.LustreConfigurationProperty:
    return fsx.CfnFileSystem.LustreConfigurationProperty(
        deployment_type=lustre.deployment,
        per_unit_storage_throughput=lustre.throughput_mbps_per_tib,
        throughput_capacity=lustre.throughput_mbps,
        data_read_cache_configuration=fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
            sizing_mode=lustre.read_cache[0], size_gib=lustre.read_cache[1]
        )
        if lustre.read_cache
        else None,
        metadata_configuration=fsx.CfnFileSystem.MetadataConfigurationProperty(
            mode=lustre.metadata[0], iops=lustre.metadata[1]
        )
        if lustre.metadata
        else None,
        efa_enabled=lustre.efa or None,
        data_compression_type=lustre.compression,
        automatic_backup_retention_days=lustre.backup_retention_days,
        daily_automatic_backup_start_time=lustre.backup_start_time,
        copy_tags_to_backups=lustre.copy_tags_to_backups,
        weekly_maintenance_start_time=lustre.maintenance_window,
    )


def _events(association: Association) -> fsx.CfnDataRepositoryAssociation.S3Property | None:
    taken, given = list(association.auto_import), list(association.auto_export)
    if not taken and not given:
        return None
    kind = fsx.CfnDataRepositoryAssociation
    return kind.S3Property(
        auto_import_policy=kind.AutoImportPolicyProperty(events=taken) if taken else None,
        auto_export_policy=kind.AutoExportPolicyProperty(events=given) if given else None,
    )
