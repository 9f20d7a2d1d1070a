"""The cables between each pair of racks: their number and their lengths."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from bomgen.cabling.types import NOWHERE, Wiring

CENTIMETRES = 100


class RackPair(NamedTuple):
    """The cables from one rack to another, or within one rack."""

    first: int
    second: int
    lengths: tuple[tuple[float, int], ...]
    """Each stock length [m] with its number of cables, the shortest first."""

    @property
    def cables(self) -> int:
        """Return the number of cables."""
        return sum(number for _, number in self.lengths)


def cables_by_racks(wiring: Wiring) -> list[RackPair]:
    """Return the cables between each pair of racks in floor order; empty if the plan places no device in a rack.

    A cable with several ends counts once, with the first of them.
    """
    if wiring.places is None or not len(wiring):
        return []
    links = np.flatnonzero(np.diff(wiring.piece, prepend=-1))
    ends = np.stack([wiring.places.rack[device[links]] for device in (wiring.a_device, wiring.b_device)])
    lengths = np.rint(wiring.length_m[links] * CENTIMETRES).astype(np.int64)
    rows = np.vstack([ends.min(axis=0), ends.max(axis=0), lengths])[:, (ends != NOWHERE).all(axis=0)]
    found: dict[tuple[int, int], Counter[float]] = {}
    for (first, second, length), number in zip(*(each.tolist() for each in _counted(rows)), strict=True):
        found.setdefault((first, second), Counter())[length / CENTIMETRES] = number
    return [RackPair(*racks, tuple(sorted(of.items()))) for racks, of in found.items()]


def _counted(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct columns in order, as rows, and how often each occurs."""
    distinct, numbers = np.unique(rows, axis=1, return_counts=True)
    return distinct.T, numbers
