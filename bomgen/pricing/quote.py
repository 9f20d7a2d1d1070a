"""Amounts of a quote: prices applied to bill lines, totals by category, confidence in them, and warnings of prices.

An amount is (quantity + spare) x unit price x (1 - discount), rounded half up to the currency's minor unit; the list
total is the sum of the undiscounted amounts, rounded likewise, and the discount is the difference between the two.

Amounts are decimals, calculated as fractions and rounded once per line; `results/checks.py` calculates the totals
independently. A range without a price is a missing price with two ends: it leaves the total incomplete and bounds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

from bomgen.core.diagnostics import Problem
from bomgen.core.document import group_by
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Cited, Mark, walk
from bomgen.core.units import MONTHS_A_YEAR, Tax, Totals, exact, minor_unit, rounded
from bomgen.plan.commercial_terms import CHARGED, DEFAULT, FIRM, SUPPORT, QuotePlan
from bomgen.pricing.bill import Bill
from bomgen.pricing.bill_line import Line
from bomgen.pricing.price_book import INDICATIVE, Price, PriceBook, Unit, discount_given, units

MAX_SUPPORT = Fraction(3, 10)
"""Maximum plausible share of the hardware for a year of support; service contracts cost 10 to 30 % (docs/prices.md)."""


def warnings_of_prices(
    units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan, books: Sequence[PriceBook]
) -> Iterator[Problem]:
    """Yield the warnings about the prices of lines; age and validity are relative to the date of the quote.

    Parts without a price are a warning if the plan names a price book besides the built-in one.
    """
    for book in books:
        if book.hidden:
            text = message("hidden-sheets", names=book.hidden)
            yield Problem(Mark(book.file, 1, 1), "warning", text, "hidden-sheet", "quote.price_book")
    yield from (problem for book in books for problem in book.warnings)
    yield from warnings_of_ages(units, lines, plan)
    priced = [(unit, line, line.part or line.description) for unit, line in zip(units, lines, strict=True)]
    without = dict.fromkeys(name for unit, _, name in priced if unit.amount is None)
    marks = [mark for name, mark in plan.price_books if name != INDICATIVE] or ([plan.sell.mark] if plan.sell else [])
    if without and marks:
        text = message("missing-price", names=without)
        yield Problem(marks[-1], "warning", text, "missing-price", "totals.complete")
    assumed = (name for unit, line, name in priced if is_estimate(unit) or (line.charge and line.charge.assumed))
    if plan.status == FIRM and (names := dict.fromkeys(assumed)):
        text = message("firm-estimate", names=names)
        yield Problem(plan.status_mark, "warning", text, "firm-estimate", "totals.amount")
    for at, charge in enumerate(plan.charges):
        share = Fraction(charge.share.value) * (MONTHS_A_YEAR if charge.months else 1) if charge.share else 0
        if charge.kind == SUPPORT and (charge.years or charge.months) and share > MAX_SUPPORT:
            text = message("high-support", share=f"{float(share):.0%}", most=f"{float(MAX_SUPPORT):.0%}")
            yield Problem(charge.mark, "warning", text, "charge", f"quote.charges.{at}.share")


def warnings_of_ages(units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan) -> tuple[Problem, ...]:
    """Return a warning for each expired price, and one per book with old prices, at the oldest one that is used."""
    warnings, seen = list[Problem](), set[Price]()
    of_book: dict[str, tuple[PriceBook, set[Price]]] = {}
    for unit, line in zip(units, lines, strict=True):
        price = unit.price
        if price and price not in seen and has_expired(price, plan):
            seen.add(price)
            text = message("expired-price", part=price.part, until=price.valid_until or "", date=plan.date or "")
            warnings.append(Problem(price.mark, "warning", text, "expired-price", f"lines.{line.id}"))
        if price and unit.book and is_old(price, plan):
            of_book.setdefault(unit.book.file, (unit.book, set()))[1].add(price)
    for book, prices in of_book.values():
        oldest = min(prices, key=lambda price: (price.date is None, price.date or "", price.mark))
        days = age_days(oldest, plan)
        text = message("undated-price", count=len(prices), book=book.name, part=oldest.part)
        if days is not None:
            text = message("old-price", count=len(prices), book=book.name, part=oldest.part, days=days)
        warnings.append(Problem(oldest.mark, "warning", text, "old-price", "totals.amount"))
    return tuple(warnings)


def age_days(price: Price, plan: QuotePlan) -> int | None:
    """Return the age of a price on the date of the quote [days]; None if either date is unknown."""
    if price.date is None or plan.date is None:
        return None
    return (date.fromisoformat(plan.date) - date.fromisoformat(price.date)).days


def is_old(price: Price, plan: QuotePlan) -> bool:
    """Return whether a price is as old as the limit of the plan or of the assumption; an undated indication is."""
    age = age_days(price, plan)
    undated = price.date is None and price.mark.file == INDICATIVE
    return undated if age is None else age >= plan.old_after.value


def has_expired(price: Price, plan: QuotePlan) -> bool:
    """Return whether a price is no longer valid on the date of the quote."""
    return bool(plan.date and price.valid_until and price.valid_until < plan.date)


def is_estimate(unit: Unit) -> bool:
    """Return whether a price is marked as an estimate, or only its range is known."""
    return unit.price is not None and bool(unit.price.estimate or unit.ranges)


class InStock(Protocol):
    """A line whose pieces may come from the customer's stock."""

    @property
    def in_stock(self) -> bool:
        """Return whether they do."""


Stocked = TypeVar("Stocked", bound=InStock)


class PricedLine(InStock, Protocol):
    """A line of a category with its amount, if it has a price."""

    @property
    def category(self) -> str:
        """Return the category."""

    @property
    def amount(self) -> Decimal | None:
        """Return the amount."""


class QuoteLine(NamedTuple):
    """A line with its amounts; unit price and amounts are None if no price is known."""

    line: Line
    unit: Unit
    discount: Fraction
    list_amount: Decimal | None
    amount: Decimal | None
    of: Decimal | None = None
    """For a charge that is a share of the hardware: the net amount of the hardware."""

    @property
    def least(self) -> bool:
        """Return whether the amount is a lower bound, as a share of hardware that is not fully priced."""
        return self.of is not None and self.unit.high is None

    @property
    def price(self) -> Price | None:
        """Return the price that was used."""
        return self.unit.price

    @property
    def lead_days(self) -> int:
        """Return the lead time of the part [days]; 0 if it is unknown or comes from stock."""
        return self.price.lead_days or 0 if self.price and not self.in_stock else 0

    @property
    def stated(self) -> tuple[Decimal | None, str] | None:
        """Return the amount and currency of the price book, or of a charge that names its currency."""
        charge = self.line.charge
        if charge and charge.currency and charge.price is not None:
            return charge.price, charge.currency
        return (self.price.amount, self.price.currency) if self.price else None

    @property
    def book(self) -> PriceBook | None:
        """Return the price book that contains it."""
        return self.unit.book

    @property
    def in_stock(self) -> bool:
        """Return whether it comes from the customer's stock."""
        return self.line.in_stock

    @property
    def category(self) -> str:
        """Return the category of the line."""
        return self.line.category

    @property
    def hardware(self) -> bool:
        """Return whether the line is for parts rather than a charge."""
        return self.line.category not in CHARGED


MIN_PRICED = Fraction(1, 2)
"""Share of charged lines with a price from which their sum is called a total.

The cost is at most twice the estimate even in class 5, the widest (AACE International, Recommended Practice 18R-97).
"""

WITH_GPUS = ("server", "gpu")
"""Categories of the lines with the GPUs, most of the cost of a cluster: without their price no sum is a total."""


def is_total(totals: Totals, lines: Sequence[PricedLine]) -> bool:
    """Return whether enough lines have a price for their sum to be called a total, those with the GPUs among them."""
    return totals.priced_lines > 0 and totals.priced_lines >= MIN_PRICED * totals.lines and not unpriced_gpus(lines)


def unpriced_gpus(lines: Sequence[PricedLine]) -> tuple[str, ...]:
    """Return the categories of the charged lines that have the GPUs and no price."""
    unpriced = {line.category for line in lines_to_price(lines) if line.amount is None}
    return tuple(category for category in WITH_GPUS if category in unpriced)


class Indications(NamedTuple):
    """The effect on a total of prices from the built-in price book, which are not offers."""

    low: Decimal
    """The total at the lowest prices."""
    high: Decimal
    dates: tuple[str, ...]
    """The dates of these prices in order."""
    undated: int
    """Number of these prices without a date."""


class Quote(NamedTuple):
    """The priced bill."""

    lines: tuple[QuoteLine, ...]
    totals: Totals
    problems: tuple[Problem, ...]
    highest: Decimal | None = None
    """The total at the highest prices; lines without a price are excluded."""
    unpriced_required: tuple[QuoteLine, ...] = ()
    """Required parts without a price, which no total includes."""

    @property
    def indications(self) -> Indications | None:
        """Return the effect of prices from the built-in price book on the total; None if no line has one."""
        used = {line.price for line in self.lines if line.price and line.book and line.book.file == INDICATIVE}
        if not used:
            return None
        dates = sorted(price.date for price in used if price.date)
        low, high = self.totals.low, self.highest
        amount = self.totals.amount
        ends = (amount, amount) if low is None or high is None else (low, high)
        return Indications(*ends, tuple(dates), len(used) - len(dates))

    @property
    def all_lines(self) -> tuple[QuoteLine, ...]:
        """Return every line; those that no total includes come last."""
        return (*self.lines, *self.unpriced_required)


def quote(bill: Bill, plan: QuotePlan, books: Sequence[PriceBook]) -> Quote:
    """Return the priced bill. If quantities are exact vectors, amounts are too.

    Raises KeyError for a price in a currency without an exchange rate in the plan, which `missing_rates` reports
    before, and RowsDiffer if rows of a vector fall into different price breaks.
    """
    counted, without_price = list[Line](), list[QuoteLine]()
    unit_prices = list[Unit]()
    for line, unit in zip(bill.lines, units(bill.lines, plan, books), strict=True):
        if not line.required_by or unit.amount is not None or unit.ranges:
            counted.append(line)
            unit_prices.append(unit)
        else:
            without_price.append(_line(line, unit, None, plan))
    usual, low, high = ([getattr(unit, end) for unit in unit_prices] for end in ("amount", "low", "high"))
    lines = _priced(counted, unit_prices, usual, plan)
    totals = _totals(lines, plan)
    at_most = totals.amount
    if not totals.complete or any(unit.ranges for unit in unit_prices):
        lowest, highest = (_priced(counted, unit_prices, ends, plan) for ends in (low, high))
        lines = [_between(*row) for row in zip(lines, lowest, highest, strict=True)]
        most = _totals(highest, plan)
        totals, at_most = totals._replace(low=_totals(lowest, plan).amount, high=most.high), most.amount
    warnings = warnings_of_prices([line.unit for line in lines], counted, plan, books)
    return Quote(tuple(lines), totals, tuple(warnings), at_most, tuple(without_price))


def cluster_quote(priced: Quote, plan: QuotePlan, cluster: str) -> Quote:
    """Return the lines of one of several clusters and their totals, as if it were the only one."""
    lines, required = (
        [line._replace(line=line.line.alone()) for line in lines if line.line.cluster == cluster]
        for lines in (priced.lines, priced.unpriced_required)
    )
    return Quote(tuple(lines), _totals(lines, plan), (), unpriced_required=tuple(required))


def _between(line: QuoteLine, lowest: QuoteLine, highest: QuoteLine) -> QuoteLine:
    """Return a line with the range of its unit price; a share of unpriced hardware has no upper end."""
    if line.line.charge is None or line.line.charge.share is None:
        return line
    return line._replace(unit=line.unit._replace(low=lowest.unit.amount, high=highest.unit.high))


def _priced(
    lines: Sequence[Line], unit_prices: Sequence[Unit], amounts: Sequence[Decimal | None], plan: QuotePlan
) -> list[QuoteLine]:
    priced = [_line(line, unit, amount, plan) for line, unit, amount in zip(lines, unit_prices, amounts, strict=True)]
    hardware = [line.amount for line in priced if line.hardware]
    known_amounts = [amount for amount in hardware if amount is not None]
    if not known_amounts:
        return priced
    whole, complete = sum(known_amounts, Decimal(0)), len(known_amounts) == len(hardware)
    for at, line in enumerate(lines):
        if line.charge and line.charge.share and not line.in_stock:
            share = rounded(exact(whole) * Fraction(line.charge.share.value), plan.currency)
            unit = Unit(share, share, share if complete else None)
            priced[at] = _line(line, unit, share, plan)._replace(of=whole)
    return priced


def _line(line: Line, unit: Unit, amount: Decimal | None, plan: QuotePlan) -> QuoteLine:
    stated = discount_given(line, plan)
    discount = Fraction(stated.value) if stated else Fraction(0)
    if amount is None:
        return QuoteLine(line, unit, discount, None, None)
    before = line.pieces * exact(amount)
    after = rounded(before * (1 - discount), plan.currency)
    return QuoteLine(line, unit, discount, rounded(before, plan.currency), after)


def lines_to_price(lines: Sequence[Stocked]) -> list[Stocked]:
    """Return the lines that are charged: parts from stock are free, priced or not.

    If everything comes from stock, return all lines, so that the total is 0.
    """
    return [line for line in lines if not line.in_stock] or list(lines)


def _totals(lines: Sequence[QuoteLine], plan: QuotePlan) -> Totals:
    nothing = Decimal(0) * minor_unit(plan.currency)
    before = sum((line.list_amount for line in lines if line.list_amount is not None), nothing)
    after = sum((line.amount for line in lines if line.amount is not None), nothing)
    rates = {category: Fraction(rate.value) for category, rate in plan.tax.items()}
    taxes = taxes_on(((line.line.category, line.amount) for line in lines), rates, plan.currency)
    tax = sum((part.tax for part in taxes), nothing)
    charged = lines_to_price(lines)
    priced = sum(line.amount is not None for line in charged)
    return Totals(
        currency=plan.currency,
        complete=priced == len(charged),
        list=before,
        discount=before - after,
        taxes=taxes,
        amount=after + tax,
        priced_lines=priced,
        lines=len(charged),
        low=after + tax,
        high=after + tax if priced == len(charged) else None,
    )


def taxes_on(
    amounts: Iterable[tuple[str, Decimal | None]], rates: Mapping[str, Fraction], currency: str
) -> tuple[Tax, ...]:
    """Return the tax at each rate that applies to an amount, given with its category; the default rate comes first.

    The tax is rounded once per rate. Without amounts, return the default rate; without rates, nothing.
    """
    if not rates:
        return ()
    by_rate = group_by(amounts, lambda amount: rates.get(amount[0], rates[DEFAULT]))
    used = [rate for rate in dict.fromkeys((rates[DEFAULT], *rates.values())) if rate in by_rate] or [rates[DEFAULT]]
    taxes: list[Tax] = []
    for rate in used:
        net = sum((exact(amount) for _, amount in by_rate.get(rate, ()) if amount is not None), Fraction(0))
        named = tuple(name for name, share in rates.items() if share == rate and name != DEFAULT)
        taxes.append(Tax(rate, rounded(net, currency), rounded(net * rate, currency), named if taxes else ()))
    return tuple(taxes)


# breakdown ----------------------------------------------------------------------------------------------------------
# The amounts of a bill by category, after discounts and before tax, and how complete they are.


class CategoryTotal(NamedTuple):
    """The lines of one category; `amount` is None if none of them is priced."""

    category: str
    amount: Decimal | None
    share: Fraction
    """Share of the total of all categories."""
    lines: int
    priced_lines: int
    least: bool = False
    """Whether a line is a share of hardware that is not fully priced."""

    @property
    def complete(self) -> bool:
        """Return whether every line has an exact price; otherwise the amount is a lower bound."""
        return self.priced_lines == self.lines and not self.least


def category_amounts(lines: Sequence[QuoteLine]) -> tuple[CategoryTotal, ...]:
    """Return the category totals, largest first and unpriced ones last; empty if nothing is priced."""
    by_category = group_by(lines, lambda line: line.line.category)
    charged = {category: lines_to_price(members) for category, members in by_category.items()}
    amounts = {
        category: [line.amount for line in members if line.amount is not None] for category, members in charged.items()
    }
    whole = sum((Fraction(amount) for priced in amounts.values() for amount in priced), Fraction(0))
    if not any(amounts.values()):
        return ()
    parts = (
        CategoryTotal(
            category,
            sum(priced, Decimal(0)) if (priced := amounts[category]) else None,
            sum(map(Fraction, priced), Fraction(0)) / whole if whole else Fraction(0),
            len(members),
            len(priced),
            any(line.least for line in members),
        )
        for category, members in charged.items()
    )
    return tuple(sorted(parts, key=lambda part: (part.amount is None, -part.share)))


# confidence ---------------------------------------------------------------------------------------------------------
# Confidence in the amounts: the share that depends on unverified figures, on estimated prices and on old ones.
#
# Uncertainty is counted per line: a quantity is uncertain if a figure or assumption that it depends on has no source
# document; a price if it is marked as an estimate, has a range, is old or has expired. Shares of the hardware are as
# uncertain as the hardware.

UNVERIFIED, ESTIMATED, OLD = "unverified", "estimated", "old"
REASONS = (UNVERIFIED, ESTIMATED, OLD)
"""Reasons for uncertain amounts: an unverified figure, an estimate or range, an old or expired price."""


class Confidence(NamedTuple):
    """The net amount before tax, and the uncertain part of it."""

    net: Decimal
    doubtful: Decimal
    by_reason: Mapping[str, Decimal]
    """Uncertain amount by reason; a line with several reasons counts in each, and once in `doubtful`."""
    unpriced: int
    """Lines without a price."""

    def share(self, amount: Decimal) -> Fraction:
        """Return an amount as a share of the net amount; 0 if that is 0."""
        return Fraction(amount) / Fraction(self.net) if self.net else Fraction(0)


def doubts(priced: QuoteLine, plan: QuotePlan) -> tuple[str, ...]:
    """Return the reasons why the amount of a line is uncertain; none for stock and for given shares of other lines."""
    if not priced.amount or _is_share(priced):
        return ()
    if _is_assumed(priced):
        return (ESTIMATED,)
    price = priced.price
    unsourced = any(
        isinstance(node.origin, Cited | Assumed) and not node.origin.references for node in walk(priced.line.quantity)
    )
    holds = {
        UNVERIFIED: unsourced or (price is not None and price.source is None),
        ESTIMATED: is_estimate(priced.unit),
        OLD: price is not None and (is_old(price, plan) or has_expired(price, plan)),
    }
    return tuple(reason for reason in REASONS if holds[reason])


def _is_share(priced: QuoteLine) -> bool:
    """Return whether a line is a share of the hardware that the plan gives."""
    return priced.line.charge is not None and priced.line.charge.share is not None and not _is_assumed(priced)


def _is_assumed(priced: QuoteLine) -> bool:
    return priced.line.charge is not None and priced.line.charge.assumed


def confidence(lines: Sequence[QuoteLine], plan: QuotePlan) -> Confidence:
    """Return the confidence in the amounts of lines. A charge that is a share is as uncertain as the hardware."""
    shares = sum((Fraction(line.amount or 0) for line in lines if _is_share(line)), Fraction(0))
    hardware = sum((Fraction(line.amount or 0) for line in lines if line.hardware), Fraction(0))
    of_hardware = 1 + shares / hardware if hardware else Fraction(1)
    doubtful, by_reason = Fraction(0), dict.fromkeys(REASONS, Fraction(0))
    for line in lines:
        if reasons := doubts(line, plan):
            amount = Fraction(line.amount or 0) * (of_hardware if line.hardware else 1)
            doubtful += amount
            for reason in reasons:
                by_reason[reason] += amount
    return Confidence(
        net=rounded(sum((Fraction(line.amount or 0) for line in lines), Fraction(0)), plan.currency),
        doubtful=rounded(doubtful, plan.currency),
        by_reason={reason: rounded(amount, plan.currency) for reason, amount in by_reason.items()},
        unpriced=sum(line.amount is None for line in lines),
    )
