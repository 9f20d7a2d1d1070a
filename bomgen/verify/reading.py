"""Outputs of devices as rows, one per port, and the planned devices and ports of the names in them.

A row says which neighbour a port has, at which rate, with which module. The forms are declared in
`data/output-forms.yaml` and recognised by what they have. No output of a switch names the switch itself: the name of
its file does. Whatever the form, each row keeps its file and line.

A device whose name is not in the plan is named by its cables: each votes for the planned device that the plan has at
the far port, and the clearest device is named first, because its name lets its neighbours' cables vote. While nothing
is named, the ports of a cable are enough: few planned switches have a cable between two ports of these numbers.

NICs have names of their operating system (`mlx5_4`, `ens77np0`). What most servers agree on is learnt.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, chain, product
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from bomgen.cabling.types import INFINIBAND_LANES, Wiring, lanes_per_cage
from bomgen.core.diagnostics import LINE_END, error_at
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import read_data
from bomgen.reading.point_to_point import read_cables
from bomgen.reading.tables import PACKAGE, decode_text, read_tables

FORMS = "output-forms.yaml"
MOST_BYTES = 32 * 10**6
"""Maximum size of all outputs together: those of 16,384 GPUs have 13 MB."""
MOST_PORTS = 500_000
"""Maximum number of ports in all outputs together, five times those of 16,384 GPUs."""
LONGEST = 500
"""Characters of a line that are read."""
SEVERAL = ";"
"""Separator between the ends of a cable with several links in a table."""
NAMELESS = "?"
"""The neighbour that does not state its name."""
SPEEDS = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
"""Rate of a lane by the name of its speed, without the overhead of its encoding [Gb/s]."""
NOTHING = ("", "-", "--", "n/a")
"""What outputs print for a value that is not known."""
MAC = re.compile(r"(?:[0-9a-f]{2}[:.-]?){5}[0-9a-f]{2}", re.IGNORECASE)


class SeenPort(NamedTuple):
    """What an output states of a port; empty and None where it states nothing."""

    device: str
    port: str
    mark: Mark
    far_device: str = ""
    """The neighbour; NAMELESS where it does not state its name."""
    far_port: str = ""
    gbps: float | None = None
    lanes: int | None = None
    is_down: bool = False
    part: str = ""
    """The part number of what is plugged in."""
    error_rate: float | None = None
    """Effective bit error rate."""
    cable: str = ""
    """The part number of the cable."""
    length_m: float | None = None


class AsBuilt(NamedTuple):
    """The rows of all outputs."""

    ports: tuple[SeenPort, ...]
    whole: frozenset[str]
    """Files that cover a whole fabric: a device that they lack is not connected."""


@cache
def read_forms() -> Mapping[str, Mapping[str, Any]]:
    """Return the forms of `data/output-forms.yaml`: texts, tables and JSON, by the command that prints them."""
    forms = read_data(FORMS)
    return {**forms, "texts": {name: _compile(form) for name, form in forms["texts"].items()}}


def _compile(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return a form of text with its fields among its lines, as one pattern."""
    fields = (rf"{name}\s*:\s*(?P<{group}>\S.*)" for group, name in form.get("fields", {}).items())
    lines = "|".join(rf"^\s*{line}" for line in (*form.get("lines", ()), *fields))
    signature = re.compile(form["signature"], re.MULTILINE)
    return {"keeps": (), **form, "signature": signature, "lines": re.compile(lines, re.IGNORECASE)}


HEXADECIMAL = 16
"""The base in which OpenSM writes ports."""
_JSON = re.compile(r"\s*(?:\[|\{\s*[\"}])")
_OF_NODE = ("device", "label", "guid", "port", "kind")
_SWITCH = re.compile(r"\w+;(?P<device>[^:]+):")
_ADAPTER = re.compile(r"(?P<device>\S+) (?P<port>(?:mlx\d|HCA|nic|ib)\S*)")
_FACTORY = re.compile(r"MT\d+ |.*(?:Mellanox Technologies|ConnectX)", re.IGNORECASE)
"""Descriptions of nodes that nobody has named."""
AGGREGATION = "Aggregation Node"
"""The description of a switch's node for reductions, which is behind a port without a cable."""
_OF_PORT = re.compile(
    r"(?:(?:mlxlink|ethtool|ibstat)[-_.])?(?P<device>.+?)[-_.:](?P<port>(?:mlx\d|ens|eth|swp|HCA|nic)\w*)"
)
"""The name of a file with the output of one port."""
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?(e-\d{1,3})?", re.IGNORECASE)
_TOOL = re.compile(r"(?:mlxlink|ethtool|ibstat)[-_.]")
_SERIAL = re.compile(r"\(.*\)$")


def read_outputs(files: Iterable[tuple[str, str, bytes]], are_whole: bool = False) -> AsBuilt:
    """Return the rows of outputs, given device (or empty), file and content; if they are whole, the rest is missing.

    Raises PlanErrors for a file of no form.
    """
    ports, whole, size = list[SeenPort](), set[str](), 0
    for host, name, content in files:
        size += len(content)
        if size > MOST_BYTES:
            raise error_at(
                name, f"more than {MOST_BYTES} bytes of outputs; verify one fabric at a time", "as-built-limit"
            )
        before = len(ports)
        for port in _read(host, name, content, whole):
            ports.append(port)
            if len(ports) > MOST_PORTS:
                message = f"more than {MOST_PORTS} ports of outputs; verify one fabric at a time"
                raise error_at(name, message, "as-built-limit")
        if len(ports) == before:
            forms = ", ".join(chain(*read_forms().values()))
            message = f"no form of output is recognised; give that of {forms}, or a table with a device and a port at "
            raise error_at(name, f"{message}both ends of each cable", "as-built")
    return AsBuilt(tuple(ports), frozenset(port.mark.file for port in ports) if are_whole else frozenset(whole))


def read_names(content: bytes, file: str) -> dict[str, str]:
    """Return planned names by built ones, the first two columns of a table. Raises PlanErrors as `read_tables`."""
    rows = (row[:2] for table in read_tables(content, file) for row in table.rows)
    pairs = ([str(cell.value).lower() for cell in row if cell.filled] for row in rows)
    return {pair[0].partition(".")[0]: pair[1] for pair in pairs if len(pair) > 1}


def _read(host: str, file: str, content: bytes, whole: set[str]) -> Iterator[SeenPort]:
    if content.startswith(PACKAGE):
        yield from _cables(content, file)
        return
    forms, (text, _) = read_forms(), decode_text(content, file, MOST_BYTES)
    of_file = _OF_PORT.fullmatch(host or PurePath(file).stem)
    device, port = of_file.groups() if of_file else (host or _TOOL.sub("", PurePath(file).stem), "")
    if _JSON.match(text):
        entries: Iterable[tuple[int, dict[str, str]]] = _json_entries(text, file)
        of_fabric = any("of_fabric" in form and form["keys"][0] in text for form in forms["json"].values())
    elif form := next((form for form in forms["texts"].values() if form["signature"].search(text)), None):
        entries, of_fabric = _text_entries(text, form), "of_fabric" in form
    elif form := next(
        (form for form in forms["tables"].values() if all(map(text.__contains__, form["headings"]))), None
    ):
        entries, of_fabric = _table_entries(text, form["headings"]), False
    else:
        yield from _cables(content, file)
        return
    if of_fabric:
        whole.add(file)
    switches = dict[str, str]()
    for line, entry in entries:
        values = {"device": device, "port": port, **entry}
        if of_fabric and not _name_nodes(values, switches):
            continue
        if values["device"] and values["port"]:
            yield _port(values, Mark(file, line, 1))


def _cables(content: bytes, file: str) -> Iterator[SeenPort]:
    """Yield the links of a table with a device and a port at both ends; `;` separates those of a cable with several."""
    for table in read_tables(content, file):
        for cable in read_cables(table):
            texts = (*cable.a[:2], *cable.b[:2])
            links = max(text.count(SEVERAL) for text in texts) + 1
            columns = (text.split(SEVERAL) if SEVERAL in text else [text] * links for text in texts)
            for device, port, far_device, far_port in zip(*columns, strict=False):
                ends = (device, port), (far_device, far_port)
                for (near, far), module in zip((ends, ends[::-1]), (cable.a.module, cable.b.module), strict=True):
                    if all(near) and (near is ends[0] or (all(far) and module)):
                        seen = SeenPort(*near, cable.mark, *far, part=module)
                        yield seen._replace(cable=cable.part, length_m=cable.length_m)


def _text_entries(text: str, form: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the entries of a text, each with the line at which it begins."""
    kept, entry, begun = dict[str, str](), dict[str, str](), 0
    for number, line in enumerate(LINE_END.split(text), 1):
        match = form["lines"].match(line[:LONGEST])
        if not match:
            continue
        values = {name.rstrip("_"): value.strip() for name, value in match.groupdict().items() if value is not None}
        kept |= {name: values[name] for name in form["keeps"] if name in values}
        if begun and (form["begins"] in values or not values.keys() - {*form["keeps"]}):
            yield begun, entry
            begun = 0
        if form["begins"] in values:
            begun, entry = number, {**kept}
        entry |= values
    if begun:
        yield begun, entry


def _table_entries(text: str, headings: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table with aligned columns; a row without a port continues the one above."""
    columns, entry, begun = list[tuple[str, slice]](), dict[str, str](), 0
    for number, line in enumerate(LINE_END.split(text), 1):
        if all(heading in line for heading in headings):
            starts = sorted((line.index(heading), column) for heading, column in headings.items())
            ends = [*(start for start, _ in starts[1:]), LONGEST]
            columns = [(column, slice(start, end)) for (start, column), end in zip(starts, ends, strict=True) if column]
            continue
        values = {column: line[place].strip() for column, place in columns}
        if not any(values.values()) or line.startswith("--") or " " in values["port"]:
            continue
        if values["port"]:
            if begun:
                yield begun, entry
            begun, entry = number, values
        elif begun:
            entry = {column: entry[column] + value for column, value in values.items()}
    if begun:
        yield begun, entry


def _json_entries(text: str, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the entries of JSON, each with the line of its port."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        message = "not valid JSON; save the output of the command again"
        raise error_at(Mark(file, line, 1), message, "as-built") from None
    starts, at = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))], 0
    for keys, entry in _objects(data):
        for form in read_forms()["json"].values():
            if all(key in entry for key in form["keys"]) and form.get("below", "") in (*keys, ""):
                values = {name: _value(entry, keys, paths) for name, paths in form["paths"].items()}
                at = max(text.find(f'"{values.get("port", "")}"', at), at)
                yield bisect_right(starts, at), {name: value for name, value in values.items() if value}


def _objects(data: Any) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield all objects of JSON in their order, each with the keys that lead to it."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), data)]
    while stack:
        keys, value = stack.pop()
        if isinstance(value, dict):
            yield keys, value
            stack += reversed([((*keys, key), inner) for key, inner in value.items() if isinstance(inner, dict | list)])
        elif isinstance(value, list):
            stack += reversed([(keys, inner) for inner in value])


def _value(entry: Mapping[str, Any], keys: Sequence[str], paths: Iterable[str]) -> str:
    """Return the first value of an entry at one of several paths; empty without one."""
    for path in paths:
        value: Any = entry
        for step in path.split("."):
            value = _only(value)
            if step.startswith("^"):
                above = int(step[1:])
                value = keys[-above] if above <= len(keys) else None
            elif step == "~" and isinstance(value, dict):
                value = next((key for key, inner in value.items() if isinstance(inner, dict) and "id" in inner), None)
            else:
                value = value.get(step) if isinstance(value, dict) else None
        value = _only(value)
        if isinstance(value, dict):
            value = _only(value.get("value", value.get("data")))
        if isinstance(value, str | int | float) and str(value).strip().lower() not in NOTHING:
            return str(value)[:LONGEST]
    return ""


def _only(value: Any) -> Any:
    """Return the only item of a list, and other values unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _name_nodes(values: dict[str, str], switches: dict[str, str]) -> bool:
    """Set devices and ports by the descriptions of nodes, and return whether the port has a cable that counts.

    Switches of equal descriptions are distinguished by their GUIDs, which `switches` has by name.
    """
    for far in ("", "far_"):
        if number := values.get(f"{far}hex_port"):
            values[f"{far}port"] = str(int(number, HEXADECIMAL))
        device, label, guid, port, kind = (values.get(far + name, "") for name in _OF_NODE)
        text = device.removesuffix(f":{label}")
        is_switch = kind == "SW" or guid.startswith("S-") or (not far and guid.startswith("0x"))
        if AGGREGATION in text:
            return False
        if adapter := _ADAPTER.match(text):
            values[f"{far}device"], name = adapter.groups()
            values[f"{far}port"] = name if port in ("", "1") else f"{name}/{port}"
        elif _FACTORY.match(text):
            values[f"{far}device"] = guid if is_switch else NAMELESS
        else:
            switch = _SWITCH.match(text)
            name = switch["device"] if switch else text
            taken = is_switch and switches.setdefault(name, guid) != guid
            values[f"{far}device"] = f"{name} {guid}" if taken else name
        values[f"{far}port"] = values.get(f"{far}port", "").removesuffix("/P1")
    return values["device"] != NAMELESS


def _port(values: Mapping[str, str], mark: Mark) -> SeenPort:
    """Return the row of an entry; a port that is only a MAC address or a number is named by its description."""
    stated = {name: "" if value.lower() in NOTHING else value.strip('" ') for name, value in values.items()}
    far_device, far_port, text = (stated.get(name, "") for name in ("far_device", "far_port", "far_text"))
    if text and (MAC.fullmatch(far_port) or (far_port.isdigit() and not stated.get("guid"))):
        far_port = text
    has_neighbour = bool(far_device or far_port)
    lanes = _number(stated.get("lanes", "").lower().removesuffix("x"))
    state = stated.get("state", "").lower()
    return SeenPort(
        stated["device"],
        stated["port"],
        mark,
        _SERIAL.sub("", far_device) or (NAMELESS if has_neighbour else ""),
        far_port,
        _rate(stated, lanes),
        int(lanes) if lanes else None,
        state in ("down", "disabled", "polling"),
        stated.get("part", ""),
        _number(stated.get("error_rate", "")),
    )


def _rate(stated: Mapping[str, str], lanes: float | None) -> float | None:
    """Return the rate of a port as it is sold [Gb/s]: by the speed or line rate of a lane, or as stated."""
    if line_gbps := _number(stated.get("line_gbps", "")):
        return (lanes or INFINIBAND_LANES) * max((speed for speed in SPEEDS.values() if speed <= line_gbps), default=0)
    if lane_gbps := _number(stated.get("lane_gbps", "")):
        return (lanes or INFINIBAND_LANES) * lane_gbps
    speed = stated.get("speed", "").upper().removeprefix("IB-")
    if speed in SPEEDS:
        return (lanes or INFINIBAND_LANES) * SPEEDS[speed]
    return _number((stated.get("rate", "") or speed).upper().removesuffix("G"))


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def short_name(name: str, names: Callable[[str], bool]) -> str:
    """Return a device's name in lower case, without its domain unless the whole name satisfies `names`."""
    whole = name.lower()
    return whole if names(whole) else whole.partition(".")[0]


# names ----------------------------------------------------------------------------------------------------------------
# The planned device of each built one, and the planned ports of its port names.

Key = tuple[int, ...] | str
"""The numbers of a port name, or the name if it has none."""
MOST_ALIKE = 16
"""Planned switches with a cable between the same two ports up to which these ports say something of a switch."""
OWN_PORT_TOO = 3
"""Votes of a cable that has both ends in the planned ports; one with the far end in its port has one."""
LEAST_VOTES = 2
"""Servers that must agree on the name of a NIC: a name that only one has, such as a MAC address, is not learnt."""
LANES = {"qsfp-dd": 8, "qsfp": 4, "sfp": 1}
"""Electrical lanes of a cage, by which SONiC numbers ports; SFF-8665 and SFF-8431, and 8 for OSFP and others."""
MOST_LANES = 8
MANAGEMENT = re.compile(
    r"eth\d+|(?:mgmt|management|ma|em|fxp|me|vme|oob|bmc|meth|mge|m-gigabitethernet)[\d/]*", re.IGNORECASE
)
"""Management ports of switches and servers."""
NO_PORT = -1
"""A port that the plan does not have on the device."""
_SONIC = re.compile(r"Ethernet(\d{1,4})", re.IGNORECASE)
_SPEED = re.compile(r"^\d+ge(?=\d)", re.IGNORECASE)
"""The rate in front of a port's numbers, such as `400GE1/0/1`."""
_SUBINTERFACE = re.compile(r"(?<=\d)\.\d+$")
_DIGITS = re.compile(r"\d{1,6}")
_LETTERS = re.compile(r"\d+")


def port_key(name: str) -> Key:
    """Return what identifies a port on its device, however its interface type is written."""
    if MAC.fullmatch(name):
        return name.lower()
    plain = _SUBINTERFACE.sub("", _SPEED.sub("", name)) if not name.isdigit() else name
    return tuple(map(int, _DIGITS.findall(plain))) or name.lower()


class PlannedLinks:
    """The links of the plan, found by either end; devices and ports have the numbers of the wiring."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.names = wiring.names
        self.numbers = {name.lower(): number for number, name in enumerate(wiring.names)}
        self.kind = wiring.kind_numbers.tolist()
        self.is_switch = [kind.fabric is not None for kind in wiring.kinds]
        columns = (wiring.a_device, wiring.a_port, wiring.b_device, wiring.b_port)
        self.ends = [((a, p), (b, q)) for a, p, b, q in zip(*(column.tolist() for column in columns), strict=True)]
        self.link_at = {end: row for row, ends in enumerate(self.ends) for end in ends}
        self._ports = self._name_ports()

    def is_host(self, device: int) -> bool:
        """Return whether a device is no switch."""
        return not self.is_switch[self.kind[device]]

    def far_end(self, end: tuple[int | None, int | None]) -> tuple[int, int] | None:
        """Return the other end of the link at a port; None if the plan has none there."""
        row = self.link_at.get(end)
        return None if row is None else self.ends[row][self.ends[row][0] == end]

    def port(self, device: int, name: str, nics: Mapping[tuple[int, Key], int]) -> int | None:
        """Return the port that a name means on a device; `nics` are the learnt names by kind of device."""
        kind = self.kind[device]
        exact = self._ports.get((kind, name.lower()))
        if exact is not None:
            return exact
        if not self.is_switch[kind]:
            return nics.get((kind, port_key(name)))
        sonic = _SONIC.fullmatch(name)
        if sonic and (port := self._ports.get((kind, f"lane {int(sonic[1])}"))) is not None:
            return port
        return self._ports.get((kind, port_key(name)))

    def _name_ports(self) -> dict[tuple[int, Key], int]:
        """Return ports by kind of device and name: the name, its numbers, and those of InfiniBand and SONiC."""
        wiring, ports = self.wiring, dict[tuple[int, Key], int]()
        lanes = lanes_per_cage(wiring)
        sides = (
            (wiring.a_device, wiring.a_port, wiring.a_cage, wiring.a_lane),
            (wiring.b_device, wiring.b_port, wiring.b_cage, wiring.b_lane),
        )
        for side, (device, port, cage, lane) in enumerate(sides):
            rows = np.stack((wiring.kind_numbers[device], port, cage, lane, wiring.cable_type.astype(np.int64)), axis=1)
            for kind, number, in_cage, part, cable_type in np.unique(rows, axis=0).tolist() if len(rows) else ():
                name = wiring.ports[number]
                ports[kind, name.lower()] = number
                if not self.is_switch[kind]:
                    continue
                ports.setdefault((kind, port_key(name)), number)
                ports.setdefault((kind, (in_cage * int(lanes[kind]) + part + 1,)), number)
                if not _LETTERS.split(name)[0].lower().startswith("eth"):
                    electrical = _electrical_lanes(wiring, cable_type, side)
                    parts = wiring.cable_types[cable_type].links_per_cage[side]
                    first = in_cage * electrical + part * electrical // parts
                    ports.setdefault((kind, f"lane {first}"), number)
        return ports

    @cached_property
    def neighbours(self) -> Mapping[int, list[tuple[int, int]]]:
        """Return the far ends of the links of each device."""
        neighbours = defaultdict[int, list[tuple[int, int]]](list)
        for first, second in self.ends:
            neighbours[first[0]].append(second)
            neighbours[second[0]].append(first)
        return neighbours

    @cached_property
    def alike(self) -> Mapping[tuple[int, int, int | None, int | None], list[int]]:
        """Return the devices with a cable between two ports, by both kinds and ports, of switches and their hosts."""
        alike = defaultdict[tuple[int, int, int | None, int | None], list[int]](list)
        for ends in self.ends:
            for (device, port), (far, far_port) in (ends, ends[::-1]):
                alike[self.kind[device], self.kind[far], port, far_port].append(device)
        return alike


def _electrical_lanes(wiring: Wiring, cable_type: int, side: int) -> int:
    medium = wiring.cable_types[cable_type].medium
    module = (medium.lower, medium.upper)[side] if medium else None
    cable = medium.cable if medium else None
    end = (cable.a, cable.b)[side] if cable else None
    cage = module.cage if module else end.cage if end else ""
    return next((lanes for form, lanes in LANES.items() if cage.startswith(form)), MOST_LANES)


class SeenEnd(NamedTuple):
    """One end of a built cable: the device as it was seen, its port, and what identifies the port."""

    device: str
    port: str
    key: Key


class SeenLink(NamedTuple):
    """A built cable, from one or both ends."""

    ends: tuple[SeenEnd, SeenEnd]
    rows: tuple[SeenPort, ...]
    """What was stated of it, first at its first end."""


class Names(NamedTuple):
    """The planned devices and ports of what was seen."""

    devices: Mapping[str, int]
    votes: Mapping[str, tuple[int, int]]
    """Of a device that its cables name: those that vote for it, and all."""
    unnamed: tuple[str, ...]
    nics: Mapping[tuple[int, Key], int]
    agreeing: Mapping[tuple[int, Key], tuple[str, int, int]]
    """Of a learnt name: the name as seen, the servers that agree, and those that have it."""
    exchanged: tuple[tuple[int, int], ...]
    """Devices that have each other's cables; `devices` has them by their cables."""

    def end(self, end: SeenEnd, planned: PlannedLinks) -> tuple[int | None, int | None]:
        """Return the planned device and port of an end; None where they are not known, NO_PORT for one not planned."""
        device = self.devices.get(end.device)
        if device is None:
            return None, None
        port = planned.port(device, end.port, self.nics)
        is_stated = end.port and not planned.is_host(device) and not MAC.fullmatch(end.port)
        return device, NO_PORT if port is None and is_stated else port


def pair_ports(ports: Iterable[SeenPort], planned: PlannedLinks) -> list[SeenLink]:
    """Return the built cables: two ports that have each other as neighbours are one."""
    links = dict[tuple[tuple[str, Key], tuple[str, Key]], SeenLink]()

    def end(device: str, port: str) -> SeenEnd:
        return SeenEnd(short_name(device, planned.numbers.__contains__), port, port_key(port))

    for row in ports:
        if not row.far_device or row.is_down:
            continue
        ends = (end(row.device, row.port), end(row.far_device, row.far_port))
        key, turned = ((first[::2], second[::2]) for first, second in (ends, ends[::-1]))
        link = links.get(turned) or links.get(key)
        links[turned if turned in links else key] = (
            link._replace(rows=(*link.rows, row)) if link else SeenLink(ends, (row,))
        )
    return list(links.values())


def name_devices(links: Sequence[SeenLink], planned: PlannedLinks, given: Mapping[str, str]) -> Names:
    """Return the planned devices of built ones: as `given`, by name, then by their cables."""
    of_device = defaultdict[str, list[tuple[SeenEnd, SeenEnd]]](list)
    for link in links:
        for near, far in (link.ends, link.ends[::-1]):
            if near.device != NAMELESS:
                of_device[near.device].append((near, far))
    numbers = {device: planned.numbers.get(given.get(device, device)) for device in of_device}
    named = {device: number for device, number in numbers.items() if number is not None}
    stated = tuple(named)
    _elect_devices(of_device, planned, named)
    # How many cables of a device the plan has at each planned device, by their far ends.
    claims = {
        device: Counter(number for _, number, _ in _planned_neighbours(cables, planned, named))
        for device, cables in of_device.items()
    }
    exchanged = _find_exchanged(stated, claims, named)
    for device in stated:
        for pair in exchanged:
            if named[device] in pair:
                named[device] = pair[named[device] == pair[0]]
                break
    nics, agreeing = _learn_nics(links, planned, named)
    votes = {
        device: (claims[device][number], claims[device].total())
        for device, number in named.items()
        if device not in stated
    }
    unnamed = tuple(device for device in of_device if device not in named)
    return Names(named, votes, unnamed, nics, agreeing, exchanged)


def _planned_neighbours(
    cables: Iterable[tuple[SeenEnd, SeenEnd]], planned: PlannedLinks, named: Mapping[str, int]
) -> Iterator[tuple[SeenEnd, int, int]]:
    """Yield the near end of cables with the device and port that the plan has at their far ends."""
    for near, far in cables:
        device = named.get(far.device)
        port = None if device is None else planned.port(device, far.port, {})
        if device is not None and port is not None and (end := planned.far_end((device, port))):
            yield near, *end


def _find_exchanged(
    stated: Iterable[str], claims: Mapping[str, Counter[int]], named: Mapping[str, int]
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of named devices of which each has most of its cables where the plan has those of the other."""
    claimed = dict[int, int]()
    for device in stated:
        for other, votes in claims[device].most_common(1):
            if other != named[device] and votes >= LEAST_VOTES and votes * 2 > claims[device].total():
                claimed[named[device]] = other
    return tuple(
        (device, other) for device, other in claimed.items() if device < other and claimed.get(other) == device
    )


def _elect_devices(
    of_device: Mapping[str, Sequence[tuple[SeenEnd, SeenEnd]]], planned: PlannedLinks, named: dict[str, int]
) -> None:
    """Add the devices without a planned name to `named`, the clearest of each round, until no cable tells more."""
    counts = {device: _count_port_pairs(cables, planned) for device, cables in of_device.items() if device not in named}
    taken, elected, is_first = set(named.values()), list(named), True
    while elected or is_first:
        is_first = False
        for device in elected:
            for near, far in of_device[device]:
                if far.device in counts:
                    counts[far.device].update(_list_votes(far, near, planned, named))
        leads = sorted(((*_lead(count, taken), device) for device, count in counts.items()), reverse=True)
        elected = []
        for lead, number, device in leads:
            if lead and lead * 2 > leads[0][0] and number not in taken:
                named[device] = number
                taken.add(number)
                elected.append(device)
                del counts[device]


def _lead(count: Counter[int], taken: Collection[int]) -> tuple[int, int]:
    """Return by how many votes which planned device leads; 0 for a tie."""
    ranked = sorted(((votes, number) for number, votes in count.items() if number not in taken), reverse=True)
    (votes, number), (next_votes, _), *_ = [*ranked, (0, 0), (0, 0)]
    return votes - next_votes, number


def _list_votes(near: SeenEnd, far: SeenEnd, planned: PlannedLinks, named: Mapping[str, int]) -> Iterator[int]:
    """Yield the planned devices for which a cable with a named far device votes; of a host, by the near port alone."""
    for _, elected, port in _planned_neighbours(((near, far),), planned, named):
        yield from [elected] * (OWN_PORT_TOO if planned.port(elected, near.port, {}) == port else 1)
    if planned.is_host(named[far.device]):
        for elected, port in planned.neighbours[named[far.device]]:
            if planned.port(elected, near.port, {}) == port:
                yield elected


def _count_port_pairs(cables: Iterable[tuple[SeenEnd, SeenEnd]], planned: PlannedLinks) -> Counter[int]:
    """Return how many of the cables the plan has at each device between the same ports, if few devices have them."""
    count = Counter[int]()
    switches = [kind.start for kind in planned.wiring.kinds if kind.fabric is not None and kind.number]
    for near, far in cables:
        for own, other in product(switches, switches):
            port, far_port = planned.port(own, near.port, {}), planned.port(other, far.port, {})
            alike = planned.alike.get((planned.kind[own], planned.kind[other], port, far_port), ())
            count.update(alike if len(alike) <= MOST_ALIKE else ())
    return count


def _learn_nics(
    links: Sequence[SeenLink], planned: PlannedLinks, named: Mapping[str, int]
) -> tuple[dict[tuple[int, Key], int], dict[tuple[int, Key], tuple[str, int, int]]]:
    """Return the ports that most servers of a kind have under a name, and how many agree."""
    votes, shown = defaultdict[tuple[int, Key], Counter[int]](Counter), dict[tuple[int, Key], str]()
    for link in links:
        for near, far in (link.ends, link.ends[::-1]):
            for _, elected, port in _planned_neighbours(((near, far),), planned, named):
                if named.get(near.device) == elected and planned.port(elected, near.port, {}) is None:
                    name = planned.kind[elected], near.key
                    votes[name][port] += 1
                    shown.setdefault(name, near.port)
    nics, agreeing = dict[tuple[int, Key], int](), dict[tuple[int, Key], tuple[str, int, int]]()
    for name, ports in votes.items():
        port, agree = ports.most_common(1)[0]
        if agree >= LEAST_VOTES and agree > ports.total() - agree and name[1] != ():
            nics[name] = port
            agreeing[name] = (shown[name], agree, ports.total())
    return nics, agreeing
