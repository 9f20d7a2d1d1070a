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

from bomgen.catalog import files as catalog
from bomgen.catalog import part_records
from bomgen.catalog.parts import Switch
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, Given, Mark, values_of
from bomgen.core.yaml_source import read
from bomgen.fabric.clos import build
from bomgen.fabric.clos.build import Context, runners_up_by_tiers
from bomgen.fabric.clos.search import find_smallest, is_feasible
from bomgen.fabric.clos.shape import search_figures
from bomgen.fabric.types import Demand, Fabric, Tier, TierChoice, build_fabric

SMALL = (4, 5, 6, 7, 8, 9, 10, 12, 16, 20)
TOPOLOGIES = ("fat-tree", "rail-optimized", "rail-only")
MOST_RADIX, MOST_SERVERS, MOST_ENDPOINTS = 512, 100_000, 2048
RATIOS = st.builds(Fraction, st.integers(1, 40), st.integers(1, 10))
SPINE_RATIOS = st.builds(Fraction, st.integers(4, 28), st.just(4))
KINDS = ("server-leaf", "leaf-spine", "spine-core")
RATES = ((400, 400, 400), (200, 400, 400), (400, 800, 800), (200, 400, 800), (400, 400, 800), (800, 400, 400))
FIXED = ("pod_leaves", "downlinks", "uplinks", "per_pod", "cores", "spines", "spine_down", "spine_up")


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
    pod_leaves: int = 0
    downlinks: int = 0
    uplinks: int = 0
    per_pod: int = 0
    cores: int = 0
    spines: int = 0
    spine_down: int = 0
    spine_up: int = 0
    rates: tuple[int, int, int] = RATES[0]
    all_rails: bool = False

    @property
    def attached(self) -> int:
        """Endpoints without the reserved ones."""
        return self.servers * self.ports + self.hosts

    @property
    def trees(self) -> int:
        """Equal fabrics that stand side by side."""
        return self.ports if self.topology == "rail-only" else 1

    @property
    def endpoints(self) -> int:
        """Endpoints with the reserved ones."""
        return self.attached + self.reserved

    def of_cage(self, rate: int) -> int:
        """Links of a rate that a cage carries: one, or as many as 800 Gb/s are split into where rates differ."""
        return 1 if self.rates == RATES[0] else 800 // rate

    def room_beside(self, tier: int, up: int) -> int:
        """Ports down of a switch with so many links up: a cage holds links of one rate."""
        below, above = (self.rates[min(each, 2)] for each in (tier, tier + 1))
        if below == above:
            return self.radix * self.of_cage(below) - up
        return (self.radix - ceil(Fraction(up, self.of_cage(above)))) * self.of_cage(below)


def given_as(value: Any, unit: str = "count") -> Figure:
    """A value as a plan gives it."""
    return Figure(value, unit, Given(Mark("plan.yaml", 1, 1)))


@cache
def switch_of(radix: int, split: bool = False) -> Switch:
    """A switch described in a plan: so many ports of 400G, one a cage, not split; or of 800G that split in four."""
    ports = "port_gbps: 800, split: 4" if split else "port_gbps: 400"
    plan = read(f"switch: {{ports: {radix}, {ports}}}", "plan.yaml")
    return part_records.switch(catalog.inline_record("switch", plan, ("switch",)))


def demand(case: Case) -> Demand:
    """What the fabric of a case must carry, on switches of one kind."""
    switch = switch_of(case.radix, case.rates != RATES[0])
    fixed = {name: given_as(getattr(case, name)) if getattr(case, name) else None for name in FIXED}
    return Demand(
        servers=given_as(case.servers),
        ports_per_server=given_as(case.ports),
        host_ports=given_as(case.hosts) if case.hosts else None,
        reserved_ports=given_as(case.reserved) if case.reserved else None,
        rates={kind: given_as(rate, "Gb/s") for kind, rate in zip(KINDS, case.rates, strict=True)},
        tiers=given_as(case.tiers) if case.tiers else None,
        oversubscription=given_as(case.ratio, "ratio"),
        spine_oversubscription=given_as(case.spine_ratio, "ratio"),
        leaf=TierChoice(switch, downlinks=fixed["downlinks"], uplinks=fixed["uplinks"]),
        spine=TierChoice(
            switch,
            count=fixed["spines"],
            per_pod=fixed["per_pod"],
            downlinks=fixed["spine_down"],
            uplinks=fixed["spine_up"],
        ),
        core=TierChoice(switch, count=fixed["cores"]),
        pod_leaves=fixed["pod_leaves"],
        uplinks=None,
        unit=given_as(case.unit) if case.unit else None,
        options={},
        populate_used_ports_only=case.exact,
        pod_rails=given_as("all", "word") if case.all_rails else None,
    )


def fabric_of(case: Case) -> Fabric | None:
    """The fabric of a case; None when none carries it."""
    try:
        return build_fabric(case.topology, demand(case))
    except Infeasible:
        return None


def leaf_room(case: Case, leaf: Tier) -> int:
    """Ports down of a leaf that machines and reserved ports may fill: as many as its links up carry."""
    if case.downlinks or (case.unit and not case.exact) or leaf.up is None:
        return count(leaf.down)
    room = case.room_beside(0, count(leaf.up))
    return room if case.uplinks else min(room, int(case.ratio * count(leaf.up) * case.rates[1] / case.rates[0]))


def rails_of_leaf(case: Case, leaves: int) -> int:
    """Rails that a leaf serves: fewer leaves than rails share them, those of each unit where there are units."""
    if case.topology != "rail-optimized":
        return case.ports
    units = ceil(Fraction(case.servers, case.unit)) if case.unit else 1
    return min(max(units * case.ports // leaves, 1), case.ports) if case.exact else 1


@st.composite
def cases(draw: st.DrawFn, small: bool = False, fixed: bool = False, mixed: bool = False) -> Case:
    """Demands from one server to somewhat more than three tiers carry; small ones have some two thousand endpoints.

    `fixed` cases have up to two numbers that the plan fixes, `mixed` ones links of several rates.
    """
    radix = draw(st.sampled_from(SMALL)) if small else draw(st.integers(8, MOST_RADIX))
    ports = draw(st.integers(1, 4) if small else st.integers(1, 8))
    topology = draw(st.sampled_from(TOPOLOGIES))
    reach = draw(st.sampled_from((radix, radix**2 // 2, radix**3 // 4)))
    most = MOST_ENDPOINTS // ports if small else MOST_SERVERS
    names = draw(st.sets(st.sampled_from(FIXED), max_size=2)) if fixed else ()
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
        rates=draw(st.sampled_from(RATES)) if mixed else RATES[0],
        all_rails=topology == "rail-optimized" and draw(st.booleans()),
        **{name: draw(st.integers(1, radix)) for name in sorted(names)},
    )


def count(figure: Figure | None) -> Any:
    """The value of a figure, nought for none."""
    return figure.value if figure else 0


@given(cases(small=True, fixed=True, mixed=True), st.sampled_from((2, 3)))
def test_there_is_a_fabric_where_one_is_found(case: Case, tiers: int) -> None:
    """Whether any fabric carries a demand is answered as the search for the smallest answers it."""
    rails = given_as(case.ports) if case.topology == "rail-optimized" else None
    try:
        numbers = values_of(search_figures(demand(case), tiers, rails))
    except Infeasible:
        return
    assert is_feasible(numbers) == (find_smallest(numbers) is not None)


@given(cases(fixed=True, mixed=True), st.sampled_from((2, 3)))
def test_counts_are_those_of_the_shape_that_the_search_found(case: Case, tiers: int) -> None:
    """In plain numbers: the figures of a fabric are counted by the same function."""
    rails = given_as(case.ports) if case.topology == "rail-optimized" else None
    try:
        numbers = values_of(search_figures(demand(case), tiers, rails))
    except Infeasible:
        return
    if found := find_smallest(numbers):
        c = build.count(numbers, found, Context(case.servers, have_rails=rails is not None))
        got = (c.down, c.up, c.leaves, c.pods or 1, c.per_pod, c.spine_up or 0, c.cores or 0)
        assert (*got, c.ports_of_rail) == found
        assert c.spine_down <= c.spine_left


@given(cases(fixed=True, mixed=True))
def test_ports_used_never_exceed_the_cages(case: Case) -> None:
    """No switch has more links down and up than its cages carry, a rate each."""
    fabric = fabric_of(case)
    for number, tier in enumerate(fabric.tiers if fabric else ()):
        assert count(tier.down) <= case.room_beside(number, count(tier.up))
        for fitted in tier.fitted:
            assert 0 <= count(fitted.down) <= case.room_beside(number, count(fitted.up))


@given(cases(fixed=True, mixed=True))
@example(Case(radix=16, servers=107, tiers=2, exact=True, topology="rail-only", per_pod=13, spines=24))
@example(
    Case(
        radix=12,
        servers=133,
        ports=3,
        ratio=Fraction(4),
        reserved=4,
        hosts=7,
        unit=4,
        per_pod=12,
        spines=20,
        topology=TOPOLOGIES[1],
    )
)
@example(
    Case(
        radix=10, servers=21, ports=2, ratio=Fraction(3, 2), spine_ratio=Fraction(2), tiers=3, spines=9, rates=RATES[1]
    )
)
@example(
    Case(
        radix=4,
        servers=8,
        ratio=Fraction(3, 4),
        tiers=3,
        reserved=4,
        topology=TOPOLOGIES[1],
        spine_up=4,
        rates=RATES[5],
    )
)
@example(Case(radix=4, servers=1, ports=4, tiers=2, reserved=1, hosts=7, pod_leaves=4, spines=10, spine_down=1))
def test_every_endpoint_has_a_port(case: Case) -> None:
    """The leaves' ports down hold whatever is attached, and with the spines' free ports the reserved ones too."""
    fabric = fabric_of(case)
    if fabric is None:
        return
    leaf, *above = fabric.tiers
    room = count(leaf.count) * count(leaf.down)
    free = sum(count(tier.count) * (case.room_beside(1, count(tier.up)) - count(tier.down)) for tier in above[:1])
    assert room >= case.attached
    assert room + free >= case.endpoints
    assert case.endpoints == count(fabric.endpoints)


@given(cases(fixed=True, mixed=True))
@example(Case(radix=64, servers=1, tiers=2, exact=True))
@example(Case(radix=64, servers=5, ports=4, hosts=7, reserved=3, topology="rail-only"))
@example(Case(radix=4, servers=3, ports=2, ratio=Fraction(1, 2), reserved=3, topology="rail-only"))
def test_free_ports_are_those_that_nothing_is_plugged_into(case: Case) -> None:
    """Free are the ports that a switch has less the ends of its links, its endpoints and reserved ports.

    Reserved ports are on spines only when all leaves are full; of rails and planes all are counted. No more endpoints
    can be added than leaves have free ports.
    """
    fabric = fabric_of(case)
    if fabric is None:
        return
    leaf, *_ = fabric.tiers
    on_leaves = min(case.endpoints, count(leaf.count) * leaf_room(case, leaf))
    ends = [on_leaves, *(link.count.value for link in fabric.links[1:])]
    for number, (tier, below) in enumerate(zip(fabric.tiers, ends, strict=True)):
        last = number == len(fabric.tiers) - 1
        room = sum(count(each.count) * case.room_beside(number, 0 if last else count(each.up)) for each in tier.fitted)
        reserved = case.endpoints - on_leaves if number == 1 else 0
        assert room - below - reserved == count(fabric.free_ports[tier.name])
        if case.rates == RATES[0]:
            above = 0 if last else ends[number + 1]
            assert case.radix * count(tier.count) - below - above - reserved == count(fabric.free_ports[tier.name])
    assert 0 <= count(fabric.growth) <= count(fabric.free_ports["leaf"])
    assert count(leaf.count) * leaf_room(case, leaf) - on_leaves == count(fabric.growth)


@given(cases(fixed=True, mixed=True))
def test_the_ratio_built_never_exceeds_the_one_asked(case: Case) -> None:
    """Leaves and spines keep to the ratio asked; uplinks of a leaf or a spine that the plan gives stand."""
    fabric = fabric_of(case)
    asked_of = (case.ratio, case.spine_ratio)
    for number, (tier, asked) in enumerate(zip(fabric.tiers if fabric else (), asked_of, strict=False)):
        if tier.oversubscription is not None:
            below, above = case.rates[number : number + 2]
            built = Fraction(count(tier.down) * below, count(tier.up) * above)
            assert built == tier.oversubscription.value
            assert built <= asked or (case.uplinks and number == 0) or (case.spine_up and number == 1)


@given(cases(fixed=True, mixed=True))
def test_links_from_below_are_links_from_above(case: Case) -> None:
    """Every link has two ends: what the lower switches send up is what the upper ones take in."""
    fabric = fabric_of(case)
    tiers = fabric.tiers if fabric else ()
    for lower, upper in pairwise(tiers):
        links = next(link.count.value for link in fabric.links if link.kind == f"{lower.name}-{upper.name}")  # type: ignore[union-attr]
        assert links == sum(count(fitted.count) * count(fitted.up) for fitted in lower.fitted)
        assert links == sum(count(fitted.count) * count(fitted.down) for fitted in upper.fitted)


@given(cases(fixed=True, mixed=True))
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


def assert_no_dearer(cheap: Fabric, dear: Fabric) -> None:
    """A fabric has no more tiers and no more switches than another. Links may be more: fewest switches come first."""
    assert len(cheap.tiers) <= len(dear.tiers)
    assert count(cheap.switches) <= count(dear.switches)


@given(cases(), st.sampled_from(("hosts", "reserved")), st.integers(1, 9))
def test_more_ports_in_use_never_need_fewer_switches(case: Case, kind: str, more: int) -> None:
    """Neither other machines nor reserved ports save a switch; units are as many as their servers ask without them."""
    smaller = fabric_of(case._replace(unit=0))
    larger = fabric_of(case._replace(unit=0, **{kind: getattr(case, kind) + more}))
    if larger is not None:
        assert smaller is not None
        assert_no_dearer(smaller, larger)


@given(cases(), RATIOS)
def test_relaxing_the_ratio_never_costs_switches(case: Case, other: Fraction) -> None:
    """More oversubscription never needs more switches or tiers."""
    strict, relaxed = sorted((case.ratio, other))
    dear, cheap = fabric_of(case._replace(ratio=strict)), fabric_of(case._replace(ratio=relaxed))
    if dear is not None:
        assert cheap is not None
        assert_no_dearer(cheap, dear)


@given(cases(), SPINE_RATIOS)
@example(Case(radix=8, servers=46, ratio=Fraction(2), spine_ratio=Fraction(5, 4)), Fraction(3, 2))
def test_relaxing_the_spines_ratio_never_costs_switches(case: Case, other: Fraction) -> None:
    """More oversubscription between pods never needs more switches or tiers."""
    strict, relaxed = sorted((case.spine_ratio, other))
    dear, cheap = fabric_of(case._replace(spine_ratio=strict)), fabric_of(case._replace(spine_ratio=relaxed))
    if dear is not None:
        assert cheap is not None
        assert_no_dearer(cheap, dear)


@given(cases())
def test_an_exact_build_out_never_buys_more_than_a_full_one(case: Case) -> None:
    """What may idle saves switches and tiers, or changes nothing."""
    full, exact = fabric_of(case._replace(exact=False)), fabric_of(case._replace(exact=True))
    if full is not None:
        assert exact is not None
        assert_no_dearer(exact, full)


@given(cases(small=True))
@example(Case(radix=12, servers=9, ports=8, ratio=Fraction(4), tiers=2, reserved=3, topology="rail-optimized"))
@example(Case(radix=4, servers=1, ratio=Fraction(1, 2), tiers=2, reserved=3))
@example(Case(radix=7, servers=2, ports=4, tiers=3, reserved=4, hosts=7, topology="rail-optimized"))
@example(Case(radix=64, servers=72, ports=8, unit=24, exact=True, topology="rail-optimized"))
def test_the_largest_fabric_can_be_built_and_no_larger_one(case: Case) -> None:
    """Servers can be added up to the largest fabric of as many tiers, and not one more.

    Ports that are left to less than a server count in a fat tree; where leaves belong to rails, servers are whole.
    """
    fabric = fabric_of(case)
    if fabric is None:
        return
    largest, others, tiers = count(fabric.largest), case.hosts + case.reserved, len(fabric.tiers)
    servers, left = divmod(largest - others, case.ports)
    assert case.endpoints <= largest
    assert left == 0 or case.topology == "fat-tree" or tiers == 1
    of_largest = fabric_of(case._replace(servers=servers, tiers=tiers))
    assert of_largest is not None
    assert largest == count(of_largest.largest)
    assert fabric_of(case._replace(servers=servers + 1, tiers=tiers)) is None


@given(cases(fixed=True, mixed=True))
@example(Case(radix=64, servers=16, uplinks=27, per_pod=27, cores=4))
def test_the_largest_fabric_is_no_smaller_than_the_one_built(case: Case) -> None:
    """Whatever the plan fixes, what is built can be built; nothing limits pods without a core."""
    fabric = fabric_of(case)
    if fabric is None:
        return
    assert (fabric.largest is None) == bool(case.pod_leaves and len(fabric.tiers) == 2)
    assert fabric.largest is None or case.endpoints <= count(fabric.largest)


@given(cases(small=True, fixed=True))
@example(Case(radix=64, servers=3000, pod_leaves=17, per_pod=16, uplinks=16, cores=4))
def test_the_largest_fabric_can_be_built_with_what_the_plan_fixes(case: Case) -> None:
    """The fabric of the largest number of endpoints exists, also with numbers that the plan fixes."""
    case = case._replace(ports=1)
    fabric = fabric_of(case)
    if fabric is None or fabric.largest is None:
        return
    servers, tiers = count(fabric.largest) - case.hosts - case.reserved, len(fabric.tiers)
    assert fabric_of(case._replace(servers=servers, tiers=tiers)) is not None


@given(cases())
@example(Case(radix=4, servers=3, ports=2, ratio=Fraction(1, 2), reserved=3))
@example(Case(radix=8, servers=1, tiers=2, hosts=40))
def test_a_refusal_names_a_size_that_fits(case: Case) -> None:
    """The largest demand that a refusal names is met, one server more is not.

    None is named for a ratio that no leaf keeps, and where other machines alone are too many.
    """
    try:
        build_fabric(case.topology, demand(case))
    except Infeasible as refusal:
        if refusal.rule == "ports":
            assert Fraction(case.unit or 1, case.radix - (case.unit or 1)) > case.ratio
            return
        if "leave no room for servers" in refusal.message:
            assert fabric_of(case._replace(servers=1)) is None
            return
        servers = int(refusal.message.partition("at most ")[2].split(" servers")[0])
        assert servers < case.servers
        largest = case._replace(servers=servers)
        assert servers == 0 or fabric_of(largest) is not None
        assert fabric_of(case._replace(servers=servers + 1)) is None


def with_reserved(case: Case, plugged: list[list[int]], down: int) -> list[int]:
    """Ports in use on each leaf when reserved ports follow on the leaves of each rail, from the last rail on."""
    rails = case.ports // rails_of_leaf(case, len(plugged)) if case.topology == "rail-optimized" else 1
    row = len(plugged) // rails
    used = [len(endpoints) for endpoints in plugged]
    for port in range(case.reserved):
        first = (rails - 1 - port % rails) * row
        place = next((leaf for leaf in range(first, first + row) if used[leaf] < down), None)
        if place is not None:
            used[place] += 1
    return used


def seats(case: Case, leaves: int, down: int) -> list[list[int]]:
    """The number in the order of the endpoints, servers and then hosts, of whatever is plugged into each leaf.

    In a fabric of rails the leaves are numbered rail after rail; port r of a server is on rail r, hosts' ports are
    dealt out to the rails in turn, and stand on the last leaf with servers first, then on empty ones, then on others.
    """
    each = rails_of_leaf(case, leaves)
    rails = case.ports // each if case.topology == "rail-optimized" else 1
    row, nic_ports = leaves // rails, case.servers * case.ports
    unit = case.unit or down
    if case.exact and leaves > 1:
        whole = down // case.ports
        unit = ceil(Fraction(case.servers, row)) if rails > 1 or each < case.ports else whole
        if case.topology != "rail-optimized" and whole * leaves < case.servers:
            unit = Fraction(down, case.ports)
    plugged: list[list[int]] = [[] for _ in range(leaves)]
    if (rails == 1 and (leaves == 1 or not case.unit) and not case.exact) or leaves == 1:
        for endpoint in range(case.attached):
            plugged[endpoint // down].append(endpoint)
        return plugged
    for endpoint in range(nic_ports):
        server, port = divmod(endpoint, case.ports)
        rail = port // each if rails > 1 else 0
        place = endpoint // down if isinstance(unit, Fraction) else server // unit
        plugged[rail * row + place].append(endpoint)
    used = max((index % row for index, each_leaf in enumerate(plugged) if each_leaf), default=-1) + 1
    is_part = used == 1 or len(plugged[used - 1]) < len(plugged[0])
    for host in range(case.hosts):
        first = host % rails * row
        order = [used - 1, *range(used, row), *reversed(range(used - 1))]
        if case.exact:
            order = [*([used - 1] if is_part else []), *range(used, row), *range(used)]
        place = next(index for index in order if len(plugged[first + index]) < down)
        plugged[first + place].append(nic_ports + host)
    return plugged


def network_of(fabric: Fabric, case: Case, scale: int) -> Network:
    """Every link of a fabric with its capacity times `scale`, and the endpoints' halves at both ends of the flow.

    On an exact build-out the links up of a leaf that is not full follow from its ports in use.
    """
    graph = Network()
    leaf, *above = fabric.tiers
    leaves, down, up = count(leaf.count), count(leaf.down), count(leaf.up)
    rails = case.ports // rails_of_leaf(case, leaves) if case.topology == "rail-optimized" else 1
    apart = 0 if case.all_rails else 1
    groups = max(count(fabric.pods) // (rails if apart else 1), 1) if fabric.pods else 0
    row = leaves // rails
    sizes = [row // groups + (group < row % groups) for group in range(groups)] if groups else [row]
    pod_of = [
        apart * rail * len(sizes) + group
        for rail in range(rails)
        for group, size in enumerate(sizes)
        for _ in range(size)
    ]
    of_pod = count(above[0].count) // (count(fabric.pods) or 1) if above else 0
    plugged = seats(case, leaves, down)
    used = with_reserved(case, plugged, leaf_room(case, leaf))
    below_gbps, leaf_gbps, spine_gbps = (rate * scale for rate in case.rates)
    kept = Fraction(case.rates[0], case.ratio * case.rates[1])
    for number, endpoints in enumerate(plugged):
        first = sum(endpoint < case.attached // 2 for endpoint in endpoints)
        graph.join("first", ("leaf", number), first * below_gbps, both=False)
        graph.join(("leaf", number), "second", (len(endpoints) - first) * below_gbps, both=False)
        links = up
        if case.exact and of_pod and not case.uplinks:
            links = min(ceil(used[number] * kept / of_pod) * of_pod, up)
        for spine in range(of_pod):
            pod = pod_of[number] if groups else 0
            graph.join(("leaf", number), ("spine", pod, spine), int(Fraction(links, of_pod) * leaf_gbps))
    for core in range(count(above[1].count) if len(above) > 1 else 0):
        for pod in range(count(fabric.pods)):
            for spine in range(of_pod):
                links_each = Fraction(count(above[0].up), count(above[1].count))
                graph.join(("spine", pod, spine), ("core", core), int(links_each * spine_gbps))
    return graph


@given(cases(small=True, fixed=True, mixed=True))
@example(Case(radix=6, servers=7, ratio=Fraction(3), exact=True))
@example(Case(radix=8, servers=30, exact=True, reserved=4, tiers=2))
@example(Case(radix=8, servers=20, ports=4, hosts=40, topology="rail-only"))
@example(Case(radix=16, servers=96, pod_leaves=5, uplinks=8, rates=(200, 400, 800)))
@example(Case(radix=8, servers=4, ports=2))
@example(Case(radix=16, servers=1024))
@example(Case(radix=8, servers=20, ports=4, topology="rail-optimized", all_rails=True, exact=True, unit=3))
@example(Case(radix=64, servers=256, ports=8, topology="rail-optimized"))
@settings(deadline=None)
def test_bisection_is_the_maximum_flow_between_the_halves(case: Case) -> None:
    """The stated bisection is the max-flow between the first and the second half of the endpoints, link by link.

    Rails that meet nowhere are equal only when other machines have as many ports on each. Where leaves are left partly
    free for a unit, the reserved ports that raise their links up are left out.
    """
    if case.exact and case.unit:
        case = case._replace(reserved=0)
    whole = fabric_of(case)
    if whole is None:
        return
    if case.topology == "rail-only":
        if case.hosts % case.ports:
            return
        reserved = ceil(Fraction(case.reserved, case.ports))
        case = case._replace(ports=1, topology="fat-tree", hosts=case.hosts // case.ports, reserved=reserved)
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


@pytest.mark.parametrize("pod_leaves", [0, 4])
def test_a_k_ary_fat_tree_whose_spines_are_counted_in_the_plan(pod_leaves: int) -> None:
    """Of k = 8, 128 hosts: 8 pods of 4 and 4 switches below 16 of the core (Al-Fares et al. 2008, section 2.2.1)."""
    fabric = fabric_of(Case(radix=8, servers=128, tiers=3, spines=8 * 4, pod_leaves=pod_leaves))
    assert fabric is not None
    assert [8 * 4, 8 * 4, 16] == [tier.count.value for tier in fabric.tiers]


def test_one_switch_is_no_way_for_rails_with_leaves_of_their_own() -> None:
    """What was not taken: one tier joins a server's ports on one switch, eight rails need eight leaves."""
    asked = demand(Case(radix=64, servers=8, ports=8))
    for rails, tiers in ((None, [1, 2, 3]), (given_as(1), [1, 2, 3]), (given_as(8), [2, 3])):
        assert tiers == [tried.tiers for tried in runners_up_by_tiers(asked, rails)]


@pytest.mark.parametrize(("hosts", "servers"), [(0, 8), (8, 7), (60, 0), (80, 0)])
def test_the_servers_that_one_switch_has_room_for(hosts: int, servers: int) -> None:
    """Of 64 ports other machines take theirs, and a server eight."""
    with pytest.raises(Infeasible, match=f"at most {servers} servers"):
        build_fabric("single-switch", demand(Case(radix=64, servers=9, ports=8, hosts=hosts)))
