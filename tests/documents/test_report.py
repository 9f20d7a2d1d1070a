"""The report of the engineer: estimates are marked, derivations are in words, the installation is described."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from bomgen.core.document import Document
from bomgen.core.language import language
from bomgen.documents.chapters.contents import document
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).parents[2]


@cache
def _document(name: str, *settings: str, code: str = "en") -> Document:
    path = ROOT / "plans" / f"{name}.yaml"
    report = work_out(PlanFile(f"plans/{name}.yaml", path.read_bytes(), path.parent, ROOT), settings)
    return document(report, language(code))


def test_key_figures_mark_estimates() -> None:
    """Predicted numbers and an estimated power have their range where they are printed first; counts have none."""
    served = dict(_document("llama2-7b-chat").headline)
    assert served["GPUs required"].estimate == (4, 8)
    assert served["GPUs"].estimate is None
    assert dict(_document("superpod-h100-floor").headline)["Maximum power"].estimate


@pytest.mark.parametrize("code", ["en", "zh"])
def test_derivations_have_no_names_of_the_code(code: str) -> None:
    """Steps are titles of numbers, or the words and values of inputs; the code's name is kept beside those."""
    words = language(code)
    [section] = [each for each in _document("superpod-h100-floor", code=code).sections if each.id == "derivations"]
    steps = [step for derivation in section.derivations for step in derivation.steps]
    named = [step for step in steps if step.parameter]
    assert len(named) > 100
    assert all(step.name and step.parameter in words.inputs for step in named)
    assert not [step.name for step in steps if step.name in words.inputs and "_" in step.name]


def test_the_installation_of_a_floor() -> None:
    """Its cables, their racks, where the subnet managers run, and the airflow of each switch."""
    section = _document("superpod-h100-floor").section("installation")
    assert (
        section.notes[0].text
        == "`bomgen wiring plans/superpod-h100-floor.yaml` lists the 3,107 cables with both ports of each."
    )
    assert "the subnet manager runs on a managed switch (QM9700)" in section.notes[1].text
    switches, failures, racks = section.tables
    assert {str(row.cells[-1].value)[:3] for row in switches.rows} == {"P2C"}
    assert len(racks.rows) == 60
    assert racks.caption
    assert racks.caption.startswith("The 60 pairs of racks with the most cables; 90 more")
    rows = {str(row.cells[0].value): row.cells[1].value for row in failures.rows}
    assert rows["Compute network: endpoints that lose their link with one leaf, at most"] == 32
    assert not [table for table in _document("meta-24k").section("installation").tables if table.id == "rack-pairs"]


def test_no_installation_without_switches() -> None:
    """A plan of servers alone has no such chapter."""
    assert "installation" not in {section.id for section in _document("llama2-7b-chat").sections}


@pytest.mark.parametrize(
    ("model", "gpu", "said", "stack"),
    [
        ("llama-3.1-70b", "h100-sxm", "{} measured steps of dense models on Hopper ({} %", "{} of them with megatron"),
        ("mixtral-8x7b", "b300-sxm", "{} measured steps of mixtures of experts on Blackwell Ultra ({} %", "{} of them"),
        ("mixtral-8x7b", "a100-sxm-80", "No step of mixtures of experts was measured on Ampere: the 90 %", ""),
        ("llama-3.1-70b", "gaudi3", "No step of dense models was measured on Gaudi 3: the 90 %", ""),
    ],
)
def test_what_stands_behind_an_interval(model: str, gpu: str, said: str, stack: str) -> None:
    """The measured steps of the generation and the kind of model with their error, and those of the stack; or none."""
    run = {"model": model, "tokens": "1T", "mfu": "predicted"}
    plan = {"bomgen": 1, "name": "run", "workload": {"training": run}, "cluster": {"gpu": gpu, "gpus": 256}}
    here = Path(__file__).parent
    report = work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), here, here))
    predicted = report.design.sizing.predicted
    assert predicted
    steps, of_stack, error = predicted.step.evidence
    tables = document(report, language("en")).section("sizing").tables
    caption = next(table.caption for table in tables if table.id == "prediction") or ""
    percent = f"{float(error.value) * 100:.3g}" if error else ""
    assert said.format(steps.value, percent) in caption
    assert stack.format(of_stack.value) in caption
    assert bool(steps.value) == bool(stack)


def test_other_rates_of_slow_links_come_to_an_end(tmp_path: Path) -> None:
    """Links between switches at 1G have faster alternatives, and none of half of that rate."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "bomgen: 1\nname: slow\ncluster: {gpu: h100-sxm, servers: 60}\n"
        "fabrics: {out_of_band: {topology: mesh, mesh: {at_most: 4}, switch: ruijie-s6000c-48gt4xs, "
        "oversubscription: 9, links: {leaf-leaf: {rate: 1G}}}}\nquote: {date: 2026-11-20, currency: USD}\n"
    )
    report = work_out(PlanFile("plan.yaml", plan.read_bytes(), tmp_path, tmp_path))
    assert report.design.fabrics[0].fabric.links[-1].rate_gbps.value == 1
    assert document(report, language("en")).sections
