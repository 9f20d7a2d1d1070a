"""Every record of the catalogue: its sources, estimates of power, default servers."""

# ruff: noqa: SIM300

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from statistics import median
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.estimates import estimate_unpublished
from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.parts import GENERIC
from bomgen.core.yaml_source import Source

CATALOG = Catalog()
KINDS = (
    *("gpu", "nic", "server", "switch", "transceiver", "cable", "appliance", "accessory", "storage"),
    *("rack", "pdu", "panel"),
)
DAY = re.compile(r"2026-\d\d-\d\d")
NOT_SOLD_IN_SERVERS = {
    *("k80", "p100-pcie-12", "p100-pcie-16", "p100-sxm2"),
    *("v100-pcie-16", "v100-pcie-32", "v100-sxm2-16", "v100-sxm2-32", "v100s-pcie-32"),
    *("tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x", "tpu-8i", "tpu-8t"),
    *("trainium2", "trainium3", "rubin-cpx", "mi430x", "mi440x"),
}
"""Accelerators that are no longer sold, only rented, or announced without a server."""
WITHOUT_NICS = {"trn3-ultraserver"}
"""Servers that are only rented, whose network is that of the provider."""


def of_kind(kind: str) -> list[Any]:
    """The records of a kind, as parameters of a test."""
    return [pytest.param(record, id=record.id) for record in CATALOG.all(kind)]


def figures(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every figure of a record that says where it comes from, with its path."""
    if isinstance(data, dict):
        if "value" in data:
            yield path, data
        else:
            for key, value in data.items():
                yield from figures(value, f"{path}.{key}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_has_a_source_and_a_confidence(kind: str) -> None:
    """What nobody looked up is of low confidence; what was looked up is not said to be unverified as well."""
    for record in CATALOG.all(kind):
        for path, figure in figures(record.data):
            sources = figure.get("source")
            assert sources, (record.id, path)
            assert figure.get("confidence") in ("high", "medium", "low"), (record.id, path)
            if sources == ["unverified"]:
                assert "low" == figure["confidence"], (record.id, path)


@pytest.mark.parametrize("kind", [*KINDS, "connection", "model", "run"])
def test_every_source_was_read_on_a_day(kind: str) -> None:
    """A year is no date: two facts of one year could not be told which is newer."""
    sources = [
        (record.id, source) for record in CATALOG.all(kind) for source in (record.data.get("sources") or {}).values()
    ]
    assert not [(name, source) for name, source in sources if "read" in source and not DAY.fullmatch(source["read"])]


def ratios_left_out(points: set[tuple[float, float]], rest: float) -> list[float]:
    """Published watts to those estimated as `rest` and a factor of the size, the median of all points but this one."""
    ratios = []
    for size, watts in points:
        others = points - {(size, watts)}
        factor = median((watts - rest) / size for size, watts in others)
        ratios.append(watts / (rest + factor * size))
    return ratios


def share_within(ratios: list[float], kind: str) -> float:
    """The share of ratios within the range of estimates of a kind."""
    low, high = (float(CATALOG.assumption(f"{kind}-power-{end}").value) for end in ("low", "high"))
    return sum(low <= ratio <= high for ratio in ratios) / len(ratios)


def error_of(ratios: list[float]) -> float:
    """The median error of estimates, as a factor."""
    return median(max(ratio, 1 / ratio) for ratio in ratios) - 1


@pytest.mark.parametrize("slow", ["", "-slow"])
def test_estimates_of_switch_power_follow_from_the_published_ones(slow: str) -> None:
    """By the size of their ports; one box under several names counts once, one with optics of its own does not.

    Each switch left out once, the estimate is off by 16 or 20 % in the median, and nine of ten are in the range.
    """
    points, of_typical = set[tuple[float, float]](), list[float]()
    for record in CATALOG.all("switch"):
        if record.value("vendor") == GENERIC or record.value("power") is None or record.value("co_packaged"):
            continue
        switch = part_records.switch(record)
        if (max(group.port_gbps.value for group in switch.groups) < 200) is not bool(slow):
            continue
        gbps = sum(group.ports.value * group.port_gbps.value for group in switch.groups)
        points.add((gbps * switch.switches_per_unit.value / 1000, float(switch.power_w.value)))
        if typical := record.figure("power_typical", "W"):
            of_typical.append(switch.power_w.value / typical.value)
    rest = float(CATALOG.assumption(f"switch-power-base{slow}").value)
    per_tbps = median((watts - rest) / tbps for tbps, watts in points)
    assert float(CATALOG.assumption(f"switch-power-per-tbps{slow}").value) == round(per_tbps)
    assert float(CATALOG.assumption(f"switch-power-to-typical{slow}").value) == round(median(of_typical), 1)
    errors = {base: error_of(ratios_left_out(points, base)) for base in (rest / 2, rest, rest * 2)}
    assert min(errors, key=errors.__getitem__) == rest
    assert errors[rest] < 0.21
    assert share_within(ratios_left_out(points, rest), "switch") >= 0.9


def test_estimates_of_server_power_follow_from_the_stated_ones() -> None:
    """By the power of their GPUs and the form of cooling; one chassis under several names counts once.

    Desktops and GPUs of uncertain power do not count. Each server left out once, the estimate is off by 4 % in the
    median, and more than nine of ten are in the range.
    """
    points: dict[str, set[tuple[float, float]]] = {"": set(), "-liquid": set(), "-cards": set()}
    for record in CATALOG.all("server"):
        server = part_records.server(record)
        chip = part_records.gpu(CATALOG.find("gpu", str(server.gpu))).power_w
        if server.power_w is None or chip is None or chip.origin.confidence == "low":
            continue
        if record.value("vendor") != GENERIC and server.gpus.value > 1:
            form = "-liquid" if server.liquid_cooled else "-cards" if server.gpu_slots else ""
            trays = server.trays.value if server.trays else 1
            points[form].add((server.gpus.value * chip.value, float(server.power_w.value / trays)))
    rest = float(CATALOG.assumption("server-power-others").value)
    for form, sizes in points.items():
        factor = median((watts - rest) / size for size, watts in sizes)
        assert float(CATALOG.assumption(f"server-power-to-gpus{form}").value) == pytest.approx(factor, abs=0.01), form
    several = [sizes for sizes in points.values() if len(sizes) > 1]
    ratios = {base: [ratio for sizes in several for ratio in ratios_left_out(sizes, base)] for base in (0, rest, 3000)}
    assert min(ratios, key=lambda base: error_of(ratios[base])) == rest
    assert error_of(ratios[rest]) < 0.05
    assert share_within(ratios[rest], "server") > 0.9


def test_an_estimate_is_at_most_what_the_supplies_carry() -> None:
    """Six of twelve supplies of 3.2 kW of a server, and one of two of 3 kW of a switch."""
    gpu = part_records.gpu(CATALOG.find("gpu", "mi355x"))
    power = estimate_unpublished(part_records.server(CATALOG.find("server", "dell-xe9785")), gpu).power_w
    assert power is not None
    assert power.bounds is not None
    assert power.bounds[1] == 6 * 3200
    switch = part_records.switch(CATALOG.find("switch", "qfx5240-64od"))
    assert switch.power_w.bounds is not None
    assert switch.power_w.bounds[1] == 3000


def test_estimates_of_server_weight_are_medians_of_the_catalogue() -> None:
    """The weight per unit of height follows from the servers with a stated weight; a chassis counts once."""
    per_unit = set()
    for record in CATALOG.all("server"):
        server = part_records.server(record)
        if record.value("vendor") != GENERIC and server.weight_kg and server.rack_units and not server.trays:
            per_unit.add((record.value("vendor"), server.weight_kg.value, server.rack_units.value))
    kg = [float(weight / units) for _, weight, units in per_unit]
    name = "server-weight-per-unit"
    stated = {name: round(median(kg), 1), f"{name}-low": round(min(kg), 1), f"{name}-high": round(max(kg), 1)}
    assert {id: float(CATALOG.assumption(id).value) for id in stated} == stated


def medians(values: set[tuple[Any, Fraction, Fraction]], digits: int | None) -> tuple[float, float, float]:
    """Median, least and most of quotients; one that several records of a vendor share counts once."""
    ratios = sorted(over / under for _, over, under in values)
    usual, low, high = (round(float(each), digits) for each in (median(ratios), ratios[0], ratios[-1]))
    return usual, low, high


@pytest.mark.parametrize(
    ("name", "over", "under", "digits"),
    [
        ("storage-power-per-unit", "power", "rack_units", None),
        ("storage-weight-per-unit", "weight", "rack_units", 1),
        ("storage-read-share", "read", "ports", 2),
        ("storage-write-to-read", "write", "read", 2),
        ("appliance-weight-per-unit", "weight", "rack_units", 1),
    ],
)
def test_estimates_of_storage_and_appliances_are_medians(name: str, over: str, under: str, digits: int | None) -> None:
    """What stands in for unpublished figures follows from the records that have both figures from a source."""
    units = {"power": "W", "weight": "kg", "rack_units": "U", "read": "bytes/s", "write": "bytes/s", "ports": "count"}
    values = set()
    for record in CATALOG.all(name.partition("-")[0]):
        above, below = (record.figure(key, units[key], zero=True) for key in (over, under))
        if above is None or not below or not below.value or record.value("vendor") == GENERIC:
            continue
        scale = Fraction(1)
        if under == "ports":
            if record.data["ports"]["source"] == ["unverified"]:
                continue
            scale = Fraction(record.need("port_gbps", "Gb/s").value) * 10**9 / 8
        values.add((record.value("vendor"), Fraction(above.value), Fraction(below.value) * scale))
    stated = tuple(float(CATALOG.assumption(f"{name}{end}").value) for end in ("", "-low", "-high"))
    assert stated == medians(values, digits)


def test_every_storage_system_has_what_a_quote_needs() -> None:
    """Height, power and weight of each; capacity of each that holds data, bandwidth of each with ports."""
    for record in CATALOG.all("storage"):
        system = part_records.storage_system(record)
        assert all((system.rack_units, system.power_w, system.weight_kg)), record.id
        assert system.ports is not None, record.id
        behind = {id for partner in system.partners for id in partner.parts}
        assert system.capacity_bytes or behind, record.id
        assert not system.ports.value or all((system.port_gbps, system.read, system.write)), record.id
        assert record.value("requires"), record.id


@pytest.mark.parametrize("record", of_kind("server"))
def test_every_server_has_ports_for_its_compute_network(record: Record) -> None:
    """A plan that names a server needs no more: its NICs are known, or the usual ones are chosen with the order."""
    server = part_records.server(record)
    assert (server.compute is None) == (record.id in WITHOUT_NICS)


@pytest.mark.parametrize("record", of_kind("gpu"))
def test_every_gpu_that_is_sold_in_servers_has_a_default(record: Record) -> None:
    """One server is taken when a plan names none; it can be counted: GPUs and their ports are known."""
    servers = [each for each in CATALOG.records_where("server", "gpu", record.id) if each.value("default")]
    assert (record.id not in NOT_SOLD_IN_SERVERS) == len(servers)
    for server in servers:
        assert server.value("gpus")
        assert server.value("nics")
        assert server.value("port_gbps")


def test_most_sold_switches_publish_their_maximum_power_and_an_order_number() -> None:
    """What a quote of power and an order rest on: a maximum that a source states for 45 switches, a number for 50."""
    sold = [record for record in CATALOG.all("switch") if record.value("vendor") != GENERIC]
    stated = [
        record.id for record in sold if record.value("power") and record.data["power"]["source"] != ["unverified"]
    ]
    assert len(stated) >= 45
    assert sum(bool(record.value("part_number")) for record in sold) >= 50


def test_power_of_a_box_is_estimated_for_all_its_switches() -> None:
    """Two switches of 36 x 800G in one box carry 57.6 Tb/s, and take what 57.6 Tb/s take."""
    ports = {"protocol": "infiniband", "ports": 36, "port_gbps": 800, "ports_per_cage": 2, "cage": "osfp"}
    box, one = (
        part_records.switch(Record("switch", "box", Source("box", "", {**ports, "switches_per_unit": count}, {}, {})))
        for count in (2, 1)
    )
    assert (box.power_w.value, one.power_w.value) == (200 + 3053, 200 + 1527)
