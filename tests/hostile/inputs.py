"""Files that somebody sent, made to take memory or time: workbooks, PDFs and tables, each by its name and suffix.

Every one is within the size that is read. They are tried with every command that reads such files.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

MOST = 5 * 10**6
"""Bytes of the largest file that is read."""
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGED = "http://schemas.openxmlformats.org/package/2006/relationships"
HEADER = ("Part number", "Description", "Qty", "Unit price", "Currency")
ROW = ("MQM9700-NS2F", "Quantum-2 switch", 4, 24000, "USD")
TABLE = "Part number,Description,Qty,Unit price,Currency\nMQM9700-NS2F,Quantum-2 switch,4,24000,USD\n"
LEVEL, PIECE = 9, 1 << 20


class Repeated(NamedTuple):
    """Bytes so many times, which nobody has all at once."""

    unit: bytes
    times: int

    def pieces(self) -> Iterator[bytes]:
        """The bytes, a piece after the other."""
        many = max(PIECE // len(self.unit), 1)
        for _ in range(self.times // many):
            yield self.unit * many
        yield self.unit * (self.times % many)


class Sent(NamedTuple):
    """A file that somebody sent."""

    suffix: str
    make: Callable[[], bytes]


# Text


def text(content: str, suffix: str = "csv") -> Sent:
    """A table as text."""
    return Sent(suffix, lambda: content.encode()[:MOST])


def titled(title: str, times: int = 20_000) -> Sent:
    """A good table below a line that repeats a title; at most so long as the file may be."""
    return Sent("csv", lambda: ((title * times)[: MOST - len(TABLE) - 1] + "\n" + TABLE).encode())


def in_cell(column: int, value: str, times: int) -> Sent:
    """A good table with one cell of a row that repeats a text."""

    def make() -> bytes:
        cells = [str(cell) for cell in ROW]
        cells[column] = (value * times)[: MOST - 2 * len(TABLE)]
        return (TABLE + ",".join(cells) + "\n").encode()

    return Sent("csv", make)


class Numbered(NamedTuple):
    """A form so many times, each with its number in place of `#`, which keeps it from being packed to nothing.

    It is written when a file is made, not when its name is listed.
    """

    form: str
    count: int
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return self.before + "".join(self.form.replace("#", str(number)) for number in range(self.count)) + self.after


def listed(form: str, count: int) -> Sent:
    """A table of so many rows, each with its number in place of `#`."""
    return Sent("csv", lambda: (TABLE.splitlines()[0] + "\n" + str(Numbered(form + "\n", count))).encode()[:MOST])


LINES_OF_A_NETWORK = (
    ("MQM9700-NS2F", "leaf"),
    ("MMS4X00-NS", "server-leaf/leaf"),
    ("MMS4X00-NS400", "server-leaf/server"),
    ("MFP7E10-N030", "server-leaf"),
    ("MCP7Y00-N002", "server-leaf"),
    ("ZQX", ""),
)


def networks(lines: int) -> Sent:
    """A bill of as many lines as are allowed, of networks with so many lines each."""

    def make() -> bytes:
        kinds = (LINES_OF_A_NETWORK[number % len(LINES_OF_A_NETWORK)] for number in range(20_000))
        rows = (
            f"{part},line {number},net{number // lines},{place},{number % 7 + 1},100,USD\n"
            for number, (part, place) in enumerate(kinds)
        )
        return ("part,description,fabric,role,quantity,unit_price,currency\n" + "".join(rows)).encode()[:MOST]

    return Sent("csv", make)


# Packages

Parts = dict[str, bytes | str | Repeated]


def package(parts: Parts, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip package."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method, compresslevel=LEVEL) as opened:
        for name, content in parts.items():
            if isinstance(content, Repeated):
                with opened.open(name, "w", force_zip64=False) as part:
                    for piece in content.pieces():
                        part.write(piece)
            else:
                opened.writestr(name, content)
    return stream.getvalue()


def xlsx_parts(sheet: str, strings: str = "", styles: str = "", sheets: int = 1) -> Parts:
    """The parts of a workbook whose sheets, of different titles, are all the one part."""
    relations = "".join(
        f'<Relationship Id="r{at}" Type="{RELATED}/{kind}" Target="{target}"/>'
        for at, (kind, target) in enumerate(
            (("worksheet", "s.xml"), ("sharedStrings", "sharedStrings.xml"), ("styles", "styles.xml"))
        )
    )
    named = "".join(f'<sheet name="s{at}" sheetId="{at + 1}" r:id="r0"/>' for at in range(sheets))
    parts: Parts = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGED}"><Relationship Id="a" Type="{RELATED}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGED}">{relations}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{RELATED}"><sheets>{named}</sheets></workbook>',
        "xl/s.xml": sheet,
    }
    if strings:
        parts["xl/sharedStrings.xml"] = strings
    if styles:
        parts["xl/styles.xml"] = styles
    return parts


def xlsx_cell(reference: str, value: object) -> str:
    """A cell of a sheet."""
    if isinstance(value, str):
        return f'<c r="{reference}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{reference}"><v>{value}</v></c>'


def xlsx_rows(rows: Sequence[Sequence[object]], first: int = 1) -> str:
    """Rows of a sheet."""
    return "".join(
        f'<row r="{number}">'
        + "".join(xlsx_cell(f"{chr(ord('A') + at)}{number}", value) for at, value in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, first)
    )


def xlsx_sheet(rows: str | Numbered, head: str = "") -> str:
    """The XML of a sheet, good rows first."""
    good = xlsx_rows((HEADER, ROW))
    return f'<worksheet xmlns="{SHEETS}">{head}<sheetData>{good}{rows}</sheetData></worksheet>'


def xlsx(rows: str | Numbered = "", head: str = "", strings: str = "", styles: str = "", sheets: int = 1) -> Sent:
    """A workbook of Excel."""
    return Sent("xlsx", lambda: package(xlsx_parts(xlsx_sheet(rows, head), strings, styles, sheets)))


def lying(name: str, unit: bytes, times: int, size: int = 1000) -> Sent:
    """A workbook with a large part of which its folder says another size, with the checksum of so many bytes."""

    def make() -> bytes:
        content = bytearray(package(xlsx_parts(xlsx_sheet("")) | {name: Repeated(unit, times)}))
        crc = zlib.crc32((unit * size)[:size])
        for head, size_at, crc_at, name_at in ((b"PK\x03\x04", 22, 14, 30), (b"PK\x01\x02", 24, 16, 46)):
            at = -1
            while (at := content.find(head, at + 1)) >= 0:
                if content[at + name_at : at + name_at + len(name)] == name.encode():
                    struct.pack_into("<I", content, at + size_at, size)
                    struct.pack_into("<I", content, at + crc_at, crc)
        return bytes(content)

    return Sent("xlsx", make)


def shared(count: str) -> str:
    """Shared strings that say how many they are."""
    return f'<sst xmlns="{SHEETS}" {count}><si><t>a</t></si></sst>'


ODS_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
)
ODS_TEXT = '<table:table-cell office:value-type="string"><text:p>%s</text:p></table:table-cell>'


def ods_row(*values: object) -> str:
    """A row of an OpenDocument sheet."""
    return "<table:table-row>" + "".join(ODS_TEXT % value for value in values) + "</table:table-row>"


def ods(rows: str | Numbered, before: str = "") -> Sent:
    """An OpenDocument workbook, good rows first."""

    def make() -> bytes:
        sheet = f'<table:table table:name="s">{before}{ods_row(*HEADER)}{ods_row(*ROW)}{rows}</table:table>'
        content = (
            f"<office:document-content {ODS_SPACES}><office:body><office:spreadsheet>{sheet}"
            "</office:spreadsheet></office:body></office:document-content>"
        )
        head = {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "META-INF/manifest.xml": "<manifest/>"}
        return package({**head, "content.xml": content})

    return Sent("ods", make)


def ods_rows(row: str, count: int = 79_000) -> Sent:
    """An OpenDocument workbook of so many rows, each with its number in place of `#`."""
    return ods(Numbered(row, count))


def ods_cell(attributes: str, inside: str = "<text:p>x</text:p>", row: str = "") -> str:
    """A row with a cell."""
    cell = f"<table:table-cell {attributes}>{inside}</table:table-cell>"
    return f"<table:table-row {row}>{cell}</table:table-row>"


# Workbooks of Excel 97

SECTOR, FREE, END, FAT = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(stream: bytes, change: Callable[[bytearray], object] = lambda _: None) -> bytes:
    """A compound file with a stream `Workbook`, which may be changed at the end."""
    stream = stream.ljust(4096, b"\0")
    count = -(-len(stream) // SECTOR)
    tables = -(-(count + 2) // (SECTOR // 4 - 1)) + 1
    table = [FAT] * tables + [END] + [tables + 2 + at for at in range(count - 1)] + [END]
    table += [FREE] * (tables * SECTOR // 4 - len(table))
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(SECTOR, b"\0"))
    struct.pack_into("<HHHHH", header, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<IIIIIIIII", header, 44, tables, tables, 0, 4096, END, 0, END, 0, 0)
    struct.pack_into("<109I", header, 76, *([*range(tables)] + [FREE] * (109 - tables)))

    def entry(name: str, kind: int, start: int, size: int, child: int) -> bytes:
        """An entry of the folder."""
        made = bytearray(128)
        encoded = name.encode("utf-16-le")
        made[: len(encoded)] = encoded
        struct.pack_into("<HBBIII", made, 64, len(encoded) + 2, kind, 1, FREE, FREE, child)
        struct.pack_into("<II", made, 116, start, size)
        return bytes(made)

    folder = entry("Root Entry", 5, END, 0, 1) + entry("Workbook", 2, tables + 1, len(stream), FREE) + bytes(256)
    content = bytearray(header + struct.pack(f"<{len(table)}I", *table) + folder + stream.ljust(count * SECTOR, b"\0"))
    change(content)
    return bytes(content)


def record(kind: int, data: bytes) -> bytes:
    """A record of a workbook of Excel 97."""
    return struct.pack("<HH", kind, len(data)) + data


def xls_text(value: str) -> bytes:
    """A text behind its length."""
    return struct.pack("<HB", len(value), 0) + value.encode()


def xls_stream(rows: bytes, strings: Sequence[str] = (), sheets: int = 1, size: bytes = b"") -> bytes:
    """The records of a workbook whose sheets, of different titles, are all the one stream."""
    begin = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    texts = [struct.pack("<II", len(strings), len(strings)) + b"".join(map(xls_text, strings))]
    sst = record(0xFC, texts[0]) if strings else b""

    def bound(place: int) -> bytes:
        """The records that name the sheets."""
        return b"".join(
            record(0x85, struct.pack("<IBB", place, 0, 0) + bytes([len(name), 0]) + name)
            for name in (f"s{at}".encode() for at in range(sheets))
        )

    place = len(begin + bound(0) + sst) + 4
    good = b"".join(
        record(0x204, struct.pack("<HHH", row, column, 0) + xls_text(str(value)))
        for row, values in enumerate((HEADER, ROW))
        for column, value in enumerate(values)
    )
    start = record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    end = record(0x0A, b"")
    return begin + bound(place) + sst + end + start + size + good + rows + end


def xls(
    rows: bytes = b"",
    strings: Sequence[str] = (),
    sheets: int = 1,
    size: bytes = b"",
    change: Callable[[bytearray], object] = lambda _: None,
) -> Sent:
    """A workbook of Excel 97."""
    return Sent("xls", lambda: compound(xls_stream(rows, strings, sheets, size), change))


def word_at(at: int, value: int) -> Callable[[bytearray], object]:
    """What lays a number into a file."""
    return lambda content: struct.pack_into("<I", content, at, value)


def labels(count: int, columns: int = 40) -> bytes:
    """Cells that all show the first shared text."""
    return b"".join(record(0xFD, struct.pack("<HHHI", 2 + at // columns, at % columns, 0, 0)) for at in range(count))


def chain_in_circle(content: bytearray) -> None:
    """Let the stream lead back to its own beginning."""
    tables = struct.unpack_from("<I", content, 44)[0]
    struct.pack_into("<I", content, SECTOR + 4 * (tables + 4), tables + 2)


def folder_in_circle(content: bytearray) -> None:
    """Let the folder lead back to itself."""
    tables = struct.unpack_from("<I", content, 44)[0]
    struct.pack_into("<I", content, SECTOR + 4 * tables, tables)


def table_in_circle(content: bytearray) -> None:
    """Let the table of tables lead to a sector that names itself."""
    tables = struct.unpack_from("<I", content, 44)[0]
    struct.pack_into("<II", content, 68, tables + 1, 1)
    struct.pack_into("<I", content, SECTOR + (tables + 1) * SECTOR + SECTOR - 4, tables + 1)


# PDFs


def pdf(content: bytes, filters: str = "", more: Sequence[bytes] = (), page: str = "", pages: int = 1) -> bytes:
    """A PDF whose pages all show the one stream; further objects begin with number 10."""
    numbers = [20_000 + at for at in range(pages)]
    objects: dict[int, bytes] = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Count {pages} /Kids [{' '.join(f'{number} 0 R' for number in numbers)}] >>".encode(),
        4: f"<< /Length {len(content)} {filters} >>\nstream\n".encode() + content + b"\nendstream",
        5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for number in numbers:
        objects[number] = (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
            f"/Resources << /Font << /F1 5 0 R >> {page} >> >>"
        ).encode()
    objects |= dict(enumerate(more, 10))
    out, places = bytearray(b"%PDF-1.7\n"), {}
    for number, body in objects.items():
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n"
    for number, place in places.items():
        out += f"{number} 1\n{place:010} 00000 n \n".encode()
    out += f"trailer << /Root 1 0 R /Size {max(places) + 1} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def flat(content: bytes | Repeated, times: int = 1) -> bytes:
    """Bytes deflated so many times."""
    packer = zlib.compressobj(LEVEL)
    pieces = content.pieces() if isinstance(content, Repeated) else [content]
    packed = b"".join([*map(packer.compress, pieces), packer.flush()])
    return packed if times == 1 else flat(packed, times - 1)


def deflated(
    content: Callable[[], bytes], times: int = 1, parameters: str = "", page: str = "", pages: int = 1
) -> Sent:
    """A PDF whose content is deflated so many times."""
    filters = f"/Filter [{'/FlateDecode ' * times}] {parameters}"
    return Sent("pdf", lambda: pdf(flat(content(), times), filters, page=page, pages=pages))


def lzw_of_zeros(count: int) -> bytes:
    """LZW (ISO 32000, 7.4.4) of about so many zero bytes."""
    bits, width, entries, total = "", 9, 258, 0
    codes: list[tuple[int, int]] = [(256, 9)]
    length = 1
    code = 0
    while total < count:
        codes.append((code, width))
        total += length
        code, length, entries = entries, length + 1, entries + 1
        width = 12 if entries >= 2047 else 11 if entries >= 1023 else 10 if entries >= 511 else 9
        if entries >= 4094:
            codes.append((256, width))
            width, entries, code, length = 9, 258, 0, 1
    codes.append((257, width))
    bits = "".join(f"{code:0{width}b}" for code, width in codes)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def ruled(count: int) -> bytes:
    """Lines across a page."""
    return b"".join(b"%d %d m %d %d l S\n" % (at % 600, at % 800, at * 7 % 600, at % 800) for at in range(count))


def grid(columns: int, rows: int) -> bytes:
    """A table with lines around its cells."""
    across = b"".join(b"0 %.2f m 600 %.2f l S\n" % (800 * at / rows, 800 * at / rows) for at in range(rows + 1))
    down = b"".join(b"%.2f 0 m %.2f 800 l S\n" % (600 * at / columns, 600 * at / columns) for at in range(columns + 1))
    return across + down


def letters(count: int) -> bytes:
    """Text in many places."""
    return (
        b"BT /F1 8 Tf "
        + b"".join(b"1 0 0 1 %d %d Tm (abcdefgh) Tj\n" % (at % 600, at % 800) for at in range(count))
        + b"ET"
    )


def forms(levels: int, times: int) -> Sent:
    """A PDF whose forms each show the next one some times."""

    def make() -> bytes:
        made = []
        for level in range(levels):
            content = (b"/X%d Do\n" % (level + 1)) * times if level + 1 < levels else b"0 0 m 9 9 l S\n"
            resources = f"/Resources << /XObject << /X{level + 1} {11 + level} 0 R >> >>"
            head = f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] {resources} /Length {len(content)} >>\nstream\n"
            made.append(head.encode() + content + b"\nendstream")
        return pdf(b"/X0 Do", more=made, page="/XObject << /X0 10 0 R >>")

    return Sent("pdf", make)


def objects_in_stream(count: int) -> Sent:
    """A PDF whose objects lie in a deflated stream that takes a lot of room."""

    def make() -> bytes:
        data = flat(Repeated(b"3 0 << /Type /Pages >>" + b" " * PIECE, count // PIECE))
        head = f"<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length {len(data)} >>\nstream\n".encode()
        return pdf(b"0 0 m 9 9 l S", more=[head + data + b"\nendstream"])

    return Sent("pdf", make)


MANY = 4_294_967_295
BLANKS = 2_000_000_000
SENT: dict[str, Sent] = {
    # Text
    "title-of-dates": titled("Price list valid until "),
    "title-of-digits": titled("1.", MOST),
    "title-of-blanks": titled("a" + " " * 99),
    "title-of-currencies": titled("USD "),
    "title-of-months": titled("1 January "),
    "title-of-percents": titled("discount 1 % "),
    "title-without-blanks": titled("a", MOST),
    "titles-of-dates": Sent("csv", lambda: (("Price list valid until " * 40 + "\n") * 5_000 + TABLE).encode()),
    "cell-of-digits": in_cell(3, "1", MOST),
    "cell-of-groups": in_cell(3, "1,111", MOST),
    "cell-of-blanks-and-digits": in_cell(3, "1 ", MOST),
    "cell-of-dates": in_cell(1, "valid until 1.1.", 300_000),
    "part-of-hyphens": in_cell(0, "A-", MOST),
    "part-of-digits": in_cell(0, "1", MOST),
    "description-of-units": in_cell(1, "400G QSFP56 2m ", MOST),
    "description-of-brackets": in_cell(1, "(", MOST),
    "quantity-of-digits": in_cell(2, "9", MOST),
    "commas": text("," * MOST),
    "line-ends": text("\n" * MOST),
    "line-ends-of-apples": text("\r" * MOST),
    "short-lines": text("a\n" * MOST),
    "short-cells": text("a,a\n" * MOST),
    "wide-rows": text((TABLE.splitlines()[0] + "\n") + (",".join("a" * 50) + "\n") * 49_000),
    "rows-of-commas": text((TABLE.splitlines()[0] + "\n") + ("," * 49 + "\n") * 99_000),
    "quoted-line-ends": text(TABLE + '"' + "\n" * MOST),
    "quotes": text('"' * MOST),
    "semicolons-in-quotes": text(TABLE + '";",' * MOST),
    "separator-of-blanks": text("sep= \n" + " " * MOST),
    "unknown-parts": listed("ZQX-#-UNKNOWN,Something unheard of #,4,10,USD", 19_900),
    "unknown-parts-without-a-price": listed("ZQX-#-UNKNOWN,Something unheard of #,4,,", 19_900),
    "known-parts": listed("MQM9700-NS2F,Quantum-2 switch #,#,24000,USD", 19_900),
    "network-of-thousands-of-lines": networks(20_000),
    "hundreds-of-networks": networks(len(LINES_OF_A_NETWORK)),
    "thousands-of-networks": networks(1),
    "two-lines-of-many-pieces": text("part,quantity\nDGX H100,557583\nQM9700,188111\n"),
    "parts-almost-known": listed("MQM97#0-NS2X,Quantum switch #,4,10,USD", 19_900),
    "many-kinds": listed("H100-#,GPU server NDR 400G switch cable 10m transceiver #,4,10,USD", 19_900),
    # Excel
    "strings-said-to-be-many": xlsx(strings=shared(f'uniqueCount="{MANY}"')),
    "strings-said-in-other-quotes": xlsx(strings=shared(f"uniqueCount = '{MANY}'")),
    "strings-said-to-be-some": xlsx(strings=shared('uniqueCount="200000000"')),
    "strings-said-with-a-prefix": xlsx(
        strings=f'<x:sst xmlns:x="{SHEETS}" uniqueCount="{MANY}"><x:si><x:t>a</x:t></x:si></x:sst>'
    ),
    "strings-said-behind-a-comment": xlsx(strings="<!-- <sst -->" + shared(f'count="1" uniqueCount="{MANY}"')),
    "styles-said-to-be-many": xlsx(
        styles=f'<styleSheet xmlns="{SHEETS}"><numFmts count="{MANY}"/><cellXfs count="{MANY}"><xf numFmtId="{MANY}"/>'
        f'</cellXfs><colors count="{MANY}"/></styleSheet>'
    ),
    "dimension-of-everything": xlsx(head='<dimension ref="A1:XFD1048576"/>'),
    "dimension-beyond-everything": xlsx(head='<dimension ref="A1:ZZZZZ99999999999"/>'),
    "spans-of-everything": xlsx(f'<row r="3" spans="1:{MANY}"><c r="A3"><v>1</v></c></row>'),
    "row-beyond-everything": xlsx(f'<row r="{MANY}"><c><v>1</v></c></row>'),
    "row-without-references": xlsx('<row r="1048000"/>' + "<row><c><v>1</v></c></row>" * 90),
    "merged-everything": xlsx(head='<mergeCells count="4294967295"><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
    "merged-a-column-often": Sent(
        "xlsx",
        lambda: package(
            xlsx_parts(
                xlsx_sheet('<row r="790000"><c r="A790000"><v>1</v></c></row>').replace(
                    "</worksheet>",
                    "<mergeCells>"
                    + "".join(f'<mergeCell ref="{c}{r}:{c}790000"/>' for c in "AB" for r in range(1, 20_000))
                    + "</mergeCells></worksheet>",
                )
            )
        ),
    ),
    "columns-hidden-beyond-everything": xlsx(head=f'<cols><col min="1" max="{MANY}" hidden="1"/></cols>'),
    "cells-of-a-wide-sheet": xlsx(
        "".join(f'<row r="{row}"><c r="AX{row}"><v>1</v></c></row>' for row in range(3, 80_000))
    ),
    "cells-far-down": xlsx('<row r="1048576"><c r="C1048576"><v>1</v></c></row>'),
    "sheets-of-one-part": xlsx("".join(f"<row><c><v>{row}</v></c></row>" for row in range(20_000)), sheets=20_000),
    "sheets-of-nothing": xlsx(sheets=200_000),
    "text-that-many-cells-show": xlsx(
        "".join(f'<row r="{row}">' + f'<c r="F{row}" t="s"><v>0</v></c>' * 9 + "</row>" for row in range(3, 50_000)),
        strings=f'<sst xmlns="{SHEETS}"><si><t>{"a" * 32_000}</t></si></sst>',
    ),
    "size-that-is-a-lie": lying("xl/s.xml", b" ", 1_500_000_000),
    "size-that-is-a-lie-of-cells": lying("xl/s.xml", b"<row><c><v>1</v></c></row>", 30_000_000),
    "size-that-is-a-lie-of-a-picture": lying("xl/media/a.png", b"\0", 1_500_000_000),
    "package-packed-otherwise": Sent(
        "xlsx",
        lambda: package(xlsx_parts(xlsx_sheet("")) | {"xl/a.xml": Repeated(b" ", 1_500_000_000)}, zipfile.ZIP_BZIP2),
    ),
    "formulas-with-shared-numbers": xlsx(
        '<row r="3"><c r="A3"><f t="shared" si="4000000000" ref="A1:A9">1</f><v>1</v></c></row>'
    ),
    "inline-texts": xlsx("".join(f'<row r="{r}">{xlsx_cell(f"A{r}", f"{r} " * 300)}</row>' for r in range(3, 20_000))),
    "phonetic-texts": xlsx(
        Numbered("<r><t>#</t></r>", 1_000_000, '<row r="3"><c r="A3" t="inlineStr"><is>', "</is></c></row>")
    ),
    "nested-elements": xlsx(Numbered("<a#>", 1_500_000)),
    "attributes": xlsx(Numbered('a#="" ', 1_500_000, "<row ", "/>")),
    # OpenDocument
    "blanks": ods(ods_row(f'x<text:s text:c="{BLANKS}"/>')),
    "blanks-often": ods(ods_row('x<text:s text:c="100000"/>' * 20_000)),
    "blanks-in-many-cells": ods_rows(ods_row('#<text:s text:c="10000#"/>')),
    "blanks-outside-a-paragraph": ods(
        ods_cell('office:value-type="string"', f'<text:s text:c="{BLANKS}"/><text:p>x</text:p>')
    ),
    "blanks-in-a-span": ods(ods_row(f'<text:span><text:s text:c="{BLANKS}"/></text:span>')),
    "cells-repeated": ods(ods_cell('office:value-type="string" table:number-columns-repeated="2000000000"')),
    "rows-repeated": ods(ods_cell('office:value-type="string"', row='table:number-rows-repeated="2000000000"')),
    "rows-repeated-before-others": ods(
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
        + ods_row(*("x" * 40))
    ),
    "cells-without-a-kind-repeated": ods(
        ods_cell('office:value="1" table:number-columns-repeated="16384"', row='table:number-rows-repeated="6000"')
    ),
    "texts-without-a-kind-repeated": ods(
        ods_cell(
            f'office:string-value="{"x" * 999}" table:number-columns-repeated="16384"',
            "",
            row='table:number-rows-repeated="6000"',
        )
    ),
    "rows-of-cells-without-a-kind": ods_rows(
        '<table:table-row><table:table-cell table:number-columns-repeated="16383"/>'
        '<table:table-cell office:value="#"/></table:table-row>'
    ),
    "formulas-repeated": ods(
        ods_cell(
            f'table:formula="{"x" * 999}" table:number-columns-repeated="50"', row='table:number-rows-repeated="19000"'
        )
    ),
    "text-repeated": ods(
        ods_cell(
            'office:value-type="string" table:number-columns-repeated="40"',
            f"<text:p>{'x' * 9999}</text:p>",
            row='table:number-rows-repeated="19000"',
        )
    ),
    "text-of-an-attribute-repeated": ods(
        ods_cell(
            f'office:value-type="string" office:string-value="{"x" * 9999}" table:number-columns-repeated="40"',
            "",
            row='table:number-rows-repeated="19000"',
        )
    ),
    "columns-repeated": ods("", f'<table:table-column table:number-columns-repeated="{MANY}"/>'),
    "columns-hidden": ods(
        "", f'<table:table-column table:visibility="collapse" table:number-columns-repeated="{MANY}"/>'
    ),
    "rows-hidden": ods(ods_cell("", "", 'table:visibility="collapse" table:number-rows-repeated="1048000"')),
    "cells-merged": ods(
        ods_cell(f'office:value-type="string" table:number-rows-spanned="{MANY}" table:number-columns-spanned="{MANY}"')
    ),
    "cells-of-a-wide-ods": ods_rows(
        '<table:table-row><table:table-cell table:number-columns-repeated="49"/>'
        '<table:table-cell office:value-type="float" office:value="#"/></table:table-row>'
    ),
    "tables-of-nothing": ods(Numbered('</table:table><table:table table:name="s#">', 200_000)),
    # Excel 97
    "text-that-many-cells-of-excel-97-show": xls(labels(270_000), ["a" * 8_000]),
    "sheets-of-one-stream": xls(labels(20_000), ["a" * 80], sheets=200),
    "size-of-excel-95": xls(size=record(0x200, struct.pack("<HHHHH", 0, 0xFFFF, 0, 0xFFFF, 0))),
    "size-of-excel-97": xls(size=record(0x200, struct.pack("<IIHHH", 0, 65536, 0, 256, 0)) * 90),
    "size-beyond-excel-97": xls(size=record(0x200, struct.pack("<IIHHH", 0, MANY, 0, 0xFFFF, 0))),
    "table-said-to-be-long": xls(change=word_at(44, MANY)),
    "more-tables-said-to-be-many": xls(change=word_at(72, MANY)),
    "small-table-said-to-be-long": xls(change=word_at(64, MANY)),
    "small-table-said-to-be-rather-long": xls(change=word_at(64, 0x7000)),
    "stream-in-a-circle": xls(change=chain_in_circle),
    "folder-in-a-circle": xls(change=folder_in_circle),
    "tables-in-a-circle": xls(change=table_in_circle),
    "many-sheets-of-excel-97": xls(sheets=60_000),
    "cells-of-a-wide-sheet-of-excel-97": xls(
        b"".join(record(0x203, struct.pack("<HHHd", row, 49, 0, 1.0)) for row in range(2, 65_535))
    ),
    # PDFs
    "pdf-deflated-twice": deflated(lambda: Repeated(b" ", 800_000_000), 2),
    "pdf-deflated-thrice": deflated(lambda: Repeated(b" ", 800_000_000), 3),
    "pdf-deflated-once": deflated(lambda: Repeated(b" ", 800_000_000)),
    "pdf-of-a-predictor": deflated(
        lambda: Repeated(b" ", 400_000_000), parameters="/DecodeParms << /Predictor 12 /Columns 400000000 >>"
    ),
    "pdf-of-a-short-predictor": deflated(
        lambda: Repeated(b"\x02 ", 40_000_000), parameters="/DecodeParms << /Predictor 12 /Columns 1 >>"
    ),
    "pdf-of-predicted-columns": deflated(
        lambda: b"\x02 " * 100, parameters="/DecodeParms << /Predictor 2 /Columns 4294967295 /Colors 4294967295 >>"
    ),
    "pdf-of-lzw": Sent("pdf", lambda: pdf(lzw_of_zeros(100_000_000), "/Filter /LZWDecode")),
    "pdf-of-lzw-deflated": Sent(
        "pdf", lambda: pdf(flat(lzw_of_zeros(100_000_000)), "/Filter [/FlateDecode /LZWDecode]")
    ),
    "pdf-of-runs": Sent("pdf", lambda: pdf(flat(b"\x81 " * 4_000_000), "/Filter [/FlateDecode /RunLengthDecode]")),
    "pdf-of-runs-of-runs": Sent(
        "pdf",
        lambda: pdf(flat(b"\x81\x81" * 9_000), "/Filter [/FlateDecode /RunLengthDecode /RunLengthDecode]"),
    ),
    "pdf-of-ascii85": Sent(
        "pdf", lambda: pdf(flat(Repeated(b"z", 100_000_000)), "/Filter [/FlateDecode /ASCII85Decode]")
    ),
    "pdf-of-hexadecimals": Sent(
        "pdf", lambda: pdf(flat(Repeated(b"2", 200_000_000)), "/Filter [/FlateDecode /ASCIIHexDecode]")
    ),
    "pdf-of-filters": Sent("pdf", lambda: pdf(b"z" * 4_000_000, f"/Filter [{'/ASCII85Decode ' * 9}]")),
    "pdf-of-an-object-stream": objects_in_stream(400_000_000),
    "pdf-of-lines": deflated(lambda: ruled(200_000)),
    "pdf-of-a-grid": deflated(lambda: grid(600, 800)),
    "pdf-of-a-fine-grid": deflated(lambda: grid(3_000, 3_000)),
    "pdf-of-letters": deflated(lambda: letters(300_000)),
    "pdf-of-letters-in-a-grid": deflated(lambda: grid(9, 9) + letters(99_000)),
    "pdf-of-pages": deflated(lambda: grid(5, 40) + letters(4_000), pages=200),
    "pdf-of-too-many-pages": deflated(lambda: grid(5, 40), pages=9_000),
    "pdf-of-forms": forms(9, 10),
    "pdf-of-forms-in-a-circle": Sent(
        "pdf",
        lambda: pdf(
            b"/X0 Do",
            more=[
                b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X0 10 0 R >> >> "
                b"/Length 12 >>\nstream\n/X0 Do /X0 Do\nendstream"
            ],
            page="/XObject << /X0 10 0 R >>",
        ),
    ),
    "pdf-of-nested-lists": deflated(lambda: Repeated(b"[", 40_000_000)),
    "pdf-of-a-long-name": deflated(lambda: Repeated(b"/" + b"a" * PIECE, 300)),
    "pdf-of-numbers": deflated(lambda: Repeated(b"1 ", 100_000_000)),
    "pdf-of-saved-states": deflated(lambda: Repeated(b"q ", 30_000_000)),
    "pdf-of-objects": Sent("pdf", lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 620_000),
    "pdf-of-nested-dictionaries": Sent("pdf", lambda: b"%PDF-1.7\n1 0 obj\n" + b"<<" * 2_000_000),
    "pdf-of-pages-in-a-circle": Sent("pdf", lambda: pdf(b"").replace(b"/Kids [20000 0 R]", b"/Kids [2 0 R 2 0 R]")),
    "pdf-of-tables-in-a-circle": Sent("pdf", lambda: pdf(b"").replace(b"trailer <<", b"trailer << /Prev 15")),
    "pdf-of-a-key": Sent(
        "pdf",
        lambda: pdf(b"").replace(
            b"trailer <<",
            b"trailer << /Encrypt << /Filter /Standard /V 5 /R 6 /Length 256 /O (%s) /U (%s) /P -1 >> /ID [(a) (a)]"
            % (b"a" * 48, b"a" * 48),
        ),
    ),
}
"""By name."""
