"""Rules about the size and the times of Capacity Blocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from eks_training.finding import Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules import reading

BLOCK_INSTANCES = 64
LONGEST_BLOCK = timedelta(days=182)
EMPTIED_BEFORE_END = timedelta(minutes=40)
"""EKS scales the node group of a Capacity Block down this long before the block ends."""

_SOURCE = "botocore 1.44.8 ec2/2016-11-15 DescribeCapacityBlockOfferings"
_ENDS = "EC2 User Guide, Capacity Blocks for ML (blocks end at 11:30 UTC)"


def _block(start: str, end: str, nodes: str, more: str = "") -> str:
    times = f"start: '{start}', end: '{end}'"
    capacity = f"{{type: capacity-block, id: cr-0a1b2c3d4e5f67890, {times}}}"
    return f"pools: {{train: {{capacity: {capacity}, nodes: {nodes}, placement: none{more}}}}}"


_GOOD = _block("2026-12-01T11:30:00Z", "2026-12-08T11:30:00Z", "{min: 0, max: 4}")


@rule(
    "CAP016",
    WARNING,
    "more nodes than a Capacity Block has",
    source=f"{_SOURCE}.InstanceCount (at most 64)",
    proves="arithmetic",
    bad=_block("2026-12-01T11:30:00Z", "2026-12-08T11:30:00Z", "{min: 0, max: 80}"),
    good=_GOOD,
)
def block_size(subject: Subject) -> Iterator[Fault]:
    """A Capacity Block holds up to 64 instances, and a pool uses one block.  The nodes beyond them never start, and a
    job that needs all of them waits for ever.
    """
    for _name, pool, at in reading.pools(subject.spec):
        if pool.capacity.type == "capacity-block" and pool.max_nodes > BLOCK_INSTANCES:
            yield Fault(
                (*at, "nodes"),
                f"up to {pool.max_nodes} nodes from one block",
                f"at most {BLOCK_INSTANCES}",
                "make a pool for each block",
            )


@rule(
    "CAP017",
    ERROR,
    "job longer than its Capacity Block",
    source="EKS User Guide, Create a managed node group with Capacity Blocks for ML",
    proves="arithmetic",
    bad=_block("2026-12-01T11:30:00Z", "2026-12-02T11:30:00Z", "{min: 0, max: 4}", ", longest_job: 24h"),
    good=_block("2026-12-01T11:30:00Z", "2026-12-02T11:30:00Z", "{min: 0, max: 4}", ", longest_job: 20h"),
    fixed=False,  # a job may be meant to run until the block ends and to resume in the next one
)
def job_fits_block(subject: Subject) -> Iterator[Fault]:
    """Nodes of a block are drained some time before it ends, 40 minutes before in a managed node group.  A job that
    takes longer than what is left is killed, however early it starts.
    """
    for _name, pool, at in reading.pools(subject.spec):
        start, end = pool.capacity.start, pool.capacity.end
        if pool.capacity.type != "capacity-block" or start is None or end is None or end <= start:
            continue
        left = end - start - EMPTIED_BEFORE_END
        if pool.longest_job is not None and pool.longest_job > left:
            yield Fault(
                (*at, "longest_job"),
                f"{reading.span(pool.longest_job)}; the block lasts {reading.span(end - start)} and is emptied "
                f"{reading.span(EMPTIED_BEFORE_END)} before its end",
                f"at most {reading.span(left)}" if left > timedelta() else "a longer block",
                "let jobs save and resume, and state the length of one run",
                (Related((*at, "capacity", "end"), "the end"),),
            )


@rule(
    "CAP018",
    WARNING,
    "Capacity Block that does not end at 11:30 UTC",
    source=_ENDS,
    proves="arithmetic",
    bad=_block("2026-12-01T11:30:00Z", "2026-12-08T12:30:00Z", "{min: 0, max: 4}"),
    good=_GOOD,
)
def block_ends(subject: Subject) -> Iterator[Fault]:
    """Every Capacity Block ends at 11:30 UTC, and EC2 begins to end its instances half an hour earlier.  Another time
    is usually a local time that was written as UTC, and the nodes go hours before or after the plan says.
    """
    for _name, pool, at in reading.pools(subject.spec):
        end = pool.capacity.end
        if pool.capacity.type == "capacity-block" and end is not None:
            hour, minute = divmod((end.hour * 60 + end.minute - _offset_minutes(end)) % (24 * 60), 60)
            if (hour, minute) != (11, 30):
                yield Fault(
                    (*at, "capacity", "end"), f"{hour:02}:{minute:02} UTC", "11:30 UTC", "the EC2 console shows it"
                )


def _offset_minutes(moment: datetime) -> int:
    """Minutes east of UTC; the moment itself is not shifted, since one at the edge of the calendar cannot be."""
    return int((moment.utcoffset() or timedelta()).total_seconds() // 60)


@rule(
    "CAP019",
    WARNING,
    "Capacity Block longer than EC2 sells",
    source=f"{_SOURCE}.CapacityDurationHours (at most 182 days)",
    proves="arithmetic",
    bad=_block("2026-01-01T11:30:00Z", "2026-12-01T11:30:00Z", "{min: 0, max: 4}"),
    good=_GOOD,
)
def block_duration(subject: Subject) -> Iterator[Fault]:
    """Blocks are sold for up to 182 days.  A longer one was extended, or one of the two times is wrong."""
    for _name, pool, at in reading.pools(subject.spec):
        start, end = pool.capacity.start, pool.capacity.end
        if pool.capacity.type != "capacity-block" or start is None or end is None:
            continue
        if end - start > LONGEST_BLOCK + timedelta(days=1):
            related = (Related((*at, "capacity", "start"), "the start"),)
            expected = f"at most {LONGEST_BLOCK.days} days"
            yield Fault((*at, "capacity", "end"), f"{(end - start).days} days", expected, related=related)
