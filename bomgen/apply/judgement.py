"""The edited plan held against the workbook, and the nearest plans for a quantity that bomgen calculates.

What stands in both is right. What differs and was not typed follows from a number of servers. Else it is a conflict,
with the plans nearest to an edited quantity: each is tried before it is offered, and says what else it changes.
At most `MOST_TRIALS` designs are calculated per cell.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.apply.changes import (
    RULE,
    Base,
    LineChange,
    Offers,
    Proposal,
    QuoteChanges,
    change_text,
    conflict,
    has_spares,
    is_rewritten,
    is_same,
    keeps_formulas,
    match_rows,
    number_in,
    pair_sheets,
    pair_totals,
    show,
    simplify,
    spares_of,
)
from bomgen.apply.edits import count_spares, set_servers, unit_of
from bomgen.core.diagnostics import Choice, PlanErrors, Problem
from bomgen.core.document import group_by
from bomgen.core.messages import message
from bomgen.core.provenance import Mark
from bomgen.core.units import rounded
from bomgen.core.yaml_source import Path, value_at
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.bill_line import Line, part_key
from bomgen.reading.cells import Broken, TableCell, Value
from bomgen.reading.quote_workbook import CHARGES, TAX, ReturnedLine, ReturnedQuote
from bomgen.reading.scans import NO_VALUE
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import BrokenResult, work_out_variant

TRIALS = 6
"""Numbers of servers that are tried for a line: enough to halve a range of 64 servers."""
RATIOS = ("1", "1.5", "2", "3", "4", "7")
"""Oversubscription ratios that published designs have."""
MOST_TRIALS = 1 + TRIALS + len(RATIOS)
"""One of them tries spares."""
SHOWN = 3
"""Other changed lines that an offer names."""
SPARE_CATEGORIES = ("transceiver", "cable", "switch", "nic", "gpu", "server", "storage", "management")


class Wanted(NamedTuple):
    """A quantity that was typed into a line."""

    line: Line
    key: str
    """The column of the cell: that of installed or of spare pieces."""
    quantity: int
    spare: int
    """Spare pieces of the line's part, on all its lines."""


class Offer(NamedTuple):
    """A setting of the plan that was tried and gives the quantity."""

    setting: str
    report: Report
    how: str = ""


def find_nearest(base: Base, inputs: Inputs, wanted: Wanted) -> Offers:
    """Return the settings that give the quantity: spares, numbers of servers, oversubscription; or why none does."""
    plan = shlex.quote(inputs.file.name)
    reason = f"it is calculated (`bomgen explain {plan} {wanted.line.path or wanted.line.id}` shows how)"
    if wanted.key == "quantity":
        servers = find_servers(base, inputs, wanted)
        offers = [*_spares_instead(base.report, inputs, wanted), *([servers] if servers else [])]
        offers += _with_ratio(base, inputs, wanted)
        tried = "neither spares nor another number of servers nor another oversubscription gives it"
    else:
        offers = [*_with_spares(base.report, inputs, wanted)]
        reason, tried = "`spares` applies to every part of a category", "no value gives it"
        if not has_spares(wanted.line):
            reason, tried = "the line depends on others, which have no spares here", "no key sets it"
    if not offers:
        return Offers(f"{reason}; {tried}", ())
    options, choices = list[str](), list[Choice]()
    for offer in offers:
        said = _name_changes(base.report, offer, wanted)
        how = f", {offer.how}" if offer.how else ""
        options.append(f"`bomgen build {plan} --set {shlex.quote(offer.setting)}`{how} ({said})")
        choices.append(Choice(offer.setting, f"{offer.setting}: {'; '.join(filter(None, (offer.how, said)))}"))
    return Offers(f"{reason}; to get it, use {', or '.join(options)}", tuple(choices))


def _try(inputs: Inputs, setting: str) -> Report | None:
    with suppress(PlanErrors, BrokenResult):
        return work_out_variant(read_all(inputs.file, [setting], earlier=inputs))
    return None


def _name_changes(before: Report, offer: Offer, wanted: Wanted) -> str:
    pieces, now = _pieces(before), _pieces(offer.report)
    expected = {wanted.line.id}
    if wanted.key != "quantity" or offer.how:
        expected |= {line.id for line in offer.report.bill.lines if part_key(line) == part_key(wanted.line)}
    changed = [line for line in {**pieces, **now} if pieces.get(line) != now.get(line) and line not in expected]
    totals, old = offer.report.quote.totals, before.quote.totals
    said = list[str]()
    if changed:
        shown = (f"{line} {pieces.get(line, 'none')} -> {now.get(line, 'none')}" for line in changed[:SHOWN])
        more = len(changed) - SHOWN
        said.append(f"also changes {', '.join(shown)}" + (f" and {more} more" if more > 0 else ""))
    if totals.priced_lines or old.priced_lines:
        least = "" if totals.complete and old.complete else ", at least"
        said.append(f"total{least} {old.amount:,} -> {totals.amount:,} {totals.currency}")
    return "; ".join(said) or "nothing else changes"


def _pieces(report: Report) -> dict[str, str]:
    """Return the quantity of each line of a bill as text: `16 + 2` with spares."""
    return {
        line.id: f"{line.quantity.value}" + (f" + {line.spare.value}" if line.spare and line.spare.value else "")
        for line in report.bill.lines
    }


def _quantity(report: Report | None, line_id: str) -> int | None:
    if report is None:
        return None
    return sum(int(line.quantity.value) for line in report.bill.lines if line.id == line_id)


def _bought(report: Report) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for line in report.bill.lines:
        if not line.in_stock:
            counts[part_key(line)] = counts.get(part_key(line), 0) + line.pieces
    return counts


def _with_spares(report: Report, inputs: Inputs, wanted: Wanted) -> Iterator[Offer]:
    """Try the spares of the category that give the part its typed spares."""
    if not has_spares(wanted.line):
        return
    spares = count_spares(report, wanted.line, wanted.spare)
    setting = f"spares.{wanted.line.category}={spares}"
    tried = _try(inputs, setting) if spares >= 0 else None
    if tried and spares_of(tried.bill.lines).get(part_key(wanted.line)) == wanted.spare:
        yield Offer(setting, tried)


def _spares_instead(report: Report, inputs: Inputs, wanted: Wanted) -> Iterator[Offer]:
    """Try spares of the part in place of installed pieces, with all other parts unchanged."""
    line = next((line for line in report.bill.lines if line.id == wanted.line.id), None)
    if line is None or line.category not in SPARE_CATEGORIES or line.part is None:
        return
    more = wanted.quantity - int(line.quantity.value)
    if more <= 0:
        return
    spares = spares_of(report.bill.lines)[part_key(line)] + more
    needed = _bought(report)
    needed[part_key(line)] += more
    for offer in _with_spares(report, inputs, wanted._replace(spare=spares)):
        if _bought(offer.report) == needed:
            yield offer._replace(how="bought as spares instead")


def find_servers(base: Base, inputs: Inputs, wanted: Wanted) -> Offer | None:
    """Return the number of servers nearest to the plan that gives a line its quantity; None if none was found."""
    cluster, path = base.cluster_of(wanted.line)
    line = next((line for line in base.report.bill.lines if line.id == wanted.line.id), None)
    if cluster.plan.cluster_name != wanted.line.cluster or line is None or not line.quantity.value:
        return None
    servers, server = cluster.design.sizing.servers, cluster.plan.cluster.server
    if servers is None or server is None:
        return None
    data = value_at(base.source.data, path) or {}
    unit = unit_of(server)
    now = int(servers.value) // unit
    have = int(line.quantity.value)
    low, high = sorted((now, max(ceil(Fraction(now * wanted.quantity) / have), 1)))
    if wanted.quantity > have:
        high = max(high * 2 - low, low + 1)
    else:
        low = max(2 * low - high, 0)
    # Pieces grow with servers: the number nearest to that of the plan is searched by halving.
    best: Offer | None = None
    for _ in range(TRIALS):
        if high - low < 2:
            break
        middle = (low + high) // 2
        edit = set_servers(path, data, server, middle * unit)
        setting = f"{'.'.join(map(str, edit.path))}={edit.value}"
        tried = _try(inputs, setting)
        pieces = _quantity(tried, line.id)
        if tried is None or pieces is None:
            return None
        if pieces == wanted.quantity:
            best = Offer(setting, tried)
        if pieces < wanted.quantity or (pieces == wanted.quantity and wanted.quantity < have):
            low = middle
        else:
            high = middle
    return best


def _with_ratio(base: Base, inputs: Inputs, wanted: Wanted) -> Iterator[Offer]:
    line = wanted.line
    if line.fabric is None:
        return
    path = base.fabrics_of(line)
    for ratio in RATIOS:
        setting = f"{'.'.join(map(str, path))}.{line.fabric}.oversubscription={ratio}"
        tried = _try(inputs, setting)
        if tried and _quantity(tried, line.id) == wanted.quantity:
            yield Offer(setting, tried)
            return


# the edited plan ------------------------------------------------------------------------------------------------------
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
    """Return the results of the pieces, prices, discounts and rates of a workbook, including added rows."""
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
        price, category = number_in(line.cells["unit_price"]), line.cells["category"].value
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
    sums = [rounded(sum((after for *_, after in members), Fraction(0)), currency) for members in by_category]
    sums += [subtotal / rounded(net, currency) for subtotal in sums if net]
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
    """Return part numbers and descriptions of the list by number, and of the required parts, without a number."""
    tables = (table for section in base.document.sections if section.id == ORDER_LIST for table in section.tables)
    named = {
        (str(cells["part"].value or ""), str(cells["description"].value))
        for table in tables
        for row in table.rows
        for cells in [dict(zip((column.key for column in table.columns), row.cells, strict=True))]
    }
    return {*named, *(("", description) for description in base.required)}


def amounts_of(line: ReturnedLine, price: Decimal, currency: str) -> tuple[Fraction, Fraction]:
    """Return the amount of a line before and after its discount; 0 for wrong inputs, which are conflicts."""
    before = Fraction(sum(line.pieces)) * Fraction(price)
    after = before * (1 - Fraction(number_in(line.cells["discount"]) or ZERO))
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
    counted = {change.after.mark: change for change in changes.lines if change.key in ("quantity", "spare")}
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
    typed, now = proposal.base.spares_in(proposal.returned), rebuilt.spares_in(rebuilt.returned)
    lines = [line.line for line in (*proposal.base.lines.values(), *rebuilt.lines.values())]
    return {line.id for line in lines if has_spares(line) and typed.get(part_key(line), 0) == now.get(part_key(line))}


def _follows(
    typed: ReturnedQuote, rebuilt: Base, deleted: Collection[str], counted: Collection[Mark], moved: Collection[str]
) -> Iterator[str]:
    """Yield the lines with other pieces that nobody typed; spares of `moved` lines are on another line."""
    new = {line.id: line for line in rebuilt.returned.lines}
    for line in typed.lines:
        after = new.pop(line.id, None)
        keys = [key for key in ("quantity", "spare") if line.cells[key].mark not in counted]
        if line.id in moved:
            keys = [key for key in keys if key != "spare"]
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
    """Yield conflicts for typed pieces that the edited plan does not give, with what gives them in the plan today."""
    rows = {line.cells["id"].mark.line: line.id for line in typed.lines}
    new, searched = {line.id: line for line in rebuilt.returned.lines}, 0
    for change in counted:
        line = new.get(rows[change.after.mark.line])
        value = number_in(line.cells[change.key]) or ZERO if line else ZERO
        met = value == (number_in(change.after) or ZERO)
        if (
            (change.line in moved)
            if change.key == "spare" and has_spares(proposal.base.lines[change.line].line)
            else met
        ):
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


def wanted_of(base: Base, returned: ReturnedQuote, line_id: str, key: str = "quantity") -> Wanted:
    """Return the pieces of a line of the plan that stand in the workbook; none where its row is gone."""
    row = next((line for line in returned.lines if line.id == line_id), None)
    line = base.lines[line_id].line
    spare = base.spares_in(returned).get(part_key(line), 0)
    return Wanted(line, key, int(row.pieces[0]) if row else 0, spare)


def _other_total(rebuilt: Base, typed: ReturnedQuote, wanted: Decimal) -> Problem:
    currency = rebuilt.report.plan.quote.currency
    came = {line.id: line.cells for line in typed.lines}
    kept = [line for line in rebuilt.returned.lines if line.id in came]
    lines = [
        line.id
        for line in kept
        if any(not is_same(line.cells[key], came[line.id][key], ZERO) for key in ("unit_price", "discount"))
    ]
    reason = f" ({', '.join(lines)})" if lines else ""
    if any(not is_same(line.cells["spare"], came[line.id]["spare"], ZERO) for line in kept):
        reason += "; spares of a part are purchased on its first line, at the discount of that line"
    refusal = (
        f"with these edits the plan comes to {rebuilt.report.quote.totals.amount} {currency}, the workbook to "
        f"{wanted} {currency}{reason}; edit the plan by hand"
    )
    return Problem(typed.mark, "error", refusal, RULE)


def _typed_over(proposal: Proposal, computed: Computed) -> list[Problem]:
    """Return conflicts for amounts, prices of charges or a total that were typed over, or whose formulas were changed.

    A cell as it was written was not computed again, as by programs that do not calculate. An error in one of these
    three causes errors in the later ones: only the first is reported.
    """
    base, returned, currency = proposal.base, proposal.returned, proposal.base.report.plan.quote.currency
    old = {line.id: line.cells for line in base.returned.lines}
    # A line that was added counts by the formula of the other ones; in an empty one it comes to 0.
    new = {"amount": next((line.cells["amount"] for line in base.returned.lines), NOWHERE)._replace(value=ZERO)}
    hardware, was_hardware = (_hardware_cells(workbook) for workbook in (returned, base.returned))
    amounts, prices = list[Problem](), list[Problem]()
    for line in (*returned.lines, *returned.added):
        before = old.get(line.id, {} if line.id else new)
        if not before:
            continue
        price, amount, share_price = line.cells["unit_price"], line.cells["amount"], computed.prices.get(line.id)
        of_line = f"of '{line.id or line.cells['description'].value}'"
        if share_price is not None and not _is_one_of(price, [share_price], before["unit_price"]):
            typed = _say_typed("price", of_line, price)
            refusal = f"{typed}: it is a share of the hardware; change the share below the lines"
            prices.append(conflict(price, returned.bill, refusal, line.id))
            continue
        unit = number_in(price) if share_price is None else share_price
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
    lines = {line.cells["id"].mark.line: line.id for line in quote.lines}
    titled = (cell for cell in quote.beside if cell.mark.column in quote.header and cell.mark.line in lines)
    return {lines[cell.mark.line]: cell for cell in titled}


def _say_typed(name: str, of: str, cell: TableCell) -> str:
    """Return what happened to a computed cell, by what it is called and what it is of."""
    if cell.value == NO_VALUE:
        return f"the formula of the {name} {of} was changed".replace("  ", " ")
    what = " ".join(filter(None, ("the", name, show(cell.value) if not isinstance(cell.value, Broken) else "", of)))
    return f"{what}: {show(cell.value)}" if isinstance(cell.value, Broken) else f"{what} {TYPED}"


def _is_one_of(cell: TableCell, computed: Iterable[Decimal | None], before: TableCell) -> bool:
    """Return whether a cell shows a computed value, or its previous value by its previous formula."""
    if isinstance(cell.value, Broken):
        return is_same(before, cell)
    shown = {simplify(value) for value in (*computed, before.value)}
    return not is_rewritten(before, cell) and simplify(cell.value) in shown


def _unexplained(proposal: Proposal, rebuilt: Base, computed: Computed, follows: bool) -> Iterator[Problem]:
    """Yield conflicts for cells that bomgen writes itself, unless they show the results of the changed inputs."""
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
    rebuilt_cells = {(cell.mark.column, simplify(cell.value)) for row in rows for cell in row}
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
                or (before.filled and cell.filled and ((cell.mark.column, shown) in rebuilt_cells or shown in totals))
                or (before.filled and isinstance(cell.value, Decimal) and (follows or (removed and not cell.value)))
            )
        if not computed_anew:
            yield conflict(cell, sheet, refusal)
