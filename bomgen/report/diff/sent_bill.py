"""Somebody's bill as a side of a comparison: its lines by part, to match those of another by number."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from bomgen import __version__
from bomgen.core.money import ANY_AMOUNT
from bomgen.reading.bills import SentBill, SentLine
from bomgen.report.diff.side import BILL, Item, Money, Side

UNKNOWN = "unknown"
"""The category of lines of parts that nobody knows."""


def side_of_bill(bill: SentBill) -> Side:
    """The side of a bill, whose currency may not be known."""
    items = tuple(_by_part(_item(line) for line in bill.lines if line.quantity))
    amounts = [item.amount for item in items]
    total = Decimal(0)
    for amount in amounts:
        total = ANY_AMOUNT.add(total, amount or Decimal(0))
    money = Money(bill.currency, Decimal(0), total, None not in amounts)
    return Side(bill.file, BILL, bill.file, __version__, items, money, {}, {}, {}, (), {}, rates_known=True)


def beside_bill(old: Side, new: Side) -> tuple[Side, Side]:
    """Both sides by part, where one is somebody's bill: one that names no currency has that of the other."""
    currency = old.totals.currency or new.totals.currency
    one, other = _without_design(old), _without_design(new)
    return tuple(  # type: ignore[return-value]
        each._replace(totals=each.totals._replace(currency=each.totals.currency or currency)) for each in (one, other)
    )


def _without_design(side: Side) -> Side:
    """A side with its lines by part, and nothing else."""
    return side._replace(
        items=tuple(_by_part(side.items)),
        numbers={},
        units={},
        fabrics={},
        warnings=(),
        alternatives={},
        source=None,
        clusters=(),
    )


def _item(line: SentLine) -> Item:
    named = line.recognition.named
    amount = line.amount
    if amount is None and line.unit_price is not None:
        share = 1 - (line.discount or Decimal(0))
        amount = ANY_AMOUNT.multiply(ANY_AMOUNT.multiply(line.unit_price, Decimal(line.pieces)), share)
    part = named.part if named else line.shown.lower()
    return Item(
        *(part, named.kind if named else UNKNOWN, None, None, part, line.part or None, None, line.description or part),
        *(line.quantity or 0, line.spare or 0, line.unit_price, line.discount or Decimal(0), amount, line.in_stock),
        *(line.unit_price, None, None),
    )


def _by_part(items: Iterable[Item]) -> Iterable[Item]:
    """Items of one part as one: pieces and amounts together, the price where it is one."""
    found: dict[tuple[str, str], Item] = {}
    for item in items:
        part = item.part or item.description.lower()
        key = item.category, part if item.part else item.description
        first = found.get(key)
        if first is None:
            found[key] = item._replace(
                id=part,
                fabric=None,
                role=None,
                description=part,
                cluster="",
                quantity=item.pieces,
                spare=0,
                original_price=None,
                original_currency=None,
                exchange_rate=None,
            )
            continue
        known = first.amount is not None and item.amount is not None
        same = first.unit_price == item.unit_price
        found[key] = first._replace(
            quantity=first.quantity + item.pieces,
            unit_price=first.unit_price if same else None,
            amount=ANY_AMOUNT.add(first.amount or Decimal(0), item.amount or Decimal(0))
            if known
            else first.amount or item.amount,
        )
    return found.values()
