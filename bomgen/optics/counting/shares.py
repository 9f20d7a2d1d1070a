"""Groups of link ends that are built the same way: what they are built of and what is plugged in at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from bomgen.catalog.parts import Module
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, require
from bomgen.fabric.types import Links
from bomgen.optics.compatibility import Cage, Unbuildable
from bomgen.optics.counting.formulas import modules_of_servers, sum_of_modules
from bomgen.optics.counting.uses import Chosen
from bomgen.optics.selection import choose
from bomgen.optics.types import AUTO, Choice, LinkSpec, Medium, PartsLookup, Span


class EndpointGroup(NamedTuple):
    """The links of one kind that are built the same way: of the servers, or of hosts with other cages."""

    links: Figure
    lower: Cage
    rate: Figure
    machines: tuple[tuple[Figure, Figure], ...]
    """At the server end: (number of machines, ports per machine) for each kind."""
    medium: Medium | None
    span: Span
    others: tuple[int, ...] | None = None
    """Indices of the attached hosts that they belong to; None: the servers and all hosts with the same cages."""

    @property
    def separate(self) -> bool:
        """Whether they belong to hosts with other cages than the servers."""
        return self.others is not None


def same_module(one: Module | None, other: Module | None) -> bool:
    """Whether two modules are the same part with the same ports, or both are None."""
    if one is None or other is None:
        return one is other
    return one.identity.id == other.identity.id and one.ports.value == other.ports.value


def same_parts(one: Medium | None, other: Medium | None) -> bool:
    """Whether two media consist of the same parts, so that warnings about one cover the other."""
    if one is None or other is None:
        return one is other
    same = same_module(one.lower, other.lower) and same_module(one.upper, other.upper)
    ids = [medium.cable.identity.id if medium.cable else None for medium in (one, other)]
    return same and ids[0] == ids[1]


def missing_fibre_message(links: Links, medium: Medium, receptacles: int) -> Message:
    """The warning that no fibre is known between the modules of a kind of link, and why."""
    ends = [module.ports.value for module in (medium.lower, medium.upper) if module]
    if min(ends) > receptacles:
        return message("no-fibre-panel", kind=links.kind, links=min(ends))
    if max(ends) > receptacles:
        return message("no-fibre-fan-out", kind=links.kind, links=max(ends))
    return message("no-fibre", kind=links.kind)


def machine_modules(machines: Sequence[tuple[Figure, Figure]], links_per_piece: Figure) -> Figure:
    """Modules of several kinds of machines, rounded up per machine.

    `machines` holds (number of machines, ports per machine). Raises ValueError without machines.
    """
    total: Figure | None = None
    for pieces, ports in machines:
        count = modules_of_servers(pieces, ports, links_per_piece)
        total = count if total is None else sum_of_modules(total, count)
    return require(total, "no machines")


def choose_medium(spec: LinkSpec, span: Span, parts: PartsLookup) -> Medium | None:
    """The medium for hosts with other cages than the servers, for whom the plan's specification is written.

    The first that works of: the specification itself, without its module at the server end, any medium within the
    allowed options, any medium. None when nothing works.
    """
    ends = {end: part for end, part in spec.modules.items() if end != span.lower.device}
    open_spec = spec._replace(medium=Figure(AUTO, "word", spec.medium.origin), modules={}, fibre=None)
    for each in (spec, spec._replace(modules=ends), open_spec, open_spec._replace(allowed_options=())):
        with suppress(Unbuildable, LookupError):
            found = choose(each, span, parts).medium
            if found is not None:
                return found
    return None


def chosen(kind: str, choice: Choice) -> Chosen:
    """A choice for a kind of link as a record of the interconnect."""
    medium = choice.medium
    parts = [part.identity.id for part in (medium.lower, medium.upper, medium.cable) if part] if medium else []
    return Chosen(
        kind, medium.option if medium else None, choice.reason, tuple(dict.fromkeys(parts)), choice.cost, choice.others
    )


End = TypeVar("End")


def distinct_ends(links: Links, lower: End, upper: End) -> tuple[End, ...]:
    """The values at the two ends of a kind of link; only one when both ends are the same kind of device."""
    return (lower,) if links.within_tier else (lower, upper)


def refuse_several_links(links: Links, medium: Medium | None) -> None:
    """Raise Unbuildable for a cable of several links between switches that have only one link to each other."""
    if links.within_tier and links.parallel is None and medium and medium.cable and medium.cable.links.value > 1:
        name, count = medium.cable.identity.id, medium.cable.links.value
        message = (
            f"{name} carries {count} links between two devices, {links.kind} links connect every two switches once"
        )
        raise Unbuildable(f"{message}; name a cable of one link, or `medium: auto`", "ports")
