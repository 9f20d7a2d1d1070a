"""Price books: what a part costs, by id or part number, from which quantity, as of when."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen import schema
from bomgen.figures import Mark
from bomgen.problems import PlanErrors, Problem
from bomgen.source import Source, exact_number

MAX_PRICE = 10**12


class Price(NamedTuple):
    """The unit price of a part from a quantity on."""

    part: str
    """Catalogue id or part number, in lower case."""
    amount: Decimal
    from_quantity: int
    valid_until: str | None
    source: str | None
    mark: Mark


class PriceBook(NamedTuple):
    """The prices of one file."""

    name: str
    currency: str
    date: str | None
    source: str | None
    prices: tuple[Price, ...]


def price_book(source: Source) -> PriceBook:
    """The price book in a YAML source. Raises PlanErrors when it is none."""
    problems = schema.check(source, "prices")
    if problems:
        raise PlanErrors(problems)
    data = source.data
    huge = [index for index, entry in enumerate(data["prices"]) if Fraction(decimal(entry["price"])) >= MAX_PRICE]
    if huge:
        message = f"a price of {MAX_PRICE} or more is a slip; give the price of one piece"
        raise PlanErrors([Problem(source.mark(("prices", i, "price")), "error", message, "range") for i in huge])
    seen: dict[tuple[str, int], int] = {}
    for index, entry in enumerate(data["prices"]):
        key = (str(entry["part"]).lower(), int(entry.get("from_quantity") or 1))
        if key in seen:
            first = source.mark(("prices", seen[key])).line
            message = f"a second price for {key[0]} from {key[1]}, the first is in line {first}; keep one"
            raise PlanErrors([Problem(source.mark(("prices", index)), "error", message, "duplicate-price")])
        seen[key] = index
    prices = tuple(
        Price(
            part=str(entry["part"]).lower(),
            amount=decimal(entry["price"]),
            from_quantity=int(entry.get("from_quantity") or 1),
            valid_until=entry.get("valid_until"),
            source=entry.get("source"),
            mark=source.mark(("prices", index)),
        )
        for index, entry in enumerate(data["prices"])
    )
    return PriceBook(
        str(data.get("name") or source.file), str(data["currency"]), data.get("date"), data.get("source"), prices
    )


def decimal(number: int | Fraction | str) -> Decimal:
    """A number that was written in decimal, exactly."""
    value = Fraction(exact_number(number) if isinstance(number, str) else number)
    return Decimal(value.numerator) / Decimal(value.denominator)


def first(books: Sequence[PriceBook], names: Sequence[str]) -> Price | None:
    """The price of a part for the fewest pieces that have one: the last book wins; `names` as in `find`."""
    for book in reversed(books):
        for name in names:
            known = [price for price in book.prices if price.part == name]
            if known:
                return min(known, key=lambda price: price.from_quantity)
    return None


def find(books: Sequence[PriceBook], names: Sequence[str], quantity: int) -> tuple[Price, PriceBook] | None:
    """The price of a part for so many pieces: the last book that has one wins, and in it the highest quantity reached.

    `names` are the part's id and numbers in lower case, the most exact first.
    """
    for book in reversed(books):
        for name in names:
            reached = [price for price in book.prices if price.part == name and price.from_quantity <= quantity]
            if reached:
                return max(reached, key=lambda price: price.from_quantity), book
    return None
