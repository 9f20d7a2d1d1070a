"""What a predicted step means for a run: days and GPUs between the ends of its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core.provenance import Figure, require
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import Plan, Training
from bomgen.sizing.prediction.links import links_of_gpu
from bomgen.sizing.prediction.predict import Prediction, predict
from bomgen.sizing.training import run as training
from bomgen.sizing.training.run import TrainingRun

if TYPE_CHECKING:
    from bomgen.sizing.cluster_size import Sizing


class Outlook(NamedTuple):
    """A run at one utilisation."""

    mfu: Figure
    days: Figure
    """On the GPUs of the cluster."""
    gpus_required: Figure | None
    """For the target days; None without a target."""


class Predicted(NamedTuple):
    """A predicted run: as predicted, and at the bounds of the interval of 90 %."""

    step: Prediction
    point: Outlook
    low: Outlook
    """At the lowest utilisation: the most days, the most GPUs."""
    high: Outlook


def predict_run(plan: Plan, workload: Training, sized: Sizing, attached: Mapping[str, Attachment]) -> Predicted | None:
    """What is predicted of a run that was sized; None where the plan or the catalogue says too little."""
    links = links_of_gpu(plan, attached)
    run, fit = sized.run, sized.fit
    if links is None or run is None or fit is None:
        return None
    settled = workload._replace(recompute=fit.recompute or workload.recompute)
    found = predict(settled, fit.split, plan.cluster.gpu, links, run.flops_per_token)
    if found is None:
        return None
    ends = found.mfus[90]
    return Predicted(
        found,
        _outlook(workload, run, sized.gpus, found.mfu),
        _outlook(workload, run, sized.gpus, ends.low),
        _outlook(workload, run, sized.gpus, ends.high),
    )


def _outlook(workload: Training, run: TrainingRun, gpus: Figure, mfu: Figure) -> Outlook:
    run = run._replace(mfu=mfu)
    required = None
    if workload.target_days:
        rates = (run.flops, run.peak_flops_per_gpu, mfu, workload.parallel_efficiency)
        required = training.gpus_for_days(require(workload.target_days, "a target"), *rates, run.goodput)
    return Outlook(mfu, training.days(workload, run, gpus), required)
