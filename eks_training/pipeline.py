"""The whole pure flow in one call: file -> Document -> Spec -> Findings -> Plan.

Both composition roots (``app.py`` and ``cli``) use it, so that a file is judged the same way everywhere.  The planner
is imported when there is something to plan: ``validate`` answers sooner without it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_training import report
from eks_training.facts import facts_for
from eks_training.finding import Finding, has_errors
from eks_training.loading import Loaded, load
from eks_training.rulebook import Subject, check

if TYPE_CHECKING:
    from eks_training.plan import Plan

FINDINGS = 1
"""Exit code: the configuration has errors."""
UNREADABLE = 2
"""Exit code: the file cannot be opened, or the command line is wrong."""


class Refused(Exception):
    """The configuration gives no Plan.  ``report`` says why, ready to print."""

    def __init__(self, report: str, exit_code: int) -> None:
        super().__init__(report)
        self.report = report
        self.exit_code = exit_code


@dataclass(frozen=True)
class Checked:
    """A file after all checks."""

    loaded: Loaded
    findings: tuple[Finding, ...]

    def failed(self, *, strict: bool = False) -> bool:
        """Whether the findings forbid a Plan."""
        return has_errors(self.findings, strict=strict)

    def text(self, style: report.Style = report.PLAIN) -> str:
        """The findings for people."""
        return report.text(self.findings, self.loaded.file, self.loaded.lines, style)

    def json(self) -> str:
        """The findings for programs."""
        return report.as_json(self.findings, self.loaded.file)

    def plan(self) -> Plan:
        """Take every decision; only for a file without errors."""
        from eks_training.plan import build

        assert self.loaded.spec is not None
        return build(self.loaded.spec, facts_for(self.loaded.spec))


@dataclass(frozen=True)
class Planned:
    """A Plan and what to say about it."""

    plan: Plan
    report: str

    def write(self, folder: Path) -> None:
        """Write plan.json and summary.txt; raises OSError when the folder cannot be written."""
        from eks_training.files import write_whole
        from eks_training.summary import summary

        write_whole(folder / "plan.json", plan_json(self.plan))
        write_whole(folder / "summary.txt", summary(self.plan))


def checked(file: str) -> Checked:
    """Read and check a file.

    Raises Refused with exit code 2 when it cannot be opened; nothing else, whatever it holds.
    """
    try:
        loaded = load(file)
    except OSError as error:
        raise Refused(f"{file}: cannot be opened: {error.strerror or error}\n", UNREADABLE) from error
    return judged(loaded)


def judged(loaded: Loaded) -> Checked:
    """Run the rule book over what was read; never raises, whatever that is."""
    if loaded.document is None:
        return Checked(loaded, loaded.findings)
    if loaded.spec is not None:
        return Checked(loaded, check(loaded.document, Subject(loaded.spec, facts_for(loaded.spec))))
    if loaded.salvaged is None:
        return Checked(loaded, loaded.findings)
    rest = loaded.salvaged
    more = check(loaded.document, Subject(rest.spec, facts_for(rest.spec)))
    findings = (*loaded.findings, *(finding for finding in more if rest.holds(finding)))
    return Checked(loaded, tuple(sorted(findings, key=Finding.order)))


def planned(file: str) -> Planned:
    """Read, check and plan.

    Raises Refused when there is nothing to plan from.
    """
    result = checked(file)
    if result.failed():
        raise Refused(result.text(), FINDINGS)
    return Planned(result.plan(), result.text() if result.findings else "")


def plan_json(plan: Plan) -> str:
    """A Plan as JSON text; the same bytes for the same Plan."""
    from eks_training.plan import as_data

    return json.dumps(as_data(plan), indent=2, sort_keys=True) + "\n"
