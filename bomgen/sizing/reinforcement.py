"""A step of reinforcement learning: generation, log-probabilities, update and refit, each by its own prediction.

Replicas of the serving engine generate all responses of a step at a time: the batch falls as responses end, and the
step waits for the longest. Log-probabilities are forward passes, updates whole steps of the training prediction, over
micro-batches that are packed with responses. A refit brings the updated weights to the engine. What published steps
take beyond these predictions is in the cited figures of `Experience`; `docs/training.md` compares both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import ceil, exp, hypot, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

from bomgen.catalog.parts import Gpu, Model
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Assumed,
    Cited,
    Figure,
    Reference,
    difference,
    formula,
    maximum,
    product,
    require,
    sum_of,
)
from bomgen.plan.binding.workload import Z95
from bomgen.plan.types import ASYNCHRONOUS, GATHER, Inference, Reinforcement, Training
from bomgen.sizing.prediction import serving
from bomgen.sizing.prediction.predict import (
    UNMEASURED_FACTOR,
    WIDE,
    Prediction,
    end_of_interval,
    floating,
    mfu_of_step,
    predict,
)
from bomgen.sizing.prediction.serving import TPOT, ReplicaSpeed
from bomgen.sizing.prediction.terms import add_seconds
from bomgen.sizing.servers import GpuLinks
from bomgen.sizing.serving import replicas as splits
from bomgen.sizing.serving.gpu_memory import weights_of_model
from bomgen.sizing.serving.replicas import Replica
from bomgen.sizing.serving.service import replicas_of_cluster, scaled
from bomgen.sizing.training.activations import NONE
from bomgen.sizing.training.memory import per_gpu
from bomgen.sizing.training.run import SECONDS_A_DAY, TrainingRun
from bomgen.sizing.training.states import ParallelSplit

GENERATION, LOG_PROBABILITIES, REWARD, CRITIC, UPDATE, REFIT = (
    *("generation", "log_probabilities", "reward", "critic", "update", "refit"),
)
"""Parts of a step, in their order."""
DRAIN_POINTS = 32
"""Points at which the falling batch of a step is taken."""
ONE_PASS_OF_THREE = 1 / 3
FORWARD = {
    "attention": 1 / 3.5,
    "weights": 1 / 7,
    **dict.fromkeys(
        ("tensor", "tensor_network", "pipeline", "exchange", "exchange_network", "exchange_overlapped"), 1 / 2
    ),
    **dict.fromkeys(("constant", "constant_network"), 1.0),
    **dict.fromkeys(("update", "data", "data_overlapped"), 0.0),
}
"""Share of a term that the forward pass takes, where it is not that of one pass of three.

FlashAttention repeats half a forward pass; the traffic of weights has gradients in 32 bits; half of the collectives
between the GPUs of a replica are in the forward pass, those between replicas are not.
"""
_KAPLAN = Reference("Kaplan et al. 2020, arXiv 2001.08361: 2 of 6 FLOPs per parameter and token are the forward pass")


class Part(NamedTuple):
    """The time of a part of a step, and its bounds [s]."""

    seconds: Figure
    low: Figure
    high: Figure


class Engine(NamedTuple):
    """The replicas that generate."""

    replica: Replica
    replicas: Figure
    responses: Figure
    """Responses of a step on a replica."""


class ReinforcedStep(NamedTuple):
    """A step of reinforcement learning on a cluster."""

    parts: Mapping[str, Part]
    step: Part
    steps_per_day: Figure
    mfu: Figure
    """Model FLOPs utilisation of the updates."""
    update: Prediction
    """Of a pre-training step over the responses of an update."""
    engine: Engine | None
    """None: responses are given."""
    training_gpus: Figure
    generation_gpus: Figure | None
    """GPUs that only generate; None: the same that train, or none."""
    host: Figure | None
    """Host memory per training GPU for models that are not in use [bytes]; None: there are none.

    They are the policy while the same GPUs generate, the reference policy, the reward model and the critic.
    """


class LearningRun(NamedTuple):
    """A run of reinforcement learning on a cluster: its plan, the size and split of its updates, and its GPUs."""

    learning: Reinforcement
    training: Training
    run: TrainingRun
    split: ParallelSplit
    gpu: Gpu
    links: GpuLinks | None
    gpus_per_server: Figure | None
    training_gpus: Figure
    generation_gpus: Figure | None
    """GPUs that only generate; None: the same that train."""

    def predict(self, training: Training) -> Prediction:
        """Return the prediction for a step over micro-batches that are packed with sequences of mean length."""
        learning, longest = self.learning, require(training.sequence, "updates have a sequence length")
        micro_batch = sequences_of_pack(training.micro_batch, longest, learning.sequence)
        packed = training._replace(sequence=learning.sequence, micro_batch=micro_batch)
        prediction = self.links and predict(packed, self.split, self.gpu, self.links, self.run.flops_per_token)
        if prediction is None:
            raise _unpredictable(learning)
        return prediction

    def forward(self, training: Training) -> Part:
        """Return the time of a forward pass over all responses of a step."""
        tokens = tokens_of_step(training.batch_tokens, self.learning.updates)
        once = training._replace(batch_tokens=tokens, recompute=replace(training.recompute, value=NONE))
        whole = self.predict(once)
        terms = []
        for name, seconds_of_term in whole.terms.items():
            if share := FORWARD.get(name, ONE_PASS_OF_THREE):
                origin = Cited(message("forward-share", term=name), (_KAPLAN,), "medium")
                terms.append(forward_of_term(seconds_of_term, Figure(share, "share", origin)))
        seconds = slower(reduce(add_seconds, terms), self.learning.experience.log_probabilities)
        return self.widened(seconds, whole)

    def update(self, model: Model, whole: Prediction) -> tuple[Figure, Part]:
        """Return the time of an optimizer step, and of the updates of a step of learning."""
        packed = slower(whole.step, self.learning.experience.update)
        packed = slower(packed, self.learning.experience.experts) if model.moe else packed
        return packed, self.widened(seconds_of_updates(self.learning.updates, packed), whole)

    def widened(self, seconds: Figure, whole: Prediction) -> Part:
        """Return a part with the interval of the training prediction, widened by what published steps deviate."""
        spread, (low, high) = self.learning.experience.spread, whole.steps[WIDE]
        low = widened_low(seconds, whole.step, low, spread)
        return Part(seconds, low, widened_high(seconds, whole.step, high, spread))


def reinforced_step(asked: LearningRun) -> ReinforcedStep:
    """Return the step of a run whose updates have a split over the GPUs of its training pool.

    Raises Infeasible where its parts cannot be predicted, or no replica fits the GPUs that generate.
    """
    learning, training = asked.learning, asked.training
    if asked.links is None:
        raise _unpredictable(learning)
    parts: dict[str, Part] = {}
    engine = None
    if learning.generation:
        engine, parts[GENERATION] = _generate(asked, learning.generation, asked.links)
    whole, forward = asked.predict(training), asked.forward(training)
    passes = [forward, forward] if learning.reference.value == "yes" else [forward]
    if learning.generation is None:
        passes = passes[1:]
    if passes:
        # Two passes in a row are as wrong as each other.
        parts[LOG_PROBABILITIES] = reduce(_add, passes)
    if learning.reward:
        parts[REWARD] = asked.forward(training._replace(model=learning.reward))
    if learning.critic:
        critic = training._replace(model=learning.critic)
        parts[CRITIC] = _add(asked.forward(critic), asked.update(critic.model, asked.predict(critic))[1])
    packed, parts[UPDATE] = asked.update(training.model, whole)
    if engine and learning.generation:
        parts[REFIT] = _refit(learning, learning.generation, engine.replica, asked.links)
    step = _whole_step(learning, parts)
    return ReinforcedStep(
        parts=parts,
        step=step,
        steps_per_day=steps_a_day(step.seconds),
        mfu=mfu_of_step(
            asked.run.flops_per_token, training.batch_tokens, packed, asked.training_gpus, asked.run.peak_flops_per_gpu
        ),
        update=whole,
        engine=engine,
        training_gpus=asked.training_gpus,
        generation_gpus=asked.generation_gpus if engine else None,
        host=_offloaded(asked, asked.generation_gpus is None and engine is not None),
    )


def _unpredictable(learning: Reinforcement) -> Infeasible:
    text = (
        "the steps of this model on this accelerator cannot be predicted; use a model of known shape, and an "
        "accelerator with known bandwidths and links"
    )
    return Infeasible(text, because=learning.steps, rule="no-prediction")


# generation -----------------------------------------------------------------------------------------------------------


def _generate(asked: LearningRun, inference: Inference, links: GpuLinks) -> tuple[Engine, Part]:
    """Return the replicas with the shortest generation, and its time."""
    gpus = asked.generation_gpus or asked.training_gpus
    smallest = splits.choose(inference, asked.gpu, asked.gpus_per_server).replica
    best: tuple[Engine, ReplicaSpeed, Figure] | None = None
    for replica in splits.all_replicas(inference, asked.gpu, asked.gpus_per_server):
        if replica.gpus.value > gpus.value:
            break
        speed = serving.prepare(inference, asked.gpu, links, replica.degrees, mixed=False)
        if speed is None:
            raise _unpredictable(asked.learning)
        if replica.fits is not False:
            engine, seconds = _generation_of(asked.learning, replica, speed, gpus)
            if best is None or seconds.value < best[2].value:
                best = engine, speed, seconds
    if best is None:
        text = f"no replica for generation fits on {gpus.value} GPUs; use {smallest.gpus.value} or more"
        raise Infeasible(text, because=gpus, rule="no-replica")
    engine, speed, seconds = best
    token = serving.predict(speed, floating(engine.responses), engine.replica.gpus)
    return engine, Part(seconds, *(scaled(seconds, end, token.tpot) for end in token.intervals[TPOT]))


def _generation_of(
    learning: Reinforcement, replica: Replica, speed: ReplicaSpeed, gpus: Figure
) -> tuple[Engine, Figure]:
    replicas = replicas_of_cluster(gpus, replica.gpus)
    responses = responses_of_replica(learning.prompts, learning.responses, replicas)
    held = replica.held or responses
    count = min(float(responses.value), float(held.value))
    step = Figure(_drained_step(learning, speed, count), "s", _DRAINED)
    full = serving.predict(speed, floating(held), replica.gpus).tpot
    prompt = serving.predict(speed, floating(responses), replica.gpus).prompt
    waiting = steps_of_waiting(responses, held, learning.response_tokens)
    steps = (learning.longest, step, waiting, full, learning.experience.decode)
    parts = (prompt, responses, speed.ranks, speed.pipeline, *steps)
    return Engine(replica, replicas, responses), seconds_of_generation(*parts)


_DRAINED = Assumed(message("drained-step"), message("drained-step-why"), (), "medium", chosen=True)


def _drained_step(learning: Reinforcement, speed: ReplicaSpeed, responses: float) -> float:
    """Return the mean decode step while the responses of a replica end one by one [s].

    Their lengths are log-normal and cut off at the longest, with the mean that the plan gives.
    """
    longest, mean = float(learning.longest.value), float(learning.response_tokens.value)
    deviation = sqrt(log(1 + float(learning.response_spread.value) ** 2))
    center = _center(mean, longest, deviation)
    total = 0.0
    for point in range(DRAIN_POINTS):
        length = (2 * point + 1) / (2 * DRAIN_POINTS) * longest
        left = 1 - _NORMAL.cdf((log(length) - center) / deviation) if deviation else float(length <= mean)
        total += speed.times(max(1.0, responses * left)).step
    return total / DRAIN_POINTS


_NORMAL = NormalDist()
_BISECTIONS = 60


def _center(mean: float, longest: float, deviation: float) -> float:
    """Return the logarithm of the median of lengths whose mean is `mean` after a cut at `longest`."""
    if not deviation:
        return log(mean)
    low, high = log(mean) - deviation**2, log(longest) + _BISECTIONS
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        cut = (log(longest) - middle) / deviation
        kept = exp(min(middle + deviation**2 / 2, _BISECTIONS)) * _NORMAL.cdf(cut - deviation)
        low, high = (middle, high) if kept + longest * (1 - _NORMAL.cdf(cut)) < mean else (low, middle)
    return low


# offloading, refit and step ------------------------------------------------------------------------------------------


def _offloaded(asked: LearningRun, generates: bool) -> Figure | None:
    """Return the state of the models that are not in use, gradients left out [bytes per GPU]."""
    learning, training, split = asked.learning, asked.training, asked.split
    policy, idle = per_gpu(training, split), list[Figure]()
    if generates:
        idle.append(weights_and_states(policy.weights, policy.optimizer))
    if learning.reference.value == "yes":
        idle.append(policy.weights)
    if learning.reward:
        idle.append(per_gpu(training._replace(model=learning.reward), split).weights)
    if learning.critic:
        critic = per_gpu(training._replace(model=learning.critic), split)
        idle.append(weights_and_states(critic.weights, critic.optimizer))
    return reduce(add_offloaded, idle) if idle else None


def _refit(learning: Reinforcement, inference: Inference, replica: Replica, links: GpuLinks) -> Part:
    received = weights_of_model(inference) if learning.refit.value == GATHER else replica.weights
    experience = learning.experience
    seconds = seconds_of_refit(experience.refit, received, links.network, experience.refit_rate)
    widths = (Figure(sign * log(UNMEASURED_FACTOR), "ratio", _FACTOR) for sign in (-1, 1))
    return Part(seconds, *(end_of_interval(seconds, width) for width in widths))


_FACTOR = Assumed(message("refit-width"), message("refit-width-why"), (), "low", chosen=True)


def _add(one: Part, other: Part) -> Part:
    return Part(*map(add_seconds, one, other))


def _whole_step(learning: Reinforcement, parts: Mapping[str, Part]) -> Part:
    """Return the step: the sum of its parts, or the longer of two pools that work at the same time, and the refit."""
    if learning.schedule.value != ASYNCHRONOUS or GENERATION not in parts:
        return _sum(parts.values())
    training = _sum(part for name, part in parts.items() if name not in (GENERATION, REFIT))
    return _sum((Part(*map(longer_of, training, parts[GENERATION])), parts[REFIT]))


def _sum(parts: Iterable[Part]) -> Part:
    """Return parts in a row, whose errors are independent."""
    listed = list(parts)
    seconds = reduce(add_seconds, (part.seconds for part in listed))
    below = reduce(combined, (width(part.seconds, part.low) for part in listed))
    above = reduce(combined, (width(part.high, part.seconds) for part in listed))
    return Part(seconds, width(seconds, below), add_seconds(seconds, above))


# formulas -------------------------------------------------------------------------------------------------------------


@formula("requests")
def responses_of_replica(prompts: int, responses: int, replicas: int) -> Fraction:
    """Responses of a step that a replica generates."""
    return Fraction(prompts * responses, replicas)


@formula("count")
def steps_of_waiting(requests: Fraction, held: Fraction, response_tokens: int) -> float:
    """Decode steps with a full batch while responses wait, of which a replica holds fewer than it generates."""
    return max(0.0, float(requests - held)) * response_tokens / max(1.0, float(held))


@formula("s")
def seconds_of_generation(
    prompt: float,
    requests: Fraction,
    ranks: float,
    pipeline: float,
    longest: int,
    drained_step: float,
    waiting_steps: float,
    full_step: float,
    decode: float,
) -> float:
    """Prompts of all responses on a replica, and their decode steps with the host time of each.

    A full batch decodes while responses wait, a falling one until the longest is finished.
    """
    return (
        float(prompt * requests) / float(ranks * pipeline)
        + longest * (drained_step + float(decode))
        + waiting_steps * (full_step + float(decode))
    )


@formula("sequences")
def sequences_of_pack(micro_batch: int, longest: int, sequence: int) -> Fraction:
    """Mean sequences of a micro-batch that is packed up to the longest one."""
    return Fraction(micro_batch * longest, sequence)


@formula("tokens")
def tokens_of_step(batch_tokens: int, updates: int) -> int:
    """Tokens of all prompts and responses of a step."""
    return ceil(batch_tokens * updates)


forward_of_term = product("forward_of_term", "s", "seconds", "forward_share")
"""Time of the forward pass in a term."""
slower = product("slower", "s", "seconds", "ratio")
"""Time of a predicted pass or step in reinforcement learning."""
seconds_of_updates = product("seconds_of_updates", "s", "updates", "seconds")
"""Time of all updates of a step."""


@formula("s")
def seconds_of_refit(constant: float, received: Fraction, network: float, rate: float) -> float:
    """Time in which every GPU receives the updated weights."""
    return float(constant) + float(received) / (float(network) * float(rate))


add_offloaded = sum_of("add_offloaded", "bytes", "offloaded", "more_offloaded")
"""State of several models that are not in use [bytes]."""


longer_of = maximum("longer_of", "s", "training", "generation")
"""Time of the longer of training and generation, which run at the same time."""


@formula("s")
def widened_low(seconds: float, predicted: float, bound: float, spread: float) -> float:
    """Lower bound of a part, from that of the training prediction and the spread around it."""
    return seconds * exp(-hypot(log(predicted / bound), Z95 * float(spread)))


@formula("s")
def widened_high(seconds: float, predicted: float, bound: float, spread: float) -> float:
    """Upper bound of a part, from that of the training prediction and the spread around it."""
    return seconds * exp(hypot(log(bound / predicted), Z95 * float(spread)))


width = difference("width", "s", "seconds", "bound")
"""Distance of a bound."""


@formula("s", "Errors of the parts are taken to be independent")
def combined(width: float, more: float) -> float:
    """Distance of the bound of two parts in a row."""
    return hypot(width, more)


@formula("steps")
def steps_a_day(step_seconds: float) -> float:
    """Steps a day, without lost time."""
    return SECONDS_A_DAY / step_seconds


@formula("days")
def days_of_steps(steps: int, step_seconds: float, goodput: Fraction) -> Fraction:
    """Duration of a run of steps."""
    return Fraction(steps * step_seconds / (SECONDS_A_DAY * float(goodput)))


@formula("tokens/s")
def tokens_of_days(tokens: int, days: Fraction) -> Fraction:
    """Tokens per second, averaged over the run."""
    return Fraction(tokens) / (Fraction(days) * SECONDS_A_DAY)


weights_and_states = sum_of("weights_and_states", "bytes", "weights", "states")
"""State of a model that moves to host memory."""
gpus_that_train = difference("gpus_that_train", "GPUs", "gpus", "generation")
"""GPUs of a cluster without those that only generate."""
