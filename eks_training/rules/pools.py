"""Rules about pools: sizes, names, and the system pool that everything else needs."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import NodeRange

NODE_GROUP_NAME = 63
"""Characters of a node group's name."""


@rule(
    "POOL004",
    ERROR,
    "no system pool that is always there",
    source="Karpenter documentation, Getting Started; volcano-sh/volcano#4044, volcano-sh/volcano#3734",
    bad="pools: {system: {nodes: {min: 0, max: 3}}}",
    good="pools: {system: {nodes: {min: 2, max: 3}}}",
)
def system_pool(subject: Subject) -> Iterator[Fault]:
    """DNS, the storage drivers, Karpenter and admission webhooks run on system nodes, and accelerator nodes are tainted
    against them.  When the last system node is gone, nothing is left that could start another one.
    """
    groups = [(at, pool) for _, pool, at in reading.pools(subject.spec) if pool.purpose == "system"]
    if not groups:
        hint = "add `system: {purpose: system, instance_type: m7i.2xlarge, nodes: 2}`"
        yield Fault(("pools",), "no pool with `purpose: system`", "a node group of two or more system nodes", hint)
    elif not any(pool.min_nodes >= 1 and not reading.by_karpenter(pool) for _, pool in groups):
        at, pool = groups[0]
        yield Fault((*at, "nodes"), f"a minimum of {pool.min_nodes}", "a minimum of 1 or more, in a node group")


@rule(
    "POOL005",
    WARNING,
    "one system node for two replicas of Karpenter",
    source="aws/karpenter-provider-aws@1d92708 charts/karpenter (two replicas, required host anti-affinity)",
    bad="pools: {system: {nodes: 1}, train: {provisioner: karpenter, nodes: {max: 4}}}",
    good="pools: {system: {nodes: 2}, train: {provisioner: karpenter, nodes: {max: 4}}}",
)
def two_system_nodes(subject: Subject) -> Iterator[Fault]:
    """Karpenter runs twice, and the two replicas refuse to share a host.  On a single system node the second one stays
    pending, the chart's roll-out does not finish, and while the node is replaced nothing is provisioned.
    """
    if not any(reading.by_karpenter(pool) for pool in subject.spec.pools.values()):
        return
    groups = [
        (at, pool)
        for _, pool, at in reading.pools(subject.spec)
        if pool.purpose == "system" and not reading.by_karpenter(pool)
    ]
    lowest = sum(pool.min_nodes for _, pool in groups)
    if groups and lowest == 1:
        at = next(at for at, pool in groups if pool.min_nodes)
        yield Fault((*at, "nodes"), "1 system node at the least", "2 or more")


@rule(
    "POOL006",
    ERROR,
    "system pool on Karpenter",
    source="Karpenter documentation, Getting Started (its controller must not run on nodes that it manages)",
    bad="pools: {system: {provisioner: karpenter, nodes: {max: 3}}}",
    good="pools: {system: {provisioner: node-group, nodes: 3}}",
)
def system_by_node_group(subject: Subject) -> Iterator[Fault]:
    """Karpenter itself runs on system nodes.  If it provisioned them, a cluster without nodes could never start, and
    Karpenter could remove the node under its own feet.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.purpose == "system" and reading.by_karpenter(pool):
            yield Fault((*at, "provisioner"), "karpenter for a system pool", "node-group")


@rule(
    "POOL007",
    ERROR,
    "min above max",
    source="EKS API Reference, NodegroupScalingConfig",
    proves="arithmetic",
    bad="pools: {train: {nodes: {min: 8, max: 4}}}",
    good="pools: {train: {nodes: {min: 4, max: 8}}}",
)
def min_below_max(subject: Subject) -> Iterator[Fault]:
    """A pool cannot have more nodes at least than at most.  EKS refuses such a group after the network and the cluster
    have been made.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if isinstance(pool.nodes, NodeRange) and pool.nodes.min > pool.nodes.max:
            related = (Related((*at, "nodes", "max"), f"max {pool.nodes.max}"),)
            yield Fault(
                (*at, "nodes", "min"),
                f"min {pool.nodes.min}, max {pool.nodes.max}",
                "min of max or less",
                related=related,
            )


@rule(
    "POOL008",
    ERROR,
    "desired outside of min and max",
    source="EKS API Reference, NodegroupScalingConfig",
    proves="arithmetic",
    bad="pools: {train: {nodes: {min: 1, max: 4, desired: 5}}}",
    good="pools: {train: {nodes: {min: 1, max: 4, desired: 4}}}",
)
def desired_in_range(subject: Subject) -> Iterator[Fault]:
    """The number of nodes to start with lies between the smallest and the largest.  EKS refuses a group where it does
    not.
    """
    for _name, pool, at in reading.pools(subject.spec):
        nodes = pool.nodes
        if not isinstance(nodes, NodeRange) or nodes.desired is None or nodes.min > nodes.max:
            continue
        if not nodes.min <= nodes.desired <= nodes.max:
            yield Fault((*at, "nodes", "desired"), f"desired {nodes.desired}", f"{nodes.min} to {nodes.max}")


@rule(
    "POOL009",
    ERROR,
    "node group name too long",
    source="EKS User Guide, Create a managed node group for your cluster (at most 63 characters)",
    proves="arithmetic",
    bad="name: a-cluster-with-a-very-long-name-indeed\n"
    "pools: {pool-with-quite-a-long-name-2: "
    "{purpose: notebook, instance_type: g5.2xlarge, nodes: 1, placement: none}}",
    good="name: a-cluster-with-a-very-long-name-indeed",
)
def short_names(subject: Subject) -> Iterator[Fault]:
    """A node group is named after its cluster and its pool, and EKS allows 63 characters.  Cutting the name in silence
    could make two pools equal.
    """
    for name, pool, at in reading.pools(subject.spec):
        full = f"{subject.spec.name}-{name}"
        if not reading.by_karpenter(pool) and len(full) > NODE_GROUP_NAME:
            yield Fault(
                at,
                f"{full} has {len(full)} characters",
                f"at most {NODE_GROUP_NAME}",
                f"shorten the pool's name by {len(full) - NODE_GROUP_NAME}",
                (Related(("name",), "the cluster's name"),),
                on_key=True,
            )


@rule(
    "POOL010",
    WARNING,
    "system pool with accelerators",
    source="EC2 On-Demand Pricing (accelerated types)",
    bad="pools: {system: {instance_type: g5.2xlarge}}",
    good="pools: {system: {instance_type: m7i.2xlarge}}",
)
def plain_system_nodes(subject: Subject) -> Iterator[Fault]:
    """System pods use no accelerator.  They fill such a node all the same, run the whole time, and cost several times
    as much.
    """
    for _name, pool, at, instance in reading.pools_of_known_type(subject):
        if pool.purpose == "system" and instance.accelerator is not None:
            yield Fault(
                (*at, "instance_type"),
                f"{pool.instance_type}, which has accelerators",
                "a general-purpose type such as m7i.2xlarge",
            )


@rule(
    "POOL011",
    WARNING,
    "automatic repair under a running job",
    source="EKS User Guide, Automatically repair nodes in EKS clusters",
    bad="pools: {train: {auto_repair: true}}",
    good="pools: {train: {auto_repair: false}}",
)
def repair_is_forceful(subject: Subject) -> Iterator[Fault]:
    """EKS replaces or restarts a node some minutes after its monitoring finds the accelerators broken, and does not
    wait for the job on it.  The whole job falls back to its last checkpoint, which may be right, but must be a choice.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.auto_repair and pool.purpose == "training" and not reading.by_karpenter(pool):
            saved = f"; jobs save every {reading.span(pool.checkpoint_interval)}" if pool.checkpoint_interval else ""
            yield Fault(
                (*at, "auto_repair"),
                f"auto_repair on a training pool{saved}",
                "jobs that resume by themselves, or no auto_repair",
                "suppress this with the reason when jobs resume from checkpoints",
            )


@rule(
    "POOL012",
    ERROR,
    "security group twice",
    source="EC2 API Reference, LaunchTemplateInstanceNetworkInterfaceSpecificationRequest",
    bad="pools: {train: {security_groups: [sg-0123456789abcdef0, sg-0123456789abcdef0]}}",
    good="pools: {train: {security_groups: [sg-0123456789abcdef0]}}",
)
def distinct_groups(subject: Subject) -> Iterator[Fault]:
    """EC2 refuses an interface that names the same security group twice.  The second entry was meant to be another
    group.
    """
    for _name, pool, at in reading.pools(subject.spec):
        for index, group in enumerate(pool.security_groups):
            if group in pool.security_groups[:index]:
                yield Fault((*at, "security_groups", index), f"{group} again", "each group once")


@rule(
    "POOL013",
    ERROR,
    "job settings that nothing reads",
    source="this project's rules: KAR007 to KAR010, CAP013 and CAP017 read these fields",
    bad="pools: {system: {longest_job: 12h}}",
    good="pools: {train: {provisioner: karpenter, nodes: {max: 4}, longest_job: 12h}}",
)
def job_settings_are_read(subject: Subject) -> Iterator[Fault]:
    """`longest_job` is compared with Karpenter's expiry and grace and with the length of a Capacity Block, and
    `checkpoint_interval` with what an eviction costs.  Elsewhere nothing would guard what they promise.
    """
    for _name, pool, at in reading.pools(subject.spec):
        bounded = reading.by_karpenter(pool) or (pool.capacity.start is not None and pool.capacity.end is not None)
        system = pool.purpose == "system"
        if pool.longest_job is not None and (system or not bounded):
            place = "a system pool" if system else "a node group without the times of a Capacity Block"
            yield Fault(
                (*at, "longest_job"), f"longest_job on {place}", "no longest_job: nothing ends a job there", on_key=True
            )
        if pool.checkpoint_interval is not None and system:
            yield Fault(
                (*at, "checkpoint_interval"),
                "checkpoint_interval on a system pool",
                "no checkpoint_interval",
                on_key=True,
            )
