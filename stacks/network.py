"""The network: the one stack that everything else stands on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from constructs.training_network import TrainingNetwork
from eks_training.plan import Plan


class NetworkStack(Stack):
    """VPC, subnets and node security groups of a cluster."""

    def __init__(self, scope: Construct, id: str, *, plan: Plan, **stack: Any) -> None:
        self._zones = [plan.network.training_zone.value, plan.network.second_zone.value]
        super().__init__(scope, id, **stack)
        # CDK's own functions name their role twice, by reference and by DependsOn; harmless, and not ours to change.
        self.template_options.metadata = {"cfn-lint": {"config": {"ignore_checks": ["W3005"]}}}
        network = TrainingNetwork(self, "Network", plan=plan.network, name=plan.name)
        self.vpc: ec2.IVpc = network.vpc
        self.subnets: Mapping[str, ec2.ISubnet] = network.subnets
        self.node_security_group_id: str = network.node_security_group.security_group_id
        self.efa_security_group_id: str | None = None

        CfnOutput(self, "VpcId", value=network.vpc.vpc_id)
        CfnOutput(self, "TrainingSubnetId", value=network.subnets[plan.network.training_subnet.key].subnet_id)
        CfnOutput(self, plan.network.node_security_group_id.key, value=self.node_security_group_id)
        if network.efa_security_group and plan.network.efa_security_group_id:
            self.efa_security_group_id = network.efa_security_group.security_group_id
            CfnOutput(self, plan.network.efa_security_group_id.key, value=self.efa_security_group_id)

    @property
    def availability_zones(self) -> list[str]:
        """The zones of the Plan, so that CDK never asks AWS for those of the account."""
        return self._zones
