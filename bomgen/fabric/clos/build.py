"""Every count of a folded Clos, from its demand and the shape that the search chose, and the fabric of these counts.

`count` is a calculation, for the numbers of a search and for the figures of a result. A count follows from a rule where
that gives what the search chose: the fewest uplinks that keep the ratio, the leaves that hold the endpoints, the fewest
spines over which uplinks spread evenly. Otherwise the search is the reason, since another count saves switches.

Even spread: the switches above n switches of u uplinks each are the smallest divisor s of u with n (u / s) of their
ports facing down, so that every switch has the same whole number of links to each switch above it. With two and three
tiers of one switch at 1:1 this gives the fat trees of Leiserson 1985 and Al-Fares et al. 2008 (P^2 / 2 and P^3 / 4
endpoints), and the odd numbers of published reference designs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from bomgen.core.provenance import (
    Derived,
    Figure,
    applied,
    divided_up,
    formula,
    greatest,
    named,
    step,
    trace,
    values_of,
    where,
)
from bomgen.fabric.clos.search import (
    largest_endpoints,
    links_up_for,
    most_down,
    require_smallest,
    room_down,
    room_for_reserved,
    spine_links_up_for,
    spine_room_down,
)
from bomgen.fabric.clos.shape import ClosShape, PlainDemand, round_up_to_divisor
from bomgen.fabric.occupancy import (
    Occupancy,
    all_endpoints,
    assign_leaves,
    attached_ports,
    count_free_ports,
    count_hops,
    count_links_up,
    fit_switches,
    kinds_of_leaves,
    kinds_of_spines,
    max_flow_between_halves,
    ratio_built,
)
from bomgen.fabric.types import LEAF_SPINE, SERVER_LEAF, SPINE_CORE, Demand, Fabric, Fitted, Links, Tier

EVEN = "even spread: smallest divisor of the uplinks that reaches every switch below"
EVERY_UPLINK = "even spread with every uplink to a separate switch"
SEARCHED = "every uplink/downlink split of a leaf and number of pods, tried for the fewest switches"


class Context(NamedTuple):
    """What the counts depend on beside the demand of the search and its shape."""

    servers: Any
    have_rails: bool
    """Whether each port of a server belongs to a rail."""
    demand: Any = None
    """The demand as one figure, which explains the shape; None for numbers."""


class Counts(NamedTuple):
    """The counts of a folded Clos; None: it has no such thing."""

    down: Any
    up: Any
    rows: Any
    leaves: Any
    pods: Any
    per_pod: Any
    """Spines of a pod."""
    spines: Any
    spine_down: Any
    spine_up: Any
    uplinks: Any
    """Links from a pod to the core."""
    cores: Any
    core_down: Any
    left: Any
    """Ports of a leaf left by its uplinks."""
    spine_left: Any
    room: Any
    """Downlinks of a leaf that its uplinks carry."""
    ports_of_rail: Any
    """Ports of a server on a leaf, where leaves belong to rails."""
    occupancy: Any


def count(d: PlainDemand, s: ClosShape, context: Context) -> Counts:
    """Return every count of the fabric of a demand."""
    chosen = _choose_by(s, context.demand)
    up = _uplinks(d, s, chosen)
    left = step("down", "ports", room_down(d, up), "Ports left by uplinks.")
    down = step("down", "ports", d.leaf_down) or chosen("down", "ports", lambda shape: shape.down, left)
    ports_of_rail, rows, units, leaves = _leaves(d, s, context, down, chosen)
    pods, below = _pods(d, leaves, units, rows, chosen)
    if fixed := d.spines_per_pod or (d.spine_count if pods is None else 0):
        per_pod = step("per_pod", "switches", fixed)
    elif d.spine_count:
        per_pod = step("per_pod", "switches", d.spine_count // pods, "From the total that the plan sets.")
    else:
        rule = _even_spread("per_pod", below, up, _spine_ports_down(d))
        per_pod = chosen("per_pod", "switches", lambda shape: shape.spines, rule)
    spines = per_pod if pods is None else step("switches", "switches", pods * per_pod, "Spines of all pods.")
    spine_down = step("spine_down", "ports", below * up // per_pod, "Downlink ports in use per spine.")
    spine_up = uplinks = cores = core_down = None
    spine_left = d.spine_radix
    if d.core_radix:
        spine_up = chosen("spine_up", "ports", lambda shape: shape.spine_up, spine_links_up_for(d, spine_down))
        spine_left = step("spine_down", "ports", spine_room_down(d, spine_up), "Ports left by uplinks.")
        uplinks = step("uplinks", "links", per_pod * spine_up, "Links from a pod to the core.")
        rule = _even_spread("switches", pods, uplinks, d.core_radix)
        cores = d.core_count or chosen("switches", "switches", lambda shape: shape.cores, rule)
        core_down = step("down", "ports", pods * uplinks // cores, "Downlink ports in use per core.")
    room = step("most_down", "ports", room_for_reserved(d, up), "Downlinks that the uplinks of a leaf carry.")
    unit = _ports_of_unit(d, context, units, leaves, down, ports_of_rail)
    places = (d.nic_ports, d.host_ports, d.reserved_ports, rows, unit, down, up, leaves, ports_of_rail, room)
    shrinking = (per_pod, d.down_gbps / (d.oversubscription * d.up_gbps)) if d.exact and not d.leaf_up else ()
    found = applied(assign_leaves, *places, *shrinking)
    occupancy = step("occupancy", "occupancy", found, "Endpoints and uplinks of each leaf.")
    if d.pods_hold_all_rails:
        occupancy = step("occupancy", "occupancy", applied(in_pods_of_all_rails, occupancy), "In pods of all rails.")
    return Counts(
        *(down, up, rows, leaves, pods, per_pod, spines, spine_down, spine_up, uplinks, cores, core_down),
        *(left, spine_left, room, ports_of_rail, occupancy),
    )


def _choose_by(s: ClosShape, demand: Any) -> Callable[..., Any]:
    @cache
    def searched() -> Any:
        if demand is None:
            return s
        return step("shape", "shape", applied(require_smallest, demand), "Shape of the smallest fabric.", SEARCHED)

    def chosen(name: str, unit: str, choice_of: Callable[[Any], Any], *rules: Any) -> Any:
        """Return what a rule gives if it is what the search chose, else the choice."""
        choice = choice_of(s)
        rule = next((rule for rule in rules if rule == choice), None)
        return step(name, unit, choice_of(searched())) if rule is None else rule

    return chosen


def _uplinks(d: PlainDemand, s: ClosShape, chosen: Callable[..., Any]) -> Any:
    """Return the uplinks of a leaf: set by the plan, for the downlinks, or as the search chose."""
    full = divided_up(d.radix, 1 + d.oversubscription)
    if d.cages and not (d.leaf_up or d.leaf_down) and s.up == full and s.down == d.radix - full:
        return step("up", "ports", full, "The fewest that keep the ratio if all other ports are downlinks.")
    down = d.leaf_down or (d.radix if s.down == d.radix else chosen("down", "ports", lambda shape: shape.down))
    return chosen("up", "ports", lambda shape: shape.up, links_up_for(d, down))


def _leaves(
    d: PlainDemand, s: ClosShape, context: Context, down: Any, chosen: Callable[..., Any]
) -> tuple[Any, Any, Any, Any]:
    """Return ports of a server on a leaf, rows of leaves, units whose servers share a leaf of each row, and leaves."""
    attached = step("attached", "endpoints", d.nic_ports + d.host_ports if d.host_ports else d.nic_ports)
    if not context.have_rails:
        why = "For the endpoints, filled one after the other."
        rules = [divided_up(attached, down), divided_up(attached + d.reserved_ports, down)]
        rules = [step("leaves", "switches", rule, why) for rule in rules]
        return d.ports_per_server, d.rails, None, chosen("leaves", "switches", lambda shape: shape.leaves, *rules)
    ports_of_rail, rows, per_unit = step("rails_per_leaf", "rails", 1), d.rails, down
    if s.rails_per_leaf > 1:
        ports_of_rail = d.rails_per_leaf or chosen("rails_per_leaf", "rails", lambda shape: shape.rails_per_leaf)
        rows = step("leaves_per_unit", "switches", d.rails // ports_of_rail, "Rows of leaves.")
        per_unit = down // ports_of_rail
    per_unit = d.unit or step("servers_per_unit", "servers", per_unit, "Servers of a full leaf.")
    rules = [
        *(divided_up(context.servers, per_unit), divided_up(attached, rows * down)),
        divided_up(attached + d.reserved_ports, rows * down),
    ]
    rules = [step("units", "units", rule, "Groups of servers whose rails share leaves.") for rule in rules]
    units = chosen("units", "units", lambda shape: shape.leaves // rows, *rules)
    return ports_of_rail, rows, units, step("leaves", "switches", units * rows, "So that a rail is one hop wide.")


def _pods(d: PlainDemand, leaves: Any, units: Any, rows: Any, chosen: Callable[..., Any]) -> tuple[Any, Any]:
    """Return the pods, and the leaves below a spine of the largest."""
    if not d.core_radix and not d.pod_leaves:
        return None, leaves
    most = step("pod_leaves", "switches", d.pod_leaves or _spine_ports_down(d))
    of_rails, of_units = units is not None and not d.pods_hold_all_rails, units is not None and d.pods_hold_all_rails
    rule = divided_up(units, most) * rows if of_rails else divided_up(leaves, most)
    rule = step("pods", "pods", rule, "Groups of leaves with their own spines.")
    pods = chosen("pods", "pods", lambda shape: shape.pods, rule)
    below = divided_up(units, pods) * rows if of_units else divided_up(leaves, pods)
    return pods, step("below", "switches", below, "Leaves of the largest pod.")


def _even_spread(name: str, below: Any, up: Any, ports: Any) -> Any:
    fewest = applied(round_up_to_divisor, divided_up(below * up, ports), up)
    return step(name, "switches", fewest, "The fewest that reach every switch below.", EVEN)


def _spine_ports_down(d: PlainDemand) -> Any:
    if d.spine_down or not d.core_radix:
        return d.spine_down or d.spine_radix
    half = d.spine_radix // 2
    if d.spine_up and d.spine_radix - d.spine_up < half:
        half = d.spine_radix - d.spine_up
    return step("spine_down", "ports", half, "Half of the ports, or those that are not uplinks.")


def _ports_of_unit(d: PlainDemand, context: Context, units: Any, leaves: Any, down: Any, ports_of_rail: Any) -> Any:
    if units is not None:
        ports = divided_up(context.servers, units) * ports_of_rail if d.exact else down
        return step("unit", "ports", ports, "Ports of the servers of a full unit on a leaf.")
    whole = down // d.ports_per_server * d.ports_per_server
    ports = where(whole * leaves >= d.nic_ports, whole, down)
    return step("unit", "ports", ports, "Ports of whole servers on a full leaf, else all of its downlinks.")


def in_pods_of_all_rails(occupancy: Occupancy) -> Occupancy:
    """Return the same leaves, with those of all rails grouped into common pods."""
    return occupancy._replace(rows_of_pod=len(occupancy.rails))


# build --------------------------------------------------------------------------------------------------------------
# A fabric from the counts of a shape.
#
# Free ports are those that no end of a link uses on a switch as built, leaf by leaf on an exact build-out.

SERVERS_IN_ORDER = "max-flow of the tree that even spread makes of the fabric"


@formula("demand")
def in_numbers(**figures: Any) -> PlainDemand:
    """The demand as plain numbers, the input of the search."""
    return PlainDemand(**figures)


def numbers_figure(figures: PlainDemand) -> Figure:
    """Return the numbers of a search as one figure that depends on the figure of each of them."""
    return Figure(values_of(figures), in_numbers.unit, Derived(in_numbers, tuple(figures._asdict().items())))


@formula("ports")
def most_ports_of_leaf(demand: PlainDemand) -> int:
    """Downlink ports per leaf: as set in the plan, or the most that meet the oversubscription limit."""
    return demand.leaf_down or most_down(demand)


def build(topology: str, demand: Demand, figures: PlainDemand, chosen: ClosShape, has_rails: bool) -> Fabric:
    """Return a shape, which the search chose for the figures of a demand, as a fabric."""

    def count_fabric(d: Any, context: Context) -> Fabric:
        c = count(d, chosen, context)
        endpoints, attached = named("endpoints", all_endpoints(demand)), named("attached", attached_ports(demand))
        room, above, on_leaves = c.down if c.room == c.down else c.room, None, attached
        if demand.reserved_ports is not None:
            above = greatest(d.reserved_ports - (c.leaves * room - attached), 0)
            above = step("reserved_above", "ports", above, "Reserved ports for which the leaves have no free port.")
            on_leaves = step("used", "endpoints", attached + (d.reserved_ports - above), "Endpoints on leaves.")
        links_up = step("links", "links", c.leaves * c.up, "Uplinks of all leaves.")
        actual = step("links", "links", applied(count_links_up, c.occupancy), "Uplinks of all leaves as filled.")
        free_of_leaves = c.leaves * c.left - on_leaves
        if actual != links_up:
            links_up = actual
            free_of_leaves = applied(count_free_ports, c.occupancy, d.radix, d.up_radix, d.cages)
        free_of_spines = c.spines * c.spine_left - links_up
        free = {"leaf": free_of_leaves, "spine": free_of_spines - above if above is not None else free_of_spines}
        tiers = [_leaf_tier(demand, d, c), _spine_tier(demand, d, c)]
        links = [
            Links(SERVER_LEAF.name, endpoints, attached, d.down_gbps, SERVER_LEAF.ends),
            Links(LEAF_SPINE.name, links_up, links_up, d.up_gbps, LEAF_SPINE.ends),
        ]
        switches, pod_gbps = c.leaves + c.spines, 0
        if c.cores:
            fitted = (Fitted(c.cores, c.core_down, None),)
            tiers.append(Tier("core", demand.core.switch, c.cores, d.core_radix, c.core_down, None, fitted, None))
            up = step("links", "links", c.spines * c.spine_up, "Uplinks of all spines.")
            links.append(Links(SPINE_CORE.name, up, up, d.core_gbps, SPINE_CORE.ends))
            free["core"] = c.cores * d.core_radix - up
            switches, pod_gbps = switches + step("more_switches", "switches", c.cores), c.uplinks * d.core_gbps
        by_pod = (c.pods, pod_gbps) if c.pods else ()
        flow = applied(max_flow_between_halves, c.occupancy, d.down_gbps, d.up_gbps, *by_pod)
        largest = applied(largest_endpoints, context.demand)
        return Fabric(
            topology=topology,
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tier_count=d.tiers,
            tiers=tuple(tiers),
            links=tuple(links),
            switches=step("switches", "switches", switches, "Switches of all tiers."),
            bisection_gbps=step(
                "bisection_gbps", "Gb/s", flow, "Between the halves of the endpoints.", SERVERS_IN_ORDER
            ),
            hops=count_hops(d.tiers),
            largest=step("endpoints", "endpoints", largest, "With the same tiers and switches.", EVERY_UPLINK)
            if c.cores or not d.pod_leaves
            else None,
            free_ports={tier: step("free_ports", "ports", ports, "Unused ports.") for tier, ports in free.items()},
            growth=step("growth", "ports", c.leaves * room - on_leaves, "Free ports whose traffic uplinks carry."),
            rails_per_leaf=c.ports_of_rail if has_rails else None,
            pods=c.pods,
            reserved_above=above,
            seats=c.occupancy,
        )

    return trace(count_fabric, figures, Context(demand.servers, has_rails, numbers_figure(figures)))


def _leaf_tier(demand: Demand, d: Any, c: Counts) -> Tier:
    fitted: tuple[Fitted, ...] = (Fitted(c.leaves, c.down, c.up),)
    kinds = applied(kinds_of_leaves, c.occupancy)
    if demand.populate_used_ports_only and kinds.value != (((c.down.value, c.up.value), c.leaves.value),):
        fitted = tuple(fit_switches(kinds, has_up=True))
    ratio = ratio_built(c.down, d.down_gbps, c.up, d.up_gbps)
    return Tier("leaf", demand.leaf.switch, c.leaves, d.radix, c.down, c.up, fitted, ratio)


def _spine_tier(demand: Demand, d: Any, c: Counts) -> Tier:
    fitted: tuple[Fitted, ...] = (Fitted(c.spines, c.spine_down, c.spine_up),)
    ratio = ratio_built(c.spine_down, d.up_gbps, c.spine_up, d.core_gbps) if c.spine_up else None
    kinds = applied(kinds_of_spines, c.occupancy, c.pods or 1, c.per_pod, c.spine_up or 0)
    if len(kinds.value) > 1 or kinds[0][0][0] != c.spine_down:
        fitted = tuple(fit_switches(kinds, has_up=c.spine_up is not None))
    return Tier("spine", demand.spine.switch, c.spines, d.spine_radix, c.spine_down, c.spine_up, fitted, ratio)
