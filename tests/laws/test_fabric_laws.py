"""Laws that every fat tree obeys, whatever its radix, size, ratio and tiers."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections import defaultdict, deque
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bomgen import catalog, records
from bomgen.fabric import build
from bomgen.fabric.model import Demand, Fabric, TierChoice
from bomgen.figures import Figure, Given, Mark
from bomgen.parts import Switch
from bomgen.problems import Infeasible
from bomgen.source import read

RADIXES = (4, 6, 8, 10, 12, 16, 20, 36, 40, 64)
RATIOS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(7))
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

    @property
    def nic_ports(self) -> int:
        """Endpoints without the reserved ones."""
        return self.servers * self.ports


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
        host_ports=None,
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
        unit=None,
        options={},
        exact=case.exact,
    )


def fabric_of(case: Case) -> Fabric | None:
    """The fabric of a case; None when none carries it."""
    try:
        return build("fat-tree", demand(case))
    except Infeasible:
        return None


@st.composite
def cases(draw: st.DrawFn, radixes: tuple[int, ...] = RADIXES, reserved: int = 4) -> Case:
    """Demands from one server to somewhat more than three tiers carry."""
    radix = draw(st.sampled_from(radixes))
    ports = draw(st.integers(1, 4))
    reach = draw(st.sampled_from((radix, radix**2 // 2, radix**3 // 4)))
    return Case(
        radix=radix,
        servers=draw(st.integers(1, reach // ports + 1)),
        ports=ports,
        ratio=draw(st.sampled_from(RATIOS)),
        spine_ratio=draw(st.sampled_from(RATIOS[1:])),
        tiers=draw(st.sampled_from((0, 0, 2, 3))),
        reserved=draw(st.integers(0, reserved)),
        exact=draw(st.booleans()),
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
    """The leaves' ports down hold all NIC ports, and with the spines' free ports the reserved ones too."""
    fabric = fabric_of(case)
    if fabric is None:
        return
    leaf, *above = fabric.tiers
    room = count(leaf.count) * count(leaf.down)
    free = sum(count(tier.count) * (case.radix - count(tier.down) - count(tier.up)) for tier in above[:1])
    assert room >= case.nic_ports
    assert room + free >= case.nic_ports + case.reserved
    assert case.nic_ports + case.reserved == count(fabric.endpoints)


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


@given(cases(), st.sampled_from(RATIOS))
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


@given(cases(), st.sampled_from(RATIOS))
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
        build("fat-tree", demand(case))
    except Infeasible as refusal:
        servers = int(refusal.message.partition("at most ")[2].split(" servers")[0])
        assert servers < case.servers
        largest = case._replace(servers=servers)
        assert servers == 0 or fabric_of(largest) is not None
        assert fabric_of(case._replace(servers=servers + 1)) is None


Graph = dict[Any, dict[Any, int]]


def max_flow(graph: Graph, start: str, end: str) -> int:
    """The maximum flow of a graph of whole capacities (Edmonds and Karp)."""
    total = 0
    while True:
        came: dict[Any, Any] = {start: None}
        queue = deque([start])
        while queue and end not in came:
            node = queue.popleft()
            for neighbour, room in graph[node].items():
                if room > 0 and neighbour not in came:
                    came[neighbour] = node
                    queue.append(neighbour)
        if end not in came:
            return total
        path, node = [], end
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]
        room = min(graph[a][b] for a, b in path)
        for a, b in path:
            graph[a][b] -= room
            graph[b][a] = graph[b].get(a, 0) + room
        total += room


def links_of(fabric: Fabric, case: Case, scale: int) -> Graph:
    """Every link of a fabric with its capacity times `scale`, and the endpoints' halves at both ends of the flow."""
    graph: Graph = defaultdict(dict)
    leaf, *above = fabric.tiers
    down = count(leaf.down)
    ups = [count(fitted.up) for fitted in leaf.fitted for _ in range(count(fitted.count))]
    half, position = case.nic_ports // 2, 0

    def join(one: Any, other: Any, links: Fraction) -> None:
        for a, b in ((one, other), (other, one)):
            graph[a][b] = graph[a].get(b, 0) + int(links * 400 * scale)

    pods = count(fabric.pods) or 1
    sizes = [count(leaf.count) // pods + (pod < count(leaf.count) % pods) for pod in range(pods)]
    pod_of = [pod for pod, size in enumerate(sizes) for _ in range(size)]
    of_pod = count(above[0].count) // pods if above else 0
    for number, up in enumerate(ups):
        held = range(position, min(position + down, case.nic_ports))
        position = held.stop
        first = sum(endpoint < half for endpoint in held)
        graph["first"][("leaf", number)] = first * 400 * scale
        graph[("leaf", number)]["second"] = (len(held) - first) * 400 * scale
        for spine in range(of_pod):
            join(("leaf", number), ("spine", pod_of[number], spine), Fraction(up, of_pod))
    for core in range(count(above[1].count) if len(above) > 1 else 0):
        for pod in range(pods):
            for spine in range(of_pod):
                links = Fraction(count(above[0].up), count(above[1].count))
                join(("spine", pod, spine), ("core", core), links)
    return graph


@given(cases(radixes=(4, 6, 8, 10)))
@example(Case(radix=6, servers=7, ratio=Fraction(3), exact=True))
@example(Case(radix=8, servers=4, ports=2, reserved=1, exact=True))
def test_bisection_is_the_maximum_flow_between_the_halves(case: Case) -> None:
    """The stated bisection is the max-flow between the first and the second half of the endpoints, link by link."""
    fabric = fabric_of(case)
    if fabric is None:
        return
    cores = count(fabric.tiers[-1].count) if len(fabric.tiers) == 3 else 1
    graph = links_of(fabric, case, cores)
    graph["second"] = {}
    assert Fraction(max_flow(graph, "first", "second"), cores) == fabric.bisection_gbps.value


@pytest.mark.parametrize("radix", [8, 16, 64])
@pytest.mark.parametrize("tiers", [2, 3])
def test_a_full_tree_has_full_bisection(radix: int, tiers: int) -> None:
    """At 1:1 and full, half of the endpoints send to the other half at their whole rate, and not one more fits."""
    endpoints = radix**2 // 2 if tiers == 2 else radix**3 // 4
    fabric = fabric_of(Case(radix, endpoints))
    assert fabric is not None
    assert endpoints // 2 * 400 == fabric.bisection_gbps.value
    assert fabric_of(Case(radix, endpoints + 1, tiers=tiers)) is None
    assert ceil(endpoints / (radix // 2)) == count(fabric.tiers[0].count)
