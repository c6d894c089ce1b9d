"""The storage part of the Plan: file systems, links to buckets, buckets, grants."""

from __future__ import annotations

from dataclasses import dataclass

from eks_training import naming
from eks_training.plan.network import NetworkPlan
from eks_training.plan.value import Output, Value
from eks_training.spec import Cluster
from eks_training.spec.storage import AccessPoint, Bucket, Efs, Lustre, LustreCreate


@dataclass(frozen=True)
class Association:
    """An ``AWS::FSx::DataRepositoryAssociation``; ``bucket`` is a key of the Plan's buckets."""

    name: str
    bucket: str
    prefix: str
    path: str
    auto_import: tuple[str, ...]
    auto_export: tuple[str, ...]
    import_metadata_on_create: bool
    chunk_mib: int


@dataclass(frozen=True)
class NewLustre:
    """Properties of an ``AWS::FSx::FileSystem``; None is left out of the template."""

    deployment: str
    storage_class: str
    capacity_gib: int | None
    throughput_mbps_per_tib: int | None
    throughput_mbps: int | None
    read_cache: tuple[str, int | None] | None
    metadata: tuple[str, int | None] | None
    efa: bool
    compression: str
    lustre_version: str
    backup_retention_days: int | None
    backup_start_time: str | None
    copy_tags_to_backups: bool | None
    maintenance_window: str | None
    associations: tuple[Association, ...]
    retain: bool


@dataclass(frozen=True)
class LustrePlan:
    """A Lustre file system: how to reach it, and how to make it unless it exists."""

    name: str
    create: NewLustre | None
    id: Value
    dns_name: Value
    mount_name: Value


@dataclass(frozen=True)
class AccessPointPlan:
    """An EFS access point; ``id`` says where its id is found."""

    name: str
    id: Value
    path: str | None = None
    uid: int | None = None
    gid: int | None = None
    permissions: str | None = None


@dataclass(frozen=True)
class EfsPlan:
    """An EFS file system; ``create`` False means that it exists."""

    name: str
    create: bool
    id: Value
    access_points: tuple[AccessPointPlan, ...]
    throughput: str
    backups: bool
    retain: bool
    mount_target_subnets: tuple[str, ...]
    root_access: bool


@dataclass(frozen=True)
class GrantPlan:
    """Access of a service account to a bucket."""

    namespace: str
    service_account: str
    write: bool


@dataclass(frozen=True)
class BucketPlan:
    """An S3 bucket; ``create`` False means that it exists."""

    name: str
    create: bool
    bucket_name: Value
    fixed_name: str | None
    kms: bool
    kms_key_arn: Value | None
    noncurrent_days: int
    abort_uploads_days: int
    retain: bool
    grants: tuple[GrantPlan, ...]
    mount: bool


@dataclass(frozen=True)
class BucketUse:
    """What a service account does with one bucket; ``bucket`` is a key of the Plan's buckets."""

    bucket: str
    write: bool


@dataclass(frozen=True)
class AccessPlan:
    """Every bucket of one service account: EKS links a service account to one role only."""

    namespace: str
    service_account: str
    buckets: tuple[BucketUse, ...]


@dataclass(frozen=True)
class StoragePlan:
    """What outlives the nodes."""

    stack: str
    access_stack: str
    lustre: tuple[LustrePlan, ...]
    efs: tuple[EfsPlan, ...]
    buckets: tuple[BucketPlan, ...]
    access: tuple[AccessPlan, ...]

    @property
    def needs_access(self) -> bool:
        """Whether pods get anything: a driver or a right.  A bucket alone needs neither."""
        return bool(self.lustre or self.efs or self.access or any(bucket.mount for bucket in self.buckets))

    @property
    def creates(self) -> bool:
        """Whether a storage stack is needed."""
        return (
            any(item.create for item in self.lustre)
            or any(item.create for item in self.efs)
            or any(item.create for item in self.buckets)
        )


def plan_storage(spec: Cluster, network: NetworkPlan) -> StoragePlan:
    """Decide every property of the file systems and buckets."""
    stack = naming.stack(spec.name, naming.STORAGE)
    retain = spec.storage.removal == "retain"
    buckets = tuple(_bucket(name, item, stack, retain) for name, item in spec.storage.buckets.items())
    return StoragePlan(
        stack=stack,
        access_stack=naming.stack(spec.name, naming.STORAGE_ACCESS),
        lustre=tuple(_lustre(name, item, stack, retain) for name, item in spec.storage.lustre.items()),
        efs=tuple(_efs(name, item, stack, retain, network) for name, item in spec.storage.efs.items()),
        buckets=buckets,
        access=_access(buckets),
    )


def _access(buckets: tuple[BucketPlan, ...]) -> tuple[AccessPlan, ...]:
    """Grants by service account; of two grants on one bucket the wider one counts."""
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for bucket in buckets:
        for grant in bucket.grants:
            uses = found.setdefault((grant.namespace, grant.service_account), {})
            uses[bucket.name] = uses.get(bucket.name, False) or grant.write
    return tuple(
        AccessPlan(namespace, account, tuple(BucketUse(bucket, write) for bucket, write in uses.items()))
        for (namespace, account), uses in found.items()
    )


def _keeps(removal: str | None, default: bool) -> bool:
    return default if removal is None else removal == "retain"


def _lustre(name: str, item: Lustre, stack: str, retain: bool) -> LustrePlan:
    if item.existing:
        return LustrePlan(name, None, item.existing.id, item.existing.dns_name, item.existing.mount_name)
    assert item.create is not None
    key = f"Lustre{naming.pascal(name)}"
    return LustrePlan(
        name,
        _new_lustre(item.create, retain),
        Output(stack, f"{key}Id"),
        Output(stack, f"{key}DnsName"),
        Output(stack, f"{key}MountName"),
    )


def _new_lustre(asked: LustreCreate, retain: bool) -> NewLustre:
    backups = asked.backups
    return NewLustre(
        deployment=asked.deployment,
        storage_class=asked.storage_class,
        capacity_gib=asked.capacity_gib,
        throughput_mbps_per_tib=asked.throughput_mbps_per_tib,
        throughput_mbps=asked.throughput_mbps,
        read_cache=(asked.read_cache.sizing, asked.read_cache.size_gib) if asked.read_cache else None,
        metadata=(asked.metadata.mode, asked.metadata.iops) if asked.metadata else None,
        efa=asked.efa,
        compression=asked.compression,
        lustre_version=asked.lustre_version,
        backup_retention_days=backups.retention_days if backups else None,
        backup_start_time=backups.start_time if backups and backups.retention_days else None,
        copy_tags_to_backups=backups.copy_tags if backups and backups.retention_days else None,
        maintenance_window=asked.maintenance_window,
        associations=tuple(
            Association(
                name=name,
                bucket=link.bucket,
                prefix=link.prefix or "",
                path=link.path,
                auto_import=tuple(link.auto_import),
                auto_export=tuple(link.auto_export),
                import_metadata_on_create=link.import_metadata_on_create,
                chunk_mib=link.chunk_mib,
            )
            for name, link in asked.associations.items()
        ),
        retain=_keeps(asked.removal, retain),
    )


def _efs(name: str, item: Efs, stack: str, retain: bool, network: NetworkPlan) -> EfsPlan:
    key = f"Efs{naming.pascal(name)}"
    if item.existing:
        points = tuple(AccessPointPlan(point, id) for point, id in item.existing.access_points.items())
        return EfsPlan(name, False, item.existing.id, points, "", False, True, (), False)
    assert item.create is not None
    asked = item.create
    return EfsPlan(
        name=name,
        create=True,
        id=Output(stack, f"{key}Id"),
        access_points=tuple(_access_point(key, point, values, stack) for point, values in asked.access_points.items()),
        throughput=asked.throughput,
        backups=asked.backups,
        retain=_keeps(asked.removal, retain),
        mount_target_subnets=_one_subnet_per_zone(network),
        # An access point may enforce uid 0, and EFS squashes root without this right.
        root_access=any(point.uid == 0 for point in asked.access_points.values()),
    )


def _access_point(key: str, name: str, asked: AccessPoint, stack: str) -> AccessPointPlan:
    output = Output(stack, f"{key}{naming.pascal(name)}AccessPointId")
    return AccessPointPlan(name, output, asked.path, asked.uid, asked.gid, asked.permissions.zfill(4))


def _one_subnet_per_zone(network: NetworkPlan) -> tuple[str, ...]:
    """EFS takes one mount target in a zone; its name resolves only in zones that have one."""
    chosen: dict[str, str] = {}
    for subnet in (network.training_subnet, *network.by_role("system")):
        chosen.setdefault(subnet.zone.value, subnet.key)
    return tuple(chosen.values())


def _bucket(name: str, item: Bucket, stack: str, retain: bool) -> BucketPlan:
    asked, existing = item.create, item.existing
    key = f"Bucket{naming.pascal(name)}"
    kms = bool(asked and asked.encryption == "kms")
    return BucketPlan(
        name=name,
        create=existing is None,
        bucket_name=existing.bucket_name if existing else Output(stack, f"{key}Name"),
        fixed_name=asked.bucket_name if asked else None,
        kms=kms,
        kms_key_arn=existing.kms_key_arn if existing else Output(stack, f"{key}KeyArn") if kms else None,
        noncurrent_days=asked.noncurrent_days if asked else 0,
        abort_uploads_days=asked.abort_uploads_days if asked else 0,
        retain=_keeps(asked.removal if asked else None, retain),
        grants=tuple(GrantPlan(g.namespace, g.service_account, g.access == "write") for g in item.grants),
        mount=item.mount,
    )
