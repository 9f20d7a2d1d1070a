"""The wiring as objects of NetBox, and as CSV files for its bulk import: cables, and what these need.

`list_tables` says what a wiring is in NetBox; `output.netbox_push` writes the same tables to a server. Columns and
values are those of NetBox 4.x (forms and choices of `dcim` as of 4.7.1); only the types of InfiniBand ports
with four lanes are newer than 4.0: they came with 4.6.9. Before 4.7 a row joins two ports only, so a cable with several
links has a row per link, with the same label.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import count, islice
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bomgen.cabling.types import NOWHERE, CableType, DeviceKind, Wiring
from bomgen.catalog.identity import ascii_slug
from bomgen.catalog.parts import Cable, Identity, Module
from bomgen.core.yaml_source import read_data
from bomgen.optics.compatibility import COPPER_PAIRS
from bomgen.output.registry import Progress
from bomgen.output.wiring.columns import batches
from bomgen.output.wiring.subnet import INFINIBAND

ABOUT = "CSV files for NetBox's bulk import: cables, devices, interfaces and their dependencies."
SUFFIXES = (".csv",)
BINARY = False
SEVERAL_FILES = True
ONE_FABRIC = False
DATA = "netbox.yaml"
ORDER = ("sites", "locations", "manufacturers", "device-roles", "device-types", "racks", "devices", "interfaces")
"""Objects to import before the cables, in this order; each is a separate file."""
BESIDE = "{stem}-{name}.csv"
CABLES = "cables"
FLOOR = ("locations", "racks")
"""Objects that only a plan with a site has."""
LOCATION = "hall"
"""Location of all racks: NetBox keeps their names unique within a location, so that no import duplicates them."""
PLANNED = "planned"
INTERFACE = "dcim.interface"
CABLE_TYPES = {"dac": "dac-passive", "acc": "dac-active", "aec": "dac-active", "aoc": "aoc", COPPER_PAIRS: "cat6"}
SINGLE_MODE = "single-mode"
"""Catalogue value for single-mode fibre."""
MULTIMODE_CABLE, SINGLE_MODE_CABLE = "mmf-om4", "smf-os2"
COLORS = {MULTIMODE_CABLE: "00bcd4", SINGLE_MODE_CABLE: "ffeb3b"}
"""Fibre colours: aqua and yellow (TIA-598-D), in NetBox's palette."""
OSFP = "osfp"
OTHER = "other"
INLET = "iec-60320-"
"""Beginning of the types of power ports; the inlet of a power supply follows."""
KBPS = 1_000_000
"""kbit/s per Gb/s, for interface speeds."""
GENERIC = "Generic"
"""Manufacturer of parts without a vendor."""
RACK_WIDTH_IN = 19
"""Rail width (EIA-310); the outer dimensions of a rack have separate columns."""
OUTER_UNIT = "mm"
MOST_ROWS = 1000
"""Maximum number of rows per file: NetBox imports a file in one request, with a time limit of a few minutes."""
MOST_LETTERS = 100
"""Maximum length of a name or label."""
ROLE_COLORS = {"server": "2196f3", "leaf": "4caf50", "spine": "ff9800", "core": "f44336"}
OTHER_COLOR = "9e9e9e"

Table = tuple[tuple[str, ...], Iterable[tuple[object, ...]]]
"""Names of columns, and rows."""
CABLE_COLUMNS = (
    *("side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name"),
    *("type", "status", "label", "color", "length", "length_unit", "description"),
)


class _Model(NamedTuple):
    manufacturer: str
    model: str
    slug: str
    part_number: str
    height: str
    """Rack units; 0 if unknown, which takes no space in a rack."""
    role: str


def write(wiring: Wiring, out: Path, progress: Progress) -> None:
    """Write the cables to `out`, and a file next to it for each object of `ORDER`."""
    tables = list_tables(wiring, progress)
    for name in ORDER:
        if name not in FLOOR or wiring.places is not None:
            _write(out.parent / BESIDE.format(stem=out.stem, name=name), *tables[name])
    _write(out, *tables[CABLES])


def list_tables(wiring: Wiring, progress: Progress) -> dict[str, Table]:
    """Return the tables of a wiring by name, cables last; what is not known is an empty text."""
    models = [_model(kind) for kind in wiring.kinds]
    used = np.unique(np.concatenate((wiring.a_device, wiring.b_device)))
    kinds = sorted({models[number] for number in np.unique(wiring.kind_numbers[used])})
    module_types = {_module_type(module) for kind in wiring.used for module in _modules_of(kind) if module}
    makers = {model.manufacturer for model in kinds} | {maker for maker, *_ in module_types}
    return {
        "sites": (("name", "slug", "status"), [(wiring.site, wiring.site, PLANNED)]),
        "locations": (("site", "name", "slug", "status"), [(wiring.site, LOCATION, LOCATION, PLANNED)]),
        "manufacturers": (
            ("name", "slug"),
            [(name, _slug(name)) for name in sorted(makers)],
        ),
        "device-roles": (
            ("name", "slug", "color", "vm_role"),
            [
                (role, _slug(role), ROLE_COLORS.get(role, OTHER_COLOR), "false")
                for role in sorted({model.role for model in kinds})
            ],
        ),
        "device-types": (
            ("manufacturer", "model", "slug", "part_number", "u_height"),
            sorted({(model.manufacturer, model.model): model[:-1] for model in kinds}.values()),
        ),
        "racks": (
            ("site", "location", "name", "status", "width", "u_height", "outer_width", "outer_depth", "outer_unit"),
            _racks(wiring),
        ),
        "devices": (
            ("name", "role", "manufacturer", "device_type", "status", "site", "location", "rack", "position", "face"),
            _devices(wiring, models, used.tolist()),
        ),
        "interfaces": (("device", "name", "type", "speed", "description"), _interfaces(wiring)),
        "power-ports": (
            ("device", "name", "type", "maximum_draw", "allocated_draw"),
            _power_ports(wiring, used.tolist()),
        ),
        "module-types": (("manufacturer", "model", "part_number"), sorted(module_types)),
        "module-bays": (("device", "name"), (row[:2] for row in _modules(wiring))),
        "modules": (
            ("device", "module_bay", "manufacturer", "module_type", "status"),
            ((*row, PLANNED) for row in _modules(wiring)),
        ),
        CABLES: (CABLE_COLUMNS, _cables(wiring, progress)),
    }


def _write(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    """Write a table; rows beyond the limit of an import go to further, numbered files."""
    waiting = iter(rows)
    part = list(islice(waiting, MOST_ROWS))
    for number in count(1):
        place = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        with place.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(part)
        part = list(islice(waiting, MOST_ROWS))
        if not part:
            return


def _model(kind: DeviceKind) -> _Model:
    word = kind.name(0).rpartition("-")[0]
    role = kind.device if kind.device in ROLE_COLORS else word
    identity = kind.identity
    height = f"{float(kind.height_u.value):g}" if kind.height_u else "0"
    if identity is None:
        return _Model(GENERIC, word[:MOST_LETTERS], _slug(word), "", height, role)
    name, part = identity.name[:MOST_LETTERS], _part_number(identity)
    return _Model(_maker(identity), name, _slug(identity.id), part, height, role)


def _maker(identity: Identity) -> str:
    maker = identity.vendor or GENERIC
    return GENERIC if maker == GENERIC.lower() else maker[:MOST_LETTERS]


def _part_number(identity: Identity) -> str:
    return (identity.part_number or "")[:MOST_LETTERS]


def _slug(name: str) -> str:
    return ascii_slug(name).replace(".", "-")[:MOST_LETTERS] or GENERIC.lower()


def _racks(wiring: Wiring) -> Iterator[tuple[object, ...]]:
    """Yield the racks of the floor, with the plan's height, and the outer dimensions if the part is known."""
    if wiring.places is None:
        return
    part = wiring.places.rack_part
    outer = [part.width_mm, part.depth_mm] if part else [None, None]
    sizes = [round(size.value) if size else "" for size in outer]
    unit = OUTER_UNIT if any(sizes) else ""
    for rack in range(1, wiring.places.racks + 1):
        yield wiring.site, LOCATION, str(rack), PLANNED, RACK_WIDTH_IN, wiring.places.rack_units, *sizes, unit


def _devices(wiring: Wiring, models: list[_Model], devices: list[int]) -> Iterator[tuple[object, ...]]:
    """Yield the devices with cables, with rack and lowest unit if known.

    Of switches in one chassis the first occupies the rack units; NetBox allows one device per position.
    """
    for device in devices:
        model = models[int(wiring.kind_numbers[device])]
        place: tuple[object, ...] = ("", "", "", "")
        if wiring.places is not None and wiring.places.rack[device] != NOWHERE:
            unit = int(wiring.places.unit[device])
            kind = wiring.kind_of(device)
            first_of_box = (device - kind.start) % kind.of_box == 0
            standing = unit != NOWHERE and float(model.height) > 0 and first_of_box
            rack, position = int(wiring.places.rack[device]), (unit, "front") if standing else ("", "")
            place = (LOCATION, rack, *position)
        named = (wiring.names[device], model.role, model.manufacturer, model.model)
        yield (*named, PLANNED, wiring.site, *place)


def _interfaces(wiring: Wiring) -> Iterator[tuple[object, ...]]:
    sides = []
    for kind in wiring.cable_types:
        modules, speed = _modules_of(kind), kind.rate_gbps * KBPS
        parts = [module.identity.part_number or module.identity.name if module else "" for module in modules]
        sides.append([(_type(kind, module), speed, part) for module, part in zip(modules, parts, strict=True)])
    for device, port, _, kind_number, end in _ports(wiring):
        yield (wiring.names[device], wiring.ports[port], *sides[kind_number][end])


def _modules(wiring: Wiring) -> Iterator[tuple[str, str, str, str]]:
    """Yield the modules of all cages: device, bay, manufacturer and model.

    A bay has the name of the first port of its cage; the cages of each fabric of a machine are numbered from 0.
    """
    sides = [[_module_type(module) if module else None for module in _modules_of(kind)] for kind in wiring.cable_types]
    seen = set[tuple[int, str, int]]()
    for device, port, cage, kind, end in _ports(wiring):
        module_type, place = sides[kind][end], (device, wiring.cable_types[kind].fabric, cage)
        if module_type and place not in seen:
            seen.add(place)
            yield (wiring.names[device], wiring.ports[port], *module_type[:2])


def _modules_of(cable_type: CableType) -> tuple[Module | None, Module | None]:
    return (cable_type.medium.lower, cable_type.medium.upper) if cable_type.medium else (None, None)


def _module_type(module: Module) -> tuple[str, str, str]:
    """Return manufacturer, model and part number."""
    return _maker(module.identity), module.identity.name[:MOST_LETTERS], _part_number(module.identity)


def _ports(wiring: Wiring) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the ports with a cable by device, cage and lane: device, port, cage, type of cable, and end (0 or 1)."""
    device, port, cage, lane = (
        np.concatenate((getattr(wiring, f"a_{name}"), getattr(wiring, f"b_{name}")))
        for name in ("device", "port", "cage", "lane")
    )
    cable_type = np.concatenate((wiring.cable_type, wiring.cable_type))
    for row in np.lexsort((lane, cage, device)).tolist():
        yield int(device[row]), int(port[row]), int(cage[row]), int(cable_type[row]), int(row >= len(wiring))


def _power_ports(wiring: Wiring, devices: Iterable[int]) -> Iterator[tuple[object, ...]]:
    """Yield the power supplies of devices, with the draw of each [W]: at most, if only those needed work, and usual."""
    for device in devices:
        kind = wiring.kind_of(device)
        if kind.supplies is None or kind.power_w is None:
            continue
        pieces = int(kind.supplies.pieces.value)
        needed = kind.supplies.needed or kind.supplies.pieces
        draws = (ceil(kind.power_w.value / needed.value), ceil(kind.power_w.value / pieces))
        for number in range(pieces):
            yield (wiring.names[device], f"psu{number + 1}", f"{INLET}{kind.supplies.inlet}", *draws)


def _type(cable_type: CableType, module: Module | None) -> str:
    types: dict[str, dict[str, str]] = read_data(DATA)["interfaces"]
    rate = str(cable_type.rate_gbps)
    if cable_type.protocol == INFINIBAND:
        return types[INFINIBAND].get(rate, OTHER)
    cage = OSFP if module and module.cage.startswith(OSFP) else module.cage if module else ""
    return types.get(cage, {}).get(rate) or types["any"].get(rate, OTHER)


def _cables(wiring: Wiring, progress: Progress) -> Iterator[tuple[object, ...]]:
    """Yield every link as a cable; links of one cable share its label and have a number."""
    types = [
        netbox_cable_type(cable_type.medium.cable if cable_type.medium else None) for cable_type in wiring.cable_types
    ]
    of_piece = np.bincount(wiring.piece) if len(wiring) else wiring.piece
    place = np.arange(len(wiring)) - np.searchsorted(wiring.piece, wiring.piece)
    for rows, table in batches(wiring):
        several = of_piece[wiring.piece[rows]]
        columns = [table[name].tolist() for name in ("a_device", "a_port", "b_device", "b_port", "label")]
        numbers = (
            wiring.cable_type[rows].tolist(),
            wiring.length_m[rows].tolist(),
            several.tolist(),
            place[rows].tolist(),
        )
        for a, a_port, b, b_port, label, cable_type, length, links, link in zip(*columns, *numbers, strict=True):
            kind = types[cable_type]
            described = "" if links == 1 else f"link {link + 1} of {links}"
            ends = (a, INTERFACE, a_port, b, INTERFACE, b_port)
            yield (*ends, kind, PLANNED, label, COLORS.get(kind, ""), f"{length:g}", "m", described)
        progress(len(np.unique(wiring.piece[rows])))


def netbox_cable_type(cable: Cable | None) -> str:
    """Return NetBox's type of a cable; empty without a known part."""
    if cable is None:
        return ""
    if cable.medium in CABLE_TYPES:
        return CABLE_TYPES[cable.medium]
    return SINGLE_MODE_CABLE if cable.fibre == SINGLE_MODE else MULTIMODE_CABLE
