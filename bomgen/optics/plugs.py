"""What the links of one kind have in the cages at an end, and which of them may share a cage.

Both the count of modules and the cable list follow these rules: there is no other place that says what is in a cage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bomgen.catalog.parts import ANY
from bomgen.optics.compatibility import Cage
from bomgen.optics.types import RJ45, Medium

FIXED_FORMS = ("mpo", RJ45)
"""Forms of cage that take the plug of a cable without a module."""


class Plug(NamedTuple):
    """What links have in a cage."""

    part: str | None
    """Id of the module, of the cable with fixed ends, or the form of a fixed cage; None: no part is known."""
    links: int = 1
    """Links that one piece in a cage carries; 1: each link has a piece of its own."""
    links_of_cable: int = 1
    """Links of one cable, which are neighbours in a cage."""
    planning: bool = False
    """Whether it stands for any part of its rate."""


UNKNOWN = Plug(None)


class Socket(NamedTuple):
    """Where one link is plugged in."""

    cage: int
    lane: int
    """Place in the cage, from 0."""


class TooFewCages(Exception):
    """The links of a switch fill more cages than it has; `kind` is the kind of link that finds no more."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


def plug_at(medium: Medium | None, cage: Cage, upper: bool) -> Plug:
    """What a medium has in a cage at its upper or its lower end."""
    if medium is None:
        return UNKNOWN
    links = int(medium.cable.links.value) if medium.cable else 1
    module = medium.upper if upper else medium.lower
    if cage.form in FIXED_FORMS:
        return Plug(cage.form, 1, links)
    if module is not None:
        return Plug(module.identity.id, int(module.ports.value), links, module.identity.generic)
    end = medium.cable and (medium.cable.a if upper else medium.cable.b)
    if not medium.cable or end is None or end.cage == ANY:
        return Plug(medium.cable.identity.id if medium.cable else None, planning=True)
    return Plug(medium.cable.identity.id, end.ports, links)


def without_fixed_modules(medium: Medium, lower: Cage, upper: Cage) -> Medium:
    """A medium without modules where the cage takes the plug of the cable: its optics are in the device."""
    return medium._replace(
        lower=None if lower.form in FIXED_FORMS else medium.lower,
        upper=None if upper.form in FIXED_FORMS else medium.upper,
    )


def may_share(one: Plug, other: Plug, tight: bool = False) -> bool:
    """Whether links with two plugs may be in one cage: in the same module, a cable each, or where no part is known.

    Where cages are `tight`, planning parts stand side by side, because they are never refused for a cage.
    """
    if None in (one.part, other.part) or (tight and one.planning and other.planning):
        return True
    return one == other and one.links_of_cable == 1


class LeafShares(NamedTuple):
    """How the links of servers and of other machines share the cages of a leaf, in groups that are built alike."""

    plugs: tuple[Plug, ...]
    """By group: what its links have in a cage; the first is that of the servers."""
    groups: tuple[int, ...]
    """By kind of other machines: its group."""
    sockets: tuple[Socket, ...]
    """The ports of a leaf that face down, and behind them those of idle cages, for parts that share none."""
    closed: int
    """The first of them whose cage holds links up as well, and so nothing but what the servers have."""
    down: int
    """Ports of the leaf that face down."""

    def first_ports(self, links: Sequence[int]) -> list[int]:
        """The first port of every group that has so many links on a leaf, groups one after the other.

        A group continues in the cage where the last one ends if both may share it, else it begins the next cage; hosts
        without a known part come last. Raises TooFewCages.
        """
        try:
            return self._place(links)
        except TooFewCages:
            return self._place(links, tight=True)

    def _place(self, links: Sequence[int], tight: bool = False) -> list[int]:
        plugs, sockets = self.plugs, self.sockets
        found, taken, last = [0] * len(plugs), 0, plugs[0]
        for group in sorted(range(len(plugs)), key=lambda group: group > 0 and plugs[group].part is None):
            if not links[group]:
                continue
            if taken and not may_share(last, plugs[group], tight):
                taken = next((place for place in range(taken, len(sockets)) if not sockets[place].lane), len(sockets))
            found[group], last = taken, plugs[group]
            taken += links[group]
            # Beside links up stands what the servers have; where nobody knows that, no known part.
            beside = last.part is None or (plugs[0].part is not None and may_share(plugs[0], last, tight))
            if taken > (self.closed if group and not beside else len(sockets)):
                raise TooFewCages(f"{sum(links)} links with different parts")
        return found


def count_pieces(plug: Plug, sockets: Iterable[Socket]) -> int:
    """Modules, or plugs of cables, in the sockets of some links."""
    return len({socket.cage for socket in sockets}) if plug.links > 1 else sum(1 for _ in sockets)


def count_cables(plug: Plug, sockets: Iterable[Socket]) -> int:
    """Cables that begin in the sockets of some links."""
    if plug.links_of_cable == 1:
        return sum(1 for _ in sockets)
    return len({(socket.cage, socket.lane // plug.links_of_cable) for socket in sockets})
