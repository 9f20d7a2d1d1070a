"""Laws that every torus obeys, whatever its dimensions."""

from __future__ import annotations

from collections import deque
from itertools import product
from math import prod

import pytest
from flow import Network
from hypothesis import example, given
from hypothesis import strategies as st
from test_fabric_laws import given_as

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Assumed, Figure
from bomgen.fabric.topologies.torus import most_cubic
from bomgen.fabric.types import DirectDemand, Fabric, build_fabric

DIMENSIONS = st.lists(st.integers(1, 7), min_size=2, max_size=3)
Node = tuple[int, ...]


def torus_of(nodes: int, dimensions: list[int] | None = None, pod: int = 0, rank: int = 3) -> Fabric:
    """A torus of so many nodes with links of one Gb/s."""
    options: dict[str, Figure | tuple[Figure, ...]] = {
        "rank": Figure(rank, "count", Assumed("rank", "because", (), "high"))
    }
    if dimensions:
        options["dimensions"] = tuple(given_as(size) for size in dimensions)
    return build_fabric(
        "torus",
        DirectDemand(given_as(nodes), given_as(1, "Gb/s"), given_as(pod) if pod else None, (), options),
    )


def links_of(dimensions: list[int]) -> set[frozenset[Node]]:
    """Every link of a torus: neighbours along a dimension, the last with the first."""
    found = set()
    for node in product(*(range(size) for size in dimensions)):
        for place, size in enumerate(dimensions):
            beside = (*node[:place], (node[place] + 1) % size, *node[place + 1 :])
            if beside != node:
                found.add(frozenset((node, beside)))
    return found


def neighbours(dimensions: list[int]) -> dict[Node, list[Node]]:
    """The neighbours of every node."""
    found: dict[Node, list[Node]] = {node: [] for node in product(*(range(size) for size in dimensions))}
    for one, other in (tuple(link) for link in links_of(dimensions)):
        found[one].append(other)
        found[other].append(one)
    return found


@given(DIMENSIONS)
@example([1, 1, 1])
@example([2, 2, 2])
@example([2, 1, 5])
def test_links_ports_and_hops_are_those_of_the_graph(dimensions: list[int]) -> None:
    """Links, links of a node and the longest shortest path are what a walk over the whole torus finds."""
    fabric = torus_of(prod(dimensions), dimensions)
    graph = neighbours(dimensions)
    assert len(links_of(dimensions)) == fabric.links[0].count.value
    assert {fabric.ports_per_server.value} == {len(beside) for beside in graph.values()}
    start = next(iter(graph))
    far, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for other in graph[node]:
            if other not in far:
                far[other] = far[node] + 1
                queue.append(other)
    assert (len(graph), max(far.values())) == (len(far), fabric.hops.value)


@given(DIMENSIONS)
@example([3, 3, 3])
@example([2, 2, 2])
@example([5, 3])
@example([4, 3, 2])
def test_bisection_is_the_maximum_flow_between_the_halves(dimensions: list[int]) -> None:
    """Between the first and the second half of the nodes, row by row with the longest dimension outermost."""
    fabric = torus_of(prod(dimensions), dimensions)
    outer = sorted(dimensions, reverse=True)
    graph = Network()
    nodes = sorted(neighbours(outer))
    for one, other in (sorted(link) for link in links_of(outer)):
        graph.join(one, other, 1)
    plenty = 2 * len(outer) * len(nodes)
    for place, node in enumerate(nodes):
        if place < len(nodes) // 2:
            graph.join("first", node, plenty, both=False)
        else:
            graph.join(node, "second", plenty, both=False)
    assert graph.flow("first", "second") == fabric.bisection_gbps.value


@given(st.integers(1, 3000), st.integers(2, 3))
def test_the_default_is_the_most_cubic(nodes: int, rank: int) -> None:
    """Of all shapes with that many nodes the smallest sum of dimensions, found by trying every one."""
    found = most_cubic(nodes, rank)
    sides = [side for side in range(1, nodes + 1) if nodes % side == 0]
    others = ((*some, nodes // prod(some)) for some in product(sides, repeat=rank - 1) if nodes % prod(some) == 0)
    assert (nodes, rank, tuple(sorted(found))) == (prod(found), len(found), found)
    assert sum(found) == min(sum(shape) for shape in others)


@given(DIMENSIONS, st.integers(1, 4))
def test_tori_stand_side_by_side(dimensions: list[int], tori: int) -> None:
    """Several tori have as many times the links of one, and none between them."""
    nodes = prod(dimensions)
    one, all_ = torus_of(nodes, dimensions), torus_of(nodes * tori, dimensions)
    assert (nodes * tori, tori * one.links[0].count.value) == (all_.endpoints.value, all_.links[0].count.value)
    assert all_.bisection_gbps.value == (one.bisection_gbps.value if tori % 2 else 0)
    assert tori == (all_.planes.value if all_.planes else 1)


@given(DIMENSIONS, st.integers(1, 500))
def test_a_refusal_names_what_works(dimensions: list[int], nodes: int) -> None:
    """Nodes and dimensions that a refusal names make whole tori."""
    try:
        torus_of(nodes, dimensions)
    except Infeasible as refusal:
        counts, _, shape = refusal.message.partition("; give ")[2].partition(" of them, or `dimensions: [")
        for count in counts.split(" or "):
            assert torus_of(int(count), dimensions).endpoints.value == int(count)
        named = [int(size) for size in shape.removesuffix("]`").split(", ")]
        assert torus_of(nodes, named).planes is None


@pytest.mark.parametrize(("nodes", "shape"), [(64, (4, 4, 4)), (9216, (16, 24, 24)), (12, (2, 2, 3)), (7, (1, 1, 7))])
def test_shapes_without_published_dimensions(nodes: int, shape: tuple[int, ...]) -> None:
    """A slice, or a pod whose dimensions nobody publishes, is as cubic as can be; more than a pod are whole pods."""
    fabric = torus_of(nodes)
    assert shape == tuple(figure.value for figure in fabric.dimensions.values())
    pods = torus_of(nodes + 1, pod=nodes)
    assert (2, 2 * nodes) == (pods.planes.value if pods.planes else 0, pods.endpoints.value)
