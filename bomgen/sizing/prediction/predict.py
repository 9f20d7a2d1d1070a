"""Prediction of a training step and its range, and the search for the fastest splits of a run by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import islice
from math import exp, gcd, log, sqrt
from operator import add, mul
from typing import Any, NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Cited, Figure, Reference, formula, product, quotient, require, trace
from bomgen.fabric.clos.shape import divisors
from bomgen.plan.types import OwnStep, Training
from bomgen.sizing.model_work import Adapters, work_of_model, work_with_adapters
from bomgen.sizing.prediction import terms
from bomgen.sizing.prediction.coefficients import (
    ALL_GATHERS,
    FACTS,
    FIT,
    OVERLAPPED,
    SENT_ONCE,
    Members,
    Nearest,
    SoftwareStack,
    generation,
    inverse_efficiencies,
    kind_of_model,
    load,
    member,
    nearest_steps,
    newest_stack,
    stack_of,
)
from bomgen.sizing.prediction.terms import Machine, Split, Terms, Work, add_seconds, line_rate_terms
from bomgen.sizing.servers import GpuLinks, peak_flops
from bomgen.sizing.training import run as training
from bomgen.sizing.training import states
from bomgen.sizing.training.activations import FULL, SELECTIVE
from bomgen.sizing.training.memory import (
    FastestSplits,
    ModelSplit,
    TimedSplit,
    data_parallel,
    expert_degrees,
    fits_gpu,
    memory_needed,
    tensor_degrees,
)
from bomgen.sizing.training.parallelism import MemoryFit
from bomgen.sizing.training.run import TrainingRun
from bomgen.sizing.training.states import ParallelSplit, adapts

COVERAGES = (50, 90)
"""Percentages of unseen clusters that an interval covers."""
WIDE = max(COVERAGES)
UNMEASURED_FACTOR = 2.0
"""Least factor between a predicted time and the ends of its wide interval without measurements of the like.

So on accelerators without rows, and where a served model exchanges experts over the network, of which there are three.
"""
SECONDS_A_DAY = 24 * 60 * 60
FAMILIES = {"bf16": "16-bit", "fp16": "16-bit", "fp8": "fp8", "mxfp8": "mxfp8", "fp4": "nvfp4", "nvfp4": "nvfp4"}
"""Family of a precision, by its name in plans."""
GATHERS_OF_STAGE = {2: 1.0, 3: ALL_GATHERS}
"""Collectives of all weights per micro-batch, by stage of ZeRO."""
FIT_REFERENCE = Reference("bomgen, docs/training.md and docs/accuracy.md: fitted to published measurements")
SPREADS = message("prediction-spread")


class Interval(NamedTuple):
    """Bounds of a predicted figure."""

    low: Figure
    high: Figure


class Evidence(NamedTuple):
    """The measured steps of an accelerator's generation and of a kind of model, on which an interval rests."""

    measured_steps: Figure
    """0 where none was measured."""
    measured_steps_of_stack: Figure
    """Those with the stack of the run."""
    left_out_error: Figure | None
    """Mean error of the prediction for them, each cluster left out of the fit; None without measured steps."""


class Prediction(NamedTuple):
    """A predicted training step."""

    step: Figure
    """Step time [s]; the sum of the terms, corrected by the user's measurements if there are any."""
    steps: Mapping[int, Interval]
    """Bounds of the step by coverage in percent."""
    terms: Mapping[str, Figure]
    """Time of each kind of work [s]; those without work are omitted."""
    mfu: Figure
    mfus: Mapping[int, Interval]
    """Bounds of the utilisation by coverage in percent."""
    stack: SoftwareStack
    generation: str | None
    """Generation of the accelerator; None: it has no measurements."""
    moe: bool
    evidence: Evidence


def predict(
    training: Training, split: ParallelSplit, gpu: Gpu, links: GpuLinks, flops_per_token: Figure
) -> Prediction | None:
    """Return the predicted step of a run; None where shape, precision or accelerator are not known enough."""
    ready = prepare(training, gpu, links)
    if ready is None:
        return None
    work, machine, stack, members = ready
    moe, fitted = work.expert_weights.value > 0, load(FIT)
    kind = kind_of_model(moe)
    terms = _terms(work, machine, members, _split(training, split, stack, work))
    total = reduce(add_seconds, terms.values())
    widths, errors = {coverage: float(fitted["widths"][kind][str(coverage)]) for coverage in COVERAGES}, []
    for measured in training.measured:
        _check_own(training, measured, flops_per_token, machine.peak)
        step = _plain_step(training, measured, ready)
        errors.append(log(float(measured.step.value) * SECONDS_A_DAY / step))
    if errors:
        correction, wide = learn(errors, widths[WIDE], float(fitted["within"][kind]))
        ratio = Figure(exp(correction), "ratio", Cited(message("prediction-own"), (FIT_REFERENCE,), "medium"))
        total = corrected(total, ratio)
        widths = {coverage: width * wide / widths[WIDE] for coverage, width in widths.items()}
    gpus = gpus_of_run(split.tensor, split.pipeline, split.context, split.data)
    peak = machine.peak
    mfu = mfu_of_step(flops_per_token, training.batch_tokens, total, gpus, peak)
    evidence = evidence_for(members.generation, moe, stack.name)
    if not errors:
        error = evidence.left_out_error
        widths[WIDE] = max(widths[WIDE], log(1 + float(error.value) if error else UNMEASURED_FACTOR))
    steps, mfus = {}, {}
    for coverage, width in widths.items():
        ends = (Figure(end, "ratio", Cited(SPREADS, (FIT_REFERENCE,), "medium")) for end in (-width, width))
        steps[coverage] = bounds = Interval(*(end_of_interval(total, end) for end in ends))
        mfus[coverage] = Interval(
            mfu_of_step(flops_per_token, training.batch_tokens, bounds.high, gpus, peak),
            mfu_of_step(flops_per_token, training.batch_tokens, bounds.low, gpus, peak),
        )
    return Prediction(total, steps, terms, mfu, mfus, stack, members.generation, moe, evidence)


def evidence_for(generation: str | None, moe: bool, stack: str) -> Evidence:
    """Return the measured steps of a generation and a kind of model, and how many of them are of a stack."""
    rows = load(FIT)["measured"].get(generation, {}).get(kind_of_model(moe))

    def cited(value: float, unit: str, of: Message) -> Figure:
        return Figure(value, unit, Cited(of, (FIT_REFERENCE,), "high"))

    return Evidence(
        cited(rows["rows"] if rows else 0, "steps", message("evidence-steps")),
        cited(rows["stacks"].get(stack, 0) if rows else 0, "steps", message("evidence-of-stack", stack=stack)),
        cited(rows["error"], "share", message("evidence-error")) if rows else None,
    )


class Prepared(NamedTuple):
    """What of a run does not depend on its split."""

    work: Work[Figure]
    machine: Machine[Figure]
    stack: SoftwareStack
    members: Members


def prepare(training: Training, gpu: Gpu, links: GpuLinks) -> Prepared | None:
    """Return work, machine, stack and members of a run; None where inputs are unknown.

    Quantised weights are multiplied at 16 bits: with another precision they are not predicted.
    """
    family = FAMILIES.get(str(training.precision.value))
    peak, plain = gpu.dense.get(str(training.precision.value)), gpu.dense.get("bf16") or gpu.dense.get("fp16")
    complete = family and peak and plain and gpu.memory_bandwidth and training.sequence
    if not complete or peak is None or plain is None or gpu.memory_bandwidth is None or training.sequence is None:
        return None
    work = work_of_model(training.model, training.sequence)
    if work is None:
        return None
    if training.tuning and states.adapts(training):
        quantised = training.tuning.method.value == states.QUANTISED
        if quantised and family != FAMILIES["bf16"]:
            return None
        adapters = Adapters(training.tuning.rank, training.tuning.modules, quantised)
        work = work_with_adapters(work, training.model, adapters)
    born = generation(gpu.identity.id)
    stack = stack_of(str(training.stack.value) if training.stack else newest_stack(born, training.model.moe))
    shares = load(FACTS)["kernels"][stack.kernel]
    share = float(shares.get(born or "", min(shares.values())))
    machine = Machine(
        peak=floating(peak_flops(peak)),
        plain_peak=floating(peak_flops(plain)),
        memory_bandwidth=floating(gpu.memory_bandwidth),
        scale_up=floating(links.scale_up),
        network=floating(links.network),
        domain=floating(links.domain),
        attention_share=Figure(share, "share", Cited(message("prediction-kernel"), (FIT_REFERENCE,), "medium")),
    )
    model = member(bool(work.expert_weights.value), training.model.identity.id)
    members = Members(born, str(family), stack.name, model)
    return Prepared(Work(*(floating(figure) for figure in work)), machine, stack, members)


def floating(figure: Figure) -> Figure:
    """Return the same figure with a float, the number type of a search's formulas."""
    return Figure(float(figure.value), figure.unit, figure.origin)


def _setting(value: float, name: str) -> Figure:
    return Figure(value, "count", Cited(message("prediction-setting", setting=name), (FIT_REFERENCE,), "medium"))


def settings(training: Training, stack: SoftwareStack) -> dict[str, Figure]:
    """Return the settings of a step from the run and its stack, independent of the split."""
    recompute = training.recompute.value
    flash = training.flash_attention.value == "yes" and stack.kernel != "none"
    again = recompute == FULL or (recompute == SELECTIVE and not flash)
    return {
        "gathers": _setting(GATHERS_OF_STAGE.get(int(training.zero.value), 0.0), "zero"),
        "messages": _setting(float(stack.messages), "stack"),
        "sharded": _setting(float(training.zero.value >= 1), "zero"),
        "recompute": _setting(float(recompute == FULL), "recompute"),
        "attention_recompute": _setting(float(again), "recompute"),
        "flash": _setting(float(flash), "flash_attention"),
        "overlapped": _setting(float(stack.overlapped), "stack"),
        "sent_once": _setting(float(stack.exchange in SENT_ONCE), "stack"),
        "exchange_overlapped": _setting(float(stack.exchange == OVERLAPPED), "stack"),
    }


def _split(training: Training, split: ParallelSplit, stack: SoftwareStack, work: Work[Figure]) -> Split[Figure]:
    moe = work.expert_weights.value > 0
    return Split(
        batch=sequences_of_step(training.batch_tokens, work.sequence),
        micro_batch=floating(training.micro_batch),
        tensor=floating(split.tensor),
        pipeline=floating(split.pipeline),
        interleave=floating(split.interleave),
        data=floating(split.data),
        context=floating(split.context),
        expert=floating(gpus_of_experts(split.expert, split.tensor) if moe else split.expert),
        sequence_parallel=_setting(float(split.sequence_parallel), "sequence_parallel"),
        **settings(training, stack),
    )


def _terms(work: Work[Figure], machine: Machine[Figure], members: Members, split: Split[Figure]) -> dict[str, Figure]:
    """Return the time of each term with work [s]."""
    efficiencies = inverse_efficiencies(members)
    priors = load(FIT)["priors"]
    seconds_by_term = {}
    at_line_rate = trace(line_rate_terms, work, machine, split)
    for name, seconds, inverse in zip(Terms._fields, at_line_rate, efficiencies, strict=True):
        if seconds.value > 0:
            of = message("prediction-term-prior" if name in priors else "prediction-term", term=name)
            factor = Figure(inverse, "ratio", Cited(of, (FIT_REFERENCE,), "low" if name in priors else "medium"))
            seconds_by_term[name] = seconds_of_term(seconds, factor)
    return seconds_by_term


def _plain_step(training: Training, own_step: OwnStep, prepared: Prepared) -> float:
    """Return the predicted step of the user's measured run, without correction by measurements [s]."""
    parallelism = training.parallelism
    split = ParallelSplit(
        tensor=own_step.tensor,
        pipeline=own_step.pipeline,
        interleave=own_step.interleave,
        context=own_step.context,
        expert=own_step.expert,
        data=data_parallel(own_step.gpus, own_step.tensor, own_step.pipeline, own_step.context),
        sequence_parallel=own_step.tensor.value > 1
        and (parallelism is None or parallelism.sequence_parallel.value == "yes"),
    )
    work, machine, stack, members = prepared
    terms = _terms(work, machine, members, _split(training, split, stack, work))
    return float(sum(term.value for term in terms.values()))


def _check_own(training: Training, own_step: OwnStep, flops_per_token: Figure, peak: Figure) -> None:
    step = float(own_step.step.value) * SECONDS_A_DAY
    mfu = mfu_of_step.plain(flops_per_token.value, training.batch_tokens.value, step, own_step.gpus.value, peak.value)
    if mfu > 1:
        text = (
            f"a step of {step:g} s on {own_step.gpus.value} GPUs is {float(mfu):.0%} of their "
            "dense peak; write the step of "
            f"{training.batch_tokens.value} tokens, or their number as `batch_tokens`"
        )
        raise Infeasible(text, because=own_step.step, rule="above-peak")


def learn(errors: Iterable[float], spread: float, within: float) -> tuple[float, float]:
    """Return the deviation of a cluster learned from measurements, as a log, and the remaining spread.

    Spreads are standard deviations, or all the same multiple of them.

    The cluster's deviation is normal around 0, a measurement of it normal around the deviation with the spread within
    clusters: the spread never grows with a measurement.
    """
    logs = list(errors)
    between = max(spread**2 - within**2, 0.0)
    if between == 0:
        return 0.0, spread
    weight = len(logs) * between / (len(logs) * between + within**2)
    return weight * sum(logs) / len(logs), sqrt(within**2 + between * (1 - weight))


# many splits at once -------------------------------------------------------------------------------------------------


def predict_steps(work: Work[float], machine: Machine[float], split: Split[Any], inverse: Terms[float]) -> Any:
    """Return the seconds of steps, for splits as numbers or as NumPy arrays; equal to the results of `predict`."""
    parts = line_rate_terms(work, machine, split)
    return reduce(add, map(mul, parts, inverse))


# formulas ------------------------------------------------------------------------------------------------------------


sequences_of_step = quotient("sequences_of_step", "sequences", "batch_tokens", "sequence")
"""Sequences per step."""
gpus_of_experts = product("gpus_of_experts", "GPUs", "expert", "tensor")
"""GPUs over which the experts of a layer are distributed; tensor parallelism splits each expert."""
gpus_of_run = product("gpus_of_run", "GPUs", "tensor", "pipeline", "context", "data")
"""GPUs of the run: the product of its degrees of parallelism."""


seconds_of_term = product("seconds_of_term", "s", "at_line_rate", "inverse_efficiency")
"""Seconds per step of a term: its time at line rate times the fitted inverse efficiency."""
corrected = product("corrected", "s", "step_seconds", "own_measurements")
"""Step time, corrected by the user's own measurements on the cluster."""


@formula("s")
def end_of_interval(seconds: float, width: float) -> float:
    """A time at an end of its interval, whose width is a log."""
    return seconds * exp(width)


@formula("share")
def mfu_of_step(flops_per_token: Fraction, batch_tokens: int, step_seconds: float, gpus: int, peak: float) -> Fraction:
    """Model FLOPs utilisation of a step."""
    return Fraction(float(flops_per_token * batch_tokens) / (step_seconds * gpus * peak))


# range --------------------------------------------------------------------------------------------------------------
# The consequences of a predicted step for a run: days and GPUs between the ends of its interval.


class Outlook(NamedTuple):
    """A run at one utilisation."""

    mfu: Figure
    days: Figure
    """Days on the GPUs of the cluster."""
    gpus_required: Figure | None
    """GPUs for the target days; None without a target."""


class Predicted(NamedTuple):
    """A predicted run: as predicted, and at the bounds of its intervals."""

    step: Prediction
    point: Outlook
    ends: Mapping[int, tuple[Outlook, Outlook]]
    """By coverage in percent: at the lowest utilisation, with the most days and GPUs, and at the highest."""


def predict_run(
    workload: Training, run: TrainingRun, fit: MemoryFit, gpu: Gpu, gpus: Figure, links: GpuLinks
) -> Predicted | None:
    """Return the prediction for a run on a cluster's GPUs; None where inputs are unknown."""
    settled = workload._replace(recompute=fit.recompute or workload.recompute)
    prediction = predict(settled, fit.split, gpu, links, run.flops_per_token)
    if prediction is None:
        return None
    ends = {
        coverage: (_outlook(workload, run, gpus, mfus.low), _outlook(workload, run, gpus, mfus.high))
        for coverage, mfus in prediction.mfus.items()
    }
    return Predicted(prediction, _outlook(workload, run, gpus, prediction.mfu), ends)


def _outlook(workload: Training, run: TrainingRun, gpus: Figure, mfu: Figure) -> Outlook:
    run = run._replace(mfu=mfu)
    required = None
    if workload.target_days:
        rates = (run.flops, run.peak_flops_per_gpu, mfu, workload.parallel_efficiency)
        required = training.gpus_for_days(require(workload.target_days, "a target"), *rates, run.goodput)
    return Outlook(mfu, training.days(workload, run, gpus), required)


def nearest_to_run(workload: Training, predicted: Predicted, fit: MemoryFit, gpus: Figure) -> list[Nearest]:
    """Return the measured steps nearest to a predicted run."""
    if workload.sequence is None:
        return []
    shape = workload.model.shape
    compared = {
        "gpus": gpus,
        "layers": shape["layers"],
        "hidden": shape["hidden"],
        "seq": workload.sequence,
        "tp": fit.split.tensor,
        "pp": fit.split.pipeline,
    }
    numbers = {name: float(figure.value) for name, figure in compared.items()}
    family = FAMILIES[str(workload.precision.value)]
    return nearest_steps(predicted.step.generation, family, predicted.step.moe, adapts(workload), numbers)


BYTES_OF_WEIGHT = 2
CHANGED_BY_EXPERTS = (
    *("short", "weights", "update", "data", "data_overlapped", "gathers", "gathers_overlapped"),
    *("exchange", "exchange_network", "exchange_overlapped"),
)
"""Terms that depend on the number of GPUs over which the experts are spread."""
BOUNDED, BOUNDED_CLOSELY, PREDICTED = range(3)
"""Levels of knowledge of a split's step in the search."""
ALL_SHARDED = 3
"""The stage of ZeRO that shards weights, too."""


class Predictor(NamedTuple):
    """Prediction of a run's steps for any split, as a number or as NumPy arrays."""

    training: Training
    work: Work[float]
    machine: Machine[float]
    inverse: Terms[float]
    fixed: dict[str, float]
    batch: float
    """Sequences of a step."""
    micro_batch: float

    def tensor_degrees(self, gpus: int) -> list[int]:
        """Return the degrees that divide GPUs, heads and a scale-up domain."""
        return [
            tensor_degree
            for tensor_degree in tensor_degrees(self.training, gpus)
            if self.machine.domain % tensor_degree == 0
        ]

    def seconds(self, tensor: Any, pipeline: Any, context: Any, expert: Any, interleave: Any, data: Any) -> Any:
        """Return the step of a split [s], whether or not its micro-batches can be interleaved."""
        degrees = self.training.parallelism
        split = Split(
            batch=self.batch,
            micro_batch=self.micro_batch,
            tensor=tensor,
            pipeline=pipeline,
            interleave=interleave,
            data=data,
            context=context,
            expert=expert * tensor if self.work.expert_weights else expert,
            sequence_parallel=float(degrees.splits_sequence) if degrees else (tensor > 1) * 1.0,
            **self.fixed,
        )
        return predict_steps(self.work, self.machine, split, self.inverse)

    def chunks(self, pipeline: int) -> list[int]:
        """Return the numbers of stages that a GPU may have, all of equally many layers."""
        layers = int(self.work.layers)
        return divisors(layers // pipeline) if pipeline > 1 and layers % pipeline == 0 else [1]

    def interleaves(self, pipeline: Any, interleave: Any, data: Any) -> Any:
        """Return whether the schedule can interleave stages: by the plan, or micro-batches fill them in rounds."""
        count = terms.count_micro_batches(self.batch, data, self.micro_batch)
        return (interleave == 1) | (count % pipeline == 0) | (self.training.parallelism is not None)

    def least_seconds(self, tensor: Any, pipeline: Any, context: Any, slots: Any) -> Any:
        """Return the matrix products of a step [s], a lower bound of any split, to prune with."""
        work, machine, inverse = self.work, self.machine, self.inverse
        tokens = terms.tokens_of_gpu(self.micro_batch, work.sequence, context)
        share = terms.share_of_stage(work.layers, pipeline)
        passes = terms.matrix_passes(self.fixed["recompute"], work.trained)
        rest = (tokens, share, passes, slots, tensor, machine.peak)
        weights = terms.matrix_seconds(work.weights, *rest) * inverse.matrix
        return weights + terms.matrix_seconds(work.expert_weights, *rest) * inverse.experts


def predictor(training: Training, gpu: Gpu, links: GpuLinks) -> Predictor | None:
    """Return the predictor of a run's steps; None where the model or the accelerator is not known enough."""
    ready = prepare(training, gpu, links)
    if ready is None or gpu.memory_bytes is None:
        return None
    work, machine = Work(*map(_number, ready.work)), Machine(*map(_number, ready.machine))
    return Predictor(
        training,
        work,
        machine,
        inverse_efficiencies(ready.members),
        {name: _number(figure) for name, figure in settings(training, ready.stack).items()},
        _number(training.batch_tokens) / work.sequence,
        _number(training.micro_batch),
    )


def fastest_splits(predict: Predictor, gpu: Gpu, gpus: Figure, count: int, below: float) -> FastestSplits | None:
    """Return the fastest splits over all GPUs, at most `count` that fit.

    None where none is known to fit, or none that steps in less than `below` seconds.
    """
    splits = classify_splits(predict.training, gpu, gpus, _by_speed(predict, gpus.value))
    too_large: list[ModelSplit] = []
    for split, fits in splits:
        if split.seconds >= below:
            return None
        if fits:
            slower = (slow for slow, fits in splits if fits)
            return FastestSplits([split, *islice(slower, count - 1)], too_large[::-1])
        too_large.append(split.candidate)
    return None


def classify_splits(
    training: Training, gpu: Gpu, gpus: Figure, splits: Iterable[TimedSplit]
) -> Iterator[tuple[TimedSplit, bool]]:
    """Yield whether each split is known to fit; splits ruled out by ones that do not fit are pruned.

    A split that does not fit rules out others of the same tensor and pipeline degrees: those of no more GPUs, with
    fewer parts of a sequence, of which whole ones make one of its parts, experts on no more GPUs, and as many
    micro-batches in flight: one stage per GPU has the fewest, then many stages before few.
    """
    refused: defaultdict[tuple[int, int], list[TimedSplit]] = defaultdict(list)
    for split in splits:
        one = split.candidate
        too_large = refused[one.tensor, one.pipeline]
        if any(
            split.gpus <= larger.gpus
            and larger.candidate.context % one.context == 0
            and one.expert <= larger.candidate.expert
            and (larger.candidate.interleave == 1 or 1 < one.interleave <= larger.candidate.interleave)
            for larger in too_large
        ):
            continue
        count = replace(gpus, value=split.gpus)
        if _weights_fit(training, one, gpu) and fits_gpu(memory_needed(training, one, count), gpu):
            yield split, True
        else:
            too_large.append(split)
            yield split, False


def _by_speed(predict: Predictor, gpus: int) -> Iterator[TimedSplit]:
    """Yield the splits over all GPUs, the fastest first; each is predicted when no other can be faster.

    A waiting split has a lower bound of its step: first the matrix products, then all terms that do not depend on the
    expert degree, finally the step itself.
    """
    recompute = str(predict.training.recompute.value)
    dense = predict._replace(inverse=predict.inverse._replace(**dict.fromkeys(CHANGED_BY_EXPERTS, 0.0)))
    waiting: list[tuple[float, int, ModelSplit]] = []
    for candidate in _candidates(predict, gpus):
        tensor, pipeline, context, _, interleave = map(float, candidate)
        count = terms.count_micro_batches(predict.batch, gpus // candidate.size, predict.micro_batch)
        slots = terms.duration_in_slots(count, pipeline, interleave)
        waiting.append((predict.least_seconds(tensor, pipeline, context, slots), BOUNDED, candidate))
    heapify(waiting)
    while waiting:
        seconds, stage, candidate = heappop(waiting)
        if stage == PREDICTED:
            yield TimedSplit(seconds, candidate, gpus, recompute)
            continue
        one = [float(degree) for degree in (*candidate, gpus // candidate.size)]
        degrees = expert_degrees(predict.training, gpus // (candidate.tensor * candidate.pipeline))
        if stage == BOUNDED and len(degrees) > 1:
            least = float(dense.seconds(*one))
            for expert in degrees:
                heappush(waiting, (least, BOUNDED_CLOSELY, candidate._replace(expert=expert)))
        else:
            heappush(waiting, (float(predict.seconds(*one)), PREDICTED, candidate))


def _candidates(predict: Predictor, gpus: int) -> Iterator[ModelSplit]:
    """Yield every split of all GPUs within scale-up domains, equal parts of a sequence and all experts on each GPU.

    Stages are interleaved where they are equal and the schedule can be.
    """
    length = int(predict.work.sequence)
    for tensor in predict.tensor_degrees(gpus):
        for pipeline in divisors(gpus // tensor):
            if pipeline <= predict.work.layers:
                for context in divisors(gcd(gpus // (tensor * pipeline), length)):
                    data = gpus // (tensor * pipeline * context)
                    for interleave in predict.chunks(pipeline):
                        if predict.interleaves(pipeline, interleave, data):
                            yield ModelSplit(tensor, pipeline, context, 1, interleave)


def _weights_fit(training: Training, candidate: ModelSplit, gpu: Gpu) -> bool:
    """Return whether the weights alone could fit, divided equally over the GPUs of the replica: a quick first check."""
    if training.zero.value >= ALL_SHARDED:
        return True
    memory = require(gpu.memory_bytes, "steps are predicted").value
    spread = candidate.tensor * candidate.pipeline * candidate.expert
    return bool(training.model.parameters.value * BYTES_OF_WEIGHT <= memory * spread)


def _number(figure: Figure) -> float:
    return float(figure.value)
