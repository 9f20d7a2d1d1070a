"""The workbook: its formulas and what they come to, text that must stay text, and bytes that do not change."""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from judging import Judge
from openpyxl import Workbook, load_workbook
from openpyxl.cell import Cell as SheetCell
from openpyxl.worksheet.cell_range import CellRange
from openpyxl.worksheet.worksheet import Worksheet

from bomgen.core.document import (
    AddressBlock,
    Cell,
    Column,
    Derivation,
    Document,
    Note,
    Row,
    Section,
    Step,
    Table,
    Value,
    logo,
)
from bomgen.core.language import Language, language
from bomgen.core.units import Tax, Totals
from bomgen.documents.tables import line_amount
from bomgen.output.writer import render
from bomgen.output.xlsx.sheet import page_ends
from bomgen.output.xlsx.workbook import workbook
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

WORDS = {**language("en").words, "xlsx-no-price": 'No "price"'}
ENGLISH = Language("en", WORDS, {"share": "", "GPUs": "GPUs"}, ",", ".", "{year}", "{year}")
BILL = "Bill"
FIRST = 4
"""The first line of the bill; its header stands above."""
CATEGORIES = Column("category", "Category", "text", 14)
"""The column that the workbook puts before those of the bill."""
COLUMNS = (
    Column("sku", "Part number", "text", 20),
    Column("amount", "Amount", "money", 14),
    Column("quantity", "Quantity", "number", 10),
    Column("spare", "Spare", "number", 8),
    Column("unit_price", "Unit price", "money", 14),
    Column("discount", "Discount", "share", 10),
    Column("fabric", "Fabric", "text", 12),
    Column("role", "Place", "text", 12),
    Column("explain", "Why", "text", 30),
)
CATEGORY, SKU, AMOUNT, QUANTITY, SPARE, PRICE, DISCOUNT, FABRIC, ROLE, EXPLAIN = "ABCDEFGHIJ"
COLUMN_OF_SPARE = 3
PRICE_PLACE = 4
GROUPS = "Bill by fabric and role"
EMPTY_LINES = 3
"""What follows the lines for additions."""
LEAVES = Derivation(
    "fabrics.compute.switches.leaf",
    "Leaf switches",
    (
        Step(0, "leaves", 32, "switches", "ceil(ports / down)"),
        Step(1, "ports", Fraction(1024), "", "servers * 8"),
        Step(2, "flops", 546 * 10**21, "FLOPs", "plan.yaml:7:1"),
    ),
)
Line = tuple[str, str, int, int, str | None, Fraction]
LINES: tuple[Line, ...] = (
    ("switch", "QM9700", 32, 1, "25000.00", Fraction(3, 20)),
    ("cable", "MFP7E10-N030", 3, 0, "0.335", Fraction(1, 10)),
    ("cable", "MFP7E10-N050", 1, 0, "1.005", Fraction(0)),
    ("cable", "MFP7E10-N003", 7, 2, "12.35", Fraction(1, 3)),
    ("switch", "SN2201", 4, 0, None, Fraction(0)),
)


def half_up(amount: Fraction, places: str = "0.01") -> Decimal:
    """The amount by another way than the renderer's: by the decimal module."""
    return (Decimal(amount.numerator) / Decimal(amount.denominator)).quantize(Decimal(places), ROUND_HALF_UP)


def make(
    lines: Sequence[Line] = LINES,
    currency: str = "USD",
    places: str = "0.01",
    tax: Fraction | None = Fraction(13, 100),
    sections: tuple[Section, ...] = (),
) -> Document:
    """A document with these lines, whose totals are worked out here."""
    rows, full, net = [], Decimal(0), Decimal(0)
    for category, sku, quantity, spare, price, discount in lines:
        amount = None
        if price is not None:
            before = (quantity + spare) * Fraction(price)
            amount = half_up(before * (1 - discount), places)
            full += half_up(before, places)
            net += amount
        rows.append(
            Row(
                (
                    Cell(sku),
                    Cell(amount, currency, formula=line_amount(currency, ENGLISH)),
                    Cell(quantity, "", LEAVES.path),
                    Cell(spare),
                    Cell(None if price is None else Decimal(price), currency),
                    Cell(discount, "share"),
                    Cell("" if category == "cable" else "compute"),
                    Cell("patch" if category == "cable" else sku),
                    Cell("because"),
                ),
                category,
            )
        )
    paid = half_up((tax or 0) * Fraction(net), places)
    priced = sum(line[4] is not None for line in lines)
    amount = net + paid
    taxes = () if tax is None else (Tax(tax, net, paid),)
    totals = Totals(currency, priced == len(lines), full, full - net, taxes, amount, priced, len(lines), amount, amount)
    bill = Section("bill", BILL, tables=(Table("bill", BILL, COLUMNS, tuple(rows)),))
    return Document(
        "Cluster",
        "en",
        (
            Section("summary", "Summary", notes=(Note("warning", "Look at this.", "plan.yaml:1:1"),)),
            bill,
            *sections,
            Section("derivations", "Derivations", derivations=(LEAVES,)),
        ),
        "Quote",
        (("Customer", "Example"),),
        (("GPUs", Cell(2048, "GPUs", LEAVES.path)),),
        totals,
        "bomgen & plan",
    )


NAMES = Column("description", "Description", "text", 20)
HARDWARE = "D"
"""The column of what lines add to the hardware, behind the amounts."""


def charged(document: Document, shares: Sequence[Fraction], in_stock: Sequence[int] = ()) -> Document:
    """The document with descriptions, some rows in stock, and its last lines charged as shares of the hardware."""
    [bill] = document.section("bill").tables
    rows = []
    for at, row in enumerate(bill.rows):
        of_charges = at - len(bill.rows) + len(shares)
        cells = list(row.cells)
        if of_charges >= 0:
            cells[PRICE_PLACE] = replace(cells[PRICE_PLACE], share_of_hardware=shares[of_charges])
        rows.append(replace(row, cells=(*cells, Cell(f"charge of {row.cells[0].value}")), in_stock=at in in_stock))
    changed = replace(bill, columns=(*COLUMNS, NAMES), rows=tuple(rows))
    sections = tuple(replace(part, tables=(changed,)) if part.id == "bill" else part for part in document.sections)
    return replace(document, sections=sections)


SHARES = (Fraction(3, 200), Fraction(1, 25))
"""Freight and support."""
HARDWARE_COMES_TO = Decimal("701326.01")
"""Of the lines above with prices: 33 x 25000 x 0.85, 3 x 0.335 x 0.9, 1.005 and 9 x 12.35 x 2 / 3, each rounded."""
FREIGHT, SUPPORT = "10519.89", "28053.04"
"""1.5 % and 4 % of that, rounded half up."""
WITH_SHARES: tuple[Line, ...] = (
    *LINES,
    ("Software", "licence", 5, 0, "100.00", Fraction(0)),
    ("Services", "freight", 1, 0, FREIGHT, Fraction(0)),
    ("Services", "support", 3, 0, SUPPORT, Fraction(1, 10)),
)


def table(values: Sequence[Value], column: Column = CATEGORIES) -> Section:
    """A section with one table of one column."""
    return Section("x", "Values", tables=(Table("x", "Values", (column,), tuple(Row((Cell(v),)) for v in values)),))


def opened(document: Document, values: bool = False, language: Language = ENGLISH) -> Workbook:
    """The document's workbook, read back with formulas or with their values."""
    return load_workbook(io.BytesIO(workbook(document, language).content), data_only=values)


def sheet(book: Workbook, name: str) -> Worksheet:
    """A sheet by its name."""
    found = book[name]
    assert isinstance(found, Worksheet)
    return found


def named(book: Workbook, values: Workbook) -> Mapping[str, object]:
    """What stands in the cells of the defined names of the totals."""
    found = {}
    for name in ("bom_list", "bom_discount", "bom_tax", "bom_amount"):
        ((title, address),) = book.defined_names[name].destinations
        found[name] = values[title][address.replace("$", "")].value
    return found


def by_label(page: Worksheet, label: str) -> SheetCell:
    """The cell behind a label of the first column."""
    found = next(row[1] for row in page.iter_rows() if row[0].value == label)
    assert isinstance(found, SheetCell)
    return found


def test_values_beside_the_totals_are_those_of_the_document() -> None:
    """The four defined names show the totals of the document without any program having calculated."""
    document = make()
    found = named(opened(document), opened(document, values=True))
    totals = document.totals
    assert found == {
        "bom_list": float(totals.list),
        "bom_discount": float(totals.discount),
        "bom_tax": float(totals.tax),
        "bom_amount": float(totals.amount),
    }


def test_amounts_are_formulas_with_their_values() -> None:
    """Each amount is a formula over quantity, spare, price and discount, and carries the amount of the document."""
    document = make()
    formulas, values = sheet(opened(document), BILL), sheet(opened(document, values=True), BILL)
    rows = document.section("bill").tables[0].rows
    for number, row in enumerate(rows, FIRST):
        formula = formulas[f"{AMOUNT}{number}"].value
        product = f"ROUND((D{number}+E{number})*F{number}*(1-G{number}),2)"
        assert formula == f'=IF(F{number}="",IF(D{number}="","","No ""price"""),{product})'
        amount = row.cells[1].value
        expected = 'No "price"' if amount is None else float(str(amount))
        assert values[f"{AMOUNT}{number}"].value == expected


def test_half_of_the_smallest_coin_goes_up() -> None:
    """Amounts that end in exactly half a cent, or half a yen, are rounded up."""
    half = make([("cable", "a", 1, 0, "1.005", Fraction(0)), ("cable", "b", 1, 0, "0.25", Fraction(1, 10))])
    assert [sheet(opened(half, values=True), BILL)[f"{AMOUNT}{n}"].value for n in (4, 5)] == [1.01, 0.23]
    yen = make([("cable", "a", 3, 0, "12.5", Fraction(0))], "JPY", "1")
    assert sheet(opened(yen, values=True), BILL)[f"{AMOUNT}4"].value == 38
    assert sheet(opened(yen), BILL)[f"{AMOUNT}4"].number_format == "#,##0"


def test_lines_without_a_price_stay_visible() -> None:
    """A line without a price says so, its price stays empty to be filled in, and the totals say 'at least'."""
    page = sheet(opened(make(), values=True), BILL)
    last = FIRST + len(LINES) - 1
    assert page[f"{PRICE}{last}"].value is None
    assert page[f"{AMOUNT}{last}"].value == 'No "price"'
    labels = [cell.value for cell in page["B"]]
    assert "Total amount, at least" in labels
    assert "Less discount" in labels
    complete = [cell.value for cell in sheet(opened(make(LINES[:-1]), values=True), BILL)["B"]]
    assert "Total amount" in complete
    assert not any("at least" in str(label) for label in complete)


def test_groups_of_the_bill_become_a_column() -> None:
    """The headings of the bill become a column, so that lines stay together and can be filtered."""
    page = sheet(opened(make(), values=True), BILL)
    assert [page[f"{CATEGORY}{row}"].value for row in (FIRST - 1, FIRST, FIRST + 1)] == ["Category", "switch", "cable"]
    assert page[f"{AMOUNT}{FIRST}"].value == 701250


def test_no_line_has_a_price() -> None:
    """A bill without any price has no total: its sums are 0 and shown as no price, and none of them is a least one."""
    document = make(LINES[-1:])
    values = opened(document, values=True)
    assert set(named(opened(document), values).values()) == {0}
    for page, column in ((sheet(values, BILL), "B"), (sheet(values, "Summary"), "A")):
        labels = {str(cell.value): cell for cell in page[column]}
        assert not any("at least" in label for label in labels)
        [shown] = [cell for cell in page[labels["Total amount"].row] if cell.value == 0]
        assert shown.number_format.endswith(';"No price"')


def test_no_lines_and_no_tax() -> None:
    """A bill without lines and without a tax rate is still a bill."""
    document = make((), tax=None)
    values = opened(document, values=True)
    assert set(named(opened(document), values).values()) == {0}
    assert "Tax (no rate given)" in [cell.value for cell in sheet(values, BILL)["B"]]


def test_summary_follows_the_bill() -> None:
    """The summary's totals and categories are formulas over the bill, and carry their values."""
    document = make()
    formulas, values = sheet(opened(document), "Summary"), sheet(opened(document, values=True), "Summary")
    rows = {str(row[0].value): row for row in values.iter_rows()}
    live = {str(values[row[0].coordinate].value): row[1].value for row in formulas.iter_rows()}
    assert live["Total amount, at least"] == "=bom_amount"
    assert rows["Total amount, at least"][1].value == float(document.totals.amount)
    assert rows["switch"][1].value == 701250
    assert rows["cable"][1].value == pytest.approx(0.9 + 1.01 + 74.10)
    assert sum(rows[name][2].value for name in ("switch", "cable")) == pytest.approx(1)
    assert rows["GPUs"][1].value == 2048
    assert [cell.value for cell in rows["Warning"][:2]] == ["Warning", "Look at this. (plan.yaml:1:1)"]


HOSTILE = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "=cmd|' /C calc'!A0", "#N/A", "12", "TRUE", "<b>&\"'</b>", "  two ")


def test_hostile_text_stays_text() -> None:
    """Text that looks like a formula, an error or a number is text, and stays text when its cell is edited."""
    page = sheet(opened(make(sections=(table(HOSTILE),))), "Values")
    cells = [page[f"A{row}"] for row in range(FIRST, FIRST + len(HOSTILE))]
    assert [cell.value for cell in cells] == list(HOSTILE)
    assert {cell.data_type for cell in cells} == {"s"}
    assert [cell.quotePrefix for cell in cells] == [text[0] in "=+-@\t" for text in HOSTILE]


def test_text_that_no_sheet_can_hold() -> None:
    """Control characters are left out, line ends are made alike, and text that is too long is cut with an ellipsis."""
    values = ("a\x00b\x1fc\ud800d\ufffe", "a\r\nb\rc", "x" * 40000, "\U0001f600" * 20000)
    page = sheet(opened(make(sections=(table(values),))), "Values")
    short, lines, long, wide = (page[f"A{row}"].value for row in range(FIRST, FIRST + 4))
    assert (short, lines) == ("abcd", "a\nb\nc")
    assert long == "x" * 32766 + "…"
    assert wide == "\U0001f600" * 16383 + "…"


def test_hostile_names_everywhere() -> None:
    """Titles, footers, units and paths of hostile text make a workbook that opens."""
    evil = "=A1&\"\x00[x]*?:/\\'"
    document = make(
        [(evil, evil, 1, 0, "1", Fraction(0))], sections=(Section("y", evil, (evil,), table(["a"]).tables),)
    )
    derivation = Derivation(evil, evil, (Step(99, evil, 5, evil, evil),))
    sections = (*document.sections[:-1], Section("derivations", evil, derivations=(derivation,)))
    document = replace(document, title=evil, subtitle=evil, footer=evil * 40, sections=sections)
    document = replace(document, headline=((evil, Cell(5, evil, evil)),), facts=((evil, evil),))
    for values in (False, True):
        book = opened(document, values)
        assert len(set(book.sheetnames)) == len(book.worksheets) == 5
    xml = zipfile.ZipFile(io.BytesIO(workbook(document, ENGLISH).content)).read("xl/worksheets/sheet1.xml").decode()
    assert len(xml.partition("<oddFooter>")[2].partition("</oddFooter>")[0].replace("&amp;", "&")) <= 255


def test_numbers_are_numbers() -> None:
    """Numbers of every kind are numbers in the sheet, in a format that goes with their size and unit."""
    numbers: Sequence[tuple[Value, str, object, str]] = (
        (32, "", 32, "#,##0"),
        (2**53 + 2, "", float(2**53 + 2), "0.00E+00"),
        (546 * 10**21, "FLOPs", 5.46e23, '0.00E+00" FLOPs"'),
        (Fraction(3, 20), "share", 0.15, "0.0#%"),
        (Fraction(1, 3000), "share", 1 / 3000, "0.0###%"),
        (Fraction(171, 8), "days", 21.375, '#,##0.00" days"'),
        (Fraction(1, 3), "", 1 / 3, "#,##0.0000"),
        (Fraction(4, 2), "", 2, "#,##0"),
        (0.5, "", 0.5, "#,##0.0"),
        (Fraction(1, 10**6), "", 1e-6, "0.00E+00"),
        (6375 * 10**6, "bytes", 6375 * 10**6, '#,##0.00,,," GB"'),
        (Fraction(9894 * 10**11), "FLOP/s", 9894 * 10**11, '#,##0.00,,,," TFLOP/s"'),
        (999, "bytes", 999, '#,##0" bytes"'),
        (Decimal("12.5"), "USD", 12.5, '#,##0.00" USD"'),
        (Decimal("12.5"), "KWD", 12.5, '#,##0.000" KWD"'),
        (None, "USD", "–", "General"),
    )
    rows = tuple(Row((Cell(value, unit),)) for value, unit, _, _ in numbers)
    section = Section("x", "Values", tables=(Table("x", "Values", (Column("value", "Value", "number"),), rows),))
    page = sheet(opened(make(sections=(section,))), "Values")
    found = [(page[f"A{row}"].value, page[f"A{row}"].number_format) for row in range(FIRST, FIRST + len(numbers))]
    assert found == [(value, number_format) for _, _, value, number_format in numbers]
    assert page.column_dimensions["A"].width >= len("5.46E+23 FLOPs")


def test_words_of_the_plan_are_translated() -> None:
    """A value whose unit says that it is a word of the plan is in the language of the report; other text is not."""
    rows = (Row((Cell("none", "word"),)), Row((Cell("none"),)))
    section = Section("x", "Values", tables=(Table("x", "Values", (CATEGORIES,), rows),))
    language = ENGLISH._replace(words={**WORDS, "value-none": "nothing"})
    page = sheet(opened(make(sections=(section,)), language=language), "Values")
    assert [page[f"A{row}"].value for row in (FIRST, FIRST + 1)] == ["nothing", "none"]


def test_names_of_sheets() -> None:
    """Sheets are named by their titles, without what Excel forbids, at most 31 characters long, and all different."""
    long = "A title that is longer than thirty-one letters"
    titles = ("配置清单", "a/b: [c]*?", "'quoted'", "History", long, long + "!", "bill", "")
    sections = tuple(replace(table(["x"]), title=title) for title in titles)
    names = opened(make(sections=sections)).sheetnames
    assert names == [
        *(
            "Summary",
            BILL,
            "Bill by fabric and role",
            "配置清单",
            "a b c",
            "quoted",
            "History (2)",
            "A title that is longer than th…",
        ),
        *("A title that is longer tha… (2)", "bill (2)", "Sheet", "Derivations"),
    ]
    assert max(len(name) for name in names) <= 31


def test_header_stays_in_sight_and_is_printed_on_every_page() -> None:
    """The bill has a frozen, repeated header, a filter over its lines, and prints across on A4."""
    page = sheet(opened(make()), BILL)
    last = FIRST + len(LINES) + EMPTY_LINES - 1
    assert page.freeze_panes == f"A{FIRST}"
    assert page.auto_filter.ref == f"A{FIRST - 1}:{EXPLAIN}{last}"
    assert page.print_title_rows == f"${FIRST - 1}:${FIRST - 1}"
    assert page.page_setup.orientation == "landscape"
    assert (page.page_setup.paperSize, page.page_setup.fitToHeight) == (9, 0)
    assert [cell.value for cell in page[FIRST - 1]] == [column.title for column in (CATEGORIES, *COLUMNS)]
    assert page[f"{CATEGORY}{FIRST - 1}"].font.b
    assert sheet(opened(make()), "Derivations").freeze_panes == "A4"


def test_tables_of_equal_columns_share_a_header() -> None:
    """Tables with the same columns stand under one frozen header; others have their own, and groups a heading."""
    one = table(["a"]).tables[0]
    other = replace(
        one, title="Other", caption="About it", rows=(Row((Cell("b"),), "Group"), Row((Cell("c"),), "Group"))
    )
    alike = Section("x", "Alike", ("A text.", "More."), (one, other), (Note("info", "A note."),))
    different = replace(alike, title="Different", tables=(one, replace(other, columns=(Column("y", "Y"),))))
    book = opened(make(sections=(alike, different)))
    first = [cell.value for cell in sheet(book, "Alike")["A"]]
    assert first == [
        *("Alike", None, "Category", "Values", "a", "Other", "About it", "Group", "b", "c"),
        *(None, "A text.", "More.", None, "Note"),
    ]
    lead = sheet(opened(make(sections=(replace(alike, text=("A text.",)),))), "Alike")
    assert [cell.value for cell in lead["A"]][:3] == ["Alike", "A text.", "Category"]
    second = [cell.value for cell in sheet(book, "Different")["A"]]
    assert [second.count(title) for title in ("Category", "Y")] == [1, 1]
    assert sheet(book, "Alike").freeze_panes == "A4"
    assert sheet(book, "Different").freeze_panes is None


def test_numbers_lead_to_their_derivation() -> None:
    """A number that is derived is a link to the row where its derivation begins, and steps are indented."""
    book = opened(make())
    link = sheet(book, BILL)[f"{QUANTITY}{FIRST}"].hyperlink
    assert link is not None
    assert link.location == "'Derivations'!A4"
    page = sheet(book, "Derivations")
    assert [cell.value for cell in page[4][:2]] == [LEAVES.path, LEAVES.title]
    assert [page[f"B{row}"].alignment.indent for row in (5, 6, 7)] == [1, 2, 3]
    assert [page[f"C{row}"].value for row in (5, 6, 7)] == [32, 1024, 5.46e23]


def test_numbers_carry_their_derivation_in_a_note() -> None:
    """The note of a derived number has the steps of its derivation; a value may bring a note of its own."""
    book = opened(make())
    for cell in (sheet(book, BILL)[f"{QUANTITY}{FIRST}"], by_label(sheet(book, "Summary"), "GPUs")):
        assert cell.comment is not None
        assert cell.comment.text.splitlines() == [
            "Leaf switches",
            "leaves = 32 switches: ceil(ports / down)",
            "   ports = 1,024: servers * 8",
            "      flops = 5.46 × 10²³ FLOPs: plan.yaml:7:1",
        ]
        assert cell.comment.author == "bomgen"
    assert sheet(book, BILL)[f"{SPARE}{FIRST}"].comment is None
    document = make()
    [table] = document.section("bill").tables
    row = table.rows[0]
    cells = tuple(
        replace(cell, note="two in a hundred") if at == COLUMN_OF_SPARE else cell for at, cell in enumerate(row.cells)
    )
    noted = replace(table, rows=(replace(row, cells=cells), *table.rows[1:]))
    sections = tuple(replace(part, tables=(noted,)) if part.id == "bill" else part for part in document.sections)
    comment = sheet(opened(replace(document, sections=sections)), BILL)[f"{SPARE}{FIRST}"].comment
    assert comment is not None
    assert comment.text == "two in a hundred"


def test_long_derivations_end_in_how_much_is_missing() -> None:
    """A note has the first steps, and says how many more there are behind the link."""
    steps = tuple(Step(0, f"step {number}", number, "", "given") for number in range(20))
    document = make()
    long = Section("derivations", "Derivations", derivations=(replace(LEAVES, steps=steps),))
    comment = sheet(opened(replace(document, sections=(*document.sections[:-1], long))), BILL)[
        f"{QUANTITY}{FIRST}"
    ].comment
    assert comment is not None
    assert comment.text.splitlines()[-2:] == ["step 7 = 7: given", "… 12 more steps; follow the link"]


def test_an_open_workbook_is_not_locked() -> None:
    """Nothing is locked where the plan does not ask for it."""
    book = opened(make())
    assert book.security is None or not book.security.lockStructure
    assert not any(page.protection.sheet for page in book.worksheets)


def test_a_protected_workbook_takes_inputs_only() -> None:
    """Sheets and their list are locked without a password; inputs and empty lines are not; lines can be filtered."""
    book = opened(replace(make(), protected=True))
    assert book.security.lockStructure
    assert not book.security.workbookPassword
    for page in book.worksheets:
        lock = page.protection
        assert (lock.sheet, lock.password, lock.autoFilter, lock.sort) == (True, None, False, False)
    page = sheet(book, BILL)
    open_cells = {cell.coordinate for row in page.iter_rows() for cell in row if not cell.protection.locked}
    lines = range(FIRST, FIRST + len(LINES))
    empty = range(lines.stop, lines.stop + EMPTY_LINES)
    [(_, rate)] = book.defined_names["bom_tax_rate"].destinations
    assert open_cells == {
        rate.replace("$", ""),
        *(f"{column}{row}" for column in (QUANTITY, SPARE, PRICE, DISCOUNT) for row in (*lines, *empty)),
        *(f"{column}{row}" for column in (CATEGORY, SKU, FABRIC, ROLE) for row in empty),
    }
    others = [cell for page in book.worksheets if page.title != BILL for row in page.iter_rows() for cell in row]
    assert all(cell.protection.locked for cell in others)


@pytest.mark.parametrize("words", [ENGLISH, language("zh")], ids=["en", "zh"])
def test_inputs_are_explained_and_wrong_ones_refused(words: Language) -> None:
    """Every input has a prompt and a refusal in the language of the quote, as long as Excel takes them."""
    page = sheet(opened(make(), language=words), BILL)
    last = FIRST + len(LINES) + EMPTY_LINES - 1
    rules = {str(rule.sqref): rule for rule in page.data_validations.dataValidation}
    kinds = {QUANTITY: "whole", SPARE: "whole", PRICE: "decimal", DISCOUNT: "decimal", CATEGORY: "list", FABRIC: "list"}
    assert {area: rules[area].type for area in (f"{column}{FIRST}:{column}{last}" for column in kinds)} == {
        f"{column}{FIRST}:{column}{last}": kind for column, kind in kinds.items()
    }
    assert len(rules) == len(kinds) + 1
    for rule in rules.values():
        assert (rule.showErrorMessage, rule.showInputMessage, rule.allow_blank) == (True, True, True)
        assert rule.errorStyle in (None, "stop")
        assert {0 < len(title) <= 32 for title in (rule.promptTitle, rule.errorTitle)} == {True}
        assert {0 < len(text) <= 225 for text in (rule.prompt, rule.error)} == {True}
    assert rules[f"{CATEGORY}{FIRST}:{CATEGORY}{last}"].formula1 == "$B$14:$B$15"
    assert rules[f"{FABRIC}{FIRST}:{FABRIC}{last}"].formula1.endswith("!$A$6:$A$6")
    assert words.words["xlsx-prompt-pieces"] == rules[f"{QUANTITY}{FIRST}:{QUANTITY}{last}"].prompt


def test_areas_of_the_bill_have_names() -> None:
    """Columns and totals of the bill have defined names; those of columns reach one row below the last line."""
    assert not [name for name in opened(make()).defined_names if "hardware" in name or "share" in name]
    book = opened(charged(make(WITH_SHARES[:-1]), SHARES[:1]))
    end = FIRST + len(WITH_SHARES) - 1 + EMPTY_LINES
    areas = {name: next(iter(book.defined_names[name].destinations))[1] for name in book.defined_names}
    columns = {
        "bom_categories": CATEGORY,
        "bom_fabrics": "I",
        "bom_roles": "J",
        "bom_part_numbers": "B",
        "bom_descriptions": "K",
        "bom_quantities": "E",
        "bom_spares": "F",
        "bom_prices": "G",
        "bom_discounts": "H",
        "bom_amounts": AMOUNT,
        "bom_hardware_amounts": HARDWARE,
    }
    assert {name: areas[name] for name in columns} == {
        name: f"${column}${FIRST}:${column}${end}" for name, column in columns.items()
    }
    totals = ("bom_unpriced", "bom_list", "bom_discount", "bom_net", "bom_tax_rate", "bom_tax", "bom_amount")
    rows = [int(areas[name].rpartition("$")[2]) for name in totals]
    assert rows == list(range(rows[0], rows[0] + len(totals)))
    assert {*columns, *totals, "bom_hardware", "bom_share_1"} == set(areas)
    page = (Path(__file__).parents[2] / "docs" / "workbook.md").read_text("utf-8")
    described = [
        name for row in page.splitlines() if row.startswith("| `bom_") for name in row.split("|")[1].split(", ")
    ]
    assert sorted(name.strip(" `") for name in described) == sorted(areas)


def test_the_bill_by_fabric_and_role_adds_up() -> None:
    """Both tables come to the net amount, and the cells that compare them with it say 0."""
    document = make()
    rows = [[cell.value for cell in row] for row in sheet(opened(document, values=True), GROUPS).iter_rows()]
    net = float(document.totals.list - document.totals.discount)
    assert [row[3] for row in rows if row[0] == "Total"] == [pytest.approx(net)] * 2
    assert next(row[:4] for row in rows if row[0] == "compute") == ["compute", 701250, 0, 701250]
    assert ["Outside any fabric", "patch", 13, pytest.approx(76.01)] in [row[:4] for row in rows]
    assert [row[3] for row in rows if "Difference from the net amount of the bill" in row] == [0, 0]


def test_a_category_without_a_price_is_not_free() -> None:
    """A category none of whose lines has a price says so, beside the number of such lines."""
    document = make((*LINES[:4], ("rack", "Rack", 4, 0, None, Fraction(0))))
    page = sheet(opened(document, values=True), "Summary")
    assert [by_label(page, "rack").offset(column=column).value for column in range(3)] == ['No "price"', 0, 1]
    assert [by_label(page, "cable").offset(column=column).value for column in (0, 2)] == [pytest.approx(76.01), 0]


def test_no_chart_without_prices() -> None:
    """A chart stands on the cover as soon as something has a price."""
    assert len(sheet(opened(make()), "Summary")._charts) == 1
    assert sheet(opened(make(LINES[-1:])), "Summary")._charts == []


@pytest.mark.parametrize(
    ("heights", "together", "ends"),
    [
        ([10] * 8, {}, []),
        ([10] * 8, {7: 8}, []),
        ([10] * 10, {8: 10}, [7]),
        ([10] * 25, {19: 25}, [18]),
        ([10] * 32, {30: 31}, [29]),
        ([10] * 16, {14: 15}, []),
        ([10] * 12, {2: 3, 9: 12}, [8]),
        ([200], {1: 1}, []),
    ],
)
def test_pages_end_before_what_belongs_together(
    heights: Sequence[float], together: Mapping[int, int], ends: Sequence[int]
) -> None:
    """A page of 100 points ends before a block that would be split, and nowhere else."""
    assert page_ends(heights, together, 100, 10) == ends


def test_evidence_is_for_the_screen() -> None:
    """An area without content keeps derivations off the paper; the summary names the sheets that are not printed."""
    book = opened(make())
    page = sheet(book, "Derivations")
    assert page[page.print_area.rpartition("!")[2].replace("$", "")].value is None
    named = ENGLISH.word("xlsx-on-screen", names="Derivations")
    assert [cell.value for cell in sheet(book, "Summary")["A"]][-1] == named


def test_totals_are_printed_on_one_page() -> None:
    """A long bill has a page end before its subtotals and totals; a short one is fitted to its page."""
    lines = [("cable", f"part {number}", 1, 0, "1", Fraction(0)) for number in range(100)]
    page = sheet(opened(make(lines)), BILL)
    [end] = page.row_breaks.brk
    assert page.cell(end.id + 1, 2).value == "Visible lines (follows the filter)"
    assert not page.sheet_properties.pageSetUpPr.fitToPage
    assert sheet(opened(make()), BILL).sheet_properties.pageSetUpPr.fitToPage


def test_parties_and_terms_stand_on_the_cover() -> None:
    """Vendor and customer with their addresses, once each, and chapters that are text alone."""
    document = make(sections=(Section("terms", "Terms", text=("Rounded to the cent.",)),))
    document = replace(document, parties=(AddressBlock("Customer", ("Example", "1 High Street")),))
    page = sheet(opened(document), "Summary")
    assert by_label(page, "Customer").value == "Example\n1 High Street"
    column = [cell.value for cell in page["A"]]
    assert column.count("Customer") == 1
    assert column[column.index("Terms") + 1] == "Rounded to the cent."


def test_same_document_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workbooks of one document are equal to the byte, whatever the clock and the time zone say."""
    before = workbook(make(), ENGLISH).content
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    assert workbook(make(), ENGLISH).content == before
    archive = zipfile.ZipFile(io.BytesIO(before))
    assert {entry.date_time for entry in archive.infolist()} == {(2000, 1, 1, 0, 0, 0)}
    assert archive.namelist() == sorted(archive.namelist())
    properties = load_workbook(io.BytesIO(before)).properties
    assert (properties.title, properties.creator) == ("Cluster", None)
    assert properties.created == properties.modified
    assert str(properties.created) == "2000-01-01 00:00:00"


@pytest.mark.parametrize("clock", [0, 4_500_000_000], ids=["1970", "2112"])
def test_a_clock_that_no_zip_file_can_hold(clock: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flat battery sets clocks back to 1970, and zip files begin in 1980 and end in 2107."""
    before, then = workbook(make(), ENGLISH).content, time.gmtime(clock)
    with monkeypatch.context() as patch:
        patch.setattr("time.localtime", lambda *_: then)
        made = workbook(make(), ENGLISH).content
    assert made == before


@pytest.mark.parametrize("how", [(1, zlib.Z_DEFAULT_STRATEGY), (9, zlib.Z_FIXED), (6, zlib.Z_HUFFMAN_ONLY)])
def test_another_zlib(how: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """zlib-ng and others find other matches in the same text: the bytes of a document do not depend on them."""
    level, strategy = how
    before, compressor = workbook(make(), ENGLISH).content, zlib.compressobj

    def other(_level: int = 0, method: int = zlib.DEFLATED, wbits: int = 15, *_: object) -> object:
        return compressor(level, method, wbits, zlib.DEF_MEM_LEVEL, strategy)

    monkeypatch.setattr("zlib.compressobj", other)
    assert workbook(make(), ENGLISH).content == before


def test_words_of_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes are numbers of 32 bits on some machines: the order of sets is another there."""
    before = workbook(make(), ENGLISH).content
    assert before.count(b"<mergeCell ") > EMPTY_LINES
    monkeypatch.setattr(CellRange, "__hash__", lambda cells: -7 * cells.min_row - cells.min_col)
    assert workbook(make(), ENGLISH).content == before


def read_sheet(content: bytes, name: str, **options: bool) -> list[list[object]]:
    """The rows of a sheet as a reader that is not openpyxl sees them."""
    from python_calamine import CalamineWorkbook

    sheet = CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_name(name)
    rows: list[list[object]] = sheet.to_python(**options)
    return rows


def test_another_reader_sees_the_same() -> None:
    """A reader that never calculates finds numbers and words where formulas stand."""
    document = make()
    rows = read_sheet(workbook(document, ENGLISH).content, BILL)
    assert rows[FIRST - 1][:4] == ["switch", "QM9700", 701250.0, 32.0]
    assert rows[FIRST + len(LINES) - 2][2] == 'No "price"'
    assert rows[-1][1:3] == ["Total amount, at least", float(document.totals.amount)]


def test_charges_are_shares_of_the_hardware() -> None:
    """The price of such a charge is a formula over its share, which is an input, and what hardware alone comes to."""
    document = charged(make(WITH_SHARES), SHARES)
    book, values = opened(replace(document, protected=True)), opened(document, values=True)
    page, shown = sheet(book, BILL), sheet(values, BILL)
    freight = FIRST + len(LINES) + 1
    assert [shown[f"{HARDWARE}{row}"].value for row in range(FIRST, freight + 2)] == [
        *(701250, 0.9, 1.01, 74.1, None),
        *(None, None, None),
    ]
    assert [shown[f"G{row}"].value for row in (freight, freight + 1)] == [float(FREIGHT), float(SUPPORT)]
    unknown = 'OR(bom_share_2="",COUNT(bom_hardware_amounts)=0)'
    assert page[f"G{freight + 1}"].value == f'=IF({unknown},"",ROUND(bom_share_2*bom_hardware,2))'
    assert page[f"{HARDWARE}{freight}"].value is None
    assert page.column_dimensions[HARDWARE].hidden
    assert page.row_dimensions[FIRST - 1].height == sheet(opened(make()), BILL).row_dimensions[FIRST - 1].height
    places = {
        name: next(iter(book.defined_names[name].destinations))[1].replace("$", "") for name in book.defined_names
    }
    assert shown[places["bom_hardware"]].value == float(HARDWARE_COMES_TO)
    for number, (name, share) in enumerate(zip(("freight", "support"), (0.015, 0.04), strict=True), 1):
        cell = page[places[f"bom_share_{number}"]]
        assert (cell.value, cell.protection.locked) == (share, False)
        assert page.cell(cell.row, cell.column - 1).value == f"charge of {name}: share of the hardware"
    assert page[f"G{freight}"].protection.locked


@pytest.mark.parametrize(
    ("code", "notes"),
    [
        (
            "en",
            {
                "Switches": "Book: a letter; 1 October 2026; estimate; old; 900.00 EUR to 1,100.00 EUR",
                "Servers": "Book; 1,000.00 EUR",
                "Services": "2 % of the hardware after discount",
            },
        ),
        (
            "zh",
            {
                "交换机": "Book：a letter；2026年10月1日；估算；过时；900.00 EUR 至 1,100.00 EUR",
                "服务器": "Book；1,000.00 EUR",
                "服务": "硬件未税金额的 2%",
            },
        ),
    ],
)
def test_unit_prices_tell_where_they_come_from(code: str, notes: Mapping[str, str], tmp_path: Path) -> None:
    """The note of a unit price has source, date, doubts, range and its own currency, in the language of the quote."""
    switch = "{part: qm9700, price: 1000, min: 900, max: 1100, date: 2026-10-01, source: a letter, estimate: true}"
    server = "{part: dgx-h100, price: 1000}"
    book = f"bomgen_prices: 1\nname: Book\ncurrency: EUR\nprices:\n  - {switch}\n  - {server}\n"
    (tmp_path / "book.yaml").write_text(book, encoding="utf-8")
    terms = {
        "price_book": "book.yaml",
        "currency": "USD",
        "exchange": {"EUR": {"rate": 1.25, "date": "2026-12-01"}},
        "charges": [{"kind": "freight", "share": "2%"}],
        "language": code,
        "date": "2027-02-01",
    }
    plan = {"bomgen": 1, "name": "p", "cluster": {"gpu": "h100-sxm", "server": "dgx-h100", "servers": 8}}
    plan |= {"fabrics": {"compute": {"switch": "qm9700"}}, "quote": terms}
    report = work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), tmp_path, tmp_path))
    page = load_workbook(io.BytesIO(render(report, ("xlsx",))["report.xlsx"])).worksheets[1]
    prices = {row[0].value: row[7].comment for row in page.iter_rows(min_row=FIRST) if row[7].comment}
    assert {category: comment.text for category, comment in prices.items() if comment} == notes


def png(width: int, height: int) -> bytes:
    """A red picture (PNG, second edition, W3C 2003)."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = (b"\0" + b"\xff\0\0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def jpeg(width: int, height: int, frame: int = 0xC0) -> bytes:
    """The segments of a JPEG up to its frame (ITU-T T.81, annex B), with a fill byte before a table of codes."""
    frame_header = struct.pack(">BBHBHHB", 0xFF, frame, 8, 8, height, width, 0)
    return b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc4\x00\x03c" + frame_header + b"\xff\xd9"


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (png(30, 20), (30, 20)),
        (png(300, 90), (150, 45)),
        (png(640, 2), (320, 1)),
        (jpeg(200, 100), (90, 45)),
        (jpeg(10, 8, 0xC2), (10, 8)),
        (jpeg(10, 0), None),
        (jpeg(10, 8)[:16], None),
        (b"\xff\xd8\xff\xe0\x00\x02nothing", None),
        (png(30, 20)[:20], None),
        (png(30, 20).replace(b"IHDR", b"IHDS"), None),
        (b"<svg xmlns='http://www.w3.org/2000/svg' width='3' height='3'/>", None),
    ],
)
def test_the_logo_stands_above_the_title(given: bytes, size: tuple[int, int] | None) -> None:
    """A picture whose size is known stands in a row of its own, small enough; others are left out."""
    content = workbook(replace(make(), logo=logo(given)), ENGLISH).content
    assert content == workbook(replace(make(), logo=logo(given)), ENGLISH).content
    archive = zipfile.ZipFile(io.BytesIO(content))
    media = [name for name in archive.namelist() if name.startswith("xl/media/")]
    first, second, *_ = (row[0] for row in read_sheet(content, "Summary", skip_empty_area=False))
    if size is None:
        assert (media, first) == ([], "Cluster")
        return
    [name] = media
    assert archive.read(name) == given
    assert name.rpartition(".")[2].encode() in archive.read("[Content_Types].xml")
    [drawing] = [archive.read(name).decode() for name in archive.namelist() if name.startswith("xl/drawings/drawing")]
    [(wide, high)] = re.findall(r'<(?:xdr:)?ext cx="(\d+)" cy="(\d+)" ?/><(?:xdr:)?pic>', drawing)
    # 914400 units an inch, 96 pixels an inch (ECMA-376, 20.1.2.1).
    assert (int(wide), int(high)) == (size[0] * 9525, size[1] * 9525)
    assert (first, second) == ("", "Cluster")
    [height] = re.findall(r'<row r="1"[^>]* ht="([0-9.]+)"', archive.read("xl/worksheets/sheet1.xml").decode())
    assert float(height) * 96 / 72 > size[1]


def calculated(program: Path, directory: Path, files: Mapping[str, bytes]) -> Mapping[str, Workbook]:
    """What LibreOffice makes of workbooks whose formulas have lost their values."""
    for name, content in files.items():
        load_workbook(io.BytesIO(content)).save(directory / f"{name}.xlsx")
    arguments = [f"-env:UserInstallation={(directory / 'profile').as_uri()}", "--headless", "--convert-to", "xlsx"]
    sources = [str(directory / f"{name}.xlsx") for name in files]
    command = [str(program), *arguments, "--outdir", str(directory / "out"), *sources]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    return {name: load_workbook(directory / "out" / f"{name}.xlsx", data_only=True) for name in files}


def test_libreoffice_comes_to_the_same_values(tmp_path: Path, judge: Judge) -> None:
    """Calculated anew, every formula gives the value beside it; with other numbers the totals follow."""
    halves: list[Line] = [
        (
            ("gpu", "Gpu", "*", "=x")[number % 4],
            f"part {number}",
            number * 7919 % 3000 + 1,
            number % 3,
            f"{number * 104729 % 10**5}.{number * 31 % 100:02d}5",
            Fraction(number * 35 % 100, 100),
        )
        for number in range(300)
    ]
    documents = {
        "plain": make(),
        "empty": make((), tax=None),
        "halves": make(halves, tax=Fraction(19, 100)),
        "yen": make(halves, "JPY", "1"),
        "shares": charged(make(WITH_SHARES), SHARES),
        "nothing to share": charged(
            make(
                [
                    ("switch", "SN2201", 4, 0, None, Fraction(0)),
                    ("switch", "QM9700", 4, 0, "0.00", Fraction(0)),
                    ("Software", "licence", 5, 0, "100.00", Fraction(0)),
                    ("Services", "freight", 1, 0, None, Fraction(0)),
                ]
            ),
            SHARES[:1],
            in_stock=[1],
        ),
    }
    files = {name: workbook(document, ENGLISH).content for name, document in documents.items()}
    changed = load_workbook(io.BytesIO(files["plain"]))
    sheet(changed, BILL)[f"{QUANTITY}{FIRST}"].value = 40
    sheet(changed, BILL)[f"{PRICE}{FIRST + len(LINES) - 1}"].value = 1000
    buffer = io.BytesIO()
    changed.save(buffer)
    results = calculated(judge("soffice"), tmp_path, {**files, "changed": buffer.getvalue()})
    for name, content in files.items():
        formulas, ours = load_workbook(io.BytesIO(content)), load_workbook(io.BytesIO(content), data_only=True)
        for page in formulas.worksheets:
            for row in page.iter_rows():
                for cell in row:
                    if cell.data_type == "f":
                        theirs = results[name][page.title][cell.coordinate].value
                        value = ours[page.title][cell.coordinate].value
                        expected = value if isinstance(value, str) or value is None else pytest.approx(value, rel=1e-14)
                        assert theirs == expected, (name, page.title, cell.coordinate)
    expected = make(
        (*[("switch", "QM9700", 40, 1, "25000", Fraction(3, 20))], *LINES[1:4], (*LINES[4][:4], "1000", Fraction(0)))
    )
    found = named(changed, results["changed"])
    assert found["bom_amount"] == pytest.approx(float(expected.totals.amount))
    assert "Total amount" in [cell.value for cell in sheet(results["changed"], BILL)["B"]]
