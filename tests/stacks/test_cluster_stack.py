"""What the cluster template says: no Auto Mode, two zones, order of add-ons, and who may do what."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Environment, Validations
from cdk_nag import AwsSolutionsChecks
from cfnlint.api import lint_file

from stacks.cluster import ClusterStack
from stacks.network import NetworkStack
from tests.synthesis import ROOT, Template, assembled, new_app, of_type, only, plan_of, values

pytestmark = pytest.mark.template

PRIVATE = (ROOT / "cluster.yaml").read_text()
PUBLIC = """
name: t
region: us-east-2
account: "111122223333"
registry_mirror: registry.example.com/mirror
network: {training_zone: us-east-2b, second_zone: us-east-2a, cidr: 10.64.0.0/16, egress: endpoints}
kubernetes:
  version: "1.36"
  endpoint: {access: public, allowed_cidrs: [8.8.8.0/24]}
  administrators:
    - arn:aws:iam::111122223333:role/teams/admin
    - arn:aws:iam::444455556666:user/admin
  scaling_tier: 2xl
  support: extended
  log_retention_days: 30
  addon_versions: {coredns: v1.12.4-eksbuild.1}
pools:
  system: {purpose: system, instance_type: m7i.2xlarge, nodes: 2}
  more: {purpose: system, instance_type: m7i.4xlarge, nodes: 2}
storage: {removal: delete}
"""
EXISTING = """
name: t
region: us-east-2
network:
  training_zone: use2-az2
  second_zone: use2-az1
  existing_vpc:
    id: vpc-0123456789abcdef0
    cidr: 10.0.0.0/16
    training_subnet: {id: subnet-0aaaaaaaaaaaaaaa1, zone: use2-az2, cidr: 10.0.0.0/18}
    system_subnets:
      - {id: subnet-0aaaaaaaaaaaaaaa3, zone: use2-az1, cidr: 10.0.80.0/20}
      - {id: subnet-0aaaaaaaaaaaaaaa2, zone: use2-az2, cidr: 10.0.64.0/20}
    control_plane_subnets:
      - {id: subnet-0aaaaaaaaaaaaaaa4, zone: use2-az2, cidr: 10.0.96.0/27}
      - {id: subnet-0aaaaaaaaaaaaaaa5, zone: use2-az1, cidr: 10.0.97.0/27}
kubernetes: {administrators: ["arn:aws:iam::111122223333:role/admin"]}
pools:
  system: {purpose: system, instance_type: m7i.2xlarge, nodes: 2}
"""
EVERY = pytest.mark.parametrize("text", [PRIVATE, PUBLIC, EXISTING], ids=["nat", "endpoints", "existing"])


def cluster(text: str) -> Template:
    return assembled(text).template("cluster")


def published_by_network(text: str, reference: Any) -> dict[str, Any]:
    """The resource behind a reference from the cluster's stack to the network's."""
    template = assembled(text).template("network")
    output = template["Outputs"][reference["Fn::GetStackOutput"]["OutputName"]]["Value"]
    resource: dict[str, Any] = template["Resources"][output["Ref"]]
    return {"id": output["Ref"], **resource["Properties"]}


def addons(template: Template) -> dict[str, tuple[str, dict[str, Any]]]:
    """Logical id and resource by the name of the add-on."""
    return {
        item["Properties"]["AddonName"]: (name, item) for name, item in of_type(template, "AWS::EKS::Addon").items()
    }


def after(template: Template, name: str) -> set[str]:
    found = template["Resources"][name].get("DependsOn", [])
    return {found} if isinstance(found, str) else set(found)


@EVERY
def test_never_auto_mode(text: str) -> None:
    properties = only(cluster(text), "AWS::EKS::Cluster")
    assert properties.get("ComputeConfig", {}).get("Enabled", False) is False
    assert properties.get("StorageConfig", {}).get("BlockStorage", {}).get("Enabled", False) is False
    network = properties.get("KubernetesNetworkConfig", {})
    assert network.get("ElasticLoadBalancing", {}).get("Enabled", False) is False
    assert "NodePools" not in properties.get("ComputeConfig", {})


def test_control_plane_is_in_its_own_subnets_of_two_zones() -> None:
    references = only(cluster(PRIVATE), "AWS::EKS::Cluster")["ResourcesVpcConfig"]["SubnetIds"]
    found = [published_by_network(PRIVATE, reference) for reference in references]
    assert {subnet["AvailabilityZone"] for subnet in found} == {"us-east-2a", "us-east-2b"}
    blocks = {subnet.cidr for subnet in assembled(PRIVATE).plan.network.by_role("control-plane")}
    assert {subnet["CidrBlock"] for subnet in found} == blocks


def test_an_existing_vpc_is_used_by_id() -> None:
    template = cluster(EXISTING)
    properties = only(template, "AWS::EKS::Cluster")
    assert properties["ResourcesVpcConfig"]["SubnetIds"] == ["subnet-0aaaaaaaaaaaaaaa4", "subnet-0aaaaaaaaaaaaaaa5"]
    for function in of_type(template, "AWS::Lambda::Function").values():
        assert set(function["Properties"]["VpcConfig"]["SubnetIds"]) == {
            "subnet-0aaaaaaaaaaaaaaa2",
            "subnet-0aaaaaaaaaaaaaaa3",
        }


def test_functions_that_apply_manifests_have_a_way_out() -> None:
    network = assembled(PRIVATE).template("network")
    tables = {
        item["Properties"]["SubnetId"]["Ref"]: item["Properties"]["RouteTableId"]["Ref"]
        for item in of_type(network, "AWS::EC2::SubnetRouteTableAssociation").values()
    }
    routed = {
        item["Properties"]["RouteTableId"]["Ref"]
        for item in of_type(network, "AWS::EC2::Route").values()
        if "NatGatewayId" in item["Properties"]
    }
    functions = of_type(cluster(PRIVATE), "AWS::Lambda::Function")
    assert len(functions) == 2
    for function in functions.values():
        for reference in function["Properties"]["VpcConfig"]["SubnetIds"]:
            assert tables[published_by_network(PRIVATE, reference)["id"]] in routed


def test_secrets_are_encrypted_with_a_key_that_rotates_and_stays() -> None:
    template = cluster(PRIVATE)
    ((name, key),) = of_type(template, "AWS::KMS::Key").items()
    assert key["Properties"]["EnableKeyRotation"] is True
    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    (encryption,) = only(template, "AWS::EKS::Cluster")["EncryptionConfig"]
    assert encryption == {"Provider": {"KeyArn": {"Fn::GetAtt": [name, "Arn"]}}, "Resources": ["secrets"]}


@pytest.mark.parametrize(("text", "days", "kept"), [(PRIVATE, 90, "RetainExceptOnCreate"), (PUBLIC, 30, "Delete")])
def test_all_control_plane_logs_go_to_a_group_that_exists_first(text: str, days: int, kept: str) -> None:
    template = cluster(text)
    ((name, resource),) = of_type(template, "AWS::EKS::Cluster").items()
    enabled = {item["Type"] for item in resource["Properties"]["Logging"]["ClusterLogging"]["EnabledTypes"]}
    assert enabled == {"api", "audit", "authenticator", "controllerManager", "scheduler"}
    wanted = f"/aws/eks/{resource['Properties']['Name']}/cluster"
    groups = of_type(template, "AWS::Logs::LogGroup")
    (group,) = (id for id, item in groups.items() if item["Properties"]["LogGroupName"] == wanted)
    assert group in after(template, name)
    for item in groups.values():
        assert item["Properties"]["RetentionInDays"] == days
        assert item["DeletionPolicy"] == kept


def test_only_named_administrators_and_the_manifest_function_get_in() -> None:
    template = cluster(PUBLIC)
    config = only(template, "AWS::EKS::Cluster")["AccessConfig"]
    assert config == {"AuthenticationMode": "API", "BootstrapClusterCreatorAdminPermissions": False}
    entries = [item["Properties"] for item in of_type(template, "AWS::EKS::AccessEntry").values()]
    people = {entry["PrincipalArn"] for entry in entries if isinstance(entry["PrincipalArn"], str)}
    assert people == {"arn:aws:iam::111122223333:role/teams/admin", "arn:aws:iam::444455556666:user/admin"}
    (function,) = (entry["PrincipalArn"] for entry in entries if not isinstance(entry["PrincipalArn"], str))
    assert "KubectlProviderHandlerServiceRole" in function["Fn::GetAtt"][0]
    for entry in entries:
        (policy,) = entry["AccessPolicies"]
        assert policy["AccessScope"] == {"Type": "cluster"}
        assert any("AmazonEKSClusterAdminPolicy" in str(value) for value in values(policy["PolicyArn"]))


def test_the_endpoint_is_private_unless_opened_to_named_networks() -> None:
    private = only(cluster(PRIVATE), "AWS::EKS::Cluster")["ResourcesVpcConfig"]
    assert (private["EndpointPrivateAccess"], private["EndpointPublicAccess"]) == (True, False)
    public = only(cluster(PUBLIC), "AWS::EKS::Cluster")["ResourcesVpcConfig"]
    assert (public["EndpointPrivateAccess"], public["EndpointPublicAccess"]) == (True, True)
    assert public["PublicAccessCidrs"] == ["8.8.8.0/24"]


def test_tier_support_version_and_protection_follow_the_plan() -> None:
    asked = only(cluster(PUBLIC), "AWS::EKS::Cluster")
    assert asked["ControlPlaneScalingConfig"] == {"Tier": "tier-2xl"}
    assert asked["UpgradePolicy"] == {"SupportType": "EXTENDED"}
    assert asked["Version"] == "1.36"
    default = only(cluster(PRIVATE), "AWS::EKS::Cluster")
    assert "ControlPlaneScalingConfig" not in default
    assert default["UpgradePolicy"] == {"SupportType": "STANDARD"}
    assert default["Version"] == "1.35"


@EVERY
def test_what_eks_does_not_install_is_installed_as_add_ons(text: str) -> None:
    template = cluster(text)
    assert only(template, "AWS::EKS::Cluster")["BootstrapSelfManagedAddons"] is False
    assert {"vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent"} <= addons(template).keys()
    for _, addon in addons(template).values():
        assert addon["Properties"]["ResolveConflicts"] == "OVERWRITE"


@EVERY
def test_nodes_find_network_and_identity_and_the_rest_finds_nodes(text: str) -> None:
    template = cluster(text)
    found = addons(template)
    groups = set(of_type(template, "AWS::EKS::Nodegroup"))
    first = {name for name, addon in found.items() if not after(template, addon[0]) & groups}
    assert first == {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
    for name, (id, _) in found.items():
        if name in first:
            assert all(id in after(template, group) for group in groups)
        else:
            assert groups <= after(template, id)
    # The CNI's role comes through the agent.
    assert found["eks-pod-identity-agent"][0] in after(template, found["vpc-cni"][0])


def test_versions_of_add_ons_are_those_asked_for_or_left_to_eks() -> None:
    versions = {name: addon["Properties"].get("AddonVersion") for name, (_, addon) in addons(cluster(PUBLIC)).items()}
    assert versions.pop("coredns") == "v1.12.4-eksbuild.1"
    assert set(versions.values()) == {None}


def test_roles_of_add_ons_can_be_taken_through_pod_identity() -> None:
    template = cluster(PRIVATE)
    links = {
        link["ServiceAccount"]: link["RoleArn"]["Fn::GetAtt"][0]
        for _, addon in addons(template).values()
        for link in addon["Properties"].get("PodIdentityAssociations", [])
    }
    assert links.keys() == {"aws-node", "ebs-csi-controller-sa"}
    for role in links.values():
        (trust,) = template["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        assert set(trust["Action"]) == {"sts:AssumeRole", "sts:TagSession"}
        assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}


def test_the_node_role_leaves_addresses_to_the_cni() -> None:
    template = cluster(PRIVATE)
    (role,) = {
        item["Properties"]["NodeRole"]["Fn::GetAtt"][0] for item in of_type(template, "AWS::EKS::Nodegroup").values()
    }
    policies = json.dumps(template["Resources"][role]["Properties"]["ManagedPolicyArns"])
    assert "AmazonEKSWorkerNodePolicy" in policies
    assert "CNI" not in policies


def test_the_cluster_role_serves_this_cluster_only_and_can_use_the_key_in_time() -> None:
    template = cluster(PRIVATE)
    ((name, resource),) = of_type(template, "AWS::EKS::Cluster").items()
    role = resource["Properties"]["RoleArn"]["Fn::GetAtt"][0]
    (trust,) = template["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    source = trust["Condition"]["ArnLike"]["aws:SourceArn"]
    assert source == "arn:aws:eks:us-east-2:111122223333:cluster/llm-train"
    (policy,) = (
        id for id, item in of_type(template, "AWS::IAM::Policy").items() if {"Ref": role} in item["Properties"]["Roles"]
    )
    assert policy in after(template, name)


@EVERY
def test_outputs_are_those_of_the_plan(text: str) -> None:
    plan = assembled(text).plan
    outputs = cluster(text)["Outputs"]
    named = {"ClusterName", "KubeconfigCommand", plan.cluster.endpoint.key, plan.cluster.security_group_id.key}
    assert named <= outputs.keys()
    command = f"aws eks update-kubeconfig --region us-east-2 --name {plan.name}"
    assert outputs["KubeconfigCommand"]["Value"] == command


def test_ids_of_what_must_never_be_replaced() -> None:
    """Logical ids are a contract: a new one replaces the cluster, or loses its key or its audit log."""
    template = cluster(PRIVATE)
    kinds = ("AWS::EKS::Cluster", "AWS::KMS::Key", "AWS::EKS::Nodegroup")
    names = sorted(name for name, item in template["Resources"].items() if item["Type"] in kinds)
    assert names == ["ControlPlaneCluster8AFA2E51", "ControlPlaneSecretsKey72FED211", "SystemC1397B44"]
    assert "ControlPlaneLogGroup6582DA4E" in template["Resources"]


@EVERY
def test_network_and_cluster_leave_no_finding_and_no_look_up(text: str, tmp_path: Path) -> None:
    plan = plan_of(text)
    app = new_app(str(tmp_path))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    env = Environment(account=plan.account, region=plan.region)
    network = NetworkStack(app, plan.network.stack, plan=plan, env=env)
    ClusterStack(app, plan.cluster.stack, plan=plan, network=network, env=env)
    app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())
    assert {item["pluginName"] for item in report["pluginReports"]} >= {"AwsSolutions"}
    assert [found for item in report["pluginReports"] for found in item["violations"]] == []
    assert "missing" not in json.loads((tmp_path / "manifest.json").read_text())
    templates = sorted(tmp_path.glob("*.template.json"))
    assert [str(match) for template in templates for match in lint_file(template)] == []


def test_the_private_endpoint_answers_the_vpc_and_the_named_networks() -> None:
    text = PRIVATE.replace("    access: private\n", "    access: private\n    private_cidrs: [192.168.0.0/16]\n")
    for config, expected in ((PRIVATE, {"10.64.0.0/16"}), (text, {"10.64.0.0/16", "192.168.0.0/16"})):
        template = cluster(config)
        asked = only(template, "AWS::EKS::Cluster")["ResourcesVpcConfig"]["SecurityGroupIds"]
        groups = of_type(template, "AWS::EC2::SecurityGroup")
        (group,) = (item for name, item in groups.items() if asked == [{"Fn::GetAtt": [name, "GroupId"]}])
        admitted = group["Properties"]["SecurityGroupIngress"]
        assert {(rule["CidrIp"], rule["FromPort"], rule["ToPort"]) for rule in admitted} == {
            (cidr, 443, 443) for cidr in expected
        }


def test_add_ons_are_configured_as_the_user_says() -> None:
    text = PRIVATE.replace(
        "kubernetes:\n", 'kubernetes:\n  addon_configuration: {vpc-cni: {env: {WARM_IP_TARGET: "4"}}}\n'
    )
    addons = {
        item["Properties"]["AddonName"]: item["Properties"]
        for item in of_type(cluster(text), "AWS::EKS::Addon").values()
    }
    assert json.loads(addons["vpc-cni"]["ConfigurationValues"]) == {"env": {"WARM_IP_TARGET": "4"}}
    assert [name for name, item in addons.items() if "ConfigurationValues" in item] == ["vpc-cni"]
