"""Module and cable counts of a folded Clos for many numbers of servers at once.

The content of one switch follows from its ports in use down and up, by the cages of `port_map`; each such pair is
looked up once, whatever number of fabrics has such switches.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.catalog.parts import Switch
from bomgen.core.exact_vectors import of_each_distinct
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.many import Kinds
from bomgen.optics.cages import CagePlug, PortDemand, PortMap, TooFewCages, filled_places, map_ports

BASE = 1 << 15
"""An exclusive upper bound of a switch's ports, the base for packing four numbers of ports into one."""
Integers = NDArray[np.int64]


class TierLinks(NamedTuple):
    """The kinds of link of a tier's switches: downlinks, and uplinks where there is a tier above."""

    kinds: tuple[str, ...]
    rates: tuple[Figure, ...]
    plugs: tuple[CagePlug, ...]


class PieceCounter:
    """The count of pieces in the switches of one tier."""

    def __init__(self, switch: Switch, links: TierLinks) -> None:
        self.switch, self.links = switch, links
        self._map, self._count_on_switch = cache(self._map_ports), cache(self._count_places)

    def has_cages(self, down: Integers, up: Integers) -> NDArray[np.bool_]:
        """Return whether a switch has the cages for these ports down and up, one row each."""
        return of_each_distinct(down * BASE + up, lambda key: self._map(*divmod(key, BASE)) is not None)

    def count(self, place: int, links_per_piece: int, down: Integers, up: Integers, kinds: Kinds) -> Integers:
        """Return the pieces of the downlinks (place 0) or uplinks (1) in all switches of the tier, one row each.

        `down` and `up` are the ports of a fully connected switch, `kinds` those in use on the actual switches.
        """
        if links_per_piece == 1:
            ports = kinds.up if place else kinds.down
        else:
            full = (down * BASE + up) * BASE
            packed = np.where(kinds.switches > 0, (full + kinds.down) * BASE + kinds.up, -1)
            ports = of_each_distinct(packed, partial(self._count_on_switch, place, links_per_piece))
        counted: Integers = (kinds.switches * ports).sum(axis=0)
        return counted

    def _count_places(self, place: int, links_per_piece: int, packed: int) -> int:
        full, used = divmod(packed, BASE * BASE)
        maps, used_ports = self._map(*divmod(full, BASE)) if packed >= 0 else None, divmod(used, BASE)
        if maps is None:
            return 0
        kinds, plugs = self.links.kinds, self.links.plugs
        found = filled_places(maps[kinds[place]], used_ports[place], links_per_piece)
        if place and plugs[0] == plugs[1]:
            found -= filled_places(maps[kinds[0]], used_ports[0], links_per_piece)
        return len(found)

    def _map_ports(self, down: int, up: int) -> Mapping[str, PortMap] | None:
        """Return the ports of a switch; None where its links fill more cages than it has."""
        ports = zip(self.links.kinds, (down, up), self.links.rates, self.links.plugs, strict=False)
        wanted = [PortDemand(kind, count, rate, plug, bool(at)) for at, (kind, count, rate, plug) in enumerate(ports)]
        try:
            return map_ports(self.switch, wanted)
        except TooFewCages:
            return None
