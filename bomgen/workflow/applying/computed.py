"""What the inputs of a workbook come to, by the rules of a quote: what its formulas show, if nobody changed them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.money import rounded
from bomgen.plan.commercial_terms import CHARGED
from bomgen.reading.cells import Value
from bomgen.reading.quote_workbook import ReturnedLine, ReturnedQuote
from bomgen.workflow.applying.proposal import DISCOUNT, PRICE, Base, number_in

ZERO = Decimal(0)
ORDER_LIST = "order-list"
"""The id of the section of the document that lists parts by number."""


class Computed(NamedTuple):
    """What the inputs of a workbook come to."""

    prices: Mapping[str, Decimal]
    """Of the charges that are a share of the hardware, by the ids of their lines."""
    totals: Mapping[str, Decimal]
    """List, discount, net, tax and amount."""
    subtotals: tuple[Decimal, ...]
    """What the lines of each category come to, and which share of the net amount that is."""
    listed: Decimal
    """What the rows of the bill come to whose parts are listed by number: added charges are in no such list."""


def compute_workbook(returned: ReturnedQuote, base: Base) -> Computed:
    """What the pieces, prices, discounts and rates of a workbook come to, added rows among them."""
    currency, quote = base.report.plan.quote.currency, base.report.plan.quote
    lines, charged = base.lines, {base.words.word(f"category-{category}") for category in CHARGED}
    rates = {name.value: Fraction(number_in(value) or ZERO) for name, value in returned.below}
    labels = base.share_labels
    shares = {
        charge.id: rates.get(labels[charge.id], Fraction(charge.share.value))
        for charge in quote.charges
        if charge.share is not None and charge.id in labels
    }
    amounts, hardware = list[tuple[ReturnedLine, Fraction, Fraction]](), list[Fraction]()
    for line in (*returned.lines, *returned.added):
        price, category = number_in(line.cells[PRICE]), line.cells["category"].value
        if line.id in shares or price is None:
            continue
        amounts.append((line, *amounts_of(line, price, currency)))
        in_stock = line.id in lines and lines[line.id].line.in_stock
        if category not in charged and not in_stock:
            hardware.append(amounts[-1][2])
    prices = {line: rounded(sum(hardware) * share, currency) for line, share in shares.items()} if hardware else {}
    amounts += [(line, *amounts_of(line, prices[line.id], currency)) for line in returned.lines if line.id in prices]
    listed = sum((before for _, before, _ in amounts), Fraction(0))
    net = sum((after for _, _, after in amounts), Fraction(0))
    rate = rates.get(base.words.word("xlsx-rate"), Fraction(quote.tax.value) if quote.tax else Fraction(0))
    tax = Fraction(rounded(net * rate, currency))
    totals = {"list": listed, "discount": listed - net, "net": net, "tax": tax, "amount": net + tax}
    by_category: dict[Value, Fraction] = {}
    for line, _, after in amounts:
        category = line.cells["category"].value
        by_category[category] = by_category.get(category, Fraction(0)) + after
    sums = [rounded(amount, currency) for amount in by_category.values()]
    sums += [each / rounded(net, currency) for each in sums if net]
    parts = _listed_parts(base)
    by_number = sum((after for line, _, after in amounts if _name_part(line) in parts), Fraction(0))
    rounded_totals = {key: rounded(value, currency) for key, value in totals.items()}
    return Computed(prices, rounded_totals, tuple(sums), rounded(by_number, currency))


def _listed_parts(base: Base) -> set[tuple[Value, Value]]:
    """Part numbers and descriptions of the list by number; that of a required part may be left out of the bill."""
    tables = (table for section in base.document.sections if section.id == ORDER_LIST for table in section.tables)
    named = {(str(row.cells[0].value or ""), str(row.cells[1].value)) for table in tables for row in table.rows}
    return {*named, *(("", description) for description in base.required)}


def _name_part(line: ReturnedLine) -> tuple[Value, Value]:
    return line.cells["sku"].value or "", line.cells["description"].value


def amounts_of(line: ReturnedLine, price: Decimal, currency: str) -> tuple[Fraction, Fraction]:
    """What a line comes to before and after its discount; wrong inputs, which are conflicts, come to nothing."""
    before = Fraction(sum(line.pieces)) * Fraction(price)
    after = before * (1 - Fraction(number_in(line.cells[DISCOUNT]) or ZERO))
    return Fraction(rounded(max(before, Fraction(0)), currency)), Fraction(rounded(max(after, Fraction(0)), currency))
