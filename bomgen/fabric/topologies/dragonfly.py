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

Groups, global links and the bound are those of a dragonfly+, too: there s are the switches of a group with global
links, in a dragonfly all of its switches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import count
from math import ceil
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, applied, divided_up, greatest, least, step, trace, values_of
from bomgen.fabric.occupancy import (
    UNSET,
    Kinds,
    all_endpoints,
    attached_ports,
    fit_switches,
    group_thousands,
    ratio_built,
    seat_in_order,
    servers_among,
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

SHARES = 4
"""The number of shares of a local link that the bound on the bisection tries for each of its uses."""


def option(title: str, description: str, *examples: int) -> dict[str, Any]:
    """Return the JSON Schema of an option that is a number of things, at least 1."""
    text = {"title": title, "description": description, "type": "integer"}
    return text | {"minimum": 1, "x-unit": "count", "examples": list(examples)}


# numbers ------------------------------------------------------------------------------------------------------------
# The smallest balanced groups, and the refusal of numbers that do not work.


def most_balanced(fits: Callable[[int], bool]) -> int:
    """Return the largest size of balanced groups for which switches have the ports; 0 where they have them for none."""
    return next(size for size in count() if not fits(size + 1))


def capacity(of_group: int, groups: int = 0) -> int:
    """Return the endpoints of balanced groups of `of_group` endpoints each; `groups` 0: of as many as there may be."""
    return of_group * (groups or of_group + 1) if groups <= of_group + 1 else 0


def best_balanced(endpoints: int, groups: int, most: int, leaves: int) -> int:
    """Return the size of the balanced groups with the fewest switches; 0 where all up to `most` are too small.

    A group of a size has `leaves` x size switches with as many endpoints each. Of as few switches the smaller have
    fewer links.
    """
    found = (
        (2 * size * (groups or ceil(endpoints / (leaves * size * size))), size)
        for size in range(1, most + 1)
        if capacity(leaves * size * size, groups) >= endpoints
    )
    return min(found, default=(0, 0))[1]


class Shape(NamedTuple):
    """The numbers of a topology of groups, none left open."""

    p: Any
    a: Any
    s: Any
    h: Any
    g: Any


class Names(NamedTuple):
    """What messages call a topology, its switches, and those of a group with endpoints and with global links."""

    topology: str
    switches: str
    leaves: str
    outer: str
    letters: str
    """The numbers, in words."""


def check_balanced(
    demand: Demand, endpoints: Figure, groups: Figure | None, most: int, leaves: int, names: Names
) -> None:
    """Raise Infeasible where no balanced groups up to a size hold the endpoints, in as many groups as the plan sets."""
    number, topology, switches = groups.value if groups else 0, names.topology, names.switches
    if best_balanced(endpoints.value, number, most, leaves):
        return
    of_group = leaves * most * most
    if groups and number > of_group + 1:
        message = f"{number} groups; a balanced {topology} of {switches} has at most {of_group + 1}"
        raise Infeasible(message, because=groups, rule="groups")
    reached = max((capacity(leaves * size * size, number) for size in range(1, most + 1)), default=0)
    what = f"{number} groups of a balanced {topology}" if number else f"a balanced {topology}"
    reach = f"{switches} reach{'' if number else 'es'} {group_thousands(reached)}"
    message = f"{group_thousands(endpoints.value)} endpoints; {what} of {reach}"
    raise Infeasible(f"{message}: at most {servers_among(demand, reached)} servers", because=groups or endpoints)


def refuse_shape(
    demand: Demand,
    endpoints: Figure,
    fixed: Mapping[str, Figure],
    fill_in: Callable[[Mapping[str, int]], Shape],
    lacks_ports: Callable[[Shape], tuple[str, str] | None],
    most_ports: int,
    names: Names,
) -> None:
    """Raise Infeasible where the numbers of the plan do not work, with the nearest value that does.

    `lacks_ports` gives the violated number and what is wrong where switches have too few ports for a shape.
    """
    given = {letter: int(figure.value) for letter, figure in fixed.items()}

    def fits(numbers: Mapping[str, int]) -> bool:
        p, a, s, h, g = shape = fill_in(numbers)
        return not lacks_ports(shape) and g <= s * h + 1 and endpoints.value <= a * p * g

    if fits(given):
        return
    p, a, s, h, g = shape = fill_in(given)
    if lacking := lacks_ports(shape):
        (broke, message), rule = lacking, "ports"
    elif g > s * h + 1 and "g" in given:
        broke, rule = "g", "groups"
        message = f"{g} groups; {s} {names.outer} of {h} global links each reach {s * h} others"
    else:
        broke, rule = "g" if "g" in given else next(iter(given)), "infeasible"
        groups = given.get("g") or s * h + 1
        held = f"{groups} groups of {a} {names.leaves} with {p} endpoints each hold {group_thousands(a * p * groups)}"
        message = f"{group_thousands(endpoints.value)} endpoints; {held}"
        message += f": at most {servers_among(demand, a * p * groups)} servers"
    values = {"g": (ceil(endpoints.value / (a * p)), s * h + 1)}
    for letter in (broke, *(letter for letter in given if letter != broke)):
        numbers = [number for number in values.get(letter, range(1, most_ports + 1)) if number != given[letter]]
        fitting = [number for number in numbers if fits({**given, letter: number})]
        if fitting:
            nearest = min(fitting, key=lambda number: (abs(number - given[letter]), number))
            raise Infeasible(f"{message}; `{letter}: {nearest}` works", because=fixed[broke], rule=rule)
    raise Infeasible(f"{message}; remove {names.letters}", because=fixed[broke], rule=rule)


# counts -------------------------------------------------------------------------------------------------------------
# The links between groups, for numbers and for figures, and the switches with the same ports in use.


class GlobalLinks(NamedTuple):
    """The links between groups, of which the last may have other numbers of switches."""

    large: Any
    """Groups of the first size."""
    between: Any
    """Links between two of them."""
    to_last: Any
    """Links between one of the last groups and any other."""
    ports: Any
    """Global ports in use of a group of the first size."""
    last_ports: Any
    links: Any
    """All of them."""


def count_global_links(s: Any, h: Any, g: Any, last_groups: Any = None, last_s: Any = None) -> GlobalLinks:
    """Return the global links of g groups of s switches with h each; `last_groups` of them have `last_s` switches.

    Every two groups of a size have the same whole number.
    """
    same = "The same whole number between every two groups."
    in_use = "Global ports in use per group."
    if not last_groups:
        between = step("links_between", "links", s * h // (g - 1) if g > 1 else 0, same)
        ports = step("group_ports", "ports", between * (g - 1), in_use)
        links = step("links", "links", between * (g * (g - 1) // 2), "Links between groups.")
        return GlobalLinks(g, between, between, ports, ports, links)
    large = step("large", "groups", g - last_groups, "Groups of the first size.")
    to_last = step("to_small", "links", least(s, last_s) * h // (g - 1), "Limited by the group with fewer switches.")
    between = (s * h - last_groups * to_last) // (large - 1) if large > 1 else 0
    between = step("links_between", "links", between, f"{same} What the links to the last groups leave.")
    ports = step("group_ports", "ports", between * (large - 1) + to_last * last_groups, in_use)
    last_ports = step("group_ports", "ports", to_last * (g - 1), in_use)
    first = step("links", "links", between * (large * (large - 1) // 2), "Links between groups of the first size.")
    pairs = last_groups * (last_groups - 1) // 2 + last_groups * large
    links = step("links", "links", first + to_last * pairs, "Links between groups.")
    return GlobalLinks(large, between, to_last, ports, last_ports, links)


def spread_ports(size: int, ports: int) -> tuple[tuple[int, int], ...]:
    """Return the switches of a group with each number of global ports in use, as evenly as can be."""
    each, more = divmod(ports, size)
    return ((more, each + 1), (size - more, each)) if more else ((size, each),)


def kinds_of_switches(
    groups: int, size: int, ports: int, down: int, local: int = 0, endpoints: int | None = None
) -> Kinds:
    """Return the switches of equal groups by ports in use down and up; each has `local` ports inside its group.

    With `endpoints` these fill switch after switch, `down` each; otherwise all have `down` downlinks.
    """
    switches = groups * size
    rows = [(0, switches, down)]
    if endpoints is not None:
        full, rest = divmod(endpoints, down)
        used = full + (rest > 0)
        rows = [(0, full, down), (full, used, rest), (used, switches, 0)]
    found = []
    for first, last, ports_down in rows:
        start = 0
        for number, ports_up in spread_ports(size, ports):
            in_row = [max(min(end % size, start + number) - start, 0) + end // size * number for end in (first, last)]
            start += number
            if in_row[1] > in_row[0]:
                found.append(((ports_down, local + ports_up), in_row[1] - in_row[0]))
    return tuple(found)


# bisection ----------------------------------------------------------------------------------------------------------
# A flow between the halves of the endpoints that every even attachment of the global links carries.


def flow_at_least(
    nic_ports: int,
    p: int,
    a: int,
    outer: int,
    between: int,
    endpoint_gbps: int,
    local_gbps: int,
    global_gbps: int,
    spines: int = 0,
) -> Fraction:
    """Return a flow between the halves of endpoints that fill routers of `p` and groups of `a` routers in order [Gb/s].

    Groups before the middle send to groups behind it over the links between them; the group in the middle, if there is
    one, sends to itself, to the groups behind, and receives from those before. Inside a group everything is shared in
    proportion: the traffic of a router's global links comes from all routers alike. A router has at most `outer` global
    links, so a local link then carries at most `outer / (routers that share)` of the traffic of a global link, wherever
    the global links are attached. In the middle group three uses share the local links; quarters of them are tried.

    With `spines` the routers are the leaves of a dragonfly+: each has a local link to every spine of its group, and the
    spines have the global links. Endpoints in the same group communicate over its spines, and uplinks and downlinks are
    shared separately.
    """
    size, middle = a * p, nic_ports // 2
    before, first = divmod(middle, size)
    second = min(nic_ports, (before + 1) * size) - middle if first else 0
    behind = nic_ports - middle - second
    full, last = divmod(behind, size)
    split = first % p
    met = min(split, p - split, second) if split else 0
    first, second = first - met, second - met
    ways = outer or 1

    def passed(endpoints: int, share: Fraction) -> Fraction:
        """Return the traffic per global link that a share of the local links of these endpoints' routers carries."""
        return min(Fraction(global_gbps), share * local_gbps * max(Fraction(endpoints, p), Fraction(1)) / ways)

    whole = Fraction(1)
    into_full, into_last = passed(size, whole), passed(last, whole)
    best = Fraction(0)
    for meeting, leaving, coming in _shares_of_local_links(both_ways=spines > 0):
        routers_first, routers_second = (max(Fraction(part, p), Fraction(1)) for part in (first, second))
        pairs = spines * min(routers_first, routers_second) if spines else routers_first * routers_second
        outward, inward = passed(first, leaving), passed(second, coming)
        of_before = (
            before * between * inward if second else Fraction(0),
            before * full * between * into_full,
            before * between * into_last,
        )
        of_middle = (
            meeting * local_gbps * pairs,
            full * between * outward,
            between * min(outward, into_last),
        )
        supply = [Fraction(count * endpoint_gbps) for count in (before * size, first)]
        need = [Fraction(count * endpoint_gbps) for count in (second, full * size, last)]
        best = max(best, _transport_flow(supply, need, (of_before, of_middle)))
    return best + met * endpoint_gbps


def _shares_of_local_links(both_ways: bool) -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    """Yield the shares of three uses; `both_ways`: the last two take different directions, and each what is left."""
    for one in range(SHARES + 1):
        left = SHARES - one
        for other in (left,) if both_ways else range(left + 1):
            yield Fraction(one, SHARES), Fraction(other, SHARES), Fraction(left if both_ways else left - other, SHARES)


def _transport_flow(
    supply: list[Fraction], need: list[Fraction], ways: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
) -> Fraction:
    """Return the max-flow from two sources straight to several sinks, as the smallest of its cuts."""
    cuts = []
    for kept in ((), (0,), (1,), (0, 1)):
        left = sum((supply[source] for source in (0, 1) if source not in kept), Fraction(0))
        cut = (
            min(wanted, sum((ways[source][sink] for source in kept), Fraction(0))) for sink, wanted in enumerate(need)
        )
        cuts.append(left + sum(cut, Fraction(0)))
    return min(cuts)


# topology -------------------------------------------------------------------------------------------------------------
# The options, the smallest balanced dragonfly, and its fabric.

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
