"""What stands in the racks: groups of equal racks, their sums, the drawings and tables of them."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bomgen.core.language import language
from bomgen.documents.chapters.contents import document
from bomgen.output.drawing.racks import MOST_DRAWN, floor_svg, rack_svgs
from bomgen.output.writer import render
from bomgen.results.elevations import dealt_text, named_text, spans_text
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

Worked = Callable[[Mapping[str, Any]], Report]
Built = Callable[[Mapping[str, Any]], dict[str, Any]]

ROOT = Path(__file__).parent.parent.parent
SVG = "{http://www.w3.org/2000/svg}"
SITED = sorted(path for path in (ROOT / "plans").glob("*.yaml") if "\nsite:" in path.read_text(encoding="utf-8"))
BOM_SCHEMA = json.loads((ROOT / "schemas" / "bom.schema.json").read_text(encoding="utf-8"))
PDU = {"name": "PDU of 22 kW", "power": "22 kW", "outlets": {"c13": 30, "c19": 12}, "weight": "10 kg"}
RACK = {"name": "rack of 48 U", "rack_units": 48, "weight": "150 kg", "width_mm": 600, "depth_mm": 1200}


def four(servers: int = 127, **site: Any) -> dict[str, Any]:
    """DGX H100 by four in racks of 48 U with three PDUs, and a storage fabric beside them."""
    rack = {"units": 48, "power": "41 kW", "pdus": 3, **site.pop("rack", {})}
    return {
        "bomgen": 1,
        "name": "racks",
        "cluster": {"gpu": "h100-sxm", "servers": servers},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}, "out_of_band": "default"},
        "site": {"rack": rack, **site},
    }


def report_of(name: str) -> Report:
    """The report of a plan of the project."""
    return work_out(open_plan(str(ROOT / "plans" / f"{name}.yaml"), None))


def span(first_last: list[int]) -> range:
    """The numbers of a range of bom.json."""
    return range(first_last[0], first_last[1] + 1)


def names(first: str, last: str) -> Iterator[str]:
    """The devices of a range, by their names."""
    stem, _, start = first.rpartition("-")
    for number in range(int(start), int(last.rpartition("-")[2]) + 1):
        yield f"{stem}-{number:0{len(start)}}"


def check(site: dict[str, Any]) -> None:
    """Racks each once; no two devices of a rack at one unit; nothing above the rack."""
    groups = site["elevations"]
    racks = Counter(number for group in groups for each in group["racks"] for number in span(each))
    assert set(racks.values()) <= {1}
    assert len(racks) == sum(group["number"] for group in groups) == site["racks"]
    devices = Counter[str]()
    for group in groups:
        filled = Counter[int]()
        for slot in group["slots"]:
            found = [name for ends in slot["devices"] for name in names(*ends)]
            devices.update(found)
            assert len(found) % (slot["pieces"] * group["number"]) == 0
            if slot["unit"] and slot["height_u"]:
                filled.update(range(slot["unit"], slot["unit"] + slot["pieces"] * slot["height_u"]))
        for pdu in group["pdus"]:
            if pdu["unit"]:
                filled.update(range(pdu["unit"], pdu["unit"] + pdu["height_u"]))
        assert set(filled.values()) <= {1}
        assert max(filled, default=0) <= group["units"]
        assert group["units_used"] is None or group["units_used"] == len(filled)
    assert set(devices.values()) <= {1}
    drawn = [block for row in site["rows"] for block in row]
    assert [block["first"] for block in drawn] == [1, *(block["first"] + block["racks"] for block in drawn[:-1])]
    assert site["racks"] == sum(block["racks"] for block in drawn if block["kind"] != "free")


# data ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SITED, ids=lambda path: path.stem)
def test_racks_of_every_plan(path: Path) -> None:
    """Every rack of a site is in one group, every device in one rack, and nothing is left without one."""
    bom = result(work_out(open_plan(str(path), None)))
    check(bom["site"])
    assert [] == bom["site"]["unplaced"]
    jsonschema.Draft202012Validator(BOM_SCHEMA).validate(json.loads(json.dumps(bom)))


def test_the_superpod() -> None:
    """RA-11333-001 V11, table 7: 32 racks of up to four DGX H100 and six of everything else, 96 and 12 PDUs."""
    groups = result(report_of("superpod-h100-4su"))["site"]["elevations"]
    racks, pdus = Counter[str](), Counter[str]()
    for group in groups:
        racks[group["kind"]] += group["number"]
        pdus[group["kind"]] += group["number"] * len(group["pdus"])
    assert (racks, pdus) == ({"compute": 32, "management": 6}, {"compute": 96, "management": 12})
    full = groups[0]
    assert (full["number"], full["racks"]) == (31, [[1, 16], [23, 37]])
    [slot] = full["slots"]
    assert [slot[key] for key in ("unit", "height_u", "pieces", "part")] == [1, 8, 4, "dgx-h100"]
    assert slot["devices"] == [["server-001", "server-124"]]
    assert groups[-1]["slots"][0]["devices"] == [["server-125", "server-127"]]
    assert [pdu["feed"] for pdu in full["pdus"]] == ["A", "B", "C"]


def test_a_full_rack_has_the_numbers_of_the_site(built: Built) -> None:
    """The full rack of servers draws, weighs and needs what the site says of it."""
    site = built(four(rack={"part": RACK, "pdu": PDU}))["site"]
    full = site["elevations"][0]
    assert full["power_w"] == site["compute_rack_power_w"] == 4 * 10_200
    assert full["heat_btu_per_hour"] == pytest.approx(site["compute_rack_heat_btu_per_hour"])
    assert full["weight_kg"] == pytest.approx(site["compute_rack_weight_kg"])
    assert full["outlets"] == site["compute_rack_outlets"]
    assert full["pdu_outlets"] == site["compute_rack_pdu_outlets"]
    assert Counter(pdu["feed"] for pdu in full["pdus"]) == site["compute_rack_feeds"]
    assert [] == full["lower_bounds"]


@pytest.mark.parametrize("spares", [0, 2, 6])
def test_racks_add_up_to_the_site(spares: int, built: Built) -> None:
    """Power of all racks is that of all machines in use, weight that of everything, spare servers with it."""
    parts = {"part": RACK, "pdu": PDU}
    plan = four(rack=parts, management={"pdu": PDU})
    plan["cluster"]["spare_servers"] = spares
    site = built(plan)["site"]
    for key in ("power_w", "weight_kg", "heat_btu_per_hour"):
        assert site[key] == pytest.approx(sum(group["number"] * group[key] for group in site["elevations"]))


def test_pdus_that_lie_in_a_rack_stand_above_the_servers(built: Built) -> None:
    """Three PDUs of 2 U lie in the topmost six units of 48, above four servers of 8 U."""
    site = built(four(rack={"pdu": {**PDU, "rack_units": 2}}))["site"]
    check(site)
    assert [pdu["unit"] for pdu in site["elevations"][0]["pdus"]] == [43, 45, 47]
    assert site["elevations"][0]["units_used"] == 4 * 8 + 3 * 2


def test_spare_servers_stand_in_racks(built: Built) -> None:
    """Four spare servers behind 127: one beside the last three, three in a rack of their own."""
    plan = four()
    plan["cluster"]["spare_servers"] = 4
    site = built(plan)["site"]
    check(site)
    slots = [slot for group in site["elevations"] for slot in group["slots"] if slot["device"] == "server"]
    spare = [slot["devices"] for slot in slots if slot["devices"][0][0].startswith("spare")]
    assert spare == [[["spare-server-01", "spare-server-01"]], [["spare-server-02", "spare-server-04"]]]


def test_trays_have_a_rack_and_no_unit() -> None:
    """Where a tray of a rack-scale system stands is its vendor's affair; rack, power and weight are known."""
    group = result(report_of("superpod-gb200-su"))["site"]["elevations"][0]
    assert (group["number"], group["units_used"], group["power_w"]) == (8, None, 120_000)
    [slot] = group["slots"]
    assert [slot[key] for key in ("unit", "pieces", "device")] == [None, 18, "tray"]
    assert slot["devices"] == [["tray-001", "tray-144"]]


def test_too_few_racks_are_named(worked: Worked) -> None:
    """Machines that find no rack are counted, and the racks that they would need do."""
    report = worked(four(management={"racks": 1}))
    [message] = [problem.message for problem in report.problems if problem.rule == "rack-units"]
    assert "1 management rack of 48 U" in message
    unplaced = result(report)["site"]["unplaced"]
    assert unplaced
    assert all(f"{each['number']} of {each['of']} {each['name']}" in message for each in unplaced)
    enough = int(message.rpartition("; ")[2].split()[0])
    assert [] == result(worked(four(management={"racks": enough})))["site"]["unplaced"]
    assert result(worked(four(management={"racks": enough - 1})))["site"]["unplaced"]


def test_a_plan_without_a_site_has_no_racks(built: Built) -> None:
    """Nor do they stand in its result."""
    plan = four()
    plan.pop("site")
    assert not {"elevations", "rows", "unplaced"} & set(built(plan)["site"])


# words and drawings -------------------------------------------------------------------------------------------------


def test_numbers_in_a_row_are_written_as_readers_write_them() -> None:
    """Spans with a dash, names with what tells the last from the first."""
    assert "1–16, 18" == spans_text(((1, 16), (18, 18)))
    assert "1–2, … +2" == spans_text(((1, 2), (4, 4), (6, 6)), 1)
    assert ("leaf-01 … 09", "leaf-01", "leaf-a-1 … leaf-b-1") == tuple(
        named_text(each) for each in (("leaf-01", "leaf-09"), ("leaf-01", "leaf-01"), ("leaf-a-1", "leaf-b-1"))
    )


def test_pdus_of_equal_racks_are_named_one_of_each() -> None:
    """Of racks with two PDUs each, every second is on the same feed; of racks with one, all are."""
    ends = ("pdu-01", "pdu-19")
    found = [dealt_text(ends, second) for second in ("pdu-03", "pdu-02", "pdu-19", None)]
    assert ["pdu-01, 03 … 19", "pdu-01 … 19", "pdu-01, 19", "pdu-01 … 19"] == found
    assert "pdu-01" == dealt_text(("pdu-01", "pdu-01"), None)


@pytest.mark.parametrize("code", ["en", "zh"])
def test_tables_have_the_numbers_of_the_result(code: str) -> None:
    """The tables of the chapter, which are the sheet of the workbook, in both languages."""
    report = report_of("superpod-h100-4su")
    bom = result(report)["site"]
    tables = {table.id: table for table in document(report, language(code)).section("racks").tables}
    assert set(tables) == {"racks", "rack-slots"}
    groups = {row.cells[0].value: row.cells for row in tables["racks"].rows}
    keys = [column.key for column in tables["racks"].columns]
    for group in bom["elevations"]:
        cells = dict(zip(keys, groups[spans_text(tuple((a, b) for a, b in group["racks"]))], strict=True))
        found = {key: cells[key].value for key in ("number", "power", "units", "heat")}
        assert found == {
            "number": group["number"],
            "power": group["power_w"],
            "units": group["units_used"],
            "heat": round(group["heat_btu_per_hour"]),
        }
        bounds = {"power": "power_w", "heat": "power_w", "weight": "weight_kg"}
        assert {key: cells[key].least for key in bounds} == {
            key: name in group["lower_bounds"] for key, name in bounds.items()
        }
        shown = language(code).cell(cells["weight"])
        assert shown.startswith(("at least ", "至少 ") if group["weight_kg"] else "–")  # the plan names no rack
        weight = cells["weight"].value
        assert group["weight_kg"] == (None if weight is None else float(weight))
    assert sum(len(group["slots"]) + bool(group["pdus"]) for group in bom["elevations"]) == len(
        tables["rack-slots"].rows
    )
    assert tables["racks"].rows[-1].cells[2].value == bom["racks"]


def drawings(report: Report, code: str) -> list[ElementTree.Element]:
    """The drawings of floor and racks."""
    words, found, site = language(code), report.elevations, report.plan.site
    assert found
    assert site
    texts = [floor_svg(found, site, words), *(svg for _, svg in rack_svgs(found, words))]
    return [ElementTree.fromstring(text) for text in texts]  # noqa: S314 - our own drawings


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("name", ["superpod-h100-4su", "superpod-b200-16su", "superpod-gb200-su"])
def test_drawings_stay_inside_their_frames(name: str, code: str) -> None:
    """Nothing reaches beyond the picture, and no two devices lie on each other."""
    for root in drawings(report_of(name), code):
        left, top, width, height = map(float, root.attrib["viewBox"].split())
        boxes = []
        for element in root.iter(f"{SVG}rect"):
            x, y, wide, high = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
            assert left <= x
            assert x + wide <= left + width
            assert top <= y
            assert y + high <= top + height
            if element.attrib["class"] in ("device", "free", "pdu"):
                boxes.append((x, y, x + wide, y + high))
        for text in root.iter(f"{SVG}text"):
            assert left <= float(text.attrib["x"]) <= left + width
            assert top <= float(text.attrib["y"]) <= top + height
        for index, (x1, y1, x2, y2) in enumerate(boxes):
            for a1, b1, a2, b2 in boxes[index + 1 :]:
                assert x2 <= a1 or a2 <= x1 or y2 <= b1 or b2 <= y1


def test_the_floor_names_every_rack() -> None:
    """An installer finds every rack of 38 by its number."""
    floor, *_ = drawings(report_of("superpod-h100-4su"), "en")
    found = [text.text for text in floor.iter(f"{SVG}text") if text.attrib["class"] == "number"]
    assert found == [str(number) for number in range(1, 39)]


def test_a_large_floor_is_shortened(worked: Worked) -> None:
    """Of 157 rows the first, some with racks of switches, and the last are drawn; the others are named."""
    plan = four(8000, management={"racks": 500})
    plan["fabrics"].pop("out_of_band")
    report = worked(plan)
    floor, *_ = drawings(report, "en")
    texts = [text.text or "" for text in floor.iter(f"{SVG}text")]
    rows = [int(text.split()[1]) for text in texts if text.startswith("Row ")]
    assert (rows[0], rows[-1]) == (1, 157)
    assert 63 in rows  # rack 1001, the first of switches
    missing = [text.removeprefix("rows ").partition(":")[0].split("–") for text in texts if text.startswith("rows ")]
    left_out = [number for ends in missing for number in range(int(ends[0]), int(ends[-1]) + 1)]
    assert sorted([*rows, *left_out]) == list(range(1, 158))


@pytest.mark.deep
def test_thirty_thousand_racks(worked: Worked) -> None:
    """A cluster of 30 000 racks is put in groups, and draws no more than a handful of them."""
    plan = four(120_000)
    plan["fabrics"] = {"compute": {"topology": "fat-tree", "switch": "generic-th6-64x1600", "link": "400G", "tiers": 3}}
    report = worked(plan)
    files = render(report, ("json", "md"))
    site = json.loads(files["bom.json"])["site"]
    assert site["racks"] > 30_000
    assert len(site["elevations"]) < 50
    found = report.elevations
    assert found
    assert sum(svg.count('class="rack"') for _, svg in rack_svgs(found, language("en"))) <= MOST_DRAWN
    assert len(files["report.md"]) < 400_000
