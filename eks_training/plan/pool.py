"""The pool part of the Plan: everything that a launch template, a node group or a NodePool needs.

Each function answers one question from Spec and Facts.  Nothing after this module asks what an instance type is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from eks_training import naming
from eks_training.facts import Facts
from eks_training.facts.instances import InstanceFacts
from eks_training.interfaces import Interface, addresses, efa_layout, plain_layout
from eks_training.plan.defaults import root_volume_gib, uses_raid0, wants_efa
from eks_training.plan.karpenter import KarpenterPool, plan_karpenter_pool
from eks_training.plan.network import NetworkPlan
from eks_training.plan.value import Output, Value
from eks_training.spec import Cluster
from eks_training.spec.pool import ExistingPlacement, Pool

Purpose: TypeAlias = Literal["training", "notebook", "system"]


@dataclass(frozen=True)
class AcceleratorPlan:
    """The accelerators of one node and the name under which Kubernetes counts them."""

    kind: Literal["gpu", "neuron"]
    model: str
    count: int
    memory_mib_each: int | None
    resource: str
    neuron_cores: int | None


@dataclass(frozen=True)
class CapacityPlan:
    """How the instances are bought, in EC2's and EKS's words."""

    type: Literal["on-demand", "spot", "reservation", "capacity-block"]
    eks_capacity_type: Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"]
    market_type: Literal["capacity-block"] | None
    reservation_id: str | None
    resource_group: str | None
    start: str | None
    end: str | None


@dataclass(frozen=True)
class PlacementPlan:
    """The placement group: made by us, existing (by name or id), or none."""

    kind: Literal["create", "existing", "none"]
    group: Value | None = None

    @property
    def by_id(self) -> bool:
        """Whether `group` is an id (pg-…) rather than a name."""
        return isinstance(self.group, str) and self.group.startswith("pg-")


@dataclass(frozen=True)
class ImagePlan:
    """The node image.  ``eks_release`` and ``karpenter_alias`` are the same release in two spellings."""

    family: Literal["al2023", "bottlerocket"]
    ami_type: str
    eks_release: str | None
    karpenter_alias: str


@dataclass(frozen=True)
class VolumePlan:
    """The encrypted gp3 volume; GiB, IOPS, MiB/s."""

    device: str
    size_gib: int
    iops: int | None
    throughput_mibps: int | None
    holds_images: bool
    """Whether images, pods and logs are there."""


@dataclass(frozen=True)
class TaintPlan:
    """A taint in Kubernetes spelling."""

    key: str
    value: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True)
class PoolPlan:
    """One pool, ready to be written."""

    name: str
    purpose: Purpose
    stack: str
    instance_type: str
    arch: Literal["amd64", "arm64"]
    vcpus: int | None
    memory_mib: int | None
    accelerator: AcceleratorPlan | None
    min_nodes: int
    max_nodes: int
    desired_nodes: int
    capacity: CapacityPlan
    placement: PlacementPlan
    efa_interfaces: int
    interfaces: tuple[Interface, ...]
    addresses_per_node: int
    network_gbps: float | None
    subnets: tuple[str, ...]
    image: ImagePlan
    volumes: tuple[VolumePlan, ...]
    raid0: bool
    labels: tuple[tuple[str, str], ...]
    node_tags: tuple[tuple[str, str], ...]
    taints: tuple[TaintPlan, ...]
    security_groups: tuple[Value, ...]
    """Groups of every interface: the cluster's, the one that storage admits, the EFA group, the user's."""
    auto_repair: bool
    update_strategy: Literal["DEFAULT", "MINIMAL"]
    karpenter: KarpenterPool | None

    @property
    def image_volume(self) -> VolumePlan:
        """The volume with images, pods and logs."""
        return next(volume for volume in self.volumes if volume.holds_images)

    @property
    def efa(self) -> bool:
        """Whether its nodes carry EFA interfaces."""
        return self.efa_interfaces > 0


def plan_pool(
    name: str, pool: Pool, spec: Cluster, facts: Facts, network: NetworkPlan, cluster_group: Output
) -> PoolPlan:
    """Decide one pool.

    Args:
        cluster_group: the cluster security group, which EKS adds only to templates that name no group.

    The rule book has passed: the type is known and its facts suffice.
    """
    instance = facts.instances.get(pool.instance_type)
    assert instance is not None, "rule POOL001 lets only known types pass"
    efa = wants_efa(pool, instance)
    layout = efa_layout(instance) if efa else plain_layout()
    accelerator = _accelerator(instance)
    taints = _taints(pool, accelerator)
    low, desired, high = _sizes(pool)
    stack = _stack(name, pool, spec)
    capacity = _capacity(pool)
    placement = _placement(name, pool, stack)
    image = _image(pool, instance, spec, facts)
    raid0 = uses_raid0(pool, instance)
    return PoolPlan(
        name=name,
        purpose=pool.purpose,
        stack=stack,
        instance_type=pool.instance_type,
        arch=instance.arch or "amd64",
        vcpus=instance.vcpus,
        memory_mib=instance.memory_mib,
        accelerator=accelerator,
        min_nodes=low,
        max_nodes=high,
        desired_nodes=desired,
        capacity=capacity,
        placement=placement,
        efa_interfaces=sum(interface.kind != "interface" for interface in layout),
        interfaces=layout,
        addresses_per_node=addresses(layout),
        network_gbps=instance.network_gbps,
        subnets=_subnets(pool, network),
        image=image,
        volumes=_volumes(pool, image),
        raid0=raid0,
        labels=_labels(name, pool, accelerator),
        node_tags=_node_tags(name, spec),
        taints=taints,
        security_groups=_security_groups(pool, network, cluster_group, efa=efa),
        auto_repair=pool.auto_repair,
        update_strategy=_update_strategy(pool),
        karpenter=plan_karpenter_pool(
            pool,
            network,
            capacity.type,
            accelerator.resource if accelerator else None,
            accelerator.count if accelerator else 0,
        )
        if pool.provisioner == "karpenter"
        else None,
    )


def _stack(name: str, pool: Pool, spec: Cluster) -> str:
    if pool.provisioner == "karpenter":
        return naming.stack(spec.name, naming.KARPENTER)
    if pool.purpose == "system":
        return naming.stack(spec.name, naming.CLUSTER)
    return naming.pool_stack(spec.name, name)


def _accelerator(instance: InstanceFacts) -> AcceleratorPlan | None:
    device = instance.accelerator
    if device is None or not device.count:
        return None
    resource = "nvidia.com/gpu" if device.kind == "gpu" else "aws.amazon.com/neuron"
    return AcceleratorPlan(
        device.kind, device.model or "unknown", device.count, device.memory_mib_each, resource, instance.neuron_cores
    )


def _labels(name: str, pool: Pool, accelerator: AcceleratorPlan | None) -> tuple[tuple[str, str], ...]:
    """The user's, ours, and the one by which the NVIDIA device plugin finds its nodes."""
    gpu = {naming.LABEL_GPU: "true"} if accelerator and accelerator.kind == "gpu" else {}
    ours = {naming.LABEL_POOL: name, naming.LABEL_PURPOSE: pool.purpose}
    return tuple(sorted({**gpu, **pool.labels, **ours}.items()))


def _taints(pool: Pool, accelerator: AcceleratorPlan | None) -> tuple[TaintPlan, ...]:
    """Accelerator nodes are kept free of pods that do not ask for the device, unless the user decides."""
    if pool.taints is not None:
        return tuple(TaintPlan(taint.key, taint.value, taint.effect) for taint in pool.taints)
    if accelerator and pool.purpose != "system":
        return (TaintPlan(accelerator.resource, "true", "NoSchedule"),)
    return ()


def _sizes(pool: Pool) -> tuple[int, int, int]:
    """Smallest, desired and largest number of nodes.

    EKS itself scales a Capacity Block's node group to zero before the block ends, so the minimum is zero there.
    """
    if isinstance(pool.nodes, int):
        low = 0 if pool.capacity.type == "capacity-block" or pool.provisioner == "karpenter" else pool.nodes
        return low, pool.nodes, pool.nodes
    desired = pool.nodes.min if pool.nodes.desired is None else pool.nodes.desired
    return pool.nodes.min, desired, pool.nodes.max


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _capacity(pool: Pool) -> CapacityPlan:
    asked = pool.capacity
    block = asked.type == "capacity-block"
    return CapacityPlan(
        type=asked.type,
        eks_capacity_type="CAPACITY_BLOCK" if block else "SPOT" if asked.type == "spot" else "ON_DEMAND",
        market_type="capacity-block" if block else None,
        reservation_id=asked.id,
        resource_group=asked.resource_group,
        start=_moment(asked.start),
        end=_moment(asked.end),
    )


def _placement(name: str, pool: Pool, stack: str) -> PlacementPlan:
    if isinstance(pool.placement, ExistingPlacement):
        return PlacementPlan("existing", pool.placement.existing)
    if pool.placement == "cluster":
        return PlacementPlan("create", Output(stack, f"PlacementGroup{naming.pascal(name)}Name"))
    return PlacementPlan("none")


def _image(pool: Pool, instance: InstanceFacts, spec: Cluster, facts: Facts) -> ImagePlan:
    kubernetes = spec.kubernetes.version or facts.default_kubernetes
    arch = "ARM_64" if instance.arch == "arm64" else "x86_64"
    release = pool.image.release
    if pool.image.family == "bottlerocket":
        gpu = "_NVIDIA" if instance.accelerator else ""
        alias = f"v{release.removeprefix('v').split('-')[0]}" if release else "latest"
        return ImagePlan("bottlerocket", f"BOTTLEROCKET_{arch}{gpu}", release, f"bottlerocket@{alias}")
    device = instance.accelerator
    variant = "STANDARD" if device is None else "NVIDIA" if device.kind == "gpu" else "NEURON"
    pinned = release or facts.versions.ami_release(kubernetes)
    return ImagePlan("al2023", f"AL2023_{arch}_{variant}", pinned, f"al2023@v{pinned.rsplit('-', 1)[-1]}")


def _volumes(pool: Pool, image: ImagePlan) -> tuple[VolumePlan, ...]:
    """Bottlerocket has its system on a first volume of 4 GiB, which Karpenter's own default is too."""
    asked = pool.root_volume
    size = root_volume_gib(pool)
    if image.family == "bottlerocket":
        return (
            VolumePlan("/dev/xvda", 4, None, None, False),
            VolumePlan("/dev/xvdb", size, asked.iops, asked.throughput_mibps, True),
        )
    return (VolumePlan("/dev/xvda", size, asked.iops, asked.throughput_mibps, True),)


def _security_groups(pool: Pool, network: NetworkPlan, cluster_group: Output, *, efa: bool) -> tuple[Value, ...]:
    efa_group = (network.efa_security_group_id,) if efa and network.efa_security_group_id else ()
    return (cluster_group, network.node_security_group_id, *efa_group, *pool.security_groups)


def _node_tags(name: str, spec: Cluster) -> tuple[tuple[str, str], ...]:
    """Tags of instances, volumes and interfaces; CloudFormation's own tags do not reach them."""
    ours = {"Name": f"{spec.name}-{name}", naming.TAG_CLUSTER: spec.name, naming.TAG_POOL: name}
    return tuple(sorted({**spec.tags, **ours}.items()))


def _subnets(pool: Pool, network: NetworkPlan) -> tuple[str, ...]:
    """Everything but the system pool stays in the training zone."""
    if pool.purpose != "system":
        return (network.training_subnet.key,)
    return tuple(subnet.key for subnet in network.by_role("system"))


def _update_strategy(pool: Pool) -> Literal["DEFAULT", "MINIMAL"]:
    """Scarce or reserved capacity has no spare node to start first: end the old one, then start the new one."""
    return "DEFAULT" if pool.purpose == "system" else "MINIMAL"
