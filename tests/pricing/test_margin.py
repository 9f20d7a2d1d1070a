"""What the seller earns: by hand on small bills, honest where something is missing, and nowhere in customers' files."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bomgen.cli.command import main
from bomgen.output.registry import DOCUMENTS

HIDDEN = "zebra"
"""A word that stands nowhere else, and so does the number."""
HIDDEN_COST = "31415.93"
PLAN = """bomgen: 1
name: sold
cluster: {gpu: h100-sxm, server: dgx-h100, servers: 8}
fabrics: {compute: {switch: qm9700}}
quote:
  currency: USD
  date: 2026-11-20
  price_book: list.csv
  discount: {default: 10%}
  charges:
    - {kind: installation, name: Installation, price: 1000}
"""
COSTS = "  cost_book: zebra.csv\n"


def run(*arguments: str) -> Any:
    """What the command does."""
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def sold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan of eight servers and its price list; every part of it costs 100, a server 400 000."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN + COSTS, "utf-8")
    (tmp_path / "list.csv").write_text("part,price,currency\ndgx-h100,400000,USD\n", "utf-8")
    names = [row["part"] for row in rows_of(run("prices", "--for", "plan.yaml").stdout)]
    text = "".join(f"{name},100,USD\n" for name in names)
    (tmp_path / "list.csv").write_text(f"part,price,currency\ndgx-h100,400000,USD\n{text}", "utf-8")
    text = "".join(f"{name},60,USD\n" for name in (*names, "service.installation"))
    (tmp_path / "zebra.csv").write_text(f"part,price,currency\ndgx-h100,300000,USD\n{text}", "utf-8")
    return tmp_path


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of CSV."""
    return list(csv.DictReader(io.StringIO(text, "")))


def margins(*arguments: str) -> dict[str, Any]:
    """The margins of the plan as JSON."""
    outcome = run("margin", "plan.yaml", "-f", "json", *arguments)
    assert 0 == outcome.exit_code, outcome.stderr
    data: dict[str, Any] = json.loads(outcome.stdout)
    return data


@pytest.mark.usefixtures("sold")
def test_a_margin_by_hand() -> None:
    """Eight servers of 400 000 less 10 % at a cost of 300 000: 2 880 000 less 2 400 000 is a sixth.

    Installation is a charge, which the default discount leaves out: 1000 less 60.
    """
    found = margins()
    server, installation = found["lines"][0], found["lines"][-1]
    assert ("2880000.00", "2400000.00", "480000.00", "0.1667") == tuple(
        server[key] for key in ("amount", "cost", "margin", "share")
    )
    assert ("1000.00", "60.00", "940.00", "0.9400") == tuple(
        installation[key] for key in ("amount", "cost", "margin", "share")
    )
    assert "exact" == found["total"]["bound"]
    amounts = {(row["of"], row["category"]): row for row in rows_of(run("margin", "plan.yaml", "-f", "csv").stdout)}
    assert found["total"]["margin"] == amounts["total", ""]["margin"]
    assert "480000.00" == amounts["category", "server"]["margin"]


def test_the_bill_of_the_quote_is_what_is_earned_on(sold: Path) -> None:
    """Net of all lines is the quote's total without tax."""
    assert 0 == run("build", "plan.yaml", "-f", "json", "-o", "out").exit_code
    bom = json.loads((sold / "out/sold/bom.json").read_text("utf-8"))
    assert bom["totals"]["amount"] == margins()["total"]["amount"]


def test_quantity_breaks_of_costs_count_the_part_on_all_lines(sold: Path) -> None:
    """The cost of a part that stands on several lines is that of all its pieces together."""
    larger = ("--set", "cluster.servers=70")
    lines = margins(*larger)["lines"]
    parts = [line["part"] for line in lines if line["part"]]
    twice = next(part for part in parts if parts.count(part) > 1)
    pieces = [line["pieces"] for line in lines if line["part"] == twice]
    text = f"part,price,from_quantity,currency\n{twice},60,,USD\n{twice},50,{sum(pieces)},USD\n"
    (sold / "breaks.csv").write_text(text, "utf-8")
    found = margins(*larger, "--set", "quote.cost_book=[zebra.csv, breaks.csv]")["lines"]
    assert [f"{50 * each}.00" for each in pieces] == [line["cost"] for line in found if line["part"] == twice]


@pytest.mark.parametrize(
    ("drop_price", "drop_cost", "bound"),
    [(False, True, "at most"), (True, False, "at least"), (True, True, "unknown")],
)
def test_a_sum_without_a_line_is_a_bound(sold: Path, drop_price: bool, drop_cost: bool, bound: str) -> None:
    """Without a cost the margin is at most what is shown, without a price at least; with neither nobody knows."""
    exact = margins()
    for drop, name in ((drop_price, "list.csv"), (drop_cost, "zebra.csv")):
        if drop:
            text = (sold / name).read_text("utf-8")
            (sold / name).write_text("\n".join(line for line in text.split("\n") if "dgx" not in line), "utf-8")
    found = margins()
    server, total = found["lines"][0], found["total"]
    assert [*["price"] * drop_price, *["cost"] * drop_cost] == server["missing"]
    assert (None, None) == (server["margin"], server["share"])
    assert bound == total["bound"]
    assert (bound == "unknown") == (total["margin"] is None)
    if bound == "at most":
        assert float(total["margin"]) >= float(exact["total"]["margin"])
    if bound == "at least":
        assert float(total["margin"]) <= float(exact["total"]["margin"])
    text = run("margin", "plan.yaml").stdout
    assert ("no price" in text, "no cost" in text) == (drop_price, drop_cost)
    assert ("≤" in text.split("Total")[1].split("\n")[0]) == (bound == "at most")


def test_costs_in_another_currency_need_a_rate(sold: Path) -> None:
    """A cost is converted by the plan's rate, and refused without one."""
    text = (sold / "zebra.csv").read_text("utf-8").replace("300000,USD", "250000,EUR")
    (sold / "zebra.csv").write_text(text, "utf-8")
    outcome = run("check", "plan.yaml")
    assert (1, True) == (outcome.exit_code, "zebra.csv:2:17: error: " in outcome.stderr)
    rate = ("--set", "quote.exchange={EUR: {rate: 1.2, date: 2026-11-01}}")
    assert "2400000.00" == margins(*rate)["lines"][0]["cost"]


def test_a_cost_that_has_run_out_is_said(sold: Path) -> None:
    """Costs are warned of as prices are, to the seller alone."""
    text = "part,price,valid_until,currency\ndgx-h100,1,2026-11-01,USD\n"
    (sold / "zebra.csv").write_text(text, "utf-8")
    assert "zebra.csv:2:1: warning: the price of dgx-h100 was valid until" in run("margin", "plan.yaml").stderr
    assert HIDDEN not in run("check", "plan.yaml").stderr


def test_margin_says_each_warning_once(sold: Path) -> None:
    """What price book and cost book give rise to alike, and what is said of several lines, stands there once."""
    text = "part,price,valid_until,currency\nqm9700,60,2026-11-01,USD\n"
    (sold / "zebra.csv").write_text(text, "utf-8")
    plan = (sold / "plan.yaml").read_text("utf-8").replace("price_book: list.csv", "price_book: [list.csv, zebra.csv]")
    (sold / "plan.yaml").write_text(plan, "utf-8")
    said = [line for line in run("margin", "plan.yaml").stderr.splitlines() if ": warning: " in line]
    assert 1 == len([line for line in said if "the price of qm9700 was valid until" in line])
    assert sorted(set(said)) == sorted(said)


def test_check_reads_the_cost_book(sold: Path) -> None:
    """A cost book that is wrong or not there is said by check, and by margin."""
    (sold / "zebra.csv").write_text("part,price,currency\nx,much,USD\n", "utf-8")
    for command in ("check", "margin"):
        outcome = run(command, "plan.yaml")
        assert (1, True) == (outcome.exit_code, "zebra.csv:2:3: error: 'much' is text" in outcome.stderr)
    (sold / "zebra.csv").unlink()
    assert "cannot be read" in run("check", "plan.yaml").stderr


def test_a_plan_without_a_cost_book_has_no_margin(sold: Path) -> None:
    """Nothing is earned on what nobody knows the cost of: the key is named."""
    (sold / "plan.yaml").write_text(PLAN, "utf-8")
    outcome = run("margin", "plan.yaml")
    assert (1, True) == (outcome.exit_code, "has no cost book; set one at `quote.cost_book`" in outcome.stderr)


def everything(folder: Path) -> bytes:
    """All that is written in a folder, names of files and what is packed in workbooks."""
    found = b""
    for path in sorted(folder.rglob("*")):
        found += str(path.relative_to(folder)).encode()
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as package:
                found += b"".join(name.encode() + package.read(name) for name in package.namelist())
        elif path.is_file():
            found += path.read_bytes()
    return found


@pytest.mark.parametrize("where", ["plan", "set", "mapping", "alternative"])
@pytest.mark.parametrize("there", [True, False])
def test_no_file_of_a_build_knows_the_cost(sold: Path, where: str, there: bool) -> None:
    """Neither the cost book's name nor a cost is in anything that build writes or prints; it need not even be there."""
    costs = f"part,price,source,currency\ndgx-h100,{HIDDEN_COST},{HIDDEN},USD\n"
    (sold / "zebra.csv").write_text(costs, "utf-8") if there else (sold / "zebra.csv").unlink()
    plan = PLAN
    settings: list[str] = []
    if where == "plan":
        plan += COSTS
    elif where == "set":
        settings = ["--set", "quote.cost_book=zebra.csv"]
    elif where == "mapping":
        settings = ["--set", "quote={currency: USD, price_book: list.csv, cost_book: [zebra.csv]}"]
    else:
        plan += "  alternatives: [{name: other, set: {quote.cost_book: zebra.csv, cluster.servers: 9}}]\n"
    (sold / "plan.yaml").write_text(plan, "utf-8")
    (sold / "all.txt.j2").write_text("{{ bom }} {{ plan }}\n", "utf-8")
    formats = ",".join(form for form in DOCUMENTS.names if form != "pdf")
    outcome = run(
        *("build", "plan.yaml", "-o", "out", "-f", formats, "--template", "all.txt.j2"),
        *settings,
    )
    assert 0 == outcome.exit_code, outcome.stderr
    content = everything(sold / "out")
    assert len(content) > 100_000
    for hidden in (HIDDEN, HIDDEN_COST, HIDDEN_COST.split(".")[0], "31,415", "31 415", "cost_book"):
        assert hidden.encode() not in content
        assert hidden not in outcome.output


# selling by margin --------------------------------------------------------------------------------------------------

SELL = "  sell: {margin: 8%, by: {switch: 25%, service: 30%}}\n"


def selling(folder: Path, sell: str = SELL, charge: str = "") -> None:
    """Have the plan sell by margin, with a price list that has the server alone."""
    plan = PLAN.replace("discount: {default: 10%}", "discount: {default: 0%}") + charge + COSTS + sell
    (folder / "plan.yaml").write_text(plan, "utf-8")
    (folder / "list.csv").write_text("part,price,currency\ndgx-h100,400000,USD\n", "utf-8")


def test_parts_are_sold_at_cost_and_margin(sold: Path) -> None:
    """60 / 0.92 = 65.217, a switch 60 / 0.75 = 80, a service 1000 / 0.7 = 1428.571; the price list comes first."""
    selling(sold, charge="    - {kind: training, cost: 1000}\n")
    assert 0 == run("build", "plan.yaml", "-f", "json", "-o", "out").exit_code
    lines = json.loads((sold / "out/sold/bom.json").read_text("utf-8"))["lines"]
    units = {line["part"] or line["id"]: line["unit_price"] for line in lines}
    given = {"dgx-h100": "400000", "qm9700": "80.00", "service.training": "1428.57", "service.installation": "1000"}
    assert given == {name: units.pop(name) for name in given}
    assert {"65.22"} == set(units.values())
    assert {"1000.00", "60.00"} == {line["cost"] for line in margins()["lines"] if line["category"] == "service"}


def test_the_margin_of_what_is_sold_is_that_of_the_plan(sold: Path) -> None:
    """As a share of the price, to the cent of a unit price."""
    selling(sold)
    lines = [line for line in margins()["lines"] if line["category"] != "service" and line["part"] != "dgx-h100"]
    for line in lines:
        wanted = 0.25 if line["category"] == "switch" else 0.08
        assert wanted == pytest.approx(float(line["share"]), abs=1e-4)


@pytest.mark.parametrize("where", ["plan", "set", "mapping", "charge"])
def test_no_file_of_a_build_knows_the_cost_of_what_is_sold(sold: Path, where: str) -> None:
    """Neither a cost, the cost book, nor a margin, in the plan, in a setting or on a charge; prices stand there."""
    (sold / "zebra.csv").write_text(f"part,price,source,currency\nqm9700,{HIDDEN_COST},{HIDDEN},USD\n", "utf-8")
    sell, charge, settings = "  sell: {margin: 23.7351%}\n", "", list[str]()
    if where == "set":
        sell, settings = "", ["--set", "quote.sell.margin=23.7351%"]
    elif where == "mapping":
        sell, settings = "", ["--set", "quote.sell={margin: 23.7351%}"]
    elif where == "charge":
        charge = f"    - {{kind: training, cost: {HIDDEN_COST}}}\n"
    selling(sold, sell, charge)
    formats = ",".join(form for form in DOCUMENTS.names if form != "pdf")
    outcome = run("build", "plan.yaml", "-o", "out", "-f", formats, *settings)
    assert 0 == outcome.exit_code, outcome.stderr
    content = everything(sold / "out")
    assert b"41193.17" in content  # 31 415.93 / 0.762649
    for hidden in (
        HIDDEN,
        HIDDEN_COST,
        HIDDEN_COST.split(".")[0],
        "31,415",
        "31 415",
        "cost_book",
        "23.7351",
        "0.2373",
    ):
        assert hidden.encode() not in content
        assert hidden not in outcome.output


def test_a_lock_pins_the_prices_of_what_is_sold(sold: Path) -> None:
    """Without a cost; what costs become later is said and does not change the quote."""
    (sold / "zebra.csv").write_text(f"part,price,source,currency\nqm9700,{HIDDEN_COST},{HIDDEN},USD\n", "utf-8")
    selling(sold)
    before = margins()["total"]["amount"]
    assert 0 == run("lock", "plan.yaml").exit_code
    [lock] = sold.glob("*.lock*")
    text = lock.read_text("utf-8")
    assert "41887.91" in text  # 31 415.93 / 0.75
    assert not [hidden for hidden in (HIDDEN, HIDDEN_COST) if hidden in text]
    (sold / "zebra.csv").write_text("part,price,currency\nqm9700,50000,USD\n", "utf-8")
    assert before == margins()["total"]["amount"]
    assert "quote.sell.by.switch has changed; the pinned prices are used" in run("check", "plan.yaml").stderr
