"""Figures that a maker does not publish, estimated by rules fitted to the parts of the catalogue that publish them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.catalog.files import built_in_assumption
from bomgen.core.provenance import Figure, formula, product

GBPS_PER_STEP = 100
"""The rate by which the power of NICs and modules rises."""

rate_of_ports = product("rate_of_ports", "Gb/s", "ports", "port_gbps")
"""Total rate of the ports of a NIC."""


@formula("W")
def power_from_rate(total_gbps: int, base_w: int, per_100g: int) -> int:
    """Maximum power of a NIC or module, estimated from its rate."""
    return ceil(base_w + Fraction(total_gbps, GBPS_PER_STEP) * per_100g)


def estimate_power_of_rate(kind: str, rate_gbps: Figure) -> Figure:
    """Return the power [W] of a part of kind `nic` or `module`, which nobody publishes, with its range."""
    base, slope, low, high = (
        built_in_assumption(f"{kind}-power-{name}") for name in ("base", "per-100g", "low", "high")
    )
    power = power_from_rate(rate_gbps, base, slope)
    return power.between(power.value * low.value, power.value * high.value)


@formula("U")
def rack_units_of_cages(cages: Fraction, cages_per_unit: int) -> int:
    """Height of a switch, estimated from the cages that its front holds."""
    return ceil(cages / cages_per_unit)


weight_of_height = product("weight_of_height", "kg", "height_u", "kg_per_unit")
"""Weight of a switch, estimated from its height."""


def estimate_rack_units(cages: Figure) -> Figure:
    """Return the height [U] of a switch with a number of cages, which nobody publishes."""
    return rack_units_of_cages(cages, built_in_assumption("switch-cages-per-unit"))


def estimate_weight(rack_units: Figure) -> Figure:
    """Return the weight [kg] of a switch of a height, which nobody publishes, with its range."""
    usual, low, high = (built_in_assumption(f"switch-weight-per-unit{end}") for end in ("", "-low", "-high"))
    return weight_of_height(rack_units, usual.between(low.value, high.value))
