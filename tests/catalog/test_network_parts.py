"""Switches, NICs, modules and cables: what a quote needs of every one, and the rules where nobody publishes it."""

# ruff: noqa: SIM300

from __future__ import annotations

from fractions import Fraction
from statistics import median
from typing import Any

import pytest

import bomgen
from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.parts import Switch
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Derived, Figure

CATALOG = Catalog()
PLANS_WITHOUT_OPTICS = 4
"""Switches that may lack real optics, of those that the catalogue has."""
UNUSABLE = {
    "cs8500",  # no longer sold; its cards are not known
    "huawei-xh16800-x4",  # the cards are not published, here and in the next two
    "huawei-xh16800-x8",
    "huawei-xh16800-x16",
}
"""Switches without real optics."""
OUT_OF_BAND_GBPS = 1
NICS = {
    ("ethernet", 800): "thor-ultra",
    ("ethernet", 400): "cx7-400-osfp",
    ("ethernet", 200): "cx7-2x200",
    ("ethernet", 100): "cx6dx-2x100",
    ("ethernet", 25): "cx6lx-2x25",
    ("ethernet", 10): "intel-x710-da2",
    ("infiniband", 800): "cx8-800",
    ("infiniband", 400): "cx7-400-osfp",
    ("infiniband", 200): "cx6-hdr",
    ("infiniband", 100): "cx5-edr",
}
"""A NIC with ports of each protocol and rate."""


def of_kind(kind: str) -> list[Any]:
    """The records of a kind, as parameters of a test."""
    return [pytest.param(record, id=record.id) for record in CATALOG.all(kind)]


def is_estimate(figure: Figure | None) -> bool:
    """Whether a rule of the catalogue gave the figure."""
    return figure is not None and isinstance(figure.origin, Derived)


@pytest.mark.parametrize("record", of_kind("nic"))
def test_every_nic_has_power(record: Record) -> None:
    """As published, else by the rule with its range."""
    power = part_records.nic(record).power_w
    assert power
    assert is_estimate(power) is (record.value("power") is None) is (power.bounds is not None)


@pytest.mark.parametrize("record", of_kind("transceiver"))
def test_every_module_has_power(record: Record) -> None:
    """As published, of the module that it replaces, else by the rule with its range."""
    power = part_records.module(record, CATALOG).power_w
    assert power
    assert is_estimate(power) is (power.bounds is not None)


def rule(kind: str, gbps: int) -> float:
    """The power of a part of a rate by the rule, calculated here."""
    base, slope = (float(CATALOG.assumption(f"{kind}-power-{name}").value) for name in ("base", "per-100g"))
    return base + slope * gbps / 100


@pytest.mark.parametrize("kind", ["nic", "module"])
def test_published_powers_are_in_the_range_of_the_rule(kind: str) -> None:
    """The rule is fitted to them: their median is within a tenth of it, and all are in its range.

    Only cards with passive cables and retimed modules count: a DPU has processors, a linear module no DSP.
    """
    low, high = (float(CATALOG.assumption(f"{kind}-power-{end}").value) for end in ("low", "high"))
    found = []
    for record in CATALOG.all("transceiver" if kind == "module" else "nic"):
        power = record.figure("power", "W")
        of_rule = record.value("name").startswith("BlueField") or record.value("electronics") == "lpo"
        if power is None or of_rule or record.data["power"]["source"] == ["unverified"]:
            continue
        if kind == "module":
            rate = part_records.module(record, CATALOG).rate_gbps.value
        else:
            rate = record.value("ports") * record.value("port_gbps")
        found.append(float(power.value) / rule(kind, rate))
    assert len(found) >= 3
    assert 0.9 <= median(found) <= 1.1
    assert low <= min(found) <= max(found) <= high


def test_estimated_weights_are_those_of_the_catalogue() -> None:
    """What stands in for a weight that nobody publishes follows from the switches that publish one."""
    found = [
        Fraction(weight.value) / height.value
        for record in CATALOG.all("switch")
        if (weight := record.figure("weight", "kg")) and (height := record.figure("rack_units", "U"))
    ]
    stated = [float(CATALOG.assumption(f"switch-weight-per-unit{end}").value) for end in ("", "-low", "-high")]
    assert stated == [round(median(found)), round(float(min(found)), 1), round(float(max(found)), 1)]


@pytest.mark.parametrize("record", of_kind("switch"))
def test_every_switch_has_ports_cage_height_power_and_weight(record: Record) -> None:
    """Published, else by rule; none is a hole that stops a plan."""
    switch = part_records.switch(record)
    assert switch.rack_units
    assert switch.weight_kg
    assert switch.power_w
    assert all(group.ports.value and group.port_gbps.value for group in switch.groups)
    for key, figure in (("rack_units", switch.rack_units), ("weight", switch.weight_kg)):
        assert is_estimate(figure) is (record.value(key) is None), key


def plan_text(switch: Switch, gbps: int) -> str:
    """A small plan with a switch, whose servers have NICs of a rate."""
    start, name = "bomgen: 1\nname: t\n", switch.identity.id
    if gbps == OUT_OF_BAND_GBPS:
        return f"{start}cluster: {{gpu: h100-sxm, servers: 8}}\nfabrics:\n  out_of_band: {{switch: {name}}}\n"
    server = f"{{name: S, gpu: h100-sxm, gpus: 8, nics: 8, nic: {NICS[(str(switch.protocol), gbps)]}}}"
    cluster = f"{{gpu: h100-sxm, servers: 4, server: {server}}}"
    return f"{start}cluster: {cluster}\nfabrics:\n  compute: {{switch: {name}, topology: fat-tree}}\n"


def rates(switch: Switch) -> list[int]:
    """The rates of a switch's links that a NIC has, the fastest first."""
    found = {
        int(group.port_gbps.value) // parts
        for group in switch.groups
        for parts in range(1, int(group.split.value) + 1)
        if int(group.port_gbps.value) % parts == 0
    }
    found |= {rate for group in switch.groups for rate, links in group.modes.items() if links.value}
    known = (rate for rate in found if rate == OUT_OF_BAND_GBPS or (switch.protocol, rate) in NICS)
    return sorted(known, reverse=True)


def has_real_optics(switch: Switch, folder: Any) -> bool:
    """Whether a small plan with the switch names real parts for all its links, at one of its rates."""
    for gbps in rates(switch):
        file = folder / f"{switch.identity.id}-{gbps}.yaml"
        file.write_text(plan_text(switch, gbps), "utf-8")
        try:
            result = bomgen.build(file)
        except PlanErrors:
            continue
        if not {"no-part-known", "generic"} & {problem.rule for problem in result.warnings}:
            return True
    return False


@pytest.mark.parametrize("record", of_kind("switch"))
def test_a_plan_with_the_switch_has_real_optics(record: Record, tmp_path: Any) -> None:
    """No link of a small plan is without a known part, and none has a placeholder."""
    assert has_real_optics(part_records.switch(record), tmp_path) is (record.id not in UNUSABLE)


def test_few_switches_lack_real_optics() -> None:
    """All but four of the catalogue's switches can be quoted with the optics of their links."""
    assert len(UNUSABLE) <= PLANS_WITHOUT_OPTICS
    assert UNUSABLE <= {record.id for record in CATALOG.all("switch")}
