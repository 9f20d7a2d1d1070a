"""Switch counts of the folded Clos for many numbers of servers at once: the search and the counts, as columns.

The shapes are those of the search, the seats those of `occupancy`, in whole columns. Covered are fabrics without other
machines, reserved ports, and fixed numbers of switches or links, built out exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure
from bomgen.fabric.clos.ports_in_use import LEAF_SPINE
from bomgen.fabric.clos.search import MAX_TIERS, find_smallest
from bomgen.fabric.clos.shape import ClosShape
from bomgen.fabric.clos.smallest import fewest_tiers
from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.fabric.ports import radix
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
    tiers, found = _find_shapes(demand, rails, servers)
    down, up, leaves, pods, spines, spine_up, cores, rails_per_leaf = found
    per_server = int(demand.ports_per_server.value)
    nic_ports = servers * per_server
    has_rails = rails is not None
    rows = np.where(tiers > 1, int(rails.value) // np.maximum(rails_per_leaf, 1), 1) if rails else np.ones_like(tiers)
    leaf_kinds = _leaf_kinds(demand, has_rails, servers, nic_ports, found, rows)
    one = tiers == 1
    leaf_kinds.switches[:, one] = np.array([[1], [0], [0]])
    leaf_kinds.down[0, one], leaf_kinds.up[:, one] = nic_ports[one], 0
    leaf_links = (leaf_kinds.switches * leaf_kinds.up).sum(axis=0)
    all_spines = pods * spines
    ports = int(radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value)
    of_pod = -(-leaves // np.maximum(pods, 1))
    core_links = all_spines * spine_up
    core_down = core_links // np.maximum(cores, 1)
    return ClosCounts(
        tiers,
        rows,
        {"leaf": np.where(one, 1, leaves), "spine": all_spines, "core": cores},
        {"leaf": np.where(one, ports, down), "spine": of_pod * up // np.maximum(spines, 1), "core": core_down},
        {"leaf": up, "spine": spine_up, "core": np.zeros_like(up)},
        {
            "leaf": leaf_kinds,
            "spine": _spine_kinds(leaf_kinds, found, rows),
            "core": Kinds(cores[None], core_down[None], np.zeros_like(cores)[None]),
        },
        {"leaf": leaf_links, "spine": core_links},
        np.maximum(pods, 1),
    )


NO_SHAPE = ClosShape(0, 0, 0, 0, 0, 0, 0)


def _find_shapes(demand: Demand, rails: Figure | None, servers: Integers) -> tuple[Integers, Integers]:
    """Return the tiers for each number of servers, 0 where nothing fits, and the shape, one field per row."""
    per_server = int(demand.ports_per_server.value)
    ports = int(radix(demand.leaf.switch, demand.rates[SERVER_LEAF.name]).value)
    asked = [int(demand.tiers.value)] if demand.tiers else range(fewest_tiers(demand, rails), MAX_TIERS + 1)
    found, shapes = np.zeros_like(servers), np.zeros((len(NO_SHAPE), len(servers)), np.int64)
    for tiers in asked:
        left = np.flatnonzero(found == 0)
        if not left.size:
            break
        if tiers == 1:
            left = left[servers[left] * per_server <= ports]
            shapes[:, left] = np.array(NO_SHAPE._replace(leaves=1))[:, None]
            found[left] = 1
            continue
        try:
            numbers = search_numbers(search_figures(demand, tiers, rails))
        except Infeasible:  # no port of a switch has the rate
            break
        for row in left.tolist():
            if shape := find_smallest(numbers._replace(nic_ports=int(servers[row]) * per_server)):
                found[row], shapes[:, row] = tiers, shape
    return found, shapes


def _leaf_kinds(
    demand: Demand, has_rails: bool, servers: Integers, nic_ports: Integers, shapes: Integers, rows: Integers
) -> Kinds:
    """Return the full leaves, those that the last servers fill in part, and empty ones, with the uplinks of each."""
    down, up, leaves, _, spines, _, _, rails_per_leaf = shapes
    row = np.maximum(leaves // rows, 1)
    if has_rails:
        unit = -(-servers // row) * rails_per_leaf
    else:
        per_server = int(demand.ports_per_server.value)
        whole = down // per_server * per_server
        unit = np.where(whole * leaves >= nic_ports, whole, down)
    full, rest = np.divmod(nic_ports // rows, np.maximum(unit, 1))
    partly = (rest > 0).astype(np.int64)
    count = np.stack([full, partly, np.maximum(row - full - partly, 0)]) * rows
    filled = np.stack([unit, rest, np.zeros_like(rest)])
    down_gbps, up_gbps = (int(demand.rates[kind].value) for kind in (SERVER_LEAF.name, LEAF_SPINE.name))
    ratio = Fraction(down_gbps) / (Fraction(demand.oversubscription.value) * up_gbps)
    step = np.maximum(spines, 1)
    needed = -(-filled * ratio.numerator // (ratio.denominator * step)) * step
    return Kinds(count, filled, np.minimum(needed, up))


def _spine_kinds(leaf_kinds: Kinds, shapes: Integers, rows: Integers) -> Kinds:
    """Return the spines by their downlinks: pod by pod of a row of leaves, whose last leaves may have fewer uplinks."""
    _, _, leaves, pods, spines, spine_up, _, _ = shapes
    of_row = np.where(pods > 1, pods // rows, 1)
    merged = np.where(pods > 1, 1, rows)
    row, size = leaves // rows * merged, leaves // np.maximum(pods, 1)
    full, partly, _ = leaf_kinds.switches // rows * merged
    full_up, partly_up, _ = leaf_kinds.up

    def links_of_first(count: Integers) -> Integers:
        found: Integers = full_up * np.minimum(count, full) + partly_up * np.clip(count - full, 0, partly)
        return found

    larger = row - size * of_row
    ends = [np.minimum(pod, of_row) * size + np.minimum(pod, larger) for pod in range(int(of_row.max(initial=1)) + 1)]
    links = np.diff([links_of_first(end) for end in ends], axis=0)
    exists = np.arange(len(links))[:, None] < of_row
    count = np.where(exists, spines * np.where(pods > 1, rows, 1), 0)
    return Kinds(count, links // np.maximum(spines, 1), np.repeat(spine_up[None], len(links), axis=0))
