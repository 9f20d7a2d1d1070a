"""The commercial part of a plan: who quotes whom, at which prices, discounts and rates, and what is shown beside."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from bomgen.core.provenance import Figure, Mark

ORDER = "order"
"""What a charge is counted by when it stands once on the bill."""
SOFTWARE, SUPPORT, SERVICE = "software", "support", "service"
CHARGED = (SOFTWARE, SUPPORT, SERVICE)
"""Categories of the lines that are no hardware."""
DEFAULT = "default"
"""The key of the discount of all categories without one of their own."""


class Party(NamedTuple):
    """One side of the quote; what is not given is None."""

    name: str
    address: tuple[str, ...] = ()
    contact: str | None = None
    email: str | None = None
    phone: str | None = None
    tax_id: str | None = None
    reference: str | None = None


class Discounts(NamedTuple):
    """Shares that are taken off the unit price."""

    categories: Mapping[str, Figure]
    """By category, and `default`."""
    parts: Mapping[str, Figure]
    """By catalogue id or part number, in lower case."""
    lines: Mapping[str, Figure]
    """By the id of a line."""


class Exchange(NamedTuple):
    """What one unit of another currency is worth in that of the quote, as of a day."""

    rate: Decimal
    date: str
    source: str | None
    mark: Mark


class Charge(NamedTuple):
    """A line beside the parts. One of price, part and share tells what a unit of it costs."""

    id: str
    kind: str
    name: str | None
    category: str
    per: str
    """What it is counted by: `order`, or the machines of a kind."""
    years: Figure | None
    price: Decimal | None
    part: str | None
    share: Figure | None
    """Of all hardware after discount."""
    once: Figure
    """One piece, where it is counted by the order."""
    mark: Mark


class Operation(NamedTuple):
    """How long the cluster runs, and what is known of its running costs."""

    years: Figure
    load: Figure
    """Mean power as a share of the maximum."""
    use: Figure
    """Share of all GPU-hours that are used."""
    rack_cost: Figure | None
    """Price of a rack's space a month, in the quote's currency."""
    mark: Mark


class Alternative(NamedTuple):
    """The same plan with other parts or values."""

    name: str
    substitute: Mapping[str, str]
    """What replaces a part, or each part of a category: an id, or `compatible`."""
    settings: Mapping[str, Any]
    """Values by the dotted path of their key."""
    mark: Mark


FIRM = "firm"
"""The status of a quote whose prices are binding."""


class QuotePlan(NamedTuple):
    """What the plan says of the quote; shares are figures."""

    customer: Party | None
    vendor: Party | None
    logo: tuple[str, Mark] | None
    """Path of the vendor's picture, relative to the plan."""
    status: str | None
    """`budgetary` or `firm`."""
    status_mark: Mark
    number: str | None
    revision: str | None
    currency: str
    assumed_currency: Figure | None
    """The assumption that the currency is, where the plan gives none."""
    price_books: tuple[tuple[str, Mark], ...]
    cost_books: tuple[tuple[str, Mark], ...]
    exchange: Mapping[str, Exchange]
    old_after: Figure
    """Age from which a price counts as old [days]."""
    estimate_below: Figure
    """Range below an estimated price without a range of its own, as a share of the price."""
    estimate_above: Figure
    """Range above it."""
    discounts: Discounts
    charges: tuple[Charge, ...]
    tax: Figure | None
    valid_days: Figure | None
    payment: str | None
    terms: tuple[str, ...]
    date: str | None
    date_mark: Mark | None
    language: str
    alternatives: tuple[Alternative, ...]
    mark: Mark
    workbook: str
    """`open`, or `protected` where only quantities, prices and rates of the workbook may be changed."""
