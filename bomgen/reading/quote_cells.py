"""The cells of a quote's workbook whose edits go back into the plan, and the key that each of them changes.

The writer notes where it puts them, and `bomgen apply` looks there instead of at labels and sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from bomgen.core.yaml_source import Path

# bill ---------------------------------------------------------------------------------------------------------------
# The columns of the bill, by the keys that the document, the workbook and the lines read from it share.

ID = "id"
"""The column of ids, which is out of sight; its title is the same."""
QUANTITY, SPARE, PRICE, DISCOUNT, AMOUNT = "quantity", "spare", "unit_price", "discount", "amount"
INCLUSIVE = INCLUSIVE_PRICE, INCLUSIVE_AMOUNT = "inclusive_price", "inclusive_amount"
"""The columns with tax, which take the place of price and amount on a page; a workbook adds tax below the lines."""
NUMBERS = (QUANTITY, SPARE, PRICE, DISCOUNT)
"""The columns whose numbers the reader may change."""
NUMBER, PIECE = "number", "piece"
"""The columns of line numbers, and of what a piece is called."""
SHOWN_ONLY = (NUMBER, "vendor", "details", PIECE)
"""Columns that only inform the reader: older workbooks lack them."""
NAME_PREFIX = "bom_"
"""What the defined names of columns and totals begin with."""

# cells --------------------------------------------------------------------------------------------------------------

CellKind = Literal["text", "date", "validity", "party", "term", "share", "shown", "difference"]
CHARGES: Path = ("quote", "charges")
TERMS: Path = ("quote", "terms")
TAX: Path = ("quote", "tax")


class QuoteCell(NamedTuple):
    """A cell outside the lines of the bill: how its content is read, and the key of the plan that it changes."""

    kind: CellKind
    path: Path = ()
    """Empty for a formula of which only the kind is of interest."""

    @property
    def key(self) -> str:
        """The path as messages write it."""
        return ".".join(map(str, self.path))


CELLS: Mapping[str, QuoteCell] = {
    "title": QuoteCell("text", ("title",)),
    "party-vendor": QuoteCell("party", ("quote", "vendor")),
    "fact-customer": QuoteCell("party", ("quote", "customer")),
    "fact-number": QuoteCell("text", ("quote", "number")),
    "fact-revision": QuoteCell("text", ("quote", "revision")),
    "fact-payment": QuoteCell("text", ("quote", "payment")),
    "fact-date": QuoteCell("date", ("quote", "date")),
    "fact-valid-until": QuoteCell("validity", ("quote", "valid_days")),
    "fact-valid": QuoteCell("validity", ("quote", "valid_days")),
    "xlsx-rate": QuoteCell("share", TAX),
    "xlsx-share-of-hardware": QuoteCell("share", CHARGES),
    "xlsx-shown": QuoteCell("shown"),
    "xlsx-difference": QuoteCell("difference"),
    "term": QuoteCell("term", TERMS),
}
"""By the keys of the words that label them. A charge follows its path by its id, a term by its position."""

CellPlace = tuple[str, int, int]
"""The title of a sheet, and the line and column of a cell, both from 1."""
QuoteCells = Mapping[CellPlace, QuoteCell]
