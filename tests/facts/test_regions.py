"""Spelling of zones, and the zones that EKS refuses."""

from __future__ import annotations

import pytest

from eks_training.facts import regions

pytestmark = pytest.mark.schema


@pytest.mark.parametrize(
    ("region", "prefix"),
    [
        ("us-east-1", "use1"),
        ("us-west-2", "usw2"),
        ("ap-southeast-2", "apse2"),
        ("ap-northeast-1", "apne1"),
        ("ap-south-2", "aps2"),
        ("eu-central-1", "euc1"),
        ("eu-north-1", "eun1"),
        ("ca-central-1", "cac1"),
        ("sa-east-1", "sae1"),
        ("me-central-1", "mec1"),
        ("us-gov-west-1", "usgw1"),
        ("us-gov-east-1", "usge1"),
        ("cn-northwest-1", "cnnw1"),
    ],
)
def test_prefix(region: str, prefix: str) -> None:
    assert regions.zone_id_prefix(region) == prefix
    assert regions.is_zone_id(region, f"{prefix}-az1")
    assert not regions.is_zone_id(region, f"{prefix}-az0")
    assert not regions.is_zone_id(region, f"{region}a")
    assert regions.is_zone_name(region, f"{region}a")
    assert not regions.is_zone_name(region, f"{prefix}-az1")


@pytest.mark.parametrize("region", ["us-iso-east-1", "eusc-de-east-1", "us-middle-1", "", "us-east-1a"])
def test_an_unknown_spelling_is_not_guessed(region: str) -> None:
    with pytest.raises(regions.UnknownRegion):
        regions.zone_id_prefix(region)
    assert regions.is_zone_id(region, "eusc-dee1-az1")
    assert not regions.is_zone_id(region, "nonsense")


@pytest.mark.parametrize(
    "zone",
    [
        "us-east-1",
        "us-east-1g",
        "us-east-1z",
        "us-east-1aa",
        "us-east-1A",
        "us-east-1-atl-1a",
        "us-east-2a",
        "us-east-1a\n",
    ],
)
def test_not_a_zone_name_of_us_east_1(zone: str) -> None:
    assert not regions.is_zone_name("us-east-1", zone)


@pytest.mark.parametrize("letter", "abcdef")
def test_zone_names_have_the_letters_a_to_f(letter: str) -> None:
    assert regions.is_zone_name("us-east-1", f"us-east-1{letter}")


def test_regions_with_eks() -> None:
    assert {"us-east-2", "cn-north-1", "us-gov-west-1"} <= regions.REGIONS.names
    assert regions.REGIONS.source and regions.REGIONS.date
    assert regions.REGIONS.nearest("us-esat-2")[0] == "us-east-2"
    assert regions.REGIONS.nearest("xx-moon-1") == ()


def test_regions_are_those_of_botocore() -> None:
    session = pytest.importorskip("botocore.session").get_session()
    known = {name for part in ("aws", "aws-cn", "aws-us-gov") for name in session.get_available_regions("eks", part)}
    assert known >= regions.REGIONS.names


def test_zones_without_a_control_plane() -> None:
    assert not any(regions.can_host_control_plane(zone) for zone in ("use1-az3", "usw1-az2", "cac1-az3"))
    assert regions.can_host_control_plane("use1-az4")
    assert regions.NO_CONTROL_PLANE.source and regions.NO_CONTROL_PLANE.date
