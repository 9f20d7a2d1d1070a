"""InfraGraph: the fat tree of its blueprint as a file, and what its graph of a file has.

Standard input: {"ports", "tiers", "nics", "file"} builds one and writes it; {"read"} reads a file and counts the
devices and the links between them. Prints JSON.
"""

import json
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

START = time.perf_counter()
from infragraph import Infrastructure  # noqa: E402 - the import is timed
from infragraph.blueprints.devices.generic.generic_switch import Switch  # noqa: E402
from infragraph.blueprints.devices.generic.server import Server  # noqa: E402
from infragraph.blueprints.fabrics.clos_fat_tree_fabric import ClosFatTreeFabric  # noqa: E402
from infragraph.infragraph_service import InfraGraphService  # noqa: E402

IMPORTED = time.perf_counter() - START
NICS_A_FACTOR = 2
"""NICs that the blueprint's server has for each of its factor."""


def built(ports: int, tiers: int, nics: int, file: str) -> dict:
    """Write a full fat tree, and say how many of each it has."""
    fabric = ClosFatTreeFabric(Switch(port_count=ports), Server(npu_factor=nics // NICS_A_FACTOR), tiers, [])
    Path(file).write_text(fabric.serialize(), encoding="utf-8")
    return {}


def counted(read: str) -> dict:
    """The devices of a file's graph, the links between devices, and how many of those join the same two at most."""
    service = InfraGraphService()
    service.set_graph(Infrastructure().deserialize(Path(read).read_text("utf-8")))
    graph = service.get_networkx_graph()
    ends = [(_device(a), _device(b)) for a, b in graph.edges()]
    between = Counter(tuple(sorted(pair)) for pair in ends if pair[0] != pair[1])
    degrees = Counter()
    for (one, other), number in between.items():
        degrees[one] += number
        degrees[other] += number
    devices = {_device(node) for node in graph.nodes()}
    return {
        "devices": len(devices),
        "links": sum(between.values()),
        "links of the same two at most": max(between.values()),
        "devices by links": ", ".join(
            f"{number} of {links}" for links, number in sorted(Counter(degrees.values()).items())
        ),
    }


def _device(node: str) -> str:
    """A node is DEVICE.NUMBER.COMPONENT.NUMBER."""
    return node.rsplit(".", 2)[0]


asked = json.load(sys.stdin)
result = counted(**asked) if "read" in asked else built(**asked)
print(json.dumps({"version": version("infragraph"), "import_seconds": IMPORTED, "result": result}))
