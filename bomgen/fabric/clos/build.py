"""A folded Clos as figures: the input of the search, and a fabric from its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bomgen.core.calculation import trace
from bomgen.core.provenance import Derived, Figure, difference, formula
from bomgen.fabric.clos import occupancy, shape
from bomgen.fabric.clos.counts import Context, Counts, count
from bomgen.fabric.clos.search import largest_endpoints, most_down
from bomgen.fabric.clos.shape import ClosShape, PlainDemand
from bomgen.fabric.declaration import LEAF_SPINE, LINK_KINDS, SERVER_LEAF, SPINE_CORE
from bomgen.fabric.ports import SharedCages, ports_left_down
from bomgen.fabric.requirements import UNSET, all_endpoints, attached_ports
from bomgen.fabric.types import Demand, Fabric, Fitted, Links, Tier


@formula("demand")
def in_numbers(**figures: Any) -> PlainDemand:
    """The demand as plain numbers, the input of the search."""
    return demand_numbers(**figures)


def demand_numbers(**figures: Any) -> PlainDemand:
    """Return the values as `Numbers`."""
    return PlainDemand(**figures)


def numbers_figure(figures: Mapping[str, Figure]) -> Figure:
    """Return `Numbers` as a figure that depends on the figure of each of its fields."""
    values = {name: figure.value for name, figure in figures.items()}
    return Figure(in_numbers.function(**values), in_numbers.unit, Derived(in_numbers, tuple(figures.items())))


@formula("endpoints", source="even spread with every uplink to a separate switch")
def largest_fabric(demand: PlainDemand) -> int:
    """Endpoints of the largest fabric with the same tiers and switches, and the values that the plan sets."""
    return largest_endpoints(demand)


@formula("ports")
def most_ports_of_leaf(demand: PlainDemand) -> int:
    """Downlink ports per leaf: as set in the plan, or the most that meet the oversubscription limit."""
    return demand.leaf_down or most_down(demand)


@formula("ports")
def ports_left_in_cages(up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Downlinks for which a switch has free cages next to its uplinks, whose rate may differ."""
    return ports_left_down(up, radix, up_radix, cages)


# build --------------------------------------------------------------------------------------------------------------
# A fabric from the counts of a shape.
#
# Free ports are those that no end of a link uses on a switch as built, leaf by leaf on an exact build-out.


@formula("pods")
def single_layer() -> int:
    """One group of spines above all leaves."""
    return 1


@formula("ports")
def reserved_elsewhere(reserved_ports: int, leaves: int, down: int, attached: int) -> int:
    """Reserved ports for which the leaves have no free port."""
    return max(reserved_ports - (leaves * down - attached), 0)


reserved_on_leaves = difference("reserved_on_leaves", "ports", "reserved_ports", "elsewhere")
"""Reserved ports that are placed on leaves."""


def build(topology: str, demand: Demand, figures: dict[str, Figure], chosen: ClosShape, has_rails: bool) -> Fabric:
    """Return a shape, which the search chose for the figures of a demand, as a fabric."""
    numbers = numbers_figure(figures)
    c = trace(count, demand_numbers(**figures), chosen, Context(demand.servers, has_rails, numbers))
    down_gbps, up_gbps, core_gbps = (demand.rates[kind.name] for kind in LINK_KINDS)
    attached, above = attached_ports(demand), None
    room, on_leaves = c.down if c.room.value == c.down.value else c.room, attached
    if demand.reserved_ports is not None:
        above = reserved_elsewhere(demand.reserved_ports, c.leaves, room, attached)
        on_leaves = shape.endpoints_with_reserved(attached, reserved_on_leaves(demand.reserved_ports, above))
    links_up, all_up = occupancy.links_of_leaves(c.occupancy), shape.links_up(c.leaves, c.up)
    if links_up.value == all_up.value:
        links_up, free_of_leaves = all_up, shape.free_ports(c.leaves, c.left, on_leaves)
    else:
        ports = figures["radix"], figures["up_radix"], figures["cages"]
        free_of_leaves = occupancy.free_ports_of_leaves(c.occupancy, *ports)
    of_spines = c.spines, c.spine_left, links_up
    free = {
        "leaf": free_of_leaves,
        "spine": shape.free_ports_less_reserved(*of_spines, above) if above else shape.free_of_links(*of_spines),
    }
    tiers = [_leaf_tier(demand, figures["radix"], c), _spine_tier(demand, figures["spine_radix"], c)]
    links = [
        Links(SERVER_LEAF.name, all_endpoints(demand), attached, down_gbps, SERVER_LEAF.ends),
        Links(LEAF_SPINE.name, links_up, links_up, up_gbps, LEAF_SPINE.ends),
    ]
    switches, pod_gbps = shape.sum_of_switches(c.leaves, c.spines), shape.zero_bisection()
    if c.cores:
        radix, fitted = figures["core_radix"], (Fitted(c.cores, c.core_down, None),)
        tiers.append(Tier("core", demand.core.switch, c.cores, radix, c.core_down, None, fitted, None))
        up = shape.links_up(c.spines, c.spine_up)
        links.append(Links(SPINE_CORE.name, up, up, core_gbps, SPINE_CORE.ends))
        free["core"] = shape.free_of_links(c.cores, radix, up)
        switches, pod_gbps = shape.sum_of_switches(switches, c.cores), shape.bandwidth(c.uplinks, core_gbps)
    rates = down_gbps, up_gbps
    return Fabric(
        topology=topology,
        endpoints=all_endpoints(demand),
        ports_per_server=demand.ports_per_server,
        tier_count=figures["tiers"],
        tiers=tuple(tiers),
        links=tuple(links),
        switches=switches,
        bisection_gbps=occupancy.bisection_of_pods(c.occupancy, *rates, c.pods, pod_gbps)
        if c.pods
        else occupancy.bisection_of_leaves(c.occupancy, *rates),
        hops=shape.switches_on_the_way(figures["tiers"]),
        largest=largest_fabric(numbers) if c.cores or not demand.pod_leaves else None,
        free_ports=free,
        growth=shape.free_ports(c.leaves, room, on_leaves),
        rails_per_leaf=c.ports_of_rail if has_rails else None,
        pods=c.pods,
        reserved_above=above,
        seats=c.occupancy,
    )


def _leaf_tier(demand: Demand, radix: Figure, c: Counts) -> Tier:
    fitted: tuple[Fitted, ...] = (Fitted(c.leaves, c.down, c.up),)
    same = (((c.down.value, c.up.value), c.leaves.value),)
    if demand.populate_used_ports_only and c.occupancy.value.kinds() != same:
        fitted = tuple(occupancy.fit_switches(occupancy.kinds_of_leaves(c.occupancy), has_up=True))
    ratio = shape.ratio_built(c.down, demand.rates[SERVER_LEAF.name], c.up, demand.rates[LEAF_SPINE.name])
    return Tier("leaf", demand.leaf.switch, c.leaves, radix, c.down, c.up, fitted, ratio)


def _spine_tier(demand: Demand, radix: Figure, c: Counts) -> Tier:
    ratio = None
    fitted: tuple[Fitted, ...] = (Fitted(c.spines, c.spine_down, c.spine_up),)
    if c.spine_up:
        rates = demand.rates
        ratio = shape.ratio_built(c.spine_down, rates[LEAF_SPINE.name], c.spine_up, rates[SPINE_CORE.name])
    kinds = occupancy.kinds_of_spines(c.occupancy, c.pods or single_layer(), c.per_pod, c.spine_up or UNSET)
    [((filled, _), _), *others] = kinds.value
    if others or filled != c.spine_down.value:
        fitted = tuple(occupancy.fit_switches(kinds, has_up=c.spine_up is not None))
    return Tier("spine", demand.spine.switch, c.spines, radix, c.spine_down, c.spine_up, fitted, ratio)
