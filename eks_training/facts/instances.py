"""What AWS states about EC2 instance types: the facts that a launch template, a Plan and the rules need.

The table is data (`instances.json`, rebuilt by `eks_training.facts.refresh`); every value names its public source and
that source's date. A value that no source states is None and stays None: a rule or the Plan must ask for it, never
derive it.
Facts objects are built on demand, so loading costs one small `json.loads`.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypedDict, cast

TABLE = Path(__file__).with_name("instances.json")


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The accelerators of one instance: `model` as upstream spells it (`h100`, `trainium2`), memory per device."""

    kind: Literal["gpu", "neuron"]
    model: str | None
    count: int | None
    memory_mib_each: int | None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value stands: repository@commit and path, or page title; the date of the commit or of the reading."""

    where: str
    date: str
    remark: str = ""


class DeclaredFacts(TypedDict, total=False):
    """Facts that a user states for a type; the keys are fields of `InstanceFacts`, with the same units."""

    vcpus: int
    memory_mib: int
    arch: Literal["amd64", "arm64"]
    accelerator: Accelerator | None
    neuron_cores: int | None
    network_gbps: float
    network_cards: int
    interfaces_per_card: tuple[int, ...]
    ipv4_per_interface: int
    efa_supported: bool
    efa_interfaces: int
    efa_cards: tuple[int, ...]
    instance_store_gb: int


class UnknownFact(ValueError):
    """A declared fact has a name that `DeclaredFacts` does not know."""


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """Facts of one instance type. None means that no source states the value."""

    instance_type: str
    family: str
    vcpus: int | None
    memory_mib: int | None
    """Memory before any reservation for the kubelet, in MiB."""
    arch: Literal["amd64", "arm64"] | None
    accelerator: Accelerator | None
    neuron_cores: int | None
    """Physical NeuronCores; a logical core size of 2 halves what a device plugin can advertise."""
    network_gbps: float | None
    """Sustained bandwidth in Gbit/s; small burstable sizes can exceed it for a while."""
    network_cards: int | None
    interfaces_per_card: tuple[int, ...] | None
    """Interfaces that each card accepts, by card index; a device index must be below it."""
    ipv4_per_interface: int | None
    efa_supported: bool | None
    efa_interfaces: int | None
    efa_cards: tuple[int, ...] | None
    """The cards with EFA, only where a source lists them; use `efa_capable_cards()`."""
    instance_store_gb: int | None
    karpenter: bool
    """Whether Karpenter's own instance catalogue lists the type."""
    notes: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()
    """Names of the facts that the user declared over the table."""
    sources: Mapping[str, Source] = field(default_factory=dict, compare=False, repr=False)

    def efa_capable_cards(self) -> tuple[int, ...] | None:
        """Return the indices of the cards that carry EFA, `()` for none, None when it is unknown.

        A listed set wins. Without one, as many EFA interfaces as cards means that every card carries one; any other
        ratio says nothing about which cards do (p6-b300: 17 cards, and card 0 has none).
        """
        if self.efa_cards is not None:
            return self.efa_cards
        if self.efa_supported is False or self.efa_interfaces == 0:
            return ()
        if self.network_cards is not None and self.efa_interfaces == self.network_cards:
            return tuple(range(self.network_cards))
        return None

    def missing_for_launch(self) -> tuple[str, ...]:
        """Return the names of the unknown facts without which no EFA launch template can be written; `()` if complete.

        A type that is known to have no EFA needs none of them: its template has one plain interface.
        """
        cards = self.efa_capable_cards()
        if cards == ():
            return ()
        names = ("network_cards", "interfaces_per_card", "efa_interfaces")
        missing = [name for name in names if getattr(self, name) is None]
        return (*missing, "efa_cards") if cards is None else tuple(missing)


class InstanceTable:
    """A read-only table of instance types, with declared facts laid over the shipped ones."""

    def __init__(self, raw: Mapping[str, Any], declared: Mapping[str, InstanceFacts] | None = None) -> None:
        self._raw = raw
        self._declared = dict(declared or {})
        self._built: dict[str, InstanceFacts] = {}

    def get(self, instance_type: str) -> InstanceFacts | None:
        """Return the facts of a type, declared ones first, or None for a type that the table does not know."""
        if instance_type in self._declared:
            return self._declared[instance_type]
        row = self._raw["instances"].get(instance_type)
        if row is None:
            return None
        if instance_type not in self._built:
            self._built[instance_type] = self._build(instance_type, row)
        return self._built[instance_type]

    def names(self) -> tuple[str, ...]:
        """Return every known type, sorted."""
        return tuple(sorted(self._raw["instances"].keys() | self._declared.keys()))

    def nearest(self, instance_type: str, n: int = 3) -> tuple[str, ...]:
        """Return up to `n` known types that resemble a misspelt one, best first, for a hint.

        Types of the very family come first (a wrong size is the commonest slip), then whatever resembles it as a string
        once the separators are ignored (`p6b200-48xl`).
        """
        wanted, family = _plain(instance_type), instance_type.lower().partition(".")[0]
        plain = {_plain(name): name for name in self.names()}
        same = [name for name in plain.values() if name.partition(".")[0] == family]
        ranked = sorted(same, key=lambda name: (-_likeness(wanted, _plain(name)), name))
        ranked += [plain[key] for key in difflib.get_close_matches(wanted, plain, n=n + len(ranked), cutoff=0.6)]
        return tuple(dict.fromkeys(ranked))[:n]

    def declare(
        self, instance_type: str, facts: DeclaredFacts, *, source: str, date: str = "declared"
    ) -> InstanceTable:
        """Return a new table in which `facts` of one type win over the shipped ones; this table stays as it is.

        `source` says where the user read them, as in `cluster.yaml`. A type that the table does not know is added with
        everything else unknown. Raises `UnknownFact` for a name outside `DeclaredFacts`.
        """
        unknown = sorted(facts.keys() - DeclaredFacts.__annotations__.keys())
        if unknown:
            raise UnknownFact(f"{instance_type}: not a fact that can be declared: {', '.join(unknown)}")
        base = self.get(instance_type) or _blank(instance_type)
        values: dict[str, Any] = {item.name: getattr(base, item.name) for item in fields(base)} | dict(facts)
        cited = {name: Source(source, date, "declared by the user") for name in facts}
        values["sources"] = MappingProxyType(dict(base.sources) | cited)
        values["declared"] = base.declared | facts.keys()
        return InstanceTable(self._raw, self._declared | {instance_type: InstanceFacts(**values)})

    def _build(self, name: str, row: list[Any]) -> InstanceFacts:
        values = dict(zip(self._raw["columns"], row, strict=True))
        accelerator = values["accelerator"]
        values["accelerator"] = Accelerator(*accelerator) if accelerator else None
        for column in ("interfaces_per_card", "efa_cards", "notes"):
            values[column] = None if values[column] is None else tuple(values[column])
        values["sources"] = self._sources(values.pop("profile"))
        return InstanceFacts(instance_type=name, family=name.partition(".")[0], **values)

    def _sources(self, profile: int) -> Mapping[str, Source]:
        """A profile entry is `source id`, or `source id (remark)` where the value was read in a particular way."""
        out: dict[str, Source] = {}
        for name, text in self._raw["profiles"][profile].items():
            key, _, remark = text.partition(" (")
            entry = self._raw["sources"][key]
            out[name] = Source(entry["where"], entry["date"], remark.removesuffix(")"))
        return MappingProxyType(out)


def read_table(text: str) -> InstanceTable:
    """Parse the text of `instances.json`. Raises `ValueError` when it is not JSON of schema 2."""
    raw = json.loads(text)
    if not isinstance(raw, dict) or raw.get("schema") != 2:
        raise ValueError("instances.json: schema 2 expected")
    return InstanceTable(cast("dict[str, Any]", raw))


@functools.cache
def load_instances() -> InstanceTable:
    """Return the shipped table. It is read once per process."""
    return read_table(TABLE.read_text(encoding="utf-8"))


def _blank(name: str) -> InstanceFacts:
    unknown: dict[str, Any] = dict.fromkeys(DeclaredFacts.__annotations__)
    return InstanceFacts(instance_type=name, family=name.partition(".")[0], karpenter=False, **unknown)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _likeness(left: str, right: str) -> float:
    return difflib.SequenceMatcher(None, left, right).ratio()
