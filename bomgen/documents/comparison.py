"""Results side by side: the record of any comparison, the difference of two sides, and the best value of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from bomgen.core.document import MORE, NEITHER, Better, Cell, Value
from bomgen.core.language import Language
from bomgen.core.units import ANY_AMOUNT, minor_unit
from bomgen.pricing.bill_line import CATEGORIES

Side = TypeVar("Side")


class ComparedRow(NamedTuple):
    """A row of a comparison: a number, an amount or a text of each side."""

    key: str
    """Key of the row in JSON."""
    group: str
    label: str
    cells: tuple[Cell, ...]
    """The value of each side; None on a side that lacks it."""
    unit: str = ""
    better: Better = NEITHER
    rank: int | None = None
    """Importance to a reader, over all groups; 1 first, None last."""

    @property
    def equal(self) -> bool:
        """Return whether all sides have the same value."""
        return len({(cell.value, cell.unit, cell.least) for cell in self.cells}) == 1 < len(self.cells)

    @property
    def differences(self) -> tuple[int | Fraction | Decimal | None, ...]:
        """Return the increase from the first side to each other one; None for texts and unknown values."""
        return tuple(difference(self.cells[0].value, cell.value) for cell in self.cells[1:])


@dataclass(frozen=True)
class Comparison(Generic[Side]):
    """Results side by side. A side is a result with its name."""

    sides: tuple[Side, ...]
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...]
    """Messages about the limits of the comparison."""


def difference(old: Value, new: Value) -> int | Fraction | Decimal | None:
    """Return the increase between two values; None unless both are numbers, or both are amounts."""
    if isinstance(old, Decimal) and isinstance(new, Decimal):
        return ANY_AMOUNT.subtract(new, old)
    if not all(isinstance(value, int | float | Fraction) and not isinstance(value, bool) for value in (old, new)):
        return None
    increase = Fraction(new or 0) - Fraction(old or 0)
    return increase.numerator if increase.denominator == 1 else increase


def category_rows(
    sides: Sequence[Mapping[str, tuple[Decimal | None, bool]]], currency: str, language: Language
) -> Iterator[ComparedRow]:
    """Yield the amounts by category, in bill order, from those of each side and whether they are lower bounds."""
    for name in dict.fromkeys((*CATEGORIES, *chain.from_iterable(sides))):
        if any(name in side for side in sides):
            amounts = (side.get(name, (Decimal(0) * minor_unit(currency), False)) for side in sides)
            cells = tuple(Cell(amount, currency, least=least) for amount, least in amounts)
            yield ComparedRow(name, "", category_label(name, language), cells, currency)


def category_label(name: str, language: Language) -> str:
    """Return the name of a category for a reader; that of a bill may be unknown."""
    return language.word(f"category-{name}") if name in CATEGORIES else name


def best_of(cells: Sequence[Cell], better: Better) -> list[bool]:
    """Return for each cell whether it is the best; none is if all are equal, or fewer than two are known.

    A lower bound is never the best, and if its true value may be better than all others, no value is. No value is best
    either if the range of an estimate overlaps that of the best.
    """
    nothing = [False] * len(cells)
    sign = -1 if better == MORE else 1
    known = [
        (sign * Fraction(cell.value), cell)
        for cell in cells
        if cell.value is not None and not isinstance(cell.value, str)
    ]
    whole = [value for value, cell in known if not cell.least]
    if better == NEITHER or len(known) < 2 or not whole or len({value for value, _ in known}) == 1:
        return nothing
    target = min(whole)
    if any(cell.least and (better == MORE or value < target) for value, cell in known):
        return nothing
    best_ends, other_ends = [], []
    for value, cell in known:
        ends = sorted(sign * Fraction(end or 0) for end in cell.estimate) if cell.estimate else [value]
        if value == target and not cell.least:
            best_ends.append(ends[-1])
        else:
            other_ends.append(ends[0])
    if any(end < max(best_ends) for end in other_ends):
        return nothing
    return [
        not cell.least and not isinstance(cell.value, str | None) and sign * Fraction(cell.value) == target
        for cell in cells
    ]
