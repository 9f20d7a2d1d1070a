"""A comparison for a terminal: lines with a tone, which the command turns into colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bomgen.core.document import TextTable
from bomgen.report.diff.difference import Difference
from bomgen.report.diff.sections import PLAIN, DiffRow, DiffSection, headline, sections
from bomgen.report.diff.words import ARROW

MOST_ROWS = 40
"""Rows of a section on a terminal, unless all are asked for."""
MOST_WIDTH = 64
"""Characters of a column but the last, beyond which the columns behind it are not moved further."""
HEADED = 5
"""Columns from which their heads are shown."""
TITLE, HEADLINE = "title", "headline"


class Toned(NamedTuple):
    """A line, and what it is: `+`, `-`, `~`, a title, the headline, or nothing."""

    text: str
    tone: str


class SectionRows(NamedTuple):
    """The rows of a section that are shown, and their heads where there are many columns."""

    section: DiffSection
    rows: Sequence[DiffRow]

    def lines(self) -> Iterator[Toned]:
        """A line per row, columns aligned."""
        for row, text in zip(self.rows, _aligned(self.section, self.rows), strict=True):
            yield Toned(f"  {row.sign} {text}".rstrip(), row.sign)

    def table(self, styles: Mapping[str, str]) -> TextTable:
        """The rows as a table that a terminal fits to its width; `styles` has the look of rows by their sign."""
        head = self.section.head
        numbers = [at for at, name in enumerate(head) if name in self.section.right]
        name = next(at for at in range(len(head)) if at not in numbers)
        return TextTable(
            [(row.sign, *row.cells) for row in self.rows],
            right=[at + 1 for at in numbers],
            keys=name + 2,
            indent="  ",
            styles=[styles.get(row.sign, "") for row in self.rows],
        )


def lines(found: Difference, every: bool = False) -> Iterator[Toned]:
    """The comparison line by line; `every` row, or those that matter."""
    for part in parts(found, every):
        yield from [part] if isinstance(part, Toned) else part.lines()


def parts(found: Difference, every: bool = False) -> Iterator[Toned | SectionRows]:
    """The lines and the tables of the comparison, one after the other."""
    yield Toned(printable(f"{found.old.name} {ARROW} {found.new.name}"), PLAIN)
    yield Toned(printable(headline(found)), HEADLINE)
    if not found.changed:
        return
    for section in sections(found):
        yield Toned("", PLAIN)
        yield Toned(section.title, TITLE)
        rows, left = _rows(section, every)
        head = [DiffRow(PLAIN, section.head)] if len(section.head) >= HEADED and rows else []
        if shown := (*head, *rows):
            yield SectionRows(section, shown)
        if left:
            yield Toned(f"    and {left} other {section.what}: --all shows them", PLAIN)
        for note in section.notes:
            yield Toned(f"    {printable(note)}", PLAIN)
    for position, note in enumerate(found.notes):
        yield from [Toned("", PLAIN)] if not position else []
        yield Toned(f"Note: {printable(note)}", PLAIN)


def printable(text: str) -> str:
    """A text without what moves a cursor or begins a line: a space for one, and � for what is none."""
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "�" for sign in text)


def _rows(section: DiffSection, every: bool) -> tuple[Sequence[DiffRow], int]:
    """The rows that are shown, and how many are not."""
    shown = section.rows if every else section.rows[: min(section.first, MOST_ROWS)]
    return shown, len(section.rows) - len(shown)


def _aligned(section: DiffSection, rows: Sequence[DiffRow]) -> list[str]:
    cells = [[printable(cell) for cell in row.cells] for row in rows]
    if not cells:
        return []
    widths = [min(max(len(row[at]) for row in cells), MOST_WIDTH) for at in range(len(section.head))]
    columns = list(zip(section.head, widths, strict=True))
    found = []
    for row in cells:
        padded = (
            text.rjust(width) if name in section.right else text.ljust(width)
            for text, (name, width) in zip(row, columns, strict=True)
        )
        found.append("  ".join(padded))
    return found
