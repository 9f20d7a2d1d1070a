"""Which cables stay when a network changes, which are re-plugged, and which are left over.

Two wirings are compared by the devices that each cable connects, not by ports: ports of a list shift when links spread
differently, and nobody re-plugs a cable for that. So the cables that move are the fewest that can move.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from bomgen.cabling.types import NOWHERE, Column, DeviceKind, Places, Wiring

MOST_CABLES = 2_000_000
"""Links of a wiring beyond which nobody carries out a move by a list, and comparing takes seconds."""
_NUMBER = re.compile(r"\d+$")


class Moved(NamedTuple):
    """The cables of a kind of link in a fabric. A cable that splits counts once for each of its legs."""

    fabric: str
    kind: str
    old: int
    new: int
    stay: int
    """Between the same two devices as before."""
    moved: int
    """One end stays, the other is plugged into another device."""
    added: int
    free: int
    """Both ends are pulled."""
    other_length: int
    """Of those that stay: sold in another length now."""
    other_cable: int
    """Of those that stay: another cable now."""
    of_pair_old: tuple[int, int]
    """The fewest and the most cables that join the same two devices."""
    of_pair_new: tuple[int, int]


class Moves(NamedTuple):
    """What is to be moved."""

    cables: tuple[Moved, ...]
    elsewhere: Mapping[str, int]
    """How many machines of each kind stand in another place, where places are known."""


class _Pairs(NamedTuple):
    """Devices that cables join, a row a pair."""

    lower: Column
    upper: Column
    cables: Column
    length: Column
    """In mm."""
    cable: Column


def compare_wirings(old: Wiring, new: Wiring, renamed: Mapping[str, str]) -> Moves:
    """What moves when the first becomes the second; `renamed` are fabrics that are called otherwise."""
    numbers = _numbers(old, new, renamed)
    cables = dict[str, int]()
    found = []
    for fabric, kind, in_old, in_new in _kinds(old, new, renamed):
        before = _pairs(old, *in_old, cables, numbers)
        after = _pairs(new, *in_new, cables, None)
        found.append(_compare_pairs(fabric, kind, before, after, len(numbers) + new_devices(new)))
    return Moves(tuple(found), dict(_moved_devices(old, new, numbers)))


def sum_moves(each: Mapping[str, Moves]) -> Moves:
    """What is to be moved in several clusters, by name; fabrics and machines get that of theirs in front."""
    cables, elsewhere = list[Moved](), dict[str, int]()
    for name, found in each.items():
        before = f"{name}." if name else ""
        cables += [row._replace(fabric=f"{before}{row.fabric}") for row in found.cables]
        elsewhere |= {f"{before}{machine}": count for machine, count in found.elsewhere.items()}
    return Moves(tuple(cables), elsewhere)


def new_devices(wiring: Wiring) -> int:
    """How many devices a wiring has."""
    last = wiring.kinds[-1] if wiring.kinds else None
    return last.start + last.number if last else 0


def _kinds(
    old: Wiring, new: Wiring, renamed: Mapping[str, str]
) -> Iterator[tuple[str, str, tuple[str, str], tuple[str, str]]]:
    """Every fabric and kind of link of either, with what the two call it."""
    before = {
        (renamed.get(cable_type.fabric, cable_type.fabric), cable_type.kind): (cable_type.fabric, cable_type.kind)
        for cable_type in old.cable_types
    }
    after = [(cable_type.fabric, cable_type.kind) for cable_type in new.cable_types]
    for key in dict.fromkeys((*after, *before)):
        yield *key, before.get(key, key), key


def _stem(kind: DeviceKind, renamed: Mapping[str, str]) -> tuple[str, str, str]:
    """What tells devices of one kind from those of others, however many there are."""
    fabric = kind.fabric or ""
    name = "" if fabric else _NUMBER.sub("", kind.name(0)) if kind.number else ""
    return kind.device, renamed.get(fabric, fabric), name


def _numbers(old: Wiring, new: Wiring, renamed: Mapping[str, str]) -> Column:
    """The number that every old device has in the new wiring; one behind all others where it is gone."""
    known = {_stem(kind, {}): kind for kind in new.kinds if kind.number}
    beyond = new_devices(new)
    found = np.arange(beyond, beyond + new_devices(old), dtype=np.int64)
    for kind in old.kinds:
        other = known.get(_stem(kind, renamed)) if kind.number else None
        if other is None:
            continue
        place = np.arange(kind.number, dtype=np.int64)
        plane, within = place // max(kind.per_plane, 1), place % max(kind.per_plane, 1)
        fits = (plane < other.planes) & (within < other.per_plane)
        rows = kind.start + place[fits]
        found[rows] = other.start + plane[fits] * other.per_plane + within[fits]
    return found


def _pairs(wiring: Wiring, fabric: str, kind: str, cables: dict[str, int], numbers: Column | None) -> _Pairs:
    """The devices that the cables of a kind of link join; `numbers` are the new ones of old devices."""
    wanted = np.array(
        [(cable_type.fabric, cable_type.kind) == (fabric, kind) for cable_type in wiring.cable_types], dtype=bool
    )
    rows = np.flatnonzero(wanted[wiring.cable_type]) if len(wiring) and len(wanted) else np.zeros(0, dtype=np.int64)
    lower, upper = wiring.a_device[rows], wiring.b_device[rows]
    if numbers is not None:
        lower, upper = numbers[lower], numbers[upper]
    names = [
        cable_type.medium.cable.identity.id if cable_type.medium and cable_type.medium.cable else ""
        for cable_type in wiring.cable_types
    ]
    of_type = np.array([cables.setdefault(name, len(cables)) for name in names], dtype=np.int64)
    piece = wiring.piece[rows]
    order = np.lexsort((piece, upper, lower))
    lower, upper, piece, rows = lower[order], upper[order], piece[order], rows[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1])
    one = first.copy()
    one[1:] |= piece[1:] != piece[:-1]
    starts = np.flatnonzero(first)
    count = np.add.reduceat(one.astype(np.int64), starts) if len(starts) else np.zeros(0, dtype=np.int64)
    length = np.rint(wiring.length_m[rows[starts]] * _MM_A_M).astype(np.int64)
    return _Pairs(lower[starts], upper[starts], count, length, of_type[wiring.cable_type[rows[starts]]])


_MM_A_M = 1000


def _compare_pairs(fabric: str, kind: str, old: _Pairs, new: _Pairs, devices: int) -> Moved:
    """What becomes of the cables of a kind of link."""
    key_old, key_new = old.lower * devices + old.upper, new.lower * devices + new.upper
    _, in_old, in_new = np.intersect1d(key_old, key_new, assume_unique=True, return_indices=True)
    kept = np.minimum(old.cables[in_old], new.cables[in_new])
    left_old, left_new = old.cables.copy(), new.cables.copy()
    left_old[in_old] -= kept
    left_new[in_new] -= kept
    moved = 0
    for end_old, end_new in ((old.lower, new.lower), (old.upper, new.upper)):
        of_old = np.bincount(end_old, left_old, devices).astype(np.int64)
        of_new = np.bincount(end_new, left_new, devices).astype(np.int64)
        taken = np.minimum(of_old, of_new)
        moved += int(taken.sum())
        left_old = left_old - _shared_out(end_old, left_old, taken)
        left_new = left_new - _shared_out(end_new, left_new, taken)
    longer = old.length[in_old] != new.length[in_new]
    other = old.cable[in_old] != new.cable[in_new]
    return Moved(
        fabric=fabric,
        kind=kind,
        old=int(old.cables.sum()),
        new=int(new.cables.sum()),
        stay=int(kept.sum()),
        moved=moved,
        added=int(left_new.sum()),
        free=int(left_old.sum()),
        other_length=int(kept[longer & ~other].sum()),
        other_cable=int(kept[other].sum()),
        of_pair_old=_ends(old.cables),
        of_pair_new=_ends(new.cables),
    )


def _shared_out(device: Column, left: Column, taken: Column) -> Column:
    """How many of the cables of each pair are among those that a device gives up, its first pairs first."""
    order = np.argsort(device, kind="stable")
    of_pair, at = left[order], device[order]
    before = np.cumsum(of_pair) - of_pair
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    before = before - np.repeat(before[starts], np.diff(np.append(starts, len(at))))
    found = np.zeros_like(left)
    found[order] = np.clip(taken[at] - before, 0, of_pair)
    return found


def _ends(counts: Column) -> tuple[int, int]:
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)


def _moved_devices(old: Wiring, new: Wiring, numbers: Column) -> Iterator[tuple[str, int]]:
    """How many devices of each kind, servers and switches, stand in another place."""
    if old.places is None or new.places is None:
        return
    for kind in old.kinds:
        rows = np.arange(kind.start, kind.start + kind.number)
        rows = rows[numbers[rows] < new_devices(new)]
        moved = int(np.count_nonzero(_has_moved(old.places, rows, new.places, numbers[rows])))
        if moved:
            name = f"{kind.fabric} {kind.device}" if kind.fabric else _NUMBER.sub("", kind.name(0)).rstrip("-")
            yield name, moved


def _has_moved(old: Places, rows: Column, new: Places, now: Column) -> Column:
    known = (old.rack[rows] != NOWHERE) & (new.rack[now] != NOWHERE)
    moved = (old.rack[rows] != new.rack[now]) | (old.unit[rows] != new.unit[now])
    return np.asarray(known & moved)
