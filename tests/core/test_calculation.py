"""Calculations: numbers, arrays and figures come to the same, and each step of figures says how."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pytest

from bomgen.core.provenance import Cited, Derived, Figure, applied, divided_up, greatest, least, step, trace, where


class Rack(NamedTuple):
    """A record of numbers."""

    servers: Any
    units: Any
    most: Any = 12


class Racks(NamedTuple):
    """The result of a calculation."""

    racks: Any
    room: Any
    odd: Any
    one: Any
    height: Any
    kept: Any
    fixed: Any = None


def figure(value: Any, *ends: Any) -> Figure:
    """A cited number, an estimate with ends."""
    return Figure(value, "count", Cited("drawn", (), "high"), ends or None)


def lowest(number: int, other: int) -> int:
    """A function that is more than arithmetic."""
    return number & -number | other


class Shape(NamedTuple):
    """What a search finds."""

    height: int


def search(units: int) -> Shape:
    """A search."""
    return Shape(40 + units)


def racks(r: Rack) -> Racks:
    """A calculation with everything."""
    share = step("share", "share", r.servers / r.most, "Of a full rack.", "a paper")
    return Racks(
        racks=step("racks", "racks", ceil(share * 2) + divided_up(r.servers, r.most)),
        room=step("room", "U", r.units * where(r.servers > r.most, greatest(r.most, 1), least(r.most, 9))),
        odd=step("odd", "count", applied(lowest, r.servers, 0) - step("base", "count", r.most) // 3 + -1),
        one=step("one", "count", 1),
        height=step("height", "U", applied(search, r.units).height),
        kept=r.servers,
    )


def formula(figure: Figure) -> Any:
    """The formula of a step."""
    assert isinstance(figure.origin, Derived)
    return figure.origin.formula


@pytest.mark.parametrize("servers", [4, 12, 25])
def test_figures_come_to_what_numbers_come_to(servers: int) -> None:
    """With the same operations; what is no number of the calculation is returned as it is."""
    given = figure(servers)
    plain, found = racks(Rack(servers, 2)), trace(racks, Rack(given, figure(2), figure(12)))
    assert plain == tuple(each and each.value for each in found)
    assert found.kept is given
    for number in found[:5]:
        assert formula(number).function(*[each.value for _, each in number.inputs]) == number.value


def test_each_step_says_how_it_is_calculated() -> None:
    """By the names of fields and steps; a field that is named again is the same figure."""
    most = figure(12)
    found = trace(racks, Rack(figure(25, 20, 30), figure(2), most))
    assert formula(found.racks).text == "ceil(share * 2) + ceil(servers / most)"
    assert formula(found.room).text == "units * (max(most, 1) if servers > most else min(most, 9))"
    assert formula(found.odd).text == "lowest(servers, 0) - base // 3 + -1"
    assert formula(found.height).text == "search(units).height"
    assert dict(found.odd.inputs)["base"] is most
    assert found.racks.estimate == (6, 8)
    share = dict(found.racks.inputs)["share"]
    assert share.estimate == (20 / 12, 30 / 12)
    assert formula(share).source == "a paper"


def test_arrays_come_to_what_numbers_come_to() -> None:
    """Element by element."""

    def held(a: Any, b: Any) -> Any:
        return step("held", "count", where(a > b, least(a, 7), 0) + greatest(a, b) + divided_up(a, b))

    numbers = [(1, 2), (3, 2), (9, 4)]
    assert [held(*each) for each in numbers] == list(held(*np.array(numbers).T))


def test_two_inputs_of_one_name_are_refused() -> None:
    """An expression could not tell them apart."""
    rack, other = Rack(figure(1), 2), Rack(figure(2), 2)
    with pytest.raises(TypeError, match="sum: two of servers have the same name"):
        trace(lambda a, b: Rack(step("sum", "count", a.servers + b.servers), 1), rack, other)
