"""Binding of the workload block of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from math import ceil, exp, log, sqrt
from statistics import NormalDist

from bomgen.catalog import part_records, parts
from bomgen.catalog.files import Catalog
from bomgen.catalog.models import format_of_checkpoint
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, difference, formula, product, sum_of
from bomgen.core.units import MINUTES_A_DAY
from bomgen.plan import types
from bomgen.plan.binding.section import WORD, PlanSection
from bomgen.plan.schema import declaration_at

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


def training(section: PlanSection, gpu: parts.Gpu | None) -> types.Training | None:
    """Return a training run on a GPU; None when it is wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    return _run(section, gpu, model, section.figure("tokens"))


def _run(
    section: PlanSection, gpu: parts.Gpu | None, model: parts.Model | None, tokens: Figure | None
) -> types.Training | None:
    keys, degrees = section.keys(types.Training), section.below("parallelism")
    precision = keys["precision"]
    measured = keys["achieved_tflops"] or keys["tokens_per_second_per_gpu"]
    usual_mfu = "training-mfu"
    if model and model.moe:
        usual_mfu += "-experts" if precision.value in WIDE else "-experts-narrow"
    predicted = section.figure("mfu", unit=WORD) if section.data.get("mfu") == types.PREDICTED else None
    mfu = section.catalog.assumption(usual_mfu) if predicted else section.figure("mfu", None if measured else usual_mfu)
    flash = section.setting("flash_attention")
    if gpu and gpu.flash_attention and not section.has("flash_attention"):
        flash = gpu.flash_attention
    sequence, context = section.figure("sequence"), model.shape.get("context") if model else None
    if sequence is None and context:
        sequence = min(context, section.catalog.assumption("training-sequence"), key=lambda tokens: tokens.value)
    pure = section.data.get("master_weights") is False and precision.value not in ("fp64", "fp32", "tf32")
    run = partial(
        types.Training,
        **keys,
        mark=section.mark,
        mfu=mfu,
        flash_attention=flash,
        goodput=section.setting("goodput", unit=WORD if section.data.get("goodput") == types.ESTIMATE else None),
        sequence=sequence,
        gradient_precision=section.setting(
            "gradient_precision", "training-gradient-precision" + ("-bf16" if pure else "")
        ),
        zero=section.setting("zero", "training-zero" + ("-fsdp" if section.data.get("stack") in FSDP_STACKS else "")),
        parallelism=types.Parallelism(**degrees.keys(types.Parallelism), mark=degrees.mark) if degrees.data else None,
        flops_per_parameter_token=section.catalog.assumption("flops-per-parameter-token"),
        recompute_flops_per_parameter_token=section.catalog.assumption("recompute-flops-per-parameter-token"),
        published_runs=partial(part_records.published_runs, Catalog()),
        predicted=predicted,
        measured=tuple(types.OwnStep(**step.keys(types.OwnStep)) for step in section.items("measured")),
        network=section.catalog.assumption("prediction-network"),
        block=str(section.path[-1]),
    )
    return None if model is None or tokens is None else run(model=model, tokens=tokens)


def fine_tuning(section: PlanSection, gpu: parts.Gpu | None) -> types.Training | None:
    """Return a fine-tuning run on a GPU; None when it is wrong, which the section notes."""
    run = training(section, gpu)
    modules = section.data.get("target_modules")
    tuning = types.Tuning(
        **section.keys(types.Tuning),
        modules=tuple(str(module) for module in modules) if modules else None,
        modules_mark=section.value_mark("target_modules") if modules else section.mark,
        frozen_flops_per_parameter_token=section.catalog.assumption("frozen-flops-per-parameter-token"),
    )
    fused = str(section.data.get("stack", "")).startswith(FUSED_STACKS)
    usual = "fine-tuning-activation-fusion" + ("-megatron" if fused else "")
    fusion = section.figure("activation_fusion", usual)
    return run._replace(tuning=tuning, activation_fusion=fusion) if run else None


def reinforcement(
    section: PlanSection, gpu: parts.Gpu | None
) -> tuple[types.Reinforcement | None, types.Training | None]:
    """Return reinforcement learning and the updates of its policy; None when wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    keys = section.keys(types.Reinforcement)
    method, steps, prompts, prompt = keys["method"], keys["steps"], keys["prompts"], keys["prompt_tokens"]
    response, spread, _ = _lengths(section, "response_tokens")
    responses = PAIR if method.value == types.DPO else section.setting("responses")
    if model is None or response is None:
        return None, None
    spread = spread or section.catalog.assumption("inference-length-spread")
    longest = section.figure("longest_response") or longest_of_step(response, spread, prompts, responses)
    sequence = context_of_request(prompt, response)
    tokens = tokens_of_reinforcement(steps, prompts, responses, sequence)
    run = _run(section._replace(declared=declaration_at(("workload", "training"))), gpu, model, tokens)
    assumed = section.catalog.assumption
    generation, refit = section.below("generation"), keys["refit"].value
    learning = types.Reinforcement(
        **keys,
        mark=section.mark,
        reward=None if method.value == types.DPO else section.part("reward", "model", part_records.model),
        critic=(section.part("critic", "model", part_records.model) or model) if method.value == types.PPO else None,
        responses=responses,
        response_tokens=response,
        response_spread=spread,
        longest=longest,
        sequence=sequence,
        generation=None if method.value == types.DPO else _generation(generation, model, prompt, response),
        generation_gpus=generation.figure("gpus"),
        experience=types.Experience(
            decode=assumed("reinforcement-decode"),
            update=assumed("reinforcement-update"),
            log_probabilities=assumed("reinforcement-log-probabilities"),
            experts=assumed("reinforcement-experts"),
            spread=assumed("reinforcement-spread"),
            refit=assumed(f"reinforcement-{refit}-constant"),
            refit_rate=assumed(f"reinforcement-{refit}-rate"),
        ),
    )
    if run is None:
        return learning, None
    return learning, run._replace(
        batch_tokens=tokens_of_update(prompts, responses, sequence, keys["updates"]),
        sequence=context_of_request(prompt, longest),
        target_days=None,
        predicted=method,
    )


def _generation(section: PlanSection, model: parts.Model, prompt: Figure, response: Figure) -> types.Inference:
    """Return the engine that generates responses; it holds requests of mean length, since KV caches grow by blocks."""
    keys = section.keys(types.Inference)
    return types.Inference(
        **keys,
        mark=section.mark,
        model=model,
        precision=section.setting("precision"),
        context=context_of_request(prompt, response),
        output_tokens=response,
        memory_share=section.setting("memory_share", f"inference-memory-share-{keys['engine'].value}"),
        degrees=_degrees(section),
        prompt_tokens=prompt,
    )


def inference(section: PlanSection) -> types.Inference | None:
    """Return a model to be served; None when it is wrong, which the section notes."""
    model = section.part("model", "model", part_records.model)
    keys = section.keys(types.Inference)
    drafts = section.below("speculative") if section.has("speculative") else None
    cases = tuple(types.UseCase(**case.keys(types.UseCase)) for case in section.items("use_cases"))
    prompt, prompt_spread, longest_prompt = _lengths(section, "prompt_tokens")
    output, output_spread, longest_output = _lengths(section, "output_tokens")
    if cases:
        prompt, prompt_spread = _of_cases([(case.share, case.prompt_tokens) for case in cases])
        output, output_spread = _of_cases([(case.share, case.output_tokens) for case in cases])
    context = section.figure("context")
    if context is None and longest_prompt and longest_output:
        context = context_of_request(longest_prompt, longest_output)
    context = context or (model.shape.get("context") if model else None)
    if prompt is None and context and output and output.value < context.value:
        prompt = prompt_tokens(context, output)
    if keys["tokens_per_day"] and output and output.value and keys["requests_per_minute"] is None:
        keys |= {"requests_per_minute": requests_of_batch(keys["tokens_per_day"], output), "peak": None}
    pools, targets, adapters = section.below("pools"), section.below("targets"), section.below("adapters")
    held, rank = adapters.figure("count"), adapters.figure("rank")
    kind, assumed = "mixture" if model and model.moe else "dense", section.catalog.assumption
    serving = partial(
        types.Inference,
        **keys,
        mark=section.mark,
        precision=_served_precision(section, model),
        context=context,
        prompt_tokens=prompt,
        prompt_spread=prompt_spread or section.catalog.assumption("inference-length-spread"),
        output_spread=output_spread or section.catalog.assumption("inference-length-spread"),
        use_cases=cases,
        output_tokens=output,
        targets=types.Targets(**targets.keys(types.Targets), mark=targets.mark) if section.has("targets") else None,
        memory_share=section.setting("memory_share", f"inference-memory-share-{keys['engine'].value}"),
        degrees=_degrees(section) or _degrees(pools.below("decode")),
        prefill=_degrees(pools.below("prefill")),
        pools=types.TWO_POOLS
        if isinstance(pools.given, dict) or section.is_set("disaggregated")
        else str(section.text("pools")),
        host_cache=_tier(section.below("cache_tiers"), "host"),
        nvme_cache=_tier(section.below("cache_tiers"), "nvme"),
        adapters=types.ServedAdapters(held, rank) if held and rank else None,
        drafted=drafts and drafts.figure("drafted"),
        accepted=drafts and drafts.figure("accepted"),
        measured=tuple(
            types.OwnSpeed(**speed.keys(types.OwnSpeed), mark=speed.mark) for speed in section.items("measured")
        ),
        headroom=assumed("inference-headroom"),
        margin=section.setting("margin", f"inference-margin-{kind}"),
        capacity_errors=types.CapacityErrors(
            low=assumed(f"inference-capacity-low-{kind}"),
            high=assumed(f"inference-capacity-high-{kind}"),
            unmeasured=assumed("inference-capacity-unmeasured"),
            over_servers=assumed("inference-over-servers"),
        ),
        network=section.catalog.assumption("prediction-network"),
    )
    return None if model is None else serving(model=model)


def _served_precision(section: PlanSection, model: parts.Model | None) -> Figure:
    """Return the format of the weights: from the plan, else that of the checkpoint by its name or as published."""
    if section.has("precision"):
        return section.setting("precision")
    usual = section.catalog.assumption("inference-precision")
    named = format_of_checkpoint(section.text("model") or "")
    if model and named and section.text("model") != model.identity.id:
        return replace(usual, value=named)
    return replace(usual, value=model.checkpoint.value) if model and model.checkpoint else usual


def _lengths(section: PlanSection, key: str) -> tuple[Figure | None, Figure | None, Figure | None]:
    """Return the mean tokens of a request, their spread, and the tokens of a long request; None: not in the plan."""
    if not isinstance(section.data.get(key), dict):
        mean = section.figure(key)
        return mean, None, mean
    lengths = section.below(key)
    mean, long = lengths.figure("mean"), lengths.figure("p95")
    if mean is None or long is None:
        return mean, None, mean
    ratio = float(long.value / mean.value)
    if not 1 <= ratio <= MOST_P95_OVER_MEAN:
        text = f"a 95th percentile of {long.value} tokens does not fit a mean of {mean.value}; from {mean.value} to "
        lengths.problem("p95", text + f"{int(mean.value * MOST_P95_OVER_MEAN)} tokens", "range")
        return mean, None, mean
    return mean, spread_of_lengths(mean, long), long


def _of_cases(cases: Sequence[tuple[Figure, Figure]]) -> tuple[Figure, Figure]:
    """Return the mean tokens of requests of several kinds, and their standard deviation over it."""
    mean = reduce(add_tokens, (tokens_of_case(*case) for case in cases))
    square = reduce(add_squares, (square_of_case(share, tokens, tokens) for share, tokens in cases))
    return mean, spread_of_cases(mean, square)


def _tier(section: PlanSection, name: str) -> types.CacheTier | None:
    return types.CacheTier(**section.below(name).keys(types.CacheTier)) if section.has(name) else None


def _degrees(section: PlanSection) -> types.Degrees | None:
    degrees = section.below("parallelism")
    return types.Degrees(**degrees.keys(types.Degrees), mark=degrees.mark) if degrees.data else None


prompt_tokens = difference("prompt_tokens", "tokens", "context", "output_tokens")
"""Tokens of a request's prompt."""


@formula("requests/min")
def requests_of_batch(tokens_per_day: Fraction, output_tokens: Fraction) -> Fraction:
    """Requests per minute at which an offline batch generates its output tokens in a day."""
    return Fraction(tokens_per_day) / output_tokens / MINUTES_A_DAY


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


def compute(section: PlanSection) -> types.Compute:
    """Return the target of peak computing power."""
    return types.Compute(**section.keys(types.Compute), mark=section.mark)
