"""The size of a cluster: GPUs and servers for a workload, its duration, and whether the model fits.

Constants of a published formula are cited figures here, and appear in the report like the defaults of
`data/assumption/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import islice, takewhile
from math import ceil, inf, lcm
from typing import TYPE_CHECKING, NamedTuple

from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, Given, require
from bomgen.plan.fabric_demand import Attachment
from bomgen.plan.types import ESTIMATE, ONE_POOL, Inference, Plan, Reinforcement, Training
from bomgen.sizing import servers as peak
from bomgen.sizing import storage
from bomgen.sizing.servers import (
    MAX_GPUS,
    Target,
    allowed_counts,
    bytes_of_network,
    count_servers,
    given_gpus,
    gpu_with_host,
    gpus_of_unit,
    network_of_gpu,
    pods_of_chips,
    servers_for_gpus,
)
from bomgen.sizing.storage import LostTime, Stored
from bomgen.sizing.training import parallelism, states
from bomgen.sizing.training import run as training
from bomgen.sizing.training.memory import TimedSplit, degrees_of
from bomgen.sizing.training.parallelism import MemoryFit
from bomgen.sizing.training.run import Opinions, TrainingRun, opinions
from bomgen.sizing.training.states import ParallelSplit

if TYPE_CHECKING:
    from bomgen.sizing.prediction.predict import Interval, Predicted
    from bomgen.sizing.prediction.search import Predictor
    from bomgen.sizing.reinforcement import ReinforcedStep
    from bomgen.sizing.serving.service import Serving

STEPS = 8
"""The search for a cluster that makes up for its lost time grows by an eighth per step."""
MAX_ROUNDS = 20
"""Rounding up may leave a cluster with less goodput than needed; this many next sizes are tried."""

MOST_CANDIDATES = 2**11
"""Numbers of GPUs with a short enough step that are tried: beyond, larger clusters lose ever more time."""


MOST_REINFORCED = 2**14
"""GPUs up to which clusters for reinforcement learning are tried."""
POOL_PARTS = 8
"""Parts of a cluster of which one to all but one are tried for the pool that only generates."""


class _SplitRun(NamedTuple):
    run: TrainingRun
    servers: Figure | None
    gpus: Figure
    lost: LostTime
    fit: MemoryFit


class Sizing(NamedTuple):
    """The size of a cluster and the results for its workload."""

    gpus: Figure
    servers: Figure | None
    """Whole servers, or trays of a rack-scale system; None when no server is known for the GPU."""
    run: TrainingRun | None = None
    days: Figure | None = None
    tokens_per_second: Figure | None = None
    fit: MemoryFit | None = None
    faster: Callable[[], TimedSplit | None] | None = None
    """A search for a split that is faster on fewer GPUs or with another recomputation; None for a given split."""
    opinions: Callable[[], Opinions] | None = None
    """Second opinions on a pre-training run, calculated when called."""
    trainable_parameters: Figure | None = None
    """Trainable parameters of a fine-tuning run; None otherwise."""
    lost: LostTime | None = None
    """Time lost to interruptions and checkpoints of a training run; None for other workloads."""
    serving: Serving | None = None
    target: Target | None = None
    pods: Figure | None = None
    """Pods of accelerators that are rented by the pod and linked directly; None for other accelerators."""
    peak_flops: Figure | None = None
    """Peak of all GPUs [FLOP/s], where the plan has a target of computing power."""
    stored: Stored | None = None
    """The storage; None if the plan has none."""
    reinforced: ReinforcedStep | None = None
    """A step of reinforcement learning; None for other workloads."""
    days_range: Interval | None = None
    """Bounds of the days of reinforcement learning; None for other workloads."""
    predicted: Predicted | None = None
    """The prediction for a pre-training run with an assumed or predicted utilisation; None where inputs are unknown."""


def size_cluster(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the size of the plan's cluster; `attached` has the attachment of its servers by fabric name.

    Raises PlanErrors when the plan gives too little, Infeasible when no cluster satisfies it.
    """
    plan = plan._replace(storage=storage.as_cabled(plan, attached))
    sized = _size_workload(plan, attached)
    checkpoint = sized.lost.checkpoint if sized.lost else None
    return sized._replace(stored=storage.size_storage(plan.storage, checkpoint, sized.gpus, sized.servers))


def _size_workload(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    if plan.training and plan.reinforcement:
        sized = _size_reinforcement(plan, plan.training, plan.reinforcement, attached)
    elif plan.training:
        sized = _size_training(plan, plan.training, attached)
    elif plan.inference:
        sized = _size_inference(plan, plan.inference, attached)
    else:
        sized = _size_compute(plan, attached)
    chips = plan.cluster.gpu.pod_chips
    return sized._replace(pods=pods_of_chips(sized.gpus, chips)) if chips else sized


def _size_compute(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the cluster for a peak or a volume of work, or that of the plan; a volume of work takes some days."""
    target = peak.size_target(plan.compute, plan.cluster.gpu) if plan.compute else None
    servers, gpus = count_servers(plan, target.gpus_required if target else None, attached)
    sized = Sizing(target=target, servers=servers, gpus=gpus)
    if plan.compute and target and target.gpu_hours:
        return sized._replace(days=peak.days_of_hours(target.gpu_hours, gpus, plan.compute.goodput))
    each = target.peak_flops_per_gpu if target else None
    return sized._replace(peak_flops=peak.peak_of_cluster(gpus, each)) if each else sized


def _size_training(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> Sizing:
    if workload.predicted is None:
        sizing = _size_run_that_fits(plan, workload, attached)
        measured = workload.mfu is None or isinstance(workload.mfu.origin, Given)
        if measured:
            return sizing
        return sizing._replace(predicted=_predict(plan, workload, sizing, attached))
    if workload.target_days is None or given_gpus(plan.cluster) is not None:
        return _size_by_prediction(plan, workload, attached)
    return _search_predicted_size(plan, workload, attached)


def _size_by_prediction(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> Sizing:
    predicted = _predict(plan, workload, _size_run_that_fits(plan, workload, attached), attached)
    if predicted is None:
        text = (
            f"the speed of {workload.model.identity.name} on {plan.cluster.gpu.identity.name} cannot be predicted: "
            "this requires a model of known shape, a `sequence`, an accelerator with known bandwidths, and for qlora "
            "a precision of 16 bits; set `mfu` to a share"
        )
        raise Infeasible(text, because=require(workload.predicted, "it is asked for"), rule="no-prediction")
    sized = _size_run_that_fits(plan, workload._replace(mfu=predicted.step.mfu), attached)
    return sized._replace(predicted=predicted)


def _search_predicted_size(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the smallest cluster allowed by the plan's rounding whose own prediction meets the target."""
    from bomgen.sizing.prediction.fewest_gpus import ROUNDING, GpusOfRun, counts_in_time

    target = require(workload.target_days, "the search is for target days")
    first = _size_run_that_fits(plan, workload, attached)
    tried = _size_by_prediction(
        _with_gpus(plan, int(first.gpus.value), message("predicted-gpus-why")), workload, attached
    )
    step, days = require(tried.predicted, "a run was predicted").step, require(tried.days, "a run takes days")
    lost = require(tried.lost, "a run loses time") if workload.goodput.value == ESTIMATE else None
    of_days = float(sum(term.value for term in step.terms.values())) / float(days.value)
    # At full goodput, which belongs to each size where it is estimated.
    seconds = float(target.value) * of_days / float(lost.goodput.value if lost else 1)
    replica = parallelism.whole_gpus(workload.parallelism) if workload.parallelism else 1
    unit = lcm(replica, gpus_of_unit(plan.cluster))
    server = plan.cluster.server
    gpus = GpusOfRun(gpu_with_host(plan.cluster), unit, first.gpus, MAX_GPUS)
    predictors = _predictors(plan, workload, attached)
    for count, step_seconds in islice(counts_in_time(predictors, gpus, seconds), MOST_CANDIDATES):
        size_tried = storage.candidate_size(count)
        if lost:
            servers = servers_for_gpus(size_tried, server.gpus) if server else None
            goodput = storage.lost_time(lost.checkpoint.contents, plan.storage, size_tried, servers).goodput
            if step_seconds > seconds * float(goodput.value) * (1 + ROUNDING):
                continue
        if next(allowed_counts(plan, size_tried, replica, attached), None) != count:
            continue
        sized = _size_by_prediction(_with_gpus(plan, count, message("predicted-gpus-why")), workload, attached)
        if require(sized.days, "a run takes days").value <= target.value:
            return sized
    text = (
        f"no cluster is predicted to finish in {float(target.value):g} days: a step of "
        f"{workload.batch_tokens.value} tokens gains little from more GPUs; allow more days, or a larger "
        "`batch_tokens`"
    )
    raise Infeasible(text, because=target, rule="no-prediction")


def _size_reinforcement(
    plan: Plan, workload: Training, learning: Reinforcement, attached: Mapping[str, Attachment]
) -> Sizing:
    """Return the given cluster, or the smallest whose predicted days meet the target."""
    if learning.target_days is None or given_gpus(plan.cluster) is not None:
        return _reinforce(plan, workload, learning, attached)
    target, least, most = learning.target_days, 0, 0
    fits: dict[int, Sizing] = {}
    refusals: list[Infeasible] = []

    def enough(above: int) -> int | None:
        """Return the first allowed number of GPUs from `above` on if it meets the target; None: it misses it."""
        count = next(allowed_counts(plan, storage.candidate_size(above), 1, attached), MAX_GPUS)
        try:
            sized = _reinforce(_with_gpus(plan, count, message("predicted-gpus-why")), workload, learning, attached)
        except Infeasible as error:
            refusals.append(error)
            return None
        fits[count] = sized
        return count if require(sized.days, "a run takes days").value <= target.value else None

    wanted = gpus_of_unit(plan.cluster)
    while not (most := enough(wanted) or 0):
        least, wanted = wanted, 2 * wanted
        if wanted > MOST_REINFORCED:
            if not fits:
                raise refusals[-1]
            days = [float(require(sized.days, "a run takes days").value) for sized in fits.values()]
            reached = f"; the shortest run takes {min(days):.3g}"
            text = (
                f"no cluster of up to {MOST_REINFORCED} GPUs is predicted to finish in {float(target.value):g} days"
                f"{reached}; a step waits for its longest response and the refit: allow more days, or fewer `steps`"
            )
            raise Infeasible(text, because=target, rule="no-prediction")
    while most - least > gpus_of_unit(plan.cluster):
        middle = least + (most - least) // 2
        enough_at = enough(middle)
        least, most = (middle, most) if enough_at is None or enough_at >= most else (least, enough_at)
    return fits[most]


def _reinforce(plan: Plan, workload: Training, learning: Reinforcement, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the results on the GPUs of the plan; with two pools those of the fastest division into both."""
    servers, gpus = count_servers(plan, None, attached)
    if learning.pools == ONE_POOL or learning.generation is None:
        return _reinforce_pools(plan, workload, learning, attached, servers, gpus, None)
    if learning.generation_gpus:
        return _reinforce_pools(plan, workload, learning, attached, servers, gpus, learning.generation_gpus)
    best: Sizing | None = None
    refusal: Infeasible | None = None
    unit = gpus_of_unit(plan.cluster)
    shares = {max(1, int(gpus.value) * part // (unit * POOL_PARTS)) * unit for part in range(1, POOL_PARTS)}
    for share in sorted(shares):
        try:
            origin = Assumed(message("generation-gpus"), message("generation-gpus-why"), (), "high", chosen=True)
            generating = Figure(share, "GPUs", origin)
            sized = _reinforce_pools(plan, workload, learning, attached, servers, gpus, generating)
        except Infeasible as error:
            refusal = error
            continue
        if best is None or require(sized.days, "days").value < require(best.days, "days").value:
            best = sized
    if best is None:
        raise require(refusal, "a division that fails is refused")
    return best


def _reinforce_pools(
    plan: Plan,
    workload: Training,
    learning: Reinforcement,
    attached: Mapping[str, Attachment],
    servers: Figure | None,
    gpus: Figure,
    generating: Figure | None,
) -> Sizing:
    from bomgen.sizing import reinforcement
    from bomgen.sizing.prediction.predict import links_of_gpu

    unit = gpus_of_unit(plan.cluster)
    if generating and (generating.value >= gpus.value or generating.value % unit):
        fits = f"from {unit} to {gpus.value - unit} in steps of {unit}" if gpus.value > unit else "none"
        text = (
            f"`generation.gpus` must be whole servers and leave at least one for training; valid with {gpus.value} "
            f"GPUs: {fits}"
        )
        raise Infeasible(text, because=learning.generation_gpus or gpus, rule="generation-gpus")
    training_gpus = reinforcement.gpus_that_train(gpus, generating) if generating else gpus
    pool = plan.cluster._replace(gpus=training_gpus, servers=None, racks=None)
    pools = reinforcement.Pools(training_gpus, generating or gpus, generating is None)
    updated = _size_run_that_fits(plan._replace(cluster=pool), workload, attached)
    run, fit = require(updated.run, "a run is sized"), require(updated.fit, "a run has a split")
    settled = workload._replace(recompute=fit.recompute or workload.recompute)
    server = plan.cluster.server
    step = reinforcement.reinforced_step(
        learning,
        settled,
        run,
        fit.split,
        plan.cluster.gpu,
        links_of_gpu(plan, attached),
        server.gpus if server else None,
        pools,
    )
    days, days_range = reinforcement.ends_of_run(learning, step, run.goodput)
    sized = _size_run_that_fits(plan._replace(cluster=pool), workload._replace(mfu=step.mfu), attached)
    return sized._replace(
        servers=servers,
        gpus=gpus,
        days=days,
        days_range=days_range,
        tokens_per_second=reinforcement.tokens_of_days(workload.tokens, days),
        reinforced=step,
        faster=None,
        opinions=None,
        lost=storage.add_interruptions(days, require(sized.lost, "a run loses time")),
    )


def _predict(plan: Plan, workload: Training, sized: Sizing, attached: Mapping[str, Attachment]) -> Predicted | None:
    from bomgen.sizing.prediction.predict import predict_run

    if sized.run is None or sized.fit is None:
        return None
    return predict_run(plan, workload, sized.run, sized.fit, sized.gpus, attached)


def _size_run_that_fits(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the size of a cluster for a run. Raises Infeasible when nothing fits, with numbers of GPUs that do.

    A default sequence length never breaks a plan: where no split fits, its activations are left out with a warning.
    """
    split_run, length = _find_split(plan, workload, attached), workload.sequence
    if length is not None and (plan.reinforcement or isinstance(length.origin, Given)):
        length = None
    if isinstance(split_run, Infeasible) and length is not None:
        refusal, split_run = split_run, _find_split(plan, workload._replace(sequence=None), attached)
        if not isinstance(split_run, Infeasible):
            shortage = _add_counts_that_fit(plan, workload, attached, refusal).message
            warning = message("activations-left-out", length=length.value, shortage=shortage)
            split_run = split_run._replace(fit=split_run.fit._replace(warning=warning))
    if isinstance(split_run, Infeasible):
        raise _add_counts_that_fit(plan, workload, attached, split_run, length)
    run, servers, gpus, lost, fit = split_run
    if given_gpus(plan.cluster) is not None and (workload.predicted or workload.goodput.value == ESTIMATE):
        run = run._replace(gpus_required=None)  # both change with the number of GPUs
    days = training.days(workload, run, gpus)
    compared = None if workload.tuning else cache(partial(opinions, workload, run, plan.cluster.gpu, gpus, days))
    return Sizing(
        run=run,
        faster=None if workload.parallelism else cache(partial(_faster_split, plan, workload, attached, fit, gpus)),
        opinions=compared,
        trainable_parameters=states.trainable_parameters(workload) if workload.tuning else None,
        servers=servers,
        gpus=gpus,
        days=days,
        tokens_per_second=training.tokens_per_second(workload, run, gpus),
        fit=fit,
        lost=storage.add_interruptions(days, lost),
    )


def _find_split(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> _SplitRun | Infeasible:
    """Return a run on the plan's GPUs, or those its days need, else on more; or why none fits."""
    split_run = _try_recomputations(plan, workload, attached)
    if isinstance(split_run, _SplitRun) or given_gpus(plan.cluster) is not None:
        return split_run
    target, refusal, above, missed = require(workload.target_days, "a target asks for GPUs"), split_run, 0, 0
    while missed < MAX_ROUNDS and (count := _next_count(plan, workload, attached, above)):
        split_run = _try_recomputations(_with_gpus(plan, count, message("split-gpus-why")), workload, attached)
        if isinstance(split_run, _SplitRun):
            if training.days(workload, split_run.run, split_run.gpus).value <= target.value:
                why = message("fewest-gpus-with-split", refusal=refusal.message, gpus=count)
                reasons = split_run.fit.reasons if workload.parallelism else (*split_run.fit.reasons, why)
                return split_run._replace(fit=split_run.fit._replace(reasons=reasons))
            missed += 1
        above = count
    if missed:
        raise _goodput_error(plan, workload)
    return refusal


def _try_recomputations(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> _SplitRun | Infeasible:
    """Return a run with the recomputation of the plan, or the fastest that fits; or why none fits.

    Where steps cannot be compared, it is the lowest recomputation that fits, else the highest.
    """
    best: _SplitRun | None = None
    refusal: Infeasible | None = None
    refused: tuple[str, str] | None = None
    slower: TimedSplit | None = None
    for choice in parallelism.with_recomputation(workload):
        try:
            run, servers, gpus, lost = _size_run(plan, choice, attached)
        except Infeasible:
            if best is None:
                raise
            break  # the rate of the run exceeds the peak with what is recomputed
        if best and gpus.value != best.gpus.value:
            break
        memory_fit = _fit(choice, plan, gpus, attached, slower.seconds if slower else inf)
        if isinstance(memory_fit, Infeasible):
            refusal, refused = memory_fit, (str(choice.recompute.value), memory_fit.message)
        elif memory_fit:
            fit = parallelism.add_recomputation(memory_fit, choice.recompute, refused, slower)
            best = _SplitRun(run, servers, gpus, lost, fit)
            if memory_fit.fits is False and memory_fit.warning and memory_fit.per_gpu.activations:
                refused = str(choice.recompute.value), memory_fit.warning
                continue
            slower = memory_fit.fastest or _timed(plan, choice, attached, memory_fit.split, gpus)
            if slower is None:
                break
    return best or require(refusal, "a run that does not fit is refused")


def _next_count(plan: Plan, workload: Training, attached: Mapping[str, Attachment], above: int) -> int | None:
    count: int | None = None
    for choice in reversed(parallelism.with_recomputation(workload)):
        _, _, gpus, _ = _size_run(plan, choice, attached)
        least = replace(gpus, value=max(int(gpus.value), above + 1))
        count = _first_fitting(plan, choice, attached, least, count)
        if count is None:
            # Full recomputation comes first, and needs the least memory.
            return None
    return count


def _first_fitting(
    plan: Plan, choice: Training, attached: Mapping[str, Attachment], least: Figure, best: int | None = None
) -> int | None:
    """Return the smallest number of GPUs from `least` on that a run fits, below `best` if given."""
    from bomgen.sizing.training.fitting_counts import first_fitting

    server = plan.cluster.server
    replica = parallelism.whole_gpus(choice.parallelism) if choice.parallelism else 1
    counts = allowed_counts(plan, least, replica, attached)
    smaller = takewhile(lambda count: best is None or count < best, counts)
    fewest = first_fitting(choice, gpu_with_host(plan.cluster), least, server.gpus if server else None, smaller)
    return best if fewest is None else fewest


def _add_counts_that_fit(
    plan: Plan,
    workload: Training,
    attached: Mapping[str, Attachment],
    refusal: Infeasible,
    assumed_length: Figure | None = None,
) -> Infeasible:
    """Return the error for given GPUs with the smallest number that fits, and the smallest one above the given."""
    gpus = given_gpus(plan.cluster)
    if gpus is None or workload.parallelism:
        return refusal
    choice = parallelism.with_recomputation(workload)[-1]
    counts = (_first_fitting(plan, choice, attached, storage.candidate_size(least)) for least in (1, gpus))
    numbers = dict.fromkeys(str(count) for count in counts if count)
    if not numbers:
        return refusal
    text = message("no-split-fits-but", refusal=refusal.message, counts=numbers)
    if assumed_length:
        text = message("at-assumed-sequence", sentence=text, length=assumed_length.value)
    return Infeasible(text, because=refusal.because, rule=refusal.rule)


def _with_gpus(plan: Plan, count: int, why: Message) -> Plan:
    origin = Assumed(message("chosen-gpus"), why, (), "high", chosen=True)
    return plan._replace(cluster=plan.cluster._replace(gpus=Figure(count, "GPUs", origin)))


def _size_run(
    plan: Plan, workload: Training, attached: Mapping[str, Attachment]
) -> tuple[TrainingRun, Figure | None, Figure, LostTime]:
    """Return a run with servers, GPUs and lost time of its cluster; an estimated goodput depends on its size."""
    top = peak.peak_of_gpu(plan.cluster.gpu, workload.precision, f"workload.{workload.block}", plan.cluster.mark)
    contents = storage.contents(workload)
    if workload.goodput.value != ESTIMATE:
        run = training.size_training(workload, top, workload.goodput)
        servers, gpus = count_servers(plan, _round_up_to_replicas(plan, workload, run.gpus_required), attached)
        return run, servers, gpus, storage.lost_time(contents, plan.storage, gpus, servers)
    unhindered = training.size_training(workload, top, storage.FULL_GOODPUT)
    if given_gpus(plan.cluster) is not None or unhindered.gpus_required is None:
        servers, gpus = count_servers(plan, unhindered.gpus_required, attached)
        lost = storage.lost_time(contents, plan.storage, gpus, servers)
        if lost.goodput.value == 0:
            raise _goodput_error(plan, workload)
        return training.size_training(workload, top, lost.goodput), servers, gpus, lost
    return _search_size(plan, workload, attached, unhindered, top)


def _search_size(
    plan: Plan, workload: Training, attached: Mapping[str, Attachment], unhindered: TrainingRun, top: Figure
) -> tuple[TrainingRun, Figure | None, Figure, LostTime]:
    """Return the smallest cluster whose GPUs times goodput reach the GPUs needed without lost time.

    Larger clusters are interrupted more often and write checkpoints faster, so that this product rises up to some size
    and then falls. The search takes growing steps, then bisects, then continues in steps of the rounding unit.
    """
    contents, needed = storage.contents(workload), training.gpus_needed(workload, unhindered)
    per_server = plan.cluster.server.gpus if plan.cluster.server else None

    def lost_by(count: int) -> LostTime:
        gpus = storage.candidate_size(count)
        servers = servers_for_gpus(gpus, per_server) if per_server else None
        return storage.lost_time(contents, plan.storage, gpus, servers)

    def enough(count: int) -> bool:
        return bool(count * lost_by(count).goodput.value >= needed.value)

    count = ceil(needed.value)
    too_few = count - 1
    while not enough(count):
        too_few, count = count, count + max(1, count // STEPS)
        if count > MAX_GPUS:
            raise _goodput_error(plan, workload)
    while count - too_few > 1:
        middle = (too_few + count) // 2
        too_few, count = (too_few, middle) if enough(middle) else (middle, count)
    for _ in range(MAX_ROUNDS):
        goodput = lost_by(count).goodput
        if not goodput.value:
            break
        wanted = storage.gpus_that_lose(needed, goodput, storage.candidate_size(count))
        servers, gpus = count_servers(plan, _round_up_to_replicas(plan, workload, wanted), attached)
        if enough(gpus.value):
            lost = storage.lost_time(contents, plan.storage, gpus, servers)
            run = training.size_training(workload, top, lost.goodput)
            return run._replace(gpus_required=wanted), servers, gpus, lost
        count = max(gpus.value, count) + 1
    raise _goodput_error(plan, workload)


def _round_up_to_replicas(plan: Plan, workload: Training, required: Figure | None) -> Figure | None:
    """Return the GPUs rounded up to whole replicas of the given degrees, on whole servers; None: none are required."""
    degrees, server = workload.parallelism, plan.cluster.server
    if degrees is None or required is None:
        return required
    size = parallelism.replica_size(degrees.tensor, degrees.pipeline, degrees.context)
    return parallelism.whole_replicas(required, size, server.gpus) if server else required


def _goodput_error(plan: Plan, workload: Training) -> Infeasible:
    remedy = "faster storage, a shorter `restart`, rarer interruptions, or a measured goodput"
    if plan.storage.checkpoint_every:
        remedy = f"more frequent checkpoints (without `checkpoint_every` the best interval is used), {remedy}"
    if plan.cluster.gpus or plan.cluster.servers or workload.target_days is None:
        message = "interruptions and checkpoints of a cluster of this size leave no time for training; use "
        return Infeasible(message + remedy, because=workload.goodput, rule="no-goodput")
    message = (
        "no cluster size meets the target: beyond a point, added GPUs lose more time to interruptions than they save; "
        "allow more days, "
    )
    if isinstance(plan.cluster.round_up_to.origin, Given):
        message += "a smaller `round_up_to`, "
    return Infeasible(message + remedy, because=workload.target_days, rule="no-goodput")


def _size_inference(plan: Plan, workload: Inference, attached: Mapping[str, Attachment]) -> Sizing:
    from bomgen.sizing.prediction.predict import links_of_gpu
    from bomgen.sizing.serving import service as serving

    server = plan.cluster.server
    fixed = given_gpus(plan.cluster)
    links = links_of_gpu(plan, attached)
    need = serving.size_serving(workload, plan.cluster.gpu, links, server.gpus if server else None, fixed)
    servers, gpus = count_servers(plan, need.gpus_to_buy, attached)
    network = network_of_gpu(plan, attached, server.gpus) if server else None
    network = bytes_of_network(network) if network else None
    unit = None if fixed is None else gpus_of_unit(plan.cluster)
    served = serving.serve(workload, need, plan.cluster.gpu, gpus, unit, network)
    return Sizing(serving=served, servers=servers, gpus=gpus)


def _fit(
    workload: Training, plan: Plan, gpus: Figure, attached: Mapping[str, Attachment], below: float
) -> MemoryFit | Infeasible | None:
    """Return the split of the run over GPUs, or the reason where nothing that the plan allows fits.

    None: no split is predicted to step in less than `below` seconds.
    """
    gpu, server = gpu_with_host(plan.cluster), plan.cluster.server
    per_server = server.gpus if server else None
    try:
        if workload.parallelism is not None:
            return parallelism.fit(workload, gpu, gpus, per_server, unit=gpus_of_unit(plan.cluster))
        predict = _predictor(plan, workload, attached)
        fastest = None
        if predict:
            from bomgen.sizing.prediction.search import fastest_splits

            fastest = fastest_splits(predict, gpu, gpus, 1 + parallelism.MAX_REASONS, below)
            if fastest is None and below < inf:
                return None
        memory_fit = parallelism.fit(workload, gpu, gpus, per_server, fastest)
    except Infeasible as error:
        return error
    if fastest or gpus.value == 1:
        return memory_fit
    why = message("split-of-unequal-parts" if predict else "split-not-predicted")
    return memory_fit._replace(reasons=(why, *memory_fit.reasons))


def _predictor(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> Predictor | None:
    if "layers" not in workload.model.shape:
        return None
    from bomgen.sizing.prediction.predict import links_of_gpu
    from bomgen.sizing.prediction.search import predictor

    links = links_of_gpu(plan, attached)
    return predictor(workload, plan.cluster.gpu, links) if links else None


def _timed(
    plan: Plan, workload: Training, attached: Mapping[str, Attachment], split: ParallelSplit, gpus: Figure
) -> TimedSplit | None:
    """Return a split that was found by its size, with its predicted step; None where the plan gives it, or unknown."""
    predict = None if workload.parallelism else _predictor(plan, workload, attached)
    if predict is None:
        return None
    candidate = degrees_of(split)
    seconds = predict.seconds(*map(float, (*candidate, gpus.value // candidate.size)))
    return TimedSplit(float(seconds), candidate, int(gpus.value), str(workload.recompute.value))


def _predictors(plan: Plan, workload: Training, attached: Mapping[str, Attachment]) -> list[Predictor]:
    """Return the predictors of a run with each recomputation that the plan allows, the lowest first."""
    choices = parallelism.with_recomputation(workload)
    return [predict for predict in (_predictor(plan, choice, attached) for choice in choices) if predict]


def _faster_split(
    plan: Plan, workload: Training, attached: Mapping[str, Attachment], memory_fit: MemoryFit, gpus: Figure
) -> TimedSplit | None:
    from bomgen.sizing.prediction.fewest_gpus import find_faster_split

    predictors, server = _predictors(plan, workload, attached), plan.cluster.server
    per_server = (server.gpus if server else parallelism.SERVER_GPUS).value
    seconds = memory_fit.fastest.seconds if memory_fit.fastest else inf
    return find_faster_split(predictors, gpu_with_host(plan.cluster), gpus, int(per_server), seconds)
