"""Modules and cables of the vendor of the cage that they are plugged in, and default fabrics of the leaves' vendor."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import bomgen
from bomgen.results.result import result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).parents[2]

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def arista(fabrics: Mapping[str, Any] | None = None, server: str = "dgx-h200", **plan: Any) -> dict[str, Any]:
    """Sixty-four servers on Arista leaves."""
    compute = {"topology": "fat-tree", "switch": "7060x6-64pe", "oversubscription": 2}
    cluster = {"gpu": "h200-sxm", "server": server, "servers": 64}
    return {
        "bomgen": 1,
        "name": "arista",
        "cluster": cluster,
        "fabrics": {"compute": compute, **(fabrics or {})},
        **plan,
    }


def vendors_in_switches(bom: Mapping[str, Any], fabric: str) -> set[str]:
    """Vendors of the modules in the cages of a fabric's switches."""
    lines = [line for line in bom["lines"] if line["fabric"] == fabric and line["category"] == "transceiver"]
    return {line["vendor"] for line in lines if not line["role"].endswith("/server")}


def test_an_arista_customer_gets_no_nvidia_modules_in_arista_cages() -> None:
    """The plan names no module: each of 1024 ends on a switch is Arista's, and the modules interoperate."""
    built_plan = bomgen.build(ROOT / "plans" / "mi355x-arista.yaml")
    lines = [line for line in built_plan.lines if line["fabric"] == "compute" and line["category"] == "transceiver"]
    assert {line["vendor"] for line in lines if line["role"] != "server-leaf/server"} == {"Arista"}
    assert not [
        problem for problem in built_plan.warnings if problem.rule == "foreign-module" and "7060X6" in problem.message
    ]


@pytest.mark.parametrize(
    ("prefer", "vendors"),
    [(None, {"Arista"}), ("switch-vendor", {"Arista"}), ("compatible", {"NVIDIA"}), ("nvidia", {"NVIDIA"})],
)
def test_the_plan_sets_the_preferred_vendor(built: Built, prefer: str | None, vendors: set[str]) -> None:
    """The former choice stands with `compatible`; what was preferred without being asked for is an assumption."""
    bom = built(arista(**({"optics": {"prefer": prefer}} if prefer else {})))
    assert vendors_in_switches(bom, "compute") == vendors
    assert ("Vendor of modules and cables" in [each["name"] for each in bom["assumptions"]]) == (prefer is None)


def test_a_switch_of_a_vendor_without_parts_keeps_those_that_fit(built: Built) -> None:
    """No module of Edgecore is known: the first that fits is chosen."""
    plan = arista()
    plan["fabrics"]["compute"]["switch"] = "edgecore-ais800-64o"
    assert vendors_in_switches(built(plan), "compute") == {"NVIDIA"}


def test_the_cheapest_part_is_sought_among_those_of_the_vendor(tmp_path: Path) -> None:
    """Prices that favour NVIDIA's modules do not put them into Arista's cages, unless the plan prefers none."""
    cheap = ("mma4z00-ns", "mma1z00-ns400", "mms4x00-ns", "mms1x00-ns400", "mfp7e10-nxxx", "mfp7e30-nxxx")
    dear = ("osfp-800g-2vsr4", "osfp-800g-2xdr4")
    prices = [{"part": part, "price": price} for group, price in ((cheap, 1), (dear, 9)) for part in group]
    book = {"bomgen_prices": 1, "name": "book", "currency": "USD", "prices": prices}
    (tmp_path / "book.yaml").write_text(json.dumps(book), encoding="utf-8")
    for optics, vendor in ({}, "Arista"), ({"optics": {"prefer": "compatible"}}, "NVIDIA"):
        plan = arista(quote={"price_book": "book.yaml"}, **optics)
        report = work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), tmp_path, tmp_path))
        assert vendors_in_switches(result(report), "compute") == {vendor}


def test_default_fabrics_follow_the_vendor_of_the_compute_leaves(built: Built) -> None:
    """Storage is Ethernet on the same switches, management on Arista's switch for it."""
    bom = built(arista({"storage": "default", "in_band": "default", "out_of_band": "default"}))
    parts = {(line["fabric"], line["role"]): line["part"] for line in bom["lines"] if line["category"] == "switch"}
    assert parts["storage", "leaf"] == "7060x6-64pe"
    assert parts["out_of_band", "leaf"] == "7010tx-48"


@pytest.mark.parametrize(
    ("compute", "storage", "management"), [("sn5600", "sn5600", "sn2201"), ("qm9700", "qm9700", "sn2201")]
)
def test_default_fabrics_beside_nvidia_leaves(built: Built, compute: str, storage: str, management: str) -> None:
    """An Ethernet compute fabric brings no InfiniBand storage; beside InfiniBand nothing changes."""
    plan = arista({"storage": "default", "out_of_band": "default"})
    plan["fabrics"]["compute"]["switch"] = compute
    parts = {
        (line["fabric"], line["role"]): line["part"] for line in built(plan)["lines"] if line["category"] == "switch"
    }
    assert (parts["storage", "leaf"], parts["out_of_band", "leaf"]) == (storage, management)
