"""The forms of price books, and the entries that each of them writes.

Reading any form returns what was written, except the name of a book, which tables cannot store. A form is a module of
this folder (output/registry.py) with `SUFFIXES` of its files besides its name, `BINARY`, and `write(entries, name)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bomgen.output.registry import PRICE_LISTS
from bomgen.reading.price_table import DESCRIPTION, columns

if TYPE_CHECKING:
    from bomgen.pricing.quote import QuoteLine

# entries ------------------------------------------------------------------------------------------------------------
# The contents of a price list: the entries, and the columns of a table of them.

Entry = Mapping[str, Any]
"""A price with the keys of price books."""


def column_names(entries: Sequence[Entry]) -> list[str]:
    """Return the columns of a price table: all keys in use, and a description if one is given."""
    part, *others = columns()
    described = [DESCRIPTION] if any(DESCRIPTION in entry for entry in entries) else []
    return [part, *described, *others]


def unpriced_entries(lines: Sequence[QuoteLine], currency: str) -> Iterator[Entry]:
    """Yield the unpriced parts of a bill as prices to fill in, with each cable length as a separate part.

    Each appears once, under its most specific name, with the pieces of all its lines.
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


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Return prices as a file of a form, identical for equal prices; `name` is that of the book."""
    content: bytes = PRICE_LISTS.module(form).write(entries, name)
    return content
