"""LibreOffice, told to trust no stored value, recalculates every workbook."""

from __future__ import annotations

import json
import re
import shutil
import struct
import sys
import zipfile
import zlib
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from openpyxl.cell import Cell
from openpyxl.workbook import Workbook
from workbook_edits import plan_without_alternatives, workbook_of

KINDS = ("report", "quote")
TOTALS = {"bom_list": "list", "bom_discount": "discount", "bom_tax": "tax", "bom_amount": "amount"}
PLANTED = "planted"
"""A copy of a workbook with wrong stored values: that they are put right shows that the judge really recalculates."""
PRICED = "llama65b-linkx"
CHANGED = "changed"
"""A copy of a workbook with other inputs and a line more, as a reader would type them."""
CHARGED, SHARES, UNPRICED = "llama65b-quote", "shares", "unpriced"
"""A plan whose freight and support are shares of the hardware; copies with other inputs, and without prices of it."""
ADDED = "added"
"""A copy of its quote in whose bill a required part got a price, and a line that nothing else has was added."""
NO_HARDWARE = ("Software", "Services")
COLUMNS = {
    "category": "bom_categories",
    "fabric": "bom_fabrics",
    "role": "bom_roles",
    "quantity": "bom_quantities",
    "spare": "bom_spares",
    "price": "bom_prices",
    "discount": "bom_discounts",
    "amount": "bom_amounts",
}
PRINTED = ("llama65b-quote", "gb300-nvl72-xdr", "deepseek-r1-h20-zh")
"""The plans whose workbooks for the customer are printed."""
MOST_PRINTED = 9
"""Pages of each, of which three are the bill at 8 points."""
CENT = Decimal("0.01")


def _plant(source: Path, target: Path) -> int:
    """Copy a workbook with a wrong number stored beside every formula that has a number; how many were planted."""
    count = 0
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.startswith("xl/worksheets/sheet"):
                content, found = re.subn(rb"(</f>\s*<v>)[0-9.]+(</v>)", rb"\g<1>987654321\g<2>", content)
                count += found
            new.writestr(name, content)
    return count


def _column(workbook: Workbook, key: str) -> list[Cell]:
    """The cells of a column of the bill, by its defined name."""
    [(sheet, area)] = workbook.defined_names[COLUMNS[key]].destinations
    return [cell for row in workbook[sheet][area.replace("$", "")] for cell in row]


def _change(source: Path, target: Path) -> None:
    """Copy a workbook with another quantity, price, discount and tax rate, and an empty line filled in."""
    workbook = load_workbook(source)
    columns = {key: _column(workbook, key) for key in COLUMNS}
    columns["quantity"][0].value += 5
    columns["price"][1].value = 1234.565
    columns["discount"][2].value = 0.25
    empty = next(at for at, cell in enumerate(columns["quantity"]) if cell.value is None)
    added = {"quantity": 3, "price": 999.99, "discount": 0.1} | {
        key: columns[key][1].value for key in ("category", "fabric", "role")
    }
    for key, value in added.items():
        columns[key][empty].value = value
    [(sheet, place)] = workbook.defined_names["bom_tax_rate"].destinations
    workbook[sheet][place.replace("$", "")].value = 0.19
    workbook.save(target)


def _fill(columns: dict[str, list[Cell]], values: dict[str, Any]) -> None:
    """Type a line into the first empty one."""
    empty = next(at for at, cell in enumerate(columns["quantity"]) if cell.value is None)
    for key, value in values.items():
        columns[key][empty].value = value


def _change_shares(source: Path, target: Path) -> None:
    """Copy a workbook with more switches, a cheaper server, another share of freight, a cable and a service more."""
    workbook = load_workbook(source)
    columns = {key: _column(workbook, key) for key in COLUMNS}
    at = {name: [cell.value for cell in columns["category"]].index(name) for name in ("Switches", "Servers")}
    columns["quantity"][at["Switches"]].value += 7
    columns["discount"][at["Servers"]].value = 0.035
    _fill(columns, {"category": "Cables", "fabric": "compute", "role": "spare", "quantity": 3, "price": 999.99})
    _fill(columns, {"category": "Services", "role": "training", "quantity": 2, "price": 5000})
    [(sheet, place)] = workbook.defined_names["bom_share_1"].destinations
    workbook[sheet][place.replace("$", "")].value = 0.0175
    workbook.save(target)


def _unprice(source: Path, target: Path) -> None:
    """Copy a workbook without any price of hardware."""
    workbook = load_workbook(source)
    columns = {key: _column(workbook, key) for key in COLUMNS}
    for category, price in zip(columns["category"], columns["price"], strict=True):
        if category.value not in NO_HARDWARE:
            price.value = None
    workbook.save(target)


def _add_required(source: Path, target: Path) -> None:
    """Copy a quote with a price for one of the parts that are required, and with a service of the reader's own."""
    workbook = load_workbook(source)
    columns = {key: _column(workbook, key) for key in COLUMNS if key in ("category", "quantity", "price")}
    [(sheet, area)] = workbook.defined_names["bom_descriptions"].destinations
    columns["description"] = [row[0] for row in workbook[sheet][area.replace("$", "")]]
    for name, quantity, price in (("Power cord C19 to C20", 1536, 10), ("Training", 1, 5000)):
        _fill(columns, {"category": "Services", "description": name, "quantity": quantity, "price": price})
    workbook.save(target)


@pytest.fixture(scope="module")
def recalculated(quotes, resaved, resave, tmp_path_factory) -> dict[str, Path]:
    """Every workbook as LibreOffice saves it again, PLAN.report and PLAN.quote, and changed ones by their names."""
    changed, saved = tmp_path_factory.mktemp("changed"), tmp_path_factory.mktemp("recalculated")
    assert _plant(quotes[PRICED] / "report.xlsx", changed / f"{PLANTED}.xlsx") > 0
    _change(quotes[PRICED] / "report.xlsx", changed / f"{CHANGED}.xlsx")
    _change_shares(quotes[CHARGED] / "report.xlsx", changed / f"{SHARES}.xlsx")
    _unprice(quotes[CHARGED] / "report.xlsx", changed / f"{UNPRICED}.xlsx")
    requiring = changed / f"{ADDED}.xlsx"
    requiring.write_bytes(workbook_of(plan_without_alternatives()))
    _add_required(requiring, requiring)
    resave(changed, saved)
    return resaved | {path.stem: path for path in saved.iterdir()}


@pytest.fixture(scope="module")
def stored(plan, quotes) -> dict[str, Workbook]:
    """Both workbooks of a plan by their kind, with the values that bomgen stores."""
    return {kind: load_workbook(quotes[plan] / f"{kind}.xlsx", data_only=True) for kind in KINDS}


@pytest.fixture(scope="module")
def worked_out(plan, recalculated) -> dict[str, Workbook]:
    """The same with the values that LibreOffice works out."""
    return {kind: load_workbook(recalculated[f"{plan}.{kind}"], data_only=True) for kind in KINDS}


def _formulas(path: Path) -> list[tuple[str, str]]:
    """Sheet and place of every formula."""
    return [
        (sheet.title, cell.coordinate)
        for sheet in load_workbook(path).worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    ]


def _named(workbook: Workbook, name: str) -> Any:
    """The value of the one cell that a defined name stands for."""
    [(sheet, place)] = workbook.defined_names[name].destinations
    return workbook[sheet][place].value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-9 * max(1, abs(one), abs(other))
    return (one or "") == (other or "")


def test_totals_are_those_of_the_bill(plan, quotes, worked_out):
    """The four named totals, recalculated by LibreOffice, are those of bom.json to the cent."""
    totals = json.loads((quotes[plan] / "bom.json").read_text("utf-8"))["totals"]
    for workbook in worked_out.values():
        found = {name: Decimal(str(_named(workbook, name))).quantize(Decimal("0.01")) for name in TOTALS}
        assert found == {name: Decimal(totals[key]) for name, key in TOTALS.items()}


def test_no_cell_is_an_error(worked_out):
    """No cell of a recalculated workbook is an error value."""
    broken = [
        (kind, sheet.title, cell.coordinate, cell.value)
        for kind, workbook in worked_out.items()
        for sheet in workbook.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "e"
        or (isinstance(cell.value, str) and re.fullmatch(r"#[A-Z0-9/]+[!?]|#N/A|Err:\d+", cell.value))
    ]
    assert broken == []


def test_stored_values_are_the_recalculated_ones(plan, quotes, stored, worked_out):
    """What a viewer that cannot calculate shows in a formula cell is what LibreOffice works out."""
    for kind in KINDS:
        formulas = _formulas(quotes[plan] / f"{kind}.xlsx")
        assert formulas, "the workbook has no formula at all"
        differing = [
            (sheet, place, stored[kind][sheet][place].value, worked_out[kind][sheet][place].value)
            for sheet, place in formulas
            if not _same(stored[kind][sheet][place].value, worked_out[kind][sheet][place].value)
        ]
        assert differing == []


def test_the_judge_really_recalculates(quotes, recalculated):
    """Wrong values planted beside the formulas are put right, so equal values mean something."""
    truth = load_workbook(quotes[PRICED] / "report.xlsx", data_only=True)
    judged = load_workbook(recalculated[PLANTED], data_only=True)
    for name in TOTALS:
        assert _same(_named(judged, name), _named(truth, name)), name


def _sums(workbook: Workbook) -> dict[str, Any]:
    """What the inputs of a bill come to, worked out here in decimal: totals, and sums by category, fabric and role."""
    columns = {key: [cell.value for cell in _column(workbook, key)] for key in COLUMNS}
    found: dict[str, Any] = {"list": Decimal(0), "category": Counter(), "fabric": Counter(), "role": Counter()}
    for line in (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)):
        if line["price"] is None:
            continue
        pieces, price = (line["quantity"] or 0) + (line["spare"] or 0), Decimal(str(line["price"]))
        kept = 1 - Decimal(str(line["discount"] or 0))
        found["list"] += (pieces * price).quantize(CENT, ROUND_HALF_UP)
        amount = (pieces * price * kept).quantize(CENT, ROUND_HALF_UP)
        found["category"][line["category"]] += amount
        found["fabric"][line["fabric"] or ""] += amount
        found["role"][line["fabric"] or "", line["role"]] += amount
    net = sum(found["category"].values())
    tax = (net * Decimal(str(_named(workbook, "bom_tax_rate")))).quantize(CENT, ROUND_HALF_UP)
    return found | {"discount": found["list"] - net, "net": net, "tax": tax, "amount": net + tax}


def _cents(value: Any) -> Decimal:
    return Decimal(str(value or 0)).quantize(CENT)


def test_totals_follow_what_the_reader_types(quotes, recalculated):
    """Another quantity, price, discount and tax rate and a line more change all totals, and by as much as they must."""
    before = _sums(load_workbook(quotes[PRICED] / "report.xlsx", data_only=True))
    workbook = load_workbook(recalculated[CHANGED], data_only=True)
    sums = _sums(workbook)
    names = {**TOTALS, "bom_net": "net"}
    assert {name: _cents(_named(workbook, name)) for name in names} == {name: sums[key] for name, key in names.items()}
    assert all(before[key] != sums[key] for key in names.values())


def test_subtotals_and_chart_follow_what_the_reader_types(recalculated):
    """Subtotals below the bill, the categories of the cover, and the chart of them follow the inputs, too."""
    workbook = load_workbook(recalculated[CHANGED], data_only=True)
    by_category = {name: _cents(amount) for name, amount in _sums(workbook)["category"].items()}
    cover, bill, amounts = workbook.worksheets[0], workbook.worksheets[1], _column(workbook, "amount")
    column = amounts[0].column
    below = [(row[column - 2].value, row[column - 1].value) for row in bill.iter_rows(min_row=amounts[-1].row)]
    assert {name: _cents(value) for name, value in below if name in by_category} == by_category
    of_cover = {row[0].value: row[1].value for row in cover.iter_rows() if row[0].value in by_category}
    assert {name: _cents(value) for name, value in of_cover.items()} == by_category
    with zipfile.ZipFile(recalculated[CHANGED]) as archive:
        [chart] = [archive.read(name).decode() for name in archive.namelist() if name.startswith("xl/charts/chart")]
    values = re.findall(r"<c:v>([^<]*)</c:v>", chart.partition("<c:val>")[2])
    assert [_cents(value) for value in values] == list(by_category.values())


def test_the_bill_by_fabric_and_role_follows_what_the_reader_types(recalculated):
    """Sums by fabric and by role follow the inputs, and differ from the net amount by nothing."""
    workbook = load_workbook(recalculated[CHANGED], data_only=True)
    sums = _sums(workbook)
    rows = [[cell.value for cell in row] for row in workbook.worksheets[2].iter_rows()]
    of_fabric = {row[0]: _cents(row[1 + len(sums["category"])]) for row in reversed(rows) if row[0] in sums["fabric"]}
    assert of_fabric == {name: amount for name, amount in sums["fabric"].items() if name}
    of_role = {(row[0], row[1]): _cents(row[3]) for row in rows if (row[0], row[1]) in sums["role"]}
    assert of_role == {names: amount for names, amount in sums["role"].items() if names[0]}
    checks = [row for row in rows if any(str(cell).startswith("Difference") for cell in row)]
    assert [cell for row in checks for cell in row if isinstance(cell, int | float)] == [0, 0]


def _charges(workbook: Workbook) -> list[tuple[Decimal, Decimal]]:
    """The unit prices of charges that are shares of the hardware: as the sheet has them, and as they come to here."""
    lines = [[cell.value for cell in cells] for cells in zip(*(_column(workbook, key) for key in COLUMNS), strict=True)]
    hardware = Decimal(0)
    for category, _, _, quantity, spare, price, discount, _ in lines:
        if category and category not in NO_HARDWARE and price is not None:
            kept = Decimal(str(price)) * (1 - Decimal(str(discount or 0)))
            hardware += (((quantity or 0) + (spare or 0)) * kept).quantize(CENT, ROUND_HALF_UP)
    shares = [Decimal(str(_named(workbook, f"bom_share_{number}"))) for number in (1, 2)]
    shown = [_cents(line[5]) for line in lines if line[2] in ("freight", "support")]
    return list(zip(shown, [(share * hardware).quantize(CENT, ROUND_HALF_UP) for share in shares], strict=True))


def test_charges_follow_the_hardware(quotes, recalculated):
    """Freight and support follow a quantity, a discount, a share and a line more; a service more leaves them alone."""
    before = _charges(load_workbook(quotes[CHARGED] / "report.xlsx", data_only=True))
    workbook = load_workbook(recalculated[SHARES], data_only=True)
    after = _charges(workbook)
    for shown, worked_out in (*before, *after):
        assert shown == worked_out > 0
    assert all(one != other for (one, _), (other, _) in zip(before, after, strict=True))
    sums = _sums(workbook)
    names = {**TOTALS, "bom_net": "net"}
    assert {name: _cents(_named(workbook, name)) for name in names} == {name: sums[key] for name, key in names.items()}


def test_charges_without_priced_hardware_have_no_price(recalculated):
    """Without prices of hardware there is nothing to take a share of: the charges count as lines without a price."""
    workbook = load_workbook(recalculated[UNPRICED], data_only=True)
    lines = list(zip(*(_column(workbook, key) for key in ("category", "quantity", "price", "amount")), strict=True))
    unpriced = [line for line in lines if line[1].value is not None and line[2].value in (None, "")]
    assert [line[0].value for line in unpriced].count("Services") == len(("freight", "support"))
    assert {line[3].value for line in unpriced} == {"No price"}
    assert _named(workbook, "bom_unpriced") == len(unpriced)
    priced = [line for line in lines if isinstance(line[2].value, int | float)]
    assert {line[0].value for line in priced} == set(NO_HARDWARE)
    assert _cents(_named(workbook, "bom_net")) == sum(_cents(line[3].value) for line in priced)


def test_the_list_by_part_number_follows_what_the_reader_adds(quotes, recalculated):
    """A required part that gets a price is found, the sentences follow, and what the list lacks is shown."""
    before = load_workbook(quotes[CHARGED] / "quote.xlsx", data_only=True)
    workbook = load_workbook(recalculated[ADDED], data_only=True)
    rows = [[cell.value for cell in row] for row in workbook["By part number"].iter_rows()]
    [cord] = [row for row in rows if row[2] == "Power cord C19 to C20"]
    assert _cents(cord[4]) == 15360
    [net] = [row[4] for row in rows if row[2] == "Net amount"]
    assert _cents(net) == _cents(_named(before, "bom_net")) + 15360
    [difference] = [row[4] for row in rows if str(row[3]).startswith("Difference")]
    assert _cents(difference) == -5000 == _cents(net) - _cents(_named(workbook, "bom_net"))
    cover = {cell.value for row in workbook.worksheets[0].iter_rows() for cell in row if isinstance(cell.value, str)}
    assert "Covers all 20 charged lines of the bill of materials." in cover
    assert any(text.startswith("Required parts not yet priced: 1.") for text in cover)


LOGO_PLAN = """bomgen: 1
name: logo
workload: {inference: {model: llama-2-7b, precision: fp16, context: 2048, output_tokens: 512, requests_per_minute: 600}}
cluster: {gpu: a100-sxm-80}
quote: {vendor: {name: Example Systems, logo: logo.png}, currency: USD}
"""


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def test_the_logo_is_printed(judge, run, tmp_path):
    """A PNG of the vendor is on the first page that LibreOffice prints, as wide and high as it is."""
    soffice, pdfimages = judge("soffice"), judge("pdfimages")
    width, height = 60, 30
    picture = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    picture += _chunk(b"IDAT", zlib.compress((b"\0" + b"\xff\0\0" * width) * height)) + _chunk(b"IEND", b"")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + picture)
    (tmp_path / "plan.yaml").write_text(LOGO_PLAN, encoding="utf-8")
    arguments = (tmp_path / "plan.yaml", "-f", "xlsx", "-o", tmp_path, "--root", tmp_path)
    built = run(sys.executable, "-m", "bomgen", "build", *arguments)
    assert built.returncode == 0, built.stderr
    profile = f"-env:UserInstallation=file://{tmp_path / 'profile'}"
    printed = run(
        soffice,
        *(profile, "--headless", "--norestore", "--convert-to", "pdf", "--outdir", tmp_path),
        tmp_path / "logo" / "report.xlsx",
        environment={"HOME": str(tmp_path)},
    )
    assert printed.returncode == 0, printed.stderr
    listed = run(pdfimages, "-list", tmp_path / "report.pdf").stdout.splitlines()[2:]
    assert [line.split()[:5] for line in listed] == [["1", "0", "image", str(width), str(height)]]


def test_the_workbook_of_a_quote_prints_in_few_pages(quotes, judge, run, tmp_path):
    """The workbook for the customer: at most 9 pages, with alternatives, several clusters, whole racks, in Chinese."""
    soffice, pdfinfo = judge("soffice"), judge("pdfinfo")
    for name in PRINTED:
        shutil.copy(quotes[name] / "quote.xlsx", tmp_path / f"{name}.xlsx")
    profile = f"-env:UserInstallation=file://{tmp_path / 'profile'}"
    printed = run(
        soffice,
        *(profile, "--headless", "--norestore", "--convert-to", "pdf", "--outdir", tmp_path),
        *sorted(tmp_path.glob("*.xlsx")),
        environment={"HOME": str(tmp_path)},
    )
    assert printed.returncode == 0, printed.stderr
    pages = {
        name: int(re.search(r"Pages: *([0-9]+)", run(pdfinfo, tmp_path / f"{name}.pdf").stdout)[1]) for name in PRINTED
    }
    assert max(pages.values()) <= MOST_PRINTED, pages


def test_the_chart_shows_what_the_cells_beside_it_do(plan, quotes, stored):
    """The values stored in the chart are those of the cells that it refers to; without any price there is no chart."""
    with zipfile.ZipFile(quotes[plan] / "report.xlsx") as archive:
        charts = [archive.read(name).decode() for name in archive.namelist() if name.startswith("xl/charts/")]
    net = Decimal(json.loads((quotes[plan] / "bom.json").read_text("utf-8"))["totals"]["list"])
    assert len(charts) == bool(net)
    for chart in charts:
        for part in ("cat", "val"):
            content = chart.partition(f"<{part}>")[2].partition(f"</{part}>")[0]
            sheet, _, area = re.search("<f>'(.*)'!(.*)</f>", content).group(0)[3:-4].rpartition("!")
            cells = [cell.value for row in stored["report"][sheet.strip("'")][area.replace("$", "")] for cell in row]
            shown = re.findall("<v>([^<]*)</v>", content)
            if part == "val":
                cells = [float(cell) if isinstance(cell, int | float) else 0.0 for cell in cells]
                shown = [float(value) for value in shown]
            assert shown == cells


def test_other_readers_see_the_values(plan, quotes, stored, judge):
    """A reader that cannot calculate finds the amount of the quote in the file as bomgen wrote it."""
    judge("python:python_calamine")
    from python_calamine import CalamineWorkbook

    path = quotes[plan] / "report.xlsx"
    amount = float(json.loads((quotes[plan] / "bom.json").read_text("utf-8"))["totals"]["amount"])
    [(sheet, place)] = stored["report"].defined_names["bom_amount"].destinations
    column, row = re.fullmatch(r"\$?([A-Z]+)\$?(\d+)", place).groups()
    number = 0
    for letter in column:
        number = number * 26 + ord(letter) - ord("A") + 1
    rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    assert rows[int(row) - 1][number - 1] == pytest.approx(amount)
