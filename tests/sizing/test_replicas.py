"""Serving: the KV cache of every kind of attention, the replica that is found or given, and what is said of it."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Gpu, Identity, Model
from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.document import Document
from bomgen.core.language import language
from bomgen.core.provenance import Assumed, Figure, Given, Mark
from bomgen.documents.chapters.contents import document
from bomgen.plan.types import Degrees, Inference
from bomgen.results.result import Report, result
from bomgen.sizing.serving import kv_cache, service
from bomgen.sizing.serving.replicas import all_replicas, choose, replica

CATALOG = Catalog()
PLACE = Mark("plan.yaml", 7, 5)
GIGA = 10**9
LLAMA_7B = {"parameters": 6738415616, "layers": 32, "hidden": 4096, "heads": 32}
LLAMA_70B = {"parameters": 70553706496, "layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "head_dim": 128}
LATENT = {"parameters": 10**10, "layers": 61, "hidden": 7168, "heads": 128, "kv_lora_rank": 512, "rope_head_dim": 64}
DEFAULTS: dict[str, Any] = {
    **{
        "precision": "fp16",
        "kv_precision": "fp16",
        "context": 4096,
        "concurrency": None,
        "memory_share": Fraction(9, 10),
    },
    "engine": "vllm",
    **dict.fromkeys(("batch", "output_tokens", "requests_per_minute", "tokens_per_second_per_gpu")),
    **dict.fromkeys(("drafted", "accepted")),
}

Worked = Callable[[dict[str, Any]], Report]


def given_(value: Any, unit: str = "count") -> Figure:
    """A value as written in a plan."""
    return Figure(value, unit, Given(PLACE))


def inference(model: dict[str, int], tensor: int | None = None, pipeline: int | None = None, **keys: Any) -> Inference:
    """A model to be served, its keys as the plan gives them."""
    degrees = Degrees(given_(tensor or 1), given_(pipeline or 1), PLACE) if tensor or pipeline else None
    shape = {key: given_(value) for key, value in model.items()}
    parameters = shape.pop("parameters")
    active = shape.pop("active_parameters", parameters)
    figures = {key: None if value is None else given_(value) for key, value in (DEFAULTS | keys).items()}
    return Inference(
        mark=PLACE,
        model=Model(Identity("model", "m", "m"), parameters, active, "experts" in model, shape),
        degrees=degrees,
        **figures,  # type: ignore[arg-type]
    )


def gpu(memory: int | None = 80, bandwidth: int | None = 2000, **peaks: int) -> Gpu:
    """A GPU of so many GB and GB/s, with peaks by precision."""
    dense = {name: given_(value, "TFLOP/s") for name, value in (peaks or {"fp16": 300, "bf16": 300}).items()}
    size = given_(memory * GIGA, "bytes") if memory else None
    speed = given_(bandwidth * GIGA, "bytes/s") if bandwidth else None
    return Gpu(Identity("gpu", "g", "G"), dense, {}, size, None, speed)


def request(served: Inference) -> Any:
    """Bytes of the KV cache of a request."""
    held = kv_cache.cache(served.model, str(served.kv_precision.value))
    assert held is not None
    assert served.context is not None
    return kv_cache.request_bytes(held, served.context).value


# the KV cache -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "tokens", "expected"),
    [
        ({}, 2048, 2 * 32 * 32 * 128 * 2 * 2048),
        ({"kv_heads": 8}, 2048, 2 * 32 * 8 * 128 * 2 * 2048),
        ({"kv_heads": 1}, 2048, 2 * 32 * 1 * 128 * 2 * 2048),
        ({"head_dim": 256}, 2048, 2 * 32 * 32 * 256 * 2 * 2048),
        ({"kv_lora_rank": 512, "rope_head_dim": 64}, 2048, (512 + 64) * 32 * 2 * 2048),
        ({"window": 1024}, 4096, 2 * 32 * 32 * 128 * 2 * 1024),
        ({"window": 1024}, 512, 2 * 32 * 32 * 128 * 2 * 512),
        ({"window": 1024, "window_layers": 16}, 4096, 2 * 32 * 128 * 2 * (16 * 4096 + 16 * 1024)),
        ({"window": 1024, "window_layers": 27}, 4096, 2 * 32 * 128 * 2 * (5 * 4096 + 27 * 1024)),
        ({"window": 1024, "window_layers": 16}, 1000, 2 * 32 * 32 * 128 * 2 * 1000),
    ],
    ids=["mha", "gqa", "mqa", "head-dim", "mla", "window", "short", "every-other", "five-of-six", "all-in-window"],
)
def test_kv_cache_of_a_request(shape: dict[str, int], tokens: int, expected: int) -> None:
    """Keys and values of all heads, of shared ones, of a latent, and no more tokens than a window spans."""
    assert expected == request(inference(LLAMA_7B | shape, context=tokens))


CONTEXT = 131072
LAYERS_THAT_DIFFER = {
    "gemma-4-31b": 10 * 2 * 4 * 512 * 2 * CONTEXT + 50 * 2 * 16 * 256 * 2 * 1024,
    "llama-4-scout": 2 * 8 * 128 * 2 * (12 * CONTEXT + 36 * 8192),
    "deepseek-v3.2": 61 * (512 + 64 + 128) * 2 * CONTEXT,
    "glm-5.2": (78 * (512 + 64) + 21 * 128) * 2 * CONTEXT,
    "minimax-m3": (60 * 2 * 4 * 128 + 57 * 128) * 2 * CONTEXT,
    "deepseek-v4-flash": 2 * (21 * (512 + 128) * CONTEXT // 4 + 20 * 512 * CONTEXT // 128 + 43 * 512 * 128),
    "qwen3.5-27b": 16 * 2 * 4 * 256 * 2 * CONTEXT + 48 * (48 * 128 * 128 * 4 + 3 * (2 * 16 + 48) * 128 * 2),
    "kimi-k3": 24 * (512 + 64) * 2 * CONTEXT + 69 * (96 * 128 * 128 * 4 + 3 * 3 * 96 * 128 * 2),
    "minimax-m1": 10 * 2 * 8 * 128 * 2 * CONTEXT + 70 * 64 * 128 * 128 * 4,
    "nemotron-3-nano-30b-a3b": 6 * 2 * 2 * 128 * 2 * CONTEXT
    + 23 * (64 * 64 * 128 * 4 + 3 * (64 * 64 + 2 * 8 * 128) * 2),
}
"""Bytes of a request's KV cache in 16 bits, from the configurations: layers of each kind times what they keep."""


def served_from_the_catalogue(id: str, **keys: Any) -> Inference:
    """A model of the catalogue to be served."""
    return inference(LLAMA_7B, **keys)._replace(model=part_records.model(CATALOG.find("model", id)))


@pytest.mark.parametrize("id", LAYERS_THAT_DIFFER)
def test_kv_cache_where_layers_differ(id: str) -> None:
    """Layers with full attention times the context, layers with a window times the window, and the states."""
    assert LAYERS_THAT_DIFFER[id] == request(served_from_the_catalogue(id, context=CONTEXT))


@pytest.mark.parametrize(
    ("id", "token"),
    [
        ("deepseek-v3", 61 * (512 + 64)),
        ("deepseek-v3.2", 61 * (656 + 132)),
        ("glm-5.2", 78 * 656 + 21 * 132),
        ("deepseek-v4-flash", Fraction(21 * (584 + 132), 4) + Fraction(20 * 584, 128)),
        ("minimax-m3", 60 * 2 * 4 * 128 + 57 * 128),
    ],
)
def test_latents_in_fp8_keep_their_rotary_part_in_16_bits(id: str, token: float) -> None:
    """Of sparse attention 512 + 16 + 128 bytes, of DeepSeek-V4 448 + 8 + 128, of an index key 128 + 4 (FlashMLA)."""
    held = kv_cache.cache(served_from_the_catalogue(id).model, "fp8")
    assert held is not None
    assert token == held.token.value


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("gemma-4-31b", 10 * 2 * 1 * 512 * 2 * 65536 + 50 * 2 * 2 * 256 * 2 * 1024),
        ("glm-5.2", (78 * 576 + 21 * 128) * 2 * 65536),
        ("minimax-m3", (60 * 2 * 1 * 128 + 57 * 128) * 2 * 65536),
        ("kimi-k3", 24 * 576 * 2 * 65536 + 69 * (96 * 128 * 128 * 4 + 3 * 3 * 96 * 128 * 2) // 8),
    ],
)
def test_kv_cache_of_a_tensor_parallel_gpu_where_layers_differ(id: str, expected: int) -> None:
    """Each kind of layers is split by its own heads; latents and the keys of indexers are held by all eight GPUs."""
    found = replica(served_from_the_catalogue(id, context=65536), gpu(), given_(8), given_(1))
    assert found.request is not None
    assert expected == found.request.value


def test_a_step_reads_the_chosen_tokens_and_all_keys_of_the_indexers() -> None:
    """GLM-5.2 keeps all tokens, and attends to 2048 of them."""
    held = kv_cache.cache(served_from_the_catalogue("glm-5.2").model, "bf16")
    assert held is not None
    found = kv_cache.bytes_read_per_gpu(held, given_(131072), given_(8), given_(1))
    assert (78 * 576 * 2048 + 21 * 128 * 131072) * 2 == found.value


def test_a_model_of_states_alone() -> None:
    """What such a model keeps does not grow with the context."""
    state = {"linear_key_heads": 8, "linear_key_head_dim": 128, "linear_value_heads": 64, "linear_value_head_dim": 64}
    served = inference(LLAMA_7B | state | {"linear_layers": 32}, context=4096)
    assert 32 * 64 * 64 * 128 * 4 == request(served)
    assert 0 == kv_cache.cache(served.model, str(served.kv_precision.value)).token.value  # type: ignore[union-attr]


@pytest.mark.parametrize("missing", ["layers", "heads", "hidden"])
def test_an_unknown_shape_has_no_kv_cache(missing: str) -> None:
    """Nothing is guessed of a model whose shape is not known: only its weights decide."""
    served = inference({key: value for key, value in LLAMA_7B.items() if key != missing})
    assert kv_cache.cache(served.model, str(served.kv_precision.value)) is None
    found = choose(served, gpu(), None).replica
    assert (1, None, None) == (found.gpus.value, found.request, found.fits)


def test_a_latent_without_its_rotary_part_is_not_guessed() -> None:
    """A latent KV cache needs both its sizes."""
    assert (
        kv_cache.cache(inference({key: value for key, value in LATENT.items() if key != "rope_head_dim"}).model, "fp16")
        is None
    )


@pytest.mark.parametrize(
    ("model", "tensor", "pipeline", "share"),
    [
        (LLAMA_70B, 8, 1, Fraction(1, 8)),
        (LLAMA_70B, 16, 1, Fraction(1, 8)),
        (LLAMA_70B, 4, 2, Fraction(1, 8)),
        (LLAMA_70B, 4, 3, Fraction(27, 80 * 4)),
        (LATENT, 8, 1, Fraction(1)),
        (LATENT, 8, 2, Fraction(31, 61)),
    ],
)
def test_kv_cache_of_the_fullest_gpu(model: dict[str, int], tensor: int, pipeline: int, share: Fraction) -> None:
    """Whole heads of the fullest stage; beyond the heads, and for a latent always, GPUs keep the same."""
    served = inference(model, tensor=tensor, pipeline=pipeline)
    found = choose(served, gpu(), None).replica
    assert found.request is not None
    assert request(served) * share == found.request.value


@pytest.mark.parametrize(
    ("precision", "size"),
    [
        *(("fp64", 8), ("fp32", 4), ("tf32", 4), ("bf16", 2), ("fp16", 2), ("fp8", 1), ("int8", 1)),
        *(("fp6", Fraction(3, 4)), ("nvfp4", Fraction(9, 16)), ("mxfp4", Fraction(17, 32)), ("w8a8", 1)),
        *(("int4", Fraction(33, 64)), ("awq", Fraction(133, 256)), ("gptq", Fraction(133, 256))),
    ],
)
def test_bytes_of_a_weight(precision: str, size: Fraction) -> None:
    """All parameters at the bytes of their format, those of idle experts too."""
    served = inference(LLAMA_7B | {"active_parameters": 10**9}, precision=precision)
    assert served.model.parameters.value * size == choose(served, gpu(), None).replica.weights.value


# replicas -----------------------------------------------------------------------------------------------------------


def test_a_replica_is_as_small_as_will_do() -> None:
    """Tensor parallelism grows within a server, then come stages; the reasons say what smaller ones lack."""
    choice = choose(inference(LLAMA_70B, context=8192), gpu(), None)
    assert (2, 1) == (choice.replica.tensor.value, choice.replica.pipeline.value)
    (reason,) = choice.reasons
    assert (1, 1, 141107412992, "`precision: fp8`") == (*reason[:3], reason.remedy)
    assert "a shortfall of 68.57 GB; `precision: fp8` would fit" in reason.message
    wide = choose(inference(LLAMA_70B | {"parameters": 10**12}), gpu(), given_(8)).replica
    assert (8, 4) == (wide.tensor.value, wide.pipeline.value)


def test_a_found_replica_is_marked_as_chosen() -> None:
    """Its degrees are assumptions that a search has found, and not values of the reference that they cite."""
    found = choose(inference(LLAMA_70B, context=8192), gpu(), None).replica
    origins = [degree.origin for degree in (found.tensor, found.pipeline)]
    assert [True, True] == [isinstance(origin, Assumed) and origin.chosen for origin in origins]


def test_tensor_parallelism_divides_heads_and_servers() -> None:
    """Servers of six GPUs and 64 heads leave one or two; a replica goes on over servers from there."""
    found = choose(inference(LLAMA_70B, precision="fp32"), gpu(), given_(6)).replica
    assert (2, 2) == (found.tensor.value, found.pipeline.value)


def test_requests_fill_what_the_weights_leave() -> None:
    """CUDA sees 84 GB; (0.9 * 84 GB - 0.376 GB - 13.48 GB) / 2.147 GB are 28 requests of 4096 tokens."""
    found = choose(inference(LLAMA_7B), gpu(), None).replica
    assert found.held is not None
    assert 28 == found.held.value


def test_the_smallest_remedy_comes_first() -> None:
    """A narrower KV cache comes before narrower weights, and both before fewer tokens."""
    narrow = choose(inference(LLAMA_7B, context=100_000, tensor=1), gpu(memory=48), None).shortage
    assert narrow is not None
    assert "`kv_precision: fp8`" == narrow.remedy
    shorter = choose(inference(LLAMA_7B, context=400_000, tensor=1), gpu(memory=48), None).shortage
    assert shorter is not None
    assert "`context: 50000`" == shorter.remedy


def test_degrees_given_must_divide() -> None:
    """A degree by hand divides the heads, and there are no more stages than layers."""
    with pytest.raises(Infeasible, match="tensor 5 does not divide the 32 attention heads; 4 or 8 does"):
        choose(inference(LLAMA_7B, tensor=5), gpu(), None)
    with pytest.raises(Infeasible, match="at most 32"):
        choose(inference(LLAMA_7B, pipeline=33), gpu(), None)


def test_what_no_replica_holds_is_refused() -> None:
    """The last message says what is missing and which GPU would do."""
    with pytest.raises(PlanErrors, match=r"no replica holds the model: tensor 8 x pipeline 2 .* a GPU with"):
        choose(inference(LLAMA_7B | {"parameters": 10**13, "layers": 2}), gpu(), None)


def test_without_a_context_no_shorter_one_is_named() -> None:
    """Weights alone are too large then, whatever is asked of the model."""
    with pytest.raises(PlanErrors) as refused:
        choose(inference(LLAMA_7B | {"parameters": 10**13, "layers": 2}, context=None), gpu(), None)
    assert "context" not in refused.value.problems[0].message


def test_unknown_memory_refuses_nothing() -> None:
    """Without the GPU's memory a replica is one GPU, and nobody knows what it holds."""
    found = choose(inference(LLAMA_70B), gpu(memory=None), None).replica
    assert (1, None, None) == (found.gpus.value, found.room, found.fits)


# needs --------------------------------------------------------------------------------------------------------------


def test_a_measurement_takes_the_place_of_the_prediction() -> None:
    """The rule of thumb, in whole replicas; formats that a GPU has no peak for are no matter then."""
    keys = {"output_tokens": 300, "requests_per_minute": 10, "tokens_per_second_per_gpu": 30}
    need = service.size_serving(inference(LLAMA_7B, precision="fp8", **keys), gpu(), None, None, None)
    assert (2, None, None) == (need.gpus_required.value, need.speed, need.gpus_range)
    four = service.size_serving(inference(LLAMA_7B, tensor=4, **keys), gpu(), None, None, None)
    assert 4 == four.gpus_required.value


def test_requests_in_flight_need_replicas() -> None:
    """One request more than a replica holds takes two."""
    held = choose(inference(LLAMA_7B), gpu(), None).replica.held
    assert held is not None
    for more, replicas in ((0, 1), (1, 2)):
        served = inference(LLAMA_7B, concurrency=held.value + more)
        assert replicas == service.size_serving(served, gpu(), None, None, None).gpus_required.value


def test_replicas_are_tried_from_small_to_large() -> None:
    """Fewest GPUs first, those that are too small included, and sixteen stages at most."""
    found = list(all_replicas(inference(LLAMA_70B), gpu(), given_(4)))
    sizes = [each.gpus.value for each in found]
    assert sizes == sorted(sizes)
    assert [each.fits for each in found] == [size > 1 for size in sizes]
    assert 4 * 16 == sizes[-1]


def test_mixtures_are_tried_with_attention_by_requests() -> None:
    """Within a server and over several; dense models are not."""
    mixture = LLAMA_7B | {"experts": 8, "topk": 2, "ffn_expert": 4096}
    found = list(all_replicas(inference(mixture), gpu(), given_(8)))
    assert [2, 4, 8, 16, 24, 32, 48, 64] == [each.tensor.value for each in found if each.by_requests]
    assert not [each for each in all_replicas(inference(LLAMA_7B), gpu(), given_(8)) if each.by_requests]


def test_what_a_replica_holds_may_be_unknown() -> None:
    """One replica is taken then, and the assumption says so."""
    unknown = service.size_serving(inference(LLAMA_7B, concurrency=100), gpu(memory=None), None, None, None)
    assert (1, "lengths", None) == (unknown.replicas.value, unknown.missing, unknown.speed)
    assert isinstance(unknown.replicas.origin, Assumed)


# the report ---------------------------------------------------------------------------------------------------------


def plan(**keys: Any) -> dict[str, Any]:
    """A plan that serves Llama 2 7B on H100."""
    keys = {"model": "llama-2-7b", "precision": "fp16", "context": 2048} | keys
    return {"bomgen": 1, "name": "serve", "workload": {"inference": keys}, "cluster": {"gpu": "h100-sxm"}}


def words(report: Report, code: str = "en") -> Document:
    """The document of a report."""
    return document(report, language(code))


def texts(page: Document) -> str:
    """Sentences and notes of the summary and the serving chapter."""
    sections = {section.id: section for section in page.sections}
    found = [*sections["summary"].text, *(note.text for note in sections["serving"].notes)]
    return "\n".join(found)


@pytest.mark.parametrize(("code", "word"), [("en", "predictions, not measurements"), ("zh", "预测")])
def test_a_prediction_is_called_one(code: str, word: str, worked: Worked) -> None:
    """The page says that the speed is predicted, and shows low, typical and high."""
    page = words(worked(plan(output_tokens=512, requests_per_minute=600)), code)
    assert word in texts(page)
    chapter = next(section for section in page.sections if section.id == "serving")
    (table,) = [table for table in chapter.tables if table.id == "serving-estimate"]
    values = [[float(cell.value) for cell in row.cells[1:4]] for row in table.rows]  # type: ignore[arg-type]
    assert 6 == len(values)
    assert all(row == sorted(row) for row in values)


def test_a_measurement_is_called_one(worked: Worked) -> None:
    """Nothing is called an estimate where a measurement is given, and no range is shown."""
    report = worked(plan(output_tokens=512, requests_per_minute=600, tokens_per_second_per_gpu=1500))
    assert "predict" not in texts(words(report))
    assert "measured value" in texts(words(report))
    workload = result(report)["workload"]
    assert not [key for key in workload if key.endswith("range") or key == "latency"]
    # 600 a minute of 512 tokens are 5120 tokens/s: 4 GPUs, of a server of 8
    assert (4, 8, 12000) == (workload["gpus_required"], workload["replicas"], workload["tokens_per_second"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"model": {"name": "m", "parameters": "7B"}}, "The KV cache is unknown"),
        ({}, "the length of prompts or outputs is unknown"),
        ({"precision": "int4"}, "int4 values are counted as 0.5156 bytes each"),
        ({"model": "llama-3.1-70b"}, "Tensor 1 x pipeline 1 does not fit"),
        ({"model": "llama-3.1-70b", "parallelism": {"tensor": 16}}, "beyond the 8 KV heads"),
        ({"model": "deepseek-v3", "precision": "bf16", "parallelism": {"tensor": 32}}, "the whole latent KV cache"),
    ],
    ids=["shape", "answer", "scales", "smaller", "duplicated", "latent"],
)
def test_the_chapter_says_why(keys: dict[str, Any], said: str, worked: Worked) -> None:
    """What is not known, why smaller replicas do not do, and what is kept more than once."""
    assert said in texts(words(worked(plan(**keys))))


@pytest.mark.parametrize(
    ("keys", "cluster", "rule", "said"),
    [
        ({"model": "llama-3.1-70b", "parallelism": {"tensor": 1}}, {}, "memory", "a shortfall of 67.72 GB"),
        ({"concurrency": 600}, {"gpus": 8}, "target-missed", "500 concurrent requests, but 600 are required; 10 GPUs"),
        (
            {"output_tokens": 512, "requests_per_minute": 60000},
            *({"gpus": 8}, "target-missed", "8 GPUs are predicted to serve"),
        ),
        (
            {"output_tokens": 512, "requests_per_minute": 6000, "tokens_per_second_per_gpu": 1000},
            *({"gpus": 8}, "target-missed", "8 GPUs answer 937.5 requests per minute, but 6000 are required; 52 GPUs"),
        ),
        ({"output_tokens": 512, "batch": 600}, {}, "batch", "57 concurrent requests, not 600; the prediction uses 57"),
        (
            {"output_tokens": 512, "batch": 6, "tokens_per_second_per_gpu": 1000},
            *({}, "no-effect", "workload.inference.batch has no effect, because the throughput is measured"),
        ),
        (
            {"output_tokens": 512, "tokens_per_second_per_gpu": 5000},
            *({}, "above-roofline", "reading at its full memory bandwidth, with 57 requests per replica"),
        ),
    ],
    ids=["too-large", "in-flight", "estimated", "measured", "batch", "batch-unused", "above-roofline"],
)
def test_warnings(keys: dict[str, Any], cluster: dict[str, Any], rule: str, said: str, worked: Worked) -> None:
    """What does not fit or suffice is said at its place, with what would do, and the build goes on."""
    asked = plan(memory_share="90%", **keys)
    asked["cluster"] |= cluster
    (problem,) = [problem for problem in worked(asked).problems if problem.rule == rule]
    assert "warning" == problem.severity
    assert said in problem.message
    assert problem.mark.line > 3


def test_a_replica_that_holds_no_request_is_not_said_to_be_enough(worked: Worked) -> None:
    """What is too small for the model is said once: no number of such replicas holds the requests."""
    inference = {"model": "qwen3-vl-235b-a22b", "precision": "bf16", "context": 128000, "concurrency": 1}
    asked = plan(**inference, parallelism={"tensor": 8})
    asked["cluster"] = {"gpu": "a100-sxm-80", "servers": 1}
    assert ["memory"] == [each.rule for each in worked(asked).problems if each.rule in ("memory", "target-missed")]


def test_a_cluster_that_holds_all_requests_is_warned_of_none(worked: Worked) -> None:
    """The 500 requests that eight GPUs hold, and no more, are asked for."""
    asked = plan(memory_share="90%", concurrency=500)
    asked["cluster"] |= {"gpus": 8}
    assert [] == [problem for problem in worked(asked).problems if problem.rule == "target-missed"]


def test_what_is_predicted_is_labelled_so(worked: Worked) -> None:
    """Tile and table say that the requests served are a prediction; those asked for are never called served."""
    keys = {"output_tokens": 512, "requests_per_minute": 600}
    for measured in ({}, {"tokens_per_second_per_gpu": 1500}):
        page = words(worked(plan(**keys, **measured)))
        label = (
            "Requests answered per minute" if measured else "Requests per minute that the cluster can serve, predicted"
        )
        assert label in [name for name, _ in page.headline]
        chapter = next(section for section in page.sections if section.id == "serving")
        assert label in [row.cells[0].value for table in chapter.tables for row in table.rows]
        assert "Requests answered per minute = 600" not in repr(page)


def test_the_low_end_says_what_it_misses(worked: Worked) -> None:
    """Where the slow end of the prediction misses the rate asked for, the note says by how much."""
    keys = {"model": "llama-3.1-70b", "context": 4096, "output_tokens": 512, "requests_per_minute": 3000}
    report = worked(plan(**keys, margin="0%"))
    low = result(report)["workload"]["requests_per_minute_range"]["low"]
    assert low < 3000
    assert f"the cluster answers {round(low):,} of the target of 3,000 requests per minute." in texts(words(report))
    assert "At the low end" not in texts(words(worked(plan(output_tokens=512, requests_per_minute=1))))


def test_half_given_degrees_are_the_schemas_default(worked: Worked) -> None:
    """A degree left out beside one given is one, by the same assumption as in training; only found ones are chosen."""
    for degrees, left_out in (({"tensor": 2}, "pipeline"), ({"pipeline": 2}, "tensor")):
        report = worked(plan(parallelism=degrees))
        found = result(report)
        assert 1 == found["workload"]["parallelism"][left_out]
        names = [assumption["name"] for assumption in found["assumptions"]]
        assert "Degree of parallelism" in names
        assert not {"Tensor parallel degree", "Pipeline stages"} & set(names)
    assert "Tensor parallel degree" in [one["name"] for one in result(worked(plan()))["assumptions"]]


def test_no_bandwidth_no_estimate(worked: Worked) -> None:
    """A GPU that nobody knows the bandwidth of gets no throughput, and a rate of requests is refused."""
    asked = plan(output_tokens=512)
    asked["cluster"] = {"gpu": {"fp16_tflops": 300, "memory": "80 GB"}, "gpus": 8}
    report = worked(asked)
    assert "tokens_per_second" not in result(report)["workload"]
    assert "the memory bandwidth of the GPU is unknown" in texts(words(report))
    asked["workload"]["inference"]["requests_per_minute"] = 60
    with pytest.raises(PlanErrors, match="memory bandwidth"):
        worked(asked)
