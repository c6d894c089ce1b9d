"""What several areas read from a Spec: pools with their paths, what a pool's type is, subnets with their paths.

Nothing here raises, whatever the Spec holds: a rule sees it before any other rule has refused anything.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from datetime import timedelta

from eks_training.facts import Facts
from eks_training.facts.instances import InstanceFacts
from eks_training.finding import Path
from eks_training.interfaces import Interface, LayoutError, efa_layout, plain_layout
from eks_training.plan.defaults import wants_efa
from eks_training.plan.network import cut
from eks_training.rulebook import Subject
from eks_training.spec import Cluster
from eks_training.spec.network import ExistingSubnet
from eks_training.spec.pool import Pool

RESERVED_ADDRESSES = 5
"""AWS keeps the first four addresses of a subnet and the last one (VPC User Guide, Subnet CIDR blocks)."""

NEW_VPC_PREFIXES = range(16, 23)
"""Prefix lengths of a VPC made here; a smaller block leaves no room for the subnets that are cut from it."""


def pools(spec: Cluster) -> Iterator[tuple[str, Pool, Path]]:
    """Every pool with its name and path."""
    for name, pool in spec.pools.items():
        yield name, pool, ("pools", name)


def known(subject: Subject, pool: Pool) -> InstanceFacts | None:
    """The facts of a pool's type; None for a type that rule POOL001 refuses."""
    return subject.facts.instances.get(pool.instance_type)


def pools_of_known_type(subject: Subject) -> Iterator[tuple[str, Pool, Path, InstanceFacts]]:
    """Every pool whose type the tables know."""
    for name, pool, at in pools(subject.spec):
        instance = known(subject, pool)
        if instance is not None:
            yield name, pool, at, instance


def interfaces(pool: Pool, instance: InstanceFacts) -> tuple[Interface, ...] | None:
    """The interfaces that the planner will give a pool's nodes; None while their facts do not suffice."""
    if not wants_efa(pool, instance):
        return plain_layout()
    try:
        return efa_layout(instance)
    except LayoutError:
        return None


def by_karpenter(pool: Pool) -> bool:
    """Whether Karpenter provisions the pool."""
    return pool.provisioner == "karpenter"


def multi_node_training(pool: Pool) -> bool:
    """Whether jobs may span nodes there."""
    return pool.purpose == "training" and pool.max_nodes > 1


def kubernetes_version(subject: Subject) -> str:
    """The Kubernetes minor of the cluster, stated or default."""
    return subject.spec.kubernetes.version or subject.facts.default_kubernetes


def minor(version: str) -> int:
    """The minor number of `1.35`."""
    return int(version.partition(".")[2])


def counted(number: int, word: str) -> str:
    """`1 node`, `2 nodes`, `3 addresses`."""
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{number} {word if number == 1 else plural}"


def span(value: timedelta) -> str:
    """A duration as the user writes it, such as 1d12h."""
    seconds = int(value.total_seconds())
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def usable(cidr: str) -> int:
    """Addresses of a subnet that AWS leaves to its users."""
    return max(0, ipaddress.IPv4Network(cidr).num_addresses - RESERVED_ADDRESSES)


def prefix(cidr: str) -> int:
    """The prefix length of a block."""
    return ipaddress.IPv4Network(cidr).prefixlen


def existing_subnets(spec: Cluster) -> Iterator[tuple[ExistingSubnet, Path]]:
    """Every subnet of an existing VPC with its path, in the order of the schema."""
    existing = spec.network.existing_vpc
    if existing is None:
        return
    at: Path = ("network", "existing_vpc")
    yield existing.training_subnet, (*at, "training_subnet")
    for index, subnet in enumerate(existing.system_subnets):
        yield subnet, (*at, "system_subnets", index)
    for index, subnet in enumerate(existing.control_plane_subnets):
        yield subnet, (*at, "control_plane_subnets", index)


def training_block(spec: Cluster) -> tuple[str, Path] | None:
    """The block of the training subnet, existing or cut from a new VPC, and the path that decides it."""
    existing, cidr = spec.network.existing_vpc, spec.network.cidr
    if existing is not None:
        return existing.training_subnet.cidr, ("network", "existing_vpc", "training_subnet", "cidr")
    if cidr is not None and prefix(cidr) in NEW_VPC_PREFIXES:
        return cut(cidr)["training"], ("network", "cidr")
    return None


def system_blocks(spec: Cluster) -> tuple[tuple[str, ...], Path] | None:
    """The blocks of the system subnets, existing or cut from a new VPC, and the path that decides them."""
    existing, cidr = spec.network.existing_vpc, spec.network.cidr
    if existing is not None:
        return tuple(subnet.cidr for subnet in existing.system_subnets), ("network", "existing_vpc", "system_subnets")
    if cidr is not None and prefix(cidr) in NEW_VPC_PREFIXES:
        blocks = cut(cidr)
        return (blocks["system-a"], blocks["system-b"]), ("network", "cidr")
    return None


def near_types(facts: Facts, name: str) -> str:
    """The known types that resemble one, for a hint."""
    return " or ".join(facts.instances.nearest(name))
