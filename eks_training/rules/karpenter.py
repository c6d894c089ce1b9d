"""Rules about pools that Karpenter provisions: what it can express, and what it may do to running jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading
from eks_training.spec.pool import Pool

_ON = "provisioner: karpenter"
_CONCEPTS = "Karpenter documentation, Disruption"


def _train(fields: str, nodes: str = "{max: 4}") -> str:
    return f"pools: {{train: {{{_ON}, nodes: {nodes}, {fields}}}}}"


def _ours(subject: Subject) -> Iterator[tuple[Pool, Path]]:
    return ((pool, at) for _, pool, at in reading.pools(subject.spec) if reading.by_karpenter(pool))


def _training(subject: Subject) -> Iterator[tuple[Pool, Path]]:
    return ((pool, at) for pool, at in _ours(subject) if pool.purpose == "training")


@rule(
    "KAR001",
    ERROR,
    "fixed number of Karpenter nodes",
    source="Karpenter documentation, NodePools, spec.replicas (gate StaticCapacity, alpha, off by default)",
    bad=_train("placement: cluster", "4"),
    good=_train("static_capacity: true", "4"),
)
def static_is_asked_for(subject: Subject) -> Iterator[Fault]:
    """Karpenter starts nodes when pods wait.  A fixed number of nodes needs a feature that is alpha and cannot be
    switched off again for a pool, so the file must ask for it by name.
    """
    for pool, at in _ours(subject):
        if isinstance(pool.nodes, int) and not pool.static_capacity:
            yield Fault(
                (*at, "nodes"),
                f"{reading.counted(pool.nodes, 'node')}, always",
                f"{{max: {pool.nodes}}}",
                "`static_capacity: true` allows the alpha feature; a node group has fixed numbers anyway",
            )


@rule(
    "KAR002",
    ERROR,
    "static_capacity without effect",
    source="Karpenter documentation, NodePools, spec.replicas",
    bad="pools: {train: {static_capacity: true}}",
    good=_train("static_capacity: true", "4"),
)
def static_has_effect(subject: Subject) -> Iterator[Fault]:
    """`static_capacity` allows a fixed number of Karpenter nodes.  On a node group and beside a range it changes
    nothing.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.static_capacity and not (reading.by_karpenter(pool) and isinstance(pool.nodes, int)):
            where = "a range of nodes" if reading.by_karpenter(pool) else "a node group"
            yield Fault((*at, "static_capacity"), f"static_capacity with {where}", "no `static_capacity`", on_key=True)


@rule(
    "KAR003",
    ERROR,
    "minimum that Karpenter does not keep",
    source="Karpenter documentation, NodePools (limits are an upper bound; there is no lower one)",
    bad=_train("placement: cluster", "{min: 2, max: 4}"),
    good=_train("placement: cluster", "{min: 0, max: 4}"),
)
def no_minimum(subject: Subject) -> Iterator[Fault]:
    """A NodePool has a limit and no minimum: without pods it goes down to no node.  A minimum in the file would promise
    nodes that are not there.
    """
    for pool, at in _ours(subject):
        if not isinstance(pool.nodes, int) and pool.nodes.min > 0:
            yield Fault(
                (*at, "nodes", "min"),
                f"min {pool.nodes.min} on Karpenter",
                "min 0",
                "a node group keeps a minimum; `static_capacity: true` with a fixed number does too",
            )


@rule(
    "KAR004",
    ERROR,
    "desired on Karpenter",
    source="Karpenter documentation, NodePools",
    bad=_train("placement: cluster", "{max: 4, desired: 2}"),
    good=_train("placement: cluster"),
)
def no_desired(subject: Subject) -> Iterator[Fault]:
    """Waiting pods decide how many nodes Karpenter starts.  A number to start with exists in node groups only."""
    for pool, at in _ours(subject):
        if not isinstance(pool.nodes, int) and pool.nodes.desired is not None:
            yield Fault(
                (*at, "nodes", "desired"), f"desired {pool.nodes.desired} on Karpenter", "no `desired`", on_key=True
            )


@rule(
    "KAR005",
    ERROR,
    "disruption of a node group",
    source=_CONCEPTS,
    bad="pools: {train: {disruption: {expire_after: Never}}}",
    good=_train("disruption: {expire_after: Never}"),
)
def disruption_has_effect(subject: Subject) -> Iterator[Fault]:
    """Expiry, consolidation and drain limits are Karpenter's.  A node group knows none of them, so the setting would
    protect nothing.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if not reading.by_karpenter(pool) and pool.disruption.model_fields_set:
            yield Fault((*at, "disruption"), "disruption on a node group", "no `disruption`, or Karpenter", on_key=True)


@rule(
    "KAR006",
    ERROR,
    "auto_repair on Karpenter",
    source="EKS User Guide, Automatically repair nodes in EKS clusters; Karpenter documentation, Disruption, Node Auto "
    "Repair (gate NodeRepair, alpha)",
    bad=_train("auto_repair: true"),
    good=_train("auto_repair: false"),
)
def repair_has_effect(subject: Subject) -> Iterator[Fault]:
    """`auto_repair` is a setting of managed node groups.  Karpenter's own repair is an alpha feature of its controller,
    which this setting does not switch on.
    """
    for pool, at in _ours(subject):
        if pool.auto_repair:
            yield Fault((*at, "auto_repair"), "auto_repair on Karpenter", "no `auto_repair`", on_key=True)


@rule(
    "KAR007",
    ERROR,
    "nodes expire before the longest job ends",
    source=f"{_CONCEPTS}, Expiration (forceful, not governed by budgets); kubernetes-sigs/karpenter#1718",
    proves="arithmetic",
    bad=_train("longest_job: 240h, disruption: {expire_after: 168h}"),
    good=_train("longest_job: 240h, disruption: {expire_after: Never}"),
    fixed=False,  # jobs may resume by themselves
)
def job_outlives_node(subject: Subject) -> Iterator[Fault]:
    """Expiry drains a node at its age, whatever the budgets and annotations say.  A job that runs longer than a node
    may live is certain to be killed.
    """
    for pool, at in _training(subject):
        expiry, job = pool.disruption.expire_after, pool.longest_job
        if isinstance(expiry, timedelta) and job is not None and job > expiry:
            yield Fault(
                (*at, "disruption", "expire_after"),
                f"nodes expire after {reading.span(expiry)}; the longest job runs {reading.span(job)}",
                "Never",
                "leave `expire_after` out: training pools never expire",
                (Related((*at, "longest_job"), "the longest job"),),
            )


@rule(
    "KAR008",
    WARNING,
    "training nodes that expire",
    source=f"{_CONCEPTS}, Expiration; kubernetes-sigs/karpenter#1718",
    bad=_train("disruption: {expire_after: 168h}"),
    good=_train("disruption: {expire_after: Never}"),
)
def nodes_expire(subject: Subject) -> Iterator[Fault]:
    """A job starts on nodes of any age, so even a short one can be running when a node expires.  The whole job then
    falls back to its last checkpoint.
    """
    for pool, at in _training(subject):
        expiry, job = pool.disruption.expire_after, pool.longest_job
        if isinstance(expiry, timedelta) and (job is None or job <= expiry):
            longest = f"jobs run up to {reading.span(job)}" if job is not None else "`longest_job` is not stated"
            yield Fault(
                (*at, "disruption", "expire_after"), f"nodes expire after {reading.span(expiry)}; {longest}", "Never"
            )


def _short_grace(pool: Pool) -> tuple[timedelta, timedelta] | None:
    """Grace and longest job, where the grace is shorter."""
    grace, job = pool.disruption.termination_grace_period, pool.longest_job
    return (grace, job) if grace is not None and job is not None and grace < job else None


def _saves_within(pool: Pool, grace: timedelta) -> bool:
    return pool.checkpoint_interval is not None and pool.checkpoint_interval < grace


@rule(
    "KAR009",
    ERROR,
    "grace shorter than the longest job",
    source=f"{_CONCEPTS}, TerminationGracePeriod; aws/karpenter-provider-aws#8526",
    proves="arithmetic",
    bad=_train("longest_job: 72h, disruption: {termination_grace_period: 4h}"),
    good=_train("longest_job: 72h, checkpoint_interval: 30m, disruption: {termination_grace_period: 4h}"),
    fixed=False,  # jobs may resume by themselves
)
def job_outlives_grace(subject: Subject) -> Iterator[Fault]:
    """The annotation do-not-disrupt holds a draining node until the grace period ends, and no longer.  With a period
    also drift may start a drain, so a longer job is killed with hours of work unsaved.
    """
    for pool, at in _training(subject):
        short = _short_grace(pool)
        if short and not _saves_within(pool, short[0]):
            saved = "no `checkpoint_interval` below it is stated"
            yield Fault(
                (*at, "disruption", "termination_grace_period"),
                f"a grace of {reading.span(short[0])}; the longest job runs {reading.span(short[1])}, and {saved}",
                f"no grace period, or {reading.span(short[1])} and more",
                "unset means: wait for the pods",
                (Related((*at, "longest_job"), "the longest job"),),
            )


@rule(
    "KAR010",
    WARNING,
    "grace that ends a job early",
    source=f"{_CONCEPTS}, TerminationGracePeriod; aws/karpenter-provider-aws#8526",
    proves="arithmetic",
    bad=_train("longest_job: 72h, checkpoint_interval: 30m, disruption: {termination_grace_period: 4h}"),
    good=_train("longest_job: 72h, checkpoint_interval: 30m"),
)
def grace_costs_work(subject: Subject) -> Iterator[Fault]:
    """Jobs here save often enough to lose little when the grace period ends under them, but they are ended all the
    same, and something must start them again.
    """
    for pool, at in _training(subject):
        short, grace = _short_grace(pool), pool.disruption.termination_grace_period
        if short and _saves_within(pool, short[0]) and pool.checkpoint_interval is not None:
            yield Fault(
                (*at, "disruption", "termination_grace_period"),
                f"a grace of {reading.span(short[0])}; the longest job runs {reading.span(short[1])} and saves every "
                f"{reading.span(pool.checkpoint_interval)}",
                "jobs that resume by themselves, or no grace period",
                related=(Related((*at, "longest_job"), "the longest job"),),
            )
        if grace is not None and pool.longest_job is None:
            yield Fault(
                (*at, "disruption", "termination_grace_period"),
                f"a grace of {reading.span(grace)}; `longest_job` is not stated",
                "`longest_job` stated",
            )
