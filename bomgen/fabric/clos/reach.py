"""How many endpoints a folded Clos of given switches reaches at most."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.fabric.clos.leaf_divisions import count_ports_together, count_rails_per_leaf, most_down, most_down_when_full
from bomgen.fabric.clos.search import is_feasible, most_down_of_spine
from bomgen.fabric.clos.shape import Numbers


def largest_endpoints(numbers: Numbers) -> int:
    """The most endpoints that a fabric is known to carry: those of the demand, which is met, or what `reach` finds.

    Counts that the plan fixes may spread links evenly for the demand and for no larger number of servers.
    """
    endpoints = numbers.nic_ports + numbers.host_ports + numbers.reserved_ports
    return max(reach(numbers), endpoints)


def reach(numbers: Numbers) -> int:
    """The most endpoints that as many tiers of the same switches carry; 0 when nothing limits pods without a core.

    Whole servers are added to the other machines and reserved ports that there are. Every leaf is there that links up
    spread for, with as many ports down as they carry. Where reserved ports find no room beside so many servers, or the
    plan fixes counts, their number is halved for. Raises TooMuch as `find_smallest`.
    """
    if numbers.tiers == 2 and numbers.pod_leaves:
        return 0
    others, each = numbers.host_ports + numbers.reserved_ports, numbers.ports_per_server
    fixed = any((numbers.pod_leaves, numbers.spine_count, numbers.spines_per_pod, numbers.core_count))
    servers = _count_servers(numbers, 0)
    may_not_fit = servers > 0 and (fixed or numbers.reserved_ports)
    if may_not_fit and not is_feasible(numbers._replace(nic_ports=servers * each)):
        surely = 0 if fixed else _count_servers(numbers, numbers.reserved_ports)
        servers = most_servers(numbers, servers - 1, each, max(surely, 0))
    return servers * each + others if servers > 0 else 0


def _count_servers(numbers: Numbers, reserved_ports: int) -> int:
    """The servers that the most leaves carry beside the other machines and some of the reserved ports."""
    best, most = 0, most_down(numbers)
    for leaves, together in _largest_leaves(numbers):
        down = numbers.leaf_down if numbers.leaf_down <= most else 0
        if not numbers.leaf_down:
            down = most if numbers.exact else most_down_when_full(numbers) // together * together
        of_leaf = numbers.unit * together if numbers.unit and numbers.rails > 1 else down
        if of_leaf <= down:
            whole = leaves * (of_leaf // together) * together // numbers.ports_per_server
            room = leaves * down - numbers.host_ports - reserved_ports
            best = max(best, min(whole, room // numbers.ports_per_server))
    return best


def _largest_leaves(numbers: Numbers) -> Iterator[tuple[int, int]]:
    """The most leaves, and the ports of a server that end together on one of them."""
    most = most_down_of_spine(numbers)
    if numbers.rails == 1:
        for together in count_ports_together(numbers, most_down(numbers)):
            yield most * max(numbers.core_radix, 1), together
        return
    for together in count_rails_per_leaf(numbers):
        rows = numbers.rails // together
        units = most // rows
        if numbers.core_radix and numbers.pods_hold_all_rails:
            units *= numbers.core_radix
        elif numbers.core_radix:
            units = numbers.core_radix // rows * min(most, numbers.spine_radix // 2)
        if together == 1 or numbers.unit or numbers.rails_per_leaf:
            yield units * rows, together
        elif units:
            yield rows, together


def most_servers(numbers: Numbers, servers: int, ports_per_server: int, surely: int = 0) -> int:
    """The most servers, up to so many, for which there is a fabric; by halving, so that one more does not fit.

    For `surely` servers there is one. Raises TooMuch as `find_smallest`.
    """
    fits, fails = surely, servers + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if is_feasible(numbers._replace(nic_ports=middle * ports_per_server)):
            fits = middle
        else:
            fails = middle
    return fits
