"""A Helm release as the deliveries see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eks_training.plan.release import ChartRef


@dataclass(frozen=True)
class Release:
    """A chart with the values that it gets; ``after`` names releases and manifests that must be there first."""

    name: str
    chart: ChartRef
    namespace: str
    values: dict[str, Any]
    after: tuple[str, ...] = ()
