"""`bomgen compare`: numbers of bom.json side by side, and the best of them marked only where that is certain."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from openpyxl import load_workbook

from bomgen.cli import command
from bomgen.core.document import LESS, MORE, NEITHER, Better, Cell
from bomgen.documents.comparison import best_of
from bomgen.results.result import result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
PLANS = ("llama65b", "llama65b-linkx", "llama65b-quote", "h100-127")
SMALL = """bomgen: 1
name: {name}
cluster: {{gpu: h100-sxm, servers: {servers}}}
fabrics: {{compute: {{switch: qm9700}}}}
quote: {{currency: {currency}, price_book: prices.yaml}}
"""


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of plans are those of the checkout."""
    monkeypatch.chdir(ROOT)


def compare(*arguments: str) -> Result:
    """`bomgen compare`."""
    return CliRunner().invoke(command.main, ["compare", *arguments])


def of(*names: str) -> list[str]:
    """Paths of plans of plans/."""
    return [f"plans/{name}.yaml" for name in names]


def rows(*arguments: str) -> dict[str, dict[str, Any]]:
    """The rows of a comparison by their key."""
    return {row["key"]: row for row in json.loads(compare(*arguments, "-f", "json").stdout)["rows"]}


@pytest.mark.parametrize(
    ("values", "better", "best"),
    [
        ((3, 1, 2), LESS, (0, 1, 0)),
        ((3, 1, 2), MORE, (1, 0, 0)),
        ((3, 1, 2), NEITHER, (0, 0, 0)),
        ((1, 1, 2), LESS, (1, 1, 0)),
        ((2, 2, 2), LESS, (0, 0, 0)),
        ((None, 2, None), LESS, (0, 0, 0)),
        ((None, 2, 3), LESS, (0, 1, 0)),
        (("5+", 2, 3), LESS, (0, 1, 0)),  # what is at least 5 cannot be less than 2
        (("1+", 2, 3), LESS, (0, 0, 0)),  # what is at least 1 may come to 4, or to 1.5
        (("1+", 2, 3), MORE, (0, 0, 0)),
        (("1+", "2+", None), LESS, (0, 0, 0)),
        (("2+", 2, 3), LESS, (0, 1, 0)),
        (((1, 2, 4), 5), LESS, (1, 0)),
        (((1, 2, 4), 3), LESS, (0, 0)),  # what is 1 to 4 may be more than 3
        (((1, 2, 4), (3, 5, 6)), LESS, (0, 0)),
        (((1, 2, 3), (3, 5, 6)), MORE, (0, 1)),
        (((1, 2, 3), (1, 2, 3), 4), LESS, (1, 1, 0)),
    ],
)
def test_the_best_is_marked_only_where_it_is_certain(
    values: tuple[Any, ...], better: Better, best: tuple[int, ...]
) -> None:
    """A lower bound is never the best; it hides the best where it may be better, as a range does; equal: no mark."""
    known = [
        Cell(Decimal(value[:-1]), least=True)
        if isinstance(value, str)
        else (Cell(value[1], estimate=(value[0], value[2])) if isinstance(value, tuple) else Cell(value))
        for value in values
    ]
    assert best_of(known, better) == [bool(each) for each in best]


def test_values_are_those_of_bom_json() -> None:
    """Every row that is a path of bom.json has its values, and the money is that of the totals."""
    found = rows(*of(*PLANS))
    boms = [result(work_out(open_plan(path, None))) for path in of(*PLANS)]
    checked = 0
    for key, row in found.items():
        for value, bom in zip(row["values"], boms, strict=True):
            place: Any = bom
            for step in key.split("."):
                place = place.get(step) if isinstance(place, dict) else None
            if key.startswith(("workload.", "site.", "cluster.")) and isinstance(place, int | float):
                assert float(value) == pytest.approx(place, abs=0.005)
                checked += 1
    assert checked > 30
    for value, bom in zip(found["totals.amount"]["values"], boms, strict=True):
        priced = any(line["amount"] is not None for line in bom["lines"])
        assert value == (bom["totals"]["amount"] if priced else None)
    for role in ("compute", "storage"):
        of_modules = [bom["fabrics"].get(role, {}).get("transceivers", {}).get("total") for bom in boms]
        assert found[f"{role}.modules"]["values"] == of_modules


def test_published_modules_are_compared() -> None:
    """Of LLaMA-65B's two plans the one with twin-port modules in the switches has fewer (4096 and 2560)."""
    found = rows(*of("llama65b", "llama65b-linkx"))["compute.modules"]
    assert (found["values"], found["best"]) == ([4096, 2560], [False, True])


def test_totals_that_leave_lines_out_are_never_best() -> None:
    """h100-127 has prices for some lines: its total is the least number, a lower bound, and nothing is marked."""
    found = rows(*of(*PLANS))["totals.amount"]
    assert found["values"][0] is None
    assert found["at_least"] == [False, False, False, True]
    assert min(Decimal(value) for value in found["values"][1:]) == Decimal(found["values"][3])
    assert found["best"] == [False] * 4


def test_different_workloads_are_not_compared() -> None:
    """Days of another model say nothing; those of the same run do, and a warning says which it is."""
    other = json.loads(compare(*of(*PLANS), "-f", "json").stdout)
    assert not any(next(row for row in other["rows"] if row["key"] == "workload.days")["best"])
    assert any("workloads differ" in warning for warning in other["warnings"])
    same = json.loads(compare(*of("llama65b", "llama65b-h100"), "-f", "json").stdout)
    assert next(row for row in same["rows"] if row["key"] == "workload.days")["best"] == [False, True]
    assert same["warnings"] == []


@pytest.mark.parametrize(("most", "best"), [(360_000, False), (304_000, True)])
def test_totals_whose_price_ranges_overlap_are_not_best(tmp_path: Path, most: int, best: bool) -> None:
    """The cheaper total is marked only where its highest prices are below the lowest of the other."""
    for name, price, ends in (("one", 300_000, (290_000, most)), ("two", 310_000, (305_000, 370_000))):
        entry = f"{{part: dgx-h100, price: {price}, min: {ends[0]}, max: {ends[1]}}}"
        book = f"bomgen_prices: 1\ncurrency: USD\nprices: [{entry}]\n"
        (tmp_path / f"{name}-prices.yaml").write_text(book, encoding="utf-8")
        quote = f"{{price_book: {name}-prices.yaml}}"
        text = f"{{bomgen: 1, name: {name}, cluster: {{gpu: h100-sxm, servers: 4}}, quote: {quote}}}\n"
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    plans = [str(tmp_path / f"{name}.yaml") for name in ("one", "two")]
    by_key = {row["key"]: row for row in json.loads(compare(*plans, "-f", "json").stdout)["rows"]}
    for key in ("totals.amount", "totals.net", "totals.net_by_gpu"):
        assert by_key[key]["best"] == [best, False], key
    assert f"(1,160,000.00 to {4 * most:,}.00, estimate)" in compare(*plans).stdout


def test_currencies_are_not_compared(tmp_path: Path) -> None:
    """Amounts in two currencies have no mark, and a warning names both; switches are compared all the same."""
    parts = ("dgx-h100", "qm9700", "mma4z00-ns", "mma4z00-ns400", "mfp7e10-n030", "mma1z00-ns400", "mfp7e30-n030")
    prices = "\n".join(f"  - {{part: {part}, price: 1}}" for part in parts)
    (tmp_path / "prices.yaml").write_text(f"bomgen_prices: 1\ncurrency: USD\nprices:\n{prices}\n", encoding="utf-8")
    exchange = ", exchange: {USD: {rate: 0.9, date: 2026-11-20}}, date: 2026-11-20}\n"
    for name, servers, currency in (("one", 8, "USD"), ("two", 64, "EUR")):
        text = SMALL.format(name=name, servers=servers, currency=currency)
        text = text if currency == "USD" else text.removesuffix("}\n") + exchange
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    found = json.loads(compare(*(str(tmp_path / f"{name}.yaml") for name in ("one", "two")), "-f", "json").stdout)
    by_key = {row["key"]: row for row in found["rows"]}
    assert by_key["totals.net"]["units"] == ["USD", "EUR"]
    assert by_key["totals.net"]["best"] == [False, False]
    assert by_key["compute.switches"]["best"] == [True, False]
    assert any("USD, EUR" in warning for warning in found["warnings"])


def test_alternatives_are_columns() -> None:
    """Each with the total that bom.json has for it."""
    found = json.loads(compare(*of("llama65b-quote"), "--alternatives", "-f", "json").stdout)
    bom = result(work_out(open_plan("plans/llama65b-quote.yaml", None)))
    assert [plan["name"] for plan in found["plans"]] == [
        "llama65b-quote",
        *(f"llama65b-quote: {each['name']}" for each in bom["alternatives"]),
    ]
    amounts = [bom["totals"]["amount"], *(each["totals"]["amount"] for each in bom["alternatives"])]
    row = next(row for row in found["rows"] if row["key"] == "totals.amount")
    assert row["values"] == amounts
    low, high = ([each["totals"][end] for each in (bom, *bom["alternatives"])] for end in ("low", "high"))
    least = amounts.index(min(amounts, key=Decimal))
    certain = all(Decimal(high[least]) <= Decimal(end) for at, end in enumerate(low) if at != least)
    assert row["best"] == [certain and at == least for at in range(len(amounts))]


def test_warnings_of_alternatives_are_counted(tmp_path: Path) -> None:
    """Those of the alternative as if it were the plan: a warning that both have counts in both columns."""
    (tmp_path / "one.yaml").write_text(
        SMALL.format(name="one", servers=16, currency="USD")
        .replace("price_book: prices.yaml", "alternatives: [{ALT}]")
        .replace("{ALT}", "{name: other, set: {fabrics.compute.oversubscription: 3}}")
        .replace("switch: qm9700", "switch: qm9700, hosts: [{name: login, count: 1, ports: 1}]"),
        encoding="utf-8",
    )
    (tmp_path / "two.yaml").write_text(
        (tmp_path / "one.yaml").read_text("utf-8").replace("name: one", "name: two", 1), encoding="utf-8"
    )
    both = compare(str(tmp_path / "one.yaml"), "--alternatives", "-f", "json", "--set", "cluster.spare_servers=1")
    row = next(row for row in json.loads(both.stdout)["rows"] if row["key"] == "warnings")
    alone = json.loads(
        compare(
            str(tmp_path / "one.yaml"),
            str(tmp_path / "two.yaml"),
            *("--set", "fabrics.compute.oversubscription=3", "--set", "cluster.spare_servers=1", "-f", "json"),
        ).stdout
    )
    wanted = next(row for row in alone["rows"] if row["key"] == "warnings")["values"][0]
    assert row["values"][1] == wanted


def test_a_wrong_plan_is_left_out(tmp_path: Path) -> None:
    """Its problems are shown, the others compared, and the worst exit code returned."""
    (tmp_path / "wrong.yaml").write_text("bomgen: 1\nname: wrong\ncluster: {gpu: h101}\n", encoding="utf-8")
    done = compare(*of("llama65b"), str(tmp_path / "wrong.yaml"), *of("llama65b-h100"), "-f", "json")
    assert done.exit_code == 1
    assert "unknown-part" in done.stderr
    assert [plan["name"] for plan in json.loads(done.stdout)["plans"]] == ["llama65b", "llama65b-h100"]
    assert compare(*of("llama65b"), "nowhere.yaml").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (of("llama65b"), "give two or more plans"),
        ([*of("llama65b", "llama65b-h100"), "-f", "xlsx"], "xlsx goes to a file"),
        ([*of("llama65b", "llama65b-h100"), "-o", "x.doc"], "no format has the suffix .doc"),
        ([*of("llama65b", "llama65b-h100"), "--language", "xx"], "no language 'xx'; there are en, zh"),
        ([*of("llama65b", "llama65b-h100"), "-o", "plans/llama65b.yaml"], "is a plan; specify another file"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    """Said before anything is worked out."""
    done = compare(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


@cache
def all_rows(code: str) -> list[dict[str, Any]]:
    """The rows of all plans in a language."""
    found: list[dict[str, Any]] = json.loads(compare(*of(*PLANS), "-f", "json", "--language", code).stdout)["rows"]
    return found


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("form", ["text", "md", "html", "xlsx", "json"])
def test_every_format_has_every_row(form: str, code: str, tmp_path: Path) -> None:
    """Each format shows all rows with a star at the best, and equal plans give equal bytes."""
    path = tmp_path / f"compared.{form}"
    arguments = [*of(*PLANS), "-f", form, "-o", str(path), "--language", code, "--all"]
    assert compare(*arguments).exit_code == 0
    first = path.read_bytes()
    assert compare(*arguments).exit_code == 0
    assert path.read_bytes() == first
    found = all_rows(code)
    stars = sum(sum(row["best"]) for row in found)
    if form == "xlsx":
        page = load_workbook(io.BytesIO(first)).worksheets[0]
        cells = [cell for row in page.iter_rows() for cell in row if cell.value is not None]
        texts = [str(cell.value) for cell in cells]
        marked = [cell for cell in cells if "★" in cell.number_format]
        assert all(cell.font.b and isinstance(cell.value, int | float) for cell in marked)
        assert len(marked) == stars
    elif form != "json":
        shown = first.decode()
        texts = [shown]
        assert shown.count("★") == stars + 1
        if form != "text":
            assert shown.count("**★" if form == "md" else 'best">') == stars
    else:
        texts = [row["label"] for row in json.loads(first)["rows"]]
    assert all(any(row["label"] in text for text in texts) for row in found)


ALIKE = ["plans/llama65b-quote.yaml", "--alternatives"]
"""Three columns that differ in little but money."""


def test_money_comes_first_and_equal_rows_are_folded(tmp_path: Path) -> None:
    """What differs is in sight; what is equal is behind one line, and each row stands in one of the two."""
    found = json.loads(compare(*ALIKE, "-f", "json").stdout)["rows"]
    assert found[0]["key"] == "totals.amount"
    values = {row["label"]: list(zip(row["values"], row["units"], row["at_least"], strict=True)) for row in found}
    equal = {label for label, each in values.items() if len(set(map(str, each))) == 1}
    assert equal & {"MFU", "Racks", "Topology"}
    short, whole = (compare(*ALIKE, *every).stdout for every in ((), ("--all",)))
    assert f"Equal in all plans: {len(equal)} rows; use --all to show them" in short
    for label in values:
        assert (f"\n  {label} " in short) is (label not in equal), label
        assert f"\n  {label} " in whole, label
    marked = compare(*ALIKE, "-f", "md").stdout
    seen, folded = marked.split("<details><summary>Equal in all plans", 1)
    assert all(f"| {label} |" in (folded if label in equal else seen) for label in values)
    page = compare(*ALIKE, "-f", "html").stdout
    assert page.index("</svg>") < page.index(">Net amount<") < page.index('<details class="fold">')
    path = tmp_path / "compared.xlsx"
    assert compare(*ALIKE, "-o", str(path)).exit_code == 0
    sheet = load_workbook(path).worksheets[0]
    hidden = {cell.value for cell, *_ in sheet.iter_rows() if sheet.row_dimensions[cell.row].hidden}
    assert hidden & set(values) == equal
    assert not sheet.sheet_properties.outlinePr.summaryBelow


def test_the_chart_is_of_what_every_plan_has() -> None:
    """Totals where all have one, the power where a plan has no price, and none where there is nothing to compare."""
    priced = compare(*ALIKE, "-f", "html").stdout
    assert "<desc" in priced
    assert "llama65b-quote: about 76,238,178.74 USD (" in priced
    unpriced = compare(*of("llama65b", "llama65b-quote", "h100-127"), "-f", "html").stdout
    assert re.search(r"h100-127: (at least |about )*[0-9,.]+ kW", unpriced)
    assert "<svg" not in compare(*of("llama65b"), "--alternatives", "-f", "html").stdout
