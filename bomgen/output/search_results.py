"""Search results in a format: text, md, html, xlsx, csv or json."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from decimal import Decimal
from io import StringIO
from typing import Any

from bomgen import __version__
from bomgen.core.language import Language
from bomgen.core.provenance import json_value, range_data
from bomgen.core.safety import escape_formula
from bomgen.documents.search import front_chart, search_document
from bomgen.output.drawing.charts import draw_chart
from bomgen.output.writer import render_page
from bomgen.plan.search_space import NumberRange
from bomgen.results.designs import UNITS, Measured, SearchedDesign, values_of
from bomgen.results.front import Excess, Front

FORMAT = 1
"""Version of the JSON format of a search."""


def render_search(front: Front, name: str, language: Language, form: str) -> bytes:
    """Return a search in a format; `name` is that of its plan."""
    if form == "json":
        return (json.dumps(_data(front, name), ensure_ascii=False, indent=1) + "\n").encode("utf-8")
    if form == "csv":
        return _csv(front)
    chart = front_chart(front, language) if form == "html" else None
    drawing = draw_chart(chart, chart.id, language) if chart else None
    return render_page(search_document(front, name, language, drawing), language, form, every=True)


def _csv(front: Front) -> bytes:
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


def _data(front: Front, name: str) -> dict[str, Any]:
    space = front.space
    return {
        "search": FORMAT,
        "version": __version__,
        "plan": name,
        "over": {
            axis.key: [str(axis.values)] if isinstance(axis.values, NumberRange) else list(axis.values)
            for axis in space.axes
        },
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
