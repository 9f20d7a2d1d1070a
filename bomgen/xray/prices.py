"""Checks of the numbers of a bill: unreadable quantities, line amounts, sums, discounts, tax and currencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from bomgen.core.messages import message
from bomgen.core.money import ANY_AMOUNT, minor_unit
from bomgen.reading.bills import Listed, SentBill, SentLine, SumRow
from bomgen.reading.cells import TENTHS, Broken
from bomgen.reading.list_columns import QUANTITY
from bomgen.xray.types import GENERAL, PINPOINTED, Finding, Severity, at_line, name_place

PRICE_DIGITS = Decimal("0.005")
"""Maximum rounding error of a displayed unit price."""
SHOWN_VALUE = 40
"""Characters of a value in a finding."""
PAID = "折"
"""Sign in the heading of a discount that may be the paid share."""
PER_CENT = 100
HALF = Decimal("0.5")
"""Maximum rounding error in units of the last digit."""
_NONE = Decimal(0)


def check_prices(bill: SentBill) -> Iterator[Finding]:
    """Yield errors in the quantities, amounts, sums, prices and currencies of a bill."""
    yield from filter(None, map(_check_quantity, bill.lines))
    yield from _check_values(bill)
    yield from (finding for line in bill.lines if (finding := _check_net_price(line, bill)))
    yield from (finding for line in bill.lines if (finding := _check_amount(line, bill)))
    yield from _check_sums(bill)
    yield from _check_one_price(bill.lines)
    yield from _check_currencies(bill)


def _check_quantity(line: SentLine) -> Finding | None:
    """Return a finding for a line without readable pieces, if it has a value there or names a part by number."""
    found = [value for column, value in line.unread if column == QUANTITY]
    if not found:
        named = line.recognition.named
        is_sure = line.quantity is None and line.part and named and named.certain
        return at_line("unknown", line, "no-quantity", weight=GENERAL, part=line.shown) if is_sure else None
    if isinstance(found[0], Broken):
        return at_line("unknown", line, "quantity", weight=GENERAL, shown=message("xray-formula"))
    shown = f"{found[0]:f}" if isinstance(found[0], Decimal) else str(found[0])
    is_number = isinstance(found[0], Decimal) or any(sign.isdigit() for sign in shown)
    return at_line("doubt" if is_number else "unknown", line, "quantity", weight=GENERAL, shown=f"'{shown}'")


def _check_values(bill: SentBill) -> Iterator[Finding]:
    broken = [line for line in bill.lines if _lacks_value(line)]
    if broken:
        yield at_line("unknown", broken[0], "no-values", weight=GENERAL, lines=len(broken))
    texts = [(line, next(_unread_amounts(line))) for line in bill.lines if any(_unread_amounts(line))]
    if texts:
        line, shown = texts[0]
        yield at_line("unknown", line, "no-amount", weight=GENERAL, shown=shown[:SHOWN_VALUE], lines=len(texts))


def _lacks_value(line: SentLine) -> bool:
    return any(column != QUANTITY and isinstance(value, Broken) for column, value in line.unread)


def _unread_amounts(line: SentLine) -> Iterator[str]:
    return (value for column, value in line.unread if column != QUANTITY and isinstance(value, str))


def _check_net_price(line: SentLine, bill: SentBill) -> Finding | None:
    net, listed = line.unit_price, line.listed
    if net is None or listed is None or not listed.price:
        return None
    offs = [*_offs(listed, is_maybe_paid=PAID in bill.columns.get("discount", ""))]
    rounding = max(minor_unit(bill.currency), HALF.scaleb(min(int(net.as_tuple().exponent), 0)))
    # Without amounts, a net price may be for all pieces.
    counts = {1, line.pieces, line.quantity or 1} if line.amount is None else {1}
    for off, near in offs:
        slack = ANY_AMOUNT.add(rounding, _times(near, listed.price))
        if any(abs(net - count * _times(1 - off, listed.price)) <= count * slack for count in counts):
            return None
    expected = _times(1 - offs[0][0], listed.price)
    found = at_line(
        "error",
        line,
        "net-price",
        weight=PINPOINTED,
        shown=_short(net),
        price=_short(listed.price),
        discount=_percent(offs[0][0]),
        expected=_short(expected),
    )
    return found._replace(money=_times(net - expected, Decimal(line.pieces)))


def _offs(listed: Listed, is_maybe_paid: bool) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield the discounts that 15 (15 %, or an amount) or 0.5 may be, likely ones first, with their rounding errors."""
    written = listed.discount
    is_number = not written.paid and not written.percent
    scales = [TENTHS] if written.paid else [1, PER_CENT] if is_number and written.value <= 1 else [PER_CENT]
    for scale in scales:
        share = written.value / scale
        near = min(HALF.scaleb(-written.places) / scale, HALF / PER_CENT)
        if share <= 1:
            yield (1 - share if written.paid else share), near
            if is_maybe_paid:
                yield (share if written.paid else 1 - share), near
    if is_number or written.value > PER_CENT:
        yield written.value / listed.price, _NONE


def _check_amount(line: SentLine, bill: SentBill) -> Finding | None:
    if line.amount is None or line.unit_price is None or line.quantity is None:
        return None
    share = line.discount or _NONE
    expected = [
        _times(_times(Decimal(pieces), line.unit_price), factor)
        for pieces in dict.fromkeys((line.pieces, line.quantity))
        for factor in _factors(share, bill)
    ]
    rounding = _times(PRICE_DIGITS, Decimal(line.pieces)) if share else _NONE
    slack = max(minor_unit(bill.currency), rounding)
    if any(abs(line.amount - each) <= slack for each in expected):
        return None
    found = at_line(
        "error",
        line,
        "amount",
        weight=PINPOINTED,
        shown=_short(line.amount),
        expected=_short(expected[0]),
        pieces=line.pieces,
        price=_short(line.unit_price),
        less=message("xray-less", discount=_percent(share)) if share else "",
    )
    return found._replace(money=line.amount - expected[0])


def _factors(share: Decimal, bill: SentBill) -> list[Decimal]:
    """Return the possible factors of a price: 1 for net prices; 折扣 may be deducted or paid."""
    found = [1 - share]
    if "net" in bill.columns.get("price", "").lower():  # and so include the discount
        found.append(Decimal(1))
    if PAID in bill.columns.get("discount", "") and share:
        found.append(share)
    return found


class _Base:
    """Lines that a sum may cover, and deductions and additions below them."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.beside = dict.fromkeys(("discount", "tax", "freight"), _NONE)


def _check_sums(bill: SentBill) -> Iterator[Finding]:
    """Yield wrong sums: compared with everything above, with their sheet, and with their section."""
    slack = ANY_AMOUNT.multiply(minor_unit(bill.currency), Decimal(max(len(bill.lines), 1)))
    bases = {name: _Base(0) for name in ("bill", "sheet", "total", "subtotal")}
    sheet = ""
    for each in bill.sums:
        if each.mark.sheet != sheet:
            sheet = each.mark.sheet
            start = next((at for at, line in enumerate(bill.lines) if line.mark.sheet == sheet), each.lines)
            bases |= {name: _Base(start) for name in ("sheet", "total", "subtotal")}
        if any(line.amount is not None for line in bill.lines[: each.lines]):
            allowed = {one for base in bases.values() for one in _allowed(each, bill.lines[base.start :], base, bill)}
            if allowed and not any(abs(each.amount - one) <= slack for one in allowed):
                yield _wrong_sum(each, min(allowed, key=lambda one: abs(each.amount - one)))
        if each.kind in bases:
            ended = ("total", "subtotal") if each.kind == "total" else ("subtotal",)
            bases |= {name: _Base(each.lines) for name in ended}
        else:
            for base in bases.values():
                base.beside[each.kind] += each.amount


def _allowed(sum_row: SumRow, lines: Sequence[SentLine], base: _Base, bill: SentBill) -> Iterator[Decimal]:
    """Yield the possible values of a sum over the lines of a base; nothing for a tax or discount without a rate."""
    own = lines[: sum_row.lines - base.start]
    if not own:
        return
    below, beside = _sum(own, bill), base.beside
    net = below - abs(beside["discount"])
    if sum_row.kind in ("subtotal", "total"):
        yield from (below, net)
        if sum_row.kind == "total":
            yield from (net + beside["tax"], net + beside["tax"] + beside["freight"], net + beside["freight"])
    elif sum_row.share is not None and sum_row.kind == "tax":
        yield from (_times(sum_row.share, one) for one in (net, below, net + beside["freight"]))
    elif sum_row.share is not None and sum_row.kind == "discount":
        yield from (_times(sum_row.share, below), -_times(sum_row.share, below))


def _wrong_sum(sum_row: SumRow, expected: Decimal) -> Finding:
    said = message(
        "xray-sum", kind=message(f"xray-sum-{sum_row.kind}"), shown=_short(sum_row.amount), expected=_short(expected)
    )
    return Finding("error", said, sum_row.mark, money=sum_row.amount - expected, weight=PINPOINTED)


def _check_one_price(lines: Sequence[SentLine]) -> Iterator[Finding]:
    prices: dict[str, SentLine] = {}
    for line in lines:
        named = line.recognition.named
        # Parts in stock or included with others are listed at 0.
        if named is None or not named.certain or not line.unit_price or line.in_stock:
            continue
        first = prices.setdefault(named.part, line)
        if first.unit_price is not None and first.unit_price != line.unit_price:
            price, other = _short(line.unit_price), _short(first.unit_price)
            yield at_line("doubt", line, "two-prices", price=price, other=other, at=name_place(first.mark))


def _check_currencies(bill: SentBill) -> Iterator[Finding]:
    counts = Counter(line.currency for line in bill.lines if line.currency and line.unit_price is not None)
    if not counts:
        return
    [(most, _)] = counts.most_common(1)
    odd = [line for line in bill.lines if line.unit_price is not None and line.currency not in ("", most)]
    if not odd:
        return
    is_summed = any(each.kind in ("subtotal", "total") for each in bill.sums)
    currencies = ", ".join(sorted(counts.keys() - {most}))
    severity: Severity = "error" if is_summed else "doubt"
    yield at_line(severity, odd[0], "currencies", weight=PINPOINTED, lines=len(odd), currencies=currencies, most=most)


def _sum(lines: Sequence[SentLine], bill: SentBill) -> Decimal:
    """Return the sum of lines, with pieces times price where the amount is a formula without a value."""
    total = _NONE
    for line in lines:
        amount = line.amount
        if amount is None and line.unit_price is not None and _lacks_value(line):
            cost = _times(Decimal(line.pieces), line.unit_price)
            amount = _times(cost, _factors(line.discount or _NONE, bill)[-1])
        total = ANY_AMOUNT.add(total, amount or _NONE)
    return total


def _times(share: Decimal, amount: Decimal) -> Decimal:
    return ANY_AMOUNT.multiply(share, amount)


def _short(amount: Decimal) -> Decimal:
    return amount.to_integral_value() if amount == amount.to_integral_value() else amount.normalize(ANY_AMOUNT)


def _percent(share: Decimal) -> str:
    return f"{(share * PER_CENT).normalize():f} %"
