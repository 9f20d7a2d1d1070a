"""The inputs of a plan: its file, and the bases, part folders, price books, logo, templates and lock that it names.

`read_all` is the only reader. It opens each file once; a file that cannot be opened is reported where it is used.
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
from bomgen.core import schema
from bomgen.core.diagnostics import PlanErrors, Problem, error_at
from bomgen.core.document import MOST_LOGO, Logo, logo
from bomgen.core.jobs import BYTES_A_STEP, OF_PRICE, OF_TAG, TooMuch, budget, report_stage, spend
from bomgen.core.provenance import Mark
from bomgen.core.resources import folder
from bomgen.core.yaml_source import Path, Source, decoded, keys_of, override, read, value_at
from bomgen.output import user_templates as own_templates
from bomgen.plan import schema as plan_schema
from bomgen.plan.commercial_terms import Exchange, QuotePlan
from bomgen.plan.types import Installed, Plan
from bomgen.pricing.bill_line import Line
from bomgen.pricing.costs import selling_books
from bomgen.pricing.price_book import FORMAT_KEY, INDICATIVE, KEPT, PriceBook, missing_rates, price_book
from bomgen.reading.tables import PACKAGE
from bomgen.results.result import Input, Template
from bomgen.workflow.plan_files import (
    BOOKS,
    COST_BOOKS,
    CURRENCY,
    LOCK_KEY,
    LOGO,
    SELL,
    TEMPLATES,
    Contents,
    PlanFile,
    content_of,
    extended,
    inside,
    read_once,
    real,
    set_charge_currencies,
)

if TYPE_CHECKING:
    from bomgen.workflow.lock import Lock

FORMAT = 1
"""Version of the plan format, in the key `bomgen`."""

OTHER_FILES = {
    FORMAT_KEY: "this is a price book, not a plan; add it to a plan, at `quote.price_book`",
    LOCK_KEY: "this is a lock, not a plan; use the plan next to it",
    "derivations": "this is a result, not a plan; use the plan, or compare two results with `bomgen diff`",
}
"""Keys that identify other bomgen files, with a hint what to do with such a file."""

COMMON_KEYS = frozenset(("name", "title"))
"""Plan keys that files of other programs also have."""
_KEYS = re.compile(
    rb"^[\"']?(\w+)[\"']?\s*:(?=\s)|\A\s*\{\s*[\"']?(bomgen\w*)[\"']?\s*:\s*[0-9]+\s*,\s*[\"']?(?!version)\w",
    re.MULTILINE,
)
"""Top-level keys of a file; in braces only the first, if it is a format version other than that of a result."""


class Inputs(NamedTuple):
    """Everything that a plan is calculated from; variants of the plan share it."""

    file: PlanFile
    settings: tuple[str, ...]
    """`KEY=VALUE` settings that override the plan."""
    templates: tuple[str, ...]
    """Paths of templates in addition to those that the plan names."""
    source: Source
    """The plan merged with its bases and settings."""
    catalog: Catalog
    """The catalogue, which reads each part file on first use."""
    lock: Lock | None
    contents: Mapping[FilePath, bytes | OSError]
    """Contents of the files by resolved path, or the reason why one cannot be read."""
    keys: tuple[str, ...]
    """Dotted keys that settings or an alternative set; they override the plan and its lock."""
    installed: Mapping[str, Installed] = {}
    """What stands already, by cluster."""
    phases: tuple[Source, ...] = ()
    """The plan as it is with each of its phases."""
    bought: tuple[Line, ...] = ()
    """The lines that earlier phases bought."""
    ahead: tuple[Line, ...] = ()
    """Lines of the last phase that are bought now."""


class PriceBooks(NamedTuple):
    """The prices and exchange rates of a quote."""

    quote: QuotePlan
    """The quote terms with the effective exchange rates: those of the lock, where it has them."""
    rates: Mapping[str, Exchange]
    """The exchange rates of the plan itself."""
    used: list[PriceBook]
    inputs: list[Input]
    current: dict[str, PriceBook]
    """Current contents of the locked price books by path; unreadable ones are missing."""


INDICATIVE_FILE = "indicative-prices.yaml"
"""The built-in price book, in the folder of the package's data."""


def read_all(
    file: PlanFile,
    settings: Sequence[str] = (),
    templates: Sequence[str] = (),
    earlier: Inputs | None = None,
    without: Sequence[str] = (),
    costs: bool = False,
) -> Inputs:
    """Read all inputs of a plan; files of `earlier` inputs, as of a variant, are not read again.

    `without` omits sections of the plan. The seller's `costs` are read on request, or if the plan sells by margin,
    because no other result depends on them.

    Raises PlanErrors with all problems that the schema finds, for a missing plan or part folder, and for an invalid
    lock.
    """
    if earlier is None:
        report_stage("plan")
    contents: Contents = dict(earlier.contents) if earlier else {}
    contents |= {real(path): content for path, content in file.unwritten}
    *phases, source = _sources(file, settings, without, contents)
    catalog = catalog_of(file, source)
    if earlier and (catalog.folders, catalog.shown) == (earlier.catalog.folders, earlier.catalog.shown):
        catalog = earlier.catalog.start_again()
    lock = read_lock(file, source, settings)
    installed = earlier.installed if earlier else lock.installed if lock else {}
    inputs = Inputs(
        *(file, tuple(settings), tuple(templates), source, catalog, lock, contents, keys_of(settings), installed),
        phases=tuple(phases),
    )
    return _read_named(inputs, (BOOKS, LOGO, TEMPLATES, *([COST_BOOKS] if costs else [])))


def read_lock(file: PlanFile, source: Source, settings: Sequence[str] = ()) -> Lock | None:
    """Return the lock of a plan; of a plan that has changed since, it has places alone. Raises PlanErrors."""
    if file.lock is None:
        return None
    from bomgen.workflow.lock import lock_of

    lock = lock_of(*file.lock)
    same = not settings and lock.is_of(file.content, source.files)
    return lock if same else lock._replace(installed=_places_alone(lock.installed))


def vary(inputs: Inputs, source: Source, keys: Sequence[str]) -> Inputs:
    """Return the inputs of an alternative of a plan, whose source sets `keys`."""
    installed = _places_alone(inputs.installed)
    return _read_named(inputs._replace(source=source, keys=(*inputs.keys, *keys), installed=installed), [BOOKS])


def _places_alone(installed: Mapping[str, Installed]) -> dict[str, Installed]:
    """Return what stands, without the names, labels and ports of a plan that is not this one."""
    return {name: machines._replace(names={}, labels=(), ends=()) for name, machines in installed.items()}


def _read_named(inputs: Inputs, keys: Sequence[Path]) -> Inputs:
    """Return the inputs with the files that the plan names at some keys, and the templates of the command line."""
    contents = dict(inputs.contents)
    keys = (*keys, COST_BOOKS) if SELL in inputs.source.values else keys
    named = [(name, inputs.source.mark(key), key) for key in keys for name in _texts_at(inputs.source, key)]
    named += [(template, Mark(own_templates.OPTION, 1, 1), TEMPLATES) for template in inputs.templates]
    for name, mark, key in named:
        with suppress(PlanErrors, OSError):  # reported where the file is used
            read_once(contents, _place_of(inputs.file, name, mark, key), name)
    return inputs._replace(contents=contents)


def _texts_at(source: Source, key: Path) -> Sequence[str]:
    """Return the paths at a key, a single one or a list; none if a parent key holds text."""
    value = value_at(source.data, key)
    return [value] if isinstance(value, str) else value or []


def _place_of(file: PlanFile, name: str, mark: Mark, key: Path) -> FilePath:
    """Return the location of a file named by the plan or command line. Raises PlanErrors if it is outside the root."""
    if key == TEMPLATES and (shipped := own_templates.shipped().get(name)):
        return shipped
    if key == BOOKS and name == INDICATIVE:
        return folder("data") / INDICATIVE_FILE
    if mark.file == own_templates.OPTION:
        return real(FilePath(name))
    return inside(file, name, mark, ".".join(map(str, key)))


def source_of(
    file: PlanFile, settings: Sequence[str] = (), without: Sequence[str] = (), contents: Contents | None = None
) -> Source:
    """Return the plan's data merged with settings and checked by the schema, without some sections.

    Of a plan with phases it is the whole. Files that it extends are taken from `contents`, or read into it.

    Raises PlanErrors with all problems that the schema finds.
    """
    return _sources(file, settings, without, contents)[-1]


def _sources(
    file: PlanFile, settings: Sequence[str], without: Sequence[str], contents: Contents | None
) -> list[Source]:
    """Return the plan with each of its phases, and the whole, which settings change although a phase has the key."""
    source = extended(file, settings, {} if contents is None else contents)
    if settings:
        if ".".join(map(str, CURRENCY)) in keys_of(settings):
            set_charge_currencies(source, str(Catalog().assumption("quote-currency").value))
        source = override(source, settings)
    if without and isinstance(source.data, dict):
        source = source._replace(data={key: value for key, value in source.data.items() if key not in without})
    if newer := schema.newer(source, "bomgen", "a plan", FORMAT, "format"):
        raise PlanErrors([newer])
    key = next((key for key in OTHER_FILES if isinstance(source.data, dict) and key in source.data), None)
    if key:
        raise error_at(source.key_mark((key,)), OTHER_FILES[key], "not-a-plan", key)
    problems = plan_schema.check_plan_schema(source)
    if problems:
        raise PlanErrors(sorted([*problems, *_unknown_parts(file, source, problems)], key=lambda problem: problem.mark))
    *phases, whole = plan_schema.split_phases(source, settings)
    if problems := [problem for phase in phases for problem in plan_schema.check_plan_schema(phase)]:
        raise PlanErrors(list(dict.fromkeys(problems)))
    return [*phases, whole]


def _unknown_parts(file: PlanFile, source: Source, problems: Sequence[Problem]) -> Sequence[Problem]:
    """Return problems for unknown parts in an invalid plan, if it names part folders."""
    if not isinstance(source.data, dict) or any(problem.path.startswith("catalog") for problem in problems):
        return ()
    try:
        with suppress(TooMuch), budget():
            return plan_schema.unknown_parts(source, catalog_of(file, source))
    except PlanErrors as errors:
        return errors.problems
    return ()


def name_of(file: PlanFile, settings: Sequence[str] = ()) -> str | None:
    """Return the name of a plan, or None if the plan is too broken to have one."""
    try:
        return str(source_of(file, settings).data["name"])
    except PlanErrors:
        return None


def catalog_of(file: PlanFile, source: Source) -> Catalog:
    """Return the catalogue with the part folders that the plan names. Raises PlanErrors for a missing folder."""
    folders: list[FilePath] = []
    shown: dict[FilePath, str] = {}
    for index, name in enumerate(source.data.get("catalog") or ()):
        mark = source.mark(("catalog", index))
        path = inside(file, name, mark, "catalog")
        # Not `is_dir`, which fails for a name that is too long.
        if not os.path.isdir(path):
            message = f"there is no folder '{name}'; part folders lie relative to the plan"
            raise error_at(mark, message, "no-file", "catalog")
        folders.append(path)
        shown[path] = name.rstrip("/")
    return Catalog(tuple(folders), shown, file.root)


def quote_prices(inputs: Inputs, quoted: QuotePlan) -> PriceBooks:
    """Return the prices of a quote: from its lock, and from its price books for parts that the lock does not cover.

    Raises PlanErrors for a price book that is invalid or unreadable, unless it is locked, and TooMuch as
    `price_books_of`.
    """
    lock = inputs.lock
    if lock is None:
        books, read = price_books_of(inputs, quoted.price_books)
        return PriceBooks(quoted, quoted.exchange, [*selling_books_of(inputs, quoted), *books], read, {})
    rates = lock.rates_for(quoted, inputs.keys)
    price_books = PriceBooks(quoted._replace(exchange=rates), quoted.exchange, [], [], {})
    for book in selling_books_of(inputs, price_books.quote):
        price_books.current[book.file] = book
        pinned = lock.pin(book.file, book)._replace(categories=book.categories) if book.file in lock.books else book
        price_books.used.append(pinned)
    for name, mark in quoted.price_books:
        try:
            (book,), read = price_books_of(inputs, [(name, mark)])
        except PlanErrors:
            if name not in lock.books:
                raise
            price_books.used.append(lock.books[name].book)
            continue
        if name in lock.books:
            price_books.current[name] = book
            price_books.used.append(lock.pin(name, book))
        else:
            price_books.used.append(book)
            price_books.inputs.extend(read)
    price_books.inputs.append(Input(FilePath(lock.file).name, lock.content))
    return price_books


def selling_books_of(inputs: Inputs, quoted: QuotePlan) -> list[PriceBook]:
    """Return the prices that costs are sold at; none unless the plan sells by margin.

    Raises PlanErrors and TooMuch as `price_books_of`, and PlanErrors for a cost without an exchange rate.
    """
    if quoted.sell is None:
        return []
    costs, _ = price_books_of(inputs, quoted.cost_books, COST_BOOKS)
    if wrong := missing_rates(quoted._replace(charges=()), costs):
        raise PlanErrors(wrong)
    return selling_books(costs, quoted)


def price_books_of(
    inputs: Inputs, named: Sequence[tuple[str, Mark]], key: Path = BOOKS
) -> tuple[list[PriceBook], list[Input]]:
    """Return the price books that a plan names at a key.

    Raises PlanErrors for an invalid or unreadable one, TooMuch if they have more lines than a plan may have.
    """
    read = [Input(name, _content(inputs, name, mark, key, "price book")) for name, mark in named]
    for name, content in read:
        spend(_steps(content, name), (name, content))
    return [_book(content, name) for name, content in read], read


PRICE_LIST = "a price list"


def known_as(path: FilePath) -> str:
    """Return what bomgen reads a file as: "a plan", "a lock" or "a price list"; empty for any other file."""
    from bomgen.reading.price_lists import is_price_list, is_table

    try:
        content = content_of(path)
    except OSError:  # missing, or unreadable
        return ""
    if is_table(path.name):
        return PRICE_LIST if is_price_list(content, path.name) else ""
    keys = {(block or braced).decode() for block, braced in _KEYS.findall(content)}
    if LOCK_KEY in keys:
        return "a lock"
    if FORMAT_KEY in keys:
        return PRICE_LIST
    return "a plan" if keys & (plan_schema.document("plan")["properties"].keys() - COMMON_KEYS) else ""


def price_book_in(file: PlanFile) -> PriceBook | None:
    """Return the price book in a file given as a plan, such as one written by `bomgen apply`; None for other files.

    Raises PlanErrors for an invalid price book.
    """
    if FORMAT_KEY.encode() not in file.content:
        return None
    source = read(decoded(file.content, file.name), file.name)
    keys = source.data.keys() if isinstance(source.data, dict) else ()
    return price_book(source) if FORMAT_KEY in keys and "bomgen" not in keys else None


def _steps(content: bytes, name: str) -> int:
    """Return the work steps to read a price book, from its lines or mappings, or from the unpacked size of a workbook.

    Raises PlanErrors for a file that is not a workbook.
    """
    if content.startswith(PACKAGE):
        from bomgen.reading.workbooks import unpacked

        size = unpacked(content, name)
        return OF_TAG * size.tags + size.bytes // BYTES_A_STEP
    return OF_PRICE * max(content.count(b"\n") + content.count(b"\r"), content.count(b"{"))


@lru_cache(maxsize=KEPT)
def _book(content: bytes, name: str) -> PriceBook:
    """Return the price book in a file's bytes; cached, because every alternative of a plan uses it."""
    from bomgen.reading.price_lists import read_book

    return read_book(content, name)


def _content(inputs: Inputs, name: str, mark: Mark, key: Path, what: str) -> bytes:
    content = inputs.contents[_place_of(inputs.file, name, mark, key)]
    if isinstance(content, OSError):
        message = f"the {what} '{name}' cannot be read ({content.strerror}); give its path relative to the plan"
        raise error_at(mark, message, "no-file", ".".join(map(str, key)))
    return content


def text_of(file: PlanFile, name: str) -> str:
    """Return the text of a file that marks refer to: the plan, a price book or a base; empty if there is none."""
    from bomgen.reading.price_lists import is_text

    if name == file.name:
        return file.content.decode("utf-8", "replace")
    if file.lock and name == file.lock[0]:
        return file.lock[1].decode("utf-8", "replace")
    for relative in (name, file.relative(name)):
        path = real(file.folder / relative)
        with suppress(OSError):  # removed since it was read
            if is_text(path.name) and path.is_relative_to(file.root) and path.is_file():
                return path.read_bytes().decode("utf-8", "replace")
    return ""


def logo_of(inputs: Inputs, plan: Plan) -> tuple[Logo | None, list[Input]]:
    """Return the vendor's logo if the plan names one. Raises PlanErrors for an image that documents cannot show."""
    if plan.quote.logo is None:
        return None, []
    name, mark = plan.quote.logo
    content = _content(inputs, name, mark, LOGO, "logo")
    image = logo(content)
    if image is None:
        message = f"'{name}' is not a PNG, JPEG or SVG of at most {MOST_LOGO} bytes; give one"
        raise error_at(mark, message, "logo", ".".join(map(str, LOGO)))
    return image, [Input(name, content)]


def templates_of(inputs: Inputs, plan: Plan) -> tuple[list[Template], list[Input]]:
    """Return the templates that the plan names, below its root, and those of the command line, at any path.

    The name of a built-in template selects that template.

    Raises PlanErrors for invalid templates.
    """
    folder = FilePath(inputs.file.name).parent
    named = [(file, str(folder / file), file, mark) for file, mark in plan.templates]
    named += [
        (path, path, f"--template {FilePath(path).name}", Mark(own_templates.OPTION, number, 1))
        for number, path in enumerate(inputs.templates, start=1)
    ]
    templates, read, problems = list[Template](), list[Input](), list[Problem]()
    for file, shown, input, mark in named:
        try:
            location = _place_of(inputs.file, file, mark, TEMPLATES)
            name = location.name if file in own_templates.shipped() else shown
            template, content = own_templates.template_of(inputs.contents[location], name, mark)
        except PlanErrors as errors:
            problems += errors.problems
            continue
        templates.append(template)
        read.append(Input(input, content))
    problems += own_templates.clashes(templates)
    if problems:
        raise PlanErrors(problems)
    return templates, read
