"""Machines on a fabric that the plan does not list: storage servers, management ports, leaves of other fabrics.

Storage servers are on the storage fabric, leaves of topology `access` on the fabric that they are linked into, and
management ports of switches, PDUs and machines on the out-of-band fabric. Switches of an out-of-band fabric are managed
in-band.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bomgen.catalog.parts import ANY
from bomgen.core.provenance import Figure, ceil_div, sum_of
from bomgen.fabric.types import Fabric, Tier
from bomgen.plan.types import OUT_OF_BAND, PDUS, STORAGE, SWITCHES, FabricPlan, Hosts, Plan, Plug
from bomgen.site.racks import units_bought
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.storage import StoredUnits

RACK_DEVICES = "NVLink switches and power shelves"
"""Devices of a rack-scale system with separate management ports."""


class OtherFabric(NamedTuple):
    """Another fabric of the cluster, as built so far."""

    plan: FabricPlan
    fabric: Fabric
    hosts: tuple[Hosts, ...]


boxes = ceil_div("boxes", "boxes", "switches", "switches_per_unit")
"""Chassis to buy where one chassis contains several switches."""
sum_of_boxes = sum_of("sum_of_boxes", "boxes", "boxes", "more_boxes")
"""Switches of several tiers and fabrics."""


def boxes_of(tier: Tier) -> Figure:
    """Return the units bought and racked for a tier: its switches, or boxes that hold several switches each."""
    shared = tier.switch.switches_per_unit
    return boxes(tier.count, shared) if shared.value > 1 else tier.count


def hosts_on_fabric(
    fabric: FabricPlan, plan: Plan, sizing: Sizing, others: Sequence[OtherFabric], pdus: Figure | None
) -> Iterator[Hosts]:
    """Yield the machines on a fabric other than its servers and the hosts that the plan lists, kind by kind."""
    units = sizing.stored.units if sizing.stored else ()
    for part in units if fabric.role == STORAGE else ():
        if part.of.ports:
            yield Hosts(part.of.identity.name, part.number, part.of.ports, plug=part.of.plug)
    for other in others:
        if other.plan.uplink and other.plan.uplink.fabric == fabric.name:
            leaf = other.fabric.tiers[-1]
            ports = leaf.up or other.plan.uplink.ports
            # Uplinks take the cages of the fastest ports.
            fastest = max(leaf.switch.groups, key=lambda group: group.port_gbps.value)
            plug = None if fastest.cage == ANY else Plug(fastest.cage, fastest.ports_per_cage, fastest.port_gbps)
            yield Hosts(f"{other.plan.name} leaf", leaf.count, ports, None, plug, leaves_of=other.plan.name)
    if fabric.role == OUT_OF_BAND:
        yield from _management_hosts(fabric, units, others, pdus)
        server = plan.cluster.server
        if server and server.rack_bmc_ports and sizing.servers:
            yield Hosts(RACK_DEVICES, units_bought(sizing.servers, server), server.rack_bmc_ports)


def _management_hosts(
    fabric: FabricPlan, units: Sequence[StoredUnits], others: Sequence[OtherFabric], pdus: Figure | None
) -> Iterator[Hosts]:
    switches: Figure | None = None
    for other in others:
        for tier in other.fabric.tiers if other.plan.role != OUT_OF_BAND else ():
            switches = boxes_of(tier) if switches is None else sum_of_boxes(switches, boxes_of(tier))
    if switches and fabric.switch_ports:
        yield Hosts(SWITCHES, switches, fabric.switch_ports, managed=SWITCHES)
    if pdus and fabric.pdu_ports:
        yield Hosts(PDUS, pdus, fabric.pdu_ports, managed=PDUS)
    listed = {hosts.name: hosts for other in others for hosts in other.plan.hosts if not hosts.customers}
    for name in {hosts.name for hosts in fabric.hosts} & listed.keys():
        del listed[name]
    if fabric.machine_ports is None:
        return
    for hosts in listed.values():
        yield Hosts(hosts.name, hosts.pieces, fabric.machine_ports)
    for part in units:
        ports = fabric.switch_ports if part.of.switch_ports else part.of.bmc_ports or fabric.machine_ports
        if ports:
            yield Hosts(part.of.identity.name, part.number, ports)
