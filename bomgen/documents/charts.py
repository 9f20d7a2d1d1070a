"""Charts: their contents in words and numbers, and those of a report by chapter: sizing, site and costs.

Their appearance is defined in `output/drawing/`. A chart shows numbers of the result; runs other than the plan's come
from `results/what_if.py`. Every chart has all of its numbers as text next to the shapes, or in a table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from bomgen.core.document import Cell, Column, Path, Table, row_of
from bomgen.core.provenance import Figure
from bomgen.documents.chapters.money import compared_alternatives
from bomgen.documents.chapters.sizing import load_points
from bomgen.documents.tables import SITE, Writer, columns_of, make_table
from bomgen.pricing.quote import CategoryTotal, category_amounts, confidence
from bomgen.results.elevations import Elevations
from bomgen.results.what_if import money_of_run
from bomgen.sizing.prediction.predict import Predicted

Length = int | float | Fraction | Decimal


class Bar(NamedTuple):
    """A bar with its name, and its numbers as text; all lengths are in the unit of the chart."""

    name: str
    text: str
    parts: tuple[Length, ...] = ()
    """Segments in order; empty if the value is unknown."""
    start: Length = 0
    """Start of the first segment."""
    mark: Length | None = None
    """A value between the ends that is marked by a line."""
    frame: Length | None = None
    """Total capacity that the segments fill."""


class Bars(NamedTuple):
    """Bars with a common origin and scale."""

    bars: tuple[Bar, ...]
    key: tuple[str, ...] = ()
    """Meaning of the segments, if a bar has several."""


class PowerNode(NamedTuple):
    """A consumer or supply of power, with a text of what is known about it."""

    name: str
    text: str


POWER = "power"
"""How the name of a box of the power supply begins."""


class OneLine(NamedTuple):
    """A one-line diagram from the facility down; the boxes of a level together supply those of the next."""

    levels: tuple[tuple[PowerNode, ...], ...]


class HeatMap(NamedTuple):
    """The racks of a floor; racks with more power are darker."""

    found: Elevations


class Point(NamedTuple):
    """A point with its number, and its meaning as text."""

    name: str
    x: Length
    y: Length
    text: str
    joined: bool = True
    """Whether the point is on the line that joins the best ones."""


class Points(NamedTuple):
    """Points in two dimensions."""

    points: tuple[Point, ...]
    names: tuple[str, str]
    """Names of the horizontal and the vertical axis."""
    ends: tuple[tuple[str, str], tuple[str, str]]
    """Smallest and largest value of each axis, as text."""


class Chart(NamedTuple):
    """A chart with its title, a sentence about its contents, and its numbers if no other table has them."""

    id: str
    title: str
    text: str
    shape: Bars | OneLine | HeatMap | Points
    data: Table | None = None


# money --------------------------------------------------------------------------------------------------------------
# Charts of amounts: the categories, the range of the total, and the alternatives.


def categories(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the costs by category; nothing if nothing is priced."""
    parts = category_amounts(writer.report.quote.lines)
    if not parts:
        return
    word, currency = writer.word, writer.report.quote.totals.currency
    rows = (
        row_of(
            word(f"category-{part.category}"),
            Cell(part.amount, currency, least=not part.complete),
            writer.language.rough_share(part.share) if part.amount is not None else None,
            word("priced-lines", priced=part.priced_lines, lines=part.lines),
        )
        for part in parts
    )
    data = make_table("costs", writer.language, rows, word("drawing-costs-text"))
    shape = Bars(tuple(describe_category(writer, part) for part in parts))
    yield Chart("costs", data.title, word("drawing-costs-text"), shape, data)


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
    certainty = confidence(writer.report.quote.lines, writer.report.plan.quote)
    share = writer.language.rough_share(certainty.share(certainty.doubtful))
    rows += [("chart-net", certainty.net), ("chart-doubtful", certainty.doubtful)]
    bars.append(Bar(word("chart-net"), _money(writer, certainty.net, totals.currency), (certainty.net,)))
    doubtful = f"{_money(writer, certainty.doubtful, totals.currency)} · {share}"
    bars.append(Bar(word("chart-doubtful"), doubtful, (certainty.doubtful,)))
    shown = tuple(row_of(word(key), Cell(amount, totals.currency)) for key, amount in rows)
    data = make_table("price-range", writer.language, shown)
    yield Chart("price-range", data.title, word("chart-range-text"), Bars(tuple(bars)), data)


def alternatives(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the total of the plan and of each alternative."""
    sides = compared_alternatives(writer).sides
    totals = [report.quote.totals for _, report in sides]
    if not writer.report.alternatives or not any(total.priced_lines for total in totals):
        return
    bars = tuple(
        Bar(name, _money(writer, total.amount, total.currency, total.complete), (total.amount,))
        for (name, _), total in zip(sides, totals, strict=True)
    )
    yield Chart("alternatives", writer.word("chart-alternatives"), writer.word("chart-alternatives-text"), Bars(bars))


def _money(writer: Writer, amount: Decimal, currency: str, complete: bool = True) -> str:
    text = writer.language.money(amount, currency)
    return text if complete else writer.word("ui-at-least", amount=text)


# site ---------------------------------------------------------------------------------------------------------------
# Charts of the design: lengths of cables, power of racks, and the power supply.

MEDIA = ("dac", "acc", "aec", "copper", "aoc", "fibre", "trunk", "")
"""Cable media by increasing reach; empty for cables without a known part."""


def cable_lengths(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the number of cables by length and medium; nothing without cables."""
    word, language = writer.word, writer.language
    pieces = defaultdict[Fraction, Counter[str]](Counter)
    for built in writer.report.design.fabrics:
        for use in built.interconnect.cables:
            pieces[Fraction(use.length_m)][use.cable.medium if use.cable else ""] += int(use.quantity.value)
    if not any(map(Counter.total, pieces.values())):
        return
    media = [medium for medium in MEDIA if any(medium in of_length for of_length in pieces.values())]
    columns, bars, rows, key = [*columns_of("cable-lengths", language)], [], [], []
    for medium in media:
        name = word(f"medium-{medium or 'unknown'}")
        columns.append(Column(f"pieces-{medium or 'unknown'}", name, "number", 16))
        key.append(f"{name} {language.integer(sum(of_length[medium] for of_length in pieces.values()))}")
    for length, of_length in sorted(pieces.items()):
        text, counts = language.value(length, "m"), tuple(of_length[medium] for medium in media)
        bars.append(Bar(text, language.integer(of_length.total()), counts))
        rows.append(row_of(text, *counts))
    data = make_table("cable-lengths", language, rows, columns=columns)
    yield Chart("cable-lengths", data.title, word("chart-cables-text"), Bars(tuple(bars), tuple(key)), data)


def rack_power(writer: Writer) -> Iterator[Chart]:
    """Yield a floor plan with the power of each rack; nothing if no power is known."""
    elevations = writer.report.elevations
    if elevations and any(group.sums.power_w and group.sums.power_w.value for group in elevations.groups):
        yield Chart(
            "rack-power", writer.word("chart-rack-power"), writer.word("chart-rack-power-text"), HeatMap(elevations)
        )


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


def name_box(level: int, number: int) -> str:
    """Return the name of a box of the power supply, from its level and its number there, both from 1 on."""
    return f"{POWER} {level} {number}"


def power_line(writer: Writer) -> Iterator[Chart]:
    """Yield a one-line diagram of the power supply in watts; nothing if the power is unknown."""
    word = writer.word
    of_levels = (*(tuple(_boxes(writer, level)) for level in LEVELS), tuple(_machines(writer)))
    levels = tuple(boxes for boxes in of_levels if boxes)
    if (SITE, "power_w") in writer.numbers and len(levels) > 1:
        yield Chart("power-line", word("chart-power"), word("chart-power-text"), OneLine(levels))


def _boxes(writer: Writer, level: tuple[tuple[str, str | None], ...]) -> Iterator[PowerNode]:
    for name, other in level:
        if text := _shown(writer, (SITE, name)):
            of_each = _shown(writer, (SITE, other)) if other else ""
            text = writer.word(f"chart-{other}", number=text, power=of_each) if of_each else text
            yield PowerNode(writer.label((SITE, name)), text)


def _machines(writer: Writer) -> Iterator[PowerNode]:
    gpus, power = _shown(writer, GPUS), _shown(writer, SERVERS)
    if power:
        text = writer.word("chart-of-gpus", power=power, gpus=gpus) if gpus else power
        yield PowerNode(writer.word("category-server"), text)
    elif gpus:
        yield PowerNode(writer.label(GPUS), gpus)
    yield from _boxes(writer, tuple((name, None) for name in OTHERS))


def _shown(writer: Writer, path: Path) -> str:
    return writer.language.cell(writer.number(path)) if path in writer.numbers else ""


# sizing -------------------------------------------------------------------------------------------------------------
# Charts of the sizing: the memory of a GPU, the load of a served model, and the interval of a prediction.

OF_RUN = "cost_per_run"
MEMORY: Path = ("workload", "memory")
PARTS = ("weights", "gradients", "optimizer", "activations", "kv_cache")
"""Uses of a GPU's memory in training and serving."""
RESERVE = ("reserve_libraries", "reserve_nccl", "reserve_step")
"""What a fine-tuning run needs beside them; a served model keeps its reserve apart."""
FEW_POINTS = 3
"""Loads below which a curve says nothing."""


def training_memory(writer: Writer) -> Iterator[Chart]:
    """Yield a chart of the memory of a training GPU."""
    return memory(writer) if writer.report.design.sizing.fit else iter(())


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
    served, word = writer.report.design.sizing.serving, writer.word
    loads = load_points(served) if served else []
    if len(loads) < FEW_POINTS:
        return

    def rough(value: float) -> str:
        return writer.language.number(Fraction(f"{value:.3g}"))

    users, gpus = [load.of_user for load in loads], [load.of_gpu for load in loads]

    def place(name: str, in_flight: float, gpu: float, user: float, joined: bool = True) -> Point:
        text = word("chart-trade-off-point", load=rough(in_flight), gpu=rough(gpu), user=rough(user))
        return Point(name, user / max(users), gpu / max(gpus), text, joined)

    points = tuple(place(f"{load.in_flight:g}", load.in_flight, load.of_gpu, load.of_user) for load in loads)
    if served and (own := served.speed) and own.tpot.value:
        at = (float(own.in_flight.value), float(own.of_gpu.value), 1 / float(own.tpot.value))
        points += (place(word("chart-trade-off-own"), *at, joined=False),)
    ends = (rough(min(users)), rough(max(users))), (rough(min(gpus)), rough(max(gpus)))
    names = word("column-tokens-of-request"), word("column-tokens-of-gpu")
    yield Chart("trade-off", word("chart-trade-off"), word("chart-trade-off-text"), Points(points, names, ends))


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
    money, least = [money_of_run(writer.report, outlook) for outlook in outlooks], not totals.complete
    rows = {
        "MFU": [Cell(outlook.mfu.value, outlook.mfu.unit) for outlook in outlooks],
        word("label-days"): [Cell(outlook.days.value, outlook.days.unit) for outlook in outlooks],
        word("label-run_energy_kwh"): [_count(each.energy_kwh, "kWh") for each in money],
        word("label-run_energy_cost"): [Cell(each.energy_cost, totals.currency) for each in money],
        word("label-cost_per_run"): [
            Cell(each.cost, totals.currency, least=OF_RUN in running.lower_bounds) for each in money
        ],
        word("label-gpus_required"): [_count(outlook.gpus_required) for outlook in outlooks],
        word("label-servers_required"): [_count(each.servers) for each in money],
        word("chart-purchase"): [Cell(each.purchase, totals.currency, least=least) for each in money],
    }
    known = (row_of(name, *cells) for name, cells in rows.items() if cells[0].value is not None)
    caption = word("caption-predicted") if predicted.point.gpus_required else None
    return make_table("predicted", writer.language, known, caption)


def _count(figure: Figure | None, unit: str = "") -> Cell:
    return Cell(figure.value if figure else None, unit)


# contents -----------------------------------------------------------------------------------------------------------

CHARTS: Mapping[str, tuple[Callable[[Writer], Iterator[Chart]], ...]] = {
    "costs": (categories, price_range),
    "alternatives": (alternatives,),
    "serving": (trade_off, memory),
    "sizing": (training_memory, predicted_range),
    "network": (cable_lengths,),
    "site": (power_line, rack_power),
}
"""Charts by the id of their section."""


def charts_of(writer: Writer, section: str) -> Iterator[Chart]:
    """Return the charts of a section of a plan or cluster."""
    return (chart for make in CHARTS.get(section, ()) for chart in make(writer))
