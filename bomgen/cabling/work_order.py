"""The order in which cables are moved, so that each port is empty when a cable is plugged into it.

A cable waits for those that leave a port that it needs, and for those that leave a cage that takes another kind of plug
from then on. Cables that wait for each other in a ring cannot begin: one of each ring is unplugged first, and plugged
in when its turn comes. Finding the fewest such cables is hard (a minimum feedback vertex set), so
of each ring the cable that most others wait for is unplugged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from bomgen.cabling.types import Column


class MovedEnds(NamedTuple):
    """Ports, cages and plugs of moved cables, with one row per end of a link; -1 where the network has none."""

    cable: Column
    port: Column
    """Numbered across all devices."""
    cage: Column
    """Numbered across all devices."""
    plug: Column
    """The kind of plug; all plugs in a cage are of one kind."""


def order_moves(before: MovedEnds, after: MovedEnds) -> Iterator[tuple[int, bool]]:
    """Yield cables in work order; with True a cable is only unplugged, and comes again to be plugged in."""
    waits = _find_waits(before, after)
    followers = defaultdict[int, list[int]](list)
    for cable, others in waits.items():
        for other in others:
            followers[other].append(cable)
    ready = [cable for cable, others in waits.items() if not others]
    heapify(ready)
    moved = set[int]()

    def release(cable: int) -> None:
        for follower in followers.pop(cable, ()):
            waits[follower].remove(cable)
            if not waits[follower]:
                heappush(ready, follower)

    for first in sorted(waits):
        while first not in moved:
            if ready:
                cable = heappop(ready)
                moved.add(cable)
                yield cable, False
            else:
                cable = max(_find_ring(first, waits), key=lambda each: (len(followers[each]), -each))
                yield cable, True
            release(cable)


def _find_waits(before: MovedEnds, after: MovedEnds) -> dict[int, set[int]]:
    at_port, in_cage = dict[int, int](), defaultdict[int, set[tuple[int, int]]](set)
    for cable, port, cage, plug in zip(*(column.tolist() for column in before), strict=True):
        at_port[port] = cable
        in_cage[cage].add((plug, cable))
    waits = {cable: set[int]() for cable in after.cable.tolist()}
    for cable, port, cage, plug in zip(*(column.tolist() for column in after), strict=True):
        if port in at_port:
            waits[cable].add(at_port[port])
        waits[cable] |= {other for of_other, other in in_cage.get(cage, ()) if of_other != plug}
        waits[cable].discard(cable)
    return waits


def _find_ring(first: int, waits: dict[int, set[int]]) -> list[int]:
    """Return cables that wait for each other in a ring that must be broken before `first` can move."""
    path, places = list[int](), dict[int, int]()
    cable = first
    while cable not in places:
        places[cable] = len(path)
        path.append(cable)
        cable = min(waits[cable])
    return path[places[cable] :]
