"""The ports of a switch at the rates of the links that they carry, and the cages that hold them."""

from __future__ import annotations

from fractions import Fraction

from bomgen.catalog.parts import PortGroup, Switch
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, formula

MAX_LANES = 8
"""A port is split into at most eight links: the lanes of the widest cages (OSFP, QSFP-DD)."""


def carries_rate(group: PortGroup, rate: Figure) -> bool:
    """Whether ports of a group can carry links of a rate, whole or split."""
    return bool(not _lacks_rate(group, rate) and rate.value <= group.port_gbps.value <= rate.value * MAX_LANES)


def _lacks_rate(group: PortGroup, rate: Figure) -> bool:
    """Whether the record says that ports of a group carry no links of a rate."""
    mode = group.modes.get(int(rate.value))
    return mode is not None and mode.value == 0


def radix(switch: Switch, rate: Figure) -> Figure:
    """The ports that a switch has at a link rate.

    Raises Infeasible when it has none.
    """
    found: Figure | None = None
    for group in switch.groups:
        if carries_rate(group, rate):
            ports = group_radix(group, rate)
            found = ports if found is None else sum_of_ports(found, ports)
    if found is None:
        fastest = max(group.port_gbps.value for group in switch.groups)
        why = f"its fastest carry {fastest} Gb/s"
        if any(_lacks_rate(group, rate) for group in switch.groups):
            why = "its `modes` say 0"
        message = f"{switch.identity.name} has no port for links of {rate.value} Gb/s; {why}"
        raise Infeasible(message, because=rate, rule="no-port")
    return found


def group_radix(group: PortGroup, rate: Figure) -> Figure:
    """The links that the ports of one group carry at a rate."""
    mode = group.modes.get(int(rate.value))
    if mode is not None:
        return mode
    if group.split.value == 1 or group.port_gbps.value == rate.value:
        return group.ports
    return ports_when_split(group.ports, group.split, group.port_gbps, rate)


def links_in_cage(links: int, cages: int) -> int | Fraction:
    """The links of a rate that one cage carries, of so many in all of a switch: whole ones, where there are any.

    A rate that fewer links have than there are cages takes several of these for each: a cage has a share below one.
    """
    return links // cages or Fraction(links, cages)


def links_per_cage(group: PortGroup, rate: Figure) -> int:
    """The links of a rate plugged into one cage of a group; one also where it takes several cages."""
    cages = Fraction(group.ports.value, group.ports_per_cage.value)
    return max(int(group_radix(group, rate).value / cages), 1)


@formula("ports")
def ports_when_split(ports: int, split: int, port_gbps: int, link_gbps: int) -> int:
    """Links of a switch whose ports are split as far as the rate allows."""
    return ports * min(split, port_gbps // link_gbps)


@formula("ports")
def sum_of_ports(ports: int, more_ports: int) -> int:
    """Ports of two groups of a switch, or of machines of two kinds."""
    return ports + more_ports


def shared_cages(switch: Switch, down_gbps: Figure, up_gbps: Figure) -> Figure | None:
    """The cages whose ports carry links down or up as wanted; None when each kind has ports of its own.

    Where both run at one rate a cage may hold some of each, so that every port stands for itself.

    Where only some groups of a switch carry both, the kinds are kept apart: fewer ports, but never too many.
    """
    if down_gbps.value == up_gbps.value:
        return radix(switch, down_gbps)
    shared = [group for group in switch.groups if carries_rate(group, down_gbps) and carries_rate(group, up_gbps)]
    if not shared:
        return None
    group = shared[0]
    return cages_of(group.ports, group.ports_per_cage)


@formula("cages")
def cages_of(ports: int, ports_per_cage: int) -> int:
    """Cages of a switch."""
    return ports // ports_per_cage
