"""The VPC of a training cluster, new or existing, and the security groups that name its nodes.

Subnets are written one by one as the Plan lists them: zones may be given by name or by id, and nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Acknowledgment, CfnTag, Stack, Tags, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from constructs.acknowledgement import acknowledge
from constructs.retention import removal
from eks_training import naming
from eks_training.plan.network import NetworkPlan, Subnet

_ANYTHING = "-1"
"""Every protocol and port, in EC2's words."""


class TrainingNetwork(Construct):
    """VPC, subnets and node security groups.

    The stack above must name its own zones (``Stack.availability_zones``): CDK's VPC reads them, and in a stack with a
    concrete account it would otherwise ask AWS at synthesis.

    Args:
        plan: the network as decided.
        name: name of the cluster; the first part of every ``Name`` tag.
    """

    vpc: ec2.IVpc
    subnets: dict[str, ec2.ISubnet]

    def __init__(self, scope: Construct, id: str, *, plan: NetworkPlan, name: str) -> None:
        super().__init__(scope, id)
        self._plan = plan
        self._name = name
        if plan.vpc_id:
            self._take(plan.vpc_id)
        else:
            self._make()
        self.node_security_group = self._group("Nodes", "Identity of every node: what storage admits", "nodes")
        self.efa_security_group = self._efa_group() if plan.efa_security_group else None

    def _take(self, vpc_id: str) -> None:
        """Use what exists and change nothing in it."""
        plan = self._plan
        self.vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=vpc_id,
            vpc_cidr_block=plan.cidr,
            availability_zones=[plan.training_zone.value, plan.second_zone.value],
        )
        self.subnets = {}
        for subnet in plan.subnets:
            assert subnet.id is not None, "every subnet of an existing VPC has an id"
            taken = ec2.Subnet.from_subnet_attributes(
                self, naming.pascal(subnet.key), subnet_id=subnet.id, availability_zone=subnet.zone.value
            )
            Validations.of(taken).acknowledge(
                Acknowledgment(
                    id="Annotation::@aws-cdk/aws-ec2:noSubnetRouteTableId",
                    reason="Route tables of an existing VPC belong to its owner; nothing here reads or changes them.",
                )
            )
            self.subnets[subnet.key] = taken

    def _make(self) -> None:
        plan = self._plan
        self.vpc = vpc = ec2.Vpc(
            self,
            "Vpc",
            vpc_name=self._name,
            ip_addresses=ec2.IpAddresses.cidr(plan.cidr),
            availability_zones=[plan.training_zone.value, plan.second_zone.value],
            subnet_configuration=[],
            restrict_default_security_group=True,
        )
        private = {subnet.key: self._private(subnet) for subnet in plan.subnets if subnet.private}
        self.subnets = {**private}
        public = [subnet for subnet in plan.subnets if not subnet.private]
        if public:
            gateway = self._internet_gateway()
            for subnet in public:
                made = self._public(subnet, *gateway)
                self.subnets[subnet.key] = made
                nat = made.add_nat_gateway()
                for routed in plan.subnets:
                    if routed.routed_out:
                        private[routed.key].add_default_nat_route(nat.ref)
        ec2.GatewayVpcEndpoint(
            self,
            "S3",
            vpc=vpc,
            service=ec2.GatewayVpcEndpointAwsService.S3,
            subnets=[ec2.SubnetSelection(subnets=list(private.values()))],
        )
        if plan.interface_endpoints:
            self._interface_endpoints(plan.interface_endpoints)
        if plan.flow_log_retention_days:
            self._flow_log(plan.flow_log_retention_days)
        else:
            acknowledge(vpc, "VPC7", "The user switched flow logs off for this cluster.")

    # --- subnets and the way out ------------------------------------------------------------------------------------

    def _private(self, subnet: Subnet) -> ec2.PrivateSubnet:
        made = ec2.PrivateSubnet(
            self,
            naming.pascal(subnet.key),
            vpc_id=self.vpc.vpc_id,
            cidr_block=subnet.cidr,
            availability_zone=subnet.zone.value,
            map_public_ip_on_launch=False,
        )
        self._finish(made, subnet)
        return made

    def _public(self, subnet: Subnet, gateway_id: str, attachment: ec2.CfnVPCGatewayAttachment) -> ec2.PublicSubnet:
        """The subnet of the NAT gateway; instances never run in it."""
        made = ec2.PublicSubnet(
            self,
            naming.pascal(subnet.key),
            vpc_id=self.vpc.vpc_id,
            cidr_block=subnet.cidr,
            availability_zone=subnet.zone.value,
            map_public_ip_on_launch=False,
        )
        made.add_default_internet_route(gateway_id, attachment)
        self._finish(made, subnet)
        return made

    def _finish(self, made: ec2.PrivateSubnet | ec2.PublicSubnet, subnet: Subnet) -> None:
        resource = made.node.default_child
        assert isinstance(resource, ec2.CfnSubnet)
        if subnet.zone.is_id:
            resource.availability_zone = None
            resource.availability_zone_id = subnet.zone.value
        # The same rule, in the two linters that read the template.
        resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3010"]}})
        Validations.of(resource).acknowledge(
            Acknowledgment(
                id="CloudFormation-Validate::W3010",
                reason="The zone is the point: reservations and EFA capacity lie in one zone, which the user names.",
            )
        )
        Tags.of(made).add("Name", f"{self._name}-{subnet.key}")
        # Discovery reads the tags of subnets; the same tag on their route tables would only mislead.
        for key, value in subnet.tags:
            Tags.of(made).add(key, value, include_resource_types=["AWS::EC2::Subnet"])

    def _internet_gateway(self) -> tuple[str, ec2.CfnVPCGatewayAttachment]:
        gateway = ec2.CfnInternetGateway(self, "InternetGateway", tags=[CfnTag(key="Name", value=self._name)])
        attachment = ec2.CfnVPCGatewayAttachment(
            self, "InternetGatewayAttachment", vpc_id=self.vpc.vpc_id, internet_gateway_id=gateway.ref
        )
        return gateway.ref, attachment

    def _interface_endpoints(self, services: Iterable[str]) -> None:
        """Endpoints with the public names of their services, one interface in each zone."""
        group = self._group("Endpoints", "Interface endpoints: HTTPS from the VPC", "endpoints")
        group.add_ingress_rule(ec2.Peer.ipv4(self._plan.cidr), ec2.Port.tcp(443), "HTTPS from the VPC")
        system = [self.subnets[subnet.key] for subnet in self._plan.by_role("system")]
        for service in services:
            endpoint = ec2.InterfaceVpcEndpoint(
                self,
                naming.pascal(service),
                vpc=self.vpc,
                service=ec2.InterfaceVpcEndpointAwsService(service),
                subnets=ec2.SubnetSelection(subnets=system),
                security_groups=[group],
                open=False,
                private_dns_enabled=True,
            )
            Tags.of(endpoint).add("Name", f"{self._name}-{service}")

    # --- security groups --------------------------------------------------------------------------------------------

    def _group(self, id: str, description: str, suffix: str) -> ec2.SecurityGroup:
        """A group without egress: a node's way out is a rule of the cluster security group, which it carries too."""
        group = ec2.SecurityGroup(self, id, vpc=self.vpc, description=description, allow_all_outbound=False)
        Tags.of(group).add("Name", f"{self._name}-{suffix}")
        return group

    def _efa_group(self) -> ec2.SecurityGroup:
        """Everything between its members, both ways.

        EFA traffic bypasses the operating system and is let through only by rules that name the group itself; open
        egress does not replace the egress rule (EC2 User Guide, "Get started with EFA and MPI").  L1 rules, because the
        L2 drops a rule that it takes for redundant.
        """
        group = self._group("Efa", "EFA: all traffic between members", "efa")
        ec2.CfnSecurityGroupIngress(
            self,
            "EfaIngress",
            group_id=group.security_group_id,
            source_security_group_id=group.security_group_id,
            ip_protocol=_ANYTHING,
            description="EFA from members",
        )
        ec2.CfnSecurityGroupEgress(
            self,
            "EfaEgress",
            group_id=group.security_group_id,
            destination_security_group_id=group.security_group_id,
            ip_protocol=_ANYTHING,
            description="EFA to members",
        )
        return group

    # --- flow logs --------------------------------------------------------------------------------------------------

    def _flow_log(self, retention_days: int) -> None:
        """All flows of the VPC, in a log group that only this role writes to.

        Trust and rights follow "IAM role for publishing flow logs to CloudWatch Logs" (VPC User Guide), without the
        right to make log groups.
        """
        group = logs.CfnLogGroup(self, "FlowLogGroup", retention_in_days=retention_days)
        group.apply_removal_policy(removal(retain=self._plan.retain_logs))
        stack = Stack.of(self)
        source = stack.format_arn(service="ec2", resource="vpc-flow-log", resource_name="*")
        role = iam.Role(
            self,
            "FlowLogRole",
            description=f"Flow logs of the VPC of {self._name}",
            assumed_by=iam.ServicePrincipal(
                "vpc-flow-logs.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": source},
                },
            ),
        )
        written = iam.Policy(
            self,
            "FlowLogPolicy",
            roles=[role],
            statements=[
                iam.PolicyStatement(
                    actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                    resources=[group.attr_arn],
                )
            ],
        )
        log = ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_id=self.vpc.vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.attr_arn,
            deliver_logs_permission_arn=role.role_arn,
        )
        log.node.add_dependency(written)
