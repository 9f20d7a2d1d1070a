"""Runs that are known to have been trained: the defaults refuse none of them, and their published splits fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.results.result import Report

Worked = Callable[[dict[str, Any]], Report]
CASES = yaml.safe_load(Path(__file__).with_name("trained.yaml").read_text(encoding="utf-8"))
SPLITS = [case for case in CASES if "split" in case]


def plan(case: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """The plan of a case, with more keys of its run."""
    ((kind, given),) = case["workload"].items()
    return {"bomgen": 1, "name": "trained", "workload": {kind: {**given, **keys}}, "cluster": case["cluster"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_people_train_is_built(case: dict[str, Any], worked: Worked) -> None:
    """It fits as the program splits it, and recomputes no more than is known to be enough."""
    report = worked(plan(case))
    fit = report.design.sizing.fit
    assert fit
    assert fit.fits
    if fit.recompute:
        assert fit.recompute.value == case.get("recompute", fit.recompute.value)


@pytest.mark.parametrize("case", SPLITS, ids=lambda case: case["id"])
def test_its_published_split_fits(case: dict[str, Any], worked: Worked) -> None:
    """The degrees that the document gives fit, too, with sequence parallelism beside tensor parallelism."""
    fit = worked(plan(case, parallelism={**case["split"], "sequence_parallel": True})).design.sizing.fit
    assert fit
    assert fit.fits
    assert fit.warning is None or "unequal stages" in fit.warning


def test_a_sequence_beyond_the_context_is_a_warning(worked: Worked) -> None:
    """Context extension is done: a longer sequence builds, and says so at its place."""
    (case,) = (case for case in CASES if case["id"] == "llama-3.1-8b-1m-v5p")
    (problem,) = (problem for problem in worked(plan(case)).problems if problem.rule == "context")
    assert (problem.severity, problem.path) == ("warning", "workload.training.sequence")


@pytest.mark.parametrize(("model", "expected"), [("llama-3.1-8b", 4096), ("gpt-3-175b", 2048)])
def test_without_a_sequence_the_usual_one_is_taken(worked: Worked, model: str, expected: int) -> None:
    """It is what pre-training takes, at most the model's context; the report lists it where it is an assumption."""
    case = {"workload": {"training": {"model": model, "tokens": "1T"}}, "cluster": {"gpu": "h100-sxm", "gpus": 1024}}
    training = worked(plan(case)).plan.training
    assert training
    assert training.sequence
    assert training.sequence.value == expected


@pytest.mark.parametrize(("gpu", "expected"), [("v100-sxm2-32", "no"), ("a100-sxm-80", "yes"), ("tpu-v5p", "yes")])
def test_flash_attention_is_on_where_there_is_one(worked: Worked, gpu: str, expected: str) -> None:
    """Volta and older GPUs have no such kernels; a plan may say otherwise."""
    run = {"model": "llama-2-7b", "tokens": "1T", "precision": "fp16" if gpu.startswith("v100") else "bf16"}
    case = {"workload": {"training": run}, "cluster": {"gpu": gpu, "gpus": 64}}
    found = [worked(plan(case, **keys)).plan.training for keys in ({}, {"flash_attention": False})]
    assert [str(training.flash_attention.value) for training in found if training] == [expected, "no"]
