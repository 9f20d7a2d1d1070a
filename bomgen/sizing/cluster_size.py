"""How many GPUs and servers a workload takes, how long they take, and whether the model fits.

Constants of a published formula are figures here, cited, and reach the report as the defaults of `data/assumption/` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, Given
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import ESTIMATE, Cluster, Inference, Plan, Training
from bomgen.sizing import peak_flops as peak
from bomgen.sizing import storage
from bomgen.sizing.peak_flops import Target
from bomgen.sizing.second_opinions import Opinions, opinions
from bomgen.sizing.servers import MAX_GPUS, counts, given_gpus, pods_of_chips, servers_for_gpus
from bomgen.sizing.storage import Contents, Stored
from bomgen.sizing.training import interruptions, parallelism, states
from bomgen.sizing.training import run as training
from bomgen.sizing.training.interruptions import LostTime
from bomgen.sizing.training.parallelism import Fit
from bomgen.sizing.training.run import Run

if TYPE_CHECKING:
    from bomgen.sizing.serving.service import Serving

STEPS = 8
"""The search for a cluster that makes up for what it loses grows by an eighth at a time."""
MAX_ROUNDS = 20
"""Rounding up may make a cluster worth less than is needed; the next size is tried so many times."""


class Sizing(NamedTuple):
    """The size of the cluster, and what the workload makes of it."""

    servers: Figure | None
    """Whole servers, or trays of a rack-scale system; None when no server is known for the GPU."""
    gpus: Figure
    run: Run | None = None
    days: Figure | None = None
    tokens_per_second: Figure | None = None
    fit: Fit | None = None
    opinions: Callable[[], Opinions] | None = None
    """What others say of a pre-training run; worked out when it is asked for."""
    trainable_parameters: Figure | None = None
    """Of a fine-tuning run."""
    lost: LostTime | None = None
    """Time that a training run loses to interruptions and checkpoints."""
    serving: Serving | None = None
    target: Target | None = None
    pods: Figure | None = None
    """Of accelerators that are rented by the pod, whose links are their own: the plan ends with sizing."""
    peak_flops: Figure | None = None
    """Of all GPUs, for a target of computing power [FLOP/s]."""
    stored: Stored | None = None
    """None: the plan asks for no storage."""


def size(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """The size of the plan's cluster, whose servers hang on its fabrics as `attached` says.

    Raises PlanErrors when the plan says too little, Infeasible when no cluster meets it.
    """
    sized = _of_workload(plan, attached)
    checkpoint = sized.lost.checkpoint if sized.lost else None
    return sized._replace(stored=storage.size(plan.storage, checkpoint, sized.gpus, sized.servers))


def _of_workload(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    if plan.training:
        found = _of_training(plan, plan.training, attached)
    elif plan.inference:
        found = _of_inference(plan, plan.inference, attached)
    else:
        found = _of_target(plan, attached)
    chips = plan.cluster.gpu.pod_chips
    return found._replace(pods=pods_of_chips(found.gpus, chips)) if chips else found


def _of_target(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """The size of a cluster for a target of computing power, or of one whose size is given."""
    target = peak.size(plan.compute, plan.cluster.gpu) if plan.compute else None
    servers, gpus = counts(plan, target.gpus_required if target else None, attached)
    reached = peak.peak_of_cluster(gpus, target.peak_flops_per_gpu) if target else None
    return Sizing(target=target, servers=servers, gpus=gpus, peak_flops=reached)


def _of_training(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> Sizing:
    run, servers, gpus, lost = _settled(plan, workload, attached)
    days = training.days(workload, run, gpus)
    asked = None if workload.tuning else cache(partial(opinions, workload, run, plan.cluster.gpu, gpus, days))
    return Sizing(
        run=run,
        opinions=asked,
        trainable_parameters=states.trainable_parameters(workload) if workload.tuning else None,
        servers=servers,
        gpus=gpus,
        days=days,
        tokens_per_second=training.tokens_per_second(workload, run, gpus),
        fit=_fit(workload, plan.cluster, gpus),
        lost=interruptions.over(days, lost),
    )


def _settled(
    plan: Plan, workload: Training, attached: Mapping[str, Attachment]
) -> tuple[Run, Figure | None, Figure, LostTime]:
    """A run with the cluster that finishes it, whose goodput, where it is to be estimated, is that of its own size."""
    top = peak.peak_of_gpu(plan.cluster.gpu, workload.precision, "workload.training", plan.cluster.mark)
    contents = storage.contents(workload)
    if workload.goodput.value != ESTIMATE:
        run = training.size(workload, top, workload.goodput)
        servers, gpus = counts(plan, _whole(plan, workload, run.gpus_required), attached)
        return run, servers, gpus, interruptions.lost_time(contents, plan.storage, gpus, servers)
    unhindered = training.size(workload, top, interruptions.NOTHING_LOST)
    if given_gpus(plan.cluster) is not None or unhindered.gpus_required is None:
        servers, gpus = counts(plan, unhindered.gpus_required, attached)
        lost = interruptions.lost_time(contents, plan.storage, gpus, servers)
        if lost.goodput.value == 0:
            raise _no_goodput(plan, workload)
        return training.size(workload, top, lost.goodput), servers, gpus, lost
    return _estimated(plan, workload, attached, unhindered, contents, top)


def _estimated(
    plan: Plan, workload: Training, attached: Mapping[str, Attachment], unhindered: Run, contents: Contents, top: Figure
) -> tuple[Run, Figure | None, Figure, LostTime]:
    """The smallest cluster whose GPUs, less the time that they lose, are as many as are needed where none is lost.

    Larger clusters lose more to interruptions and write checkpoints faster, so that their worth rises up to a size and
    falls from there: it is searched in growing steps, then exactly, and once more in steps of what it is rounded up to.
    """
    needed = training.needed(workload, unhindered)
    of_server = plan.cluster.server.gpus if plan.cluster.server else None

    def lost_by(count: int) -> LostTime:
        gpus = interruptions.tried(count)
        servers = servers_for_gpus(gpus, of_server) if of_server else None
        return interruptions.lost_time(contents, plan.storage, gpus, servers)

    def enough(count: int) -> bool:
        return bool(count * lost_by(count).goodput.value >= needed.value)

    count = ceil(needed.value)
    too_few = count - 1
    while not enough(count):
        too_few, count = count, count + max(1, count // STEPS)
        if count > MAX_GPUS:
            raise _no_goodput(plan, workload)
    while count - too_few > 1:
        middle = (too_few + count) // 2
        too_few, count = (too_few, middle) if enough(middle) else (middle, count)
    for _ in range(MAX_ROUNDS):
        goodput = lost_by(count).goodput
        if not goodput.value:
            break
        wanted = interruptions.gpus_that_lose(needed, goodput, interruptions.tried(count))
        servers, gpus = counts(plan, _whole(plan, workload, wanted), attached)
        if enough(gpus.value):
            lost = interruptions.lost_time(contents, plan.storage, gpus, servers)
            run = training.size(workload, top, lost.goodput)
            return run._replace(gpus_required=wanted), servers, gpus, lost
        count = max(gpus.value, count) + 1
    raise _no_goodput(plan, workload)


def _whole(plan: Plan, workload: Training, required: Figure | None) -> Figure | None:
    """GPUs rounded up to whole replicas of degrees given by hand, on whole servers; None: none are required."""
    given, server = workload.parallelism, plan.cluster.server
    if given is None or required is None:
        return required
    size = parallelism.replica_size(given.tensor, given.pipeline, given.context)
    return parallelism.whole_replicas(required, size, server.gpus) if server else required


def _no_goodput(plan: Plan, workload: Training) -> Infeasible:
    """Why a run whose goodput is to be estimated cannot be: it trains no time, or too little on any cluster."""
    remedy = "faster storage, a shorter `restart`, rarer interruptions, or a goodput that was measured"
    if plan.storage.checkpoint_every:
        remedy = f"more frequent checkpoints (without `checkpoint_every` they come when they cost least), {remedy}"
    if plan.cluster.gpus or plan.cluster.servers or workload.target_days is None:
        message = "interruptions and checkpoints of a cluster of this size leave no time to train; give "
        return Infeasible(message + remedy, because=workload.goodput, rule="no-goodput")
    message = "no cluster is large enough: a larger one loses more to interruptions than it gains; give more days, "
    if isinstance(plan.cluster.round_up_to.origin, Given):
        message += "a smaller `round_up_to`, "
    return Infeasible(message + remedy, because=workload.target_days, rule="no-goodput")


def _of_inference(plan: Plan, workload: Inference, attached: Mapping[str, Attachment]) -> Sizing:
    from bomgen.sizing.serving import service as serving

    server = plan.cluster.server
    given = given_gpus(plan.cluster)
    need = serving.size(workload, plan.cluster.gpu, server.gpus if server else None, given)
    servers, gpus = counts(plan, need.gpus_required, attached)
    served = serving.serve(workload, need, plan.cluster.gpu, gpus, given is not None)
    return Sizing(serving=served, servers=servers, gpus=gpus)


def _fit(workload: Training, cluster: Cluster, gpus: Figure) -> Fit:
    """How the run is cut up. A length of sequence that nobody asked for refuses nothing: it is left out with a warning.

    Raises Infeasible when nothing fits that the plan asks for.
    """
    of_server = cluster.server.gpus if cluster.server else None
    try:
        return parallelism.fit(workload, cluster.gpu, gpus, of_server)
    except Infeasible as error:
        length = workload.sequence
        if length is None or isinstance(length.origin, Given):
            raise
        without = parallelism.fit(workload._replace(sequence=None), cluster.gpu, gpus, of_server)
        message = (
            f"activations are left out: at the model's whole context of {length.value} tokens {error.message}. "
            "Give the `sequence` that the run trains with"
        )
        return without._replace(warning=message)
