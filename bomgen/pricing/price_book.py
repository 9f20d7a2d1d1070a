"""Prices: price books, and the unit prices of a quote that are looked up in them.

A book has prices by id or part number, with minimum quantity, currency and date. A unit price is in the currency of the
quote, less the plan's discounts. Prices in another currency are rounded per piece, because the printed unit price must
give the amount.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.files import ANY_LENGTH, LENGTH_CODE, named_length
from bomgen.catalog.parts import Cable, Module, Switch
from bomgen.core import schema
from bomgen.core.diagnostics import MAX_PROBLEMS, PlanErrors, Problem
from bomgen.core.provenance import Figure, Mark
from bomgen.core.safety import describe_invisible, find_invisible
from bomgen.core.units import MAX_PRICE, decimal, parse, rounded
from bomgen.core.yaml_source import MAX_DIGITS, MAX_TEXT, SIGN, Path, Source
from bomgen.plan.commercial_terms import CHARGED, DEFAULT, Charge, QuotePlan
from bomgen.pricing.bill_line import Line, names_of

FORMAT, FORMAT_KEY, FORMAT_RULE = 1, "bomgen_prices", "format"
"""Version of the price book format, its key, and the rule for a later version."""
KEPT = 20
"""Number of cached price books: all that one plan can name."""
INDICATIVE = "indicative"
"""The name in plans of the built-in price book, which has what the sources of the catalogue say that parts cost."""
OWN_PRICES = "own-prices.yaml"
"""The price book that `bomgen prices LIST --keep` collects lists in."""
AMOUNTS = ("price", "min", "max")
MISSING = "no-price"
"""The rule of a problem with an entry that has none of these."""
METRES = re.compile(r"-([0-9]+(?:\.[0-9]+)?)m$")
"""The length of a cable in a name whose id has none."""


class Price(NamedTuple):
    """The unit price of a part from a minimum quantity."""

    part: str
    """Catalogue id or part number, in lower case."""
    amount: Decimal | None
    """None if only a range is known."""
    low: Decimal | None
    high: Decimal | None
    """Upper end of the range; both ends are None without a range."""
    currency: str
    date: str | None
    from_quantity: int
    valid_until: str | None
    estimate: bool
    source: str | None
    lead_days: int | None
    """Lead time in days."""
    mark: Mark
    ranged: bool = True
    """Whether the book gives a range; an estimate without one has the default range."""

    @property
    def fields(self) -> tuple[object, ...]:
        """Return all fields except the place in the file."""
        return tuple(self._replace(mark=Mark("", 0, 0)))


class PriceBook(NamedTuple):
    """The prices of one file."""

    name: str
    file: str
    prices: tuple[Price, ...]
    currencies: tuple[tuple[str, Mark], ...]
    """Every currency of its prices, with the place that names it first."""
    hidden: tuple[str, ...] = ()
    """Hidden sheets of a workbook, which were not read."""
    warnings: tuple[Problem, ...] = ()
    """Warnings about the book."""
    categories: frozenset[str] | None = None
    """The categories whose lines it prices; None for all."""

    def prices_of(self, names: Sequence[str], category: str) -> Iterator[list[Price]]:
        """Yield the prices of a part in a category by each of its names that the book has, most specific first."""
        if self.categories is None or category in self.categories:
            for name in names:
                if prices := [price for price in self.prices if price.part == name]:
                    yield prices


def price_book(source: Source, checked: bool = False) -> PriceBook:
    """Return the price book in a file's data. Raises PlanErrors if it is invalid, unless it was checked before."""
    if not checked:
        check_price_book(source)
    data = source.data
    prices = tuple(_price(entry, source.mark(("prices", at))) for at, entry in enumerate(entries(source)))
    return PriceBook(str(data.get("name") or source.file), source.file, prices, _currencies(source))


def check_price_book(source: Source) -> None:
    """Check the data of a file. Raises PlanErrors with everything that makes it an invalid price book."""
    if newer := schema.newer(source, FORMAT_KEY, "a price book", FORMAT, FORMAT_RULE):
        raise PlanErrors([newer])
    problems = schema.check_schema(source, "prices") or find_slips(source)
    if problems:
        raise PlanErrors(problems)


def entries(source: Source) -> list[dict[str, Any]]:
    """Return the prices of a checked book with its defaults applied; keys without a value are omitted.

    Amounts are decimal, text is stripped, and `estimate` appears only if it is true.
    """
    return [_entry(source.data, entry) for entry in source.data["prices"]]


def collect(kept: Sequence[dict[str, Any]], added: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return kept prices with those added, which replace the ones of the same part, currency and least quantity."""
    keys = ("currency", "from_quantity")
    return [*{(str(entry["part"]).lower(), *map(entry.get, keys)): entry for entry in (*kept, *added)}.values()]


def _entry(book: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    estimate = entry.get("estimate")
    fields: dict[str, Any] = {
        "part": str(entry["part"]).strip(),
        **{key: decimal(entry[key]) for key in AMOUNTS if entry.get(key) is not None},
        "from_quantity": entry.get("from_quantity"),
        "valid_until": entry.get("valid_until"),
        "source": (entry.get("source") or "").strip() or (book.get("source") or "").strip(),
        "estimate": book.get("estimate") if estimate is None else estimate,
        "currency": entry.get("currency") or book.get("currency"),
        "date": entry.get("date") or book.get("date"),
        "lead_time": entry.get("lead_time"),
    }
    return {key: value for key, value in fields.items() if value not in (None, "", False) or key in AMOUNTS}


def _currencies(source: Source) -> tuple[tuple[str, Mark], ...]:
    currency = source.data.get("currency")
    currencies = {str(currency): source.mark(("currency",))} if currency else {}
    for at, entry in enumerate(source.data["prices"]):
        if entry.get("currency"):
            currencies.setdefault(str(entry["currency"]), source.mark(("prices", at, "currency")))
    return tuple(currencies.items())


def _price(entry: dict[str, Any], mark: Mark) -> Price:
    amount = entry.get("price")
    return Price(
        part=entry["part"].lower(),
        amount=amount,
        low=entry.get("min", amount),
        high=entry.get("max", amount),
        currency=entry["currency"],
        date=entry.get("date"),
        from_quantity=int(entry.get("from_quantity", 1)),
        valid_until=entry.get("valid_until"),
        estimate=bool(entry.get("estimate")),
        source=entry.get("source"),
        lead_days=int(parse(entry["lead_time"], "days")) if "lead_time" in entry else None,
        ranged="min" in entry or "max" in entry,
        mark=mark,
    )


def find_slips(source: Source) -> list[Problem]:
    """Return problems that the schema cannot find: too large prices, inverted ranges, two prices for one quantity."""
    problems = list(_odd_texts(source))
    for path, day in _held(source, ("date", "valid_until")):
        try:
            date.fromisoformat(day)
        except ValueError:
            problems.append(Problem(source.mark(path), "error", f"{day} is not a valid date; write YYYY-MM-DD", "date"))
    without = (at for at, entry in enumerate(source.data["prices"]) if not entry.get("currency"))
    if not source.data.get("currency") and (at := next(without, None)) is not None:
        part = source.data["prices"][at]["part"]
        message = f"no currency for {part}; set one for the whole book, for example `currency: USD`"
        problems.append(Problem(source.mark(("prices", at)), "error", message, "missing-key"))
    seen: dict[tuple[str, int], int] = {}
    for at, entry in enumerate(source.data["prices"]):
        amounts, odd = _amounts(source, at)
        problems += odd
        if "price" not in amounts and not {"min", "max"} <= amounts.keys() and not odd:
            message = f"no price for {entry['part']}; set a price, or `min` and `max`, or remove the part"
            problems.append(Problem(source.mark(("prices", at)), "error", message, MISSING))
        ordered = [amounts[key] for key in ("min", "price", "max") if key in amounts]
        if ordered != sorted(ordered):
            message = f"the range of {entry['part']} does not contain its price; set `min` <= `price` <= `max`"
            problems.append(Problem(source.mark(("prices", at)), "error", message, "price-range"))
        tier = (str(entry["part"]).strip().lower(), int(entry.get("from_quantity") or 1))
        if tier in seen:
            first = source.mark(("prices", seen[tier])).line
            message = f"a second price for {tier[0]} from {tier[1]}, the first is in line {first}; keep one"
            problems.append(Problem(source.mark(("prices", at)), "error", message, "duplicate-price"))
        seen.setdefault(tier, at)
    return sorted(problems, key=lambda problem: problem.mark)[:MAX_PROBLEMS]


def _amounts(source: Source, at: int) -> tuple[dict[str, Decimal], list[Problem]]:
    amounts: dict[str, Decimal] = {}
    problems = []
    entry = source.data["prices"][at]
    for key in AMOUNTS:
        value = entry.get(key)
        if value is None:
            continue
        try:
            amount = value if isinstance(value, Decimal) else decimal(value)
            is_short = len(f"{amount:f}") <= MAX_DIGITS
        except ValueError:
            is_short = False
        if is_short and amount < MAX_PRICE:
            amounts[key] = amount
            continue
        message = f"a price of {MAX_PRICE} or more looks wrong; write the unit price"
        if not is_short:
            message = f"a price of more than {MAX_DIGITS} digits; give it to a fraction of the minor unit"
        problems.append(Problem(source.mark(("prices", at, key)), "error", message, "range"))
    return amounts, problems


def _held(source: Source, keys: Sequence[str]) -> Iterator[tuple[Path, str]]:
    yield from (((key,), source.data[key]) for key in keys if source.data.get(key))
    for at, entry in enumerate(source.data["prices"]):
        for key in keys:
            if text := entry.get(key):
                yield ("prices", at, key), text


def _odd_texts(source: Source) -> Iterator[Problem]:
    """Yield problems for invisible characters, texts too long for a sheet's cell, and blank part names."""
    for path, text in _held(source, ("name", "part", "source")):
        at = find_invisible(text)
        if at is not None:
            yield Problem(source.mark(path), "error", describe_invisible(text[at]), SIGN)
        elif len(text) > MAX_TEXT:
            yield Problem(source.mark(path), "error", f"a text of {len(text)}; at most {MAX_TEXT} characters", "text")
        elif path[-1] == "part" and not text.strip():
            message = "the name of the part is blank; write its id or part number"
            yield Problem(source.mark(path), "error", message, "text")


def find_price(
    books: Sequence[PriceBook], names: Sequence[str], quantity: int | None, category: str
) -> tuple[Price, PriceBook] | None:
    """Return the price of a part for a quantity, from the last book that has one, at the highest minimum reached.

    Without a quantity, it is the price at the smallest minimum. `names` are the part's id and numbers in lower case,
    most specific first. In that book, a quantity below the smallest minimum finds nothing.
    """
    for book in reversed(books):
        for prices in book.prices_of(names, category):
            reached = [price for price in prices if quantity is None or price.from_quantity <= quantity]
            if reached:
                choose = min if quantity is None else max
                return choose(reached, key=lambda price: price.from_quantity), book
    return None


def find_longer(books: Sequence[PriceBook], names: Sequence[str]) -> tuple[Price, PriceBook] | None:
    """Return the price of the next longer cable of a family, as an estimate: a shorter cable costs no more.

    It is that of the last book that has one; `names` as in `find_price`. None for other parts than cables.
    """
    family, length = _family_and_length(names[0]) if names else ("", None)
    if length is None:
        return None
    for book in reversed(books):
        lengths = [(*_family_and_length(price.part), price) for price in book.prices]
        longer = [(metres, price) for of, metres, price in lengths if of == family and metres and metres > length]
        if longer:
            price = min(longer, key=lambda found: (found[0], found[1].from_quantity))[1]
            return price._replace(estimate=True), book
    return None


def _family_and_length(name: str) -> tuple[str, Fraction | None]:
    if match := METRES.search(name):
        return name[: match.start()], Fraction(match.group(1))
    family = LENGTH_CODE.sub(ANY_LENGTH, name)
    return family, named_length(family, name)


class Unit(NamedTuple):
    """A unit price in the currency of the quote before discount; None if unknown."""

    amount: Decimal | None
    low: Decimal | None
    high: Decimal | None
    price: Price | None = None
    book: PriceBook | None = None

    @property
    def ranges(self) -> bool:
        """Return whether the price is only known as a range."""
        return self.low != self.high


UNKNOWN = Unit(None, None, None)


def units(lines: Sequence[Line], plan: QuotePlan, books: Sequence[PriceBook]) -> Iterator[Unit]:
    """Yield the unit price of each line; 0 for stock, unknown for a share of other lines.

    The quantity for price breaks is that of the part over all charged lines.
    """
    of_part = pieces_of_parts(lines)
    for line in lines:
        if line.in_stock:
            nothing = rounded(Fraction(0), plan.currency)
            yield Unit(nothing, nothing, nothing)
        elif line.charge and (price := price_of_charge(line.charge, plan)) is not None:
            yield Unit(price, price, price)
        else:
            yield unit_for(line.names, line.category, of_part[line.part or line.id], plan, books)


def pieces_of_parts(lines: Sequence[Line]) -> dict[str, int]:
    """Return the pieces per part, or per line without a part, over all charged lines."""
    pieces: dict[str, int] = {}
    for line in lines:
        if not line.in_stock:
            pieces[line.part or line.id] = pieces.get(line.part or line.id, 0) + line.pieces
    return pieces


def price_of_charge(charge: Charge, plan: QuotePlan) -> Decimal | None:
    """Return the price that the plan gives a charge, or its cost at the margin; None for a part or a share."""
    if charge.price is not None:
        return converted(charge.price, charge.currency or plan.currency, plan)
    if charge.cost is None or not charge.sold_by_cost or plan.sell is None:
        return None
    cost = converted(charge.cost, charge.currency or plan.currency, plan)
    return at_margin(cost, plan.sell.margin_of(charge.category), plan)


def at_margin(cost: Decimal, margin: Figure, plan: QuotePlan) -> Decimal:
    """Return the price of which the margin is a share, rounded half up to the minor unit."""
    return rounded(Fraction(cost) / (1 - Fraction(margin.value)), plan.currency)


def unit_for(names: Sequence[str], category: str, pieces: int, plan: QuotePlan, books: Sequence[PriceBook]) -> Unit:
    """Return the unit price of a part in the currency of the quote, for a quantity; an estimate has a range.

    `names` as in `find_price`. Raises KeyError if the plan has no exchange rate for the currency of the price.
    """
    match = find_price(books, names, pieces, category)
    if match is None:
        match = find_longer(books, names)
    if match is None:
        return UNKNOWN
    price, book = match
    if price.estimate and not price.ranged and price.amount is not None:
        ends = (1 - Fraction(plan.estimate_below.value), 1 + Fraction(plan.estimate_above.value))
        lowest, highest = (rounded(Fraction(price.amount) * end, price.currency) for end in ends)
        price = price._replace(low=lowest, high=highest)
    amount, low, high = (
        None if end is None else converted(end, price.currency, plan) for end in (price.amount, price.low, price.high)
    )
    return Unit(amount, low, high, price, book)


def converted(amount: Decimal, currency: str, plan: QuotePlan) -> Decimal:
    """Return an amount in the currency of the quote, rounded half up to its minor unit if it is converted.

    Raises KeyError if the plan has no exchange rate for its currency.
    """
    if currency == plan.currency:
        return amount
    return rounded(Fraction(amount) * Fraction(plan.exchange[currency].rate), plan.currency)


def missing_rates(plan: QuotePlan, books: Sequence[PriceBook]) -> list[Problem]:
    """Return problems for currencies of price books and charges without a rate, at the first place of each."""
    message = "{what} in {currency}, the quote is in {own}; pin a rate under `quote.exchange`"
    used = [
        (f"the price book {book.name} has prices", currency, mark)
        for book in books
        for currency, mark in book.currencies
    ]
    used += [
        (f"the charge '{charge.name or charge.kind}' has its price", charge.currency, charge.mark)
        for charge in plan.charges
        if charge.currency
    ]
    return [
        Problem(mark, "error", message.format(what=what, currency=currency, own=plan.currency), "currency", "quote")
        for what, currency, mark in used
        if currency != plan.currency and currency not in plan.exchange
    ]


def discount_given(line: Line, plan: QuotePlan) -> Figure | None:
    """Return the discount share that the plan sets for a line, its part or its category.

    None if there is none, or the line is not charged.
    """
    if line.in_stock:
        return None
    return plan.discounts.lines.get(line.id) or _discount_given_on(line.names, line.category, plan)


def _discount_given_on(names: Sequence[str], category: str, plan: QuotePlan) -> Figure | None:
    discounts = plan.discounts
    default = None if category in CHARGED else discounts.categories.get(DEFAULT)
    of_part = next((discounts.parts[name] for name in names if name in discounts.parts), None)
    return of_part or discounts.categories.get(category, default)


def part_price(
    plan: QuotePlan, books: Sequence[PriceBook]
) -> Callable[[Module | Cable | Switch, Fraction | None], Fraction | None]:
    """Return a function for the net price of a module, or of a cable of one length [m]; None if no book has one."""

    def price(part: Module | Cable | Switch, length_m: Fraction | None) -> Fraction | None:
        return net_price(names_of(part, length_m), part.identity.kind, None, plan, books)

    return price


def net_price(
    names: Sequence[str], category: str, pieces: int | None, plan: QuotePlan, books: Sequence[PriceBook]
) -> Fraction | None:
    """Return the net unit price of a part, for `names` and a quantity as in `find_price`; None if no book has one."""
    match = find_price(books, names, pieces, category)
    if match is None or match[0].amount is None:
        return None
    amount, discount = converted(match[0].amount, match[0].currency, plan), _discount_given_on(names, category, plan)
    return Fraction(amount) * (1 - Fraction(discount.value if discount else 0))
