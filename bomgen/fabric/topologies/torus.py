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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from math import prod
from operator import add, mul
from typing import Any

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, Given, applied, divided_up, named, require, step, trace
from bomgen.fabric.clos.shape import divisors
from bomgen.fabric.types import SERVER, Connections, DirectDemand, Fabric, LinkKind, Links, NodeGrid, Topology

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


MOST_CUBIC = "of all ways to write the nodes as a product, the one with the smallest sum"
EVERY_LINK_CUT = "max-flow between the halves: every link that is cut, because both halves are connected"
SOURCE_OF_CIRCUITS = "Jouppi et al. 2023, TPU v4, arXiv 2304.01433, section 2"


def build(demand: DirectDemand) -> Fabric:
    """Return one torus, or equal ones side by side.

    Raises Infeasible when the dimensions that the plan gives do not fit the nodes.
    """
    return trace(partial(_count, demand))


def _count(demand: DirectDemand) -> Fabric:
    sides = _sides(demand)
    rate, of_one = named("link_gbps", demand.rate), step("nodes_of_torus", "nodes", reduce(mul, sides), "Of one torus.")
    tori = step("tori", "tori", divided_up(named("nodes", demand.nodes), of_one), "Equal, unconnected tori.")
    why = "Two per dimension, one if the dimension has two nodes, none if it has one."
    ports = step("ports", "ports", applied(ports_along, *sides), why)
    count = step("links", "links", of_one * ports // 2, "Half of the ports of all nodes.")
    cut = step("bisection_gbps", "Gb/s", applied(links_cut, *sides) * rate, "Between the halves.", EVERY_LINK_CUT)
    no_cables = step("cables", "links", 0, "The links are part of the nodes.")
    links = Links(NODE_NODE.name, count, no_cables, rate, NODE_NODE.ends, ports)
    circuits = _circuits(demand, sides, of_one)
    one = Fabric(
        topology=NAME,
        endpoints=of_one,
        ports_per_server=ports,
        tier_count=step("tiers", "tiers", 0, "Nodes are connected directly."),
        tiers=(),
        links=(links,),
        switches=step("switches", "switches", 0, "Nodes are connected directly."),
        bisection_gbps=cut,
        hops=step("hops", "links", reduce(add, [side // 2 for side in sides]), "Half of each dimension."),
        largest=None,
        free_ports={},
        dimensions=dict(zip(DIMENSIONS, sides, strict=False)),
        circuits=circuits,
    )
    if tori == 1:
        return one
    every = step("links", "links", tori * count, "Links of all tori.")
    of_all = {
        key: figure if key == "ports" else step(key, figure.inputs[0][1].unit, tori * figure, "Of all tori.")
        for key, figure in circuits.items()
    }
    only_middle = "Only a torus split by the middle contributes."
    return one._replace(
        endpoints=step("nodes", "nodes", tori * of_one, "Nodes of all tori."),
        links=(replace(links, count=every),),
        bisection_gbps=step("bisection_gbps", "Gb/s", tori % 2 * cut, only_middle),
        circuits=of_all,
        plane=one,
        planes=tori,
    )


def _circuits(demand: DirectDemand, sides: Sequence[Any], nodes: Any) -> dict[str, Any]:
    """Return the optical circuit switches between the cubes of one torus; empty where the plan gives no cube."""
    # Raises Infeasible when cubes do not make up the torus, or exceed the ports of a circuit switch.
    given, ports = demand.options.get("cube"), demand.options.get("circuit_ports")
    if not isinstance(given, tuple) or not isinstance(ports, Figure):
        return {}
    sizes, of_cube = [side.value for side in sides], [figure.value for figure in given]
    if len(of_cube) != len(sizes) or any(size % side for size, side in zip(sizes, of_cube, strict=True)):
        shape, whole = (" x ".join(map(str, lengths)) for lengths in (of_cube, sizes))
        fits = ", ".join(str(size // 2 if size % 2 == 0 else size) for size in sizes)
        message = f"cubes of {shape} make no torus of {whole}; each side must divide its dimension, as [{fits}]"
        raise Infeasible(message, because=given[0], rule="dimensions")
    cube = [named(f"cube_{axis}", figure) for axis, figure in zip(DIMENSIONS, given, strict=False)]
    faces = [reduce(mul, [side for side in cube if side is not across]) for across in cube]
    why = "One per position on a face of a cube, in each dimension."
    switches = step("circuit_switches", "switches", reduce(add, faces), why, SOURCE_OF_CIRCUITS)
    cubes = nodes // step("nodes_of_cube", "nodes", reduce(mul, cube), "Nodes of one cube.")
    used = step("ports_used", "ports", 2 * cubes, "Both opposite faces of every cube.", SOURCE_OF_CIRCUITS)
    if used > ports.value:
        most = int(ports.value) // 2
        message = f"{cubes.value} cubes; a circuit switch of {ports.value} ports connects at most {most}"
        raise Infeasible(f"{message}; use larger ones", because=given[0], rule="dimensions")
    ends = step("ends", "ends", switches * used, "Optical modules at the cubes: one per circuit-switch port in use.")
    return {"switches": switches, "ports": used, "ends": ends}


def _sides(demand: DirectDemand) -> list[Any]:
    """Return the dimensions of one torus, at most a pod: as set, a whole pod's, or the most cubic ones."""
    given, asked, pod = demand.options.get("dimensions"), demand.options["rank"], demand.pod
    if isinstance(given, tuple):
        _check(demand, given)
        return [named(axis, figure) for axis, figure in zip(DIMENSIONS, given, strict=False)]
    rank = require(asked if isinstance(asked, Figure) else None, "the rank is one number")
    nodes, number = demand.nodes, named("rank", rank)
    if demand.pod_dimensions and not isinstance(rank.origin, Given):
        if pod and nodes.value >= pod.value:
            return [named(axis, figure) for axis, figure in zip(DIMENSIONS, demand.pod_dimensions, strict=False)]
        number = step("rank", "count", len(demand.pod_dimensions), "Dimensions of a pod.")
    if pod and nodes.value > pod.value:
        nodes = pod
    cubic = applied(most_cubic, named("nodes", nodes), number)
    return [
        step(axis, "nodes", cubic[index], "Nodes along a dimension of the most cubic torus.", MOST_CUBIC)
        for index, axis in enumerate(DIMENSIONS[: number.value])
    ]


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
