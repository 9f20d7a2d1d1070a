"""The dragonfly: groups of routers, fully connected inside, and with every other group.

Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008: p endpoints and h global
links per router, a routers per group, g groups, at most a h + 1. Balanced means a = 2p = 2h; of all balanced ones that
carry the demand the one with the lowest switch count is built, then the one with the fewest links. Endpoints fill
router after router. Every pair of groups has the same integer number of global links, spread over the routers of a
group as evenly as possible; leftover global ports stay free.

The last groups may have fewer routers than the others, like those for storage and services of Frontier and Aurora. They
have fewer links to every other group, and the others share the remaining links.

The bisection is a lower bound instead of the max-flow, which depends on the router that each global link attaches to.
The bound is a flow that every even attachment carries, and equals the max-flow where the halves are whole groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, require
from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind, SwitchGroups, Topology
from bomgen.fabric.dragonfly import dragonfly
from bomgen.fabric.dragonfly.dragonfly import (
    LETTERS,
    best_balanced,
    capacity,
    fill_in_numbers,
    is_feasible,
    most_balanced,
    nearest_feasible,
    option,
    ports_left_for_endpoints,
)
from bomgen.fabric.ports import cages_of, carries_rate, group_radix, radix
from bomgen.fabric.requirements import (
    UNSET,
    all_endpoints,
    attached_ports,
    group_thousands,
    one_tier,
    seat_in_order,
    servers_among,
)
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


_EXAMPLES = {"p": (4, 16), "a": (8, 32), "h": (4, 17), "g": (9, 33)}

OPTIONS: dict[str, Any] = {
    "title": "Dragonfly",
    "description": "Topology dragonfly: its numbers, as far as set; each is optional. Default: a = 2p = 2h, "
    "the fewest switches that carry the endpoints.",
    "type": "object",
    "properties": {
        "p": option("Endpoints per switch", "Server links per switch. Default: h.", *_EXAMPLES["p"]),
        "a": option("Switches per group", "Switches per group, fully connected. Default: 2p or 2h.", *_EXAMPLES["a"]),
        "h": option("Global links per switch", "Links per switch to other groups. Default: a/2.", *_EXAMPLES["h"]),
        "g": option("Groups", "Groups, at most a h + 1. Default: as many as the endpoints need.", *_EXAMPLES["g"]),
        "small_groups": option(
            "Small groups", "Number of the last groups, which have fewer switches. Default: none.", 6
        ),
        "small_a": option("Switches per small group", "Switches per small group.", 16),
    },
    "minProperties": 1,
    "additionalProperties": False,
    "examples": [dict(zip(_EXAMPLES, column, strict=True)) for column in zip(*_EXAMPLES.values(), strict=True)],
}

GROUPS, SIZE, BETWEEN = "groups", "switches_per_group", "links_between_groups"
SMALL, SMALL_SIZE, TO_SMALL = "small_groups", "switches_per_small_group", "links_to_small_groups"
"""Dimensions of the fabric."""
SMALL_A = "small_a"


class Ports(NamedTuple):
    """The ports of a router at the rate of each kind of link, and the cages they share when the rates differ."""

    radix: Figure
    local_radix: Figure
    global_radix: Figure
    cages: Figure

    @property
    def values(self) -> tuple[int, int, int, int]:
        """The values of all four."""
        return self.radix.value, self.local_radix.value, self.global_radix.value, self.cages.value


class DragonflyShape(NamedTuple):
    """The numbers of a dragonfly, as figures."""

    p: Figure
    a: Figure
    h: Figure
    g: Figure


class RouterGroups(NamedTuple):
    """Groups with the same number of routers, and the endpoints on them."""

    groups: Figure
    size: Figure
    routers: Figure
    group_ports: Figure
    """Global ports that a group uses."""
    endpoints: Figure


class SmallGroups(NamedTuple):
    """The last groups, with fewer routers than the others, as figures."""

    groups: Figure
    size: Figure


def build(demand: Demand) -> Fabric:
    """Return the balanced dragonfly with the lowest switch count, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    endpoints = all_endpoints(demand)
    ports = _ports(demand)
    given = {key: figure for key, figure in demand.options.items() if isinstance(figure, Figure)}
    fixed = {letter: figure for letter, figure in given.items() if letter in LETTERS}
    _check(demand, endpoints, ports, fixed)
    shape = _shape(endpoints, ports, fixed)
    small = _small_groups(shape, endpoints, given)
    return _fabric(demand, attached_ports(demand), endpoints, ports, shape, fixed, small)


def _small_groups(shape: DragonflyShape, endpoints: Figure, given: Mapping[str, Figure]) -> SmallGroups | None:
    """Return the small groups of the plan; None where it has none. Raises Infeasible when they are impossible."""
    groups, size = given.get(SMALL), given.get(SMALL_A)
    p, a, h, g = (int(figure.value) for figure in shape)
    named = groups or size
    if named is None:
        return None
    if groups is None or size is None or "g" not in given:
        message = "small groups are the last of g, with small_a switches each; set `g`, `small_groups` and `small_a`"
        raise Infeasible(message, because=named, rule="groups")
    if groups.value >= g or size.value > a:
        message = f"{groups.value} small groups of {size.value} switches among {g} of {a}; set fewer or smaller ones"
        raise Infeasible(message, because=groups if groups.value >= g else size, rule="groups")
    if size.value * h < g - 1:
        message = f"{size.value} switches of {h} global links reach {size.value * h} groups of {g - 1} others"
        raise Infeasible(f"{message}; `small_a: {-(-(g - 1) // h)}` works", because=size, rule="groups")
    held = p * (a * (g - int(groups.value)) + int(size.value) * int(groups.value))
    if held < endpoints.value:
        message = f"{group_thousands(endpoints.value)} endpoints; the groups hold {group_thousands(held)}"
        raise Infeasible(f"{message}; set more groups, or fewer small ones", because=endpoints)
    return SmallGroups(groups, size)


def _ports(demand: Demand) -> Ports:
    """Return the ports of a router by kind of link. Raises Infeasible when different rates do not share ports."""
    switch = demand.leaf.switch
    kinds = [demand.rates[kind.name] for kind in (SERVER_LEAF, LOCAL, GLOBAL)]
    one, local, outer = (radix(switch, rate) for rate in kinds)
    if len({rate.value for rate in kinds}) == 1:
        return Ports(one, local, outer, UNSET)
    shared = next((group for group in switch.groups if all(carries_rate(group, rate) for rate in kinds)), None)
    if shared is None:
        rates = ", ".join(str(rate.value) for rate in kinds)
        message = f"no ports of a {switch.identity.name} carry links of all of {rates} Gb/s; set one rate for all kinds"
        raise Infeasible(message, because=kinds[-1], rule="rate")
    one, local, outer = (group_radix(shared, rate) for rate in kinds)
    return Ports(one, local, outer, cages_of(shared.ports, shared.ports_per_cage))


def _shape(endpoints: Figure, ports: Ports, fixed: Mapping[str, Figure]) -> DragonflyShape:
    p, a, h, g = (fixed.get(letter) for letter in LETTERS)
    if not (p or a or h):
        p = dragonfly.smallest_balanced(endpoints, g or UNSET, *ports)
    if h is None:
        h = (
            dragonfly.global_of_group(a)
            if a
            else dragonfly.global_of_endpoints(require(p, "a group without endpoints has links"))
        )
    p = p or dragonfly.endpoints_of_global(h)
    a = a or dragonfly.routers_of_group(p, h)
    return DragonflyShape(p, a, h, g or dragonfly.groups_for(endpoints, a, p))


def _fabric(
    demand: Demand,
    attached: Figure,
    endpoints: Figure,
    ports: Ports,
    shape: DragonflyShape,
    fixed: Mapping[str, Figure],
    small: SmallGroups | None,
) -> Fabric:
    p, a, h, g = shape
    rates = demand.rates
    between, to_small, kinds = _kinds(shape, endpoints, small)
    fitted, free = list[Fitted](), None
    for kind in kinds:
        fitted += _fitted(kind, demand.populate_used_ports_only, p)
        for switches, local, global_ in _alike(kind):
            room_here = dragonfly.ports_of_routers(switches, dragonfly.ports_for_endpoints(*ports, local, global_))
            free = room_here if free is None else dragonfly.ports_of_all(free, room_here)
    count, group_ports = kinds[0].routers, kinds[0].group_ports
    local, outer = dragonfly.local_ports(a), dragonfly.global_ports(group_ports, a)
    up, most = dragonfly.ports_to_routers(local, outer), outer
    inside, outside = dragonfly.local_links(a, kinds[0].groups), dragonfly.global_links(between, kinds[0].groups)
    for kind in kinds[1:]:
        count = dragonfly.all_routers(count, kind.routers)
        inside = dragonfly.all_links(inside, dragonfly.local_links(kind.size, kind.groups))
        outside = dragonfly.all_links(outside, dragonfly.links_of_small(to_small, kind.groups, kinds[0].groups))
        most = dragonfly.most_ports(most, dragonfly.global_ports(kind.group_ports, kind.size))
    links = [Links(SERVER_LEAF.name, endpoints, attached, rates[SERVER_LEAF.name], SERVER_LEAF.ends)]
    for declared, joined, of_router in ((LOCAL, inside, local), (GLOBAL, outside, most)):
        if joined.value:
            links.append(Links(declared.name, joined, joined, rates[declared.name], declared.ends, of_router))
    dimensions = {
        "endpoints_per_switch": p,
        SIZE: a,
        "global_links_per_switch": h,
        GROUPS: g,
    }
    if group_ports.value:
        dimensions[BETWEEN] = between
        dimensions["group_oversubscription"] = dragonfly.ratio_of_group(
            a, p, rates[SERVER_LEAF.name], group_ports, rates[GLOBAL.name]
        )
    if small:
        dimensions |= {SMALL: small.groups, SMALL_SIZE: small.size, TO_SMALL: to_small}
    largest = dragonfly.largest_of(p, a, h) if {"p", "a", "h"} & set(fixed) else dragonfly.largest_balanced(*ports)
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=one_tier(),
        tiers=(Tier("leaf", demand.leaf.switch, count, ports.radix, p, up, tuple(fitted), None),),
        links=tuple(links),
        switches=count,
        bisection_gbps=_bisection(demand, attached, shape, kinds, outer, between),
        hops=dragonfly.switches_on_the_way(a, g),
        largest=None if small else largest,
        free_ports={
            "leaf": dragonfly.free_ports(require(free, "ports that no cage shares are not counted"), endpoints)
        },
        growth=dragonfly.room_to_grow(count, p, endpoints),
        dimensions=dimensions,
        seats=seat_in_order(demand, count, p, up),
        exact_bisection=False,
    )


def _kinds(
    shape: DragonflyShape, endpoints: Figure, small: SmallGroups | None
) -> tuple[Figure, Figure, tuple[RouterGroups, ...]]:
    """Return the links between large groups, those to a small one, and the groups by size, the large ones first."""
    p, a, h, g = shape
    if small is None:
        between = dragonfly.links_between(a, h, g)
        group_ports = dragonfly.global_ports_of_group(between, g)
        return between, between, (RouterGroups(g, a, dragonfly.routers(a, g), group_ports, endpoints),)
    to_small = dragonfly.links_between(small.size, h, g)
    large = dragonfly.large_groups(g, small.groups)
    between = dragonfly.links_between_large(a, h, large, small.groups, to_small)
    routers, others = dragonfly.routers(a, large), dragonfly.routers(small.size, small.groups)
    held = dragonfly.endpoints_held(endpoints, dragonfly.ports_of_routers(routers, p))
    return (
        between,
        to_small,
        (
            RouterGroups(
                large, a, routers, dragonfly.global_ports_of_large(between, large, to_small, small.groups), held
            ),
            RouterGroups(
                small.groups,
                small.size,
                others,
                dragonfly.global_ports_of_group(to_small, g),
                dragonfly.endpoints_left(endpoints, held),
            ),
        ),
    )


def _alike(kind: RouterGroups) -> Iterator[tuple[Figure, Figure, Figure]]:
    """Yield the routers with equal numbers of ports to others: how many, local ports and global ports of each."""
    local = dragonfly.local_ports(kind.size)
    longer = dragonfly.routers_with_more(kind.group_ports, kind.size)
    more = dragonfly.routers_in_row(dragonfly.zero(), kind.routers, kind.size, longer)
    for switches, global_ in (
        (more, dragonfly.global_ports(kind.group_ports, kind.size)),
        (
            dragonfly.others_in_row(dragonfly.zero(), kind.routers, more),
            dragonfly.fewer_global_ports(kind.group_ports, kind.size),
        ),
    ):
        if switches.value:
            yield switches, local, global_


def _fitted(kind: RouterGroups, exact: bool, p: Figure) -> Iterator[Fitted]:
    local = dragonfly.local_ports(kind.size)
    longer = dragonfly.routers_with_more(kind.group_ports, kind.size)
    up, up_less = (
        dragonfly.ports_to_routers(local, global_(kind.group_ports, kind.size))
        for global_ in (dragonfly.global_ports, dragonfly.fewer_global_ports)
    )
    for first, last, down in _rows(exact, kind.endpoints, p, kind.routers):
        more = dragonfly.routers_in_row(first, last, kind.size, longer)
        for switches, links_up in ((more, up), (dragonfly.others_in_row(first, last, more), up_less)):
            if switches.value:
                yield Fitted(switches, down, links_up, local)


def _bisection(
    demand: Demand,
    attached: Figure,
    shape: DragonflyShape,
    kinds: tuple[RouterGroups, ...],
    outer: Figure,
    between: Figure,
) -> Figure:
    """Return the bound on the flow over the large groups; none where servers are on small ones."""
    if len(kinds) > 1 and kinds[0].endpoints.value < attached.value:
        return dragonfly.unknown_bound()
    rates = (demand.rates[kind.name] for kind in (SERVER_LEAF, LOCAL, GLOBAL))
    return dragonfly.bisection_at_least(attached, shape.p, shape.a, outer, between, *rates)


def _rows(exact: bool, endpoints: Figure, p: Figure, count: Figure) -> Iterator[tuple[Figure, Figure, Figure]]:
    """Yield equally filled routers in order: the first of them, the first after them, ports for endpoints."""
    if not exact:
        yield dragonfly.zero(), count, p
        return
    full, used = dragonfly.full_routers(endpoints, p), dragonfly.routers_in_use(endpoints, p)
    for first, last, down in (
        (dragonfly.zero(), full, p),
        (full, used, dragonfly.rest_of_endpoints(endpoints, p)),
        (used, count, dragonfly.zero_endpoints()),
    ):
        if last.value > first.value:
            yield first, last, down


def _check(demand: Demand, endpoints: Figure, ports: Ports, fixed: Mapping[str, Figure]) -> None:
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
        raise Infeasible(f"{message}: at most {servers_among(demand, reached)} servers", because=endpoints)
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
        message += f": at most {servers_among(demand, reached)} servers"
    remedy = nearest_feasible(given, broke, endpoints.value, values)
    raise Infeasible(f"{message}; {remedy}", because=fixed[broke], rule=rule)


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the local links between every two switches of a group and the global links between every two groups."""
    from bomgen.fabric.links.patterns import GroupSizes, connect_groups, connect_switches_of_groups

    sizes = GroupSizes(*(plane.dimension(name) for name in (GROUPS, SIZE, SMALL, SMALL_SIZE)))
    if plane.links_of(LOCAL.name):
        yield LOCAL, connect_switches_of_groups(sizes)
    if plane.links_of(GLOBAL.name):
        yield GLOBAL, connect_groups(sizes, plane.dimension(BETWEEN), plane.dimension(TO_SMALL))


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf",),
    link_kinds=(SERVER_LEAF, LOCAL, GLOBAL),
    build=build,
    connect=connect,
    arrangement=SwitchGroups(LOCAL.name, GROUPS, SIZE, SMALL, SMALL_SIZE),
    options=OPTIONS,
    endpoints_option="p",
)
