"""Text with separators, in whatever encoding, as rows of cells, each with the line and column that it begins at."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator

from bomgen.core.diagnostics import LINE_END, PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.safety import FORMULA_STARTS
from bomgen.reading.cells import MAX_CELLS, MAX_COLUMNS, Cell, too_many_cells

SEPARATORS = (",", ";", "\t", "|")
MAX_BYTES = 5 * 10**6
"""20 000 rows of 250 bytes."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""What files begin with, and the encoding that it says; the mark of UTF-32 begins with that of UTF-16."""
CHINESE, JAPANESE, WESTERN = "gb18030", "cp932", "cp1252"
JUDGED = 100
"""Lines that the separator is judged by."""
PERCENT = 100
LEAST_ZEROS = 10
"""Per cent of the characters of a text in UTF-16 that have a byte that is zero."""
_KANA = re.compile("[ぁ-ゖァ-ヺー]")
"""Letters that every Japanese table has, and text in another encoding that is read as Japanese has not."""
_HIGH = re.compile(rb"[\x80-\xff]+")
_QUOTED_FIELD = re.compile(r'(?:^|(?<=[,;\t|\r\n])) *"[^"]*(?:""[^"]*)*"')
_NAMED = re.compile(r"\ufeff?sep=(.)\r?\n", re.IGNORECASE)
"""The first line by which Excel is told the separator."""


def decode_text(content: bytes, file: str) -> tuple[str, str]:
    """The text of a file, and its encoding: by its mark, UTF-16 without one, UTF-8, GB18030, Shift JIS or Windows-1252.

    Text that is not UTF-8 is taken for Japanese where it has kana then, and for Chinese where its bytes beyond ASCII
    come in pairs, as those of GB 2312 do; the backslash of Shift JIS is the sign of yen.
    Raises PlanErrors for too many bytes, and for what is no text.
    """
    if len(content) > MAX_BYTES:
        raise _wrong(Mark(file, 1, 1), f"{len(content)} bytes; a table of at most {MAX_BYTES} is read", "table-limit")
    encoding = next((encoding for mark, encoding in MARKS if content.startswith(mark)), None) or _guess(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"not text in {encoding}: byte {content[error.start]:#04x}; save the file as UTF-8"
        raise _wrong(Mark(file, 1, 1), message, "encoding") from None
    if "\0" in text:
        lines = LINE_END.split(text[: text.index("\0")])
        mark = Mark(file, len(lines), len(lines[-1]) + 1)
        raise _wrong(mark, "a zero byte, which no text has; save the table as .csv or .xlsx again", "encoding")
    if encoding == JAPANESE:
        text = text.replace("\\", "¥")
    return text.removeprefix("\ufeff"), encoding.removesuffix("-sig")


def _guess(content: bytes) -> str:
    """The encoding of bytes without a mark."""
    halves = content[0 : JUDGED**2 : 2], content[1 : JUDGED**2 : 2]
    low, high = (half.count(0) if half.count(0) * PERCENT > len(half) * LEAST_ZEROS else 0 for half in halves)
    wide = "utf-16-be" if low > high else "utf-16-le"
    # Separators and digits of UTF-16 have one byte that is zero, and no character has two.
    if (low or high) and "\0" not in content.decode(wide, "replace"):
        return wide
    runs = [len(found[0]) for found in _HIGH.finditer(content)]
    is_paired = sum(length % 2 for length in runs) < len(runs) / 2
    for encoding in ("utf-8", JAPANESE, CHINESE):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8" or (_KANA.search(text) if encoding == JAPANESE else is_paired):
            return encoding
    return WESTERN


def rows(text: str, file: str) -> Iterator[tuple[Cell, ...]]:
    """The rows of CSV (RFC 4180), separated by a comma, a semicolon, a tab or a bar: what divides most rows alike.

    Blanks around a field are left out, and the apostrophe that keeps a text from being run as a formula. Raises
    PlanErrors for quotes that do not match, and for too many cells.
    """
    named = _NAMED.match(text)
    at, line, start = (named.end(), 2, named.end()) if named else (0, 1, 0)
    separator = named[1] if named else find_separator(text)
    # A quoted field, what stands in its place or behind it, and what ends it.
    field = re.compile(
        rf' *(?:"([^"]*(?:""[^"]*)*)" *)?([^{re.escape(separator)}\r\n]*)({re.escape(separator)}|\r\n|\r|\n|\Z)'
    )
    row: list[Cell] = []
    left = MAX_CELLS
    while at < len(text) or row:
        found = field.match(text, at)
        assert found is not None  # noqa: S101 - any text is a field
        quoted, value, end = found.groups()
        mark = Mark(file, line, found.start(2 if quoted is None else 1) - start + (quoted is None))
        if quoted is not None:
            for line_end in LINE_END.finditer(text, *found.span(1)):
                line, start = line + 1, line_end.end()
            if value:
                mark = Mark(file, line, found.start(2) - start + 1)
                raise _wrong(mark, 'text after a closing quote "; write a quote within quotes twice', "csv")
            value = quoted.replace('""', '"').replace("\r\n", "\n")
        elif value.startswith('"'):
            raise _wrong(mark, 'an unclosed quote "; close it, or write it twice to mean itself', "csv")
        text_of_cell = _unescape_formula(value.strip()) or None
        if len(row) < MAX_COLUMNS:
            row.append(Cell(text_of_cell, mark))
        elif text_of_cell:
            message = f"a cell beyond column {MAX_COLUMNS}; tables have at most {MAX_COLUMNS}, remove the rest"
            raise _wrong(mark, message, "table-limit")
        at = found.end()
        if end != separator:
            if not any(cell.filled for cell in row):
                row = []
            left -= max(len(row), 1)
            if left < 0:
                raise too_many_cells(mark)
            yield tuple(row)
            row = []
            line, start = line + 1, at


def find_separator(text: str) -> str:
    """What divides most of the first lines into the same number of fields; of several the one with most fields.

    Titles above a table have none, prices with a decimal comma have commas that its header lacks.
    """
    lines = [line for line in _QUOTED_FIELD.sub("", text[: JUDGED**2]).splitlines() if line.strip()][:JUDGED]

    def score(separator: str) -> tuple[int, int]:
        counts = Counter(line.count(separator) for line in lines)
        del counts[0]
        fields, alike = max(counts.items(), key=lambda found: (found[1], found[0]), default=(0, 0))
        return alike, fields

    return max(SEPARATORS, key=score)


def _unescape_formula(text: str) -> str:
    """A text without the apostrophe that keeps it text in a spreadsheet."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA_STARTS) else text


def _wrong(mark: Mark, message: str, rule: str) -> PlanErrors:
    return PlanErrors([Problem(mark, "error", message, rule)])
