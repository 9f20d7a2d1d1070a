"""An edited workbook and its plan in; the edited files, prices and conflicts out.

Whatever is edited, the plan is worked out once more with the edits, and its workbook is held against the one that came
back: pieces, prices, discounts and the total must be the same to the piece and the cent.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain, count
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from bomgen.apply.changes import RULE, Base, Edit, Proposal, QuoteChanges, find_changes, is_pieces, match_rows
from bomgen.apply.edits import add_and_remove_rows, change_lines, change_rates, change_texts
from bomgen.apply.judgement import find_servers, judge, wanted_of
from bomgen.core.diagnostics import PlanErrors, Problem, error_at
from bomgen.core.language import language
from bomgen.core.messages import message
from bomgen.core.units import Totals
from bomgen.core.yaml_edit import NotEditable, append_item, remove_item, set_value
from bomgen.core.yaml_source import SUFFIXES, Path, Source, decoded, read, value_at
from bomgen.documents.customer_quote import customer_quote
from bomgen.documents.quote_contents import quote_document
from bomgen.documents.tables import Writer
from bomgen.output.price_lists import write_yaml
from bomgen.output.xlsx.workbook import workbook as write_workbook
from bomgen.pricing.bill_line import part_key
from bomgen.pricing.price_book import check_price_book
from bomgen.reading.quote_workbook import INCLUSIVE, ReturnedQuote, name_cell, read_quote
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import BOOKS, PlanFile, content_of, find_yaml_files, inside

# edited files -------------------------------------------------------------------------------------------------------
# The files that hold the edits: the plan's text with nothing else touched, and its own price book beside it.

BOOK_SUFFIX = ".prices.yaml"


class EditedFile(NamedTuple):
    """A file to write beside the plan."""

    name: str
    before: bytes
    """Empty where there is none."""
    after: bytes


def edit_files(
    file: PlanFile, base: Base, edits: Iterable[Edit], prices: Mapping[str, Decimal]
) -> tuple[PlanFile, list[EditedFile]]:
    """Return the plan with edits and prices, as if written, and the files that hold them. Raises NotEditable."""
    text, path = file.content.decode("utf-8"), FilePath(file.name)
    for edit in edits:
        text = _edit_text(text, base.source.data, edit)
    files = list[EditedFile]()
    if prices:
        stem = path.stem if path.suffix in SUFFIXES else path.name
        book = _price_book(file, base, choose_book(file, stem, named_books(base.source.data)), prices)
        text = name_book(text, base.source.data, book.name)
        files.append(book)
        file = file._replace(unwritten=((file.folder / book.name, book.after),))
    content = text.encode()
    if content != file.content:
        files.insert(0, EditedFile(path.name, file.content, content))
    return file._replace(content=content), files


def _edit_text(text: str, whole: Any, edit: Edit) -> str:
    """Return the plan's text with an edit; a list from another file is first copied into the plan."""
    data = read(text, "").data
    for depth in range(1, len(edit.path) + 1):
        path = edit.path[:depth]
        value = value_at(whole, path)
        if isinstance(value, list) and value_at(data, path) is None:
            text = set_value(text, path, value)
            break
    if edit.action == "remove":
        return remove_item(text, edit.path)
    if edit.action == "set":
        return set_value(text, edit.path, edit.value)
    if value_at(read(text, "").data, edit.path):
        return append_item(text, edit.path, edit.value)
    return set_value(text, edit.path, [edit.value])


def name_book(text: str, whole: Any, name: str, key: Path = BOOKS) -> str:
    """Return the plan's text with a book as the last one at a key, which wins; by default a price book."""
    named = named_books(whole, key)
    if named and named[-1] == name:
        return text
    if name in named:
        return set_value(text, key, [*(book for book in named if book != name), name])
    if isinstance(value_at(read(text, "").data, key), list):
        return append_item(text, key, name)
    return set_value(text, key, [*named, name] if named else name)


def named_books(whole: Any, key: Path = BOOKS) -> list[str]:
    """Return the books that a plan names at a key, by default its price books."""
    books = value_at(whole, key)
    return [books] if isinstance(books, str) else list(books or ())


def choose_book(file: PlanFile, stem: str, named: Collection[str] = ()) -> str:
    """Return the name of a price book to write beside a plan.

    An existing file is used only if the plan names it, as one of `named`, and no other plan does.
    """
    for number in chain([""], (f"-{at}" for at in count(2))):
        name = f"{stem}{number}{BOOK_SUFFIX}"
        if not os.path.lexists(file.folder / name) or (name in named and not _is_named_elsewhere(file, name)):
            break
    return name


def _is_named_elsewhere(file: PlanFile, name: str) -> bool:
    """Return whether a YAML file other than the plan may name a price book: a plan, or one that plans extend."""
    files, whole = find_yaml_files(file.root)
    for path in files:
        with suppress(OSError):
            if path != file.folder / FilePath(file.name).name and name.encode() in content_of(path):
                return True
    return not whole


def _price_book(file: PlanFile, base: Base, name: str, prices: Mapping[str, Decimal]) -> EditedFile:
    """Return the plan's own price book with new prices; those of other parts are kept."""
    quote = base.report.plan.quote
    path = inside(file, name, quote.mark, ".".join(map(str, BOOKS)))
    before = content_of(path) if path.exists() else b""
    lead_days = {
        line.line.names[0]: line.price.lead_days
        for line in base.report.quote.lines
        if line.line.names and line.price and line.price.lead_days
    }
    entries = list[dict[str, Any]]()
    for part, price in prices.items():
        entry = {"part": part, "price": price, "currency": quote.currency, "date": quote.date}
        entry["lead_time"] = f"{lead_days[part]} days" if part in lead_days else None
        entries.append({key: value for key, value in entry.items() if value is not None})
    if not before:
        return EditedFile(name, before, write_yaml(entries, f"edited quote {base.report.plan.name}"))
    text = decoded(before, name)
    book = read(text, name)
    check_price_book(book)
    parts = [str(entry["part"]).strip().lower() for entry in book.data["prices"]]
    for entry in entries:
        indices = [at for at, part in enumerate(parts) if part == entry["part"]]
        for at in indices:
            text = set_value(text, ("prices", at, "price"), entry["price"])
        if not indices:
            fields = {key: value for key, value in entry.items() if book.data.get(key) != value}
            text = append_item(text, ("prices",), fields)
    return EditedFile(name, before, text.encode())


# application --------------------------------------------------------------------------------------------------------

WORKBOOK = "quote.xlsx"
STALE = "apply-state"
MACHINES = ("server", "gpu")
"""Lines whose pieces a plan is given."""


class Application(NamedTuple):
    """What an edited workbook does to a plan."""

    differences: tuple[str, ...]
    """Each change in words; none where nothing was changed."""
    follows: tuple[str, ...]
    """What the plan works out anew from changed numbers of servers, in words."""
    files: tuple[EditedFile, ...]
    before: Totals
    after: Totals | None
    """None where the edited plan cannot be worked out."""
    problems: tuple[Problem, ...]
    """Conflicts; where there are any, nothing is to be written."""
    applied: bool = False
    """Whether the workbook is of an older state, and the plan has its edits already."""
    passed_over: tuple[str, ...] = ()
    """Of a workbook of an older state: cells whose texts are bomgen's own and others than those of today."""


def apply_quote(
    content: bytes, name: str, file: PlanFile, force: bool = False, chosen: Collection[str] = ()
) -> Application:
    """Return what the workbook in `content`, which messages call `name`, does to a plan; nothing is written.

    `chosen` has settings that conflicts offer; a price among them is taken, settings of the plan are not.

    Raises PlanErrors for a plan that is invalid or locked, and for a file that is not a workbook of this plan; unless
    `force` is given, also for a workbook of an older state or another plan.
    """
    report = work_out(inputs := read_all(file))
    if file.lock is not None:
        refusal = f"the plan is locked: its prices are those of {file.lock[0]}; remove the lock, apply, and lock again"
        raise error_at(report.plan.mark, refusal, "apply-lock")
    base = _base_of(report, inputs.source)
    returned = match_rows(base.returned, read_quote(content, name, base.titles))
    if not force and returned.plan != base.returned.plan:
        raise _stale(returned, message("apply-other-plan", id=returned.plan, key=base.returned.plan))
    changes = _without_moved_spares(base, returned, find_changes(base.returned, returned))
    older = returned.fingerprint != base.returned.fingerprint
    if older and not force:
        proposal = _check_applied(inputs, base, returned, changes)
        totals = report.quote.totals
        # Texts that bomgen writes itself, and that differ from those of today, are passed over.
        texts = [change for change in proposal.written if change.before is None or isinstance(change.after.value, str)]
        passed_over = tuple(dict.fromkeys(name_cell(change.sheet, change.after.mark) for change in texts))
        return Application((), (), (), totals, totals, (), True, passed_over)
    proposal = _propose(base, changes, returned, chosen)
    files, rebuilt = _rebuild(inputs, proposal)
    differences = tuple(proposal.differences)
    if rebuilt is None:
        return Application(differences, (), (), report.quote.totals, None, tuple(proposal.problems))
    follows, problems = judge(proposal, changes, rebuilt, inputs, older)
    return Application(differences, follows, tuple(files), report.quote.totals, rebuilt.report.quote.totals, problems)


def _base_of(report: Report, source: Source) -> Base:
    """Return a result with its workbook as it is read, so that both sides are compared in the same form."""
    words = language(report.plan.quote.language)
    quote = customer_quote(Writer(report, words))
    document = quote_document(quote, words, {}, {})
    [table] = document.section("bill").tables
    titles = {"category": words.word("xlsx-category")}
    titles |= {column.key: column.title for column in table.columns if column.key not in INCLUSIVE}
    workbook = write_workbook(document, words)
    returned = read_quote(workbook.content, WORKBOOK, titles)
    names = {line.line.id: line.line.names for line in report.quote.all_lines}
    required = dict[str, tuple[str, int]]()
    for line in quote.lines:
        if not line.counted:
            pieces = required.get(line.description, ("", 0))[1]
            required[line.description] = names[line.id][0], pieces + int(line.pieces)
    return Base(report, source, document, words, titles, returned, workbook.cells, required)


def _without_moved_spares(base: Base, returned: ReturnedQuote, changes: QuoteChanges) -> QuoteChanges:
    """Leave out spares on another line of their part than in the plan; values that are no number of pieces stay."""
    now, typed = base.spares_in(base.returned), base.spares_in(returned)
    same = {line.line.id for line in base.lines.values() if now.get(key := part_key(line.line)) == typed.get(key, 0)}
    lines = [
        line for line in changes.lines if line.key != "spare" or line.line not in same or not is_pieces(line.after)
    ]
    return changes._replace(lines=tuple(lines))


def _propose(base: Base, changes: QuoteChanges, returned: ReturnedQuote, chosen: Collection[str] = ()) -> Proposal:
    proposal = Proposal(base, returned, problems=list(changes.problems), chosen=chosen)
    change_lines(proposal, changes.lines)
    change_rates(proposal, changes.rates)
    change_texts(proposal, changes.texts)
    add_and_remove_rows(proposal, changes.deleted)
    return proposal


def _check_applied(inputs: Inputs, base: Base, returned: ReturnedQuote, changes: QuoteChanges) -> Proposal:
    """Return the edits of bomgen's own texts in a workbook of an older state. Raises PlanErrors for other edits.

    Pieces that follow from servers are also of the older state: they are compared with what the plan gives for the
    number of servers in the workbook.
    """
    counted = {change.line for change in changes.lines if change.key in ("quantity", "spare")}
    machines = any(base.lines[line].line.alone().id in MACHINES for line in counted)
    wanted = max((wanted_of(base, returned, line) for line in counted), key=lambda need: need.quantity, default=None)
    if wanted and (offer := find_servers(base, inputs, wanted)):
        now = {line.id: line.pieces for line in base.returned.lines}
        variant = read_all(inputs.file, [offer.setting], earlier=inputs)
        base = _base_of(work_out(variant), variant.source)
        returned = match_rows(base.returned, returned)
        changes = _without_moved_spares(base, returned, find_changes(base.returned, returned))
        same = {line.id for line in returned.lines if now.get(line.id) == line.pieces}
        lines = [line for line in changes.lines if line.key not in ("quantity", "spare") or line.line not in same]
        changes = changes._replace(lines=tuple(lines))
    proposal = _propose(base, changes, returned)
    counts = any(change.key in ("quantity", "spare") for change in changes.lines)
    if machines or counts or proposal.edits or proposal.prices or proposal.problems:
        raise _stale(returned, message("apply-stale", id=returned.plan))
    return proposal


def _stale(returned: ReturnedQuote, message: str) -> PlanErrors:
    return error_at(returned.mark, message, STALE)


def _rebuild(inputs: Inputs, proposal: Proposal) -> tuple[list[EditedFile], Base | None]:
    """Return the files with the edits, and the resulting plan; None if it cannot be built, which is a problem.

    Spares that are a share follow the pieces: they need no edit if the other edits give them already. Spares are
    counted by category: a number that also changes the spares of another part is not what was typed.
    """
    try:
        files, rebuilt = _try_edits(inputs, proposal, proposal.edits)
        spares = rebuilt.spares_in(rebuilt.returned)
        needed = [spare.edit for spare in proposal.spares if spares.get(spare.part) != spare.pieces]
        if needed:
            edits = [*proposal.edits, *needed]
            more_files, again = _try_edits(inputs, proposal, edits)
            changed = again.spares_in(again.returned)
            typed = {spare.part for spare in proposal.spares}
            if all(spares.get(part) == pieces or part in typed for part, pieces in changed.items()):
                proposal.edits, files, rebuilt = edits, more_files, again
    except NotEditable as error:
        refusal = f"{error}; edit it by hand"
        proposal.problems.append(Problem(proposal.base.report.plan.mark, "error", refusal, RULE))
        return [], proposal.base
    except PlanErrors as errors:
        for problem in errors.problems:
            if problem.severity == "error":
                refusal = f"with these edits the plan cannot be built: {problem.message}"
                proposal.problems.append(problem._replace(message=refusal, rule=RULE))
        return [], None
    return files, rebuilt


def _try_edits(inputs: Inputs, proposal: Proposal, edits: Sequence[Edit]) -> tuple[list[EditedFile], Base]:
    edited, files = edit_files(inputs.file, proposal.base, edits, proposal.prices)
    if not files:
        return files, proposal.base
    variant = read_all(edited, earlier=inputs)
    return files, _base_of(work_out(variant), variant.source)
