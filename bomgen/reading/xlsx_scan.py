"""What the XML of an Excel workbook has and calamine does not say: errors, formulas without a value, hidden rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bomgen.reading.cells import MAX_COLUMNS, Value
from bomgen.reading.sheet_scan import NO_VALUE, Found, column_number, feed, parser_of, shown_error

TRUE = ("1", "true")
TEXTS = "sharedstrings.xml"
"""What the name of the part with the texts ends with, in lower case: the library finds it in any case."""
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_STRING = re.compile(rb"<(?:\w+:)?si[\s>/]")
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"(?: (?:s|t|cm|vm|ph)="[^"<>&]*")* ?/?>')
"""A cell as all programs write it; one with a second `r` is no XML, and the library takes that one."""
_BEGINNINGS = (b"<c ", b"<c>", b"<c/")
"""How cells begin where names have no prefix."""
_HIDDEN = (b' hidden="1"', b' hidden="true"')
_OTHERS = (b"<!", b"='", b":row", b"<f>", b"<f ", b"<f/", b't="e"', *_HIDDEN, b"<c\t", b"<c\r", b"<c\n")
"""What only a parser of XML reads rightly, formulas, errors, and what is hidden."""


def scan_xlsx(package: Mapping[str, bytes]) -> dict[str, Found]:
    """What is in each sheet of an Excel package, by its title.

    Every part with cells is looked at, whether a sheet names it or not. Raises ValueError for what is no XML, and for
    what no program writes: two parts with texts, sheets of one title, sheets of one part. KeyError for a sheet without
    its part.
    """
    texts, *more = [part for name, part in package.items() if name.lower().endswith(TEXTS)] or [b""]
    if more:
        raise ValueError("two parts with texts")
    starts = [found.start() for found in _STRING.finditer(texts)]
    lengths = [end - start for start, end in zip(starts, [*starts[1:], len(texts)], strict=False)]
    parts: dict[str, Found] = {}
    for name, content in package.items():
        if b"sheetData" in content:
            parts[name] = _measure(content, lengths) or _scan_sheet(content, lengths)
    sheets, targets = dict[str, str](), dict[str, str]()

    def sheet(name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            [key] = [value for key, value in attributes.items() if key.rpartition(":")[2] == "id"]
            if attributes["name"] in sheets:
                raise ValueError("two sheets of one title")
            sheets[attributes["name"]] = key

    def relation(name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship":
            targets[attributes["Id"]] = attributes["Target"]

    _parse(package["xl/workbook.xml"], sheet)
    _parse(package["xl/_rels/workbook.xml.rels"], relation)
    named = {title: targets[key].removeprefix("/") for title, key in sheets.items()}
    places = {title: place if place in parts else f"xl/{place}" for title, place in named.items()}
    if len({place.lower() for place in places.values()}) < len(places):
        raise ValueError("two sheets of one part")
    found = {title: parts.pop(place, Found()) for title, place in places.items()}
    return found | {f"/{name}": each for name, each in parts.items()}


def _measure(content: bytes, lengths: list[int]) -> Found | None:
    """How far the cells of a sheet reach, where it is written as all programs do and holds nothing but values.

    None where it must be parsed: with formulas, errors, cells far away or more text than is read.
    """
    cells = _CELL.findall(content)
    if any(each in content for each in _OTHERS) or len(cells) != sum(map(content.count, _BEGINNINGS)):
        return None
    columns = max((column_number(letters.decode()) for letters in {letters for letters, _ in cells}), default=0)
    rows = max((int(row) for row in {row for _, row in cells}), default=0)
    text = content.count(b't="s"') * max(lengths, default=0)
    return None if columns > MAX_COLUMNS or text > len(content) else Found(rows, columns, text)


def _scan_sheet(content: bytes, lengths: list[int]) -> Found:
    """What is in the XML of a sheet; `lengths` are the bytes of the shared texts."""
    longest = max(lengths, default=0)
    cells: dict[int, dict[int, Value]] = {}
    hidden_rows, hidden_columns = list[range](), list[range]()
    rows = columns = row = column = shared = 0
    beyond: tuple[int, int] | None = None
    kind: str | None = None
    formula = False
    text: list[str] | None = None

    def close() -> None:
        """Judge the cell that ended."""
        nonlocal formula, text
        if kind == "e":
            cells.setdefault(row, {})[column] = shown_error("".join(text or ()).strip())
        elif formula and kind != "str" and not "".join(text or ()).strip():
            cells.setdefault(row, {})[column] = NO_VALUE
        formula, text, parser.CharacterDataHandler = False, None, None

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal rows, columns, row, column, shared, beyond, kind, formula, text
        name = name.rpartition(":")[2]
        if name == "c":
            if formula or kind == "e":
                close()
            kind = attributes.get("t")
            reference = _REFERENCE.fullmatch(attributes.get("r", ""))
            if reference:
                column, row = column_number(reference[1]), int(reference[2])
            else:
                column += 1
        elif name in ("v", "f", "is"):
            rows, columns = max(rows, row), max(columns, column)
            if column > MAX_COLUMNS and beyond is None:
                beyond = row, column
            shared += kind == "s"
            formula = formula or name == "f"
            if formula or kind == "e":
                # The text of a formula is dropped when that of its value begins.
                text = [] if name == "v" else None
                parser.CharacterDataHandler = text.append if text is not None else None
        elif name == "row":
            if formula or kind == "e":
                close()
            kind, column = None, 0
            row = int(attributes.get("r", row + 1))
            if attributes.get("hidden") in TRUE:
                hidden_rows.append(range(row, row + 1))
        elif name == "col":
            if attributes.get("hidden") in TRUE:
                hidden_columns.append(range(int(attributes["min"]), int(attributes["max"]) + 1))
        elif (formula or kind == "e") and name != "t":
            parser.CharacterDataHandler = None  # what stands behind the last cell is none of its value

    parser = parser_of(start)
    feed(parser, content)
    if formula or kind == "e":
        close()
    size = shared * longest
    text_bytes = _shown(content, lengths) if size > len(content) else size
    return Found(rows, columns, text_bytes, beyond, cells, (), (*hidden_rows,), (*hidden_columns,))


def _shown(content: bytes, lengths: list[int]) -> int:
    """The bytes of shared texts that the cells of a sheet show."""
    total, shared = 0, False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal shared
        name = name.rpartition(":")[2]
        if name == "c":
            shared = attributes.get("t") == "s"
        parser.CharacterDataHandler = text if shared and name == "v" else None

    def text(data: str) -> None:
        nonlocal total
        at = int(data) if data.strip().isdecimal() else 0
        total += lengths[at] if at < len(lengths) else 0

    parser = parser_of(start)
    feed(parser, content)
    return total


def _parse(content: bytes, start: Callable[[str, dict[str, str]], None]) -> None:
    """Call a function with the local name and the attributes of each element."""
    feed(parser_of(lambda name, attributes: start(name.rpartition(":")[2], attributes)), content)
