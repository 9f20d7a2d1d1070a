"""A folded Clos as figures: the input and result of the search, rebuilt from formulas that explain each count."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from bomgen.core.provenance import Derived, Figure, difference, floor_div, formula
from bomgen.fabric.clos import ports_in_use, shape
from bomgen.fabric.clos.leaf_divisions import most_down, room_for_reserved
from bomgen.fabric.clos.ports_in_use import LEAF_SPINE, SPINE_CORE, rows_of_rails
from bomgen.fabric.clos.search import largest_endpoints, require_smallest
from bomgen.fabric.clos.shape import ClosShape, PlainDemand
from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.fabric.ports import SharedCages, ports_left_down
from bomgen.fabric.requirements import ONE_RAIL, UNSET, all_endpoints, attached_ports
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


@formula("shape", source="every uplink/downlink split of a leaf and number of pods, tried for the fewest switches")
def smallest_fabric(demand: PlainDemand) -> ClosShape:
    """Dimensions of the smallest fabric: downlink and uplink ports per leaf, leaves, pods, spines and cores."""
    return require_smallest(demand)


@formula("endpoints", source="even spread with every uplink to a separate switch")
def largest_fabric(demand: PlainDemand) -> int:
    """Endpoints of the largest fabric with the same tiers and switches, and the values that the plan sets."""
    return largest_endpoints(demand)


@formula("ports")
def down_of(shape: ClosShape) -> int:
    """Downlink ports in use on the fullest leaf of the smallest fabric."""
    return shape.down


@formula("rails")
def rails_of_leaf(shape: ClosShape) -> int:
    """Rails per leaf in the smallest fabric."""
    return shape.rails_per_leaf


@formula("ports")
def most_ports_down(demand: PlainDemand, up: int) -> int:
    """Downlink ports per leaf that its uplinks support at the requested oversubscription."""
    return room_for_reserved(demand, up)


@formula("ports")
def most_ports_of_leaf(demand: PlainDemand) -> int:
    """Downlink ports per leaf: as set in the plan, or the most that meet the oversubscription limit."""
    return demand.leaf_down or most_down(demand)


@formula("ports")
def up_of(shape: ClosShape) -> int:
    """Uplinks per leaf in the smallest fabric; may exceed the oversubscription limit to spread evenly over spines."""
    return shape.up


@formula("switches")
def leaves_of(shape: ClosShape) -> int:
    """Leaves of the smallest fabric, which hold reserved ports as far as that saves switches."""
    return shape.leaves


@formula("pods")
def pods_of(shape: ClosShape) -> int:
    """Pods of the smallest fabric, more than the minimum if that saves switches."""
    return shape.pods


@formula("switches")
def spines_of(shape: ClosShape) -> int:
    """Spines per pod in the smallest fabric."""
    return shape.spines


@formula("ports")
def spine_up_of(shape: ClosShape) -> int:
    """Uplinks per spine in the smallest fabric; may exceed the oversubscription limit to spread evenly over cores."""
    return shape.spine_up


@formula("ports")
def ports_left_in_cages(up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Downlinks for which a switch has free cages next to its uplinks, whose rate may differ."""
    return ports_left_down(up, radix, up_radix, cages)


# build --------------------------------------------------------------------------------------------------------------
# A folded Clos as figures: the input and result of the search, rebuilt from formulas that explain each count.
#
# It raises an error when the formulas and the search disagree.
#
# Free ports are those that no end of a link uses on a switch as built, leaf by leaf on an exact build-out.

fixed_count_of_pod = floor_div("fixed_count_of_pod", "switches", "count", "pods")
"""Switches per pod, from the total that the plan sets."""


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


class Builder:
    """The conversion of a shape in plain numbers to figures."""

    def __init__(
        self, topology: str, demand: Demand, figures: dict[str, Figure], shape: ClosShape, has_rails: bool
    ) -> None:
        self.topology, self.demand, self.figures, self.shape = topology, demand, figures, shape
        self.has_rails = has_rails
        self.rates = demand.rates
        self.attached = attached_ports(demand)
        self.exact = demand.populate_used_ports_only

    def fabric(self) -> Fabric:
        """Return the shape as a fabric."""
        up = self._up()
        down = self._down(up)
        units, leaves = self._leaves(down)
        pods, below = self._pods(units, leaves)
        of_pod = self._spines_of_pod(below, up, pods)
        spines = shape.switches_of_pods(pods, of_pod) if pods else of_pod
        spine_down = shape.ports_down(below, up, of_pod)
        spine_up = self._spine_up(spine_down) if self.shape.cores else None
        seats = self._seats(units, leaves, down, up, of_pod)
        leaf = self._leaf_tier(leaves, down, up, seats)
        spine = self._spine_tier(spines, of_pod, spine_down, spine_up, pods, seats)
        tiers, links = [leaf, spine], [self._server_links(), self._leaf_links(leaves, up, seats)]
        switches = shape.sum_of_switches(leaves, spines)
        if spine_up is not None and pods is not None:
            core = self._core_tier(pods, of_pod, spine_up)
            tiers.append(core)
            core_links = shape.links_up(spines, spine_up)
            links.append(Links(SPINE_CORE.name, core_links, core_links, self.rates[SPINE_CORE.name], SPINE_CORE.ends))
            switches = shape.sum_of_switches(switches, core.count)
        self._agree(leaves, up, spines, spine_up, tiers)
        most = most_ports_down(self._numbers, up)
        room = down if most.value == down.value else most
        above = self._reserved_above(leaves, room)
        return Fabric(
            topology=self.topology,
            endpoints=all_endpoints(self.demand),
            ports_per_server=self.demand.ports_per_server,
            tier_count=self.figures["tiers"],
            tiers=tuple(tiers),
            links=tuple(links),
            switches=switches,
            bisection_gbps=self._bisection(seats, pods, of_pod, spine_up),
            hops=shape.switches_on_the_way(self.figures["tiers"]),
            largest=largest_fabric(self._numbers) if self.shape.cores or not self.demand.pod_leaves else None,
            free_ports=self._free(tiers, links, above, seats),
            growth=shape.free_ports(leaves, room, self._on_leaves(above)),
            rails_per_leaf=self._rails_of_leaf if self.has_rails else None,
            pods=pods,
            reserved_above=above,
            seats=seats,
        )

    def _agree(self, leaves: Figure, up: Figure, spines: Figure, spine_up: Figure | None, tiers: list[Tier]) -> None:
        """Check the figures against the result of the search; a difference is a bug."""
        shape = self.shape
        cores = tiers[-1].count.value if shape.cores else 0
        built = (leaves.value, up.value, spines.value, spine_up.value if spine_up else 0, cores)
        if built != (shape.leaves, shape.up, shape.pods * shape.spines, shape.spine_up, shape.cores):
            raise AssertionError(f"the search found {shape}, the formulas give {built}")

    def _reserved_above(self, leaves: Figure, down: Figure) -> Figure | None:
        if self.demand.reserved_ports is None:
            return None
        return reserved_elsewhere(self.demand.reserved_ports, leaves, down, self.attached)

    def _on_leaves(self, above: Figure | None) -> Figure:
        if above is None or self.demand.reserved_ports is None:
            return self.attached
        return shape.endpoints_with_reserved(self.attached, reserved_on_leaves(self.demand.reserved_ports, above))

    def _free(self, tiers: list[Tier], links: list[Links], above: Figure | None, seats: Figure) -> dict[str, Figure]:
        leaf, spine, *core = tiers
        figures = self.figures
        ports = (figures["radix"], figures["up_radix"], figures["cages"])
        if all(group.up == leaf.up.value for group in seats.value.groups() if leaf.up):
            of_leaves = shape.free_ports(leaf.count, self._ports_left_down(leaf.up, *ports), self._on_leaves(above))
        else:
            of_leaves = ports_in_use.free_ports_of_leaves(seats, *ports)
        of_spine = self._ports_left_down(
            spine.up, figures["spine_radix"], figures["spine_up_radix"], figures["spine_cages"]
        )
        of_spines = (spine.count, of_spine, links[1].count)
        found = {
            "leaf": of_leaves,
            "spine": shape.free_ports_less_reserved(*of_spines, above) if above else shape.free_of_links(*of_spines),
        }
        for tier in core:
            found["core"] = shape.free_of_links(tier.count, tier.radix, links[2].count)
        return found

    def _ports_left_down(self, up: Figure | None, radix: Figure, up_radix: Figure, cages: Figure) -> Figure:
        if up is None or cages.value == 0:
            return radix
        if radix.value == cages.value == up_radix.value:
            return shape.ports_left(radix, up)
        return ports_left_in_cages(up, radix, up_radix, cages)

    def _up(self) -> Figure:
        """Return the uplinks of a leaf: as fixed, the fewest that keep the ratio, or more where that saves switches."""
        if self.demand.leaf.uplinks:
            return self.demand.leaf.uplinks
        figures, rates = self.figures, self.rates
        ratio = self.demand.oversubscription
        of_all = shape.up_ports(figures["radix"], ratio)
        is_full = of_all.value == self.shape.up == figures["radix"].value - self.shape.down
        if self._fixed_down() is not None:
            least = shape.up_ports_for(self._fixed_down(), rates[SERVER_LEAF.name], rates[LEAF_SPINE.name], ratio)
        elif self.exact and not is_full:
            least = shape.up_ports_for(down_of(self._searched), rates[SERVER_LEAF.name], rates[LEAF_SPINE.name], ratio)
        elif figures["cages"].value == 0:
            least = shape.up_ports_for(figures["radix"], rates[SERVER_LEAF.name], rates[LEAF_SPINE.name], ratio)
        else:
            least = of_all
        return least if least.value == self.shape.up else up_of(self._searched)

    def _fixed_down(self) -> Any:
        return self.figures["leaf_down"] if self.figures["leaf_down"].value else None

    @cached_property
    def _rails_of_leaf(self) -> Figure:
        """Rails per leaf; in a fat tree, the ports of a server."""
        if not self.has_rails:
            return self.demand.ports_per_server
        if self.shape.rails_per_leaf == 1:
            return ONE_RAIL
        return self.demand.rails_per_leaf or rails_of_leaf(self._searched)

    @cached_property
    def _rows(self) -> Figure:
        rails = self.figures["rails"]
        return rows_of_rails(rails, self._rails_of_leaf) if self.shape.rails_per_leaf > 1 and self.has_rails else rails

    def _down(self, up: Figure) -> Figure:
        fixed, figures = self._fixed_down(), self.figures
        if fixed is None:
            room = self._ports_left_down(up, figures["radix"], figures["up_radix"], figures["cages"])
            fixed = room if room.value == self.shape.down else None
        return fixed or down_of(self._searched)

    def _leaves(self, down: Figure) -> tuple[Figure | None, Figure]:
        reserved = self.demand.reserved_ports
        if self.has_rails:
            rows = self._rows
            candidates = [shape.units(self.demand.servers, self._unit(down))]
            candidates.append(shape.units_with_hosts(self.attached, rows, down))
            if reserved is not None:
                candidates.append(shape.units_with_reserved(self.attached, reserved, rows, down))
            for units in candidates:
                if units.value * rows.value == self.shape.leaves:
                    shared = self._rails_of_leaf.value > 1
                    return units, (shape.leaves_of_shared_units if shared else shape.leaves_of_units)(units, rows)
            leaves = leaves_of(self._searched)
            return shape.units_of_leaves(leaves, rows), leaves
        leaves = shape.leaves(self.attached, down)
        if leaves.value != self.shape.leaves and reserved is not None:
            leaves = shape.leaves_with_reserved(self.attached, down, reserved)
        return None, leaves if leaves.value == self.shape.leaves else leaves_of(self._searched)

    def _unit(self, down: Figure) -> Figure:
        """Return the servers of a unit: as set, else those whose ports on its rails fill a leaf's downlinks."""
        if self.figures["unit"].value:
            return self.figures["unit"]
        rails = self._rails_of_leaf
        return shape.servers_of_leaf(down, rails) if rails.value > 1 else down

    def _pods(self, units: Figure | None, leaves: Figure) -> tuple[Figure | None, Figure]:
        """Return the pods, none in two tiers without pods, and the leaves below a spine of the largest."""
        if not self.shape.cores and not self.demand.pod_leaves:
            return None, leaves
        most = self.demand.pod_leaves or self._spine_ports_down()
        mixed = self.figures["pods_hold_all_rails"].value
        pods = shape.pods(leaves, most) if mixed or not units else shape.groups_of_rails(units, most, self._rows)
        if pods.value != self.shape.pods:
            pods = pods_of(self._searched)
        if units and mixed:
            return pods, shape.leaves_of_units_in_pod(units, pods, self._rows)
        return pods, shape.leaves_of_largest_pod(leaves, pods)

    @cached_property
    def _numbers(self) -> Figure:
        return numbers_figure(self.figures)

    @cached_property
    def _searched(self) -> Figure:
        """The shape found by the search, as a figure, for values that no single formula gives."""
        return smallest_fabric(self._numbers)

    def _spine_ports_down(self) -> Figure:
        radix, uplinks = self.figures["spine_radix"], self.demand.spine.uplinks
        if self.demand.spine.downlinks:
            return self.demand.spine.downlinks
        if not self.shape.cores:
            return radix
        if uplinks and radix.value - uplinks.value < radix.value // 2:
            return shape.ports_left(radix, uplinks)
        return shape.half(radix)

    def _spines_of_pod(self, below: Figure, up: Figure, pods: Figure | None) -> Figure:
        spine = self.demand.spine
        fixed = spine.per_pod or (spine.count if pods is None else None)
        if fixed:
            return fixed
        if spine.count and pods is not None:
            return fixed_count_of_pod(spine.count, pods)
        spines = shape.even_spread(below, up, self._spine_ports_down())
        return spines if spines.value == self.shape.spines else spines_of(self._searched)

    def _spine_up(self, down: Figure) -> Figure:
        rates = self.rates
        asked = shape.up_ports_for(
            down, rates[LEAF_SPINE.name], rates[SPINE_CORE.name], self.demand.spine_oversubscription
        )
        if self.demand.spine.uplinks:
            return self.demand.spine.uplinks
        return asked if asked.value == self.shape.spine_up else spine_up_of(self._searched)

    def _seats(self, units: Figure | None, leaves: Figure, down: Figure, up: Figure, spines: Figure) -> Figure:
        """Return the assignment of endpoints to leaves, and the uplinks that each leaf needs."""
        figures, rates, demand = self.figures, self.rates, self.demand
        ports = (figures["nic_ports"], figures["host_ports"], figures["reserved_ports"], self._rows)
        places = (*ports, self._ports_of_unit(units, leaves, down), down, up, leaves)
        ending = (self._rails_of_leaf, most_ports_down(self._numbers, up))
        if demand.leaf.uplinks or not self.exact:
            seats = ports_in_use.all_links_up(*places, *ending)
        else:
            ratio = demand.oversubscription
            seats = ports_in_use.links_up_as_needed(
                *places, rates[SERVER_LEAF.name], rates[LEAF_SPINE.name], ratio, spines, *ending
            )
        return ports_in_use.in_pods_of_all_rails(seats) if figures["pods_hold_all_rails"].value else seats

    def _ports_of_unit(self, units: Figure | None, leaves: Figure, down: Figure) -> Figure:
        """Return the ports on a leaf of the servers of a full unit; without units, of the servers that fill it."""
        if units is None:
            ports = self.figures["nic_ports"]
            return ports_in_use.whole_servers_on_leaf(down, self.demand.ports_per_server, leaves, ports)
        if self.exact:
            return ports_in_use.unit_on_leaf(self.demand.servers, units, self._rails_of_leaf)
        return self._fixed_down() or down

    def _leaf_tier(self, leaves: Figure, down: Figure, up: Figure, seats: Figure) -> Tier:
        rates = self.rates
        fitted: tuple[Fitted, ...] = (Fitted(leaves, down, up),)
        if self.demand.populate_used_ports_only and seats.value.kinds() != (((down.value, up.value), leaves.value),):
            fitted = tuple(ports_in_use.fit_switches(ports_in_use.kinds_of_leaves(seats), has_up=True))
        built = shape.ratio_built(down, rates[SERVER_LEAF.name], up, rates[LEAF_SPINE.name])
        return Tier("leaf", self.demand.leaf.switch, leaves, self.figures["radix"], down, up, fitted, built)

    def _leaf_links(self, leaves: Figure, up: Figure, seats: Figure) -> Links:
        all_up = shape.links_up(leaves, up)
        count = ports_in_use.links_of_leaves(seats)
        if count.value == all_up.value:
            count = all_up
        return Links(LEAF_SPINE.name, count, count, self.rates[LEAF_SPINE.name], LEAF_SPINE.ends)

    def _server_links(self) -> Links:
        rate = self.rates[SERVER_LEAF.name]
        return Links(SERVER_LEAF.name, all_endpoints(self.demand), self.attached, rate, SERVER_LEAF.ends)

    def _spine_tier(
        self, spines: Figure, of_pod: Figure, down: Figure, up: Figure | None, pods: Figure | None, seats: Figure
    ) -> Tier:
        ratio = None
        if up is not None:
            ratio = shape.ratio_built(down, self.rates[LEAF_SPINE.name], up, self.rates[SPINE_CORE.name])
        kinds = ports_in_use.kinds_of_spines(seats, pods or single_layer(), of_pod, up or UNSET)
        fitted: tuple[Fitted, ...] = (Fitted(spines, down, up),)
        [((filled, _), _), *others] = kinds.value
        if others or filled != down.value:
            fitted = tuple(ports_in_use.fit_switches(kinds, has_up=up is not None))
        return Tier("spine", self.demand.spine.switch, spines, self.figures["spine_radix"], down, up, fitted, ratio)

    def _core_tier(self, pods: Figure, of_pod: Figure, spine_up: Figure) -> Tier:
        uplinks = shape.uplinks_of_pod(of_pod, spine_up)
        radix = self.figures["core_radix"]
        fixed = self.demand.core.count
        count = fixed if fixed else shape.even_spread(pods, uplinks, radix)
        down = shape.ports_down(pods, uplinks, count)
        return Tier("core", self.demand.core.switch, count, radix, down, None, (Fitted(count, down, None),), None)

    def _bisection(self, seats: Figure, pods: Figure | None, of_pod: Figure, spine_up: Figure | None) -> Figure:
        rates = (self.rates[SERVER_LEAF.name], self.rates[LEAF_SPINE.name])
        if pods is None:
            return ports_in_use.bisection_of_leaves(seats, *rates)
        if spine_up is None:
            return ports_in_use.bisection_of_pods(seats, *rates, pods, shape.zero_bisection())
        pod_gbps = shape.bandwidth(shape.uplinks_of_pod(of_pod, spine_up), self.rates[SPINE_CORE.name])
        return ports_in_use.bisection_of_pods(seats, *rates, pods, pod_gbps)
