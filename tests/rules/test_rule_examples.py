"""Every rule against its own documentation: the bad fragment is refused at a place, the good one is not."""

import re

import pytest

from eks_training.facts import facts_for
from eks_training.finding import Finding
from eks_training.loading import load_bytes
from eks_training.rulebook import Rule, Subject, all_rules, check
from eks_training.rules.example import laid_over

pytestmark = pytest.mark.schema

RULES = all_rules()
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def findings(fragment: str) -> tuple[str, tuple[Finding, ...]]:
    text = laid_over(fragment)
    loaded = load_bytes(text.encode(), "cluster.yaml")
    assert loaded.spec is not None and loaded.document is not None, loaded.findings
    assert not loaded.findings
    return text, check(loaded.document, Subject(loaded.spec, facts_for(loaded.spec)))


def test_the_base_example_has_no_finding() -> None:
    assert findings("")[1] == ()


@EVERY_RULE
def test_the_bad_fragment_gives_the_finding_at_a_real_place(rule: Rule) -> None:
    text, found = findings(rule.bad)
    mine = [finding for finding in found if finding.rule == rule.id]
    assert mine, [finding.rule for finding in found]
    lines = text.split("\n")
    for finding in mine:
        span = finding.span
        assert span is not None and 1 <= span.line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1])
        assert lines[span.line - 1][span.column - 1] != " "
        assert finding.at == () or (span.line, span.column) != (1, 1)
        assert finding.severity is rule.severity
        for related in finding.related:
            assert related.span is not None and (related.span.line, related.span.column) != (1, 1)


@EVERY_RULE
def test_the_good_fragment_gives_no_such_finding(rule: Rule) -> None:
    assert rule.id not in {finding.rule for finding in findings(rule.good)[1]}


@EVERY_RULE
def test_every_finding_says_what_was_found_and_what_is_right(rule: Rule) -> None:
    for finding in findings(rule.bad)[1]:
        assert finding.found.strip() and finding.expected.strip()
        assert len(finding.found) < 400


@EVERY_RULE
def test_every_rule_is_documented(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z]{2,4}[0-9]{3}", rule.id)
    assert len(rule.source) >= 8
    assert len(rule.why) >= 30
    assert rule.title and not rule.title.endswith(".")


def test_ids_are_unique_and_sorted() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))


def test_the_same_fragment_gives_the_same_text() -> None:
    assert laid_over("pools: {train: {nodes: 2}}") == laid_over("pools: {train: {nodes: 2}}")
    assert "placement" not in laid_over("pools: {train: {placement: null}}")
