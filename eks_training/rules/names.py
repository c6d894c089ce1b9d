"""Names that must stay different after they became resource names."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training import naming
from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, Fault, Subject, rule
from eks_training.spec import Cluster


def _keys(spec: Cluster) -> Iterator[tuple[str, Path]]:
    """What each name becomes, with the name's place."""
    for name in spec.pools:
        yield f"pool {naming.pascal(name)}", ("pools", name)
    storage = spec.storage
    for kind, names in (("lustre", storage.lustre), ("efs", storage.efs), ("buckets", storage.buckets)):
        for name in names:
            yield f"{kind} {naming.pascal(name)}", ("storage", kind, name)
    for name, item in storage.efs.items():
        for point in item.create.access_points if item.create else ():
            where: Path = ("storage", "efs", name, "create", "access_points", point)
            yield f"access point {naming.pascal(name)}{naming.pascal(point)}", where


@rule(
    "NAM001",
    ERROR,
    "two names that become one resource name",
    source="CloudFormation User Guide, Outputs: a logical id is alphanumeric and unique within the template",
    bad="""
storage:
  buckets:
    run-1: {create: {}}
    run1: {create: {}}
""",
    good="""
storage:
  buckets:
    run-a: {create: {}}
    run-b: {create: {}}
""",
    proves="arithmetic",
)
def one_resource_name(subject: Subject) -> Iterator[Fault]:
    """Outputs and logical ids take letters and digits only, so hyphens are dropped: `run-1` and `run1` both become
    `Run1`.  One of the two would silently stand for both."""
    first: dict[str, Path] = {}
    for key, path in _keys(subject.spec):
        if key in first:
            yield Fault(
                at=path,
                found=f"`{path[-1]}` and `{first[key][-1]}` both become {key}",
                expected="names that differ in more than hyphens",
                hint="rename one of the two",
                related=(Related(first[key], f"`{first[key][-1]}`"),),
                on_key=True,
            )
        first.setdefault(key, path)
