"""The EKS control plane: cluster, encryption key, audit log, administrators, the function that applies manifests."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aws_cdk import CfnCondition, CfnResource, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer
from constructs import Construct

from constructs.acknowledgement import acknowledge, acknowledge_managed_policies, acknowledge_wildcards
from constructs.retention import removal
from eks_training import naming
from eks_training.plan.cluster import ClusterPlan


class ControlPlane(Construct):
    """An EKS cluster without nodes and without add-ons.

    Args:
        plan: the cluster as decided.
        vpc: its VPC.
        subnets: for the network interfaces of the control plane, in two zones or more.
        function_subnets: for the function that applies manifests; they need a way to AWS services.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        plan: ClusterPlan,
        vpc: ec2.IVpc,
        subnets: Sequence[ec2.ISubnet],
        function_subnets: Sequence[ec2.ISubnet],
    ) -> None:
        super().__init__(scope, id)
        key = kms.Key(
            self,
            "SecretsKey",
            description=f"Kubernetes secrets of the EKS cluster {plan.name}",
            enable_key_rotation=True,
            # Without its key a cluster, or a backup of its secrets, is lost for good.
            removal_policy=removal(retain=True),
        )
        role = self._role(plan.name)
        # What the cluster role needs to use a customer key (EKS User Guide, "Encrypt Kubernetes secrets with KMS").
        grant = key.grant(role, "kms:Encrypt", "kms:Decrypt", "kms:DescribeKey", "kms:ListGrants")
        log_group = self._log_group(plan)
        self.cluster = eks.Cluster(
            self,
            "Cluster",
            cluster_name=plan.name,
            version=eks.KubernetesVersion.of(plan.kubernetes_version),
            role=role,
            vpc=vpc,
            security_group=self._reach(plan, vpc),
            # The L2 puts the function that applies manifests where the control plane is; see _place.
            vpc_subnets=[ec2.SubnetSelection(subnets=list(function_subnets))],
            endpoint_access=_endpoint_access(plan.public_cidrs),
            secrets_encryption_key=key,
            cluster_logging=[
                eks.ClusterLoggingTypes.API,
                eks.ClusterLoggingTypes.AUDIT,
                eks.ClusterLoggingTypes.AUTHENTICATOR,
                eks.ClusterLoggingTypes.CONTROLLER_MANAGER,
                eks.ClusterLoggingTypes.SCHEDULER,
            ],
            control_plane_scaling_tier=_scaling_tier(plan.scaling_tier),
            # The default is Auto Mode, whose nodes take neither EFA interfaces of our choice nor a placement group.
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            # The add-ons that EKS would install by itself are installed as managed add-ons by the stack.
            bootstrap_self_managed_addons=False,
            bootstrap_cluster_creator_admin_permissions=False,
            output_config_command=False,
            # `kubectl apply --prune` would delete what other tools made.
            prune=False,
            kubectl_provider_options=eks.KubectlProviderOptions(
                kubectl_layer=KubectlV35Layer(self, "KubectlLayer"), private_subnets=list(function_subnets)
            ),
        )
        resource = self.cluster.node.default_child
        assert isinstance(resource, eks.CfnCluster)
        self._place(resource, subnets)
        resource.upgrade_policy = eks.CfnCluster.UpgradePolicyProperty(
            support_type="EXTENDED" if plan.extended_support else "STANDARD"
        )
        # EKS makes a log group that never expires if it finds none.
        resource.add_resource_dependency(log_group)
        grant.apply_before(resource)
        if plan.public_cidrs:
            acknowledge(self.cluster, "EKS1", f"The user opens the endpoint to {', '.join(plan.public_cidrs)} only.")
        self._administrators(plan.administrators)
        self._finish_manifest_function(plan)

    def _reach(self, plan: ClusterPlan, vpc: ec2.IVpc) -> ec2.SecurityGroup:
        """Who reaches the private endpoint beside nodes and pods, which the cluster security group admits.

        A group of the control plane's own, so that the same networks do not reach port 443 of every node.
        """
        group = ec2.SecurityGroup(self, "Reach", vpc=vpc, description=f"Kubernetes API of {plan.name}")
        for cidr in plan.private_cidrs:
            group.add_ingress_rule(ec2.Peer.ipv4(cidr), ec2.Port.tcp(443), f"Kubernetes API from {cidr}")
        return group

    @staticmethod
    def _place(resource: eks.CfnCluster, subnets: Sequence[ec2.ISubnet]) -> None:
        """Put the control plane into its own subnets.

        With a private endpoint the L2 ignores ``private_subnets`` and takes the cluster's subnets for its function too.
        The control plane's subnets have no route out, where that function would wait until it times out.
        """
        resource.add_property_override("ResourcesVpcConfig.SubnetIds", [subnet.subnet_id for subnet in subnets])

    def _role(self, name: str) -> iam.Role:
        """The cluster role, for this cluster only (EKS User Guide, "Cross-service confused deputy prevention")."""
        this = Stack.of(self).format_arn(service="eks", resource="cluster", resource_name=name)
        role = iam.Role(
            self,
            "Role",
            description=f"Control plane of the EKS cluster {name}",
            assumed_by=iam.ServicePrincipal(
                "eks.amazonaws.com",
                conditions={"ArnLike": {"aws:SourceArn": this}},
            ),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("AmazonEKSClusterPolicy")],
        )
        acknowledge_managed_policies(
            role,
            ["AmazonEKSClusterPolicy"],
            "EKS names this policy for cluster roles and extends it when the control plane needs new calls.",
        )
        return role

    def _log_group(self, plan: ClusterPlan) -> logs.CfnLogGroup:
        """The log group that EKS writes to; the name is EKS's."""
        group = logs.CfnLogGroup(
            self,
            "LogGroup",
            log_group_name=f"/aws/eks/{plan.name}/cluster",
            retention_in_days=plan.log_retention_days,
        )
        group.apply_removal_policy(removal(retain=plan.retain_logs))
        return group

    def _administrators(self, arns: Sequence[str]) -> None:
        """Cluster-admin rights through access entries; the id follows the principal, so the order may change."""
        for arn in arns:
            self.cluster.grant_access(
                f"Admin{naming.pascal(':'.join(arn.split(':')[4:]))}",
                arn,
                [
                    eks.AccessPolicy.from_access_policy_name(
                        "AmazonEKSClusterAdminPolicy", access_scope_type=eks.AccessScopeType.CLUSTER
                    )
                ],
            )

    def _finish_manifest_function(self, plan: ClusterPlan) -> None:
        """Bound its logs, and accept what CDK gives it; the cluster offers no other choice."""
        provider = self.cluster.node.find_child("KubectlProvider")
        handler = provider.node.find_child("Handler")
        for child in provider.node.find_all():
            if isinstance(child, logs.CfnLogGroup):
                child.retention_in_days = plan.log_retention_days
                child.apply_removal_policy(removal(retain=plan.retain_logs))
        by_cdk = "CDK attaches it to its own function; it reads images and charts, writes logs and joins the VPC."
        acknowledge_managed_policies(
            provider,
            [
                "service-role/AWSLambdaBasicExecutionRole",
                "service-role/AWSLambdaVPCAccessExecutionRole",
                "AmazonEC2ContainerRegistryReadOnly",
            ],
            by_cdk,
        )
        stack = Stack.of(self)
        condition = handler.node.find_child("HasEcrPublic")
        assert isinstance(condition, CfnCondition)
        public = _arn_as_the_rule_prints_it("AmazonElasticContainerRegistryPublicReadOnly")
        choice = f'{{"Fn::If":["{stack.get_logical_id(condition)}",{public},{{"Ref":"AWS::NoValue"}}]}}'
        acknowledge(handler, f"IAM4[Policy::{choice}]", by_cdk)
        acknowledge(handler, "L1", "CDK picks the runtime that it ships and tests its function with.")
        function = handler.node.default_child
        assert isinstance(function, CfnResource)
        acknowledge_wildcards(
            provider,
            [f"Resource::<{stack.get_logical_id(function)}.Arn>:*"],
            "CDK's provider calls every version of the one function beside it.",
        )


def _arn_as_the_rule_prints_it(policy: str) -> str:
    parts = ["arn:", {"Ref": "AWS::Partition"}, f":iam::aws:policy/{policy}"]
    return json.dumps({"Fn::Join": ["", parts]}, separators=(",", ":"))


def _endpoint_access(public_cidrs: Sequence[str]) -> eks.EndpointAccess:
    if not public_cidrs:
        return eks.EndpointAccess.PRIVATE
    return eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*public_cidrs)


def _scaling_tier(tier: str | None) -> eks.ControlPlaneScalingTier | None:
    return eks.ControlPlaneScalingTier.of(tier) if tier else None
