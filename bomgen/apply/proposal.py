"""What the edits start from, and what is proposed: edits of the plan, prices, and conflicts at their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from bomgen.apply.changes import Offers, conflict
from bomgen.core.diagnostics import Problem
from bomgen.core.document import Document
from bomgen.core.language import Language
from bomgen.core.messages import message
from bomgen.core.yaml_source import Path, Source
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.pricing.bill_line import Line, part_key
from bomgen.pricing.quote import QuoteLine
from bomgen.reading.cells import Broken, TableCell, Value
from bomgen.reading.quote_workbook import CHARGES, TAX, QuoteCell, QuoteCells, ReturnedQuote, name_cell
from bomgen.results.result import Report

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


def value_at(data: Any, path: Path) -> Any:
    """Return the value at a path of a plan's data; None if there is none."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


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
