"""`bomgen diff` as documents: an expansion is a quote for the customer, anything else a page of changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from bills_by_hand import line, side
from click.testing import CliRunner
from openpyxl import load_workbook

from bomgen.cli import command
from bomgen.core.document import Document
from bomgen.core.language import language
from bomgen.documents.diff.contents import changed_categories, changes_document
from bomgen.documents.diff.difference import compare
from bomgen.output.drawing.charts import changes_drawing

ROOT = Path(__file__).parents[2]
QUOTE = "plans/llama65b-quote.yaml"
DAYS = "workload.training.target_days=15"
EXPANSIONS = {
    "priced": (QUOTE, DAYS),
    "chinese": (QUOTE, DAYS, "--set", "quote.language=zh"),
    "without prices": ("plans/llama65b.yaml", DAYS),
    "partly priced": ("plans/h100-127.yaml", "cluster.servers=140"),
    "two clusters": ("plans/training-and-serving.yaml", "clusters.0.servers=140"),
}
INTERNAL = re.compile(
    r"derivation|margin|confidence|unverified|\.yaml|warning|警告|--set|target_days|server-leaf|compute\.switch|ceil\(",
    re.IGNORECASE,
)
"""What a customer has no business to read: reasons, places and keys of plans, ids of lines."""

Written = Callable[..., bytes]


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of plans are those of the checkout."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """The bytes of a difference in a format."""

    def write(form: str, *arguments: str) -> bytes:
        path = tmp_path / f"difference.{form}"
        done = CliRunner().invoke(command.main, ["diff", *arguments, "-o", str(path)])
        assert done.exit_code == 0, done.output
        return path.read_bytes()

    return write


def expanded(name: str) -> tuple[str, ...]:
    """The arguments of an expansion."""
    plan, setting, *others = EXPANSIONS[name]
    return plan, plan, "--set-new", setting, *others


def seen(page: bytes) -> str:
    """What a reader sees of a page."""
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page.decode("utf-8"), flags=re.DOTALL)
    return re.sub(r"<wbr>", "", text)


def sheets(content: bytes) -> dict[str, list[list[Any]]]:
    """The values of each sheet of a workbook."""
    book = load_workbook(BytesIO(content), data_only=True)
    return {sheet.title: [[cell.value for cell in row] for row in sheet.iter_rows()] for sheet in book.worksheets}


def named(content: bytes, name: str) -> Any:
    """The value that a name of a workbook stands for."""
    book = load_workbook(BytesIO(content), data_only=True)
    [(sheet, place)] = book.defined_names[name].destinations
    return book[sheet][place].value


# expansions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPANSIONS)
def test_the_quote_of_an_expansion_agrees_with_the_json(name: str, written: Written) -> None:
    """Order, charges and tax are those of the JSON to the cent, on the page and in the workbook that calculates."""
    data = json.loads(written("json", *expanded(name)))["expansion"]
    page, book = (written(form, *expanded(name)) for form in ("html", "xlsx"))
    amount, charges, tax = (Decimal(data[key]) for key in ("amount", "charges", "tax"))
    priced = any(row["amount"] for row in data["order"])
    if priced:
        assert Decimal(str(named(book, "bom_net"))) == amount + charges
        assert Decimal(str(named(book, "bom_tax"))) == tax
        assert Decimal(str(named(book, "bom_amount"))) == amount + charges + tax
        code = "zh" if name == "chinese" else "en"
        shown = language(code).money(amount + charges + tax, "USD")
        headline = re.search(r'<p class="amount">(.*?)</p>', seen(page))[1]  # type: ignore[index]
        # Without the price of the servers, the sum stands below the bill alone.
        few = {"partly priced": "3 of 12", "two clusters": "4 of 8"}.get(name)
        assert headline == f"{few} lines priced, without the GPU servers" or not few
        total = re.search(r"<dt>Priced lines only.*?</div>", seen(page))[0] if few else headline  # type: ignore[index]
        assert shown in total
    else:
        assert "No total yet" in seen(page)
    pieces = named_pieces(seen(page))
    for row in data["order"]:
        assert row["pieces"] == pieces.get(row["sku"]) or not row["sku"], row["description"]


def named_pieces(page: str) -> dict[str, int]:
    """The pieces of each part number of the bill, whose prices may differ."""
    table = re.search(r'<table id="table-bill".*?</table>', page, re.DOTALL)
    found: dict[str, int] = {}
    for row in re.findall(r"<tr>(<td.*?)</tr>", table[0] if table else "", re.DOTALL):
        fields = [re.sub(r"<[^>]+>", "\n", each).strip() for each in re.findall(r"<td.*?</td>", row, re.DOTALL)]
        sku = " / ".join(re.findall(r'<span class="part[^>]*>(.*?)</span>', row))
        found[sku] = found.get(sku, 0) + int(re.sub(r"\D", "", fields[3]))
    return found


@pytest.mark.parametrize("name", EXPANSIONS)
def test_nothing_internal_is_in_the_quote_of_an_expansion(name: str, written: Written) -> None:
    """Neither the page nor the workbook says where a number comes from, or what only the seller knows."""
    page = seen(written("html", *expanded(name)))
    cells = "\n".join(
        str(cell) for rows in sheets(written("xlsx", *expanded(name))).values() for row in rows for cell in row
    )
    for text in (page, cells):
        assert sorted({found.lower() for found in INTERNAL.findall(text)}) == []


def test_the_order_has_each_category_once(written: Written) -> None:
    """Parts of several fabrics stand under one heading of their category, with one sum."""
    page = written("html", *expanded("partly priced")).decode("utf-8")
    groups = re.findall(r'<tr class="group"><th[^>]*>([^<]*)', page)
    assert len(groups) == len({*groups}) > 3


def test_an_expansion_says_what_is_bought_moved_and_left_over(written: Written) -> None:
    """Who and to whom, the growth, the cables that are re-plugged, room to sign; no floor and no alternatives.

    A leaf keeps one of its two links to each of 16 spines; both fill one cage of a spine. For its 43 links a spine of
    the new plan has modules in 22 cages: in each one link stays, 16 x 22 = 352, and the others move beside them or to
    the new spines.
    """
    page = seen(written("html", *expanded("priced")))
    for words in ("Expansion: LLaMA-65B", "Example Research", "Q-2026-117", "Budgetary quotation", "Signature"):
        assert words in page
    assert "grows from 256 to 344 servers, from 2,048 to 2,752 GPUs" in page
    row = re.search(r"<td[^>]*>leaf-to-spine links</td>(.*?)</tr>", page, re.DOTALL)
    assert row
    assert re.findall(r">([\d,]+)<", row[1]) == ["1,024", "352", "672", "0", "352"]
    assert "All installed parts stay in use" in page
    assert "Compatible optics" not in page
    chinese = seen(written("html", *expanded("chinese")))
    assert "扩容：LLaMA-65B" in chinese
    assert "服务器由 256 台增至 344 台" in chinese


def test_an_expansion_says_what_it_is_and_what_it_lacks(written: Written) -> None:
    """32 servers more take 8 cards each of 4 links: 128, and of 2 % spares 3 more; racks have no given floor.

    The cover says what is added, as in the quote of a whole cluster.
    """
    arguments = (QUOTE, QUOTE, "--set-new", "cluster.servers=288")
    page = seen(written("html", *arguments)).replace("\N{NO-BREAK SPACE}", " ")
    assert "32 servers, 128 NICs, 20 switches, 327 transceivers, 262 cables, 9 racks, 26 PDUs, added to the" in page
    for words in ("does not include: storage systems", "Power cords; to be", "Cleaner for MPO"):
        assert words in page.partition(">Not included<")[2]
    assert "position" not in page.partition(">Changes on site<")[2].partition("</section>")[0]
    bill = sheets(written("xlsx", *arguments))["Bill of materials"]
    [header] = [row for row in bill if "Spare" in row]
    [module] = [row for row in bill if "Transceiver OSFP SR4 400G, flat" in row]
    assert (module[header.index("Quantity")], module[header.index("Spare")]) == (128, 3)


@pytest.mark.parametrize("form", ["html", "xlsx"])
def test_switches_that_are_exchanged_are_left_over(form: str, written: Written) -> None:
    """An expansion with other switches sets the old ones free; they are listed with the part number that they have."""
    content = written(form, *expanded("priced"), "--set-new", "fabrics.compute.switch=qm9790")
    text = seen(content) if form == "html" else str(sheets(content)["Changes on site"])
    assert "Surplus parts" in text
    free = text[text.index("Surplus parts") :]
    assert "MQM9700-NS2F" in free
    assert re.search(r"\b47\b", free)


def test_clusters_that_stay_as_they_are_are_left_out(written: Written) -> None:
    """Of two clusters the one that grows is offered, drawn and described."""
    page = seen(written("html", *expanded("two clusters")))
    assert "training: The installed cluster grows from 127 to 140 servers" in page
    assert "serving: Site" not in page


def test_shares_of_the_hardware_are_those_of_the_order(written: Written) -> None:
    """Freight and support follow what is ordered, so that the workbook goes on calculating them."""
    book = load_workbook(BytesIO(written("xlsx", *expanded("priced"))))
    assert "bom_share_1" in book.defined_names or any("share" in name for name in book.defined_names)


def test_pieces_left_over_are_listed_and_not_paid_for() -> None:
    """What the new cluster does not need reduces no amount, and tax is that of the order."""
    cluster = {"gpu": "g", "server": "s"}
    old = side(
        line("a", 2, "100.00"), line("b", 5, "10.00"), tax="25.00", cluster={**cluster, "gpus": 16, "servers": 2}
    )
    new = side(
        line("a", 3, "100.00"), line("b", 1, "10.00"), tax="31.00", cluster={**cluster, "gpus": 24, "servers": 3}
    )
    found = compare(old, new).expansion
    assert found
    assert (found.amount, found.tax) == (Decimal("100.00"), Decimal("10.00"))
    assert [(each.part, each.pieces) for each in found.free] == [("b", 4)]


def test_charges_of_an_expansion_with_a_smaller_network_are_those_of_the_order(written: Written) -> None:
    """Nothing is negative on the quote: freight and support follow what is bought, spine switches are left over.

    By hand, in USD: 4 servers, 16 NICs, 16 modules, a rack and 3 PDUs at their net prices are 850 378.00; freight is
    1.5 % of it, support 4 % rounded and for 3 years; a rack is installed for 1800; 32 GPUs take 250 a year for 3 years.
    """
    arguments = (QUOTE, QUOTE, "--set-new", "fabrics.compute.oversubscription=2", "--set-new", "cluster.servers=260")
    data = json.loads(written("json", *arguments))["expansion"]
    services = [Decimal("12755.67"), Decimal("1800"), 3 * Decimal("34015.12"), 32 * 3 * Decimal(250)]
    assert (Decimal(data["amount"]), Decimal(data["charges"])) == (Decimal("850378.00"), sum(services))
    assert any(row["category"] == "switch" for row in data["free"])
    assert Decimal(str(named(written("xlsx", *arguments), "bom_net"))) == Decimal("850378.00") + sum(services)
    page = seen(written("html", *arguments))
    assert set(re.findall(r"[-−]\s?\d[\d,]*\.\d\d", page)) == set()
    assert "2,280.00" in page


def test_charges_that_fall_are_not_credited() -> None:
    """Fewer racks to install and a lower lump sum come to nothing; one that rises to the rise."""
    cluster = {"gpu": "g", "server": "s"}
    old = side(
        line("a", 2, "100.00"),
        line("install", 5, "10.00", category="service"),
        line("lump", 1, "70.00", category="service"),
        line("freight", 1, "8.00", category="service"),
        cluster={**cluster, "gpus": 16, "servers": 2},
    )
    new = side(
        line("a", 3, "100.00"),
        line("install", 3, "10.00", category="service"),
        line("lump", 1, "60.00", category="service"),
        line("freight", 1, "9.50", category="service"),
        cluster={**cluster, "gpus": 24, "servers": 3},
    )
    found = compare(old, new).expansion
    assert found
    assert found.charges == Decimal("1.50")


@pytest.mark.parametrize("form", ["html", "xlsx"])
@pytest.mark.parametrize("arguments", [expanded("priced"), (QUOTE, QUOTE, "--set-new", "quote.tax=10%")])
def test_equal_differences_give_equal_bytes(form: str, arguments: tuple[str, ...], written: Written) -> None:
    """Twice the same."""
    assert written(form, *arguments) == written(form, *arguments)


# changes ------------------------------------------------------------------------------------------------------------


def values(page: Document, section: str, table: int = 0) -> list[list[Any]]:
    """The values of a table."""
    return [[cell.value for cell in row.cells] for row in page.section(section).tables[table].rows]


def test_money_comes_first_and_adds_up() -> None:
    """Categories and tax come to the change of the total, and so do the causes; what is equal is left out."""
    old = side(
        line("a", 2, "10.00"), line("b", 1, "5.00", category="cable"), line("c", 1, "7.00", category="nic"), tax="3.20"
    )
    new = side(
        line("a", 3, "11.00"), line("c", 1, "7.00", category="nic"), line("d", 4, "1.00", category="rack"), tax="4.40"
    )
    found = compare(old, new)
    page = changes_document(found, language("en"))
    assert page.sections[0].id == "money"
    *rows, total = values(page, "money")
    assert [row[0] for row in rows] == ["Switches", "Cables", "Racks", "Tax"]
    assert total[1:] == [Decimal("35.20"), Decimal("48.40"), Decimal("13.20")]
    assert sum(row[3] for row in rows) == sum(row[1] for row in values(page, "money", 1)) == Decimal("13.20")
    assert [row[2] for row in values(page, "lines")] == ["a", "b", "d"]
    drawing = changes_drawing(found, language("en"))
    assert drawing
    assert "Switches: before: 20.00 USD; after: 33.00 USD" in drawing.svg
    assert "NICs" not in drawing.svg


def test_what_has_no_price_is_said() -> None:
    """Of a category without a price there is no amount, of one with some a lower bound, of one that is new nothing."""
    old = side(line("a", 2), line("b", 1, "5.00", category="cable"), line("c", 1, category="cable"))
    new = side(line("a", 2, "3.00"), line("b", 1, "6.00", category="cable"), line("d", 1, "1.00", category="rack"))
    changed = {row.key: row.cells for row in changed_categories(compare(old, new), language("en"))}
    shown = {name: (before.value, before.least, after.value) for name, (before, after) in changed.items()}
    assert shown["switch"] == (None, False, Decimal("6.00"))
    assert shown["cable"] == (Decimal("5.00"), True, Decimal("6.00"))
    assert shown["rack"] == (Decimal(0), False, Decimal("1.00"))


def test_currencies_are_not_subtracted() -> None:
    """Both totals, no change and no chart."""
    found = compare(side(line("a", 1, "10.00")), side(line("a", 1, "9.00"), currency="EUR"))
    page = changes_document(found, language("zh"))
    assert values(page, "money")[-1][1:] == [Decimal("10.00"), Decimal("9.00"), None]
    assert changes_drawing(found, language("zh")) is None
    assert any("币种" in note.text for note in page.sections[0].notes)


@pytest.mark.parametrize("form", ["html", "xlsx"])
def test_bills_alone_are_compared_as_changes(form: str, written: Written, tmp_path: Path) -> None:
    """A bom.json holds no customer: an expansion between two of them is a page with the order."""
    names = []
    for days in ("20", "15"):
        out = tmp_path / days
        arguments = ["build", QUOTE, "-f", "json", "-o", str(out), "--set", f"workload.training.target_days={days}"]
        assert CliRunner().invoke(command.main, arguments).exit_code == 0
        names.append(str(out / "llama65b-quote" / "bom.json"))
    content = written(form, *names)
    data = json.loads(written("json", *names))
    if form == "html":
        assert "To order" in seen(content)
        assert seen(content).index("102,792,774.60") < seen(content).index("DGXA-G640F")
    else:
        money = next(iter(sheets(content).values()))
        assert [Decimal(str(row[3])) for row in money if row[0] == "Total"] == [Decimal(data["money"]["change"])]


def test_nothing_changed(written: Written) -> None:
    """A page that says so, with the totals."""
    assert "Both give the same result" in seen(written("html", QUOTE, QUOTE))
    assert written("xlsx", QUOTE, QUOTE)


def test_formats_follow_the_suffix_and_binary_ones_need_a_file() -> None:
    """As `bomgen compare` has it."""
    for form in ("xlsx", "pdf"):
        done = CliRunner().invoke(command.main, ["diff", QUOTE, QUOTE, "-f", form])
        assert (done.exit_code, f"{form} goes to a file" in done.stderr) == (2, True)
    done = CliRunner().invoke(command.main, ["diff", QUOTE, QUOTE, "-o", "x.doc"])
    assert "no format has the suffix .doc" in done.stderr


@pytest.mark.usefixtures("printer")
def test_a_pdf_has_the_total(written: Written) -> None:
    """The quote of an expansion as PDF."""
    assert written("pdf", *expanded("priced")).startswith(b"%PDF")
