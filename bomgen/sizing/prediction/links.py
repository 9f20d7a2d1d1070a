"""The links of a GPU that a prediction counts with: from the plan's compute fabric, its server and the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bomgen.core.provenance import formula, product
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import COMPUTE, Plan
from bomgen.sizing.network import bytes_of_network, network_of_gpu
from bomgen.sizing.prediction.predict import Links
from bomgen.sizing.training.parallelism import SERVER_GPUS


def links_of_gpu(plan: Plan, attached: Mapping[str, Attachment]) -> Links | None:
    """The links of a GPU of the plan's cluster; None where the GPU has none that are known."""
    gpu, server = plan.cluster.gpu, plan.cluster.server
    gpus = server.gpus if server else SERVER_GPUS
    switched = any(each.role == COMPUTE and each.name in attached for each in plan.fabrics)
    assumed = plan.training.network if plan.training else None
    network = network_of_gpu(plan, attached, gpus) if switched else assumed
    if network is None:
        return None
    outward = bytes_of_network(network)
    if gpu.scale_up:
        domain = domain_of_rack(gpus, server.trays) if server and server.trays else gpus
        return Links(one_way(gpu.scale_up), outward, domain)
    return Links(bytes_of_network(gpu.pcie_gbps), outward, gpus) if gpu.pcie_gbps else None


@formula("bytes/s")
def one_way(scale_up: int) -> Fraction:
    """Scale-up bandwidth one way; data sheets add both directions."""
    return Fraction(scale_up) / 2


domain_of_rack = product("domain_of_rack", "GPUs", "gpus_per_tray", "trays")
"""GPUs of a rack whose scale-up links connect all of them."""
