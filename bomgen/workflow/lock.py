"""The lock of a plan: the prices, exchange rates and catalogue records of a quote, for reproducible results.

While a lock lies next to its plan, its prices and rates replace those of the price books. The catalogue is pinned by
digests of the records that were read: their contents belong to a version of bomgen, or to a part folder in the plan's
own repository, and are not copied.

A lock has all prices of the parts of a plan, and lists parts without a price: a price that is added later must not
change the quote. A copy of the catalogue would also have to pin the code that reads it, which is what a version of
bomgen does; the digests identify that version. Stale records are reported on standard error and by `check`, never in a
document, because documents would then differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from operator import eq
from typing import NamedTuple

from bomgen.catalog.files import ANY_LENGTH, KINDS, LENGTH_CODE, NOT_PARTS, Record
from bomgen.core import schema
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.money import decimal
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import Source, below, decoded, read
from bomgen.plan.commercial_terms import Exchange, QuotePlan
from bomgen.pricing import price_book as prices
from bomgen.pricing.price_book import Price, PriceBook, price_book
from bomgen.workflow.plan_files import LOCK_KEY

RULE = "lock"
FORMAT = 1
"""Version of the lock format."""
EXCHANGE = ("quote", "exchange")
"""Path of the exchange rates in a plan."""
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


class LockedBook(NamedTuple):
    """The pinned prices of one price book."""

    book: PriceBook
    mark: Mark


class LockedBill(NamedTuple):
    """The totals of a bill, and the digests of its lines by id."""

    amount: Decimal
    lines: dict[str, str]


class Lock(NamedTuple):
    """The contents of a lock file."""

    file: str
    content: bytes
    mark: Mark
    version: str
    plan: str
    lines: str
    currency: str
    amount: Decimal
    rates: dict[str, Exchange]
    books: dict[str, LockedBook]
    """Price books by their path in the plan."""
    parts: frozenset[str]
    """Names of the parts with pinned prices; cable families without length."""
    records: dict[str, str]
    bills: dict[str, LockedBill]
    """Bills by name of the alternative; the plan's own under the empty name. Empty in an older lock."""
    digits: dict[str, int]
    """Digits of the numbers in device names, by name prefix. Empty in an older lock."""
    defaults: dict[str, str]
    """Values of the assumptions used, by id. Empty in an older lock."""

    def covers(self, part: str) -> bool:
        """Return whether the lock has a part's price, or states that it has none."""
        return part in self.parts or family(part) in self.parts

    def pin(self, file: str, book: PriceBook) -> PriceBook:
        """Return a price book with its pinned prices; parts that the lock does not cover keep their current prices."""
        pinned = self.books[file].book
        others = tuple(price for price in book.prices if not self.covers(price.part))
        return pinned._replace(prices=(*pinned.prices, *others), currencies=_currencies(pinned, others))

    def rates_for(self, quote: QuotePlan, keys: Iterable[str] = ()) -> dict[str, Exchange]:
        """Return the exchange rates of a quote, with the pinned rates of its currencies.

        A rate set by one of `keys` is kept: --set and alternatives override the lock.
        """
        if quote.currency != self.currency:
            return dict(quote.exchange)
        return {
            currency: given if sets_rate(keys, currency) else self.rates.get(currency, given)
            for currency, given in quote.exchange.items()
        }


def sets_rate(keys: Iterable[str], currency: str) -> bool:
    """Return whether one of the dotted keys sets an exchange rate, a part of one, or a section that contains it."""
    wanted = (*EXCHANGE, currency)
    return any(all(map(eq, key.split("."), wanted)) for key in keys)


def family(part: str) -> str:
    """Return the name of a part; for a cable, without its length."""
    return LENGTH_CODE.sub(ANY_LENGTH, part)


def names_of(records: Iterable[Record]) -> set[str]:
    """Return the lower-case names of records that price books may use."""
    found = set[str]()
    for record in records:
        if record.kind in NOT_PARTS or record.kind not in KINDS:
            continue
        numbers = (record.value(key) for key in ("part_number", "ordering_number"))
        found |= {str(name).lower() for name in (record.id, *numbers) if name}
    return found


def lock_of(name: str, content: bytes) -> Lock:
    """Return the lock in a file's bytes. Raises PlanErrors for an invalid lock."""
    source = read(decoded(content, name), name)
    if newer := schema.newer(source, LOCK_KEY, "a lock", FORMAT, RULE):
        raise PlanErrors([newer])  # writing it again with this version would lose the prices that it pins
    problems = schema.check_schema(source, "lock") or list(_slips(source))
    if problems:
        raise PlanErrors([_as_lock(problem) for problem in problems[:1]])
    data = source.data
    rates = {
        currency: Exchange(
            decimal(given["rate"]), str(given["date"]), given.get("source"), source.mark(("rates", currency))
        )
        for currency, given in data["rates"].items()
    }
    return Lock(
        file=name,
        content=content,
        mark=source.mark(()),
        version=data["version"],
        plan=data["plan"],
        lines=data["lines"],
        currency=data["currency"],
        amount=decimal(data["amount"]),
        rates=rates,
        books={entry["file"]: _book(source, at) for at, entry in enumerate(data["books"])},
        parts=frozenset(data["parts"]),
        records=data["records"],
        bills={
            bill.get("alternative", ""): LockedBill(decimal(bill["amount"]), bill["lines"])
            for bill in data.get("bills", ())
        },
        digits=data.get("digits", {}),
        defaults=data.get("defaults", {}),
    )


def _slips(source: Source) -> Iterable[Problem]:
    """Yield invalid amounts, exchange rates of 0, and days that are not in the calendar."""
    amount = source.data["amount"]
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        message = f"'{amount}' is not an amount; a decimal number is expected"
        yield Problem(source.mark(("amount",)), "error", message, "number")
    for currency, given in source.data["rates"].items():
        if not decimal(given["rate"]):
            message = f"a rate of 0 for {currency}; more than 0"
            yield Problem(source.mark(("rates", currency, "rate")), "error", message, "range")
        try:
            date.fromisoformat(given["date"])
        except ValueError:
            message = f"{given['date']} is not a date; write YYYY-MM-DD"
            yield Problem(source.mark(("rates", currency, "date")), "error", message, "date")


def _as_lock(problem: Problem) -> Problem:
    message = f"{problem.fault}; write the lock again with `bomgen lock`, or remove it"
    return problem._replace(message=message, rule=RULE)


def _book(source: Source, at: int) -> LockedBook:
    """Return a pinned price book; the marks of its prices refer to the lock."""
    inner = below(source, ("books", at, "book"))
    inner = inner._replace(data={prices.FORMAT_KEY: prices.FORMAT, **inner.data}, file=source.data["books"][at]["file"])
    try:
        return LockedBook(price_book(inner), inner.mark(()))
    except PlanErrors as errors:
        raise PlanErrors([_as_lock(problem) for problem in errors.problems[:1]]) from None


def _currencies(book: PriceBook, others: Sequence[Price]) -> tuple[tuple[str, Mark], ...]:
    """Return the currencies of a pinned book, each with the place that names it first."""
    found = dict(book.currencies)
    for price in others:
        found.setdefault(price.currency, price.mark)
    return tuple(found.items())
