"""The vCPU quotas that the pools need at their largest, by the names under which Service Quotas lists them.

Names: EC2 User Guide, On-Demand Instance quotas and Spot Instance quotas, read 2026-12-01.  Capacity Blocks are bought
apart and are not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from eks_training.plan.pool import PoolPlan

_STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"
_FAMILIES = (
    (re.compile(r"hpc\d"), "HPC", None),
    (re.compile(r"p\d"), "P", "P"),
    (re.compile(r"(?:g|gr|vt)\d"), "G and VT", "G and VT"),
    (re.compile(r"trn\d"), "Trn", "Trn"),
    (re.compile(r"inf\d"), "Inf", "Inf"),
    (re.compile(r"[acdhimrtz]\d"), _STANDARD, _STANDARD),
)


@dataclass(frozen=True)
class QuotaNeed:
    """A quota of the account and Region, and the vCPUs that it must allow for this cluster alone."""

    name: str
    vcpus: int
    sum: str


def quota_needs(pools: Iterable[PoolPlan]) -> tuple[QuotaNeed, ...]:
    """What the pools need when all of them are at their largest; types without a vCPU fact or a class are left out."""
    parts: dict[str, list[tuple[str, int, int]]] = {}
    for pool in pools:
        name = _quota(pool)
        if name and pool.vcpus:
            parts.setdefault(name, []).append((pool.name, pool.max_nodes, pool.vcpus))
    return tuple(
        QuotaNeed(
            name,
            sum(nodes * vcpus for _, nodes, vcpus in uses),
            " + ".join(f"{pool} {nodes} x {vcpus}" for pool, nodes, vcpus in uses),
        )
        for name, uses in sorted(parts.items())
    )


def _quota(pool: PoolPlan) -> str | None:
    if pool.capacity.type == "capacity-block":
        return None
    for family, on_demand, spot in _FAMILIES:
        if family.match(pool.instance_type):
            if pool.capacity.type != "spot":
                return f"Running On-Demand {on_demand} instances"
            return f"All {spot} Spot Instance Requests" if spot else None
    return None
