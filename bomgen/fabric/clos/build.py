"""The folded Clos with the fewest tiers and the lowest switch count for a demand: every count of it, or why none fits.

`folded_clos` gives it in figures; `clos_counter` gives its counts alone, in numbers, for as many servers as a search
asks about. `count` is a calculation, for the numbers of a search and for the figures of a result. A count follows from
a rule where that gives what the search chose: the fewest uplinks that keep the ratio, the leaves that hold the
endpoints, the fewest spines over which uplinks spread evenly. Otherwise the search is the reason, since another count
saves switches.

Even spread: the switches above n switches of u uplinks each are the smallest divisor s of u with n (u / s) of their
ports facing down, so that every switch has the same whole number of links to each switch above it. With two and three
tiers of one switch at 1:1 this gives the fat trees of Leiserson 1985 and Al-Fares et al. 2008 (P^2 / 2 and P^3 / 4
endpoints), and the odd numbers of published reference designs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
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
    find_smallest,
    find_smallest_by_division,
    largest_endpoints,
    links_up_for,
    most_down,
    most_down_of_spine,
    most_servers,
    reach,
    require_smallest,
    room_down,
    room_for_reserved,
    spine_links_up_for,
    spine_room_down,
)
from bomgen.fabric.clos.shape import MAX_TIERS, ClosShape, PlainDemand, divisors, round_up_to_divisor, search_figures
from bomgen.fabric.occupancy import (
    Kinds,
    Occupancy,
    all_endpoints,
    assign_leaves,
    attached_ports,
    build_one_switch,
    count_free_ports,
    count_hops,
    count_links_up,
    fit_switches,
    group_thousands,
    kinds_of_leaves,
    kinds_of_spines,
    max_flow_between_halves,
    ratio_built,
    servers_among,
)
from bomgen.fabric.ports import radix
from bomgen.fabric.types import (
    LEAF_SPINE,
    SERVER_LEAF,
    SPINE_CORE,
    Connections,
    Demand,
    Fabric,
    Fitted,
    LinkKind,
    Links,
    Tier,
)

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


# smallest -------------------------------------------------------------------------------------------------------------
# The smallest folded Clos for a demand, or why there is none.

MOST_PORTS = 1024
"""Ports of a switch beyond which an error does not suggest a larger one."""
_WORDS = {1: "one tier", 2: "two tiers", MAX_TIERS: "three tiers"}


def folded_clos(topology: str, demand: Demand, rails: Figure | None = None) -> Fabric:
    """Return the folded Clos with the fewest tiers, then the lowest switch count, that serves every endpoint.

    `rails` are the ports of a server on separate leaves; None: leaves are filled one after the other. Raises
    Infeasible, with the largest demand that would fit, when there is none.
    """
    _check_fixed_ports(demand)
    _check_equal_shares(demand, rails)
    asked = _asked_tiers(demand, rails)
    for tiers in asked:
        if tiers == 1:
            if all_endpoints(demand).value <= radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value:
                return build_one_switch(demand, topology)
            continue
        figures = search_figures(demand, tiers, rails)
        numbers = values_of(figures)
        _check_pods(demand, numbers)
        _check_rails(demand, numbers)
        shape = find_smallest(numbers)
        if shape is not None:
            return build(topology, demand, figures, shape, has_rails=rails is not None)
        if not demand.tiers and _only_fixed_counts_refuse(demand, numbers):
            break
    raise _explain_refusal(demand, asked, rails)


def _check_fixed_ports(demand: Demand) -> None:
    for choice, kinds in (
        (demand.leaf, (SERVER_LEAF.name, LEAF_SPINE.name)),
        (demand.spine, (LEAF_SPINE.name, SPINE_CORE.name)),
    ):
        for fixed, kind in zip((choice.downlinks, choice.uplinks), kinds, strict=True):
            if fixed:
                ports = radix(choice.switch, demand.rates[kind])
                if fixed.value > ports.value:
                    name = choice.switch.identity.name
                    message = f"{fixed.value} ports; {name} has only {ports.value} at {demand.rates[kind].value} Gb/s"
                    raise Infeasible(message, because=fixed, rule="ports")


def _check_pods(demand: Demand, numbers: PlainDemand) -> None:
    if demand.pod_leaves is None or numbers.spine_count:
        return
    most, rows = most_down_of_spine(numbers), numbers.rows_of_pod(max(numbers.rails_per_leaf, 1))
    if numbers.pod_leaves < rows:
        message = f"a pod of all rails needs a leaf for each, {rows} at least, and `pod.leaves` is {numbers.pod_leaves}"
        raise Infeasible(f"{message}; write `pod: {{leaves: {rows}}}`", because=demand.pod_leaves, rule="ports")
    if numbers.pod_leaves <= most:
        return
    name = demand.spine.switch.identity.name
    if not most:
        message = f"the spine uplinks leave no downlink port on {name}; reduce the uplinks, or specify a larger switch"
        raise Infeasible(message, because=demand.spine.uplinks or demand.pod_leaves, rule="ports")
    message = f"pods of {numbers.pod_leaves} leaves; with their uplinks, spines of {name} reach {most}"
    raise Infeasible(f"{message}: at most `pod: {{leaves: {most}}}`", because=demand.pod_leaves, rule="ports")


def _check_equal_shares(demand: Demand, rails: Figure | None) -> None:
    given = demand.rails_per_leaf
    if given is None or rails is None or rails.value % given.value == 0:
        return
    fits = ", ".join(str(divisor) for divisor in divisors(rails.value))
    message = f"{rails.value} rails do not divide into {given.value}; set `rails_per_leaf` to one of {fits}"
    raise Infeasible(message, because=given, rule="range")


def _check_rails(demand: Demand, numbers: PlainDemand) -> None:
    given = demand.rails_per_leaf
    if given is None or numbers.rails == 1:
        return
    most, unit = most_down(numbers), max(numbers.unit, 1)
    if given.value * unit > most:
        name = demand.leaf.switch.identity.name
        message = (
            f"{given.value} rails of {unit} servers per leaf need {given.value * unit} downlink ports; {name} supports "
            f"{most}: at most `rails_per_leaf: {max(most // unit, 1)}`"
        )
        raise Infeasible(message, because=given, rule="ports")


def _asked_tiers(demand: Demand, rails: Figure | None) -> Sequence[int]:
    return [int(demand.tiers.value)] if demand.tiers else range(_fewest_tiers(demand, rails), MAX_TIERS + 1)


def _fewest_tiers(demand: Demand, rails: Figure | None) -> int:
    """Return the fewest tiers that have everything the plan fixes; rails need separate leaves, and thus spines."""
    leaf, spine = demand.leaf, demand.spine
    if demand.pod_leaves or demand.core.count or spine.uplinks:
        return MAX_TIERS
    fixed = (leaf.servers, leaf.uplinks, leaf.downlinks, spine.count, spine.per_pod, spine.downlinks)
    return 2 if any(fixed) or (rails and not _may_share_a_leaf(demand, rails)) else 1


def _may_share_a_leaf(demand: Demand, rails: Figure) -> bool:
    """Return whether one switch may serve all rails, those of a whole unit where the plan has units."""
    if rails.value == 1:
        return True
    given = demand.rails_per_leaf
    if not demand.populate_used_ports_only or (given and given.value < rails.value):
        return False
    ports = radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name])
    return demand.unit is None or bool(demand.unit.value * rails.value <= ports.value)


def _without_fixed_counts(numbers: PlainDemand) -> PlainDemand:
    return numbers._replace(spine_count=0, spines_per_pod=0, core_count=0, leaf_up=0, spine_up=0)


def _only_fixed_counts_refuse(demand: Demand, numbers: PlainDemand) -> bool:
    """Return whether only spines or uplinks fixed by the plan make a demand infeasible."""
    # Those of a pod may require a third tier.
    fixed = (demand.spine.count or demand.leaf.uplinks) and not demand.spine.per_pod
    return bool(fixed) and numbers.tiers < MAX_TIERS and find_smallest(_without_fixed_counts(numbers)) is not None


def _explain_refusal(demand: Demand, asked: Sequence[int], rails: Figure | None) -> Infeasible:
    """Return why no fabric fits: too many endpoints, or numbers fixed by the plan that do not spread evenly."""
    # It is about the fewest tiers that would fit without fixed numbers, else about the most.
    would_fit = (
        each
        for each in asked
        if each > 1 and find_smallest(_without_fixed_counts(values_of(search_figures(demand, each, rails))))
    )
    tiers = next(would_fit, asked[-1])
    because = all_endpoints(demand)
    choices = (demand.leaf, demand.spine, demand.core)[:tiers]
    switches = " and ".join(dict.fromkeys(choice.switch.identity.name for choice in choices))
    numbers = values_of(search_figures(demand, tiers, rails)) if tiers > 1 else None
    wanted, servers = group_thousands(because.value), demand.servers.value
    if numbers and _least_down(numbers) > most_down(numbers):
        return _refuse_division(demand, numbers)
    if numbers and (shape := find_smallest(_without_fixed_counts(numbers))):
        message = (
            f"{wanted} endpoints: with the port counts fixed in the plan, uplinks cannot be distributed evenly over "
            f"the ports of {_WORDS[tiers]} of {switches}; without fixed counts there are {shape}"
        )
        spine, core = demand.spine, demand.core
        fixed = (spine.count, spine.per_pod, core.count, demand.leaf.uplinks, spine.uplinks)
        return Infeasible(message, next((figure for figure in fixed if figure), because), rule="uneven")
    per_server = demand.ports_per_server.value
    others = because.value - servers * per_server
    ports = int(radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value)
    reached = most_servers(numbers, servers, per_server) if numbers else servers_among(demand, ports)
    if not reached and others:
        return _refuse_reserved_ports(demand, numbers, others)
    endpoints = group_thousands(reached * per_server + others)
    verb = "reaches" if tiers == 1 else "reach"
    message = f"{wanted} endpoints; {_WORDS[tiers]} of {switches} {verb} {endpoints}: at most {reached} servers"
    for more in range(tiers + 1, MAX_TIERS + 1) if demand.tiers else ():
        if find_smallest(values_of(search_figures(demand, more, rails))):
            return Infeasible(f"{message}, or `tiers: {more}`", because)
    ports = _radix_that_fits(numbers, because.value) if numbers else because.value
    return Infeasible(f"{message}, or switches of {group_thousands(ports)} ports" if ports else message, because)


def _refuse_reserved_ports(demand: Demand, numbers: PlainDemand | None, others: int) -> Infeasible:
    alone = numbers._replace(host_ports=0, reserved_ports=0) if numbers else None
    most = reach(alone) if alone else radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value
    because = demand.host_ports or demand.reserved_ports or all_endpoints(demand)
    message = f"{group_thousands(others)} ports for other machines and reserved ports leave no room for servers"
    return Infeasible(f"{message}; the switches reach at most {group_thousands(most)} endpoints", because)


def _radix_that_fits(numbers: PlainDemand, endpoints: int) -> int:
    """Return the lowest radix of equal switches that carry the demand with as many tiers; 0 when none is known."""
    # Tried are switches of one port per cage, the same in all three tiers.
    kinds = (numbers.radix, numbers.up_radix, numbers.spine_radix)
    ports = (numbers.leaf_down, numbers.leaf_up, numbers.pod_leaves, numbers.spine_down, numbers.spine_up)
    fixed = (*ports, numbers.spine_count, numbers.spines_per_pod, numbers.core_count)
    if len(set(kinds)) > 1 or any(fixed):
        return 0
    low = high = numbers.radix // 2 * 2
    while reach(_set_radix(numbers, high)) < endpoints:
        low, high = high, 2 * high
        if high > MOST_PORTS:
            return 0
    while high - low > 2:
        middle = (low + high) // 2 // 2 * 2
        if reach(_set_radix(numbers, middle)) < endpoints:
            low = middle
        else:
            high = middle
    return high


def _set_radix(numbers: PlainDemand, ports: int) -> PlainDemand:
    above = ports if numbers.core_radix else 0
    return numbers._replace(
        radix=ports,
        up_radix=ports,
        cages=ports,
        spine_radix=ports,
        spine_up_radix=above,
        spine_cages=above,
        core_radix=above,
    )


def _least_down(numbers: PlainDemand) -> int:
    return max(numbers.leaf_down, numbers.unit if numbers.rails > 1 else 0, 1)


def _refuse_division(demand: Demand, numbers: PlainDemand) -> Infeasible:
    name, leaf = demand.leaf.switch.identity.name, demand.leaf
    fixed = leaf.downlinks or demand.unit or leaf.servers or demand.oversubscription
    most = most_down(numbers._replace(leaf_up=0))
    if not most:
        message = f"{name} has too few ports for downlinks and uplinks; specify a larger switch"
        return Infeasible(message, because=fixed, rule="ports")
    if leaf.downlinks and leaf.uplinks and (room := room_down(numbers, numbers.leaf_up)) < numbers.leaf_down:
        up = numbers.leaf_up
        message = (
            f"{numbers.leaf_down} downlinks and {up} uplinks per leaf; {name} has {room} downlinks with {up} uplinks"
        )
        return Infeasible(f"{message}; reduce one of them", because=fixed, rule="ports")
    message = (
        f"{_least_down(numbers)} downlink ports per leaf leave too few uplinks for {float(numbers.oversubscription):g}:"
        f"1; use at most {most} on {name}, or relax `oversubscription`"
    )
    return Infeasible(message, because=fixed, rule="ports")


def connect_tiers(plane: Fabric, seats: Any) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the links of leaves to the spines of their pod, and of spines to cores, spread evenly.

    Raises ValueError when links do not spread evenly, or the fabric has no seats.
    """
    from bomgen.fabric.links import connect_cores, connect_spines

    if plane.tier("spine") is not None:
        yield LEAF_SPINE, connect_spines(plane, seats)
    if plane.tier("core") is not None:
        yield SPINE_CORE, connect_cores(plane)


# runners up ---------------------------------------------------------------------------------------------------------
# The runners-up of the search for the smallest folded Clos: other numbers of tiers, other divisions of leaf ports.


class Tried(NamedTuple):
    """The smallest fabric with a number of tiers, or the reach of that many tiers."""

    tiers: int
    shape: ClosShape | None
    """The shape; None: a single switch, or nothing carries the demand."""
    reach: int
    """Maximum endpoints; 0: unlimited, or no fabric fits the values fixed by the plan."""
    lacks: str = ""
    """A limit of its switches that no other shape with as many tiers fixes."""


def runners_up_by_tiers(demand: Demand, rails: Figure | None = None) -> list[Tried]:
    """Return the results for one, two and three tiers; rails need separate leaves, so one switch is no option."""
    found = []
    if rails is None or rails.value == 1:
        found.append(Tried(1, None, int(radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value)))
    for tiers in range(2, MAX_TIERS + 1):
        try:
            numbers = values_of(search_figures(demand._replace(tiers=None), tiers, rails))
        except Infeasible as error:
            found.append(Tried(tiers, None, 0, error.message))
            continue
        shape = find_smallest(numbers)
        found.append(Tried(tiers, shape, 0 if shape else reach(numbers)))
    return found


def runners_up_by_division(demand: Demand, tiers: int, rails: Figure | None = None) -> list[ClosShape]:
    """Return the smallest fabric for each division of a leaf's ports that keeps the ratio, the smallest first."""
    return find_smallest_by_division(values_of(search_figures(demand, tiers, rails)))


def count_endpoints(demand: Demand) -> int:
    """Return the endpoints of the demand."""
    return int(all_endpoints(demand).value)


# counts alone -------------------------------------------------------------------------------------------------------
# The switches of the same fabric in numbers, where the plan fixes none of them.


class TierCount(NamedTuple):
    """The switches of a tier."""

    down: int
    """Downlink ports of a fully connected switch."""
    up: int
    """Uplink ports of a fully connected switch."""
    above: int
    """Switches of the next tier that each is connected to; 0 in the highest tier."""
    kinds: Kinds
    """The actual switches, by ports in use."""

    @property
    def switches(self) -> int:
        """Return the number of switches."""
        return sum(switches for _, switches in self.kinds)

    @property
    def links_up(self) -> int:
        """Return the links to the next tier."""
        return sum(up * switches for (_, up), switches in self.kinds)


class ClosCounts(NamedTuple):
    """One plane of a folded Clos."""

    rows: int
    """Rows of leaves over which the ports of a server are distributed."""
    tiers: tuple[TierCount, ...]


def has_counter(demand: Demand) -> bool:
    """Return whether `clos_counter` covers a demand: of servers alone, without fixed numbers, built out exactly."""
    tiers = (demand.leaf, demand.spine, demand.core)
    fixed = [demand.host_ports, demand.reserved_ports, demand.pod_leaves, demand.uplinks]
    for tier in tiers:
        fixed += [tier.servers, tier.per_pod, tier.count, tier.downlinks, tier.uplinks]
    return demand.populate_used_ports_only and not any(fixed) and not any(tier.switch.chassis for tier in tiers)


def clos_counter(demand: Demand, rails: Figure | None) -> Callable[[int], ClosCounts | None]:
    """Return a function that counts one plane for another number of servers; None where no fabric carries them."""
    searched = dict[int, PlainDemand]()
    with suppress(Infeasible):  # a switch lacks the rates of further tiers
        for tiers in _asked_tiers(demand, rails):
            searched[tiers] = values_of(search_figures(demand, max(tiers, 2), rails))

    def count_plane(servers: int) -> ClosCounts | None:
        nic_ports = servers * int(demand.ports_per_server.value)
        for tiers, numbers in searched.items():
            wanted = numbers._replace(nic_ports=nic_ports)
            if tiers == 1 and nic_ports <= numbers.radix:
                return ClosCounts(1, (TierCount(numbers.radix, 0, 0, (((nic_ports, 0), 1),)),))
            if tiers > 1 and (shape := find_smallest(wanted)):
                c = count(wanted, shape, Context(servers, rails is not None))
                spines = kinds_of_spines(c.occupancy, shape.pods, shape.spines, shape.spine_up)
                found = [TierCount(c.down, c.up, shape.spines, c.occupancy.kinds())]
                found += [TierCount(c.spine_down, shape.spine_up, shape.cores, spines)]
                if c.cores:
                    found += [TierCount(c.core_down, 0, 0, (((c.core_down, 0), c.cores),))]
                return ClosCounts(c.rows, tuple(found))
        return None

    return count_plane
