"""The wiring: every cable of a design, port to port.

The links come from `fabric.links.enumeration`. This module names their devices (`devices`), finds their cages and lanes
(`optics.cages`), places them, gives them lengths (`lengths`), and verifies the whole (`types.broken_rules`).

On a switch downlink ports come before uplink ports; on a chassis every line card has its share of both where they
divide evenly. A populated port without a link (`build_out: full`) has its module on the bill and no row here. Links of
one cable share a piece number; the plug that serves several links is in the upper device, unless the module below
carries more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.cabling.devices import (
    build_floor,
    fabric_codes,
    locate_devices,
    number_devices,
    require_tier,
    round_to_stock_length,
    switch_boxes,
)
from bomgen.cabling.patch_panels import route_over_panels
from bomgen.cabling.types import COLUMNS, CableType, Column, Wiring
from bomgen.core.provenance import require
from bomgen.design.assembly import BuiltFabric, Design, protocol_of
from bomgen.fabric.links import HOST, LinkTable, PortSpread, count_up, enumerate_links
from bomgen.optics.cages import UPLINK, Socket, name_sockets
from bomgen.optics.compatibility import Medium
from bomgen.optics.uses import LinkGroup
from bomgen.plan.types import COMPUTE, OUT_OF_BAND, SWITCHES, Hosts
from bomgen.site.floor_plan import Floor

MOST_CAGES, MOST_LANES = 4096, 64
"""Exclusive upper bounds of the cages of a switch, and of the links of a cage."""


class End(NamedTuple):
    """One end of links, one row per link."""

    device: Column
    port: Column
    cage: Column
    lane: Column
    per_cage: int

    @property
    def columns(self) -> tuple[Column, Column, Column, Column]:
        """Return the columns, with one row per link."""
        return self.device, self.port, self.cage, self.lane

    def at(self, rows: Column) -> End:
        """Return the end with some of its rows."""
        device, port, cage, lane = (column[rows] for column in self.columns)
        return End(device, port, cage, lane, self.per_cage)


def concatenate_ends(ends: Sequence[End]) -> End:
    """Return ends one after the other."""
    device, port, cage, lane = (np.concatenate(columns) for columns in zip(*(end.columns for end in ends), strict=True))
    return End(device, port, cage, lane, ends[0].per_cage)


class NamedPorts(NamedTuple):
    """The ports of a device for one kind of link: their positions and names."""

    links_per_cage: int
    sockets: Sequence[Socket]
    names: list[str]


class NumberedPorts:
    """Distinct names of ports, each with its number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def of(self, names: list[str]) -> Column:
        """Return the numbers of names."""
        return np.array([self.numbers.setdefault(name, len(self.numbers)) for name in names], dtype=np.int64)


def wire(design: Design) -> Wiring:
    """Return every cable of a design with both its ends.

    Raises ValueError when rows have too few racks, or the rack of a link over panels is unknown.
    """
    site, racks = design.plan.site, build_floor(design)
    wiring = _WiringBuilder(design, racks).wiring()
    if site is None or racks is None:
        return wiring
    rounded = round_to_stock_length(wiring, site, racks)
    if not any(cable_type.patch for cable_type in rounded.cable_types):
        return rounded
    return replace(rounded, over_panels=round_to_stock_length(route_over_panels(rounded, site, racks), site, racks))


class _WiringBuilder:
    """The assembly of the columns, by fabric and kind of link."""

    def __init__(self, design: Design, racks: Floor | None) -> None:
        self.design, self.racks = design, racks
        self.machines = number_devices(design)
        self.names = NumberedPorts()
        self.codes = fabric_codes(design)
        self.boxes = np.array(switch_boxes(design, self.machines), dtype=np.int64)
        self.nics, self.cages = 0, 0
        self.cable_types: list[CableType] = []
        self.columns: list[tuple[NDArray[Any], ...]] = []
        self.pieces = 0

    def wiring(self) -> Wiring:
        servers = int(self.design.sizing.servers.value) if self.design.sizing.servers else 0
        for built in self.design.fabrics:
            if built.attachment is None:
                continue
            server_end = self._server_ports(built)
            if built.plan.switchless:
                self._pair(built, server_end)
                continue
            tables = list(enumerate_links(built.fabric, _port_spread(built), servers))
            of_servers = next(table for table in tables if table.ends[0] == "server")
            placed = [
                self._place_hosts(built, table, of_servers) if table.ends[0] == HOST else table for table in tables
            ]
            for kind in dict.fromkeys(table.kind for table in placed):
                self._links(built, kind, [table for table in placed if table.kind == kind], server_end)
        blocks = zip(*self.columns, strict=True) if self.columns else ((np.zeros(0, dtype=np.int64),) for _ in COLUMNS)
        site = self.design.plan.site
        columns: dict[str, Any] = {name: np.concatenate(parts) for name, parts in zip(COLUMNS, blocks, strict=True)}
        return Wiring(
            site="-".join(name for name in (self.design.plan.name, self.design.plan.cluster_name) if name),
            kinds=self.machines.kinds,
            ports=tuple(self.names.numbers),
            cable_types=tuple(self.cable_types),
            places=locate_devices(self.design, self.machines, site, self.racks) if site and self.racks else None,
            **columns,
        )

    def _pair(self, built: BuiltFabric, server_end: NamedPorts) -> None:
        """Add the links between the ports of two servers."""
        for kind, ends in built.plan.declared.connect(built.fabric, None):
            lower, lower_port, upper, upper_port = (np.array(column, dtype=np.int64) for column in ends)
            first = self.machines.servers.start
            below, above = (
                _plugged(self.names, device + first, port, server_end)
                for device, port in ((lower, lower_port), (upper, upper_port))
            )
            self._add(built, kind.name, built.interconnect.groups_of_kind(kind.name)[0], below, above)

    def _server_ports(self, built: BuiltFabric) -> NamedPorts:
        attached = built.attachment
        if attached is None:
            raise ValueError("nodes that are linked directly have no NICs")
        count, cage = int(attached.ports_per_server.value), int(attached.ports_per_cage.value)
        nics = int(attached.nics_per_server.value)
        of_nic = count // nics
        if built.plan.role == COMPUTE:
            names = [_nic_port_name(self.nics + port // of_nic + 1, port % of_nic, of_nic) for port in range(count)]
            self.nics += nics
        elif built.plan.role == OUT_OF_BAND:
            names = _port_names(self._managing(built, "bmc"), count)
        else:
            names = [f"{self.codes[built.plan.name]}{port + 1}" for port in range(count)]
        sockets = [Socket(self.cages + port // cage, port % cage) for port in range(count)]
        self.cages = sockets[-1].cage + 1 if sockets else self.cages
        return NamedPorts(cage, sockets, names)

    def _managing(self, built: BuiltFabric, port: str) -> str:
        first = next(fabric for fabric in self.design.fabrics if fabric.plan.role == OUT_OF_BAND)
        return port if built is first else f"{self.codes[built.plan.name]}-{port}"

    def _place_hosts(self, built: BuiltFabric, table: LinkTable, of_servers: LinkTable) -> LinkTable:
        """Return the links of other machines at the ports where they were counted: each group in its cages."""
        shares = built.interconnect.leaf_shares.get(table.kind)
        if shares is None or len(shares.plugs) == 1:
            return table
        group = np.zeros(table.links, dtype=np.int64)
        for number, (_, rows) in enumerate(self._link_groups(built, table), start=1):
            group[rows] = number % len(shares.plugs)
        leaves = int(max(table.upper.max(), of_servers.upper.max(initial=0))) + 1
        servers = np.bincount(of_servers.upper, minlength=leaves)
        per_group = np.bincount(table.upper * len(shares.plugs) + group, minlength=leaves * len(shares.plugs))
        links = per_group.reshape(leaves, len(shares.plugs)).copy()
        links[:, 0] += servers
        alike, kind = np.unique(links, axis=0, return_inverse=True)
        first = np.array([shares.first_ports(row) for row in alike.tolist()], dtype=np.int64)[kind.ravel()]
        first[:, 0] += servers
        order = np.lexsort((table.upper_port, group, table.upper))
        counts = per_group[per_group > 0]
        port = np.empty(table.links, dtype=np.int64)
        port[order] = first[table.upper[order], group[order]] + count_up(counts)
        return table._replace(upper_port=port)

    def _links(self, built: BuiltFabric, kind: str, tables: list[LinkTable], server_end: NamedPorts) -> None:
        """Add the rows of one kind of link, equal ones together: they may share cables of several links."""
        ends: dict[int, list[tuple[End, End]]] = {}
        groups = built.interconnect.groups_of_kind(kind)
        for table in tables:
            lower, upper = table.ends
            above = self._switch_end(built, table.upper, table.upper_port, upper, kind)
            for link_group, rows in self._link_groups(built, table):
                for below, part in self._lower(built, table, rows, server_end, lower):
                    if len(part):
                        ends.setdefault(groups.index(link_group), []).append((below, above.at(rows).at(part)))
        for number, sides in sorted(ends.items()):
            below, above = (concatenate_ends(side) for side in zip(*sides, strict=True))
            for link_group, rows in _split_by_length(groups[number], above):
                self._add(built, kind, link_group, below.at(rows), above.at(rows))

    def _lower(
        self, built: BuiltFabric, table: LinkTable, rows: Column, server_end: NamedPorts, lower: str
    ) -> Iterator[tuple[End, Column]]:
        every = np.arange(len(rows), dtype=np.int64)
        device, port = table.lower[rows], table.lower_port[rows]
        if lower == "server":
            yield _plugged(self.names, device + self.machines.servers.start, port, server_end), every
        elif lower == HOST:
            yield from self._hosts(built, device)
        else:
            yield self._switch_end(built, device, port, lower, table.kind), every

    def _hosts(self, built: BuiltFabric, ids: Column) -> Iterator[tuple[End, Column]]:
        first = 0
        for hosts in built.hosts:
            ports = int(hosts.ports.value)
            last = first + int(hosts.pieces.value) * ports
            rows = np.flatnonzero((ids >= first) & (ids < last))
            number = ids[rows] - first
            first = last
            yield self._host_end(built, hosts, number // ports, number % ports), rows

    def _host_end(self, built: BuiltFabric, hosts: Hosts, piece: Column, port: Column) -> End:
        ports = int(hosts.ports.value)
        if hosts.leaves_of:
            of_leaves = next(fabric for fabric in self.design.fabrics if fabric.plan.name == hosts.leaves_of)
            return self._switch_end(of_leaves, piece, port, "leaf", UPLINK)
        if hosts.managed:
            names = _port_names(self._managing(built, "mgmt"), ports)
        else:
            names = [f"{self.codes[built.plan.name]}{number + 1}" for number in range(ports)]
        of_servers = built.attachment.ports_per_cage if built.attachment and not hosts.managed else None
        in_cage = hosts.plug.ports_per_cage if hosts.plug else of_servers
        per_cage = int(in_cage.value) if in_cage else 1
        sockets = [Socket(*divmod(number, per_cage)) for number in range(ports)]
        device = self.boxes[piece] if hosts.managed == SWITCHES else piece + self.machines.hosts[hosts.name].start
        return _plugged(self.names, device, port, NamedPorts(per_cage, sockets, names))

    def _switch_end(self, built: BuiltFabric, device: Column, port: Column, tier: str, kind: str) -> End:
        port_map, switch = built.interconnect.port_maps[tier, kind], require_tier(built, tier).switch
        links = next((link for link in built.fabric.links if link.kind == kind), None)
        rate = links.rate_gbps if links else require(built.fabric.uplink_gbps, "a fabric without uplinks")
        sockets = port_map.sockets + port_map.spare
        ports = NamedPorts(port_map.links_per_cage, sockets, name_sockets(switch, rate, sockets))
        return _plugged(self.names, device + self.machines.tiers[built.plan.name, tier].start, port, ports)

    def _link_groups(self, built: BuiltFabric, table: LinkTable) -> Iterator[tuple[LinkGroup, Column]]:
        rest = np.ones(table.links, dtype=bool)
        if table.ends[0] == HOST:
            bounds = np.cumsum([0] + [int(host.pieces.value * host.ports.value) for host in built.hosts])
            for link_group in built.interconnect.groups_of_kind(table.kind):
                for index in link_group.others or ():
                    of_hosts = (table.lower >= bounds[index]) & (table.lower < bounds[index + 1])
                    rest &= ~of_hosts
                    yield link_group, np.flatnonzero(of_hosts)
        main = built.interconnect.server_group(table.kind)
        if main is not None:
            yield main, np.flatnonzero(rest)

    def _add(self, built: BuiltFabric, kind: str, link_group: LinkGroup, below: End, above: End) -> None:
        number = len(self.cable_types)
        protocol = protocol_of(built.plan, self.design.plan)
        per_cage = (below.per_cage, above.per_cage)
        rate = int(link_group.rate_gbps.value)
        self.cable_types.append(
            CableType(
                *(built.plan.name, kind, link_group.medium, rate, per_cage, protocol, link_group.measured),
                patch=link_group.patch,
                fallback_length_m=link_group.fallback_length_m,
                others=link_group.others,
                fixed_length=link_group.fixed_length,
            )
        )
        order, piece = pieces(link_group.medium, below, above)
        count = len(piece)
        if order is not None:
            below, above = below.at(order), above.at(order)
        length = np.full(count, float(link_group.length_m))
        self.columns.append(
            (np.full(count, number, dtype=np.int16), *below.columns, *above.columns, piece + self.pieces, length)
        )
        self.pieces += int(piece[-1]) + 1 if count else 0


def _split_by_length(link_group: LinkGroup, above: End) -> Iterator[tuple[LinkGroup, Column]]:
    """Yield a group of links without its shorter ones, then these, each with its rows; none without rows."""
    upper_ends = number_places(above.device, above.cage, above.lane)
    rest = np.ones(len(upper_ends), dtype=bool)
    shorter = []
    for short in link_group.short:
        is_short = np.isin(upper_ends, short.places)
        rest &= ~is_short
        own_medium = link_group._replace(medium=short.medium, length_m=short.longest_m, measured=short.measured)
        shorter.append((own_medium, np.flatnonzero(is_short)))
    yield from (group_rows for group_rows in ((link_group, np.flatnonzero(rest)), *shorter) if len(group_rows[1]))


def number_places(device: Column, cage: Column, lane: Column) -> Column:
    """Return a number for every place of a plug: device, cage and lane."""
    return (device * MOST_CAGES + cage) * MOST_LANES + lane


def pieces(medium: Medium | None, below: End, above: End) -> tuple[Column | None, Column]:
    """Return the cable number of each link, and the order that puts links of one cable next to each other.

    A cable of several links begins at one plug, which is in the upper device unless a module below carries more. None
    for the order: unchanged, one cable per link.
    """
    cable = medium.cable if medium else None
    links_per_cable = int(cable.links.value) if cable else 1
    if links_per_cable == 1:
        return None, np.arange(len(below.device), dtype=np.int64)
    at = below if medium and medium.splits_at_lower_end else above
    order = np.lexsort((at.lane, at.cage, at.device))
    plug = np.stack((at.device, at.cage, at.lane // links_per_cable))[:, order]
    begins = np.concatenate(([0], np.any(plug[:, 1:] != plug[:, :-1], axis=0).astype(np.int64)))
    return order, np.cumsum(begins)


def _plugged(names: NumberedPorts, device: Column, port: Column, ports: NamedPorts) -> End:
    cage = np.array([socket.cage for socket in ports.sockets], dtype=np.int64)
    lane = np.array([socket.lane for socket in ports.sockets], dtype=np.int64)
    return End(device, names.of(ports.names)[port], cage[port], lane[port], ports.links_per_cage)


def _port_spread(built: BuiltFabric) -> PortSpread:
    if built.attachment is None:
        raise ValueError("nodes that are linked directly have no NICs")
    by_nic = built.plan.role == COMPUTE or built.plan.nic is not None
    ports = sum(int(host.pieces.value * host.ports.value) for host in built.hosts)
    per_server = int(built.attachment.ports_per_server.value)
    # Every NIC of a compute fabric is on every plane; in other fabrics every server is.
    per_nic = per_server // int(built.attachment.nics_per_server.value) if by_nic else per_server
    return PortSpread(per_server, per_nic, int(built.plan.planes.value), ports)


def _port_names(word: str, ports: int) -> list[str]:
    return [word] if ports == 1 else [f"{word}{port + 1}" for port in range(ports)]


def _nic_port_name(nic: int, port: int, ports: int) -> str:
    return f"nic{nic}" if ports == 1 else f"nic{nic}/{port + 1}"
