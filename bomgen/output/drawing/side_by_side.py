"""Plans or results side by side as bars: a bar a plan, or what each category came to before and comes to now."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from bomgen.core.document import Cell, Drawing
from bomgen.core.language import Language
from bomgen.documents.charts.types import Bar, Bars, Chart
from bomgen.documents.compare.comparison import Comparison, charted
from bomgen.documents.diff.contents import changed_categories
from bomgen.documents.diff.difference import Difference
from bomgen.output.drawing.charts import chart_svg
from bomgen.pricing.bill_line import CATEGORIES

_PALE = (0,)
"""A first part of nothing: what follows it is paler."""


def comparison_drawing(found: Comparison, language: Language) -> Drawing | None:
    """What the plans come to, or their power or GPUs where not all have prices; None where nothing differs."""
    line = charted(found)
    if line is None:
        return None
    bars = tuple(
        Bar(
            each.name, _text(cell, language), () if cell.value is None or isinstance(cell.value, str) else (cell.value,)
        )
        for each, cell in zip(found.columns, line.cells, strict=True)
    )
    return _drawn(Chart("comparison", line.label, line.label, Bars(bars)), language)


def _drawn(chart: Chart, language: Language) -> Drawing:
    return Drawing(chart.id, chart.title, chart_svg(chart, chart.id, language), chart.text)


def _text(cell: Cell, language: Language) -> str:
    """A value without the mark of the best: the shortest bar needs none."""
    return language.cell(replace(cell, best=False))


def changes_drawing(found: Difference, language: Language) -> Drawing | None:
    """What each category that changed came to, and comes to; None where no amount changed, or currencies differ."""
    changed, word = changed_categories(found), language.word
    if not changed:
        return None

    def bar(name: str, cell: Cell, key: str, before: tuple[int, ...] = ()) -> Bar:
        amount = cell.value if isinstance(cell.value, Decimal) else None
        shown = word("ui-no-price") if amount is None else language.money(amount, cell.unit)
        shown = word("ui-at-least", amount=shown) if cell.least else shown
        return Bar(name, word(key, amount=shown), () if amount is None else (*before, amount))

    bars = list[Bar]()
    for each in changed:
        name = word(f"category-{each.category}") if each.category in CATEGORIES else each.category
        bars += [bar(name, each.old, "diff-bar-before", _PALE), bar("", each.new, "diff-bar-after")]
    return _drawn(Chart("changes", word("diff-chart"), word("diff-chart-text"), Bars(tuple(bars))), language)
