"""A network that grows around what is installed: machines stay in their places, cables keep their labels."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bomgen.cabling.types import NOWHERE, Wiring
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.wiring import netbox
from bomgen.output.wiring.columns import write_csv
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import list_cables, lock_result, work_out, work_out_around
from bomgen.workflow.plan_files import PlanFile

Place = tuple[int, int]
PANELLED = {"switch": "qm9700", "links": {"leaf-spine": {"panels": True}}}


def plan(servers: int, **site: Any) -> dict[str, Any]:
    """A plan of DGX H100 in racks of 44 kW, with the networks that are usual for them."""
    fabrics = {"compute": {"switch": "qm9700", "topology": "rail-optimized"}}
    networks = {"in_band": "default", "out_of_band": "default"}
    site = {"rack": {"power": "44 kW"}, "layout": "auto", **site}
    cluster = {"gpu": "h100-sxm", "servers": servers}
    return {"bomgen": 1, "name": "grows", "cluster": cluster, "fabrics": {**fabrics, **networks}, "site": site}


def inputs(data: Mapping[str, Any], lock: str = "") -> Inputs:
    """The inputs of a plan given as plain data."""
    return read_all(plan_file(data, lock))


def plan_file(data: Mapping[str, Any], lock: str = "") -> PlanFile:
    """The file of a plan given as plain data."""
    file = PlanFile("plan.yaml", json.dumps(data).encode(), Path(), Path())
    return file._replace(lock=("plan.lock", lock.encode())) if lock else file


def grown(old: Mapping[str, Any], new: Mapping[str, Any], allow_moves: bool = False) -> tuple[Wiring, Report]:
    """The network of today and the report of what it becomes."""
    today = work_out(inputs(old))
    return list_cables(today), work_out_around(inputs(new), {"": today}, allow_moves)


def stands(wiring: Wiring) -> dict[str, Place]:
    """Rack and unit of every machine that stands in a rack, by its name."""
    places = wiring.places
    assert places is not None
    found = zip(wiring.names, places.rack.tolist(), places.unit.tolist(), strict=True)
    return {name: (rack, unit) for name, rack, unit in found if rack != NOWHERE}


def rows(wiring: Wiring) -> list[dict[str, str]]:
    """The rows of the CSV."""
    out = io.BytesIO()
    write_csv(wiring, out, lambda _: None)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


def work_by_action(wiring: Wiring) -> Counter[tuple[str, str]]:
    """The rows of a list of work, by action and fabric."""
    return Counter((row["action"], row["fabric"]) for row in rows(wiring))


def test_four_servers_that_become_six() -> None:
    """Rack 2 has four servers of 10.2 kW and 44 kW: the two new ones go into rack 3, and all that stands stays.

    Of 71 cables 63 stay in both ports. The other eight are of the management network, which gets a second switch.
    """
    today, report = grown(plan(4), plan(6))
    network = list_cables(report, today=today)
    before, after = stands(today), stands(network)
    assert before.items() <= after.items()
    assert {"server-05": (3, 1), "server-06": (3, 9)}.items() <= after.items()
    assert (1, 1) == (report.design.facility.compute_racks.value - 1, report.design.facility.management_racks.value)
    found = work_by_action(network)
    assert 71 == today.pieces == sum(count for (action, _), count in found.items() if action in ("keep", "move"))
    assert (32, 22, 9, 8) == (
        *(found["keep", fabric] for fabric in ("compute", "in_band", "out_of_band")),
        found["move", "out_of_band"],
    )


def test_64_servers_that_become_128() -> None:
    """No machine moves, and of the cables no more than the fabric moves without a layout, where racks change as well.

    Between leaves and spines 256 of 512 links, two a cable, must change ends, and in the management networks what
    `test_recabling.py` counts without a floor. The other cables stay in both ports, although others that are built
    otherwise, such as with modules, come to the same switches.
    """
    today, report = grown(plan(64), plan(128))
    network = list_cables(report, today=today)
    assert stands(today).items() <= stands(network).items()
    old, new = (work_out(inputs({**plan(servers), "site": {"rack": {"power": "44 kW"}}})) for servers in (64, 128))
    without = work_by_action(list_cables(new, today=list_cables(old)))
    found = work_by_action(network)
    management = [(fabric, without["keep", fabric]) for fabric in ("in_band", "out_of_band")]
    for fabric, cables in (("compute", 512 + 128), *management):
        assert cables <= found["keep", fabric]


def test_netbox_keeps_labels_and_places(tmp_path: Path) -> None:
    """What was imported for the first network is imported for the second one unchanged, but for cables that move."""
    today, report = grown(plan(4), plan(6))
    tables = []
    for number, wiring in enumerate((today, list_cables(report, today=today))):
        folder = tmp_path / str(number)
        folder.mkdir()
        netbox.write(wiring, folder / "cables.csv", lambda _: None)
        tables.append({path.name: set(path.read_text(encoding="utf-8").splitlines()) for path in folder.iterdir()})
    old, new = tables
    assert all(old[name] <= new[name] for name in old if name not in ("cables.csv", "cables-interfaces.csv"))
    assert 8 == len(old["cables.csv"] - new["cables.csv"])


def test_links_over_panels_grow_from_device_to_device() -> None:
    """Jumpers and trunks are not in a list of work, whose links need not be as many as the cables that are billed."""
    old, new = ({**plan(servers), "fabrics": {"compute": PANELLED}} for servers in (40, 60))
    today, report = grown(old, new)
    assert today.over_panels is not None
    assert {("keep", "compute"): 640, ("add", "compute"): 320} == work_by_action(list_cables(report, today=today))


def test_a_lock_keeps_places() -> None:
    """A plan with the lock of a smaller one leaves its machines in place; a lock written again keeps them."""
    lock, today = lock_result(plan_file(plan(4)))
    report = work_out(inputs(plan(6), lock))
    before, after = stands(list_cables(today)), stands(list_cables(report))
    assert before.items() <= after.items()
    again, _ = lock_result(plan_file(plan(6), lock))
    assert after == stands(list_cables(work_out(inputs(plan(6), again))))
    assert before != stands(list_cables(work_out(inputs(plan(6)))))


def test_a_lock_keeps_names_labels_and_ports() -> None:
    """A lock says all of a network that has grown: it lists what is installed, now and when it grows again."""
    first = work_out(inputs(plan(4)))
    lock, second = lock_result(plan_file(plan(6)), {"": first})
    installed = rows(replace(list_cables(second, today=list_cables(first)), changes=None))
    read = work_out(inputs(plan(6), lock))
    assert installed == rows(list_cables(read))
    assert installed != rows(list_cables(second))
    again, _ = lock_result(plan_file(plan(6), lock))
    assert lock == again
    third = list_cables(work_out_around(inputs(plan(8)), {"": read}, allow_moves=False), today=list_cables(read))
    kept = {row["label"] for row in rows(third) if row["action"] in ("keep", "move")}
    added = {row["label"] for row in rows(third) if row["action"] == "add"}
    before = {row["label"] for row in installed}
    assert (set(), set()) == (before - kept, before & added)


def test_machines_that_must_move_are_errors_or_a_list() -> None:
    """Where racks have only 21 kW now, two servers of each rack cannot stay."""
    lower = plan(6, rack={"power": "21 kW"})
    with pytest.raises(PlanErrors) as caught:
        grown(plan(4), lower)
    assert {"moves"} == {problem.rule for problem in caught.value.problems}
    today, report = grown(plan(4), lower, allow_moves=True)
    listed = [problem.message for problem in report.problems if problem.rule == "moves"]
    assert 2 == len(listed)
    elsewhere = stands(list_cables(report, today=today))
    moved = [name for name, place in stands(today).items() if elsewhere[name] != place]
    assert ["server-03", "server-04"] == moved
    assert all(any(str(text).startswith(name) for text in listed) for name in moved)


def test_a_switch_in_whose_place_another_model_is_bought_does_not_move() -> None:
    """One server has its in-band network on an SN2201, two on an SN4600C, which stands elsewhere."""
    site = {"management": {"racks": 0}}
    today, report = grown(plan(1, **site), plan(2, **site))
    leaves = [
        next(kind.part for kind in wiring.kinds if kind.code == "in-band" and kind.device == "leaf")
        for wiring in (today, list_cables(report))
    ]
    assert leaves == ["sn2201", "sn4600c"]
    now = stands(list_cables(report, today=today))
    assert {name for name, place in stands(today).items() if now[name] != place} == {"in-band-leaf-01"}


@pytest.mark.parametrize(
    ("rows", "fits"),
    [([[{"compute": 1}, {"management": 1}], [{"compute": 2}]], True), ([[{"compute": 3}, {"management": 1}]], False)],
    ids=["new row", "racks in between"],
)
def test_rows_continue_those_that_are_installed(rows: list[list[dict[str, int]]], fits: bool) -> None:
    """Racks are added behind the installed ones; those that rows put in between would displace them."""
    old = plan(4, layout={"rows": [[{"compute": 1}, {"management": 1}]]})
    new = plan(6, layout={"rows": rows})
    if not fits:
        with pytest.raises(PlanErrors, match="is installed at place 2 of row 1"):
            grown(old, new)
        return
    today, report = grown(old, new)
    assert stands(today).items() <= stands(list_cables(report)).items()
