"""The dragonfly: groups of routers joined all to all inside, and with every other group.

Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008: p endpoints and h global
links a router, a routers a group, g groups, at most a h + 1. Balanced is a = 2p = 2h; of all balanced ones that carry
the demand the one with the fewest routers is built, then the one with the fewest links. Endpoints fill router after
router. Every pair of groups has the same whole number of global links, spread over the routers of a group as evenly as
can be; global ports that are left over stay free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from bomgen.fabric.folded import attached_of, endpoints_of
from bomgen.fabric.model import Demand, Fabric, Fitted, Links, Tier
from bomgen.fabric.ports import cages_of, group_radix, radix, serves
from bomgen.figures import Figure, formula
from bomgen.problems import Infeasible

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

SOURCE = "Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: balanced is a = 2p = 2h"


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

LETTERS = ("p", "a", "h", "g")
SHARES = 4
"""The bound on the bisection tries the shares of a local link that its uses get in quarters."""


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


class Shape(NamedTuple):
    """The numbers of a dragonfly, as figures."""

    p: Figure
    a: Figure
    h: Figure
    g: Figure


@formula("count")
def not_fixed() -> int:
    """What the plan leaves to the rules, and cages where all links have one rate."""
    return 0


@formula("endpoints", source=SOURCE)
def smallest_balanced(endpoints: int, groups: int, radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints a router of the balanced dragonfly with the fewest routers; `groups` are those the plan fixes."""
    return best_balanced(endpoints, groups, radix, local_radix, global_radix, cages)


@formula("links", source=SOURCE)
def global_of_group(a: int) -> int:
    """Global links a router, from the routers of a group: a = 2h."""
    return max(a // 2, 1)


@formula("links", source=SOURCE)
def global_of_endpoints(p: int) -> int:
    """Global links a router, from its endpoints: p = h."""
    return p


@formula("endpoints", source=SOURCE)
def endpoints_of_global(h: int) -> int:
    """Endpoints a router, from its global links: p = h."""
    return h


@formula("switches", source=SOURCE)
def routers_of_group(p: int, h: int) -> int:
    """Routers a group: a = 2p = 2h."""
    return 2 * max(p, h)


@formula("groups")
def groups_for(endpoints: int, a: int, p: int) -> int:
    """Groups that hold the endpoints."""
    return ceil(endpoints / (a * p))


@formula("links")
def links_between(a: int, h: int, g: int) -> int:
    """Global links between two groups: the same whole number for every pair."""
    return a * h // (g - 1) if g > 1 else 0


@formula("ports")
def global_ports_of_group(links_between: int, g: int) -> int:
    """Global ports that a group uses."""
    return links_between * (g - 1)


@formula("ports")
def global_ports(group_ports: int, a: int) -> int:
    """Global ports in use on the router of a group that has most of them."""
    return ceil(group_ports / a)


@formula("ports")
def fewer_global_ports(group_ports: int, a: int) -> int:
    """Global ports in use on the other routers of a group."""
    return group_ports // a


@formula("switches")
def routers_with_more(group_ports: int, a: int) -> int:
    """Routers of a group with one global link more than the others; all when they do not differ."""
    return group_ports % a or a


@formula("ports")
def local_ports(a: int) -> int:
    """Links of a router to the others of its group."""
    return a - 1


@formula("ports")
def ports_to_routers(local_ports: int, global_ports: int) -> int:
    """Links of a router to others, inside its group and outside."""
    return local_ports + global_ports


@formula("switches")
def routers(a: int, g: int) -> int:
    """Routers of all groups."""
    return a * g


@formula("links")
def local_links(a: int, g: int) -> int:
    """Links inside all groups: one between every two routers of a group."""
    return a * (a - 1) // 2 * g


@formula("links")
def global_links(links_between: int, g: int) -> int:
    """Links between groups: as many for every pair."""
    return links_between * (g * (g - 1) // 2)


@formula("switches")
def routers_in_row(first: int, last: int, a: int, longer: int) -> int:
    """Of the routers from `first` to before `last`, in order, those among the first `longer` of their group."""
    return last // a * longer + min(last % a, longer) - first // a * longer - min(first % a, longer)


@formula("switches")
def others_in_row(first: int, last: int, more: int) -> int:
    """The other routers of that row."""
    return last - first - more


@formula("switches")
def full_routers(endpoints: int, p: int) -> int:
    """Routers whose every port for an endpoint is in use."""
    return endpoints // p


@formula("switches")
def routers_in_use(endpoints: int, p: int) -> int:
    """Routers with an endpoint."""
    return ceil(endpoints / p)


@formula("switches")
def none() -> int:
    """The first of all routers."""
    return 0


@formula("ports")
def rest_of_endpoints(endpoints: int, p: int) -> int:
    """Endpoints of the router that is partly filled."""
    return endpoints % p


@formula("ports")
def no_endpoints() -> int:
    """Endpoints of a router that nobody is plugged into."""
    return 0


@formula("endpoints")
def without_reserved(endpoints: int, reserved_ports: int) -> int:
    """Endpoints with a cable."""
    return endpoints - reserved_ports


@formula("switches")
def switches_on_the_way(a: int, g: int) -> int:
    """Switches of the longest minimal route: source, exit of its group, entry into the other, destination."""
    return min(a, 2) * min(g, 2)


@formula("endpoints", source="Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: N = a p (a h + 1)")
def largest_of(p: int, a: int, h: int) -> int:
    """Endpoints when every global port leads to a group of its own."""
    return a * p * (a * h + 1)


@formula("endpoints", source="Kim, Dally, Scott and Abts, ISCA 2008, section 3.1: N = a p (a h + 1)")
def largest_balanced(radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints of the largest balanced dragonfly of a switch."""
    return capacity(most_balanced(radix, local_radix, global_radix, cages))


@formula("ports")
def ports_for_endpoints(
    radix: int, local_radix: int, global_radix: int, cages: int, local_ports: int, global_ports: int
) -> int:
    """Ports of a router that its links to other routers leave to endpoints."""
    return room(radix, local_radix, global_radix, cages, local_ports, global_ports)


@formula("ports")
def ports_of_routers(switches: int, ports: int) -> int:
    """Ports of equal routers that endpoints may have."""
    return switches * ports


@formula("ports")
def ports_of_all(ports: int, more_ports: int) -> int:
    """Ports that endpoints may have of routers with unequal links between them."""
    return ports + more_ports


@formula("ports")
def free_ports(ports: int, endpoints: int) -> int:
    """Ports that endpoints may have and that none is plugged into."""
    return ports - endpoints


@formula("ratio")
def ratio_of_group(a: int, p: int, endpoint_gbps: int, group_ports: int, global_gbps: int) -> Fraction:
    """Bandwidth of the endpoints of a full group over that of its global links."""
    return Fraction(a * p * endpoint_gbps) / (group_ports * global_gbps)


@formula("tiers")
def one_tier() -> int:
    """Routers are linked with each other: there is nothing above them."""
    return 1


@formula(
    "Gb/s", source="a flow that every even attachment of the global links carries; routers share out what they pass on"
)
def bisection_at_least(
    nic_ports: int,
    p: int,
    a: int,
    global_ports: int,
    links_between: int,
    endpoint_gbps: int,
    local_gbps: int,
    global_gbps: int,
) -> Fraction:
    """A bound from below on the max-flow between the first and the second half of the NIC ports.

    It holds for every way to attach the global links of a group to its routers. Where the halves are whole, full groups
    and the local links of a router carry what its global ones do (a local >= h global), it is the max-flow itself.
    """
    return flow_at_least(nic_ports, p, a, global_ports, links_between, endpoint_gbps, local_gbps, global_gbps)


def build(demand: Demand) -> Fabric:
    """The balanced dragonfly with the fewest routers, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    endpoints = endpoints_of(demand)
    ports = _ports(demand)
    fixed = {letter: figure for letter, figure in demand.options.items() if isinstance(figure, Figure)}
    _check(demand, endpoints, ports, fixed)
    return _fabric(demand, attached_of(demand), endpoints, ports, _shape(endpoints, ports, fixed), fixed)


def _ports(demand: Demand) -> Ports:
    """The ports of a router by kind of link. Raises Infeasible when different rates do not share ports."""
    switch = demand.leaf.switch
    kinds = [demand.rates[kind] for kind in ("server-leaf", "local", "global")]
    one, local, outer = (radix(switch, rate) for rate in kinds)
    if len({rate.value for rate in kinds}) == 1:
        return Ports(one, local, outer, not_fixed())
    shared = next((group for group in switch.groups if all(serves(group, rate) for rate in kinds)), None)
    if shared is None:
        rates = ", ".join(str(rate.value) for rate in kinds)
        message = f"no ports of a {switch.identity.name} carry links of {rates} Gb/s alike; give all kinds one rate"
        raise Infeasible(message, because=kinds[-1], rule="rate")
    one, local, outer = (group_radix(shared, rate) for rate in kinds)
    return Ports(one, local, outer, cages_of(shared.ports, shared.ports_per_cage))


def _shape(endpoints: Figure, ports: Ports, fixed: Mapping[str, Figure]) -> Shape:
    """The numbers that the plan fixes, and the others by balance and need."""
    p, a, h, g = (fixed.get(letter) for letter in LETTERS)
    if not (p or a or h):
        p = smallest_balanced(endpoints, g or not_fixed(), *ports)
    if h is None:
        h = global_of_group(a) if a else global_of_endpoints(_known(p))
    p = p or endpoints_of_global(h)
    a = a or routers_of_group(p, h)
    return Shape(p, a, h, g or groups_for(endpoints, a, p))


def _known(figure: Figure | None) -> Figure:
    if figure is None:
        raise ValueError("it is known by now")
    return figure


def _fabric(
    demand: Demand, nic_ports: Figure, endpoints: Figure, ports: Ports, shape: Shape, fixed: Mapping[str, Figure]
) -> Fabric:
    p, a, h, g = shape
    rates = demand.rates
    between = links_between(a, h, g)
    group_ports = global_ports_of_group(between, g)
    local, outer = local_ports(a), global_ports(group_ports, a)
    less, longer = fewer_global_ports(group_ports, a), routers_with_more(group_ports, a)
    count = routers(a, g)
    up, up_less = ports_to_routers(local, outer), ports_to_routers(local, less)
    fitted, free = [], None
    for first, last, down in _rows(demand.exact, endpoints, p, count):
        more = routers_in_row(first, last, a, longer)
        for switches, links_up in ((more, up), (others_in_row(first, last, more), up_less)):
            if switches.value:
                fitted.append(Fitted(switches, down, links_up))
    everyone = routers_in_row(none(), count, a, longer)
    for switches, global_ in ((everyone, outer), (others_in_row(none(), count, everyone), less)):
        if switches.value:
            room_here = ports_of_routers(switches, ports_for_endpoints(*ports, local, global_))
            free = room_here if free is None else ports_of_all(free, room_here)
    cabled = without_reserved(endpoints, demand.reserved_ports) if demand.reserved_ports else endpoints
    links = [Links("server-leaf", endpoints, cabled, rates["server-leaf"], ("server", "leaf"))]
    for kind, joined, of_router in (
        ("local", local_links(a, g), local),
        ("global", global_links(between, g), outer),
    ):
        if joined.value:
            links.append(Links(kind, joined, joined, rates[kind], ("leaf", "leaf"), of_router))
    dimensions = {
        "endpoints_per_switch": p,
        "switches_per_group": a,
        "global_links_per_switch": h,
        "groups": g,
    }
    if group_ports.value:
        dimensions["links_between_groups"] = between
        dimensions["group_oversubscription"] = ratio_of_group(a, p, rates["server-leaf"], group_ports, rates["global"])
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=one_tier(),
        tiers=(Tier("leaf", demand.leaf.switch, count, ports.radix, p, up, tuple(fitted), None),),
        links=tuple(links),
        switches=count,
        bisection_gbps=bisection_at_least(
            nic_ports, p, a, outer, between, rates["server-leaf"], rates["local"], rates["global"]
        ),
        hops=switches_on_the_way(a, g),
        largest=largest_of(p, a, h) if {"p", "a", "h"} & set(fixed) else largest_balanced(*ports),
        free_ports={"leaf": free_ports(_known(free), endpoints)},
        dimensions=dimensions,
        exact_bisection=False,
    )


def _rows(exact: bool, endpoints: Figure, p: Figure, count: Figure) -> Iterator[tuple[Figure, Figure, Figure]]:
    """Routers in order that are filled alike: the first of them, the first after them, ports for endpoints."""
    if not exact:
        yield none(), count, p
        return
    full, used = full_routers(endpoints, p), routers_in_use(endpoints, p)
    for first, last, down in (
        (none(), full, p),
        (full, used, rest_of_endpoints(endpoints, p)),
        (used, count, no_endpoints()),
    ):
        if last.value > first.value:
            yield first, last, down


# plain numbers ------------------------------------------------------------------------------------------------------


def room(radix: int, local_radix: int, global_radix: int, cages: int, local: int, outer: int) -> int:
    """Links to servers that fit on a router beside local and global ones; `cages` hold all, 0: all have one rate.

    A cage holds links of one rate.
    """
    if not cages:
        return radix - local - outer
    ports = {radix: 0, local_radix: 0, global_radix: 0}
    ports[local_radix] += local
    ports[global_radix] += outer
    beside = ports.pop(radix)
    filled = sum(ceil(used / (at_rate // cages)) for at_rate, used in ports.items())
    return (cages - filled) * (radix // cages) - beside


def most_balanced(radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints a router of the largest balanced dragonfly that a switch allows; 0 when there is none."""
    size = 0
    while size + 1 <= room(radix, local_radix, global_radix, cages, 2 * (size + 1) - 1, size + 1):
        size += 1
    return size


def capacity(size: int, groups: int = 0) -> int:
    """Endpoints of a balanced dragonfly with `size` endpoints a router, in so many groups; 0: in all there can be."""
    of_group = 2 * size * size
    return of_group * (groups or of_group + 1) if groups <= of_group + 1 else 0


def best_balanced(endpoints: int, groups: int, radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints a router of the balanced dragonfly with the fewest routers, then links; 0 when none is large enough."""
    found = []
    for size in range(1, most_balanced(radix, local_radix, global_radix, cages) + 1):
        if capacity(size, groups) >= endpoints:
            a = 2 * size
            g = groups or ceil(endpoints / (a * size))
            between = a * size // (g - 1) if g > 1 else 0
            links = a * (a - 1) // 2 * g + between * (g * (g - 1) // 2)
            found.append((a * g, links, size))
    return min(found)[-1] if found else 0


def filled_in(numbers: Mapping[str, int], endpoints: int) -> tuple[int, int, int, int]:
    """p, a, h and g from those of them that are given, one of p, a and h at least."""
    p, a, h, g = (numbers.get(letter, 0) for letter in LETTERS)
    h = h or (max(a // 2, 1) if a else p)
    p = p or h
    a = a or 2 * max(p, h)
    return p, a, h, g or ceil(endpoints / (a * p))


def _works(numbers: Mapping[str, int], endpoints: int, ports: tuple[int, int, int, int]) -> bool:
    """Whether a dragonfly with these numbers fits its routers and holds the endpoints."""
    p, a, h, g = filled_in(numbers, endpoints)
    return p <= room(*ports, a - 1, h) and g <= a * h + 1 and endpoints <= a * p * g


def _check(demand: Demand, endpoints: Figure, ports: Ports, fixed: Mapping[str, Figure]) -> None:
    """Raise Infeasible when no dragonfly has the numbers that the plan fixes and carries the endpoints."""
    values = ports.values
    switch, wanted = demand.leaf.switch.identity.name, _spaced(endpoints.value)
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
        message = f"{wanted} endpoints; {what} of {switch} reach{'' if groups else 'es'} {_spaced(reached)}"
        raise Infeasible(f"{message}: at most {_servers(demand, reached)} servers", because=endpoints)
    given = {letter: int(figure.value) for letter, figure in fixed.items()}
    if _works(given, endpoints.value, values):
        return
    p, a, h, g = filled_in(given, endpoints.value)
    local = a - 1
    if p > room(*values, local, h):
        broke = max((letter for letter in given if letter != "g"), key=lambda letter: given[letter])
        rate = demand.rates["server-leaf"].value
        message = f"p + a - 1 + h = {p} + {local} + {h} ports of a router; a {switch} has {values[0]} at {rate} Gb/s"
        rule = "ports"
    elif g > a * h + 1 and "g" in given:
        broke, rule = "g", "groups"
        message = f"{g} groups; {a} routers of {h} global links each reach {a * h} others"
    else:
        groups = min(g, a * h + 1)
        reached = a * p * (given.get("g") or a * h + 1)
        broke = "g" if "g" in given else next(iter(given))
        message = f"{wanted} endpoints; {groups} groups of {a} routers with {p} endpoints each hold {_spaced(reached)}"
        rule = "infeasible"
        message += f": at most {_servers(demand, reached)} servers"
    nearest = _nearest(given, broke, endpoints.value, values)
    raise Infeasible(f"{message}; {nearest}", because=fixed[broke], rule=rule)


def _nearest(given: Mapping[str, int], broke: str, endpoints: int, ports: tuple[int, int, int, int]) -> str:
    """The nearest value of a number, first of the one that broke, that works beside the others that are given."""
    for letter in (broke, *(letter for letter in given if letter != broke)):
        value = given[letter]
        works = [each for each in _tried(given, letter, endpoints, ports) if each != value]
        works = [each for each in works if _works({**given, letter: each}, endpoints, ports)]
        if works:
            return f"`{letter}: {min(works, key=lambda each: (abs(each - value), each))}` works"
    return "leave p, a, h and g to the rules"


def _tried(given: Mapping[str, int], letter: str, endpoints: int, ports: tuple[int, int, int, int]) -> Iterable[int]:
    """The values of a number that can work: no more than a router has ports; groups from the need to all there can be.

    Of groups the fewest and the most stand for all between them.
    """
    if letter != "g":
        return range(1, ports[0] + 1)
    p, a, h, _ = filled_in(given, endpoints)
    return ceil(endpoints / (a * p)), a * h + 1


def _servers(demand: Demand, reached: int) -> int:
    """Whole servers of so many endpoints, beside hosts and reserved ports."""
    others = sum(figure.value for figure in (demand.host_ports, demand.reserved_ports) if figure)
    return max(int((reached - others) // demand.ports_per_server.value), 0)


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def flow_at_least(
    nic_ports: int, p: int, a: int, outer: int, between: int, endpoint_gbps: int, local_gbps: int, global_gbps: int
) -> Fraction:
    """A flow between the halves of endpoints that fill routers of `p` and groups of `a` routers in order [Gb/s].

    Groups before the middle send to groups behind it over the links between them; the group in the middle, if there is
    one, sends to itself, to the groups behind, and hears from those before. Inside a group everything is shared out in
    proportion: what leaves over a router's global links comes from all routers alike. A router has `outer` global links
    at most, so a local link then carries at most `outer / (routers that share)` of what a global link does, wherever
    the global links are attached. In the middle group three uses share the local links; quarters of them are tried.
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
        """What each global link may carry so that a share of the local links of these endpoints' routers suffices."""
        return min(Fraction(global_gbps), share * local_gbps * max(Fraction(endpoints, p), Fraction(1)) / ways)

    whole = Fraction(1)
    into_full, into_last = passed(size, whole), passed(last, whole)
    best = Fraction(0)
    for meeting, leaving, coming in _shares():
        routers_first, routers_second = (max(Fraction(part, p), Fraction(1)) for part in (first, second))
        outward, inward = passed(first, leaving), passed(second, coming)
        of_before = (
            before * between * inward if second else Fraction(0),
            before * full * between * into_full,
            before * between * into_last,
        )
        of_middle = (
            meeting * local_gbps * routers_first * routers_second,
            full * between * outward,
            between * min(outward, into_last),
        )
        supply = [Fraction(count * endpoint_gbps) for count in (before * size, first)]
        need = [Fraction(count * endpoint_gbps) for count in (second, full * size, last)]
        best = max(best, _transported(supply, need, (of_before, of_middle)))
    return best + met * endpoint_gbps


def _shares() -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    for one in range(SHARES + 1):
        for other in range(SHARES + 1 - one):
            yield Fraction(one, SHARES), Fraction(other, SHARES), Fraction(SHARES - one - other, SHARES)


def _transported(
    supply: list[Fraction], need: list[Fraction], ways: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
) -> Fraction:
    """Max-flow from two sources straight to several sinks, as the smallest of its cuts."""
    cuts = []
    for kept in ((), (0,), (1,), (0, 1)):
        left = sum((supply[source] for source in (0, 1) if source not in kept), Fraction(0))
        cut = (
            min(wanted, sum((ways[source][sink] for source in kept), Fraction(0))) for sink, wanted in enumerate(need)
        )
        cuts.append(left + sum(cut, Fraction(0)))
    return min(cuts)
