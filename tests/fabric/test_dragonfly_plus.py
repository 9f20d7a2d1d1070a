"""What becomes of a dragonfly+ down to its cables and the files of a quote."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.core.language import language as read_language
from bomgen.output.drawing.fabrics import fabric_svg
from bomgen.output.writer import render
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]


def plan(servers: int, **shape: int) -> dict[str, Any]:
    """A plan with one fabric."""
    compute = {"switch": "qm9700", "topology": "dragonfly+"} | ({"dragonfly+": shape} if shape else {})
    cluster = {"gpu": "h100-sxm", "servers": servers}
    return {"bomgen": 1, "name": "plus", "cluster": cluster, "fabrics": {"compute": compute}}


def test_every_cable_of_a_small_one(worked: Worked) -> None:
    """Three groups of two leaves and two spines: four links inside each, two between every two groups."""
    report = worked(plan(6, p=8, a=2, s=2, h=2))
    compute = report.design.fabrics[0].fabric
    assert (compute.dimensions["groups"].value, compute.switches.value) == (3, 12)
    counted = Counter(link.kind for link in compute.links for _ in range(link.count.value))
    assert counted == {"server-leaf": 48, "leaf-spine": 12, "spine-spine": 6}
    assert not [check for check in report.checks if check.status == "fail"]
    made = list_cables(report)
    ends = list(zip((*made.a_device, *made.b_device), (*made.a_port, *made.b_port), strict=True))
    assert {kind.device for kind in made.kinds} >= {"leaf", "spine"}
    assert len(made.a_device) == 48 + 12 + 6
    assert len(ends) == 2 * len(made.a_device)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_in_every_format(worked: Worked, language: str) -> None:
    """A dragonfly+ has its files, and every number of it is explained."""
    report = worked({**plan(400), "quote": {"language": language}})
    files = render(report, ("md", "html", "xlsx", "json", "csv", "svg"))
    assert {len(content) > 0 for content in files.values()} == {True}
    bom = json.loads(files["bom.json"])
    paths = {f"fabrics.compute.links.{kind}" for kind in ("leaf-spine", "spine-spine")}
    assert paths <= set(bom["derivations"])
    assert {check["status"] for check in bom["checks"]} <= {"pass", "warn"}


LEONARDO = {
    "topology": "dragonfly+",
    "switch": {"name": "switch", "ports": 40, "port_gbps": 200, "split": 2},
    "link": "100G",
    "links": {"leaf-spine": {"rate": "200G"}, "spine-spine": {"rate": "200G"}},
}
"""HDR switches of 40 ports; nodes have two cards of two HDR100 ports (leonardo-supercomputer.cineca.eu)."""


@pytest.mark.parametrize(
    ("servers", "groups", "switches", "spine"), [(180, None, (18, 18), (18, 0)), (3420, 23, (414, 414), (18, 22))]
)
def test_the_cells_of_leonardo(
    built: Built, servers: int, groups: int | None, switches: tuple[int, int], spine: tuple[int, int]
) -> None:
    """A Booster cell holds 180 nodes on 18 leaves and 18 spines; with 23 cells a spine has a link to every other one.

    Turisini, Amati and Cestari, LEONARDO: A Pan-European Pre-Exascale Supercomputer, arXiv 2307.16885. All 23 cells are
    taken for Booster cells here, 19 of them with nodes.
    """
    shape = {"p": 40, "a": 18, "s": 18, "h": 22} | ({"g": groups} if groups else {})
    server = {"name": "X2135", "gpus": 4, "nics": 4, "port_gbps": 100}
    cluster = {"gpu": {"name": "A100-64", "bf16_tflops": 312}, "server": server, "servers": servers}
    fabrics = {"compute": {**LEONARDO, "dragonfly+": shape}}
    compute = built({"bomgen": 1, "name": "leonardo", "cluster": cluster, "fabrics": fabrics})["fabrics"]["compute"]
    assert (compute["switches"]["leaf"], compute["switches"]["spine"]) == switches
    assert (compute["ports"]["spine"]["down"], compute["ports"]["spine"]["up"]) == spine
    assert compute["ports"]["leaf"] == {"down": 40, "up": 18, "radix": 80}
    if groups:
        assert compute["dimensions"]["links_between_groups"] == 18
        assert compute["links"]["spine-spine"] == 18 * 23 * 22 // 2
        assert compute["free_ports"]["spine"] == 0


def test_its_drawings_show_the_links_between_groups(worked: Worked) -> None:
    """The drawing names the groups, and how many links every two of them have."""
    fabric = worked(plan(100, p=16, a=4, s=4, h=16)).design.fabrics[0].fabric
    between = int(fabric.dimensions["links_between_groups"].value)
    svg = fabric_svg(fabric, "compute", read_language("en"))
    assert "Group 1" in svg
    assert f"{between} per pair of groups" in svg


def test_its_drawings_show_last_groups_of_another_size(worked: Worked) -> None:
    """The last groups are drawn with their own switches, and links to them are not counted as those of the others."""
    others = {"other_groups": 2, "other_a": 2, "other_s": 3}
    fabric = worked(plan(20, p=8, a=4, s=4, h=8, g=6, parallel=2, **others)).design.fabrics[0].fabric
    between, to_others = (int(fabric.dimensions[f"links_{name}_groups"].value) for name in ("between", "to_other"))
    assert between > to_others
    svg = fabric_svg(fabric, "compute", read_language("en"))
    assert f"{to_others}–{between} per pair of groups" in svg
