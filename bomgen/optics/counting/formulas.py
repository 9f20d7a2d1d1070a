"""Formulas that count modules, cables and link ends; parts are rounded up per device."""

from __future__ import annotations

from math import ceil

from bomgen.core.provenance import ceil_div, difference, floor_div, formula, minimum, product, sum_of


@formula("pieces")
def modules_of_switches(switches: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal switches, rounded up per switch."""
    return switches * ceil(ports / ports_per_module)


remaining_ports = difference("remaining_ports", "ports", "up", "others")
"""Ports to other switches that remain for the last kind of link between them."""
modules_in_cages = product("modules_in_cages", "pieces", "switches", "pieces")
"""Modules of equal switches that have so many cages filled."""
modules_without_shared = difference("modules_without_shared", "pieces", "modules", "shared")
"""Modules of links between switches without those that the links to servers have brought."""


@formula("pieces")
def modules_of_servers(servers: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal servers, rounded up per server."""
    return servers * ceil(ports / ports_per_module)


reserved_modules = ceil_div("reserved_modules", "pieces", "reserved_ports", "ports_per_module")
"""Modules of reserved ports that are adjacent on a spine."""
sum_of_modules = sum_of("sum_of_modules", "pieces", "modules", "more_modules")
"""Modules of several groups of switches."""
ports_of_machines = product("ports_of_machines", "ports", "machines", "ports")
"""Links of equal machines."""
sum_of_links = sum_of("sum_of_links", "links", "links", "more_links")
"""Links of several kinds of machines."""
links_left = difference("links_left", "links", "links", "others")
"""Links without those that are built differently."""
modules_without_short = difference("modules_without_short", "modules", "modules", "of_shorter")
"""Modules without those of shorter links, which are built of something else."""
cables_without_short = difference("cables_without_short", "pieces", "cables", "of_shorter")
"""Cables without those of shorter links, which are built of something else."""
ends_of_links = product("ends_of_links", "ports", "links", "ends")
"""Link ends that are plugged into one kind of device."""
sum_of_cables = sum_of("sum_of_cables", "pieces", "cables", "more_cables")
"""Equal cables of several kinds of machines."""
slower_rate = minimum("slower_rate", "Gb/s", "port_gbps", "link_gbps")
"""Rate of a link between ports of different rates."""


@formula("pieces")
def cables_of_links(links: int) -> int:
    """One cable per link."""
    return links


cables_of_plugs = floor_div("cables_of_plugs", "pieces", "plugs", "ends")
"""Cables with both ends in switches of one tier."""


@formula("ends")
def both_ends() -> int:
    """Ends that a link between two switches of one tier has in that tier."""
    return 2


BOTH_ENDS = both_ends()
