"""Network bandwidth of a server and of a GPU, at the rates of their ports as cabled.

A port is as fast as its link, which may be slower than the port. The ports of a purchased NIC share its PCIe slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bomgen.catalog.servers import BITS_A_BYTE, network_bandwidth
from bomgen.core.provenance import Figure, formula
from bomgen.core.units import GIGA
from bomgen.fabric.declaration import SERVER_LEAF
from bomgen.plan import fabric_demand
from bomgen.plan.attachment import Attachment
from bomgen.plan.types import COMPUTE, Cluster, FabricPlan, Plan


def network_of_gpu(plan: Plan, attached: Mapping[str, Attachment], gpus_per_server: Figure) -> Figure | None:
    """A GPU's share of the compute fabric, else of its server's own NICs [Gb/s, one way]; None: neither is known."""
    for fabric in plan.fabrics:
        if fabric.role == COMPUTE and fabric.name in attached:
            found = attached[fabric.name]
            return network_bandwidth(found.ports_per_server, port_rate(plan.cluster, fabric, found), gpus_per_server)
    own = plan.cluster.server.compute if plan.cluster.server else None
    return network_bandwidth(own.count, own.gbps, gpus_per_server) if own and own.gbps else None


def port_rate(cluster: Cluster, fabric: FabricPlan, attached: Attachment) -> Figure:
    """Return the rate of a server's port on a fabric as it is cabled [Gb/s]."""
    return through_slot(cluster, attached, fabric_demand.rates(fabric, attached)[SERVER_LEAF.name])


def through_slot(cluster: Cluster, attached: Attachment, link_gbps: Figure) -> Figure:
    """The rate of a server's port [Gb/s]: that of its link, or its share of the PCIe slot of a purchased NIC."""
    slot = cluster.server.nic_slot_gbps if cluster.server else None
    if attached.bought is None or slot is None:
        return link_gbps
    carried = rate_through_slot(link_gbps, slot, attached.nics_per_server, attached.ports_per_server)
    return carried if carried.value < link_gbps.value else link_gbps


@formula("Gb/s")
def rate_through_slot(link_gbps: int, slot_gbps: int, nics: int, ports: int) -> Fraction:
    """The rate of a port whose NIC shares a PCIe slot among its ports."""
    return min(Fraction(link_gbps), Fraction(slot_gbps * nics, ports))


@formula("bytes/s")
def bytes_of_ports(ports: int, port_gbps: Fraction) -> Fraction:
    """The bandwidth of several ports, in bytes per second."""
    return Fraction(ports * port_gbps * GIGA) / BITS_A_BYTE


@formula("bytes/s")
def bytes_of_network(gbps: Fraction) -> Fraction:
    """Bandwidth of a link in bytes."""
    return Fraction(gbps * GIGA) / BITS_A_BYTE
