"""Rules about Availability Zones: which ones, how they are written, what lies where."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.facts.regions import (
    NO_CONTROL_PLANE,
    REGIONS,
    UnknownRegion,
    can_host_control_plane,
    is_zone_id,
    is_zone_name,
    zone_id_prefix,
)
from eks_training.finding import Path, Related
from eks_training.plan.network import Zone
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.rules.example import EXISTING_VPC
from eks_training.spec import Cluster

_TRAINING: Path = ("network", "training_zone")
_SECOND: Path = ("network", "second_zone")
_EXISTING: Path = ("network", "existing_vpc")
_NETWORK_REQUIREMENTS = "EKS User Guide, Amazon EKS networking requirements for VPC and subnets"


def _stated(spec: Cluster) -> Iterator[tuple[str, Path]]:
    """Every zone in the file with its path."""
    yield spec.network.training_zone, _TRAINING
    yield spec.network.second_zone, _SECOND
    for subnet, at in reading.existing_subnets(spec):
        yield subnet.zone, (*at, "zone")


def _of_control_plane(spec: Cluster) -> Iterator[tuple[str, Path]]:
    """The zones whose subnets EKS gets for its own interfaces."""
    existing = spec.network.existing_vpc
    if existing is None:
        yield spec.network.training_zone, _TRAINING
        yield spec.network.second_zone, _SECOND
        return
    for index, subnet in enumerate(existing.control_plane_subnets):
        yield subnet.zone, (*_EXISTING, "control_plane_subnets", index, "zone")


@rule(
    "ZON001",
    ERROR,
    "the two zones are one",
    source=f"{_NETWORK_REQUIREMENTS}; aws/aws-cdk#16862",
    bad="network: {second_zone: us-east-2b}",
    good="network: {second_zone: us-east-2c}",
)
def two_zones(subject: Subject) -> Iterator[Fault]:
    """EKS refuses to make a cluster whose subnets lie in one zone, even where every node is in that zone.  The second
    zone only holds interfaces of the control plane and system nodes; training stays in the first.
    """
    network = subject.spec.network
    if network.training_zone == network.second_zone:
        yield Fault(
            _SECOND,
            f"{network.second_zone}, the training zone again",
            "another zone of the Region",
            "EKS needs two zones; nothing of the training goes into this one",
            (Related(_TRAINING, "the training zone"),),
        )


@rule(
    "ZON002",
    ERROR,
    "a zone that the Region does not have",
    source="AWS Regions and Availability Zones, AZ IDs; EKS User Guide, Local Zones (no control plane there)",
    bad="network: {training_zone: us-west-2b}",
    good="network: {training_zone: us-east-2c}",
)
def zones_of_region(subject: Subject) -> Iterator[Fault]:
    """A zone is written as the Region and a letter from a to f, or as the Region's short form and a number.  Anything
    else is a zone of another Region, or a Local or Wavelength Zone, which hold neither a control plane nor FSx nor EFA.
    """
    region = subject.spec.region
    for zone, at in _stated(subject.spec):
        if not is_zone_name(region, zone) and not is_zone_id(region, zone):
            yield Fault(
                at,
                f"{zone}, which is no zone of {region}",
                f"a zone such as {region}a{_id_example(region)}",
                related=(Related(("region",), "the Region"),),
            )


def _id_example(region: str) -> str:
    try:
        return f", or a zone id such as {zone_id_prefix(region)}-az1"
    except UnknownRegion:
        return ""


@rule(
    "ZON003",
    ERROR,
    "zone names and zone ids mixed",
    source="AWS Regions and Availability Zones, AZ IDs (names are mapped to places per account, ids are not)",
    bad="network: {training_zone: use2-az2}",
    good="network: {training_zone: use2-az2, second_zone: use2-az1}",
)
def one_spelling(subject: Subject) -> Iterator[Fault]:
    """Only the account knows which name belongs to which id, so us-east-2a and use2-az1 can be the same zone or two.
    With one spelling throughout, two zones are seen to be different and a subnet is seen to lie where it should.
    """
    ids = Zone(subject.spec.network.training_zone).is_id
    for zone, at in _stated(subject.spec):
        if Zone(zone).is_id != ids:
            wanted = "a zone id" if ids else "a zone name"
            yield Fault(
                at,
                f"{zone} beside {subject.spec.network.training_zone}",
                f"{wanted}, as in `training_zone`",
                "`aws ec2 describe-availability-zones` lists both for your account",
                (Related(_TRAINING, "the other spelling"),),
            )


@rule(
    "ZON004",
    ERROR,
    "training subnet in another zone",
    source="EC2 User Guide, Elastic Fabric Adapter (no EFA traffic across zones); "
    "terraform-aws-modules/terraform-aws-eks#3044",
    bad=EXISTING_VPC.replace("def0, zone: us-east-2b", "def0, zone: us-east-2a"),
    good=EXISTING_VPC,
)
def training_subnet_zone(subject: Subject) -> Iterator[Fault]:
    """The training subnet decides where nodes start, the training zone where the placement group, FSx and the node
    selectors point.  EFA does not work across zones, so the two must agree.
    """
    network = subject.spec.network
    existing = network.existing_vpc
    if existing is not None and existing.training_subnet.zone != network.training_zone:
        yield Fault(
            (*_EXISTING, "training_subnet", "zone"),
            existing.training_subnet.zone,
            network.training_zone,
            "take a subnet of the training zone, or change `training_zone`",
            (Related(_TRAINING, "the training zone"),),
        )


@rule(
    "ZON005",
    ERROR,
    "no system subnet in the training zone",
    source="EKS User Guide, Deploy private clusters; Kubernetes documentation, Volume topology (EBS volumes are zonal)",
    bad=EXISTING_VPC.replace("def1, zone: us-east-2b", "def1, zone: us-east-2a"),
    good=EXISTING_VPC,
)
def system_subnet_zone(subject: Subject) -> Iterator[Fault]:
    """Volumes of system pods are made in the training zone, and the function that applies manifests runs there.  With
    system subnets elsewhere only, such a pod waits for ever for a node that its volume can reach.
    """
    network = subject.spec.network
    existing = network.existing_vpc
    if existing is None:
        return
    zones = [subnet.zone for subnet in existing.system_subnets]
    if network.training_zone not in zones:
        yield Fault(
            (*_EXISTING, "system_subnets"),
            f"system subnets in {', '.join(sorted(set(zones)))}",
            f"at least one in {network.training_zone}",
            related=(Related(_TRAINING, "the training zone"),),
        )


@rule(
    "ZON006",
    ERROR,
    "control plane in one zone",
    source=f"{_NETWORK_REQUIREMENTS}; aws/aws-cdk#16862",
    bad=EXISTING_VPC.replace("def3, zone: us-east-2a", "def3, zone: us-east-2b"),
    good=EXISTING_VPC,
)
def control_plane_zones(subject: Subject) -> Iterator[Fault]:
    """EKS refuses to make a cluster whose subnets lie in fewer than two zones.  The synthesis does not notice, and the
    deployment fails only after the network has been made.
    """
    existing = subject.spec.network.existing_vpc
    if existing is None:
        return
    zones = {subnet.zone for subnet in existing.control_plane_subnets}
    if len(zones) < 2:
        yield Fault(
            (*_EXISTING, "control_plane_subnets"),
            f"{reading.counted(len(existing.control_plane_subnets), 'subnet')}, all in {', '.join(zones)}",
            "subnets in two or more zones",
        )


@rule(
    "ZON007",
    ERROR,
    "second zone without a control-plane subnet",
    source=_NETWORK_REQUIREMENTS,
    bad=f"{EXISTING_VPC}  second_zone: us-east-2c\n",
    good=EXISTING_VPC,
)
def second_zone_used(subject: Subject) -> Iterator[Fault]:
    """`second_zone` names the other zone of the control plane.  In a VPC that exists the subnets decide, and a second
    zone that none of them lies in is a slip in one of the two places.
    """
    network = subject.spec.network
    if network.existing_vpc is None:
        return
    zones = sorted({subnet.zone for subnet in network.existing_vpc.control_plane_subnets})
    if network.second_zone not in zones:
        yield Fault(
            _SECOND,
            f"{network.second_zone}; the control-plane subnets lie in {', '.join(zones)}",
            "the zone of a control-plane subnet",
            related=(Related((*_EXISTING, "control_plane_subnets"), "the control-plane subnets"),),
        )


@rule(
    "ZON008",
    ERROR,
    "a zone that EKS refuses for the control plane",
    source=f"{NO_CONTROL_PLANE.source}; pulumi/pulumi-eks#1401, eksctl-io/eksctl#817",
    bad="region: us-east-1\nnetwork: {training_zone: use1-az1, second_zone: use1-az3}",
    good="region: us-east-1\nnetwork: {training_zone: use1-az1, second_zone: use1-az4}",
)
def refused_zone(subject: Subject) -> Iterator[Fault]:
    """A few zones run nodes but no interfaces of a control plane, and EKS refuses every cluster that has a subnet
    there.  Nodes may stay in such a zone when the control plane's subnets lie in two others.
    """
    for zone, at in _of_control_plane(subject.spec):
        if not can_host_control_plane(zone):
            hint = "train there in an existing VPC, with `control_plane_subnets` in two other zones"
            yield Fault(at, zone, "a zone that EKS accepts for the control plane", hint if at == _TRAINING else "")


@rule(
    "ZON009",
    WARNING,
    "zone letters differ between accounts",
    source=f"{NO_CONTROL_PLANE.source}; AWS Regions and Availability Zones, AZ IDs",
    bad="region: us-east-1\nnetwork: {training_zone: us-east-1a, second_zone: us-east-1b}",
    good="region: us-east-1\nnetwork: {training_zone: use1-az1, second_zone: use1-az4}",
)
def letters_are_private(subject: Subject) -> Iterator[Fault]:
    """In this Region EKS refuses one zone for the control plane.  It is known by its id only: which letter it has
    differs from account to account, so a file with letters works in one account and fails in the next.
    """
    try:
        start = f"{zone_id_prefix(subject.spec.region)}-"
    except UnknownRegion:
        return
    refused = sorted(zone for zone in NO_CONTROL_PLANE.zone_ids if zone.startswith(start))
    named = [(zone, at) for zone, at in _of_control_plane(subject.spec) if not Zone(zone).is_id]
    if refused and named:
        zone, at = named[0]
        yield Fault(
            at,
            f"{zone} in a Region where EKS refuses {', '.join(refused)}",
            "zone ids",
            "`aws ec2 describe-availability-zones` shows the ids of your account's zones",
        )


@rule(
    "ZON010",
    WARNING,
    "Region that is not in the table",
    source=f"{REGIONS.source}, read {REGIONS.date}",
    bad="region: us-esat-2\nnetwork: {training_zone: us-esat-2b, second_zone: us-esat-2a}",
    good="region: us-east-2",
)
def known_region(subject: Subject) -> Iterator[Fault]:
    """A misspelt Region looks right until the first call to AWS, which then fails with a host name that does not
    exist.  New Regions appear, and isolated ones are not in the table, so this is a question and no refusal.
    """
    region = subject.spec.region
    if region not in REGIONS.names:
        near = REGIONS.nearest(region)
        yield Fault(
            ("region",),
            region,
            " or ".join(near) or "a Region with EKS",
            "suppress this with the reason when the Region is newer than the table",
        )
