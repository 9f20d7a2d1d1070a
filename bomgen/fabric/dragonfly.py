"""Groups of switches, as a dragonfly and a dragonfly+ have them: balanced numbers, global links, a bound on the flow.

p are the endpoints of a switch, a the switches of a group with endpoints, s those with global links (in a dragonfly the
same), h the global links of each, g the groups. Of the ways to attach global links to switches nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import count
from math import ceil
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, least, step
from bomgen.fabric.occupancy import Kinds, group_thousands, servers_among
from bomgen.fabric.types import Demand

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
