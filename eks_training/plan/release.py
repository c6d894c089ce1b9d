"""Helm charts that the Plan names: where they come from and which version."""

from __future__ import annotations

from dataclasses import dataclass

from eks_training.facts.versions import VersionTable


@dataclass(frozen=True)
class ChartRef:
    """A chart in an OCI registry; ``repository`` is the full reference with the chart's name, as Helm takes it."""

    name: str
    repository: str
    version: str


def chart_ref(name: str, versions: VersionTable, mirror: str | None) -> ChartRef:
    """The chart of a row of the version table, from the mirror where there is one.

    A mirror keeps the path below the public registry's host, as ECR pull-through caches do.
    """
    row = versions.row(name)
    return ChartRef(name, f"oci://{mirrored(row.where.removeprefix('oci://'), mirror)}", versions.pull(name) or "")


def mirrored(reference: str, mirror: str | None) -> str:
    """An image or chart reference with the mirror in place of its registry's host."""
    return f"{mirror}/{reference.partition('/')[2]}" if mirror else reference
