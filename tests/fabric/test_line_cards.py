"""Modular switches: line cards, what else a chassis is fitted with, and what the bill says of both."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.catalog.files import Catalog
from bomgen.catalog.part_records import switch
from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]

CARDS = ("line-cards", "fabric-cards", "supervisors", "power-supplies")
CHASSIS = {"slots": 8, "ports_per_card": 36, "card_gbps": 400}
EXACT = {"topology": "single-switch", "build_out": "exact"}
GENERIC = {"medium": "transceiver", "module": "generic-400g"}
MODULAR = [record.id for record in Catalog().all("switch") if record.value("chassis") and record.value("ports")]


def plan(servers: int = 4, **fabric: Any) -> dict[str, Any]:
    """A plan of servers with eight ports of 400G on one fabric."""
    kinds = ("server-leaf",) if "topology" in fabric else ("server-leaf", "leaf-spine")
    return {
        "bomgen": 1,
        "name": "modular",
        "cluster": {"gpu": "h100-sxm", "server": {"gpus": 8, "nics": 8, "port_gbps": 400}, "servers": servers},
        "fabrics": {"compute": {"links": dict.fromkeys(kinds, GENERIC)} | fabric},
    }


def quantities(bom: dict[str, Any], tier: str) -> dict[str, int]:
    """The pieces of each kind of card on the bill, by kind."""
    start = f"compute.switch.{tier}."
    lines = [line for line in bom["lines"] if line["id"].startswith(start)]
    assert all(line["category"] == "switch" for line in lines)
    return {line["id"].removeprefix(start): line["quantity"] for line in lines}


def warnings_of(report: Report, rule: str) -> list[str]:
    """The messages of a rule."""
    return [problem.message for problem in report.problems if problem.rule == rule]


def test_a_known_chassis_is_a_line_for_each_part(built: Built) -> None:
    """NetBox, DCS-7808-CH: 8 line cards, 2 supervisors, 6 fabric modules, 12 power supplies; built out in full."""
    bom = built(plan(4, switch="7808r3", topology="single-switch", build_out="full"))
    assert dict(zip(CARDS, (8, 6, 2, 12), strict=True)) == quantities(bom, "leaf")
    skus = [line["sku"] for line in bom["lines"] if line["id"].startswith("compute.switch.leaf")]
    assert ["DCS-7808-CH", "DCS-7800R3A-36D-LC", "DCS-7808R3-FM", "DCS-7800-SUP1A", "PWR-D1-3041-AC-BLUE"] == skus
    assert bom["fabrics"]["compute"]["chassis"]["leaf"] == {
        **{"line_cards": 8, "fabric_cards": 6, "supervisors": 2, "power_supplies": 12, "ports_per_card_down": 36}
    }


def test_as_many_line_cards_as_the_ports_in_use_need(built: Built) -> None:
    """40 ports take two cards of 36, 20 on each; 56 take three of 20, which cannot share them evenly."""
    compute = built(plan(5, switch={"chassis": CHASSIS}, **EXACT))["fabrics"]["compute"]
    assert (288, 2, 20) == (
        compute["ports"]["leaf"]["radix"],
        compute["chassis"]["leaf"]["line_cards"],
        compute["chassis"]["leaf"]["ports_per_card_down"],
    )
    uneven = built(plan(7, switch={"chassis": {**CHASSIS, "ports_per_card": 20}}, **EXACT))
    assert (3, None) == tuple(
        uneven["fabrics"]["compute"]["chassis"]["leaf"].get(key) for key in ("line_cards", "ports_per_card_down")
    )


def test_the_plan_fixes_the_line_cards(built: Built) -> None:
    """Four cards of 36 ports make a switch of 144; all four are bought, on every leaf and no spine."""
    bom = built(plan(72, switch={"chassis": CHASSIS}, leaf={"line_cards": 4}))
    compute = bom["fabrics"]["compute"]
    assert (144, 288) == (compute["ports"]["leaf"]["radix"], compute["ports"]["spine"]["radix"])
    assert {"line_cards": 4, "ports_per_card_down": 18, "ports_per_card_up": 18} == compute["chassis"]["leaf"]
    assert (32, 16) == (quantities(bom, "leaf")["line-cards"], quantities(bom, "spine")["line-cards"])


def test_more_line_cards_than_are_needed_are_bought_when_asked(built: Built) -> None:
    """The plan's word stands: eight cards for eight ports, one on each."""
    leaf = built(plan(1, switch={"chassis": CHASSIS}, leaf={"line_cards": 8}, **EXACT))["fabrics"]["compute"][
        "chassis"
    ]["leaf"]
    assert {"line_cards": 8, "ports_per_card_down": 1} == leaf


def test_split_ports_count_as_the_links_they_carry(built: Built) -> None:
    """A card of 36 ports of 800G that split in two carries 72 links of 400G: 80 take two cards, 288 four."""
    split = {"chassis": {**CHASSIS, "card_gbps": 800}, "split": 2}
    for servers, cards in ((10, 2), (36, 4)):
        compute = built(plan(servers, switch=split, **EXACT))["fabrics"]["compute"]
        assert (400, 576, cards) == (
            compute["link_gbps"],
            compute["ports"]["leaf"]["radix"],
            compute["chassis"]["leaf"]["line_cards"],
        )


def test_modes_shrink_with_the_cards(built: Built) -> None:
    """A vendor's number of links at a rate is that of all slots: half of the cards have half of them."""
    modes = {"chassis": {**CHASSIS, "card_gbps": 800}, "modes": {"400G": 288}}
    fabric = {"switch": modes, "topology": "single-switch", "leaf": {"line_cards": 4}}
    assert 144 == built(plan(4, **fabric))["fabrics"]["compute"]["ports"]["leaf"]["radix"]


@pytest.mark.parametrize(("links", "cards"), [(3, 4), (21, 4), (64, 2), (128, 1)])
def test_a_card_has_its_share_of_the_links_of_all(built: Built, links: int, cards: int) -> None:
    """Of 3 or 21 links at a rate a full chassis of four slots holds every one on four cards, however they divide.

    21 links take two cards where all slots have 64, sixteen each, and one where they have 128.
    """
    chassis = {"slots": 4, "ports_per_card": 16, "card_gbps": 800}
    asked = plan(min(links, 21), switch={"chassis": chassis, "modes": {"400G": links}}, **EXACT)
    asked["cluster"]["server"]["nics"] = 1
    assert cards == built(asked)["fabrics"]["compute"]["chassis"]["leaf"]["line_cards"]


def test_cards_for_links_that_take_several_cages(built: Built) -> None:
    """64 cages carry 64 links of 800G, or 20 of 400G: 9 up leave 17 links down, of two whole servers 16: 4 cards."""
    chassis = {"slots": 4, "ports_per_card": 16, "card_gbps": 800}
    fabric = {
        "switch": {"chassis": chassis, "modes": {"400G": 20, "800G": 64}},
        "links": {"server-leaf": GENERIC, "leaf-spine": {"rate": "800G"}},
        "tiers": 2,
        "build_out": "full",
    }
    compute = built(plan(2, **fabric))["fabrics"]["compute"]
    assert (16, 9) == (compute["ports"]["leaf"]["down"], compute["ports"]["leaf"]["up"])
    assert 4 == compute["chassis"]["leaf"]["line_cards"]


def test_links_of_two_rates_do_not_share_a_port(built: Built) -> None:
    """64 leaf ports of 400G fill 32 ports of 800G, 32 uplinks of 800G as many more: 64 ports, two cards."""
    fabric = {
        "switch": {"chassis": {**CHASSIS, "card_gbps": 800}, "split": 2},
        "leaf": {"downlinks": 64, "uplinks": 32},
        "links": {"server-leaf": {"module": "generic-400g"}, "leaf-spine": {"module": "generic-800g", "rate": "800G"}},
    }
    leaf = built(plan(32, **fabric))["fabrics"]["compute"]["chassis"]["leaf"]
    assert {"line_cards": 2, "ports_per_card_down": 32, "ports_per_card_up": 16, "free_slots": 432} == leaf


def test_what_nobody_knows_is_a_line_and_a_warning(built: Built, worked: Worked) -> None:
    """Cards without a part or a number are neither nought nor left out: a set a chassis, and the reader is told."""
    asked = plan(72, switch={"chassis": {**CHASSIS, "supervisors": 2, "fabric_cards": 0}})
    bom, report = built(asked), worked(asked)
    assert {"line-cards": 32, "supervisors": 8, "power-supplies": 4} == quantities(bom, "leaf")
    described = {line["id"]: (line["part"], line["description"]) for line in bom["lines"]}
    assert (None, "no part known: set of power supplies of unnamed switch 288 x 400G") == (
        described["compute.switch.leaf.power-supplies"]
    )
    assert 1 == len(warnings_of(report, "no-part-known")) == len(warnings_of(report, "unknown-count"))
    assert "line cards, supervisors and power supplies of unnamed" in warnings_of(report, "no-part-known")[0]
    assert "the number of power supplies in unnamed" in warnings_of(report, "unknown-count")[0]
    assert "power_supplies" not in bom["fabrics"]["compute"]["chassis"]["leaf"]


def test_a_card_described_in_the_plan_is_priced_and_spared(built: Built, worked: Worked) -> None:
    """Its part number is on the line; one with a name alone brings a warning; each part has its own spares."""
    cards = {"line_card": {"part_number": "LC-36"}, "supervisors": {"count": 1, "name": "brain"}}
    asked = plan(5, switch={"chassis": CHASSIS | cards}, **EXACT) | {"spares": {"switch": 1}}
    lines = {line["id"]: line for line in built(asked)["lines"]}
    assert ("LC-36", 2, 1) == tuple(
        lines["compute.switch.leaf.line-cards"][key] for key in ("sku", "quantity", "spare")
    )
    assert (None, "brain") == tuple(lines["compute.switch.leaf.supervisors"][key] for key in ("sku", "description"))
    assert ["supervisors of unnamed switch 288 x 400G cannot be ordered without a part number; set `part_number`"] == [
        message for message in warnings_of(worked(asked), "inline-part") if "supervisors" in message
    ]


def test_planes_have_chassis_of_their_own(built: Built) -> None:
    """Two planes of a rail-optimized fabric have twice the chassis and cards of one, each fitted alike."""
    fabric = {"switch": {"chassis": {**CHASSIS, "slots": 2}}, "topology": "rail-optimized", "link": "200G"}
    links = {kind: {"medium": "transceiver", "module": "generic-200g"} for kind in ("server-leaf", "leaf-spine")}
    one, two = (
        built(plan(36, **{**fabric, "links": links, "planes": planes, "scalable_unit": {"servers": 36}}))
        for planes in (1, 2)
    )
    assert one["fabrics"]["compute"]["chassis"] == two["fabrics"]["compute"]["chassis"]
    assert {kind: 2 * pieces for kind, pieces in quantities(one, "leaf").items()} == quantities(two, "leaf")


def test_a_switch_in_one_piece_has_no_cards(built: Built) -> None:
    """Nothing is said of cards where there are none."""
    bom = built(plan(4, switch="qm9700"))
    assert "chassis" not in bom["fabrics"]["compute"]
    assert {} == quantities(bom, "leaf")


@pytest.mark.parametrize(
    ("described", "says"),
    [
        ({"chassis": CHASSIS, "ports": 100}, "8 slots of 36 ports make 288"),
        ({"chassis": CHASSIS, "switches_per_unit": 2}, "a chassis is one switch"),
        ({"chassis": CHASSIS, "port_groups": [{"ports": 1, "port_gbps": 400}] * 2}, "line cards of one kind"),
        ({"chassis": {"slots": 8}}, "the switch described here has no `ports`"),
        ({"chassis": {**CHASSIS, "slots": 1000}}, "at most 2048 ports"),
    ],
)
def test_a_chassis_that_contradicts_itself_is_refused(described: dict[str, Any], says: str, worked: Worked) -> None:
    """Slots, ports and boxes must agree."""
    with pytest.raises(PlanErrors, match=says):
        worked(plan(4, switch=described))


@pytest.mark.parametrize("id", MODULAR)
def test_every_chassis_of_the_catalogue_agrees_with_itself(id: str) -> None:
    """Ports are slots times ports a card, and every kind of card is named or known to be unknown."""
    part = switch(Catalog().find("switch", id))
    assert part.chassis is not None
    assert part.chassis.slots is not None
    assert part.chassis.ports_per_card is not None
    assert part.groups[0].ports.value == part.chassis.slots.value * part.chassis.ports_per_card.value
    assert list(part.chassis.cards) == [kind.replace("-", "_") for kind in CARDS]


@given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 300), st.sampled_from((1, 2, 3)))
def test_line_cards_are_enough_and_not_too_many(built: Built, slots: int, ports: int, servers: int, ratio: int) -> None:
    """The cards of every chassis hold its links, one fewer would not, and there are slots for them."""
    asked = plan(servers, switch={"chassis": {**CHASSIS, "slots": slots, "ports_per_card": ports}})
    asked["fabrics"]["compute"] |= {"oversubscription": ratio, "build_out": "full"}
    try:
        bom = built(asked)
    except PlanErrors:
        return
    compute = bom["fabrics"]["compute"]
    for tier, fitted in compute["chassis"].items():
        used = compute["ports"][tier]["down"] + compute["ports"][tier]["up"]
        assert fitted["line_cards"] == ceil(used / ports) <= slots
        assert quantities(bom, tier)["line-cards"] == compute["switches"][tier] * fitted["line_cards"]


@pytest.mark.parametrize("build_out", ["full", "exact"])
def test_free_ports_are_those_on_the_line_cards(built: Built, build_out: str) -> None:
    """Ports on cards are in use or free; those of empty slots stand apart: together they are all of a chassis."""
    fabric = {"switch": {"chassis": CHASSIS}, "leaf": {"downlinks": 64}, "build_out": build_out}
    compute = built(plan(59, **fabric))["fabrics"]["compute"]
    links = compute["links"]["leaf-spine"]
    for tier, ends in (("leaf", compute["endpoints"] + links), ("spine", links)):
        fitted, switches = compute["chassis"][tier], compute["switches"][tier]
        on_cards = fitted["line_cards"] * 36
        assert 288 == on_cards + fitted.get("free_slots", 0)
        assert on_cards * switches - ends == compute["free_ports"][tier]
    assert 8 * 64 - 59 * 8 == compute["growth"]


def test_free_ports_of_two_rates_are_those_on_the_line_cards(built: Built) -> None:
    """Two cards of 36 ports of 800G: 32 links up leave 40 ports, which split make 80 of 400G; six slots 432 more."""
    links = {"server-leaf": {"module": "generic-400g"}, "leaf-spine": {"module": "generic-800g", "rate": "800G"}}
    chassis = {"chassis": {**CHASSIS, "card_gbps": 800}, "split": 2}
    compute = built(plan(64, switch=chassis, leaf={"downlinks": 64, "uplinks": 32}, links=links))["fabrics"]["compute"]
    assert (8, 2, 432) == (
        compute["switches"]["leaf"],
        compute["chassis"]["leaf"]["line_cards"],
        compute["chassis"]["leaf"]["free_slots"],
    )
    assert 8 * (80 - 64) == compute["free_ports"]["leaf"]


def test_free_ports_of_a_chassis_alone_are_room_to_grow(built: Built) -> None:
    """40 ports in use of two cards of 36: 32 free, and as many endpoints can be added without a third card."""
    compute = built(plan(5, switch={"chassis": CHASSIS}, **EXACT))["fabrics"]["compute"]
    assert (32, 32) == (compute["free_ports"]["leaf"], compute["growth"])
    assert 288 - 72 == compute["chassis"]["leaf"]["free_slots"]


def test_free_ports_of_a_published_fabric(built: Built) -> None:
    """24 576 GPUs on 7808r3: a spine has 7 cards and 220 ports in use, a core 4 cards and 128; pods are whole."""
    kinds = ("server-leaf", "leaf-spine", "spine-core")
    compute = {
        "topology": "fat-tree",
        "switch": "minipack2",
        "link": "400G",
        "leaf": {"servers": 2, "uplinks": 16},
        "pod": {"leaves": 192},
        "spine": {"switch": "7808r3", "per_pod": 16},
        "core": {"switch": "7808r3", "count": 28},
        "oversubscription": {"spine": 7},
        "links": dict.fromkeys(kinds, GENERIC),
    }
    cluster = {"gpu": "h100-sxm", "servers": 3072}
    bom = built({"bomgen": 1, "name": "published", "cluster": cluster, "fabrics": {"compute": compute}})
    fabric = bom["fabrics"]["compute"]
    assert 18 * 3072 == fabric["largest"]
    assert (128 * (7 * 36 - 220), 28 * (4 * 36 - 128)) == (fabric["free_ports"]["spine"], fabric["free_ports"]["core"])
    assert (36, 144) == tuple(fabric["chassis"][tier]["free_slots"] for tier in ("spine", "core"))


def test_a_dragonfly_of_chassis_is_wired_port_to_port(worked: Worked) -> None:
    """Every card has as many links to servers, and behind them its share of those within the group and beyond it."""
    switch = {"chassis": {"slots": 4, "ports_per_card": 4, "card_gbps": 400}}
    shape = {"p": 4, "a": 4, "h": 1, "g": 5}
    made = list_cables(worked(plan(10, switch=switch, topology="dragonfly", dragonfly=shape, links={})))
    leaf = next(kind for kind in made.kinds if kind.device == "leaf")
    ends = zip((*made.a_device, *made.b_device), (*made.a_port, *made.b_port), strict=True)
    ports = sorted(made.ports[port] for device, port in ends if device == leaf.start)
    assert ports == sorted(f"{card}/{port}" for card in (1, 2) for port in (1, 2, 3, 4))


def test_links_up_that_a_mesh_does_not_read_fit_no_line_cards(built: Built, worked: Worked) -> None:
    """A pair of chassis has peer links by its ratio: `leaf.uplinks` changes neither its links nor its cards."""
    fabric = {"topology": "mesh", "switch": "7804r3", "links": dict.fromkeys(("server-leaf", "leaf-leaf"), GENERIC)}
    asked = plan(16, **fabric, leaf={"uplinks": 20})
    assert quantities(built(plan(16, **fabric)), "leaf") == quantities(built(asked), "leaf")
    assert len(warnings_of(worked(asked), "no-effect")) == 1
