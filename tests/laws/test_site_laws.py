"""Laws of the site: what a feed carries, tried out rack by rack for each choice of lost feeds."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from string import ascii_uppercase
from typing import Any

import pytest
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan
from tests.site.test_facility import PLANS, Worked, plan

REDUNDANCY = ("n", "n+1", "2n")


def highest_load(site: dict[str, Any], feeds: int, lost: int) -> Fraction:
    """The highest load of a feed: of each rack the PDUs that are left share its power evenly."""
    found = Fraction()
    letters = ascii_uppercase[:feeds]
    for gone in combinations(letters, lost):
        loads = dict.fromkeys((letter for letter in letters if letter not in gone), Fraction())
        for racks in site["elevations"]:
            left = [letter for letter in (pdu["feed"] for pdu in racks["pdus"]) if letter not in gone]
            for letter in left:
                loads[letter] += racks["number"] * Fraction(racks["power_w"] or 0) / len(left)
        found = max(found, *loads.values())
    return found


@settings(max_examples=examples(16))
@given(
    servers=st.integers(1, 9),
    storage=st.integers(1, 20),
    pdus=st.integers(1, 6),
    management_pdus=st.integers(1, 5),
    feeds=st.integers(2, 5),
    redundancy=st.sampled_from(REDUNDANCY),
)
def test_no_choice_of_lost_feeds_loads_a_feed_more(
    worked: Worked, servers: int, storage: int, pdus: int, management_pdus: int, feeds: int, redundancy: str
) -> None:
    """Whichever feeds are lost, and whether racks of both kinds have one PDU on a feed or several or none."""
    drawn = plan(
        {
            "rack": {"units": 48, "power": "41 kW", "pdus": pdus},
            "management": {"pdus": management_pdus},
            "feeds": feeds,
            "redundancy": redundancy,
        },
        servers=servers,
    ) | {
        "fabrics": {"storage": {"switch": "qm9700", "topology": "single-switch"}},
        "storage": {"servers": {"count": storage, "power": "1.3 kW", "rack_units": 2}},
    }
    site = result(worked(drawn))["site"]
    lost = {"n": 0, "n+1": 1, "2n": feeds - feeds // 2}[redundancy]
    assert abs(site["feed_power_w"] - highest_load(site, feeds, lost)) < 1


@settings(max_examples=examples(24))
@given(
    servers=st.integers(1, 12),
    storage=st.integers(1, 12),
    height=st.integers(1, 4),
    units=st.integers(12, 48),
    kilowatts=st.integers(12, 45),
    pdus=st.integers(2, 3),
)
def test_machines_share_the_racks_of_servers(
    worked: Worked, servers: int, storage: int, height: int, units: int, kilowatts: int, pdus: int
) -> None:
    """No rack is overfilled or overloaded, every machine has its own units, and the figures are those of the racks."""
    wanted = storage_cluster(servers, storage, height, {"units": units, "power": f"{kilowatts} kW", "pdus": pdus})
    wanted["site"]["management"] = {"racks": 0}
    try:
        site = result(worked(wanted))["site"]
    except PlanErrors as error:
        if {problem.rule for problem in error.problems} - {"shared-racks"}:
            raise
        return
    assert site["management_racks"] == site["management_pdus"] == 0
    assert site["racks"] == sum(racks["number"] for racks in site["elevations"])
    assert site["compute_pdus"] == pdus * site["racks"]
    assert site["compute_rack_power_w"] == max(racks["power_w"] for racks in site["elevations"]) <= kilowatts * 1000
    assert abs(site["feed_power_w"] - highest_load(site, pdus, 1)) < 1
    placed = dict.fromkeys(("server", "host", "leaf"), 0)
    for racks in site["elevations"]:
        taken = [
            unit
            for slot in racks["slots"]
            for unit in range(slot["unit"], slot["unit"] + slot["pieces"] * slot["height_u"])
        ]
        assert len(taken) == len(set(taken))
        assert max(taken) <= units
        for slot in racks["slots"]:
            placed[slot["device"]] += slot["pieces"] * racks["number"]
    assert placed == {"server": servers, "host": storage, "leaf": 1}


def storage_cluster(servers: int, storage: int, height: int, rack: dict[str, Any]) -> dict[str, Any]:
    """Servers of 4 U and, with their card, 5 kW; a leaf, and storage of a height and 1.3 kW."""
    of_four = {"name": "server", "gpus": 8, "rack_units": 4, "power": "4975 W"}
    switch = {"name": "leaf", "ports": 64, "port_gbps": 400, "rack_units": 1, "power": "1 kW", "cage": "osfp"}
    nic = {"name": "card", "ports": 1, "port_gbps": 400, "cage": "osfp-flat", "power": "25 W"}
    return plan({"rack": rack}, servers=servers, server=of_four) | {
        "fabrics": {"storage": {"switch": switch, "topology": "single-switch", "ports_per_server": 1, "nic": nic}},
        "storage": {"servers": {"count": storage, "power": "1.3 kW", "rack_units": height, "ports": 1}},
    }


@pytest.mark.parametrize("racks", [1, 2, 3])
def test_few_racks_of_servers_are_shared_where_they_have_room(worked: Worked, racks: int) -> None:
    """Eight servers of 5 kW a rack of 48 kW leave room for a leaf and storage, unless the plan says no."""
    wanted = storage_cluster(8 * racks, 1, 2, {"units": 48, "power": "48 kW"})
    site = result(worked(wanted))["site"]
    assert site["compute_racks"] == racks
    assert site["management_racks"] == (0 if racks <= 2 else 1)
    separate = {**wanted, "site": {**wanted["site"], "management": {"racks": 1}}}
    assert result(worked(separate))["site"]["racks"] == racks + 1
    limited = {**wanted, "site": {**wanted["site"], "racks": racks}}
    assert result(worked(limited))["site"]["racks"] == racks


def test_what_a_refused_number_of_racks_names_fits(worked: Worked) -> None:
    """A rack of 8 kW holds one of four servers of 5 kW: four racks, one server or 22,300 W are enough, no less."""
    wanted = storage_cluster(4, 1, 2, {"units": 48, "power": "8 kW"})

    def with_site(servers: int = 4, **site: Any) -> dict[str, Any]:
        cluster = {**wanted["cluster"], "servers": servers}
        return {**wanted, "cluster": cluster, "site": {**wanted["site"], **site}}

    with pytest.raises(PlanErrors) as refused:
        worked(with_site(racks=1))
    (problem,) = refused.value.problems
    assert problem.rule == "rack-count"
    assert "set `site.racks: 4`, or use 1 server, or raise `site.rack.power` to 22300 W" in problem.message
    for fits, site in (
        (True, {"racks": 4}),
        (False, {"racks": 3}),
        (True, {"racks": 1, "rack": {"units": 48, "power": 22300}}),
        (False, {"racks": 1, "rack": {"units": 48, "power": 22299}}),
        (True, {"racks": 1, "servers": 1}),
        (False, {"racks": 1, "servers": 2}),
    ):
        if fits:
            worked(with_site(**site))
        else:
            with pytest.raises(PlanErrors):
                worked(with_site(**site))


def test_feeds_of_the_management_rack_carry_the_most() -> None:
    """By hand: 32 servers of 10,098 W on four feeds, 32,072 W of switches and storage on two of them.

    Eight SN5600 of about 2,632 W and two SN2201 of about 168 W; storage is 8 CBoxes of 775 W, 4 DBoxes of 850 W, and
    two switches of about 540 W between them. Without A, a third of 323,136 W and the whole management rack hang on B;
    without C, only half of that rack does.
    """
    site = result(work_out(open_plan(str(PLANS / "h200-xe9680-vast.yaml"), None)))["site"]
    assert round(site["feed_power_w"]) == Fraction(323_136, 3) + 32_072 == 139_784
    assert round(highest_load(site, 4, 1)) == 139_784


def test_cards_of_servers_hang_on_the_feeds_of_their_racks() -> None:
    """1024 NICs bought apart from 256 servers draw 25.6 kW in the compute racks."""
    report = work_out(open_plan(str(PLANS / "llama65b-quote.yaml"), None))
    site = result(report)["site"]
    assert abs(site["feed_power_w"] - highest_load(site, site["feeds"], 1)) < 1
