"""The customer's view of a result.

The quote is written from this record alone. It has text, numbers and amounts only: derivations, plan places, warnings,
confidence and the seller's costs cannot reach the document.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import NamedTuple

from bomgen.catalog.parts import GENERIC
from bomgen.core.document import AddressBlock, Cell, Logo
from bomgen.core.language import spaced
from bomgen.core.money import Totals
from bomgen.core.number_registry import Path, rows_below
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.money import parties
from bomgen.documents.chapters.summary import summarize_cluster
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.commercial_terms import ORDER
from bomgen.pricing.bill_line import CATEGORIES, Line
from bomgen.pricing.quote import QuoteLine, category_amounts
from bomgen.site.weight_and_heat import FLOOR_LOAD, RACK_WEIGHT, TOTAL_WEIGHT

RACKS = "racks"
PROTECTED = "protected"
"""The plan's value for a workbook in which only input cells can be edited."""
WEIGHTS = (TOTAL_WEIGHT, RACK_WEIGHT, FLOOR_LOAD)
YEAR = "year"


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
    planning: bool = False
    """Whether it is a placeholder part, for which a real part is ordered."""

    @property
    def pieces(self) -> int | Fraction:
        """Return the delivered pieces, including spares."""
        return self.quantity + self.spare


class QuotedFabric(NamedTuple):
    """A network as text."""

    name: str
    topology: str
    rate_gbps: int
    endpoints: int
    switches: str
    oversubscription: str
    """Oversubscription of a leaf, such as `2:1` or a word for none; empty without leaves."""


class QuotedCluster(NamedTuple):
    """A cluster as text; `name` is empty if the plan has one."""

    name: str
    sentences: tuple[str, ...]
    fabrics: tuple[QuotedFabric, ...]
    site: tuple[tuple[str, Cell], ...]
    """Label and number of each site requirement."""


class QuotedAlternative(NamedTuple):
    """The plan or an alternative: amounts by category, each with whether it is a lower bound."""

    name: str
    amounts: Mapping[str, tuple[Decimal | None, bool]]
    totals: Totals


class QuotedMove(NamedTuple):
    """The existing cables of a kind of link before an expansion."""

    fabric: str
    links: str
    before: int
    stay: int
    moved: int
    """Cables with one end to be moved."""
    free: int
    """Cables with both ends to be unplugged."""
    added: int


class LeftOver(NamedTuple):
    """Surplus pieces after an expansion."""

    part_number: str | None
    description: str
    pieces: int


class QuotedExpansion(NamedTuple):
    """Changes of an expansion to the existing cluster."""

    moves: tuple[QuotedMove, ...] | None
    """None if unknown."""
    moved_machines: int
    """Devices whose floor position changes."""
    left_over: tuple[LeftOver, ...]


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
    terms: tuple[str, ...]
    lines: tuple[QuotedLine, ...]
    totals: Totals
    clusters: tuple[QuotedCluster, ...]
    alternatives: tuple[QuotedAlternative, ...]
    """The plan first, then its alternatives; empty without alternatives."""
    protected: bool
    id: str | None
    """Plan name and fingerprint of the contents, which identify an edited workbook; None if there is none."""
    expansion: QuotedExpansion | None = None
    """Changes, in a quote for an expansion."""


def customer_quote(writer: Writer) -> CustomerQuote:
    """Return the customer's view of the writer's report, in its language."""
    report, plan = writer.report, writer.report.plan.quote
    day = date.fromisoformat(plan.date) if plan.date else None
    days = int(plan.valid_days.value) if plan.valid_days else None
    customer = "fact-customer"
    named = (AddressBlock(writer.word(customer), (plan.customer.name,), customer),) if plan.customer else ()
    quote = CustomerQuote(
        title=report.plan.title,
        customer=plan.customer.name if plan.customer else None,
        vendor=plan.vendor.name if plan.vendor else None,
        parties=parties(writer) or named,
        logo=report.logo,
        status=plan.status,
        number=plan.number,
        revision=plan.revision,
        date=plan.date,
        valid_until=(day + timedelta(days=days)).isoformat() if day and days else None,
        valid_days=days,
        lead_time=longest_lead_time(writer),
        payment=plan.payment,
        terms=plan.terms,
        lines=tuple(_lines(writer)),
        totals=report.quote.totals._replace(low=None, high=None),
        clusters=tuple(_cluster(cluster_writer) for cluster_writer in writer.cluster_writers()),
        alternatives=tuple(_alternatives(writer)),
        protected=plan.workbook == PROTECTED,
        id=None,
    )
    return quote._replace(id=f"{report.plan.name} {_fingerprint(quote)}")


def _fingerprint(quote: CustomerQuote) -> str:
    """Return a digest of everything that a workbook edit can be based on: lines, prices, rates and texts.

    It identifies the quote, not the plan: a comment, or a key that the quote does not show, leaves it unchanged; a
    price book, an exchange rate or a program version that changes numbers changes it.
    """
    said = quote._replace(logo=None, clusters=(), alternatives=())
    return sha256(repr(said).encode()).hexdigest()


def longest_lead_time(writer: Writer, ids: Container[str] | None = None) -> tuple[int, str] | None:
    """Return the longest known lead time [days] and its part, of all lines or of some by id."""
    known = [
        (priced.price.lead_days, writer.described(priced.line))
        for priced in writer.report.quote.lines
        if priced.price
        and priced.price.lead_days
        and not priced.line.in_stock
        and (ids is None or priced.line.id in ids)
    ]
    return max(known, key=lambda each: each[0], default=None)


def _lines(writer: Writer) -> Iterator[QuotedLine]:
    """Yield the lines of the bill by category, including those that no total includes."""
    counted = {id(line) for line in writer.report.quote.lines}
    for line in sorted(writer.report.quote.all_lines, key=lambda line: CATEGORIES.index(line.line.category)):
        yield _line(writer, line, id(line) in counted)


def _line(writer: Writer, priced: QuoteLine, counted: bool) -> QuotedLine:
    line = priced.line
    share = line.charge.share if line.charge else None
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
        planning=line.identity is not None and line.identity.generic,
    )


def _describe(writer: Writer, line: Line) -> str:
    """Return the description of a line; for a charge with its unit, such as `Support (per year)`."""
    name, charge = writer.described(line), line.charge
    if charge is None:
        return _capitalize(name) if line.vendor in (None, GENERIC) else name
    units = [charge.per] if charge.per != ORDER else []
    units += [YEAR] if charge.years else []
    if not units:
        return name
    per = writer.word("list-comma").join(writer.word(f"quote-per-{unit}") for unit in units)
    return writer.word("quote-charged", name=name, units=per)


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _places(writer: Writer, line: Line) -> Iterator[str]:
    if line.charge and line.charge.share:
        share = writer.language.exact_share(Fraction(line.charge.share.value))
        yield writer.word("quote-share-of-hardware", share=share)
    if line.fabric:
        yield writer.fabric_name(line.fabric)
    kind, _, end = ("" if line.charge else line.role or "").partition("/")
    if kind:
        links = name_links(writer, kind) if line.fabric else writer.language.value(kind, "word")
        has_end = end and line.fabric and _joins_tiers(kind)
        place = spaced(writer.word("quote-end", links=links, end=writer.label((end,)))) if has_end else links
        yield place if line.fabric else _capitalize(place)


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
    return QuotedCluster(
        name=writer.report.plan.cluster_name,
        sentences=tuple(_sentences(writer)),
        fabrics=tuple(_fabric(writer, built) for built in writer.report.design.fabrics if built.fabric.tiers),
        site=tuple(_site(writer)),
    )


def _sentences(writer: Writer) -> Iterator[str]:
    first, *others = summarize_cluster(writer)
    yield writer.named(first)
    yield from others


def _site(writer: Writer) -> Iterator[tuple[str, Cell]]:
    """Yield label and number of the site requirements; weight only if that of the servers is known."""
    facility = writer.report.design.facility
    unknown, server = facility.load.unweighed, facility.server
    quoted = sorted((row.quoted, row.path) for row in rows_below("site") if row.quoted)
    for _, path in quoted:
        if path not in writer.numbers or (path[-1] in WEIGHTS and (server is None or server.weight_kg is None)):
            continue
        label = writer.label(path)
        if path[-1] == TOTAL_WEIGHT and unknown:
            label = writer.word(
                "quote-weight", names=writer.word("list-comma").join(map(writer.language.message, unknown))
            )
        yield label, _number(writer, path)


def _number(writer: Writer, path: Path) -> Cell:
    found = writer.number(path)
    return replace(found, unit="") if found.unit == RACKS else found


def _fabric(writer: Writer, built: BuiltFabric) -> QuotedFabric:
    return QuotedFabric(
        name=writer.fabric_name(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
        rate_gbps=int(built.fabric.links[0].rate_gbps.value),
        endpoints=int(built.fabric.endpoints.value),
        switches=writer.describe_switches(built),
        oversubscription=_oversubscription(writer, ("fabrics", built.plan.name, "oversubscription", "leaf")),
    )


def _oversubscription(writer: Writer, path: Path) -> str:
    figure = writer.numbers.get(path)
    if figure is None:
        return ""
    return f"{writer.language.number(figure.value)}:1" if figure.value > 1 else writer.word("quote-non-blocking")


def _alternatives(writer: Writer) -> Iterator[QuotedAlternative]:
    report = writer.report
    if not report.alternatives:
        return
    names = (writer.word("column-as-planned"), *(alternative.name for alternative in report.plan.quote.alternatives))
    for name, each in zip(names, (report, *report.alternatives), strict=True):
        amounts = {part.category: (part.amount, not part.complete) for part in category_amounts(each.quote.lines)}
        yield QuotedAlternative(name, amounts, each.quote.totals._replace(low=None, high=None))
