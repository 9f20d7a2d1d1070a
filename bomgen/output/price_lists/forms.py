"""The forms of price books, and the entries that each of them writes.

What is read back from any form is what was written, save the name of a book, which tables have no place for. A form is
a module of this folder (output/registry.py) with `SUFFIXES`, those of its files; `BINARY`; and `write(entries, name)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bomgen.output.registry import PRICE_LISTS
from bomgen.reading.price_table import DESCRIPTION, columns

if TYPE_CHECKING:
    from bomgen.pricing.quote import QuoteLine

# entries ------------------------------------------------------------------------------------------------------------
# What stands in a price list: the entries, and the columns that a table of them has.

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


# forms --------------------------------------------------------------------------------------------------------------


def form_of(name: str) -> str | None:
    """The form that the suffix of a file's name asks for; None: none that is written."""
    return next(
        (form for form in PRICE_LISTS.names if name.lower().endswith(PRICE_LISTS.constant(form, "SUFFIXES"))), None
    )


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Prices as the file of a form, equal bytes for equal prices; `name` is that of the book."""
    content: bytes = PRICE_LISTS.module(form).write(entries, name)
    return content
