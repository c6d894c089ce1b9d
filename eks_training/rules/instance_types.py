"""Rules about instance types: known ones, and facts that suffice and agree."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.facts.instances import InstanceFacts, load_instances
from eks_training.interfaces import LayoutContradiction, LayoutUnknown, efa_layout
from eks_training.plan.defaults import wants_efa
from eks_training.rulebook import ERROR, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import Pool

_DECLARE = """\
a type that the table lacks can be declared; fill in every <...>, and the accelerator if it has one:
instance_types:
  {name}:
    source: "<page and date>"
    arch: <amd64 or arm64>
    # accelerator: {{kind: <gpu or neuron>, model: <name>, count: <number>}}"""

_DECLARE_EFA = """
    # EFA, which this pool would use; 0 interfaces where the type has none:
    efa_interfaces: <number>
    network_cards: <number>
    interfaces_per_card: [<number for each card>]
    # efa_cards: [<indexes>], where not every card has EFA"""

_NEW_TYPE = """\
instance_types:
  p9.48xlarge:
    source: a data sheet, read 2026-12-01
    arch: amd64
    accelerator: {kind: gpu, model: x100, count: 8}
    network_cards: 2
    interfaces_per_card: [4, 4]
    efa_interfaces: 2
    efa_cards: [0, 1]
pools: {train: {instance_type: p9.48xlarge}}
"""


def _would_use_efa(pool: Pool) -> bool:
    """Whether a pool of a type that nobody has described would need its EFA facts."""
    return pool.efa == "all" or (pool.efa is None and pool.purpose == "training")


def _missing(instance: InstanceFacts, efa: bool) -> tuple[str, ...]:
    """Facts that the planner needs and no source states.

    A shipped row without the general facts says nothing about accelerators either: not stated is not the same as none.
    """
    missing = [] if instance.arch is not None else ["arch"]
    shipped = load_instances().get(instance.instance_type)
    if instance.accelerator is None and shipped is not None and shipped.arch is None:
        missing.append("accelerator")
    if efa:
        try:
            efa_layout(instance)
        except LayoutUnknown as error:
            missing += error.missing
        except LayoutContradiction:
            pass
    return tuple(missing)


@rule(
    "POOL001",
    ERROR,
    "unknown instance type",
    source="eks_training/facts/instances.json, whose rows name their sources",
    bad="pools: {train: {instance_type: p5.48xlarg}}",
    good=_NEW_TYPE,
)
def known_type(subject: Subject) -> Iterator[Fault]:
    """Image, interfaces, taints and the size of a job all follow from what the instance type is.  A type that nobody
    has described is refused, because a guess would be wrong where it costs most: at the network cards.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if reading.known(subject, pool) is None:
            yield Fault(
                (*at, "instance_type"),
                pool.instance_type,
                reading.near_types(subject.facts, pool.instance_type) or "a type of the table",
                _DECLARE.format(name=pool.instance_type) + (_DECLARE_EFA if _would_use_efa(pool) else ""),
            )


@rule(
    "POOL002",
    ERROR,
    "facts about an instance type are missing",
    source="eks_training/facts/instances.json (null where no source states a value)",
    bad="pools: {train: {instance_type: trn2u.48xlarge, placement: none, efa: all, "
    "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890}}}",
    good=_NEW_TYPE,
)
def facts_suffice(subject: Subject) -> Iterator[Fault]:
    """No public source states some facts of this type, and the plan needs them: the architecture for the image, the
    cards for the EFA interfaces.  They are never derived from one another, because that went wrong on real types.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        efa = wants_efa(pool, instance)
        missing = _missing(instance, efa)
        if missing:
            yield Fault(
                (*at, "instance_type"),
                f"{pool.instance_type}; no source states {', '.join(missing)}",
                f"{', '.join(missing)} under instance_types.{pool.instance_type}, with their source",
                "`aws ec2 describe-instance-types` shows them" + ("; `efa: none` needs no cards" if efa else ""),
            )


@rule(
    "POOL003",
    ERROR,
    "declared facts contradict each other",
    source="EC2 User Guide, Maximize network bandwidth on instances with multiple network cards",
    proves="arithmetic",
    bad=_NEW_TYPE.replace("interfaces_per_card: [4, 4]", "interfaces_per_card: [4, 4, 4]"),
    good=_NEW_TYPE,
)
def facts_agree(subject: Subject) -> Iterator[Fault]:
    """Cards, interfaces per card and EFA interfaces describe one machine.  Numbers that cannot all be true would give a
    launch template that EC2 refuses, or that leaves EFA interfaces unused.
    """
    for name in subject.spec.instance_types:
        instance = subject.facts.instances.get(name)
        if instance is None or instance.missing_for_launch():
            continue
        try:
            efa_layout(instance)
        except LayoutContradiction as error:
            told = str(error).removeprefix(f"{name}: ")
            hint = "facts that are not declared come from the shipped table" if instance.declared else ""
            yield Fault(("instance_types", name), told, "numbers that are true together", hint)


@rule(
    "POOL014",
    ERROR,
    "declared facts without a source",
    source="this project's rule for facts: every value names where it was read",
    bad=_NEW_TYPE.replace("a data sheet, read 2026-12-01", "'<page and date>'"),
    good=_NEW_TYPE,
)
def facts_have_a_source(subject: Subject) -> Iterator[Fault]:
    """Declared facts win over the table and decide about the network cards.  With the placeholder of the skeleton left
    in place nobody can tell later whether the numbers were read somewhere or guessed.
    """
    for name, declared in subject.spec.instance_types.items():
        if declared.source.startswith("<"):
            yield Fault(
                ("instance_types", name, "source"),
                declared.source,
                "the page or the command that the numbers come from, with its date",
            )
