"""The one table of versions: charts, images, add-ons, APIs, tools, libraries and AMI releases.

The table is data (`versions.yaml`); a row says where its version was read and how far that was proved. Nothing else in
the project may spell a version.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

import yaml

TABLE = Path(__file__).with_name("versions.yaml")

Kind = Literal["chart", "image", "addon", "api", "tool", "library", "ami"]
Status = Literal["source", "docs", "proven", "unverified"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `version` is None where no dated source names one; `pull` is the string that a registry wants."""

    name: str
    version: str | None
    kind: Kind
    where: str
    source: str
    date: str
    status: Status
    pull: str | None = None
    minimum: str | None = None
    supported: tuple[str, ...] = ()
    note: str = ""


class VersionTable(Mapping[str, Row]):
    """A read-only mapping of names to rows."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> Row:
        return self.row(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> Row:
        """Return a row. Raises `KeyError` naming the nearest rows."""
        if name in self._rows:
            return self._rows[name]
        near = difflib.get_close_matches(name, self._rows, n=3, cutoff=0.4)
        raise KeyError(f"no version of {name!r}; near names: {', '.join(near) or 'none'}")

    def version(self, name: str) -> str | None:
        """Return the version of a row, or None where the table has none. Raises `KeyError` as `row` does."""
        return self.row(name).version

    def pull(self, name: str) -> str | None:
        """Return the string that a registry or an API takes, such as `v1.21.1`. Raises `KeyError` as `row` does."""
        row = self.row(name)
        return row.pull or row.version

    def of_kind(self, kind: Kind) -> tuple[Row, ...]:
        """Return the rows of one kind in the order of the file."""
        return tuple(row for row in self._rows.values() if row.kind == kind)

    def kubernetes_supported(self) -> tuple[str, ...]:
        """Return the Kubernetes minors that the project supports, oldest first."""
        return self.row("kubernetes").supported

    def ami_release(self, kubernetes: str) -> str:
        """Return the AL2023 release of a minor in the form a managed node group takes (`1.35.6-20260714`).

        Raises `KeyError` for a minor without a row.
        """
        version = self.version(f"eks-ami-{kubernetes}")
        if version is None:
            raise KeyError(f"no AMI release for Kubernetes {kubernetes}")
        return version


def read_versions(text: str) -> VersionTable:
    """Parse the table. Raises `ValueError` for a row with an unknown key, kind or status, or a missing one."""
    raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    known = {item.name for item in fields(Row)} - {"name"}
    needed = {"version", "kind", "where", "source", "date", "status"}
    rows: dict[str, Row] = {}
    for name, values in raw.items():
        wrong = sorted((values.keys() - known) | (needed - values.keys()))
        if wrong or values["kind"] not in get_args(Kind) or values["status"] not in get_args(Status):
            raise ValueError(
                f"versions.yaml: {name}: bad kind or status, or unknown or missing keys: {', '.join(wrong) or '-'}"
            )
        rows[name] = Row(name=name, **{**values, "supported": tuple(values.get("supported", ()))})
    return VersionTable(rows)


@functools.cache
def load_versions() -> VersionTable:
    """Return the shipped table. It is read once per process."""
    return read_versions(TABLE.read_text(encoding="utf-8"))


def row(name: str) -> Row:
    """Return a row of the shipped table. Raises `KeyError` naming the nearest rows."""
    return load_versions().row(name)


def version(name: str) -> str | None:
    """Return a version of the shipped table, or None where it has none. Raises `KeyError` naming the nearest rows."""
    return load_versions().version(name)
