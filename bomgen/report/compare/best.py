"""Which of several values is the best: only where a row has a better direction, and only where it is certain."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from bomgen.core.document import Value

Better = Literal["less", "more", ""]
"""Which direction is better; empty: neither."""
LESS: Better = "less"
MORE: Better = "more"
NEITHER: Better = ""


class Known(NamedTuple):
    """A value; None: nobody knows it. `least`: a lower bound, because something is left out."""

    value: int | float | Fraction | Decimal | None
    least: bool = False
    ends: tuple[Value, Value] | None = None
    """The least and the most that an estimate may be."""

    def end(self, better: Better) -> Fraction | None:
        """The better end of an estimate; the value of what is none, None where nobody knows it."""
        end = self.ends[better == MORE] if self.ends else self.value
        return None if end is None or isinstance(end, str) else Fraction(end)


def best_of(values: Sequence[Known], better: Better) -> list[bool]:
    """For each value whether it is the best; none is where all known ones are equal, or fewer than two are known.

    A lower bound is never the best, and where the value behind one may be better than all others, nothing is. Nor is
    anything where the range of an estimate reaches into that of the best.
    """
    nothing = [False] * len(values)
    known = [Fraction(each.value) for each in values if each.value is not None]
    whole = [Fraction(each.value) for each in values if each.value is not None and not each.least]
    bounds = [Fraction(each.value) for each in values if each.value is not None and each.least]
    if better == NEITHER or len(known) < 2 or not whole or len({*known}) == 1:
        return nothing
    target = min(whole) if better == LESS else max(whole)
    if any(bound < target for bound in bounds) or (bounds and better == MORE):
        return nothing
    best = [each.value is not None and not each.least and Fraction(each.value) == target for each in values]
    worse = LESS if better == MORE else MORE
    sign = 1 if better == LESS else -1
    ends = [(each.end(worse if is_best else better), is_best) for each, is_best in zip(values, best, strict=True)]
    known_ends = [(sign * end, is_best) for end, is_best in ends if end is not None]
    worst = max(end for end, is_best in known_ends if is_best)
    return nothing if any(end < worst for end, is_best in known_ends if not is_best) else best
