"""The size of a cluster: GPUs and servers for a workload, its duration, and whether the model fits.

Constants of a published formula are cited figures here, and appear in the report like the defaults of
`data/assumption/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import islice, takewhile
from math import ceil, inf, lcm
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Given, require
from bomgen.core.units import Exact
from bomgen.plan.fabric_demand import Attachment, attachments
from bomgen.plan.types import ESTIMATE, ONE_POOL, Hosts, Inference, Plan, Reinforcement, Training
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
    links_of_gpu,
    network_of_gpu,
    pods_of_chips,
    servers_for_gpus,
)
from bomgen.sizing.storage import Contents, LostTime, Stored
from bomgen.sizing.training import parallelism, states
from bomgen.sizing.training import run as training
from bomgen.sizing.training.memory import TimedSplit, degrees_of
from bomgen.sizing.training.parallelism import MemoryFit
from bomgen.sizing.training.run import RunComparisons, TrainingRun, compare_runs
from bomgen.sizing.training.states import ParallelSplit

if TYPE_CHECKING:
    from bomgen.sizing.prediction.predict import Predicted, Predictor
    from bomgen.sizing.reinforcement import ReinforcedStep
    from bomgen.sizing.serving.service import ServersOfPrompts, Serving

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
    published: Callable[[], RunComparisons] | None = None
    """Published runs beside a pre-training run, calculated when called."""
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
    days_range: tuple[Figure, Figure] | None = None
    """Bounds of the days of reinforcement learning; None for other workloads."""
    predicted: Predicted | None = None
    """The prediction for a pre-training run with an assumed or predicted utilisation; None where inputs are unknown."""

    @property
    def gpus_required(self) -> Figure | None:
        """Return the GPUs for the workload before they are rounded up; None where they are not calculated."""
        if self.serving:
            return self.serving.need.gpus_to_buy
        demand = self.run or self.target
        return demand.gpus_required if demand else None


def size_with_cards(plan: Plan, bmc_gbps: Figure) -> tuple[Plan, Mapping[str, Attachment], Sizing]:
    """Return the plan, the attachment of its servers by fabric name, and its size.

    Chassis for cards hold as few as let the same number of them carry the workload, each the same number, without a
    replica of a served model over more or other GPUs. `bmc_gbps` is the rate of a management port. Raises as
    `size_cluster` and `attachments`.
    """
    attached = attachments(plan, bmc_gbps)
    sized = size_cluster(plan, attached)
    server, with_cards = plan.cluster.server, plan.cluster.with_cards
    if with_cards is None or server is None or sized.servers is None or given_gpus(plan.cluster) is not None:
        return plan, attached, sized
    servers, usual, required = int(sized.servers.value), int(server.gpus.value), sized.gpus_required
    if required and server.gpu_slots:
        servers = min(servers, ceil(Fraction(required.value, server.gpu_slots.value)))
    least = ceil(required.value / servers) if required else (servers - 1) * usual // servers + 1
    why = message("cards-of-server-why", servers=servers)
    for cards in range(least, max(usual, least + 1)):
        each = Figure(cards, "GPUs", Assumed(message("cards-of-server"), why, (), "high", chosen=True))
        filled = plan._replace(cluster=plan.cluster._replace(server=with_cards(each)))
        with suppress(Infeasible, PlanErrors):
            attached_to_filled = attachments(filled, bmc_gbps)
            sized_again = size_cluster(filled, attached_to_filled)
            fits = require(sized_again.servers, "servers are counted").value <= servers
            if fits and _gpus_needed(sized_again) == _gpus_needed(sized):
                return filled, attached_to_filled, sized_again
    return plan, attached, sized


def _gpus_needed(sized: Sizing) -> tuple[Exact, Exact] | None:
    """Return the GPUs that serving requires, without and with the margin; None for other workloads."""
    need = sized.serving and sized.serving.need
    return (need.gpus_required.value, need.gpus_to_buy.value) if need else None


class _Run(NamedTuple):
    """A run that is sized: its plan, its workload as settled so far, and the attachment of servers by fabric."""

    plan: Plan
    workload: Training
    attached: Mapping[str, Attachment]

    def with_gpus(self, count: int, why: str = "predicted-gpus-why") -> _Run:
        """Return the run on a number of GPUs that the search tries."""
        origin = Assumed(message("chosen-gpus"), message(why), (), "high", chosen=True)
        cluster = self.plan.cluster._replace(gpus=Figure(count, "GPUs", origin))
        return self._replace(plan=self.plan._replace(cluster=cluster))

    def with_workload(self, **settled: Any) -> _Run:
        """Return the run with other values of its workload."""
        return self._replace(workload=self.workload._replace(**settled))

    @property
    def choices(self) -> list[_Run]:
        """Return the run with each recomputation that the plan allows, the lowest first."""
        return [self._replace(workload=choice) for choice in parallelism.with_recomputation(self.workload)]

    @property
    def whole_replica(self) -> int:
        """Return the factor of the numbers of GPUs that degrees of the plan can split; 1 where it gives none."""
        return parallelism.whole_gpus(self.workload.parallelism) if self.workload.parallelism else 1

    def predictor(self) -> Predictor | None:
        """Return the predictor of its steps; None where the model or the accelerator is not known enough."""
        if "layers" not in self.workload.model.shape:
            return None
        from bomgen.sizing.prediction.predict import predictor

        links = links_of_gpu(self.plan, self.attached)
        return predictor(self.workload, self.plan.cluster.gpu, links) if links else None

    def predictors(self) -> list[Predictor]:
        """Return the predictors of each recomputation that the plan allows, the lowest first."""
        return [predict for predict in (choice.predictor() for choice in self.choices) if predict]


def size_cluster(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the size of the plan's cluster; `attached` has the attachment of its servers by fabric name.

    Raises PlanErrors when the plan gives too little, Infeasible when no cluster satisfies it.
    """
    plan = plan._replace(storage=storage.as_cabled(plan, attached))
    if plan.training:
        run = _Run(plan, plan.training, attached)
        sized = _size_reinforcement(run, plan.reinforcement) if plan.reinforcement else _size_training(run)
    elif plan.inference:
        sized = _size_inference(plan, plan.inference, attached)
    else:
        sized = _size_compute(plan, attached)
    chips, checkpoint = plan.cluster.gpu.pod_chips, sized.lost.checkpoint if sized.lost else None
    return sized._replace(
        pods=pods_of_chips(sized.gpus, chips) if chips else None,
        stored=storage.size_storage(plan.storage, checkpoint, sized.gpus, sized.servers),
    )


def _size_compute(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """Return the cluster for a peak or a volume of work, or that of the plan; a volume of work takes some days."""
    target = peak.size_target(plan.compute, plan.cluster.gpu) if plan.compute else None
    servers, gpus = count_servers(plan, target.gpus_required if target else None, attached)
    sized = Sizing(target=target, servers=servers, gpus=gpus)
    if plan.compute and target and target.gpu_hours:
        return sized._replace(days=peak.days_of_hours(target.gpu_hours, gpus, plan.compute.goodput))
    of_gpu = target.peak_flops_per_gpu if target else None
    return sized._replace(peak_flops=peak.peak_of_cluster(gpus, of_gpu)) if of_gpu else sized


def _size_training(asked: _Run) -> Sizing:
    workload = asked.workload
    if workload.predicted is None:
        sized = _size_run_that_fits(asked)
        measured = workload.mfu is None or isinstance(workload.mfu.origin, Given)
        return sized if measured else sized._replace(predicted=_predict(asked, sized))
    if workload.target_days is None or given_gpus(asked.plan.cluster) is not None:
        return _size_by_prediction(asked)
    return _search_predicted_size(asked, workload.target_days)


def _size_by_prediction(asked: _Run) -> Sizing:
    predicted = _predict(asked, _size_run_that_fits(asked))
    if predicted is None:
        text = (
            f"the speed of {asked.workload.model.identity.name} on {asked.plan.cluster.gpu.identity.name} cannot be "
            "predicted: this requires a model of known shape, a `sequence`, an accelerator with known bandwidths, and "
            "for qlora a precision of 16 bits; set `mfu` to a share"
        )
        raise Infeasible(text, because=require(asked.workload.predicted, "it is asked for"), rule="no-prediction")
    return _size_run_that_fits(asked.with_workload(mfu=predicted.step.mfu))._replace(predicted=predicted)


def _search_predicted_size(asked: _Run, target: Figure) -> Sizing:
    """Return the smallest cluster allowed by the plan's rounding whose own prediction meets the target."""
    from bomgen.sizing.gpu_counts import ROUNDING, GpusOfRun, counts_in_time

    plan, workload, cluster = asked.plan, asked.workload, asked.plan.cluster
    first = _size_run_that_fits(asked)
    tried = _size_by_prediction(asked.with_gpus(int(first.gpus.value)))
    step, days = require(tried.predicted, "a run was predicted").step, require(tried.days, "a run takes days")
    lost = require(tried.lost, "a run loses time") if workload.goodput.value == ESTIMATE else None
    of_days = float(sum(term.value for term in step.terms.values())) / float(days.value)
    # At full goodput, which belongs to each size where it is estimated.
    seconds = float(target.value) * of_days / float(lost.goodput.value if lost else 1)
    unit = lcm(asked.whole_replica, gpus_of_unit(cluster))
    gpus = GpusOfRun(gpu_with_host(cluster), unit, first.gpus, MAX_GPUS)
    for count, step_seconds in islice(counts_in_time(asked.predictors(), gpus, seconds), MOST_CANDIDATES):
        size_tried = storage.candidate_size(count)
        if lost:
            goodput = _lost_time(plan, lost.checkpoint.contents, size_tried).goodput
            if step_seconds > seconds * float(goodput.value) * (1 + ROUNDING):
                continue
        if next(allowed_counts(plan, size_tried, asked.whole_replica, asked.attached), None) != count:
            continue
        sized = _size_by_prediction(asked.with_gpus(count))
        if require(sized.days, "a run takes days").value <= target.value:
            return sized
    text = (
        f"no cluster is predicted to finish in {float(target.value):g} days: a step of "
        f"{workload.batch_tokens.value} tokens gains little from more GPUs; allow more days, or a larger "
        "`batch_tokens`"
    )
    raise Infeasible(text, because=target, rule="no-prediction")


def _size_reinforcement(asked: _Run, learning: Reinforcement) -> Sizing:
    """Return the given cluster, or the smallest whose predicted days meet the target."""
    if learning.target_days is None or given_gpus(asked.plan.cluster) is not None:
        return _reinforce(asked, learning)
    target, least, most = learning.target_days, 0, 0
    unit = wanted = gpus_of_unit(asked.plan.cluster)
    fits: dict[int, Sizing] = {}
    refusals: list[Infeasible] = []

    def enough(above: int) -> int | None:
        """Return the first allowed number of GPUs from `above` on if it meets the target; None: it misses it."""
        count = next(allowed_counts(asked.plan, storage.candidate_size(above), 1, asked.attached), MAX_GPUS)
        try:
            sized = _reinforce(asked.with_gpus(count), learning)
        except Infeasible as error:
            refusals.append(error)
            return None
        fits[count] = sized
        return count if require(sized.days, "a run takes days").value <= target.value else None

    while not (most := enough(wanted) or 0):
        least, wanted = wanted, 2 * wanted
        if wanted > MOST_REINFORCED:
            if not fits:
                raise refusals[-1]
            days = min(float(require(sized.days, "a run takes days").value) for sized in fits.values())
            text = (
                f"no cluster of up to {MOST_REINFORCED} GPUs is predicted to finish in {float(target.value):g} days; "
                f"the shortest run takes {days:.3g}; a step waits for its longest response and the refit: allow more "
                "days, or fewer `steps`"
            )
            raise Infeasible(text, because=target, rule="no-prediction")
    while most - least > unit:
        middle = least + (most - least) // 2
        enough_at = enough(middle)
        least, most = (middle, most) if enough_at is None or enough_at >= most else (least, enough_at)
    return fits[most]


def _reinforce(asked: _Run, learning: Reinforcement) -> Sizing:
    """Return the results on the GPUs of the plan; with two pools those of the fastest division into both."""
    servers, gpus = count_servers(asked.plan, None, asked.attached)
    if learning.pools == ONE_POOL or learning.generation is None:
        return _reinforce_pools(asked, learning, servers, gpus, None)
    if learning.generation_gpus:
        return _reinforce_pools(asked, learning, servers, gpus, learning.generation_gpus)
    best: Sizing | None = None
    refusal: Infeasible | None = None
    unit = gpus_of_unit(asked.plan.cluster)
    shares = {max(1, int(gpus.value) * part // (unit * POOL_PARTS)) * unit for part in range(1, POOL_PARTS)}
    origin = Assumed(message("generation-gpus"), message("generation-gpus-why"), (), "high", chosen=True)
    for share in sorted(shares):
        try:
            sized = _reinforce_pools(asked, learning, servers, gpus, Figure(share, "GPUs", origin))
        except Infeasible as error:
            refusal = error
            continue
        if best is None or require(sized.days, "days").value < require(best.days, "days").value:
            best = sized
    if best is None:
        raise require(refusal, "a division that fails is refused")
    return best


def _reinforce_pools(
    asked: _Run, learning: Reinforcement, servers: Figure | None, gpus: Figure, generating: Figure | None
) -> Sizing:
    from bomgen.sizing import reinforcement

    cluster, unit = asked.plan.cluster, gpus_of_unit(asked.plan.cluster)
    if generating and (generating.value >= gpus.value or generating.value % unit):
        fits = f"from {unit} to {gpus.value - unit} in steps of {unit}" if gpus.value > unit else "none"
        text = (
            f"`generation.gpus` must be whole servers and leave at least one for training; valid with {gpus.value} "
            f"GPUs: {fits}"
        )
        raise Infeasible(text, because=learning.generation_gpus or gpus, rule="generation-gpus")
    training_gpus = reinforcement.gpus_that_train(gpus, generating) if generating else gpus
    pool = cluster._replace(gpus=training_gpus, servers=None, racks=None)
    pooled = asked._replace(plan=asked.plan._replace(cluster=pool))
    updated = _size_run_that_fits(pooled)
    run, fit = require(updated.run, "a run is sized"), require(updated.fit, "a run has a split")
    step = reinforcement.reinforced_step(
        reinforcement.LearningRun(
            learning=learning,
            training=asked.workload._replace(recompute=fit.recompute or asked.workload.recompute),
            run=run,
            split=fit.split,
            gpu=cluster.gpu,
            links=links_of_gpu(asked.plan, asked.attached),
            gpus_per_server=cluster.gpus_per_server,
            training_gpus=training_gpus,
            generation_gpus=generating,
        )
    )
    days, low, high = (reinforcement.days_of_steps(learning.steps, end, run.goodput) for end in step.step)
    sized = _size_run_that_fits(pooled.with_workload(mfu=step.mfu))
    return sized._replace(
        servers=servers,
        gpus=gpus,
        days=days,
        days_range=(low, high),
        tokens_per_second=reinforcement.tokens_of_days(asked.workload.tokens, days),
        reinforced=step,
        faster=None,
        published=None,
        lost=storage.add_interruptions(days, require(sized.lost, "a run loses time")),
    )


def _predict(asked: _Run, sized: Sizing) -> Predicted | None:
    from bomgen.sizing.prediction.predict import predict_run

    links = links_of_gpu(asked.plan, asked.attached)
    if sized.run is None or sized.fit is None or links is None:
        return None
    return predict_run(asked.workload, sized.run, sized.fit, asked.plan.cluster.gpu, sized.gpus, links)


def _size_run_that_fits(asked: _Run) -> Sizing:
    """Return the size of a cluster for a run. Raises Infeasible when nothing fits, with numbers of GPUs that do.

    A default sequence length never breaks a plan: where no split fits, its activations are left out with a warning.
    """
    plan, workload = asked.plan, asked.workload
    split_run, length = _find_split(asked), workload.sequence
    if length is not None and (plan.reinforcement or isinstance(length.origin, Given)):
        length = None
    if isinstance(split_run, Infeasible) and length is not None:
        refusal, split_run = split_run, _find_split(asked.with_workload(sequence=None))
        if not isinstance(split_run, Infeasible):
            shortage = _add_counts_that_fit(asked, refusal).message
            warning = message("activations-left-out", length=length.value, shortage=shortage)
            split_run = split_run._replace(fit=split_run.fit._replace(warning=warning))
    if isinstance(split_run, Infeasible):
        raise _add_counts_that_fit(asked, split_run, length)
    run, servers, gpus, lost, fit = split_run
    if given_gpus(plan.cluster) is not None and (workload.predicted or workload.goodput.value == ESTIMATE):
        run = run._replace(gpus_required=None)  # both change with the number of GPUs
    days = training.days(workload, run, gpus)
    compared = None if workload.tuning else cache(partial(compare_runs, workload, run, plan.cluster.gpu, gpus, days))
    return Sizing(
        run=run,
        faster=None if workload.parallelism else cache(partial(_faster_split, asked, fit, gpus)),
        published=compared,
        trainable_parameters=states.trainable_parameters(workload) if workload.tuning else None,
        servers=servers,
        gpus=gpus,
        days=days,
        tokens_per_second=training.tokens_per_second(workload, run, gpus),
        fit=fit,
        lost=storage.add_interruptions(days, lost),
    )


def _find_split(asked: _Run) -> _SplitRun | Infeasible:
    """Return a run on the plan's GPUs, or those its days need, else on more; or why none fits."""
    split_run = _try_recomputations(asked)
    if isinstance(split_run, _SplitRun) or given_gpus(asked.plan.cluster) is not None:
        return split_run
    workload, refusal, above, missed = asked.workload, split_run, 0, 0
    target = require(workload.target_days, "a target asks for GPUs")
    while missed < MAX_ROUNDS and (count := _next_count(asked, above)):
        split_run = _try_recomputations(asked.with_gpus(count, "split-gpus-why"))
        if isinstance(split_run, _SplitRun):
            if training.days(workload, split_run.run, split_run.gpus).value <= target.value:
                why = message("fewest-gpus-with-split", refusal=refusal.message, gpus=count)
                reasons = split_run.fit.reasons if workload.parallelism else (*split_run.fit.reasons, why)
                return split_run._replace(fit=split_run.fit._replace(reasons=reasons))
            missed += 1
        above = count
    if missed:
        raise _goodput_error(asked)
    return refusal


def _try_recomputations(asked: _Run) -> _SplitRun | Infeasible:
    """Return a run with the recomputation of the plan, or the fastest that fits; or why none fits.

    Where steps cannot be compared, it is the lowest recomputation that fits, else the highest.
    """
    best: _SplitRun | None = None
    refusal: Infeasible | None = None
    refused: tuple[str, str] | None = None
    slower: TimedSplit | None = None
    for choice in asked.choices:
        try:
            run, servers, gpus, lost = _size_run(choice)
        except Infeasible:
            if best is None:
                raise
            break  # the rate of the run exceeds the peak with what is recomputed
        if best and gpus.value != best.gpus.value:
            break
        recompute = choice.workload.recompute
        memory_fit = _fit(choice, gpus, slower.seconds if slower else inf)
        if isinstance(memory_fit, Infeasible):
            refusal, refused = memory_fit, (str(recompute.value), memory_fit.message)
        elif memory_fit:
            fit = parallelism.add_recomputation(memory_fit, recompute, refused, slower)
            best = _SplitRun(run, servers, gpus, lost, fit)
            if memory_fit.fits is False and memory_fit.warning and memory_fit.per_gpu.activations:
                refused = str(recompute.value), memory_fit.warning
                continue
            slower = memory_fit.fastest or _timed(choice, memory_fit.split, gpus)
            if slower is None:
                break
    return best or require(refusal, "a run that does not fit is refused")


def _next_count(asked: _Run, above: int) -> int | None:
    """Return the next number of GPUs that a run fits with some recomputation; None: there is none."""
    count: int | None = None
    for choice in reversed(asked.choices):
        _, _, gpus, _ = _size_run(choice)
        count = _first_fitting(choice, replace(gpus, value=max(int(gpus.value), above + 1)), count)
        if count is None:
            # Full recomputation comes first, and needs the least memory.
            return None
    return count


def _first_fitting(choice: _Run, least: Figure, best: int | None = None) -> int | None:
    """Return the smallest number of GPUs from `least` on that a run fits, below `best` if given."""
    from bomgen.sizing.gpu_counts import first_fitting

    cluster = choice.plan.cluster
    counts = allowed_counts(choice.plan, least, choice.whole_replica, choice.attached)
    smaller = takewhile(lambda count: best is None or count < best, counts)
    fewest = first_fitting(choice.workload, gpu_with_host(cluster), least, cluster.gpus_per_server, smaller)
    return best if fewest is None else fewest


def _add_counts_that_fit(asked: _Run, refusal: Infeasible, assumed_length: Figure | None = None) -> Infeasible:
    """Return the error for given GPUs with the smallest number that fits, and the smallest one above the given."""
    gpus = given_gpus(asked.plan.cluster)
    if gpus is None or asked.workload.parallelism:
        return refusal
    counts = (_first_fitting(asked.choices[-1], storage.candidate_size(least)) for least in (1, gpus))
    numbers = dict.fromkeys(str(count) for count in counts if count)
    if not numbers:
        return refusal
    text = message("no-split-fits-but", refusal=refusal.message, counts=numbers)
    if assumed_length:
        text = message("at-assumed-sequence", sentence=text, length=assumed_length.value)
    return Infeasible(text, because=refusal.because, rule=refusal.rule)


def _lost_time(plan: Plan, contents: Contents, gpus: Figure) -> LostTime:
    """Return the time that a run loses on a number of GPUs that a search tries."""
    per_server = plan.cluster.gpus_per_server
    return storage.lost_time(contents, plan.storage, gpus, servers_for_gpus(gpus, per_server) if per_server else None)


def _size_run(asked: _Run) -> tuple[TrainingRun, Figure | None, Figure, LostTime]:
    """Return a run with servers, GPUs and lost time of its cluster; an estimated goodput depends on its size."""
    plan, workload, attached = asked
    top = peak.peak_of_gpu(plan.cluster.gpu, workload.precision, f"workload.{workload.block}", plan.cluster.mark)
    contents, estimated = storage.contents(workload), workload.goodput.value == ESTIMATE
    run = training.size_training(workload, top, storage.FULL_GOODPUT if estimated else workload.goodput)
    if estimated and given_gpus(plan.cluster) is None and run.gpus_required is not None:
        return _search_size(asked, run, top)
    required = run.gpus_required if estimated else _round_up_to_replicas(asked, run.gpus_required)
    servers, gpus = count_servers(plan, required, attached)
    lost = storage.lost_time(contents, plan.storage, gpus, servers)
    if estimated:
        if lost.goodput.value == 0:
            raise _goodput_error(asked)
        run = training.size_training(workload, top, lost.goodput)
    return run, servers, gpus, lost


def _search_size(
    asked: _Run, unhindered: TrainingRun, top: Figure
) -> tuple[TrainingRun, Figure | None, Figure, LostTime]:
    """Return the smallest cluster whose GPUs times goodput reach the GPUs needed without lost time.

    Larger clusters are interrupted more often and write checkpoints faster, so that this product rises up to some size
    and then falls. The search takes growing steps, then bisects, then continues in steps of the rounding unit.
    """
    plan, workload, attached = asked
    contents, needed = storage.contents(workload), training.gpus_needed(workload, unhindered)

    def goodput_of(count: int) -> Figure:
        return _lost_time(plan, contents, storage.candidate_size(count)).goodput

    def enough(count: int) -> bool:
        return bool(count * goodput_of(count).value >= needed.value)

    count = ceil(needed.value)
    too_few = count - 1
    while not enough(count):
        too_few, count = count, count + max(1, count // STEPS)
        if count > MAX_GPUS:
            raise _goodput_error(asked)
    while count - too_few > 1:
        middle = (too_few + count) // 2
        too_few, count = (too_few, middle) if enough(middle) else (middle, count)
    for _ in range(MAX_ROUNDS):
        goodput = goodput_of(count)
        if not goodput.value:
            break
        wanted = storage.gpus_that_lose(needed, goodput, storage.candidate_size(count))
        servers, gpus = count_servers(plan, _round_up_to_replicas(asked, wanted), attached)
        if enough(gpus.value):
            lost = storage.lost_time(contents, plan.storage, gpus, servers)
            run = training.size_training(workload, top, lost.goodput)
            return run._replace(gpus_required=wanted), servers, gpus, lost
        count = max(gpus.value, count) + 1
    raise _goodput_error(asked)


def _round_up_to_replicas(asked: _Run, required: Figure | None) -> Figure | None:
    """Return the GPUs rounded up to whole replicas of the given degrees, on whole servers; None: none are required."""
    degrees, per_server = asked.workload.parallelism, asked.plan.cluster.gpus_per_server
    if degrees is None or required is None or per_server is None:
        return required
    size = parallelism.replica_size(degrees.tensor, degrees.pipeline, degrees.context)
    return parallelism.whole_replicas(required, size, per_server)


def _goodput_error(asked: _Run) -> Infeasible:
    plan, workload = asked.plan, asked.workload
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
    from bomgen.sizing.serving import service as serving

    cluster, fixed = plan.cluster, given_gpus(plan.cluster)
    links = links_of_gpu(plan, attached)
    prefill = _servers_of_prompts(plan)
    need = serving.size_serving(workload, cluster.gpu, links, cluster.gpus_per_server, fixed, prefill)
    servers, gpus = count_servers(plan, need.gpus_to_buy, attached)
    network = network_of_gpu(plan, attached, cluster.gpus_per_server) if cluster.gpus_per_server else None
    network = bytes_of_network(network) if network else None
    if network and prefill and prefill.links:
        network = min(network, prefill.links.network, key=lambda rate: rate.value)
    unit = None if fixed is None else gpus_of_unit(cluster)
    served = serving.serve(workload, need, cluster.gpu, gpus, unit, network)
    return Sizing(serving=served, servers=servers, gpus=gpus)


def _servers_of_prompts(plan: Plan) -> ServersOfPrompts | None:
    """Return the servers with another GPU that process the prompts of a served model; None: there are none."""
    from bomgen.sizing.serving.service import ServersOfPrompts

    if plan.prefill_servers is None:
        return None
    cluster = plan.prefill_servers.cluster
    links = links_of_gpu(plan._replace(cluster=cluster, fabrics=()), {})
    return ServersOfPrompts(cluster.gpu, links, require(cluster.gpus_per_server, "the group has servers"))


def count_prefill_servers(plan: Plan, sizing: Sizing) -> Plan:
    """Return the plan with the number of servers with another GPU that the prompts of its served model need."""
    pool = sizing.serving.need.prefill if sizing.serving else None
    group = plan.prefill_servers
    if pool is None or group is None:
        return plan
    servers = servers_for_gpus(pool.gpus_to_buy, require(group.cluster.gpus_per_server, "the group has servers"))

    def counted(machines: tuple[Hosts, ...]) -> tuple[Hosts, ...]:
        return tuple(hosts._replace(pieces=servers) if hosts.name == group.name else hosts for hosts in machines)

    fabrics = (fabric.with_hosts(counted) for fabric in plan.fabrics)
    groups = (of_plan._replace(servers=servers) if of_plan.sized else of_plan for of_plan in plan.groups)
    return plan._replace(groups=tuple(groups), fabrics=tuple(fabrics))


def _fit(asked: _Run, gpus: Figure, below: float) -> MemoryFit | Infeasible | None:
    """Return the split of the run over GPUs, or the reason where nothing that the plan allows fits.

    None: no split is predicted to step in less than `below` seconds.
    """
    workload, cluster = asked.workload, asked.plan.cluster
    gpu, per_server = gpu_with_host(cluster), cluster.gpus_per_server
    try:
        if workload.parallelism is not None:
            return parallelism.fit(workload, gpu, gpus, per_server, unit=gpus_of_unit(cluster))
        predict, fastest = asked.predictor(), None
        if predict:
            from bomgen.sizing.prediction.predict import fastest_splits

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


def _timed(asked: _Run, split: ParallelSplit, gpus: Figure) -> TimedSplit | None:
    """Return a split that was found by its size, with its predicted step; None where the plan gives it, or unknown."""
    predict = None if asked.workload.parallelism else asked.predictor()
    if predict is None:
        return None
    candidate = degrees_of(split)
    seconds = predict.seconds(*map(float, (*candidate, gpus.value // candidate.size)))
    return TimedSplit(float(seconds), candidate, int(gpus.value), str(asked.workload.recompute.value))


def _faster_split(asked: _Run, memory_fit: MemoryFit, gpus: Figure) -> TimedSplit | None:
    from bomgen.sizing.gpu_counts import find_faster_split

    cluster = asked.plan.cluster
    per_server = cluster.gpus_per_server or parallelism.SERVER_GPUS
    seconds = memory_fit.fastest.seconds if memory_fit.fastest else inf
    return find_faster_split(asked.predictors(), gpu_with_host(cluster), gpus, int(per_server.value), seconds)
