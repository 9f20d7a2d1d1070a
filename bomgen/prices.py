"""Price books: what a part costs, by id or part number, from which quantity, in which currency, as of when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen import schema
from bomgen.figures import Mark
from bomgen.problems import PlanErrors, Problem
from bomgen.source import Path, Source, exact_number

MAX_PRICE = 10**12
EARLIEST = date.min.isoformat()
_AMOUNTS = ("price", "min", "max")


class Price(NamedTuple):
    """The unit price of a part from a quantity on."""

    part: str
    """Catalogue id or part number, in lower case."""
    amount: Decimal | None
    """None where only a range is known."""
    low: Decimal | None
    high: Decimal | None
    """The range that the price lies in; both None where nobody gives one."""
    currency: str
    date: str | None
    from_quantity: int
    valid_until: str | None
    estimate: bool
    source: str | None
    mark: Mark


class PriceBook(NamedTuple):
    """The prices of one file."""

    name: str
    file: str
    prices: tuple[Price, ...]
    currencies: tuple[tuple[str, Mark], ...]
    """Every currency of its prices, and where it is named first."""


def price_book(source: Source) -> PriceBook:
    """The price book in a YAML source. Raises PlanErrors when it is none."""
    problems = schema.check(source, "prices") or _slips(source)
    if problems:
        raise PlanErrors(problems)
    data = source.data
    prices = tuple(_price(data, entry, source.mark(("prices", at))) for at, entry in enumerate(data["prices"]))
    return PriceBook(str(data.get("name") or source.file), source.file, prices, _currencies(source))


def _currencies(source: Source) -> tuple[tuple[str, Mark], ...]:
    """The currencies of a book, each with the place that names it first."""
    found = {str(source.data["currency"]): source.mark(("currency",))}
    for at, entry in enumerate(source.data["prices"]):
        if entry.get("currency"):
            found.setdefault(str(entry["currency"]), source.mark(("prices", at, "currency")))
    return tuple(found.items())


def _price(book: dict[str, Any], entry: dict[str, Any], mark: Mark) -> Price:
    """An entry of a book, with what the book says for all of them."""
    amount, low, high = (None if entry.get(key) is None else decimal(entry[key]) for key in _AMOUNTS)
    estimate = entry.get("estimate")
    return Price(
        part=str(entry["part"]).lower(),
        amount=amount,
        low=amount if low is None else low,
        high=amount if high is None else high,
        currency=str(entry.get("currency") or book["currency"]),
        date=entry.get("date") or book.get("date"),
        from_quantity=int(entry.get("from_quantity") or 1),
        valid_until=entry.get("valid_until"),
        estimate=bool(book.get("estimate") if estimate is None else estimate),
        source=entry.get("source") or book.get("source"),
        mark=mark,
    )


def _slips(source: Source) -> list[Problem]:
    """What the schema cannot say: prices too large, ranges upside down, two prices for one quantity of a part."""
    found = _unreal_dates(source)
    seen: dict[tuple[str, int], int] = {}
    for at, entry in enumerate(source.data["prices"]):
        given = {key: Fraction(decimal(entry[key])) for key in _AMOUNTS if entry.get(key) is not None}
        for key, amount in given.items():
            if amount >= MAX_PRICE:
                message = f"a price of {MAX_PRICE} or more is a slip; give the price of one piece"
                found.append(Problem(source.mark(("prices", at, key)), "error", message, "range"))
        mark = source.mark(("prices", at))
        if "price" not in given and not {"min", "max"} <= given.keys():
            message = f"no price for {entry['part']}; give a price, or `min` and `max`"
            found.append(Problem(mark, "error", message, "no-price"))
        ordered = [given[key] for key in ("min", "price", "max") if key in given]
        if ordered != sorted(ordered):
            message = f"the range of {entry['part']} does not hold its price; `min` <= `price` <= `max`"
            found.append(Problem(mark, "error", message, "price-range"))
        tier = (str(entry["part"]).lower(), int(entry.get("from_quantity") or 1))
        if tier in seen:
            first = source.mark(("prices", seen[tier])).line
            message = f"a second price for {tier[0]} from {tier[1]}, the first is in line {first}; keep one"
            found.append(Problem(mark, "error", message, "duplicate-price"))
        seen.setdefault(tier, at)
    return found


def _unreal_dates(source: Source) -> list[Problem]:
    """Dates that are not in the calendar."""
    paths: list[Path] = [("date",)]
    paths += [("prices", at, key) for at in range(len(source.data["prices"])) for key in ("date", "valid_until")]
    found = []
    for path in paths:
        given = source.data.get("date") if len(path) == 1 else source.data["prices"][path[1]].get(path[2])
        try:
            date.fromisoformat(given or EARLIEST)
        except ValueError:
            message = f"{given} is no date; write YYYY-MM-DD"
            found.append(Problem(source.mark(path), "error", message, "date"))
    return found


def decimal(number: int | Fraction | str) -> Decimal:
    """A number that was written in decimal, exactly."""
    value = Fraction(exact_number(number) if isinstance(number, str) else number)
    return Decimal(value.numerator) / Decimal(value.denominator)


def find(books: Sequence[PriceBook], names: Sequence[str], quantity: int) -> tuple[Price, PriceBook] | None:
    """The price of a part for so many pieces: the last book that has one wins, and in it the highest quantity reached.

    `names` are the part's id and numbers in lower case, the most exact first. A quantity below the first one that a
    book has a price for finds nothing there.
    """
    for book in reversed(books):
        for name in names:
            reached = [price for price in book.prices if price.part == name and price.from_quantity <= quantity]
            if reached:
                return max(reached, key=lambda price: price.from_quantity), book
    return None


def first(books: Sequence[PriceBook], names: Sequence[str]) -> Price | None:
    """The price of a part for the fewest pieces that have one: the last book wins; `names` as in `find`."""
    for book in reversed(books):
        for name in names:
            known = [price for price in book.prices if price.part == name]
            if known:
                return min(known, key=lambda price: price.from_quantity)
    return None
