"""How a comparison writes numbers, changes and money: one line of English for each."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from bomgen.core.language import Language, language
from bomgen.core.money import ANY_AMOUNT
from bomgen.documents.diff.difference import split_line
from bomgen.documents.diff.matching import ADDED, REMOVED, Pair
from bomgen.documents.diff.side import Ends, Item

ARROW = "->"
MINUS = "-"
SHOWN_UNITS = ("W", "Gb/s", "kg", "days", "h", "min", "s", "bytes", "bytes/s", "kWh", "FLOP/s", "share", "m", "BTU/h")
"""Units that say what a number is; the others, such as pieces, say what its label says."""
NOTHING = "none"
MONEY = "money"
_TENTHS = 1000
_PERCENT = 10
_LONG = 44
"""Characters of a description from which the id of the part is shown in its place."""


def words() -> Language:
    """The language that comparisons are written in."""
    return language("en")


def value_text(value: Any, unit: str, ends: Ends | None = None) -> str:
    """Return a number or word of the design as text, an estimate with the ends of its range."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit == MONEY:
        return words().number(round(Fraction(value)) if abs(value) >= _TENTHS else Fraction(value))
    return words().value(value, unit if unit in SHOWN_UNITS else "", ends)


def change_text(change: int | Fraction | None, unit: str, before: Any) -> str:
    """How much more a number is, with its share of the old one."""
    if change is None:
        return ""
    sign = "+" if change > 0 else MINUS
    share = share_text(Fraction(change), Fraction(before))
    return f"{sign}{value_text(abs(change), unit)}" + (f" ({share})" if share else "")


def share_text(change: Fraction, before: Fraction) -> str:
    """A change as a share of what was there, in tenths of a per cent; nothing where nothing was there."""
    if not before:
        return ""
    tenths = round(abs(change / before) * _TENTHS)
    sign = "+" if change > 0 else MINUS if change < 0 else ""
    if not tenths and change:
        return "< 0.1 %"
    return f"{sign}{tenths // _PERCENT}.{tenths % _PERCENT} %"


def money_text(amount: Decimal, currency: str) -> str:
    """An amount with its currency."""
    return words().money(amount, currency)


def signed_money(amount: Decimal, currency: str, named: bool = False) -> str:
    """A change of an amount, with the currency in front where that is not said elsewhere."""
    text = words().amount(abs(amount), currency)
    sign = "+" if amount > 0 else MINUS if amount < 0 else ""
    return f"{sign}{currency} {text}" if named else f"{sign}{text}"


def part_text(item: Item) -> str:
    """What stands on a line: its name, or its part where that is long."""
    if len(item.description) <= _LONG:
        return item.description
    return item.part or item.description[:_LONG].rstrip() + "..."


def pieces_text(pair: Pair) -> str:
    """How many pieces more or fewer; a sign stands in front of the row."""
    if not pair.pieces:
        return ""
    return f"{words().integer(abs(pair.pieces))} x"


def what_changed(pair: Pair, currency: str | None) -> str:
    """What changed on a line: numbers before and after."""
    if pair.change == ADDED or pair.change == REMOVED:
        item, said = pair.item, "new" if pair.new else "gone"
        instead = ", in place of the one above" if pair.replaces else ""
        return said + (f", {item.spare} of them spare" if item.spare else "") + instead
    old, new = pair.old, pair.new
    if old is None or new is None:
        raise ValueError("a changed line has two sides")
    found = []
    if old.quantity != new.quantity:
        found.append(f"{words().integer(old.quantity)} {ARROW} {words().integer(new.quantity)}")
    if old.spare != new.spare:
        found.append(f"spare {old.spare} {ARROW} {new.spare}")
    if old.unit_price is None and new.unit_price is not None:
        found.append(f"priced now: {_price(new, currency)}")
    elif new.unit_price is None and old.unit_price is not None:
        found.append(f"no price now, was {_price(old, currency)}")
    elif old.unit_price != new.unit_price:
        found.append(f"unit price {_price(old, currency)} {ARROW} {_price(new, currency)}")
    if old.discount != new.discount:
        was, became = (words().exact_share(Fraction(item.discount)) for item in (old, new))
        found.append(f"discount {was} {ARROW} {became}")
    if not found and old.exchange_rate != new.exchange_rate:
        found.append(f"exchange rate {old.exchange_rate} {ARROW} {new.exchange_rate}")
    if not found and old.id != new.id:
        found.append(f"was {old.id}")
    return ", ".join(found) or "only its description"


def _price(item: Item, currency: str | None) -> str:
    if item.unit_price is None:
        return NOTHING
    return words().unit_price(item.unit_price, currency or "")


def line_change(pair: Pair, currency: str | None) -> Decimal | None:
    """How much more a line comes to; None where that is not known, or the sides have different currencies."""
    amounts = [item.amount for item in (pair.old, pair.new) if item]
    if currency is None or all(amount is None for amount in amounts):
        return None
    total = Decimal(0)
    for amount in split_line(pair, currency).values():
        total = ANY_AMOUNT.add(total, amount)
    return total


def amount_text(pair: Pair, currency: str | None) -> str:
    """How much more a line comes to."""
    change = line_change(pair, currency)
    if change is None:
        return "" if currency is None else "no price"
    return signed_money(change, currency or "") if change else "0"
