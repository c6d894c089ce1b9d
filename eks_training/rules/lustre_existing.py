"""FSx for Lustre file systems that exist (FSX060 to FSX065)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules.lustre import CLIENTS, existing

MOUNT_NAME = "Amazon FSx API Reference, LustreFileSystemConfiguration: MountName"
DNS = "FSx for Lustre User Guide, Mounting from an Amazon Elastic Compute Cloud instance"

_FSX_NAME = re.compile(r"(fs-[0-9a-f]+)\.fsx\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")

_GOOD = (
    "storage: {lustre: {work: {existing: {id: fs-0aa11bb22cc33dd44, dns_name: lustre.example.org, "
    "mount_name: a1b2cdef, deployment: PERSISTENT_2}}}}"
)


@rule(
    "FSX060",
    WARNING,
    "this mount name belongs to SCRATCH_1",
    source=f"{MOUNT_NAME}; aws/aws-parallelcluster#1664; kubernetes-sigs/aws-fsx-csi-driver#35",
    bad=_GOOD.replace("a1b2cdef", "fsx"),
    good=_GOOD,
)
def mount_name_of_scratch_1(subject: Subject) -> Iterator[Fault]:
    """Only the first scratch generation is mounted as `fsx`.  Every other file system has a name of its own, and a
    mount with the wrong one fails although the DNS name resolves."""
    for path, asked in existing(subject):
        if asked.mount_name == "fsx" and asked.deployment not in (None, "SCRATCH_1"):
            yield Fault(
                (*path, "mount_name"),
                f"fsx with {asked.deployment}",
                "the MountName that FSx gave it",
                f"aws fsx describe-file-systems --file-system-ids {asked.id} "
                "--query FileSystems[].LustreConfiguration.MountName",
            )


@rule(
    "FSX061",
    ERROR,
    "SCRATCH_1 is mounted as fsx",
    source=MOUNT_NAME,
    bad=_GOOD.replace("PERSISTENT_2", "SCRATCH_1"),
    good=_GOOD.replace("PERSISTENT_2", "SCRATCH_1").replace("a1b2cdef", "fsx"),
)
def mount_name_of_others(subject: Subject) -> Iterator[Fault]:
    """The mount name of SCRATCH_1 is always `fsx`; with another one no node can mount it."""
    for path, asked in existing(subject):
        if asked.deployment == "SCRATCH_1" and asked.mount_name != "fsx":
            yield Fault(
                (*path, "mount_name"),
                f"{asked.mount_name} with SCRATCH_1",
                "fsx",
                "set `mount_name: fsx`, or correct `deployment`",
            )


@rule(
    "FSX062",
    ERROR,
    "the nodes cannot mount this Lustre version",
    source=f"{CLIENTS}; kubernetes-sigs/aws-fsx-csi-driver#437",
    bad=_GOOD.replace("mount_name", 'lustre_version: "2.10", mount_name'),
    good=_GOOD.replace("mount_name", 'lustre_version: "2.12", mount_name'),
)
def version_below_clients(subject: Subject) -> Iterator[Fault]:
    """The Lustre 2.15 client of Amazon Linux 2023 works with 2.12 and 2.15 servers, not with 2.10."""
    for path, asked in existing(subject):
        if asked.lustre_version == "2.10":
            yield Fault(
                (*path, "lustre_version"),
                "2.10; the nodes have the Lustre 2.15 client",
                "2.12 or 2.15",
                "upgrade it: FSx for Lustre User Guide, Managing Lustre versions",
            )


@rule(
    "FSX063",
    WARNING,
    "a file system in another Region",
    source=f"{DNS}; FSx for Lustre User Guide, Best practices: same Availability Zone as the clients",
    bad=_GOOD.replace("lustre.example.org", "fs-0aa11bb22cc33dd44.fsx.af-south-1.amazonaws.com"),
    good=_GOOD,
)
def dns_name_in_another_region(subject: Subject) -> Iterator[Fault]:
    """Every read would cross Regions, if the networks are joined at all; more often the name was copied wrongly."""
    for path, asked in existing(subject):
        match = _FSX_NAME.fullmatch(asked.dns_name)
        if match and match[2] != subject.spec.region:
            yield Fault(
                (*path, "dns_name"),
                f"Region {match[2]}",
                f"Region {subject.spec.region}",
                "use a file system of the cluster's Region, best of its training zone",
                related=(Related(("region",), "the cluster's Region"),),
            )


@rule(
    "FSX064",
    ERROR,
    "the same file system under two names",
    source="Kubernetes CSI specification: a volume handle names one volume",
    bad=_GOOD.replace(
        "lustre: {work:",
        "lustre: {again: {existing: {id: fs-0aa11bb22cc33dd44, "
        "dns_name: lustre.example.org, mount_name: a1b2cdef}}, work:",
    ),
    good=_GOOD,
)
def same_id_twice(subject: Subject) -> Iterator[Fault]:
    """Two PersistentVolumes with one volume handle confuse the kubelet: a pod that uses both does not start."""
    first: dict[str, Path] = {}
    for path, asked in existing(subject):
        if asked.id in first:
            yield Fault(
                (*path, "id"),
                f"{asked.id} again",
                "one entry for each file system",
                "use the first entry's name where this one is used",
                related=(Related(first[asked.id], "the first entry"),),
            )
        else:
            first[asked.id] = (*path, "id")


@rule(
    "FSX065",
    WARNING,
    "id and DNS name of different file systems",
    source=DNS,
    bad=_GOOD.replace("lustre.example.org", "fs-0123456789abcdef0.fsx.us-east-2.amazonaws.com"),
    good=_GOOD,
)
def id_and_dns_name(subject: Subject) -> Iterator[Fault]:
    """FSx names begin with the id of the file system; another id there means that one of the two was not updated."""
    for path, asked in existing(subject):
        match = _FSX_NAME.fullmatch(asked.dns_name)
        if match and match[1] != asked.id:
            yield Fault(
                (*path, "dns_name"),
                f"the name of {match[1]}",
                f"the name of {asked.id}",
                f"aws fsx describe-file-systems --file-system-ids {asked.id} --query FileSystems[].DNSName",
                related=(Related((*path, "id"), "the id"),),
            )
