"""The torus: a grid of nodes in two or three dimensions, each linked with its neighbours, the last with the first.

There are no switches: the nodes, servers or the chips of a pod, forward the traffic of others. A dimension of one node
has no links, of two one link per pair, of more a ring. Nodes are counted row by row with the longest dimension
outermost, so that the smallest even cut through the torus separates their first and second half. Several pods are side
by side with no link between them. Links are counted, and neither cables nor modules are bought.

With the longest dimension outermost the bisection is the one that data sheets print (1.6, 3.2 and 6.4 TB/s of TPU v5e,
v6e and v3).

A torus may be made of cubes whose faces are joined by optical circuit switches, like that of TPU v4 (Jouppi et al.,
"TPU v4: An Optically Reconfigurable Supercomputer", ISCA 2023, arXiv 2304.01433): one switch connects the same position
on two opposite faces of all cubes. The circuit switches, and the module and the fibre at each optical end, are bought.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, Given, ceil_div, constant, formula, product, require, sum_of
from bomgen.fabric.clos.shape import divisors
from bomgen.fabric.declaration import Connections, LinkKind, NodeGrid, Topology
from bomgen.fabric.types import SERVER, DirectDemand, Fabric, Links

NAME = "torus"

LIMITS = "two or three dimensions; every node has two links a dimension, and half the longest of each lies on the way"

DRAWING = """\
      |      |      |
    --o------o------o--     every row and every column is a ring
      |      |      |
    --o------o------o--     o: a server, or a chip of a pod
      |      |      |
    --o------o------o--
      |      |      |
"""

NODE_NODE = LinkKind(
    *("node-node", (SERVER, SERVER), "NN", "Node to node"), "Topology torus: links between neighbouring nodes."
)
DIMENSIONS = ("x", "y", "z")
_POD = (16, 16, 16)
_SQUARE = (8, 8)
_CUBE, _CIRCUIT_PORTS = (4, 4, 4), 136
_RANKS = (2, 3)

OPTIONS: dict[str, Any] = {
    "title": "Torus",
    "description": "Topology torus: its shape, as far as set; each key is optional. Default: the shape of a "
    "whole pod, else the most cubic one.",
    "type": "object",
    "properties": {
        "dimensions": {
            "title": "Dimensions",
            "description": "Nodes along each dimension of one torus. Their product divides the nodes; more nodes make "
            "several parallel tori. Default: those of a whole pod, else as equal as possible.",
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "minItems": min(_RANKS),
            "maxItems": max(_RANKS),
            "x-unit": "count",
            "examples": [list(_POD), list(_SQUARE)],
        },
        "rank": {
            "title": "Rank",
            "description": "Number of dimensions if they are not set. Default: as in a pod, else 3.",
            "type": "integer",
            "enum": list(_RANKS),
            "x-unit": "count",
            "x-assumption": "torus-rank",
            "examples": list(_RANKS),
        },
        "cube": {
            "title": "Cube",
            "description": "Nodes along each dimension of a cube, in the order of `dimensions`: links between cubes "
            "run over optical circuit switches, which are purchased. Default: none, all links are direct.",
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "minItems": min(_RANKS),
            "maxItems": max(_RANKS),
            "x-unit": "count",
            "examples": [list(_CUBE)],
        },
        "circuit_ports": {
            "title": "Ports of a circuit switch",
            "description": "Ports of one optical circuit switch; two cubes take four of them. Default: 136.",
            "type": "integer",
            "minimum": 2,
            "x-unit": "count",
            "x-assumption": "circuit-switch-ports",
            "examples": [_CIRCUIT_PORTS],
        },
    },
    "minProperties": 1,
    "additionalProperties": False,
    "examples": [{"dimensions": list(_POD)}, {"rank": min(_RANKS)}, {"dimensions": list(_POD), "cube": list(_CUBE)}],
}


nodes_of_three = product("nodes_of_three", "nodes", "x", "y", "z")
"""Nodes of one torus of three dimensions."""
nodes_of_two = product("nodes_of_two", "nodes", "x", "y")
"""Nodes of one torus of two dimensions."""
tori_of = ceil_div("tori_of", "tori", "nodes", "nodes_of_torus")
"""Equal, unconnected tori that hold the nodes."""
nodes_of_tori = product("nodes_of_tori", "nodes", "tori", "nodes_of_torus")
"""Nodes of all tori."""


@formula("nodes", source="of all ways to write the nodes as a product, the one with the smallest sum")
def shortest_dimension(nodes: int, rank: int) -> int:
    """Nodes along the shortest dimension of the most cubic torus."""
    return most_cubic(nodes, rank)[0]


@formula("nodes", source="of all ways to write the nodes as a product, the one with the smallest sum")
def second_dimension(nodes: int, rank: int) -> int:
    """Nodes along the second dimension of the most cubic torus."""
    return most_cubic(nodes, rank)[1]


@formula("nodes", source="of all ways to write the nodes as a product, the one with the smallest sum")
def third_dimension(nodes: int, rank: int) -> int:
    """Nodes along the third dimension of the most cubic torus."""
    return most_cubic(nodes, rank)[2]


@formula("count")
def rank_of_pod(x: int, y: int) -> int:
    """Dimensions of a pod for which the plan sets two lengths."""
    return len((x, y))


@formula("count")
def rank_of_deep_pod(x: int, y: int, z: int) -> int:
    """Dimensions of a pod for which the plan sets three lengths."""
    return len((x, y, z))


@formula("links")
def links_of_three(x: int, y: int, z: int) -> int:
    """Links of one torus of three dimensions: half of the ports of its nodes."""
    return x * y * z * ports_along(x, y, z) // 2


@formula("links")
def links_of_two(x: int, y: int) -> int:
    """Links of one torus of two dimensions: half of the ports of its nodes."""
    return x * y * ports_along(x, y) // 2


@formula("ports")
def ports_of_three(x: int, y: int, z: int) -> int:
    """Links per node: two per dimension, one if the dimension has two nodes, none if it has one."""
    return ports_along(x, y, z)


@formula("ports")
def ports_of_two(x: int, y: int) -> int:
    """Links per node: two per dimension, one if the dimension has two nodes, none if it has one."""
    return ports_along(x, y)


@formula("links")
def hops_of_three(x: int, y: int, z: int) -> int:
    """Links between the farthest two nodes: half of each dimension."""
    return x // 2 + y // 2 + z // 2


@formula("links")
def hops_of_two(x: int, y: int) -> int:
    """Links between the farthest two nodes: half of each dimension."""
    return x // 2 + y // 2


@formula("Gb/s", source="max-flow between the halves: every link that is cut, because both halves are connected")
def bisection_of_three(x: int, y: int, z: int, link_gbps: int) -> int:
    """Bandwidth of the links between the first and the second half of the nodes."""
    return links_cut(x, y, z) * link_gbps


@formula("Gb/s", source="max-flow between the halves: every link that is cut, because both halves are connected")
def bisection_of_two(x: int, y: int, link_gbps: int) -> int:
    """Bandwidth of the links between the first and the second half of the nodes."""
    return links_cut(x, y) * link_gbps


@formula("Gb/s")
def bisection_of_tori(tori: int, bisection_gbps: int) -> int:
    """Bisection bandwidth of unconnected tori: only a torus split by the middle contributes."""
    return tori % 2 * bisection_gbps


links_of_tori = product("links_of_tori", "links", "tori", "links")
"""Links of all tori."""


zero_cables = constant("zero_cables", "links", 0)
"""Cables to buy: none, because the links are part of the nodes."""


zero_switches = constant("zero_switches", "switches", 0)
"""Switches of a fabric of directly connected nodes."""


zero_tiers = constant("zero_tiers", "tiers", 0)
"""Tiers of a fabric of directly connected nodes."""


SOURCE_OF_CIRCUITS = "Jouppi et al. 2023, TPU v4, arXiv 2304.01433, section 2"


@formula("switches", source=SOURCE_OF_CIRCUITS)
def circuit_switches_of_three(cube_x: int, cube_y: int, cube_z: int) -> int:
    """Optical circuit switches: one per position on a face of a cube, in each dimension."""
    return cube_x * cube_y + cube_y * cube_z + cube_z * cube_x


circuit_switches_of_two = sum_of("circuit_switches_of_two", "switches", "cube_x", "cube_y")
"""Optical circuit switches: one per position on a side of a square, in each dimension."""


@formula("ports", source=SOURCE_OF_CIRCUITS)
def circuit_ports_used(nodes: int, nodes_of_cube: int) -> int:
    """Ports in use per optical circuit switch: both opposite faces of every cube."""
    return 2 * (nodes // nodes_of_cube)


optical_ends = product("optical_ends", "ends", "circuit_switches", "ports_used")
"""Optical modules at the cubes: one per circuit-switch port in use."""
count_of_tori = product("count_of_tori", "count", "tori", "count")
"""Total of all tori."""


def build(demand: DirectDemand) -> Fabric:
    """Return one torus, or equal ones side by side.

    Raises Infeasible when the dimensions that the plan gives do not fit the nodes.
    """
    dimensions = _dimensions(demand)
    deep = len(dimensions) > 2
    of_one = (nodes_of_three if deep else nodes_of_two)(*dimensions)
    tori = tori_of(demand.nodes, of_one)
    ports = (ports_of_three if deep else ports_of_two)(*dimensions)
    bisection = (bisection_of_three if deep else bisection_of_two)(*dimensions, demand.rate)
    links = (links_of_three if deep else links_of_two)(*dimensions)
    one = Fabric(
        topology=NAME,
        endpoints=of_one,
        ports_per_server=ports,
        tier_count=zero_tiers(),
        tiers=(),
        links=(Links(NODE_NODE.name, links, zero_cables(), demand.rate, NODE_NODE.ends, ports),),
        switches=zero_switches(),
        bisection_gbps=bisection,
        hops=(hops_of_three if deep else hops_of_two)(*dimensions),
        largest=None,
        free_ports={},
        dimensions=dict(zip(DIMENSIONS, dimensions, strict=False)),
        circuits=_circuits(demand, dimensions, of_one),
    )
    if tori.value == 1:
        return one
    every = Links(NODE_NODE.name, links_of_tori(tori, links), zero_cables(), demand.rate, NODE_NODE.ends, ports)
    return one._replace(
        endpoints=nodes_of_tori(tori, of_one),
        links=(every,),
        bisection_gbps=bisection_of_tori(tori, bisection),
        circuits=_circuits_of_tori(tori, one.circuits),
        plane=one,
        planes=tori,
    )


def _circuits(demand: DirectDemand, dimensions: tuple[Figure, ...], nodes: Figure) -> dict[str, Figure]:
    """Return the optical circuit switches between the cubes of one torus; empty where the plan gives no cube.

    Raises Infeasible when cubes do not make up the torus, or exceed the ports of a circuit switch.
    """
    cube, ports = demand.options.get("cube"), demand.options.get("circuit_ports")
    if not isinstance(cube, tuple) or not isinstance(ports, Figure):
        return {}
    sizes = [int(figure.value) for figure in dimensions]
    sides = [int(figure.value) for figure in cube]
    if len(sides) != len(sizes) or any(size % side for size, side in zip(sizes, sides, strict=True)):
        shape, whole = (" x ".join(map(str, each)) for each in (sides, sizes))
        fits = ", ".join(str(size // 2 if size % 2 == 0 else size) for size in sizes)
        message = f"cubes of {shape} make no torus of {whole}; each side must divide its dimension, as [{fits}]"
        raise Infeasible(message, because=cube[0], rule="dimensions")
    deep = len(cube) > 2
    switches = (circuit_switches_of_three if deep else circuit_switches_of_two)(*cube)
    used = circuit_ports_used(nodes, (nodes_of_three if deep else nodes_of_two)(*cube))
    if used.value > ports.value:
        most = int(ports.value) // 2
        message = (
            f"{used.value // 2} cubes; a circuit switch of {ports.value} ports connects at most {most}; use larger ones"
        )
        raise Infeasible(message, because=cube[0], rule="dimensions")
    return {"switches": switches, "ports": used, "ends": optical_ends(switches, used)}


def _circuits_of_tori(tori: Figure, circuits: Mapping[str, Figure]) -> dict[str, Figure]:
    return {key: figure if key == "ports" else count_of_tori(tori, figure) for key, figure in circuits.items()}


def _dimensions(demand: DirectDemand) -> tuple[Figure, ...]:
    """Return the dimensions of one torus, at most a pod: as set, a whole pod's, or the most cubic ones."""
    given, asked, pod = demand.options.get("dimensions"), demand.options["rank"], demand.pod
    if isinstance(given, tuple):
        _check(demand, given)
        return given
    rank = require(asked if isinstance(asked, Figure) else None, "the rank is one number")
    nodes = demand.nodes
    if demand.pod_dimensions and not isinstance(rank.origin, Given):
        if pod and nodes.value >= pod.value:
            return demand.pod_dimensions
        rank = (rank_of_deep_pod if len(demand.pod_dimensions) > 2 else rank_of_pod)(*demand.pod_dimensions)
    if pod and nodes.value > pod.value:
        nodes = pod
    ways = (shortest_dimension, second_dimension, third_dimension)[: rank.value]
    return tuple(way(nodes, rank) for way in ways)


def _check(demand: DirectDemand, given: Sequence[Figure]) -> None:
    nodes, of_one = int(demand.nodes.value), prod(int(figure.value) for figure in given)
    shape = " x ".join(str(figure.value) for figure in given)
    if demand.pod and of_one > demand.pod.value:
        cubic = " x ".join(map(str, most_cubic(min(nodes, int(demand.pod.value)), len(given))))
        message = f"{shape} are {of_one} nodes of one torus; a pod has {demand.pod.value}: at most those, as {cubic}"
        raise Infeasible(message, because=given[0], rule="dimensions")
    if nodes % of_one:
        cubic = ", ".join(map(str, most_cubic(nodes, len(given))))
        fits = " or ".join(str(count * of_one) for count in (nodes // of_one, nodes // of_one + 1) if count)
        message = (
            f"{shape} are {of_one} nodes of one torus, and there are {nodes}; give {fits} of them, or "
            f"`dimensions: [{cubic}]`"
        )
        raise Infeasible(message, because=given[0], rule="dimensions")


# plain numbers ------------------------------------------------------------------------------------------------------


def most_cubic(nodes: int, rank: int) -> tuple[int, ...]:
    """Return the ascending numbers with product `nodes` and the smallest sum; of equal sums the most similar."""
    if rank == 1:
        return (nodes,)
    found = []
    for side in divisors(nodes):
        if side**rank > nodes:
            break
        shape = (side, *most_cubic(nodes // side, rank - 1))
        found.append((sum(shape), max(shape), shape))
    return tuple(sorted(min(found)[-1]))


def ports_along(*dimensions: int) -> int:
    """Return the links of a node over all dimensions."""
    return sum(min(size - 1, 2) for size in dimensions)


def links_cut(*dimensions: int) -> int:
    """Return the links between the halves of the nodes, the longest dimension outermost.

    An even outermost dimension is cut twice across, or once where it has only two nodes. Of an odd one the layer in the
    middle is in both halves: it is cut as a torus, and for each of its nodes one more ring is cut once.
    """
    cut = 0
    outer = sorted(dimensions, reverse=True)
    for place, size in enumerate(outer):
        cut += min(size - 1, 2) * prod(outer[place + 1 :])
        if size % 2 == 0:
            break
    return cut


def neighbours(*dimensions: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield every link of one torus: a node, its port, the next node along a dimension, and the port of that one.

    Nodes are numbered row by row with the longest dimension outermost. A node has a port forward and a port back along
    each dimension of more than two nodes, and one along a dimension of two.
    """
    sizes = sorted(dimensions, reverse=True)
    strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
    for node, at in enumerate(itertools.product(*map(range, sizes))):
        port = 0
        for size, stride, place in zip(sizes, strides, at, strict=True):
            ports = ports_along(size)
            if ports and place < (size if ports > 1 else 1):
                after = node + ((place + 1) % size - place) * stride
                yield node, port, after, port + ports - 1
            port += ports


def connect(plane: Fabric, _: object) -> Iterator[tuple[LinkKind, Connections]]:
    """Yield the link of every node to the next one along every dimension, and of the last one to the first."""
    dimensions = (int(figure.value) for figure in plane.dimensions.values())
    links = list(neighbours(*dimensions))
    if links:
        lower, lower_port, upper, upper_port = zip(*links, strict=True)
        yield NODE_NODE, (lower, lower_port, upper, upper_port)


TOPOLOGY = Topology(
    name=NAME,
    limits=LIMITS,
    drawing=DRAWING,
    tiers=(),
    link_kinds=(NODE_NODE,),
    build=build,
    connect=connect,
    arrangement=NodeGrid(DIMENSIONS),
    options=OPTIONS,
    switchless=True,
)
