"""The IAM role of worker nodes."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from constructs import Construct

from constructs.acknowledgement import acknowledge_managed_policies

POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")
"""Join the cluster (nodeadm reads the instance's private DNS name through ``ec2:DescribeInstances``), pull images, and
open a Session Manager shell without SSH.  The CNI has a role of its own through Pod Identity (EKS User Guide, "Amazon
EKS node IAM role")."""


class NodeRole(Construct):
    """The role that EC2 hands to a node; pods cannot take it, because the metadata service answers one hop only."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Resource",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in POLICIES],
        )
        acknowledge_managed_policies(
            self.role,
            POLICIES,
            "These are the policies that EKS names for node roles; AWS adds to them what new kubelets need.",
        )
