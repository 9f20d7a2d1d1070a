"""Bandwidth per GPU of a server.

The share of the network is compared with PCIe (raw, one way: two A100 at 256 Gb/s share a NIC of 400) and with the
GPU's scale-up links, for which data sheets add both directions.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Origin, Reference, formula
from bomgen.core.units import BITS_A_BYTE, GIGA

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
