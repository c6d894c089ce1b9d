"""``explain`` and ``rules``: the rule book for people."""

from __future__ import annotations

import difflib
import json
import textwrap

from eks_training.configuration_rules import BUILT_IN
from eks_training.pipeline import UNREADABLE, Refused
from eks_training.rulebook import Rule, all_rules


def explain(id: str, *, as_json: bool = False) -> str:
    """Everything about one rule; raises Refused for an id that does not exist, naming the nearest."""
    rules = {rule.id: rule for rule in all_rules()}
    if id in BUILT_IN:
        return _built_in(id, as_json)
    if id not in rules:
        near = difflib.get_close_matches(id, [*rules, *BUILT_IN], n=3, cutoff=0.5)
        raise Refused(
            f"{id}: no such rule"
            + (f"; did you mean {' or '.join(near)}?" if near else "")
            + "\n`python -m eks_training rules` lists them\n",
            UNREADABLE,
        )
    rule = rules[id]
    if as_json:
        return json.dumps(_record(rule), indent=2) + "\n"
    return "\n".join(
        [
            f"{rule.id} ({rule.severity.value}): {rule.title}",
            "",
            *textwrap.wrap(rule.why, 100),
            "",
            f"source:  {rule.source}",
            f"proves:  {rule.proves}",
            f"can be suppressed: {'no' if rule.fixed else 'yes, with a reason, under `suppressions`'}",
            "",
            "wrong:",
            textwrap.indent(rule.bad.strip("\n"), "    "),
            "",
            "right:",
            textwrap.indent(rule.good.strip("\n"), "    "),
            "",
        ]
    )


def listing(*, as_json: bool = False) -> str:
    """Every rule in one line each."""
    if as_json:
        return json.dumps([_record(rule) for rule in all_rules()], indent=2) + "\n"
    lines = [f"{id:<8} error    {title}" for id, (title, _) in BUILT_IN.items()]
    lines += [f"{rule.id:<8} {rule.severity.value:<8} {rule.title}" for rule in all_rules()]
    return "\n".join(lines) + "\n"


def _record(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "severity": rule.severity.value,
        "title": rule.title,
        "why": rule.why,
        "source": rule.source,
        "proves": rule.proves,
        "suppressible": not rule.fixed,
        "wrong": rule.bad.strip("\n"),
        "right": rule.good.strip("\n"),
    }


def _built_in(id: str, as_json: bool) -> str:
    title, why = BUILT_IN[id]
    if as_json:
        return (
            json.dumps({"id": id, "severity": "error", "title": title, "why": why, "suppressible": False}, indent=2)
            + "\n"
        )
    return "\n".join([f"{id} (error): {title}", "", *textwrap.wrap(why, 100), ""])
