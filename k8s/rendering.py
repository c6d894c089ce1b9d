"""From drawn objects to text that needs no deployment any more: outputs filled in, no placeholder, the same bytes.

Everything here is pure but `OutputsFile.read`, which reads one file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import yaml

from eks_training.plan.value import Output, Value

Resolve: TypeAlias = Callable[[Value], str]
Drawn = TypeVar("Drawn")

_UNRESOLVED = re.compile(r"[$#]\{Token\[|<unresolved")
# YAML 1.1 and 1.2, and their readers in Go and Python, disagree about what else is a number or a truth value.
_READ_DIFFERENTLY = re.compile(r"[-+.0-9].*|[yYnN]", re.DOTALL)


class MissingOutputs(ValueError):
    """Outputs that a manifest needs and the outputs file does not have; all of them."""

    def __init__(self, missing: Iterable[Output], known_stacks: Iterable[str]) -> None:
        self.missing = tuple(sorted(set(missing), key=lambda output: (output.stack, output.key)))
        known = set(known_stacks)
        lines = [f"{len(self.missing)} deployment output{'s' if len(self.missing) > 1 else ''} missing:"]
        for stack in dict.fromkeys(output.stack for output in self.missing):
            keys = ", ".join(output.key for output in self.missing if output.stack == stack)
            lines.append(f"  {stack}{'' if stack in known else ' (no such stack in the file)'}: {keys}")
        lines.append("  write the file with `cdk deploy --all --outputs-file FILE`")
        super().__init__("\n".join(lines))


class InvalidOutputs(ValueError):
    """A file that is no outputs file of the CDK command line."""


class UnresolvedText(ValueError):
    """Rendered text with a value in it that only a deployment can tell.  ``where`` lists name and line."""

    def __init__(self, where: Iterable[tuple[str, int, str]]) -> None:
        self.where = tuple(where)
        lines = [f"{name}:{line}: unresolved value in `{text.strip()}`" for name, line, text in self.where]
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class OutputsFile:
    """What `cdk deploy --outputs-file` wrote: values by stack and key.  An empty value counts as missing."""

    stacks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> OutputsFile:
        """Read a file.

        Raises OSError when it cannot be opened, `InvalidOutputs` when it is something else.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as fault:
            raise InvalidOutputs(f"{path}: not JSON: {fault}") from fault
        faults = list(_outputs_faults(data))
        if faults:
            raise InvalidOutputs("\n".join(f"{path}: {fault}" for fault in faults))
        return cls(data)

    def resolve(self, value: Value) -> str:
        """The value of an output; a literal is its own.  Raises `MissingOutputs`."""
        if isinstance(value, str):
            return value
        found = self.stacks.get(value.stack, {}).get(value.key)
        if not found:
            raise MissingOutputs((value,), self.stacks)
        return found

    def filled(self, draw: Callable[[Resolve], Drawn]) -> Drawn:
        """What ``draw`` makes with these values.

        Raises `MissingOutputs` with every output that it asked for in vain, not only the first.
        """
        missing: list[Output] = []

        def resolve(value: Value) -> str:
            try:
                return self.resolve(value)
            except MissingOutputs as fault:
                missing.extend(fault.missing)
                return "<unresolved>"

        drawn = draw(resolve)
        if missing:
            raise MissingOutputs(missing, self.stacks)
        return drawn


def _outputs_faults(data: object) -> Iterable[str]:
    if not isinstance(data, dict):
        yield "expected an object of stacks"
        return
    for stack, values in data.items():
        if not isinstance(values, dict):
            yield f"{stack}: expected an object of outputs"
            continue
        yield from (f"{stack}.{key}: expected text" for key, value in values.items() if not isinstance(value, str))


def refuse_unresolved(texts: Mapping[str, str]) -> None:
    """Raise `UnresolvedText` when any of the texts, by name, still holds a token or a placeholder."""
    found = [
        (name, number, line)
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if _UNRESOLVED.search(line)
    ]
    if found:
        raise UnresolvedText(found)


class _Writer(yaml.SafeDumper):
    """Spells everything out, and quotes what another reader could take for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(writer: _Writer, value: str) -> yaml.ScalarNode:
    style = '"' if _READ_DIFFERENTLY.fullmatch(value) else None
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def yaml_text(documents: Iterable[Mapping[str, Any]]) -> str:
    """Documents in the given order, keys in alphabetical order, no anchors, no folded lines."""
    text: str = yaml.dump_all(
        documents,
        Dumper=_Writer,
        sort_keys=True,
        explicit_start=True,
        default_flow_style=False,
        allow_unicode=True,
        width=2**31,
    )
    return text


def waves(after: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The wave of each part: 0 without an edge, otherwise one more than the latest of the parts that come before.

    Raises `graphlib.CycleError` for a circle, KeyError for an edge to a part that is not there.
    """
    edges = {name: tuple(earlier) for name, earlier in after.items()}
    found: dict[str, int] = {}
    for name in TopologicalSorter(edges).static_order():
        found[name] = max((found[earlier] + 1 for earlier in edges[name]), default=0)
    return found
