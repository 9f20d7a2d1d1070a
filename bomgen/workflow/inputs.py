"""The inputs of a plan: its file, and the plans, part folders, price books, picture, templates and lock that it names.

`read_all` is the only reader. It opens each file once; one that cannot be opened is refused where it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core import progress, schema
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.document import MOST_LOGO, Logo, logo
from bomgen.core.provenance import Mark
from bomgen.core.work_budget import BYTES_A_STEP, OF_PRICE, OF_TAG, TooMuch, budget, spend
from bomgen.core.yaml_source import Path, Source, decoded, keys_of, override, read
from bomgen.output.user_templates import templates as own_templates
from bomgen.plan import schema as plan_schema
from bomgen.plan.commercial_terms import Exchange, QuotePlan
from bomgen.plan.schema import unknown_parts
from bomgen.plan.types import Plan
from bomgen.pricing import price_book
from bomgen.pricing.price_book import KEPT, PriceBook
from bomgen.reading.tables import PACKAGE
from bomgen.results.result import Input, Template
from bomgen.workflow.plan_files import (
    BOOKS,
    COST_BOOKS,
    LOCK_KEY,
    LOGO,
    STANDARD_INPUT,
    STANDARD_INPUT_NAME,
    TEMPLATES,
    Contents,
    PlanFile,
    content_of,
    extended,
    inside,
    lock_name,
    open_plan,
    read_once,
    real,
)

if TYPE_CHECKING:
    from bomgen.workflow.lock import Lock

__all__ = ["STANDARD_INPUT", "STANDARD_INPUT_NAME", "PlanFile", "lock_name", "open_plan"]
"""Of `plan_files`, what whoever opens a plan needs."""

FORMAT = 1
"""Version of the format of plans, their key `bomgen`."""

OTHER_FILES = {
    price_book.FORMAT_KEY: "this is a price book, not a plan; name it in a plan, at `quote.price_book`",
    LOCK_KEY: "this is a lock, not a plan; give the plan beside it",
    "derivations": "this is a result, not a plan; give the plan that it was made from, or two results to `bomgen diff`",
}
"""Other files of bomgen's by a key that no plan has, and what to do with one."""

COMMON_KEYS = frozenset(("name", "title"))
"""Keys of plans that files of other programs also have."""
_KEYS = re.compile(
    rb"^[\"']?(\w+)[\"']?\s*:(?=\s)|\A\s*\{\s*[\"']?(bomgen\w*)[\"']?\s*:\s*[0-9]+\s*,\s*[\"']?(?!version)\w",
    re.MULTILINE,
)
"""The keys of the uppermost level; in braces the first, which is the version of a format, but not that of a result."""


class Inputs(NamedTuple):
    """What a plan is worked out from. A variant of the plan is worked out from the same."""

    file: PlanFile
    settings: tuple[str, ...]
    """`KEY=VALUE`, laid over the plan."""
    templates: tuple[str, ...]
    """Paths of templates beside those that the plan names."""
    source: Source
    """The plan over the plans that it extends, under its settings."""
    catalog: Catalog
    """It opens the part files that are looked up, each once."""
    lock: Lock | None
    contents: Mapping[FilePath, bytes | OSError]
    """What the files hold, by their real paths, or why they cannot be read."""
    keys: tuple[str, ...]
    """Dotted keys that settings or an alternative set over the plan, and so over its lock."""


class PriceBooks(NamedTuple):
    """The prices that a quote rests on."""

    quote: QuotePlan
    """The quote with the rates that hold: those of the lock, where it has them."""
    rates: Mapping[str, Exchange]
    """The rates of the plan itself."""
    used: list[PriceBook]
    inputs: list[Input]
    current: dict[str, PriceBook]
    """Books of the lock as they are now, by path; one that cannot be read is not there."""


def read_all(
    file: PlanFile,
    settings: Sequence[str] = (),
    templates: Sequence[str] = (),
    known: Inputs | None = None,
    without: Sequence[str] = (),
    costs: bool = False,
) -> Inputs:
    """Read what a plan rests on; files that `known` inputs of a variant hold are not read again.

    `without` leaves out sections of the plan. The seller's `costs` are read where they are asked for: no result rests
    on them.

    Raises PlanErrors with all problems that the schema finds, for a plan or a part folder that is not there, and for a
    lock that is wrong.
    """
    if known is None:
        progress.stage("plan")
    contents: Contents = dict(known.contents) if known else {}
    contents |= {real(place): content for place, content in file.unwritten}
    source = source_of(file, settings, without, contents)
    catalog = catalog_of(file, source)
    if known and (catalog.folders, catalog.shown) == (known.catalog.folders, known.catalog.shown):
        catalog = known.catalog.start_again()
    lock = None
    if file.lock:
        from bomgen.workflow.lock import lock_of

        lock = lock_of(*file.lock)
    inputs = Inputs(file, tuple(settings), tuple(templates), source, catalog, lock, contents, keys_of(settings))
    return _read_named(inputs, (BOOKS, LOGO, TEMPLATES, *([COST_BOOKS] if costs else [])))


def vary(inputs: Inputs, source: Source, keys: Sequence[str]) -> Inputs:
    """The inputs of an alternative of a plan, which sets `keys` over it."""
    return _read_named(inputs._replace(source=source, keys=(*inputs.keys, *keys)), [BOOKS])


def _read_named(inputs: Inputs, keys: Sequence[Path]) -> Inputs:
    """The inputs with the files that the plan names at some keys, and the templates of the command line."""
    contents = dict(inputs.contents)
    named = [(given, inputs.source.mark(key), key) for key in keys for given in _texts_at(inputs.source, key)]
    named += [(template, Mark(own_templates.OPTION, 1, 1), TEMPLATES) for template in inputs.templates]
    for given, mark, key in named:
        with suppress(PlanErrors, OSError):  # said where the file is asked for
            read_once(contents, _place_of(inputs.file, given, mark, key), given)
    return inputs._replace(contents=contents)


def _texts_at(source: Source, key: Path) -> Sequence[str]:
    """The paths at a key: one, or a list; none where a text stands above it, as the name of a vendor above its logo."""
    found = source.data
    for step in key:
        found = found.get(step) if isinstance(found, Mapping) else None
    return [found] if isinstance(found, str) else found or []


def _place_of(file: PlanFile, given: str, mark: Mark, key: Path) -> FilePath:
    """The place of a file that a plan or the command line names. Raises PlanErrors when it leads out of the root."""
    if key == TEMPLATES and (shipped := own_templates.shipped().get(given)):
        return shipped
    if mark.file == own_templates.OPTION:
        return real(FilePath(given))
    return inside(file, given, mark, ".".join(map(str, key)))


def source_of(
    file: PlanFile, settings: Sequence[str] = (), without: Sequence[str] = (), contents: Contents | None = None
) -> Source:
    """The plan's data with settings laid over it, in the form that the schema asks for; `without` some of its sections.

    Files that it extends are taken from `contents`, or read into them.

    Raises PlanErrors with all problems that the schema finds.
    """
    source = extended(file, settings, {} if contents is None else contents)
    if settings:
        source = override(source, settings)
    if without and isinstance(source.data, dict):
        source = source._replace(data={key: value for key, value in source.data.items() if key not in without})
    if newer := schema.newer(source, "bomgen", "a plan", FORMAT, "format"):
        raise PlanErrors([newer])
    if other := _other_file(source):
        raise PlanErrors([other])
    problems = plan_schema.check_plan_schema(source, "plan")
    if problems:
        raise PlanErrors(sorted([*problems, *_unknown_parts(file, source, problems)], key=lambda each: each.mark))
    return source


def _unknown_parts(file: PlanFile, source: Source, problems: Sequence[Problem]) -> Sequence[Problem]:
    """The parts that a wrong plan names and nobody knows, where it says in which folders to look."""
    if not isinstance(source.data, dict) or any(problem.path.startswith("catalog") for problem in problems):
        return ()
    try:
        with suppress(TooMuch), budget():
            return unknown_parts(source, catalog_of(file, source))
    except PlanErrors as errors:
        return errors.problems
    return ()


def _other_file(source: Source) -> Problem | None:
    """That a source is another file of bomgen's, by the key that only those have; None where it is none."""
    key = next((key for key in OTHER_FILES if isinstance(source.data, dict) and key in source.data), None)
    return Problem(source.key_mark((key,)), "error", OTHER_FILES[key], "not-a-plan", key) if key else None


def name_of(file: PlanFile, settings: Sequence[str] = ()) -> str | None:
    """The name of a plan, or None when it is too wrong to have one."""
    try:
        return str(source_of(file, settings).data["name"])
    except PlanErrors:
        return None


def catalog_of(file: PlanFile, source: Source) -> Catalog:
    """The catalogue with the part folders that the plan names. Raises PlanErrors for a folder that is not there."""
    folders: list[FilePath] = []
    shown: dict[FilePath, str] = {}
    for index, given in enumerate(source.data.get("catalog") or ()):
        mark = source.mark(("catalog", index))
        place = inside(file, given, mark, "catalog")
        # Not `is_dir`, which fails for a name that is too long to be one.
        if not os.path.isdir(place):
            message = f"there is no folder '{given}'; part folders lie relative to the plan"
            raise PlanErrors([Problem(mark, "error", message, "no-file", "catalog")])
        folders.append(place)
        shown[place] = given.rstrip("/")
    return Catalog(tuple(folders), shown, file.root)


def quote_prices(inputs: Inputs, quoted: QuotePlan) -> PriceBooks:
    """The prices of a quote: those of its lock, and of its books for the parts that the lock does not cover.

    Raises PlanErrors for a book that is wrong or cannot be read, unless it is pinned, and TooMuch as `price_books_of`.
    """
    lock = inputs.lock
    if lock is None:
        return PriceBooks(quoted, quoted.exchange, *price_books_of(inputs, quoted.price_books), {})
    rates = lock.rates_for(quoted, inputs.keys)
    price_books = PriceBooks(quoted._replace(exchange=rates), quoted.exchange, [], [], {})
    for given, mark in quoted.price_books:
        try:
            (book,), read = price_books_of(inputs, [(given, mark)])
        except PlanErrors:
            if given not in lock.books:
                raise
            price_books.used.append(lock.books[given].book)
            continue
        if given in lock.books:
            price_books.current[given] = book
            price_books.used.append(lock.pin(given, book))
        else:
            price_books.used.append(book)
            price_books.inputs.extend(read)
    price_books.inputs.append(Input(FilePath(lock.file).name, lock.content))
    return price_books


def price_books_of(
    inputs: Inputs, named: Sequence[tuple[str, Mark]], key: Path = BOOKS
) -> tuple[list[PriceBook], list[Input]]:
    """The price books that a plan names at a key.

    Raises PlanErrors for one that is wrong or cannot be read, TooMuch when they have more lines than a plan may.
    """
    read = [Input(given, _content(inputs, given, mark, key, "price book")) for given, mark in named]
    for given, content in read:
        spend(_steps(content, given), (given, content))
    return [_book(content, given) for given, content in read], read


def known_as(place: FilePath) -> str:
    """Return what bomgen reads a file as: "a plan", "a lock" or "a price list"; empty for any other file."""
    from bomgen.reading.price_lists import is_price_list, is_table

    try:
        content = content_of(place)
    except OSError:  # none, or none that is read
        return ""
    if is_table(place.name):
        return "a price list" if is_price_list(content, place.name) else ""
    keys = {(block or braced).decode() for block, braced in _KEYS.findall(content)}
    if LOCK_KEY in keys:
        return "a lock"
    if price_book.FORMAT_KEY in keys:
        return "a price list"
    return "a plan" if keys & (plan_schema.document("plan")["properties"].keys() - COMMON_KEYS) else ""


def price_book_in(file: PlanFile) -> PriceBook | None:
    """The price book that a file given as a plan is, such as one that `bomgen apply` wrote; None where it is none.

    Raises PlanErrors for a price book that is wrong.
    """
    if price_book.FORMAT_KEY.encode() not in file.content:
        return None
    source = read(decoded(file.content, file.name), file.name)
    keys = source.data.keys() if isinstance(source.data, dict) else ()
    return price_book.price_book(source) if price_book.FORMAT_KEY in keys and "bomgen" not in keys else None


def _steps(content: bytes, given: str) -> int:
    """The steps that reading a price book takes, by the lines or mappings in it; of a workbook, by what it unpacks to.

    Raises PlanErrors for a workbook that is none.
    """
    if content.startswith(PACKAGE):
        from bomgen.reading.workbooks import unpacked

        size = unpacked(content, given)
        return OF_TAG * size.tags + size.bytes // BYTES_A_STEP
    return OF_PRICE * max(content.count(b"\n") + content.count(b"\r"), content.count(b"{"))


@lru_cache(maxsize=KEPT)
def _book(content: bytes, given: str) -> PriceBook:
    """The price book in the bytes of a file; kept, because every alternative of a plan asks for it."""
    from bomgen.reading.price_lists import read_book

    return read_book(content, given)


def _content(inputs: Inputs, given: str, mark: Mark, key: Path, what: str) -> bytes:
    """What a file holds that the plan names at a key. Raises PlanErrors when it could not be read."""
    content = inputs.contents[_place_of(inputs.file, given, mark, key)]
    if isinstance(content, OSError):
        message = f"the {what} '{given}' cannot be read ({content.strerror}); give its path relative to the plan"
        raise PlanErrors([Problem(mark, "error", message, "no-file", ".".join(map(str, key)))])
    return content


def text_of(file: PlanFile, name: str) -> str:
    """The text of a file that marks name: the plan's own, of a price book or a plan beside it; empty where none is."""
    from bomgen.reading.price_lists import is_text

    if name == file.name:
        return file.content.decode("utf-8", "replace")
    if file.lock and name == file.lock[0]:
        return file.lock[1].decode("utf-8", "replace")
    for given in (name, file.given(name)):
        place = real(file.folder / given)
        with suppress(OSError):  # gone since it was read
            if is_text(place.name) and place.is_relative_to(file.root) and place.is_file():
                return place.read_bytes().decode("utf-8", "replace")
    return ""


def logo_of(inputs: Inputs, plan: Plan) -> tuple[Logo | None, list[Input]]:
    """The vendor's picture, where the plan names one. Raises PlanErrors when it is none that documents can show."""
    if plan.quote.logo is None:
        return None, []
    given, mark = plan.quote.logo
    content = _content(inputs, given, mark, LOGO, "logo")
    found = logo(content)
    if found is None:
        message = f"'{given}' is not a PNG, JPEG or SVG of at most {MOST_LOGO} bytes; give one"
        raise PlanErrors([Problem(mark, "error", message, "logo", ".".join(map(str, LOGO)))])
    return found, [Input(given, content)]


def templates_of(inputs: Inputs, plan: Plan) -> tuple[list[Template], list[Input]]:
    """The templates that the plan names, below its root, and those of the command line, wherever these lie.

    A name of a template that comes with bomgen is that one.

    Raises PlanErrors for templates that are wrong.
    """
    folder = FilePath(inputs.file.name).parent
    named = [(given, str(folder / given), given, mark) for given, mark in plan.templates]
    named += [
        (path, path, f"--template {FilePath(path).name}", Mark(own_templates.OPTION, number, 1))
        for number, path in enumerate(inputs.templates, start=1)
    ]
    templates, read, problems = list[Template](), list[Input](), list[Problem]()
    for given, shown, input, mark in named:
        try:
            place = _place_of(inputs.file, given, mark, TEMPLATES)
            name = place.name if given in own_templates.shipped() else shown
            template, content = own_templates.template_of(inputs.contents[place], name, mark)
        except PlanErrors as errors:
            problems += errors.problems
            continue
        templates.append(template)
        read.append(Input(input, content))
    problems += own_templates.clashes(templates)
    if problems:
        raise PlanErrors(problems)
    return templates, read
