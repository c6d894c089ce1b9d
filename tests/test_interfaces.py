"""The interface layout of every type that the table knows, against that type's own limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_training.facts.instances import DeclaredFacts, InstanceFacts, load_instances
from eks_training.interfaces import (
    Interface,
    LayoutContradiction,
    LayoutUnknown,
    addresses,
    efa_layout,
    karpenter_can_express,
    plain_layout,
)

pytestmark = pytest.mark.arithmetic

TABLE = load_instances()


def _facts(name: str) -> InstanceFacts:
    facts = TABLE.get(name)
    assert facts is not None, name
    return facts


EFA_TYPES = [name for name in TABLE.names() if _facts(name).efa_interfaces]
WITHOUT = [name for name in TABLE.names() if _facts(name).efa_interfaces == 0]
INCOMPLETE = [name for name in TABLE.names() if _facts(name).missing_for_launch()]


def _is_legal(layout: tuple[Interface, ...], facts: InstanceFacts) -> None:
    efas = [interface for interface in layout if interface.kind != "interface"]
    slots = [(interface.card, interface.device) for interface in layout]
    assert len(efas) == facts.efa_interfaces
    assert len(set(slots)) == len(slots)
    assert len({interface.card for interface in efas}) == len(efas)
    assert {interface.card for interface in efas} == set(facts.efa_capable_cards() or ())
    assert facts.interfaces_per_card is not None
    assert all(device < facts.interfaces_per_card[card] for card, device in slots)
    primary = [interface for interface in layout if interface.device == 0 and interface.card == 0]
    assert len(primary) == 1 and primary[0].kind != "efa-only"
    assert layout == tuple(sorted(layout, key=lambda interface: (interface.card, interface.device)))


@pytest.mark.parametrize("name", EFA_TYPES)
def test_layout_of_every_efa_type_is_legal(name: str) -> None:
    facts = _facts(name)
    if facts.missing_for_launch():
        pytest.fail(f"{name} states an EFA count but not {facts.missing_for_launch()}")
    layout = efa_layout(facts)
    _is_legal(layout, facts)
    assert addresses(layout) == 1
    assert karpenter_can_express(layout) == ((facts.interfaces_per_card or (0,))[0] > 1)


@pytest.mark.parametrize(
    ("name", "count"),
    {
        "p4d.24xlarge": 4,
        "p4de.24xlarge": 4,
        "p5.48xlarge": 32,
        "p5e.48xlarge": 32,
        "p5en.48xlarge": 16,
        "p5.4xlarge": 1,
        "p6-b200.48xlarge": 8,
        "p6-b300.48xlarge": 16,
        "g6e.24xlarge": 2,
        "g6e.48xlarge": 4,
        "trn1.32xlarge": 8,
        "trn1n.32xlarge": 16,
        "trn2.48xlarge": 16,
        "g5.xlarge": 0,
        "inf2.48xlarge": 0,
    }.items(),
)
def test_known_efa_counts(name: str, count: int) -> None:
    layout = efa_layout(_facts(name))
    assert sum(interface.kind != "interface" for interface in layout) == count


def test_p5_spends_one_address_and_card_zero_holds_two_interfaces() -> None:
    layout = efa_layout(_facts("p5.48xlarge"))
    assert layout[:3] == (Interface(0, 0, "interface"), Interface(0, 1, "efa-only"), Interface(1, 0, "efa-only"))
    assert len(layout) == 33


def test_p6_b300_has_no_efa_on_card_zero() -> None:
    layout = efa_layout(_facts("p6-b300.48xlarge"))
    assert [interface for interface in layout if interface.card == 0] == [Interface(0, 0, "interface")]
    assert [interface.card for interface in layout[1:]] == list(range(1, 17))


def test_hpc6id_primary_is_the_efa_and_karpenter_cannot_say_so() -> None:
    layout = efa_layout(_facts("hpc6id.32xlarge"))
    assert layout == (Interface(0, 0, "efa"), Interface(1, 0, "efa-only"))
    assert not karpenter_can_express(layout)


@pytest.mark.parametrize("name", WITHOUT[::10])
def test_types_without_efa_get_the_plain_layout(name: str) -> None:
    assert efa_layout(_facts(name)) == plain_layout()
    assert karpenter_can_express(plain_layout())


@pytest.mark.parametrize("name", INCOMPLETE)
def test_a_layout_is_refused_while_facts_are_missing(name: str) -> None:
    facts = _facts(name)
    with pytest.raises(LayoutUnknown) as caught:
        efa_layout(facts)
    assert caught.value.missing == facts.missing_for_launch()


def test_declared_facts_complete_a_type() -> None:
    declared = DeclaredFacts(efa_interfaces=17)
    facts = TABLE.declare("p6e-gb200.36xlarge", declared, source="cluster.yaml").get("p6e-gb200.36xlarge")
    assert facts is not None
    _is_legal(efa_layout(facts), facts)


@pytest.mark.parametrize(
    "declared",
    [
        DeclaredFacts(efa_interfaces=16, efa_cards=(1, 2)),
        DeclaredFacts(efa_cards=(0, 0, *range(2, 32))),
        DeclaredFacts(efa_cards=tuple(range(1, 33))),
        DeclaredFacts(interfaces_per_card=(2, 2)),
        DeclaredFacts(interfaces_per_card=(0,) * 32),
        DeclaredFacts(network_cards=1),
    ],
)
def test_contradicting_declarations_are_refused(declared: DeclaredFacts) -> None:
    facts = TABLE.declare("p5.48xlarge", DeclaredFacts(efa_cards=tuple(range(32))), source="test")
    found = facts.declare("p5.48xlarge", declared, source="test").get("p5.48xlarge")
    assert found is not None
    with pytest.raises(LayoutContradiction):
        efa_layout(found)


@st.composite
def _consistent(draw: st.DrawFn) -> DeclaredFacts:
    limits = draw(st.lists(st.integers(1, 16), min_size=1, max_size=40))
    cards = draw(st.sets(st.integers(0, len(limits) - 1), min_size=1))
    return DeclaredFacts(
        network_cards=len(limits),
        interfaces_per_card=tuple(limits),
        efa_supported=True,
        efa_interfaces=len(cards),
        efa_cards=tuple(sorted(cards)),
    )


@given(_consistent())
def test_any_consistent_hardware_gets_a_legal_layout(declared: DeclaredFacts) -> None:
    facts = TABLE.declare("z1.metal", declared, source="generated").get("z1.metal")
    assert facts is not None
    layout = efa_layout(facts)
    _is_legal(layout, facts)
    assert addresses(layout) == 1
    assert karpenter_can_express(layout) == all(interface.kind != "efa" for interface in layout)


@pytest.mark.parametrize(
    "layout",
    [
        (),
        (Interface(0, 0, "efa"),),
        (Interface(0, 0, "interface"), Interface(0, 0, "interface")),
        (Interface(0, 0, "interface"), Interface(1, 0, "efa-only"), Interface(1, 1, "efa-only")),
        (Interface(0, 1, "efa-only"),),
    ],
)
def test_what_karpenter_refuses(layout: tuple[Interface, ...]) -> None:
    assert not karpenter_can_express(layout)


def test_efa_interfaces_take_addresses_and_efa_only_do_not() -> None:
    assert addresses((Interface(0, 0, "interface"), Interface(1, 0, "efa"), Interface(2, 0, "efa-only"))) == 2
