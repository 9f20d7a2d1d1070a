"""Plans or results side by side as bars: a bar a plan, or what each category came to before and comes to now."""

from __future__ import annotations

from dataclasses import replace

from bomgen.core.document import Cell, Drawing
from bomgen.core.language import Language
from bomgen.output.drawing.bars import Bar, Bars, bar_svg
from bomgen.report.compare.comparison import Comparison, charted


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
