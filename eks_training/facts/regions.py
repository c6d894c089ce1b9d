"""Regions and Availability Zones: how their names and ids are spelt, and which zones EKS refuses.

A zone has a name (`us-east-1a`), which older accounts map to places of their own, and an id (`use1-az1`), which is the
same place in every account. Reservations and file systems of several accounts can only be compared by id.
"""

from __future__ import annotations

import difflib
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


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """Regions with one property, and where that was read."""

    names: frozenset[str]
    source: str
    date: str

    def nearest(self, region: str, n: int = 3) -> tuple[str, ...]:
        """Return up to `n` names that resemble a misspelt one, best first, for a hint.

        Names of the very letters come first: `us-esat-2` is us-east-2, although us-west-2 has more in one piece.
        """
        close = difflib.get_close_matches(region, sorted(self.names), n=len(self.names), cutoff=0.6)
        return tuple(sorted(close, key=lambda name: sorted(name) != sorted(region))[:n])


REGIONS = RegionFacts(
    frozenset({
        "af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1",
        "ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5",
        "ap-southeast-6", "ap-southeast-7", "ca-central-1", "ca-west-1", "cn-north-1", "cn-northwest-1",
        "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2",
        "eu-west-3", "il-central-1", "me-central-1", "me-south-1", "mx-central-1", "sa-east-1", "us-east-1",
        "us-east-2", "us-gov-east-1", "us-gov-west-1", "us-west-1", "us-west-2",
    }),
    "botocore 1.44.8 endpoints data, service eks, partitions aws, aws-cn and aws-us-gov",
    "2026-12-01",
)  # fmt: skip
"""The Regions with EKS.  New ones appear several times a year, so another name is doubtful and not wrong."""

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
    """Say whether a text is spelt like a zone name of the Region: the Region and a letter from a to f.

    No Region has more than the six zones of us-east-1.  Source: AWS Regions and Availability Zones, "AWS Availability
    Zones" (https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html), read
    2026-12-01.

    Local Zones and Wavelength Zones (`us-east-1-atl-1a`) are no zone names here: EKS clusters, EFA and FSx for Lustre
    file systems of this project live in Availability Zones. Whether the account has the zone only the account can tell.
    """
    return re.fullmatch(re.escape(region) + r"[a-f]", zone) is not None


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
