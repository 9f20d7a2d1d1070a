"""Each length its own medium where lengths are known, cage by cage; the bill, the list and the documents follow."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bomgen.cabling.types import Wiring
from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "laws"))

from drawn_fabrics import draw_plan  # noqa: E402
from test_bill_and_cables import built, check_law  # noqa: E402

FLOOR = str(ROOT / "plans" / "superpod-h100-floor.yaml")
PLANS, LEAST_SHORT = 125, 2
IN_BAND = (
    "fabrics.in_band={switch: sn4600c, ports_per_server: 2, link: 100G, hosts: [{name: management servers, count: 5, "
    "ports: 2, part: generic-management-server}]}"
)
OUT_OF_BAND = "fabrics.out_of_band={topology: access, switch: sn2201, link: 1G, uplink: {fabric: in_band, ports: 2}}"
NON_BLOCKING = (IN_BAND, OUT_OF_BAND)
"""An in-band network whose switches have as many links between them as servers."""


def floor(*settings: str) -> Report:
    """The SuperPOD on its floor: switches of a network stand beside each other, servers do not."""
    return work_out(open_plan(FLOOR, None), settings)


def media(wiring: Wiring, fabric: str, kind: str) -> Counter[str]:
    """How many links of a kind are built of what."""
    found: Counter[str] = Counter()
    for number, cable_type in enumerate(wiring.cable_types):
        if (cable_type.fabric, cable_type.kind) == (fabric, kind) and cable_type.medium:
            found[cable_type.medium.option] += int(np.count_nonzero(wiring.cable_type == number))
    return found


def test_links_in_a_rack_are_copper_and_others_are_not() -> None:
    """Of 300 links between the switches of the in-band network 210 are shorter than a DAC of 3 m; 90 are not."""
    report = floor(*NON_BLOCKING)
    wiring = list_cables(report)
    assert media(wiring, "in_band", "leaf-spine") == {"dac": 210, "multimode": 90}
    longest = {
        each.medium.option: wiring.length_m[wiring.cable_type == number].max()
        for number, each in enumerate(wiring.cable_types)
        if (each.fabric, each.kind) == ("in_band", "leaf-spine") and each.medium
    }
    assert longest["dac"] <= 3 < longest["multimode"]
    modules = result(report)["fabrics"]["in_band"]["transceivers"]
    assert (modules["spine"], modules["total"]) == (90, 2 * (90 + 248))


def test_the_reason_and_the_documents_say_so() -> None:
    """bom.json names the shorter links beside the choice, the table of links has a row for them."""
    report = floor(*NON_BLOCKING)
    [short] = result(report)["fabrics"]["in_band"]["links_chosen"]["leaf-spine"]["short"]
    assert short == {"way": "dac", "parts": ["mcp1600-exxx"], "up_to_m": 3, "links": 210}
    assert "better for 210 shorter links" in render(report, ("md",))["report.md"].decode()


@pytest.mark.parametrize(
    "keys",
    [
        "links: {leaf-spine: {medium: transceiver}}",
        "links: {leaf-spine: {prefer: [optics-only]}}",
        "links: {leaf-spine: {length: 10 m}}",
        "reserved_ports: 1",
    ],
)
def test_what_the_plan_says_stands(keys: str) -> None:
    """A medium, a policy or a length that is named is that of every link; reserved ports keep the modules they have."""
    wiring = list_cables(floor(f"fabrics.in_band={{switch: sn4600c, ports_per_server: 2, {keys}}}"))
    assert set(media(wiring, "in_band", "leaf-spine")) == {"multimode"}


def on_a_floor(seed: int) -> dict[str, Any]:
    """A drawn plan whose cables are as long as their ways."""
    power = 20 + seed % 70
    return draw_plan(seed) | {"site": {"rack": {"units": 48, "power": f"{power} kW", "pdus": 2}, "layout": "auto"}}


def test_bill_and_cable_list_are_one_on_a_floor() -> None:
    """The law of bill and cable list over drawn plans with a layout, some with shorter links of another medium."""
    with_short = 0
    for seed in range(PLANS):
        plan = on_a_floor(seed)
        report = built(plan)
        if report is not None:
            check_law(plan, report)
            with_short += any(group.short for each in report.design.fabrics for group in each.interconnect.link_groups)
    assert with_short > LEAST_SHORT
