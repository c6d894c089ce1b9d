"""Rules about the VPC, its blocks and its subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from itertools import combinations

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.rules.example import EXISTING_VPC

PRIVATE = tuple(
    ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
SERVICE_RANGE = ipaddress.IPv4Network("172.17.0.0/16")

_AT: Path = ("network",)
_EXISTING: Path = ("network", "existing_vpc")


def _vpc_block(subject: Subject) -> tuple[ipaddress.IPv4Network, Path] | None:
    network = subject.spec.network
    if network.existing_vpc is not None:
        return ipaddress.IPv4Network(network.existing_vpc.cidr), (*_EXISTING, "cidr")
    return (ipaddress.IPv4Network(network.cidr), (*_AT, "cidr")) if network.cidr is not None else None


@rule(
    "NET001",
    ERROR,
    "a VPC is either new or existing",
    source="this project's schema: `network.cidr` makes a VPC, `network.existing_vpc` uses one",
    bad=f"{EXISTING_VPC}  cidr: 10.0.0.0/16\n".replace("  cidr: null\n", ""),
    good=EXISTING_VPC,
)
def one_vpc(subject: Subject) -> Iterator[Fault]:
    """The block of a new VPC and a VPC that exists are two answers to one question.  With both, one of them would be
    ignored in silence; with none, there is nothing to put a subnet into.
    """
    network = subject.spec.network
    if network.cidr is not None and network.existing_vpc is not None:
        yield Fault(
            (*_AT, "cidr"),
            f"`cidr: {network.cidr}` and `existing_vpc: {network.existing_vpc.id}`",
            "one of the two",
            "remove `cidr` to use the VPC that exists",
            (Related(_EXISTING, "the VPC that exists"),),
            on_key=True,
        )
    if network.cidr is None and network.existing_vpc is None:
        yield Fault(_AT, "neither `cidr` nor `existing_vpc`", "one of the two", "add `cidr: 10.0.0.0/16` for a new VPC")


@rule(
    "NET002",
    ERROR,
    "block size of a new VPC",
    source="VPC User Guide, VPC CIDR blocks (a VPC takes /16 to /28)",
    proves="arithmetic",
    bad="network: {cidr: 10.64.0.0/24}",
    good="network: {cidr: 10.64.0.0/20}",
)
def new_vpc_size(subject: Subject) -> Iterator[Fault]:
    """EC2 takes no block larger than /16.  A block smaller than /22 cannot be cut into a training subnet, two system
    subnets, two control-plane subnets and one for NAT that are all large enough, because every pod takes an address.
    """
    cidr = subject.spec.network.cidr
    if cidr is not None and reading.prefix(cidr) not in reading.NEW_VPC_PREFIXES:
        yield Fault(
            (*_AT, "cidr"),
            f"a /{reading.prefix(cidr)}",
            "a block of /16 to /22",
            "/16 leaves the training subnet a /17, 32763 addresses",
        )


@rule(
    "NET003",
    WARNING,
    "VPC block outside the private ranges",
    source="VPC User Guide, VPC CIDR blocks (RFC 1918 ranges recommended); RFC 6598 for 100.64.0.0/10",
    proves="arithmetic",
    bad="network: {cidr: 52.10.0.0/16}",
    good="network: {cidr: 172.20.0.0/16}",
)
def private_block(subject: Subject) -> Iterator[Fault]:
    """A VPC may use public addresses that belong to somebody else, but then the real owner of these addresses cannot
    be reached from inside it, be it a package mirror or a registry.
    """
    found = _vpc_block(subject)
    if found and not _special(found[0]) and not any(found[0].subnet_of(block) for block in PRIVATE):
        yield Fault(found[1], f"{found[0]}", f"a block inside {', '.join(map(str, PRIVATE[:3]))} or {PRIVATE[3]}")


@rule(
    "NET004",
    WARNING,
    "VPC block over 172.17.0.0/16",
    source="VPC User Guide, VPC CIDR blocks (some AWS services use 172.17.0.0/16)",
    proves="arithmetic",
    bad="network: {cidr: 172.17.0.0/16}",
    good="network: {cidr: 172.18.0.0/16}",
)
def service_block(subject: Subject) -> Iterator[Fault]:
    """Some AWS services and the default bridge of Docker use 172.17.0.0/16 themselves.  Nodes at these addresses
    cannot be reached from there, and the failure looks like a broken route.
    """
    found = _vpc_block(subject)
    if found and found[0].overlaps(SERVICE_RANGE):
        yield Fault(found[1], f"{found[0]}, which overlaps {SERVICE_RANGE}", "another private block")


def _special(block: ipaddress.IPv4Network) -> bool:
    first = block.network_address
    return first.is_loopback or first.is_link_local or first.is_multicast or first.is_reserved or first.packed[0] == 0


@rule(
    "NET005",
    ERROR,
    "VPC block that no host can use",
    source="RFC 6890, Special-Purpose IP Address Registries",
    proves="arithmetic",
    bad="network: {cidr: 169.254.0.0/16}",
    good="network: {cidr: 10.0.0.0/16}",
)
def usable_block(subject: Subject) -> Iterator[Fault]:
    """Loopback, link-local, multicast and reserved addresses have a fixed meaning in every host's network stack.  EC2
    refuses to make a VPC of them, and 169.254.0.0/16 holds the instance metadata service.
    """
    found = _vpc_block(subject)
    if found and _special(found[0]):
        yield Fault(found[1], f"{found[0]}, a special-purpose block", "a private block such as 10.0.0.0/16")


@rule(
    "NET006",
    ERROR,
    "subnet or VPC size that EC2 does not know",
    source="VPC User Guide, VPC CIDR blocks and Subnet CIDR blocks (/16 to /28)",
    proves="arithmetic",
    bad=EXISTING_VPC.replace("10.64.17.32/27", "10.64.17.32/29"),
    good=EXISTING_VPC,
)
def existing_sizes(subject: Subject) -> Iterator[Fault]:
    """Every VPC and every subnet has a block of /16 to /28.  Another size is a slip of the pen, and the address
    arithmetic would be wrong with it.
    """
    existing = subject.spec.network.existing_vpc
    if existing is None:
        return
    blocks = [(existing.cidr, (*_EXISTING, "cidr"))]
    blocks += [(subnet.cidr, (*at, "cidr")) for subnet, at in reading.existing_subnets(subject.spec)]
    for cidr, at in blocks:
        if not 16 <= reading.prefix(cidr) <= 28:
            yield Fault(at, cidr, "a block of /16 to /28", "copy it from the VPC console")


@rule(
    "NET007",
    WARNING,
    "subnet outside the primary block of its VPC",
    source="VPC User Guide, Subnet CIDR blocks",
    proves="arithmetic",
    bad=EXISTING_VPC.replace("10.64.16.0/24", "10.65.16.0/24"),
    good=EXISTING_VPC,
)
def subnets_inside(subject: Subject) -> Iterator[Fault]:
    """A subnet's block is part of one of its VPC's blocks.  A VPC can have secondary blocks, which are not stated
    here, so this may be right; most often it is a subnet of another VPC.
    """
    existing = subject.spec.network.existing_vpc
    if existing is None:
        return
    whole = ipaddress.IPv4Network(existing.cidr)
    for subnet, at in reading.existing_subnets(subject.spec):
        if not ipaddress.IPv4Network(subnet.cidr).subnet_of(whole):
            yield Fault(
                (*at, "cidr"),
                subnet.cidr,
                f"a block inside {existing.cidr}",
                "suppress this with the reason when the VPC has a secondary block",
                (Related((*_EXISTING, "cidr"), "the VPC's primary block"),),
            )


@rule(
    "NET008",
    ERROR,
    "subnets that overlap",
    source="VPC User Guide, Subnet CIDR blocks (the blocks of the subnets of a VPC cannot overlap)",
    proves="arithmetic",
    bad=EXISTING_VPC.replace("10.64.16.0/24", "10.64.8.0/24"),
    good=EXISTING_VPC,
)
def no_overlap(subject: Subject) -> Iterator[Fault]:
    """Two subnets of one VPC never share an address.  Where two ids have overlapping blocks here, one of the blocks is
    wrong, or the two subnets are not of the same VPC.
    """
    for (left, left_at), (right, right_at) in combinations(reading.existing_subnets(subject.spec), 2):
        if left.id != right.id and ipaddress.IPv4Network(left.cidr).overlaps(ipaddress.IPv4Network(right.cidr)):
            yield Fault(
                (*right_at, "cidr"),
                f"{right.cidr} of {right.id}",
                "a block of its own",
                related=(Related((*left_at, "cidr"), f"{left.cidr} of {left.id}"),),
            )


@rule(
    "NET009",
    ERROR,
    "one subnet, two descriptions",
    source="VPC User Guide, Subnets for your VPC (a subnet has one zone)",
    bad=EXISTING_VPC.replace(
        "{id: subnet-0123456789abcdef1, zone: us-east-2b, cidr: 10.64.16.0/24}",
        "{id: subnet-0123456789abcdef0, zone: us-east-2b, cidr: 10.64.16.0/24}",
    ),
    good=EXISTING_VPC.replace(
        "{id: subnet-0123456789abcdef1, zone: us-east-2b, cidr: 10.64.16.0/24}",
        "{id: subnet-0123456789abcdef0, zone: us-east-2b, cidr: 10.64.0.0/20}",
    ),
)
def one_description(subject: Subject) -> Iterator[Fault]:
    """A subnet has one zone and one block.  The same id with another zone or block means that an id was copied and not
    changed, and the nodes would land in the wrong subnet.
    """
    first: dict[str, tuple[str, str, Path]] = {}
    for subnet, at in reading.existing_subnets(subject.spec):
        zone, cidr, where = first.setdefault(subnet.id, (subnet.zone, subnet.cidr, at))
        if (zone, cidr) != (subnet.zone, subnet.cidr):
            yield Fault(
                (*at, "id"),
                f"{subnet.id} in {subnet.zone} with {subnet.cidr}",
                f"{subnet.id} in {zone} with {cidr}, as stated before",
                related=(Related(where, f"{zone}, {cidr}"),),
            )


@rule(
    "NET010",
    ERROR,
    "a subnet twice in one list",
    source="EKS API Reference, VpcConfigRequest.subnetIds and CreateNodegroup.subnets",
    bad=EXISTING_VPC.replace(
        "{id: subnet-0123456789abcdef3, zone: us-east-2a, cidr: 10.64.17.32/27}",
        "{id: subnet-0123456789abcdef3, zone: us-east-2a, cidr: 10.64.17.32/27}\n"
        "      - {id: subnet-0123456789abcdef3, zone: us-east-2a, cidr: 10.64.17.32/27}",
    ),
    good=EXISTING_VPC,
)
def no_repetition(subject: Subject) -> Iterator[Fault]:
    """The same subnet twice among the system subnets or the control-plane subnets adds no zone and no address.  One of
    the two was meant to be another subnet.
    """
    seen: dict[tuple[object, str], Path] = {}
    for subnet, at in reading.existing_subnets(subject.spec):
        before = seen.setdefault((at[2], subnet.id), at)
        if before != at:
            yield Fault(
                (*at, "id"),
                f"{subnet.id} again",
                "another subnet, or one entry less",
                related=(Related(before, "the first time"),),
            )


@rule(
    "NET011",
    ERROR,
    "a setting of a new VPC beside an existing one",
    source="this project's plan: nothing in an existing VPC is changed",
    bad=f"{EXISTING_VPC}  flow_logs: {{enabled: true}}\n",
    good=f"{EXISTING_VPC}  flow_logs: {{enabled: false}}\n",
)
def no_flow_logs(subject: Subject) -> Iterator[Fault]:
    """Nothing in a VPC that exists is changed, so no flow logs are made there.  Whoever asks for them here believes
    that traffic is recorded, and it is not.
    """
    network = subject.spec.network
    asked = "flow_logs" in network.model_fields_set and network.flow_logs.enabled
    if network.existing_vpc is not None and asked:
        yield Fault(
            (*_AT, "flow_logs"),
            "`flow_logs` with `existing_vpc`",
            "no `flow_logs`",
            "switch them on where the VPC is managed",
            on_key=True,
        )
