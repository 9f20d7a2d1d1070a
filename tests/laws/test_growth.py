"""The law of growth: whoever works through a list of work ends at the network of the plan, port by port.

The list is read as an installer reads it, from its CSV: it knows nothing of devices that were matched.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from random import Random
from typing import Any

import pytest
from depth import DEEPER
from drawn_fabrics import draw_plan
from test_bill_and_cables import built, check_law

from bomgen.cabling.checks import broken_rules
from bomgen.cabling.types import Wiring
from bomgen.output.cables import csv as table
from bomgen.workflow.pipeline import list_cables

PLANS, SHARDS = 120 * DEEPER, 6
LEAST_COMPARED = 0.2
Row = dict[str, str]


def rows(wiring: Wiring) -> list[Row]:
    """The rows of the CSV."""
    out = io.BytesIO()
    table.write(wiring, out, lambda _: None)
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


def work(old: Wiring, list_of_work: list[Row]) -> Counter[tuple[str, str, str]]:
    """The cables that hang after the work, each step of which must be possible."""
    hanging = {tuple(sorted(ends(row))): row for row in rows(old)}
    labels = {row["label"]: cable(row) for row in rows(old)}
    for row in list_of_work:
        if row["action"] in ("remove", "move", "keep"):
            was = hanging.pop(tuple(sorted(ends(row, "today_"))))
            assert was["label"] == row["label"], "the label is that of the cable that hangs there"
            assert cable(was) == cable(row), "a cable that stays or moves is the one that is needed"
        if row["action"] == "keep":
            assert sorted(ends(row)) == sorted(ends(row, "today_")), "what stays keeps both ports"
        if row["action"] == "add":
            assert row["label"] not in labels
            assert not row["today_a_port"]
            assert not row["today_b_port"]
    assert not hanging, "each cable of today is in the list once"
    after = [row for row in list_of_work if row["action"] != "remove"]
    ports = Counter(end for row in after for end in ends(row))
    assert set(ports.values()) <= {1}, "no port has two cables"
    assert len({row["label"] for row in after}) == len(after)
    return Counter(map(cable, after))


def grown_by(plan: dict[str, Any], seed: int) -> dict[str, Any]:
    """The plan with another number of servers."""
    random = Random(seed)  # noqa: S311
    cluster = plan["cluster"]
    return {
        **plan,
        "cluster": {**cluster, "servers": max(1, int(cluster["servers"] * random.choice((0.5, 1, 1.5, 2, 3))))},
    }


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_list_of_work_leads_from_one_network_to_the_other(shard: int) -> None:
    """Random plans, grown and shrunk: names, ports and labels fit, and in the end the cables of the plan hang."""
    compared = 0
    for seed in range(shard, PLANS, SHARDS):
        plan = draw_plan(seed)
        if "servers" not in plan["cluster"]:
            continue
        today, report = built(plan), built(grown_by(plan, seed))
        if today is None or report is None:
            continue
        compared += 1
        new, grown = list_cables(report), list_cables(report, today=today)
        assert work(list_cables(today), rows(grown)) == Counter(map(cable, rows(new))), seed
        assert not broken_rules(grown, report.design), seed
        check_law(plan, report, grown)
    assert compared > LEAST_COMPARED * PLANS / SHARDS
