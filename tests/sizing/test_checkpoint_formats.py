"""Weights of quantised checkpoints whose attention, shared experts or dense layers have formats of their own."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Model
from bomgen.plan.types import Inference
from bomgen.sizing.serving.gpu_memory import GENERAL_FORMAT, bytes_of_rest, weights_of_model

SIXTEEN, EIGHT, FOUR = Fraction(2), Fraction(1), Fraction(9, 16)
CASES = {
    ("glm-5.1", "nvfp4"): SIXTEEN,
    ("minimax-m3", "nvfp4"): EIGHT,
    ("qwen3-235b-a22b", "nvfp4"): FOUR,
    ("qwen3-235b-a22b", "fp4"): FOUR,
    ("qwen3-235b-a22b", "int4"): SIXTEEN,
    ("qwen3-235b-a22b", "fp8"): EIGHT,
    ("qwen3-coder-480b-a35b", "nvfp4"): SIXTEEN,
    ("inkling", "nvfp4"): SIXTEEN,
}


def model(id: str) -> Model:
    """A model of the catalogue."""
    return part_records.model(Catalog().find("model", id))


TOLERANCE = 0.01
NO_SHAPE = "the shape, and so the matrices in 16 bits, is not published"
UNKNOWN_PARTS = "which parts stay in 16 bits is not published"
EXCUSED = {
    ("inkling", "bf16"): "rounded to two digits",
    ("inkling", "fp4"): NO_SHAPE,
    **{("qwen3.8-2.4t-a95b", format): NO_SHAPE for format in ("bf16", "fp8", "mxfp4", "fp4")},
    ("qwen3.8-27b", "fp4"): UNKNOWN_PARTS,
    ("mistral-large-3", "nvfp4"): UNKNOWN_PARTS,
    ("nemotron-3-nano-30b-a3b", "nvfp4"): "of 23 layers of Mamba-2 six stay in 16 bits",
    ("nemotron-3-super-120b-a12b", "nvfp4"): UNKNOWN_PARTS,
    ("nemotron-3-ultra-550b-a55b", "nvfp4"): UNKNOWN_PARTS,
    ("llama-3.1-405b", "fp8"): "as loaded by Meta's engine, with attention and two layers in 16 bits",
}


def published() -> Iterator[tuple[str, str]]:
    """Models with the formats whose published files have a known size."""
    for id in Catalog().ids("model"):
        yield from ((id, format) for format in model(id).weight_files)


def weights_as_stored(stored: Model, format: str) -> float:
    """Weights without multi-token prediction, in the format of the files."""
    own = stored.checkpoint and str(stored.checkpoint.value)
    precision = own if own and GENERAL_FORMAT.get(own) == format else format
    served = SimpleNamespace(model=stored, precision=SimpleNamespace(value=precision), drafted=None, degrees=None)
    return float(weights_of_model(cast(Inference, served)).value)


@pytest.mark.parametrize("case", [case for case in published() if case not in EXCUSED], ids="-".join)
def test_calculated_weights_are_those_of_the_published_files(case: tuple[str, str]) -> None:
    """Within one per cent, from the shape and the formats of its parts."""
    id, format = case
    stored = model(id)
    calculated = weights_as_stored(stored._replace(weight_files={}), format)
    assert calculated == pytest.approx(weights_as_stored(stored, format), rel=TOLERANCE)


@pytest.mark.parametrize("case", CASES)
def test_one_format_for_all(case: tuple[str, str]) -> None:
    """That of the record, for the format or one as wide; without one the usual."""
    id, precision = case
    assert bytes_of_rest(model(id), precision).value == CASES[case]


def test_a_mean_of_several() -> None:
    """GLM-5 keeps attention in 16 bits and has shared experts and dense layers in 4."""
    shape = {key: figure.value for key, figure in model("glm-5").shape.items()}
    shared = 3 * shape["hidden"] * shape["ffn_expert"] * (shape["layers"] - shape["dense_layers"])
    four = shared + 3 * shape["hidden"] * shape["ffn_dense"] * shape["dense_layers"]
    mean = bytes_of_rest(model("glm-5"), "nvfp4").value
    rest = four * (SIXTEEN - FOUR) / (SIXTEEN - mean)  # all weights of which `four` pull the mean down
    queries = shape["hidden"] * shape["q_lora_rank"] + shape["q_lora_rank"] * shape["heads"] * shape["head_dim"]
    latent = shape["hidden"] * (shape["kv_lora_rank"] + shape["rope_head_dim"])
    expanded = shape["heads"] * (shape["head_dim"] - shape["rope_head_dim"] + shape["v_head_dim"])
    output = shape["heads"] * shape["v_head_dim"] * shape["hidden"]
    index = shape["q_lora_rank"] * shape["index_heads"] * shape["index_head_dim"]
    index += shape["hidden"] * (shape["index_head_dim"] + shape["index_heads"])
    assert rest - four == shape["layers"] * (queries + latent + shape["kv_lora_rank"] * expanded + output + index)


def test_the_output_projection_apart() -> None:
    """DeepSeek's is in 4 bits beside attention in 16: the mean lies between."""
    assert FOUR < bytes_of_rest(model("deepseek-v3.2"), "nvfp4").value < SIXTEEN


def test_a_vision_tower_completes_the_published_total() -> None:
    """Of Gemma 3, whose publisher counts language model, SigLIP and projector; of Qwen3-VL as its files hold them."""
    for id in ("gemma-3-4b", "gemma-3-12b", "gemma-3-27b"):
        published = Catalog().find("model", id).value("parameters_published")
        assert total(id) == published
    assert [round(total(id) / 10**6) for id in ("qwen3-vl-8b", "qwen3-vl-2b")] == [8767, 2128]


def total(id: str) -> int:
    """Parameters of the language model and the vision tower."""
    found = model(id)
    assert found.vision_parameters is not None
    return int(found.parameters.value + found.vision_parameters.value)


@pytest.mark.parametrize("tensor", [1, 8])
def test_a_vision_tower_is_in_16_bits_in_memory(tensor: int, built: Any) -> None:
    """Beside weights in 8, split over the GPUs of a replica."""
    shape = {key: figure.value for key, figure in model("qwen3-32b").shape.items()} | {"name": "a", "type": "dense"}
    serving = {"precision": "fp8", "context": 4096, "parallelism": {"tensor": tensor}}
    plans = ({"model": shape | more, **serving} for more in ({}, {"vision_parameters": 8 * 10**8}))
    without, seeing = (
        built({"bomgen": 1, "name": "a", "workload": {"inference": plan}, "cluster": {"gpu": "h200-sxm", "gpus": 8}})
        for plan in plans
    )
    grown = weights(seeing) - weights(without)
    assert grown == pytest.approx(2 * 8 * 10**8 / tensor)
    assert seeing["workload"]["parameters"] == without["workload"]["parameters"]


def weights(bom: dict[str, Any]) -> float:
    """Weights on a GPU."""
    found: float = bom["workload"]["memory"]["per_gpu"]["weights"]
    return found
