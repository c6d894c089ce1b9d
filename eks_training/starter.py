"""``init``: commented starters, one per shape.  They are the project's own examples, so each of them is tested."""

from __future__ import annotations

import difflib
from pathlib import Path

from eks_training.pipeline import UNREADABLE, Refused

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = "training"


def shapes() -> dict[str, Path]:
    """Starter files by shape."""
    examples = {path.stem: path for path in sorted((ROOT / "examples").glob("*.yaml"))}
    return {DEFAULT: ROOT / "cluster.yaml", **examples}


def listing() -> str:
    """One line per shape, from the first comment line of its file."""
    known = shapes()
    width = max(map(len, known))
    return "".join(f"{name:<{width}}  {_first_line(path)}\n" for name, path in known.items())


def text(shape: str) -> str:
    """The starter of a shape; raises Refused for one that does not exist, naming those that do."""
    known = shapes()
    if shape not in known:
        near = difflib.get_close_matches(shape, known, n=2, cutoff=0.5)
        guess = f"did you mean {' or '.join(near)}?" if near else "known shapes:"
        raise Refused(f"{shape}: no such shape; {guess}\n{listing()}", UNREADABLE)
    return known[shape].read_text(encoding="utf-8")


def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ").rstrip()
