"""The quote says what the customer may see and nothing else, in a few pages, and agrees with every other file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

sys.path.append(str(Path(__file__).parents[1] / "laws"))

from depth import examples, few
from test_whole_plans import built
from whole_plans import Whole, whole_plans

from bomgen.core.document import Cell, Document
from bomgen.core.language import language
from bomgen.core.units import NO_TOTALS, from_minor_units, write_in_capitals
from bomgen.documents.customer_quote import QuotedLine
from bomgen.documents.quote_contents import including_tax
from bomgen.output.registry import DocumentInputs
from bomgen.output.writer import render
from bomgen.pricing.quote import taxes_on
from bomgen.results.result import Report, numbers_of
from bomgen.workflow.library import build

PLANS = sorted((Path(__file__).parents[2] / "plans").glob("*.yaml"))
MOST_PAGES, LINES_A_PAGE = 5, 40
SHORT = ("llama65b-quote", "a100-32-zh", "superpod-b200-16su", "training-and-serving", "gb300-nvl72-xdr")
"""Plans whose Markdown is to have at most so many lines."""
MOST_LINES = 200
PLACE = re.compile(r"\.(yaml|yml|csv):\d+|\bplan\.yaml\b|\[[a-z]+-[a-z-]+\]\s*$", re.MULTILINE)
"""A place in a file, or the rule at the end of a warning."""
INTERNAL = re.compile(r"\b(bomgen|confidence|derivation|unverified|margin|assumed|ceil\()", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of all examples."""
    return tmp_path_factory.mktemp("quotes")


def cells(document: Document) -> Iterator[Cell]:
    """Every cell of every table."""
    return (
        cell for section in document.sections for table in section.tables for row in table.rows for cell in row.cells
    )


def texts(files: dict[str, bytes]) -> Iterator[str]:
    """What a reader sees of each file of a quote, and what hides in it."""
    yield files["quote.md"].decode("utf-8")
    yield re.sub(r"<style>.*?</style>", "", files["quote.html"].decode("utf-8"), flags=re.DOTALL)
    book = load_workbook(BytesIO(files["quote.xlsx"]))
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.comment is None
                assert cell.hyperlink is None
                yield "" if cell.value is None else str(cell.value)


def given_words(report: Report) -> str:
    """What the user wrote, which a quote may repeat."""
    return report.content.decode("utf-8", "replace")


@given(whole=whole_plans())
@settings(max_examples=examples(15))
def test_a_quote_has_nothing_of_the_seller_or_the_program(folder: Path, whole: Whole) -> None:
    """No derivation, no place, no warning, no rule, no confidence; and it agrees with bom.json to the cent."""
    report = built(whole, folder)
    if report is None:
        return
    page = DocumentInputs(report, ()).quote
    assert not [cell for cell in cells(page) if cell.why or cell.note]
    assert not [section for section in page.sections if section.notes or section.derivations]
    files = render(report, ("quote.md", "quote.html", "quote.xlsx", "json", "csv"))
    told = [str(language(report.plan.quote.language).message(problem.message)) for problem in report.problems]
    paths = [".".join(path) for path in numbers_of(report) if len(path) > 2]
    own = given_words(report)
    for text in texts(files):
        assert not PLACE.search(text)
        assert not [word for word in INTERNAL.findall(text) if word.lower() not in own.lower()]
        assert not [each for each in (*told, *paths) if each in text]
    _agree(report, page, files)


def _agree(report: Report, page: Document, files: dict[str, bytes]) -> None:
    """Bill, order list and workbook come to what bom.json says."""
    bom = json.loads(files["bom.json"])
    totals = bom["totals"]
    lines = [line for line in bom["lines"] if line["amount"] is not None]
    [bill] = page.section("bill").tables
    at = {column.key: index for index, column in enumerate(bill.columns)}
    amounts = [row.cells[at["amount"]].value for row in bill.rows]
    net = Decimal(totals["list"]) - Decimal(totals["discount"])
    assert sum(amount for amount in amounts if isinstance(amount, Decimal)) == net
    assert sorted(str(amount) for amount in amounts if amount is not None) == sorted(line["amount"] for line in lines)
    assert page.totals.amount == Decimal(totals["amount"])
    pieces = sum(_number(row.cells[at["quantity"]]) + _number(row.cells[at["spare"]]) for row in bill.rows)
    listed = sum(_number(row.cells[3]) for row in page.section("order-list").tables[-1].rows if len(row.cells) == 4)
    assert pieces + listed == sum(line["quantity"] + line["spare"] for line in bom["lines"])
    if totals["complete"]:
        shown = language(report.plan.quote.language).money(page.totals.amount, page.totals.currency)
        assert shown in files["quote.md"].decode("utf-8")
    book = load_workbook(BytesIO(files["quote.xlsx"]), data_only=True)
    [(sheet, place)] = book.defined_names["bom_amount"].destinations
    assert Decimal(str(book[sheet][place].value)) == Decimal(totals["amount"])
    assert len(book.sheetnames) <= 5


def _number(cell: Cell) -> Any:
    return cell.value or 0


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize("plan", few(PLANS, 6), ids=lambda path: path.stem)
def test_a_quote_has_few_pages(plan: Path) -> None:
    """Every plan gives up to 5 pages, and one more for each 40 lines beyond those."""
    from weasyprint import HTML

    result = build(plan)
    files = result.files("quote.html", "quote.md", "json")
    pages = HTML(string=files["quote.html"].decode("utf-8")).render().pages
    lines = len(json.loads(files["bom.json"])["lines"])
    assert len(pages) <= MOST_PAGES + ceil(max(lines - LINES_A_PAGE, 0) / LINES_A_PAGE)
    if plan.stem in SHORT:
        assert files["quote.md"].count(b"\n") <= MOST_LINES


@pytest.mark.parametrize(
    ("amount", "capitals"),
    [
        ("1409.50", "人民币壹仟肆佰零玖元伍角"),
        ("6007.14", "人民币陆仟零柒元壹角肆分"),
        ("1680.32", "人民币壹仟陆佰捌拾元零叁角贰分"),
        ("107000.53", "人民币壹拾万柒仟元零伍角叁分"),
        ("16409.02", "人民币壹万陆仟肆佰零玖元零贰分"),
        ("325.04", "人民币叁佰贰拾伍元零肆分"),
        ("0", "人民币零元整"),
        ("0.05", "人民币伍分"),
        ("100000000", "人民币壹亿元整"),
        ("100010000", "人民币壹亿零壹万元整"),
        ("100007000", "人民币壹亿零柒仟元整"),
    ],
)
def test_amounts_in_capitals(amount: str, capitals: str) -> None:
    """The first six are the examples of the rules of the People's Bank of China (支付结算办法, annex 1)."""
    assert write_in_capitals(Decimal(amount)) == capitals


def test_a_chinese_quote_has_the_amount_in_capitals() -> None:
    """Where the currency is the yuan, and the sum is a total; networks are called by their role."""
    rate = {"USD": {"rate": 7.1, "date": "2026-11-20"}}
    settings = {"quote.language": "zh", "quote.currency": "CNY", "quote.exchange": rate}
    text = build("plans/llama65b-quote.yaml", set=settings).files("quote.md")
    assert "大写金额：人民币" in text["quote.md"].decode("utf-8")
    assert "参数面网络（计算）" in text["quote.md"].decode("utf-8")
    few = quoted("llama65b-quote", **settings, **{"quote.price_book": "../prices/example-optics-2026q4.yaml"})
    assert "价格：" in few
    assert "大写金额" not in few


AMOUNTS = st.lists(
    st.tuples(st.sampled_from(["server", "cable", "service"]), st.integers(0, 10**9)),
    min_size=1,
    max_size=12,
)
RATES = st.sampled_from([Fraction(0), Fraction(6, 100), Fraction(13, 100), Fraction(1, 3)])


@settings(max_examples=examples(200))
@given(AMOUNTS, RATES, RATES)
def test_amounts_including_tax_add_up_to_the_total(
    amounts: list[tuple[str, int]], usual: Fraction, own: Fraction
) -> None:
    """To the cent; no line but the largest differs from its own amount with tax by more than half a cent."""
    lines = [
        QuotedLine(
            *(f"{at}", category, "", None, None, "", "", 1, 0),
            *(from_minor_units(cents, "CNY"), Fraction(0), from_minor_units(cents, "CNY")),
            *(False, None, False, True),
        )
        for at, (category, cents) in enumerate(amounts)
    ]
    rates = {"default": usual, "service": own}
    taxes = taxes_on(((line.category, line.amount) for line in lines), rates, "CNY")
    net = sum((line.amount for line in lines if line.amount is not None), Decimal(0))
    totals = NO_TOTALS._replace(currency="CNY", list=net, taxes=taxes)
    totals = totals._replace(amount=net + totals.tax)
    found = [line.amount or Decimal(0) for line in including_tax(lines, totals)]
    assert sum(found, Decimal(0)) == totals.amount
    exact = [Fraction(line.amount or 0) * (1 + rates.get(line.category, usual)) for line in lines]
    apart = [abs(Fraction(amount) - wanted) for amount, wanted in zip(found, exact, strict=True)]
    assert sum(each > Fraction(5, 1000) for each in apart) <= 1


def test_a_chinese_quote_shows_prices_including_tax() -> None:
    """Unless the plan says otherwise; other languages do if it says so. The data are the same."""
    built = {
        (language, prices): build(
            "plans/llama65b-quote.yaml",
            set={"quote.language": language, **({"quote.prices": prices} if prices else {})},
        ).files("quote.md", "bom.json")
        for language, prices in (("zh", None), ("zh", "exclusive"), ("en", None), ("en", "inclusive"))
    }
    text = {how: files["quote.md"].decode("utf-8") for how, files in built.items()}
    assert "含税单价" in text["zh", None]
    assert "含税单价" not in text["zh", "exclusive"]
    assert "未税单价" in text["zh", "exclusive"]
    assert "incl. tax" not in text["en", None]
    assert "Unit price incl. tax" in text["en", "inclusive"]
    totals = [json.loads(files["bom.json"])["totals"] for files in built.values()]
    assert all(each == totals[0] for each in totals)


@pytest.mark.parametrize(
    ("inclusive", "title", "servers"),
    [(True, "Amount incl. tax (USD)", "57,566,719.99"), (False, "Amount (USD)", "50,944,000.00")],
)
def test_subtotals_are_those_of_the_bill(inclusive: bool, title: str, servers: str) -> None:
    """256 servers at 199,000 USD and 13 % on them: on the first page as in the bill, with net amount, tax and total.

    The cent is what lines rounded one by one and the tax on their sum differ by: the largest line takes it.
    """
    text = quoted("llama65b-quote", **{"quote.prices": "inclusive" if inclusive else "exclusive"})
    table = text.partition("### Subtotals by category")[2].partition("## ")[0]
    rows = [[each.strip(" *") for each in row.split("|")[1:-1]] for row in table.strip().splitlines()]
    assert rows[0] == ["Category", "Quantity", title]
    assert rows[2] == ["Servers", "256", servers]
    assert f"**{servers} USD** |" in text
    amounts = [Decimal(row[2].replace(",", "")) for row in rows[2:]]
    *categories, net, tax, total = amounts
    assert (net, tax, total) == (Decimal("67467414.81"), Decimal("8770763.93"), Decimal("76238178.74"))
    assert sum(categories) == (total if inclusive else net)


def test_a_workbook_says_that_its_prices_are_before_tax() -> None:
    """As they are in its columns, also where the other documents show prices including tax."""
    bill = load_workbook(BytesIO(workbook_of("a100-32-zh")))["配置清单"]
    assert bill["A2"].value.startswith("单价为优惠前未税价")
    assert "未税单价" in [cell.value for cell in bill[3]]


@pytest.mark.parametrize(("status", "word"), [("budgetary", "Budgetary quotation"), ("firm", "Firm quotation")])
def test_the_cover_says_how_binding_it_is(status: str, word: str) -> None:
    """`quote.status` stands on the cover and in the terms."""
    files = build("plans/llama65b-quote.yaml", set={"quote.status": status}).files("quote.md", "quote.html")
    assert all(word in content.decode("utf-8") for content in files.values())


def test_lines_without_a_price_are_named_by_kind() -> None:
    """The cover says what its sum leaves out; without a price of the servers, the sum is no total at all."""
    cover = quoted("training-and-serving").partition("## ")[0].replace("**", "")
    assert "Prices: 6 of 10 lines priced, without some of the GPU servers" in cover
    assert re.search(r"Not priced: \d+ of \d+ lines \(Servers: 1, ", cover)
    owned = quoted("training-and-serving", **{"stock.dgx-h100": 127}).partition("## ")[0].replace("**", "")
    assert "Total: at least " in owned
    assert re.search(r"Not priced: \d+ of \d+ lines \(Transceivers: 1, ", owned)


def test_edited_workbooks_can_be_recognised() -> None:
    """Out of sight stand the id of the quote and those of its lines."""
    book = load_workbook(BytesIO(build("plans/llama65b-quote.yaml").files("quote.xlsx")["quote.xlsx"]))
    sheet = book.worksheets[1]
    [hidden] = [name for name, column in sheet.column_dimensions.items() if column.hidden and sheet[f"{name}1"].value]
    assert re.fullmatch(r"llama65b-quote [0-9a-f]{64}", sheet[f"{hidden}1"].value)
    assert "compute.switch.spine" in {cell.value for cell in sheet[hidden]}


def test_the_longest_lead_time_stands_on_the_cover(tmp_path: Path) -> None:
    """That of the price book, with its part in the terms; parts without one say nothing."""
    (tmp_path / "list.csv").write_text(
        "part,price,currency,lead_time\nqm9700,25000,USD,16 weeks\ndgx-h100,260000,USD,30 days\nmma4z00-ns,800,USD,\n",
        encoding="utf-8",
    )
    (tmp_path / "plan.yaml").write_text(
        "bomgen: 1\nname: late\ncluster: {gpu: h100-sxm, servers: 4}\nfabrics: {compute: {switch: qm9700}}\n"
        "quote: {price_book: list.csv}\n",
        encoding="utf-8",
    )
    text = build(tmp_path / "plan.yaml").files("quote.md")["quote.md"].decode("utf-8")
    assert "**Longest known lead time:** 16 weeks" in text
    assert "The longest known lead time is 16 weeks, of NVIDIA QM9700." in text


@pytest.mark.parametrize(
    ("promised", "late"),
    [
        ("10 weeks", True),
        ("合同签订后 10 周内", True),
        ("14 to 16 weeks after receipt of order", False),
        ("soon", False),
    ],
)
def test_a_promised_time_takes_the_place_of_the_lead_time(tmp_path: Path, promised: str, late: bool) -> None:
    """The customer reads one time; the seller reads where a part takes longer."""
    (tmp_path / "list.csv").write_text("part,price,currency,lead_time\nqm9700,25000,USD,16 weeks\n", "utf-8")
    (tmp_path / "plan.yaml").write_text(
        "bomgen: 1\nname: late\ncluster: {gpu: h100-sxm, servers: 4}\nfabrics: {compute: {switch: qm9700}}\n"
        f"quote: {{price_book: list.csv, delivery_time: {promised}}}\n",
        encoding="utf-8",
    )
    found = build(tmp_path / "plan.yaml")
    text = found.files("quote.md")["quote.md"].decode("utf-8")
    assert f"**Delivery:** {promised}" in text
    assert "ongest known lead time" not in text
    warned = [problem for problem in found.warnings if problem.rule == "lead-time"]
    assert [each.line for each in warned] == [5] * late
    assert all("but qm9700 has a lead time of 112 days" in each.message for each in warned)


def quoted(plan: str, **settings: Any) -> str:
    """The quote of a plan in Markdown."""
    return build(f"plans/{plan}.yaml", set=settings).files("quote.md")["quote.md"].decode("utf-8")


def test_pieces_of_a_service_say_what_they_are_per() -> None:
    """Three years of support are 3 pieces, and licences of 2048 GPUs for three years are 6144."""
    text = quoted("llama65b-quote")
    assert "| Support with parts on site (per year) | 4 % of the hardware after discount | 3 | units |" in text
    assert "| Cluster manager (per GPU, per year) |  | 6,144 | units |" in text
    assert "| Installation (per rack) |  | 67 | units |" in text
    assert "| Freight | 1.5 % of the hardware after discount | 1 | units |" in text
    assert "Support with parts on site（每年）" in quoted("llama65b-quote", **{"quote.language": "zh"})


def test_a_printed_bill_has_one_line_for_a_part_at_a_price() -> None:
    """1,536 modules of three places and 31 spares are one line; leaf and spine switches differ in their discount."""
    bill = quoted("llama65b-quote").partition("## Bill of materials")[2].partition("\n## ")[0]
    [modules] = [line for line in bill.splitlines() if "MMA4Z00-NS /" in line]
    assert "31 of them spare | 1,567 | pcs | 1,650.00 | 15 % | 2,197,717.50 |" in modules
    assert [line.split(" | ")[5] for line in bill.splitlines() if "MQM9700" in line] == ["31", "2", "16"]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("llama65b-quote", "64 × 400 Gb/s InfiniBand, 32 OSFP cages, managed, airflow P2C (power side to port side)"),
        ("llama65b-quote", "1 × 400 Gb/s InfiniBand and Ethernet, OSFP, PCIe 5.0 x16"),
        ("b300-ruijie-zh", "64 × 400 Gb/s 以太网、64 个 QSFP112 光口"),
        ("b300-ruijie-zh", "按订单配置：CPU、内存、硬盘"),
        ("gb300-nvl72-xdr", "NVIDIA AI Enterprise: 1 year, 3 years or 5 years (576)"),
    ],
)
def test_what_is_sold_is_described(plan: str, said: str) -> None:
    """From the figures of the catalogue, in the language of the quote."""
    assert said in quoted(plan)


def test_the_cover_says_that_required_parts_are_not_on_the_bill() -> None:
    """What the total leaves out is said beside it, also where every line of the bill has a price."""
    cover = quoted("llama65b-quote").partition("## ")[0]
    assert "Covers all 13 charged lines" in cover
    assert "Required parts not on the bill, to be selected or quoted: 1." in cover


def test_nothing_priced_is_said_once() -> None:
    """Without any price there is no total, and no list of what has none."""
    cover = quoted("gb300-nvl72-xdr").partition("## ")[0]
    assert "No total yet" in cover
    assert "None of the 20 lines has a price yet." in cover
    assert "Not priced:" not in cover


def test_weights_name_what_they_leave_out() -> None:
    """And there is none where the servers have none: the rest is next to nothing. NVL72 racks have theirs."""
    assert "| Weight, excluding cables, modules, rack, rack PDU | 32.24 t |" in quoted("llama65b-quote")
    assert "| Weight of a full compute rack | 1,360 kg |" in quoted("gb300-nvl72-xdr")
    assert "Weight" not in quoted("gb300-nvl72-xdr", **{"cluster.server": "smc-srs-gb300-nvl72"})


def test_delivery_is_said_once() -> None:
    """The plan's own terms say when, and nothing beside them says that it is open."""
    text = quoted("llama65b-quote")
    assert "Delivery within 16 weeks of the order." in text
    assert "confirmed with the order" not in text
    assert "Delivery times and payment terms are confirmed with the order." in quoted("meta-24k")


def test_alternatives_say_what_they_save() -> None:
    """The difference of the totals, which the first column does not have."""
    text = quoted("llama65b-quote")
    totals = [Decimal(each) for each in ("76238178.74", "74350903.12", "75077594.04")]
    saved = [f"{total - totals[0]:,.2f}".replace("-", "\N{MINUS SIGN}") for total in totals]
    assert f"| Difference from base offer | {' | '.join(saved)} |" in text


def test_training_times_are_estimates_and_racks_are_counted_as_racks() -> None:
    """A signature promises no days, and a rack-scale system is racks."""
    assert "is estimated to take 19.78 days" in quoted("llama65b-quote")
    racks = quoted("gb300-nvl72-xdr")
    assert "576 × GB300 in 8 × GB300 NVL72 rack (144 compute trays); " in racks
    assert "included in each: 72 × GB300, 72 × ConnectX-8 C8180" in racks
    assert "36 replicas, 2 GPUs per replica." in quoted("training-and-serving")


def test_ports_of_an_accelerator_are_those_of_the_compute_network() -> None:
    """The RDMA ports of the NPUs, which no NIC of the catalogue has, are not for storage."""
    assert "8 × Ascend 910C, 8 ports of 400 Gb/s for the compute network" in quoted("ascend-910c")


def test_parts_without_a_price_are_no_zero_in_the_workbook() -> None:
    """The list by part number says that a part has no price, and sums up those that have one."""
    book = load_workbook(
        BytesIO(build("plans/superpod-b200-16su.yaml").files("quote.xlsx")["quote.xlsx"]), data_only=True
    )
    amounts = {row[2].value: row[4].value for row in book["By part number"].iter_rows() if row[2].value}
    assert amounts["GPU server DGX B200"] == "No price"
    assert amounts["Switch QM9700"] == 9700000
    assert 0 not in amounts.values()


def workbook_of(plan: str, **settings: Any) -> bytes:
    """The quote of a plan as a workbook."""
    return build(f"plans/{plan}.yaml", set=settings).files("quote.xlsx")["quote.xlsx"]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("en", "QM9700: 2 (48 installed + 1 spare − 2 from stock = 47 to order)"),
        ("zh", "QM9700：2 件（安装 48 + 备件 1 − 库存 2 = 订购 47）"),
    ],
)
def test_pieces_from_stock_are_said_beside_those_to_order(code: str, count: str) -> None:
    """The list of what to order leaves out stock: 32 leaf and 16 spine switches, a spare one, 2 from stock."""
    settings = {"quote.language": code}
    assert "from stock, not charged" in quoted("llama65b-quote")
    book = load_workbook(BytesIO(workbook_of("llama65b-quote", **settings)))
    assert any(count in str(cell.value) for row in book.worksheets[2].iter_rows() for cell in row)
    assert "= 47" not in quoted("llama65b-quote", stock={"qm9700": 1}, **settings)


def test_properties_of_the_workbook_are_those_of_the_quote(tmp_path: Path) -> None:
    """The vendor is the author and the date is the quote's; without either the author is empty and the date fixed."""
    named = load_workbook(BytesIO(workbook_of("llama65b-quote"))).properties
    assert (named.creator, str(named.created)) == ("Example Systems", "2026-11-20 00:00:00")
    plan = tmp_path / "bare.yaml"
    plan.write_text(
        "bomgen: 1\nname: bare\ncluster: {gpu: h100-sxm, servers: 4}\nfabrics: {compute: {switch: qm9700}}\n",
        encoding="utf-8",
    )
    bare = load_workbook(BytesIO(build(plan).files("quote.xlsx")["quote.xlsx"])).properties
    assert (bare.creator or "", str(bare.created)) == ("", "2000-01-01 00:00:00")


def test_ids_out_of_sight_are_not_printed() -> None:
    """Neither they nor the folded column before them are in the print area, and no row is higher for them."""
    sheet = load_workbook(BytesIO(workbook_of("llama65b-quote"))).worksheets[1]
    assert sheet.print_area.startswith("'Bill of materials'!$A$1:$J$")
    folded = {name for name, column in sheet.column_dimensions.items() if column.hidden}
    assert folded == {"K", "O"}
    longest = next(row for row in range(4, 30) if sheet[f"O{row}"].value == "service.support-with-parts-on-site")
    assert not sheet[f"O{longest}"].alignment.wrap_text


def test_alternatives_of_the_workbook_have_their_difference() -> None:
    """As in the other formats, under titles of their own."""
    sheet = load_workbook(BytesIO(workbook_of("llama65b-quote"))).worksheets[0]
    rows = [[cell.value for cell in row[:3]] for row in sheet.iter_rows()]
    at = rows.index(["Alternative", "Total including tax (USD)", "Difference from base offer (USD)"])
    assert rows[at + 2] == ["Compatible optics", 74350903.12, -1887275.62]
    assert "Amounts by category" not in str(rows[at - 1])


def test_what_alternatives_change_fits_the_page() -> None:
    """Every column of the first sheet is printed, and a header is as high as its words; no empty cell is bold."""
    sheet = load_workbook(BytesIO(workbook_of("llama65b-quote"))).worksheets[0]
    assert sheet.print_area.startswith("'Quotation'!$A$1:$D$")
    assert sheet.max_column == 4
    headers = [row for row in range(1, sheet.max_row + 1) if sheet.cell(row, 4).value == "Difference from base offer"]
    assert len(headers) == 2
    assert all(sheet.row_dimensions[row].height < 40 for row in headers)
    assert "****" not in quoted("llama65b-quote")


@pytest.mark.parametrize(
    ("code", "accepted", "required"),
    [
        (
            "en",
            "Accepted: Quotation Q-2026-117, Revision 2, 20 November 2026. Total including tax: 76,238,178.74 USD.",
            "May be included with DGX A100 640GB, QM9700: Power cords; to be confirmed with NVIDIA.",
        ),
        (
            "zh",
            "买方确认接受：报价单 Q-2026-117、版本 2、2026年11月20日。价税合计：76,238,178.74 USD。",
            "可能随 DGX A100 640GB、QM9700 附带：电源线",
        ),
    ],
)
def test_what_is_signed_and_what_is_left_out(code: str, accepted: str, required: str) -> None:
    """The signatures stand for a quotation, its revision, date and total; what is required is named where it lacks."""
    files = build("plans/llama65b-quote.yaml", set={"quote.language": code}).files("quote.md", "quote.xlsx")
    text = files["quote.md"].decode("utf-8")
    assert accepted in text
    assert required in text
    terms = load_workbook(BytesIO(files["quote.xlsx"]), data_only=True).worksheets[-1]
    rows = [(row[0].value, row[1].value) for row in terms.iter_rows()]
    sentence, label = re.split(r"(?<=2026\.) |(?<=日。)", accepted)
    at = rows.index((sentence, None))
    assert label.startswith(str(rows[at + 1][0]))
    assert rows[at + 1][1] == 76238178.74
    assert ("Alternative ordered, if any: …" in text) == (code == "en")


def test_a_demand_is_met_expected_or_missed() -> None:
    """Calculated days are met or not; a prediction within its target is expected to hold."""
    assert "| Duration | 20 days | 19.78 days | calculated | met |" in quoted("llama65b-quote")
    late = quoted("llama65b-quote", **{"cluster.servers": 240, "cluster.round_up_to": "server"})
    assert re.search(r"\| Duration \| 20 days \| 21.\d+ days \| calculated \| not met \|", late)
    assert re.search(r"\(TTFT\), predicted mean \| 1 s \| .*\| expected \|", quoted("llama70b-chat-latency"))


def test_a_warranty_is_stated_or_said_not_to_be() -> None:
    """Terms of the plan that have one are enough."""
    assert "No warranty terms are stated in this quotation." in quoted("superpod-h100-floor")
    assert "does not state" not in quoted("llama65b-quote", **{"quote.terms": ["Warranty of 3 years on all parts."]})


def test_totals_are_called_alike_in_all_formats() -> None:
    """Label, sign of the discount, and words for the number of the quotation."""
    files = build("plans/llama65b-quote.yaml").files("quote.md", "quote.html", "quote.xlsx")
    sheet = load_workbook(BytesIO(files["quote.xlsx"]), data_only=True).worksheets[0]
    rows = {row[0].value: row[1].value for row in sheet.iter_rows() if row[0].value}
    assert rows["Less discount"] == 662245
    assert rows["Total including tax"] == 76238178.74
    for name in ("quote.md", "quote.html"):
        text = files[name].decode("utf-8")
        assert "Less discount" in text
        assert "-662,245" not in text
        assert "Quotation number" in text
        assert "Quote number" not in text


def test_lines_are_in_the_words_of_a_customer() -> None:
    """No role of the plan as it is typed, grouped watts, and shares that say of what."""
    text = quoted("llama65b-quote")
    assert "| Rack, 48 U, 30 kW |  | 67 | pcs |" in text
    assert "| Rack PDU |  | 198 | pcs |" in text
    page = build("plans/llama65b-quote.yaml").files("quote.html")["quote.html"].decode("utf-8")
    assert "Compute network: 32 × QM9700, 16 × QM9700" in page
    assert "Fabric compute" not in page
    assert "rack pitch 0.6 m" in page
    assert '<span class="measure">30 %</span> with the order, <span class="measure">70 %</span> on delivery' in page


@pytest.mark.parametrize(
    ("server", "text", "description"),
    [
        ("pcie-8gpu-l40s", "en", "4U 8 x L40S server"),
        ("pcie-8gpu-l40s", "zh", "4U 服务器（8 × L40S）"),
        ("h3c-r5500-g6", "en", "GPU server UniServer R5500 G6, 8 x H100 SXM"),
    ],
)
def test_a_description_says_what_a_part_is_once(server: str, text: str, description: str) -> None:
    """A name with the word is left as it is; `UniServer` is none."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"server": server, "servers": 1}, "quote": {"language": text}}
    rows = [line.split("|") for line in build(plan).files("md")["quote.md"].decode().splitlines()]
    assert [row[4].strip() for row in rows if row[1:2] == [" 1 "]] == [description]
