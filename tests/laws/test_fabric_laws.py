"""Laws that every folded Clos obeys, whatever its radix, size, ratio, tiers, rails and whoever else hangs on it."""

# ruff: noqa: SIM300

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

import pytest
from flow import Network
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bomgen import catalog, records
from bomgen.fabric import build
from bomgen.fabric.model import Demand, Fabric, TierChoice
from bomgen.figures import Figure, Given, Mark
from bomgen.parts import Switch
from bomgen.problems import Infeasible
from bomgen.source import read

SMALL = (4, 6, 8, 10, 12, 16, 20)
TOPOLOGIES = ("fat-tree", "rail-optimized", "rail-only")
MOST_RADIX, MOST_SERVERS, MOST_ENDPOINTS = 512, 100_000, 2048
RATIOS = st.builds(Fraction, st.integers(1, 40), st.integers(1, 10))
SPINE_RATIOS = st.builds(Fraction, st.integers(4, 28), st.just(4))
KINDS = ("server-leaf", "leaf-spine", "spine-core")


class Case(NamedTuple):
    """A demand in plain numbers; 0 tiers is as few as fit."""

    radix: int
    servers: int
    ports: int = 1
    ratio: Fraction = Fraction(1)
    spine_ratio: Fraction = Fraction(1)
    tiers: int = 0
    reserved: int = 0
    exact: bool = False
    topology: str = "fat-tree"
    hosts: int = 0
    unit: int = 0

    @property
    def attached(self) -> int:
        """Endpoints without the reserved ones."""
        return self.servers * self.ports + self.hosts

    @property
    def trees(self) -> int:
        """Equal fabrics that stand side by side."""
        return self.ports if self.topology == "rail-only" else 1


def given_as(value: Any, unit: str = "count") -> Figure:
    """A value as a plan gives it."""
    return Figure(value, unit, Given(Mark("plan.yaml", 1, 1)))


@cache
def switch_of(radix: int) -> Switch:
    """A switch described in a plan: so many ports of 400G, one a cage, not split."""
    plan = read(f"switch: {{ports: {radix}, port_gbps: 400}}", "plan.yaml")
    return records.switch(catalog.inline("switch", plan, ("switch",)))


def demand(case: Case) -> Demand:
    """What the fabric of a case must carry, on switches of one kind with 400G ports."""
    choice = TierChoice(switch_of(case.radix))
    return Demand(
        servers=given_as(case.servers),
        ports_per_server=given_as(case.ports),
        host_ports=given_as(case.hosts) if case.hosts else None,
        reserved_ports=given_as(case.reserved) if case.reserved else None,
        rates=dict.fromkeys(KINDS, given_as(400, "Gb/s")),
        tiers=given_as(case.tiers) if case.tiers else None,
        oversubscription=given_as(case.ratio, "ratio"),
        spine_oversubscription=given_as(case.spine_ratio, "ratio"),
        leaf=choice,
        spine=choice,
        core=choice,
        pod_leaves=None,
        uplinks=None,
        unit=given_as(case.unit) if case.unit else None,
        options={},
        exact=case.exact,
    )


def fabric_of(case: Case) -> Fabric | None:
    """The fabric of a case; None when none carries it."""
    try:
        return build(case.topology, demand(case))
    except Infeasible:
        return None


@st.composite
def cases(draw: st.DrawFn, small: bool = False, topologies: tuple[str, ...] = TOPOLOGIES) -> Case:
    """Demands from one server to somewhat more than three tiers carry; small ones have some two thousand endpoints."""
    radix = draw(st.sampled_from(SMALL)) if small else 2 * draw(st.integers(4, MOST_RADIX // 2))
    ports = draw(st.integers(1, 4) if small else st.integers(1, 8))
    topology = draw(st.sampled_from(topologies))
    reach = draw(st.sampled_from((radix, radix**2 // 2, radix**3 // 4)))
    most = MOST_ENDPOINTS // ports if small else MOST_SERVERS
    return Case(
        radix=radix,
        servers=draw(st.integers(1, min(reach // ports + 1, most))),
        ports=ports,
        ratio=draw(RATIOS),
        spine_ratio=draw(SPINE_RATIOS),
        tiers=draw(st.sampled_from((0, 0, 2, 3))),
        reserved=draw(st.sampled_from((0, 0, 1, 4))),
        exact=draw(st.booleans()),
        topology=topology,
        hosts=draw(st.sampled_from((0, 0, 1, 7, 40))),
        unit=draw(st.integers(1, radix // 2)) if topology == "rail-optimized" and draw(st.booleans()) else 0,
    )


def count(figure: Figure | None) -> Any:
    """The value of a figure, nought for none."""
    return figure.value if figure else 0


@given(cases())
def test_ports_used_never_exceed_the_radix(case: Case) -> None:
    """No switch has more links down and up than ports."""
    fabric = fabric_of(case)
    for tier in fabric.tiers if fabric else ():
        assert count(tier.down) + count(tier.up) <= case.radix or tier.up is None
        for fitted in tier.fitted:
            assert 0 <= count(fitted.down) + count(fitted.up) <= case.radix


@given(cases())
def test_every_endpoint_has_a_port(case: Case) -> None:
    """The leaves' ports down hold whatever is attached, and with the spines' free ports the reserved ones too."""
    fabric = fabric_of(case)
    if fabric is None:
        return
    leaf, *above = fabric.tiers
    room = count(leaf.count) * count(leaf.down)
    free = sum(count(tier.count) * (case.radix - count(tier.down) - count(tier.up)) for tier in above[:1])
    assert room >= case.attached
    assert room + free >= case.attached + case.reserved
    assert case.attached + case.reserved == count(fabric.endpoints)


@given(cases())
def test_free_ports_are_those_that_nothing_is_plugged_into(case: Case) -> None:
    """Ports of a tier are used down, used up or free, and no more endpoints can be added than leaves have free."""
    fabric = fabric_of(case)
    if fabric is None or fabric.plane is not None:
        return
    above = count(fabric.reserved_above)
    used = [case.attached + case.reserved - above]
    used += [link.count.value + (above if link.kind == "leaf-spine" else 0) for link in fabric.links[1:]]
    for tier, down in zip(fabric.tiers, used, strict=True):
        room = count(tier.count) * (case.radix - (count(tier.up) if len(fabric.tiers) > 1 else 0))
        assert room - down == count(fabric.free_ports[tier.name])
    assert count(fabric.growth) <= count(fabric.free_ports["leaf"])


@given(cases())
def test_the_ratio_built_never_exceeds_the_one_asked(case: Case) -> None:
    """Leaves and spines are oversubscribed at most as the plan allows."""
    fabric = fabric_of(case)
    for tier, asked in zip(fabric.tiers if fabric else (), (case.ratio, case.spine_ratio), strict=False):
        if tier.oversubscription is not None:
            assert Fraction(count(tier.down), count(tier.up)) == tier.oversubscription.value
            assert tier.oversubscription.value <= asked


@given(cases())
def test_links_from_below_are_links_from_above(case: Case) -> None:
    """Every link has two ends: what the lower switches send up is what the upper ones take in."""
    fabric = fabric_of(case)
    tiers = fabric.tiers if fabric else ()
    for lower, upper in pairwise(tiers):
        links = next(link.count.value for link in fabric.links if link.kind == f"{lower.name}-{upper.name}")  # type: ignore[union-attr]
        assert links == sum(count(fitted.count) * count(fitted.up) for fitted in lower.fitted)
        assert links == sum(count(fitted.count) * count(fitted.down) for fitted in upper.fitted)


@given(cases())
def test_links_spread_evenly(case: Case) -> None:
    """A leaf has as many links to each spine of its pod, a pod as many to each core."""
    fabric = fabric_of(case)
    if fabric is None or len(fabric.tiers) == 1:
        return
    fabric = fabric.plane or fabric
    leaf, spine, *core = fabric.tiers
    pods = count(fabric.pods) or 1
    of_pod, rest = divmod(count(spine.count), pods)
    assert 0 == rest
    assert [0] * len(leaf.fitted) == [count(fitted.up) % of_pod for fitted in leaf.fitted]
    if core:
        assert 0 == of_pod * count(spine.up) % count(core[0].count)


@given(cases())
@example(Case(radix=10, servers=75))
@example(Case(radix=32, servers=288, ports=8))
@example(Case(radix=8, servers=45, ratio=Fraction(2)))
def test_one_more_server_never_needs_fewer_switches(case: Case) -> None:
    """Growth never saves a switch."""
    smaller, larger = fabric_of(case), fabric_of(case._replace(servers=case.servers + 1))
    if smaller is None:
        assert larger is None
    elif larger is not None:
        assert count(smaller.switches) <= count(larger.switches)


@given(cases(), RATIOS)
def test_relaxing_the_ratio_never_costs_switches(case: Case, other: Fraction) -> None:
    """More oversubscription never needs more switches, nor more links at the same number of tiers."""
    strict, relaxed = sorted((case.ratio, other))
    dear, cheap = fabric_of(case._replace(ratio=strict)), fabric_of(case._replace(ratio=relaxed))
    if dear is None:
        return
    assert cheap is not None
    assert count(cheap.switches) <= count(dear.switches)
    if len(cheap.tiers) == len(dear.tiers):
        assert sum(link.count.value for link in cheap.links) <= sum(link.count.value for link in dear.links)


@given(cases(), SPINE_RATIOS)
@example(Case(radix=8, servers=46, ratio=Fraction(2), spine_ratio=Fraction(5, 4)), Fraction(3, 2))
def test_relaxing_the_spines_ratio_never_costs_switches(case: Case, other: Fraction) -> None:
    """More oversubscription between pods never needs more switches."""
    strict, relaxed = sorted((case.spine_ratio, other))
    dear, cheap = fabric_of(case._replace(spine_ratio=strict)), fabric_of(case._replace(spine_ratio=relaxed))
    if dear is None:
        return
    assert cheap is not None
    assert count(cheap.switches) <= count(dear.switches)


@given(cases())
@example(Case(radix=4, servers=3, ports=2, ratio=Fraction(1, 2), reserved=3))
def test_a_refusal_names_a_size_that_fits(case: Case) -> None:
    """The largest demand that a refusal names is met, one server more is not."""
    try:
        build(case.topology, demand(case))
    except Infeasible as refusal:
        servers = int(refusal.message.partition("at most ")[2].split(" servers")[0])
        assert servers < case.servers
        largest = case._replace(servers=servers)
        assert servers == 0 or fabric_of(largest) is not None
        assert fabric_of(case._replace(servers=servers + 1)) is None


def seats(case: Case, leaves: int, down: int) -> list[list[int]]:
    """The number in the order of the endpoints, servers and then hosts, of whatever is plugged into each leaf.

    In a fabric of rails the leaves are numbered rail after rail; port r of a server is on rail r, hosts' ports are
    dealt out to the rails in turn, and stand on the last leaf with servers first, then on empty ones, then on others.
    """
    rails = case.ports if case.topology == "rail-optimized" else 1
    row, nic_ports = leaves // rails, case.servers * case.ports
    unit = case.unit or down
    plugged: list[list[int]] = [[] for _ in range(leaves)]
    if rails == 1 and not case.unit:
        for endpoint in range(case.attached):
            plugged[endpoint // down].append(endpoint)
        return plugged
    for endpoint in range(nic_ports):
        server, rail = divmod(endpoint, rails)
        plugged[rail * row + server // unit].append(endpoint)
    used = -(-case.servers // unit)
    for host in range(case.hosts):
        first = host % rails * row
        order = [used - 1, *range(used, row), *reversed(range(used - 1))]
        place = next(index for index in order if len(plugged[first + index]) < down)
        plugged[first + place].append(nic_ports + host)
    return plugged


def network_of(fabric: Fabric, case: Case, scale: int) -> Network:
    """Every link of a fabric with its capacity times `scale`, and the endpoints' halves at both ends of the flow.

    On an exact build-out the links up of a leaf follow from its ports in use.
    """
    graph = Network()
    leaf, *above = fabric.tiers
    leaves, down, up = count(leaf.count), count(leaf.down), count(leaf.up)
    rails = case.ports if case.topology == "rail-optimized" else 1
    groups = max(count(fabric.pods) // rails, 1) if fabric.pods else 0
    row = leaves // rails
    sizes = [row // groups + (group < row % groups) for group in range(groups)] if groups else [row]
    pod_of = [
        rail * len(sizes) + group for rail in range(rails) for group, size in enumerate(sizes) for _ in range(size)
    ]
    of_pod = count(above[0].count) // (count(fabric.pods) or 1) if above else 0
    reserved = case.reserved - count(fabric.reserved_above)
    plugged = seats(case, leaves, down)
    for number, endpoints in enumerate(plugged):
        first = sum(endpoint < case.attached // 2 for endpoint in endpoints)
        graph.join("first", ("leaf", number), first * 400 * scale, both=False)
        graph.join(("leaf", number), "second", (len(endpoints) - first) * 400 * scale, both=False)
        links = up
        if case.exact and above and not (reserved and len(endpoints) < down):
            links = min(ceil(Fraction(len(endpoints)) / (case.ratio * of_pod)) * of_pod, up)
        for spine in range(of_pod):
            pod = pod_of[number] if groups else 0
            graph.join(("leaf", number), ("spine", pod, spine), int(Fraction(links, of_pod) * 400 * scale))
    for core in range(count(above[1].count) if len(above) > 1 else 0):
        for pod in range(count(fabric.pods)):
            for spine in range(of_pod):
                links_each = Fraction(count(above[0].up), count(above[1].count))
                graph.join(("spine", pod, spine), ("core", core), int(links_each * 400 * scale))
    return graph


@given(cases(small=True))
@example(Case(radix=6, servers=7, ratio=Fraction(3), exact=True))
@example(Case(radix=8, servers=4, ports=2))
@example(Case(radix=16, servers=1024))
@example(Case(radix=64, servers=256, ports=8, topology="rail-optimized"))
@settings(deadline=None)
def test_bisection_is_the_maximum_flow_between_the_halves(case: Case) -> None:
    """The stated bisection is the max-flow between the first and the second half of the endpoints, link by link."""
    if case.exact:
        case = case._replace(reserved=0)
    whole = fabric_of(case)
    if whole is None:
        return
    if case.topology == "rail-only":
        if case.hosts:
            return
        case = case._replace(ports=1, topology="fat-tree", reserved=ceil(Fraction(case.reserved, case.ports)))
    fabric = whole.plane or whole
    cores = count(fabric.tiers[-1].count) if len(fabric.tiers) == 3 else 1
    stated = Fraction(network_of(fabric, case, cores).flow("first", "second"), cores)
    assert stated * (whole.planes.value if whole.planes else 1) == whole.bisection_gbps.value


@pytest.mark.parametrize("radix", [8, 16, 64])
@pytest.mark.parametrize("tiers", [2, 3])
def test_a_full_tree_has_full_bisection(radix: int, tiers: int) -> None:
    """At 1:1 and full, half of the endpoints send to the other half at their whole rate, and not one more fits."""
    endpoints = radix**2 // 2 if tiers == 2 else radix**3 // 4
    fabric = fabric_of(Case(radix, endpoints))
    assert fabric is not None
    assert endpoints == count(fabric.largest)
    assert endpoints // 2 * 400 == fabric.bisection_gbps.value
    assert fabric_of(Case(radix, endpoints + 1, tiers=tiers)) is None
    assert ceil(endpoints / (radix // 2)) == count(fabric.tiers[0].count)
