"""The radix of a switch at the rates of its links, and the cages of its ports."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import PortGroup, Switch
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, floor_div, formula, sum_of

MAX_LANES = 8
"""A port is split into at most eight links: the lanes of the widest cages (OSFP, QSFP-DD)."""
KEPT = 10_000
"""Cached divisions of the ports of a switch: searches request the same ones again and again."""

LANES = {"osfp": 8, "osfp-finned": 8, "osfp-flat": 8, "qsfp-dd": 8, "qsfp112": 4, "qsfp56": 4}
"""Electrical lanes of a cage by its form."""
SLOW_FORM, SLOW_LANE_GBPS = "qsfp56", 50
"""The form of cage whose lanes carry 50 Gb/s at most; no optics turn these into lanes of 100G."""


def carries_rate(group: PortGroup, rate: Figure) -> bool:
    """Return whether ports of a group can carry links of a rate, whole or split."""
    return bool(not _lacks_rate(group, rate) and rate.value <= group.port_gbps.value <= rate.value * MAX_LANES)


def _lacks_rate(group: PortGroup, rate: Figure) -> bool:
    mode = group.modes.get(int(rate.value))
    return mode is not None and mode.value == 0


def radix(switch: Switch, rate: Figure) -> Figure:
    """Return the radix of a switch at a link rate.

    Raises Infeasible when it has no port of that rate.
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
        wrong = f"{switch.identity.name} has no port for links of {rate.value} Gb/s; {why}"
        raise Infeasible(wrong, because=rate, rule="no-port")
    return found


def largest_group(switch: Switch, rate: Figure) -> PortGroup:
    """Return the group with the most of a switch's ports at a rate."""
    groups = [group for group in switch.groups if carries_rate(group, rate)]
    return max(groups, key=lambda group: group_radix(group, rate).value)


def group_radix(group: PortGroup, rate: Figure) -> Figure:
    """Return the links that the ports of one group carry at a rate."""
    mode = group.modes.get(int(rate.value))
    if mode is not None:
        return mode
    if group.split.value == 1 or group.port_gbps.value == rate.value:
        return group.ports
    return ports_when_split(group.ports, group.split, group.port_gbps, rate)


def links_of_port(switch: Switch, rate: Figure) -> int:
    """Return the links of a rate into which a port of the switch's largest group is split."""
    group = largest_group(switch, rate)
    return int(group_radix(group, rate).value // group.ports.value) or 1


def split_otherwise(switch: Switch, rate: Figure) -> Switch | None:
    """Return the switch with its whole ports split as far as the rate allows, or its split ports whole.

    None where it is known whether they can be split, or where they carry only whole links of the rate.
    """
    groups = tuple(_split_group_otherwise(group, rate) for group in switch.groups)
    return None if groups == switch.groups else switch._replace(groups=groups)


def _split_group_otherwise(group: PortGroup, rate: Figure) -> PortGroup:
    most = min(int(group.port_gbps.value // rate.value), MAX_LANES)
    if group.split_known or int(rate.value) in group.modes or most <= 1:
        return group
    links = 1 if min(group.split.value, most) > 1 else most
    return group._replace(split=Figure(links, group.split.unit, group.split.origin))


def limit_to_lanes(switch: Switch, end_cage: str, rate: Figure) -> Switch:
    """Return a switch whose ports carry links to a form of cage, over as many of its lanes as that cage has.

    A port of four lanes of 100G carries one link to an HDR device, which needs four lanes of 50G, and not two.
    """
    lanes = int(rate.value) // SLOW_LANE_GBPS
    if end_cage != SLOW_FORM or lanes < LANES[SLOW_FORM]:
        return switch
    return switch._replace(groups=tuple(_limit_group(group, rate, lanes) for group in switch.groups))


def _limit_group(group: PortGroup, rate: Figure, lanes: int) -> PortGroup:
    if group.cage not in LANES or not carries_rate(group, rate):
        return group
    of_cage = Figure(LANES[group.cage], "lanes", Cited(message("lanes-of-form", form=group.cage), (), "high"))
    of_link = Figure(lanes, "lanes", Cited(message("lanes-of-form", form=SLOW_FORM), (), "high"))
    ports = ports_by_lanes(group.ports, group.ports_per_cage, of_cage, of_link)
    if ports.value >= group_radix(group, rate).value:
        return group
    return group._replace(modes={**group.modes, int(rate.value): ports})


def links_in_cage(links: int, cages: int) -> int | Fraction:
    """Return the links of a rate that one cage carries, given those of all cages; an integer if at least one.

    A rate with fewer links than there are cages takes several of them per link: a cage has a share below one.
    """
    return links // cages or Fraction(links, cages)


def links_per_cage(group: PortGroup, rate: Figure) -> int:
    """Return the links of a rate plugged into one cage of a group; 1 also where a link takes several cages."""
    cages = Fraction(group.ports.value, group.ports_per_cage.value)
    return max(int(group_radix(group, rate).value / cages), 1)


@formula("ports")
def ports_when_split(ports: int, split: int, port_gbps: int, link_gbps: int) -> int:
    """Links of a switch whose ports are broken out as far as the link rate allows."""
    return ports * min(split, port_gbps // link_gbps)


@formula("ports")
def ports_by_lanes(ports: int, ports_per_cage: int, lanes_of_cage: int, lanes_of_link: int) -> int:
    """Links of a switch whose cages have a number of electrical lanes and whose links take several lanes."""
    return ports // ports_per_cage * (lanes_of_cage // lanes_of_link)


sum_of_ports = sum_of("sum_of_ports", "ports", "ports", "more_ports")
"""Ports of two port groups of a switch, or of two kinds of hosts."""


class SharedCages(NamedTuple):
    """The cages of a switch of which only some carry both downlinks and uplinks."""

    cages: int
    down_only: int
    """Downlinks in cages without uplinks."""
    up_only: int
    """Uplinks in cages without downlinks."""

    def __str__(self) -> str:
        return message("shared-cages", **self._asdict())


def shared_cages(switch: Switch, down_gbps: Figure, up_gbps: Figure) -> Figure | None:
    """Return the cages whose ports carry downlinks or uplinks; None when each kind has separate ports.

    Where both run at one rate a cage may hold some of each, so that every port is independent.
    """
    if down_gbps.value == up_gbps.value:
        return radix(switch, down_gbps)
    carries = [(carries_rate(group, down_gbps), carries_rate(group, up_gbps)) for group in switch.groups]
    shared = [group for group, both in zip(switch.groups, carries, strict=True) if all(both)]
    if not shared:
        return None
    cages = cages_of(shared[0].ports, shared[0].ports_per_cage)
    for group in shared[1:]:
        cages = sum_of_cages(cages, group.ports, group.ports_per_cage)
    down, up = (
        [group for group, both in zip(switch.groups, carries, strict=True) if both[side] and not all(both)]
        for side in range(2)
    )
    if not down and not up:
        return cages
    return cages_beside(cages, *(_ports_of_groups(*each) for each in ((down, down_gbps), (up, up_gbps))))


def _ports_of_groups(groups: list[PortGroup], rate: Figure) -> Figure:
    found = ZERO_PORTS
    for group in groups:
        ports = group_radix(group, rate)
        found = ports if found is ZERO_PORTS else sum_of_ports(found, ports)
    return found


@formula("ports")
def zero_ports() -> int:
    """Ports of a switch that are dedicated to one kind of link: none."""
    return 0


ZERO_PORTS = zero_ports()


cages_of = floor_div("cages_of", "cages", "ports", "ports_per_cage")
"""Cages of a group of ports."""


@formula("cages")
def sum_of_cages(cages: int, ports: int, ports_per_cage: int) -> int:
    """Cages, including those of one more group of ports."""
    return cages + ports // ports_per_cage


@formula("cages")
def cages_beside(cages: int, down_only: int, up_only: int) -> SharedCages:
    """Cages that downlinks and uplinks share, and ports that are dedicated to either."""
    return SharedCages(cages, down_only, up_only)


@lru_cache(maxsize=KEPT)
def ports_left_down(up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Return the downlinks that fit with `up` uplinks; `cages` hold both kinds, 0: each kind has separate ports.

    Uplinks fill their dedicated ports first. A rate with fewer ports than there are cages takes proportionally more
    cages per link.
    """
    if up > up_radix:
        return 0
    if not cages:
        return radix
    shared, down_only, up_only = cages if isinstance(cages, SharedCages) else SharedCages(cages, 0, 0)
    of_cage, up_of_cage = links_in_cage(radix - down_only, shared), links_in_cage(up_radix - up_only, shared)
    return down_only + int((shared - ceil(max(up - up_only, 0) / up_of_cage)) * of_cage)
