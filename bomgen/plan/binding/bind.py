"""Binding of a checked source to a plan, and the cluster block of it.

Problems are collected and raised together.

A system of several parts, such as servers and boxes of flash with switches between them, is completed: what its vendor
ships with the parts that the plan names is added, and where there is a choice, the plan has to make it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from math import ceil
from typing import Any

from bomgen.catalog import part_records, parts
from bomgen.catalog.estimates import estimate_unpublished, with_gpus
from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.identity import metres_of, slug
from bomgen.catalog.parts import Component, Rack, Server, ServerPorts
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Given, Mark, constant, formula
from bomgen.core.safety import quote as quoted
from bomgen.core.units import MAX_QUOTED, MONEY, minor_units, parse
from bomgen.core.yaml_source import Source
from bomgen.plan.binding.fabrics import (
    bought_once,
    built,
    converged,
    fabric,
    pair_of_servers,
    plug_of,
    with_ethernet_planes,
)
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.binding.workload import compute, fine_tuning, inference, reinforcement, training
from bomgen.plan.commercial_terms import operation, owned, paths, quote
from bomgen.plan.fabric_demand import attach, ports_of_nics
from bomgen.plan.schema import PHASES, declaration_at
from bomgen.plan.types import (
    OUT_OF_BAND,
    ROLES,
    Budget,
    Cluster,
    FabricPlan,
    Hosts,
    Layout,
    Phase,
    Plan,
    ServerGroup,
    Site,
    Storage,
    StorageLevel,
    StorageServers,
    UsualNic,
)

STORAGE_SERVER = "storage server"
"""The name of a storage server without one."""
STATED = {
    **{"capacity_bytes": "capacity", "read": "read", "write": "write", "ports": "ports"},
    **{"power_w": "power", "rack_units": "rack_units", "weight_kg": "weight"},
}
"""The figures of a storage system that a plan may state, with their keys."""
PARTS = "storage.servers"
"""The plan key of the parts of the storage system."""


def storage(section: PlanSection) -> Storage:
    """Return the storage of the plan, with assumptions about interruptions where it gives none."""
    assumption = section.catalog.assumption
    published = assumption("interruption-gpu-hours-low"), assumption("interruption-gpu-hours-high")
    return Storage(
        **section.keys(Storage),
        mark=section.mark if section.data else section.source.mark(()),
        given=bool(section.data),
        dataset_bytes=section.figure("dataset"),
        levels=_storage_levels(section.catalog),
        unit_servers=assumption("storage-unit-servers"),
        server_gpus=assumption("storage-server-gpus"),
        interruption_range=None if section.has("interruption_gpu_hours") else published,
        restart_days=section.setting("restart"),
        servers=_complete(_named_parts(section), section),
    )


STORAGE_FIGURES = {
    "read_of_server": "storage-server-read",
    "write_of_server": "storage-server-write",
    "read_of_four_units": "storage-units-read",
    "write_of_four_units": "storage-units-write",
}
"""The messages that name the figures of a level."""


def _storage_levels(catalog: Catalog) -> dict[str, StorageLevel]:
    record = catalog.find("assumption", "storage-bandwidth")
    references, confidence = record.references(list(record.data["source"])), str(record.data["confidence"])

    def cited(level: str, key: str) -> Figure:
        of = message(STORAGE_FIGURES[key], level=level)
        return Figure(parse(record.value("value", level, key), "bytes/s"), "bytes/s", Cited(of, references, confidence))

    return {level: StorageLevel(*(cited(level, key) for key in StorageLevel._fields)) for level in record.data["value"]}


def _named_parts(storage: PlanSection) -> Iterator[StorageServers]:
    value = storage.data.get("servers")
    listed = storage.below("servers")
    entries = [(listed, at) for at in range(len(value))] if isinstance(value, list) else [(storage, "servers")]
    seen = set[str]()
    for parent, key in entries:
        part = _named_part(parent, key)
        if part and part.identity.id in seen:
            parent.problem(key, f"{part.identity.name} is listed twice; list it once, with a `count`", "duplicate")
        elif part:
            seen.add(part.identity.id)
            yield part


def _named_part(parent: PlanSection, key: str | int) -> StorageServers | None:
    """Return a part of the storage system: from the catalogue, with the plan's values overriding it, or described."""
    section, by_id = parent.below(key), isinstance(parent.value(key), str)
    named = parent.part(key, "storage", part_records.storage_system) if by_id else None
    if section.has("part"):
        named = section.part("part", "storage", part_records.storage_system)
    if named is None and (by_id or section.has("part") or not section.data):
        return None
    mark = section.mark if key == "servers" and not by_id else parent.value_mark(key)
    part = _of_system(named or _described_system(section), mark, section)
    nic = section.part("nic", "nic", part_records.nic)
    stated: dict[str, Any] = {field: section.figure(key) or getattr(part, field) for field, key in STATED.items()}
    return part._replace(**stated, pieces=section.figure("count"), plug=plug_of(nic) if nic else part.plug)


def _described_system(section: PlanSection) -> parts.StorageSystem:
    name = section.text("name") or STORAGE_SERVER
    identity = parts.Identity(
        kind="storage",
        id=slug(name) or slug(STORAGE_SERVER),
        name=name,
        vendor=section.text("vendor"),
        part_number=section.text("part_number"),
        mark=section.mark,
        inline=True,
    )
    return parts.StorageSystem(identity=identity)


def _of_system(system: parts.StorageSystem, mark: Mark, section: PlanSection) -> StorageServers:
    """Return units of a storage system, as many as are needed."""
    ports = system.ports or section.catalog.assumption("storage-server-ports")
    shared = {field: value for field, value in system._asdict().items() if field in StorageServers._fields}
    return StorageServers(mark=mark, **shared | {"ports": ports if ports.value else None, "plug": plug_of(system)})


def _complete(named: Iterator[StorageServers], storage: PlanSection) -> tuple[StorageServers, ...]:
    """Return the parts with those that complete their systems: partners without a choice, and the back-end switches."""
    units = list(named)
    for part in units:
        for partner in part.partners:
            if {unit.identity.id for unit in units}.isdisjoint(partner.parts):
                units += _partner(part, partner, storage)
    shared = {part.back_end.switch: part for part in reversed(units) if part.back_end}
    units += [switch for id in sorted(shared) if (switch := _back_end_switch(shared[id], storage))]
    return tuple(units)


def _partner(part: StorageServers, partner: parts.Partner, storage: PlanSection) -> Sequence[StorageServers]:
    """Return the part that completes the system of another; none, with a problem noted, if the plan has to choose."""
    if len(partner.parts) > 1:
        choice = " or ".join(f"{{part: {id}}}" for id in partner.parts)
        text = f"{part.identity.name} is no complete storage system; add {choice} to `{PARTS}`"
        storage.problems.append(Problem(part.mark, "error", text, "incomplete-storage", PARTS))
        return ()
    try:
        system = storage.catalog.build_part("storage", partner.parts[0], part_records.storage_system)
    except UnknownPart as error:
        text = f"{part.identity.name} is completed by an unknown part: {error}"
        storage.problems.append(Problem(part.mark, "error", text, "unknown-part", PARTS))
        return ()
    return (_of_system(system, part.mark, storage)._replace(added=True),)


def _back_end_switch(part: StorageServers, storage: PlanSection) -> StorageServers | None:
    """Return the switches between the parts of a system; None, with a problem noted, if the catalogue has none."""
    if part.back_end is None:
        return None
    try:
        switch = storage.catalog.build_part("switch", part.back_end.switch, part_records.switch)
    except UnknownPart as error:
        text = f"the parts of {part.identity.name} are joined by an unknown switch: {error}"
        storage.problems.append(Problem(part.mark, "error", text, "unknown-part", PARTS))
        return None
    return StorageServers(
        mark=part.mark,
        identity=switch.identity,
        power_w=switch.power_w,
        rack_units=switch.rack_units,
        weight_kg=switch.weight_kg,
        supplies=switch.supplies,
        back_end=part.back_end,
        switch_ports=max(switch.groups, key=lambda group: group.port_gbps.value).ports,
        added=True,
    )


SIZES = frozenset(("gpus", "servers", "racks", "budget", "power", "round_up_to"))
"""Keys of the cluster that say how large it is, or in which steps; without one, its chassis hold the cards needed."""
CONFIGURED = ("cpu", "memory", "nvme", "nics")
"""Keys of the configuration that a server is ordered with."""
PREFILL = "prefill"
"""The name of the group of servers with another GPU that process the prompts of a served model."""
_BUDGET = re.compile(r"(.+?)\s*([A-Z]{3})?")
"""An amount, and the code of its currency."""
ROUND_UP = "cluster-round-up-to"
"""The assumption on what a calculated number of servers is rounded up to."""
FIT = "does-not-fit"
"""The rule about parts for which a server has no room."""
USUAL_NICS = ("server-storage-nic", "server-storage-nic-400")
"""The assumptions on the NIC for storage and in-band of a server without a known one, slowest first."""

# cluster ------------------------------------------------------------------------------------------------------------
# The cluster block of a plan.


def cluster(section: PlanSection) -> Cluster | None:
    """Return the cluster block; None when it is wrong, which the section notes."""
    gpu = section.part("gpu", "gpu", part_records.gpu)
    server = _server(section, gpu)
    rounding = (
        section.below("round_up_to").figure("servers")
        if isinstance(section.data.get("round_up_to"), dict)
        else section.figure("round_up_to", ROUND_UP)
    )
    figures, budget = section.keys(Cluster), _budget(section)
    if gpu is None and not section.has("gpu") and server is not None and server.gpu:
        with suppress(UnknownPart):
            gpu = section.catalog.build_part("gpu", server.gpu, part_records.gpu)
    if gpu is None and not section.has("gpu") and not section.problems:
        text = "the key 'gpu' is missing in cluster; specify a GPU, for example `gpu: h100-sxm`"
        section.problems.append(Problem(section.mark, "error", text, "missing-key", "cluster"))
    if gpu is None or rounding is None:
        return None
    if server is None and not section.has("server"):
        record = section.catalog.default_server(gpu.identity.id)
        server = part_records.server(record) if record else None
    server = server and estimate_unpublished(server, gpu)
    with_cards = None
    if server and server.gpu_slots:
        own_compute_nics = section.below("server").below("nics").has("compute")
        with_cards = partial(_with_cards, server, gpu, follow_nics=not own_compute_nics)
    fitted = _cards_of_plan(section, server, figures["gpus"]) if server else None
    of_workload = fitted is None and not SIZES & section.data.keys()
    if with_cards and fitted:
        server = with_cards(fitted)

    @cache
    def usual_nics() -> tuple[UsualNic, ...]:
        catalog = section.catalog
        assumed = [catalog.assumption(id) for id in USUAL_NICS]
        return tuple(UsualNic(id, catalog.build_part("nic", str(id.value), part_records.nic)) for id in assumed)

    return Cluster(
        section.mark,
        gpu,
        server,
        _own_nic(section, server and server.nic, "nic"),
        budget=budget,
        round_up_to=rounding,
        storage_nic=_own_nic(section, server and server.storage_nic, "storage_nic"),
        usual_nics=usual_nics,
        with_cards=with_cards if of_workload else None,
        **figures,
    )


def _budget(section: PlanSection) -> Budget | None:
    """Return the budget; None if there is none, or it is wrong, which is noted."""
    if not section.has("budget"):
        return None
    written = _BUDGET.fullmatch(str(section.data["budget"]).strip())
    try:
        amount = parse(written[1], "count") if written else 0
    except ValueError:
        amount = 0
    if written is None or amount <= 0 or written[2] not in (None, *minor_units()):
        text = f"{quoted(section.data['budget'], MAX_QUOTED)} is not a valid budget; write an amount such as 5 M USD"
        section.problem("budget", text, "unit")
        return None
    return Budget(Figure(amount, MONEY, Given(section.value_mark("budget"), "budget")), written[2])


def _server(section: PlanSection, gpu: parts.Gpu | None) -> Server | None:
    """Return the server, by id, by id with a configuration, or described by a mapping.

    Of the configurations of one chassis, the one with the plan's GPU is meant.
    """
    ordered = section.below("server")
    holds = gpu and gpu.identity.id
    within, key = (ordered, "part") if ordered.has("part") else (section, "server")
    server = within.part(key, "server", part_records.server, lambda record: record.value("gpu") == holds)
    if server and server.gpu and not (gpu and gpu.identity.inline):
        server = _with_gpu_by_id(within, key, server, gpu)
    if within is section:
        return server
    if server is None:
        return None
    nics = ordered.below("nics")
    texts, components = dict[str, tuple[str, ...]](), list[Component]()
    for key in CONFIGURED:
        if key != "nics" or not nics.data:
            entries = [ordered.below(key)] if isinstance(ordered.data.get(key), str) else ordered.items(key)
            texts[key] = tuple(entry.given for entry in entries if isinstance(entry.given, str))
            components += [_component(entry, key) for entry in entries if entry.data]
    printed = {key: listed for key, listed in texts.items() if listed}
    server = server._replace(configuration=printed, components=tuple(components))
    if compute := _cards(nics, "compute"):
        nic, count = compute
        ports = ServerPorts(count, nic.port_gbps, nic.cage, nic.ports_per_cage)
        server = server._replace(nic=nic.identity.id, compute=ports, nics_included=False, protocols=())
    if storage := _cards(nics, "storage"):
        nic, count = storage
        ports = ServerPorts(ports_of_nics(count, nic.ports), nic.port_gbps, nic.cage, nic.ports_per_cage)
        server = server._replace(storage_nic=nic.identity.id, storage=ports, storage_nics_included=False)
    return server


def _with_cards(server: Server, gpu: parts.Gpu, fitted: Figure, *, follow_nics: bool) -> Server:
    """Return a chassis for cards with another number of GPUs; `follow_nics`: its NICs for compute follow them."""
    if fitted.value == server.gpus.value:
        return server
    chassis = with_gpus(server, gpu, fitted)
    return chassis if follow_nics else chassis._replace(compute=server.compute)


def _cards_of_plan(section: PlanSection, server: Server, total: Figure | None) -> Figure | None:
    """Return the GPUs that the plan puts into each server; None: as many as it usually has, or as are needed.

    Without `server.gpus`, a number that is no multiple of the usual one is shared equally by the fewest servers.
    """
    ordered = section.below("server")
    fitted, most = ordered.figure("gpus") if ordered.has("part") else None, server.gpu_slots
    name, usual = server.identity.name, server.gpus.value
    if fitted and most is None and fitted.value != usual:
        ordered.problem("gpus", f"{name} is only sold with {usual} GPUs; remove `gpus`, or specify another server", FIT)
    elif fitted and most and fitted.value > most.value:
        text = f"{fitted.value} GPUs do not fit because {name} has {most.value} slots; use at most {most.value}"
        ordered.problem("gpus", text, FIT)
    elif fitted is None and most and total and total.value % usual:
        servers = ceil(Fraction(total.value, most.value))
        fitted = gpus_of_each(total, most) if total.value % servers == 0 else None
    return fitted


@formula("GPUs")
def gpus_of_each(gpus: int, gpu_slots: int) -> int:
    """GPUs in each of the fewest servers that hold all of them."""
    return gpus // ceil(Fraction(gpus, gpu_slots))


def _component(section: PlanSection, key: str) -> Component:
    pieces = section.figure("count") or Figure(1, "count", Given(section.mark, f"server.{key}"))
    return Component(key, str(section.text("name")), pieces, section.text("part_number"))


def _with_gpu_by_id(section: PlanSection, key: str, server: Server, gpu: parts.Gpu | None) -> Server:
    try:
        return server._replace(gpu=section.catalog.find_original("gpu", str(server.gpu)).id)
    except UnknownPart as error:
        if gpu and gpu.identity.id in error.fits:
            return server._replace(gpu=gpu.identity.id)
        section.problem(key, f"the GPU of {server.identity.name} is unknown: {error}", "unknown-part")
        return server


def _cards(nics: PlanSection, purpose: str) -> tuple[parts.Nic, Figure] | None:
    """Return the NICs that a configuration has for a purpose, and their number."""
    section = nics.below(purpose)
    nic, count = section.part("part", "nic", part_records.nic), section.figure("count")
    return (nic, count or Figure(1, "NICs", Given(section.mark, f"server.nics.{purpose}"))) if nic else None


def _own_nic(section: PlanSection, id: str | None, key: str) -> parts.Nic | None:
    """Return a built-in NIC of a server, which the plan may describe in place."""
    described = section.below("server")
    if isinstance(described.data.get(key), dict):
        return described.part(key, "nic", part_records.nic)
    if id is None:
        return None
    with suppress(UnknownPart):
        return section.catalog.build_part("nic", id, part_records.nic)
    described.problem(key, f"no nic '{id}'; specify one of the catalogue", "unknown-part")
    return None


# groups -------------------------------------------------------------------------------------------------------------
# Servers of other kinds, which join fabrics of the cluster as machines with the ports of their own NICs.


def _groups(root: PlanSection) -> tuple[ServerGroup, ...]:
    """Return the groups of servers; what is wrong with one is noted, and it is left out.

    They are those of the cluster block, and the servers of another GPU that process the prompts of a served model.
    """
    groups = [_group(group, str(group.text("name"))) for group in root.below("cluster").items("groups")]
    prefill = root.below("workload").below("inference").below("pools").below("prefill")
    if prefill.has("gpu") or prefill.has("server"):
        groups.append(_group(prefill, PREFILL, sized=True))
    return tuple(group for group in groups if group)


def _group(section: PlanSection, name: str, sized: bool = False) -> ServerGroup | None:
    bought = cluster(section)
    if bought is None:
        return None
    if bought.server is None or bought.server.trays or bought.server.without_cards:
        text = f"the servers of the group {name} must be complete servers of the catalogue; specify another `server`"
        section.problem("name" if section.has("name") else "gpu", text, "group")
        return None
    if sized:
        return ServerGroup(name, bought, Figure(1, "servers", Given(section.mark, name)), (), sized)
    return ServerGroup(name, bought, section.setting("servers"), section.texts("fabrics"))


def _join(section: PlanSection, groups: Sequence[ServerGroup], fabrics: Sequence[FabricPlan]) -> list[FabricPlan]:
    """Return the fabrics with the groups that join them; what is wrong is noted."""
    names, joined = [fabric.name for fabric in fabrics], list[FabricPlan]()
    if not fabrics and any(group.sized for group in groups):
        text = "servers of another GPU join fabrics, and the plan has none; add `fabrics: {compute: default}`"
        section.problem("gpu", text, "group")
    for at, group in enumerate(groups):
        if wrong := [name for name in group.fabrics if name not in names]:
            text = f"no fabric '{wrong[0]}' to join; the plan has {', '.join(names) or 'none'}"
            section.below("groups").below(at).problem("fabrics", text, "group")
    for fabric_plan in fabrics:
        hosts = list[Hosts]()
        for group in groups:
            if fabric_plan.switchless or (group.fabrics and fabric_plan.name not in group.fabrics):
                continue
            try:
                hosts.append(_hosts_of(group, fabric_plan, section.catalog.assumption("bmc-port-rate")))
            except PlanErrors as errors:
                section.problems.extend(errors.problems)
        joined.append(fabric_plan.with_hosts(partial(_add_hosts, hosts)))
    return joined


def _add_hosts(more: Sequence[Hosts], machines: tuple[Hosts, ...]) -> tuple[Hosts, ...]:
    return (*machines, *more)


def _hosts_of(group: ServerGroup, fabric_plan: FabricPlan, bmc_gbps: Figure) -> Hosts:
    server, attached = group.cluster.server, attach(fabric_plan, group.cluster, bmc_gbps)
    machine = server and parts.Appliance(
        server.identity, server.rack_units, server.power_w, parts.ANY, attached.ports_per_cage, ()
    )._replace(weight_kg=server.weight_kg, supplies=server.supplies)
    return Hosts(
        group.name,
        group.servers,
        attached.ports_per_server,
        machine,
        None if fabric_plan.role == OUT_OF_BAND else plug_of(attached),
        nic=attached.bought,
        nics=attached.nics_per_server,
    )


# bind ---------------------------------------------------------------------------------------------------------------

MOST_METRES, MICROMETRES = 1000, 1_000_000
"""The maximum length on a floor, and the resolution of lengths per metre."""


def bind(source: Source, catalog: Catalog) -> Plan:
    """Return the plan in a source that passed `schema.check`.

    Raises PlanErrors with every problem found: unknown parts, quantities in unknown units.
    """
    problems: list[Problem] = []
    root = PlanSection(source, (), source.data, catalog, problems, declaration_at())
    workload, bought = root.below("workload"), cluster(root.below("cluster"))
    gpu, server = (bought.gpu, bought.server) if bought else (None, None)
    run = serving = target = learning = None
    if workload.has("training"):
        run = training(workload.below("training"), gpu)
    elif workload.has("fine_tuning"):
        run = fine_tuning(workload.below("fine_tuning"), gpu)
    elif workload.has("reinforcement"):
        learning, run = reinforcement(workload.below("reinforcement"), gpu)
    elif workload.has("inference"):
        serving = inference(workload.below("inference"))
    elif workload.has("compute"):
        target = compute(workload.below("compute"))
    listed, no_compute = built(root.below("fabrics"))
    shared = converged(listed, bought)
    described = (fabric(listed, name, shared, bought) for name in listed.data if name not in shared[1:])
    ordered = sorted(filter(None, described), key=lambda read: (ROLES.index(read.role), read.name))
    if bought:
        ordered = [with_ethernet_planes(fabric_plan, bought.server_nic, problems) for fabric_plan in ordered]
    groups = _groups(root)
    fabrics = bought_once(_join(root.below("cluster"), groups, ordered), problems)
    plan = partial(
        Plan,
        name=str(source.data["name"]),
        title=str(source.data.get("title") or source.data["name"]),
        mark=source.mark(()),
        training=run,
        inference=serving,
        compute=target,
        reinforcement=learning,
        fabrics=tuple(fabric_plan for fabric_plan in fabrics if fabric_plan.switchless or not (gpu and gpu.pod_chips)),
        storage=storage(root.below("storage")),
        site=_site(root.below("site"), server) if root.has("site") or (bought and bought.power) else None,
        spares=_spares(root.below("spares")),
        quote=quote(root.below("quote")),
        stock=owned(root.below("stock")),
        existing=owned(root.below("existing")),
        scope=root.texts("scope") or None,
        operation=operation(root.below("operation")),
        templates=paths(root, "templates"),
        optics=root.below("optics").setting("prefer"),
        complete_order=root.below("order").is_set("complete"),
        no_compute=no_compute,
        pair=pair_of_servers(listed, no_compute, bought),
        groups=groups,
        phases=tuple(Phase(**phase.keys(Phase), mark=phase.mark) for phase in root.items(PHASES)),
    )
    if problems or bought is None:
        raise PlanErrors(sorted(dict.fromkeys(problems), key=lambda problem: problem.mark))
    bound = plan(cluster=bought)
    if bought.power and bound.site and not bound.site.pue:
        return bound._replace(site=bound.site._replace(pue=catalog.assumption("site-pue")))
    return bound


pdus_of_system = constant("pdus_of_system", "count", 0)
"""PDUs of the rack of a rack-scale system, which has its own power supply."""


def _site(section: PlanSection, server: Server | None) -> Site:
    rack, management = section.below("rack"), section.below("management")
    part = rack.part("part", "rack", part_records.rack)
    own_units = part.rack_units if part and not rack.has("units") else None
    rack_power, rack_scale = rack.setting("power"), server is not None and server.rack_scale
    usual_power = section.catalog.assumption("rack-power") if rack_scale else rack_power
    return Site(
        **section.keys(Site),
        mark=section.mark,
        rack_units=own_units or rack.setting("units"),
        rack_power_w=rack_power,
        pdus_per_rack=pdus_of_system() if rack_scale else rack.setting("pdus"),
        shared_racks=None if section.has("management") else section.catalog.assumption("shared-racks"),
        management_racks=management.figure("racks"),
        management_pdus=management.setting("pdus"),
        management_power_w=management.figure("power") or usual_power,
        rack=part,
        rack_cooling_w=rack.figure("cooling"),
        pdu=None if rack_scale else rack.part("pdu", "pdu", part_records.pdu),
        management_pdu=management.part("pdu", "pdu", part_records.pdu),
        feeds_per_pdu=section.catalog.assumption("site-feeds-per-pdu"),
        layout=_layout(section, part),
    )


def _layout(site: PlanSection, rack: Rack | None) -> Layout:
    section = site.below("layout")
    listed = section.below("rows")
    rows = (
        tuple((kind, block.setting(kind)) for block in listed.items(row) for kind in block.data)
        for row in range(len(listed.given or ()))
    )
    beside = metres_of(rack.width_mm) if rack and rack.width_mm and not section.has("rack_pitch") else None
    return Layout(
        mark=section.mark if section.data else site.mark,
        given=site.has("layout"),
        rows=tuple(rows) or None,
        **section.keys(Layout),
        unit_m=section.catalog.assumption("rack-unit"),
        rack_pitch_m=beside or _measure(section, "rack_pitch"),
        row_pitch_m=_measure(section, "row_pitch"),
        tray_m=_measure(section, "tray_height"),
        slack_m=_measure(section, "slack"),
    )


def _measure(section: PlanSection, key: str) -> Figure:
    """Return a length on the floor in whole micrometres, so that the routes of millions of cables add up exactly."""
    length = section.setting(key)
    if length.value > MOST_METRES or (length.value * MICROMETRES) % 1:
        text = f"too large or too precise for a floor; use whole micrometres, up to {MOST_METRES} m"
        section.problem(key, text, "range")
    return length


def _spares(section: PlanSection) -> dict[str, Figure]:
    """Return the spares by category: a share, or a number of pieces."""
    shares = {
        category: (isinstance(raw, str) and raw.strip().endswith("%")) or (isinstance(raw, Fraction) and raw < 1)
        for category, raw in section.data.items()
    }
    return {key: section.setting(key, unit="share" if is_share else "count") for key, is_share in shares.items()}
