"""The networks of a bill that does not say which line is of which: several may share a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bomgen.core.provenance import Mark
from bomgen.plan.types import COMPUTE, IN_BAND, STORAGE
from bomgen.reading.bills import SentLine
from bomgen.workflow.xray.fitting import Fit, fit
from bomgen.workflow.xray.forward import list_slots
from bomgen.workflow.xray.scopes import Scope
from bomgen.workflow.xray.search import Basis, Explanation, Search, search

BESIDE = (STORAGE, IN_BAND)
"""Networks that may share lines with the compute network, in the order that they are looked for."""
MOST_TRIED = 4
"""Networks of a role of which each is tried beside the others."""


class Networks(NamedTuple):
    """Networks that explain the lines of a bill together."""

    found: tuple[tuple[Scope, Search], ...]
    fit: Fit
    """All their parts against all lines."""

    @property
    def cost(self) -> tuple[int, int, int]:
        """Parts that they do not explain, and networks of one kind of switch; then networks, then pieces.

        Networks of equal parts explain about any counts: one more of a kind must explain two parts, or one that has no
        place without it.
        """
        kinds = {str(each.best[0].candidate.fabric["switch"] if each.best else "") for _, each in self.found}
        unplaced = sum(1 for part in self.fit.wrong if not part.slots) - len(self.fit.substituted)
        odd = len(self.fit.wrong) + unplaced + len(self.fit.spare_switches)
        return odd + len(self.found) - len(kinds), len(self.found), self.fit.unexplained

    @property
    def servers(self) -> int | None:
        """The servers that the first is for; None without one."""
        return self.found[0][1].best[0].candidate.servers.number if self.found else None


def find_networks(scope: Scope, basis: Basis) -> Networks:
    """The networks that explain the lines of `scope` best: one of all of them, or several."""
    tried = [_join([(scope, search(scope, basis))], scope, basis)]
    if scope.servers and scope.of_kind("switch") and tried[0].fit.wrong:
        for networks in _add_network(_join((), scope, basis), COMPUTE, scope, basis):
            for role in BESIDE:
                added = _add_network(networks, role, scope, basis)
                networks = min((networks, *added), key=lambda each: each.cost)
            tried.append(networks)
            if not networks.fit.wrong:
                break
    return min(tried, key=lambda each: each.cost)


def _add_network(networks: Networks, role: str, scope: Scope, basis: Basis) -> Iterator[Networks]:
    """The networks with one of a role that takes what it needs of what they leave."""
    left = _left(scope.lines, networks)
    if not any(line.kind == "cable" for line in left):
        return
    switches = sorted((line for line in left if line.kind == "switch"), key=lambda line: -(line.quantity or 0))
    for switch in dict.fromkeys(line.id for line in switches):
        free = tuple(line for line in left if line.kind != "switch" or line.id == switch)
        beside = scope._replace(name=role, role=role, own=(), free=free, shared=True, number=networks.servers)
        found = search(beside, basis)
        for each in _likeliest(found):
            yield _join((*networks.found, (beside, each)), scope, basis)
        if role == COMPUTE and any(not each.fit.wrong for each in found.best):
            return  # the compute network has most of the switches


def _join(found: Iterable[tuple[Scope, Search]], scope: Scope, basis: Basis) -> Networks:
    found = tuple(found)
    slots = [slot for _, each in found if each.usual for slot in list_slots(each.usual.bill)]
    return Networks(found, fit(slots, scope.lines, (), basis.has_spares))


def _likeliest(found: Search) -> list[Search]:
    """The explanations that miss the least, and of these take the most of a bill: one of each claim."""

    def weight(each: Explanation) -> tuple[int, int, int]:
        return len(each.fit.wrong), each.fit.unexplained, -sum(line.quantity or 0 for line in each.fit.lines)

    claims = dict[tuple[tuple[str, int], ...], Explanation]()
    for each in sorted(found.tried, key=weight):
        claims.setdefault(tuple(sorted((line.id, line.quantity or 0) for line in each.fit.lines)), each)
    return [Search((each,), each) for each in list(claims.values())[:MOST_TRIED]]


def _left(lines: Sequence[SentLine], networks: Networks) -> tuple[SentLine, ...]:
    pieces = dict[Mark, int]()
    for _, found in networks.found:
        for line in found.best[0].fit.lines:
            pieces[line.mark] = pieces.get(line.mark, 0) + (line.quantity or 0)
    left = (line._replace(quantity=(line.quantity or 0) - pieces.get(line.mark, 0)) for line in lines)
    return tuple(line for line in left if line.quantity)
