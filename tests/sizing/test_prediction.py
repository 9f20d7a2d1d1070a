"""Predicted training steps: what was fitted to what, one formula for numbers, arrays and figures, own coefficients."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from training_rows import MeasuredStep, read

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.core.provenance import Cited, Figure, walk
from bomgen.core.resources import folder
from bomgen.sizing.model_work import Adapters, work_of_model, work_with_adapters
from bomgen.sizing.prediction import coefficients
from bomgen.sizing.prediction.coefficients import FACTS, FIT, Members, load
from bomgen.sizing.prediction.predict import predict_steps
from bomgen.sizing.prediction.terms import Machine, Split, Terms, Work, line_rate_terms
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

if TYPE_CHECKING:
    from bomgen.design.assembly import Design

PLAN: dict[str, Any] = {
    "bomgen": 1,
    "name": "predicted",
    "workload": {"training": {"model": "llama-3.1-70b", "tokens": "1T", "mfu": "predicted", "sequence": 8192}},
    "cluster": {"gpu": "h100-sxm", "gpus": 256, "server": "dgx-h100"},
}

ACCURACY = Path(__file__).parents[2] / "docs" / "accuracy.md"
MOST_IN_SAMPLE = 0.08
"""docs/accuracy.md: the mean over clusters of dense rows in-sample is below."""
FREE = ("MIT", "Apache-2.0", "BSD-3", "facts")
"""Beginnings of the licences under which rows may be passed on: free ones, and facts of papers."""


def predicted_plan(gpus: int | None = 256, **keys: Any) -> Design:
    """The design of the plan with other keys of its run; None leaves one out."""
    run = {key: value for key, value in (PLAN["workload"]["training"] | keys).items() if value is not None}
    size = {"gpus": gpus} if gpus else {}
    plan = PLAN | {"workload": {"training": run}, "cluster": {"gpu": "h100-sxm", "server": "dgx-h100"} | size}
    folder = Path(__file__).parent
    return work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), folder, folder)).design


@pytest.fixture(scope="module")
def measured() -> list[MeasuredStep]:
    """All rows that the terms describe."""
    return read(Catalog())[0]


def test_the_fit_is_of_the_committed_rows() -> None:
    """By the digests that the fit noted."""
    for name, key in ((coefficients.ROWS, "rows_sha256"), (FACTS, "facts_sha256")):
        assert hashlib.sha256(coefficients.file(name)).hexdigest() == load(FIT)[key], "run make fit"


def test_every_row_has_a_source_and_a_licence() -> None:
    """One that allows its facts to be passed on."""
    for number, row in coefficients.numbered_rows():
        assert row["source"], number
        assert row["url"], number
        assert row["licence"].startswith(FREE), number


def test_every_recomputation_is_described() -> None:
    """A word that is not would count as none."""
    words = {row["recompute"] for _, row in coefficients.numbered_rows() if row["layers"]}
    assert words - load(FACTS)["recomputation"].keys() == {"", "none", "selective"}


def test_the_schema_offers_the_fitted_stacks() -> None:
    """No more and no fewer, versions included."""
    schema = json.loads((folder("schemas") / "plan.schema.json").read_text("utf-8"))
    assert schema["$defs"]["training"]["properties"]["stack"]["enum"] == sorted(
        coefficients.load(coefficients.FIT)["stack"]
    )


def test_the_fit_counts_its_rows(measured: list[MeasuredStep]) -> None:
    """By generation, kind of model and stack, with the errors that the page of accuracy prints."""
    found = {
        (generation, kind): steps for generation, of in load(FIT)["measured"].items() for kind, steps in of.items()
    }
    of_kind = [((row.generation, coefficients.kind_of_model(row.moe)), row) for row in measured]
    assert {key: steps["rows"] for key, steps in found.items()} == Counter(key for key, _ in of_kind)
    assert {(*key, name): rows for key, steps in found.items() for name, rows in steps["stacks"].items()} == Counter(
        (*key, name) for key, row in of_kind for name in {row.stack, row.version}
    )
    page = ACCURACY.read_text("utf-8").partition("## By generation")[2].partition("## ")[0]
    lines = ([cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("| "))
    printed = {(cells[1], cells[2]): (cells[3], cells[5]) for cells in lines if cells[3].isdigit()}
    assert {key: printed.pop(key) for key in found} == {
        key: (str(steps["rows"]), f"{steps['error']:.1%}") for key, steps in found.items()
    }
    assert {name for name, _ in printed} == {"all"}


@pytest.mark.parametrize(
    ("generation", "moe", "stack"),
    [
        ("hopper", False, "megatron-bridge-26.06"),
        ("blackwell", False, "megatron-bridge-26.06"),
        ("blackwell-ultra", True, "megatron-bridge-26.08"),
        ("ampere", False, "internevo"),
        ("cdna3", True, "primus"),
        (None, True, "megatron-bridge-26.08"),
    ],
)
def test_the_default_stack_is_the_newest(generation: str | None, moe: bool, stack: str) -> None:
    """In its newest version with rows; an accelerator without rows has the newest of all."""
    assert coefficients.newest_stack(generation, moe) == stack


def test_rows_are_predicted_as_the_accuracy_page_says(measured: list[MeasuredStep]) -> None:
    """The coefficients that a plan is predicted with are those that the page was written with."""
    by_cluster: dict[str, list[float]] = {}
    for row in measured:
        if not row.moe:
            inverse = coefficients.inverse_efficiencies(Members(row.generation, row.precision, row.version, row.model))
            step = predict_steps(row.work, row.machine, row.split, inverse)
            by_cluster.setdefault(row.cluster, []).append(abs(step / row.step - 1))
    assert np.mean([np.mean(errors) for errors in by_cluster.values()]) < MOST_IN_SAMPLE


def test_work_of_a_model_is_that_of_its_parameters() -> None:
    """Llama 3.1 8B: 6.98B weights in its layers, 0.53B in the head, 8 030 261 248 in all (its model card)."""
    model = part_records.model(Catalog().find("model", "llama-3.1-8b"))
    sequence = Catalog().assumption("training-sequence")
    work = work_of_model(model, sequence)
    assert work is not None
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    assert work.weights.value == 32 * layer
    assert work.head.value == 4096 * 128256
    assert work.parameters.value == 8_030_261_248
    assert work.products.value == 32 * 4096 * sequence.value


def test_work_of_a_hybrid_is_that_of_its_layers() -> None:
    """Nemotron 3 Nano, by its config.json: 52 blocks, of which 23 of Mamba-2 with 64 heads of 64 x 128, 6 of attention.

    A block with experts sends six copies of the hidden state; Nemotron 3 Super sends a latent vector of 1024 instead.
    """
    nano, super_ = (
        work_of_model(part_records.model(Catalog().find("model", name)), Catalog().assumption("training-sequence"))
        for name in ("nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b")
    )
    assert nano is not None
    assert super_ is not None
    assert (nano.layers.value, nano.blocks.value) == (52, 52)
    assert nano.states.value == 23 * 64 * 64 * 128
    assert nano.scores.value == 6 * 32 * nano.sequence.value
    assert (nano.expert_input.value, super_.expert_input.value) == (2688, 1024)


SMALL = Work(
    layers=2.0,
    blocks=4.0,
    hidden=1000.0,
    sequence=100.0,
    weights=4e6,
    split_width=0.0,
    products=0.0,
    scores=0.0,
    states=0.0,
    kv_width=0.0,
    head=1e6,
    parameters=5e6,
    expert_weights=0.0,
    expert_parameters=0.0,
    expert_width=1.0,
    expert_input=0.0,
    expert_layers=0.0,
    experts=1.0,
    topk=1.0,
    trained=1.0,
    adapted=0.0,
    stored_weight=2.0,
)


def test_terms_of_a_step_by_hand() -> None:
    """A layer of 2 x 10^6 weights, 8 sequences of 100 tokens on 2 GPUs with 2 stages of one layer each."""
    work = SMALL._replace(states=1e5)
    machine = Machine(1e12, 1e12, 1e12, 1e11, 1e10, 8.0, 0.5)
    split = Split(8.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0)
    only = Terms(*(float(name == "matrix") for name in Terms._fields))
    # 2 FLOPs x 2e6 weights of a stage x 100 tokens x 3 passes x (8 + 1) slots
    assert predict_steps(work, machine, split, only) == pytest.approx(2 * 2e6 * 100 * 3 * 9 / 1e12)
    only = Terms(*(float(name == "pipeline") for name in Terms._fields))
    # activations of 100 tokens x 1000 x 2 bytes, there and back, of 8 micro-batches, inside a server
    assert predict_steps(work, machine, split, only) == pytest.approx(2 * 2 * 1000 * 100 * 8 / 1e11)
    only = Terms(*(float(name == "states") for name in Terms._fields))
    # 2 bytes x 1e5 elements of the states of both stages, once for each of 100 tokens, 3 passes and (8 + 1) slots
    assert predict_steps(work, machine, split, only) == pytest.approx(2 * 1e5 / 2 * 100 * 3 * 9 / 1e12)


def test_work_with_adapters_by_hand() -> None:
    """Rank 2 on the queries of Llama 3.1 8B: 32 matrices of 4096 x 4096, each with 2 x 8192 weights of adapters."""
    model = part_records.model(Catalog().find("model", "llama-3.1-8b"))
    work = work_of_model(model, Catalog().assumption("training-sequence"))
    assert work is not None
    rank = Figure(2, "count", Cited("rank", (), "high"))
    adapted = work_with_adapters(work, model, Adapters(rank, ("q_proj",), quantised=False))
    adapters = 32 * 2 * 8192
    assert adapted.weights.value == work.weights.value + adapters
    assert adapted.parameters.value == work.parameters.value + adapters
    assert adapted.trained.value == adapters / (8_030_261_248 + adapters)
    assert adapted.split_width.value == work.split_width.value + 32 * 2 * 8192
    assert (adapted.adapted.value, adapted.stored_weight.value) == (32, 2)
    quantised = work_with_adapters(work, model, Adapters(rank, ("q_proj",), quantised=True))
    assert quantised.stored_weight.value * 8 == pytest.approx(4 + 8 / 64 + 32 / (64 * 256))


def test_terms_of_frozen_weights_by_hand() -> None:
    """The step of the test above on ZeRO 3 over 2 replicas, with a hundredth of the weights trained, in 4 bits."""
    work = SMALL._replace(trained=0.01, adapted=8.0, stored_weight=0.5)
    machine = Machine(1e12, 1e12, 1e12, 1e11, 1e10, 8.0, 0.5)
    split = Split(8.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 3.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0)
    found = line_rate_terms(work, machine, split)
    # 4 micro-batches of 100 tokens: two passes, and a hundredth of a third
    assert found.matrix == pytest.approx(2 * 4e6 * 100 * 2.01 * 4 / 1e12)
    assert found.head == pytest.approx(2 * 1e6 * 100 * 2.01 * 4 / 1e12)
    # two gathers of half a byte, and the gradients of a hundredth in two bytes, half of each from the other GPU
    assert found.gathers_overlapped == pytest.approx(4 * 5e6 * (2 * 0.5 + 0.01 * 2) / 2 / 1e11)
    # each pass reads half a byte, writes two and reads them; gradients of a hundredth are read and written
    assert found.weights == pytest.approx(4 * 5e6 * ((0.5 + 2 + 2) * 2.01 + 8 * 0.01) / 1e12)
    assert found.update == pytest.approx(30 * 5e6 * 0.01 / 2 / 1e12)


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_fine_tuning_is_predicted(method: str) -> None:
    """With its interval; frozen weights take less time, and full fine-tuning is a step of pre-training."""
    keys = {"model": "llama-3.1-8b", "tokens": "1B", "mfu": "predicted", "sequence": 4096}
    keys |= {"batch_tokens": 524288}
    keys |= {"parallelism": {"tensor": 1}, "zero": 3, "recompute": "full"}
    steps = []
    for workload in ({"fine_tuning": {**keys, "method": method}}, {"training": keys}):
        plan = PLAN | {"workload": workload, "cluster": {"gpu": "h100-sxm", "gpus": 8, "server": "dgx-h100"}}
        folder = Path(__file__).parent
        predicted = work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), folder, folder)).design.sizing.predicted
        assert predicted is not None
        bounds = predicted.step.steps[90]
        assert bounds.low.value < predicted.step.step.value < bounds.high.value
        steps.append(predicted.step.step.value)
    tuned, trained = steps
    assert tuned == trained if method == "full" else tuned < trained


def test_arrays_give_what_single_numbers_give(measured: list[MeasuredStep]) -> None:
    """To the last bit, on every row of several clusters at once."""
    chosen = [row for row in measured if row.cluster.startswith(("mbridge", "vtrain-multi", "selene"))]
    inverse = coefficients.inverse_efficiencies(Members("hopper", "16-bit", "megatron-core", "dense"))
    work = Work(*(np.array(column) for column in zip(*(row.work for row in chosen), strict=True)))
    machine = Machine(*(np.array(column) for column in zip(*(row.machine for row in chosen), strict=True)))
    split = Split(*(np.array(column) for column in zip(*(row.split for row in chosen), strict=True)))
    together = predict_steps(work, machine, split, inverse)
    single = [predict_steps(row.work, row.machine, row.split, inverse) for row in chosen]
    assert together.tolist() == single


def test_a_plan_is_sized_by_the_prediction() -> None:
    """Utilisation and days are the predicted ones, between the ends of both intervals; the terms come to the step."""
    sized = predicted_plan().sizing
    predicted = sized.predicted
    assert predicted is not None
    assert sized.run is not None
    assert sized.days is not None
    assert sized.run.mfu.value == predicted.step.mfu.value
    assert sum(term.value for term in predicted.step.terms.values()) == pytest.approx(predicted.step.step.value)
    (slow, fast), (slower, faster) = predicted.ends[50], predicted.ends[90]
    days = [each.days.value for each in (faster, fast, predicted.point, slow, slower)]
    assert days == sorted(days)
    assert sized.days.value == days[2]
    cited = [node.origin for node in walk(predicted.step.step) if isinstance(node.origin, Cited)]
    assert any("inverse efficiency" in str(each.of) for each in cited)


def test_a_target_takes_the_gpus_of_its_own_prediction() -> None:
    """The number of GPUs is one whose own prediction meets the target."""
    sized = predicted_plan(target_days=60, gpus=None).sizing
    assert sized.predicted is not None
    assert sized.days is not None
    assert sized.days.value <= 60
    assert sized.predicted.point.gpus_required is not None
    assert sized.predicted.point.gpus_required.value <= sized.gpus.value


def test_an_assumed_utilisation_stays_and_the_prediction_stands_beside() -> None:
    """The result is that of the assumption; a given utilisation is not held against a prediction."""
    sized = predicted_plan(mfu=None).sizing
    assert sized.run is not None
    assert sized.predicted is not None
    assert float(sized.run.mfu.value) == 0.4
    assert float(sized.predicted.step.mfu.value) != 0.4
    assert predicted_plan(mfu="50%").sizing.predicted is None


def test_own_measurements_narrow_the_interval_and_move_the_point() -> None:
    """A step that took a tenth longer than predicted moves the point part of the way."""

    def half_width(design: Design) -> tuple[float, float]:
        assert design.sizing.predicted is not None
        found = design.sizing.predicted.step
        return found.step.value, log(found.steps[90].high.value / found.step.value)

    plain = half_width(predicted_plan(parallelism={"tensor": 8, "pipeline": 4}))
    own = {"gpus": 256, "tensor": 8, "pipeline": 4, "step": f"{plain[0] * 1.1} s"}
    taught = half_width(predicted_plan(parallelism={"tensor": 8, "pipeline": 4}, measured=[own]))
    assert plain[0] < taught[0] < plain[0] * 1.1
    assert taught[1] < plain[1]


def test_the_fastest_split_that_fits_is_taken() -> None:
    """With the next ones, none of which is faster."""
    fit = predicted_plan().sizing.fit
    assert fit is not None
    assert fit.fastest
    slower = [reason.parameters["slower"] for reason in fit.reasons if reason.code == "split-runner-up"]
    assert slower
    assert not any(str(each).startswith("-") for each in slower)


def test_the_fastest_split_is_taken_whatever_the_run_is_sized_by() -> None:
    """A given utilisation and an assumed one have the split of the predicted one; its step is the predicted step."""
    predicted = predicted_plan().sizing
    assert predicted.fit is not None
    assert predicted.predicted is not None
    assert predicted.fit.fastest is not None
    assert predicted.fit.fastest.seconds == predicted.predicted.step.step.value
    for mfu in (None, "50%"):
        fit = predicted_plan(mfu=mfu).sizing.fit
        assert fit is not None
        assert fit.fastest == predicted.fit.fastest


def test_without_a_prediction_the_smallest_replica_is_taken() -> None:
    """Nothing is predicted of a model that is known by its size alone, and the reasons say so."""
    fit = predicted_plan(mfu=None, model={"name": "M", "parameters": "8B"}).sizing.fit
    assert fit is not None
    assert fit.fastest is None
    assert [reason.code for reason in fit.reasons][:1] == ["split-not-predicted"]


def test_gpus_that_only_allow_awkward_splits_are_named() -> None:
    """1000 = 8 x 125 GPUs split 8192 tokens only unequally; 960 are faster, and less so with more of them."""
    sized = predicted_plan(model="llama-3.1-405b", mfu=None, gpus=1000).sizing
    assert sized.fit is not None
    assert sized.fit.fastest is None
    assert [reason.code for reason in sized.fit.reasons][:1] == ["split-of-unequal-parts"]
    assert sized.faster is not None
    faster = sized.faster()
    assert faster is not None
    assert faster.gpus == 960
    fewer = predicted_plan(model="llama-3.1-405b", mfu=None, gpus=960).sizing
    assert fewer.fit is not None
    assert fewer.fit.fastest is not None
    assert fewer.fit.fastest.seconds == pytest.approx(faster.seconds)


def test_more_recomputation_is_taken_where_less_leaves_a_slower_split() -> None:
    """Without recomputation only tensor parallelism over four servers fits, which is slower than recomputing."""
    keys = {"model": "nemotron-4-340b", "sequence": 4096, "batch_tokens": 131072}
    fit = predicted_plan(**keys, gpus=128).sizing.fit
    assert fit is not None
    assert fit.fastest is not None
    assert fit.fastest.recompute == "full"
    less = predicted_plan(**keys, gpus=128, recompute="none")
    assert less.sizing.fit is not None
    assert less.sizing.fit.split.tensor.value == 32
    assert less.sizing.predicted is not None
    assert less.sizing.predicted.step.steps
    assert fit.fastest.seconds < less.sizing.predicted.step.step.value


def test_checking_a_predicted_plan_imports_no_numpy(tmp_path: Path) -> None:
    """It would double the time to start."""
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(PLAN), encoding="utf-8")
    code = (
        "import sys; from bomgen.cli.command import main\n"
        "try: main(['check', sys.argv[1]])\n"
        "except SystemExit as end: sys.exit(end.code or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)
