"""Columns of exact numbers: what formulas make of them is what they make of each row."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.exact_vectors import ExactVector, RowsDiffer, integer_vector

ROWS = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6)
NUMBERS = st.one_of(st.integers(-(2**30), 2**30), st.fractions(max_denominator=1000))
FORMULAS: list[Callable[[Any, Any], Any]] = [
    lambda one, other: one + other,
    lambda one, other: other + one,
    lambda one, other: one - other,
    lambda one, other: other - one,
    lambda one, other: one * other,
    lambda one, other: -one * other * other * other,
    lambda one, other: ceil(one * other),
    lambda one, other: floor(one * other + Fraction(1, 2)),
    lambda one, other: one / other if other else one,
    lambda one, other: one // other if other else one,
    lambda one, other: one % other if other else one,
]


@given(rows=ROWS, other=NUMBERS, formula=st.sampled_from(FORMULAS))
def test_a_formula_of_a_column_is_that_of_each_row(
    rows: list[int], other: int | Fraction, formula: Callable[[Any, Any], Any]
) -> None:
    """However large the numbers grow."""
    found = formula(integer_vector(np.array(rows)), other)
    assert [found.exact(row) for row in range(len(rows))] == [formula(Fraction(row), Fraction(other)) for row in rows]


@given(rows=ROWS, others=ROWS)
def test_columns_are_added_and_multiplied_row_by_row(rows: list[int], others: list[int]) -> None:
    """Two columns of one length."""
    pairs = list(zip(rows, others, strict=False))
    one, other = (integer_vector(np.array(each)) for each in zip(*pairs, strict=True))
    assert [(one + other / 3).exact(row) for row in range(len(pairs))] == [a + Fraction(b, 3) for a, b in pairs]
    assert [(one * other * other).exact(row) for row in range(len(pairs))] == [a * b * b for a, b in pairs]
    assert (one - one * Fraction(1, 7) * 7).integers().tolist() == [0] * len(pairs)


def test_a_question_has_one_answer_or_diverges() -> None:
    """The rows where it is yes are told, so that they can be divided."""
    found = integer_vector(np.array([3, 5, 8]))
    assert found > 2
    assert found != 4
    assert found
    with pytest.raises(RowsDiffer) as caught:
        bool(found > 4)
    assert caught.value.rows.tolist() == [False, True, True]
    with pytest.raises(RowsDiffer):
        int(found)
    assert caught.value.divide([7, 8, 9]) == ([8, 9], [7])
    assert int(integer_vector([5, 5])) == 5
    assert (found != 3).integers().tolist() == [0, 1, 1]


def test_a_column_of_fractions_has_no_integers() -> None:
    """Nothing is rounded unasked."""
    with pytest.raises(ValueError, match="fractions"):
        ExactVector(np.array([1, 2]), 2).integers()
