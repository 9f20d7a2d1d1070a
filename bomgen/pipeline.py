"""A plan file from reading to a report: the stages in a row.

Reading happens before the first stage; in between nothing touches the file system but the catalogue, which reads its
own files when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bomgen import own_templates, rules, schema, telling
from bomgen.alternatives import of_alternative, substitutes, unused, varied, warnings_of
from bomgen.bill import Line, bill
from bomgen.binding import bind
from bomgen.catalog import Catalog
from bomgen.design import Design, design, stock
from bomgen.figures import first_given
from bomgen.inputs import PlanFile, catalog_of, logo_of, price_books_of, source_of, templates_of
from bomgen.margin import Margin, margin
from bomgen.medium import Stock
from bomgen.network.attachment import attachments
from bomgen.operation import running
from bomgen.outputs import TAKEN
from bomgen.plan import COMPUTE, Plan
from bomgen.price_lists import Entry, to_fill_in
from bomgen.prices import PriceBook
from bomgen.problems import Infeasible, PlanErrors, Problem
from bomgen.proof import Check, checks, of_problems
from bomgen.quote import net_price, part_price, quote, without_rate
from bomgen.remarks import remarks, without_effect
from bomgen.report import Input, Report
from bomgen.sizing import size
from bomgen.source import Source

if TYPE_CHECKING:
    from bomgen.elevations import Elevations
    from bomgen.wiring.columns import Wiring

COST_BOOK = ["quote", "cost_book"]
"""The key that no result names."""


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
    """The parts of a result and of its alternatives that have no price yet, as prices to fill in."""
    found: dict[str, Entry] = {}
    for each in (report, *report.alternatives):
        for entry in to_fill_in(each.quote.lines, report.plan.quote.currency):
            found.setdefault(entry["part"], entry)
    return list(found.values())


def work_out(file: PlanFile, settings: Sequence[str] = (), templates: Sequence[str] = ()) -> Report:
    """The whole result for a plan, with those of its alternatives.

    `templates` are paths of templates beside those that the plan names.

    Raises PlanErrors with every problem of a plan that is wrong or cannot be built, BrokenResult when a check on the
    result fails.
    """
    telling.stage("plan")
    source = source_of(file, settings)
    catalog = catalog_of(file, source)
    report = _worked_out(file, source, catalog, settings)
    picture, of_picture = logo_of(file, report.plan)
    own, of_templates = templates_of(file, report.plan, templates, TAKEN)
    inputs = (*report.inputs, *of_picture, *of_templates)
    found = tuple(
        _alternative(file, source, catalog, report, place) for place in range(len(report.plan.quote.alternatives))
    )
    beside = zip(report.plan.quote.alternatives, found, strict=True)
    noted = [problem for asked, other in beside for problem in of_alternative(asked, other.problems)]
    return report._replace(
        inputs=inputs,
        logo=picture,
        templates=tuple(own),
        alternatives=found,
        problems=tuple(sorted((*report.problems, *noted), key=lambda problem: problem.mark)),
    )


def _alternative(file: PlanFile, source: Source, catalog: Catalog, report: Report, place: int) -> Report:
    """The result for one alternative of a plan. Raises what `work_out` raises, said to be the alternative's."""
    alternative = report.plan.quote.alternatives[place]

    def cheapest(line: Line, ids: Sequence[str]) -> str:
        pieces = sum(each.pieces for each in report.bill.lines if each.part == line.part)
        costs = {
            id: net_price([id, *_numbers(catalog, line.category, id)], line.category, pieces, quoted, report.books)
            for id in ids
        }
        return min(ids, key=lambda id: (costs[id] is None, costs[id] or 0))

    quoted = report.plan.quote
    telling.stage(f"alternative {alternative.name}")
    try:
        other = varied(source, place)
        if problems := schema.check(other, "plan"):
            raise PlanErrors(problems)
        before = _worked_out(file, other, catalog, ()) if alternative.settings else report
        instead = substitutes(alternative, before.bill, catalog, cheapest)
        found = _worked_out(file, other, catalog.substituted(instead), ()) if instead else before
        if problems := list(unused(alternative, instead, found.bill)):
            raise PlanErrors(problems)
    except PlanErrors as errors:
        raise PlanErrors(of_alternative(alternative, errors.problems)) from None
    return found._replace(problems=warnings_of(alternative, found.problems, report.problems))


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
    if wrong := without_rate(plan.quote, books):
        raise PlanErrors(wrong)
    try:
        telling.stage("sizes")
        attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        sizing = size(plan, attached)
        parts = stock(catalog)._replace(price=part_price(plan.quote, books))
        telling.stage("fabrics and racks")
        designed = _on_floor(design(plan, sizing, parts, attached), parts)
    except Infeasible as error:
        mark = first_given(error.because) or plan.mark
        raise PlanErrors([Problem(mark, "error", error.message, error.rule)]) from error
    telling.stage("bill and prices")
    billed = bill(designed)
    priced = quote(billed, plan.quote, books)
    telling.stage("checks")
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

    telling.stage("cables")
    try:
        wiring = replace(wire(report.design), language=report.plan.quote.language)
    except Overfull as error:
        raise PlanErrors([Problem(report.plan.mark, "error", str(error), "cages")]) from error
    if found := broken(wiring, report.design):
        raise BrokenResult("; ".join(found))
    return wiring.of_fabrics(fabrics) if fabrics else wiring
