"""Why a kind of link is built of these modules and cables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bomgen.core.messages import ENGLISH, Message, message, read_language
from bomgen.core.money import rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.optics.counting.uses import Chosen
from bomgen.optics.types import MediumOption, metres
from bomgen.report.reasons.types import PLAN, RULE, Asked, Other, Reason, Topic

BY_PLAN = ("named", "asked", "copper")
"""Reason codes of what the plan decides."""


def topics(asked: Asked) -> Iterator[Topic]:
    """Every kind of link of every fabric."""
    for built in asked.report.design.fabrics:
        for chosen in built.interconnect.choices:
            name, kind = built.plan.name, chosen.kind
            devices = [use.device for use in built.interconnect.modules if use.kind == kind]
            covers = (
                *(f"{name}.{sort}.{kind}" for sort in ("transceiver", "cable", "adapter")),
                *(f"fabrics.{name}.{sort}.{kind}" for sort in ("cables", "links")),
                *(f"fabrics.{name}.transceivers.{device}" for device in devices),
            )
            yield Topic(f"fabrics.{name}.links_chosen.{kind}", covers, partial(_reason, asked, built, chosen))


def _reason(asked: Asked, built: BuiltFabric, chosen: Chosen) -> Reason:
    words, spec = asked.words, built.plan.links[chosen.kind]
    option = words.value(chosen.option, "word")
    of_parts = f" ({', '.join(chosen.parts)})" if chosen.parts else ""
    alike = built.interconnect.server_group(chosen.kind)
    reason = words.word(f"chosen-{chosen.reason}")
    because = message("because-at-length", reason=reason, length=metres(alike.length_m)) if alike else reason
    place = asked.given("fabrics", built.plan.name, "links", chosen.kind)
    by_plan = chosen.reason in BY_PLAN
    return Reason(
        f"fabrics.{built.plan.name}.links_chosen.{chosen.kind}",
        message("choice-medium", fabric=built.plan.name, links=chosen.kind),
        f"{option}{of_parts}{_cost(asked, chosen)}",
        PLAN if by_plan else RULE,
        because,
        (place or spec.mark) if by_plan else None,
        tuple(Other(words.value(each.name, "word"), _why_not(asked, each)) for each in chosen.others),
    )


def rejection(option: MediumOption) -> Message:
    """Return why an option for building a kind of link was not chosen."""
    code = f"rejected-{option.reason}"
    return message(code if code in read_language(ENGLISH)["messages"] else "rejected-rule", detail=option.detail)


def _why_not(asked: Asked, option: MediumOption) -> str:
    return f"{asked.words.message(rejection(option))}{_cost(asked, option)}"


def _cost(asked: Asked, option: MediumOption | Chosen) -> str:
    if option.cost is None:
        return ""
    currency = asked.report.quote.totals.currency
    return asked.words.word("cost-of-link", amount=asked.words.money(rounded(option.cost, currency), currency))
