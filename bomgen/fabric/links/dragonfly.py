"""Which switch of a dragonfly is connected to which: all to all inside the groups and between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]
Ends = tuple[Column, Column, Column, Column]
"""Lower device and port, upper device and port."""


def connect_switches_of_groups(groups: int, size: int) -> Ends:
    """Links between every two switches of each group."""
    one, other = np.triu_indices(size, 1)
    start = np.repeat(np.arange(groups, dtype=np.int64) * size, len(one))
    lower, upper = np.tile(one.astype(np.int64), groups), np.tile(other.astype(np.int64), groups)
    return start + lower, upper - 1, start + upper, lower


def connect_groups(groups: int, size: int, each: int) -> Ends:
    """`each` links between every two groups of `size` switches, dealt out to the switches of each in turn.

    Which switch of a group has which global link is free (Kim et al. 2008 leave it open); dealing them out in turn
    gives every switch as many as any other, or one fewer.
    """
    one, other = (np.repeat(column.astype(np.int64), each) for column in np.triu_indices(groups, 1))
    number = np.tile(np.arange(each, dtype=np.int64), len(one) // each)
    from_one, from_other = (other - 1) * each + number, one * each + number
    return (
        one * size + from_one % size,
        from_one // size,
        other * size + from_other % size,
        from_other // size,
    )
