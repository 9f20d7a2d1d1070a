"""Which switch of a folded Clos is connected to which: even spread, port by port.

Parallel links of two switches are neighbours on both, so that cables of several links and twin-port modules connect the
same two cages. Spines at the same place in their pods connect to the same cores. Leaves of rails are numbered unit by
unit, so that a pod of all rails has neighbouring numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bomgen.core.provenance import require
from bomgen.fabric.clos.occupancy import leaves_of_pods
from bomgen.fabric.links.endpoints import Seats, count_up
from bomgen.fabric.types import Fabric

Column = NDArray[np.int64]
Ends = tuple[Column, Column, Column, Column]
"""Lower device and port, upper device and port."""


def connect_spines(plane: Fabric, seats: Seats | None) -> Ends:
    """Links of every leaf to the spines of its pod. Raises ValueError as `spread_links`."""
    spine = plane.tier("spine")
    if spine is None or seats is None:
        raise ValueError("a fabric without spines")
    pods = int(plane.pods.value) if plane.pods else 1
    of_pod = int(spine.count.value) // pods
    leaf, pod = _leaves_of_pods(len(seats.up), seats.rails, pods, require(plane.seats, "seated").value.rows_of_pod)
    return spread_links(leaf, seats.up[leaf], pod, pod * of_pod, np.full_like(pod, of_pod))


def spread_links(leaf: Column, up: Column, pod: Column, first_spine: Column, spines: Column) -> Ends:
    """Return the links of leaves, in the order of their pods, to the spines of these, numbered from a first one.

    Links to one spine are neighbours on both switches, so that two of them may share a cage at either end. Raises
    ValueError when they do not spread evenly.
    """
    each = up // spines
    if np.any(each * spines != up):
        raise ValueError("links up that do not spread evenly over the spines")
    before = np.cumsum(each) - each
    first = np.concatenate(([0], np.flatnonzero(np.diff(pod)) + 1)).astype(np.int64)
    before -= np.repeat(before[first], np.diff(np.append(first, len(pod))))
    lower_port = count_up(up)
    parallel = np.repeat(each, up)
    return (
        np.repeat(leaf, up),
        lower_port,
        np.repeat(first_spine, up) + lower_port // np.maximum(parallel, 1),
        np.repeat(before, up) + lower_port % np.maximum(parallel, 1),
    )


def _leaves_of_pods(leaves: int, rails: int, pods: int, rows_of_pod: int) -> tuple[Column, Column]:
    if pods == 1:
        return np.arange(leaves, dtype=np.int64), np.zeros(leaves, dtype=np.int64)
    row = leaves // rails
    sizes = np.array(leaves_of_pods(row, pods * rows_of_pod // rails), dtype=np.int64)
    of_unit = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)[:, None]
    pod = (of_unit + np.arange(rails, dtype=np.int64) // rows_of_pod * len(sizes)).ravel()
    order = np.argsort(pod, kind="stable")
    return order, pod[order]


def connect_cores(plane: Fabric) -> Ends:
    """Links of every spine to the cores, each spine to as many different ones as it can.

    Spines of one place in their pods are joined to the same cores; links to one core are neighbours on both switches.
    """
    spine, core = plane.tier("spine"), plane.tier("core")
    if spine is None or core is None or spine.up is None:
        raise ValueError("a fabric without cores")
    pods = int(plane.pods.value) if plane.pods else 1
    spines, up, cores = int(spine.count.value), int(spine.up.value), int(core.count.value)
    of_pod = spines // pods
    device = np.repeat(np.arange(spines, dtype=np.int64), up)
    port = np.tile(np.arange(up, dtype=np.int64), spines)
    pod, place = device // of_pod, device % of_pod
    if up % cores == 0:
        each = up // cores
        return device, port, port // each, pod * (of_pod * each) + place * each + port % each
    link = place * up + port
    return device, port, link % cores, pod * (of_pod * up // cores) + link // cores
