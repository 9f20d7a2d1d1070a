"""Memory of serving programs in published start-up logs: weights and KV cache of a GPU."""

from __future__ import annotations

import csv
from fractions import Fraction
from importlib.resources import files
from statistics import median
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Gpu, Identity
from bomgen.core.provenance import Figure, Given, Mark
from bomgen.plan.types import Inference, PublishedRange
from bomgen.sizing.serving.replicas import Replica, replica

GIBI = 2**30
CATALOG = Catalog()
PLACE = Mark("logs.csv", 1, 1)
ROWS = list(csv.DictReader(files("bomgen").joinpath("data/measured/serving-memory.csv").read_text("utf-8").splitlines()))
KV = [row for row in ROWS if row["kind"] == "kv"]
WEIGHTS = [row for row in ROWS if row["kind"] == "weights"]
LARGE_CACHE = 15
"""KV cache per GPU above which a log decides how many GPUs are bought [GiB]."""


def given(value: Any, unit: str = "count") -> Figure:
    """A value as written in a plan."""
    return Figure(value, unit, Given(PLACE))


def inference(row: dict[str, str]) -> Inference:
    """The model of a log as it was served."""
    share = given(Fraction(row["memory_share"] or "0.9"), "share")
    half = given(Fraction(1, 2), "share")
    keys = ("batch", "output_tokens", "requests_per_minute", "tokens_per_second_per_gpu", "degrees", "drafted")
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
        disaggregated=False,
        compute_efficiency=PublishedRange(half, half, half),
        bandwidth_efficiency=PublishedRange(half, half, half),
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


if __name__ == "__main__":
    for row in KV:
        f=predicted(row)
        print(f'{row["engine"]:7} {row["model"]:20} {row["precision"]:5} {row["gpu"]:9} {row["tensor"]:2} {float(row["gib_per_gpu"]):7.2f} {float((f.room.value-f.weights.value)/GIBI):7.2f} {kv_error(row):+.3f} w{float(f.weights.value)/GIBI:.2f}', [round(float(p.value)/GIBI,2) for p in f.reserve])
    for row in WEIGHTS:
        print(f'{row["engine"]:7} {row["model"]:20} {row["precision"]:5} {row["gpu"]:9} {row["tensor"]:2} {float(row["gib_per_gpu"]):7.2f} {weights_error(row):+.3f}')
    print(median(abs(kv_error(r)) for r in KV), median(abs(kv_error(r)) for r in KV if float(r["gib_per_gpu"])>15))
