"""The wiring as workbooks: the sheets that installers work from, and the file of NVIDIA's cable validation.

The sheets of installers, one a fabric behind a cover, have a row a cable: that of the CSV, with the texts for the flags
at both ends and empty columns to tick off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.properties import PageSetupProperties

from bomgen.cabling.types import Wiring
from bomgen.core.language import Language, language
from bomgen.core.safety import FORMULA_STARTS
from bomgen.core.yaml_source import read_data
from bomgen.output.face import count_columns
from bomgen.output.registry import Progress, Unsuitable
from bomgen.output.wiring.columns import ACTION, NUMBERED, ON_FLAG, TODAY, Table, batches, describe_ends, tables
from bomgen.output.xlsx.cells import clean, header_text, pack, sheet_name

LAST_ROW = 1_048_576
"""Of a sheet (Excel's specifications and limits)."""
MOST_CABLES = 1_200_000
"""More take over a quarter of an hour to write, and more memory to open than a desk has."""


class Shown(NamedTuple):
    """A column of the sheets: what it is called, the word for it, what it means, and the column of the CSV it holds."""

    key: str
    title: str
    meaning: str
    source: str | None


FLAG, PLUGGED, TESTED = "flag", "plugged", "tested"
OF_CABLE = ("label", "kind")
OF_END = ("site", "row", "rack", "unit", "device", "port", "module")
BOUGHT = {"medium": "medium", "sku": "sku", "length": "length_m"}
ENDS = ("A", "B")
PLUGGED_IN = ("device", "port")


def columns(words: Language, works: bool = False) -> list[Shown]:
    """The columns of the sheets in a language; a list of work says what is to be done, and what is plugged today."""

    def word(key: str, **values: str) -> str:
        return words.word(f"wiring-{key}", **values)

    def plainly(key: str, source: str | None, about: str = "") -> Shown:
        return Shown(key, word(key), word(about or f"{key}-about"), source)

    return [
        plainly("number", None),
        *((plainly(ACTION, ACTION),) if works else ()),
        *(plainly(key, key) for key in OF_CABLE),
        *(
            Shown(
                *(key, word("end", end=end, what=word(key)), word("end-about", end=end, what=word(f"{key}-about"))),
                source=f"{end.lower()}_{key}",
            )
            for end in ENDS
            for key in OF_END
        ),
        *(plainly(key, source) for key, source in BOUGHT.items()),
        *(
            Shown(name, word("today", end=end, what=word(what)), word("today-about", end=end), name)
            for name, (end, what) in zip(TODAY, product(ENDS, PLUGGED_IN), strict=True)
            if works
        ),
        *(Shown(FLAG, word(FLAG, end=end), word(f"{FLAG}-about", end=end), None) for end in ENDS),
        *(plainly(key, None, "tick-about") for key in (PLUGGED, TESTED)),
    ]


WIDEST = 60
"""Letters of a column."""
HIDDEN = "_site"
"""There is one site, which stands on the cover; empty columns are hidden as well."""
PADDING = 2
FILTER_ARROW = 3
"""Room in the header for the filter's button, in letters."""
MOST_FOOTER = 60
MARGIN_IN = 0.3
A3 = 8
"""The paper's number in the file format."""
BOLD = Font(name="Calibri", bold=True, size=11)
TITLE = Font(name="Calibri", bold=True, size=14)
SHADED = PatternFill("solid", fgColor="E7EBF0")
WRAPPED = Alignment(wrap_text=True, vertical="top")
GROUPED = ("fabric", "kind", "medium", "sku", "length_m")
LEGEND = ("column", "meaning")
COUNTED = ("fabric", "kind", "medium", "sku", "length", "cables")
COVER_WIDTHS = (16, 18, 16, 40, 10, 10)

Counts = Counter[tuple[object, ...]]
"""Cables by fabric, kind, medium, part number and length."""


def write_xlsx(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write the workbook. Raises Unsuitable when it would be too large to open."""
    wiring = wiring.each_cable
    if wiring.pieces > MOST_CABLES:
        message = f"{wiring.pieces} cables are too many for a workbook, at most {MOST_CABLES}"
        raise Unsuitable(f"{message}; take csv or parquet, or one --fabric")
    book = Workbook(write_only=True)
    words = language(wiring.language)
    shown = columns(words, wiring.changes is not None)
    widths, counts = _surveyed(wiring, shown, words)
    _cover(book, wiring, counts, words)
    pages, last = list[_Page](), dict[str, _Page]()
    number = 0
    for table in _tables(wiring, words):
        for of, row in zip(table["fabric"].tolist(), _rows(table, shown), strict=True):
            if of not in last or last[of].used == LAST_ROW:
                last[of] = _Page(book, of, wiring, shown, widths[of])
                pages.append(last[of])
            number += 1
            last[of].add([number, *row])
        progress(len(table["fabric"]))
    for page in pages:
        page.finish(words)
    pack(book, out)


class _Page:
    """A sheet of cables, header first."""

    def __init__(self, book: Workbook, fabric: str, wiring: Wiring, shown: list[Shown], lengths: list[int]) -> None:
        self.columns = shown
        self.sheet = create_sheet(book, fabric, wiring)
        self.sheet.freeze_panes = "C2"
        self.sheet.print_title_rows = "1:1"
        for place, (each, length) in enumerate(zip(shown, lengths, strict=True), 1):
            column = self.sheet.column_dimensions[get_column_letter(place)]
            column.width = max(count_columns(each.title) + FILTER_ARROW, min(length, WIDEST) + PADDING)
            column.hidden = (each.source or "").endswith(HIDDEN) or (bool(each.source) and not length)
        self.sheet.append([_styled(self.sheet, each.title, BOLD, SHADED) for each in shown])
        self.used = 1

    def add(self, values: Iterable[object]) -> None:
        self.sheet.append([safe_cell(self.sheet, value) for value in values])
        self.used += 1

    def finish(self, words: Language) -> None:
        """Let the rows be filtered, and ticked off."""
        last = get_column_letter(len(self.columns))
        self.sheet.auto_filter.ref = f"A1:{last}{self.used}"
        first = get_column_letter(next(place for place, each in enumerate(self.columns, 1) if each.key == PLUGGED))
        answers = f'"{words.word("wiring-yes")},{words.word("wiring-no")}"'
        ticks = DataValidation(type="list", formula1=answers, allow_blank=True, showErrorMessage=True)
        ticks.add(f"{first}2:{last}{self.used}")
        self.sheet.data_validations.dataValidation.append(ticks)


def create_sheet(book: Workbook, title: str, wiring: Wiring) -> Any:
    """Return a sheet that prints on A3, as wide as the paper."""
    sheet = book.create_sheet(sheet_name(title, book.sheetnames))
    sheet.page_setup.orientation, sheet.page_setup.paperSize = "landscape", A3
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    sheet.print_options.gridLines = True
    margins = sheet.page_margins
    margins.left = margins.right = margins.header = margins.footer = MARGIN_IN
    margins.top = margins.bottom = 2 * MARGIN_IN
    sheet.oddFooter.left.text = f"{header_text(wiring.site, MOST_FOOTER)}: {header_text(sheet.title, MOST_FOOTER)}"
    sheet.oddFooter.right.text = "&P / &N"
    return sheet


def _styled(sheet: Any, value: str | int, font: Font, fill: PatternFill | None = None) -> Any:
    cell = WriteOnlyCell(sheet, value=value)
    cell.font = font
    if fill:
        cell.fill, cell.alignment = fill, WRAPPED
    return cell


def safe_cell(sheet: Any, value: object) -> object:
    """Return a value that stays what it is: text that looks like a formula is marked as text."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    if not text.startswith(FORMULA_STARTS):
        return text
    cell = WriteOnlyCell(sheet, value=text)
    cell.data_type, cell.quotePrefix = "s", True
    return cell


def _tables(wiring: Wiring, words: Language) -> Iterator[Table]:
    for table in tables(wiring):
        if ACTION in table:
            done = {key: words.word(f"wiring-{key}") for key in set(table[ACTION].tolist())}
            yield {**table, ACTION: np.array([done[key] for key in table[ACTION].tolist()], dtype=object)}
        else:
            yield table


def _grouped(wiring: Wiring, *columns: str) -> tuple[str, ...]:
    """What cables are counted by on the cover."""
    return (ACTION, *columns) if wiring.changes else columns


def _surveyed(wiring: Wiring, shown: list[Shown], words: Language) -> tuple[dict[str, list[int]], Counts]:
    """The longest text of every column by fabric, in letters, and how many cables there are of each kind."""
    widths: dict[str, list[int]] = {}
    counts: Counts = Counter()
    for table in _tables(wiring, words):
        fabrics = table["fabric"]
        for fabric in dict.fromkeys(fabrics.tolist()):
            rows = fabrics == fabric
            part = {name: column[rows] for name, column in table.items()}
            known = widths.setdefault(fabric, [0] * len(shown))
            widths[fabric] = [max(pair) for pair in zip(known, map(len, _longest(part, shown)), strict=True)]
        counts.update(zip(*(table[name].tolist() for name in _grouped(wiring, *GROUPED)), strict=True))
    return widths, counts


def _longest(table: Table, shown: list[Shown]) -> list[str]:
    """The longest text of every column, as far as it is known before the rows are made."""
    found = {}
    for name, column in table.items():
        found[name] = max(map(_plain, set(column.tolist())), key=len)
    ends = [" ".join(found[f"{end}{name}"] for name in ON_FLAG) for end in ("a", "b")]
    flag = f"{ends[0]} > {ends[1]}"
    return [found[each.source] if each.source else flag if each.key == FLAG else "" for each in shown]


def _plain(value: str | float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _rows(table: Table, shown: list[Shown]) -> Iterator[list[object]]:
    given = [_cells(table, each.source) for each in shown if each.source]
    for values, a, b in zip(
        zip(*given, strict=True), describe_ends(table, "a"), describe_ends(table, "b"), strict=True
    ):
        yield [*values, f"{a} > {b}", f"{b} > {a}", None, None]


def _cells(table: Table, name: str) -> list[object]:
    """The cells of a column; numbers are numbers, as long as they are not those of several links."""
    values: list[object] = table[name].tolist()
    if name not in NUMBERED:
        return values
    return [int(value) if isinstance(value, str) and value.isdigit() else value for value in values]


def _cover(book: Workbook, wiring: Wiring, counts: Counts, words: Language) -> None:
    sheet = create_sheet(book, words.word("wiring-cover"), wiring)
    for place, width in enumerate(COVER_WIDTHS, 1):
        sheet.column_dimensions[get_column_letter(place)].width = width
    sheet.append([_styled(sheet, words.word("wiring-title", name=wiring.site), TITLE)])
    sheet.append([words.word("wiring-intro", cables=wiring.pieces)])
    sheet.append([])
    sheet.append([_styled(sheet, words.word(f"wiring-{key}"), BOLD, SHADED) for key in _grouped(wiring, *COUNTED)])
    for key, count in counts.items():
        sheet.append([safe_cell(sheet, value) for value in (*key, count)])
    sheet.append(
        [
            _styled(sheet, words.word("wiring-all"), BOLD),
            *[None] * (len(_grouped(wiring, *GROUPED)) - 1),
            _styled(sheet, counts.total(), BOLD),
        ]
    )
    sheet.append([])
    sheet.append([_styled(sheet, words.word(f"wiring-{key}"), BOLD, SHADED) for key in LEGEND])
    for shown in columns(words, wiring.changes is not None):
        sheet.append([shown.title, shown.meaning])


# point to point -----------------------------------------------------------------------------------------------------
# The point-to-point file of NVIDIA's cable validation: a sheet a fabric, a row a link. Adapters have the names of Linux
# where they are known for a server.

_HEADINGS = ("Rack", "U", "Name", "HCA/Port", "Rack", "U", "Name", "Port")
_LINK_COLUMNS = tuple(f"{end}_{what}" for end in ("a", "b") for what in ("rack", "unit", "device", "port"))
_ADAPTERS = "adapter-names.yaml"


def write_p2p(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every link. Raises Unsuitable when a sheet cannot hold them."""
    if len(wiring) >= LAST_ROW:
        raise Unsuitable(f"{len(wiring)} links are too many for a sheet; take ptm or csv, or one --fabric")
    book, sheets = Workbook(write_only=True), dict[str, Any]()
    adapters = read_data(_ADAPTERS)
    names = [adapters.get(kind.identity.id if kind.identity else "", {}).get("ports", {}) for kind in wiring.kinds]
    for links, table in batches(wiring):
        kinds = wiring.kind_numbers[wiring.a_device[links]].tolist()
        rows = zip(*(table[name].tolist() for name in _LINK_COLUMNS), strict=True)
        for fabric, kind, (rack, unit, device, port, *far) in zip(table["fabric"].tolist(), kinds, rows, strict=True):
            if fabric not in sheets:
                sheets[fabric] = create_sheet(book, fabric, wiring)
                sheets[fabric].append(_HEADINGS)
            values = (rack, unit, device, names[kind].get(port, port), *far)
            sheets[fabric].append([safe_cell(sheets[fabric], value) for value in values])
        progress(len(kinds))
    if not sheets:
        create_sheet(book, wiring.site, wiring).append(_HEADINGS)
    pack(book, out)
