"""Figures that a maker does not publish, estimated by rules fitted to the parts of the catalogue that publish them.

Power of NICs and modules from their rate, of switches from their ports and typical power, of servers from their GPUs;
height of switches from their cages; weight of devices from the height, and power of storage systems and appliances;
usable capacity of storage from its drives, and its bandwidth from its ports; one management port of a server.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil

from bomgen.catalog.files import built_in_assumption
from bomgen.catalog.parts import GENERIC, Gpu, Server, StorageSystem
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, formula, minimum, product
from bomgen.core.units import BITS_A_BYTE, GIGA

GBPS_PER_STEP = 100
"""The rate by which the power of NICs and modules rises."""
GBPS_PER_TBPS = 1000
FAST_PORT_GBPS = 200
"""Rate of the fastest port from which on the power of a switch is estimated from that of similar ones."""
GPUS_OF_WHOLE_HOST = 4
"""GPUs from which on a server has all of the other parts that the estimate of its power counts."""

rate_of_ports = product("rate_of_ports", "Gb/s", "ports", "port_gbps")
"""Total rate of the ports of a NIC."""
weight_of_height = product("weight_of_height", "kg", "height_u", "kg_per_unit")
"""Weight of a device, estimated from its height."""
power_of_height = product("power_of_height", "W", "height_u", "watts_per_unit")
"""Maximum power of a storage system or appliance, estimated from its height."""
usable_capacity = product("usable_capacity", "bytes", "raw_capacity_bytes", "usable_share")
"""Usable capacity of a storage system, estimated from that of its drives."""
write_of_read = product("write_of_read", "bytes/s", "read", "write_to_read")
"""Write bandwidth of a storage system, estimated from its read bandwidth."""
power_of_trays = product("power_of_trays", "W", "trays", "tray_w")
"""Maximum power of a rack-scale system, estimated from the power of its trays."""
power_within_supplies = minimum("power_within_supplies", "W", "power_w", "supply_capacity_w")
"""Maximum power of a machine, at most what its power supplies carry."""


@formula("W")
def power_from_rate(total_gbps: int, base_w: int, per_100g: int) -> int:
    """Maximum power of a NIC or module, estimated from its rate."""
    return ceil(base_w + Fraction(total_gbps, GBPS_PER_STEP) * per_100g)


@formula("W")
def power_of_server(gpus: int, gpu_power_w: int, to_gpus: Fraction, others_w: int) -> int:
    """Maximum power of a server, estimated from the power of its GPUs and of its other parts."""
    return ceil(gpus * gpu_power_w * to_gpus + Fraction(others_w * min(gpus, GPUS_OF_WHOLE_HOST), GPUS_OF_WHOLE_HOST))


@formula("W")
def power_from_capacity(capacity_gbps: int, base_w: int, per_tbps: int) -> int:
    """Maximum power of a switch, estimated from the bandwidth of its ports."""
    return ceil(base_w + Fraction(capacity_gbps, GBPS_PER_TBPS) * per_tbps)


@formula("W")
def power_from_typical(typical_w: int, to_typical: Fraction, of_capacity_w: int) -> int:
    """Maximum power of a switch, estimated from its typical power and the bandwidth of its ports."""
    return ceil((typical_w * to_typical + of_capacity_w) / 2)


@formula("W")
def power_with_gpus(power_w: Fraction, gpus: int, fitted: int, gpu_power_w: Fraction) -> Fraction:
    """Maximum power of a chassis for cards with another number of them."""
    return power_w + (fitted - gpus) * gpu_power_w


@formula("kg")
def weight_with_gpus(weight_kg: Fraction, gpus: int, fitted: int, gpu_weight_kg: Fraction) -> Fraction:
    """Weight of a chassis for cards with another number of them."""
    return weight_kg + (fitted - gpus) * gpu_weight_kg


@formula("NICs")
def nics_with_gpus(nics: int, gpus: int, fitted: int) -> int:
    """NICs of a chassis for cards with another number of them, as many for each GPU."""
    return ceil(Fraction(nics * fitted, gpus))


@formula("bytes/s")
def read_of_ports(total_gbps: int, read_share: Fraction) -> Fraction:
    """Read bandwidth of a storage system, estimated from the rate of its ports."""
    return Fraction(total_gbps * GIGA, BITS_A_BYTE) * Fraction(read_share)


@formula("U")
def rack_units_of_cages(cages: Fraction, cages_per_unit: int) -> int:
    """Height of a switch, estimated from the cages that its front holds."""
    return ceil(cages / cages_per_unit)


def estimate_power_of_rate(kind: str, rate_gbps: Figure) -> Figure:
    """Return the unpublished power [W] of a part of kind `nic` or `module`, with its range."""
    base, slope = (built_in_assumption(f"{kind}-power-{name}") for name in ("base", "per-100g"))
    return _with_range(kind, power_from_rate(rate_gbps, base, slope))


def estimate_power_of_switch(
    capacity_gbps: Figure, fastest_gbps: int, typical_w: Figure | None, supply_capacity_w: Figure | None
) -> Figure:
    """Return the unpublished maximum power [W] of a switch, with its range."""
    slow = "" if fastest_gbps >= FAST_PORT_GBPS else "-slow"
    base, per_tbps = (built_in_assumption(f"switch-power-{name}{slow}") for name in ("base", "per-tbps"))
    power = power_from_capacity(capacity_gbps, base, per_tbps)
    if typical_w:
        power = power_from_typical(typical_w, built_in_assumption(f"switch-power-to-typical{slow}"), power)
    return _within(_with_range("switch", power), supply_capacity_w)


def estimate_weight(kind: str, rack_units: Figure) -> Figure:
    """Return the weight [kg] of a `server`, `switch`, `storage` or `appliance` of a height, with its range."""
    return weight_of_height(rack_units, _ranged(f"{kind}-weight-per-unit"))


def estimate_unpublished(server: Server, gpu: Gpu) -> Server:
    """Return the server with an estimated maximum power [W] and weight [kg] where none is published.

    Power needs that of the GPU, weight the height of the server.
    """
    if server.power_w is None and gpu.power_w:
        form = "-liquid" if server.liquid_cooled else "-cards" if server.gpu_slots else ""
        to_gpus, others = (built_in_assumption(f"server-power-{name}") for name in (f"to-gpus{form}", "others"))
        power = _with_range("server", power_of_server(server.gpus, gpu.power_w, to_gpus, others))
        whole = power_of_trays(server.trays, power) if server.trays else _within(power, server.supply_capacity_w)
        server = server._replace(power_w=whole)
    if server.weight_kg is None and server.rack_units and not server.rack_scale:
        server = server._replace(weight_kg=estimate_weight("server", server.rack_units))
    return server


def with_gpus(server: Server, gpu: Gpu, fitted: Figure) -> Server:
    """Return a chassis for cards with `fitted` GPUs, which are lines of their own on the bill.

    Its power [W] and weight [kg] follow the GPUs, and so do the NICs that are selected with its order.
    """
    identity, height = server.identity, server.rack_units
    chassis = identity.name.partition(",")[0]
    if identity.vendor == GENERIC and height:
        chassis = message("generic-server", units=height.value)
    name = message("server-with-gpus", chassis=chassis, gpus=fitted.value, gpu=gpu.identity.name)
    power, weight, compute = server.power_w, server.weight_kg, server.compute
    if power and gpu.power_w:
        power = power_with_gpus(power, server.gpus, fitted, gpu.power_w)
    if weight:
        weight = weight_with_gpus(weight, server.gpus, fitted, built_in_assumption("gpu-card-weight"))
    if compute and not server.nics_included:
        compute = replace(compute, count=nics_with_gpus(compute.count, server.gpus, fitted))
    return server._replace(
        identity=identity._replace(name=name),
        gpus=fitted,
        gpus_included=False,
        power_w=power,
        weight_kg=weight,
        compute=compute,
    )


def usual_management_ports(server: Server) -> Figure | None:
    """Return the usual number of management ports of a catalogue server; None for one that a plan describes."""
    return None if server.identity.inline else built_in_assumption("server-management-ports")


def estimate_from_height(kind: str, rack_units: Figure | None) -> tuple[Figure | None, Figure | None]:
    """Return the power [W] and weight [kg] of a `storage` or `appliance` of a height, with their ranges."""
    if rack_units is None:
        return None, None
    return power_of_height(rack_units, _ranged(f"{kind}-power-per-unit")), estimate_weight(kind, rack_units)


def estimate_storage(system: StorageSystem, raw_bytes: Figure | None) -> StorageSystem:
    """Return the storage system with estimates where its vendor publishes nothing and what they rest on is known.

    Usable capacity [bytes] is that of drives, read bandwidth [bytes/s] goes through ports, write bandwidth follows it.
    """
    capacity, read, write, ports = system.capacity_bytes, system.read, system.write, system.ports
    power_w, weight_kg = estimate_from_height("storage", system.rack_units)
    if capacity is None and raw_bytes:
        capacity = usable_capacity(raw_bytes, _ranged("storage-usable-share"))
    if read is None and ports and ports.value and system.port_gbps:
        read = read_of_ports(rate_of_ports(ports, system.port_gbps), _ranged("storage-read-share"))
    if write is None and read:
        write = write_of_read(read, _ranged("storage-write-to-read"))
    return system._replace(
        capacity_bytes=capacity,
        read=read,
        write=write,
        power_w=system.power_w or power_w,
        weight_kg=system.weight_kg or weight_kg,
    )


def _with_range(kind: str, power_w: Figure) -> Figure:
    """Return the estimated power of a part of a kind, with the range that holds nine of ten published ones."""
    low, high = (built_in_assumption(f"{kind}-power-{end}") for end in ("low", "high"))
    return power_w.between(power_w.value * low.value, power_w.value * high.value)


def _within(power_w: Figure, supply_capacity_w: Figure | None) -> Figure:
    return power_within_supplies(power_w, supply_capacity_w) if supply_capacity_w else power_w


def _ranged(id: str) -> Figure:
    """Return the value of an assumption, between those of its low and its high end."""
    low, usual, high = (built_in_assumption(name) for name in (f"{id}-low", id, f"{id}-high"))
    return usual.between(low.value, high.value)
