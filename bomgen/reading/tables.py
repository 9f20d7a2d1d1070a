"""The tables in a received file, from any program: workbooks, delimited text, PDF."""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any

from bomgen.core.diagnostics import LINE_END, PlanErrors, Problem, error_at
from bomgen.core.jobs import Limits, run_limited, within_limits
from bomgen.core.provenance import Mark
from bomgen.core.safety import FORMULA_STARTS
from bomgen.reading.cells import MAX_CELLS, MAX_COLUMNS, Area, Broken, RawTable, TableCell, Value, too_many_cells

# separated ----------------------------------------------------------------------------------------------------------
# Text with separators, in whatever encoding, as rows of cells, each with the line and column that it begins at.

SEPARATORS = (",", ";", "\t", "|")
MAX_BYTES = 5 * 10**6
"""Maximum file size: 20,000 rows of 250 bytes."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks and their encodings; that of UTF-32 begins with that of UTF-16."""
CHINESE, JAPANESE, WESTERN = "gb18030", "cp932", "cp1252"
JUDGED = 100
"""Number of lines that determine the separator."""
PERCENT = 100
LEAST_ZEROS = 10
"""Percentage of characters with a zero byte above which a text is UTF-16."""
_KANA = re.compile("[ぁ-ゖァ-ヺー]")
"""Characters that every Japanese table has, and other text decoded as Japanese has not."""
_HIGH = re.compile(rb"[\x80-\xff]+")
_QUOTED_FIELD = re.compile(r'(?:^|(?<=[,;\t|\r\n])) *"[^"]*(?:""[^"]*)*"')
_RULE = re.compile(r"(?::?-{2,}:?)?")
"""An empty cell, or one of the rule below the headings of a Markdown table."""
_NAMED = re.compile(r"\ufeff?sep=(.)\r?\n", re.IGNORECASE)
"""The first line with which a file states its separator for Excel."""


def decode_text(content: bytes, file: str, most: int = MAX_BYTES) -> tuple[str, str]:
    """Return the text of a file and its encoding: by its mark, UTF-16, UTF-8, GB18030, Shift JIS or Windows-1252.

    Text other than UTF-8 is taken as Japanese if it then has kana, and as Chinese if its bytes beyond ASCII come in
    pairs, as in GB 2312; the backslash of Shift JIS is the yen sign. Raises PlanErrors for too many bytes, and for
    content other than text.
    """
    if len(content) > most:
        raise error_at(file, f"{len(content)} bytes; a table of at most {most} is read", "table-limit")
    encoding = next((encoding for mark, encoding in MARKS if content.startswith(mark)), None) or _guess(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"not text in {encoding}: byte {content[error.start]:#04x}; save the file as UTF-8"
        raise error_at(file, message, "encoding") from None
    if "\0" in text:
        lines = LINE_END.split(text[: text.index("\0")])
        mark = Mark(file, len(lines), len(lines[-1]) + 1)
        raise error_at(
            mark, "a zero byte, which is not valid in text; save the table as .csv or .xlsx again", "encoding"
        )
    if encoding == JAPANESE:
        text = text.replace("\\", "¥")
    return text.removeprefix("\ufeff"), encoding.removesuffix("-sig")


def _guess(content: bytes) -> str:
    halves = content[0 : JUDGED**2 : 2], content[1 : JUDGED**2 : 2]
    low, high = (half.count(0) if half.count(0) * PERCENT > len(half) * LEAST_ZEROS else 0 for half in halves)
    wide = "utf-16-be" if low > high else "utf-16-le"
    # Separators and digits of UTF-16 have one byte that is zero, and no character has two.
    if (low or high) and "\0" not in content.decode(wide, "replace"):
        return wide
    runs = [len(match[0]) for match in _HIGH.finditer(content)]
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
    """Yield the rows of CSV (RFC 4180), with the separator that fits best: comma, semicolon, tab or bar.

    Spaces around a field are removed, and the apostrophe that keeps a text from being run as a formula. Raises
    PlanErrors for unbalanced quotes, and for too many cells.
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
        match = field.match(text, at)
        assert match is not None  # noqa: S101 - any text is a field
        quoted, value, end = match.groups()
        mark = Mark(file, line, match.start(2 if quoted is None else 1) - start + (quoted is None))
        if quoted is not None:
            for line_end in LINE_END.finditer(text, *match.span(1)):
                line, start = line + 1, line_end.end()
            if value:
                mark = Mark(file, line, match.start(2) - start + 1)
                raise error_at(mark, 'text after a closing quote "; write a quote within quotes twice', "csv")
            value = quoted.replace('""', '"').replace("\r\n", "\n")
        elif value.startswith('"'):
            raise error_at(mark, 'an unclosed quote "; close it, or write it twice to mean itself', "csv")
        text_of_cell = _unescape_formula(value.strip()) or None
        if len(row) < MAX_COLUMNS:
            row.append(TableCell(text_of_cell, mark))
        elif text_of_cell:
            message = f"a cell beyond column {MAX_COLUMNS}; tables have at most {MAX_COLUMNS}, remove the rest"
            raise error_at(mark, message, "table-limit")
        at = match.end()
        if end != separator:
            if all(_RULE.fullmatch(str(cell.value or "")) for cell in row):
                row = []
            left -= max(len(row), 1)
            if left < 0:
                raise too_many_cells(mark)
            yield tuple(row)
            row = []
            line, start = line + 1, at


def find_separator(text: str) -> str:
    """Return the separator that divides most first lines into equal numbers of fields; prices have commas, too."""
    lines = [line for line in _QUOTED_FIELD.sub("", text[: JUDGED**2]).splitlines() if line.strip()][:JUDGED]

    def score(separator: str) -> tuple[int, int]:
        counts = Counter(line.count(separator) for line in lines)
        del counts[0]
        fields, alike = max(counts.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        return alike, fields

    return max(SEPARATORS, key=score)


def _unescape_formula(text: str) -> str:
    """Return a text without the apostrophe that marks it as text in a spreadsheet."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA_STARTS) else text


# tables -------------------------------------------------------------------------------------------------------------

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
BILLS = (*WORKBOOKS, ".csv", ".tsv", ".pdf")
"""Suffixes of bills, which no plan and no bom.json has."""
TEXTS = (".csv", ".tsv", ".txt")
OTHERS = (".xlsb", ".numbers", ".et", ".pdf", ".docx", ".doc")
"""Suffixes of other files used for lists, which are not supported."""
PACKAGE, COMPOUND, PDF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"%PDF-"
"""Signatures of a zip archive, an Excel 97 file and a PDF."""
HTML = ("<!doctype html", "<html", "<table")
"""Beginnings of HTML pages, which some programs name `.xls`."""
HEAD = 1000
"""Characters searched for the beginning of HTML."""


def is_bill(name: str) -> bool:
    """Return whether a file name is that of a bill."""
    return PurePath(name).suffix.lower() in BILLS


def read_tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return every sheet of an xlsx, xls or ods workbook, or the only table of a delimited text in any encoding.

    The type is determined by the content, not by the suffix of the name `file`, which marks carry: `.xls` is often text
    with tabs. Raises PlanErrors for other types, for a file that is too large, and for unbalanced quotes.
    """
    suffix = PurePath(file).suffix.lower()
    if suffix in OTHERS or content.startswith(PDF):
        raise error_at(file, f"'{suffix}' is not a format of tables; save it as .xlsx, .ods or .csv", "table")
    if content.startswith(COMPOUND):
        return read_apart("xls", content, file)
    if content.startswith(PACKAGE) or suffix in WORKBOOKS[:2] or suffix == WORKBOOKS[-1]:
        from bomgen.reading import workbooks

        return tuple(workbooks.tables(content, file))
    text, _ = decode_text(content, file)
    if any(mark in text[:HEAD].lower() for mark in HTML):
        message = "this is a web page, whatever its suffix; open it in a spreadsheet program and save it as .xlsx"
        raise error_at(file, message, "table")
    return (RawTable("", tuple(rows(text, file))),)


# pdf tables ---------------------------------------------------------------------------------------------------------
# The tables of a PDF, by pdfplumber, which is an extra: only bills are read from PDFs.

MAX_PAGES = 100
LEAST_CELLS = 3
"""Cells of a row of a table without ruled lines; a text has fewer."""
MAX_EDGES = 20_000
"""Maximum number of lines and rectangle edges per page: 50 columns and 100 rows with boxed cells."""


def is_pdf(content: bytes) -> bool:
    """Return whether the bytes of a file are a PDF."""
    return content.startswith(PDF)


def read_pdf(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return the tables of all pages as one; the line of a mark is the row number from the first page.

    Without a ruled table, columns are where all rows of words have gaps. Raises PlanErrors if pdfplumber is not
    installed, and for a PDF that is broken, too long, or without a table.
    """
    if find_spec("pdfplumber") is None:
        install = "pip install pdfplumber"
        raise error_at(file, f"to read a PDF, {install}; or save the bill as .xlsx or .csv", "pdf")
    return read_apart("pdf", content, file)


def extract_tables(content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return the tables of a PDF as `read_pdf`, reading it in this process."""
    import pdfplumber

    try:
        with pdfplumber.open(io.BytesIO(content)) as document:
            if len(document.pages) > MAX_PAGES:
                raise error_at(file, f"more than {MAX_PAGES} pages; give the pages of the bill alone", "pdf")
            rows, words, is_scan = list[Sequence[str | None]](), list[Sequence[str | None]](), True
            for page in document.pages:
                if len(page.edges) > MAX_EDGES:
                    message = f"a page with more than {MAX_EDGES} lines; save the bill as .xlsx or .csv"
                    raise error_at(file, message, "pdf")
                is_scan = is_scan and not page.chars
                rows += [row for table in page.extract_tables() for row in table]
                words += [] if rows else _align(page.extract_words(keep_blank_chars=False))
                page.close()  # what it drew takes memory until then
    except (PlanErrors, MemoryError):
        raise
    except Exception as error:
        if any(isinstance(argument, MemoryError) for argument in error.args):
            raise MemoryError from None
        # What is wrong with a PDF comes as errors of many kinds, from three libraries.
        message = f"not a PDF that can be read ({type(error).__name__}); save the bill as .xlsx or .csv"
        raise error_at(file, message, "pdf") from None
    if is_scan:
        raise error_at(file, "the PDF has no text, as a scan has none; save the bill as .xlsx or .csv", "pdf")
    rows = rows or words
    if not rows:
        message = (
            "no table in the PDF has lines around its cells or clear gaps between columns; save it as .xlsx or .csv"
        )
        raise error_at(file, message, "pdf")
    table = (
        tuple(TableCell(" ".join((text or "").split()), Mark(file, line, at)) for at, text in enumerate(row, 1))
        for line, row in enumerate(rows, 1)
    )
    return (RawTable("", tuple(table)),)


def _cells_of_lines(words: Iterable[Mapping[str, Any]]) -> list[list[tuple[float, float, str]]]:
    """Return the cells of each line of a page: where one begins and ends, and its text.

    Words of a line are one cell unless a gap as wide as the text is high divides them.
    """
    lines, bottom = list[list[tuple[float, float, str]]](), -1.0
    for word in sorted(words, key=lambda word: (round(word["top"]), word["x0"])):
        if (word["top"] + word["bottom"]) / 2 > bottom:
            lines.append([])
            bottom = word["bottom"]
        cells, height = lines[-1], word["bottom"] - word["top"]
        if cells and word["x0"] - cells[-1][1] < height:
            begin, _, text = cells.pop()
            cells.append((begin, word["x1"], f"{text} {word['text']}"))
        else:
            cells.append((word["x0"], word["x1"], word["text"]))
    return lines


def _align(words: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return the words of a page without ruled tables as rows and columns; empty if most rows do not agree on these.

    The columns are those of the rows with the most usual number of cells. A line with one cell, not in the first
    column, continues the row above.
    """
    lines = _cells_of_lines(words)
    widths = Counter(len(cells) for cells in lines if len(cells) >= LEAST_CELLS)
    width = max(widths, key=lambda cells: (widths[cells], cells), default=0)
    spans = list[list[float]]()
    for begin, end, _ in sorted(cell for cells in lines if len(cells) == width for cell in cells):
        if spans and begin < spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([begin, end])
    if len(spans) != width or 2 * widths[width] <= widths.total():
        return []
    rows = list[list[str]]()
    for cells in lines:
        row = [""] * len(spans)
        for begin, end, text in cells:
            shared = [min(end, right) - max(begin, left) for left, right in spans]
            at = shared.index(max(shared))
            row[at] = f"{row[at]} {text}".strip()
        if rows and len(cells) == 1 and not row[0]:
            rows[-1] = [f"{above} {text}".strip() for above, text in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows


# files read apart -----------------------------------------------------------------------------------------------------
# PDFs and Excel 97 workbooks are read in a separate process, because their cost cannot be bounded in advance: only the
# library that reads a PDF knows what it unpacks to, draws and refers to, and likewise where the records of a compound
# file lead. However the restricted child ends, only the file is rejected.

LIMITS = Limits(cpu_seconds=10, wall_seconds=60, memory_bytes=768 << 20, output_bytes=256 << 20)
"""A PDF of 100 pages with 30 lines each takes 8 s and 50 MiB. A command has 20 s and 1 GiB in total; processing a bill
of 5000 lines takes several more seconds."""
_MEBI = 20
_KINDS: Mapping[str, Callable[[str], Value]] = {
    "Broken": Broken,
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
}


def read_apart(kind: str, content: bytes, file: str) -> tuple[RawTable, ...]:
    """Return the tables of a file. Raises PlanErrors for an invalid one, beyond the limits, and if its reader fails."""
    ended = run_limited("bomgen.reading.tables", (kind,), content, LIMITS)
    if ended.failed:
        message = f"the program that reads the file failed: {ended.reason}; save its tables alone, as .xlsx or .csv"
        raise error_at(file, message, "read-failure")
    if ended.reason:
        most = f"{LIMITS.cpu_seconds} s or {LIMITS.memory_bytes >> _MEBI} MiB of memory"
        message = f"reading the file takes more than {most}; save its tables alone, as .xlsx or .csv"
        raise error_at(file, message, "read-limit")
    said = json.loads(ended.answer)
    if said["problems"]:
        marked = ((Mark(file, line, column), message, rule) for line, column, message, rule in said["problems"])
        raise PlanErrors([Problem(mark, "error", message, rule) for mark, message, rule in marked])
    return tuple(_table(table, file) for table in said["tables"])


def main() -> None:
    """Read a file from standard input, of the kind that the first argument says, and write its tables as JSON."""
    [kind] = sys.argv[1:]
    with within_limits(LIMITS, sealed=False):  # the library loads the character maps that a PDF names
        tables, problems = tuple[RawTable, ...](), list[Problem]()
        try:
            content = sys.stdin.buffer.read()
            if kind == "pdf":
                tables = extract_tables(content, "")
            else:
                from bomgen.reading.workbooks import read_workbook_97

                tables = read_workbook_97(content, "")
        except PlanErrors as errors:
            problems = [*errors.problems]
        sys.stdout.buffer.write(_written(tables, problems))


def _written(tables: Iterable[RawTable], problems: Iterable[Problem]) -> bytes:
    shown = [(problem.mark.line, problem.mark.column, problem.message, problem.rule) for problem in problems]
    plain = [
        {
            **table._asdict(),
            "rows": [[_plain_value(cell.value) for cell in row] for row in table.rows],
            "hidden_rows": [*table.hidden_rows],
            "hidden_columns": [*table.hidden_columns],
        }
        for table in tables
    ]
    return json.dumps({"tables": plain, "problems": shown}).encode()


def _plain_value(value: Value) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    return {type(value).__name__: value.message if isinstance(value, Broken) else str(value)}


def _table(said: Mapping[str, Any], file: str) -> RawTable:
    return RawTable(
        name=said["name"],
        rows=tuple(
            tuple(TableCell(_value(value), Mark(file, line, column)) for column, value in enumerate(row, 1))
            for line, row in enumerate(said["rows"], 1)
        ),
        hidden=said["hidden"],
        merged=tuple(Area(*area) for area in said["merged"]),
        hidden_rows=frozenset(said["hidden_rows"]),
        hidden_columns=frozenset(said["hidden_columns"]),
    )


def _value(said: Any) -> Value:
    if not isinstance(said, dict):
        value: Value = said
        return value
    [(kind, text)] = said.items()
    return _KINDS[kind](text)
