"""Tables of documents: shared columns, sections, sums, formulas of workbooks, and the numbers of a report in words."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, cast

from bomgen.catalog.identity import slug
from bomgen.catalog.parts import GENERIC, Identity
from bomgen.core.document import (
    Cell,
    Column,
    ColumnKind,
    Note,
    Path,
    Row,
    Section,
    Sum,
    Table,
    group_by,
    row_at,
    row_of,
)
from bomgen.core.language import HEAT, Language, describe_formula, is_prefixed
from bomgen.core.provenance import Assumed, Cited, Derived, Figure, Given, Reference, origin_text
from bomgen.core.resources import folder, text
from bomgen.core.units import MONEY, Totals, minor_unit, rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.fabric.types import Tier
from bomgen.plan.schema import CLUSTERS
from bomgen.plan.types import ROLES, FabricPlan
from bomgen.pricing.bill_line import Line, cluster_path
from bomgen.pricing.quote import Indications, PricedLine, is_total, unpriced_gpus
from bomgen.results.numbers import Paths, dotted
from bomgen.results.result import OPERATION, Report, numbers_of


@cache
def _declared() -> Mapping[str, Sequence[Mapping[str, str]]]:
    return group_by(csv.DictReader(text(folder("data") / "columns.csv").splitlines()), lambda row: row["table"])


def columns_of(kind: str, language: Language, without: Collection[str] = ()) -> tuple[Column, ...]:
    """Return the columns that `data/columns.csv` declares for a kind of table, titled in a language."""
    return tuple(
        Column(
            row["column"],
            language.word(row["title"]),
            cast(ColumnKind, row["kind"]),
            int(row["width"]),
            main="main" in row["shown"],
            code="code" in row["shown"],
        )
        for row in _declared()[kind]
        if row["column"] and row["column"] not in without
    )


def make_table(
    kind: str,
    language: Language,
    rows: Iterable[Row],
    caption: str | None = None,
    *,
    id: str = "",
    title: str | None = None,
    columns: Iterable[Column] | None = None,
    **options: Any,
) -> Table:
    """Return a table of a kind that `data/columns.csv` declares; its id is the kind, unless it has another one.

    `title` and `columns` take the place of those declared; `options` are fields of `Table`.
    """
    declared = next((row for row in _declared()[kind] if not row["column"]), {"title": "", "shown": ""})
    if title is None:
        title = language.word(declared["title"]) if declared["title"] else ""
    fields: dict[str, Any] = dict.fromkeys(declared["shown"].split(), True) | options
    held = columns_of(kind, language) if columns is None else tuple(columns)
    return Table(id or kind, title, held, tuple(rows), caption, **fields)


def section_of(table: Table, text: tuple[str, ...] = (), notes: tuple[Note, ...] = ()) -> Section:
    """Return the section of one table, with its id and title; without the table if it has no rows."""
    return Section(table.id, table.title, text, (table,) if table.rows else (), notes)


# sums ---------------------------------------------------------------------------------------------------------------
# The totals of a bill in words, the same in every document: the label of each sum, and whether it is a total.

NET, TAX, TOTAL = "net", "tax", "total"
"""Keys of sums; those of several tax rates are `tax`, `tax-1` and so on."""


def sums_of(
    totals: Totals, lines: Sequence[PricedLine], indicative: Indications | None, language: Language
) -> tuple[Sum, ...]:
    """Return the sums below a bill, the total last; nothing where no line has a price."""
    return tuple(_sums(totals, lines, indicative, language)) if totals.priced_lines else ()


def _sums(
    totals: Totals, lines: Sequence[PricedLine], indicative: Indications | None, language: Language
) -> Iterator[Sum]:
    word, currency = language.word, totals.currency
    if totals.discount:
        yield Sum("list", word("ui-list"), Cell(totals.list, currency))
        yield Sum("discount", word("xlsx-discount"), Cell(totals.discount, currency))
    if totals.discount or totals.taxed:
        yield Sum(NET, word("xlsx-net"), Cell(totals.net, currency))
    for at, part in enumerate(totals.taxes):
        label = f"{word('quote-tax')} {language.share(part.share)}"
        if len(totals.taxes) > 1:
            label = word("quote-tax-on", tax=label, net=language.money(part.net, currency))
        yield Sum(f"{TAX}-{at}" if at else TAX, label, Cell(part.tax, currency))
    final = is_total(totals, lines)
    label = word("quote-indicative-total") if indicative else total_label(totals, language)
    label = label if final else word("quote-priced-only", **_counts(totals, language))
    cell = Cell(totals.amount, currency, least=final and not totals.complete)
    if indicative:
        ends = language.rough_range(indicative.low, indicative.high, currency)
        cell = Cell(ends if totals.complete or not final else word("ui-at-least", amount=ends))
    yield Sum(TOTAL, label, cell, final)


def total_label(totals: Totals, language: Language) -> str:
    """Return the label of the total."""
    return language.word("quote-total-with-tax" if totals.taxed else "ui-total")


def headline_total(
    totals: Totals, lines: Sequence[PricedLine], indicative: Indications | None, language: Language
) -> tuple[str, str]:
    """Return label and amount of the total for a headline; the number of priced lines if the sum is not a total."""
    if not totals.priced_lines:
        return total_label(totals, language), language.word("quote-no-total")
    if not is_total(totals, lines):
        priced = language.word("quote-lines-priced", **_counts(totals, language))
        if without := name_unpriced_gpus(lines, language):
            priced = language.word("quote-priced-without", lines=priced, names=without)
        return language.word("quote-priced"), priced
    total = sums_of(totals, lines, indicative, language)[-1]
    return total.label, language.cell(total.cell)


def _counts(totals: Totals, language: Language) -> dict[str, str]:
    return {"priced": language.integer(totals.priced_lines), "lines": language.integer(totals.lines)}


def name_unpriced_gpus(lines: Sequence[PricedLine], language: Language) -> str:
    """Return which servers and cards with GPUs have no price, such as `the GPU servers`; empty if all have one."""
    word, named = language.word, []
    for category in unpriced_gpus(lines):
        partly = any(line.category == category and line.amount is not None for line in lines)
        name = word(f"quote-without-{category}")
        named.append(word("quote-some-of" if partly else "quote-all-of", name=name))
    return word("list-and").join(named)


# formulas -----------------------------------------------------------------------------------------------------------
# A formula follows what the reader of a workbook changes in the bill, by the defined names of its columns and sums. In
# braces it is worked out for each cell of an area.

RATE_NAME = "bom_tax_rate"
"""The defined name of the tax rate; several are numbered."""


HEADING = "^"
"""Before the column of a reference: to its heading."""


def reference(column: str, table: str = "") -> str:
    """Return a reference to the cell of a column in the row of the formula, or to all of its cells in a table.

    That of a sum below the bill is to its `label` or `amount`. The workbook replaces it by the address.
    """
    return f"\0{table}.{column}\0" if table else f"\0{column}\0"


def literal(text: str) -> str:
    """Return a text inside a formula."""
    return '"' + text.replace("\0", "").replace('"', '""') + '"'


def splice(text: str, **formulas: str) -> str:
    """Return the formula of a sentence with formulas in its `{holes}`."""
    pieces = enumerate(re.split("[{}]", text))
    return "&".join(formulas[piece] if index % 2 else literal(piece) for index, piece in pieces)


def amount_of(condition: str, language: Language) -> str:
    """Return the formula of what chosen lines of the bill come to; a word while none of them has a price."""
    without = literal(language.word("xlsx-no-price"))
    return f"IF(SUMPRODUCT({condition}*ISNUMBER(bom_amounts))=0,{without},SUMPRODUCT({condition},bom_amounts))"


def line_amount(currency: str, language: Language) -> str:
    """Return the formula of what a line of the bill comes to: nothing while it is empty, a word without a price."""
    price, quantity, without = reference("unit_price"), reference("quantity"), literal(language.word("xlsx-no-price"))
    pieces, share = f"({quantity}+{reference('spare')})", f"(1-{reference('discount')})"
    amount = f"ROUND({pieces}*{price}*{share},{decimal_places(currency)})"
    return f'IF({price}="",IF({quantity}="","",{without}),{amount})'


def decimal_places(currency: str) -> int:
    """Return how many decimal places the amounts of a currency have."""
    return -int(minor_unit(currency).as_tuple().exponent)


def rate_names(totals: Totals) -> list[str]:
    """Return the defined names of the tax rates."""
    several = len(totals.taxes) > 1
    return [f"{RATE_NAME}_{number}" for number in range(1, len(totals.taxes) + 1)] if several else [RATE_NAME]


SPARSE = "sparse"
PEAK = "peak_flops_per_gpu"
THROUGHPUT = ("tokens_per_second_per_gpu", "tokens_per_second", "requests_per_minute")
SITE = "site"
COUNTED = ("GPUs", "NICs", "servers", "switches", "pieces")
"""Units that the label of a key figure already names."""


class Writer:
    """Formatter of a report's numbers as text and tables."""

    def __init__(self, report: Report, language: Language) -> None:
        self.report, self.language = report, language
        self.within = cluster_path(report.plan.cluster_name)
        """Path prefix of the report's numbers in bom.json."""
        self.word = language.word
        self.numbers = numbers_of(report)
        self.paths = Paths(self.numbers)
        compute = report.plan.compute
        self.sparse = compute is not None and compute.sparsity.value == SPARSE
        """Whether the peak target is for sparse operations."""
        self.lower_bounds = frozenset[str]().union(
            *(cluster.design.facility.lower_bounds for cluster in report.each_cluster)
        )
        """Site figures that exclude devices of unknown power."""
        served = report.design.sizing.serving
        self.estimated = served is not None and served.speed is not None
        """Whether the serving throughput is an estimate."""
        hosts = (hosts for built in report.design.fabrics for hosts in built.hosts)
        self.machines = {slug(host.name): language.value(host.name, "word") for host in hosts}
        """Names of machines other than the GPU servers, by their steps in paths."""

    def held(self, figure: Figure) -> Any:
        """Return a figure's value for a cell; a table or a shape as text."""
        if isinstance(figure.value, bool | tuple):
            return self.language.message(str(figure.value))
        return figure.value

    def shown(self, figure: Figure) -> str:
        """Return a figure's value with its unit, in the language of the report."""
        return self.language.value(self.held(figure), self.unit(figure), figure.bounds)

    def unit(self, figure: Figure) -> str:
        """Return a figure's unit; for amounts the currency of the quote."""
        return self.report.quote.totals.currency if figure.unit == MONEY else figure.unit

    def origin(self, figure: Figure) -> str:
        """Return a figure's origin on one line: its formula in words, its place in the plan, or its document."""
        match figure.origin:
            case Given(mark=mark):
                return self.word("origin-given", place=mark.recorded)
            case Derived() if figure.unit == HEAT and not self.language.heat:
                return self.word("heat-of-power")
            case Derived():
                return describe_formula(figure, self.language, self.shown).text
            case Assumed() as assumed if assumed.chosen:
                return self.word("origin-chosen", why=self.language.message(assumed.why))
            case Assumed() as assumed:
                return self.word("origin-assumed", sources=self._titles(assumed.references))
            case Cited() as cited:
                key = "origin-cited" if cited.confidence == "high" else f"origin-cited-{cited.confidence}"
                return self.word(key, of=self.cited(cited), sources=self._titles(cited.references))
        return origin_text(figure)

    def cited(self, origin: Cited) -> str:
        """Return what a cited figure describes: a field of a part, or a constant of a published formula."""
        return self.language.message(origin.of)

    def sources(self, origin: Assumed | Cited) -> Cell:
        """Return the documents of an origin with their addresses, on one line."""
        documents = [reference._replace(title=self.title(reference)) for reference in origin.references]
        return Cell(self._titles(documents, str), documents=tuple((each.title, each.url or "") for each in documents))

    def title(self, reference: Reference) -> str:
        """Return the title of a source; documents keep their own title."""
        return self.language.message(reference.title)

    def _titles(self, references: Sequence[Reference], show: Callable[[Reference], str] | None = None) -> str:
        return "; ".join(map(show or self.title, references)) or self.word("unverified")

    def place(self, role: str) -> str:
        """Return the position of a line's part in words: a tier, a kind of link, or an end of it."""
        return "/".join(self.language.value(step, "word") for step in role.split("/"))

    def described(self, line: Line) -> str:
        """Return the name of a line: vendor and part, or charge; parts from stock say so."""
        name = self.language.message(line.description)
        is_named = line.vendor in (None, GENERIC) or name.casefold().startswith(f"{line.vendor} ".casefold())
        name = name if is_named else f"{line.vendor} {name}"
        if line.charge and line.charge.name is None:
            name = self.word(f"charge-{line.charge.kind}")
        return self.word("in-stock", name=name) if line.in_stock else name

    def label(self, path: Path) -> str:
        """Return the label of a number: for its whole path, for its last two steps, or for its last."""
        if path[-1] == PEAK and self.sparse:
            path = (f"sparse_{PEAK}",)
        if path[-1] in THROUGHPUT and self.estimated:
            path = (f"estimated_{path[-1]}",)
        if path[-1] in self.lower_bounds and path[0] == SITE:
            path = (*path[:-1], f"at_least_{path[-1]}")
        for key in (".".join(path), ".".join(path[-2:]), path[-1]):
            if f"label-{key}" in self.language.words:
                return self.word(f"label-{key}")
        return self.machines.get(path[-1], path[-1])

    def group_label(self, path: Path) -> str:
        """Return the labels of a path's steps, from the group to the number."""
        return self.joined(*(self.label((step,)) for step in path))

    def cluster_writers(self) -> tuple[Writer, ...]:
        """Return a writer per cluster of the plan; this writer if there is one cluster."""
        return tuple(Writer(cluster, self.language) for cluster in self.report.clusters) or (self,)

    def named(self, name: str) -> str:
        """Return a name, with the cluster's name if the plan has several."""
        return self.joined(self.report.plan.cluster_name, name) if self.report.plan.cluster_name else name

    def joined(self, *names: str) -> str:
        """Return names joined from the group to the element."""
        return self.word("name-in").join(names)

    def cell(self, path: Path) -> Cell:
        """Return the number at a path as a cell that links to its derivation."""
        figure = self.numbers[path]
        why = dotted((*self.within, *path)) if isinstance(figure.origin, Derived) else None
        if figure.unit == MONEY:
            currency = self.report.quote.totals.currency
            amount, *ends = (rounded(Fraction(each), currency) for each in (figure.value, *(figure.bounds or ())))
            return Cell(amount, currency, why, self._least(path), estimate=(ends[0], ends[1]) if ends else None)
        return Cell(self.held(figure), figure.unit, why, self._least(path), estimate=figure.bounds)

    def key_figure(self, path: Path) -> Cell:
        """Return the number at a path as a cell; a prediction has its interval, which numbers of its own hold."""
        cell, (*above, key) = self.cell(path), path
        if cell.unit in COUNTED:
            cell = replace(cell, unit="count")
        for names in ((f"{key}_low",), (f"{key}_high",)), ((f"{key}_range", "low"), (f"{key}_range", "high")):
            ends = [self.numbers[end] for name in names if (end := (*above, *name)) in self.numbers]
            if cell.estimate is None and len(ends) == len(names):
                cell = replace(cell, estimate=(ends[0].value, ends[1].value))
        return cell

    def number(self, path: Path) -> Cell:
        """Return the number at a path as a cell without a link to its derivation."""
        return replace(self.cell(path), why=None)

    def fabric_name(self, name: str) -> str:
        """Return the name of a fabric: translated if it is that of its role, else as in the plan."""
        return self.word(f"compare-{name}") if name in ROLES else name

    def name_network(self, fabric: FabricPlan) -> str:
        """Return the name of a fabric and of those whose traffic is on it."""
        return self.word("list-and").join(map(self.fabric_name, (fabric.name, *fabric.carried)))

    def fabric_title(self, name: str) -> str:
        """Return the name of a fabric for headings and the beginning of sentences."""
        return self.fabric_name(name) if name in ROLES else self.word("drawing-title", name=name)

    def join_facts(self, part: Identity) -> str:
        """Return what the catalogue says of a part, on one line."""
        return self.word("list-comma").join(map(self.language.message, part.facts))

    def describe_switches(self, built: BuiltFabric) -> str:
        """Return the switches of a fabric, tier by tier, on one line."""
        tiers = ((tier, int(tier.count.value)) for tier in built.fabric.tiers)
        return self.word("list-comma").join(self.describe_tier(tier, count) for tier, count in tiers)

    def describe_tier(self, tier: Tier, count: int) -> str:
        """Return a number of switches of a tier."""
        return self.word(
            "sentence-tier-one" if count == 1 else "sentence-tier",
            count=self.language.number(count),
            tier=self.label((tier.name,)),
            switch=self.language.message(tier.switch.identity.name),
        )

    def _least(self, path: Path) -> bool:
        return path[0] == OPERATION and path[-1] in self.report.running.lower_bounds

    def paths_of(self, *tables: str) -> Iterator[Path]:
        """Return the paths of the numbers in tables."""
        rows = ((path, row_at(path)) for path in self.numbers if path[0] != CLUSTERS)
        return (path for path, row in rows if row and row.table in tables)

    def derivation_of(self, figure: Figure) -> str | None:
        """Return the path under which the derivation of a figure stands; None without one."""
        path = self.paths.of.get(id(figure), "#")
        return path if "#" not in path and isinstance(figure.origin, Derived) else None

    def row(self, path: Path) -> Row:
        """Return the number at a path as a row: label, value, unit, origin."""
        return self.row_of_figure(self.label(path), self.numbers[path], self.cell(path))

    def row_of_figure(self, label: str, figure: Figure, value: Cell | None = None) -> Row:
        """Return a figure as a row: label, value, unit, origin."""
        value = value or Cell(self.held(figure), figure.unit, self.derivation_of(figure), estimate=figure.bounds)
        named = figure.unit in ("share", MONEY) or is_prefixed(value.value, figure.unit)
        unit = "" if named else self.language.unit(figure.unit, value.value)
        return row_of(label, value, unit, self.origin(figure))

    def table(self, id: str, *parts: str, rows: Sequence[Row] = ()) -> Table:
        """Return a table of numbers with their origin: of rows, or of its parts in sequence."""
        rows = rows or [self.row(path) for part in parts or (id,) for path in self.paths_of(part)]
        return make_table("numbers", self.language, rows, id=id, title=self.word(f"table-{id}"))
