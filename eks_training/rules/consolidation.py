"""Rules about Karpenter's consolidation, and about instance types that Karpenter cannot start as planned."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from eks_training.finding import Related
from eks_training.interfaces import karpenter_can_express
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading

_ISSUES = "aws/karpenter-provider-aws#5786, aws/karpenter-provider-aws#3594"


def _train(fields: str, nodes: str = "{max: 4}") -> str:
    return f"pools: {{train: {{provisioner: karpenter, nodes: {nodes}, {fields}}}}}"


@rule(
    "KAR011",
    ERROR,
    "training nodes consolidated while in use",
    source=f"Karpenter documentation, Disruption, Consolidation; {_ISSUES}",
    bad=_train("disruption: {consolidation: WhenEmptyOrUnderutilized}"),
    good=_train("disruption: {consolidation: WhenEmpty}"),
    fixed=False,  # jobs may be single-node and short
)
def only_empty_nodes(subject: Subject) -> Iterator[Fault]:
    """A node whose accelerators wait for slower ranks looks underutilised.  With this policy Karpenter moves its pods
    elsewhere to save money, which ends the job of all nodes.
    """
    for _name, pool, at in reading.pools(subject.spec):
        asked = pool.disruption.consolidation
        if reading.by_karpenter(pool) and pool.purpose == "training" and asked == "WhenEmptyOrUnderutilized":
            yield Fault((*at, "disruption", "consolidation"), asked, "WhenEmpty")


@rule(
    "KAR012",
    ERROR,
    "training nodes removed the moment they are empty",
    source=f"Karpenter documentation, Disruption, Consolidation (consolidateAfter); {_ISSUES}",
    bad=_train("disruption: {consolidate_after: 0s}"),
    good=_train("disruption: {consolidate_after: 10m}"),
    fixed=False,  # jobs may be single-node
)
def some_patience(subject: Subject) -> Iterator[Fault]:
    """Nodes of a job come one by one, and each is empty until the last one is there and the pods start.  Without a wait
    Karpenter removes the first before the last arrives, and the job never starts.
    """
    for _name, pool, at in reading.pools(subject.spec):
        after = pool.disruption.consolidate_after
        if reading.by_karpenter(pool) and pool.purpose == "training" and after == timedelta():
            yield Fault(
                (*at, "disruption", "consolidate_after"),
                "0s",
                "10m or more",
                "longer than the gap between two jobs of the queue",
            )


@rule(
    "KAR013",
    ERROR,
    "interfaces that Karpenter cannot start",
    source="aws/karpenter-provider-aws@1d92708 pkg/apis/v1/ec2nodeclass.go (networkInterfaces: interface, efa-only)",
    bad=_train("instance_type: hpc6id.32xlarge"),
    good="pools: {train: {instance_type: hpc6id.32xlarge}}",
)
def layout_is_expressible(subject: Subject) -> Iterator[Fault]:
    """On this type the first interface must itself be an EFA, and Karpenter offers a plain first interface only.  Its
    nodes would start without the EFA of that card, or not at all.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        layout = reading.interfaces(pool, instance)
        if reading.by_karpenter(pool) and layout is not None and not karpenter_can_express(layout):
            yield Fault(
                (*at, "instance_type"),
                f"{pool.instance_type} on Karpenter",
                "a node group, or `efa: none`",
                related=(Related((*at, "provisioner"), "karpenter"),),
            )


@rule(
    "KAR014",
    WARNING,
    "type that Karpenter's catalogue lacks",
    source="aws/karpenter-provider-aws@1d92708 website/content/en/docs/reference/instance-types.md",
    bad=_train(
        "instance_type: p6e-gb200.36xlarge, efa: none, placement: none, "
        "capacity: {type: capacity-block, id: cr-0a1b2c3d4e5f67890}"
    ),
    good=_train("instance_type: p6-b200.48xlarge"),
)
def type_in_catalogue(subject: Subject) -> Iterator[Fault]:
    """Karpenter takes most facts about a type from EC2, and some from tables that its release brings along.  For a type
    that they lack it may count addresses and devices wrongly, or ignore the type.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        if reading.by_karpenter(pool) and not instance.karpenter:
            yield Fault(
                (*at, "instance_type"),
                f"{pool.instance_type}, not in Karpenter's list",
                "a node group",
                "start one node and compare its allocatable devices before you rely on it",
            )


@rule(
    "KAR015",
    ERROR,
    "consolidation of a fixed number of nodes",
    source="Karpenter documentation, NodePools, spec.replicas (static pools are not consolidated)",
    bad=_train("static_capacity: true, disruption: {consolidate_after: 10m}", "4"),
    good=_train("static_capacity: true", "4"),
)
def static_is_not_consolidated(subject: Subject) -> Iterator[Fault]:
    """A static pool keeps its number of nodes whether they are empty or not.  Settings of consolidation change nothing
    there.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if not reading.by_karpenter(pool) or not isinstance(pool.nodes, int):
            continue
        for field in ("consolidation", "consolidate_after"):
            if getattr(pool.disruption, field) is not None:
                yield Fault(
                    (*at, "disruption", field), f"`{field}` with a fixed number of nodes", f"no `{field}`", on_key=True
                )
