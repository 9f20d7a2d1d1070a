"""The site: weight, heat, cooling, racks and PDUs as parts, outlets, feeds and what may be lost of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.documents.chapters.contents import document
from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.site.rack_loads import feeds_lost, pieces_lost
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

Worked = Callable[[dict[str, Any]], Report]
Built = Callable[[dict[str, Any]], dict[str, Any]]

PLANS = Path(__file__).parents[2] / "plans"
PDU = {"name": "PDU of 17.3 kW", "power": "17.3 kW", "outlets": {"c13": 21, "c19": 6}}


def plan(site: dict[str, Any], gpu: str = "h100-sxm", servers: int = 127, **cluster: Any) -> dict[str, Any]:
    """A cluster with a site and no fabrics."""
    return {"bomgen": 1, "name": "site", "cluster": {"gpu": gpu, "servers": servers, **cluster}, "site": site}


def rules(report: Report, *wanted: str) -> list[str]:
    """The messages of a report's warnings of some rules."""
    return [problem.message for problem in report.problems if problem.rule in wanted]


def four(**site: Any) -> dict[str, Any]:
    """The site of NVIDIA's DGX H100 SuperPOD: four DGX H100 a rack with three PDUs."""
    rack = {"units": 48, "power": "41 kW", "pdus": 3, **site.pop("rack", {})}
    return {"rack": rack, "management": {"racks": 6, "pdus": 2}, **site}


def test_racks_draw_what_the_site_draws() -> None:
    """1024 NICs bought apart from the servers are in both: 256 servers of 6.5 kW, NICs of 24.9 W, 48 switches.

    The racks of the plan add up to the power of its quote: 1 664 000 + 25 497.6 + 82 560 = 1 772 057.6 W.
    """
    report = work_out(open_plan(str(PLANS / "llama65b-quote.yaml"), None))
    site = result(report)["site"]
    assert site["power_w"] == 1_772_057.6
    assert sum(rack["number"] * rack["power_w"] for rack in site["elevations"]) == 1_772_057.6
    assert "1,772 kW" in render(report, ("md",))["report.md"].decode()


# the reference architecture -----------------------------------------------------------------------------------------


def test_racks_and_pdus_of_the_superpod(built: Built) -> None:
    """RA-11333-001 V11, table 7: 38 racks, 96 and 12 PDUs for 127 DGX H100; naming the parts changes no number."""
    parts = {"part": "apc-ar3357", "pdu": "apc-ap8886"}
    for site in (four(), four(rack=parts)):
        bom = built(plan(site))
        numbers = [bom["site"][key] for key in ("racks", "compute_racks", "compute_pdus", "management_pdus")]
        assert numbers == [38, 32, 96, 12]
    lines = {line["id"]: line for line in bom["lines"]}
    assert [lines[id]["quantity"] for id in ("rack.compute", "rack.management", "pdu.compute", "pdu.management")] == [
        32,
        6,
        96,
        12,
    ]
    assert tuple(lines["pdu.compute"][key] for key in ("part", "sku", "vendor")) == ("apc-ap8886", "AP8886", "APC")
    assert (lines["rack.management"]["part"], lines["rack.compute"]["sku"]) == ("apc-ar3357", "AR3357")
    assert (lines["pdu.management"]["part"], lines["pdu.management"]["sku"]) == ("pdu", None)


def test_racks_without_parts_keep_their_lines(built: Built) -> None:
    """Any rack of that height, and any PDU."""
    lines = {line["id"]: line for line in built(plan(four()))["lines"]}
    assert (lines["rack.compute"]["part"], lines["rack.compute"]["description"]) == ("rack", "rack, 48 U, 41 kW")
    assert (lines["pdu.management"]["part"], lines["pdu.management"]["description"]) == ("pdu", "rack PDU")


# heat and cooling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "power", "btu"),
    [
        ("h100-sxm", "11.3 kW", 38557),  # NVIDIA DGX H100 user guide, heat output
        ("a100-sxm-80", "6.5 kW", 22179),  # NVIDIA DGX A100 user guide, heat output
    ],
)
def test_heat_is_what_data_sheets_print(gpu: str, power: str, btu: int, built: Built) -> None:
    """The heat of one server that its data sheet prints beside its power."""
    server = {"gpu": gpu, "gpus": 8, "rack_units": 8, "power": power}
    site = built(plan({"rack": {"power": "12 kW"}}, gpu, 1, server=server))["site"]
    assert btu == round(site["heat_btu_per_hour"])
    assert btu == round(site["compute_rack_heat_btu_per_hour"])


def test_cooling_bounds_servers_of_a_rack(built: Built, worked: Worked) -> None:
    """Of DGX H100 with 10.2 kW, 30 kW of cooling take out the heat of two, though 41 kW would feed four."""
    assert built(plan(four()))["site"]["servers_per_rack"] == 4
    assert built(plan(four(rack={"cooling": "30 kW"})))["site"]["servers_per_rack"] == 2
    by_hand = worked(plan(four(rack={"cooling": "30 kW"}, servers_per_rack=4, allow_overload=True)))
    assert rules(by_hand, "rack-cooling") == [
        "a rack with 4 x DGX H100 dissipates up to 40.8 kW, but `site.rack` cools 30 kW"
    ]
    assert result(by_hand)["site"]["servers_per_rack"] == 4


def test_pdus_that_lie_in_a_rack_take_height(built: Built) -> None:
    """Four DGX B300 of 10 U and three PDUs of 2 U share a rack of 48 U, as in the B300 XDR reference architecture."""
    for units, fit in ((2, 4), (3, 3)):
        rack = {"units": 48, "power": "60 kW", "pdus": 3, "pdu": {"power": "30 kW", "rack_units": units}}
        assert fit == built(plan({"rack": rack}, "b300-sxm", 72))["site"]["servers_per_rack"]


# weight -------------------------------------------------------------------------------------------------------------


def test_weight_of_a_full_rack(built: Built) -> None:
    """Four DGX H100 of 130.45 kg, a rack of 185.45 kg and three PDUs of 7.7 kg on 0.75 x 1.2 m, as cited there."""
    site = built(plan(four(rack={"part": "apc-ar3357", "pdu": "raritan-px3-5730-v2"})))["site"]
    assert pytest.approx(site["compute_rack_weight_kg"]) == 730.35
    assert pytest.approx(site["compute_rack_floor_load_kg_per_m2"]) == 811.5


def test_weight_of_all(worked: Worked) -> None:
    """Eight servers in two racks, spare ones with them; what nobody knows the weight of is named, not taken for 0."""
    rack = {"part": {"name": "R", "rack_units": 48, "weight": "150 kg"}, "pdu": {"name": "P", "weight": "5 kg"}}
    known = worked(plan(four(rack=rack, management={"racks": 0}), servers=7, spare_servers=1))
    assert pytest.approx(result(known)["site"]["weight_kg"]) == 1373.6
    assert rules(known, "unknown-weight") == []
    bare = worked(plan(four(management={"racks": 0}), servers=7, spare_servers=1))
    assert pytest.approx(result(bare)["site"]["weight_kg"]) == 1043.6
    assert rules(bare, "unknown-weight") == ["weight unknown for rack, rack PDU; the total excludes it; ask the vendor"]
    assert {"weight_kg", "compute_rack_weight_kg"} <= bare.design.facility.lower_bounds


def test_switches_and_storage_servers_weigh_something(built: Built) -> None:
    """A QM9700 weighs 14.8 kg and a DGX H100 130.45 kg; a storage server what the plan says."""
    bom = plan(four(), servers=8) | {
        "fabrics": {"compute": {"switch": "qm9700", "topology": "single-switch"}},
        "storage": {"servers": {"count": 2, "weight": "40 kg", "power": "1 kW", "rack_units": 2}},
    }
    assert pytest.approx(built(bom)["site"]["weight_kg"]) == 8 * 130.45 + 14.8 + 2 * 40


def test_a_rack_bears_so_much(worked: Worked) -> None:
    """Four DGX H100 are more than a rack for 500 kg bears."""
    rack = {"part": {"name": "R", "rack_units": 48, "load": "500 kg"}}
    allowed = worked(plan(four(rack=rack, allow_overload=True)))
    assert rules(allowed, "rack-load") == ["a full compute rack weighs 521.8 kg, but the load limit of R is 500 kg"]
    assert refused(plan(four(rack=rack)), worked) == ["rack-load"]
    rack["part"]["load"] = "522 kg"
    assert rules(worked(plan(four(rack=rack))), "rack-load") == []


def test_a_rack_scale_system_is_its_own_rack(built: Built) -> None:
    """A GB200 NVL72 comes with its rack: its weight and power are those of the system, and no PDU of ours feeds it."""
    site = built(plan({"management": {"racks": 0}}, "gb200", 36))["site"]
    assert (site["compute_rack_weight_kg"], site["compute_rack_power_w"]) == (1360, 120_000)
    assert site["weight_kg"] == 2 * 1360
    assert not {"compute_rack_outlets", "compute_rack_feeds", "compute_pdu_load_w"} & set(site)


# racks that hold too much ---------------------------------------------------------------------------------------------


def refused(bom: dict[str, Any], worked: Worked) -> list[str]:
    """The rules that a plan breaks."""
    with pytest.raises(PlanErrors) as raised:
        worked(bom)
    return [problem.rule for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("site", "rule", "said"),
    [
        (
            {"rack": {"power": "10 kW"}},
            "rack-power",
            "1 x DGX H100 draws up to 10.2 kW, but `site.rack` provides 10 kW",
        ),
        ({"rack": {"units": 6}}, "rack-units", "a rack with 1 x DGX H100 needs 8 U, but the rack has 6 U"),
        ({"servers_per_rack": 5}, "rack-power", "5 x DGX H100 draws up to 51 kW, but `site.rack` provides 40 kW"),
        (
            {"servers_per_rack": 7, "rack": {"power": "90 kW"}},
            "rack-units",
            "7 x DGX H100 needs 56 U, but the rack has 48 U",
        ),
    ],
)
def test_a_rack_that_holds_too_much_is_an_error(site: dict[str, Any], rule: str, said: str, worked: Worked) -> None:
    """It names what would be right, and where the plan allows it there is a warning and the racks are counted."""
    with pytest.raises(PlanErrors) as raised:
        worked(plan(site))
    [problem] = raised.value.problems
    assert (problem.rule, said in problem.message, "`site.allow_overload: true`" in problem.message) == (
        rule,
        True,
        True,
    )
    allowed = worked(plan(site | {"allow_overload": True}))
    assert [said in text for text in rules(allowed, rule)] == [True]
    assert result(allowed)["site"]["compute_racks"] == ceil(127 / site.get("servers_per_rack", 1))


def test_a_switch_that_no_rack_feeds_is_an_error(worked: Worked) -> None:
    """A QM9700 draws 1.72 kW; its rack may have a power of its own, or that of the servers' racks."""
    fabrics = {"fabrics": {"compute": {"switch": "qm9700", "topology": "single-switch"}}}
    weak = plan({"management": {"power": "1.5 kW"}}, servers=4) | fabrics
    assert refused(weak, worked) == ["machine-power"]
    allowed = plan({"management": {"power": "1.5 kW"}, "allow_overload": True}, servers=4) | fabrics
    assert rules(worked(allowed), "machine-power") == [
        "QM9700 draws up to 1.72 kW, but the power limit of a management rack is 1.5 kW"
    ]
    assert rules(worked(plan({"management": {"power": "2 kW"}}, servers=4) | fabrics), "machine-power") == []


def test_a_rack_is_described_by_the_servers_that_it_holds(built: Built) -> None:
    """Five DGX H100 fit into 60 kW and 48 U; where four are bought, the fullest rack has four, with 40.8 kW."""
    rack = {"rack": {"units": 48, "power": "60 kW"}}
    few, many = (built(plan(rack, servers=servers))["site"] for servers in (4, 12))
    assert (few["servers_per_rack"], few["compute_rack_power_w"]) == (4, 40_800)
    assert (many["servers_per_rack"], many["compute_rack_power_w"]) == (5, 51_000)


# maximum power that is an estimate ------------------------------------------------------------------------------------

ESTIMATED = {"gpu": "h200-sxm", "server": "dell-xe9680-h200"}
"""No maximum of an XE9680 with H200 is published: 1.79 times its eight GPUs of 700 W, and from 1.36 to 2.03 times."""


def test_an_estimate_knows_its_range(worked: Worked) -> None:
    """Two servers of 1 250 W and 1.58 times their GPUs, 10 098 W, lie between 0.85 and 1.15 times that."""
    report = worked(plan({"pue": "1.5"}, servers=2, **ESTIMATED))
    site = result(report)["site"]
    assert (site["power_w"], site["power_w_range"]) == (20_196, {"low": 17_166.6, "high": 23_225.4})
    assert (site["facility_power_w"], site["facility_power_w_range"]) == (30_294, {"low": 25_749.9, "high": 34_838.1})
    published = result(worked(plan({"pue": "1.5"}, servers=2)))["site"]
    assert [key for key in published if key.endswith("_range")] == []


def test_liquid_cooling_lowers_an_estimate(worked: Worked) -> None:
    """Eight B200 of 1 kW in a server with cold plates: 1.16 times their power and 1 250 W, and 15 % less or more."""
    site = result(worked(plan({}, servers=1, gpu="b200-sxm", server="dell-xe9680l")))["site"]
    assert (site["power_w"], site["power_w_range"]) == (10_530, {"low": 8950.5, "high": 12_109.5})


def test_an_unpublished_weight_is_estimated_from_the_height(worked: Worked) -> None:
    """A server of 7 U weighs about 17 kg a unit, from 9.1 to 35.7 kg; the report says that it is an estimate."""
    report = worked(plan({}, servers=1, gpu="h100-sxm", server="asus-esc-n8-e11"))
    site = result(report)["site"]
    assert (site["weight_kg"], site["weight_kg_range"]) == (119, {"low": 63.7, "high": 249.9})
    assert rules(report, "estimated-weight") == [
        "the weight of ESC N8-E11, 8 x H100 is estimated from the height, as none is published; ask the vendor"
    ]


def test_an_estimate_that_decides_the_racks_says_so(worked: Worked) -> None:
    """Of XE9680 four fit into 45 kW by the estimate, five at its low end and three at its high end."""
    report = worked(plan({"rack": {"power": "45 kW"}}, servers=60, **ESTIMATED))
    site = result(report)["site"]
    assert (site["racks"], site["racks_range"]) == (15, {"low": 12, "high": 20})
    assert [text for text in rules(report, "estimated-power") if "depends" in text] == [
        "the number of racks depends on the estimated power of PowerEdge XE9680, 8 x H200 SXM: 15 as estimated, 12 at "
        "the low end, 20 at the high end; ask the vendor for the maximum power before ordering racks"
    ]
    wide = worked(plan({"rack": {"power": "95 kW"}}, servers=60, **ESTIMATED))
    assert [text for text in rules(wide, "estimated-power") if "depends" in text] == []
    assert "racks_range" not in result(wide)["site"]


def test_an_estimate_that_may_overload_a_rack_is_said(worked: Worked) -> None:
    """Four XE9680 by hand draw 40 392 W by the estimate, and 46 451 W at its high end: 42 kW may be too little."""
    report = worked(plan({"rack": {"power": "42 kW"}, "servers_per_rack": 4}, servers=4, **ESTIMATED))
    assert [text for text in rules(report, "estimated-power") if "high end" in text] == [
        "at the high end of the estimate, a rack with 4 x PowerEdge XE9680, 8 x H200 SXM draws up to 46.451 kW, but "
        "`site.rack` provides 42 kW; ask the vendor for the maximum power"
    ]
    assert refused(plan({"rack": {"power": "40 kW"}, "servers_per_rack": 4}, servers=4, **ESTIMATED), worked) == [
        "rack-power"
    ]


# rack-scale systems ---------------------------------------------------------------------------------------------------


def test_a_rack_scale_system_has_no_pdus_of_ours(worked: Worked) -> None:
    """A GB200 NVL72 comes with its own power supply: PDUs of its racks in the plan have no effect, which is said."""
    report = worked(plan({"rack": {"power": "120 kW", "pdus": 2}}, "gb200", 36))
    assert result(report)["site"]["compute_pdus"] == 0
    assert rules(report, "no-effect") == [
        "site.rack.pdus has no effect, because DGX GB200 NVL72 rack includes its own power supply; remove it"
    ]


def test_management_racks_beside_rack_scale_systems_are_usual_ones() -> None:
    """The 142 kW of a GB300 rack are no limit of the racks beside it: no management rack draws more than 40 kW."""
    found = work_out(open_plan(str(PLANS / "gb300-nvl72-xdr.yaml"), None)).elevations
    assert found is not None
    drawn = [group.sums.power_w.value for group in found.groups if group.kind == "management" and group.sums.power_w]
    assert max(drawn) <= 40_000
    assert len(drawn) > 1


# outlets ------------------------------------------------------------------------------------------------------------


def test_outlets_of_a_rack(built: Built, worked: Worked) -> None:
    """Four DGX H100 have six supplies each with a C20 inlet; three AP8886 have twelve C19 outlets each."""
    report = worked(plan(four(rack={"pdu": "apc-ap8886"})))
    site = result(report)["site"]
    assert site["compute_rack_outlets"] == {"c19": 24}
    assert site["compute_rack_pdu_outlets"] == {"c13": 90, "c19": 36}
    assert rules(report, "outlets", "redundancy") == []
    assert built(plan(four(rack={"pdu": "apc-apdu11450me"})))["site"]["compute_rack_pdu_outlets"] == {
        "c13": 63,
        "either": 63,
    }


@pytest.mark.parametrize(
    ("outlets", "would"),
    [
        ({"c13": 21, "c19": 6}, "PDU have 18; 4 PDUs are enough"),
        ({"c13": 21, "c19": 2, "either": 5}, "PDU have 21; 4 PDUs are enough"),
        ({"c13": 21}, "PDU have 0; another PDU is needed"),
        ({"c13": 21, "either": 8}, None),
    ],
)
def test_too_few_outlets(outlets: dict[str, int], would: str | None, worked: Worked) -> None:
    """24 C19 outlets are needed; combination outlets are as good."""
    report = worked(plan(four(rack={"pdu": {"name": "PDU", "outlets": outlets}})))
    expected = [f"the servers of a rack need 24 C19 outlets; 3 x {would}"] if would else []
    assert expected == rules(report, "outlets")


def test_parts_that_are_no_longer_sold(worked: Worked) -> None:
    """Rack and PDUs are pointed out as servers and switches are."""
    old = {"availability": "end-of-sale"}
    pdus, others = {"name": "Q", **old}, {"name": "S", **old}
    site = four(rack={"part": {"name": "R", "rack_units": 48, **old}, "pdu": pdus}, management={"pdu": others})
    assert rules(worked(plan(site)), "availability") == [
        "R is end of sale; specify another rack",
        "Q is end of sale; specify another pdu",
        "S is end of sale; specify another pdu",
    ]


# feeds --------------------------------------------------------------------------------------------------------------


def test_one_of_three_pdus_may_be_lost(worked: Worked) -> None:
    """Two PDUs left of 22 kW carry 40.8 kW, two of 17.3 kW do not, three of them do; 4 of 6 supplies are left."""
    strong = worked(plan(four(rack={"pdu": "apc-ap8886"})))
    assert result(strong)["site"]["compute_pdu_load_w"] == 20_400
    assert result(strong)["site"]["compute_rack_feeds"] == {"A": 1, "B": 1, "C": 1}
    assert rules(strong, "redundancy") == []
    weak = rules(worked(plan(four(rack={"pdu": PDU}))), "redundancy")
    assert weak == [
        "with 1 of 3 feeds lost (n+1) 2 of 3 PDUs carry 34.6 kW, but a compute rack draws 40.8 kW; 4 PDUs are enough"
    ]
    assert rules(worked(plan(four(rack={"pdu": PDU}, redundancy="n"))), "redundancy") == []


@pytest.mark.parametrize(
    ("units", "would"), [(40, "4 PDUs are enough"), (38, "use a larger PDU or fewer servers per rack")]
)
def test_more_pdus_must_have_room(units: int, would: str, worked: Worked) -> None:
    """Four servers of 8 U and four PDUs of 2 U fill 40 U; a rack of 38 U is full with three PDUs."""
    rack = {"units": units, "pdu": {**PDU, "rack_units": 2}}
    found = rules(worked(plan(four(rack=rack))), "redundancy", "outlets")
    assert len(found) == 2
    assert all(message.endswith(f"; {would}") for message in found)


def stored(pdu: dict[str, Any]) -> dict[str, Any]:
    """22 storage servers of 1 kW and 2 U, and a QM9700 before them, in racks of 15 kW with two PDUs."""
    site = four(rack={"power": "15 kW"}, management={"pdus": 2, "pdu": pdu}, feeds=2)
    return plan(site, servers=4) | {
        "fabrics": {"storage": {"switch": "qm9700", "topology": "single-switch"}},
        "storage": {"servers": {"count": 22, "power": "1 kW", "rack_units": 2}},
    }


def test_management_racks_are_fed_too(worked: Worked) -> None:
    """Two of six racks, behind two with a DGX each: eleven servers in either, and the switch in the first of them.

    A QM9700 draws 1.72 kW at most, with the servers 12.72 kW; for that 13 PDUs of 1 kW must be left of 26 on two feeds.
    """
    weak = worked(stored({"name": "P", "power": "1 kW"}))
    [message] = [each for each in rules(weak, "redundancy") if "management" in each]
    assert message.endswith("1 of 2 PDUs carry 1 kW, but management rack 3 draws 12.72 kW; 26 PDUs are enough")
    low = worked(stored({"name": "P", "power": "1 kW", "rack_units": 2}))
    [message] = [each for each in rules(low, "redundancy") if "management" in each]
    assert message.endswith("12.72 kW; use a larger PDU or more racks")
    strong = worked(stored({"name": "P", "power": "30 kW"}))
    assert [each for each in rules(strong, "redundancy") if "management" in each] == []


def test_outlets_of_management_racks(worked: Worked) -> None:
    """The two supplies of a QM9700 are plugged into C13 outlets."""
    for outlets, expected in (
        ({"c19": 4}, ["the machines of management rack 3 need 2 C13 outlets; 2 x P have 0; another PDU is needed"]),
        ({"c13": 1}, []),
    ):
        assert expected == rules(worked(stored({"name": "P", "outlets": outlets})), "outlets")


def test_unrated_pdus_of_a_management_rack(worked: Worked) -> None:
    """Of two PDUs on two feeds one is left, and carries the QM9700 (1.72 kW) and eleven servers of 1 kW; 16 kW do."""
    unrated = worked(stored({"name": "P"}))
    [message] = [each for each in rules(unrated, "redundancy") if "management" in each]
    assert message == (
        "with 1 of 2 feeds lost (n+1) 1 of the 2 PDUs of management rack 3 remains and carries 12.72 kW, but the PDU "
        "rating is unknown; specify a PDU that carries this load with `management: {pdu: PART}`"
    )
    [problem] = [each for each in unrated.problems if each.message == message]
    assert (problem.severity, problem.path) == ("warning", "site.management_racks")
    rated = worked(stored({"name": "P", "power": "16 kW"}))
    assert [each for each in rules(rated, "redundancy") if "management" in each] == []


@pytest.mark.parametrize("path", ["h200-xe9680-vast.yaml", "llama65b-quote.yaml"])
def test_racks_need_an_outlet_for_each_cord_of_the_bill(path: str) -> None:
    """Cords by inlet, on the bill or perhaps in the box, and the outlets of racks: C13 for C14, C19 for others."""
    bom = result(work_out(open_plan(str(PLANS / path), None)))
    cords = {"C13": 0, "C19": 0}
    for line in (*bom["lines"], *bom["not_on_bill"]):
        if (line.get("part") or "").startswith("cord-"):
            cords["C13" if line["part"] == "cord-c14" else "C19"] += line["quantity"]
    outlets = dict.fromkeys(cords, 0)
    for rack in bom["site"]["elevations"]:
        for form, needed in rack["outlets"].items():
            outlets[form.upper()] += rack["number"] * needed
    assert outlets == cords
    assert sum(cords.values())


def test_a_feed_of_two_takes_half_of_the_supplies(worked: Worked) -> None:
    """A DGX H100 needs four of its six supplies; N+N supplies of a DGX B300 bear the loss of half of them."""
    lost = worked(plan(four(feeds=2, redundancy="2n")))
    assert result(lost)["site"]["compute_rack_feeds"] == {"A": 2, "B": 1}
    assert result(lost)["site"]["compute_pdu_load_w"] == 40_800
    assert rules(lost, "redundancy") == ["with 1 of 2 feeds lost (2n) DGX H100 keeps 3 of 6 power supplies but needs 4"]
    site = {"rack": {"units": 48, "power": "60 kW", "pdus": 4}, "feeds": 2, "redundancy": "2n"}
    assert rules(worked(plan(site, "b300-sxm", 72)), "redundancy") == []


def test_a_single_feed_cannot_be_lost(worked: Worked) -> None:
    """Nothing is left then, and nobody says what a feed carries."""
    report = worked(plan(four(feeds=1)))
    (message,) = rules(report, "redundancy")
    assert "has no PDU left" in message
    assert not {"feed_power_w", "compute_pdu_load_w"} & set(result(report)["site"])


@pytest.mark.parametrize(
    ("feeds", "redundancy", "share"), [(2, "n", 1.5), (2, "2n", 1), (2, "n+1", 1), (3, "n+1", 2), (4, "2n", 1)]
)
def test_power_of_a_feed(feeds: int, redundancy: str, share: int, built: Built) -> None:
    """What is left of the three PDUs of a rack shares its power: N, N+1 and 2N as the Uptime Institute has them.

    By hand: of two feeds the first has two of the PDUs; of four the last has none, and without A and B only C is left.
    """
    site = built(plan(four(feeds=feeds, redundancy=redundancy)))["site"]
    assert site["power_w"] / share == site["feed_power_w"]


@pytest.mark.parametrize("feeds", range(1, 6))
@pytest.mark.parametrize("pieces", range(9))
def test_the_fullest_feeds_are_lost(pieces: int, feeds: int) -> None:
    """Of pieces dealt out in turn, the worst choice of feeds takes so many, tried out."""
    held = [len(range(feed, pieces, feeds)) for feed in range(feeds)]
    for lost in range(feeds + 1):
        worst = max(sum(chosen) for chosen in combinations(held, lost))
        assert worst == pieces_lost.plain(pieces, feeds, lost)


@pytest.mark.parametrize(("pdus", "feeds"), [(1, 1), (3, 2), (5, 3), (4, 4), (2, 3), (7, 26)])
def test_pdus_on_feeds_are_all_pdus(pdus: int, feeds: int, built: Built) -> None:
    """Every PDU hangs on one feed, and no feed has two more than another that has any."""
    dealt = built(plan(four(rack={"pdus": pdus}, feeds=feeds)))["site"]["compute_rack_feeds"]
    assert pdus == sum(dealt.values())
    assert min(pdus, feeds) == len(dealt)
    assert max(dealt.values()) - min(dealt.values()) <= 1


def test_half_of_an_odd_number_of_feeds_is_the_larger_half() -> None:
    """2N holds when either half carries everything, so that the larger may be lost."""
    assert [feeds_lost.plain("2n", feeds) for feeds in range(1, 6)] == [1, 1, 2, 2, 3]


# what people read ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_chapter_has_a_table_for_each_question(code: str, worked: Worked) -> None:
    """Racks, power, weight and heat, and supply apart; every row named in words."""
    report = worked(plan(four(rack={"part": "apc-ar3357", "pdu": "apc-apdu11450me"})))
    tables = {table.id: table for table in document(report, language(code)).section("site").tables}
    assert list(tables) == ["site", "site-power", "site-load", "site-supply", "facility"]
    names = [str(row.cells[0].value) for table in tables.values() for row in table.rows]
    assert len(names) == len(set(names))
    assert [name for name in names if "_" in name or len(name) < 2] == []


def test_a_rack_with_liquid_cooling_says_what_the_air_takes(worked: Worked) -> None:
    """85 % of 142 kW; flow and temperature stand beside it, and what no source states is to be confirmed."""
    report = worked({"bomgen": 1, "name": "x", "cluster": {"gpu": "gb300", "racks": 2}, "site": {}})
    site = result(report)["site"]
    assert (site["compute_rack_liquid_heat_w"], site["compute_rack_air_heat_w"]) == (120700, 21300)
    chapter = document(report, language("en")).section("site")
    assert "59 l/min (25 °C)" in str(chapter.tables[-1].rows)
    assert "power shelves (GB300 NVL72 rack)" in chapter.notes[0].text


def test_cables_inside_a_rack_are_short_without_a_layout(worked: Worked) -> None:
    """Management racks hold leaves and spines; cables between racks have the usual length, and media stay."""
    report = worked(plan({"rack": {"power": "45 kW"}}, servers=64) | {"fabrics": {"compute": {"switch": "qm9700"}}})
    lengths = {use.length_m for built in report.design.fabrics for use in built.interconnect.cables}
    assert min(lengths) <= 3
    assert max(lengths) == 30
    [group] = report.design.fabrics[0].interconnect.groups_of_kind("leaf-spine")
    assert group.medium is not None
    assert group.medium.option == "multimode"


def test_cables_within_the_only_rack_are_short(worked: Worked) -> None:
    """Four servers and a leaf in one rack: 17 U of 44.45 mm and twice half a metre of slack are less than 2 m."""
    leaf = {"name": "leaf", "ports": 32, "port_gbps": 400, "cage": "osfp", "rack_units": 1, "power": "1 kW"}
    rack = {"rack": {"units": 48, "power": "45 kW"}}
    fabrics = {"compute": {"topology": "single-switch", "switch": leaf}}
    one = worked(plan(rack, servers=4) | {"fabrics": fabrics})
    assert result(one)["site"]["racks"] == 1
    lengths = {use.length_m for built in one.design.fabrics for use in built.interconnect.cables}
    assert lengths
    assert max(lengths) <= 3
    laid_out = worked(plan({**rack, "layout": "auto"}, servers=4) | {"fabrics": fabrics})
    assert result(laid_out)["fabrics"] == result(one)["fabrics"]
    given = {"compute": {**fabrics["compute"], "links": {"server-leaf": {"length": "20 m"}}}}
    kept = worked(plan(rack, servers=4) | {"fabrics": given})
    assert {use.length_m for built in kept.design.fabrics for use in built.interconnect.cables} == {20}
    apart = worked(plan({**rack, "management": {"racks": 1}}, servers=4) | {"fabrics": fabrics})
    assert {use.length_m for built in apart.design.fabrics for use in built.interconnect.cables} == {30}


def test_the_estimated_part_of_the_power_is_within_the_total() -> None:
    """64 ConnectX-7 of 24.9 W are the only machines with a published power: 536 511.6 W less 1 593.6 W."""
    report = work_out(open_plan(str(PLANS / "b300-ruijie-zh.yaml"), None))
    [text] = [text for text in rules(report, "estimated-power") if "depends" not in text]
    assert text.startswith("the total includes about 534.918 kW ")
    assert "ConnectX-7" not in text
    assert result(report)["site"]["power_w"] == 536511.6
