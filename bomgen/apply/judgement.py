"""The edited plan held against the workbook, and what the workbook's own formulas show.

What stands in both is right. What differs and was not typed follows from a number of servers. Else it is a conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.apply.changes import (
    RULE,
    LineChange,
    Offers,
    QuoteChanges,
    conflict,
    is_rewritten,
    is_same,
    keeps_formulas,
    match_rows,
    pair_sheets,
    pair_totals,
    simplify,
)
from bomgen.apply.nearest import Wanted, find_nearest
from bomgen.apply.proposal import Base, Proposal, change_text, has_spares, number_in, show
from bomgen.core.diagnostics import Problem
from bomgen.core.grouping import group_by
from bomgen.core.messages import message
from bomgen.core.money import rounded
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import Path
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.bill_line import part_key
from bomgen.reading.cells import Broken, TableCell, Value
from bomgen.reading.quote_cells import CHARGES, DISCOUNT, ID, PRICE, QUANTITY, SPARE, TAX
from bomgen.reading.quote_workbook import ReturnedLine, ReturnedQuote
from bomgen.reading.sheet_scan import NO_VALUE
from bomgen.workflow.inputs import Inputs

# computed -----------------------------------------------------------------------------------------------------------
# What the inputs of a workbook come to, by the rules of a quote: what its formulas show, if nobody changed them.

ZERO = Decimal(0)
ORDER_LIST = "order-list"
"""The id of the section of the document that lists parts by number."""


class Computed(NamedTuple):
    """What the inputs of a workbook come to."""

    prices: Mapping[str, Decimal]
    """Of the charges that are a share of the hardware, by the ids of their lines."""
    totals: Mapping[str, Decimal]
    """List, discount, net, tax, that of each of several rates, and amount."""
    subtotals: tuple[Decimal, ...]
    """What the lines of each category come to, and which share of the net amount that is."""
    listed: Decimal
    """What the rows of the bill come to whose parts are listed by number: added charges are in no such list."""


def compute_workbook(returned: ReturnedQuote, base: Base) -> Computed:
    """What the pieces, prices, discounts and rates of a workbook come to, added rows among them."""
    currency = base.report.plan.quote.currency
    lines, charged = base.lines, {base.words.word(f"category-{category}") for category in CHARGED}
    rates = {
        cell.path: Fraction(number_in((after or before)[1]) or ZERO)
        for before, after in pair_totals(base.returned, returned)[0]
        if (cell := base.cell_at(base.returned.bill, before[1])) and cell.path
    }
    shares = {str(path[len(CHARGES)]): rate for path, rate in rates.items() if path[: len(CHARGES)] == CHARGES}
    amounts, hardware = list[tuple[ReturnedLine, Fraction, Fraction]](), list[Fraction]()
    for line in (*returned.lines, *returned.added):
        price, category = number_in(line.cells[PRICE]), line.cells["category"].value
        if line.id in shares or price is None:
            continue
        amounts.append((line, *amounts_of(line, price, currency)))
        in_stock = line.id in lines and lines[line.id].line.in_stock
        if category not in charged and not in_stock:
            hardware.append(amounts[-1][2])
    prices = {line: rounded(sum(hardware) * share, currency) for line, share in shares.items()} if hardware else {}
    amounts += [(line, *amounts_of(line, prices[line.id], currency)) for line in returned.lines if line.id in prices]
    listed = sum((before for _, before, _ in amounts), Fraction(0))
    net = sum((after for _, _, after in amounts), Fraction(0))
    taxes = _taxes(base, amounts, rates)
    tax = sum(taxes, Fraction(0))
    totals = {"list": listed, "discount": listed - net, "net": net, "tax": tax, "amount": net + tax}
    totals |= {f"tax-{at}": part for at, part in enumerate(taxes)}
    by_category = group_by(amounts, lambda amount: amount[0].cells["category"].value).values()
    sums = [rounded(sum((after for *_, after in own), Fraction(0)), currency) for own in by_category]
    sums += [each / rounded(net, currency) for each in sums if net]
    parts = _listed_parts(base)
    numbered = ((after, (line.cells["sku"].value or "", line.cells["description"].value)) for line, _, after in amounts)
    by_number = sum((after for after, part in numbered if part in parts), Fraction(0))
    rounded_totals = {key: rounded(value, currency) for key, value in totals.items()}
    return Computed(prices, rounded_totals, tuple(sums), rounded(by_number, currency))


def _taxes(
    base: Base, amounts: Iterable[tuple[ReturnedLine, Fraction, Fraction]], rates: Mapping[Path, Fraction]
) -> list[Fraction]:
    """Return the tax at each rate of a workbook."""
    taxes = base.report.quote.totals.taxes
    rate_of = {base.words.word(f"category-{name}"): at for at, part in enumerate(taxes) for name in part.categories}
    nets: dict[int, Fraction] = dict.fromkeys(range(max(len(taxes), 1)), Fraction(0))
    for line, _, after in amounts:
        nets[rate_of.get(str(line.cells["category"].value), 0)] += after
    shares = (rates[(*TAX, at) if len(taxes) > 1 else TAX] for at in nets)
    currency = base.report.plan.quote.currency
    return [Fraction(rounded(net * share, currency)) for net, share in zip(nets.values(), shares, strict=True)]


def _listed_parts(base: Base) -> set[tuple[Value, Value]]:
    """Part numbers and descriptions of the list by number; that of a required part may be left out of the bill."""
    tables = (table for section in base.document.sections if section.id == ORDER_LIST for table in section.tables)
    named = {
        (str(cells["part"].value or ""), str(cells["description"].value))
        for table in tables
        for row in table.rows
        for cells in [dict(zip((column.key for column in table.columns), row.cells, strict=True))]
    }
    return {*named, *(("", description) for description in base.required)}


def amounts_of(line: ReturnedLine, price: Decimal, currency: str) -> tuple[Fraction, Fraction]:
    """What a line comes to before and after its discount; wrong inputs, which are conflicts, come to nothing."""
    before = Fraction(sum(line.pieces)) * Fraction(price)
    after = before * (1 - Fraction(number_in(line.cells[DISCOUNT]) or ZERO))
    return Fraction(rounded(max(before, Fraction(0)), currency)), Fraction(rounded(max(after, Fraction(0)), currency))


# judgement ----------------------------------------------------------------------------------------------------------

TYPED = "was typed, or its formula was changed"
NOWHERE = TableCell(None, Mark("", 0, 0))
SEARCHED = 3
"""Conflicts for which the nearest plan is searched: each takes a dozen designs."""


def judge(
    proposal: Proposal, changes: QuoteChanges, rebuilt: Base, inputs: Inputs, older: bool
) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Return lines with other pieces than the workbook has, in words, and what the edited plan does not give.

    In a workbook of an older state, what bomgen wrote by itself is that of then, and no conflict.
    """
    typed = match_rows(rebuilt.returned, proposal.returned)
    counted = {change.after.mark: change for change in changes.lines if change.key in (QUANTITY, SPARE)}
    moved = _moved_spares(proposal, rebuilt)
    follows = tuple(_follows(typed, rebuilt, {line.id for line in changes.deleted}, counted.keys(), moved))
    for problem in proposal.problems:
        counted.pop(problem.mark, None)
    computed = compute_workbook(proposal.returned, proposal.base)
    problems = [*proposal.problems, *_unmet(proposal, counted.values(), rebuilt, inputs, typed, moved)]
    problems = problems or _typed_over(proposal, computed)
    if proposal.settled:  # the workbook has another price, and so other totals
        return follows, tuple(sorted(problems, key=lambda problem: problem.mark))
    if not older:
        problems = problems or list(_unexplained(proposal, rebuilt, computed, bool(follows)))
    if not problems and not follows and rebuilt.report.quote.totals.amount != computed.totals["amount"]:
        problems = [_other_total(rebuilt, typed, computed.totals["amount"])]
    return follows, tuple(sorted(problems, key=lambda problem: problem.mark))


def _moved_spares(proposal: Proposal, rebuilt: Base) -> set[str]:
    """Return the lines whose part has the spares of the workbook in the edited plan, on whichever of its lines."""
    typed, given = proposal.base.spares_in(proposal.returned), rebuilt.spares_in(rebuilt.returned)
    lines = [line.line for line in (*proposal.base.lines.values(), *rebuilt.lines.values())]
    return {line.id for line in lines if has_spares(line) and typed.get(part_key(line), 0) == given.get(part_key(line))}


def _follows(
    typed: ReturnedQuote, rebuilt: Base, deleted: Collection[str], counted: Collection[Mark], moved: Collection[str]
) -> Iterator[str]:
    """Lines with other pieces that nobody typed; spares of `moved` lines are those of the workbook on another line."""
    new = {line.id: line for line in rebuilt.returned.lines}
    for line in typed.lines:
        after = new.pop(line.id, None)
        keys = [key for key in (QUANTITY, SPARE) if line.cells[key].mark not in counted]
        if line.id in moved:
            keys = [key for key in keys if key != SPARE]
        if after is None or any(not is_same(line.cells[key], after.cells[key], ZERO) for key in keys):
            yield change_text(line.id, _show_pieces(line), _show_pieces(after) if after else message("apply-gone"))
    yield from (
        message("apply-new", id=line.id, pieces=_show_pieces(line)) for line in new.values() if line.id not in deleted
    )


def _show_pieces(line: ReturnedLine) -> str:
    quantity, spare = line.pieces
    return f"{quantity} + {spare}" if spare else f"{quantity}"


def _unmet(
    proposal: Proposal,
    counted: Iterable[LineChange],
    rebuilt: Base,
    inputs: Inputs,
    typed: ReturnedQuote,
    moved: Collection[str],
) -> Iterator[Problem]:
    """Pieces that somebody typed and the edited plan does not give; what gives them is tried on the plan as it is."""
    rows = {line.cells[ID].mark.line: line.id for line in typed.lines}
    new, searched = {line.id: line for line in rebuilt.returned.lines}, 0
    for change in counted:
        line = new.get(rows[change.after.mark.line])
        value = number_in(line.cells[change.key]) or ZERO if line else ZERO
        met = value == (number_in(change.after) or ZERO)
        if (change.line in moved) if change.key == SPARE and has_spares(proposal.base.lines[change.line].line) else met:
            continue
        title = proposal.base.titles[change.key].lower()
        pieces = {"typed": show(change.after.value), "planned": show(value)}
        refusal: str = message("apply-pieces", key=title, id=change.line, **pieces)
        offers = None
        if line is None:
            refusal += ", which has no such line any more"
        elif searched < SEARCHED:
            searched += 1
            wanted = wanted_of(proposal.base, proposal.returned, change.line, change.key)
            nearest = find_nearest(proposal.base, inputs, wanted)
            offers = Offers(refusal, nearest.choices)
            refusal += f": {nearest.text}"
        path = proposal.base.lines[change.line].line.path
        yield conflict(change.after, typed.bill, refusal, path or change.line, offers)


def wanted_of(base: Base, returned: ReturnedQuote, line_id: str, key: str = QUANTITY) -> Wanted:
    """Return the pieces of a line of the plan that stand in the workbook; none where its row is gone."""
    row = next((line for line in returned.lines if line.id == line_id), None)
    line = base.lines[line_id].line
    spare = base.spares_in(returned).get(part_key(line), 0)
    return Wanted(line, key, int(row.pieces[0]) if row else 0, spare)


def _other_total(rebuilt: Base, typed: ReturnedQuote, wanted: Decimal) -> Problem:
    currency = rebuilt.report.plan.quote.currency
    came = {line.id: line.cells for line in typed.lines}
    given = [line for line in rebuilt.returned.lines if line.id in came]
    lines = [
        line.id
        for line in given
        if any(not is_same(line.cells[key], came[line.id][key], ZERO) for key in (PRICE, DISCOUNT))
    ]
    others = f" ({', '.join(lines)})" if lines else ""
    if any(not is_same(line.cells[SPARE], came[line.id][SPARE], ZERO) for line in given):
        others += "; spares of a part are purchased on its first line, at the discount of that line"
    refusal = (
        f"with these edits the plan comes to {rebuilt.report.quote.totals.amount} {currency}, the workbook to "
        f"{wanted} {currency}{others}; edit the plan by hand"
    )
    return Problem(typed.mark, "error", refusal, RULE)


def _typed_over(proposal: Proposal, computed: Computed) -> list[Problem]:
    """Amounts, prices of charges or the total, where they were typed over or their formulas were changed.

    A cell that is still as it was written was not computed again, as by programs that do not calculate. What is wrong
    in one of these three makes the later ones wrong: only the first is reported.
    """
    base, returned, currency = proposal.base, proposal.returned, proposal.base.report.plan.quote.currency
    old = {line.id: line.cells for line in base.returned.lines}
    # A line that was added counts by the formula of the other ones; in an empty one it comes to 0.
    new = {"amount": next((line.cells["amount"] for line in base.returned.lines), NOWHERE)._replace(value=ZERO)}
    hardware, was_hardware = (_hardware_cells(each) for each in (returned, base.returned))
    amounts, prices = list[Problem](), list[Problem]()
    for line in (*returned.lines, *returned.added):
        before = old.get(line.id, {} if line.id else new)
        if not before:
            continue
        price, amount, own = line.cells[PRICE], line.cells["amount"], computed.prices.get(line.id)
        of_line = f"of '{line.id or line.cells['description'].value}'"
        if own is not None and not _is_one_of(price, [own], before[PRICE]):
            typed = _say_typed("price", of_line, price)
            refusal = f"{typed}: it is a share of the hardware; change the share below the lines"
            prices.append(conflict(price, returned.bill, refusal, line.id))
            continue
        unit = number_in(price) if own is None else own
        comes_to = None if unit is None else rounded(amounts_of(line, unit, currency)[1], currency)
        if not _is_one_of(amount, [comes_to] if unit is not None else [], before["amount"]):
            remedy = "the line has no price; type its unit price"
            if comes_to is not None:
                remedy = f"pieces, price and discount come to {comes_to}; change these"
            refusal = f"{_say_typed('amount', of_line, amount)}: {remedy}"
            amounts.append(conflict(amount, returned.bill, refusal, line.id))
        was, now = was_hardware.get(line.id), hardware.get(line.id)
        if was and not (now and _is_one_of(now, [comes_to or ZERO, ZERO], was)):
            cell = now or was._replace(value=None, mark=amount.mark)
            refusal = f"{_say_typed('hardware', f'{of_line} in the hidden column', cell)}; restore its formula"
            amounts.append(conflict(cell, returned.bill, refusal, line.id))
    if amounts or prices or not returned.below:
        return amounts or prices
    total, net, was = returned.below[-1][1], computed.totals["amount"], base.returned.below[-1][1]
    if keeps_formulas(base.returned, returned) and not total.formula:
        was = was._replace(value=net)  # a number that was typed follows nothing, even where it is that of before
    if _is_one_of(total, [net], was):
        return []
    refusal = f"{_say_typed('total', '', total)}: the lines come to {net}; change prices or discounts"
    return [conflict(total, returned.bill, refusal)]


def _hardware_cells(quote: ReturnedQuote) -> dict[str, TableCell]:
    """Return the cells of what lines add to the hardware, by the ids of their lines: the one other computed column."""
    lines = {line.cells[ID].mark.line: line.id for line in quote.lines}
    titled = (cell for cell in quote.beside if cell.mark.column in quote.header and cell.mark.line in lines)
    return {lines[cell.mark.line]: cell for cell in titled}


def _say_typed(name: str, of: str, cell: TableCell) -> str:
    """Return what happened to a computed cell, by what it is called and what it is of."""
    if cell.value == NO_VALUE:
        return f"the formula of the {name} {of} was changed".replace("  ", " ")
    what = " ".join(filter(None, ("the", name, show(cell.value) if not isinstance(cell.value, Broken) else "", of)))
    return f"{what}: {show(cell.value)}" if isinstance(cell.value, Broken) else f"{what} {TYPED}"


def _is_one_of(cell: TableCell, computed: Iterable[Decimal | None], before: TableCell) -> bool:
    """Whether a cell shows what is computed, or what stood there before, by the formula that stood there before."""
    if isinstance(cell.value, Broken):
        return is_same(before, cell)
    known = {simplify(each) for each in (*computed, before.value)}
    return not is_rewritten(before, cell) and simplify(cell.value) in known


def _unexplained(proposal: Proposal, rebuilt: Base, computed: Computed, follows: bool) -> Iterator[Problem]:
    """Differences in what bomgen writes by itself, unless they show what the changed inputs come to."""
    titles = pair_sheets(proposal.base.returned, proposal.returned)
    checks = {
        (titles[sheet], line, column)
        for (sheet, line, column), cell in proposal.base.cells.items()
        if cell.kind == "difference" and sheet in titles
    }
    # The sum of the listed parts leaves out a charge that was added: no total of the edited plan has it.
    sums = {(sheet, line - 1, column) for sheet, line, column in checks}
    removed = any(edit.action == "remove" and edit.path[:-1] == CHARGES for edit in proposal.edits)
    rows = [*(row for rows in rebuilt.returned.sheets.values() for row in rows), *rebuilt.returned.below]
    given = {(cell.mark.column, simplify(cell.value)) for row in rows for cell in row}
    totals = {simplify(amount) for amount in (*computed.totals.values(), *computed.subtotals)}
    base, returned = proposal.base, proposal.returned
    for sheet, before, cell, refusal in proposal.written:
        shown = simplify(cell.value)
        if isinstance(cell.value, Broken) or (before is not None and is_rewritten(before, cell)):
            computed_anew = False
        elif before is not None and before.formula and cell.formula == before.formula:
            computed_anew = True
        elif before is not None and (sheet, before.mark.line, before.mark.column) in sums:
            computed_anew = shown == simplify(computed.listed)
        elif keeps_formulas(base.returned, returned) and not (before and is_same(before, cell)):
            computed_anew = False
        else:
            computed_anew = before is not None and (
                (sheet, before.mark.line, before.mark.column) in checks
                or (before.filled and cell.filled and ((cell.mark.column, shown) in given or shown in totals))
                or (before.filled and isinstance(cell.value, Decimal) and (follows or (removed and not cell.value)))
            )
        if not computed_anew:
            yield conflict(cell, sheet, refusal)
