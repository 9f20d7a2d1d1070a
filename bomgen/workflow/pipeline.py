"""A plan file from reading to a report, and other results for a plan.

All files are read before the first stage; after that only the catalogue accesses the file system, when a part is looked
up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from bomgen.catalog.files import Catalog
from bomgen.catalog.identity import slug
from bomgen.core import progress
from bomgen.core.diagnostics import PlanErrors, Problem, suggestion
from bomgen.core.work_budget import MAX_STEPS, TooMuch, budget
from bomgen.core.yaml_source import Source
from bomgen.output.user_templates import templates as own_templates
from bomgen.plan import schema as plan_schema
from bomgen.plan.attachment import attachments
from bomgen.plan.binding.bind import bind
from bomgen.plan.clusters import split
from bomgen.plan.types import COMPUTE, Plan
from bomgen.pricing.alternatives import (
    alternative_problems,
    drop_alternatives,
    substitutes,
    unused,
    varied,
    warnings_of,
)
from bomgen.pricing.bill_line import Line
from bomgen.pricing.unit_prices import missing_rates, net_price
from bomgen.results.result import Report
from bomgen.sizing.cluster_size import Sizing, size_cluster
from bomgen.workflow.inputs import Inputs, PriceBooks, logo_of, price_books_of, read_all, templates_of, vary
from bomgen.workflow.plan_files import COST_BOOKS, PlanFile
from bomgen.workflow.stages import BrokenResult, build_report, spend_steps_for_cables

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring
    from bomgen.output.price_list_reading import Entry
    from bomgen.pricing.margin import Margin
    from bomgen.pricing.price_book import PriceBook

__all__ = [
    "BrokenResult",
    "check_plan",
    "compute_fabric",
    "compute_margin",
    "list_cables",
    "list_unpriced_parts",
    "lock_result",
    "require_lock",
    "select_alternative",
    "size_plan",
    "work_out",
    "work_out_variant",
]


def check_plan(file: PlanFile, settings: Sequence[str] = (), locked: bool = False) -> tuple[Problem, ...]:
    """Return the warnings about a plan that can be built, and about its lock.

    Raises PlanErrors as `work_out`, for invalid templates, and, if a lock is required, as `require_lock`.
    """
    report = work_out(inputs := read_all(file, settings, costs=True))
    if locked:
        require_lock(file, report)
    if problems := own_templates.parsed(report.templates):
        raise PlanErrors((*report.problems, *problems))
    _price_costs(inputs, report)
    return (*report.problems, *report.stale)


def _price_costs(inputs: Inputs, report: Report) -> list[PriceBook]:
    """Calculate the seller's costs if the plan names cost books.

    Raises PlanErrors for a cost book that is invalid, unreadable, or in a currency without an exchange rate.
    """
    quoted = report.plan.quote
    books, _ = price_books_of(inputs, quoted.cost_books, COST_BOOKS)
    if wrong := missing_rates(quoted, books):
        raise PlanErrors(wrong)
    return books


def compute_margin(file: PlanFile, settings: Sequence[str] = ()) -> tuple[Report, Margin]:
    """Return the result of a plan and its seller's margin.

    Raises PlanErrors as `work_out`, for invalid cost books, and if the plan names none.
    """
    from bomgen.pricing.margin import margin

    report = work_out(inputs := read_all(file, settings, costs=True))
    quoted = report.plan.quote
    if not quoted.cost_books and all(charge.cost is None for charge in quoted.charges):
        message = "the plan has no cost book; set one at `quote.cost_book`, or with --set quote.cost_book=FILE"
        raise PlanErrors([Problem(quoted.mark, "error", message, "no-cost-book", "quote.cost_book")])
    return report, margin(report.quote.lines, quoted, _price_costs(inputs, report))


def list_unpriced_parts(report: Report) -> list[Entry]:
    """Return the unpriced parts of a result and its alternatives, including required parts, as prices to fill in."""
    from bomgen.output.price_list_reading import unpriced_entries

    found: dict[str, Entry] = {}
    for each in (report, *report.alternatives):
        for entry in unpriced_entries(each.quote.all_lines, report.plan.quote.currency):
            found.setdefault(entry["part"], entry)
    return list(found.values())


def work_out(plan: PlanFile | Inputs, settings: Sequence[str] = (), templates: Sequence[str] = ()) -> Report:
    """Return the complete report of a plan, or of inputs already read, including its alternatives.

    `settings` override the plan; `templates` are paths of templates in addition to those that it names.

    Raises PlanErrors with every problem of an invalid or impossible plan, BrokenResult if a check on the result fails.
    """
    inputs = plan if isinstance(plan, Inputs) else read_all(plan, settings, templates)
    with _limited(inputs.source):
        report, prices = build_report(inputs)
        picture, of_picture = logo_of(inputs, report.plan)
        own, of_templates = templates_of(inputs, report.plan)
        others = [_alternative(inputs, report, prices, place) for place in range(len(report.plan.quote.alternatives))]
        found = tuple(other for other, _ in others)
        beside = zip(report.plan.quote.alternatives, found, strict=True)
        noted = [problem for asked, other in beside for problem in alternative_problems(asked, other.problems)]
        read = (*report.inputs, *of_picture, *of_templates, *(input for other in found for input in other.inputs))
        whole = report._replace(
            inputs=tuple(dict.fromkeys(read)),
            logo=picture,
            templates=tuple(own),
            alternatives=found,
            problems=tuple(sorted((*report.problems, *noted), key=lambda problem: problem.mark)),
            records=inputs.catalog.read(),
        )
        if inputs.lock is None:
            return whole
        from bomgen.workflow.lock_text import stale

        for _, of_other in others:
            prices.current.update(of_other.current)
        return whole._replace(stale=tuple(stale(inputs.lock, inputs, whole, prices)))


def select_alternative(report: Report, name: str) -> Report:
    """Return an alternative of a result as a result of its own, with a name, title and quotation number of its own.

    Raises PlanErrors when the plan has no alternative of that name.
    """
    names = [alternative.name for alternative in report.plan.quote.alternatives]
    if name not in names:
        known = suggestion(name, names, "the plan has none" if not names else f"it has {', '.join(names)}")
        message = f"no alternative '{name}'; {known}"
        raise PlanErrors([Problem(report.plan.quote.mark, "error", message, "alternative", "quote.alternatives")])
    place = names.index(name)
    found, number = report.alternatives[place], report.plan.quote.number
    quoted = found.plan.quote._replace(number=number and f"{number} / A{place + 1}")
    title = f"{report.plan.title}: {name}"
    return found._replace(
        plan=found.plan._replace(name=f"{report.plan.name}-{slug(name)}", title=title, quote=quoted),
        logo=report.logo,
        templates=report.templates,
        problems=found.own_problems,
        records=report.records,
    )


def work_out_variant(inputs: Inputs) -> Report:
    """Return the report of a plan as one design of several: without alternatives, logo and templates.

    Raises as `work_out`.
    """
    source = drop_alternatives(inputs.source)
    with _limited(source):
        return build_report(inputs._replace(source=source))[0]


@contextmanager
def _limited(source: Source) -> Iterator[None]:
    """Raise PlanErrors if the enclosed work takes more steps than a plan may."""
    try:
        with budget():
            yield
    except TooMuch:
        message = (
            f"more than {MAX_STEPS} steps of work; reduce the machines, remove alternatives, clusters, fabrics, "
            "price books, part files or the layout, or name switches with fewer ports"
        )
        raise PlanErrors([Problem(source.mark(()), "error", message, "work-limit")]) from None


def require_lock(file: PlanFile, report: Report) -> None:
    """Raise PlanErrors unless a result uses a lock that is not stale."""
    if file.lock is None:
        message = "the plan has no lock; write one with `bomgen lock`"
        raise PlanErrors([Problem(report.plan.mark, "error", message, "no-lock")])
    if report.stale:
        raise PlanErrors([problem._replace(severity="error") for problem in report.stale])


def lock_result(file: PlanFile) -> tuple[str, Report]:
    """Return the lock of a plan from its current inputs, and the result it pins. Raises PlanErrors as `work_out`."""
    from bomgen.workflow.lock import lock_of
    from bomgen.workflow.lock_text import text

    report = work_out(inputs := read_all(file._replace(lock=None)))
    try:
        digits = lock_of(*file.lock).digits if file.lock else {}
    except PlanErrors:
        digits = {}
    return text(report, inputs.source.files, digits), report


def size_plan(file: PlanFile) -> list[tuple[Plan, Sizing]]:
    """Return the sizing of the clusters of a plan, without designing fabrics. Raises as `work_out`."""
    inputs = read_all(file)
    plans = [bind(source, inputs.catalog) for _, source in split(inputs.source)]
    return [(plan, size_cluster(plan, attachments(plan, inputs.catalog.assumption("bmc-port-rate")))) for plan in plans]


def _alternative(inputs: Inputs, report: Report, prices: PriceBooks, place: int) -> tuple[Report, PriceBooks]:
    """Return the report of an alternative of a plan, and its prices. Raises as `work_out`, in its name."""
    alternative = report.plan.quote.alternatives[place]
    progress.stage(f"alternative {alternative.name}")
    try:
        source = varied(inputs.source, place)
        if problems := plan_schema.check_plan_schema(source, "plan"):
            raise PlanErrors(problems)
        inputs = vary(inputs, source, tuple(alternative.settings))
        found, prices = build_report(inputs) if alternative.settings else (report, prices)
        instead = substitutes(alternative, found.bill, inputs.catalog, partial(_cheapest, found, inputs.catalog))
        if instead:
            found, prices = build_report(inputs._replace(catalog=inputs.catalog.substitute(instead)))
        if problems := list(unused(alternative, instead, found.bill)):
            raise PlanErrors(problems)
    except PlanErrors as errors:
        raise PlanErrors(alternative_problems(alternative, errors.problems)) from None
    warnings = warnings_of(alternative, found.problems, report.problems)
    return found._replace(problems=warnings, own_problems=found.problems), prices


def _cheapest(before: Report, catalog: Catalog, line: Line, ids: Sequence[str]) -> str:
    """Return the cheapest of several substitutes for the part of a line, by the prices of the result.

    Of those without a price the user's own comes first.
    """
    pieces = sum(each.pieces for each in before.bill.lines if each.part == line.part)
    costs = {
        id: net_price(
            [id, *_numbers(catalog, line.category, id)], line.category, pieces, before.plan.quote, before.books
        )
        for id in ids
    }
    built_in = {id: catalog.find_original(line.category, id).built_in for id in ids}
    return min(ids, key=lambda id: (costs[id] is None, costs[id] or 0, built_in[id]))


def _numbers(catalog: Catalog, kind: str, id: str) -> list[str]:
    record = catalog.find_original(kind, id)
    return [str(number).lower() for key in ("part_number", "ordering_number") if (number := record.value(key))]


def compute_fabric(report: Report) -> tuple[str, ...]:
    """Return the name of the first compute fabric as the only element; empty if the plan has none."""
    return tuple(built.plan.name for built in report.design.fabrics if built.plan.role == COMPUTE)[:1]


def list_cables(report: Report, fabrics: Sequence[str] = (), today: Report | None = None) -> Wiring:
    """Return every cable of a report's design, port to port, optionally of some fabrics only.

    Given the report of the existing network as `today`, devices and ports that remain keep their names.

    Raises PlanErrors if the links of a switch fill more cages than it has, BrokenResult if a check fails, and
    ValueError for a plan with several clusters, each of which has its own wiring.
    """
    if report.clusters:
        raise ValueError("the plan has several clusters; request the wiring of one of them")
    from dataclasses import replace

    from bomgen.cabling.types import broken_rules
    from bomgen.cabling.wiring import wire
    from bomgen.optics.cages import TooFewCages

    progress.stage("cables")
    try:
        with budget():
            spend_steps_for_cables(report.design)
        wiring = replace(wire(report.design), language=report.plan.quote.language)
    except TooMuch:
        message = f"more than {MAX_STEPS} cables; a list can have at most that many"
        raise PlanErrors([Problem(report.plan.mark, "error", message, "work-limit")]) from None
    except TooFewCages as error:
        raise PlanErrors([Problem(report.plan.mark, "error", str(error), "cages")]) from error
    if today is not None:
        from bomgen.cabling.recabling import grow_wiring

        wiring = grow_wiring(list_cables(today), wiring)
    if found := broken_rules(wiring, report.design):
        raise BrokenResult("; ".join(found))
    return wiring.select_fabrics(fabrics) if fabrics else wiring
