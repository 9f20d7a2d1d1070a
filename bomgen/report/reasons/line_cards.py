"""Why a modular switch is fitted with so many line cards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bomgen.catalog.switch_records import LINE_CARDS
from bomgen.core.messages import message
from bomgen.core.provenance import Derived, Figure
from bomgen.design.assembly import BuiltFabric
from bomgen.fabric.line_cards import CardUse, FittedTier
from bomgen.report.reasons.types import PLAN, RULE, Asked, Other, Reason, Topic


def topics(asked: Asked) -> Iterator[Topic]:
    """The line cards of every tier of modular switches."""
    for built in asked.report.design.fabrics:
        name = built.plan.name
        for fitted in built.chassis:
            for use in fitted.uses:
                if use.kind == LINE_CARDS and use.each:
                    subject = f"fabrics.{name}.chassis.{fitted.tier}.{LINE_CARDS}"
                    covers = (f"{name}.switch.{fitted.tier}.line-cards",)
                    yield Topic(subject, covers, partial(_reason, asked, built, fitted, use, use.each))


def _reason(asked: Asked, built: BuiltFabric, fitted: FittedTier, use: CardUse, each: Figure) -> Reason:
    place = asked.given("fabrics", built.plan.name, fitted.tier, LINE_CARDS)
    cards = {"cards": each.value, "switch": fitted.switch.name}
    chosen = (
        message("line-cards-of", id=use.identity.id, **cards) if use.identity else message("line-cards-each", **cards)
    )
    because = message("because-plan" if place else "because-links-of-fullest")
    others = []
    given = dict(each.inputs) if isinstance(each.origin, Derived) else {}
    if per_card := given.get("links_per_card"):
        wanted = sum(given[end].value for end in ("down", "up") if end in given)
        fewer = int((each.value - 1) * per_card.value)
        reason = message("not-enough-cards", links=fewer, needed=wanted)
        others.append(Other(message("count-cards", cards=each.value - 1), reason))
    if fitted.free_slots:
        reason = message("not-empty-cards", ports=fitted.free_slots.value)
        others.append(Other(message("cards-everywhere"), reason))
    subject = f"fabrics.{built.plan.name}.chassis.{fitted.tier}.{LINE_CARDS}"
    title = message("choice-line-cards", fabric=built.plan.name, tier=fitted.tier)
    return Reason(subject, title, chosen, PLAN if place else RULE, because, place, tuple(others))
