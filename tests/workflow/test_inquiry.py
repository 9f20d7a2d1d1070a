"""The designs that answer an inquiry: what each is for, what it costs, and that all are built from the plan it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.part_records import REFERENCE_PRECISION, gpu
from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.documents.offers import offers_table
from bomgen.workflow import starters
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile
from bomgen.workflow.starters import Answer, answer_inquiry

SERVING = """bomgen: 1
name: asked
workload: {inference: {model: llama-3.1-70b, requests_per_minute: 5000, prompt_tokens: 1000, output_tokens: 500}}
cluster: {gpu: h200-sxm}
fabrics: {compute: default}
quote: {price_book: indicative}
"""
Sold = Callable[[Catalog], Iterator[tuple[str, Record]]]
COMPETING = {"b300-sxm": "dgx-b300", "h200-sxm": "dgx-h200", "b200-sxm": "dgx-b200", "mi300x": "dell-xe9680-mi300x"}


@pytest.fixture
def all_gpus() -> Sold:
    """Return what lists the GPUs that compete."""
    return starters.sold_servers


@pytest.fixture(autouse=True)
def few_gpus(all_gpus: Sold, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001, which must be taken before
    """Let a few GPUs compete, which takes seconds less."""

    def sold(catalog: Catalog) -> Iterator[tuple[str, Record]]:
        return ((gpu, catalog.find("server", server)) for gpu, server in COMPETING.items())

    monkeypatch.setattr(starters, "sold_servers", sold)


def plan_of(text: str) -> PlanFile:
    """Return a plan as read from a file."""
    return PlanFile("asked.yaml", text.encode(), Path.cwd(), Path.cwd())


def answered(text: str) -> Answer:
    """Return the designs for a plan."""
    return answer_inquiry(plan_of(text))


def test_a_service_is_recommended_with_its_margin() -> None:
    """The smallest is without it, and one that grows carries half as much again."""
    answer = answered(SERVING)
    assert [offer.kind for offer in answer.offers] == ["smallest", "recommended", "growth"]
    smallest, recommended, growth = (offer.report for offer in answer.offers)
    assert smallest.design.sizing.gpus.value < recommended.design.sizing.gpus.value
    assert recommended.design.sizing.gpus.value == work_out(plan_of(SERVING)).design.sizing.gpus.value
    assert growth.plan.inference.requests_per_minute.value == 7500
    assert answer.offers[answer.recommended].kind == "recommended"
    assert {offer.report.plan.cluster.gpu.identity.id for offer in answer.others} == COMPETING.keys() - {"h200-sxm"}


def test_gpus_that_are_no_longer_made_do_not_compete(
    all_gpus: Callable[[Catalog], Iterator[tuple[str, Record]]],
) -> None:
    """An A100 is sold from stock at most, and a GPU of next year is not sold yet."""
    competing = {gpu for gpu, _ in all_gpus(Catalog())}
    assert {"h200-sxm", "b300-sxm", "mi355x"} <= competing
    assert competing & {"a100-sxm-80", "a100-sxm-40", "v100-sxm2-32", "a10", "mi430x"} == set()
    assert all(REFERENCE_PRECISION in gpu(Catalog().find("gpu", name)).dense for name in competing)


def test_without_a_gpu_the_cheapest_is_first() -> None:
    """Its price is not above that of any other, and the changes lead to the same plan."""
    answer = answered(SERVING.replace("cluster: {gpu: h200-sxm}\n", ""))
    first, *_ = answer.offers
    amounts = [offer.report.quote.totals.amount for offer in (first, *answer.others)]
    assert amounts == sorted(amounts)
    assert len({offer.report.plan.cluster.gpu.identity.id for offer in (first, *answer.others)}) == len(COMPETING)
    settings = tuple(f"{key}={value}" for key, value in first.changes.items())
    assert work_out(plan_of(SERVING), settings).quote.totals == first.report.quote.totals


def test_a_budget_holds_for_each_design() -> None:
    """The spare server is paid from it, too; one of another vendor is offered in place of growth."""
    head, _, cluster = SERVING.partition("workload")
    answer = answered(head + cluster.partition("\n")[2].replace("sxm}", "sxm, budget: 2 M USD}"))
    assert [offer.kind for offer in answer.offers] == ["asked", "spare", "vendor"]
    assert all(offer.report.quote.totals.amount <= Decimal(2_000_000) for offer in answer.offers)
    assert answer.recommended == 0


@pytest.mark.parametrize(("size", "first"), [("gpus: 64", "b200-sxm"), ("budget: 5 M USD", "mi300x")])
def test_without_a_workload_a_flops_is_cheapest(size: str, first: str) -> None:
    """Cards with little performance do not win by their price, and a part of a budget that is left over does not."""
    head, _, cluster = SERVING.partition("workload")
    answer = answered(head + cluster.partition("\n")[2].replace("gpu: h200-sxm", size))
    reports = [offer.report for offer in (answer.offers[0], *answer.others)]
    costs = [
        report.quote.totals.amount
        / report.design.sizing.gpus.value
        / Decimal(float(report.plan.cluster.gpu.dense[REFERENCE_PRECISION].value))
        for report in reports
    ]
    assert costs == sorted(costs)
    assert reports[0].plan.cluster.gpu.identity.id == first


def test_what_cannot_be_built_says_why() -> None:
    """A GPU that is named and cannot serve the model is an error at its place in the plan."""
    with pytest.raises(PlanErrors, match="no gpu 'h2000'"):
        answered(SERVING.replace("h200-sxm", "h2000"))


def test_totals_without_a_price_are_unknown() -> None:
    """Nothing is compared by money that nobody knows."""
    table = offers_table(answered(SERVING.replace("quote: {price_book: indicative}\n", "")).offers, language("zh"))
    assert not {row.id for row in table.rows} & {"total", "difference", "workload.cost_per_million_tokens"}


def test_the_command_asks_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers come line by line, a blank one takes what is proposed; the plan that is written builds."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["init", "asked", "--ask"], input="serve\n\n5000\n\n\n\nh200-sxm\n1\n")
    assert done.exit_code == 0, done.output
    written = (tmp_path / "asked.yaml").read_text("utf-8")
    assert "requests_per_minute: 5000" in written
    assert (
        work_out(PlanFile("asked.yaml", written.encode(), tmp_path, tmp_path)).plan.cluster.gpu.identity.id
        == "h200-sxm"
    )
    assert CliRunner().invoke(main, ["init", "other", "--ask", "--gpu", "h200-sxm"]).exit_code == 2


def test_servers_are_added_to_those_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that nobody knows is asked for again; by default servers like the first ones there are added."""
    monkeypatch.chdir(tmp_path)
    told = "extend\n8 dgx-h1000\n8 dgx-h100, 2 qm9700\n4\n\n\n\n1\n"
    done = CliRunner().invoke(main, ["init", "grown", "--ask"], input=told)
    assert done.exit_code == 0, done.output
    assert "the nearest: dgx-h100" in done.stderr
    bill = work_out(PlanFile("grown.yaml", (tmp_path / "grown.yaml").read_bytes(), tmp_path, tmp_path)).bill
    for part, there, added in (("dgx-h100", 8, 4), ("qm9700", 2, 4)):
        assert sum(line.pieces for line in bill.existing if line.part == part) == there
        assert sum(line.pieces for line in bill.lines if line.part == part) == added
