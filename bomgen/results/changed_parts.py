"""Warnings about part files that change built-in parts: the changes, and links that lose their part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.part_file_checks import in_unit_of_field
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import Message, message
from bomgen.design.assembly import Design, parts_lookup
from bomgen.optics.compatibility import (
    LinkChoice,
    LinkSpec,
    Medium,
    PartsLookup,
    Span,
    Unbuildable,
    cable_reason,
    module_reason,
)
from bomgen.optics.selection import choose
from bomgen.pricing.price_book import PriceBook, part_price
from bomgen.results.reasons import rejection

OF_LINKS = ("transceiver", "cable")
"""Kinds of parts that are selected by their figures."""


def changed_parts(catalog: Catalog, designs: Sequence[Design], books: Sequence[PriceBook]) -> Iterator[Problem]:
    """Yield warnings about user files that change fields of built-in parts in use, at the first changed field."""
    for record in catalog.read():
        if changes := record.changes:
            mark = record.source.key_mark((next(iter(changes)),))
            fields = [_changed_field(record.kind, key, *values) for key, values in changes.items()]
            text = message("changed-part", kind=record.kind, id=record.id, fields=fields)
            yield Problem(mark, "warning", text, "changed-part", record.kind)
            if record.kind in OF_LINKS:
                for text in _lost_links(record, catalog, designs, books):
                    yield Problem(mark, "warning", text, "changed-part", record.kind)


def _changed_field(kind: str, key: str, *values: Any) -> Message | str:
    if any(isinstance(value, dict | list) for value in values):
        return key
    before, now = ("–" if value is None else in_unit_of_field(kind, key, value) for value in values)
    if values[0] is None:
        return message("field-from-unknown", key=key, now=now)
    return message("changed-field", key=key, before=before, now=now)


def _lost_links(
    record: Record, catalog: Catalog, designs: Sequence[Design], books: Sequence[PriceBook]
) -> Iterator[Message]:
    places = dict[tuple[str, str], list[str]]()
    for designed in designs:
        price = part_price(designed.plan.quote, books)
        prefer = str(designed.plan.optics.value)
        before, now = (
            parts_lookup(each)._replace(price=price, prefer=prefer)
            for each in (catalog.without_change(record), catalog)
        )
        for built in designed.fabrics:
            for group in built.interconnect.link_groups:
                spec, span = built.plan.links[group.kind], group.span
                if span and (lost := _lost(record.id, spec, span, before, now)):
                    found = places.setdefault(lost, [])
                    found.append(message("links-of-fabric", fabric=built.plan.name, kind=group.kind))
    for (instead, reason), links in places.items():
        yield message("changed-part-lost", id=record.id, links=dict.fromkeys(links), instead=instead, reason=reason)


def _lost(id: str, spec: LinkSpec, span: Span, before: PartsLookup, now: PartsLookup) -> tuple[str, str] | None:
    """Return the part that replaces one no longer selected, and the reason; None if the link still uses it."""
    with suppress(Unbuildable, LookupError, PlanErrors):
        was, choice = choose(spec, span, before).medium, choose(spec, span, now)
        has = choice.medium.part_ids if choice.medium else ()
        if was and id in was.part_ids and id not in has:
            instead = has[min(was.part_ids.index(id), len(has) - 1)] if has else message("no-part")
            return instead, _why_lost(id, was, span, choice, now)
    return None


def _why_lost(id: str, was: Medium, span: Span, choice: LinkChoice, now: PartsLookup) -> str:
    """Return why a part of a medium is no longer selected: it does not fit, or its option is rejected."""
    rules = now.rules()
    if was.modules:
        ends = ((was.lower, span.lower), (was.upper, span.upper))
        cages = [cage for module, cage in ends if module and module.identity.id == id]
        refused = [module_reason(now.module(id), cage, span.gbps, rules) for cage in cages]
    else:
        refused = [cable_reason(now.cable(id), span.lower, span.upper, span.gbps, rules)]
    reasons = [reason.message for reason in refused if reason]
    reasons += [rejection(option) for option in choice.others if option.name == was.option]
    return reasons[0] if reasons else message("another-preferred")
