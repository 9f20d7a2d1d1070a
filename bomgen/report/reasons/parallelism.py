"""Why a model is cut up as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from bomgen.core.messages import Message
from bomgen.core.provenance import Figure
from bomgen.report.reasons.types import PLAN, SEARCH, Asked, Other, Reason, Topic

COVERS = ("workload.parallelism", "workload.gpus_per_replica", "workload.memory.per_gpu")


def topics(asked: Asked) -> Iterator[Topic]:
    """The split of a training run, or of a replica that serves."""
    sizing, plan = asked.report.design.sizing, asked.report.plan
    if sizing.fit and plan.training:
        yield Topic("workload.parallelism", COVERS, partial(_training_reason, asked))
    elif sizing.serving and plan.inference:
        yield Topic("workload.parallelism", COVERS, partial(_serving_reason, asked))


def _training_reason(asked: Asked) -> Reason | None:
    fit, training = asked.report.design.sizing.fit, asked.report.plan.training
    if fit is None or training is None:
        return None
    split = fit.split
    degrees = {"tensor": split.tensor, "pipeline": split.pipeline, "context": split.context, "expert": split.expert}
    by_hand = training.parallelism
    chosen = "the fastest by prediction" if fit.fastest else "the one with the fewest GPUs a replica"
    because = "the plan says so" if by_hand else f"of the splits that fit the GPU, {chosen}"
    if fit.recompute and fit.fits:
        because += f"; recompute {fit.recompute.value} is the least that fits"
    return Reason(
        "workload.parallelism",
        f"{_degrees(degrees)}, {split.data.value} replicas",
        PLAN if by_hand else SEARCH,
        f"{because}; the fullest GPU holds {asked.value(fit.per_gpu.total)}{_memory_words(asked, fit.gpu_memory)}",
        by_hand.mark if by_hand else None,
        _others(fit.reasons),
    )


def _serving_reason(asked: Asked) -> Reason | None:
    serving, inference = asked.report.design.sizing.serving, asked.report.plan.inference
    if serving is None or inference is None:
        return None
    need, by_hand = serving.need, inference.degrees
    because = "the plan says so" if by_hand else "the replica that holds the model and needs the fewest GPUs in all"
    found = need.replica
    held = f"; it holds {found.held.value} requests at a time" if found.held else ""
    return Reason(
        "workload.parallelism",
        _degrees({"tensor": found.tensor, "pipeline": found.pipeline}),
        PLAN if by_hand else SEARCH,
        f"{because}{held}",
        by_hand.mark if by_hand else None,
        _others([each.message for each in need.reasons]),
    )


def _degrees(degrees: dict[str, Figure]) -> str:
    first = ("tensor", "pipeline")
    return " x ".join(f"{name} {each.value}" for name, each in degrees.items() if name in first or each.value > 1)


def _memory_words(asked: Asked, memory: Figure | None) -> str:
    return f" of {asked.value(memory)}" if memory else ""


def _others(reasons: Sequence[Message]) -> tuple[Other, ...]:
    """Splits that are slower or do not fit; what is said beside them is no other split."""
    slower = (reason.parameters for reason in reasons if reason.code == "split-runner-up")
    found = (reason.parameters for reason in reasons if reason.code == "split-does-not-fit")
    return (
        *(Other(str(each["split"]), f"{each['slower']} slower by prediction") for each in slower),
        *(Other(str(each["split"]), f"does not fit: {each['shortage']}") for each in found),
    )
