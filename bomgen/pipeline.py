"""A plan file from reading to a report: the stages in a row.

Reading happens before the first stage; in between nothing touches the file system but the catalogue, which reads its
own files when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bomgen import own_templates, rules, schema, telling
from bomgen.alternatives import of_alternative, substitutes, unused, varied, warnings_of
from bomgen.bill import Bill, Line, bill, pool_path
from bomgen.binding import bind
from bomgen.catalog import Catalog
from bomgen.design import Design, design, stock
from bomgen.figures import first_given
from bomgen.inputs import PlanFile, catalog_of, logo_of, price_books_of, source_of, templates_of
from bomgen.margin import Margin, margin
from bomgen.medium import Stock
from bomgen.network.attachment import attachments
from bomgen.operation import Running, running
from bomgen.outputs import TAKEN
from bomgen.plan import COMPUTE, Plan
from bomgen.pools import split
from bomgen.price_lists import Entry, to_fill_in
from bomgen.prices import PriceBook
from bomgen.problems import Infeasible, PlanErrors, Problem
from bomgen.proof import Check, checks, of_money, of_problems
from bomgen.quote import Quote, net_price, of_pool, part_price, quote, without_rate
from bomgen.remarks import remarks, without_effect
from bomgen.report import Input, Report
from bomgen.sizing import Sizing, size
from bomgen.source import Source

if TYPE_CHECKING:
    from bomgen.elevations import Elevations
    from bomgen.lock import Books, Lock
    from bomgen.reasons import Reason
    from bomgen.wiring.columns import Wiring

COST_BOOK = ["quote", "cost_book"]
"""The key that no result names."""


class BrokenResult(Exception):
    """A check of the program on its own result failed: a mistake of the program, nothing may be written."""


def checked(file: PlanFile, settings: Sequence[str] = (), locked: bool = False) -> tuple[Problem, ...]:
    """What is to be said of a plan that can be built, and of its lock.

    Raises PlanErrors as `work_out`, for wrong templates, and, where it is to be locked, as `as_locked`.
    """
    report = work_out(file, settings)
    if locked:
        as_locked(file, report)
    if problems := own_templates.parsed(report.templates):
        raise PlanErrors((*report.problems, *problems))
    costs_of(file, report)
    return (*report.problems, *report.stale)


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
    lock = _lock_of(file)
    report, books = _worked_out(file, source, catalog, settings, lock)
    picture, of_picture = logo_of(file, report.plan)
    own, of_templates = templates_of(file, report.plan, templates, TAKEN)
    inputs = (*report.inputs, *of_picture, *of_templates)
    found = tuple(
        _alternative(file, source, catalog, report, place, lock) for place in range(len(report.plan.quote.alternatives))
    )
    beside = zip(report.plan.quote.alternatives, found, strict=True)
    noted = [problem for asked, other in beside for problem in of_alternative(asked, other.problems)]
    whole = report._replace(
        inputs=inputs,
        logo=picture,
        templates=tuple(own),
        alternatives=found,
        problems=tuple(sorted((*report.problems, *noted), key=lambda problem: problem.mark)),
        records=catalog.read(),
    )
    if lock is None or books is None:
        return whole
    from bomgen.lock.stale import stale

    return whole._replace(stale=tuple(stale(lock, whole, books, source, bool(settings))))


def _lock_of(file: PlanFile) -> Lock | None:
    """The lock beside a plan. Raises PlanErrors when it cannot be read."""
    if file.lock is None:
        return None
    from bomgen.lock import lock_of

    return lock_of(*file.lock)


def as_locked(file: PlanFile, report: Report) -> None:
    """Raise PlanErrors unless a result rests on a lock that is not stale."""
    if file.lock is None:
        message = "the plan has no lock; write one with `bomgen lock`"
        raise PlanErrors([Problem(report.plan.mark, "error", message, "no-lock")])
    if report.stale:
        raise PlanErrors([problem._replace(severity="error") for problem in report.stale])


def locked(file: PlanFile) -> tuple[str, Report]:
    """The lock of a plan by what there is now, and the result that it rests on. Raises PlanErrors as `work_out`."""
    from bomgen.lock.text import text

    file = file._replace(lock=None)
    report = work_out(file)
    return text(report, source_of(file).files), report


def sized(file: PlanFile) -> tuple[Plan, Sizing]:
    """A plan and how many GPUs it has or needs; its fabrics are not designed. Raises PlanErrors as `work_out`."""
    source = source_of(file)
    catalog = catalog_of(file, source)
    plan = bind(source, catalog)
    return plan, size(plan, attachments(plan, catalog.assumption("bmc-port-rate")))


def _alternative(
    file: PlanFile, source: Source, catalog: Catalog, report: Report, place: int, lock: Lock | None
) -> Report:
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
        before = _worked_out(file, other, catalog, (), lock)[0] if alternative.settings else report
        instead = substitutes(alternative, before.bill, catalog, cheapest)
        found = _worked_out(file, other, catalog.substituted(instead), (), lock)[0] if instead else before
        if problems := list(unused(alternative, instead, found.bill)):
            raise PlanErrors(problems)
    except PlanErrors as errors:
        raise PlanErrors(of_alternative(alternative, errors.problems)) from None
    return found._replace(problems=warnings_of(alternative, found.problems, report.problems))


def _numbers(catalog: Catalog, kind: str, id: str) -> list[str]:
    """The part numbers of a part, in lower case."""
    record = catalog.listed(kind, id)
    return [str(number).lower() for key in ("part_number", "ordering_number") if (number := record.value(key))]


def _worked_out(
    file: PlanFile, source: Source, catalog: Catalog, settings: Sequence[str], lock: Lock | None
) -> tuple[Report, Books | None]:
    """The result for a source, and the price books of a lock; `settings` are what was laid over it."""
    pools = split(source)
    plans = _bound(pools, catalog)
    warned = [rules.check(plan, each) for plan, (_, each) in zip(plans, pools, strict=True)]
    if any(problem.severity == "error" for problems in warned for problem in problems):
        raise PlanErrors(_ordered([problem for problems in warned for problem in problems]))
    priced_by = [_priced_by(file, plan, lock) for plan in plans[:1]]
    _, books, inputs, pinned = priced_by[0]
    quoted = priced_by[0][0].quote
    if wrong := without_rate(quoted, books):
        raise PlanErrors(wrong)
    designs = [_designed(plan._replace(quote=quoted), catalog, books) for plan in plans]
    telling.stage("bill and prices")
    billed = bill(*designs)
    priced = quote(billed, quoted, books)
    telling.stage("checks")
    found = [
        _of_pool(file, each, designed, problems, billed, priced)
        for (_, each), designed, problems in zip(pools, designs, warned, strict=True)
    ]
    inputs = [*(Input(name, content) for name, content in source.files), *inputs]
    inputs += [Input(name, content) for name, content in sorted(catalog.inputs.items())]
    inputs += [Input(f"--set {setting}", setting.encode()) for setting in map(_without_costs, settings) if setting]
    problems = _ordered([*(problem for each in found for problem in each.problems), *priced.problems])
    whole = found[0]._replace(
        inputs=tuple(inputs),
        bill=billed,
        quote=priced,
        books=tuple(books),
        running=running(designs, priced),
        checks=(*(check for each in found for check in each.checks), *of_money(priced), *of_problems(priced.problems)),
        problems=problems,
    )
    if len(found) == 1:
        return whole, pinned
    whole = whole._replace(plan=whole.plan._replace(pool=""), pools=tuple(found), elevations=None)
    return whole, pinned


def _bound(pools: Sequence[tuple[str, Source]], catalog: Catalog) -> list[Plan]:
    """The plans of pools. Raises PlanErrors with the problems of all of them, each once."""
    plans, problems = list[Plan](), list[Problem]()
    for name, each in pools:
        try:
            plans.append(bind(each, catalog)._replace(pool=name))
        except PlanErrors as errors:
            problems += errors.problems
    if problems:
        raise PlanErrors(_ordered(problems))
    return plans


def _ordered(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Problems by their place, each once, though it concern several clusters."""
    found = dict[Problem, Problem]()
    for problem in problems:
        found.setdefault(problem._replace(path=""), problem)
    return tuple(sorted(found.values(), key=lambda problem: problem.mark))


def _designed(plan: Plan, catalog: Catalog, books: Sequence[PriceBook]) -> Design:
    """What is built for a plan. Raises PlanErrors at the place of what makes it impossible."""
    try:
        telling.stage("sizes")
        attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        sizing = size(plan, attached)
        parts = stock(catalog)._replace(price=part_price(plan.quote, books))
        telling.stage("fabrics and racks")
        return _on_floor(design(plan, sizing, parts, attached), parts)
    except Infeasible as error:
        mark = first_given(error.because) or plan.mark
        raise PlanErrors([Problem(mark, "error", error.message, error.rule)]) from error


def _of_pool(
    file: PlanFile, source: Source, designed: Design, warned: Sequence[Problem], billed: Bill, priced: Quote
) -> Report:
    """The result for one cluster of a plan: its share of the bill, and what is to be said of it.

    Raises BrokenResult when a check on it fails.
    """
    plan = designed.plan
    own = of_pool(priced, plan.quote, plan.pool) if plan.pool else priced
    own_bill = Bill(tuple(line.line for line in own.lines)) if plan.pool else billed
    elevated = _elevations(designed)
    outcome = checks(designed, own_bill, own)
    _raise_broken(outcome)
    noted = [*warned, *remarks(designed), *without_effect(source, designed, billed), *_of_racks(elevated, plan)]
    problems = [*noted, *_warnings(outcome, designed)]
    place = pool_path(plan.pool)
    return Report(
        plan=plan,
        plan_file=file.name,
        content=file.content,
        inputs=(),
        design=designed,
        bill=own_bill,
        quote=own,
        books=(),
        running=Running({}, frozenset()),
        elevations=elevated,
        checks=tuple(check._replace(path=".".join((*place, check.path))) for check in (*outcome, *of_problems(noted))),
        problems=_ordered([problem._replace(path=".".join((*place, problem.path))) for problem in problems]),
    )


def _priced_by(
    file: PlanFile, plan: Plan, lock: Lock | None
) -> tuple[Plan, list[PriceBook], list[Input], Books | None]:
    """A plan with the rates that hold, its price books, the files that these are, and what its lock has of them."""
    if lock is None:
        return plan, *price_books_of(file, plan.quote.price_books, "quote.price_book"), None
    from bomgen.lock import books_of

    books = books_of(file, lock, plan.quote)
    quoted = plan.quote._replace(exchange=lock.rates_for(plan.quote))
    return plan._replace(quote=quoted), books.used, books.inputs, books


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


def reasons_of(
    file: PlanFile, settings: Sequence[str], report: Report, path: str | None = None, wide: bool = True
) -> list[Reason]:
    """Why what stands at a path of a result was chosen, and why not otherwise; without a path all that was chosen.

    `wide`: also the reasons for what lies below the path.
    """
    from bomgen.language import language
    from bomgen.reasons import Asked, reasons

    source = source_of(file, settings)
    catalog, found = catalog_of(file, source), list["Reason"]()
    for (name, each), own in zip(split(source), report.each_pool, strict=True):
        place = "".join(f"{step}." for step in pool_path(name))
        inner = None if path is None or place.startswith(f"{path}.") else path.removeprefix(place)
        if name and inner == path and path is not None:
            if not path.startswith(f"{name}."):
                continue
            inner = path.removeprefix(f"{name}.")
        about = reasons(Asked(own, each, catalog, language("en")), inner, wide)
        found += [reason._replace(subject=f"{place}{reason.subject}") for reason in about]
    return found


def compute_fabric(report: Report) -> tuple[str, ...]:
    """The name of the first compute fabric; none where the plan has none."""
    return tuple(built.plan.name for built in report.design.fabrics if built.plan.role == COMPUTE)[:1]


def wired(report: Report, fabrics: Sequence[str] = ()) -> Wiring:
    """Every cable of a report's design, port to port; where fabrics are named, theirs alone.

    Raises PlanErrors when the links of a switch fill more cages than it has, BrokenResult when a check fails, and
    ValueError for a plan with several clusters, each of which has a wiring of its own.
    """
    if report.pools:
        raise ValueError("several clusters; ask for the wiring of one of them")
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
