"""Why these servers, NICs and racks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bomgen.catalog import part_records
from bomgen.catalog.parts import Server
from bomgen.core.provenance import Given
from bomgen.design.assembly import BuiltFabric
from bomgen.plan.types import COMPUTE, OUT_OF_BAND
from bomgen.report.reasons.types import DEFAULT, PLAN, RULE, Asked, Other, Reason, Topic, chosen_by, counted, named
from bomgen.site import rack_packing, racks


def topics(asked: Asked) -> Iterator[Topic]:
    """Servers, the NICs of every fabric, servers of a rack."""
    report = asked.report
    if report.plan.cluster.server:
        yield Topic("cluster.server", ("server", "gpu", "cluster.servers"), partial(_server, asked))
    for built in report.design.fabrics:
        if built.attachment:
            name = built.plan.name
            covers = (f"{name}.nic", f"fabrics.{name}.endpoints", f"fabrics.{name}.link_gbps")
            yield Topic(f"fabrics.{name}.nic", covers, partial(_nic, asked, built))
    if report.design.facility.servers_per_rack:
        of_racks = ("site.compute_racks", "site.servers_per_rack", "rack.compute", "pdu.compute")
        yield Topic("site.servers_per_rack", of_racks, partial(_per_rack, asked))


def _server(asked: Asked) -> Reason | None:
    cluster = asked.report.plan.cluster
    server = cluster.server
    if server is None:
        return None
    place = asked.given("cluster", "server")
    gpu = cluster.gpu.identity
    because = "the plan names it" if place else f"the catalogue marks it as the usual server of {named(gpu)}"
    others = []
    for record in asked.catalog.records_where("server", "gpu", gpu.id):
        if record.id != server.identity.id:
            other = part_records.server(record)
            usual = "the usual one" if record.value("default") else "not the usual one"
            reason = "the plan names another" if place else usual
            others.append(Other(named(other.identity), f"{reason}; {_described(asked, other)}"))
    chosen = f"{named(server.identity)}: {_described(asked, server)}"
    return Reason("cluster.server", chosen, PLAN if place else DEFAULT, because, place, tuple(others))


def _described(asked: Asked, server: Server) -> str:
    """What tells servers of one GPU apart."""
    words = [f"{server.gpus.value} GPUs"]
    if server.compute:
        rate = f" of {asked.value(server.compute.gbps)}" if server.compute.gbps else ""
        words.append(f"{server.compute.count.value} NICs{rate}")
    if server.power_w:
        words.append(asked.value(server.power_w))
    if server.rack_units:
        words.append(asked.value(server.rack_units))
    return ", ".join(words)


def _nic(asked: Asked, built: BuiltFabric) -> Reason | None:
    attached, server = built.attachment, asked.report.plan.cluster.server
    if attached is None or server is None:
        return None
    subject, name = f"fabrics.{built.plan.name}.nic", server.identity.name
    owned = _own_ports(asked, built, server)
    place = asked.given("fabrics", built.plan.name, "nic")
    count, rate = attached.nics_per_server.value, asked.value(attached.port_gbps)
    if attached.bought is None:
        of = f"{counted(count, 'port')} of each server at {rate}"
        return Reason(subject, of, RULE, f"a {name} has {owned}: nothing is bought", None)
    chosen = f"{count} x {named(attached.bought.identity)} at {rate} in each server"
    others = (Other(f"what a {name} has", f"{owned}; the fabric is to have {count} of {rate}"),)
    because = "the plan names it" if place else f"the NIC of a {name}, of which the fabric needs more than it has"
    return Reason(subject, chosen, PLAN if place else RULE, because, place, others)


def _own_ports(asked: Asked, built: BuiltFabric, server: Server) -> str:
    """The ports that a server comes with for fabrics of a role."""
    if built.plan.role == OUT_OF_BAND:
        return (
            f"{counted(server.bmc_ports.value, 'management port')} of its own" if server.bmc_ports else "no known port"
        )
    own, what = (server.compute, "NIC") if built.plan.role == COMPUTE else (server.storage, "port")
    if own is None:
        return f"no known {what} of its own"
    return f"{counted(own.count.value, what)} of its own{f' at {asked.value(own.gbps)}' if own.gbps else ''}"


def _per_rack(asked: Asked) -> Reason | None:
    site, server = asked.report.plan.site, asked.report.plan.cluster.server
    found = asked.report.design.facility.servers_per_rack
    if site is None or server is None or found is None:
        return None
    by, place, because = chosen_by(found)
    room: rack_packing.RackCapacity = racks.rack_capacity(site, site.pdu, site.pdus_per_rack)
    more = found.value + 1
    others = []
    if server.rack_units:
        needed = f"{more * server.rack_units.value} U"
        others.append((more * server.rack_units.value > room.units.value, needed, asked.value(room.units)))
    if server.power_w:
        draws = asked.words.value(more * server.power_w.value, server.power_w.unit)
        others.append((more * server.power_w.value > room.power_w.value, draws, asked.value(room.power_w)))
    too_much = [f"they take {needs}, a rack has {has}" for over, needs, has in others if over]
    if not isinstance(found.origin, Given):
        because = "as many as height, power and cooling of a rack allow"
    reason = "; ".join(too_much) if too_much else "the plan asks for fewer: height and power would allow it"
    chosen = f"{found.value} x {server.identity.name} in a rack"
    return Reason("site.servers_per_rack", chosen, by, because, place, (Other(f"{more} in a rack", reason),))
