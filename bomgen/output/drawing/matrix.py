"""Values by row and column as cells, the darker the larger; the one that the plan has in a thick frame."""

from __future__ import annotations

from bomgen.documents.charts.types import Matrix
from bomgen.output.drawing.canvas import LINE, NARROW, Canvas

_LEFT = 96
_HEIGHT = 30
_SIZE = 12
_GAP = 2
_LIGHTEST, _DARKEST = 0.04, 0.4
"""Words are read on the darkest cell."""
_FRAME = 3


def draw_matrix(canvas: Canvas, shape: Matrix) -> None:
    """All cells with their values, and the names of rows and columns."""
    pitch = (NARROW - _LEFT) / max(len(shape.columns), 1)
    most = max(value for _, values in shape.rows for value in values)
    _line(canvas, LINE / 2, pitch, (shape.corner, *shape.columns))
    top = LINE + _GAP
    for row, ((name, values), texts) in enumerate(zip(shape.rows, shape.texts, strict=True)):
        y = top + row * _HEIGHT
        canvas.words("row", 0, y + _HEIGHT / 2, name, _LEFT, anchor="start", largest=_SIZE, strong=True)
        for column, (value, text) in enumerate(zip(values, texts, strict=True)):
            x = _LEFT + column * pitch
            tone = _LIGHTEST + (_DARKEST - _LIGHTEST) * float(value / most)
            inside = (x + _GAP, y + _GAP, pitch - 2 * _GAP, _HEIGHT - 2 * _GAP)
            canvas.rectangle("cell", *inside, filled=True, tone=tone, corner=2)
            chosen = (row, column) == shape.chosen
            if chosen:
                canvas.rectangle("box", x + 1, y + 1, pitch - 2, _HEIGHT - 2, corner=_FRAME)
            canvas.words("value", x + pitch / 2, y + _HEIGHT / 2, text, pitch, largest=_SIZE, strong=chosen)
        canvas.spoken.append(f"{name}: {', '.join(texts)}")
    canvas.bottom = top + len(shape.rows) * _HEIGHT
    if shape.foot:
        _line(canvas, canvas.bottom + LINE / 2 + _GAP, pitch, shape.foot)
        canvas.bottom += LINE + 2 * _GAP


def _line(canvas: Canvas, y: float, pitch: float, texts: tuple[str, ...]) -> None:
    canvas.words("row", 0, y, texts[0], _LEFT, anchor="start", largest=_SIZE)
    for column, text in enumerate(texts[1:]):
        canvas.words("column", _LEFT + (column + 1 / 2) * pitch, y, text, pitch, largest=_SIZE, strong=True)
    canvas.spoken.append(f"{texts[0]}: {', '.join(texts[1:])}")
