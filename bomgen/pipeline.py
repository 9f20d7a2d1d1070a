"""A plan file from reading to written files: the stages in a row.

Reading happens before the first stage, writing after the last; in between nothing touches the file system but the
catalogue, which reads its own files when they are asked for.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from bomgen import own_templates, rules, schema
from bomgen.alternatives import of_alternative, substitutes, unused, varied
from bomgen.bill import bill
from bomgen.binding import bind
from bomgen.catalog import Catalog
from bomgen.design import Design, design, stock
from bomgen.figures import first_given
from bomgen.inputs import PlanFile, catalog_of, logo_of, price_books_of, source_of, templates_of
from bomgen.margin import Margin, margin
from bomgen.medium import Stock
from bomgen.network.attachment import attachments
from bomgen.operation import running
from bomgen.plan import COMPUTE, Plan
from bomgen.price_lists import Entry, to_fill_in
from bomgen.prices import PriceBook, first
from bomgen.problems import Infeasible, PlanErrors, Problem
from bomgen.proof import Check, checks, of_problems
from bomgen.quote import part_price, quote
from bomgen.quote.units import without_rate
from bomgen.remarks import remarks, without_effect
from bomgen.report import Input, Report, given_to_templates
from bomgen.sizing import size
from bomgen.source import Source

if TYPE_CHECKING:
    from bomgen.document import Drawing
    from bomgen.elevations import Elevations
    from bomgen.language import Language
    from bomgen.wiring.columns import Wiring

FORMATS = {"md": "quote.md", "html": "quote.html", "xlsx": "quote.xlsx", "json": "bom.json", "csv": "bom.csv"}
"""The formats that `build` writes of itself, each with its file name."""
PRINTED = {"pdf": "quote.pdf"}
"""The format that a browser prints, with its file name."""
DRAWINGS = {"svg": "fabric-{name}.svg", "dot": "fabric-{name}.dot"}
"""The formats that have a file for every fabric, by the fabric's name."""
_TAKEN = [re.compile(re.escape(name)) for name in (*FORMATS.values(), *PRINTED.values())]
_TAKEN += [re.compile(re.escape(name).replace(r"\{name\}", ".*")) for name in DRAWINGS.values()]
"""The names of files that are bomgen's own, of every plan."""


COST_BOOK = ["quote", "cost_book"]
"""The key that no result names."""


class OutputError(Exception):
    """A file could not be written."""


class BrokenResult(Exception):
    """A check of the program on its own result failed: a mistake of the program, nothing may be written."""


def checked(file: PlanFile, settings: Sequence[str] = ()) -> tuple[Problem, ...]:
    """What is to be said of a plan that can be built. Raises PlanErrors as `work_out`, and for wrong templates."""
    report = work_out(file, settings)
    if problems := own_templates.parsed(report.templates):
        raise PlanErrors((*report.problems, *problems))
    costs_of(file, report)
    return report.problems


def costs_of(file: PlanFile, report: Report) -> list[PriceBook]:
    """The seller's own costs, where the plan names them; `build` has no use for them and never opens their files.

    Raises PlanErrors for a cost book that is wrong, cannot be read, or has a currency without a rate.
    """
    quoted = report.plan.quote
    books, _ = price_books_of(file, quoted.cost_books, "quote.cost_book")
    if wrong := without_rate(quoted, books):
        raise PlanErrors(wrong)
    return books


def earned(file: PlanFile, settings: Sequence[str] = ()) -> tuple[Report, Margin]:
    """The result for a plan, and what its seller earns.

    Raises PlanErrors as `work_out` and `costs_of`, and where the plan names no cost book.
    """
    report = work_out(file, settings)
    quoted = report.plan.quote
    if not quoted.cost_books:
        message = "the plan names no cost book; name one at `quote.cost_book`, or with --set quote.cost_book=FILE"
        raise PlanErrors([Problem(quoted.mark, "error", message, "no-cost-book", "quote.cost_book")])
    return report, margin(report.quote.lines, quoted, costs_of(file, report))


def to_price(report: Report) -> list[Entry]:
    """The parts of a result that have no price yet, as prices to fill in."""
    return list(to_fill_in(report.quote.lines, report.plan.quote.currency))


def work_out(file: PlanFile, settings: Sequence[str] = (), templates: Sequence[str] = ()) -> Report:
    """The whole result for a plan, with those of its alternatives.

    `templates` are paths of templates beside those that the plan names.

    Raises PlanErrors with every problem of a plan that is wrong or cannot be built, BrokenResult when a check on the
    result fails.
    """
    source = source_of(file, settings)
    catalog = catalog_of(file, source)
    report = _worked_out(file, source, catalog, settings)
    picture, of_picture = logo_of(file, report.plan)
    own, of_templates = templates_of(file, report.plan, templates, _TAKEN)
    inputs = (*report.inputs, *of_picture, *of_templates)
    found = tuple(
        _alternative(file, source, catalog, report, place) for place in range(len(report.plan.quote.alternatives))
    )
    return report._replace(inputs=inputs, logo=picture, templates=tuple(own), alternatives=found)


def _alternative(file: PlanFile, source: Source, catalog: Catalog, report: Report, place: int) -> Report:
    """The result for one alternative of a plan. Raises what `work_out` raises, said to be the alternative's."""
    alternative = report.plan.quote.alternatives[place]

    def cheapest(kind: str, ids: Sequence[str]) -> str:
        known = {id: first(report.books, [id, *_numbers(catalog, kind, id)]) for id in ids}
        priced = {id: price.amount for id, price in known.items() if price and price.amount is not None}
        return min(ids, key=lambda id: (id not in priced, priced.get(id, 0)))

    try:
        other = varied(source, place)
        if problems := schema.check(other, "plan"):
            raise PlanErrors(problems)
        instead = substitutes(alternative, report.bill, catalog, cheapest)
        found = _worked_out(file, other, catalog.substituted(instead), ())
        if problems := list(unused(alternative, instead, found.bill)):
            raise PlanErrors(problems)
    except PlanErrors as errors:
        raise PlanErrors(of_alternative(alternative, errors.problems)) from None
    return found


def _numbers(catalog: Catalog, kind: str, id: str) -> list[str]:
    """The part numbers of a part, in lower case."""
    record = catalog.listed(kind, id)
    return [str(number).lower() for key in ("part_number", "ordering_number") if (number := record.value(key))]


def _worked_out(file: PlanFile, source: Source, catalog: Catalog, settings: Sequence[str]) -> Report:
    """The result for a source; `settings` are what was laid over it."""
    plan = bind(source, catalog)
    found = rules.check(plan, source)
    if any(problem.severity == "error" for problem in found):
        raise PlanErrors(found)
    books, inputs = price_books_of(file, plan.quote.price_books, "quote.price_book")
    try:
        attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        sizing = size(plan, attached)
        parts = stock(catalog)._replace(price=part_price(plan.quote, books))
        designed = _on_floor(design(plan, sizing, parts, attached), parts)
    except Infeasible as error:
        mark = first_given(error.because) or plan.mark
        raise PlanErrors([Problem(mark, "error", error.message, error.rule)]) from error
    billed = bill(designed)
    priced = quote(billed, plan.quote, books)
    elevated = _elevations(designed)
    outcome = checks(designed, billed, priced)
    _raise_broken(outcome)
    noted = [*found, *remarks(designed), *without_effect(source, designed, billed), *priced.problems]
    noted += _of_racks(elevated, plan)
    of_checks = _warnings(outcome, designed)
    problems = tuple(sorted((*noted, *of_checks), key=lambda problem: problem.mark))
    inputs += [Input(name, content) for name, content in sorted(catalog.inputs.items())]
    inputs += [Input(f"--set {setting}", setting.encode()) for setting in map(_without_costs, settings) if setting]
    return Report(
        plan=plan,
        plan_file=file.name,
        content=file.content,
        inputs=tuple(inputs),
        design=designed,
        bill=billed,
        quote=priced,
        books=tuple(books),
        running=running(designed, priced),
        elevations=elevated,
        checks=(*outcome, *of_problems(noted)),
        problems=problems,
    )


def _without_costs(setting: str) -> str:
    """A setting as results may name it: nothing of the cost book, which is no customer's business."""
    key, _, value = setting.partition("=")
    if key.split(".")[: len(COST_BOOK)] == COST_BOOK:
        return ""
    return f"{key}=..." if COST_BOOK[-1] in value else setting


def _on_floor(designed: Design, parts: Stock) -> Design:
    """The design with its cables as long as their ways, where the plan has a layout."""
    site = designed.plan.site
    if site is None or not site.layout.given:
        return designed
    from bomgen.laying import laid
    from bomgen.wiring import wire
    from bomgen.wiring.checks import broken
    from bomgen.wiring.sockets import Overfull

    try:
        found = laid(designed, parts)
        wrong = broken(wire(found), found)
    except ValueError as error:
        raise PlanErrors([Problem(site.layout.mark, "error", str(error), "layout", "site.layout")]) from error
    except Overfull as error:
        raise PlanErrors([Problem(designed.plan.mark, "error", str(error), "cages")]) from error
    if wrong:
        raise BrokenResult("; ".join(wrong))
    return found


def _elevations(designed: Design) -> Elevations | None:
    """What stands in the racks, where the plan describes a site."""
    if designed.plan.site is None:
        return None
    from bomgen.elevations.standing import elevations

    return elevations(designed)


def _of_racks(elevated: Elevations | None, plan: Plan) -> list[Problem]:
    """Warnings about what finds no rack, at the place of the site."""
    if elevated is None or plan.site is None:
        return []
    mark = plan.site.management_racks and first_given(plan.site.management_racks)
    place = mark or plan.site.mark
    return [Problem(place, "warning", message, rule, "site.management_racks") for message, rule in elevated.warnings]


def _warnings(outcome: tuple[Check, ...], designed: Design) -> list[Problem]:
    """Checks of a fabric that warn, as problems at the place of the fabric."""
    marks = {built.plan.name: built.plan.mark for built in designed.fabrics}
    return [
        Problem(marks[check.path.split(".")[1]], "warning", check.message, check.id, check.path)
        for check in outcome
        if check.status == "warn" and check.path.startswith("fabrics.")
    ]


def _raise_broken(outcome: tuple[Check, ...]) -> None:
    failed = [f"{check.id}: {check.message} ({check.path})" for check in outcome if check.status == "fail"]
    if failed:
        raise BrokenResult("; ".join(failed))


def render(report: Report, formats: Sequence[str]) -> dict[str, bytes]:
    """The files of a report by name, in the formats asked for, and those of the user's own templates.

    Raises PlanErrors when a template fails, OutputError when there is no browser that prints the PDF.
    """
    files: dict[str, bytes] = {}
    readers = [form for form in formats if form in ("md", "html", "xlsx", "pdf")]
    if readers:
        from bomgen.chapters import document
        from bomgen.document import Drawing
        from bomgen.language import language
        from bomgen.render.diagrams import fabric_svg

        words = language(report.plan.quote.language)
        servers = _servers(report)
        drawings = tuple(
            Drawing(
                f"drawing-{built.plan.name}",
                words.word("drawing-title", name=built.plan.name),
                fabric_svg(built.fabric, built.plan.name, words, servers),
                words.word("drawing-title", name=built.plan.name),
                DRAWINGS["svg"].format(name=built.plan.name) if "svg" in formats else None,
            )
            for built in report.design.fabrics
        )
        page = document(report, words, drawings, _racks_drawn(report, words), _costs_drawn(report, words))
    for form in formats:
        if form == "md":
            from bomgen.render.text import markdown

            files[FORMATS[form]] = markdown(page, words)
        elif form == "html":
            from bomgen.render.text import html

            files[FORMATS[form]] = html(page, words)
        elif form == "pdf":
            from bomgen.render.pdf import NotPrinted, pdf
            from bomgen.render.text import html

            try:
                files[PRINTED[form]] = pdf(files.get(FORMATS["html"]) or html(page, words))
            except NotPrinted as error:
                raise OutputError(f"{PRINTED[form]}: {error}") from error
        elif form == "xlsx":
            from bomgen.render.xlsx import workbook

            files[FORMATS[form]] = workbook(page, words)
        elif form in DRAWINGS:
            files |= _drawings(report, form)
        else:
            from bomgen.render.data import bom_csv, bom_json

            files[FORMATS[form]] = bom_json(report) if form == "json" else bom_csv(report)
    if report.templates:
        files |= own_templates.filled(report.templates, given_to_templates(report), report.plan.quote.language)
    return files


def _costs_drawn(report: Report, words: Language) -> Drawing | None:
    """What each category of the bill costs; None where nothing has a price."""
    from bomgen.breakdown import by_category
    from bomgen.document import Drawing
    from bomgen.render.cost_drawing import cost_svg

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
    from bomgen.document import Drawing
    from bomgen.elevations import left_out
    from bomgen.render.floor_drawing import floor_svg
    from bomgen.render.rack_drawing import drawn_of, rack_svgs

    floor, text = words.word("drawing-floor"), words.word("drawing-racks-text")
    if missing := left_out(found, drawn_of(found)):
        text = words.word("drawing-racks-some", text=text, racks=missing)
    fronts = (
        Drawing(f"racks-{number}", title, svg, text if number == 1 else title)
        for number, (title, svg) in enumerate(rack_svgs(found, words), 1)
    )
    return (Drawing("floor", floor, floor_svg(found, site, words), words.word("drawing-floor-text")), *fronts)


def _servers(report: Report) -> int | None:
    """The servers that hang on the fabrics."""
    servers = report.design.sizing.servers
    return None if servers is None else int(servers.value)


def _drawings(report: Report, form: str) -> dict[str, bytes]:
    """A file for every fabric."""
    from bomgen.language import language
    from bomgen.render.diagrams import fabric_svg
    from bomgen.render.graphviz import fabric_dot

    words, servers = language(report.plan.quote.language), _servers(report)
    files = {}
    for built in report.design.fabrics:
        fabric, name = built.fabric, built.plan.name
        text = (
            fabric_dot(fabric, name, words, servers)
            if form == "dot"
            else fabric_svg(fabric, name, words, servers, True)
        )
        files[DRAWINGS[form].format(name=name)] = text.encode("utf-8")
    return files


def compute_fabric(report: Report) -> tuple[str, ...]:
    """The name of the first compute fabric; none where the plan has none."""
    return tuple(built.plan.name for built in report.design.fabrics if built.plan.role == COMPUTE)[:1]


def wired(report: Report, fabrics: Sequence[str] = ()) -> Wiring:
    """Every cable of a report's design, port to port; where fabrics are named, theirs alone.

    Raises PlanErrors when the links of a switch fill more cages than it has, BrokenResult when a check fails.
    """
    from dataclasses import replace

    from bomgen.wiring import wire
    from bomgen.wiring.checks import broken
    from bomgen.wiring.sockets import Overfull

    try:
        wiring = replace(wire(report.design), language=report.plan.quote.language)
    except Overfull as error:
        raise PlanErrors([Problem(report.plan.mark, "error", str(error), "cages")]) from error
    if found := broken(wiring, report.design):
        raise BrokenResult("; ".join(found))
    return wiring.of_fabrics(fabrics) if fabrics else wiring


def write_wiring(wiring: Wiring, form: str, out: FilePath | None, progress: Callable[[int], None]) -> list[FilePath]:
    """Write a wiring in a format, its files whole or not at all; to standard output where no file is named.

    Formats of several files lay the others beside the one that is named. What a link points to is written, and a pipe
    or a device is written to. Raises OutputError when a file cannot be written.
    """
    import tempfile

    from bomgen.export import format_of

    module = format_of(form)
    if out is None:
        module.write(wiring, sys.stdout.buffer, progress)
        sys.stdout.buffer.flush()
        return []
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir():
            raise OutputError(f"{out}: there is a folder of that name")
        if out.exists() and not out.is_file() and not module.SEVERAL_FILES:
            with out.open("wb") as stream:
                module.write(wiring, stream, progress)
            return [out]
        out = out.resolve() if out.is_symlink() else out
        with tempfile.TemporaryDirectory(prefix=".bomgen-", dir=out.parent) as folder:
            waiting = FilePath(folder) / out.name
            if module.SEVERAL_FILES:
                module.write(wiring, waiting, progress)
            else:
                with waiting.open("wb") as stream:
                    module.write(wiring, stream, progress)
            written = sorted(path.name for path in FilePath(folder).iterdir())
            for name in written:
                os.replace(FilePath(folder) / name, out.parent / name)
    except OSError as error:
        raise OutputError(f"{error.filename or out}: {error.strerror}") from error
    return [out.parent / name for name in written]


def write_one(content: bytes, out: FilePath) -> None:
    """Write a file whole or not at all; what a link points to is written, and a pipe or a device is written to.

    Raises OutputError when it cannot be written.
    """
    out = out.resolve() if out.is_symlink() else out
    if not out.exists() or out.is_file():
        write({out.name: content}, out.parent)
        return
    try:
        out.write_bytes(content)
    except OSError as error:
        raise OutputError(f"{out}: {error.strerror}") from error


def write(files: dict[str, bytes], folder: FilePath) -> list[FilePath]:
    """Write files into a folder, each whole or not at all: all are laid beside their places before the first moves.

    Raises OutputError when the folder or a file cannot be written.
    """
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in files:
            if (folder / name).is_dir():
                raise OutputError(f"{folder / name}: there is a folder of that name")
        with tempfile.TemporaryDirectory(prefix=".bomgen-", dir=folder) as waiting:
            for name, content in files.items():
                (FilePath(waiting) / name).write_bytes(content)
            for name in files:
                os.replace(FilePath(waiting) / name, folder / name)
    except OSError as error:
        raise OutputError(f"{error.filename or folder}: {error.strerror}") from error
    return [folder / name for name in files]
