"""The files that a plan names: plans that it extends, part folders, price books, the vendor's picture, templates."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path as FilePath

from bomgen.catalog.files import Catalog
from bomgen.core import progress, schema
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.picture import MOST_LOGO, Logo, logo
from bomgen.core.provenance import Mark
from bomgen.core.readable_files import refuse_git_files
from bomgen.core.work_budget import BYTES_A_STEP, OF_PRICE, OF_TAG, TooMuch, budget, spend
from bomgen.core.yaml_source import MAX_BYTES, Source, decoded, override, read
from bomgen.output.user_templates import templates as own_templates
from bomgen.plan import schema as plan_schema
from bomgen.plan.types import Plan
from bomgen.plan.unknown_parts import unknown_parts
from bomgen.pricing.books import book
from bomgen.pricing.books.book import KEPT, PriceBook
from bomgen.reading.tables import PACKAGE
from bomgen.report.result import Input
from bomgen.report.user_template import Template
from bomgen.workflow.base_plans import extended
from bomgen.workflow.plan_files import LOCK_KEY, PlanFile, content_of, inside, lock_name, real

__all__ = [
    "PlanFile",
    "catalog_of",
    "known_as",
    "lock_name",
    "logo_of",
    "name_of",
    "open_plan",
    "price_books_of",
    "source_of",
    "templates_of",
    "text_of",
]

FORMAT = 1
"""Version of the format of plans, their key `bomgen`."""

OTHER_FILES = {
    book.FORMAT_KEY: "this is a price book, not a plan; name it in a plan, at `quote.price_book`",
    LOCK_KEY: "this is a lock, not a plan; give the plan beside it",
    "derivations": "this is a result, not a plan; give the plan that it was made from, or two results to `bomgen diff`",
}
"""Other files of bomgen's by a key that no plan has, and what to do with one."""

COMMON_KEYS = frozenset(("name", "title"))
"""Keys of plans that files of other programs have, too."""
_KEYS = re.compile(
    rb"^[\"']?(\w+)[\"']?\s*:(?=\s)|\A\s*\{\s*[\"']?(bomgen\w*)[\"']?\s*:\s*[0-9]+\s*,\s*[\"']?(?!version)\w",
    re.MULTILINE,
)
"""The keys of the uppermost level; in braces the first, which is the version of a format, but not that of a result."""

STANDARD_INPUT = "-"
STANDARD_INPUT_NAME = "<stdin>"


def open_plan(path: str, root: str | None) -> PlanFile:
    """The plan at a path, `-` for standard input.

    Raises OSError, with its name, when it or its lock cannot be read.
    """
    if path == STANDARD_INPUT:
        folder = FilePath.cwd()
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        content = progress.read(STANDARD_INPUT_NAME, sys.stdin.buffer.read(MAX_BYTES + 1))
        return PlanFile(STANDARD_INPUT_NAME, content, folder, FilePath(root).resolve() if root else folder)
    place = FilePath(path)
    content = progress.read(path, _limited(place))
    folder = place.resolve().parent
    widest = FilePath(root).resolve() if root else _checkout(folder)
    _refuse_outside(place, FilePath(root).resolve() if root else _checkout(place.parent.resolve()))
    pinned = FilePath(lock_name(path))
    _refuse_outside(pinned, widest)
    lock = (str(pinned), progress.read(str(pinned), _limited(pinned))) if pinned.is_file() else None
    return PlanFile(path, content, folder, widest, lock)


def _refuse_outside(place: FilePath, tree: FilePath) -> None:
    """Raise OSError for a link that leads out of a folder tree."""
    if place.is_symlink() and not real(place).is_relative_to(tree):
        raise OSError(errno.EXDEV, "The link leads out of the plan's folder tree", str(place))


def _limited(place: FilePath) -> bytes:
    """The bytes of a plan or lock, of a larger file than is read a little more than is: its size is refused there."""
    refuse_git_files(place)
    with place.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _checkout(folder: FilePath) -> FilePath:
    """The git checkout that a folder is in, else the folder itself."""
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def source_of(file: PlanFile, settings: Sequence[str] = (), without: Sequence[str] = ()) -> Source:
    """The plan's data with settings laid over it, in the form that the schema asks for; `without` some of its sections.

    Raises PlanErrors with all problems that the schema finds.
    """
    source = extended(file, settings)
    if settings:
        source = override(source, settings)
    if without and isinstance(source.data, dict):
        source = source._replace(data={key: value for key, value in source.data.items() if key not in without})
    if newer := schema.newer(source, "bomgen", "a plan", FORMAT, "format"):
        raise PlanErrors([newer])
    if other := _other_file(source):
        raise PlanErrors([other])
    problems = plan_schema.check(source, "plan")
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


def price_books_of(file: PlanFile, named: Sequence[tuple[str, Mark]], path: str) -> tuple[list[PriceBook], list[Input]]:
    """The price books that a plan names at a key.

    Raises PlanErrors for one that is wrong or cannot be read, TooMuch when they have more lines than a plan may.
    """
    inputs = [Input(given, _content(file, given, mark, path, "price book")) for given, mark in named]
    for given, content in inputs:
        spend(_steps(content, given), (given, content))
    books = [_book(content, given) for given, content in inputs]
    return books, inputs


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
    if book.FORMAT_KEY in keys:
        return "a price list"
    return "a plan" if keys & (plan_schema.document("plan")["properties"].keys() - COMMON_KEYS) else ""


def price_book_in(file: PlanFile) -> PriceBook | None:
    """The price book that a file given as a plan is, such as one that `bomgen apply` wrote; None where it is none.

    Raises PlanErrors for a price book that is wrong.
    """
    if book.FORMAT_KEY.encode() not in file.content:
        return None
    source = read(decoded(file.content, file.name), file.name)
    keys = source.data.keys() if isinstance(source.data, dict) else ()
    return book.price_book(source) if book.FORMAT_KEY in keys and "bomgen" not in keys else None


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


def _content(file: PlanFile, given: str, mark: Mark, path: str, what: str) -> bytes:
    """A file that the plan names at a key. Raises PlanErrors when it cannot be read."""
    place = inside(file, given, mark, path)
    for unwritten, content in file.unwritten:
        if place == real(unwritten):
            return content
    try:
        return progress.read(given, content_of(place))
    except OSError as error:
        message = f"the {what} '{given}' cannot be read ({error.strerror}); give its path relative to the plan"
        raise PlanErrors([Problem(mark, "error", message, "no-file", path)]) from None


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


def logo_of(file: PlanFile, plan: Plan) -> tuple[Logo | None, list[Input]]:
    """The vendor's picture, where the plan names one. Raises PlanErrors when it is none that documents can show."""
    if plan.quote.logo is None:
        return None, []
    given, mark = plan.quote.logo
    content = _content(file, given, mark, "quote.vendor.logo", "logo")
    found = logo(content)
    if found is None:
        message = f"'{given}' is not a PNG, JPEG or SVG of at most {MOST_LOGO} bytes; give one"
        raise PlanErrors([Problem(mark, "error", message, "logo", "quote.vendor.logo")])
    return found, [Input(given, content)]


def templates_of(file: PlanFile, plan: Plan, options: Sequence[str]) -> tuple[list[Template], list[Input]]:
    """The templates that the plan names, below its root, and those of the command line, wherever these lie.

    A name of a template that comes with bomgen is that one.

    Raises PlanErrors for templates that are wrong.
    """
    named = [(str(FilePath(file.name).parent / given), given, given, mark) for given, mark in plan.templates]
    marks = [Mark(own_templates.OPTION, number, 1) for number in range(1, len(options) + 1)]
    named += [(path, f"--template {FilePath(path).name}", "", mark) for path, mark in zip(options, marks, strict=True)]
    templates, inputs, problems = list[Template](), [], list[Problem]()
    for shown, input, given, mark in named:
        try:
            place = own_templates.shipped().get(given or shown)
            if place:
                shown = place.name
            else:
                place = inside(file, given, mark, own_templates.PATH) if given else FilePath(shown)
            template, content = own_templates.open_template(place, shown, mark)
        except PlanErrors as errors:
            problems += errors.problems
            continue
        templates.append(template)
        inputs.append(Input(input, content))
    problems += own_templates.clashes(templates)
    if problems:
        raise PlanErrors(problems)
    return templates, inputs
