"""Charges of the order and rates: names, prices, shares of the hardware, the tax, rows that were added or deleted."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from bomgen.core.diagnostics import Problem
from bomgen.core.yaml_source import Path
from bomgen.plan.commercial_terms import CHARGED, SOFTWARE
from bomgen.pricing.bill_line import Line
from bomgen.reading.cells import Broken, Cell
from bomgen.reading.quote_workbook import ReturnedLine
from bomgen.workflow.applying.changes import RULE, LineChange, keeps_formulas
from bomgen.workflow.applying.proposal import (
    DISCOUNT,
    PRICE,
    QUANTITY,
    SHARES,
    SPARE,
    Base,
    Proposal,
    number_in,
    say_kind,
    share_in,
    show,
    write_share,
)

CHARGES: Path = ("quote", "charges")


def rename_charge(proposal: Proposal, change: LineChange, line: Line, name: str) -> None:
    """Take another name of the charge that a line is."""
    title = proposal.base.titles[change.key].lower()
    proposal.tell(change.after, f"{change.line}, {title}", change.before.value, name)
    proposal.set((*CHARGES, proposal.base.charge_at(line) or 0, "name"), name)


def price_charge(proposal: Proposal, change: LineChange, line: Line, price: Decimal) -> None:
    """Take another price of the charge that a line is."""
    title = proposal.base.titles[change.key].lower()
    proposal.tell(change.after, f"{change.line}, {title}", change.before.value, price)
    proposal.set((*CHARGES, proposal.base.charge_at(line) or 0, "price"), price)


def change_rates(proposal: Proposal, rates: Iterable[tuple[Cell, Cell, Cell]]) -> None:
    """Take another tax rate, or other shares of the hardware: each its label, and its value before and after."""
    for label, before, after in rates:
        if label.value == proposal.base.words.word("xlsx-shown"):
            _check_shown(proposal, before, after)
            continue
        path = _rate_path(proposal.base, str(label.value))
        share = number_in(after) if after.filled else Decimal(0)
        if path is None:
            proposal.note_written(proposal.returned.bill, before, after)
        elif share is None:
            proposal.refuse(after, f"{label.value}: {say_kind(after.value)}")
        elif not 0 <= share <= 1:
            proposal.refuse(after, f"{label.value} {show(after.value)}; {SHARES.format(share)}")
        else:
            proposal.tell(after, str(label.value), share_in(before), Fraction(share))
            proposal.set(path, write_share(Fraction(share)))


def _check_shown(proposal: Proposal, before: Cell, after: Cell) -> None:
    """Refuse an edited sum of the visible lines: it depends on filters and hidden rows."""
    kept = after.formula == before.formula or not keeps_formulas(proposal.base.returned, proposal.returned)
    if isinstance(after.value, Broken) or not kept:
        proposal.refuse(after, f"{show(after.value)}: the sum of the visible lines was changed; put its formula back")


def _rate_path(base: Base, label: str) -> Path | None:
    """The key of a rate by its label; None for what is worked out."""
    if label == base.words.word("xlsx-rate"):
        return ("quote", "tax")
    ids = [charge.id for charge in base.report.plan.quote.charges]
    return next(((*CHARGES, ids.index(each), "share") for each, own in base.share_labels.items() if own == label), None)


def add_and_remove_rows(proposal: Proposal, deleted: Iterable[ReturnedLine]) -> None:
    """Take in rows that were added, and take out those that were deleted: charges, and prices of required parts.

    The edits of other charges name them by their positions, which are those of today until here.
    """
    bill, mark = proposal.returned.bill, proposal.returned.mark
    charges = [charge for line in proposal.returned.added if (charge := _read_charge(proposal, line))]
    removed = list[int]()
    for line in deleted:
        at = proposal.base.charge_at(proposal.base.lines[line.id].line)
        what = line.cells["description"].value
        if at is not None:
            proposal.differences.append(f"{bill}  {line.id}: {show(what)} -> {show(None)}")
            removed.append(at)
            continue
        message = (
            f"{bill}: the row of '{line.id}' ({what}) was deleted; the plan decides which lines there are: "
            "put the row back, or take out of the plan what asks for it"
        )
        proposal.problems.append(Problem(mark, "error", message, RULE, line.id))
    if removed and len(removed) == len(proposal.base.report.plan.quote.charges):
        message = f"{bill}: all charges were deleted; remove `quote.charges` from the plan"
        proposal.problems.append(Problem(mark, "error", message, RULE, "quote.charges"))
    else:
        proposal.edit_list(CHARGES, charges, removed)


def _read_charge(proposal: Proposal, line: ReturnedLine) -> dict[str, object] | None:
    """The charge that an added row is; None for a required part, which gets its price, and for what is neither."""
    cells, word = line.cells, proposal.base.words.word
    at = next(cell for cell in cells.values() if cell.filled)
    kinds = {word(f"category-{category}"): category for category in CHARGED}
    kind = kinds.get(str(cells["category"].value))
    name, price = cells["description"].value, number_in(cells[PRICE])
    if isinstance(name, str) and name in proposal.base.required and price is not None and price >= 0:
        part, pieces = proposal.base.required[name]
        if sum(line.pieces) == pieces:
            proposal.tell(at, f"{part}, {proposal.base.titles[PRICE].lower()}", None, price)
            proposal.prices[part] = price
        else:
            proposal.refuse(at, f"the order needs {pieces} pieces of {show(name)}; give that quantity with the price")
        return None
    if kind is None:
        named = ", ".join(f"'{each}'" for each in dict.fromkeys(kinds))
        message = (
            f"an added row ({show(name or at.value)}); the plan decides which parts there are: add a part there, as "
            f"hosts, storage, spares or another part. For a charge, choose its category: {named}"
        )
    elif not isinstance(name, str) or price is None or price < 0 or number_in(cells[QUANTITY]) != 1:
        message = "an added charge needs a description, the quantity 1 and a price; give the whole amount as price"
    elif any(cells[key].value for key in ("sku", "place", SPARE, DISCOUNT)):
        message = "an added charge has no part number, place, spares and discount; clear them"
    elif not cells["amount"].filled:
        message = (
            "the added row has no amount, so that no sum counts it; copy the formula of the line above it, or use the "
            "empty lines below the others"
        )
    else:
        proposal.tell(at, "quote.charges", None, f"{name} {price:f}")
        return {"kind": SOFTWARE if kind == SOFTWARE else "other", "name": name, "price": price}
    proposal.refuse(at, message)
    return None
