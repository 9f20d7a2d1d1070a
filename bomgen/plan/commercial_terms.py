"""The commercial terms of a plan: the parties, prices, discounts and rates, and the alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from bomgen.core.provenance import Assumed, Figure, Mark
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
        return self.share is not None and isinstance(self.share.origin, Assumed)

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
