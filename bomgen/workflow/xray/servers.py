"""The servers that a bill may be about."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.plan.types import COMPUTE
from bomgen.workflow.xray.forward import Plan
from bomgen.workflow.xray.line_counts import SERVER, SERVER_LEAF, count_engines, count_links, list_modules_at_servers
from bomgen.workflow.xray.scopes import Scope

GPUS = 8
"""GPUs and NICs of a server that the bill does not name: those of the usual HGX board."""
MOST_NIC_GBPS = 400
"""Switches with faster ports join each other at a higher rate than NICs have."""
MOST_SERVERS = 2
"""Kinds of servers of which each is tried."""
SHARES_BELOW = (Fraction(1, 2), Fraction(2, 3), Fraction(1))
"""Links to servers among all of a network: with the ratio 1:1, with 2:1, and without spines."""


class Servers(NamedTuple):
    """The servers of a candidate: what the plan says of them, and how many there are."""

    cluster: Mapping[str, Any]
    number: int
    nics: int
    gpus: int
    derived: bool = False
    """Whether their number follows from other lines than that of the servers."""


def list_servers(scope: Scope, catalog: Catalog) -> list[Servers]:
    """The servers that a bill may be about: those it lists, and those that its NICs and links are enough for."""
    listed = dict[str, int]()
    for line in scope.servers:
        if line.kind == SERVER and line.quantity:
            listed[line.id] = listed.get(line.id, 0) + line.quantity
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
            counts += [(each // nics, True) for each in ports if each % nics == 0 and each != count * nics]
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
    return [_inline(unknown, each // GPUS, GPUS, True) for each in ports if each % GPUS == 0]


def _inline(described: Plan, count: int, nics: int, derived: bool = False) -> Servers:
    """Servers that the catalogue does not have."""
    described = {**described, "port_gbps": MOST_NIC_GBPS}
    return Servers({"gpu": "h100-sxm", "server": described, "servers": count}, count, nics, GPUS, derived)


def _endpoints(scope: Scope, catalog: Catalog) -> list[int]:
    """Numbers of links to servers that the lines of cables, NICs and modules at servers imply."""
    cables = [
        count_links(line, catalog) for line in scope.lines if line.kind == "cable" and line.place.links == SERVER_LEAF
    ]
    found = [line.quantity for line in scope.lines if line.kind == "nic"]
    found += [count_engines(line, catalog) for line in list_modules_at_servers(scope, catalog)]
    if not any((*found, *cables)):
        total = sum(count_links(line, catalog) for line in scope.lines if line.kind == "cable")
        found = [int(total * share) for share in SHARES_BELOW]
    return sorted({each for each in (*found, *cables, sum(cables)) if each})
