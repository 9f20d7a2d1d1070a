"""Plans that may explain a fabric of a bill: what its lines say, in every combination that is usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import CableEnd
from bomgen.core.resources import folder
from bomgen.core.yaml_source import own
from bomgen.fabric import declaration
from bomgen.fabric.registry import link_kinds, topology
from bomgen.optics.compatibility import accepts
from bomgen.optics.compatibility_rules import rules
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE
from bomgen.reading.bills import ANY_SWITCH, SentLine

ROLES = (COMPUTE, STORAGE, IN_BAND, OUT_OF_BAND)
SERVER_LEAF = declaration.SERVER_LEAF.name
STRUCTURES, RAIL_PODS = "xray-structures.yaml", "rail_pods"
GPUS = 8
"""GPUs and NICs of a server that the bill does not name: those of the usual HGX board."""
USUAL_UNITS = (16, 20, 24, 32, 64, 72, 128)
"""Servers of the scalable units of published designs."""
LEAST_UNITS = 2
"""Fewer leaves on a rail need no spines."""
USUAL_RATIOS = ("1.5", "2", "3", "4")
MOST_PLANES = (2, 4, 8)
MOST_MEDIA = 6
USUAL_PORTS = (2, 1, 4)
"""Ports of a server on a network that is not its compute network, the most usual first."""
MOST_HOSTS = 4
"""Lines of machines without GPUs whose ports are tried in every combination."""
EVERY_MACHINE = (IN_BAND, OUT_OF_BAND)
"""Networks that connect all machines, those without GPUs among them."""
APPLIANCE = "appliance"
"""The kind of machines that a plan names by their part."""
MACHINES = (APPLIANCE, "storage")
"""Kinds of machines besides servers with GPUs."""
OTHERS = "other machines"
"""What a plan calls machines that the bill does not list."""
USUAL_RESERVED = 4
"""Ports that the SuperPOD keeps for fabric managers."""
MOST_NIC_GBPS = 400
"""Switches with faster ports join each other at a higher rate than NICs have."""
MOST_SERVERS = 2
"""Kinds of servers of which each is tried."""
SHARES_BELOW = (Fraction(1, 2), Fraction(2, 3), Fraction(1))
"""Links to servers among all of a network: with the ratio 1:1, with 2:1, and without spines."""
SERVER = "server"
"""The tier of the ends of links at servers."""
MOST_RESERVED = 64
"""More ports without a cable are no ports kept for fabric managers."""

Plan = dict[str, Any]


@cache
def leaf_spine() -> str:
    """The kind of link between leaves and spines."""
    return kind_between("leaf", "spine")


@cache
def spine_core() -> str:
    """The kind of link between spines and cores."""
    return kind_between("spine", "core")


class Servers(NamedTuple):
    """The servers of a candidate: what the plan says of them, and how many there are."""

    cluster: Mapping[str, Any]
    number: int
    nics: int
    gpus: int
    derived: bool = False
    """Whether their number follows from other lines than that of the servers."""


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


class Candidate(NamedTuple):
    """A plan to try."""

    cluster: Mapping[str, Any]
    fabric: Mapping[str, Any]
    servers: Servers
    given: int = 0
    """Counts of the bill that the plan fixes, and that explain nothing."""

    def plan(self, name: str) -> Plan:
        """The plan, with the fabric under a name."""
        return {"bomgen": 1, "name": "x-ray", "cluster": dict(self.cluster), "fabrics": {name: dict(self.fabric)}}


def list_servers(scope: Scope, catalog: Catalog) -> list[Servers]:
    """The servers that a bill may be about: those it lists, and those that its NICs and links are enough for."""
    listed = dict[str, int]()
    for line in scope.servers:
        if line.kind == SERVER and line.quantity:
            listed[line.id] = listed.get(line.id, 0) + line.quantity
    found = list[Servers]()
    ports = _endpoints(scope, catalog)
    for server, pieces in sorted(listed.items(), key=lambda each: -each[1])[:MOST_SERVERS]:
        record = catalog.find_original("server", server)
        trays = int(record.value("trays") or 1)
        nics = int(record.value("nics") or GPUS)
        gpus = int(record.value("gpus"))
        described = {"server": server}
        if record.value("gpu"):
            described["gpu"] = str(record.value("gpu"))
        count = scope.number or pieces * trays
        counts = [(count, False)]
        if scope.role == COMPUTE:
            counts += [(each // nics, True) for each in ports if each % nics == 0 and each != count * nics]
        found += [
            Servers({**described, "servers": each}, each, nics, gpus, derived) for each, derived in counts if each > 0
        ]
    if found:
        return found
    other = next((line for line in scope.servers if line.quantity and line.kind != "server"), None)
    if other and other.quantity:
        cards = [line for line in scope.of_kind("nic") if line.quantity and line.quantity % other.quantity == 0]
        pieces = max(((line.quantity or 0) // other.quantity for line in cards), default=GPUS)
        if scope.role != COMPUTE:
            pieces = GPUS
        inline = {"name": "server of the bill", "gpus": GPUS, "nics": pieces}
        return [_inline(inline, other.quantity, pieces)]
    twins = any(count_engines(line, catalog) > (line.quantity or 0) for line in _modules_at_servers(scope, catalog))
    unknown: Plan = {"name": "server of the bill", "gpus": GPUS, "nics": GPUS, "ports_per_cage": 2 if twins else 1}
    return [_inline(unknown, each // GPUS, GPUS, True) for each in ports if each % GPUS == 0]


def _inline(described: Plan, count: int, nics: int, derived: bool = False) -> Servers:
    """Servers that the catalogue does not have."""
    described = {**described, "port_gbps": MOST_NIC_GBPS}
    return Servers({"gpu": "h100-sxm", "server": described, "servers": count}, count, nics, GPUS, derived)


def _endpoints(scope: Scope, catalog: Catalog) -> list[int]:
    """Numbers of links to servers that the lines of cables, NICs and modules at servers imply."""
    cables = [
        count_links(line, catalog) for line in scope.lines if line.kind == "cable" and line.place.links == SERVER_LEAF
    ]
    found = [line.quantity for line in scope.lines if line.kind == "nic"]
    found += [count_engines(line, catalog) for line in _modules_at_servers(scope, catalog)]
    if not any((*found, *cables)):
        total = sum(count_links(line, catalog) for line in scope.lines if line.kind == "cable")
        found = [int(total * share) for share in SHARES_BELOW]
    return sorted({each for each in (*found, *cables, sum(cables)) if each})


def _modules_at_servers(scope: Scope, catalog: Catalog) -> Iterator[SentLine]:
    """Modules that are plugged in at servers, as their lines say, or as they fit no switch."""
    known = rules(catalog)
    cages = {str(catalog.find_original("switch", line.id).value("cage") or "any") for line in scope.of_kind("switch")}
    for line in scope.of_kind("transceiver"):
        plug = str(catalog.find_original("transceiver", line.id).value("cage") or "any")
        fits = any(accepts(cage, plug, known) for cage in cages)
        if line.quantity and (line.place.tier == SERVER if line.place.tier else not fits):
            yield line


def switches_of(scope: Scope) -> Iterator[Plan]:
    """The switches of a fabric, as a plan names them."""
    lines = sorted(scope.of_kind("switch"), key=lambda line: -(line.quantity or 0))
    own = [line for line in scope.own if line.kind == "switch"]
    tiers = {line.place.tier: line.id for line in own if line.place.tier}
    if tiers.get("leaf"):
        fabric: Plan = {"switch": tiers["leaf"]}
        for tier in ("spine", "core"):
            if tiers.get(tier) and tiers[tier] != tiers["leaf"]:
                fabric[tier] = {"switch": tiers[tier]}
        yield fabric
        return
    for id in dict.fromkeys(line.id for line in own or lines or scope.others):
        yield {"switch": id}


def links_of(scope: Scope, switch: str, catalog: Catalog) -> Iterator[Plan]:
    """What the modules and cables of a bill say of the links, as a plan does; nothing where it has none."""
    known = rules(catalog)
    cage = str(catalog.find_original("switch", switch).value("cage") or "any")
    modules = [line for line in scope.of_kind("transceiver") if line.quantity]
    at = {
        (links, tier): [line.id for line in modules if line.place.links in (links, "") and line.place.tier == tier]
        for links in (SERVER_LEAF, leaf_spine(), spine_core())
        for tier in ("server", "leaf", "spine", "core")
    }
    untold = [line for line in modules if line.place.tier in ("", ANY_SWITCH)]
    plugs = {line.id: str(catalog.find_original("transceiver", line.id).value("cage") or "any") for line in modules}
    # Where the line of one end is missing, a module of another end may be what is plugged in there, too.
    in_switch = [line.id for line in untold or modules if accepts(cage, plugs[line.id], known)]
    in_server = [
        line.id for line in untold if not line.place.tier and not accepts(cage, plugs[line.id], known)
    ] or in_switch
    if not untold:
        in_server = [line.id for line in modules if plugs[line.id] == "any"]
    ends = {
        SERVER_LEAF: (at[SERVER_LEAF, "server"] or in_server, at[SERVER_LEAF, "leaf"] or in_switch),
        leaf_spine(): (at[leaf_spine(), "leaf"] or in_switch, at[leaf_spine(), "spine"] or in_switch),
        spine_core(): (at[spine_core(), "spine"] or in_switch, at[spine_core(), "core"] or in_switch),
    }
    names = {SERVER_LEAF: ("server", "leaf"), leaf_spine(): ("leaf", "spine"), spine_core(): ("spine", "core")}
    options = dict[str, list[Plan]]()
    for links, (low, up) in ends.items():
        cables = [line for line in scope.of_kind("cable") if line.place.links in (links, "") and line.quantity]
        told = [line for line in cables if line.place.links == links] or cables
        options[links] = list(_link_options(low, up, told, names[links], catalog))[:MOST_MEDIA]
    if not any(options.values()):
        yield {}
        return
    chosen = [options[links] or [{}] for links in (SERVER_LEAF, leaf_spine())]
    core = options[spine_core()][:1] or [{}]
    for one, two, three in product(*chosen, core):
        yield {
            name: each
            for name, each in zip((SERVER_LEAF, leaf_spine(), spine_core()), (one, two, three), strict=True)
            if each
        }


def _link_options(
    low: Sequence[str], up: Sequence[str], cables: Sequence[SentLine], ends: tuple[str, str], catalog: Catalog
) -> Iterator[Plan]:
    """The ways to build one kind of link of the parts that a bill has."""
    fibres = dict[str, Fraction | None]()
    for line in cables:
        record = catalog.find_original("cable", line.id)
        length = line.recognition.named.length_m if line.recognition.named else None
        medium = str(record.value("kind"))
        if medium == "fibre":
            longest = max(length or Fraction(0), fibres.get(line.id) or Fraction(0))
            fibres[line.id] = longest or None
        elif medium not in ("trunk",):
            option: Plan = {"medium": medium, "module": line.id}
            yield {**option, **_length(length)}
    for one, two in dict.fromkeys(product(low or ("",), up or ("",))):
        if not one and not two:
            continue
        module: Any = one if one == two else {end: id for end, id in zip(ends, (one, two), strict=True) if id}
        for id, stocked in fibres.items():
            yield {"medium": "transceiver", "module": module, "fibre": id, **_length(stocked)}
        if not fibres:
            yield {"medium": "transceiver", "module": module}
        else:
            most = max((each for each in fibres.values() if each), default=None)
            yield {"medium": "transceiver", "module": module, **_length(most)}


def _length(length: Fraction | None) -> Plan:
    return {"length": f"{float(length):g} m"} if length else {}


def usual_structures(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """What a plan usually says of the topology, and how many counts of the bill that only repeats: none."""
    for shape, (extra, given), rate in product(
        _shapes_of(scope, servers, switch), _extras(scope, servers, catalog), _rates(scope, switch, catalog)
    ):
        yield merge(shape, extra, rate), given


def rarer_structures(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """Topologies with a ratio or with planes."""
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = _extras(scope, servers, catalog), _rates(scope, switch, catalog)
    # Every ratio comes before what is besides the servers: only so many designs are built.
    for (extra, given), rate, ratio, shape in product(extras, rates, _ratios(scope, catalog), shapes):
        yield merge(shape, {"oversubscription": ratio}, extra, rate), given
    for pods in _rail_pods(scope, servers, switch, catalog):
        yield pods, 0
    if scope.role == COMPUTE:
        for planes, shape in product(MOST_PLANES, shapes):
            yield merge(shape, {"planes": planes}), 0


def _rail_pods(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[Plan]:
    """Spines of its own for each rail, with half of their ports left for cores that join units later."""
    leaves = _tier_counts(scope).get("leaf", 0)
    units, rest = divmod(leaves, servers.nics)
    ports = int(catalog.find_original("switch", switch["switch"]).value("ports") or 0)
    if scope.role != COMPUTE or units < LEAST_UNITS or rest or not ports:
        return
    each = -(-servers.number // units)
    yield {
        **_structures()[RAIL_PODS],
        "scalable_unit": {"servers": each},
        "leaf": {"downlinks": each, "uplinks": each},
        "spine": {"downlinks": ports // 2},
        "pod": {"leaves": units},
    }


def fixed_structures(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """Topologies that repeat counts of switches and links of the bill."""
    counts = _tier_counts(scope)
    leaves, spines = counts.get("leaf"), counts.get("spine")
    if not leaves:
        return
    up = _cables(scope, leaf_spine(), catalog)
    below: Plan = {"uplinks": up // leaves} if spines and up and up % leaves == 0 else {}
    shapes = _shapes_of(scope, servers, switch)
    for shape, (extra, given), rate in product(
        shapes, _extras(scope, servers, catalog), _rates(scope, switch, catalog)
    ):
        ports = servers.nics if scope.role == COMPUTE else int(extra.get("ports_per_server", 0))
        others = sum(int(each["count"]) for each in extra.get("hosts", ()))
        down = -(-(servers.number * ports + others) // leaves)
        for fixed in ({"downlinks": down, **below}, below) if down else (below,):
            tiers: Plan = {"tiers": 2, "spine": {"count": spines}} if spines else {}
            yield merge(shape, {"leaf": fixed} if fixed else {}, tiers, extra, rate), 1 + given
            if spines:
                yield merge(shape, {"leaf": fixed} if fixed else {}, {"tiers": 2}, extra, rate), 1 + given


def lumped_structures(scope: Scope, servers: Servers, _: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """Leaves and spines of a bill that has all switches of a fabric on one line, and all its fibres on another.

    For networks beside the compute fabric, whose leaves and spines are in no rule's proportion.
    """
    total = sum(line.quantity or 0 for line in scope.own if line.kind == "switch")
    fibres = sum(count_links(line, catalog) for line in scope.own if line.kind == "cable" and is_fibre(line, catalog))
    if scope.role == COMPUTE or _tier_counts(scope) or not fibres:
        return
    for extra, given in _extras(scope, servers, catalog):
        ports = int(extra.get("ports_per_server", 0))
        hosts = extra.get("hosts", ())
        others = sum(each["count"] * each["ports"] for each in hosts if "nic" not in each)
        on_splitters = sum(each["count"] * each["ports"] for each in hosts if "nic" in each)
        below = servers.number * ports + others
        for leaves in range(2, total) if ports else ():
            up, rest = divmod(fibres - below, leaves)
            if up > 0 and not rest and up % (total - leaves) == 0:
                down = -(-(below + on_splitters) // leaves)
                tiers = {"leaf": {"downlinks": down, "uplinks": up}, "spine": {"count": total - leaves}}
                for homing in ({"homing": "single"}, {}):
                    yield merge({"tiers": 2}, homing, tiers, extra), 1 + given


STAGES = (usual_structures, lumped_structures, rarer_structures, fixed_structures)
"""Structures in the order that they are tried in: where one explains everything, those of the next are not tried."""


def _rates(scope: Scope, switch: Plan, catalog: Catalog) -> list[Plan]:
    """Links between switches at the rate of those below, or as fast as the switch has ports."""
    speed = port_gbps(switch["switch"], catalog)
    if speed <= MOST_NIC_GBPS:
        return [{}]
    # Between the links to servers and the fastest there is one rate, of networks whose servers have slower ports.
    rates = (speed,) if scope.role == COMPUTE else (speed // 2, speed)
    return [{}, *({"links": {leaf_spine(): {"rate": f"{rate}G"}}} for rate in rates)]


def port_gbps(switch: str, catalog: Catalog) -> int:
    """The rate [Gb/s] of most ports of a switch; 0 where the catalogue does not say it."""
    record = catalog.find_original("switch", switch)
    groups = [
        (int(record.value("port_groups", at, "ports") or 0), int(record.value("port_groups", at, "port_gbps") or 0))
        for at in range(len(record.value("port_groups") or ()))
    ]
    return max(groups)[1] if groups else int(record.value("port_gbps") or 0)


def _shapes_of(scope: Scope, servers: Servers, switch: Plan) -> list[Plan]:
    counts = _tier_counts(scope)
    total = sum(line.quantity or 0 for line in scope.of_kind("switch") if line.id == switch["switch"])
    return list(_shapes(scope, servers, counts.get("leaf"), counts.get("spine"), total))


def _shapes(scope: Scope, servers: Servers, leaves: int | None, spines: int | None, total: int) -> Iterator[Plan]:
    """Topologies with their units."""
    flat = spines is None and total > 1
    for each in _structures()[scope.role]:
        when = each.get("when")
        if (when == "single" and total != 1) or (when == "flat" and not flat):
            continue
        yield dict(each["fabric"])
        for unit in _units(servers, leaves) if each.get("units") else ():
            yield {**each["fabric"], "scalable_unit": {"servers": unit}}


@cache
def _structures() -> Mapping[str, Any]:
    """The structures to try by role, as the data file has them."""
    data: Mapping[str, Any] = own(folder("data") / STRUCTURES, STRUCTURES).data
    return data


def kind_between(lower: str, upper: str, topology_name: str | None = None) -> str:
    """The name of the kind of link between two tiers, of any topology or of one."""
    kinds = topology(topology_name).link_kinds if topology_name else link_kinds().values()
    return next((kind.name for kind in kinds if kind.ends == (lower, upper)), "")


def _units(servers: Servers, leaves: int | None) -> list[int]:
    """Sizes of scalable units that give so many leaves, and the usual ones."""
    found = list[int]()
    if leaves:
        for rails in (each for each in range(1, servers.nics + 1) if servers.nics % each == 0):
            units, rest = divmod(leaves * rails, servers.nics)
            if not rest and 1 < units <= servers.number:
                found.append(-(-servers.number // units))
    return sorted(set(found)) or [unit for unit in USUAL_UNITS if unit < servers.number]


def _tier_counts(scope: Scope) -> dict[str, int]:
    """Switches by the tier that their lines say."""
    found = dict[str, int]()
    for line in scope.own:
        if line.kind == "switch" and line.place.tier and line.quantity:
            found[line.place.tier] = found.get(line.place.tier, 0) + line.quantity
    return found


def _cables(scope: Scope, links: str, catalog: Catalog) -> int:
    """Links that the cables between two tiers carry."""
    return sum(count_links(line, catalog) for line in scope.own if line.kind == "cable" and line.place.links == links)


def count_links(line: SentLine, catalog: Catalog) -> int:
    """Links that the pieces of a line of cables carry."""
    return (line.quantity or 0) * _links_per_piece(line, catalog)


def _links_per_piece(line: SentLine, catalog: Catalog) -> int:
    """Links that a cable carries: a splitter carries several."""
    return int(part_records.cable(catalog.find_original("cable", line.id), catalog).links.value)


def _extras(scope: Scope, servers: Servers, catalog: Catalog) -> list[tuple[Plan, int]]:
    """Machines and ports besides those of the servers: as many as the links to leaves leave over.

    Each with how many counts of the bill it only repeats: one where a single count tells of machines without a line.
    """
    inline = isinstance(servers.cluster.get("server"), dict)
    below = _links_below(scope, catalog)
    splitters = _hosts_on_splitters(scope, catalog)
    on_splitters = [({"hosts": splitters, "ports_per_server": ports}, 1) for ports in USUAL_PORTS if splitters]
    if scope.role != COMPUTE and (scope.shared or not below):
        every = [*_every_port(scope), *(_every_machine(scope, servers) if inline else ())]
        return [*(() if inline else [({}, 0)]), *((each, 0) for each in every), *on_splitters]
    found: list[tuple[Plan, int]] = [({}, 0)]
    listed = False
    if scope.role != COMPUTE and inline:
        found = [({"ports_per_server": ports}, 0) for ports in (2, 1)]
        found += [(each, 0) for each in _every_machine(scope, servers)]
    idle = _idle_ends(scope, catalog)
    for links, told in below.items():
        for ports in USUAL_PORTS if scope.role != COMPUTE and servers.number else (servers.nics,):
            more = links - servers.number * ports
            own: Plan = {"ports_per_server": ports} if scope.role != COMPUTE else {}
            if more > 0 and (hosts := _listed_hosts(scope, range(more, max(more - idle, 0) - 1, -1))):
                found.append(({"hosts": hosts, **own}, 0))
                listed = True
            elif more > 0:
                others = [{"name": OTHERS, "count": more, "ports": 1}]
                found.append(({"hosts": others, **own}, 1 if told == 1 else 0))
            elif more == 0 and own:
                found.append((own, 0))
    found += on_splitters
    if scope.role != COMPUTE and below and not any(each and "hosts" not in each for each, _ in found):
        # No count of links is that of the servers alone: it may be the count that is wrong.
        found[1:1] = [({"ports_per_server": ports}, 0) for ports in USUAL_PORTS]
    if listed:  # the machines that the bill lists are what is there besides its servers
        found = [(each, given) for each, given in found if each.get("hosts", [{}])[0].get("name") != OTHERS]
    links = _cables(scope, SERVER_LEAF, catalog)
    ends = sum(
        (line.quantity or 0) * 2
        for line in scope.own
        if line.kind == "transceiver" and (line.place.links, line.place.tier) == (SERVER_LEAF, "leaf")
    )
    if scope.role == COMPUTE:
        if links and 0 < ends - links <= MOST_RESERVED:
            found.append(({"reserved_ports": ends - links}, 0))
        elif not links:
            found.append(({"reserved_ports": USUAL_RESERVED}, 0))
    return found


def _every_port(scope: Scope) -> Iterator[Plan]:
    """Usual numbers of ports of the servers, alone and with the other machines of the bill."""
    for ports in USUAL_PORTS:
        yield {"ports_per_server": ports}
        for each in USUAL_PORTS if scope.hosts else ():
            yield {"ports_per_server": ports, "hosts": _describe_hosts(scope.hosts, [each] * len(scope.hosts))}


def _every_machine(scope: Scope, servers: Servers) -> Iterator[Plan]:
    """All machines of the bill on a network that connects every machine, each with as many ports."""
    if scope.role not in EVERY_MACHINE or len(scope.servers) < 2:
        return
    others = [line.quantity for line in (*scope.servers, *scope.hosts) if line.quantity]
    others.remove(servers.number)
    for ports in USUAL_PORTS:
        hosts = [{"name": f"machines {at}", "count": count, "ports": ports} for at, count in enumerate(others, 1)]
        yield {"ports_per_server": ports, "hosts": hosts}


def _hosts_on_splitters(scope: Scope, catalog: Catalog) -> list[Plan]:
    """Machines with slower ports than the switches, at the far ends of cables that split a port."""
    if scope.role == COMPUTE or not any(_far_ends(line, catalog) for line in scope.own):
        return []
    found = list[Plan]()
    for line in scope.lines:
        if line.quantity and (ends := _far_ends(line, catalog)):
            gbps = catalog.find_original("cable", line.id).value("link_gbps")
            nic = {"ports": ends.ends, "port_gbps": int(gbps), "cage": ends.cage}
            found.append({"name": f"machines {line.mark.line}", "count": line.quantity, "ports": ends.ends, "nic": nic})
    return found


def _far_ends(line: SentLine, catalog: Catalog) -> CableEnd | None:
    """The far ends of a cable that splits a port; None for any other part."""
    if line.kind != "cable":
        return None
    cable = part_records.cable(catalog.find_original("cable", line.id), catalog)
    return cable.b if cable.medium != "fibre" and cable.b and cable.b.ends > 1 else None


def is_fibre(line: SentLine, catalog: Catalog) -> bool:
    """Whether a line of cables is one of fibres between modules."""
    return str(catalog.find_original("cable", line.id).value("kind")) == "fibre"


def _idle_ends(scope: Scope, catalog: Catalog) -> int:
    """Ends of splitters that may have no link, since each leaf has splitters of its own."""
    below = (line for line in scope.own if line.kind == "cable" and line.place.links == SERVER_LEAF)
    ends = max((_links_per_piece(line, catalog) for line in below), default=1)
    return (ends - 1) * _tier_counts(scope).get("leaf", 0)


def _listed_hosts(scope: Scope, ports: Iterable[int]) -> list[Plan]:
    """The machines of the bill besides its servers, with as many ports each as come to one of `ports`; else none."""
    lines = [line for line in scope.hosts if line.quantity][:MOST_HOSTS]
    choices = list(product(USUAL_PORTS, repeat=len(lines))) if lines else []
    for wanted in ports:
        for each in choices:
            if sum((line.quantity or 0) * own for line, own in zip(lines, each, strict=True)) == wanted:
                return _describe_hosts(lines, each)
    return []


def _describe_hosts(lines: Sequence[SentLine], ports: Sequence[int]) -> list[Plan]:
    """Machines besides the servers as a plan has them, each with so many ports."""
    return [
        {"name": f"machines {at}", "count": line.quantity, "ports": own}
        | ({"part": line.id} if line.kind == APPLIANCE else {})
        for at, (line, own) in enumerate(zip(lines, ports, strict=True), 1)
    ]


def _links_below(scope: Scope, catalog: Catalog) -> Counter[int]:
    """Links to leaves, as cables and the modules at either end tell them, each with how many of the three do."""
    cables = _cables(scope, SERVER_LEAF, catalog)
    at_server = _engines(scope, SERVER_LEAF, SERVER, catalog)
    if not at_server and not any(line.place.links for line in scope.own):
        at_server = sum(count_engines(line, catalog) for line in _modules_at_servers(scope, catalog))
    at_leaf = _engines(scope, SERVER_LEAF, "leaf", catalog)
    return Counter(each for each in (cables, at_server, at_leaf) if each)


def _engines(scope: Scope, links: str, tier: str, catalog: Catalog) -> int:
    """Links that the modules at an end serve."""
    found = 0
    for line in scope.own:
        if line.kind == "transceiver" and (line.place.links, line.place.tier) == (links, tier):
            found += count_engines(line, catalog)
    return found


def count_engines(line: SentLine, catalog: Catalog) -> int:
    """Links that the modules of a line serve."""
    return (line.quantity or 0) * int(catalog.find_original("transceiver", line.id).value("ports") or 1)


def _ratios(scope: Scope, catalog: Catalog) -> list[str]:
    """Ratios of links down to links up that the bill shows, round ones first as plans give them, and the usual ones."""
    found = dict[str, None]()
    pairs = (
        (_cables(scope, SERVER_LEAF, catalog), _cables(scope, leaf_spine(), catalog)),
        (_engines(scope, SERVER_LEAF, "leaf", catalog), _engines(scope, leaf_spine(), "leaf", catalog)),
    )
    for down, up in pairs:
        ratio = Fraction(down, up) if down and up else Fraction(0)
        if ratio > 1:
            found[f"{float(ratio):.6g}"] = None
            found[str(-(-ratio.numerator // ratio.denominator))] = None
    return [*sorted(found, key=len), *(each for each in USUAL_RATIOS if each not in found)]


def merge(*plans: Plan) -> Plan:
    """Mappings laid over each other."""
    found: Plan = {}
    for plan in plans:
        for key, value in plan.items():
            below = found.get(key)
            found[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found
