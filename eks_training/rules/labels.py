"""Rules about node labels and taints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_training import naming
from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import Pool

EKS_RESERVED = ("kubernetes.io/", "k8s.io/", "eks.amazonaws.com/")
"""Text that EKS accepts in no label and in no taint of a managed node group."""
OWN_PREFIX = naming.LABEL_POOL.partition("/")[0] + "/"
KARPENTER_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
FOLLOWS_FROM_POOL = frozenset({
    "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "topology.k8s.aws/zone-id",
    "beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
})  # fmt: skip
"""Labels that the node gets from what it is, and that a NodePool reads as a requirement."""
EKS_KEY = 63

_ON_KARPENTER = "provisioner: karpenter, nodes: {max: 4}"
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RESERVED_SOURCE = "aws/containers-roadmap#1451, eksctl-io/eksctl#4006 (message of CreateNodegroup)"


def _node_groups(subject: Subject) -> Iterator[tuple[Pool, Path]]:
    return ((pool, at) for _, pool, at in reading.pools(subject.spec) if not reading.by_karpenter(pool))


def _karpenter_pools(subject: Subject) -> Iterator[tuple[Pool, Path]]:
    return ((pool, at) for _, pool, at in reading.pools(subject.spec) if reading.by_karpenter(pool))


def _keys(pool: Pool, at: Path) -> Iterator[tuple[str, str, Path]]:
    """Keys of labels and taints: what it is, the key, its path."""
    for key in pool.labels:
        yield "label", key, (*at, "labels", key)
    for index, taint in enumerate(pool.taints or ()):
        yield "taint", taint.key, (*at, "taints", index, "key")


@rule(
    "LBL001",
    ERROR,
    "label or taint with a prefix that EKS reserves",
    source=_RESERVED_SOURCE,
    bad="pools: {train: {labels: {node-role.kubernetes.io/trainer: 'true'}}}",
    good="pools: {train: {labels: {example.com/trainer: 'true'}}}",
)
def eks_reserved(subject: Subject) -> Iterator[Fault]:
    """EKS refuses labels and taints of a managed node group that contain its own prefixes or those of Kubernetes, below
    any subdomain.  The group's creation fails with a message that names only the prefixes.
    """
    for pool, at in _node_groups(subject):
        for what, key, where in _keys(pool, at):
            reserved = next((text for text in EKS_RESERVED if text in key), None)
            if reserved is not None:
                yield Fault(
                    where, f"{what} {key}, with the reserved {reserved}", "a prefix of your own", on_key=what == "label"
                )


@rule(
    "LBL002",
    ERROR,
    "label or taint that belongs to Karpenter",
    source="aws/karpenter-provider-aws@1d92708 pkg/apis/crds/karpenter.sh_nodepools.yaml (validation of labels)",
    bad=f"pools: {{train: {{{_ON_KARPENTER}, labels: {{karpenter.sh/capacity-type: spot}}}}}}",
    good=f"pools: {{train: {{{_ON_KARPENTER}, labels: {{example.com/team: research}}}}}}",
)
def karpenter_reserved(subject: Subject) -> Iterator[Fault]:
    """Karpenter sets the labels of its domains itself, from the way the capacity is bought and the instance type, and
    its API refuses most of them.  The ones that it accepts would contradict the pool's own fields or repeat them.
    """
    for pool, at in _karpenter_pools(subject):
        for what, key, where in _keys(pool, at):
            domain = key.partition("/")[0] if "/" in key else ""
            if domain.endswith(KARPENTER_DOMAINS):
                yield Fault(where, f"{what} {key}", "a prefix of your own", on_key=what == "label")


@rule(
    "LBL003",
    ERROR,
    "label that follows from the node",
    source="kubernetes-sigs/karpenter pkg/apis/v1/labels.go (well-known labels); Kubernetes documentation, "
    "Well-Known Labels, Annotations and Taints",
    bad=f"pools: {{train: {{{_ON_KARPENTER}, labels: {{topology.kubernetes.io/zone: us-east-2c}}}}}}",
    good=f"pools: {{train: {{{_ON_KARPENTER}, labels: {{example.com/zone: east}}}}}}",
)
def node_identity(subject: Subject) -> Iterator[Fault]:
    """A NodePool reads such a label as a requirement.  It either repeats what the pool says already, or contradicts it,
    and then Karpenter never launches a node.
    """
    for pool, at in _karpenter_pools(subject):
        for key in pool.labels:
            if key in FOLLOWS_FROM_POOL:
                yield Fault((*at, "labels", key), f"label {key}", "no such label: the node gets it", on_key=True)


@rule(
    "LBL004",
    ERROR,
    "label or taint with this project's prefix",
    source="eks_training/naming.py",
    bad="pools: {train: {labels: {eks-training/pool: other}}}",
    good="pools: {train: {labels: {example.com/pool: other}}}",
)
def own_prefix(subject: Subject) -> Iterator[Fault]:
    """Jobs find their pool by labels of this prefix, which every node gets.  A value given by hand would send a job's
    pods to another pool's nodes.
    """
    for _name, pool, at in reading.pools(subject.spec):
        for what, key, where in _keys(pool, at):
            if key.startswith(OWN_PREFIX):
                yield Fault(where, f"{what} {key}", "a prefix of your own", on_key=what == "label")


@rule(
    "LBL005",
    ERROR,
    "prefix that is no DNS name",
    source="Kubernetes documentation, Labels and Selectors (the prefix is a DNS subdomain)",
    bad="pools: {train: {labels: {example..com/team: research}}}",
    good="pools: {train: {labels: {example.com/team: research}}}",
)
def dns_prefix(subject: Subject) -> Iterator[Fault]:
    """The part before the slash is a DNS name: parts of at most 63 small letters, digits and hyphens between single
    dots.  The API server refuses everything else.
    """
    for _name, pool, at in reading.pools(subject.spec):
        for what, key, where in _keys(pool, at):
            parts = key.partition("/")[0].split(".") if "/" in key else []
            if not all(_DNS_LABEL.fullmatch(part) for part in parts):
                yield Fault(where, f"{what} {key}", "a prefix such as example.com", on_key=what == "label")


@rule(
    "LBL006",
    ERROR,
    "label or taint that EKS cannot store",
    source="botocore 1.44.8 eks/2017-11-01 (labelKey and taintKey 1 to 63, labelValue 1 to 63 characters)",
    proves="arithmetic",
    bad="pools: {train: {labels: {example.com/fast: ''}}}",
    good="pools: {train: {labels: {example.com/fast: 'true'}}}",
)
def eks_lengths(subject: Subject) -> Iterator[Fault]:
    """Kubernetes allows an empty value, and a long prefix before the 63 characters of a key.  The API of managed node
    groups allows neither.
    """
    for pool, at in _node_groups(subject):
        for key, value in pool.labels.items():
            if not value:
                yield Fault((*at, "labels", key), "an empty value", "1 to 63 characters", "write 'true'", on_key=True)
        for what, key, where in _keys(pool, at):
            if len(key) > EKS_KEY:
                yield Fault(where, f"{what} key of {len(key)} characters", f"at most {EKS_KEY}, prefix included",
                            on_key=what == "label")  # fmt: skip


@rule(
    "LBL010",
    ERROR,
    "taint twice",
    source="Kubernetes API Reference, Node (taints are unique by key and effect)",
    bad="pools: {train: {taints: [{key: a, value: x, effect: NoSchedule}, {key: a, value: y, effect: NoSchedule}]}}",
    good="pools: {train: {taints: [{key: a, value: x, effect: NoSchedule}, {key: a, value: y, effect: NoExecute}]}}",
)
def distinct_taints(subject: Subject) -> Iterator[Fault]:
    """A node has one taint of a key and an effect, whatever the value.  The second one is refused, or replaces the
    first.
    """
    for _name, pool, at in reading.pools(subject.spec):
        first: dict[tuple[str, str], int] = {}
        for index, taint in enumerate(pool.taints or ()):
            before = first.setdefault((taint.key, taint.effect), index)
            if before != index:
                yield Fault(
                    (*at, "taints", index, "key"),
                    f"{taint.key} with {taint.effect} again",
                    "one taint of a key and an effect",
                    related=(Related((*at, "taints", before, "key"), "the first one"),),
                )


@rule(
    "LBL011",
    ERROR,
    "no system node that takes every system pod",
    source="Kubernetes documentation, Taints and Tolerations; kubernetes-sigs/metrics-server charts/metrics-server "
    "values.yaml (no toleration by default)",
    bad="pools: {system: {taints: [{key: CriticalAddonsOnly, value: 'true', effect: NoSchedule}]}}",
    good="pools: {system: {taints: []}, dedicated: {purpose: system, instance_type: m7i.2xlarge, nodes: 2, taints: "
    "[{key: CriticalAddonsOnly, value: 'true', effect: NoSchedule}]}}",
)
def system_taints(subject: Subject) -> Iterator[Fault]:
    """Add-ons and operators tolerate different taints, and some tolerate none: CoreDNS accepts CriticalAddonsOnly, the
    metrics server does not.  If every system pool that is always there has a taint, such pods stay pending, because
    accelerator nodes are tainted too.
    """
    repelled: list[Path] = []
    for _name, pool, at in reading.pools(subject.spec):
        if pool.purpose != "system" or pool.min_nodes == 0:
            continue
        hard = [index for index, taint in enumerate(pool.taints or ()) if taint.effect != "PreferNoSchedule"]
        if not hard:
            return
        repelled.append((*at, "taints", hard[0], "key"))
    for where in repelled:
        yield Fault(
            where,
            "a taint on every system pool",
            "one system pool without NoSchedule and NoExecute",
            "write `PreferNoSchedule`, or add a small system pool without a taint",
            related=(Related(("pools",), "no system pool without a taint"),),
        )
