"""Charts of money: what each category comes to, how far the total may be off, and the alternatives side by side."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.core.money import Totals
from bomgen.pricing.quote import Part, category_amounts, confidence
from bomgen.report.chapters.costs import costs_table
from bomgen.report.chapters.writer import Writer
from bomgen.report.charts.types import Bar, Bars, Chart


def categories(writer: Writer) -> Iterator[Chart]:
    """What each category of the bill costs; nothing where nothing has a price."""
    parts = category_amounts(writer.report.quote.lines)
    if parts:
        shape = Bars(tuple(describe_category(writer, part) for part in parts))
        data = costs_table(writer)
        yield Chart("costs", data.title, writer.word("drawing-costs-text"), shape, data)


def describe_category(writer: Writer, part: Part) -> Bar:
    """The bar of a category: its amount and its share; of one without a price nothing but its name."""
    name = writer.word(f"category-{part.category}")
    if part.amount is None:
        return Bar(name, writer.word("ui-no-price"))
    amount = _money(writer, part.amount, writer.report.quote.totals.currency, part.complete)
    return Bar(name, f"{amount} · {writer.language.rough_share(part.share)}", (part.share,))


def price_range(writer: Writer) -> Iterator[Chart]:
    """The total between its ends, and how much of the money before tax is doubtful."""
    word, totals = writer.word, writer.report.quote.totals
    bars, rows = [], []
    if totals.low is not None and totals.high is not None and totals.low != totals.high:
        ends = {
            "low": _money(writer, totals.low, totals.currency),
            "high": _money(writer, totals.high, totals.currency),
        }
        length = totals.high - totals.low
        mark = totals.amount if totals.low <= totals.amount <= totals.high else None
        bars.append(Bar(word("ui-total"), word("range-ends", **ends), (length,), totals.low, mark))
        rows += [("column-lowest", totals.low), ("ui-total", totals.amount), ("column-highest", totals.high)]
    if not bars:
        return
    found = confidence(writer.report.quote.lines, writer.report.plan.quote)
    rows += [("chart-net", found.net), ("chart-doubtful", found.doubtful)]
    bars.append(Bar(word("chart-net"), _money(writer, found.net, totals.currency), (found.net,)))
    bars.append(_doubtful(writer, found.doubtful, found.share(found.doubtful)))
    columns = (Column("name", word("column-name"), "text", 40), Column("amount", word("column-amount"), "money", 24))
    shown = tuple(Row((Cell(word(key)), Cell(amount, totals.currency))) for key, amount in rows)
    data = Table("price-range", word("chart-range"), columns, shown)
    yield Chart("price-range", data.title, word("chart-range-text"), Bars(tuple(bars)), data)


def _doubtful(writer: Writer, amount: Decimal, share: Fraction) -> Bar:
    text = f"{_money(writer, amount, writer.report.quote.totals.currency)} · {writer.language.rough_share(share)}"
    return Bar(writer.word("chart-doubtful"), text, (amount,))


def alternatives(writer: Writer) -> Iterator[Chart]:
    """The total of the plan and of each alternative."""
    report, word = writer.report, writer.word
    quotes = [report.quote, *(other.quote for other in report.alternatives)]
    if not report.alternatives or not any(quote.totals.priced_lines for quote in quotes):
        return
    names = [word("column-as-planned"), *(each.name for each in report.plan.quote.alternatives)]
    bars = tuple(_total(writer, name, quote.totals) for name, quote in zip(names, quotes, strict=True))
    yield Chart("alternatives", word("chart-alternatives"), word("chart-alternatives-text"), Bars(bars))


def _total(writer: Writer, name: str, totals: Totals) -> Bar:
    return Bar(name, _money(writer, totals.amount, totals.currency, totals.complete), (totals.amount,))


def _money(writer: Writer, amount: Decimal, currency: str, complete: bool = True) -> str:
    text = writer.language.money(amount, currency)
    return text if complete else writer.word("ui-at-least", amount=text)
