"""What stands in a price list: the entries, and the columns that a table of them has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bomgen.reading.price_table import DESCRIPTION, columns

if TYPE_CHECKING:
    from bomgen.pricing.quote import QuoteLine

Entry = Mapping[str, Any]
"""A price by the keys of price books."""


def column_names(entries: Sequence[Entry]) -> list[str]:
    """The columns of a table of prices: all that a price may say, and a description where one is given."""
    part, *others = columns()
    described = [DESCRIPTION] if any(DESCRIPTION in entry for entry in entries) else []
    return [part, *described, *others]


def unpriced_entries(lines: Sequence[QuoteLine], currency: str) -> Iterator[Entry]:
    """Return the parts of a bill that have no price yet, each length of a cable by itself, as prices to fill in.

    Each is named once, by its most exact name, with the pieces of all its lines.
    """
    found: dict[str, tuple[str, int]] = {}
    for line in lines:
        if not line.line.names or line.amount is not None:
            continue
        part = line.line.names[0]
        description, pieces = found.get(part, (line.line.description, 0))
        found[part] = description, pieces + line.line.pieces
    for part, (description, pieces) in found.items():
        count = f"{pieces} piece{'s' if pieces > 1 else ''}"
        yield {"part": part, DESCRIPTION: f"{description}: {count}", "price": None, "currency": currency}
