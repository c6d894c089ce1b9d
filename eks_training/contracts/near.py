"""Which real key a wrong one may have meant: "did you mean" over siblings and over the whole tree of a contract."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from eks_training.finding import Path, path_text

NAME, ITEM = "*", "[]"
"""How a place in the tree writes a name that the user chooses, and an item of a list."""

CLOSE = 0.7
"""Names less alike than this (difflib's ratio, lower case) are not worth suggesting among siblings."""
SAME_WORD = 0.85
"""The same for names elsewhere in the tree: there, only a slip of the finger counts."""
TOO_COMMON = 3
"""A word that stands at more places than this (`enabled`) points nowhere."""
LONGEST = 60
"""Characters of a value or a name that are worth showing or comparing."""


def nearest(
    spots: Mapping[str, tuple[Path, ...]], siblings: Iterable[str], at: Path, name: str, value: Any = None
) -> tuple[str, ...]:
    """Return up to three real places that an unknown key at `at` may have meant, best first.

    `spots` maps each name of the tree to the places where it stands.

    Siblings with a similar name come first, then the same name deeper or elsewhere in the tree, then the places of the
    keys that stand under the unknown one: whoever writes `compute.partitions` means `partitions`.
    """
    found = [path_text((*at, sibling)) for sibling in alike(name, siblings, CLOSE)]
    for word in alike(name, spots, SAME_WORD):
        found += _closest(spots[word], at)
    for child in value if isinstance(value, Mapping) else ():
        found += _closest(spots.get(str(child), ()), at)
    return tuple(dict.fromkeys(found))[:3]


def _closest(places: tuple[Path, ...], at: Path) -> list[str]:
    """A word at many places says nothing, unless one lies below the place of the fault."""
    shape = tuple(ITEM if isinstance(part, int) else part for part in at)

    def below(path: Path) -> bool:
        return len(path) > len(shape) and all(p in (s, NAME) for p, s in zip(path, shape, strict=False))

    inside = [path for path in places if below(path)]
    chosen = inside if shape and inside else places if len(places) <= TOO_COMMON else ()
    own = [(*at, *path[len(at) :]) if path in inside else path for path in chosen]
    return [path_text(path).replace(f".{ITEM}", ITEM) for path in sorted(own, key=lambda path: (len(path), str(path)))]


def alike(name: str, words: Iterable[str], cutoff: float) -> list[str]:
    """Return up to three words that look like a name, best first.

    Case does not count; the same letters in another order win.
    """
    wanted = name[:LONGEST].lower()
    matcher = difflib.SequenceMatcher(None, "", wanted, autojunk=False)
    scored = []
    for word in words:
        matcher.set_seq1(word.lower())
        shuffled = len(word) == len(wanted) and sorted(word.lower()) == sorted(wanted)
        quick = shuffled or (matcher.real_quick_ratio() >= cutoff and matcher.quick_ratio() >= cutoff)
        if quick and (shuffled or matcher.ratio() >= cutoff):
            scored.append((not shuffled, -matcher.ratio(), word))
    return [word for _, _, word in sorted(scored)[:3]]
