"""What the commercial part of a plan does: discounts, currencies, stock, charges, confidence, running, alternatives.

Expected amounts are worked out by hand beside each test, from prices that the test itself gives.
"""

# ruff: noqa: SIM300

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from openpyxl import load_workbook

from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

PRICES = {"dgx-a100-640": 200000, "qm9700": 25000, "cx7-400-osfp": 2000, "generic-400g": 450, "generic-mpo12-om4": 80}
"""One price for every part of the plan below."""
CLUSTER: dict[str, Any] = {"gpu": "a100-sxm-80", "server": "dgx-a100-640", "servers": 64}
LINK = {"medium": "transceiver", "module": "generic-400g", "length": "30 m"}
FABRIC: dict[str, Any] = {
    "switch": "qm9700",
    "nic": "cx7-400-osfp",
    "gpus_per_nic": 2,
    "links": {"server-leaf": LINK, "leaf-spine": LINK},
}
"""64 servers with 4 NICs: 256 endpoints, 8 leaves of 32 down and 4 spines; 1024 modules, 512 fibres."""


def entries(**prices: Any) -> list[dict[str, Any]]:
    """The prices of a book."""
    return [{"part": part.replace("_", "-"), "price": price} for part, price in {**PRICES, **prices}.items()]


@pytest.fixture
def quoted(tmp_path: Path) -> Any:
    """The report of the plan above with some of its keys changed, and with price books."""

    def build(quote: Mapping[str, Any], *books: Mapping[str, Any], **keys: Any) -> Report:
        given = books or ({"prices": entries()},)
        for number, book in enumerate(given):
            content = {"bomgen_prices": 1, "currency": "USD", "source": "the test", **book}
            (tmp_path / f"{number}.yaml").write_text(json.dumps(content, indent=1), encoding="utf-8")
        named = [f"{number}.yaml" for number in range(len(given))]
        plan = {
            "bomgen": 1,
            "name": "money",
            "cluster": CLUSTER,
            "fabrics": {"compute": FABRIC},
            **keys,
            "quote": {"price_book": named, **quote},
        }
        return work_out(PlanFile("plan.yaml", json.dumps(plan, indent=1).encode(), tmp_path, tmp_path))

    return build


def line(report: Report, id: str) -> dict[str, Any]:
    """A line as bom.json has it."""
    found: dict[str, Any] = next(each for each in result(report)["lines"] if each["id"] == id)
    return found


def rules(problems: Any) -> list[str]:
    """The rules of warnings about money."""
    return [problem.rule for problem in problems if problem.rule not in ("generic", "own-nics", "nic-slot")]


def refused(build: Any, *given: Any, **keys: Any) -> Problem:
    """The one problem that a plan is refused with."""
    with pytest.raises(PlanErrors) as errors:
        build(*given, **keys)
    [problem] = errors.value.problems
    return problem


# prices -----------------------------------------------------------------------------------------------------------


def test_the_bill_costs_what_its_lines_cost(quoted: Any) -> None:
    """64 x 200 000 + 256 x 2000 + 12 x 25 000 + 1024 x 450 + 512 x 80 = 14 113 760."""
    assert "14113760.00" == result(quoted({}))["totals"]["amount"]


def test_later_books_win_and_earlier_ones_fill_in(quoted: Any) -> None:
    """A second book lowers one price: 12 x 5000 less."""
    report = quoted({}, {"prices": entries()}, {"prices": [{"part": "MQM9700-NS2F", "price": 20000}]})
    assert "14053760.00" == result(report)["totals"]["amount"]


def test_a_price_break_counts_the_part_on_all_lines(quoted: Any) -> None:
    """1024 modules on four lines of 256 reach the break at 1000: 1024 x 400."""
    tier = {"part": "generic-400g", "price": 400, "from_quantity": 1000}
    report = quoted({}, {"prices": [*entries(), tier]})
    assert "400" == line(report, "compute.transceiver.server-leaf.server")["unit_price"]


def test_a_shorter_cable_costs_at_most_what_the_next_longer_one_does(quoted: Any) -> None:
    """It is an estimate; other families, shorter cables and the quantity break of the longer one do not count."""
    others = {"mfp7e10-n005": 70, "mfp7e10-n050": 120, "mfp7e20-n020": 5}
    prices = [*entries(**others), {"part": "MFP7E10-N020", "price": 90}]
    for length, price in (("10 m", "90"), ("30 m", "120"), ("50 m", "120")):
        link = {"medium": "transceiver", "length": length}
        report = quoted(
            {}, {"prices": prices}, fabrics={"compute": {**FABRIC, "links": {"server-leaf": link, "leaf-spine": link}}}
        )
        cable = next(row.price for row in report.quote.lines if (row.line.part or "").startswith("mfp7e10"))
        assert cable
        assert (str(cable.amount), cable.estimate) == (price, length != "50 m")


def test_a_part_with_a_range_alone_has_no_price(quoted: Any) -> None:
    """256 NICs between 1500 and 2500: the total leaves them out, its ends do not."""
    book = {"prices": [each for each in entries() if each["part"] != "cx7-400-osfp"]}
    book["prices"].append({"part": "cx7-400-osfp", "min": 1500, "max": 2500})
    totals = result(quoted({}, book))["totals"]
    assert (False, "13601760.00") == (totals["complete"], totals["amount"])
    assert ("13985760.00", "14241760.00") == (totals["low"], totals["high"])


@pytest.mark.parametrize(
    ("unpriced", "total", "said"),
    [
        ([], "14,961,936.00", "15,384,336.00 USD to 15,665,936.00 USD"),
        (["generic-mpo12-om4"], "14,916,880.00", "15,339,280.00 USD"),
    ],
    ids=["range", "range-and-missing"],
)
def test_at_least_is_the_sum_of_priced_lines_in_every_format(
    quoted: Any, tmp_path: Path, unpriced: list[str], total: str, said: str
) -> None:
    """NICs between 1500 and 2500, fibres with a price or none; the lower end of prices is a line of its own.

    With 10 % tax: 13 601 760 x 1.1 = 14 961 936, without the fibres 13 560 800 x 1.1 = 14 916 880.
    """
    book = {"prices": [each for each in entries() if each["part"] not in ("cx7-400-osfp", *unpriced)]}
    book["prices"].append({"part": "cx7-400-osfp", "min": 1500, "max": 2500})
    report = quoted({"tax": "10%"}, book)
    files = render(report, ("md", "html", "xlsx", "json"))
    totals = json.loads(files["bom.json"])["totals"]
    amount = total.replace(",", "")
    assert (False, amount) == (totals["complete"], totals["amount"])
    for name in ("report.md", "report.html"):
        page = files[name].decode()
        assert {total} == set(re.findall(r"[Tt]otal.{0,60}at least ([0-9,.]+) USD", page))
        assert said in page
        assert f"at least {said}" not in page
    workbook = load_workbook(io.BytesIO(files["report.xlsx"]), data_only=True)
    sheet, cell = workbook.defined_names["bom_amount"].attr_text.replace("$", "").rsplit("!", 1)
    assert Decimal(amount) == workbook[sheet.strip("'")][cell].value
    summary = [row for row in workbook["Summary"].iter_rows(values_only=True) if row[0] == "Total amount, at least"]
    assert [Decimal(amount)] == [row[1] for row in summary]
    (tmp_path / "plan.yaml").write_bytes(report.content)
    command = ["build", str(tmp_path / "plan.yaml"), "-f", "json", "-o", str(tmp_path / "out")]
    assert f"  Total including tax: at least {total} USD\n" in CliRunner().invoke(main, command).stdout


def test_a_missing_price_opens_the_total_upwards(quoted: Any) -> None:
    """A line without price or range: at least, never zero."""
    report = quoted({}, {"prices": entries()[1:]})
    totals = result(report)["totals"]
    assert (False, "1313760.00", "1313760.00", None) == tuple(
        totals[key] for key in ("complete", "amount", "low", "high")
    )
    assert line(report, "server")["amount"] is None
    assert "missing-price" in rules(report.problems)


def test_prices_are_converted_piece_by_piece(quoted: Any) -> None:
    """25 000 USD at 7.1234 are 178 085.00 CNY, 80 USD 569.87 (569.872): 512 fibres cost 291 773.44."""
    exchange = {"USD": {"rate": "7.1234", "date": "2026-11-01"}}
    report = quoted({"currency": "CNY", "exchange": exchange})
    assert "178085.00" == line(report, "compute.switch.leaf")["unit_price"]
    fibres = [each["amount"] for each in result(report)["lines"] if each["part"] == "generic-mpo12-om4"]
    assert ["145886.72", "145886.72"] == fibres


def test_a_currency_without_a_rate_is_refused_where_the_book_names_it(quoted: Any) -> None:
    """The place is that of the price, in its file."""
    problem = refused(
        quoted, {"currency": "USD"}, {"prices": [*entries(), {"part": "x", "price": 1, "currency": "EUR"}]}
    )
    assert ("currency", "0.yaml") == (problem.rule, problem.mark.file)
    assert "pin a rate" in problem.message


def test_a_rate_is_not_from_the_future(quoted: Any) -> None:
    """A rate of a day after the quote was not known then."""
    exchange = {"EUR": {"rate": 1.1, "date": "2026-11-21"}}
    assert "date" == refused(quoted, {"date": "2026-11-20", "exchange": exchange}).rule


@pytest.mark.parametrize(("day", "old"), [("2026-08-22", ["old-price"]), ("2026-08-23", [])])
def test_a_price_is_old_after_ninety_days(quoted: Any, day: str, old: list[str]) -> None:
    """22 August to 20 November are 90 days, the age from which the assumption calls a price old."""
    report = quoted({"date": "2026-11-20"}, {"date": day, "prices": entries()})
    assert old == rules(report.problems)
    assert quoted({}, {"date": day, "prices": entries()}).problems == quoted({}).problems


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 price in 0.yaml is out of date"), (2, "2 prices in 0.yaml are out of date")]
)
def test_old_prices_are_counted(quoted: Any, count: int, said: str) -> None:
    """One is, two are."""
    book = {
        "prices": [{**each, "date": "2026-01-01" if at < count else "2026-11-01"} for at, each in enumerate(entries())]
    }
    (problem,) = [each for each in quoted({"date": "2026-11-20"}, book).problems if each.rule == "old-price"]
    assert problem.message.startswith(said)


def test_a_price_runs_out(quoted: Any) -> None:
    """The day after the last one it holds; the warning stands in the book."""
    book = {"prices": [{**each, "valid_until": "2026-11-19"} for each in entries()]}
    found = [problem for problem in quoted({"date": "2026-11-20"}, book).problems if problem.rule == "expired-price"]
    assert {"0.yaml"} == {problem.mark.file for problem in found}
    assert 5 == len(found)
    assert [] == rules(quoted({"date": "2026-11-19"}, book).problems)


# discounts, charges, stock ----------------------------------------------------------------------------------------


def test_the_nearest_discount_wins(quoted: Any) -> None:
    """Line before part before category before default."""
    report = quoted(
        {
            "discount": {
                "default": "1%",
                "switch": "2%",
                "parts": {"MQM9700-NS2F": "3%", "generic-400g": "5%"},
                "lines": {"compute.switch.spine": "0%"},
            }
        }
    )
    wanted = {"server": "0.01", "compute.switch.leaf": "0.03", "compute.switch.spine": "0"}
    wanted["compute.transceiver.leaf-spine.spine"] = "0.05"
    assert wanted == {id: line(report, id)["discount"] for id in wanted}


@pytest.mark.parametrize(("key", "name"), [("parts", "qm8700"), ("lines", "compute.switch.core")])
def test_a_discount_on_nothing_is_said(quoted: Any, key: str, name: str) -> None:
    """A slip in a name takes nothing off and says so."""
    assert ["no-effect"] == rules(quoted({"discount": {key: {name: "10%"}}}).problems)


def test_charges_are_counted_by_the_plan(quoted: Any) -> None:
    """512 GPUs over 3 years, 64 servers, 12 switches; 2 % of the hardware's 14 113 760 is 282 275.20."""
    charges = [
        {"kind": "freight", "share": "2%"},
        {"kind": "software", "name": "Manager", "per": "gpu", "years": 3, "price": "99.50"},
        {"kind": "installation", "per": "server", "price": 500},
        {"kind": "support", "per": "switch", "part": "switch-support"},
    ]
    report = quoted({"charges": charges}, {"prices": entries(switch_support=1000)})
    assert "282275.20" == line(report, "service.freight")["amount"]
    assert (1536, "152832.00") == tuple(line(report, "software.manager")[key] for key in ("quantity", "amount"))
    assert "32000.00" == line(report, "service.installation")["amount"]
    assert "12000.00" == line(report, "service.support")["amount"]


def test_a_share_of_unpriced_hardware_is_no_price(quoted: Any) -> None:
    """Freight of parts that nobody priced is unknown, not nothing."""
    report = quoted({"charges": [{"kind": "freight", "share": "2%"}]}, {"prices": []})
    assert line(report, "service.freight")["amount"] is None


def test_a_charge_by_what_is_not_there_is_refused(quoted: Any) -> None:
    """No racks are counted without a site."""
    assert "charge" == refused(quoted, {"charges": [{"kind": "installation", "per": "rack", "price": 1}]}).rule


def test_stock_goes_to_the_first_lines(quoted: Any) -> None:
    """Ten of twelve switches are there: eight leaves and two spines; two are bought."""
    report = quoted({}, stock={"MQM9700-NS2F": 10})
    lines = {each["id"]: each for each in result(report)["lines"] if each["category"] == "switch"}
    assert ["compute.switch.leaf.stock", "compute.switch.spine", "compute.switch.spine.stock"] == list(lines)
    assert [8, 2, 2] == [each["quantity"] for each in lines.values()]
    assert ["0.00", "50000.00", "0.00"] == [each["amount"] for each in lines.values()]
    assert "13863760.00" == result(report)["totals"]["amount"]


def test_stock_of_other_parts_is_said(quoted: Any) -> None:
    """Nothing on the bill is such a part."""
    assert ["no-effect"] == rules(quoted({}, stock={"qm8700": 4}).problems)


@pytest.mark.parametrize(
    ("entry", "low", "high"),
    [({}, "24000.00", "39000.00"), ({"min": 30000}, "30000", "30000"), ({"max": 33000}, "30000", "33000")],
)
def test_an_estimate_without_a_range_has_one_by_rule(quoted: Any, entry: dict[str, Any], low: str, high: str) -> None:
    """20 % below and 30 % above, the widest of a budget estimate; a range of the book's own stays as it is."""
    book = [*entries(), {"part": "qm9700", "price": 30000, "estimate": True, **entry}]
    found = result(quoted({}, {"prices": [each for each in book if each["part"] != "qm9700" or "estimate" in each]}))
    lines = [line for line in found["lines"] if line["part"] == "qm9700"]
    assert {(line["unit_price_low"], line["unit_price_high"]) for line in lines} == {(low, high)}
    pieces = sum(line["quantity"] for line in lines)
    assert Decimal(found["totals"]["amount"]) - Decimal(found["totals"]["low"]) == pieces * (30000 - Decimal(low))
    assert Decimal(found["totals"]["high"]) - Decimal(found["totals"]["amount"]) == pieces * (Decimal(high) - 30000)
    assumed = [each for each in found["assumptions"] if each["name"].startswith("Estimated price, ")]
    assert len(assumed) == (0 if entry else 2)


# confidence and running -------------------------------------------------------------------------------------------


def test_money_that_is_doubtful(quoted: Any) -> None:
    """Switches (300 000) are an estimate and old, NICs (512 000) old, planning modules (460 800) have no source.

    A line counts once in the sum: 1 272 800 of 14 113 760.
    """
    prices = [
        {**each, "estimate": each["part"] == "qm9700"}
        | ({"date": "2025-11-20"} if each["part"] in ("cx7-400-osfp", "qm9700") else {})
        for each in entries()
    ]
    found = result(quoted({"date": "2026-11-20"}, {"date": "2026-11-01", "prices": prices}))["confidence"]
    reasons = [found[reason]["amount"] for reason in ("unverified", "estimated", "old")]
    assert ["460800.00", "300000.00", "812000.00"] == reasons
    assert "1272800.00" == found["amount"]
    assert found["share"] == pytest.approx(1272800 / 14113760)


def test_what_running_costs(quoted: Any) -> None:
    """Power times PUE, 8760 hours a year, 4 years, half the load, 0.10 a kWh; 0.3 of 1.3 is cooling."""
    report = quoted(
        {},
        site={"rack": {"units": 48, "power": "40 kW"}, "pue": 1.3, "electricity": 0.1},
        operation={"years": 4, "load": "50%", "use": "80%", "rack_cost": 1000},
    )
    found = result(report)
    watts, running = found["site"]["power_w"], found["operation"]
    energy = Decimal(str(watts)) * Decimal("1.3") * 8760 * 4 / 2 / 1000
    assert running["energy_kwh"] == pytest.approx(float(energy))
    assert running["energy_cost"] == pytest.approx(float(energy) * 0.1 / 1.3)
    assert running["cooling_cost"] == pytest.approx(float(energy) * 0.1 * 0.3 / 1.3)
    assert running["space_cost"] == found["site"]["racks"] * 1000 * 48
    assert running["gpu_hours"] == 512 * 4 * 8760 * 0.8
    assert running["cost_per_gpu_hour"] == pytest.approx(running["total_cost"] / running["gpu_hours"])


def test_running_without_prices_leaves_out_what_is_unknown(quoted: Any) -> None:
    """No electricity price and no rent: the purchase alone, said to be a lower bound."""
    report = quoted({}, operation={"years": 4})
    assert "total_cost" in report.running.lower_bounds
    page = render(report, ("md",))["report.md"].decode()
    assert "exclude items without a price" in page


# alternatives -----------------------------------------------------------------------------------------------------

COMPATIBLE = {"name": "compatible", "vendor": "Other", "part_number": "OT-9700", "replaces": ["mma4z00-ns"]}
TWIN = {"medium": "transceiver", "module": {"server": "mma4z00-ns400", "leaf": "mma4z00-ns"}, "length": "30 m"}
LINKX = {**FABRIC, "links": {"server-leaf": TWIN, "leaf-spine": {**TWIN, "module": "mma4z00-ns"}}}


def with_part(folder: Path, id: str, part: Mapping[str, Any]) -> None:
    """A module in a part folder beside the plan."""
    place = folder / "parts" / "transceiver"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{id}.yaml").write_text(json.dumps(part, indent=1), encoding="utf-8")


def test_compatible_modules_take_the_place_of_others(quoted: Any, tmp_path: Path) -> None:
    """Modules are replaced one for one, by the plan's own part where it has one; everything else stays."""
    with_part(tmp_path, "other-twin", COMPATIBLE)
    alternatives = [{"name": "Other", "substitute": {"transceiver": "compatible"}}]
    report = quoted({"alternatives": alternatives}, catalog=["parts"], fabrics={"compute": LINKX})
    before, after = result(report)["lines"], result(report)["alternatives"][0]["lines"]
    swapped = {"mma4z00-ns": "other-twin", "mma4z00-ns400": "fs-mma4z00-ns400"}
    assert [(swapped.get(each["part"], each["part"]), each["quantity"]) for each in before] == [
        (each["part"], each["quantity"]) for each in after
    ]
    assert any(each["part"] == "other-twin" for each in after)


def test_the_cheapest_of_several_compatible_parts_is_taken(quoted: Any, tmp_path: Path) -> None:
    """By the price books, as far as they know them."""
    for id in ("a-dear", "b-cheap", "c-unknown"):
        with_part(tmp_path, id, {**COMPATIBLE, "part_number": id})
    book = {"prices": [*entries(), {"part": "a-dear", "price": 900}, {"part": "b-cheap", "price": 700}]}
    report = quoted(
        {"alternatives": [{"name": "Other", "substitute": {"mma4z00-ns": "compatible"}}]},
        book,
        catalog=["parts"],
        fabrics={"compute": LINKX},
    )
    parts = {each["part"] for each in result(report)["alternatives"][0]["lines"]}
    assert "b-cheap" in parts
    assert "a-dear" not in parts


def test_the_cheapest_is_taken_by_what_the_alternative_itself_sets(quoted: Any, tmp_path: Path) -> None:
    """By the rates and discounts of the alternative: 700 EUR are 630 USD at 0.9, and 750 USD half at 50 % off."""
    for id in ("a-euro", "b-dollar"):
        with_part(tmp_path, id, {**COMPATIBLE, "part_number": id})
    euro = {"part": "a-euro", "price": 700, "currency": "EUR"}
    book = {"prices": [*entries(), euro, {"part": "b-dollar", "price": 750}]}
    settings = (
        {"quote.exchange.EUR.rate": 1.2},
        {"quote.exchange.EUR.rate": 0.9},
        {"quote.discount.parts.b-dollar": "50%"},
    )
    names = ("dear", "cheap", "half")
    quote = {
        "exchange": {"EUR": {"rate": 1, "date": "2026-11-01"}},
        "discount": {"parts": {"b-dollar": 0}},
        "alternatives": [
            {"name": name, "set": given, "substitute": {"mma4z00-ns": "compatible"}}
            for name, given in zip(names, settings, strict=True)
        ],
    }
    report = quoted(quote, book, catalog=["parts"], fabrics={"compute": LINKX})
    taken = [{line["part"] for line in each["lines"]} for each in result(report)["alternatives"]]
    assert [parts & {"a-euro", "b-dollar"} for parts in taken] == [{"b-dollar"}, {"a-euro"}, {"b-dollar"}]


def test_a_medium_that_is_set_drops_the_modules_of_the_one_before(quoted: Any) -> None:
    """The published alternative: AOC between NICs and leaves, 512 modules instead of 1024."""
    given = {"name": "AOC", "set": {"fabrics.compute.links.server-leaf.medium": "aoc"}}
    found = result(quoted({"alternatives": [given]}))["alternatives"][0]
    modules = sum(each["quantity"] for each in found["lines"] if each["category"] == "transceiver")
    assert 512 == modules
    assert any(each["part"] == "generic-400g-aoc" and each["quantity"] == 256 for each in found["lines"])


@pytest.mark.parametrize(
    ("alternative", "rule"),
    [
        ({"substitute": {"qm9701": "qm9790"}}, "unknown-part"),
        ({"substitute": {"qm9700": "qm9791"}}, "unknown-part"),
        ({"substitute": {"transceiver": "compatible"}}, "no-compatible"),
        ({"substitute": {"generic-400g": "mma1b00-e100"}}, "unknown-part"),
        ({"set": {"fabrics.compute.switch": "qm9701"}}, "unknown-part"),
        ({"set": {"fabrics.compute.tiers": 7}}, "value"),
        ({"set": {"name.below": 1}}, "set"),
    ],
)
def test_an_alternative_that_cannot_be_is_refused(quoted: Any, alternative: dict[str, Any], rule: str) -> None:
    """At its place in the plan, and said to be the alternative's."""
    problem = refused(quoted, {"alternatives": [{"name": "No", **alternative}]})
    assert rule == problem.rule
    assert "plan.yaml" == problem.mark.file
    assert problem.message.startswith("alternative 'No': ")


def test_a_part_that_no_cage_takes_is_refused(quoted: Any) -> None:
    """A flat module of one port goes into no switch: the connection rules hold for what stands in, too."""
    with pytest.raises(PlanErrors) as errors:
        quoted(
            {"alternatives": [{"name": "No", "substitute": {"mma4z00-ns": "mma4z00-ns400"}}]},
            fabrics={"compute": LINKX},
        )
    assert all(problem.message.startswith("alternative 'No': ") for problem in errors.value.problems)


# tax and charges ----------------------------------------------------------------------------------------------------

CHARGES = [{"kind": "installation", "price": 1000.09}, {"kind": "software", "name": "manager", "price": 2000.15}]


def test_each_tax_rate_is_rounded_once(quoted: Any) -> None:
    """13 % of 14 113 760 are 1 834 788.80; 6 % of 1000.09 + 2000.15 are 180.0144, not 60.01 + 120.01."""
    tax = {"default": "13%", "service": "6%", "software": "6%"}
    totals = result(quoted({"tax": tax, "charges": CHARGES}))["totals"]
    assert totals["taxes"] == [
        {"share": "0.13", "net": "14113760.00", "tax": "1834788.80"},
        {"share": "0.06", "net": "3000.24", "tax": "180.01"},
    ]
    assert ("1834968.81", "15951729.05") == (totals["tax"], totals["amount"])


def test_equal_rates_are_one_rate(quoted: Any) -> None:
    """A mapping whose rates are equal, or apply to no line, gives what one rate gives."""
    one, several = (
        result(quoted({"tax": tax, "charges": CHARGES}))["totals"]
        for tax in ("13%", {"default": "13%", "service": "13%", "storage": "6%"})
    )
    assert one == several
    assert len(one["taxes"]) == 1


def test_every_quote_has_a_row_for_each_tax_rate(quoted: Any) -> None:
    """Rate, net amount and tax; the workbook calculates each."""
    files = render(quoted({"tax": {"default": "13%", "service": "6%"}, "charges": CHARGES}), ("md", "html", "xlsx"))
    for name in ("quote.md", "quote.html"):
        text = files[name].decode()
        for said in ("Tax 13 % on 14,115,760.15 USD", "Tax 6 % on 1,000.09 USD", "1,835,048.82 USD", "60.01 USD"):
            assert said in re.sub("[\u00a0\u202f]", " ", text), name
    names = load_workbook(io.BytesIO(files["quote.xlsx"])).defined_names
    assert {"bom_tax_rate_1", "bom_tax_rate_2", "bom_tax_1", "bom_tax_2", "bom_tax"} <= set(names)


def test_a_charge_in_its_own_currency_is_exchanged(quoted: Any) -> None:
    """1000.09 EUR at 1.2 are 1200.108 USD; bom.json has both, and the rate."""
    charges = [{**CHARGES[0], "currency": "EUR"}]
    found = line(
        quoted({"charges": charges, "exchange": {"EUR": {"rate": 1.2, "date": "2026-11-01"}}}), "service.installation"
    )
    assert ("1200.11", "1000.09", "EUR", "1.2") == tuple(
        found[key] for key in ("unit_price", "original_price", "original_currency", "exchange_rate")
    )


def test_a_charge_keeps_the_currency_of_its_plan(tmp_path: Path) -> None:
    """Another currency of the quote, by a setting or a plan that extends it, does not change what a charge costs."""
    quote: dict[str, Any] = {"charges": [{"kind": "installation", "price": 1800}]}
    quote["exchange"] = {"USD": {"rate": 7, "date": "2026-11-01"}}
    plan = {"bomgen": 1, "name": "money", "cluster": CLUSTER, "fabrics": {"compute": FABRIC}}
    chinese = {"extends": "base.yaml", "quote": {"currency": "CNY"}}
    for stated in ({"currency": "USD"}, {}):
        content = json.dumps({**plan, "quote": {**quote, **stated}}).encode()
        (tmp_path / "base.yaml").write_bytes(content)
        built = [work_out(PlanFile("plan.yaml", content, tmp_path, tmp_path), ["quote.currency=CNY"])]
        if stated:
            built.append(work_out(PlanFile("plan.yaml", json.dumps(chinese).encode(), tmp_path, tmp_path)))
        for report in built:
            assert "12600.00" == line(report, "service.installation")["unit_price"]


# findings of those who tried to break it --------------------------------------------------------------------------


def test_warnings_of_an_alternative_are_said(quoted: Any) -> None:
    """A planning part that only the alternative has is pointed out there, by the check, and in bom.json."""
    given = {"name": "AOC", "set": {"fabrics.compute.links.server-leaf.medium": "aoc"}}
    report = quoted({"alternatives": [given]})
    said = [problem.message for problem in report.problems if problem.message.startswith("alternative 'AOC': ")]
    assert any("generic-400g-aoc is a placeholder" in message for message in said)
    assert len(said) == len(result(report)["alternatives"][0]["warnings"])
    assert "AOC: generic-400g-aoc is a placeholder" in render(report, ("md",))["report.md"].decode()


@pytest.mark.parametrize("key", ["quote", "quote.currency", "catalog", "name"])
def test_an_alternative_sets_what_can_be_compared(quoted: Any, key: str) -> None:
    """Another currency, name or catalogue is no alternative."""
    assert "set" == refused(quoted, {"alternatives": [{"name": "No", "set": {key: None}}]}).rule


def test_a_missing_rate_is_found_before_links_are_chosen(quoted: Any) -> None:
    """Where prices decide about media, too: at the book, not at the fabric."""
    problem = refused(
        quoted,
        {"currency": "EUR"},
        fabrics={"compute": {"switch": "qm9700"}},
        cluster={"gpu": "h100-sxm", "servers": 64},
    )
    assert ("currency", "0.yaml") == (problem.rule, problem.mark.file)


def test_compatible_parts_are_compared_in_one_currency_after_discount(quoted: Any, tmp_path: Path) -> None:
    """700 EUR at 1.2 are 840 USD, more than 750; with 20 % off only 672."""
    for id in ("a-euro", "b-dollar"):
        with_part(tmp_path, id, {**COMPATIBLE, "part_number": id})
    euro = {"part": "a-euro", "price": 700, "currency": "EUR"}
    book = {"prices": [*entries(), euro, {"part": "b-dollar", "price": 750}]}
    quote = {
        "exchange": {"EUR": {"rate": 1.2, "date": "2026-11-01"}},
        "alternatives": [{"name": "Other", "substitute": {"transceiver": "compatible"}}],
    }
    for discount, wanted in (({}, "b-dollar"), ({"parts": {"a-euro": "20%"}}, "a-euro")):
        report = quoted({**quote, "discount": discount}, book, catalog=["parts"], fabrics={"compute": LINKX})
        assert wanted in {each["part"] for each in result(report)["alternatives"][0]["lines"]}


def test_compatible_parts_take_the_place_of_what_was_chosen(quoted: Any, tmp_path: Path) -> None:
    """Modules that nobody named are replaced as well, and nothing else changes."""
    with_part(tmp_path, "other-twin", COMPATIBLE)
    report = quoted(
        {"alternatives": [{"name": "Other", "substitute": {"transceiver": "compatible"}}]},
        {"prices": []},
        catalog=["parts"],
        cluster={"gpu": "h100-sxm", "servers": 64},
        fabrics={"compute": {"switch": "qm9700", "topology": "rail-optimized"}, "storage": "default"},
    )
    before, after = result(report)["lines"], result(report)["alternatives"][0]["lines"]
    swapped = {"mma4z00-ns": "other-twin", "mma1z00-ns400": "fs-mma1z00-ns400"}
    assert [(swapped.get(each["part"], each["part"]), each["quantity"]) for each in before] == [
        (each["part"], each["quantity"]) for each in after
    ]


def test_a_load_of_nought_is_meant(quoted: Any) -> None:
    """No energy at no load; a use of nought divides by nothing and is refused."""
    site = {"rack": {"units": 48, "power": "40 kW"}, "electricity": 0.1}
    report = quoted({}, site=site, operation={"years": 1, "load": "0%"})
    assert 0 == result(report)["operation"]["energy_kwh"]
    assert "range" == refused(quoted, {}, operation={"years": 1, "use": "0%"}).rule


def test_all_hardware_in_stock_needs_no_freight(quoted: Any) -> None:
    """One per cent of nothing is nothing, and known."""
    stock = {part.replace("_", "-"): 10**5 for part in PRICES}
    totals = result(quoted({"charges": [{"kind": "freight", "share": "1%"}]}, stock=stock))["totals"]
    assert (True, "0.00") == (totals["complete"], totals["amount"])


def test_a_share_of_hardware_without_a_price_is_a_lower_bound(quoted: Any) -> None:
    """Servers unpriced: 2 % of the rest, 1 313 760, is 26 275.20 at least."""
    report = quoted({"charges": [{"kind": "freight", "share": "2%"}]}, {"prices": entries()[1:]})
    freight = line(report, "service.freight")
    assert ("26275.20", None) == (freight["amount"], freight["unit_price_high"])
    assert "at least 26,275.20" in render(report, ("md",))["report.md"].decode()


def test_the_default_discount_is_for_parts(quoted: Any) -> None:
    """Freight is a share of what is already discounted: 2 % of 90 % of 14 113 760."""
    report = quoted({"discount": {"default": "10%"}, "charges": [{"kind": "freight", "share": "2%"}]})
    assert ("0", "254047.68") == tuple(line(report, "service.freight")[key] for key in ("discount", "amount"))


def test_small_prices_are_written_in_full(quoted: Any) -> None:
    """A tenth of a millionth is no power of ten in bom.json, and no nought on the page."""
    report = quoted({}, {"prices": entries(**{"generic-mpo12-om4": "0.0000001"})})
    assert "0.0000001" == line(report, "compute.cable.server-leaf")["unit_price"]
    assert "0.0000001" in render(report, ("md",))["report.md"].decode()


@pytest.mark.parametrize(
    ("currency", "amount"),
    [
        *(("XOF", "14113760"), ("UYI", "14113760"), ("EUR", "14113760.00"), ("JOD", "14113760.000")),
        *(("CLF", "14113760.0000"), ("UYW", "14113760.0000")),
    ],
)
def test_minor_units_are_those_of_iso_4217(quoted: Any, currency: str, amount: str) -> None:
    """The West African franc has none, the Jordanian dinar three, units of account 0 or 4 (ISO 4217, list one)."""
    report = quoted({"currency": currency}, {"currency": currency, "prices": entries()})
    assert amount == result(report)["totals"]["amount"]


@pytest.mark.parametrize("code", ["ZZZ", "XXX", "BTC", "XAU"])
@pytest.mark.parametrize("place", ["quote", "book", "exchange"])
def test_what_is_no_currency_is_refused(quoted: Any, code: str, place: str) -> None:
    """A code without money behind it, in a plan or a price book: one error that names it."""
    given = {
        "quote": {"currency": code},
        "book": {},
        "exchange": {"exchange": {code: {"rate": 2, "date": "2026-11-01"}}},
    }
    book = {"currency": code if place == "book" else "USD", "prices": entries()}
    problem = refused(quoted, given[place], book)
    assert ("currency", True) == (problem.rule, f"'{code}' is not a currency" in problem.message)


def test_stock_under_two_names_is_one_stock(quoted: Any) -> None:
    """By id and by part number: both are taken."""
    report = quoted({}, stock={"qm9700": 1, "MQM9700-NS2F": 1})
    bought = [each["quantity"] for each in result(report)["lines"] if each["part"] == "qm9700" and not each["in_stock"]]
    assert 10 == sum(bought)


def test_charges_have_ids_of_their_own(quoted: Any) -> None:
    """Whatever they are called."""
    charges = [
        {"kind": "freight", "price": 10},
        {"kind": "freight", "price": 20},
        {"kind": "support", "name": "freight.2", "price": 30},
    ]
    ids = [each["id"] for each in result(quoted({"charges": charges}))["lines"]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("quote", "rule"),
    [
        ({"charges": [{"kind": "support", "share": "1%", "per": "gpu"}]}, "charge"),
        ({"charges": [{"kind": "support", "price": "9" * 39}]}, "range"),
        ({"exchange": {"EUR": {"rate": "0.00000000001", "date": "2026-11-01"}}}, "range"),
        ({"alternatives": [{"name": "A", "set": {"fabrics.compute.tiers": 2}}] * 2}, "duplicate"),
    ],
)
def test_slips_in_terms_are_refused(quoted: Any, quote: dict[str, Any], rule: str) -> None:
    """What nobody can mean."""
    assert rule == refused(quoted, quote).rule


@pytest.mark.parametrize(
    ("status", "estimate", "warned"), [("firm", True, 1), ("firm", False, 0), ("budgetary", True, 0)]
)
def test_a_firm_quote_on_estimated_prices_is_said(quoted: Any, status: str, estimate: bool, warned: int) -> None:
    """What binds the seller should not rest on an estimate: the warning stands at the status and names the part."""
    book = [each | {"estimate": estimate} if each["part"] == "qm9700" else each for each in entries()]
    report = quoted({"status": status}, {"prices": book})
    found = [problem for problem in report.problems if problem.rule == "firm-estimate"]
    assert len(found) == warned
    for problem in found:
        assert "qm9700" in problem.message
        assert '"firm"' in report.source.text.splitlines()[problem.mark.line - 1]
