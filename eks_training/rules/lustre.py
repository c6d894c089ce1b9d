"""FSx for Lustre file systems made here: size, throughput, version, backups (FSX001 to FSX012)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eks_training.finding import Path
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.spec.storage import LustreCreate, LustreExisting

API = "Amazon FSx API Reference, CreateFileSystemLustreConfiguration (model in botocore 1.44.8)"
CREATE_API = "Amazon FSx API Reference, CreateFileSystem (model in botocore 1.44.8)"
CLIENTS = "FSx for Lustre User Guide, Lustre file system and client kernel compatibility"
THROUGHPUT_TIERS = (125, 250, 500, 1000)
"""MB/s per TiB of PERSISTENT_2 SSD."""


def created(subject: Subject) -> Iterator[tuple[Path, LustreCreate]]:
    """Every file system to make, with the path of its `create` section."""
    for name, item in subject.spec.storage.lustre.items():
        if item.create is not None:
            yield ("storage", "lustre", name, "create"), item.create


def existing(subject: Subject) -> Iterator[tuple[Path, LustreExisting]]:
    """Every file system that exists, with the path of its `existing` section."""
    for name, item in subject.spec.storage.lustre.items():
        if item.existing is not None:
            yield ("storage", "lustre", name, "existing"), item.existing


def one_of_two(section: Path, create: object, existing: object) -> Iterator[Fault]:
    """The fault of a section that has both of `create` and `existing`, or neither."""
    if (create is None) == (existing is None):
        found = "neither" if create is None else "both `create` and `existing`"
        hint = "add `create:` to make it, or `existing:` to use one" if create is None else "remove one of the two"
        yield Fault((*section,), found, "exactly one of `create` and `existing`", hint, on_key=True)


def around(value: int, step: int) -> tuple[int, ...]:
    """The multiples of a step next to a value that is none."""
    below = value // step * step
    return tuple(number for number in (below, below + step) if number > 0)


def listed(numbers: Iterable[int], word: str = "and") -> str:
    """Numbers as people say them: `2400 and 4800`."""
    *head, last = map(str, numbers)
    return f"{', '.join(head)} {word} {last}" if head else last


def is_tiered(asked: LustreCreate) -> bool:
    """Whether the storage class is Intelligent-Tiering."""
    return asked.storage_class == "INTELLIGENT_TIERING"


def is_persistent_ssd(asked: LustreCreate) -> bool:
    """Whether this is PERSISTENT_2 with SSD."""
    return asked.deployment == "PERSISTENT_2" and not is_tiered(asked)


def on_grid(capacity: int) -> bool:
    """Whether an SSD capacity in GiB exists."""
    return capacity == 1200 or (capacity > 0 and capacity % 2400 == 0)


@rule(
    "FSX001",
    ERROR,
    "a file system is made or exists, not both",
    source="this project's plan (eks_training/plan/storage.py) takes one of the two",
    bad="storage: {lustre: {work: {}}}",
    good="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 1200}}}}",
)
def create_or_existing(subject: Subject) -> Iterator[Fault]:
    """With both, it is unclear which one the pods mount; with neither, there is nothing to mount."""
    for name, item in subject.spec.storage.lustre.items():
        yield from one_of_two(("storage", "lustre", name), item.create, item.existing)


@rule(
    "FSX002",
    ERROR,
    "an SSD file system needs a capacity",
    source=CREATE_API,
    bad="storage: {lustre: {work: {create: {deployment: SCRATCH_2}}}}",
    good="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 1200}}}}",
)
def capacity_missing(subject: Subject) -> Iterator[Fault]:
    """FSx has no default size for SSD storage; CreateFileSystem is refused without one."""
    for path, asked in created(subject):
        if asked.capacity_gib is None and not is_tiered(asked):
            yield Fault(
                (*path, "capacity_gib"),
                "no `capacity_gib`",
                "1200, 2400, 4800, … GiB (steps of 2400)",
                "add `capacity_gib: 1200` or more",
            )


@rule(
    "FSX003",
    ERROR,
    "a capacity that FSx does not make",
    source=f"{CREATE_API}; aws-samples/amazon-eks-autonomous-driving-data-service#12",
    proves="arithmetic",
    bad="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 3600}}}}",
    good="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 4800}}}}",
)
def capacity_on_grid(subject: Subject) -> Iterator[Fault]:
    """SCRATCH_2 and PERSISTENT_2 SSD come in 1200, 2400 and steps of 2400 GiB; steps of 3600 are SCRATCH_1 only."""
    for path, asked in created(subject):
        size = asked.capacity_gib
        if size is not None and not is_tiered(asked) and not on_grid(size):
            near = (1200,) if size < 1200 else (1200, 2400) if size < 2400 else around(size, 2400)
            yield Fault(
                (*path, "capacity_gib"),
                f"{size} GiB is not on the grid",
                f"1200, 2400, 4800, … GiB (steps of 2400); nearest: {listed(near)}",
                f"set capacity_gib to {listed(near, 'or')}",
            )


@rule(
    "FSX004",
    ERROR,
    "throughput per TiB on a scratch file system",
    source=f"{API}; aws/aws-parallelcluster-ui#116",
    bad="storage: {lustre: {work: {create: "
    "{deployment: SCRATCH_2, capacity_gib: 1200, throughput_mbps_per_tib: 125}}}}",
    good="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 1200}}}}",
)
def throughput_on_scratch(subject: Subject) -> Iterator[Fault]:
    """The throughput of scratch file systems is fixed at 200 MB/s per TiB; FSx refuses the setting."""
    for path, asked in created(subject):
        if asked.deployment == "SCRATCH_2" and asked.throughput_mbps_per_tib is not None:
            yield Fault(
                (*path, "throughput_mbps_per_tib"),
                f"{asked.throughput_mbps_per_tib} with SCRATCH_2",
                "no such key: only PERSISTENT_2 SSD takes it",
                "remove the key, or set deployment to PERSISTENT_2",
            )


@rule(
    "FSX005",
    ERROR,
    "a persistent SSD file system needs a throughput",
    source=API,
    bad="storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200}}}}",
    good="storage: {lustre: {work: {create: "
    "{deployment: PERSISTENT_2, capacity_gib: 1200, throughput_mbps_per_tib: 250}}}}",
)
def throughput_missing(subject: Subject) -> Iterator[Fault]:
    """PerUnitStorageThroughput is required with PERSISTENT_2 SSD; CloudFormation and CDK let it pass, FSx does not."""
    for path, asked in created(subject):
        if is_persistent_ssd(asked) and asked.throughput_mbps_per_tib is None:
            yield Fault(
                (*path, "throughput_mbps_per_tib"),
                "no `throughput_mbps_per_tib`",
                f"{listed(THROUGHPUT_TIERS, 'or')} MB/s per TiB",
                "add `throughput_mbps_per_tib: 250`, say",
            )


def _nearest_tier(value: int) -> int:
    return min(THROUGHPUT_TIERS, key=lambda tier: abs(tier - value))


@rule(
    "FSX006",
    ERROR,
    "a throughput that PERSISTENT_2 does not have",
    source=f"{API}; aws/aws-cdk#18626; kubernetes-sigs/aws-fsx-csi-driver#232",
    bad="storage: {lustre: {work: {create: "
    "{deployment: PERSISTENT_2, capacity_gib: 2400, throughput_mbps_per_tib: 200}}}}",
    good="storage: {lustre: {work: {create: "
    "{deployment: PERSISTENT_2, capacity_gib: 2400, throughput_mbps_per_tib: 250}}}}",
)
def throughput_of_another_generation(subject: Subject) -> Iterator[Fault]:
    """50, 100 and 200 are values of PERSISTENT_1; PERSISTENT_2 has four others."""
    for path, asked in created(subject):
        value = asked.throughput_mbps_per_tib
        if is_persistent_ssd(asked) and value is not None and value not in THROUGHPUT_TIERS:
            nearest = _nearest_tier(value)
            yield Fault(
                (*path, "throughput_mbps_per_tib"),
                f"{value}",
                f"{listed(THROUGHPUT_TIERS, 'or')} MB/s per TiB; nearest: {nearest}",
                f"set throughput_mbps_per_tib to {nearest}",
            )


@rule(
    "FSX007",
    ERROR,
    "backups of a scratch file system",
    source="Amazon FSx API Reference, CreateBackup: only persistent deployment types",
    bad="storage: {lustre: {work: {create: "
    "{deployment: SCRATCH_2, capacity_gib: 1200, backups: {retention_days: 7}}}}}",
    good="storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200, "
    "throughput_mbps_per_tib: 250, backups: {retention_days: 7}}}}}",
)
def backups_on_scratch(subject: Subject) -> Iterator[Fault]:
    """FSx backs up persistent file systems only; the backup properties are refused with SCRATCH_2."""
    for path, asked in created(subject):
        if asked.deployment == "SCRATCH_2" and asked.backups is not None:
            yield Fault(
                (*path, "backups"),
                "backups with SCRATCH_2",
                "no `backups`",
                on_key=True,
                hint="remove `backups`, or set deployment to PERSISTENT_2",
            )


@rule(
    "FSX008",
    WARNING,
    "a backup time without backups",
    source=API,
    bad="storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200, "
    'throughput_mbps_per_tib: 250, backups: {retention_days: 0, start_time: "04:00"}}}}}',
    good="storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200, "
    'throughput_mbps_per_tib: 250, backups: {retention_days: 7, start_time: "04:00"}}}}}',
)
def start_time_without_backups(subject: Subject) -> Iterator[Fault]:
    """`retention_days: 0` switches backups off, so a start time is left out and whoever wrote it is mistaken."""
    for path, asked in created(subject):
        if asked.backups and asked.backups.retention_days == 0 and asked.backups.start_time is not None:
            yield Fault(
                (*path, "backups", "start_time"),
                f"{asked.backups.start_time} with `retention_days: 0`",
                "a retention of 1 to 90 days, or no start time",
                "set retention_days, or remove start_time",
            )


@rule(
    "FSX009",
    ERROR,
    "a Lustre version that the nodes cannot mount",
    source=f"{CLIENTS}; kubernetes-sigs/aws-fsx-csi-driver#437; amazonlinux/amazon-linux-2023#723",
    bad='storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 2400, lustre_version: "2.10"}}}}',
    good='storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 2400, lustre_version: "2.15"}}}}',
)
def version_below_clients(subject: Subject) -> Iterator[Fault]:
    """Amazon Linux 2023 ships the Lustre 2.15 client on every kernel (6.1, 6.12, 6.18), and AWS lists that client as
    incompatible with 2.10 servers: mounts end in "Invalid argument".  PERSISTENT_2 cannot be made with 2.10 at all."""
    for path, asked in created(subject):
        if asked.lustre_version == "2.10":
            yield Fault(
                (*path, "lustre_version"),
                "2.10; the nodes have the Lustre 2.15 client",
                "2.15",
                "remove the key: 2.15 is the default here",
            )


@rule(
    "FSX010",
    WARNING,
    "an old Lustre version for a new file system",
    source=f"{CREATE_API}: 2.15 is recommended for all new file systems; {CLIENTS}",
    bad='storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 2400, lustre_version: "2.12"}}}}',
    good="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 2400}}}}",
)
def version_not_recommended(subject: Subject) -> Iterator[Fault]:
    """The nodes mount 2.12, but 2.15 runs on every deployment type and 2.12 lacks metadata configuration and EFA."""
    for path, asked in created(subject):
        if asked.lustre_version == "2.12" and asked.metadata is None and not asked.efa:
            yield Fault(
                (*path, "lustre_version"),
                "2.12",
                "2.15, as AWS recommends for new file systems",
                "remove the key: 2.15 is the default here",
            )


@rule(
    "FSX011",
    WARNING,
    "deleting the stack destroys data that has no copy",
    source="FSx for Lustre User Guide, Cleaning up resources; AWS CloudFormation, DeletionPolicy attribute",
    bad="storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200, "
    "throughput_mbps_per_tib: 250, removal: delete}}}}",
    good="storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200, "
    "throughput_mbps_per_tib: 250, backups: {retention_days: 7}, removal: delete}}}}",
)
def delete_without_copy(subject: Subject) -> Iterator[Fault]:
    """A persistent file system holds what somebody wants to keep.  With `removal: delete`, no backups and nothing
    exported to S3, one stack deletion is the end of it."""
    for path, asked in created(subject):
        removal = asked.removal or subject.spec.storage.removal
        exported = any(link.auto_export for link in asked.associations.values())
        backed_up = asked.backups is not None and asked.backups.retention_days > 0
        if asked.deployment == "PERSISTENT_2" and removal == "delete" and not backed_up and not exported:
            yield Fault(
                (*path, "removal"),
                "delete, without backups and without an export to S3",
                "`removal: retain`, backups, or an association with auto_export",
                "set `removal: retain` unless the data can be made again",
            )


@rule(
    "FSX012",
    WARNING,
    "retaining a scratch file system does not keep its data safe",
    source="FSx for Lustre User Guide, Deployment and storage class options: scratch data is not replicated",
    bad="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 1200, removal: retain}}}}",
    good="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 1200, removal: delete}}}}",
)
def retained_scratch(subject: Subject) -> Iterator[Fault]:
    """`retain` only stops CloudFormation from deleting it.  A scratch file server that fails takes its files along,
    so nothing that matters, checkpoints above all, may live there alone."""
    for path, asked in created(subject):
        if asked.deployment == "SCRATCH_2" and asked.removal == "retain":
            yield Fault(
                (*path, "removal"),
                "retain with SCRATCH_2",
                "PERSISTENT_2 for data to keep",
                "use PERSISTENT_2, export to S3, or drop `removal`",
            )
