"""Edited quotes as other programs write them: each reads right, or is refused with what to do.

None of these programs is needed here: what is known of their files is made from bomgen's own workbook, that of the
edited plan under the id of the plan before, so that its formulas show what a program computes.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from itertools import count

import pytest
from workbook_edits import QUOTE, WORKBOOK, plan_without_alternatives, workbook_of

from bomgen.apply.application import apply_quote
from bomgen.core.diagnostics import PlanErrors
from bomgen.workflow.plan_files import PlanFile

Parts = dict[str, str]
"""The XML parts of a workbook, by name."""
BILL = "xl/worksheets/sheet2.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006"
EDITED = {b"  tax: 13%\n": b"  tax: 19%\n", b"Delivery within 16 weeks of the order.": b"Delivery in 12 weeks."}
"""What somebody changed: a number, and a text."""
_ID = re.compile(rf"{QUOTE} [0-9a-f]{{64}}")
_TEXT = re.compile(
    r'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?) t="inlineStr"><is><t(?: xml:space="preserve")?>(.*?)</t></is>', re.S
)


def edited_plan() -> PlanFile:
    """The plan as it is after the edits."""
    file = plan_without_alternatives()
    for before, after in EDITED.items():
        assert before in file.content
        file = file._replace(content=file.content.replace(before, after))
    return file


@pytest.fixture(scope="module")
def edited_parts() -> Parts:
    """The parts of the edited workbook."""
    [name] = _ID.findall(unpacked(workbook_of(plan_without_alternatives()))[BILL])
    return {part: _ID.sub(name, text) for part, text in unpacked(workbook_of(edited_plan())).items()}


def unpacked(content: bytes) -> Parts:
    """The parts of a workbook."""
    with zipfile.ZipFile(BytesIO(content)) as package:
        return {name: package.read(name).decode("utf-8") for name in package.namelist() if not name.endswith(".png")}


def packed(parts: Parts) -> bytes:
    """A workbook of parts."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return stream.getvalue()


def sheets(parts: Parts, change: Callable[[str], str]) -> Parts:
    """The parts with each sheet changed."""
    return {name: change(text) if name.startswith("xl/worksheets/s") else text for name, text in parts.items()}


def share_strings(parts: Parts, item: Callable[[str], str]) -> Parts:
    """Texts in a table of their own, as all programs but bomgen keep them; `item` writes one."""
    texts: dict[str, int] = {}

    def refer(cell: re.Match[str]) -> str:
        return f'{cell[1]} t="s"><v>{texts.setdefault(cell[2], len(texts))}</v>'

    parts = sheets(parts, lambda text: _TEXT.sub(refer, text))
    items = "".join(f"<si>{item(text)}</si>" for text in texts)
    parts["xl/sharedStrings.xml"] = f'<?xml version="1.0"?><sst xmlns="{MAIN}" uniqueCount="{len(texts)}">{items}</sst>'
    return add_part(parts, "sharedStrings", "sharedStrings.xml")


def add_part(parts: Parts, kind: str, target: str) -> Parts:
    """The parts with a relation of the workbook to one of them, and its type."""
    relation = (
        f'<Relationship Type="{DOCUMENT}/relationships/{kind}" Target="{target}" Id="rId{kind}"/></Relationships>'
    )
    about = f"application/vnd.openxmlformats-officedocument.spreadsheetml.{kind}+xml"
    override = f'<Override PartName="/xl/{target}" ContentType="{about}"/></Types>'
    rels, types = "xl/_rels/workbook.xml.rels", "[Content_Types].xml"
    return parts | {
        rels: parts[rels].replace("</Relationships>", relation),
        types: parts[types].replace("</Types>", override),
    }


def plain(text: str) -> str:
    """A text as it is."""
    return f'<t xml:space="preserve">{text}</t>'


def rich(text: str) -> str:
    """A text in two looks, whose second one begins with its space, and with how it is spoken."""
    first, blank, rest = text.partition(" ")
    run = f'<r><rPr><b/></rPr><t xml:space="preserve">{blank}{rest}</t></r>' if rest else ""
    return f'<r><t>{first}</t></r>{run}<rPh sb="0" eb="1"><t>reading</t></rPh><phoneticPr fontId="1"/>'


def digits(text: str) -> str:
    """Numbers with the 17 digits of their binary form, as Excel writes them."""
    return re.sub(r"<v>([0-9]+\.[0-9]+)</v>", lambda number: f"<v>{float(number[1]):.17g}</v>", text)


def shared_formulas(text: str) -> str:
    """The formulas of the amounts written once, at the first of them."""
    lines = [(found[1], int(found[2])) for found in re.finditer(r'<c r="(J)([0-9]+)" s="[0-9]+"><f>IF\(H', text)]
    column, first = lines[0]
    place = f'ref="{column}{first}:{column}{lines[-1][1]}" si="0"'
    text = re.sub(rf'(<c r="{column}{first}"[^>]*>)<f>', rf'\1<f t="shared" {place}>', text)
    return re.sub(rf'(<c r="{column}[0-9]+" s="[0-9]+">)<f>IF\(H[^<]*</f>', r'\1<f t="shared" si="0"/>', text)


def excel(parts: Parts) -> Parts:
    """Microsoft Excel: shared texts in several looks, shared formulas, 17 digits, a chain of what is computed, ids."""
    uids = count(1)

    def change(text: str) -> str:
        text = re.sub(r'<row r="([0-9]+)"', r'<row r="\1" spans="1:15" x14ac:dyDescent="0.25"', digits(text))
        own = ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" mc:Ignorable="x14ac xr" '
        own += 'xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac" xmlns:xr='
        own += f'"http://schemas.microsoft.com/office/spreadsheetml/2014/revision" xr:uid="{{{next(uids):032X}}}"'
        return text.replace("<worksheet", f"<worksheet{own}", 1)

    parts = share_strings(sheets(parts, change), rich)
    parts[BILL] = shared_formulas(parts[BILL])
    parts["xl/calcChain.xml"] = f'<calcChain xmlns="{MAIN}"><c r="J4" i="2"/></calcChain>'
    return add_part(parts, "calcChain", "calcChain.xml")


def excel_pasted(parts: Parts) -> Parts:
    """Microsoft Excel: carriage returns of pasted texts, as escapes."""
    return share_strings(parts, lambda text: plain(text.replace("\n", "_x000D_\n")))


def strict(parts: Parts) -> Parts:
    """Excel's "Strict Open XML Spreadsheet": the same names in other namespaces."""

    def change(text: str) -> str:
        text = text.replace(MAIN, "http://purl.oclc.org/ooxml/spreadsheetml/main")
        return text.replace(DOCUMENT, "http://purl.oclc.org/ooxml/officeDocument")

    parts = {name: change(text) for name, text in excel(parts).items()}
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace("<workbook ", '<workbook conformance="strict" ', 1)
    return parts


def macros(parts: Parts) -> Parts:
    """Excel's workbook with macros."""
    types = "[Content_Types].xml"
    kind = "vnd.ms-excel.sheet.macroEnabled"
    parts[types] = parts[types].replace("vnd.openxmlformats-officedocument.spreadsheetml.sheet", kind)
    return parts | {"xl/vbaProject.bin": "no macros"}


def google(parts: Parts) -> Parts:
    """Google Sheets: a thousand rows, neither properties nor names nor checks of what is typed, numbers with points."""
    empty = "".join(f'<row r="{row}" ht="15.75" customHeight="1"/>' for row in range(200, 1001))

    def change(text: str) -> str:
        text = re.sub(r"<v>([0-9]+)</v>", r"<v>\1.0</v>", text).replace("</sheetData>", f"{empty}</sheetData>")
        return re.sub(r"<dimension[^>]*>|<sheetProtection[^>]*>|<dataValidations.*</dataValidations>", "", text)

    kept = {name: text for name, text in parts.items() if "docProps" not in name}
    parts = share_strings(sheets(kept, change), plain)
    parts["xl/workbook.xml"] = re.sub(r"<definedNames>.*</definedNames>|<calcPr[^>]*>", "", parts["xl/workbook.xml"])
    return parts


def wps(parts: Parts) -> Parts:
    """WPS Office: a dimension of one cell, values of empty cells, number formats and namespaces of its own."""

    def change(text: str) -> str:
        text = re.sub(r'<dimension ref="[^"]*"', '<dimension ref="A1"', text)
        text = re.sub(r'(<c r="[A-Z]+[0-9]+" s="[0-9]+") t="n" />', r"\1><v></v></c>", text)
        own = 'xmlns:etc="http://www.wps.cn/officeDocument/2017/etCustomData"'
        return text.replace("<worksheet ", f"<worksheet {own} ", 1)

    own = '<?xml version="1.0"?><Properties><property fmtid="{0}" pid="2" name="KSOProductBuildVer"/></Properties>'
    return share_strings(sheets(parts, change), plain) | {"docProps/custom.xml": own}


def values(parts: Parts) -> Parts:
    """Programs that keep values alone."""
    return share_strings(sheets(parts, lambda text: re.sub(r"<f>[^<]*</f>", "", text)), plain)


def prefixed(parts: Parts) -> Parts:
    """Programs that use Microsoft's Open XML SDK: names with a prefix, texts in their cells."""

    def change(text: str) -> str:
        text = re.sub(r"<(/?)(?=[a-zA-Z])(?![a-z0-9]+:)", r"<\1x:", text)
        return text.replace(f'xmlns="{MAIN}"', f'xmlns:x="{MAIN}"')

    return {name: change(text) if f'xmlns="{MAIN}"' in text else text for name, text in parts.items()}


def binary(parts: Parts) -> Parts:
    """Excel's binary workbook."""
    return {name.replace("workbook.xml", "workbook.bin").replace(".xml", ".bin"): "" for name in parts}


def without_hidden_columns(parts: Parts) -> Parts:
    """Excel's inspection of documents, which removes hidden columns."""
    parts[BILL] = re.sub(r'<c r="[NO][0-9]+".*?(?:/>(?=<)|</c>)', "", parts[BILL])
    return parts


READ = (excel, excel_pasted, strict, macros, google, wps, values, prefixed)


@pytest.mark.parametrize("program", READ, ids=lambda program: program.__name__)
def test_workbooks_of_other_programs_are_read(edited_parts: Parts, program: Callable[[Parts], Parts]) -> None:
    """The edits are those that were made and nothing else, and the plan has them once they are written."""
    content = packed(program(dict(edited_parts)))
    found = apply_quote(content, WORKBOOK, plan_without_alternatives())
    assert found.problems == ()
    [(_, _, after)] = found.files
    assert after == edited_plan().content
    again = apply_quote(content, WORKBOOK, edited_plan())
    assert (again.applied, again.problems) == (True, ())


@pytest.mark.parametrize(
    ("program", "name", "reason"),
    [
        (binary, "quote.xlsb", "'.xlsb' is not a format of tables; save it as .xlsx"),
        (binary, WORKBOOK, "save it as .xlsx"),
        (without_hidden_columns, WORKBOOK, "not a bomgen quote: the hidden id column"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_read_is_refused(
    edited_parts: Parts, program: Callable[[Parts], Parts], name: str, reason: str
) -> None:
    """With what to do."""
    with pytest.raises(PlanErrors, match=re.escape(reason)):
        apply_quote(packed(program(dict(edited_parts))), name, plan_without_alternatives())
