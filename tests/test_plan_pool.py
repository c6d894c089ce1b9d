"""What the planner decides about pools, from what the user said and what the table states."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_training.facts import facts_for
from eks_training.loading import load_bytes
from eks_training.plan import Plan, build
from eks_training.plan.karpenter import Budget, go_duration
from eks_training.plan.pool import PoolPlan, TaintPlan
from eks_training.plan.value import Output

pytestmark = pytest.mark.arithmetic

ROOT = Path(__file__).resolve().parent.parent
CONFIG = """
name: t
region: us-west-2
network: {{training_zone: {zone}, second_zone: us-west-2b, cidr: 10.0.0.0/16}}
kubernetes: {{administrators: ["arn:aws:iam::111122223333:role/admin"]}}
pools:
  system: {{purpose: system, instance_type: m7i.xlarge, nodes: 2}}
  it: {{{pool}}}
"""


def plan_text(text: str) -> Plan:
    loaded = load_bytes(text.encode(), "t.yaml")
    assert loaded.spec is not None, loaded.findings
    return build(loaded.spec, facts_for(loaded.spec))


def pool(text: str, zone: str = "us-west-2a") -> PoolPlan:
    return next(item for item in plan_text(CONFIG.format(pool=text, zone=zone)).pools if item.name == "it")


TRAINING = "purpose: training, placement: none, nodes: 2"
KARPENTER = "purpose: training, provisioner: karpenter, nodes: {min: 0, max: 4}"


@pytest.mark.parametrize(
    ("text", "efa"),
    [
        (f"{TRAINING}, instance_type: p5.48xlarge", 32),
        (f"{TRAINING}, instance_type: p5.48xlarge, efa: none", 0),
        (f"{TRAINING}, instance_type: p6-b300.48xlarge", 16),
        (f"{TRAINING}, instance_type: g5.xlarge", 0),
        ("purpose: notebook, nodes: 1, instance_type: g5.48xlarge", 0),
        ("purpose: notebook, nodes: 1, instance_type: g5.48xlarge, efa: all", 1),
    ],
)
def test_efa_is_all_for_training_unless_the_user_says_so(text: str, efa: int) -> None:
    made = pool(text)
    assert made.efa_interfaces == efa
    assert made.efa == (efa > 0)
    assert made.addresses_per_node == 1


@pytest.mark.parametrize(
    ("text", "taints"),
    [
        (f"{TRAINING}, instance_type: p5.48xlarge", (TaintPlan("nvidia.com/gpu", "true", "NoSchedule"),)),
        (f"{TRAINING}, instance_type: trn1.32xlarge", (TaintPlan("aws.amazon.com/neuron", "true", "NoSchedule"),)),
        (f"{TRAINING}, instance_type: hpc7a.96xlarge", ()),
        (f"{TRAINING}, instance_type: p5.48xlarge, taints: []", ()),
    ],
)
def test_device_taint(text: str, taints: tuple[TaintPlan, ...]) -> None:
    assert pool(text).taints == taints


@pytest.mark.parametrize(
    ("nodes", "sizes"),
    [("4", (4, 4, 4)), ("{min: 1, max: 6}", (1, 1, 6)), ("{min: 0, max: 6, desired: 3}", (0, 3, 6))],
)
def test_sizes(nodes: str, sizes: tuple[int, int, int]) -> None:
    made = pool(f"purpose: training, placement: none, instance_type: p5.48xlarge, nodes: {nodes}")
    assert (made.min_nodes, made.desired_nodes, made.max_nodes) == sizes


def test_a_capacity_block_can_be_scaled_to_zero_by_eks_before_it_ends() -> None:
    made = pool(f"{TRAINING}, instance_type: p5.48xlarge, capacity: {{type: capacity-block, id: cr-0123456789abcdef0}}")
    assert (made.min_nodes, made.desired_nodes, made.max_nodes) == (0, 2, 2)


@pytest.mark.parametrize(
    ("text", "image", "alias"),
    [
        ("instance_type: p5.48xlarge", "AL2023_x86_64_NVIDIA", "al2023@v20260714"),
        ("instance_type: trn2.48xlarge", "AL2023_x86_64_NEURON", "al2023@v20260714"),
        ("instance_type: g5g.16xlarge", "AL2023_ARM_64_NVIDIA", "al2023@v20260714"),
        ("instance_type: hpc7a.96xlarge", "AL2023_x86_64_STANDARD", "al2023@v20260714"),
        ("instance_type: p5.48xlarge, image: {release: 1.35.9-20261101}", "AL2023_x86_64_NVIDIA", "al2023@v20261101"),
        (
            "instance_type: p5.48xlarge, image: {family: bottlerocket, release: 1.47.0-6154605b}",
            "BOTTLEROCKET_x86_64_NVIDIA",
            "bottlerocket@v1.47.0",
        ),
    ],
)
def test_image_and_its_two_spellings(text: str, image: str, alias: str) -> None:
    made = pool(f"{TRAINING}, {text}")
    assert (made.image.ami_type, made.image.karpenter_alias) == (image, alias)


def test_local_disks_are_used_where_there_are_any() -> None:
    assert pool(f"{TRAINING}, instance_type: p5.48xlarge").raid0
    assert not pool(f"{TRAINING}, instance_type: hpc7a.96xlarge").raid0
    assert not pool(f"{TRAINING}, instance_type: p5.48xlarge, local_nvme: none").raid0
    assert not pool(
        f"{TRAINING}, instance_type: p5.48xlarge, image: {{family: bottlerocket, release: 1.47.0-6154605b}}"
    ).raid0


def test_only_the_system_pool_leaves_the_training_zone() -> None:
    plan = plan_text((ROOT / "cluster.yaml").read_text())
    zones = {subnet.key: subnet.zone.value for subnet in plan.network.subnets}
    for made in plan.pools:
        where = {zones[key] for key in made.subnets}
        assert where == ({"us-east-2a", "us-east-2b"} if made.purpose == "system" else {"us-east-2b"})


@pytest.mark.parametrize(
    ("capacity", "types"),
    [
        ("on-demand", ("on-demand",)),
        ("spot", ("spot",)),
        ("{type: reservation, id: cr-0123456789abcdef0}", ("reserved",)),
        ("{type: capacity-block, id: cr-0123456789abcdef0}", ("reserved",)),
    ],
)
def test_karpenter_never_falls_back_to_another_way_of_buying(capacity: str, types: tuple[str, ...]) -> None:
    made = pool(f"{KARPENTER}, placement: none, instance_type: p5.48xlarge, capacity: {capacity}")
    assert made.karpenter is not None
    assert made.karpenter.capacity_types == types


def test_a_karpenter_training_pool_is_complete_and_leaves_jobs_alone() -> None:
    made = pool(f"{KARPENTER}, placement: cluster, instance_type: p5en.48xlarge")
    karpenter = made.karpenter
    assert karpenter is not None
    assert karpenter.expire_after == "Never"
    assert karpenter.consolidation_policy == "WhenEmpty"
    assert karpenter.consolidate_after == "10m"
    assert karpenter.termination_grace_period is None
    assert karpenter.budgets == (Budget("0", ("Drifted", "Underutilized")), Budget("100%", ("Empty",)))
    assert dict(karpenter.limits) == {"nodes": "4", "nvidia.com/gpu": "32"}
    assert karpenter.zone_label == ("topology.kubernetes.io/zone", "us-west-2a")
    assert made.placement.group == Output("t-karpenter", "PlacementGroupItName")
    assert [(item.card, item.device, item.kind) for item in made.interfaces][:3] == [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        (1, 0, "efa-only"),
    ]
    assert made.stack == "t-karpenter"


def test_a_karpenter_notebook_pool_may_be_consolidated() -> None:
    made = pool("purpose: notebook, provisioner: karpenter, nodes: {min: 0, max: 4}, instance_type: g5.4xlarge")
    assert made.karpenter is not None
    assert (made.karpenter.expire_after, made.karpenter.consolidation_policy) == ("720h", "WhenEmptyOrUnderutilized")


def test_zone_ids_are_selected_by_their_own_label() -> None:
    text = CONFIG.format(pool=f"{KARPENTER}, placement: none, instance_type: p5.48xlarge", zone="usw2-az1")
    made = next(item for item in plan_text(text.replace("us-west-2b", "usw2-az2")).pools if item.name == "it")
    assert made.karpenter is not None
    assert made.karpenter.zone_label == ("topology.k8s.aws/zone-id", "usw2-az1")


def test_quotas_are_the_sums_of_the_largest_pools() -> None:
    plan = plan_text((ROOT / "cluster.yaml").read_text())
    assert {need.name: (need.vcpus, need.sum) for need in plan.quotas} == {
        "Running On-Demand P instances": (8 * 192, "h200 8 x 192"),
        "Running On-Demand G and VT instances": (6 * 8, "notebooks 6 x 8"),
        "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances": (3 * 8, "system 3 x 8"),
    }


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("instance_type: trn1.32xlarge, capacity: spot", "All Trn Spot Instance Requests"),
        ("instance_type: hpc7a.96xlarge", "Running On-Demand HPC instances"),
        ("instance_type: g6e.48xlarge, capacity: spot", "All G and VT Spot Instance Requests"),
        (
            "instance_type: p5.48xlarge, capacity: {type: reservation, id: cr-0123456789abcdef0}",
            "Running On-Demand P instances",
        ),
        ("instance_type: p5.48xlarge, capacity: {type: capacity-block, id: cr-0123456789abcdef0}", None),
    ],
)
def test_the_quota_follows_family_and_purchase(text: str, quota: str | None) -> None:
    plan = plan_text(CONFIG.format(pool=f"{TRAINING}, {text}", zone="us-west-2a"))
    others = [need.name for need in plan.quotas if "Standard" not in need.name]
    assert others == ([quota] if quota else [])


def test_declared_facts_make_an_unknown_type_plannable() -> None:
    text = (
        CONFIG.format(pool=f"{TRAINING}, instance_type: p7.48xlarge", zone="us-west-2a")
        + """
instance_types:
  p7.48xlarge:
    source: describe-instance-types, 2026-11-30
    arch: amd64
    accelerator: {kind: gpu, model: h900, count: 8}
    network_cards: 3
    interfaces_per_card: [2, 1, 1]
    efa_interfaces: 2
    efa_cards: [1, 2]
"""
    )
    made = next(item for item in plan_text(text).pools if item.name == "it")
    assert [(item.card, item.device, item.kind) for item in made.interfaces] == [
        (0, 0, "interface"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
    ]
    assert made.accelerator is not None
    assert (made.accelerator.model, made.accelerator.count) == ("h900", 8)


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=99999)))
def test_durations_mean_the_same_in_go(value: timedelta) -> None:
    value = timedelta(seconds=int(value.total_seconds()))
    units = {"h": 3600, "m": 60, "s": 1}
    number, total = "", 0
    for char in go_duration(value):
        if char in units:
            total += int(number) * units[char]
            number = ""
        else:
            number += char
    assert total == value.total_seconds() and number == ""
