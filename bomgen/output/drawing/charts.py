"""A chart as SVG: bars, cells, points, one-line diagrams; plans side by side."""

from __future__ import annotations

from bomgen.core.language import Language
from bomgen.documents.charts.types import Bars, Chart, HeatMap, Matrix, Points
from bomgen.output.drawing.bars import draw_bars
from bomgen.output.drawing.canvas import MARGIN, NARROW, Canvas
from bomgen.output.drawing.heat_map import draw_heat_map
from bomgen.output.drawing.matrix import draw_matrix
from bomgen.output.drawing.one_line import draw_one_line
from bomgen.output.drawing.points import draw_points

_BELOW = 4
"""What is left free below a chart."""


def chart_svg(chart: Chart, name: str, language: Language) -> str:
    """A chart as the text of an SVG element, whose ids have the name."""
    canvas, shape = Canvas("chart", NARROW), chart.shape
    if isinstance(shape, Bars):
        draw_bars(canvas, shape)
    elif isinstance(shape, Matrix):
        draw_matrix(canvas, shape)
    elif isinstance(shape, HeatMap):
        draw_heat_map(canvas, shape.found, language)
    elif isinstance(shape, Points):
        draw_points(canvas, shape)
    else:
        draw_one_line(canvas, shape)
    canvas.bottom += _BELOW - MARGIN
    return canvas.text(f"chart-{name}", chart.title, False)
