"""Faults that people met in public and that cannot be written here: each shown absent on the synthesised templates."""

import json
from typing import Any

import pytest

from eks_training.interfaces import efa_layout
from eks_training.plan.karpenter import Budget
from tests.synthesis import ROOT, Assembly, assembled, of_type, only

pytestmark = pytest.mark.template


@pytest.fixture(scope="module")
def shipped() -> Assembly:
    return assembled((ROOT / "cluster.yaml").read_text())


@pytest.fixture(scope="module")
def guest() -> Assembly:
    return assembled((ROOT / "examples" / "existing-vpc.yaml").read_text())


def launch_data(assembly: Assembly, pool: str) -> dict[str, Any]:
    data: dict[str, Any] = only(assembly.template(f"pool-{pool}"), "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    return data


def test_sg_1_and_2_self_rules_of_the_efa_group_survive_in_the_template(shipped: Assembly) -> None:
    """awslabs/awsome-distributed-ai#546, aws/aws-cdk#38558: an address range never matches EFA traffic."""
    network = shipped.template("network")
    ingress = only(network, "AWS::EC2::SecurityGroupIngress")
    egress = only(network, "AWS::EC2::SecurityGroupEgress")
    assert ingress["IpProtocol"] == egress["IpProtocol"] == "-1"
    assert ingress["GroupId"] == ingress["SourceSecurityGroupId"]
    assert egress["GroupId"] == egress["DestinationSecurityGroupId"] == ingress["GroupId"]


def test_sg_1_no_efa_group_without_efa() -> None:
    text = (ROOT / "examples" / "development.yaml").read_text().replace("g5.12xlarge", "g5.xlarge")
    assert not of_type(assembled(text).template("network"), "AWS::EC2::SecurityGroupEgress")


def test_sg_3_every_efa_interface_carries_the_efa_the_cluster_and_the_users_group(guest: Assembly) -> None:
    """eksctl-io/eksctl#3465: the group existed, on other interfaces."""
    data = launch_data(guest, "a100")
    efa = [item for item in data["NetworkInterfaces"] if item["InterfaceType"] == "efa-only"]
    assert len(efa) == 4
    for item in efa:
        groups = json.dumps(item["Groups"])
        assert "Efa" in groups and "ClusterSecurityGroupId" in groups and "sg-0123456789abcdef0" in groups
    assert "SecurityGroupIds" not in data


def test_nic_1_device_indexes_stay_below_the_limit_of_the_card(shipped: Assembly) -> None:
    """eksctl-io/eksctl#7520: 32 cards, device index above 1."""
    items = launch_data(shipped, "h100")["NetworkInterfaces"]
    efa = [item for item in items if item["InterfaceType"] == "efa-only"]
    assert sorted(item["NetworkCardIndex"] for item in efa) == list(range(32))
    assert max(item["DeviceIndex"] for item in items) == 1
    assert len({(item["NetworkCardIndex"], item["DeviceIndex"]) for item in items}) == len(items) == 33


def test_nic_2_and_3_the_primary_has_an_address_and_none_asks_for_a_public_one(shipped: Assembly) -> None:
    """terraform-aws-eks#3653 and #3533."""
    for pool in ("h100", "notebooks"):
        primary, *_ = launch_data(shipped, pool)["NetworkInterfaces"]
        assert (primary["NetworkCardIndex"], primary["DeviceIndex"], primary["InterfaceType"]) == (0, 0, "interface")
        assert "AssociatePublicIpAddress" not in json.dumps(launch_data(shipped, pool))


def test_az_1_a_placed_pool_has_exactly_the_training_subnet(guest: Assembly) -> None:
    """terraform-aws-eks#3044: one placement group, three zones."""
    group = only(guest.template("pool-a100"), "AWS::EKS::Nodegroup")
    assert group["Subnets"] == ["subnet-0aaaaaaaaaaaaaaa1"]


def test_az_2_the_control_plane_has_two_zones_and_training_one(shipped: Assembly) -> None:
    """aws/aws-cdk#16862: a VPC of one zone."""
    subnets = of_type(shipped.template("network"), "AWS::EC2::Subnet")
    zones = {name: item["Properties"]["AvailabilityZone"] for name, item in subnets.items()}
    control = only(shipped.template("cluster"), "AWS::EKS::Cluster")["ResourcesVpcConfig"]["SubnetIds"]
    named = [next(name for name in zones if name in item["Fn::GetStackOutput"]["OutputName"]) for item in control]
    assert {zones[name] for name in named} == {"us-east-2a", "us-east-2b"}
    assert all("ControlPlane" in name for name in named)
    assert {zone for name, zone in zones.items() if "Training" in name} == {"us-east-2b"}


def test_cap_1_the_reservation_id_reaches_the_template(shipped: Assembly) -> None:
    """eksctl-io/eksctl#8542: market type capacity-block with an empty target."""
    data, group = launch_data(shipped, "h100"), only(shipped.template("pool-h100"), "AWS::EKS::Nodegroup")
    target = data["CapacityReservationSpecification"]["CapacityReservationTarget"]
    assert target == {"CapacityReservationId": "cr-0a1b2c3d4e5f67890"}
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert (group["CapacityType"], data["InstanceType"]) == ("CAPACITY_BLOCK", "p5.48xlarge")
    assert "InstanceTypes" not in group


def test_cap_2_no_placement_group_is_implied_by_efa(shipped: Assembly) -> None:
    """eksctl-io/eksctl#7949: 11 of 16 reserved instances started."""
    assert "Placement" not in launch_data(shipped, "h100")
    assert not of_type(shipped.template("pool-h100"), "AWS::EC2::PlacementGroup")


def test_kar_1_and_3_training_nodes_of_karpenter_are_left_alone(shipped: Assembly) -> None:
    """kubernetes-sigs/karpenter#1718, aws/karpenter-provider-aws#5786."""
    (pool,) = shipped.plan.karpenter_pools
    assert pool.karpenter is not None
    assert (pool.karpenter.expire_after, pool.karpenter.consolidation_policy) == ("Never", "WhenEmpty")
    assert pool.karpenter.consolidate_after != "0s"
    assert Budget("0", ("Drifted", "Underutilized")) in pool.karpenter.budgets


def test_ng_1_2_3_4_the_type_stands_once_and_the_image_has_its_driver() -> None:
    """terraform-aws-eks#1386, aws/aws-cdk#36032 and #37850, nebari-dev/nebari#2782."""
    assembly = assembled((ROOT / "examples" / "trainium.yaml").read_text())
    for pool in assembly.plan.node_group_pools:
        group = only(assembly.templates[pool.stack], "AWS::EKS::Nodegroup")
        assert group["AmiType"] == "AL2023_x86_64_NEURON"
        assert "InstanceTypes" not in group
        assert launch_data(assembly, pool.name)["InstanceType"] == pool.instance_type


def test_kub_1_the_kubectl_layer_is_of_the_default_minor(shipped: Assembly) -> None:
    """aws/aws-cdk#24580: client and server apart."""
    layers = of_type(shipped.template("cluster"), "AWS::Lambda::LayerVersion").values()
    (kubectl,) = (item for item in layers if "kubectl" in item["Properties"].get("Description", ""))
    version = shipped.plan.cluster.kubernetes_version
    assert f"kubectl {version}." in kubectl["Properties"]["Description"]


def test_stk_1_nothing_below_the_access_stack_refers_to_it(shipped: Assembly) -> None:
    """aws/aws-cdk#8884: service accounts that write back into the cluster stack."""
    for part in ("network", "storage", "cluster"):
        text = json.dumps(shipped.template(part))
        assert "storage-access" not in text and "llm-train-pool" not in text and "llm-train-karpenter" not in text


def test_fsx_4_5_6_7_8_link_mount_name_order_ports_and_version(shipped: Assembly) -> None:
    """aws-fsx-csi-driver#412, aws-parallelcluster#1664 and #6181, aws-hpc-recipes#50, aws-fsx-csi-driver#437."""
    storage = shipped.template("storage")
    ((fs_id, file_system),) = of_type(storage, "AWS::FSx::FileSystem").items()
    assert file_system["Properties"]["FileSystemTypeVersion"] == "2.15"
    assert (
        not {"ImportPath", "ExportPath", "AutoImportPolicy"} & file_system["Properties"]["LustreConfiguration"].keys()
    )
    assert only(storage, "AWS::FSx::DataRepositoryAssociation")["FileSystemId"] == {"Ref": fs_id}
    rules = of_type(storage, "AWS::EC2::SecurityGroupIngress")
    assert set(rules) <= set(file_system["DependsOn"])
    assert {(rule["Properties"]["FromPort"], rule["Properties"]["ToPort"]) for rule in rules.values()} == {
        (988, 988),
        (1018, 1023),
    }
    mount_name = shipped.plan.storage.lustre[0].mount_name
    assert storage["Outputs"][getattr(mount_name, "key", "")]["Value"] == {"Fn::GetAtt": [fs_id, "LustreMountName"]}


def test_efs_1_and_2_identity_and_mount_targets(shipped: Assembly) -> None:
    """aws-efs-csi-driver#726 and #489."""
    storage = shipped.template("storage")
    point = only(storage, "AWS::EFS::AccessPoint")
    assert point["PosixUser"] == {"Uid": "1000", "Gid": "100"}
    assert point["RootDirectory"]["CreationInfo"] == {"OwnerUid": "1000", "OwnerGid": "100", "Permissions": "0750"}
    targets = json.dumps(
        [item["Properties"]["SubnetId"] for item in of_type(storage, "AWS::EFS::MountTarget").values()]
    )
    assert "Training" in targets and "SystemB" in targets and "SystemA" not in targets


def test_new_storage_in_an_existing_vpc_lands_in_the_subnets_that_the_user_named() -> None:
    text = (ROOT / "examples" / "existing-vpc.yaml").read_text()
    head, _, _ = text.partition("storage:\n")
    made = """storage:
  lustre: {fast: {create: {deployment: SCRATCH_2, capacity_gib: 1200}}}
  efs: {homes: {create: {access_points: {home: {path: /home, uid: 1000, gid: 100}}}}}
"""
    assembly = assembled(head + made)
    storage = assembly.template("storage")
    assert only(storage, "AWS::FSx::FileSystem")["SubnetIds"] == ["subnet-0aaaaaaaaaaaaaaa1"]
    targets = {item["Properties"]["SubnetId"] for item in of_type(storage, "AWS::EFS::MountTarget").values()}
    assert targets == {"subnet-0aaaaaaaaaaaaaaa1", "subnet-0bbbbbbbbbbbbbbb2"}
    control = only(assembly.template("cluster"), "AWS::EKS::Cluster")["ResourcesVpcConfig"]["SubnetIds"]
    assert set(control) == {"subnet-0ccccccccccccccc1", "subnet-0ccccccccccccccc2"}
    kinds = {item["Type"] for item in assembly.template("network")["Resources"].values()}
    assert not {"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::NatGateway", "AWS::EC2::RouteTable"} & kinds


def test_the_layout_in_the_template_is_the_layout_of_the_table(shipped: Assembly) -> None:
    from eks_training.facts.instances import load_instances

    facts = load_instances().get("p5.48xlarge")
    assert facts is not None
    shown = [
        (item["NetworkCardIndex"], item["DeviceIndex"], item["InterfaceType"])
        for item in launch_data(shipped, "h100")["NetworkInterfaces"]
    ]
    assert shown == [(item.card, item.device, item.kind) for item in efa_layout(facts)]
