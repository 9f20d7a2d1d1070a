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
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, applied, divided_up, greatest, least, step, trace, values_of
from bomgen.fabric.dragonfly import (
    Names,
    Shape,
    best_balanced,
    capacity,
    check_balanced,
    count_global_links,
    flow_at_least,
    kinds_of_switches,
    most_balanced,
    option,
    refuse_shape,
    spread_ports,
)
from bomgen.fabric.occupancy import (
    UNSET,
    all_endpoints,
    attached_ports,
    fit_switches,
    group_thousands,
    ratio_built,
    seat_in_order,
)
from bomgen.fabric.ports import cages_of, carries_rate, group_radix, links_in_cage, radix
from bomgen.fabric.types import (
    SERVER_LEAF,
    Connections,
    Demand,
    Fabric,
    Fitted,
    LinkKind,
    Links,
    SwitchGroups,
    Tier,
    Topology,
)

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


LETTERS = ("p", "a", "h", "g")
SOURCE = "Kim, Dally, Scott and Abts, ISCA 2008, section 3.1"
BALANCED = f"{SOURCE}: balanced is a = 2p = 2h"
EVEN_FLOW = "a flow that every even attachment of the global links carries; routers share out what they pass on"
LEAVES = 2
"""Routers of a balanced group, over its endpoints per router."""


class DragonflyDemand(NamedTuple):
    """What the counts depend on, as figures or numbers; None: the plan leaves it open."""

    endpoints: Any
    nic_ports: Any
    p: Any
    a: Any
    h: Any
    g: Any
    small_groups: Any
    small_a: Any
    radix: Any
    local_radix: Any
    global_radix: Any
    cages: Any
    endpoint_gbps: Any
    local_gbps: Any
    global_gbps: Any

    @property
    def ports(self) -> tuple[Any, Any, Any, Any]:
        """The ports of a router at the rate of each kind of link, and the cages they share when the rates differ."""
        return self.radix, self.local_radix, self.global_radix, self.cages


def build(demand: Demand) -> Fabric:
    """Return the balanced dragonfly with the lowest switch count, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    given = {key: figure for key, figure in demand.options.items() if isinstance(figure, Figure)}
    endpoints, rates = all_endpoints(demand), (demand.rates[kind.name] for kind in (SERVER_LEAF, LOCAL, GLOBAL))
    numbers = (given.get(key) for key in (*LETTERS, SMALL, SMALL_A))
    d = DragonflyDemand(endpoints, attached_ports(demand), *numbers, *_ports(demand), *rates)
    _check(demand, values_of(d), endpoints, given)
    _check_small_groups(fill_in(values_of(d)), endpoints, given)
    return trace(_count, demand, d)


def _ports(demand: Demand) -> tuple[Figure, ...]:
    """Return the ports of a router by kind of link, and its cages. Raises Infeasible when rates do not share ports."""
    switch = demand.leaf.switch
    kinds = [demand.rates[kind.name] for kind in (SERVER_LEAF, LOCAL, GLOBAL)]
    if len({rate.value for rate in kinds}) == 1:
        return (*(radix(switch, rate) for rate in kinds), UNSET)
    shared = next((group for group in switch.groups if all(carries_rate(group, rate) for rate in kinds)), None)
    if shared is None:
        rates = ", ".join(str(rate.value) for rate in kinds)
        message = f"no ports of a {switch.identity.name} carry links of all of {rates} Gb/s; set one rate for all kinds"
        raise Infeasible(message, because=kinds[-1], rule="rate")
    return (*(group_radix(shared, rate) for rate in kinds), cages_of(shared.ports, shared.ports_per_cage))


def fill_in(d: DragonflyDemand) -> DragonflyDemand:
    """Return a demand with the numbers that the plan leaves open: by balance, groups by the endpoints."""
    p, a, h = d.p, d.a, d.h
    if not (p or a or h):
        why = "Endpoints per router of the balanced dragonfly with the fewest routers."
        p = step("p", "endpoints", applied(smallest_balanced, d.endpoints, d.g or 0, *d.ports), why, BALANCED)
    h = h or step("h", "links", greatest(a // 2, 1) if a else p, "Global links per router.", BALANCED)
    p = p or step("p", "endpoints", h, "Endpoints per router.", BALANCED)
    a = a or step("a", "switches", 2 * greatest(p, h), "Routers per group.", BALANCED)
    g = d.g or step("g", "groups", divided_up(d.endpoints, a * p), "Groups needed for the endpoints.")
    return d._replace(p=p, a=a, h=h, g=g)


def smallest_balanced(endpoints: int, groups: int, *ports: Any) -> int:
    """Return the endpoints per router of the balanced dragonfly with the fewest routers; 0 when all are too small."""
    return best_balanced(endpoints, groups, most_of_router(*ports), LEAVES)


def most_of_router(*ports: Any) -> int:
    """Return the endpoints per router of the largest balanced dragonfly; 0 when a switch has too few ports."""
    return most_balanced(lambda size: size <= ports_left_for_endpoints(LEAVES * size - 1, size, *ports))


def largest_balanced(*ports: Any) -> int:
    """Return the endpoints of the largest balanced dragonfly of a switch."""
    return capacity(LEAVES * most_of_router(*ports) ** 2)


def ports_left_for_endpoints(
    local: int, outer: int, radix: int, local_radix: int, global_radix: int, cages: int
) -> int:
    """Return the links to servers on a router with local and global ones; `cages` hold all, 0: all have one rate.

    A cage holds links of one rate; where a switch has fewer ports at a rate than cages, a link takes several of them.
    """
    if not cages:
        return radix - local - outer
    ports = {radix: 0, local_radix: 0, global_radix: 0}
    ports[local_radix] += local
    ports[global_radix] += outer
    beside = ports.pop(radix)
    filled = sum(ceil(used / links_in_cage(at_rate, cages)) for at_rate, used in ports.items())
    return int((cages - filled) * links_in_cage(radix, cages)) - beside


def endpoint_ports(groups: int, a: int, group_ports: int, *ports: Any) -> int:
    """Return the ports of the routers of equal groups that are not used for links to other routers."""
    routers = spread_ports(a, group_ports)
    return groups * sum(number * ports_left_for_endpoints(a - 1, outer, *ports) for number, outer in routers)


def _count(demand: Demand, d: DragonflyDemand) -> Fabric:
    exact, given_shape = demand.populate_used_ports_only, d.p or d.a or d.h
    d = fill_in(d)
    p, a, h, g = d.p, d.a, d.h, d.g
    joined = count_global_links(a, h, g, d.small_groups, d.small_a)
    local = step("local_ports", "ports", a - 1, "Links per router to the other routers of its group.")
    outer = most = step("global_ports", "ports", divided_up(joined.ports, a), "Global ports of the router with most.")
    up = step("up", "ports", local + outer, "Links per router to other routers, local and global.")
    switches = routers = step("routers", "switches", a * joined.large, "Routers of all groups.")
    inside = step("links", "links", a * (a - 1) // 2 * joined.large, "One between each pair of routers of a group.")
    room = step("ports", "ports", applied(endpoint_ports, joined.large, a, joined.ports, *d.ports), "For endpoints.")
    held = step("held", "endpoints", least(d.endpoints, routers * p), "The large groups are filled first.")
    if not d.small_groups:
        held = d.endpoints
    fitted = [*_fit(joined.large, a, joined.ports, p, local, held if exact else None)]
    dimensions = {"endpoints_per_switch": p, SIZE: a, "global_links_per_switch": h, GROUPS: g}
    if joined.ports:
        dimensions[BETWEEN] = joined.between
        dimensions["group_oversubscription"] = ratio_built(a * p, d.endpoint_gbps, joined.ports, d.global_gbps)
    if d.small_groups:
        groups, size = d.small_groups, d.small_a
        beside = step("local_ports", "ports", size - 1, "Links per router to the other routers of a small group.")
        fitted += _fit(groups, size, joined.last_ports, p, beside, d.endpoints - held if exact else None)
        switches = step("switches", "switches", routers + size * groups, "Routers of large and small groups.")
        inside = step("links", "links", inside + size * (size - 1) // 2 * groups, "Links of large and small groups.")
        more = applied(endpoint_ports, groups, size, joined.last_ports, *d.ports)
        room = step("ports", "ports", room + more, "For endpoints, in large and small groups.")
        most = step("global_ports", "ports", greatest(outer, divided_up(joined.last_ports, size)), "In either group.")
        dimensions |= {SMALL: groups, SMALL_SIZE: size, TO_SMALL: joined.to_last}
    flow = 0
    if not d.small_groups or held >= d.nic_ports:
        rates = d.endpoint_gbps, d.local_gbps, d.global_gbps
        flow = applied(flow_at_least, d.nic_ports, p, a, outer, joined.between, *rates)
    largest = a * p * (a * h + 1) if given_shape else applied(largest_balanced, *d.ports)
    links = [Links(SERVER_LEAF.name, d.endpoints, d.nic_ports, d.endpoint_gbps, SERVER_LEAF.ends)]
    for kind, number, of_router in ((LOCAL, inside, local), (GLOBAL, joined.links, most)):
        if number:
            links.append(Links(kind.name, number, number, demand.rates[kind.name], kind.ends, of_router))
    return Fabric(
        topology=NAME,
        endpoints=d.endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=step("tiers", "tiers", 1, "Switches side by side."),
        tiers=(Tier("leaf", demand.leaf.switch, switches, d.radix, p, up, tuple(fitted), None),),
        links=tuple(links),
        switches=switches,
        bisection_gbps=step("bisection_gbps", "Gb/s", flow, "Lower bound on the maximum flow.", EVEN_FLOW),
        hops=step("hops", "switches", least(a, 2) * least(g, 2), "On the longest minimal route."),
        largest=None
        if d.small_groups
        else step("endpoints", "endpoints", largest, "Of the largest one.", f"{SOURCE}: N = a p (a h + 1)"),
        free_ports={"leaf": step("free_ports", "ports", room - d.endpoints, "Unused endpoint ports.")},
        growth=step("growth", "ports", switches * p - d.endpoints, "Unused endpoint ports of all routers."),
        dimensions=dimensions,
        seats=seat_in_order(demand, switches, p, up),
        exact_bisection=False,
    )


def _fit(groups: Any, a: Any, ports: Any, p: Any, local: Any, endpoints: Any) -> Iterator[Fitted]:
    kinds = applied(kinds_of_switches, groups, a, ports, p, local, endpoints)
    kinds = step("kinds", "kinds of switches", kinds, "Routers by ports in use down and up.")
    return (replace(fitted, local=local) for fitted in fit_switches(kinds, has_up=True))


def _check(demand: Demand, d: DragonflyDemand, endpoints: Figure, given: Mapping[str, Figure]) -> None:
    name = demand.leaf.switch.identity.name
    names = Names(NAME, name, "routers", "routers", "p, a, h and g")
    if not {"p", "a", "h"} & set(given):
        check_balanced(demand, endpoints, given.get("g"), most_of_router(*d.ports), LEAVES, names)
        return

    def choose_shape(numbers: Mapping[str, int]) -> Shape:
        full = fill_in(d._replace(**{letter: numbers.get(letter) for letter in LETTERS}))
        return Shape(full.p, full.a, full.a, full.h, full.g)

    def lacks_ports(shape: Shape) -> tuple[str, str] | None:
        p, local, h = shape.p, shape.a - 1, shape.h
        if p <= ports_left_for_endpoints(local, h, *d.ports):
            return None
        largest = max((letter for letter in fixed if letter != "g"), key=lambda letter: fixed[letter].value)
        ports = f"{p} + {local} + {h} ports of a router; a {name} has {d.radix} at {d.endpoint_gbps} Gb/s"
        return largest, f"p + a - 1 + h = {ports}"

    fixed = {letter: given[letter] for letter in given if letter in LETTERS}
    refuse_shape(demand, endpoints, fixed, choose_shape, lacks_ports, d.radix, names)


def _check_small_groups(d: DragonflyDemand, endpoints: Figure, given: Mapping[str, Figure]) -> None:
    groups, size = given.get(SMALL), given.get(SMALL_A)
    named = groups or size
    if named is None:
        return
    if groups is None or size is None or "g" not in given:
        message = "small groups are the last of g, with small_a switches each; set `g`, `small_groups` and `small_a`"
        raise Infeasible(message, because=named, rule="groups")
    if groups.value >= d.g or size.value > d.a:
        message = (
            f"{groups.value} small groups of {size.value} switches among {d.g} of {d.a}; set fewer or smaller ones"
        )
        raise Infeasible(message, because=groups if groups.value >= d.g else size, rule="groups")
    if size.value * d.h < d.g - 1:
        message = f"{size.value} switches of {d.h} global links reach {size.value * d.h} groups of {d.g - 1} others"
        raise Infeasible(f"{message}; `small_a: {-(-(d.g - 1) // d.h)}` works", because=size, rule="groups")
    held = d.p * (d.a * (d.g - groups.value) + size.value * groups.value)
    if held < endpoints.value:
        message = f"{group_thousands(endpoints.value)} endpoints; the groups hold {group_thousands(held)}"
        raise Infeasible(f"{message}; set more groups, or fewer small ones", because=endpoints)


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the local links between every two switches of a group and the global links between every two groups."""
    from bomgen.fabric.links import GroupSizes, connect_groups, connect_switches_of_groups

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
