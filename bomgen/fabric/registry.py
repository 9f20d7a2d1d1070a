"""The topologies that there are: the folder `topologies/` is the registry.

Each module of that folder declares a `TOPOLOGY` that plans can name, without registration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from bomgen.core.provenance import Derived
from bomgen.fabric.declaration import LinkKind, Topology, mismatch
from bomgen.fabric.types import Demand, DirectDemand, Fabric


@cache
def topologies() -> dict[str, str]:
    """The module of each topology, by the name that plans give it."""
    return {
        path.stem.replace("_plus", "+").replace("_", "-"): f"bomgen.fabric.topologies.{path.stem}"
        for path in sorted((Path(__file__).parent / "topologies").glob("*.py"))
        if path.stem != "__init__"
    }


def topology(name: str) -> Topology:
    """What the topology of a name declares. Raises KeyError when there is none."""
    found: Topology = import_module(topologies()[name]).TOPOLOGY
    return found


def described() -> Iterator[Topology]:
    """What every topology declares, by name."""
    return (topology(name) for name in topologies())


def brings_its_own(fabric: Fabric) -> bool:
    """Whether the module of a fabric's topology connects its switches, or works out the bisection, by itself."""
    connect, bisection = topology(fabric.topology).connect, fabric.bisection_gbps.origin
    functions = (connect, *([bisection.formula] if isinstance(bisection, Derived) else ()))
    return any(each.__module__ in topologies().values() for each in functions)


@cache
def link_kinds() -> dict[str, LinkKind]:
    """Every kind of link between switches and to them, by name; those of most topologies first.

    Raises ValueError when two topologies declare a kind of one name differently.
    """
    found: dict[str, LinkKind] = {}
    topologies_of = Counter[str]()
    for each in described():
        for kind in () if each.switchless else each.link_kinds:
            if found.setdefault(kind.name, kind) != kind:
                raise ValueError(f"the topology {each.name} declares {kind.name} links unlike another one")
            topologies_of[kind.name] += 1
    return {name: found[name] for name, _ in topologies_of.most_common()}


def build(name: str, demand: Demand | DirectDemand) -> Fabric:
    """The smallest fabric of a topology that meets a demand.

    Raises Infeasible when there is none, KeyError for a topology that is not built, and ValueError when the fabric has
    a tier or a kind of link that the topology does not declare.
    """
    declared = topology(name)
    fabric = declared.build(demand)
    if undeclared := mismatch(declared, fabric):
        raise ValueError(undeclared)
    return fabric
