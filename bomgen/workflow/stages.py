"""The stages from a plan's data to its result: bind, size, design, bill, price, check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from bomgen.catalog.files import Catalog
from bomgen.core import progress
from bomgen.core.diagnostics import Infeasible, PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import first_given
from bomgen.core.work_budget import spend
from bomgen.core.yaml_source import Source
from bomgen.design.assembly import Design, design, parts_lookup
from bomgen.optics.types import PartsLookup
from bomgen.plan import rules
from bomgen.plan.attachment import attachments
from bomgen.plan.binding.bind import bind
from bomgen.plan.clusters import split
from bomgen.plan.commercial_terms import PROMISED, SECRET_KEYS, QuotePlan
from bomgen.plan.types import Plan
from bomgen.pricing.bill import Bill, bill, cluster_bill
from bomgen.pricing.bill_line import cluster_path
from bomgen.pricing.price_book import PriceBook
from bomgen.pricing.quote import Quote, cluster_quote, quote
from bomgen.pricing.running_costs import Running, running
from bomgen.pricing.unit_prices import missing_rates, part_price
from bomgen.reading.amounts_and_dates import read_lead_days
from bomgen.results.changed_parts import changed_parts
from bomgen.results.checks import Check, check_money, checks, checks_from_problems
from bomgen.results.result import Input, Report
from bomgen.results.warnings import design_warnings, ineffective_keys
from bomgen.sizing.cluster_size import size_cluster
from bomgen.workflow.inputs import Inputs, PriceBooks, quote_prices

if TYPE_CHECKING:
    from bomgen.results.elevations import Elevations


_SECRET = re.compile(rf"\b({'|'.join(SECRET_KEYS)})\b")
"""A key of costs and margins in the value of a setting."""


class BrokenResult(Exception):
    """A check of the program on its own result failed; this is a bug, and nothing may be written."""


def build_report(inputs: Inputs) -> tuple[Report, PriceBooks]:
    """Return the report of a plan or a variant of one, from its inputs: the main flow of bomgen.

    Raises PlanErrors with every problem of an invalid or impossible plan, BrokenResult if a check on the result fails.
    """
    clusters = split(inputs.source)
    plans = _bind_clusters(clusters, inputs)
    warned = _check_rules(plans, clusters)
    prices = quote_prices(inputs, plans[0].quote)
    if wrong := missing_rates(prices.quote, prices.used):
        raise PlanErrors(wrong)
    designs = [design_cluster(plan._replace(quote=prices.quote), inputs.catalog, prices.used) for plan in plans]
    progress.stage("bill and prices")
    billed = bill(inputs.catalog, *designs)
    priced = quote(billed, prices.quote, prices.used)
    progress.stage("checks")
    racked = any(designed.facility.racks for designed in designs)
    reports = [
        _report_cluster(inputs._replace(source=source), designed, problems, billed, priced, prices.used, racked)
        for (_, source), designed, problems in zip(clusters, designs, warned, strict=True)
    ]
    return _report_plan(inputs, reports, billed, priced, prices), prices


def _report_plan(inputs: Inputs, reports: Sequence[Report], billed: Bill, priced: Quote, prices: PriceBooks) -> Report:
    """Return the report of a plan from those of its clusters, with the whole bill and all inputs read."""
    read = [*(Input(name, content) for name, content in inputs.source.files), *prices.inputs]
    read += [Input(name, content) for name, content in sorted(inputs.catalog.inputs.items())]
    read += [Input(f"--set {setting}", setting.encode()) for setting in map(_hide_costs, inputs.settings) if setting]
    whole = reports[0]._replace(
        inputs=tuple(read),
        bill=billed,
        quote=priced,
        running=running([report.design for report in reports], priced),
        checks=(
            *(check for report in reports for check in report.checks),
            *check_money(priced, reports[0].plan.quote),
            *checks_from_problems(priced.problems),
        ),
        problems=_ordered(
            [
                *(problem for report in reports for problem in report.problems),
                *priced.problems,
                *_late_parts(priced, reports[0].plan.quote, inputs.source),
                *changed_parts(inputs.catalog, [report.design for report in reports], prices.used),
            ]
        ),
    )
    if not whole.plan.cluster_name:
        return whole
    plan = whole.plan._replace(cluster_name="")
    return whole._replace(plan=plan, clusters=tuple(reports), elevations=None)


_TIME = re.compile(r"[0-9][0-9.,]*(?: *(?:-|–|to|至) *[0-9.,]+)? *[^\W\d_]+")
"""A time within a condition of delivery, as in `Within 10 to 12 weeks of the order`."""


def _late_parts(priced: Quote, plan: QuotePlan, source: Source) -> list[Problem]:
    """Return a warning if the plan promises a time of delivery that is shorter than the lead time of a part."""
    promised = _TIME.search(plan.delivery.get(PROMISED, ""))
    days = read_lead_days(promised[0]) if promised else None
    slowest = max(priced.lines, key=lambda line: line.lead_days, default=None)
    if promised is None or days is None or slowest is None or slowest.lead_days <= days:
        return []
    part = slowest.line.part or slowest.line.description
    text = message("late-part", promised=promised[0], part=part, days=slowest.lead_days)
    return [Problem(source.mark(("quote", PROMISED)), "warning", text, "lead-time", f"quote.{PROMISED}")]


def _bind_clusters(clusters: Sequence[tuple[str, Source]], inputs: Inputs) -> list[Plan]:
    """Return the plans of the clusters. Raises PlanErrors with the problems of all, without duplicates."""
    digits = inputs.lock.digits if inputs.lock else {}
    plans, problems = list[Plan](), list[Problem]()
    for name, source in clusters:
        try:
            plans.append(bind(source, inputs.catalog)._replace(cluster_name=name, digits=digits))
        except PlanErrors as errors:
            problems += errors.problems
    if problems:
        raise PlanErrors(_ordered(problems))
    return plans


def _check_rules(plans: Sequence[Plan], clusters: Sequence[tuple[str, Source]]) -> list[list[Problem]]:
    """Return the warnings of the rules for each cluster. Raises PlanErrors with all problems if there is an error."""
    found = [rules.check_rules(plan, source) for plan, (_, source) in zip(plans, clusters, strict=True)]
    problems = [problem for of_cluster in found for problem in of_cluster]
    if any(problem.severity == "error" for problem in problems):
        raise PlanErrors(_ordered(problems))
    return found


def _ordered(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems in order of their place, without duplicates from several clusters."""
    found = dict[Problem, Problem]()
    for problem in problems:
        found.setdefault(problem._replace(path=""), problem)
    return tuple(sorted(found.values(), key=lambda problem: problem.mark))


def design_cluster(plan: Plan, catalog: Catalog, books: Sequence[PriceBook] = ()) -> Design:
    """Size and design a plan, with the cheapest links by the price books.

    Raises PlanErrors at the key that makes the design impossible.
    """
    try:
        progress.stage("sizes")
        attached = attachments(plan, catalog.assumption("bmc-port-rate"))
        sizing = size_cluster(plan, attached)
        parts = parts_lookup(catalog)._replace(price=part_price(plan.quote, books), prefer=str(plan.optics.value))
        progress.stage("fabrics and racks")
        return _route_cables_if_placed(design(plan, sizing, parts, attached), parts)
    except Infeasible as error:
        mark = first_given(error.because) or plan.mark
        raise PlanErrors([Problem(mark, "error", error.message, error.rule)]) from error


def _report_cluster(
    inputs: Inputs,
    designed: Design,
    warned: Sequence[Problem],
    billed: Bill,
    priced: Quote,
    books: Sequence[PriceBook],
    racked: bool,
) -> Report:
    """Return the report of one cluster, with its part of the plan as source and its share of the bill.

    `racked`: whether racks are counted for any cluster of the plan.

    Raises BrokenResult if a check on it fails.
    """
    plan = designed.plan
    own = cluster_quote(priced, plan.quote, plan.cluster_name) if plan.cluster_name else priced
    own_bill = cluster_bill(billed, plan.cluster_name) if plan.cluster_name else billed
    elevated = _elevations(designed)
    outcome = checks(designed, own_bill, own)
    _raise_broken(outcome)
    noted = [
        *warned,
        *design_warnings(designed),
        *ineffective_keys(inputs.source, designed, billed, racked),
        *_rack_problems(elevated, plan),
    ]
    problems = [*noted, *_warnings(outcome, designed)]
    place = cluster_path(plan.cluster_name)
    return Report(
        plan=plan,
        plan_file=inputs.file.recorded,
        content=inputs.file.content,
        inputs=(),
        source=inputs.source,
        catalog=inputs.catalog,
        design=designed,
        bill=own_bill,
        quote=own,
        books=tuple(books),
        running=Running({}, frozenset()),
        elevations=elevated,
        checks=tuple(
            check._replace(path=".".join((*place, check.path))) for check in (*outcome, *checks_from_problems(noted))
        ),
        problems=_ordered([problem._replace(path=".".join((*place, problem.path))) for problem in problems]),
    )


def _hide_costs(setting: str) -> str:
    """Return a setting for results without costs and margins, which customers must not see."""
    key, _, value = setting.partition("=")
    quoted, *steps = key.split(".")
    if quoted == "quote" and set(steps) & set(SECRET_KEYS):
        return ""
    return f"{key}=..." if quoted == "quote" and _SECRET.search(value) else setting


def _route_cables_if_placed(designed: Design, parts: PartsLookup) -> Design:
    """Return the design with cable lengths from their routes, if these are known.

    Raises TooMuch for too many racks, devices or cables.
    """
    site = designed.plan.site
    if site is None:
        return designed
    spend_steps_for_floor(designed)
    if not designed.routed:
        return designed
    from bomgen.cabling.length_fitting import route_cables
    from bomgen.cabling.types import broken_rules
    from bomgen.cabling.wiring import wire
    from bomgen.optics.cages import TooFewCages

    spend_steps_for_cables(designed)
    try:
        found = route_cables(designed, parts)
        wrong = broken_rules(wire(found), found)
    except ValueError as error:
        raise PlanErrors([Problem(site.layout.mark, "error", str(error), "layout", "site.layout")]) from error
    except TooFewCages as error:
        raise PlanErrors([Problem(designed.plan.mark, "error", str(error), "cages")]) from error
    if wrong:
        raise BrokenResult("; ".join(wrong))
    return found


def spend_steps_for_cables(designed: Design) -> None:
    """Count the work steps of listing every cable of a design. Raises TooMuch."""
    links = sum(int(links.count.value) for built in designed.fabrics for links in built.fabric.links)
    spend(links)


def spend_steps_for_floor(designed: Design) -> None:
    """Count the work steps of placing every device of a design in a rack. Raises TooMuch."""
    racks = designed.facility.racks
    if racks is None:
        return
    from bomgen.cabling.devices import number_devices

    last = number_devices(designed).kinds[-1]
    spend(ceil(racks.value) + last.start + last.number)


def _elevations(designed: Design) -> Elevations | None:
    """Return the contents of the racks, if the plan describes a site."""
    if designed.plan.site is None:
        return None
    from bomgen.results.rack_placement import elevations

    return elevations(designed)


def _rack_problems(elevated: Elevations | None, plan: Plan) -> list[Problem]:
    """Return warnings about devices that fit in no rack, at the place of the site."""
    if elevated is None or plan.site is None:
        return []
    mark = plan.site.management_racks and first_given(plan.site.management_racks)
    place = mark or plan.site.mark
    return [Problem(place, "warning", message, rule, "site.management_racks") for message, rule in elevated.warnings]


def _warnings(outcome: tuple[Check, ...], designed: Design) -> list[Problem]:
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
