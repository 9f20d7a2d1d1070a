"""A folded Clos as figures: the shape that the search found, built once more from formulas that explain each count."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

from bomgen.fabric import clos
from bomgen.fabric.model import Demand, Fabric, Fitted, Links, Tier
from bomgen.fabric.search import MAX_TIERS, Numbers, Shape, best_of, ports_beside
from bomgen.figures import Figure, formula
from bomgen.problems import Infeasible


@formula("count")
def not_fixed() -> int:
    """What the plan leaves to the rules."""
    return 0


def figures_of(demand: Demand, tiers: int) -> dict[str, Figure]:
    """The demand as the figures that `Numbers` are the values of."""
    nothing = not_fixed()
    down_gbps, up_gbps, core_gbps = (demand.rates[kind] for kind in ("server-leaf", "leaf-spine", "spine-core"))
    leaf, spine, core = demand.leaf, demand.spine, demand.core
    leaf_down = clos.ports_of_servers(leaf.servers, demand.ports_per_server) if leaf.servers else leaf.downlinks
    three = tiers == MAX_TIERS
    found = {
        "tiers": two_tiers() if tiers == 2 else three_tiers(),
        "nic_ports": clos.nic_endpoints(demand.servers, demand.ports_per_server),
        "reserved_ports": demand.reserved_ports,
        "down_gbps": down_gbps,
        "up_gbps": up_gbps,
        "core_gbps": core_gbps,
        "oversubscription": demand.oversubscription,
        "spine_oversubscription": demand.spine_oversubscription,
        "radix": clos.radix(leaf.switch, down_gbps),
        "up_radix": clos.radix(leaf.switch, up_gbps),
        "cages": clos.shared_cages(leaf.switch, down_gbps, up_gbps),
        "spine_radix": clos.radix(spine.switch, up_gbps),
        "spine_up_radix": clos.radix(spine.switch, core_gbps) if three else None,
        "spine_cages": clos.shared_cages(spine.switch, up_gbps, core_gbps) if three else None,
        "core_radix": clos.radix(core.switch, core_gbps) if three else None,
        "leaf_down": leaf_down,
        "leaf_up": leaf.uplinks,
        "pod_leaves": demand.pod_leaves,
        "spine_count": spine.count,
        "spines_per_pod": spine.per_pod,
        "spine_down": spine.downlinks,
        "spine_up": spine.uplinks,
        "core_count": core.count,
    }
    return {name: figure if figure is not None else nothing for name, figure in found.items()}


@formula("tiers")
def two_tiers() -> int:
    """Leaves and spines."""
    return 2


@formula("tiers")
def three_tiers() -> int:
    """Leaves, spines and cores."""
    return MAX_TIERS


def numbers_of(figures: dict[str, Figure]) -> Numbers:
    """The values of `figures_of`, as the search takes them."""
    return Numbers(**{name: figure.value for name, figure in figures.items()})


def spaced(number: int) -> str:
    """A number as messages write it: thousands apart."""
    return f"{number:,}".replace(",", " ")


def endpoints_of(demand: Demand) -> Figure:
    """NIC ports of the servers, and reserved ports where there are some."""
    nic_ports = clos.nic_endpoints(demand.servers, demand.ports_per_server)
    return clos.endpoints_with_reserved(nic_ports, demand.reserved_ports) if demand.reserved_ports else nic_ports


def one_switch(demand: Demand, topology: str) -> Fabric:
    """All endpoints on one leaf. Raises Infeasible when it has too few ports."""
    rate = demand.rates["server-leaf"]
    radix = clos.radix(demand.leaf.switch, rate)
    nic_ports = clos.nic_endpoints(demand.servers, demand.ports_per_server)
    endpoints = endpoints_of(demand)
    if endpoints.value > radix.value:
        servers = radix.value // demand.ports_per_server.value
        message = (
            f"{spaced(endpoints.value)} endpoints; one {demand.leaf.switch.identity.name} has "
            f"{spaced(radix.value)} ports at {rate.value} Gb/s, so at most {servers} servers; fat-tree reaches more"
        )
        raise Infeasible(message, because=endpoints)
    count = leaves_of_one_switch(endpoints, radix)
    populated = endpoints if demand.exact else radix
    tier = Tier("leaf", demand.leaf.switch, count, radix, radix, None, (Fitted(count, populated, None),), None)
    return Fabric(
        topology=topology,
        endpoints=endpoints,
        ports_per_server=demand.ports_per_server,
        tier_count=tier_count(count),
        tiers=(tier,),
        links=(Links("server-leaf", endpoints, nic_ports, rate, ("server", "leaf")),),
        switches=count,
        bisection_gbps=clos.bisection_of_switch(nic_ports, rate),
        hops=clos.switches_on_the_way(tier_count(count)),
        largest=radix,
        free_ports={"leaf": clos.ports_left(radix, endpoints)},
    )


@formula("switches")
def leaves_of_one_switch(endpoints: int, radix: int) -> int:
    """One switch, when all endpoints fit on it."""
    return ceil(endpoints / radix)


@formula("tiers")
def tier_count(leaves: int) -> int:
    """One switch is one tier."""
    return leaves


@formula("switches")
def fixed_count_of_pod(count: int, pods: int) -> int:
    """The number that the plan fixes for all pods, of one pod."""
    return count // pods


@formula("ports")
def partly_filled(nic_ports: int, leaves: int, down: int, reserved_on_leaves: int) -> int:
    """Ports in use on the last leaf."""
    return nic_ports - (leaves - 1) * down + reserved_on_leaves


@formula("ports")
def shrunk_uplinks(filled: int, down_gbps: int, up_gbps: int, oversubscription: Fraction, spines: int) -> int:
    """The smallest multiple of the spines that keeps the ratio for the ports in use on a leaf."""
    return ceil(Fraction(filled * down_gbps) / (oversubscription * up_gbps * spines)) * spines


@formula("links")
def links_of_partly_filled(leaves: int, up: int, last_up: int) -> int:
    """Links up of full leaves and of the last one."""
    return (leaves - 1) * up + last_up


@formula("switches")
def all_but(switches: int, others: int) -> int:
    """Switches that are not among the others."""
    return switches - others


@formula("switches")
def one(switches: int) -> int:
    """One of them."""
    return min(switches, 1)


@formula("ports")
def reserved_elsewhere(reserved_ports: int, leaves: int, down: int, nic_ports: int) -> int:
    """Reserved ports that find no free port on a leaf."""
    return max(reserved_ports - (leaves * down - nic_ports), 0)


@formula("ports")
def reserved_on_leaves(reserved_ports: int, elsewhere: int) -> int:
    """Reserved ports on leaves."""
    return reserved_ports - elsewhere


@formula("switches")
def larger_pods(leaves: int, pods: int, per_pod: int) -> int:
    """Spines of the pods that have one leaf more than the others; of all pods when they are equal."""
    return (leaves % pods or pods) * per_pod


@formula("ports")
def one_leaf_less(down: int, up: int, per_pod: int) -> int:
    """Ports down of a spine in a pod with one leaf less."""
    return down - up // per_pod


@formula("shape", source="every division of a leaf's ports, and every number of pods, tried for the fewest switches")
def smallest_fabric(
    tiers: int,
    nic_ports: int,
    reserved_ports: int,
    down_gbps: int,
    up_gbps: int,
    core_gbps: int,
    oversubscription: Fraction,
    spine_oversubscription: Fraction,
    radix: int,
    up_radix: int,
    cages: int,
    spine_radix: int,
    spine_up_radix: int,
    spine_cages: int,
    core_radix: int,
    leaf_down: int,
    leaf_up: int,
    pod_leaves: int,
    spine_count: int,
    spines_per_pod: int,
    spine_down: int,
    spine_up: int,
    core_count: int,
) -> Shape:
    """Ports down and up of a leaf, leaves, pods, spines of a pod, their up-links, and cores of the smallest fabric."""
    return best_of(
        Numbers(
            tiers,
            nic_ports,
            reserved_ports,
            down_gbps,
            up_gbps,
            core_gbps,
            oversubscription,
            spine_oversubscription,
            radix,
            up_radix,
            cages,
            spine_radix,
            spine_up_radix,
            spine_cages,
            core_radix,
            leaf_down,
            leaf_up,
            pod_leaves,
            spine_count,
            spines_per_pod,
            spine_down,
            spine_up,
            core_count,
        )
    )


@formula("ports")
def up_of(shape: Shape) -> int:
    """Up-links of a leaf in the smallest fabric: more than the ratio needs, where they spread more evenly."""
    return shape.up


@formula("switches")
def leaves_of(shape: Shape) -> int:
    """Leaves of the smallest fabric: with as many reserved ports on them as saves switches."""
    return shape.leaves


@formula("pods")
def pods_of(shape: Shape) -> int:
    """Pods of the smallest fabric: more than are needed, where that saves switches."""
    return shape.pods


@formula("switches")
def spines_of(shape: Shape) -> int:
    """Spines of a pod in the smallest fabric, with room for more leaves than there are."""
    return shape.spines


@formula("ports")
def spine_up_of(shape: Shape) -> int:
    """Up-links of a spine in the smallest fabric: more than the ratio needs, where they spread more evenly."""
    return shape.spine_up


@formula("ports")
def spine_down_beside(spine_up: int, radix: int, up_radix: int, cages: int) -> int:
    """Ports of a spine that its own up-links leave."""
    return ports_beside(spine_up, radix, up_radix, cages)


@formula("switches", source="even spread beside the spine's own up-links")
def spines_beside_uplinks(
    pod_leaves: int,
    up: int,
    radix: int,
    up_radix: int,
    cages: int,
    up_gbps: int,
    core_gbps: int,
    oversubscription: Fraction,
) -> int:
    """The fewest spines of a pod whose ports hold their links to the leaves and as many up as the ratio asks."""
    return next(
        spines
        for spines in clos.divisors(up)
        if pod_leaves * up // spines
        <= ports_beside(
            ceil(Fraction(pod_leaves * up // spines * up_gbps) / (oversubscription * core_gbps)), radix, up_radix, cages
        )
    )


@formula("ports")
def links_shrunk(down: int, up: int, last_up: int, per_pod: int) -> int:
    """Ports down of a spine above the last leaf, which has fewer links up than the others."""
    return down - (up - last_up) // per_pod


class Builder:
    """Turns a shape found in plain numbers into figures."""

    def __init__(self, topology: str, demand: Demand, figures: dict[str, Figure], shape: Shape) -> None:
        self.topology, self.demand, self.figures, self.shape = topology, demand, figures, shape
        self.rates = demand.rates
        self.nic_ports = figures["nic_ports"]

    def fabric(self) -> Fabric:
        """The shape as a fabric."""
        up = self._up()
        down = self._down(up)
        leaves = self._leaves(down)
        pods, pod_leaves = self._pods(leaves)
        below = pod_leaves or leaves
        of_pod = self._spines_of_pod(below, up, pods)
        spines = clos.switches_of_pods(pods, of_pod) if pods else of_pod
        spine_down = clos.ports_down(below, up, of_pod)
        spine_up = self._spine_up(spine_down) if self.shape.cores else None
        leaf = self._leaf_tier(leaves, down, up, of_pod)
        spine = self._spine_tier(leaf, spines, of_pod, spine_down, spine_up, pods)
        tiers, links = [leaf, spine], [self._server_links(), self._leaf_links(leaf, leaves, up)]
        switches = clos.sum_of_switches(leaves, spines)
        if spine_up is not None and pods is not None:
            core = self._core_tier(pods, of_pod, spine_up)
            tiers.append(core)
            core_links = clos.links_up(spines, spine_up)
            links.append(Links("spine-core", core_links, core_links, self.rates["spine-core"], ("spine", "core")))
            switches = clos.sum_of_switches(switches, core.count)
        self._agree(leaves, up, spines, spine_up, tiers)
        return Fabric(
            topology=self.topology,
            endpoints=endpoints_of(self.demand),
            ports_per_server=self.demand.ports_per_server,
            tier_count=self.figures["tiers"],
            tiers=tuple(tiers),
            links=tuple(links),
            switches=switches,
            bisection_gbps=self._bisection(leaf, pods, of_pod, spine_up),
            hops=clos.switches_on_the_way(self.figures["tiers"]),
            largest=None,
            free_ports={},
            pods=pods,
            reserved_above=self._reserved_above(leaves, down),
        )

    def _agree(self, leaves: Figure, up: Figure, spines: Figure, spine_up: Figure | None, tiers: list[Tier]) -> None:
        """The figures must say what the search found: anything else is a mistake of the program."""
        shape = self.shape
        cores = tiers[-1].count.value if shape.cores else 0
        built = (leaves.value, up.value, spines.value, spine_up.value if spine_up else 0, cores)
        if built != (shape.leaves, shape.up, shape.pods * shape.spines, shape.spine_up, shape.cores):
            raise AssertionError(f"the search found {shape}, the formulas give {built}")

    def _reserved_above(self, leaves: Figure, down: Figure) -> Figure | None:
        if self.demand.reserved_ports is None:
            return None
        return reserved_elsewhere(self.demand.reserved_ports, leaves, down, self.nic_ports)

    def _up(self) -> Figure:
        """Up-links of a leaf: as given, the fewest that keep the ratio, or more where that saves switches."""
        if self.demand.leaf.uplinks:
            return self.demand.leaf.uplinks
        figures, rates = self.figures, self.rates
        ratio = self.demand.oversubscription
        if self._fixed_down() is not None:
            least = clos.up_ports_for(self._fixed_down(), rates["server-leaf"], rates["leaf-spine"], ratio)
        elif figures["cages"].value == 0:
            least = clos.up_ports_for(figures["radix"], rates["server-leaf"], rates["leaf-spine"], ratio)
        else:
            least = clos.up_ports(figures["radix"], ratio)
        return least if least.value == self.shape.up else up_of(self._searched)

    def _fixed_down(self) -> Any:
        return self.figures["leaf_down"] if self.figures["leaf_down"].value else None

    def _down(self, up: Figure) -> Figure:
        figures = self.figures
        if self._fixed_down() is not None:
            return figures["leaf_down"]
        if figures["cages"].value == 0:
            return figures["radix"]
        if figures["radix"].value == figures["up_radix"].value:
            return clos.ports_left(figures["radix"], up)
        return ports_left_in_cages(up, figures["radix"], figures["up_radix"], figures["cages"])

    def _leaves(self, down: Figure) -> Figure:
        leaves = clos.leaves(self.nic_ports, down)
        if leaves.value == self.shape.leaves:
            return leaves
        if self.demand.reserved_ports is not None:
            leaves = clos.leaves_with_reserved(self.nic_ports, down, self.demand.reserved_ports)
        return leaves if leaves.value == self.shape.leaves else leaves_of(self._searched)

    def _pods(self, leaves: Figure) -> tuple[Figure | None, Figure | None]:
        """Pods and the leaves of the largest; none in two tiers without pods."""
        if not self.shape.cores and not self.demand.pod_leaves:
            return None, None
        pods = clos.pods(leaves, self.demand.pod_leaves or self._spine_ports_down())
        if pods.value != self.shape.pods:
            pods = pods_of(self._searched)
        return pods, clos.leaves_of_largest_pod(leaves, pods)

    @cached_property
    def _searched(self) -> Figure:
        """The shape that the search found, as a figure: for what no single rule gives."""
        return smallest_fabric(**self.figures)

    def _spine_ports_down(self) -> Figure:
        """The ports that a spine may face down with."""
        radix, uplinks = self.figures["spine_radix"], self.demand.spine.uplinks
        if self.demand.spine.downlinks:
            return self.demand.spine.downlinks
        if not self.shape.cores:
            return radix
        if uplinks and radix.value - uplinks.value < radix.value // 2:
            return clos.ports_left(radix, uplinks)
        return clos.half(radix)

    def _spines_of_pod(self, below: Figure, up: Figure, pods: Figure | None) -> Figure:
        spine = self.demand.spine
        fixed = spine.per_pod or (spine.count if pods is None else None)
        if fixed:
            return fixed
        if spine.count and pods is not None:
            return fixed_count_of_pod(spine.count, pods)
        if self.demand.pod_leaves and self.shape.cores and not spine.downlinks:
            ports = (self.figures["spine_radix"], self.figures["spine_up_radix"], self.figures["spine_cages"])
            if spine.uplinks:
                return clos.even_spread(below, up, spine_down_beside(spine.uplinks, *ports))
            rates, ratio = self.rates, self.demand.spine_oversubscription
            return spines_beside_uplinks(below, up, *ports, rates["leaf-spine"], rates["spine-core"], ratio)
        spines = clos.even_spread(below, up, self._spine_ports_down())
        return spines if spines.value == self.shape.spines else spines_of(self._searched)

    def _spine_up(self, down: Figure) -> Figure:
        rates = self.rates
        asked = clos.up_ports_for(down, rates["leaf-spine"], rates["spine-core"], self.demand.spine_oversubscription)
        if self.demand.spine.uplinks:
            return self.demand.spine.uplinks
        return asked if asked.value == self.shape.spine_up else spine_up_of(self._searched)

    def _leaf_tier(self, leaves: Figure, down: Figure, up: Figure, spines: Figure) -> Tier:
        fitted: tuple[Fitted, ...] = (Fitted(leaves, down, up),)
        rates, reserved = self.rates, self.figures["reserved_ports"]
        if self.demand.exact:
            above = reserved_elsewhere(reserved, leaves, down, self.nic_ports)
            filled = partly_filled(self.nic_ports, leaves, down, reserved_on_leaves(reserved, above))
            if filled.value < down.value:
                last = one(leaves)
                ratio = self.demand.oversubscription
                shrunk = shrunk_uplinks(filled, rates["server-leaf"], rates["leaf-spine"], ratio, spines)
                last_up = shrunk if shrunk.value < up.value and not self.demand.leaf.uplinks else up
                fitted = (Fitted(all_but(leaves, last), down, up), Fitted(last, filled, last_up))
        built = clos.ratio_built(down, rates["server-leaf"], up, rates["leaf-spine"])
        return Tier("leaf", self.demand.leaf.switch, leaves, self.figures["radix"], down, up, fitted, built)

    def _leaf_links(self, leaf: Tier, leaves: Figure, up: Figure) -> Links:
        count, last_up = clos.links_up(leaves, up), leaf.fitted[-1].up
        if len(leaf.fitted) > 1 and last_up is not None:
            count = links_of_partly_filled(leaves, up, last_up)
        return Links("leaf-spine", count, count, self.rates["leaf-spine"], ("leaf", "spine"))

    def _server_links(self) -> Links:
        rate = self.rates["server-leaf"]
        return Links("server-leaf", endpoints_of(self.demand), self.nic_ports, rate, ("server", "leaf"))

    def _spine_tier(
        self, leaf: Tier, spines: Figure, of_pod: Figure, down: Figure, up: Figure | None, pods: Figure | None
    ) -> Tier:
        ratio = None
        if up is not None:
            ratio = clos.ratio_built(down, self.rates["leaf-spine"], up, self.rates["spine-core"])
        fitted = tuple(self._fitted_spines(leaf, spines, of_pod, down, up, pods))
        return Tier("spine", self.demand.spine.switch, spines, self.figures["spine_radix"], down, up, fitted, ratio)

    def _fitted_spines(
        self, leaf: Tier, spines: Figure, of_pod: Figure, down: Figure, up: Figure | None, pods: Figure | None
    ) -> Iterator[Fitted]:
        """Spines alike: of larger pods, of smaller ones, and of the pod whose last leaf has fewer links up."""
        leaf_up, last_up = leaf.fitted[0].up, leaf.fitted[-1].up
        if leaf_up is None or last_up is None:
            raise ValueError("a leaf below spines has links up")
        groups = [(spines, down)]
        if pods is not None and leaf.count.value % pods.value:
            larger = larger_pods(leaf.count, pods, of_pod)
            groups = [(larger, down), (all_but(spines, larger), one_leaf_less(down, leaf_up, of_pod))]
        if last_up.value < leaf_up.value:
            count, ports = groups.pop()
            fewer = links_shrunk(ports, leaf_up, last_up, of_pod)
            if count.value > of_pod.value:
                groups.append((all_but(count, of_pod), ports))
                count = of_pod
            groups.append((count, fewer))
        for count, ports in groups:
            yield Fitted(count, ports, up)

    def _core_tier(self, pods: Figure, of_pod: Figure, spine_up: Figure) -> Tier:
        uplinks = clos.uplinks_of_pod(of_pod, spine_up)
        radix = self.figures["core_radix"]
        fixed = self.demand.core.count
        count = fixed if fixed else clos.even_spread(pods, uplinks, radix)
        down = clos.ports_down(pods, uplinks, count)
        return Tier("core", self.demand.core.switch, count, radix, down, None, (Fitted(count, down, None),), None)

    def _bisection(self, leaf: Tier, pods: Figure | None, of_pod: Figure, spine_up: Figure | None) -> Figure:
        rates = self.rates
        up, last_up = leaf.fitted[0].up, leaf.fitted[-1].up
        if up is None or last_up is None:
            raise ValueError("a leaf below spines has links up")
        below = (self.nic_ports, leaf.count, leaf.down, rates["server-leaf"], up, last_up, rates["leaf-spine"])
        if pods is None:
            return clos.bisection_of_leaves(*below)
        if spine_up is None:
            return clos.bisection_of_pods(*below, pods, clos.no_bisection())
        pod_gbps = clos.bandwidth(clos.uplinks_of_pod(of_pod, spine_up), rates["spine-core"])
        return clos.bisection_of_pods(*below, pods, pod_gbps)


@formula("ports")
def ports_left_in_cages(up: int, radix: int, up_radix: int, cages: int) -> int:
    """Links down that the cages left over by the links up carry, where the two have different rates."""
    return ports_beside(up, radix, up_radix, cages)
