"""Plans or results side by side as bars: a bar a plan, or what each category came to before and comes to now."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from bomgen.core.document import Cell, Drawing
from bomgen.core.language import Language
from bomgen.output.drawing.amounts import Bar, Bars, bar_svg
from bomgen.pricing.bill import CATEGORIES
from bomgen.report.compare.comparison import Comparison, charted
from bomgen.report.diff.contents import changed_categories
from bomgen.report.diff.difference import Difference


def comparison_drawing(found: Comparison, language: Language) -> Drawing | None:
    """What the plans come to, or their power or GPUs where not all have prices; None where nothing differs."""
    line = charted(found)
    if line is None:
        return None
    groups = [
        Bars(each.name, (Bar(None if isinstance(cell.value, str) else cell.value, _text(cell, language)),))
        for each, cell in zip(found.columns, line.cells, strict=True)
    ]
    return Drawing("comparison", line.label, bar_svg(groups, "comparison", line.label), line.label)


def _text(cell: Cell, language: Language) -> str:
    """A value without the mark of the best: the shortest bar needs none."""
    return language.cell(replace(cell, best=False))


def changes_drawing(found: Difference, language: Language) -> Drawing | None:
    """What each category that changed came to, and comes to; None where no amount changed, or currencies differ."""
    changed, word = changed_categories(found), language.word
    if not changed:
        return None

    def bar(cell: Cell, key: str, pale: bool) -> Bar:
        amount = cell.value if isinstance(cell.value, Decimal) else None
        shown = word("ui-no-price") if amount is None else language.money(amount, cell.unit)
        shown = word("ui-at-least", amount=shown) if cell.least else shown
        return Bar(amount, word(key, amount=shown), pale)

    groups = [
        Bars(
            word(f"category-{each.category}") if each.category in CATEGORIES else each.category,
            (bar(each.old, "diff-bar-before", True), bar(each.new, "diff-bar-after", False)),
        )
        for each in changed
    ]
    title = word("diff-chart")
    return Drawing("changes", title, bar_svg(groups, "changes", title), word("diff-chart-text"))
