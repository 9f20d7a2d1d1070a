"""Warnings about prices: missing, expired and old ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction

from bomgen.core.diagnostics import Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.plan.commercial_terms import FIRM, SUPPORT, QuotePlan
from bomgen.pricing.bill_line import Line
from bomgen.pricing.price_book import INDICATIVE, Price, PriceBook
from bomgen.pricing.unit_prices import Unit

MAX_SUPPORT = Fraction(3, 10)
"""Maximum plausible share of the hardware for a year of support; service contracts cost 10 to 30 % (docs/prices.md)."""


def warnings_of_prices(
    units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan, books: Sequence[PriceBook]
) -> tuple[Problem, ...]:
    """Return the warnings about the prices of lines; age and validity are relative to the date of the quote."""
    lists = (problem for book in books for problem in book.warnings)
    ages = warnings_of_ages(units, lines, plan)
    missing, estimated = _missing(units, lines, plan), _estimated(units, lines, plan)
    return (*_hidden(books), *lists, *ages, *missing, *estimated, *_high_shares(plan))


def warnings_of_ages(units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan) -> tuple[Problem, ...]:
    """Return warnings about expired and old prices."""
    return (*_expired(units, lines, plan), *_old(units, plan))


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


def _hidden(books: Sequence[PriceBook]) -> Iterator[Problem]:
    for book in books:
        if book.hidden:
            text = message("hidden-sheets", names=book.hidden)
            yield Problem(Mark(book.file, 1, 1), "warning", text, "hidden-sheet", "quote.price_book")


def _missing(units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan) -> Iterator[Problem]:
    """Yield a warning about parts that no price book has, if the plan names one besides the built-in one."""
    without = [line.part or line.description for unit, line in zip(units, lines, strict=True) if unit.amount is None]
    marks = [mark for name, mark in plan.price_books if name != INDICATIVE] or ([plan.sell.mark] if plan.sell else [])
    if without and marks:
        text = message("missing-price", names=dict.fromkeys(without))
        yield Problem(marks[-1], "warning", text, "missing-price", "totals.complete")


def _estimated(units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan) -> Iterator[Problem]:
    if plan.status == FIRM:
        priced = zip(units, lines, strict=True)
        names = [
            line.part or line.description
            for unit, line in priced
            if is_estimate(unit) or (line.charge and line.charge.assumed)
        ]
        if names:
            text = message("firm-estimate", names=dict.fromkeys(names))
            yield Problem(plan.status_mark, "warning", text, "firm-estimate", "totals.amount")


def _high_shares(plan: QuotePlan) -> Iterator[Problem]:
    for at, charge in enumerate(plan.charges):
        if charge.kind == SUPPORT and charge.years and charge.share and charge.share.value > MAX_SUPPORT:
            text = message("high-support", share=f"{float(charge.share.value):.0%}", most=f"{float(MAX_SUPPORT):.0%}")
            yield Problem(charge.mark, "warning", text, "charge", f"quote.charges.{at}.share")


def is_estimate(unit: Unit) -> bool:
    """Return whether a price is marked as an estimate, or only its range is known."""
    return unit.price is not None and bool(unit.price.estimate or unit.ranges)


def _expired(units: Sequence[Unit], lines: Sequence[Line], plan: QuotePlan) -> Iterator[Problem]:
    seen: set[Price] = set()
    for unit, line in zip(units, lines, strict=True):
        price = unit.price
        if price and price not in seen and has_expired(price, plan):
            seen.add(price)
            text = message("expired-price", part=price.part, until=price.valid_until or "", date=plan.date or "")
            yield Problem(price.mark, "warning", text, "expired-price", f"lines.{line.id}")


def _old(units: Sequence[Unit], plan: QuotePlan) -> Iterator[Problem]:
    """Yield a warning per book with old prices, at the oldest one that is used."""
    of_book: dict[str, tuple[PriceBook, set[Price]]] = {}
    for unit in units:
        if unit.price and unit.book and is_old(unit.price, plan):
            of_book.setdefault(unit.book.file, (unit.book, set()))[1].add(unit.price)
    for book, prices in of_book.values():
        oldest = min(prices, key=lambda price: (price.date is None, price.date or "", price.mark))
        days = age_days(oldest, plan)
        text = message("undated-price", count=len(prices), book=book.name, part=oldest.part)
        if days is not None:
            text = message("old-price", count=len(prices), book=book.name, part=oldest.part, days=days)
        yield Problem(oldest.mark, "warning", text, "old-price", "totals.amount")
