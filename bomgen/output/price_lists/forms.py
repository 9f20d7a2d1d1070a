"""Price books out: the prices of a book, or the parts of a bill that have none, in the forms that are read.

What is read back from any form is what was written, save the name of a book, which tables have no place for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bomgen.core.yaml_source import SUFFIXES
from bomgen.pricing.books.table import DESCRIPTION, columns
from bomgen.pricing.quote import QuoteLine

FORMS: Mapping[str, tuple[str, ...]] = {"csv": (".csv",), "yaml": SUFFIXES, "xlsx": (".xlsx",)}
"""The forms and the suffixes of their files."""
BINARY = ("xlsx",)

Entry = Mapping[str, Any]


def form_of(name: str) -> str | None:
    """The form that the suffix of a file's name asks for; None: none that is written."""
    return next((form for form, suffixes in FORMS.items() if name.lower().endswith(suffixes)), None)


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Prices as the file of a form, equal bytes for equal prices; `name` is that of the book."""
    if form == "yaml":
        from bomgen.output.price_lists.yaml import text

        return text(entries, name).encode()
    if form == "csv":
        from bomgen.output.price_lists.csv import table

        return table(entries).encode()
    from bomgen.output.price_lists.xlsx import workbook

    return workbook(entries)


def named(entries: Sequence[Entry]) -> list[str]:
    """The columns of a table of prices: all that a price may say, and a description where one is given."""
    part, *others = columns()
    described = [DESCRIPTION] if any(DESCRIPTION in entry for entry in entries) else []
    return [part, *described, *others]


def to_fill_in(lines: Sequence[QuoteLine], currency: str) -> Iterator[Entry]:
    """The parts of a bill that have no price yet, each once with the pieces of all its lines, to be priced."""
    found: dict[str, tuple[str, int]] = {}
    for line in lines:
        charge = line.line.charge
        part = charge.part if charge else line.line.part
        if part is None or line.amount is not None:
            continue
        description, pieces = found.get(part, (line.line.description, 0))
        found[part] = description, pieces + line.line.pieces
    for part, (description, pieces) in found.items():
        count = f"{pieces} piece{'s' if pieces > 1 else ''}"
        yield {"part": part, DESCRIPTION: f"{description}: {count}", "price": None, "currency": currency}
