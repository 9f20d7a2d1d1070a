"""What each category of a bill costs, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from bomgen.core.language import Language
from bomgen.output.drawing.amounts import Bar, Bars, bar_svg
from bomgen.pricing.breakdown import Part


def cost_svg(parts: Sequence[Part], currency: str, language: Language, title: str) -> str:
    """A bar for every category, as long as its share, with its amount and share behind it, as an SVG element."""
    groups = [
        Bars(
            language.word(f"category-{part.category}"),
            (Bar(None if part.amount is None else part.share, _text(part, currency, language)),),
        )
        for part in parts
    ]
    return bar_svg(groups, "costs", title)


def _text(part: Part, currency: str, language: Language) -> str:
    """What stands behind a bar."""
    if part.amount is None:
        return language.word("ui-no-price")
    amount = language.money(part.amount, currency)
    if not part.complete:
        amount = language.word("ui-at-least", amount=amount)
    return f"{amount} · {language.rough_share(part.share)}"
