"""The result as data: the contents of bom.json with numbers, lines, checks, derivations and assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen import __version__
from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.parts import GENERIC
from bomgen.core.diagnostics import Problem
from bomgen.core.document import KNOWN, Logo, Path, rows_below
from bomgen.core.provenance import (
    Assumed,
    Cited,
    Derived,
    Figure,
    Given,
    Mark,
    json_value,
    origin_text,
    range_data,
    walk,
)
from bomgen.core.units import Totals, rounded
from bomgen.core.yaml_source import Source
from bomgen.design.assembly import Design
from bomgen.fabric.types import link_kinds
from bomgen.optics.compatibility import VENDORS
from bomgen.optics.uses import Chosen
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.plan.schema import CLUSTERS, together
from bomgen.plan.types import Plan
from bomgen.pricing.bill import Bill, OpenItem
from bomgen.pricing.bill_line import Line, cluster_path
from bomgen.pricing.costs import Running
from bomgen.pricing.price_book import PriceBook
from bomgen.pricing.quote import Confidence, Quote, QuoteLine, confidence, doubts
from bomgen.results.checks import Check
from bomgen.results.numbers import Paths, numbers

if TYPE_CHECKING:
    from bomgen.cabling.recabling import Moves
    from bomgen.results.elevations import Elevations

# user template ------------------------------------------------------------------------------------------------------
# A template of the user, as data.


class Template(NamedTuple):
    """A template: the name of its output file, its name in messages, and its text."""

    name: str
    file: str
    text: str
    mark: Mark
    """Place in the plan or on the command line that names it."""


# result -------------------------------------------------------------------------------------------------------------

FORMAT = 1
"""Version of the bom.json format."""


class Input(NamedTuple):
    """An input file, or an override."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """Return the SHA-256 digest of its bytes."""
        return digest(self.content)


class Growth(NamedTuple):
    """What an order adds to."""

    today: Mapping[str, Report]
    """The installed clusters, by the names that they have now."""
    moves: Moves | None = None
    """The cables that are moved; None if they are unknown."""

    @property
    def moved_cables(self) -> int | None:
        """Return the installed cables of which an end is moved or unplugged; None if they are unknown."""
        return sum(cable.moved + cable.free + cable.replaced for cable in self.moves.cables) if self.moves else None


class Report(NamedTuple):
    """The complete result of one plan."""

    plan: Plan
    plan_file: str
    content: bytes
    """The plan's bytes."""
    inputs: tuple[Input, ...]
    source: Source
    """The plan merged with all overrides; for a cluster, its part of the plan."""
    catalog: Catalog
    design: Design
    bill: Bill
    quote: Quote
    books: tuple[PriceBook, ...]
    running: Running
    elevations: Elevations | None
    """The rack elevations; None if the plan has no site, or no rack is counted."""
    checks: tuple[Check, ...]
    problems: tuple[Problem, ...]
    """For an alternative, the problems that the plan does not have."""
    logo: Logo | None = None
    """The vendor's logo."""
    alternatives: tuple[Report, ...] = ()
    """Reports of the plan's alternatives, in the order of the plan."""
    templates: tuple[Template, ...] = ()
    """Templates of the user."""
    own_problems: tuple[Problem, ...] = ()
    """For an alternative, all of its problems; empty for a plan."""
    clusters: tuple[Report, ...] = ()
    """Reports of the clusters of a plan with several, each as if it were the only one. This report then has only what
    concerns all of them: plan, bill, quote, running costs, checks, problems."""
    records: tuple[Record, ...] = ()
    """Catalogue records that were read."""
    growth: Growth | None = None
    """What is installed, if the bill is the order of a later phase."""
    phases: tuple[Report, ...] = ()
    """Reports of the plan's phases, each with the bill of its order."""
    other_phases: tuple[Report, ...] = ()
    """The phases without what they buy ahead; if they buy nothing ahead, with all tiers that grow. Empty if they cannot
    be built."""
    stale: tuple[Problem, ...] = ()
    """Changes since the plan was locked. No document shows them: documents are unchanged while the lock applies."""

    @property
    def sha256(self) -> str:
        """Return the SHA-256 digest of the plan's bytes."""
        return digest(self.content)

    @property
    def each_cluster(self) -> tuple[Report, ...]:
        """Return the reports of the plan's clusters; this report if there is one cluster."""
        return self.clusters or (self,)


OPERATION = "operation"
"""Path of the running costs in bom.json."""


def numbers_of(report: Report) -> dict[Path, Figure]:
    """Return every number of a result by its path in bom.json: of the design, and of its running costs."""
    if report.clusters:
        below = {cluster_path(cluster.plan.cluster_name): numbers(cluster.design) for cluster in report.clusters}
        found: dict[Path, Figure] = {}
        for row in (row for section in ("cluster", "site") for row in rows_below(section) if row.summed):
            of_clusters = [figures.get(row.path) for figures in below.values()]
            figure = together(of_clusters)
            if figure and (row.summed == KNOWN or None not in of_clusters):
                found[row.path] = figure
        found |= {(*place, *path): figure for place, figures in below.items() for path, figure in figures.items()}
    else:
        found = numbers(report.design)
    found |= {(OPERATION, name): figure for name, figure in report.running.figures.items()}
    for end, figure in report.running.per_million_tokens.items():
        found["workload", *COST_OF_TOKENS[end]] = figure
    return found


COST_OF_TOKENS: dict[str, Path] = {
    "typical": ("cost_per_million_tokens",),
    "low": ("cost_per_million_tokens_range", "low"),
    "high": ("cost_per_million_tokens_range", "high"),
    "mean": ("cost_per_million_tokens_at_mean",),
}
"""Paths below `workload` of the costs of `Running.per_million_tokens`."""


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal. The library is imported on first use, which `check` avoids."""
    from hashlib import sha256

    return sha256(content).hexdigest()


def result(report: Report) -> dict[str, Any]:
    """Return the contents of bom.json: plain data in a fixed order."""
    found = numbers_of(report)
    data: dict[str, Any] = {
        "bomgen": FORMAT,
        "version": __version__,
        "plan": {
            "name": report.plan.name,
            "title": report.plan.title,
            "sha256": report.sha256,
            "inputs": [{"name": entry.name, "sha256": entry.sha256} for entry in report.inputs],
        },
    }
    if report.clusters:
        data |= {"cluster": {"gpu": None, "server": None}, CLUSTERS: {}}
    for cluster in report.each_cluster:
        inner = data[CLUSTERS].setdefault(cluster.plan.cluster_name, {}) if report.clusters else data
        inner |= _named_data(cluster)
    for path, figure in found.items():
        place = data
        for step in path[:-1]:
            place = place.setdefault(step, {})
        place[path[-1]] = json_value(figure.value)
        if figure.bounds:
            place[f"{path[-1]}_range"] = range_data(figure.bounds)
    for each in report.each_cluster:
        inner = data[CLUSTERS][each.plan.cluster_name] if report.clusters else data
        _name_what_is_not_there(inner)
        _add_zero_counts(inner)
        if each.elevations:
            from bomgen.results.elevations import to_data

            inner["site"] |= to_data(each.elevations)
    _add_zero_counts(data)
    paths = Paths(found)
    data["lines"] = lines_data(report)
    keys = ("id", "category", "fabric", "role", "part", "sku", "vendor", "description")
    data["existing"] = [
        {**{key: getattr(line, key) for key in keys}, "quantity": json_value(line.quantity.value)}
        for line in report.bill.existing
    ]
    data["not_on_bill"] = [_open_item_data(item) for item in report.bill.open_items]
    data["totals"] = _totals_data(report.quote.totals)
    data["totals"]["required_unpriced"] = len(report.quote.unpriced_required)
    data["confidence"] = _confidence_data(confidence(report.quote.lines, report.plan.quote))
    data["alternatives"] = [
        {
            "name": asked.name,
            "totals": _totals_data(other.quote.totals),
            "lines": lines_data(other),
            "warnings": [problem.message for problem in other.problems],
        }
        for asked, other in zip(report.plan.quote.alternatives, report.alternatives, strict=True)
    ]
    if report.phases:
        data["phases"] = [
            {
                "name": planned.name,
                "date": phase.plan.quote.date,
                "ahead": list(planned.ahead),
                "totals": _totals_data(phase.quote.totals),
                "lines": lines_data(phase),
                "cables_moved": phase.growth.moved_cables if phase.growth else 0,
            }
            for planned, phase in zip(report.plan.phases, report.phases, strict=True)
        ]
    data["checks"] = [check._asdict() for check in report.checks]
    data["derivations"] = {
        path: _derivation_data(figure, paths)
        for path, figure in paths.figures.items()
        if figure.inputs or isinstance(figure.origin, Derived)
    }
    data["assumptions"] = [
        {"name": origin.name, "value": json_value(figure.value), "unit": figure.unit, "source": sources_text(origin)}
        for figure, origin in assumptions(report, found.values())
    ]
    return data


def _named_data(report: Report) -> dict[str, Any]:
    cluster, fabrics = report.plan.cluster, {}
    for built in report.design.fabrics:
        chosen = {
            choice.kind: _chosen_data(choice, report.quote.totals.currency)
            | {
                "short": [
                    {
                        "way": short.medium.option,
                        "parts": list(short.medium.part_ids),
                        "up_to_m": json_value(short.longest_m),
                        "links": json_value(short.links.value),
                    }
                    for short in built.interconnect.short_links(choice.kind)
                ]
            }
            for choice in built.interconnect.choices
        }
        fabrics[built.plan.name] = {
            "role": built.plan.role,
            "topology": built.fabric.topology,
            "homing": built.fabric.homing.value if built.fabric.homing else None,
            "exact_bisection": built.fabric.exact_bisection,
            "links_chosen": chosen,
        }
    server = cluster.server.identity.id if cluster.server else None
    return {"cluster": {"gpu": cluster.gpu.identity.id, "server": server}, "fabrics": fabrics}


def _add_zero_counts(data: dict[str, Any]) -> None:
    data["cluster"].setdefault("spare_servers", 0)
    data["cluster"].setdefault("nics", 0)


def template_data(report: Report) -> dict[str, Any]:
    """Return the data for the user's templates: the result, and the plan's texts."""
    quote = report.plan.quote
    plan = {
        "name": report.plan.name,
        "title": report.plan.title,
        "customer": quote.customer._asdict() if quote.customer else None,
        "vendor": quote.vendor._asdict() if quote.vendor else None,
        **{key: getattr(quote, key) for key in ("number", "revision", "payment")},
        "terms": list(quote.terms),
        "date": quote.date,
        "valid_days": json_value(quote.valid_days.value) if quote.valid_days else None,
        "language": quote.language,
    }
    return {"bom": result(report), "plan": plan}


def _chosen_data(chosen: Chosen, currency: str) -> dict[str, Any]:
    return {
        "way": chosen.option,
        "reason": chosen.reason,
        "parts": list(chosen.parts),
        "cost_per_link": cost_text(chosen.cost, currency),
        "others": [
            {
                "way": option.name,
                "reason": option.reason,
                "detail": option.detail or None,
                "cost_per_link": cost_text(option.cost, currency),
            }
            for option in chosen.others
        ],
    }


def cost_text(cost: Fraction | None, currency: str) -> str | None:
    """Return the cost of a link as a decimal string in the minor unit; None if unknown."""
    return None if cost is None else str(rounded(cost, currency))


TIERS = ("leaf", "spine", "core")


def _name_what_is_not_there(data: dict[str, Any]) -> None:
    """Set missing tiers, links and ports of a fabric to 0, so that programs find every key."""
    for fabric in data["fabrics"].values():
        for tier in TIERS:
            fabric["switches"].setdefault(tier, 0)
        for tier in fabric.setdefault("ports", {}).values():
            tier.setdefault("up", 0)
        for kind in link_kinds().values():
            if kind.in_every_result:
                fabric["links"].setdefault(kind.name, 0)
        modules = fabric.setdefault("transceivers", {})
        for device in ("server", *TIERS, "total"):
            modules.setdefault(device, 0)
        fabric.setdefault("cables", {})
        fabric.setdefault("cables_total", 0)


def _totals_data(totals: Totals) -> dict[str, Any]:
    return {
        **{key: _text(getattr(totals, key)) for key in ("list", "discount", "tax", "amount")},
        "taxes": [
            {"share": share_text(part.share), "net": _text(part.net), "tax": _text(part.tax)} for part in totals.taxes
        ],
        "currency": totals.currency,
        "complete": totals.complete,
        "low": _text(totals.low),
        "high": _text(totals.high),
    }


def _confidence_data(found: Confidence) -> dict[str, Any]:
    def part(amount: Decimal) -> dict[str, Any]:
        return {"amount": _text(amount), "share": float(found.share(amount))}

    reasons = {reason: part(amount) for reason, amount in found.by_reason.items()}
    return {"net": _text(found.net), **part(found.doubtful), **reasons, "unpriced_lines": found.unpriced}


def lines_data(report: Report) -> list[dict[str, Any]]:
    """Return the lines as in bom.json and bom.csv; required ones without a price, which no total has, come last."""
    return [_line_data(line, report.plan.quote) for line in report.quote.all_lines]


def _open_item_data(item: OpenItem) -> dict[str, Any]:
    ids = [part.id for part in item.parts]
    return {
        **({"part": ids[0]} if len(ids) == 1 else {"choose": ids}),
        "quantity": json_value(item.quantity.value) if item.quantity else None,
        "per": item.per,
        "required_by": item.required_by.id,
        "source": item.source,
        "cluster": item.cluster or None,
        "included": item.included,
    }


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


def _line_data(priced: QuoteLine, plan: QuotePlan) -> dict[str, Any]:
    line, price, stated = priced.line, priced.price, priced.stated
    share = Fraction(line.charge.share.value) if line.charge and line.charge.share else Fraction(0)
    hardware_share = "" if priced.of is None else f"{share_text(share)} * {priced.of:f} {plan.currency} of hardware"
    rate = None
    if stated and stated[0] is not None:
        rate = "1" if stated[1] == plan.currency else _text(plan.exchange[stated[1]].rate)
    return {
        **{key: getattr(line, key) for key in ("id", "category", "fabric", "role", "part", "sku", "vendor")},
        "description": line.description,
        "quantity": json_value(line.quantity.value),
        "spare": json_value(line.spare.value) if line.spare else 0,
        "unit_price": _text(priced.unit.amount),
        "discount": share_text(priced.discount),
        "amount": _text(priced.amount),
        "currency": plan.currency,
        "explain": explain_line(line) if priced.of is None else f"{hardware_share}; {explain_line(line)}",
        "unit_price_low": _text(priced.unit.low),
        "unit_price_high": _text(priced.unit.high),
        "price_date": price.date if price else None,
        "price_valid_until": price.valid_until if price else None,
        "in_stock": line.in_stock,
        "doubts": list(doubts(priced, plan)),
        "cluster": line.cluster or None,
        "original_price": _text(stated[0]) if stated else None,
        "original_currency": stated[1] if stated else None,
        "exchange_rate": rate,
        "required_by": line.required_by.id if line.required_by else None,
    }


def share_text(share: Fraction) -> str:
    """Return a share as a decimal string."""
    return str(Decimal(share.numerator) / Decimal(share.denominator))


def explain_line(line: Line) -> str:
    """Return the derivation of a line's quantity on one line: the formula and its inputs."""
    return one_line(line.quantity, lambda figure: str(json_value(figure.value)))


def one_line(figure: Figure, show: Callable[[Figure], str]) -> str:
    """Return a figure's formula with inputs, or its origin; `show` formats a value."""
    text = origin_text(figure)
    inputs = ", ".join(f"{name} = {show(step)}" for name, step in figure.inputs)
    return f"{text}; {inputs}" if inputs else text


def _derivation_data(figure: Figure, paths: Paths) -> dict[str, Any]:
    origin = figure.origin
    if not isinstance(origin, Derived):
        raise ValueError("only derived figures have a derivation")
    inputs = {name: _input_data(step, paths) for name, step in origin.inputs}
    return {
        "value": json_value(figure.value),
        "unit": figure.unit,
        "formula": origin.formula.text,
        "inputs": inputs,
        "source": origin.formula.source,
    }


def _input_data(figure: Figure, paths: Paths) -> dict[str, Any]:
    data: dict[str, Any] = {"value": json_value(figure.value), "unit": figure.unit}
    if id(figure) in paths.of:
        data["path"] = paths.of[id(figure)]
    elif isinstance(figure.origin, Given):
        data["place"] = figure.origin.mark.recorded
    else:
        data["source"] = origin_text(figure)
    return data


def assumptions(report: Report, found: Iterable[Figure]) -> list[tuple[Figure, Assumed]]:
    """Return the assumptions that the result depends on, once each, by name; `found` are the figures of `numbers`."""
    figures = [*found, *choices(report)]
    by_name = {node.origin.name: (node, node.origin) for node in walk(*figures) if isinstance(node.origin, Assumed)}
    return [by_name[name] for name in sorted(by_name)]


def choices(report: Report) -> Iterator[Figure]:
    """Yield words that decide without entering a formula: topology, build-out, rounding, media and their lengths."""
    plan = report.plan
    if plan.quote.assumed_currency:
        yield plan.quote.assumed_currency
    yield from (charge.share for charge in plan.quote.charges if charge.share)
    if plan.quote.date and any(line.price and line.price.date for line in report.quote.lines):
        yield plan.quote.old_after
    if any(line.price and line.price.estimate and not line.price.ranged for line in report.quote.lines):
        yield plan.quote.estimate_below
        yield plan.quote.estimate_above
    for cluster in report.each_cluster:
        yield from _choices_of(cluster)


def _choices_of(report: Report) -> Iterator[Figure]:
    plan = report.plan
    if report.design.sizing.run and plan.training:
        training, fit = plan.training, report.design.sizing.fit
        yield from (training.precision, training.attention, training.embedding)
        yield from (training.recompute, training.flash_attention)
        if fit and fit.recompute:
            yield fit.recompute
        if training.parallelism and training.parallelism.splits_sequence:
            yield training.parallelism.sequence_parallel
        yield from (training.optimizer, training.gradient_precision)
        yield from (word for word in (training.master_weights, training.activation_fusion) if word)
        if training.target_days and not (plan.cluster.gpus or plan.cluster.servers):
            yield plan.cluster.round_up_to
    if plan.site and report.elevations and plan.site.layout.rows is None:
        yield plan.site.layout.racks_per_row
    storage = plan.storage
    by_level = storage.write_per_server is None or (storage.given and storage.read_per_server is None)
    if by_level and (storage.given or report.design.sizing.lost):
        yield storage.level
    if plan.reinforcement:
        learning = plan.reinforcement
        yield from (learning.method, learning.reference, learning.schedule, learning.refit)
        if learning.generation:
            engine = learning.generation
            yield from (engine.precision, engine.kv_precision, engine.engine)
        if learning.target_days and not (plan.cluster.gpus or plan.cluster.servers):
            yield plan.cluster.round_up_to
    if plan.inference:
        yield from (plan.inference.precision, plan.inference.kv_precision, plan.inference.engine)
        if not (plan.cluster.gpus or plan.cluster.servers):
            yield plan.cluster.round_up_to
    tiers = (tier for built in report.design.fabrics for tier in built.fabric.tiers)
    if any(tier.switch.identity.vendor not in (*VENDORS.values(), GENERIC) for tier in tiers):
        # The parts of the switches' vendor would be chosen otherwise.
        yield plan.optics
    yield from (fabric.least_servers for fabric in plan.left_out if fabric.least_servers)
    for built in report.design.fabrics:
        yield from (built.plan.topology, built.plan.build_out)
        if built.plan.switch_by_default:
            yield built.plan.switch_by_default
        if built.fabric.homing:
            yield built.fabric.homing
        if built.assumes_cages:
            yield built.plan.host_cage
        for use in built.interconnect.cables:
            spec = built.plan.links[use.kind]
            yield from (spec.medium, spec.length_m)


def sources_text(origin: Assumed | Cited) -> str:
    """Return the documents of an origin on one line."""
    return "; ".join(str(reference) for reference in origin.references) or "unverified"
