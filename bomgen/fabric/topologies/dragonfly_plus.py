"""The dragonfly+: groups of leaves and spines, fully linked inside; spines link every group with every other.

Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB
2017: p endpoints per leaf, a leaves and s spines per group with one link between every leaf and every spine, or several
in parallel, h global links per spine, g groups, at most s h + 1. The last groups may have other numbers of leaves and
spines, like those of JUPITER for CPU nodes and services. Balanced means p = a = s = h; of all balanced ones that carry
the demand the one with the lowest switch count is built, then the one with the fewest links. Endpoints fill leaf after
leaf. Every pair of equal groups has the same integer number of global links, spread over the spines of a group as
evenly as possible; leftover global ports stay free. The bisection is a lower bound, as for the dragonfly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, applied, divided_up, greatest, least, step, trace, values_of
from bomgen.fabric.occupancy import (
    UNSET,
    Occupancy,
    all_endpoints,
    attached_ports,
    fit_switches,
    group_thousands,
    kinds_of_leaves,
    ratio_built,
    seat_in_order,
    servers_among,
    split_into_pods,
)
from bomgen.fabric.ports import ports_left_down, radix, shared_cages
from bomgen.fabric.topologies.dragonfly import (
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
)
from bomgen.fabric.types import (
    LEAF_SPINE,
    SERVER_LEAF,
    Connections,
    Demand,
    Fabric,
    Fitted,
    LinkKind,
    Links,
    Tier,
    TierRows,
    Topology,
)

if TYPE_CHECKING:
    from bomgen.fabric.links import Seats

NAME = "dragonfly+"

LIMITS = (
    "a p (s h + 1) endpoints in groups of a leaves with p endpoints and s spines with h global links each; balanced "
    "(p = a = s = h) 160 400 endpoints of 40-port switches"
)

DRAWING = """\
       group 1                  group 2
    spine   spine ---------- spine   spine     global links: all to all between groups
      |  \\ /  |      global    |  \\ /  |
      |   X   |                |   X   |       a link from every leaf to every spine of its group
      |  / \\  |                |  / \\  |
    leaf    leaf             leaf    leaf
    | | |   | | |            | | |   | | |
       servers                  servers
"""

SPINE_SPINE = LinkKind(
    *("spine-spine", ("spine", "spine"), "SS", "Spine to spine"),
    "Topology dragonfly+: global links, between the spines of different groups.",
    {"medium": "transceiver", "length": "50 m"},
)


PARALLEL = "parallel"


_EXAMPLES = {"p": (40, 16), "a": (18, 16), "s": (18, 16), "h": (22, 16), "g": (23, 9)}

OPTIONS: dict[str, Any] = {
    "title": "Dragonfly+",
    "description": "Topology dragonfly+: its numbers, as far as set; each is optional. Default: p = a = s = "
    "h, the fewest switches that carry the endpoints; where some are given, the others equal the first given of s, a, "
    "h and p.",
    "type": "object",
    "properties": {
        "p": option("Endpoints per leaf", "Server links per leaf.", *_EXAMPLES["p"]),
        "a": option("Leaves per group", "Leaves per group, each linked to all spines of the group.", *_EXAMPLES["a"]),
        "s": option("Spines per group", "Spines per group, each linked to all leaves of the group.", *_EXAMPLES["s"]),
        "h": option("Global links per spine", "Links per spine to other groups.", *_EXAMPLES["h"]),
        "g": option("Groups", "Groups, at most s h + 1. Default: as many as the endpoints need.", *_EXAMPLES["g"]),
        PARALLEL: option("Parallel links", "Links between a leaf and a spine of its group. Default: 1.", 2),
        "other_groups": option(
            "Other groups", "Number of groups, the last of g, with other sizes. Requires p, a, s, h and g.", 2
        ),
        "other_a": option("Leaves per other group", "Leaves of each other group.", 14),
        "other_s": option("Spines per other group", "Spines of each other group.", 32),
        "other_parallel": option(
            "Parallel links in other groups", "Links between a leaf and a spine in the other groups. Default: 1.", 1
        ),
    },
    "minProperties": 1,
    "additionalProperties": False,
    "examples": [dict(zip(_EXAMPLES, column, strict=True)) for column in zip(*_EXAMPLES.values(), strict=True)],
}

BETWEEN, TO_OTHERS = "links_between_groups", "links_to_other_groups"
GROUPS, OTHER_GROUPS = "groups", "other_groups"
LEAVES, OTHER_LEAVES = "leaves_per_group", "leaves_per_other_group"
SPINES, OTHER_SPINES = "spines_per_group", "spines_per_other_group"
"""Dimensions of the fabric."""
OTHERS = (PARALLEL, OTHER_GROUPS, "other_a", "other_s", "other_parallel")
"""The options besides the letters."""


SOURCE = "Shpiner et al., Dragonfly+: Low Cost Topology for Scaling Datacenters, HiPINEB 2017"
BALANCED = f"{SOURCE}: leaves and spines have half their ports on either side"
EVEN_FLOW = "a flow that every even attachment of the global links carries; leaves share out what they send"
LETTERS = Shape._fields
FIRST_GIVEN = ("s", "a", "h", "p")
"""Numbers that the plan leaves open equal the first of these that it sets."""
BETWEEN_GROUPS = 4
"""Switches between the farthest endpoints of two groups: a leaf and a spine of each."""


class DragonflyPlusDemand(NamedTuple):
    """What the counts depend on, as figures or numbers; None: the plan leaves it open.

    The ports of a leaf and of a spine are those at the rates of their links, and the cages that links of both share.
    """

    endpoints: Any
    nic_ports: Any
    p: Any
    a: Any
    s: Any
    h: Any
    g: Any
    parallel: Any
    """Links between a leaf and a spine of its group."""
    other_groups: Any
    other_a: Any
    other_s: Any
    other_parallel: Any
    leaf_down: Any
    leaf_up: Any
    leaf_cages: Any
    spine_down: Any
    spine_global: Any
    spine_cages: Any
    endpoint_gbps: Any
    up_gbps: Any
    global_gbps: Any

    @property
    def of_leaf(self) -> tuple[Any, Any, Any]:
        """The ports of a leaf down and up, and its cages."""
        return self.leaf_down, self.leaf_up, self.leaf_cages

    @property
    def of_spine(self) -> tuple[Any, Any, Any]:
        """The ports of a spine down and to other groups, and its cages."""
        return self.spine_down, self.spine_global, self.spine_cages


class GroupCounts(NamedTuple):
    """The counts of equal groups."""

    leaves: Any
    spines: Any
    up: Any
    down: Any
    outer: Any
    """Global ports of the spine with most."""
    links: Any
    room: Any
    """Ports for endpoints."""
    room_of_spines: Any
    """Ports of spines for further leaves."""


def build(demand: Demand) -> Fabric:
    """Return the balanced dragonfly+ with the lowest switch count, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    given = {key: figure for key, figure in demand.options.items() if isinstance(figure, Figure)}
    down, up, outer = rates = [demand.rates[kind.name] for kind in (SERVER_LEAF, LEAF_SPINE, SPINE_SPINE)]
    leaf, spine = demand.leaf.switch, demand.spine.switch
    of_leaf = (radix(leaf, down), radix(leaf, up), shared_cages(leaf, down, up) or UNSET)
    of_spine = (radix(spine, up), radix(spine, outer), shared_cages(spine, up, outer) or UNSET)
    numbers = (given.get(key) for key in (*LETTERS, *OTHERS))
    endpoints = all_endpoints(demand), attached_ports(demand)
    d = DragonflyPlusDemand._make((*endpoints, *numbers, *of_leaf, *of_spine, *rates))
    plain = values_of(d)
    _check(demand, plain, UNSET if OTHER_GROUPS in given else d.endpoints, given)
    _check_others(demand, fill_in(plain), d.endpoints, given)
    return trace(_count, demand, d)


def fill_in(d: DragonflyPlusDemand) -> DragonflyPlusDemand:
    """Return a demand with the numbers that the plan leaves open: by balance, groups by the endpoints."""
    balanced = next((getattr(d, letter) for letter in FIRST_GIVEN if getattr(d, letter)), None)
    if not balanced:
        ports = applied(smallest_balanced, d.endpoints, d.g or 0, *d.of_leaf, *d.of_spine)
        balanced = step("p", "links", ports, "Of the balanced dragonfly+ with the fewest switches.", BALANCED)
    p, a, s, h = (getattr(d, letter) or balanced for letter in LETTERS[:-1])
    g = d.g or step("g", "groups", divided_up(d.endpoints, a * p), "Groups needed for the endpoints.")
    return d._replace(p=p, a=a, s=s, h=h, g=g)


def smallest_balanced(endpoints: int, groups: int, *ports: Any) -> int:
    """Return p = a = s = h of the balanced dragonfly+ with the fewest switches; 0 when all are too small."""
    return best_balanced(endpoints, groups, most_of_switches(*ports), 1)


def most_of_switches(*ports: Any) -> int:
    """Return p = a = s = h of the largest balanced dragonfly+ that the switches allow; 0 when there is none."""
    return most_balanced(lambda size: size <= min(ports_left_down(size, *of) for of in (ports[:3], ports[3:])))


def largest_balanced(*ports: Any) -> int:
    """Return the endpoints of the largest balanced dragonfly+ of the switches."""
    return capacity(most_of_switches(*ports) ** 2)


def _count(demand: Demand, d: DragonflyPlusDemand) -> Fabric:
    given_shape = d.p or d.a or d.s or d.h
    d = fill_in(d)
    p, a, s, h, g = d.p, d.a, d.s, d.h, d.g
    joined = count_global_links(s, h, g, d.other_groups, d.other_s)
    shapes = [(joined.large, a, s, d.parallel, joined.ports)]
    if d.other_groups:
        shapes.append((d.other_groups, d.other_a, d.other_s, d.other_parallel, joined.last_ports))
    first, *others = kinds = [_count_groups(d, *shape) for shape in shapes]
    together = GroupCounts(*map(_combine, GroupCounts._fields, *kinds)) if others else first
    seats = seat_in_order(demand, together.leaves, p, together.up)
    parallel = None
    if others:
        seats = applied(link_up_groups, seats, first.leaves, first.up, step("other_up", "ports", others[0].up))
        seats = step("occupancy", "occupancy", seats, "With the uplinks of the first and of the last groups.")
        common = applied(gcd, d.parallel or 1, d.other_parallel or 1)
        parallel = step("parallel", "links", common, "Greatest common divisor of both sizes of groups.")
    on_leaves = [Fitted(kind.leaves, p, kind.up) for kind in kinds]
    if demand.populate_used_ports_only:
        on_leaves = [*fit_switches(applied(kinds_of_leaves, seats), has_up=True)]
    of_spines = (
        applied(kinds_of_switches, groups, spines, ports, kind.down)
        for (groups, _, spines, _, ports), kind in zip(shapes, kinds, strict=True)
    )
    on_spines = [fitted for of_kind in of_spines for fitted in fit_switches(of_kind, has_up=True)]
    links = [
        Links(SERVER_LEAF.name, d.endpoints, d.nic_ports, d.endpoint_gbps, SERVER_LEAF.ends),
        Links(LEAF_SPINE.name, together.links, together.links, d.up_gbps, LEAF_SPINE.ends, parallel=parallel),
    ]
    dimensions = {"endpoints_per_leaf": p, LEAVES: a, SPINES: s, "global_links_per_spine": h, GROUPS: g}
    dimensions["leaf_oversubscription"] = ratio_built(p, d.endpoint_gbps, first.up, d.up_gbps)
    if d.parallel:
        dimensions["leaf_spine_links"] = d.parallel
    if others:
        dimensions |= {OTHER_GROUPS: d.other_groups, OTHER_LEAVES: d.other_a, OTHER_SPINES: d.other_s}
        dimensions[TO_OTHERS] = joined.to_last
    if joined.links:
        rate = d.global_gbps
        links.append(Links(SPINE_SPINE.name, joined.links, joined.links, rate, SPINE_SPINE.ends, together.outer))
        dimensions[BETWEEN] = joined.between
        dimensions["group_oversubscription"] = ratio_built(a * p, d.endpoint_gbps, joined.ports, rate)
    flow = 0
    if not others or d.nic_ports <= first.leaves * p:
        up_gbps = d.up_gbps * d.parallel if d.parallel else d.up_gbps
        rates = d.endpoint_gbps, up_gbps, d.global_gbps, s
        flow = applied(flow_at_least, d.nic_ports, p, a, first.outer, joined.between, *rates)
    ports = *d.of_leaf, *d.of_spine
    largest = a * p * (s * h + 1) if given_shape else applied(largest_balanced, *ports)
    free = step("free_ports", "ports", together.room - d.endpoints, "Unused endpoint ports.")
    leaf, spine = demand.leaf.switch, demand.spine.switch
    return Fabric(
        topology=NAME,
        endpoints=d.endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=step("tiers", "tiers", 2, "Leaves and spines."),
        tiers=(
            Tier("leaf", leaf, together.leaves, d.leaf_down, p, together.up, tuple(on_leaves), None),
            Tier("spine", spine, together.spines, d.spine_down, together.down, together.outer, tuple(on_spines), None),
        ),
        links=tuple(links),
        switches=step("switches", "switches", together.leaves + together.spines, "Leaves and spines together."),
        bisection_gbps=step("bisection_gbps", "Gb/s", flow, "Lower bound on the maximum flow.", EVEN_FLOW),
        hops=step(
            "hops", "switches", BETWEEN_GROUPS if g > 1 else least(a, 2) * 2 - 1, "On the longest minimal route."
        ),
        largest=None if others else step("endpoints", "endpoints", largest, "Of the largest one.", SOURCE),
        free_ports={"leaf": free, "spine": together.room_of_spines},
        growth=step("growth", "ports", together.leaves * p - d.endpoints, "Unused endpoint ports of all leaves."),
        pods=g,
        dimensions=dimensions,
        seats=seats,
        exact_bisection=False,
    )


def _count_groups(d: DragonflyPlusDemand, groups: Any, a: Any, s: Any, parallel: Any, ports: Any) -> GroupCounts:
    """Return the counts of equal groups of `a` leaves and `s` spines, which use a number of global ports each."""
    up = step("up", "ports", s * parallel if parallel else s, "Uplinks of a leaf.")
    down = step("down", "ports", a * parallel if parallel else a, "Downlinks of a spine.")
    leaves = step("leaves", "switches", a * groups, "Leaves of all groups.")
    spines = step("spines", "switches", s * groups, "Spines of all groups.")
    outer = step("global_ports", "ports", divided_up(ports, s), "Global ports of the spine with most.")
    links = step("links", "links", leaves * up, "Links inside all groups.")
    room = step("ports", "ports", leaves * applied(ports_left_down, up, *d.of_leaf), "Ports for endpoints.")
    left = spines * (applied(ports_left_down, outer, *d.of_spine) - down)
    return GroupCounts(leaves, spines, up, down, outer, links, room, step("free_ports", "ports", left, "For leaves."))


def _combine(field: str, first: Any, last: Any) -> Any:
    """Return a count of groups of both sizes: the most ports of a switch, or the sum."""
    name, unit = first.written, first.inputs[0][1].unit
    more = step("more", unit, last)
    if field in ("up", "down", "outer"):
        return step(name, unit, greatest(first, more), "Of the switches with most.")
    return step(name, unit, first + more, "In groups of either size.")


def link_up_groups(occupancy: Occupancy, leaves: int, up: int, other_up: int) -> Occupancy:
    """Return the seats of leaves of which the first have other uplinks than the rest."""
    [row] = occupancy.rails
    first, last = split_into_pods(row, [leaves, sum(group.leaves for group in row) - leaves])
    first, last = ([group._replace(up=links) for group in part] for part, links in ((first, up), (last, other_up)))
    return occupancy._replace(rails=((*first, *last),))


def _check(demand: Demand, d: DragonflyPlusDemand, endpoints: Figure, given: Mapping[str, Figure]) -> None:
    leaf, spine = demand.leaf.switch.identity.name, demand.spine.switch.identity.name
    names = Names(NAME, leaf, "leaves", "spines", "p, a, s, h and g")
    if not set(FIRST_GIVEN) & set(given):
        if PARALLEL in given:
            message = "`parallel` needs a given shape; add `s:`, the spines per group"
            raise Infeasible(message, because=given[PARALLEL], rule="groups")
        check_balanced(demand, endpoints, given.get("g"), most_of_switches(*d.of_leaf, *d.of_spine), 1, names)
        return

    def choose_shape(numbers: Mapping[str, int]) -> Shape:
        full = fill_in(d._replace(endpoints=endpoints.value, **{letter: numbers.get(letter) for letter in LETTERS}))
        return Shape(full.p, full.a, full.s, full.h, full.g)

    def lacks_ports(shape: Shape) -> tuple[str, str] | None:
        up, parallel = shape.s * (d.parallel or 1), d.parallel or 1
        left, left_on_spine = ports_left_down(up, *d.of_leaf), ports_left_down(shape.h, *d.of_spine) // parallel
        if shape.p > left:
            text = f"a leaf with {up} links to spines has {left} ports of a {leaf} left, and p is {shape.p}"
            return next(letter for letter in "psah" if letter in given), text
        if shape.a > left_on_spine:
            ports = f"{left_on_spine * parallel} ports of a {spine} left"
            text = f"a spine with {shape.h} global links has {ports}, and a is {shape.a}"
            return next(letter for letter in "hasp" if letter in given), text
        return None

    fixed = {letter: given[letter] for letter in given if letter in LETTERS}
    refuse_shape(demand, endpoints, fixed, choose_shape, lacks_ports, max(d.leaf_down, d.spine_down), names)


def _check_others(demand: Demand, d: DragonflyPlusDemand, endpoints: Figure, given: Mapping[str, Figure]) -> None:
    named = next((given[key] for key in OTHERS[1:] if key in given), None)
    if named is None:
        return
    if not set(LETTERS) <= set(given) or not set(OTHERS[1:-1]) <= set(given):
        message = (
            "other groups need all numbers of the shape; set p, a, s, h, g, `other_groups`, `other_a` and `other_s`"
        )
        raise Infeasible(message, because=named, rule="groups")
    groups, other_a, other_s = (given[key] for key in OTHERS[1:-1])
    if groups.value >= d.g:
        message = f"{groups.value} other groups are too many for {d.g} groups"
        raise Infeasible(f"{message}; write `other_groups: {max(d.g - 1, 1)}` or fewer", because=groups, rule="groups")
    leaf, spine = (tier.switch.identity.name for tier in (demand.leaf, demand.spine))
    parallel = d.other_parallel or 1
    if d.p > ports_left_down(d.other_s * parallel, *d.of_leaf):
        message = f"a leaf of the other groups has {d.other_s * parallel} links to spines, and p is {d.p}"
        raise Infeasible(f"{message}, which exceeds the ports of a {leaf}; set a smaller `other_s`", other_s, "ports")
    most = ports_left_down(d.h, *d.of_spine) // parallel
    if d.other_a > most:
        message = f"a spine of the other groups, a {spine}, has ports for {most} leaves; write `other_a: {most}`"
        raise Infeasible(message, because=other_a, rule="ports")
    if d.other_s * d.h < d.g - 1:
        message = f"{d.other_s} spines with {d.h} global links each reach {d.other_s * d.h} groups"
        raise Infeasible(f"{message}; write `other_s: {-(-(d.g - 1) // d.h)}`", because=other_s, rule="groups")
    held = d.p * (d.a * (d.g - groups.value) + d.other_a * groups.value)
    if held < endpoints.value:
        message = f"{group_thousands(endpoints.value)} endpoints; the groups hold {group_thousands(held)}"
        raise Infeasible(f"{message}: at most {servers_among(demand, held)} servers", because=endpoints)


def connect(plane: Fabric, seats: Seats | None) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the links from every leaf to every spine of its group and the global links between groups."""
    from bomgen.fabric.links import GroupSizes, connect_groups, connect_spines_of_groups

    groups, others = plane.dimension(GROUPS), plane.dimension(OTHER_GROUPS)
    spines = GroupSizes(groups, plane.dimension(SPINES), others, plane.dimension(OTHER_SPINES))
    leaves = GroupSizes(groups, plane.dimension(LEAVES), others, plane.dimension(OTHER_LEAVES))
    yield LEAF_SPINE, connect_spines_of_groups(seats, leaves, spines)
    if plane.links_of(SPINE_SPINE.name):
        yield SPINE_SPINE, connect_groups(spines, plane.dimension(BETWEEN), plane.dimension(TO_OTHERS))


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf", "spine"),
    link_kinds=(SERVER_LEAF, LEAF_SPINE, SPINE_SPINE),
    build=build,
    connect=connect,
    arrangement=TierRows(
        "dragonfly-group",
        last_pods=OTHER_GROUPS,
        links_to_last=TO_OTHERS,
        sizes={"leaf": (LEAVES, OTHER_LEAVES), "spine": (SPINES, OTHER_SPINES)},
    ),
    options=OPTIONS,
    endpoints_option="p",
)
