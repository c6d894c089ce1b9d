"""The ``network:`` section: two zones, one of them for training, in a new or an existing VPC."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eks_training.spec.base import Section
from eks_training.spec.scalars import Cidr, SubnetId, VpcId, Zone


class FlowLogs(Section):
    """VPC flow logs in CloudWatch Logs."""

    enabled: bool = True
    """Whether to record rejected and accepted flows of the whole VPC."""
    retention_days: Literal[7, 14, 30, 60, 90, 180, 365] = 30
    """How long CloudWatch keeps them."""


class ExistingSubnet(Section):
    """A subnet that exists; zone and CIDR are stated because nothing is looked up at synthesis."""

    id: SubnetId
    """Subnet id."""
    zone: Zone
    """The zone it lies in, written like `training_zone`."""
    cidr: Cidr
    """Its IPv4 block, for the address arithmetic."""


class ExistingVpc(Section):
    """A VPC that exists, with the subnets to use; nothing in it is changed except security groups that we add."""

    id: VpcId
    """VPC id."""
    cidr: Cidr
    """Its primary IPv4 block."""
    training_subnet: ExistingSubnet
    """The one private subnet of training and notebook nodes, in `training_zone`."""
    system_subnets: Annotated[list[ExistingSubnet], Field(min_length=1, max_length=6)]
    """Private subnets for system nodes and for the function that applies manifests; at least one in `training_zone`."""
    control_plane_subnets: Annotated[list[ExistingSubnet], Field(min_length=2, max_length=6)]
    """Subnets in two or more zones for the network interfaces of the EKS control plane."""


class Network(Section):
    """Where the cluster lives.  EKS demands two zones; training stays in one."""

    training_zone: Zone
    """Zone of every training node, of FSx and of the NAT gateway: a name (us-east-2b) or an id (use2-az2)."""
    second_zone: Zone
    """The other zone that the EKS control plane needs."""
    cidr: Cidr | None = None
    """IPv4 block of a new VPC, /16 to /22.  Leave out with `existing_vpc`."""
    existing_vpc: ExistingVpc | None = None
    """Use a VPC that exists instead of a new one."""
    egress: Literal["nat", "endpoints", "internet-gateway"] = "nat"
    """Way out of the private subnets: a NAT gateway, or only VPC endpoints.  `internet-gateway` describes an existing
    public training subnet."""
    flow_logs: FlowLogs = Field(default_factory=FlowLogs)
    """Flow logs of a new VPC."""
