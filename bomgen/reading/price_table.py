"""A table of prices as the data of a YAML price book, so that the same rules check both.

The first non-empty row names the columns, in any order and case: those of a price in a book, and a description for the
reader, which is ignored. Numbers, dates and booleans are converted back from spreadsheet types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

from bomgen.core.diagnostics import PlanErrors, Problem, error_at, nearest
from bomgen.core.messages import suggestion
from bomgen.core.provenance import Mark
from bomgen.core.schema import document
from bomgen.core.yaml_source import Path, Source, exact_number
from bomgen.pricing.price_book import AMOUNTS, FORMAT, FORMAT_KEY
from bomgen.reading.cells import Broken, TableCell, Value, find_break, read_amount, read_dates

NEEDED = ("part", "currency")
DATES = ("valid_until", "date")
MAX_ROWS = 20_000
"""Maximum number of rows; more suggest another table, or an attack."""
MAX_SHOWN = 40
TRUTHS: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}

_FREE_FORMS = ((AMOUNTS, read_amount), (DATES, read_dates), (("from_quantity",), find_break))
"""Columns whose cells have several written forms, and their readers."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_PLAIN = re.compile(rf"{_NUMBER.pattern}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}")
_GROUPED = re.compile(r"-?[0-9]{1,3}(?:[,'\u2019 \u00a0\u202f][0-9]{3})+(\.[0-9]+)?")
_COMMA = re.compile(r"-?[0-9]{1,3}(?:[.'\u2019 \u00a0\u202f]?[0-9]{3})*,[0-9]+|-?[0-9]+,[0-9]+")
_EXPONENT = re.compile(r"-?[0-9.]+[eE][-+]?[0-9]+")


def columns() -> dict[str, Any]:
    """Return the columns of a table by name, each with its schema; they are the keys of a price in a book."""
    schemas: dict[str, Any] = document("prices")["properties"]["prices"]["items"]["properties"]
    return schemas


def has_own_columns(rows: Sequence[Sequence[TableCell]]) -> bool:
    """Return whether a table is a bomgen price book: by its header, and by amounts that are plain numbers.

    The header must have the required columns, and only price book columns, including mistyped ones. Amounts, dates and
    quantities in other forms ("1.234,50 €", 31.12.2026, 10-99) indicate a vendor's list, and so do price break columns.
    """
    header = next((row for row in rows if any(cell.filled for cell in row)), ())
    valid = [*columns(), "description"]
    names = [_name(cell) for cell in header]
    if not header:
        return True
    unknown = [name for name in names if name and name not in valid]
    if not {*NEEDED} <= {*names} or any(find_break(name) or not nearest(name, valid) for name in unknown):
        return False
    columns_read = [(at, reads) for names_of, reads in _FREE_FORMS for at, name in enumerate(names) if name in names_of]
    below = (row for row in rows if row is not header)
    cells = ((row[at].value, reads) for row in below for at, reads in columns_read if at < len(row))
    return not any(isinstance(value, str) and not _PLAIN.fullmatch(value) and reads(value) for value, reads in cells)


def _name(cell: TableCell) -> str:
    return str(cell.value or "").strip().lower().replace(" ", "_")


def source_of(rows: Iterable[Sequence[TableCell]], file: str, text: str = "") -> Source:
    """Return the price book in rows, header first. Raises PlanErrors for wrong columns and cells."""
    filled = (row for row in rows if any(cell.filled for cell in row))
    header = next(filled, None)
    if header is None:
        raise error_at(file, "no prices: the first row must name the columns: part, price, currency ...", "empty")
    problems: list[Problem] = []
    names = _names(header, problems)
    if problems:
        raise PlanErrors(problems)
    top = Mark(file, 1, 1)
    marks: dict[Path, Mark] = {(): top, ("prices",): top}
    entries: list[dict[str, Any]] = []
    for row in filled:
        if len(entries) == MAX_ROWS:
            message = f"more than {MAX_ROWS} prices; at most {MAX_ROWS} are read, cut the table into several books"
            raise error_at(row[0].mark, message, "table-limit")
        path: Path = ("prices", len(entries))
        entry, cell_marks = _entry(row, names, path, problems)
        entries.append(entry)
        marks[path] = row[0].mark
        marks |= {(*path, key): mark for key, mark in cell_marks.items()}
    if problems:
        raise PlanErrors(problems)
    return Source(file, text, {FORMAT_KEY: FORMAT, "prices": entries}, {}, marks)


def _names(header: Sequence[TableCell], problems: list[Problem]) -> list[str | None]:
    valid = [*columns(), "description"]
    names: list[str | None] = []
    for cell in header:
        name = _name(cell)
        if isinstance(cell.value, Broken):
            problems.append(Problem(cell.mark, "error", cell.value.message, "cell"))
        elif name and name not in valid:
            hint = suggestion(name, valid, f"valid columns: {', '.join(valid)}")
            message = f"unknown column '{_short(str(cell.value))}'; {hint}"
            problems.append(Problem(cell.mark, "error", message, "unknown-column"))
        elif name and name in names:
            message = f"the column '{name}' is duplicated; keep one"
            problems.append(Problem(cell.mark, "error", message, "duplicate-column"))
        names.append(name or None)
    return names


def _entry(
    row: Sequence[TableCell], names: Sequence[str | None], path: Path, problems: list[Problem]
) -> tuple[dict[str, Any], dict[str, Mark]]:
    entry: dict[str, Any] = {}
    marks: dict[str, Mark] = {}
    for at, cell in enumerate(row):
        name = names[at] if at < len(names) else None
        if not cell.filled or name == "description":
            continue
        dotted = ".".join(str(step) for step in (*path, name or ""))
        if name is None:
            message = "a cell without a column; name it in the first row, put text with separators in quotes"
            problems.append(Problem(cell.mark, "error", message, "no-column"))
            continue
        try:
            entry[name] = read_value(cell.value, name)
        except ValueError as error:
            rule = "cell" if isinstance(cell.value, Broken) else "type"
            problems.append(Problem(cell.mark, "error", str(error), rule, dotted))
        marks[name] = cell.mark
    for name in (name for name in NEEDED if name not in marks):
        at = names.index(name)
        mark = row[at].mark if at < len(row) else row[0].mark
        what = f"no currency for {entry.get('part', 'this price')}" if name == "currency" else "no part"
        example = columns()[name]["examples"][0]
        message = f"{what}; set one per row in the column '{name}', for example {example}"
        problems.append(Problem(mark, "error", message, "missing-key", ".".join(map(str, path))))
    return entry, marks


def read_value(value: Value, name: str) -> Any:
    """Return the value of a cell in a column, as in a YAML price book. Raises ValueError for invalid values."""
    if isinstance(value, Broken):
        raise ValueError(value.message)
    if value is None:
        raise ValueError("an empty cell")
    if isinstance(value, time):
        raise ValueError(f"{value} is a time of day; write a valid value for the column '{name}'")
    kinds = columns()[name]["type"]
    if isinstance(value, date):
        return _date_text(value, name)
    if "number" in kinds or "integer" in kinds:
        return _number(value, name)
    if "boolean" in kinds:
        return TRUTHS.get(value.lower(), value) if isinstance(value, str) else _plain(value)
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not text; write text in the column '{name}'")
    if isinstance(value, str):
        return value
    if name in DATES:
        raise ValueError(f"{value:f} is a number; write the date as YYYY-MM-DD, or format the cell as a date")
    return f"{value:f}"


def _date_text(value: date, name: str) -> str:
    if isinstance(value, datetime):
        if value.time() != time():
            raise ValueError(f"{value} is a time of day; write the date alone, as YYYY-MM-DD")
        value = value.date()
    if name not in (*DATES, "source"):
        raise ValueError(f"{value} is a date; a spreadsheet made it one: format the column '{name}' as text or number")
    return value.isoformat()


def _plain(number: Decimal | bool) -> int | Fraction | bool:
    if isinstance(number, bool):
        return number
    exact = Fraction(number)
    return exact.numerator if exact.denominator == 1 else exact


def _number(value: str | Decimal | bool, name: str) -> int | Fraction:
    """Return the number of a cell exactly as written. Raises ValueError for text, and for ambiguous numbers."""
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a number; write a number in the column '{name}'")
    if isinstance(value, Decimal):
        return _plain(value)
    if _NUMBER.fullmatch(value):
        return exact_number(value)
    shown = _short(value)
    bare = re.sub(r"[^0-9.,-]", "", value)
    if _GROUPED.fullmatch(value):
        grouped = bare.replace(",", "")
        unclear = bare.count(",") == 1 and "." not in bare
        either = f", or {bare.replace(',', '.')} where the comma is a point" if unclear else ""
        raise ValueError(f"'{shown}' has a thousands separator; write {_short(grouped)}{either}")
    if _COMMA.fullmatch(value):
        raise ValueError(f"'{shown}' has a decimal comma; write {_short(bare.replace('.', '').replace(',', '.'))}")
    if _EXPONENT.fullmatch(value):
        raise ValueError(f"'{shown}' is a truncated number; format the cell as a number and write all digits")
    raise ValueError(f"'{shown}' is text; write a number without currency or unit, for example 1234.50")


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
