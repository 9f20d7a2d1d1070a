"""The registry of topologies, and what becomes of a dragonfly and of a torus down to the files of a quote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Derived, Figure
from bomgen.fabric.types import describe_topologies, topologies
from bomgen.output.writer import render
from bomgen.plan.schema import document
from bomgen.results.result import Report

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]

FORMATS = ("md", "html", "xlsx", "json", "csv")
OSFP = {"switch": "qm9700", "topology": "dragonfly"}


def plan(compute: Mapping[str, Any], gpu: str = "h100-sxm", **cluster: Any) -> dict[str, Any]:
    """A plan with one fabric."""
    return {"bomgen": 1, "name": "small", "cluster": {"gpu": gpu} | cluster, "fabrics": {"compute": compute}}


def modules_of(bom: Mapping[str, Any], kind: str, device: str) -> int:
    """Modules of a kind of link in a kind of device."""
    return sum(line["quantity"] for line in bom["lines"] if line["id"] == f"compute.transceiver.{kind}.{device}")


def test_every_topology_says_what_it_is() -> None:
    """Name, limits and drawing are there; the plan's schema has exactly these names and their options."""
    found = list(describe_topologies())
    assert {"dragonfly", "fat-tree", "single-switch", "torus"} <= {each.name for each in found} == set(topologies())
    assert all(each.limits and each.drawing.strip() for each in found)
    fabric = document("plan")["$defs"]["fabric"]["properties"]
    assert fabric["topology"]["enum"] == list(topologies())
    assert [each.name for each in found if each.options] == [each.name for each in found if each.name in fabric]


def test_modules_of_a_dragonfly_are_counted_by_the_switch(built: Built) -> None:
    """Seven ports to servers and others of a group, then one to another group: a twin-port cage holds both kinds."""
    shape = {"p": 4, "a": 4, "h": 1, "g": 2}
    fixed = plan({**OSFP, "dragonfly": shape}, servers=4)
    bom = built(fixed)
    compute = bom["fabrics"]["compute"]
    assert (compute["switches"]["leaf"], compute["links"]["local"], compute["links"]["global"]) == (8, 12, 4)
    # 4 + 3 + 1 ports of a switch fill four cages: two for servers, two with a local link each and the global one.
    kinds = ("server-leaf", "local", "global")
    assert [modules_of(bom, kind, "leaf") for kind in kinds] == [16, 16, 0]
    assert compute["transceivers"]["leaf"] == 8 * 4
    assert compute["cables"]["local"] == {"mfp7e10-n030": 12}
    apart = {"local": {"module": "mma4z00-ns"}, "global": {"module": "mms4x00-ns", "length": "100 m"}}
    bom = built(plan({**OSFP, "dragonfly": shape, "links": apart}, servers=4))
    assert [modules_of(bom, kind, "leaf") for kind in kinds] == [16, 16, 8]


def test_ports_that_serve_nobody_have_no_module(built: Built) -> None:
    """Built out exactly, a switch has modules for the endpoints it has; the links between switches stay."""
    shape = {"p": 8, "a": 4, "h": 2, "g": 3}
    full, exact = (
        built(plan({**OSFP, "dragonfly": shape, "build_out": build_out}, servers=9)) for build_out in ("full", "exact")
    )
    assert (modules_of(full, "server-leaf", "leaf"), modules_of(exact, "server-leaf", "leaf")) == (48, 36)
    assert full["fabrics"]["compute"]["links"] == exact["fabrics"]["compute"]["links"]
    assert full["fabrics"]["compute"]["free_ports"]["leaf"] == 12 * (64 - 3 - 2) - 72


def test_global_ports_that_are_left_over_stay_free(built: Built) -> None:
    """Three other groups get five links each of sixteen: one port of a group is free."""
    compute = built(plan({**OSFP, "dragonfly": {"p": 4, "a": 8, "h": 2, "g": 4}}, servers=16))["fabrics"]["compute"]
    assert (compute["dimensions"]["links_between_groups"], compute["links"]["global"]) == (5, 30)
    assert compute["free_ports"]["leaf"] == 32 * 64 - 128 - 2 * (30 + 112)
    assert compute["ports"]["leaf"]["up"] == 7 + 2
    assert compute["dimensions"]["group_oversubscription"] == pytest.approx(32 / 15)


def test_kinds_of_link_have_their_own_rates(built: Built) -> None:
    """Links to servers at 200 Gb/s split the ports that the others use whole: 23 of those fill twelve of 32 cages."""
    shape = {"p": 16, "a": 16, "h": 8, "g": 9}
    compute = {**OSFP, "link": "200G", "links": {"local": {"rate": "400G"}, "global": {"rate": "400G"}}}
    fabric = built(plan({**compute, "dragonfly": shape}, servers=128))["fabrics"]["compute"]
    assert fabric["free_ports"]["leaf"] == 9 * 16 * 4 * (32 - 12) - 1024
    assert fabric["exact_bisection"] is False


def test_ports_of_a_router_are_told_at_the_rate_of_the_servers(built: Built) -> None:
    """A QM9700 has 64 ports of 400 Gb/s, 128 of 200 Gb/s."""
    compute = {**OSFP, "link": "200G", "links": {"local": {"rate": "400G"}, "global": {"rate": "400G"}}}
    with pytest.raises(PlanErrors, match="a QM9700 has 128 at 200 Gb/s"):
        built(plan({**compute, "dragonfly": {"p": 100, "a": 16, "h": 8, "g": 9}}, servers=128))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_three_pods_in_every_format(worked: Worked, language: str) -> None:
    """Three tori of TPU v4 stand side by side; a fabric with switches beside them has no effect."""
    pods = plan({"topology": "torus"}, gpu="tpu-v4", gpus=3 * 4096)
    pods["fabrics"]["storage"] = {"switch": "qm9700"}
    report = worked({**pods, "quote": {"language": language}})
    files = render(report, FORMATS)
    assert {len(content) > 0 for content in files.values()} == {True}
    bom = json.loads(files["bom.json"])
    torus = bom["fabrics"]["compute"]
    assert list(bom["fabrics"]) == ["compute"]
    assert (torus["planes"], torus["links"]["node-node"], torus["plane"]["links"]["node-node"]) == (3, 36864, 12288)
    assert (torus["switches"]["total"], torus["tiers"], bom["cluster"]["nics"]) == (0, 0, 0)
    assert [line["id"] for line in bom["lines"]] == ["gpu"]
    said = [problem.path for problem in report.problems if problem.rule == "no-effect"]
    assert said == ["fabrics.storage"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_circuit_switches_in_every_format(worked: Worked, language: str) -> None:
    """Two pods have circuit switches of their own, each with a line on the bill, as has every module and fibre."""
    cubes = {"dimensions": [16, 16, 16], "cube": [4, 4, 4]}
    pods = plan({"topology": "torus", "torus": cubes}, gpu="tpu-v4", gpus=2 * 4096)
    files = render(worked({**pods, "quote": {"language": language}}), FORMATS)
    bom = json.loads(files["bom.json"])
    assert bom["fabrics"]["compute"]["circuits"] == {"switches": 96, "ports": 128, "ends": 12288}
    quantities = {line["id"]: line["quantity"] for line in bom["lines"]}
    assert quantities == {
        "gpu": 8192,
        "compute.switch.circuit": 96,
        "compute.transceiver.circuit": 12288,
        "compute.cable.circuit": 12288,
    }
    checks = [check["status"] for check in bom["checks"] if check["id"] == "bill-equals-design"]
    assert set(checks) == {"pass"}


def test_a_dragonfly_in_every_format(worked: Worked) -> None:
    """A dragonfly has its files, too, and every number of it is explained."""
    files = render(worked(plan(OSFP, servers=100)), FORMATS)
    assert {len(content) > 0 for content in files.values()} == {True}
    assert "Bisection bandwidth, at least" in files["report.md"].decode("utf-8")
    bom = json.loads(files["bom.json"])
    assert {f"fabrics.compute.links.{kind}" for kind in ("local", "global")} <= set(bom["derivations"])


def test_a_torus_over_servers(built: Built) -> None:
    """Servers that come in no pod make a torus, too, when the plan says how fast its links are."""
    bom = built(plan({"topology": "torus", "link": "200G", "torus": {"rank": 2}}, servers=64))
    torus = bom["fabrics"]["compute"]
    assert (torus["dimensions"], torus["links"]["node-node"], torus["hops"]) == ({"x": 8, "y": 8}, 128, 8)
    assert torus["bisection_gbps"] == 2 * 8 * 200


def test_what_says_nothing_of_a_torus_is_pointed_out(worked: Worked) -> None:
    """Switches and cards of a torus have no effect."""
    compute = {"topology": "torus", "link": "200G", "switch": "qm9700", "oversubscription": 2}
    report = worked(plan(compute, servers=64))
    said = {problem.path for problem in report.problems if problem.rule == "no-effect"}
    assert said == {"fabrics.compute.switch", "fabrics.compute.oversubscription"}


def derivations_below(figure: Figure) -> Iterator[Derived]:
    """The derivations that a figure rests on, its own first."""
    if isinstance(figure.origin, Derived):
        yield figure.origin
        for _, given in figure.origin.inputs:
            yield from derivations_below(given)


@pytest.mark.parametrize("servers", [32, 48, 64, 96])
def test_a_unit_holds_no_more_servers_than_its_leaves(servers: int, worked: Worked) -> None:
    """64 ports down of a leaf that serves two rails hold 32 servers, one that serves a single rail holds 64."""
    compute = {"topology": "rail-optimized", "switch": "sn5600"}
    [built] = worked(plan(compute, "h200-sxm", server="dell-xe9680-h200", servers=servers)).design.fabrics
    fabric = built.fabric
    leaf = fabric.tier("leaf")
    assert leaf
    assert fabric.rails_per_leaf
    [units] = {each.inputs for each in derivations_below(leaf.count) if each.formula.name == "units"}
    assert dict(units)["servers_per_unit"].value * fabric.rails_per_leaf.value == leaf.down.value
    (_, number), (_, per_unit) = leaf.count.origin.inputs
    assert number.value * per_unit.value == leaf.count.value
    assert per_unit.value * fabric.rails_per_leaf.value == 8
