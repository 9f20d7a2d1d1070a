"""Plans with several clusters: each is what it would be alone, and there is one bill."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render, write_wiring
from bomgen.results.result import OPERATION, Report, numbers_of, result
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import PlanFile

PLANS = Path(__file__).parents[2] / "plans"
ALONE = ("meta-24k", "superpod-h100-4su", "superpod-a100-140", "llama2-7b-chat", "llama65b")
OF_CLUSTER = ("workload", "fabrics", "storage", "site")
TWO = """\
bomgen: 1
name: two
clusters:
  - name: one
    gpu: h100-sxm
    servers: 32
    fabrics: {compute: {topology: rail-optimized, switch: qm9700}}
  - name: other
    gpu: h100-sxm
    servers: 31
    fabrics: {compute: {topology: rail-optimized, switch: qm9700}}
"""


def worked_out(data: Any) -> Report:
    """The result of a plan that is given as data, at the place of the plans."""
    return work_out(PlanFile("plan.yaml", json.dumps(data, default=str).encode(), PLANS, PLANS.parent))


def plan(name: str) -> dict[str, Any]:
    """The data of a plan of the repository."""
    data: dict[str, Any] = yaml.safe_load((PLANS / f"{name}.yaml").read_text("utf-8"))
    return data


def as_cluster(name: str) -> dict[str, Any]:
    """A plan as an entry of `clusters`."""
    data = plan(name)
    return {"name": name} | data["cluster"] | {key: data[key] for key in OF_CLUSTER if key in data}


def values(report: Report) -> dict[tuple[str, ...], Any]:
    """Every number of a result but those of running it."""
    return {path: figure.value for path, figure in numbers_of(report).items() if path[0] != OPERATION}


@pytest.mark.parametrize("name", ALONE)
def test_a_single_entry_is_the_plan_with_one_cluster(name: str) -> None:
    """The published designs as the only entry of `clusters`: every number, line and amount as with `cluster`.

    They stand below its name, and what all clusters have together is what it has.
    """
    data = plan(name)
    rest = {key: value for key, value in data.items() if key not in (*OF_CLUSTER, "cluster")}
    alone = worked_out(data)
    for alternative in rest.get("quote", {}).get("alternatives", ()):
        asked = alternative.get("set", {})
        alternative["set"] = {f"clusters.0.{key}": value for key, value in asked.items()}
    listed = worked_out(rest | {"clusters": [as_cluster(name)]})
    found, wanted = values(listed), values(alone)
    assert {path[2:]: value for path, value in found.items() if path[:2] == ("clusters", name)} == wanted
    assert {path: value for path, value in found.items() if path[0] != "clusters"}.items() <= wanted.items()
    assert [(line.line.part, line.line.pieces, line.amount) for line in listed.quote.lines] == [
        (line.line.part, line.line.pieces, line.amount) for line in alone.quote.lines
    ]
    assert [each.quote.totals for each in listed.alternatives] == [each.quote.totals for each in alone.alternatives]


def test_published_designs_side_by_side_are_each_what_they_are_alone() -> None:
    """Three published designs in one plan have the numbers and the pieces that each has in a plan of its own."""
    names = ("superpod-h100-4su", "superpod-a100-140", "meta-24k")
    together = worked_out({"bomgen": 1, "name": "x", "clusters": [as_cluster(name) for name in names]})
    pieces, gpus, found = Counter[str | None](), 0, values(together)
    for name in names:
        alone = worked_out({key: value for key, value in plan(name).items() if key not in ("quote", "spares")})
        below = ("clusters", name)
        assert {path[2:]: value for path, value in found.items() if path[:2] == below} == values(alone)
        gpus += alone.design.sizing.gpus.value
        pieces.update({line.line.description: 0 for line in alone.quote.lines})
        for line in alone.quote.lines:
            pieces[line.line.description] += line.line.pieces
    assert found["cluster", "gpus"] == gpus
    billed = Counter[str | None]()
    for line in together.quote.lines:
        billed[line.line.description] += line.line.pieces
    assert billed == pieces


def test_the_bill_is_counted_over_all_clusters(tmp_path: Path) -> None:
    """Spares are rounded up once a part, stock is taken once, price breaks and charges see all pieces."""
    book = {"bomgen_prices": 1, "currency": "USD"}
    prices = [
        {"part": "qm9700", "price": 100},
        {"part": "qm9700", "price": 90, "from_quantity": 20},
        {"part": "dgx-h100", "price": 1000},
    ]
    (tmp_path / "p.yaml").write_text(json.dumps(book | {"prices": prices}), "utf-8")
    data = yaml.safe_load(TWO) | {
        "spares": {"switch": "2%"},
        "stock": {"dgx-h100": 40},
        "quote": {"price_book": "p.yaml", "charges": [{"kind": "support", "per": "server", "price": 7}]},
    }
    report = work_out(PlanFile("plan.yaml", json.dumps(data).encode(), tmp_path, tmp_path))
    # One unit of NVIDIA's H100 SuperPOD has 8 leaves and 4 spines (RA-11333-001, table 3), 31 servers as 32.
    switches = [line for line in report.quote.lines if line.line.category == "switch"]
    assert [line.line.quantity.value for line in switches] == [8, 4, 8, 4]
    assert sum(line.line.spare.value for line in switches if line.line.spare) == 1
    assert {line.unit.amount for line in switches} == {Decimal(90)}
    owned = [line.line.pieces for line in report.quote.lines if line.line.in_stock]
    bought = [
        line.line.pieces for line in report.quote.lines if line.line.part == "dgx-h100" and not line.line.in_stock
    ]
    assert (owned, bought) == ([32, 8], [23])
    support = next(line for line in report.quote.lines if line.line.charge)
    assert (support.line.pieces, support.amount) == (63, Decimal("441.00"))
    assert [line.line.cluster for line in report.quote.lines if line.line.charge] == [""]


def test_running_costs_are_those_of_all_clusters() -> None:
    """Energy, racks and GPU-hours are the sums of what each cluster has alone."""
    operated = {
        "site": {"pue": 1.3, "electricity": 0.08},
        "operation": {"years": 4, "rack_cost": 1500},
    }
    data = yaml.safe_load(TWO)
    together = worked_out(data | operated)
    alone = [worked_out(data | operated | {"clusters": [entry]}) for entry in data["clusters"]]
    for name in ("energy_kwh", "energy_cost", "cooling_cost", "space_cost", "gpu_hours"):
        whole = together.running.figures[name].value
        assert whole == sum(each.running.figures[name].value for each in alone) > 0


def test_wiring_explaining_and_checking_name_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cables of one cluster at a time; every number below its name; a place in each entry."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(TWO, "utf-8")
    run = CliRunner().invoke
    refused = run(main, ["wiring", "x.yaml"])
    assert (refused.exit_code, "--cluster: one, other" in refused.stderr) == (2, True)
    assert run(main, ["wiring", "x.yaml", "--cluster", "third"]).exit_code == 2
    listed = run(main, ["wiring", "x.yaml", "--cluster", "other"])
    # A link for each of 31 x 8 NICs, 8 leaves with 32 links up each.
    assert len(listed.stdout.splitlines()) == 1 + 31 * 8 + 8 * 32
    explained = run(main, ["explain", "x.yaml", "clusters.other.cluster.gpus"])
    assert "x.yaml:10:14" in explained.stdout
    summary = run(main, ["build", "x.yaml", "-o", "out", "-f", "json,svg"])
    assert summary.exit_code == 0, summary.stderr
    assert "  one:" in summary.stdout
    assert "fabric-other.compute.svg" in {path.name for path in Path("out/two").iterdir()}


def test_what_one_cluster_does_not_know_is_no_sum() -> None:
    """A facility of one cluster is none of the whole; what only that one has makes running costs lower bounds."""
    data = yaml.safe_load(TWO) | {"operation": {"years": 4, "rack_cost": 1500}}
    data["clusters"][0]["site"] = {"pue": 1.3, "electricity": 0.08}
    report = worked_out(data)
    found = values(report)
    assert found["clusters", "one", "site", "facility_power_w"] > 0
    assert found["site", "power_w"] == sum(found["clusters", name, "site", "power_w"] for name in ("one", "other"))
    assert not {("site", "facility_power_w"), ("site", "racks"), ("site", "energy_kwh_per_year")} & found.keys()
    assert {"energy_kwh", "energy_cost", "space_cost", "total_cost"} <= report.running.lower_bounds
    assert "rack_cost" not in " ".join(problem.message for problem in report.problems)


def test_a_charge_by_what_a_cluster_does_not_know_is_refused() -> None:
    """GPUs without a known server beside servers: a charge by the server would leave them out."""
    data = yaml.safe_load(TWO)
    data["clusters"][1] = {"name": "other", "gpu": {"bf16_tflops": 312, "memory": "80 GB"}, "gpus": 100}
    data["quote"] = {"charges": [{"kind": "support", "per": "server", "price": 7}]}
    with pytest.raises(PlanErrors, match="the servers of cluster other are unknown; set `per: order`"):
        worked_out(data)


def test_drawings_of_clusters_have_names_of_their_own() -> None:
    """Cluster `a` with fabric `b-c` and cluster `a-b` with fabric `c`: no file and no id stands twice."""
    fabric = {"topology": "rail-optimized", "switch": "qm9700"}
    entries = (("a", "b-c"), ("a-b", "c"))
    data = {
        "bomgen": 1,
        "name": "x",
        "site": {},
        "clusters": [
            {"name": name, "gpu": "h100-sxm", "servers": 4, "fabrics": {called: {**fabric, "role": "compute"}}}
            for name, called in entries
        ],
    }
    report = worked_out(data)
    files = render(report, ["svg", "html", "md"])
    assert {"fabric-a.b-c.svg", "fabric-a-b.c.svg"} <= files.keys()
    ids = re.findall(r' id="([^"]+)"', files["report.html"].decode())
    assert len(ids) == len(set(ids)) > 100


def test_machines_of_clusters_have_names_and_places_of_their_own(tmp_path: Path) -> None:
    """No device, no label and no place in a rack stands in the wiring of two clusters."""
    rows = []
    for each in worked_out(yaml.safe_load(TWO) | {"site": {}}).clusters:
        write_wiring(list_cables(each), "csv", tmp_path / "w.csv", lambda _: None)
        rows.append(list(csv.DictReader((tmp_path / "w.csv").read_text("utf-8").splitlines())))
    for key in ("a_device", "b_device", "label"):
        assert not {row[key] for row in rows[0]} & {row[key] for row in rows[1]}
    places = [{(row["a_site"], row["a_row"], row["a_rack"], row["a_unit"]) for row in each} for each in rows]
    assert not places[0] & places[1]


def test_every_document_names_both() -> None:
    """Chapters of each cluster by its name, the bill of both, and totals in bom.json at their usual places."""
    report = worked_out(yaml.safe_load(TWO) | {"site": {"pue": 1.3}})
    files = render(report, ["md", "html"])
    for text in (files["report.md"].decode(), files["report.html"].decode()):
        assert [
            name
            for name in ("one: Network", "other: Network", "one: Compute network", "other: Racks")
            if name not in text
        ] == []
    data = result(report)
    assert data["cluster"]["gpus"] == 63 * 8
    assert {line["cluster"] for line in data["lines"]} == {"one", "other"}
    assert data["site"]["racks"] == sum(data["clusters"][name]["site"]["racks"] for name in ("one", "other"))
    assert all(check["status"] != "fail" for check in data["checks"])


def test_each_cluster_has_a_wiring_of_its_own() -> None:
    """The cables of all clusters are no one wiring."""
    report = work_out(PlanFile("plan.yaml", TWO.encode(), PLANS, PLANS.parent))
    with pytest.raises(ValueError, match="the plan has several clusters; request the wiring of one of them"):
        list_cables(report)
