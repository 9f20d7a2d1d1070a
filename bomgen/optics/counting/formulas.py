"""Formulas that count modules, cables and link ends; parts are rounded up per device."""

from __future__ import annotations

from math import ceil

from bomgen.core.provenance import formula


@formula("pieces")
def modules_of_switches(switches: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal switches, rounded up per switch."""
    return switches * ceil(ports / ports_per_module)


@formula("ports")
def remaining_ports(up: int, others: int) -> int:
    """Ports to other switches that remain for the last kind of link between them."""
    return up - others


@formula("pieces")
def modules_in_cages(switches: int, pieces: int) -> int:
    """Modules of equal switches that have so many cages filled."""
    return switches * pieces


@formula("pieces")
def modules_without_shared(modules: int, shared: int) -> int:
    """Modules of links between switches without those that the links to servers have brought."""
    return modules - shared


@formula("pieces")
def modules_of_servers(servers: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal servers, rounded up per server."""
    return servers * ceil(ports / ports_per_module)


@formula("pieces")
def reserved_modules(reserved_ports: int, ports_per_module: int) -> int:
    """Modules of reserved ports that are adjacent on a spine."""
    return ceil(reserved_ports / ports_per_module)


@formula("pieces")
def sum_of_modules(modules: int, more_modules: int) -> int:
    """Modules of several groups of switches."""
    return modules + more_modules


@formula("ports")
def ports_of_machines(machines: int, ports: int) -> int:
    """Links of equal machines."""
    return machines * ports


@formula("links")
def sum_of_links(links: int, more_links: int) -> int:
    """Links of several kinds of machines."""
    return links + more_links


@formula("links")
def links_left(links: int, others: int) -> int:
    """Links without those that are built differently."""
    return links - others


@formula("modules")
def modules_without_short(modules: int, of_shorter: int) -> int:
    """Modules without those of shorter links, which are built of something else."""
    return modules - of_shorter


@formula("pieces")
def cables_without_short(cables: int, of_shorter: int) -> int:
    """Cables without those of shorter links, which are built of something else."""
    return cables - of_shorter


@formula("ports")
def ends_of_links(links: int, ends: int) -> int:
    """Link ends that are plugged into one kind of device."""
    return links * ends


@formula("pieces")
def sum_of_cables(cables: int, more_cables: int) -> int:
    """Equal cables of several kinds of machines."""
    return cables + more_cables


@formula("Gb/s")
def slower_rate(port_gbps: int, link_gbps: int) -> int:
    """Rate of a link between ports of different rates."""
    return min(port_gbps, link_gbps)


@formula("pieces")
def cables_of_links(links: int) -> int:
    """One cable per link."""
    return links


@formula("pieces")
def cables_of_plugs(plugs: int, ends: int) -> int:
    """Cables with both ends in switches of one tier."""
    return plugs // ends


@formula("ends")
def both_ends() -> int:
    """Ends that a link between two switches of one tier has in that tier."""
    return 2


BOTH_ENDS = both_ends()
