"""The arithmetic of a bill: amounts of lines, sums, discounts and tax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from bomgen.core.messages import message
from bomgen.core.money import ANY_AMOUNT, minor_unit
from bomgen.reading.bills import SentBill, SentLine, Sum
from bomgen.reading.findings import PINPOINTED, Finding, at_line

PRICE_DIGITS = Decimal("0.005")
"""A unit price that is shown rounded may be off by so much a piece."""
PAID = "折"
"""In the heading of a discount that may be what is paid."""
PER_CENT = 100
_NONE = Decimal(0)


def check_prices(bill: SentBill) -> Iterator[Finding]:
    """Amounts that are not pieces times price less discount, and sums that are not those of their lines."""
    yield from (finding for line in bill.lines if (finding := _check_amount(line, bill)))
    yield from _check_sums(bill)
    yield from _check_one_price(bill.lines)


def _check_amount(line: SentLine, bill: SentBill) -> Finding | None:
    """That the amount of a line is not what its pieces cost; None where it is, or cannot be told."""
    if line.amount is None or line.unit_price is None or line.quantity is None:
        return None
    share = line.discount or _NONE
    expected = [
        ANY_AMOUNT.multiply(ANY_AMOUNT.multiply(Decimal(pieces), line.unit_price), factor)
        for pieces in dict.fromkeys((line.pieces, line.quantity))
        for factor in _factors(share, bill)
    ]
    slack = max(
        minor_unit(bill.currency), ANY_AMOUNT.multiply(PRICE_DIGITS, Decimal(line.pieces)) if _rounded(line) else _NONE
    )
    if any(abs(line.amount - each) <= slack for each in expected):
        return None
    difference = line.amount - expected[0]
    found = at_line(
        "error",
        line,
        "amount",
        weight=PINPOINTED,
        shown=_short(line.amount),
        expected=_short(expected[0]),
        pieces=line.pieces,
        price=_short(line.unit_price),
        discount=_percent(share),
    )
    return found._replace(money=difference)


def _factors(share: Decimal, bill: SentBill) -> list[Decimal]:
    """What a price may be multiplied by: a net one has its discount in it; 折扣 is what is off, or what is paid."""
    found = [1 - share]
    if _net_prices(bill):
        found.append(Decimal(1))
    if PAID in bill.columns.get("discount", "") and share:
        found.append(share)
    return found


def _net_prices(bill: SentBill) -> bool:
    """Whether the prices are called net: then the discount is in them."""
    return "net" in bill.columns.get("price", "").lower()


def _rounded(line: SentLine) -> bool:
    return line.unit_price is not None and bool(line.discount)


def _check_sums(bill: SentBill) -> Iterator[Finding]:
    """Sums below the lines against the lines."""
    slack = ANY_AMOUNT.multiply(minor_unit(bill.currency), Decimal(max(len(bill.lines), 1)))
    start = 0
    beside = dict.fromkeys(("discount", "tax", "freight"), _NONE)
    for each in bill.sums:
        lines = bill.lines[: each.lines]
        below = _sum(lines)
        if not any(line.amount is not None for line in lines):
            continue
        if each.kind == "subtotal":
            allowed = {_sum(bill.lines[start : each.lines]), below, below - abs(beside["discount"])}
            start = each.lines
        elif each.kind == "total":
            net = below - abs(beside["discount"])
            allowed = {
                below,
                net,
                net + beside["tax"],
                net + beside["tax"] + beside["freight"],
                net + beside["freight"],
            }
        elif each.kind == "tax":
            beside["tax"] += each.amount
            if each.share is None:
                continue
            net = below - abs(beside["discount"])
            allowed = {_times(each.share, net), _times(each.share, below), _times(each.share, net + beside["freight"])}
        else:
            beside[each.kind] += each.amount
            if each.kind != "discount" or each.share is None:
                continue
            allowed = {_times(each.share, below), -_times(each.share, below)}
        if not any(abs(each.amount - one) <= slack for one in allowed):
            yield _wrong_sum(each, min(allowed, key=lambda one: abs(each.amount - one)))


def _wrong_sum(each: Sum, expected: Decimal) -> Finding:
    said = message(
        "xray-sum", kind=message(f"xray-sum-{each.kind}"), shown=_short(each.amount), expected=_short(expected)
    )
    return Finding("error", said, each.mark, money=each.amount - expected, weight=PINPOINTED)


def _check_one_price(lines: Sequence[SentLine]) -> Iterator[Finding]:
    """Lines that price a part otherwise than a line before them."""
    prices: dict[str, SentLine] = {}
    for line in lines:
        named = line.recognition.named
        if named is None or not named.certain or line.unit_price is None or line.in_stock:
            continue
        first = prices.setdefault(named.part, line)
        if first.unit_price is not None and first.unit_price != line.unit_price:
            yield at_line(
                "doubt",
                line,
                "two-prices",
                price=_short(line.unit_price),
                other=_short(first.unit_price),
                at=first.mark.line,
            )


def _sum(lines: Sequence[SentLine]) -> Decimal:
    total = _NONE
    for line in lines:
        total = ANY_AMOUNT.add(total, line.amount or _NONE)
    return total


def _times(share: Decimal, amount: Decimal) -> Decimal:
    return ANY_AMOUNT.multiply(share, amount)


def _short(amount: Decimal) -> Decimal:
    """An amount without digits behind the point that say nothing."""
    return amount.to_integral_value() if amount == amount.to_integral_value() else amount.normalize(ANY_AMOUNT)


def _percent(share: Decimal) -> str:
    return f"{(share * PER_CENT).normalize():f} %"
