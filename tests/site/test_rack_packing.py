"""Machines in racks: none is cut, none stands above a rack's height, and the figure says what the packing says."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from bomgen.core.provenance import Figure, Given, Mark
from bomgen.results.explain import Explanation, Trees, text
from bomgen.site.racks import RackCapacity, RackItem, RackRun, count_racks, pack_racks

WHERE = Given(Mark("plan.yaml", 1, 1))


def figure(value: int | Fraction, unit: str) -> Figure:
    """A figure of a plan."""
    return Figure(value, unit, WHERE)


def racks(items: list[tuple[int, int, int]], units: int, power: int) -> Figure | None:
    """The racks of machines as a figure."""
    kinds = [
        RackItem(figure(height, "U"), figure(watts, "W"), figure(count, "boxes")) for height, watts, count in items
    ]
    return count_racks(kinds, RackCapacity(figure(units, "U"), figure(power, "W")))


def contents(items: list[tuple[int, int, int]], units: int, power: int) -> dict[int, list[int]]:
    """The kinds of the machines in each rack, one entry a machine."""
    found: dict[int, list[int]] = {}
    for kind, runs in enumerate(pack_racks(items, units, power)):
        for run in runs:
            for rack in range(run.first, run.first + run.racks):
                found.setdefault(rack, []).extend([kind] * run.machines)
    return found


def by_one(items: list[tuple[int, int, int]], units: int, power: int) -> int:
    """Next-fit as Johnson 1973 (Near-optimal bin packing algorithms) defines it, one machine at a time."""
    number, free_units, free_power = 0, 0, 0
    for height, watts, count in items:
        for _ in range(count):
            if number == 0 or height > free_units or watts > free_power:
                number, free_units, free_power = number + 1, units, power
            free_units, free_power = free_units - height, free_power - watts
    return number


def test_three_tall_chassis_take_three_racks() -> None:
    """Three boxes of 29 U are 87 U, less than two racks of 48 U, but no rack holds two of them."""
    assert ((RackRun(0, 3, 1),),) == pack_racks([(29, 0, 3)], 48, 40_000)
    found = racks([(29, 0, 3)], 48, 40_000)
    assert found is not None
    assert found.value == 3


def test_a_kind_goes_on_in_the_rack_begun_before_it() -> None:
    """What is left of the last rack is filled first, then full racks, then the rest."""
    assert ((RackRun(0, 1, 10),), (RackRun(0, 1, 19), RackRun(1, 2, 24), RackRun(3, 1, 3))) == pack_racks(
        [(1, 100, 10), (2, 100, 70)], 48, 40_000
    )


def test_power_bounds_a_rack_as_height_does() -> None:
    """Ten boxes of 1 U and 15 kW: two a rack of 40 kW."""
    assert ((RackRun(0, 5, 2),),) == pack_racks([(1, 15_000, 10)], 48, 40_000)


def test_what_is_too_much_for_a_rack_gets_one_of_its_own() -> None:
    """A box of 60 U or 60 kW still stands somewhere."""
    assert ((RackRun(0, 2, 1),), (RackRun(2, 2, 1),)) == pack_racks([(60, 0, 2), (1, 60_000, 2)], 48, 40_000)


@pytest.mark.parametrize("seed", range(40))
def test_packing_keeps_to_the_laws(seed: int) -> None:
    """No rack above its height or power, each machine once, as many racks as one by one, no fewer than sums ask."""
    draw = Random(seed)  # noqa: S311
    units, power = draw.choice([24, 42, 48]), draw.choice([8_000, 17_000, 40_000])
    items = [
        (draw.randint(1, units), draw.choice([0, draw.randint(1, power)]), draw.randint(0, 30))
        for _ in range(draw.randint(1, 6))
    ]
    found = contents(items, units, power)
    for held in found.values():
        assert sum(items[kind][0] for kind in held) <= units
        assert sum(items[kind][1] for kind in held) <= power
    for kind, (_, _, count) in enumerate(items):
        assert sum(held.count(kind) for held in found.values()) == count
    assert sorted(found) == list(range(len(found)))
    assert len(found) == by_one(items, units, power)
    for at in (0, 1):
        assert len(found) * (units, power)[at] >= sum(item[at] * item[2] for item in items)
    explained = racks(items, units, power)
    assert len(found) == (explained.value if explained else 0)


def test_many_machines_take_no_longer() -> None:
    """200 000 machines are as few runs as two hundred."""
    runs = pack_racks([(8, 10_200, 200_000), (1, 1_610, 20_001)], 48, 41_000)
    assert [len(each) for each in runs] == [1, 2]
    assert runs[0][0] == RackRun(0, 50_000, 4)


def test_the_count_of_racks_explains_itself() -> None:
    """Every step down to the plan has a formula."""
    found = racks([(29, 0, 3), (1, 500, 90)], 48, 40_000)
    assert found is not None
    node = Trees(lambda each: f"{each.value} {each.unit}").tree("racks", found)
    for word in ("fit(", "ceil(", "plan.yaml:1:1"):
        assert word in text(Explanation({"racks": node}, ()))


def test_half_units_are_exact() -> None:
    """Heights may be fractions of a unit."""
    for height, units in product((Fraction(1, 2), Fraction(3, 2)), (42, 48)):
        ((run,),) = pack_racks([(height, 0, int(units / height))], units, 1000)
        assert run == RackRun(0, 1, int(units / height))
