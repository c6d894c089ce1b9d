"""Rules about how instances are bought: on demand, Spot, reservations."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import Pool

_BLOCK = "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890}, placement: none"
_MANAGED_BLOCK = "EKS User Guide, Create a managed node group with Capacity Blocks for ML"


BLOCK_FAMILIES = ("p4", "p5", "p6", "trn")
"""Beginnings of the families that are sold in Capacity Blocks."""


def _capacities(subject: Subject) -> Iterator[tuple[str, Pool, Path]]:
    return ((name, pool, (*at, "capacity")) for name, pool, at in reading.pools(subject.spec))


def _train(fields: str) -> str:
    return f"pools: {{train: {{{fields}}}}}"


@rule(
    "CAP001",
    ERROR,
    "Capacity Block without its reservation",
    source=f"{_MANAGED_BLOCK}; eksctl-io/eksctl#8207, eksctl-io/eksctl#8542",
    bad=_train("capacity: {type: capacity-block}, placement: none"),
    good=_train(_BLOCK),
)
def block_has_id(subject: Subject) -> Iterator[Fault]:
    """A Capacity Block is bought beforehand and reached by its reservation id.  Without the id the launch template
    names a market and no reservation, and EC2 refuses every launch.
    """
    for _name, pool, at in _capacities(subject):
        if pool.capacity.type == "capacity-block" and pool.capacity.id is None:
            yield Fault(
                at,
                "capacity-block without `id`",
                "the id of the reservation, cr-…",
                "`aws ec2 describe-capacity-reservations` shows it",
            )


@rule(
    "CAP004",
    ERROR,
    "times of a pool that has none",
    source="EC2 User Guide, Capacity Blocks for ML",
    bad=_train("capacity: {type: on-demand, end: '2026-12-15T11:30:00Z'}"),
    good=_train(
        "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890, end: '2026-12-15T11:30:00Z'}, placement: none"
    ),
)
def times_are_used(subject: Subject) -> Iterator[Fault]:
    """`start` and `end` are the times of a Capacity Block.  Nothing starts or stops other capacity at a time, so nodes
    would run on and be paid for.
    """
    for _name, pool, at in _capacities(subject):
        for field in ("start", "end"):
            if pool.capacity.type != "capacity-block" and getattr(pool.capacity, field) is not None:
                yield Fault((*at, field), f"`{field}` with `type: {pool.capacity.type}`", f"no `{field}`", on_key=True)


@rule(
    "CAP005",
    ERROR,
    "Capacity Block that ends before it starts",
    source="EC2 User Guide, Capacity Blocks for ML",
    proves="arithmetic",
    bad=_train(
        "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890, start: '2026-12-15T11:30:00Z', "
        "end: '2026-12-01T11:30:00Z'}, nodes: {min: 0, max: 4}, placement: none"
    ),
    good=_train(
        "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890, start: '2026-12-01T11:30:00Z', "
        "end: '2026-12-15T11:30:00Z'}, nodes: {min: 0, max: 4}, placement: none"
    ),
)
def end_after_start(subject: Subject) -> Iterator[Fault]:
    """The two times were swapped, or one of them is of another block.  Whatever is planned with them would be wrong."""
    for _name, pool, at in _capacities(subject):
        start, end = pool.capacity.start, pool.capacity.end
        if start is not None and end is not None and end <= start:
            yield Fault(
                (*at, "end"),
                f"ends {end.isoformat()}, starts {start.isoformat()}",
                "an end after the start",
                related=(Related((*at, "start"), "the start"),),
            )


@rule(
    "CAP007",
    WARNING,
    "nodes wanted before the Capacity Block starts",
    source=_MANAGED_BLOCK,
    bad=_train(
        "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890, start: '2026-12-01T11:30:00Z'}, nodes: 4, "
        "placement: none"
    ),
    good=_train(
        "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890, start: '2026-12-01T11:30:00Z'}, "
        "nodes: {min: 0, max: 4}, placement: none"
    ),
)
def nothing_before_start(subject: Subject) -> Iterator[Fault]:
    """Nothing launches from a block before it starts.  A group that wants nodes earlier reports scaling errors the
    whole time, and the deployment may wait for them.
    """
    for _name, pool, at in _capacities(subject):
        start = pool.capacity.start
        if pool.capacity.type != "capacity-block" or start is None or reading.by_karpenter(pool):
            continue
        wanted = pool.nodes if isinstance(pool.nodes, int) else pool.nodes.desired or pool.nodes.min
        if wanted > 0:
            yield Fault(
                (*at[:-1], "nodes"),
                f"{reading.counted(wanted, 'node')} wanted; the block starts {start.isoformat()}",
                "none before the start",
                f"when deploying earlier, write `nodes: {{min: 0, max: {pool.max_nodes}}}` and raise `desired` then",
                (Related((*at, "start"), "the start"),),
            )


@rule(
    "CAP010",
    ERROR,
    "UltraServer without a Capacity Block",
    source="EC2 User Guide, Capacity Blocks for ML (UltraServers); EKS User Guide, Use P6e-GB200 UltraServers with "
    "Amazon EKS",
    bad=_train("instance_type: trn2u.48xlarge, efa: none, capacity: on-demand, placement: none"),
    good=_train(f"instance_type: trn2u.48xlarge, efa: none, {_BLOCK}"),
    fixed=False,  # an account may have such instances by a private agreement
)
def ultraserver_by_block(subject: Subject) -> Iterator[Fault]:
    """These instances are parts of a machine of several instances with a common accelerator interconnect.  They are
    sold as a whole through Capacity Blocks, so any other request fails for want of capacity.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        if any("UltraServer" in note for note in instance.notes) and pool.capacity.type != "capacity-block":
            yield Fault(
                (*at, "capacity"),
                f"{pool.instance_type} as {pool.capacity.type}",
                "capacity-block",
                related=(Related((*at, "instance_type"), "a part of an UltraServer"),),
            )


@rule(
    "CAP011",
    ERROR,
    "system pool on Spot",
    source="EC2 User Guide, Spot Instance interruptions",
    bad="pools: {system: {capacity: spot}}",
    good="pools: {system: {capacity: on-demand}}",
    fixed=False,  # a throwaway cluster may live with it
)
def system_pool_stays(subject: Subject) -> Iterator[Fault]:
    """Spot Instances are taken away with two minutes' notice.  When the system pool goes, DNS, Karpenter and the
    webhooks go with it, and running jobs lose them too.
    """
    for _name, pool, at in _capacities(subject):
        if pool.purpose == "system" and pool.capacity.type == "spot":
            yield Fault(at, "spot for a system pool", "on-demand, or a reservation")


@rule(
    "CAP012",
    WARNING,
    "Capacity Block of a type that is not sold in blocks",
    source="EC2 User Guide, Capacity Blocks for ML (supported instance types: P4, P5, P6 and Trn)",
    bad=_train(f"instance_type: g5.48xlarge, {_BLOCK}"),
    good=_train(_BLOCK),
)
def block_is_for_ml(subject: Subject) -> Iterator[Fault]:
    """AWS sells Capacity Blocks for the P and Trn families only.  For any other type the id belongs to another kind of
    reservation, or the pool to another type, unless AWS has added a family since this list was read.
    """
    for _name, pool, at in _capacities(subject):
        if pool.capacity.type == "capacity-block" and not pool.instance_type.startswith(BLOCK_FAMILIES):
            yield Fault(
                at,
                f"a Capacity Block of {pool.instance_type}",
                f"a type of {', '.join(f'{family}*' for family in BLOCK_FAMILIES)}, or `type: reservation`",
                "`aws ec2 describe-capacity-reservations` shows the type and the kind of a reservation",
                related=(Related((*at[:-1], "instance_type"), pool.instance_type),),
            )


@rule(
    "CAP013",
    WARNING,
    "training on Spot without checkpoints",
    source="EC2 User Guide, Spot Instance interruptions (two minutes' notice)",
    bad=_train("capacity: spot, placement: none"),
    good=_train("capacity: spot, placement: none, checkpoint_interval: 20m"),
)
def spot_needs_checkpoints(subject: Subject) -> Iterator[Fault]:
    """One interrupted node ends the whole job, and with many nodes that happens often.  Without a stated interval
    nobody has said how much work each interruption costs.
    """
    for _name, pool, at in _capacities(subject):
        if pool.purpose == "training" and pool.capacity.type == "spot" and pool.checkpoint_interval is None:
            yield Fault(
                at,
                f"Spot for up to {reading.counted(pool.max_nodes, 'node')} of one job",
                "`checkpoint_interval`: how often jobs save",
            )


@rule(
    "CAP014",
    ERROR,
    "minimum above zero with a Capacity Block",
    source=f"{_MANAGED_BLOCK} (EKS schedules a scale-down to zero before the end)",
    bad=_train(f"nodes: {{min: 2, max: 4}}, {_BLOCK}"),
    good=_train(f"nodes: {{min: 0, max: 4}}, {_BLOCK}"),
)
def block_scales_to_zero(subject: Subject) -> Iterator[Fault]:
    """EKS empties the group 40 minutes before the block ends, so that nodes are drained in order.  A minimum above zero
    stands against that, and nodes are then ended by EC2 under their pods.
    """
    for _name, pool, at in _capacities(subject):
        block = pool.capacity.type == "capacity-block" and not reading.by_karpenter(pool)
        if block and not isinstance(pool.nodes, int) and pool.nodes.min > 0:
            yield Fault(
                (*at[:-1], "nodes", "min"),
                f"min {pool.nodes.min} with a Capacity Block",
                "min 0",
                f"`nodes: {pool.max_nodes}` starts them all and lets EKS empty the group",
            )


@rule(
    "CAP020",
    ERROR,
    "system pool in a Capacity Block",
    source=f"EC2 User Guide, Capacity Blocks for ML; {_MANAGED_BLOCK}",
    bad="pools: {system: {capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890}}}",
    good="pools: {system: {capacity: on-demand}}",
)
def system_pool_outlives_blocks(subject: Subject) -> Iterator[Fault]:
    """EKS empties the node group of a block before the block ends, so its minimum is zero and the cluster is left
    without DNS and controllers on a known day.
    """
    for _name, pool, at in _capacities(subject):
        if pool.purpose == "system" and pool.capacity.type == "capacity-block":
            yield Fault(at, "capacity-block for a system pool", "on-demand, or a reservation")
