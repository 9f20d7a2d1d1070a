"""A search as a document and as data: the front, why cheaper designs are excluded, and skipped designs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from decimal import Decimal
from io import StringIO
from itertools import compress
from typing import Any

from bomgen import __version__
from bomgen.core.document import Cell, Column, Document, Drawing, Note, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.core.provenance import json_value, range_data
from bomgen.core.safety import escape_formula
from bomgen.core.units import MONEY, decimal
from bomgen.documents.charts import Chart, Point, Points
from bomgen.documents.tables import columns_of, make_table
from bomgen.plan.search_space import LARGER_IS_BETTER, MEASURES
from bomgen.results.designs import UNITS, WIDEST, Ends, Measured, SearchedDesign, values_of
from bomgen.results.front import BALANCE, Excess, Front, FrontRow, best_of_two, recommend

MAX_REASONS = 5
"""Maximum number of reasons listed for designs that cannot be built; others are counted."""
MAX_NAMES = 3
"""Maximum number of unpriced parts in a sentence."""
_COUNTS = tuple(name for name, unit in MEASURES.items() if unit == "count")
"""Measures shown in every row, minimised or not."""


def search_document(front: Front, name: str, language: Language, chart: Drawing | None = None) -> Document:
    """Return a search as a document; `name` is that of the plan."""
    word = language.word
    text = word(
        "search-lead" if front.rows else "search-lead-none",
        tried=language.integer(front.tried),
        size=language.integer(front.space.size),
        found=language.integer(len(front.rows)),
        measures=word("list-comma").join(word(f"search-{measure}") for measure in front.minimised),
    )
    tables = [_front_table(front, language)] if front.rows else []
    if front.refused:
        rows = [row_of(count, language.message(reason)) for reason, count in front.refused[:MAX_REASONS]]
        if others := sum(count for _, count in front.refused[MAX_REASONS:]):
            rows.append(row_of(others, word("search-other-reasons")))
        tables.append(make_table("search-refused", language, rows, id="refused"))
    notes, drawings = tuple(Note("info", text) for text in _notes(front, language)), (chart,) if chart else ()
    return Document(
        title=word("search-title", name=name),
        language=language.code,
        sections=(Section("front", word("search-front"), (text,), tuple(tables), notes, drawings),),
        footer=word("compare-footer", version=__version__),
    )


def front_chart(front: Front, language: Language) -> Chart | None:
    """Return the front as points, the first measure against the second; None without points or a second measure."""
    word, measures = language.word, front.minimised[:2]
    known = [all(row.candidate.measures[name] is not None for name in measures) for row in front.rows]
    if len(measures) < 2 or not any(known):
        return None
    (first, second), numbers = measures, [at for at, is_known in enumerate(known, 1) if is_known]
    front = front._replace(rows=tuple(compress(front.rows, known)))
    places = [(row.candidate.measures[second] or 0, row.candidate.measures[first] or 0) for row in front.rows]
    nearest = {places[at] for at in best_of_two(front, second, first)}
    points = tuple(
        Point(str(number), *place, describe_design(front, row.candidate), place in nearest)
        for number, place, row in zip(numbers, places, front.rows, strict=True)
    )
    names = word(f"search-{second}"), word(f"search-{first}")
    title = word("search-chart", first=names[1], second=names[0])
    text = word("search-chart-text")
    if len(nearest) < len({*places}):
        text = word("search-chart-text-front", first=names[1], second=names[0])
    ends = _axis(front, second, language), _axis(front, first, language)
    return Chart("front", title, text, Points(points, names, ends))


def describe_design(front: Front, candidate: SearchedDesign) -> str:
    """Return the values of a design on axes with several values."""
    space = front.space
    pairs = zip(space.axes, space.values(candidate.place), strict=True)
    return ", ".join(f"{short_key(axis.key)} {value}" for axis, value in pairs if len(axis.values) > 1)


def describe_reason(reason: str, language: Language) -> str:
    """Return why a design is recommended."""
    word = language.word
    return word("search-balance") if reason == BALANCE else word("search-best", measure=word(f"search-{reason}"))


def short_key(key: str) -> str:
    """Return the last step of a dotted key."""
    return key.rpartition(".")[2]


def _axis(front: Front, name: str, language: Language) -> tuple[str, str]:
    designs = sorted((row.candidate for row in front.rows), key=lambda design: design.measures[name] or 0)
    least, most = (
        language.value(design.measures[name] or 0, _unit(name, design.currency), design.ranges.get(name))
        for design in (designs[0], designs[-1])
    )
    return least, most


def _unit(name: str, currency: str) -> str:
    unit = MEASURES[name]
    return currency if unit == MONEY else "" if unit == "count" else unit


def _front_table(front: Front, language: Language) -> Table:
    word = language.word
    axes = [(at, axis) for at, axis in enumerate(front.space.axes) if len(axis.values) > 1]
    shown = [*front.minimised, *(name for name in _COUNTS if name not in front.minimised)]
    shown = [name for name in shown if any(row.candidate.measures[name] is not None for row in front.rows)]
    ranges = dict[str, tuple[str, str]]()
    if "cost" in front.minimised and any(len({*_ends(row, "cost")}) > 1 for row in front.rows):
        ranges["cost"] = ("low", "high")
    if any("days" in row.candidate.ends for row in front.rows):
        ranges["days"] = ("fewest", "most")
    columns = [*columns_of("front", language)]
    columns += [
        Column(axis.key, short_key(axis.key), "text", 18, main=index == 0) for index, (_, axis) in enumerate(axes)
    ]
    for name in shown:
        columns.append(Column(name, word(f"search-{name}"), "number", 18, main=name in front.minimised[:2]))
        columns += [
            Column(key, word(f"search-{key}", coverage=str(front.space.confidence or WIDEST)), "number", 18)
            for key in ranges.get(name, ())
        ]
    columns.append(Column("next", word("search-next", measure=word(f"search-{front.minimised[0]}")), "text", 60))
    rows = []
    for number, row in enumerate(front.rows, 1):
        design, values = row.candidate, front.space.values(row.candidate.place)
        cells = [Cell(number), *(Cell(values[at]) for at, _ in axes)]
        for name in shown:
            unit = _unit(name, design.currency)
            cells.append(Cell(design.measures[name], unit, estimate=design.ranges.get(name)))
            cells += [Cell(end, unit) for end in (_ends(row, name) if name in ranges else ())]
        better = row.next_better and word(
            "search-beyond",
            design=describe_design(front, row.next_better[0]),
            broken=_describe_excess(row.next_better, language),
        )
        cells.append(Cell(better))
        rows.append(row_of(*cells))
    return make_table("front", language, rows, columns=columns)


def _ends(row: FrontRow, name: str) -> Ends:
    return row.candidate.ends.get(name, (None, None))


def _describe_excess(better: tuple[SearchedDesign, Sequence[Excess]], language: Language) -> str:
    design, broken = better
    word = language.word
    texts = []
    for bound, value in broken:
        name, unit = word(f"search-{bound.measure}"), _unit(bound.measure, design.currency)
        if value is None:
            texts.append(word("search-not-known", measure=name))
            continue
        most, exceeding = (
            decimal(number) if MEASURES[bound.measure] == MONEY else number for number in (bound.most, value)
        )
        shown = language.value(exceeding, unit, design.ranges.get(bound.measure))
        key = "search-under" if bound.measure in LARGER_IS_BETTER else "search-over"
        texts.append(word(key, measure=name, value=shown, most=language.value(most, unit)))
    return word("list-comma").join(texts)


def _notes(front: Front, language: Language) -> Iterator[str]:
    word = language.word
    if recommended := recommend(front):
        named = (f"{at + 1} ({describe_reason(reason, language)})" for at, reason in recommended)
        yield word("search-recommended", designs=word("list-comma").join(named))
    if front.space.confidence and any("days" in row.candidate.ends for row in front.rows):
        yield word("search-confidence", coverage=str(front.space.confidence))
    if front.tried < front.space.size:
        yield word("search-interrupted", tried=language.integer(front.tried), size=language.integer(front.space.size))
    for name, count in front.unknown:
        yield word("search-unknown", measure=word(f"search-{name}"), count=language.integer(count))
    if front.unpriced:
        parts = word("list-comma").join(part for part, _ in front.unpriced[:MAX_NAMES])
        yield word("search-unpriced", parts=parts, count=language.integer(len(front.unpriced)))
    if front.beyond:
        yield word("search-left-out", count=language.integer(front.beyond))
    dropped = [name for name in front.space.minimise if name not in front.minimised]
    if dropped and front.minimised:
        yield word("search-dropped", measures=word("list-comma").join(word(f"search-{name}") for name in dropped))
    if front.nearest:
        design = describe_design(front, front.nearest[0])
        yield word("search-nearest", design=design, broken=_describe_excess(front.nearest, language))


# data ---------------------------------------------------------------------------------------------------------------
# The result for programs: JSON and CSV.

FORMAT = 1
"""Version of the JSON format of a search."""


def search_csv(front: Front) -> bytes:
    """Return a row per design of the front: axis values as YAML, exact measures."""
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow([*(axis.key for axis in front.space.axes), *UNITS, "currency", "equal_designs"])
    for row in front.rows:
        design = row.candidate
        record = (*front.space.values(design.place), *values_of(design).values(), design.currency, row.equals)
        values = (_exact(value) if not isinstance(value, str) else escape_formula(value) for value in record)
        writer.writerow("" if value is None else value for value in values)
    return out.getvalue().encode("utf-8")


def _exact(value: Measured | str) -> Any:
    """Return a value for programs: amounts are decimal strings, as in bom.json."""
    return f"{value:f}" if isinstance(value, Decimal) else json_value(value)


def search_data(front: Front, name: str) -> dict[str, Any]:
    """Return a search as data for programs; `name` is that of its plan."""
    space = front.space
    return {
        "search": FORMAT,
        "version": __version__,
        "plan": name,
        "over": {axis.key: axis.written for axis in space.axes},
        "minimise": list(front.minimised),
        "confidence": space.confidence,
        "within": {bound.measure: json_value(bound.most) for bound in space.within},
        "designs": space.size,
        "tried": front.tried,
        "beyond": front.beyond,
        "refused": [{"reason": reason, "designs": count} for reason, count in front.refused],
        "unknown": [{"measure": measure, "designs": count} for measure, count in front.unknown],
        "unpriced": [{"part": part, "designs": count} for part, count in front.unpriced],
        "front": [
            _design(front, row.candidate) | {"equal_designs": row.equals, "next": _beyond(front, row.next_better)}
            for row in front.rows
        ],
        "nearest": _beyond(front, front.nearest),
        "recommended": [{"design": at + 1, "reason": reason} for at, reason in recommend(front)],
    }


def _design(front: Front, searched_design: SearchedDesign) -> dict[str, Any]:
    keys = (axis.key for axis in front.space.axes)
    return {
        "set": dict(zip(keys, front.space.values(searched_design.place), strict=True)),
        "measures": {name: _exact(value) for name, value in searched_design.measures.items()},
        "ranges": {name: range_data(ends) for name, ends in searched_design.ranges.items()},
        "currency": searched_design.currency,
        **{
            name: _exact(end) for name, end in values_of(searched_design).items() if name.startswith(("cost_", "days_"))
        },
    }


def _beyond(front: Front, found: tuple[SearchedDesign, Sequence[Excess]] | None) -> dict[str, Any] | None:
    """Return a design beyond the bounds, with the values that exceed them."""
    if found is None:
        return None
    broken = {each.bound.measure: json_value(each.value) for each in found[1]}
    return _design(front, found[0]) | {"breaks": broken}
