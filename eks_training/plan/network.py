"""The network part of the Plan: zones, subnets, way out.

A new VPC /p is cut like this: the lower half is the one training subnet (/p+1); the next two eighths are the system
subnets of both zones (/p+3); a /26 for the NAT gateway and two /27 for the control plane come from the end.  Pods take
VPC addresses, so the training subnet gets all that can be spared; EKS wants at least 16 free addresses in each
control-plane subnet (EKS User Guide, network requirements).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from eks_training import naming
from eks_training.plan.value import Output, Value
from eks_training.spec import Cluster
from eks_training.spec.network import ExistingSubnet, ExistingVpc

Role: TypeAlias = Literal["training", "system", "control-plane", "nat"]


@dataclass(frozen=True)
class Zone:
    """An Availability Zone by name or by id."""

    value: str

    @property
    def is_id(self) -> bool:
        """Zone ids (use2-az2) mean the same zone in every account, names do not."""
        return bool(re.search(r"-az[0-9]+$", self.value))

    @property
    def node_label(self) -> tuple[str, str]:
        """The node label that selects this zone."""
        return ("topology.k8s.aws/zone-id" if self.is_id else "topology.kubernetes.io/zone", self.value)


@dataclass(frozen=True)
class Subnet:
    """One subnet; ``id`` is set when it exists already, ``tags`` only when it is made here."""

    key: str
    role: Role
    zone: Zone
    cidr: str
    id: str | None = None
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def private(self) -> bool:
        """Whether nothing in it can be reached from the internet."""
        return self.role != "nat"

    @property
    def routed_out(self) -> bool:
        """Whether it needs a way out: nodes and functions do, the interfaces of the control plane call nobody."""
        return self.role in ("training", "system")


@dataclass(frozen=True)
class NetworkPlan:
    """VPC, subnets and routes.  ``vpc_id`` is None for a VPC made here."""

    stack: str
    vpc_id: str | None
    cidr: str
    training_zone: Zone
    second_zone: Zone
    subnets: tuple[Subnet, ...]
    egress: Literal["nat", "endpoints", "internet-gateway"]
    interface_endpoints: tuple[str, ...]
    flow_log_retention_days: int | None
    retain_logs: bool
    efa_security_group: bool
    vpc: Value
    training_subnet_id: Value
    node_security_group_id: Output
    efa_security_group_id: Output | None

    def by_role(self, role: Role) -> tuple[Subnet, ...]:
        """Subnets of one role, training zone first."""
        return tuple(subnet for subnet in self.subnets if subnet.role == role)

    @property
    def training_subnet(self) -> Subnet:
        """The one subnet of every training node, of FSx and of notebook nodes."""
        return self.by_role("training")[0]


ENDPOINTS_ALWAYS = ("ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "lambda", "logs", "ssm", "ssmmessages", "sts")
"""Interface endpoints that nodes, add-ons and the manifest function need without NAT (EKS User Guide, private
clusters).  Lambda: the function that applies manifests is called by another one that runs in the VPC too.  Systems
Manager: node images are looked up there, and Session Manager is the way into a node without SSH."""

TAG_INTERNAL_LOAD_BALANCER = "kubernetes.io/role/internal-elb"
"""Subnets in which Kubernetes puts internal load balancers (EKS User Guide, subnet requirements)."""


def cut(cidr: str) -> dict[str, str]:
    """Subnet blocks of a new VPC by key.

    Args:
        cidr: IPv4 block of the VPC, /16 to /22.
    """
    whole = ipaddress.IPv4Network(cidr)
    training, rest = whole.subnets(prefixlen_diff=1)
    system_a, system_b, _, last = rest.subnets(prefixlen_diff=2)
    *_, nat = last.subnets(new_prefix=26)
    control = list(nat.supernet(new_prefix=25).subnets(new_prefix=27))[:2]
    return {
        "training": str(training),
        "system-a": str(system_a),
        "system-b": str(system_b),
        "control-plane-a": str(control[0]),
        "control-plane-b": str(control[1]),
        "nat": str(nat),
    }


def plan_network(spec: Cluster, *, efa: bool, karpenter: bool) -> NetworkPlan:
    """Decide zones, subnets and endpoints.

    Args:
        efa: whether any pool has EFA interfaces.
        karpenter: whether any pool is provisioned by Karpenter.
    """
    network = spec.network
    training, second = Zone(network.training_zone), Zone(network.second_zone)
    existing = network.existing_vpc
    stack = naming.stack(spec.name, naming.NETWORK)
    return NetworkPlan(
        stack=stack,
        vpc_id=existing.id if existing else None,
        cidr=existing.cidr if existing else str(network.cidr),
        training_zone=training,
        second_zone=second,
        subnets=_existing_subnets(existing, training) if existing else _new_subnets(spec, training, second, karpenter),
        egress=network.egress,
        interface_endpoints=_endpoints(spec, karpenter) if network.egress == "endpoints" and not existing else (),
        flow_log_retention_days=network.flow_logs.retention_days
        if network.flow_logs.enabled and not existing
        else None,
        # Whoever keeps the data keeps the record of who reached it.
        retain_logs=spec.storage.removal == "retain",
        efa_security_group=efa,
        vpc=existing.id if existing else Output(stack, "VpcId"),
        training_subnet_id=existing.training_subnet.id if existing else Output(stack, "TrainingSubnetId"),
        node_security_group_id=Output(stack, "NodeSecurityGroupId"),
        efa_security_group_id=Output(stack, "EfaSecurityGroupId") if efa else None,
    )


def _new_subnets(spec: Cluster, training: Zone, second: Zone, karpenter: bool) -> tuple[Subnet, ...]:
    blocks = cut(str(spec.network.cidr))
    discovery = ((naming.TAG_DISCOVERY, spec.name),) if karpenter else ()
    balanced = ((TAG_INTERNAL_LOAD_BALANCER, "1"),)
    subnets = (
        Subnet("training", "training", training, blocks["training"], tags=discovery),
        Subnet("system-a", "system", training, blocks["system-a"], tags=balanced),
        Subnet("system-b", "system", second, blocks["system-b"], tags=balanced),
        Subnet("control-plane-a", "control-plane", training, blocks["control-plane-a"]),
        Subnet("control-plane-b", "control-plane", second, blocks["control-plane-b"]),
    )
    if spec.network.egress == "nat":
        return (*subnets, Subnet("nat", "nat", training, blocks["nat"]))
    return subnets


def _existing_subnets(existing: ExistingVpc, training: Zone) -> tuple[Subnet, ...]:
    def taken(key: str, role: Role, subnet: ExistingSubnet) -> Subnet:
        return Subnet(key, role, Zone(subnet.zone), subnet.cidr, subnet.id)

    def in_order(subnets: list[ExistingSubnet]) -> list[ExistingSubnet]:
        return sorted(subnets, key=lambda subnet: subnet.zone != training.value)

    return (
        taken("training", "training", existing.training_subnet),
        *(taken(f"system-{i}", "system", subnet) for i, subnet in enumerate(in_order(existing.system_subnets))),
        *(
            taken(f"control-plane-{i}", "control-plane", subnet)
            for i, subnet in enumerate(in_order(existing.control_plane_subnets))
        ),
    )


def _endpoints(spec: Cluster, karpenter: bool) -> tuple[str, ...]:
    services = {*ENDPOINTS_ALWAYS}
    if karpenter:
        services.add("sqs")
    if spec.storage.lustre:
        services.add("fsx")
    if spec.storage.efs:
        services.add("elasticfilesystem")
    return tuple(sorted(services))
