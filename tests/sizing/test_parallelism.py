"""How a run is cut up: laws of its memory, the search for a split, and what is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.catalog.parts import Gpu, Identity, Model
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Assumed, Cited, Derived, Figure, Given, Mark, walk
from bomgen.plan.types import Parallelism, Training
from bomgen.results.explain import Explanation, Trees, text
from bomgen.sizing.gpu_counts import first_fitting
from bomgen.sizing.training import memory
from bomgen.sizing.training.memory import Memory
from bomgen.sizing.training.parallelism import fit
from bomgen.sizing.training.states import ParallelSplit

PLACE = Mark("plan.yaml", 7, 5)
GIGA = 10**9
LLAMA_65B = {"parameters": 65285660672, "layers": 80, "hidden": 8192, "heads": 64}
LLAMA_405B = {"parameters": 405853388800, "layers": 126, "hidden": 16384, "heads": 128}
MIXTRAL = {
    **{"parameters": 46702792704, "active_parameters": 12879925248, "layers": 32, "hidden": 4096, "heads": 32},
    **{"ffn_expert": 14336, "experts": 8, "topk": 2, "shared": 0, "dense_layers": 0},
}
MIXTRAL_ROUTED = 32 * 8 * 3 * 4096 * 14336
SIX_EXPERTS = {
    **{"parameters": 10 * GIGA, "active_parameters": 5 * GIGA, "layers": 1, "hidden": 1000, "heads": 2},
    **{"ffn_expert": 333333, "experts": 6, "topk": 1, "shared": 0, "dense_layers": 0},
}
"""Six of its ten billion parameters are in experts."""
DEEPSEEK_V3 = {
    **{"parameters": 671026419200, "active_parameters": 37552297472, "layers": 61, "hidden": 7168, "heads": 128},
    **{"ffn_expert": 2048, "experts": 256, "topk": 8, "shared": 1, "dense_layers": 3},
}
ENOUGH = 10**12
"""Tokens of a step with more micro-batches than any stage holds."""
DEFAULTS: dict[str, Any] = {
    **{"tokens": 10**12, "epochs": 1, "precision": "bf16", "attention": "none", "recompute": "none"},
    "embedding": "counted",
    **{
        "flash_attention": "no",
        "parallel_efficiency": 1,
        "goodput": 1,
        "micro_batch": 1,
        "optimizer": "adam",
        "gradient_precision": "fp32",
    },
    **{"zero": 1, "flops_per_parameter_token": 6, "recompute_flops_per_parameter_token": 2},
    **dict.fromkeys(("target_days", "mfu", "achieved_tflops", "tokens_per_second_per_gpu", "sequence")),
    "batch_tokens": ENOUGH,
}


def given_(value: Any, unit: str = "count") -> Figure:
    """A value as written in a plan."""
    return Figure(value, unit, Given(PLACE))


def training(model: dict[str, int], parallelism: dict[str, Any] | None = None, **keys: Any) -> Training:
    """A run of a model; without `parallelism` its split is found."""
    shape = {key: given_(value) for key, value in model.items()}
    parameters = shape.pop("parameters")
    active = shape.pop("active_parameters", parameters)
    figures = {key: None if value is None else given_(value) for key, value in (DEFAULTS | keys).items()}
    return Training(
        mark=PLACE,
        model=Model(Identity("model", "m", "m"), parameters, active, "experts" in model, shape),
        parallelism=None if parallelism is None else by_hand(**parallelism),
        **figures,  # type: ignore[arg-type]
    )


def by_hand(sequence_parallel: bool = False, **degrees: int) -> Parallelism:
    """Degrees as written in a plan; those left out are one."""
    names = ("tensor", "pipeline", "interleave", "context", "expert")
    figures = {name: given_(degrees.get(name, 1)) for name in names}
    words = given_("yes" if sequence_parallel else "no", "word")
    return Parallelism(**figures, sequence_parallel=words, mark=PLACE)


def split(sequence_parallel: bool = False, **degrees: int) -> ParallelSplit:
    """A split of these degrees; those left out are one."""
    names = ("tensor", "pipeline", "interleave", "context", "expert", "data")
    return ParallelSplit(**{name: given_(degrees.get(name, 1)) for name in names}, sequence_parallel=sequence_parallel)


def gpu(giga: int | None = 80) -> Gpu:
    """A GPU with so many GB of memory."""
    return Gpu(Identity("gpu", "g", "g"), {}, {}, None if giga is None else given_(giga * GIGA, "bytes"), None)


def states(found: Memory) -> int:
    """Weights, gradients and optimizer states [bytes]."""
    return int(found.weights.value + found.gradients.value + found.optimizer.value)


def activations(found: Memory) -> int:
    """The activations, which must be known [bytes]."""
    assert found.activations is not None
    return int(found.activations.value)


MODELS = st.sampled_from([LLAMA_65B, LLAMA_405B, MIXTRAL, DEEPSEEK_V3])
POWERS = st.sampled_from([1, 2, 4, 8])


@given(MODELS, POWERS, POWERS, st.sampled_from([64, 512, 4096]), st.integers(0, 3))
def test_more_tensor_parallelism_never_needs_more(
    model: dict[str, int], tensor: int, pipeline: int, gpus: int, zero: int
) -> None:
    """Twice the tensor parallelism of the same GPUs never raises the states or the activations of a GPU."""
    run = training(model, zero=zero, sequence=2048)
    needs = [
        memory.per_gpu(run, split(tensor=degree, pipeline=pipeline, data=gpus * 2 // (degree * pipeline)))
        for degree in (tensor, 2 * tensor)
    ]
    assert states(needs[1]) <= states(needs[0])
    assert activations(needs[1]) <= activations(needs[0])


@given(MODELS, POWERS, POWERS, st.sampled_from([8, 64, 512]), st.integers(0, 2))
def test_a_higher_zero_stage_never_needs_more(
    model: dict[str, int], tensor: int, expert: int, data: int, zero: int
) -> None:
    """ZeRO stage n + 1 needs at most what stage n does, with experts spread or not."""
    degrees = split(tensor=tensor, expert=expert, data=data)
    less, more = (memory.per_gpu(training(model, zero=stage), degrees) for stage in (zero + 1, zero))
    assert states(less) <= states(more)


@given(MODELS, POWERS, POWERS, st.sampled_from(["none", "selective", "full"]), st.integers(1, 64))
def test_recomputation_sequence_parallelism_and_small_batches_never_need_more(
    model: dict[str, int], tensor: int, pipeline: int, recompute: str, batches: int
) -> None:
    """What saves activations never adds any."""
    plain = training(model, sequence=2048)
    degrees: dict[str, Any] = {"tensor": tensor, "pipeline": pipeline}
    most = activations(memory.per_gpu(plain, split(**degrees)))
    saved = training(model, sequence=2048, recompute=recompute, batch_tokens=2048 * batches)
    assert activations(memory.per_gpu(saved, split(**degrees))) <= most
    assert activations(memory.per_gpu(plain, split(sequence_parallel=True, **degrees))) <= most


@given(
    st.sampled_from([LLAMA_65B, {"parameters": 174604259328, "layers": 96, "hidden": 12288, "heads": 96}]),
    st.integers(1, 512).map(lambda units: 64 * units),
    st.sampled_from([40, 80, 192]),
    st.integers(0, 3),
    st.sampled_from(["none", "selective", "full"]),
)
def test_a_found_split_fits_and_less_does_not(
    model: dict[str, int], gpus: int, giga: int, zero: int, recompute: str
) -> None:
    """What is found fits; of equal stages no split of fewer GPUs a replica does, nor one of less tensor parallelism."""
    run = training(model, zero=zero, recompute=recompute, sequence=2048)
    try:
        found = fit(run, gpu(giga), given_(gpus), given_(8))
    except Infeasible:
        return
    assert found.fits is True
    assert found.per_gpu.total.value <= giga * GIGA
    size = found.split.tensor.value * found.split.pipeline.value * found.split.context.value
    assert gpus == size * found.split.data.value
    for tensor in (1, 2, 4, 8):
        for pipeline in (stages for stages in range(1, 33) if model["layers"] % stages == 0):
            same = tensor * pipeline == size and tensor > found.split.tensor.value
            if gpus % (tensor * pipeline) == 0 and (tensor * pipeline < size or same):
                degrees: dict[str, Any] = {"tensor": tensor, "pipeline": pipeline, "sequence_parallel": tensor > 1}
                smaller = fit(run._replace(parallelism=by_hand(**degrees)), gpu(giga), given_(gpus), None)
                assert smaller.fits is False


@given(MODELS, POWERS, POWERS, st.sampled_from([1, 2, 3]), st.sampled_from([None, 1, 5, 1000]))
def test_no_gpu_holds_more_than_the_fullest(
    model: dict[str, int], tensor: int, pipeline: int, interleave: int, batches: int | None
) -> None:
    """The activations of all GPUs of a replica are at most as many times those of the fullest."""
    tokens = ENOUGH if batches is None else batches * 2048
    run = training(model, sequence=2048, batch_tokens=tokens)
    degrees = split(tensor=tensor, pipeline=pipeline, interleave=interleave)
    fullest, all_gpus = memory.per_gpu(run, degrees), memory.replica(run, degrees)
    assert activations(fullest) <= activations(all_gpus) <= activations(fullest) * tensor * pipeline


@given(st.integers(1, 64), st.integers(1, 8))
def test_experts_as_wide_as_an_mlp_are_an_mlp(units: int, tensor: int) -> None:
    """One active expert of 8/3 the hidden size keeps what the MLP of a dense model does."""
    dense = {"parameters": 10**9, "layers": 8, "hidden": 96 * units, "heads": 8}
    sparse = {**dense, "experts": 4, "topk": 1, "ffn_expert": 256 * units}
    needs = [
        memory.per_gpu(training(model, sequence=128), split(tensor=tensor, sequence_parallel=sequence_parallel))
        for model in (dense, sparse)
        for sequence_parallel in (False, True)
    ]
    assert activations(needs[0]) == activations(needs[2])
    assert activations(needs[1]) == activations(needs[3])


def test_more_active_experts_keep_more_activations() -> None:
    """Every expert that works on a token keeps an input, a mask and the inside of its MLP."""
    one, two = (training({**MIXTRAL, "topk": topk}, sequence=1024) for topk in (1, 2))
    expert = 1024 * 32 * (3 * 4096 + 6 * 14336)
    assert activations(memory.per_gpu(two, split())) - activations(memory.per_gpu(one, split())) == expert


def test_expert_parallelism_divides_the_routed_experts_alone() -> None:
    """A GPU holds all of the shared weights and its part of the routed experts."""
    run = training(MIXTRAL, zero=0)
    need = memory.per_gpu(run, split(expert=8, data=8))
    local = MIXTRAL["parameters"] - MIXTRAL_ROUTED + MIXTRAL_ROUTED // 8
    assert (2 * local, 4 * local, 12 * local) == (need.weights.value, need.gradients.value, need.optimizer.value)


def test_experts_of_unknown_number_are_at_least_the_idle_ones() -> None:
    """Without the number of experts only the parameters that a token leaves idle are divided."""
    model = training({"parameters": 100, "active_parameters": 40, "experts": 4}, zero=0)
    assert memory.per_gpu(model, split(expert=4, data=4)).weights.value == 2 * (40 + 60 // 4)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, (2, 4, 12)),
        ({"precision": "fp16", "gradient_precision": "bf16"}, (2, 2, 12)),
        ({"precision": "fp8"}, (2, 4, 12)),
        ({"precision": "fp32"}, (4, 4, 8)),
        ({"precision": "tf32"}, (4, 4, 8)),
        ({"precision": "fp64"}, (8, 4, 8)),
        ({"optimizer": "adam-8bit"}, (2, 4, 6)),
        ({"optimizer": "sgd"}, (2, 4, 8)),
        ({"optimizer": "adafactor"}, (2, 4, 4)),
        ({"optimizer": "lion"}, (2, 4, 8)),
        ({"optimizer": "muon"}, (2, 4, 8)),
        ({"gradient_precision": "none"}, (2, 0, 12)),
        ({"master_weights": "no", "gradient_precision": "bf16"}, (2, 2, 4)),
        ({"master_weights": "no", "gradient_precision": "bf16", "optimizer": "adam-8bit"}, (2, 2, 2)),
        ({"master_weights": "no", "gradient_precision": "bf16", "optimizer": "lion"}, (2, 2, 2)),
        ({"master_weights": "no", "precision": "fp32"}, (4, 4, 8)),
    ],
)
def test_bytes_of_a_parameter(keys: dict[str, Any], expected: tuple[int, int, int]) -> None:
    """Weights, gradients and optimizer states follow precision, gradient precision and optimizer."""
    found = memory.replica(training({"parameters": 1000}, **keys), split())
    assert tuple(1000 * each for each in expected) == (
        found.weights.value,
        found.gradients.value,
        found.optimizer.value,
    )


def test_muon_updates_embeddings_by_adam() -> None:
    """Two moments of the embedding and of the output matrix, one of all other parameters."""
    found = memory.replica(training({"parameters": 1000, "vocab": 20, "hidden": 5}, optimizer="muon"), split())
    assert found.optimizer.value == 4 * 1000 + 4 * 1000 + 4 * 2 * 20 * 5


def test_fp8_keeps_sixteen_bits_as_an_assumption() -> None:
    """That fp8 weights stay beside 16-bit ones is shown as an assumption, and only for fp8."""
    for precision, expected in (("fp8", 1), ("bf16", 0)):
        weights = memory.replica(training({"parameters": 1000}, precision=precision), split()).weights
        assert expected == sum(isinstance(figure.origin, Assumed) for figure in walk(weights))


@pytest.mark.parametrize(
    ("keys", "degrees", "expected"),
    [
        ({}, {}, 34 + 5 * 8),
        ({}, {"tensor": 4}, 10 + 6 + 5 * 2),
        ({}, {"tensor": 4, "sequence_parallel": True}, Fraction(34, 4) + 5 * 2),
        ({"recompute": "selective"}, {}, 34),
        ({"recompute": "selective"}, {"tensor": 4}, 10 + 6),
        ({"recompute": "selective"}, {"tensor": 4, "sequence_parallel": True}, Fraction(34, 4)),
        ({"recompute": "full"}, {"tensor": 4}, 2),
        ({"recompute": "full"}, {"tensor": 4, "sequence_parallel": True}, Fraction(2, 4)),
        ({"precision": "fp32", "recompute": "full"}, {}, 4),
    ],
)
def test_a_layer_keeps_what_table_2_says(
    keys: dict[str, Any], degrees: dict[str, Any], expected: int | Fraction
) -> None:
    """One layer and micro-batch keep s b h times the factor of Korthikanti et al., table 2."""
    model = {"parameters": 1000, "layers": 1, "hidden": 64, "heads": 8}
    run = training(model, sequence=64, micro_batch=3, **keys)
    assert 64 * 3 * 64 * expected == activations(memory.per_gpu(run, split(**degrees)))


@pytest.mark.parametrize(
    ("degrees", "batches", "first", "together"),
    [
        ({"pipeline": 4}, None, 4, 10),
        ({"pipeline": 4}, 3, 3, 9),
        ({"pipeline": 4}, 1, 1, 4),
        ({"pipeline": 4, "interleave": 2}, None, Fraction(11, 2), 16),
        ({"pipeline": 4, "interleave": 2}, 5, 5, Fraction(31, 2)),
        ({"pipeline": 4, "data": 2}, 4, 2, 7),
    ],
)
def test_micro_batches_in_flight(
    degrees: dict[str, Any], batches: int | None, first: int | Fraction, together: int | Fraction
) -> None:
    """The first stage holds a micro-batch a stage, more when interleaved, and never more than the batch has."""
    model = {"parameters": 1000, "layers": 8, "hidden": 64, "heads": 8}
    tokens = ENOUGH if batches is None else batches * 16
    run = training(model, sequence=16, recompute="full", batch_tokens=tokens)
    stage = 16 * 2 * 64 * 2
    assert stage * first == activations(memory.per_gpu(run, split(**degrees)))
    assert stage * together == activations(memory.replica(run, split(**degrees)))


def test_context_parallelism_divides_the_tokens_of_a_gpu() -> None:
    """A GPU keeps the activations of its part of the sequence, whose scores still look at all of it."""
    run = training(LLAMA_65B, sequence=4096)
    whole, half = (memory.per_gpu(run, split(context=degree, data=2 // degree)) for degree in (1, 2))
    assert activations(whole) == 2 * activations(half)
    assert states(whole) == states(half)


@pytest.mark.parametrize("missing", ["layers", "hidden", "heads"])
def test_without_the_shape_only_states_are_known(missing: str) -> None:
    """A model of unknown shape has no activations, and its total is that of the states."""
    model = {key: value for key, value in LLAMA_65B.items() if key != missing}
    need = memory.per_gpu(training(model, sequence=2048), split(tensor=8))
    assert need.activations is None
    assert states(need) == need.total.value


def test_states_that_fit_without_activations_are_no_answer() -> None:
    """Whether a run fits is not known while its activations are not, unless the states are too large already."""
    run = training({"parameters": 65 * GIGA}, {"tensor": 8})
    assert fit(run, gpu(80), given_(2048), None).fits is None
    assert fit(run, gpu(40), given_(2048), None).fits is False
    found = fit(training({"parameters": 65 * GIGA}), gpu(80), given_(2048), given_(8))
    assert (found.fits, found.split.tensor.value, found.split.pipeline.value) == (None, 8, 1)


def test_states_that_fill_the_memory_fit() -> None:
    """18 bytes a parameter of 10^9 are 18 GB: no byte too many for a GPU of 18 GB."""
    run = training({"parameters": GIGA}, {}, zero=0)
    assert fit(run, gpu(18), given_(1), None).fits is None
    assert fit(run, gpu(17), given_(1), None).fits is False


def test_unknown_memory_is_no_answer() -> None:
    """On a GPU of unknown memory nothing is cut up and nothing said."""
    found = fit(training(LLAMA_65B, sequence=2048), gpu(None), given_(2048), given_(8))
    assert (found.fits, found.gpu_memory, found.split.tensor.value, found.warning) == (None, None, 1, None)


def test_experts_are_spread_over_replicas_that_there_are() -> None:
    """Three replicas hold six experts each for themselves or two each: a third of them, not a half."""
    found = fit(training(SIX_EXPERTS, zero=0), gpu(80), given_(6), given_(2)).split
    assert (found.tensor.value, found.data.value, found.expert.value) == (2, 3, 3)


def test_a_found_split_says_why_smaller_ones_do_not_do() -> None:
    """With sequence parallelism, tensor parallelism divides what full recomputation keeps: four ways fit, two not."""
    model = {"parameters": GIGA, "layers": 4, "hidden": 1024, "heads": 8}
    run = training(model, recompute="full", sequence=10**6, batch_tokens=10**6)
    found = fit(run, gpu(9), given_(4), given_(4))
    assert (found.split.tensor.value, found.split.pipeline.value) == (4, 1)
    assert found.reasons[0].startswith("tensor 2 x pipeline 1 does not fit")


def test_degrees_that_would_suit_the_rest_are_named() -> None:
    """On four GPUs and two stages a tensor degree is at most two, though sixteen heads have more divisors."""
    run = training({"parameters": GIGA, "layers": 4, "hidden": 1024, "heads": 16}, {"tensor": 3, "pipeline": 2})
    with pytest.raises(Infeasible, match="tensor 3 does not divide the 16 attention heads; 2 does"):
        fit(run, gpu(), given_(4), given_(4))


def test_the_first_number_of_gpus_that_holds_the_model_is_found() -> None:
    """Each of four GPUs holds half of 4 G dense parameters and a quarter of 6 G in experts, 18 bytes each: 63 GB.

    Of six GPUs each holds a sixth of the experts: 54 GB.
    """
    run = training(SIX_EXPERTS, zero=0)
    with pytest.raises(Infeasible, match=r"needs 63\.0 GB"):
        fit(run, gpu(60), given_(4), given_(2))
    assert first_fitting(run, gpu(60), given_(4), given_(2), range(2, 100, 2)) == 6


def test_a_found_split_says_why_less_does_not_do() -> None:
    """Each reason names the split, what is missing, the largest term and a change; sequence parallelism is told."""
    found = fit(training(LLAMA_65B, sequence=2048, recompute="selective"), gpu(80), given_(2048), given_(8))
    assert (found.split.tensor.value, found.split.pipeline.value, found.split.sequence_parallel) == (8, 1, True)
    assert found.reasons[0] == (
        "tensor 4 x pipeline 1 does not fit: the fullest GPU needs 109.7 GB but has 80.0 GB, a shortfall of 29.7 GB; "
        "gradients take 65.3 GB; `zero: 2` would fit"
    )
    assert "sequence parallelism is on" in found.reasons[-1]


def test_a_split_over_two_expert_degrees_is_named_with_them() -> None:
    """Of four GPUs two hold the same experts: the refused split says that it spreads them over two."""
    with pytest.raises(Infeasible, match=r"tensor 2 x pipeline 1 x expert 2 does not fit"):
        fit(training(SIX_EXPERTS, zero=0), gpu(60), given_(4), given_(2))


def test_a_found_split_is_marked_as_chosen() -> None:
    """Its degrees are assumptions that a search has found, and not values of the reference that they cite."""
    found = fit(training(LLAMA_65B, sequence=2048, recompute="selective"), gpu(80), given_(2048), given_(8)).split
    origins = [
        degree.origin for degree in (found.tensor, found.pipeline, found.interleave, found.context, found.expert)
    ]
    assert [isinstance(origin, Assumed) and origin.chosen for origin in origins] == [True] * 5


def test_a_model_that_one_gpu_holds_is_not_cut() -> None:
    """Nothing is said then: no split was refused, and without tensor parallelism there is no sequence parallelism."""
    small = {"parameters": 10**9, "layers": 16, "hidden": 2048, "heads": 16}
    found = fit(training(small, sequence=2048, recompute="selective"), gpu(80), given_(16), given_(8))
    assert (found.split.tensor.value, found.split.pipeline.value, found.split.sequence_parallel) == (1, 1, False)
    assert found.reasons == ()


def test_a_server_of_unknown_size_has_eight_gpus() -> None:
    """Tensor parallelism goes up to eight GPUs where the server is not known."""
    run = training(LLAMA_65B, sequence=2048, recompute="selective")
    assert fit(run, gpu(80), given_(2048), None).split.tensor.value == 8


def test_experts_are_spread_before_the_model_is_cut() -> None:
    """A mixture of experts takes expert parallelism, only as much as needed."""
    found = fit(training(MIXTRAL, sequence=4096, recompute="selective"), gpu(80), given_(64), given_(8))
    less = split(tensor=found.split.tensor.value, expert=found.split.expert.value // 2, data=found.split.data.value)
    assert found.split.pipeline.value == 1
    assert found.split.expert.value > 1
    less = less._replace(sequence_parallel=found.split.sequence_parallel)
    assert memory.per_gpu(training(MIXTRAL, sequence=4096, recompute="selective"), less).total.value > 80 * GIGA


@pytest.mark.parametrize(("model", "gpus"), [(LLAMA_405B, 16384), (DEEPSEEK_V3, 2048)])
def test_published_clusters_hold_their_models(model: dict[str, int], gpus: int) -> None:
    """Models whose layers no usual number of stages divides are cut up all the same."""
    run = training(model, sequence=4096, recompute="selective", batch_tokens=16 * 2**20)
    assert fit(run, gpu(80), given_(gpus), given_(8)).fits is True


def test_embedding_and_output_projection_take_the_place_of_layers() -> None:
    """Llama 3.1 405B in 16 stages of 8 chunks, as Megatron-Bridge runs it on 256 GB200: 128 places for 126 layers."""
    found = fit(training(LLAMA_405B, {"tensor": 4, "pipeline": 16, "interleave": 8}), gpu(192), given_(256), given_(8))
    assert (found.split.pipeline.value, found.split.interleave.value, found.split.data.value) == (16, 8, 4)


def test_unequal_stages_are_told_and_the_fullest_counts() -> None:
    """126 layers over 16 stages put 8 layers into the fullest, of 15.75 such stages."""
    run = training(LLAMA_405B, {"tensor": 8, "pipeline": 16}, sequence=8192, recompute="selective", zero=0)
    found = fit(run, gpu(192), given_(16384), given_(8))
    assert found.warning is not None
    assert found.warning.endswith("126 layers make 16 unequal stages; the fullest stage, with 8 layers, is used")
    assert found.per_gpu.weights.value == -(-2 * LLAMA_405B["parameters"] * 8 // (126 * 8))


def test_a_split_by_hand_that_is_too_large_is_a_warning() -> None:
    """By hand too large: what is missing, what takes most, and the least change that would do."""
    run = training(LLAMA_65B, {"tensor": 8}, sequence=2048, micro_batch=2)
    found = fit(run, gpu(80), given_(2048), given_(8))
    assert found.fits is False
    assert found.warning == (
        "the fullest GPU needs 111.1 GB but has 80.0 GB, a shortfall of 31.1 GB; activations take 61.7 GB; "
        "`zero: 2` would fit"
    )


@pytest.mark.parametrize(
    ("model", "degrees", "gpus", "message"),
    [
        (LLAMA_65B, {"tensor": 6}, 2016, "tensor 6 does not divide the 64 attention heads; 4 or 8 does"),
        (LLAMA_65B, {"tensor": 8, "pipeline": 5}, 2048, "= 40 GPUs; 2040 or 2080 GPUs are"),
        (LLAMA_65B, {"tensor": 8, "pipeline": 4}, 16, "= 32 GPUs; 32 GPUs are"),
        (LLAMA_65B, {"pipeline": 83}, 8300, "output projection included, into more pieces than there are; at most 82"),
        (LLAMA_65B, {"expert": 2}, 16, "expert 2 on a model that has no experts; remove it"),
        (MIXTRAL, {"expert": 3}, 16, "expert 3 does not divide the 16 GPUs of data x context parallelism; 2 or 4 does"),
        (MIXTRAL, {"expert": 16}, 16, "expert 16 does not divide the 8 experts; 8 does"),
    ],
)
def test_degrees_that_do_not_divide_are_refused(
    model: dict[str, int], degrees: dict[str, int], gpus: int, message: str
) -> None:
    """The message says which number is wrong and the nearest that works, at a place of the plan."""
    with pytest.raises(Infeasible, match=re.escape(message)) as caught:
        fit(training(model, degrees), gpu(), given_(gpus), given_(8))
    assert isinstance(caught.value.because.origin, Given)


def test_a_model_that_nothing_holds_is_refused() -> None:
    """The refusal names the best split, what is missing and a change."""
    run = training(LLAMA_65B, sequence=2048)
    with pytest.raises(Infeasible) as caught:
        fit(run, gpu(40), given_(8), given_(8))
    assert caught.value.message == (
        "no split of the model fits on 8 GPUs. tensor 8 x pipeline 1 does not fit: the fullest GPU needs 166.0 GB but "
        "has 40.0 GB, a shortfall of 126.0 GB; optimizer states take 97.9 GB, and no change of recomputation, "
        "ZeRO stage, offloading, micro-batch or sequence is sufficient"
    )
    assert caught.value.because is run.model.parameters


def test_activations_that_nothing_holds_point_to_the_sequence() -> None:
    """When activations are what is too large, the sequence is to blame."""
    run = training(LLAMA_65B, sequence=2**20)
    with pytest.raises(Infeasible) as caught:
        fit(run, gpu(80), given_(2048), given_(8))
    assert caught.value.because is run.sequence
    assert "tensor 8 x pipeline 1 x context 256 does not fit" in caught.value.message
    assert "`flash_attention: true` would fit" in caught.value.message


def test_every_number_has_an_origin_and_follows_from_its_formula() -> None:
    """Every figure is given, cited, assumed or follows from its inputs; cited ones name a document."""
    run = training(MIXTRAL, sequence=4096, batch_tokens=4 * 2**20, precision="fp8")
    found = fit(run, gpu(192), given_(256), given_(8))
    assert found.per_gpu.activations is not None
    figures = list(walk(found.per_gpu.total, found.replica.total, found.split.data))
    for figure in figures:
        match figure.origin:
            case Derived(formula=formula, inputs=inputs):
                assert formula.plain(*(value.value for _, value in inputs)) == figure.value
            case Cited(references=references) | Assumed(references=references):
                assert references
    node = Trees(lambda figure: f"{figure.value} {figure.unit}").tree("total", found.per_gpu.total)
    assert "Korthikanti" in text(Explanation({"total": node}, ()))
