"""Rules about placement groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_training.finding import Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import ExistingPlacement

_STRATEGIES = "EC2 User Guide, Placement strategies for your placement groups"
_BURSTABLE = re.compile(r"t[0-9][a-z0-9]*|m7i-flex")


@rule(
    "PLC001",
    ERROR,
    "training pool that does not state its placement",
    source=f"{_STRATEGIES}; eksctl-io/eksctl#7949",
    bad="pools: {train: {placement: null}}",
    good="pools: {train: {placement: none}}",
)
def placement_is_stated(subject: Subject) -> Iterator[Fault]:
    """A cluster placement group brings nodes close together and can cost capacity; without one they may be far apart.
    Tools that decide this in silence have shrunk reservations, so here the file says it.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.purpose == "training" and pool.placement is None:
            reserved = pool.capacity.type in ("reservation", "capacity-block")
            hint = "none: AWS placed the reservation" if reserved else "cluster: nodes close together for EFA"
            yield Fault(at, "no `placement`", "`cluster`, `none` or {existing: NAME}", hint, on_key=True)


@rule(
    "PLC002",
    ERROR,
    "new placement group for reserved capacity",
    source=f"eksctl-io/eksctl#7949; {_STRATEGIES}",
    bad="pools: {train: {capacity: {type: reservation, id: cr-0a1b2c3d4e5f67890}, placement: cluster}}",
    good="pools: {train: {capacity: {type: reservation, id: cr-0a1b2c3d4e5f67890}, placement: {existing: my-group}}}",
)
def reserved_elsewhere(subject: Subject) -> Iterator[Fault]:
    """Reserved instances have their place in the data centre already.  A new group fits around some of them only, so
    of sixteen reserved instances eleven may start; a group that the reservation was made in is fine.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.placement == "cluster" and pool.capacity.type in ("reservation", "capacity-block"):
            yield Fault(
                (*at, "placement"),
                f"cluster, with capacity from a {pool.capacity.type.replace('-', ' ')}",
                "none, or {existing: NAME} with the group that the reservation was made in",
                related=(Related((*at, "capacity"), pool.capacity.type),),
            )


@rule(
    "PLC003",
    ERROR,
    "system pool in a placement group",
    source=f"{_STRATEGIES} (a cluster placement group lies in one zone); terraform-aws-modules/terraform-aws-eks#3044",
    bad="pools: {system: {placement: cluster}}",
    good="pools: {system: {placement: none}}",
)
def system_spreads(subject: Subject) -> Iterator[Fault]:
    """System pools span two zones and a cluster placement group lies in one.  The first node binds the group to its
    zone, and nodes of the other zone then fail.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.purpose == "system" and pool.placement not in (None, "none"):
            yield Fault((*at, "placement"), "a placement group for a system pool", "none")


@rule(
    "PLC004",
    WARNING,
    "Spot in a cluster placement group",
    source=f"{_STRATEGIES}; EC2 User Guide, Spot Instance interruptions",
    bad="pools: {train: {capacity: spot, placement: cluster, checkpoint_interval: 20m}}",
    good="pools: {train: {capacity: spot, placement: none, checkpoint_interval: 20m}}",
)
def spot_is_spread(subject: Subject) -> Iterator[Fault]:
    """Spot takes what is free anywhere in the zone; a cluster placement group wants it in one place.  Together they
    often find nothing, and an interrupted node is not replaced next to the others.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.capacity.type == "spot" and pool.placement == "cluster":
            yield Fault((*at, "placement"), "cluster with Spot", "none, or on-demand capacity")


@rule(
    "PLC005",
    WARNING,
    "placement group for one node",
    source=_STRATEGIES,
    bad="pools: {train: {nodes: 1, efa: none, placement: cluster}}",
    good="pools: {train: {nodes: 1, efa: none, placement: none}}",
)
def group_of_one(subject: Subject) -> Iterator[Fault]:
    """A placement group brings instances close to each other.  For a single one it does nothing but narrow down where
    it may start.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.placement == "cluster" and pool.max_nodes == 1:
            yield Fault((*at, "placement"), "cluster for 1 node", "none")


@rule(
    "PLC006",
    ERROR,
    "type that takes no cluster placement group",
    source=f"{_STRATEGIES} (not for burstable types and M7i-flex)",
    bad="pools: {burst: {purpose: notebook, instance_type: t3.2xlarge, nodes: 2, placement: cluster}}",
    good="pools: {burst: {purpose: notebook, instance_type: t3.2xlarge, nodes: 2, placement: none}}",
)
def burstable_type(subject: Subject) -> Iterator[Fault]:
    """EC2 starts no burstable instance in a cluster placement group.  The launch fails, not the deployment."""
    for _name, pool, at in reading.pools(subject.spec):
        grouped = pool.placement == "cluster" or isinstance(pool.placement, ExistingPlacement)
        if grouped and _BURSTABLE.fullmatch(pool.instance_type.partition(".")[0]):
            yield Fault((*at, "placement"), f"a placement group for {pool.instance_type}", "none, or another type")
