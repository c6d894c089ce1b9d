"""Helm charts that the Plan names: where they come from and which version."""

from __future__ import annotations

from dataclasses import dataclass

from eks_training.facts.versions import VersionTable


@dataclass(frozen=True)
class ChartRef:
    """A chart: in an OCI registry ``repository`` is the full reference with the chart's name, elsewhere the address of
    the repository, as Helm takes them."""

    name: str
    repository: str
    version: str


def chart_ref(name: str, versions: VersionTable, mirror: str | None) -> ChartRef:
    """The chart of a row of the version table, from the mirror where there is one.

    A mirror keeps the path below the public registry's host, as ECR pull-through caches do; a chart from elsewhere is
    pushed there under its own name.
    """
    where = versions.row(name).where
    if where.startswith("oci://"):
        repository = f"oci://{mirrored(where.removeprefix('oci://'), mirror)}"
    else:
        repository = f"oci://{mirror}/{name}" if mirror else where
    return ChartRef(name, repository, versions.pull(name) or "")


def mirrored(reference: str, mirror: str | None) -> str:
    """An image or chart reference with the mirror in place of its registry's host."""
    return f"{mirror}/{reference.partition('/')[2]}" if mirror else reference
