"""Fabrics: one module per topology, all giving the same kind of result.

A topology is a module of this folder with `NAME`, `LIMITS` (one sentence), `DRAWING` (a few lines of characters) and
`build(demand)`; where a plan may say more of it, `OPTIONS`: the JSON Schema of what stands under its name in a fabric.
`SWITCHLESS = True` says that it joins nodes directly: it is asked with a `DirectDemand`. The folder is the registry: a
module added here is a topology that plans can name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from bomgen.fabric.types import Demand, DirectDemand, Fabric


class Topology(NamedTuple):
    """What a topology says of itself."""

    name: str
    limits: str
    drawing: str
    options: dict[str, Any] | None
    """The JSON Schema of what a plan may say of it; None: nothing."""
    switchless: bool


@cache
def topologies() -> dict[str, str]:
    """The module of each topology, by the name that plans give it."""
    return {
        path.stem.replace("_", "-"): f"bomgen.fabric.topologies.{path.stem}"
        for path in sorted((Path(__file__).parent / "topologies").glob("*.py"))
        if "\nNAME = " in path.read_text(encoding="utf-8")
    }


def topology(name: str) -> Topology:
    """What the topology of a name says of itself. Raises KeyError when there is none."""
    module = import_module(topologies()[name])
    return Topology(
        name=module.NAME,
        limits=module.LIMITS,
        drawing=module.DRAWING,
        options=getattr(module, "OPTIONS", None),
        switchless=getattr(module, "SWITCHLESS", False),
    )


def described() -> Iterator[Topology]:
    """What every topology says of itself, by name."""
    return (topology(name) for name in topologies())


def build(name: str, demand: Demand | DirectDemand) -> Fabric:
    """The smallest fabric of a topology that meets a demand.

    Raises Infeasible when there is none, and KeyError for a topology that is not built.
    """
    fabric: Fabric = import_module(topologies()[name]).build(demand)
    return fabric
