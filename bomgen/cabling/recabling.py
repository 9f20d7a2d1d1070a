"""Recabling of a growing network: the cables that stay, are moved, are added and become free.

The network that a plan becomes keeps as much as possible: devices keep their names, and a cable that connects the same
two devices stays in the same two ports. A cable of which one end can stay is moved at its other end. New cables take
the remaining ports. On a device where the current ports would be used twice, put two kinds of module into one cage or
need modules that are not bought, only those stay that the new list also uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.matching import (
    NUMBER,
    MovedEnds,
    count_devices,
    match_devices,
    order_moves,
    rename_devices,
    translate_ports,
)
from bomgen.cabling.types import GONE, NOWHERE, CableChanges, Column, Wiring, plugged_parts
from bomgen.catalog.parts import Module
from bomgen.plan.types import Installed, Place

MOST_CABLES = 2_000_000
"""Maximum links of a wiring to compare; nobody carries out a longer list of moves, and comparing takes seconds."""
SIDES = ("a", "b")
_MM_A_M = 1000


class Moved(NamedTuple):
    """The cables of a kind of link in a fabric."""

    fabric: str
    kind: str
    old: int
    new: int
    stay: int
    """Cables in the same two ports as before."""
    moved: int
    """Cables of which one end stays in its device and the other moves."""
    added: int
    free: int
    """Cables with both ends unplugged."""
    other_length: int
    """Cables that stay, but are now sold in another length."""
    other_cable: int
    """Cables that stay, but are now another part."""
    of_pair_old: tuple[int, int]
    """The fewest and the most cables between the same two devices."""
    of_pair_new: tuple[int, int]

    @property
    def replaced(self) -> int:
        """Return the cables in the same ports that become another part or length."""
        return self.other_length + self.other_cable


class Moves(NamedTuple):
    """The moves of a network."""

    cables: tuple[Moved, ...]
    elsewhere: Mapping[str, int]
    """Number of machines of each kind that change position, where the existing ones are known."""


class _Cables(NamedTuple):
    """The cables of a wiring, one per row; devices and ports have the numbers of the new wiring."""

    first: Column
    """The first row of each cable, as an index into `rows`."""
    rows: Column
    """Rows of the wiring cable by cable, legs of a cable in the order of their devices."""
    links: Column
    """Legs per cable."""
    kind: Column
    """Fabric and kind of link."""
    ends: tuple[Column, Column]
    """The device at either end, or a number for the devices of a breakout cable."""
    cable: Column
    """The part bought, without its length."""
    length: Column
    """Length in mm."""
    cages: tuple[Column, Column]
    """The cage of its first leg at either end."""


class _End(NamedTuple):
    """One end of links, one row per link."""

    device: Column
    port: Column
    cage: Column
    lane: Column


PORT_COLUMNS = tuple(f"{side}_{name}" for side in SIDES for name in _End._fields[1:])
"""The columns of a wiring that say where a cable is plugged in at its devices."""


def compare_wirings(old: Wiring, new: Wiring, renamed: Mapping[str, str]) -> Moves:
    """Return the moves from one wiring to another; `renamed` are the new names of renamed fabrics."""
    numbers = match_devices(old, new, renamed)
    kinds = (old.kind_of(device) for device, _, _ in list_moved_machines(old, new, numbers))
    elsewhere = Counter(f"{kind.fabric} {kind.device}" if kind.fabric else kind.stem for kind in kinds)
    return Moves(_grow(old, new, renamed, numbers)[1], elsewhere)


def grow_wiring(old: Wiring, new: Wiring) -> Wiring:
    """Return the new wiring with the names and ports of the old one where they stay, and with the changes."""
    return _grow(old, new, {}, match_devices(old, new, {}))[0]


def list_moved_machines(old: Wiring, new: Wiring, numbers: Column) -> Iterator[tuple[int, Place, Place]]:
    """Yield the number of each installed machine that the new network has elsewhere, and both places; rack 0: none.

    `numbers` are those of the old devices in the new network, GONE where there is none. A machine in whose place it has
    another part is replaced and does not move.
    """
    if old.places is None or new.places is None:
        return
    rows = np.flatnonzero(numbers != GONE)
    rows = rows[old.places.rack[rows] != NOWHERE]
    parts = [[kind.part for kind in wiring.kinds] for wiring in (old, new)]
    is_kept = [
        parts[0][was] == parts[1][now]
        for was, now in zip(old.kind_numbers[rows], new.kind_numbers[numbers[rows]], strict=True)
    ]
    rows = rows[np.array(is_kept, dtype=bool)]
    places = [
        np.stack((positions.rack[devices], positions.unit[devices]), axis=1).clip(0).tolist()
        for positions, devices in ((old.places, rows), (new.places, numbers[rows]))
    ]
    for device, (rack, unit), (now_rack, now_unit) in zip(rows.tolist(), *places, strict=True):
        if (rack, unit) != (now_rack, now_unit):
            yield device, (rack, unit), (now_rack, now_unit)


def record_network(planned: Wiring, grown: Wiring, labels: Sequence[str]) -> Installed:
    """Return what a grown network has otherwise than the one that its plan alone gives, and the labels of cables."""
    before, after = (
        np.stack([getattr(wiring, column) for column in PORT_COLUMNS], axis=1) for wiring in (planned, grown)
    )
    rows = np.flatnonzero((before != after).any(axis=1))
    ends = tuple(
        (row, grown.ports[a_port], a_cage, a_lane, grown.ports[b_port], b_cage, b_lane)
        for row, (a_port, a_cage, a_lane, b_port, b_cage, b_lane) in zip(
            rows.tolist(), after[rows].tolist(), strict=True
        )
    )
    names = [[tuple(map(kind.name, range(kind.number))) for kind in wiring.kinds] for wiring in (planned, grown)]
    by_stem = zip((kind.stem for kind in planned.kinds), *names, strict=True)
    runs = list[tuple[str, int]]()
    following = None
    for label in labels:
        first, cables = runs.pop() if runs and label == following else (label, 0)
        runs.append((first, cables + 1))
        following = _next_label(label)
    return Installed((), {}, {}, {stem: now for stem, was, now in by_stem if was != now}, tuple(runs), ends)


def restore_network(planned: Wiring, installed: Installed) -> Wiring:
    """Return the wiring of a plan with the names, labels and ports that `record_network` has found in it."""
    numbers = {name: number for number, name in enumerate(planned.ports)}
    for _, a_port, _, _, b_port, _, _ in installed.ends:
        numbers.setdefault(a_port, len(numbers))
        numbers.setdefault(b_port, len(numbers))
    ends = [
        (row, numbers[a_port], a_cage, a_lane, numbers[b_port], b_cage, b_lane)
        for row, a_port, a_cage, a_lane, b_port, b_cage, b_lane in installed.ends
        if row < len(planned)
    ]
    rows = np.array(ends, dtype=np.int64).reshape(-1, 1 + len(PORT_COLUMNS))
    columns = {column: getattr(planned, column).copy() for column in PORT_COLUMNS}
    for number, column in enumerate(columns.values(), start=1):
        column[rows[:, 0]] = rows[:, number]
    labels = list[str]()
    if sum(cables for _, cables in installed.labels) == planned.pieces:
        for label, cables in installed.labels:
            following = label
            for _ in range(cables):
                labels.append(following)
                following = _next_label(following)
    kinds = tuple(
        kind._replace(name=called.__getitem__)
        if len(called := installed.names.get(kind.stem, ())) == kind.number and called
        else kind
        for kind in planned.kinds
    )
    return replace(planned, **columns, ports=tuple(numbers), kinds=kinds, labels=tuple(labels) or None)


def _next_label(label: str) -> str:
    """Return the label after one: the next number, with as many digits."""
    match = NUMBER.search(label)
    return f"{label[: match.start()]}{int(match[0]) + 1:0{len(match[0])}}" if match else label


def sum_moves(moves_by_cluster: Mapping[str, Moves]) -> Moves:
    """Return the moves of several clusters, by name, which prefixes fabrics and machines."""
    cables, elsewhere = list[Moved](), dict[str, int]()
    for name, moves in moves_by_cluster.items():
        before = f"{name}." if name else ""
        cables += [row._replace(fabric=f"{before}{row.fabric}") for row in moves.cables]
        elsewhere |= {f"{before}{machine}": count for machine, count in moves.elsewhere.items()}
    return Moves(tuple(cables), elsewhere)


def _grow(old: Wiring, new: Wiring, renamed: Mapping[str, str], numbers: Column) -> tuple[Wiring, tuple[Moved, ...]]:
    """Return the new wiring grown from the old one, and the moves of the cables of each kind of link."""
    kinds, before, after = _list_cables(old, new, renamed, numbers)
    origin, stays = _match_cables(before, after)
    port_names = set(new.ports)
    grown = replace(
        new,
        kinds=tuple(rename_devices(old, new, numbers)),
        ports=(*new.ports, *(name for name in old.ports if name not in port_names)),
        over_panels=None,
    )
    legs = _pair_links(before, after, origin)
    if len(legs[0]):
        grown = replace(grown, **_keep_ports(old, grown, legs, stays))
    moved = np.zeros(len(new), dtype=bool)
    moved[legs[1]] = ~_are_unmoved(old, grown, numbers, legs)
    reused = origin != GONE
    replugged = np.zeros(len(origin), dtype=bool)
    replugged[grown.piece[moved]] = True
    alike = reused.copy()
    alike[reused] = before.cable[origin[reused]] == after.cable[reused]
    long = alike.copy()
    long[alike] = before.length[origin[alike]] == after.length[alike]
    order, unplugged = _order_work(old, grown, numbers, legs, long & replugged)
    changes = CableChanges(old, origin, reused & ~replugged, alike, long, order, unplugged)
    return replace(grown, changes=changes), tuple(_count(kinds, before, after, changes))


# Cables


def _list_cables(
    old: Wiring, new: Wiring, renamed: Mapping[str, str], numbers: Column
) -> tuple[list[tuple[str, str]], _Cables, _Cables]:
    """Return fabric and kind of all links, and the cables of both wirings, in numbers common to both."""
    kinds, parts = dict[tuple[str, str], int](), dict[str, int]()
    every = np.arange(count_devices(new), dtype=np.int64)
    wirings: tuple[tuple[Wiring, Column, Mapping[str, str]], ...] = ((old, numbers, renamed), (new, every, {}))
    links = [_order_links(wiring, numbering) for wiring, numbering, _ in wirings]
    cables = list[_Cables]()
    for (wiring, _, names), (rows, first, legs, _) in zip(wirings, links, strict=True):
        of_type = wiring.cable_type[rows[first]]
        kind = np.array(
            [
                kinds.setdefault((names.get(cable_type.fabric, cable_type.fabric), cable_type.kind), len(kinds))
                for cable_type in wiring.cable_types
            ],
            dtype=np.int64,
        )
        part = np.array(
            [
                parts.setdefault(
                    cable_type.medium.cable.identity.id if cable_type.medium and cable_type.medium.cable else "",
                    len(parts),
                )
                for cable_type in wiring.cable_types
            ],
            dtype=np.int64,
        )
        length = np.rint(wiring.length_m[rows[first]] * _MM_A_M).astype(np.int64)
        empty = np.zeros(0, dtype=np.int64)
        cages = (wiring.a_cage[rows[first]], wiring.b_cage[rows[first]])
        cables.append(_Cables(first, rows, legs, kind[of_type], (empty, empty), part[of_type], length, cages))
    sides = [_name_ends([link[3][side] for link in links], cables) for side in range(len(SIDES))]
    before, after = (listed._replace(ends=(sides[0][at], sides[1][at])) for at, listed in enumerate(cables))
    return list(kinds), before, after


def _order_links(wiring: Wiring, numbers: Column) -> tuple[Column, Column, Column, tuple[Column, Column]]:
    lower, upper = (numbers[column] if len(wiring) else column for column in (wiring.a_device, wiring.b_device))
    rows = np.lexsort((wiring.b_lane, wiring.a_lane, upper, lower, wiring.piece))
    piece = wiring.piece[rows]
    first = np.flatnonzero(np.diff(piece, prepend=-1))
    legs = np.diff(np.append(first, len(rows)))
    return rows, first, legs, (lower[rows], upper[rows])


def _name_ends(devices: list[Column], cables: list[_Cables]) -> list[Column]:
    """Return a number for the devices of cables in two wirings on one side: equal devices, equal numbers."""
    width = max((int(cable.links.max(initial=1)) for cable in cables), default=1)
    if width == 1:
        return devices
    tables = []
    for device, listed in zip(devices, cables, strict=True):
        table = np.full((len(listed.first), width), GONE - 1, dtype=np.int64)
        cable = np.repeat(np.arange(len(listed.first), dtype=np.int64), listed.links)
        table[cable, np.arange(len(device), dtype=np.int64) - listed.first[cable]] = device
        tables.append(np.sort(table, axis=1))
    _, number = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    number = number.ravel().astype(np.int64)
    # A cable of a removed device keeps nothing at that end.
    lost = np.concatenate([(table == GONE).any(axis=1) for table in tables])
    number[lost] = GONE
    return [number[: len(tables[0])], number[len(tables[0]) :]]


def _match_cables(before: _Cables, after: _Cables) -> tuple[Column, Column]:
    """Return the old cable of each new one, GONE where it is added, and the ends that stay, as flags per cable."""
    # First those whose both ends stay, then those of which one does; the same part in the same length before others. Of
    # cables that connect the same two devices those stay first that fill cages with each other: modules are bought for
    # as many cages as the plan fills.
    tidy = np.argsort(-_count_cage_mates(before), kind="stable")
    origin = np.full(len(after.first), GONE, dtype=np.int64)
    stays = np.zeros((len(after.first), len(SIDES)), dtype=bool)
    free_old, free_new = (np.ones(len(listed.first), dtype=bool) for listed in (before, after))
    for ends in ((0, 1), (0,), (1,)):
        for alike in (True, False):
            left = [
                order[(free & np.logical_and.reduce([listed.ends[end] != GONE for end in ends]))[order]]
                for free, listed, order in ((free_old, before, tidy), (free_new, after, np.arange(len(after.first))))
            ]
            codes = _number_rows(
                *(
                    [listed.kind[rows], *(listed.ends[end][rows] for end in ends)]
                    + ([listed.cable[rows], listed.length[rows]] if alike else [])
                    for rows, listed in zip(left, (before, after), strict=True)
                )
            )
            at_old, at_new = _pair_equals(*codes)
            old_cable, new_cable = left[0][at_old], left[1][at_new]
            origin[new_cable] = old_cable
            stays[np.ix_(new_cable, np.array(ends))] = True
            free_old[old_cable] = free_new[new_cable] = False
    return origin, stays


def _count_cage_mates(cables: _Cables) -> Column:
    """Return for each cable how many cables between the same two devices share its cages, summed over both ends."""
    mates = np.zeros(len(cables.first), dtype=np.int64)
    for cage in cables.cages:
        group = _number_rows((cables.kind, *cables.ends, cage))[0]
        mates += np.bincount(group)[group] if len(group) else group
    return mates


def _number_rows(*tables: Sequence[Column]) -> list[Column]:
    """Return a number for each row of tables that are given by their columns; equal rows have equal numbers."""
    sizes = np.cumsum([len(table[0]) for table in tables])
    code = np.zeros(sizes[-1], dtype=np.int64)
    for columns in zip(*tables, strict=True):
        values = np.unique(np.concatenate(columns), return_inverse=True)[1].ravel()
        code = np.unique(code * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].ravel()
    return np.split(code, sizes[:-1])


def _pair_equals(old: Column, new: Column) -> tuple[Column, Column]:
    """Return the indices of equal values in both, each used once: the first with the first, and so on."""
    ranks = [_rank(values) for values in (old, new)]
    most = max((int(rank.max(initial=0)) for rank in ranks), default=0) + 1
    of_old, of_new = (values * most + rank for values, rank in zip((old, new), ranks, strict=True))
    _, at_old, at_new = np.intersect1d(of_old, of_new, assume_unique=True, return_indices=True)
    return at_old, at_new


def _rank(values: Column) -> Column:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1)) if len(ordered) else ordered
    start = np.repeat(first, np.diff(np.append(first, len(ordered))))
    ranks = np.empty_like(values)
    ranks[order] = np.arange(len(values), dtype=np.int64) - start
    return ranks


# Ports


def _end(wiring: Wiring, side: str) -> _End:
    return _End(*(getattr(wiring, f"{side}_{name}") for name in _End._fields))


def _pair_links(before: _Cables, after: _Cables, origin: Column) -> tuple[Column, Column]:
    cable = np.repeat(np.arange(len(after.first), dtype=np.int64), after.links)
    leg = np.arange(len(cable), dtype=np.int64) - after.first[cable]
    here = origin[cable] != GONE
    return before.rows[before.first[origin[cable[here]]] + leg[here]], after.rows[here]


def _keep_ports(old: Wiring, new: Wiring, legs: tuple[Column, Column], ends: Column) -> dict[str, Any]:
    """Return the columns of ports, cages and lanes of the new wiring; ends that stay keep theirs."""
    new_end, today = (_both_ends(wiring) for wiring in (new, old))
    today = today._replace(port=translate_ports(old, new)[today.port])
    seat = np.full((len(SIDES), len(new)), GONE, dtype=np.int64)
    for number in range(len(SIDES)):
        seat[number, legs[1]] = np.where(ends[new.piece[legs[1]], number], legs[0] + number * len(old), GONE)
    alike, alike_today = _number_sockets(new, old)
    wanted = np.where(_has_port(new_end, alike, today, alike_today, seat.ravel()), seat.ravel(), GONE)
    kept = _seat(new, new_end, today, wanted, alike)
    shapes, _ = _number_sockets(new, old, by_part=False)
    planned = _planned_seats(new_end, alike, today, wanted)
    others = [
        _seat(new, new_end, today, wanted, shapes),
        _settle(new, new_end, today, wanted, shapes),
        _seat(new, new_end, today, planned, alike),
    ]
    # A device whose ends clash takes the way in which most of them stay, then the next one, at last that of the plan.
    seats = seat.ravel()
    stay = [np.bincount(new_end.device, (seats != GONE) & (end.port == today.port[seats])) for end in others]
    ranked = np.argsort(-np.stack(stay), axis=0, kind="stable")
    for way in (*ranked[:, new_end.device], np.full(len(new_end.device), len(others))):
        clash = _find_clashes(new, new_end, kept)[new_end.device]
        theirs = (np.choose(way, columns) for columns in zip(*others, new_end, strict=True))
        kept = _End(*(np.where(clash, column, ours) for ours, column in zip(kept, theirs, strict=True)))
    kept = _number_cages(new, new_end, kept)
    columns = zip(_End._fields[1:], kept[1:], strict=True)
    return {
        f"{side}_{name}": half
        for name, column in columns
        for side, half in zip(SIDES, np.split(column, len(SIDES)), strict=True)
    }


def _number_cages(new: Wiring, planned: _End, kept: _End) -> _End:
    """Return ends with the cages that their ports have in the new list: fabrics added before others shift the cages."""
    ports, kinds = len(new.ports), new.kind_numbers
    known, first = np.unique(kinds[planned.device] * ports + planned.port, return_index=True)
    wanted = kinds[kept.device] * ports + kept.port
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    listed, source = known[at] == wanted, first[at]
    return kept._replace(
        cage=np.where(listed, planned.cage[source], kept.cage), lane=np.where(listed, planned.lane[source], kept.lane)
    )


def _planned_seats(ends: _End, alike: Column, today: _End, seat: Column) -> Column:
    """Return `seat` for ends whose current port is also used by an equal end of the device in the new list."""
    stays = seat != GONE
    columns = (alike, *ends), (alike[stays], ends.device[stays], *(column[seat[stays]] for column in today[1:]))
    planned, wanted = _number_rows(*columns)
    seats = seat.copy()
    seats[stays] = np.where(np.isin(wanted, planned), seat[stays], GONE)
    return seats


def _both_ends(wiring: Wiring) -> _End:
    ends = [_end(wiring, side) for side in SIDES]
    return _End(*(np.concatenate(columns) for columns in zip(*ends, strict=True)))


def _seat(wiring: Wiring, ends: _End, today: _End, seat: Column, alike: Column, by_cage: bool = False) -> _End:
    """Return the ports of all ends: the current one where an end stays (`seat` is its row), else those left."""
    # The links of a plug move together, and `by_cage` equal plugs of a cage in which none stays. They take the ports of
    # others of their size on their device that are built alike.
    rows, piece = np.arange(len(ends.device), dtype=np.int64) // max(len(wiring), 1), np.tile(wiring.piece, len(SIDES))
    cage = _number_rows((ends.device, ends.cage))[0]
    plug = _number_rows((cage, rows, piece))[0]
    kept = _are_all(plug, seat != GONE)
    ports = len(wiring.ports)
    claimed = np.isin(ends.device * ports + ends.port, ends.device[kept] * ports + today.port[seat[kept]])
    whole = _are_all(cage, by_cage & ~kept & (alike == alike[np.unique(cage, return_index=True)[1]][cage]))
    whole &= _are_all(cage, claimed) | _are_all(cage, ~claimed)
    unit = np.where(whole, cage, len(cage) + plug)
    unit = np.unique(unit, return_inverse=True)[1].ravel()
    order = np.lexsort((ends.lane, unit))
    first = np.flatnonzero(np.diff(unit[order], prepend=-1))
    size = np.diff(np.append(first, len(order)))
    of_unit = np.repeat(np.arange(len(first), dtype=np.int64), size)
    stays, taken = kept[order[first]], np.logical_or.reduceat(claimed[order], first)
    group = (alike[order[first]], ends.device[order[first]], size)
    moving, left = np.flatnonzero(~stays), np.flatnonzero(~taken)
    tables = ([column[units] for column in group] for units in (moving, left))
    at_moving, at_left = _pair_equals(*_number_rows(*tables))
    source = np.arange(len(first), dtype=np.int64)
    source[moving[at_moving]] = left[at_left]
    leg = np.arange(len(order), dtype=np.int64) - first[of_unit]
    moved = np.empty_like(order)
    moved[order] = order[first[source[of_unit]] + leg]
    columns = (np.where(kept, theirs[seat], mine[moved]) for mine, theirs in zip(ends[1:], today[1:], strict=True))
    return _End(ends.device, *columns)


def _are_all(group: Column, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each row whether the flags of all rows of its group are set."""
    every: NDArray[np.bool_] = (np.bincount(group, ~flags) == 0)[group]
    return every


def _settle(wiring: Wiring, ends: _End, today: _End, seat: Column, alike: Column) -> _End:
    """Return the ports of all ends as `_seat`, but without staying in ports whose planned plug finds no other."""
    while True:
        seated = _seat(wiring, ends, today, seat, alike, by_cage=True)
        _, socket, times = np.unique(
            seated.device * len(wiring.ports) + seated.port, return_inverse=True, return_counts=True
        )
        in_the_way = (times[socket.ravel()] > 1) & (seat != GONE)
        if not in_the_way.any():
            return seated
        seat = np.where(in_the_way, GONE, seat)


def _name_sockets(wiring: Wiring) -> list[list[tuple[object, ...]]]:
    sockets = list[list[tuple[object, ...]]]()
    for side in range(len(SIDES)):
        names = list[tuple[object, ...]]()
        for cable_type in wiring.cable_types:
            medium = cable_type.medium
            part = (medium.lower, medium.upper)[side] or medium.cable if medium else None
            names.append((part.identity.id if part else "", cable_type.links_per_cage[side], cable_type.rate_gbps))
        sockets.append(names)
    return sockets


def _number_sockets(*wirings: Wiring, by_part: bool = True) -> list[Column]:
    """Return a number for the cage, part and device of each end of all links; equal ends may be exchanged."""
    # Unless `by_part`, ends of different parts are equal: ports of a cage that takes either.
    numbers, sockets = dict[tuple[object, ...], int](), list[Column]()
    for wiring in wirings:
        parts = [kind.identity.id if kind.identity else kind.stem for kind in wiring.kinds]
        columns = list[Column]()
        for side, names in zip(SIDES, _name_sockets(wiring), strict=True):
            shapes = names if by_part else [name[1:] for name in names]
            table = [[numbers.setdefault((part, *shape), len(numbers)) for part in parts] for shape in shapes]
            device = _end(wiring, side).device
            columns.append(np.array(table, dtype=np.int64)[wiring.cable_type, wiring.kind_numbers[device]])
        sockets.append(np.concatenate(columns))
    return sockets


def _has_port(ends: _End, alike: Column, today: _End, alike_today: Column, seat: Column) -> Column:
    """Return whether an end can stay in its port: the plug there is equal, or an equal end has the port."""
    stays = seat != GONE
    possible, wanted = _number_rows((alike, *ends[1:]), (alike[stays], *(column[seat[stays]] for column in today[1:])))
    can_stay: Column = stays.copy()
    can_stay[stays] = (alike[stays] == alike_today[seat[stays]]) | np.isin(wanted, possible)
    return can_stay


def _find_clashes(wiring: Wiring, new_end: _End, end: _End) -> NDArray[np.bool_]:
    """Return whether a device would get two cables in a port, two parts in a cage, or modules that are not bought."""
    clashes = np.zeros(count_devices(wiring), dtype=bool)
    used, times = np.unique(end.device * len(wiring.ports) + end.port, return_counts=True)
    clashes[used[times > 1] // len(wiring.ports)] = True
    part = plugged_parts(wiring).T[:, wiring.cable_type].ravel()
    cages, has_part = int(max(end.cage.max(), new_end.cage.max())) + 1, part >= 0
    held = np.unique(np.stack((end.device[has_part] * cages + end.cage[has_part], part[has_part])), axis=1)[0]
    clashes[held[1:][held[1:] == held[:-1]] // cages] = True
    for module in _modules(wiring):
        filled, planned = (_count_modules(wiring, module, plugged) for plugged in (end, new_end))
        bought = np.array([kind.modules.get(module.identity.id, 0) for kind in wiring.kinds], dtype=np.int64)
        in_use, more = (
            np.bincount(wiring.kind_numbers, counts, len(wiring.kinds))
            for counts in (planned, np.maximum(filled - planned, 0))
        )
        clashes |= (filled > planned) & (more > bought - in_use)[wiring.kind_numbers]
        clashes |= (filled != planned) & (bought <= in_use)[wiring.kind_numbers]
    return clashes


def _modules(wiring: Wiring) -> list[Module]:
    media = [cable_type.medium for cable_type in wiring.cable_types if cable_type.medium]
    each_end = [module for medium in media for module in (medium.lower, medium.upper) if module]
    return list({module.identity.id: module for module in each_end}.values())


def _count_modules(wiring: Wiring, module: Module, end: _End) -> Column:
    """Return the count of a module per device: one per cage, for a module of one port one per link."""
    holds = np.array(
        [
            [part is not None and part.identity.id == module.identity.id for part in (medium.lower, medium.upper)]
            if medium
            else [False, False]
            for medium in (cable_type.medium for cable_type in wiring.cable_types)
        ],
        dtype=bool,
    )
    rows = np.flatnonzero(holds.T[:, wiring.cable_type].ravel())
    socket = (end.cage if module.ports.value > 1 else end.port)[rows]
    device = np.unique(np.stack((end.device[rows], socket)), axis=1)[0]
    return np.bincount(device, minlength=count_devices(wiring))


def _are_unmoved(old: Wiring, new: Wiring, numbers: Column, legs: tuple[Column, Column]) -> Column:
    ports = translate_ports(old, new)
    unmoved = np.ones(len(legs[0]), dtype=bool)
    for side in SIDES:
        was, now = _end(old, side), _end(new, side)
        unmoved &= numbers[was.device[legs[0]]] == now.device[legs[1]]
        unmoved &= ports[was.port[legs[0]]] == now.port[legs[1]]
    return unmoved


def _order_work(
    old: Wiring, new: Wiring, numbers: Column, legs: tuple[Column, Column], moves: NDArray[np.bool_]
) -> tuple[Column, NDArray[np.bool_]]:
    moved = moves[new.piece[legs[1]]]
    if not moved.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    cable = new.piece[legs[1][moved]]
    ports, sockets = translate_ports(old, new), _number_sockets(old, new)
    cages = max(
        (int(column.max(initial=0)) for wiring in (old, new) for column in (wiring.a_cage, wiring.b_cage)), default=0
    )
    moved_ends = list[MovedEnds]()
    for wiring, rows, alike in zip((old, new), legs, sockets, strict=True):
        both = np.concatenate((rows[moved], rows[moved] + len(wiring)))
        end = _End(*(column[both] for column in _both_ends(wiring)))
        if wiring is old:
            end = end._replace(device=numbers[end.device], port=ports[end.port])
        here = (end.device != GONE) & (end.port != GONE)
        port = np.where(here, end.device * len(new.ports) + end.port, GONE)
        cage = np.where(here, end.device * (cages + 1) + end.cage, GONE)
        moved_ends.append(MovedEnds(np.tile(cable, len(SIDES)), port, cage, alike[both]))
    work = list(order_moves(*moved_ends))
    return np.array([number for number, _ in work], dtype=np.int64), np.array([only for _, only in work], dtype=bool)


# Counts


def _count(kinds: Sequence[tuple[str, str]], before: _Cables, after: _Cables, changes: CableChanges) -> Iterator[Moved]:
    order = dict.fromkeys((*after.kind.tolist(), *before.kind.tolist()))
    for number in order:
        old, new = before.kind == number, after.kind == number
        stays, alike, long = changes.stays[new], changes.same_cable[new], changes.same_length[new]
        kept = int(np.count_nonzero(stays | long))  # one that would move as another part or length is replaced
        yield Moved(
            fabric=kinds[number][0],
            kind=kinds[number][1],
            old=int(np.count_nonzero(old)),
            new=int(np.count_nonzero(new)),
            stay=int(np.count_nonzero(stays)),
            moved=int(np.count_nonzero(long & ~stays)),
            added=int(np.count_nonzero(new)) - kept,
            free=int(np.count_nonzero(old)) - kept,
            other_length=int(np.count_nonzero(stays & alike & ~long)),
            other_cable=int(np.count_nonzero(stays & ~alike)),
            of_pair_old=_parallel(before, old),
            of_pair_new=_parallel(after, new),
        )


def _parallel(cables: _Cables, wanted: Column) -> tuple[int, int]:
    if not wanted.any():
        return 0, 0
    pair = np.stack([end[wanted] for end in cables.ends])
    known_pairs = pair[:, (pair != GONE).all(axis=0)]
    counts = np.unique(known_pairs, axis=1, return_counts=True)[1]
    return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
