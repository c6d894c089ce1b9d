"""The ``kubernetes:`` section: version, reach and administrators of the control plane."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eks_training.spec.base import Section
from eks_training.spec.scalars import AddonVersion, Cidr, IamArn, JsonValue, KubernetesVersion

AddonName = Literal[
    "vpc-cni",
    "coredns",
    "kube-proxy",
    "eks-pod-identity-agent",
    "eks-node-monitoring-agent",
    "metrics-server",
    "aws-ebs-csi-driver",
    "aws-fsx-csi-driver",
    "aws-efs-csi-driver",
    "aws-mountpoint-s3-csi-driver",
]


class Endpoint(Section):
    """Reach of the Kubernetes API."""

    access: Literal["private", "public"] = "private"
    """`private`: only from inside the VPC.  `public`: also from `allowed_cidrs`."""
    allowed_cidrs: list[Cidr] = []
    """Who may reach a public endpoint; required with `public`."""
    private_cidrs: list[Cidr] = []
    """Networks beside the VPC itself that may reach the private endpoint, such as those of a VPN or a peered VPC."""


class Kubernetes(Section):
    """The EKS control plane."""

    version: KubernetesVersion | None = None
    """Kubernetes minor version; the default of the version table when left out."""
    endpoint: Endpoint = Field(default_factory=Endpoint)
    """Private by default."""
    administrators: Annotated[list[IamArn], Field(min_length=1)]
    """IAM roles and users with cluster-admin rights; without one nobody can reach the cluster."""
    scaling_tier: Literal["standard", "xl", "2xl", "4xl", "8xl"] = "standard"
    """Provisioned control-plane tier for very large clusters; every tier above standard costs by the hour."""
    log_retention_days: Literal[7, 14, 30, 60, 90, 180, 365] = 90
    """How long CloudWatch keeps the control-plane logs."""
    addon_versions: dict[AddonName, AddonVersion] = {}
    """Versions of EKS add-ons; EKS picks its default for one that is left out."""
    addon_configuration: dict[AddonName, dict[str, JsonValue]] = {}
    """Configuration values of EKS add-ons, as `aws eks describe-addon-configuration` shows what each takes."""
    support: Literal["standard", "extended"] = "standard"
    """What EKS does at the end of standard support: upgrade by itself, or extended support at a higher price."""
