"""Laws that every dragonfly+ obeys, whatever its radix, size, shape and rates."""

# ruff: noqa: SIM300

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import pytest
from flow import Network
from hypothesis import assume, example, given
from hypothesis import strategies as st
from test_dragonfly_laws import switch_of
from test_fabric_laws import given_as

from bomgen.core.diagnostics import Infeasible
from bomgen.fabric.links import cut_between_halves
from bomgen.fabric.topologies.dragonfly import flow_at_least
from bomgen.fabric.types import Demand, Fabric, TierChoice, build_fabric

RADIXES = (3, 4, 7, 8, 12, 36)
KINDS = ("server-leaf", "leaf-spine", "spine-spine")


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


def fabric_of(case: Case) -> Fabric:
    """The fabric of a case. Raises Infeasible when there is none."""
    choice = TierChoice(switch_of(case.radix))
    demand = Demand(
        servers=given_as(case.servers),
        ports_per_server=given_as(case.ports),
        host_ports=None,
        reserved_ports=given_as(case.reserved) if case.reserved else None,
        rates={kind: given_as(rate, "Gb/s") for kind, rate in zip(KINDS, case.rates, strict=True)},
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
    return build_fabric("dragonfly+", demand)


def built(case: Case) -> Fabric | None:
    """The fabric of a case; None when none carries it."""
    try:
        return fabric_of(case)
    except Infeasible:
        return None


@st.composite
def cases(draw: st.DrawFn, fixed: bool = True) -> Case:
    """Demands from one server to somewhat more than a dragonfly+ of the switches carries."""
    radix = draw(st.sampled_from(RADIXES))
    size = max(radix // 2, 1)
    names = draw(st.sets(st.sampled_from("pashg"))) if fixed else ()
    return Case(
        radix=radix,
        servers=draw(st.integers(1, min(size**4 + size**2 + 2, 3000))),
        ports=draw(st.integers(1, 4)),
        reserved=draw(st.integers(0, 3)),
        exact=draw(st.booleans()),
        fixed=tuple((name, draw(st.integers(1, size + 1))) for name in sorted(names)),
        rates=draw(st.sampled_from(((400, 400, 400), (400, 400, 400), (200, 400, 400), (200, 200, 400)))),
    )


def dimension(fabric: Fabric, name: str) -> int:
    """A number of the shape; 0 where there is none."""
    figure = fabric.dimensions.get(name)
    return int(figure.value) if figure else 0


@given(cases())
def test_links_end_in_ports_that_are_there(case: Case) -> None:
    """Links of each kind meet the ports counted on switches, and no switch has more than it has cages for."""
    fabric = built(case)
    if fabric is None:
        return
    leaf, spine = fabric.tiers
    inside, outside = (fabric.links_of(kind) for kind in KINDS[1:])
    assert inside is not None
    up = sum(each.count.value * each.up.value for each in leaf.fitted if each.up)
    down = sum(each.count.value * each.down.value for each in spine.fitted)
    assert inside.count.value == up == down
    ends = sum(each.count.value * each.up.value for each in spine.fitted if each.up)
    assert ends == 2 * (outside.count.value if outside else 0)
    attached = sum(each.count.value * each.down.value for each in leaf.fitted)
    assert attached == case.endpoints if case.exact else attached >= case.endpoints
    for tier, rates in ((leaf, case.rates[:2]), (spine, case.rates[1:])):
        cages = sum(
            ceil(Fraction(ports.value * rate, 400)) for ports, rate in zip((tier.down, tier.up), rates, strict=True)
        )
        assert cages <= case.radix
    assert all(figure.value >= 0 for figure in fabric.free_ports.values())


@given(cases())
def test_the_numbers_given_are_kept(case: Case) -> None:
    """What the plan fixes is built; every two groups have a link, and the endpoints find room."""
    fabric = built(case)
    if fabric is None:
        return
    names = ("endpoints_per_leaf", "leaves_per_group", "spines_per_group", "global_links_per_spine", "groups")
    p, a, s, h, g = (dimension(fabric, name) for name in names)
    assert dict(case.fixed).items() <= dict(zip("pashg", (p, a, s, h, g), strict=True)).items()
    assert (g * a, g * s) == tuple(tier.count.value for tier in fabric.tiers)
    assert case.endpoints <= g * a * p
    assert g == 1 or 1 <= dimension(fabric, "links_between_groups") <= s * h // (g - 1)


@given(cases())
def test_no_balanced_one_has_fewer_switches(case: Case) -> None:
    """Left to the rules, no smaller or larger balanced dragonfly+ needs fewer switches, and a refusal is right."""
    case = case._replace(fixed=(), rates=(400, 400, 400))
    fabric = built(case)
    others = [
        2 * size * ceil(case.endpoints / size**2)
        for size in range(1, case.radix // 2 + 1)
        if size**2 * (size**2 + 1) >= case.endpoints
    ]
    assert (fabric.switches.value if fabric else None) == min(others, default=None)


@given(cases())
def test_links_are_enumerated_as_counted(case: Case) -> None:
    """The links connected are those counted, each port once, and no cut carries less than the bisection stated."""
    fabric = built(case)
    if fabric is None or case.reserved:
        return
    cut = cut_between_halves(fabric)
    assert not cut.miscounted
    assert fabric.bisection_gbps.value <= cut.gbps


@given(cases())
def test_remedies_work(case: Case) -> None:
    """The number of servers and the number of the shape that a refusal names can be built; one server more cannot."""
    try:
        fabric_of(case)
    except Infeasible as refusal:
        if "at most" in refusal.message and "servers" in refusal.message:
            servers = int(refusal.message.partition("at most ")[2].split(" servers")[0])
            assert servers < case.servers
            assert servers == 0 or built(case._replace(servers=servers)) is not None
            assert built(case._replace(servers=servers + 1)) is None
        if "`" in refusal.message:
            letter, value = refusal.message.split("`")[1].split(": ")
            others = tuple(pair for pair in case.fixed if pair[0] != letter)
            assert letter in dict(case.fixed)
            assert built(case._replace(fixed=(*others, (letter, int(value))))) is not None


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 6)),
    st.integers(0, 60),
    st.tuples(*(st.sampled_from((1, 2, 3)) for _ in range(3))),
    st.integers(0, 5),
)
@example((2, 2, 2, 2, 5), 0, (1, 1, 1), 0)
@example((3, 4, 2, 1, 1), 5, (1, 1, 1), 0)
def test_the_bisection_is_a_bound_from_below(
    shape: tuple[int, int, int, int, int], missing: int, rates: tuple[int, int, int], seed: int
) -> None:
    """However the global links are attached, the network carries at least the bisection that is stated."""
    p, a, s, h, g = shape
    assume(g <= s * h + 1)
    nic_ports = max(p * a * g - missing, 1)
    between = s * h // (g - 1) if g > 1 else 0
    outer = ceil(between * (g - 1) / s)
    stated = flow_at_least(nic_ports, p, a, outer, between, *rates, s)
    lot, graph, ends = random.Random(seed), Network(), {}  # noqa: S311
    for group in range(g):
        for leaf in range(a):
            for spine in range(s):
                graph.join(("leaf", group, leaf), ("spine", group, spine), rates[1])
        peers = [peer for peer in range(g) if peer != group for _ in range(between)]
        lot.shuffle(peers)
        for port, peer in enumerate(peers):
            ends.setdefault((group, peer), []).append(port % s)
    for group in range(g):
        for peer in range(group if between else 0):
            for one, other in zip(ends[group, peer], ends[peer, group], strict=True):
                graph.join(("spine", group, one), ("spine", peer, other), rates[2])
    for endpoint in range(nic_ports):
        group, leaf = divmod(endpoint // p, a)
        if endpoint < nic_ports // 2:
            graph.join("first", ("leaf", group, leaf), rates[0], both=False)
        else:
            graph.join(("leaf", group, leaf), "second", rates[0], both=False)
    flow = graph.flow("first", "second")
    assert stated <= flow
    if missing == 0 and g % 2 == 0 and outer * rates[2] <= a * rates[1]:
        assert stated == flow


@pytest.mark.parametrize(("radix", "endpoints"), [(4, 20), (8, 272), (36, 105_300)])
def test_a_balanced_one_is_as_large_as_its_formula(radix: int, endpoints: int) -> None:
    """N = (k/2)^2 ((k/2)^2 + 1) endpoints of k-port switches, four switches apart, and not one more."""
    fabric = fabric_of(Case(radix, endpoints))
    assert endpoints == fabric.endpoints.value == (fabric.largest.value if fabric.largest else 0)
    assert 4 == (fabric.hops.value if fabric.hops else 0)
    assert built(Case(radix, endpoints + 1)) is None
