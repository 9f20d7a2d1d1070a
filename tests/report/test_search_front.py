"""The front of a search against its definition, and what is said of designs that are not on it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Mark
from bomgen.plan.search_space import MEASURES, Axis, Bound, SearchSpace
from bomgen.report.search.candidates import Candidate
from bomgen.report.search.front import find_front, pareto

MARK = Mark("plan.yaml", 1, 1)
NAMES = ("cost", "days", "power")
CLOUDS = st.lists(st.tuples(*[st.integers(0, 6)] * len(NAMES)), max_size=40)


def space(size: int, *bounds: Bound, minimise: tuple[str, ...] = NAMES, chosen: bool = True) -> SearchSpace:
    """A space of one axis."""
    values = tuple(map(str, range(size)))
    return SearchSpace((Axis("cluster.servers", values, MARK),), minimise, bounds, chosen)


def design(place: int, cost: int | None = None, days: int | None = None, power: int | None = None) -> Candidate:
    """A design that comes to something."""
    known = {"cost": None if cost is None else Decimal(cost), "days": days, "power": power}
    return Candidate(place, dict.fromkeys(MEASURES) | known, "USD", unpriced=() if cost is not None else ("part-x",))


@given(CLOUDS)
def test_the_front_is_what_nothing_beats(cloud: list[tuple[int, ...]]) -> None:
    """By its definition, over all pairs: what no other tuple is at most as much as."""
    found = {
        tuple(each.measures[name] for name in NAMES)
        for each in pareto([design(*each) for each in enumerated(cloud)], NAMES)
    }
    beaten = {
        one for one in cloud for other in cloud if other != one and all(a <= b for a, b in zip(other, one, strict=True))
    }
    assert set(cloud) - beaten == found


def enumerated(cloud: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Each tuple behind its place."""
    return [(place, *each) for place, each in enumerate(cloud)]


@given(CLOUDS)
def test_the_order_of_designs_changes_nothing(cloud: list[tuple[int, ...]]) -> None:
    """Processes hand designs back in any order."""
    designs = [design(*each) for each in enumerated(cloud)]
    assert find_front(space(len(cloud)), designs).rows == find_front(space(len(cloud)), designs[::-1]).rows


def test_equal_designs_stand_in_one_row() -> None:
    """The first stands for all."""
    [row] = find_front(space(3), [design(0, 5, 5, 5), design(1, 5, 5, 5), design(2, 6, 5, 5)]).rows
    assert (row.candidate.place, row.equals) == (0, 1)


def test_bounds_leave_designs_out_and_the_next_cheaper_one_is_named() -> None:
    """Between two designs of the front stands what would be cheaper and breaks a bound, the closest of several."""
    designs = [design(0, 3, 40, 1), design(1, 4, 31, 1), design(2, 5, 30, 1), design(3, 6, 33, 1), design(4, 7, 20, 1)]
    front = find_front(space(5, Bound("days", Fraction(30))), designs)
    assert [row.candidate.place for row in front.rows] == [2, 4]
    better = [row.next_better and (row.next_better[0].place, row.next_better[1][0].value) for row in front.rows]
    assert better == [(1, 31), (3, 33)]
    assert front.beyond == 3


def test_the_nearest_design_is_named_where_none_is_within_the_bounds() -> None:
    """The one whose largest excess is the smallest share of its bound: 40 of 30 days, not 12 of 10 and 90 of 30."""
    bounds = (Bound("cost", Fraction(10)), Bound("days", Fraction(30)))
    front = find_front(space(2, *bounds), [design(0, 12, 90, 1), design(1, 9, 40, 1)])
    assert not front.rows
    assert front.nearest is not None
    assert (front.nearest[0].place, [each.bound.measure for each in front.nearest[1]]) == (1, ["days"])


def test_a_design_without_a_cost_is_on_no_front_over_cost() -> None:
    """It is counted, and the part named; a front over the days has it."""
    designs = [design(0, None, 5, 5), design(1, 8, 9, 9)]
    front = find_front(space(2), designs)
    assert [row.candidate.place for row in front.rows] == [1]
    assert (front.unknown, front.unpriced) == ((("cost", 1),), (("part-x", 1),))
    assert [row.candidate.place for row in find_front(space(2, minimise=("days",)), designs).rows] == [0]


def test_what_no_design_knows_is_compared_only_where_it_is_asked_for() -> None:
    """By default designs without prices are compared by the rest."""
    designs = [design(0, None, 5, 5)]
    assert find_front(space(1, chosen=False), designs).minimised == ("days", "power")
    asked = find_front(space(1), designs)
    assert (asked.minimised, asked.rows) == (NAMES, ())


def test_reasons_why_designs_cannot_be_built_are_counted() -> None:
    """The most frequent first."""
    refused = [Candidate(at, {}, problem=Problem(MARK, "error", text, "rule")) for at, text in enumerate("aba")]
    assert find_front(space(3), refused).refused == (("a", 2), ("b", 1))
