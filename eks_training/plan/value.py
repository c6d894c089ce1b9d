"""Values that exist only after deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Output:
    """The named output of a stack; a token in ``cdk deploy``, filled from an outputs file elsewhere."""

    stack: str
    key: str


Value: TypeAlias = str | Output
"""A literal that the user gave, or an output of one of our stacks."""
