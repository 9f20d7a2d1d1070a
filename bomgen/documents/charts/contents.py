"""The charts of a report by chapter: sizing, site and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from bomgen.core.document import Cell, Column, Row, Table, row_of
from bomgen.core.number_registry import Path
from bomgen.core.provenance import Figure
from bomgen.documents.chapters.money import costs_table
from bomgen.documents.chapters.serving import load_points
from bomgen.documents.chapters.writer import SITE, Writer
from bomgen.documents.charts.types import Bar, Bars, Chart, HeatMap, OneLine, PairMatrix, Point, Points, PowerNode
from bomgen.pricing.quote import CategoryTotal, category_amounts, confidence
from bomgen.results.what_if import money_of_run, purchase_of_gpus
from bomgen.sizing.prediction.predict import Predicted
from bomgen.sizing.sensitivity import Sensitivity, sensitivity
from bomgen.sizing.serving.capacity import LoadPoint

# money --------------------------------------------------------------------------------------------------------------
# Charts of amounts: the categories, the range of the total, and the alternatives.


def categories(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the costs by category; nothing if nothing is priced."""
    parts = category_amounts(writer.report.quote.lines)
    if parts:
        shape = Bars(tuple(describe_category(writer, part) for part in parts))
        data = costs_table(writer)
        yield Chart("costs", data.title, writer.word("drawing-costs-text"), shape, data)


def describe_category(writer: Writer, part: CategoryTotal) -> Bar:
    """Return the bar of a category with its amount and share; only its name if it is not priced."""
    name = writer.word(f"category-{part.category}")
    if part.amount is None:
        return Bar(name, writer.word("ui-no-price"))
    amount = _money(writer, part.amount, writer.report.quote.totals.currency, part.complete)
    return Bar(name, f"{amount} · {writer.language.rough_share(part.share)}", (part.share,))


def price_range(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the range of the total, and of the uncertain part of the net amount."""
    word, totals = writer.word, writer.report.quote.totals
    if totals.low is None or totals.high is None or totals.low == totals.high:
        return
    low, high = (_money(writer, end, totals.currency) for end in (totals.low, totals.high))
    mark = totals.amount if totals.low <= totals.amount <= totals.high else None
    length = totals.high - totals.low
    bars = [Bar(word("ui-total"), word("range-ends", low=low, high=high), (length,), totals.low, mark)]
    rows = [("column-lowest", totals.low), ("ui-total", totals.amount), ("column-highest", totals.high)]
    found = confidence(writer.report.quote.lines, writer.report.plan.quote)
    share = writer.language.rough_share(found.share(found.doubtful))
    rows += [("chart-net", found.net), ("chart-doubtful", found.doubtful)]
    bars.append(Bar(word("chart-net"), _money(writer, found.net, totals.currency), (found.net,)))
    doubtful = f"{_money(writer, found.doubtful, totals.currency)} · {share}"
    bars.append(Bar(word("chart-doubtful"), doubtful, (found.doubtful,)))
    columns = (Column("name", word("column-name"), "text", 40), Column("amount", word("column-amount"), "money", 24))
    shown = tuple(row_of(word(key), Cell(amount, totals.currency)) for key, amount in rows)
    data = Table("price-range", word("chart-range"), columns, shown)
    yield Chart("price-range", data.title, word("chart-range-text"), Bars(tuple(bars)), data)


def alternatives(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the total of the plan and of each alternative."""
    report, word = writer.report, writer.word
    quotes = [report.quote, *(alternative.quote for alternative in report.alternatives)]
    if not report.alternatives or not any(quote.totals.priced_lines for quote in quotes):
        return
    names = [word("column-as-planned"), *(alternative.name for alternative in report.plan.quote.alternatives)]
    totals = [quote.totals for quote in quotes]
    amounts = (_money(writer, total.amount, total.currency, total.complete) for total in totals)
    named = zip(names, amounts, totals, strict=True)
    bars = tuple(Bar(name, amount, (total.amount,)) for name, amount, total in named)
    yield Chart("alternatives", word("chart-alternatives"), word("chart-alternatives-text"), Bars(bars))


def _money(writer: Writer, amount: Decimal, currency: str, complete: bool = True) -> str:
    text = writer.language.money(amount, currency)
    return text if complete else writer.word("ui-at-least", amount=text)


# site ---------------------------------------------------------------------------------------------------------------
# Charts of the design: lengths of cables, power of racks, and the power supply.

MEDIA = ("dac", "acc", "aec", "copper", "aoc", "fibre", "trunk", "")
"""Cable media by increasing reach; empty for cables without a known part."""


def cable_lengths(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the number of cables by length and medium; nothing without cables."""
    pieces: dict[Fraction, dict[str, int]] = {}
    for built in writer.report.design.fabrics:
        for use in built.interconnect.cables:
            of_length = pieces.setdefault(Fraction(use.length_m), {})
            medium = use.cable.medium if use.cable else ""
            of_length[medium] = of_length.get(medium, 0) + int(use.quantity.value)
    if not any(count for piece in pieces.values() for count in piece.values()):
        return
    word, language = writer.word, writer.language
    media = [medium for medium in MEDIA if any(medium in piece for piece in pieces.values())]
    lengths = sorted(pieces)
    bars = tuple(
        Bar(
            language.value(length, "m"),
            language.integer(sum(pieces[length].values())),
            tuple(pieces[length].get(medium, 0) for medium in media),
        )
        for length in lengths
    )
    names = [word(f"medium-{medium or 'unknown'}") for medium in media]
    counts = [sum(piece.get(medium, 0) for piece in pieces.values()) for medium in media]
    key = tuple(f"{name} {language.integer(count)}" for name, count in zip(names, counts, strict=True))
    columns = (
        Column("length", word("column-length"), "text", 16),
        *(
            Column(f"pieces-{medium or 'unknown'}", name, "number", 16)
            for medium, name in zip(media, names, strict=True)
        ),
    )
    rows = tuple(
        row_of(language.value(length, "m"), *(Cell(pieces[length].get(medium, 0)) for medium in media))
        for length in lengths
    )
    data = Table("cable-lengths", word("chart-cables"), columns, rows)
    yield Chart("cable-lengths", data.title, word("chart-cables-text"), Bars(bars, key), data)


def rack_power(writer: Writer) -> Iterator[Chart]:
    """Yield a floor plan with the power of each rack; nothing if no power is known."""
    found = writer.report.elevations
    if found and any(group.sums.power_w and group.sums.power_w.value for group in found.groups):
        yield Chart("rack-power", writer.word("chart-rack-power"), writer.word("chart-rack-power-text"), HeatMap(found))


LEVELS = (
    (("facility_power_w", None),),
    (("power_w", None),),
    (("feeds", "feed_power_w"),),
    (("compute_pdus", "compute_pdu_load_w"), ("management_pdus", None)),
    (("compute_racks", "compute_rack_power_w"), ("management_racks", None)),
)
"""Levels from the facility to its racks: the number that names a box, and a second number in it."""
SERVERS: Path = ("cluster", "power_w")
GPUS: Path = (SITE, "gpu_power_w")
OTHERS = ("network_power_w", "storage_power_w")


def power_line(writer: Writer) -> Iterator[Chart]:
    """Yield a one-line diagram of the power supply in watts; nothing if the power is unknown."""
    of_levels = (*(tuple(_boxes(writer, level)) for level in LEVELS), tuple(_machines(writer)))
    levels = tuple(boxes for boxes in of_levels if boxes)
    if (SITE, "power_w") in writer.numbers and len(levels) > 1:
        word = writer.word
        yield Chart("power-line", word("chart-power"), word("chart-power-text"), OneLine(levels))


def _boxes(writer: Writer, level: tuple[tuple[str, str | None], ...]) -> Iterator[PowerNode]:
    for name, other in level:
        if (SITE, name) not in writer.numbers:
            continue
        text = writer.language.cell(writer.number((SITE, name)))
        if other and (SITE, other) in writer.numbers:
            of_each = writer.language.cell(writer.number((SITE, other)))
            text = writer.word(f"chart-{other}", number=text, power=of_each)
        yield PowerNode(writer.label((SITE, name)), text)


def _machines(writer: Writer) -> Iterator[PowerNode]:
    gpus = writer.language.cell(writer.number(GPUS)) if GPUS in writer.numbers else None
    if SERVERS in writer.numbers:
        power = writer.language.cell(writer.number(SERVERS))
        text = writer.word("chart-of-gpus", power=power, gpus=gpus) if gpus else power
        yield PowerNode(writer.word("category-server"), text)
    elif gpus:
        yield PowerNode(writer.label(GPUS), gpus)
    yield from _boxes(writer, tuple((name, None) for name in OTHERS))


# sizing -------------------------------------------------------------------------------------------------------------
# Charts of the sizing: the memory of a GPU, and how a training run depends on utilisation and GPUs.

OF_RUN = "cost_per_run"
MEMORY: Path = ("workload", "memory")
PARTS = ("weights", "gradients", "optimizer", "activations", "kv_cache")
"""Uses of a GPU's memory in training and serving."""
RESERVE = ("reserve_libraries", "reserve_nccl", "reserve_step")
"""What a fine-tuning run needs beside them; a served model keeps its reserve apart."""
FEW_POINTS = 3
"""Loads below which a curve says nothing."""
_MILLION = 10**6


def training_memory(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the memory of a training GPU."""
    if writer.report.design.sizing.fit:
        yield from memory(writer)


def memory(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the memory use of the fullest GPU, against its capacity."""
    of_gpu, numbers, language = (*MEMORY, "per_gpu"), writer.numbers, writer.language
    parts = (*PARTS, *RESERVE) if writer.report.design.sizing.fit else PARTS
    paths = [path for name in parts if (path := (*of_gpu, name)) in numbers]
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


def trade_off(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the throughput of a GPU against the speed of a request, by load."""
    served, word, number = writer.report.design.sizing.serving, writer.word, writer.language.number
    found = load_points(served) if served else []
    if len(found) < FEW_POINTS:
        return
    fastest, fullest = max(point.of_user for point in found), max(point.of_gpu for point in found)
    points = tuple(
        Point(f"{point.in_flight:g}", point.of_user / fastest, point.of_gpu / fullest, _point_text(writer, point))
        for point in found
    )
    users, gpus = [point.of_user for point in found], [point.of_gpu for point in found]
    ends = tuple((number(Fraction(f"{min(of):.3g}")), number(Fraction(f"{max(of):.3g}"))) for of in (users, gpus))
    names = word("column-tokens-of-request"), word("column-tokens-of-gpu")
    yield Chart(
        "trade-off", word("chart-trade-off"), word("chart-trade-off-text"), Points(points, names, (ends[0], ends[1]))
    )


def _point_text(writer: Writer, point: LoadPoint) -> str:
    values = {"load": point.in_flight, "gpu": point.of_gpu, "user": point.of_user}
    shown = {name: writer.language.number(Fraction(f"{value:.3g}")) for name, value in values.items()}
    return writer.word("chart-trade-off-point", **shown)


def predicted_range(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the predicted days with their intervals, and the servers and amounts that follow."""
    predicted, word, language = writer.report.design.sizing.predicted, writer.word, writer.language
    if predicted is None:
        return
    days = {coverage: (fast.days.value, slow.days.value) for coverage, (slow, fast) in predicted.ends.items()}
    shape = _range_bars(writer, days, predicted.point.days.value, language.number)
    text = word("chart-predicted-text", days=writer.shown(predicted.point.days))
    yield Chart("predicted", word("chart-predicted"), text, shape, _predicted_table(writer, predicted))
    yield from _predicted_money(writer, predicted)


def _predicted_money(writer: Writer, predicted: Predicted) -> Iterator[Chart]:
    """Yield a chart of amounts for the predicted intervals: of the GPUs for the target, else of the run."""
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
    bars = []
    for coverage, (low, high) in sorted(ends.items()):
        text = writer.word("range-ends", low=shown(low), high=shown(high))
        name = writer.word("chart-predicted-held", share=f"{coverage}%")
        bars.append(Bar(name, text, (high - low,), low, point))
    return Bars(tuple(bars))


def _predicted_table(writer: Writer, predicted: Predicted) -> Table:
    word, totals, running = writer.word, writer.report.quote.totals, writer.report.running
    slow, fast = predicted.ends[max(predicted.ends)]
    outlooks = (slow, predicted.point, fast)
    columns = (
        Column("name", word("column-name"), "text", 30),
        *(Column(key, word(f"chart-predicted-{key}"), "number", 22) for key in ("slow", "point", "fast")),
    )
    money, least = [money_of_run(writer.report, outlook) for outlook in outlooks], not totals.complete
    rows = [
        ("MFU", [Cell(outlook.mfu.value, outlook.mfu.unit) for outlook in outlooks]),
        (word("label-days"), [Cell(outlook.days.value, outlook.days.unit) for outlook in outlooks]),
        (word("label-run_energy_kwh"), [_count(each.energy_kwh, "kWh") for each in money]),
        (word("label-run_energy_cost"), [Cell(each.energy_cost, totals.currency) for each in money]),
        (
            word("label-cost_per_run"),
            [Cell(each.cost, totals.currency, least=OF_RUN in running.lower_bounds) for each in money],
        ),
        (word("label-gpus_required"), [_count(outlook.gpus_required) for outlook in outlooks]),
        (word("label-servers_required"), [_count(each.servers) for each in money]),
        (word("chart-purchase"), [Cell(each.purchase, totals.currency, least=least) for each in money]),
    ]
    known = tuple(row_of(name, *cells) for name, cells in rows if cells[0].value is not None)
    caption = word("caption-predicted") if predicted.point.gpus_required else None
    return Table("predicted", word("chart-predicted"), columns, known, caption)


def _count(figure: Figure | None, unit: str = "") -> Cell:
    return Cell(figure.value if figure else None, unit)


def run_sensitivity(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of days by utilisation and number of GPUs, with the cost of the GPUs."""
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
    shape = PairMatrix(
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
    """Return the cost of GPUs at the plan's purchase per GPU; None if a price is missing, or clusters share it."""
    return purchase_of_gpus(writer.report, gpus) if writer.report.quote.totals.complete else None


def _table(writer: Writer, found: Sensitivity, amounts: list[Decimal | None]) -> Table:
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
        rows.append(row_of(word("chart-purchase"), *costs, "", ""))
    return Table("sensitivity", word("chart-sensitivity"), tuple(columns), tuple(rows))


# contents -----------------------------------------------------------------------------------------------------------

Charts = Callable[[Writer], Iterator[Chart]]
OF_PLAN: Mapping[str, tuple[Charts, ...]] = {
    "costs": (categories, price_range),
    "alternatives": (alternatives,),
}
"""Charts by the id of a section about the whole plan."""
OF_CLUSTER: Mapping[str, tuple[Charts, ...]] = {
    "serving": (trade_off, memory),
    "sizing": (training_memory, predicted_range, run_sensitivity),
    "network": (cable_lengths,),
    "site": (power_line, rack_power),
}
"""Charts by the id of a section about a cluster."""


def charts_of(writer: Writer, section: str, of: Mapping[str, tuple[Charts, ...]]) -> Iterator[Chart]:
    """Return the charts of a section of a plan or cluster."""
    return (chart for make in of.get(section, ()) for chart in make(writer))
