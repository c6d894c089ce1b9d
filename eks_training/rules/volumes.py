"""Rules about the root volume and the local NVMe disks."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Related
from eks_training.plan.defaults import root_volume_gib, uses_raid0
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading

IOPS_PER_GIB = 500
IOPS_PER_MIBPS = 4
FREE_IOPS = 3000
ROOMY_GIB = 200
"""Room for the system, two training images of 20 GB unpacked, logs and what pods write."""

_SOURCE = "EBS User Guide, General Purpose SSD volumes (gp3: 500 IOPS per GiB, 0.25 MiB/s per IOPS)"


@rule(
    "VOL001",
    ERROR,
    "more IOPS than the volume's size allows",
    source=_SOURCE,
    proves="arithmetic",
    bad="pools: {train: {root_volume: {size_gib: 100, iops: 60000}}}",
    good="pools: {train: {root_volume: {size_gib: 100, iops: 16000}}}",
)
def iops_per_size(subject: Subject) -> Iterator[Fault]:
    """A gp3 volume takes at most 500 IOPS for each GiB.  EC2 refuses the launch otherwise, so the node group is made
    and its nodes never come.
    """
    for _name, pool, at in reading.pools(subject.spec):
        iops, size = pool.root_volume.iops, root_volume_gib(pool)
        if iops is not None and iops > size * IOPS_PER_GIB:
            yield Fault(
                (*at, "root_volume", "iops"),
                f"{iops} IOPS; {size} GiB x {IOPS_PER_GIB} = {size * IOPS_PER_GIB}",
                f"at most {size * IOPS_PER_GIB}, or {-(-iops // IOPS_PER_GIB)} GiB",
            )


@rule(
    "VOL002",
    ERROR,
    "more throughput than the volume's IOPS allow",
    source=_SOURCE,
    proves="arithmetic",
    bad="pools: {train: {root_volume: {throughput_mibps: 1000}}}",
    good="pools: {train: {root_volume: {throughput_mibps: 1000, iops: 4000}}}",
)
def throughput_per_iops(subject: Subject) -> Iterator[Fault]:
    """A gp3 volume takes at most a quarter of a MiB/s for each provisioned IOPS, and has 3000 IOPS when none are asked
    for.  More throughput needs more IOPS beside it.
    """
    for _name, pool, at in reading.pools(subject.spec):
        volume = pool.root_volume
        iops = volume.iops or FREE_IOPS
        if volume.throughput_mibps is not None and volume.throughput_mibps * IOPS_PER_MIBPS > iops:
            yield Fault(
                (*at, "root_volume", "throughput_mibps"),
                f"{volume.throughput_mibps} MiB/s; {iops} IOPS x 0.25 = {iops // IOPS_PER_MIBPS} MiB/s",
                f"at most {iops // IOPS_PER_MIBPS}, or iops: {volume.throughput_mibps * IOPS_PER_MIBPS}",
            )


@rule(
    "VOL003",
    WARNING,
    "little room for images",
    source="Kubernetes documentation, Node-pressure Eviction; 200 GiB is a judgement from images of 10 to 20 GB",
    bad="pools: {train: {root_volume: {size_gib: 100}, local_nvme: none}}",
    good="pools: {train: {root_volume: {size_gib: 100}, local_nvme: raid0}}",
)
def room_for_images(subject: Subject) -> Iterator[Fault]:
    """Images for training and notebooks are 10 to 20 GB packed and two to three times that on disk.  A root volume that
    holds them, the logs and the pods' scratch files runs full, and the kubelet then evicts pods.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        large_images = pool.purpose != "system" or instance.accelerator is not None
        if large_images and root_volume_gib(pool) < ROOMY_GIB and not uses_raid0(pool, instance):
            disks = bool(instance.instance_store_gb) and pool.image.family == "al2023"
            yield Fault(
                (*at, "root_volume", "size_gib"),
                f"{root_volume_gib(pool)} GiB, without local disks for images",
                f"{ROOMY_GIB} GiB or more",
                "write `size_gib: 500`" + ("; or `local_nvme: raid0`" if disks else ""),
            )


@rule(
    "VOL004",
    ERROR,
    "raid0 without local disks",
    source="eks_training/facts/instances.json (instance_store_gb)",
    bad="pools: {system: {local_nvme: raid0}}",
    good="pools: {train: {local_nvme: raid0}}",
)
def disks_exist(subject: Subject) -> Iterator[Fault]:
    """`local_nvme: raid0` puts images and logs on the instance's own disks.  This type has none, so everything would
    stay on the root volume, whose size was chosen with the disks in mind.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        if pool.local_nvme == "raid0" and instance.instance_store_gb == 0:
            yield Fault(
                (*at, "local_nvme"),
                f"raid0 on {pool.instance_type}, which has no local disk",
                "none",
                related=(Related((*at, "instance_type"), pool.instance_type),),
            )


@rule(
    "VOL005",
    ERROR,
    "raid0 on Bottlerocket",
    source="awslabs/amazon-eks-ami@81fec2e nodeadm (localStorage is a setting of nodeadm, which is part of AL2023)",
    bad="pools: {train: {local_nvme: raid0, image: {family: bottlerocket}}}",
    good="pools: {train: {local_nvme: none, image: {family: bottlerocket}}}",
)
def raid_needs_nodeadm(subject: Subject) -> Iterator[Fault]:
    """The disks are joined by nodeadm, which starts AL2023 nodes.  Bottlerocket has no nodeadm and would ignore the
    setting.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.local_nvme == "raid0" and pool.image.family == "bottlerocket":
            yield Fault(
                (*at, "local_nvme"),
                "raid0 on Bottlerocket",
                "none, or `image: {family: al2023}`",
                related=(Related((*at, "image", "family"), "bottlerocket"),),
            )
