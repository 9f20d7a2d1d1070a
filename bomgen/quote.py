"""Money: prices joined to the lines of a bill. A missing price is a marked line, never zero.

An amount is (quantity + spare) x unit price x (1 - discount), rounded half up to the currency's minor unit; the list
total is the sum of the undiscounted amounts rounded alike, the discount what separates the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.bill import Bill, Line, names_of
from bomgen.figures import Mark
from bomgen.money import Totals, minor_unit, rounded
from bomgen.parts import Cable, Module
from bomgen.plan import QuotePlan
from bomgen.prices import Price, PriceBook, find, first
from bomgen.problems import PlanErrors, Problem


class QuoteLine(NamedTuple):
    """A line with its money; price and amount are None where no book has a price."""

    line: Line
    price: Price | None
    book: PriceBook | None
    discount: Fraction
    list_amount: Decimal | None
    amount: Decimal | None

    @property
    def pieces(self) -> int:
        """Pieces bought: installed and spare."""
        return pieces(self.line)


class Quote(NamedTuple):
    """The priced bill."""

    lines: tuple[QuoteLine, ...]
    totals: Totals
    problems: tuple[Problem, ...]


def pieces(line: Line) -> int:
    """Pieces of a line that are bought: installed and spare."""
    return int(line.quantity.value + (line.spare.value if line.spare else 0))


def quote(bill: Bill, plan: QuotePlan, books: Sequence[PriceBook]) -> Quote:
    """The bill with money.

    Raises PlanErrors when a price book is in another currency than the quote.
    """
    problems = [_currency_problem(plan, book, mark) for book, (_, mark) in zip(books, plan.price_books, strict=True)]
    wrong = [problem for problem in problems if problem]
    if wrong:
        raise PlanErrors(wrong)
    of_part: dict[str, int] = {}
    for line in bill.lines:
        of_part[line.part or line.id] = of_part.get(line.part or line.id, 0) + pieces(line)
    lines = tuple(_priced(line, plan, books, of_part[line.part or line.id]) for line in bill.lines)
    return Quote(lines, _totals(lines, plan), (*_expired(lines, plan), *_without_price(lines, plan)))


def part_price(
    plan: QuotePlan, books: Sequence[PriceBook]
) -> Callable[[Module | Cable, Fraction | None], Fraction | None]:
    """What tells the discounted price of a module, or of a cable of one length [m]; None where no book has one."""
    usable = [book for book in books if book.currency == plan.currency]

    def price(part: Module | Cable, length_m: Fraction | None) -> Fraction | None:
        found = first(usable, names_of(part, length_m))
        return Fraction(found.amount) * (1 - _discount(plan, part.identity.kind)) if found else None

    return price


def _discount(plan: QuotePlan, category: str) -> Fraction:
    """The share that is taken off parts of a category."""
    given = plan.discounts.get(category, plan.discounts.get("default"))
    return Fraction(given.value) if given else Fraction(0)


def _currency_problem(plan: QuotePlan, book: PriceBook, mark: Mark) -> Problem | None:
    if book.currency == plan.currency:
        return None
    message = (
        f"the price book {book.name} is in {book.currency}, the quote in {plan.currency}; give one in {plan.currency}"
    )
    return Problem(mark, "error", message, "currency", "quote.price_book")


def _priced(line: Line, plan: QuotePlan, books: Sequence[PriceBook], quantity: int) -> QuoteLine:
    discount = _discount(plan, line.category)
    found = find(books, list(_names(line)), quantity)
    if found is None:
        return QuoteLine(line, None, None, discount, None, None)
    price, book = found
    before = pieces(line) * Fraction(price.amount)
    amounts = (rounded(amount, plan.currency) for amount in (before, before * (1 - discount)))
    return QuoteLine(line, price, book, discount, *amounts)


def _names(line: Line) -> list[str]:
    """What a price book may call the part of a line, the most exact first."""
    names = [line.part or "", *(line.sku or "").split(" / ")]
    if line.identity:
        identity = line.identity
        names += [identity.id, identity.part_number or "", identity.ordering_number or ""]
    return [name.lower() for name in dict.fromkeys(names) if name]


def _totals(lines: Sequence[QuoteLine], plan: QuotePlan) -> Totals:
    nothing = Decimal(0) * minor_unit(plan.currency)
    before = sum((line.list_amount for line in lines if line.list_amount is not None), nothing)
    after = sum((line.amount for line in lines if line.amount is not None), nothing)
    share = Fraction(plan.tax.value) if plan.tax else None
    tax = rounded(Fraction(after) * (share or 0), plan.currency)
    priced = sum(line.amount is not None for line in lines)
    return Totals(
        currency=plan.currency,
        complete=priced == len(lines),
        list=before,
        discount=before - after,
        tax_share=share,
        tax=tax,
        amount=after + tax,
        priced_lines=priced,
        lines=len(lines),
    )


def _without_price(lines: Sequence[QuoteLine], plan: QuotePlan) -> list[Problem]:
    """Parts that no price book of the plan has, where it names one."""
    names = dict.fromkeys(line.line.part or line.line.description for line in lines if line.amount is None)
    if not names or not plan.price_books:
        return []
    message = f"no price for {', '.join(names)}: the total is a lower bound; add them to a price book"
    return [Problem(plan.price_books[-1][1], "warning", message, "missing-price", "totals.complete")]


def _expired(lines: Sequence[QuoteLine], plan: QuotePlan) -> list[Problem]:
    """Prices that are no longer valid on the date of the quote."""
    if plan.date is None:
        return []
    found = [
        Problem(
            line.price.mark,
            "warning",
            f"the price of {line.price.part} was valid until {line.price.valid_until}, the quote is of {plan.date}; "
            "ask for a new one",
            "expired-price",
            f"lines.{line.line.id}",
        )
        for line in lines
        if line.price and line.price.valid_until and line.price.valid_until < plan.date
    ]
    return list(dict.fromkeys(found))
