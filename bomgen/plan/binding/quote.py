"""Binding of the commercial part of a plan: `quote`, `stock`, `operation`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from itertools import count as numbered

from bomgen.catalog.identity import slug
from bomgen.core.provenance import Figure, Given, Mark
from bomgen.core.units import MAX_PRICE, MONEY, decimal
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.commercial_terms import (
    DEFAULT,
    DELIVERY,
    ORDER,
    SERVICE,
    SOFTWARE,
    SUPPORT,
    Alternative,
    Charge,
    Discounts,
    Exchange,
    Operation,
    Party,
    QuotePlan,
    Sell,
)

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
    vendor, exchange, discount = section.below("vendor"), section.below("exchange"), section.below("discount")
    sell = section.below("sell")
    margin = sell.figure("margin")
    return QuotePlan(
        **section.keys(QuotePlan),
        customer=_party(section, "customer"),
        vendor=_party(section, "vendor"),
        logo=(str(vendor.data["logo"]), vendor.value_mark("logo")) if vendor.has("logo") else None,
        status_mark=section.value_mark("status"),
        currency=section.text("currency") or str(assumed.value),
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
        charges=tuple(_charges(section)),
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
            text = f"{name.lower()} is listed twice; list it once with the whole quantity"
            section.problem(name, text, "duplicate")
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


def _charges(section: PlanSection) -> Iterator[Charge]:
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
        price = _amount(charge, "price")
        yield Charge(
            **charge.keys(Charge),
            id=line_id,
            category=category,
            price=price,
            cost=_amount(charge, "cost"),
            share=share,
            once=Figure(1, "pieces", Given(charge.mark, f"charges.{at}")),
            mark=charge.mark,
        )


def _alternatives(section: PlanSection) -> Iterator[Alternative]:
    for entry in section.items("alternatives"):
        substitute = {str(key): str(value) for key, value in (entry.data.get("substitute") or {}).items()}
        yield Alternative(
            **entry.keys(Alternative), substitute=substitute, settings=entry.data.get("set") or {}, mark=entry.mark
        )
