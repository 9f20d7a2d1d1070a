"""Changed cells of the lines of the bill: prices and discounts here, pieces and charges in modules of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from bomgen.core.money import MAX_PRICE
from bomgen.core.yaml_source import MAX_DIGITS
from bomgen.pricing.bill_line import Line
from bomgen.reading.cells import Broken
from bomgen.workflow.applying.changes import LineChange
from bomgen.workflow.applying.charges import price_charge, rename_charge
from bomgen.workflow.applying.pieces import count_pieces
from bomgen.workflow.applying.proposal import (
    DISCOUNT,
    PRICE,
    QUANTITY,
    SHARES,
    SPARE,
    Proposal,
    number_in,
    say_kind,
    share_in,
    show,
    write_share,
)

NAMES = ("sku", "description", "place", "category")
"""Columns of the bill that say what a line is."""


def change_lines(proposal: Proposal, changes: Iterable[LineChange]) -> None:
    """Propose what gives the lines of the bill the numbers and names that were typed."""
    prices, discounts = dict[str, tuple[Decimal, LineChange]](), dict[str, Fraction]()
    lines = proposal.base.lines
    for change in changes:
        line, title = lines[change.line].line, proposal.base.titles[change.key]
        if change.key in NAMES:
            _rename(proposal, change, line)
            continue
        number = _read_number(proposal, change, title)
        if number is None:
            continue
        if change.key in (QUANTITY, SPARE):
            count_pieces(proposal, change, line, number)
        elif line.in_stock:
            proposal.refuse(change.after, f"'{change.line}' is what the customer has, see `stock`; it has no price")
        elif change.key == DISCOUNT:
            discounts[change.line] = Fraction(number)
            what = f"{change.line}, {title.lower()}"
            proposal.tell(change.after, what, share_in(change.before), Fraction(number))
        elif line.charge and line.charge.share is not None:
            continue  # a formula, which is judged by what the others come to
        elif line.charge and line.charge.price is not None:
            price_charge(proposal, change, line, number)
        elif line.names:
            prices[change.line] = number, change
            proposal.tell(change.after, f"{change.line}, {title.lower()}", change.before.value, number)
        else:
            message = f"nobody knows a part for '{change.line}', so no price book can price it; name one in the plan"
            proposal.refuse(change.after, message)
    _price_parts(proposal, prices)
    _discount(proposal, discounts)


def _read_number(proposal: Proposal, change: LineChange, title: str) -> Decimal | None:
    """The number that was typed, 0 for none; None where the plan cannot have it, which is noted."""
    cell, number = change.after, number_in(change.after)
    what = None
    if isinstance(cell.value, Broken):
        what = f"{title}: {cell.value.message}"
    elif not cell.filled and change.key == PRICE:
        what = (
            f"the price of '{change.line}' was deleted, and price books cannot say that a part has none; remove it "
            "from its price book"
        )
    elif cell.filled and number is None:
        what = f"{say_kind(cell.value)}; type the {title.lower()} alone"
    elif number and (len(f"{number:f}") > MAX_DIGITS or number >= MAX_PRICE):
        what = f"{title} {number:.3g} looks wrong; give the number of one line, or of one piece"
    elif number and number < 0 and change.key != DISCOUNT:
        what = f"{title} {show(number)}; no number is below 0"
    elif number and change.key == DISCOUNT and not 0 <= number <= 1:
        what = f"{title} {show(number)}; {SHARES.format(number)}"
    else:
        return number or Decimal(0)
    if what:
        proposal.refuse(cell, what)
    return None


def _rename(proposal: Proposal, change: LineChange, line: Line) -> None:
    """Take another name of a charge; what a part is called stands in the catalogue."""
    if isinstance(change.after.value, Broken):
        message = f"{proposal.base.titles[change.key]} of '{change.line}': {change.after.value.message}"
        proposal.refuse(change.after, message)
        return
    if change.key == "description" and line.charge and isinstance(change.after.value, str):
        rename_charge(proposal, change, line, change.after.value)
        return
    where = "`quote.charges`" if line.charge else f"part '{line.part}'" if line.part else "no part of the catalogue"
    message = (
        f"{proposal.base.titles[change.key]} of '{change.line}' was changed to {show(change.after.value)}; what a line "
        f"is comes from the plan ({where}): name another part there"
    )
    proposal.refuse_written(proposal.returned.bill, change.after, message)


def _price_parts(proposal: Proposal, typed: Mapping[str, tuple[Decimal, LineChange]]) -> None:
    """A price for each part; one that stands on several lines must have one price on all of them."""
    by_part: dict[str, list[str]] = {}
    lines = proposal.base.lines
    for line_id, line in lines.items():
        if line.line.names and not line.line.in_stock:
            by_part.setdefault(line.line.names[0], []).append(line_id)
    for part, ids in by_part.items():
        edited = next((line for line in ids if line in typed), None)
        if edited is None:
            continue
        price, change = typed[edited]
        found = {line: typed[line][0] if line in typed else lines[line].unit.amount for line in ids}
        other = next((line for line, each in found.items() if each != price), None)
        if other is None:
            proposal.prices[part] = price
            continue
        message = (
            f"'{part}' costs {price:f} on '{edited}' and {show(found[other])} on '{other}'; a part "
            "has one price: change all of its lines, or give one of them a discount"
        )
        proposal.refuse(change.after, message)


def _discount(proposal: Proposal, typed: Mapping[str, Fraction]) -> None:
    """A discount for a category whose lines all have it and none of its own, else for the line."""
    lines = proposal.base.lines
    given = proposal.base.report.plan.quote.discounts
    for category in dict.fromkeys(lines[line].line.category for line in typed):
        own = [line for line in lines.values() if line.line.category == category and not line.line.in_stock]
        shares = {typed.get(line.line.id, line.discount) for line in own}
        if len(shares) == 1 and not any(
            line.line.id in given.lines or any(name in given.parts for name in line.line.names) for line in own
        ):
            proposal.set(("quote", "discount", category), write_share(shares.pop()))
            continue
        for line in own:
            if line.line.id in typed:
                share = write_share(typed[line.line.id])
                proposal.set(("quote", "discount", "lines", line.line.id), share)
