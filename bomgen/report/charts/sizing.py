"""Charts of the sizing: the memory of a GPU, and how a training run depends on utilisation and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.core.provenance import Figure
from bomgen.report.chapters.writer import Writer
from bomgen.report.charts.types import Bar, Bars, Chart, Matrix
from bomgen.report.metrics import Path
from bomgen.report.predicted_money import money_of_run, purchase_of_gpus
from bomgen.sizing.prediction.run import Predicted
from bomgen.sizing.sensitivity import Sensitivity, sensitivity

OF_RUN = "cost_per_run"
MEMORY: Path = ("workload", "memory")
PARTS = ("weights", "gradients", "optimizer", "activations", "kv_cache")
"""What fills the memory of a GPU, in training and in serving."""
_MILLION = 10**6


def training_memory(writer: Writer) -> Iterator[Chart]:
    """The memory of a GPU that trains."""
    if writer.report.design.sizing.fit:
        yield from _memory(writer)


def serving_memory(writer: Writer) -> Iterator[Chart]:
    """The memory of a GPU that serves."""
    if writer.report.design.sizing.serving:
        yield from _memory(writer)


def _memory(writer: Writer) -> Iterator[Chart]:
    """The memory of the fullest GPU, beside what it has."""
    of_gpu, numbers, language = (*MEMORY, "per_gpu"), writer.numbers, writer.language
    paths = [(*of_gpu, name) for name in PARTS if (*of_gpu, name) in numbers]
    total, whole = numbers.get((*of_gpu, "total")), numbers.get((*MEMORY, "gpu"))
    if total is None or not total.value:
        return
    text = writer.shown(total)
    if whole:
        text = writer.word("chart-of", part=text, whole=writer.shown(whole))
    bar = Bar(
        writer.word("chart-memory-bar"),
        text,
        tuple(numbers[path].value for path in paths),
        frame=whole.value if whole else None,
    )
    key = tuple(f"{writer.label(path)} {language.value(numbers[path].value, 'bytes')}" for path in paths)
    yield Chart("memory", writer.word("chart-memory"), writer.word("chart-memory-text"), Bars((bar,), key))


def predicted_range(writer: Writer) -> Iterator[Chart]:
    """Days of a predicted run between the ends of its intervals, with what they mean in machines and money."""
    predicted, word, language = writer.report.design.sizing.predicted, writer.word, writer.language
    if predicted is None:
        return
    days = {coverage: (fast.days.value, slow.days.value) for coverage, (slow, fast) in predicted.ends.items()}
    shape = _range_bars(writer, days, predicted.point.days.value, language.number)
    text = word("chart-predicted-text", days=writer.shown(predicted.point.days))
    yield Chart("predicted", word("chart-predicted"), text, shape, _predicted_table(writer, predicted))
    yield from _predicted_money(writer, predicted)


def _predicted_money(writer: Writer, predicted: Predicted) -> Iterator[Chart]:
    """Money of a predicted run between the ends: of the GPUs for the target, else of the run."""
    report, language, word = writer.report, writer.language, writer.word
    point = money_of_run(report, predicted.point)
    name = next((each for each in ("purchase", "cost", "energy_cost") if getattr(point, each) is not None), None)
    if name is None:
        return
    currency, amounts = report.quote.totals.currency, dict[int, tuple[Decimal, Decimal]]()
    for coverage, (slow, fast) in predicted.ends.items():
        low, high = sorted(getattr(money_of_run(report, each), name) for each in (slow, fast))
        amounts[coverage] = low, high
    shape = _range_bars(writer, amounts, getattr(point, name), partial(language.amount, currency=currency))
    least = not report.quote.totals.complete if name == "purchase" else OF_RUN in report.running.lower_bounds
    amount = language.cell(Cell(getattr(point, name), currency, least=least and name != "energy_cost"))
    text = word(f"chart-predicted-{name}-text", amount=amount)
    yield Chart("predicted-money", word("chart-predicted-money"), text, shape)


def _range_bars(writer: Writer, ends: Mapping[int, tuple[Any, Any]], point: Any, shown: Callable[[Any], str]) -> Bars:
    """A bar for each coverage in percent, from its lower to its upper end, with the point marked."""
    bars = []
    for coverage, (low, high) in sorted(ends.items()):
        text = writer.word("range-ends", low=shown(low), high=shown(high))
        name = writer.word("chart-predicted-held", share=f"{coverage}%")
        bars.append(Bar(name, text, (high - low,), low, point))
    return Bars(tuple(bars))


def _predicted_table(writer: Writer, predicted: Predicted) -> Table:
    """Utilisation, days and what they cost, machines for the target and their purchase: predicted, and at both ends."""
    word, totals, running = writer.word, writer.report.quote.totals, writer.report.running
    slow, fast = predicted.ends[max(predicted.ends)]
    outlooks = (slow, predicted.point, fast)
    columns = (
        Column("name", word("column-name"), "text", 30),
        *(Column(key, word(f"chart-predicted-{key}"), "number", 22) for key in ("slow", "point", "fast")),
    )
    money, least = [money_of_run(writer.report, each) for each in outlooks], not totals.complete
    rows = [
        ("MFU", [Cell(each.mfu.value, each.mfu.unit) for each in outlooks]),
        (word("label-days"), [Cell(each.days.value, each.days.unit) for each in outlooks]),
        (word("label-run_energy_kwh"), [_count(each.energy_kwh, "kWh") for each in money]),
        (word("label-run_energy_cost"), [Cell(each.energy_cost, totals.currency) for each in money]),
        (
            word("label-cost_per_run"),
            [Cell(each.cost, totals.currency, least=OF_RUN in running.lower_bounds) for each in money],
        ),
        (word("label-gpus_required"), [_count(each.gpus_required) for each in outlooks]),
        (word("label-servers_required"), [_count(each.servers) for each in money]),
        (word("chart-purchase"), [Cell(each.purchase, totals.currency, least=least) for each in money]),
    ]
    known = tuple(Row((Cell(name), *cells)) for name, cells in rows if cells[0].value is not None)
    caption = word("caption-predicted") if predicted.point.gpus_required else None
    return Table("predicted", word("chart-predicted"), columns, known, caption)


def _count(figure: Figure | None, unit: str = "") -> Cell:
    return Cell(figure.value if figure else None, unit)


def run_sensitivity(writer: Writer) -> Iterator[Chart]:
    """Days by utilisation and number of GPUs, and what these cost."""
    report, language, word = writer.report, writer.language, writer.word
    found = sensitivity(report.plan, report.design.sizing)
    if found is None:
        return
    amounts = [_purchase(writer, int(gpus.value)) for gpus in found.gpus]
    currency = report.quote.totals.currency
    foot = (
        (
            word("chart-sensitivity-millions", currency=currency),
            *(language.number(Fraction(amount) / _MILLION) for amount in amounts if amount is not None),
        )
        if None not in amounts
        else ()
    )
    days = [[Fraction(figure.value) for figure in outlook.days] for outlook in found.outlooks]
    shape = Matrix(
        word("chart-sensitivity-corner"),
        tuple(language.integer(int(gpus.value)) for gpus in found.gpus),
        tuple((writer.shown(outlook.mfu), tuple(row)) for outlook, row in zip(found.outlooks, days, strict=True)),
        tuple(tuple(language.number(value) for value in row) for row in days),
        found.planned,
        foot,
    )
    text = word("chart-sensitivity-text") + (word("chart-sensitivity-cost") if foot else "")
    data = _table(writer, found, amounts if foot else [])
    yield Chart("sensitivity", word("chart-sensitivity"), text, shape, data)


def _purchase(writer: Writer, gpus: int) -> Decimal | None:
    """What so many GPUs cost at the plan's purchase a GPU; None where a price is missing, or clusters share it."""
    return purchase_of_gpus(writer.report, gpus) if writer.report.quote.totals.complete else None


def _table(writer: Writer, found: Sensitivity, amounts: list[Decimal | None]) -> Table:
    """A row for each utilisation with its days, and one for the purchase."""
    word, totals = writer.word, writer.report.quote.totals
    planned = writer.shown(found.outlooks[found.planned[0]].days[found.planned[1]])
    columns = [Column("mfu", "MFU", "text", 24)]
    for number, gpus in enumerate(found.gpus, 1):
        title = word("chart-days-on", gpus=writer.language.integer(int(gpus.value)))
        columns.append(Column(f"days-{number}", title, "number", 18))
    columns.append(Column("gpus", word("chart-gpus-for", days=planned), "number", 18))
    if amounts:
        columns.append(Column("cost", word("chart-cost-of-those"), "money", 20))
    rows = []
    for outlook in found.outlooks:
        cells = [Cell(writer.shown(outlook.mfu)), *(Cell(figure.value, figure.unit) for figure in outlook.days)]
        cells.append(Cell(outlook.gpus_required.value))
        if amounts:
            cost = _purchase(writer, int(outlook.gpus_required.value))
            cells.append(Cell(cost, totals.currency))
        rows.append(Row(tuple(cells)))
    if amounts:
        costs = (Cell(amount, totals.currency) for amount in amounts)
        rows.append(Row((Cell(word("chart-purchase")), *costs, Cell(""), Cell(""))))
    return Table("sensitivity", word("chart-sensitivity"), tuple(columns), tuple(rows))
