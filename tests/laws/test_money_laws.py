"""Laws of money: sums to the cent, whatever the order of lines; discount, tax, exchange, stock and ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.provenance import Figure, Given, Mark
from bomgen.plan.commercial_terms import Discounts, Exchange, QuotePlan
from bomgen.pricing.bill import Bill
from bomgen.pricing.bill_line import subtract_stock
from bomgen.pricing.price_book import Price, PriceBook, converted
from bomgen.pricing.quote import Quote, confidence, quote
from bomgen.results.result import Report

MARK = Mark("book.yaml", 1, 1)
CENT = Decimal("0.01")
PLAN: dict[str, Any] = {
    "bomgen": 1,
    "name": "money",
    "cluster": {"gpu": "h100-sxm", "servers": 32, "spare_servers": 1},
    "fabrics": {
        "compute": {"switch": "qm9700", "topology": "rail-optimized"},
        "storage": {"switch": "qm9700", "ports_per_server": 2},
    },
    "site": {"rack": {"units": 48, "power": "40 kW", "pdus": 3}},
    "spares": {"transceiver": "3%", "cable": "3%", "switch": 1},
    "quote": {
        "charges": [
            {"kind": "freight", "share": "2%"},
            {"kind": "support", "share": "4%", "years": 3},
            {"kind": "installation", "per": "rack", "price": 1800},
            {"kind": "software", "name": "manager", "per": "gpu", "years": 3, "part": "manager-gpu-year"},
        ]
    },
}
MONEY = st.integers(1, 10**8).map(lambda thousandths: Decimal(thousandths) / 1000)
SHARES = st.integers(0, 1000).map(lambda parts: Fraction(parts, 1000))
TAXED = st.sampled_from(["switch", "service", "software", "storage"])
"""Categories with a tax rate of their own; no line is storage."""
CURRENCIES = ("USD", "EUR", "JPY", "KWD")


@pytest.fixture(scope="session")
def report(worked: Callable[[Mapping[str, Any]], Report]) -> Report:
    """A bill with every kind of line."""
    return worked(PLAN)


def share(value: Fraction) -> Figure:
    """A share that a plan gives."""
    return Figure(value, "share", Given(MARK, "share"))


def parts_of(report: Report) -> list[str]:
    """What the price books may know of a bill, in alphabetical order."""
    named = {line.charge.part if line.charge else line.part for line in report.bill.lines}
    return sorted(name for name in named if name)


def book_of(report: Report, prices: list[Decimal | None], currency: str = "USD") -> PriceBook:
    """A price book with a price for some parts of a bill."""
    entries = [
        Price(part, price, price, price, currency, None, 1, None, False, None, None, MARK)
        for part, price in zip(parts_of(report), prices, strict=False)
        if price is not None
    ]
    return PriceBook("book", "book.yaml", tuple(entries), ((currency, MARK),))


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    """Discounts of every kind, and a tax."""
    return {
        "discounts": Discounts(
            {"default": share(draw(SHARES)), "transceiver": share(draw(SHARES))},
            {"qm9700": share(draw(SHARES))},
            {"compute.switch.leaf": share(draw(SHARES))},
        ),
        "tax": {"default": share(draw(SHARES)), **draw(st.dictionaries(TAXED, SHARES.map(share)))},
        "currency": draw(st.sampled_from(CURRENCIES)),
    }


BOOKS = st.lists(st.none() | MONEY, min_size=4, max_size=16)


def priced(report: Report, given: Mapping[str, Any], prices: list[Decimal | None], bill: Bill | None = None) -> Quote:
    """A bill at these prices, by default that of the report."""
    plan = report.plan.quote._replace(price_books=(("book.yaml", MARK),), **given)
    return quote(bill or report.bill, plan, [book_of(report, prices, plan.currency)])


def half_up(amount: Fraction, places: int) -> Decimal:
    """An amount rounded half up, by whole numbers only."""
    minor = amount * 10**places
    return Decimal((2 * minor.numerator + minor.denominator) // (2 * minor.denominator)).scaleb(-places)


EVERYTHING = ("default", "service", "software")
"""The default, and the categories that it leaves out."""
PLACES = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3}
"""Minor units of ISO 4217."""


@given(terms(), BOOKS)
def test_totals_are_the_sums_of_the_lines(report: Report, given: dict[str, Any], prices: list[Decimal | None]) -> None:
    """Amounts are pieces times price less discount, rounded half up; totals are their sums exactly; tax comes last."""
    found = priced(report, given, prices)
    places, totals = PLACES[given["currency"]], found.totals
    for line in found.lines:
        if line.unit.amount is None:
            assert line.amount is None
            assert not totals.complete
            continue
        exact = (line.line.quantity.value + (line.line.spare.value if line.line.spare else 0)) * Fraction(
            line.unit.amount
        )
        assert half_up(exact * (1 - line.discount), places) == line.amount
        assert half_up(exact, places) == line.list_amount
    amounts = [line.amount for line in found.lines if line.amount is not None]
    assert sum((line.list_amount for line in found.lines if line.list_amount is not None), Decimal(0)) == totals.list
    assert sum(amounts, Decimal(0)) == totals.list - totals.discount
    rates = [given["tax"].get(line.line.category, given["tax"]["default"]).value for line in found.lines]
    nets = {rate: Fraction(0) for rate in rates}
    for rate, line in zip(rates, found.lines, strict=True):
        nets[rate] += Fraction(line.amount or 0)
    taxes = {part.share: (Fraction(part.net), part.tax) for part in totals.taxes}
    assert {rate: (net, half_up(net * rate, places)) for rate, net in nets.items()} == taxes
    assert sum((tax for _, tax in taxes.values()), Decimal(0)) == totals.tax
    assert totals.list - totals.discount + totals.tax == totals.amount


@given(terms(), BOOKS, st.randoms(use_true_random=False))
def test_the_order_of_lines_never_changes_the_money(
    report: Report, given: dict[str, Any], prices: list[Decimal | None], random: Any
) -> None:
    """A shuffled bill costs the same, to the cent, and is as sure."""
    lines = list(report.bill.lines)
    random.shuffle(lines)
    one, other = priced(report, given, prices), priced(report, given, prices, Bill(tuple(lines)))
    assert one.totals == other.totals
    plan = report.plan.quote._replace(**given)
    assert confidence(one.lines, plan) == confidence(other.lines, plan)


@given(BOOKS, st.data())
def test_splitting_a_line_changes_nothing(report: Report, prices: list[Decimal | None], data: st.DataObject) -> None:
    """Two lines in place of one cost the same, where prices are whole cents; discounts of lines then cut none."""
    at = data.draw(st.sampled_from([n for n, line in enumerate(report.bill.lines) if line.quantity.value > 1]))
    line = report.bill.lines[at]
    first = data.draw(st.integers(1, line.quantity.value - 1))
    halves = [
        line._replace(id=f"{line.id}.{number}", quantity=_pieces(count), spare=line.spare if number == 1 else None)
        for number, count in ((1, first), (2, line.quantity.value - first))
    ]
    lines = (*report.bill.lines[:at], *halves, *report.bill.lines[at + 1 :])
    whole = [None if price is None else price.quantize(CENT) for price in prices]
    given = {"tax": {"default": share(Fraction(13, 100))}, "currency": "USD"}
    one, other = priced(report, given, whole), priced(report, given, whole, Bill(lines))
    assert one.totals._replace(priced_lines=0, lines=0) == other.totals._replace(priced_lines=0, lines=0)


def _pieces(count: int) -> Figure:
    return Figure(count, "pieces", Given(MARK, "pieces"))


@given(BOOKS)
def test_no_discount_and_a_whole_one(report: Report, prices: list[Decimal | None]) -> None:
    """Without discount the list price is paid; with all of it nothing is, and no tax either; no price goes missing."""
    none, all_ = (
        priced(
            report, {"discounts": Discounts(dict.fromkeys(EVERYTHING, share(Fraction(part))), {}, {})}, prices
        ).totals
        for part in (0, 1)
    )
    assert none.discount == 0
    assert none.list == none.amount - none.tax
    assert all_.amount == all_.tax == 0
    hardware = priced(report, {"discounts": Discounts({}, {}, {})}, prices).totals
    assert (all_.complete, all_.priced_lines) == (hardware.complete, hardware.priced_lines)


@given(st.integers(1, 10**9), st.integers(1, 10**7))
def test_money_comes_back_from_another_currency(cents: int, rate: int) -> None:
    """Converted there and back an amount differs by no more than the two roundings: half a unit each, at the rate."""
    amount, exact = Decimal(cents) / 100, Fraction(rate, 10**4)
    there = converted(amount, "USD", _plan("CNY", "USD", Decimal(rate) / 10**4))
    inverse = _plan("USD", "CNY", Decimal(exact.denominator) / Decimal(exact.numerator))
    back = Fraction(there) * Fraction(inverse.exchange["CNY"].rate)
    assert abs(back - Fraction(amount)) <= Fraction(1, 200) / exact + Fraction(there) / exact / 10**20
    assert abs(Fraction(converted(there, "CNY", inverse)) - back) <= Fraction(1, 200)


def _plan(currency: str, other: str, rate: Decimal) -> QuotePlan:
    """Terms with one exchange rate, and nothing else that conversion asks for."""
    plan = QuotePlan(*[None] * len(QuotePlan._fields))  # type: ignore[arg-type]
    return plan._replace(currency=currency, exchange={other: Exchange(rate, "2026-11-20", None, MARK)})


@given(terms(), BOOKS, st.lists(st.integers(0, 300), min_size=6, max_size=6))
def test_a_range_holds_the_price(
    report: Report, given: dict[str, Any], prices: list[Decimal | None], widths: list[int]
) -> None:
    """The total at the lowest and at the highest prices lie about the total; without ranges all three are one."""
    plan = report.plan.quote._replace(price_books=(("book.yaml", MARK),), **given)
    book = book_of(report, prices, plan.currency)
    flat = quote(report.bill, plan, [book]).totals
    wide = [
        price._replace(low=max((price.low or 0) - width, Decimal(0)), high=(price.high or 0) + width)
        for price, width in zip(book.prices, widths, strict=False)
    ]
    found = quote(report.bill, plan, [book._replace(prices=(*wide, *book.prices[len(wide) :]))]).totals
    assert flat.low == flat.amount == found.amount
    assert found.low is not None
    assert found.low <= found.amount
    assert (found.high is None) == (not found.complete)
    assert found.high is None or found.high >= found.amount


@given(terms(), BOOKS, st.dictionaries(st.sampled_from(("qm9700", "mma4z00-ns")), st.integers(1, 400), min_size=1))
def test_stock_is_shown_and_not_charged(
    report: Report, given: dict[str, Any], prices: list[Decimal | None], stock: dict[str, int]
) -> None:
    """What is bought and what is there are together what was needed; more stock never costs more."""
    kept = {name: _pieces(count) for name, count in stock.items()}
    bill = Bill(tuple(subtract_stock(report.bill.lines, kept)))
    for part in parts_of(report):
        assert pieces(report.bill.lines, part) == pieces(bill.lines, part)
        owned = pieces([line for line in bill.lines if line.in_stock], part)
        assert owned == min(stock.get(part, 0), pieces(report.bill.lines, part))
    without, found = priced(report, given, prices), priced(report, given, prices, bill)
    assert all(line.amount == 0 for line in found.lines if line.line.in_stock)
    assert found.totals.complete >= without.totals.complete
    if found.totals.complete and without.totals.complete:
        assert found.totals.amount <= without.totals.amount


def pieces(lines: Any, part: str) -> int:
    """Pieces of a part, spares with them."""
    return sum(line.pieces for line in lines if line.part == part)


@given(terms(), st.lists(MONEY, min_size=20, max_size=20))
def test_charges_are_shares_of_the_hardware(report: Report, given: dict[str, Any], prices: list[Decimal]) -> None:
    """Freight is its share of all parts after discount, support the same each year; neither of them of the other."""
    found = priced(report, given, list(prices))
    by_id = {line.line.id: line for line in found.lines}
    hardware = sum(line.amount or 0 for line in found.lines if line.line.category not in ("service", "software"))
    places = PLACES[given["currency"]]
    assert by_id["service.freight"].unit.amount == half_up(Fraction(hardware) * Fraction(2, 100), places)
    assert by_id["service.support"].unit.amount == half_up(Fraction(hardware) * Fraction(4, 100), places)
    assert by_id["service.support"].line.quantity.value == 3
    assert by_id["software.manager"].line.quantity.value == 3 * 8 * 32
