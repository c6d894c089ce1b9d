"""What the EC2NodeClass and the NodePool of each kind of pool say."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import cdk8s
import pytest
from aws_cdk import Stack, Token

from eks_training.plan import Plan
from eks_training.plan.value import Value
from k8s.karpenter.chart import KarpenterPools
from k8s.rendering import OutputsFile
from tests.k8s.deployment import FORMS, HEAD, POOLS, TRAINING, all_pools, one_pool, outputs_of, shipped
from tests.synthesis import plan_of

pytestmark = pytest.mark.template

Fields = dict[str, Any]


def drawn(plan: Plan, resolve: Callable[[Value], str]) -> list[Fields]:
    objects: list[Fields] = KarpenterPools(cdk8s.App(), "pools", plan=plan, resolve=resolve).to_json()
    return objects


@lru_cache(maxsize=32)
def objects(text: str) -> list[Fields]:
    plan = plan_of(text)
    return drawn(plan, OutputsFile(outputs_of(plan)).resolve)


def specs(text: str, name: str) -> tuple[Fields, Fields]:
    """The `spec` of the node class and of the node pool."""
    node_class, node_pool = (item["spec"] for item in objects(text) if item["metadata"]["name"] == name)
    return node_class, node_pool


def requirements(node_pool: Fields) -> dict[str, list[str]]:
    asked = node_pool["template"]["spec"]["requirements"]
    assert {item["operator"] for item in asked} == {"In"}
    return {item["key"]: item["values"] for item in asked}


def interfaces(node_class: Fields) -> list[tuple[int, int, str]]:
    return [
        (item["networkCardIndex"], item["deviceIndex"], item["interfaceType"])
        for item in node_class["networkInterfaces"]
    ]


def groups(node_class: Fields) -> list[str]:
    return [term["id"] for term in node_class["securityGroupSelectorTerms"]]


def test_the_class_of_the_shipped_training_pool() -> None:
    node_class, _ = specs(shipped()["cluster"], "h200")
    assert len(node_class["networkInterfaces"]) == 17
    assert {name: value for name, value in node_class.items() if name != "networkInterfaces"} == {
        "role": FORMS["NodeRoleName"],
        "amiSelectorTerms": [{"alias": "al2023@v20260714"}],
        "subnetSelectorTerms": [{"id": FORMS["TrainingSubnetId"]}],
        "securityGroupSelectorTerms": [
            {"id": FORMS["ClusterSecurityGroupId"]},
            {"id": FORMS["NodeSecurityGroupId"]},
            {"id": FORMS["EfaSecurityGroupId"]},
        ],
        "blockDeviceMappings": [
            {
                "deviceName": "/dev/xvda",
                "rootVolume": True,
                "ebs": {
                    "volumeType": "gp3",
                    "volumeSize": "500Gi",
                    "encrypted": True,
                    "deleteOnTermination": True,
                },
            }
        ],
        "instanceStorePolicy": "RAID0",
        "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1},
        "placementGroupSelector": {"name": "made-PlacementGroupH200Name"},
        "tags": {
            "Name": "llm-train-h200",
            "team": "research",
            "cost-center": "ml-training",
            "eks-training/cluster": "llm-train",
            "eks-training/pool": "h200",
        },
    }


def test_the_pool_of_the_shipped_training_pool() -> None:
    _, node_pool = specs(shipped()["cluster"], "h200")
    assert node_pool == {
        "template": {
            "metadata": {
                "labels": {
                    "eks-training/pool": "h200",
                    "eks-training/purpose": "training",
                    "nvidia.com/gpu.present": "true",
                }
            },
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "h200"},
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5en.48xlarge"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-2b"]},
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                ],
                "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
                "expireAfter": "Never",
            },
        },
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "10m",
            "budgets": [
                {"nodes": "0", "reasons": ["Drifted", "Underutilized"]},
                {"nodes": "100%", "reasons": ["Empty"]},
            ],
        },
        "limits": {"nodes": "8", "nvidia.com/gpu": "64"},
    }


@pytest.mark.parametrize("name", sorted(shipped()))
def test_interfaces_are_exactly_those_of_the_plan(name: str) -> None:
    text = shipped()[name]
    for pool in plan_of(text).karpenter_pools:
        node_class, _ = specs(text, pool.name)
        if pool.efa:
            assert interfaces(node_class) == [(item.card, item.device, item.kind) for item in pool.interfaces]
        else:
            assert "networkInterfaces" not in node_class


def test_a_type_whose_first_card_has_no_efa() -> None:
    listed = interfaces(specs(all_pools(), "b300")[0])
    assert listed == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


def test_placement_groups_by_name_and_by_id() -> None:
    text = shipped()["karpenter"]
    assert specs(text, "h100")[0]["placementGroupSelector"] == {"name": "made-PlacementGroupH100Name"}
    assert specs(text, "b200")[0]["placementGroupSelector"] == {"id": "pg-0123456789abcdef0"}
    named = one_pool("it", f"{TRAINING}, instance_type: p5.48xlarge".replace("none", "{existing: mine}"))
    assert specs(named, "it")[0]["placementGroupSelector"] == {"name": "mine"}
    assert "placementGroupSelector" not in specs(text, "a10g")[0]


def test_an_isolated_network_gets_a_profile_in_place_of_a_role() -> None:
    node_class, _ = specs(shipped()["isolated"], "a100")
    assert node_class["instanceProfile"] == FORMS["NodeInstanceProfile"]
    assert "role" not in node_class


@pytest.mark.parametrize(
    ("name", "reservation"), [("reserved", "cr-0123456789abcdef0"), ("block", "cr-0fedcba9876543210")]
)
def test_reserved_capacity_never_falls_back(name: str, reservation: str) -> None:
    node_class, node_pool = specs(all_pools(), name)
    assert node_class["capacityReservationSelectorTerms"] == [{"id": reservation}]
    assert requirements(node_pool)["karpenter.sh/capacity-type"] == ["reserved"]


def test_spot_notebooks_are_plain_nodes() -> None:
    node_class, node_pool = specs(all_pools(), "spot")
    assert requirements(node_pool)["karpenter.sh/capacity-type"] == ["spot"]
    assert node_class.keys().isdisjoint({"networkInterfaces", "placementGroupSelector"})
    assert "capacityReservationSelectorTerms" not in node_class
    assert FORMS["EfaSecurityGroupId"] not in groups(node_class)
    assert node_pool["disruption"] == {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "10m",
        "budgets": [{"nodes": "1"}],
    }
    assert node_pool["template"]["spec"]["expireAfter"] == "720h"


def test_a_static_pool_has_replicas_and_no_other_limit() -> None:
    node_class, node_pool = specs(all_pools(), "static")
    assert node_pool["replicas"] == 4
    assert node_pool["limits"] == {"nodes": "4"}
    # Without pods that ask for EFA, only listed interfaces are attached.
    assert len(interfaces(node_class)) == 33
    dynamic = [item["spec"] for item in objects(all_pools()) if item["kind"] == "NodePool"]
    assert sum("replicas" in spec for spec in dynamic) == 1


def test_zone_ids_select_by_their_own_label() -> None:
    text = one_pool("spot").replace("us-west-2a", "usw2-az1").replace("us-west-2b", "usw2-az2")
    asked = requirements(specs(text, "spot")[1])
    assert asked["topology.k8s.aws/zone-id"] == ["usw2-az1"]
    assert "topology.kubernetes.io/zone" not in asked


def test_neuron_nodes() -> None:
    node_class, node_pool = specs(all_pools(), "neuron")
    assert interfaces(node_class)[:3] == [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")]
    assert len(interfaces(node_class)) == 9
    assert node_pool["limits"] == {"nodes": "4", "aws.amazon.com/neuron": "64"}
    assert node_pool["template"]["spec"]["taints"][0]["key"] == "aws.amazon.com/neuron"


def test_other_architectures_and_images() -> None:
    assert requirements(specs(all_pools(), "arm")[1])["kubernetes.io/arch"] == ["arm64"]
    node_class, _ = specs(all_pools(), "bottlerocket")
    assert node_class["amiSelectorTerms"] == [{"alias": "bottlerocket@v1.47.0"}]
    disks = [(disk["deviceName"], disk["rootVolume"]) for disk in node_class["blockDeviceMappings"]]
    assert disks == [("/dev/xvda", False), ("/dev/xvdb", True)]
    assert all(disk["ebs"]["encrypted"] for disk in node_class["blockDeviceMappings"])


def test_what_the_user_says_is_carried_over() -> None:
    node_class, node_pool = specs(all_pools(), "told")
    assert "instanceStorePolicy" not in node_class
    ebs = node_class["blockDeviceMappings"][0]["ebs"]
    assert (ebs["volumeSize"], ebs["iops"], ebs["throughput"]) == ("800Gi", 6000, 500)
    assert groups(node_class)[-2:] == ["sg-0aaaaaaaaaaaaaaa1", "sg-0aaaaaaaaaaaaaaa2"]
    template = node_pool["template"]
    assert template["metadata"]["labels"]["example.com/tier"] == "gold"
    # No empty value: the definition refuses it.
    assert template["spec"]["taints"] == [
        {"key": "example.com/busy", "effect": "NoExecute"},
        {"key": "example.com/for", "value": "team-a", "effect": "NoSchedule"},
    ]
    assert (template["spec"]["expireAfter"], template["spec"]["terminationGracePeriod"]) == ("168h", "36h15m")
    assert node_pool["disruption"]["consolidateAfter"] == "45m"


def test_an_existing_network_gives_its_own_subnet() -> None:
    text = (Path(__file__).parents[2] / "examples" / "existing-vpc.yaml").read_text(encoding="utf-8")
    pool = "  it: {purpose: notebook, provisioner: karpenter, nodes: {max: 2}, instance_type: g5.xlarge}\n"
    text = text.replace("pools:\n", f"pools:\n{pool}")
    assert specs(text, "it")[0]["subnetSelectorTerms"] == [{"id": plan_of(text).network.training_subnet_id}]


def test_tokens_of_a_deployment_reach_the_template() -> None:
    def token(value: Value) -> str:
        return value if isinstance(value, str) else Token.as_string({"Ref": value.key})

    node_class = Stack().resolve(drawn(plan_of(one_pool("static")), token))[0]["spec"]
    assert node_class["role"] == {"Ref": "NodeRoleName"}
    assert node_class["subnetSelectorTerms"] == [{"id": {"Ref": "TrainingSubnetId"}}]
    assert node_class["placementGroupSelector"] == {"name": {"Ref": "PlacementGroupStaticName"}}


def test_each_class_comes_before_its_pool_and_nothing_is_drawn_without_pools() -> None:
    found = [(item["metadata"]["name"], item["kind"]) for item in objects(all_pools())]
    assert sorted(found) == sorted((name, kind) for name in POOLS for kind in ("EC2NodeClass", "NodePool"))
    assert all(found.index((name, "EC2NodeClass")) < found.index((name, "NodePool")) for name in POOLS)
    assert objects(HEAD) == []
