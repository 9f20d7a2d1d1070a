"""The catalogue as documents, as a schema with which editors complete part ids, and the user's folders of parts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.cross_checks import contradictions, cross_check, numbers_in_conflict, records_by_number
from bomgen.catalog.files import (
    ANY_LENGTH,
    KINDS,
    LENGTH_CODE,
    MODEL,
    NOT_PARTS,
    Catalog,
    Record,
    UnknownPart,
    named_length,
)
from bomgen.catalog.identity import identity
from bomgen.catalog.part_file_checks import UNVERIFIED, number_sources, plausible_ranges
from bomgen.catalog.search import search
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.document import Cell, Column, ColumnKind, Document, Row, Section, Table, Value, row_of
from bomgen.core.jobs import MAX_STEPS, OF_NAME, TooMuch, budget, spend
from bomgen.core.messages import ENGLISH, suggestion
from bomgen.core.provenance import Mark
from bomgen.core.resources import IDS
from bomgen.core.safety import quote
from bomgen.core.units import parse
from bomgen.core.yaml_source import SUFFIXES
from bomgen.fabric import types as fabric_types
from bomgen.plan.schema import PLAN, with_defaults
from bomgen.workflow.plan_files import checkout

INDENT = "  "
"""Indentation of the fields of a figure."""
_OF_INTEREST = {
    "gpu": ("bf16_tflops", "memory", "power"),
    "server": ("gpu", "gpus", "nics", "power"),
    "nic": ("ports", "port_gbps", "cage"),
    "switch": ("ports", "port_gbps", "cage", "protocol"),
    "transceiver": ("rate_gbps", "optic", "reach", "cage"),
    "cable": ("kind", "rate_gbps"),
    "appliance": ("rack_units", "power"),
    "accessory": ("category", "cooling"),
    "storage": ("read", "write", "capacity", "ports", "port_gbps"),
    "rack": ("rack_units", "width_mm", "depth_mm", "weight"),
    "pdu": ("power", "rack_units", "weight"),
    "panel": ("ports", "connectors", "rack_units"),
    "connection": ("code", "confidence"),
    "model": ("parameters", "active_parameters", "layers", "hidden"),
    "run": ("active_parameters", "tokens", "gpu", "gpu_hours"),
}
UNITS_OF_CONDITIONS = ("Gb/s", "W", "m", "bytes", "kg")
"""Units in which a condition and a catalogue value are compared."""


def kinds(catalog: Catalog) -> Document:
    """Return a document that lists the kinds of part and the number of parts of each."""
    rows = [(kind, len(catalog.ids(kind))) for kind in KINDS]
    return _listed({"Kind": "text", "Number": "number"}, [*rows, ("topology", len(fabric_types.topologies()))])


def _listed(columns: Mapping[str, ColumnKind], rows: Iterable[Sequence[Value]]) -> Document:
    shown = tuple(Row(tuple(map(Cell, row))) for row in rows)
    heads = tuple(Column(title, title, kind) for title, kind in columns.items())
    return Document("", ENGLISH, (Section("list", "", tables=(Table("list", "", heads, shown),)),))


def topologies_listed() -> Document:
    """Return a document with each topology, its limits and a drawing."""
    sections = (Section(entry.name, entry.name, tuple(_drawn(entry))) for entry in fabric_types.describe_topologies())
    return Document("", ENGLISH, tuple(sections))


def topology(name: str) -> Document:
    """Return a document about one topology: its limits, a drawing, and its options in a plan."""
    entry = fabric_types.topology(name)
    options = entry.options["properties"] if entry.options else {}
    rows = tuple(row_of(key, schema["description"]) for key, schema in options.items())
    title = f"under `{entry.name}:` of a fabric"
    tables = (Table("options", title, (Column("key", ""), Column("description", "")), rows),) if rows else ()
    return Document(f"topology {entry.name}", ENGLISH, (Section(entry.name, "", tuple(_drawn(entry)), tables),))


def _drawn(topology: fabric_types.Topology) -> Iterator[str]:
    yield topology.limits
    yield ""
    yield from (f"  {line}".rstrip() for line in topology.drawing.splitlines())


def parts_of(catalog: Catalog, kind: str) -> Document:
    """Return a document that lists the parts of a kind: id, name and a few figures."""
    rows = [
        (record.id, record.value("name"), *("" if value is None else _plain(value) for value in _figures_of(record)))
        for record in catalog.all(kind)
    ]
    figures = list(zip(*rows, strict=True))[len(("id", "name")) :]
    heads = (key.replace("_", " ").capitalize() for key in _OF_INTEREST[kind])
    kinds: Iterator[ColumnKind] = (
        "number" if all(text[:1].isdigit() or not text for text in texts) else "text" for texts in figures
    )
    columns: dict[str, ColumnKind] = {"Id": "text", "Name": "text", **dict(zip(heads, kinds, strict=True))}
    return _listed(columns, rows)


def parts_named(catalog: Catalog, text: str, kind: str = "", id: str | None = None) -> tuple[Document, str]:
    """Return a document about the part that a number, alias or id denotes, and what was read as its number.

    Several parts that share it, or have all words of the text, are listed. The text may be a kind and the id of one of
    its parts. Raises UnknownPart or ValueError if there is none, with what comes nearest.
    """
    from bomgen.reading.part_numbers import PartIndex

    unknown = None
    if kind in KINDS and id:
        try:
            return part(catalog, kind, id), text
        except UnknownPart as error:
            unknown = error
    wanted = text.lower()
    parts = [(kind, record.id) for kind in NOT_PARTS for record in catalog.all(kind) if wanted in record.names]
    if not parts:
        with suppress(UnknownPart):
            parts = [(MODEL, catalog.find_original(MODEL, text).id)]
    number, nearby = text, search(catalog, text) if not parts and len(text.split()) > 1 else None
    if not (parts or (nearby and nearby.parts)):
        looked_up = PartIndex(catalog).look_up(text)
        parts, number = sorted(looked_up.parts), looked_up.number
    if not parts:
        nearby = nearby or search(catalog, text)
        parts = [(record.kind, record.id) for record in nearby.parts]
        if unknown and not (parts or nearby.why):
            raise unknown
        if not parts:
            why = f": {nearby.why}" if nearby.why else ""
            near = ", ".join(f"{record.kind} {record.id}" for record in nearby.nearest)
            remedy = f"nearest: {near}" if near else f"the kinds of part are {', '.join(KINDS)}"
            raise ValueError(f"{quote(text, MAX_NAME)} is not in the catalogue{why}; {remedy}")
    if len(parts) == 1:
        return part(catalog, *parts[0]), number
    return _described([catalog.find_original(kind, id) for kind, id in parts]), number


def _described(records: Iterable[Record]) -> Document:
    rows = ((f"{record.kind} {record.id}", record.value("name"), summary(record)) for record in records)
    return _listed(dict.fromkeys(("Part", "Name", "Figures"), "text"), rows)


def parts_where(catalog: Catalog, kinds: Sequence[str], conditions: str) -> Document:
    """Return a document that lists the parts that meet all conditions, such as `rate=800G fibre=single-mode`.

    A key may be the beginning of a field name; a value may be in any unit. Raises ValueError for a condition without a
    value, and for a key that no part has.
    """
    pairs = [condition.partition("=") for condition in conditions.split()]
    if wrong := [key for key, sign, value in pairs if not (sign and key and value)]:
        raise ValueError(f"'{wrong[0]}' is not a condition; write FIELD=VALUE, such as rate=800G")
    records = [record for kind in kinds for record in catalog.all(kind)]
    fields = {key for record in records for key in record.data}
    for key, _, _ in pairs:
        if not any(field.startswith(key) for field in fields):
            raise ValueError(f"no part has a field '{key}'; {suggestion(key, fields, 'see one in full')}")
    return _described(record for record in records if all(_meets(record, key, value) for key, _, value in pairs))


def _meets(record: Record, key: str, value: str) -> bool:
    """Return whether a field whose name begins with `key` has a value; of a list, any element counts."""
    names = [key] if key in record.data else [field for field in record.data if field.startswith(key)]
    held = [element for name in names for element in _values(record.value(name))]
    return any(_same(element, value) for element in held)


def _values(held: Any) -> Iterator[Any]:
    if isinstance(held, list):
        for element in held:
            yield from _values(element)
    elif held is not None:
        yield held


def _same(held: Any, wanted: str) -> bool:
    if str(held).lower() == wanted.lower():
        return True
    for unit in UNITS_OF_CONDITIONS:
        with suppress(ValueError, TypeError):
            if parse(str(wanted), unit) == parse(held if isinstance(held, int) else str(held), unit):
                return True
    return False


def audit(catalog: Catalog, kinds: Sequence[str]) -> Document:
    """Return a document of weak facts: unknown, with low confidence, or read a year before the newest source.

    Figures that contradict each other follow. With part folders of the user it lists the facts of their files alone.
    """
    records = [record for kind in kinds for record in catalog.all(kind)]
    if catalog.folders:
        records = [record for record in records if not record.built_in]
    days = [str(source.get("read", "")) for record in records for source in record.data.get("sources", {}).values()]
    newest = max(days, default="")
    limit = f"{int(newest[:4]) - 1}{newest[4:]}" if newest else ""
    rows = list[tuple[str, ...]]()
    for record in records:
        sources = record.data.get("sources", {})
        for path, figure in _figures(record.data):
            names = figure.get("source", ())
            names = [names] if isinstance(names, str) else names
            read = max((str(sources.get(name, {}).get("read", "")) for name in names), default="")
            reasons = []
            if figure["value"] is None:
                reasons.append("not known")
            elif figure.get("confidence") == "low":
                reasons.append("one weak source" if names != [UNVERIFIED] else "not looked up")
            if read and read < limit:
                reasons.append(f"read {read}")
            if reasons:
                rows.append((f"{record.kind} {record.id}", path, ", ".join(reasons)))
        rows += [(f"{record.kind} {record.id}", key, "no source") for key in _without_source(record)]
        rows += [(f"{record.kind} {record.id}", key, text) for key, text in contradictions(record, catalog)]
    return _listed(dict.fromkeys(("Part", "Figure", "Why"), "text"), rows)


def _without_source(record: Record) -> Iterator[str]:
    """Yield the figures that a part file of the user gives as plain values."""
    for key in () if record.built_in else plausible_ranges(record.kind):
        stated = (key,) in record.source.keys and record.value(key) is not None
        if stated and not isinstance(record.data[key], dict):
            yield key


def _figures(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(data, dict) and "value" in data:
        yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _figures(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from _figures(value, f"{path}.{at}")


@cache
def part_descriptions(kind: str) -> dict[str, tuple[str, str]]:
    """Return the name and the description of each part of a kind in the built-in catalogue."""
    return {record.id: (str(record.value("name")), describe_part(record)) for record in Catalog().all(kind)}


def describe_part(record: Record) -> str:
    """Return a description of a part on one line: vendor and a few figures."""
    vendor = record.value("vendor")
    return ": ".join(text for text in (vendor and str(vendor), summary(record)) if text)


def summary(record: Record) -> str:
    """Return a few figures of a part on one line."""
    pairs = zip(_OF_INTEREST[record.kind], _figures_of(record), strict=True)
    return ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in pairs if value is not None)


def _figures_of(record: Record) -> list[Any]:
    values = {key: record.value(key) for key in _OF_INTEREST[record.kind]} | _counted(record)
    return list(values.values())


def part(catalog: Catalog, kind: str, name: str) -> Document:
    """Return a document about one part: each figure with its confidence and sources, and the list of sources.

    Raises UnknownPart if there is no such part.
    """
    record = catalog.find(kind, name)
    rows = list[tuple[str, ...]]()
    if length := named_length(record.id, name):
        rows.append(("length", f"{float(length):g} m", ""))
    for key, raw in (record.data | _counted(record)).items():
        if key != "sources":
            rows += _entry(key, raw, "")
    numbers = [(row.number, row.vendor, row.variant, row.source) for row in record.order_numbers]
    described = record.data.get("sources", {}) | number_sources(row.source for row in record.order_numbers)
    sources = [(id, source["title"], source.get("url", "")) for id, source in described.items()]
    tables = [
        Table(
            title,
            title if title != "figures" else "",
            tuple(Column(key, "") for key in keys.split()),
            tuple(Row(tuple(map(Cell, row))) for row in of),
        )
        for title, keys, of in (
            ("figures", "key value source", rows),
            ("order numbers", "number vendor variant source", numbers),
            ("sources", "id title url", sources),
        )
        if of
    ]
    return Document(f"{kind} {record.id}", ENGLISH, (Section("part", "", tables=tuple(tables)),))


def _counted(record: Record) -> dict[str, Any]:
    if record.kind != "model":
        return {}
    try:
        model = part_records.model(record)
    except PlanErrors:
        return {}
    return {"parameters": model.parameters.value, "active_parameters": model.active_parameters.value}


def _entry(key: str, raw: Any, indent: str) -> Iterator[tuple[str, str, str]]:
    label = indent + key.replace("_", " ")
    if isinstance(raw, dict) and "value" in raw:
        names = raw.get("source", [])
        source = ", ".join([names] if isinstance(names, str) else names)
        note = f" ({raw['note']})" if raw.get("note") else ""
        yield label, _plain(raw["value"]), f"[{raw.get('confidence', 'given')}: {source}]{note}"
    elif isinstance(raw, dict):
        yield label, "", ""
        for below, value in raw.items():
            yield from _entry(str(below), value, indent + INDENT)
    elif isinstance(raw, list) and raw and isinstance(raw[0], dict | str):
        for at, item in enumerate(raw):
            held = item.items() if isinstance(item, dict) else ()
            yield label if not at else "", ", ".join(f"{name} {_plain(value)}" for name, value in held) or item, ""
    else:
        yield label, _plain(raw), ""


def _plain(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return _plain(value["value"]) if "value" in value else ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
    return (
        value if isinstance(value, str) else f"{value if isinstance(value, int) else float(value):,}".replace(",", " ")
    )


# editor schema ------------------------------------------------------------------------------------------------------
# The schema of plans with the ids of a catalogue, for editors: they complete and describe an id, and underline errors.
#
# `x-catalog` in the schema names the kinds whose ids are a value, or a key. For a value the ids are proposed with a
# description, and a text must be an id, a part number or an alias of a part. A key may be any text: price books and
# stock have parts that are not in a catalogue.

KEYS = "propertyNames"
EXAMPLES = "examples"
_SYNTAX = re.compile(r"[$()*+./?\[\\\]^{|}]")
"""Characters that JavaScript patterns require a backslash before."""
A_LENGTH = "030"
"""A length code in a cable id: 30 m."""
DEFINITION = "catalog-"
"""Prefix of the schema definitions that hold part ids."""


def plan_schema(catalog: Catalog, name: str = PLAN) -> dict[str, Any]:
    """Return the schema of plans, or of plan bases, which proposes catalogue ids wherever an id is expected.

    Raises PlanErrors for an invalid part file of the user.
    """
    schema: dict[str, Any] = _without_mapping_examples(with_defaults(name))
    nodes = list(_places(schema))
    wanted = {tuple(node[IDS]) for _, node in nodes}
    for key, node in nodes:
        kinds = node.pop(IDS)
        if key == KEYS:
            ids = dict.fromkeys(id for kind in kinds for id in catalog.ids(kind))
            node["anyOf"] = [{"enum": list(ids)}, {"type": "string"}]
        else:
            node["allOf"] = [*node.get("allOf", ()), {"$ref": f"#/$defs/{DEFINITION}{'-'.join(kinds)}"}]
    for kinds in sorted(wanted):
        schema["$defs"][DEFINITION + "-".join(kinds)] = _ids(catalog, kinds)
    return schema


def _places(data: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(data, dict):
        if IDS in data:
            yield key, data
        for name, below in data.items():
            yield from _places(below, name)
    elif isinstance(data, list):
        for below in data:
            yield from _places(below, key)


def _without_mapping_examples(data: Any) -> Any:
    """Return a schema without examples that are mappings, which yaml-language-server shows as `[object Object]`."""
    if isinstance(data, list):
        return [_without_mapping_examples(element) for element in data]
    if not isinstance(data, dict):
        return data
    copy = {key: _without_mapping_examples(value) for key, value in data.items() if key != EXAMPLES}
    examples = data.get(EXAMPLES, [])
    if isinstance(examples, dict):  # a key of plans by that name, not the keyword
        return copy | {EXAMPLES: _without_mapping_examples(examples)}
    kept = [example for example in examples if not isinstance(example, dict)]
    return copy | {EXAMPLES: kept} if kept else copy


def _ids(catalog: Catalog, kinds: Sequence[str]) -> dict[str, Any]:
    """Return a schema for the ids of kinds, for other names of their parts, and for values other than text."""
    records = [record for kind in kinds for record in catalog.all(kind)]
    choices = [
        {"const": record.id, "title": str(record.value("name")), "description": describe_part(record)}
        for record in records
    ]
    # JSON Schema has no flag for either case
    pattern = f"^(?:{'|'.join(sorted({_form(name) for record in records for name in record.names}))})$"
    several = " or ".join(kinds)
    other_name = {"type": "string", "title": f"{several[:1].upper()}{several[1:]} by another name"}
    text = {"type": "string"}
    named = {
        "pattern": pattern + (OF_PUBLISHER if MODEL in kinds else ""),
        "patternErrorMessage": f"no {several} of this name is in the catalogue that this schema was written for",
    }
    return {"anyOf": [*choices, other_name, {"not": text}], "if": text, "then": text | named}


OF_PUBLISHER = "|^.+/.+$"
"""The pattern of names with a publisher, such as `Qwen/Qwen3-32B`, whose endings are too many to list."""


def _form(name: str) -> str:
    """Return a name as a pattern; that of a cable family matches any length."""
    start, family, end = name.rpartition(ANY_LENGTH)
    if family and LENGTH_CODE.search(f"{start}{A_LENGTH}{end}"):
        return f"{_either_case(start)}(?:{_either_case(family)}|[0-9]{{2}}[0-9aA]){_either_case(end)}"
    return _either_case(name)


def _either_case(text: str) -> str:
    return "".join(
        f"[{sign}{sign.upper()}]" if sign.isascii() and sign.isalpha() else _SYNTAX.sub(r"\\\g<0>", sign)
        for sign in text
    )


# folders of parts -----------------------------------------------------------------------------------------------------
# Every file of a folder is checked, whether a plan uses it or not.

FORM = "part files are in folders by kind, such as switch/ID.yaml"
OUTSIDE = f"a part file outside the folder of its kind; {FORM}, and a plan is checked by its own name"
LINK = "outside-root"
MAX_NAME = 100
"""Characters of a file name that a message repeats."""
_READERS: Mapping[str, Callable[[Record, Catalog], Any]] = {
    "gpu": lambda record, _: part_records.gpu(record),
    "server": lambda record, _: part_records.server(record),
    "nic": lambda record, _: part_records.nic(record),
    "switch": lambda record, _: part_records.switch(record),
    "transceiver": part_records.module,
    "cable": part_records.cable,
    "appliance": lambda record, _: part_records.appliance(record),
    "accessory": lambda record, _: identity(record),
    "storage": lambda record, _: part_records.storage_system(record),
    "rack": lambda record, _: part_records.rack(record),
    "pdu": lambda record, _: part_records.pdu(record),
    "panel": lambda record, _: part_records.panel(record),
    "model": lambda record, _: part_records.model(record),
}
"""What reads every figure of a record, by kind."""
_NAMED = (("server", "gpu", "gpu"), ("server", "nic", "nic"), ("server", "storage_nic", "nic"))
"""Fields that name a part: kind of the record, field, kind of the part."""


def open_folders(names: Sequence[str], root: str | None = None) -> Catalog:
    """Return the catalogue with part folders given on the command line, the first of which wins.

    Raises PlanErrors for a folder that leads out of the root: its checkout, or the folder itself.
    """
    folders, shown, roots = list[Path](), dict[Path, str](), dict[Path, Path]()
    for name in names:
        path = Path(os.path.realpath(name))
        widest = (Path(root) if root else checkout(Path(os.path.abspath(name)))).resolve()
        if not path.is_relative_to(widest):
            message = "the folder leads out of its folder tree; name the folder itself, or widen it with --root"
            raise PlanErrors([_problem(name, message, LINK)])
        folders.append(path)
        shown[path] = name.rstrip("/") or name
        roots[path] = widest
    return Catalog(tuple(folders), shown, None, roots)


class CheckedFolder(NamedTuple):
    """What a check of a part folder found."""

    problems: Sequence[Problem]
    """In the order of the files."""
    files: int
    contents: Mapping[str, bytes]
    """The files that were read, by their name in messages."""


def check_folder(name: str, root: str | None = None) -> CheckedFolder:
    """Check every file of a part folder. Raises PlanErrors as `open_folders`, and for a folder that cannot be read."""
    catalog = open_folders([name], root)
    problems, records = list[Problem](), list[Record]()
    try:
        with budget():
            files, problems = _list_files(catalog)
            for kind, id, mark in files:
                try:
                    record = catalog.find_original(kind, id)
                    records.append(record)
                    problems += _problems_of(record, catalog)
                except PlanErrors as errors:
                    problems += errors.problems
                except UnknownPart as error:
                    problems.append(Problem(mark, "error", str(error), "unknown-part"))
            kinds = sorted({record.kind for record in records})
            problems += numbers_in_conflict(records, _known_numbers(kinds, records))
    except TooMuch:
        message = f"more than {MAX_STEPS} steps of work; split the folder, and check each part of it"
        return CheckedFolder([*problems, _problem(name, message, "work-limit")], len(records), catalog.inputs)
    in_order = sorted(set(problems), key=lambda problem: (problem.mark, problem.message))
    return CheckedFolder(in_order, len(files), catalog.inputs)


def _known_numbers(kinds: Sequence[str], records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the built-in parts of some kinds and the user's own by number; invalid files of the user are left out."""
    own_ids = {(record.kind, record.id) for record in records}
    built_in = records_by_number(Catalog(), kinds)
    kept = {number: [one for one in parts if (one.kind, one.id) not in own_ids] for number, parts in built_in.items()}
    for record in records:
        for number in {str(record.value(key) or "").lower() for key in ("part_number", "ordering_number")}:
            kept.setdefault(number, []).append(record)
    return kept


def _problems_of(record: Record, catalog: Catalog) -> Iterator[Problem]:
    if read := _READERS.get(record.kind):
        try:
            read(record, catalog)
        except PlanErrors as errors:
            yield from errors.problems
            return
    yield from _unknown_parts(record, catalog)
    yield from cross_check(record, catalog)


def _unknown_parts(record: Record, catalog: Catalog) -> Iterator[Problem]:
    named: list[tuple[tuple[str | int, ...], str, str]] = [
        ((field,), kind, str(record.value(field)))
        for of, field, kind in _NAMED
        if of == record.kind and isinstance(record.value(field), str)
    ]
    named += [(("replaces", at), record.kind, str(id)) for at, id in enumerate(record.value("replaces") or ())]
    for at, required in enumerate(record.data.get("requires", ())):
        for name in required.get("choose") or [required["part"]]:
            named.append((("requires", at), "", str(name)))
    for path, kind, name in named:
        if (str(path[0]),) not in record.source.keys:
            continue  # of the built-in part that the file changes
        try:
            catalog.find_original(kind, name) if kind else catalog.find_part(name)
        except UnknownPart as error:
            yield Problem(record.source.mark(path), "error", str(error), "unknown-part", str(path[0]))
        except PlanErrors:
            continue  # reported at its own file


def _list_files(catalog: Catalog) -> tuple[list[tuple[str, str, Mark]], list[Problem]]:
    """Return kind, id and place of every part file of the first folder, and a problem for each other YAML file."""
    top = catalog.folders[0]
    shown = catalog.shown[top]
    files, problems = list[tuple[str, str, Mark]](), list[Problem]()
    for entry in _entries(top, shown):
        name = f"{shown}/{entry.name}"
        if not entry.is_dir():
            if entry.name.endswith(SUFFIXES):
                problems.append(_problem(name, OUTSIDE, "part-place"))
        elif entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(catalog.roots[top]):
            problems.append(
                _problem(name, "a link that leads out of the folder tree; put the folder itself here", LINK)
            )
        elif entry.name in KINDS:
            for below in _entries(Path(entry.path), name):
                file = f"{name}/{below.name}"
                if misplaced := _misplaced(below, file):
                    problems.append(_problem(file, misplaced, "part-place"))
                elif below.name.endswith(".yaml"):
                    files.append((entry.name, below.name.removesuffix(".yaml"), Mark(file, 1, 1)))
        elif _has_part_files(entry, name):
            message = f"no kind of part {quote(entry.name, MAX_NAME)}; {suggestion(entry.name, KINDS)}"
            problems.append(_problem(name, message, "part-place"))
    if not files and not problems:
        problems.append(_problem(shown, f"no part files in this folder; {FORM}", "empty"))
    return files, problems


def _entries(path: Path, shown: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name, without hidden ones.

    Raises PlanErrors for a folder that cannot be read, TooMuch for a huge one.
    """
    visible = list[os.DirEntry[str]]()
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                spend(OF_NAME)
                if not entry.name.startswith("."):
                    visible.append(entry)
    except OSError as error:
        message = f"the folder of parts cannot be read ({error.strerror}); make it readable"
        raise PlanErrors([_problem(shown, message, "no-file")]) from None
    return sorted(visible, key=lambda entry: entry.name)


def _has_part_files(entry: os.DirEntry[str], shown: str) -> bool:
    return any(below.name.endswith(SUFFIXES) for below in _entries(Path(entry.path), shown))


def _misplaced(entry: os.DirEntry[str], shown: str) -> str:
    """Return why an entry in the folder of a kind, which looks like a part file, is not read; empty if it is read."""
    if entry.is_dir():
        return f"part files in a folder below that of their kind; {FORM}" if _has_part_files(entry, shown) else ""
    stem, suffix = os.path.splitext(entry.name)
    if suffix not in SUFFIXES:
        return ""
    if suffix != ".yaml":
        return f"not read, because part files end in .yaml; rename it to {quote(f'{stem}.yaml', MAX_NAME)}"
    if not Catalog.is_id(stem):
        return f"{quote(stem, MAX_NAME)} is not an id; name the file in lower-case letters, digits, dots and hyphens"
    return "" if entry.is_file() else "not a regular file; put the part file itself here"


def _problem(name: str, message: str, rule: str) -> Problem:
    return Problem(Mark(name, 1, 1), "error", message, rule)
