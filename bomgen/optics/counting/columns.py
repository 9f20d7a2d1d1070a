"""Modules and cables of the links of a folded Clos for many numbers of servers at once.

What one switch holds follows from its ports in use down and up, by the cages of `port_map`; each such pair is looked up
once, whatever number of fabrics has switches like that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.catalog.parts import Switch
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.counts import Kinds
from bomgen.optics.plugs import Plug, TooFewCages
from bomgen.optics.port_map import PortDemand, PortMap, filled_places, map_ports

BASE = 1 << 15
"""No switch has as many ports: what four numbers of ports are packed into one number with."""
Integers = NDArray[np.int64]


class TierLinks(NamedTuple):
    """The kinds of link of a tier's switches: that down, and that up where there is a tier above."""

    kinds: tuple[str, ...]
    rates: tuple[Figure, ...]
    plugs: tuple[Plug, ...]


class PieceCounter:
    """Counts pieces in the switches of one tier."""

    def __init__(self, switch: Switch, links: TierLinks) -> None:
        self.switch, self.links = switch, links
        self._maps: dict[tuple[int, int], Mapping[str, PortMap] | None] = {}
        self._pieces: dict[tuple[int, ...], int] = {}

    def has_cages(self, down: Integers, up: Integers) -> NDArray[np.bool_]:
        """Whether a switch with so many ports down and up has the cages for them, a row each."""
        unique, inverse = np.unique(down * BASE + up, return_inverse=True)
        found = [self._map(*divmod(key, BASE)) is not None for key in unique.tolist()]
        return np.array(found, np.bool_)[inverse]

    def count(self, place: int, links_per_piece: int, down: Integers, up: Integers, kinds: Kinds) -> Integers:
        """Pieces of the links down (place 0) or up (1) in all switches of the tier, a row each.

        `down` and `up` are the ports of a fully connected switch, `kinds` those in use on the switches there are.
        """
        if links_per_piece == 1:
            ports = kinds.up if place else kinds.down
        else:
            full = (down * BASE + up) * BASE
            packed = np.where(kinds.switches > 0, (full + kinds.down) * BASE + kinds.up, -1)
            unique, inverse = np.unique(packed, return_inverse=True)
            found = [0 if key < 0 else self._on_switch(place, links_per_piece, key) for key in unique.tolist()]
            ports = np.array(found, np.int64)[inverse].reshape(packed.shape)
        counted: Integers = (kinds.switches * ports).sum(axis=0)
        return counted

    def _on_switch(self, place: int, links_per_piece: int, packed: int) -> int:
        key = (place, links_per_piece, packed)
        if key not in self._pieces:
            packed, up_used = divmod(packed, BASE)
            packed, down_used = divmod(packed, BASE)
            self._pieces[key] = self._count_on_switch(
                place, links_per_piece, *divmod(packed, BASE), (down_used, up_used)
            )
        return self._pieces[key]

    def _count_on_switch(self, place: int, links_per_piece: int, down: int, up: int, used: tuple[int, int]) -> int:
        maps = self._map(down, up)
        if maps is None:
            return 0
        kinds, plugs = self.links.kinds, self.links.plugs
        found = filled_places(maps[kinds[place]], used[place], links_per_piece)
        if place and plugs[0] == plugs[1]:
            found -= filled_places(maps[kinds[0]], used[0], links_per_piece)
        return len(found)

    def _map(self, down: int, up: int) -> Mapping[str, PortMap] | None:
        """The ports of a switch; None where its links fill more cages than it has."""
        if (down, up) not in self._maps:
            ports = zip(self.links.kinds, (down, up), self.links.rates, self.links.plugs, strict=False)
            wanted = [
                PortDemand(kind, count, rate, plug, bool(at)) for at, (kind, count, rate, plug) in enumerate(ports)
            ]
            self._maps[down, up] = _mapped(self.switch, wanted)
        return self._maps[down, up]


def _mapped(switch: Switch, wanted: list[Any]) -> Mapping[str, PortMap] | None:
    try:
        return map_ports(switch, wanted)
    except TooFewCages:
        return None
