"""An edited workbook and the plan that it was written from; the edited plan, its prices and what cannot be applied.

Whatever is edited, the plan is worked out once more with the edits, and its workbook is held against the one that came
back: pieces, prices, discounts and the total must be the same to the piece and the cent. What differs and was not
changed by hand follows from a number of servers, or it is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.language import language
from bomgen.core.money import Totals, rounded
from bomgen.core.provenance import Mark
from bomgen.core.yaml_edit import NotEditable, append_item, remove_item, set_value
from bomgen.core.yaml_source import SUFFIXES, Path, Source, decoded, read
from bomgen.output.price_lists.yaml import write
from bomgen.output.xlsx.quote import quote_workbook
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.books.book import check
from bomgen.reading.cells import Broken, Cell
from bomgen.reading.quote_workbook import ReturnedLine, ReturnedQuote, read_quote
from bomgen.report.chapters.writer import Writer
from bomgen.report.customer_quote.contents import quote_document
from bomgen.report.customer_quote.record import customer_quote
from bomgen.report.result import Report
from bomgen.workflow.applying.changes import RULE, Changes, conflict, find_changes, simplify
from bomgen.workflow.applying.nearest import Wanted, find_servers, name_nearest
from bomgen.workflow.applying.plan_edits import (
    CHARGES,
    DISCOUNT,
    PRICE,
    QUANTITY,
    SPARE,
    Base,
    Edit,
    Proposal,
    propose_edits,
    show,
    value_at,
)
from bomgen.workflow.inputs import source_of
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, content_of, inside

WORKBOOK = "quote.xlsx"
BOOKS: Path = ("quote", "price_book")
BOOK_SUFFIX = ".prices.yaml"
STALE = "apply-state"
ZERO = Decimal(0)
TYPED = "was typed, or its formula was changed"
SEARCHED = 3
"""Conflicts for which the nearest plan is searched: each takes a dozen designs."""


class Application(NamedTuple):
    """What an edited workbook does to a plan."""

    differences: tuple[str, ...]
    """Each change in words; none where nothing was changed."""
    follows: tuple[str, ...]
    """What the plan works out anew from changed numbers of servers, in words."""
    files: tuple[tuple[str, bytes, bytes], ...]
    """Files to write beside the plan: name, bytes before, empty where there is none, and after."""
    before: Totals
    after: Totals | None
    """None where the edited plan cannot be worked out."""
    problems: tuple[Problem, ...]
    """Conflicts; where there are any, nothing is to be written."""
    applied: bool = False
    """Whether the workbook is of an older state, and the plan has its edits already."""


def apply_quote(content: bytes, name: str, file: PlanFile, force: bool = False) -> Application:
    """What the workbook in `content`, which messages call `name`, does to a plan; nothing is written.

    Raises PlanErrors where the plan cannot be worked out, where it is locked, and for what is no workbook of this plan;
    for one of an older state, or of another plan, unless `force` is given.
    """
    report = work_out(file)
    if file.lock is not None:
        message = f"the plan is locked: its prices are those of {file.lock[0]}; remove the lock, apply, and lock again"
        raise PlanErrors([Problem(report.plan.mark, "error", message, "apply-lock")])
    source = source_of(file)
    base = _base_of(report, source)
    returned = read_quote(content, name, base.titles)
    if not force and returned.plan != base.returned.plan:
        message = f"the workbook of the plan '{returned.plan}', not of '{base.returned.plan}'; "
        raise _stale(returned, f"{message}give its own plan, or apply it all the same with --force")
    changes = find_changes(base.returned, returned)
    if not force and returned.fingerprint != base.returned.fingerprint:
        return _already_applied(file, base, returned, changes)
    proposal = propose_edits(base, changes, returned.bill)
    computed = compute_workbook(returned, base)
    problems = list(proposal.problems)
    edited, files, rebuilt = _rebuild(file, base, proposal, problems)
    if rebuilt is None:
        return Application(proposal.differences, (), (), report.quote.totals, None, tuple(problems))
    after = rebuilt.report
    names = _renamed(base, rebuilt, proposal.edits)
    follows = list(_follows(base, rebuilt, returned, names))
    problems += _unmet(base, rebuilt, returned, proposal, names, edited)
    problems = problems or _typed_over(base, returned, computed)
    if returned.fingerprint == base.returned.fingerprint:
        problems = problems or list(_loose_problems(base, rebuilt, proposal, computed, bool(follows)))
    if not problems and not follows and after.quote.totals.amount != computed.totals["amount"]:
        problems = [_other_total(base, rebuilt, returned, computed.totals["amount"])]
    return Application(
        proposal.differences,
        tuple(follows),
        tuple(files),
        report.quote.totals,
        after.quote.totals,
        tuple(sorted(problems, key=lambda problem: problem.mark)),
    )


def _base_of(report: Report, source: Source) -> Base:
    """A result with its workbook as that is read, so that what is compared went through the same hands."""
    words = language(report.plan.quote.language)
    document = quote_document(customer_quote(Writer(report, words)), words, {}, {})
    [table] = document.section("bill").tables
    titles = {"category": words.word("xlsx-category")} | {column.key: column.title for column in table.columns}
    returned = read_quote(quote_workbook(document, words), WORKBOOK, titles)
    return Base(report, source, document, words, titles, returned)


def _already_applied(file: PlanFile, base: Base, returned: ReturnedQuote, changes: Changes) -> Application:
    """That a workbook of an older state has no edit that the plan has not.

    Pieces may be those that the plan works out for the number of servers before. Raises PlanErrors where the workbook
    says anything else.
    """
    counted = [change for change in changes.lines if change.key in (QUANTITY, SPARE)]
    others = changes._replace(lines=tuple(change for change in changes.lines if change not in counted))
    proposal = propose_edits(base, others, returned.bill)
    wanted = [_wanted(base, returned, line) for line in dict.fromkeys(change.line for change in counted)]
    machines = any(each.line.alone().id in ("server", "gpu") for each in wanted)
    differs = proposal.edits or proposal.prices or proposal.problems or machines
    if differs or (wanted and not find_servers(base.report, file, wanted)):
        message = (
            f"the quote of '{returned.plan}' was another when this workbook was written: its plan, a price book, "
            "settings or bomgen have changed since; build a new one, or apply it all the same with --force"
        )
        raise _stale(returned, message)
    totals = base.report.quote.totals
    return Application((), (), (), totals, totals, (), applied=True)


def _wanted(base: Base, returned: ReturnedQuote, line_id: str) -> Wanted:
    """The pieces of a line of the plan that stand in the workbook."""
    typed = next(line.cells for line in returned.lines if line.id == line_id)
    return Wanted(base.lines[line_id].line, int(_decimal(typed[QUANTITY])), int(_decimal(typed[SPARE])))


def _stale(returned: ReturnedQuote, message: str) -> PlanErrors:
    return PlanErrors([Problem(returned.mark, "error", message, STALE)])


# files --------------------------------------------------------------------------------------------------------------


def _rebuild(
    file: PlanFile, base: Base, proposal: Proposal, problems: list[Problem]
) -> tuple[PlanFile, list[tuple[str, bytes, bytes]], Base | None]:
    """The edited plan, the files that hold it and what it comes to; None where that cannot be built, a problem.

    Spare pieces that are a share follow the pieces: those that the other edits give already need no edit.
    """
    edited, files, rebuilt = _try_edits(file, base, proposal, problems)
    if rebuilt is None or not proposal.spares:
        return edited, files, rebuilt
    new = {line.id: _decimal(line.cells[SPARE]) for line in rebuilt.returned.lines}
    wanted = {line: _decimal(proposal.counted[line, SPARE].after) for line in proposal.spares}
    needed = tuple(edit for line, edit in proposal.spares.items() if new.get(line) != wanted[line])
    if not needed:
        return edited, files, rebuilt
    return _try_edits(file, base, proposal._replace(edits=(*proposal.edits, *needed)), problems)


def _try_edits(
    file: PlanFile, base: Base, proposal: Proposal, problems: list[Problem]
) -> tuple[PlanFile, list[tuple[str, bytes, bytes]], Base | None]:
    """The plan with edits, the files that hold it and what it comes to; None where that cannot be built."""
    try:
        edited, files = _edited_files(file, base, proposal)
    except NotEditable as error:
        problems.append(Problem(base.report.plan.mark, "error", f"{error}; edit it by hand", RULE))
        return file, [], base
    if not files:
        return edited, files, base
    after = _work_out_edited(edited, problems)
    return edited, files, _base_of(after, source_of(edited)) if after else None


def _edited_files(file: PlanFile, base: Base, proposal: Proposal) -> tuple[PlanFile, list[tuple[str, bytes, bytes]]]:
    """The plan with the edits, and the files that hold them. Raises NotEditable."""
    text = file.content.decode("utf-8")
    for edit in proposal.edits:
        text = _apply_edit(text, base.source.data, edit)
    files = list[tuple[str, bytes, bytes]]()
    own = FilePath(file.name).name
    if proposal.prices:
        name = _book_name(own)
        before, book = _priced_book(file, base, name, proposal.prices)
        text = _name_book(text, base.source.data, name)
        files.append((name, before, book))
        file = file._replace(unwritten=((file.folder / name, book),))
    if text.encode() != file.content:
        files.insert(0, (own, file.content, text.encode()))
    return file._replace(content=text.encode()), files


def _apply_edit(text: str, whole: Any, edit: Edit) -> str:
    """The plan's text with an edit; a list that another file gives is written into the plan as a whole."""
    own = read(text, "").data
    for depth in range(1, len(edit.path) + 1):
        path = edit.path[:depth]
        given = value_at(whole, path)
        if isinstance(given, list) and value_at(own, path) is None:
            return set_value(text, path, _with_edit(given, edit, depth))
    if edit.action == "append":
        given = value_at(own, edit.path)
        return append_item(text, edit.path, edit.value) if given else set_value(text, edit.path, [edit.value])
    if edit.action == "remove":
        return remove_item(text, edit.path)
    return set_value(text, edit.path, edit.value)


def _with_edit(given: list[Any], edit: Edit, depth: int) -> Any:
    """A list of another file with the edit of it, or of what is in it."""
    from copy import deepcopy

    whole = {"list": deepcopy(given)}
    holder: Any = whole
    path: Path = ("list", *edit.path[depth:])
    for step in path[:-1]:
        holder = holder[step]
    if edit.action == "set":
        holder[path[-1]] = edit.value
    elif edit.action == "append":
        holder[path[-1]].append(edit.value)
    else:
        del holder[path[-1]]
    return whole["list"]


def _book_name(plan: str) -> str:
    """The price book of a plan's own: `plan.prices.yaml` beside `plan.yaml`."""
    place = FilePath(plan)
    return (place.stem if place.suffix in SUFFIXES else place.name) + BOOK_SUFFIX


def _name_book(text: str, whole: Any, name: str) -> str:
    """The plan's text with its own price book as the last one, which wins."""
    given = value_at(whole, BOOKS)
    named = [given] if isinstance(given, str) else list(given or ())
    if named and named[-1] == name:
        return text
    if name in named:
        return set_value(text, BOOKS, [*(each for each in named if each != name), name])
    if isinstance(value_at(read(text, "").data, BOOKS), list):
        return append_item(text, BOOKS, name)
    return set_value(text, BOOKS, [*named, name] if named else name)


def _priced_book(file: PlanFile, base: Base, name: str, prices: Mapping[str, Decimal]) -> tuple[bytes, bytes]:
    """The plan's own price book as it is, and with prices; those of other parts stay as they are."""
    place = inside(file, name, base.report.plan.quote.mark, ".".join(map(str, BOOKS)))
    before = content_of(place) if place.exists() else b""
    quote = base.report.plan.quote
    lead = {line.line.names[0]: line.price for line in base.report.quote.lines if line.line.names}
    entries: list[dict[str, Any]] = []
    for part, price in prices.items():
        entry: dict[str, Any] = {"part": part, "price": price, "currency": quote.currency}
        entry |= {"date": quote.date} if quote.date else {}
        known = lead.get(part)
        entries.append(entry | ({"lead_time": f"{known.lead_days} days"} if known and known.lead_days else {}))
    if not before:
        return before, write(entries, f"edited quote {base.report.plan.name}")
    text = decoded(before, name)
    book = read(text, name)
    check(book)
    parts = [str(entry["part"]).strip().lower() for entry in book.data["prices"]]
    for entry in entries:
        places = [at for at, part in enumerate(parts) if part == entry["part"]]
        for at in places:
            text = set_value(text, ("prices", at, "price"), entry["price"])
        if not places:
            own = {key: value for key, value in entry.items() if book.data.get(key) != value}
            text = append_item(text, ("prices",), own)
    return before, text.encode()


def _work_out_edited(file: PlanFile, problems: list[Problem]) -> Report | None:
    """The result for the edited plan; None where it has none, which is noted as conflicts."""
    try:
        return work_out(file)
    except PlanErrors as errors:
        for problem in errors.problems:
            if problem.severity == "error":
                message = f"with these edits the plan cannot be built: {problem.message}"
                problems.append(problem._replace(message=message, rule=RULE))
        return None


# what the edited plan gives -----------------------------------------------------------------------------------------


def _removed_charges(edits: Sequence[Edit]) -> set[str | int]:
    """The positions of the charges whose rows were deleted."""
    return {edit.path[-1] for edit in edits if edit.action == "remove" and edit.path[:-1] == CHARGES}


def _renamed(base: Base, rebuilt: Base, edits: Sequence[Edit]) -> dict[str, str]:
    """The ids that lines have in the edited plan, where those of charges follow their names."""
    removed = _removed_charges(edits)
    old = [each for at, each in enumerate(base.report.plan.quote.charges) if at not in removed]
    new = rebuilt.report.plan.quote.charges
    return {was.id: now.id for was, now in zip(old, new, strict=False) if was.id != now.id}


def _follows(base: Base, rebuilt: Base, returned: ReturnedQuote, names: Mapping[str, str]) -> Iterator[str]:
    """Lines whose pieces are others than before and than in the workbook: what the plan works out anew."""
    came = {line.id: line for line in returned.lines}
    new = {line.id: line for line in rebuilt.returned.lines}
    old = {line.id: line for line in base.returned.lines}
    for line_id, line in old.items():
        own = names.get(line_id, line_id)
        before = _pieces(line)
        after = _pieces(new[own]) if own in new else (ZERO, ZERO)
        typed = _pieces(came[line_id]) if line_id in came else (ZERO, ZERO)
        if after != before and after != typed:
            yield f"{line_id}: {_show_pieces(before)} -> {_show_pieces(after) if own in new else 'gone'}"
    added = [line.cells["description"].value for line in returned.added]
    for line_id, line in new.items():
        known = line_id in old or line_id in names.values() or line.cells["description"].value in added
        if not known:
            yield f"{line_id}: new, {_show_pieces(_pieces(line))}"


def _pieces(line: ReturnedLine) -> tuple[Decimal, Decimal]:
    return _decimal(line.cells[QUANTITY]), _decimal(line.cells[SPARE])


def _show_pieces(pieces: tuple[Decimal, Decimal]) -> str:
    quantity, spare = pieces
    return f"{quantity} + {spare}" if spare else f"{quantity}"


def _decimal(cell: Cell) -> Decimal:
    return cell.value if isinstance(cell.value, Decimal) else ZERO


def _unmet(
    base: Base,
    rebuilt: Base,
    returned: ReturnedQuote,
    proposal: Proposal,
    names: Mapping[str, str],
    edited: PlanFile,
) -> list[Problem]:
    """Changes of the bill that the edited plan does not give."""
    new = {line.id: line for line in rebuilt.returned.lines}
    found, searched = list[Problem](), 0
    for (line_id, key), change in proposal.counted.items():
        line = new.get(names.get(line_id, line_id))
        value = _decimal(line.cells[key]) if line else ZERO
        if value == _decimal(change.after):
            continue
        title = base.titles[key].lower()
        message = f"{title} {show(change.after.value)} of '{line_id}'; the plan gives {show(value)}"
        origin = base.lines[line_id].line
        if line is None:
            message += ", which has no such line any more"
        elif searched < SEARCHED:
            searched += 1
            message += f": {name_nearest(rebuilt.report, edited, _wanted(base, returned, line_id))}"
        found.append(conflict(change.after, returned.bill, message, origin.path or line_id))
    return found


def _other_total(base: Base, rebuilt: Base, returned: ReturnedQuote, wanted: Decimal) -> Problem:
    """That the edited plan comes to another total than the workbook."""
    currency = base.report.plan.quote.currency
    came = {line.id: line for line in returned.lines}
    lines = [
        line.id
        for line in rebuilt.returned.lines
        if line.id in came
        and any(_decimal(line.cells[key]) != _decimal(came[line.id].cells[key]) for key in (PRICE, DISCOUNT))
    ]
    others = f" ({', '.join(lines)})" if lines else ""
    message = (
        f"with these edits the plan comes to {rebuilt.report.quote.totals.amount} {currency}, the workbook to "
        f"{wanted} {currency}{others}; edit the plan by hand"
    )
    return Problem(returned.mark, "error", message, RULE)


# what the workbook comes to -----------------------------------------------------------------------------------------


class Computed(NamedTuple):
    """What the inputs of a workbook come to, by the rules of a quote."""

    prices: Mapping[str, Decimal]
    """Of the charges that are a share of the hardware, by the ids of their lines."""
    totals: Mapping[str, Decimal]
    """List, discount, net, tax and amount."""


def compute_workbook(returned: ReturnedQuote, base: Base) -> Computed:
    """What the pieces, prices, discounts and rates of a workbook come to, added rows among them."""
    currency = base.report.plan.quote.currency
    shares = _shares_of(returned, base)
    charged = {base.words.word(f"category-{category}") for category in CHARGED}
    amounts, hardware = list[tuple[Fraction, Fraction]](), list[Fraction]()
    for line in (*returned.lines, *returned.added):
        price = line.cells[PRICE].value
        if line.id in shares or not isinstance(price, Decimal):
            continue
        amounts.append(_amounts(line, Fraction(price), currency))
        known = base.lines.get(line.id)
        if line.cells["category"].value not in charged and not (known and known.line.in_stock):
            hardware.append(amounts[-1][1])
    prices = {line: rounded(sum(hardware) * share, currency) for line, share in shares.items()} if hardware else {}
    amounts += [_amounts(line, Fraction(prices[line.id]), currency) for line in returned.lines if line.id in prices]
    listed = sum((before for before, _ in amounts), Fraction(0))
    net = sum((after for _, after in amounts), Fraction(0))
    tax = Fraction(rounded(net * _tax_of(returned, base), currency))
    totals = {"list": listed, "discount": listed - net, "net": net, "tax": tax, "amount": net + tax}
    return Computed(prices, {key: rounded(value, currency) for key, value in totals.items()})


def _amounts(line: ReturnedLine, price: Fraction, currency: str) -> tuple[Fraction, Fraction]:
    """What a line comes to before and after its discount; wrong inputs, which are conflicts, come to nothing."""
    before = sum(map(Fraction, _pieces(line)), Fraction(0)) * price
    after = before * (1 - Fraction(_decimal(line.cells[DISCOUNT])))
    return Fraction(rounded(max(before, Fraction(0)), currency)), Fraction(rounded(max(after, Fraction(0)), currency))


def _shares_of(returned: ReturnedQuote, base: Base) -> dict[str, Fraction]:
    """The share of the hardware that each charge is, by the id of its line."""
    labels, charges = base.share_labels, base.report.plan.quote.charges
    return {
        charge.id: _rate(returned, labels[charge.id], Fraction(charge.share.value))
        for charge in charges
        if charge.share is not None and charge.id in labels
    }


def _tax_of(returned: ReturnedQuote, base: Base) -> Fraction:
    tax = base.report.plan.quote.tax
    return _rate(returned, base.words.word("xlsx-rate"), Fraction(tax.value) if tax else Fraction(0))


def _rate(returned: ReturnedQuote, label: str, otherwise: Fraction) -> Fraction:
    for name, value in returned.below:
        if name.value == label:
            return Fraction(_decimal(value))
    return otherwise


def _typed_over(base: Base, returned: ReturnedQuote, computed: Computed) -> list[Problem]:
    """Amounts, prices of charges or the total, where they were typed over or their formulas were changed.

    A cell that is still as it was written was not computed again, as by programs that do not calculate. What is wrong
    in one of these three makes the later ones wrong: only the first is told.
    """
    currency = base.report.plan.quote.currency
    old = {line.id: line.cells for line in base.returned.lines}
    lines = [line for line in returned.lines if line.id in old]
    amounts, prices = list[Problem](), list[Problem]()
    for line in lines:
        price, amount = line.cells[PRICE], line.cells["amount"]
        own = computed.prices.get(line.id)
        if own is not None and not _is_one_of(price, own, old[line.id][PRICE]):
            message = (
                f"the price of '{line.id}' {TYPED}: it is a share of the hardware; change the share below the lines"
            )
            prices.append(conflict(price, returned.bill, message, line.id))
            continue
        unit = own if own is not None else price.value
        if isinstance(unit, Decimal):
            comes_to = rounded(_amounts(line, Fraction(unit), currency)[1], currency)
            if not _is_one_of(amount, comes_to, old[line.id]["amount"]):
                message = (
                    f"the amount {show(amount.value)} of '{line.id}' {TYPED}: pieces, price and discount come to "
                    f"{comes_to}; change these"
                )
                amounts.append(conflict(amount, returned.bill, message, line.id))
    if amounts or prices or not returned.below:
        return amounts or prices
    total = returned.below[-1][1]
    if _is_one_of(total, computed.totals["amount"], base.returned.below[-1][1]):
        return []
    comes_to = computed.totals["amount"]
    message = f"the total {show(total.value)} {TYPED}: the lines come to {comes_to}; change prices or discounts"
    return [conflict(total, returned.bill, message)]


def _is_one_of(cell: Cell, computed: Decimal, before: Cell) -> bool:
    """Whether a cell shows what is computed, or what stood there before, or nothing that is known."""
    return isinstance(cell.value, Broken) or simplify(cell.value) in (simplify(computed), simplify(before.value))


def _loose_problems(
    base: Base, rebuilt: Base, proposal: Proposal, computed: Computed, follows: bool
) -> Iterator[Problem]:
    """Cells that differ and that no key of the plan has, unless they show what the changed inputs come to."""
    checks = set(_check_cells(base))
    removed = _removed_charges(proposal.edits)
    cells = [cell for rows in rebuilt.returned.sheets.values() for row in rows for cell in row]
    cells += [cell for row in rebuilt.returned.below for cell in row]
    given = {(cell.mark.column, simplify(cell.value)) for cell in cells}
    totals = {simplify(amount) for amount in computed.totals.values()}
    for sheet, before, cell in proposal.loose:
        shown = simplify(cell.value)
        if isinstance(cell.value, Broken) or (sheet, before.mark) in checks:
            continue
        if before.filled and cell.filled and ((cell.mark.column, shown) in given or shown in totals):
            continue
        if before.filled and isinstance(cell.value, Decimal) and (follows or (removed and not cell.value)):
            continue
        message = f"{show(cell.value)}: this cell is computed; change what it comes from, or put it back"
        yield conflict(cell, sheet, message)


def _check_cells(base: Base) -> Iterator[tuple[str, Mark]]:
    """The cells that show what a sum and the net amount of the bill differ by, behind their label."""
    label = base.words.word("xlsx-difference")
    for sheet, rows in base.returned.sheets.items():
        for row in rows:
            yield from ((sheet, cell.mark) for before, cell in pairwise(row) if before.value == label)
