"""Why a model is cut up as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from bomgen.core.messages import Message, message
from bomgen.report.reasons.types import PLAN, SEARCH, Asked, Other, Reason, Topic
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.training.memory import Candidate
from bomgen.sizing.training.parallelism import describe_faster, seconds_text

COVERS = ("workload.parallelism", "workload.gpus_per_replica", "workload.memory.per_gpu")


def topics(asked: Asked) -> Iterator[Topic]:
    """The split of a training run, or of a replica that serves."""
    sizing, plan = asked.report.design.sizing, asked.report.plan
    if sizing.fit and plan.training:
        yield Topic("workload.parallelism", COVERS, partial(_training_reason, asked))
    elif sizing.serving and plan.inference:
        yield Topic("workload.parallelism", COVERS, partial(_serving_reason, asked))


def _training_reason(asked: Asked) -> Reason | None:
    sizing, training = asked.report.design.sizing, asked.report.plan.training
    fit = sizing.fit
    if fit is None or training is None:
        return None
    split = fit.split
    chosen = Candidate(*(each.value for each in (split.tensor, split.pipeline, split.context, split.expert)))
    by_hand = training.parallelism
    because = message("because-plan" if by_hand else "because-fewest-per-replica")
    if fit.fastest:
        because = message("because-fastest", seconds=seconds_text(fit.fastest.seconds))
    if fit.recompute and fit.fits:
        because = message("because-recompute", reason=because, recompute=str(fit.recompute.value))
    held = {"reason": because, "held": asked.value(fit.per_gpu.total)}
    memory = fit.gpu_memory
    return Reason(
        "workload.parallelism",
        message("choice-split"),
        message("chosen-split", degrees=str(chosen), replicas=split.data.value),
        PLAN if by_hand else SEARCH,
        message("because-held-of", memory=asked.value(memory), **held) if memory else message("because-held", **held),
        by_hand.mark if by_hand else None,
        (*_faster(sizing), *_others(fit.reasons)),
    )


def _faster(sizing: Sizing) -> Iterator[Other]:
    """A split that is faster, and is not taken because it leaves GPUs idle or recomputes more than what fits."""
    faster = sizing.faster() if sizing.faster else None
    if sizing.fit and faster and (reason := describe_faster(sizing.fit, faster, int(sizing.gpus.value))):
        yield Other(str(faster.candidate), reason)


def _serving_reason(asked: Asked) -> Reason | None:
    serving, inference = asked.report.design.sizing.serving, asked.report.plan.inference
    if serving is None or inference is None:
        return None
    need, by_hand = serving.need, inference.degrees
    because = message("because-plan" if by_hand else "because-fewest-in-all")
    found = need.replica
    if found.held:
        because = message("because-requests", reason=because, requests=found.held.value)
    return Reason(
        "workload.parallelism",
        message("choice-split"),
        str(Candidate(found.tensor.value, found.pipeline.value, 1, 1)),
        PLAN if by_hand else SEARCH,
        because,
        by_hand.mark if by_hand else None,
        _others([each.message for each in need.reasons]),
    )


def _others(reasons: Sequence[Message]) -> tuple[Other, ...]:
    """Splits that are slower or do not fit; what is said beside them is no other split."""
    slower = (reason for reason in reasons if reason.code == "split-runner-up")
    refused = (reason for reason in reasons if reason.code == "split-does-not-fit")
    return (
        *(Other(_split(each), _slower(each)) for each in slower),
        *(Other(_split(each), message("not-fitting", shortage=each.parameters["shortage"])) for each in refused),
    )


def _split(reason: Message) -> str:
    """The split that a reason is about; a message, which other languages have words for."""
    split = reason.parameters["split"]
    return split if isinstance(split, str) else str(split)


def _slower(reason: Message) -> Message:
    return message("slower-by-prediction", **{name: reason.parameters[name] for name in ("seconds", "slower")})
