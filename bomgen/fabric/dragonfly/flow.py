"""What a dragonfly, or a dragonfly+, surely carries between the halves of its endpoints, in plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

SHARES = 4
"""The bound on the bisection tries the shares of a local link that its uses get in quarters."""


def flow_at_least(
    nic_ports: int,
    p: int,
    a: int,
    outer: int,
    between: int,
    endpoint_gbps: int,
    local_gbps: int,
    global_gbps: int,
    spines: int = 0,
) -> Fraction:
    """A flow between the halves of endpoints that fill routers of `p` and groups of `a` routers in order [Gb/s].

    Groups before the middle send to groups behind it over the links between them; the group in the middle, if there is
    one, sends to itself, to the groups behind, and hears from those before. Inside a group everything is shared out in
    proportion: what leaves over a router's global links comes from all routers alike. A router has `outer` global links
    at most, so a local link then carries at most `outer / (routers that share)` of what a global link does, wherever
    the global links are attached. In the middle group three uses share the local links; quarters of them are tried.

    With `spines` the routers are the leaves of a dragonfly+: each has a local link to every spine of its group, and the
    spines have the global links. Those who meet in a group meet over its spines, and links up and down are shared
    separately.
    """
    size, middle = a * p, nic_ports // 2
    before, first = divmod(middle, size)
    second = min(nic_ports, (before + 1) * size) - middle if first else 0
    behind = nic_ports - middle - second
    full, last = divmod(behind, size)
    split = first % p
    met = min(split, p - split, second) if split else 0
    first, second = first - met, second - met
    ways = outer or 1

    def passed(endpoints: int, share: Fraction) -> Fraction:
        """What each global link may carry so that a share of the local links of these endpoints' routers suffices."""
        return min(Fraction(global_gbps), share * local_gbps * max(Fraction(endpoints, p), Fraction(1)) / ways)

    whole = Fraction(1)
    into_full, into_last = passed(size, whole), passed(last, whole)
    best = Fraction(0)
    for meeting, leaving, coming in _shares_of_directions() if spines else _shares_of_links():
        routers_first, routers_second = (max(Fraction(part, p), Fraction(1)) for part in (first, second))
        pairs = spines * min(routers_first, routers_second) if spines else routers_first * routers_second
        outward, inward = passed(first, leaving), passed(second, coming)
        of_before = (
            before * between * inward if second else Fraction(0),
            before * full * between * into_full,
            before * between * into_last,
        )
        of_middle = (
            meeting * local_gbps * pairs,
            full * between * outward,
            between * min(outward, into_last),
        )
        supply = [Fraction(count * endpoint_gbps) for count in (before * size, first)]
        need = [Fraction(count * endpoint_gbps) for count in (second, full * size, last)]
        best = max(best, _transport_flow(supply, need, (of_before, of_middle)))
    return best + met * endpoint_gbps


def _shares_of_links() -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    for one in range(SHARES + 1):
        for other in range(SHARES + 1 - one):
            yield Fraction(one, SHARES), Fraction(other, SHARES), Fraction(SHARES - one - other, SHARES)


def _shares_of_directions() -> Iterator[tuple[Fraction, Fraction, Fraction]]:
    for one in range(SHARES + 1):
        others = Fraction(SHARES - one, SHARES)
        yield Fraction(one, SHARES), others, others


def _transport_flow(
    supply: list[Fraction], need: list[Fraction], ways: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
) -> Fraction:
    """Max-flow from two sources straight to several sinks, as the smallest of its cuts."""
    cuts = []
    for kept in ((), (0,), (1,), (0, 1)):
        left = sum((supply[source] for source in (0, 1) if source not in kept), Fraction(0))
        cut = (
            min(wanted, sum((ways[source][sink] for source in kept), Fraction(0))) for sink, wanted in enumerate(need)
        )
        cuts.append(left + sum(cut, Fraction(0)))
    return min(cuts)
