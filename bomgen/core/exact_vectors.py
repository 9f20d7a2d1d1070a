"""Exact vectors: one quantity of many designs at once, which formulas take in place of a number.

A formula is a plain function of plain numbers, so it calculates a vector as it calculates a number: the same sums,
products, divisions and roundings, once for all rows. Where a program branches on a vector, the answer has to be the
same for all rows; otherwise `RowsDiffer` carries the rows for which it is true, and the caller splits the rows. A
comparison gives a vector of 1 where it is true and 0 elsewhere.

Rows are integers over one common denominator: 64-bit integers while nothing can overflow, otherwise Python's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

Exact = int | Fraction
LARGEST = 2**62
"""Exclusive bound of the 64-bit numbers of a vector."""


class RowsDiffer(Exception):
    """A comparison of a vector that differs between rows; `rows` are those where it is true."""

    def __init__(self, rows: NDArray[np.bool_]) -> None:
        super().__init__("the rows of a vector differ")
        self.rows = rows

    def divide(self, rows: Collection[int]) -> tuple[list[int], list[int]]:
        """Return which of the rows, by their names, the comparison is true for, and the others."""
        answers = [*zip(rows, self.rows.tolist(), strict=True)]
        return [row for row, true in answers if true], [row for row, true in answers if not true]


class ExactVector:
    """Exact numbers, one per row: `numerators` over `denominator`."""

    __slots__ = ("denominator", "numerators")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, numerators: NDArray[Any], denominator: int = 1) -> None:
        self.numerators, self.denominator = numerators, denominator

    def __len__(self) -> int:
        return len(self.numerators)

    def exact(self, row: int) -> Exact:
        """Return the number in a row."""
        fraction = Fraction(int(self.numerators[row]), self.denominator)
        return fraction.numerator if fraction.denominator == 1 else fraction

    def integers(self) -> NDArray[Any]:
        """Return the rows as an array of integers. Raises ValueError where a row is not an integer."""
        if self.denominator != 1 and (self.numerators % self.denominator).any():
            raise ValueError("a vector of fractions")
        return self.numerators // self.denominator

    def __add__(self, other: Any) -> ExactVector:
        return self._joined(other, operator.add)

    def __radd__(self, other: Any) -> ExactVector:
        return self.__add__(other)

    def __sub__(self, other: Any) -> ExactVector:
        return self._joined(other, operator.sub)

    def __rsub__(self, other: Any) -> ExactVector:
        return (-self).__add__(other)

    def __neg__(self) -> ExactVector:
        return ExactVector(-self.numerators, self.denominator)

    def __mul__(self, other: Any) -> ExactVector:
        numerators, denominator = _parts(other)
        mine, theirs = _wide_enough(self.numerators, numerators)
        return ExactVector(mine * theirs, self.denominator * denominator)

    def __rmul__(self, other: Any) -> ExactVector:
        return self.__mul__(other)

    def __truediv__(self, other: Exact) -> ExactVector:
        return self * (1 / Fraction(other))

    def __floordiv__(self, other: Exact) -> ExactVector:
        return (self / other).__floor__()

    def __mod__(self, other: Exact) -> ExactVector:
        return self - self // other * other

    def __floor__(self) -> ExactVector:
        return ExactVector(self.numerators // self.denominator)

    def __ceil__(self) -> ExactVector:
        return ExactVector(-(-self.numerators // self.denominator))

    def __int__(self) -> int:
        """Return the number common to all rows. Raises RowsDiffer where they differ."""
        bool(self == self.exact(0))
        return int(self.exact(0))

    def __index__(self) -> int:
        return self.__int__()

    def __bool__(self) -> bool:
        rows = self.numerators != 0
        if (rows != rows[0]).any():
            raise RowsDiffer(rows)
        return bool(rows[0])

    def __eq__(self, other: object) -> ExactVector:  # type: ignore[override]
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> ExactVector:  # type: ignore[override]
        return self._compared(other, operator.ne)

    def __lt__(self, other: Any) -> ExactVector:
        return self._compared(other, operator.lt)

    def __le__(self, other: Any) -> ExactVector:
        return self._compared(other, operator.le)

    def __gt__(self, other: Any) -> ExactVector:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Any) -> ExactVector:
        return self._compared(other, operator.ge)

    def _compared(self, other: Any, compare: Callable[[Any, Any], Any]) -> ExactVector:
        return integer_vector(compare((self - other).numerators, 0))

    def _joined(self, other: Any, join: Callable[[Any, Any], Any]) -> ExactVector:
        numerators, denominator = _parts(other)
        common = lcm(self.denominator, denominator)
        mine, theirs = _times(self.numerators, common // self.denominator), _times(numerators, common // denominator)
        if _largest(mine) + _largest(theirs) >= LARGEST:
            mine, theirs = _unbounded(mine), _unbounded(theirs)
        return ExactVector(join(mine, theirs), common)


def integer_vector(values: Sequence[int] | NDArray[Any]) -> ExactVector:
    """Return a vector of whole numbers."""
    return ExactVector(np.asarray(values, np.int64))


def _parts(value: Any) -> tuple[Any, int]:
    if isinstance(value, ExactVector):
        return value.numerators, value.denominator
    exact = Fraction(value)
    return exact.numerator, exact.denominator


def _times(numerators: Any, factor: int) -> Any:
    if factor == 1:
        return numerators
    mine, theirs = _wide_enough(numerators, factor)
    return mine * theirs


def _wide_enough(one: Any, another: Any) -> tuple[Any, Any]:
    """Return two factors in an integer type that their product fits."""
    if _largest(one) * _largest(another) < LARGEST:
        return one, another
    return _unbounded(one), _unbounded(another)


def _largest(numbers: Any) -> int:
    if isinstance(numbers, np.ndarray):
        return max(abs(int(numbers.max())), abs(int(numbers.min()))) if len(numbers) else 0
    return abs(int(numbers))


def _unbounded(numbers: Any) -> Any:
    return numbers.astype(object) if isinstance(numbers, np.ndarray) else numbers
