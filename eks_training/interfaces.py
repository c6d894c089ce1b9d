"""Network interfaces of a training node: which card and device carries which kind of interface.

The layout is the one that AWS documents for EKS and EC2 today: the primary interface is a plain ENA one at card 0,
device 0, and every EFA is an `efa-only` interface, which takes no IPv4 address. On a p5.48xlarge this spends one
address on the node instead of 32. Device 0 of the further cards is legal on every type; device 1 is not (p6e-gb200 has
cards that accept one interface).

Sources: Amazon EC2 User Guide, "Maximize network bandwidth on instances with multiple network cards" and "Elastic
Fabric Adapter"; the limits per type: `eks_training.facts.instances`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from eks_training.facts.instances import InstanceFacts

Kind = Literal["interface", "efa", "efa-only"]


@dataclass(frozen=True, slots=True, order=True)
class Interface:
    """One interface of a launch template: NetworkCardIndex, DeviceIndex, InterfaceType."""

    card: int
    device: int
    kind: Kind


class LayoutError(ValueError):
    """No layout can be given for a type."""


class LayoutUnknown(LayoutError):
    """Facts are missing. `missing` names them; callers check `InstanceFacts.missing_for_launch()` first."""

    def __init__(self, instance_type: str, missing: tuple[str, ...]) -> None:
        self.instance_type, self.missing = instance_type, missing
        super().__init__(f"{instance_type}: no source states {', '.join(missing)}")


class LayoutContradiction(LayoutError):
    """The facts contradict each other, which only declared facts can cause."""


def plain_layout() -> tuple[Interface, ...]:
    """Return the layout of a node without EFA: the primary interface only."""
    return (Interface(0, 0, "interface"),)


def efa_layout(facts: InstanceFacts) -> tuple[Interface, ...]:
    """Return every interface of a node that uses all EFAs of its type, sorted by card and device.

    One EFA device per card is the hardware's limit. Where card 0 carries EFA but accepts a single interface
    (hpc6id.32xlarge), the primary itself must be the EFA, with an address. A type without EFA gets the plain layout.

    Raises `LayoutUnknown` when facts are missing, `LayoutContradiction` when they cannot all be true.
    """
    missing = facts.missing_for_launch()
    if missing:
        raise LayoutUnknown(facts.instance_type, missing)
    cards = facts.efa_capable_cards()
    if not cards:
        return plain_layout()
    limits = tuple(facts.interfaces_per_card or ())
    _agree(facts, cards, limits)
    rest = tuple(Interface(card, 0, "efa-only") for card in sorted(cards) if card != 0)
    if 0 not in cards:
        return plain_layout() + rest
    if limits[0] == 1:
        return (Interface(0, 0, "efa"), *rest)
    return (*plain_layout(), Interface(0, 1, "efa-only"), *rest)


def addresses(layout: Iterable[Interface]) -> int:
    """Return how many interfaces take at least one IPv4 address of the subnet: all but `efa-only`."""
    return sum(1 for interface in layout if interface.kind != "efa-only")


def karpenter_can_express(layout: Iterable[Interface]) -> bool:
    """Say whether `EC2NodeClass.spec.networkInterfaces` of Karpenter accepts the layout.

    Its validation rules want (0, 0, interface) present, no card and device twice, at most one `efa-only` per card, and
    offer no kind `efa`. Source: aws/karpenter-provider-aws@1d92708 pkg/apis/v1/ec2nodeclass.go, 2026-08-21.
    """
    listed = tuple(layout)
    slots = {(interface.card, interface.device) for interface in listed}
    efa_cards = [interface.card for interface in listed if interface.kind == "efa-only"]
    return (
        Interface(0, 0, "interface") in listed
        and all(interface.kind != "efa" for interface in listed)
        and len(slots) == len(listed)
        and len(set(efa_cards)) == len(efa_cards)
    )


def _agree(facts: InstanceFacts, cards: tuple[int, ...], limits: tuple[int, ...]) -> None:
    name = facts.instance_type
    if len(limits) != facts.network_cards:
        raise LayoutContradiction(
            f"{name}: network_cards is {facts.network_cards}, interfaces_per_card has {len(limits)}"
        )
    if min(limits) < 1:
        raise LayoutContradiction(f"{name}: interfaces_per_card has a card that accepts no interface")
    if len(set(cards)) != len(cards) or any(not 0 <= card < len(limits) for card in cards):
        raise LayoutContradiction(f"{name}: efa_cards {list(cards)} are not distinct cards below {len(limits)}")
    if len(cards) != facts.efa_interfaces:
        raise LayoutContradiction(f"{name}: efa_interfaces is {facts.efa_interfaces}, but {len(cards)} cards carry EFA")
