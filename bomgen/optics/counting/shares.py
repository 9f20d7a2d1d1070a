"""Links that are built alike: what is said of them, and what is plugged in at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from bomgen.catalog.parts import ANY, Identity, Module
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, known
from bomgen.fabric.types import Links
from bomgen.optics.compatibility import Cage, Unbuildable
from bomgen.optics.counting.cages import Plugged
from bomgen.optics.counting.formulas import modules_of_servers, sum_of_modules
from bomgen.optics.counting.uses import Chosen
from bomgen.optics.selection import AUTO, RJ45, Choice, Medium, Span, Stock, Wish, choose

FIXED = ("mpo", RJ45)
"""What takes a plug without a module."""


class Share(NamedTuple):
    """The links of one kind that are built alike: those of the servers or, with cages of their own, of others."""

    links: Figure
    lower: Cage
    rate: Figure
    machines: tuple[tuple[Figure, Figure], ...]
    """At the server end: how many, and the ports of each."""
    medium: Medium | None
    others: tuple[int, ...] | None = None
    """The other machines that they belong to, by their place among all; None: servers, and whatever plugs in alike."""

    @property
    def apart(self) -> bool:
        """Whether they are those of other machines."""
        return self.others is not None


def part_above(medium: Medium | None) -> str | None:
    """The part that fills cages of the upper device; None where it takes a port each, or none is known."""
    if medium is None:
        return None
    if medium.upper is not None:
        return medium.upper.identity.id if medium.upper.ports.value > 1 else None
    cable = medium.cable
    return cable.identity.id if cable and cable.links.value > 1 and not cable.identity.generic else None


def planned(medium: Medium | None) -> bool:
    """Whether a planning part is plugged into the upper device: it stands for whatever fits, and is never refused."""
    return medium is not None and medium.upper is not None and medium.upper.identity.generic


def same_module(one: Module | None, other: Module | None) -> bool:
    """Whether two modules are the same part, or neither is there."""
    if one is None or other is None:
        return one is other
    return one.identity.id == other.identity.id and one.ports.value == other.ports.value


def same_parts(one: Medium | None, other: Medium | None) -> bool:
    """Whether nothing remains to be said of the parts of a medium once another is described."""
    if one is None or other is None:
        return one is other
    same = same_module(one.lower, other.lower) and same_module(one.upper, other.upper)
    ids = [medium.cable.identity.id if medium.cable else None for medium in (one, other)]
    return same and ids[0] == ids[1]


def without_fibre(links: Links, medium: Medium, receptacles: int) -> Message:
    """That no fibre is known between the modules of a kind of link, and why."""
    ends = [module.ports.value for module in (medium.lower, medium.upper) if module]
    if min(ends) > receptacles:
        return message("no-fibre-panel", kind=links.kind, links=min(ends))
    if max(ends) > receptacles:
        return message("no-fibre-fan-out", kind=links.kind, links=max(ends))
    return message("no-fibre", kind=links.kind)


def pieces_of_machines(machines: Sequence[tuple[Figure, Figure]], links_per_piece: Figure) -> Figure:
    """Modules of machines of several kinds, each of which rounds up for itself."""
    total: Figure | None = None
    for pieces, ports in machines:
        count = modules_of_servers(pieces, ports, links_per_piece)
        total = count if total is None else sum_of_modules(total, count)
    return known(total, "no machines")


def for_others(wish: Wish, span: Span, stock: Stock) -> Medium | None:
    """How the links of machines are built that plug in otherwise than the servers, for which the plan's wish is.

    As the plan wishes where that fits them, else without the module of the server end, else whatever does.
    """
    ends = {end: part for end, part in wish.modules.items() if end != span.lower.device}
    open_wish = wish._replace(medium=Figure(AUTO, "word", wish.medium.origin), modules={}, fibre=None)
    for each in (wish, wish._replace(modules=ends), open_wish, open_wish._replace(share_cages=())):
        with suppress(Unbuildable, LookupError):
            found = choose(each, span, stock).medium
            if found is not None:
                return found
    return None


def chosen_of(kind: str, choice: Choice) -> Chosen:
    """What was chosen for a kind of link, as data."""
    medium = choice.medium
    parts = [part.identity.id for part in (medium.lower, medium.upper, medium.cable) if part] if medium else []
    return Chosen(
        kind, medium.way if medium else None, choice.reason, tuple(dict.fromkeys(parts)), choice.cost, choice.others
    )


def unavailable(identity: Identity, kind: str) -> Message:
    """That a part cannot be ordered, and that another of a kind is to be named."""
    return message(f"part-{identity.availability}", name=identity.part_number or identity.id, kind=kind)


def plugged_by(links: Links, span: Span, medium: Medium | None) -> tuple[tuple[Cage, Plugged], ...]:
    """What is in the cages of both ends of a kind of link, the lower end first."""
    found = []
    for cage in (span.lower, span.upper):
        part, carried = None, 1
        module = None if medium is None else medium.lower if cage is span.lower else medium.upper
        if cage.form in FIXED:
            part = cage.form
        elif module is not None and module.cage != ANY:
            part, carried = module.identity.id, int(module.ports.value)
        elif medium is not None and module is None and medium.cable is not None:
            end = medium.cable.b if cage is span.lower else medium.cable.a
            if end is not None and end.cage != ANY:
                part, carried = medium.cable.identity.id, end.ports
        found.append((cage, Plugged(links, part, carried)))
    return tuple(found)


End = TypeVar("End")


def at_ends(links: Links, lower: End, upper: End) -> tuple[End, ...]:
    """What is at the ends of a kind of link; where both are devices of one kind, once."""
    return (lower,) if links.beside else (lower, upper)


def refuse_several_links(links: Links, medium: Medium | None) -> None:
    """Raise Unbuildable for a cable of several links where every two switches have but one."""
    if links.beside and medium and medium.cable and medium.cable.links.value > 1:
        name, count = medium.cable.identity.id, medium.cable.links.value
        message = f"{name} carries {count} links between two devices, {links.kind} links join every two switches singly"
        raise Unbuildable(f"{message}; name a cable of one link, or `medium: auto`", "ports")
