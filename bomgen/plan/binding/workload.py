"""Binding of the workload block of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from math import ceil, exp, log, sqrt
from statistics import NormalDist

from bomgen.catalog import part_records, parts
from bomgen.catalog.checkpoint_names import format_of_checkpoint
from bomgen.catalog.files import Catalog
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, difference, formula, product, require, sum_of
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.types import (
    DPO,
    ESTIMATE,
    ONE_POOL,
    PPO,
    PREDICTED,
    TWO_POOLS,
    Compute,
    Degrees,
    Experience,
    Inference,
    OwnSpeed,
    OwnStep,
    Parallelism,
    Reinforcement,
    Targets,
    Training,
    Tuning,
    UseCase,
)

DEGREES = ("tensor", "pipeline", "interleave", "context", "expert")
WIDE = ("fp64", "fp32", "tf32", "bf16", "fp16")
"""Precisions of 16 bits and more."""
FSDP_STACKS = ("composer", "deepspeed", "fms-fsdp", "nemo-automodel", "torchtitan", "torchtitan-deepep")
"""Stacks that shard weights, too, unless told otherwise."""
FUSED_STACKS = ("megatron", "nemo-2", "primus", "rocm-nemo")
"""Beginnings of the names of Megatron and of stacks on top of it, which fuse the kernels of norms and activations."""
PAIR = Figure(2, "count", Assumed(message("pair-of-responses"), message("pair-of-responses-why"), (), "high"))
"""Responses per prompt of dpo: one that is chosen, one that is rejected."""
Z95 = 1.6448536269514722
"""Standard deviations between the mean and the 95th percentile of a normal distribution."""
MOST_P95_OVER_MEAN = exp(Z95**2 / 2)
"""Largest ratio of the 95th percentile of a log-normal distribution to its mean."""


def training(section: PlanSection, gpu: parts.Gpu | None) -> Training | None:
    """Return a training run on a GPU; None when it is wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    return _run(section, gpu, model, section.figure("tokens", "tokens"))


def _run(
    section: PlanSection, gpu: parts.Gpu | None, model: parts.Model | None, tokens: Figure | None
) -> Training | None:
    achieved = section.figure("achieved_tflops", "TFLOP/s")
    token_rate = section.figure("tokens_per_second_per_gpu", "tokens/s")
    measured = achieved is not None or token_rate is not None
    precision = section.word("precision", "training-precision")
    usual = _usual_mfu(model, precision)
    predicted = section.word("mfu", usual) if section.data.get("mfu") == PREDICTED else None
    mfu = (
        section.catalog.assumption(usual) if predicted else section.figure("mfu", "share", None if measured else usual)
    )
    flash = section.yes_or_no("flash_attention", "training-flash-attention")
    if gpu and gpu.flash_attention and not section.has("flash_attention"):
        flash = gpu.flash_attention
    pure = section.data.get("master_weights") is False and precision.value not in ("fp64", "fp32", "tf32")
    usual_batch = "fine-tuning-batch-tokens" if section.path[-1] == "fine_tuning" else "training-batch-tokens"
    if section.data.get("goodput") == ESTIMATE:
        goodput = section.word("goodput", "training-goodput")
    else:
        goodput = section.quantity("goodput", "share", "training-goodput")
    run = partial(
        Training,
        mark=section.mark,
        epochs=section.quantity("epochs", "epochs", "training-epochs"),
        target_days=section.figure("target_days", "days"),
        precision=precision,
        mfu=mfu,
        achieved_tflops=achieved,
        tokens_per_second_per_gpu=token_rate,
        attention=section.word("attention", "training-attention"),
        embedding=section.word("embedding", "training-embedding"),
        recompute=section.word("recompute", "training-recompute"),
        flash_attention=flash,
        parallel_efficiency=section.quantity("parallel_efficiency", "share", "training-parallel-efficiency"),
        goodput=goodput,
        sequence=section.figure("sequence", "tokens") or (_usual_sequence(section, model) if model else None),
        micro_batch=section.quantity("micro_batch", "count", "training-micro-batch"),
        batch_tokens=section.quantity("batch_tokens", "tokens", usual_batch),
        optimizer=section.word("optimizer", "training-optimizer"),
        gradient_precision=section.word(
            "gradient_precision", "training-gradient-precision" + ("-bf16" if pure else "")
        ),
        zero=section.quantity(
            "zero", "count", "training-zero" + ("-fsdp" if section.data.get("stack") in FSDP_STACKS else ""), zero=True
        ),
        parallelism=_parallelism(section.below("parallelism")),
        flops_per_parameter_token=section.catalog.assumption("flops-per-parameter-token"),
        recompute_flops_per_parameter_token=section.catalog.assumption("recompute-flops-per-parameter-token"),
        published_runs=partial(part_records.published_runs, Catalog()),
        offload=tuple(section.data.get("offload", ())),
        master_weights=_given_word(section, "master_weights"),
        activation_fusion=_given_word(section, "activation_fusion"),
        predicted=predicted,
        stack=section.word("stack", "") if section.has("stack") else None,
        measured=tuple(map(_own_step, section.items("measured"))),
        network=section.catalog.assumption("prediction-network"),
        block=str(section.path[-1]),
    )
    return None if model is None or tokens is None else run(model=model, tokens=tokens)


def _given_word(section: PlanSection, key: str) -> Figure | None:
    return section.yes_or_no(key, "") if section.has(key) else None


def _own_step(section: PlanSection) -> OwnStep:
    gpus = require(section.figure("gpus", "count"), "the schema asks for the GPUs")
    step = require(section.figure("step", "days"), "the schema asks for the step")
    return OwnStep(gpus=gpus, step=step, **_degrees(section, DEGREES))


def _degrees(section: PlanSection, keys: Sequence[str]) -> dict[str, Figure]:
    return {key: section.quantity(key, "count", "parallelism-degree") for key in keys}


def _usual_mfu(model: parts.Model | None, precision: Figure) -> str:
    """Return the assumption for the utilisation: by kind of model, for mixtures of experts by precision."""
    if model is None or not model.moe:
        return "training-mfu"
    return "training-mfu-experts" if precision.value in WIDE else "training-mfu-experts-narrow"


def _usual_sequence(section: PlanSection, model: parts.Model) -> Figure | None:
    """Return the usual training sequence length, at most a model's context; None where that is unknown."""
    context = model.shape.get("context")
    if context is None:
        return None
    usual = section.catalog.assumption("training-sequence")
    return usual if usual.value < context.value else context


def fine_tuning(section: PlanSection, gpu: parts.Gpu | None) -> Training | None:
    """Return a fine-tuning run on a GPU; None when it is wrong, which the section notes."""
    run = training(section, gpu)
    modules = section.data.get("target_modules")
    tuning = Tuning(
        method=section.word("method", "fine-tuning-method"),
        rank=section.quantity("rank", "count", "fine-tuning-rank"),
        modules=tuple(str(module) for module in modules) if modules else None,
        modules_mark=section.value_mark("target_modules") if modules else section.mark,
        frozen_flops_per_parameter_token=section.catalog.assumption("frozen-flops-per-parameter-token"),
    )
    fused = str(section.data.get("stack", "")).startswith(FUSED_STACKS)
    usual = "fine-tuning-activation-fusion" + ("-megatron" if fused else "")
    fusion = section.yes_or_no("activation_fusion", usual)
    return run._replace(tuning=tuning, activation_fusion=fusion) if run else None


def reinforcement(section: PlanSection, gpu: parts.Gpu | None) -> tuple[Reinforcement | None, Training | None]:
    """Return reinforcement learning and the updates of its policy; None when wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    method = section.word("method", "reinforcement-method")
    prompt = section.figure("prompt_tokens", "tokens")
    response, spread, _ = _lengths(section, "response_tokens")
    steps, prompts = section.figure("steps", "steps"), section.figure("prompts", "count")
    responses = PAIR if method.value == DPO else section.quantity("responses", "count", "reinforcement-responses")
    if model is None or prompt is None or response is None or steps is None or prompts is None:
        return None, None
    spread = spread or section.catalog.assumption("inference-length-spread")
    longest = section.figure("longest_response", "tokens") or longest_of_step(response, spread, prompts, responses)
    sequence = context_of_request(prompt, response)
    updates = section.quantity("updates", "count", "reinforcement-updates")
    tokens = tokens_of_reinforcement(steps, prompts, responses, sequence)
    run = _run(section, gpu, model, tokens)
    assumed = section.catalog.assumption
    generation, refit = section.below("generation"), section.word("refit", "reinforcement-refit")
    found = Reinforcement(
        mark=section.mark,
        method=method,
        reference=section.yes_or_no("reference", "reinforcement-reference"),
        reward=None if method.value == DPO else section.part("reward", "model", part_records.model),
        critic=(section.part("critic", "model", part_records.model) or model) if method.value == PPO else None,
        steps=steps,
        prompts=prompts,
        responses=responses,
        prompt_tokens=prompt,
        response_tokens=response,
        response_spread=spread,
        longest=longest,
        sequence=sequence,
        updates=updates,
        target_days=section.figure("target_days", "days"),
        schedule=section.word("schedule", "reinforcement-schedule"),
        refit=refit,
        generation=None if method.value == DPO else _generation(generation, model, prompt, response),
        pools=str(section.data.get("pools", ONE_POOL)),
        generation_gpus=generation.figure("gpus", "GPUs"),
        experience=Experience(
            decode=assumed("reinforcement-decode"),
            update=assumed("reinforcement-update"),
            log_probabilities=assumed("reinforcement-log-probabilities"),
            experts=assumed("reinforcement-experts"),
            spread=assumed("reinforcement-spread"),
            refit=assumed(f"reinforcement-{refit.value}-constant"),
            refit_rate=assumed(f"reinforcement-{refit.value}-rate"),
        ),
    )
    if run is None:
        return found, None
    return found, run._replace(
        batch_tokens=tokens_of_update(prompts, responses, sequence, updates),
        sequence=context_of_request(prompt, longest),
        target_days=None,
        predicted=method,
    )


def _generation(section: PlanSection, model: parts.Model, prompt: Figure, response: Figure) -> Inference:
    """Return the engine that generates responses; it holds requests of mean length, since KV caches grow by blocks."""
    engine = section.word("engine", "inference-engine")
    return Inference(
        mark=section.mark,
        model=model,
        precision=section.word("precision", "training-precision"),
        kv_precision=section.word("kv_precision", "inference-kv-precision"),
        context=context_of_request(prompt, response),
        concurrency=None,
        batch=None,
        output_tokens=response,
        requests_per_minute=None,
        tokens_per_second_per_gpu=None,
        engine=engine,
        memory_share=section.quantity("memory_share", "share", f"inference-memory-share-{engine.value}"),
        degrees=_replica_degrees(section.below("parallelism")),
        drafted=None,
        accepted=None,
        prompt_tokens=prompt,
    )


def _parallelism(section: PlanSection) -> Parallelism | None:
    if not section.data:
        return None
    sequence_parallel = section.yes_or_no("sequence_parallel", "training-sequence-parallel")
    return Parallelism(sequence_parallel=sequence_parallel, mark=section.mark, **_degrees(section, DEGREES))


def inference(section: PlanSection) -> Inference | None:
    """Return a model to be served; None when it is wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    engine = section.word("engine", "inference-engine")
    drafted = accepted = None
    if section.has("speculative"):
        drafts = section.below("speculative")
        drafted = drafts.quantity("drafted", "count", "inference-drafted")
        accepted = drafts.quantity("accepted", "ratio", "inference-accepted")
    cases = tuple(map(_use_case, section.items("use_cases")))
    prompt, prompt_spread, longest_prompt = _lengths(section, "prompt_tokens")
    output, output_spread, longest_output = _lengths(section, "output_tokens")
    if cases:
        prompt, prompt_spread = _of_cases([(case.share, case.prompt_tokens) for case in cases])
        output, output_spread = _of_cases([(case.share, case.output_tokens) for case in cases])
    context = section.figure("context", "tokens")
    if context is None and longest_prompt and longest_output:
        context = context_of_request(longest_prompt, longest_output)
    context = context or (model.shape.get("context") if model else None)
    if prompt is None and context and output and output.value < context.value:
        prompt = prompt_tokens(context, output)
    pools = section.data.get("pools")
    serving = partial(
        Inference,
        mark=section.mark,
        precision=_served_precision(section, model),
        kv_precision=section.word("kv_precision", "inference-kv-precision"),
        context=context,
        prompt_tokens=prompt,
        prompt_spread=prompt_spread or section.catalog.assumption("inference-length-spread"),
        output_spread=output_spread or section.catalog.assumption("inference-length-spread"),
        use_cases=cases,
        concurrency=section.figure("concurrency", "requests"),
        batch=section.figure("batch", "requests"),
        output_tokens=output,
        requests_per_minute=section.figure("requests_per_minute", "requests/min"),
        peak=section.quantity("peak", "ratio", "inference-peak"),
        targets=_targets(section.below("targets")) if section.has("targets") else None,
        prefix_cache=section.figure("prefix_cache", "share"),
        tokens_per_second_per_gpu=section.figure("tokens_per_second_per_gpu", "tokens/s"),
        engine=engine,
        memory_share=section.quantity("memory_share", "share", f"inference-memory-share-{engine.value}"),
        degrees=_replica_degrees(section.below("parallelism")) or _degrees_of_pool(section, "decode"),
        prefill=_degrees_of_pool(section, "prefill"),
        pools=TWO_POOLS if isinstance(pools, dict) or section.data.get("disaggregated") else str(pools or ONE_POOL),
        drafted=drafted,
        accepted=accepted,
        measured=tuple(map(_own_speed, section.items("measured"))),
        headroom=section.catalog.assumption("inference-headroom"),
        network=section.catalog.assumption("prediction-network"),
    )
    return None if model is None else serving(model=model)


def _served_precision(section: PlanSection, model: parts.Model | None) -> Figure:
    """Return the format of the weights: from the plan, else that of the checkpoint by its name or as published."""
    if section.has("precision"):
        return section.word("precision", "inference-precision")
    usual = section.catalog.assumption("inference-precision")
    named = format_of_checkpoint(section.text("model") or "")
    if model and named and section.text("model") != model.identity.id:
        return replace(usual, value=named)
    return replace(usual, value=model.checkpoint.value) if model and model.checkpoint else usual


def _lengths(section: PlanSection, key: str) -> tuple[Figure | None, Figure | None, Figure | None]:
    """Return the mean tokens of a request, their spread, and the tokens of a long request; None: not in the plan."""
    if not isinstance(section.data.get(key), dict):
        mean = section.figure(key, "tokens", zero=True)
        return mean, None, mean
    lengths = section.below(key)
    mean, long = lengths.figure("mean", "tokens"), lengths.figure("p95", "tokens")
    if mean is None or long is None:
        return mean, None, mean
    ratio = float(long.value / mean.value)
    if not 1 <= ratio <= MOST_P95_OVER_MEAN:
        text = f"a 95th percentile of {long.value} tokens does not fit a mean of {mean.value}; from {mean.value} to "
        lengths.problem("p95", text + f"{int(mean.value * MOST_P95_OVER_MEAN)} tokens", "range")
        return mean, None, mean
    return mean, spread_of_lengths(mean, long), long


def _use_case(section: PlanSection) -> UseCase:
    share, prompt, output = (
        section.figure("share", "share"),
        section.figure("prompt_tokens", "tokens"),
        section.figure("output_tokens", "tokens", zero=True),
    )
    why = "the schema asks for it"
    return UseCase(require(share, why), require(prompt, why), require(output, why))


def _of_cases(cases: Sequence[tuple[Figure, Figure]]) -> tuple[Figure, Figure]:
    """Return the mean tokens of requests of several kinds, and their standard deviation over it."""
    mean = reduce(add_tokens, (tokens_of_case(*case) for case in cases))
    square = reduce(add_squares, (square_of_case(share, tokens, tokens) for share, tokens in cases))
    return mean, spread_of_cases(mean, square)


def _targets(section: PlanSection) -> Targets:
    return Targets(
        mark=section.mark,
        ttft=section.figure("ttft", "s"),
        tpot=section.figure("tpot", "s"),
        percentile=section.quantity("percentile", "share", "inference-percentile"),
    )


def _own_speed(section: PlanSection) -> OwnSpeed:
    why = "the schema asks for it"
    return OwnSpeed(
        mark=section.mark,
        concurrency=require(section.figure("concurrency", "requests"), why),
        prompt_tokens=require(section.figure("prompt_tokens", "tokens"), why),
        output_tokens=require(section.figure("output_tokens", "tokens"), why),
        tpot=section.figure("tpot", "s"),
        ttft=section.figure("ttft", "s"),
        tokens_per_second_per_gpu=section.figure("tokens_per_second_per_gpu", "tokens/s"),
    )


def _degrees_of_pool(section: PlanSection, pool: str) -> Degrees | None:
    pools = section.data.get("pools")
    return (
        _replica_degrees(section.below("pools").below(pool).below("parallelism")) if isinstance(pools, dict) else None
    )


def _replica_degrees(section: PlanSection) -> Degrees | None:
    if not section.data:
        return None
    attention = str(section.data.get("attention", Degrees._field_defaults["attention"]))
    expert = section.figure("expert", "count")
    return Degrees(mark=section.mark, attention=attention, expert=expert, **_degrees(section, ("tensor", "pipeline")))


prompt_tokens = difference("prompt_tokens", "tokens", "context", "output_tokens")
"""Tokens of a request's prompt."""
context_of_request = sum_of("context_of_request", "tokens", "prompt", "output_tokens")
"""Tokens of a long request: a long prompt and a long output."""


tokens_of_reinforcement = product("tokens_of_reinforcement", "tokens", "steps", "prompts", "responses", "sequence")
"""Tokens of all prompts and responses of a run."""


@formula("tokens")
def tokens_of_update(prompts: int, responses: int, sequence: int, updates: int) -> int:
    """Tokens of an optimizer step, of which a step has one or several."""
    return ceil(Fraction(prompts * responses * sequence) / updates)


@formula("tokens", "The largest of that many lengths of a log-normal distribution, by its quantile")
def longest_of_step(response_tokens: int, spread: float, prompts: int, responses: int) -> int:
    """Tokens of the longest response of a step, at least the mean."""
    return ceil(response_tokens * max(1.0, _over_mean(spread, 1 - 1 / (prompts * responses + 1))))


def _over_mean(spread: float, share: float) -> float:
    """Return the length that a share of log-normal lengths do not exceed, over their mean."""
    deviation = sqrt(log(1 + float(spread) ** 2))
    return exp(deviation * NormalDist().inv_cdf(share) - deviation**2 / 2)


tokens_of_case = product("tokens_of_case", "tokens", "share", "tokens")
"""Share of the mean tokens that requests of one kind have."""
add_tokens = sum_of("add_tokens", "tokens", "tokens", "more")
"""Mean tokens of several kinds of requests."""
square_of_case = product("square_of_case", "count", "share", "tokens", "tokens_again")
"""Share of the mean square of the tokens."""
add_squares = sum_of("add_squares", "count", "square", "more")
"""Mean square of the tokens of several kinds of requests."""


@formula("ratio")
def spread_of_cases(mean: Fraction, square: Fraction) -> float:
    """Standard deviation of lengths over their mean."""
    return sqrt(max(0.0, float(square / mean**2) - 1)) if mean else 0.0


@formula("ratio", "A log-normal distribution with this mean and 95th percentile")
def spread_of_lengths(mean: int, long: int) -> float:
    """Standard deviation of lengths over their mean."""
    return sqrt(exp((Z95 - sqrt(max(0.0, Z95**2 - 2 * log(long / mean)))) ** 2) - 1)


def compute(section: PlanSection) -> Compute | None:
    """Return the target of peak computing power; None when it is wrong, which the section notes."""
    target = section.figure("target", "FLOP/s")
    if target is None:
        return None
    return Compute(
        mark=section.mark,
        target=target,
        precision=section.word("precision", "compute-precision"),
        sparsity=section.word("sparsity", "compute-sparsity"),
    )
