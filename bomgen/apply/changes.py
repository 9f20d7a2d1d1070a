"""What was changed in a customer's workbook: every cell that differs from the one that the plan gives today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from bomgen.core.diagnostics import Choice, Problem, Question
from bomgen.core.grouping import group_by
from bomgen.core.messages import message
from bomgen.reading.cells import Broken, TableCell, Value
from bomgen.reading.quote_workbook import (
    AMOUNT,
    DISCOUNT,
    ID,
    NAME_PREFIX,
    NUMBER,
    PIECE,
    QUANTITY,
    SPARE,
    ReturnedLine,
    ReturnedQuote,
    is_uncomputed,
    name_cell,
)
from bomgen.reading.scans import NamedArea

RULE = "apply-conflict"
IGNORED = (AMOUNT, ID, NUMBER, PIECE)
"""Columns of the bill whose edits mean nothing: amounts are judged by what the others come to, ids name the rows."""
NOTHING: Mapping[str, Value] = dict.fromkeys((QUANTITY, SPARE, DISCOUNT), Decimal(0))
"""What an empty cell of the bill says, where it says anything."""
SURE_DIGITS = Context(prec=13)
"""Of 15 that a sheet has, the last ones are those of binary fractions."""
MOST_ROWS = 5000
"""Rows of the other sheets together; the largest quote has some hundred."""
Rows = Sequence[tuple[TableCell, ...]]
TotalRow = tuple[TableCell, TableCell]
"""The label of a total or of a rate below the bill, and its value."""


class LineChange(NamedTuple):
    """A cell of a line of the bill."""

    line: str
    """The id of the line."""
    key: str
    """That of its column."""
    before: TableCell
    after: TableCell


class TextChange(NamedTuple):
    """A row of another sheet, or of the totals: what it was, and what it is."""

    sheet: str
    """The title of the sheet as it came back."""
    base: str
    """That of today."""
    before: tuple[TableCell, ...]
    """Empty where the row was added."""
    after: tuple[TableCell, ...]
    """Empty where the row was deleted."""
    at: TableCell
    """Where that is in the workbook: the first cell of the row, or of the one that stands there now."""


class QuoteChanges(NamedTuple):
    """All that differs; problems are what no plan can say."""

    lines: tuple[LineChange, ...]
    rates: tuple[tuple[TableCell, TableCell, TableCell], ...]
    """The label of a rate below the bill, its value before and after."""
    texts: tuple[TextChange, ...]
    deleted: tuple[ReturnedLine, ...]
    """Lines of today whose rows are gone."""
    problems: tuple[Problem, ...]


def find_changes(base: ReturnedQuote, returned: ReturnedQuote) -> QuoteChanges:
    """Return the differences between the workbook of today and the returned one, with the ids of `match_rows`."""
    problems = list[Problem]()
    lines = list(_line_changes(base, returned, problems))
    rates = list(_rate_changes(base, returned, problems))
    texts = list(_text_changes(base, returned, problems))
    problems += [*_notes_beside(base, returned), *_name_changes(base, returned)]
    there = {line.id for line in returned.lines}
    deleted = tuple(line for line in base.lines if line.id not in there)
    return QuoteChanges(tuple(lines), tuple(rates), tuple(texts), deleted, tuple(problems))


def match_rows(base: ReturnedQuote, returned: ReturnedQuote) -> ReturnedQuote:
    """Return the workbook with ids for rows described like lines of today that have no row of their own.

    Thus an added row is that of the charge it became, or of a part on several lines with as many pieces; and a renamed
    charge keeps its row.
    """
    ids, there = ({line.id for line in quote.lines} for quote in (base, returned))
    missing = (line for line in base.lines if line.id not in there)
    lost = group_by(missing, lambda line: line.cells["description"].value)
    lines, added = list[ReturnedLine](), list[ReturnedLine]()
    for row in (*returned.lines, *returned.added):
        matches = lost.get(row.cells["description"].value, []) if row.id not in ids else []
        if len(matches) == 1:
            lines.append(row._replace(id=matches.pop().id))
        elif matches and sum(sum(line.pieces) for line in matches) == sum(row.pieces):
            counts = ({key: line.cells[key] for key in (QUANTITY, SPARE)} for line in matches)
            lines += [
                ReturnedLine(line.id, {**row.cells, **cells}) for line, cells in zip(matches, counts, strict=True)
            ]
            matches.clear()
        else:
            (lines if row.id else added).append(row)
    return returned._replace(lines=tuple(lines), added=tuple(added))


class Offers(NamedTuple):
    """What can be chosen in place of an edit, and the question about it."""

    text: str
    choices: tuple[Choice, ...]


def conflict(cell: TableCell, sheet: str, refusal: str, path: str = "", offers: Offers | None = None) -> Problem:
    """Return the problem of an edit that the plan cannot take, at its cell, with the possible choices."""
    address = name_cell(sheet, cell.mark)
    asked: tuple[Question, ...] = ()
    if offers and offers.choices:
        asked = (Question(path, message("apply-at", id=address, what=offers.text), offers.choices),)
    return Problem(cell.mark, "error", f"{address}: {refusal}", RULE, path, asked)


def is_same(before: TableCell, after: TableCell, empty: Value = None) -> bool:
    """Return whether two cells are equal up to their last digits, or by formula; `empty` is that of an empty one."""
    if isinstance(after.value, Broken):
        return is_uncomputed(after) and after.formula == before.formula
    was, now = (simplify(empty if cell.value is None else cell.value) for cell in (before, after))
    return was == now


def simplify(value: Value) -> Value:
    """Return a value without the digits that programs disagree on; TRUE and FALSE, which count as numbers, in words."""
    if isinstance(value, bool):
        return str(value).upper()
    return SURE_DIGITS.create_decimal(value).normalize() if isinstance(value, Decimal) else value


def _notes_beside(base: ReturnedQuote, returned: ReturnedQuote) -> Iterator[Problem]:
    """Yield conflicts for text beside the bill, for which the plan has no key; its other columns are formulas."""
    texts = {simplify(cell.value) for cell in base.beside}
    titles = set(base.header.values())
    for cell in returned.beside:
        computed = cell.mark.line > returned.header_line and returned.header.get(cell.mark.column) in titles
        if not computed and simplify(cell.value) not in texts:
            refusal = "text was added next to the lines, where it is not read; delete it"
            yield conflict(cell, returned.bill, refusal)
    for column, title in returned.header.items():
        if title not in titles:
            cell = TableCell(title, returned.mark._replace(line=returned.header_line, column=column))
            yield conflict(cell, returned.bill, "a column was added to the bill, where it is not read; delete it")
    left = {cell.value for cell in returned.beside}
    for cell in base.beside:
        if isinstance(cell.value, str) and cell.value not in left:
            yield conflict(cell, returned.bill, "a text of bomgen's was deleted or changed; restore it")


def _line_changes(base: ReturnedQuote, returned: ReturnedQuote, problems: list[Problem]) -> Iterator[LineChange]:
    rows_by_id = group_by(returned.lines, lambda line: line.id)
    ids = {line.id for line in base.lines}
    for line_id, rows in rows_by_id.items():
        cell = rows[-1].cells[ID]
        if line_id not in ids:
            refusal = f"a line '{line_id}', which the plan does not have; delete the row, or give the workbook's plan"
            problems.append(conflict(cell, returned.bill, refusal))
        elif len(rows) > 1:
            first = name_cell(returned.bill, rows[0].cells[ID].mark)
            refusal = (
                f"a copy of the line '{line_id}', which is also at {first}; an added row has no id, "
                "in the hidden column after the bill; clear it there, or delete the row"
            )
            problems.append(conflict(cell, returned.bill, refusal))
    for line in base.lines:
        if len(rows_by_id.get(line.id, ())) == 1:
            [row] = rows_by_id[line.id]
            for key, before in line.cells.items():
                if key in row.cells and key not in IGNORED and not is_same(before, row.cells[key], NOTHING.get(key)):
                    yield LineChange(line.id, key, before, row.cells[key])


def pair_totals(base: ReturnedQuote, returned: ReturnedQuote) -> tuple[list[tuple[TotalRow, TotalRow | None]], Rows]:
    """Return the rows below the bill with those that came back, subtotals by category, and rows that were added."""
    lines = (*base.lines, *returned.lines, *returned.added)
    categories = {line.cells["category"].value for line in lines}
    was, now = ([row for row in quote.below if row[0].value not in categories] for quote in (base, returned))
    pairs: list[tuple[TotalRow, TotalRow | None]] = []
    added: Rows = ()
    if len(was) == len(now):
        pairs += zip(was, now, strict=True)
    else:
        rows = {row[0].value: row for row in now}
        pairs += ((row, rows.pop(row[0].value, None)) for row in was)
        added = tuple(rows.values())
    subtotals = {row[0].value: row for row in returned.below if row[0].value in categories}
    pairs += ((row, subtotals[row[0].value]) for row in base.below if row[0].value in subtotals)
    return pairs, added


def _rate_changes(
    base: ReturnedQuote, returned: ReturnedQuote, problems: list[Problem]
) -> Iterator[tuple[TableCell, TableCell, TableCell]]:
    pairs, added = pair_totals(base, returned)
    for label, value in added:
        at, refusal = value if value.filled else label, "a row was added below the lines, where none is read"
        problems.append(conflict(at, returned.bill, f"{refusal}; delete it"))
    for (label, before), after in pairs:
        if after is None:
            refusal = f"{returned.bill}: the row '{label.value}' below the lines is gone; restore it"
            problems.append(Problem(returned.mark, "error", refusal, RULE))
            continue
        kept = after[0].filled and (is_same(label, after[0]) or (label.formula and label.formula == after[0].formula))
        if not kept and not (label.formula and after[0].filled and not keeps_formulas(base, returned)):
            refusal = f"the label '{label.value}' was deleted or changed; restore it"
            problems.append(conflict(after[0], returned.bill, refusal))
        pasted = before.formula and not after[1].formula and keeps_formulas(base, returned)
        if pasted or not is_same(before, after[1]) or is_rewritten(before, after[1]):
            yield label, before, after[1]


def keeps_formulas(base: ReturnedQuote, returned: ReturnedQuote) -> bool:
    """Return whether a workbook was saved with formulas, so that a cell without its own was typed over."""
    return 2 * returned.formulas >= base.formulas > 0


def is_rewritten(before: TableCell, after: TableCell) -> bool:
    """Return whether a cell has another formula than bomgen wrote, whatever value was saved with it."""
    return bool(before.formula and after.formula and before.formula != after.formula)


def _name_changes(base: ReturnedQuote, returned: ReturnedQuote) -> Iterator[Problem]:
    """Yield conflicts for missing or moved defined names; a program that keeps none has saved computed values."""
    areas = {name: area for name, area in base.names.items() if area and name.startswith(NAME_PREFIX)}
    if not areas.keys() & returned.names.keys():
        bare = [value for row in returned.below for value in row if is_uncomputed(value)]
        if bare and areas:
            refusal = "the defined names of the workbook are missing, so its formulas have no result; restore them"
            yield conflict(bare[-1], returned.bill, refusal)
        return
    pairs, _ = pair_totals(base, returned)
    totals = {(before[1].mark.line, before[1].mark.column): after for before, after in pairs}
    for name, area in areas.items():
        after = returned.names.get(name)
        if after is None:
            what = "does not name one range of cells" if name in returned.names else "was deleted"
        elif not _is_renamed_area(area, after, totals, base, returned):
            what = "refers to other cells than bomgen wrote"
        else:
            continue
        refusal = f"the defined name '{name}' {what}, which changes the results of formulas; restore it"
        yield Problem(returned.mark, "error", refusal, RULE)


def _is_renamed_area(
    area: NamedArea,
    after: NamedArea,
    totals: Mapping[tuple[int, int], TotalRow | None],
    base: ReturnedQuote,
    returned: ReturnedQuote,
) -> bool:
    if after.sheet != returned.bill:
        return False
    if area.first in totals:
        row = totals[area.first]
        return row is None or after.first == after.last == (row[1].mark.line, row[1].mark.column)
    column = {after.first[1], after.last[1]}
    titled = {at for at, title in returned.header.items() if title == base.header.get(area.first[1])}
    lines = [line.cells[ID].mark.line for line in (*returned.lines, *returned.added)]
    end = min((label.mark.line for label, _ in returned.below), default=after.last[0] + 1)
    within = returned.header_line < after.first[0] <= min(lines, default=after.first[0])
    return column <= titled and within and max(lines, default=0) <= after.last[0] < end


def _text_changes(base: ReturnedQuote, returned: ReturnedQuote, problems: list[Problem]) -> Iterator[TextChange]:
    names = pair_sheets(base, returned)
    if sum(map(len, returned.sheets.values())) > MOST_ROWS:
        refusal = f"more than {MOST_ROWS} rows next to the bill; use the workbook as bomgen wrote it"
        problems.append(Problem(returned.mark, "error", refusal, RULE))
        return
    for name, rows in base.sheets.items():
        if name not in names:
            refusal = f"the sheet '{name}' was deleted or renamed; restore its name"
            problems.append(Problem(returned.mark, "error", refusal, RULE))
            continue
        yield from _row_changes((names[name], name), _filled(rows), _filled(returned.sheets[names[name]]))
    for name, added in returned.sheets.items():
        filled = _filled(added)
        if name not in names.values() and filled:
            refusal = f"the sheet '{name}' was added; it cannot be applied to the plan; delete it"
            problems.append(conflict(_first(filled[0]), name, refusal))


def pair_sheets(base: ReturnedQuote, returned: ReturnedQuote) -> dict[str, str]:
    """Return the titles of the returned sheets by those of today: equal ones, or the only one that was renamed."""
    names = {name: name for name in base.sheets if name in returned.sheets}
    lost = [name for name in base.sheets if name not in names]
    new = [name for name in returned.sheets if name not in names]
    return names | (dict(zip(lost, new, strict=True)) if len(lost) == len(new) == 1 else {})


def _filled(rows: Rows) -> list[tuple[TableCell, ...]]:
    return [row for row in rows if any(cell.filled for cell in row)]


def _first(row: tuple[TableCell, ...]) -> TableCell:
    return next(cell for cell in row if cell.filled)


def _row_changes(sheet: tuple[str, str], before: Rows, after: Rows) -> Iterator[TextChange]:
    """Yield the rows that differ, in pairs if as many rows replace them."""
    matcher = SequenceMatcher(None, [_key(row) for row in before], [_key(row) for row in after], autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        old, new = before[start:end], after[new_start:new_end]
        paired = min(len(old), len(new)) if kind == "equal" or len(old) == len(new) else 0
        for was, now in zip(old[:paired], new[:paired], strict=True):
            if any(not is_same(*cells) for cells in _side_by_side(was, now)):
                yield TextChange(*sheet, was, now, _first(now))
        here = after[min(new_start, len(after) - 1)] if after else before[start]
        for was in old[paired:]:
            yield TextChange(*sheet, was, (), _first(here))
        for now in new[paired:]:
            yield TextChange(*sheet, (), now, _first(now))


def _key(row: tuple[TableCell, ...]) -> tuple[str, ...]:
    """Return what rows are compared by: their texts without numbers, which are results of formulas."""
    return tuple(cell.value for cell in row if isinstance(cell.value, str) and cell.value)


def _side_by_side(before: tuple[TableCell, ...], after: tuple[TableCell, ...]) -> Iterator[tuple[TableCell, TableCell]]:
    mark = (after or before)[0].mark
    for column, (was, now) in enumerate(zip_longest(before, after), 1):
        empty = TableCell(None, mark._replace(column=column))
        yield was or empty, now or empty


def changed_cells(change: TextChange) -> list[tuple[TableCell, TableCell]]:
    """Return the cells of a changed row that differ, before and after."""
    return [(was, now) for was, now in _side_by_side(change.before, change.after) if not is_same(was, now)]
