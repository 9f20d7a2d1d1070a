"""Price lists of many layouts: each is read as lists.yaml says, or asked about."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from judging import Judge

from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.reading.cells import Broken, read_dates, read_heading, read_pieces
from bomgen.reading.columns import NOTHING, read_asked
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.price_lists import PriceList, read_book, read_list
from bomgen.reading.tables import read_tables

HERE = Path(__file__).parent / "lists"
EXPECTED = yaml.safe_load(HERE.with_suffix(".yaml").read_text("utf-8"))
READ = {name: each for name, each in EXPECTED.items() if "prices" in each}
ASKED = {name: each for name, each in EXPECTED.items() if "asks" in each}


def reading(name: str, columns: str = "") -> PriceList:
    """A list of the folder as it is understood."""
    return read_list((HERE / name).read_bytes(), name, read_asked(columns) if columns else NOTHING)


def prices(found: PriceList) -> list[tuple[Any, ...]]:
    """The prices of a list: part, price, currency and lead time."""
    listed = found.source.data["prices"]
    return [(each["part"], Decimal(each["price"]), each["currency"], each.get("lead_time")) for each in listed]


def wanted(expected: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The prices that a list has, as its YAML says."""
    rows = [(*row, None)[:4] for row in expected["prices"]]
    return [(part, Decimal(str(price)), currency, lead) for part, price, currency, lead in rows]


def test_there_are_lists_of_all_layouts() -> None:
    """Thirty files at least, each with its reading, in two languages and in every format."""
    files = {path.name for path in HERE.iterdir() if path.suffix != ".py"}
    assert files == set(EXPECTED)
    assert len(files) >= 30
    assert {".xlsx", ".xls", ".ods", ".csv", ".tsv", ".txt"} == {Path(name).suffix for name in files}
    assert sum(name.startswith("zh-") for name in files) >= 5
    assert len(READ) > len(ASKED) > 10


@pytest.mark.parametrize("name", READ)
def test_a_list_is_read(name: str) -> None:
    """Prices, columns, and what was left out are those that a person finds in it."""
    expected, found = READ[name], reading(name)
    assert wanted(expected) == prices(found)
    columns = {role: column.letter for each in found.layouts for role, column in each.columns.items()}
    assert expected["columns"] == columns
    assert expected.get("left_out", {}) == Counter(row.reason for row in found.left_out)
    assert expected.get("unread", []) == list(found.unread)
    assert expected.get("hidden", []) == list(found.hidden)
    assert expected.get("tables", len(found.layouts)) == len(found.layouts)
    assert set(expected.get("notes", [])) <= set(found.notes)
    for key in ("valid_until", "from_quantity"):
        if key in expected:
            assert [str(each) for each in expected[key]] == [str(each[key]) for each in found.source.data["prices"]]
    unmatched = [part for part, *_ in prices(found) if not built_in_parts().find(part)]
    assert expected.get("unmatched", []) == unmatched
    warnings = [(f"{each.line}:{each.column}", each.message) for each in found.warnings]
    assert len(warnings) == len(expected.get("warns", [])) / 2
    for place, message in warnings:
        assert (place, True) == (expected["warns"][0], message.startswith(expected["warns"][1]))


@pytest.mark.parametrize("name", READ)
def test_a_list_that_is_read_is_a_price_book(name: str) -> None:
    """A plan may name it: it is the same prices, with the ids of parts that it names otherwise."""
    book = read_book((HERE / name).read_bytes(), name)
    assert [price for _, price, _, _ in prices(reading(name))] == [price.amount for price in book.prices]
    known = built_in_parts()
    assert READ[name].get("unmatched", []) == [each.part.upper() for each in book.prices if not known.find(each.part)]


@pytest.mark.parametrize("head", ["Item,Unit price,Currency", "part,price,currency"])
def test_names_with_spaces_are_looked_up(head: str) -> None:
    """In a vendor's list and in a price book; a text around a name is a question."""
    rows = f"{head}\nDGX H200,310000,USD\nQM 9700,33000,USD\nMQM9700-NS2F fan,9,USD\n"
    book = read_book(rows.encode(), "sent.csv")
    assert [price.part for price in book.prices] == ["dgx-h200", "qm9700", "mqm9700-ns2f fan"]


@pytest.mark.parametrize("name", ASKED)
def test_a_list_that_can_be_read_in_two_ways_is_asked_about(name: str) -> None:
    """The question stands at its cell and says what to choose; so does a cell that nobody can read."""
    place, said = ASKED[name]["asks"]
    with pytest.raises(PlanErrors) as errors:
        reading(name)
    first = errors.value.problems[0]
    assert f"{name}:{place}: error: " == str(first)[: len(name) + len(place) + 10]
    assert said in first.message


@pytest.mark.parametrize(
    ("name", "columns", "first"),
    [
        ("two-unknown-numbers.csv", "part=B", ("B-77", Decimal(25000), "USD", None)),
        ("no-header.csv", "part=A,price=B,currency=EUR", ("MQM9700-NS2F", Decimal(25000), "EUR", None)),
        ("no-currency.csv", "currency=usd", ("MQM9700-NS2F", Decimal(25000), "USD", None)),
        ("breaks-as-columns.csv", "price=Price 10+", ("MQM9700-NS2F", Decimal(24000), "USD", None)),
        ("two-prices.csv", "price=C", ("MQM9700-NS2F", Decimal(23000), "EUR", None)),
        ("thousands.csv", "decimal=comma", ("MQM9700-NS2F", Decimal(25000), "EUR", None)),
        ("thousands.csv", "decimal=point", ("MQM9700-NS2F", Decimal(25), "EUR", None)),
        ("with-tax.csv", "price=B", ("MQM9700-NS2F", Decimal(25000), "EUR", None)),
        ("with-tax.csv", "tax=19%", ("MQM9700-NS2F", Decimal("21008.40"), "EUR", None)),
        ("with-tax.csv", "tax=0%", ("MQM9700-NS2F", Decimal(25000), "EUR", None)),
        ("zh-title-with-tax.csv", "tax=13%", ("MQM9700-NS2F", Decimal("163716.81"), "CNY", None)),
        ("yen-or-yuan.csv", "currency=JPY", ("MQM9700-NS2F", Decimal(200000), "JPY", None)),
        ("zh-unclear.xlsx", "discount=G", ("MQM9700-NS2F", Decimal(30000), "CNY", None)),
        ("zh-unclear.xlsx", "paid=G", ("MQM9700-NS2F", Decimal(170000), "CNY", None)),
        ("dates-unclear.csv", "dates=dmy", ("MQM9700-NS2F", Decimal(25000), "USD", None)),
        ("dates-unclear.csv", "valid_until=none", ("MQM9700-NS2F", Decimal(25000), "USD", None)),
        ("sheets.xlsx", "sheet=Optics", ("MMA4Z00-NS", Decimal(850), "USD", "28 days")),
        ("two-numbers.csv", "part=A", ("A-100", Decimal(25000), "USD", None)),
        ("edu.csv", "price=D", ("MQM9700-NS2F", Decimal(24000), "USD", None)),
        ("hidden.xlsx", "net_price=D", ("MQM9700-NS2F", Decimal(20000), "USD", None)),
        ("german-units.csv", "unit=none,pieces=none", ("MQM9700-NS2F", Decimal(25000), "EUR", None)),
        ("simple.csv", "scale=0.01", ("MQM9700-NS2F", Decimal(250), "USD", None)),
    ],
)
def test_columns_answers_the_question(name: str, columns: str, first: tuple[Any, ...]) -> None:
    """What `--columns` says is done, whatever headings say."""
    assert first == prices(reading(name, columns))[0]


@pytest.mark.parametrize(
    ("rule", "price"), [("first", 879), ("last", 860), ("lowest", 845), ("highest", 879), ("lowest,tax=0%", 845)]
)
def test_one_of_several_prices_of_a_part_is_kept(rule: str, price: int) -> None:
    """The other rows are named as left out."""
    found = reading("several-prices.csv", f"repeated={rule}")
    assert [(part, amount) for part, amount, *_ in prices(found)] == [("QM9700", 25000), ("MMA4Z00-NS", price)]
    assert [row.reason for row in found.left_out] == ["other-price"] * 2


def test_prices_of_two_currencies_are_not_compared() -> None:
    """The lowest one is a question again."""
    with pytest.raises(PlanErrors, match="repeated=first or repeated=last"):
        reading("several-currencies.csv", "repeated=lowest")
    assert prices(reading("several-currencies.csv", "repeated=last"))[0][1:3] == (Decimal(845), "EUR")


def test_the_rate_that_a_list_names_is_offered_first() -> None:
    """Others follow, and none."""
    with pytest.raises(PlanErrors) as errors:
        reading("zh-title-with-tax.csv")
    [question] = errors.value.problems[0].questions
    assert [choice.label for choice in question.choices[:3]] == ["13%", "0%", "1%"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("part", "asks for nothing"),
        ("prize=C", "did you mean 'price'"),
        ("decimal=both", "write decimal=point"),
        ("dates=us", "write one of dmy, mdy, ymd"),
        ("header=top", "is no line"),
        ("scale=all", "is no number"),
        ("tax=13", "is no rate"),
        ("repeated=all", "is no rule"),
    ],
)
def test_what_columns_cannot_say(text: str, said: str) -> None:
    """A wrong answer is said to be one."""
    with pytest.raises(ValueError, match=said):
        read_asked(text)
    assert 2 == run("prices", "list.csv", "--columns", text).exit_code


@pytest.mark.parametrize(
    ("heading", "roles", "quantity", "currency"),
    [
        ("1-9", ("price",), 1, None),
        ("0 - 9", ("price",), 1, None),
        ("Unit price (10+)", ("price",), 10, None),
        ("Preis ab 10 Stück (EUR)", ("price",), 10, "EUR"),
        ("Listenpreis 1.000-4.999", ("list_price",), 1000, None),
        ("Net price 100 or more", ("net_price",), 100, None),
        ("Qty ≥ 100", ("price",), 100, None),
        ("单价（10台以上）", ("price",), 10, None),
        ("Lead time 6-8 weeks", (), None, None),
        ("Price 2026-2027", (), None, None),
        ("List price", ("list_price",), None, None),
    ],
)
def test_headings_of_prices_by_quantity(
    heading: str, roles: tuple[str, ...], quantity: int | None, currency: str | None
) -> None:
    """A range of pieces in a heading of prices is where its prices begin, in any form; times and years are none."""
    found = read_heading(heading)
    assert (roles, quantity, currency) == (found.roles, found.from_quantity, found.currency)


@pytest.mark.parametrize(
    ("heading", "roles", "scale", "currency"),
    [
        ("Price per 100 (USD)", ("price",), "0.01", "USD"),
        ("Preis/1000 Stk. EUR", ("price",), "0.001", "EUR"),
        ("单价（万元）", ("price",), "10000", "CNY"),
        ("Listenpreis (TEUR)", ("list_price",), "1000", None),
        ("Price / 10 pcs", ("price",), "0.1", None),
        ("Price 100+", ("price",), "1", None),
        ("Part number / 100GbE", (), "1", None),
        ("万兆端口", (), "1", None),
    ],
)
def test_headings_of_prices_for_several_pieces(
    heading: str, roles: tuple[str, ...], scale: str, currency: str | None
) -> None:
    """What prices are for, and thousands, are told from numbers and words that are neither."""
    found = read_heading(heading)
    assert (roles, Decimal(scale), currency) == (found.roles, found.scale, found.currency)


@pytest.mark.parametrize(
    ("unit", "pieces"),
    [
        ("EA", 1),
        ("each", 1),
        ("100 Stk.", 100),
        ("per 1.000", 1000),
        ("台", 1),
        ("1 EA", 1),
        ("PK5", None),
        ("m", None),
    ],
)
def test_units_of_prices(unit: str, pieces: int | None) -> None:
    """A unit is one piece or a number of them; of packs and metres nobody knows how many pieces they are."""
    assert pieces == read_pieces(unit)


@pytest.mark.parametrize(
    ("title", "said", "price"),
    [
        ("Prices in thousands USD", {}, 25_000_000),
        ("Quote expires 12/31/2026 (USD)", {"valid_until": "2026-12-31"}, 25_000),
        (
            "Effective date: 1 Oct 2026, valid thru 31 Dec 2026, USD",
            {"valid_until": "2026-12-31", "date": "2026-10-01"},
            25_000,
        ),
        ("Delivery date: 2027-03-01, USD", {}, 25_000),
        ("USD, valid until further notice", {}, 25_000),
        ("报价有效期至2026年12月31日，美元", {"valid_until": "2026-12-31"}, 25_000),
    ],
)
def test_a_title_says_what_holds_for_all_prices(title: str, said: dict[str, str], price: int) -> None:
    """Dates and units in it are those of every price; other dates, and words that name no day, are not."""
    content = f'"{title}"\nPart;Price\nMQM9700-NS2F;25000\n'
    [found] = read_list(content.encode(), "list.csv").source.data["prices"]
    assert (said, price) == ({key: str(found[key]) for key in ("valid_until", "date") if key in found}, found["price"])


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Turnover in thousand USD", "scale=1000 or scale=1"),
        ("Valid until 01/02/2027, USD", "dates=dmy or dates=mdy"),
        ("Valid until 2026-12-31, option valid until 2027-01-31, USD", "valid_until=none"),
    ],
)
def test_a_title_that_may_be_read_in_two_ways_is_asked_about(title: str, question: str) -> None:
    """The question names what `--columns` takes, and each of its answers ends it."""
    content = f'"{title}"\nPart;Price\nMQM9700-NS2F;25000\n'.encode()
    with pytest.raises(PlanErrors, match=re.escape(question)):
        read_list(content, "list.csv")
    for answer in question.split(" or "):
        assert read_list(content, "list.csv", read_asked(answer)).source.data["prices"]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("31.12.2026", {"dmy": "2026-12-31"}),
        ("12.31.2026", {"mdy": "2026-12-31"}),
        ("01/02/2027", {"dmy": "2027-02-01", "mdy": "2027-01-02"}),
        ("05/06/27", {"dmy": "2027-06-05", "mdy": "2027-05-06", "ymd": "2005-06-27"}),
        ("31-Dez-26", dict.fromkeys(("dmy", "mdy", "ymd"), "2026-12-31")),
        ("December 31, 2026", dict.fromkeys(("dmy", "mdy", "ymd"), "2026-12-31")),
        ("2026/2/29", {}),
        ("2026年2月28日", dict.fromkeys(("dmy", "mdy", "ymd"), "2026-02-28")),
        ("until further notice", {}),
        ("Q4 2026", {}),
    ],
)
def test_dates_are_read_in_every_order_that_they_have(text: str, days: dict[str, str]) -> None:
    """Days that are not in the calendar are none."""
    assert days == {order: day.isoformat() for order, day in read_dates(text).items()}


def run(*arguments: str) -> Result:
    """What the command does."""
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture(scope="module")
def by_libreoffice(tmp_path_factory: pytest.TempPathFactory, judge: Judge) -> Path:
    """Every sheet of the workbooks as LibreOffice writes it as CSV."""
    judge("soffice")
    folder = tmp_path_factory.mktemp("judge")
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    copies = [shutil.copy(HERE / name, folder / judged(name)) for name in filter(is_workbook, EXPECTED)]
    as_csv = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
    command = ["soffice", profile, "--headless", "--convert-to", as_csv, "--outdir", str(folder)]
    subprocess.run([*command, *map(str, copies)], check=True, capture_output=True)
    return folder


def judged(name: str) -> str:
    """The name of a copy: files that differ in their suffix alone would become one."""
    return f"{Path(name).stem}{Path(name).suffix.replace('.', '-')}{Path(name).suffix}"


def is_workbook(name: str) -> bool:
    """Whether a file is a workbook that LibreOffice computes nothing else for: no links, no bomb, no text."""
    return Path(name).suffix in (".xlsx", ".xls", ".ods") and name not in ("bomb.xlsx", "tabs.xls", "linked.xlsx")


def test_tables_are_those_that_libreoffice_reads(by_libreoffice: Path) -> None:
    """Every cell of every visible sheet of every workbook: text as it is, numbers and dates by value."""
    compared = 0
    for name in filter(is_workbook, EXPECTED):
        for table in read_tables((HERE / name).read_bytes(), name):
            path = by_libreoffice / f"{Path(judged(name)).stem}-{table.name}.csv"
            if table.hidden:
                continue
            rows = list(csv.reader(io.StringIO(path.read_text("utf-8"), newline="")))
            assert len(rows) == len(table.rows)
            for line, (row, cells) in enumerate(zip(rows, table.rows, strict=True), 1):
                values = [cell.value for cell in cells] + [None] * (len(row) - len(cells))
                for column, (shown, value) in enumerate(zip(row, values, strict=True), 1):
                    compared += 1
                    assert same(shown, value), (name, line, column, shown, value)
    assert compared > 300


def same(shown: str, value: object) -> bool:
    """Whether LibreOffice writes a value so."""
    if value is None:
        return not shown.strip()
    if isinstance(value, Broken):
        return True  # it computes formulas itself
    if isinstance(value, Decimal):
        return bool(re.fullmatch(r"-?[0-9.]+", shown)) and Decimal(shown) == value
    return shown.strip() == str(value) or str(value) in shown


PLAN = """bomgen: 1
name: pilot
cluster: {gpu: h100-sxm, server: dgx-h100, servers: 4}
fabrics:
  compute:
    switch: qm9700
    links: {server-leaf: {length: 30 m, module: {server: mma4z00-ns-flt, leaf: mma4z00-ns}}}
quote: {currency: USD, date: 2026-11-20%s}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a list and a plan."""
    monkeypatch.chdir(tmp_path)
    for name in ("quote.xlsx", "two-unknown-numbers.csv", "net-differs.csv"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN % ", price_book: quote.xlsx", "utf-8")
    return tmp_path


@pytest.mark.usefixtures("place")
def test_the_reading_is_shown() -> None:
    """`bomgen prices LIST` prints columns, currency, first prices, what was left out, and what no part is known for."""
    said = run("prices", "quote.xlsx").stdout
    assert "quote.xlsx, sheet 'List': header in line 4\n" in said
    assert re.search(r"E +'List price' +list price +by its heading\n", said)
    assert "currency: USD, by the text above the header\n" in said
    assert re.search(r"980-9I51S-00NS00 +595 USD +(= mma4z00-ns400)?\n", said)
    assert "left out: 1 row without a price, 1 subtotal or total, 2 notes\n  line 10  no price: 5 | Acme" in said


def test_a_list_becomes_a_price_book(place: Path) -> None:
    """`-o` writes the book that the reading shows; with `-f` alone the book is on standard output, and nothing else."""
    assert "quote.yaml\n" in run("prices", "quote.xlsx", "-o", "quote.yaml").stdout
    book = yaml.safe_load((place / "quote.yaml").read_text("utf-8"))
    assert {"part": "MFP7E10-N030", "price": 119, "lead_time": "0 days"} in book["prices"]
    assert ("USD", 4) == (book["currency"], len(book["prices"]))
    outcome = run("prices", "quote.xlsx", "-f", "csv")
    assert "part,price," == outcome.stdout[:11]
    assert "list price" in outcome.stderr
    assert outcome.stdout == run("prices", "quote.yaml").stdout


def test_a_plan_is_priced_by_a_list(place: Path) -> None:
    """A vendor's list prices a plan as it is, lead times included; a question is a problem of the plan."""
    outcome = run("build", "plan.yaml", "-f", "json")
    assert 0 == outcome.exit_code
    found = (place / "dist" / "pilot" / "bom.json").read_text("utf-8")
    assert '"unit_price": "25500.00"' in found or '"unit_price": "25500"' in found
    (place / "plan.yaml").write_text(PLAN % ", price_book: two-unknown-numbers.csv", "utf-8")
    outcome = run("check", "plan.yaml")
    assert 1 == outcome.exit_code
    assert "two-unknown-numbers.csv:1:1: error: 2 columns may be the part" in outcome.stderr
    (place / "plan.yaml").write_text(PLAN % ", price_book: net-differs.csv", "utf-8")
    assert "net-differs.csv:3:20: warning: the net price 900" in run("check", "plan.yaml").stderr


@pytest.mark.usefixtures("place")
def test_what_a_plan_uses_of_a_list() -> None:
    """`--for` counts the rows that the plan uses and names its parts that the list has no price for."""
    said = run("prices", "quote.xlsx", "--for", "plan.yaml").stdout
    assert "pilot uses 3 of the 4 prices, for 3 of its 5 parts\n" in said
    assert "\nno price in the list: dgx-h100, mma4z00-ns-flt\n" in said
    assert "\nnot in pilot: 980-9I51S-00NS00\n" in said


def test_an_unknown_number_is_asked_by_its_description() -> None:
    """A row whose description names a part is a warning with that part to choose; the answer is taken."""
    text = 'Part,Description,Price USD\nACME-77,QM9700 switch,21000\nX-9,"OSFP 800G 2xDR4, SMF",700\nX-8,a thing,3\n'
    sent = read_list(text.encode(), "list.csv")
    offered = [[choice.setting for choice in warning.questions[0].choices] for warning in sent.warnings]
    assert offered == [
        ["part.ACME-77=qm9700", "part.ACME-77=none"],
        ["part.X-9=osfp-800g-2xdr4", "part.X-9=none"],
    ]
    answered = read_list(text.encode(), "list.csv", read_asked("part.ACME-77=qm9700,part.X-9=none"))
    assert [entry["part"] for entry in answered.source.data["prices"]] == ["qm9700", "X-9", "X-8"]
    assert answered.warnings == ()
