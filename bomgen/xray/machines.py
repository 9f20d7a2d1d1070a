"""The servers that a bill may be for, and the other hosts on its fabrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import CableEnd
from bomgen.fabric.types import SERVER
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND
from bomgen.reading.bills import SentLine
from bomgen.xray.forward import Plan
from bomgen.xray.lines import (
    APPLIANCE,
    SERVER_LEAF,
    Scope,
    count_cables,
    count_engines,
    count_idle_ends,
    count_links,
    count_links_below,
    list_modules_at_servers,
    sum_pieces,
)

GPUS = 8
"""GPUs and NICs of a server that the bill does not name, as on the usual HGX board."""
MOST_NIC_GBPS = 400
"""Port rate of switches above which links between switches are faster than NICs."""
MOST_SERVERS = 2
SHARES_BELOW = (Fraction(1, 2), Fraction(2, 3), Fraction(1))
"""Share of a network's links that lead to servers: with 1:1, with 2:1, and without spines."""


class Servers(NamedTuple):
    """The servers of a candidate: their plan keys and number."""

    cluster: Mapping[str, Any]
    number: int
    nics: int
    gpus: int
    derived: bool = False
    """Whether their number was derived from lines other than that of the servers."""


def list_servers(scope: Scope, catalog: Catalog) -> list[Servers]:
    """Return the servers that a bill may be for: listed ones, or numbers for which NICs and links are enough."""
    listed = Counter[str]()
    for line in scope.servers:
        if line.kind == SERVER and line.quantity:
            listed[line.id] += line.quantity
    found = list[Servers]()
    ports = _endpoints(scope, catalog)
    for server, pieces in sorted(listed.items(), key=lambda each: -each[1])[:MOST_SERVERS]:
        record = catalog.find_original("server", server)
        trays = int(record.value("trays") or 1)
        nics = int(record.value("nics") or GPUS)
        gpus = int(record.value("gpus"))
        described = {"server": server}
        if record.value("gpu"):
            described["gpu"] = str(record.value("gpu"))
        count = scope.number or pieces * trays
        counts = [(count, False)]
        if scope.role == COMPUTE:
            counts += [(port // nics, True) for port in ports if port % nics == 0 and port != count * nics]
        found += [
            Servers({**described, "servers": each}, each, nics, gpus, derived) for each, derived in counts if each > 0
        ]
    if found:
        return found
    other = next((line for line in scope.servers if line.quantity and line.kind != "server"), None)
    if other and other.quantity:
        cards = [line for line in scope.of_kind("nic") if line.quantity and line.quantity % other.quantity == 0]
        pieces = max(((line.quantity or 0) // other.quantity for line in cards), default=GPUS)
        if scope.role != COMPUTE:
            pieces = GPUS
        inline = {"name": "server of the bill", "gpus": GPUS, "nics": pieces}
        return [_inline(inline, other.quantity, pieces)]
    twins = any(count_engines(line, catalog) > (line.quantity or 0) for line in list_modules_at_servers(scope, catalog))
    unknown: Plan = {"name": "server of the bill", "gpus": GPUS, "nics": GPUS, "ports_per_cage": 2 if twins else 1}
    return [_inline(unknown, port // GPUS, GPUS, True) for port in ports if port % GPUS == 0]


def _inline(described: Plan, count: int, nics: int, derived: bool = False) -> Servers:
    described = {**described, "port_gbps": MOST_NIC_GBPS}
    return Servers({"gpu": "h100-sxm", "server": described, "servers": count}, count, nics, GPUS, derived)


def _endpoints(scope: Scope, catalog: Catalog) -> list[int]:
    all_cables = scope.of_kind("cable")
    cables = [count_links(line, catalog) for line in all_cables if line.place.links == SERVER_LEAF]
    found = [line.quantity for line in scope.of_kind("nic")]
    found += [count_engines(line, catalog) for line in list_modules_at_servers(scope, catalog)]
    if not any((*found, *cables)):
        total = sum(count_links(line, catalog) for line in all_cables)
        found = [int(total * share) for share in SHARES_BELOW]
    return sorted({each for each in (*found, *cables, sum(cables)) if each})


# hosts --------------------------------------------------------------------------------------------------------------
# Hosts and ports of a fabric in addition to those of the compute network's servers.

USUAL_PORTS = (2, 1, 4)
"""Ports per server on networks other than the compute network, most common first."""
MOST_HOSTS = 4
"""Maximum number of host lines whose ports are tried in every combination."""
EVERY_MACHINE = (IN_BAND, OUT_OF_BAND)
"""Networks that connect all hosts, including those without GPUs."""
OTHERS = "other machines"
"""Name in a plan for hosts that the bill does not list."""
USUAL_RESERVED = 4
"""Ports reserved for fabric managers in the SuperPOD."""
MOST_RESERVED = 8
"""Maximum number of uncabled ports taken as reserved for fabric managers; published designs have four."""


def list_extras(scope: Scope, servers: Servers, catalog: Catalog) -> list[tuple[Plan, int]]:
    """Return hosts and ports besides the servers', and the number of bill counts that each only repeats."""
    inline = isinstance(servers.cluster.get("server"), dict)
    below = count_links_below(scope, catalog)
    splitters = _hosts_on_splitters(scope, catalog)
    on_splitters = [({"hosts": splitters, "ports_per_server": ports}, 1) for ports in USUAL_PORTS if splitters]
    if scope.role != COMPUTE and (scope.shared or not below):
        every = [*_every_port(scope, servers, catalog), *(_every_machine(scope, servers) if inline else ())]
        return [*(() if inline else [({}, 0)]), *((each, 0) for each in every), *on_splitters]
    found: list[tuple[Plan, int]] = [({}, 0)]
    listed = False
    if scope.role != COMPUTE and inline:
        found = [({"ports_per_server": ports}, 0) for ports in (2, 1)]
        found += [(each, 0) for each in _every_machine(scope, servers)]
    idle = count_idle_ends(scope, catalog)
    for links, witnesses in below.items():
        for ports in USUAL_PORTS if scope.role != COMPUTE and servers.number else (servers.nics,):
            more = links - servers.number * ports
            own: Plan = {"ports_per_server": ports} if scope.role != COMPUTE else {}
            if more > 0 and (hosts := _listed_hosts(scope, range(more, max(more - idle, 0) - 1, -1))):
                found.append(({"hosts": hosts, **own}, 0))
                listed = True
            elif more > 0:
                others = [{"name": OTHERS, "count": more, "ports": 1}]
                found.append(({"hosts": others, **own}, 1 if witnesses == 1 else 0))
            elif more == 0 and own:
                found.append((own, 0))
    found += on_splitters
    if scope.role != COMPUTE and below and not any(each and "hosts" not in each for each, _ in found):
        # No count of links equals the servers' alone: the count may be wrong.
        found[1:1] = [({"ports_per_server": ports}, 0) for ports in USUAL_PORTS]
    if listed:  # the hosts that the bill lists are the ones in addition to its servers
        found = [(each, given) for each, given in found if each.get("hosts", [{}])[0].get("name") != OTHERS]
    links = count_cables(scope, SERVER_LEAF, catalog)
    modules = (line for line in scope.own if line.kind == "transceiver" and line.place.tier == "leaf")
    ends = 2 * sum_pieces(line for line in modules if line.place.links == SERVER_LEAF)
    if scope.role == COMPUTE:
        if links and 0 < ends - links <= MOST_RESERVED:
            found.append(({"reserved_ports": ends - links}, 0))
        elif not links:
            found.append(({"reserved_ports": USUAL_RESERVED}, 0))
    return found


def _every_port(scope: Scope, servers: Servers, catalog: Catalog) -> Iterator[Plan]:
    """Yield common numbers of ports per server, alone and with other hosts, listed or as many as modules remain."""
    ends = sum(count_engines(line, catalog) for line in list_modules_at_servers(scope, catalog))
    for ports in USUAL_PORTS:
        yield {"ports_per_server": ports}
        if (more := ends - servers.number * ports) > 0 and scope.shared:
            yield {"ports_per_server": ports, "hosts": [{"name": OTHERS, "count": more, "ports": 1}]}
        for each in USUAL_PORTS if scope.hosts else ():
            yield {"ports_per_server": ports, "hosts": _describe_hosts(scope.hosts, [each] * len(scope.hosts))}


def _every_machine(scope: Scope, servers: Servers) -> Iterator[Plan]:
    """Yield all hosts of the bill on a network that connects every host, each with the same number of ports."""
    if scope.role not in EVERY_MACHINE or len(scope.servers) < 2:
        return
    others = [line.quantity for line in (*scope.servers, *scope.hosts) if line.quantity]
    if servers.number not in others:
        return
    others.remove(servers.number)
    for ports in USUAL_PORTS:
        hosts = [{"name": f"machines {at}", "count": count, "ports": ports} for at, count in enumerate(others, 1)]
        yield {"ports_per_server": ports, "hosts": hosts}


def _hosts_on_splitters(scope: Scope, catalog: Catalog) -> list[Plan]:
    """Return hosts with slower ports than the switches, at the far ends of breakout cables."""
    if scope.role == COMPUTE or not any(_far_ends(line, catalog) for line in scope.own):
        return []
    found = list[Plan]()
    for line in scope.lines:
        if line.quantity and (ends := _far_ends(line, catalog)):
            gbps = catalog.find_original("cable", line.id).value("link_gbps")
            nic = {"ports": ends.ends, "port_gbps": int(gbps), "cage": ends.cage}
            found.append({"name": f"machines {line.mark.line}", "count": line.quantity, "ports": ends.ends, "nic": nic})
    return found


def _far_ends(line: SentLine, catalog: Catalog) -> CableEnd | None:
    if line.kind != "cable":
        return None
    cable = part_records.cable(catalog.find_original("cable", line.id), catalog)
    return cable.b if cable.medium != "fibre" and cable.b and cable.b.ends > 1 else None


def _listed_hosts(scope: Scope, ports: Iterable[int]) -> list[Plan]:
    """Return the bill's hosts other than servers, with port numbers that add up to one of `ports`; empty if none do."""
    lines = [line for line in scope.hosts if line.quantity][:MOST_HOSTS]
    choices = list(product(USUAL_PORTS, repeat=len(lines))) if lines else []
    for wanted in ports:
        for choice in choices:
            if sum((line.quantity or 0) * own for line, own in zip(lines, choice, strict=True)) == wanted:
                return _describe_hosts(lines, choice)
    return []


def _describe_hosts(lines: Sequence[SentLine], ports: Sequence[int]) -> list[Plan]:
    return [
        {"name": f"machines {at}", "count": line.quantity, "ports": own}
        | ({"part": line.id} if line.kind == APPLIANCE else {})
        for at, (line, own) in enumerate(zip(lines, ports, strict=True), 1)
    ]
