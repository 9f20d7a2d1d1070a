"""Charts of the sizing: the memory of a GPU, and how a training run depends on utilisation and GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.core.money import rounded
from bomgen.pricing.running_costs import cost_per_gpu
from bomgen.report.chapters.writer import Writer
from bomgen.report.charts.types import Bar, Bars, Chart, Matrix
from bomgen.report.metrics import Path
from bomgen.sizing.prediction.range import Predicted
from bomgen.sizing.sensitivity import Sensitivity, sensitivity

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
    """Days of a predicted run between the ends of its intervals, with GPUs and their purchase."""
    predicted, word, language = writer.report.design.sizing.predicted, writer.word, writer.language
    if predicted is None:
        return
    point, bars = Fraction(predicted.point.days.value), []
    for coverage, (slow, fast) in sorted(predicted.ends.items()):
        low, high = Fraction(fast.days.value), Fraction(slow.days.value)
        text = word("range-ends", low=language.number(low), high=language.number(high))
        name = word("chart-predicted-held", share=f"{coverage}%")
        bars.append(Bar(name, text, (high - low,), low, point))
    text = word("chart-predicted-text", days=writer.shown(predicted.point.days))
    yield Chart("predicted", word("chart-predicted"), text, Bars(tuple(bars)), _predicted_table(writer, predicted))


def _predicted_table(writer: Writer, predicted: Predicted) -> Table:
    """Utilisation, days, GPUs for the target and their purchase: predicted, and at the ends of 90 %."""
    word, currency = writer.word, writer.report.quote.totals.currency
    slow, fast = predicted.ends[max(predicted.ends)]
    outlooks = (slow, predicted.point, fast)
    columns = (
        Column("name", word("column-name"), "text", 30),
        *(Column(key, word(f"chart-predicted-{key}"), "number", 22) for key in ("slow", "point", "fast")),
    )
    rows = [
        Row((Cell("MFU"), *(Cell(each.mfu.value, each.mfu.unit) for each in outlooks))),
        Row((Cell(word("label-days")), *(Cell(each.days.value, each.days.unit) for each in outlooks))),
    ]
    required = [each.gpus_required for each in outlooks if each.gpus_required]
    if required:
        rows.append(Row((Cell(word("label-gpus_required")), *(Cell(figure.value) for figure in required))))
        amounts = [_purchase(writer, int(figure.value)) for figure in required]
        if None not in amounts:
            rows.append(Row((Cell(word("chart-purchase")), *(Cell(amount, currency) for amount in amounts))))
    return Table("predicted", word("chart-predicted"), columns, tuple(rows))


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
    report, totals = writer.report, writer.report.quote.totals
    if not totals.complete or report.plan.cluster_name:
        return None
    planned = int(report.design.sizing.gpus.value)
    each = cost_per_gpu.plain(Fraction(totals.list - totals.discount), planned)
    return rounded(each * gpus, totals.currency)


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
