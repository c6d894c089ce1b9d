"""Metadata performance and EFA of FSx for Lustre (FSX040 to FSX056)."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.plan.defaults import wants_efa
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.rules.lustre import API, CREATE_API, around, created, is_persistent_ssd, is_tiered, listed, on_grid

METADATA_API = "Amazon FSx API Reference, CreateFileSystemLustreMetadataConfiguration (model in botocore 1.44.8)"
METADATA_GUIDE = "FSx for Lustre User Guide, Managing metadata performance"
EFA_GUIDE = "FSx for Lustre User Guide, Working with EFA-enabled file systems"
START_GUIDE = "FSx for Lustre User Guide, Getting started, Step 1: Create your FSx for Lustre file system"
EFA_CLIENT_GUIDE = "FSx for Lustre User Guide, Configuring EFA clients"
EFA_STEP_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
"""Capacity steps of EFA-enabled SSD file systems by MB/s per TiB."""
NO_EFA_CLIENT = "trn2"
"""The instance family that EFA_CLIENT_GUIDE excludes by name."""

_BASE = (
    "storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 9600, throughput_mbps_per_tib: 500, "
    "metadata: {mode: AUTOMATIC}}}}}"
)
_EFA = _BASE.replace("metadata:", "efa: true, metadata:")
_TIERED = (
    "storage: {lustre: {work: {create: {deployment: PERSISTENT_2, storage_class: INTELLIGENT_TIERING, throughput_mbps: "
    "4000, read_cache: {sizing: NO_CACHE}, metadata: {mode: USER_PROVISIONED, iops: 6000}}}}}"
)


def _is_metadata_step(iops: int) -> bool:
    return iops in (1500, 3000, 6000) or (0 < iops <= 192000 and iops % 12000 == 0)


@rule(
    "FSX040",
    ERROR,
    "metadata configuration needs PERSISTENT_2",
    source=METADATA_API,
    bad="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 1200, metadata: {mode: AUTOMATIC}}}}}",
    good=_BASE,
)
def metadata_on_scratch(subject: Subject) -> Iterator[Fault]:
    """Only PERSISTENT_2 has metadata performance of its own."""
    for path, asked in created(subject):
        if asked.deployment != "PERSISTENT_2" and asked.metadata is not None:
            yield Fault(
                (*path, "metadata"),
                f"`metadata` with {asked.deployment}",
                "no `metadata`",
                on_key=True,
                hint="remove the section, or set `deployment: PERSISTENT_2`",
            )


@rule(
    "FSX041",
    ERROR,
    "USER_PROVISIONED metadata needs its IOPS",
    source=METADATA_API,
    bad=_BASE.replace("AUTOMATIC", "USER_PROVISIONED"),
    good=_BASE.replace("AUTOMATIC", "USER_PROVISIONED, iops: 12000"),
)
def iops_missing(subject: Subject) -> Iterator[Fault]:
    """Iops has no default in this mode."""
    for path, asked in created(subject):
        if asked.metadata and asked.metadata.mode == "USER_PROVISIONED" and asked.metadata.iops is None:
            yield Fault(
                (*path, "metadata", "iops"),
                "no `iops`",
                "1500, 3000, 6000, 12000, 24000, … up to 192000",
                "add `iops: 12000`, say",
            )


@rule(
    "FSX042",
    ERROR,
    "AUTOMATIC metadata takes no IOPS",
    source=METADATA_API,
    bad=_BASE.replace("AUTOMATIC", "AUTOMATIC, iops: 12000"),
    good=_BASE,
)
def iops_with_automatic(subject: Subject) -> Iterator[Fault]:
    """FSx sets the value itself in this mode and refuses one."""
    for path, asked in created(subject):
        if asked.metadata and asked.metadata.mode == "AUTOMATIC" and asked.metadata.iops is not None:
            yield Fault(
                (*path, "metadata", "iops"),
                f"{asked.metadata.iops} with AUTOMATIC",
                "no `iops`",
                "remove `iops`, or set `mode: USER_PROVISIONED`",
            )


@rule(
    "FSX043",
    ERROR,
    "metadata IOPS that FSx does not have",
    source=METADATA_API,
    proves="arithmetic",
    bad=_BASE.replace("AUTOMATIC", "USER_PROVISIONED, iops: 9000"),
    good=_BASE.replace("AUTOMATIC", "USER_PROVISIONED, iops: 12000"),
)
def iops_on_grid(subject: Subject) -> Iterator[Fault]:
    """Metadata servers come in steps: 1500, 3000, 6000, then whole servers of 12000."""
    for path, asked in created(subject):
        iops = asked.metadata.iops if asked.metadata and asked.metadata.mode == "USER_PROVISIONED" else None
        if iops is None or _is_metadata_step(iops):
            continue
        steps = (1500, 3000, 6000, 12000)
        if iops < 12000:
            near = tuple(s for s in steps if s < iops)[-1:] + tuple(s for s in steps if s > iops)[:1]
        else:
            near = (192000,) if iops > 192000 else around(iops, 12000)
        yield Fault(
            (*path, "metadata", "iops"),
            f"{iops}",
            f"1500, 3000, 6000, or a multiple of 12000 up to 192000; nearest: {listed(near)}",
            f"set iops to {listed(near, 'or')}",
        )


@rule(
    "FSX044",
    WARNING,
    "AUTOMATIC metadata on Intelligent-Tiering may be refused",
    source=f"{METADATA_GUIDE}: not supported; {METADATA_API}: supported",
    bad=_TIERED.replace("USER_PROVISIONED, iops: 6000", "AUTOMATIC"),
    good=_TIERED,
)
def automatic_with_tiering(subject: Subject) -> Iterator[Fault]:
    """The User Guide says that Intelligent-Tiering takes USER_PROVISIONED only; the newer API model says that
    AUTOMATIC works and follows the throughput.  Until they agree, the stated value is the safe one."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.metadata and asked.metadata.mode == "AUTOMATIC":
            yield Fault(
                (*path, "metadata", "mode"),
                "AUTOMATIC with INTELLIGENT_TIERING",
                "USER_PROVISIONED with iops 6000 or 12000, to be sure",
                "write `metadata: {mode: USER_PROVISIONED, iops: 6000}`",
            )


@rule(
    "FSX045",
    WARNING,
    "metadata IOPS that Intelligent-Tiering may refuse",
    source=f"{METADATA_GUIDE}: 6000 and 12000; {METADATA_API}: the values of SSD",
    bad=_TIERED.replace("iops: 6000", "iops: 24000"),
    good=_TIERED.replace("iops: 6000", "iops: 12000"),
)
def iops_with_tiering(subject: Subject) -> Iterator[Fault]:
    """The User Guide knows 6000 and 12000 for Intelligent-Tiering; only the newer API model names the others."""
    for path, asked in created(subject):
        iops = asked.metadata.iops if asked.metadata and asked.metadata.mode == "USER_PROVISIONED" else None
        if is_tiered(asked) and iops is not None and _is_metadata_step(iops) and iops not in (6000, 12000):
            yield Fault(
                (*path, "metadata", "iops"),
                f"{iops} with INTELLIGENT_TIERING",
                "6000 or 12000, to be sure",
                f"set iops to {6000 if iops < 6000 else 12000}",
            )


@rule(
    "FSX046",
    ERROR,
    "metadata configuration needs Lustre 2.15",
    source=f"{CREATE_API}: 2.12 is not for PERSISTENT_2 with a metadata configuration mode",
    bad=_BASE.replace("metadata:", 'lustre_version: "2.12", metadata:'),
    good=_BASE,
)
def metadata_version(subject: Subject) -> Iterator[Fault]:
    """CreateFileSystem refuses an older version together with a metadata configuration."""
    for path, asked in created(subject):
        if asked.metadata is not None and asked.lustre_version != "2.15":
            yield Fault(
                (*path, "lustre_version"),
                f"{asked.lustre_version} with `metadata`",
                "2.15",
                "remove `lustre_version`: 2.15 is the default here",
            )


@rule(
    "FSX050",
    ERROR,
    "EFA needs a PERSISTENT_2 file system",
    source=EFA_GUIDE,
    bad="storage: {lustre: {work: {create: {deployment: SCRATCH_2, capacity_gib: 4800, efa: true}}}}",
    good=_EFA,
)
def efa_on_scratch(subject: Subject) -> Iterator[Fault]:
    """EFA is supported on PERSISTENT_2 with a metadata configuration and nowhere else."""
    for path, asked in created(subject):
        if asked.efa and asked.deployment != "PERSISTENT_2":
            yield Fault(
                (*path, "efa"),
                f"true with {asked.deployment}",
                "deployment PERSISTENT_2, or no EFA",
                "remove `efa`, or set `deployment: PERSISTENT_2`",
            )


@rule(
    "FSX051",
    ERROR,
    "EFA needs a metadata configuration",
    source=EFA_GUIDE,
    bad=_EFA.replace(", metadata: {mode: AUTOMATIC}", ""),
    good=_EFA,
)
def efa_without_metadata(subject: Subject) -> Iterator[Fault]:
    """FSx refuses EFA without it, on SSD and on Intelligent-Tiering."""
    for path, asked in created(subject):
        if asked.efa and asked.deployment == "PERSISTENT_2" and asked.metadata is None:
            section = "{mode: USER_PROVISIONED, iops: 6000}" if is_tiered(asked) else "{mode: AUTOMATIC}"
            yield Fault((*path, "efa"), "true without `metadata`", "a `metadata` section", f"add `metadata: {section}`")


@rule(
    "FSX052",
    ERROR,
    "EFA needs Lustre 2.15",
    source=f"{EFA_GUIDE}; {CREATE_API}",
    bad=_EFA.replace("metadata: {mode: AUTOMATIC}", 'lustre_version: "2.12"'),
    good=_EFA,
)
def efa_version(subject: Subject) -> Iterator[Fault]:
    """EFA needs a metadata configuration, and that exists with 2.15 only."""
    for path, asked in created(subject):
        if asked.efa and asked.metadata is None and asked.lustre_version != "2.15":
            yield Fault(
                (*path, "lustre_version"),
                f"{asked.lustre_version} with `efa: true`",
                "2.15",
                "remove `lustre_version`: 2.15 is the default here",
            )


@rule(
    "FSX053",
    ERROR,
    "a capacity that EFA-enabled storage does not have",
    source=f"{START_GUIDE}: increments of 4.8, 9.6, 19.2 and 38.4 TiB at 1000, 500, 250 and 125 MBps/TiB",
    proves="arithmetic",
    bad=_EFA.replace("9600", "4800"),
    good=_EFA,
)
def efa_capacity(subject: Subject) -> Iterator[Fault]:
    """With EFA, capacity comes in whole file servers, and the lower the tier, the more disk one server has."""
    for path, asked in created(subject):
        step, size = EFA_STEP_GIB.get(asked.throughput_mbps_per_tib or 0), asked.capacity_gib
        if not asked.efa or not is_persistent_ssd(asked) or step is None or size is None:
            continue
        if on_grid(size) and size % step:
            near = around(size, step)
            tiers = ", ".join(f"{gib} at {tier}" for tier, gib in EFA_STEP_GIB.items())
            yield Fault(
                (*path, "capacity_gib"),
                f"{size} GiB with EFA at {asked.throughput_mbps_per_tib} MB/s per TiB",
                f"a multiple of {step} GiB; nearest: {listed(near)}",
                f"set capacity_gib to {listed(near, 'or')}, or take another tier (steps in GiB: {tiers})",
                related=(Related((*path, "efa"), "EFA is asked for here"),),
            )


@rule(
    "FSX054",
    ERROR,
    "EFA on Intelligent-Tiering needs whole file servers",
    source=f"{API}: EfaEnabled only when ThroughputCapacity is 4000 MBps or a multiple",
    bad=_TIERED.replace("metadata:", "efa: true, metadata:").replace("4000", "2000"),
    good=_TIERED.replace("metadata:", "efa: true, metadata:"),
)
def efa_throughput(subject: Subject) -> Iterator[Fault]:
    """1000 and 2000 MB/s are parts of a file server; EFA comes with whole ones."""
    for path, asked in created(subject):
        if asked.efa and is_tiered(asked) and asked.throughput_mbps in (1000, 2000):
            yield Fault(
                (*path, "throughput_mbps"),
                f"{asked.throughput_mbps} with `efa: true`",
                "4000 or a multiple of it",
                "set throughput_mbps to 4000, or remove `efa`",
                related=(Related((*path, "efa"), "EFA is asked for here"),),
            )


def _efa_pools(subject: Subject) -> Iterator[tuple[Path, str]]:
    """Pools that will have EFA interfaces."""
    for _, pool, at, instance in reading.pools_of_known_type(subject):
        if wants_efa(pool, instance):
            yield (*at, "instance_type"), pool.instance_type


@rule(
    "FSX055",
    WARNING,
    "an EFA file system that no pool reaches over EFA",
    source=EFA_GUIDE,
    bad=_EFA + "\npools: {train: {efa: none}}",
    good=_EFA,
)
def efa_without_clients(subject: Subject) -> Iterator[Fault]:
    """EFA on the server side costs capacity steps and serves only nodes with EFA interfaces; the others use TCP."""
    if any(_efa_pools(subject)):
        return
    for path, asked in created(subject):
        if asked.efa:
            yield Fault(
                (*path, "efa"),
                "true, and no pool has EFA interfaces",
                "a pool with `efa: all`",
                "remove `efa`: TCP clients do not need it",
            )


@rule(
    "FSX056",
    WARNING,
    "nodes that reach an EFA file system over TCP",
    source=f"{EFA_CLIENT_GUIDE}: Nitro v4 or newer, excluding the trn2 family",
    bad=_EFA + "\npools: {train: {instance_type: trn2.48xlarge}}",
    good=_EFA,
)
def efa_clients_excluded(subject: Subject) -> Iterator[Fault]:
    """AWS excludes trn2 from the EFA clients of FSx for Lustre: those nodes mount the file system, over TCP.  What
    EFA clients need on the node besides is not proved by any rule here."""
    systems = [path for path, asked in created(subject) if asked.efa]
    for path, instance_type in _efa_pools(subject):
        if systems and instance_type.startswith(NO_EFA_CLIENT):
            yield Fault(
                path,
                f"{instance_type} with an EFA file system",
                "a type that can be an EFA client of FSx",
                "leave `efa` off the file system if these are its only clients",
                related=tuple(Related((*system, "efa"), "the file system") for system in systems),
            )
