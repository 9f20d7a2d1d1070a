"""Price books as YAML, CSV and sheets: what is read, what is refused, and what comes back unchanged."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook
from written_plans import open_book

from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Mark
from bomgen.core.safety import find_invisible
from bomgen.output.price_lists import written
from bomgen.output.xlsx.cells import package
from bomgen.pricing.price_book import PriceBook, check_price_book, entries, price_book
from bomgen.reading import tables, workbooks
from bomgen.reading.workbooks import MAX_ENTRIES, MAX_EXPANDED
from bomgen.results.result import Report
from bomgen.workflow.inputs import price_books_of, read_all
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

HEADER = ("part", "price", "currency")
BOMB = 3 * 10**6
"""Bytes of zeros that a package of a few kilobytes holds."""


def book_of(text: str | bytes, name: str = "book.csv") -> PriceBook:
    """The price book in a file's content."""
    return price_book(open_book(text.encode() if isinstance(text, str) else text, name))


def refused(content: str | bytes, name: str = "book.csv") -> list[str]:
    """What is said of a file that is no price book."""
    with pytest.raises(PlanErrors) as errors:
        book_of(content, name)
    return [str(problem) for problem in errors.value.problems]


def sheet(*rows: tuple[Any, ...], results: dict[str, Any] | None = None, title: str = "prices") -> bytes:
    """A workbook with rows, and values of its formulas by address."""
    book = Workbook()
    cells: Any = book.active
    cells.title = title
    for row in rows:
        cells.append(row)
    if results is not None:
        return package(book, {title: results})
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


# CSV ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_csv_as_spreadsheets_save_it(separator: str, end: str, mark: str) -> None:
    """Separators, line ends and a byte order mark make no difference; columns come in any order and case."""
    rows = [["Currency", "From Quantity", "PRICE", "Part"], ["EUR", "10", "449.50", "x"], ["", "", "", ""]]
    book = book_of(mark + "".join(separator.join(row) + end for row in rows))
    assert [("x", Decimal("449.50"), 10, "EUR")] == [
        (price.part, price.amount, price.from_quantity, price.currency) for price in book.prices
    ]
    assert ("book.csv", 2) == book.prices[0].mark[:2]


def test_all_columns_mean_what_they_mean_in_yaml() -> None:
    """A row of CSV and an entry of YAML are the same price."""
    row = "part,price,min,max,from_quantity,valid_until,source,estimate,currency,date,description\n"
    row += 'X-1,10.5,9,12,100,2026-12-31,"Vendor, offer",TRUE,EUR,2026-10-01,anything\n'
    yaml = "bomgen_prices: 1\ncurrency: USD\nprices: [{part: X-1, price: 10.5, min: 9, max: 12, from_quantity: 100, "
    yaml += "valid_until: 2026-12-31, source: 'Vendor, offer', estimate: true, currency: EUR, date: 2026-10-01}]\n"
    found, wanted = book_of(row).prices[0], book_of(yaml, "book.yaml").prices[0]
    assert wanted._replace(mark=found.mark) == found


def test_places_are_those_of_the_file() -> None:
    """Line and column count in the file, behind fields of several lines as well."""
    text = 'part,source,price,currency\r\nx,"two\r\nlines",1,USD\r\ny,,  a lot,USD\r\n'
    assert [
        "book.csv:4:6: error: 'a lot' is text; write a number without currency or unit, for example 1234.50 [type]"
    ] == (refused(text))


@given(
    st.lists(st.lists(st.text(alphabet="ab \",;\n\r'=", max_size=6), min_size=2, max_size=3), min_size=1, max_size=4)
)
def test_csv_is_split_as_python_splits_it(rows: list[list[str]]) -> None:
    """Fields are those that Python's own reader finds; blanks around them are left out.

    So is the apostrophe before what spreadsheets run (OWASP, CSV injection: a carriage return is among it).
    """
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    text = stream.getvalue()
    wanted = [[field.replace("\r\n", "\n").strip() for field in row] for row in csv.reader(io.StringIO(text, ""))]
    found = [[str(cell.value or "") for cell in row] for row in tables.rows(text, "book.csv")]
    run = ("=", "\r", "\n")
    without = [[f[1:] if f[:1] == "'" and f.lstrip("'")[:1] in run else f for f in row] for row in wanted]
    assert [row if any(row) else [] for row in without] == found


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('"1,234"', "the separator in '1,234' is ambiguous (decimal or thousands)"),
        ("1.2E+06", "is a truncated number"),
        ("tba", "'tba' is text"),
        ("1" * 41, "at most 40 are read"),
        ("1" * 13, "looks wrong"),
    ],
)
def test_a_price_that_is_no_number_is_refused(cell: str, said: str) -> None:
    """What may be read in two ways is not guessed at; the message says what to write or to choose."""
    found = refused(f"part,price,currency\nx,{cell},USD\n")
    assert [True] == [said in line and line.startswith("book.csv:2:3: error: ") for line in found]


@pytest.mark.parametrize(
    ("cell", "price"),
    [
        ('"1,234.50"', "1234.50"),
        ("1 234", "1234"),
        ("1'234'567.5", "1234567.5"),
        ('"449,50"', "449.50"),
        ('"1.234,50"', "1234.50"),
        ("$5", "5"),
        ('"5,00 €"', "5"),
    ],
)
def test_a_price_as_people_write_it_is_read(cell: str, price: str) -> None:
    """Separators that can be read in one way alone are no obstacle, nor are signs of currencies."""
    assert Decimal(price) == book_of(f"part,price,currency\nx,{cell},USD\n").prices[0].amount


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('"1,000"', "'1,000' has a thousands separator; write 1000, or 1.000 where the comma is a point"),
        ('"1,000.5"', "'1,000.5' has a thousands separator; write 1000.5"),
        ('"4,50"', "'4,50' has a decimal comma; write 4.50"),
    ],
)
def test_a_quantity_that_is_no_plain_number_is_refused(cell: str, said: str) -> None:
    """Quantities are written without separators; the message says how."""
    found = refused(f"part,price,currency,from_quantity\nx,1,USD,{cell}\n")
    assert [True] == [said in line and line.startswith("book.csv:2:9: error: ") for line in found]


@pytest.mark.parametrize(
    ("text", "place", "rule"),
    [
        ("", "1:1", "empty"),
        ("\n,,\n", "1:1", "empty"),
        ("part,price,currency,prize\n", "1:21", "unknown-column"),
        ("part,price,currency,Price\n", "1:21", "duplicate-column"),
        ("part,price\nx,1\n", "1:1", "columns"),
        ("part,price,currency\nx,1,\n", "2:5", "missing-key"),
        ("part,price,currency\n,1,USD\n", "2:1", "missing-key"),
        ("part,price,currency\nx,1,USD,more\n", "2:9", "no-column"),
        ("part,price,currency\nx,1,dollars\n", "2:5", "pattern"),
        ("part,price,currency\nx,-1,USD\n", "2:3", "range"),
        ("part,price,currency,estimate\nx,1,USD,perhaps\n", "2:9", "type"),
        ("part,price,currency,from_quantity\nx,1,USD,1.5\n", "2:9", "type"),
        ("part,price,currency,date\nx,1,USD,1/10/2026\n", "2:9", "columns"),
        ("part,price,currency,date\nx,1,USD,2026-02-29\n", "2:9", "date"),
        ("part,min,max,currency\nx,2,1,USD\n", "2:1", "price-range"),
        ("part,price,currency\nx,1,USD\nX,2,USD\n", "3:1", "duplicate-price"),
        ("part,price,currency\nx,,USD\n", "2:1", "no-price"),
        ('part,price,currency\nx,"1,USD\n', "2:3", "csv"),
        ('part,price,currency\n"x"y,1,USD\n', "2:4", "csv"),
        ("part,price,currency\nx\x07,1,USD\n", "2:1", "sign"),
    ],
)
def test_what_no_price_book_is(text: str, place: str, rule: str) -> None:
    """Every slip is refused at its field, by the rules of YAML books."""
    found = refused(text)
    assert [(f"book.csv:{place}: error", f"[{rule}]")] == [
        (line[: line.index(" ") - 1] + ": error", line[line.rindex("[") :]) for line in found
    ]


def test_other_kinds_of_file_are_refused() -> None:
    """A kind that is not read is said to be so, and a file that is too large; any encoding of Unicode is read."""
    assert "is not a format of tables" in refused(b"", "book.numbers")[0]
    assert "x" == book_of("part,price,currency\nx,1,USD\n".encode("utf-16")).prices[0].part
    assert "at most" in refused("a" * (5 * 10**6 + 1))[0]


def test_a_yaml_book_may_leave_the_currency_to_its_prices() -> None:
    """A book without a currency is one where every price names its own."""
    own = "bomgen_prices: 1\nprices: [{part: x, price: 1, currency: EUR}, {part: y, price: 1%s}]\n"
    assert ["EUR", "USD"] == [name for name, _ in book_of(own % ", currency: USD", "book.yaml").currencies]
    assert "no currency for y" in refused(own % "", "book.yaml")[0]


def test_numbers_of_absurd_length_are_refused_in_yaml_too() -> None:
    """Decimal digits in quotes are read to the same length as numbers."""
    text = "bomgen_prices: 1\ncurrency: USD\nprices: [{part: x, price: '%s'}]\n"
    assert "more than 40 digits" in refused(text % ("1." + "1" * 50), "book.yaml")[0]


# sheets -------------------------------------------------------------------------------------------------------------


def test_a_sheet_is_read_as_it_is_shown() -> None:
    """Numbers without the noise of binary ones, dates as dates, part numbers that became numbers as text."""
    book = book_of(
        sheet(
            ("Part", "price", "min", "valid until", "estimate", "currency", "description", None),
            ("x", 449.5, "9", date(2026, 12, 31), True, "USD", "=1/0", None),
            (),
            (980, 0.1 + 0.2, None, datetime(2026, 1, 2), None, "EUR", None, None),
            ("y", 16777217.1, None, "2026-01-02", "no", "EUR", None, None),
        ),
        "book.xlsx",
    )
    assert [
        ("x", Decimal("449.5"), Decimal(9), "2026-12-31", True),
        ("980", Decimal("0.3"), Decimal("0.3"), "2026-01-02", False),
        ("y", Decimal("16777217.1"), Decimal("16777217.1"), "2026-01-02", False),
    ] == [(price.part, price.amount, price.low, price.valid_until, price.estimate) for price in book.prices]
    assert Mark("book.xlsx", 4, 1) == book.prices[1].mark


def test_formulas_are_read_by_what_they_came_to() -> None:
    """A formula is its value; one that was never computed is refused."""
    rows = (HEADER, ("x", "=2*3.25", "USD"))
    assert Decimal("6.5") == book_of(sheet(*rows, results={"B2": 6.5}), "book.xlsx").prices[0].amount
    assert refused(sheet(*rows), "book.xlsx")[0].startswith("book.xlsx:2:2: error: a formula without a value; save")


def test_the_sheet_of_prices_is_found() -> None:
    """The sheet called prices is read, else the first."""
    book = Workbook()
    first: Any = book.active
    first.append(("nothing",))
    other = book.create_sheet("Prices")
    other.append(HEADER)
    other.append(("x", 1, "USD"))
    stream = io.BytesIO()
    book.save(stream)
    assert "x" == book_of(stream.getvalue(), "book.xlsx").prices[0].part
    assert "x" == book_of(sheet(HEADER, ("x", 1, "USD"), title="Sheet1"), "book.xlsx").prices[0].part


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        (("x", "#REF!", "USD"), 2, "the cell shows #REF!"),
        (("x", "1,234", "USD"), 2, "is ambiguous (decimal or thousands)"),
        (("x", date(2026, 1, 2), "USD"), 2, "is a date; a spreadsheet made it one"),
        ((date(2026, 1, 2), 1, "USD"), 1, "is a date; a spreadsheet made it one"),
        (("x", True, "USD"), 2, "is not a number"),
        (("x", -1, "USD"), 2, "-1 is too small; at least 0"),
        (("x", 1, "USD", 46000), 4, "write the date as YYYY-MM-DD, or format the cell as a date"),
        (("x", 1, "USD", datetime(2026, 1, 2, 3, 4)), 4, "write the date alone"),
        (("x", 1, "USD", None, *[None] * 60, "far"), 65, "a cell beyond column 50"),
    ],
)
def test_what_a_spreadsheet_made_of_a_cell_is_refused(row: tuple[Any, ...], column: int, said: str) -> None:
    """A cell that is not what its column asks for is refused at its row and column."""
    found = refused(sheet((*HEADER, "date"), row), "book.xlsx")
    assert [True] == [said in line and line.startswith(f"book.xlsx:2:{column}: error: ") for line in found]


def repacked(extra: dict[str, bytes]) -> bytes:
    """A workbook with more files in its package, or others."""
    stream = io.BytesIO()
    with ZipFile(io.BytesIO(sheet(HEADER))) as old, ZipFile(stream, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in extra:
                new.writestr(name, old.read(name))
        for name, content in extra.items():
            new.writestr(name, content)
    return stream.getvalue()


BOMBS = {
    "packed beyond measure": repacked({"xl/media/a.bin": b"\0" * BOMB}),
    "too large together": repacked({f"{n}.bin": (b"%09d\n" % n) * 10**6 for n in range(1 + MAX_EXPANDED // 10**7)}),
    "too many files": repacked({f"{n}.bin": b"" for n in range(MAX_ENTRIES + 1)}),
    "too large": b"PK" + b"\0" * (6 * 10**6),
    "entities": repacked({"xl/workbook.xml": b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'}),
    "no package": b"part,price,currency\n",
    "half of a package": sheet(HEADER)[:2000],
    "nothing in it": repacked({"xl/workbook.xml": b"<x/>"}),
}


@pytest.mark.parametrize("content", list(BOMBS.values()), ids=list(BOMBS))
def test_a_package_that_means_harm_is_refused(content: bytes) -> None:
    """Zip bombs and what is no workbook are refused in words, with nothing unpacked that is too large."""
    assert refused(content, "book.xlsx")[0].startswith("book.xlsx:1:1: error: ")


def test_a_workbook_is_unpacked_once_to_be_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is judged and searched once, however many alternatives ask for its prices."""
    looked: list[object] = []
    monkeypatch.setattr(workbooks, "ZipFile", lambda *how: looked.append(how) or ZipFile(*how))
    (tmp_path / "book.xlsx").write_bytes(sheet(HEADER, ("qm9700", 1, "USD")))
    content = b"bomgen: 1\nname: x\ncluster: {gpu: a100-sxm-80, servers: 1}\nquote: {price_book: book.xlsx}\n"
    inputs = read_all(PlanFile("plan.yaml", content, tmp_path, tmp_path))
    found = [price_books_of(inputs, [("book.xlsx", Mark("plan.yaml", 1, 1))])[0] for _ in range(3)]
    assert found[0] == found[2]
    assert ["qm9700"] == [price.part for price in found[0][0].prices]
    assert 2 == sum(len(how) == 1 for how in looked), "opened to be read, not to be packed"


def test_rows_far_down_are_found_and_bounded() -> None:
    """A cell in the last row of a sheet is read as any other; empty rows between take no time."""
    book = Workbook()
    cells: Any = book.active
    cells.append(HEADER)
    for at, value in enumerate(("x", 1, "USD"), 1):
        cells.cell(row=1_048_576, column=at, value=value)
    stream = io.BytesIO()
    book.save(stream)
    assert 1_048_576 == book_of(stream.getvalue(), "book.xlsx").prices[0].mark.line


def test_nobody_loads_openpyxl_without_a_workbook(tmp_path: Path) -> None:
    """A plan with books in YAML and CSV is checked without the library of workbooks."""
    (tmp_path / "a.csv").write_text("part,price,currency\nqm9700,1,USD\n", "utf-8")
    plan = "bomgen: 1\nname: a\ncluster: {gpu: h100-sxm, servers: 8}\nquote: {price_book: a.csv, cost_book: a.csv}\n"
    (tmp_path / "plan.yaml").write_text(plan, "utf-8")
    code = "import sys; from bomgen.workflow.plan_files import open_plan; "
    code += "from bomgen.workflow.pipeline import check_plan; check_plan(open_plan(sys.argv[1], None)); "
    code += "print('openpyxl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "plan.yaml")], capture_output=True, check=True)
    assert b"False" == done.stdout.strip()


# back and forth -----------------------------------------------------------------------------------------------------


TEXTS = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs", "Cn")), min_size=1, max_size=12).filter(
    lambda text: text.strip() and find_invisible(text) is None
)
TRICKY = st.sampled_from(
    ("=1+1", "'=x", "''@", "-5", "+x", "@a", "true", "null", "1e5", "2026-10-01", "a;b\t'c\"", "a\nb", "#x")
)
AMOUNTS = st.decimals(0, 10**11, allow_nan=False, allow_infinity=False, places=None).map(
    lambda d: d.quantize(Decimal("1e-9"))
)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31)).map(date.isoformat)


@st.composite
def prices(draw: st.DrawFn) -> dict[str, Any]:
    """A price as a YAML book may have it."""
    price = draw(AMOUNTS)
    entry: dict[str, Any] = {"price": f"{price:f}", "currency": draw(st.sampled_from(("USD", "EUR", "JPY")))}
    if draw(st.booleans()):
        entry |= {"min": f"{price / 2:f}", "max": f"{price + 1:f}"}
        if draw(st.booleans()):
            del entry["price"]
    for key, values in (
        ("from_quantity", st.integers(1, 10**9)),
        ("valid_until", DAYS),
        ("date", DAYS),
        ("source", TEXTS | TRICKY),
        ("estimate", st.booleans()),
    ):
        if draw(st.booleans()):
            entry[key] = draw(values)
    return entry


class Quoted(yaml.SafeDumper):
    """Writes every text in quotes: `0E0` is a number in YAML 1.2 and a text in YAML 1.1, which PyYAML writes."""


Quoted.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(st.lists(prices(), max_size=5), TEXTS | TRICKY, st.booleans())
def test_nothing_is_lost_on_the_way(found: list[dict[str, Any]], part: str, estimate: bool) -> None:
    """YAML to CSV to YAML to a sheet to YAML: the prices are the same, and equal prices make equal bytes."""
    listed = [{"part": f"{part}{number}"} | entry for number, entry in enumerate(found)]
    text = yaml.dump({"bomgen_prices": 1, "estimate": estimate, "prices": listed}, Dumper=Quoted)
    wanted = read_back(text.encode(), "yaml")
    now = wanted
    for form in ("csv", "yaml", "xlsx", "yaml"):
        content = written(now, form)
        assert content == written(now, form)
        now = read_back(content, form)
        assert wanted == now


def read_back(content: bytes, form: str) -> list[dict[str, Any]]:
    """The prices of a book."""
    source = open_book(content, f"book.{form}")
    check_price_book(source)
    return entries(source)


def test_csv_and_sheets_are_what_other_programs_read() -> None:
    """Python's reader finds the fields of the CSV, and the sheet holds numbers and dates, not text."""
    listed = [{"part": "=x", "price": Decimal("1.5"), "currency": "USD", "date": "2026-10-01", "source": 'a "b", c'}]
    row = next(csv.DictReader(io.StringIO(written(listed, "csv").decode(), "")))
    assert ("'=x", "1.5", 'a "b", c') == (row["part"], row["price"], row["source"])
    cells = load_workbook(io.BytesIO(written(listed, "xlsx")))["prices"]
    assert ["=x", 1.5, datetime(2026, 10, 1)] == [cells.cell(2, at).value for at in (1, 2, 10)]
    assert "s" == cells.cell(2, 1).data_type


# the command --------------------------------------------------------------------------------------------------------


PLAN = """bomgen: 1
name: buy
cluster: {gpu: h100-sxm, server: dgx-h100, servers: 8}
fabrics: {compute: {switch: qm9700}}
quote: {currency: EUR, date: 2026-11-20%s}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run commands in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN % "", "utf-8")
    return tmp_path


def run(*arguments: str) -> Any:
    """What the command does."""
    return CliRunner().invoke(main, list(arguments))


def test_a_list_to_fill_in_comes_back_as_a_price_book(place: Path) -> None:
    """Every part without a price is listed once; filled in, the plan has a price for every line."""
    listed = run("prices", "--for", "plan.yaml").stdout
    rows = list(csv.DictReader(io.StringIO(listed, "")))
    assert "dgx-h100" == rows[0]["part"]
    assert {("", "EUR")} == {(row["price"], row["currency"]) for row in rows}
    assert len(rows) == len({row["part"] for row in rows})
    stream = io.StringIO()
    writer = csv.DictWriter(stream, rows[0].keys())
    writer.writeheader()
    writer.writerows([row | {"price": "100"} for row in rows])
    (place / "filled.csv").write_text(stream.getvalue(), "utf-8")
    (place / "priced.yaml").write_text(PLAN % ", price_book: filled.csv", "utf-8")
    assert "missing-price" not in run("check", "priced.yaml").stderr
    assert 1 == len(run("prices", "--for", "priced.yaml").stdout.splitlines())


FLOOR = """
bomgen: 1
name: floor
cluster: {gpu: h100-sxm, servers: 16}
fabrics:
  compute: {switch: qm9700}
  out_of_band: {switch: sn2201, links: {server-leaf: {length: 5 m}}}
  access: {role: out_of_band, switch: sn2201, links: {server-leaf: {length: 20 m}}}
quote: {currency: EUR%s}
"""


def test_each_length_of_a_cable_and_each_required_part_is_asked_for(place: Path) -> None:
    """A row has the pieces of one length, and its price is that of no other length; cords are priced, too."""
    (place / "plan.yaml").write_text(FLOOR % "", "utf-8")
    report = work_out(open_plan("plan.yaml", None))
    wanted: dict[str, int] = {}
    for line in report.quote.all_lines:
        wanted[line.line.description] = wanted.get(line.line.description, 0) + line.line.pieces
    rows = list(csv.DictReader(io.StringIO(run("prices", "--for", "plan.yaml").stdout, "")))
    assert {row["description"].rpartition(":")[0]: int(row["description"].split()[-2]) for row in rows} == wanted
    lengths = [row["part"] for row in rows if row["part"].startswith("cat6-rj45")]
    assert {"cat6-rj45-5m", "cat6-rj45-20m"} == set(lengths)
    prices = {row["part"]: 100 + at for at, row in enumerate(rows)}
    text = "".join(f"{part},{price},EUR\n" for part, price in prices.items())
    (place / "filled.csv").write_text(f"part,price,currency\n{text}", "utf-8")
    (place / "priced.yaml").write_text(FLOOR % ", price_book: filled.csv", "utf-8")
    priced = work_out(open_plan("priced.yaml", None)).quote
    assert (priced.totals.complete, priced.unpriced_required) == (True, ())
    assert {line.unit.amount for line in priced.lines} == set(map(Decimal, prices.values()))
    assert 1 == len(run("prices", "--for", "priced.yaml").stdout.splitlines())


def test_an_expired_price_of_a_table_is_a_warning_at_its_row(place: Path) -> None:
    """A price that has run out is used and said."""
    text = "part,price,valid_until,currency\r\ndgx-h100,300000,2026-11-19,EUR\r\n"
    (place / "old.csv").write_text(text, "utf-8")
    (place / "plan.yaml").write_text(PLAN % ", price_book: old.csv", "utf-8")
    outcome = run("check", "plan.yaml")
    assert 0 == outcome.exit_code
    assert "old.csv:2:1: warning: the price of dgx-h100 was valid until 2026-11-19" in outcome.stderr


def test_books_are_turned_into_one_another(place: Path) -> None:
    """The form follows the suffix; what cannot be done is said."""
    (place / "book.csv").write_text("part,price,currency\nx,1.50,USD\n", "utf-8")
    assert "book.yaml\n" == run("prices", "book.csv", "-o", "book.yaml").stdout
    assert "book.xlsx\n" == run("prices", "book.yaml", "-o", "book.xlsx").stdout
    assert "  - {part: x, price: 1.5}\n" in run("prices", "book.xlsx", "-f", "yaml").stdout
    assert 2 == run("prices", "book.csv", "-f", "xlsx").exit_code
    assert 2 == run("prices", "book.csv", "-o", "book.csv").exit_code
    assert 2 == run("prices", "nowhere.csv").exit_code
    assert 2 == run("prices").exit_code
    assert 2 == run("prices", "book.csv", "--for", "plan.yaml").exit_code
    (place / "wrong.csv").write_text("part,price,currency\nx,a,USD\n", "utf-8")
    outcome = run("prices", "wrong.csv")
    assert (1, "  2 | x,a,USD", "    |   ^") == (outcome.exit_code, *outcome.stderr.splitlines()[1:])


def test_no_bytes_of_a_workbook_are_shown_as_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in a cell is told by its place alone, even where the package has so many lines and no zero bytes."""
    monkeypatch.chdir(tmp_path)
    Path("wrong.xlsx").write_bytes(sheet(HEADER, ("x", "much", "USD")))
    Path("plain.xlsx").write_bytes(b"no package\nat all\n")
    for name in ("wrong.xlsx", "plain.xlsx"):
        said = run("prices", name)
        assert said.exit_code == 1
        assert all(line.startswith(f"{name}:") for line in said.stderr.splitlines())


def hidden_workbook(path: Path, visible: bool) -> None:
    """A workbook with a hidden sheet `prices`, and where asked for a visible one with other prices."""
    book = Workbook()
    for title, price in (("prices", 1), ("list", 25000)):
        sheet = book.create_sheet(title)
        sheet.append(["part", "price", "currency"])
        sheet.append(["qm9700", price, "USD"])
        sheet.sheet_state = "visible" if visible and title == "list" else "hidden"
    del book["Sheet"]
    if not visible:
        sheet.sheet_state = "visible"
    book.save(path)


def priced(folder: Path) -> Report:
    """A plan with a workbook as its price book."""
    text = "bomgen: 1\nname: a\ncluster: {gpu: h100-sxm, servers: 4}\nfabrics: {compute: {switch: qm9700}}\n"
    (folder / "plan.yaml").write_text(text + "quote: {price_book: book.xlsx}\n", "utf-8")
    return work_out(open_plan(str(folder / "plan.yaml"), None))


def test_a_hidden_sheet_is_no_price_list(tmp_path: Path) -> None:
    """What nobody sees sets no price: the visible sheet does, and the hidden one is named."""
    hidden_workbook(tmp_path / "book.xlsx", visible=True)
    report = priced(tmp_path)
    [switch] = [line for line in report.quote.lines if line.line.part == "qm9700"]
    assert switch.unit.amount == 25000
    assert "hidden sheets are not read: prices; show or delete them" in [each.message for each in report.problems]


def test_a_workbook_of_hidden_sheets_is_refused(tmp_path: Path) -> None:
    """Excel shows one sheet at least; a workbook made to show none has no prices."""
    hidden_workbook(tmp_path / "book.xlsx", visible=False)
    with ZipFile(tmp_path / "book.xlsx") as package:
        files = {name: package.read(name) for name in package.namelist()}
    files["xl/workbook.xml"] = files["xl/workbook.xml"].replace(b'state="visible"', b'state="hidden"')
    with ZipFile(tmp_path / "book.xlsx", "w") as package:
        for name, content in files.items():
            package.writestr(name, content)
    with pytest.raises(PlanErrors, match="every worksheet is hidden"):
        priced(tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of two files of one name is read depends on the program: neither is."""
    hidden_workbook(tmp_path / "book.xlsx", visible=True)
    with ZipFile(tmp_path / "book.xlsx", "a") as package:
        package.writestr("xl/worksheets/sheet2.xml", b"<worksheet/>")
    with pytest.raises(PlanErrors, match="is twice in the workbook"):
        priced(tmp_path)
