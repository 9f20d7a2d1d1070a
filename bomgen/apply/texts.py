"""Changed texts of the other sheets: title, sides, number, dates and payment of the cover, and the plan's terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import zip_longest

from bomgen.apply.changes import TextChange, changed_cells
from bomgen.apply.proposal import Proposal, show, value_at
from bomgen.core.units import parse
from bomgen.core.yaml_source import Path
from bomgen.documents.chapters.money import CONTACT
from bomgen.plan.commercial_terms import Party
from bomgen.reading.amounts_and_dates import read_dates
from bomgen.reading.cells import Broken, TableCell, Value
from bomgen.reading.quote_cells import CELLS, TERMS, QuoteCell

LAST_DAY = 36525
"""Days of validity that somebody may type: a hundred years."""


def change_texts(proposal: Proposal, changes: Iterable[TextChange]) -> None:
    """Propose what gives the sheets beside the bill the texts that were typed."""
    terms = list[TextChange]()
    for change in changes:
        if _is_term(proposal, change):
            terms.append(change)
        elif change.before and change.after:
            for before, after in changed_cells(change):
                if not _change_cell(proposal, change, before, after):
                    proposal.note_written(change.sheet, before, after)
        else:
            _note_row(proposal, change)
    if terms:
        _change_terms(proposal, terms)


def _note_row(proposal: Proposal, change: TextChange) -> None:
    """Note a row that was added or deleted; one of numbers alone may be what something else comes to."""
    row = change.before or change.after
    filled = [cell for cell in row if cell.filled]
    if not all(isinstance(cell.value, Decimal) for cell in filled):
        message = f"the row {show(filled[0].value)} was deleted, but the plan cannot express that; restore it"
        if not change.before:
            terms = proposal.base.document.section("terms").title
            message = (
                f"{show(filled[0].value)} was added, but the plan has no key for it; delete it, or write it "
                f"below the terms on the sheet '{terms}'"
            )
        proposal.refuse_written(change.sheet, change.at, message)
    else:
        for cell in filled:
            proposal.note_written(change.sheet, TableCell(None, cell.mark), cell)


# the cover ----------------------------------------------------------------------------------------------------------


def _change_cell(proposal: Proposal, change: TextChange, before: TableCell, after: TableCell) -> bool:
    cell = proposal.base.cell_at(change.base, before)
    if cell is None or not before.filled or cell.kind not in TAKEN:
        return False
    is_text = cell.kind in ("text", "party")
    if not ((is_text or isinstance(after.value, Broken)) and _refuse_kind(proposal, change.sheet, after, cell.key)):
        TAKEN[cell.kind](proposal, change.sheet, cell, before, after)
    return True


def _set_text(proposal: Proposal, sheet: str, cell: QuoteCell, before: TableCell, after: TableCell) -> None:
    if not after.filled:
        message = f"{show(before.value)} was deleted; remove `{cell.key}` from the plan"
        proposal.refuse(after, message, sheet, cell.key)
        return
    text = write_text(after.value)
    proposal.tell(after, cell.key, before.value, after.value, sheet)
    proposal.set(cell.path, int(text) if cell.key == "quote.revision" and text.isdecimal() else text)


def _refuse_kind(proposal: Proposal, sheet: str, cell: TableCell, key: str) -> bool:
    """Refuse what a spreadsheet program made of a text, and what is none; whether that was done."""
    value = cell.value
    if isinstance(value, Broken):
        message = f"{show(value)}; write the text of `{key}` itself"
    elif isinstance(value, bool | date | time):
        what = "a boolean" if isinstance(value, bool) else "a date or a time"
        message = f"{show(value)} is {what}, not text; format the cell as text and type it again"
    else:
        return False
    proposal.refuse(cell, message, sheet, key)
    return True


def _change_side(proposal: Proposal, sheet: str, cell: QuoteCell, before: TableCell, after: TableCell) -> None:
    """Take another name, address or contact of a side of the quote; the lines of its address may be more or fewer."""
    path = cell.path
    party: Party | None = getattr(proposal.base.report.plan.quote, str(path[-1]))
    old, new = str(before.value).split("\n"), write_text(after.value).split("\n")
    contacts = [key for key in CONTACT if getattr(party, key, None)]
    end = len(new) - len(contacts)
    known = party is not None and len(old) == 1 + len(party.address) + len(contacts)
    if party is None or not (known and after.filled and end > 0 and all(new)):
        message = f"lines of `{cell.key}` were deleted; restore them, or remove them from the plan"
        proposal.refuse(after, message, sheet, cell.key)
        return
    given = value_at(proposal.base.source.data, path)
    if not isinstance(given, dict):
        proposal.tell(after, cell.key, before.value, after.value, sheet)
        proposal.set(path, {"name": new[0], "address": new[1:]} if new[1:] else new[0])
        return
    address: Path = (*path, "address")
    lines: list[tuple[Path, str, str, str]] = [((*path, "name"), old[0], new[0], "")]
    if end == 1 + len(party.address):
        listed = isinstance(given.get("address"), list)
        places = [(*address, at) if listed else address for at in range(len(party.address))]
        lines += [(place, was, now, "") for place, was, now in zip(places, old[1:], new[1:], strict=False)]
    else:
        proposal.tell(after, f"{cell.key}.address", " / ".join(party.address), " / ".join(new[1:end]), sheet)
        proposal.set(address, new[1:end])
    word = proposal.base.words.word
    for key, was, now in zip(contacts, old[1 + len(party.address) :], new[end:], strict=True):
        lines.append(((*path, key), was, now, word("party-line", label=word(f"party-{key}"), value="")))
    for place, was, now, start in lines:
        key = ".".join(map(str, place))
        if was == now:
            continue
        if not now.startswith(start) or now == start.strip():
            proposal.refuse(after, f"{show(now)}; keep the line's beginning '{start}'", sheet, key)
            continue
        proposal.tell(after, key, was, now, sheet)
        proposal.set(place, now.removeprefix(start))


def _change_date(proposal: Proposal, sheet: str, cell: QuoteCell, before: TableCell, after: TableCell) -> None:
    found = read_date(after.value)
    if found is None:
        proposal.refuse(after, f"{show(after.value)} is not a date, or may be two; write YYYY-MM-DD", sheet, cell.key)
    else:
        proposal.tell(after, cell.key, before.value, found.isoformat(), sheet)
        proposal.set(cell.path, found.isoformat())


def _change_validity(proposal: Proposal, sheet: str, cell: QuoteCell, before: TableCell, after: TableCell) -> None:
    day = proposal.base.report.plan.quote.date
    until = read_date(after.value) if day else None
    days: int | None = None
    if until and day:
        # A date that was changed beside it is what the days count from.
        dated = [edit.value for edit in proposal.edits if edit.path == ("quote", "date")]
        days = (until - date.fromisoformat(dated[-1] if dated else day)).days
    elif not day and after.filled:
        try:
            days = int(parse(str(after.value).strip(), "days"))
        except ValueError:
            days = None
    if days is None or not 0 < days <= LAST_DAY:
        hint = "a day after the quote's date, YYYY-MM-DD" if day else "a number of days"
        proposal.refuse(after, f"{show(after.value)}; write {hint}", sheet, cell.key)
    else:
        proposal.tell(after, cell.key, before.value, after.value, sheet)
        proposal.set(cell.path, days)


TAKEN = {"text": _set_text, "party": _change_side, "date": _change_date, "validity": _change_validity}
"""What takes an edited cell of the cover, by its kind."""

# terms --------------------------------------------------------------------------------------------------------------


def _is_term(proposal: Proposal, change: TextChange) -> bool:
    """Whether a row is one of the plan's own terms, or a sentence that was added among them and is none of bomgen's."""
    section, word = proposal.base.document.section("terms"), proposal.base.words.word
    filled = [cell for cell in change.before or change.after if cell.filled]
    if change.base != section.title or len(filled) != 1 or not isinstance(filled[0].value, str):
        return False
    text, place = filled[0].value, filled[0].mark
    if change.before:
        cell = proposal.base.cell_at(change.base, filled[0])
        return cell is not None and cell.kind == "term"
    sheet = proposal.returned.sheets[change.sheet]
    rows = {str(cell.value): cell.mark.line for row in sheet for cell in row[:1] if cell.filled}
    first = min((line for each, line in rows.items() if each in section.text), default=0)
    last = rows.get(word("quote-for-seller"), place.line)
    written = text in proposal.base.words.words.values() or text.startswith(word("terms-payment", payment=""))
    return place.column == 1 and first < place.line <= last and not written


def _change_terms(proposal: Proposal, changes: Sequence[TextChange]) -> None:
    """Have the plan's terms be those that came back; what was typed beside a deleted one takes its place."""
    sheet, title = changes[0].sheet, changes[0].base

    def position_of(term: TableCell) -> int:
        cell = proposal.base.cell_at(title, term)
        return int(cell.path[-1]) if cell else 0

    terms = [term.strip() for term in proposal.base.report.plan.quote.terms]
    given = value_at(proposal.base.source.data, TERMS)
    sides = ((change.before, change.after) for change in changes)
    cells = [[next((cell for cell in row if cell.filled), None) for row in side] for side in sides]
    gone = [was for was, now in cells if was and not now]
    come = [now for was, now in cells if now and not was]
    moved = {cell.value for cell in gone} & {cell.value for cell in come}
    left = ([cell for cell in each if cell.value not in moved] for each in (gone, come))
    pairs = [*((was, now) for was, now in cells if was and now), *zip_longest(*left)]
    refused = [now for _, now in pairs if now and _refuse_kind(proposal, sheet, now, CELLS["term"].key)]
    if refused:
        return
    edits, removed, added = dict[int, str](), list[int](), list[str]()
    for was, now in pairs:
        proposal.tell(now or changes[0].at, "quote.terms", was and was.value, now and now.value, sheet)
        if was is None:
            added.append(write_text(now and now.value))
        elif now is None:
            removed.append(position_of(was))
        else:
            edits[position_of(was)] = write_text(now.value)
    if removed and len(removed) == len(terms):
        message = "all terms were deleted; remove `quote.terms` from the plan"
        proposal.refuse(changes[0].at, message, sheet, "quote.terms")
    elif isinstance(given, list):
        for at, text in edits.items():
            proposal.set((*TERMS, at), text)
        proposal.edit_list(TERMS, added, removed)
    elif edits or added:
        texts = [*(edits.get(at, text) for at, text in enumerate(terms)), *added]
        proposal.set(TERMS, texts if added else texts[0])


# values -------------------------------------------------------------------------------------------------------------


def write_text(value: Value) -> str:
    """A value of a cell as text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def read_date(value: Value) -> date | None:
    """The date in a cell: one of a spreadsheet, or in words or numbers that say one day; None where they say none."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    days = set(read_dates(str(value)).values())
    return days.pop() if len(days) == 1 else None
