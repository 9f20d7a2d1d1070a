"""The tables in a file that somebody sent, whatever program wrote it: workbooks, separated text, PDF."""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import PurePath

from bomgen.core.diagnostics import LINE_END, PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.safety import FORMULA_STARTS
from bomgen.reading.apart import PDF as APART_PDF
from bomgen.reading.apart import XLS, read_apart
from bomgen.reading.cells import MAX_CELLS, MAX_COLUMNS, RawTable, TableCell, too_many_cells

# separated ----------------------------------------------------------------------------------------------------------
# Text with separators, in whatever encoding, as rows of cells, each with the line and column that it begins at.

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


def rows(text: str, file: str) -> Iterator[tuple[TableCell, ...]]:
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
    row: list[TableCell] = []
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
            row.append(TableCell(text_of_cell, mark))
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


# tables -------------------------------------------------------------------------------------------------------------

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
"""The suffixes of workbooks that are read."""
TEXTS = (".csv", ".tsv", ".txt")
OTHERS = (".xlsb", ".numbers", ".et", ".pdf", ".docx", ".doc")
"""Lists come as these, too, and none is read."""
PACKAGE, COMPOUND, PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-"
"""What a zip archive, a file of Excel 97 and a PDF begin with."""
HTML = ("<!doctype html", "<html", "<table")
"""Some programs call a web page `.xls`."""
HEAD = 1000
"""Characters in which a web page says what it is."""


def read_tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Every sheet of an xlsx, xls or ods workbook, or the one table of a text in any encoding, with any separator.

    What a file is its content says, not the suffix of its name `file`, which marks carry: `.xls` is often text with
    tabs. Raises PlanErrors for what is none of these, for what is too large, and for quotes that do not match.
    """
    suffix = PurePath(file).suffix.lower()
    if suffix in OTHERS or content.startswith(PDF):
        message = f"'{suffix}' is not a format of tables; save it as .xlsx, .ods or .csv"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "table")])
    if content.startswith(COMPOUND):
        return read_apart(XLS, content, file)
    if content.startswith(PACKAGE) or suffix in WORKBOOKS[:2] or suffix == WORKBOOKS[-1]:
        from bomgen.reading import workbooks

        return tuple(workbooks.tables(content, file))
    text, _ = decode_text(content, file)
    if any(mark in text[:HEAD].lower() for mark in HTML):
        message = "this is a web page, whatever its suffix; open it in a spreadsheet program and save it as .xlsx"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "table")])
    return (RawTable("", tuple(rows(text, file))),)


# pdf tables ---------------------------------------------------------------------------------------------------------
# The tables of a PDF, by pdfplumber, which is an extra: only bills are read from PDFs.

SIGNATURE = b"%PDF-"
"""What a PDF begins with."""
MAX_PAGES = 100
"""Pages of a bill at most."""
MAX_EDGES = 20_000
"""Lines and edges of rectangles on a page: 50 columns and 100 rows have as many where each cell has its own."""


def is_pdf(content: bytes) -> bool:
    """Whether the bytes of a file are a PDF."""
    return content.startswith(SIGNATURE)


def read_pdf(content: bytes, file: str) -> tuple[RawTable, ...]:
    """The tables of all pages as one; the line of a mark is the number of its row from the first page on.

    Only tables with ruled lines are read: without them a text that wraps in its cell looks like several rows.
    Raises PlanErrors where pdfplumber is not installed, for a PDF that is broken, too long, or without such a table.
    """
    if find_spec("pdfplumber") is None:
        message = (
            "to read a PDF install the extra: pip install 'bomgen[pdf-reading]'; or save the bill as .xlsx or .csv"
        )
        raise _problem(file, message)
    return read_apart(APART_PDF, content, file)


def extract_tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    """The tables of a PDF as `read_pdf` gives them, read in this process."""
    import pdfplumber

    try:
        with pdfplumber.open(io.BytesIO(content)) as document:
            if len(document.pages) > MAX_PAGES:
                raise _problem(file, f"more than {MAX_PAGES} pages; give the pages of the bill alone")
            rows, is_scan = list[Sequence[str | None]](), True
            for page in document.pages:
                if len(page.edges) > MAX_EDGES:
                    message = f"a page with more than {MAX_EDGES} lines; save the bill as .xlsx or .csv"
                    raise _problem(file, message)
                is_scan = is_scan and not page.chars
                rows += [row for table in page.extract_tables() for row in table]
                page.close()  # what it drew takes memory until then
    except (PlanErrors, MemoryError):
        raise
    except Exception as error:
        if any(isinstance(each, MemoryError) for each in error.args):
            raise MemoryError from None
        # What is wrong with a PDF comes as errors of many kinds, from three libraries.
        raise _problem(
            file, f"not a PDF that can be read ({type(error).__name__}); save the bill as .xlsx or .csv"
        ) from None
    if is_scan:
        raise _problem(file, "the PDF has no text, as a scan has none; save the bill as .xlsx or .csv")
    if not rows:
        message = "no table in the PDF has lines around its cells, by which it is read; save the bill as .xlsx or .csv"
        raise _problem(file, message)
    table = tuple(_cells(row, line, file) for line, row in enumerate(rows, 1))
    return (RawTable("", table),)


def _cells(row: Sequence[str | None], line: int, file: str) -> tuple[TableCell, ...]:
    return tuple(TableCell(" ".join((text or "").split()), Mark(file, line, at)) for at, text in enumerate(row, 1))


def _problem(file: str, message: str) -> PlanErrors:
    return PlanErrors([Problem(Mark(file, 1, 1), "error", message, "pdf")])
