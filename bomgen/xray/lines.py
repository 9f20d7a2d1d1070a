"""The forward model, the parts that bomgen bills for a plan, and the lines of a bill by the fabric they may be for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.identity import identity
from bomgen.catalog.parts import ANY, Identity
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.document import group_by
from bomgen.core.jobs import OF_BILL_PLAN, spend
from bomgen.core.messages import Message, message
from bomgen.core.yaml_source import read
from bomgen.design.assembly import Design
from bomgen.fabric import types as fabric_types
from bomgen.fabric.types import SERVER, link_kinds, topology
from bomgen.optics.compatibility import RJ45, accepts, rules
from bomgen.plan.binding.bind import bind
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE
from bomgen.pricing.bill import Bill, bill
from bomgen.pricing.bill_line import Line
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.part_words import gpus_of
from bomgen.workflow.pipeline import design_cluster

Plan = dict[str, Any]
"""Data of a plan, or of a part of one."""
Designs = dict[str, tuple[Design, Bill] | None]
"""Designs and their bills by plan; None for a plan that cannot be built."""
NAME = "<x-ray>"
SERVER_LEAF, LEAF_SPINE, SPINE_CORE = (
    kind.name for kind in (fabric_types.SERVER_LEAF, fabric_types.LEAF_SPINE, fabric_types.SPINE_CORE)
)
COMPARED = ("server", "nic", "switch", "transceiver", "cable")
"""Categories whose counts follow from the fabrics."""


class PlacedPart(NamedTuple):
    """A part in one position of a design, with its pieces."""

    category: str
    kind: str
    id: str
    """Catalogue id; for a cable that of its family."""
    name: str
    fabric: str
    links: str
    tier: str
    pieces: int


def build_design(plan: Mapping[str, Any], catalog: Catalog) -> tuple[Design, Bill] | None:
    """Return the design and bill of a valid generated plan, without checks; None if it cannot be built.

    Raises TooMuch if the designs of a bill take more steps than its budget has.
    """
    spend(OF_BILL_PLAN)
    source = read(json.dumps(plan), NAME, trusted=True)
    try:
        designed = design_cluster(bind(source, catalog), catalog)
        return designed, bill(catalog, designed)
    except PlanErrors:
        return None


def list_slots(billed: Bill) -> Iterator[PlacedPart]:
    """Yield the pieces of each part in each position of a design, without spares."""
    for line in billed.lines:
        if line.category in COMPARED and line.required_by is None:
            yield slot_of(line)


def slot_of(line: Line) -> PlacedPart:
    """Return part and position of a line."""
    links, _, tier = (line.role or "").partition("/")
    if "-" not in links:
        links, tier = "", links
    identity: Identity | None = line.identity
    id = identity.id if identity else line.part or ""
    kind = identity.kind if identity else line.category
    return PlacedPart(
        line.category, kind, id, str(line.description), line.fabric or "", links, tier, int(line.quantity.value)
    )


BESIDE_COMPUTE = (STORAGE, IN_BAND, OUT_OF_BAND)
ROLES = (COMPUTE, *BESIDE_COMPUTE)
APPLIANCE = "appliance"
"""Kind of hosts that a plan names by part."""
MACHINES = (APPLIANCE, "storage")
"""Kinds of hosts other than GPU servers."""
MANAGEMENT_GBPS = 10
"""Highest rate of most ports of a management switch."""


class Servers(NamedTuple):
    """The servers of a candidate: their plan keys and number."""

    cluster: Mapping[str, Any]
    number: int
    nics: int
    gpus: int
    derived: bool = False
    """Whether their number was derived from lines other than that of the servers."""


class Scope(NamedTuple):
    """The lines that a fabric may consist of."""

    catalog: Catalog
    name: str
    role: str
    own: tuple[SentLine, ...]
    """Lines that state this fabric."""
    free: tuple[SentLine, ...]
    """Lines that state no fabric."""
    servers: tuple[SentLine, ...]
    others: tuple[SentLine, ...] = ()
    """Switches of other fabrics, which this one may also use if its own are missing."""
    hosts: tuple[SentLine, ...] = ()
    """Hosts without GPUs in the bill, such as management servers."""
    listed: frozenset[str] = frozenset()
    """Kinds of parts between hosts and switches that the bill lists per fabric."""
    shared: bool = False
    """Whether other networks may also use pieces of the free lines."""
    number: int | None = None
    """Number of servers of the other networks; None if unknown."""
    assumed: Servers | None = None
    """The servers that explain the compute network of a bill without a line of servers."""

    @property
    def lines(self) -> tuple[SentLine, ...]:
        """Return all lines that the fabric may consist of."""
        return (*self.own, *self.free)

    @property
    def is_linked(self) -> bool:
        """Return whether it has modules or cables."""
        return any(line.kind in ("transceiver", "cable") for line in self.lines)

    def of_kind(self, kind: str) -> list[SentLine]:
        """Return the lines of a kind of part."""
        return [line for line in self.lines if line.kind == kind]

    def modules(self, tier: str) -> list[SentLine]:
        """Return the lines of modules that are stated to be plugged in at a tier."""
        return [line for line in self.of_kind("transceiver") if line.place.tier == tier]

    def count_cables(self, links: str) -> int:
        """Return the links that the cables between two tiers carry."""
        return sum(line.links for line in self.own if line.kind == "cable" and line.place.links == links)

    def count_engines_at(self, links: str, tier: str) -> int:
        """Return the links that the modules at an end serve."""
        modules = (line for line in self.own if line.kind == "transceiver" and line.place.tier == tier)
        return sum(line.links for line in modules if line.place.links == links)

    def count_tiers(self) -> dict[str, int]:
        """Return the number of switches by stated tier."""
        switches = [line for line in self.own if line.kind == "switch" and line.place.tier and line.quantity]
        return {tier: sum_pieces(lines) for tier, lines in group_by(switches, lambda line: line.place.tier).items()}

    def count_links_below(self) -> Counter[int]:
        """Return the links to leaves by cables and by modules at either end, with the number of counts that agree."""
        cables = self.count_cables(SERVER_LEAF)
        at_server = self.count_engines_at(SERVER_LEAF, "server")
        if not at_server and not any(line.place.links for line in self.own):
            at_server = sum(line.links for line in self.list_modules_at_servers())
        at_leaf = self.count_engines_at(SERVER_LEAF, "leaf")
        return Counter(links for links in (cables, at_server, at_leaf) if links)

    def count_idle_ends(self) -> int:
        """Return the ends of breakout cables that may be unused, since each leaf has its own."""
        below = (line for line in self.own if line.kind == "cable" and line.place.links == SERVER_LEAF)
        ends = max((line.links_per_piece for line in below), default=1)
        return (ends - 1) * self.count_tiers().get("leaf", 0)

    def list_modules_at_servers(self) -> Iterator[SentLine]:
        """Yield the modules at servers: as stated, because they fit no switch, or as those beside twin-port ones."""
        cage_rules, twins = rules(self.catalog), find_twin_rates(self.lines)
        cages = {str(line.record.value("cage") or "any") for line in self.of_kind("switch")}
        for line in self.of_kind("transceiver"):
            plug = str(line.record.value("cage") or "any")
            fits = any(accepts(cage, plug, cage_rules) for cage in cages) and not is_single(line, twins)
            if line.quantity and (line.place.tier == "server" if line.place.tier else not fits):
                yield line


def find_twin_rates(lines: Iterable[SentLine]) -> set[int]:
    """Return the rates [Gb/s] of links that twin-port modules serve, if no line says where its modules are.

    Modules of one port at such a rate are then in NICs.
    """
    modules = [line for line in lines if line.kind == "transceiver"]
    placed = any(line.place.tier for line in modules)
    return set() if placed else {line.link_gbps for line in modules if line.links_per_piece > 1}


def is_single(line: SentLine, twin_rates: Collection[int]) -> bool:
    """Return whether a line is of modules of one port at a rate that twin-port modules serve, too."""
    return line.kind == "transceiver" and line.links_per_piece == 1 and line.link_gbps in twin_rates


def list_scopes(bill: SentBill) -> Iterator[tuple[Scope, str]]:
    """Yield the lines of each fabric that they state; one fabric of all lines if none do."""
    clusters = [cluster for cluster in dict.fromkeys(line.cluster for line in bill.lines) if cluster]
    lines = [part for line in bill.lines if line.quantity is not None for part in _split_over_clusters(line, clusters)]
    if "fabric" not in bill.columns:
        lines = _replace_by_plugs(lines)
    machines = [line for line in lines if _is_server(line)]
    parts = [line for line in lines if line not in machines]
    named = dict.fromkeys(
        (line.cluster, line.place.fabric)
        for line in parts
        if line.place.fabric and (line.kind in ("transceiver", "cable") or line.kinds == ("switch",))
    )
    bare = [line for line in parts if not (line.place.fabric or line.cluster) and line.kind in COMPARED]
    hosts = tuple(line for line in parts if _is_host(line))
    is_secondary = {fabric for _, fabric in named} <= {*BESIDE_COMPUTE}
    if not named or (is_secondary and any(line.kind == "switch" for line in bare)):
        # Lines that name no network are of compute, unless the bill names that.
        management = [line for line in bare if _is_rj45(line)]
        if management and not named:
            yield Scope(bill.catalog, OUT_OF_BAND, OUT_OF_BAND, tuple(management), (), tuple(machines)), ""
        network = tuple(line for line in bare if line not in management)
        yield Scope(bill.catalog, "", COMPUTE, network, (), tuple(machines), hosts=hosts), ""
    listed = frozenset(line.kind for line in parts if line.kind in ("transceiver", "cable") and line.place.fabric)
    by_fabric = group_by(parts, lambda line: (line.cluster, line.place.fabric))
    switches = [line for line in parts if line.kind == "switch"]
    unplaced = [line for line in parts if not line.place.fabric and line.kind in COMPARED]
    order = sorted(named, key=lambda name: (name[0], ROLES.index(name[1]) if name[1] in ROLES else 0))
    for cluster, of_cluster in groupby(order, key=itemgetter(0)):
        own_or_shared = (
            line if line.cluster == cluster else _share(line, len(clusters))
            for line in unplaced
            if line.cluster in (cluster, "")
        )
        free = tuple(line for line in own_or_shared if line)
        here = tuple(line for line in machines if line.cluster == cluster or not clusters or not line.cluster)
        hosts = tuple(line for line in parts if _is_host(line) and line.cluster in (cluster, ""))
        for name in of_cluster:
            fabric = name[1]
            role = fabric if fabric in ROLES else COMPUTE
            elsewhere = tuple(line for line in switches if (line.cluster, line.place.fabric) != name)
            own = [line.id for line in switches if (line.cluster, line.place.fabric) == name]
            stated = tuple(by_fabric[name])
            usable = tuple(line for line in free if not own or any(_serves(line, switch) for switch in own))
            if not any(line.kind == "transceiver" for line in (*stated, *usable)):
                usable = tuple(line for line in usable if line.kind != "cable" or not line.is_fibre)
            yield Scope(bill.catalog, fabric, role, stated, usable, here, elsewhere, hosts, listed), cluster


def _replace_by_plugs(lines: Sequence[SentLine]) -> list[SentLine]:
    """Return the lines with fabrics by their plugs.

    A cable that fits none of the switches of its fabric, but others, states no fabric. If no switch states one, each
    has that of the cables which fit it, and is for compute if none do.
    """
    switches = [line for line in lines if line.kind == "switch"]
    of_fabric = group_by(switches, lambda line: line.place.fabric)

    def fits(line: SentLine, switch_lines: Sequence[SentLine]) -> bool:
        return any(fits_switch(line, switch.id) for switch in switch_lines)

    def place(line: SentLine) -> str:
        fabric = line.place.fabric
        if line.kind == "cable" and fabric and not fits(line, of_fabric.get(fabric, switches)):
            return "" if fits(line, switches) else fabric
        if line.kind != "switch" or fabric or not stated or len(of_fabric) > 1:
            return fabric
        if _is_rj45(line):
            return OUT_OF_BAND
        return next((cable.place.fabric for cable in stated if fits(cable, [line])), COMPUTE)

    fixed = (line for line in lines if line.kind == "cable" and not line.is_fibre)
    stated = [line for line in fixed if line.place.fabric not in ("", OUT_OF_BAND)]
    fabrics = ((line, place(line)) for line in lines)
    return [
        line if fabric == line.place.fabric else line._replace(place=line.place._replace(fabric=fabric))
        for line, fabric in fabrics
    ]


def _serves(line: SentLine, switch: str) -> bool:
    """Return whether a module or cable may serve links of a switch: at most at its rate, and with a plug for it."""
    if line.kind == "transceiver":
        rate = line.link_gbps
    elif line.kind == "cable" and not line.is_fibre:
        rate = line.link_gbps
        if not fits_switch(line, switch):
            return False
    else:
        return True
    return rate <= port_gbps(switch, line.catalog)


def fits_switch(line: SentLine, switch: str) -> bool:
    """Return whether an end of a cable fits a port of a switch."""
    cage_rules, ports = rules(line.catalog), _list_ports(line.catalog.find_original("switch", switch))
    cages = {cage for _, cage, _ in ports} - {""} or {ANY}
    plugs = {str(line.record.value(end, "cage") or ANY) for end in ("a", "b")}
    return any(accepts(cage, plug, cage_rules) for cage in cages for plug in plugs)


def _list_ports(switch: Record) -> list[tuple[int, str, int]]:
    """Return number, cage and rate [Gb/s] of the ports of each group of a switch; 0 and empty if unknown."""
    numbers = range(len(switch.value("port_groups") or ()))
    groups: list[tuple[str | int, ...]] = [("port_groups", at) for at in numbers] or [()]
    values = ([switch.value(*group, key) for key in ("ports", "cage", "port_gbps")] for group in groups)
    return [(int(ports or 0), str(cage or ""), int(gbps or 0)) for ports, cage, gbps in values]


def _split_over_clusters(line: SentLine, clusters: Sequence[str]) -> list[SentLine]:
    """Return each cluster's share of a line of a network that every cluster has; other lines unchanged."""
    is_shared = line.place.fabric and not line.cluster and line.kind in COMPARED
    if is_shared and clusters and (shared := _share(line, len(clusters))):
        return [shared._replace(cluster=cluster) for cluster in clusters]
    return [line]


def _share(line: SentLine, clusters: int) -> SentLine | None:
    """Return the share of a line without cluster for one of several equal ones; None if it does not divide evenly."""
    pieces, rest = divmod(line.quantity or 0, clusters)
    spare = None if line.spare is None else line.spare // clusters
    return None if rest else line._replace(quantity=pieces, spare=spare)


def _is_server(line: SentLine) -> bool:
    """Return whether a line is of GPU servers, or may be, for an unrecognised part."""
    if kinds := {line.kind} - {""} or {kind for kind, _ in line.recognition.may_be}:
        return kinds == {"server"}
    return "server" in f"{line.part} {line.description}".lower() and line.place.tier != "host"


def _is_host(line: SentLine) -> bool:
    return line.place.tier == "host" or line.kind in MACHINES


def _is_rj45(line: SentLine) -> bool:
    if line.kind == "cable":
        return bool(line.record.value("a", "cage") == RJ45)
    is_switch = line.kind == "switch" and count_rj45_ports(line) > 0
    return is_switch and port_gbps(line.id, line.catalog) <= MANAGEMENT_GBPS


def count_rj45_ports(line: SentLine) -> int:
    """Return the number of RJ45 ports of a switch."""
    return sum(ports for ports, cage, _ in _list_ports(line.record) if cage == RJ45)


def port_gbps(switch: str, catalog: Catalog) -> int:
    """Return the rate [Gb/s] of most ports of a switch; 0 if unknown."""
    return max(_list_ports(catalog.find_original("switch", switch)))[2]


# line counts --------------------------------------------------------------------------------------------------------
# Counts of lines: links of cables, links that modules serve, switches per tier.


def kind_between(lower: str, upper: str, topology_name: str | None = None) -> str:
    """Return the name of the kind of link between two tiers, of any topology or of one."""
    kinds = topology(topology_name).link_kinds if topology_name else link_kinds().values()
    return next((kind.name for kind in kinds if kind.ends == (lower, upper)), "")


def joins_servers(lines: Iterable[SentLine]) -> bool:
    """Return whether some lines are the modules and cables between servers that no switch connects."""
    return any(line.place.links == kind_between(SERVER, SERVER) for line in lines)


def sum_pieces(lines: Iterable[SentLine]) -> int:
    """Return the pieces of some lines, without spares."""
    return sum(line.quantity or 0 for line in lines)


class CountedLinks(NamedTuple):
    """Links of a kind by their cables, or by their modules where no cables are listed."""

    kind: str
    """Kind of link, such as leaf-spine; empty if the lines do not state it."""
    links: int
    gbps: int
    """Rate of a link; 0 if unknown."""


class CountedNetwork(NamedTuple):
    """A network by the counts of its lines alone."""

    switches: tuple[tuple[str, int], ...]
    """Switches by stated tier, recognised or not."""
    links: tuple[CountedLinks, ...]


SHOWN_SERVERS = 3
"""Kinds of servers that the first sentence names."""


def count_network(lines: Sequence[SentLine]) -> CountedNetwork:
    """Return the switches of a network by tier and its links by kind, from quantities, words and roles."""
    switches = Counter[str]()
    for line in lines:
        if line.quantity and line.kinds == ("switch",):
            switches[line.place.tier or "switch"] += line.quantity
    twins = find_twin_rates(lines)
    linked = (line for line in lines if line.kind in ("transceiver", "cable") and line.quantity)
    by_kind = group_by(linked, lambda line: _links_of(line, twins))
    counted, unlit = list[CountedLinks](), 0
    for (kind, _), of_kind in sorted(by_kind.items(), key=lambda item: not item[0][0]):
        cables = sum(line.links for line in of_kind if line.kind == "cable")
        ends = Counter[str]()
        for line in of_kind:
            ends[line.place.tier] += line.links if line.kind == "transceiver" else 0
        if kind:
            links = cables or min(filter(None, ends.values()), default=0)
            unlit += 0 if cables else links  # their fibres are among those of no stated kind
        else:
            links = (cables and max(cables - unlit, 0)) or max(ends.total() - unlit, 0) // 2
        rates = {line.link_gbps for line in of_kind if line.kind == "transceiver" or not line.is_fibre}
        counted.append(CountedLinks(kind, links, rates.pop() if len(rates) == 1 else 0))
    return CountedNetwork(tuple(switches.items()), tuple(links for links in counted if links.links))


def _links_of(line: SentLine, twin_rates: Collection[int]) -> tuple[str, int]:
    """Return the kind of links that a line is of, and the rate [Gb/s] of cables with plugs."""
    at_server = line.place.tier == SERVER if line.place.tier else is_single(line, twin_rates)
    return line.place.links or (SERVER_LEAF if at_server else ""), line.link_gbps if line.kind == "cable" else 0


def summarise_servers(bill: SentBill) -> Iterator[Message]:
    """Yield the servers of a bill with their GPUs, most first; of rack-scale systems with their compute trays."""
    servers = [line for line in bill.lines if line.kind == "server" and line.quantity]
    for line in sorted(servers, key=lambda line: -(line.quantity or 0))[:SHOWN_SERVERS]:
        record = line.record
        pieces, name = line.quantity or 0, identity(record).name
        gpus, trays = pieces * gpus_of(record), int(record.value("trays") or 0)
        if trays:
            yield message("xray-has-racks", pieces=pieces, part=name, gpus=gpus, trays=pieces * trays)
        else:
            yield message("xray-has-servers", pieces=pieces, part=name, gpus=gpus)
