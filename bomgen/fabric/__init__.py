"""Fabrics: one module per topology, all giving the same kind of result.

A topology is a module of this folder with `NAME`, `LIMITS` (one sentence) and `build(demand)`. The folder is the
registry: a module added here is a topology that plans can name.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from bomgen.fabric.model import Demand, Fabric


def build(topology: str, demand: Demand) -> Fabric:
    """The smallest fabric of a topology that meets a demand.

    Raises Infeasible when there is none, and KeyError for a topology that is not built.
    """
    modules = dict(topologies())
    fabric: Fabric = import_module(modules[topology]).build(demand)
    return fabric


def topologies() -> Iterator[tuple[str, str]]:
    """The names of the topologies, each with the name of its module."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if "\nNAME = " in path.read_text(encoding="utf-8"):
            yield path.stem.replace("_", "-"), f"{__name__}.{path.stem}"
