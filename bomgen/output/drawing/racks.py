"""Racks seen from the front, and the floor seen from above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bomgen.core.language import Language
from bomgen.output.drawing.canvas import WIDTH, Canvas, fit_words
from bomgen.results.elevations.types import TRAY, Elevation, Elevations, Slot, named_text, pdu_words, spans_text

MOST_DRAWN = 9
"""Racks that are drawn of those that differ; a reader looks the others up in the table."""
BESIDE = 3
"""Racks side by side in a drawing: names are read on a printed page."""
_SPACE = 14
_UNIT = 11
_TALLEST = 620
"""Rack units are drawn smaller where a rack would be higher than this, so that it fits a page."""
_NUMBERS = 20
"""Room for the numbers of the units, left of a rack."""
_STRIP = 13
"""Width of a PDU beside a rack."""
_MOST_STRIPS = 6
_LINE = 13
_INSET, _HALF = 2, 0.5
"""Between the side of a rack and what is written in it; half of the line between two devices."""
_NAME_SIZE, _WORD_SIZE, _SMALL_SIZE = 12, 10, 8
_HEADING = 40
"""Above a rack: which ones it stands for, and where."""
_TWO_LINES = 30
"""A box of that height has room for a name and a product below each other."""
_MOST_SPANS = 4
_LIGHT, _DARK = 0.07, 0.22
"""How dark devices and PDUs are filled."""
_TITLE, _BODY = "rack-title", "rack-text"


def racks_to_draw(found: Elevations) -> tuple[Elevation, ...]:
    """The racks that are drawn: those of which there are most, in the order of the floor."""
    order = sorted(range(len(found.groups)), key=lambda index: (-found.groups[index].number, index))
    return tuple(found.groups[index] for index in sorted(order[:MOST_DRAWN]))


def rack_svgs(found: Elevations, language: Language, name: str = "racks") -> Iterator[tuple[str, str]]:
    """The drawings of the racks, some of them side by side in each: title and SVG element.

    The name makes their ids unique within a page.
    """
    drawn = racks_to_draw(found)
    for start in range(0, len(drawn), BESIDE):
        beside = drawn[start : start + BESIDE]
        canvas = Canvas()
        room = (WIDTH - (BESIDE - 1) * _SPACE) / BESIDE
        for position, group in enumerate(beside):
            _Front(canvas, language, group, position * (room + _SPACE), room).draw()
        title = language.word(
            "ui-racks-drawn", racks="; ".join(spans_text(group.racks, _MOST_SPANS) for group in beside)
        )
        yield title, canvas.text(f"{name}-{start // BESIDE + 1}", title, False)


class _Front:
    """One rack in the making, in a column of the drawing."""

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
        """The rack with its heading, and what it draws and weighs below."""
        group, word = self.group, self.language.word
        racks = spans_text(group.racks, _MOST_SPANS)
        title = word("ui-racks-number" if group.number > 1 else "ui-rack-number", racks=racks)
        kind = word(f"rack-{group.kind}")
        below = word("ui-racks-alike", number=self.language.integer(group.number), kind=kind)
        self._line(0, title, strong=True)
        self._line(1, below if group.number > 1 else kind)
        self.canvas.rectangle(
            "rack", self.left, self.floor - self.units * self.pitch, self.width, self.units * self.pitch, corner=0
        )
        for unit in range(1, self.units + 1):
            y = self._top(unit, 1) + self.pitch / 2
            size = min(_SMALL_SIZE, self.pitch - 1)
            self.canvas.words("unit", self.left - 2, y, f"{unit}", _NUMBERS, anchor="end", largest=size)
        for slot in group.slots:
            self._slot(slot)
        for pdu in group.pdus:
            if pdu.unit is not None:
                self._box(pdu.unit, pdu.height_u, pdu_words(self.language, pdu), "", _DARK)
        self._free()
        self._hung()
        self._sums()
        self.canvas.spoken.append(", ".join((title, kind, *map(_describe_slot, group.slots))))

    def _line(self, number: int, text: str, strong: bool = False) -> None:
        y = _LINE / 2 + number * _LINE + 2
        size = _NAME_SIZE if strong else _WORD_SIZE
        text = fit_words(text, self.room)
        self.canvas.words(_TITLE, self.x + 1, y, text, self.room, anchor="start", largest=size, strong=strong)

    def _top(self, unit: int, height: int) -> float:
        return self.floor - (unit + height - 1) * self.pitch

    def _box(self, unit: int, height: int, name: str, product: str, tone: float = _LIGHT) -> None:
        """A device: name and product below each other where it is high enough, else beside each other."""
        canvas, top, high = self.canvas, self._top(unit, height), height * self.pitch
        canvas.rectangle(
            "device", self.left + 1, top + _HALF, self.width - 2, high - 1, filled=True, corner=1, tone=tone
        )
        middle, x = top + high / 2, self.left + self.width / 2
        lines = [name, product] if high >= _TWO_LINES and product else [" · ".join(filter(None, (name, product)))]
        size = min(_WORD_SIZE, high / len(lines) - 2)
        for index, line in enumerate(lines):
            y = middle + (index - (len(lines) - 1) / 2) * min(_LINE, high / len(lines))
            canvas.words(
                "device-name", x, y, fit_words(line, self.width - 2 * _INSET), self.width - 2 * _INSET, largest=size
            )

    def _slot(self, slot: Slot) -> None:
        """The pieces of a slot, each for itself."""
        product = slot.identity.name if slot.identity else ""
        if slot.unit is None or slot.height_u is None:
            return
        for number, named in enumerate(slot.boxes):
            self._box(slot.unit + number * slot.height_u, slot.height_u, named_text(named), product)

    def _free(self) -> None:
        """What is left free; machines that stand somewhere in the rack are named there."""
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
            lines = list(self._somewhere(somewhere)) if held else [self._free_words(first, last)]
            self._centred(lines, top + high / 2, high)

    def _free_words(self, first: int, last: int) -> str:
        return self.language.word("ui-units-free", units=self.language.value(last - first + 1, "U"))

    def _somewhere(self, slots: Sequence[Slot]) -> Iterator[str]:
        """Machines of which only the rack is known."""
        word = self.language.word
        for slot in slots:
            name = slot.identity.name if slot.identity else slot.device
            yield word("ui-trays" if slot.device == TRAY else "ui-pieces", number=slot.pieces, name=name)
            yield named_text((slot.boxes[0][0], slot.boxes[-1][1]))
        yield word("ui-unit-unknown")

    def _centred(self, lines: Sequence[str], middle: float, high: float) -> None:
        """Lines around a height, as many as there is room for."""
        shown = lines[: max(1, int(high // _LINE))]
        for index, line in enumerate(shown):
            y = middle + (index - (len(shown) - 1) / 2) * _LINE
            size = min(_WORD_SIZE, high - 1)
            x = self.left + self.width / 2
            self.canvas.words("free", x, y, fit_words(line, self.inside), self.inside, largest=size)

    def _hung(self) -> None:
        """The PDUs beside the units, with their names and feeds upright."""
        high = self.units * self.pitch
        top, x = self.floor - high, self.left + self.width
        for number, pdu in enumerate(self.beside[: self.strips]):
            left = x + number * _STRIP
            self.canvas.rectangle("pdu", left + 1, top, _STRIP - 2, high, filled=True, tone=_DARK, corner=1)
            text = fit_words(pdu_words(self.language, pdu), high)
            self.canvas.words("pdu", left + _STRIP / 2, top + high / 2, text, high, turned=True, largest=_SMALL_SIZE)

    def _sums(self) -> None:
        """What one of these racks holds, draws and weighs, as far as it is known."""
        lines = list(describe_sums(self.group, self.language))
        for number, line in enumerate(lines):
            y = self.floor + _LINE * (number + 1)
            text = fit_words(line, self.room)
            self.canvas.words(_BODY, self.x + 1, y, text, self.room, anchor="start", largest=_WORD_SIZE)
        self.canvas.bottom = max(self.canvas.bottom, self.floor + _LINE * len(lines) - _LINE)


def describe_sums(group: Elevation, language: Language) -> Iterator[str]:
    """What one of equal racks holds, draws and weighs, in lines."""
    sums, word = group.sums, language.word

    def least(name: str, text: str) -> str:
        return word("ui-at-least", amount=text) if name in sums.lower_bounds else text

    if sums.units_used:
        used = language.integer(int(sums.units_used.value))
        yield word("ui-units-used", used=used, units=language.value(group.units, "U"))
    if sums.power_w and sums.heat:
        power, heat = language.shown(sums.power_w), language.value(round(sums.heat.value), "BTU/h")
        yield least("power_w", word("ui-rack-power", power=power, heat=heat))
    if sums.weight_kg:
        yield least("weight_kg", language.value(sums.weight_kg.value, "kg"))
    if group.pdus:
        feeds = ", ".join(group.feeds)
        key = "ui-rack-pdus-on-feeds" if feeds else "ui-rack-pdus"
        yield word(key, number=len(group.pdus), feeds=feeds)


def _describe_slot(slot: Slot) -> str:
    name = slot.identity.name if slot.identity else slot.device
    place = "" if slot.unit is None else f" (U{slot.unit}–{slot.top})"
    return f"{slot.pieces} × {name}{place}"
