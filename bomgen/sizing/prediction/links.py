"""The links of a GPU that a prediction counts with: from the plan's compute fabric, its server and the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bomgen.catalog.gpu_bandwidth import network_bandwidth
from bomgen.core.provenance import formula
from bomgen.core.units import GIGA
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import COMPUTE, Plan
from bomgen.sizing.prediction.predict import Links
from bomgen.sizing.training.parallelism import SERVER_GPUS

BITS_A_BYTE = 8


def links_of_gpu(plan: Plan, attached: Mapping[str, Attachment]) -> Links | None:
    """The links of a GPU of the plan's cluster; None where the GPU has none that are known."""
    gpu, server = plan.cluster.gpu, plan.cluster.server
    gpus = server.gpus if server else SERVER_GPUS
    assumed = plan.training.network if plan.training else None
    found = next((attached[each.name] for each in plan.fabrics if each.role == COMPUTE and each.name in attached), None)
    network = network_bandwidth(found.ports_per_server, found.port_gbps, gpus) if found else assumed
    if network is None:
        return None
    outward = bytes_of_network(network)
    if gpu.scale_up:
        domain = domain_of_rack(gpus, server.trays) if server and server.trays else gpus
        return Links(one_way(gpu.scale_up), outward, domain)
    return Links(bytes_of_network(gpu.pcie_gbps), outward, gpus) if gpu.pcie_gbps else None


@formula("bytes/s")
def bytes_of_network(gbps: Fraction) -> Fraction:
    """Bandwidth of a link in bytes."""
    return Fraction(gbps * GIGA) / BITS_A_BYTE


@formula("bytes/s")
def one_way(scale_up: int) -> Fraction:
    """Scale-up bandwidth one way; data sheets add both directions."""
    return Fraction(scale_up) / 2


@formula("GPUs")
def domain_of_rack(gpus_per_tray: int, trays: int) -> int:
    """GPUs of a rack whose scale-up links connect all of them."""
    return gpus_per_tray * trays
