"""Spare pieces, and pieces that the customer has: what is bought on top of what is installed, and what is not.

What the customer has becomes a line of its own at a unit price of 0, so that the formula of an amount holds for every
line and the pieces of a part still add up to those installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

from bomgen.core.provenance import Figure, difference, formula, minimum, sum_of
from bomgen.pricing.bill_line import Line


@formula("pieces")
def share_of(quantity: int, share: Fraction) -> int:
    """Spare pieces: a share of all pieces of a part, rounded up."""
    return ceil(quantity * share)


sum_of_spares = sum_of("sum_of_spares", "pieces", "pieces", "more_pieces")
"""Spare pieces asked for in two places of the plan."""
sum_of_quantities = sum_of("sum_of_quantities", "pieces", "quantity", "more")
"""Pieces of one part over several lines."""
from_stock = minimum("from_stock", "pieces", "pieces", "stock")
"""Pieces that are taken from what the customer has."""
rest_of = difference("rest_of", "pieces", "pieces", "taken")
"""Pieces that are left when some are taken away."""


def add_spares(lines: Sequence[Line], spares: Mapping[str, Figure]) -> Iterator[Line]:
    """The lines with the spares of each part on the first line that it stands on."""
    totals: dict[tuple[str, str], Figure] = {}
    for line in lines:
        key = part_key(line)
        totals[key] = sum_of_quantities(totals[key], line.quantity) if key in totals else line.quantity
    given: set[tuple[str, str]] = set()
    for line in lines:
        wanted = spares.get(line.category)
        key = part_key(line)
        if wanted is None or key in given:
            yield line
            continue
        given.add(key)
        pieces = share_of(totals[key], wanted) if wanted.unit == "share" else wanted
        yield line._replace(spare=sum_of_spares(line.spare, pieces) if line.spare else pieces)


def part_key(line: Line) -> tuple[str, str]:
    """Return what is one part: of cables, one length of it, which the id of a generic one does not say."""
    return line.category, line.description if line.category == "cable" else line.part or line.description


def subtract_stock(lines: Sequence[Line], stock: Mapping[str, Figure]) -> Iterator[Line]:
    """The lines less what the customer has; that follows each of them as a line of its own.

    `stock` has pieces by the names of parts. Lines that come first are served first, installed pieces before spares.
    """
    left = dict(stock)
    for line in lines:
        bought, number = line, 0
        owned: list[Line] = []
        for name in line.names:
            if name not in left or not left[name].value or not bought.pieces:
                continue
            number += 1
            taken = from_stock(bought.quantity, left[name])
            left[name] = rest_of(left[name], taken)
            own = line._replace(id=f"{line.id}.stock" + (f".{number}" if number > 1 else ""), in_stock=True)
            own, bought = own._replace(quantity=taken, spare=None), _less(bought, taken)
            if bought.spare and left[name].value:
                spare = from_stock(bought.spare, left[name])
                left[name] = rest_of(left[name], spare)
                own, bought = own._replace(spare=spare), bought._replace(spare=rest_of(bought.spare, spare))
            owned.append(own)
        yield from (each for each in (bought, *owned) if each.pieces)


def _less(line: Line, taken: Figure) -> Line:
    return line._replace(quantity=rest_of(line.quantity, taken)) if taken.value else line
