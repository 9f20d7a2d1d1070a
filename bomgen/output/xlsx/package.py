"""The package file of a workbook: openpyxl leaves formulas without values and stamps the clock; this fixes both.

Documents are not compressed: implementations of zlib differ, and the bytes of documents would with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from shutil import copyfileobj
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from openpyxl import Workbook
from openpyxl.worksheet.cell_range import CellRange, MultiCellRange
from openpyxl.writer.excel import ExcelWriter

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
