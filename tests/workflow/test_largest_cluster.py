"""The largest cluster within a power of the site or a budget, and volumes of work in a time."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import pytest

from bomgen import build, check

DGX_H100_KW, DGX_H100_USD = 10.2, 380_000
"""Maximum power by its user guide, and the price indication."""
TERMS = "quote: {price_book: indicative, currency: USD%s}\n"
PLAN = "bomgen: 1\nname: x\ncluster: {gpu: h100-sxm%s}\n"


def data_of(cluster: str, more: str = "", terms: str = "") -> dict[str, Any]:
    """The result of a plan of H100 servers."""
    return dict(build(PLAN % f", {cluster}" + TERMS % terms + more).data)


@pytest.mark.parametrize(("power", "pue"), [("100 kW", 1.3), ("1 MW", 1.0), ("2 MW", 1.54)])
def test_servers_fill_the_power_of_the_site(power: str, pue: float) -> None:
    """As many as its power over PUE has room for; 1.54 is the default."""
    watts = float(power.split()[0]) * (1000 if "kW" in power else 1_000_000)
    data = data_of(f"power: {power}", "" if pue == 1.54 else f"site: {{pue: {pue}}}\n")
    assert data["cluster"]["servers"] == floor(watts / 1000 / pue / DGX_H100_KW)
    assert data["site"]["facility_power_w"] <= watts


def test_servers_fill_the_budget_with_tax_in_another_currency() -> None:
    """20 % of tax, and a euro for 1.1 dollars."""
    terms = ", tax: 20%, exchange: {EUR: {rate: 1.1, date: 2026-11-27}}"
    data = data_of("budget: 3 M EUR", terms=terms)
    assert data["cluster"]["servers"] == floor(3_000_000 * 1.1 / 1.2 / DGX_H100_USD)
    assert float(data["totals"]["amount"]) <= 3_300_000


@pytest.mark.parametrize(("budget", "bound"), [("1 M USD", "1,000,000.00 USD"), ("9 M USD", "200 kW")])
def test_the_tighter_bound_is_named(budget: str, bound: str) -> None:
    """200 kW are 12 servers, 1 M USD are three; the next size exceeds the bound."""
    plan = PLAN % f", power: 200 kW, budget: {budget}" + TERMS % "" + "fabrics: {in_band: default}\n"
    result = build(plan)
    servers = result.data["cluster"]["servers"]
    for text in (result.explain("cluster.servers"), result.files("quote.md")["quote.md"].decode()):
        assert f"The largest cluster within {bound}" in text
    larger = build(
        plan.replace(f", power: 200 kW, budget: {budget}", f", servers: {servers + 1}") + "site: {pue: 1.54}\n"
    )
    over = float(larger.data["totals"]["amount"]), larger.data["site"]["facility_power_w"]
    assert over[0] > float(budget.split()[0]) * 1_000_000 or over[1] > 200_000


def test_gpu_hours_of_a_tender() -> None:
    """8.8 M GPU-hours in 270 days take 1,359 GPUs, at 95 % of the time 1,430; whole servers take fewer days."""
    plan = PLAN % "" + "workload: {compute: {gpu_hours: 8.8M, target_days: 270%s}}\n"
    work = build(plan % "").data
    assert work["workload"]["gpus_required"] == ceil(8_800_000 / 24 / 270) == 1359
    assert work["cluster"]["gpus"] == 1360
    assert work["workload"]["days"] == pytest.approx(8_800_000 / 24 / 1360)
    assert build(plan % ", goodput: 95%").data["workload"]["gpus_required"] == 1430


def test_operations_at_a_share_of_the_peak() -> None:
    """3.8e25 operations at 40 % of 989.4 TFLOP/s are 26.7 million GPU-hours."""
    workload = "workload: {compute: {flops: 3.8e25, target_days: 90}}\n"
    work = build(PLAN % "" + workload).data["workload"]
    assert work["gpu_hours"] == pytest.approx(3.8e25 / (0.4 * 989.4e12) / 3600, rel=1e-3)
    assert work["gpus_required"] == ceil(work["gpu_hours"] / 24 / 90)


def test_too_few_gpus_miss_the_duration() -> None:
    """With the number that is enough."""
    plan = PLAN % ", servers: 100" + "workload: {compute: {gpu_hours: 8.8M, target_days: 270}}\n"
    (missed,) = (problem for problem in check(plan) if problem.rule == "target-missed")
    assert "1,360 GPUs are enough" in missed.message
