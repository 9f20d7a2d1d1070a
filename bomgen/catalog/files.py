"""The catalogue's files: one YAML file per part, model or assumption, read on demand.

An id is a file's name, so a part is found without reading the others; part numbers and aliases are searched only when
no id matches. The user's part folders take precedence over the built-in data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from bomgen.catalog.link_words import with_canonical_words
from bomgen.catalog.models import bare_names, kind_of_unsized, untuned
from bomgen.catalog.part_file_checks import (
    EXTENDS,
    MAX_QUOTED,
    SOURCES,
    UNVERIFIED,
    OrderNumber,
    implausible_figures,
    numbers_by_length,
    order_numbers,
    undescribed_sources,
    with_base,
    with_shared_sources,
)
from bomgen.core import schema
from bomgen.core.diagnostics import PlanErrors, error_at, nearest
from bomgen.core.jobs import OF_NAME, OF_PART, OF_PART_LOOKUP, report_read, spend
from bomgen.core.messages import Message, message, record_text
from bomgen.core.provenance import Assumed, Cited, Figure, Given, Origin, Reference
from bomgen.core.resources import BrokenInstallation, folder, text
from bomgen.core.safety import quote, refuse_git_files
from bomgen.core.units import parse
from bomgen.core.yaml_source import MAX_BYTES, Source, decoded, own, read
from bomgen.core.yaml_source import Path as Steps

Arguments = TypeVarTuple("Arguments")
Kept = TypeVar("Kept")

KINDS = (
    "gpu",
    "server",
    "nic",
    "switch",
    "transceiver",
    "cable",
    "appliance",
    "accessory",
    "storage",
    "rack",
    "pdu",
    "panel",
    "connection",
    "model",
    "run",
)

MODEL = "model"
SERVER = "server"
ACCESSORY = "accessory"
"""The kind of parts that are bought because other parts require them."""


NOT_PARTS = ("connection", "model", "run")
"""Kinds of records that are not parts; their schemas are in the same folder as those of parts."""


_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


LENGTH_CODE = re.compile(r"(?<=[nhcewvx])([0-9]{2}[0-9a])(?=v?$)")
"""The length in a cable's part number: `030` is 30 m, `01a` is 1.5 m."""


ANY_LENGTH = "xxx"
"""The placeholder for the length in the id of a cable family."""


_HALF = Fraction(1, 2)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_EXTENDED = re.compile(rf"^{EXTENDS}: (.+)$", re.MULTILINE)


INLINE = "inline"


CHASSIS = "chassis"
"""The key of the components of a modular switch."""


MAX_FAMILY = 4
"""Models of a family that a message names."""


REPLACE = "replace"
"""The key of a part file that replaces the built-in part of the same id instead of changing its fields."""


REQUIRED = "x-required"
"""The schema keyword for fields required in a file together with the built-in part it changes."""


SAYS_NOTHING = (REPLACE, SOURCES, "notes")
"""Fields that do not change any result."""


REQUIRES = "requires"
"""The key of the parts that an order of a part also requires."""
CHECKPOINT_FORMATS = "checkpoint_formats"
"""The key of what a model's published checkpoints store otherwise than their format does by itself."""


T = TypeVar("T")


class UnknownPart(LookupError):
    """A name that matches no part, or several; `find_hint` returns a remedy, and is called only where it is shown."""

    def __init__(self, kind: str, name: str, find_hint: Callable[[], str], fits: Collection[str] = ()) -> None:
        super().__init__(kind, name)
        self.kind, self.name, self.find_hint = kind, name, find_hint
        self.fits = fits
        """Ids of the parts that share the name."""

    def __str__(self) -> str:
        return message("unknown-part", kind=self.kind, id=quote(self.name, MAX_QUOTED), remedy=self.find_hint())


class Record(NamedTuple):
    """The data of one part, model or assumption, with functions that read figures from it."""

    kind: str
    id: str
    source: Source
    steps: Steps = ()
    built_in: bool = True
    changed: Record | None = None
    """The record of the same id whose fields this one changes; `source` has the fields of both."""

    @property
    def data(self) -> dict[str, Any]:
        """The mapping of the record."""
        below = self.source.data
        for step in self.steps:
            below = below[step]
        data: dict[str, Any] = below
        return data

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The fields of a built-in part that a user's file changes, with their values before and now."""
        if self.changed is None:
            return {}
        stated = [str(key) for key in self.data if (key,) in self.source.keys and key not in SAYS_NOTHING]
        values = {key: (self.changed.value(key), self.value(key)) for key in stated}
        return {key: (before, now) for key, (before, now) in values.items() if before != now}

    def giver(self, key: str) -> Record:
        """Return the record that has a field: this one, or the one that it changes."""
        inherited = self.changed is not None and (key,) not in self.source.keys
        return self.changed.giver(key) if self.changed and inherited else self

    @property
    def names(self) -> list[str]:
        """Id, aliases and all part numbers, those of resellers included, in lower case."""
        return [*self.maker_names, *(row.number.lower() for row in self.order_numbers)]

    @property
    def maker_names(self) -> list[str]:
        """Id, aliases and the part numbers printed by the vendor; most words are like one of the resellers' numbers."""
        numbers = [self.value("part_number"), self.value("ordering_number")]
        for key in ("part_numbers", "ordering_numbers"):
            numbers += (self.value(key) or {}).values()
        return [self.id, *(str(name).lower() for name in (*self.data.get("aliases", ()), *numbers) if name)]

    @property
    def order_numbers(self) -> tuple[OrderNumber, ...]:
        """The numbers that the table has for a built-in part, also when a user's file changes it."""
        if not self.built_in:
            return self.changed.order_numbers if self.changed else ()
        return order_numbers().get(f"{self.kind}/{self.id}", ())

    @property
    def lengths(self) -> dict[str, Fraction]:
        """The length [m] that a number of a cable stands for, by number in lower case."""
        stated = {row.number: row.length for row in self.order_numbers if row.length}
        stated |= {number: key for key, number in (self.value("ordering_numbers") or {}).items()}
        return {str(number).lower(): Fraction(length) for number, length in stated.items() if _NUMBER.fullmatch(length)}

    @property
    def flat_lengths(self) -> dict[str, Fraction | None]:
        """The length [m] of each version of a cable with a flat top, if one is stated, by number in lower case."""
        stated = (self.value("flat_variants") or {}).items()
        return {str(number).lower(): Fraction(key) if _NUMBER.fullmatch(key) else None for key, number in stated}

    @property
    def chassis_names(self) -> tuple[str, ...]:
        """The name of a server without its GPUs (`PowerEdge XE9680`), and its last word, in lower case."""
        chassis = str(self.value("name")).lower().partition(",")[0]
        return chassis, chassis.rpartition(" ")[2]

    def value(self, *keys: str | int) -> Any:
        """Return the value at a path of keys without its source; None when it is absent or unknown."""
        data: Any = self.data
        for key in keys:
            if isinstance(data, dict):
                data = data.get(str(key))
            elif isinstance(data, list):
                data = data[int(key)]
            else:
                return None
        return data["value"] if isinstance(data, dict) and "value" in data else data

    def figure(self, key: str, unit: str, *above: str | int, zero: bool = False) -> Figure | None:
        """Return the value at a key, below the keys `above`, as a figure in `unit`; None when it is unknown.

        `zero` allows 0 in a user's record. Raises PlanErrors when the value is not a quantity of that unit.
        """
        raw = self.value(*above, key)
        if raw is None:
            return None
        try:
            number = parse(raw, unit)
        except ValueError as error:
            raise self.error(str(error), "unit", *above, key) from None
        if not self.built_in and (number < 0 or (number == 0 and not zero)):
            least = "0 or more" if zero else "more than 0"
            raise self.error(f"{key} is {raw}; {least}", "range", *above, key)
        return Figure(number, unit, self.origin(key, *above))

    def error(self, message: str, rule: str, *keys: str | int) -> PlanErrors:
        """Return the error that the value at a path of keys is wrong, at its place."""
        return error_at(self.source.mark((*self.steps, *keys)), message, rule)

    def word(self, key: str) -> Figure | None:
        """Return the word at a key as a figure; None when it is unknown."""
        raw = self.value(key)
        return None if raw is None else Figure(str(raw), "word", self.origin(key))

    def need(self, key: str, unit: str, *above: str | int, zero: bool = False) -> Figure:
        """Return a required value as `figure` does. Raises PlanErrors when the record lacks it."""
        figure = self.figure(key, unit, *above, zero=zero)
        if figure is None:
            message = f"no figure '{key}' is known for the {self.kind} {self.id}; describe the part in the plan"
            if self.id == INLINE:
                message = f"the {self.kind} described here has no `{key}`; add it"
            raise self.error(message, "unknown-figure", *above, key)
        return figure

    def figure_or_one(self, key: str, *above: str | int) -> Figure:
        """Return a count as `figure` does; 1 when the record gives none, such as one port per cage."""
        figure = self.figure(key, "count", *above)
        if figure is not None:
            return figure
        return Figure(1, "count", Cited(self._named(key), (Reference(message("source-silent")),), "high"))

    def _named(self, key: str) -> Message:
        what = record_text(key.replace("_", " "), "figure", key)
        return message("figure-of-record", kind=self.kind, id=self.id, what=what)

    def origin(self, key: str, *above: str | int) -> Origin:
        """Return the origin of the value at a key: its documents, or the file for a value without a source."""
        giver = self.giver(str(above[0]) if above else key)
        if giver is not self:
            return giver.origin(key, *above)
        data: Any = self.data
        for step in above:
            data = data[step]
        raw = data[key]
        if not isinstance(raw, dict) or "value" not in raw:
            if not self.built_in:
                named = ".".join(str(step) for step in (*self.steps[1:], *above, key))
                return Given(self.source.mark((*self.steps, *above, key)), named)
            # Several figures of a record have their source once, such as those of its port groups.
            group, raw = above[0] if above else "", self.data
            if group == "port_groups":
                raw = {"source": raw.get("ports_source", ()), "confidence": raw.get("ports_confidence", "low")}
            elif group in (REQUIRES, CHECKPOINT_FORMATS):
                raw = raw[group][above[1]]
            elif group == CHASSIS:
                raw = raw[CHASSIS]
        names = raw.get("source", ())
        names = [names] if isinstance(names, str) else names
        called = str(above[-1]) if key == "count" and above else key
        return Cited(
            self._named(called),
            self.references(names),
            str(raw.get("confidence", "low" if self.built_in else "high")),
            raw.get("note"),
        )

    def references(self, names: list[str]) -> tuple[Reference, ...]:
        """Return the documents of source names, as the record's `sources` describe them; none for `unverified`."""
        table = self.data.get(SOURCES, {})
        cited = []
        for name in names:
            if name != UNVERIFIED:
                entry = table.get(name, {})
                cited.append(
                    Reference(
                        record_text(str(entry.get("title", name)), "source", name), entry.get("url"), entry.get("read")
                    )
                )
        return tuple(cited)


@dataclass(frozen=True)
class Catalog:
    """The catalogue. Records are looked up in `folders`, in this order, then in the built-in data."""

    folders: tuple[Path, ...] = ()
    shown: Mapping[Path, str] = field(default_factory=dict)
    """Name of a folder in messages."""
    root: Path | None = None
    """Folder that the files must resolve to; None: any."""
    roots: Mapping[Path, Path] = field(default_factory=dict)
    """The same for folders that have one of their own, because they were not named by a plan."""
    _records: dict[tuple[str, str], Record] = field(default_factory=dict, repr=False)
    inputs: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Files of the user's folders that were read, by their name in messages."""
    substitutes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Ids of substitute parts, by kind and id of the part that they replace."""
    _listed: dict[Path, dict[str, Path]] = field(default_factory=dict, repr=False)
    """Part files by id of the folders that were listed; alternatives share them, as they share the records."""
    _contents: dict[Path, bytes] = field(default_factory=dict, repr=False)
    """Contents of the user's part files, by path."""
    _assumptions: dict[str, Figure] = field(default_factory=dict, repr=False)
    """Assumptions that were looked up, by id."""
    _parts: dict[tuple[Callable[[Record], Any], str, str], Any] = field(default_factory=dict, repr=False)
    """Parts that were built, by the function that builds them, the file of their record and its id."""
    _own: dict[str, list[Path]] = field(default_factory=dict, repr=False)
    """The user's folders that were found, by kind."""
    _aliases: dict[str, dict[str, set[str]]] = field(default_factory=dict, repr=False)
    """Ids by part number, alias and id, for the kinds searched by name."""

    def substitute(self, substitutes: Mapping[tuple[str, str], str]) -> Catalog:
        """Return the same catalogue with substitute parts, by kind and id of the part that they replace."""
        return replace(self, substitutes=substitutes)

    def without_change(self, record: Record) -> Catalog:
        """Return the catalogue without the change that a user's file makes to the part of a record."""
        before = {(record.kind, record.id): record.changed} if record.changed else {}
        return replace(self, _records={**self._records, **before})

    def start_again(self) -> Catalog:
        """Return the catalogue with nothing looked up; part files already read are not read again."""
        return Catalog(self.folders, self.shown, self.root, self.roots, _listed=self._listed, _contents=self._contents)

    def substituted_ids(self, kind: str) -> dict[str, str]:
        """Return the substitute parts of a kind, each with the id of the first part that it replaces."""
        return {substitute: id for (of, id), substitute in reversed(list(self.substitutes.items())) if of == kind}

    def before(self, behind: Catalog) -> Catalog:
        """Return the catalogue with the folders of another behind its own."""
        roots = {directory: behind.root for directory in behind.folders if behind.root} | {**self.roots}
        return Catalog((*self.folders, *behind.folders), {**behind.shown, **self.shown}, None, roots)

    def find(self, kind: str, name: str) -> Record:
        """Return the record of a part, or of its substitute; otherwise as `find_original`."""
        record = self.find_original(kind, name)
        substitute = self.substitutes.get((kind, record.id))
        return self.find_original(kind, substitute) if substitute else record

    def find_original(self, kind: str, name: str) -> Record:
        """Return the record of a kind by id, part number or alias; for cables also by the part number of one length.

        Raises UnknownPart, and PlanErrors for an invalid part file of the user.
        """
        wanted = name.lower()
        key = (kind, wanted)
        if key not in self._records:
            is_users = any(directory.parent in self.folders for directory in self._places(kind))
            # A name of the user's own parts comes before an id that only its ending hides.
            ids = (wanted, *bare_names(wanted)) if kind == MODEL and not is_users else (wanted,)
            stems = (
                (id, LENGTH_CODE.sub(ANY_LENGTH, id) if kind == "cable" else id) for id in ids if _ID.fullmatch(id)
            )
            record = next(filter(None, (self._find_in(self._places(kind), kind, names) for names in stems)), None)
            self._records[key] = record or self._find_by_alias(kind, wanted, name)
        return self._records[key]

    def build_part(self, kind: str, name: str, build: Callable[[Record], T]) -> T:
        """Return what `build` makes of the record of a part; it is called once a record. Raises as `find` and it do."""
        record = self.find(kind, name)
        key = (build, record.source.file, record.id)
        if key not in self._parts:
            self._parts[key] = build(record)
        part: T = self._parts[key]
        return part

    def find_part(self, name: str) -> Record:
        """Return the record of a part of any kind, accessories first. Raises UnknownPart, listing the accessories."""
        kinds = sorted(set(KINDS) - set(NOT_PARTS))
        having = (kind for kind in kinds if any(name.lower() in self._list(place) for place in self._places(kind)))
        return self.find_original(next(having, ACCESSORY), name)

    def read(self) -> tuple[Record, ...]:
        """Return every record that was looked up so far, each once, by kind and id."""
        records = {(record.kind, record.id): record for record in self._records.values()}
        return tuple(records[key] for key in sorted(records))

    @staticmethod
    def is_id(name: str) -> bool:
        """Return whether the file of a part may have this name without its suffix."""
        return bool(_ID.fullmatch(name))

    def ids(self, kind: str, *words: str) -> list[str]:
        """Return the ids of a kind, in alphabetical order; of built-in parts those in whose files all words stand."""
        listed = (
            _built_in_with(place, words) if words and place.parent not in self.folders else self._list(place)
            for place in self._places(kind)
        )
        return sorted({id for ids in listed for id in ids})

    def all(self, kind: str) -> Iterator[Record]:
        """Return every record of a kind, by id."""
        return (self.find(kind, id) for id in self.ids(kind))

    def assumption(self, id: str) -> Figure:
        """Return an assumption as a figure. Raises BrokenInstallation when the built-in data lack it."""
        if id in self._assumptions:
            return self._assumptions[id]
        try:
            record = self.find("assumption", id)
        except UnknownPart as error:
            raise BrokenInstallation(str(error)) from None
        data = record.data
        value, unit = data["value"], str(data["unit"])
        if isinstance(value, str) and unit not in ("word", "words"):
            value = parse(value, unit)
        references = record.references(list(data.get("source", ())))
        origin = Assumed(
            record_text(str(data["name"]), "assumption", id, "name"),
            record_text(str(data["why"]), "assumption", id, "why"),
            references,
            str(data["confidence"]),
        )
        return self._assumptions.setdefault(id, Figure(value, unit, origin))

    def default_server(self, gpu: str) -> Record | None:
        """Return the server of a GPU that is marked as its default, or the only one that has it; None without one."""
        records = list(self.records_where("server", "gpu", gpu))
        marked = [record for record in records if record.value("default")]
        usual = marked or (records if len(records) == 1 else [])
        return usual[0] if usual else None

    def records_where(self, kind: str, key: str, word: str, figure: str = "", value: int = 0) -> Iterator[Record]:
        """Yield the records of a kind with `word` at `key` and, if `figure` is given, `value` at that key."""
        seen: set[str] = set()
        wanted = {key: word, figure: value} if figure else {key: word}
        for directory in self._places(kind):
            own_folder = directory.parent in self.folders
            # Built-in parts are looked up only on demand, because a lock file names the records that were.
            ids = self._list(directory) if own_folder else _built_in_where(kind, directory, tuple(wanted.items()))
            for id in ids:
                record = self.find(kind, id)
                fits = all(self._own_or_replaced(record, key) == held for key, held in wanted.items())
                if fits and record.id not in seen:
                    seen.add(record.id)
                    yield record

    def _own_or_replaced(self, record: Record, key: str) -> Any:
        """Return the value at a key of a record; a substitute without it has that of the part it replaces."""
        stands_in = record.value(key) is None and record.id in self.substitutes.values()
        replaced = record.value("replaces") if stands_in else None
        return self.find_original(record.kind, str(replaced[0])).value(key) if replaced else record.value(key)

    def replacements(self, kind: str, names: Collection[str]) -> list[str]:
        """Return the ids of the parts of a kind that replace one of these names, in alphabetical order."""
        matching = []
        for directory in self._places(kind):
            own_folder = directory.parent in self.folders
            for id, path in self._list(directory).items():
                if own_folder or _built_in(kind, id, path).value("replaces"):
                    replaced = self.find_original(kind, id).value("replaces") or ()
                    if {str(name).lower() for name in replaced} & set(names):
                        matching.append(id)
        return sorted(set(matching))

    def _places(self, kind: str) -> list[Path]:
        if kind not in self._own:
            self._own[kind] = [directory / kind for directory in self.folders if (directory / kind).is_dir()]
        return [*self._own[kind], *_built_in_place(kind)]

    def _list(self, directory: Path) -> dict[str, Path]:
        """Return the part files of a folder by id; all of the user's count as looked up each time. Raises TooMuch."""
        if directory.parent not in self.folders:
            return _list_built_in(directory)
        if directory not in self._listed:
            self._listed[directory] = _list_part_files(directory)
        paths = self._listed[directory]
        spend(OF_PART_LOOKUP * len(paths))
        return paths

    def _find_in(self, places: Sequence[Path], kind: str, stems: Sequence[str]) -> Record | None:
        """Return the record of the first of some file names in the first of some folders that has one."""
        for number, directory in enumerate(places):
            own_folder = directory.parent in self.folders
            for stem in stems:
                path = directory / f"{stem}.yaml" if own_folder else _list_built_in(directory).get(stem)
                if path and not own_folder:
                    return _built_in(kind, stem, path)
                if path and path.is_file():
                    source = self._read(kind, path)
                    kept = isinstance(source.data, dict) and not source.data.get(REPLACE)
                    changed = self._find_in(places[number + 1 :], kind, (stem,)) if kept else None
                    return _own_record(kind, stem, source, changed)
        return None

    def _read(self, kind: str, path: Path) -> Source:
        directory = path.parent.parent
        shown = f"{self.shown.get(directory, directory)}/{kind}/{path.name}"
        root = self.roots.get(directory, self.root)
        if root and not path.resolve().is_relative_to(root):
            message = "a link that leads out of the plan's folder tree; put the part file itself here"
            raise error_at(shown, message, "outside-root", "catalog")
        spend(OF_PART)
        try:
            if path not in self._contents:
                refuse_git_files(path)
                with path.open("rb") as stream:
                    self._contents[path] = report_read(shown, stream.read(MAX_BYTES + 1))
        except OSError as error:
            message = f"the part file cannot be read ({error.strerror}); make it readable"
            raise error_at(shown, message, "no-file", "catalog") from None
        content = self._contents[path]
        source = read(decoded(content, shown), shown)
        self.inputs[shown] = content
        return source

    def _find_by_alias(self, kind: str, wanted: str, name: str) -> Record:
        if kind not in self._aliases:
            names: dict[str, set[str]] = {}
            for id in (id for directory in self._places(kind) for id in self._list(directory)):
                for alias in self.find_original(kind, id).names:
                    names.setdefault(alias, set()).add(id)
            self._aliases[kind] = names
        names = self._aliases[kind]
        fits = names.get(wanted, set())
        if kind == MODEL:
            fits = next((names[short] for short in (wanted, *bare_names(wanted)) if short in names), set())
        if kind == SERVER and not fits:
            fits = {id for ids in names.values() for id in ids if wanted in self.find_original(kind, id).chassis_names}
        if len(fits) > 1:
            raise UnknownPart(kind, name, lambda: f"the name fits several: {', '.join(sorted(fits))}", fits)
        if fits:
            return self.find_original(kind, min(fits))

        def propose() -> str:
            if other := next((of for of in KINDS if of not in NOT_PARTS and wanted in self.ids(of)), None):
                remedy = (
                    f"write `server: {wanted}`" if (kind, other) == ("gpu", SERVER) else f"name a part of kind {kind}"
                )
                return f"it is of kind {other}; {remedy}"
            of_maker = {
                name for ids in names.values() for id in ids for name in self.find_original(kind, id).maker_names
            }
            return _propose(kind, wanted, {name: ids for name, ids in names.items() if name in of_maker})

        raise UnknownPart(kind, name, propose)


def _propose(kind: str, wanted: str, names: Mapping[str, set[str]]) -> str:
    if kind == MODEL and (of := kind_of_unsized(wanted)):
        return (
            f"{of} models are not sized, only language models are; set `workload.compute.target` to the peak that the "
            "cluster needs: FLOPs per sample x samples per second / MFU"
        )
    spend(OF_NAME * len(names))
    if kind == MODEL and (family := _family(wanted, names)):
        return f"did you mean {family}?"
    if kind == MODEL:
        wanted, names = untuned(wanted), {id: {id} for ids in names.values() for id in ids}
    if close := nearest(wanted, names):
        return message("did-you-mean", id=min(names[close[0]]))
    if kind == MODEL:
        return (
            "`bomgen catalog model` lists all; `bomgen catalog model --from config.json` makes a part of a checkpoint"
        )
    return f"`bomgen catalog {kind}` lists all, or describe your own part with a mapping"


def _family(wanted: str, names: Mapping[str, set[str]]) -> str:
    """Return the models whose ids begin with a name, such as those of DeepSeek-V4; empty for none."""
    for short in (*bare_names(wanted), untuned(wanted)):
        begun = sorted(id for id in {id for ids in names.values() for id in ids} if id.startswith(f"{short}-"))
        if begun:
            *first, last = [f"'{id}'" for id in begun[:MAX_FAMILY]]
            more = [last, "others"] if begun[MAX_FAMILY:] else [last]
            return " or ".join(filter(None, (", ".join([*first, *more[:-1]]), more[-1])))
    return ""


def cache_one(function: Callable[[*Arguments], Kept]) -> Callable[[*Arguments], Kept]:
    """Return a function that gives every caller the first value cached for its arguments, all positional.

    `functools.cache` calls the function in every thread that asks before the first result is stored, and each thread
    keeps its own result. That is enough for values that compare equal. Figures are equal only when they are the same
    object, and so are the records and parts that hold them: a thread that met two would count one module as two kinds.
    """
    kept = dict[tuple[*Arguments], Kept]()

    @wraps(function)
    def ask(*arguments: *Arguments) -> Kept:
        if arguments not in kept:
            # `setdefault` is atomic for other threads. A lock would have to be held while modules are imported.
            kept.setdefault(arguments, function(*arguments))
        return kept[arguments]

    return ask


@cache_one
def built_in_assumption(id: str) -> Figure:
    """Return an assumption of the built-in data."""
    return Catalog().assumption(id)


def built_in(kind: str, id: str) -> Record:
    """Return the record of the built-in data with an id. Raises KeyError when there is none."""
    return _built_in(kind, id, _list_built_in(folder("data") / kind)[id])


def _list_part_files(directory: Path) -> dict[str, Path]:
    """Return the part files of a folder by id, in alphabetical order: those whose name is a valid id."""
    paths = (path for path in directory.glob("*.yaml") if _ID.fullmatch(path.stem) and path.is_file())
    return {path.stem: path for path in sorted(paths)}


@cache
def _built_in_place(kind: str) -> tuple[Path, ...]:
    path = folder("data") / kind
    return (path,) if path.is_dir() else ()


_list_built_in = cache(_list_part_files)


@cache
def _built_in_with(directory: Path, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of the built-in records in whose files, or in those that they extend, all words stand."""
    written = {id: text(path) for id, path in _list_built_in(directory).items()}
    bases = {id: _EXTENDED.search(of_part) for id, of_part in written.items()}
    whole = {id: of_part + (written[base[1]] if (base := bases[id]) else "") for id, of_part in written.items()}
    return tuple(id for id, stated in whole.items() if all(word in stated for word in words))


@cache
def _built_in_where(kind: str, directory: Path, wanted: tuple[tuple[str, Any], ...]) -> tuple[str, ...]:
    """Return the ids of the built-in records with these values at keys; a text search excludes most files first."""
    likely = _built_in_with(directory, tuple(str(held) for _, held in wanted))
    records = {id: _built_in(kind, id, _list_built_in(directory)[id]) for id in likely}
    return tuple(id for id, record in records.items() if all(record.value(key) == held for key, held in wanted))


@cache_one
def _built_in(kind: str, id: str, path: Path) -> Record:
    source = own(path, f"{kind}/{id}.yaml")
    data = with_shared_sources(with_base(kind, source.data))
    if by_length := numbers_by_length(f"{kind}/{id}", str(data.get("vendor"))):
        data = data | {"ordering_numbers": by_length}
    return Record(kind, id, source._replace(data=data))


def _own_record(kind: str, id: str, source: Source, changed: Record | None) -> Record:
    """Return the record of a user's part file, with the fields of the record that it changes or extends.

    Raises PlanErrors for a file that violates the schema of its kind, has an implausible figure, or names a source that
    it does not describe.
    """
    name = kind if kind in NOT_PARTS else f"part/{kind}"
    if not changed and isinstance(source.data, dict) and EXTENDS in source.data:
        base = str(source.data[EXTENDS])
        if base not in _list_built_in(folder("data") / kind):
            text = f"no built-in {kind} {quote(base, MAX_QUOTED)}; `bomgen catalog {kind}` lists them"
            raise error_at(source.mark((EXTENDS,)), text, "unknown-part")
        source = source._replace(data=with_base(kind, source.data))
    whole = source = with_canonical_words(source, schema.document(name))
    if changed:
        merged = changed.data | source.data
        described = source.data.get(SOURCES, {})
        merged[SOURCES] = changed.data.get(SOURCES, {}) | described if isinstance(described, dict) else described
        whole = source._replace(data=merged)
    if problems := schema.check_schema(whole, name, schema_of_file) or implausible_figures(kind, source):
        raise PlanErrors(problems)
    whole = whole._replace(data=with_shared_sources(whole.data))
    if problems := undescribed_sources(source, whole.data.get(SOURCES, {})):
        raise PlanErrors(problems)
    return Record(kind, id, whole, (), built_in=False, changed=changed)


def schema_of_file(name: str) -> dict[str, Any]:
    """Return the schema of a part file, with its required fields; a mapping in a plan may lack these."""
    described = schema.document(name)
    required: dict[str, Any] = described.get(REQUIRED, {})
    return described | required


def inline_record(kind: str, source: Source, steps: Steps) -> Record:
    """Return the record of a part that a plan describes by a mapping, already checked by the plan's schema.

    Raises PlanErrors for an implausible figure.
    """
    if problems := implausible_figures(kind, source, steps):
        raise PlanErrors(problems)
    return Record(kind, INLINE, source, steps, built_in=False)


def id_at_length(id: str, length_m: Fraction | int | float) -> str:
    """Return the id of one length of a cable family: `mfp7e10-nxxx` at 30 m is `mfp7e10-n030`; others are unchanged.

    Lengths are whole or half metres (`01a` is 1.5 m).
    """
    whole, rest = divmod(Fraction(length_m), 1)
    code = f"{whole:03d}" if rest == 0 else f"{whole:02d}a"
    return id.replace(ANY_LENGTH, code)


def named_length(id: str, wanted: str) -> Fraction | None:
    """Return the length [m] in the name of a cable, if it names one length of the family `id`; else None."""
    match = LENGTH_CODE.search(wanted.lower())
    if match is None or id == wanted.lower() or ANY_LENGTH not in id:
        return None
    code = match.group(1)
    return Fraction(code) if code.isdecimal() else Fraction(code[:-1]) + _HALF
