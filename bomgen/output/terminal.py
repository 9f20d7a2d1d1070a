"""Documents of tables as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import east_asian_width

from bomgen.core.document import Column, Document, Table
from bomgen.core.language import Language

_GAP = "  "
_WIDE = ("W", "F")
"""Characters that take the place of two."""


def text(document: Document, language: Language) -> bytes:
    """The tables and notes of a document in UTF-8, columns aligned."""
    colon = language.word("ui-colon")
    lines = [document.title, ""]
    for section in document.sections:
        lines += [*section.text, *([""] if section.text else [])]
        for table in section.tables:
            lines += [*_table(table, language), ""]
        lines += [f"{language.word(f'ui-{note.level}')}{colon} {note.text}" for note in section.notes]
        lines += [""] if section.notes else []
    return ("\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n").encode("utf-8")


def _table(table: Table, language: Language) -> Iterator[str]:
    rows = [[language.cell(cell) for cell in row.cells] for row in table.rows]
    heads = [column.title for column in table.columns]
    widths = [max(map(_width, cells)) for cells in zip(heads, *rows, strict=True)]
    yield _line(heads, widths, table.columns)
    group = None
    for row, cells in zip(table.rows, rows, strict=True):
        if row.group is not None and row.group != group:
            yield row.group
        group = row.group
        yield _line(cells, widths, table.columns)


def _line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    """Cells side by side: texts begin at the left, numbers end at the right."""
    padded = []
    for cell, width, column in zip(cells, widths, columns, strict=True):
        room = " " * (width - _width(cell))
        padded.append(cell + room if column.kind == "text" else room + cell)
    return _GAP + _GAP.join(padded)


def _width(text: str) -> int:
    """The places that a text takes on a terminal."""
    return sum(2 if east_asian_width(sign) in _WIDE else 1 for sign in text)
