"""Candidate plans for a fabric of a bill: its switches, its links, and all common combinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.resources import folder
from bomgen.core.yaml_source import own
from bomgen.optics.compatibility import accepts, rules
from bomgen.plan.types import COMPUTE
from bomgen.reading.bills import ANY_SWITCH, SentLine
from bomgen.xray.forward import Plan
from bomgen.xray.lines import (
    SERVER_LEAF,
    Scope,
    count_cables,
    count_engines_at,
    count_links,
    count_tiers,
    is_fibre,
    leaf_spine,
    port_gbps,
    spine_core,
    sum_pieces,
)
from bomgen.xray.machines import MOST_NIC_GBPS, Servers, list_extras

STRUCTURES, RAIL_PODS = "xray-structures.yaml", "rail_pods"
USUAL_UNITS = (16, 20, 24, 32, 64, 72, 128)
"""Servers per scalable unit in published designs."""
LEAST_UNITS = 2
"""Minimum number of leaves per rail that need spines."""
USUAL_RATIOS = ("1.5", "2", "3", "4")
MOST_PLANES = (2, 4, 8)


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


def usual_structures(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """Yield common topologies, and the number of bill counts that each only repeats."""
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = list_extras(scope, servers, catalog), _rates(scope, switch, catalog)
    for shape, (extra, given), rate in product(shapes, extras, rates):
        yield merge(shape, extra, rate), given


def rarer_structures(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """Yield topologies with oversubscription or with planes."""
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = list_extras(scope, servers, catalog), _rates(scope, switch, catalog)
    # All ratios come before hosts other than servers, because the number of designs built is limited.
    for (extra, given), rate, ratio, shape in product(extras, rates, _ratios(scope, catalog), shapes):
        yield merge(shape, {"oversubscription": ratio}, extra, rate), given
    for pods in _rail_pods(scope, servers, switch, catalog):
        yield pods, 0
    if scope.role == COMPUTE:
        for planes, shape in product(MOST_PLANES, shapes):
            yield merge(shape, {"planes": planes}), 0


def _rail_pods(scope: Scope, servers: Servers, switch: Plan, catalog: Catalog) -> Iterator[Plan]:
    """Yield designs with spines per rail, half of whose ports are left for cores that connect units later."""
    leaves = count_tiers(scope).get("leaf", 0)
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
    """Yield topologies that repeat counts of switches and links of the bill."""
    counts = count_tiers(scope)
    leaves, spines = counts.get("leaf"), counts.get("spine")
    if not leaves:
        return
    up = count_cables(scope, leaf_spine(), catalog)
    below: Plan = {"uplinks": up // leaves} if spines and up and up % leaves == 0 else {}
    shapes = _shapes_of(scope, servers, switch)
    extras, rates = list_extras(scope, servers, catalog), _rates(scope, switch, catalog)
    for shape, (extra, given), rate in product(shapes, extras, rates):
        ports = servers.nics if scope.role == COMPUTE else int(extra.get("ports_per_server", 0))
        others = sum(int(each["count"]) for each in extra.get("hosts", ()))
        down = -(-(servers.number * ports + others) // leaves)
        for fixed in ({"downlinks": down, **below}, below) if down else (below,):
            leaf: Plan = {"leaf": fixed} if fixed else {}
            for tiers in ({"tiers": 2, "spine": {"count": spines}}, {"tiers": 2}) if spines else ({},):
                yield merge(shape, leaf, tiers, extra, rate), 1 + given


def lumped_structures(scope: Scope, servers: Servers, _: Plan, catalog: Catalog) -> Iterator[tuple[Plan, int]]:
    """Yield leaves and spines, except of compute, for a bill with all switches on a line and all fibres on another."""
    total = sum_pieces(line for line in scope.own if line.kind == "switch")
    fibres = sum(count_links(line, catalog) for line in scope.own if line.kind == "cable" and is_fibre(line, catalog))
    if scope.role == COMPUTE or count_tiers(scope) or not fibres:
        return
    for extra, given in list_extras(scope, servers, catalog):
        ports = int(extra.get("ports_per_server", 0))
        hosts = extra.get("hosts", ())
        others = sum(host["count"] * host["ports"] for host in hosts if "nic" not in host)
        on_splitters = sum(host["count"] * host["ports"] for host in hosts if "nic" in host)
        below = servers.number * ports + others
        for leaves in range(2, total) if ports else ():
            up, rest = divmod(fibres - below, leaves)
            if up > 0 and not rest and up % (total - leaves) == 0:
                down = -(-(below + on_splitters) // leaves)
                tiers = {"leaf": {"downlinks": down, "uplinks": up}, "spine": {"count": total - leaves}}
                for homing in ({"homing": "single"}, {}):
                    yield merge({"tiers": 2}, homing, tiers, extra), 1 + given


STAGES = (usual_structures, lumped_structures, rarer_structures, fixed_structures)
"""Structures in the order of trials; later ones are skipped if an earlier one explains everything."""


def _rates(scope: Scope, switch: Plan, catalog: Catalog) -> list[Plan]:
    """Return rates of links between switches: as below, the highest of the switch, outside compute also half of it."""
    speed = port_gbps(switch["switch"], catalog)
    if speed <= MOST_NIC_GBPS:
        return [{}]
    # Between the rate of the servers' links and the fastest there is one rate, for networks whose servers have slower
    # ports.
    rates = (speed,) if scope.role == COMPUTE else (speed // 2, speed)
    return [{}, *({"links": {leaf_spine(): {"rate": f"{rate}G"}}} for rate in rates)]


def _shapes_of(scope: Scope, servers: Servers, switch: Plan) -> list[Plan]:
    counts, shapes = count_tiers(scope), list[Plan]()
    total = sum_pieces(line for line in scope.of_kind("switch") if line.id == switch["switch"])
    flat = "spine" not in counts and total > 1
    for each in _structures()[scope.role]:
        when = each.get("when")
        if (when == "single" and total != 1) or (when == "flat" and not flat):
            continue
        units = _units(servers, counts.get("leaf")) if each.get("units") else ()
        shapes += [dict(each["fabric"]), *({**each["fabric"], "scalable_unit": {"servers": unit}} for unit in units)]
    return shapes


def _structures() -> Mapping[str, Any]:
    data: Mapping[str, Any] = own(folder("data") / STRUCTURES, STRUCTURES).data
    return data


def _units(servers: Servers, leaves: int | None) -> list[int]:
    found = set[int]()
    for rails in (rails for rails in range(1, servers.nics + 1) if leaves and servers.nics % rails == 0):
        units, rest = divmod((leaves or 0) * rails, servers.nics)
        if not rest and 1 < units <= servers.number:
            found.add(-(-servers.number // units))
    return sorted(found) or [unit for unit in USUAL_UNITS if unit < servers.number]


def _ratios(scope: Scope, catalog: Catalog) -> list[str]:
    found = dict[str, None]()
    kinds = SERVER_LEAF, leaf_spine()
    cables = (count_cables(scope, links, catalog) for links in kinds)
    engines = (count_engines_at(scope, links, "leaf", catalog) for links in kinds)
    for down, up in (cables, engines):
        ratio = Fraction(down, up) if down and up else Fraction(0)
        if ratio > 1:
            found[f"{float(ratio):.6g}"] = None
            found[str(-(-ratio.numerator // ratio.denominator))] = None
    return [*sorted(found, key=len), *(each for each in USUAL_RATIOS if each not in found)]


def merge(*plans: Plan) -> Plan:
    """Return nested mappings merged, later ones taking precedence."""
    found: Plan = {}
    for key, value in (pair for plan in plans for pair in plan.items()):
        below = found.get(key)
        found[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


# links --------------------------------------------------------------------------------------------------------------
# The switches and the links of a fabric in plan keys, from the parts of a bill.

MOST_MEDIA = 6


def list_switches(scope: Scope) -> Iterator[Plan]:
    """Yield the switches of a fabric in plan keys."""
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
    kinds = list(dict.fromkeys(line.id for line in own or lines or scope.others))
    if len(kinds) == 2 and not tiers:
        leaf, spine = kinds
        yield {"switch": leaf, "spine": {"switch": spine}}
    for id in kinds:
        yield {"switch": id}


def list_links(scope: Scope, switch: str, catalog: Catalog) -> Iterator[Plan]:
    """Yield the links in plan keys that the modules and cables of a bill suggest; an empty mapping if it has none."""
    known = rules(catalog)
    cage = str(catalog.find_original("switch", switch).value("cage") or "any")
    modules = [line for line in scope.of_kind("transceiver") if line.quantity]
    at = {
        (links, tier): [line.id for line in modules if line.place.links in (links, "") and line.place.tier == tier]
        for links in (SERVER_LEAF, leaf_spine(), spine_core())
        for tier in ("server", "leaf", "spine", "core")
    }
    unplaced = [line for line in modules if line.place.tier in ("", ANY_SWITCH)]
    plugs = {line.id: str(catalog.find_original("transceiver", line.id).value("cage") or "any") for line in modules}
    # If the line of one end is missing, a module of another end may be used there too.
    in_switch = [line.id for line in unplaced or modules if accepts(cage, plugs[line.id], known)]
    if unplaced:
        others = [line.id for line in unplaced if not (line.place.tier or accepts(cage, plugs[line.id], known))]
        in_server = others or in_switch
    else:
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
        placed = [line for line in cables if line.place.links == links] or cables
        options[links] = list(_link_options(low, up, placed, names[links], catalog))[:MOST_MEDIA]
    if not any(options.values()):
        yield {}
        return
    chosen = [options[links] or [{}] for links in (SERVER_LEAF, leaf_spine())]
    core = options[spine_core()][:1] or [{}]
    for links_of in product(*chosen, core):
        yield {name: links for name, links in zip(ends, links_of, strict=True) if links}


def _link_options(
    low: Sequence[str], up: Sequence[str], cables: Sequence[SentLine], ends: tuple[str, str], catalog: Catalog
) -> Iterator[Plan]:
    fibres = dict[str, Fraction | None]()
    for line in cables:
        record = catalog.find_original("cable", line.id)
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
