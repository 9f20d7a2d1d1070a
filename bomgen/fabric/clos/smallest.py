"""The folded Clos with the fewest tiers and lowest switch count for a demand, its runners-up, or why none fits.

`folded_clos` gives it in figures; `clos_counter` gives its counts alone, in numbers, for as many servers as a search
asks about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, values_of
from bomgen.fabric.clos.build import Context, build, count
from bomgen.fabric.clos.search import (
    find_smallest,
    find_smallest_by_division,
    most_down,
    most_down_of_spine,
    most_servers,
    reach,
    room_down,
)
from bomgen.fabric.clos.shape import MAX_TIERS, ClosShape, PlainDemand, divisors, search_figures
from bomgen.fabric.occupancy import (
    Kinds,
    all_endpoints,
    build_one_switch,
    group_thousands,
    kinds_of_spines,
    servers_among,
)
from bomgen.fabric.ports import radix
from bomgen.fabric.types import LEAF_SPINE, SERVER_LEAF, SPINE_CORE, Connections, Demand, Fabric, LinkKind

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
