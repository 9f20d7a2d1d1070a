"""Matching of the devices of a network today with those of the network that it becomes.

Machines keep their numbers. Switches of one tier are equal boxes, so that any may take the position of any other: each
is matched with the one that has most of its links already, which leaves most cables where they are. That is an
assignment problem per tier, and the tiers depend on each other; it is solved greedily, tier by tier from the leaves,
and again until no tier gains. No smaller number of moves is known for the growth of a folded Clos with equal pods
(`tests/cabling/test_recabling.py`), but that is no proof for any other fabric.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from bomgen.cabling.types import GONE, Column, DeviceKind, Wiring

NUMBER = re.compile(r"\d+$")
"""The part of names that distinguishes devices of a kind."""
ROUNDS = 4
"""Passes over all tiers; the second changes little."""
STAYS, A_LINK = 2, 4
"""Weights of a match: a kept link outweighs a kept number of a switch, which outweighs a kept position."""
MOST_PAIRS = 16_000_000
"""Maximum pairs of switches or of links to compare; in larger fabrics switches keep their numbers."""


class _Tier(NamedTuple):
    old: DeviceKind
    new: DeviceKind


class _Neighbours(NamedTuple):
    """The neighbours of the switches of a tier, one row per switch and neighbour."""

    neighbour: Column
    switch: Column
    """Index in the tier."""
    links: Column


def match_devices(old: Wiring, new: Wiring, renamed: Mapping[str, str]) -> Column:
    """Return the number in the new network of every device of the old one, GONE where there is none.

    `renamed` are the new names of renamed fabrics.
    """
    numbers = _by_number(old, new, renamed)
    kinds = {_stem(kind, {}): kind for kind in new.kinds}
    tiers = [_Tier(kind, kinds[stem]) for kind in old.kinds if kind.fabric and (stem := _stem(kind, renamed)) in kinds]
    for _ in range(ROUNDS):
        gained = [_match_tier(old, new, tier, numbers) for tier in tiers]
        if not any(gained):
            break
    return numbers


def count_devices(wiring: Wiring) -> int:
    """Return the number of devices of a network."""
    last = wiring.kinds[-1] if wiring.kinds else None
    return last.start + last.number if last else 0


def translate_ports(old: Wiring, new: Wiring) -> Column:
    """Return the number in the new network of every port name of the old one, GONE where there is no such name."""
    numbers = {name: number for number, name in enumerate(new.ports)}
    return np.array([numbers.get(name, GONE) for name in old.ports], dtype=np.int64)


def _stem(kind: DeviceKind, renamed: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the key that distinguishes kinds of devices, however many there are."""
    fabric = kind.fabric or ""
    return kind.device, renamed.get(fabric, fabric), "" if fabric else kind.stem


def _by_number(old: Wiring, new: Wiring, renamed: Mapping[str, str]) -> Column:
    """Return the new number of every old device when all keep their index within kind and plane."""
    by_stem = {_stem(kind, {}): kind for kind in new.kinds if kind.number}
    numbers = np.full(count_devices(old), GONE, dtype=np.int64)
    for kind in old.kinds:
        new_kind = by_stem.get(_stem(kind, renamed)) if kind.number else None
        if new_kind is None:
            continue
        index = np.arange(kind.number, dtype=np.int64)
        plane, within = index // max(kind.per_plane, 1), index % max(kind.per_plane, 1)
        fits = (plane < new_kind.planes) & (within < new_kind.per_plane)
        numbers[kind.start + index[fits]] = new_kind.start + plane[fits] * new_kind.per_plane + within[fits]
    return numbers


def _match_tier(old: Wiring, new: Wiring, tier: _Tier, numbers: Column) -> bool:
    """Match the switches of a tier by the links they would keep; return whether that keeps more than before."""
    shared = _count_shared_links(old, new, tier, numbers)
    if shared is None:
        return False
    first, last = tier.old.start, tier.old.start + tier.old.number
    now = np.where(numbers[first:last] == GONE, GONE, numbers[first:last] - tier.new.start)
    matched = _assign(shared, now, _same_places(old, new, tier))
    if _kept(shared, matched) <= _kept(shared, now):
        return False
    numbers[first:last] = np.where(matched == GONE, GONE, matched + tier.new.start)
    return True


def _kept(shared: Column, column: Column) -> int:
    rows = np.flatnonzero(column != GONE)
    return int(shared[rows, column[rows]].sum())


def _assign(shared: Column, now: Column, placed: Column) -> Column:
    """Assign each row a distinct column, greedily by the number of cables kept."""
    # Among columns that keep as many, the current one comes first, then one at the same position on the floor.
    rows, columns = shared.shape
    score = shared * A_LINK + placed
    has = now != GONE
    score[np.flatnonzero(has), now[has]] += STAYS
    matched = np.full(rows, GONE, dtype=np.int64)
    free = np.ones(columns, dtype=bool)
    for row in np.argsort(-shared.max(axis=1, initial=0), kind="stable").tolist():
        best = int(np.argmax(np.where(free, score[row], -1))) if columns else 0
        if not columns or not free[best]:
            break
        matched[row], free[best] = best, False
    return matched


def _same_places(old: Wiring, new: Wiring, tier: _Tier) -> Column:
    """Return 1 where the old switch of a row has the position of the new one of a column, else 0."""
    if old.places is None or new.places is None:
        return np.zeros((tier.old.number, tier.new.number), dtype=np.int64)
    before, after = (slice(kind.start, kind.start + kind.number) for kind in tier)
    rack = old.places.rack[before, None] == new.places.rack[None, after]
    unit = old.places.unit[before, None] == new.places.unit[None, after]
    same: Column = (rack & unit).astype(np.int64)
    return same


def _count_shared_links(old: Wiring, new: Wiring, tier: _Tier, numbers: Column) -> Column | None:
    """Return the links that each old switch (row) and each new one (column) have to the same neighbours."""
    # None where there are too many pairs to compare.
    if tier.old.number * tier.new.number > MOST_PAIRS:
        return None
    before = _neighbours(old, tier.old, numbers, translate_ports(old, new), len(new.ports))
    every = np.arange(count_devices(new), dtype=np.int64)
    after = _neighbours(new, tier.new, every, np.arange(len(new.ports), dtype=np.int64), len(new.ports))
    start = np.searchsorted(after.neighbour, before.neighbour, side="left")
    count = np.searchsorted(after.neighbour, before.neighbour, side="right") - start
    if int(count.sum()) > MOST_PAIRS:
        return None
    row = np.repeat(np.arange(len(count), dtype=np.int64), count)
    row_after = np.repeat(start - (np.cumsum(count) - count), count) + np.arange(len(row), dtype=np.int64)
    cell = before.switch[row] * tier.new.number + after.switch[row_after]
    both = np.minimum(before.links[row], after.links[row_after])
    shared: Column = np.bincount(cell, both, tier.old.number * tier.new.number).astype(np.int64)
    return shared.reshape(tier.old.number, tier.new.number)


def _neighbours(wiring: Wiring, kind: DeviceKind, numbers: Column, ports: Column, names: int) -> _Neighbours:
    """Return the neighbours of the switches of a tier: other switches, and machines port by port."""
    of_fabric = np.array([cable_type.fabric == kind.fabric for cable_type in wiring.cable_types], dtype=bool)
    rows = of_fabric[wiring.cable_type] if len(wiring) else np.zeros(0, dtype=bool)
    machine = np.array([kind.fabric is None for kind in wiring.kinds], dtype=bool)
    keys, switches = list[Column](), list[Column]()
    for near, far in ((wiring.a_device, wiring.b_device), (wiring.b_device, wiring.a_device)):
        here = np.flatnonzero(rows & (near >= kind.start) & (near < kind.start + kind.number))
        device = numbers[far[here]]
        of_machine = machine[wiring.kind_numbers[far[here]]]
        port = np.where(of_machine, ports[wiring.a_port[here]] + 1, 0)
        usable = (device != GONE) & (~of_machine | (port > 0))
        keys.append((device * (names + 1) + port)[usable])
        switches.append((near[here] - kind.start)[usable])
    key, switch = np.concatenate(keys), np.concatenate(switches)
    pair, links = np.unique(key * (kind.number + 1) + switch, return_counts=True)
    return _Neighbours(pair // (kind.number + 1), pair % (kind.number + 1), links)


def rename_devices(old: Wiring, new: Wiring, numbers: Column) -> Iterator[DeviceKind]:
    """Yield the kinds of device of the new network; devices that stay keep their names.

    Added devices get unused numbers, as wide as the current ones.
    """
    names = old.names
    today = np.full(count_devices(new), GONE, dtype=np.int64)
    stay = np.flatnonzero(numbers != GONE)
    today[numbers[stay]] = stay
    for kind in new.kinds:
        here = today[kind.start : kind.start + kind.number].tolist()
        kept = {index: names[device] for index, device in enumerate(here) if device != GONE}
        yield kind._replace(name=_names(kind, kept).__getitem__) if kept else kind


def _names(kind: DeviceKind, kept: Mapping[int, str]) -> list[str]:
    digits = {len(match[0]) for name in kept.values() if (match := NUMBER.search(name))}
    width = min(digits, default=0)
    wanted = [_widen(kind.name(index), width) for index in range(kind.number)]
    taken = set(kept.values())
    free = (name for name in wanted if name not in taken)
    return [kept[index] if index in kept else next(free) for index in range(kind.number)]


def _widen(name: str, width: int) -> str:
    match = NUMBER.search(name)
    return f"{name[: match.start()]}{int(match[0]):0{width}}" if match else name


# order of work --------------------------------------------------------------------------------------------------------
# The order in which cables are moved, so that each port is empty when a cable is plugged into it.
# A cable waits for those that leave a port that it needs, and for those that leave a cage that takes another kind of
# plug from then on. Cables that wait for each other in a ring cannot begin: one of each ring is unplugged first, and
# plugged in when its turn comes. Finding the fewest such cables is hard (a minimum feedback vertex set), so of each
# ring the cable that most others wait for is unplugged.


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
    for cable, blockers in waits.items():
        for blocker in blockers:
            followers[blocker].append(cable)
    ready = [cable for cable, blockers in waits.items() if not blockers]
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
                cable = max(_find_ring(first, waits), key=lambda waiting: (len(followers[waiting]), -waiting))
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
        waits[cable] |= {blocker for of_other, blocker in in_cage.get(cage, ()) if of_other != plug}
        waits[cable].discard(cable)
    return waits


def _find_ring(first: int, waits: dict[int, set[int]]) -> list[int]:
    """Return cables that wait for each other in a ring that must be broken before `first` can move."""
    path, positions = list[int](), dict[int, int]()
    cable = first
    while cable not in positions:
        positions[cable] = len(path)
        path.append(cable)
        cable = min(waits[cable])
    return path[positions[cable] :]
