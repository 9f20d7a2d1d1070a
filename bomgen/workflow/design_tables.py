"""What all designs of a search come to, from two tables: what is built, and what it is built for.

With the size of a cluster given, its workload does not change what is built, and its fabrics do not change how long a
run takes. So a table of hardware (every combination of keys beside `workload`) and one of sizing (every combination of
`workload` and `cluster` keys) say everything about the designs of a space, which are far more. Both are worked out by
the functions that work out a single design: for all numbers of servers at once where `design_range` covers that, else
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.catalog.files import Catalog
from bomgen.core.columns import Column, Diverges
from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.yaml_source import Source
from bomgen.design.assembly import parts_lookup
from bomgen.design.server_range import NOTHING, DesignRange, DesignRanges, design_range
from bomgen.plan import rules
from bomgen.plan.attachment import Attachment, attachments
from bomgen.plan.binding.bind import bind
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.plan.search_space import MEASURES, SearchSpace
from bomgen.plan.types import PREDICTED, Plan
from bomgen.pricing.bill import bill
from bomgen.pricing.books.book import PriceBook
from bomgen.pricing.cost_columns import cost_columns
from bomgen.pricing.quote import missing_rates, part_price
from bomgen.report.search.candidates import built_measures, candidate, days_of_run
from bomgen.report.search.columns import Columns, column_type, column_value
from bomgen.sizing.cluster_size import size
from bomgen.sizing.size_counts import size_counts, with_count
from bomgen.workflow.inputs import PlanFile, catalog_of, price_books_of, source_of
from bomgen.workflow.pipeline import work_out_variant

SERVERS = "cluster.servers"
SIZES = (SERVERS, "cluster.gpus", "cluster.racks")
WORKLOAD, CLUSTER, FABRICS, STORAGE, QUOTE = "workload", "cluster", "fabrics", "storage", "quote"
WITHOUT_WORKLOAD = (WORKLOAD, STORAGE)
"""What hardware is worked out without."""
DAYS = "days"
BUILT = tuple(name for name in MEASURES if name != DAYS)
"""Measures of what is built; days are those of the run."""


def are_separable(source: Source, space: SearchSpace) -> bool:
    """Whether hardware and sizing of the designs of a space do not depend on each other."""
    keys = [axis.key for axis in space.axes]
    given = {f"{CLUSTER}.{key}" for key in source.data.get(CLUSTER) or {}}
    stored = "servers" in (source.data.get(STORAGE) or {})
    whole = {WORKLOAD, CLUSTER, CLUSTERS, STORAGE, f"{STORAGE}.servers", QUOTE, f"{QUOTE}.currency"} & set(keys)
    return bool(set(SIZES) & {*keys, *given}) and CLUSTERS not in source.data and not stored and not whole


class _Digits(NamedTuple):
    """Which of the axes of a space a table has, as a number with a digit for each."""

    axes: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return prod(self.lengths)

    def values(self, number: int) -> dict[int, int]:
        """The place of the value of each axis, by axis."""
        found = {}
        for axis, length in zip(reversed(self.axes), reversed(self.lengths), strict=True):
            number, found[axis] = divmod(number, length)
        return found


class _Table:
    """What combinations of values come to: a row a family of designs that differ in size, a column a size."""

    def __init__(self, families: int, sizes: int, measures: Sequence[str], fill: Callable[[int, _Table], None]) -> None:
        self.done = np.zeros(families, np.bool_)
        self.measures = {name: np.zeros((families, sizes), column_type(name)) for name in measures}
        self.known = {name: np.zeros((families, sizes), np.bool_) for name in measures}
        self.refused, self.unpriced = (np.zeros((families, sizes), np.int32) for _ in range(2))
        self._fill = fill

    def prepare(self, families: NDArray[np.int64]) -> None:
        """Work out the families that are not yet."""
        for family in np.unique(families).tolist():
            if not self.done[family]:
                self._fill(family, self)
                self.done[family] = True

    def put(self, family: int, rows: Any, name: str, values: Any) -> None:
        """A measure of some sizes of a family."""
        self.measures[name][family, rows] = values
        self.known[name][family, rows] = True


class DesignTables:
    """The designs of a separable space (report/search/columns.py, `Evaluator`)."""

    chunk = 1 << 18

    def __init__(self, file: PlanFile, settings: Sequence[str], space: SearchSpace) -> None:
        self.file, self.settings, self.space, self.size = file, tuple(settings), space, space.size
        source = source_of(file, settings)
        axes = list(enumerate(space.axes))
        self._size_axis = next((at for at, axis in axes if axis.key in SIZES), None)
        predicted = _may_predict(source, space)
        self._built_axes = self._digits(
            at for at, axis in axes if not axis.key.startswith((f"{WORKLOAD}.", f"{STORAGE}."))
        )
        self._sized_axes = self._digits(
            at
            for at, axis in axes
            if axis.key.startswith((f"{WORKLOAD}.", f"{CLUSTER}."))
            or (predicted and axis.key.startswith(f"{FABRICS}."))
        )
        self._without = () if predicted else (FABRICS,)
        sizes = len(space.axes[self._size_axis].values) if self._size_axis is not None else 1
        self._reasons, self._parts = dict[str, int](), dict[tuple[str, ...], int]()
        self._built = _Table(self._built_axes.size, sizes, BUILT, self._fill_built)
        self._sized = _Table(self._sized_axes.size, sizes, (DAYS,), self._fill_sized)
        self._has_workload = WORKLOAD in source.data or any(axis.key.startswith(f"{WORKLOAD}.") for _, axis in axes)

    def _digits(self, axes: Any) -> _Digits:
        found = tuple(at for at in axes if at != self._size_axis)
        return _Digits(found, tuple(len(self.space.axes[at].values) for at in found))

    def columns(self, start: int, stop: int) -> Columns:
        """What the designs from place `start` up to and without `stop` come to. Raises BrokenResult as `build`."""
        places = np.arange(start, stop)
        digits = dict[int, NDArray[np.int64]]()
        for at in range(len(self.space.axes) - 1, -1, -1):
            places, digits[at] = np.divmod(places, len(self.space.axes[at].values))
        sizes = digits[self._size_axis] if self._size_axis is not None else np.zeros(stop - start, np.int64)
        built, sized = (self._families(each, digits, stop - start) for each in (self._built_axes, self._sized_axes))
        self._built.prepare(built)
        refused = self._built.refused[built, sizes]
        measures = {name: each[built, sizes] for name, each in self._built.measures.items()}
        known = {name: each[built, sizes] for name, each in self._built.known.items()}
        unpriced = self._built.unpriced[built, sizes]
        measures[DAYS], known[DAYS] = np.zeros(stop - start), np.zeros(stop - start, np.bool_)
        if self._has_workload:
            self._sized.prepare(sized)
            not_sized = self._sized.refused[sized, sizes]
            refused = np.where(not_sized > 0, not_sized, refused)
            measures[DAYS], known[DAYS] = (
                self._sized.measures[DAYS][sized, sizes],
                self._sized.known[DAYS][sized, sizes],
            )
        can_be_built = refused == 0
        known = {name: each & can_be_built for name, each in known.items()}
        unpriced = np.where(can_be_built, unpriced, 0)
        return Columns(start, measures, known, refused, unpriced, tuple(self._reasons), tuple(self._parts))

    def _families(self, table: _Digits, digits: dict[int, NDArray[np.int64]], rows: int) -> NDArray[np.int64]:
        found = np.zeros(rows, np.int64)
        for axis, length in zip(table.axes, table.lengths, strict=True):
            found = found * length + digits[axis]
        return found

    def _setting(self, axis: int, place: int) -> str:
        return f"{self.space.axes[axis].key}={self.space.axes[axis].values[place]}"

    def _family_settings(self, table: _Digits, family: int) -> tuple[str, ...]:
        return (*self.settings, *(self._setting(*each) for each in sorted(table.values(family).items())))

    def _size_settings(self, place: int) -> tuple[str, ...]:
        return () if self._size_axis is None else (self._setting(self._size_axis, place),)

    def _fill_built(self, family: int, table: _Table) -> None:
        """The hardware of a family: of all its sizes at once where that is covered, else size by size."""
        settings = self._family_settings(self._built_axes, family)
        left = np.ones(table.refused.shape[1], np.bool_)
        try:
            catalog, books, found = self._ranges(settings)
        except PlanErrors as errors:
            table.refused[family] = self._reason(errors)
            return
        for ranged in found.covered:
            self._put_range(family, table, ranged, catalog, books)
            left[ranged.rows] = False
        if found.refused.size:
            left[found.refused] = False
            left[found.refused[0]] = True
        for row in np.flatnonzero(left).tolist():
            self._put_one(family, table, row, settings)
        if found.refused.size:
            table.refused[family, found.refused] = table.refused[family, found.refused[0]]

    def _put_one(self, family: int, table: _Table, row: int, settings: tuple[str, ...]) -> None:
        """A design worked out whole."""
        try:
            report = work_out_variant(self.file, (*settings, *self._size_settings(row)), WITHOUT_WORKLOAD)
        except PlanErrors as errors:
            table.refused[family, row] = self._reason(errors)
            return
        found = candidate(row, report)
        for name in BUILT:
            if (value := found.measures[name]) is not None:
                table.put(family, row, name, column_value(name, value, found.currency))
        table.unpriced[family, row] = self._missing(found.unpriced)

    def _ranges(self, settings: tuple[str, ...]) -> tuple[Catalog, list[PriceBook], DesignRanges]:
        """The designs of a family as far as they are covered. Raises PlanErrors for what is wrong at any size."""
        source = source_of(self.file, (*settings, *self._size_settings(0)), WITHOUT_WORKLOAD)
        catalog = catalog_of(self.file, source)
        plan = bind(source, catalog)
        if wrong := [problem for problem in rules.check(plan, source) if problem.severity == "error"]:
            raise PlanErrors(wrong)
        books, _ = price_books_of(self.file, plan.quote.price_books, "quote.price_book")
        if wrong := missing_rates(plan.quote, books):
            raise PlanErrors(wrong)
        numbers = self._numbers(plan)
        if numbers is None:
            return catalog, books, DesignRanges((), NOTHING)
        parts = parts_lookup(catalog)._replace(price=part_price(plan.quote, books))
        attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        return catalog, books, design_range(plan, numbers, parts, attached)

    def _numbers(self, plan: Plan) -> NDArray[np.int64] | None:
        """The numbers of servers of a family; None where they are not given as such."""
        if plan.cluster.servers is None:
            return None
        if self._size_axis is None:
            return np.array([plan.cluster.servers.value], np.int64)
        counts = self._counts()
        return np.array(counts, np.int64) if counts else None

    def _put_range(
        self, family: int, table: _Table, ranged: DesignRange, catalog: Catalog, books: list[PriceBook]
    ) -> None:
        try:
            design = ranged.in_columns()
            cost = cost_columns(bill(catalog, design), design.plan.quote, books)
            measures = {**built_measures([design]), "cost": cost.minor}
        except Diverges as parting:
            for some in (parting.rows, ~parting.rows):
                self._put_range(family, table, ranged.take(some), catalog, books)
            return
        for name, value in measures.items():
            if value is not None:
                table.put(family, ranged.rows, name, _plain(value))
        table.unpriced[family, ranged.rows] = self._missing(cost.unpriced)

    def _fill_sized(self, family: int, table: _Table) -> None:
        """The sizing of a family, size by size."""
        settings = self._family_settings(self._sized_axes, family)
        try:
            source = source_of(self.file, (*settings, *self._size_settings(0)), self._without)
            catalog = catalog_of(self.file, source)
            plan = bind(source, catalog)
            if wrong := [problem for problem in rules.check(plan, source) if problem.severity == "error"]:
                raise PlanErrors(wrong)
            attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        except PlanErrors as errors:
            table.refused[family] = self._reason(errors)
            return
        counts = self._counts()
        found = size_counts(plan, attached, counts) if counts is not None else None
        if found is None:
            for row in range(table.refused.shape[1]):
                self._size_one(family, table, row, with_count(plan, counts[row]) if counts else plan, attached)
            return
        refused, days = np.flatnonzero(~found.sized), found.rounded_days()
        if refused.size:
            table.refused[family, refused] = self._text(_message(found.refusal(int(refused[0]))))
        known = np.flatnonzero(found.sized & ~np.isnan(days))
        table.put(family, known, DAYS, days[known])

    def _size_one(self, family: int, table: _Table, row: int, plan: Plan, attached: Mapping[str, Attachment]) -> None:
        try:
            days = days_of_run(plan, size(plan, attached), self.space.confidence)
        except (PlanErrors, Infeasible) as error:
            table.refused[family, row] = self._text(_message(error))
        else:
            if days is not None:
                table.put(family, row, DAYS, float(days.value))

    def _counts(self) -> list[int] | None:
        """The sizes of the space as numbers; None where they are given by the plan, or otherwise."""
        texts = self.space.axes[self._size_axis].values if self._size_axis is not None else ()
        return [int(text) for text in texts] if texts and all(map(str.isdecimal, texts)) else None

    def _reason(self, errors: PlanErrors) -> int:
        return self._text(_message(errors))

    def _text(self, reason: str) -> int:
        return self._reasons.setdefault(reason, len(self._reasons) + 1)

    def _missing(self, parts: tuple[str, ...]) -> int:
        return self._parts.setdefault(parts, len(self._parts) + 1) if parts else 0


def _may_predict(source: Source, space: SearchSpace) -> bool:
    """Whether a design may ask for a predicted utilisation, which depends on its fabrics."""
    training = (source.data.get(WORKLOAD) or {}).get("training") or {}
    asked = {
        str(training.get("mfu")),
        *(text for axis in space.axes if axis.key.endswith(".mfu") for text in axis.values),
    }
    return PREDICTED in asked


def _message(error: PlanErrors | Infeasible) -> str:
    if isinstance(error, Infeasible):
        return error.message
    return next(each.message for each in error.problems if each.severity == "error")


def _plain(value: Any) -> Any:
    """A column as an array: of whole numbers, or of floating-point numbers where the rows are fractions."""
    if not isinstance(value, Column):
        return value
    return value.numerators if value.denominator == 1 else value.numerators / value.denominator
