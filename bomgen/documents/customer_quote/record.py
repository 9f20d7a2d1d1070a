"""What a customer may see of a result, and nothing else.

The quote is written from this record alone. It has words, numbers and amounts: no derivation, no place of a plan, no
warning, no confidence and no cost of the seller can reach a document that never saw one.
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
from bomgen.core.money import Totals
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.money import parties
from bomgen.documents.chapters.summary import summarize_cluster
from bomgen.documents.chapters.writer import Writer
from bomgen.plan.commercial_terms import ORDER, Party, QuotePlan
from bomgen.pricing.bill_line import CATEGORIES, Line
from bomgen.pricing.quote import QuoteLine, category_amounts
from bomgen.results.registry import Path
from bomgen.site.weight_and_heat import FLOOR_LOAD, RACK_WEIGHT, TOTAL_WEIGHT

RACKS = "racks"
PROTECTED = "protected"
"""What a plan calls a workbook whose inputs alone may be changed."""
SITE_NUMBERS: tuple[Path, ...] = (
    *(("site", key) for key in ("racks", "compute_racks", "management_racks", "compute_rack_power_w")),
    *(("site", key) for key in ("power_w", "facility_power_w", "heat_btu_per_hour")),
    *(("site", key) for key in (TOTAL_WEIGHT, RACK_WEIGHT, FLOOR_LOAD)),
)
"""What a customer has to provide: room, power and cooling, by their paths in bom.json."""
WEIGHTS = (TOTAL_WEIGHT, RACK_WEIGHT, FLOOR_LOAD)
YEAR = "year"


class QuotedLine(NamedTuple):
    """A line of the bill in words; prices are None where there are none."""

    id: str
    category: str
    """Its key in `CATEGORIES`."""
    place: str
    """The fabric and the place in it, where it has one; of a charge that is a share, what it is a share of."""
    part_number: str | None
    charge: str | None
    """What is charged beside the parts, such as `freight`; None for a part."""
    name: str
    """What its part is called; the description says too that pieces are from stock."""
    description: str
    quantity: int | Fraction
    spare: int
    unit_price: Decimal | None
    discount: Fraction
    amount: Decimal | None
    least: bool
    """Whether the amount is a share of hardware of which some has no price."""
    share_of_hardware: Fraction | None
    in_stock: bool
    counted: bool
    """Whether the totals count it: parts that others require and that have no price are listed only."""
    planning: bool = False
    """Whether the part stands for any that fits, so that another is ordered in its place."""

    @property
    def pieces(self) -> int | Fraction:
        """Pieces that are delivered, spare ones included."""
        return self.quantity + self.spare


class QuotedFabric(NamedTuple):
    """A network in words."""

    name: str
    topology: str
    rate_gbps: int
    endpoints: int
    switches: str
    oversubscription: str
    """Of a leaf, as `2:1`, or a word where there is none; empty where the fabric has no leaves."""


class QuotedCluster(NamedTuple):
    """A cluster in words; `name` is empty where the plan has one."""

    name: str
    sentences: tuple[str, ...]
    fabrics: tuple[QuotedFabric, ...]
    site: tuple[tuple[str, Cell], ...]
    """Label and number of what the customer provides."""


class QuotedAlternative(NamedTuple):
    """What the plan or an alternative comes to: amounts by category, each with whether something is left out of it."""

    name: str
    amounts: Mapping[str, tuple[Decimal | None, bool]]
    totals: Totals


class QuotedMove(NamedTuple):
    """The cables of a kind of link that stand before an expansion."""

    fabric: str
    links: str
    before: int
    stay: int
    moved: int
    """One end is plugged in elsewhere."""
    free: int
    """Both ends are pulled."""
    added: int


class LeftOver(NamedTuple):
    """Pieces that an expansion sets free."""

    part_number: str | None
    description: str
    pieces: int


class QuotedExpansion(NamedTuple):
    """What an expansion does to what stands there."""

    moves: tuple[QuotedMove, ...] | None
    """None: not known."""
    moved_machines: int
    """Machines that stand elsewhere on the floor plan afterwards."""
    left_over: tuple[LeftOver, ...]


class CustomerQuote(NamedTuple):
    """Everything that a quote says."""

    title: str
    customer: str | None
    vendor: str | None
    parties: tuple[AddressBlock, ...]
    logo: Logo | None
    status: str | None
    """`budgetary` or `firm`, where the plan says so."""
    number: str | None
    revision: str | None
    date: str | None
    valid_until: str | None
    valid_days: int | None
    lead_time: tuple[int, str] | None
    """The longest known one [days], and the part that has it."""
    payment: str | None
    terms: tuple[str, ...]
    lines: tuple[QuotedLine, ...]
    totals: Totals
    clusters: tuple[QuotedCluster, ...]
    alternatives: tuple[QuotedAlternative, ...]
    """The plan first; empty where there are none."""
    protected: bool
    id: str | None
    """The plan's name and a fingerprint of what is said, by which an edited workbook is recognised; None: it is not."""
    expansion: QuotedExpansion | None = None
    """Of a quote for what is added to a cluster that stands."""


def customer_quote(writer: Writer) -> CustomerQuote:
    """What a customer may see of the writer's report, in its language."""
    report, plan = writer.report, writer.report.plan.quote
    day = date.fromisoformat(plan.date) if plan.date else None
    days = int(plan.valid_days.value) if plan.valid_days else None
    quote = CustomerQuote(
        title=report.plan.title,
        customer=plan.customer.name if plan.customer else None,
        vendor=plan.vendor.name if plan.vendor else None,
        parties=parties(writer) or tuple(_named_parties(writer, plan)),
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
    """A digest of all that an edit of the workbook can start from: lines, prices, rates and texts.

    It is that of the quote, not of the plan: a comment or a key that the quote does not show makes no state older, a
    price book, a rate or a version of the program that gives other numbers does.
    """
    said = quote._replace(logo=None, clusters=(), alternatives=())
    return sha256(repr(said).encode()).hexdigest()


def _named_parties(writer: Writer, plan: QuotePlan) -> Iterator[AddressBlock]:
    """The customer by name, where the plan has no more of either side."""
    if plan.customer == (plan.customer and Party(plan.customer.name)) and plan.customer:
        yield AddressBlock(writer.word("fact-customer"), (plan.customer.name,))


def longest_lead_time(writer: Writer, ids: Container[str] | None = None) -> tuple[int, str] | None:
    """The longest known lead time [days] and the part that has it, of all lines or of some, by id."""
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
    """The lines of the bill by category, those that no total counts among them."""
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
    """What a line is called; a charge with what a piece of it is, such as `Support (per year)`."""
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
    """Text of the program's own with a capital first letter, as a line of a quote begins."""
    return text[:1].upper() + text[1:]


def _places(writer: Writer, line: Line) -> Iterator[str]:
    """Where the pieces of a line go: a network, and in it a tier, links, or the end of links."""
    if line.charge and line.charge.share:
        share = writer.language.exact_share(Fraction(line.charge.share.value))
        yield writer.word("quote-share-of-hardware", share=share)
    if line.fabric:
        yield writer.fabric_name(line.fabric)
    kind, _, end = ("" if line.charge else line.role or "").partition("/")
    if kind:
        links = name_links(writer, kind) if line.fabric else writer.language.value(kind, "word")
        has_end = end and line.fabric and _joins_tiers(kind)
        place = writer.word("quote-end", links=links, end=writer.label((end,))) if has_end else links
        yield place if line.fabric else _capitalize(place)


def _joins_tiers(kind: str) -> bool:
    lower, joined, _ = kind.partition("-")
    return bool(joined) and not lower.startswith("in_")


def name_links(writer: Writer, kind: str) -> str:
    """What links of a kind are called, or another place in a network."""
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
    """A cluster in sentences, the first of which names it where the plan has several."""
    first, *others = summarize_cluster(writer)
    yield writer.named(first)
    yield from others


def _site(writer: Writer) -> Iterator[tuple[str, Cell]]:
    """Label and number of what the customer provides. No weight without that of the servers, which is most of it."""
    facility = writer.report.design.facility
    unknown, server = facility.load.unweighed, facility.server
    for path in SITE_NUMBERS:
        if path not in writer.numbers or (path[-1] in WEIGHTS and (server is None or server.weight_kg is None)):
            continue
        label = writer.label(path)
        if path[-1] == TOTAL_WEIGHT and unknown:
            label = writer.word(
                "quote-weight", names=writer.word("list-comma").join(map(writer.language.message, unknown))
            )
        yield label, _number(writer, path)


def _number(writer: Writer, path: Path) -> Cell:
    """A number of the site; that racks are counted in racks goes without saying."""
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
    """The ratio of a leaf in words; empty where the fabric has none."""
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
