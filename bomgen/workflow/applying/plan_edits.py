"""From what was changed in a workbook to edits of the plan and prices, or the reason why the plan cannot say it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from bomgen.catalog.part_records import slug
from bomgen.catalog.parts import Server
from bomgen.core.diagnostics import Problem
from bomgen.core.document import Document
from bomgen.core.language import Language
from bomgen.core.money import MAX_PRICE
from bomgen.core.provenance import Mark
from bomgen.core.units import parse
from bomgen.core.yaml_source import MAX_DIGITS, Path, Source
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.plan.commercial_terms import CHARGED, SOFTWARE, Party
from bomgen.pricing.bill_line import Line
from bomgen.pricing.quote import QuoteLine
from bomgen.reading.cells import Broken, Cell, Value
from bomgen.reading.quote_workbook import ReturnedLine, ReturnedQuote, name_cell
from bomgen.report.result import Report
from bomgen.workflow.applying.changes import RULE, Changes, LineChange, TextChange, changed_cells, conflict

QUANTITY, SPARE, PRICE, DISCOUNT = "quantity", "spare", "unit_price", "discount"
NAMES = ("sku", "description", "place", "category")
"""Columns of the bill that say what a line is."""
SIDES = ("vendor", "customer")
CONTACT = ("contact", "email", "phone", "tax_id", "reference")
"""Keys of a side of the quote that stand behind its address, in their order."""
TERMS: Path = ("quote", "terms")
CHARGES: Path = ("quote", "charges")
REVISION = "quote.revision"
TEXT = "is text and not a number, so that no sum of the workbook counts it"
SHARES = "shares are 0 % to 100 %: type {0}% or {0} / 100"
LAST_DAY = 36525
"""Days of validity that somebody may type: a hundred years."""


class Edit(NamedTuple):
    """One edit of the plan's data."""

    path: Path
    action: Literal["set", "append", "remove"]
    value: Any = None


class Proposal(NamedTuple):
    """What is to be done to a plan, and what cannot be."""

    edits: tuple[Edit, ...]
    spares: Mapping[str, Edit]
    """Edits of spare pieces by the id of the line, for those that the other edits do not give by themselves."""
    prices: Mapping[str, Decimal]
    """Unit prices in the currency of the quote, by the part's most exact name."""
    counted: Mapping[tuple[str, str], LineChange]
    """Changes of pieces, by the id of the line and its column, those that the plan works out among them."""
    differences: tuple[str, ...]
    """Each change in words."""
    loose: tuple[tuple[str, Cell, Cell], ...]
    """Cells that differ and that no key of the plan has: the sheet, the cell before and as it came back."""
    problems: tuple[Problem, ...]


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

    @property
    def lines(self) -> dict[str, QuoteLine]:
        """The lines of the bill that the workbook shows, by id."""
        return {line.line.id: line for line in self.report.quote.lines}

    @property
    def share_labels(self) -> dict[str, str]:
        """The labels of the shares of the hardware below the bill, by the ids of the charges."""
        charged = {charge.id for charge in self.report.plan.quote.charges if charge.share is not None}
        return {
            line.id: self.words.word("xlsx-share-of-hardware", name=line.cells["description"].value)
            for line in self.returned.lines
            if line.id in charged
        }


def value_at(data: Any, path: Path) -> Any:
    """The value at a path of a plan's data; None where there is none."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def propose_edits(base: Base, changes: Changes, bill: str) -> Proposal:
    """The edits that give what was changed, as far as the plan can say it; `bill` is the sheet of the bill."""
    editor = _Editor(base, bill)
    for change in changes.lines:
        editor.change_line(change)
    editor.set_prices()
    editor.set_discounts()
    for label, before, after in changes.rates:
        editor.change_rate(label, before, after)
    for text in changes.texts:
        editor.change_text(text)
    editor.set_terms()
    for line in changes.added:
        editor.add_line(line)
    editor.remove_charges(changes.deleted, changes.mark)
    return Proposal(
        tuple(editor.edits),
        editor.spares,
        editor.prices,
        editor.counted,
        tuple(editor.differences),
        tuple(editor.loose),
        (*changes.problems, *editor.problems),
    )


class _Editor:
    """Collects edits and problems, change after change."""

    def __init__(self, base: Base, bill: str) -> None:
        self.base = base
        self.bill = bill
        self.edits: list[Edit] = []
        self.spares: dict[str, Edit] = {}
        self.prices: dict[str, Decimal] = {}
        self.counted: dict[tuple[str, str], LineChange] = {}
        self.differences: list[str] = []
        self.loose: list[tuple[str, Cell, Cell]] = []
        self.problems: list[Problem] = []
        self._lines = base.lines
        self._priced: dict[str, tuple[Decimal, LineChange]] = {}
        self._discounts: dict[str, tuple[Fraction, LineChange]] = {}
        self._terms: list[TextChange] = []
        self._words = base.words.word

    def set(self, path: Path, value: Any) -> None:
        """Have a key of the plan get a value."""
        self.edits.append(Edit(path, "set", value))

    def refuse(self, cell: Cell, message: str, sheet: str | None = None, path: str = "") -> None:
        """Note a change that the plan cannot take."""
        self.problems.append(conflict(cell, sheet or self.bill, message, path))

    def tell(self, cell: Cell, what: str, before: Value, after: Value, sheet: str | None = None) -> None:
        """Note a change in words."""
        place = name_cell(sheet or self.bill, cell.mark)
        self.differences.append(f"{place}  {what}: {show(before)} -> {show(after)}")

    def tell_share(self, cell: Cell, what: str, before: Cell, share: Fraction) -> None:
        """Note a change of a share in words."""
        was = write_share(Fraction(_number(before) or 0)) if before.filled else show(None)
        place = name_cell(self.bill, cell.mark)
        self.differences.append(f"{place}  {what}: {was} -> {write_share(share)}")

    # lines ----------------------------------------------------------------------------------------------------------

    def change_line(self, change: LineChange) -> None:
        """Take a change of a line of the bill."""
        line = self._lines[change.line]
        title = self.base.titles[change.key]
        if isinstance(change.after.value, Broken):
            if change.key != PRICE or line.line.charge is None or line.line.charge.share is None:
                self.refuse(change.after, f"{title}: {change.after.value.message}")
            return
        if change.key in NAMES:
            self._rename(change, line.line)
            return
        value = _number(change.after)
        if value is None and (change.key == PRICE or change.after.filled):
            if not change.after.filled:
                message = f"the price of '{change.line}' was deleted, and price books cannot say that a part has none"
                self.refuse(change.after, f"{message}; remove it from its price book")
            else:
                message = f"{show(change.after.value)} {TEXT}; type the {title.lower()} alone"
                self.refuse(change.after, message)
            return
        number = value or Decimal(0)
        if len(f"{number:f}") > MAX_DIGITS or number >= MAX_PRICE:
            self.refuse(change.after, f"{title} {number:.3g} looks wrong; give the number of one line, or of one piece")
            return
        if number < 0 or (change.key == DISCOUNT and number > 1):
            what = f"; {SHARES.format(number)}" if change.key == DISCOUNT else "; no number is below 0"
            self.refuse(change.after, f"{title} {show(number)}{what}")
            return
        if change.key in (QUANTITY, SPARE):
            self._count(change, line.line, number)
        elif line.line.in_stock:
            self.refuse(change.after, f"'{change.line}' is what the customer has, see `stock`; it has no price")
        elif change.key == DISCOUNT:
            self.tell_share(change.after, f"{change.line}, {title.lower()}", change.before, Fraction(number))
            self._discounts[change.line] = Fraction(number), change
        else:
            self._price(change, line.line, number)

    def _rename(self, change: LineChange, line: Line) -> None:
        """Take another name of a charge; what a part is called stands in the catalogue."""
        at = self._charge_of(line)
        name = change.after.value
        if change.key == "description" and at is not None and isinstance(name, str):
            self.tell(change.after, f"{change.line}, {self.base.titles[change.key].lower()}", change.before.value, name)
            self.set((*CHARGES, at, "name"), name)
            return
        where = "`quote.charges`" if line.charge else f"part '{line.part}'" if line.part else "no part of the catalogue"
        message = (
            f"{self.base.titles[change.key]} of '{change.line}' was changed to {show(name)}; what a line is comes "
            f"from the plan ({where}): name another part there"
        )
        self.refuse(change.after, message, path=line.path or "")

    def _charge_of(self, line: Line) -> int | None:
        """The position of the charge that a line is."""
        ids = [charge.id for charge in self.base.report.plan.quote.charges]
        return ids.index(line.charge.id) if line.charge else None

    def _price(self, change: LineChange, line: Line, price: Decimal) -> None:
        what = f"{change.line}, {self.base.titles[PRICE].lower()}"
        at = self._charge_of(line)
        if line.charge and line.charge.share is not None:
            return  # a formula, which is judged by what the others come to
        if line.charge and line.charge.price is not None:
            self.tell(change.after, what, change.before.value, price)
            self.set((*CHARGES, at or 0, "price"), price)
        elif line.names:
            self.tell(change.after, what, change.before.value, price)
            self._priced[change.line] = price, change
        else:
            message = f"nobody knows a part for '{change.line}', so no price book can price it; name one in the plan"
            self.refuse(change.after, message)

    def set_prices(self) -> None:
        """A price for each part; one that stands on several lines must have one price on all of them."""
        by_part: dict[str, list[str]] = {}
        for line_id, line in self._lines.items():
            if line.line.names and not line.line.in_stock:
                by_part.setdefault(line.line.names[0], []).append(line_id)
        for part, lines in by_part.items():
            edited = [line for line in lines if line in self._priced]
            if not edited:
                continue
            price, change = self._priced[edited[0]]
            found = {line: self._priced[line][0] if line in self._priced else self._unit(line) for line in lines}
            others = [line for line, each in found.items() if each != price]
            if others:
                message = (
                    f"'{part}' costs {price:f} on '{edited[0]}' and {show(found[others[0]])} on '{others[0]}'; a part "
                    "has one price: change all of its lines, or give one of them a discount"
                )
                self.refuse(change.after, message)
            else:
                self.prices[part] = price

    def _unit(self, line: str) -> Decimal | None:
        return self._lines[line].unit.amount

    def set_discounts(self) -> None:
        """A discount for a category whose lines all have it and none of its own, else for the line."""
        for category in dict.fromkeys(self._lines[line].line.category for line in self._discounts):
            lines = [line for line in self._lines.values() if line.line.category == category and not line.line.in_stock]
            shares = {line.line.id: line.discount for line in lines}
            shares |= {line: share for line, (share, _) in self._discounts.items() if line in shares}
            given = self.base.report.plan.quote.discounts
            own = any(
                line.line.id in given.lines or any(name in given.parts for name in line.line.names) for line in lines
            )
            if len(set(shares.values())) == 1 and not own:
                self.set(("quote", "discount", category), write_share(next(iter(shares.values()))))
                continue
            for line_id in shares:
                if line_id in self._discounts:
                    share = write_share(self._discounts[line_id][0])
                    self.set(("quote", "discount", "lines", line_id), share)

    def _count(self, change: LineChange, line: Line, pieces: Decimal) -> None:
        """Take another number of pieces, where a key of the plan is that number."""
        title = self.base.titles[change.key].lower()
        if pieces != int(pieces):
            self.refuse(change.after, f"{show(pieces)} pieces of '{change.line}'; pieces are whole numbers")
            return
        if line.in_stock:
            self.refuse(change.after, f"'{change.line}' is what the customer has; change `stock` in the plan")
            return
        self.tell(change.after, f"{change.line}, {title}", change.before.value or Decimal(0), pieces)
        self.counted[(change.line, change.key)] = change
        wanted = int(pieces)
        if change.key == SPARE:
            self.spares[change.line] = self._spare(line, wanted)
        elif edit := self._quantity(line, wanted):
            self.edits.append(edit)

    def _quantity(self, line: Line, wanted: int) -> Edit | None:
        """The key that gives a line its pieces; None where they are worked out."""
        cluster, base = self._cluster(line)
        more, alone = wanted - int(line.quantity.value), line.alone()
        design, data = cluster.design, value_at(self.base.source.data, base) or {}
        server = cluster.plan.cluster.server
        if alone.id == "server" and server and design.sizing.servers:
            return set_servers(base, data, server, int(design.sizing.servers.value) + more * unit_of(server))
        if alone.id == "gpu" and server is None and data.get("servers") is None:
            return Edit((*base, "gpus"), "set", int(design.sizing.gpus.value) + more)
        if alone.role == "host" and alone.fabric:
            fabrics = (*base, "fabrics") if line.cluster else ("fabrics",)
            path = (*fabrics, alone.fabric, "hosts")
            hosts = value_at(self.base.source.data, path)
            for at, host in enumerate(hosts if isinstance(hosts, list) else ()):
                if f"{alone.fabric}.management.{slug(str(host.get('name')))}" == alone.id:
                    return Edit((*path, at, "count"), "set", int(host.get("count") or 0) + more)
        if alone.id == "rack.management":
            site = (*base, "site") if line.cluster else ("site",)
            return Edit((*site, "management", "racks"), "set", wanted)
        return None

    def _spare(self, line: Line, wanted: int) -> Edit:
        """The key that gives a line its spare pieces."""
        cluster, base = self._cluster(line)
        server = cluster.plan.cluster.server
        if line.alone().id == "server" and line.category not in cluster.plan.spares:
            return Edit((*base, "spare_servers"), "set", wanted * unit_of(server))
        return Edit(("spares", line.category), "set", wanted)

    def _cluster(self, line: Line) -> tuple[Report, Path]:
        """The report of the cluster that a line is for, and where the plan has that cluster."""
        reports = self.base.report.each_cluster
        at = next((at for at, each in enumerate(reports) if each.plan.cluster_name == line.cluster), 0)
        return reports[at], (CLUSTERS, at) if line.cluster else ("cluster",)

    # rates ----------------------------------------------------------------------------------------------------------

    def change_rate(self, label: Cell, before: Cell, after: Cell) -> None:
        """Take another tax rate, or another share of the hardware."""
        if label.value == self._words("xlsx-shown"):
            return  # the sum of the lines that a filter or hidden rows leave in sight
        path = self._rate_path(str(label.value))
        if path is None:
            self.loose.append((self.bill, before, after))
            return
        share = _number(after) if after.filled else Decimal(0)
        if share is None or not 0 <= share <= 1:
            what = f" {TEXT}" if share is None else f"; {SHARES.format(share)}"
            self.refuse(after, f"{label.value} {show(after.value)}{what}")
            return
        self.tell_share(after, str(label.value), before, Fraction(share))
        self.set(path, write_share(Fraction(share)))

    def _rate_path(self, label: str) -> Path | None:
        if label == self._words("xlsx-rate"):
            return ("quote", "tax")
        charges = self.base.report.plan.quote.charges
        return next(
            (
                (*CHARGES, at, "share")
                for at, charge in enumerate(charges)
                if label == self.base.share_labels.get(charge.id)
            ),
            None,
        )

    # texts ----------------------------------------------------------------------------------------------------------

    def change_text(self, change: TextChange) -> None:
        """Take a change of a row of another sheet."""
        if self._is_term(change):
            self._terms.append(change)
            return
        if not change.before or not change.after:
            row = change.before or change.after
            text = next(cell.value for cell in row if cell.filled)
            if any(isinstance(cell.value, str) and cell.filled for cell in row):
                what = "deleted" if change.before else "added"
                message = (
                    f"the row {show(text)} was {what}, which no key of the plan says; put the sheet back as it was"
                )
                self.refuse(change.at, message, change.sheet)
            else:
                self.loose += [(change.sheet, Cell(None, cell.mark), cell) for cell in row if cell.filled]
            return
        label = change.before[0].value
        for before, after in changed_cells(change):
            if isinstance(after.value, Broken):
                continue
            if isinstance(before.value, str) and self._change_fact(change, str(label), before, after):
                continue
            self.loose.append((change.sheet, before, after))

    def _change_fact(self, change: TextChange, label: str, before: Cell, after: Cell) -> bool:
        """Take another title, side, number, date or payment of the cover; whether the cell is one of them."""
        document, word = self.base.document, self._words
        first = before is change.before[0]
        if first and before.value == document.title and not change.before[1:]:
            return self._set_text(change, ("title",), before, after)
        if first:
            return False
        for side, title in zip(SIDES, ("party-vendor", "fact-customer"), strict=True):
            if label == word(title):
                self._change_side(change, side, before, after)
                return True
        for key in ("number", "revision", "payment"):
            if label == word(f"fact-{key}"):
                return self._set_text(change, ("quote", key), before, after)
        if label == word("fact-date"):
            return self._change_date(change, before, after)
        if label in (word("fact-valid-until"), word("fact-valid")):
            return self._change_validity(change, before, after)
        return False

    def _set_text(self, change: TextChange, path: Path, before: Cell, after: Cell) -> bool:
        key = ".".join(map(str, path))
        if not after.filled:
            self.refuse(change.at, f"{show(before.value)} was deleted; remove `{key}` from the plan", change.sheet, key)
            return True
        text = write_text(after.value)
        self.tell(after, key, before.value, after.value, change.sheet)
        self.set(path, int(text) if key == REVISION and text.isdecimal() else text)
        return True

    def _change_side(self, change: TextChange, side: str, before: Cell, after: Cell) -> None:
        """Take other lines of a side of the quote, where each still has its place."""
        old, new = str(before.value).split("\n"), write_text(after.value).split("\n")
        path: Path = ("quote", side)
        given = value_at(self.base.source.data, path)
        party: Party | None = getattr(self.base.report.plan.quote, side)
        places = list(self._side_places(given, party)) if party else []
        if len(old) != len(new) or len(old) != len(places):
            message = f"the lines of `quote.{side}` were added or deleted; change them in the plan"
            self.refuse(after, message, change.sheet, f"quote.{side}")
            return
        for was, now, (place, (start, end)) in zip(old, new, places, strict=True):
            if was == now:
                continue
            key = ".".join(map(str, (*path, *place)))
            if not now or not (now.startswith(start) and now.endswith(end)) or len(now) <= len(start) + len(end):
                self.refuse(after, f"{show(now)}; keep the line's beginning '{start}'", change.sheet, key)
                continue
            self.tell(after, key, was, now, change.sheet)
            self.set((*path, *place), now[len(start) : len(now) - len(end)])

    def _side_places(self, given: Any, party: Party) -> Iterator[tuple[Path, tuple[str, str]]]:
        """The key below the side of each of its lines, and what stands before and behind the value."""
        plain = ("", "")
        if not isinstance(given, dict):
            yield (), plain
            return
        yield ("name",), plain
        for at in range(len(party.address)):
            yield (("address", at) if isinstance(given.get("address"), list) else ("address",)), plain
        for key in CONTACT:
            if getattr(party, key):
                line = self._words("party-line", label=self._words(f"party-{key}"), value="\0")
                before, _, behind = line.partition("\0")
                yield (key,), (before, behind)

    def _change_date(self, change: TextChange, before: Cell, after: Cell) -> bool:
        found = read_date(after.value, self.base.words)
        if found is None:
            message = f"{show(after.value)} is not a date; write YYYY-MM-DD"
            self.refuse(after, message, change.sheet, "quote.date")
        else:
            self.tell(after, "quote.date", before.value, found.isoformat(), change.sheet)
            self.set(("quote", "date"), found.isoformat())
        return True

    def _change_validity(self, change: TextChange, before: Cell, after: Cell) -> bool:
        """Take another day that the quote is valid until, or another number of days."""
        day = self.base.report.plan.quote.date
        until = read_date(after.value, self.base.words) if day else None
        days: int | None = None
        if until and day:
            # A date that was changed beside it is what the days count from.
            dated = [edit.value for edit in self.edits if edit.path == ("quote", "date")]
            days = (until - date.fromisoformat(dated[-1] if dated else day)).days
        elif not day and after.filled:
            try:
                days = int(parse(str(after.value).strip(), "days"))
            except ValueError:
                days = None
        if days is None or not 0 < days <= LAST_DAY:
            hint = "a day after the quote's date, YYYY-MM-DD" if day else "a number of days"
            self.refuse(after, f"{show(after.value)}; write {hint}", change.sheet, "quote.valid_days")
        else:
            self.tell(after, "quote.valid_days", before.value, after.value, change.sheet)
            self.set(("quote", "valid_days"), days)
        return True

    def _is_term(self, change: TextChange) -> bool:
        """Whether a row is one of the plan's own terms, or a sentence that was added to them."""
        if change.base != self.base.document.section("terms").title:
            return False
        filled = [cell for cell in change.before or change.after if cell.filled]
        if len(filled) != 1 or not isinstance(filled[0].value, str):
            return False
        if change.before:
            return filled[0].value in (clean_text(term) for term in self.base.report.plan.quote.terms)
        return filled[0].mark.column == 1

    def set_terms(self) -> None:
        """The terms as they came back: changed, deleted, and those that were added behind the others."""
        terms = [clean_text(term) for term in self.base.report.plan.quote.terms]
        given = value_at(self.base.source.data, TERMS)
        removed = list[int]()
        added = list[str]()
        for change in self._terms:
            before, after = (next((cell for cell in row if cell.filled), None) for row in (change.before, change.after))
            if before is None and after is not None:
                self.tell(after, "quote.terms", None, after.value, change.sheet)
                added.append(str(after.value))
                continue
            at = terms.index(str(before.value if before else ""))
            path: Path = (*TERMS, at) if isinstance(given, list) else TERMS
            if after is not None:
                self.tell(after, "quote.terms", before and before.value, after.value, change.sheet)
                self.set(path, write_text(after.value))
            else:
                self.tell(change.at, "quote.terms", before and before.value, None, change.sheet)
                removed.append(at)
        if removed and (not isinstance(given, list) or len(removed) == len(given)):
            self.refuse(
                self._terms[0].at, "all terms were deleted; remove `quote.terms` from the plan", self._terms[0].sheet
            )
            return
        self.edits += [Edit((*TERMS, at), "remove") for at in sorted(removed, reverse=True)]
        if added and not isinstance(given, list):
            self.set(TERMS, [*([given] if given else []), *added])
        else:
            self.edits += [Edit(TERMS, "append", text) for text in added]

    # added and deleted rows -----------------------------------------------------------------------------------------

    def remove_charges(self, deleted: Sequence[ReturnedLine], mark: Mark) -> None:
        """Take out the charges whose rows were deleted; the plan decides which other lines there are."""
        removed = list[int]()
        for line in deleted:
            at = self._charge_of(self._lines[line.id].line)
            what = line.cells["description"].value
            if at is not None:
                self.differences.append(f"{self.bill}  {line.id}: {show(what)} -> {show(None)}")
                removed.append(at)
                continue
            message = (
                f"{self.bill}: the row of '{line.id}' ({what}) was deleted; the plan decides which lines there are: "
                "put the row back, or take out of the plan what asks for it"
            )
            self.problems.append(Problem(mark, "error", message, RULE, line.id))
        if removed and len(removed) == len(self.base.report.plan.quote.charges):
            message = f"{self.bill}: all charges were deleted; remove `quote.charges` from the plan"
            self.problems.append(Problem(mark, "error", message, RULE, "quote.charges"))
            return
        # The edits of other charges name them by their positions, which are those of today until here.
        self.edits += [Edit((*CHARGES, at), "remove") for at in sorted(removed, reverse=True)]

    def add_line(self, line: ReturnedLine) -> None:
        """Take a row that was added, where it is a charge for the order; parts come from the plan."""
        cells = line.cells
        at = next(cell for cell in cells.values() if cell.filled and not isinstance(cell.value, Broken))
        kinds = {self._words(f"category-{category}"): category for category in CHARGED}
        kind = kinds.get(str(cells["category"].value))
        name, price = cells["description"].value, _number(cells[PRICE])
        if kind is None:
            message = (
                f"an added row ({show(name or at.value)}); the plan decides which parts there are: add it there, as "
                f"hosts, storage, spares or another part. A row of {' or '.join(dict.fromkeys(kinds))} becomes a charge"
            )
            self.refuse(at, message)
        elif not isinstance(name, str) or price is None or price < 0 or _number(cells[QUANTITY]) != 1:
            message = "an added charge needs a description, the quantity 1 and a price; give the whole amount as price"
            self.refuse(at, message)
        elif any(_number(cells[key]) or isinstance(cells[key].value, str) for key in ("sku", "place", SPARE, DISCOUNT)):
            message = "an added charge has no part number, place, spares and discount; clear them"
            self.refuse(at, message)
        elif not cells["amount"].filled:
            message = "the added row has no amount, so that no sum counts it; copy the formula of the line above it"
            self.refuse(at, f"{message}, or use the empty lines below the others")
        else:
            self.tell(at, "quote.charges", None, f"{name} {price:f}")
            charge = {"kind": SOFTWARE if kind == SOFTWARE else "other", "name": name, "price": price}
            self.edits.append(Edit(CHARGES, "append", charge))


def set_servers(base: Path, data: Mapping[str, Any], server: Server, servers: int) -> Edit:
    """The edit of the cluster at a path that gives it so many servers, by what its data count: racks, GPUs, servers."""
    counts = {"racks": servers // unit_of(server), "gpus": servers * int(server.gpus.value), "servers": servers}
    key = next((key for key in counts if data.get(key) is not None), "servers")
    return Edit((*base, key), "set", counts[key])


def unit_of(server: Server | None) -> int:
    """The servers of what is bought at once: the trays of a rack-scale system."""
    return int(server.trays.value) if server and server.trays else 1


# values -------------------------------------------------------------------------------------------------------------


def _number(cell: Cell) -> Decimal | None:
    """The number in a cell; None where there is none."""
    value = cell.value
    return value if isinstance(value, Decimal) and not isinstance(value, bool) else None


def write_share(share: Fraction) -> str:
    """A share as plans have it: 12.5%."""
    percent = share * PERCENT
    return f"{(Decimal(percent.numerator) / Decimal(percent.denominator)).normalize():f}%"


def write_text(value: Value) -> str:
    """A value of a cell as text."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return str(value)


def clean_text(text: str) -> str:
    """A text of the plan as it is read from a cell."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def show(value: Value | int | Fraction) -> str:
    """A value for a message: nothing as such, a long text cut."""
    if value is None or value == "":
        return "nothing"
    if isinstance(value, Broken):
        return value.message
    if isinstance(value, Decimal):
        return f"{value:f}"
    text = str(value).replace("\n", " / ")
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return f"'{shown}'" if isinstance(value, str) else shown


PERCENT, MONTHS = 100, 12
SHOWN = 60
"""Characters of a text that a message repeats."""


def read_date(value: Value, words: Language) -> date | None:
    """The date in a cell: one of a spreadsheet, YYYY-MM-DD, or as the language writes it; None where it is none."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    text = str(value).strip()
    months = {words.words[f"month-{number:02}"]: number for number in range(1, MONTHS + 1)}
    pattern = re.escape(words.date_format)
    fields: Sequence[tuple[str, str]] = (
        ("year", r"(?P<year>\d{4})"),
        ("month", r"(?P<month>\d{1,2})"),
        ("day", r"(?P<day>\d{1,2})"),
        ("month_name", f"(?P<month_name>{'|'.join(map(re.escape, months))})"),
    )
    for key, matched in fields:
        pattern = re.sub(rf"\\{{{key}(:[^{{}}]*)?\\}}", lambda _, matched=matched: matched, pattern)  # type: ignore[misc]
    found = re.fullmatch(pattern, text)
    try:
        if found is None:
            return date.fromisoformat(text)
        given = found.groupdict()
        month = months[given["month_name"]] if "month_name" in given else int(given["month"])
        return date(int(given["year"]), month, int(given["day"]))
    except ValueError:
        return None
