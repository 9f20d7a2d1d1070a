"""A document as Markdown for a review comment: one visible page, the remaining rows folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bomgen.core.document import Document, Row, Section, Table, currency_of
from bomgen.core.language import Language
from bomgen.core.safety import printable
from bomgen.output.terminal import cell_text

MOST_LINES = 60
"""Maximum number of visible lines."""
MOST_FOLDED = 2000
"""Maximum number of folded rows of a table."""
MOST_CHARACTERS = 60_000
"""Maximum length of the comment; GitHub refuses 65,536 characters and more."""
SHOWN = {"money": 9, "plan": 4, "design": 8, "order": 6, "lines": 12, "moves": 4, "left-over": 3, "warnings": 2}
"""Visible rows per table, in the order in which tables are allotted lines."""
OTHERS = 2
"""Visible rows of any other table."""
OVERHEAD = 5
"""Lines of a table besides its rows: title, blank line, head, rule, blank line."""
FOLD = 4
"""Visible lines of a fold, and of the notes."""
SIGNS = {"-": "➖", "+": "➕", "~": "✎"}
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = {sign: f"&#{ord(sign)};" for sign in "\\`*_[]|#~@!$"}
_INSIDE = re.compile(r"(?<=[A-Za-z0-9])&#95;(?=[A-Za-z0-9])")
"""An underscore inside a word, which has no meaning in Markdown."""
_LINK = ("://", "&#58;//"), ("www.", "www&#46;")


def comment(document: Document, language: Language) -> str:
    """Return a document as Markdown."""
    lines = [f"### {safe(document.subtitle)}", "", safe(document.title), ""]
    shown = _rows_seen(document, MOST_LINES - len(lines) - FOLD)
    folded = list[str]()
    for section in document.sections:
        for table in section.tables:
            seen = shown.get(table.id, 0)
            lines += _table(section, table, table.rows[:seen], language) if seen else []
            if rest := table.rows[seen:][:MOST_FOLDED]:
                folded += _table(section, table, rest, language)
        said = [f"- {safe(text)}" for text in (*section.text, *(note.text for note in section.notes))]
        is_seen = not section.tables or any(table.id in shown for table in section.tables)
        (lines if is_seen else folded).extend([*said, ""] if said else [])
    if folded:
        title = language.word("diff-everything-else")
        more = [f"<details><summary>{title}</summary>", "", *_cut(lines, folded, language), "</details>"]
        lines += more
    return "\n".join(lines).rstrip() + "\n"


def _rows_seen(document: Document, room: int) -> dict[str, int]:
    """Return the number of visible rows per table id; important tables are allotted lines first."""
    tables = [(section, table) for section in document.sections for table in section.tables if not table.folded]
    ids, ranks = {table.id for _, table in tables}, list(SHOWN)
    room -= sum(_texts(section) for section in document.sections if not section.tables)
    shown = dict[str, int]()
    for section, table in sorted(
        tables, key=lambda each: ranks.index(each[1].id) if each[1].id in ranks else len(ranks)
    ):
        wanted = 0 if table.id == "lines" and "order" in ids else SHOWN.get(table.id, OTHERS)
        rows = min(wanted, len(table.rows), room - OVERHEAD - _texts(section))
        if rows > 0:
            shown[table.id] = rows
            room -= rows + OVERHEAD + _texts(section)
    return shown


def _texts(section: Section) -> int:
    """Return the number of lines for the texts of a section, with a blank line."""
    count = len(section.text) + len(section.notes)
    return count + 1 if count else 0


def _cut(shown: Sequence[str], folded: Sequence[str], language: Language) -> Iterator[str]:
    """Yield the folded lines that fit the comment."""
    left = MOST_CHARACTERS - sum(len(line) + 1 for line in shown)
    for at, line in enumerate(folded):
        left -= len(line) + 1
        if left < 0:
            yield from ("", language.word("diff-more-lines", lines=len(folded) - at), "")
            return
        yield line


def _table(section: Section, table: Table, rows: Sequence[Row], language: Language) -> list[str]:
    """Return a table with a title, the number of rows if it is cut, and the row groups as a column."""
    part = f" ({len(rows)} / {len(table.rows)})" if len(rows) < len(table.rows) else ""
    grouped = any(row.group for row in table.rows)
    ats = range(len(table.columns))
    heads, currencies = [safe(language.heading(table, at)) for at in ats], [currency_of(table, at) for at in ats]
    rule = "|".join("---" if column.kind == "text" else "---:" for column in table.columns)
    group = "|" if grouped else ""
    found = [f"**{safe(table.title or section.title)}**{part}", ""]
    found += [f"| |{group}{'|'.join(heads)}|", f"|---|{'---|' if grouped else ''}{rule}|"]
    for row in rows:
        first = f"{safe(row.group or '')}|" if grouped else ""
        shown = zip(table.columns, row.cells, currencies, strict=True)
        cells = (safe(cell_text(*each, language)) for each in shown)
        found.append(f"|{SIGNS.get(row.sign, '')}|{first}{'|'.join(cells)}|")
    return [*found, ""]


def safe(text: str) -> str:
    """Return a text that is shown literally: no markup, mention, link or line break."""
    found = "".join(_HTML.get(sign) or _MARKS.get(sign) or sign for sign in printable(text))
    found = _INSIDE.sub("_", found)
    for mark, instead in _LINK:
        found = found.replace(mark, instead)
    return found.replace("-&gt;", "→")
