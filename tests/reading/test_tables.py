"""Tables of workbooks and text: what is read, and what would harm whoever reads it."""

# ruff: noqa: SIM300

from __future__ import annotations

import io
import re
import struct
import subprocess
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from judging import Judge
from openpyxl import Workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Mark
from bomgen.reading.cells import MAX_COLUMNS, Area, Broken, RawTable, Value, fill_merged
from bomgen.reading.tables import decode_text, find_separator, read_tables

ROW = ("00123", "1.234,50 €", 0.1 + 0.2, True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), 980)
READ = ("00123", "1.234,50 €", Decimal("0.3"), True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), Decimal(980))


def saved(book: Workbook) -> bytes:
    """The bytes of a workbook."""
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def workbook(*rows: tuple[Any, ...], mac: bool = False) -> Workbook:
    """A workbook with a title over three columns, an empty row and rows below, and a hidden sheet."""
    book = Workbook()
    if mac:
        book.epoch = CALENDAR_MAC_1904
    sheet: Any = book.active
    sheet.title = "List"
    sheet["A1"] = "Price list"
    sheet.merge_cells("A1:C1")
    for at, row in enumerate(rows, 3):
        for column, value in enumerate(row, 1):
            sheet.cell(at, column, value)
    hidden = book.create_sheet("Costs")
    hidden.append([1])
    hidden.sheet_state = "hidden"
    return book


def values(table: RawTable) -> list[tuple[Value, ...]]:
    """The values of the rows of a table."""
    return [tuple(cell.value for cell in row) for row in table.rows]


def converted(content: bytes, suffix: str, folder: Path) -> bytes:
    """A workbook as LibreOffice saves it in another format."""
    (folder / "book.xlsx").write_bytes(content)
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = ["soffice", profile, "--headless", "--convert-to", suffix, "--outdir", str(folder), "book.xlsx"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return (folder / f"book.{suffix}").read_bytes()


@pytest.mark.parametrize("mac", [False, True], ids=["dates from 1900", "dates from 1904"])
def test_a_sheet_of_excel(mac: bool) -> None:
    """Text stays text, numbers lose the noise of binary ones, dates are dates, hidden sheets are marked."""
    first, hidden = read_tables(saved(workbook(ROW, mac=mac)), "list.xlsx")
    assert [("Price list",), (), READ] == values(first)
    assert ("List", False, "Costs", True) == (first.name, first.hidden, hidden.name, hidden.hidden)
    assert Mark("list.xlsx", 3, 5) == first.rows[2][4].mark
    assert (Area(1, 1, 1, 3),) == first.merged


@pytest.fixture(scope="module")
def by_libreoffice(tmp_path_factory: pytest.TempPathFactory, judge: Judge) -> dict[str, bytes]:
    """A workbook as LibreOffice saves it, by format; formulas have the values that it computes."""
    judge("soffice")
    book = workbook((*ROW, "=1+1", "=1/0", '=""'))
    sheet: Any = book.active
    sheet.merge_cells("B3:B4")
    return {kind: converted(saved(book), kind, tmp_path_factory.mktemp(kind)) for kind in ("xls", "ods")}


@pytest.mark.parametrize("kind", ["xls", "ods"])
def test_a_sheet_as_libreoffice_saves_it(kind: str, by_libreoffice: dict[str, bytes]) -> None:
    """The formats of Excel 97 and of OpenDocument hold the same table."""
    first, hidden = read_tables(by_libreoffice[kind], f"list.{kind}")
    error = Broken("the cell shows #DIV/0!; fix its formula, or write the value")
    title, empty, row = values(first)
    assert [("Price list",), (), READ[:3]] == [title, empty, row[:3]]
    assert (*READ[4:], Decimal(2)) == row[4:8]
    assert (error,) == row[8:]
    assert True == bool(row[3])  # noqa: E712
    assert ("Costs", True) == (hidden.name, hidden.hidden)
    assert {Area(1, 1, 1, 3), Area(3, 2, 4, 2)} == set(first.merged)
    assert "1.234,50 €" == fill_merged(first).rows[2][1].value


def test_cells_merged_down_are_filled() -> None:
    """What was merged over several rows holds for each of them; a title over columns does not."""
    book = workbook(("Acme", "a"), (None, "b"), (None,))
    sheet: Any = book.active
    sheet.merge_cells("A3:A5")
    [table, _] = read_tables(saved(book), "list.xlsx")
    assert [("Acme", "a"), (None, "b")] == values(table)[2:]
    assert [("Price list",), (), ("Acme", "a"), ("Acme", "b")] == values(fill_merged(table))


def test_what_has_no_value_is_broken() -> None:
    """Formulas that nobody computed and errors are no empty cells; a formula that comes to nothing is one."""
    book = workbook(("=1+1", "#REF!", "x"), ("=A1",))
    [table, _] = read_tables(saved(book), "list.xlsx")
    (first, error, text), (last,) = values(table)[2:]
    assert "x" == text
    assert [True, True] == [isinstance(each, Broken) and "formula without" in each.message for each in (first, last)]
    assert Broken("the cell shows #REF!; fix its formula, or write the value") == error
    [table, _] = read_tables(
        edited(saved(book), b"<f>1+1</f><v></v>", b'<f>""</f><v></v>', b'r="A3"', b'r="A3" t="str"'), "a.xlsx"
    )
    assert (None, error, "x") == values(table)[2]


def edited(content: bytes, *changes: bytes) -> bytes:
    """A workbook with the XML of its first sheet changed: what was, what is, and so on."""
    stream = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as old, ZipFile(stream, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                for was, now in zip(changes[::2], changes[1::2], strict=True):
                    assert was in text or b"<v />" in text
                    text = text.replace(was, now)
            new.writestr(name, text)
        new.writestr("xl/sharedStrings.xml", b"<sst><si><t>%s</t></si></sst>" % (b"x" * 30000))
    return stream.getvalue()


FAR = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
LOST = b'<row r="1048576"><c r="A1048576"><v>1</v></c>' + b"<c/>" * 40 + b"<c><v>1</v></c></row></sheetData>"
SHARED = b"".join(b'<row r="%d"><c r="A%d" t="s"><v>0</v></c></row>' % (n, n) for n in range(10, 3000))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (FAR, "list.xlsx:1048576:16384: error: a cell beyond column 50"),
        (FAR.replace(b'"XFD1048576"', b"'XFD1048576'"), "a cell beyond column 50"),
        (FAR.replace(b'<c r="XFD1048576">', b"<c/>" * 60 + b"<c>"), "a cell beyond column 50"),
        (LOST, "a sheet that spans 1048576 rows and 42 columns"),
        (FAR.replace(b"<v>", b"<v><!-- "), "cannot be read"),
        (FAR.replace(b"<c r", b'<c r="A1048576" r'), "cannot be read"),
    ],
)
def test_cells_far_away_take_no_room(cells: bytes, said: str) -> None:
    """Two cells at the corners of a sheet would take 412 GB of the library that reads it."""
    content = edited(saved(workbook(ROW)), b"</sheetData>", cells)
    with pytest.raises(PlanErrors, match=said):
        read_tables(content, "list.xlsx")


def test_a_text_that_is_shown_often_takes_no_room() -> None:
    """A long text that thousands of cells refer to would be copied for each of them."""
    content = edited(saved(workbook(ROW)), b"</sheetData>", SHARED + b"</sheetData>")
    with pytest.raises(PlanErrors, match="bytes of text in a sheet; at most 20000000 are read"):
        read_tables(content, "list.xlsx")


def test_a_part_in_utf_16_is_said_to_be_so() -> None:
    """XML may be UTF-16, which the library does not read; a document type is something else."""
    content = io.BytesIO()
    with ZipFile(io.BytesIO(saved(workbook(ROW)))) as old, ZipFile(content, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, part.decode().encode("utf-16") if name == "xl/worksheets/sheet1.xml" else part)
    with pytest.raises(PlanErrors, match=r"'xl/worksheets/sheet1\.xml' is not text in UTF-8; save the workbook"):
        read_tables(content.getvalue(), "list.xlsx")


def test_a_cell_far_away_in_a_workbook_of_excel_97_takes_no_room() -> None:
    """A cell at the corner of its sheet would take more than a gigabyte."""
    content = bytearray((Path(__file__).parent / "lists" / "quote.xls").read_bytes())
    cells = [found.start() for found in re.finditer(rb"\xfd\x00\x0a\x00", content)]
    assert len(cells) > 10
    struct.pack_into("<HH", content, cells[-1] + 4, 65535, 255)
    with pytest.raises(PlanErrors, match=r"list\.xls:65536:256: error: a cell beyond column 50"):
        read_tables(bytes(content), "list.xls")
    struct.pack_into("<HH", content, cells[-1] + 4, 65535, 49)
    tables = read_tables(bytes(content), "list.xls")
    assert 65536 == len(tables[0].rows)


ODS = """<?xml version="1.0" encoding="UTF-8"?><office:document-content
xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" office:version="1.3"
xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>
<table:table table:name="a"><table:table-row%s>%s</table:table-row></table:table>
</office:spreadsheet></office:body></office:document-content>"""


def ods(rows: str, cells: str) -> bytes:
    """An OpenDocument package with a row of a sheet."""
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        package.writestr("META-INF/manifest.xml", "<manifest/>")
        package.writestr("content.xml", ODS % (rows, cells))
    return stream.getvalue()


NUMBER = '<table:table-cell office:value-type="float" office:value="1"%s/>'
TEXT = NUMBER.replace("/>", "><text:p>%s</text:p></table:table-cell>") % (' table:number-columns-repeated="50"', "%s")


@pytest.mark.parametrize(
    ("rows", "cells", "said"),
    [
        ("", NUMBER % ' table:number-columns-repeated="2000000000"', "list.ods:1:51: error: a cell beyond column 50"),
        (' table:number-rows-repeated="2000000000"', NUMBER % "", "a sheet that spans 2000000000 rows"),
        ("", '<table:table-cell table:number-columns-repeated="99"/>' + NUMBER % "", "list.ods:1:100: error: a cell b"),
        (' table:number-rows-repeated="50000"', TEXT % ("x" * 1000), "bytes of text in a sheet"),
        ("", NUMBER % ' table:number-columns-repeated="many"', "cannot be read"),
    ],
)
def test_repeated_cells_take_no_room(rows: str, cells: str, said: str) -> None:
    """OpenDocument says how often a cell is repeated; a few bytes would be two billion cells."""
    assert [(Decimal(1),)] == values(read_tables(ods("", NUMBER % ""), "list.ods")[0])
    with pytest.raises(PlanErrors, match=said):
        read_tables(ods(rows, cells), "list.ods")


LINES = "料号;描述;单价\nMQM9700;交换机;￥25.000,50\nnaïve;Prüfgerät;€ 3\n"


@pytest.mark.parametrize(
    ("encoding", "mark", "text"),
    [
        ("utf-8", "", LINES),
        ("utf-8", "\ufeff", LINES),
        ("utf-16-le", "\ufeff", LINES),
        ("utf-16-be", "\ufeff", LINES),
        ("utf-16-le", "", LINES),
        ("utf-16-be", "", LINES),
        ("utf-32", "", LINES),
        ("cp932", "", "型番,品名,単価\nMQM9700,スイッチ,￥25000\n"),
        ("gb18030", "", "料号,描述,单价\nMQM9700,交换机,￥25000\n"),
        ("cp1252", "", "Artikel;Stückzahl;Prüfung\nMQM9700;1;€ 3\n"),
        ("cp1252", "", "Référence;Désignation;Délai\nMQM9700;câble;à définir\n"),
    ],
)
def test_text_in_any_encoding(encoding: str, mark: str, text: str) -> None:
    """The text is that which was encoded, with or without a mark at its beginning."""
    assert text == decode_text((mark + text).encode(encoding), "list.csv")[0]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("Part,Price\na,1\n", ","),
        ("Part;Price\na;1,50\nb;2,50\n", ";"),
        ("Price list, as of October, for resellers\n\nPart\tPrice\na, b\t1,234\nc\t2\n", "\t"),
        ("Part|Description|Price\na|x, y|1\n", "|"),
        ('Part,Description\na,"x; y; z"\nb,"x; y;\n z"\n', ","),
        ('Part;Text;Price\nMCP1;24" rail, black;1.5\nMCP2;24" rail, black;2.5\n', ";"),
    ],
)
def test_the_separator_divides_the_rows_alike(text: str, separator: str) -> None:
    """Commas in titles, texts and amounts do not separate; nor does what stands in quotes."""
    assert separator == find_separator(text)


def test_excel_is_told_the_separator() -> None:
    """The first line `sep=` says it."""
    [table] = read_tables(b"sep=;\r\nPart;Text, a, b, c\r\nx;1,2,3,4\r\n", "list.csv")
    assert [("Part", "Text, a, b, c"), ("x", "1,2,3,4")] == values(table)
    assert Mark("list.csv", 3, 3) == table.rows[1][1].mark


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"%PDF-1.7", "list.csv", "is not a format of tables"),
        (b"PK\x03\x04", "list.xlsb", "is not a format of tables"),
        (b"PK\x03\x04", "list.csv", "not a workbook"),
        (b"<html><body><table><tr><td>Part</td></tr></table>", "list.xls", "this is a web page"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "list.xls", "cannot be read"),
        (b"Part\0\x01\x02,1", "list.csv", "no"),
        (b"part,price\n", "list.xlsx", "not a workbook"),
    ],
)
def test_what_is_no_table(content: bytes, name: str, said: str) -> None:
    """What is none is refused in words, whatever its suffix."""
    with pytest.raises(PlanErrors, match=said):
        read_tables(content, name)


def test_text_that_is_called_a_workbook_is_read() -> None:
    """Many programs write text with tabs and call it `.xls`."""
    [table] = read_tables("Part\tPrice\nMQM9700\t1\n".encode("utf-16"), "list.xls")
    assert [("Part", "Price"), ("MQM9700", "1")] == values(table)


def test_the_last_column_is_read() -> None:
    """The bound is the last column that is read, not the first that is not."""
    [table, _] = read_tables(saved(workbook(("x",) * MAX_COLUMNS)), "list.xlsx")
    assert MAX_COLUMNS == len(table.rows[2])
