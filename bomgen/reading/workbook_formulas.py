"""The formulas and defined names of an Excel workbook, read from its XML because calamine returns neither.

The parts were counted when they were unpacked, and have no document types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from bomgen.reading.scans import WORKBOOK, find_sheets
from bomgen.reading.sheet_scan import column_number, feed, parser_of

Place = tuple[int, int]
"""Line and column of a cell, both from 1."""
_CELL = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_PREFIX = re.compile(r"_xl(?:fn|ws)\.", re.IGNORECASE)
"""The prefix that Excel writes before functions newer than the format."""
_ARRAY = re.compile(r"^arrayformula\((.*)\)$", re.DOTALL)
"""Google Sheets' wrapper for a formula over an area."""
_TOKEN = re.compile(
    r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'!?|\s+'
    r"|(?<![A-Za-z0-9_.$!])(\$?)([A-Za-z]{1,3})(\$?)([0-9]{1,7})(?![A-Za-z0-9_.(])"
)
"""Texts, sheet titles and spaces of a formula, and references to cells of its own sheet."""
_AREA = re.compile(
    r"\$?(?:'((?:[^']|'')*)'|([^'!\s]+))!\$?([A-Z]{1,3})\$?([0-9]{1,7})(?::\$?([A-Z]{1,3})\$?([0-9]{1,7}))?"
)


class NamedArea(NamedTuple):
    """A named area of a sheet, from the first place to the last."""

    sheet: str
    first: Place
    last: Place


class Formulas(NamedTuple):
    """The formulas and defined names of a workbook."""

    cells: Mapping[str, Mapping[Place, str]]
    """By sheet title and cell place, in the form of `relative_formula`."""
    names: Mapping[str, NamedArea | None]
    """The area of each defined name of the workbook; None for a name without an area, or with several."""


def read_formulas(parts: Mapping[str, bytes]) -> Formulas | None:
    """Return the formulas and names in the parts of an xlsx workbook; None for another format."""
    if WORKBOOK not in parts:
        return None
    cells = {title: _read_sheet(parts[part]) for title, part in find_sheets(parts).items() if part in parts}
    return Formulas(cells, _read_names(parts[WORKBOOK]))


def relative_formula(formula: str, place: Place) -> str:
    """Return the formula of a cell with references to its own sheet as R1C1 offsets.

    Formulas that were copied or sorted to another line are thus equal. Spaces, case and function prefixes, in which
    programs differ, are normalised.
    """

    def write(token: re.Match[str]) -> str:
        if token[4] is None:
            text = token[0]
            if text.startswith("'") and text.endswith("!"):
                # Programs differ in which sheet titles they quote.
                return text.strip("'!").replace("''", "'") + "!"
            return "" if text.isspace() else text
        column, row = column_number(token[2]), int(token[4])
        named_column = f"C{column}" if token[1] else f"C[{column - place[1]}]"
        return f"R{row}{named_column}" if token[3] else f"R[{row - place[0]}]{named_column}"

    text = _TOKEN.sub(write, _PREFIX.sub("", formula.strip().removeprefix("="))).casefold()
    return _ARRAY.sub(r"\1", text)


def _read_names(content: bytes) -> dict[str, NamedArea | None]:
    names, name, text = dict[str, NamedArea | None](), "", list[str]()

    def close() -> None:
        if name:
            # A second area, such as one of a single sheet, hides the first one from some formulas.
            names[name] = None if name in names else _read_area("".join(text))

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal name, text
        close()
        name, text, parser.CharacterDataHandler = "", [], None
        if tag.rpartition(":")[2] == "definedName":
            name, parser.CharacterDataHandler = attributes.get("name", "").lower(), text.append

    parser = parser_of(start)
    feed(parser, content)
    close()
    return names


def _read_area(text: str) -> NamedArea | None:
    found = _AREA.fullmatch(text.strip())
    if found is None:
        return None
    quoted, plain, left, top, right, bottom = found.groups()
    sheet = plain if quoted is None else quoted.replace("''", "'")
    first = int(top), column_number(left)
    return NamedArea(sheet, first, (int(bottom), column_number(right)) if bottom else first)


def _read_sheet(content: bytes) -> dict[Place, str]:
    """Return the formulas of a sheet; a shared formula applies to each of its cells."""
    found, shared = dict[Place, str](), dict[str, str]()
    place, sharing, text = (0, 0), "", list[str]()
    inside = False

    def close() -> None:
        nonlocal inside
        if inside:
            formula = relative_formula("".join(text), place) if text else shared.get(sharing, "")
            if sharing and text:
                shared.setdefault(sharing, formula)
            found[place] = formula
        inside, parser.CharacterDataHandler = False, None

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal place, sharing, text, inside
        close()
        tag = tag.rpartition(":")[2]
        if tag == "row":
            place = int(attributes.get("r", place[0] + 1)), 0
        elif tag == "c":
            reference = _CELL.fullmatch(attributes.get("r", ""))
            place = (int(reference[2]), column_number(reference[1])) if reference else (place[0], place[1] + 1)
        elif tag == "f":
            inside, text = True, []
            sharing = attributes.get("si", "") if attributes.get("t") == "shared" else ""
            parser.CharacterDataHandler = text.append

    def end(tag: str) -> None:
        if tag.rpartition(":")[2] == "f":
            close()

    parser = parser_of(start)
    parser.EndElementHandler = end
    feed(parser, content)
    return found
