"""X-rays of bills: published ones, bomgen's own, and bomgen's own with an error put in."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import jsonschema
import pytest
from bills_with_errors import CATALOG, MODES, in_words, look, put_error, random_plan, rank_of_error, rows_of
from depth import DEEP

import bomgen
from bomgen.xray.contents import open_bill, plan_text, to_data
from bomgen.xray.inspection import Inspection, inspect
from bomgen.xray.laws import ConsistencyChecks
from bomgen.xray.parts import Requirements, check_parts

BILLS = Path(__file__).parents[1] / "reading" / "bills"
PLANS = Path(__file__).parents[2] / "plans"
SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "xray.schema.json").read_text("utf-8"))
ERRORS = 1000 if DEEP else 2
OCP = {
    # file: (servers, leaves and spines of the back end, of the front end) as the bill has them
    "ocp-opg-64-clos-ro": (8, (1, 1), (2, 1)),
    "ocp-opg-128-clos-ro": (16, (2, 1), (2, 1)),
    "ocp-opg-128-clos-sh": (16, (2, 1), (2, 1)),
    "ocp-xoc-128-1x-opg-128-clos-ro": (16, (2, 1), (2, 1)),
    "ocp-xoc-128-1x-opg-128-clos-sh": (16, (2, 1), (2, 1)),
    "ocp-xoc-256-2x-opg-128-clos-ro": (32, (4, 2), (2, 1)),
    "ocp-xoc-256-2x-opg-128-clos-sh": (32, (4, 2), (2, 1)),
    "ocp-xoc-512-4x-opg-128-clos-ro": (64, (8, 4), (2, 1)),
    "ocp-xoc-512-4x-opg-128-clos-sh": (64, (8, 4), (2, 1)),
}
RAILS = {"topology": "rail-optimized"}
SMALL = ("a100-32-zh", "1000P-dense", "ascend-910c", "gaudi3-64", "rtx-pro-6000-2")
"""Plans whose bills are looked at every day; all of them when looking deep."""


def open_published(name: str) -> Inspection:
    """The x-ray of a published bill."""
    return inspect(open_bill((BILLS / f"{name}.csv").read_bytes(), f"{name}.csv", CATALOG))


@pytest.mark.long
def test_superpod_compute_fabric() -> None:
    """NVIDIA's SuperPOD of 127 servers: servers, switches, modules and fibres of compute and storage, to the piece."""
    found = open_published("nvidia-ra-superpod-h100-4su").found
    compute = found.fabrics[0]
    assert (compute.name, compute.explains) == ("compute", "whole")
    # Servers, switches, modules and fibres; two splitters and four modules connect the fabric managers.
    assert sorted(line.quantity or 0 for line in compute.lines) == [2, 4, 48, 127, 508, 1536, 2040]
    shapes = {(design.topology, design.servers, design.tiers) for design in compute.designs}
    assert ("rail-optimized", 127, (("leaf", 32), ("spine", 16))) in shapes
    # Storage: 254 fibres to servers and 240 between 16 switches, and splitters to machines of 200 Gb/s. It does
    # not say how many of the switches are leaves. One module more than these links need is for fabric managers.
    storage = next(fabric for fabric in found.fabrics if fabric.name == "storage")
    assert storage.explains == "whole"
    assert sorted(line.quantity or 0 for line in storage.lines) == [4, 16, 48, 127, 254, 369, 494]
    assert {design.tiers for design in storage.designs} == {
        (("leaf", 10), ("spine", 6)),
        (("leaf", 12), ("spine", 4)),
    }
    assert not [each for each in found.findings if each.severity == "error"]
    # The in-band AOCs have plugs of 200 Gb/s, and its switches ports of 100 Gb/s.
    [odd] = [each for each in found.findings if each.code == "no-port"]
    assert (odd.mark.line, odd.pieces) == (12, 254)


def test_module_described_as_another() -> None:
    """The calculator's module is multimode, and its bill says 1310 nm single-mode: an error at both of its lines."""
    found = open_published("ibcalc-ndr-64xH800").found
    errors = [each for each in found.findings if each.severity == "error"]
    assert [(each.mark.line, each.code) for each in errors] == [(6, "contradicted"), (7, "contradicted")]
    assert found.fabrics[0].explains == "whole"
    assert {design.servers for design in found.fabrics[0].designs} == {64}
    assert found.left == ()


@pytest.mark.parametrize("name", OCP if DEEP else list(OCP)[1:2])
def test_ocp_fabrics(name: str) -> None:
    """The back and front ends of the Open Compute Project's bills, by the number of their switches."""
    found = open_published(name).found
    servers, back, front = OCP[name]
    shapes = {
        fabric.name: {(design.servers, tuple(count for _, count in design.tiers)) for design in fabric.designs}
        for fabric in found.fabrics
    }
    assert (servers, back) in shapes["compute"]
    assert (servers, front) in shapes["storage"]
    assert [fabric.explains for fabric in found.fabrics] == ["whole", "whole"]
    assert not any(design.repeats for fabric in found.fabrics for design in fabric.designs)


def test_ocp_mesh() -> None:
    """A pair of switches without spines: 64 modules at servers to the piece, and too few at its switches."""
    found = open_published("ocp-xoc-64-1x-opg-64-mesh-conv-ro").found
    compute = next(fabric for fabric in found.fabrics if fabric.name == "compute")
    assert {(design.topology, design.servers) for design in compute.designs} == {("mesh", 8)}
    assert [line.quantity for line in compute.lines] == [2, 64, 32]
    # 64 links end at switches in 32 modules that have one port each.
    assert [(each.mark.line, each.code) for each in found.findings if each.line and each.severity == "doubt"] == [
        (20, "few")
    ]
    # In-band management connects all 17 machines to one switch of 48 ports: 17 modules at either end.
    in_band = next(fabric for fabric in found.fabrics if fabric.name == "in_band")
    assert in_band.explains == "whole"
    assert [line.quantity for line in in_band.lines] == [1, 17, 17]


@pytest.mark.deep
def test_ocp_two_meshes() -> None:
    """Two such blocks: each has its half of the modules at servers, and a front end with a switch for either port."""
    found = open_published("ocp-xoc-128-2x-opg-64-mesh-conv-ro").found
    compute = [fabric for fabric in found.fabrics if fabric.name == "compute"]
    storage = [fabric for fabric in found.fabrics if fabric.name == "storage"]
    assert [fabric.explains for fabric in (*compute, *storage)] == ["switches", "switches", "whole", "whole"]
    assert all([line.quantity for line in fabric.lines] == [2, 64] for fabric in compute)
    # Without the modules of links between switches, two planes of one switch each fit storage as well.
    shapes = {
        (fabric.name, each.topology, each.servers, each.tiers) for fabric in found.fabrics for each in fabric.designs
    }
    pair = (("leaf", 2),)
    assert {("compute", "mesh", 8, pair), ("storage", "mesh", 8, pair)} <= shapes
    assert {fabric.designs[0].topology for fabric in (*compute, *storage)} == {"mesh"}
    in_band = [fabric for fabric in found.fabrics if fabric.name == "in_band"]
    assert [(fabric.cluster, fabric.explains) for fabric in in_band] == [("a", "whole"), ("b", "whole")]
    assert all(design.tiers == (("leaf", 1),) for fabric in in_band for design in fabric.designs)
    # The bill has no modules at switches at all.
    errors = [(each.mark.line, each.code, each.pieces) for each in found.findings if each.severity == "error"]
    assert errors == [(22, "one-end", -128)]
    # The rate of the storage ports is not on the bill.
    assert [str(figure.value) for figure, _ in found.assumptions] == ["200"]


@pytest.mark.parametrize("name", sorted(path.stem for path in PLANS.glob("*.yaml")) if DEEP else SMALL)
def test_nothing_wrong_with_correct_bills(name: str) -> None:
    """No bill of a plan of bomgen's own has an error or a doubt."""
    rows = rows_of(str(PLANS / f"{name}.yaml"))
    assert [str(each.message) for each in look(rows).found.findings if each.severity != "unknown"] == []


@pytest.mark.parametrize("spares", [True, False])
def test_no_error_with_and_without_spares(spares: bool) -> None:
    """Spares in a column, or among the pieces, make no error and no doubt about counts."""
    plan = {
        "bomgen": 1,
        "name": "spared",
        "cluster": {"server": "dgx-h100", "servers": 16},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}},
        "spares": {"transceiver": "3%", "cable": "3%"},
    }
    rows = rows_of(plan)
    if not spares:
        rows = [{key: value for key, value in row.items() if key != "spare"} for row in rows]
        for row, whole in zip(rows, rows_of(plan), strict=True):
            row["quantity"] = str(int(whole["quantity"]) + int(whole["spare"] or 0))
    assert [str(each.message) for each in look(rows).found.findings if each.severity != "unknown"] == []


def test_one_error_is_found() -> None:
    """An error in a bill of bomgen's own is found, and 98 times of 100 what is said first names its line."""
    random, missed, late = Random(20), list[object](), list[object]()  # noqa: S311
    for number in range(ERRORS):
        mode, broken = MODES[number * 3 % len(MODES)], None
        while broken is None:
            broken = put_error(rows_of(random_plan(random)), mode, random)
        found = look(broken.rows)
        rank = rank_of_error(found, broken)
        said = [str(each.message) for each in found.found.findings[:2]]
        if rank != 0:
            (missed if rank is None else late).append((mode, broken[1:], said))
    assert missed == []
    assert len(late) <= 0.02 * ERRORS, late


@pytest.mark.parametrize("words", ["en", "zh"])
def test_bills_in_words(words: str) -> None:
    """Descriptions in place of part numbers, two parts of one name among them, are no doubt, and hide no error."""
    plan = {"topology": "rail-optimized", "switch": "qm9700"}
    rows = rows_of(
        {
            "bomgen": 1,
            "name": "described",
            "cluster": {"server": "dgx-h100", "servers": 32},
            "fabrics": {"compute": plan, "storage": "default"},
            "spares": {"transceiver": "2%", "cable": "2%"},
        }
    )
    assert {each["description"] for each in rows} >= {"QSFP112 SR4 400G"}  # the name of two parts
    assert {each.severity for each in look(in_words(rows, words)).found.findings} == {"unknown"}
    random, late = Random(64), list[object]()  # noqa: S311
    for mode in ("count", "swap", "fibre", "spares") if not DEEP else [*("count", "swap", "fibre", "spares") * 25]:
        broken = None
        while broken is None:
            broken = put_error(rows_of(random_plan(random)) if DEEP else rows, mode, random)
        found = look(in_words(broken.rows, words))
        if rank_of_error(found, broken) != 0:
            late.append((mode, broken.lines, [str(each.message) for each in found.found.findings[:2]]))
    assert len(late) <= (5 if DEEP else 0), late


@pytest.mark.parametrize(
    "name", ["ocp-xoc-128-2x-opg-64-mesh-conv-ro", "ibcalc-ndr-64xH800", "mixed-oem", "rival"] if DEEP else ["rival"]
)
def test_json_keeps_to_its_schema(name: str) -> None:
    """The JSON is what the schema says: with findings and amounts, with clusters, without a fabric."""
    text = "P/N,Description,Qty,Unit price,Total\nMMA4Z00-NS,OSFP 1310nm,8,900 USD,7100\nX1,switch,1,,\n"
    bill = open_bill(text.encode(), "rival.csv", CATALOG)
    found = inspect(bill).found if name == "rival" else open_published(name).found
    data = json.loads(json.dumps(to_data(found), allow_nan=False))
    assert [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(data)] == []
    assert {*data, "verification"} == SCHEMA["properties"].keys()  # the comparison with a plan is asked for
    for kind, rows in (("line", data["lines"]), ("finding", data["findings"])):
        assert all(row.keys() == SCHEMA["$defs"][kind]["properties"].keys() for row in rows)


def test_fabric_managers_with_modules_of_their_own() -> None:
    """Appliances at the compute fabric, whose modules are not those of the servers, are no doubt."""
    rows = rows_of(
        {
            "bomgen": 1,
            "name": "managed",
            "cluster": {"server": "dgx-h100", "servers": 31},
            "fabrics": {
                "compute": RAILS
                | {"switch": "qm9700", "hosts": [{"name": "ufm", "count": 2, "ports": 2, "part": "ufm-ndr"}]}
            },
        }
    )
    assert [str(each.message) for each in look(rows).found.findings if each.severity != "unknown"] == []


COINCIDENCES = {
    # wrong counts that another design than that of the plan would have: (plan, they by their lines, what is said)
    "leaves of a fat tree": (
        {"cluster": {"server": "dgx-h100", "servers": 12}, "fabrics": {"compute": RAILS | {"switch": "qm9700"}}},
        {3: "3", 11: "12"},  # and two cords for each of the six switches of the plan
        {(3, "few"), (11, "required-many")},
    ),
    "units of two servers": (
        {"cluster": {"server": "dgx-a100-640", "servers": 160}, "fabrics": {"compute": RAILS | {"switch": "qm8700"}}},
        {3: "80", 4: "64"},
        {(3, "swapped"), (4, "swapped")},
    ),
    "other machines": (
        {
            "cluster": {"server": "dgx-a100-640", "servers": 32},
            "fabrics": {"compute": RAILS | {"switch": "qm8700", "build_out": "full"}},
        },
        {5: "300"},
        {(5, "many")},
    ),
    "machines on splitters": (
        {"cluster": {"server": "dgx-a100-640", "servers": 256}, "fabrics": {"storage": {"switch": "qm9700"}}},
        {7: "526"},
        {(7, "many")},
    ),
}


@pytest.mark.parametrize("name", COINCIDENCES)
def test_counts_of_another_design(name: str) -> None:
    """A wrong count is found although another design would have it."""
    plan, counts, said = COINCIDENCES[name]
    rows = rows_of({"bomgen": 1, "name": "plan", **plan})
    for line, count in counts.items():
        if line - 2 == len(rows):
            rows.append(dict.fromkeys(rows[0], "") | {"category": "accessory", "part": "cord-c14"})
        rows[line - 2]["quantity"] = count
    certain = [each for each in look(rows).found.findings if each.severity != "unknown"]
    assert {(each.mark.line, each.code) for each in certain} == said


def test_switches_without_cables() -> None:
    """A network whose cables are all missing, on a bill that lists those of another."""
    plan = {
        "bomgen": 1,
        "name": "bare",
        "cluster": {"server": "dgx-a100-640", "servers": 16},
        "fabrics": {"compute": RAILS | {"switch": "qm8700"}, "storage": {"switch": "qm9700"}},
    }
    rows = [row for row in rows_of(plan) if row["part"] != "mfa7u10-h030"]
    first = look(rows).found.findings[0]
    assert (first.code, first.part) == ("missing", "mfa7u10-hxxx")


HEAD = "P/N,Description,Qty\n"
RACK = f"""{HEAD}DGXH100,NVIDIA DGX H100,8
MQM9700-NS2F,QM9700,1
MMA4Z00-NS-FLT,flat,32
MMA4Z00-NS,finned,32
MFP7E10-N030,fibre,64
"""
"""A correct bill, but for cords and licences."""
SAID = {
    # changes of that bill: (what stands there, what stands there instead, errors and doubts by their lines)
    "correct": ("", "", set()),
    "unknown switch": ("MQM9700-NS2F,QM9700,", "JNP-1234,Ethernet switch,", set()),
    "unknown modules": ("MMA4Z00-NS-FLT,flat", "XYZ-1,module", set()),
    "no switch": ("MQM9700-NS2F,QM9700,1\n", "", {(3, "without-switches")}),
    "number beside words": ("MQM9700-NS2F,", "MQM9070-NS2F,", {(3, "mistyped")}),
    "not sold": ("N030", "N100", {(6, "unsold"), (6, "reach")}),
    "wrong fibre": ("MFP7E10", "MFP7E30", {(6, "wrong-fibre")}),
    "no modules at switches": ("MMA4Z00-NS,finned,32\n", "", {(5, "no-module-fits")}),
    "no modules at servers": ("MMA4Z00-NS-FLT,flat,32\n", "", {(5, "no-module-fits")}),
    "another connector": ("MFP7E10-N030", "generic-mpo16-om4", {(6, "wrong-connector")}),
    "connector of a planning module": (
        "NS,finned,32\n",
        "NS,finned,32\ngeneric-800g,,9\ngeneric-mpo16-om4,,9\n",
        set(),
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_laws_without_places(name: str) -> None:
    """What is said of lines that do not say where they belong; nothing because of parts that nobody knows."""
    there, instead, said = SAID[name]
    bill = open_bill(RACK.replace(there, instead).encode(), "bill.csv", CATALOG)
    found = [*check_parts(bill), *ConsistencyChecks(bill).findings()]
    assert {(each.mark.line, each.code) for each in found if each.severity != "unknown"} == said


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ("MMA4Z00-NS-FLT", "MMA4Z00-SN-FLT", {(4, "probable")}),
        ("MMA4Z00-NS-FLT,flat", "XYZ-1,module", set()),
        ("MFP7E10", "MFP7E30", {(6, "wrong-fibre")}),
    ],
)
def test_unknown_lines_and_designs(there: str, instead: str, said: set[tuple[int, str]]) -> None:
    """A line that nobody knows is what a design lacks, and a wrong fibre is said once."""
    bill = open_bill(RACK.replace(there, instead).encode(), "bill.csv", CATALOG)
    found = inspect(bill).found.findings
    certain = {(each.mark.line, each.code) for each in found if each.severity != "unknown"}
    assert {each for each in certain if each[1] != "required"} == said


def test_cables_alone() -> None:
    """Cables with fixed ends need no modules, and an offer of cables alone no switch."""
    text = f"{HEAD}DGXA-G640F,DGX A100,20\nMQM8700-HS2F,QM8700,12\nMFS1S00-H030V,AOC,320\n"
    found = inspect(open_bill(text.encode(), "bill.csv", CATALOG)).found
    assert "without-modules" not in {each.code for each in found.findings}
    text = f"{HEAD}MFS1S00-H030V,AOC,320\n"
    found = inspect(open_bill(text.encode(), "bill.csv", CATALOG)).found
    assert [each.code for each in found.findings if each.severity != "unknown"] == []


@pytest.mark.parametrize(("cords", "few"), [(22, False), (21, True), (12, True), (24, False)])
def test_spare_switches_need_no_cords(cords: int, few: bool) -> None:
    """One switch of twelve may be a spare, whose two cords a bill need not have."""
    text = f"{HEAD}MQM9700-NS2F,QM9700,12\n,Power cord C13 to C14,{cords}\n"
    required = Requirements(open_bill(text.encode(), "bill.csv", CATALOG))
    assert ("required-few" in {each.code for each in required.findings()}) == few


def test_reasons_are_the_words() -> None:
    """A part that words name is shown with them."""
    text = f"{HEAD}210-BHCG,GPU server with 8 x H200 SXM,4\n"
    [line] = open_bill(text.encode(), "bill.csv", CATALOG).lines
    assert line.recognition.named is not None
    assert str(line.recognition.named.reason) == "words: GPU server with 8 x H200 SXM"


@pytest.mark.parametrize(
    "spares", [{"transceiver": "3%", "cable": "2%", "switch": 1}, {"transceiver": 2, "cable": "0.5%"}]
)
def test_plan_has_the_spares_of_the_bill(spares: dict[str, str | int]) -> None:
    """The plan that is written comes to the same spares on every line."""
    plan = {
        "bomgen": 1,
        "name": "spared",
        "cluster": {"server": "dgx-h100", "servers": 31},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}},
        "spares": spares,
    }
    rows = rows_of(plan)
    rebuilt = rows_of(plan_text(look(rows), "rebuilt"))
    keys = ("part", "quantity", "spare")
    assert [[row[key] for key in keys] for row in rebuilt] == [[row[key] for key in keys] for row in rows]


def test_plan_rebuilds_the_bill() -> None:
    """The plan that is written comes to the counts of the bill, and says in comments what it does not explain."""
    text = plan_text(open_published("ibcalc-ndr-64xH800"), "rebuilt")
    result = bomgen.build(text)
    assert result.number("fabrics.compute.switches.leaf") == 16
    assert result.number("fabrics.compute.switches.spine") == 8
    pieces = {line["part"]: 0 for line in result.lines}
    for line in result.lines:
        pieces[line["part"]] += line["quantity"]
    assert (pieces["mma4z00-ns"], pieces["mma4z00-ns400"], pieces["mfp7e10-n030"]) == (768, 512, 1024)
    assert "# line 6: error: MMA4Z00-NS is described as single-mode, but it is multimode" in text
