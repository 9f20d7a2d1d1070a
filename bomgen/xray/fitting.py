"""The fit of a design to the lines of a bill: needed pieces against listed pieces of each part."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from math import ceil
from typing import NamedTuple

from bomgen.fabric.types import SERVER
from bomgen.reading.bills import ANY_SWITCH, SentLine
from bomgen.xray.laws import SPARE_SHARE
from bomgen.xray.lines import COMPARED, PlacedPart, sum_pieces

MOST_SUBSETS = 12
"""Maximum number of lines of one part without position for which all subsets are tried."""
LEAST_SPARED = 10
"""Needed pieces of a part from which SPARE_PIECES may be spares, even if they exceed the share."""
SPARE_PIECES = 2
"""Number of pieces of a switch, or of a part needed in quantity, that may be spares regardless of the share."""


class NeededPart(NamedTuple):
    """Pieces of a part that the design needs, against lines of the bill."""

    slots: tuple[PlacedPart, ...]
    lines: tuple[SentLine, ...]
    expected: int
    given: int
    spares: int = 0

    @property
    def is_switch(self) -> bool:
        """Return whether it is a switch."""
        kinds = {slot.category for slot in self.slots} | {line.kind for line in self.lines}
        return "switch" in kinds

    @property
    def off(self) -> int:
        """Return the surplus pieces (positive) or missing pieces (negative), without spares."""
        return self.given - self.expected - self.spares


class DesignFit(NamedTuple):
    """A design against the lines that a fabric may claim."""

    parts: tuple[NeededPart, ...]

    @property
    def wrong(self) -> tuple[NeededPart, ...]:
        """Return the parts with a surplus or missing pieces."""
        return tuple(part for part in self.parts if part.off)

    @property
    def spare_switches(self) -> tuple[NeededPart, ...]:
        """Return the switches some of which may be spares."""
        return tuple(part for part in self.parts if part.is_switch and part.spares)

    @property
    def swapped(self) -> tuple[NeededPart, ...]:
        """Return two kinds of switches with each other's number of pieces; empty without such a pair."""
        switches = [part for part in self.wrong if part.lines and part.slots and part.slots[0].category == "switch"]
        listed, expected = [part.given for part in switches], [part.expected for part in reversed(switches)]
        return tuple(switches) if len(switches) == 2 and listed == expected else ()

    @property
    def substituted(self) -> tuple[tuple[NeededPart, NeededPart], ...]:
        """Return lines without a position in the design, with a part of their category that lacks their pieces."""
        lacking = [part for part in self.wrong if part.slots and part.off < 0]
        pairs = list[tuple[NeededPart, NeededPart]]()
        for part in (part for part in self.wrong if not part.slots):
            alike = [lack for lack in lacking if lack.slots[0].category == part.lines[0].kind]
            if needed := next((lack for lack in alike if not lack.lines or -lack.off == part.given), None):
                lacking.remove(needed)
                pairs.append((part, needed))
        return tuple(pairs)

    @property
    def matched(self) -> int:
        """Return the number of parts with the right quantity."""
        return sum(1 for part in self.parts if not part.off)

    @property
    def unexplained(self) -> int:
        """Return the pieces that the design does not explain, or only as spares; substitutes count as explained."""
        settled = sum(2 * min(part.off, -needed.off) for part, needed in self.substituted)
        return sum(abs(part.off) + part.spares for part in self.parts) - settled

    @property
    def matched_lines(self) -> tuple[SentLine, ...]:
        """Return the lines of parts with the right quantity."""
        return tuple(line for part in self.parts if not part.off for line in part.lines)

    @property
    def lines(self) -> tuple[SentLine, ...]:
        """Return the lines that the design claims."""
        return tuple(line for part in self.parts for line in part.lines)


def fit(
    slots: Sequence[PlacedPart],
    stated: Sequence[SentLine],
    free: Sequence[SentLine],
    has_spares: bool,
    listed: Collection[str] = (),
    shared: bool = False,
) -> DesignFit:
    """Return the comparison of a design with a fabric's lines, `own`, and with lines that may belong to it, `free`.

    A kind of part without any line counts as not missing, unless it is `listed` for other fabrics. `shared`: the design
    takes the pieces it needs from free lines, and leaves the others to other networks. `has_spares`: whether the bill
    has a column of spares; without one a small surplus may be spares.
    """
    categories = {line.kind for line in (*stated, *free)} | {*listed}
    wanted = [slot for slot in slots if slot.category in categories and slot.pieces]
    parts = list[NeededPart]()
    claimed = set[int]()
    for group in _groups(wanted, [*stated, *free]):
        own_lines = [line for line in stated if _compatible_any(line, group)]
        free_lines = [line for line in free if _compatible_any(line, group)]
        expected = sum(slot.pieces for slot in group)
        wanted_free = expected - sum_pieces(own_lines)
        lines = (*own_lines, *(_take(free_lines, wanted_free) if shared else _chosen(free_lines, wanted_free)))
        claimed.update(id(line) for line in lines)
        parts.append(NeededPart(tuple(group), tuple(lines), expected, sum_pieces(lines)))
    for line in stated:
        if id(line) not in claimed and line.kind in COMPARED and line.quantity:
            parts.append(NeededPart((), (line,), 0, line.quantity))
    return DesignFit(tuple(parts if has_spares else _allow_spares(parts)))


def _allow_spares(parts: Sequence[NeededPart]) -> Iterator[NeededPart]:
    """Yield parts with small surpluses as spares; those of switches only if another part has spares."""
    spared = any(part.off > 0 and not part.is_switch and part.off <= _most_spares(part) for part in parts)
    for part in parts:
        has_spares = 0 < part.off <= _most_spares(part) and (spared or not part.is_switch)
        yield part._replace(spares=part.off) if has_spares else part


def _most_spares(part: NeededPart) -> int:
    if any(line.kind == "server" for line in part.lines):
        return 0
    if part.is_switch:
        return SPARE_PIECES if part.expected > 1 else 0
    least = SPARE_PIECES if part.expected >= LEAST_SPARED else 0
    return max(ceil(part.expected * SPARE_SHARE), least) if part.expected > 1 and part.lines else 0


def compatible(line: SentLine, slot: PlacedPart) -> bool:
    """Return whether a line may fill a position of a design: the same part, without contradicting statements."""
    named, stated = line.recognition.named, line.place
    if named is None or (named.kind, named.id) != (slot.kind, slot.id):
        return False
    if slot.category in ("server", "nic"):
        return True
    if stated.links and slot.links and stated.links != slot.links:
        return False
    if stated.tier == ANY_SWITCH:
        return slot.tier != SERVER
    return not (stated.tier and slot.tier and stated.tier != slot.tier)


def _compatible_any(line: SentLine, slots: Sequence[PlacedPart]) -> bool:
    return any(compatible(line, slot) for slot in slots)


def _groups(slots: Sequence[PlacedPart], lines: Sequence[SentLine]) -> Iterator[list[PlacedPart]]:
    """Yield groups of positions that lines cannot distinguish; a position without a line is a group of its own."""
    left = list(slots)
    while left:
        group, grown = [left.pop(0)], True
        while grown:
            grown = False
            reached = [line for line in lines if _compatible_any(line, group)]
            for slot in [slot for slot in left if any(compatible(line, slot) for line in reached)]:
                group.append(slot)
                left.remove(slot)
                grown = True
        yield group


def _take(lines: Sequence[SentLine], wanted: int) -> Iterator[SentLine]:
    for line in lines:
        pieces = min(line.quantity or 0, wanted)
        if pieces > 0:
            yield line._replace(quantity=pieces)
            wanted -= pieces


def _chosen(lines: Sequence[SentLine], wanted: int) -> tuple[SentLine, ...]:
    """Return the lines whose total is closest to the wanted pieces; of ties, those with the fewest lines."""
    if wanted <= 0 or not lines:
        return ()
    tried = lines[:MOST_SUBSETS]
    choices = (some for size in range(len(tried) + 1) for some in combinations(tried, size))
    return min(choices, key=lambda some: (abs(sum_pieces(some) - wanted), len(some)))
