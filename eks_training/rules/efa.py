"""Rules about Elastic Fabric Adapter interfaces."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Related
from eks_training.plan.defaults import wants_efa
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading

_SUPPORTED = "EC2 User Guide, Elastic Fabric Adapter for AI/ML and HPC workloads (supported instance types)"


@rule(
    "EFA001",
    ERROR,
    "EFA on a type that has none",
    source=_SUPPORTED,
    bad="pools: {train: {instance_type: g5.xlarge, efa: all}}",
    good="pools: {train: {instance_type: g5.48xlarge, efa: all}}",
)
def type_has_efa(subject: Subject) -> Iterator[Fault]:
    """This type has no EFA, in this size or in any.  Pods would ask for `vpc.amazonaws.com/efa` and stay pending, or
    the job would run over TCP at a fraction of the speed.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        if pool.efa == "all" and instance.efa_capable_cards() == ():
            yield Fault(
                (*at, "efa"),
                f"all on {pool.instance_type}, which has no EFA interface",
                "none, or a type with EFA",
                related=(Related((*at, "instance_type"), pool.instance_type),),
            )


@rule(
    "EFA002",
    WARNING,
    "EFA left unused between training nodes",
    source="aws/aws-ofi-nccl@2daf7d3 doc/efa-env-var.md; EKS User Guide, Run machine learning training on Amazon EKS "
    "with Elastic Fabric Adapter",
    bad="pools: {train: {efa: none}}",
    good="pools: {train: {efa: none, nodes: 1}}",
)
def efa_unused(subject: Subject) -> Iterator[Fault]:
    """The nodes have EFA and jobs span several of them.  Without its interfaces NCCL falls back to TCP and says so only
    in its debug output: nothing fails, everything is slow.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        if reading.multi_node_training(pool) and pool.efa == "none" and instance.efa_capable_cards() != ():
            count = f"{instance.efa_interfaces} EFA interfaces" if instance.efa_interfaces else "EFA interfaces"
            yield Fault(
                (*at, "efa"),
                f"none, on up to {pool.max_nodes} nodes with {count} each",
                "all",
                "leave `efa` out: a training pool gets all of them",
            )


@rule(
    "EFA003",
    WARNING,
    "training across nodes without EFA",
    source=_SUPPORTED,
    bad="pools: {train: {instance_type: g5.xlarge, nodes: 4}}",
    good="pools: {train: {instance_type: g6e.48xlarge, nodes: 4}}",
)
def no_efa_between_nodes(subject: Subject) -> Iterator[Fault]:
    """Jobs that span nodes exchange gradients over the network all the time.  This type has no EFA, so that happens
    over TCP, and the accelerators wait for it.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        alone = instance.accelerator is not None and instance.efa_capable_cards() == ()
        if reading.multi_node_training(pool) and alone and pool.efa != "all":
            yield Fault(
                (*at, "instance_type"),
                f"up to {pool.max_nodes} nodes of {pool.instance_type}, which has no EFA",
                "a type with EFA, or one node",
                "larger sizes of a family often have EFA; suppress this with the reason when jobs stay on one node",
            )


@rule(
    "EFA004",
    ERROR,
    "EFA on a system pool",
    source="EC2 User Guide, Elastic Fabric Adapter (no EFA traffic across zones)",
    bad="pools: {system: {instance_type: m7i.48xlarge, efa: all}}",
    good="pools: {system: {instance_type: m7i.48xlarge}}",
)
def no_efa_for_system(subject: Subject) -> Iterator[Fault]:
    """System pools span two zones, and EFA traffic does not.  Nothing that runs there uses it, while each interface
    takes one of the node's slots for pods' addresses.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.purpose == "system" and pool.efa == "all":
            yield Fault((*at, "efa"), "all on a system pool", "no `efa`")


@rule(
    "EFA005",
    WARNING,
    "EFA on a pool of single nodes",
    source="aws/amazon-vpc-cni-k8s@b521883 pkg/vpc/vpc_ip_resource_limit.go (interfaces of card 0 limit the pods)",
    bad="pools: {train: {nodes: 1, efa: all}}",
    good="pools: {train: {nodes: 1, efa: none}}",
)
def efa_for_one_node(subject: Subject) -> Iterator[Fault]:
    """EFA carries traffic between nodes, and this pool never has two.  The interfaces do no harm to a job, but they
    take interface slots and a capacity type that may be scarcer.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        single = pool.purpose == "training" and pool.max_nodes == 1
        if single and pool.efa == "all" and wants_efa(pool, instance) and instance.efa_capable_cards() != ():
            yield Fault((*at, "efa"), "all in a pool of one node", "none, or more nodes")
