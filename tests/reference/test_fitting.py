"""Training runs that ran, and runs that ran out of memory: what the report says of whether each fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.results.result import Report

CASES = yaml.safe_load(Path(__file__).with_name("fitting.yaml").read_text(encoding="utf-8"))
KINDS = ("training", "fine_tuning")
LEAST_RAN, LEAST_OUT_OF_MEMORY = 40, 15

Worked = Callable[[dict[str, Any]], Report]


def params() -> list[Any]:
    """Every case; those that bomgen judges otherwise must go on failing, so that their explanation is removed."""
    return [
        pytest.param(
            case,
            id=case["id"],
            marks=[pytest.mark.xfail(reason=case["explained"], strict=True)] if "explained" in case else [],
        )
        for case in CASES
    ]


def plan(case: dict[str, Any]) -> dict[str, Any]:
    """The plan of a case on its GPUs; the tokens of the run do not change its memory."""
    (kind,) = (kind for kind in KINDS if kind in case)
    cluster = {key: case[key] for key in ("gpu", "gpus", "server") if key in case}
    return {"bomgen": 1, "name": "fitting", "workload": {kind: {"tokens": "1B", **case[kind]}}, "cluster": cluster}


@pytest.mark.parametrize("case", params())
def test_what_ran_fits_and_what_ran_out_of_memory_does_not(case: dict[str, Any], worked: Worked) -> None:
    """The split as published fits the GPU if and only if the run is known to have run."""
    fit = worked(plan(case)).design.sizing.fit
    assert fit
    assert fit.fits is case["ran"]


def test_enough_cases_have_a_source() -> None:
    """At least 40 runs that ran and 15 that did not, each with its document and where it is."""
    ran = sum(case["ran"] for case in CASES)
    assert ran >= LEAST_RAN
    assert len(CASES) - ran >= LEAST_OUT_OF_MEMORY
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert all(case["source"] and case["url"].startswith("https://") for case in CASES)
