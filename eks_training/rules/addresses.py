"""Rules about IPv4 addresses: what the pools take from the subnets at their largest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eks_training.facts.instances import InstanceFacts
from eks_training.finding import Path, Related
from eks_training.interfaces import Interface, addresses
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.rules.example import EXISTING_VPC
from eks_training.spec.pool import Pool

COMFORTABLE = 16
"""Free addresses in each control-plane subnet that EKS recommends; it needs 6."""

_FEWER = '{vpc-cni: {env: {WARM_IP_TARGET: "4", MINIMUM_IP_TARGET: "8"}}}'
_SMALL = EXISTING_VPC.replace("10.64.0.0/20", "10.64.0.0/26")


@dataclass(frozen=True)
class _Room:
    """A group of pools, and the subnets that they share."""

    pools: tuple[tuple[str, Pool, Path, InstanceFacts, tuple[Interface, ...]], ...]
    blocks: tuple[str, ...]
    at: Path
    what: str

    @property
    def usable(self) -> int:
        return sum(reading.usable(block) for block in self.blocks)

    def sizes(self) -> str:
        """`the /26 has 59`, in words that name the subnet."""
        named = " and ".join(f"/{reading.prefix(block)}" for block in self.blocks)
        verb = "has" if len(self.blocks) == 1 else "have"
        return f"the {named} of the {self.what} {verb} {self.usable}"


def _rooms(subject: Subject) -> Iterator[_Room]:
    found = [
        (name, pool, at, instance, layout)
        for name, pool, at, instance in reading.pools_of_known_type(subject)
        if (layout := reading.interfaces(pool, instance)) is not None
    ]
    training = reading.training_block(subject.spec)
    if training is not None:
        mine = tuple(item for item in found if item[1].purpose != "system")
        yield _Room(mine, (training[0],), training[1], "training subnet")
    system = reading.system_blocks(subject.spec)
    if system is not None:
        mine = tuple(item for item in found if item[1].purpose == "system")
        yield _Room(mine, system[0], system[1], "system subnets")


def _sum(terms: list[tuple[str, int, int]], noun: str) -> tuple[str, int]:
    total = sum(nodes * each for _, nodes, each in terms)
    shown = " + ".join(f"{name}: {nodes} nodes x {reading.counted(each, noun)}" for name, nodes, each in terms)
    return f"{shown} = {total}", total


def _nodes(room: _Room) -> tuple[str, int]:
    return _sum([(name, pool.max_nodes, addresses(layout)) for name, pool, _, _, layout in room.pools], "address")


@rule(
    "ADR001",
    ERROR,
    "more nodes than addresses",
    source="VPC User Guide, Subnet CIDR blocks (five addresses are reserved); dstackai/dstack#1804",
    proves="arithmetic",
    bad=f"{_SMALL}pools: {{train: {{nodes: {{min: 0, max: 64}}}}}}\n",
    good=f"{_SMALL}pools: {{train: {{nodes: 4}}}}\n",
    fixed=False,  # the pools may never all be at their largest at the same time
)
def nodes_fit(subject: Subject) -> Iterator[Fault]:
    """Every interface but an EFA-only one takes an address of its subnet.  When the pools at their largest need more
    than the subnet has, the last nodes of a job do not start, and a job that needs all of them waits for ever.
    """
    for room in _rooms(subject):
        shown, total = _nodes(room)
        if total > room.usable:
            yield Fault(
                room.at,
                f"{shown}; {room.sizes()}",
                f"at least {total} usable addresses",
                "take a larger subnet, or lower `nodes`",
                tuple(Related((*at, "nodes"), f"{name} at its largest") for name, _, at, _, _ in room.pools),
            )


@rule(
    "ADR002",
    WARNING,
    "addresses for pods may run out",
    source="aws/amazon-vpc-cni-k8s@b521883 docs/eni-and-ip-target.md (WARM_ENI_TARGET is 1 when unset)",
    proves="arithmetic",
    bad=f"{_SMALL}pools: {{train: {{nodes: 4}}}}\n",
    good=f"{_SMALL}pools: {{train: {{nodes: 4}}}}\nkubernetes: {{addon_configuration: {_FEWER}}}\n",
)
def pods_fit(subject: Subject) -> Iterator[Fault]:
    """Pods take addresses of the node's subnet, and the VPC CNI keeps a whole spare interface of them ready on every
    node.  So a node takes far more than its own address even when it runs a single pod.
    """
    targets = _ip_targets(subject)
    for room in _rooms(subject):
        terms = [
            (name, pool.max_nodes, _with_warm_pool(instance, layout, targets))
            for name, pool, _, instance, layout in room.pools
        ]
        shown, total = _sum(terms, "address")
        if total > room.usable >= _nodes(room)[1]:
            yield Fault(
                room.at,
                f"{shown}; {room.sizes()}",
                f"at least {total} usable addresses with {'these' if targets else 'the'} settings of the VPC CNI",
                f"take a larger subnet, or have the VPC CNI keep fewer addresses ready: "
                f"`kubernetes: {{addon_configuration: {_FEWER}}}`",
            )


def _ip_targets(subject: Subject) -> tuple[int, int] | None:
    """WARM_IP_TARGET and MINIMUM_IP_TARGET of the VPC CNI, where the file sets the first; whole interfaces else."""
    values = subject.spec.kubernetes.addon_configuration.get("vpc-cni", {})
    env = values.get("env")
    if not isinstance(env, dict):
        return None
    warm, least = (str(env.get(key, "0")) for key in ("WARM_IP_TARGET", "MINIMUM_IP_TARGET"))
    if not all(re.fullmatch(r"[0-9]{1,4}", text) for text in (warm, least)) or int(warm) == 0:
        return None
    return int(warm), int(least)


def _with_warm_pool(instance: InstanceFacts, layout: tuple[Interface, ...], targets: tuple[int, int] | None) -> int:
    """Addresses of a node that runs a pod.

    With targets: its own, one for the pod, and the spare ones.  Without: the first interface and one spare, as far as
    card 0 has room for it.
    """
    if targets is not None:
        warm, least = targets
        return addresses(layout) + max(least, 1 + warm)
    each, limits = instance.ipv4_per_interface, instance.interfaces_per_card
    if each is None or not limits:
        return addresses(layout)
    without_address = sum(item.card == 0 and item.kind == "efa-only" for item in layout)
    return each * max(1, min(2, limits[0] - without_address))


@rule(
    "ADR003",
    WARNING,
    "control-plane subnet with few addresses",
    source="EKS User Guide, Amazon EKS networking requirements for VPC and subnets (6 needed, 16 recommended)",
    proves="arithmetic",
    bad=EXISTING_VPC.replace("10.64.17.32/27", "10.64.17.32/28"),
    good=EXISTING_VPC,
)
def control_plane_fits(subject: Subject) -> Iterator[Fault]:
    """EKS puts up to four interfaces into these subnets and needs further ones during an upgrade.  It asks for six free
    addresses in each and recommends sixteen; whatever else lives in the subnet takes from them.
    """
    existing = subject.spec.network.existing_vpc
    if existing is None:
        return
    for index, subnet in enumerate(existing.control_plane_subnets):
        if reading.usable(subnet.cidr) < COMFORTABLE:
            yield Fault(
                ("network", "existing_vpc", "control_plane_subnets", index, "cidr"),
                f"a /{reading.prefix(subnet.cidr)} with {reading.usable(subnet.cidr)} usable addresses",
                f"{COMFORTABLE} or more; a /27 has 27",
            )
