"""Findings of the security rule pack that are accepted, each with its reason, beside the construct that causes them.

cdk-nag wants the whole finding, so every policy and every wildcard is named on its own and a new one is never hidden.
"""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

_PACK = "AwsSolutions"


def acknowledge(scope: IConstruct, rule: str, reason: str) -> None:
    """Accept one finding of the pack, such as ``L1``, below a construct."""
    Validations.of(scope).acknowledge(Acknowledgment(id=f"{_PACK}::{_PACK}-{rule}", reason=reason))


def acknowledge_managed_policies(scope: IConstruct, names: Iterable[str], reason: str) -> None:
    """Accept AWS managed policies by name, with their path (``service-role/…``)."""
    for name in names:
        acknowledge(scope, f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]", reason)


def acknowledge_wildcards(scope: IConstruct, found: Iterable[str], reason: str) -> None:
    """Accept wildcards as the rule prints them: ``Resource::*``, ``Action::s3:Get*``."""
    for wildcard in found:
        acknowledge(scope, f"IAM5[{wildcard}]", reason)
