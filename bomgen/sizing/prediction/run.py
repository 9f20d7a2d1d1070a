"""The prediction for a run: its links, and the days and GPUs at the ends of its interval."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.provenance import Figure, formula, product, require
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import Plan, Training
from bomgen.sizing.prediction.measurements import Nearest, nearest_steps
from bomgen.sizing.prediction.predict import FAMILIES, GpuLinks, Prediction, predict
from bomgen.sizing.servers import bytes_of_network, network_of_gpu
from bomgen.sizing.training import run as training
from bomgen.sizing.training.parallelism import SERVER_GPUS, MemoryFit
from bomgen.sizing.training.run import TrainingRun
from bomgen.sizing.training.states import adapts


def links_of_gpu(plan: Plan, attached: Mapping[str, Attachment]) -> GpuLinks | None:
    """Return the links of a GPU of the plan's cluster; None where none are known.

    GPUs of a server whose own links are not known reach each other over its NICs.
    """
    gpu, server = plan.cluster.gpu, plan.cluster.server
    gpus = server.gpus if server else SERVER_GPUS
    workload = plan.training or plan.inference
    assumed = workload.network if workload else None
    network = network_of_gpu(plan, attached, gpus) or assumed
    if network is None:
        return None
    outward = bytes_of_network(network)
    if gpu.scale_up:
        rack = domain_of_rack(gpus, server.trays) if server and server.trays else gpus
        return GpuLinks(one_way(gpu.scale_up), outward, gpu.pod_chips or rack)
    return GpuLinks(bytes_of_network(gpu.pcie_gbps or network), outward, gpus)


@formula("bytes/s")
def one_way(scale_up: int) -> Fraction:
    """Scale-up bandwidth one way; data sheets add both directions."""
    return Fraction(scale_up) / 2


domain_of_rack = product("domain_of_rack", "GPUs", "gpus_per_tray", "trays")
"""GPUs of a rack whose scale-up links connect all of them."""


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
    plan: Plan, workload: Training, run: TrainingRun, fit: MemoryFit, gpus: Figure, attached: Mapping[str, Attachment]
) -> Predicted | None:
    """Return the prediction for a run on a cluster's GPUs; None where inputs are unknown."""
    links = links_of_gpu(plan, attached)
    if links is None:
        return None
    settled = workload._replace(recompute=fit.recompute or workload.recompute)
    found = predict(settled, fit.split, plan.cluster.gpu, links, run.flops_per_token)
    if found is None:
        return None
    ends = {
        coverage: (_outlook(workload, run, gpus, mfus.low), _outlook(workload, run, gpus, mfus.high))
        for coverage, mfus in found.mfus.items()
    }
    return Predicted(found, _outlook(workload, run, gpus, found.mfu), ends)


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
