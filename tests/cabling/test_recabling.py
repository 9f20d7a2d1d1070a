"""Cables that are plugged elsewhere when a network grows, counted by hand."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.cabling.recabling import Moved, compare_wirings
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

Worked = Callable[[Mapping[str, Any]], Report]


def plan(servers: int, **fabric: Any) -> dict[str, Any]:
    """A plan of DGX H100 with one fabric of eight ports a server."""
    return {
        "bomgen": 1,
        "name": "grows",
        "cluster": {"gpu": "h100-sxm", "servers": servers},
        "fabrics": {"compute": {"topology": "fat-tree", "switch": "qm9700", **fabric}},
    }


def moved(worked: Worked, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Moved]:
    """What moves from one plan to the other, by kind of link."""
    found = compare_wirings(list_cables(worked(old)), list_cables(worked(new)), {})
    return {each.kind: each for each in found.cables}


def test_nothing_moves_when_nothing_changes(worked: Worked) -> None:
    """A network is equal to itself."""
    for each in moved(worked, plan(16), plan(16)).values():
        assert (each.old, 0, 0, 0) == (each.stay, each.moved, each.added, each.free)


def test_half_of_the_links_of_a_leaf_move_when_the_spines_double(worked: Worked) -> None:
    """16 servers of 8 ports fill 4 leaves of 32; twice as many fill 8, and the plan doubles the spines with them.

    A leaf has 32 links up. Over 2 spines these are 16 each, over 4 spines 8 each: of the 4 x 32 links of the old
    leaves those 8 to each of the two old spines stay, 4 x 2 x 8 = 64, and the other 64 move to the new spines. The
    four new leaves bring 4 x 32 = 128 new ones.
    """
    old, new = plan(16, spine={"count": 2}), plan(32, spine={"count": 4})
    found = moved(worked, old, new)
    above = found["leaf-spine"]
    assert (128, 256) == (above.old, above.new)
    assert (64, 64, 0, 128) == (above.stay, above.moved, above.free, above.added)
    assert ((16, 16), (8, 8)) == (above.of_pair_old, above.of_pair_new)
    below = found["server-leaf"]
    assert (128, 128, 0, 0, 128) == (below.old, below.stay, below.moved, below.free, below.added)


def test_growth_beside_what_stands_moves_nothing(worked: Worked) -> None:
    """Where the spines are bought for the whole from the start, an added unit leaves every cable in its place."""
    old, new = plan(16, spine={"count": 4}), plan(32, spine={"count": 4})
    for each in moved(worked, old, new).values():
        assert (each.old, 0, 0) == (each.stay, each.moved, each.free)
        assert each.new - each.old == each.added


GROWTH = {
    "fat-tree": (256, 512, 1024, 2048, 4096),
    "rail-optimized": (256, 512, 1792, 2048, 4096),
}
"""Cables that move at each doubling from 64 to 2048 servers: no smaller number exists for these fabrics.

Between two tiers that double, half of the links must move: a leaf of 32 links up keeps one of the two that it had to
each spine. Where a third tier comes in, 256 to 512 servers, a fat tree keeps the links of one pod to its own spines,
32 x 32 of 2 x 32 x 32. With rails the 32 spines become 4 of each of 8 rails, and keep 8 leaves of their rail each:
8 x 8 x 4 = 256 of 2048.
"""


@pytest.mark.parametrize("topology", GROWTH)
def test_growth_moves_the_fewest_cables(worked: Worked, topology: str) -> None:
    """Each doubling of a full fabric moves what must move, and everything that stays keeps both ports."""
    found = list[int]()
    old = list_cables(worked(plan(64, topology=topology, build_out="full")))
    for servers in (128, 256, 512, 1024, 2048):
        report = worked(plan(servers, topology=topology, build_out="full"))
        new = list_cables(report)
        found.append(sum(each.moved + each.free for each in compare_wirings(old, new, {}).cables))
        old = new
    assert tuple(found) == GROWTH[topology]


def test_names_keep_the_digits_of_today(worked: Worked) -> None:
    """64 servers that become 128 are called as before, and those after the 99th have a third digit."""
    grown = list_cables(worked(plan(128)), today=list_cables(worked(plan(64))))
    assert {"server-01", "server-64", "server-65", "server-99", "server-100", "server-128"} <= set(grown.names)
    assert len(set(grown.names)) == len(grown.names)


def test_the_way_back_frees_what_the_way_there_added(worked: Worked) -> None:
    """Cables that are new one way are free the other way, and as many stay and move."""
    old, new = plan(16, spine={"count": 2}), plan(32, spine={"count": 4})
    there, back = moved(worked, old, new), moved(worked, new, old)
    for kind, each in there.items():
        other = back[kind]
        assert (each.stay, each.moved, each.added, each.free) == (other.stay, other.moved, other.free, other.added)


def test_every_cable_is_counted_once(worked: Worked) -> None:
    """What stays, moves and is free is all of the old; what stays, moves and is new is all of the new."""
    plans = (plan(4), plan(16), plan(40), plan(20, planes=1, topology="rail-optimized"))
    for old in plans:
        for new in plans:
            for each in moved(worked, old, new).values():
                assert each.old == each.stay + each.moved + each.free
                assert each.new == each.stay + each.moved + each.added


def test_a_renamed_fabric_stays_plugged(worked: Worked) -> None:
    """A fabric that is called otherwise keeps its cables."""
    old = plan(16)
    new = {**old, "fabrics": {"gpu-net": {**old["fabrics"]["compute"], "role": "compute"}}}
    found = compare_wirings(list_cables(worked(old)), list_cables(worked(new)), {"compute": "gpu-net"})
    assert [0, 0] == [each.moved + each.free + each.added for each in found.cables]


def test_cables_of_another_length(worked: Worked) -> None:
    """Cables between the same devices that are sold in another length now are said to be so."""
    old = plan(16, links={"server-leaf": {"length": "10 m"}})
    new = plan(16, links={"server-leaf": {"length": "20 m"}})
    found = moved(worked, old, new)["server-leaf"]
    assert (128, 128) == (found.stay, found.other_length + found.other_cable)
