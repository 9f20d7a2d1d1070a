"""What the search is asked and what it found, as figures: for what no single rule gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bomgen.core.provenance import Derived, Figure, formula
from bomgen.fabric.clos.leaf_divisions import most_down, room_for_reserved
from bomgen.fabric.clos.reach import largest_endpoints
from bomgen.fabric.clos.search import require_smallest
from bomgen.fabric.clos.shape import ClosShape, Numbers
from bomgen.fabric.ports import SharedCages, ports_left_down


@formula("demand")
def in_numbers(**figures: Any) -> Numbers:
    """A demand in plain numbers, as the search takes it."""
    return demand_numbers(**figures)


def demand_numbers(**figures: Any) -> Numbers:
    """The record of these numbers."""
    return Numbers(**figures)


def numbers_figure(figures: Mapping[str, Figure]) -> Figure:
    """`Numbers` as a figure that rests on the figure of each of its fields."""
    values = {name: figure.value for name, figure in figures.items()}
    return Figure(in_numbers.function(**values), in_numbers.unit, Derived(in_numbers, tuple(figures.items())))


@formula("shape", source="every division of a leaf's ports, and every number of pods, tried for the fewest switches")
def smallest_fabric(demand: Numbers) -> ClosShape:
    """Ports down and up of a leaf, leaves, pods, spines of a pod, their up-links, and cores of the smallest fabric."""
    return require_smallest(demand)


@formula("endpoints", source="even spread with every up-link to a switch of its own")
def largest_fabric(demand: Numbers) -> int:
    """Endpoints of the largest fabric of as many tiers of the same switches, with what the plan fixes of them."""
    return largest_endpoints(demand)


@formula("ports")
def down_of(shape: ClosShape) -> int:
    """Ports down in use on the fullest leaf of the smallest fabric."""
    return shape.down


@formula("rails")
def rails_of_leaf(shape: ClosShape) -> int:
    """Rails that a leaf of the smallest fabric serves."""
    return shape.rails_per_leaf


@formula("ports")
def most_ports_down(demand: Numbers, up: int) -> int:
    """Ports down of a leaf that its links up carry at the ratio asked."""
    return room_for_reserved(demand, up)


@formula("ports")
def most_ports_of_leaf(demand: Numbers) -> int:
    """Ports down of a leaf, as given or the most for which there are links up that keep the ratio."""
    return demand.leaf_down or most_down(demand)


@formula("ports")
def up_of(shape: ClosShape) -> int:
    """Up-links of a leaf in the smallest fabric: more than the ratio needs, where they spread more evenly."""
    return shape.up


@formula("switches")
def leaves_of(shape: ClosShape) -> int:
    """Leaves of the smallest fabric: with as many reserved ports on them as saves switches."""
    return shape.leaves


@formula("pods")
def pods_of(shape: ClosShape) -> int:
    """Pods of the smallest fabric: more than are needed, where that saves switches."""
    return shape.pods


@formula("switches")
def spines_of(shape: ClosShape) -> int:
    """Spines of a pod in the smallest fabric, with room for more leaves than there are."""
    return shape.spines


@formula("ports")
def spine_up_of(shape: ClosShape) -> int:
    """Up-links of a spine in the smallest fabric: more than the ratio needs, where they spread more evenly."""
    return shape.spine_up


@formula("ports")
def ports_left_in_cages(up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Links down that a switch has ports for beside its links up, which may have another rate."""
    return ports_left_down(up, radix, up_radix, cages)
