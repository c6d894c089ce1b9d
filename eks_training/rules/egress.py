"""Rules about the way out of the private subnets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.plan.network import ENDPOINTS_ALWAYS
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.rules.example import EXISTING_VPC

PUBLIC_REGISTRIES = (
    "docker.io", "docker.com", "ecr-public.aws.com", "gcr.io", "ghcr.io", "mcr.microsoft.com", "nvcr.io", "pkg.dev",
    "public.ecr.aws", "quay.io", "registry.k8s.io",
)  # fmt: skip
"""Registries of the internet, by the end of their host names."""

_AT: Path = ("network", "egress")
_ECR = re.compile(r"[0-9]{12}\.dkr[.-]ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)")
_MIRRORED = "network: {egress: endpoints}\nregistry_mirror: "


@rule(
    "NET020",
    ERROR,
    "internet-gateway describes an existing VPC only",
    source="EC2 User Guide, Elastic network interfaces (no public address with several interfaces)",
    bad="network: {egress: internet-gateway}",
    good="network: {egress: nat}",
)
def gateway_needs_existing(subject: Subject) -> Iterator[Fault]:
    """A new VPC gets private subnets, because nodes with EFA cannot have a public address.  `internet-gateway` is only
    a statement about a public subnet that exists already.
    """
    network = subject.spec.network
    if network.egress == "internet-gateway" and network.existing_vpc is None:
        yield Fault(_AT, "internet-gateway for a new VPC", "nat or endpoints")


@rule(
    "NET021",
    ERROR,
    "several interfaces in a public subnet",
    source="EC2 User Guide, Elastic network interfaces; terraform-aws-modules/terraform-aws-eks#3533, "
    "aws/aws-parallelcluster#7457",
    bad=f"{EXISTING_VPC}  egress: internet-gateway\n",
    good=f"{EXISTING_VPC}  egress: internet-gateway\npools: {{train: {{efa: none, nodes: 1, placement: none}}}}\n",
)
def no_public_address(subject: Subject) -> Iterator[Fault]:
    """EC2 assigns no public address to an instance that starts with more than one interface, and EFA nodes do.  In a
    subnet whose only way out is an internet gateway such a node reaches nothing and never joins the cluster.
    """
    if subject.spec.network.egress != "internet-gateway":
        return
    for name, pool, at, instance in reading.pools_of_known_type(subject):
        layout = reading.interfaces(pool, instance)
        if pool.purpose != "system" and layout is not None and len(layout) > 1:
            yield Fault(
                _AT,
                f"internet-gateway, and pool {name} starts {pool.instance_type} with {len(layout)} interfaces",
                "a private training subnet: nat or endpoints",
                "route the subnet through a NAT gateway and say `egress: nat`",
                (Related((*at, "instance_type"), f"{len(layout)} interfaces"),),
            )


@rule(
    "NET022",
    WARNING,
    "nodes in a public subnet",
    source="EKS User Guide, VPC and subnet requirements (nodes in public subnets need an assigned public address)",
    bad=f"{EXISTING_VPC}  egress: internet-gateway\npools: {{train: {{efa: none, nodes: 1, placement: none}}}}\n",
    good=EXISTING_VPC,
)
def public_subnet(subject: Subject) -> Iterator[Fault]:
    """Nodes in a public subnet need a public address each, which the subnet must assign by itself, and every port that
    a security group opens is reachable from the internet.  A private subnet has neither problem.
    """
    network = subject.spec.network
    if network.egress == "internet-gateway" and network.existing_vpc is not None:
        yield Fault(
            _AT,
            "internet-gateway",
            "nat or endpoints",
            "if it stays: switch on auto-assign of public addresses in the subnet",
        )


@rule(
    "NET023",
    ERROR,
    "no way to public registries and no mirror",
    source="EKS User Guide, Deploy private clusters with limited internet access",
    bad="network: {egress: endpoints}",
    good="network: {egress: endpoints}\nregistry_mirror: 111122223333.dkr.ecr.us-east-2.amazonaws.com/mirror",
    fixed=False,  # the network may have a way to registries that the file does not show
)
def endpoints_only(subject: Subject) -> Iterator[Fault]:
    """VPC endpoints reach AWS services only.  Images on ghcr.io, quay.io, nvcr.io, registry.k8s.io and public.ecr.aws
    and charts in public repositories cannot be pulled, so they must be mirrored into a private ECR registry first.
    """
    if subject.spec.network.egress == "endpoints" and subject.spec.registry_mirror is None:
        yield Fault(
            _AT,
            "endpoints: no node and no chart reaches a public registry",
            "`registry_mirror` with every chart and image, or `egress: nat`",
            "ECR pull-through cache rules serve images; charts are pushed with `helm push`",
        )


@rule(
    "NET024",
    WARNING,
    "endpoints that nobody makes here",
    source="EKS User Guide, Deploy private clusters with limited internet access",
    bad=f"{EXISTING_VPC}  egress: endpoints\n",
    good=EXISTING_VPC,
)
def endpoints_exist(subject: Subject) -> Iterator[Fault]:
    """In a VPC that exists no endpoint is made, and without them nodes cannot register, pull images or get credentials.
    They must be there before the first node starts.
    """
    network = subject.spec.network
    if network.egress == "endpoints" and network.existing_vpc is not None:
        karpenter = any(reading.by_karpenter(pool) for pool in subject.spec.pools.values())
        names = sorted({*ENDPOINTS_ALWAYS, *(("sqs",) if karpenter else ())})
        yield Fault(
            _AT,
            "endpoints in a VPC that exists",
            f"interface endpoints {', '.join(names)} and a gateway endpoint for s3",
            "look for them in the VPC console, with private DNS switched on",
        )


@rule(
    "NET025",
    ERROR,
    "mirror that endpoints do not reach",
    source="ECR User Guide, Amazon ECR interface VPC endpoints (repositories of the endpoint's own Region); EKS User "
    "Guide, Deploy private clusters with limited internet access",
    bad=f"{_MIRRORED}public.ecr.aws/mirror",
    good=f"{_MIRRORED}111122223333.dkr.ecr.us-east-2.amazonaws.com/mirror",
)
def mirror_is_reachable(subject: Subject) -> Iterator[Fault]:
    """The endpoints for ECR reach private repositories of their own Region.  A registry of the internet, or ECR of
    another Region, is as far away as without a mirror: no image is pulled and no chart is installed.
    """
    mirror, region = subject.spec.registry_mirror, subject.spec.region
    if mirror is None or subject.spec.network.egress != "endpoints":
        return
    host = mirror.partition("/")[0].partition(":")[0]
    ecr = _ECR.fullmatch(host)
    public = any(host == name or host.endswith(f".{name}") for name in PUBLIC_REGISTRIES)
    if public or (ecr and ecr["region"] != region):
        yield Fault(
            ("registry_mirror",),
            f"{host}, a registry of the internet" if public or ecr is None else f"ECR of {ecr['region']}",
            f"ECR of {region}, or a registry inside the VPC",
            "replicate the repositories into this Region, or write `egress: nat`",
            (Related(_AT, "endpoints"),) if ecr is None else (Related(_AT, "endpoints"), Related(("region",), region)),
        )
