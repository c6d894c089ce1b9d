"""What the network template says: one training zone, one way out, and nothing looked up."""

import json
from typing import Any

import pytest

from tests.synthesis import ROOT, Template, assembled, of_type, only

pytestmark = pytest.mark.template

NEW = (ROOT / "cluster.yaml").read_text()
SHORT = """
name: t
region: us-east-2
account: "111122223333"
registry_mirror: registry.example.com/mirror
network: {NETWORK}
kubernetes: {administrators: ["arn:aws:iam::111122223333:role/admin"]}
pools:
  system: {purpose: system, instance_type: m7i.2xlarge, nodes: 2}
  train: {purpose: training, instance_type: p5.48xlarge, nodes: 2, placement: cluster, efa: EFA}
"""
ENDPOINTS = "{training_zone: use2-az2, second_zone: use2-az1, cidr: 10.64.0.0/16, egress: endpoints}"
EXISTING = """
  training_zone: us-east-2b
  second_zone: us-east-2a
  existing_vpc:
    id: vpc-0123456789abcdef0
    cidr: 10.0.0.0/16
    training_subnet: {id: subnet-0aaaaaaaaaaaaaaa1, zone: us-east-2b, cidr: 10.0.0.0/18}
    system_subnets:
      - {id: subnet-0aaaaaaaaaaaaaaa2, zone: us-east-2b, cidr: 10.0.64.0/20}
      - {id: subnet-0aaaaaaaaaaaaaaa3, zone: us-east-2a, cidr: 10.0.80.0/20}
    control_plane_subnets:
      - {id: subnet-0aaaaaaaaaaaaaaa4, zone: us-east-2b, cidr: 10.0.96.0/27}
      - {id: subnet-0aaaaaaaaaaaaaaa5, zone: us-east-2a, cidr: 10.0.97.0/27}"""


def network(text: str) -> Template:
    return assembled(text).template("network")


def short(section: str, efa: str = "all") -> str:
    return SHORT.replace("{NETWORK}", section).replace("EFA}", f"{efa}}}")


def tags(resource: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in resource["Properties"].get("Tags", [])}


def subnets(template: Template) -> dict[str, tuple[str, dict[str, Any]]]:
    """Logical id and properties by the key that ends the Name tag."""
    prefix = len(tags(next(iter(of_type(template, "AWS::EC2::VPC").values())))["Name"]) + 1
    return {
        tags(resource)["Name"][prefix:]: (name, resource["Properties"])
        for name, resource in of_type(template, "AWS::EC2::Subnet").items()
    }


def routes_of(template: Template, subnet: str) -> list[dict[str, Any]]:
    (table,) = (
        item["Properties"]["RouteTableId"]
        for item in of_type(template, "AWS::EC2::SubnetRouteTableAssociation").values()
        if item["Properties"]["SubnetId"] == {"Ref": subnet}
    )
    routes = (item["Properties"] for item in of_type(template, "AWS::EC2::Route").values())
    return [route for route in routes if route["RouteTableId"] == table]


def test_training_has_one_zone_and_the_control_plane_two() -> None:
    zones = {key: item["AvailabilityZone"] for key, (_, item) in subnets(network(NEW)).items()}
    assert zones == {
        "training": "us-east-2b",
        "system-a": "us-east-2b",
        "system-b": "us-east-2a",
        "control-plane-a": "us-east-2b",
        "control-plane-b": "us-east-2a",
        "nat": "us-east-2b",
    }


def test_one_nat_gateway_in_the_training_zone_serves_nodes_and_functions() -> None:
    template = network(NEW)
    (gateway,) = of_type(template, "AWS::EC2::NatGateway")
    found = subnets(template)
    assert only(template, "AWS::EC2::NatGateway")["SubnetId"] == {"Ref": found["nat"][0]}
    for key in ("training", "system-a", "system-b"):
        (route,) = routes_of(template, found[key][0])
        assert route["NatGatewayId"] == {"Ref": gateway}
        assert route["DestinationCidrBlock"] == "0.0.0.0/0"
    (route,) = routes_of(template, found["nat"][0])
    assert "GatewayId" in route
    for key in ("control-plane-a", "control-plane-b"):
        assert routes_of(template, found[key][0]) == []


def test_no_subnet_gives_public_addresses() -> None:
    assert all(item["MapPublicIpOnLaunch"] is False for _, item in subnets(network(NEW)).values())


def test_the_s3_endpoint_is_on_every_private_route_table() -> None:
    template = network(NEW)
    public = subnets(template)["nat"][0]
    private = {
        item["Properties"]["RouteTableId"]["Ref"]
        for item in of_type(template, "AWS::EC2::SubnetRouteTableAssociation").values()
        if item["Properties"]["SubnetId"] != {"Ref": public}
    }
    endpoint = only(template, "AWS::EC2::VPCEndpoint")
    assert endpoint["VpcEndpointType"] == "Gateway"
    assert {table["Ref"] for table in endpoint["RouteTableIds"]} == private
    assert len(private) == 5


def test_zone_ids_land_in_the_property_for_ids() -> None:
    for key, (_, item) in subnets(network(short(ENDPOINTS))).items():
        expected = "use2-az1" if key.endswith("-b") else "use2-az2"
        assert item["AvailabilityZoneId"] == expected
        assert "AvailabilityZone" not in item


def test_without_internet_every_service_has_a_private_endpoint() -> None:
    assembly = assembled(short(ENDPOINTS))
    template = assembly.template("network")
    for kind in ("NatGateway", "InternetGateway", "EIP", "Route"):
        assert of_type(template, f"AWS::EC2::{kind}") == {}
    endpoints = [item["Properties"] for item in of_type(template, "AWS::EC2::VPCEndpoint").values()]
    interfaces = [item for item in endpoints if item["VpcEndpointType"] == "Interface"]
    assert {item["ServiceName"] for item in interfaces} == {
        f"com.amazonaws.us-east-2.{service}" for service in assembly.plan.network.interface_endpoints
    }
    system = [{"Ref": name} for key, (name, _) in subnets(template).items() if key.startswith("system")]
    for item in interfaces:
        assert item["PrivateDnsEnabled"] is True
        assert item["SubnetIds"] == system
        (group,) = item["SecurityGroupIds"]
        rules = template["Resources"][group["Fn::GetAtt"][0]]["Properties"]["SecurityGroupIngress"]
        assert [(r["CidrIp"], r["FromPort"], r["ToPort"]) for r in rules] == [("10.64.0.0/16", 443, 443)]


def test_the_function_that_applies_manifests_can_call_its_helper_without_internet() -> None:
    assert "lambda" in assembled(short(ENDPOINTS)).plan.network.interface_endpoints


def test_an_existing_vpc_gets_nothing_but_security_groups() -> None:
    assembly = assembled(short(EXISTING))
    template = assembly.template("network")
    assert {item["Type"] for item in template["Resources"].values()} == {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
    }
    groups = of_type(template, "AWS::EC2::SecurityGroup").values()
    assert {group["Properties"]["VpcId"] for group in groups} == {"vpc-0123456789abcdef0"}
    assert template["Outputs"]["TrainingSubnetId"]["Value"] == "subnet-0aaaaaaaaaaaaaaa1"


@pytest.mark.parametrize("text", [NEW, short(EXISTING)], ids=["new", "existing"])
def test_efa_group_lets_everything_through_between_members_both_ways(text: str) -> None:
    template = network(text)
    group = template["Outputs"]["EfaSecurityGroupId"]["Value"]
    incoming = only(template, "AWS::EC2::SecurityGroupIngress")
    assert (incoming["IpProtocol"], incoming["GroupId"], incoming["SourceSecurityGroupId"]) == ("-1", group, group)
    outgoing = only(template, "AWS::EC2::SecurityGroupEgress")
    assert (outgoing["IpProtocol"], outgoing["GroupId"], outgoing["DestinationSecurityGroupId"]) == ("-1", group, group)


def test_without_efa_there_is_no_efa_group() -> None:
    template = network(short(ENDPOINTS, efa="none"))
    assert "EfaSecurityGroupId" not in template["Outputs"]
    assert of_type(template, "AWS::EC2::SecurityGroupIngress") == {}


def test_the_default_security_group_is_emptied() -> None:
    template = network(NEW)
    (vpc,) = of_type(template, "AWS::EC2::VPC")
    closed = only(template, "Custom::VpcRestrictDefaultSG")
    assert closed["DefaultSecurityGroupId"] == {"Fn::GetAtt": [vpc, "DefaultSecurityGroup"]}


def test_flow_logs_are_kept_for_the_stated_time_by_a_role_of_their_own() -> None:
    template = network(NEW)
    (group,) = of_type(template, "AWS::Logs::LogGroup")
    assert only(template, "AWS::Logs::LogGroup")["RetentionInDays"] == 30
    log = only(template, "AWS::EC2::FlowLog")
    assert (log["ResourceType"], log["TrafficType"]) == ("VPC", "ALL")
    assert log["LogDestination"] == {"Fn::GetAtt": [group, "Arn"]}
    (statement,) = only(template, "AWS::IAM::Policy")["PolicyDocument"]["Statement"]
    assert statement["Resource"] == {"Fn::GetAtt": [group, "Arn"]}
    role = template["Resources"][log["DeliverLogsPermissionArn"]["Fn::GetAtt"][0]]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": "111122223333"}


def test_discovery_tags_are_on_the_training_subnet_only_and_only_for_karpenter() -> None:
    def discovered(template: Template) -> list[str]:
        return [
            tags(item)["Name"] for item in template["Resources"].values() if "karpenter.sh/discovery" in tags_of(item)
        ]

    def tags_of(item: dict[str, Any]) -> dict[str, str]:
        found = item.get("Properties", {}).get("Tags", [])
        return {tag["Key"]: tag["Value"] for tag in found} if isinstance(found, list) else {}

    assert discovered(network(NEW)) == ["llm-train-training"]
    assert discovered(network(short(ENDPOINTS))) == []


def test_internal_load_balancers_go_to_the_system_subnets() -> None:
    template = network(NEW)
    marked = {
        tags(item)["Name"]
        for item in of_type(template, "AWS::EC2::Subnet").values()
        if tags(item).get("kubernetes.io/role/internal-elb") == "1"
    }
    assert marked == {"llm-train-system-a", "llm-train-system-b"}


@pytest.mark.parametrize("text", [NEW, short(ENDPOINTS), short(EXISTING)], ids=["nat", "endpoints", "existing"])
def test_outputs_are_those_of_the_plan_and_nothing_is_looked_up(text: str) -> None:
    assembly = assembled(text)
    plan = assembly.plan.network
    outputs = assembly.template("network")["Outputs"]
    for planned in (plan.vpc, plan.training_subnet_id, plan.node_security_group_id, plan.efa_security_group_id):
        if planned is not None and not isinstance(planned, str):
            assert planned.key in outputs
    assert "missing" not in assembly.manifest


def test_ids_of_what_cannot_be_replaced_in_place() -> None:
    """Logical ids are a contract: a new one replaces the network under a running cluster."""
    template = network(NEW)
    kinds = ("AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup", "AWS::Logs::LogGroup")
    assert sorted(name for name, item in template["Resources"].items() if item["Type"] in kinds) == [
        "NetworkControlPlaneASubnet49EA4BC9",
        "NetworkControlPlaneBSubnet98648A15",
        "NetworkEfa4518A4AA",
        "NetworkFlowLogGroup1F868030",
        "NetworkNatSubnet2B8C052F",
        "NetworkNodes23796194",
        "NetworkSystemASubnetB87C0842",
        "NetworkSystemBSubnet63630A44",
        "NetworkTrainingSubnetDAD4EDA4",
        "NetworkVpc7FB7348F",
    ], json.dumps(sorted(template["Resources"]), indent=1)
