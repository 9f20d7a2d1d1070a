"""Fabrics as Graphviz graphs: every link counted once, small however large the fabric, safe for any name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from calls_made import count_calls
from fabrics_by_hand import FABRICS, clos, dragonfly, figure, planes, torus

from bomgen.core.language import language
from bomgen.fabric.types import Fabric, Fitted
from bomgen.output.drawing.graphviz import MOST_EDGES, MOST_GROUPS, MOST_SWITCHES, fabric_dot
from bomgen.results.result import Report

Worked = Callable[[Mapping[str, Any]], Report]
ENGLISH = language("en")
STRING = r'"(?:[^"\\]|\\.)*"'
NODE = re.compile(rf"^\s*({STRING}) \[label=({STRING}).*\];$")
EDGE = re.compile(rf"^\s*({STRING}) -- ({STRING}) \[label=({STRING}).*\];$")
BUNDLE = re.compile(r"([\d,]+) × 400 Gb/s")
HOSTILE = 'a "b" \\N \\" ]; } digraph &lt; <b>x</b>\nnext'


class Read(NamedTuple):
    """The nodes and edges of a graph, with their labels."""

    nodes: dict[str, str]
    edges: list[tuple[str, str, str]]


def _read(text: str) -> Read:
    lines = text.splitlines()
    edges = [match.groups() for line in lines if (match := EDGE.match(line))]
    nodes = dict(match.groups() for line in lines if (match := NODE.match(line)))
    assert len(lines) > len(edges) + len(nodes)
    return Read(nodes, edges)


def _links(graph: Read, upper: str, lower: str) -> int:
    """The links on all edges between nodes whose names begin so."""
    return sum(
        int(match[1].replace(",", ""))
        for above, below, label in graph.edges
        if above.startswith(f'"{upper}') and below.startswith(f'"{lower}') and (match := BUNDLE.search(label))
    )


@pytest.mark.parametrize("name", FABRICS)
def test_edges_join_nodes_and_stay_few(name: str) -> None:
    """Every end of an edge is a node, every edge has its links and rate, and nothing is drawn twice."""
    graph = _read(fabric_dot(FABRICS[name], "compute", ENGLISH))
    for upper, lower, label in graph.edges:
        assert {upper, lower} <= set(graph.nodes)
        assert re.search(r"\d (links, |× |global links, |local links, )?400 Gb/s", label)
    assert len(graph.nodes) <= MOST_SWITCHES + 1
    assert len(graph.edges) <= MOST_EDGES


@pytest.mark.parametrize("name", FABRICS)
def test_edges_add_up(name: str) -> None:
    """The links on the edges between two tiers are those of the fabric; of planes, of one."""
    fabric = FABRICS[name].plane or FABRICS[name]
    graph = _read(fabric_dot(FABRICS[name], "compute", ENGLISH))
    for links in fabric.links:
        lower, upper = links.ends
        if lower != upper and lower != "server":
            assert _links(graph, upper, lower) == links.count.value


def test_few_switches_are_drawn_one_by_one() -> None:
    """Three leaves, two spines and the servers, with the links of every pair."""
    graph = _read(fabric_dot(FABRICS["few"], "compute", ENGLISH))
    assert {'"leaf 1"', '"leaf 2"', '"leaf 3"', '"spine 1"', '"spine 2"', '"servers"'} == set(graph.nodes)
    assert Counter(label for _, _, label in graph.edges)['" 16 × 400 Gb/s "'] == 6


def test_fewer_links_than_switches_above() -> None:
    """A spine with fewer links up than cores goes on where the one before it ended, so that cores stay equal."""
    fabric = clos([8, 8, 8], [4, 4], 32, 8, pods=2)
    graph = _read(fabric_dot(fabric, "compute", ENGLISH))
    at_cores = Counter(upper for upper, lower, _ in graph.edges if lower.startswith('"spine'))
    assert at_cores == {f'"core {number}"': 4 for number in range(1, 9)}
    assert _links(graph, "core", "spine") == 32


def test_a_leaf_with_fewer_links_up() -> None:
    """Where the last leaf is built out less, its edges have less."""
    fabric = FABRICS["few"]
    leaf = fabric.tiers[0]
    fitted = (Fitted(figure(2), figure(32), figure(32)), Fitted(figure(1), figure(26), figure(26)))
    fabric = fabric._replace(tiers=(replace(leaf, fitted=fitted), *fabric.tiers[1:]))
    graph = _read(fabric_dot(fabric, "compute", ENGLISH))
    assert Counter(label for _, lower, label in graph.edges if lower == '"leaf 3"') == {'" 13 × 400 Gb/s "': 2}


def test_pods_are_frames() -> None:
    """A few pods stand side by side; many collapse into one frame for each kind of them."""
    text = fabric_dot(FABRICS["unequal pods"], "compute", ENGLISH)
    assert 'subgraph "cluster pod 1"' in text
    assert 'subgraph "cluster pod 2"' in text
    assert {'"leaf 1-11"', '"leaf 12-21"'} <= set(_read(text).nodes)
    text = fabric_dot(FABRICS["huge"], "compute", ENGLISH)
    assert 'label="Pods 1 to 625"' in text
    assert '"leaf 1-20000" [label="Leaf\\n20,000 × QM9700\\n32 in each"]' in text
    uneven = clos([20 * 32 + 7, 640, 320], [32, 32], 20704, 8, 20)
    graph = _read(fabric_dot(uneven, "compute", ENGLISH))
    assert {'"leaf 1-231"', '"leaf 232-647"'} <= set(graph.nodes)
    assert _links(graph, "spine", "leaf") == 647 * 32
    assert MOST_GROUPS < 20
    assert 'label="Rail groups 1 to 18"' in fabric_dot(FABRICS["rails"], "compute", ENGLISH)


def test_endpoints_of_leaves() -> None:
    """A full leaf has as many links as ports; of others it is told how many they may have."""
    full = _read(fabric_dot(clos([2, 1], [32], 64), "compute", ENGLISH))
    assert Counter(label for _, lower, label in full.edges if lower == '"servers"') == {'" 32 × 400 Gb/s "': 2}
    other = fabric_dot(FABRICS["few"]._replace(tiers=FABRICS["pods"].tiers[:1]), "compute", ENGLISH, servers=10)
    assert "50 at other machines" in other
    partly = fabric_dot(clos([3, 2], [32], 89), "compute", ENGLISH)
    assert "up to 30 × 400 Gb/s" in partly


def test_planes_are_stated() -> None:
    """One plane is drawn, with the counts of all beside."""
    text = fabric_dot(planes(FABRICS["few"], 4), "compute", ENGLISH)
    assert "1 of 4 equal planes" in text
    assert "12 in all planes" in text
    assert _links(_read(text), "spine", "leaf") == 96


def test_groups_of_routers() -> None:
    """Routers one by one, groups one by one, and all as one node."""
    graph = _read(fabric_dot(dragonfly(3, 4, 2), "compute", ENGLISH))
    assert len(graph.nodes) == 13
    assert _links(graph, "leaf", "leaf") == 18 + 12
    graph = _read(fabric_dot(dragonfly(5, 8, 4), "compute", ENGLISH))
    assert len(graph.nodes) == 6
    assert _links(graph, "group", "group") == 5 * 28 + 80
    graph = _read(fabric_dot(dragonfly(65, 16, 8), "compute", ENGLISH))
    assert len(graph.nodes) == 2
    assert [label for upper, lower, label in graph.edges if upper == lower] == [
        '" 7,800 local links, 400 Gb/s \\n 1 per pair of routers "',
        '" 4,160 global links, 400 Gb/s \\n 2 per pair of groups "',
    ]


def test_grids() -> None:
    """Nodes one by one with every neighbour, or one node with the links along every axis."""
    graph = _read(fabric_dot(torus(4, 4), "compute", ENGLISH))
    assert len(graph.nodes) == 16
    assert len({frozenset(edge[:2]) for edge in graph.edges}) == len(graph.edges) == 32
    graph = _read(fabric_dot(torus(16, 16, 8), "compute", ENGLISH))
    assert [*graph.nodes] == ['"nodes"']
    assert [edge[2] for edge in graph.edges] == [
        '" x: 2,048 × 400 Gb/s \\n y: 2,048 × 400 Gb/s \\n z: 2,048 × 400 Gb/s "'
    ]


def test_hostile_names_stay_text() -> None:
    """Names neither end a string nor begin an escape sequence or an entity."""

    def renamed(fabric: Fabric) -> Fabric:
        tier = fabric.tiers[0]
        part = tier.switch._replace(identity=tier.switch.identity._replace(name=HOSTILE))
        return fabric._replace(tiers=(replace(tier, switch=part), *fabric.tiers[1:]))

    text = fabric_dot(renamed(FABRICS["few"]), HOSTILE, ENGLISH)
    graph = _read(text)
    assert len(graph.nodes) == 6
    escaped = r"a \"b\" \\N \\\" ]; } digraph &amp;lt; <b>x</b> next"
    assert f'graph "{escaped}" {{' in text
    assert graph.nodes['"leaf 1"'] == f'"Leaf 1\\n{escaped}"'


def test_chinese() -> None:
    """All words are those of the language."""
    text = fabric_dot(planes(FABRICS["rails"], 2), "compute", language("zh"))
    assert {"Leaf 层", "服务器", "轨道组"} <= set(re.findall(r"Leaf 层|服务器|轨道组", text))
    assert not re.search(r"\b(Servers|links|planes)\b|\bLeaf(?! 层)", text)


MOST_TIMES = 8
"""Calls for a very large fabric, of those for one of a few switches: each way to draw costs another number."""


def test_very_large_fabrics_take_no_longer() -> None:
    """Switches collapse before anything is written."""
    sizes = [len(fabric_dot(fabric, "compute", ENGLISH)) for fabric in FABRICS.values()]
    assert max(sizes) < 20_000
    few, huge = (
        count_calls(lambda name=name: fabric_dot(FABRICS[name], "compute", ENGLISH)) for name in ("few", "huge")
    )
    assert huge < MOST_TIMES * few


@pytest.mark.parametrize("servers", [5, 13, 70, 300, 1100, 4000])
@pytest.mark.parametrize("build_out", ["full", "exact"])
@pytest.mark.parametrize("tiers", ["auto", 3])
def test_fabrics_as_they_are_built(servers: int, build_out: str, tiers: str | int, worked: Worked) -> None:
    """What the program builds adds up as well: leaves built out less, pods of unequal size, few links to many cores."""
    fabric_plan = {"switch": "qm9700", "build_out": build_out, "tiers": tiers}
    plan = {"bomgen": 1, "name": "x", "cluster": {"gpu": "h100-sxm", "servers": servers}}
    [built] = worked({**plan, "fabrics": {"compute": fabric_plan}}).design.fabrics
    graph = _read(fabric_dot(built.fabric, "compute", ENGLISH, servers))
    for links in built.fabric.links:
        lower, upper = links.ends
        if lower != "server":
            assert _links(graph, upper, lower) == links.count.value
    assert len(graph.nodes) <= MOST_SWITCHES + 1
