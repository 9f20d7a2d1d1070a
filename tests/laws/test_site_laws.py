"""Laws of the site: what a feed carries, tried out rack by rack for each choice of lost feeds."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from string import ascii_uppercase
from typing import Any

from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_feeds_of_the_management_rack_carry_the_most() -> None:
    """By hand: 32 servers of 10,024 W on four feeds, 36,049 W of switches, storage and management on two of them.

    Storage is 8 CBoxes of 775 W, 4 DBoxes of 850 W, and two switches of about 384 W between them. Without A, a
    third of 320,768 W and the whole management rack hang on B; without C, only half of that rack does.
    """
    site = result(work_out(open_plan(str(PLANS / "h200-xe9680-vast.yaml"), None)))["site"]
    assert round(site["feed_power_w"]) == round(Fraction(320_768, 3) + 36_049) == 142_972
    assert round(highest_load(site, 4, 1)) == 142_972


def test_cards_of_servers_hang_on_the_feeds_of_their_racks() -> None:
    """1024 NICs bought apart from 256 servers draw 25.6 kW in the compute racks."""
    report = work_out(open_plan(str(PLANS / "llama65b-quote.yaml"), None))
    site = result(report)["site"]
    assert abs(site["feed_power_w"] - highest_load(site, site["feeds"], 1)) < 1
