"""Figures derived from a server's record: bandwidth per GPU, and what stands in for figures that nobody publishes.

The share of the network is compared with PCIe (raw, one way: two A100 at 256 Gb/s share a NIC of 400) and with the
GPU's scale-up links, for which data sheets add both directions.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.files import built_in_assumption
from bomgen.catalog.parts import Gpu, Server
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Origin, Reference, formula, product
from bomgen.core.units import GIGA

BITS_A_BYTE = 8
_PCIE = re.compile(r"PCIe ?(?:Gen ?)?([3-6])(?:\.0)? x([1-9][0-9]?)", re.IGNORECASE)
_GENERATIONS = {3: 8, 4: 16, 5: 32, 6: 64}
"""GT/s per lane by PCIe generation; each transfer is one bit."""


class GpuBandwidth(NamedTuple):
    """Bandwidth of one GPU [Gb/s, one way]; None if unknown."""

    network_gbps: Figure
    pcie_gbps: Figure | None
    scale_up_gbps: Figure | None


@formula("Gb/s", source="PCI-SIG, PCI Express Base Specification: raw rate of the lanes, before encoding and headers")
def pcie_bandwidth(lanes: int, lane_gbps: int) -> int:
    """One-way bandwidth of a PCIe connection."""
    return lanes * lane_gbps


@formula("Gb/s")
def scale_up_bandwidth(scale_up: int) -> Fraction:
    """Scale-up bandwidth one way; data sheets add both directions, in bytes/s."""
    return Fraction(scale_up * BITS_A_BYTE) / (2 * GIGA)


@formula("Gb/s")
def network_bandwidth(ports_per_server: int, link_gbps: int, gpus_per_server: int) -> Fraction:
    """Network bandwidth per GPU of a server."""
    return Fraction(ports_per_server * link_gbps) / gpus_per_server


def parse_pcie(text: str, origin: Origin) -> Figure | None:
    """Return the rate of a PCIe connection such as `PCIe 4.0 x16`, whose text has `origin`; None for other text."""
    match = _PCIE.fullmatch(text.strip())
    if match is None:
        return None
    generation, lanes = (int(group) for group in match.groups())
    document = Reference(f"PCI-SIG, PCI Express Base Specification, revision {generation}.0")
    of = message("pcie-lane", bus=f"PCIe {generation}.0")
    lane = Figure(_GENERATIONS[generation], "Gb/s", Cited(of, (document,), "high"))
    return pcie_bandwidth(Figure(lanes, "count", origin), lane)


def bandwidth_per_gpu(gpu: Gpu, gpus_per_server: Figure, ports_per_server: Figure, link_gbps: Figure) -> GpuBandwidth:
    """Return the bandwidth of one GPU in a server with `ports_per_server` ports on the network."""
    network = network_bandwidth(ports_per_server, link_gbps, gpus_per_server)
    return GpuBandwidth(network, gpu.pcie_gbps, scale_up_bandwidth(gpu.scale_up) if gpu.scale_up else None)


# unpublished figures ------------------------------------------------------------------------------------------------
# Power from that of the GPUs by the form of cooling, weight from the height, and one management port.

POWER, POWER_LIQUID = "server-power-to-gpus", "server-power-to-gpus-liquid"
WEIGHT = "server-weight-per-unit"
MANAGEMENT_PORTS = "server-management-ports"


def estimate_unpublished(server: Server, gpu: Gpu) -> Server:
    """Return the server with an estimated maximum power [W] and weight [kg] where none is published.

    Power needs that of the GPU, weight the height of the server.
    """
    if server.power_w is None and gpu.power_w:
        to_gpus = _estimate(POWER_LIQUID if server.liquid_cooled else POWER)
        server = server._replace(power_w=_power(server, gpu.power_w, to_gpus))
    if server.weight_kg is None and server.rack_units and not server.rack_scale:
        server = server._replace(weight_kg=weight_of_server(server.rack_units, _estimate(WEIGHT)))
    return server


def usual_management_ports(server: Server) -> Figure | None:
    """Return the usual number of management ports of a catalogue server; None for one that a plan describes."""
    return None if server.identity.inline else built_in_assumption(MANAGEMENT_PORTS)


def _estimate(id: str) -> Figure:
    """Return the value of an assumption, between those of its low and its high end."""
    low, usual, high = (built_in_assumption(name) for name in (f"{id}-low", id, f"{id}-high"))
    return usual.between(low.value, high.value)


def _power(server: Server, gpu_power_w: Figure, to_gpus: Figure) -> Figure:
    tray = power_of_server(server.gpus, gpu_power_w, to_gpus)
    return power_of_trays(server.trays, tray) if server.trays else tray


@formula("W")
def power_of_server(gpus: int, gpu_power_w: int, to_gpus: Fraction) -> int:
    """Maximum power of a server, estimated from the power of its GPUs."""
    return ceil(gpus * gpu_power_w * to_gpus)


power_of_trays = product("power_of_trays", "W", "trays", "tray_w")
"""Maximum power of a rack-scale system, estimated from the power of its trays."""
weight_of_server = product("weight_of_server", "kg", "rack_units", "kg_per_unit")
"""Weight of a server, estimated from its height."""
