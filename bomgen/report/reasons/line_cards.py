"""Why a modular switch is fitted with so many line cards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bomgen.catalog.chassis import LINE_CARDS
from bomgen.core.provenance import Derived, Figure
from bomgen.design.assembly import BuiltFabric
from bomgen.fabric.line_cards import CardUse, FittedTier
from bomgen.report.reasons.types import PLAN, RULE, Asked, Other, Reason, Topic, counted


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
    part = f" ({use.identity.id})" if use.identity else ""
    chosen = f"{counted(each.value, 'line card')}{part} in each {fitted.switch.name}"
    because = "the plan says so" if place else "as many as the links of the fullest switch of the tier need"
    others = []
    given = dict(each.inputs) if isinstance(each.origin, Derived) else {}
    if per_card := given.get("links_per_card"):
        wanted = sum(given[end].value for end in ("down", "up") if end in given)
        fewer = int((each.value - 1) * per_card.value)
        others.append(Other(counted(each.value - 1, "line card"), f"hold {fewer} links, {wanted} are needed"))
    if fitted.free_slots:
        reason = f"would add {counted(fitted.free_slots.value, 'port')} that nothing is plugged into"
        others.append(Other("a line card in every slot", reason))
    subject = f"fabrics.{built.plan.name}.chassis.{fitted.tier}.{LINE_CARDS}"
    return Reason(subject, chosen, PLAN if place else RULE, because, place, tuple(others))
