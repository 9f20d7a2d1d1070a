"""Parts and models from catalogue records; a record is a file or a mapping in a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TypeVar

from bomgen.catalog import estimates, model_matrices, models, parts
from bomgen.catalog.files import CHASSIS, CHECKPOINT_FORMATS, Catalog, Record, built_in, built_in_assumption, cache_one
from bomgen.catalog.identity import OUTLETS, airflow_of, identity, name_part, slug, supplies, supply_capacity
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.messages import record_text
from bomgen.core.provenance import Cited, Figure, formula, product, quotient, sum_of
from bomgen.core.units import parse

# chassis ------------------------------------------------------------------------------------------------------------
# The kinds of cards in a chassis, and the ports of its line cards.

LINE_CARDS = "line_cards"
FABRIC_CARDS = "fabric_cards"
SUPERVISORS = "supervisors"
POWER_SUPPLIES = "power_supplies"
CARDS = {
    LINE_CARDS: "line-cards",
    FABRIC_CARDS: "fabric-cards",
    SUPERVISORS: "supervisors",
    POWER_SUPPLIES: "power-supplies",
}
"""The messages that name cards, by their kind."""


ports_of_cards = product("ports_of_cards", "ports", "line_cards", "ports_per_card")
"""Ports of all line cards in a chassis."""


@formula("ports")
def ports_of_fewer(ports_at_rate: int, fitted_ports: int, all_ports: int) -> int:
    """Ports at a rate when only some slots hold a line card."""
    return ports_at_rate * fitted_ports // all_ports


# switch records -----------------------------------------------------------------------------------------------------

PORT_NAMES = "port_names"
"""The key of port names, and the rule for invalid ones."""
CO_PACKAGED = "co_packaged"
NAMED = ("cage", "port", "split")
SWITCH_LANE, USUAL_LANES = "{switch_lane}", 8
"""The placeholder for lanes over all cages, and the lanes of a cage of 400 Gb/s and more (OSFP, QSFP-DD)."""
COUNTED_FROM = ("first_card", "first_cage", "first_port", "first_part", "lanes")
NARROW_CAGES = ("rj45", "sfp", "sfp28", "dsfp")
NARROW_PORTS_PER_CAGE = 2
"""SFP cages and RJ45 jacks, stacked in two rows, in the width of a QSFP cage."""
MAX_PORTS = 2_048
"""Plausible maximum of ports per switch: the largest chassis have about a thousand."""


def switch(record: Record) -> parts.Switch:
    """Return a record of kind switch as data. Raises PlanErrors when its ports are unknown, or no chassis has them."""
    listed = record.value("port_groups")
    built = _chassis(record)
    if listed:
        groups = tuple(_port_group(record, None, "port_groups", index) for index in range(len(listed)))
    else:
        groups = (_port_group(record, built),)
    for index, group in enumerate(groups):
        _check_ports(record, group, *(("port_groups", index) if listed else ()))
    description = " + ".join(f"{group.ports.value} x {group.port_gbps.value}G" for group in groups)
    shared = record.figure_or_one("switches_per_unit")
    if built and built.ports_per_card:
        _check_chassis(record, built, groups, shared)
    power = record.figure("power", "W")
    if power is None:
        carried = reduce(sum_of_capacity, (capacity(group.ports, group.port_gbps) for group in groups))
        carried = capacity_of_box(carried, shared) if shared.value > 1 else carried
        fastest, typical = max(group.port_gbps.value for group in groups), record.figure("power_typical", "W")
        power = estimates.estimate_power_of_switch(carried, fastest, typical, supply_capacity(record))
    rack_units = record.figure("rack_units", "U") or estimates.rack_units_of_cages(
        _cages(groups, shared), built_in_assumption("switch-cages-per-unit")
    )
    return parts.Switch(
        identity=name_part(identity(record), f"switch {description}"),
        protocol=record.value("protocol"),
        groups=groups,
        switches_per_unit=shared,
        rack_units=rack_units,
        power_w=power,
        port_names=_port_names(record, built, groups),
        chassis=built,
        weight_kg=record.figure("weight", "kg") or estimates.estimate_weight("switch", rack_units),
        supplies=supplies(record),
        managed=record.value("managed") is not False,
        airflow=airflow_of(record),
    )


cages_of_ports = quotient("cages_of_ports", "cages", "ports", "ports_per_cage")
"""Cages of a number of ports."""


@formula("cages")
def cages_of_narrow_ports(ports: int) -> Fraction:
    """RJ45 jacks and SFP cages as cages of the width of QSFP, of which two take the place of one."""
    return Fraction(ports, NARROW_PORTS_PER_CAGE)


sum_of_cages = sum_of("sum_of_cages", "cages", "cages", "more_cages")
"""Cages of ports of several kinds."""
cages_of_box = product("cages_of_box", "cages", "cages", "switches_per_unit")
"""Cages of the switches in one box."""


def _cages(groups: tuple[parts.PortGroup, ...], switches_per_unit: Figure) -> Figure:
    """Return the cages that the front of a box has room for, in cages of the width of QSFP."""
    cages = reduce(
        sum_of_cages,
        (
            cages_of_narrow_ports(group.ports)
            if group.cage in NARROW_CAGES
            else cages_of_ports(group.ports, group.ports_per_cage)
            for group in groups
        ),
    )
    return cages_of_box(cages, switches_per_unit) if switches_per_unit.value > 1 else cages


capacity = product("capacity", "Gb/s", "ports", "port_gbps")
"""Total one-way bandwidth of the ports of a switch."""
sum_of_capacity = sum_of("sum_of_capacity", "Gb/s", "capacity_gbps", "more_gbps")
"""Total one-way bandwidth of ports of several kinds."""
capacity_of_box = product("capacity_of_box", "Gb/s", "capacity_gbps", "switches_per_unit")
"""Total one-way bandwidth of the ports of the switches in one box."""


def _port_names(
    record: Record, built: parts.Chassis | None, groups: tuple[parts.PortGroup, ...]
) -> parts.PortNames | None:
    pattern = record.value(PORT_NAMES)
    if not pattern:
        return None
    words = {key: pattern.get(key) for key in NAMED}
    message, split = "", words["split"]
    if built and built.ports_per_card and not all("{card}" in word for word in words.values() if word):
        message = "ports of a chassis are distinguished by line card; write {card} into cage, port and split"
    elif split and "{port}" not in split and any(group.ports_per_cage.value > 1 for group in groups):
        message = "parts of several ports in a cage are distinguished by port; write {port} into split"
    if message:
        raise record.error(message, "port-names", PORT_NAMES)
    numbers = {key: int(pattern.get(key, 1)) for key in COUNTED_FROM}
    if "lanes" not in pattern and any(SWITCH_LANE in word for word in words.values() if word):
        numbers["lanes"] = USUAL_LANES
    return parts.PortNames(words["cage"], words["port"], split, **numbers)


def fitted_with(switch: parts.Switch, line_cards: Figure) -> parts.Switch:
    """Return a modular switch with a number of line cards, whose ports are its only ones.

    Raises ValueError, with the remedy, for a switch that does not take that many.
    """
    name, built = switch.identity.name, switch.chassis
    if built is None or built.ports_per_card is None:
        raise ValueError(f"the line cards of {name} are unknown, or it is not a chassis; remove line_cards")
    if built.slots and line_cards.value > built.slots.value:
        raise ValueError(f"{line_cards.value} line cards; a {name} has slots for {built.slots.value}")
    group = switch.groups[0]
    ports = ports_of_cards(line_cards, built.ports_per_card)
    modes = {rate: ports_of_fewer(mode, ports, group.ports) for rate, mode in group.modes.items()}
    cards = {**built.cards, LINE_CARDS: replace(built.cards[LINE_CARDS], count=line_cards)}
    return switch._replace(groups=(group._replace(ports=ports, modes=modes),), chassis=built._replace(cards=cards))


def _chassis(record: Record) -> parts.Chassis | None:
    if not record.value(CHASSIS):
        return None
    return parts.Chassis(
        slots=record.figure("slots", "count", CHASSIS),
        ports_per_card=record.figure("ports_per_card", "count", CHASSIS),
        cards={
            LINE_CARDS: parts.Cards(_card(record, "line_card"), None),
            **{kind: _cards(record, kind) for kind in (FABRIC_CARDS, SUPERVISORS, POWER_SUPPLIES)},
        },
    )


def _cards(record: Record, kind: str) -> parts.Cards:
    stated = record.data[CHASSIS].get(kind)
    if isinstance(stated, dict) and "value" not in stated:
        return parts.Cards(_card(record, kind), record.figure("count", "count", CHASSIS, kind, zero=True))
    return parts.Cards(None, record.figure(kind, "count", CHASSIS, zero=True))


def _card(record: Record, key: str) -> parts.Identity | None:
    """Return the identity of a card; None when the record names no part."""
    name, number = record.value(CHASSIS, key, "name"), record.value(CHASSIS, key, "part_number")
    if not (name or number):
        return None
    return parts.Identity(
        kind=record.kind,
        id=slug(str(number or name)) or key,
        name=record_text(str(name or number), record.kind, record.id, key)
        if record.giver(CHASSIS).built_in
        else str(name or number),
        vendor=record.data.get("vendor"),
        part_number=str(number) if number else None,
    )


def _check_chassis(
    record: Record, built: parts.Chassis, groups: tuple[parts.PortGroup, ...], switches_per_unit: Figure
) -> None:
    slots, of_card = built.slots, built.ports_per_card
    key, message = "ports", ""
    if switches_per_unit.value > 1:
        key, message = "switches_per_unit", "a chassis is one switch; remove switches_per_unit"
    elif len(groups) > 1:
        key, message = "port_groups", "a chassis has line cards of one kind with equal ports; keep one of them"
    elif slots and of_card and groups[0].ports.value != slots.value * of_card.value:
        message = (
            f"{groups[0].ports.value} ports; {slots.value} slots of {of_card.value} ports make "
            f"{slots.value * of_card.value}: leave `ports` out"
        )
    if message:
        raise record.error(message, "chassis", key)


def _check_ports(record: Record, group: parts.PortGroup, *above: str | int) -> None:
    ports, per_cage = group.ports.value, group.ports_per_cage.value
    if ports > MAX_PORTS or per_cage > ports:
        message = (
            f"{ports} ports, {per_cage} in a cage; at most {MAX_PORTS} ports, and no more in a cage than there are"
        )
        raise record.error(message, "range", *above, "ports")
    for rate, links in group.modes.items():
        most = ports * max(group.port_gbps.value // rate, 1)
        if links.value > most:
            message = f"{links.value} links of {rate} Gb/s; {ports} ports of {group.port_gbps.value} Gb/s carry {most}"
            raise record.error(f"{message} at most", "range", *above, "modes")


def _port_group(record: Record, built: parts.Chassis | None, *above: str | int) -> parts.PortGroup:
    modes = record.value(*above, "modes") or {}
    ports, rate = record.figure("ports", "count", *above), record.figure("port_gbps", "Gb/s", *above)
    if built:
        rate = rate or record.figure("card_gbps", "Gb/s", CHASSIS)
        if ports is None and built.slots and built.ports_per_card:
            ports = ports_of_cards(built.slots, built.ports_per_card)
    split = record.figure("split", "count", *above)
    return parts.PortGroup(
        ports=ports or record.need("ports", "count", *above),
        port_gbps=rate or record.need("port_gbps", "Gb/s", *above),
        ports_per_cage=record.figure_or_one("ports_per_cage", *above),
        split=record.figure_or_one("split", *above),
        split_known=split is not None and not (isinstance(split.origin, Cited) and not split.origin.verified),
        cage=str(record.value(*above, "cage") or parts.ANY),
        modes={int(parse(rate, "Gb/s")): record.need(rate, "count", *above, "modes", zero=True) for rate in modes},
        cage_power_w=record.figure("cage_power", "W"),
        blocking_split=record.figure("blocking_split", "count", *above),
        optics=_co_packaged(record) if record.value(CO_PACKAGED) else None,
    )


def _co_packaged(record: Record) -> parts.Module:
    """Return the optics inside a switch as a module that is not bought: it comes with the switch."""
    of = record.value(CO_PACKAGED)
    lane = of.get("lane_gbps")
    return parts.Module(
        identity=identity(record)._replace(availability=parts.AVAILABLE),
        rate_gbps=record.need("port_gbps", "Gb/s"),
        ports=record.figure_or_one("ports_per_cage"),
        cage=str(record.value("cage")),
        optic=str(of["optic"]),
        fibre=str(of["fibre"]),
        connector=str(of["connector"]),
        reach_m=record.figure("reach", "m", CO_PACKAGED),
        protocols=(),
        power_w=None,
        lane_gbps=None if lane is None else int(lane),
    )


T = TypeVar("T")
MAX_GPUS = 1024
"""Plausible maximum of GPUs per server: the largest servers have 16, a tray of a rack-scale system 4."""


def gpu(record: Record) -> parts.Gpu:
    """Return a record of kind gpu as data."""
    sparse = _peaks(record, "_sparse_tflops")
    dense = {name: figure for name, figure in _peaks(record, "_tflops").items() if not name.endswith("_sparse")}
    called = name_part(identity(record), "GPU")
    return parts.Gpu(
        identity=called,
        dense=dense,
        sparse=sparse,
        memory_bytes=record.figure("memory", "bytes"),
        power_w=record.figure("power", "W"),
        memory_bandwidth=record.figure("memory_bandwidth", "bytes/s"),
        pod_chips=record.figure("chips", "count", "pod") if record.value("pod") else None,
        pod_dimensions=tuple(
            Figure(int(value), "count", record.origin("dimensions", "pod"))
            for value in record.value("pod", "dimensions") or ()
        ),
        pod_link_gbps=record.figure("link_gbps", "Gb/s", "pod"),
        pcie_gbps=_pcie(record, "pcie"),
        scale_up=record.figure("scale_up", "bytes/s"),
        host_memory=record.figure("host_memory", "bytes"),
        cuda_memory=record.figure("memory_cuda", "bytes"),
        flash_attention=(
            Figure("no", "word", record.origin("flash_attention")) if record.value("flash_attention") is False else None
        ),
    )


def _pcie(record: Record, key: str) -> Figure | None:
    text = record.value(key)
    return parts.parse_pcie(str(text), record.origin(key)) if text else None


def _peaks(record: Record, suffix: str) -> dict[str, Figure]:
    peaks = {key.removesuffix(suffix): record.figure(key, "TFLOP/s") for key in record.data if key.endswith(suffix)}
    return {name: figure for name, figure in peaks.items() if figure is not None and not name.startswith("measured")}


REFERENCE_PRECISION = "bf16"
"""The precision whose dense peak is used to compare published runs, and GPUs without a workload."""


def published_runs(catalog: Catalog) -> tuple[parts.PublishedRun, ...]:
    """Return every published run of the catalogue whose GPU has a known peak."""
    runs = []
    for record in catalog.all("run"):
        used = gpu(catalog.find("gpu", str(record.value("gpu"))))
        if peak := used.dense.get(REFERENCE_PRECISION):
            runs.append(
                parts.PublishedRun(
                    identity=identity(record),
                    active_parameters=record.need("active_parameters", "parameters"),
                    tokens=record.need("tokens", "tokens"),
                    gpu=used.identity.name,
                    gpu_hours=record.need("gpu_hours", "GPU-hours"),
                    peak_tflops=peak,
                )
            )
    return tuple(runs)


def nic(record: Record) -> parts.Nic:
    """Return a record of kind nic as data. Raises PlanErrors when ports or rate are unknown."""
    ports, rate = record.need("ports", "count"), record.need("port_gbps", "Gb/s")
    return parts.Nic(
        identity=name_part(identity(record), f"NIC {ports.value} x {rate.value}G"),
        ports=ports,
        port_gbps=rate,
        cage=str(record.value("cage") or parts.ANY),
        ports_per_cage=record.figure_or_one("ports_per_cage"),
        protocols=tuple(record.value("protocols") or ()),
        power_w=record.figure("power", "W")
        or estimates.estimate_power_of_rate("nic", estimates.rate_of_ports(ports, rate)),
        ethernet_gbps=record.figure("ethernet_port_gbps", "Gb/s"),
    )


def server(record: Record) -> parts.Server:
    """Return a record of kind server as data. Raises PlanErrors when its GPUs are unknown."""
    gpus = record.need("gpus", "count")
    if gpus.value > MAX_GPUS:
        raise record.error(f"{gpus.value} GPUs in a server; at most {MAX_GPUS}", "range", "gpus")
    return parts.Server(
        identity=name_part(identity(record), f"server with {gpus.value} GPUs"),
        gpu=record.value("gpu"),
        gpus=gpus,
        gpus_included=record.value("gpus_included") is not False,
        trays=record.figure("trays", "count"),
        nic=record.value("nic") if isinstance(record.value("nic"), str) else None,
        compute=_server_ports(record, "nics", "port_gbps", "cage"),
        storage=_server_ports(record, "storage_ports", "storage_port_gbps", "storage_cage"),
        bmc_ports=record.figure("bmc_ports", "count"),
        rack_units=record.figure("rack_units", "U"),
        power_w=record.figure("power", "W"),
        supply_capacity_w=supply_capacity(record),
        host_memory=record.figure("host_memory", "bytes"),
        weight_kg=record.figure("weight", "kg"),
        liquid_cooled=parts.LIQUID in str(record.value("cooling")),
        liquid_share=record.figure("liquid_share", "share"),
        supplies=supplies(record),
        nic_slot_gbps=_pcie(record, "nic_slot"),
        rack_bmc_ports=record.figure("rack_bmc_ports", "count"),
        nics_included=record.value("nics_included") is not False,
        storage_nic=record.value("storage_nic") if isinstance(record.value("storage_nic"), str) else None,
        base_command_manager=bool(record.value("base_command_manager")),
        storage_nics_included=record.value("storage_nics_included") is not False,
        protocols=tuple(record.value("protocols") or ()),
        gpu_slots=record.figure("gpu_slots", "count"),
        published_gpus=tuple(record.value("published_gpus") or ()),
        slots={key: most for key, field in parts.SERVER_SLOTS.items() if (most := record.figure(field, "count"))},
    )


def storage_system(record: Record) -> parts.StorageSystem:
    """Return a record of kind storage as data, with estimates where its vendor publishes nothing."""
    back_end = None
    if record.value("back_end"):
        ports, switches = (record.need(key, "count", "back_end") for key in ("ports", "switches"))
        back_end = parts.BackEnd(str(record.value("back_end", "switch")), ports, switches)
    published = parts.StorageSystem(
        identity=name_part(identity(record), "storage system"),
        least=record.figure_or_one("least"),
        capacity_bytes=record.figure("capacity", "bytes"),
        read=record.figure("read", "bytes/s"),
        write=record.figure("write", "bytes/s"),
        ports=record.figure("ports", "count", zero=True),
        port_gbps=record.figure("port_gbps", "Gb/s"),
        cage=str(record.value("cage") or parts.ANY),
        ports_per_cage=record.figure_or_one("ports_per_cage"),
        bmc_ports=record.figure("bmc_ports", "count"),
        rack_units=record.figure("rack_units", "U"),
        power_w=record.figure("power", "W"),
        weight_kg=record.figure("weight", "kg"),
        supplies=supplies(record),
        partners=tuple(
            parts.Partner(tuple(partner["choose"]), record.figure("quantity", "count", "partners", at))
            for at, partner in enumerate(record.value("partners") or ())
        ),
        back_end=back_end,
    )
    return estimates.estimate_storage(published, record.figure("raw_capacity", "bytes"))


def appliance(record: Record) -> parts.Appliance:
    """Return a record of kind appliance as data, with estimates where its vendor publishes nothing."""
    machine = _machine(record)
    power_w, weight_kg = estimates.estimate_from_height(record.kind, machine.rack_units)
    return machine._replace(power_w=machine.power_w or power_w, weight_kg=machine.weight_kg or weight_kg)


def _machine(record: Record) -> parts.Appliance:
    return parts.Appliance(
        identity=name_part(identity(record), "appliance"),
        rack_units=record.figure("rack_units", "U"),
        power_w=record.figure("power", "W"),
        cage=str(record.value("cage") or parts.ANY),
        ports_per_cage=record.figure_or_one("ports_per_cage"),
        protocols=tuple(record.value("protocols") or ()),
        weight_kg=record.figure("weight", "kg"),
        supplies=supplies(record),
        subnet_manager=bool(record.value("subnet_manager")),
        port_gbps=record.figure("port_gbps", "Gb/s"),
    )


HOST_KINDS = ("appliance", "storage", "server")
"""Kinds of machines that a fabric may have besides the GPU servers of the cluster."""


def host(record: Record) -> parts.Appliance:
    """Return a machine of one of `HOST_KINDS` as an appliance; a server with its ports for storage and in-band."""
    if record.kind == "appliance":
        return appliance(record)
    machine = _machine(record)
    if record.kind == "storage":
        system = storage_system(record)
        return machine._replace(power_w=system.power_w, weight_kg=system.weight_kg)
    ports = server(record).storage
    return machine._replace(
        cage=ports.cage if ports else parts.ANY,
        ports_per_cage=ports.ports_per_cage if ports else machine.ports_per_cage,
        port_gbps=ports.gbps if ports else None,
    )


def rack(record: Record) -> parts.Rack:
    """Return a record of kind rack as data."""
    return parts.Rack(
        identity=name_part(identity(record), "rack"),
        rack_units=record.figure("rack_units", "U"),
        width_mm=record.figure("width_mm", "mm"),
        depth_mm=record.figure("depth_mm", "mm"),
        weight_kg=record.figure("weight", "kg"),
        load_kg=record.figure("load", "kg"),
    )


def panel(record: Record) -> parts.Panel:
    """Return a record of kind panel as data. Raises PlanErrors when its ports or its height are unknown."""
    return parts.Panel(
        identity=name_part(identity(record), "patch panel"),
        ports=record.need("ports", "count"),
        connectors=tuple(record.value("connectors") or ()),
        rack_units=record.need("rack_units", "U"),
        weight_kg=record.figure("weight", "kg"),
    )


def pdu(record: Record) -> parts.Pdu:
    """Return a record of kind pdu as data."""
    outlets_listed = record.value("outlets") or {}
    outlets = {form: record.figure(form, "count", "outlets", zero=True) for form in OUTLETS if form in outlets_listed}
    return parts.Pdu(
        identity=name_part(identity(record), "rack PDU"),
        power_w=record.figure("power", "W"),
        outlets={form: figure for form, figure in outlets.items() if figure is not None},
        rack_units=record.figure("rack_units", "U", zero=True),
        weight_kg=record.figure("weight", "kg"),
        input=record.value("input"),
    )


def _server_ports(record: Record, count: str, rate: str, cage: str) -> parts.ServerPorts | None:
    ports, gbps = record.figure(count, "count"), record.figure(rate, "Gb/s")
    if ports is None or (gbps is None and record.value("nic") is None):
        return None
    per_cage = record.figure_or_one("ports_per_cage" if count == "nics" else f"{count}_per_cage")
    return parts.ServerPorts(ports, gbps, str(record.value(cage) or parts.ANY), per_cage)


SAME = ("rate_gbps", "ports", "cage", "optic", "fibre", "connector", "lane_gbps")
"""Fields that a compatible module shares with the module it replaces."""
SAME_CABLE = ("kind", "links", "link_gbps", "a", "b", "fibre", "connector", "far_connector", "polarity")
"""Fields that a compatible cable shares with the cable it replaces."""


def _field_source(record: Record, catalog: Catalog | None, same: tuple[str, ...]) -> Callable[[str], Record]:
    """Return a function from a field to the record that has it: the part's, else that of the part it replaces.

    Raises PlanErrors for a part that differs in the fields `same`, UnknownPart when the replaced part is unknown.
    """
    replaces = record.value("replaces") or ()
    model = catalog.find_original(record.kind, str(replaces[0])) if catalog and replaces else record
    for key in same:
        stated, original = record.value(key), model.value(key)
        if stated is not None and original is not None and stated != original:
            message = f"{record.id} replaces {model.id}, whose {key.replace('_', ' ')} is {original}, not {stated}"
            raise record.error(f"{message}; it must have the same", "replaces", key)
    return lambda key: model if record.value(key) is None else record


def module(record: Record, catalog: Catalog | None = None) -> parts.Module:
    """Return a record of kind transceiver as data; a compatible one inherits fields from the module it replaces.

    Raises PlanErrors for one that differs from the module it replaces, UnknownPart when that is not in the catalogue.
    """
    if record.built_in and not record.value("replaces"):
        return _built_in(record.kind, record.id, _module)
    return _module(record, catalog)


@cache_one
def _built_in(kind: str, id: str, build: Callable[[Record, Catalog | None], T]) -> T:
    return build(built_in(kind, id), None)


def _module(record: Record, catalog: Catalog | None) -> parts.Module:
    of = _field_source(record, catalog, SAME)
    lane, rate = of("lane_gbps").value("lane_gbps"), of("rate_gbps").need("rate_gbps", "Gb/s")
    return parts.Module(
        identity=identity(record),
        rate_gbps=rate,
        ports=of("ports").figure_or_one("ports"),
        cage=str(of("cage").value("cage") or parts.ANY),
        optic=str(of("optic").value("optic") or parts.ANY),
        fibre=str(of("fibre").value("fibre") or parts.ANY),
        connector=str(of("connector").value("connector") or parts.ANY),
        reach_m=of("reach").figure("reach", "m"),
        protocols=tuple(of("protocols").value("protocols") or ()),
        power_w=of("power").figure("power", "W") or estimates.estimate_power_of_rate("module", rate),
        lane_gbps=None if lane is None else int(lane),
        nic_only=bool(of("nic_only").value("nic_only")),
        electronics=str(of("electronics").value("electronics") or parts.DSP),
        replaces=tuple(map(str, record.value("replaces") or ())),
    )


def cable(record: Record, catalog: Catalog | None = None) -> parts.Cable:
    """Return a record of kind cable as data; a compatible one inherits fields from the cable it replaces.

    Raises as `module` does.
    """
    if record.built_in and not record.value("replaces"):
        return _built_in(record.kind, record.id, _cable)
    return _cable(record, catalog)


def _cable(record: Record, catalog: Catalog | None) -> parts.Cable:
    of = _field_source(record, catalog, SAME_CABLE)
    rate = of("link_gbps").value("link_gbps")
    return parts.Cable(
        identity=identity(record),
        medium=str(of("kind").value("kind")),
        link_gbps=None if rate is None else int(rate),
        links=of("links").figure_or_one("links"),
        a=_cable_end(of("a"), "a"),
        b=_cable_end(of("b"), "b"),
        lengths_m=tuple(float(length) for length in of("lengths_m").value("lengths_m") or ()),
        fibre=of("fibre").value("fibre"),
        connector=of("connector").value("connector"),
        protocols=tuple(of("protocols").value("protocols") or ()),
        ordering_numbers=dict(record.value("ordering_numbers") or {}),
        polarity=of("polarity").value("polarity"),
        far_connector=of("far_connector").value("far_connector"),
        replaces=tuple(map(str, record.value("replaces") or ())),
    )


def _cable_end(record: Record, side: str) -> parts.CableEnd | None:
    end = record.value(side)
    if not end:
        return None
    return parts.CableEnd(str(end.get("cage", parts.ANY)), int(end.get("ports", 1)), int(end.get("ends", 1)))


SHAPE = (
    *("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "context"),
    *("ffn_dense", "ffn_expert", "experts", "topk", "shared", "dense_layers"),
    *("q_lora_rank", "kv_lora_rank", "rope_head_dim", "v_head_dim"),
    *("norms_per_layer", "positions", "window", "window_layers"),
    *("global_kv_heads", "global_head_dim", "ffn_layers", "ffn_shared", "moe_latent"),
    *("linear_layers", "linear_key_heads", "linear_key_head_dim", "linear_value_heads", "linear_value_head_dim"),
    *("linear_conv_kernel", "linear_gate_rank"),
    *("index_topk", "index_heads", "index_head_dim", "index_layers", "sparse_layers"),
    *("csa_layers", "compress_rate_csa", "hca_layers", "compress_rate_hca", "o_groups", "o_lora_rank"),
    *("mtp_layers", "vision_tokens", "vision_outputs"),
)
_MAY_BE_ZERO = ("ffn_dense", "shared", "dense_layers", "norms_per_layer", "window_layers")
"""Shape keys that may be 0."""
_UNIT = {"context": "tokens", "window": "tokens", "vision_tokens": "tokens"}
CHECKPOINT_PARTS = ("attention", "output", "linear", "shared", "dense", "head", "module")
"""Parts of a model whose number format a checkpoint may set."""


def _checkpoint_formats(record: Record) -> dict[str, parts.CheckpointFormat]:
    by_name = {}
    for name, stated in (record.value(CHECKPOINT_FORMATS) or {}).items():
        formats = {part: format for part, format in stated.items() if part in CHECKPOINT_PARTS}
        above = (CHECKPOINT_FORMATS, name)
        group, scale = record.figure("group", "count", *above), record.figure("scale_bytes", "bytes", *above)
        by_name[name] = parts.CheckpointFormat(formats, group, scale)
    return by_name


def model(record: Record) -> parts.Model:
    """Return a record of kind model as data. Parameters that it does not give are counted from its shape.

    Raises PlanErrors when the shape contradicts itself, or when the number of parameters cannot be determined.
    """
    shape = {key: record.figure(key, _UNIT.get(key, "count"), zero=key in _MAY_BE_ZERO) for key in SHAPE}
    described = parts.Model(
        identity=name_part(identity(record), "model"),
        parameters=models.ZERO_PARAMETERS,
        active_parameters=models.ZERO_PARAMETERS,
        moe=record.value("type") == "moe" or record.value("experts") is not None,
        shape={key: figure for key, figure in shape.items() if figure is not None},
        tied=bool(record.value("tied")),
        mla=bool(record.value("mla")),
        mlp=str(record.value("mlp") or model_matrices.GATED),
        bias=str(record.value("bias") or model_matrices.NO_BIAS),
        norm=str(record.value("norm") or models.RMS),
        qk_norm=bool(record.value("qk_norm")),
        embedding_norm=bool(record.value("embedding_norm")),
        relative_positions=bool(record.value("relative_positions")),
        router_bias=bool(record.value("router_bias")),
        output_gate=bool(record.value("output_gate")),
        values_are_keys=bool(record.value("attention_k_eq_v")),
        weight_files={name: record.need(name, "bytes", "weight_files") for name in record.value("weight_files") or ()},
        checkpoint=record.word("checkpoint"),
        vision_parameters=record.figure("vision_parameters", "parameters"),
        checkpoint_formats=_checkpoint_formats(record),
        copied_embeddings=record.value("mtp_embeddings") is not False,
        eight_bits_rest=bool(record.value("eight_bits_rest")),
        chunked=bool(record.value("chunked")),
    )
    errors = [record.error(message, "shape", key) for key, message in model_matrices.wrong(described)]
    if errors:
        raise PlanErrors([error.first_error for error in errors])
    stated = record.figure("parameters", "parameters")
    if stated and not described.moe and record.value("mlp") is None:
        weights = model_matrices.matrices(described) or ()
        gated = sum(matrix.inputs.value * matrix.outputs.value * matrix.count.value for matrix in weights)
        if gated > stated.value:
            described = described._replace(mlp=model_matrices.PLAIN)
    parameters = stated or models.parameters(described)
    if parameters is None:
        text = "the model described here has no `parameters`; add them, or its shape"
        if described.shape:
            keys = ", ".join(f"`{key}`" for key in model_matrices.missing(described))
            text = f"the parameters are unknown; add `parameters`, or to the shape {keys}"
        raise record.error(text, "unknown-figure", "parameters")
    active = record.figure("active_parameters", "parameters")
    if active is None and described.moe:
        active = models.active_parameters(described, parameters)
    if active is not None and active.value <= 0:
        message = f"{parameters.value} parameters are fewer than those of the experts; write all parameters"
        raise record.error(message, "range", "parameters")
    return described._replace(parameters=parameters, active_parameters=active or parameters)
