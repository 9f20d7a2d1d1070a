"""The chapters of serving and of reinforcement learning: replicas, their memory and their throughput."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Cell, Column, Note, Section, Table, row_of
from bomgen.core.number_registry import Path
from bomgen.core.units import SECONDS_AN_HOUR
from bomgen.documents.chapters.sizing import describe_evidence
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.types import ASYNCHRONOUS
from bomgen.pricing.running_costs import MILLION
from bomgen.sizing.reinforcement import ReinforcedStep
from bomgen.sizing.servers import given_gpus
from bomgen.sizing.serving.capacity import MOST_IN_FLIGHT, SECONDS_A_MINUTE, LoadPoint, trade_off
from bomgen.sizing.serving.replicas import Shortage, engine_command
from bomgen.sizing.serving.service import Serving

BASE: Path = ("workload",)
KILO = 1000
RANGES = (
    ("latency", "ttft_seconds"),
    ("latency", "ttft_p95_seconds"),
    ("latency", "decode_seconds_per_token"),
    ("tokens_per_second_per_gpu",),
    ("requests_per_minute",),
    ("gpus_required",),
    ("cost_per_million_tokens",),
)
"""Numbers for which a prediction has a low, typical and high value."""


def serving(writer: Writer) -> Section | None:
    """Return the chapter of replicas, their memory and throughput; None if no model is served."""
    served = writer.report.design.sizing.serving
    if served is None:
        return None
    tables = [writer.table("serving", "workload")]
    if served.speed:
        tables += [_prediction(writer), *_trade_off(writer, served)]
    tables += [
        *([writer.table("serving-terms")] if served.speed else []),
        writer.table("parallelism"),
        writer.table("serving-replica", "memory-replica"),
        writer.table("serving-per-gpu", "memory-per-gpu"),
    ]
    return Section(
        "serving",
        writer.word("section-serving"),
        text=(writer.word("convention-bytes"),),
        tables=tuple(tables),
        notes=tuple(_notes(writer, served)),
    )


def _prediction(writer: Writer) -> Table:
    """Return a table of the prediction: low, typical and high; a high rate needs few GPUs."""
    columns = (*_range_columns(writer), Column("unit", writer.word("column-unit"), "text", 14))
    rows = []
    for name in RANGES:
        path, span = (*BASE, *name), (*BASE, *name[:-1], f"{name[-1]}_range")
        if (*span, "low") not in writer.numbers:
            continue
        low, typical, end = writer.cell((*span, "low")), writer.cell(path), (*span, "high")
        high = writer.cell(end) if end in writer.numbers else Cell(writer.word("not-within-targets"))
        unit = Cell(writer.language.unit(typical.unit, typical.value))
        rows.append(row_of(writer.label(path), low, typical, high, unit))
    return Table("serving-estimate", writer.word("table-serving-estimate"), columns, tuple(rows))


def _range_columns(writer: Writer) -> Iterator[Column]:
    yield Column("name", writer.word("column-name"), "text", 34, main=True)
    for key in ("low", "typical", "high"):
        yield Column(key, writer.word(f"column-{key}"), "number", 16, main=True)


def _trade_off(writer: Writer, served: Serving) -> Iterator[Table]:
    """Yield a table of the throughput of GPUs against the speed of a request, from one request to the most."""
    points = load_points(served)
    if not points:
        return
    word, hourly = writer.word, writer.report.running.figures.get("cost_per_gpu_hour")
    power, gpus = writer.report.design.power_w, writer.report.design.sizing.gpus
    columns = [
        Column("load", word("column-load"), "number", 22),
        Column("of-gpu", word("column-tokens-of-gpu"), "number", 22),
        Column("of-user", word("column-tokens-of-request"), "number", 22),
        Column("ttft", word("column-ttft"), "number", 16),
    ]
    if power:
        columns.append(Column("per-kw", word("column-requests-per-kw"), "number", 22))
    if hourly:
        columns.append(Column("cost", word("column-cost-per-million"), "money", 22))
    rows = []
    for point in points:
        cells = [Cell(_rounded(each)) for each in (point.in_flight, point.of_gpu, point.of_user)]
        cells.append(Cell(_rounded(point.ttft), "s"))
        if power:
            minute = point.in_flight / point.request * SECONDS_A_MINUTE / float(served.need.replica.gpus.value)
            cells.append(Cell(_rounded(minute * float(gpus.value) / float(power.value / KILO))))
        if hourly:
            cost = Decimal(float(hourly.value) / (point.of_gpu * SECONDS_AN_HOUR) * MILLION).quantize(Decimal("0.0001"))
            cells.append(Cell(cost, writer.report.quote.totals.currency))
        rows.append(row_of(*cells))
    yield Table("serving-trade-off", word("table-serving-trade-off"), tuple(columns), tuple(rows))


def load_points(served: Serving) -> list[LoadPoint]:
    """Return the speed of the chosen replica from one request in flight to the most it may have."""
    speed, need = served.need.speed, served.need
    if speed is None or speed.output.value == 0:
        return []
    most = need.replica.held.value if need.replica.held else need.most.value if need.most else 1
    return trade_off(speed, min(float(most), MOST_IN_FLIGHT))


def _rounded(value: float) -> Fraction:
    """Return a number with the digits that are shown of an estimate."""
    return Fraction(f"{value:.4g}")


def _notes(writer: Writer, served: Serving) -> Iterator[Note]:
    inference, need = writer.report.plan.inference, served.need
    if inference is None:
        return
    found, cache = need.replica, served.cache
    texts = [_too_small(writer, shortage) for shortage in need.reasons]
    if need.smaller:
        smallest, more = need.smaller
        counts = {"more": more, "gpus": need.gpus_required.value}
        texts.append(writer.word("serving-smaller", split=str(smallest), **counts))
    if inference.tokens_per_second_per_gpu:
        texts.append(writer.word("serving-measured"))
    elif need.missing:
        texts.append(writer.word("serving-unknown-rate", lacks=writer.word(f"lacks-{need.missing}")))
    elif served.speed and served.in_flight:
        in_flight = writer.language.number(served.in_flight.value)
        said = writer.word(f"serving-predicted-{served.speed.kind}"), *_low_end(writer, served)
        texts.append(writer.word("list-sentences").join(said))
        texts.append(writer.word("serving-load", requests=in_flight))
    if found.request is None:
        texts.append(writer.word("serving-unknown-cache"))
    elif cache and cache.kv_heads is None and found.tensor.value > 1:
        texts.append(writer.word("serving-latent"))
    elif cache and cache.kv_heads and found.tensor.value > cache.kv_heads.value:
        texts.append(writer.word("serving-replicated", heads=cache.kv_heads.value))
    if found.room is None:
        texts.append(writer.word("serving-unknown-memory"))
    for name, size in served.narrow.items():
        texts.append(writer.word("serving-scales", format=name, bytes=writer.language.number(size.value)))
    yield from (Note("info", text) for text in texts)


def _low_end(writer: Writer, served: Serving) -> Iterator[str]:
    """Yield a sentence if the low end of the estimate misses the requests per minute."""
    inference, span = writer.report.plan.inference, served.requests_range
    asked = inference.requests_per_minute if inference else None
    if asked and span and span.low and span.low.value < asked.value:
        number = writer.language.number
        yield writer.word("serving-low", low=number(span.low.value), asked=number(asked.value))


def _too_small(writer: Writer, shortage: Shortage) -> str:
    def size(amount: object) -> str:
        return writer.language.value(amount, "bytes")  # type: ignore[arg-type]

    larger = writer.word("serving-larger-gpu", memory=size(shortage.enough))
    return writer.word(
        "serving-too-small",
        tensor=shortage.tensor,
        pipeline=shortage.pipeline,
        needed=size(shortage.needed),
        weights=size(shortage.weights),
        cache=size(shortage.cache),
        room=size(shortage.room),
        memory=size(shortage.memory),
        missing=size(shortage.needed - shortage.room),
        remedy=shortage.remedy or larger,
    )


def sentences(writer: Writer) -> Iterator[str]:
    """Yield sentences about the served model and its numbers."""
    inference, served = writer.report.plan.inference, writer.report.design.sizing.serving
    if inference is None or served is None:
        return
    number, found = writer.language.number, served.need.replica
    yield writer.word(
        "sentence-serving",
        model=inference.model.identity.name,
        parameters=writer.shown(inference.model.parameters),
        precision=writer.language.value(inference.precision.value, "word"),
        replicas=writer.language.value(served.replicas.value, "replicas"),
        gpus=writer.language.value(found.gpus.value, "GPUs"),
    )
    if found.held and inference.context:
        context = writer.language.value(inference.context.value, "tokens")
        yield writer.word("sentence-serving-held", held=number(found.held.value), context=context)
    yield writer.word("sentence-serving-command", command=engine_command(inference, found))
    yield from margin(writer)
    if served.of_gpu is None or served.requests_per_minute is None:
        return
    values = {"rate": writer.shown(served.of_gpu), "requests": number(served.requests_per_minute.value)}
    if served.of_gpu_range is None:
        yield writer.word("sentence-serving-measured", **values)
    elif (low := served.of_gpu_range.low) and (high := served.of_gpu_range.high):
        ends = {"low": number(low.value), "high": number(high.value)}
        yield writer.word("sentence-serving-estimated", **values, **ends)


def margin(writer: Writer) -> Iterator[str]:
    """Yield sentences about what is offered beyond the typical need, where the plan leaves the size to bomgen."""
    inference, served = writer.report.plan.inference, writer.report.design.sizing.serving
    if inference is None or served is None or given_gpus(writer.report.plan.cluster) is not None:
        return
    need, value = served.need, writer.language.value
    if need.margin and need.margin.value and need.demand:
        counts = {"required": value(need.gpus_required.value, "GPUs"), "gpus": value(need.gpus_to_buy.value, "GPUs")}
        yield writer.word("sentence-serving-margin", margin=writer.shown(need.margin), **counts)
    if inference.spare_replicas and inference.spare_replicas.value:
        yield writer.word("sentence-serving-spares", spares=writer.language.number(inference.spare_replicas.value))


# reinforcement ------------------------------------------------------------------------------------------------------
# The chapter of reinforcement learning: the parts of a step and the engines that generate.

STEP: Path = ("workload", "reinforcement")
ENDS = ("low", "high")


def reinforcement(writer: Writer) -> Section | None:
    """Return the chapter of a step of reinforcement learning; None for other workloads."""
    learning, step = writer.report.plan.reinforcement, writer.report.design.sizing.reinforced
    if learning is None or step is None:
        return None
    if step.generation_gpus is None:
        text = writer.word("text-reinforcement-one" if step.engine else "text-reinforcement-given")
    else:
        which = "asynchronous" if learning.schedule.value == ASYNCHRONOUS else "two"
        generation, training = writer.shown(step.generation_gpus), writer.shown(step.training_gpus)
        text = writer.word(f"text-reinforcement-{which}", generation=generation, training=training)
    return Section(
        "reinforcement",
        writer.word("section-reinforcement"),
        text=(text,),
        tables=(_parts(writer, step), writer.table("reinforcement")),
    )


def _parts(writer: Writer, step: ReinforcedStep) -> Table:
    how = Column("how", writer.word("column-how"), "text", 70, main=True, code=True)
    whole = ((*STEP, "step_seconds"), [(*STEP, "step_seconds_range", end) for end in ENDS])
    parts = [((*STEP, "parts", name), [(*STEP, f"parts_{end}", name) for end in ENDS]) for name in step.parts]
    rows = []
    for path, ends in (*parts, whole):
        low, high = map(writer.cell, ends)
        rows.append(row_of(writer.label(path), low, writer.cell(path), high, writer.origin(writer.numbers[path])))
    caption = writer.word("caption-reinforcement-parts", evidence=describe_evidence(writer, step.update))
    columns = (*_range_columns(writer), how)
    return Table("reinforcement-parts", writer.word("table-reinforcement-parts"), columns, tuple(rows), caption)
