"""Law: faults that are planted in a network are found without a false alarm, whatever has a name in it.

The shares of exact findings are those of a prototype of the comparison: a finding is another one where a second fault
took the other end of a cable. `make deep` plants in a network of 2,040 links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from depth import DEEP
from plan_reports import report_of
from planted_faults import Built

from bomgen.cabling.types import Wiring
from bomgen.results.result import Report
from bomgen.verify.findings import RIGHT, USUAL_ERROR_RATE, verify
from bomgen.verify.reading import read_outputs
from bomgen.workflow.pipeline import list_cables

LARGE = Path(__file__).parents[2] / "plans" / "superpod-h100-4su.yaml"
SEEDS = range(5 if DEEP else 1)
SMALL: Mapping[str, Any] = {
    "bomgen": 1,
    "name": "hall",
    "cluster": {"gpu": "h100-sxm", "servers": 48},
    "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}},
}
OF_75_IN_2040, MOST = 75 / 2040, 0.32
NETDEVS = ("ens26np0", "ens60np0", "ens77np0", "ens94np0", "ens156np0", "ens188np0", "ens204np0", "ens220np0")
Worked = Callable[[Mapping[str, Any]], Report]


def site_name(planned: str) -> str:
    """A server's name that the plan does not have."""
    return f"gpu{int(planned[-3:]) * 7 % 1009}"


def fresh_name(planned: str) -> str:
    """The name of a switch that nobody has named."""
    return f"switch-{sum(map(ord, planned)) * 31 + int(planned[-2:]):06x}"


VIEWS: dict[str, Callable[[str, bool], str]] = {
    "all named": lambda planned, _: planned,
    "servers by site names": lambda planned, is_switch: planned if is_switch else site_name(planned),
    "switches unnamed": lambda planned, is_switch: fresh_name(planned) if is_switch else planned,
    "spines unnamed": lambda planned, _: fresh_name(planned) if "spine" in planned else planned,
    "nothing named": lambda planned, is_switch: fresh_name(planned) if is_switch else site_name(planned),
    "adapters without names": lambda planned, is_switch: planned if is_switch or planned[-2:] != "05" else "",
}


@cache
def _small(worked: Worked) -> Wiring:
    return list_cables(worked(SMALL), ["compute"])


@pytest.fixture
def wiring(worked: Worked) -> Wiring:
    """The compute links of a plan, of a large one for `make deep`."""
    return list_cables(report_of(LARGE), ["compute"]) if DEEP else _small(worked)


def judge(built: Built, files: Mapping[str, str]) -> Counter[str]:
    """How many faults are planted, found, and found exactly; false alarms, and cables that are assumed to be right."""
    verification = verify(
        read_outputs(("", name, text.encode()) for name, text in files.items()), built.wiring, {}, USUAL_ERROR_RATE
    )
    found = {work.piece: work.state for work in verification.work}
    counts = Counter[str](false=sum(work.piece is None for work in verification.work))
    for row, piece in enumerate(built.wiring.piece.tolist()):
        fault, state = built.expected.get(row), found[piece]
        counts["faults"] += fault is not None
        counts["found"] += fault is not None and state not in RIGHT
        counts["exact"] += fault == state
        counts["false"] += fault is None and state not in RIGHT
        counts["assumed"] += state == "assumed"
    return counts


def total(counts: Iterable[Counter[str]]) -> Counter[str]:
    """The sum over seeds."""
    return sum(counts, Counter())


@pytest.mark.parametrize("view", VIEWS)
def test_single_faults_are_found(view: str, wiring: Wiring) -> None:
    """All of them, at least 97.6 % exactly; only adapters without any name can be exchanged unseen."""

    def one(seed: int) -> Counter[str]:
        built = Built.as_planned(wiring)
        built.plant(round(OF_75_IN_2040 * len(wiring)), Random(seed))  # noqa: S311
        return judge(built, {"fabric.txt": built.ibnetdiscover(VIEWS[view])})

    counts = total(map(one, SEEDS))
    unseen = 0.05 if view == "adapters without names" else 0
    assert counts["found"] >= counts["faults"] * (1 - unseen)
    assert counts["exact"] >= counts["faults"] * (0.976 - 2 * unseen)
    assert counts["false"] == 0


@pytest.mark.parametrize("view", ["all named", "nothing named"])
def test_many_faults_are_found(view: str, wiring: Wiring) -> None:
    """With a third of the cables wrong all are found, 19 of 20 exactly, and no right cable is called wrong."""

    def one(seed: int) -> Counter[str]:
        built = Built.as_planned(wiring)
        built.plant(round(MOST * len(wiring)), Random(seed))  # noqa: S311
        return judge(built, {"fabric.txt": built.ibnetdiscover(VIEWS[view])})

    counts = total(map(one, SEEDS))
    assert counts["found"] == counts["faults"]
    assert counts["exact"] >= counts["faults"] * 0.95
    assert counts["false"] <= len(wiring) * len(SEEDS) / 1000


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_servers_that_are_not_built_yet_are_missing(share: float, wiring: Wiring) -> None:
    """Their cables are, and those of the others are as planned, although nothing has its planned name."""

    def one(seed: int) -> Counter[str]:
        built = Built.as_planned(wiring)
        built.unbuild(share, Random(seed))  # noqa: S311
        return judge(built, {"fabric.txt": built.ibnetdiscover(VIEWS["nothing named"])})

    counts = total(map(one, SEEDS))
    assert counts["faults"] == counts["found"] > 0 == counts["false"]
    assert counts["exact"] >= counts["faults"] * 0.98


def test_neighbours_by_lldp(worked: Worked) -> None:
    """Of EOS with domains and names of Linux: all faults; with MAC addresses, those that a switch port shows."""
    fabric = {"topology": "rail-optimized", "switch": "7060x6-64pe"}
    wiring = list_cables(worked({**SMALL, "fabrics": {"compute": fabric}}), ["compute"])
    for seed in SEEDS:
        built = Built.as_planned(wiring)
        built.plant(round(OF_75_IN_2040 * len(wiring)), Random(seed), rates=False)  # noqa: S311
        named = judge(built, built.lldp(lambda _, port: NETDEVS[int(port.removeprefix("nic")) - 1]))
        assert named["found"] == named["faults"]
        assert (named["false"], named["assumed"]) == (0, 0)
        assert named["exact"] >= named["faults"] * 0.92
        addresses = judge(built, built.lldp(lambda device, port: f"94:6d:ae:{device[-2:]}:00:0{port[-1]}"))
        assert addresses["false"] == 0
        assert addresses["found"] >= named["found"] - sum(fault == "wrong-rail" for fault in built.expected.values())
        assert addresses["assumed"] > len(wiring) / 3
