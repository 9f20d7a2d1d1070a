"""Memory of serving programs in published start-up logs: weights and KV cache of a GPU."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Gpu, Identity
from bomgen.core.provenance import Figure, Given, Mark
from bomgen.plan.types import DATA, Degrees, Inference
from bomgen.sizing.serving.replicas import Replica, replica

GIBI = 2**30
CATALOG = Catalog()
PLACE = Mark("logs.csv", 1, 1)
ROWS = list(
    csv.DictReader(files("bomgen").joinpath("data/measured/serving-memory.csv").read_text("utf-8").splitlines())
)
KV = [row for row in ROWS if row["kind"] == "kv"]
WEIGHTS = [row for row in ROWS if row["kind"] == "weights"]
LARGE_CACHE = 15
"""KV cache per GPU that counts as large [GiB]; smaller ones are small differences of large numbers."""


def given(value: Any, unit: str = "count") -> Figure:
    """A value as written in a plan."""
    return Figure(value, unit, Given(PLACE))


def inference(row: dict[str, str]) -> Inference:
    """The model of a log as it was served."""
    share = given(Fraction(row["memory_share"] or "0.9"), "share")
    keys = ("batch", "output_tokens", "requests_per_minute", "tokens_per_second_per_gpu", "drafted")
    return Inference(
        mark=PLACE,
        model=part_records.model(CATALOG.find("model", row["model"])),
        precision=given(row["precision"], "word"),
        kv_precision=given("bf16", "word"),
        context=given(1, "tokens"),
        concurrency=given(1),
        engine=given(row["engine"], "word"),
        memory_share=share,
        accepted=None,
        degrees=Degrees(given(int(row["tensor"])), given(1), PLACE, DATA) if row["attention"] == DATA else None,
        **dict.fromkeys(keys),  # type: ignore[arg-type]
    )


def gpu(row: dict[str, str]) -> Gpu:
    """The GPU of a log: of the catalogue, else with the memory that the log gives."""
    if not row["memory_gib"]:
        return part_records.gpu(CATALOG.find("gpu", row["gpu"] or "h100-sxm"))
    seen = given(Fraction(row["memory_gib"]) * GIBI, "bytes")
    return Gpu(Identity(row["gpu"], row["gpu"], row["gpu"]), {}, {}, seen, None, cuda_memory=seen)


def predicted(row: dict[str, str]) -> Replica:
    """The replica that the program expects."""
    return replica(inference(row), gpu(row), given(int(row["tensor"])), given(1))


def kv_error(row: dict[str, str]) -> float:
    """Relative error of the memory for KV cache."""
    found = predicted(row)
    assert found.room is not None
    return float((found.room.value - found.weights.value) / GIBI) / float(row["gib_per_gpu"]) - 1


def weights_error(row: dict[str, str]) -> float:
    """Relative error of the weights."""
    return float(predicted(row).weights.value / GIBI) / float(row["gib_per_gpu"]) - 1


def name_of(row: dict[str, str]) -> str:
    """What a log is called."""
    words = (row["engine"], row["model"], row["precision"], row["gpu"] or "any", f"x{row['tensor']}")
    return "-".join((*words, row["memory_share"])) if row["attention"] else "-".join(words)


EXPLAINED = {
    "sglang-deepseek-v4-pro-fp8-h200-sxm-x8": (0.47, "the files have experts in 4 bits, all other weights in 8"),
    "vllm-deepseek-r1-int4-any-x16": (0.02, "the files are of AWQ, which quantises attention as well"),
    "vllm-qwen3-next-80b-a3b-bf16-h100-sxm-x4": (-0.02, "unknown; two GPUs hold what is expected"),
    "vllm-qwen3.5-122b-a10b-fp4-any-x1": (
        0.04,
        "the files have shared experts in 4 bits, too; the vision tower is counted, 0.8 GiB",
    ),
    "sglang-qwen3-14b-bf16-rtx4090-x4": (-0.03, "SGLang counts what it allocated, including its buffers"),
}
"""Errors of weights above one per cent, each with the reason."""


def test_the_memory_for_kv_cache_is_as_logged() -> None:
    """The median error is at most 4 %, and 3 % where the reserve was set; that of a log with a large cache 10 %."""
    errors = {name_of(row): abs(kv_error(row)) for row in KV}
    assert len(errors) == len(KV)
    assert median(errors.values()) <= 0.04
    assert median(errors[name_of(row)] for row in KV if row["set_on"] == "yes") <= 0.03
    large = [name_of(row) for row in KV if float(row["gib_per_gpu"]) > LARGE_CACHE]
    assert median(errors[name] for name in large) <= 0.02
    assert [] == [name for name in large if errors[name] > 0.10]


@pytest.mark.parametrize("row", WEIGHTS, ids=name_of)
def test_weights_are_as_logged(row: dict[str, str]) -> None:
    """Within one per cent, or explained."""
    error, _ = EXPLAINED.get(name_of(row), (0, ""))
    assert error == pytest.approx(weights_error(row), abs=0.01)


def test_the_page_has_the_errors() -> None:
    """`docs/serving.md` says how many logs there are, and how far the cache is off."""
    page = " ".join(Path(__file__).parents[2].joinpath("docs", "serving.md").read_text("utf-8").split())
    errors = [abs(kv_error(row)) for row in KV]
    large = [abs(kv_error(row)) for row in KV if float(row["gib_per_gpu"]) > LARGE_CACHE]
    said = f"The median error of the cache is {median(errors):.1%}; above {LARGE_CACHE} GiB"
    said += f" it is {median(large):.1%} and at most {max(large):.1%}"
    assert f"KV cache per GPU in {len(KV)} logs, weights in {len(WEIGHTS)}" in page
    assert said.replace("%", " %") in page


def test_every_log_names_its_source() -> None:
    """No measured value stands without the document it was read in."""
    assert [] == [row for row in ROWS if not row["source"]]
