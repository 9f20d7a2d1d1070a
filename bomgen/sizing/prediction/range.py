"""What a predicted step means for a run: days and GPUs between the ends of its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bomgen.core.provenance import Figure, require
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import Plan, Training
from bomgen.sizing.prediction.links import links_of_gpu
from bomgen.sizing.prediction.nearest import Nearest, nearest_steps
from bomgen.sizing.prediction.predict import FAMILIES, Prediction, predict
from bomgen.sizing.training import run as training
from bomgen.sizing.training.parallelism import Fit
from bomgen.sizing.training.run import TrainingRun


class Outlook(NamedTuple):
    """A run at one utilisation."""

    mfu: Figure
    days: Figure
    """On the GPUs of the cluster."""
    gpus_required: Figure | None
    """For the target days; None without a target."""


class Predicted(NamedTuple):
    """A predicted run: as predicted, and at the bounds of its intervals."""

    step: Prediction
    point: Outlook
    ends: Mapping[int, tuple[Outlook, Outlook]]
    """By coverage in percent: at the lowest utilisation, with the most days and GPUs, and at the highest."""


def predict_run(
    plan: Plan, workload: Training, run: TrainingRun, fit: Fit, gpus: Figure, attached: Mapping[str, Attachment]
) -> Predicted | None:
    """What is predicted of a run on a cluster's GPUs; None where the plan or the catalogue says too little."""
    links = links_of_gpu(plan, attached)
    if links is None:
        return None
    settled = workload._replace(recompute=fit.recompute or workload.recompute)
    found = predict(settled, fit.split, plan.cluster.gpu, links, run.flops_per_token)
    if found is None:
        return None
    ends = {
        coverage: (_outlook(workload, run, gpus, each.low), _outlook(workload, run, gpus, each.high))
        for coverage, each in found.mfus.items()
    }
    return Predicted(found, _outlook(workload, run, gpus, found.mfu), ends)


def _outlook(workload: Training, run: TrainingRun, gpus: Figure, mfu: Figure) -> Outlook:
    run = run._replace(mfu=mfu)
    required = None
    if workload.target_days:
        rates = (run.flops, run.peak_flops_per_gpu, mfu, workload.parallel_efficiency)
        required = training.gpus_for_days(require(workload.target_days, "a target"), *rates, run.goodput)
    return Outlook(mfu, training.days(workload, run, gpus), required)


def nearest_to_run(workload: Training, predicted: Predicted, fit: Fit, gpus: Figure) -> list[Nearest]:
    """The measured steps nearest to a predicted run."""
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
    return nearest_steps(predicted.step.generation, family, predicted.step.moe, numbers)
