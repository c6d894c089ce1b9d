"""Rules about the tags that every resource gets (TAG001 to TAG003)."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training import naming
from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, Fault, Subject, rule
from eks_training.rules import reading

MOST_TAGS = 50
"""Tags of one resource."""
NAME = "Name"
OWN_PREFIX = naming.TAG_CLUSTER.partition("/")[0] + "/"
OWN_TAGS = 4
"""The most tags that one resource gets from this project itself."""
KARPENTER_KEYS = frozenset(
    {"eks:eks-cluster-name", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass"}
)
KARPENTER_PREFIX = "kubernetes.io/cluster"
KARPENTER_TAGS = len(KARPENTER_KEYS) + 1
"""Tags that Karpenter adds to its instances: the keys above and one that begins with the prefix."""

_AT: Path = ("tags",)
_ON_KARPENTER = "pools: {train: {provisioner: karpenter, nodes: {max: 4}}}"
_NODECLASS = "aws/karpenter-provider-aws@bde0065 (tag v1.14.1) pkg/apis/v1/ec2nodeclass.go"
_MANY = ", ".join(f"key-{number}: value" for number in range(47))


def _karpenter_pool(subject: Subject) -> Path | None:
    """The first pool that Karpenter provisions."""
    return next((at for _, pool, at in reading.pools(subject.spec) if reading.by_karpenter(pool)), None)


@rule(
    "TAG001",
    ERROR,
    "tag that this project sets itself",
    source="eks_training/naming.py and eks_training/plan/pool.py",
    bad="tags: {Name: research}",
    good="tags: {team: research}",
)
def own_tags(subject: Subject) -> Iterator[Fault]:
    """Nodes are named after their pool, and the tags of this project's prefix tell which cluster and pool they are of.
    A value given for all resources is overwritten on some and would say something wrong on the others.
    """
    for key in subject.spec.tags:
        if key == NAME or key.startswith(OWN_PREFIX):
            yield Fault((*_AT, key), f"tag {key}", "a key of your own, such as team", on_key=True)


@rule(
    "TAG002",
    ERROR,
    "tag that Karpenter sets itself",
    source=f"{_NODECLASS} (validation of spec.tags)",
    bad=f"tags: {{kubernetes.io/cluster/example: owned}}\n{_ON_KARPENTER}",
    good=f"tags: {{team: research}}\n{_ON_KARPENTER}",
)
def karpenter_tags(subject: Subject) -> Iterator[Fault]:
    """Karpenter marks its instances with these keys and finds them again by them, so the API server refuses an
    EC2NodeClass that sets one.  No node of any Karpenter pool would start.
    """
    pool = _karpenter_pool(subject)
    for key in subject.spec.tags if pool else ():
        if key in KARPENTER_KEYS or key.startswith(KARPENTER_PREFIX):
            related = (Related((*pool, "provisioner"), "a Karpenter pool"),) if pool else ()
            yield Fault((*_AT, key), f"tag {key}", "a key of your own, such as team", related=related, on_key=True)


@rule(
    "TAG003",
    ERROR,
    "too many tags",
    source="Tagging AWS Resources User Guide, Tag naming limits and requirements (50 for each resource); "
    f"{_NODECLASS}; eks_training/naming.py",
    proves="arithmetic",
    bad=f"tags: {{{_MANY}}}",
    good="tags: {team: research}",
)
def tags_fit(subject: Subject) -> Iterator[Fault]:
    """A resource has at most 50 tags, those of the project and of Karpenter included.  With more, the resource is not
    made: for a node that means that every launch fails.
    """
    added = OWN_TAGS + (KARPENTER_TAGS if _karpenter_pool(subject) else 0)
    count = len(subject.spec.tags)
    if count + added > MOST_TAGS:
        yield Fault(
            _AT,
            f"{reading.counted(count, 'tag')} of yours + {added} more = {count + added}",
            f"at most {MOST_TAGS - added} of yours: {MOST_TAGS} in all",
            on_key=True,
        )
