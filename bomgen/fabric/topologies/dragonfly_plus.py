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
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, require
from bomgen.fabric.clos.build import ports_left_in_cages
from bomgen.fabric.clos.occupancy import fit_switches, kinds_of_leaves
from bomgen.fabric.clos.shape import bandwidth, links_up
from bomgen.fabric.declaration import LEAF_SPINE, SERVER_LEAF, Connections, LinkKind, TierRows, Topology
from bomgen.fabric.dragonfly import dragonfly, dragonfly_plus
from bomgen.fabric.dragonfly.dragonfly import option
from bomgen.fabric.dragonfly.dragonfly_plus import (
    FIRST_GIVEN,
    LETTERS,
    SwitchPorts,
    best_balanced,
    capacity,
    fill_in_numbers,
    is_feasible,
    most_balanced,
    nearest_feasible,
)
from bomgen.fabric.ports import radix, shared_cages
from bomgen.fabric.requirements import (
    UNSET,
    all_endpoints,
    attached_ports,
    group_thousands,
    seat_in_order,
    servers_among,
    two_tiers,
)
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier

if TYPE_CHECKING:
    from bomgen.fabric.links.patterns import Seats

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


class LeafSpineGroups(NamedTuple):
    """Equal groups, as figures."""

    groups: Figure
    a: Figure
    s: Figure
    parallel: Figure | None
    """Links between a leaf and a spine; None: one."""
    group_ports: Figure
    """Global ports that a group uses."""

    @property
    def up(self) -> Figure:
        """Uplinks of a leaf."""
        return dragonfly_plus.ports_of_parallel(self.s, self.parallel) if self.parallel else self.s

    @property
    def down(self) -> Figure:
        """Downlinks of a spine."""
        return dragonfly_plus.ports_of_parallel(self.a, self.parallel) if self.parallel else self.a

    @property
    def leaves(self) -> Figure:
        """Leaves of all its groups."""
        return dragonfly_plus.switches_of_tier(self.a, self.groups)

    @property
    def spines(self) -> Figure:
        """Spines of all its groups."""
        return dragonfly_plus.switches_of_tier(self.s, self.groups)

    @property
    def links(self) -> Figure:
        """Links inside all its groups."""
        if self.parallel is None:
            return dragonfly_plus.links_inside(self.a, self.s, self.groups)
        return links_up(self.leaves, self.up)


def build(demand: Demand) -> Fabric:
    """Return the balanced dragonfly+ with the lowest switch count, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    endpoints, attached = all_endpoints(demand), attached_ports(demand)
    ports = _ports(demand)
    given = {key: figure for key, figure in demand.options.items() if isinstance(figure, Figure)}
    fixed = {letter: figure for letter, figure in given.items() if letter in LETTERS}
    parallel = given.get(PARALLEL)
    values = SwitchPorts(*(figure.value for figure in ports))
    _check(demand, UNSET if OTHER_GROUPS in given else endpoints, values, fixed, parallel)
    p, a, s, h, g = _shape(endpoints, ports, fixed)
    between, to_others, kinds = _kinds(a, s, h, g, parallel, given)
    if len(kinds) > 1:
        _check_others(demand, endpoints, values, p, h, g, kinds)
    first, last = kinds[0], kinds[-1]
    down_gbps, up_gbps, global_gbps = (demand.rates[kind.name] for kind in (SERVER_LEAF, LEAF_SPINE, SPINE_SPINE))
    leaves, spines, inside = first.leaves, first.spines, first.links
    up, spine_down = first.up, first.down
    outer, outside = _outer(first), dragonfly.global_links(between, first.groups)
    if len(kinds) > 1:
        leaves, spines = (dragonfly.all_routers(*pair) for pair in ((leaves, last.leaves), (spines, last.spines)))
        inside = dragonfly.all_links(inside, last.links)
        outside = dragonfly.all_links(outside, dragonfly.links_of_small(to_others, last.groups, first.groups))
        pairs = ((up, last.up), (spine_down, last.down), (outer, _outer(last)))
        up, spine_down, outer = (dragonfly.most_ports(*pair) for pair in pairs)
    seats = seat_in_order(demand, leaves, p, up)
    exact = demand.populate_used_ports_only
    on_leaves = tuple(Fitted(kind.leaves, p, kind.up) for kind in kinds)
    if len(kinds) > 1:
        seats = dragonfly_plus.seats_of_groups(seats, first.leaves, first.up, last.up)
        on_leaves = tuple(fit_switches(dragonfly_plus.kinds_in_order(seats), has_up=True)) if exact else on_leaves
    elif exact:
        on_leaves = tuple(fit_switches(kinds_of_leaves(seats), has_up=True))
    links = [
        Links(SERVER_LEAF.name, endpoints, attached, down_gbps, SERVER_LEAF.ends),
        Links(LEAF_SPINE.name, inside, inside, up_gbps, LEAF_SPINE.ends, parallel=_parallel(kinds)),
    ]
    dimensions = {
        "endpoints_per_leaf": p,
        LEAVES: a,
        SPINES: s,
        "global_links_per_spine": h,
        GROUPS: g,
        "leaf_oversubscription": dragonfly_plus.ratio_of_leaf(p, down_gbps, first.up, up_gbps),
    }
    if parallel:
        dimensions["leaf_spine_links"] = parallel
    if len(kinds) > 1:
        dimensions |= {OTHER_GROUPS: last.groups, OTHER_LEAVES: last.a, OTHER_SPINES: last.s, TO_OTHERS: to_others}
    if outside.value:
        links.append(Links(SPINE_SPINE.name, outside, outside, global_gbps, SPINE_SPINE.ends, outer))
        dimensions[BETWEEN] = between
        dimensions["group_oversubscription"] = dragonfly.ratio_of_group(a, p, down_gbps, first.group_ports, global_gbps)
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=two_tiers(),
        tiers=(
            Tier("leaf", demand.leaf.switch, leaves, ports[0], p, up, on_leaves, None),
            Tier("spine", demand.spine.switch, spines, ports[3], spine_down, outer, tuple(_spines_alike(kinds)), None),
        ),
        links=tuple(links),
        switches=dragonfly_plus.all_switches(leaves, spines),
        bisection_gbps=_bisection(demand, attached, p, kinds, between),
        hops=dragonfly_plus.switches_on_the_way(a, g),
        largest=_largest(p, a, s, h, ports, fixed) if len(kinds) == 1 else None,
        free_ports={
            "leaf": dragonfly.free_ports(_free(kinds, ports[:3]), endpoints),
            "spine": _free_on_spines(kinds, ports[3:]),
        },
        growth=dragonfly.room_to_grow(leaves, p, endpoints),
        pods=g,
        dimensions=dimensions,
        seats=seats,
        exact_bisection=False,
    )


def _kinds(
    a: Figure, s: Figure, h: Figure, g: Figure, parallel: Figure | None, given: Mapping[str, Figure]
) -> tuple[Figure, Figure, tuple[LeafSpineGroups, ...]]:
    """Return the links between two groups, those to one of the last, and the groups by size. Raises Infeasible."""
    others = [given.get(key) for key in (OTHER_GROUPS, "other_a", "other_s")]
    named = next((figure for figure in (*others, given.get("other_parallel")) if figure), None)
    if named is None:
        between = dragonfly.links_between(s, h, g)
        return between, between, (LeafSpineGroups(g, a, s, parallel, dragonfly.global_ports_of_group(between, g)),)
    if None in others or not set(LETTERS) <= set(given):
        message = (
            "other groups need all numbers of the shape; set p, a, s, h, g, `other_groups`, `other_a` and `other_s`"
        )
        raise Infeasible(message, because=named, rule="groups")
    groups, other_a, other_s = (require(figure, "checked before") for figure in others)
    if groups.value >= g.value:
        message = f"{groups.value} other groups are too many for {g.value} groups"
        raise Infeasible(
            f"{message}; write `other_groups: {max(g.value - 1, 1)}` or fewer", because=groups, rule="groups"
        )
    large = dragonfly.large_groups(g, groups)
    to_others = dragonfly_plus.links_to_group(s, other_s, h, g)
    between = dragonfly.links_between_large(s, h, large, groups, to_others)
    ports = dragonfly.global_ports_of_large(between, large, to_others, groups)
    last = LeafSpineGroups(
        groups, other_a, other_s, given.get("other_parallel"), dragonfly.global_ports_of_group(to_others, g)
    )
    return between, to_others, (LeafSpineGroups(large, a, s, parallel, ports), last)


def _check_others(
    demand: Demand,
    endpoints: Figure,
    ports: SwitchPorts,
    p: Figure,
    h: Figure,
    g: Figure,
    kinds: tuple[LeafSpineGroups, ...],
) -> None:
    first, last = kinds
    each = ports._replace(parallel=last.parallel.value if last.parallel else 1)
    leaf, spine = (tier.switch.identity.name for tier in (demand.leaf, demand.spine))
    if p.value > each.left_on_leaf(last.s.value):
        message = f"a leaf of the other groups has {last.up.value} links to spines, and p is {p.value}"
        raise Infeasible(f"{message}, which exceeds the ports of a {leaf}; set a smaller `other_s`", last.s, "ports")
    most = each.left_on_spine(h.value)
    if last.a.value > most:
        message = f"a spine of the other groups, a {spine}, has ports for {most} leaves; write `other_a: {most}`"
        raise Infeasible(message, because=last.a, rule="ports")
    if last.s.value * h.value < g.value - 1:
        least = -(-(g.value - 1) // h.value)
        message = f"{last.s.value} spines with {h.value} global links each reach {last.s.value * h.value} groups"
        raise Infeasible(f"{message}; write `other_s: {least}`", because=last.s, rule="groups")
    held = p.value * (first.leaves.value + last.leaves.value)
    if held < endpoints.value:
        message = f"{group_thousands(endpoints.value)} endpoints; the groups hold {group_thousands(held)}"
        raise Infeasible(f"{message}: at most {servers_among(demand, held)} servers", because=endpoints)


def _parallel(kinds: tuple[LeafSpineGroups, ...]) -> Figure | None:
    """Return the common divisor of leaf-to-spine links of unequal groups; None where all groups are equal."""
    if len(kinds) == 1:
        return None
    one, other = (kind.parallel or dragonfly_plus.one_link() for kind in kinds)
    return dragonfly_plus.links_in_common(one, other)


def _outer(kind: LeafSpineGroups) -> Figure:
    return dragonfly.global_ports(kind.group_ports, kind.s)


def _spines_alike(kinds: tuple[LeafSpineGroups, ...]) -> Iterator[Fitted]:
    for kind in kinds:
        spines, longer = kind.spines, dragonfly.routers_with_more(kind.group_ports, kind.s)
        more = dragonfly.routers_in_row(dragonfly.zero(), spines, kind.s, longer)
        others = dragonfly.others_in_row(dragonfly.zero(), spines, more)
        for number, up in ((more, _outer(kind)), (others, dragonfly.fewer_global_ports(kind.group_ports, kind.s))):
            if number.value:
                yield Fitted(number, kind.down, up)


def _largest(
    p: Figure, a: Figure, s: Figure, h: Figure, ports: tuple[Figure, ...], fixed: Mapping[str, Figure]
) -> Figure:
    return dragonfly_plus.largest_of(p, a, s, h) if set(fixed) - {"g"} else dragonfly_plus.largest_balanced(*ports)


def _bisection(
    demand: Demand, attached: Figure, p: Figure, kinds: tuple[LeafSpineGroups, ...], between: Figure
) -> Figure:
    """Return the bound on the flow over the first groups; none where servers are on others."""
    first = kinds[0]
    if len(kinds) > 1 and attached.value > first.leaves.value * p.value:
        return dragonfly.unknown_bound()
    down_gbps, up_gbps, global_gbps = (demand.rates[kind.name] for kind in (SERVER_LEAF, LEAF_SPINE, SPINE_SPINE))
    if first.parallel:
        up_gbps = bandwidth(first.parallel, up_gbps)
    shape = (p, first.a, first.s, _outer(first), between)
    return dragonfly_plus.bisection_at_least(attached, *shape, down_gbps, up_gbps, global_gbps)


def _free(kinds: tuple[LeafSpineGroups, ...], ports: tuple[Figure, ...]) -> Figure:
    found = [dragonfly.ports_of_routers(kind.leaves, ports_left_in_cages(kind.up, *ports)) for kind in kinds]
    return dragonfly.ports_of_all(*found) if len(found) > 1 else found[0]


def _free_on_spines(kinds: tuple[LeafSpineGroups, ...], ports: tuple[Figure, ...]) -> Figure:
    found = [
        dragonfly_plus.free_on_spines(kind.spines, ports_left_in_cages(_outer(kind), *ports), kind.down)
        for kind in kinds
    ]
    return dragonfly.ports_of_all(*found) if len(found) > 1 else found[0]


def _ports(demand: Demand) -> tuple[Figure, ...]:
    """Return the ports of a leaf and of a spine at their link rates, and their shared cages, as `SwitchPorts`."""
    down, up, outer = (demand.rates[kind.name] for kind in (SERVER_LEAF, LEAF_SPINE, SPINE_SPINE))
    leaf, spine = demand.leaf.switch, demand.spine.switch
    return (
        *(radix(leaf, down), radix(leaf, up), shared_cages(leaf, down, up) or UNSET),
        *(radix(spine, up), radix(spine, outer), shared_cages(spine, up, outer) or UNSET),
    )


def _shape(endpoints: Figure, ports: tuple[Figure, ...], fixed: Mapping[str, Figure]) -> tuple[Figure, ...]:
    """Return p, a, s, h and g: those that the plan fixes, and the others by balance and demand."""
    first = next((fixed[letter] for letter in FIRST_GIVEN if letter in fixed), None)
    if first is None:
        others = dragonfly_plus.smallest_balanced(endpoints, fixed.get("g", UNSET), *ports)
    else:
        others = dragonfly_plus.as_many(first)
    p, a, s, h = (fixed.get(letter, others) for letter in LETTERS[:-1])
    return p, a, s, h, fixed.get("g") or dragonfly.groups_for(endpoints, a, p)


def _check(
    demand: Demand, endpoints: Figure, ports: SwitchPorts, fixed: Mapping[str, Figure], parallel: Figure | None
) -> None:
    if parallel:
        ports = ports._replace(parallel=int(parallel.value))
    wanted = group_thousands(endpoints.value)
    leaf, spine = (tier.switch.identity.name for tier in (demand.leaf, demand.spine))
    if not set(fixed) - {"g"}:
        if parallel:
            message = "`parallel` needs a given shape; add `s:`, the spines per group"
            raise Infeasible(message, because=parallel, rule="groups")
        groups = fixed["g"].value if fixed else 0
        if best_balanced(endpoints.value, groups, ports):
            return
        largest = most_balanced(ports)
        reached = max((capacity(size, groups) for size in range(1, largest + 1)), default=0)
        what = f"{groups} groups of a balanced dragonfly+" if groups else "a balanced dragonfly+"
        message = f"{wanted} endpoints; {what} of {leaf} reach{'' if groups else 'es'} {group_thousands(reached)}"
        raise Infeasible(
            f"{message}: at most {servers_among(demand, reached)} servers", because=fixed.get("g") or endpoints
        )
    given = {letter: int(figure.value) for letter, figure in fixed.items()}
    broke: str
    if is_feasible(given, endpoints.value, ports):
        return
    p, a, s, h, g = fill_in_numbers(given, endpoints.value).values()
    if p > ports.left_on_leaf(s):
        broke, rule = next(letter for letter in ("p", "s", "a", "h") if letter in given), "ports"
        up, left = s * ports.parallel, ports.left_on_leaf(s)
        message = f"a leaf with {up} links to spines has {left} ports of a {leaf} left, and p is {p}"
    elif a > ports.left_on_spine(h):
        broke, rule = next(letter for letter in ("h", "a", "s", "p") if letter in given), "ports"
        left = ports.left_on_spine(h) * ports.parallel
        message = f"a spine with {h} global links has {left} ports of a {spine} left, and a is {a}"
    elif g > s * h + 1 and "g" in given:
        broke, rule = "g", "groups"
        message = f"{g} groups; {s} spines of {h} global links each reach {s * h} others"
    else:
        reached = a * p * (given.get("g") or s * h + 1)
        broke, rule = "g" if "g" in given else next(iter(given)), "infeasible"
        groups, held = given.get("g") or s * h + 1, group_thousands(reached)
        message = f"{wanted} endpoints; {groups} groups of {a} leaves with {p} endpoints each hold {held}"
        message += f": at most {servers_among(demand, reached)} servers"
    remedy = nearest_feasible(given, broke, endpoints.value, ports)
    raise Infeasible(f"{message}; {remedy}", because=fixed[broke], rule=rule)


def connect(plane: Fabric, seats: Seats | None) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the links from every leaf to every spine of its group and the global links between groups."""
    from bomgen.fabric.links.patterns import GroupSizes, connect_groups, connect_spines_of_groups

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
