"""How a VPC is cut, and where things land."""

import ipaddress
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_training.plan import Plan
from eks_training.plan.network import Zone, cut
from tests.test_plan_pool import CONFIG, TRAINING, plan_text

pytestmark = pytest.mark.arithmetic


@given(st.integers(16, 22), st.integers(0, 2**22 - 1))
def test_cut_is_disjoint_inside_and_gives_training_half(prefix: int, seed: int) -> None:
    whole = ipaddress.IPv4Network((int(ipaddress.IPv4Address("10.0.0.0")) + (seed << (32 - prefix)) % 2**24, prefix))
    blocks = {key: ipaddress.IPv4Network(block) for key, block in cut(str(whole)).items()}
    for one, other in combinations(blocks.values(), 2):
        assert not one.overlaps(other)
    assert all(block.subnet_of(whole) for block in blocks.values())
    assert blocks["training"].num_addresses * 2 == whole.num_addresses
    for key in ("control-plane-a", "control-plane-b"):
        assert blocks[key].num_addresses - 5 >= 6, "EKS wants at least six free addresses"


def plan(extra: str = "", **network: str) -> Plan:
    text = CONFIG.format(pool=f"{TRAINING}, instance_type: p5.48xlarge", zone="us-west-2a") + extra
    for key, value in network.items():
        text = text.replace("cidr: 10.0.0.0/16", f"cidr: 10.0.0.0/16, {key}: {value}")
    return plan_text(text)


def test_two_zones_for_the_control_plane_one_for_training() -> None:
    network = plan().network
    assert {subnet.zone.value for subnet in network.by_role("control-plane")} == {"us-west-2a", "us-west-2b"}
    assert [subnet.zone.value for subnet in network.by_role("training")] == ["us-west-2a"]
    assert [subnet.zone.value for subnet in network.by_role("nat")] == ["us-west-2a"]


def test_endpoints_follow_what_is_used() -> None:
    base = set(plan(egress="endpoints").network.interface_endpoints)
    storage = """
storage:
  lustre: {s: {create: {deployment: SCRATCH_2, capacity_gib: 1200}}}
  efs: {h: {create: {access_points: {home: {path: /home, uid: 1, gid: 1}}}}}
"""
    assert set(plan(storage, egress="endpoints").network.interface_endpoints) == base | {"fsx", "elasticfilesystem"}
    assert {"ec2", "ecr.api", "ecr.dkr", "sts", "eks", "eks-auth", "logs"} <= base
    assert plan().network.interface_endpoints == ()


def test_no_nat_subnet_without_nat() -> None:
    assert plan(egress="endpoints").network.by_role("nat") == ()


def test_efs_has_one_mount_target_in_each_zone_with_nodes() -> None:
    made = plan("storage: {efs: {h: {create: {access_points: {home: {path: /home, uid: 1, gid: 1}}}}}}")
    zones = {subnet.key: subnet.zone.value for subnet in made.network.subnets}
    targets = [zones[key] for key in made.storage.efs[0].mount_target_subnets]
    assert sorted(targets) == ["us-west-2a", "us-west-2b"]


@pytest.mark.parametrize(
    ("value", "is_id"), [("us-east-1a", False), ("use1-az1", True), ("us-gov-west-1a", False), ("apse2-az3", True)]
)
def test_zone_names_and_ids(value: str, is_id: bool) -> None:
    assert Zone(value).is_id == is_id
