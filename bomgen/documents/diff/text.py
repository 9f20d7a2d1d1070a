"""A comparison for a terminal and as Markdown for a review."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bomgen.core.document import TextTable
from bomgen.documents.diff.difference import Difference
from bomgen.documents.diff.sections import (
    BILL,
    DESIGN,
    FREE,
    MONEY,
    MOVE,
    ORDER,
    PLAIN,
    PLAN,
    WARNINGS,
    DiffRow,
    DiffSection,
    headline,
    sections,
)
from bomgen.documents.diff.words import ARROW

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


# markdown -----------------------------------------------------------------------------------------------------------
# A comparison as Markdown that fits a review comment: a page of what matters, the rest folded away.

MOST_LINES = 60
"""Lines that are seen before anything is unfolded."""
MOST_FOLDED = 2000
"""Rows that are folded away at most: code hosts cut comments of more than some 65 000 characters."""
MOST_CHARACTERS = 60_000
"""Of the whole; GitHub refuses comments of 65 536 and more."""
SHOWN = {MONEY: 9, PLAN: 4, DESIGN: 8, ORDER: 7, BILL: 12, MOVE: 4, FREE: 3, WARNINGS: 2}
"""Rows of a section that are seen at first, in the order in which sections get room."""
OTHERS = 2
"""Rows of any other section that are seen at first."""
OVERHEAD = 5
"""Lines of a table beside its rows: title, blank line, head, rule, blank line."""
FOLD = 4
"""Lines that are seen of what is folded, and of the notes."""
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = {sign: f"&#{ord(sign)};" for sign in "\\`*_[]|#~@!$"}
_INSIDE = re.compile(r"(?<=[A-Za-z0-9])&#95;(?=[A-Za-z0-9])")
"""An underscore inside a word, which marks nothing."""
_LINK = ("://", "&#58;//"), ("www.", "www&#46;")


def markdown(found: Difference) -> str:
    """The comparison as Markdown."""
    lines = [f"### {safe(headline(found))}", "", f"{safe(found.old.name)} {ARROW} {safe(found.new.name)}", ""]
    if not found.changed:
        return "\n".join(lines[:-1]) + "\n"
    every = sections(found, together=True)
    ordered = any(section.title == ORDER for section in every)
    room = MOST_LINES - len(lines) - FOLD - len(found.notes)
    shown: dict[str, int] = {}
    for section in sorted(every, key=_rank):
        wanted = 0 if section.title == BILL and ordered else SHOWN.get(section.title, OTHERS)
        rows = min(wanted, section.first, room - OVERHEAD - len(section.notes))
        if rows > 0 or (section.notes and not section.rows and room > OVERHEAD + len(section.notes)):
            shown[section.title] = rows
            room -= rows + OVERHEAD + len(section.notes)
    folded = list[str]()
    for section in every:
        if section.title in shown:
            lines += _table(section, section.rows[: shown[section.title]])
            lines += [safe(note) for note in section.notes] + [""] * bool(section.notes)
        if rest := section.rows[shown.get(section.title, 0) :][:MOST_FOLDED]:
            folded += _table(section, rest, of=len(section.rows))
    lines += [f"> {safe(note)}" for note in found.notes] + [""] * bool(found.notes)
    if folded:
        lines += ["<details><summary>Everything else that changed</summary>", "", *_cut(lines, folded), "</details>"]
    return "\n".join(lines).rstrip() + "\n"


def _rank(section: DiffSection) -> int:
    titles = list(SHOWN)
    return titles.index(section.title) if section.title in titles else len(titles)


def _cut(shown: Sequence[str], folded: Sequence[str]) -> Iterator[str]:
    """The folded lines as far as the comment has room for them."""
    left = MOST_CHARACTERS - sum(len(line) + 1 for line in shown)
    for at, line in enumerate(folded):
        left -= len(line) + 1
        if left < 0:
            yield ""
            yield f"and {len(folded) - at} more lines: `bomgen diff --all` or `--format json` has them"
            yield ""
            return
        yield line


def _table(section: DiffSection, rows: Sequence[DiffRow], of: int = 0) -> list[str]:
    """A table with a title, that of a folded one with how many rows the section has."""
    if not rows:
        return [f"**{safe(section.title)}**", ""]
    title = f"**{safe(section.title)}**" + (f" ({len(rows)} of {of})" if of > len(rows) else "")
    rule = "|".join("---:" if name in section.right else "---" for name in section.head)
    found = [title, "", f"| |{'|'.join(safe(name) for name in section.head)}|", f"|---|{rule}|"]
    for row in rows:
        sign = {"-": "➖", "+": "➕", "~": "✎"}.get(row.sign, "")
        found.append(f"|{sign}|{'|'.join(safe(cell.strip()) for cell in row.cells)}|")
    return [*found, ""]


def safe(text: str) -> str:
    """A text that is shown as it is: no markup, no mention, no link, no line of its own."""
    found = "".join(_HTML.get(sign) or _MARKS.get(sign) or sign for sign in printable(text))
    found = _INSIDE.sub("_", found)
    for mark, instead in _LINK:
        found = found.replace(mark, instead)
    return found.replace("-&gt;", "→")
