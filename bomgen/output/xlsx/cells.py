"""Cells of sheets: their looks, values, formats and notes, and the package file that holds them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from shutil import copyfileobj
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.worksheet.cell_range import CellRange, MultiCellRange
from openpyxl.writer.excel import ExcelWriter

from bomgen.core.document import Cell, Derivation, Step, Value
from bomgen.core.language import HEAT, PREFIXED, SIGNIFICANT_DIGITS, Language, as_power, is_prefixed, steps_of
from bomgen.core.units import minor_unit
from bomgen.output.face import count_columns

# looks --------------------------------------------------------------------------------------------------------------
# How cells of sheets look, and their usual number formats.

GENERAL = "General"
WHOLE = "#,##0"
SHARE_FORMAT = "0.0#%"
FONT = "Arial"
TEXT_SIZE = 10
BLACK = "000000"
WHITE = "FFFFFF"
NAVY = "1F3864"
PALE = "E9EEF6"
GREY = "666666"
BLUE = "0B5FB0"
LINE = "C9D2E0"
AMBER = "FFF2CC"


class Look(NamedTuple):
    """How a cell looks, apart from its number format."""

    color: str = BLACK
    size: int = TEXT_SIZE
    bold: bool = False
    fill: str = ""
    lined: bool = True
    right: bool = False
    middle: bool = False
    wrap: bool = True
    indent: int = 0
    open: bool = False
    """Whether the reader of a protected workbook may change the cell."""


TITLE = Look(color=NAVY, size=16, bold=True, lined=False, wrap=False)
HEADING = Look(color=NAVY, size=12, bold=True, lined=False, wrap=False)
HEADER = Look(color=WHITE, bold=True, fill=NAVY, middle=True)
NUMBER_HEADER = HEADER._replace(right=True)
PARAGRAPH = Look(lined=False)
CAPTION = Look(color=GREY, lined=False)
GROUP = Look(color=NAVY, bold=True, fill=PALE, wrap=False)
TABLE_BAND = GROUP._replace(size=11, fill="")
PATH = GROUP._replace(wrap=True)
TEXT = Look()
LABEL = Look(bold=True)
EXPLANATION = Look(color=GREY)
NUMBER = Look(right=True, wrap=False)
WORD_OF_NUMBERS = Look(right=True)
INPUT = NUMBER._replace(color=BLUE, open=True)
INPUT_TEXT = TEXT._replace(color=BLUE, open=True)
WARNING = Look(bold=True, fill=AMBER)
TOTAL_LABEL = Look(right=True, wrap=False, lined=False)
GRAND_LABEL = TOTAL_LABEL._replace(bold=True)
GRAND = NUMBER._replace(bold=True, fill=PALE)
GRAND_TEXT = Look(bold=True, fill=PALE)


# values -------------------------------------------------------------------------------------------------------------

PADDING = 2
"""What the indent of a cell takes from its column, in characters."""
_SMALL_SHARE_FORMAT = "0.0###%"
_POWER_OF_TEN = "0.00E+00"
_SHARE = "share"
_DAYS = "days"
_DAYS_PLACES = 2
_SMALL_SHARE = 0.01
"""Smaller shares are written with more digits."""
_LARGE = 10**9
"""From here on a number is written as a power of ten."""
_SMALL = 0.001
"""Below it a number is, too."""
_MAX_WHOLE = 2**53
"""From here on a number of a sheet no longer tells whole numbers apart."""
_PERCENT = 100
_STEP = ","
"""At the end of a format: shown in thousands."""
_THOUSAND = 1000
_PREFIXED_PLACES = 2

_MAX_TEXT, _MAX_NAME = 32767, 31
_RESERVED_NAME = "history"
_ILLEGAL_IN_NAME = re.compile(r"[\[\]:*?/\\\s\x00-\x1f\ud800-\udfff\ufffe\uffff]+")
_MAX_SUFFIX = 31
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NARROW = re.compile(r"[ijltfrI.,:;'|!()\[\]/\\ -]")
_BROAD = re.compile("[A-HJ-Zmw%@]")
_PIECE = re.compile(r"[^\u2e80-\uffff\s]*.")
"""What stays together when a line is wrapped: a word, or a Chinese character."""
_NARROWER = 0.5
_BROADER = 0.3
"""Usual letters of Arial are about as wide as its digits, narrow and broad ones by so much less or more."""


def clean(text: str) -> str:
    """Any text in; the text as a sheet can hold it out: without control characters, with equal line ends, cut."""
    return cut(_ILLEGAL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")), _MAX_TEXT)


def cut(text: str, most: int) -> str:
    """Text of at most `most` UTF-16 units, as Excel counts, with an ellipsis where something is missing."""
    units = text.encode("utf-16-le", "ignore")
    return text if len(units) <= 2 * most else units[: 2 * (most - 1)].decode("utf-16-le", "ignore") + "…"


def header_text(text: str, most: int) -> str:
    """Text for a header or footer, at most `most` long with its ampersands doubled; a single one begins a command."""
    words = " ".join(clean(text).split())
    return cut(words, max(most - words.count("&"), 1)).replace("&", "&&")


def sheet_name(title: str, others: Iterable[str]) -> str:
    """Return the name of a sheet beside others: its title as far as Excel allows it."""
    name, taken = _ILLEGAL_IN_NAME.sub(" ", title).strip("' ") or "Sheet", {other.casefold() for other in others}
    unique, number = cut(name, _MAX_NAME), 1
    while unique.casefold() in {*taken, _RESERVED_NAME}:
        number += 1
        unique = f"{cut(name, _MAX_NAME - len(f' ({number})'))} ({number})"
    return unique


def storable(value: int | float | Fraction | Decimal) -> int | float:
    """A number of the document in; the number that a sheet can hold out."""
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    return value if isinstance(value, int) and abs(value) <= _MAX_WHOLE else float(value)


def number_format(value: Value, unit: str, language: Language, named: bool = True) -> str:
    """The format of a value by its unit and size; `named` puts the unit behind the number."""
    if isinstance(value, str) or value is None:
        return GENERAL
    if isinstance(value, Decimal):
        return money_format(unit, language) if named else fixed(places(minor_unit(unit)))
    if unit == _SHARE:
        return SHARE_FORMAT if value == 0 or abs(float(value)) >= _SMALL_SHARE else _SMALL_SHARE_FORMAT
    if unit == HEAT:
        form = number_format(*as_power(value, unit), language)
        return f'{form[:-1]} ({language.number(round(value))} {unit})"' if language.heat else form
    if is_prefixed(value, unit):
        steps = steps_of(value, unit)
        return fixed(_PREFIXED_PLACES) + _STEP * steps + _suffix(language.unit(PREFIXED[unit][steps]))
    suffix = _suffix(language.unit(unit, value)) if named else ""
    day_places = _DAYS_PLACES if language.day_places is None else language.day_places
    return (fixed(day_places) if unit == _DAYS and abs(float(value)) >= 1 else _plain_format(value)) + suffix


LEAST = r"\≥\ "
"""What the format of a lower bound begins with."""


ABOUT = r"\≈\ "
"""The beginning of the number format of an estimate; its range follows the number."""
_AMOUNT = "#"
"""What stands for the number in the text of an estimate."""


def estimate_format(form: str, cell: Cell, language: Language) -> str:
    """Return the number format of an estimate; the cell keeps the plain number for formulas."""
    if cell.estimate is None or form == GENERAL:
        return form
    _, _, after = language.about(_AMOUNT, cell.estimate, lambda end: language.bare(end, cell.unit)).partition(_AMOUNT)
    if not after:
        return form
    ends = clean(after.strip()).replace('"', "")
    return ABOUT + (f'{form[:-1]} {ends}"' if form.endswith('"') else f'{form}" {ends}"')


_SIGNS = re.compile(r"(?:\\.)+")
"""What stands before the number in a format: the sign of a lower bound, of an estimate or of a currency."""


def money_format(currency: str, language: Language) -> str:
    """The format of amounts of a currency, with its sign before or its code behind."""
    form, sign = fixed(places(minor_unit(currency))), language.sign_of(currency)
    return f"\\{sign}{form}" if sign else form + _suffix(currency)


def fixed(decimals: int) -> str:
    """The format of a number with so many decimal places."""
    return WHOLE + ("." + "0" * decimals if decimals else "")


def places(amount: Decimal) -> int:
    """How many decimal places an amount needs."""
    return max(-int(amount.normalize().as_tuple().exponent), 0)


def width_of(number: int | float | Decimal, form: str) -> int:
    """About how many characters wide the column of a number in the format `form` must be."""
    if before := _SIGNS.match(form):
        return len(before[0]) // 2 + width_of(number, form[before.end() :])
    digits, _, suffix = form.partition('"')
    if digits == _POWER_OF_TEN:
        return len(digits) + count_columns(suffix) + PADDING
    steps = len(digits) - len(digits.rstrip(_STEP))
    digits = digits.rstrip(_STEP)
    scale = _PERCENT if digits.endswith("%") else 1 / _THOUSAND**steps
    return (
        len(f"{float(number) * scale:,.{digits.partition('.')[2].count('0')}f}") + count_columns(suffix) + PADDING + 1
    )


def more_lines(text: str, room: float) -> int:
    """How many lines more than one a text takes when it is wrapped into a room of so many digits."""
    if 2 * len(text) <= room and "\n" not in text:
        return 0
    lines = -1
    for paragraph in text.split("\n"):
        lines, used = lines + 1, 0.0
        for word in _PIECE.findall(paragraph):
            narrow, broad = len(_NARROW.findall(word)), len(_BROAD.findall(word))
            width = count_columns(word) - _NARROWER * narrow + _BROADER * broad
            if used and used + width > room:
                lines, used = lines + 1, 0.0
            used += width
            lines, used = lines + int(used // room), used % room
    return lines


def _plain_format(value: int | float | Fraction) -> str:
    """The format of a plain number: whole ones in full, very large and small ones as a power of ten."""
    size = abs(float(value))
    if size >= _LARGE or 0 < size < _SMALL:
        return _POWER_OF_TEN
    if size == 0 or value == int(value):
        return WHOLE
    most = max(SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(size)), 0)
    return fixed(len(f"{float(value):.{most}f}".partition(".")[2].rstrip("0")))


def _suffix(unit: str) -> str:
    name = clean(unit).replace('"', "")[:_MAX_SUFFIX]
    return f'" {name}"' if name else ""


# notes --------------------------------------------------------------------------------------------------------------
# Notes of cells: the derivation of a number in short, for readers who do not follow its link.

AUTHOR = "bomgen"
_MOST_STEPS = 8
"""Longer derivations are for the sheet of derivations."""
_MOST_LETTERS = 140
"""Of a step: formulas are shorter, sources of figures are named on the sheet in full."""
_INDENT = "   "
_WIDTH = 420
"""[pixels]"""
_LETTERS = 56
"""What a line of that width holds."""
_LINE = 17
"""The height of a line [pixels]."""


def comment(text: str) -> Comment:
    """A note large enough for its text."""
    shown = clean(text)
    return Comment(shown, AUTHOR, (more_lines(shown, _LETTERS) + 2) * _LINE, _WIDTH)


def summarize(derivation: Derivation, language: Language) -> str:
    """The first steps of a derivation, one a line: name, value and where it comes from."""
    steps = [_step(step, language) for step in derivation.steps[:_MOST_STEPS]]
    missing = len(derivation.steps) - len(steps)
    more = [language.word("xlsx-more-steps", count=missing)] if missing else []
    return "\n".join((derivation.title, *steps, *more))


def _step(step: Step, language: Language) -> str:
    text = f"{_INDENT * step.depth}{step.name} = {language.value(step.value, step.unit, step.estimate)}: {step.origin}"
    return cut(text, _MOST_LETTERS)


# package ------------------------------------------------------------------------------------------------------------
# The package file of a workbook: openpyxl leaves formulas without values and stamps the clock; this fixes both.
#
# Documents are not compressed: implementations of zlib differ, and the bytes of documents would with them.

Result = str | int | Decimal | float
"""What a formula comes to."""
_NONE: Mapping[str, Mapping[str, Result]] = MappingProxyType({})
NO_DATE = datetime(2000, 1, 1)
"""The date of a workbook that has none of its own: the clock is not asked."""
_ZIP_DATE = (2000, 1, 1, 0, 0, 0)
_UNIX = 3
_CHARTS = "xl/charts/"
_OWN_FORMAT = re.compile('(<numFmt formatCode="[^"]*") ?/>')
_UNLINKED = r'\1 sourceLinked="0"/>'
"""A number format of a part of a chart; openpyxl leaves open whether it is that of the cells, which it is not."""
_FORMULA = re.compile(
    r'<c r="([A-Z]+[0-9]+)"((?: s="[0-9]+")?)><f((?: t="array" ref="[A-Z0-9]+")?)>(.*?)</f><v ?/></c>', re.DOTALL
)


def package(workbook: Workbook, results: Mapping[str, Mapping[str, Result]], date: datetime = NO_DATE) -> bytes:
    """The workbook as a file whose bytes depend on nothing but its content.

    `results` are the values of the formulas by the name of the sheet and the address of the cell, `date` is when its
    properties say that it was made.
    """
    finished = BytesIO()
    pack(workbook, finished, results, date, ZIP_STORED)
    return finished.getvalue()


def pack(
    workbook: Workbook,
    out: IO[bytes],
    results: Mapping[str, Mapping[str, Result]] = _NONE,
    date: datetime = NO_DATE,
    method: int = ZIP_DEFLATED,
) -> None:
    """Write what `package` returns; sheets without formulas pass through a file and take no memory.

    Lists of cables, which would be ten times as large otherwise, are compressed.
    """
    workbook.properties.created = workbook.properties.modified = date
    for sheet in workbook.worksheets:
        sheet.merged_cells = _SortedRanges(sheet.merged_cells.ranges)
    with TemporaryFile() as raw:
        ExcelWriter(workbook, _UndatedZip(raw, "w", ZIP_STORED, strict_timestamps=False)).save()
        sheets = {sheet.path.lstrip("/"): results.get(sheet.title, {}) for sheet in workbook.worksheets}
        with ZipFile(raw) as source, ZipFile(out, "w", method) as target:
            for name in sorted(source.namelist()):
                entry = ZipInfo(name, _ZIP_DATE)
                entry.compress_type = method
                entry.create_system = _UNIX
                if sheets.get(name) or name.startswith(_CHARTS):
                    xml = source.read(name).decode("utf-8")
                    xml = _insert_results(xml, sheets[name]) if name in sheets else _OWN_FORMAT.sub(_UNLINKED, xml)
                    target.writestr(entry, xml.encode("utf-8"))
                    continue
                entry.file_size = source.getinfo(name).file_size
                with source.open(name) as old, target.open(entry, "w") as new:
                    copyfileobj(old, new)


class _UndatedZip(ZipFile):
    """A package whose entries do not have the time of the clock, which may be one that no zip file can hold."""

    def writestr(self, zinfo_or_arcname: ZipInfo | str, *content: Any, **how: Any) -> None:
        entry = zinfo_or_arcname
        super().writestr(ZipInfo(entry, _ZIP_DATE) if isinstance(entry, str) else entry, *content, **how)


class _SortedRanges(MultiCellRange):
    """Merged cells in their order on the sheet; that of a set depends on the size of a machine's words."""

    def __iter__(self) -> Iterator[CellRange]:
        yield from self.sorted()


def _insert_results(xml: str, results: Mapping[str, Result]) -> str:
    def cell(match: re.Match[str]) -> str:
        address, style, kind, formula = match.groups()
        result = results[address]
        if isinstance(result, str):
            text = result.replace("&", "&amp;").replace("<", "&lt;")
            return f'<c r="{address}"{style} t="str"><f{kind}>{formula}</f><v>{text}</v></c>'
        number = f"{result:f}" if isinstance(result, Decimal) else repr(result)
        return f'<c r="{address}"{style}><f{kind}>{formula}</f><v>{number}</v></c>'

    return _FORMULA.sub(cell, xml)
