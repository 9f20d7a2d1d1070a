"""The customer's view of a result.

The quote is written from this record alone. It has text, numbers and amounts only: derivations, plan places, warnings,
confidence and the seller's costs cannot reach the document.

The quote for an expansion, or for a later phase, is the quote of its order with what changes on site: cables to move,
and surplus parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import GENERIC
from bomgen.core.diagnostics import Problem
from bomgen.core.document import (
    AddressBlock,
    Cell,
    Column,
    Logo,
    Note,
    Row,
    Section,
    Table,
    group_by,
    row_of,
    rows_below,
)
from bomgen.core.language import Language, spaced
from bomgen.core.units import Totals
from bomgen.documents.chapters.contents import PROTECTED, count_categories, describe_cluster, summarize_cluster
from bomgen.documents.chapters.money import WHOLE, changed_parts, compared_alternatives, parties, phases, valid_until
from bomgen.documents.offers import requirements
from bomgen.documents.tables import TOTAL, Writer, columns_of, make_table, total_label
from bomgen.optics.compatibility import COPPER_PAIRS, FIBRE
from bomgen.plan.commercial_terms import ORDER, Exchange
from bomgen.plan.types import COMPUTE
from bomgen.pricing.bill import OpenItem
from bomgen.pricing.bill_line import CATEGORIES, HOST, Line
from bomgen.pricing.quote import Indications, QuoteLine
from bomgen.results.result import Growth, Report
from bomgen.site.rack_loads import FLOOR_LOAD, RACK_WEIGHT, TOTAL_WEIGHT

DAYS_A_WEEK = 7
MANAGEMENT, SERVER, ACCESSORY = "management", "server", "accessory"
COOLING = "cooling"
POWER = ("cluster", "power_w")
RACKS = "racks"
WEIGHTS = (TOTAL_WEIGHT, RACK_WEIGHT, FLOOR_LOAD)
YEAR = "year"
MOST_NAMED = 4
"""Parts to select from that a sentence names; more are a table."""
_LAST_COMMA = re.compile(r"[,，] ?(?=[^,，]+$)")
CONFIGURED = ("cpu", "memory", "nvme")
"""What a plan may order a server with."""


class QuotedLine(NamedTuple):
    """A bill line as text; prices are None if unknown."""

    id: str
    category: str
    """Its key in `CATEGORIES`."""
    place: str
    """The fabric and the position in it, if any; for a charge that is a share, its base."""
    part_number: str | None
    charge: str | None
    """Kind of charge, such as `freight`; None for a part."""
    name: str
    """Name of the part; the description also says if pieces come from stock."""
    description: str
    quantity: int | Fraction
    spare: int
    unit_price: Decimal | None
    discount: Fraction
    amount: Decimal | None
    least: bool
    """Whether the amount is a share of hardware that is not fully priced."""
    share_of_hardware: Fraction | None
    in_stock: bool
    counted: bool
    """Whether the totals include it; unpriced required parts are only listed."""
    unnumbered: str = "quote-number-later"
    """The key of the word that takes the place of a part number."""
    vendor: str | None = None
    """The manufacturer."""
    unit: str = ""
    """What a piece is called, such as pcs."""
    details: tuple[str, ...] = ()
    """The configuration of a server, or why a part is needed."""

    @property
    def pieces(self) -> int | Fraction:
        """Return the delivered pieces, including spares."""
        return self.quantity + self.spare


class QuotedCluster(NamedTuple):
    """A cluster as text; `name` is empty if the plan has one."""

    name: str
    headline: str
    """What is bought, on one line."""
    sentences: tuple[str, ...]
    requirements: Table
    """What was asked, what is offered, and how that is known."""
    networks: Table
    site: Table
    """Label and number of each site requirement."""


class QuotedExpansion(NamedTuple):
    """Changes of an expansion to the existing cluster."""

    headline: str
    """The additions, on one line."""
    changes: Section
    """Cables to be moved and surplus parts."""


class CustomerQuote(NamedTuple):
    """The complete contents of a quote."""

    title: str
    customer: str | None
    vendor: str | None
    parties: tuple[AddressBlock, ...]
    logo: Logo | None
    status: str | None
    """`budgetary` or `firm`, if the plan sets it."""
    number: str | None
    revision: str | None
    date: str | None
    valid_until: str | None
    valid_days: int | None
    lead_time: tuple[int, str] | None
    """Longest known lead time [days], and its part."""
    payment: str | None
    exchange: Mapping[str, Exchange]
    """The rates of indications in other currencies."""
    delivery: Mapping[str, str]
    """Conditions of delivery by their keys."""
    bank: tuple[str, ...]
    paper: str
    terms: tuple[str, ...]
    lines: tuple[QuotedLine, ...]
    totals: Totals
    clusters: tuple[QuotedCluster, ...]
    alternatives: tuple[Section, ...]
    """The section of the alternatives, if there are any."""
    phases: Section | None
    """The orders in which it is built, if there are several."""
    protected: bool
    id: str | None
    """Plan name and fingerprint of the contents, which identify an edited workbook; None if there is none."""
    scope: tuple[str, ...] | None = None
    """Categories that are offered; None: all."""
    existing: tuple[tuple[str, int | Fraction], ...] = ()
    """Parts that the customer has in use, each with its pieces."""
    notes: tuple[str, ...] = ()
    """What changes what the customer gets."""
    open_items: tuple[Note, ...] = ()
    """Required parts that are not included and have to be selected, as warnings; those that may be included."""
    choices: tuple[Table, ...] = ()
    """The parts to select from, where there are many."""
    inclusive: bool = False
    """Whether lines are shown with prices including tax."""
    indicative: Indications | None = None
    """The range of the total, if prices are indications and not offers; its ends are equal if it is unknown."""
    expansion: QuotedExpansion | None = None
    """Changes, in a quote for an expansion."""


def customer_quote(writer: Writer) -> CustomerQuote:
    """Return the customer's view of the writer's report, in its language."""
    report, plan = writer.report, writer.report.plan.quote
    days = int(plan.valid_days.value) if plan.valid_days else None
    customer = "fact-customer"
    named = (AddressBlock(writer.word(customer), (plan.customer.name,), customer),) if plan.customer else ()
    existing = group_by(report.bill.existing, writer.described)
    quote = CustomerQuote(
        title=_title(writer),
        customer=plan.customer.name if plan.customer else None,
        vendor=plan.vendor.name if plan.vendor else None,
        parties=parties(writer) or named,
        logo=report.logo,
        status=plan.status,
        number=plan.number,
        revision=plan.revision,
        date=plan.date,
        valid_until=valid_until(plan),
        valid_days=days,
        lead_time=longest_lead_time(writer, report),
        payment=plan.payment,
        exchange=plan.exchange if report.quote.indications else {},
        delivery=plan.delivery,
        bank=plan.bank,
        paper=plan.paper,
        terms=plan.terms,
        lines=tuple(_lines(writer)),
        totals=report.quote.totals._replace(low=None, high=None),
        clusters=tuple(_cluster(cluster_writer) for cluster_writer in writer.cluster_writers()),
        alternatives=tuple(_alternatives(writer)),
        phases=phases(writer),
        protected=plan.workbook == PROTECTED,
        id=None,
        scope=report.plan.scope,
        existing=tuple((name, sum(line.quantity.value for line in lines)) for name, lines in existing.items()),
        notes=tuple(_notes(writer, report.problems)),
        open_items=tuple(open_items(writer)),
        choices=tuple(choices(writer)),
        indicative=report.quote.indications,
        inclusive=report.quote.totals.taxed and plan.inclusive,
    )
    return quote._replace(id=f"{report.plan.name} {_fingerprint(quote)}")


def _notes(writer: Writer, problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the sentences for the customer about warnings, each once."""
    yield from dict.fromkeys(note for problem in problems if (note := writer.language.note(problem.message)))


def open_items(writer: Writer, counted: bool = True) -> Iterator[Note]:
    """Yield required parts that are not included: to be selected or confirmed; if `counted` with quantity and heat."""
    word, quantities = writer.word, dict[tuple[bool, tuple[str, ...]], int | Fraction | None]()
    required_by: dict[tuple[bool, tuple[str, ...]], dict[str, str]] = {}
    heat: dict[tuple[str, ...], str] = {}
    power = {each.report.plan.cluster_name: each.numbers.get(POWER) for each in writer.cluster_writers()}
    for item in writer.report.bill.open_items:
        names = name_parts(item, writer.language)
        quantity = item.quantity.value if item.quantity and counted else None
        key, vendor = (item.included is None, names), item.required_by.vendor or GENERIC
        known = quantities.get(key)
        quantities[key] = quantity + known if quantity is not None and known is not None else quantity
        asked = word("the-manufacturer") if vendor == GENERIC else vendor
        required_by.setdefault(key, {})[str(writer.language.message(item.required_by.name))] = asked
        if counted and not item.quantity and item.parts[0].category == COOLING and (most := power.get(item.cluster)):
            heat[names] = writer.joined(*filter(None, (item.cluster, writer.shown(most))))
    for (unknown, alternatives), quantity in sorted(quantities.items(), key=lambda item: item[0][0]):
        machines, name = required_by[unknown, alternatives], join_alternatives(alternatives, writer.language)
        parts = word("list-comma").join(machines)
        if unknown:
            vendors = word("list-comma").join(dict.fromkeys(machines.values()))
            text = word("quote-not-known", names=name, parts=parts, vendors=vendors)
        elif quantity is None:
            needed = word("quote-required-for", name=name, parts=parts)
            text = word("quote-select" if len(alternatives) > 1 else "quote-select-one", names=needed)
        else:
            needed = word("quote-required-part", name=name, count=writer.language.number(quantity))
            text = word("quote-select" if len(alternatives) > 1 else "quote-required-without", names=needed)
        if len(alternatives) > MOST_NAMED and not unknown:
            text = word("quote-select-listed", count=writer.language.integer(len(alternatives)), parts=parts)
        if alternatives in heat:
            text = word("list-sentences").join((text, word("quote-heat", power=heat[alternatives])))
        yield Note("info" if unknown else "warning", text)


def choices(writer: Writer) -> Iterator[Table]:
    """Yield a table of the parts to select from, each with what it is, for required parts with many of them."""
    word, message = writer.word, writer.language.message
    items = {item.parts: item for item in writer.report.bill.open_items if item.included is not None}
    for number, (parts, item) in enumerate(items.items(), 1):
        if len(parts) > MOST_NAMED:
            title = word("quote-choice", part=message(item.required_by.name))
            rows = tuple(
                row_of(
                    part.vendor or "", part.sku or word("no-part-number"), message(part.name), writer.join_facts(part)
                )
                for part in parts
            )
            yield make_table("choice", writer.language, rows, id=f"choice-{number}", title=title)


def name_parts(item: OpenItem, language: Language) -> tuple[str, ...]:
    """Return the names of the parts to select from; cords that may be included have one name, whatever the inlet."""
    if item.included is None and item.any_cord:
        return (language.word("power-cords"),)
    return tuple(language.message(part.name) for part in item.parts)


def join_alternatives(names: Sequence[str], language: Language) -> str:
    """Return the names of parts to select from; a name that differs only after its last comma, as in years, is once."""
    parts = [_LAST_COMMA.split(name) for name in names]
    word, head = language.word, parts[0][0]
    if len(names) == 1 or any(len(part) == 1 or part[0] != head for part in parts):
        return word("list-or").join(names)
    *first, last = (part[1] for part in parts)
    return word("name-in").join((head, word("list-or").join((word("list-comma").join(first), last))))


def _fingerprint(quote: CustomerQuote) -> str:
    """Return a digest of everything that a workbook edit can be based on: lines, prices, rates and texts.

    It identifies the quote, not the plan: a comment, or a key that the quote does not show, leaves it unchanged; a
    price book, an exchange rate or a program version that changes numbers changes it.
    """
    hashed = quote._replace(logo=None, clusters=(), alternatives=(), phases=None, notes=(), open_items=(), choices=())
    return sha256(repr(hashed).encode()).hexdigest()


def _title(writer: Writer) -> str:
    """Return the title of a plan; one that has none is a cluster for its customer, not the name of its file."""
    plan = writer.report.plan
    if plan.title != plan.name or not plan.quote.customer:
        return plan.title
    return writer.word("quote-untitled", customer=plan.quote.customer.name)


def longest_lead_time(writer: Writer, report: Report) -> tuple[int, str] | None:
    """Return the longest known lead time [days] of a report, and its part."""
    known = ((line.lead_days, writer.described(line.line)) for line in report.quote.lines if line.lead_days)
    return max(known, key=lambda lead_time: lead_time[0], default=None)


def _lines(writer: Writer) -> Iterator[QuotedLine]:
    """Yield the lines of the bill by category, including those that no total includes."""
    counted = {id(line) for line in writer.report.quote.lines}
    for line in sorted(writer.report.quote.all_lines, key=lambda line: CATEGORIES.index(line.line.category)):
        yield _line(writer, line, id(line) in counted)


def _line(writer: Writer, priced: QuoteLine, counted: bool) -> QuotedLine:
    line = priced.line
    share, days = line.charge.share if line.charge else None, priced.lead_days
    lead_time = [writer.word("quote-line-lead-time", time=duration(days, writer.language))] if days else []
    return QuotedLine(
        id=line.id,
        category=line.category,
        place=writer.joined(*(name for name in (line.cluster, *_places(writer, line)) if name)),
        part_number=line.sku,
        charge=line.charge.kind if line.charge else None,
        name=_describe(writer, line._replace(in_stock=False)),
        description=_describe(writer, line),
        quantity=line.quantity.value,
        spare=int(line.spare.value) if line.spare else 0,
        unit_price=priced.unit.amount,
        discount=priced.discount,
        amount=priced.amount,
        least=priced.least,
        share_of_hardware=Fraction(share.value) if share else None,
        in_stock=line.in_stock,
        counted=counted,
        unnumbered=_word_without_number(writer, line),
        vendor=None if line.vendor == GENERIC else line.vendor,
        unit=writer.word(f"quote-unit-{line.category}"),
        details=(*_details(writer, line), *lead_time),
    )


def _word_without_number(writer: Writer, line: Line) -> str:
    """Return the key of the word for a part without a part number: cords, patch cables and fibre may be of any make."""
    uses = (use.cable for built in _report_of(writer, line).design.fabrics for use in built.interconnect.cables)
    plain = {cable.identity.id for cable in uses if cable and cable.medium in (FIBRE, COPPER_PAIRS)}
    any_make = line.category == ACCESSORY and line.role is None and line.vendor in (None, GENERIC)
    if any_make or (line.identity is not None and line.identity.id in plain):
        return "quote-any-make"
    if line.identity is not None and line.identity.generic:
        return "planning-part"
    return "quote-configured" if line.category == SERVER else "quote-number-later"


def _report_of(writer: Writer, line: Line) -> Report:
    clusters = {each.report.plan.cluster_name: each.report for each in writer.cluster_writers()}
    return clusters.get(line.cluster, writer.report)


def _details(writer: Writer, line: Line) -> Iterator[str]:
    """Yield what a part is, the configuration of a server, and the reason for management servers."""
    word, number = writer.word, writer.language.number
    if line.identity and line.identity.facts:
        yield writer.join_facts(line.identity)
    plan = _report_of(writer, line).plan
    of_groups = (group.cluster for group in plan.groups if line.role == HOST)
    cluster = next((own for own in of_groups if own.server and own.server.identity == line.identity), plan.cluster)
    server = cluster.server
    if line.category == MANAGEMENT and server and server.base_command_manager and not line.required_by:
        yield word("quote-management", server=writer.language.message(server.identity.name))
    if line.category != SERVER or server is None or line.identity is None:
        return
    if line.role != COMPUTE and cluster is plan.cluster:
        return
    for key, texts in server.configuration.items():
        yield word(f"quote-server-{key}", text=word("list-comma").join(texts))
    known = {*server.configuration, *(["memory"] if server.host_memory else [])}
    to_order = [word(f"quote-order-{key}") for key in CONFIGURED if key not in known]
    if to_order and not server.base_command_manager:
        yield word("quote-server-to-order", parts=word("list-comma").join(to_order))
    trays = int(server.trays.value) if server.trays else 1
    parts, unnamed = Counter[str](), list[str]()
    if server.gpus_included:
        parts[cluster.gpu.identity.name] = int(server.gpus.value)
    for nic, ports, comes in (
        (cluster.server_nic, server.compute, server.nics_included),
        (cluster.storage_nic, server.storage, server.storage_nics_included),
    ):
        if ports and comes and "nics" not in server.configuration:
            count = int(ports.count.value)
            if nic:
                parts[nic.identity.name] += ceil(Fraction(count, nic.ports.value)) if ports is server.storage else count
            elif ports.gbps:
                key = "quote-server-ports" if ports is server.storage else "quote-server-compute-ports"
                unnamed.append(word(key, count=number(trays * count), rate=number(ports.gbps.value)))
    named = [word("quote-included-part", count=number(trays * count), name=name) for name, count in parts.items()]
    included = named + unnamed
    if server.host_memory and "memory" not in server.configuration:
        memory = replace(server.host_memory, value=trays * server.host_memory.value)
        included.append(word("quote-server-memory", text=writer.shown(memory)))
    if included:
        yield word("quote-server-included", parts=word("list-comma").join(included))
    if server.without_cards and server.gpu_slots:
        yield word("quote-server-slots", gpus=number(server.gpus.value), slots=number(server.gpu_slots.value))
        if server.gpus.value not in server.published_gpus and not server.identity.inline:
            yield word("quote-server-unpublished", gpus=number(server.gpus.value))


def _describe(writer: Writer, line: Line) -> str:
    """Return the description of a line; for a charge with its unit, such as `Support (per year)`."""
    charge, part = line.charge, line.identity
    name = writer.described(line if charge else line._replace(vendor=None))
    if charge is None:
        kind = f"quote-named-{part.kind}" if part else ""
        server = writer.report.plan.cluster.server
        is_rack = server is not None and server.rack_scale and server.identity == part
        says = is_rack or kind not in writer.language.words or _says(writer.word(kind, name="").strip(), name)
        return name[:1].upper() + name[1:] if says else writer.word(kind, name=name)
    units = [charge.per] if charge.per != ORDER else []
    units += [YEAR] if charge.years else ["month"] if charge.months else []
    if not units:
        return name
    per = writer.word("list-comma").join(writer.word(f"quote-per-{unit}") for unit in units)
    return writer.word("quote-charged", name=name, units=per)


def _says(kind: str, name: str) -> bool:
    """Return whether a name says what it is: the kind, or its noun, such as the server of `GPU server`, as a word."""
    kind, name = kind.casefold(), name.casefold()
    noun = kind.split()[-1]
    return kind in name or f" {noun}" in f" {name}" or (not noun.isascii() and noun in name)


def _places(writer: Writer, line: Line) -> Iterator[str]:
    if line.charge and line.charge.share:
        share = writer.language.exact_share(Fraction(line.charge.share.value))
        of_hardware = writer.word("quote-share-of-hardware", share=share)
        yield writer.word("quote-estimate", text=of_hardware) if line.charge.assumed else of_hardware
    if line.fabric:
        yield writer.fabric_name(line.fabric)
    kind, _, end = ("" if line.charge else line.role or "").partition("/")
    if kind:
        links = name_links(writer, kind) if line.fabric else writer.language.value(kind, "word")
        has_end = end and line.fabric and _joins_tiers(kind)
        place = spaced(writer.word("quote-end", links=links, end=writer.label((end,)))) if has_end else links
        yield place if line.fabric else place[:1].upper() + place[1:]


def _joins_tiers(kind: str) -> bool:
    lower, joined, _ = kind.partition("-")
    return bool(joined) and not lower.startswith("in_")


def name_links(writer: Writer, kind: str) -> str:
    """Return the name of a kind of link, or of another position in a network."""
    lower, _, upper = kind.partition("-")
    if _joins_tiers(kind):
        return writer.word("quote-links", lower=writer.label((lower,)), upper=writer.label((upper,)))
    return writer.language.value(kind, "word")


def _cluster(writer: Writer) -> QuotedCluster:
    name, language = writer.report.plan.cluster_name, writer.language
    networks = []
    for built in writer.report.design.fabrics:
        if not built.fabric.tiers:
            continue
        ratio = writer.numbers.get(("fabrics", built.plan.name, "oversubscription", "leaf"))
        blocking = ratio is not None and ratio.value > 1
        unblocked = writer.word("quote-non-blocking") if ratio is not None else ""
        networks.append(
            row_of(
                writer.name_network(built.plan),
                language.value(built.fabric.topology, "word"),
                Cell(int(built.fabric.links[0].rate_gbps.value), "Gb/s"),
                int(built.fabric.endpoints.value),
                f"{language.number(ratio.value)}:1" if ratio and blocking else unblocked,
                writer.describe_switches(built),
            )
        )
    tables = (
        make_table(kind, language, rows, id=f"{kind}-{name}", title=writer.named(writer.word(f"section-{of}")))
        for kind, of, rows in (("networks", "network", networks), ("site", "site", _site(writer)))
    )
    headline, sentences = writer.named(describe_cluster(writer)), tuple(summarize_cluster(writer))
    return QuotedCluster(name, headline, sentences, requirements(writer), *tables)


def _site(writer: Writer) -> Iterator[Row]:
    """Yield label and number of the site requirements; weight only if that of the servers is known."""
    facility = writer.report.design.facility
    unknown, server = facility.load.unweighed, facility.server
    for _, path in sorted((row.quoted, row.path) for row in rows_below("site") if row.quoted):
        if path not in writer.numbers or (path[-1] in WEIGHTS and (server is None or server.weight_kg is None)):
            continue
        label, number = writer.label(path), writer.number(path)
        if path[-1] == TOTAL_WEIGHT and unknown:
            names = writer.word("list-comma").join(map(writer.language.message, unknown))
            label = writer.word("quote-weight", names=names)
        yield row_of(label, replace(number, unit="") if number.unit == RACKS else number)


def _alternatives(writer: Writer) -> Iterator[Section]:
    """Yield the section of the alternatives, if there are any: the amounts of each, and what it changes."""
    report, word, currency = writer.report, writer.word, writer.report.quote.totals.currency
    if not report.alternatives:
        return
    comparison = compared_alternatives(writer)
    names = [name for name, _ in comparison.sides]
    compared = {row.key: row for row in comparison.rows if row.unit}
    columns = (
        *columns_of("alternatives", writer.language),
        *(Column(f"amount-{at}", name, "money", 20) for at, name in enumerate(names)),
    )
    rows = [row_of(row.label, *row.cells) for key, row in compared.items() if key in CATEGORIES]
    totals = [plan.quote.totals for plan in (report, *report.alternatives)]
    rows.append(row_of(total_label(totals[0], writer.language), *compared[WHOLE].cells, id=TOTAL))
    if all(total.complete for total in totals):
        differences = (Cell(total.amount - totals[0].amount, currency) for total in totals)
        rows.append(row_of(word("quote-difference"), *differences, id="difference"))
    title, text = word("section-alternatives"), [word("quote-alternatives")]
    tables = [make_table("alternatives", writer.language, rows, title=title, columns=columns, open=True)]
    for number, (name, other) in enumerate(zip(names[1:], report.alternatives, strict=True), 1):
        changes = changed_parts(writer, number, name, other, partial(_describe, writer))
        tables += [changes] if changes.rows else []
        said = [] if changes.rows else [word("quote-alternative-same")]
        lead_time, until = longest_lead_time(writer, other), valid_until(other.plan.quote)
        if lead_time and lead_time != longest_lead_time(writer, report):
            said.append(word("quote-longest", time=duration(lead_time[0], writer.language), part=lead_time[1]))
        if until and until != valid_until(report.plan.quote):
            said.append(word("quote-valid-until", date=writer.language.date(until)))
        if said := [*said, *_notes(writer, other.problems)]:
            text.append(word("quote-said-of", name=name, text=word("list-sentences").join(said)))
    yield Section("alternatives", title, tuple(text), tuple(tables))


def duration(days: int, language: Language) -> str:
    """Return a duration in the style of vendors: in weeks if it is several whole weeks, else in days."""
    weeks, left = divmod(days, DAYS_A_WEEK)
    return language.value(days, "days") if left or weeks == 1 else language.word("quote-weeks", count=weeks)


# growth -------------------------------------------------------------------------------------------------------------


def expansion_quote(writer: Writer, growth: Growth) -> CustomerQuote:
    """Return the customer's record of what the writer's report orders beside the installed clusters."""
    quote = customer_quote(writer)
    grown = dict(_grown(writer, growth))
    pieces = ((line.category, line.pieces) for line in quote.lines if line.counted and line.charge is None)
    offered = writer.word("list-comma").join(count_categories(writer, pieces))
    return quote._replace(
        title=writer.word("expansion-title", title=quote.title),
        open_items=tuple(open_items(writer, counted=False)),
        existing=(),
        clusters=tuple(
            cluster._replace(sentences=grown.get(cluster.name, cluster.sentences))
            for cluster in quote.clusters
            if cluster.name in grown or cluster.name not in growth.today or not grown
        ),
        alternatives=(),
        id=None,
        expansion=QuotedExpansion(writer.word("expansion-headline", offered=offered), _changes(writer, growth)),
    )


def _grown(writer: Writer, growth: Growth) -> Iterator[tuple[str, tuple[str, ...]]]:
    word = writer.word
    for cluster in writer.report.each_cluster:
        name, numbers = cluster.plan.cluster_name, []
        for key in ("servers", "gpus") if name in growth.today else ():
            before, after = (getattr(design.sizing, key) for design in (growth.today[name].design, cluster.design))
            if before and after and after.value > before.value:
                counts = {"old": writer.language.number(before.value), "new": writer.language.number(after.value)}
                numbers.append(word(f"expansion-{key}", **counts))
        if numbers:
            sentence = word("expansion-grows", numbers=word("list-comma").join(numbers))
            yield name, (f"{name}{word('name-in')}{sentence}" if name else sentence,)


def _changes(writer: Writer, growth: Growth) -> Section:
    word, text, tables, moves = writer.word, list[str](), list[Table](), growth.moves
    cables = [cable for cable in moves.cables if cable.old] if moves else []
    rows = []
    for cable in cables:
        cluster, _, fabric = cable.fabric.rpartition(".")
        name = writer.joined(*filter(None, (cluster, writer.fabric_name(fabric))))
        stay, free, added = cable.stay - cable.replaced, cable.free + cable.replaced, cable.added + cable.replaced
        rows.append(row_of(name, name_links(writer, cable.kind), cable.old, stay, cable.moved, free, added))
    if rows:
        tables.append(make_table("moves", writer.language, rows, word("expansion-moves-lead")))
    if moves is None:
        text.append(word("expansion-moves-unknown"))
    elif not growth.moved_cables:
        text.append(word("expansion-no-moves"))
    moved = sum(moves.elsewhere.values()) if moves and writer.report.design.routed else 0
    if moved:
        text.append(word("expansion-machines", machines=writer.language.integer(moved)))
    if left_over := writer.report.bill.left_over:
        surplus = (
            row_of(line.sku or word("no-part-number"), writer.language.message(line.description), line.pieces)
            for line in left_over
        )
        tables.append(make_table("left-over", writer.language, surplus, word("expansion-left-over-lead")))
    else:
        text.append(word("expansion-nothing-left"))
    return Section("changes", word("expansion-changes"), text=tuple(text), tables=tuple(tables))
