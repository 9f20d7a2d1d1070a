"""Documents of tables, and how a price list was understood, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import east_asian_width

from bomgen.core.document import Document, Table, TextTable
from bomgen.core.language import Language

_GAP = "  "
_BOLD = "bold"
_WIDE = ("W", "F")
"""Characters that take the place of two."""


def text(document: Document, language: Language, every: bool = False) -> bytes:
    """The tables and notes of a document in UTF-8, columns aligned; `every` table, or those that are not folded."""
    lines = list[str]()
    for each in parts(document, language, every):
        lines += [each] if isinstance(each, str) else align(each)
    return ("\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n").encode("utf-8")


def parts(document: Document, language: Language, every: bool = False) -> Iterator[str | TextTable]:
    """The lines and the tables of a document, one after the other. Headings in a table are rows with a single text.

    Of a folded table there is a line that says how many rows it has, unless `every` one is shown.
    """
    colon = language.word("ui-colon")
    yield from (document.title, "")
    for section in document.sections:
        yield from (*section.text, *([""] if section.text else []))
        for table in section.tables:
            if table.folded and not every:
                yield from (language.word("text-folded", title=table.title, rows=len(table.rows)), "")
                continue
            yield from [table.title] if table.folded else []
            yield from (_table(table, language), "")
        yield from (f"{language.word(f'ui-{note.level}')}{colon} {note.text}" for note in section.notes)
        yield from [""] if section.notes else []


def _table(table: Table, language: Language) -> TextTable:
    rows, styles = [[column.title for column in table.columns]], [_BOLD]
    group = None
    for row in table.rows:
        if row.group is not None and row.group != group:
            rows.append([row.group, *[""] * (len(table.columns) - 1)])
            styles.append(_BOLD)
        group = row.group
        rows.append([_GAP + language.cell(row.cells[0]), *(language.cell(cell) for cell in row.cells[1:])])
        styles.append("")
    rows[0][0] = _GAP + rows[0][0]
    numbers = [at for at, column in enumerate(table.columns) if column.kind != "text"]
    return TextTable(rows, right=numbers, styles=styles)


def align(table: TextTable) -> Iterator[str]:
    """Cells side by side: texts begin at the left, numbers end at the right. Headings move no column."""
    whole = [row for row in table.rows if any(row[1:])]
    widths = [max(map(_width, cells)) for cells in zip(*whole, strict=True)]
    for row in table.rows:
        padded = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            room = " " * (width - _width(cell))
            padded.append(room + cell if at in table.right else cell + room)
        yield _GAP.join(padded)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(sign) in _WIDE else 1 for sign in text)
