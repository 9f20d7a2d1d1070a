"""All designs of a search, from two tables: hardware and sizing.

If the size of a cluster is given, its workload does not change the hardware, and its fabrics do not change the duration
of a run. A table of hardware (every combination of keys outside `workload`) and a table of sizing (every combination of
`workload` and `cluster` keys) therefore describe all designs of a space, which are far more numerous. Both are
calculated with the functions for a single design: for all numbers of servers at once where `design_range` supports it,
else one by one.

GPUs, memory and days come from the same formulas: where a formula is a constant divided by the GPUs, its constant is
its value for one GPU; where a condition holds from some number on, that number is found once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.exact_vectors import RowsDiffer
from bomgen.core.jobs import report_count
from bomgen.core.provenance import Figure, Given, function_of, require
from bomgen.core.yaml_source import Source
from bomgen.design.assembly import parts_lookup
from bomgen.design.server_range import DesignRange, design_range
from bomgen.plan import rules
from bomgen.plan.binding.bind import bind
from bomgen.plan.fabric_demand import Attachment, attachments
from bomgen.plan.schema import CLUSTERS
from bomgen.plan.search_space import SearchSpace
from bomgen.plan.types import ESTIMATE, PREDICTED, Plan
from bomgen.pricing.bill import bill
from bomgen.pricing.price_book import PriceBook, missing_rates, part_price
from bomgen.pricing.quote import quote
from bomgen.results.designs import (
    UNITS,
    Columns,
    SearchedDesign,
    column_type,
    column_value,
    days_of_runs,
    measure_hardware,
    values_of,
)
from bomgen.sizing import storage
from bomgen.sizing.cluster_size import size_cluster
from bomgen.sizing.gpu_counts import Truths, fitting
from bomgen.sizing.servers import (
    MAX_GPUS,
    count_servers,
    given_gpus,
    gpu_with_host,
    peak_of_gpu,
    servers_for_gpus,
    unit_of_counts,
)
from bomgen.sizing.training import parallelism
from bomgen.sizing.training import run as training
from bomgen.workflow.inputs import Inputs, price_books_of, read_all, selling_books_of
from bomgen.workflow.pipeline import work_out_variant


class SizedCounts(NamedTuple):
    """Clusters of one plan, one row for each of many numbers of servers, racks or GPUs."""

    counts: npt.NDArray[np.int64]
    """The number set by the plan: servers, racks or GPUs."""
    gpus: npt.NDArray[np.int64]
    sized: npt.NDArray[np.bool_]
    """Whether the cluster can be sized; `refusal` has the reason if not."""
    gpu_days: Sequence[Fraction | None]
    """Days of the run on one GPU; None: it cannot be sized, or the plan has no run."""

    def rounded_days(self) -> npt.NDArray[np.float64]:
        """Return the days of each row as the nearest float: equal numbers are equal, larger ones never smaller.

        NaN where there are none.
        """
        # Python rounds the quotient of two integers once, however large they are.
        rows = zip(self.gpu_days, self.gpus.tolist(), strict=True)
        quotients = [np.nan if days is None else days.numerator / (days.denominator * gpus) for days, gpus in rows]
        return np.array(quotients, np.float64)


def size_counts(
    plan: Plan, attached: Mapping[str, Attachment], counts: Sequence[int] | npt.NDArray[np.int64]
) -> SizedCounts | None:
    """Return the sizes of clusters of the plan with other numbers of servers, racks or GPUs.

    None for a plan that only `size` supports: one that sets no number, serves a model, has its utilisation predicted or
    steps measured, or has a model whose shape is known in part or contradicts its parameters.
    """
    numbers, workload = np.asarray(counts, np.int64), plan.training
    worked = plan.compute and not plan.compute.target
    if (
        plan.inference
        or worked
        or given_gpus(plan.cluster) is None
        or (workload and (workload.predicted or workload.measured))
    ):
        return None
    nothing, no_days = np.zeros(len(numbers), np.int64), [None] * len(numbers)
    sized = SizedCounts(numbers, nothing, nothing.astype(np.bool_), no_days)
    possible = (numbers <= MAX_GPUS) & (numbers % unit_of_counts(plan.cluster) == 0)
    if not possible.any():
        return sized
    largest = with_count(plan, int(numbers[possible].max()))
    try:
        servers, gpus = count_servers(largest, None, attached)
    except (Infeasible, PlanErrors):
        return sized
    sized = sized._replace(gpus=function_of(gpus, (_given(largest),))(numbers))
    if workload:
        return _size_runs(sized, possible, largest, attached, servers, gpus)
    smallest = with_count(plan, int(numbers[possible].min()))
    ends = {refusal(end, attached) is None for end in (smallest, largest)}
    return sized._replace(sized=possible & ends.pop()) if len(ends) == 1 else None


def _size_runs(
    sized_counts: SizedCounts,
    possible: Truths,
    largest: Plan,
    attached: Mapping[str, Attachment],
    servers: Figure | None,
    gpus: Figure,
) -> SizedCounts | None:
    """Return the days of a run, and whether it fits, trying recomputations in the order of `cluster_size`.

    `servers` and `gpus` are those of the plan with the largest number.
    """
    workload, gpu = require(largest.training, "a plan of a run"), gpu_with_host(largest.cluster)
    gpu_days = [*sized_counts.gpu_days]
    try:
        top = peak_of_gpu(gpu, workload.precision, f"workload.{workload.block}", largest.cluster.mark)
        cabled = storage.as_cabled(largest, attached)
        lost = storage.lost_time(storage.contents(workload), cabled, gpus, servers)
    except (Infeasible, PlanErrors):
        return sized_counts
    goodput, shares = workload.goodput, dict[int, Fraction]()
    if goodput.value == ESTIMATE:
        goodput, share = storage.FULL_GOODPUT, function_of(lost.goodput, (_given(largest),))
        shares = {row: share(int(sized_counts.counts[row])) for row in np.flatnonzero(possible).tolist()}
        possible = np.array([bool(shares.get(row)) for row in range(len(possible))], np.bool_)
    choices = [*parallelism.with_recomputation(workload)]
    if workload.parallelism is None and workload.sequence and not isinstance(workload.sequence.origin, Given):
        choices.append(parallelism.with_recomputation(workload._replace(sequence=None))[0])
    waiting = np.flatnonzero(possible)
    for choice in choices:
        if not waiting.size:
            break
        try:
            run = training.size_training(choice, top, goodput)
        except Infeasible:
            break
        fit = fitting(choice, gpu, gpus, sized_counts.gpus[waiting])
        if fit is None:
            return None
        taken = fit.possible if choice is choices[-1] else fit.fits
        rows, waiting = waiting[taken], waiting[~taken]
        on_one = Fraction(training.days(choice, run, replace(gpus, value=1)).value)
        for row in rows.tolist():
            gpu_days[row] = on_one / shares[row] if shares else on_one
    sized = np.array([days is not None for days in gpu_days], np.bool_)
    return sized_counts._replace(sized=sized, gpu_days=gpu_days)


def refusal(plan: Plan, attached: Mapping[str, Attachment]) -> Infeasible | PlanErrors | None:
    """Return why a cluster cannot be sized; None where it can."""
    try:
        size_cluster(plan, attached)
    except (Infeasible, PlanErrors) as error:
        return error
    return None


def _given(plan: Plan) -> Figure:
    cluster = plan.cluster
    return require(cluster.servers or cluster.racks or cluster.gpus, "the plan gives a number")


def with_count(plan: Plan, count: int) -> Plan:
    """Return the plan with another number of servers, racks or GPUs; raises ValueError where it sets none."""
    cluster, size = plan.cluster, replace(_given(plan), value=count)
    changed: dict[str, Any] = {"servers" if cluster.servers else "racks" if cluster.racks else "gpus": size}
    return plan._replace(cluster=cluster._replace(**changed))


SERVERS = "cluster.servers"
ROUND_UP = "round_up_to"
SIZES = (SERVERS, "cluster.gpus", "cluster.racks")
BOUNDS = "power", "budget"
"""Keys of a cluster whose size is the largest that fits."""
WORKLOAD, CLUSTER, FABRICS, STORAGE, QUOTE = "workload", "cluster", "fabrics", "storage", "quote"
WITHOUT_WORKLOAD = (WORKLOAD, STORAGE)
"""Sections that hardware does not depend on."""
DAYS = "days"
RUN = (DAYS, "days_low", "days_high")
BUILT = tuple(name for name in UNITS if name not in RUN)
MAX_BYTES = 1 << 29
"""Maximum size of a table: 500 MB, some four million combinations of hardware."""
CHUNKS, LEAST_CHUNK, MOST_CHUNK = 256, 256, 1 << 18
"""Number of chunks of a search, for progress reports, and the fewest and most designs of a chunk."""
Opened = tuple[Plan, Mapping[str, Attachment]]
"""A bound plan, and how its servers attach to each fabric."""


def are_separable(source: Source, space: SearchSpace) -> bool:
    """Return whether the hardware and the sizing of the designs of a space are independent.

    They are not if storage servers are sized for a workload, or if a whole section is varied.
    """
    keys = {axis.key for axis in space.axes}
    stored = "servers" in (source.data.get(STORAGE) or {})
    bounds = {f"{CLUSTER}.{key}" for key in BOUNDS}
    bounded = bounds & {*keys, *(f"{CLUSTER}.{key}" for key in source.data.get(CLUSTER) or {})}
    whole = {WORKLOAD, CLUSTER, CLUSTERS, STORAGE, f"{STORAGE}.servers", QUOTE, f"{QUOTE}.currency"} & keys
    return not stored and not whole and not bounded and CLUSTERS not in source.data


def is_sized_by_fabrics(source: Source, space: SearchSpace) -> bool:
    """Return whether sizing depends on fabrics: predicted utilisation depends on links, rounding up on leaf sizes."""
    training = (source.data.get(WORKLOAD) or {}).get("training") or {}
    cluster = source.data.get(CLUSTER) or {}
    values = {str(training.get("mfu"))}
    for axis in space.axes:
        if axis.key.endswith((".mfu", ROUND_UP)) and not isinstance(axis.values, range):
            values.update(axis.values)
    return PREDICTED in values or bool({cluster.get(ROUND_UP), *values} & {"leaf", "scalable_unit"})


def _section(key: str) -> str:
    return key.partition(".")[0]


class _Digits(NamedTuple):
    """The axes of a space that a table has, and a mixed-radix number for a combination of their values."""

    axes: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.lengths)

    def numbers(self, digits: Mapping[int, NDArray[np.int64]], rows: int) -> NDArray[np.int64]:
        numbers = np.zeros(rows, np.int64)
        for axis, length in zip(self.axes, self.lengths, strict=True):
            numbers = numbers * length + digits[axis]
        return numbers

    def values(self, number: int) -> dict[int, int]:
        digits = {}
        for axis, length in zip(reversed(self.axes), reversed(self.lengths), strict=True):
            number, digits[axis] = divmod(number, length)
        return digits


def _check_bytes(families: int, sizes: int, measures: Sequence[str]) -> None:
    """Raise MemoryError if a table takes more than MAX_BYTES."""
    if families * sizes * (np.int32().nbytes * 2 + len(measures) * (np.float64().nbytes + 1)) > MAX_BYTES:
        raise MemoryError


class _Table:
    """Measures of combinations of values: a row per family of designs that differ in size, a column per size.

    A family is opened on the first request for one of its designs; sizes that are not calculated then are `pending`
    until they are requested.
    """

    def __init__(
        self,
        name: str,
        families: int,
        sizes: int,
        measures: Sequence[str],
        open_family: Callable[[int, _Table], None],
        work_out: Callable[[int, int, _Table], None],
    ) -> None:
        """Allocate cells for all combinations; progress reports use `name`. Raises MemoryError as `_check_bytes`."""
        _check_bytes(families, sizes, measures)
        shape = families, sizes
        self.opened = np.zeros(families, np.bool_)
        self.pending = np.zeros(shape, np.bool_)
        self.measures = {name: np.zeros(shape, column_type(name)) for name in measures}
        self.known = {name: np.zeros(shape, np.bool_) for name in measures}
        self.refused, self.unpriced = (np.zeros(shape, np.int32) for _ in range(2))
        self._name, self._open = name, 0
        self._open_family, self._work_out = open_family, work_out

    def prepare(self, families: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Calculate the requested cells that have not been calculated yet."""
        for family in np.unique(families[~self.opened[families]]).tolist():
            self._open_family(family, self)
            self.opened[family] = True
            self._open += 1
            report_count(self._name, self._open, self.opened.size)
        waiting = self.pending[families, sizes]
        cells = np.unique(families[waiting] * self.pending.shape[1] + sizes[waiting])
        for family, place in zip(*np.divmod(cells, self.pending.shape[1]), strict=True):
            self._work_out(int(family), int(place), self)
            self.pending[family, place] = False

    def put(self, family: int, rows: Any, name: str, values: Any) -> None:
        self.measures[name][family, rows] = values
        self.known[name][family, rows] = True


class DesignTables:
    """The designs of a separable space (results/designs.py, `Evaluator`)."""

    def __init__(self, inputs: Inputs, space: SearchSpace) -> None:
        """Allocate the tables of a separable space. Raises MemoryError if one takes more than MAX_BYTES."""
        self.inputs, self.space, self.size = inputs, space, space.size
        self.chunk = min(max(space.size // CHUNKS, LEAST_CHUNK), MOST_CHUNK)
        source = inputs.source
        axes = list(enumerate(space.axes))
        self._size_axis = next((at for at, axis in axes if axis.key in SIZES), None)
        on_fabrics = is_sized_by_fabrics(source, space)
        of_hardware = [at for at, axis in axes if _section(axis.key) not in WITHOUT_WORKLOAD]
        of_sizing = [
            at
            for at, axis in axes
            if _section(axis.key) in (*WITHOUT_WORKLOAD, CLUSTER) or (on_fabrics and _section(axis.key) == FABRICS)
        ]
        self._built_axes, self._sized_axes = self._digits(of_hardware), self._digits(of_sizing)
        self._without = () if on_fabrics else (FABRICS,)
        self._has_workload = WORKLOAD in source.data or any(_section(axis.key) == WORKLOAD for _, axis in axes)
        self._kept: dict[tuple[tuple[str, ...], int], Opened] = {}
        """The plan opened last; its sizes are requested one after the other."""
        self._reasons, self._parts = dict[str, int](), dict[tuple[str, ...], int]()
        texts = space.axes[self._size_axis].values if self._size_axis is not None else ()
        keys = {*(f"{CLUSTER}.{key}" for key in source.data.get(CLUSTER) or {}), *(axis.key for axis in space.axes)}
        self._given = bool(set(SIZES) & keys)
        """Whether the size of every cluster is given, rather than calculated for its workload."""
        sized = RUN if self._given else (*RUN, "servers")
        places = max(len(texts), 1)
        _check_bytes(self._sized_axes.size, places, sized)
        _check_bytes(self._built_axes.size, places, BUILT)
        self._counts = [int(text) if str(text).isdecimal() else 0 for text in texts]
        self._sized = _Table("sizing", self._sized_axes.size, places, sized, self._open_sized, self._size_one)
        if not self._given:
            self._sized.prepare(np.arange(self._sized_axes.size), np.zeros(self._sized_axes.size, np.int64))
            self._counts = sorted(set(self._sized.measures["servers"][self._sized.refused == 0].tolist()))
        places = max(len(self._counts), 1)
        self._built = _Table("hardware", self._built_axes.size, places, BUILT, self._open_built, self._build_one)

    @property
    def knows_servers(self) -> bool:
        """Return whether the number of servers is known for all designs, as hardware requires."""
        sized = self._sized.refused == 0
        return self._given or bool(self._sized.known["servers"][sized].all())

    def _digits(self, axes: Any) -> _Digits:
        others = tuple(at for at in axes if at != self._size_axis)
        return _Digits(others, tuple(len(self.space.axes[at].values) for at in others))

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """Return the columns of designs `start` to `stop` - 1. Raises BrokenResult as `build`."""
        places = np.arange(start, stop)
        digits = dict[int, NDArray[np.int64]]()
        for at in range(len(self.space.axes) - 1, -1, -1):
            places, digits[at] = np.divmod(places, len(self.space.axes[at].values))
        built, sized = (axes.numbers(digits, stop - start) for axes in (self._built_axes, self._sized_axes))
        of_size = digits[self._size_axis] if self._size_axis is not None else np.zeros(stop - start, np.int64)
        refused, sizes = np.zeros(stop - start, np.int32), of_size
        if self._has_workload:
            self._sized.prepare(sized, of_size)
            refused = self._sized.refused[sized, of_size]
            if not self._given and self._counts:
                rows = np.searchsorted(self._counts, self._sized.measures["servers"][sized, 0])
                sizes = np.where(refused > 0, 0, rows)
        self._built.prepare(built, sizes)
        refused = np.where(refused > 0, refused, self._built.refused[built, sizes])
        can_be_built = refused == 0
        of_run, of_hardware = (self._sized, (sized, of_size)), (self._built, (built, sizes))
        cells = {name: of_run if name in RUN else of_hardware for name in names}
        measures = {name: table.measures[name][cell] for name, (table, cell) in cells.items()}
        known = {name: table.known[name][cell] & can_be_built for name, (table, cell) in cells.items()}
        unpriced = np.where(can_be_built, self._built.unpriced[built, sizes], 0)
        return Columns(start, measures, known, refused, unpriced, tuple(self._reasons), tuple(self._parts))

    def _setting(self, axis: int, place: int) -> str:
        return f"{self.space.axes[axis].key}={self.space.axes[axis].values[place]}"

    def _family_settings(self, table: _Digits, family: int) -> tuple[str, ...]:
        return (
            *self.inputs.settings,
            *self.space.always,
            *(self._setting(*digit) for digit in sorted(table.values(family).items())),
        )

    def _size_settings(self, place: int) -> tuple[str, ...]:
        """Return settings for the size of a cluster: from the size axis, or as sizing calculated it."""
        if self._size_axis is not None:
            return (self._setting(self._size_axis, place),)
        return (f"{SERVERS}={self._counts[place]}",) if self._counts else ()

    @property
    def _typical(self) -> int:
        """Return the index of a size in machines; problems found there apply to all sizes."""
        return next((place for place, count in enumerate(self._counts) if count), 0)

    def _open_built(self, family: int, table: _Table) -> None:
        """Calculate the hardware of a family for all sizes that `design_range` supports.

        Designs that are refused alike have the reason of the first one.
        """
        table.pending[family] = True
        if not all(self._counts):
            return
        try:
            catalog, books, ranges, refused = self._ranges(self._family_settings(self._built_axes, family))
        except PlanErrors as errors:
            table.refused[family], table.pending[family] = self._reason(_message(errors)), False
            return
        for ranged in ranges:
            self._put_range(family, table, ranged, catalog, books)
            table.pending[family, ranged.rows] = False
        for rows in refused:
            self._build_one(family, rows[0], table)
            table.refused[family, rows] = table.refused[family, rows[0]]
            table.pending[family, rows] = table.refused[family, rows[0]] == 0

    def _build_one(self, family: int, row: int, table: _Table) -> None:
        settings = (*self._family_settings(self._built_axes, family), *self._size_settings(row))
        try:
            report = work_out_variant(self._read(settings, WITHOUT_WORKLOAD))
        except PlanErrors as errors:
            table.refused[family, row] = self._reason(_message(errors))
            return
        hardware = measure_hardware([cluster.design for cluster in report.each_cluster], report.quote)
        self._put(family, row, table, hardware)

    def _put(self, family: int, rows: Any, table: _Table, hardware: SearchedDesign) -> None:
        """Store the measures of designs of a family; a measure may be a column."""
        for name, value in values_of(hardware).items():
            if value is not None:
                table.put(family, rows, name, column_value(name, value, hardware.currency))
        table.unpriced[family, rows] = self._missing(hardware.unpriced)

    def _ranges(self, settings: tuple[str, ...]) -> tuple[Catalog, list[PriceBook], list[DesignRange], list[list[int]]]:
        """Return the designs of a family that `design_range` supports, and groups of designs that are refused alike.

        Raises PlanErrors for problems at every size.
        """
        inputs = self._read((*settings, *self._size_settings(self._typical)), WITHOUT_WORKLOAD)
        plan, catalog = self._bind(inputs), inputs.catalog
        books = [*selling_books_of(inputs, plan.quote), *price_books_of(inputs, plan.quote.price_books)[0]]
        if wrong := missing_rates(plan.quote, books):
            raise PlanErrors(wrong)
        cluster, server = plan.cluster, plan.cluster.server
        size = cluster.servers or cluster.gpus
        if size is None or server is None or cluster.shares_cards:
            return catalog, books, [], []
        gpus_each, unit = 1 if cluster.servers else server.gpus.value, unit_of_counts(cluster)
        numbers = self._counts or [int(size.value)]
        servers = {
            row: count // gpus_each for row, count in enumerate(numbers) if count <= MAX_GPUS and count % unit == 0
        }
        if cluster.servers is None:
            plan = plan._replace(cluster=cluster._replace(servers=servers_for_gpus(size, server.gpus), gpus=None))
        parts = parts_lookup(catalog)._replace(price=part_price(plan.quote, books), prefer=str(plan.optics.value))
        attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        covered, refused = design_range(plan, servers, parts, attached)
        impossible = [row for row in range(len(numbers)) if row not in servers]
        return catalog, books, covered, [rows for rows in (impossible, refused) if rows]

    def _put_range(
        self, family: int, table: _Table, ranged: DesignRange, catalog: Catalog, books: list[PriceBook]
    ) -> None:
        try:
            design = ranged.with_vectors()
            hardware = measure_hardware([design], quote(bill(catalog, design), design.plan.quote, books))
        except RowsDiffer as parting:
            for some in parting.divide(ranged.rows):
                self._put_range(family, table, ranged.take(some), catalog, books)
            return
        except PlanErrors as errors:
            table.refused[family, ranged.rows] = self._reason(_message(errors))
            return
        self._put(family, ranged.rows, table, hardware)

    def _open_sized(self, family: int, table: _Table) -> None:
        """Calculate the sizing of a family if it is known for all sizes at once.

        Designs that are refused alike have the reason of the first one.
        """
        table.pending[family] = True
        if self._size_axis is None or not all(self._counts):
            return
        try:
            plan, attached = self._open(self._family_settings(self._sized_axes, family), self._typical)
        except PlanErrors as errors:
            table.refused[family], table.pending[family] = self._reason(_message(errors)), False
            return
        counts = None if plan.cluster.shares_cards else size_counts(plan, attached, self._counts)
        if counts is None:
            return
        table.pending[family] = False
        refused, days = np.flatnonzero(~counts.sized), counts.rounded_days()
        if refused.size and (error := refusal(with_count(plan, self._counts[refused[0]]), attached)):
            table.refused[family, refused] = self._reason(_message(error))
        sized = np.flatnonzero(counts.sized & ~np.isnan(days))
        table.put(family, sized, DAYS, days[sized])

    def _size_one(self, family: int, row: int, table: _Table) -> None:
        settings = self._family_settings(self._sized_axes, family)
        try:
            if self._size_axis is not None and all(self._counts):
                plan, attached = self._open(settings, self._typical)
                if plan.cluster.shares_cards:
                    plan, attached = self._open(settings, row)
                plan = with_count(plan, self._counts[row])
            else:
                plan, attached = self._open(settings, row)
            cluster = size_cluster(plan, attached)
            days, ends = days_of_runs([(plan, cluster)], self.space.confidence)
        except (PlanErrors, Infeasible) as error:
            table.refused[family, row] = self._reason(_message(error))
            return
        for name, value in zip(RUN, (days, *(ends or (None, None))), strict=True):
            if value is not None:
                table.put(family, row, name, float(value))
        # Where the cards of each server follow the workload, or the servers for prompts, the number of servers does not
        # determine the hardware.
        follows = plan.cluster.with_cards or plan.prefill_servers
        if not self._given and cluster.servers is not None and follows is None:
            table.put(family, row, "servers", cluster.servers.value)

    def _open(self, settings: tuple[str, ...], row: int) -> Opened:
        """Return the plan of a family and a size, without sections that sizing does not need. Raises PlanErrors."""
        if (settings, row) not in self._kept:
            sizes = (self._setting(self._size_axis, row),) if self._size_axis is not None else ()
            inputs = self._read((*settings, *sizes), self._without)
            plan = self._bind(inputs)
            self._kept = {(settings, row): (plan, attachments(plan, inputs.catalog.assumption("bmc-port-rate")))}
        return self._kept[settings, row]

    def _read(self, settings: Sequence[str], without: Sequence[str]) -> Inputs:
        return read_all(self.inputs.file, settings, earlier=self.inputs, without=without)

    def _bind(self, inputs: Inputs) -> Plan:
        plan = bind(inputs.source, inputs.catalog)
        if wrong := [problem for problem in rules.check_rules(plan, inputs.source) if problem.severity == "error"]:
            raise PlanErrors(wrong)
        return plan

    def _reason(self, reason: str) -> int:
        return self._reasons.setdefault(reason, len(self._reasons) + 1)

    def _missing(self, parts: tuple[str, ...]) -> int:
        return self._parts.setdefault(parts, len(self._parts) + 1) if parts else 0


def _message(error: PlanErrors | Infeasible) -> str:
    return error.message if isinstance(error, Infeasible) else error.first_error.message
