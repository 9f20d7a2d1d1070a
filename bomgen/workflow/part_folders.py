"""Folders of part files as a whole: every file is checked, whether a plan uses it or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.cross_checks import cross_check, numbers_in_conflict, records_by_number
from bomgen.catalog.files import KINDS, Catalog, Record, UnknownPart
from bomgen.core.diagnostics import PlanErrors, Problem, suggestion
from bomgen.core.provenance import Mark
from bomgen.core.safety import quote
from bomgen.core.work_budget import MAX_STEPS, OF_NAME, TooMuch, budget, spend
from bomgen.core.yaml_source import SUFFIXES
from bomgen.workflow.plan_files import checkout

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
    "accessory": lambda record, _: part_records.identity(record),
    "storage": lambda record, _: part_records.storage_system(record),
    "rack": lambda record, _: part_records.rack(record),
    "pdu": lambda record, _: part_records.pdu(record),
    "panel": lambda record, _: part_records.panel(record),
    "model": lambda record, _: part_records.model(record),
}
"""What reads every figure of a record, by kind."""
_NAMED = (("server", "gpu", "gpu"), ("server", "nic", "nic"), ("server", "storage_nic", "nic"))
"""Fields that name a part: kind of the record, field, kind of the part."""


def open_folders(given: Sequence[str], root: str | None = None) -> Catalog:
    """Return the catalogue with part folders given on the command line, the first of which wins.

    Raises PlanErrors for a folder that leads out of the root: its checkout, or the folder itself.
    """
    folders, shown, roots = list[Path](), dict[Path, str](), dict[Path, Path]()
    for name in given:
        place = Path(os.path.realpath(name))
        widest = (Path(root) if root else checkout(Path(os.path.abspath(name)))).resolve()
        if not place.is_relative_to(widest):
            message = "the folder leads out of its folder tree; name the folder itself, or widen it with --root"
            raise PlanErrors([_problem(name, message, LINK)])
        folders.append(place)
        shown[place] = name.rstrip("/") or name
        roots[place] = widest
    return Catalog(tuple(folders), shown, None, roots)


class CheckedFolder(NamedTuple):
    """What a check of a part folder found."""

    problems: Sequence[Problem]
    """In the order of the files."""
    files: int
    contents: Mapping[str, bytes]
    """The files that were read, by their name in messages."""


def check_folder(given: str, root: str | None = None) -> CheckedFolder:
    """Check every file of a part folder. Raises PlanErrors as `open_folders`, and for a folder that cannot be read."""
    catalog = open_folders([given], root)
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
        return CheckedFolder([*problems, _problem(given, message, "work-limit")], len(records), catalog.inputs)
    in_order = sorted(set(problems), key=lambda problem: (problem.mark, problem.message))
    return CheckedFolder(in_order, len(files), catalog.inputs)


def _known_numbers(kinds: Sequence[str], own: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the built-in parts of some kinds and the user's own by number; invalid files of the user are left out."""
    own_ids = {(record.kind, record.id) for record in own}
    known = records_by_number(Catalog(), kinds)
    kept = {number: [one for one in found if (one.kind, one.id) not in own_ids] for number, found in known.items()}
    for record in own:
        for number in {str(record.value(key) or "").lower() for key in ("part_number", "ordering_number")}:
            kept.setdefault(number, []).append(record)
    return kept


def _problems_of(record: Record, catalog: Catalog) -> Iterator[Problem]:
    """Yield the problems of a valid file: its figures, the parts that it names, and what contradicts itself."""
    if read := _READERS.get(record.kind):
        try:
            read(record, catalog)
        except PlanErrors as errors:
            yield from errors.problems
            return
    yield from _unknown_parts(record, catalog)
    yield from cross_check(record, catalog)


def _unknown_parts(record: Record, catalog: Catalog) -> Iterator[Problem]:
    """Yield an error for each name of a part that is in no catalogue."""
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
    place = catalog.folders[0]
    shown = catalog.shown[place]
    files, problems = list[tuple[str, str, Mark]](), list[Problem]()
    for entry in _entries(place, shown):
        name = f"{shown}/{entry.name}"
        if not entry.is_dir():
            if entry.name.endswith(SUFFIXES):
                problems.append(_problem(name, OUTSIDE, "part-place"))
        elif entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(catalog.roots[place]):
            problems.append(
                _problem(name, "a link that leads out of the folder tree; put the folder itself here", LINK)
            )
        elif entry.name in KINDS:
            for below in _entries(Path(entry.path), name):
                file = f"{name}/{below.name}"
                if found := _misplaced(below, file):
                    problems.append(_problem(file, found, "part-place"))
                elif below.name.endswith(".yaml"):
                    files.append((entry.name, below.name.removesuffix(".yaml"), Mark(file, 1, 1)))
        elif _has_part_files(entry, name):
            message = f"no kind of part {quote(entry.name, MAX_NAME)}; {suggestion(entry.name, KINDS)}"
            problems.append(_problem(name, message, "part-place"))
    if not files and not problems:
        problems.append(_problem(shown, f"no part files in this folder; {FORM}", "empty"))
    return files, problems


def _entries(place: Path, shown: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name, without hidden ones.

    Raises PlanErrors for a folder that cannot be read, TooMuch for a huge one.
    """
    found = list[os.DirEntry[str]]()
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                spend(OF_NAME)
                if not entry.name.startswith("."):
                    found.append(entry)
    except OSError as error:
        message = f"the folder of parts cannot be read ({error.strerror}); make it readable"
        raise PlanErrors([_problem(shown, message, "no-file")]) from None
    return sorted(found, key=lambda entry: entry.name)


def _has_part_files(entry: os.DirEntry[str], shown: str) -> bool:
    return any(below.name.endswith(SUFFIXES) for below in _entries(Path(entry.path), shown))


def _misplaced(entry: os.DirEntry[str], shown: str) -> str:
    """Return why an entry of the folder of a kind is not read although it looks like a part file; empty if it is."""
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
