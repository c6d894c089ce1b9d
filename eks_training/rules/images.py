"""Rules about node images: releases, variants, kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_training.finding import Related
from eks_training.rulebook import ERROR, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import Pool

_AL2023 = re.compile(r"1\.([0-9]{2})\.[0-9]{1,3}-20[0-9]{6}")
_BOTTLEROCKET = re.compile(r"v?1\.[0-9]{1,3}\.[0-9]{1,3}-[0-9a-f]{8}")
_CHANGELOG = "awslabs/amazon-eks-ami@81fec2e CHANGELOG.md (v20260714)"
_TRN = "instance_type: trn1.32xlarge"
_ARM_NEURON = """\
instance_types:
  trn9.48xlarge:
    source: a data sheet, read 2026-12-01
    arch: arm64
    accelerator: {kind: neuron, model: trainium9, count: 16}
    efa_interfaces: 0
pools: {train: {instance_type: trn9.48xlarge, nodes: 1, placement: none}}
"""
_BOTTLEROCKET_EXAMPLE = "1.47.0-6154605b"


def _example(subject: Subject, pool: Pool) -> str:
    """A release in the form of the pool's family, for the cluster's version where the table has one."""
    if pool.image.family == "bottlerocket":
        return _BOTTLEROCKET_EXAMPLE
    row = f"eks-ami-{reading.kubernetes_version(subject)}"
    return (subject.facts.versions.version(row) if row in subject.facts.versions else None) or "1.35.6-20260714"


def _lookup(subject: Subject, pool: Pool) -> str | None:
    """The command that prints the newest release of the pool's image; None when the pool has no image of its family.

    Source of the parameter names: EKS User Guide, Retrieve recommended Amazon Linux AMI IDs; EKS User Guide, Retrieve
    recommended Bottlerocket AMI IDs.
    """
    instance = reading.known(subject, pool)
    if instance is None or instance.arch is None:
        return None
    version, arch = reading.kubernetes_version(subject), "arm64" if instance.arch == "arm64" else "x86_64"
    kind = instance.accelerator.kind if instance.accelerator else None
    if kind == "neuron" and (pool.image.family == "bottlerocket" or arch == "arm64"):
        return None
    if pool.image.family == "bottlerocket":
        variant = f"aws-k8s-{version}-nvidia" if kind else f"aws-k8s-{version}"
        name = f"/aws/service/bottlerocket/{variant}/{arch}/latest/image_version"
    else:
        variant = {None: "standard", "gpu": "nvidia", "neuron": "neuron"}[kind]
        name = (
            f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{arch}/{variant}/recommended/release_version"
        )
    return f"aws ssm get-parameter --region {subject.spec.region} --name {name} --query Parameter.Value --output text"


@rule(
    "IMG001",
    ERROR,
    "release in another family's form",
    source=f"{_CHANGELOG}; aws-controllers-k8s/community#2644 (form of a Bottlerocket release)",
    bad="pools: {train: {image: {release: latest}}}",
    good="pools: {train: {image: {release: 1.35.6-20260714}}}",
)
def release_form(subject: Subject) -> Iterator[Fault]:
    """A release names one image for good: Kubernetes version and date for AL2023, Bottlerocket version and commit for
    Bottlerocket.  `latest` and the like mean another image every week, and nodes of one job may then differ.
    """
    for _name, pool, at in reading.pools(subject.spec):
        release, family = pool.image.release, pool.image.family
        form = _AL2023 if family == "al2023" else _BOTTLEROCKET
        if release is not None and not form.fullmatch(release):
            command = _lookup(subject, pool)
            yield Fault(
                (*at, "image", "release"),
                f"{release} for {family}",
                f"a release such as {_example(subject, pool)}",
                "leave it out" + (f", or write what this prints: {command}" if command else ""),
            )


@rule(
    "IMG002",
    ERROR,
    "release of another Kubernetes minor",
    source="EKS User Guide, Create a managed node group for your cluster (releaseVersion fits the version)",
    bad="pools: {train: {image: {release: 1.34.9-20260714}}}",
    good="pools: {train: {image: {release: 1.35.6-20260714}}}",
)
def release_minor(subject: Subject) -> Iterator[Fault]:
    """A node group has the cluster's Kubernetes version, and EKS refuses an image of another minor.  After an upgrade
    of the cluster a pinned release has to move with it.
    """
    wanted = reading.kubernetes_version(subject)
    for _name, pool, at in reading.pools(subject.spec):
        match = _AL2023.fullmatch(pool.image.release or "")
        if pool.image.family == "al2023" and match and f"1.{match[1]}" != wanted:
            related = (Related(("kubernetes", "version"), wanted),) if subject.spec.kubernetes.version else ()
            yield Fault(
                (*at, "image", "release"),
                f"an image of Kubernetes 1.{match[1]}",
                f"one of {wanted}",
                "leave it out for the release of the version table",
                related,
            )


@rule(
    "IMG003",
    ERROR,
    "Bottlerocket for Neuron devices",
    source="EKS API Reference, CreateNodegroup.amiType (Bottlerocket has NVIDIA variants and no Neuron one)",
    bad=f"pools: {{train: {{{_TRN}, local_nvme: none, image: {{family: bottlerocket}}}}}}",
    good=f"pools: {{train: {{{_TRN}, image: {{family: al2023}}}}}}",
)
def no_bottlerocket_neuron(subject: Subject) -> Iterator[Fault]:
    """No Bottlerocket variant carries the Neuron driver.  Nodes would join and show no device."""
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        device = instance.accelerator
        if pool.image.family == "bottlerocket" and device is not None and device.kind == "neuron":
            yield Fault(
                (*at, "image", "family"),
                f"bottlerocket on {pool.instance_type}",
                "al2023",
                related=(Related((*at, "instance_type"), "Neuron devices"),),
            )


@rule(
    "IMG004",
    ERROR,
    "no Neuron image for arm64",
    source=f"{_CHANGELOG}; EKS API Reference, CreateNodegroup.amiType (AL2023_x86_64_NEURON only)",
    bad=_ARM_NEURON,
    good=_ARM_NEURON.replace("arm64", "amd64"),
)
def no_arm_neuron(subject: Subject) -> Iterator[Fault]:
    """The Neuron image exists for x86-64 alone.  A type that is declared as arm64 with Neuron devices has no image, or
    its architecture was declared wrongly.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        device = instance.accelerator
        if instance.arch == "arm64" and device is not None and device.kind == "neuron":
            declared = pool.instance_type in subject.spec.instance_types
            where = ("instance_types", pool.instance_type) if declared else (*at, "instance_type")
            yield Fault(where, f"{pool.instance_type}: arm64 with Neuron devices", "amd64")


@rule(
    "IMG005",
    ERROR,
    "Bottlerocket on Karpenter without a release",
    source="Karpenter documentation, Managing AMIs (an alias of latest drifts with every release)",
    bad="pools: {train: {provisioner: karpenter, nodes: {max: 4}, local_nvme: none, image: {family: bottlerocket}}}",
    good="pools: {train: {provisioner: karpenter, nodes: {max: 4}, local_nvme: none, "
    "image: {family: bottlerocket, release: 1.47.0-6154605b}}}",
    fixed=False,  # following the latest release may be wanted
)
def bottlerocket_is_pinned(subject: Subject) -> Iterator[Fault]:
    """The version table has no release of Bottlerocket, so Karpenter would follow the latest one.  With each new
    release every node counts as drifted and is replaced when the budget allows.
    """
    for _name, pool, at in reading.pools(subject.spec):
        image = pool.image
        if reading.by_karpenter(pool) and image.family == "bottlerocket" and image.release is None:
            command = _lookup(subject, pool)
            yield Fault(
                (*at, "image"),
                "bottlerocket without `release`",
                f"a release such as {_BOTTLEROCKET_EXAMPLE}",
                f"this prints the newest one: {command}" if command else "",
            )
