"""Checks of a point-to-point sheet: ends without a port, ports used twice, rails that cross."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bomgen.core.document import group_by
from bomgen.reading.cable_sheets import SheetCable
from bomgen.xray.lines import SERVER_LEAF
from bomgen.xray.types import Finding, at_cable, name_place

MOST_CROSSED = 10
"""Links of the usual rails of a leaf, for each of a rail that seems to be crossed."""


def check_wiring(cables: Sequence[SheetCable]) -> Iterator[Finding]:
    """Yield the errors of a point-to-point sheet."""
    used: dict[tuple[str, str], SheetCable] = {}
    for cable in cables:
        for end in (cable.a, cable.b):
            if not end.device or not end.port:
                yield at_cable(cable, "cable-without-end", device=end.device or "?")
                continue
            first = used.setdefault((end.device.lower(), end.port.lower()), cable)
            if first is not cable:
                yield at_cable(cable, "port-used-twice", device=end.device, port=end.port, at=name_place(first.mark))
        if cable.a[:2] == cable.b[:2] and cable.a.port:
            yield at_cable(cable, "cable-to-itself", device=cable.a.device, port=cable.a.port)
    yield from _check_rails(cables)


def _check_rails(cables: Sequence[SheetCable]) -> Iterator[Finding]:
    """Yield the links of a leaf to a rail other than those of nearly all of its links."""
    below = [cable for cable in cables if cable.links == SERVER_LEAF and (cable.a.rail or cable.b.rail)]
    for leaf, of_leaf in group_by(
        below, lambda cable: max(cable.a, cable.b, key=lambda end: end.tier == "leaf").device
    ).items():
        rails = Counter(cable.a.rail or cable.b.rail for cable in of_leaf)
        usual = max(rails.values())
        for cable in of_leaf:
            rail = cable.a.rail or cable.b.rail
            if rails[rail] * MOST_CROSSED <= usual:
                yield at_cable(cable, "crossed-rail", leaf=leaf, rail=rail, usual=rails.most_common(1)[0][0])
