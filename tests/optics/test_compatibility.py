"""Connection rules: breakouts, compatible parts, policies, prices and availability, from a plan to its bill."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from plan_cases import read_cases

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.resources import folder
from bomgen.output.writer import render
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

Built = Callable[[Mapping[str, Any]], dict[str, Any]]

ROOT = Path(__file__).parent.parent.parent
CODE = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)


def plan(links: Mapping[str, Any], servers: int = 128, nic: str = "cx7-200-osfp", **fabric: Any) -> dict[str, Any]:
    """Servers with one NIC each on QM9700."""
    server = {"name": "server", "gpus": 1, "nics": 1, "nic": nic}
    cluster = {"gpu": "a100-pcie-80", "servers": servers, "server": server}
    fabrics = {"compute": {"switch": "qm9700", "links": links, **fabric}}
    return {"bomgen": 1, "name": "connection", "cluster": cluster, "fabrics": fabrics}


def chosen(bom: Mapping[str, Any], kind: str = "server-leaf") -> dict[str, Any]:
    """How a kind of link is built."""
    found: dict[str, Any] = bom["fabrics"]["compute"]["links_chosen"][kind]
    return found


def why_not(bom: Mapping[str, Any], kind: str = "server-leaf") -> dict[str, str]:
    """The reason why not of every other way."""
    return {way["way"]: way["reason"] for way in chosen(bom, kind)["others"]}


def in_folder(place: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The bom.json of a plan that stands in a folder, with part folders and price books beside it."""
    report = work_out(PlanFile("plan.yaml", json.dumps(given).encode(), place, place))
    data: dict[str, Any] = json.loads(render(report, ("json",))["bom.json"])
    return data


def own_part(place: Path, kind: str, id: str, **fields: Any) -> None:
    """A part file in the folder `parts`."""
    (place / "parts" / kind).mkdir(parents=True, exist_ok=True)
    (place / "parts" / kind / f"{id}.yaml").write_text(json.dumps(fields), encoding="utf-8")


def priced(place: Path, given: dict[str, Any], **prices: int) -> dict[str, Any]:
    """The bom.json of a plan with a price book; ids are written with `_` for `-`."""
    listed = [{"part": part.replace("_", "-"), "price": price} for part, price in prices.items()]
    book = {"bomgen_prices": 1, "currency": "USD", "prices": listed}
    (place / "prices.yaml").write_text(json.dumps(book), encoding="utf-8")
    return in_folder(place, {**given, "quote": {"currency": "USD", "price_book": "prices.yaml"}})


# breakouts ----------------------------------------------------------------------------------------------------------


def test_one_twin_module_serves_four_nics_of_200g(built: Built) -> None:
    """NVIDIA MMA4Z00-NS400 connectivity scenarios: 1:2 splitter fibres, four NICs with 400G modules a twin module."""
    compute = built(plan({}))["fabrics"]["compute"]
    assert compute["links"]["server-leaf"] == 128
    assert compute["transceivers"] == {"server": 128, "leaf": 32, "spine": 0, "core": 0, "total": 160}
    assert compute["cables"]["server-leaf"] == {"mfp7e20-n030": 64}


def test_a_single_mode_engine_is_split_as_well(built: Built) -> None:
    """NVIDIA MMS4X00-NS400 specification: MFP7E40 leads a DR4 engine to two NICs."""
    bom = built(plan({"server-leaf": {"medium": "transceiver", "module": {"leaf": "mms4x00-ns"}}}))
    assert ["mms4x00-ns400", "mms4x00-ns", "mfp7e40-nxxx"] == chosen(bom)["parts"]
    assert bom["fabrics"]["compute"]["cables"]["server-leaf"] == {"mfp7e40-n030": 64}


def test_fr4_takes_no_splitter(built: Built) -> None:
    """NVIDIA LinkX guide, MMS4X50-NM: no splitter."""
    with pytest.raises(PlanErrors) as refused:
        built(plan({"server-leaf": {"medium": "transceiver", "module": {"leaf": "mms4x50-nm"}}}))
    assert ["rate"] == [problem.rule for problem in refused.value.problems]


def test_every_leaf_rounds_up_its_splitters(built: Built) -> None:
    """Five NICs on each of sixteen leaves take three splitters of two links each, not two and a half."""
    server = {"name": "server", "gpus": 8, "nics": 8, "nic": "cx7-2x200"}
    given = plan({}, topology="rail-optimized", scalable_unit={"servers": 32}, gpus_per_nic=1, link="200G")
    given["fabrics"]["compute"]["build_out"] = "full"
    given["cluster"] = {"gpu": "h100-sxm", "servers": 37, "server": server}
    compute = built(given)["fabrics"]["compute"]
    assert compute["links"]["server-leaf"] == 37 * 16
    assert compute["cables"]["server-leaf"] == {"mfp7e20-n030": 16 * (16 + 3)}


@pytest.mark.parametrize(
    ("nic", "part", "links"),
    [("cx7-400-osfp", "mcp7y00-n03", 2), ("cx7-200-osfp", "mcp7y50-n03", 4), ("cx7-2x200", "mcp7y40-n03", 4)],
)
def test_splitter_cables_are_found_where_they_reach(built: Built, nic: str, part: str, links: int) -> None:
    """NVIDIA MCP7Y00, MCP7Y40 and MCP7Y50: passive copper of two or four links up to 3 m."""
    bom = built(plan({"server-leaf": {"length": "3 m"}}, servers=64, nic=nic))
    cables = bom["fabrics"]["compute"]["cables"]["server-leaf"]
    assert {part.replace("n03", "n003"): bom["fabrics"]["compute"]["links"]["server-leaf"] // links} == cables
    assert bom["fabrics"]["compute"]["transceivers"]["total"] == 0


# cables between two cages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spines", "way"), [(16, "dac"), (32, "multimode")])
def test_copper_of_two_links_needs_two_links_to_each_spine(built: Built, spines: int, way: str) -> None:
    """Both links of an MCP4Y10 end in one cage of one spine: with a single link to each spine no such cable fits."""
    given = plan({"leaf-spine": {"length": "2 m"}}, servers=1024, nic="cx7-400-osfp", spine={"count": spines})
    bom = built(given)
    assert bom["fabrics"]["compute"]["switches"]["spine"] == spines
    assert way == chosen(bom, "leaf-spine")["way"]
    if way == "dac":
        assert bom["fabrics"]["compute"]["cables"]["leaf-spine"] == {"mcp4y10-n002": 512}
    else:
        assert why_not(bom, "leaf-spine")["dac"] == "parallel"


def test_copper_gives_way_where_it_needs_too_many_cages(built: Built) -> None:
    """33 links down over splitter cables and 31 up over modules fill 17 and 16 cages of 32: one module serves both."""
    server = {"name": "server", "gpus": 8, "nics": 8, "nic": "cx7-400-osfp"}
    leaf = {"downlinks": 33, "uplinks": 31}
    given = plan({"server-leaf": {"length": "3 m"}}, topology="rail-optimized", leaf=leaf, oversubscription=1.1)
    given["cluster"] = {"gpu": "h100-sxm", "servers": 33, "server": server}
    bom = built(given)
    assert ("multimode", "cages") == (chosen(bom)["way"], why_not(bom)["dac"])
    assert bom["fabrics"]["compute"]["transceivers"]["leaf"] == 8 * 32


# compatible parts ---------------------------------------------------------------------------------------------------


def test_a_compatible_module_is_what_it_replaces(tmp_path: Path) -> None:
    """Named, it has cage, rate and optic of the original; left to itself the program takes originals."""
    own_part(tmp_path, "transceiver", "acme-2sr4", name="Acme 2xSR4", part_number="A-1", replaces=["mma4z00-ns"])
    links = {"server-leaf": {"module": {"leaf": "acme-2sr4"}}}
    given = plan(links, nic="cx7-400-osfp", servers=1024) | {"catalog": ["parts"]}
    bom = in_folder(tmp_path, given)
    assert ["mma4z00-ns400", "acme-2sr4", "mfp7e10-nxxx"] == chosen(bom)["parts"]
    assert ["mma4z00-ns", "mfp7e10-nxxx"] == chosen(bom, "leaf-spine")["parts"]
    assert [512] == [line["quantity"] for line in bom["lines"] if line["sku"] == "A-1"]


def test_a_compatible_module_keeps_to_the_rules(tmp_path: Path) -> None:
    """What replaces a finned module goes into no server."""
    own_part(tmp_path, "transceiver", "acme-2sr4", name="Acme 2xSR4", replaces=["mma4z00-ns"])
    given = plan({"server-leaf": {"module": {"server": "acme-2sr4"}}}, nic="cx7-400-osfp") | {"catalog": ["parts"]}
    with pytest.raises(PlanErrors) as refused:
        in_folder(tmp_path, given)
    assert {"cage"} == {problem.rule for problem in refused.value.problems}


def test_a_compatible_fibre_is_what_it_replaces(tmp_path: Path) -> None:
    """Named, it joins the same modules at the lengths of the original; left to itself the program takes originals."""
    own_part(tmp_path, "cable", "acme-om4", name="Acme OM4", part_number="A-2", replaces=["mfp7e10-nxxx"])
    links = {"server-leaf": {"fibre": "acme-om4"}}
    bom = in_folder(tmp_path, plan(links, nic="cx7-400-osfp", servers=1024) | {"catalog": ["parts"]})
    assert bom["fabrics"]["compute"]["cables"]["server-leaf"] == {"acme-om4": 1024}
    assert list(bom["fabrics"]["compute"]["cables"]["leaf-spine"]) == ["mfp7e10-n030"]


# policies and prices ------------------------------------------------------------------------------------------------

SHORT = {"server-leaf": {"length": "3 m"}}
MULTIMODE = {"mma4z00_ns400": 400, "mma4z00_ns": 800, "mfp7e10_n003": 100}
"""900 a link: a whole module in the NIC, half of one in the switch, and a fibre."""


def test_without_prices_copper_comes_first(built: Built) -> None:
    """Three metres are within the reach of passive copper (NVIDIA MCP7Y00)."""
    bom = built(plan(SHORT, nic="cx7-400-osfp"))
    assert ("dac", "preferred", None) == tuple(chosen(bom)[key] for key in ("way", "reason", "cost_per_link"))
    assert {
        "acc": "not-sold",
        "multimode": "later",
        "aoc": "no-part",
        "single-mode": "later",
        "aec": "no-part",
    } == why_not(bom)


def test_the_cheapest_way_that_reaches_is_taken(tmp_path: Path) -> None:
    """Copper at 1000 a link gives way to multimode at 900; single-mode has no price."""
    bom = priced(tmp_path, plan(SHORT, nic="cx7-400-osfp"), mcp7y00_n003=2000, **MULTIMODE)
    assert ("multimode", "cheapest", "900.00") == tuple(chosen(bom)[key] for key in ("way", "reason", "cost_per_link"))
    costs = {way["way"]: (way["reason"], way["cost_per_link"]) for way in chosen(bom)["others"]}
    assert {"dac": ("dearer", "1000.00"), "single-mode": ("unpriced", None)} == {
        way: costs[way] for way in ("dac", "single-mode")
    }


def test_a_way_without_price_is_not_beaten(tmp_path: Path) -> None:
    """Nobody knows whether copper without a price would cost more."""
    bom = priced(tmp_path, plan(SHORT, nic="cx7-400-osfp"), **MULTIMODE)
    assert ("dac", "unpriced") == (chosen(bom)["way"], chosen(bom)["reason"])


def test_discounts_count(tmp_path: Path) -> None:
    """Copper at 1000 a link less 20 % is cheaper than multimode at 900."""
    given = plan(SHORT, nic="cx7-400-osfp")
    priced(tmp_path, given, mcp7y00_n003=2000, **MULTIMODE)
    quote = {"currency": "USD", "price_book": "prices.yaml", "discount": {"cable": "20%"}}
    bom = in_folder(tmp_path, {**given, "quote": quote})
    assert ("dac", "800.00") == (chosen(bom)["way"], chosen(bom)["cost_per_link"])


def test_copper_is_preferred_whatever_it_costs(tmp_path: Path) -> None:
    """`prefer: copper` outweighs prices."""
    links = {"server-leaf": {"length": "3 m", "prefer": "copper"}}
    bom = priced(tmp_path, plan(links, nic="cx7-400-osfp"), mcp7y00_n003=9000, **MULTIMODE)
    assert ("dac", "copper") == (chosen(bom)["way"], chosen(bom)["reason"])


def test_optics_only_leaves_copper_out(built: Built) -> None:
    """`prefer: optics-only` takes modules or AOCs even over a metre."""
    bom = built(plan({"server-leaf": {"length": "1 m", "prefer": ["optics-only"]}}, nic="cx7-400-osfp"))
    assert ("multimode", "unwanted") == (chosen(bom)["way"], why_not(bom)["dac"])


def test_one_fibre_length_is_kept_for_the_layout(worked: Callable[[Mapping[str, Any]], Any]) -> None:
    """The wish reaches the plan."""
    report = worked(plan({"server-leaf": {"prefer": "one-fibre-length"}}, nic="cx7-400-osfp"))
    wishes = report.plan.fabrics[0].links
    assert (True, False) == (wishes["server-leaf"].one_fibre_length, wishes["leaf-spine"].one_fibre_length)


# rates, adapters, availability --------------------------------------------------------------------------------------


@pytest.mark.parametrize("switch", ["sn5600", "generic-th5-64x800"])
def test_links_of_800g_find_the_modules_that_there_are(built: Built, switch: str) -> None:
    """NVIDIA MMS4X00-NM16: DR8 over MPO-16, 500 m, Ethernet; links of 400G take two to a twin-port module."""
    given = plan({"leaf-spine": {"rate": "800G"}}, servers=512, nic="cx7-400-osfp", switch=switch)
    given["fabrics"]["compute"]["leaf"] = {"downlinks": 64, "uplinks": 32}
    bom = built(given)
    assert ["mms4x00-nm16", "generic-mpo16-os2"] == chosen(bom, "leaf-spine")["parts"]
    assert ["mma4z00-ns400", "mma4z00-ns", "mfp7e10-nxxx"] == chosen(bom)["parts"]
    assert bom["fabrics"]["compute"]["transceivers"]["leaf"] == 8 * (32 + 32)


def test_an_sfp28_sits_in_a_qsfp28_cage_with_an_adapter(built: Built) -> None:
    """NVIDIA SuperPOD H100 bill: MAM1Q00A-QSA28, one a module."""
    given = plan({}, servers=10)
    given["cluster"]["server"] = {"name": "server", "gpus": 1, "nics": 1, "port_gbps": 25, "cage": "sfp28"}
    given["fabrics"]["compute"] = {"switch": "sn4600c", "link": "25G", "build_out": "exact"}
    bom = built(given)
    lines = {line["id"]: (line["sku"], line["quantity"]) for line in bom["lines"]}
    assert ("MAM1Q00A-QSA28", 10) == lines["compute.adapter.server-leaf.leaf"]
    assert bom["fabrics"]["compute"]["adapters"] == {"leaf": 10}
    assert bom["fabrics"]["compute"]["transceivers"] == {"server": 10, "leaf": 10, "spine": 0, "core": 0, "total": 20}


@pytest.mark.parametrize("kind", ["gpu", "server", "nic", "switch", "transceiver", "cable", "appliance"])
def test_what_is_not_sold_is_pointed_out(tmp_path: Path, kind: str) -> None:
    """A part that is no longer sold brings a warning, whatever it is."""
    own_part(tmp_path, "gpu", "old-gpu", name="Old", bf16_tflops=100, memory="80 GB", availability="no-longer-sold")
    own_part(tmp_path, "server", "old-server", name="Old", gpus=1, nics=1, nic="old-nic", availability="end-of-sale")
    nic = {"ports": 1, "port_gbps": 400, "cage": "osfp-flat", "protocols": ["infiniband"]}
    own_part(tmp_path, "nic", "old-nic", name="Old", **nic, availability="planned")
    switch = {"ports": 64, "port_gbps": 400, "ports_per_cage": 2, "cage": "osfp-finned"}
    since = {"availability_date": "2025-06", "successor": "qm9700"}
    own_part(tmp_path, "switch", "old-switch", name="Old", **switch, availability="no-longer-sold", **since)
    own_part(tmp_path, "transceiver", "old-one", name="Old", replaces=["mma4z00-ns"], availability="end-of-sale")
    own_part(tmp_path, "appliance", "old-box", name="Old", rack_units=1, availability="no-longer-sold")
    given = plan({}, nic="cx7-400-osfp") | {"catalog": ["parts"]}
    fabric = given["fabrics"]["compute"]
    if kind == "gpu":
        given["cluster"]["gpu"] = "old-gpu"
    elif kind == "server":
        given["cluster"]["server"] = "old-server"
    elif kind in ("nic", "switch"):
        fabric[kind] = f"old-{kind}"
    elif kind == "transceiver":
        fabric["links"] = {"server-leaf": {"module": {"leaf": "old-one"}}}
    elif kind == "cable":
        fabric["links"] = {"server-leaf": {"medium": "acc", "module": "mca7j60-n004", "length": "4 m"}}
    else:
        fabric["hosts"] = [{"name": "box", "count": 1, "part": "old-box"}]
    said = [check for check in in_folder(tmp_path, given)["checks"] if check["id"] == "availability"]
    assert len(said) == 1
    assert re.search("no longer sold|end of sale|planned", said[0]["message"])
    if kind == "switch":
        assert said[0]["message"] == "Old is no longer sold (2025-06); its successor is qm9700"


# data and documents -------------------------------------------------------------------------------------------------


def test_every_reason_code_is_documented_and_shown() -> None:
    """docs/networks.md lists the codes; each has a transcript, and each rule of the catalogue has one of them."""
    codes = set(CODE.findall((ROOT / "docs" / "networks.md").read_text(encoding="utf-8")))
    errors = read_cases(*(ROOT / "tests" / "errors" / "cases").glob("*.yaml"))
    logs = [case["says"].splitlines()[0] for case in errors.values()]
    assert set() == {code for code in codes if not any(line.endswith(f"[{code}]") for line in logs)}
    files = (folder("data") / "connection").glob("*.yaml")
    named = {re.findall(r"^code: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)[0] for path in files}
    assert set() == named - codes
