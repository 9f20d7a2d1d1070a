"""The dragonfly+: groups of leaves and spines, fully linked inside; spines link every group with every other.

Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB
2017: p endpoints a leaf, a leaves and s spines a group with one link between every leaf and every spine, h global links
a spine, g groups, at most s h + 1. Balanced is p = a = s = h; of all balanced ones that carry the demand the one with
the fewest switches is built, then the one with the fewest links. Endpoints fill leaf after leaf. Every pair of groups
has the same whole number of global links, spread over the spines of a group as evenly as can be; global ports that are
left over stay free. The bisection is a lower bound, as that of the dragonfly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.link_kinds import LEAF_SPINE
from bomgen.fabric.clos.ports_in_use import fit_switches, kinds_of_leaves
from bomgen.fabric.clos.search_formulas import ports_left_in_cages
from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind, TierRows, Topology
from bomgen.fabric.dragonfly import formulas, plus_formulas
from bomgen.fabric.dragonfly.plus_search import (
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
    two_tiers,
)
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier

if TYPE_CHECKING:
    from bomgen.fabric.links.endpoints import Seats

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


def _option(title: str, description: str, *examples: int) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "integer",
        "minimum": 1,
        "x-unit": "count",
        "examples": list(examples),
    }


_EXAMPLES = {"p": (40, 16), "a": (18, 16), "s": (18, 16), "h": (22, 16), "g": (23, 9)}

OPTIONS: dict[str, Any] = {
    "title": "Dragonfly+",
    "description": "Topology dragonfly+: its numbers as far as they are fixed; each is optional. Default: p = a = s = "
    "h, the fewest switches that carry the endpoints; where some are given, the others equal the first given of s, a, "
    "h and p.",
    "type": "object",
    "properties": {
        "p": _option("Endpoints a leaf", "Links to servers of one leaf.", *_EXAMPLES["p"]),
        "a": _option("Leaves a group", "Leaves of one group, each linked to all its spines.", *_EXAMPLES["a"]),
        "s": _option("Spines a group", "Spines of one group, each linked to all its leaves.", *_EXAMPLES["s"]),
        "h": _option("Global links a spine", "Links of one spine to other groups.", *_EXAMPLES["h"]),
        "g": _option("Groups", "Groups, at most s h + 1. Default: as many as the endpoints need.", *_EXAMPLES["g"]),
    },
    "minProperties": 1,
    "additionalProperties": False,
    "examples": [dict(zip(_EXAMPLES, column, strict=True)) for column in zip(*_EXAMPLES.values(), strict=True)],
}


def build(demand: Demand) -> Fabric:
    """The balanced dragonfly+ with the fewest switches, or the one that the plan describes.

    Raises Infeasible when it has too few ports or endpoints, with the nearest numbers that work.
    """
    endpoints, attached = all_endpoints(demand), attached_ports(demand)
    ports = _ports(demand)
    fixed = {letter: figure for letter, figure in demand.options.items() if isinstance(figure, Figure)}
    _check(demand, endpoints, SwitchPorts(*(figure.value for figure in ports)), fixed)
    p, a, s, h, g = _shape(endpoints, ports, fixed)
    down_gbps, up_gbps, global_gbps = (demand.rates[kind.name] for kind in (SERVER_LEAF, LEAF_SPINE, SPINE_SPINE))
    between = formulas.links_between(s, h, g)
    group_ports = formulas.global_ports_of_group(between, g)
    outer, less = formulas.global_ports(group_ports, s), formulas.fewer_global_ports(group_ports, s)
    leaves, spines = (plus_formulas.switches_of_tier(each, g) for each in (a, s))
    count = plus_formulas.all_switches(leaves, spines)
    seats = seat_in_order(demand, leaves, p, s)
    exact = demand.populate_used_ports_only
    on_leaves = tuple(fit_switches(kinds_of_leaves(seats), has_up=True)) if exact else (Fitted(leaves, p, s),)
    more = formulas.routers_in_row(formulas.zero(), spines, s, formulas.routers_with_more(group_ports, s))
    others = formulas.others_in_row(formulas.zero(), spines, more)
    on_spines = tuple(Fitted(number, a, up) for number, up in ((more, outer), (others, less)) if number.value)
    inside, outside = plus_formulas.links_inside(a, s, g), formulas.global_links(between, g)
    links = [
        Links(SERVER_LEAF.name, endpoints, attached, down_gbps, SERVER_LEAF.ends),
        Links(LEAF_SPINE.name, inside, inside, up_gbps, LEAF_SPINE.ends),
    ]
    dimensions = {
        "endpoints_per_leaf": p,
        "leaves_per_group": a,
        "spines_per_group": s,
        "global_links_per_spine": h,
        "groups": g,
        "leaf_oversubscription": plus_formulas.ratio_of_leaf(p, down_gbps, s, up_gbps),
    }
    if outside.value:
        links.append(Links(SPINE_SPINE.name, outside, outside, global_gbps, SPINE_SPINE.ends, outer))
        dimensions["links_between_groups"] = between
        dimensions["group_oversubscription"] = formulas.ratio_of_group(a, p, down_gbps, group_ports, global_gbps)
    room = ports_left_in_cages(s, *ports[:3])
    spine_room = ports_left_in_cages(outer, *ports[3:])
    return Fabric(
        topology=NAME,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=two_tiers(),
        tiers=(
            Tier("leaf", demand.leaf.switch, leaves, ports[0], p, s, on_leaves, None),
            Tier("spine", demand.spine.switch, spines, ports[3], a, outer, on_spines, None),
        ),
        links=tuple(links),
        switches=count,
        bisection_gbps=plus_formulas.bisection_at_least(
            attached, p, a, s, outer, between, down_gbps, up_gbps, global_gbps
        ),
        hops=plus_formulas.switches_on_the_way(a, g),
        largest=plus_formulas.largest_of(p, a, s, h) if set(fixed) - {"g"} else plus_formulas.largest_balanced(*ports),
        free_ports={
            "leaf": formulas.free_ports(formulas.ports_of_routers(leaves, room), endpoints),
            "spine": plus_formulas.free_on_spines(spines, spine_room, a),
        },
        growth=formulas.room_to_grow(leaves, p, endpoints),
        pods=g,
        dimensions=dimensions,
        seats=seats,
        exact_bisection=False,
    )


def _ports(demand: Demand) -> tuple[Figure, ...]:
    """The ports of a leaf and of a spine at the rates of their links, with the cages shared, as `SwitchPorts`."""
    down, up, outer = (demand.rates[kind.name] for kind in (SERVER_LEAF, LEAF_SPINE, SPINE_SPINE))
    leaf, spine = demand.leaf.switch, demand.spine.switch
    return (
        *(radix(leaf, down), radix(leaf, up), shared_cages(leaf, down, up) or UNSET),
        *(radix(spine, up), radix(spine, outer), shared_cages(spine, up, outer) or UNSET),
    )


def _shape(endpoints: Figure, ports: tuple[Figure, ...], fixed: Mapping[str, Figure]) -> tuple[Figure, ...]:
    """p, a, s, h and g: those that the plan fixes, and the others by balance and need."""
    first = next((fixed[letter] for letter in FIRST_GIVEN if letter in fixed), None)
    if first is None:
        others = plus_formulas.smallest_balanced(endpoints, fixed.get("g", UNSET), *ports)
    else:
        others = plus_formulas.as_many(first)
    p, a, s, h = (fixed.get(letter, others) for letter in LETTERS[:-1])
    return p, a, s, h, fixed.get("g") or formulas.groups_for(endpoints, a, p)


def _check(demand: Demand, endpoints: Figure, ports: SwitchPorts, fixed: Mapping[str, Figure]) -> None:
    """Raise Infeasible when no dragonfly+ has the numbers that the plan fixes and carries the endpoints."""
    wanted = group_thousands(endpoints.value)
    leaf, spine = (tier.switch.identity.name for tier in (demand.leaf, demand.spine))
    if not set(fixed) - {"g"}:
        groups = fixed["g"].value if fixed else 0
        if best_balanced(endpoints.value, groups, ports):
            return
        largest = most_balanced(ports)
        reached = max((capacity(size, groups) for size in range(1, largest + 1)), default=0)
        what = f"{groups} groups of a balanced dragonfly+" if groups else "a balanced dragonfly+"
        message = f"{wanted} endpoints; {what} of {leaf} reach{'' if groups else 'es'} {group_thousands(reached)}"
        raise Infeasible(f"{message}: at most {_servers(demand, reached)} servers", because=fixed.get("g") or endpoints)
    given = {letter: int(figure.value) for letter, figure in fixed.items()}
    broke: str
    if is_feasible(given, endpoints.value, ports):
        return
    p, a, s, h, g = fill_in_numbers(given, endpoints.value).values()
    if p > ports.left_on_leaf(s):
        broke, rule = next(letter for letter in ("p", "s", "a", "h") if letter in given), "ports"
        message = f"a leaf with {s} links to spines has {ports.left_on_leaf(s)} ports of a {leaf} left, and p is {p}"
    elif a > ports.left_on_spine(h):
        broke, rule = next(letter for letter in ("h", "a", "s", "p") if letter in given), "ports"
        message = f"a spine with {h} global links has {ports.left_on_spine(h)} ports of a {spine} left, and a is {a}"
    elif g > s * h + 1 and "g" in given:
        broke, rule = "g", "groups"
        message = f"{g} groups; {s} spines of {h} global links each reach {s * h} others"
    else:
        reached = a * p * (given.get("g") or s * h + 1)
        broke, rule = "g" if "g" in given else next(iter(given)), "infeasible"
        groups, held = given.get("g") or s * h + 1, group_thousands(reached)
        message = f"{wanted} endpoints; {groups} groups of {a} leaves with {p} endpoints each hold {held}"
        message += f": at most {_servers(demand, reached)} servers"
    remedy = nearest_feasible(given, broke, endpoints.value, ports)
    raise Infeasible(f"{message}; {remedy}", because=fixed[broke], rule=rule)


def _servers(demand: Demand, reached: int) -> int:
    """Whole servers of so many endpoints, beside hosts and reserved ports."""
    others = sum(figure.value for figure in (demand.host_ports, demand.reserved_ports) if figure)
    return max(int((reached - others) // demand.ports_per_server.value), 0)


def connect(plane: Fabric, seats: Seats | None) -> Iterator[tuple[LinkKind, Connections]]:
    """A link from every leaf to every spine of its group, global links between every two groups."""
    from bomgen.fabric.links.dragonfly import GroupSizes, connect_groups
    from bomgen.fabric.links.folded_clos import connect_spines

    yield LEAF_SPINE, connect_spines(plane, seats)
    if plane.links_of(SPINE_SPINE.name):
        names = ("groups", "spines_per_group", "links_between_groups")
        groups, spines, each = (int(plane.dimensions[name].value) for name in names)
        yield SPINE_SPINE, connect_groups(GroupSizes(groups, spines), each)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=("leaf", "spine"),
    link_kinds=(SERVER_LEAF, LEAF_SPINE, SPINE_SPINE),
    build=build,
    connect=connect,
    arrangement=TierRows("dragonfly-group"),
    options=OPTIONS,
    endpoints_option="p",
)
