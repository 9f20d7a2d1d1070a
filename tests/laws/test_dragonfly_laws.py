"""Laws that every dragonfly obeys, whatever its radix, size, shape and rates."""

# ruff: noqa: SIM300

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from functools import cache
from math import ceil
from typing import NamedTuple

import pytest
from flow import Network
from hypothesis import assume, example, given
from hypothesis import strategies as st
from test_fabric_laws import given_as

from bomgen.catalog import files as catalog
from bomgen.catalog import part_records
from bomgen.catalog.parts import Switch
from bomgen.core.diagnostics import Infeasible
from bomgen.core.yaml_source import read
from bomgen.fabric.topologies.dragonfly import flow_at_least
from bomgen.fabric.types import Demand, Fabric, Fitted, TierChoice, build_fabric

RADIXES = (3, 4, 7, 8, 11, 15, 16, 23, 36, 64)
LETTERS = ("p", "a", "h", "g")


class Case(NamedTuple):
    """A demand in plain numbers; `fixed` are the numbers that the plan gives."""

    radix: int
    servers: int
    ports: int = 1
    reserved: int = 0
    exact: bool = False
    fixed: tuple[tuple[str, int], ...] = ()
    rates: tuple[int, int, int] = (400, 400, 400)

    @property
    def endpoints(self) -> int:
        """NIC ports and reserved ones."""
        return self.servers * self.ports + self.reserved


@cache
def switch_of(radix: int) -> Switch:
    """A switch described in a plan: so many ports of 400G, one a cage, which split into two links."""
    plan = read(f"switch: {{ports: {radix}, port_gbps: 400, split: 2}}", "plan.yaml")
    return part_records.switch(catalog.inline_record("switch", plan, ("switch",)))


def fabric_of(case: Case) -> Fabric:
    """The fabric of a case. Raises Infeasible when there is none."""
    choice = TierChoice(switch_of(case.radix))
    rates = dict(zip(("server-leaf", "local", "global"), case.rates, strict=True))
    demand = Demand(
        servers=given_as(case.servers),
        ports_per_server=given_as(case.ports),
        host_ports=None,
        reserved_ports=given_as(case.reserved) if case.reserved else None,
        rates={kind: given_as(rate, "Gb/s") for kind, rate in rates.items()},
        tiers=None,
        oversubscription=given_as(Fraction(1), "ratio"),
        spine_oversubscription=given_as(Fraction(1), "ratio"),
        leaf=choice,
        spine=choice,
        core=choice,
        pod_leaves=None,
        uplinks=None,
        unit=None,
        options={letter: given_as(value) for letter, value in case.fixed},
        populate_used_ports_only=case.exact,
    )
    return build_fabric("dragonfly", demand)


def built(case: Case) -> Fabric | None:
    """The fabric of a case; None when none carries it."""
    try:
        return fabric_of(case)
    except Infeasible:
        return None


@st.composite
def cases(draw: st.DrawFn, fixed: bool = True) -> Case:
    """Demands from one server to somewhat more than the largest balanced dragonfly carries."""
    radix = draw(st.sampled_from(RADIXES))
    size = (radix + 1) // 4
    ports = draw(st.integers(1, 4))
    reach = draw(st.sampled_from((2 * radix, 2 * size**2, 2 * size**2 * (2 * size**2 + 1))))
    names = draw(st.sets(st.sampled_from(LETTERS))) if fixed else ()
    return Case(
        radix=radix,
        servers=draw(st.integers(1, max(reach // ports, 1) + 1)),
        ports=ports,
        reserved=draw(st.integers(0, 3)),
        exact=draw(st.booleans()),
        fixed=tuple((name, draw(st.integers(1, max(size, 2) * (2 if name in "ag" else 1)))) for name in sorted(names)),
        rates=draw(st.sampled_from(((400, 400, 400), (400, 400, 400), (200, 400, 400), (200, 200, 400)))),
    )


def shape_of(fabric: Fabric) -> tuple[int, int, int, int]:
    """p, a, h and g of a fabric."""
    names = ("endpoints_per_switch", "switches_per_group", "global_links_per_switch", "groups")
    p, a, h, g = (int(fabric.dimensions[name].value) for name in names)
    return p, a, h, g


def count(fabric: Fabric, kind: str) -> int:
    """Links of a kind."""
    links = fabric.links_of(kind)
    return int(links.count.value) if links else 0


def up_of(fitted: Fitted) -> int:
    """Ports of a switch to other switches."""
    return int(fitted.up.value) if fitted.up else 0


@given(cases())
def test_ports_used_never_exceed_the_cages(case: Case) -> None:
    """What endpoints, local and global links fill of a switch is there, also where their rates differ."""
    fabric = built(case)
    if fabric is None:
        return
    local = shape_of(fabric)[1] - 1
    for fitted in fabric.tiers[0].fitted:
        lanes = {400: Fraction(1), 200: Fraction(1, 2)}
        used = dict.fromkeys(lanes, 0)
        for rate, ports in zip(case.rates, (fitted.down.value, local, up_of(fitted) - local), strict=True):
            used[rate] += ports
        assert sum(ceil(ports * lanes[rate]) for rate, ports in used.items()) <= case.radix
    assert 0 <= fabric.free_ports["leaf"].value


@given(cases())
def test_free_ports_are_those_that_nothing_is_plugged_into(case: Case) -> None:
    """Ports of all routers less the ends of links and the endpoints are free; some of them have room for endpoints."""
    fabric = built(case)
    if fabric is None:
        return
    p, a, _, g = shape_of(fabric)
    free, ends = fabric.free_ports["leaf"].value, 2 * (count(fabric, "local") + count(fabric, "global"))
    if len(set(case.rates)) == 1:
        assert case.radix * a * g - ends - case.endpoints == free
    assert fabric.growth is not None
    assert p * a * g - case.endpoints == fabric.growth.value
    assert 0 <= fabric.growth.value <= free


@given(cases())
def test_the_numbers_given_are_kept(case: Case) -> None:
    """What the plan fixes stands; a group reaches every other; all endpoints have a port."""
    fabric = built(case)
    if fabric is None:
        return
    numbers = dict(zip(LETTERS, shape_of(fabric), strict=True))
    assert dict(case.fixed) == {letter: numbers[letter] for letter, _ in case.fixed}
    assert numbers["g"] <= numbers["a"] * numbers["h"] + 1
    assert case.endpoints <= numbers["p"] * numbers["a"] * numbers["g"]
    assert (
        fabric.switches.value == numbers["a"] * numbers["g"] == sum(fit.count.value for fit in fabric.tiers[0].fitted)
    )
    if not {"p", "a", "h"} & set(dict(case.fixed)):
        assert numbers["a"] == 2 * numbers["p"] == 2 * numbers["h"]


@given(cases())
def test_links_from_both_ends_are_equal(case: Case) -> None:
    """A link between switches has two of their ports; every two switches of a group have one local link."""
    fabric = built(case)
    if fabric is None:
        return
    _, a, _, g = shape_of(fabric)
    ends = sum(fitted.count.value * up_of(fitted) for fitted in fabric.tiers[0].fitted)
    assert ends == 2 * (count(fabric, "local") + count(fabric, "global"))
    assert g * a * (a - 1) == 2 * count(fabric, "local")
    down = sum(fitted.count.value * fitted.down.value for fitted in fabric.tiers[0].fitted)
    assert down == case.endpoints if case.exact else down >= case.endpoints


@given(cases())
def test_every_pair_of_groups_has_the_same_links(case: Case) -> None:
    """Global links spread evenly over the pairs of groups, as many as the ports allow, and over a group's switches."""
    fabric = built(case)
    if fabric is None:
        return
    _, a, h, g = shape_of(fabric)
    pairs = g * (g - 1) // 2
    if pairs:
        between, rest = divmod(count(fabric, "global"), pairs)
        assert (0, between) == (rest, fabric.dimensions["links_between_groups"].value)
        assert between * (g - 1) <= a * h < (between + 1) * (g - 1)
    ups = {up_of(fitted) for fitted in fabric.tiers[0].fitted}
    assert max(ups) - min(ups) <= 1


@given(cases(fixed=False), st.sampled_from(RADIXES))
def test_growth_never_saves_a_switch(case: Case, radix: int) -> None:
    """One more server never needs fewer switches; a switch with more ports never needs more."""
    smaller, larger = built(case), built(case._replace(servers=case.servers + 1))
    if smaller is None:
        assert larger is None
    elif larger is not None:
        assert smaller.switches.value <= larger.switches.value
    more = built(case._replace(radix=max(radix, case.radix)))
    if smaller is not None:
        assert more is not None
        assert more.switches.value <= smaller.switches.value


@given(cases())
def test_a_refusal_names_what_works(case: Case) -> None:
    """The size or the number that a refusal names is met; one server more than the size is not."""
    try:
        fabric_of(case)
    except Infeasible as refusal:
        if "at most" in refusal.message and "servers" in refusal.message:
            servers = int(refusal.message.partition("at most ")[2].split(" servers")[0])
            assert servers < case.servers
            largest = case._replace(servers=servers)
            assert servers == 0 or built(largest) is not None
            assert built(case._replace(servers=servers + 1)) is None
        if "`" in refusal.message:
            letter, value = refusal.message.split("`")[1].split(": ")
            others = tuple(pair for pair in case.fixed if pair[0] != letter)
            assert letter in dict(case.fixed)
            assert built(case._replace(fixed=(*others, (letter, int(value))))) is not None


def graph_of(p: int, a: int, h: int, g: int, nic_ports: int, rates: tuple[int, int, int], seed: int) -> Network:
    """A dragonfly link by link, its global links attached to the routers of their groups evenly, else by lot."""
    graph = Network()
    lot = random.Random(seed)  # noqa: S311
    endpoint_gbps, local_gbps, global_gbps = rates

    between = a * h // (g - 1) if g > 1 else 0
    ends = {}
    for group in range(g):
        for router in range(a):
            for other in range(router):
                graph.join((group, router), (group, other), local_gbps)
        peers = [peer for peer in range(g) if peer != group for _ in range(between)]
        lot.shuffle(peers)
        routers: dict[int, list[int]] = defaultdict(list)
        for port, peer in enumerate(peers):
            routers[peer].append(port % a)
        ends[group] = routers
    for group in range(g):
        for peer in range(group):
            for one, other in zip(ends[group][peer], ends[peer][group], strict=True):
                graph.join((group, one), (peer, other), global_gbps)
    for endpoint in range(nic_ports):
        router = divmod(endpoint // p, a)
        if endpoint < nic_ports // 2:
            graph.join("first", router, endpoint_gbps, both=False)
        else:
            graph.join(router, "second", endpoint_gbps, both=False)
    return graph


@given(
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(0, 90),
    st.tuples(*(st.sampled_from((1, 2, 3)) for _ in range(3))),
    st.integers(0, 5),
)
@example(2, 4, 2, 9, 0, (1, 1, 1), 0)
@example(1, 2, 1, 3, 1, (1, 1, 1), 0)
def test_the_bisection_is_a_bound_from_below(
    p: int, a: int, h: int, g: int, missing: int, rates: tuple[int, int, int], seed: int
) -> None:
    """However the global links are attached, the network carries at least the bisection that is stated."""
    assume(g <= a * h + 1)
    nic_ports = max(p * a * g - missing, 1)
    group_ports = (a * h // (g - 1) if g > 1 else 0) * (g - 1)
    outer = ceil(group_ports / a)
    stated = flow_at_least(nic_ports, p, a, outer, group_ports // max(g - 1, 1), *rates)
    flow = graph_of(p, a, h, g, nic_ports, rates, seed).flow("first", "second")
    assert stated <= flow
    if missing == 0 and g % 2 == 0 and outer * rates[2] <= a * rates[1]:
        assert stated == flow
    if g == 1 and missing == 0 and p * a % (2 * p) == 0:
        assert stated == flow


@pytest.mark.parametrize(("radix", "endpoints"), [(3, 6), (7, 72), (11, 342), (15, 1056), (64, 262656)])
def test_a_balanced_dragonfly_is_as_large_as_published(radix: int, endpoints: int) -> None:
    """N = a p (a h + 1) with a = 2p = 2h: 72 of 7 ports, more than 256K of 64 (Kim et al., ISCA 2008), not one more."""
    fabric = fabric_of(Case(radix, endpoints))
    assert endpoints == fabric.endpoints.value == (fabric.largest.value if fabric.largest else 0)
    assert 4 == fabric.hops.value
    assert built(Case(radix, endpoints + 1)) is None


def test_hops_of_small_ones() -> None:
    """Two switches in one group, four between groups, one where there is a single switch."""
    hops = [
        fabric_of(Case(64, servers, fixed=fixed)).hops.value
        for servers, fixed in ((32, ()), (1024, ()), (4, (("a", 1), ("g", 1), ("p", 4))))
    ]
    assert [2, 4, 1] == hops
