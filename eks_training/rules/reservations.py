"""Rules about capacity reservations: how a pool names one, and who else uses it."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import Pool

_RESERVATION = "capacity: {type: reservation, id: cr-0a1b2c3d4e5f67890}, placement: none"


def _capacities(subject: Subject) -> Iterator[tuple[str, Pool, Path]]:
    return ((name, pool, (*at, "capacity")) for name, pool, at in reading.pools(subject.spec))


def _train(fields: str) -> str:
    return f"pools: {{train: {{{fields}}}}}"


def _shared(subject: Subject) -> Iterator[tuple[Pool, Path, Pool, Path]]:
    first: dict[str, tuple[Pool, Path]] = {}
    for _name, pool, at in _capacities(subject):
        if pool.capacity.id is not None:
            before, where = first.setdefault(pool.capacity.id, (pool, at))
            if where != at:
                yield pool, at, before, where


@rule(
    "CAP002",
    ERROR,
    "a reservation is named once",
    source="EC2 API Reference, CapacityReservationTarget (an id or a resource group)",
    bad=_train("capacity: {type: reservation}, placement: none"),
    good=_train(_RESERVATION),
)
def reservation_is_named(subject: Subject) -> Iterator[Fault]:
    """A targeted reservation is used only by launches that name it, by its id or through a resource group.  With
    neither, the nodes are bought on demand beside a reservation that is paid for; with both, EC2 refuses the template.
    """
    for _name, pool, at in _capacities(subject):
        capacity = pool.capacity
        if capacity.type == "reservation" and (capacity.id is None) == (capacity.resource_group is None):
            found = "neither `id` nor `resource_group`" if capacity.id is None else "both `id` and `resource_group`"
            yield Fault(at, found, "one of the two")


@rule(
    "CAP003",
    ERROR,
    "reservation of a pool that uses none",
    source="EC2 API Reference, CapacityReservationTarget; EKS API Reference, CreateNodegroup.capacityType",
    bad=_train("capacity: {type: on-demand, id: cr-0a1b2c3d4e5f67890}"),
    good=_train("capacity: on-demand"),
)
def reservation_is_used(subject: Subject) -> Iterator[Fault]:
    """The id of a reservation says something only with `reservation` or `capacity-block`, a resource group only with
    `reservation`.  Elsewhere it would be ignored, and the reservation would be paid for and stay empty.
    """
    for _name, pool, at in _capacities(subject):
        capacity = pool.capacity
        if capacity.id is not None and capacity.type in ("on-demand", "spot"):
            yield Fault((*at, "id"), f"an id with `type: {capacity.type}`", "type reservation or capacity-block")
        if capacity.resource_group is not None and capacity.type != "reservation":
            expected = "`id`" if capacity.type == "capacity-block" else "type reservation"
            yield Fault((*at, "resource_group"), f"a resource group with `type: {capacity.type}`", expected)


@rule(
    "CAP006",
    ERROR,
    "resource group on Karpenter",
    source="aws/karpenter-provider-aws@1d92708 pkg/apis/v1/ec2nodeclass.go (capacityReservationSelectorTerms)",
    bad=_train(
        "provisioner: karpenter, nodes: {max: 4}, placement: none, capacity: {type: reservation, "
        "resource_group: 'arn:aws:resource-groups:us-east-2:111122223333:group/training'}"
    ),
    good=_train(f"provisioner: karpenter, nodes: {{max: 4}}, {_RESERVATION}"),
)
def karpenter_takes_ids(subject: Subject) -> Iterator[Fault]:
    """Karpenter selects reservations by id or by tags, never through a resource group."""
    for _name, pool, at in _capacities(subject):
        if reading.by_karpenter(pool) and pool.capacity.resource_group is not None:
            yield Fault((*at, "resource_group"), "a resource group in a Karpenter pool", "`id`, or a node group")


@rule(
    "CAP008",
    ERROR,
    "one reservation, two kinds of instances",
    source="EC2 User Guide, On-Demand Capacity Reservations (one instance type for each reservation)",
    bad=f"pools: {{train: {{{_RESERVATION}}}, other: {{purpose: training, instance_type: p4d.24xlarge, nodes: 2, "
    f"{_RESERVATION}}}}}",
    good=f"pools: {{train: {{{_RESERVATION}}}}}",
)
def reservation_has_one_type(subject: Subject) -> Iterator[Fault]:
    """A reservation is for one instance type and is either a Capacity Block or not.  Of two pools that name it with
    different ones, at least one can never start a node.
    """
    for pool, at, before, where in _shared(subject):
        if (pool.instance_type, pool.capacity.type) != (before.instance_type, before.capacity.type):
            yield Fault(
                (*at, "id"),
                f"{pool.capacity.id} for {pool.instance_type} as {pool.capacity.type}",
                f"another reservation: this one is for {before.instance_type} as {before.capacity.type}",
                related=(Related((*where, "id"), "the same reservation"),),
            )


@rule(
    "CAP009",
    WARNING,
    "one reservation, two pools",
    source="EC2 User Guide, On-Demand Capacity Reservations",
    bad=f"pools: {{train: {{{_RESERVATION}}}, other: {{purpose: training, instance_type: p5.48xlarge, nodes: 2, "
    f"{_RESERVATION}}}}}",
    good=f"pools: {{train: {{{_RESERVATION}}}}}",
)
def reservation_is_shared(subject: Subject) -> Iterator[Fault]:
    """Both pools draw from the same instances, and whichever asks first gets them.  Unless the reservation holds enough
    for both at their largest, one of them waits.
    """
    for pool, at, before, where in _shared(subject):
        if (pool.instance_type, pool.capacity.type) == (before.instance_type, before.capacity.type):
            both = pool.max_nodes + before.max_nodes
            yield Fault(
                (*at, "id"),
                f"{pool.capacity.id} in two pools",
                f"one of {pool.max_nodes} + {before.max_nodes} = {both} instances, or two reservations",
                related=(Related((*where, "id"), "the same reservation"),),
            )


@rule(
    "CAP015",
    ERROR,
    "resource group of another Region",
    source="EC2 User Guide, Capacity Reservation groups",
    bad=_train(
        "placement: none, capacity: {type: reservation, resource_group: "
        "'arn:aws:resource-groups:us-west-2:111122223333:group/training'}"
    ),
    good=_train(
        "placement: none, capacity: {type: reservation, resource_group: "
        "'arn:aws:resource-groups:us-east-2:111122223333:group/training'}"
    ),
)
def group_in_region(subject: Subject) -> Iterator[Fault]:
    """Capacity reservations belong to a Region, and so do their groups.  A group of another Region holds nothing that
    could be used here.
    """
    for _name, pool, at in _capacities(subject):
        group = pool.capacity.resource_group
        if group is not None and group.split(":")[3] != subject.spec.region:
            yield Fault(
                (*at, "resource_group"),
                f"a resource group of {group.split(':')[3]}",
                f"one of {subject.spec.region}",
                related=(Related(("region",), "the Region"),),
            )
