"""What a managed node group's template says, for every way to buy and place nodes."""

import email
from typing import Any

import pytest
import yaml

from constructs.node_group import NodeGroup
from eks_training.facts.instances import load_instances
from eks_training.interfaces import efa_layout
from eks_training.plan.pool import PoolPlan
from tests.synthesis import Template, of_type, only, plan_of, template_of

pytestmark = pytest.mark.template

CONFIG = """
name: t
region: us-west-2
network: {{training_zone: us-west-2a, second_zone: us-west-2b, cidr: 10.0.0.0/16}}
kubernetes: {{administrators: ["arn:aws:iam::111122223333:role/admin"]}}
pools:
  system: {{purpose: system, instance_type: m7i.xlarge, nodes: 2}}
  train: {{purpose: training, {pool}}}
"""


def pool_plan(pool: str) -> PoolPlan:
    plan = plan_of(CONFIG.format(pool=pool))
    return next(item for item in plan.pools if item.name == "train")


def group_template(pool: str) -> Template:
    return template_of(
        lambda stack: NodeGroup(
            stack,
            "Train",
            pool=pool_plan(pool),
            cluster_name="t",
            node_role_arn="arn:aws:iam::111122223333:role/node",
            subnet_ids=["subnet-0aaaaaaaaaaaaaaa1"],
            security_group_ids=["sg-0cccccccccccccccc", "sg-0eeeeeeeeeeeeeeee"],
        )
    )


def data(template: Template) -> dict[str, Any]:
    launch: dict[str, Any] = only(template, "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    return launch


@pytest.mark.parametrize(
    "kind", ["p5.48xlarge", "p6-b300.48xlarge", "hpc6id.32xlarge", "p4d.24xlarge", "trn2.48xlarge"]
)
def test_interfaces_are_the_layout_and_carry_every_group(kind: str) -> None:
    template = group_template(f"instance_type: {kind}, nodes: 2, placement: none")
    interfaces = data(template)["NetworkInterfaces"]
    facts = load_instances().get(kind)
    assert facts is not None
    assert [(item["NetworkCardIndex"], item["DeviceIndex"], item["InterfaceType"]) for item in interfaces] == [
        (item.card, item.device, item.kind) for item in efa_layout(facts)
    ]
    for item in interfaces:
        assert item["Groups"] == ["sg-0cccccccccccccccc", "sg-0eeeeeeeeeeeeeeee"]
        assert item["DeleteOnTermination"] is True
        assert "AssociatePublicIpAddress" not in item and "SubnetId" not in item
    assert "SecurityGroupIds" not in data(template)


def test_the_type_stands_in_the_launch_template_only() -> None:
    template = group_template("instance_type: p5.48xlarge, nodes: 2, placement: none")
    assert data(template)["InstanceType"] == "p5.48xlarge"
    assert "InstanceTypes" not in only(template, "AWS::EKS::Nodegroup")


@pytest.mark.parametrize(
    ("kind", "image"),
    [
        ("p5.48xlarge", "AL2023_x86_64_NVIDIA"),
        ("trn1.32xlarge", "AL2023_x86_64_NEURON"),
        ("g5g.16xlarge", "AL2023_ARM_64_NVIDIA"),
        ("hpc7a.96xlarge", "AL2023_x86_64_STANDARD"),
        ("hpc7g.16xlarge", "AL2023_ARM_64_STANDARD"),
    ],
)
def test_the_image_matches_the_device(kind: str, image: str) -> None:
    group = only(group_template(f"instance_type: {kind}, nodes: 2, placement: none"), "AWS::EKS::Nodegroup")
    assert group["AmiType"] == image
    assert group["ReleaseVersion"] == "1.35.6-20260714"


def test_capacity_block() -> None:
    template = group_template(
        "instance_type: p5en.48xlarge, nodes: 2, placement: none,"
        " capacity: {type: capacity-block, id: cr-0123456789abcdef0}"
    )
    launch, group = data(template), only(template, "AWS::EKS::Nodegroup")
    assert launch["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert launch["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}
    }
    assert group["CapacityType"] == "CAPACITY_BLOCK"
    assert group["ScalingConfig"] == {"MinSize": 0, "DesiredSize": 2, "MaxSize": 2}
    assert group["Subnets"] == ["subnet-0aaaaaaaaaaaaaaa1"]
    assert "Placement" not in launch and not of_type(template, "AWS::EC2::PlacementGroup")


@pytest.mark.parametrize(
    ("capacity", "target"),
    [
        ("{type: reservation, id: cr-0123456789abcdef0}", {"CapacityReservationId": "cr-0123456789abcdef0"}),
        (
            "{type: reservation, resource_group: 'arn:aws:resource-groups:us-west-2:111122223333:group/odcr'}",
            {"CapacityReservationResourceGroupArn": "arn:aws:resource-groups:us-west-2:111122223333:group/odcr"},
        ),
    ],
)
def test_reservation_is_targeted_and_not_placed(capacity: str, target: dict[str, str]) -> None:
    template = group_template(f"instance_type: p4d.24xlarge, nodes: 16, placement: none, capacity: {capacity}")
    launch = data(template)
    assert launch["CapacityReservationSpecification"] == {"CapacityReservationTarget": target}
    assert only(template, "AWS::EKS::Nodegroup")["CapacityType"] == "ON_DEMAND"
    assert "InstanceMarketOptions" not in launch
    assert "Placement" not in launch and not of_type(template, "AWS::EC2::PlacementGroup")


def test_spot_is_asked_of_eks_and_not_of_the_template() -> None:
    template = group_template(
        "instance_type: g5.48xlarge, nodes: 1, placement: none, capacity: spot, checkpoint_interval: 10m"
    )
    assert only(template, "AWS::EKS::Nodegroup")["CapacityType"] == "SPOT"
    assert "InstanceMarketOptions" not in data(template)
    assert "CapacityReservationSpecification" not in data(template)


def test_placement_group_made_here_is_named_by_its_attribute() -> None:
    template = group_template("instance_type: p5en.48xlarge, nodes: 2, placement: cluster")
    ((logical_id, group),) = of_type(template, "AWS::EC2::PlacementGroup").items()
    assert group["Properties"]["Strategy"] == "cluster"
    assert data(template)["Placement"] == {"GroupName": {"Fn::GetAtt": [logical_id, "GroupName"]}}


@pytest.mark.parametrize(
    ("name", "placement"),
    [("my-group", {"GroupName": "my-group"}), ("pg-0123456789abcdef0", {"GroupId": "pg-0123456789abcdef0"})],
)
def test_existing_placement_group_by_name_or_id(name: str, placement: dict[str, str]) -> None:
    template = group_template(f"instance_type: p5en.48xlarge, nodes: 2, placement: {{existing: {name}}}")
    assert data(template)["Placement"] == placement
    assert not of_type(template, "AWS::EC2::PlacementGroup")


def test_disk_metadata_and_what_eks_forbids() -> None:
    launch = data(group_template("instance_type: p5.48xlarge, nodes: 2, placement: none"))
    (disk,) = launch["BlockDeviceMappings"]
    assert disk["DeviceName"] == "/dev/xvda"
    assert disk["Ebs"] == {"VolumeType": "gp3", "VolumeSize": 500, "Encrypted": True, "DeleteOnTermination": True}
    assert launch["MetadataOptions"]["HttpTokens"] == "required"
    assert not {"ImageId", "IamInstanceProfile", "KeyName", "SecurityGroupIds", "InstanceRequirements"} & launch.keys()


def test_user_data_is_mime_with_one_node_config_and_installs_nothing() -> None:
    launch = data(group_template("instance_type: p5.48xlarge, nodes: 2, placement: none"))
    text = launch["UserData"]["Fn::Base64"]
    (part,) = list(email.message_from_string(text).walk())[1:]
    assert part.get_content_type() == "application/node.eks.aws"
    config = yaml.safe_load(str(part.get_payload()))
    assert config == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    }
    for folklore in ("curl", "wget", "nvidia-smi", "efa_installer", "#!"):
        assert folklore not in text


def test_no_user_data_without_local_disks() -> None:
    assert "UserData" not in data(
        group_template("instance_type: trn1.32xlarge, nodes: 2, placement: none, local_nvme: none")
    )


def test_updates_and_repair_never_cut_through_jobs() -> None:
    group = only(group_template("instance_type: p5.48xlarge, nodes: 2, placement: none"), "AWS::EKS::Nodegroup")
    assert group["ForceUpdateEnabled"] is False
    assert group["NodeRepairConfig"] == {"Enabled": False}
    assert group["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "MINIMAL"}


def test_labels_and_the_device_taint() -> None:
    group = only(
        group_template("instance_type: p5.48xlarge, nodes: 2, placement: none, labels: {team: a}"),
        "AWS::EKS::Nodegroup",
    )
    assert group["Labels"] == {
        "eks-training/pool": "train",
        "eks-training/purpose": "training",
        "nvidia.com/gpu.present": "true",
        "team": "a",
    }
    assert group["Taints"] == [{"Key": "nvidia.com/gpu", "Value": "true", "Effect": "NO_SCHEDULE"}]


def test_taints_are_the_users_when_stated() -> None:
    none = group_template("instance_type: p5.48xlarge, nodes: 2, placement: none, taints: []")
    assert "Taints" not in only(none, "AWS::EKS::Nodegroup")
    own = group_template("instance_type: p5.48xlarge, nodes: 2, placement: none, taints: [{key: a, effect: NoExecute}]")
    assert only(own, "AWS::EKS::Nodegroup")["Taints"] == [{"Key": "a", "Effect": "NO_EXECUTE"}]


def test_tags_reach_instances_volumes_and_interfaces() -> None:
    specifications = data(group_template("instance_type: p5.48xlarge, nodes: 2, placement: none"))["TagSpecifications"]
    assert {item["ResourceType"] for item in specifications} == {"instance", "volume", "network-interface"}
    for item in specifications:
        assert {"Key": "eks-training/cluster", "Value": "t"} in item["Tags"]
        assert {"Key": "Name", "Value": "t-train"} in item["Tags"]
