"""The base example that every rule's fragments are laid over: a small cluster without a finding.

`explain` prints the fragments, the tests run them. A fragment holds only the keys that matter; mappings are merged,
everything else replaces, and a null removes the key. Text that looks like a number wants quotes in a fragment.
"""

from __future__ import annotations

import functools
from copy import deepcopy
from typing import Any

import yaml

from eks_training.document import parse

BASE = """\
name: example
region: us-east-2
account: "111122223333"
network:
  training_zone: us-east-2b
  second_zone: us-east-2a
  cidr: 10.64.0.0/16
kubernetes:
  version: "1.35"
  administrators:
    - arn:aws:iam::111122223333:role/platform-admin
pools:
  system:
    purpose: system
    instance_type: m7i.2xlarge
    nodes: 3
  train:
    purpose: training
    instance_type: p5.48xlarge
    nodes: 4
    placement: cluster
"""

EXISTING_VPC = """\
network:
  cidr: null
  existing_vpc:
    id: vpc-0123456789abcdef0
    cidr: 10.64.0.0/16
    training_subnet: {id: subnet-0123456789abcdef0, zone: us-east-2b, cidr: 10.64.0.0/20}
    system_subnets:
      - {id: subnet-0123456789abcdef1, zone: us-east-2b, cidr: 10.64.16.0/24}
    control_plane_subnets:
      - {id: subnet-0123456789abcdef2, zone: us-east-2b, cidr: 10.64.17.0/27}
      - {id: subnet-0123456789abcdef3, zone: us-east-2a, cidr: 10.64.17.32/27}
"""
"""A fragment that puts the base example into a VPC that exists."""


def laid_over(fragment: str) -> str:
    """Return the base example with a fragment laid over it, as YAML text; the same fragment gives the same text.

    Raises `ValueError` for a fragment that is no mapping: that is a mistake in a rule, not in a user's file.
    """
    document, findings = parse(fragment, "fragment") if fragment.strip() else (None, [])
    if findings:
        raise ValueError(f"fragment: {findings[0].title}: {findings[0].found}")
    over = document.value if document else {}
    return yaml.safe_dump(_merged(_base(), over), sort_keys=False, allow_unicode=True, width=120)


@functools.cache
def _base() -> Any:
    document, _ = parse(BASE, "base")
    assert document is not None
    return document.value


def _merged(base: Any, over: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return deepcopy(_without_nulls(over))
    merged = {key: deepcopy(value) for key, value in base.items() if over.get(key, value) is not None}
    for key, value in over.items():
        if value is not None:
            merged[key] = _merged(base.get(key), value)
    return merged


def _without_nulls(value: Any) -> Any:
    """A null inside a section that the base lacks removes nothing and stays out."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
