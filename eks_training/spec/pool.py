"""The ``pools:`` section: groups of equal nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from eks_training.spec.base import Section
from eks_training.spec.scalars import (
    Duration,
    InstanceType,
    LabelKey,
    LabelValue,
    Moment,
    PlacementGroupRef,
    ReservationId,
    ResourceGroupArn,
    SecurityGroupId,
)

NodeCount = Annotated[int, Field(ge=0, le=1000)]


class NodeRange(Section):
    """A pool that grows and shrinks."""

    min: NodeCount = 0
    """Never fewer nodes than this."""
    max: Annotated[int, Field(ge=1, le=1000)]
    """Never more nodes than this."""
    desired: NodeCount | None = None
    """Nodes to start with (node groups only); `min` when left out."""


def _nodes_shape(value: object) -> str:
    return "range" if isinstance(value, (dict, NodeRange)) else "fixed"


Nodes = Annotated[
    Annotated[int, Field(ge=1, le=1000), Tag("fixed")] | Annotated[NodeRange, Tag("range")],
    Discriminator(_nodes_shape),
]


class Capacity(Section):
    """How the instances are bought.  The short form `capacity: spot` means `capacity: {type: spot}`."""

    type: Literal["on-demand", "spot", "reservation", "capacity-block"]
    """On-demand, Spot, a targeted On-Demand Capacity Reservation, or a Capacity Block for ML."""
    id: ReservationId | None = None
    """Reservation id of `reservation` or `capacity-block`."""
    resource_group: ResourceGroupArn | None = None
    """A resource group of reservations, instead of `id` (node groups only)."""
    start: Moment | None = None
    """Start of a Capacity Block, if known."""
    end: Moment | None = None
    """End of a Capacity Block, if known."""


def _short_capacity(value: object) -> object:
    return {"type": value} if isinstance(value, str) else value


class ExistingPlacement(Section):
    """A placement group that exists."""

    existing: PlacementGroupRef
    """Its name, or its id (pg-…)."""


def _placement_shape(value: object) -> str:
    return "existing" if isinstance(value, (dict, ExistingPlacement)) else "word"


Placement = Annotated[
    Annotated[Literal["cluster", "none"], Tag("word")] | Annotated[ExistingPlacement, Tag("existing")],
    Discriminator(_placement_shape),
]


class Image(Section):
    """The node image; the variant (NVIDIA, Neuron, standard) follows from the instance type."""

    family: Literal["al2023", "bottlerocket"] = "al2023"
    """Amazon Linux 2023 or Bottlerocket."""
    release: str | None = None
    """Release pin, such as 1.35.6-20260714 for AL2023; the version table's release when left out."""


class RootVolume(Section):
    """The encrypted gp3 volume with the operating system, images and logs."""

    size_gib: Annotated[int, Field(ge=20, le=65536)] | None = None
    """Size in GiB; 500 for training and notebook nodes and 100 for system nodes when left out."""
    iops: Annotated[int, Field(ge=3000, le=80000)] | None = None
    """Provisioned IOPS; gp3 has 3000 when left out."""
    throughput_mibps: Annotated[int, Field(ge=125, le=2000)] | None = None
    """Throughput in MiB/s; gp3 has 125 when left out."""


class Taint(Section):
    """A node taint."""

    key: LabelKey
    """Taint key."""
    value: LabelValue = ""
    """Taint value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """What happens to pods that do not tolerate it."""


class Disruption(Section):
    """When Karpenter may remove a node on its own."""

    expire_after: Duration | Literal["Never"] | None = None
    """Node lifetime; Never for training pools when left out.  Expiry ignores budgets."""
    termination_grace_period: Duration | None = None
    """Longest drain; bounds how long do-not-disrupt is honoured.  Unset means: wait for the pods."""
    consolidation: Literal["WhenEmpty", "WhenEmptyOrUnderutilized"] | None = None
    """When nodes are consolidated; WhenEmpty for training pools when left out."""
    consolidate_after: Duration | None = None
    """How long a node stays empty before it goes; 10m when left out."""


class Pool(Section):
    """A group of equal nodes: one instance type, one way to buy it, one placement."""

    purpose: Literal["training", "notebook", "system"]
    """What runs there; training and notebook pools stay in `training_zone`."""
    instance_type: InstanceType
    """EC2 instance type."""
    provisioner: Literal["node-group", "karpenter"] = "node-group"
    """An EKS managed node group, or Karpenter."""
    nodes: Nodes
    """A fixed number, or {min, max}."""
    capacity: Annotated[
        Capacity, BeforeValidator(_short_capacity, json_schema_input_type=Capacity | Literal["on-demand", "spot"])
    ] = Field(default_factory=lambda: Capacity(type="on-demand"))
    """How the instances are bought."""
    placement: Placement | None = None
    """Placement group: `cluster` makes one, {existing: NAME} uses one, `none`.  A training pool must say it."""
    efa: Literal["all", "none"] | None = None
    """Elastic Fabric Adapter interfaces: all that the type has, or none.  Training pools get all when left out."""
    image: Image = Field(default_factory=Image)
    """Node image."""
    root_volume: RootVolume = Field(default_factory=RootVolume)
    """Root volume."""
    local_nvme: Literal["raid0", "none"] | None = None
    """Local NVMe disks as one RAID0 for images, logs and scratch; raid0 when left out and the type has disks."""
    labels: dict[LabelKey, LabelValue] = {}
    """Additional node labels."""
    taints: list[Taint] | None = None
    """Node taints; accelerator nodes get the taint of their device when left out, [] means none."""
    security_groups: Annotated[list[SecurityGroupId], Field(max_length=2)] = []
    """Additional security groups on every interface."""
    auto_repair: bool = False
    """Let EKS replace nodes that its monitoring finds broken (node groups); this does not wait for a job to end."""
    static_capacity: bool = False
    """Allow a fixed number of Karpenter nodes, which needs Karpenter's alpha gate StaticCapacity."""
    longest_job: Duration | None = None
    """The longest job that will run here, to check expiry and grace against."""
    checkpoint_interval: Duration | None = None
    """How often jobs save here, to judge what an eviction costs."""
    disruption: Disruption = Field(default_factory=Disruption)
    """Karpenter's disruption settings."""

    @property
    def min_nodes(self) -> int:
        """Fewest nodes."""
        return self.nodes if isinstance(self.nodes, int) else self.nodes.min

    @property
    def max_nodes(self) -> int:
        """Most nodes; what addresses and quotas must carry."""
        return self.nodes if isinstance(self.nodes, int) else self.nodes.max
