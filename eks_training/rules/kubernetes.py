"""Rules about the control plane: version, reach, administrators, add-ons, components."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Collection, Iterator

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec import Cluster

_AT: Path = ("kubernetes",)
_ENDPOINT: Path = (*_AT, "endpoint")
_ADMINISTRATORS: Path = (*_AT, "administrators")
WIDE_PREFIX = 8
"""A block of this size or larger is a part of the internet, not a network of somebody's."""

_EVERYONE = 'kubernetes: {endpoint: {access: public, allowed_cidrs: ["0.0.0.0/0"]}}'
_SOMEBODY = 'kubernetes: {endpoint: {access: public, allowed_cidrs: ["52.94.76.10/32"]}}'


@rule(
    "KUB001",
    ERROR,
    "Kubernetes version that is not supported here",
    source="Kubernetes documentation, Version Skew Policy (kubectl within one minor); "
    "awslabs/amazon-eks-ami@81fec2e CHANGELOG.md; aws/aws-cdk#34759",
    bad='kubernetes: {version: "1.31"}',
    good='kubernetes: {version: "1.34"}',
)
def supported_version(subject: Subject) -> Iterator[Fault]:
    """The function that applies manifests carries one kubectl, and kubectl may differ from the server by one minor
    only.  A version also needs a node image release in the version table, because nodes are pinned to one.
    """
    versions = subject.facts.versions
    usable = [minor for minor in versions.kubernetes_supported() if f"eks-ami-{minor}" in versions]
    wanted = reading.kubernetes_version(subject)
    if wanted not in usable:
        stated = subject.spec.kubernetes.version is not None
        yield Fault(
            (*_AT, "version") if stated else _AT,
            f"Kubernetes {wanted}",
            " or ".join(usable),
            f"leave `version` out for {subject.facts.default_kubernetes}; kubectl reaches one minor up and down",
        )


@rule(
    "KUB002",
    ERROR,
    "public endpoint for nobody in particular",
    source="EKS API Reference, VpcConfigRequest.publicAccessCidrs (0.0.0.0/0 when empty)",
    bad="kubernetes: {endpoint: {access: public}}",
    good=_SOMEBODY,
)
def public_needs_cidrs(subject: Subject) -> Iterator[Fault]:
    """With an empty list EKS opens the public endpoint to the whole internet.  Whoever wants that must write it down,
    so that a reader of the file sees it.
    """
    endpoint = subject.spec.kubernetes.endpoint
    if endpoint.access == "public" and not endpoint.allowed_cidrs:
        yield Fault(
            (*_ENDPOINT, "access"),
            "public, without `allowed_cidrs`",
            "the blocks that may reach the API",
            'add `allowed_cidrs: ["your public address/32"]`',
        )


@rule(
    "KUB003",
    ERROR,
    "allowed_cidrs of a private endpoint",
    source="EKS User Guide, Cluster API server endpoint",
    bad='kubernetes: {endpoint: {access: private, allowed_cidrs: ["52.94.76.10/32"]}}',
    good=_SOMEBODY,
)
def cidrs_need_public(subject: Subject) -> Iterator[Fault]:
    """The list is about the public endpoint.  A private one is reached from inside the VPC only, so the list would be
    ignored and the people in it would stand outside.
    """
    endpoint = subject.spec.kubernetes.endpoint
    if endpoint.access == "private" and endpoint.allowed_cidrs:
        yield Fault(
            (*_ENDPOINT, "allowed_cidrs"),
            f"{reading.counted(len(endpoint.allowed_cidrs), 'block')} with `access: private`",
            "no `allowed_cidrs`, or `access: public`",
            related=(Related((*_ENDPOINT, "access"), "private"),) if "access" in endpoint.model_fields_set else (),
            on_key=True,
        )


@rule(
    "KUB004",
    WARNING,
    "API open to a large part of the internet",
    source="EKS User Guide, Cluster API server endpoint; EKS Best Practices Guide, Identity and Access Management",
    proves="arithmetic",
    bad=_EVERYONE,
    good=_SOMEBODY,
)
def wide_cidrs(subject: Subject) -> Iterator[Fault]:
    """Authentication still protects the API, but every scanner can try it, and the next flaw in the API server is
    reachable from everywhere.
    """
    for index, cidr in enumerate(subject.spec.kubernetes.endpoint.allowed_cidrs):
        if reading.prefix(cidr) <= WIDE_PREFIX:
            count = ipaddress.IPv4Network(cidr).num_addresses
            yield Fault((*_ENDPOINT, "allowed_cidrs", index), f"{cidr}, {count} addresses", "blocks of your users")


@rule(
    "KUB005",
    ERROR,
    "reserved addresses in allowed_cidrs",
    source="EKS User Guide, Cluster API server endpoint (the blocks cannot include reserved addresses)",
    proves="arithmetic",
    bad="kubernetes: {endpoint: {access: public, allowed_cidrs: [10.0.0.0/8]}}",
    good=_SOMEBODY,
)
def public_cidrs(subject: Subject) -> Iterator[Fault]:
    """EKS refuses private, documentation and other reserved blocks here: traffic to the public endpoint never comes
    from them.  It arrives from the public address of the office, the VPN or the NAT gateway.
    """
    for index, cidr in enumerate(subject.spec.kubernetes.endpoint.allowed_cidrs):
        block = ipaddress.IPv4Network(cidr)
        if not block.is_global or block.is_multicast or block.is_reserved:
            yield Fault(
                (*_ENDPOINT, "allowed_cidrs", index),
                f"{cidr}, which is reserved",
                "a block of public addresses",
                "write the public address that callers arrive with: `curl https://checkip.amazonaws.com` shows yours; "
                "callers from inside the VPC need no entry",
            )


def _account(arn: str) -> str:
    return arn.split(":")[4]


@rule(
    "KUB006",
    WARNING,
    "administrator of another account",
    source="aws/containers-roadmap#185 (access entries take principals of another account)",
    bad='account: "444455556666"',
    good='account: "111122223333"',
)
def own_administrators(subject: Subject) -> Iterator[Fault]:
    """EKS accepts a role of another account, so this may be meant.  More often an ARN was copied from another
    environment, and its people become administrators of this cluster.
    """
    account = subject.spec.account
    for index, arn in enumerate(subject.spec.kubernetes.administrators):
        if account is not None and _account(arn) != account:
            yield Fault(
                (*_ADMINISTRATORS, index),
                f"a principal of account {_account(arn)}",
                f"one of account {account}",
                "suppress this with the reason when it is meant",
                (Related(("account",), "the account of the cluster"),),
            )


@rule(
    "KUB007",
    ERROR,
    "administrator twice",
    source="EKS API Reference, CreateAccessEntry (an ARN can be in one access entry only)",
    bad="kubernetes: {administrators: ['arn:aws:iam::111122223333:role/a', 'arn:aws:iam::111122223333:role/a']}",
    good="kubernetes: {administrators: ['arn:aws:iam::111122223333:role/a', 'arn:aws:iam::111122223333:role/b']}",
)
def distinct_administrators(subject: Subject) -> Iterator[Fault]:
    """Each entry becomes an access entry, and EKS takes a principal once.  The second one fails the cluster's stack."""
    first: dict[str, int] = {}
    for index, arn in enumerate(subject.spec.kubernetes.administrators):
        before = first.setdefault(arn, index)
        if before != index:
            related = (Related((*_ADMINISTRATORS, before), "the first time"),)
            yield Fault((*_ADMINISTRATORS, index), f"{arn} again", "each principal once", related=related)


def partition(region: str) -> str:
    """The partition of a Region, the second part of its ARNs."""
    starts = {"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso", "us-isob-": "aws-iso-b"}
    return next((name for start, name in starts.items() if region.startswith(start)), "aws")


@rule(
    "KUB008",
    ERROR,
    "administrator of another partition",
    source="AWS General Reference, Amazon Resource Names (partitions share no identities)",
    bad="kubernetes: {administrators: ['arn:aws-us-gov:iam::111122223333:role/platform-admin']}",
    good="kubernetes: {administrators: ['arn:aws:iam::111122223333:role/platform-admin']}",
)
def own_partition(subject: Subject) -> Iterator[Fault]:
    """The commercial Regions, GovCloud and China are separate partitions with separate identities.  A principal of
    another one cannot exist in this Region, and making its access entry fails.
    """
    own = partition(subject.spec.region)
    for index, arn in enumerate(subject.spec.kubernetes.administrators):
        other = arn.split(":")[1]
        if other != own and not subject.spec.region.startswith(("us-iso", "eu-iso", "eusc-")):
            yield Fault(
                (*_ADMINISTRATORS, index),
                f"partition {other}",
                f"{own}, the partition of {subject.spec.region}",
                related=(Related(("region",), "the Region"),),
            )


@rule(
    "KUB009",
    ERROR,
    "settings of an add-on that is not installed",
    source="this project's plan: the drivers of FSx, EFS and S3 come with the storage that needs them",
    bad="kubernetes: {addon_versions: {aws-efs-csi-driver: v3.4.1-eksbuild.1}}",
    good="kubernetes: {addon_versions: {vpc-cni: v1.21.1-eksbuild.1}}",
)
def installed_addons(subject: Subject) -> Iterator[Fault]:
    """A storage driver is installed when the file has storage of its kind.  A version or a configuration for any other
    one has no effect, and usually a section below `storage` is missing.
    """
    asked = subject.spec.kubernetes
    if not asked.addon_versions and not asked.addon_configuration:
        return
    from eks_training.plan.cluster import plan_cluster

    plan = plan_cluster(subject.spec, subject.facts)
    installed = {addon.name for addon in (*plan.addons, *plan.storage_addons)}
    sections = (("addon_versions", "version", asked.addon_versions),
                ("addon_configuration", "configuration", asked.addon_configuration))  # fmt: skip
    for section, what, names in sections:
        for name in names:
            if name not in installed:
                yield Fault(
                    (*_AT, section, name),
                    f"a {what} of {name}, which this cluster does not get",
                    f"no {what}, or the storage that needs it",
                    on_key=True,
                )


def unknown_components(spec: Cluster, known: Collection[str]) -> Iterator[Fault]:
    """A fault for every component whose name the catalogue does not know."""
    for name in spec.components:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
            listed = ", ".join(sorted(known)) or "no component: none is offered yet"
            hint = f"did you mean `{near[0]}`?" if near else "remove the section"
            yield Fault(("components", name), f"`{name}`", listed, hint, on_key=True)


COMPONENTS: frozenset[str] = frozenset()
"""Names of the components that can be asked for."""


@rule(
    "KUB010",
    ERROR,
    "unknown component",
    source="this project's catalogue of components",
    bad="components: {no-such-component: {}}",
    good="components: {}",
)
def known_components(subject: Subject) -> Iterator[Fault]:
    """What no part of the project reads would have no effect.  A misspelt name must not mean that an operator is
    missing from the cluster.
    """
    yield from unknown_components(subject.spec, COMPONENTS)
