"""Columns, sections and sums that several documents share, and the formulas by which a workbook works them out."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from bomgen.core.document import Cell, Column, ColumnKind, Note, Row, Section, Sum, Table, group_by
from bomgen.core.language import Language
from bomgen.core.resources import folder, text
from bomgen.core.units import Totals, minor_unit
from bomgen.pricing.quote import Indications, PricedLine, is_total, unpriced_gpus


@cache
def _declared() -> Mapping[str, Sequence[Mapping[str, str]]]:
    return group_by(csv.DictReader(text(folder("data") / "columns.csv").splitlines()), lambda row: row["table"])


def columns_of(kind: str, language: Language, without: Collection[str] = ()) -> tuple[Column, ...]:
    """Return the columns that `data/columns.csv` declares for a kind of table, titled in a language."""
    return tuple(
        Column(
            row["column"],
            language.word(row["title"]),
            cast(ColumnKind, row["kind"]),
            int(row["width"]),
            main="main" in row["shown"],
            code="code" in row["shown"],
        )
        for row in _declared()[kind]
        if row["column"] and row["column"] not in without
    )


def make_table(
    kind: str,
    language: Language,
    rows: Iterable[Row],
    caption: str | None = None,
    *,
    id: str = "",
    title: str | None = None,
    columns: Iterable[Column] | None = None,
    **options: Any,
) -> Table:
    """Return a table of a kind that `data/columns.csv` declares; its id is the kind, unless it has another one.

    `title` and `columns` take the place of those declared; `options` are fields of `Table`.
    """
    declared = next((row for row in _declared()[kind] if not row["column"]), {"title": "", "shown": ""})
    if title is None:
        title = language.word(declared["title"]) if declared["title"] else ""
    fields: dict[str, Any] = dict.fromkeys(declared["shown"].split(), True) | options
    held = columns_of(kind, language) if columns is None else tuple(columns)
    return Table(id or kind, title, held, tuple(rows), caption, **fields)


def section_of(table: Table, text: tuple[str, ...] = (), notes: tuple[Note, ...] = ()) -> Section:
    """Return the section of one table, with its id and title; without the table if it has no rows."""
    return Section(table.id, table.title, text, (table,) if table.rows else (), notes)


# sums ---------------------------------------------------------------------------------------------------------------
# The totals of a bill in words, the same in every document: the label of each sum, and whether it is a total.

NET, TAX, TOTAL = "net", "tax", "total"
"""Keys of sums; those of several tax rates are `tax`, `tax-1` and so on."""


def sums_of(
    totals: Totals, lines: Sequence[PricedLine], indicative: Indications | None, language: Language
) -> tuple[Sum, ...]:
    """Return the sums below a bill, the total last; nothing where no line has a price."""
    return tuple(_sums(totals, lines, indicative, language)) if totals.priced_lines else ()


def _sums(
    totals: Totals, lines: Sequence[PricedLine], indicative: Indications | None, language: Language
) -> Iterator[Sum]:
    word, currency = language.word, totals.currency
    if totals.discount:
        yield Sum("list", word("ui-list"), Cell(totals.list, currency))
        yield Sum("discount", word("xlsx-discount"), Cell(totals.discount, currency))
    if totals.discount or totals.taxed:
        yield Sum(NET, word("xlsx-net"), Cell(totals.net, currency))
    for at, part in enumerate(totals.taxes):
        label = f"{word('quote-tax')} {language.share(part.share)}"
        if len(totals.taxes) > 1:
            label = word("quote-tax-on", tax=label, net=language.money(part.net, currency))
        yield Sum(f"{TAX}-{at}" if at else TAX, label, Cell(part.tax, currency))
    final = is_total(totals, lines)
    label = word("quote-indicative-total") if indicative else total_label(totals, language)
    label = label if final else word("quote-priced-only", **_counts(totals, language))
    cell = Cell(totals.amount, currency, least=final and not totals.complete)
    if indicative:
        ends = language.rough_range(indicative.low, indicative.high, currency)
        cell = Cell(ends if totals.complete or not final else word("ui-at-least", amount=ends))
    yield Sum(TOTAL, label, cell, final)


def total_label(totals: Totals, language: Language) -> str:
    """Return the label of the total."""
    return language.word("quote-total-with-tax" if totals.taxed else "ui-total")


def headline_total(
    totals: Totals, lines: Sequence[PricedLine], indicative: Indications | None, language: Language
) -> tuple[str, str]:
    """Return label and amount of the total for a headline; the number of priced lines if the sum is not a total."""
    if not totals.priced_lines:
        return total_label(totals, language), language.word("quote-no-total")
    if not is_total(totals, lines):
        priced = language.word("quote-lines-priced", **_counts(totals, language))
        if without := name_unpriced_gpus(lines, language):
            priced = language.word("quote-priced-without", lines=priced, names=without)
        return language.word("quote-priced"), priced
    total = sums_of(totals, lines, indicative, language)[-1]
    return total.label, language.cell(total.cell)


def _counts(totals: Totals, language: Language) -> dict[str, str]:
    return {"priced": language.integer(totals.priced_lines), "lines": language.integer(totals.lines)}


def name_unpriced_gpus(lines: Sequence[PricedLine], language: Language) -> str:
    """Return which servers and cards with GPUs have no price, such as `the GPU servers`; empty if all have one."""
    word, named = language.word, []
    for category in unpriced_gpus(lines):
        partly = any(line.category == category and line.amount is not None for line in lines)
        name = word(f"quote-without-{category}")
        named.append(word("quote-some-of" if partly else "quote-all-of", name=name))
    return word("list-and").join(named)


# formulas -----------------------------------------------------------------------------------------------------------
# A formula follows what the reader of a workbook changes in the bill, by the defined names of its columns and sums. In
# braces it is worked out for each cell of an area.

RATE_NAME = "bom_tax_rate"
"""The defined name of the tax rate; several are numbered."""


HEADING = "^"
"""Before the column of a reference: to its heading."""


def reference(column: str, table: str = "") -> str:
    """Return a reference to the cell of a column in the row of the formula, or to all of its cells in a table.

    That of a sum below the bill is to its `label` or `amount`. The workbook replaces it by the address.
    """
    return f"\0{table}.{column}\0" if table else f"\0{column}\0"


def literal(text: str) -> str:
    """Return a text inside a formula."""
    return '"' + text.replace("\0", "").replace('"', '""') + '"'


def splice(text: str, **formulas: str) -> str:
    """Return the formula of a sentence with formulas in its `{holes}`."""
    pieces = enumerate(re.split("[{}]", text))
    return "&".join(formulas[piece] if index % 2 else literal(piece) for index, piece in pieces)


def amount_of(condition: str, language: Language) -> str:
    """Return the formula of what chosen lines of the bill come to; a word while none of them has a price."""
    without = literal(language.word("xlsx-no-price"))
    return f"IF(SUMPRODUCT({condition}*ISNUMBER(bom_amounts))=0,{without},SUMPRODUCT({condition},bom_amounts))"


def line_amount(currency: str, language: Language) -> str:
    """Return the formula of what a line of the bill comes to: nothing while it is empty, a word without a price."""
    price, quantity, without = reference("unit_price"), reference("quantity"), literal(language.word("xlsx-no-price"))
    pieces, share = f"({quantity}+{reference('spare')})", f"(1-{reference('discount')})"
    amount = f"ROUND({pieces}*{price}*{share},{decimal_places(currency)})"
    return f'IF({price}="",IF({quantity}="","",{without}),{amount})'


def decimal_places(currency: str) -> int:
    """Return how many decimal places the amounts of a currency have."""
    return -int(minor_unit(currency).as_tuple().exponent)


def rate_names(totals: Totals) -> list[str]:
    """Return the defined names of the tax rates."""
    several = len(totals.taxes) > 1
    return [f"{RATE_NAME}_{number}" for number in range(1, len(totals.taxes) + 1)] if several else [RATE_NAME]
