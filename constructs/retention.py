"""What happens to a resource with data when its stack goes."""

from __future__ import annotations

from aws_cdk import RemovalPolicy


def removal(*, retain: bool) -> RemovalPolicy:
    """Keep it on deletion and replacement, but not when its very creation is rolled back: a leftover of a fixed name
    would block the next attempt, and a file system would be billed unseen."""
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if retain else RemovalPolicy.DESTROY
