"""The dragonfly: groups of routers joined all to all inside, and with every other group.

Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008: p endpoints and h global
links a router, a routers a group, g groups, at most a h + 1. Balanced is a = 2p = 2h; of all balanced ones that carry
the demand the one with the fewest routers is built, then the one with the fewest links. Endpoints fill router after
router. Every pair of groups has the same whole number of global links, spread over the routers of a group as evenly as
can be; global ports that are left over stay free.

The bisection is a lower bound instead of the max-flow, which depends on the router that each global link attaches to.
The bound is a flow that every even attachment carries, and equals the max-flow where the halves are whole groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, require
from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind, SwitchGroups, Topology
from bomgen.fabric.dragonfly import formulas
from bomgen.fabric.dragonfly.search import (
    LETTERS,
    best_balanced,
    capacity,
    fill_in_numbers,
    is_feasible,
    most_balanced,
    nearest_feasible,
    ports_left_for_endpoints,
)
from bomgen.fabric.ports import cages_of, carries_rate, group_radix, radix
from bomgen.fabric.requirements import UNSET, all_endpoints, attached_ports, group_thousands, one_tier, seat_in_order
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier

NAME = "dragonfly"

LIMITS = (
    "a p (a h + 1) endpoints in groups of a switches with p endpoints and h global links each, that is p + a - 1 + h "
    "ports; balanced (a = 2p = 2h) 262 656 endpoints of 64-port switches"
)

DRAWING = """\
     group 1                group 2
    leaf --- leaf          leaf --- leaf      local links: all to all in a group
    |  \\   /  |  global    |  \\   /  |
    |    X    | ---------- |    X    |        global links: all to all between groups
    |  /   \\  |            |  /   \\  |
    leaf --- leaf          leaf --- leaf
    | | |    | | |         | | |    | | |
      servers                servers
"""

LOCAL = LinkKind(
    *("local", ("leaf", "leaf"), "LL", "Local"),
    "Topology dragonfly: links between the switches of a group.",
    {"medium": "transceiver", "length": "5 m"},
)
GLOBAL = LinkKind(
    *("global", ("leaf", "leaf"), "LG", "Global"),
    "Topology dragonfly: links between groups.",
    {"medium": "transceiver", "rate": "400G", "length": "50 m"},
)


def _option(title: str, description: str, *examples: int) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "integer",
        "minimum": 1,
        "x-unit": "count",
        "examples": list(examples),
    }


_EXAMPLES = {"p": (4, 16), "a": (8, 32), "h": (4, 17), "g": (9, 33)}

OPTIONS: dict[str, Any] = {
    "title": "Dragonfly",
    "description": "Topology dragonfly: its numbers as far as they are fixed; each is optional. Default: a = 2p = 2h, "
    "the fewest switches that carry the endpoints.",
    "type": "object",
    "properties": {
        "p": _option("Endpoints a switch", "Links to servers of one switch. Default: h.", *_EXAMPLES["p"]),
        "a": _option(
            "Switches a group", "Switches of one group, joined all to all. Default: 2p or 2h.", *_EXAMPLES["a"]
        ),
        "h": _option("Global links a switch", "Links of one switch to other groups. Default: a/2.", *_EXAMPLES["h"]),
        "g": _option("Groups", "Groups, at most a h + 1. Default: as many as the endpoints need.", *_EXAMPLES["g"]),
    },
    "minProperties": 1,
    "additionalProperties": False,
    "examples": [dict(zip(_EXAMPLES, column, strict=True)) for column in zip(*_EXAMPLES.values(), strict=True)],
}

GROUPS, SIZE, BETWEEN = "groups", "switches_per_group", "links_between_groups"
"""Dimensions of the fabric."""


class Ports(NamedTuple):
    """The ports of a router at the rate of each kind of link, and the cages that they share when the rates differ."""

    radix: Figure
    local_radix: Figure
    global_radix: Figure
    cages: Figure

    @property
    def values(self) -> tuple[int, int, int, int]:
        """The numbers of all four."""
        return self.radix.value, self.local_radix.value, self.global_radix.value, self.cages.value


class DragonflyShape(NamedTuple):
    """The numbers of a dragonfly, as figures."""

    p: Figure
    a: Figure
    h: Figure
    g: Figure


def build(demand: Demand) -> Fabric:
    """The balanced dragonfly with the fewest routers, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    endpoints = all_endpoints(demand)
    ports = _ports(demand)
    fixed = {letter: figure for letter, figure in demand.options.items() if isinstance(figure, Figure)}
    _check(demand, endpoints, ports, fixed)
    return _fabric(demand, attached_ports(demand), endpoints, ports, _shape(endpoints, ports, fixed), fixed)


def _ports(demand: Demand) -> Ports:
    """The ports of a router by kind of link. Raises Infeasible when different rates do not share ports."""
    switch = demand.leaf.switch
    kinds = [demand.rates[kind.name] for kind in (SERVER_LEAF, LOCAL, GLOBAL)]
    one, local, outer = (radix(switch, rate) for rate in kinds)
    if len({rate.value for rate in kinds}) == 1:
        return Ports(one, local, outer, UNSET)
    shared = next((group for group in switch.groups if all(carries_rate(group, rate) for rate in kinds)), None)
    if shared is None:
        rates = ", ".join(str(rate.value) for rate in kinds)
        message = f"no ports of a {switch.identity.name} carry links of {rates} Gb/s alike; give all kinds one rate"
        raise Infeasible(message, because=kinds[-1], rule="rate")
    one, local, outer = (group_radix(shared, rate) for rate in kinds)
    return Ports(one, local, outer, cages_of(shared.ports, shared.ports_per_cage))


def _shape(endpoints: Figure, ports: Ports, fixed: Mapping[str, Figure]) -> DragonflyShape:
    """The numbers that the plan fixes, and the others by balance and need."""
    p, a, h, g = (fixed.get(letter) for letter in LETTERS)
    if not (p or a or h):
        p = formulas.smallest_balanced(endpoints, g or UNSET, *ports)
    if h is None:
        h = (
            formulas.global_of_group(a)
            if a
            else formulas.global_of_endpoints(require(p, "a group without endpoints has links"))
        )
    p = p or formulas.endpoints_of_global(h)
    a = a or formulas.routers_of_group(p, h)
    return DragonflyShape(p, a, h, g or formulas.groups_for(endpoints, a, p))


def _fabric(
    demand: Demand,
    attached: Figure,
    endpoints: Figure,
    ports: Ports,
    shape: DragonflyShape,
    fixed: Mapping[str, Figure],
) -> Fabric:
    p, a, h, g = shape
    rates = demand.rates
    between = formulas.links_between(a, h, g)
    group_ports = formulas.global_ports_of_group(between, g)
    local, outer = formulas.local_ports(a), formulas.global_ports(group_ports, a)
    less, longer = formulas.fewer_global_ports(group_ports, a), formulas.routers_with_more(group_ports, a)
    count = formulas.routers(a, g)
    up, up_less = formulas.ports_to_routers(local, outer), formulas.ports_to_routers(local, less)
    fitted, free = [], None
    for first, last, down in _rows(demand.populate_used_ports_only, endpoints, p, count):
        more = formulas.routers_in_row(first, last, a, longer)
        for switches, links_up in ((more, up), (formulas.others_in_row(first, last, more), up_less)):
            if switches.value:
                fitted.append(Fitted(switches, down, links_up))
    everyone = formulas.routers_in_row(formulas.zero(), count, a, longer)
    for switches, global_ in ((everyone, outer), (formulas.others_in_row(formulas.zero(), count, everyone), less)):
        if switches.value:
            room_here = formulas.ports_of_routers(switches, formulas.ports_for_endpoints(*ports, local, global_))
            free = room_here if free is None else formulas.ports_of_all(free, room_here)
    links = [Links(SERVER_LEAF.name, endpoints, attached, rates[SERVER_LEAF.name], SERVER_LEAF.ends)]
    for kind, joined, of_router in (
        (LOCAL, formulas.local_links(a, g), local),
        (GLOBAL, formulas.global_links(between, g), outer),
    ):
        if joined.value:
            links.append(Links(kind.name, joined, joined, rates[kind.name], kind.ends, of_router))
    dimensions = {
        "endpoints_per_switch": p,
        SIZE: a,
        "global_links_per_switch": h,
        GROUPS: g,
    }
    if group_ports.value:
        dimensions[BETWEEN] = between
        dimensions["group_oversubscription"] = formulas.ratio_of_group(
            a, p, rates[SERVER_LEAF.name], group_ports, rates[GLOBAL.name]
        )
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=one_tier(),
        tiers=(Tier("leaf", demand.leaf.switch, count, ports.radix, p, up, tuple(fitted), None),),
        links=tuple(links),
        switches=count,
        bisection_gbps=formulas.bisection_at_least(
            attached, p, a, outer, between, *(rates[kind.name] for kind in (SERVER_LEAF, LOCAL, GLOBAL))
        ),
        hops=formulas.switches_on_the_way(a, g),
        largest=formulas.largest_of(p, a, h) if {"p", "a", "h"} & set(fixed) else formulas.largest_balanced(*ports),
        free_ports={"leaf": formulas.free_ports(require(free, "ports that no cage shares are not counted"), endpoints)},
        growth=formulas.room_to_grow(count, p, endpoints),
        dimensions=dimensions,
        seats=seat_in_order(demand, count, p, up),
        exact_bisection=False,
    )


def _rows(exact: bool, endpoints: Figure, p: Figure, count: Figure) -> Iterator[tuple[Figure, Figure, Figure]]:
    """Routers in order that are filled alike: the first of them, the first after them, ports for endpoints."""
    if not exact:
        yield formulas.zero(), count, p
        return
    full, used = formulas.full_routers(endpoints, p), formulas.routers_in_use(endpoints, p)
    for first, last, down in (
        (formulas.zero(), full, p),
        (full, used, formulas.rest_of_endpoints(endpoints, p)),
        (used, count, formulas.zero_endpoints()),
    ):
        if last.value > first.value:
            yield first, last, down


def _check(demand: Demand, endpoints: Figure, ports: Ports, fixed: Mapping[str, Figure]) -> None:
    """Raise Infeasible when no dragonfly has the numbers that the plan fixes and carries the endpoints."""
    values = ports.values
    switch, wanted = demand.leaf.switch.identity.name, group_thousands(endpoints.value)
    if not {"p", "a", "h"} & set(fixed):
        groups = fixed["g"].value if fixed else 0
        if best_balanced(endpoints.value, groups, *values):
            return
        largest = most_balanced(*values)
        most = 2 * largest * largest + 1
        if groups > most:
            message = f"{groups} groups; a balanced dragonfly of {switch} has at most {most}"
            raise Infeasible(message, because=fixed["g"], rule="groups")
        reached = max((capacity(size, groups) for size in range(1, largest + 1)), default=0)
        what = f"{groups} groups of a balanced dragonfly" if groups else "a balanced dragonfly"
        message = f"{wanted} endpoints; {what} of {switch} reach{'' if groups else 'es'} {group_thousands(reached)}"
        raise Infeasible(f"{message}: at most {_servers(demand, reached)} servers", because=endpoints)
    given = {letter: int(figure.value) for letter, figure in fixed.items()}
    if is_feasible(given, endpoints.value, values):
        return
    p, a, h, g = fill_in_numbers(given, endpoints.value)
    local = a - 1
    if p > ports_left_for_endpoints(*values, local, h):
        broke = max((letter for letter in given if letter != "g"), key=lambda letter: given[letter])
        rate = demand.rates[SERVER_LEAF.name].value
        message = f"p + a - 1 + h = {p} + {local} + {h} ports of a router; a {switch} has {values[0]} at {rate} Gb/s"
        rule = "ports"
    elif g > a * h + 1 and "g" in given:
        broke, rule = "g", "groups"
        message = f"{g} groups; {a} routers of {h} global links each reach {a * h} others"
    else:
        groups = min(g, a * h + 1)
        reached = a * p * (given.get("g") or a * h + 1)
        broke = "g" if "g" in given else next(iter(given))
        held = group_thousands(reached)
        message = f"{wanted} endpoints; {groups} groups of {a} routers with {p} endpoints each hold {held}"
        rule = "infeasible"
        message += f": at most {_servers(demand, reached)} servers"
    remedy = nearest_feasible(given, broke, endpoints.value, values)
    raise Infeasible(f"{message}; {remedy}", because=fixed[broke], rule=rule)


def _servers(demand: Demand, reached: int) -> int:
    """Whole servers of so many endpoints, beside hosts and reserved ports."""
    others = sum(figure.value for figure in (demand.host_ports, demand.reserved_ports) if figure)
    return max(int((reached - others) // demand.ports_per_server.value), 0)


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Local links between every two switches of a group, global links between every two groups."""
    from bomgen.fabric.links.dragonfly import connect_groups, connect_switches_of_groups

    groups, size = (int(plane.dimensions[name].value) for name in (GROUPS, SIZE))
    if plane.links_of(LOCAL.name):
        yield LOCAL, connect_switches_of_groups(groups, size)
    if plane.links_of(GLOBAL.name):
        yield GLOBAL, connect_groups(groups, size, int(plane.dimensions[BETWEEN].value))


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf",),
    link_kinds=(SERVER_LEAF, LOCAL, GLOBAL),
    build=build,
    connect=connect,
    arrangement=SwitchGroups(inside=LOCAL.name, groups=GROUPS, group_size=SIZE),
    options=OPTIONS,
)
