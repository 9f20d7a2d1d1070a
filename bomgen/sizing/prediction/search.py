"""How fast splits of a run would be, for a search that wants the fastest of those that fit."""

from __future__ import annotations

from collections.abc import Callable

from bomgen.catalog.parts import Gpu
from bomgen.core.provenance import Figure
from bomgen.plan.types import Training
from bomgen.sizing.prediction import fitted
from bomgen.sizing.prediction.predict import FAMILIES, Links, predict_steps, prepare, settings
from bomgen.sizing.prediction.rows import generation
from bomgen.sizing.prediction.terms import Machine, Split, Work

Seconds = Callable[[int, int, int, int], float]
"""The step of tensor, pipeline, context and expert parallelism [s]."""


def step_of_split(training: Training, gpu: Gpu, links: Links, gpus: Figure) -> Seconds | None:
    """A function that predicts the step of a split over a number of GPUs; None where too little is known."""
    ready = prepare(training, gpu, links)
    if ready is None:
        return None
    figures, parts, stack = ready
    work, machine = Work(*map(_number, figures)), Machine(*map(_number, parts))
    known = settings(training, stack)
    inverse = fitted.inverse_efficiencies(
        generation(gpu.identity.id), FAMILIES[str(training.precision.value)], stack.name
    )
    batch, micro_batch = float(training.batch_tokens.value) / work.sequence, float(training.micro_batch.value)
    fixed = {name: float(figure.value) for name, figure in known.items()}

    def seconds(tensor: int, pipeline: int, context: int, expert: int) -> float:
        split = Split(
            batch=batch,
            micro_batch=micro_batch,
            tensor=float(tensor),
            pipeline=float(pipeline),
            interleave=1.0,
            data=float(gpus.value // (tensor * pipeline * context)),
            context=float(context),
            expert=float(expert * tensor) if work.expert_weights else float(expert),
            sequence_parallel=float(tensor > 1),
            **fixed,
        )
        return float(predict_steps(work, machine, split, inverse))

    return seconds


def _number(figure: Figure) -> float:
    return float(figure.value)
