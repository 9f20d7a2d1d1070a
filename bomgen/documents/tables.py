"""Columns, sections and sums that several documents share, and the formulas by which a workbook works them out."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from bomgen.core.document import Cell, Column, ColumnKind, Document, Note, Row, Section, Sum, Table, group_by
from bomgen.core.language import Language
from bomgen.core.resources import folder, text
from bomgen.core.units import Tax, Totals, minor_unit
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.quote import MIN_PRICED, WITH_GPUS, Indications, PricedLine, is_total, unpriced_gpus


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

HARDWARE = "hardware"
"""The column of what each line adds to the hardware, where a charge is a share of that."""
COLUMN_NAMES = {
    "category": "bom_categories",
    "fabric": "bom_fabrics",
    "role": "bom_roles",
    "sku": "bom_part_numbers",
    "description": "bom_descriptions",
    "quantity": "bom_quantities",
    "spare": "bom_spares",
    "unit_price": "bom_prices",
    "discount": "bom_discounts",
    "amount": "bom_amounts",
    HARDWARE: "bom_hardware_amounts",
}
"""The defined names of columns of the bill."""
HARDWARE_NAME, SHARE_NAME = "bom_hardware", "bom_share_{}"
"""The defined names of what the hardware comes to, and of the numbered shares of it that are charged."""
TAX_NAME, RATE_NAME = "bom_tax", "bom_tax_rate"
"""The defined names of the tax and of its rate; several are numbered."""
UNPRICED, RATE = "unpriced", "rate"
"""Keys of sums that only a workbook has: the lines without a price, and a tax rate, which its reader may change."""


def reference(column: str, table: str = "") -> str:
    """Return a reference to the cell of a column in the row of the formula, or to all of its cells in a table.

    The workbook replaces it by the address.
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


def line_hardware(language: Language, in_stock: bool = False) -> str:
    """Return the formula of what a line adds to the hardware; nothing if it is in stock and nobody gave it a price."""
    amount, category = reference("amount"), reference("category")
    others = [f"EXACT({category},{literal(language.word(f'category-{charged}'))})" for charged in CHARGED]
    others += [f"{reference('unit_price')}=0"] if in_stock else []
    return f'IF(OR(NOT(ISNUMBER({amount})),{",".join(others)}),"",{amount})'


def share_price(number: int, currency: str) -> str:
    """Return the formula of the price of a charge that is a numbered share of the hardware."""
    share = SHARE_NAME.format(number)
    unknown = f'OR({share}="",COUNT({COLUMN_NAMES[HARDWARE]})=0)'
    return f'IF({unknown},"",ROUND({share}*{HARDWARE_NAME},{decimal_places(currency)}))'


def decimal_places(currency: str) -> int:
    """Return how many decimal places the amounts of a currency have."""
    return -int(minor_unit(currency).as_tuple().exponent)


def rate_names(totals: Totals) -> list[str]:
    """Return the defined names of the tax rates."""
    several = len(totals.taxes) > 1
    return [f"{RATE_NAME}_{number}" for number in range(1, len(totals.taxes) + 1)] if several else [RATE_NAME]


class LiveSum(NamedTuple):
    """A sum below the bill of a workbook."""

    key: str
    name: str
    """Its defined name."""
    label: Cell
    cell: Cell
    """Without a formula it is an input."""
    rate: int | None = None
    """The index of its tax rate, if there are several."""


def live_sums(document: Document, language: Language, listed: int) -> Iterator[LiveSum]:
    """Yield the sums below the bill of a workbook, also those that are 0; `listed` are the lines of the bill.

    Of several tax rates, each has its own input, net amount and tax; the first is that of all lines that no other has.
    """
    totals, word, currency = document.totals, language.word, document.totals.currency
    decimals, rates, several = decimal_places(currency), rate_names(totals), len(totals.taxes) > 1
    unpriced = 'SUMPRODUCT((bom_quantities<>"")*(bom_prices=""))'
    # A price may be an empty text, which no product can take: each line is looked at before it is multiplied.
    of_list = f"SUM(IF(ISNUMBER(bom_prices),ROUND((bom_quantities+bom_spares)*bom_prices,{decimals}),0))"
    discount, net = f"ROUND(bom_list-SUM(bom_amounts),{decimals})", f"ROUND(bom_list-bom_discount,{decimals})"
    amount = f"ROUND(bom_net+bom_tax,{decimals})"
    count = Cell(totals.lines - totals.priced_lines, formula=unpriced)
    yield LiveSum(UNPRICED, "bom_unpriced", Cell(word("xlsx-unpriced")), count)
    whole = _least_label(word("xlsx-list"), totals, language)
    yield LiveSum("list", "bom_list", whole, Cell(totals.list, currency, formula=f"{{{of_list}}}"))
    less = Cell(totals.discount, currency, formula=discount)
    yield LiveSum("discount", "bom_discount", Cell(word("xlsx-discount")), less)
    label = _least_label(word("xlsx-net"), totals, language)
    yield LiveSum(NET, "bom_net", label, Cell(totals.net, currency, formula=net))
    names = [
        word("list-comma").join(word(f"category-{category}") for category in part.categories)
        or word("xlsx-other-lines")
        for part in totals.taxes
    ]
    for index, name in enumerate(rates):
        rate = Cell(totals.taxes[index].share if totals.taxes else None, "share")
        label = Cell(word("xlsx-rate-of", names=names[index]) if several else word("xlsx-rate"))
        yield LiveSum(RATE, name, label, rate, index if several else None)
    label = _least_label(word("xlsx-tax"), totals, language)
    if several:
        taxes = [f"{TAX_NAME}_{number}" for number in range(1, len(rates) + 1)]
        for index, part in enumerate(totals.taxes):
            taxed = f"ROUND({rates[index]}*ROUND({_net_at(part, totals, language)},{decimals}),{decimals})"
            cell = Cell(part.tax, currency, formula=taxed)
            yield LiveSum(TAX, taxes[index], Cell(word("xlsx-tax-of", names=names[index])), cell, index)
        tax = "+".join(taxes)
    else:
        missing, tax = word("xlsx-no-tax"), f"ROUND(bom_tax_rate*bom_net,{decimals})"
        text = label.value if totals.taxes else missing
        label = Cell(text, formula=f'IF(bom_tax_rate="",{literal(missing)},{label.formula})')
    yield LiveSum(TAX, TAX_NAME, label, Cell(totals.tax, currency, formula=tax))
    label = _live_total_label(document, language, listed)
    yield LiveSum(TOTAL, "bom_amount", label, Cell(totals.amount, currency, formula=amount))


def _least_label(plain: str, totals: Totals, language: Language) -> Cell:
    """Return the label of a sum, which says that it is a lower bound while lines have no price."""
    least = language.word("xlsx-at-least", label=plain)
    formula = f'IF(AND(bom_unpriced>0,COUNTIF(bom_prices,">0")>0),{literal(least)},{literal(plain)})'
    return Cell(least if totals.lines > totals.priced_lines and totals.list else plain, formula=formula)


def _live_total_label(document: Document, language: Language, listed: int) -> Cell:
    """Return the label of the total: with or without tax, a lower bound, or so few lines that the sum is no total.

    `listed` are the lines of the bill: those from stock are not charged.
    """
    totals, word = document.totals, language.word
    label = _least_label(word("xlsx-amount"), totals, language)
    if document.cover:
        labels = [word("quote-total-with-tax"), word("ui-total")]
        limits = [word("xlsx-at-least", label=each) for each in labels]
        rate = "+".join(f"N({name})" for name in rate_names(totals))
        least, complete = (f"IF({rate}>0,{literal(taxed)},{literal(untaxed)})" for taxed, untaxed in (limits, labels))
        text = (limits if totals.lines > totals.priced_lines else labels)[not totals.taxed]
        label = Cell(text, formula=f"IF(bom_unpriced>0,{least},{complete})")
    lines = f'(SUMPRODUCT(--(bom_quantities<>""))-{listed - totals.lines})'
    said = splice(
        word("quote-priced-only", priced="{priced}", lines="{lines}"), priced=f"({lines}-bom_unpriced)", lines=lines
    )
    names = (literal(word(f"category-{category}")) for category in WITH_GPUS)
    gpus = "+".join(f"EXACT(bom_categories,{name})" for name in names)
    without = f'SUMPRODUCT(({gpus})*(bom_quantities<>"")*(bom_prices=""))'
    few = f"AND({lines}>bom_unpriced,OR(bom_unpriced>{lines}*{float(1 - MIN_PRICED)},{without}>0))"
    shown = document.sums[-1] if document.sums else None
    return Cell(shown.label if shown and not shown.final else label.value, formula=f"IF({few},{said},{label.formula})")


def _net_at(part: Tax, totals: Totals, language: Language) -> str:
    """Return the formula of what the lines at a tax rate come to."""

    def net_of(category: str) -> str:
        name = literal(language.word(f"category-{category}"))
        return f"SUMPRODUCT(--EXACT(bom_categories,{name}),bom_amounts)"

    if part.categories:
        return "+".join(map(net_of, part.categories))
    return "-".join(["bom_net", *(net_of(category) for each in totals.taxes for category in each.categories)])
