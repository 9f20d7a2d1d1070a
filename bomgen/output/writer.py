"""From a report to written files: every format of a quote and of a wiring, whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from bomgen.core import progress as telling
from bomgen.output import atomic_write
from bomgen.output.user_templates import templates
from bomgen.report.result import Report, given_to_templates

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring
    from bomgen.core.document import Drawing
    from bomgen.core.language import Language

FORMATS = {
    **{"md": "quote.md", "html": "quote.html", "xlsx": "quote.xlsx", "json": "bom.json", "csv": "bom.csv"},
    "cdx": "bom.cdx.json",
}
"""The formats of one file that bomgen writes of itself, each with its file name."""
PRINTED = {"pdf": "quote.pdf"}
"""The format that a browser prints, with its file name."""
DRAWINGS = {"svg": "fabric-{name}.svg", "dot": "fabric-{name}.dot"}
"""The formats that have a file for every fabric, by the fabric's name."""
TAKEN = [re.compile(re.escape(name)) for name in (*FORMATS.values(), *PRINTED.values())]
TAKEN += [re.compile(re.escape(name).replace(r"\{name\}", ".*")) for name in DRAWINGS.values()]
"""The names of files that are bomgen's own, of every plan."""


class OutputError(Exception):
    """A file could not be written."""


def render(report: Report, formats: Sequence[str]) -> dict[str, bytes]:
    """The files of a report by name, in the formats asked for, and those of the user's own templates.

    Raises PlanErrors when a template fails, OutputError when there is no browser that prints the PDF.
    """
    files: dict[str, bytes] = {}
    readers = [form for form in formats if form in ("md", "html", "xlsx", "pdf")]
    if readers:
        telling.stage("chapters and drawings")
        from bomgen.core.language import language
        from bomgen.report.chapters.contents import document

        words = language(report.plan.quote.language)
        pools = {each.plan.pool: each for each in report.each_pool}
        drawings = {name: tuple(_fabrics_drawn(each, words, "svg" in formats)) for name, each in pools.items()}
        of_racks = {name: _racks_drawn(each, words) for name, each in pools.items()}
        page = document(report, words, drawings, of_racks, _costs_drawn(report, words))
    for form in formats:
        telling.stage(form)
        if form == "md":
            from bomgen.output.markdown_html import markdown

            files[FORMATS[form]] = markdown(page, words)
        elif form == "html":
            from bomgen.output.markdown_html import html

            files[FORMATS[form]] = html(page, words)
        elif form == "pdf":
            from bomgen.output.markdown_html import html
            from bomgen.output.pdf import NotPrinted, pdf

            try:
                files[PRINTED[form]] = pdf(files.get(FORMATS["html"]) or html(page, words))
            except NotPrinted as error:
                raise OutputError(f"{PRINTED[form]}: {error}") from error
        elif form == "xlsx":
            from bomgen.output.xlsx.workbook import workbook

            files[FORMATS[form]] = workbook(page, words)
        elif form in DRAWINGS:
            files |= _drawings(report, form)
        elif form == "cdx":
            from bomgen.output.cyclonedx import bom_cdx

            files[FORMATS[form]] = bom_cdx(report)
        else:
            from bomgen.output.json_csv import bom_csv, bom_json

            files[FORMATS[form]] = bom_json(report) if form == "json" else bom_csv(report)
    if report.templates:
        telling.stage("templates")
        files |= templates.filled(report.templates, given_to_templates(report), report.plan.quote.language)
    return files


def _fabrics_drawn(report: Report, words: Language, as_files: bool) -> Iterator[Drawing]:
    """The drawings of the fabrics of one cluster; `as_files` says that each is a file of its own as well."""
    from bomgen.core.document import Drawing
    from bomgen.output.drawing.fabrics import fabric_svg

    servers = _servers(report)
    for built in report.design.fabrics:
        name = _drawn_name(report, built.plan.name)
        title = words.word("drawing-title", name=name)
        svg = fabric_svg(built.fabric, name, words, servers)
        yield Drawing(f"drawing-{name}", title, svg, title, DRAWINGS["svg"].format(name=name) if as_files else None)


def _drawn_name(report: Report, fabric: str) -> str:
    """What the drawing of a fabric is called: the fabric, behind its cluster where there are several."""
    return f"{report.plan.pool}.{fabric}" if report.plan.pool else fabric


def render_comparison(reports: Sequence[Report], words: Language, form: str, alternatives: bool = False) -> bytes:
    """Reports side by side in a format: text, md, html, xlsx or json; with `alternatives` those of each behind it."""
    from bomgen.report.compare.comparison import compared, data, document

    found = compared(reports, words, alternatives)
    if form == "json":
        return data(found).encode("utf-8")
    page = document(found, words)
    if form == "xlsx":
        from bomgen.output.xlsx.workbook import tables

        return tables(page, words)
    if form == "text":
        from bomgen.output.terminal import text

        return text(page, words)
    from bomgen.output.markdown_html import html, markdown

    return html(page, words) if form == "html" else markdown(page, words)


def _costs_drawn(report: Report, words: Language) -> Drawing | None:
    """What each category of the bill costs; None where nothing has a price."""
    from bomgen.core.document import Drawing
    from bomgen.output.drawing.costs import cost_svg
    from bomgen.pricing.breakdown import by_category

    parts = by_category(report.quote.lines)
    if not parts:
        return None
    title = words.word("drawing-costs")
    return Drawing(
        "costs", title, cost_svg(parts, report.quote.totals.currency, words, title), words.word("drawing-costs-text")
    )


def _racks_drawn(report: Report, words: Language) -> tuple[Drawing, ...]:
    """The floor, and racks from the front; the first of them says which racks are not drawn."""
    found, site = report.elevations, report.plan.site
    if found is None or site is None:
        return ()
    from bomgen.core.document import Drawing
    from bomgen.output.drawing.floor import floor_svg
    from bomgen.output.drawing.racks import drawn_of, rack_svgs
    from bomgen.report.elevations.types import left_out

    floor, text = words.word("drawing-floor"), words.word("drawing-racks-text")
    if missing := left_out(found, drawn_of(found)):
        text = words.word("drawing-racks-some", text=text, racks=missing)
    name, of_floor = _drawn_name(report, "racks"), _drawn_name(report, "floor")
    fronts = (
        Drawing(f"{name}-{number}", title, svg, text if number == 1 else title)
        for number, (title, svg) in enumerate(rack_svgs(found, words, name), 1)
    )
    plan = floor_svg(found, site, words, of_floor)
    return (Drawing(of_floor, floor, plan, words.word("drawing-floor-text")), *fronts)


def _servers(report: Report) -> int | None:
    """The servers that hang on the fabrics."""
    servers = report.design.sizing.servers
    return None if servers is None else int(servers.value)


def _drawings(report: Report, form: str) -> dict[str, bytes]:
    """A file for every fabric."""
    from bomgen.core.language import language
    from bomgen.output.drawing.fabrics import fabric_svg
    from bomgen.output.drawing.graphviz import fabric_dot

    words, files = language(report.plan.quote.language), {}
    for each in report.each_pool:
        servers = _servers(each)
        for built in each.design.fabrics:
            fabric, name = built.fabric, _drawn_name(each, built.plan.name)
            text = (
                fabric_dot(fabric, name, words, servers)
                if form == "dot"
                else fabric_svg(fabric, name, words, servers, True)
            )
            files[DRAWINGS[form].format(name=name)] = text.encode("utf-8")
    return files


def write_wiring(wiring: Wiring, form: str, out: FilePath | None, progress: Callable[[int], None]) -> list[FilePath]:
    """Write a wiring in a format, its files whole or not at all; to standard output where no file is named.

    Formats of several files lay the others beside the one that is named. What a link points to is written, and a pipe
    or a device is written to. Raises OutputError when a file cannot be written.
    """
    from bomgen.output.wiring.formats import format_of

    module = format_of(form)
    if out is None:
        module.write(wiring, sys.stdout.buffer, progress)
        sys.stdout.buffer.flush()
        return []

    def make(place: FilePath) -> None:
        if module.SEVERAL_FILES:
            module.write(wiring, place, progress)
        else:
            with place.open("wb") as stream:
                module.write(wiring, stream, progress)

    with _told(out):
        if out.exists() and not out.is_file() and not out.is_dir() and not module.SEVERAL_FILES:
            make(out)
            return [out]
        place = _behind(out)
        return atomic_write.place(place.parent, lambda folder: make(folder / place.name))


def _behind(out: FilePath) -> FilePath:
    """Where a link leads to, or the place itself."""
    place = FilePath(os.path.realpath(out)) if out.is_symlink() else out
    if place.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(out))
    return place


def write_one(content: bytes, out: FilePath) -> None:
    """Write a file whole or not at all; what a link points to is written, and a pipe or a device is written to.

    Raises OutputError when it cannot be written.
    """
    with _told(out):
        out = _behind(out)
        if out.exists() and not out.is_file() and not out.is_dir():
            out.write_bytes(content)
        else:
            write({out.name: content}, out.parent)


def write_new(content: bytes, out: FilePath) -> None:
    """Write a file whole where none is.

    Raises FileExistsError when there is one, and OutputError when it cannot be written.
    """
    with _told(out, but=FileExistsError):
        atomic_write.place(out.parent, lambda folder: (folder / out.name).write_bytes(content), exclusive=True)


def write(files: dict[str, bytes], folder: FilePath, below: FilePath | None = None) -> list[FilePath]:
    """Write files into a folder, all or none: what was there before stays until every one of them is on the disk.

    Raises OutputError when the folder or a file cannot be written, or when it is a link that leads out of `below`: who
    made the plan may have made the link, and would choose with it what is written over.
    """

    def make(place: FilePath) -> None:
        for name, content in files.items():
            with _named(place / name), (place / name).open("wb") as stream:
                stream.write(content)

    if below is not None and not folder.resolve().is_relative_to(below.resolve()):
        raise OutputError(f"{folder}: a link that leads out of {below}; name the folder itself with -o")
    with _told(folder):
        atomic_write.place(folder, make)
    return [folder / name for name in files]


@contextmanager
def _named(place: FilePath) -> Iterator[None]:
    """Have an error of the system say which file it is about: one of writing does not."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(error.filename or place)) from error


@contextmanager
def _told(out: FilePath, but: type[OSError] | None = None) -> Iterator[None]:
    """Raise OutputError where the system does not write, with the file or folder that it does not write."""
    try:
        yield
    except OSError as error:
        if but and isinstance(error, but):
            raise
        about = out if error.filename in (None, str(out.parent)) else error.filename
        raise OutputError(f"{about}: {error.strerror or error}") from error
