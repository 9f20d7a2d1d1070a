"""The commercial terms of a plan, declared and bound: `quote` with its alternatives, `stock` and `operation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from itertools import count as numbered
from typing import Any, NamedTuple

from bomgen.catalog.identity import slug
from bomgen.core.provenance import Assumed, Figure, Given, Mark, formula
from bomgen.core.units import MAX_PRICE, MONEY, MONTHS_A_YEAR, decimal, rounded
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.schema import Key

ORDER = "order"
"""The unit of a charge that is on the bill once."""
SOFTWARE, SUPPORT, SERVICE = "software", "support", "service"
CHARGED = (SOFTWARE, SUPPORT, SERVICE)
"""Categories of the lines other than hardware."""
SECRET_KEYS = ("cost_book", "cost", "sell")
"""Keys of the seller's costs and margins, which no result and no comparison of plans shows."""
DEFAULT = "default"
"""The key of the discount, or the tax rate, of all categories that have no separate one."""


class Party(NamedTuple):
    """One side of the quote; missing values are None."""

    name: Key[str]
    address: Key[tuple[str, ...]] = ()
    contact: Key[str | None] = None
    email: Key[str | None] = None
    phone: Key[str | None] = None
    tax_id: Key[str | None] = None
    reference: Key[str | None] = None


class Discounts(NamedTuple):
    """Shares deducted from the unit price."""

    categories: Mapping[str, Figure]
    """Discounts by category, and `default`."""
    parts: Mapping[str, Figure]
    """Discounts by catalogue id or part number, in lower case."""
    lines: Mapping[str, Figure]
    """Discounts by the id of a line."""


class Sell(NamedTuple):
    """Margins at which the seller's costs are sold, as shares of the price."""

    margin: Figure
    by: Mapping[str, Figure]
    """Margins by category, which take precedence."""
    mark: Mark

    def margin_of(self, category: str) -> Figure:
        """Return the margin of a category."""
        return self.by.get(category, self.margin)


class Exchange(NamedTuple):
    """The value of one unit of another currency in that of the quote, as of a day."""

    rate: Decimal
    date: Key[str]
    source: Key[str | None]
    mark: Mark


class Charge(NamedTuple):
    """A line besides the parts. One of price, part and share gives its unit price, or its cost and the margin."""

    id: str
    kind: Key[str]
    name: Key[str | None]
    category: str
    per: Key[str]
    """The unit of count: `order`, or the machines of a kind."""
    years: Key[Figure | None]
    months: Figure | None
    """Months to the end of the term; price, cost and share are then those of a month."""
    price: Decimal | None
    currency: Key[str | None]
    """Currency of price and cost; None for that of the quote."""
    cost: Decimal | None
    """The seller's cost of one piece, which no quote shows."""
    part: Key[str | None]
    share: Figure | None
    """Share of all hardware after discount."""
    once: Figure
    """One piece, where it is counted by the order."""
    mark: Mark

    @property
    def assumed(self) -> bool:
        """Return whether its share is an assumption."""
        stated = self.share.inputs[0][1] if self.share and self.share.inputs else self.share
        return stated is not None and isinstance(stated.origin, Assumed)

    @property
    def sold_by_cost(self) -> bool:
        """Return whether the cost is all that its price can follow from."""
        return self.cost is not None and self.price is None and self.part is None and self.share is None


class Operation(NamedTuple):
    """The operating period of the cluster, and its known running costs."""

    years: Key[Figure]
    load: Key[Figure]
    """Mean power as a share of the maximum."""
    use: Key[Figure]
    """Share of all GPU-hours that are used."""
    rack_cost: Figure | None
    """Monthly price of a rack's space, in the quote's currency."""
    mark: Mark


class Alternative(NamedTuple):
    """The same plan with other parts or values."""

    name: Key[str]
    substitute: Mapping[str, str]
    """The replacement of a part, or of each part of a category: an id, or `compatible`."""
    settings: Mapping[str, Any]
    """Values by the dotted path of their key."""
    mark: Mark


PROMISED = "delivery_time"
"""The condition of delivery that takes the place of the longest lead time of a part."""
DELIVERY = ("incoterm", "delivery_place", PROMISED, "warranty", "invoice")
"""Keys of conditions that a quote states one by one, in this order."""
FIRM = "firm"
"""The status of a quote whose prices are binding."""


class QuotePlan(NamedTuple):
    """The commercial terms of the plan; shares are figures."""

    customer: Party | None
    vendor: Party | None
    logo: tuple[str, Mark] | None
    """Path of the vendor's logo, relative to the plan."""
    status: Key[str | None]
    """`budgetary` or `firm`."""
    status_mark: Mark
    number: Key[str | None]
    revision: Key[str | None]
    currency: str
    assumed_currency: Figure | None
    """The assumed currency, where the plan sets none."""
    price_books: tuple[tuple[str, Mark], ...]
    cost_books: tuple[tuple[str, Mark], ...]
    sell: Sell | None
    """How costs become prices; None if they do not."""
    exchange: Mapping[str, Exchange]
    old_after: Key[Figure]
    """Age from which a price counts as old [days]."""
    estimate_below: Figure
    """Range below an estimated price without a given range, as a share of the price."""
    estimate_above: Figure
    """Range above it."""
    discounts: Discounts
    charges: tuple[Charge, ...]
    tax: Mapping[str, Figure]
    """Tax rates by category, and `default`; empty if the plan sets none."""
    inclusive: bool
    """Whether the quote shows prices including tax."""
    valid_days: Key[Figure | None]
    payment: Key[str | None]
    delivery: Mapping[str, str]
    """Conditions of delivery and payment in the customer's words, by the keys of DELIVERY."""
    bank: Key[tuple[str, ...]]
    """Lines of the bank details."""
    paper: Key[str]
    """a4 or letter."""
    terms: Key[tuple[str, ...]]
    date: Key[str | None]
    date_mark: Mark | None
    language: Key[str]
    alternatives: tuple[Alternative, ...]
    mark: Mark
    workbook: Key[str]
    """`open`, or `protected` where only quantities, prices and rates of the workbook may be changed."""


# binding --------------------------------------------------------------------------------------------------------------

MAX_RATE = 10**6
"""Maximum exchange rate: the largest real ones are some 10^5."""
INCLUSIVE = "inclusive"
"""The word for quotes that show prices including tax."""
PRICES = {"zh": INCLUSIVE}
"""How quotes in a language show prices, where it is not before tax."""
SUPPORT_SHARE = "support-share"
"""The assumed share of a year of support that has neither a share nor a price."""
PRICED_BY = {"price", "part", "cost"}
"""What gives a charge its price instead of a share."""
LISTED = ("parts", "lines")
"""Keys of `discount` that hold discounts by name."""


def quote(section: PlanSection) -> QuotePlan:
    """Return the commercial terms of the plan."""
    assumed = section.catalog.assumption("quote-currency")
    currency = section.text("currency") or str(assumed.value)
    vendor, exchange, discount = section.below("vendor"), section.below("exchange"), section.below("discount")
    sell = section.below("sell")
    margin = sell.figure("margin")
    return QuotePlan(
        **section.keys(QuotePlan),
        customer=_party(section, "customer"),
        vendor=_party(section, "vendor"),
        logo=(str(vendor.data["logo"]), vendor.value_mark("logo")) if vendor.has("logo") else None,
        status_mark=section.value_mark("status"),
        currency=currency,
        assumed_currency=None if section.has("currency") else assumed,
        price_books=paths(section, "price_book"),
        cost_books=paths(section, "cost_book"),
        sell=Sell(margin, _shares(sell.below("by")), sell.mark) if margin else None,
        exchange={currency: _exchange(exchange, currency) for currency in exchange.data},
        estimate_below=section.catalog.assumption("price-estimate-below"),
        estimate_above=section.catalog.assumption("price-estimate-above"),
        discounts=Discounts(
            _shares(discount),
            {name.lower(): share for name, share in _shares(discount.below("parts")).items()},
            _shares(discount.below("lines")),
        ),
        charges=tuple(_charges(section, currency)),
        tax=_taxes(section),
        inclusive=(section.text("prices") or PRICES.get(section.text("language") or "")) == INCLUSIVE,
        delivery={key: text for key in DELIVERY if (text := section.text(key))},
        date_mark=section.value_mark("date") if section.has("date") else None,
        alternatives=tuple(_alternatives(section)),
        mark=section.mark if section.data else section.source.mark(()),
    )


def owned(section: PlanSection) -> dict[str, Figure]:
    """Return the customer's parts in pieces, by catalogue id or part number in lower case."""
    pieces: dict[str, Figure] = {}
    for name in section.data:
        if name.lower() in pieces:
            section.problem(name, f"{name.lower()} is listed twice; list it once with the whole quantity", "duplicate")
        pieces[name.lower()] = section.setting(name)
    return pieces


def operation(section: PlanSection) -> Operation | None:
    """Return the operating period of the cluster and its costs; None where the plan has none."""
    if not section.data:
        return None
    rent, origin = _amount(section, "rack_cost"), Given(section.value_mark("rack_cost"), "rack_cost")
    return Operation(
        **section.keys(Operation),
        rack_cost=None if rent is None else Figure(Fraction(rent), MONEY, origin),
        mark=section.mark,
    )


def paths(section: PlanSection, key: str) -> tuple[tuple[str, Mark], ...]:
    """Return the path at a key, or those of the list there, each with its place."""
    value = section.data.get(key) or []
    if isinstance(value, str):
        return ((value, section.value_mark(key)),)
    below = section.below(key).path
    return tuple((path, section.source.mark((*below, index))) for index, path in enumerate(value))


def _amount(section: PlanSection, key: str) -> Decimal | None:
    value = section.data.get(key)
    amount = None if value is None else decimal(value)
    if amount is not None and amount >= MAX_PRICE:
        section.problem(key, f"an amount of {MAX_PRICE} or more looks wrong; write the unit price", "range")
        return Decimal(1)
    return amount


def _party(section: PlanSection, key: str) -> Party | None:
    if not section.has(key):
        return None
    if isinstance(section.data[key], str):
        return Party(section.data[key])
    return Party(**section.below(key).keys(Party))


def _exchange(section: PlanSection, currency: str) -> Exchange:
    exchange = section.below(currency)
    rate = decimal(exchange.data["rate"])
    if rate >= MAX_RATE or 0 < rate * MAX_RATE < 1:
        exchange.problem("rate", f"a rate of {rate:.2g} looks wrong; write the value of one {currency}", "range")
    return Exchange(rate, **exchange.keys(Exchange), mark=exchange.mark)


def _taxes(section: PlanSection) -> dict[str, Figure]:
    if isinstance(section.data.get("tax"), dict):
        return _shares(section.below("tax"))
    rate = section.figure("tax")
    return {DEFAULT: rate} if rate else {}


def _shares(section: PlanSection) -> dict[str, Figure]:
    """Return the shares of a mapping by key; nested mappings are left out."""
    return {name: section.setting(name) for name in section.data if name not in LISTED}


def _charges(section: PlanSection, currency: str) -> Iterator[Charge]:
    taken: set[str] = set()
    for at, charge in enumerate(section.items("charges")):
        kind, name = str(charge.data["kind"]), charge.text("name")
        category = SOFTWARE if kind == SOFTWARE else SERVICE
        stem = f"{category}.{slug(name or '') or kind}"
        line_id = next(id for id in chain((stem,), (f"{stem}.{number}" for number in numbered(2))) if id not in taken)
        taken.add(line_id)
        usual = SUPPORT_SHARE if kind == SUPPORT and not PRICED_BY & charge.data.keys() else None
        share = charge.figure("share", usual)
        if share and charge.has("per") and charge.text("per") != ORDER:
            text = f"a share is of all hardware and counts once; set `per: {ORDER}`, or remove `per`"
            charge.problem("per", text, "charge")
        months = _months_until(charge, section)
        price, cost = _amount(charge, "price"), _amount(charge, "cost")
        if months:
            currency_of_price = charge.text("currency") or currency
            price, cost = (
                amount and rounded(Fraction(amount) / MONTHS_A_YEAR, currency_of_price) for amount in (price, cost)
            )
            share = share and share_of_month(share)
        yield Charge(
            **charge.keys(Charge),
            id=line_id,
            category=category,
            months=months,
            price=price,
            cost=cost,
            share=share,
            once=Figure(1, "pieces", Given(charge.mark, f"charges.{at}")),
            mark=charge.mark,
        )


@formula("share")
def share_of_month(share: Fraction) -> Fraction:
    """Share of the hardware that a month of a yearly share comes to."""
    return Fraction(share, MONTHS_A_YEAR)


def _months_until(charge: PlanSection, quote: PlanSection) -> Figure | None:
    """Return the months from the date of the quote to the end of a charge's term, begun ones included."""
    end, start = charge.text("until"), str(quote.data.get("date") or "")
    if end is None:
        return None
    wrong = next((key for key in ("years", "part") if charge.has(key)), None)
    if wrong:
        charge.problem("until", f"`until` and `{wrong}` exclude each other; remove one of them", "charge")
    elif not start < end or not start:
        dated = f"is dated {start}" if start else "has no date"
        charge.problem("until", f"the term ends on {end}, but the quote {dated}; set an earlier `quote.date`", "date")
    (year, month, day), (end_year, end_month, end_day) = (map(int, text.split("-")) for text in (start or end, end))
    months = (end_year - year) * MONTHS_A_YEAR + end_month - month + (end_day > day)
    return Figure(max(months, 1), "months", Given(charge.value_mark("until"), "until"))


def _alternatives(section: PlanSection) -> Iterator[Alternative]:
    for entry in section.items("alternatives"):
        substitute = {str(key): str(value) for key, value in (entry.data.get("substitute") or {}).items()}
        yield Alternative(
            **entry.keys(Alternative), substitute=substitute, settings=entry.data.get("set") or {}, mark=entry.mark
        )
