"""Price books and what a seller reads about prices: the margins of an offer, and how a price list was read.

Reading any form returns what was written, except the name of a book, which tables cannot store.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.document import Cell, Column, Document, Note, Row, Section, Table, row_of
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH, message
from bomgen.core.safety import FORMULA_STARTS, escape_formula
from bomgen.core.units import decimal
from bomgen.core.yaml_edit import quote_double, write_scalar
from bomgen.documents.tables import columns_of, make_table
from bomgen.output.registry import Format, Formats
from bomgen.pricing.costs import AT_LEAST, AT_MOST, EXACT, TOTAL, Earned, Margin, MarginTotal
from bomgen.pricing.price_book import FORMAT, FORMAT_KEY
from bomgen.reading.columns import name_role
from bomgen.reading.part_numbers import PartIndex
from bomgen.reading.price_lists import PriceList, UnpricedRow
from bomgen.reading.price_table import DATES, columns
from bomgen.results.result import Report

if TYPE_CHECKING:
    from bomgen.pricing.quote import QuoteLine


Entry = Mapping[str, Any]
"""A price with the keys of price books."""


def column_names(entries: Sequence[Entry]) -> list[str]:
    """Return the columns of a price table: all keys in use, and a description if one is given."""
    part, *others = columns()
    described = ["description"] if any("description" in entry for entry in entries) else []
    return [part, *described, *others]


def unpriced_entries(lines: Sequence[QuoteLine], currency: str) -> Iterator[Entry]:
    """Yield the unpriced parts of a bill as prices to fill in, with each cable length as a separate part.

    Each appears once, under its most specific name, with the pieces of all its lines.
    """
    found: dict[str, tuple[str, int]] = {}
    for line in lines:
        if not line.line.names or line.amount is not None:
            continue
        part = line.line.names[0]
        description, pieces = found.get(part, (line.line.description, 0))
        found[part] = description, pieces + line.line.pieces
    for part, (description, pieces) in found.items():
        count = f"{pieces} piece{'s' if pieces > 1 else ''}"
        yield {"part": part, "description": f"{description}: {count}", "price": None, "currency": currency}


def written(entries: Sequence[Entry], form: str, name: str | None = None) -> bytes:
    """Return prices as a file of a form, identical for equal prices; `name` is that of the book."""
    content: bytes = PRICE_LISTS.module(form).write(entries, name)
    return content


# CSV ----------------------------------------------------------------------------------------------------------------

SPECIAL = set('",;\t\r\n')
"""Characters that require quotes, with any separator."""


def write_csv(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the rows below a header; text that a spreadsheet would run as a formula gets an apostrophe."""
    names = column_names(entries)
    rows = [names, *([_csv_field(entry.get(name)) for name in names] for entry in entries)]
    return "".join(",".join(row) + "\r\n" for row in rows).encode()


def _csv_field(value: str | int | bool | Decimal | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    text = f"'{value}" if value.lstrip("'").startswith(FORMULA_STARTS) else value
    return '"' + text.replace('"', '""') + '"' if SPECIAL & set(text) else text


# YAML ---------------------------------------------------------------------------------------------------------------
# A line per price; values common to all are at the top.

SHARED = ("currency", "date", "source", "estimate")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/()+-]*(?: [A-Za-z0-9._/()+-]+)*")
_RESERVED = ("null", "true", "false")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def write_yaml(entries: Sequence[Entry], name: str | None = None) -> bytes:
    """Return the book. A description is a comment after its price."""
    shared = {
        key: entries[0][key]
        for key in SHARED
        if entries and all(key in entry and entry[key] == entries[0][key] for entry in entries)
    }
    head = {FORMAT_KEY: FORMAT, "name": name, **shared}
    lines = [f"{key}: {scalar(value)}" for key, value in head.items() if value is not None]
    lines.append("prices:" if entries else "prices: []")
    for entry in entries:
        own = (f"{key}: {scalar(entry[key])}" for key in entry if key not in shared and key != "description")
        comment = "".join(letter if letter.isprintable() else " " for letter in entry.get("description", ""))
        lines.append(f"  - {{{', '.join(own)}}}" + (f" # {comment}" if comment else ""))
    return ("\n".join(lines) + "\n").encode()


def scalar(value: str | int | bool | Decimal | None) -> str:
    """Return a value as YAML on one line."""
    if not isinstance(value, str):
        return write_scalar(value)
    if _DATE.fullmatch(value) or (_PLAIN.fullmatch(value) and value.lower() not in _RESERVED):
        return value
    return quote_double(value)


# workbook -----------------------------------------------------------------------------------------------------------
# A workbook of one sheet, for whoever works in a spreadsheet.

SHEET = "prices"
WIDTHS = {"part": 26, "description": 44, "source": 44}
WIDTH = 14
FONT_SIZE = 11
DIGITS = 15
"""Excel keeps as many of a number (Excel's specifications and limits); one with more is written as text."""
FIRST_DAY = date(1900, 3, 1)
"""Excel takes 1900 for a leap year and knows nothing before it; earlier dates are written as text."""
TEXT, DATE = "@", "yyyy-mm-dd"
"""Formats that keep a spreadsheet from guessing."""


def write_workbook(entries: Sequence[Entry], _: str | None = None) -> bytes:
    """Return the workbook of prices, byte-identical for the same prices."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    from bomgen.output.xlsx.cells import package

    book = Workbook(write_only=True)
    sheet: Any = book.create_sheet(SHEET)
    names = column_names(entries)
    for at, name in enumerate(names, 1):
        sheet.column_dimensions[get_column_letter(at)].width = WIDTHS.get(name, WIDTH)
    sheet.freeze_panes = "B2"
    new_cell = partial(WriteOnlyCell, sheet)
    header = [new_cell(name) for name in names]
    for cell in header:
        cell.font = Font(name="Calibri", bold=True, size=FONT_SIZE)
    sheet.append(header)
    for entry in entries:
        sheet.append([_cell(new_cell, name, entry.get(name)) for name in names])
    return package(book, {})


def _cell(new_cell: Callable[[Any], Any], name: str, value: str | int | bool | Decimal | None) -> Any:
    if isinstance(value, Decimal):
        if len(value.normalize().as_tuple().digits) <= DIGITS:
            return new_cell(int(value) if value == value.to_integral_value() else float(value))
        value = f"{value:f}"
    if not isinstance(value, str):
        return new_cell(value)
    if name in DATES and (day := date.fromisoformat(value)) >= FIRST_DAY:
        cell = new_cell(datetime(day.year, day.month, day.day))
        cell.number_format = DATE
        return cell
    cell = new_cell(value)
    cell.data_type, cell.number_format = "s", TEXT
    cell.quotePrefix = True
    return cell


PRICE_LISTS = Formats(
    {
        "csv": Format(write_csv),
        "xlsx": Format(write_workbook, BINARY=True),
        "yaml": Format(write_yaml, SUFFIXES=(".yml",)),
    }
)
"""The forms of price books that `bomgen prices` writes."""


SHARE = Decimal("0.0001")
"""Precision of shares: a hundredth of a per cent."""
LINE, CATEGORY = "line", "category"
COLUMNS = (
    *("of", "category", "id", "part", "description", "pieces", "unit_cost", "amount", "cost", "margin", "share"),
    *("bound", "missing", "currency"),
)
NOTHING = "-"
LEAST, MOST = "≥ ", "≤ "


def to_data(margin: Margin) -> dict[str, Any]:
    """Return the margins as data: amounts and shares are decimal strings, null if unknown."""
    return {
        "currency": margin.currency,
        "lines": [_line_data(line) for line in margin.lines],
        "categories": [_sum_data(category) for category in margin.categories],
        "total": _sum_data(margin.total),
    }


def to_json(margin: Margin) -> str:
    """Return the margins as JSON."""
    return json.dumps(to_data(margin), ensure_ascii=False, indent=1) + "\n"


def to_csv(margin: Margin) -> str:
    """Return the margins as CSV: a row per line, per category, and the total; `of` says which."""
    rows = [{"of": LINE, **_line_data(line), "bound": EXACT if not line.missing else ""} for line in margin.lines]
    for each in (*margin.categories, margin.total):
        data = _sum_data(each)
        missing = [word for word in ("price", "cost") if data[f"lines_without_{word}"]]
        kind = TOTAL if each is margin.total else CATEGORY
        rows.append({"of": kind, "category": "" if kind == TOTAL else each.name, **data, "missing": missing})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        row["currency"] = margin.currency
        # A loss remains a number rather than being escaped as a formula.
        row |= {key: Decimal(row[key]) for key in ("margin", "share") if row.get(key) is not None}
        writer.writerow([escape_formula(row.get(name)) for name in COLUMNS])
    return stream.getvalue()


def margin_document(margin: Margin, language: Language) -> Document:
    """Return the margins as a document: bill lines, then category totals."""
    word, currency = language.word, margin.currency
    titles = {key: language.beside(word(f"margin-{key}"), currency) for key in ("net", "cost", "margin")}
    name, pieces, share = columns_of("margin", language)
    columns = (name, pieces, *(Column(key, title, "number") for key, title in titles.items()), share)
    rows = []
    for line in margin.lines:
        amounts = _amounts(line.priced.amount, line.cost, currency, language)
        earned = NOTHING if line.margin is None else language.amount(line.margin, currency)
        texts = (*amounts, earned, _percent(line.share))
        rows.append(row_of(line.priced.line.id, line.priced.line.pieces, *texts, group=word("margin-lines")))
    table = make_table("margin", language, (*rows, *_sum_rows(margin, language)), columns=columns)
    # What the totals exclude.
    missing = {"margin-without-price": margin.total.without_price, "margin-without-cost": margin.total.without_cost}
    notes = (Note("info", word(key, count=count, lines=margin.total.lines)) for key, count in missing.items() if count)
    return Document("", language.code, (Section("margin", "", tables=(table,), notes=tuple(notes)),))


def _sum_rows(margin: Margin, language: Language) -> Iterator[Row]:
    for each in (*margin.categories, margin.total):
        sign = {AT_LEAST: LEAST, AT_MOST: MOST}.get(each.bound, "")
        net, cost = _amounts(each.amount, each.cost, margin.currency, language)
        net = f"{LEAST}{net}" if each.without_price and each.amount is not None else net
        cost = f"{LEAST}{cost}" if each.without_cost and each.cost is not None else cost
        earned = NOTHING if each.margin is None else sign + language.amount(each.margin, margin.currency)
        share = _percent(each.share)
        name = language.words.get(f"category-{each.name}", each.name)
        if each is margin.total:
            name = language.word("ui-total")
        texts = (net, cost, earned, share if share == NOTHING else sign + share)
        yield row_of(name, "", *texts, group=language.word("margin-categories"))


def _amounts(net: Decimal | None, cost: Decimal | None, currency: str, language: Language) -> tuple[str, str]:
    """Return the net amount and the cost as text, or notes that they are missing."""
    return (
        language.word("ui-no-price") if net is None else language.amount(net, currency),
        language.word("margin-no-cost") if cost is None else language.amount(cost, currency),
    )


def _percent(share: Fraction | None) -> str:
    return NOTHING if share is None else f"{_decimal(share):.2%}"


def _line_data(line: Earned) -> dict[str, Any]:
    return {
        **{key: getattr(line.priced.line, key) for key in ("id", "category", "part", "description", "pieces")},
        "unit_cost": _amount(line.unit.amount),
        "amount": _amount(line.priced.amount),
        "cost": _amount(line.cost),
        "margin": _amount(line.margin),
        "share": _rounded(line.share),
        "missing": list(line.missing),
    }


def _sum_data(margin_total: MarginTotal) -> dict[str, Any]:
    return {
        "name": margin_total.name,
        "lines": margin_total.lines,
        "lines_without_price": margin_total.without_price,
        "lines_without_cost": margin_total.without_cost,
        "amount": _amount(margin_total.amount),
        "cost": _amount(margin_total.cost),
        "margin": _amount(margin_total.margin),
        "share": _rounded(margin_total.share),
        "bound": margin_total.bound,
    }


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


def _rounded(share: Fraction | None) -> str | None:
    return None if share is None else f"{_decimal(share):f}"


def _decimal(share: Fraction) -> Decimal:
    return (Decimal(share.numerator) / Decimal(share.denominator)).quantize(SHARE, ROUND_HALF_UP)


# price list ---------------------------------------------------------------------------------------------------------
# The interpretation of a vendor's price list, as a document.

FIRST = 5
"""Number of prices shown."""
NAMED = 10
"""Number of rows of each kind that are named."""
REASONS = ("no-price", "free", "unit", "no-part", "sum", "note", "header", "other-price", "same")
"""Reasons for skipping a row, in the order of messages: `left-sum` counts rows, `reason-sum` says why."""
NAMED_REASONS = ("no-price", "free", "unit", "no-part", "other-price")
"""Reasons for skipped rows that a reader may miss."""


class Use(NamedTuple):
    """How a plan uses a price list."""

    plan: str
    used: int
    """Rows of parts that it uses."""
    parts: int
    """Parts that it buys."""
    unpriced: Sequence[str]
    """Parts that the list has no price for."""
    unused: Sequence[str]
    """Parts of the list that it does not buy."""
    near: Sequence[tuple[str, Sequence[str]]] = ()
    """Parts of the list that no part is known by, and the unpriced parts of the plan whose numbers are close."""


def describe(
    price_list: PriceList, parts: PartIndex, use: Use | None = None, words: Language | None = None
) -> Document:
    """Return the role of each column, the first prices, skipped rows, and prices without a known part.

    `words` are English by default; those about the `use` always are.
    """
    words = words or language(ENGLISH)
    say = words.message
    entries = price_list.source.data["prices"]
    title = say(message("read-first" if len(entries) > FIRST else "read-prices", count=len(entries)))
    unread = [
        message(name, cell=words.word("list-comma").join(names))
        for name, names in (("read-without-prices", price_list.unread), ("read-hidden", price_list.hidden))
        if names
    ]
    first = _table(title, [_price(entry, parts, words) for entry in entries[:FIRST]])
    sections = (
        Section("columns", "", tables=tuple(_layouts(price_list, words))),
        Section("notes", "", text=tuple(map(say, (*price_list.notes, *unread)))),
        Section("prices", "", tables=(first,)),
        Section("left-out", "", tables=tuple(_left_out(price_list.left_out, words))),
        Section("unmatched", "", tables=tuple(_unmatched(entries, price_list, parts, words))),
        Section("use", "", text=tuple(_use(use, len(entries)) if use else ())),
    )
    return Document("", words.code, sections)


def _layouts(price_list: PriceList, words: Language) -> Iterator[Table]:
    say = words.message
    for layout in price_list.layouts:
        name = "read-header-sheet" if layout.table.name else "read-header"
        file, line = price_list.source.file, str(layout.header.line)
        title = say(message(name, id=file, key=layout.table.name, line=line))
        breaks = {
            column.at: say(message("read-break", role=name_role(role), quantity=str(quantity or 1)))
            for role, quantity, column in layout.breaks
        }
        roles = {role: say(name_role(role)) for role in layout.columns}
        taken = {column.at: (role, column) for role, column in layout.columns.items()}
        taken |= {column.at: (breaks[column.at], column) for *_, column in layout.breaks}
        held = [(column, roles.get(role, role), say(column.why)) for _, (role, column) in sorted(taken.items())]
        held += [(column, say(message("read-unused")), "") for column in layout.unused]
        rows = []
        for column, role, why in held:
            heading = f"'{column.heading.text}'" if column.heading.text else ""
            rows.append((column.letter, heading, role, why))
        yield _table(title, rows)


def _use(use: Use, prices: int) -> Iterator[str]:
    priced = use.parts - len(use.unpriced)
    yield f"{use.plan} uses {use.used} of the {prices} prices, for {priced} of its {use.parts} parts"
    if use.unpriced:
        yield f"no price in the list: {', '.join(use.unpriced)}"
    if use.unused:
        more = f", and {len(use.unused) - NAMED} more" if len(use.unused) > NAMED else ""
        yield f"not in {use.plan}: {', '.join(use.unused[:NAMED])}{more}"


def _price(entry: dict[str, Any], parts: PartIndex, words: Language) -> tuple[str, ...]:
    say = words.message
    ids = parts.ids(entry["part"])
    amount = (
        f"{decimal(entry['price']):f}"
        if "price" in entry
        else words.word("range-ends", low=f"{entry.get('min')}", high=f"{entry.get('max')}")
    )
    known = f"= {ids[0]}" if len(ids) == 1 and ids[0] != entry["part"].lower() else ""
    pieces = say(message("read-from", quantity=str(entry["from_quantity"]))) if "from_quantity" in entry else ""
    until = say(message("read-until", date=str(entry["valid_until"]))) if "valid_until" in entry else ""
    return entry["part"], f"{amount} {entry['currency']}", pieces, until, entry.get("lead_time", ""), known


def _left_out(rows: Sequence[UnpricedRow], words: Language) -> Iterator[Table]:
    say = words.message
    counts = Counter(row.reason for row in rows)
    if not counts:
        return
    shown = list[tuple[str, ...]]()
    for reason in NAMED_REASONS:
        of_reason = [row for row in rows if row.reason == reason]
        why = message(f"reason-{reason}")
        shown += [
            (say(message("read-line", line=str(row.mark.line))), say(message("read-row", why=why, cell=row.text)))
            for row in of_reason[:NAMED]
        ]
        if len(of_reason) > NAMED:
            shown.append(("...", say(message("read-more-with", count=len(of_reason) - NAMED, why=why))))
    names = [message(f"left-{reason}", count=counts[reason]) for reason in REASONS if counts[reason]]
    yield _table(say(message("read-left-out", names=names)), shown)


def _unmatched(
    entries: Sequence[dict[str, Any]], price_list: PriceList, parts: PartIndex, words: Language
) -> Iterator[Table]:
    """Yield tables of prices that match no catalogue part, or several."""
    say = words.message
    unknown = [(at, entry["part"]) for at, entry in enumerate(entries) if len(parts.ids(entry["part"])) != 1]
    if not unknown:
        return
    rows = list[tuple[str, ...]]()
    for at, part in unknown[:NAMED]:
        several = parts.ids(part)
        near = several or parts.nearest(part)
        name = "read-fits-several" if several else "read-near" if near else "read-none-near"
        line = say(message("read-line", line=str(price_list.source.mark(("prices", at)).line)))
        rows.append((line, part, say(message(name, id=near))))
    if len(unknown) > NAMED:
        rows.append(("...", say(message("read-more", count=len(unknown) - NAMED)), ""))
    yield _table(say(message("read-unmatched", count=len(unknown))), rows)


def use_of(entries: Sequence[Mapping[str, Any]], report: Report, parts: PartIndex) -> Use:
    """Return how the bill of a result uses the prices of a list."""
    bought = {names[0]: names for line in report.quote.all_lines if (names := line.line.names)}
    listed = [{entry["part"].lower(), *parts.ids(entry["part"])[:1]} for entry in entries]
    of_plan = {name for names in bought.values() for name in names}
    of_list = {name for each in listed for name in each}
    used = [bool(each & of_plan) for each in listed]
    unused = dict.fromkeys(entry["part"] for entry, uses in zip(entries, used, strict=True) if not uses)
    unpriced = [part for part, names in bought.items() if not set(names) & of_list]
    unknown = [part for part in unused if not parts.ids(part)]
    close = [(part, [part_of for part_of in parts.nearest(part) if part_of in unpriced]) for part in unknown]
    return Use(report.plan.name, sum(used), len(bought), unpriced, [*unused], [pair for pair in close if pair[1]])


def _table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without headings and without empty columns."""
    used = [at for at in range(len(rows[0])) if any(row[at] for row in rows)] if rows else []
    columns = tuple(Column(str(at), "") for at in used)
    return Table(title, title, columns, tuple(Row(tuple(Cell(row[at]) for at in used)) for row in rows))
