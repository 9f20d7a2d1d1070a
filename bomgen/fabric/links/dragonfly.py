"""Which switch of a dragonfly is connected to which: all to all inside the groups and between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.fabric.links.endpoints import Seats
from bomgen.fabric.links.folded_clos import spread_links

Column = NDArray[np.int64]
Ends = tuple[Column, Column, Column, Column]
"""Lower device and port, upper device and port."""


class GroupSizes(NamedTuple):
    """Groups of switches, numbered group after group; of all `groups` the last `small` have `small_size` switches."""

    groups: int
    size: int
    small: int = 0
    small_size: int = 0

    @property
    def large(self) -> int:
        """The groups of `size` switches."""
        return self.groups - self.small

    def starts(self, group: Column) -> Column:
        """The first switch of each group."""
        behind: Column = np.maximum(group - self.large, 0)
        return (group - behind) * self.size + behind * self.small_size

    def sizes(self, group: Column) -> Column:
        """The switches of each group."""
        return np.where(group < self.large, self.size, self.small_size).astype(np.int64)


def connect_switches_of_groups(sizes: GroupSizes) -> Ends:
    """Links between every two switches of each group."""
    found = []
    for first, last, size in ((0, sizes.large, sizes.size), (sizes.large, sizes.groups, sizes.small_size)):
        one, other = (column.astype(np.int64) for column in np.triu_indices(size, 1))
        start = np.repeat(sizes.starts(np.arange(first, last, dtype=np.int64)), len(one))
        lower, upper = np.tile(one, last - first), np.tile(other, last - first)
        found.append((start + lower, upper - 1, start + upper, lower))
    large, small = found
    return (
        np.concatenate((large[0], small[0])),
        np.concatenate((large[1], small[1])),
        np.concatenate((large[2], small[2])),
        np.concatenate((large[3], small[3])),
    )


def connect_spines_of_groups(seats: Seats | None, leaves: GroupSizes, spines: GroupSizes) -> Ends:
    """Return the links of every leaf to the spines of its group; the last groups may have other numbers of both."""
    if seats is None:
        raise ValueError("a fabric without leaves")
    groups = np.arange(leaves.groups, dtype=np.int64)
    group = np.repeat(groups, leaves.sizes(groups))
    leaf = np.arange(len(group), dtype=np.int64)
    return spread_links(leaf, seats.up[leaf], group, spines.starts(group), spines.sizes(group))


def connect_groups(sizes: GroupSizes, each: int, to_small: int = 0) -> Ends:
    """`each` links between every two large groups and `to_small` to a small one, dealt out to the switches in turn.

    Which switch of a group has which global link is free (Kim et al. 2008 leave it open); dealing them out in turn
    gives every switch of a group as many as any other, or one fewer.
    """
    first, second = (column.astype(np.int64) for column in np.triu_indices(sizes.groups, 1))
    links = np.where(second < sizes.large, each, to_small)
    one, other = np.repeat(first, links), np.repeat(second, links)
    number = np.arange(len(one), dtype=np.int64) - np.repeat(np.cumsum(links) - links, links)
    beyond = np.maximum(other - sizes.large, 0)
    of_large = (np.minimum(other, sizes.large) - 1) * each + beyond * to_small
    from_one = np.where(one < sizes.large, of_large, (other - 1) * to_small) + number
    from_other = one * np.where(other < sizes.large, each, to_small) + number
    size_one, size_other = sizes.sizes(one), sizes.sizes(other)
    return (
        sizes.starts(one) + from_one % size_one,
        from_one // size_one,
        sizes.starts(other) + from_other % size_other,
        from_other // size_other,
    )
