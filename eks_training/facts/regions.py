"""Regions and Availability Zones: how their names and ids are spelt, and which zones EKS refuses.

A zone has a name (`us-east-1a`), which older accounts map to places of their own, and an id (`use1-az1`), which is the
same place in every account. Reservations and file systems of several accounts can only be compared by id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_REGION = re.compile(r"(?P<area>[a-z]{2})-(?P<gov>gov-)?(?P<side>[a-z]+)-(?P<number>\d+)\Z")
_SIDES = {
    "central": "c", "north": "n", "south": "s", "east": "e", "west": "w",
    "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw",
}  # fmt: skip
_ANY_ZONE_ID = re.compile(r"[a-z]+\d+-az\d+\Z")


@dataclass(frozen=True, slots=True)
class ZoneFacts:
    """Zone ids with one property, and where that was read."""

    zone_ids: frozenset[str]
    source: str
    date: str


NO_CONTROL_PLANE = ZoneFacts(
    frozenset({"use1-az3", "usw1-az2", "cac1-az3"}),
    "awsdocs/amazon-eks-user-guide@4d52b4d latest/ug/networking/network-reqs.adoc, Subnet requirements for clusters",
    "2024-12-18",
)
"""No subnet that is given to CreateCluster may lie in these zones. Nodes may."""


class UnknownRegion(ValueError):
    """A Region whose zone ids do not follow the documented spelling, or a text that is no Region."""


def zone_id_prefix(region: str) -> str:
    """Return what zone ids of a Region start with: `us-east-1` -> `use1`, `ap-southeast-2` -> `apse2`.

    Source: AWS Regions and Availability Zones, "AWS Availability Zones" and "AZ IDs"
    (https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html), read 2026-12-01.

    Raises `UnknownRegion` for isolated and sovereign Regions, whose ids these pages do not list.
    """
    found = _REGION.match(region)
    if not found or found["side"] not in _SIDES:
        raise UnknownRegion(f"{region}: the spelling of its zone ids is not known")
    return f"{found['area']}{'g' if found['gov'] else ''}{_SIDES[found['side']]}{found['number']}"


def is_zone_name(region: str, zone: str) -> bool:
    """Say whether a text is spelt like a zone name of the Region: the Region and one letter.

    Local Zones and Wavelength Zones (`us-east-1-atl-1a`) are no zone names here: EKS clusters, EFA and FSx for Lustre
    file systems of this project live in Availability Zones. Whether the account has the zone only the account can tell.
    """
    return re.fullmatch(re.escape(region) + r"[a-z]", zone) is not None


def is_zone_id(region: str, zone: str) -> bool:
    """Say whether a text is spelt like a zone id of the Region (`use1-az4`).

    For a Region whose prefix is unknown every text of that form passes, because refusing it would be a guess.
    """
    try:
        prefix = zone_id_prefix(region)
    except UnknownRegion:
        return _ANY_ZONE_ID.match(zone.replace("-az", "\0").replace("-", "").replace("\0", "-az")) is not None
    return re.fullmatch(rf"{prefix}-az[1-9]\d*", zone) is not None


def can_host_control_plane(zone_id: str) -> bool:
    """Say whether a zone may hold a subnet given to the cluster; False only for the documented exceptions.

    Takes an id: which name such a zone has differs between accounts.
    """
    return zone_id not in NO_CONTROL_PLANE.zone_ids
