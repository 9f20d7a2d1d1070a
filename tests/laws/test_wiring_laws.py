"""Law 5: the wiring that is delivered has exactly the counts of the bill, no port twice, and carries the bisection.

Everything is read back from the delivered CSV file and from bom.json.
"""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from flow import Network
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_reports import PLANS, report_of

from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render, write_wiring
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

ROOT = Path(__file__).parent.parent.parent
SEVERAL = ";"
MOST_FLOW = 600
"""Endpoints up to which the flow over every cable is worked out."""

LEGS, PORTS = 12, 48
"""Of the generic trunk, and of the generic panel."""

Rows = list[dict[str, str]]
Worked = Callable[[dict[str, Any]], Report]


def rows_of(report: Report, folder: Path) -> Rows:
    """The delivered wiring of a report."""
    path = folder / "wiring.csv"
    write_wiring(list_cables(report), "csv", path, lambda _: None)
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def bill_of(report: Report) -> dict[str, Any]:
    """The delivered bom.json of a report."""
    data: dict[str, Any] = json.loads(render(report, ("json",))["bom.json"])
    return data


def links_of(rows: Rows) -> Iterator[dict[str, str]]:
    """The links of the cables: a row for each pair of ends."""
    ends = [f"{end}_{what}" for end in "ab" for what in ("device", "port", "cage")]
    for row in rows:
        parts = {name: row[name].split(SEVERAL) for name in ends}
        for number in range(max(len(part) for part in parts.values())):
            yield {**row, **{name: part[min(number, len(part) - 1)] for name, part in parts.items()}}


def modules_of(report: Report, rows: Rows) -> Counter[tuple[str, str]]:
    """Modules that hold a cable, by fabric and kind of device; those of one link take a port, others a cage."""
    single = {
        (module.identity.part_number or module.identity.id, str(way.rate_gbps.value))
        for built in report.design.fabrics
        for way in built.interconnect.link_groups
        for module in ((way.medium.lower, way.medium.upper) if way.medium else ())
        if module and module.ports.value == 1
    }
    found = defaultdict[tuple[str, str], set[tuple[str, ...]]](set)
    for link in links_of(rows):
        lower, _, upper = link["kind"].partition("-")
        for end, device in (("a", lower), ("b", upper)):
            module = link[f"{end}_module"]
            if module:
                place = link[f"{end}_port"] if (module, link["rate_gbps"]) in single else link[f"{end}_cage"]
                tier = device if device in ("server", "leaf", "spine", "core") else "leaf"
                found[link["fabric"], tier].add((link[f"{end}_device"], place))
    return Counter({key: len(places) for key, places in found.items()})


def at_panels(link: dict[str, str]) -> list[str]:
    """The ends of a link that are at panels."""
    return [end for end in "ab" if link[f"{end}_device"].startswith("panel-")]


def listed_links(links: Rows) -> Counter[tuple[str, str]]:
    """Links by fabric and kind: direct fibres, and over panels a leg of a trunk each, with two jumpers."""
    counts = {
        ends: Counter((link["fabric"], link["kind"]) for link in links if len(at_panels(link)) == ends)
        for ends in range(3)
    }
    assert counts[1] == Counter({kind: 2 * legs for kind, legs in counts[2].items()})
    return counts[0] + counts[2]


def over_panels(rows: Rows, bill: dict[str, Any]) -> None:
    """Behind a jumper is a leg of a trunk; trunks lie between two racks, full but for one; every rack rounds up."""
    sides = {1: Counter[tuple[str, str]](), 2: Counter[tuple[str, str]]()}
    legs, trunks = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for row in rows:
        links = list(links_of([row]))
        for link in links:
            for end in at_panels(link):
                port = link[f"{end}_port"]
                assert port[0] == "fr"[len(at_panels(link)) - 1]
                sides[len(at_panels(link))][link[f"{end}_device"], port[1:]] += 1
        if len(at_panels(links[0])) == 2:
            ends = (row["fabric"], row["kind"], row["a_rack"], row["b_rack"])
            assert row["a_rack"] != row["b_rack"]
            trunks[ends] += 1
            legs[ends] += len(links)
    assert sides[1] == sides[2]
    assert trunks == Counter({ends: -(-count // LEGS) for ends, count in legs.items()})
    ports = Counter[tuple[str, str]]()
    for (fabric, _, *racks), count in trunks.items():
        ports.update({(fabric, rack): LEGS * count for rack in racks})
    bought = sum(line["quantity"] for line in bill["lines"] if line["role"] == "panel")
    assert sum(-(-count // PORTS) for count in ports.values()) == bought


def check(report: Report, folder: Path) -> Rows:
    """Everything that the wiring of a plan must agree with; its rows."""
    rows, bill = rows_of(report, folder), bill_of(report)
    links = list(links_of(rows))
    ends = Counter((link[f"{end}_device"], link[f"{end}_port"]) for link in links for end in "ab")
    assert [] == [end for end, times in ends.items() if times > 1]
    assert len(rows) == len({row["label"] for row in rows})
    listed = listed_links(links)
    over_panels(rows, bill)
    cables = Counter[tuple[str, str, str]]()
    for row in rows:
        cables[row["fabric"], row["kind"], f"{row['sku']} {float(row['length_m']):g}"] += 1
    for name, fabric in bill.get("fabrics", {}).items():
        if not fabric.get("switches"):
            continue
        reserved = next(each for each in report.plan.fabrics if each.name == name).reserved_ports
        for kind, count in fabric["links"].items():
            kept = int(reserved.value) if reserved and kind == "server-leaf" else 0
            assert count - kept == listed[name, kind], (name, kind)
    of_bill = Counter[tuple[str, str, str]]()
    for line in bill["lines"]:
        # Cables inside a storage system come with it; its maker's guide connects them.
        if line["category"] == "cable" and line["role"] != "panel" and not line.get("required_by"):
            length = line["description"].rpartition(", ")[2].removesuffix(" m")
            sku = line["sku"] or (line["part"] or "")
            of_bill[line["fabric"], line["role"], f"{sku} {length}"] += line["quantity"]
    assert of_bill == cables
    modules = modules_of(report, rows)
    for (name, device), count in modules.items():
        billed = bill["fabrics"][name]["transceivers"][device]
        if device == "server":
            assert billed == count
        else:
            assert billed >= count
    return rows


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_plan_is_wired_as_it_is_billed(path: Path, tmp_path: Path) -> None:
    """The cables, modules and links of the bill are those of the wiring, on every plan of the project."""
    for report in report_of(path).each_cluster:
        check(report, tmp_path)


DRAGONFLIES = ("dragonfly", "dragonfly+")


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Plans of all topologies on small switches, with other machines, planes, rails, reserved ports and a floor."""
    topology = draw(st.sampled_from(("fat-tree", "rail-optimized", "rail-only", "fat-tree", *DRAGONFLIES)))
    nics = draw(st.sampled_from((1, 2, 4, 8)))
    planes = draw(st.sampled_from((1, 1, 1, 2))) if topology not in DRAGONFLIES else 1
    ports = draw(st.sampled_from((4, 8, 10, 16, 24, 64)))
    cage = draw(st.sampled_from(({}, {"cage": "osfp-finned", "ports_per_cage": 2, "protocol": "infiniband"})))
    fabric: dict[str, Any] = {
        "topology": topology,
        "switch": {"ports": ports, "port_gbps": 400, "rack_units": 1, "power": "1 kW", **cage},
        "planes": planes,
        "build_out": draw(st.sampled_from(("full", "exact"))),
    }
    if topology not in DRAGONFLIES:
        fabric["oversubscription"] = draw(st.sampled_from((1, 1, 1, 2, 3)))
    if topology == "rail-optimized" and draw(st.booleans()):
        fabric["pod"] = {"rails": draw(st.sampled_from(("one", "all"))), "leaves": draw(st.integers(1, ports))}
    if draw(st.booleans()):
        fabric["hosts"] = [{"name": "storage", "count": draw(st.integers(1, 5)), "ports": draw(st.integers(1, 3))}]
        if draw(st.booleans()):
            nic = {"ports": 2, "port_gbps": draw(st.sampled_from((100, 200, 400))), "cage": "qsfp112"}
            fabric["hosts"].append({"name": "login", "count": 2, "ports": 2, "nic": nic})
    if draw(st.booleans()):
        fabric["reserved_ports"] = draw(st.integers(1, 4))
    if draw(st.booleans()):
        kinds = draw(st.sets(st.sampled_from(("server-leaf", "leaf-spine", "spine-core"))))
        medium = st.sampled_from(({"medium": "aoc"}, {"medium": "transceiver", "module": "generic-400g"}))
        fabric["links"] = {kind: draw(medium) for kind in sorted(kinds)}
    server = {
        **{
            "gpus": 8,
            "nics": nics,
            "nic": {"ports": draw(st.sampled_from((1, 1, 2))), "port_gbps": 400, "cage": "osfp-flat"},
        },
        **{"rack_units": 8, "power": "10 kW"},
    }
    plan: dict[str, Any] = {
        "bomgen": 1,
        "name": "law",
        "cluster": {"gpu": "h100-sxm", "server": server, "servers": draw(st.integers(1, 60))},
        "fabrics": {"compute": fabric},
    }
    if draw(st.booleans()):
        plan["site"] = {"layout": "auto"} if draw(st.booleans()) else {}
    return plan


@st.composite
def patched_plans(draw: st.DrawFn) -> dict[str, Any]:
    """Plans whose links between racks go over patch panels, on floors of short rows."""
    plan: dict[str, Any] = draw(plans())
    fabric = plan["fabrics"]["compute"]
    for machine in fabric.get("hosts", ()):
        machine["part"] = {"name": machine["name"], "rack_units": 2, "power": "500 W"}
    kinds = draw(st.sets(st.sampled_from(("server-leaf", "leaf-spine", "spine-core")), min_size=1))
    if fabric["topology"] == "dragonfly":
        kinds = {"server-leaf", "local", "global"}
    elif fabric["topology"] == "dragonfly+":
        kinds = {"server-leaf", "leaf-spine", "spine-spine"}
    built = {"medium": "transceiver", "module": "generic-400g", "panels": True}
    fabric["links"] = dict.fromkeys(sorted(kinds), built)
    layout = {"racks_per_row": draw(st.integers(1, 6)), "slack": draw(st.sampled_from((0, 0.5)))}
    plan["site"] = {"layout": layout, "management": {"racks": draw(st.sampled_from((3, 9)))}}
    return plan


def wired_rows(worked: Worked, plan: dict[str, Any], folder: Path) -> tuple[Report, Rows] | None:
    """The wiring of a plan, checked; None where it cannot be built."""
    try:
        report = worked(plan)
        return report, check(report, folder)
    except PlanErrors:
        return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of all examples."""
    return tmp_path_factory.mktemp("wiring")


@given(plan=plans())
@settings(max_examples=min(150, examples(150)))
def test_random_plans_are_wired_as_they_are_billed(worked: Worked, folder: Path, plan: dict[str, Any]) -> None:
    """Whatever the topology, the counts of the closed forms are those of the cables listed, less reserved ports."""
    wired_rows(worked, plan, folder)


@given(plan=patched_plans())
@settings(max_examples=min(100, examples(100)))
def test_links_over_panels_are_wired_as_they_are_billed(worked: Worked, folder: Path, plan: dict[str, Any]) -> None:
    """Whatever the floor: jumpers, trunks and panels of the bill are those of the wiring, and no port has two."""
    wired_rows(worked, plan, folder)


def carried(rows: Rows, halves: tuple[set[tuple[str, str]], set[tuple[str, str]]]) -> int:
    """The flow over the cables listed, from the endpoints of one half to those of the other [Gb/s]."""
    network = Network()
    for link in links_of(rows):
        rate = int(link["rate_gbps"])
        lower: Any = (link["a_device"], link["a_port"]) if link["kind"] == "server-leaf" else link["a_device"]
        network.join(lower, link["b_device"], rate)
        for half, side in zip(halves, ("first", "second"), strict=True):
            if lower in half:
                network.join(side, lower, rate)
    return network.flow("first", "second")


@given(plan=plans())
@settings(max_examples=min(60, examples(60)))
def test_the_cables_listed_carry_the_bisection(worked: Worked, folder: Path, plan: dict[str, Any]) -> None:
    """Max-flow between the halves of the endpoints over every cable is the bisection stated; of a dragonfly, at least.

    Of several planes and of rails without links between them each is halved by itself: endpoints of whole servers.
    """
    plan["fabrics"]["compute"].pop("links", None)
    plan["fabrics"]["compute"].pop("hosts", None)
    found = wired_rows(worked, plan, folder)
    if found is None:
        return
    report, rows = found
    fabric = report.design.fabrics[0].fabric
    servers = int(report.design.sizing.servers.value) if report.design.sizing.servers else 0
    links = [link for link in links_of(rows) if link["kind"] == "server-leaf"]
    ends = sorted({(link["a_device"], link["a_port"]) for link in links}, key=port_order)
    if len(ends) > MOST_FLOW or (servers % 2 and (fabric.planes or fabric.topology == "rail-only")):
        return
    middle = len(ends) // 2
    flow = carried(rows, (set(ends[:middle]), set(ends[middle:])))
    if fabric.exact_bisection:
        assert fabric.bisection_gbps.value == flow
    else:
        assert fabric.bisection_gbps.value <= flow


def port_order(end: tuple[str, str]) -> tuple[str, list[int]]:
    """Servers in their order, then their ports."""
    device, port = end
    return device, [int(part) for part in port.removeprefix("nic").split("/")]


SHARED = [
    {"server": "pcie-8gpu-l40s", "fabric": {"topology": "rail-only", "switch": "7060dx5-64s"}, "hosts": 1},
    {"server": "dgx-a100-640", "fabric": {"switch": "q3400-ra"}, "hosts": 2},
]


@pytest.mark.parametrize("case", SHARED, ids=lambda case: str(case["server"]))
def test_machines_of_several_kinds_share_a_splitter(worked: Worked, tmp_path: Path, case: dict[str, Any]) -> None:
    """A splitter whose legs lead to a server and a host, or to two kinds of hosts, is one cable."""
    hosts = [{"name": f"host {number}", "count": 1} for number in range(case["hosts"])]
    plan = {
        **{"bomgen": 1, "name": "shared", "cluster": {"server": case["server"], "servers": 1}},
        "fabrics": {"compute": {**case["fabric"], "hosts": hosts}},
    }
    rows = check(worked(plan), tmp_path)
    assert any("host" in row["a_device"] and ";" in row["a_device"] for row in rows)


def test_a_twice_used_port_is_found(worked: Worked) -> None:
    """The check that no port has two cables fails on a wiring that has one."""
    import dataclasses

    from bomgen.cabling.types import broken_rules

    plan = {
        "bomgen": 1,
        "name": "broken",
        "cluster": {"gpu": "h100-sxm", "servers": 8},
        "fabrics": {"compute": {"switch": "qm9700"}},
    }
    report = worked(plan)
    wiring = list_cables(report)
    assert [] == broken_rules(wiring, report.design)
    port = wiring.b_port.copy()
    port[1] = port[0]
    device = wiring.b_device.copy()
    device[1] = device[0]
    wrong = broken_rules(dataclasses.replace(wiring, b_port=port, b_device=device), report.design)
    assert [f"port 1/1 of {wiring.names[int(device[0])]} has two cables"] == [each for each in wrong if "two" in each]
