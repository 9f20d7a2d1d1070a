"""Memory of a served model on a GPU: weights by part and split, the reserve of the engine, and what does not fit."""

# ruff: noqa: SIM300

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Assumed, Derived, Figure, Given, Mark
from bomgen.plan.types import DATA, Degrees, Inference
from bomgen.sizing.serving import gpu_memory
from bomgen.sizing.serving.replicas import Replica, choose, replica

CATALOG = Catalog()
PLACE = Mark("plan.yaml", 7, 5)
GIBI = 2**30
R1_PARAMETERS, R1_LAYERS, R1_EXPERTS = 671026419200, 61, 58 * 256 * 3 * 7168 * 2048
R1_EMBEDDINGS = 2 * 129280 * 7168
R1_UNSPLIT = R1_LAYERS * 7168 * (1536 + 512 + 64) + 58 * 7168 * 256


def given_(value: Any, unit: str = "count") -> Figure:
    """A value as written in a plan."""
    return Figure(value, unit, Given(PLACE))


def gpu(id: str) -> Gpu:
    """A GPU of the catalogue."""
    return part_records.gpu(CATALOG.find("gpu", id))


def served(model: str, precision: str, degrees: Degrees | None = None, **keys: Any) -> Inference:
    """A model of the catalogue to be served by vLLM with its defaults."""
    figures = {"engine": "vllm", "kv_precision": "bf16", "context": 8192, "memory_share": Fraction("0.92")} | keys
    unset = ("batch", "output_tokens", "requests_per_minute", "tokens_per_second_per_gpu", "drafted", "accepted")
    return Inference(
        mark=PLACE,
        model=part_records.model(CATALOG.find("model", model)),
        precision=given_(precision, "word"),
        concurrency=given_(1),
        degrees=degrees,
        **{key: given_(value) for key, value in figures.items()},  # type: ignore[arg-type]
        **dict.fromkeys(key for key in unset if key not in figures),  # type: ignore[arg-type]
    )


def split(tensor: int, attention: str = "tensor", expert: int | None = None) -> Degrees:
    """The degrees of a plan."""
    return Degrees(given_(tensor), given_(1), PLACE, attention, given_(expert) if expert else None)


def held(inference: Inference, id: str, tensor: int) -> Replica:
    """A replica of so many tensor-parallel GPUs."""
    return replica(inference, gpu(id), given_(tensor), given_(1))


# weights ------------------------------------------------------------------------------------------------------------


def test_embeddings_stay_in_16_bits() -> None:
    """Llama 3.1 8B in FP8: 2 * 128256 * 4096 values of two bytes, all others of one."""
    inference = served("llama-3.1-8b", "fp8")
    assert inference.model.parameters.value + 2 * 128256 * 4096 == gpu_memory.weights_of_model(inference).value


@pytest.mark.parametrize(
    ("model", "precision", "rest"),
    [
        ("qwen3-30b-a3b", "int4", 2),
        ("qwen3-30b-a3b", "nvfp4", 2),
        ("qwen3-30b-a3b", "gptq", Fraction(133, 256)),
        ("qwen3-30b-a3b", "fp8", 1),
        ("qwen3-32b", "int4", Fraction(33, 64)),
        ("deepseek-v3", "nvfp4", 1),
    ],
)
def test_formats_beside_the_experts(model: str, precision: str, rest: Fraction) -> None:
    """Mixtures in 4 bits keep attention in 16 bits, DeepSeek in its 8; AWQ, GPTQ and dense models do not."""
    assert rest == gpu_memory.formats_of_parts(served(model, precision)).rest.value


def test_published_files_are_scaled_to_their_size() -> None:
    """Kimi K2.6 on one GPU takes the 595 GB of its files; `gptq` and `awq` may use the files of int4."""
    for precision in ("int4", "gptq"):
        assert 595 * 10**9 == held(served("kimi-k2.6", precision), "h200-sxm", 1).weights.value


def test_multi_token_prediction_is_loaded_for_speculation_alone() -> None:
    """The module is a 58th of the parameters in 8 bits, and embedding and head in 16."""
    files, module = 688586727753, Fraction(R1_PARAMETERS, 58) + 2 * R1_EMBEDDINGS
    assert files - module == gpu_memory.weights_of_model(served("deepseek-r1", "fp8")).value
    assert files == gpu_memory.weights_of_model(served("deepseek-r1", "fp8", drafted=1)).value


def test_kv_projections_and_latents_are_repeated() -> None:
    """Qwen3-30B-A3B has 4 KV heads; MLA's down-projections, and routers, are on every GPU."""
    qwen = served("qwen3-30b-a3b", "bf16")
    keys, router = 48 * 2 * 2048 * 512, 48 * 2048 * 128
    rest = qwen.model.parameters.value - keys - router
    assert 2 * (Fraction(rest, 8) + Fraction(keys, 4) + router) == held(qwen, "h100-sxm", 8).weights.value
    r1 = served("deepseek-r1", "bf16")
    rest = R1_PARAMETERS - R1_UNSPLIT
    assert 2 * (Fraction(rest, 16) + R1_UNSPLIT) == held(r1, "h200-sxm", 16).weights.value


@pytest.mark.parametrize(
    ("gpus", "slots"), [(144, 2), (72, 4), (48, 6), (320, 1), (36, 8), (28, 10), (12, 22), (8, 32)]
)
def test_experts_are_spread_over_any_number_of_gpus(gpus: int, slots: int) -> None:
    """With attention by requests a GPU has ceil(256 / GPUs) experts and all other weights, whatever divides heads."""
    inference = served("deepseek-r1", "bf16", split(gpus, DATA))
    found = choose(inference, gpu("h200-sxm"), None).replica
    assert 2 * (R1_PARAMETERS - R1_EXPERTS + Fraction(R1_EXPERTS * slots, 256)) == found.weights.value
    assert gpus == found.gpus.value


def test_whole_experts_within_tensor_parallelism() -> None:
    """`expert` divides the GPUs of a replica; 8 groups of 8 GPUs hold 32 experts each, an eighth of each on a GPU."""
    inference = served("deepseek-r1", "bf16", split(64, DATA, 8))
    rest = R1_PARAMETERS - R1_EXPERTS
    assert 2 * (rest + Fraction(R1_EXPERTS, 64)) == choose(inference, gpu("h200-sxm"), None).replica.weights.value
    with pytest.raises(Infeasible, match="expert 6 does not divide tensor 8; 4 or 8 does"):
        choose(served("deepseek-r1", "fp8", split(8, expert=6)), gpu("h200-sxm"), None)


# memory of a GPU ------------------------------------------------------------------------------------------------------


def test_cuda_sees_more_than_the_data_sheet_says() -> None:
    """As published, else 105 % of the data sheet."""
    seen, usual = gpu_memory.memory_seen(gpu("h100-sxm")), gpu_memory.memory_seen(gpu("l40s"))
    assert seen is not None
    assert usual is not None
    assert Fraction("79.2") * GIBI == seen.value
    assert Fraction("50.4e9") == usual.value
    assert gpu_memory.memory_seen(gpu("l40s")._replace(memory_bytes=None)) is None


def test_the_reserve_of_vllm() -> None:
    """Libraries, NCCL, 1 024 sequences of logits in 16 bytes, and 8 192 tokens for each of 8 experts."""
    found = held(served("deepseek-r1", "fp8"), "h200-sxm", 8)
    copies = Fraction(3, 2) * 8192 * 2 * 8 * (2 * 7168 + Fraction(3 * 2048, 8))
    lines = [Fraction("0.35") * GIBI, Fraction("1.55") * GIBI, 1024 * 129280 * 16, copies]
    assert lines == [line.value for line in found.reserve.values()]
    assert all(isinstance(line.origin, Assumed | Derived) for line in found.reserve.values())
    assert found.room is not None
    assert Fraction("0.92") * Fraction("139.8") * GIBI - sum(lines) == found.room.value


@pytest.mark.parametrize(("context", "tokens"), [(32768, 32768), (128000, 128000), (262144, 153600)])
def test_the_outputs_of_a_vision_encoder(context: int, tokens: int) -> None:
    """Twice four vectors of the text model a token of the longest video, about 10 GB for Qwen3-VL-8B (vLLM 27992)."""
    found = held(served("qwen3-vl-8b", "bf16", context=context), "h100-sxm", 1)
    assert found.reserve["vision"].value == 2 * 4 * 4096 * 2 * tokens
    assert round(found.reserve["vision"].value, -9) == 10 * 10**9 or tokens < 153600
    assert "vision" not in held(served("qwen3-vl-8b", "bf16", engine="sglang"), "h100-sxm", 1).reserve


def test_a_context_of_videos_that_ran_out_of_memory() -> None:
    """Qwen3-VL-235B in bf16 on 8 GPUs of 80 GB: 128 000 tokens failed (QwenLM/Qwen3-VL 1684), 41 960 ran (1489)."""
    for context, fits in ((128000, False), (41960, True)):
        found = held(
            served("qwen3-vl-235b-a22b", "bf16", context=context, memory_share=Fraction("0.9")), "a100-sxm-80", 8
        )
        assert found.fits is fits


LOGGED = (7440, Fraction("20.36") * GIBI / 3_076_565)
"""KV cache per token and GPU of DeepSeek-V4-Flash that vLLM reports for requests of 1 048 576 tokens [bytes].

The second is of a start-up log of July 2026: 20.36 GiB, 3,076,565 tokens. vLLM counts the windows and states of a step
for every request.
"""


def test_compressed_attention_sets_a_step_aside() -> None:
    """8 192 tokens, each in blocks of 104 tokens of cache: with a request of a million tokens what vLLM reports."""
    found = held(served("deepseek-v4-flash", "mxfp4", kv_precision="fp8", context=1 << 20), "b200-sxm", 8)
    token = Fraction(21 * (584 + 132), 4) + Fraction(20 * 584, 128)
    assert found.reserve["states"].value == 8192 * 104 * token
    assert found.request is not None
    of_token = (found.request.value + found.reserve["states"].value) / (1 << 20)
    assert [pytest.approx(of_token, rel=share) for share in (0.07, 0.02)] == list(LOGGED)


def test_small_gpus_take_smaller_steps() -> None:
    """2 048 tokens and 256 sequences below 70 GiB; one GPU has no buffers of NCCL."""
    found = held(served("llama-3.1-8b", "bf16"), "rtx4090", 1)
    assert [Fraction("0.35") * GIBI, 256 * 128256 * 16] == [line.value for line in found.reserve.values()]


@pytest.mark.parametrize(
    ("engine", "share", "room"),
    [
        ("sglang", Fraction("0.85"), Fraction("0.85") * (Fraction("79.2") - Fraction("1.2"))),
        ("tensorrt-llm", Fraction("0.9"), None),
    ],
)
def test_the_share_of_other_engines(engine: str, share: Fraction, room: Fraction | None) -> None:
    """SGLang's is of what libraries leave; TensorRT-LLM's of what weights leave, too."""
    found = held(served("llama-3.1-70b", "bf16", engine=engine, memory_share=share), "h100-sxm", 2)
    of_weights = Fraction(found.weights.value) / GIBI
    expected = room or of_weights + share * (Fraction("78") - of_weights)
    assert found.room is not None
    assert expected * GIBI == found.room.value


@pytest.mark.parametrize(
    ("model", "precision", "id", "gpus"),
    [
        ("deepseek-r1", "fp8", "h200-sxm", 8),
        ("llama-3.1-70b", "bf16", "h100-sxm", 2),
        ("gpt-oss-120b", "mxfp4", "h100-sxm", 1),
    ],
)
def test_models_that_fit(model: str, precision: str, id: str, gpus: int) -> None:
    """The fewest GPUs that are known to serve these models with vLLM."""
    assert gpus == choose(served(model, precision), gpu(id), given_(8)).replica.gpus.value


def test_every_gpu_may_serve_weights_in_8_and_4_bits() -> None:
    """An A100 has no arithmetic in FP8, and unpacks such weights to 16 bits."""
    for context, remedy in ((8192, "fp8"), (32768, "int4")):
        asked = served("llama-3.1-70b", "bf16", split(1), context=context)
        shortage = choose(asked, gpu("a100-sxm-80"), None).shortage
        assert shortage is not None
        assert f"`precision: {remedy}`" == shortage.remedy


def test_a_sufficient_memory_is_sufficient() -> None:
    """The memory that a shortage names holds the model."""
    for engine in ("vllm", "sglang", "tensorrt-llm"):
        asked = served("llama-3.1-405b", "bf16", split(8), engine=engine, context=1_000_000)
        h100 = gpu("h100-sxm")
        shortage = choose(asked, h100, None).shortage
        assert shortage is not None
        scale = shortage.enough / 80 / 10**9
        larger = h100._replace(cuda_memory=given_(Fraction("79.2") * GIBI * scale, "bytes"))
        found = replica(asked, larger, given_(8), given_(1))
        assert found.held is not None
        assert 1 == found.held.value
