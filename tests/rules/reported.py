"""What the rule book says about the base example with a fragment laid over it, for tests of single cases."""

from dataclasses import dataclass

from eks_training.facts import facts_for
from eks_training.finding import Finding
from eks_training.loading import load_bytes
from eks_training.rulebook import Subject, check
from eks_training.rules.example import laid_over


@dataclass(frozen=True)
class Report:
    lines: list[str]
    findings: tuple[Finding, ...]

    def rules(self) -> list[str]:
        return [finding.rule for finding in self.findings]

    def only(self, rule: str) -> Finding:
        found = [finding for finding in self.findings if finding.rule == rule]
        assert len(found) == 1, self.findings
        return found[0]

    def stands_at(self, rule: str, text: str) -> Finding:
        """The one finding of a rule, whose caret must be under this text."""
        finding = self.only(rule)
        assert finding.span is not None
        line = self.lines[finding.span.line - 1]
        assert line[finding.span.column - 1 :].startswith(text), (line, finding.span)
        assert finding.span.end_column > finding.span.column
        return finding


def report(fragment: str) -> Report:
    text = laid_over(fragment)
    loaded = load_bytes(text.encode(), "cluster.yaml")
    if loaded.spec is None or loaded.document is None:
        return Report(text.split("\n"), loaded.findings)
    return Report(text.split("\n"), check(loaded.document, Subject(loaded.spec, facts_for(loaded.spec))))


def accepted(fragment: str) -> None:
    assert report(fragment).findings == ()
