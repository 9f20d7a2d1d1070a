"""Results side by side: the record of any comparison, the best value of a row, and the comparison of plans."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from bomgen import __version__
from bomgen.core.document import (
    EACH,
    LESS,
    MORE,
    NEITHER,
    Better,
    Cell,
    Column,
    Document,
    Drawing,
    Note,
    Number,
    Path,
    Section,
    Table,
    Value,
    row_of,
    rows_below,
)
from bomgen.core.language import Language
from bomgen.core.provenance import json_value, quotient
from bomgen.core.units import ANY_AMOUNT, Totals, minor_unit, rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.tables import Writer, columns_of, make_table, section_of
from bomgen.plan.types import ROLES, Plan
from bomgen.pricing.bill_line import CATEGORIES, cluster_path
from bomgen.pricing.quote import confidence
from bomgen.results.numbers import WIDE
from bomgen.results.result import Report
from bomgen.results.what_if import money_of_run

Side = TypeVar("Side")


class ComparedRow(NamedTuple):
    """A row of a comparison: a number, an amount or a text of each side."""

    key: str
    """Key of the row in JSON."""
    group: str
    label: str
    cells: tuple[Cell, ...]
    """The value of each side; None on a side that lacks it."""
    unit: str = ""
    better: Better = NEITHER
    rank: int | None = None
    """Importance to a reader, over all groups; 1 first, None last."""

    @property
    def equal(self) -> bool:
        """Return whether all sides have the same value."""
        return len({(cell.value, cell.unit, cell.least) for cell in self.cells}) == 1 < len(self.cells)

    @property
    def differences(self) -> tuple[int | Fraction | Decimal | None, ...]:
        """Return the increase from the first side to each other one; None for texts and unknown values."""
        return tuple(difference(self.cells[0].value, cell.value) for cell in self.cells[1:])


@dataclass(frozen=True)
class Comparison(Generic[Side]):
    """Results side by side. A side is a result with its name."""

    sides: tuple[Side, ...]
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...]
    """Messages about the limits of the comparison."""


def difference(old: Value, new: Value) -> int | Fraction | Decimal | None:
    """Return the increase between two values; None unless both are numbers, or both are amounts."""
    if isinstance(old, Decimal) and isinstance(new, Decimal):
        return ANY_AMOUNT.subtract(new, old)
    if not all(isinstance(value, int | float | Fraction) and not isinstance(value, bool) for value in (old, new)):
        return None
    increase = Fraction(new or 0) - Fraction(old or 0)
    return increase.numerator if increase.denominator == 1 else increase


def category_rows(
    sides: Sequence[Mapping[str, tuple[Decimal | None, bool]]], currency: str, language: Language
) -> Iterator[ComparedRow]:
    """Yield the amounts by category, in bill order, from those of each side and whether they are lower bounds."""
    for name in dict.fromkeys((*CATEGORIES, *chain.from_iterable(sides))):
        if any(name in side for side in sides):
            amounts = (side.get(name, (Decimal(0) * minor_unit(currency), False)) for side in sides)
            cells = tuple(Cell(amount, currency, least=least) for amount, least in amounts)
            yield ComparedRow(name, "", category_label(name, language), cells, currency)


def category_label(name: str, language: Language) -> str:
    """Return the name of a category for a reader; that of a bill may be unknown."""
    return language.word(f"category-{name}") if name in CATEGORIES else name


def best_of(cells: Sequence[Cell], better: Better) -> list[bool]:
    """Return for each cell whether it is the best; none is if all are equal, or fewer than two are known.

    A lower bound is never the best, and if its true value may be better than all others, no value is. No value is best
    either if the range of an estimate overlaps that of the best.
    """
    nothing = [False] * len(cells)
    sign = -1 if better == MORE else 1
    known = [
        (sign * Fraction(cell.value), cell)
        for cell in cells
        if cell.value is not None and not isinstance(cell.value, str)
    ]
    whole = [value for value, cell in known if not cell.least]
    if better == NEITHER or len(known) < 2 or not whole or len({value for value, _ in known}) == 1:
        return nothing
    target = min(whole)
    if any(cell.least and (better == MORE or value < target) for value, cell in known):
        return nothing
    best_ends, other_ends = [], []
    for value, cell in known:
        ends = sorted(sign * Fraction(end or 0) for end in cell.estimate) if cell.estimate else [value]
        if value == target and not cell.least:
            best_ends.append(ends[-1])
        else:
            other_ends.append(ends[0])
    if any(end < max(best_ends) for end in other_ends):
        return nothing
    return [
        not cell.least and not isinstance(cell.value, str | None) and sign * Fraction(cell.value) == target
        for cell in cells
    ]


# plans --------------------------------------------------------------------------------------------------------------
# Comparison of plans: a column per plan, a row per number, with the best value of a row marked.

FORMAT = 1
"""Version of the JSON format of a comparison."""
DIGITS = 12
"""Digits of a digest in a comparison."""
OPERATION, SITE = "operation", "site"
OF_RUN = "cost_per_run"
TOTAL, POWER, GPUS = "totals.amount", "site.power_w", "cluster.gpus"
"""Rows for which a chart is drawn."""


class ComparedPlan(NamedTuple):
    """A side of a comparison: a plan or one of its alternatives."""

    name: str
    writer: Writer
    alternative: bool = False
    """Whether it is an alternative, whose report has only warnings that the plan does not have."""

    @property
    def report(self) -> Report:
        """Return the result of the plan."""
        return self.writer.report


ComparedPlans = Comparison[ComparedPlan]


def compared(reports: Sequence[Report], language: Language, alternatives: bool = False) -> ComparedPlans:
    """Return a comparison of reports in a language; with `alternatives`, those of each plan follow it."""
    sides = list[ComparedPlan]()
    names = [report.plan.name for report in reports]
    for report in reports:
        name = report.plan.name
        name = name if names.count(name) == 1 else f"{name} ({report.plan_file})"
        sides.append(ComparedPlan(name, Writer(report, language)))
        if alternatives:
            beside = zip(report.plan.quote.alternatives, report.alternatives, strict=True)
            sides += [ComparedPlan(f"{name}: {asked.name}", Writer(other, language), True) for asked, other in beside]
    return Comparison(tuple(sides), tuple(_rows(sides)), tuple(_warnings(sides, language)))


def _warnings(sides: Sequence[ComparedPlan], language: Language) -> Iterator[str]:
    word, totals = language.word, {side.name: side.report.quote.totals for side in sides}
    currencies = dict.fromkeys(total.currency for total in totals.values() if total.priced_lines)
    if len(currencies) > 1:
        yield word("compare-currencies", names=word("list-comma").join(currencies))
    if len(_workloads(sides)) > 1:
        yield word("compare-workloads")
    partly = [name for name, total in totals.items() if not total.complete and total.priced_lines]
    if partly:
        yield word("compare-partly", names=word("list-comma").join(partly))


def charted(comparison: ComparedPlans) -> ComparedRow | None:
    """Return the row for a chart: the first of total, power and GPUs that every plan has.

    None if there is nothing to compare: all values are equal, or amounts are in different currencies.
    """
    rows = {row.key: row for row in comparison.rows}
    for row in (rows[key] for key in (TOTAL, POWER, GPUS) if key in rows):
        known = all(cell.value is not None for cell in row.cells) and len({cell.unit for cell in row.cells}) == 1
        if known and not row.equal and len(row.cells) > 1:
            return row
    return None


def document(comparison: ComparedPlans, language: Language, chart: Drawing | None = None) -> Document:
    """Return a comparison as a document: a table of different rows and one of equal rows."""
    word, title = language.word, language.word("section-compare")
    name, better = columns_of("comparison", language)
    of_plans = (Column(f"plan-{number}", side.name, "number", 24) for number, side in enumerate(comparison.sides, 1))
    columns = (name, *of_plans, better)
    tables = []
    for id, heading, equal in (("comparison", title, False), ("equal", word("compare-equal"), True)):
        rows = tuple(
            row_of(row.label, *row.cells, word(f"compare-{row.better}") if row.better else "", group=row.group)
            for row in comparison.rows
            if row.equal is equal
        )
        tables += [Table(id, heading, columns, rows, open=not equal, folded=equal)] if rows else []
    notes = tuple(Note("warning", text) for text in comparison.notes)
    about = (
        row_of(side.name, side.report.plan.title, side.report.plan_file, side.report.sha256[:DIGITS])
        for side in comparison.sides
    )
    columns = (*columns_of("plans", language), Column("sha256", "sha256", "text", 16))
    plans = make_table("plans", language, about, columns=columns)
    return Document(
        title=word("compare-heading", names=word("list-comma").join(side.name for side in comparison.sides)),
        language=language.code,
        sections=(
            Section("comparison", title, (word("compare-lead"),), tuple(tables), notes, (chart,) if chart else ()),
            section_of(plans),
        ),
        footer=word("compare-footer", version=__version__),
    )


def data(comparison: ComparedPlans) -> str:
    """Return a comparison as JSON."""
    content = {
        "compare": FORMAT,
        "version": __version__,
        "plans": [
            {
                "name": side.name,
                "title": side.report.plan.title,
                "file": side.report.plan_file,
                "sha256": side.report.sha256,
            }
            for side in comparison.sides
        ],
        "rows": [
            {
                "key": row.key,
                "group": row.group,
                "label": row.label,
                "better": None if row.better == NEITHER else row.better,
                "values": [
                    f"{cell.value:f}" if isinstance(cell.value, Decimal) else json_value(cell.value)
                    for cell in row.cells
                ],
                "units": [cell.unit or None for cell in row.cells],
                "at_least": [cell.least for cell in row.cells],
                "best": [cell.best for cell in row.cells],
            }
            for row in comparison.rows
        ],
        "warnings": list(comparison.notes),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


# rows ---------------------------------------------------------------------------------------------------------------


class Measure(NamedTuple):
    """A row definition: its key, label, better direction and cell function."""

    key: str
    label: str
    better: Better
    cell: Callable[[ComparedPlan], Cell]


power_by_gpu = quotient("power_by_gpu", "W", "power_w", "gpus")
"""Power per GPU."""


def _rows(sides: Sequence[ComparedPlan]) -> Iterator[ComparedRow]:
    """Yield the rows of a comparison, amounts first, without rows that are empty for every plan."""
    writer = sides[0].writer
    model = partial(_parts, part=lambda plan: getattr(plan.training or plan.inference, "model", None))
    gpu, server = (partial(_parts, part=attrgetter(f"cluster.{part}")) for part in ("gpu", "server"))
    measures: dict[str, Iterable[Measure]] = {
        "money": _money_measures(sides),
        "plan": [
            _fact(
                writer,
                "warnings",
                lambda side: Cell(len(side.report.own_problems if side.alternative else side.report.problems)),
            )
        ],
        "workload": [_fact(writer, "workload.model", model), *_numbers(sides, "workload")],
        "cluster": [
            *(_fact(writer, "cluster.gpu", gpu), _fact(writer, "cluster.server", server)),
            *_numbers(sides, "cluster"),
        ],
        **{role: _fabric_measures(writer, role) for role in ROLES if any(_fabrics(side, role) for side in sides)},
        "site": _site_measures(sides),
    }
    for group, of_group in measures.items():
        for key, label, better, cell in of_group:
            cells = [cell(side) for side in sides]
            if any(each.value is not None for each in cells):
                best = best_of(cells, better if _comparable(sides, key, cells) else NEITHER)
                marked = tuple(replace(each, best=is_best) for each, is_best in zip(cells, best, strict=True))
                yield ComparedRow(key, writer.word(f"compare-{group}"), label, marked, better=better)


def _fact(writer: Writer, key: str, cell: Callable[[ComparedPlan], Cell]) -> Measure:
    return Measure(key, writer.word(f"compare-{key.rpartition('.')[2]}"), NEITHER, cell)


def _comparable(sides: Sequence[ComparedPlan], key: str, cells: Sequence[Cell]) -> bool:
    """Return whether values are comparable: amounts in one currency, workload numbers of one workload."""
    if key.startswith(("workload.", f"{OPERATION}.{OF_RUN}")):
        known = [side for side, cell in zip(sides, cells, strict=True) if cell.value is not None]
        if len(_workloads(known)) > 1:
            return False
    return len({cell.unit for cell in cells if isinstance(cell.value, Decimal)}) < 2


def _workloads(sides: Sequence[ComparedPlan]) -> set[tuple[object, ...]]:
    """Return the distinct workloads of plans: trained model and tokens, served model, or computing target."""
    workloads = set[tuple[object, ...]]()
    for plan in (cluster.plan for side in sides for cluster in side.report.each_cluster):
        if training := plan.training:
            tuned = str(training.tuning.method.value) if training.tuning else ""
            workloads.add((training.model.identity.name, training.tokens.value, training.epochs.value, tuned))
        elif served := plan.inference:
            lengths = (figure and figure.value for figure in (served.context, served.output_tokens))
            workloads.add((served.model.identity.name, *lengths))
        elif compute := plan.compute:
            workloads.add((compute.precision.value, compute.sparsity.value))
    return workloads


def _at(row: Number, side: ComparedPlan) -> Cell:
    """Return the cell of a number; a count has no unit, because its label has it."""
    writer, path = side.writer, row.path
    if path not in writer.numbers:
        return Cell(None)
    cell = writer.cell(path)
    least = cell.least or (path[0] == SITE and path[-1] in writer.lower_bounds)
    return Cell(cell.value, cell.unit if row.unit else "", least=least, estimate=cell.estimate)


def _numbers(
    sides: Sequence[ComparedPlan], section: str, cell: Callable[[Number, ComparedPlan], Cell] = _at
) -> Iterator[Measure]:
    for row in (row for row in rows_below(section) if row.compared):
        having = next((side for side in sides if row.path in side.writer.numbers), sides[0])
        yield Measure(row.compared, having.writer.label(row.path), row.better, partial(cell, row))


def _parts(side: ComparedPlan, part: Callable[[Plan], Any]) -> Cell:
    parts = [part(cluster.plan) for cluster in side.report.each_cluster]
    return _names(side, [each.identity.name for each in parts if each])


def _names(side: ComparedPlan, names: Sequence[str]) -> Cell:
    language = side.writer.language
    return Cell(language.word("list-comma").join(dict.fromkeys(map(language.message, names))) or None)


# networks -----------------------------------------------------------------------------------------------------------


def _fabrics(side: ComparedPlan, role: str) -> list[tuple[Path, BuiltFabric]]:
    report = side.report
    return [
        ((*(cluster_path(cluster.plan.cluster_name) if report.clusters else ()), "fabrics", built.plan.name), built)
        for cluster in report.each_cluster
        for built in cluster.design.fabrics
        if built.plan.role == role
    ]


def _fabric_measures(writer: Writer, role: str) -> Iterator[Measure]:
    yield _fact(writer, f"{role}.topology", partial(_topologies, role=role))
    yield _fact(writer, f"{role}.switch", partial(_switches, role=role))
    for row in (row for row in rows_below("fabrics", EACH) if row.compared):
        name = f"compare-{row.compared}"
        label = writer.word(name) if name in writer.language.words else writer.group_label(row.path[2:])
        yield Measure(f"{role}.{row.compared}", label, row.better, partial(_of_fabrics, role=role, row=row))


def _topologies(side: ComparedPlan, role: str) -> Cell:
    language = side.writer.language
    return _names(side, [language.value(built.fabric.topology, "word") for _, built in _fabrics(side, role)])


def _switches(side: ComparedPlan, role: str) -> Cell:
    language = side.writer.language
    switches = (
        dict.fromkeys(language.message(tier.switch.identity.name) for tier in built.fabric.tiers)
        for _, built in _fabrics(side, role)
    )
    return _names(side, [language.word("list-comma").join(names) for names in switches])


def _of_fabrics(side: ComparedPlan, role: str, row: Number) -> Cell:
    """Return a number of the networks of a role: their sum, or the value that all of them have."""
    numbers = side.writer.numbers
    paths = [(*place, *row.path[2:]) for place, _ in _fabrics(side, role)]
    figures = [numbers[path] for path in paths if path in numbers]
    if row.summed:
        return Cell(sum(figure.value for figure in figures) if figures else None)
    if len({figure.value for figure in figures}) != 1:
        return Cell(None)
    return Cell(figures[0].value, figures[0].unit)


# site and money -----------------------------------------------------------------------------------------------------


def _site_measures(sides: Sequence[ComparedPlan]) -> Iterator[Measure]:
    for measure in _numbers(sides, SITE):
        yield measure
        if measure.key == POWER:
            yield Measure("site.power_by_gpu", sides[0].writer.word("compare-power-gpu"), LESS, _power_by_gpu)


def _power_by_gpu(side: ComparedPlan) -> Cell:
    power, gpus = (side.writer.numbers.get(path) for path in ((SITE, "power_w"), ("cluster", "gpus")))
    if power is None or gpus is None:
        return Cell(None)
    each = power_by_gpu(power, gpus)
    return Cell(each.value, each.unit, least="power_w" in side.writer.lower_bounds, estimate=each.bounds)


def _money_measures(sides: Sequence[ComparedPlan]) -> Iterator[Measure]:
    word = sides[0].writer.word
    yield Measure(TOTAL, word("ui-total"), LESS, partial(_sum, name="amount"))
    yield Measure("totals.net", word("xlsx-net"), LESS, partial(_sum, name="net"))
    yield Measure("totals.net_by_gpu", word("label-cost_per_gpu"), LESS, _net_by_gpu)
    yield from _numbers(sides, OPERATION, _running_cost)
    for key, name in ((f"{OPERATION}.{OF_RUN}", "cost"), ("workload.purchase", "purchase")):
        for end, place in (("low", -1), ("high", 0)):  # the interval of a prediction has its slow end first
            label = word(f"compare-{name}-{end}")
            yield Measure(f"{key}_{end}", label, LESS, partial(_predicted_money, name=name, place=place))
    yield Measure("confidence.share", word("compare-doubtful"), LESS, _doubtful)
    yield _fact(sides[0].writer, "totals.priced", _priced)


def _predicted_money(side: ComparedPlan, name: str, place: int) -> Cell:
    report = side.report
    predicted, training = report.design.sizing.predicted, report.plan.training
    if predicted is None or training is None or training.predicted is None:
        return Cell(None)
    amount = getattr(money_of_run(report, predicted.ends[WIDE][place]), name)
    least = not report.quote.totals.complete if name == "purchase" else OF_RUN in report.running.lower_bounds
    return Cell(amount, report.quote.totals.currency, least=least)


def _priced(side: ComparedPlan) -> Cell:
    totals = side.report.quote.totals
    return Cell(side.writer.word("compare-priced-of", priced=totals.priced_lines, lines=totals.lines))


def _sum(side: ComparedPlan, name: str) -> Cell:
    totals = side.report.quote.totals
    if not totals.priced_lines:
        return Cell(None)
    amount = getattr(totals, name)
    return Cell(amount, totals.currency, least=not totals.complete, estimate=_range(totals, amount))


def _range(totals: Totals, amount: Decimal) -> tuple[Decimal, Decimal] | None:
    """Return the price range of the total or the net amount; None without one."""
    low, high = totals.low, totals.high
    if low is None or high is None or low >= high:
        return None
    if amount != totals.amount:
        low, high = (rounded(Fraction(end * amount) / Fraction(totals.amount), totals.currency) for end in (low, high))
    return low, high


def _running_cost(row: Number, side: ComparedPlan) -> Cell:
    """Return a running cost with its range: the costs scale with the total, and the purchase has the price range."""
    cell, costs = _at(row, side), side.report.running.figures
    totals = side.report.quote.totals
    ends = _range(totals, totals.net)
    if ends is None or cell.value is None or "purchase" not in costs:
        return cell
    total, purchase = costs["total_cost"].value, costs["purchase"].value
    cost = costs[row.path[-1]].value
    low, high = (rounded(cost * (total - purchase + Fraction(end)) / total, cell.unit) for end in ends)
    return replace(cell, estimate=(low, high))


def _net_by_gpu(side: ComparedPlan) -> Cell:
    net, gpus = _sum(side, "net"), side.writer.numbers["cluster", "gpus"]
    if net.value is None:
        return net

    def by_gpu(amount: Value) -> Decimal:
        return rounded(Fraction(amount or 0) / gpus.value, net.unit)

    ends = net.estimate and (by_gpu(net.estimate[0]), by_gpu(net.estimate[1]))
    return replace(net, value=by_gpu(net.value), estimate=ends)


def _doubtful(side: ComparedPlan) -> Cell:
    certainty = confidence(side.report.quote.lines, side.report.plan.quote)
    if certainty.unpriced or not certainty.net:
        return Cell(None)
    return Cell(certainty.share(certainty.doubtful), "share")
