"""How many GPUs and servers a workload takes, how long they take, and whether the model fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import NamedTuple

from bomgen.figures import Figure, Given
from bomgen.network import Attachment
from bomgen.plan import Cluster, Inference, Plan, Training
from bomgen.problems import Infeasible
from bomgen.sizing import interruptions, parallelism, peak, serving, states, storage, training
from bomgen.sizing.counts import counts, given_gpus, pods_of_chips
from bomgen.sizing.interruptions import LostTime
from bomgen.sizing.opinions import Opinions, opinions
from bomgen.sizing.parallelism import Fit
from bomgen.sizing.peak import Target
from bomgen.sizing.serving import Serving
from bomgen.sizing.storage import Stored
from bomgen.sizing.training import Run

ESTIMATE = "estimate"
MAX_ROUNDS = 200
"""A larger cluster is interrupted more often; the size settles in a few rounds, in more close to the largest useful."""


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
    """What others say of a training run that trains every weight; worked out when it is asked for."""
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
    """A run with the cluster that finishes it, whose goodput, where it is to be estimated, is that of its own size.

    An estimate starts from no loss, and goes on with the least goodput found so far: the cluster never shrinks on the
    way, and is large enough as soon as its own goodput is no less than the one that it was sized with.
    """
    top = peak.peak_of_gpu(plan.cluster.gpu, workload.precision, "workload.training", plan.cluster.mark)
    contents = storage.contents(workload)
    estimated = workload.goodput.value == ESTIMATE
    goodput = interruptions.NOTHING_LOST if estimated else workload.goodput
    for _ in range(MAX_ROUNDS):
        run = training.size(workload, top, goodput)
        try:
            servers, gpus = counts(plan, run.gpus_required, attached)
        except Infeasible as error:
            if error.because is run.gpus_required and estimated and goodput is not interruptions.NOTHING_LOST:
                raise _no_goodput(plan, workload) from error
            raise
        lost = interruptions.lost_time(contents, plan.storage, gpus, servers)
        if not estimated:
            return run, servers, gpus, lost
        if lost.goodput.value >= goodput.value:
            return run._replace(goodput=lost.goodput), servers, gpus, lost
        if lost.goodput.value == 0:
            break
        goodput = lost.goodput
    raise _no_goodput(plan, workload)


def _no_goodput(plan: Plan, workload: Training) -> Infeasible:
    """Why a run whose goodput is to be estimated cannot be: it trains no time, or too little on any cluster."""
    remedy = "faster storage, a shorter `restart`, rarer interruptions, or a goodput that was measured"
    if plan.storage.checkpoint_every:
        remedy = f"more frequent checkpoints (without `checkpoint_every` they come when they cost least), {remedy}"
    if plan.cluster.gpus or plan.cluster.servers or workload.target_days is None:
        message = "interruptions and checkpoints of a cluster of this size leave no time to train; give "
        return Infeasible(message + remedy, because=workload.goodput, rule="no-goodput")
    message = "no cluster is large enough: a larger one loses more to interruptions than it gains; give more days, "
    return Infeasible(message + remedy, because=workload.target_days, rule="no-goodput")


def _of_inference(plan: Plan, workload: Inference, attached: Mapping[str, Attachment]) -> Sizing:
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
