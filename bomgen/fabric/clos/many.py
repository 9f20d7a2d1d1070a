"""Switch counts of the folded Clos for many numbers of servers at once, as columns.

Shapes, seats and ports in use are those of `search` and `ports_in_use`, number by number. Covered are fabrics without
other machines, reserved ports, and fixed numbers of switches or links, built out exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.counts import Context, count
from bomgen.fabric.clos.occupancy import Kinds as PortsInUse
from bomgen.fabric.clos.ports_in_use import kinds_of_spines
from bomgen.fabric.clos.search import MAX_TIERS, find_smallest
from bomgen.fabric.clos.shape import ClosShape, PlainDemand
from bomgen.fabric.clos.smallest import fewest_tiers
from bomgen.fabric.requirements import search_figures, search_numbers
from bomgen.fabric.types import Demand

Integers = NDArray[np.int64]


class Kinds(NamedTuple):
    """Switches of a tier by the ports in use on them: `switches[k, row]` with as many down and up."""

    switches: NDArray[np.int64]
    down: NDArray[np.int64]
    up: NDArray[np.int64]


class ClosCounts(NamedTuple):
    """One plane of a folded Clos for many numbers of servers, one per row."""

    tiers: Integers
    """1 to 3; 0 where no fabric carries the servers."""
    rows: Integers
    """Rows of leaves over which the ports of a server are distributed."""
    switches: dict[str, Integers]
    """Switch count of each tier; 0 where there is no such tier."""
    down: dict[str, Integers]
    """Downlink ports of a fully connected switch of each tier."""
    up: dict[str, Integers]
    """Uplink ports of a fully connected switch of each tier."""
    kinds: dict[str, Kinds]
    links: dict[str, Integers]
    """Links between switches, by the name of the lower tier."""
    pods: Integers
    """Pods; 1 with one layer of spines."""

    def take(self, chosen: NDArray[np.bool_]) -> ClosCounts:
        """Return the counts of some rows."""
        return ClosCounts(
            self.tiers[chosen],
            self.rows[chosen],
            _take(self.switches, chosen),
            _take(self.down, chosen),
            _take(self.up, chosen),
            {tier: Kinds(*(kind[:, chosen] for kind in kinds)) for tier, kinds in self.kinds.items()},
            _take(self.links, chosen),
            self.pods[chosen],
        )


def _take(by_tier: dict[str, Integers], chosen: NDArray[np.bool_]) -> dict[str, Integers]:
    return {tier: each[chosen] for tier, each in by_tier.items()}


def is_covered(demand: Demand) -> bool:
    """Return whether `count_clos` covers a demand."""
    fixed = (demand.host_ports, demand.reserved_ports, demand.pod_leaves, demand.uplinks)
    tiers = (demand.leaf, demand.spine, demand.core)
    given = (
        choice for tier in tiers for choice in (tier.servers, tier.per_pod, tier.count, tier.downlinks, tier.uplinks)
    )
    modular = any(tier.switch.chassis for tier in tiers)
    return demand.populate_used_ports_only and not modular and not any((*fixed, *given))


def count_clos(demand: Demand, rails: Figure | None, servers: Integers) -> ClosCounts:
    """Return the counts of one plane for each number of servers, which replace the demand's.

    `rails` and the results are those of `folded_clos`.
    """
    asked = [int(demand.tiers.value)] if demand.tiers else range(fewest_tiers(demand, rails), MAX_TIERS + 1)
    searched = list(_searched_tiers(demand, rails, asked))
    counted = [_count_one(demand, rails, searched, number) for number in servers.tolist()]
    tiers, rows = np.array([(one.tiers, one.rows) for one in counted]).T
    down, up, leaves, pods, spines, spine_up, cores, _ = np.array([one.shape for one in counted]).T
    leaf_kinds, spine_kinds = (
        _stack_kinds([one.leaves for one in counted]),
        _stack_kinds([one.spines for one in counted]),
    )
    all_spines, of_pod = pods * spines, -(-leaves // np.maximum(pods, 1))
    core_down = all_spines * spine_up // np.maximum(cores, 1)
    return ClosCounts(
        tiers,
        rows,
        {"leaf": leaves, "spine": all_spines, "core": cores},
        {"leaf": down, "spine": of_pod * up // np.maximum(spines, 1), "core": core_down},
        {"leaf": up, "spine": spine_up, "core": np.zeros_like(up)},
        {
            "leaf": leaf_kinds,
            "spine": spine_kinds,
            "core": Kinds(cores[None], core_down[None], np.zeros_like(cores)[None]),
        },
        {"leaf": (leaf_kinds.switches * leaf_kinds.up).sum(axis=0), "spine": all_spines * spine_up},
        np.maximum(pods, 1),
    )


class _OneCount(NamedTuple):
    tiers: int
    rows: int
    shape: ClosShape
    leaves: PortsInUse
    spines: PortsInUse


NOTHING_FITS = _OneCount(0, 1, ClosShape(0, 0, 0, 0, 0, 0, 0), (), ())


def _searched_tiers(demand: Demand, rails: Figure | None, asked: Iterable[int]) -> Iterator[tuple[int, PlainDemand]]:
    """Yield each number of tiers with the demand on its search, up to the first whose rates a switch lacks."""
    with suppress(Infeasible):
        for tiers in asked:
            yield tiers, search_numbers(search_figures(demand, max(tiers, 2), rails))


def _count_one(
    demand: Demand, rails: Figure | None, searched: Sequence[tuple[int, PlainDemand]], servers: int
) -> _OneCount:
    nic_ports = servers * int(demand.ports_per_server.value)
    for tiers, numbers in searched:
        wanted = numbers._replace(nic_ports=nic_ports)
        if tiers == 1 and nic_ports <= numbers.radix:
            one = ClosShape(numbers.radix, 0, 1, 0, 0, 0, 0)
            return _OneCount(1, 1, one, (((nic_ports, 0), 1),), ())
        if tiers > 1 and (shape := find_smallest(wanted)):
            c = count(wanted, shape, Context(servers, rails is not None))
            spines = kinds_of_spines.plain(c.occupancy, shape.pods, shape.spines, shape.spine_up)
            return _OneCount(tiers, c.rows, shape, c.occupancy.kinds(), spines)
    return NOTHING_FITS


def _stack_kinds(kinds_of_rows: Sequence[PortsInUse]) -> Kinds:
    most = max(1, *map(len, kinds_of_rows))
    padded = [
        [(switches, down, up) for (down, up), switches in kinds] + [(0, 0, 0)] * (most - len(kinds))
        for kinds in kinds_of_rows
    ]
    return Kinds(*np.array(padded, np.int64).transpose(2, 1, 0))
