"""Money of a predicted run at the ends of its interval, by hand."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from bomgen.core.language import language
from bomgen.documents.charts import predicted_range
from bomgen.documents.tables import Writer
from bomgen.results.result import Report
from bomgen.results.what_if import money_of_run
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

BOOK = """
bomgen_prices: 1
name: book
currency: USD
prices: [{part: dgx-h100, price: 300000}]
"""
PLAN: dict[str, Any] = {
    "bomgen": 1,
    "name": "predicted",
    "workload": {
        "training": {"model": "llama-3.1-70b", "tokens": "2T", "mfu": "predicted", "sequence": 8192, "target_days": 60}
    },
    "cluster": {"gpu": "h100-sxm", "server": "dgx-h100"},
    "site": {"pue": 1.25, "electricity": 0.1},
    "operation": {"years": 4, "load": "100%", "use": "100%"},
    "quote": {"price_book": "book.yaml"},
}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """The report of a run whose servers alone have a price."""
    (tmp_path / "book.yaml").write_text(BOOK, encoding="utf-8")
    return work_out(PlanFile("plan.yaml", json.dumps(PLAN).encode(), tmp_path, tmp_path))


def test_money_follows_from_the_days_and_gpus_of_an_end(report: Report) -> None:
    """Whole servers for the target at their price; energy of 10.2 kW a server, with a PUE of 1.25; GPU-hours."""
    predicted = report.design.sizing.predicted
    assert predicted is not None
    servers = int(report.design.sizing.gpus.value) // 8
    for outlook in (*predicted.ends[90], predicted.point):
        found = money_of_run(report, outlook)
        assert outlook.gpus_required is not None
        assert found.servers is not None
        assert found.servers.value == ceil(outlook.gpus_required.value / 8)
        assert found.purchase == 300_000 * found.servers.value
        days = float(outlook.days.value)
        assert found.energy_kwh is not None
        assert found.energy_kwh.value == pytest.approx(servers * 10.2 * 1.25 * 24 * days, rel=0.05)
        assert found.energy_cost is not None
        assert float(found.energy_cost) == pytest.approx(float(found.energy_kwh.value) * 0.1)
        hourly = report.running.figures["cost_per_gpu_hour"].value
        assert found.cost is not None
        assert float(found.cost) == pytest.approx(float(hourly) * servers * 8 * 24 * days)


def test_the_slow_end_costs_more() -> None:
    """Of the purchase for the target, of energy and of the run; the charts show days and money."""
    folder = Path(__file__).parent
    plan = PLAN | {"quote": {}}
    bare = work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), folder, folder))
    predicted = bare.design.sizing.predicted
    assert predicted is not None
    slow, fast = (money_of_run(bare, each) for each in predicted.ends[90])
    assert slow.purchase is None
    assert slow.energy_cost is not None
    assert fast.energy_cost is not None
    assert slow.energy_cost > fast.energy_cost


def test_charts_show_days_and_money(report: Report) -> None:
    """One each, with bars of 50 and 90 % around the point."""
    days, money = predicted_range(Writer(report, language("en")))
    for chart in (days, money):
        narrow, wide = chart.shape.bars  # type: ignore[union-attr]
        assert wide.start < narrow.start < narrow.mark < narrow.start + narrow.parts[0] < wide.start + wide.parts[0]  # type: ignore[operator]
