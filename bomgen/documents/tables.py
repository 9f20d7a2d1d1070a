"""Columns, sections and sums that several documents share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bomgen.core.document import Cell, Column, Note, Section, Sum, Table
from bomgen.core.language import Language
from bomgen.core.units import Totals
from bomgen.pricing.quote import Indications, PricedLine, is_total, unpriced_gpus


def part_columns(language: Language, amount: bool = False, vendor: bool = False) -> tuple[Column, ...]:
    """Return the columns of a list of parts: part number, description, pieces; if asked for, manufacturer, amount."""
    columns = (
        *((Column("vendor", language.word("quote-manufacturer"), "text", 16),) if vendor else ()),
        Column("part", language.word("column-sku"), "text", 36),
        Column("description", language.word("column-description"), "text", 50, main=True),
        Column("pieces", language.word("quote-pieces"), "number", 10, main=True),
    )
    if not amount:
        return columns
    return (*columns, Column("amount", language.word("column-net-amount"), "money", 20, main=True))


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
        return language.word("quote-priced"), _lines_priced(totals, lines, language)
    total = sums_of(totals, lines, indicative, language)[-1]
    return total.label, language.cell(total.cell)


def _lines_priced(totals: Totals, lines: Sequence[PricedLine], language: Language) -> str:
    """Return how many lines have a price, and whether those with the GPUs lack one."""
    text = language.word("quote-lines-priced", **_counts(totals, language))
    without = name_unpriced_gpus(lines, language)
    return language.word("quote-priced-without", lines=text, names=without) if without else text


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
