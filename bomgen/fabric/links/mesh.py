"""Which switch of a mesh is connected to which: every one to every other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]
Ends = tuple[Column, Column, Column, Column]
"""Lower device and port, upper device and port."""


def connect_peers(switches: int, each: int) -> Ends:
    """`each` links between every two switches; those of a pair are neighbours on both, so that they may share cages."""
    one, other = (np.repeat(column.astype(np.int64), each) for column in np.triu_indices(switches, 1))
    parallel = np.tile(np.arange(each, dtype=np.int64), switches * (switches - 1) // 2)
    return one, (other - 1) * each + parallel, other, one * each + parallel
