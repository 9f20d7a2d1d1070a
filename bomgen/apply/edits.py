"""What changed cells propose: prices, discounts, pieces and charges of the bill, and texts of the other sheets.

The texts are title, sides, number, dates and payment of the cover, and the plan's terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from math import ceil
from typing import Any

from bomgen.apply.changes import (
    RULE,
    SHARES,
    Base,
    Edit,
    LineChange,
    Offers,
    Proposal,
    SpareEdit,
    TextChange,
    change_text,
    changed_cells,
    has_spares,
    is_pieces,
    keeps_formulas,
    number_in,
    say_kind,
    share_in,
    show,
    spares_of,
    write_share,
)
from bomgen.catalog.identity import slug
from bomgen.catalog.parts import Server
from bomgen.core.diagnostics import Choice, Problem
from bomgen.core.document import group_by
from bomgen.core.messages import message
from bomgen.core.units import MAX_PRICE, MONTHS_A_YEAR, parse
from bomgen.core.yaml_source import MAX_DIGITS, Path, value_at
from bomgen.documents.chapters.money import CONTACT
from bomgen.plan.commercial_terms import CHARGED, SOFTWARE, Party
from bomgen.pricing.bill_line import Line, part_key
from bomgen.reading.cells import Broken, TableCell, Value, read_dates
from bomgen.reading.quote_workbook import CELLS, CHARGES, NUMBERS, TERMS, QuoteCell, ReturnedLine
from bomgen.results.result import Report

# pieces -------------------------------------------------------------------------------------------------------------
# Changed pieces of lines: the key of the plan that is that number, where there is one.


def count_pieces(proposal: Proposal, change: LineChange, line: Line, pieces: Decimal) -> None:
    """Take another number of pieces; one that is worked out is judged by what the edited plan gives."""
    if not is_pieces(change.after):
        proposal.refuse(change.after, f"{show(pieces)} pieces of '{change.line}'; pieces are whole numbers")
        return
    if line.in_stock:
        proposal.refuse(change.after, f"'{change.line}' is in stock; change `stock` in the plan")
        return
    what = f"{change.line}, {proposal.base.titles[change.key].lower()}"
    same = (quoted.line for quoted in proposal.base.report.quote.lines if has_spares(quoted.line))
    first = next((candidate for candidate in same if part_key(candidate) == part_key(line)), line)
    if change.key == "spare" and first.id != line.id:
        what += f" (listed at '{first.id}', the first line of the part)"
    proposal.tell(change.after, what, change.before.value or Decimal(0), pieces)
    if change.key == "spare":
        if has_spares(line):
            proposal.spares.append(_spare_edit(proposal, line, int(pieces)))
    elif edit := _quantity_edit(proposal.base, line, int(pieces)):
        proposal.edits.append(edit)


def set_servers(base: Path, data: Mapping[str, Any], server: Server, servers: int) -> Edit:
    """Return the edit that gives the cluster at a path so many servers, in its own unit: racks, GPUs or servers."""
    counts = {"racks": servers // unit_of(server), "gpus": servers * int(server.gpus.value), "servers": servers}
    key = next((key for key in counts if data.get(key) is not None), "servers")
    return Edit((*base, key), "set", counts[key])


def unit_of(server: Server | None) -> int:
    """Return the number of servers that are bought together: the trays of a rack-scale system."""
    return int(server.trays.value) if server and server.trays else 1


def _quantity_edit(base: Base, line: Line, wanted: int) -> Edit | None:
    """Return the edit that gives a line its pieces; None if they are calculated."""
    cluster, path = base.cluster_of(line)
    more, alone = wanted - int(line.quantity.value), line.alone()
    design, data = cluster.design, value_at(base.source.data, path) or {}
    server = cluster.plan.cluster.server
    if alone.id == "server" and server and design.sizing.servers:
        return set_servers(path, data, server, int(design.sizing.servers.value) + more * unit_of(server))
    if alone.id == "gpu" and server is None and data.get("servers") is None:
        return Edit((*path, "gpus"), "set", int(design.sizing.gpus.value) + more)
    if alone.role == "host" and alone.fabric:
        hosts_path = (*base.fabrics_of(line), alone.fabric, "hosts")
        hosts = value_at(base.source.data, hosts_path)
        for at, host in enumerate(hosts if isinstance(hosts, list) else ()):
            if f"{alone.fabric}.management.{slug(str(host.get('name')))}" == alone.id:
                return Edit((*hosts_path, at, "count"), "set", int(host.get("count") or 0) + more)
    if alone.id == "rack.management":
        site = (*path, "site") if line.cluster else ("site",)
        return Edit((*site, "management", "racks"), "set", wanted)
    return None


def _spare_edit(proposal: Proposal, line: Line, wanted: int) -> SpareEdit:
    """Return the key that gives a line its spare pieces: those of its cluster's servers, else those of its part."""
    base, part = proposal.base, part_key(line)
    pieces = base.spares_in(proposal.returned)[part]
    cluster, path = base.cluster_of(line)
    if line.alone().id == "server" and line.category not in cluster.plan.spares:
        servers = wanted * unit_of(cluster.plan.cluster.server)
        return SpareEdit(part, pieces, Edit((*path, "spare_servers"), "set", servers))
    spares = count_spares(base.report, line, pieces)
    return SpareEdit(part, pieces, Edit(("spares", line.category), "set", max(spares, 0)))


def count_spares(report: Report, line: Line, pieces: int) -> int:
    """Return what `spares.CATEGORY` must be for a part to have so many spares, given other keys; below 0: none."""
    lines = report.bill.lines
    figure = report.plan.spares.get(line.category)
    now = int(figure.value) if figure and figure.unit != "share" else 0
    if figure and figure.unit == "share":
        installed = sum(int(bill_line.quantity.value) for bill_line in lines if part_key(bill_line) == part_key(line))
        now = ceil(installed * Fraction(figure.value))
    return now + pieces - spares_of(lines)[part_key(line)]


# charges ------------------------------------------------------------------------------------------------------------
# Charges of the order and rates: names, prices, shares of the hardware, the tax, rows that were added or deleted.


def change_charge(proposal: Proposal, change: LineChange, line: Line, key: str, value: str | Decimal) -> None:
    """Take another name or price of the charge that a line is."""
    title = proposal.base.titles[change.key].lower()
    proposal.tell(change.after, f"{change.line}, {title}", change.before.value, value)
    _set_charge(proposal, (*CHARGES, proposal.base.charge_at(line) or 0, key), value)


def _set_charge(proposal: Proposal, path: Path, value: Fraction | Decimal | str) -> None:
    """Set a value in the plan; of charges by the month, prices and shares there are those of a year."""
    charge = proposal.base.report.plan.quote.charges[int(path[-2])] if path[: len(CHARGES)] == CHARGES else None
    if charge and charge.months and not isinstance(value, str):
        value *= MONTHS_A_YEAR
    proposal.set(path, write_share(value) if isinstance(value, Fraction) else value)


def change_rates(proposal: Proposal, rates: Iterable[tuple[TableCell, TableCell, TableCell]]) -> None:
    """Take another tax rate, or other shares of the hardware: each its label, and its value before and after."""
    for label, before, after in rates:
        base = proposal.base
        cell = base.cell_at(base.returned.bill, before)
        share = number_in(after) if after.filled else Decimal(0)
        if cell is None:
            proposal.note_written(proposal.returned.bill, before, after)
        elif cell.kind == "shown":
            # What it shows depends on filters and hidden rows.
            kept = after.formula == before.formula or not keeps_formulas(base.returned, proposal.returned)
            if isinstance(after.value, Broken) or not kept:
                refusal = f"{show(after.value)}: the sum of the visible lines was changed; restore its formula"
                proposal.refuse(after, refusal)
        elif share is None:
            proposal.refuse(after, f"{label.value}: {say_kind(after.value)}")
        elif not 0 <= share <= 1:
            proposal.refuse(after, f"{label.value} {show(after.value)}; {SHARES.format(share)}")
        else:
            proposal.tell(after, str(label.value), share_in(before), Fraction(share))
            for path in base.paths_of(cell):
                _set_charge(proposal, path, Fraction(share))


def add_and_remove_rows(proposal: Proposal, deleted: Iterable[ReturnedLine]) -> None:
    """Take in rows that were added, and take out those that were deleted: charges, and prices of required parts.

    The edits of other charges name them by their positions, which are those of today until here.
    """
    bill, mark = proposal.returned.bill, proposal.returned.mark
    charges = [charge for line in proposal.returned.added if (charge := _read_charge(proposal, line))]
    removed = list[int]()
    for line in deleted:
        at = proposal.base.charge_at(proposal.base.lines[line.id].line)
        what = line.cells["description"].value
        if at is not None:
            proposal.differences.append(change_text(f"{bill}  {line.id}", show(what), show(None)))
            removed.append(at)
            continue
        refusal = (
            f"{bill}: the row of '{line.id}' ({what}) was deleted; the lines follow from the plan; "
            "restore the row, or remove its cause from the plan"
        )
        proposal.problems.append(Problem(mark, "error", refusal, RULE, line.id))
    if removed and len(removed) == len(proposal.base.report.plan.quote.charges):
        refusal = f"{bill}: all charges were deleted; remove `quote.charges` from the plan"
        proposal.problems.append(Problem(mark, "error", refusal, RULE, "quote.charges"))
    else:
        proposal.edit_list(CHARGES, charges, removed)


def _read_charge(proposal: Proposal, line: ReturnedLine) -> dict[str, object] | None:
    """Return the charge of an added row; None for a required part, which gets its price, and for a refused row."""
    cells, word = line.cells, proposal.base.words.word
    at = next(cell for cell in cells.values() if cell.filled)
    kinds = {word(f"category-{category}"): category for category in CHARGED}
    kind = kinds.get(str(cells["category"].value))
    name, price = cells["description"].value, number_in(cells["unit_price"])
    if isinstance(name, str) and name in proposal.base.required and price is not None and price >= 0:
        part, pieces = proposal.base.required[name]
        if sum(line.pieces) == pieces:
            proposal.tell(at, f"{part}, {proposal.base.titles['unit_price'].lower()}", None, price)
            proposal.prices[part] = price
        else:
            proposal.refuse(at, f"the order needs {pieces} pieces of {show(name)}; give that quantity with the price")
        return None
    if kind is None:
        named = ", ".join(f"'{choice}'" for choice in dict.fromkeys(kinds))
        refusal = (
            f"an added row ({show(name or at.value)}); the parts follow from the plan; add a part there, "
            f"as hosts, storage, spares or another part. For a charge, choose its category: {named}"
        )
    elif not isinstance(name, str) or price is None or price < 0 or number_in(cells["quantity"]) != 1:
        refusal = "an added charge needs a description, the quantity 1 and a price; give the whole amount as price"
    elif any(cells[key].value for key in ("sku", "place", "spare", "discount")):
        refusal = "an added charge has no part number, place, spares and discount; clear them"
    elif not cells["amount"].filled:
        refusal = (
            "the added row has no amount, so that no sum counts it; copy the formula of the line above it, or "
            "use the empty lines below the others"
        )
    else:
        proposal.tell(at, "quote.charges", None, f"{name} {price:f}")
        return {"kind": SOFTWARE if kind == SOFTWARE else "other", "name": name, "price": price}
    proposal.refuse(at, refusal)
    return None


# lines --------------------------------------------------------------------------------------------------------------


def change_lines(proposal: Proposal, changes: Iterable[LineChange]) -> None:
    """Propose edits for the numbers and names typed in the lines of the bill."""
    prices, discounts = dict[str, tuple[Decimal, LineChange]](), dict[str, Fraction]()
    lines = proposal.base.lines
    for change in changes:
        line, title = lines[change.line].line, proposal.base.titles[change.key]
        if change.key not in NUMBERS:
            _rename(proposal, change, line)
            continue
        number = _read_number(proposal, change, title)
        if number is None:
            continue
        if change.key in ("quantity", "spare"):
            count_pieces(proposal, change, line, number)
        elif line.in_stock:
            proposal.refuse(change.after, f"'{change.line}' is in stock (`stock`) and has no price; clear it")
        elif change.key == "discount":
            discounts[change.line] = Fraction(number)
            what = f"{change.line}, {title.lower()}"
            proposal.tell(change.after, what, share_in(change.before), Fraction(number))
        elif line.charge and line.charge.share is not None:
            continue  # a formula, which is judged by what the others come to
        elif line.charge and line.charge.part is None:
            change_charge(proposal, change, line, "price", number)
            if line.charge.currency:
                path = (*CHARGES, proposal.base.charge_at(line) or 0, "currency")
                proposal.set(path, proposal.base.report.plan.quote.currency)
        elif line.names:
            prices[change.line] = number, change
            proposal.tell(change.after, f"{change.line}, {title.lower()}", change.before.value, number)
        else:
            refusal = f"no part is known for '{change.line}', so no price book can price it; specify one in the plan"
            proposal.refuse(change.after, refusal)
    _price_parts(proposal, prices)
    _discount(proposal, discounts)


def _read_number(proposal: Proposal, change: LineChange, title: str) -> Decimal | None:
    cell, number = change.after, number_in(change.after)
    what = None
    if isinstance(cell.value, Broken):
        what = f"{title}: {cell.value.message}"
    elif not cell.filled and change.key == "unit_price":
        what = f"the price of '{change.line}' was deleted, and price books cannot say that a part has none; "
        what += "remove it from its price book"
    elif cell.filled and number is None:
        what = f"{say_kind(cell.value)}; type the {title.lower()} alone"
    elif number and (len(f"{number:f}") > MAX_DIGITS or number >= MAX_PRICE):
        what = f"{title} {number:.3g} looks wrong; give the number of one line, or of one piece"
    elif number and number < 0 and change.key != "discount":
        what = f"{title} {show(number)} is negative; write 0 or more"
    elif number and change.key == "discount" and not 0 <= number <= 1:
        what = f"{title} {show(number)}; {SHARES.format(number)}"
    else:
        return number or Decimal(0)
    if what:
        proposal.refuse(cell, what)
    return None


def _rename(proposal: Proposal, change: LineChange, line: Line) -> None:
    """Rename a charge; the names of parts are in the catalogue."""
    if isinstance(change.after.value, Broken):
        refusal = f"{proposal.base.titles[change.key]} of '{change.line}': {change.after.value.message}"
        proposal.refuse(change.after, refusal)
        return
    if change.key == "description" and line.charge and isinstance(change.after.value, str):
        change_charge(proposal, change, line, "name", change.after.value)
        return
    where = "`quote.charges`" if line.charge else f"part '{line.part}'" if line.part else "no part of the catalogue"
    title, typed = proposal.base.titles[change.key], show(change.after.value)
    refusal = (
        f"{title} of '{change.line}' was changed to {typed}; what a line is comes from the plan ({where}); "
        "specify another part there"
    )
    proposal.refuse_written(proposal.returned.bill, change.after, refusal)


def _price_parts(proposal: Proposal, typed: Mapping[str, tuple[Decimal, LineChange]]) -> None:
    """Set one price for each part; on several lines it must be the same."""
    lines = proposal.base.lines
    priced = [line_id for line_id, line in lines.items() if line.line.names and not line.line.in_stock]
    for part, ids in group_by(priced, lambda line_id: lines[line_id].line.names[0]).items():
        edited = next((line for line in ids if line in typed), None)
        if edited is None:
            continue
        price, change = typed[edited]
        prices = {line: typed[line][0] if line in typed else lines[line].unit.amount for line in ids}
        differing = next((line for line, unit_price in prices.items() if unit_price != price), None)
        one_price = Choice(f"{part}={price:f}", message("apply-one-price", id=part, price=f"{price:f}"))
        if differing is None or one_price.setting in proposal.chosen:
            proposal.prices[part] = price
            proposal.settled |= {part} if differing else set()
            continue
        names = {"cell": part, "id": edited, "key": differing}
        refusal = message("apply-two-prices", **names, price=f"{price:f}", other=show(prices[differing]))
        proposal.refuse(change.after, refusal, offers=Offers(refusal, (one_price,)))


def _discount(proposal: Proposal, typed: Mapping[str, Fraction]) -> None:
    """Set a discount for a category if all its lines have it and none has its own, else for the lines."""
    lines = proposal.base.lines
    discounts = proposal.base.report.plan.quote.discounts
    for category in dict.fromkeys(lines[line].line.category for line in typed):
        members = [line for line in lines.values() if line.line.category == category and not line.line.in_stock]
        shares = {typed.get(line.line.id, line.discount) for line in members}
        names = {name for line in members for name in line.line.names}
        has_own = any(line.line.id in discounts.lines for line in members) or not names.isdisjoint(discounts.parts)
        if len(shares) == 1 and not has_own:
            proposal.set(("quote", "discount", category), write_share(shares.pop()))
            continue
        for line in members:
            if line.line.id in typed:
                share = write_share(typed[line.line.id])
                proposal.set(("quote", "discount", "lines", line.line.id), share)


# texts ----------------------------------------------------------------------------------------------------------------

LAST_DAY = 36525
"""Days of validity that somebody may type: a hundred years."""


def change_texts(proposal: Proposal, changes: Iterable[TextChange]) -> None:
    """Propose edits for the texts typed outside the bill."""
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
        proposal.refuse(after, f"{show(before.value)} was deleted; remove `{cell.key}` from the plan", sheet, cell.key)
        return
    text = write_text(after.value)
    proposal.tell(after, cell.key, before.value, after.value, sheet)
    proposal.set(cell.path, int(text) if cell.key == "quote.revision" and text.isdecimal() else text)


def _refuse_kind(proposal: Proposal, sheet: str, cell: TableCell, key: str) -> bool:
    """Refuse a value that a spreadsheet program converted, or that is not text; return whether it was refused."""
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
    """Change the name, address or contact of a party; its address may get more or fewer lines."""
    path = cell.path
    party: Party | None = getattr(proposal.base.report.plan.quote, str(path[-1]))
    old, new = str(before.value).split("\n"), write_text(after.value).split("\n")
    contacts = [key for key in CONTACT if getattr(party, key, None)]
    end = len(new) - len(contacts)
    is_known = party is not None and len(old) == 1 + len(party.address) + len(contacts)
    if party is None or not (is_known and after.filled and end > 0 and all(new)):
        message = f"lines of `{cell.key}` were deleted; restore them, or remove them from the plan"
        proposal.refuse(after, message, sheet, cell.key)
        return
    party_data = value_at(proposal.base.source.data, path)
    if not isinstance(party_data, dict):
        proposal.tell(after, cell.key, before.value, after.value, sheet)
        proposal.set(path, {"name": new[0], "address": new[1:]} if new[1:] else new[0])
        return
    address: Path = (*path, "address")
    lines: list[tuple[Path, str, str, str]] = [((*path, "name"), old[0], new[0], "")]
    if end == 1 + len(party.address):
        listed = isinstance(party_data.get("address"), list)
        paths = [(*address, at) if listed else address for at in range(len(party.address))]
        lines += [(line_path, was, now, "") for line_path, was, now in zip(paths, old[1:], new[1:], strict=False)]
    else:
        proposal.tell(after, f"{cell.key}.address", " / ".join(party.address), " / ".join(new[1:end]), sheet)
        proposal.set(address, new[1:end])
    word = proposal.base.words.word
    for key, was, now in zip(contacts, old[1 + len(party.address) :], new[end:], strict=True):
        lines.append(((*path, key), was, now, word("party-line", label=word(f"party-{key}"), value="")))
    for line_path, was, now, start in lines:
        key = ".".join(map(str, line_path))
        if was == now:
            continue
        if not now.startswith(start) or now == start.strip():
            proposal.refuse(after, f"{show(now)}; keep the line's beginning '{start}'", sheet, key)
            continue
        proposal.tell(after, key, was, now, sheet)
        proposal.set(line_path, now.removeprefix(start))


def _change_date(proposal: Proposal, sheet: str, cell: QuoteCell, before: TableCell, after: TableCell) -> None:
    day = read_date(after.value)
    if day is None:
        proposal.refuse(after, f"{show(after.value)} is not a date, or may be two; write YYYY-MM-DD", sheet, cell.key)
    else:
        proposal.tell(after, cell.key, before.value, day.isoformat(), sheet)
        proposal.set(cell.path, day.isoformat())


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
    """Return whether a row is a term of the plan, or a sentence added among the terms that bomgen does not write."""
    section, word = proposal.base.document.section("terms"), proposal.base.words.word
    filled = [cell for cell in change.before or change.after if cell.filled]
    if change.base != section.title or len(filled) != 1 or not isinstance(filled[0].value, str):
        return False
    text, mark = filled[0].value, filled[0].mark
    if change.before:
        cell = proposal.base.cell_at(change.base, filled[0])
        return cell is not None and cell.kind == "term"
    sheet = proposal.returned.sheets[change.sheet]
    rows = {str(cell.value): cell.mark.line for row in sheet for cell in row[:1] if cell.filled}
    first = min((line for label, line in rows.items() if label in section.text), default=0)
    last = rows.get(word("quote-for-seller"), mark.line)
    written = text in proposal.base.words.words.values() or text.startswith(word("terms-payment", payment=""))
    return mark.column == 1 and first < mark.line <= last and not written


def _change_terms(proposal: Proposal, changes: Sequence[TextChange]) -> None:
    """Make the plan's terms those of the workbook; text typed beside a deleted term replaces it."""
    sheet, title = changes[0].sheet, changes[0].base

    def position_of(term: TableCell) -> int:
        cell = proposal.base.cell_at(title, term)
        return int(cell.path[-1]) if cell else 0

    terms = [term.strip() for term in proposal.base.report.plan.quote.terms]
    data = value_at(proposal.base.source.data, TERMS)
    sides = ((change.before, change.after) for change in changes)
    cells = [[next((cell for cell in row if cell.filled), None) for row in side] for side in sides]
    gone = [was for was, now in cells if was and not now]
    come = [now for was, now in cells if now and not was]
    moved = {cell.value for cell in gone} & {cell.value for cell in come}
    left = ([cell for cell in side if cell.value not in moved] for side in (gone, come))
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
    elif isinstance(data, list):
        for at, text in edits.items():
            proposal.set((*TERMS, at), text)
        proposal.edit_list(TERMS, added, removed)
    elif edits or added:
        texts = [*(edits.get(at, text) for at, text in enumerate(terms)), *added]
        proposal.set(TERMS, texts if added else texts[0])


# values -------------------------------------------------------------------------------------------------------------


def write_text(value: Value) -> str:
    """Return the value of a cell as text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def read_date(value: Value) -> date | None:
    """Return the date in a cell: a spreadsheet date, or an unambiguous one in words or numbers; None without one."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    days = set(read_dates(str(value)).values())
    return days.pop() if len(days) == 1 else None
