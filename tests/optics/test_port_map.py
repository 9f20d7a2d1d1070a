"""What the ports of switches are called: as their makers write it, and each name once on a switch."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest
from fabrics_by_hand import figure

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Switch
from bomgen.core.diagnostics import PlanErrors
from bomgen.fabric.ports import carries_rate, group_radix
from bomgen.optics.cages import UNKNOWN, PortDemand, map_ports, name_sockets
from bomgen.output.wiring.graphs import REPLACED
from bomgen.output.writer import write_wiring
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import open_plan

RATES = (1, 10, 25, 50, 100, 200, 400, 800, 1600)
CATALOG = Catalog([])


def _switches() -> list[tuple[str, Switch]]:
    found = []
    for record in CATALOG.all("switch"):
        try:
            found.append((record.id, part_records.switch(record)))
        except PlanErrors:
            continue
    return found


def _names(switch: Switch, rate: int) -> list[str]:
    """The names of all ports of a switch at a rate."""
    wanted = figure(rate, "Gb/s")
    ports = sum(
        int(Fraction(group_radix(group, wanted).value)) for group in switch.groups if carries_rate(group, wanted)
    )
    if not ports:
        return []
    sockets = map_ports(switch, [PortDemand("all", ports, wanted, UNKNOWN)])["all"].sockets
    return name_sockets(switch, wanted, sockets)


@pytest.mark.parametrize(("name", "switch"), _switches(), ids=lambda value: value if isinstance(value, str) else "")
def test_names_are_unique_on_a_switch(name, switch):
    """As many names as ports at every rate, in InfraGraph's spelling as well; a name has no separator of the CSV."""
    carried = {rate: _names(switch, rate) for rate in RATES}
    assert any(carried.values()), name
    for rate, names in carried.items():
        assert len(set(names)) == len(names), (name, rate)
        assert len({each.translate(REPLACED) for each in names}) == len(names), (name, rate)
        assert not any(set(each) & set(';," ') for each in names), (name, rate)


@pytest.mark.parametrize(
    ("name", "rate", "first", "last"),
    [
        ("qm9700", 400, ["1/1", "1/2", "2/1"], "32/2"),
        ("qm9790", 400, ["1/1", "1/2", "2/1"], "32/2"),
        ("q3400-ra", 800, ["sw1p1", "sw1p2", "sw2p1"], "sw72p2"),
        ("qm8700", 200, ["1/1", "1/2"], "1/40"),
        ("qm8790", 200, ["1", "2"], "40"),
        ("sn5600", 800, ["swp1", "swp2"], "swp64"),
        ("sn5600", 400, ["swp1s0", "swp1s1", "swp2s0"], "swp64s1"),
        ("sn2201", 1, ["swp1", "swp2"], "swp48"),
        ("sn2201", 100, ["swp49", "swp50"], "swp52"),
        ("7060x6-64pe", 800, ["Ethernet1/1", "Ethernet2/1"], "Ethernet64/1"),
        ("7060x6-64pe", 400, ["Ethernet1/1", "Ethernet1/5"], "Ethernet64/5"),
        ("7808r4", 800, ["Ethernet3/1/1", "Ethernet3/2/1"], "Ethernet10/36/1"),
        ("qfx5240-64od", 800, ["et-0/0/0", "et-0/0/1"], "et-0/0/63"),
        ("qfx5240-64od", 400, ["et-0/0/0:0", "et-0/0/0:1"], "et-0/0/63:1"),
        ("cisco-n9364e-sg2", 400, ["Ethernet1/1/1", "Ethernet1/1/2"], "Ethernet1/64/2"),
        ("dell-z9864f", 400, ["1/1", "1/2", "2/1"], "64/2"),
    ],
)
def test_names_are_the_makers(name, rate, first, last):
    """NetBox's device types, Cumulus Linux, EOS, Junos and NX-OS; numbers from 1 by cage where no source was found."""
    names = _names(part_records.switch(CATALOG.find("switch", name)), rate)
    assert names[: len(first)] == first
    assert names[-1] == last


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("{cage: port}", "'port' is not valid; expected: port of a cage with a single port; contains `{cage}`"),
        ("{cage: '{cage}-{slot}'}", "'{cage}-{slot}' is not valid"),
        ("{split: '{cage}'}", "'{cage}' is not valid; expected: part of a split port; contains `{cage}` and `{part}`"),
        ("{cage: 'Ethernet{cage}'}, chassis: {slots: 4, ports_per_card: 16}", "write {card} into cage"),
        ("{split: '{cage}/{part}'}, ports_per_cage: 2", "write {port} into split"),
    ],
)
def test_names_that_would_be_alike_are_refused(names, message, tmp_path):
    """A name without the number of its cage, card or port, or with one that nobody knows, is an error in the plan."""
    with pytest.raises(PlanErrors) as raised:
        work_out(open_plan(_plan(tmp_path, names), None))
    assert message in str(raised.value)


def test_names_of_a_plan_are_written(tmp_path):
    """A switch that the plan describes may say what its ports are called."""
    report = work_out(open_plan(_plan(tmp_path, "{cage: 'Eth1/{cage}', first_cage: 0}"), None))
    write_wiring(list_cables(report), "csv", tmp_path / "wiring.csv", lambda _: None)
    with (tmp_path / "wiring.csv").open(encoding="utf-8", newline="") as stream:
        assert next(csv.DictReader(stream))["b_port"] == "Eth1/0"


def _plan(folder: Path, names: str) -> str:
    path = folder / "plan.yaml"
    path.write_text(
        "bomgen: 1\nname: named\ncluster: {gpu: h100-sxm, servers: 4}\n"
        f"fabrics: {{compute: {{switch: {{name: box, ports: 64, port_gbps: 400, port_names: {names}}}}}}}\n",
        encoding="utf-8",
    )
    return str(path)
