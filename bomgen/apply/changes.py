"""What was changed in a customer's workbook, and what is proposed for it.

A change is a cell that differs from the one that the plan gives today; a proposal is an edit of the plan, a price, or a
conflict at the cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from bomgen.core.diagnostics import Choice, Problem, Question
from bomgen.core.document import Document, group_by
from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.core.yaml_source import Path, Source, value_at
from bomgen.plan.schema import CLUSTERS
from bomgen.pricing.bill_line import Line, part_key
from bomgen.pricing.quote import QuoteLine
from bomgen.reading.cells import Broken, TableCell, Value
from bomgen.reading.quote_workbook import (
    CHARGES,
    TAX,
    QuoteCell,
    QuoteCells,
    ReturnedLine,
    ReturnedQuote,
    is_uncomputed,
    name_cell,
)
from bomgen.reading.scans import NamedArea
from bomgen.results.result import Report

RULE = "apply-conflict"
IGNORED = ("amount", "id", "number", "piece")
"""Columns of the bill whose edits mean nothing: amounts are judged by what the others come to, ids name the rows."""
NOTHING: Mapping[str, Value] = dict.fromkeys(("quantity", "spare", "discount"), Decimal(0))
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
            counts = ({key: line.cells[key] for key in ("quantity", "spare")} for line in matches)
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
        cell = rows[-1].cells["id"]
        if line_id not in ids:
            refusal = f"a line '{line_id}', which the plan does not have; delete the row, or give the workbook's plan"
            problems.append(conflict(cell, returned.bill, refusal))
        elif len(rows) > 1:
            first = name_cell(returned.bill, rows[0].cells["id"].mark)
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
    areas = {name: area for name, area in base.names.items() if area and name.startswith("bom_")}
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
    lines = [line.cells["id"].mark.line for line in (*returned.lines, *returned.added)]
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


TEXT = "is text and not a number, so that no sum of the workbook counts it"
"""What a message says of a text where a number belongs."""
SHARES = "shares are 0 % to 100 %: type {0}% or {0} / 100"
PERCENT = 100
PartKey = tuple[str, str]
"""A part as spares are counted, see `part_key`."""
Shown = Value | int | Fraction
"""What messages repeat; a fraction is a share."""
SHOWN = 60
"""Characters of a text that a message repeats."""


class Edit(NamedTuple):
    """One edit of the plan's data."""

    path: Path
    action: Literal["set", "append", "remove"]
    value: Any = None


class SpareEdit(NamedTuple):
    """Spare pieces of a part that were typed: the plan counts them by part, on the first line that it stands on."""

    part: PartKey
    pieces: int
    """Those of all lines of the part in the workbook."""
    edit: Edit


class Base(NamedTuple):
    """What the edits start from."""

    report: Report
    source: Source
    """The plan's data, with those of the plans that it extends."""
    document: Document
    words: Language
    titles: Mapping[str, str]
    """Of the columns of the bill."""
    returned: ReturnedQuote
    """The workbook that the plan gives, as it is read."""
    cells: QuoteCells
    """Those of its cells whose edits go back into the plan."""
    required: Mapping[str, tuple[str, int]]
    """Parts that others require and that have no price, and their pieces, by their descriptions."""

    @property
    def lines(self) -> dict[str, QuoteLine]:
        """Return the lines of the bill in the workbook, by id."""
        return {line.line.id: line for line in self.report.quote.lines}

    def cell_at(self, sheet: str, cell: TableCell) -> QuoteCell | None:
        """Return what a cell of the workbook that the plan gives is; None for one that nobody edits."""
        return self.cells.get((sheet, cell.mark.line, cell.mark.column))

    def paths_of(self, cell: QuoteCell) -> tuple[Path, ...]:
        """Return the keys of the plan that a cell changes: its path names a charge by its id, a tax rate by its place.

        A tax rate that several categories have is changed for all of them.
        """
        if cell.path[: len(TAX)] == TAX and isinstance(rates := value_at(self.source.data, TAX), dict):
            [at] = cell.path[len(TAX) :] or (0,)
            plan, totals = self.report.plan.quote, self.report.quote.totals
            return tuple((*TAX, key) for key in rates if plan.tax[key].value == totals.taxes[int(at)].share)
        ids: dict[str | int, int] = {charge.id: at for at, charge in enumerate(self.report.plan.quote.charges)}
        named = cell.path[: len(CHARGES)] == CHARGES
        return (tuple(ids.get(step, step) for step in cell.path) if named else cell.path,)

    def spares_in(self, quote: ReturnedQuote) -> dict[PartKey, int]:
        """Return the spare pieces of each part that has any in the plan or may have, as a workbook has them."""
        typed = {line.id: int(line.pieces[1]) for line in quote.lines}
        return spares_of([line.line for line in self.report.quote.lines], typed)

    def cluster_of(self, line: Line) -> tuple[Report, Path]:
        """Return the report of the cluster of a line, and the path of that cluster in the plan."""
        reports = self.report.each_cluster
        at = next((at for at, report in enumerate(reports) if report.plan.cluster_name == line.cluster), 0)
        return reports[at], (CLUSTERS, at) if line.cluster else ("cluster",)

    def fabrics_of(self, line: Line) -> Path:
        """Return where the plan has the fabrics of a line's cluster."""
        return (*self.cluster_of(line)[1], "fabrics") if line.cluster else ("fabrics",)

    def charge_at(self, line: Line) -> int | None:
        """Return the position of the charge of a line; None for any other line."""
        ids = [charge.id for charge in self.report.plan.quote.charges]
        return ids.index(line.charge.id) if line.charge else None


class UnmappedChange(NamedTuple):
    """A difference in what bomgen writes by itself and no key of the plan says."""

    sheet: str
    before: TableCell | None
    """None where nothing that is worked out anew can explain the difference."""
    after: TableCell
    message: str


@dataclass
class Proposal:
    """Collects what is to be done to a plan, and what cannot be, change after change."""

    base: Base
    returned: ReturnedQuote
    edits: list[Edit] = field(default_factory=list)
    spares: list[SpareEdit] = field(default_factory=list)
    """Spare pieces, each with the edit for those that the other edits do not give by themselves."""
    prices: dict[str, Decimal] = field(default_factory=dict)
    """Unit prices in the currency of the quote, by the part's most exact name."""
    chosen: Collection[str] = ()
    """Settings of choices that conflicts offer, as somebody chose."""
    settled: set[str] = field(default_factory=set)
    """Parts with several prices in the workbook of which one was chosen; the total is then another."""
    differences: list[str] = field(default_factory=list)
    """Each change in words."""
    written: list[UnmappedChange] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def set(self, path: Path, value: Any) -> None:
        """Set a key of the plan, unless it has this value."""
        if value_at(self.base.source.data, path) != value:
            self.edits.append(Edit(path, "set", value))

    def edit_list(self, path: Path, added: Iterable[Any], removed: Iterable[int]) -> None:
        """Append items to a list of the plan, and remove those at some positions of today."""
        self.edits += [Edit(path, "append", item) for item in added]
        self.edits += [Edit((*path, at), "remove") for at in sorted(removed, reverse=True)]

    def refuse(
        self,
        cell: TableCell,
        refusal: str,
        sheet: str | None = None,
        path: str = "",
        offers: Offers | None = None,
    ) -> None:
        """Note a change that the plan cannot take, with what can be chosen instead."""
        self.problems.append(conflict(cell, sheet or self.returned.bill, refusal, path, offers))

    def note_written(self, sheet: str, before: TableCell, after: TableCell) -> None:
        """Note a changed cell that bomgen works out."""
        refusal = f"{show(after.value)}: this cell is calculated from the plan; restore it, or change its inputs"
        self.written.append(UnmappedChange(sheet, before, after, refusal))

    def refuse_written(self, sheet: str, cell: TableCell, refusal: str) -> None:
        """Note a changed text of bomgen's own."""
        self.written.append(UnmappedChange(sheet, None, cell, refusal))

    def tell(self, cell: TableCell, what: str, before: Shown, after: Shown, sheet: str | None = None) -> None:
        """Note a change in words."""
        address = name_cell(sheet or self.returned.bill, cell.mark)
        self.differences.append(change_text(f"{address}  {what}", show(before), show(after)))


def change_text(what: str, before: str, after: str) -> str:
    """Return a change in words."""
    return message("apply-change", id=what, before=before, after=after)


def has_spares(line: Line) -> bool:
    """Return whether the plan can give a line spares: unless it is in stock, required by a part, or a charge."""
    return not (line.in_stock or line.required_by or line.charge)


def spares_of(lines: Iterable[Line], pieces: Mapping[str, int] | None = None) -> dict[PartKey, int]:
    """Return the spare pieces of each part on all its lines; `pieces` by the ids of lines instead of their own."""
    spares: dict[PartKey, int] = {}
    for line in filter(has_spares, lines):
        spare = int(line.spare.value) if line.spare else 0
        key = part_key(line)
        spares[key] = spares.get(key, 0) + (spare if pieces is None else pieces.get(line.id, 0))
    return spares


def number_in(cell: TableCell) -> Decimal | None:
    """Return the number in a cell; None if there is none."""
    return cell.value if isinstance(cell.value, Decimal) else None


def is_pieces(cell: TableCell) -> bool:
    """Return whether a cell has a number of pieces; an empty one has 0."""
    number = number_in(cell)
    return not cell.filled if number is None else number == int(number)


def say_kind(value: Value) -> str:
    """Return why a value is no number, for a message."""
    if isinstance(value, Broken):
        return value.message
    if isinstance(value, bool):
        return f"{show(value)} is a boolean, not a number"
    return f"{show(value)} {TEXT if isinstance(value, str) else 'is a date or a time, not a number'}"


def share_in(cell: TableCell) -> Fraction | None:
    """Return the share in a cell: 0 for values other than numbers, None for an empty cell."""
    return Fraction(number_in(cell) or 0) if cell.filled else None


def write_share(share: Fraction) -> str:
    """Return a share as plans have it: 12.5%."""
    percent = share * PERCENT
    return f"{(Decimal(percent.numerator) / Decimal(percent.denominator)).normalize():f}%"


def show(value: Shown) -> str:
    """Return a value for a message: a word for nothing, a fraction as a share, a long text truncated."""
    if value is None or value == "":
        return message("apply-nothing")
    if isinstance(value, Broken):
        return value.message.partition(";")[0]
    if isinstance(value, Fraction):
        return write_share(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bool):
        return str(value).upper()
    text = str(value).replace("\n", " / ")
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return f"'{shown}'" if isinstance(value, str) else shown
