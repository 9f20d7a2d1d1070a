"""Switches from catalogue records: fixed ones, and modular ones with their cards and chassis."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce

from bomgen.catalog import estimates, parts
from bomgen.catalog.files import CHASSIS, Record, built_in_assumption
from bomgen.catalog.identity import airflow_of, identity, name_part, slug, supplies, supply_capacity
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
