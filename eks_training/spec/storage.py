"""The ``storage:`` section: FSx for Lustre, EFS and S3, each made here or existing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eks_training.spec.base import Section
from eks_training.spec.scalars import (
    AccessPointId,
    AccessPointPath,
    BucketName,
    ClockTime,
    DnsName,
    EntryName,
    FileSystemId,
    KmsKeyArn,
    LustrePath,
    MountName,
    NamespaceName,
    Permissions,
    Region,
    S3Prefix,
    WeekTime,
)

RemovalPolicy = Literal["retain", "delete"]
Event = Literal["NEW", "CHANGED", "DELETED"]


class ReadCache(Section):
    """SSD read cache of an Intelligent-Tiering file system."""

    sizing: Literal["NO_CACHE", "USER_PROVISIONED", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"]
    """How the cache is sized."""
    size_gib: Annotated[int, Field(ge=8)] | None = None
    """Size in GiB, with USER_PROVISIONED only."""


class Metadata(Section):
    """Metadata performance of a PERSISTENT_2 file system."""

    mode: Literal["AUTOMATIC", "USER_PROVISIONED"]
    """Scaled by FSx, or set by `iops`; USER_PROVISIONED with Intelligent-Tiering."""
    iops: int | None = None
    """Metadata operations per second, with USER_PROVISIONED."""


class Backups(Section):
    """Automatic daily backups of a persistent file system."""

    retention_days: Annotated[int, Field(ge=0, le=90)]
    """Days to keep a backup; 0 switches them off."""
    start_time: ClockTime | None = None
    """Daily start in UTC."""
    copy_tags: bool = True
    """Copy the file system's tags to its backups."""


class Association(Section):
    """A data repository association: a path of the file system linked to a prefix of a bucket."""

    bucket: EntryName
    """A name under `storage.buckets`."""
    prefix: S3Prefix | None = None
    """Prefix in the bucket, ending with a slash; the whole bucket when left out."""
    path: LustrePath
    """Directory in the file system, such as /data."""
    auto_import: Annotated[list[Event], Field(max_length=3)] = []
    """Changes in the bucket that appear in the file system."""
    auto_export: Annotated[list[Event], Field(max_length=3)] = []
    """Changes in the file system that go to the bucket.  This says nothing about when a file has arrived there."""
    import_metadata_on_create: bool = True
    """List the bucket's objects in the file system at creation."""
    chunk_mib: Annotated[int, Field(ge=1, le=512000)] = 1024
    """Stripe size in MiB of imported files."""


class LustreCreate(Section):
    """A file system made here, in the training zone, with Lustre 2.15."""

    deployment: Literal["SCRATCH_2", "PERSISTENT_2"]
    """Deployment type."""
    storage_class: Literal["SSD", "INTELLIGENT_TIERING"] = "SSD"
    """SSD, or Intelligent-Tiering (PERSISTENT_2 only)."""
    capacity_gib: Annotated[int, Field(ge=1, le=2147483647)] | None = None
    """Size in GiB: 1200, 2400, then steps of 2400.  Not with Intelligent-Tiering."""
    throughput_mbps_per_tib: int | None = None
    """MB/s per TiB of PERSISTENT_2 SSD: 125, 250, 500 or 1000."""
    throughput_mbps: int | None = None
    """MB/s of an Intelligent-Tiering file system: a multiple of 4000."""
    read_cache: ReadCache | None = None
    """Read cache of an Intelligent-Tiering file system."""
    metadata: Metadata | None = None
    """Metadata performance (PERSISTENT_2)."""
    efa: bool = False
    """Serve clients over EFA (PERSISTENT_2 with `metadata`); cannot be changed later."""
    compression: Literal["LZ4", "NONE"] = "LZ4"
    """Data compression."""
    lustre_version: Literal["2.10", "2.12", "2.15"] = "2.15"
    """Server version; the clients of current node images need 2.15."""
    backups: Backups | None = None
    """Automatic backups (PERSISTENT_2 without associations)."""
    maintenance_window: WeekTime | None = None
    """Weekly maintenance start in UTC."""
    associations: dict[EntryName, Association] = {}
    """Links to S3 buckets, at most eight."""
    removal: RemovalPolicy | None = None
    """What deleting the stack does to the data; `storage.removal` when left out."""


class LustreExisting(Section):
    """A file system that exists."""

    id: FileSystemId
    """File system id."""
    dns_name: DnsName
    """Its DNS name."""
    mount_name: MountName
    """Its Lustre mount name; only SCRATCH_1 uses `fsx`."""
    deployment: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] | None = None
    """Its deployment type, if known."""
    lustre_version: Literal["2.10", "2.12", "2.15"] | None = None
    """Its server version, if known."""


class Lustre(Section):
    """One FSx for Lustre file system: `create` or `existing`."""

    create: LustreCreate | None = None
    """Make it."""
    existing: LustreExisting | None = None
    """Use one that exists."""


class AccessPoint(Section):
    """An EFS access point that enforces one identity on everything below its path."""

    path: AccessPointPath
    """Directory, made on first use."""
    uid: Annotated[int, Field(ge=0, le=4294967295)]
    """POSIX user id that every client gets."""
    gid: Annotated[int, Field(ge=0, le=4294967295)]
    """POSIX group id that every client gets."""
    permissions: Permissions = "0750"
    """Mode of the directory when it is made."""


class EfsCreate(Section):
    """An encrypted EFS file system made here, with mount targets in every zone that has nodes."""

    throughput: Literal["elastic", "bursting"] = "elastic"
    """Throughput mode."""
    backups: bool = True
    """AWS Backup's default daily plan."""
    access_points: Annotated[dict[EntryName, AccessPoint], Field(min_length=1)]
    """Access points by name."""
    removal: RemovalPolicy | None = None
    """What deleting the stack does to the data; `storage.removal` when left out."""


class EfsExisting(Section):
    """A file system that exists, with mount targets in the zones of the nodes."""

    id: FileSystemId
    """File system id."""
    access_points: dict[EntryName, AccessPointId] = {}
    """Access points by name."""


class Efs(Section):
    """One EFS file system: `create` or `existing`."""

    create: EfsCreate | None = None
    """Make it."""
    existing: EfsExisting | None = None
    """Use one that exists."""


class Grant(Section):
    """Access of one Kubernetes service account, through EKS Pod Identity."""

    namespace: NamespaceName
    """Namespace of the service account."""
    service_account: NamespaceName
    """Its name."""
    access: Literal["read", "write"]
    """`write` includes reading and deleting."""


class BucketCreate(Section):
    """A private, versioned bucket made here that accepts TLS only."""

    bucket_name: BucketName | None = None
    """Fixed global name; CloudFormation makes one when left out."""
    encryption: Literal["s3", "kms"] = "s3"
    """SSE-S3, or SSE-KMS with a key made here.  Buckets behind an association take SSE-S3."""
    noncurrent_days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days that replaced and deleted versions are kept."""
    abort_uploads_days: Annotated[int, Field(ge=1, le=365)] = 7
    """Days after which unfinished multipart uploads are cleaned up."""
    removal: RemovalPolicy | None = None
    """What deleting the stack does to the bucket; `storage.removal` when left out."""


class BucketExisting(Section):
    """A bucket that exists; its policy and encryption are not changed."""

    bucket_name: BucketName
    """Its global name."""
    region: Region | None = None
    """Its Region, if it is not the cluster's."""
    kms_key_arn: KmsKeyArn | None = None
    """The key of its default encryption, if it uses SSE-KMS."""


class Bucket(Section):
    """One S3 bucket: `create` or `existing`."""

    create: BucketCreate | None = None
    """Make it."""
    existing: BucketExisting | None = None
    """Use one that exists."""
    grants: list[Grant] = []
    """Service accounts that may use it."""
    mount: bool = False
    """Offer it to pods as a volume through Mountpoint for S3: for reading data, never for checkpoints."""


class Storage(Section):
    """What outlives the nodes.  Data is kept when a stack is deleted unless `removal` says otherwise."""

    removal: RemovalPolicy = "retain"
    """What deleting the storage stack does to the data."""
    lustre: dict[EntryName, Lustre] = {}
    """FSx for Lustre file systems by name."""
    efs: dict[EntryName, Efs] = {}
    """EFS file systems by name."""
    buckets: dict[EntryName, Bucket] = {}
    """S3 buckets by name."""
