"""The chapters of sizing, storage, serving and reinforcement learning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from bomgen.core.document import Cell, Note, Path, Section, Table, row_at, row_of
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Cited, Figure, Given, walk
from bomgen.core.units import SECONDS_AN_HOUR
from bomgen.documents.tables import Writer, columns_of, make_table
from bomgen.plan.types import ASYNCHRONOUS, ESTIMATE
from bomgen.pricing.costs import MILLION
from bomgen.sizing.prediction.coefficients import generation_name, kind_of_model
from bomgen.sizing.prediction.predict import Predicted, Prediction, nearest_to_run
from bomgen.sizing.prediction.serving import MEASURED, UNMEASURED
from bomgen.sizing.servers import given_gpus
from bomgen.sizing.serving.capacity import MOST_IN_FLIGHT, SECONDS_A_MINUTE, LoadPoint, trade_off
from bomgen.sizing.serving.replicas import Shortage, engine_command
from bomgen.sizing.serving.service import Serving
from bomgen.sizing.training.parallelism import describe_faster
from bomgen.sizing.training.run import RunComparisons
from bomgen.sizing.training.states import adapts

# storage ------------------------------------------------------------------------------------------------------------
# The chapter of storage, and the notes about the lost time of a training run.


def storage(writer: Writer) -> Section | None:
    """Return the chapter of storage bandwidth, capacity and servers; None if the plan requests none."""
    stored, word, language = writer.report.design.sizing.stored, writer.word, writer.language
    if stored is None:
        return None
    tables = [writer.table("storage")]
    if len(stored.units) > 1:
        parts = (
            row_of(
                language.message(part.of.identity.name),
                *(
                    Cell(figure.value, figure.unit) if figure else ""
                    for figure in (part.number, part.capacity_bytes, part.read, part.write)
                ),
            )
            for part in stored.units
        )
        tables.append(make_table("storage-parts", language, parts))
    levels = (
        row_of(
            language.value(level.name, "word"),
            Cell(level.read.value, level.read.unit),
            Cell(level.write.value, level.write.unit),
            word(f"level-{level.name}"),
        )
        for level in stored.levels
    )
    tables.append(make_table("storage-levels", language, levels, word("levels-caption")))
    notes = (Note("info", word("capacity-unknown")),) if stored.dataset_bytes is None else ()
    return Section("storage", word("section-storage"), tables=tuple(tables), notes=notes)


def time_lost(writer: Writer) -> Iterator[Note]:
    """Yield notes about the reliability of the goodput estimate, and whether it was used."""
    sizing, training = writer.report.design.sizing, writer.report.plan.training
    if sizing.lost is None or sizing.run is None or training is None:
        return
    goodput, used = writer.shown(sizing.lost.goodput), writer.shown(sizing.run.goodput)
    span = ""
    if sizing.lost.goodput_range:
        low, high = (writer.shown(end) for end in sizing.lost.goodput_range)
        span = writer.word("lost-time-span", low=low, high=high)
    if training.goodput.value == ESTIMATE:
        yield Note("info", writer.word("lost-time-used", goodput=goodput, span=span))
    else:
        yield Note("info", writer.word("lost-time-offered", goodput=goodput, span=span, used=used))
    yield Note("info", writer.word("lost-time-published"))
    without_copy = sizing.lost.checkpoint.contents.without_copy
    if without_copy:
        yield Note("info", writer.word("checkpoint-without-copy", size=writer.shown(without_copy)))


# sizing -------------------------------------------------------------------------------------------------------------

WORKLOAD = "workload"
PUBLISHED: Path = (WORKLOAD, "published_runs")
NO_BASIS = ("published-runs", "lost-time", "mfu-conventions", "prediction", "prediction-terms")
"""Tables whose numbers the sizing does not depend on."""


def sizing(writer: Writer) -> Section:
    """Return the chapter of workload requirements, parallelism and performance."""
    plan, found = writer.report.plan, writer.report.design.sizing
    tables = []
    if plan.training or plan.compute:
        tables.append(writer.table("training" if plan.training else "target", WORKLOAD))
    tables += [_captioned(writer, "mfu-conventions"), writer.table("cluster")]
    if found.fit:
        tables += [
            writer.table("parallelism"),
            writer.table("memory-per-gpu", "memory-per-gpu", "memory-host"),
            writer.table("memory-replica"),
        ]
    if found.predicted:
        tables += [
            _captioned(writer, "prediction", evidence=describe_evidence(writer, found.predicted.step)),
            _captioned(writer, "prediction-terms"),
            _nearest(writer, found.predicted),
        ]
    tables.append(writer.table("lost-time"))
    if found.published:
        tables.append(_published(writer, found.published()))
    tables.append(_basis(writer))
    return Section(
        "sizing",
        writer.word("section-sizing"),
        text=tuple(_conventions(writer)),
        tables=tuple(table for table in tables if table.rows),
        notes=tuple(_notes(writer)),
    )


def _conventions(writer: Writer) -> Iterator[str]:
    plan = writer.report.plan
    if plan.training:
        tuning = plan.training.tuning
        if tuning and adapts(plan.training):
            yield writer.word(f"convention-{tuning.method.value}")
            yield writer.word(f"convention-attention-{plan.training.attention.value}")
        else:
            yield writer.word(f"convention-{plan.training.attention.value}")
    if plan.compute:
        yield writer.word(
            f"convention-{plan.compute.sparsity.value}",
            precision=writer.language.value(plan.compute.precision.value, "word"),
        )
    if writer.report.design.sizing.fit:
        yield writer.word("convention-bytes")


def _notes(writer: Writer) -> Iterator[Note]:
    found = writer.report.design.sizing
    if found.fit:
        faster = found.faster() if found.faster else None
        better = describe_faster(found.fit, faster, int(found.gpus.value)) if faster else None
        reasons = (better, *found.fit.reasons) if better else found.fit.reasons
        yield from (Note("info", writer.language.message(reason)) for reason in reasons)
        if found.fit.fits is None:
            yield Note("info", writer.word("memory-unknown"))
        yield Note("info", writer.word("memory-reserved" if found.fit.per_gpu.reserve else "memory-not-counted"))
        if found.fit.per_gpu.host and not found.fit.host_memory:
            yield Note("info", writer.word("host-memory-unknown"))
    yield from time_lost(writer)
    if found.pods and not writer.report.design.fabrics:
        yield Note("info", writer.word("sizing-only", gpu=writer.report.plan.cluster.gpu.identity.name))


def describe_evidence(writer: Writer, step: Prediction) -> str:
    """Return which measured steps the interval of a prediction rests on."""
    gpu, evidence = writer.report.plan.cluster.gpu, step.evidence
    kind = message(f"evidence-{kind_of_model(step.moe)}")
    generation = generation_name(step.generation) if step.generation else gpu.identity.name
    if evidence.left_out_error is None:
        return writer.language.message(message("evidence-none", kind=kind, generation=generation))
    found = message(
        "evidence-found",
        steps=evidence.measured_steps.value,
        kind=kind,
        generation=generation,
        error=writer.shown(evidence.left_out_error),
        of_stack=evidence.measured_steps_of_stack.value,
        stack=step.stack.name,
    )
    return writer.language.message(found)


def _nearest(writer: Writer, predicted: Predicted) -> Table:
    rows = []
    sized, workload = writer.report.design.sizing, writer.report.plan.training
    near = nearest_to_run(workload, predicted, sized.fit, sized.gpus) if workload and sized.fit else []
    for each in near:
        row = each.fields
        split = writer.word(
            "split-of-row", tensor=row["tp"], pipeline=row["pp"], data=row["dp"], sequence=row["seq"], batch=row["gbs"]
        )
        model = f"{row['model']} {writer.language.value(row['precision'], 'word')}"
        if row["tuning"]:
            model += f", {writer.language.value('method-' + row['tuning'], 'word')}"
        cells = (f"{row['source']}, {row['framework']}", f"{row['gpus']} {row['gpu']}", model)
        measured = (Cell(float(row["iter_s"]), "s"), Cell(float(row["tok_s_gpu"]), "tokens/s"))
        rows.append(row_of(*(Cell(text) for text in cells), split, *measured))
    caption = writer.word("caption-nearest-steps")
    return make_table("nearest-steps", writer.language, rows, caption)


def _captioned(writer: Writer, id: str, **values: str) -> Table:
    return replace(writer.table(id), caption=writer.word(f"caption-{id}", **values))


def _published(writer: Writer, compared: RunComparisons) -> Table:
    rows = []
    for each in compared.runs:
        base = (*PUBLISHED, each.run.identity.id)
        figures = (each.run.active_parameters, each.run.tokens, each.run.gpu_hours)
        parameters, tokens, hours = (writer.shown(figure) for figure in figures)
        run = writer.word(
            "published-run",
            **{"name": each.run.identity.name, "parameters": parameters, "tokens": tokens, "hours": hours},
            gpu=each.run.gpu,
        )
        source = _where(writer, each.run.gpu_hours)
        rows.append(row_of(run, writer.cell((*base, "mfu")), writer.cell((*base, "days")), source))
    caption = writer.word("caption-published-runs", mfu=writer.shown(compared.effective_mfu))
    return make_table("published-runs", writer.language, rows, caption)


def _basis(writer: Writer) -> Table:
    figures = [
        figure
        for path, figure in writer.numbers.items()
        if path[0] == WORKLOAD and (row := row_at(path)) and row.table not in NO_BASIS
    ]
    rows = tuple(
        row_of(name, Cell(writer.held(figure), figure.unit), _kind(writer, figure), _where(writer, figure))
        for name, figure in _leaves(writer, figures)
    )
    caption = writer.word("caption-basis")
    return make_table("basis", writer.language, rows, caption)


def _leaves(writer: Writer, figures: Iterable[Figure]) -> Iterator[tuple[str, Figure]]:
    """Yield the underived input figures, once each, with a name for the reader."""
    seen: set[int] = set()
    for node in walk(*figures):
        for parameter, figure in node.inputs:
            origin = figure.origin
            if id(figure) in seen or not isinstance(origin, Given | Cited | Assumed):
                continue
            seen.add(id(figure))
            if isinstance(origin, Cited):
                yield writer.cited(origin), figure
            else:
                named = writer.language.message(origin.name) if isinstance(origin, Assumed) else origin.key
                yield named or parameter, figure


def _where(writer: Writer, figure: Figure) -> Cell:
    origin = figure.origin
    return writer.sources(origin) if isinstance(origin, Cited | Assumed) else Cell(writer.origin(figure))


def _kind(writer: Writer, figure: Figure) -> str:
    plan, origin = writer.report.plan, figure.origin
    measured = [plan.training.achieved_tflops, plan.training.tokens_per_second_per_gpu] if plan.training else []
    if plan.inference:
        measured.append(plan.inference.tokens_per_second_per_gpu)
    if isinstance(origin, Given):
        return writer.word("basis-measured" if any(figure is one for one in measured) else "basis-given")
    if isinstance(origin, Cited):
        weak = "basis-cited-low" if origin.confidence == "low" else "basis-cited"
        return writer.word(weak if origin.verified else "unverified")
    return writer.word("basis-chosen" if isinstance(origin, Assumed) and origin.chosen else "basis-assumed")


# serving ------------------------------------------------------------------------------------------------------------
# The chapters of serving and of reinforcement learning: replicas, their memory and their throughput.

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
        notes=tuple(_serving_notes(writer, served)),
    )


def _prediction(writer: Writer) -> Table:
    """Return a table of the prediction: low, typical and high; a high rate needs few GPUs."""
    rows = []
    for name in RANGES:
        path, span = (*BASE, *name), (*BASE, *name[:-1], f"{name[-1]}_range")
        if (*span, "low") not in writer.numbers:
            continue
        low, typical, end = writer.cell((*span, "low")), writer.cell(path), (*span, "high")
        high = writer.cell(end) if end in writer.numbers else Cell(writer.word("not-within-targets"))
        unit = Cell(writer.language.unit(typical.unit, typical.value))
        rows.append(row_of(writer.label(path), low, typical, high, unit))
    return make_table("serving-estimate", writer.language, rows)


def _trade_off(writer: Writer, served: Serving) -> Iterator[Table]:
    """Yield a table of the throughput of GPUs against the speed of a request, from one request to the most."""
    points = load_points(served)
    if not points:
        return
    hourly = writer.report.running.figures.get("cost_per_gpu_hour")
    power, gpus = writer.report.design.power_w, writer.report.design.sizing.gpus
    unknown = [key for key, figure in (("per-kw", power), ("cost", hourly)) if not figure]
    columns, rows = columns_of("serving-trade-off", writer.language, without=unknown), []
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
    yield make_table("serving-trade-off", writer.language, rows, columns=columns)


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


def _serving_notes(writer: Writer, served: Serving) -> Iterator[Note]:
    inference, need = writer.report.plan.inference, served.need
    if inference is None:
        return
    found, cache = need.replica, served.cache
    texts = [_too_small(writer, shortage) for shortage in need.reasons]
    if need.smaller:
        smallest, more = need.smaller
        counts = {"more": more, "gpus": need.gpus_to_buy.value}
        texts.append(writer.word("serving-smaller", split=str(smallest), **counts))
    if inference.tokens_per_second_per_gpu:
        texts.append(writer.word("serving-measured"))
    elif need.missing:
        texts.append(writer.word("serving-unknown-rate", lacks=writer.word(f"lacks-{need.missing}")))
    elif served.speed and served.in_flight:
        in_flight = writer.language.number(served.in_flight.value)
        said = [writer.word(f"serving-predicted-{served.speed.kind}"), *_reservations(writer, served)]
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


FEW_MODELS = 3
"""Models below which the measurements of an accelerator say little of another model."""


def evidence_sentences(writer: Writer) -> Iterator[str]:
    """Yield a sentence about too few published measurements of such a model, its format or its split."""
    inference, served = writer.report.plan.inference, writer.report.design.sizing.serving
    speed = served.need.speed if served else None
    if inference is None or inference.measured or speed is None or speed.coefficients.kind == MEASURED:
        return
    rows, models = speed.evidence
    facts = {"gpu": writer.report.plan.cluster.gpu.identity.name, "rows": rows.value, "models": models.value}
    if models.value < FEW_MODELS:
        yield writer.word("serving-few-rows" if rows.value else "serving-no-rows", **facts)
    elif speed.coefficients.kind == UNMEASURED:
        over = "split" if speed.over_network else "format"
        yield writer.word(f"serving-unmeasured-{over}", format=writer.language.value(inference.precision.value, "word"))


def _reservations(writer: Writer, served: Serving) -> Iterator[str]:
    """Yield sentences about too few published measurements, and about a low end that misses the demand."""
    inference, span = writer.report.plan.inference, served.requests_range
    yield from evidence_sentences(writer)
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


def serving_sentences(writer: Writer) -> Iterator[str]:
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
    prefill, servers = served.need.prefill, writer.report.design.plan.prefill_servers
    if prefill and servers:
        gpu = servers.cluster.gpu.identity.name
        gpus, command = (
            writer.language.value(prefill.gpus_to_buy.value, "GPUs"),
            engine_command(inference, prefill.replica),
        )
        yield writer.word("sentence-serving-prefill", gpu=gpu, gpus=gpus, command=command)
    yield from margin_sentences(writer)
    if served.of_gpu is None or served.requests_per_minute is None:
        return
    values = {"rate": writer.shown(served.of_gpu), "requests": number(served.requests_per_minute.value)}
    if served.of_gpu_range is None:
        yield writer.word("sentence-serving-measured", **values)
    elif (low := served.of_gpu_range.low) and (high := served.of_gpu_range.high):
        ends = {"low": number(low.value), "high": number(high.value)}
        known = "corrected" if inference.measured else "estimated"
        yield writer.word(f"sentence-serving-{known}", **values, **ends)


def margin_sentences(writer: Writer) -> Iterator[str]:
    """Yield sentences about what is offered beyond the typical need, where the plan leaves the size to bomgen."""
    inference, served = writer.report.plan.inference, writer.report.design.sizing.serving
    if inference is None or served is None or given_gpus(writer.report.plan.cluster) is not None:
        return
    need, value = served.need, writer.language.value
    if need.margin and need.margin.value and need.demand:
        counts = {"required": value(need.gpus_required.value, "GPUs"), "gpus": value(need.gpus_to_buy.value, "GPUs")}
        yield writer.word("sentence-serving-margin", margin=writer.shown(need.margin), **counts)
        if need.required_as:
            split, own = str(need.required_as[0]), value(need.required_as[1].value, "GPUs")
            yield writer.word("sentence-serving-other-split", required=counts["required"], split=split, own=own)
    if inference.spare_replicas and inference.spare_replicas.value:
        yield writer.word("sentence-serving-spares", spares=value(inference.spare_replicas.value, "replicas"))


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
    whole = ((*STEP, "step_seconds"), [(*STEP, "step_seconds_range", end) for end in ENDS])
    parts = [((*STEP, "parts", name), [(*STEP, f"parts_{end}", name) for end in ENDS]) for name in step.parts]
    rows = []
    for path, ends in (*parts, whole):
        low, high = map(writer.cell, ends)
        rows.append(row_of(writer.label(path), low, writer.cell(path), high, writer.origin(writer.numbers[path])))
    caption = writer.word("caption-reinforcement-parts", evidence=describe_evidence(writer, step.update))
    tables = make_table("reinforcement-parts", writer.language, rows, caption), writer.table("reinforcement")
    return Section("reinforcement", writer.word("section-reinforcement"), text=(text,), tables=tables)
