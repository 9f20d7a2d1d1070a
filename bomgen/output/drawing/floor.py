"""The floor seen from above: the rows with their racks, numbered, to scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bomgen.core.language import Language
from bomgen.output.drawing.canvas import WIDTH, Canvas, fit_words
from bomgen.plan.types import RACK_KINDS, Site
from bomgen.results.elevations.types import FREE, Block, Elevations

_LABEL = 66
"""Room for what a row is called."""
_WIDEST, _NARROWEST = 38, 11
"""Of a rack in the drawing: no wider than needed, no narrower than its number, which is then upright."""
_TALLEST = 600
"""Of all rows together, so that the drawing fits a page."""
_UPRIGHT = 24
"""Racks that are narrower have their numbers upright."""
_MORE = 34
"""Room for how many racks of a row are not drawn."""
_HEAD = 10
_LINE = 18
_SIZE = 11
"""On a page as wide as A4 allows these are 7 points."""
COMPUTE, MANAGEMENT = RACK_KINDS
_TONES = {COMPUTE: 0.07, MANAGEMENT: 0.3, FREE: 0.0}
_GAPS = 3
"""What rows that are left out take up: a place before those of switches, one behind them, and the last row."""
_MILLIMETRES = 1000
_METRES = "m"
_KEY = 12
_KEY_PITCH = 170


class _Scale(NamedTuple):
    rack: float
    depth: float
    row: float
    """From one row to the next."""


def floor_svg(found: Elevations, site: Site, language: Language, name: str = "floor") -> str:
    """The floor as an SVG element, whose ids begin with the name.

    Rows and racks that find no room are named where they would stand.
    """
    canvas = Canvas()
    widest = max(sum(block.racks for block in row) for row in found.rows)
    scale = _scale(site, widest, len(found.rows))
    most = max(2, int(_TALLEST // scale.row))
    shown = _rows_shown(found.rows, most)
    y, before = float(_HEAD), 0
    for number in shown:
        if number != before + 1:
            left_out = found.rows[before : number - 1]
            _more_rows(canvas, language, (before + 1, number - 1), left_out, y, scale)
            y += scale.row
        _row(canvas, language, number, found.rows[number - 1], y, scale)
        y += scale.row
        before = number
    below = y - scale.row + scale.depth + _LINE
    _legend(canvas, language, found, below)
    pitches = (site.layout.rack_pitch_m, site.layout.row_pitch_m)
    racks, rows = (language.value(pitch.value, _METRES) for pitch in pitches)
    canvas.words(
        "scale", 0, below + _LINE, language.word("ui-floor-scale", racks=racks, rows=rows), WIDTH, anchor="start"
    )
    canvas.bottom = below
    return canvas.text(name, language.word("ui-floor"), False)


def _scale(site: Site, widest: int, rows: int) -> _Scale:
    """Racks as large as page and floor allow, rows as far apart as on the floor."""
    layout = site.layout
    pitch, row_pitch = float(layout.rack_pitch_m.value), float(layout.row_pitch_m.value)
    known = site.rack.depth_mm if site.rack else None
    depth = min(float(known.value) / _MILLIMETRES, row_pitch) if known else row_pitch / 2
    by_width = (WIDTH - _LABEL) / widest
    by_height = _TALLEST / rows / row_pitch * pitch
    rack = max(min(by_width, by_height, _WIDEST), _NARROWEST)
    metre = rack / pitch
    return _Scale(rack, max(depth * metre, _NARROWEST), max(row_pitch * metre, _LINE))


def _rows_shown(rows: Sequence[Sequence[Block]], most: int) -> list[int]:
    """The rows that are drawn: all, or the first ones, the first with racks of more than servers, and the last."""
    count = len(rows)
    other = next((number for number, row in enumerate(rows, 1) if any(block.kind != COMPUTE for block in row)), 1)
    half = (most - _GAPS) // 2
    if count <= most or half < 1 or other <= most - 2:
        return _shown_ends(count, most)
    middle = range(other, min(other + half, count))
    return [*range(1, half + 1), *middle, count]


def _shown_ends(count: int, most: int) -> list[int]:
    """The numbers from 1 that are drawn: all, or the first ones and the last, with one place left for the others."""
    return list(range(1, count + 1)) if count <= most else [*range(1, most - 1), count]


def _row(canvas: Canvas, language: Language, number: int, blocks: Sequence[Block], y: float, scale: _Scale) -> None:
    middle = y + scale.depth / 2
    name = language.word("ui-floor-row", number=number)
    canvas.words("row", 0, middle, fit_words(name, _LABEL), _LABEL, anchor="start", strong=True)
    racks = list(_each_rack(blocks))
    room = WIDTH - _LABEL
    fits = int(room // scale.rack) if len(racks) * scale.rack <= room + 1 else int((room - _MORE) // scale.rack)
    shown = _shown_ends(len(racks), max(fits, 2) + 1) if len(racks) > fits else list(range(1, len(racks) + 1))
    x, before = float(_LABEL), 0
    for place in shown:
        if place != before + 1:
            canvas.rectangle("rack", x, y, _MORE, scale.depth, dashed=True, corner=1)
            canvas.words("more", x + _MORE / 2, middle, f"+{place - 1 - before}", _MORE, largest=_SIZE)
            x += _MORE
        kind, rack = racks[place - 1]
        _rack(canvas, kind, rack, x, y, scale)
        x, before = x + scale.rack, place
    parts = (f"{block.racks} {language.word(f'rack-{block.kind}')}" for block in blocks)
    canvas.spoken.append(f"{name}: {', '.join(parts)}")


def _each_rack(blocks: Sequence[Block]) -> Iterator[tuple[str, int]]:
    for block in blocks:
        yield from ((block.kind, block.first + index) for index in range(block.racks))


def _rack(canvas: Canvas, kind: str, number: int, x: float, y: float, scale: _Scale) -> None:
    canvas.rectangle(
        "rack", x, y, scale.rack, scale.depth, dashed=kind == FREE, filled=kind != FREE, tone=_TONES[kind], corner=0
    )
    upright = scale.rack < _UPRIGHT
    room = scale.depth if upright else scale.rack
    size = min(_SIZE, scale.rack - 2)
    canvas.words("number", x + scale.rack / 2, y + scale.depth / 2, f"{number}", room, turned=upright, largest=size)


def _more_rows(
    canvas: Canvas, language: Language, span: tuple[int, int], rows: Sequence[Sequence[Block]], y: float, scale: _Scale
) -> None:
    """What stands in rows that are not drawn."""
    first, last = rows[0][0].first, rows[-1][-1].first + rows[-1][-1].racks - 1
    racks = f"{language.integer(first)}–{language.integer(last)}"
    numbers = "–".join(map(language.integer, dict.fromkeys(span)))
    text = language.word("ui-floor-more-rows", rows=numbers, racks=racks)
    canvas.rectangle("rack", _LABEL, y, WIDTH - _LABEL - 1, scale.depth, dashed=True, corner=1)
    canvas.words("more", (WIDTH + _LABEL) / 2, y + scale.depth / 2, text, WIDTH - _LABEL)
    canvas.spoken.append(text)


def _legend(canvas: Canvas, language: Language, found: Elevations, y: float) -> None:
    """What the tones mean, for the kinds of rack that there are."""
    kinds = {block.kind for row in found.rows for block in row}
    for index, kind in enumerate(kind for kind in _TONES if kind in kinds):
        x = index * _KEY_PITCH
        canvas.rectangle(
            "key", x, y - _KEY / 2, _KEY, _KEY, dashed=kind == FREE, filled=kind != FREE, tone=_TONES[kind], corner=1
        )
        name = language.word(f"rack-{kind}")
        text = name[:1].upper() + name[1:]
        canvas.words("key", x + _KEY + _KEY / 2, y, text, _KEY_PITCH - 2 * _KEY, anchor="start")
