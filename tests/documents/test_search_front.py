"""The front of a search against its definition, and what is said of designs that are not on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from depth import few
from front_judge import judge_front
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.diagnostics import Problem
from bomgen.core.language import language
from bomgen.core.provenance import Mark
from bomgen.documents.search import search_document
from bomgen.plan.search_space import MEASURES, Axis, MeasureLimit, SearchSpace
from bomgen.results.designs import SearchedDesign, columns_of
from bomgen.results.front import (
    Front,
    NextBetter,
    PartialFront,
    describe_front,
    drop_beaten,
    empty_front,
    extend_front,
    look_for_better,
    merge_fronts,
    merge_next_better,
    no_next_better,
    recommend,
)

MARK = Mark("plan.yaml", 1, 1)
NAMES = ("cost", "days", "power")
CLOUDS = st.lists(st.tuples(*[st.integers(0, 6)] * len(NAMES)), max_size=40)


def space(size: int, *bounds: MeasureLimit, minimise: tuple[str, ...] = NAMES, chosen: bool = True) -> SearchSpace:
    """A space of one axis."""
    values = tuple(map(str, range(size)))
    return SearchSpace((Axis("cluster.servers", values, MARK),), minimise, bounds, chosen, "USD")


def design(place: int, cost: int | None = None, days: int | None = None, power: int | None = None) -> SearchedDesign:
    """A design that comes to something."""
    known = {"cost": None if cost is None else Decimal(cost), "days": days, "power": power}
    return SearchedDesign(
        place, dict.fromkeys(MEASURES) | known, "USD", unpriced=() if cost is not None else ("part-x",)
    )


def find_front(space: SearchSpace, designs: Sequence[SearchedDesign], random: Random | None = None) -> Front:
    """The front of designs as a search finds it, the space divided and the parts merged at random."""
    random = random or Random(0)  # noqa: S311
    fronts = [
        extend_front(space, empty_front(space), columns_of(part.start, designs[part.start : part.stop], "USD"))
        for part in divided(len(designs), random)
    ]
    front: PartialFront = merged_at_random(fronts, lambda one, other: merge_fronts(space, one, other), random)
    founds = [
        look_for_better(
            space, front, no_next_better(front), columns_of(part.start, designs[part.start : part.stop], "USD")
        )
        for part in divided(len(designs), random)
    ]
    better: NextBetter = merged_at_random(founds, merge_next_better, random)
    return describe_front(space, front, better, designs.__getitem__)


def divided(size: int, random: Random) -> list[range]:
    """A space in parts of any size, some of them empty."""
    cuts = sorted(random.randrange(size + 1) for _ in range(random.randrange(6)))
    return [range(start, stop) for start, stop in zip([0, *cuts], [*cuts, size], strict=True)]


def merged_at_random(found: list[Any], merge: Callable[[Any, Any], Any], random: Random) -> Any:
    """What was found in parts, merged in any order and any tree."""
    while len(found) > 1:
        random.shuffle(found)
        found.append(merge(found.pop(), found.pop()))
    return found[0]


def random_design(place: int, known: dict[str, float], width: int, random: Random) -> SearchedDesign:
    """A design with ties and with values that nobody knows; `known` is how often a measure is known."""
    if random.random() < 0.1:
        return SearchedDesign(place, {}, problem=Problem(MARK, "error", random.choice("abc"), "rule"))
    measures: dict[str, Any] = dict.fromkeys(MEASURES)
    for name, share in known.items():
        value = random.randrange(width)
        if random.random() < share:
            measures[name] = Decimal(value) / 4 if name == "cost" else Fraction(value, 3) if name == "days" else value
    unpriced = () if measures["cost"] is not None else (random.choice("xyz"),)
    return SearchedDesign(place, measures, "USD", unpriced=unpriced)


@pytest.mark.parametrize("seed", few(range(200), 4))
def test_the_front_is_that_of_its_definition(seed: int) -> None:
    """All that is said of random clouds, however the space is divided, with ties and values that nobody knows."""
    random = Random(seed)  # noqa: S311
    size, width = random.choice((0, 1, 5, 40, 300)), random.choice((3, 10, 100))
    minimise = tuple(random.sample(list(MEASURES), random.randrange(1, len(MEASURES) + 1)))
    bounds = [
        MeasureLimit(name, Fraction(random.randrange(width), random.choice((1, 3))))
        for name in random.sample(list(MEASURES), random.choice((0, 1, 2)))
    ]
    searched = space(max(size, 1), *bounds, minimise=minimise, chosen=random.random() < 0.5)
    known = {name: random.choice((1, 1, 1, 0.8, 0)) for name in MEASURES}
    designs = [random_design(place, known, width, random) for place in range(size)]
    wanted = judge_front(searched, designs)
    for _ in range(2):
        assert find_front(searched, designs, random) == wanted


@pytest.mark.parametrize("columns", range(1, 9))
def test_the_best_of_many_rows(columns: int) -> None:
    """Rows enough to be divided, against every pair of what the definition leaves of them."""
    random = np.random.default_rng(columns)
    keys = tuple(random.integers(0, (4, 40, 4000)[at % 3], 6000) for at in range(columns))
    best, places, counts = drop_beaten(keys, np.arange(6000), np.ones(6000, np.int64))
    rows = np.array(keys).T
    beaten = np.zeros(len(rows), bool)
    for row in rows:
        beaten |= (row <= rows).all(axis=1) & (row < rows).any(axis=1)
    assert {tuple(row) for row in rows[~beaten].tolist()} == set(
        zip(*(column.tolist() for column in best), strict=True)
    )
    assert sum(counts) == np.count_nonzero(~beaten)
    assert (rows[places] == np.array(best).T).all()


@given(CLOUDS)
def test_the_front_is_what_nothing_beats(cloud: list[tuple[int, ...]]) -> None:
    """By its definition, over all pairs: what no other tuple is at most as much as."""
    front = find_front(space(len(cloud)), [design(place, *each) for place, each in enumerate(cloud)])
    found = {tuple(row.candidate.measures[name] for name in NAMES) for row in front.rows}
    beaten = {
        one for one in cloud for other in cloud if other != one and all(a <= b for a, b in zip(other, one, strict=True))
    }
    assert set(cloud) - beaten == found


def test_equal_designs_stand_in_one_row() -> None:
    """The first stands for all."""
    [row] = find_front(space(3), [design(0, 5, 5, 5), design(1, 5, 5, 5), design(2, 6, 5, 5)]).rows
    assert (row.candidate.place, row.equals) == (0, 1)


def test_bounds_leave_designs_out_and_the_next_cheaper_one_is_named() -> None:
    """Between two designs of the front stands what would be cheaper and breaks a bound, the closest of several."""
    designs = [design(0, 3, 40, 1), design(1, 4, 31, 1), design(2, 5, 30, 1), design(3, 6, 33, 1), design(4, 7, 20, 1)]
    front = find_front(space(5, MeasureLimit("days", Fraction(30))), designs)
    assert [row.candidate.place for row in front.rows] == [2, 4]
    better = [row.next_better and (row.next_better[0].place, row.next_better[1][0].value) for row in front.rows]
    assert better == [(1, 31), (3, 33)]
    assert front.beyond == 3


def test_the_nearest_design_is_named_where_none_is_within_the_bounds() -> None:
    """The one whose largest excess is the smallest share of its bound: 40 of 30 days, not 12 of 10 and 90 of 30."""
    bounds = (MeasureLimit("cost", Fraction(10)), MeasureLimit("days", Fraction(30)))
    front = find_front(space(2, *bounds), [design(0, 12, 90, 1), design(1, 9, 40, 1)])
    assert not front.rows
    assert front.nearest is not None
    assert (front.nearest[0].place, [each.bound.measure for each in front.nearest[1]]) == (1, ["days"])


def test_a_design_without_a_cost_is_shown_beside_the_others() -> None:
    """If no priced one is as good in all else; it is counted, and the part named. Few designs are recommended."""
    designs = [design(0, None, 5, 5), design(1, 8, 9, 9), design(2, None, 9, 9)]
    front = find_front(space(3), designs)
    assert [row.candidate.place for row in front.rows] == [1, 0]
    assert recommend(front) == ((0, "cost"), (1, "days"))
    assert (front.unknown, front.unpriced) == ((("cost", 2),), (("part-x", 2),))
    assert [row.candidate.place for row in find_front(space(3, minimise=("days",)), designs).rows] == [0]


def test_three_designs_are_recommended_with_their_reasons() -> None:
    """The cheapest, the one that is closest to the best in all, and the best in another measure."""
    designs = [design(0, 1, 10, 10), design(1, 2, 2, 4), design(2, 10, 1, 10), design(3, 9, 9, 1)]
    front = find_front(space(4), designs)
    recommended = [(front.rows[at].candidate.place, reason) for at, reason in recommend(front)]
    assert recommended == [(0, "cost"), (1, "balance"), (2, "days")]
    assert recommend(find_front(space(1), [design(0, None, None, None)])) == ()


def test_what_no_design_knows_is_compared_only_where_it_is_asked_for() -> None:
    """By default designs without prices are compared by the rest."""
    designs = [design(0, None, 5, 5)]
    assert find_front(space(1, chosen=False), designs).minimised == ("days", "power")
    asked = find_front(space(1), designs)
    assert (asked.minimised, [row.candidate.place for row in asked.rows]) == (NAMES, [0])


def test_reasons_why_designs_cannot_be_built_are_counted() -> None:
    """The most frequent first."""
    refused = [SearchedDesign(at, {}, problem=Problem(MARK, "error", text, "rule")) for at, text in enumerate("aba")]
    assert find_front(space(3), refused).refused == (("a", 2), ("b", 1))


@pytest.mark.parametrize("designs", [[], [SearchedDesign(0, {}, problem=Problem(MARK, "error", "text", "rule"))]])
def test_a_search_that_found_nothing_says_so(designs: list[SearchedDesign]) -> None:
    """It was ended before the first design, or none can be built: there is nothing that could be compared."""
    [section] = search_document(find_front(space(1, chosen=False), designs), "plan", language("en")).sections
    assert section.text == (f"{len(designs)} of 1 designs were evaluated; none can be shown.",)
    assert not any("Not compared" in note.text for note in section.notes)
