"""The number of racks: those of servers, those of all other machines, which may share them, and the plan's limit.

Switches, storage and appliances stand in management racks. At a small site, or where the plan sets `management.racks`
to 0, they stand above the servers instead, in the height and power that these leave.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import Server
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, first_given, formula
from bomgen.plan.types import Site
from bomgen.site.rack_loads import FullRack, SiteContents
from bomgen.site.racks import (
    SHARED_RACKS,
    Equipment,
    Warnings,
    compute_capacity,
    in_words,
    machines_that_fit,
    management_racks,
    pdus_of_racks,
    racks_of_servers,
    racks_of_systems,
    servers_of_rack,
    warn_of_unknown_height,
)

PLACED = Reference(message("source-places"))
Room = tuple[int, int]
"""Height [U] and power [W] that the servers of a rack leave."""
Kind = tuple[int, int, int]
"""Height [U] and power [W] of equal machines, and their number."""


class ServerRacks(NamedTuple):
    """The racks of servers whose height is known, as other machines may share them."""

    server: Server
    servers: Figure
    per_rack: Figure
    racks: Figure


@formula("racks")
def racks_beside_servers(separate: int, compute_racks: int, shared_racks: int) -> int:
    """Management racks where the racks of the servers have room for all machines: none if these racks are few."""
    return 0 if compute_racks <= shared_racks else separate


def count_other_racks(
    site: Site, contents: SiteContents, machines: Sequence[Equipment], warnings: Warnings
) -> Figure | None:
    """Return the racks of everything but servers: 0 where these machines stand in the racks of `contents`.

    Adds to `warnings`. None without machines of known height.
    """
    racked, fixed = [machine for machine in machines if not machine.in_server], site.management_racks
    if fixed and not fixed.value:
        warn_of_unknown_height(racked, warnings)
        warnings.extend((text, SHARED_RACKS) for text in _lacks(site, contents, racked))
        return fixed
    said: Warnings = []
    separate, limit = management_racks(site, machines, said), site.shared_racks
    beside = _server_racks(contents)
    if separate and beside and not fixed:
        if site.racks and beside.racks.value + separate.value > site.racks.value:
            limit = site.racks
        measured = bool(beside.server.power_w) and all(machine.height_u for machine in racked)
        if measured and limit and beside.racks.value <= limit.value and not any(_lacks(site, contents, racked)):
            return racks_beside_servers(separate, beside.racks, limit)
    warnings += said
    return separate


def count_racks(
    site: Site | None,
    server: Server | None,
    servers: Figure | None,
    machines: Sequence[Equipment],
    warnings: Warnings,
    count_others: Callable[[Site, SiteContents, Sequence[Equipment], Warnings], Figure | None] = count_other_racks,
) -> SiteContents:
    """Return the racks of a site and their PDUs, for arguments as those of `size_facility`.

    Doubtful points are added to `warnings`. `count_others` gives the racks of everything but servers.
    """
    per_rack = servers_of_rack(site, server, servers, warnings) if site and server else None
    compute = None
    if site and servers and server and server.trays:
        compute = racks_of_systems(servers, server.trays)
    elif servers and per_rack:
        compute = racks_of_servers(servers, per_rack)
    contents = SiteContents(server, servers, per_rack, compute, None, None, None)
    if site is None:
        return contents
    management = count_others(site, contents, machines, warnings)
    return contents._replace(
        management_racks=management,
        compute_pdus=pdus_of_racks(compute, site.pdus_per_rack) if compute else None,
        management_pdus=pdus_of_racks(management, site.management_pdus) if management else None,
    )


def _server_racks(contents: SiteContents) -> ServerRacks | None:
    server, servers, per_rack, racks = contents.server, contents.servers, contents.per_rack, contents.compute_racks
    if server and server.rack_units and servers and per_rack and racks:
        return ServerRacks(server, servers, per_rack, racks)
    return None


def rooms_of_racks(site: Site, server: Server, per_rack: int, servers: int) -> list[Room]:
    """Return what the servers leave of each rack, in the order in which the racks are filled."""
    units, power = compute_capacity(site)
    height, drawn = (ceil(figure.value) if figure else 0 for figure in (server.rack_units, server.power_w))
    held = [min(per_rack, servers - before) for before in range(0, servers, per_rack)]
    return [(int(units.value) - count * height, int(power.value) - count * drawn) for count in held]


def fill_rooms(kinds: Sequence[Kind], rooms: Sequence[Room]) -> list[list[int]]:
    """Return how many machines of each kind stand in each rack: first-fit, the highest machines and middle rack first.

    From the middle rack the longest cable is the shortest.
    """
    free, middle_out = list(rooms), sorted(range(len(rooms)), key=lambda rack: abs(2 * rack - len(rooms) + 1))
    counts = [[0] * len(rooms) for _ in kinds]
    for kind in sorted(range(len(kinds)), key=lambda kind: -kinds[kind][0]):
        height, power, left = kinds[kind]
        for rack in middle_out:
            units, watts = free[rack]
            if units < 0 or watts < 0 or not left:
                continue
            fits = machines_that_fit(units, watts, height, power, left)
            free[rack] = units - fits * height, watts - fits * power
            counts[kind][rack] = fits
            left -= fits
    return counts


def _kinds(machines: Iterable[Equipment]) -> list[tuple[Equipment, Kind]]:
    return [
        (
            machine,
            (ceil(machine.height_u.value), ceil(machine.power_w.value) if machine.power_w else 0, machine.count.value),
        )
        for machine in machines
        if machine.height_u and machine.count.value
    ]


def _lacks(site: Site, contents: SiteContents, racked: Iterable[Equipment]) -> Iterator[str]:
    """Yield what keeps machines out of the racks of the servers: the height and power that lack."""
    named, beside = _kinds(racked), _server_racks(contents)
    if not named:
        return
    if beside is None:
        yield message("no-shared-racks", names=dict.fromkeys(machine.name for machine, _ in named))
        return
    rooms = rooms_of_racks(site, beside.server, int(beside.per_rack.value), int(beside.servers.value))
    kinds = [kind for _, kind in named]
    filled = fill_rooms(kinds, rooms)
    left = [count - sum(racks) for (_, _, count), racks in zip(kinds, filled, strict=True)]
    if not any(left):
        return
    units, watts = (
        sum(max(0, room[of]) for room in rooms)
        - sum(kind[of] * sum(racks) for kind, racks in zip(kinds, filled, strict=True))
        for of in range(len(rooms[0]))
    )
    height, power = (sum(kind[of] * count for kind, count in zip(kinds, left, strict=True)) for of in (0, 1))
    lacks = max(0, height - units), max(0, power - watts)
    yield message(
        "beside-servers-full",
        names=[
            message("some-of-machines", number=missing, all=machine.count.value, machine=machine.name)
            for (machine, _), missing in zip(named, left, strict=True)
            if missing
        ],
        height=height,
        watts=power,
        units=units,
        power=watts,
        lack=message("too-little", units=lacks[0], watts=lacks[1]) if any(lacks) else message("too-scattered"),
    )


def full_rack(site: Site, contents: SiteContents, machines: Iterable[Equipment]) -> FullRack | None:
    """Return the rack of servers with the highest power, and the machines that share it."""
    beside, racked = _server_racks(contents), _kinds(machine for machine in machines if not machine.in_server)
    if contents.per_rack is None:
        return None
    management = contents.management_racks
    if beside is None or not racked or management is None or management.value:
        return FullRack(contents.per_rack, ())
    per_rack, servers = int(beside.per_rack.value), int(beside.servers.value)
    rooms = rooms_of_racks(site, beside.server, per_rack, servers)
    filled = fill_rooms([kind for _, kind in racked], rooms)

    def power_left(rack: int) -> tuple[int, int]:
        taken = [
            (kind[0] * counts[rack], kind[1] * counts[rack]) for (_, kind), counts in zip(racked, filled, strict=True)
        ]
        return rooms[rack][1] - sum(power for _, power in taken), rooms[rack][0] - sum(units for units, _ in taken)

    fullest = min(range(len(rooms)), key=power_left)
    held = min(per_rack, servers - fullest * per_rack)
    return FullRack(
        contents.per_rack if held == per_rack else _counted(held, "servers"),
        tuple(
            (machine, _counted(counts[fullest], machine.count.unit))
            for (machine, _), counts in zip(racked, filled, strict=True)
            if counts[fullest]
        ),
    )


def _counted(number: int, unit: str) -> Figure:
    return Figure(number, unit, Cited(message("pieces-in-rack"), (PLACED,), "high"))


# the limit of the plan -----------------------------------------------------------------------------------------------


def refuse_more_racks(site: Site, contents: SiteContents, machines: Sequence[Equipment]) -> None:
    """Raise PlanErrors where the racks are more than the plan has, with what does not fit and what would."""
    limit = site.racks
    if limit is None or (needed := count_all_racks(contents)) <= limit.value:
        return
    most = int(limit.value)

    def fit(site: Site, servers: Figure | None) -> bool:
        counted = count_racks(site, contents.server, servers, machines, [])
        return site.racks is None or count_all_racks(counted) <= site.racks.value

    def fit_servers(number: int) -> bool:
        return fit(site, contents.servers and replace(contents.servers, value=number))

    def fit_racks(number: int) -> bool:
        return fit(site._replace(racks=replace(limit, value=number)), contents.servers)

    def fit_power(watts: int) -> bool:
        return fit(site._replace(rack_power_w=replace(site.rack_power_w, value=watts)), contents.servers)

    remedies = [f"set `site.racks: {_first(fit_racks, most, needed)}`"]
    server, servers = contents.server, int(contents.servers.value) if contents.servers else 0
    if server and not server.trays and fit_servers(1):
        fewer = _first(lambda number: not fit_servers(number), 1, servers) - 1
        remedies.append(f"use {fewer} {'server' if fewer == 1 else 'servers'}")
    powers = [(machine.power_w, machine.count) for machine in machines if machine.power_w and not machine.in_server]
    if server and server.power_w and contents.servers:
        powers.append((server.power_w, contents.servers))
    drawn = sum(ceil(power.value) * int(count.value) for power, count in powers)
    if drawn > site.rack_power_w.value and fit_power(drawn):
        remedies.append(f"raise `site.rack.power` to {_first(fit_power, int(site.rack_power_w.value), drawn)} W")
    text = f"the design needs {needed} racks, but `site.racks` is {most}"
    if server and contents.per_rack:
        each = ", ".join(
            (
                *([f"{server.rack_units.value} U"] if server.rack_units else []),
                f"{in_words(server.power_w) if server.power_w else 'unknown power'} each",
            )
        )
        offered = f"{site.rack_units.value} U and {in_words(site.rack_power_w)}"
        text += (
            f": a rack of {offered} holds {contents.per_rack.value} of the {servers} x {server.identity.name} ({each})"
        )
    if contents.management_racks and contents.management_racks.value:
        counts = Counter[str]()
        for machine in machines:
            counts[machine.name] += 0 if machine.in_server else int(machine.count.value)
        names = ", ".join(f"{count} x {name}" for name, count in counts.items() if count)
        text += f", and {names} would need {contents.management_racks.value} more"
    mark = first_given(limit) or site.mark
    raise PlanErrors([Problem(mark, "error", f"{text}; {', or '.join(remedies)}", "rack-count", "site.racks")])


def count_all_racks(contents: SiteContents) -> int:
    """Return the number of racks, those of management included; 0 where none are counted."""
    return sum(int(racks.value) for racks in (contents.compute_racks, contents.management_racks) if racks)


def _first(holds: Callable[[int], bool], below: int, above: int) -> int:
    """Return the first number after `below` for which a condition holds, as it does for `above`."""
    return below + 1 + bisect_left(range(below + 1, above), True, key=holds)
