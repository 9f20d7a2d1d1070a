"""Front views of racks, and the floor plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bomgen.core.language import Language
from bomgen.output.drawing.canvas import WIDTH, Canvas, elide, fit_words, text_width
from bomgen.plan.types import FREE_RACK, RACK_KINDS, Site
from bomgen.results.elevations import TRAY, Elevation, Elevations, RackBlock, Slot, named_text, pdu_words, spans_text

MOST_DRAWN = 9
"""Maximum number of different racks drawn; the table lists the others."""
BESIDE = 3
"""Racks next to each other in a drawing, so that names are legible in print."""
_SPACE = 14
_UNIT = 11
_TALLEST = 620
"""Maximum height of a rack; rack units are scaled down to fit."""
_NUMBERS = 20
"""Space for unit numbers to the left of a rack."""
_STRIP = 13
"""Width of a PDU beside a rack."""
_MOST_STRIPS = 6
_LINE = 13
_INSET, _HALF = 2, 0.5
"""Gap between a rack's side and text; half of the line between devices."""
_NAME_SIZE, _WORD_SIZE, _SMALL_SIZE = 12, 10, 8
_HEADING = 40
"""Height of a rack's heading: its numbers and position."""
_TWO_LINES = 30
"""Minimum height of a box for name and product on separate lines."""
_MOST_SPANS = 4
_LIGHT, _DARK = 0.07, 0.22
"""Fill opacity of devices and PDUs."""
_TITLE, _BODY = "rack-title", "rack-text"


def racks_to_draw(elevations: Elevations) -> tuple[Elevation, ...]:
    """Return the racks to draw: the most frequent ones, in floor order."""
    order = sorted(range(len(elevations.groups)), key=lambda index: (-elevations.groups[index].number, index))
    return tuple(elevations.groups[index] for index in sorted(order[:MOST_DRAWN]))


def rack_svgs(elevations: Elevations, language: Language, name: str = "racks") -> Iterator[tuple[str, str]]:
    """Yield the drawings of the racks, several per drawing: title and SVG element.

    The name makes their ids unique within a page.
    """
    drawn = racks_to_draw(elevations)
    for start in range(0, len(drawn), BESIDE):
        beside = drawn[start : start + BESIDE]
        canvas = Canvas()
        room = (WIDTH - (BESIDE - 1) * _SPACE) / BESIDE
        for position, group in enumerate(beside):
            _Front(canvas, language, group, position * (room + _SPACE), room).draw()
        title = language.word(
            "ui-racks-drawn",
            racks=language.word("list-semicolon").join(spans_text(group.racks, _MOST_SPANS) for group in beside),
        )
        yield title, canvas.text(f"{name}-{start // BESIDE + 1}", title, language)


class _Front:
    """The front view of one rack, in a column of the drawing."""

    def __init__(self, canvas: Canvas, language: Language, group: Elevation, x: float, room: float) -> None:
        self.canvas, self.language, self.group, self.x, self.room = canvas, language, group, x, room
        self.beside = [pdu for pdu in group.pdus if pdu.unit is None]
        self.strips = min(len(self.beside), _MOST_STRIPS)
        self.units = max([group.units, *(slot.top or 0 for slot in group.slots)])
        self.pitch = min(_UNIT, _TALLEST / self.units)
        self.left = x + _NUMBERS
        self.width = room - _NUMBERS - self.strips * _STRIP
        self.inside = self.width - 2 * _INSET
        self.floor = _HEADING + self.units * self.pitch

    def draw(self) -> None:
        """Draw the rack with its heading, and its power and weight below."""
        group, canvas, word = self.group, self.canvas, self.language.word
        racks = spans_text(group.racks, _MOST_SPANS)
        title = word("ui-racks-number" if group.number > 1 else "ui-rack-number", racks=racks)
        kind = word(f"rack-{group.kind}")
        below = word("ui-racks-alike", number=self.language.integer(group.number), kind=kind)
        self._write(_TITLE, _LINE / 2 + 2, title, strong=True)
        self._write(_TITLE, _LINE / 2 + _LINE + 2, below if group.number > 1 else kind)
        self.canvas.rectangle(
            "rack", self.left, self.floor - self.units * self.pitch, self.width, self.units * self.pitch, corner=0
        )
        for unit in range(1, self.units + 1):
            y = self._top(unit, 1) + self.pitch / 2
            size = min(_SMALL_SIZE, self.pitch - 1)
            self.canvas.words("unit", self.left - 2, y, f"{unit}", _NUMBERS, anchor="end", largest=size)
        for slot in group.slots:
            if slot.unit is None or slot.height_u is None:
                continue
            product = self.language.message(slot.identity.name) if slot.identity else ""
            for number, named in enumerate(slot.boxes):
                self._box(
                    slot.unit + number * slot.height_u, slot.height_u, named_text(named), product, device=named[0]
                )
        for pdu in group.pdus:
            if pdu.unit is not None:
                self._box(pdu.unit, pdu.height_u, pdu_words(self.language, pdu), "", _DARK)
        self._free()
        high = self.units * self.pitch
        for number, pdu in enumerate(self.beside[: self.strips]):
            left, middle = self.left + self.width + number * _STRIP, self.floor - high + high / 2
            canvas.rectangle("pdu", left + 1, self.floor - high, _STRIP - 2, high, filled=True, tone=_DARK, corner=1)
            text = fit_words(pdu_words(self.language, pdu), high)
            canvas.words("pdu", left + _STRIP / 2, middle, text, high, turned=True, largest=_SMALL_SIZE)
        lines = list(describe_sums(group, self.language))
        for number, line in enumerate(lines, 1):
            self._write(_BODY, self.floor + _LINE * number, line)
        self.canvas.bottom = max(self.canvas.bottom, self.floor + _LINE * len(lines) - _LINE)
        devices = []
        for slot in group.slots:
            name = self.language.message(slot.identity.name) if slot.identity else slot.device
            devices.append(f"{slot.pieces} × {name}{'' if slot.unit is None else f' (U{slot.unit}–{slot.top})'}")
        self.canvas.spoken.append(", ".join((title, kind, *devices)))

    def _write(self, kind: str, y: float, text: str, strong: bool = False) -> None:
        size, text = _NAME_SIZE if strong else _WORD_SIZE, fit_words(text, self.room, strong)
        self.canvas.words(kind, self.x + 1, y, text, self.room, anchor="start", largest=size, strong=strong)

    def _top(self, unit: int, height: int) -> float:
        return self.floor - (unit + height - 1) * self.pitch

    def _box(self, unit: int, height: int, name: str, product: str, tone: float = _LIGHT, device: str = "") -> None:
        """Draw a device: name and product on separate lines if it is high enough, else on one."""
        canvas, top, high = self.canvas, self._top(unit, height), height * self.pitch
        canvas.rectangle(
            "device",
            self.left + 1,
            top + _HALF,
            self.width - 2,
            high - 1,
            filled=True,
            corner=1,
            tone=tone,
            device=device,
        )
        middle, x = top + high / 2, self.left + self.width / 2
        lines = [name, product] if high >= _TWO_LINES and product else [" · ".join(filter(None, (name, product)))]
        size, pitch = min(_WORD_SIZE, high / len(lines) - 2), min(_LINE, high / len(lines))
        shown = [fit_words(line, self.inside) for line in lines]
        canvas.lines("device-name", x, middle, shown, self.inside, size, pitch)

    def _free(self) -> None:
        """Draw the free units, with the names of devices without a defined position."""
        taken = [(slot.unit, slot.top) for slot in self.group.slots if slot.unit is not None and slot.top is not None]
        taken += [(pdu.unit, pdu.unit + pdu.height_u - 1) for pdu in self.group.pdus if pdu.unit is not None]
        filled = {unit for first, last in taken for unit in range(first, last + 1)}
        runs: list[tuple[int, int]] = []
        for unit in range(1, self.group.units + 1):
            if unit in filled:
                continue
            if runs and runs[-1][1] == unit - 1:
                runs[-1] = (runs[-1][0], unit)
            else:
                runs.append((unit, unit))
        somewhere = [slot for slot in self.group.slots if slot.unit is None or slot.height_u is None]
        longest = max(runs, key=lambda run: run[1] - run[0], default=None)
        for run in runs:
            first, last = run
            top, high = self._top(first, last - first + 1), (last - first + 1) * self.pitch
            held = bool(somewhere) and run == longest
            self.canvas.rectangle(
                "free", self.left + 1, top + _HALF, self.width - 2, high - 1, dashed=not held, filled=held, corner=1
            )
            units = self.language.value(last - first + 1, "U")
            free = self.language.word("ui-units-free", units=units)
            lines = list(self._somewhere(somewhere)) if held else [free]
            shown = [fit_words(line, self.inside) for line in lines[: max(1, int(high // _LINE))]]
            size, x = min(_WORD_SIZE, high - 1), self.left + self.width / 2
            self.canvas.lines("free", x, top + high / 2, shown, self.inside, size, _LINE)

    def _somewhere(self, slots: Sequence[Slot]) -> Iterator[str]:
        """Yield the names of devices of which only the rack is known."""
        word = self.language.word
        for slot in slots:
            name = self.language.message(slot.identity.name) if slot.identity else slot.device
            yield word("ui-trays" if slot.device == TRAY else "ui-pieces", number=slot.pieces, name=name)
            yield named_text((slot.boxes[0][0], slot.boxes[-1][1]))
        yield word("ui-unit-unknown")


def describe_sums(group: Elevation, language: Language) -> Iterator[str]:
    """Yield the totals of one of equal racks as text: rack units, power, weight."""
    sums, word = group.sums, language.word

    def least(name: str, text: str) -> str:
        return word("ui-at-least", amount=text) if name in sums.lower_bounds else text

    if sums.units_used:
        used = language.integer(int(sums.units_used.value))
        yield word("ui-units-used", used=used, units=language.value(group.units, "U"))
    if sums.power_w:
        yield least("power_w", language.shown(sums.power_w))
    if sums.weight_kg:
        yield least("weight_kg", language.value(sums.weight_kg.value, "kg"))
    if group.pdus:
        feeds = word("list-comma").join(group.feeds)
        key = "ui-rack-pdus-on-feeds" if feeds else "ui-rack-pdus"
        yield word(key, number=len(group.pdus), feeds=feeds)


# floor --------------------------------------------------------------------------------------------------------------
# The floor plan: the rows with their racks, numbered, to scale.

_LABEL = 66
"""Space for the label of a row."""
_WIDEST, _NARROWEST = 38, 11
"""Range of rack widths: at least as wide as a rotated number."""
_TALLEST_FLOOR = 860
"""Maximum height of all rows, so that the drawing fits a page."""
_USUAL_FLOOR = 400
"""Height of all rows at the largest scale, so that a plan of few rows takes less than half a page."""
_MORE = 34
"""Space for the number of omitted racks of a row."""
_HEAD = 10
_FLOOR_LINE = 18
_SIZE = 11
"""Font size, 7 points on a drawing as wide as A4."""
COMPUTE, MANAGEMENT = RACK_KINDS
_TONES = {COMPUTE: 0.07, MANAGEMENT: 0.3, FREE_RACK: 0.0}
_GAPS = 3
"""Rows that omissions take: two placeholders and the last row."""
_MILLIMETRES = 1000
_METRES = "m"
_KEY = 12
_KEY_PITCH = 170


class _Scale(NamedTuple):
    rack: float
    depth: float
    row: float
    """Distance between rows."""


def floor_svg(
    elevations: Elevations, site: Site, language: Language, name: str = "floor", metre: float | None = None
) -> str:
    """Return the floor plan as an SVG element whose ids begin with the name.

    Omitted rows and racks are counted at their position. `metre` is the length of a metre on the drawing; None: as long
    as page and floor allow.
    """
    canvas = Canvas("floor")
    scale = _scale(site, metre or metre_of(elevations, site))
    most = max(2, int(_TALLEST_FLOOR // scale.row))
    shown = _rows_shown(elevations.rows, most)
    y, before = float(_HEAD), 0
    for number in shown:
        if number != before + 1:
            left_out = elevations.rows[before : number - 1]
            _more_rows(canvas, language, (before + 1, number - 1), left_out, y, scale)
            y += scale.row
        _row(canvas, language, number, elevations.rows[number - 1], y, scale)
        y += scale.row
        before = number
    below = y - scale.row + scale.depth + _FLOOR_LINE
    _legend(canvas, language, elevations, below)
    pitches = (site.layout.rack_pitch_m, site.layout.row_pitch_m)
    racks, rows = (language.value(pitch.value, _METRES) for pitch in pitches)
    canvas.words(
        "scale", 0, below + _FLOOR_LINE, language.word("ui-floor-scale", racks=racks, rows=rows), WIDTH, anchor="start"
    )
    canvas.bottom = below
    return canvas.text(name, language.word("ui-floor"), language)


def metre_of(elevations: Elevations, site: Site) -> float:
    """Return the length of a metre on the drawing at which racks are as large as page and floor allow."""
    pitch, row_pitch = float(site.layout.rack_pitch_m.value), float(site.layout.row_pitch_m.value)
    by_width = (WIDTH - _LABEL - 1) / max(sum(block.racks for block in row) for row in elevations.rows)
    by_height = _USUAL_FLOOR / len(elevations.rows) / row_pitch * pitch
    return max(min(by_width, by_height, _WIDEST), _NARROWEST) / pitch


def _scale(site: Site, metre: float) -> _Scale:
    """Return the sizes on a drawing with rows as far apart as on the floor."""
    pitch, row_pitch = float(site.layout.rack_pitch_m.value), float(site.layout.row_pitch_m.value)
    known = site.rack.depth_mm if site.rack else None
    depth = min(float(known.value) / _MILLIMETRES, row_pitch) if known else row_pitch / 2
    rack = max(pitch * metre, _NARROWEST)
    return _Scale(rack, max(depth * metre, _NARROWEST), max(row_pitch * metre, _FLOOR_LINE))


def _rows_shown(rows: Sequence[Sequence[RackBlock]], most: int) -> list[int]:
    """Return the rows to draw: all, or the first ones, the first with other than compute racks, and the last."""
    count = len(rows)
    other = next((number for number, row in enumerate(rows, 1) if any(block.kind != COMPUTE for block in row)), 1)
    half = (most - _GAPS) // 2
    if count <= most or half < 1 or other <= most - 2:
        return [number for number, more in elide(count, most) if not more]
    middle = range(other, min(other + half, count))
    return [*range(1, half + 1), *middle, count]


def _row(canvas: Canvas, language: Language, number: int, blocks: Sequence[RackBlock], y: float, scale: _Scale) -> None:
    middle = y + scale.depth / 2
    name = language.word("ui-floor-row", number=number)
    canvas.words("row", 0, middle, fit_words(name, _LABEL, True), _LABEL, anchor="start", strong=True)
    racks = [(block.kind, block.first + index) for block in blocks for index in range(block.racks)]
    room = WIDTH - _LABEL
    fits = int(room // scale.rack) if len(racks) * scale.rack <= room + 1 else int((room - _MORE) // scale.rack)
    x = float(_LABEL)
    for place, more in elide(len(racks), max(fits, 2) + 1 if len(racks) > fits else len(racks)):
        if more:
            canvas.rectangle("rack", x, y, _MORE, scale.depth, dashed=True, corner=1)
            canvas.words("more", x + _MORE / 2, middle, f"+{place}", _MORE, largest=_SIZE)
        else:
            _rack(canvas, *racks[place - 1], x, y, scale)
        x += _MORE if more else scale.rack
    parts = (f"{block.racks} {language.word(f'rack-{block.kind}')}" for block in blocks)
    canvas.spoken.append(f"{name}: {', '.join(parts)}")


def _rack(canvas: Canvas, kind: str, number: int, x: float, y: float, scale: _Scale) -> None:
    _footprint(canvas, "rack", kind, x, y, scale.rack, scale.depth, 0)
    turned = text_width(f"{number}", _SIZE) > scale.rack - 2
    room = scale.depth if turned else scale.rack
    size = min(_SIZE, scale.rack - 2)
    canvas.words("number", x + scale.rack / 2, y + scale.depth / 2, f"{number}", room, turned=turned, largest=size)


def _footprint(
    canvas: Canvas, name: str, kind: str, x: float, y: float, width: float, height: float, corner: int
) -> None:
    """Draw the place of a rack, or its sign in the key, in the look of its kind."""
    free = kind == FREE_RACK
    canvas.rectangle(name, x, y, width, height, dashed=free, filled=not free, tone=_TONES[kind], corner=corner)


def _more_rows(
    canvas: Canvas,
    language: Language,
    span: tuple[int, int],
    rows: Sequence[Sequence[RackBlock]],
    y: float,
    scale: _Scale,
) -> None:
    first, last = rows[0][0].first, rows[-1][-1].first + rows[-1][-1].racks - 1
    racks = f"{language.integer(first)}–{language.integer(last)}"
    numbers = "–".join(map(language.integer, dict.fromkeys(span)))
    text = language.word("ui-floor-more-rows", rows=numbers, racks=racks)
    canvas.rectangle("rack", _LABEL, y, WIDTH - _LABEL - 1, scale.depth, dashed=True, corner=1)
    canvas.words("more", (WIDTH + _LABEL) / 2, y + scale.depth / 2, text, WIDTH - _LABEL)
    canvas.spoken.append(text)


def _legend(canvas: Canvas, language: Language, elevations: Elevations, y: float) -> None:
    kinds = {block.kind for row in elevations.rows for block in row}
    for index, kind in enumerate(kind for kind in _TONES if kind in kinds):
        x = index * _KEY_PITCH
        _footprint(canvas, "key", kind, x, y - _KEY / 2, _KEY, _KEY, 1)
        name = language.word(f"rack-{kind}")
        text = name[:1].upper() + name[1:]
        canvas.words("key", x + _KEY + _KEY / 2, y, text, _KEY_PITCH - 2 * _KEY, anchor="start")
