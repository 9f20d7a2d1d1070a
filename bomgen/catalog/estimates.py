"""Figures that a maker does not publish, estimated by rules fitted to the parts of the catalogue that publish them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.catalog.files import built_in_assumption
from bomgen.core.provenance import Figure, formula, product
from bomgen.core.units import GIGA

GBPS_PER_STEP = 100
"""The rate by which the power of NICs and modules rises."""
BITS_A_BYTE = 8

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
"""Weight of a device, estimated from its height."""


def estimate_rack_units(cages: Figure) -> Figure:
    """Return the height [U] of a switch with a number of cages, which nobody publishes."""
    return rack_units_of_cages(cages, built_in_assumption("switch-cages-per-unit"))


def estimate_weight(rack_units: Figure) -> Figure:
    """Return the weight [kg] of a switch of a height, which nobody publishes, with its range."""
    usual, low, high = (built_in_assumption(f"switch-weight-per-unit{end}") for end in ("", "-low", "-high"))
    return weight_of_height(rack_units, usual.between(low.value, high.value))


power_of_height = product("power_of_height", "W", "height_u", "watts_per_unit")
"""Maximum power of a storage system or appliance, estimated from its height."""


def estimate_from_height(kind: str, rack_units: Figure | None) -> tuple[Figure | None, Figure | None]:
    """Return the power [W] and weight [kg] of a `storage` or `appliance` of a height, with their ranges."""
    if rack_units is None:
        return None, None
    power, weight = (built_in_assumption(f"{kind}-{name}-per-unit") for name in ("power", "weight"))
    return power_of_height(rack_units, power), weight_of_height(rack_units, weight)


usable_capacity = product("usable_capacity", "bytes", "raw_capacity_bytes", "usable_share")
"""Usable capacity of a storage system, estimated from that of its drives."""
write_of_read = product("write_of_read", "bytes/s", "read", "write_to_read")
"""Write bandwidth of a storage system, estimated from its read bandwidth."""


@formula("bytes/s")
def read_of_ports(total_gbps: int, read_share: Fraction) -> Fraction:
    """Read bandwidth of a storage system, estimated from the rate of its ports."""
    return Fraction(total_gbps * GIGA, BITS_A_BYTE) * Fraction(read_share)


def estimate_capacity(raw_bytes: Figure | None) -> Figure | None:
    """Return the usable capacity [bytes] of drives, with its range; None for unknown drives."""
    return usable_capacity(raw_bytes, built_in_assumption("storage-usable-share")) if raw_bytes else None


def estimate_read(ports: Figure | None, port_gbps: Figure | None) -> Figure | None:
    """Return the read bandwidth [bytes/s] through ports, with its range; None without ports."""
    if not ports or not ports.value or not port_gbps:
        return None
    return read_of_ports(rate_of_ports(ports, port_gbps), built_in_assumption("storage-read-share"))


def estimate_write(read: Figure | None) -> Figure | None:
    """Return the write bandwidth [bytes/s] of a storage system with a read bandwidth, with its range."""
    return write_of_read(read, built_in_assumption("storage-write-to-read")) if read else None
