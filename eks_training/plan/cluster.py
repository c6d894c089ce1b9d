"""The control-plane part of the Plan: version, reach, administrators, add-ons."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from eks_training import naming
from eks_training.facts import Facts
from eks_training.plan.value import Output
from eks_training.spec import Cluster


@dataclass(frozen=True)
class ServiceAccountRole:
    """An IAM role that EKS Pod Identity gives to the service account of an add-on."""

    service_account: str
    managed_policies: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Addon:
    """An EKS add-on.  ``version`` None leaves the choice to EKS, once, at creation.

    ``after`` names the add-ons of the same cluster that must be there first.
    """

    name: str
    version: str | None
    before_nodes: bool
    roles: tuple[ServiceAccountRole, ...] = ()
    configuration: str | None = None
    """Configuration values as JSON text."""
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterPlan:
    """The EKS cluster."""

    stack: str
    name: str
    kubernetes_version: str
    public_cidrs: tuple[str, ...]
    private_cidrs: tuple[str, ...]
    """Who may reach the private endpoint on TCP 443, beside nodes and pods: the VPC, and what the user adds."""
    administrators: tuple[str, ...]
    scaling_tier: str | None
    """A provisioned tier; None is what EKS gives by itself."""
    log_retention_days: int
    retain_logs: bool
    extended_support: bool
    addons: tuple[Addon, ...]
    storage_addons: tuple[Addon, ...]
    endpoint: Output
    security_group_id: Output


_AGENT = "eks-pod-identity-agent"

# The CNI takes its role from the agent, not from the node: the first node must find the agent and the association, or
# the CNI cannot attach addresses and the node never becomes Ready.  The agent itself runs in the host's network and
# needs no CNI.
_CORE = (
    Addon(_AGENT, None, True),
    Addon("kube-proxy", None, True),
    Addon("vpc-cni", None, True, (ServiceAccountRole("aws-node", ("AmazonEKS_CNI_Policy",)),), after=(_AGENT,)),
    Addon("eks-node-monitoring-agent", None, False),
    Addon("coredns", None, False),
    Addon("metrics-server", None, False),
    Addon(
        "aws-ebs-csi-driver",
        None,
        False,
        (ServiceAccountRole("ebs-csi-controller-sa", ("service-role/AmazonEBSCSIDriverPolicy",)),),
    ),
)

_FSX = Addon(
    "aws-fsx-csi-driver",
    None,
    False,
    # File systems are made by CloudFormation and mounted as static volumes: the driver only has to look them up.
    (ServiceAccountRole("fsx-csi-controller-sa", actions=("fsx:DescribeFileSystems",)),),
)
_EFS = Addon(
    "aws-efs-csi-driver",
    None,
    False,
    (
        ServiceAccountRole("efs-csi-controller-sa", ("service-role/AmazonEFSCSIDriverPolicy",)),
        ServiceAccountRole("efs-csi-node-sa", actions=("elasticfilesystem:DescribeMountTargets",)),
    ),
)
_S3 = Addon("aws-mountpoint-s3-csi-driver", None, False, (ServiceAccountRole("s3-csi-driver-sa"),))


def _vpc_cidr(spec: Cluster) -> str:
    existing = spec.network.existing_vpc
    return existing.cidr if existing else str(spec.network.cidr)


def plan_cluster(spec: Cluster, facts: Facts) -> ClusterPlan:
    """Decide what the control plane is made of."""
    kubernetes = spec.kubernetes
    stack = naming.stack(spec.name, naming.CLUSTER)
    settings = {str(name): values for name, values in kubernetes.addon_configuration.items()}
    pins = {str(name): version for name, version in kubernetes.addon_versions.items()}

    def pinned(addon: Addon) -> Addon:
        version = pins.get(addon.name) or facts.versions.version(addon.name)
        values = settings.get(addon.name)
        return replace(addon, version=version, configuration=json.dumps(values, sort_keys=True) if values else None)

    storage = spec.storage
    wanted = [
        *([_FSX] if storage.lustre else []),
        *([_EFS] if storage.efs else []),
        *([_S3] if any(bucket.mount for bucket in storage.buckets.values()) else []),
    ]
    return ClusterPlan(
        stack=stack,
        name=spec.name,
        kubernetes_version=kubernetes.version or facts.default_kubernetes,
        private_cidrs=(_vpc_cidr(spec), *kubernetes.endpoint.private_cidrs),
        public_cidrs=tuple(kubernetes.endpoint.allowed_cidrs) if kubernetes.endpoint.access == "public" else (),
        administrators=tuple(kubernetes.administrators),
        scaling_tier=None if kubernetes.scaling_tier == "standard" else f"tier-{kubernetes.scaling_tier}",
        log_retention_days=kubernetes.log_retention_days,
        # One choice of the user says what is a throwaway cluster and what is not.
        retain_logs=spec.storage.removal == "retain",
        extended_support=kubernetes.support == "extended",
        addons=tuple(pinned(addon) for addon in _CORE),
        storage_addons=tuple(pinned(addon) for addon in wanted),
        endpoint=Output(stack, "ClusterEndpoint"),
        security_group_id=Output(stack, "ClusterSecurityGroupId"),
    )
