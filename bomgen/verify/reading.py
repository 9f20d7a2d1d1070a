"""Outputs of devices as rows, one per port: which neighbour it has, at which rate, with which module.

The forms are declared in `data/output-forms.yaml` and recognised by what they have. No output of a switch names the
switch itself: the name of its file does. Whatever the form, each row keeps its file and line.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from pathlib import PurePath
from typing import Any, NamedTuple

from bomgen.cabling.types import INFINIBAND_LANES
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
