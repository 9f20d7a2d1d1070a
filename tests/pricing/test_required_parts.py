"""What an order needs beside what the plan asks for: cords by supply, parts that parts require, choices left open."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from bomgen import build
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

SOURCES = {"guide": {"title": "Installation guide", "url": "https://example.com/guide"}}
LICENCE_GUIDES = (
    "NVIDIA AI Enterprise Licensing Guide, Terminology; Rafay, When Do You Need an NVIDIA AI Enterprise License"
)
PARTS: dict[str, dict[str, Any]] = {
    "server/box.yaml": {
        "name": "Box",
        "gpu": "h100-sxm",
        "gpus": 8,
        "nics": 8,
        "nic": "cx7-400-osfp",
        "power_supplies": {"count": 6, "inlet": "c20", "cords_included": False},
        "requires": [
            {"part": "rail-kit", "source": ["guide"]},
            {"part": "agent", "per": "gpu", "source": ["guide"]},
            {"choose": ["support-3y", "support-5y"], "source": ["guide"]},
            {"part": "inspection", "quantity": 2, "per": "year", "source": ["guide"]},
            {"choose": ["small-cdu", "large-cdu"], "quantity": None, "source": ["guide"]},
        ],
        "sources": SOURCES,
    },
    "switch/spare-me.yaml": {
        "name": "Unmanaged 64",
        "ports": 64,
        "port_gbps": 400,
        "requires": [
            {"choose": ["ufm-ndr", "agent-server"], "per": "fabric"},
            {"part": "agent", "per": "gpu"},
            {"part": "cleaner", "quantity": 0.125},
        ],
        "power_supplies": {"count": 2, "inlet": "c14", "cords_included": True},
    },
    "accessory/rail-kit.yaml": {
        "name": "Rail kit",
        "part_number": "RK-1",
        "requires": [{"part": "screws", "quantity": 12}],
    },
    "accessory/screws.yaml": {"name": "Screws"},
    "accessory/cleaner.yaml": {"name": "Cleaner"},
    "accessory/agent.yaml": {"name": "Agent", "category": "software"},
    "accessory/agent-server.yaml": {"name": "Manager", "category": "software"},
    "accessory/support-3y.yaml": {"name": "Support, 3 years", "category": "support"},
    "accessory/support-5y.yaml": {"name": "Support, 5 years", "category": "support"},
    "accessory/inspection.yaml": {"name": "Inspection", "category": "service"},
    "accessory/small-cdu.yaml": {"name": "CDU 100", "category": "cooling", "cooling": "100 kW"},
    "accessory/large-cdu.yaml": {"name": "CDU 250", "category": "cooling", "cooling": "250 kW"},
}
PLAN: dict[str, Any] = {
    "bomgen": 1,
    "name": "ordered",
    "cluster": {"gpu": "h100-sxm", "server": "box", "servers": 40},
    "fabrics": {"compute": {"switch": "spare-me"}},
    "catalog": ["parts/"],
}


@pytest.fixture
def ordered(tmp_path: Path) -> Any:
    """A function that works out the plan with keys beside it, with parts of the user's own in `parts/`."""

    def order(keys: dict[str, Any] | None = None, parts: dict[str, dict[str, Any]] | None = None) -> Report:
        for name, part in (PARTS | (parts or {})).items():
            path = tmp_path / "parts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(part), encoding="utf-8")
        return work_out(PlanFile("plan.yaml", json.dumps(PLAN | (keys or {})).encode(), tmp_path, tmp_path))

    return order


def required(report: Report) -> dict[str, tuple[int, str, str]]:
    """Quantity, category and requiring part of each line that is required, by its part."""
    lines = result(report)["lines"]
    return {
        each["part"]: (each["quantity"], each["category"], each["required_by"]) for each in lines if each["required_by"]
    }


def test_what_leaves_no_choice_is_on_the_bill(ordered: Any) -> None:
    """40 boxes of 6 supplies; a kit each, which takes 12 screws; an agent a GPU, once; a cleaner for 8 switches."""
    report = ordered()
    assert {
        "cord-c20": (240, "accessory", "box"),
        "rail-kit": (40, "accessory", "box"),
        "screws": (480, "accessory", "rail-kit"),
        "agent": (320, "software", "box"),
        "cleaner": (-(-(report.design.fabrics[0].fabric.switches.value) // 8), "accessory", "spare-me"),
    } == required(report)


def test_what_needs_a_choice_is_listed(ordered: Any) -> None:
    """Terms of support, a cooling unit of unknown size, years that nobody gave, a subnet manager, licences of GPUs."""
    items = result(ordered())["not_on_bill"]
    assert [
        (["support-3y", "support-5y"], 40, "piece", "Installation guide"),
        ("inspection", 80, "year", "Installation guide"),
        (["small-cdu", "large-cdu"], None, "piece", "Installation guide"),
        (["ufm-ndr", "agent-server"], 1, "fabric", ""),
        (["nvaie-1y", "nvaie-3y", "nvaie-5y"], 320, "gpu", LICENCE_GUIDES),
    ] == [(item.get("part", item.get("choose")), item["quantity"], item["per"], item["source"]) for item in items]


@pytest.mark.parametrize(
    ("cluster", "listed"),
    [
        ({"gpu": "l40s", "servers": 4}, True),
        ({"gpu": "h100-sxm", "servers": 4}, False),
        ({"gpu": "gb200", "server": "dgx-gb200-nvl72", "racks": 1}, False),
    ],
)
def test_cords_of_unknown_power_supplies_are_to_be_selected(cluster: dict[str, Any], listed: bool) -> None:
    """Known supplies have their cords on the bill, and a rack has a busbar."""
    items = build(json.dumps({"bomgen": 1, "name": "x", "cluster": cluster}) + "\n").data["not_on_bill"]
    cords = [item for item in items if item.get("choose") == ["cord-c14", "cord-c20", "cord-c22"]]
    assert [item["quantity"] for item in cords] == [None] * listed


def built(keys: dict[str, Any]) -> Any:
    """The result of a plan of shipped parts."""
    return build(json.dumps({"bomgen": 1, "name": "x"} | keys) + "\n")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (
            "cisco-ucs-c885a-m8",
            "to be selected: Power cord C13 to C14 or Power cord C19 to C20 or Power cord C21 to C20 ",
        ),
        (
            "dell-xe7740-l40s",
            "May be included with PowerEdge XE7740, 8 x L40S: Power cords; to be confirmed with Dell.",
        ),
        (
            "hgx-h100-8-generic",
            "May be included with HGX H100 8-GPU server (generic): Power cords; to be confirmed with the manufacturer.",
        ),
    ],
)
def test_a_quote_says_of_cords_what_a_source_says(server: str, said: str) -> None:
    """With Cisco they are selected with the order; for the others nothing is published."""
    quote = built({"cluster": {"server": server, "servers": 4}}).files("quote.md")["quote.md"].decode()
    assert said in quote.partition("## Not included")[2]


@pytest.mark.parametrize("server", ["dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_document_of_a_dgx_asks_for_cords(server: str, language: str) -> None:
    """They ship in the box; those with Hopper GPUs have NVIDIA AI Enterprise, too."""
    result = built({"cluster": {"server": server, "servers": 1}, "quote": {"language": language}})
    texts = "\n".join(text.decode() for text in result.files("quote.md", "report.md", "bom.csv").values())
    assert "cord" not in texts.casefold()
    assert "电源线" not in texts
    licences = [item for item in result.data["not_on_bill"] if "nvaie-3y" in item.get("choose", ())]
    assert [item["included"] for item in licences] == ([] if server in ("dgx-h100", "dgx-h200") else [False])
    assert ("NVIDIA AI Enterprise" in texts) == bool(licences)


def test_what_is_not_known_is_marked_in_the_data_and_named_in_the_report() -> None:
    """Rails of a DGX H100 are not in its guide; no line of the bill is for them."""
    result = built({"cluster": {"server": "dgx-h100", "servers": 1}})
    [rails] = [item for item in result.data["not_on_bill"] if item.get("part") == "rack-rails"]
    assert (rails["included"], rails["required_by"]) == (None, "dgx-h100")
    assert "rack-rails" not in {line["part"] for line in result.data["lines"]}
    report = result.files("report.md")["report.md"].decode()
    assert "Rack rails" in report.partition("Inclusion to be confirmed")[2]


@pytest.mark.parametrize("support", [True, False])
def test_support_that_is_sold_is_not_required_as_well(support: bool) -> None:
    """A quote with three years of support does not ask for Dell ProSupport besides."""
    quote = {"charges": [{"kind": "support", "name": "Support", "price": 5000}]} if support else {"revision": 1}
    result = built({"cluster": {"server": "dell-xe9680-h200", "servers": 4}, "quote": quote})
    listed = [item for item in result.data["not_on_bill"] if "dell-prosupport" in item.get("choose", ())]
    assert len(listed) == (not support)
    assert ("ProSupport" in result.files("quote.md")["quote.md"].decode()) is not support


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "Heat to remove: at most 240 kW, the maximum power of the servers."),
        ("zh", "需排出的热量上限：240 kW，即服务器最大功率。"),
    ],
)
def test_a_quote_sizes_the_cooling_units_to_select(code: str, said: str) -> None:
    """By the maximum power of two racks of 120 kW."""
    cluster = {"gpu": "gb200", "server": "dgx-gb200-nvl72", "racks": 2}
    plan = {"bomgen": 1, "name": "x", "cluster": cluster, "quote": {"language": code}}
    quote = build(json.dumps(plan) + "\n").files("quote.md")["quote.md"].decode()
    assert said in quote.replace("\u00a0", " ").replace("\u202f", " ")


def test_a_choice_without_a_quantity_is_listed_once(ordered: Any) -> None:
    """Boxes and switches need the same cooling unit, whose number depends on the choice: one choice for both."""
    cooled = PARTS["switch/spare-me.yaml"] | {"requires": [{"choose": ["small-cdu", "large-cdu"], "quantity": None}]}
    items = result(ordered(parts={"switch/spare-me.yaml": cooled}))["not_on_bill"]
    assert [None] == [item["quantity"] for item in items if ["small-cdu", "large-cdu"] == item.get("choose")]


def test_years_of_operation_and_a_part_of_the_plan_settle_what_was_open(ordered: Any) -> None:
    """2 inspections of 40 boxes in each of 3 years begun; the manager that the plan attaches is the one required."""
    manager = {"name": "ufm", "count": 1, "ports": 1, "part": "ufm-ndr"}
    fabric = {"compute": {"switch": "spare-me", "hosts": [manager]}}
    report = ordered({"operation": {"years": 2.5}, "fabrics": fabric})
    assert (240, "service", "box") == required(report)["inspection"]
    assert ["support-3y", "small-cdu", "nvaie-1y"] == [item.parts[0].id for item in report.bill.open_items]


def test_an_order_that_is_not_to_be_completed_lists_everything(ordered: Any) -> None:
    """No line is added, and nothing is lost."""
    report = ordered({"order": {"complete": False}})
    assert {} == required(report)
    assert {"cord-c20", "rail-kit", "agent", "cleaner"} <= {item.parts[0].id for item in report.bill.open_items}


def test_required_parts_without_a_price_leave_the_total_complete(ordered: Any, tmp_path: Path) -> None:
    """Once a book has the price of the rail kits they are in the total: 40 x 100 more."""
    fabric = {"fabrics": {"compute": {"switch": "qm9700"}}}
    planned = {line["part"] for line in result(ordered(fabric))["lines"] if not line["required_by"]}
    prices = [{"part": part, "price": 1} for part in sorted(planned)]
    book = {"bomgen_prices": 1, "name": "List", "currency": "USD", "date": "2026-11-01", "source": "vendor"}

    def totals(*more: dict[str, Any]) -> dict[str, Any]:
        (tmp_path / "book.json").write_text(json.dumps(book | {"prices": [*prices, *more]}), encoding="utf-8")
        found: dict[str, Any] = result(ordered(fabric | {"quote": {"price_book": "book.json"}}))["totals"]
        return found

    before, after = totals(), totals({"part": "RK-1", "price": 100})
    assert (True, 4) == (before["complete"], before["required_unpriced"])  # cords of the boxes, kits, screws, agents
    assert (True, 3) == (after["complete"], after["required_unpriced"])
    assert float(before["amount"]) + 4000 == float(after["amount"])


def test_documents_show_both(ordered: Any) -> None:
    """The parts that were added and have no price, the choices that are left; the CSV has a column for who asked."""
    files = render(ordered(), ("md", "html", "xlsx", "csv"))
    for text in (files["report.md"].decode(), files["report.html"].decode()):
        assert "Rail kit" in text
        assert "Support, 3 years or Support, 5 years" in text
    rows = list(csv.DictReader(io.StringIO(files["bom.csv"].decode())))
    assert "box" in {row["required_by"] for row in rows}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"name": "Screws", "requires": [{"part": "no-such-part"}]}, "Screws requires an unknown part"),
        ({"name": "Screws", "requires": [{"part": "rail-kit"}]}, "requires itself"),
    ],
    ids=["unknown", "circle"],
)
def test_wrong_requirements_are_refused(ordered: Any, part: dict[str, Any], said: str) -> None:
    """A name that no catalogue has, and parts that need each other."""
    with pytest.raises(PlanErrors) as errors:
        ordered(parts={"accessory/screws.yaml": part})
    [problem] = errors.value.problems
    assert said in problem.message
    assert "requires" == problem.rule
