"""Checks of single lines of a bill and of the parts that an order requires: parts, quantities, amounts, taxes, sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, gcd
from typing import NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Record, UnknownPart
from bomgen.catalog.identity import identity, unavailable_message
from bomgen.catalog.link_words import read_link_words
from bomgen.catalog.parts import ANY, AVAILABLE, GENERIC, NOT_YET_SOLD, PIECE
from bomgen.core.messages import message
from bomgen.core.units import ANY_AMOUNT, minor_unit
from bomgen.reading.bills import Listed, SentBill, SentLine, SumRow
from bomgen.reading.cells import TENTHS, Broken
from bomgen.reading.part_numbers import PART_NUMBER, words_of
from bomgen.reading.part_words import gpus_of
from bomgen.xray.laws import GENERAL, LIKELY, PINPOINTED, SPARE_SHARE, SPARED, Finding, Severity, at_line, name_place

FLAT_TOP = "xray-by-flat-top"
COPPERS = ("dac", "acc", "aec")


def check_parts(bill: SentBill) -> Iterator[Finding]:
    """Yield findings about each line by itself."""
    for line in bill.lines:
        recognition = line.recognition
        named = recognition.named
        if recognition.unsold:
            yield _unsold(line, bill.catalog.find_original(recognition.unsold.kind, recognition.unsold.id))
        elif named is None:
            # A point-to-point sheet names devices, not their models.
            if line.quantity is not None and not _is_housing(line) and (line.part or not bill.cables):
                yield _unknown(line)
        elif named.reason.code == FLAT_TOP:
            yield at_line("doubt", line, "flat-top", line.quantity or 0, PINPOINTED, number=line.part, part=named.part)
        elif recognition.closest:
            pieces = line.quantity or 0
            yield at_line("doubt", line, "probable", 0, PINPOINTED, number=line.part, part=named.part, pieces=pieces)
        elif recognition.nearest:
            near = ", ".join(recognition.nearest)
            yield at_line("doubt", line, "mistyped", 0, PINPOINTED, number=line.part, part=named.part, near=near)
        if named is None:
            continue
        if line.recognition.others:
            names = ", ".join(other_part.part for other_part in line.recognition.others)
            yield at_line("doubt", line, "two-parts", part=named.part, others=names)
        record = line.record
        if named.certain and record.data.get("vendor") != GENERIC:
            yield from _contradictions(line, record)
        called = identity(record)
        if named.certain and called.availability != AVAILABLE:
            text = unavailable_message(called, named.kind, line.shown)
            if called.availability in NOT_YET_SOLD:  # the order date of a bill is unknown
                yield at_line("unknown", line, "not-yet-sold", weight=GENERAL, text=text)
            else:
                yield at_line("doubt", line, "end-of-sale", weight=GENERAL, text=text)


def _is_housing(line: SentLine) -> bool:
    """Return whether a line is of racks or rack PDUs, which any vendor sells."""
    text = f"{line.part} {line.description}".lower()
    return any(word.search(text) for kind in ("rack", "pdu") for word in words_of("kinds")[kind])


def _unknown(line: SentLine) -> Finding:
    recognition = line.recognition
    if recognition.may_be:
        return at_line("unknown", line, "which-part", part=line.shown, parts=tuple(id for _, id in recognition.may_be))
    if recognition.nearest:
        return at_line("unknown", line, "unknown-near", part=line.shown, near=", ".join(recognition.nearest))
    return at_line("unknown", line, "unknown-part", part=line.shown)


def _unsold(line: SentLine, family: Record) -> Finding:
    unsold = line.recognition.unsold
    length = f"{float(unsold.length_m or 0):g}" if unsold else ""
    lengths = tuple(f"{float(metres):g}" for metres in family.value("lengths_m"))
    part = str(family.value(PART_NUMBER) or family.id)
    return at_line("doubt", line, "unsold", 0, PINPOINTED, part=part, length=length, lengths=lengths)


def _contradictions(line: SentLine, record: Record) -> Iterator[Finding]:
    words = read_link_words(line.description)
    if record.kind == "transceiver":
        module = part_records.module(record, line.catalog)
        reach = module.reach_m.value if module.reach_m else None
        said = words.fibre or ("copper" if words.medium in COPPERS else "")
        if said and module.fibre != ANY and said != module.fibre:
            yield _contradicted(line, record, said, module.fibre)
        elif words.reach_m and reach and words.reach_m > reach:
            finding = _contradicted(line, record, f"{float(words.reach_m):g} m", f"{float(reach):g} m")
            yield finding._replace(severity="doubt")
    elif record.kind == "cable":
        cable = part_records.cable(record, line.catalog)
        if cable.medium == "fibre" and words.fibre and cable.fibre != ANY and words.fibre != cable.fibre:
            yield _contradicted(line, record, words.fibre, str(cable.fibre))
        length = line.recognition.named.length_m if line.recognition.named else None
        if length and words.length_m and length != words.length_m:
            yield _contradicted(line, record, f"{float(words.length_m):g} m", f"{float(length):g} m")


def _contradicted(line: SentLine, record: Record, said: str, recorded: str) -> Finding:
    part = str(record.value("part_number") or record.id)
    return at_line("error", line, "contradicted", weight=PINPOINTED, part=part, said=said, known=recorded)


# bill requirements --------------------------------------------------------------------------------------------------
# Required parts for an order of the parts of a bill, by the catalogue: cords, licences, tools.


class _Need(NamedTuple):
    parts: tuple[str, ...]
    """The part, or the parts to choose from."""
    pieces: Fraction | None
    """None if they depend on the choice, or on a count that a bill does not have."""
    fixed: bool
    sure: bool
    """Whether it is known not to be included with the part that needs it."""


class Requirements:
    """Required parts by the catalogue, compared with the bill."""

    def __init__(self, bill: SentBill) -> None:
        self.bill, self.catalog = bill, bill.catalog
        self.each: dict[tuple[str, str], tuple[_Need, ...]] = {}
        """Requirements of a piece of a part, by its kind and id."""
        self.lines = [line for line in bill.lines if line.id and line.quantity]
        self.have = Counter[str]()
        needed = dict[str, Fraction]()
        for line in self.lines:
            self.have[line.id] += line.quantity or 0
            for id, pieces in self._fixed_of(line.kind, line.id).items():
                needed[id] = needed.get(id, Fraction(0)) + pieces * (line.quantity or 0)
        self.lacking = {id: pieces - self.have[id] for id, pieces in needed.items() if id in self.have}
        """Missing (positive) or surplus pieces of required parts that the bill has lines of."""

    def count_broken(self, surplus: Iterable[tuple[str, str, int]]) -> int:
        """Return the number of required parts with a wrong quantity after the surplus of others is removed."""
        lacking = dict(self.lacking)
        for kind, id, pieces in surplus:
            for needed, per_piece in self._fixed_of(kind, id).items():
                if needed in lacking:
                    lacking[needed] -= per_piece * pieces
        return sum(1 for pieces in lacking.values() if pieces)

    def findings(self) -> Iterator[Finding]:
        """Yield required parts that are missing, too few or too many."""
        fixed: dict[str, Counter[str]] = {}
        """Pieces by required part and requiring part."""
        sure = Counter[str]()
        """Pieces of required parts that are known not to be included."""
        chosen = Counter[tuple[str, ...]]()
        """Pieces of parts to choose from; 0 if unknown."""
        by: dict[str | tuple[str, ...], SentLine] = {}
        """First line that requires a part, or one of several; for the id of a part its own first line."""
        for line in self.lines:
            by.setdefault(line.id, line)
            for need in self._needs_of(line.kind, line.id):
                pieces = ceil((need.pieces or 0) * (line.quantity or 0))
                if need.fixed:
                    fixed.setdefault(need.parts[0], Counter())[line.id] += pieces
                    sure[need.parts[0]] += pieces * need.sure
                elif need.sure:
                    chosen[need.parts] += pieces
                    by.setdefault(need.parts, line)
        for id, wanted in fixed.items():
            yield from self._judge(id, wanted, sure[id], by)
        for parts, pieces in chosen.items():
            yield from self._judge_choice(parts, pieces, by[parts])

    def _judge(
        self, id: str, wanted: Mapping[str, int], sure: int, by: Mapping[str | tuple[str, ...], SentLine]
    ) -> Iterator[Finding]:
        odd, lacking = _odd([line for line in self.bill.lines if line.id == id], wanted)
        pieces, have = sum(wanted.values()), self.have[id]
        name, first = self._name(id), by[next(iter(wanted))]
        if odd is None and sure:
            kind = self.catalog.find_part(id).kind
            severity: Severity = "unknown" if any(line.may_be(kind) for line in self.bill.lines) else "doubt"
            finding = at_line(severity, first, "required", -sure, GENERAL, part=name, pieces=sure, by=first.shown)
            yield finding._replace(part=id, money=None)
        elif odd and have not in (sure, pieces) and not self._is_saved(id, pieces - have):
            code = "required-few" if have < pieces else "required-many"
            asking = by[lacking].shown if lacking else odd.shown
            yield at_line("doubt", odd, code, have - pieces, LIKELY, part=name, pieces=pieces, given=have, by=asking)

    def _is_saved(self, id: str, pieces: int) -> bool:
        """Return whether so many pieces of a required part may be of spares that are not in a separate column."""
        most, steps = 0, list[int]()
        for line in () if self.bill.has_spares else self.bill.lines:
            per_piece = self._fixed_of(line.kind, line.id).get(id)
            if per_piece and line.kind in SPARED:
                most += ceil(per_piece * ceil((line.quantity or 0) * SPARE_SHARE))
                steps.append(int(per_piece) if per_piece.denominator == 1 else 1)
        return 0 <= pieces <= most and pieces % (gcd(*steps) or 1) == 0

    def _judge_choice(self, parts: tuple[str, ...], pieces: int, first: SentLine) -> Iterator[Finding]:
        listed = sum(self.have[part] for part in parts)
        names = tuple(map(self._name, parts))
        if not listed and pieces:
            yield at_line("unknown", first, "choose-pieces", 0, GENERAL, pieces=pieces, parts=names, by=first.shown)
        elif not listed:
            yield at_line("unknown", first, "choose", 0, GENERAL, parts=names, by=first.shown)
        elif listed < pieces:
            line = next(line for line in self.bill.lines if line.id in parts)
            off, part, by = listed - pieces, line.shown, first.shown
            yield at_line("doubt", line, "required-few", off, LIKELY, part=part, pieces=pieces, given=listed, by=by)

    def _name(self, id: str) -> str:
        return identity(self.catalog.find_part(id)).name

    def _fixed_of(self, kind: str, id: str) -> dict[str, Fraction]:
        return {need.parts[0]: need.pieces for need in self._needs_of(kind, id) if need.fixed and need.pieces}

    def _needs_of(self, kind: str, id: str) -> tuple[_Need, ...]:
        """Return the requirements of a piece of a part; for a server including those of its GPUs."""
        if (kind, id) not in self.each:
            try:
                self.each[kind, id] = tuple(self._read_needs(self.catalog.find_original(kind, id)))
            except UnknownPart:  # a line card, which is in the record of its switch
                self.each[kind, id] = ()
        return self.each[kind, id]

    def _read_needs(self, record: Record) -> Iterator[_Need]:
        requires, gpus = identity(record).requires, gpus_of(record) if record.kind == "server" else 1
        stated = {need.parts for need in requires}
        for need in requires:
            units = {PIECE: 1, "gpu": gpus}.get(need.per)
            pieces = Fraction(need.quantity.value) * units if need.quantity and units else None
            fixed = len(need.parts) == 1 and need.per == PIECE and pieces is not None
            if not need.included:
                yield _Need(need.parts, pieces, fixed, need.included is False)
        if record.kind == "server" and record.value("gpu") and record.value("gpus_included") is not False:
            for own in self._needs_of("gpu", str(record.value("gpu"))):
                if own.parts not in stated:
                    yield own._replace(pieces=None if own.pieces is None else own.pieces * gpus)


def _odd(lines: Sequence[SentLine], wanted: Mapping[str, int]) -> tuple[SentLine | None, str]:
    """Return the line whose pieces match no requiring part, else the first, and the requiring part without a match."""
    left = dict(wanted)
    odd = list[SentLine]()
    for line in lines:
        match = next((id for id, pieces in left.items() if pieces == line.quantity), None)
        if match is None:
            odd.append(line)
        else:
            del left[match]
    return next(iter((*odd, *lines)), None), next(iter(left), "")


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
    unread = [value for column, value in line.unread if column == "quantity"]
    if not unread:
        named = line.recognition.named
        is_sure = line.quantity is None and line.part and named and named.certain
        return at_line("unknown", line, "no-quantity", weight=GENERAL, part=line.shown) if is_sure else None
    if isinstance(unread[0], Broken):
        return at_line("unknown", line, "quantity", weight=GENERAL, shown=message("xray-formula"))
    shown = f"{unread[0]:f}" if isinstance(unread[0], Decimal) else str(unread[0])
    is_number = isinstance(unread[0], Decimal) or any(sign.isdigit() for sign in shown)
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
    return any(column != "quantity" and isinstance(value, Broken) for column, value in line.unread)


def _unread_amounts(line: SentLine) -> Iterator[str]:
    return (value for column, value in line.unread if column != "quantity" and isinstance(value, str))


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
    finding = at_line(
        "error",
        line,
        "net-price",
        weight=PINPOINTED,
        shown=_short(net),
        price=_short(listed.price),
        discount=_percent(offs[0][0]),
        expected=_short(expected),
    )
    return finding._replace(money=_times(net - expected, Decimal(line.pieces)))


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
    if any(abs(line.amount - amount) <= slack for amount in expected):
        return None
    finding = at_line(
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
    return finding._replace(money=line.amount - expected[0])


def _factors(share: Decimal, bill: SentBill) -> list[Decimal]:
    """Return the possible factors of a price: 1 for net prices; 折扣 may be deducted or paid."""
    factors = [1 - share]
    if "net" in bill.columns.get("price", "").lower():  # and so include the discount
        factors.append(Decimal(1))
    if PAID in bill.columns.get("discount", "") and share:
        factors.append(share)
    return factors


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
    for row in bill.sums:
        if row.mark.sheet != sheet:
            sheet = row.mark.sheet
            start = next((at for at, line in enumerate(bill.lines) if line.mark.sheet == sheet), row.lines)
            bases |= {name: _Base(start) for name in ("sheet", "total", "subtotal")}
        if any(line.amount is not None for line in bill.lines[: row.lines]):
            allowed = {one for base in bases.values() for one in _allowed(row, bill.lines[base.start :], base, bill)}
            if allowed and not any(abs(row.amount - one) <= slack for one in allowed):
                yield _wrong_sum(row, min(allowed, key=lambda one: abs(row.amount - one)))
        if row.kind in bases:
            ended = ("total", "subtotal") if row.kind == "total" else ("subtotal",)
            bases |= {name: _Base(row.lines) for name in ended}
        else:
            for base in bases.values():
                base.beside[row.kind] += row.amount


def _allowed(sum_row: SumRow, lines: Sequence[SentLine], base: _Base, bill: SentBill) -> Iterator[Decimal]:
    """Yield the possible values of a sum over the lines of a base; nothing for a tax or discount without a rate."""
    summed = lines[: sum_row.lines - base.start]
    if not summed:
        return
    below, beside = _sum(summed, bill), base.beside
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
            price, first_price = _short(line.unit_price), _short(first.unit_price)
            yield at_line("doubt", line, "two-prices", price=price, other=first_price, at=name_place(first.mark))


def _check_currencies(bill: SentBill) -> Iterator[Finding]:
    counts = Counter(line.currency for line in bill.lines if line.currency and line.unit_price is not None)
    if not counts:
        return
    [(most, _)] = counts.most_common(1)
    odd = [line for line in bill.lines if line.unit_price is not None and line.currency not in ("", most)]
    if not odd:
        return
    is_summed = any(row.kind in ("subtotal", "total") for row in bill.sums)
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
