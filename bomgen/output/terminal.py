"""Documents as text: aligned columns, fitted to a terminal if its width is given.

On a terminal long cells wrap inside their column, and columns without space move to a table below. A pipe or a file
gets every row on one line, for programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bomgen.core.document import Cell, Column, Document, Section, Table, currency_of
from bomgen.core.language import Language
from bomgen.core.safety import printable
from bomgen.output.face import count_columns

GAP = "  "
"""Between columns, and before every row."""
BOLD = "bold"
LEAST_WIDTH = 24
"""Width to which a longer text is wrapped before a column moves to a table below."""
LEAST_TEXT = 20
"""Minimum width for wrapping a line below its own text."""
_LABEL = re.compile(r" *(?:- |.*\S  +(?=\S))")
"""The start of a line before the text to wrap: a bullet, or everything up to the last gap."""
_MARKS = "[\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f]*"
_WORD = re.compile(rf"(?:[^\s\u2e80-\uffff]+|[\u2e80-\uffff]){_MARKS}\s*|\s+")
"""Units that are not broken: a word or a Chinese character, with following marks."""


class TextLine(NamedTuple):
    """A line of text and its style: bold, or the sign of a row (`+`, `-`, `~`)."""

    text: str
    style: str = ""


def text(document: Document, language: Language, every: bool = False) -> bytes:
    """Return a document as UTF-8 text, with `every` row of its tables or only important ones."""
    return "".join(f"{line.text}\n" for line in render_lines(document, language, every)).encode("utf-8", "replace")


def render_lines(
    document: Document, language: Language, every: bool = False, width: int | None = None
) -> Iterator[TextLine]:
    """Yield the lines of a document, at most `width` characters wide if it is given."""
    first = True
    for block in _blocks(document, language, every, width):
        if block and not first:
            yield TextLine("")
        for line in block:
            first = False
            yield from [line] if width is None else _wrap_line(line, width)


def _blocks(document: Document, language: Language, every: bool, width: int | None) -> Iterator[list[TextLine]]:
    """Yield the parts of a document that a blank line separates."""
    titles = [TextLine(printable(document.title))] if document.title else []
    yield [*titles, *([TextLine(printable(document.subtitle), BOLD)] if document.subtitle else [])]
    several = len([section for section in document.sections if section.title]) > 1
    for section in document.sections:
        is_open = section.text or section.notes or any(every or not table.folded for table in section.tables)
        heading = [TextLine(section.title, BOLD)] if several and section.title and is_open else []
        for block in _section_blocks(section, language, every, width):
            if block:
                yield [*heading, *block]
                heading = []


def _section_blocks(section: Section, language: Language, every: bool, width: int | None) -> Iterator[list[TextLine]]:
    yield [TextLine(printable(line)) for line in section.text]
    for table in section.tables:
        if table.folded and not every:
            rows = language.integer(len(table.rows))
            yield [TextLine(language.word("text-folded", title=table.title, rows=rows))]
            continue
        title = [TextLine(printable(table.title))] if table.title not in ("", section.title) else []
        left = 0 if every or table.most is None else max(len(table.rows) - table.most, 0)
        more = [TextLine(GAP + language.word("text-more", rows=language.integer(left)))] if left else []
        yield [*title, *_table_lines(table, language, len(table.rows) - left, width), *more]
    before = language.word("name-in")
    yield [TextLine(f"{language.word(f'ui-{note.level}')}{before}{printable(note.text)}") for note in section.notes]


# tables -------------------------------------------------------------------------------------------------------------


class _TableText(NamedTuple):
    """The texts of a table: cells, sign and style of each row; a heading has a single cell."""

    rows: Sequence[tuple[Sequence[str], str, str]]
    right: Sequence[bool]
    keys: int
    indent: int


def _table_lines(table: Table, language: Language, shown: int, width: int | None) -> Iterator[TextLine]:
    """Yield the rows of a table: text aligned left, numbers right; headings do not affect columns."""
    grid = _grid(table, language, shown)
    for number, (columns, widths) in enumerate(_layouts(grid, width)):
        yield from [TextLine("")] if number else []
        for row, sign, style in grid.rows:
            if len(row) < len(grid.right):
                yield TextLine(row[0], style)
                continue
            cells = [_cell_lines(row[at], room, grid.right[at]) for at, room in zip(columns, widths, strict=True)]
            for at in range(max(map(len, cells))):
                start = f"{GAP}{'' if at else sign}".ljust(grid.indent)
                texts = (cell[at] if at < len(cell) else "" for cell in cells)
                padded = (_pad(*each) for each in zip(texts, widths, (grid.right[at] for at in columns), strict=True))
                yield TextLine((start + GAP.join(padded)).rstrip(), style)


def _grid(table: Table, language: Language, shown: int) -> _TableText:
    currencies = [currency_of(table, at) for at in range(len(table.columns))]
    titles = [language.heading(table, at) for at in range(len(table.columns))]
    rows: list[tuple[Sequence[str], str, str]] = [(titles, "", BOLD)] if any(titles) else []
    group = None
    for row in table.rows[:shown]:
        if row.group is not None and row.group != group:
            rows.append(([printable(row.group)], "", BOLD))
        group = row.group
        cells = zip(table.columns, row.cells, currencies, strict=True)
        rows.append(([printable(cell_text(*cell, language)) for cell in cells], row.sign, row.sign))
    signed = any(row.sign for row in table.rows[:shown])
    return _TableText(
        rows,
        [column.kind != "text" for column in table.columns],
        table.keys,
        len(GAP) * 2 if signed else len(GAP),
    )


def cell_text(column: Column, cell: Cell, currency: str, language: Language) -> str:
    """Return the text of a cell; `currency` is the one named in its column heading."""
    if cell.value is None and column.kind == "money":
        return language.word("ui-no-price")
    return language.cell(cell, named=not currency)


def _layouts(grid: _TableText, width: int | None) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield the columns and widths of each table that is drawn."""
    rows = [row for row, _, _ in grid.rows if len(row) == len(grid.right)]
    columns = [[row[at] for row in rows] for at in range(len(grid.right))]
    natural = [max(map(count_columns, column), default=0) for column in columns]
    if width is None:
        yield range(len(natural)), natural
        return
    room, broken = width - grid.indent, list[int]()
    least = list[int]()
    for at, column in enumerate(columns):
        word = max((count_columns(word.rstrip()) for cell in column for word in _WORD.findall(cell)), default=0)
        number = max((count_columns(line) for cell in column for line in _above_its_range(cell).split("\n")), default=0)
        least.append(number if grid.right[at] else min(natural[at], max(LEAST_WIDTH, min(word, room // 2))))
        broken.append(number if grid.right[at] else min(natural[at], LEAST_WIDTH))
    if _total(least) > room >= _total(broken):
        least = broken
    for chosen in _shared_out(least, grid.keys, room):
        yield chosen, _widths([least[at] for at in chosen], [natural[at] for at in chosen], room)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _above_its_range(cell: str) -> str:
    """Return a number with the range of an estimate on a separate line."""
    return cell.replace(" (", "\n(")


def _shared_out(least: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """Return the columns of each table: the keys of a row, and as many others as fit, at least one."""
    names = list(range(keys))
    found = [names[:]]
    for at in range(keys, len(least)):
        if len(found[-1]) > keys and _total([least[other] for other in (*found[-1], at)]) > room:
            found.append(names[:])
        found[-1].append(at)
    return found


def _widths(least: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """Return the width of each column: the minimum, and a share of the remaining space."""
    widths = list(least)
    left = room - _total(least)
    wanting = sorted((each for each in range(len(least)) if natural[each] > least[each]), key=natural.__getitem__)
    for number, at in enumerate(wanting):
        more = max(min(natural[at] - least[at], left // (len(wanting) - number)), 0)
        widths[at] += more
        left -= more
    return widths


# letters ------------------------------------------------------------------------------------------------------------


def _pad(text: str, width: int, right: bool) -> str:
    room = " " * (width - count_columns(text))
    return room + text if right else text + room


def _cell_lines(cell: str, width: int, right: bool) -> list[str]:
    if count_columns(cell) <= width:
        return [cell]
    return [part for line in (_above_its_range(cell) if right else cell).split("\n") for part in wrap_text(line, width)]


def _wrap_line(line: TextLine, width: int) -> Iterator[TextLine]:
    """Yield a line wrapped to `width` characters, aligned below the text after its label."""
    if count_columns(line.text) <= width:
        yield line
        return
    found = _LABEL.match(line.text)
    label = found[0] if found else ""
    hang = count_columns(label)
    if hang > width - LEAST_TEXT:
        label, hang = "", 0
    for number, part in enumerate(wrap_text(line.text[len(label) :], width - hang)):
        yield TextLine((" " * hang if number else label) + part, line.style)


def wrap_text(text: str, width: int) -> list[str]:
    """Return a text in lines of at most `width` characters, broken between words or Chinese characters if possible."""
    found, line = list[str](), ""
    for word in _WORD.findall(text):
        for part in [word] if count_columns(word.rstrip()) <= width else word:
            if line and count_columns(line + part.rstrip()) > width:
                found.append(line.rstrip())
                line = ""
            line += part
    return [*found, line.rstrip()]
