"""What a rule is, and the engine that runs all of them.

A rule is one function about one concern.  It takes a Subject (Spec and Facts) and yields Faults; it never raises, does
no I/O and knows no line numbers.  The engine adds id and severity, turns paths into places, applies suppressions and
sorts by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from eks_training.document import Document
from eks_training.facts import Facts
from eks_training.finding import Finding, Path, Related, Severity, locate, path_text
from eks_training.spec import Cluster

ERROR = Severity.ERROR
WARNING = Severity.WARNING

Proof: TypeAlias = Literal["schema", "arithmetic", "template", "real component", "control plane"]
"""What passing a rule or a test shows, and no more."""


@dataclass(frozen=True)
class Subject:
    """What a rule looks at."""

    spec: Cluster
    facts: Facts


@dataclass(frozen=True)
class Fault:
    """What a rule found: the place as a path, what stands there, what would be right, and the next step."""

    at: Path
    found: str
    expected: str
    hint: str = ""
    related: tuple[Related, ...] = ()
    on_key: bool = False


Check: TypeAlias = Callable[[Subject], Iterable[Fault]]


@dataclass(frozen=True)
class Rule:
    """A rule with its documentation.

    ``bad`` and ``good`` are YAML fragments laid over the base example; the tests run both.  A ``fixed`` rule cannot be
    suppressed: AWS or Kubernetes refuses what it finds, or the output would not do what the file says.
    """

    id: str
    severity: Severity
    title: str
    source: str
    proves: Proof
    bad: str
    good: str
    check: Check
    fixed: bool

    @property
    def why(self) -> str:
        """The reasoning, from the docstring."""
        return " ".join((self.check.__doc__ or "").split())


_RULES: dict[str, Rule] = {}


def rule(
    id: str,
    severity: Severity,
    title: str,
    *,
    source: str,
    bad: str,
    good: str,
    proves: Proof = "schema",
    fixed: bool | None = None,
) -> Callable[[Check], Check]:
    """Register a function as a rule; an id that is taken twice is a programming error.

    Errors are fixed and warnings are not, unless ``fixed`` says otherwise: `fixed=False` is for an error that is a
    judgement, where the user may know better and the output is still what the file says.
    """

    def register(check: Check) -> Check:
        if id in _RULES:
            raise ValueError(f"rule {id} is defined twice")
        _RULES[id] = Rule(
            id, severity, title, source, proves, bad, good, check, severity is ERROR if fixed is None else fixed
        )
        return check

    return register


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by id."""
    import eks_training.rules  # noqa: F401  (importing the package registers its rules)

    return tuple(_RULES[key] for key in sorted(_RULES))


def check(document: Document, subject: Subject, rules: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """Run the rules; the findings that remain after suppressions, in the order of the file."""
    chosen = all_rules() if rules is None else rules
    found = [finding for rule in chosen for finding in _run(rule, subject)]
    kept = _suppress(found, subject.spec, {rule.id: rule for rule in (*all_rules(), *chosen)})
    return tuple(sorted((locate(finding, document) for finding in kept), key=Finding.order))


def _run(rule: Rule, subject: Subject) -> Iterator[Finding]:
    for fault in rule.check(subject):
        yield Finding(
            rule=rule.id,
            severity=rule.severity,
            title=rule.title,
            found=fault.found,
            expected=fault.expected,
            hint=fault.hint,
            at=fault.at,
            on_key=fault.on_key,
            related=fault.related,
        )


def _suppress(found: Sequence[Finding], spec: Cluster, known: dict[str, Rule]) -> Iterator[Finding]:
    used: set[int] = set()
    for finding in found:
        index = next((i for i, item in enumerate(spec.suppressions) if _covers(item.rule, item.at, finding)), None)
        if index is None:
            yield finding
        elif known[finding.rule].fixed:
            used.add(index)
            yield finding
        else:
            used.add(index)
    for index, item in enumerate(spec.suppressions):
        at: Path = ("suppressions", index)
        if item.rule not in known:
            yield _suppression_finding(
                "SUP001",
                "unknown rule",
                (*at, "rule"),
                item.rule,
                "the id of a rule",
                "`python -m eks_training rules` lists them",
            )
        elif known[item.rule].fixed and index in used:
            yield _suppression_finding(
                "SUP003",
                "a rule that cannot be suppressed",
                (*at, "rule"),
                item.rule,
                "the id of a warning, or of an error that is a judgement",
                f"mend what the finding says; `python -m eks_training explain {item.rule}` gives the reason",
            )
        elif index not in used:
            yield _suppression_finding(
                "SUP002",
                "a suppression that hides nothing",
                at,
                f"{item.rule} at {item.at}",
                "a finding of this rule at this path",
                "remove the suppression",
            )


def _suppression_finding(id: str, title: str, at: Path, found: str, expected: str, hint: str) -> Finding:
    return Finding(rule=id, severity=ERROR, title=title, found=found, expected=expected, hint=hint, at=at)


def _covers(rule: str, at: str, finding: Finding) -> bool:
    where = path_text(finding.at)
    return finding.rule == rule and (where == at or where.startswith((f"{at}.", f"{at}[")))
