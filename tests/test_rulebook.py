"""The engine: suppressions with their limits, all findings in one run, places from paths, the order of the file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eks_training.facts import facts_for
from eks_training.finding import Finding, Related, Severity
from eks_training.loading import load_bytes
from eks_training.rulebook import ERROR, WARNING, Fault, Rule, Subject, all_rules, check, rule
from eks_training.rules.example import BASE

pytestmark = pytest.mark.schema

SUPPRESSED = 'suppressions: [{{rule: {rule}, at: {at}, reason: "known and accepted"}}]\n'


def made_up(id: str, *faults: Fault, fixed: bool = False, severity: Severity = ERROR) -> Rule:
    def found(subject: Subject) -> Iterator[Fault]:
        """Because."""
        yield from faults

    return Rule(id, severity, f"title of {id}", "source", "schema", "", "", found, fixed)


def run(*rules: Rule, more: str = "") -> tuple[Finding, ...]:
    loaded = load_bytes((BASE + more).encode(), "f")
    assert loaded.document is not None
    assert loaded.spec is not None, loaded.findings
    return check(loaded.document, Subject(loaded.spec, facts_for(loaded.spec)), rules)


NODES = Fault(("pools", "train", "nodes"), "4", "8", "a hint")
CAPACITY = Fault(("pools", "train", "capacity", "id"), "none", "one")
REGION = Fault(("region",), "here", "there", on_key=True)


def test_a_fault_gets_id_severity_title_and_place() -> None:
    (finding,) = run(made_up("ZZZ001", NODES, severity=WARNING))
    assert (finding.rule, finding.severity, finding.title) == ("ZZZ001", Severity.WARNING, "title of ZZZ001")
    assert (finding.found, finding.expected, finding.hint) == ("4", "8", "a hint")
    line = BASE.split("\n").index("    nodes: 4") + 1
    assert finding.span is not None
    assert (finding.span.line, finding.span.column) == (line, 12)


def test_a_missing_key_points_at_its_section_and_a_key_at_itself() -> None:
    missing, on_key = sorted(run(made_up("ZZZ001", CAPACITY, REGION)), key=lambda item: item.found, reverse=True)
    assert missing.span is not None
    assert BASE.split("\n")[missing.span.line - 1] == "  train:"
    assert on_key.span is not None
    assert (on_key.span.line, on_key.span.column) == (2, 1)


def test_related_places_are_resolved() -> None:
    fault = Fault(("region",), "a", "b", related=(Related(("pools", "train"), "the pool"),))
    (finding,) = run(made_up("ZZZ001", fault))
    assert finding.related[0].span is not None
    assert BASE.split("\n")[finding.related[0].span.line - 1] == "  train:"


def test_all_findings_of_all_rules_come_in_the_order_of_the_file() -> None:
    found = run(made_up("ZZZ002", NODES, REGION), made_up("ZZZ001", NODES, severity=WARNING))
    assert [(item.rule, item.at) for item in found] == [
        ("ZZZ002", ("region",)),
        ("ZZZ001", ("pools", "train", "nodes")),
        ("ZZZ002", ("pools", "train", "nodes")),
    ]


@pytest.mark.parametrize("at", ["pools.train.nodes", "pools.train", "pools"])
def test_a_suppression_hides_its_rule_at_and_below_its_path(at: str) -> None:
    assert run(made_up("ZZZ001", NODES), more=SUPPRESSED.format(rule="ZZZ001", at=at)) == ()


@pytest.mark.parametrize("at", ["pools.tra", "pools.train.nodes.min", "region", "train"])
def test_a_suppression_elsewhere_hides_nothing_and_says_so(at: str) -> None:
    found = run(made_up("ZZZ001", NODES), more=SUPPRESSED.format(rule="ZZZ001", at=at))
    assert [item.rule for item in found] == ["ZZZ001", "SUP002"]
    assert found[1].at == ("suppressions", 0)


def test_a_suppression_hides_items_of_a_list() -> None:
    fault = Fault(("pools", "train", "taints", 0, "key"), "a", "b")
    more = SUPPRESSED.format(rule="ZZZ001", at="pools.train.taints")
    assert run(made_up("ZZZ001", fault), more=more) == ()


def test_a_suppression_hides_one_rule_only() -> None:
    found = run(made_up("ZZZ001", NODES), made_up("ZZZ002", NODES), more=SUPPRESSED.format(rule="ZZZ001", at="pools"))
    assert [item.rule for item in found] == ["ZZZ002"]


def test_an_unknown_rule_is_named_with_its_place() -> None:
    (finding,) = run(more=SUPPRESSED.format(rule="QQQ999", at="pools"))
    assert (finding.rule, finding.found, finding.severity) == ("SUP001", "QQQ999", Severity.ERROR)
    assert finding.span is not None
    assert finding.span.column == len("suppressions: [{rule: ") + 1


def test_a_fixed_rule_cannot_be_suppressed() -> None:
    found = run(made_up("ZZZ001", NODES, fixed=True), more=SUPPRESSED.format(rule="ZZZ001", at="pools"))
    assert [item.rule for item in found] == ["ZZZ001", "SUP003"]
    assert found[1].expected == "the id of a warning, or of an error that is a judgement"
    assert "explain ZZZ001" in found[1].hint


JUDGEMENTS = {
    "ADR001": "the pools may never all be at their largest at the same time",
    "CAP010": "an account may have UltraServer instances by a private agreement",
    "CAP011": "a throwaway cluster may live with system nodes that go",
    "CAP017": "a job may be meant to run until the block ends and to resume in the next one",
    "EFS002": "with a common group and group permissions both identities can work in one directory",
    "IMG005": "following the latest release may be wanted",
    "KAR007": "jobs may resume by themselves",
    "KAR009": "jobs may resume by themselves",
    "KAR011": "jobs may be single-node and short",
    "KAR012": "jobs may be single-node",
    "NET023": "the network may have a way to registries that the file does not show",
}
"""The errors that can be suppressed, with what the user may know better.  What AWS or Kubernetes refuses, and what the
planner would misread or ignore, is not among them."""


def test_only_errors_that_are_a_judgement_can_be_suppressed() -> None:
    assert {item.id for item in all_rules() if item.severity is ERROR and not item.fixed} == set(JUDGEMENTS)


def test_every_warning_can_be_suppressed() -> None:
    assert not [item.id for item in all_rules() if item.severity is WARNING and item.fixed]


@pytest.mark.parametrize(
    ("id", "at", "more"),
    [
        ("KUB010", "components", "components: {nothing: {}}\n"),
        ("FSX003", "storage", "storage: {lustre: {a: {create: {deployment: SCRATCH_2, capacity_gib: 3600}}}}\n"),
    ],
)
def test_a_real_error_stays_beside_its_suppression(id: str, at: str, more: str) -> None:
    found = run(*all_rules(), more=more + SUPPRESSED.format(rule=id, at=at))
    assert sorted(item.rule for item in found) == [id, "SUP003"]


def test_a_real_rule_is_suppressed_by_path() -> None:
    more = "storage: {removal: delete, buckets: {b: {create: {}}}}\n"
    rules = all_rules()
    assert [item.rule for item in run(*rules, more=more)] == ["BKT006"]
    assert run(*rules, more=more + SUPPRESSED.format(rule="BKT006", at="storage.buckets.b")) == ()


def test_an_id_is_taken_once() -> None:
    with pytest.raises(ValueError, match="FSX001 is defined twice"):
        rule("FSX001", ERROR, "t", source="s", bad="", good="")(lambda subject: ())


def test_rules_are_listed_by_id_with_their_reason() -> None:
    rules = all_rules()
    assert [item.id for item in rules] == sorted({item.id for item in rules})
    assert all(item.why and item.source and item.title for item in rules)
