"""Changed texts of the other sheets: title, sides, number, dates and payment of the cover, and the plan's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from bomgen.core.units import parse
from bomgen.core.yaml_source import Path
from bomgen.plan.commercial_terms import Party
from bomgen.reading.cells import Broken, Cell, Value
from bomgen.reading.dates import read_dates
from bomgen.workflow.applying.changes import TextChange, changed_cells
from bomgen.workflow.applying.proposal import Proposal, show, value_at

SIDES = {"vendor": "party-vendor", "customer": "fact-customer"}
"""The keys of the sides of the quote, and the words that they stand behind."""
CONTACT = ("contact", "email", "phone", "tax_id", "reference")
"""Keys of a side of the quote that stand behind its address, in their order."""
TERMS: Path = ("quote", "terms")
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
                if not isinstance(after.value, Broken) and not _change_fact(proposal, change, before, after):
                    proposal.note_written(change.sheet, before, after)
        else:
            _note_row(proposal, change)
    if terms:
        _change_terms(proposal, terms[0].sheet, terms)


def _note_row(proposal: Proposal, change: TextChange) -> None:
    """Note a row that was added or deleted; one of numbers alone may be what something else comes to."""
    row = change.before or change.after
    filled = [cell for cell in row if cell.filled]
    if any(isinstance(cell.value, str) for cell in filled):
        what = "deleted" if change.before else "added"
        text = show(filled[0].value)
        message = f"the row {text} was {what}, which no key of the plan says; put the sheet back as it was"
        proposal.refuse_written(change.sheet, change.at, message)
    else:
        for cell in filled:
            proposal.note_written(change.sheet, Cell(None, cell.mark), cell)


# the cover ----------------------------------------------------------------------------------------------------------


def _change_fact(proposal: Proposal, change: TextChange, before: Cell, after: Cell) -> bool:
    """Take another title, side, number, date or payment of the cover; whether the cell is one of them."""
    base, word = proposal.base, proposal.base.words.word
    if not isinstance(before.value, str):
        return False
    if before is change.before[0]:
        is_title = before.value == base.document.title and not change.before[1:]
        return is_title and _set_text(proposal, change, ("title",), before, after)
    label = str(change.before[0].value)
    for side, title in SIDES.items():
        if label == word(title):
            _change_side(proposal, change, side, before, after)
            return True
    for key in ("number", "revision", "payment"):
        if label == word(f"fact-{key}"):
            return _set_text(proposal, change, ("quote", key), before, after)
    if label == word("fact-date"):
        _change_date(proposal, change, before, after)
        return True
    if label in (word("fact-valid-until"), word("fact-valid")):
        _change_validity(proposal, change, before, after)
        return True
    return False


def _set_text(proposal: Proposal, change: TextChange, path: Path, before: Cell, after: Cell) -> bool:
    """Have a key say what was typed; always true."""
    key = ".".join(map(str, path))
    if not after.filled:
        message = f"{show(before.value)} was deleted; remove `{key}` from the plan"
        proposal.refuse(change.at, message, change.sheet, key)
        return True
    text = write_text(after.value)
    proposal.tell(after, key, before.value, after.value, change.sheet)
    proposal.set(path, int(text) if key == "quote.revision" and text.isdecimal() else text)
    return True


def _change_side(proposal: Proposal, change: TextChange, side: str, before: Cell, after: Cell) -> None:
    """Take other lines of a side of the quote, where each still has its place."""
    old, new = str(before.value).split("\n"), write_text(after.value).split("\n")
    path: Path = ("quote", side)
    party: Party | None = getattr(proposal.base.report.plan.quote, side)
    given = value_at(proposal.base.source.data, path)
    places = list(_side_places(proposal, given, party)) if party else []
    if len(old) != len(new) or len(old) != len(places):
        message = f"the lines of `quote.{side}` were added or deleted; change them in the plan"
        proposal.refuse(after, message, change.sheet, f"quote.{side}")
        return
    for was, now, (place, start, end) in zip(old, new, places, strict=True):
        if was == now:
            continue
        key = ".".join(map(str, (*path, *place)))
        if not now or not (now.startswith(start) and now.endswith(end)) or len(now) <= len(start) + len(end):
            proposal.refuse(after, f"{show(now)}; keep the line's beginning '{start}'", change.sheet, key)
            continue
        proposal.tell(after, key, was, now, change.sheet)
        proposal.set((*path, *place), now[len(start) : len(now) - len(end)])


def _side_places(proposal: Proposal, given: Any, party: Party) -> Iterator[tuple[Path, str, str]]:
    """The key below the side of each of its lines, and what stands before and behind the value."""
    if not isinstance(given, dict):
        yield (), "", ""
        return
    yield ("name",), "", ""
    for at in range(len(party.address)):
        yield (("address", at) if isinstance(given.get("address"), list) else ("address",)), "", ""
    word = proposal.base.words.word
    for key in CONTACT:
        if getattr(party, key):
            before, _, behind = word("party-line", label=word(f"party-{key}"), value="\0").partition("\0")
            yield (key,), before, behind


def _change_date(proposal: Proposal, change: TextChange, before: Cell, after: Cell) -> None:
    found = read_date(after.value)
    if found is None:
        proposal.refuse(
            after, f"{show(after.value)} is not a date, or may be two; write YYYY-MM-DD", change.sheet, "quote.date"
        )
    else:
        proposal.tell(after, "quote.date", before.value, found.isoformat(), change.sheet)
        proposal.set(("quote", "date"), found.isoformat())


def _change_validity(proposal: Proposal, change: TextChange, before: Cell, after: Cell) -> None:
    """Take another day that the quote is valid until, or another number of days."""
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
        proposal.refuse(after, f"{show(after.value)}; write {hint}", change.sheet, "quote.valid_days")
    else:
        proposal.tell(after, "quote.valid_days", before.value, after.value, change.sheet)
        proposal.set(("quote", "valid_days"), days)


# terms --------------------------------------------------------------------------------------------------------------


def _is_term(proposal: Proposal, change: TextChange) -> bool:
    """Whether a row is one of the plan's own terms, or a sentence that was added to them and is none of bomgen's."""
    base = proposal.base
    filled = [cell for cell in change.before or change.after if cell.filled]
    if change.base != base.document.section("terms").title or len(filled) != 1 or not isinstance(filled[0].value, str):
        return False
    text = filled[0].value
    if change.before:
        return text in map(clean_text, base.report.plan.quote.terms)
    return filled[0].mark.column == 1 and text not in base.words.words.values()


def _change_terms(proposal: Proposal, sheet: str, changes: Sequence[TextChange]) -> None:
    """Have the plan's terms be those that came back; what was typed beside a deleted one takes its place."""
    terms = [clean_text(term) for term in proposal.base.report.plan.quote.terms]
    given = value_at(proposal.base.source.data, TERMS)
    cells = [(_text_cell(change.before), _text_cell(change.after)) for change in changes]
    gone = [was for was, now in cells if was and not now]
    come = [now for was, now in cells if now and not was]
    moved = {cell.value for cell in gone} & {cell.value for cell in come}
    left = ([cell for cell in each if cell.value not in moved] for each in (gone, come))
    pairs = [*((was, now) for was, now in cells if was and now), *zip_longest(*left)]
    edits, removed, added = dict[int, str](), list[int](), list[str]()
    for was, now in pairs:
        proposal.tell(now or changes[0].at, "quote.terms", was and was.value, now and now.value, sheet)
        if was is None:
            added.append(write_text(now and now.value))
        elif now is None:
            removed.append(terms.index(str(was.value)))
        else:
            edits[terms.index(str(was.value))] = write_text(now.value)
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


def _text_cell(row: Sequence[Cell]) -> Cell | None:
    return next((cell for cell in row if cell.filled), None)


# values -------------------------------------------------------------------------------------------------------------


def write_text(value: Value) -> str:
    """A value of a cell as text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def clean_text(text: str) -> str:
    """A text of the plan as it is read from a cell."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def read_date(value: Value) -> date | None:
    """The date in a cell: one of a spreadsheet, or in words or numbers that say one day; None where they say none."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    days = set(read_dates(str(value)).values())
    return days.pop() if len(days) == 1 else None
