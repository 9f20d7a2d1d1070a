"""Which lines of a bill each fabric may be made of: those that say so, and those that do not say where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import ANY
from bomgen.optics.compatibility import accepts, rules
from bomgen.optics.types import RJ45
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE
from bomgen.reading.bills import SentBill, SentLine
from bomgen.workflow.xray.forward import COMPARED

ROLES = (COMPUTE, STORAGE, IN_BAND, OUT_OF_BAND)
APPLIANCE = "appliance"
"""The kind of machines that a plan names by their part."""
MACHINES = (APPLIANCE, "storage")
"""Kinds of machines besides servers with GPUs."""
MANAGEMENT_GBPS = 10
"""Most ports of a management switch have no higher rate."""


class Scope(NamedTuple):
    """The lines that a fabric may be made of."""

    name: str
    role: str
    own: tuple[SentLine, ...]
    """Those that say so."""
    free: tuple[SentLine, ...]
    """Those that do not say where they belong."""
    servers: tuple[SentLine, ...]
    """Lines of servers."""
    others: tuple[SentLine, ...] = ()
    """Switches of other fabrics: it may use the same where its own are missing."""
    hosts: tuple[SentLine, ...] = ()
    """Machines without GPUs that the bill lists, such as management servers."""
    listed: frozenset[str] = frozenset()
    """Kinds of parts between machines and switches that the bill lists fabric by fabric."""
    shared: bool = False
    """Whether other networks may have pieces of the free lines, too."""
    number: int | None = None
    """Servers of the other networks; None: not known."""

    @property
    def lines(self) -> tuple[SentLine, ...]:
        """All that it may be made of."""
        return (*self.own, *self.free)

    def of_kind(self, kind: str) -> list[SentLine]:
        """The lines of a kind of part."""
        return [line for line in self.lines if line.kind == kind]


def list_scopes(bill: SentBill, catalog: Catalog) -> Iterator[tuple[Scope, str]]:
    """The lines of each fabric: those that say so; where none does, one fabric of all lines."""
    clusters = [cluster for cluster in dict.fromkeys(line.cluster for line in bill.lines) if cluster]
    lines = [each for line in bill.lines if line.quantity is not None for each in _split_over_clusters(line, clusters)]
    if "fabric" not in bill.columns:
        lines = _replace_by_plugs(lines, catalog)
    machines = [line for line in lines if _is_server(line)]
    others = [line for line in lines if line not in machines]
    named = dict.fromkeys(
        (line.cluster, line.place.fabric)
        for line in others
        if line.place.fabric and line.kind in ("switch", "transceiver", "cable")
    )
    if not named:
        management = [line for line in others if line.kind in COMPARED and _is_rj45(line, catalog)]
        if management:
            yield Scope(OUT_OF_BAND, OUT_OF_BAND, tuple(management), (), tuple(machines)), ""
        own = [line for line in others if line.kind in COMPARED and line not in management]
        hosts = tuple(line for line in others if _is_host(line))
        yield Scope("", COMPUTE, tuple(own), (), tuple(machines), hosts=hosts), ""
        return
    listed = frozenset(line.kind for line in others if line.kind in ("transceiver", "cable") and line.place.fabric)
    order = sorted(named, key=lambda each: (each[0], ROLES.index(each[1]) if each[1] in ROLES else 0))
    for cluster, fabric in order:
        role = fabric if fabric in ROLES else COMPUTE
        own = [line for line in others if (line.cluster, line.place.fabric) == (cluster, fabric)]
        free = [
            shared
            for line in others
            if not line.place.fabric and line.cluster in (cluster, "") and line.kind in COMPARED
            if (shared := line if line.cluster == cluster else _share(line, len(clusters)))
        ]
        here = [line for line in machines if line.cluster == cluster or not clusters or not line.cluster]
        elsewhere = tuple(line for line in others if line.kind == "switch" and line not in own)
        hosts = tuple(line for line in others if _is_host(line) and line.cluster in (cluster, ""))
        yield Scope(fabric, role, tuple(own), tuple(free), tuple(here), elsewhere, hosts, listed), cluster


def _replace_by_plugs(lines: Sequence[SentLine], catalog: Catalog) -> list[SentLine]:
    """The lines, but cables that fit no switch of the fabric that their words say, and do fit others, say none."""
    known = rules(catalog)
    cages: dict[str, set[str]] = {}
    for line in lines:
        if line.kind == "switch":
            record = catalog.find_original("switch", line.id)
            groups = range(len(record.value("port_groups") or ()))
            forms = {record.value("cage"), *(record.value("port_groups", at, "cage") for at in groups)}
            cages.setdefault(line.place.fabric, set()).update(str(form or ANY) for form in forms)

    def fits(line: SentLine, fabric: str) -> bool:
        record = catalog.find_original("cable", line.id)
        plugs = {str(record.value(end, "cage") or ANY) for end in ("a", "b")}
        return any(accepts(cage, plug, known) for cage in cages.get(fabric, {ANY}) for plug in plugs)

    return [
        line._replace(place=line.place._replace(fabric=""))
        if line.kind == "cable" and not fits(line, line.place.fabric) and any(fits(line, other) for other in cages)
        else line
        for line in lines
    ]


def _split_over_clusters(line: SentLine, clusters: Sequence[str]) -> list[SentLine]:
    """A line of a network that every cluster has: the share of each; any other line as it is."""
    is_shared = line.place.fabric and not line.cluster and line.kind in COMPARED
    if is_shared and clusters and (shared := _share(line, len(clusters))):
        return [shared._replace(cluster=cluster) for cluster in clusters]
    return [line]


def _share(line: SentLine, clusters: int) -> SentLine | None:
    """The pieces of a line that names no cluster for one of several equal ones; None where they do not divide."""
    pieces, rest = divmod(line.quantity or 0, clusters)
    spare = None if line.spare is None else line.spare // clusters
    return None if rest else line._replace(quantity=pieces, spare=spare)


def _is_server(line: SentLine) -> bool:
    """Whether a line is of servers with GPUs, or may be: of a part that nobody knows."""
    if kinds := {line.kind} - {""} or {kind for kind, _ in line.recognition.may_be}:
        return kinds == {"server"}
    return "server" in f"{line.part} {line.description}".lower() and line.place.tier != "host"


def _is_host(line: SentLine) -> bool:
    """Whether a line is of machines without GPUs."""
    return line.place.tier == "host" or line.kind in MACHINES


def _is_rj45(line: SentLine, catalog: Catalog) -> bool:
    """Whether a line is of management cables, or of switches that have most of their ports for them."""
    if line.kind == "cable":
        return bool(catalog.find_original("cable", line.id).value("a", "cage") == RJ45)
    return (
        line.kind == "switch" and count_rj45_ports(line, catalog) > 0 and port_gbps(line.id, catalog) <= MANAGEMENT_GBPS
    )


def count_rj45_ports(line: SentLine, catalog: Catalog) -> int:
    """The RJ45 ports of a switch."""
    record = catalog.find_original("switch", line.id)
    groups = record.value("port_groups") or ()
    found = 0
    for at in range(len(groups)):
        if record.value("port_groups", at, "cage") == RJ45:
            found += int(record.value("port_groups", at, "ports") or 0)
    return found or (int(record.value("ports") or 0) if record.value("cage") == RJ45 else 0)


def port_gbps(switch: str, catalog: Catalog) -> int:
    """The rate [Gb/s] of most ports of a switch; 0 where the catalogue does not say it."""
    record = catalog.find_original("switch", switch)
    groups = [
        (int(record.value("port_groups", at, "ports") or 0), int(record.value("port_groups", at, "port_gbps") or 0))
        for at in range(len(record.value("port_groups") or ()))
    ]
    return max(groups)[1] if groups else int(record.value("port_gbps") or 0)
