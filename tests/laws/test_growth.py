"""The law of growth: whoever works through a list of work ends at the network of the plan, port by port.

The list is read as an installer reads it, from its CSV, row by row: it knows nothing of devices that were matched.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from depth import DEEPER, examples, shards
from drawn_fabrics import draw_hosts, draw_plan, draw_switch
from test_bill_and_cables import built, check_law

from bomgen.cabling.recabling import record_network, restore_network
from bomgen.cabling.types import Wiring, broken_rules
from bomgen.output.wiring.columns import list_labels, write_csv
from bomgen.pricing.bill_line import Line, part_key
from bomgen.workflow.inputs import read_all
from bomgen.workflow.pipeline import count_moves, list_cables, work_out_around
from bomgen.workflow.plan_files import PlanFile

PLANS, SHARDS = 80 * DEEPER, 8
HALLS = 24
"""Plans with a layout that grow."""
PHASED = 6
"""Plans with a layout that are ordered in two phases."""
LEAST_COMPARED = 0.2
MOST_PORT_CHANGES = 44
Row = dict[str, str]


def rows(wiring: Wiring) -> list[Row]:
    """The rows of the CSV."""
    out = io.BytesIO()
    write_csv(wiring, out, lambda _: None)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


def ends(row: Row, when: str = "") -> list[tuple[str, str]]:
    """Every device and port that a cable of a row is plugged into."""
    found = []
    for end in "ab":
        ports = row[f"{when}{end}_port"].split(";")
        devices = row[f"{when}{end}_device"].split(";")
        found += zip(devices * (len(ports) // len(devices)), ports, strict=True)
    return found


def cable(row: Row) -> tuple[str, str, str]:
    """What a cable is bought as."""
    return row["fabric"], row["sku"], row["length_m"]


class Network:
    """The ports of a network while an installer works through a list."""

    def __init__(self, cables: list[Row]) -> None:
        self.ports = {end: row["label"] for row in cables for end in ends(row)}

    def pull(self, label: str, places: set[tuple[str, str]]) -> None:
        """Take ends of a cable out of their ports."""
        for end in places:
            assert self.ports.pop(end) == label, f"{label} is not in {end}"

    def plug(self, label: str, places: set[tuple[str, str]]) -> None:
        """Plug ends of a cable into ports, which must be empty."""
        for end in places:
            assert end not in self.ports, f"{label} needs {end}, where {self.ports[end]} still is"
            self.ports[end] = label


def work(old: list[Row], list_of_work: list[Row]) -> Counter[tuple[str, str, str]]:
    """The cables that hang after the work, each row of which must be possible when its turn comes."""
    network, labels = Network(old), {row["label"]: row for row in old}
    final = {row["label"]: row for row in list_of_work if row["action"] not in ("remove", "unplug")}
    seen, loose = set[str](), set[str]()
    for row in list_of_work:
        label, action, now = row["label"], row["action"], set(ends(row))
        before = set(ends(row, "today_")) if action != "add" else set[tuple[str, str]]()
        if action == "add":
            assert label not in labels
            assert not row["today_a_port"] + row["today_b_port"]
            network.plug(label, now)
        else:
            assert before == set(ends(labels[label])), "the cable of this label is plugged in there today"
            assert cable(labels[label]) == cable(row), "a cable that stays or moves is the one that is needed"
        if action == "remove":
            network.pull(label, before)
        elif action == "unplug":
            assert before == now
            network.pull(label, before - set(ends(final[label])))
            loose.add(label)
        elif action == "move":
            assert before != now
            network.pull(label, (before - now) if label not in loose else set())
            network.plug(label, now - before)
        elif action == "keep":
            assert before == now, "what stays keeps both ports"
        if action != "unplug":
            assert label not in seen, "each cable has one row"
            seen.add(label)
    assert labels.keys() <= seen, "each cable of today is in the list"
    assert network.ports == {end: label for label, row in final.items() for end in ends(row)}
    return Counter(map(cable, final.values()))


TOPOLOGIES = ("fat-tree", "rail-optimized", "rail-only", "single-switch", "mesh", "dragonfly")
CHANGES: dict[str, Callable[[Random, dict[str, Any]], dict[str, Any]]] = {
    "oversubscription": lambda random, _: {"oversubscription": random.choice((1, 1.5, 2, 3, 4))},
    "spines": lambda random, fabric: {"spine": {**fabric.get("spine", {}), "count": 2 ** random.randint(0, 4)}},
    "topology": lambda random, _: {"topology": random.choice(TOPOLOGIES)},
    "planes": lambda _, fabric: {"planes": 3 - fabric.get("planes", 1)},
    "rails": lambda random, _: {"topology": "rail-optimized", "rails_per_leaf": random.choice((1, 2, 4, 8))},
    "build_out": lambda _, fabric: {"build_out": "exact" if fabric.get("build_out") == "full" else "full"},
    "switches": lambda random, _: {"switch": draw_switch(random)},
    "homing": lambda random, _: {"homing": random.choice(("single", "dual", "rails"))},
    "hosts": lambda random, _: {"hosts": draw_hosts(random, "compute")},
}
"""What a plan changes of a fabric as its network grows; `servers` is the other kind of change."""


def changed(plan: dict[str, Any], seed: int) -> dict[str, Any]:
    """The plan with another number of servers, another fabric, or both."""
    random = Random(seed)  # noqa: S311
    cluster, fabrics = dict(plan["cluster"]), dict(plan["fabrics"])
    kinds = random.sample(("servers", *CHANGES), k=random.choice((1, 1, 2)))
    for kind in kinds:
        if kind == "servers":
            cluster["servers"] = max(1, int(cluster["servers"] * random.choice((0.5, 0.9, 1.1, 1.5, 2, 3))))
            continue
        name = random.choice([name for name, fabric in fabrics.items() if isinstance(fabric, dict)])
        fabrics[name] = {**fabrics[name], **CHANGES[kind](random, fabrics[name])}
    return {**plan, "cluster": cluster, "fabrics": fabrics}


def fabric_plan(servers: int, switch: str = "qm9700", **fabric: Any) -> dict[str, Any]:
    """A plan of DGX H100 with one fabric."""
    fabrics = {"compute": {"topology": "fat-tree", "switch": switch, **fabric}}
    return {"bomgen": 1, "name": "x", "cluster": {"gpu": "h100-sxm", "servers": servers}, "fabrics": fabrics}


@pytest.mark.parametrize(
    ("old", "new", "unplugged"),
    [
        (fabric_plan(20, "h3c-s9825-64d"), fabric_plan(20, "h3c-s9825-64d", oversubscription=2), False),
        (fabric_plan(16), fabric_plan(17), False),
        (fabric_plan(64), fabric_plan(64, oversubscription=2), False),
        (fabric_plan(64), fabric_plan(64, topology="rail-optimized"), True),
    ],
    ids=["oversubscription", "servers", "spines", "rings"],
)
def test_ports_are_empty_when_they_are_filled(old: dict[str, Any], new: dict[str, Any], unplugged: bool) -> None:
    """8 of 64, 8 of 86 and 24 of 144 moves, and those of a new topology, led to ports that a later row emptied."""
    today, report = built(old), built(new)
    assert today is not None
    assert report is not None
    listed = rows(list_cables(report, today=list_cables(today)))
    assert work(rows(list_cables(today)), listed) == Counter(map(cable, rows(list_cables(report))))
    assert unplugged == any(row["action"] == "unplug" for row in listed)


def test_cables_between_the_same_devices_stay() -> None:
    """69 servers of 3:2 that become 1:1: of 968 cables 264 changed only the port on a spine; one spine in two needs it.

    A spine of the new plan has modules for 18 of the 26 cages that are filled today, so that cables of the others move.
    """
    today, report = built(fabric_plan(69, oversubscription=1.5)), built(fabric_plan(69))
    assert today is not None
    assert report is not None
    listed = [row for row in rows(list_cables(report, today=list_cables(today))) if row["action"] == "move"]
    devices = [[[device for device, _ in ends(row, when)] for when in ("", "today_")] for row in listed]
    assert sum(now == before for now, before in devices) <= MOST_PORT_CHANGES


@pytest.mark.parametrize("shard", shards(SHARDS))
def test_a_list_of_work_leads_from_one_network_to_the_other(shard: int) -> None:
    """Random plans that change in every way: each row can be done in its turn, and in the end the plan is built."""
    compared = 0
    for seed in range(shard, PLANS, SHARDS):
        plan = draw_plan(seed)
        if "servers" not in plan["cluster"]:
            continue
        grown_plan = changed(plan, seed)
        today, report = built(plan), built(grown_plan)
        if today is None or report is None:
            continue
        compared += 1
        new, grown = list_cables(report), list_cables(report, today=list_cables(today))
        assert work(rows(list_cables(today)), rows(grown)) == Counter(map(cable, rows(new))), seed
        assert not broken_rules(grown, report.design), seed
        check_law(grown_plan, report, grown)
    assert compared > LEAST_COMPARED * PLANS / SHARDS


SITES: tuple[dict[str, Any], ...] = (
    *({}, {"management": {"racks": 0}}, {"management": {"racks": 4}}, {"servers_per_rack": 1}),
    *({"layout": {"racks_per_row": 2}}, {"layout": {"racks_per_row": 3}}, {"rack": {"power": "22 kW"}}),
)
NETWORKS: dict[str, Any] = {
    "in_band": {"switch": "sn4600c", "ports_per_server": 2, "link": "100G"},
    "out_of_band": {"switch": "sn2201", "ports_per_server": 1, "link": "1G", "pdu_ports": 1},
    "storage": {
        **{"switch": "sn5600", "ports_per_server": 2, "link": "400G"},
        "hosts": [{"name": "ufm", "count": 2, "part": "generic-management-server"}],
    },
}


def draw_hall(random: Random) -> dict[str, Any]:
    """A plan with a layout, in few racks or many, with some of the usual networks."""
    site = {"rack": {"power": "44 kW"}, "layout": "auto", **random.choice(SITES)}
    networks = {
        name: random.choice((fabric, "default")) for name, fabric in NETWORKS.items() if random.random() < 2 / 3
    }
    networks |= {"storage": NETWORKS["storage"]} if "storage" in networks else {}
    plan = fabric_plan(random.choice((1, 2, 4, 5, 9, 16, 30)), oversubscription=random.choice((1, 2)))
    return {**plan, "fabrics": {**plan["fabrics"], **networks}, "site": site}


def grow_hall(random: Random, plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with more of something that grows: servers, spare ones, networks, hosts, bandwidth or ports."""
    cluster, fabrics = dict(plan["cluster"]), dict(plan["fabrics"])
    cluster["servers"] += random.choice((0, 1, 2, 8, cluster["servers"]))
    cluster |= random.choice(({}, {"spare_servers": 2}))
    more = random.choice(({}, {}, {"planes": 2}, {"reserved_ports": 4}, {"build_out": "full"}))
    fabrics["compute"] = {**fabrics["compute"], "oversubscription": 1, **more}
    if "storage" in fabrics:
        fabrics["storage"] = {**fabrics["storage"], "hosts": [{**fabrics["storage"]["hosts"][0], "count": 3}]}
    return {**plan, "cluster": cluster, "fabrics": {**random.choice((NETWORKS, {})), **fabrics}}


def stands(wiring: Wiring) -> dict[tuple[str, str | None], tuple[int, int]]:
    """Rack and unit of every machine in a rack, by its name and part."""
    assert wiring.places is not None
    parts = [wiring.kinds[kind].part for kind in wiring.kind_numbers.tolist()]
    places = zip(wiring.names, parts, wiring.places.rack.tolist(), wiring.places.unit.tolist(), strict=True)
    return {(name, part): (rack, unit) for name, part, rack, unit in places if rack > 0}


def test_what_is_installed_stays() -> None:
    """Nothing that stands moves when a plan grows, whatever grows, and the list of work leads to what is bought."""
    compared = 0
    for seed in range(halls := examples(HALLS)):
        random = Random(seed)  # noqa: S311
        old = draw_hall(random)
        new = grow_hall(random, old)
        today = built(old)
        if today is None or built(new) is None:
            continue
        file = PlanFile("plan.yaml", json.dumps(new).encode(), Path(), Path())
        report = work_out_around(read_all(file), {"": today}, allow_moves=False)
        before = list_cables(today)
        after = list_cables(report, today=before)
        now = stands(after)
        assert not {name for name, place in stands(before).items() if now.get(name, place) != place}, seed
        listed = rows(after)
        work(rows(before), listed)
        check_law(new, report, after)
        moves = count_moves({"": today}, report)
        assert moves is not None
        quoted = [(cable.added + cable.replaced, cable.moved, cable.free + cable.replaced) for cable in moves.cables]
        in_work = Counter(row["action"] for row in listed)
        assert [in_work[action] for action in ("add", "move", "remove")] == [*map(sum, zip(*quoted, strict=True))], seed
        planned = list_cables(report)
        read = restore_network(planned, record_network(planned, after, list_labels(after)))
        assert rows(read) == rows(replace(after, changes=None)), "what a lock records of it is all of it"
        compared += 1
    assert compared > halls / 2


def test_orders_of_phases_add_up() -> None:
    """What phases order is what the whole needs and what is left over; a list of work leads to the next network."""
    compared = 0
    for seed in range(phased := examples(PHASED)):
        random = Random(seed)  # noqa: S311
        old = draw_hall(random)
        new = grow_hall(random, old)
        grown = {"name": "second", "cluster": new["cluster"], "fabrics": new["fabrics"]}
        report = built({**old, "phases": [{"name": "first"}, grown]})
        if report is None:
            continue
        orders = [line for phase in report.phases for line in phase.bill.lines]
        assert pieces(orders) == pieces((*report.bill.lines, *report.phases[-1].bill.left_over)), seed
        before, after = map(list_cables, report.phases)
        work(rows(before), rows(after))
        now = stands(after)
        assert not {name for name, place in stands(before).items() if now.get(name, place) != place}, seed
        compared += 1
    assert compared > phased / 2


def pieces(lines: Iterable[Line]) -> Counter[tuple[str, str]]:
    """Pieces of each part."""
    counted = Counter[tuple[str, str]]()
    for line in lines:
        counted[part_key(line)] += line.pieces
    return counted
