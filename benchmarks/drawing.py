"""The history of the ratios as an SVG: a panel a work, a point a result with its interval, the bar as a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from measuring import Middle
from results import Result, kind

ACROSS = 3
WIDTH, HEIGHT, GAP = 300, 190, 16
"""Of a panel [px], and what is left free around it."""
LEFT, TOP, RIGHT, BOTTOM = 34, 34, 12, 34
"""What a panel needs around its field for words."""
DOT = 3.5
STYLE = (
    "text{font:11px sans-serif;fill:#1f2937} .soft{fill:#6b7280;font-size:10px} .title{font-weight:600} "
    ".frame{fill:none;stroke:#d1d5db} .line{fill:none;stroke:#0f766e;stroke-width:1.5} .span{stroke:#0f766e} "
    ".bar{stroke:#b91c1c;stroke-dasharray:4 3} .same{fill:#0f766e} .other{fill:#fff;stroke:#0f766e}"
)
LONGEST = 46
"""Characters of a title that a panel has room for."""
MARGIN = 1.15
"""How much higher than its largest value a panel reaches."""


def drawing(history: Sequence[Result]) -> str:
    """The drawing of results, the oldest first; those on machines of another kind than the last one's are hollow."""
    ids = list(dict.fromkeys(entry["id"] for result in reversed(history) for entry in result["works"]))
    rows = -(-len(ids) // ACROSS)
    width, height = ACROSS * (WIDTH + GAP) + GAP, rows * (HEIGHT + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>Ratios of bomgen's commands to the imports beside them, result by result</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, id in enumerate(ids):
        x, y = GAP + number % ACROSS * (WIDTH + GAP), GAP + number // ACROSS * (HEIGHT + GAP)
        parts += [f'<g transform="translate({x} {y})">', *_panel(id, history), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(id: str, history: Sequence[Result]) -> Iterator[str]:
    """One work over all results; a result without it leaves its place free."""
    points = [(at, result, entry) for at, result in enumerate(history) if (entry := _entry(result, id))]
    _, newest, last = points[-1]
    bar = last["bar"]
    highest = MARGIN * max(bar or 0, *(entry["ratio"][2] for _, _, entry in points))
    field_width, field_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(at: int) -> float:
        return round(LEFT + field_width * (at + 0.5) / len(history), 1)

    def y(ratio: float) -> float:
        return round(TOP + field_height * (1 - max(ratio, 0) / highest), 1)

    yield f'<text class="title" x="0" y="11">{escape(_short(last["what"]))}</text>'
    said = f"{last['ratio'][0]:.2f} x {last['against']}"
    yield f'<text class="soft" x="0" y="25">{escape(_short(said))}</text>'
    yield f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{field_width}" height="{field_height}"/>'
    for ratio in (0, highest / 2, highest):
        yield f'<text class="soft" x="{LEFT - 4}" y="{y(ratio) + 3}" text-anchor="end">{ratio:.3g}</text>'
    if bar:
        yield f'<line class="bar" x1="{LEFT}" x2="{LEFT + field_width}" y1="{y(bar)}" y2="{y(bar)}"/>'
        yield f'<text class="soft" x="{LEFT + 4}" y="{y(bar) - 3}">bar {bar:g}</text>'
    alike = [(at, entry) for at, result, entry in points if kind(result) == kind(newest)]
    way = " ".join(f"{x(at)},{y(entry['ratio'][0])}" for at, entry in alike)
    yield f'<polyline class="line" points="{way}"/>'
    for at, result, entry in points:
        middle = Middle(*entry["ratio"])
        yield f'<line class="span" x1="{x(at)}" x2="{x(at)}" y1="{y(middle.low)}" y2="{y(middle.high)}"/>'
        of_kind = "same" if kind(result) == kind(newest) else "other"
        told = f"{result['date'][:10]} {result['commit']}: {middle.value:.2f} ({middle.low:.2f} to {middle.high:.2f})"
        dot = f'class="{of_kind}" cx="{x(at)}" cy="{y(middle.value)}" r="{DOT}"'
        yield f"<circle {dot}><title>{escape(told)}</title></circle>"
    yield from _days(history, x)


def _days(history: Sequence[Result], x: Any) -> Iterator[str]:
    """The day of the first and the last result, with what they are of."""
    ends = {0: "start", len(history) - 1: "end"} if len(history) > 1 else {0: "middle"}
    for at, anchor in ends.items():
        place = {"start": LEFT, "end": WIDTH - RIGHT, "middle": x(at)}[anchor]
        words = f"{history[at]['date'][:10]} {history[at]['commit']}"
        yield f'<text class="soft" x="{place}" y="{HEIGHT - BOTTOM + 14}" text-anchor="{anchor}">{escape(words)}</text>'


def _entry(result: Result, id: str) -> dict[str, Any] | None:
    return next((entry for entry in result["works"] if entry["id"] == id), None)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
