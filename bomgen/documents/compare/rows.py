"""The rows of a comparison, the better direction of each, and the best values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from bomgen.core.document import Cell, Value
from bomgen.core.number_registry import EACH, LESS, MORE, NEITHER, Better, Number, Path, rows_below
from bomgen.core.provenance import Figure, quotient
from bomgen.core.units import Totals, rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.types import ROLES
from bomgen.pricing.bill_line import cluster_path
from bomgen.pricing.quote import confidence
from bomgen.results.numbers import WIDE
from bomgen.results.what_if import money_of_run

# best ---------------------------------------------------------------------------------------------------------------
# The best of several values, if a row has a better direction and the best is certain.


def best_of(cells: Sequence[Cell], better: Better) -> list[bool]:
    """Return for each cell whether it is the best; none is if all are equal, or fewer than two are known.

    A lower bound is never the best, and if its true value may be better than all others, no value is. No value is best
    either if the range of an estimate overlaps that of the best.
    """
    nothing = [False] * len(cells)
    values = [_number(cell.value) for cell in cells]
    known = [(value, cell.least) for value, cell in zip(values, cells, strict=True) if value is not None]
    whole, bounds = ([value for value, least in known if least is wanted] for wanted in (False, True))
    if better == NEITHER or len(known) < 2 or not whole or len({value for value, _ in known}) == 1:
        return nothing
    target = min(whole) if better == LESS else max(whole)
    if any(bound < target for bound in bounds) or (bounds and better == MORE):
        return nothing
    best = [value == target and not cell.least for value, cell in zip(values, cells, strict=True)]
    worse = LESS if better == MORE else MORE
    sign = 1 if better == LESS else -1
    ends = [(_end(cell, worse if is_best else better), is_best) for cell, is_best in zip(cells, best, strict=True)]
    known_ends = [(sign * end, is_best) for end, is_best in ends if end is not None]
    worst = max(end for end, is_best in known_ends if is_best)
    return nothing if any(end < worst for end, is_best in known_ends if not is_best) else best


def _number(value: Value) -> Fraction | None:
    return None if value is None or isinstance(value, str) else Fraction(value)


def _end(cell: Cell, better: Better) -> Fraction | None:
    """Return the better end of an estimate, or the value itself; None if unknown."""
    return _number(cell.estimate[better == MORE] if cell.estimate else cell.value)


# rows ---------------------------------------------------------------------------------------------------------------

OPERATION, SITE = "operation", "site"
OF_RUN = "cost_per_run"
SLOW, FAST = 0, 1
"""Indices of the ends of a predicted interval."""
TOTAL, POWER, GPUS = "totals.amount", "site.power_w", "cluster.gpus"
"""Rows for which a chart is drawn."""


class ComparedColumn(NamedTuple):
    """A column: a plan or one of its alternatives."""

    name: str
    writer: Writer
    alternative: bool = False
    """Whether it is an alternative, whose report has only warnings that the plan does not have."""


class ComparedRow(NamedTuple):
    """A row: its group and name, the better direction, and a cell per column."""

    group: str
    key: str
    """Key of the row in JSON."""
    label: str
    better: Better
    cells: tuple[Cell, ...]

    @property
    def equal(self) -> bool:
        """Return whether all plans have the same value."""
        return len({(cell.value, cell.unit, cell.least) for cell in self.cells}) == 1 < len(self.cells)


class Measure(NamedTuple):
    """A row definition: its key, label, better direction and cell function."""

    key: str
    label: str
    better: Better
    cell: Callable[[ComparedColumn], Cell]


power_by_gpu = quotient("power_by_gpu", "W", "power_w", "gpus")
"""Power per GPU."""


def compared_rows(columns: Sequence[ComparedColumn]) -> Iterator[ComparedRow]:
    """Yield the rows of a comparison, amounts first, without rows that are empty for every plan."""
    word = columns[0].writer.word
    yield from _grouped(columns, word("compare-money"), _money_measures(columns))
    for key, measures in (("plan", _plan_measures), ("workload", _workload_measures), ("cluster", _cluster_measures)):
        yield from _grouped(columns, word(f"compare-{key}"), measures(columns))
    for role in ROLES:
        if any(_fabrics(column, role) for column in columns):
            yield from _grouped(columns, word(f"compare-{role}"), _fabric_measures(columns, role))
    yield from _grouped(columns, word("compare-site"), _site_measures(columns))


def _grouped(columns: Sequence[ComparedColumn], group: str, measures: Iterator[Measure]) -> Iterator[ComparedRow]:
    for measure in measures:
        cells = [measure.cell(column) for column in columns]
        if all(cell.value is None for cell in cells):
            continue
        better = measure.better if _comparable(columns, measure.key, cells) else NEITHER
        best = zip(cells, best_of(cells, better), strict=True)
        marked = tuple(replace(cell, best=is_best) for cell, is_best in best)
        yield ComparedRow(group, measure.key, measure.label, measure.better, marked)


def _comparable(columns: Sequence[ComparedColumn], key: str, cells: Sequence[Cell]) -> bool:
    """Return whether values are comparable: amounts in one currency, workload numbers of one workload."""
    if key.startswith("workload.") or key.startswith(f"{OPERATION}.{OF_RUN}"):
        known = [each for each, cell in zip(columns, cells, strict=True) if cell.value is not None]
        if len(workloads(known)) > 1:
            return False
    return len({cell.unit for cell in cells if isinstance(cell.value, Decimal)}) < 2


def workloads(columns: Sequence[ComparedColumn]) -> set[tuple[object, ...]]:
    """Return the distinct workloads of plans: trained model and tokens, served model, or computing target."""
    found = set[tuple[object, ...]]()
    for plan in (cluster.plan for column in columns for cluster in column.writer.report.each_cluster):
        if training := plan.training:
            tuned = str(training.tuning.method.value) if training.tuning else ""
            found.add((training.model.identity.name, training.tokens.value, training.epochs.value, tuned))
        elif served := plan.inference:
            lengths = (figure and figure.value for figure in (served.context, served.output_tokens))
            found.add((served.model.identity.name, *lengths))
        elif compute := plan.compute:
            found.add((compute.precision.value, compute.sparsity.value))
    return found


# numbers of bom.json ------------------------------------------------------------------------------------------------


def _at(row: Number, column: ComparedColumn) -> Cell:
    """Return the cell of a number; a count has no unit, because its label has it."""
    writer, path = column.writer, row.path
    if path not in writer.numbers:
        return Cell(None)
    cell = writer.cell(path)
    least = cell.least or (path[0] == SITE and path[-1] in writer.lower_bounds)
    return Cell(cell.value, cell.unit if row.unit else "", least=least, estimate=cell.estimate)


def _numbers(
    columns: Sequence[ComparedColumn], section: str, cell: Callable[[Number, ComparedColumn], Cell] = _at
) -> Iterator[Measure]:
    for row in (row for row in rows_below(section) if row.compared):
        having = next((column for column in columns if row.path in column.writer.numbers), columns[0])
        yield Measure(row.compared, having.writer.label(row.path), row.better, partial(cell, row))


def _plan_measures(columns: Sequence[ComparedColumn]) -> Iterator[Measure]:
    word = columns[0].writer.word
    yield Measure("warnings", word("compare-warnings"), NEITHER, _warnings)


def _warnings(column: ComparedColumn) -> Cell:
    report = column.writer.report
    return Cell(len(report.own_problems if column.alternative else report.problems))


def _workload_measures(columns: Sequence[ComparedColumn]) -> Iterator[Measure]:
    yield Measure("workload.model", columns[0].writer.word("compare-model"), NEITHER, _model)
    yield from _numbers(columns, "workload")


def _model(column: ComparedColumn) -> Cell:
    asked = (cluster.plan.training or cluster.plan.inference for cluster in column.writer.report.each_cluster)
    return _names(column, [block.model.identity.name for block in asked if block])


def _names(column: ComparedColumn, names: Sequence[str]) -> Cell:
    language = column.writer.language
    return Cell(column.writer.word("list-comma").join(dict.fromkeys(map(language.message, names))) or None)


def _cluster_measures(columns: Sequence[ComparedColumn]) -> Iterator[Measure]:
    word = columns[0].writer.word
    yield Measure("cluster.gpu", word("compare-gpu"), NEITHER, _gpu)
    yield Measure("cluster.server", word("compare-server"), NEITHER, _server)
    yield from _numbers(columns, "cluster")


def _gpu(column: ComparedColumn) -> Cell:
    return _names(column, [cluster.plan.cluster.gpu.identity.name for cluster in column.writer.report.each_cluster])


def _server(column: ComparedColumn) -> Cell:
    servers = (cluster.plan.cluster.server for cluster in column.writer.report.each_cluster)
    return _names(column, [column.writer.language.message(server.identity.name) for server in servers if server])


# networks -----------------------------------------------------------------------------------------------------------


def _fabrics(column: ComparedColumn, role: str) -> list[tuple[Path, BuiltFabric]]:
    report = column.writer.report
    return [
        ((*(cluster_path(cluster.plan.cluster_name) if report.clusters else ()), "fabrics", built.plan.name), built)
        for cluster in report.each_cluster
        for built in cluster.design.fabrics
        if built.plan.role == role
    ]


def _fabric_measures(columns: Sequence[ComparedColumn], role: str) -> Iterator[Measure]:
    writer = columns[0].writer
    for key, text in (("topology", _topology), ("switch", _switches)):
        yield Measure(f"{role}.{key}", writer.word(f"compare-{key}"), NEITHER, partial(_texts, role=role, text=text))
    for row in (row for row in rows_below("fabrics", EACH) if row.compared):
        own, name = row.path[2:], f"compare-{row.compared}"
        label = writer.word(name) if name in writer.language.words else writer.group_label(own)
        cell = partial(_sum if row.summed else _only, role=role, path=own)
        yield Measure(f"{role}.{row.compared}", label, row.better, cell)


def _texts(column: ComparedColumn, role: str, text: Callable[[ComparedColumn, BuiltFabric], str]) -> Cell:
    found = dict.fromkeys(text(column, built) for _, built in _fabrics(column, role))
    return Cell(column.writer.word("list-comma").join(found) or None)


def _topology(column: ComparedColumn, built: BuiltFabric) -> str:
    return column.writer.language.value(built.fabric.topology, "word")


def _switches(column: ComparedColumn, built: BuiltFabric) -> str:
    names = dict.fromkeys(column.writer.language.message(tier.switch.identity.name) for tier in built.fabric.tiers)
    return column.writer.word("list-comma").join(names)


def _found(column: ComparedColumn, role: str, path: Path) -> list[Figure]:
    places = [(*place, *path) for place, _ in _fabrics(column, role)]
    return [column.writer.numbers[place] for place in places if place in column.writer.numbers]


def _sum(column: ComparedColumn, role: str, path: Path) -> Cell:
    found = _found(column, role, path)
    return Cell(sum(figure.value for figure in found) if found else None)


def _only(column: ComparedColumn, role: str, path: Path) -> Cell:
    """Return a number of the networks of a role; None if they differ."""
    found = _found(column, role, path)
    if not found or len({figure.value for figure in found}) > 1:
        return Cell(None)
    return Cell(found[0].value, found[0].unit)


# site and money -----------------------------------------------------------------------------------------------------


def _site_measures(columns: Sequence[ComparedColumn]) -> Iterator[Measure]:
    for measure in _numbers(columns, SITE):
        yield measure
        if measure.key == POWER:
            yield Measure("site.power_by_gpu", columns[0].writer.word("compare-power-gpu"), LESS, _power_by_gpu)


def _power_by_gpu(column: ComparedColumn) -> Cell:
    power, gpus = (column.writer.numbers.get(path) for path in ((SITE, "power_w"), ("cluster", "gpus")))
    if power is None or gpus is None:
        return Cell(None)
    found = power_by_gpu(power, gpus)
    return Cell(found.value, found.unit, least="power_w" in column.writer.lower_bounds, estimate=found.bounds)


def _money_measures(columns: Sequence[ComparedColumn]) -> Iterator[Measure]:
    word = columns[0].writer.word
    yield Measure(TOTAL, word("ui-total"), LESS, _amount)
    yield Measure("totals.net", word("xlsx-net"), LESS, _net)
    yield Measure("totals.net_by_gpu", word("label-cost_per_gpu"), LESS, _net_by_gpu)
    yield from _numbers(columns, OPERATION, _running_cost)
    for key, name in ((f"{OPERATION}.{OF_RUN}", "cost"), ("workload.purchase", "purchase")):
        for end, place in (("low", FAST), ("high", SLOW)):
            label = word(f"compare-{name}-{end}")
            yield Measure(f"{key}_{end}", label, LESS, partial(_predicted_money, name=name, place=place))
    yield Measure("confidence.share", word("compare-doubtful"), LESS, _doubtful)
    yield Measure("totals.priced", word("compare-priced"), NEITHER, _priced)


def _predicted_money(column: ComparedColumn, name: str, place: int) -> Cell:
    report = column.writer.report
    predicted, training = report.design.sizing.predicted, report.plan.training
    if predicted is None or training is None or training.predicted is None:
        return Cell(None)
    amount = getattr(money_of_run(report, predicted.ends[WIDE][place]), name)
    least = not report.quote.totals.complete if name == "purchase" else OF_RUN in report.running.lower_bounds
    return Cell(amount, report.quote.totals.currency, least=least)


def _priced(column: ComparedColumn) -> Cell:
    totals = column.writer.report.quote.totals
    return Cell(column.writer.word("compare-priced-of", priced=totals.priced_lines, lines=totals.lines))


def _net(column: ComparedColumn) -> Cell:
    totals = column.writer.report.quote.totals
    if not totals.priced_lines:
        return Cell(None)
    return Cell(totals.net, totals.currency, least=not totals.complete, estimate=_net_range(totals))


def _running_cost(row: Number, column: ComparedColumn) -> Cell:
    """Return a running cost with its range: the costs scale with the total, and the purchase has the price range."""
    cell, costs = _at(row, column), column.writer.report.running.figures
    ends = _net_range(column.writer.report.quote.totals)
    if ends is None or cell.value is None or "purchase" not in costs:
        return cell
    total, purchase = costs["total_cost"].value, costs["purchase"].value
    cost = costs[row.path[-1]].value
    low, high = (rounded(cost * (total - purchase + Fraction(end)) / total, cell.unit) for end in ends)
    return replace(cell, estimate=(low, high))


def _net_range(totals: Totals) -> tuple[Decimal, Decimal] | None:
    ends = _price_range(totals)
    if ends is None or not totals.amount:
        return None
    net = totals.net
    low, high = (rounded(Fraction(end * net) / Fraction(totals.amount), totals.currency) for end in ends)
    return low, high


def _price_range(totals: Totals) -> tuple[Decimal, Decimal] | None:
    low, high = totals.low, totals.high
    return (low, high) if low is not None and high is not None and low < high else None


def _amount(column: ComparedColumn) -> Cell:
    totals = column.writer.report.quote.totals
    if not totals.priced_lines:
        return Cell(None)
    return Cell(totals.amount, totals.currency, least=not totals.complete, estimate=_price_range(totals))


def _net_by_gpu(column: ComparedColumn) -> Cell:
    net, gpus = _net(column), column.writer.numbers["cluster", "gpus"]
    if net.value is None:
        return net

    def by_gpu(amount: Value) -> Decimal:
        return rounded(Fraction(amount or 0) / gpus.value, net.unit)

    ends = net.estimate and (by_gpu(net.estimate[0]), by_gpu(net.estimate[1]))
    return replace(net, value=by_gpu(net.value), estimate=ends)


def _doubtful(column: ComparedColumn) -> Cell:
    report = column.writer.report
    found = confidence(report.quote.lines, report.plan.quote)
    if found.unpriced or not found.net:
        return Cell(None)
    return Cell(found.share(found.doubtful), "share")
