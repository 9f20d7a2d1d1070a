"""The loss of one leaf or spine: the formulas against a count of every cable."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bomgen.cabling.patch_panels import cables_by_racks
from bomgen.cabling.types import Wiring
from bomgen.cabling.wiring import wire
from bomgen.design.assembly import BuiltFabric
from bomgen.results.result import Report
from bomgen.results.what_if import LEAF, SPINE, losses
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).parents[2]
PLANS = ("superpod-h100-floor", "llama65b", "rubin-nvl8", "gb300-nvl72-xdr", "hpn-like", "mi355x-arista", "meta-24k")


@cache
def _report(name: str) -> Report:
    path = ROOT / "plans" / f"{name}.yaml"
    return work_out(PlanFile(f"plans/{name}.yaml", path.read_bytes(), path.parent, ROOT), ())


def _links(wiring: Wiring, built: BuiltFabric, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the links of a fabric between a kind of switch and what is below it; servers and hosts for leaves."""
    types = [number for number, cable in enumerate(wiring.cable_types) if cable.fabric == built.plan.name]
    rows = np.isin(wiring.cable_type, types)
    switches = [each for each in wiring.kinds if each.device == kind and each.fabric == built.plan.name]
    upper = np.zeros(len(wiring), dtype=bool)
    for each in switches:
        upper |= (wiring.b_device >= each.start) & (wiring.b_device < each.start + each.number)
    return wiring.a_device[rows & upper], wiring.b_device[rows & upper]


@pytest.mark.parametrize("name", PLANS)
def test_losses_are_those_of_the_cables(name: str) -> None:
    """The fullest leaf has as many endpoints as cables end at it; a spine has the share of the uplinks of a leaf."""
    report = _report(name)
    wiring = wire(report.design)
    for built in report.design.fabrics:
        found = {key: figure.value for key, figure in losses(built.fabric)}
        if not found:
            continue
        machines, leaves = _links(wiring, built, LEAF)
        assert found["leaf-endpoints"] == np.unique(leaves, return_counts=True)[1].max()
        assert found["leaf-share"] == Fraction(found["leaf-endpoints"], built.fabric.endpoints.value)
        servers = next(each for each in wiring.kinds if each.device == "server")
        own = (machines >= servers.start) & (machines < servers.start + servers.number)
        pairs = np.unique(np.stack([machines[own], leaves[own]]), axis=1, return_counts=True)[1]
        assert 1 >= found["leaf-server"] >= Fraction(int(pairs.max()), built.fabric.ports_per_server.value)
        if "spine-share" not in found:
            continue
        lower, spines = _links(wiring, built, SPINE)
        of_leaf = dict(zip(*np.unique(lower, return_counts=True), strict=True))
        ends, counts = np.unique(np.stack([lower, spines]), axis=1, return_counts=True)
        planes = built.fabric.planes.value if built.fabric.planes else 1
        fullest = max(of_leaf.values())
        shares = [
            Fraction(int(count), int(of_leaf[leaf]) * planes)
            for leaf, count in zip(ends[0], counts, strict=True)
            if of_leaf[leaf] == fullest
        ]
        assert found["spine-share"] == max(shares)


def test_every_cable_is_between_two_racks() -> None:
    """The cables of all pairs are those of the floor; each pair is named once, with its lengths in order."""
    wiring = wire(_report("superpod-h100-floor").design)
    pairs = cables_by_racks(wiring)
    assert sum(pair.cables for pair in pairs) == wiring.pieces
    assert len({(pair.first, pair.second) for pair in pairs}) == len(pairs)
    assert all(pair.first <= pair.second and [*pair.lengths] == sorted(pair.lengths) for pair in pairs)
    assert not cables_by_racks(wire(_report("meta-24k").design))
