"""Links over patch panels: trunks, jumpers and panels counted by hand on floors of a few racks."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from bomgen.cabling.types import broken_rules
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render, write_wiring
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

Worked = Callable[[Mapping[str, Any]], Report]

GENERIC = {"medium": "transceiver", "module": "generic-400g"}


def four_racks(panels: object = True, nics: int = 1, **site: Any) -> dict[str, Any]:
    """Twelve servers by four in racks 1, 3 and 4 of a row, and their one switch in rack 2, at the bottom."""
    nic = {"ports": 1, "port_gbps": 400, "cage": "osfp-flat"}
    return {
        "bomgen": 1,
        "name": "panels",
        "cluster": {
            "gpu": "h100-sxm",
            "server": {"gpus": 8, "nics": nics, "nic": nic, "rack_units": 8, "power": "10 kW"},
            "servers": 12,
        },
        "fabrics": {
            "compute": {
                "switch": {"ports": 64, "port_gbps": 400, "rack_units": 1, "power": "1 kW"},
                "links": {"server-leaf": {**GENERIC, "panels": panels}},
            }
        },
        "site": {
            "layout": {"rack_pitch": 0.6, "row_pitch": 3, "tray_height": 0.4, "slack": 0.5},
            "rack": {"units": 48, "power": "41 kW"},
            **site,
        },
    }


def delivered(report: Report, folder: Path) -> list[dict[str, str]]:
    """The rows of the delivered CSV; those of Parquet are the same."""
    wiring = list_cables(report)
    write_wiring(wiring, "csv", folder / "wiring.csv", lambda _: None)
    write_wiring(wiring, "parquet", folder / "wiring.parquet", lambda _: None)
    with (folder / "wiring.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pyarrow.parquet.read_table(folder / "wiring.parquet")
    for name in ("label", "a_device", "a_port", "b_device", "b_port", "sku"):
        assert [row[name] for row in rows] == table[name].to_pylist()
    return rows


def bom(report: Report) -> dict[str, Any]:
    """The delivered bom.json."""
    data: dict[str, Any] = json.loads(render(report, ("json",))["bom.json"])
    return data


def test_links_between_racks_go_over_panels(worked: Worked, tmp_path: Path) -> None:
    """Racks 1 and 3 stand beside the switch: direct. Of rack 4 four links make a trunk, eight jumpers, two panels."""
    report = worked(four_racks())
    rows = delivered(report, tmp_path)
    over = [row for row in rows if "panel" in row["a_device"] + row["b_device"]]
    assert (8 + 8 + 1, 8 + 1) == (len(rows), len(over))
    assert {"server-01", "server-08"} <= {row["a_device"] for row in rows if row not in over}
    trunks = [row for row in over if row["medium"] == "trunk"]
    assert [("panel-R002-01", "r1;r2;r3;r4", "panel-R004-01", "r1;r2;r3;r4")] == [
        (row["a_device"], row["a_port"], row["b_device"], row["b_port"]) for row in trunks
    ]
    below = [row for row in over if row["a_device"].startswith("server")]
    assert [("server-09", "panel-R004-01", "f1"), ("server-12", "panel-R004-01", "f4")] == [
        (row["a_device"], row["b_device"], row["b_port"]) for row in (below[0], below[-1])
    ]
    above = [row for row in over if row["a_device"] == "panel-R002-01" and row not in trunks]
    assert [("f1", "compute-leaf-01", "9"), ("f4", "compute-leaf-01", "12")] == [
        (row["a_port"], row["b_device"], row["b_port"]) for row in (above[0], above[-1])
    ]
    fabric = bom(report)["fabrics"]["compute"]
    assert {"generic-panel-mpo": 2} == fabric["panels"]
    assert {"generic-mpo12-om4": 16, "generic-trunk-om4-x12": 1} == fabric["cables"]["server-leaf"]


def test_lengths_are_those_of_the_ways(worked: Worked, tmp_path: Path) -> None:
    """Panels at U48. The trunk: 2 racks of 0.6 m, twice 0.4 up and 0.5 of slack: 3 m, of which 5 are sold.

    Jumpers of 44.45 mm a unit and twice 0.5 m: from U1 3.09 m (5 sold), from U9, U17 and U25 2.73, 2.38 and 2.02 (3).
    """
    rows = delivered(worked(four_racks()), tmp_path)
    lengths = {row["a_device"]: float(row["length_m"]) for row in rows if row["b_device"].startswith("panel")}
    assert {"panel-R002-01": 5, "server-09": 5, "server-10": 3, "server-11": 3, "server-12": 3} == lengths
    assert {5.0} == {float(row["length_m"]) for row in rows if row["a_device"] == "panel-R002-01"}


@pytest.mark.parametrize(("nics", "trunks"), [(3, 1), (4, 2)])
def test_a_thirteenth_link_takes_another_trunk(nics: int, trunks: int, worked: Worked, tmp_path: Path) -> None:
    """Between racks 4 and 2 run 12 and 16 links: one trunk of twelve, and two."""
    rows = delivered(worked(four_racks(nics=nics)), tmp_path)
    legs = [row["a_port"].count(";") + 1 for row in rows if row["medium"] == "trunk"]
    assert (trunks, 4 * nics) == (len(legs), sum(legs))


def test_every_leg_takes_a_port_and_every_rack_rounds_up(worked: Worked, tmp_path: Path) -> None:
    """Two trunks take 24 ports in each of two racks, one panel of 48 or one of 32."""
    for panel, pieces in (("generic-panel-mpo", 2), ("fs-fhd-32-mtp-b", 2)):
        report = worked(four_racks({"panel": panel}, nics=4))
        assert {panel: pieces} == bom(report)["fabrics"]["compute"]["panels"]
    report = worked(four_racks({"panel": "fs-fhd-32-mtp-b"}, nics=5))
    assert 20 == sum(row["a_port"].count(";") + 1 for row in delivered(report, tmp_path) if row["medium"] == "trunk")


def test_panels_stand_at_the_top_of_their_rack(worked: Worked) -> None:
    """Unit 48 of racks 2 and 4, and in the elevations."""
    groups = bom(worked(four_racks()))["site"]["elevations"]
    found = {
        rack: slot["unit"]
        for group in groups
        for first, last in group["racks"]
        for rack in range(first, last + 1)
        for slot in group["slots"]
        if slot["device"] == "panel"
    }
    assert {2: 48, 4: 48} == found


@pytest.mark.parametrize("panels", [True, False])
def test_spare_servers_are_told_beside_panels(panels: bool, worked: Worked) -> None:
    """The last of thirteen servers in its rack is the spare one, with panels above it as without."""
    plan = four_racks(panels)
    plan["cluster"]["spare_servers"] = 1
    elevated = worked(plan).elevations
    assert elevated
    assert 1 == sum(slot.pieces for group in elevated.groups for slot in group.slots if slot.spare)


@pytest.mark.parametrize("panels", [True, False])
def test_pdus_are_named_beside_panels(panels: bool, worked: Worked) -> None:
    """Each rack of servers has three of the PDUs on the network and nothing of theirs in a unit, panels or none."""
    plan = four_racks(panels, rack={"units": 48, "power": "41 kW", "pdus": 3})
    plan["fabrics"]["out_of_band"] = "default"
    elevated = worked(plan).elevations
    assert elevated
    racks = [group for group in elevated.groups if group.kind == "compute"]
    assert {3} == {len([pdu for pdu in group.pdus if pdu.name]) for group in racks}
    assert not [slot for group in elevated.groups for slot in group.slots if "pdu" in slot.names[0][0]]


@pytest.mark.parametrize(("units", "warned"), [(33, False), (32, True)])
def test_panels_without_room_are_told(units: int, warned: bool, worked: Worked) -> None:
    """Four servers of 8 U fill a rack of 32 U; one of 33 U has a unit for the panel."""
    report = worked(four_racks(rack={"units": units, "power": "41 kW"}))
    told = [problem.message for problem in report.problems if problem.rule == "rack-units"]
    assert warned == bool(told)
    if warned:
        assert told[0].startswith("1 of 2 patch panels finds no free rack units at the top of its rack (4)")


def test_modules_reach_over_jumper_trunk_and_jumper(worked: Worked) -> None:
    """Rows 25 m apart: 31 m of trunk and 10 of jumpers as sold; 40 m apart more than the 50 m of SR4: single-mode."""
    fibres = {}
    for pitch in (20, 42):
        plan = four_racks()
        plan["fabrics"]["compute"] = {"switch": "qm9700", "links": {"server-leaf": {"panels": True}}}
        plan["site"]["layout"] |= {"racks_per_row": 2, "row_pitch": pitch}
        fabric = bom(worked(plan))["fabrics"]["compute"]
        fibres[pitch] = fabric["links_chosen"]["server-leaf"]["way"]
    assert {20: "multimode", 42: "single-mode"} == fibres


@pytest.mark.parametrize(("panels", "way"), [(False, "dac"), (True, "multimode")])
def test_only_modules_are_chosen_for_panels(panels: bool, way: str, worked: Worked) -> None:
    """Racks of 34 U whose cables are 2.93 m at most: copper, where no panel stands in the way of it."""
    plan = four_racks(rack={"units": 34, "power": "41 kW"})
    plan["fabrics"]["compute"] = {"switch": "qm9700", "links": {"server-leaf": {"panels": panels}}}
    plan["site"]["layout"] = {"rack_pitch": 0.001, "tray_height": 0, "slack": 0}
    chosen = bom(worked(plan))["fabrics"]["compute"]["links_chosen"]["server-leaf"]
    assert way == chosen["way"]


def test_single_mode_lc_goes_over_lc_panels(worked: Worked) -> None:
    """FR4 modules have LC receptacles: LC trunks and LC panels, twelve links to a trunk."""
    plan = four_racks()
    plan["cluster"]["server"]["nic"]["cage"] = "qsfp-dd"
    switch = plan["fabrics"]["compute"]["switch"] | {"cage": "qsfp-dd", "protocol": "ethernet"}
    links = {"server-leaf": {"panels": True, "module": "400g-fr4"}}
    plan["fabrics"]["compute"] = {"switch": switch, "links": links}
    fabric = bom(worked(plan))["fabrics"]["compute"]
    assert {"generic-panel-lc": 2} == fabric["panels"]
    assert {"generic-lc-os2": 16, "generic-trunk-lc-os2-x12": 1} == fabric["cables"]["server-leaf"]


def test_kinds_of_link_share_panels_but_no_trunks(worked: Worked, tmp_path: Path) -> None:
    """Every trunk lies between the same two racks and carries one kind of link; all ports of a rack are told apart."""
    plan = four_racks(nics=8)
    plan["cluster"]["servers"] = 64
    plan["site"] |= {"management": {"racks": 4}}
    plan["site"]["layout"]["racks_per_row"] = 5
    compute = plan["fabrics"]["compute"]
    compute["links"] = {kind: {**GENERIC, "panels": True} for kind in ("server-leaf", "leaf-spine")}
    report = worked(plan)
    rows = delivered(report, tmp_path)
    trunks = [row for row in rows if row["medium"] == "trunk"]
    legs, pieces = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for row in trunks:
        pair = (row["kind"], row["a_rack"], row["b_rack"])
        assert ";" not in row["a_rack"] + row["b_rack"]
        pieces[pair] += 1
        legs[pair] += row["a_port"].count(";") + 1
    assert {"server-leaf", "leaf-spine"} == {kind for kind, _, _ in pieces}
    assert pieces == Counter({pair: -(-links // 12) for pair, links in legs.items()})
    used = Counter[str]()
    for (_, a, b), number in pieces.items():
        used.update({a: 12 * number, b: 12 * number})
    panels = {row[f"{end}_device"] for row in trunks for end in "ab" if ";" not in row[f"{end}_device"]}
    assert sum(-(-ports // 48) for ports in used.values()) == len(panels)
    assert {"generic-panel-mpo": len(panels)} == bom(report)["fabrics"]["compute"]["panels"]


def test_formats_of_links_have_no_panels(worked: Worked, tmp_path: Path) -> None:
    """What describes a network joins devices with devices, and the numbers of links are those without panels."""
    report = worked(four_racks())
    for form in ("dot", "infragraph", "netbox"):
        write_wiring(list_cables(report), form, tmp_path / form, lambda _: None)
        assert "panel" not in (tmp_path / form).read_text(encoding="utf-8").replace(report.plan.name, "")
    without = worked(four_racks(False))
    assert len(list_cables(report)) == len(list_cables(without)) == 12


def test_a_fabric_alone_keeps_its_panels(worked: Worked) -> None:
    """`--fabric` takes jumpers and trunks with it; a wiring with a jumper moved is found to be broken."""
    report = worked(four_racks())
    wiring = list_cables(report, ("compute",))
    assert 17 == wiring.each_cable.pieces
    assert [] == broken_rules(wiring, report.design)
    table = wiring.each_cable
    table.b_cage[(table.b_device >= table.kinds[-1].start) & (table.a_device < table.kinds[-1].start)] += 1
    assert ["a leg of a trunk has no jumper, or a jumper no leg"] == [
        each for each in broken_rules(wiring, report.design) if "leg" in each
    ]


def test_panels_are_bought_as_cabling(worked: Worked) -> None:
    """Lines of category cable: panels by fabric, jumpers and trunks by length, each under its own id."""
    lines = {line["id"]: line for line in bom(worked(four_racks()))["lines"] if line["category"] == "cable"}
    assert {
        "compute.cable.server-leaf.trunk.generic-trunk-om4-x12-5m": 1,
        "compute.cable.server-leaf.jumper.generic-mpo12-om4-5m": 5,
        "compute.cable.server-leaf.jumper.generic-mpo12-om4-3m": 3,
        "compute.panel": 2,
    } == {id: line["quantity"] for id, line in lines.items() if "jumper" in id or "trunk" in id or "panel" in id}


def test_machines_without_a_rack_are_named(worked: Worked) -> None:
    """A machine that stands nowhere has no panel."""
    plan = four_racks()
    plan["fabrics"]["compute"]["hosts"] = [{"name": "login", "count": 2, "ports": 1}]
    with pytest.raises(PlanErrors, match="2 server-leaf links of compute end at devices without a rack"):
        worked(plan)
