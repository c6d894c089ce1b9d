"""Faults of fields do not hide faults of rules, and nothing is said that the repaired file would not say too."""

import json
import random
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_training.document import walk
from eks_training.finding import Finding, Path
from eks_training.loading import load_bytes
from eks_training.pipeline import judged
from eks_training.rulebook import all_rules
from eks_training.rules.example import laid_over
from eks_training.section_fields import fields_at

pytestmark = pytest.mark.schema

FRAGMENTS = [fragment for rule in all_rules() for fragment in (rule.bad, rule.good)]


def findings(value: Any) -> tuple[Finding, ...]:
    return judged(load_bytes(json.dumps(value, indent=1).encode(), "c.yaml")).findings


def said(value: Any) -> set[tuple[str, Path]]:
    """Rules and places, but for the findings about fields and suppressions."""
    return {(item.rule, item.at) for item in findings(value) if item.rule[:3] not in ("CFG", "SUP")}


def section(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def damage(value: Any, dice: random.Random) -> Any:
    """A copy with one misspelt key, or one value of the wrong kind."""
    value = deepcopy(value)
    path = dice.choice([path for path, _ in walk(value) if path and path[-1] in fields_at(path[:-1])])
    parent = section(value, path[:-1])
    key = path[-1]
    match dice.randrange(3):
        case 0:
            parent[f"{key}x"] = parent.pop(key)
        case 1:
            parent[key] = ["not", {"this": "kind"}]
        case 2:
            parent[f"zz{dice.randrange(9)}"] = 1
    return value


@given(st.sampled_from(FRAGMENTS), st.integers(0, 2**32))
@settings(max_examples=300)
def test_nothing_is_said_that_the_repaired_file_would_not_say(fragment: str, seed: int) -> None:
    whole = yaml.safe_load(laid_over(fragment))
    broken = damage(whole, random.Random(seed))
    assert said(broken) <= said(whole)


TEXT = """
name: c
region: us-west-2
network: {training_zone: us-west-2a, second_zone: us-west-2b, cidr: 10.0.0.0/24}
kubernetes: {version: 1.31, administrators: ["arn:aws:iam::111122223333:role/admin"]}
pools:
  system: {purpose: system, instance_type: m7i.xlarge, nodes: 2}
  one: {purpose: training, instance_type: p5.48xlarge, nodes: 4, placement: none}
  two: {purpose: training, instance_type: p5.48xlarge, nodes: 4}
storage:
  lustre: {s: {create: {deployment: SCRATCH_2, capacity_gib: 3600}}}
"""
RULES = {"NET002", "KUB001", "PLC001", "FSX003"}


def rules(text: str) -> set[str]:
    return {item.rule for item in judged(load_bytes(text.encode(), "c.yaml")).findings}


def test_rule_faults_alone() -> None:
    assert rules(TEXT) == RULES


@pytest.mark.parametrize(
    ("before", "after", "also"),
    [
        ("name: c", "name: my_cluster", RULES),
        ("role/admin", "root", RULES),
        ("nodes: 4, placement", "node: 4, placement", RULES),
        ("region: us-west-2", "region: us-west-2\ncolour: blue", RULES),
        ("placement: none", "placement: maybe", RULES),
        # Without its type the first pool is no pool: only what concerns the other pools is still said.
        ("instance_type: p5.48xlarge, nodes: 4, placement", "nodes: 4, placement", {"PLC001"}),
        # Without its deployment type nothing about storage is said.
        ("deployment: SCRATCH_2, ", "", RULES - {"FSX003"}),
        # A file without a Region says nothing that rules could judge.
        ("region: us-west-2", "", set()),
    ],
)  # fmt: skip
def test_what_is_still_said_beside_a_fault_of_a_field(before: str, after: str, also: set[str]) -> None:
    assert before in TEXT
    found = rules(TEXT.replace(before, after, 1))
    assert {rule for rule in found if not rule.startswith("CFG")} == also
    assert any(rule.startswith("CFG") for rule in found)


@pytest.mark.parametrize(
    ("fragment", "path", "wrong"),
    [
        (
            'kubernetes: {version: "1.36"}\npools: {train: {image: {release: 1.36.2-20260714}}}',
            "kubernetes.version",
            {},
        ),
        (
            "instance_types: {p9.48xlarge: {source: a page of 2026-12-01, arch: amd64, network_cards: 1,"
            " interfaces_per_card: [2], efa_interfaces: 1}}\npools: {train: {instance_type: p9.48xlarge}}",
            "instance_types",
            3,
        ),
        ("network: {egress: endpoints}\nregistry_mirror: registry.example.com", "registry_mirror", {}),
    ],
)
def test_a_far_reaching_setting_that_is_wrong_says_nothing_about_what_it_reaches(
    fragment: str, path: str, wrong: object
) -> None:
    whole = yaml.safe_load(laid_over(fragment))
    assert said(whole) == set()
    *above, key = path.split(".")
    section(whole, tuple(above))[key] = wrong
    assert said(whole) == set()
    assert any(item.rule == "CFG005" for item in findings(whole))


def test_findings_are_in_the_order_of_the_file() -> None:
    found = judged(load_bytes(TEXT.replace("name: c", "name: my_cluster").encode(), "c.yaml")).findings
    assert list(found) == sorted(found, key=Finding.order)
