"""Candidate plans for a fabric of a bill: its servers and other hosts, its switches, links, and common combinations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Record
from bomgen.catalog.parts import GENERIC, CableEnd
from bomgen.core.yaml_source import read_data
from bomgen.optics.compatibility import accepts, rules
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND
from bomgen.reading.bills import SentLine
from bomgen.xray.lines import (
    APPLIANCE,
    LEAF_SPINE,
    SERVER_LEAF,
    SPINE_CORE,
    Plan,
    Scope,
    Servers,
    find_twin_rates,
    fits_switch,
    is_single,
    port_gbps,
    sum_pieces,
)

GPUS = 8
"""GPUs and NICs of a server that the bill does not name, as on the usual HGX board."""
MOST_NIC_GBPS = 400
"""Port rate of switches above which links between switches are faster than NICs."""
MOST_SERVERS = 2
_WORD = re.compile(r"[a-z]+[0-9]+")
_PLANE = re.compile(r"\bplanes?\b|平面")
SHARES_BELOW = (Fraction(1, 2), Fraction(2, 3), Fraction(1))
"""Share of a network's links that lead to servers: with 1:1, with 2:1, and without spines."""


def list_servers(scope: Scope) -> list[Servers]:
    """Return the servers that a bill may be for: listed ones, or numbers for which NICs and links are enough."""
    listed = Counter[str]()
    for line in scope.servers:
        if line.kind == "server" and line.quantity:
            listed[line.id] += line.quantity
    machines = list[Servers]()
    ports = _endpoints(scope)
    for server, pieces in sorted(listed.items(), key=lambda listing: -listing[1])[:MOST_SERVERS]:
        record = scope.catalog.find_original("server", server)
        trays = int(record.value("trays") or 1)
        nics = int(record.value("nics") or GPUS)
        gpus = int(record.value("gpus"))
        described = {"server": server}
        if record.value("gpu"):
            described["gpu"] = str(record.value("gpu"))
        count = scope.number or pieces * trays
        counts = [(count, False)]
        if scope.role == COMPUTE:
            counts += [(port // nics, True) for port in ports if port % nics == 0 and port != count * nics]
        machines += [
            Servers({**described, "servers": size}, size, nics, gpus, derived) for size, derived in counts if size > 0
        ]
    if machines:
        return machines
    if scope.assumed:
        return [scope.assumed]
    host = next((line for line in scope.servers if line.quantity and line.kind != "server"), None)
    if host and host.quantity:
        cards = [line for line in scope.of_kind("nic") if line.quantity and line.quantity % host.quantity == 0]
        pieces = max(((line.quantity or 0) // host.quantity for line in cards), default=GPUS)
        if scope.role != COMPUTE:
            pieces = GPUS
        inline = {"name": "server of the bill", "gpus": GPUS, "nics": pieces}
        return [_inline(inline, host.quantity, pieces)]
    twins = any(line.links > (line.quantity or 0) for line in scope.list_modules_at_servers())
    if scope.role == COMPUTE and (named := _named_server(scope)):
        nics = int(named.value("nics") or GPUS)
        cluster = {"server": named.id, "gpu": str(named.value("gpu"))}
        sizes = [port // nics for port in ports if port % nics == 0]
        machines = [Servers({**cluster, "servers": size}, size, nics, int(named.value("gpus")), True) for size in sizes]
    if machines:
        return machines
    unknown: Plan = {"name": "server of the bill", "gpus": GPUS, "nics": GPUS, "ports_per_cage": 2 if twins else 1}
    gbps = max((line.link_gbps for line in scope.list_modules_at_servers()), default=0)
    return [_inline(unknown, port // GPUS, GPUS, True, gbps) for port in ports if port % GPUS == 0]


def _named_server(scope: Scope) -> Record | None:
    """Return the usual server for the GPUs that lines name beside their part, as in `for the NICs of B300`."""
    words = {word for line in scope.lines for word in _WORD.findall(f"{line.description} {line.notes}".lower())}
    generic = (server for server in scope.catalog.all("server") if server.data.get("vendor") == GENERIC)
    named = [server for server in generic if str(server.value("gpu")).partition("-")[0] in words]
    return named[0] if len(named) == 1 else None


def _inline(described: Plan, count: int, nics: int, derived: bool = False, gbps: int = 0) -> Servers:
    described = {**described, "port_gbps": max(gbps, MOST_NIC_GBPS)}
    return Servers({"gpu": "h100-sxm", "server": described, "servers": count}, count, nics, GPUS, derived)


def _endpoints(scope: Scope) -> list[int]:
    all_cables = scope.of_kind("cable")
    cables = [line.links for line in all_cables if line.place.links == SERVER_LEAF]
    counts = [line.quantity for line in scope.of_kind("nic")]
    at_servers = [*scope.list_modules_at_servers()]
    counts += [line.quantity for line in at_servers]  # a module may serve a NIC of two ports
    counts += [line.links for line in at_servers]
    if not any((*counts, *cables)):
        total = sum(line.links for line in all_cables)
        counts = [int(total * share) for share in SHARES_BELOW]
    return sorted({count for count in (*counts, *cables, sum(cables)) if count})


# hosts --------------------------------------------------------------------------------------------------------------
# Hosts and ports of a fabric in addition to those of the compute network's servers.

USUAL_PORTS = (2, 1, 4)
"""Ports per server on networks other than the compute network, most common first."""
MOST_HOSTS = 4
"""Maximum number of host lines whose ports are tried in every combination."""
EVERY_MACHINE = (IN_BAND, OUT_OF_BAND)
"""Networks that connect all hosts, including those without GPUs."""
OTHERS = "other machines"
"""Name in a plan for hosts that the bill does not list."""
USUAL_RESERVED = 4
"""Ports reserved for fabric managers in the SuperPOD."""
MOST_RESERVED = 8
"""Maximum number of uncabled ports taken as reserved for fabric managers; published designs have four."""


def list_extras(scope: Scope, servers: Servers) -> list[tuple[Plan, int]]:
    """Return hosts and ports besides the servers', and the number of bill counts that each only repeats."""
    inline = isinstance(servers.cluster.get("server"), dict)
    below = scope.count_links_below()
    splitters = _hosts_on_splitters(scope)
    on_splitters = [({"hosts": splitters, "ports_per_server": ports}, 1) for ports in USUAL_PORTS if splitters]
    if scope.role != COMPUTE and (scope.shared or not below):
        every = [*_every_port(scope, servers), *(_every_machine(scope, servers) if inline else ())]
        return [*(() if inline else [({}, 0)]), *((extra, 0) for extra in every), *on_splitters]
    extras: list[tuple[Plan, int]] = [({}, 0)]
    listed = False
    if scope.role != COMPUTE and inline:
        extras = [({"ports_per_server": ports}, 0) for ports in (2, 1)]
        extras += [(extra, 0) for extra in _every_machine(scope, servers)]
    idle = scope.count_idle_ends()
    for links, witnesses in below.items():
        for ports in USUAL_PORTS if scope.role != COMPUTE and servers.number else (servers.nics,):
            more = links - servers.number * ports
            plan_ports: Plan = {"ports_per_server": ports} if scope.role != COMPUTE else {}
            if more > 0 and (hosts := _listed_hosts(scope, range(max(more - idle, 0), more + 1))):
                extras.append(({"hosts": hosts, **plan_ports}, 0))
                listed = True
            elif more > 0:
                more_hosts = [{"name": OTHERS, "count": more, "ports": 1}]
                extras.append(({"hosts": more_hosts, **plan_ports}, 1 if witnesses == 1 else 0))
            elif more == 0 and plan_ports:
                extras.append((plan_ports, 0))
    extras += on_splitters
    if scope.role != COMPUTE and below and not any(extra and "hosts" not in extra for extra, _ in extras):
        # No count of links equals the servers' alone: the count may be wrong.
        extras[1:1] = [({"ports_per_server": ports}, 0) for ports in USUAL_PORTS]
    if listed:  # the hosts that the bill lists are the ones in addition to its servers
        extras = [(extra, guesses) for extra, guesses in extras if extra.get("hosts", [{}])[0].get("name") != OTHERS]
    links = scope.count_cables(SERVER_LEAF)
    modules = (line for line in scope.own if line.kind == "transceiver" and line.place.tier == "leaf")
    ends = 2 * sum_pieces(line for line in modules if line.place.links == SERVER_LEAF)
    if scope.role == COMPUTE:
        if links and 0 < ends - links <= MOST_RESERVED:
            extras.append(({"reserved_ports": ends - links}, 0))
        elif not links:
            extras.append(({"reserved_ports": USUAL_RESERVED}, 0))
    return extras


def _every_port(scope: Scope, servers: Servers) -> Iterator[Plan]:
    """Yield common numbers of ports per server, alone and with other hosts, listed or as many as modules remain."""
    ends = sum(line.links for line in scope.list_modules_at_servers())
    cables = Counter[str]()
    for line in scope.own if not ends else ():
        if line.kind == "cable" and not line.is_fibre:
            cables[line.id] += line.links
    ends = ends or max(cables.values(), default=0)
    for ports in USUAL_PORTS:
        yield {"ports_per_server": ports}
        if (more := ends - servers.number * ports) > 0 and (scope.shared or cables):
            yield {"ports_per_server": ports, "hosts": [{"name": OTHERS, "count": more, "ports": 1}]}
        for of_host in USUAL_PORTS if scope.hosts else ():
            yield {"ports_per_server": ports, "hosts": _describe_hosts(scope.hosts, [of_host] * len(scope.hosts))}


def _every_machine(scope: Scope, servers: Servers) -> Iterator[Plan]:
    """Yield all hosts of the bill on a network that connects every host, each with the same number of ports."""
    if scope.role not in EVERY_MACHINE or len(scope.servers) < 2:
        return
    counts = [line.quantity for line in (*scope.servers, *scope.hosts) if line.quantity]
    if servers.number not in counts:
        return
    counts.remove(servers.number)
    for ports in USUAL_PORTS:
        hosts = [{"name": f"machines {at}", "count": count, "ports": ports} for at, count in enumerate(counts, 1)]
        yield {"ports_per_server": ports, "hosts": hosts}


def _hosts_on_splitters(scope: Scope) -> list[Plan]:
    """Return hosts with slower ports than the switches, at the far ends of breakout cables."""
    if scope.role == COMPUTE or not any(_far_ends(line) for line in scope.own):
        return []
    hosts = list[Plan]()
    for line in scope.lines:
        if line.quantity and (ends := _far_ends(line)):
            gbps = line.record.value("link_gbps")
            nic = {"ports": ends.ends, "port_gbps": int(gbps), "cage": ends.cage}
            hosts.append({"name": f"machines {line.mark.line}", "count": line.quantity, "ports": ends.ends, "nic": nic})
    return hosts


def _far_ends(line: SentLine) -> CableEnd | None:
    if line.kind != "cable":
        return None
    cable = part_records.cable(line.record, line.catalog)
    return cable.b if cable.medium != "fibre" and cable.b and cable.b.ends > 1 else None


def _listed_hosts(scope: Scope, ports: range) -> list[Plan]:
    """Return the bill's hosts other than servers, with ports that add up to the most of `ports`; empty if none do."""
    lines = [line for line in scope.hosts if line.quantity][:MOST_HOSTS]
    totals = dict[int, tuple[int, ...]]()
    for choice in product(USUAL_PORTS, repeat=len(lines)) if lines else ():
        total = sum((line.quantity or 0) * of_line for line, of_line in zip(lines, choice, strict=True))
        if total in ports:
            totals.setdefault(total, choice)
    return _describe_hosts(lines, totals[max(totals)]) if totals else []


def _describe_hosts(lines: Sequence[SentLine], ports: Sequence[int]) -> list[Plan]:
    return [
        {"name": f"machines {at}", "count": line.quantity, "ports": of_line}
        | ({"part": line.id} if line.kind == APPLIANCE else {})
        for at, (line, of_line) in enumerate(zip(lines, ports, strict=True), 1)
    ]


STRUCTURES, RAIL_PODS, LINKED_PAIR, SPREAD = "xray-structures.yaml", "rail_pods", "linked_pair", "spread"
USUAL_UNITS = (16, 20, 24, 32, 64, 72, 128)
"""Servers per scalable unit in published designs."""
LEAST_UNITS = 2
"""Minimum number of leaves per rail that need spines."""
USUAL_RATIOS = ("1.5", "2", "3", "4")
MOST_PLANES = (2, 4, 8)
MOST_LUMPED = 1000
"""Leaves among switches on one line up to which every number is tried."""
PAIR, MOST_PEER_LINKS = 2, 64
"""Switches of a pair, and the most links between them."""


class CandidatePlan(NamedTuple):
    """A plan to try."""

    cluster: Mapping[str, Any]
    fabric: Mapping[str, Any]
    servers: Servers
    given: int = 0
    """Number of bill counts that the plan sets, and that it therefore does not explain."""

    def plan(self, name: str) -> Plan:
        """Return the plan, with the fabric under a name."""
        return {"bomgen": 1, "name": "x-ray", "cluster": dict(self.cluster), "fabrics": {name: dict(self.fabric)}}


def usual_structures(scope: Scope, servers: Servers, switch: Plan) -> Iterator[tuple[Plan, int]]:
    """Yield common topologies, and the number of bill counts that each only repeats."""
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = list_extras(scope, servers), _rates(scope, switch)
    for shape, (extra, guesses), rate in product(shapes, extras, rates):
        yield merge(shape, extra, rate), guesses


def spread_structures(scope: Scope, servers: Servers, _: Plan) -> Iterator[tuple[Plan, int]]:
    """Yield compute networks whose uplinks are spread over as many spines as the bill has, if fewer are enough."""
    counts = scope.count_tiers()
    if scope.role != COMPUTE or not counts.keys() >= {"leaf", "spine"}:
        return
    below: Plan = {"leaf": {"downlinks": -(-servers.number * servers.nics // counts["leaf"])}}
    ratios = ({}, *({"oversubscription": ratio} for ratio in _ratios(scope)))
    for ratio, leaf, spread in product(ratios, (below, {}), read_data(STRUCTURES)[SPREAD]):
        yield merge(spread, {"tiers": 2, "spine": {"count": counts["spine"]}}, leaf, ratio), 1


def rarer_structures(scope: Scope, servers: Servers, switch: Plan) -> Iterator[tuple[Plan, int]]:
    """Yield topologies with oversubscription or with planes."""
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = list_extras(scope, servers), _rates(scope, switch)
    # All ratios come before hosts other than servers, because the number of designs built is limited.
    for (extra, guesses), rate, ratio, shape in product(extras, rates, _ratios(scope), shapes):
        yield merge(shape, {"oversubscription": ratio}, extra, rate), guesses
    for pods in _rail_pods(scope, servers, switch):
        yield pods, 0
    if scope.role == COMPUTE:
        stated = any(_PLANE.search(f"{line.description} {line.notes}".lower()) for line in scope.lines)
        for planes, shape in product(MOST_PLANES, shapes):
            yield merge(shape, {"planes": planes}), 0 if stated else 1


def _rail_pods(scope: Scope, servers: Servers, switch: Plan) -> Iterator[Plan]:
    """Yield designs with spines per rail, half of whose ports are left for cores that connect units later."""
    leaves = scope.count_tiers().get("leaf", 0)
    units, rest = divmod(leaves, servers.nics)
    ports = int(scope.catalog.find_original("switch", switch["switch"]).value("ports") or 0)
    if scope.role != COMPUTE or units < LEAST_UNITS or rest or not ports:
        return
    per_unit = -(-servers.number // units)
    yield {
        **read_data(STRUCTURES)[RAIL_PODS],
        "scalable_unit": {"servers": per_unit},
        "leaf": {"downlinks": per_unit, "uplinks": per_unit},
        "spine": {"downlinks": ports // 2},
        "pod": {"leaves": units},
    }


def fixed_structures(scope: Scope, servers: Servers, switch: Plan) -> Iterator[tuple[Plan, int]]:
    """Yield topologies that repeat counts of switches and links of the bill."""
    counts = scope.count_tiers()
    leaves, spines = counts.get("leaf"), counts.get("spine")
    if not leaves:
        return
    up = scope.count_cables(LEAF_SPINE)
    below: Plan = {"uplinks": up // leaves} if spines and up and up % leaves == 0 else {}
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = list_extras(scope, servers), _rates(scope, switch)
    for shape, (extra, guesses), rate in product(shapes, extras, rates):
        ports = servers.nics if scope.role == COMPUTE else int(extra.get("ports_per_server", 0))
        machines = sum(int(host["count"]) for host in extra.get("hosts", ()))
        down = -(-(servers.number * ports + machines) // leaves)
        for fixed in ({"downlinks": down, **below}, below) if down else (below,):
            leaf: Plan = {"leaf": fixed} if fixed else {}
            for tiers in ({"tiers": 2, "spine": {"count": spines}}, {"tiers": 2}) if spines else ({},):
                yield merge(shape, leaf, tiers, extra, rate), 1 + guesses


def lumped_structures(scope: Scope, servers: Servers, _: Plan) -> Iterator[tuple[Plan, int]]:
    """Yield leaves and spines, except of compute, for a bill with all switches on a line and all fibres on another."""
    total = sum_pieces(line for line in scope.own if line.kind == "switch")
    fibres = sum(line.links for line in scope.own if line.is_fibre)
    if scope.role == COMPUTE or scope.count_tiers() or not fibres:
        return
    for extra, guesses in list_extras(scope, servers):
        ports = int(extra.get("ports_per_server", 0))
        hosts = extra.get("hosts", ())
        more_ports = sum(host["count"] * host["ports"] for host in hosts if "nic" not in host)
        on_splitters = sum(host["count"] * host["ports"] for host in hosts if "nic" in host)
        below = servers.number * ports + more_ports
        for leaves in range(2, min(total, MOST_LUMPED)) if ports else ():
            up, rest = divmod(fibres - below, leaves)
            if up > 0 and not rest and up % (total - leaves) == 0:
                down = -(-(below + on_splitters) // leaves)
                tiers = {"leaf": {"downlinks": down, "uplinks": up}, "spine": {"count": total - leaves}}
                for homing in ({"homing": "single"}, {}):
                    yield merge({"tiers": 2}, homing, tiers, extra), 1 + guesses


STAGES = (usual_structures, lumped_structures, spread_structures, rarer_structures, fixed_structures)
"""Structures in the order of trials; later ones are skipped if an earlier one explains everything."""


def _rates(scope: Scope, switch: Plan) -> list[Plan]:
    """Return rates of links between switches: as below, the highest of the switch, outside compute also half of it."""
    speed = port_gbps(switch["switch"], scope.catalog)
    if speed <= MOST_NIC_GBPS:
        return [{}]
    # Between the rate of the servers' links and the fastest there is one rate, for networks whose servers have slower
    # ports.
    rates = (speed,) if scope.role == COMPUTE else (speed // 2, speed)
    return [{}, *({"links": {LEAF_SPINE: {"rate": f"{rate}G"}}} for rate in rates)]


def _shapes_of(scope: Scope, servers: Servers, switch: Plan) -> list[Plan]:
    counts, shapes = scope.count_tiers(), list[Plan]()
    total = sum_pieces(line for line in scope.of_kind("switch") if line.id == switch["switch"])
    flat = "spine" not in counts and total > 1
    fixed = [line for line in scope.of_kind("cable") if not line.is_fibre]
    if total == PAIR and flat:  # two switches are most often a pair, which cables with fixed ends connect
        peers = {line.links for line in fixed} - {0}
        shapes += [
            {**read_data(STRUCTURES)[LINKED_PAIR], "peer_links": links}
            for links in sorted(peers)
            if links <= MOST_PEER_LINKS
        ]
    for form in read_data(STRUCTURES)[scope.role]:
        when = form.get("when")
        if (when == "single" and total != 1) or (when == "flat" and not flat):
            continue
        units = _units(servers, counts.get("leaf")) if form.get("units") else ()
        shapes += [dict(form["fabric"]), *({**form["fabric"], "scalable_unit": {"servers": unit}} for unit in units)]
    return shapes


def _units(servers: Servers, leaves: int | None) -> list[int]:
    sizes = set[int]()
    for rails in (rails for rails in range(1, servers.nics + 1) if leaves and servers.nics % rails == 0):
        units, rest = divmod((leaves or 0) * rails, servers.nics)
        if not rest and 1 < units <= servers.number:
            sizes.add(-(-servers.number // units))
    return sorted(sizes) or [unit for unit in USUAL_UNITS if unit < servers.number]


def _ratios(scope: Scope) -> list[str]:
    ratios = dict[str, None]()
    kinds = SERVER_LEAF, LEAF_SPINE
    cables = (scope.count_cables(links) for links in kinds)
    engines = (scope.count_engines_at(links, "leaf") for links in kinds)
    for down, up in (cables, engines):
        ratio = Fraction(down, up) if down and up else Fraction(0)
        if ratio > 1:
            ratios[f"{float(ratio):.6g}"] = None
            ratios[str(-(-ratio.numerator // ratio.denominator))] = None
    return [*sorted(ratios, key=len), *(usual for usual in USUAL_RATIOS if usual not in ratios)]


def merge(*plans: Plan) -> Plan:
    """Return nested mappings merged, later ones taking precedence."""
    merged: Plan = {}
    for key, value in (pair for plan in plans for pair in plan.items()):
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


# links --------------------------------------------------------------------------------------------------------------
# The switches and the links of a fabric in plan keys, from the parts of a bill.

MOST_MEDIA = 6


def list_switches(scope: Scope) -> Iterator[Plan]:
    """Yield the switches of a fabric in plan keys."""
    lines = sorted(scope.of_kind("switch"), key=lambda line: -(line.quantity or 0))
    switches = [line for line in scope.own if line.kind == "switch"]
    tiers = {line.place.tier: line.id for line in switches if line.place.tier}
    if tiers.get("leaf"):
        fabric: Plan = {"switch": tiers["leaf"]}
        for tier in ("spine", "core"):
            if tiers.get(tier) and tiers[tier] != tiers["leaf"]:
                fabric[tier] = {"switch": tiers[tier]}
        yield fabric
        return
    kinds = list(dict.fromkeys(line.id for line in switches or lines or scope.others))
    if len(kinds) == 2 and not tiers:
        leaf, spine = kinds
        yield {"switch": leaf, "spine": {"switch": spine}}
    for id in kinds:
        yield {"switch": id}


def list_links(scope: Scope, switch: str) -> Iterator[Plan]:
    """Yield the links in plan keys that the modules and cables of a bill suggest; an empty mapping if it has none."""
    cage_rules = rules(scope.catalog)
    cage = str(scope.catalog.find_original("switch", switch).value("cage") or "any")
    modules = sorted(scope.of_kind("transceiver"), key=lambda line: -(line.quantity or 0))
    modules = [line for line in modules if line.quantity]
    at = {
        (links, tier): [line.id for line in modules if line.place.links in (links, "") and line.place.tier == tier]
        for links in (SERVER_LEAF, LEAF_SPINE, SPINE_CORE)
        for tier in ("server", "leaf", "spine", "core")
    }
    unplaced = [line for line in modules if line.place.tier in ("", "switch")]
    plugs = {line.id: str(line.record.value("cage") or "any") for line in modules}
    # If the line of one end is missing, a module of another end may be used there too.
    in_switch = [line.id for line in unplaced or modules if accepts(cage, plugs[line.id], cage_rules)]
    twins = find_twin_rates(modules)
    in_nics = [line.id for line in modules if is_single(line, twins)]
    if unplaced:
        at_servers = [
            line.id for line in unplaced if not (line.place.tier or accepts(cage, plugs[line.id], cage_rules))
        ]
        in_server = at_servers or in_nics or in_switch
    else:
        in_server = [line.id for line in modules if plugs[line.id] == "any"]
    ends = {
        SERVER_LEAF: (at[SERVER_LEAF, "server"] or in_server, at[SERVER_LEAF, "leaf"] or in_switch),
        LEAF_SPINE: (at[LEAF_SPINE, "leaf"] or in_switch, at[LEAF_SPINE, "spine"] or in_switch),
        SPINE_CORE: (at[SPINE_CORE, "spine"] or in_switch, at[SPINE_CORE, "core"] or in_switch),
    }
    names = {SERVER_LEAF: ("server", "leaf"), LEAF_SPINE: ("leaf", "spine"), SPINE_CORE: ("spine", "core")}
    options = dict[str, list[Plan]]()
    for links, (low, up) in ends.items():
        cables = [line for line in scope.of_kind("cable") if line.place.links in (links, "") and line.quantity]
        cables = [line for line in cables if line.is_fibre or fits_switch(line, switch)]
        placed = [line for line in cables if line.place.links == links] or cables
        options[links] = list(_link_options(low, up, placed, names[links]))[:MOST_MEDIA]
    if not any(options.values()):
        yield {}
        return
    chosen = [options[links] or [{}] for links in (SERVER_LEAF, LEAF_SPINE)]
    core = options[SPINE_CORE][:1] or [{}]
    for links_of in product(*chosen, core):
        yield {name: links for name, links in zip(ends, links_of, strict=True) if links}


def _link_options(
    low: Sequence[str], up: Sequence[str], cables: Sequence[SentLine], ends: tuple[str, str]
) -> Iterator[Plan]:
    fibres = dict[str, Fraction | None]()
    for line in cables:
        record = line.record
        length = line.recognition.named.length_m if line.recognition.named else None
        medium = str(record.value("kind"))
        if medium == "fibre":
            longest = max(length or Fraction(0), fibres.get(line.id) or Fraction(0))
            fibres[line.id] = longest or None
        elif medium != "trunk":
            yield {"medium": medium, "module": line.id, **_length(length)}
    for one, two in dict.fromkeys(product(low or ("",), up or ("",))):
        if not one and not two:
            continue
        module: Any = one if one == two else {end: id for end, id in zip(ends, (one, two), strict=True) if id}
        option = {"medium": "transceiver", "module": module}
        for id, stocked in fibres.items():
            yield {**option, "fibre": id, **_length(stocked)}
        yield {**option, **_length(max((length for length in fibres.values() if length), default=None))}


def _length(length: Fraction | None) -> Plan:
    return {"length": f"{float(length):g} m"} if length else {}
