"""What each category of a bill costs, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from bomgen.core.language import Language
from bomgen.output.drawing.canvas import LEFT, LINE, RIGHT, WIDTH, Canvas, text_width
from bomgen.pricing.breakdown import Part

_PITCH = 34
"""From bar to bar."""
_HEIGHT = 18
_GAP = 8
"""Between a bar and what is written behind it."""
_SHORTEST = 1.5
"""A bar that stands for some money is seen, however little it is."""
_TONE = 0.55
_SIZE = 12
_NAME_SIZE = 13
_BOLD = 1.1
"""How much wider bold letters are."""


def cost_svg(parts: Sequence[Part], currency: str, language: Language, title: str) -> str:
    """A bar for every category, as long as its share, with its amount and share behind it, as an SVG element."""
    canvas = Canvas()
    texts = [_text(part, currency, language) for part in parts]
    names = [language.word(f"category-{part.category}") for part in parts]
    left = min(max(text_width(name, _NAME_SIZE) * _BOLD for name in names) + 2 * _GAP, LEFT)
    room = RIGHT - left - max(text_width(text, _SIZE) for text in texts) - _GAP
    longest = max((part.share for part in parts), default=Fraction(0)) or 1
    for index, (part, name, text) in enumerate(zip(parts, names, texts, strict=True)):
        middle = LINE + index * _PITCH
        canvas.words("cost-name", 0, middle, name, left, anchor="start", largest=_NAME_SIZE, strong=True)
        end = left
        if part.amount is not None:
            width = max(float(part.share / longest) * room, _SHORTEST)
            bar = (left, middle - _HEIGHT / 2, width, _HEIGHT)
            canvas.rectangle("bar", *bar, filled=True, tone=_TONE, corner=2)
            end = left + width + _GAP
        canvas.words("cost", end, middle, text, WIDTH - end, anchor="start", largest=_SIZE)
        canvas.spoken.append(f"{name}: {text}")
    canvas.bottom = LINE + (len(parts) - 1) * _PITCH
    return canvas.text("costs", title, False)


def _text(part: Part, currency: str, language: Language) -> str:
    """What stands behind a bar."""
    if part.amount is None:
        return language.word("ui-no-price")
    amount = language.money(part.amount, currency)
    if not part.complete:
        amount = language.word("ui-at-least", amount=amount)
    return f"{amount} · {language.rough_share(part.share)}"
