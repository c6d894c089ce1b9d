"""Scalar types of cluster.yaml; each names its form in words and where the limit comes from."""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from eks_training.spec.base import Form, refuse

ClusterName = Annotated[
    str,
    Form(
        r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?",
        "1 to 40 small letters, digits and hyphens, starting with a letter",
        "it becomes part of stack, role and queue names, whose limits are 64 and 80 characters",
    ),
]
EntryName = Annotated[
    str,
    Form(
        r"[a-z](?:[a-z0-9-]{0,28}[a-z0-9])?",
        "1 to 30 small letters, digits and hyphens, starting with a letter",
        "it becomes part of resource names and of Kubernetes names",
    ),
]
Region = Annotated[str, Form(r"[a-z]{2}(?:-[a-z]+)+-[0-9]", "a Region such as us-east-2")]
AccountId = Annotated[str, Form(r"[0-9]{12}", "the 12 digits of an AWS account id")]
Zone = Annotated[
    str,
    Form(
        r"[a-z]{2}(?:-[a-z]+)+-[0-9][a-z]|[a-z]{2,6}[0-9]-az[0-9]+",
        "an Availability Zone name such as us-east-2b, or a zone id such as use2-az2",
    ),
]
KubernetesVersion = Annotated[
    str, Form(r"1\.[0-9]{2}", "a Kubernetes minor version such as 1.35", 'write it in quotes: "1.35"')
]
InstanceType = Annotated[str, Form(r"[a-z0-9-]+\.[a-z0-9-]+", "an EC2 instance type such as p5.48xlarge")]
IamArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:iam::[0-9]{12}:(?:role|user)/[\w+=,.@/-]+",
        "the ARN of an IAM role or user",
        "for IAM Identity Center take the role under aws-reserved/sso.amazonaws.com",
    ),
]
VpcId = Annotated[str, Form(r"vpc-[0-9a-f]{8,17}", "a VPC id such as vpc-0123456789abcdef0")]
SubnetId = Annotated[str, Form(r"subnet-[0-9a-f]{8,17}", "a subnet id such as subnet-0123456789abcdef0")]
SecurityGroupId = Annotated[str, Form(r"sg-[0-9a-f]{8,17}", "a security group id such as sg-0123456789abcdef0")]
ReservationId = Annotated[
    str,
    Form(
        r"cr-[0-9a-f]{8,17}", "a capacity reservation id such as cr-0123456789abcdef0", "copy it from the EC2 console"
    ),
]
ResourceGroupArn = Annotated[
    str, Form(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[\w.-]+", "the ARN of a resource group")
]
PlacementGroupRef = Annotated[
    str,
    Form(
        r"pg-[0-9a-f]{8,17}|(?!arn:)[A-Za-z0-9][\w .:/=+@-]{0,254}",
        "the name or the id (pg-…) of a placement group",
        "not its ARN: launch templates and EC2NodeClass take the name, which the ARN ends with, or the id",
    ),
]
RegistryPath = Annotated[
    str,
    Form(
        r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?(?:/[a-z0-9._-]+)*",
        "a registry host and path without a scheme, such as 111122223333.dkr.ecr.us-east-2.amazonaws.com/mirror",
    ),
]
FileSystemId = Annotated[str, Form(r"fs-[0-9a-f]{8,17}", "a file system id such as fs-0123456789abcdef0")]
AccessPointId = Annotated[str, Form(r"fsap-[0-9a-f]{8,17}", "an EFS access point id such as fsap-0123456789abcdef0")]
DnsName = Annotated[
    str,
    Form(
        r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}", "a DNS name such as fs-….fsx.us-east-2.amazonaws.com"
    ),
]
MountName = Annotated[str, Form(r"[A-Za-z0-9_-]{1,8}", "a Lustre mount name: 1 to 8 letters, digits, - or _")]
BucketName = Annotated[
    str, Form(r"[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]", "a bucket name: 3 to 63 small letters, digits, dots and hyphens")
]
KmsKeyArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+",
        "the ARN of a KMS key such as arn:aws:kms:us-east-2:111122223333:key/…",
        "policies need the ARN of the key itself, not of an alias",
    ),
]
S3Prefix = Annotated[str, Form(r"(?:[\w!.*'()-]+/)+", "an S3 prefix that ends with a slash, such as datasets/c4/")]
# `.` and `..` would make two paths equal that look different.
LustrePath = Annotated[
    str,
    Form(
        r"/(?!(?:.*/)?\.\.?(?:/|$))(?:[\w.-]+(?:/[\w.-]+)*/?)?",
        "an absolute path inside the file system, such as /data, without . and ..",
    ),
]
# Amazon EFS API Reference, RootDirectory: at most four directories, 100 characters, none of them starting with a dot.
AccessPointPath = Annotated[
    str,
    Form(
        r"/|(?=.{1,100}$)(?:/(?!\.)[\w.-]+){1,4}",
        "/ or a path of one to four directories such as /home or /projects/llm, without a slash at the end",
    ),
]
LabelKey = Annotated[
    str,
    Form(
        r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?",
        "a Kubernetes label key: an optional DNS prefix and a slash, then at most 63 letters, digits, -, _ or .",
    ),
]
LabelValue = Annotated[
    str,
    Form(
        r"(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?",
        "a Kubernetes label value: at most 63 letters, digits, -, _ or .",
    ),
]
TagKey = Annotated[
    str,
    Form(
        r"(?!aws:)[\w .:/=+@-]{1,128}",
        "a tag key of 1 to 128 characters that does not start with aws:",
        any_alphabet=True,
    ),
]
TagValue = Annotated[
    str,
    Form(r"[\w .:/=+@-]{0,256}", "a tag value of at most 256 letters, digits, spaces and _.:/=+-@", any_alphabet=True),
]
NamespaceName = Annotated[str, Form(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", "a Kubernetes namespace name")]
RuleId = Annotated[
    str, Form(r"[A-Z]{2,4}[0-9]{3}", "a rule id such as EFA002", "`python -m eks_training rules` lists them")
]
ClockTime = Annotated[str, Form(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]", 'a time of day in UTC such as "03:30"')]
WeekTime = Annotated[
    str, Form(r"[1-7]:(?:[01][0-9]|2[0-3]):[0-5][0-9]", 'day, hour and minute in UTC such as "7:03:30" (1 is Monday)')
]
AddonVersion = Annotated[
    str, Form(r"v[0-9]+\.[0-9]+\.[0-9]+-eksbuild\.[0-9]+", "an EKS add-on version such as v1.12.4-eksbuild.1")
]
Permissions = Annotated[str, Form(r"[0-7]{3,4}", 'an octal mode in quotes such as "0750"')]


def _cidr(value: str) -> str:
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        raise refuse("an IPv4 CIDR block such as 10.0.0.0/16", _cidr_hint(value)) from error
    return str(network)


def _cidr_hint(value: str) -> str:
    try:
        return f"host bits are set; the block that holds this address is {ipaddress.IPv4Network(value, strict=False)}"
    except ValueError:
        return ""


Cidr = Annotated[str, AfterValidator(_cidr), WithJsonSchema({"type": "string", "description": "IPv4 CIDR block"})]

_DURATION = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,5})s)?")


def _duration(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value)
    if not match or not value:
        raise refuse("a duration such as 90m, 12h or 3d")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    WithJsonSchema({"type": "string", "description": "a duration such as 90m, 12h or 3d", "pattern": "^[0-9dhms]+$"}),
]


def _moment(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise refuse("a moment such as 2026-12-01T11:30:00Z") from error
    if moment.tzinfo is None:
        raise refuse("a moment with its offset, such as 2026-12-01T11:30:00Z", "add Z for UTC")
    return moment


Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]

JsonValue = Any
