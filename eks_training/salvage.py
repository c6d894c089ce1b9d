"""The part of a faulty file that the rule book can judge all the same, so that one run shows as much as possible.

Takes the value of a Document and the findings of the field checks; gives a Spec without the faulty places, and a test
that tells which findings of rules still hold.  A finding that might only come from what was taken out is held back: a
message that is wrong costs more trust than one that comes a run later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from eks_training.finding import Finding, Path
from eks_training.spec import Cluster

MAX_ROUNDS = 20
"""Taking one thing out can make its section incomplete; each round goes at most one level up."""

STAND_INS: dict[Path, Any] = {
    ("name",): "stand-in",
    ("kubernetes", "administrators"): ["arn:aws:iam::111122223333:role/stand-in"],
}
"""Required values that no rule builds a conclusion on; findings at these places are held back like all others."""

FAR_REACHING: dict[Path, str] = {
    ("kubernetes", "version"): "pools",
    ("instance_types",): "pools",
    ("registry_mirror",): "network",
    ("kubernetes", "addon_configuration"): "network",
}
"""Settings that decide about another part of the file, and which part that is."""

Validate: TypeAlias = Callable[[Any], tuple[Cluster | None, list[Finding]]]


@dataclass(frozen=True)
class Salvaged:
    """A Spec without the faulty places."""

    spec: Cluster
    renamed: tuple[Path, ...]
    """Keys whose spelling was mended, and values that got a stand-in; their neighbours count as they are."""
    values: tuple[Path, ...]
    """Single settings that were taken out or replaced; their neighbours may only be wrong without them."""
    entries: tuple[Path, ...]
    """Whole sections that were taken out because they would have been incomplete."""

    def holds(self, finding: Finding) -> bool:
        """Whether a rule's finding would stand in the repaired file too."""
        if finding.rule.startswith("SUP"):
            return False
        places = (finding.at, *(item.at for item in finding.related))
        sections = (path[:-1] if len(path) > 1 else path for path in self.values)
        touched = (*self.renamed, *sections, *self.entries)
        if any(_same_branch(place, path) for place in places for path in touched):
            return False
        reached = {
            part
            for path in (*self.values, *self.entries)
            for setting, part in FAR_REACHING.items()
            if _same_branch(path, setting)
        }
        if reached & {str(place[0]) for place in places if place}:
            return False
        return all(_apart(finding.at, entry) for entry in self.entries)


def _same_branch(one: Path, other: Path) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _apart(at: Path, entry: Path) -> bool:
    """Whether a missing section cannot matter to a place: another pool, or another part of the file.

    Pools decide about everything, storage entries name each other, and everything lies in the network.
    """
    if entry[0] == "pools":
        return at[:1] == ("pools",) and len(at) > 1
    return entry[0] != "network" and at[:1] != entry[:1]


def salvage(value: Any, findings: Sequence[Finding], validate: Validate) -> Salvaged | None:
    """Take out what the findings name until the rest is a Spec; None when too little is left."""
    value = deepcopy(value)
    renamed: list[Path] = []
    values: list[Path] = []
    entries: list[Path] = []
    for _ in range(MAX_ROUNDS):
        for finding in findings:
            if not _mend(value, finding, renamed, values, entries):
                return None
        spec, findings = validate(value)
        if spec is not None:
            return Salvaged(spec, tuple(renamed), tuple(values), tuple(entries))
    return None


def _mend(value: Any, finding: Finding, renamed: list[Path], values: list[Path], entries: list[Path]) -> bool:
    """Take out or replace one faulty place; False when nothing can be done."""
    at = _without_index(finding.at)
    if at in STAND_INS:
        renamed.append(at)
        return _put(value, at, STAND_INS[at])
    if finding.rule == "CFG004":
        entries.append(at[:-1])
        return len(at) > 1 and _take(value, at[:-1])
    meant = finding.hint.split("`")[1] if finding.hint.startswith("did you mean `") else None
    if finding.rule == "CFG003" and meant:
        section = _at(value, at[:-1])
        if isinstance(section, dict) and meant not in section and at[-1] in section:
            renamed.append((*at[:-1], meant))
            section[meant] = section.pop(at[-1])
            return True
    values.append(at)
    return bool(at) and _take(value, at)


def _without_index(path: Path) -> Path:
    """The list that an item is in."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    return path


def _at(value: Any, path: Path) -> Any:
    """What stands at a path, or None."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _put(value: Any, path: Path, new: Any) -> bool:
    section = _at(value, path[:-1])
    if not isinstance(section, dict):
        return False
    section[str(path[-1])] = deepcopy(new)
    return True


def _take(value: Any, path: Path) -> bool:
    """Remove an entry; one that is gone already counts as removed.

    A list goes as a whole: without one item the places of the others would be wrong.
    """
    path = _without_index(path)
    section = _at(value, path[:-1])
    if isinstance(section, dict):
        section.pop(path[-1], None)
    return bool(path)
