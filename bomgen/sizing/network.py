"""The network of a GPU of the plan's cluster."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bomgen.catalog.gpu_bandwidth import BITS_A_BYTE, network_bandwidth
from bomgen.core.provenance import Figure, formula
from bomgen.core.units import GIGA
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import COMPUTE, Plan


def network_of_gpu(plan: Plan, attached: Mapping[str, Attachment], gpus_per_server: Figure) -> Figure | None:
    """A GPU's share of the compute fabric, else of its server's own NICs [Gb/s, one way]; None: neither is known."""
    for fabric in plan.fabrics:
        if fabric.role == COMPUTE and fabric.name in attached:
            found = attached[fabric.name]
            return network_bandwidth(found.ports_per_server, found.port_gbps, gpus_per_server)
    own = plan.cluster.server.compute if plan.cluster.server else None
    return network_bandwidth(own.count, own.gbps, gpus_per_server) if own and own.gbps else None


@formula("bytes/s")
def bytes_of_network(gbps: Fraction) -> Fraction:
    """Bandwidth of a link in bytes."""
    return Fraction(gbps * GIGA) / BITS_A_BYTE
