"""A plan file from reading to a report, through the stages of its data, and other results for a plan.

All files are read before the first stage; after that only the catalogue accesses the file system, when a part is looked
up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING

from bomgen.catalog.files import Catalog
from bomgen.catalog.identity import slug
from bomgen.core.diagnostics import Infeasible, PlanErrors, Problem, error_at
from bomgen.core.jobs import MAX_STEPS, TooMuch, budget, report_stage, spend
from bomgen.core.messages import Message, message, suggestion
from bomgen.core.provenance import Mark, first_given, require
from bomgen.core.yaml_source import Source, assign
from bomgen.design.assembly import MAX_ROUNDS, BuiltFabric, Design, design, parts_lookup
from bomgen.optics.compatibility import PartsLookup
from bomgen.output import user_templates as own_templates
from bomgen.plan import rules
from bomgen.plan import schema as plan_schema
from bomgen.plan.binding.bind import bind
from bomgen.plan.commercial_terms import PROMISED, SECRET_KEYS, QuotePlan
from bomgen.plan.fabric_demand import attachments
from bomgen.plan.schema import PHASES, QUOTE, split
from bomgen.plan.types import COMPUTE, PAIR, Installed, Phase, Place, Plan
from bomgen.pricing.alternatives import drop_alternatives, problems_of, substitutes, unused, varied, warnings_of
from bomgen.pricing.bill import Bill, bill, bill_of_phase, cluster_bill, is_below, lines_below, paths_of_lines
from bomgen.pricing.bill_line import Line, cluster_path
from bomgen.pricing.costs import Margin, Running, margin, running
from bomgen.pricing.price_book import PriceBook, missing_rates, net_price, part_price
from bomgen.pricing.quote import Quote, cluster_quote, quote
from bomgen.reading.cells import read_lead_days
from bomgen.results.checks import Check, check_money, checks, checks_from_problems
from bomgen.results.result import Growth, Input, Report
from bomgen.results.warnings import design_warnings, ineffective_keys
from bomgen.results.what_if import changed_parts
from bomgen.sizing.cluster_size import Sizing, count_prefill_servers, size_with_cards
from bomgen.workflow.inputs import (
    Inputs,
    PriceBooks,
    logo_of,
    price_books_of,
    quote_prices,
    read_all,
    read_lock,
    templates_of,
    vary,
)
from bomgen.workflow.largest_cluster import size_within_bounds
from bomgen.workflow.plan_files import COST_BOOKS, PlanFile

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moves
    from bomgen.cabling.types import Wiring
    from bomgen.output.price_lists import Entry
    from bomgen.results.elevations import Elevations

_SECRET = re.compile(rf"\b({'|'.join(SECRET_KEYS)})\b")
"""A key of costs and margins in the value of a setting."""


NO_COSTS = Running({}, frozenset())
"""The running costs of a part of what is bought."""


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
    design = partial(design_cluster, catalog=inputs.catalog, books=prices.used)

    def order(*designs: Design) -> Bill:
        billed = bill(inputs.catalog, *designs, ahead=inputs.ahead)
        return bill_of_phase(billed, inputs.bought) if inputs.bought else billed

    plans = [
        size_within_bounds(
            plan._replace(quote=prices.quote),
            design,
            lambda designed: quote(order(designed), prices.quote, prices.used),
        )
        for plan in plans
    ]
    designs = [design(plan) for plan in plans]
    report_stage("bill and prices")
    billed = order(*designs)
    priced = quote(billed, prices.quote, prices.used)
    report_stage("checks")
    racked = any(designed.facility.racks for designed in designs)
    reports = [
        _report_cluster(inputs._replace(source=source), designed, problems, billed, priced, prices.used, racked)
        for (_, source), designed, problems in zip(clusters, designs, warned, strict=True)
    ]
    return _report_plan(inputs, reports, billed, priced, prices), prices


def _report_plan(inputs: Inputs, reports: Sequence[Report], billed: Bill, priced: Quote, prices: PriceBooks) -> Report:
    read = [*(Input(name, content) for name, content in inputs.source.files), *prices.inputs]
    read += [Input(name, content) for name, content in sorted(inputs.catalog.inputs.items())]
    read += [Input(f"--set {setting}", setting.encode()) for setting in map(_hide_costs, inputs.settings) if setting]
    whole = reports[0]._replace(
        inputs=tuple(read),
        bill=billed,
        quote=priced,
        running=NO_COSTS if inputs.bought else running([report.design for report in reports], priced),
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
            plan, installed = bind(source, inputs.catalog), inputs.installed.get(name)
            stands = installed if installed and installed.rows and plan.laid_out else None
            site = plan.site and plan.site._replace(installed=stands)
            of_names = installed.digits if installed and installed.digits else digits
            plans.append(plan._replace(cluster_name=name, digits=of_names, site=site, installed=installed))
        except PlanErrors as errors:
            problems += errors.problems
    if problems:
        raise PlanErrors(_ordered(problems))
    return plans


def _check_rules(plans: Sequence[Plan], clusters: Sequence[tuple[str, Source]]) -> list[list[Problem]]:
    """Return the warnings of the rules for each cluster. Raises PlanErrors with all problems if there is an error."""
    warnings = [rules.check_rules(plan, source) for plan, (_, source) in zip(plans, clusters, strict=True)]
    problems = [problem for of_cluster in warnings for problem in of_cluster]
    if any(problem.severity == "error" for problem in problems):
        raise PlanErrors(_ordered(problems))
    return warnings


def _ordered(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems in order of their place, without duplicates from several clusters."""
    unique = dict[Problem, Problem]()
    for problem in problems:
        unique.setdefault(problem._replace(path=""), problem)
    return tuple(sorted(unique.values(), key=lambda problem: problem.mark))


def design_cluster(plan: Plan, catalog: Catalog, books: Sequence[PriceBook] = ()) -> Design:
    """Size and design a plan, with the cheapest links by the price books.

    Raises PlanErrors at the key that makes the design impossible.
    """
    try:
        report_stage("sizes")
        bmc_gbps = catalog.assumption("bmc-port-rate")
        plan, attached, sizing = size_with_cards(plan, bmc_gbps)
        plan = count_prefill_servers(plan, sizing)
        servers = sizing.servers
        if plan.pair and servers and servers.value == PAIR:
            plan = plan._replace(fabrics=(plan.pair, *plan.fabrics), no_compute=None)
            attached = attachments(plan, bmc_gbps)
        needless = [
            fabric
            for fabric in plan.fabrics
            if servers
            and fabric.least_servers
            and servers.value + plan.servers_of_groups(fabric.name) < fabric.least_servers.value
        ]
        if needless:
            kept = tuple(fabric for fabric in plan.fabrics if fabric not in needless)
            plan = plan._replace(fabrics=kept, left_out=tuple(needless))
        parts = parts_lookup(catalog)._replace(price=part_price(plan.quote, books), prefer=str(plan.optics.value))
        report_stage("fabrics and racks")
        return _route_cables_if_placed(design(plan, sizing, parts, attached), parts)
    except Infeasible as error:
        mark = first_given(error.because) or plan.mark
        raise PlanErrors([Problem(mark, "error", error.message, error.rule, fixes=error.fixes)]) from error


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
    own_quote = cluster_quote(priced, plan.quote, plan.cluster_name) if plan.cluster_name else priced
    own_bill = cluster_bill(billed, plan.cluster_name) if plan.cluster_name else billed
    elevated = None
    if plan.site is not None:
        from bomgen.results.rack_placement import elevations

        elevated = elevations(designed)
    outcome = checks(designed, own_bill, own_quote)
    if failed := [f"{check.id}: {check.message} ({check.path})" for check in outcome if check.status == "fail"]:
        raise BrokenResult("; ".join(failed))
    noted = [
        *warned,
        *design_warnings(designed),
        *ineffective_keys(inputs.source, designed, billed, racked),
        *_rack_problems(elevated, plan),
    ]
    problems = [*noted, *_warnings(outcome, designed)]
    prefix = cluster_path(plan.cluster_name)
    return Report(
        plan=plan,
        plan_file=inputs.file.recorded,
        content=inputs.file.content,
        inputs=(),
        source=inputs.source,
        catalog=inputs.catalog,
        design=designed,
        bill=own_bill,
        quote=own_quote,
        books=tuple(books),
        running=NO_COSTS,
        elevations=elevated,
        checks=tuple(
            check._replace(path=".".join((*prefix, check.path))) for check in (*outcome, *checks_from_problems(noted))
        ),
        problems=_ordered([problem._replace(path=".".join((*prefix, problem.path))) for problem in problems]),
    )


def _hide_costs(setting: str) -> str:
    """Return a setting for results without costs and margins, which customers must not see."""
    key, _, value = setting.partition("=")
    quoted, *steps = key.split(".")
    if quoted not in (QUOTE, PHASES):
        return setting
    if set(steps) & set(SECRET_KEYS):
        return ""
    return f"{key}=..." if _SECRET.search(value) else setting


def _route_cables_if_placed(designed: Design, parts: PartsLookup) -> Design:
    """Return the design with cable lengths from their routes, over the floor or inside racks, if these are known.

    Raises TooMuch for too many racks, devices or cables.
    """
    site = designed.plan.site
    if site is None:
        return designed
    if designed.facility.racks is not None:  # every device is placed in a rack
        from bomgen.cabling.devices import number_devices

        last = number_devices(designed).kinds[-1]
        spend(ceil(designed.facility.racks.value) + last.start + last.number)
    if not designed.routed and designed.facility.racks is None:
        return designed
    from bomgen.cabling.length_fitting import fit_cables_in_racks, route_cables
    from bomgen.cabling.types import broken_rules
    from bomgen.cabling.wiring import wire
    from bomgen.optics.cages import TooFewCages

    spend(count_links(designed))
    try:
        routed = route_cables(designed, parts) if designed.routed else fit_cables_in_racks(designed)
        wrong = broken_rules(wire(routed), routed)
    except ValueError as error:
        raise error_at(site.layout.mark, str(error), "layout", "site.layout") from error
    except TooFewCages as error:
        raise error_at(designed.plan.mark, str(error), "cages") from error
    if wrong:
        raise BrokenResult("; ".join(wrong))
    return routed


def count_links(designed: Design) -> int:
    """Return the links of all fabrics of a design: as many steps is the work of listing their cables."""
    return sum(int(links.count.value) for built in designed.fabrics for links in built.fabric.links)


def _rack_problems(elevated: Elevations | None, plan: Plan) -> list[Problem]:
    """Return warnings about devices that fit in no rack, at the place of the site."""
    if elevated is None or plan.site is None:
        return []
    mark = (plan.site.management_racks and first_given(plan.site.management_racks)) or plan.site.mark
    return [Problem(mark, "warning", message, rule, "site.management_racks") for message, rule in elevated.warnings]


def _warnings(outcome: tuple[Check, ...], designed: Design) -> list[Problem]:
    marks = {built.plan.name: built.plan.mark for built in designed.fabrics}
    return [
        Problem(marks[check.path.split(".")[1]], "warning", check.message, check.id, check.path)
        for check in outcome
        if check.status == "warn" and check.path.startswith("fabrics.")
    ]


# results --------------------------------------------------------------------------------------------------------------


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
    report = work_out(inputs := read_all(file, settings, costs=True))
    earned = margin_of(inputs, report)
    if earned is None:
        message = "the plan has no cost book; set one at `quote.cost_book`, or with --set quote.cost_book=FILE"
        raise error_at(report.plan.quote.mark, message, "no-cost-book", "quote.cost_book")
    return report, earned


def margin_of(inputs: Inputs, report: Report) -> Margin | None:
    """Return the seller's margin on a result; None if the plan has no costs. Raises PlanErrors as `check_plan`."""
    quoted = report.plan.quote
    if not quoted.cost_books and all(charge.cost is None for charge in quoted.charges):
        return None
    return margin(report.quote.lines, quoted, _price_costs(inputs, report))


def list_unpriced_parts(report: Report) -> list[Entry]:
    """Return the unpriced parts of a result and its alternatives, including required parts, as prices to fill in."""
    from bomgen.output.price_lists import unpriced_entries

    entries: dict[str, Entry] = {}
    for result in (report, *report.alternatives):
        for entry in unpriced_entries(result.quote.all_lines, report.plan.quote.currency):
            entries.setdefault(entry["part"], entry)
    return list(entries.values())


def work_out(plan: PlanFile | Inputs, settings: Sequence[str] = (), templates: Sequence[str] = ()) -> Report:
    """Return the complete report of a plan, or of inputs already read, including its alternatives.

    `settings` override the plan; `templates` are paths of templates in addition to those that it names.

    Raises PlanErrors with every problem of an invalid or impossible plan, BrokenResult if a check on the result fails.
    """
    inputs = plan if isinstance(plan, Inputs) else read_all(plan, settings, templates)
    with _limited(inputs.source.mark(())):
        report, prices = build_report(inputs)
        phases, other_phases = _work_out_phases(inputs, report) if inputs.phases else ((), ())
        if phases and is_laid_out(report):  # the whole stands where its phases have put it
            installed = {"": phases[-1].plan.installed} if phases[-1].plan.installed else {}
            report, prices = build_report(inputs := inputs._replace(installed=installed))
        picture, of_picture = logo_of(inputs, report.plan)
        chosen, of_templates = templates_of(inputs, report.plan)
        variants = [_alternative(inputs, report, prices, index) for index in range(len(report.plan.quote.alternatives))]
        reports = tuple(result for result, _ in variants)
        beside = zip(report.plan.quote.alternatives, reports, strict=True)
        noted = [problem for asked, result in beside for problem in problems_of(asked, result.problems)]
        for phase, result in zip(report.plan.phases if phases else (), phases, strict=True):
            noted += problems_of(phase, warnings_of(phase, result.problems, (*report.problems, *noted)))
        read = (*report.inputs, *of_picture, *of_templates, *(input for result in reports for input in result.inputs))
        whole = report._replace(
            inputs=tuple(dict.fromkeys(read)),
            logo=picture,
            templates=tuple(chosen),
            alternatives=reports,
            phases=phases,
            other_phases=other_phases,
            problems=tuple(sorted((*report.problems, *noted), key=lambda problem: problem.mark)),
            records=inputs.catalog.read(),
        )
        if inputs.lock is None:
            return whole
        from bomgen.workflow.lock import stale

        for _, of_other in variants:
            prices.current.update(of_other.current)
        changed = stale(inputs.lock, whole, inputs.keys, inputs.source.files, prices.rates, prices.current)
        return whole._replace(stale=tuple(changed))


def work_out_around(
    inputs: Inputs,
    today: Mapping[str, Report],
    allow_moves: bool,
    work: Callable[[Inputs], Report] = work_out,
) -> Report:
    """Return the report of a plan that leaves the machines of today where they stand.

    `today` are reports of the existing clusters, by the names that they have in the plan. What must move is a warning
    if moves are allowed. `work` calculates the report.

    Raises PlanErrors as `work_out`, and for machines that must move, unless that is allowed.
    """
    from bomgen.cabling.devices import find_installed
    from bomgen.cabling.matching import match_devices
    from bomgen.cabling.recabling import list_moved_machines

    inputs = inputs._replace(phases=() if today else inputs.phases)  # a plan grows from another by all its phases
    report, moved = work(inputs), list[Problem]()
    if not any(is_laid_out(existing) for existing in today.values()):
        return report
    wirings = {name: list_cables(without_cluster_name(existing)) for name, existing in today.items()}
    for _ in range(MAX_ROUNDS):
        installed, moved = dict(inputs.installed), []
        for cluster in filter(is_laid_out, report.each_cluster):
            name, site = cluster.plan.cluster_name, require(cluster.plan.site, "a cluster that is laid out has a site")
            if name not in today:
                continue
            wiring = list_cables(without_cluster_name(cluster))
            numbers = match_devices(wirings[name], wiring, {})
            if found := find_installed(today[name].design, cluster.design, numbers):
                installed[name] = found
            for device, was, now in list_moved_machines(wirings[name], wiring, numbers):
                machine = wirings[name].names[device]
                text = message("machine-moves", machine=machine, was=_in_words(was), now=_in_words(now))
                moved.append(Problem(site.layout.mark, "warning", text, "moves", "site.layout"))
        if installed == inputs.installed:
            break
        try:
            inputs = inputs._replace(installed=installed)
            report = work(inputs)
        except PlanErrors:
            if not allow_moves:
                raise
            break
    if moved and not allow_moves:
        hint = "leave room for it, or allow that with --allow-moves"
        raise PlanErrors([move._replace(severity="error", message=f"{move.message}; {hint}") for move in moved])
    return report._replace(problems=_ordered([*report.problems, *moved]))


Phases = tuple[Report, ...]


def _work_out_phases(inputs: Inputs, whole: Report) -> tuple[Phases, Phases]:
    """Return the reports of the phases of a plan, and those of the other way to buy ahead; `whole` is the last state.

    Raises PlanErrors with the problems of a phase, in its name.
    """
    planned, fabrics = whole.plan.phases, whole.design.fabrics
    tiers = {path: tier for built in fabrics for path, tier in _tiers(built)}
    for path, mark in ((path, phase.mark) for phase in planned for path in phase.ahead):
        above_leaves = [tier.split(".")[1] for tier in tiers if is_below(tier, path)]
        if not lines_below(whole.design, path):
            hint = f"it has {', '.join(paths_of_lines(whole.design))}"
            text = f"the last phase has no {path} to buy ahead; {hint}"
        elif not all(isinstance(inputs.source.data["fabrics"][name], dict) for name in above_leaves):
            text = f"the switches of {path} can be bought ahead if the fabric is a mapping, not `default`"
        else:
            continue
        raise error_at(mark, text, "ahead", PHASES)
    ahead = [phase.ahead for phase in planned]
    work_out_sequence = partial(_work_out_sequence, inputs, whole, planned)
    phases = work_out_sequence(ahead)
    if any(ahead):
        other: list[tuple[str, ...]] = [() for _ in planned]
    else:
        first = {path: count for built in phases[0].design.fabrics for path, count in _tiers(built)}
        growing = tuple(path for path, count in first.items() if count < tiers.get(path, 0))
        if not growing:
            return phases, ()
        other = [growing, *(() for _ in planned[1:])]
    try:
        return phases, work_out_sequence(other)
    except PlanErrors:  # the first phase cannot use that many
        return phases, ()


def _tiers(built: BuiltFabric) -> Iterator[tuple[str, int]]:
    """Yield the key of each tier above the leaves, and its switches in a plane."""
    yield from ((f"fabrics.{built.plan.name}.{tier.name}", int(tier.count.value)) for tier in built.fabric.tiers[1:])


def _work_out_sequence(
    inputs: Inputs, whole: Report, planned: Sequence[Phase], ahead: Sequence[Sequence[str]]
) -> Phases:
    """Return the reports of phases, each of which leaves in place what those before it bought.

    Tiers above the leaves that are bought ahead are installed; other parts wait for the phase that needs them.
    """
    reports, bought, early, lines = list[Report](), list[Line](), dict[str, Mark](), list[Line]()
    for source, phase, paths in zip(inputs.phases, planned, ahead, strict=True):
        report_stage(f"phase {phase.name}")
        early |= dict.fromkeys(paths, phase.mark)
        lines += [line for path in paths for line in lines_below(whole.design, path) if line not in lines]
        for tier, count in (found for built in whole.design.fabrics for found in _tiers(built)):
            for mark in (mark for path, mark in early.items() if is_below(tier, path)):
                source = assign(source, f"{tier}.count", count, mark)
        varied_inputs = vary(inputs, drop_alternatives(source), ())._replace(
            installed={}, bought=tuple(bought), ahead=tuple(lines)
        )
        today = {"": reports[-1]} if reports else {}
        try:
            report = work_out_around(varied_inputs, today, True, lambda inputs: build_report(inputs)[0])
        except PlanErrors as errors:
            raise PlanErrors(problems_of(phase, errors.problems)) from None
        moves = None
        with suppress(PlanErrors):  # the cables cannot be listed one by one
            moves = count_moves(today, report)
        reports.append(report._replace(growth=Growth(today, moves) if today else None))
        bought += report.bill.lines
    return tuple(reports)


EXPANSION = " / E1"
"""What the number of a quote for an expansion ends with; a plan gives the next expansion a number of its own."""


def order_growth(inputs: Inputs, report: Report, growth: Growth, bought: Sequence[Line]) -> Report:
    """Return the report of what a grown plan orders; `report` is all of it, `bought` the lines of what stands.

    Raises as `work_out`.
    """
    stands = {each.plan.cluster_name: each.plan.installed for each in report.each_cluster if each.plan.installed}
    source, number = drop_alternatives(inputs.source), report.plan.quote.number
    with _limited(source.mark(())):
        order, _ = build_report(inputs._replace(source=source, installed=stands, bought=tuple(bought)))
    quoted = order.plan.quote._replace(number=number and f"{number}{EXPANSION}")
    return order._replace(
        plan=order.plan._replace(quote=quoted), logo=report.logo, templates=report.templates, growth=growth
    )


def count_moves(
    today: Mapping[str, Report], report: Report, renamed: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> Moves | None:
    """Return the cables that move from the installed clusters to those of a report; None if there are too many to list.

    `renamed` are the new names of fabrics by cluster. Raises PlanErrors and BrokenResult as `list_cables`, and TooMuch.
    """
    from bomgen.cabling.recabling import MOST_CABLES, compare_wirings, sum_moves

    clusters = {cluster.plan.cluster_name: cluster for cluster in report.each_cluster}
    designs = [cluster.design for cluster in (*today.values(), *clusters.values())]
    if any(count_links(design) > MOST_CABLES for design in designs):
        return None
    spend(sum(map(count_links, designs)))
    return sum_moves(
        {
            name: compare_wirings(
                list_cables(without_cluster_name(existing)),
                list_cables(without_cluster_name(clusters[name]._replace(growth=None))),
                renamed.get(name, {}),
            )
            for name, existing in today.items()
        }
    )


def is_laid_out(report: Report) -> bool:
    """Return whether the plan of a result says how its racks stand."""
    return any(cluster.plan.laid_out for cluster in report.each_cluster)


def without_cluster_name(report: Report) -> Report:
    """Return the result for a cluster with the device names of an only one, because a cluster may be renamed."""
    design = report.design
    return report._replace(clusters=(), design=design._replace(plan=design.plan._replace(cluster_name="")))


def _in_words(place: Place) -> Message:
    rack, unit = place
    if not rack:
        return message("no-place")
    return message("place-in-rack", rack=rack, unit=unit) if unit else message("rack-of-place", rack=rack)


def select_alternative(report: Report, name: str) -> Report:
    """Return an alternative of a result as a result of its own, with a name, title and quotation number of its own.

    Raises PlanErrors when the plan has no alternative of that name.
    """
    names = [alternative.name for alternative in report.plan.quote.alternatives]
    return _select(report, name, "alternative", names, report.alternatives)


def select_phase(report: Report, name: str) -> Report:
    """Return a phase of a result as a result of its own. Raises PlanErrors when the plan has no phase of that name."""
    return _select(report, name, "phase", [phase.name for phase in report.plan.phases], report.phases)


def _select(report: Report, name: str, kind: str, names: Sequence[str], results: Sequence[Report]) -> Report:
    if name not in names:
        hint = suggestion(name, names, "the plan has none" if not names else f"it has {', '.join(names)}")
        raise error_at(report.plan.quote.mark, f"no {kind} '{name}'; {hint}", kind)
    index = names.index(name)
    selected, number = results[index], report.plan.quote.number
    quoted = selected.plan.quote._replace(number=number and f"{number} / {kind[0].upper()}{index + 1}")
    title = f"{report.plan.title}: {name}"
    return selected._replace(
        plan=selected.plan._replace(name=f"{report.plan.name}-{slug(name)}", title=title, quote=quoted),
        logo=report.logo,
        templates=report.templates,
        problems=selected.own_problems or selected.problems,
        records=report.records,
    )


def work_out_variant(inputs: Inputs) -> Report:
    """Return the report of a plan as one design of several: without alternatives, logo and templates.

    Raises as `work_out`.
    """
    source = drop_alternatives(inputs.source)
    with _limited(source.mark(())):
        return build_report(inputs._replace(source=source))[0]


TOO_MUCH = (
    f"more than {MAX_STEPS} steps of work; reduce the machines, remove alternatives, clusters, fabrics, "
    "price books, part files or the layout, or name switches with fewer ports"
)


@contextmanager
def _limited(mark: Mark, message: str = TOO_MUCH) -> Iterator[None]:
    """Raise PlanErrors if the enclosed work takes more steps than a plan may."""
    try:
        with budget():
            yield
    except TooMuch:
        raise error_at(mark, message, "work-limit") from None


def require_lock(file: PlanFile, report: Report) -> None:
    """Raise PlanErrors unless a result uses a lock that is not stale."""
    if file.lock is None:
        raise error_at(report.plan.mark, "the plan has no lock; write one with `bomgen lock`", "no-lock")
    if report.stale:
        raise PlanErrors([problem._replace(severity="error") for problem in report.stale])


def lock_result(
    file: PlanFile, today: Mapping[str, Report] = MappingProxyType({}), allow_moves: bool = False
) -> tuple[str, Report]:
    """Return the lock of a plan from its current inputs, and the result it pins. Raises as `work_out_around`.

    Names, places, labels and ports are those that the growth from `today` leaves, else those of an earlier lock.
    """
    from bomgen.workflow.lock import lock_text

    inputs, earlier = read_all(file._replace(lock=None)), None
    with suppress(PlanErrors):
        earlier = read_lock(file, inputs.source)
    inputs = inputs._replace(installed=earlier.installed if earlier else {})
    report = work_out_around(inputs, today, allow_moves)
    networks = {}
    for cluster in report.each_cluster:
        name = cluster.plan.cluster_name
        with suppress(PlanErrors):  # too many cables to list one by one
            networks[name] = _record_network(cluster, today.get(name))
    return lock_text(report, inputs.source.files, earlier.digits if earlier else {}, networks), report


def _record_network(report: Report, today: Report | None) -> Installed:
    from bomgen.cabling.recabling import record_network
    from bomgen.output.wiring.columns import list_labels

    planned = list_cables(report._replace(plan=report.plan._replace(installed=None), phases=()))
    if planned.over_panels:
        return Installed((), {})
    network = planned
    if today or report.plan.installed or report.phases:
        network = list_cables(report, today=list_cables(today) if today else None)
    return record_network(planned, network, list_labels(network))


def size_plan(file: PlanFile) -> list[tuple[Plan, Sizing]]:
    """Return the sizing of the clusters of a plan, without designing fabrics. Raises as `work_out`."""
    inputs = read_all(file)
    plans = [bind(source, inputs.catalog) for _, source in split(inputs.source)]
    sized = [size_with_cards(plan, inputs.catalog.assumption("bmc-port-rate")) for plan in plans]
    return [(plan, sizing) for plan, _, sizing in sized]


def _alternative(inputs: Inputs, report: Report, prices: PriceBooks, index: int) -> tuple[Report, PriceBooks]:
    """Return the report of an alternative of a plan, and its prices. Raises as `work_out`, in its name."""
    alternative = report.plan.quote.alternatives[index]
    report_stage(f"alternative {alternative.name}")
    try:
        source = varied(inputs.source, index)
        if problems := plan_schema.check_plan_schema(source):
            raise PlanErrors(problems)
        inputs = vary(inputs, source, tuple(alternative.settings))
        result, prices = build_report(inputs) if alternative.settings else (report, prices)
        instead = substitutes(alternative, result.bill, inputs.catalog, partial(_cheapest, result, inputs.catalog))
        if instead:
            result, prices = build_report(inputs._replace(catalog=inputs.catalog.substitute(instead)))
        if problems := list(unused(alternative, instead, result.bill)):
            raise PlanErrors(problems)
    except PlanErrors as errors:
        raise PlanErrors(problems_of(alternative, errors.problems)) from None
    warnings = warnings_of(alternative, result.problems, report.problems)
    return result._replace(problems=warnings, own_problems=result.problems), prices


def _cheapest(before: Report, catalog: Catalog, line: Line, ids: Sequence[str]) -> str:
    """Return the cheapest substitute for the part of a line, by the prices of the result.

    Unpriced substitutes come last, the user's own first.
    """
    pieces = sum(billed.pieces for billed in before.bill.lines if billed.part == line.part)
    costs = {
        id: net_price(part_names(catalog, line.category, id), line.category, pieces, before.plan.quote, before.books)
        for id in ids
    }
    built_in = {id: catalog.find_original(line.category, id).built_in for id in ids}
    return min(ids, key=lambda id: (costs[id] is None, costs[id] or 0, built_in[id]))


def part_names(catalog: Catalog, kind: str, id: str) -> list[str]:
    """Return the names by which a price book may have a part: its id and its numbers."""
    record = catalog.find_original(kind, id)
    return [id, *(str(number).lower() for key in ("part_number", "ordering_number") if (number := record.value(key)))]


def compute_fabric(report: Report) -> tuple[str, ...]:
    """Return the name of the first compute fabric as the only element; empty if the plan has none."""
    return tuple(built.plan.name for built in report.design.fabrics if built.plan.role == COMPUTE)[:1]


def list_cables(report: Report, fabrics: Sequence[str] = (), today: Wiring | None = None) -> Wiring:
    """Return every cable of a report's design, port to port, optionally of some fabrics only.

    Given the existing network as `today`, or that of the phase before, devices, ports and cables that remain keep their
    names and labels.

    Raises PlanErrors if the links of a switch fill more cages than it has, BrokenResult if a check fails, and
    ValueError for a plan with several clusters, each of which has its own wiring.
    """
    if report.clusters:
        raise ValueError("the plan has several clusters; request the wiring of one of them")
    from dataclasses import replace

    from bomgen.cabling.types import broken_rules
    from bomgen.cabling.wiring import wire
    from bomgen.optics.cages import TooFewCages

    if report.phases and today is None:  # the whole is what its phases leave
        return replace(list_cables(report.phases[-1], fabrics), changes=None)
    report_stage("cables")
    with _limited(report.plan.mark, f"more than {MAX_STEPS} cables; a list can have at most that many"):
        spend(count_links(report.design))
    try:
        wiring = replace(wire(report.design), language=report.plan.quote.language)
    except TooFewCages as error:
        raise error_at(report.plan.mark, str(error), "cages") from error
    if report.growth and today is None:
        today = list_cables(report.growth.today[report.plan.cluster_name])
    if report.plan.installed and today is None and not wiring.over_panels:
        from bomgen.cabling.recabling import restore_network

        wiring = restore_network(wiring, report.plan.installed)
        if broken := broken_rules(wiring, report.design):
            text = (
                f"the lock has cables in ports that cannot take them ({broken[0]}); write it again with `bomgen lock`"
            )
            raise error_at(report.plan.mark, text, "lock")
    if today is not None:
        from bomgen.cabling.recabling import grow_wiring
        from bomgen.output.wiring.columns import label_cables

        wiring = grow_wiring(today, wiring)
        wiring = label_cables(wiring, wiring.changes) if wiring.changes else wiring
    if broken := broken_rules(wiring, report.design):
        raise BrokenResult("; ".join(broken))
    return wiring.select_fabrics(fabrics) if fabrics else wiring
