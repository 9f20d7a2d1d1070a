"""What the search for the smallest folded Clos did not take: other numbers of tiers, other divisions of leaf ports."""

from __future__ import annotations

from typing import NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.reach import reach
from bomgen.fabric.clos.search import MAX_TIERS, find_smallest, find_smallest_by_division
from bomgen.fabric.clos.shape import ClosShape
from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.fabric.ports import radix
from bomgen.fabric.requirements import all_endpoints, search_figures, search_numbers
from bomgen.fabric.types import Demand


class Tried(NamedTuple):
    """A number of tiers: the smallest fabric of so many, or how far they reach."""

    tiers: int
    shape: ClosShape | None
    """None: a single switch, or nothing carries the demand."""
    reach: int
    """Endpoints at most; 0: nothing limits them, or no fabric at all keeps what the plan fixes."""
    lacks: str = ""
    """What its switches lack, which no other shape of so many tiers fixes."""


def runners_up_by_tiers(demand: Demand, rails: Figure | None = None) -> list[Tried]:
    """What one, two and three tiers make of a demand; rails have leaves of their own, so that one switch is none."""
    found = []
    if rails is None or rails.value == 1:
        found.append(Tried(1, None, int(radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value)))
    for tiers in range(2, MAX_TIERS + 1):
        try:
            numbers = search_numbers(search_figures(demand._replace(tiers=None), tiers, rails))
        except Infeasible as error:
            found.append(Tried(tiers, None, 0, error.message))
            continue
        shape = find_smallest(numbers)
        found.append(Tried(tiers, shape, 0 if shape else reach(numbers)))
    return found


def runners_up_by_division(demand: Demand, tiers: int, rails: Figure | None = None) -> list[ClosShape]:
    """The smallest fabric for each division of a leaf's ports that keeps the ratio, the smallest first."""
    return find_smallest_by_division(search_numbers(search_figures(demand, tiers, rails)))


def count_endpoints(demand: Demand) -> int:
    """Endpoints of the demand."""
    return int(all_endpoints(demand).value)
