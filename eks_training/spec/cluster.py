"""The root of cluster.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eks_training.spec.base import Section
from eks_training.spec.kubernetes import Kubernetes
from eks_training.spec.network import Network
from eks_training.spec.pool import Pool
from eks_training.spec.scalars import (
    AccountId,
    ClusterName,
    EntryName,
    InstanceType,
    JsonValue,
    Region,
    RegistryPath,
    RuleId,
    TagKey,
    TagValue,
)
from eks_training.spec.storage import Storage


class DeclaredAccelerator(Section):
    """The accelerators of one instance."""

    kind: Literal["gpu", "neuron"]
    """NVIDIA GPU or Neuron device."""
    model: str
    """Model name, such as h100."""
    count: Annotated[int, Field(ge=1, le=64)]
    """Devices in one instance."""
    memory_mib_each: Annotated[int, Field(ge=1)] | None = None
    """Memory of one device in MiB."""
    neuron_cores: Annotated[int, Field(ge=1)] | None = None
    """Physical NeuronCores in one instance."""


class DeclaredInstance(Section):
    """Facts about an instance type, from AWS documentation or `describe-instance-types`; they win over the table."""

    source: Annotated[str, Field(min_length=8)]
    """Where the numbers come from, with a date."""
    arch: Literal["amd64", "arm64"] | None = None
    """CPU architecture."""
    vcpus: Annotated[int, Field(ge=1)] | None = None
    """Virtual CPUs."""
    memory_mib: Annotated[int, Field(ge=1)] | None = None
    """Main memory in MiB."""
    accelerator: DeclaredAccelerator | None = None
    """Accelerators."""
    network_cards: Annotated[int, Field(ge=1, le=64)] | None = None
    """Network cards."""
    interfaces_per_card: list[Annotated[int, Field(ge=1, le=64)]] | None = None
    """Interfaces that each card takes, by card index."""
    ipv4_per_interface: Annotated[int, Field(ge=1)] | None = None
    """IPv4 addresses that one interface takes."""
    efa_interfaces: Annotated[int, Field(ge=0, le=64)] | None = None
    """EFA interfaces in one instance."""
    efa_cards: list[Annotated[int, Field(ge=0, le=63)]] | None = None
    """Indexes of the cards that have EFA."""
    instance_store_gb: Annotated[int, Field(ge=0)] | None = None
    """Local NVMe in GB."""


class Suppression(Section):
    """One finding that is accepted, with the reason."""

    rule: RuleId
    """The rule."""
    at: Annotated[str, Field(min_length=1)]
    """Path of the finding or of a section above it, such as pools.train."""
    reason: Annotated[str, Field(min_length=10)]
    """Why it is acceptable here, for the next reader."""


class Cluster(Section):
    """One EKS training cluster."""

    name: ClusterName
    """Name of the cluster; part of every stack and resource name."""
    region: Region
    """AWS Region."""
    account: AccountId | None = None
    """AWS account id; the account of the credentials when left out."""
    tags: dict[TagKey, TagValue] = {}
    """Tags on every resource."""
    network: Network
    """Zones and VPC."""
    kubernetes: Kubernetes
    """Control plane."""
    pools: Annotated[dict[EntryName, Pool], Field(min_length=1)]
    """Groups of nodes by name."""
    storage: Storage = Field(default_factory=Storage)
    """File systems and buckets."""
    instance_types: dict[InstanceType, DeclaredInstance] = {}
    """Facts about instance types that the shipped table lacks."""
    registry_mirror: RegistryPath | None = None
    """Private registry that mirrors every chart and image; needed where public registries cannot be reached."""
    components: dict[str, JsonValue] = {}
    """What runs in the cluster, by component."""
    suppressions: list[Suppression] = []
    """Accepted findings."""
