"""How a bill is read: its sheets, its columns, its quantities, its currencies, and where its lines stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner

from bomgen.catalog.files import Catalog
from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.core.resources import languages
from bomgen.reading.bill_columns import ROLES
from bomgen.reading.bills import SentBill, require_whole
from bomgen.reading.columns import read_asked
from bomgen.xray.contents import open_bill
from bomgen.xray.inspection import inspect
from bomgen.xray.laws import name_place
from bomgen.xray.parts import check_prices

CATALOG = Catalog()
Sheets = Mapping[str, Sequence[Sequence[object]]]
HEAD = ["P/N", "Description", "Qty", "Unit price", "Total"]


def read(text: str, asked: str = "") -> SentBill:
    """The bill in a text."""
    return open_bill(text.encode(), "bill.csv", CATALOG, read_asked(asked, ROLES))


def read_workbook(sheets: Sheets, hidden: Sequence[str] = ()) -> SentBill:
    """The bill in a workbook of these sheets."""
    book = openpyxl.Workbook()
    book.remove(book["Sheet"])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        sheet.sheet_state = "hidden" if title in hidden else "visible"
        for row in rows:
            sheet.append(list(row))
    out = BytesIO()
    book.save(out)
    return open_bill(out.getvalue(), "bill.xlsx", CATALOG)


def said(bill: SentBill) -> list[tuple[str, str, str]]:
    """What is said of the numbers of a bill: how sure, what, and where."""
    return [(each.severity, each.code, name_place(each.mark)) for each in check_prices(bill)]


NETWORKS = {
    "Compute": [HEAD, ["MQM9700-NS2F", "switch", 2, 100, 200], ["MMA4Z00-NS", "module", 8, 10, 80]],
    "Storage": [HEAD, ["MQM9700-NS2F", "switch", 1, 100, 100], ["MMA4Z00-NS", "module", 4, 10, 40]],
}


def with_totals(compute: int, storage: int, *below: Sequence[object]) -> Sheets:
    """The sheets of two networks with a total each."""
    compute_rows = [*NETWORKS["Compute"], ["Total", None, None, None, compute]]
    return {
        "Compute": compute_rows,
        "Storage": [*NETWORKS["Storage"], ["Total", None, None, None, storage], *below],
    }


def test_totals_of_sheets() -> None:
    """A total is that of its sheet, or of all sheets; one that is neither is wrong, and its sheet is named."""
    assert said(read_workbook(with_totals(280, 140))) == []
    assert said(read_workbook(with_totals(280, 140, ["Grand total", None, None, None, 420]))) == []
    assert said(read_workbook(with_totals(280, 410))) == [("error", "sum", "Storage!A4")]


def test_totals_of_sections() -> None:
    """Totals below sections, of what is above them together, and one that is of none of these."""
    lines = (
        "Part,Qty,Unit price,Amount\nLeaf,,,\nX,2,10,20\n,,Total,20\nSpine,,,\nY,1,5,5\n,,Total,{}\n,,Grand total,25\n"
    )
    assert said(read(lines.format(5))) == []
    assert said(read(lines.format(6))) == [("error", "sum", "bill.csv:7")]
    taxed = "Part,Qty,Unit price,Amount\nX,2,10,20\n,,Total,20\nY,1,5,5\n,,Total,5\n,,Tax 10%,2.5\n,,Total,27.5\n"
    assert said(read(taxed)) == []


def test_sheets_are_places_and_networks() -> None:
    """Lines of several sheets have places of their own, and belong to the network that their sheet is called."""
    bill = read_workbook({"Cover": [["Proposal"]], **NETWORKS, "Costs": NETWORKS["Compute"]}, hidden=["Costs"])
    assert [(name_place(line.mark), line.place.fabric) for line in bill.lines] == [
        *(("Compute!A2", "compute"), ("Compute!A3", "compute")),
        *(("Storage!A2", "storage"), ("Storage!A3", "storage")),
    ]
    assert (bill.left_out, bill.hidden) == (("Cover", "Costs"), ("Costs",))


SUMMARY = [["Part", "Qty", "Amount"], ["MQM9700-NS2F", 3, 300], ["MMA4Z00-NS", 12, 120]]


def test_what_a_sheet_repeats_is_not_counted_twice() -> None:
    """A sheet that sums up the others is not counted, but for parts that the others lack; other columns may be more."""
    bill = read_workbook({"Summary": [*SUMMARY, ["CORD-C14", 6, None], [None, "Total", 999]], **NETWORKS})
    assert [(line.part, line.quantity) for line in bill.lines if line.mark.sheet == "Summary"] == [("CORD-C14", 6)]
    assert (bill.repeating, bill.left_out, said(bill)) == (("Summary",), (), [])
    same = read_workbook({"All": [HEAD, ["MQM9700-NS2F", "", 3], ["MMA4Z00-NS", "", 12]], **NETWORKS})
    assert same.repeating == ("All",)
    # Other columns and other pieces: another part of the bill. Two equal tables: two equal clusters.
    more = read_workbook({**NETWORKS, "Spares": [["Part", "Qty"], ["MQM9700-NS2F", 1], ["MMA4Z00-NS", 2]]})
    assert (sum(line.pieces for line in more.lines), more.repeating) == (18, ())
    pods = read_workbook({"Pod 1": NETWORKS["Compute"], "Pod 2": NETWORKS["Compute"]})
    assert sum(line.pieces for line in pods.lines) == 20


def test_a_table_of_zeros_repeats_no_other() -> None:
    """A bill whose quantities are all 0 is the only table: it repeats none, though the others have 0 pieces, too."""
    bill = read_workbook({"Bill": [["Part", "Qty"], ["MQM9700-NS2F", 0], ["MMA4Z00-NS", 0]]})
    assert ([line.quantity for line in bill.lines], bill.repeating) == ([0, 0], ())


def test_own_quote(tmp_path: Path) -> None:
    """Every part of a quote of bomgen's own is counted once; the cords of a DGX ship in its box and are no line."""
    plan = tmp_path / "own.yaml"
    plan.write_text("bomgen: 1\nname: own\ncluster: {server: dgx-h100, servers: 4}\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["build", str(plan), "-f", "xlsx", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    quote = next(tmp_path.rglob("quote.xlsx"))
    bill = open_bill(quote.read_bytes(), "quote.xlsx", CATALOG)
    assert [(line.id, line.quantity) for line in bill.lines] == [("dgx-h100", 4)]
    assert bill.repeating == ("By part number",)


NO_NUMBER = ("planning-part", "no-part-number", "quote-any-make", "quote-configured", "quote-number-later")
"""Words of a quote that stand where a part number would."""


@pytest.mark.parametrize("key", NO_NUMBER)
@pytest.mark.parametrize("code", languages())
def test_parts_without_a_number(code: str, key: str) -> None:
    """What a quote of bomgen writes instead of a part number is read as none: the description names the part."""
    word = language(code).word(key)
    bill = read(f"Part\tDescription\tQty\n{word}\tQM9700\t2\n{word}\tPatch cord\t8\n")
    assert [(line.part, line.id, line.shown, line.quantity) for line in bill.lines] == [
        ("", "qm9700", "QM9700", 2),
        ("", "", "Patch cord", 8),
    ]


@pytest.mark.parametrize("code", languages())
def test_own_quote_with_parts_without_a_number(code: str, tmp_path: Path) -> None:
    """No line of a quote that is read back has one of these words as its part number."""
    options = ("-f", "xlsx", "--set", f"quote.language={code}", "-o", str(tmp_path))
    done = CliRunner().invoke(main, ["build", "plans/llama65b-quote.yaml", *options])
    assert done.exit_code == 0, done.output
    quote = next(tmp_path.rglob("quote.xlsx")).read_bytes()
    sheets = openpyxl.load_workbook(BytesIO(quote), read_only=True)
    cells = {str(cell).lower() for sheet in sheets for row in sheet.iter_rows(values_only=True) for cell in row}
    words = {language(code).word(key).lower() for key in NO_NUMBER}
    lines = open_bill(quote, "quote.xlsx", CATALOG).lines
    assert cells & words
    assert lines
    assert not words & {line.part.lower() for line in lines}


@pytest.mark.parametrize(
    ("rows", "quantities", "findings"),
    [
        # prices say that a point groups thousands; without them 1.024 is a thousand, or no whole number
        ('X;1.536;"25.000,00 €"', [1536], []),
        ("X;1.024;", [None], [("doubt", "quantity")]),
        ('X;1,024;"25,000.00 €"', [1024], []),
        ("X;-8;\nY;(128);\nZ;8.5;\nA;2.56E2;\nB;999999999999;\nC;=4+4;", [None] * 6, [("doubt", "quantity")] * 6),
        ("X;8 pcs;\nY;128.0;\nZ;as needed;", [8, 128, None], [("unknown", "quantity")]),
        # what has no quantity is counted nowhere: said where a number names a part
        ("MMA4Z00-NS;;\nincluded;;\nX;2;", [None, 2], [("unknown", "no-quantity")]),
    ],
)
def test_quantities(rows: str, quantities: list[int | None], findings: list[tuple[str, str]]) -> None:
    """Pieces are read by the decimal style of the bill; what cannot be read is said, with what stands there."""
    bill = read(f"Part;Qty;Unit price\n{rows}\n")
    assert [line.quantity for line in bill.lines] == quantities
    assert [each[:2] for each in said(bill)] == findings


def test_formulas_without_a_value() -> None:
    """Amounts that no program computed are said to be unchecked; their total is that of pieces times price."""
    lines = [["X", "", 2, 10, "=C2*D2"], ["Y", "", "=1+1", 5, 10]]
    bill = read_workbook({"Offer": [HEAD, *lines, ["Z", "", 1, 5, 5], ["Total", None, None, None, 35]]})
    assert said(bill) == [("unknown", "quantity", "Offer!A3"), ("unknown", "no-values", "Offer!A2")]
    wrong = read_workbook({"Offer": [HEAD, lines[0], ["Z", "", 1, 5, 5], ["Total", None, None, None, 26]]})
    assert said(wrong)[-1] == ("error", "sum", "Offer!A4")


def test_currencies() -> None:
    """Lines in another currency than most are said: an error where a total adds them up."""
    mixed = 'Part,Qty,Unit price,Total\nX,1,$10.00,$10.00\nY,1,$5.00,$5.00\nZ,1,"€3.00","€3.00"\n'
    assert said(read(mixed)) == [("doubt", "currencies", "bill.csv:4")]
    assert said(read(f"{mixed},,Total,$18.00\n")) == [("error", "currencies", "bill.csv:4")]
    assert said(read("Part,Qty,Price (USD)\nX,1,$10\nY,1,5\n")) == []
    assert said(read("Part,Qty,Price,Currency\nX,1,10,USD\nY,1,5,EUR\n")) == [("doubt", "currencies", "bill.csv:3")]


def test_parts_at_no_price() -> None:
    """What is in stock stands at 0, which is no other price."""
    lines = "Part,Qty,Unit price,Total\nMMA4Z00-NS,8,900,7200\nMMA4Z00-NS,2,0,0\n"
    assert said(read(lines)) == []
    assert said(read(f"{lines}MMA4Z00-NS,1,800,800\n")) == [("doubt", "two-prices", "bill.csv:4")]


def test_amounts_without_a_discount() -> None:
    """No discount is mentioned where there is none."""
    [finding] = check_prices(read("Part,Qty,Unit price,Total\nX,2,10,21\n"))
    assert str(finding.message) == "the amount is 21, but 2 pieces at 10 come to 20"
    [finding] = check_prices(read("Part,Qty,Unit price,Disc. %,Total\nX,2,10,10%,21\n"))
    assert str(finding.message) == "the amount is 21, but 2 pieces at 10 less 10 % come to 18"


@pytest.mark.parametrize(
    "header",
    [
        *("Mfr PN,Desc,Total Qty", "Part #,Item Description,Ordered Qty", "PN,Description,QTY 1"),
        *("Catalog #,Description,Units", "Option,Description,Count", "Référence,Désignation,Quantité"),
        *("Artikelnummer,Bezeichnung,Menge", "物料号,名称,数量(台)", "SKU,Name,Quantity ordered"),
    ],
)
def test_headings(header: str) -> None:
    """Columns as sellers call them."""
    bill = read(f"{header}\nMQM9700-NS2F,switch,6\n")
    assert [(line.part, line.description, line.quantity) for line in bill.lines] == [("MQM9700-NS2F", "switch", 6)]


def test_designs_are_tried_for_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first network for which nothing is left is named."""
    rows = "Part number,Fabric,Qty\nMQM9700-NS2F,compute,6\nMQM9700-NS2F,storage,2\n"
    monkeypatch.setattr("bomgen.xray.inspection.MAX_STEPS", 1 << 14)
    found = inspect(open_bill(rows.encode(), "bill.csv", Catalog())).found
    [said] = [each.message for each in found.findings if each.message.code == "xray-too-much"]
    assert said.parameters["fabric"] == "storage"


def test_a_bill_is_read_up_to_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond the most are counted, and a bill that is compared must be whole."""
    rows = "Part number,Qty\n" + "".join(f"MQM9700-NS2F,{number}\n" for number in range(1, 5))
    whole = open_bill(rows.encode(), "bill.csv", Catalog())
    assert require_whole(whole) is whole
    monkeypatch.setattr("bomgen.reading.bills.MAX_LINES", 2)
    bill = open_bill(rows.encode(), "bill.csv", Catalog())
    assert ([line.quantity for line in bill.lines], bill.unread) == ([1, 2], 2)
    assert any(each.message.code == "xray-not-read" for each in inspect(bill).found.findings)
    with pytest.raises(PlanErrors, match="more than 2 lines; give the bill alone"):
        require_whole(bill)


def test_line_numbers_are_no_descriptions() -> None:
    """A column of items that counts the lines is no description; one of items is."""
    bill = read("Item,Part Number,Description,Qty\n10,,Power cord,2\n20,MQM9700-NS2F,switch,1\n")
    assert [line.shown for line in bill.lines] == ["Power cord", "MQM9700-NS2F"]
    assert [line.description for line in read("Item,Qty\nPower cord,2\nswitch,1\n").lines] == ["Power cord", "switch"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "Part,Name,Amount\nX,x,4\n",
            "the quantities: C 'Amount'; choose with: bomgen xray bill.csv --columns quantity=C",
        ),
        ("Code of ours,Qty\nX,4\n", "parts, and none for descriptions: A 'Code of ours'; choose with"),
        ("Part,Qty,Quantity\nX,4,8\n", "2 columns may be the quantity: B 'Qty', C 'Quantity'; choose with"),
        ("Part,Qty,Unit price,Price\nX,4,8,9\n", "2 columns may be the price: C 'Unit price', D 'Price'; choose with"),
        ("a,b\n1,2\n", "or specify them: bomgen xray bill.csv --columns part=A,quantity=C"),
    ],
)
def test_questions(text: str, question: str) -> None:
    """What no heading says, or several do, is asked."""
    with pytest.raises(PlanErrors) as raised:
        read(text)
    assert question in str(raised.value)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        # the only column of pieces, whatever its heading; numbers that count the rows are none
        ("id,name,totalcount\n1,QM9700,24\n2,MFP7E10-N010,100\n", [("QM9700", 24), ("MFP7E10-N010", 100)]),
        ("Item,Part,8 nodes\nNode,DGXH100,8\nSwitch,MQM9700-NS2F,2\n", [("DGXH100", 8), ("MQM9700-NS2F", 2)]),
        ("SN5600,32\nMMA4Z00-NS,200\n", [("SN5600", 32), ("MMA4Z00-NS", 200)]),
        # the rule of a Markdown table is no row
        ("| Item | How many |\n|---|---:|\n| SN5600 | 32 |\n", [("SN5600", 32)]),
        ("| Part | Qty |\n|:--|--:|\n| SN5600 | 32 |\n", [("SN5600", 32)]),
    ],
)
def test_columns_by_content(text: str, lines: list[tuple[str, int]]) -> None:
    """What no heading says, the values say."""
    assert [(line.shown, line.quantity) for line in read(text).lines] == lines


def test_two_columns_of_pieces() -> None:
    """Two columns that may be the quantities are a question that shows both readings."""
    with pytest.raises(PlanErrors, match="B 'site 1: 32 x SN5600, 9 x MMA4Z00-NS', C 'site 2: 7 x SN5600"):
        read("Item,site 1,site 2\nSN5600,32,7\nMMA4Z00-NS,9,90\n")


def test_descriptions_in_a_column_of_parts() -> None:
    """Words in a column called model are no part number with a typing error."""
    [line] = read("model,role,quantity\nHGX H100 SXM5,Compute Node,32\n").lines
    assert (line.id, line.recognition.nearest) == ("hgx-h100-8-generic", ())


def test_columns_as_asked() -> None:
    """Columns by letter and by heading, without a header, with another decimal separator, and left out."""
    amounts = "Part,Name,Amount\nX,x,4\n"
    assert [line.quantity for line in read(amounts, "quantity=C").lines] == [4]
    assert [line.quantity for line in read(amounts, "quantity=amount").lines] == [4]
    assert [(line.part, line.quantity) for line in read("X,x,4\n", "part=A,quantity=C").lines] == [("X", 4)]
    assert [line.quantity for line in read("Part;Qty\nX;1.024\n", "decimal=comma").lines] == [1024]
    priced = read("Part,Qty,Unit price,Price\nX,4,8,9\n", "price=D,currency=usd")
    assert (priced.lines[0].unit_price, priced.currency) == (Decimal(9), "USD")
    assert read("Part,Qty,Total\nX,4,8\n", "amount=none").lines[0].amount is None
    with pytest.raises(PlanErrors, match="no column 'F' for quantity; it has A 'Part', B 'Name', C 'Amount'"):
        read(amounts, "quantity=F")
    with pytest.raises(PlanErrors, match="no sheet 'Offer'"):
        read(amounts, "sheet=Offer")


def test_columns_of_the_command(tmp_path: Path) -> None:
    """The question and its answer as a user meets them."""
    bill = tmp_path / "bill.csv"
    bill.write_text("Item,site 1,site 2\nSN5600,32,7\nMMA4Z00-NS,9,90\n", encoding="utf-8")
    asked = CliRunner().invoke(main, ["xray", str(bill)])
    assert (asked.exit_code, "--columns quantity=B [columns]" in asked.output) == (1, True)
    answered = CliRunner().invoke(main, ["xray", str(bill), "--columns", "quantity=C"])
    assert (answered.exit_code, "quantity = site 2" in answered.output) == (0, True)
    wrong = CliRunner().invoke(main, ["xray", str(bill), "--columns", "qantity=C"])
    assert (wrong.exit_code, "did you mean 'quantity'?" in wrong.output) == (2, True)


def test_zero_bytes() -> None:
    """A broken text is not taken for one in UTF-16: the place of the first zero byte is said."""
    with pytest.raises(PlanErrors, match=r"bill\.csv:2:8: error: a zero byte"):
        open_bill(b"P/N,Desc,Qty\nMQM,lea\0f,4\n", "bill.csv", CATALOG)


def test_ends_of_cables_named_above_the_headings() -> None:
    """Two rows name the columns of a point-to-point sheet, one with a slip; a twin-port module has two ports."""
    above = [None, None, "Source", None, None, None, "Dest", None, None, None, None, "label"]
    headings = ["SEQ", None, "rack", "name", "HCA/port", "Transceiver", "rack", "nae", "port", "Transceiver"]
    rows = [
        [n, None, "R1", f"LEAF-0{n}", f"{n}/{port}", "MMA4Z00-NS", "R2", "SPINE-01", f"{n}/{port}", "MMA4Z00-NS"]
        for n in (1, 2)
        for port in (1, 2)
    ]
    ends = [[*row, "MFP7E10-N007", f"LEAF-0{row[0]}"] for row in rows]
    bill = read_workbook({"Links": [above, [*headings, "Cable Type", "hostname"], *ends]})
    read_rows = {(line.part or line.description, line.place.tier): line.quantity for line in bill.lines}
    assert read_rows == {
        **{("leaf switch", "leaf"): 2, ("spine switch", "spine"): 1, ("MFP7E10-N007", ""): 4},
        **{("MMA4Z00-NS", "leaf"): 2, ("MMA4Z00-NS", "spine"): 2},
    }
