"""The document that readers get: the result in chapters and tables, in the language of the quote."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from math import ceil
from typing import Any

from bomgen import __version__
from bomgen.design import BuiltFabric
from bomgen.document import Cell, Column, Derivation, Document, Drawing, Note, Row, Section, Step, Table
from bomgen.figures import Cited, Derived, Figure, origin_text, telling_inputs, walk
from bomgen.language import Language
from bomgen.money import rounded
from bomgen.quote import QuoteLine
from bomgen.report import Path, Paths, Report, assumptions, dotted, numbers, one_line, sources_text

MONEY = "money"
"""The unit of figures in the currency of the quote."""
GENERIC = "generic"
"""The vendor of a part that stands for any vendor's."""
CATEGORIES = ("gpu", "server", "nic", "switch", "transceiver", "cable", "rack", "pdu")
"""The order of a bill."""


def document(report: Report, language: Language, drawings: tuple[Drawing, ...]) -> Document:
    """The report for readers, in a language. `drawings` are those of the fabrics."""
    writer = _Writer(report, language)
    return Document(
        title=report.plan.title,
        subtitle=writer.subtitle(),
        language=language.code,
        facts=tuple(writer.facts()),
        headline=tuple(writer.headline()),
        sections=tuple(section for section in writer.sections(drawings) if section is not None),
        totals=report.quote.totals,
        footer=language.word("footer", version=__version__, sha=report.sha256),
    )


class _Writer:
    """Puts a report into words and tables."""

    def __init__(self, report: Report, language: Language) -> None:
        self.report, self.language = report, language
        self.word = language.word
        self.numbers = numbers(report)
        self.paths = Paths(self.numbers)

    def subtitle(self) -> str:
        customer = self.report.plan.quote.customer
        return self.word("subtitle-customer", customer=customer) if customer else self.word("subtitle")

    def facts(self) -> Iterator[tuple[str, str]]:
        quote = self.report.plan.quote
        if quote.customer:
            yield self.word("fact-customer"), quote.customer
        if quote.date:
            yield self.word("fact-date"), self.language.date(quote.date)
            if quote.valid_days:
                until = date.fromisoformat(quote.date) + timedelta(days=int(quote.valid_days.value))
                yield self.word("fact-valid-until"), self.language.date(until.isoformat())
        elif quote.valid_days:
            yield self.word("fact-valid"), self.language.value(quote.valid_days.value, "days")
        yield self.word("fact-plan"), self.report.plan_file
        yield self.word("fact-currency"), quote.currency

    def headline(self) -> Iterator[tuple[str, Cell]]:
        for path in (
            ("cluster", "gpus"),
            ("workload", "gpus_required"),
            ("workload", "days"),
            ("cluster", "servers"),
            ("cluster", "nics"),
        ):
            if path in self.numbers:
                yield self.label(path), self.cell(path)
        for name in (built.plan.name for built in self.report.design.fabrics):
            for last in (("switches", "total"), ("transceivers", "total")):
                of_fabric: Path = ("fabrics", name, *last)
                if of_fabric in self.numbers:
                    yield f"{name}: {self.label(of_fabric)}", self.cell(of_fabric)
        if ("site", "power_w") in self.numbers:
            yield self.label(("site", "power_w")), self.cell(("site", "power_w"))

    def shown(self, figure: Figure) -> str:
        """A figure's value with its unit, in the language of the report."""
        unit = self.report.quote.totals.currency if figure.unit == MONEY else figure.unit
        return self.language.value(_shown(figure), unit)

    def place(self, role: str) -> str:
        """Where a line's part sits, in words: a tier, a kind of link, or the end of one."""
        return "/".join(self.language.value(step, "word") for step in role.split("/"))

    def label(self, path: Path) -> str:
        """What a number is called: by its whole path, by its last two steps, or by its last."""
        for key in (".".join(path), ".".join(path[-2:]), path[-1]):
            if f"label-{key}" in self.language.words:
                return self.word(f"label-{key}")
        return path[-1]

    def cell(self, path: Path) -> Cell:
        figure = self.numbers[path]
        why = dotted(path) if isinstance(figure.origin, Derived) else None
        if figure.unit == MONEY:
            currency = self.report.quote.totals.currency
            return Cell(rounded(Fraction(figure.value), currency), currency, why)
        return Cell(_shown(figure), figure.unit, why)

    def sections(self, drawings: tuple[Drawing, ...]) -> Iterator[Section | None]:
        yield self.summary()
        yield Section("bill", self.word("section-bill"), tables=(self.bill_table(),))
        yield self.sizing()
        yield self.network(drawings)
        yield self.site()
        yield self.assumption_section()
        yield self.check_section()
        yield self.source_section()
        yield self.derivation_section()

    def summary(self) -> Section:
        notes = tuple(Note("warning", problem.message, str(problem.mark)) for problem in self.report.problems)
        return Section("summary", self.word("section-summary"), text=tuple(self.sentences()), notes=notes)

    def sentences(self) -> Iterator[str]:
        sizing, cluster = self.report.design.sizing, self.report.plan.cluster
        number = self.language.number
        values = {"gpus": number(sizing.gpus.value), "gpu": cluster.gpu.identity.name}
        if sizing.servers and cluster.server and cluster.server.trays:
            racks = sizing.servers.value / cluster.server.trays.value
            values |= {"servers": number(sizing.servers.value), "racks": number(ceil(racks))}
            yield self.word("sentence-racks", server=cluster.server.identity.name, **values)
        elif sizing.servers and cluster.server:
            values |= {"servers": number(sizing.servers.value), "server": cluster.server.identity.name}
            yield self.word("sentence-servers", **values)
        else:
            yield self.word("sentence-gpus", **values)
        training = self.report.plan.training
        if training and sizing.run and sizing.days:
            yield self.word(
                "sentence-training",
                model=training.model.identity.name,
                parameters=self.shown(sizing.run.parameters),
                tokens=self.shown(training.tokens),
                days=self.shown(sizing.days),
                mfu=self.shown(sizing.run.mfu),
                peak=self.shown(sizing.run.peak_flops_per_gpu),
                precision=training.precision.value,
            )
        for built in self.report.design.fabrics:
            parts = ", ".join(
                self.word(
                    "sentence-tier",
                    count=number(tier.count.value),
                    tier=self.label((tier.name,)),
                    switch=tier.switch.identity.name,
                )
                for tier in built.fabric.tiers
            )
            yield self.word(
                "sentence-fabric",
                name=built.plan.name,
                topology=built.fabric.topology,
                endpoints=number(built.fabric.endpoints.value),
                gbps=number(built.fabric.links[0].rate_gbps.value),
                switches=parts,
            )

    def rows(self, prefix: Path, skip: tuple[Path, ...] = ()) -> Iterator[Row]:
        """A row for every number below a path: name, value, unit, how."""
        for path, figure in self.numbers.items():
            if path[: len(prefix)] == prefix and not any(path[: len(other)] == other for other in skip):
                value = self.cell(path)
                unit = "" if figure.unit in ("share", MONEY) else self.language.unit(figure.unit)
                yield Row((Cell(self.label(path)), value, Cell(unit), Cell(one_line(figure, self.shown))))

    def table(self, id: str, rows: tuple[Row, ...]) -> Table:
        """A table of numbers with how each came about."""
        columns = (
            Column("name", self.word("column-name"), "text", 34),
            Column("value", self.word("column-value"), "number", 20),
            Column("unit", self.word("column-unit"), "text", 14),
            Column("how", self.word("column-how"), "text", 70),
        )
        return Table(id, self.word(f"table-{id}"), columns, rows)

    def sizing(self) -> Section:
        memory, parallelism = ("workload", "memory"), ("workload", "parallelism")
        tables = [self.table("cluster", tuple(self.rows(("cluster",))))]
        texts: list[str] = []
        notes: list[Note] = []
        if self.report.design.sizing.run:
            training = self.report.plan.training
            rows = tuple(self.rows(("workload",), (memory, parallelism)))
            tables.insert(0, self.table("training", rows))
            if training:
                texts.append(self.word(f"convention-{training.attention.value}"))
        if fit := self.report.design.sizing.fit:
            tables.append(self.table("parallelism", tuple(self.rows(parallelism))))
            tables.append(
                self.table(
                    "memory-per-gpu", tuple(self.rows((*memory, "per_gpu"))) + tuple(self.rows((*memory, "gpu")))
                )
            )
            replica = tuple(self.rows(memory, ((*memory, "per_gpu"), (*memory, "gpu"))))
            tables.append(self.table("memory-replica", replica))
            notes += [Note("info", reason) for reason in fit.reasons]
            if fit.fits is None:
                notes.append(Note("info", self.word("memory-unknown")))
        title = self.word("section-sizing")
        return Section("sizing", title, text=tuple(texts), tables=tuple(tables), notes=tuple(notes))

    def network(self, drawings: tuple[Drawing, ...]) -> Section | None:
        if not self.report.design.fabrics:
            return None
        tables = tuple(self.fabric_table(built) for built in self.report.design.fabrics)
        return Section("network", self.word("section-network"), tables=tables, drawings=drawings)

    def fabric_table(self, built: BuiltFabric) -> Table:
        base = ("fabrics", built.plan.name)
        rows = tuple(
            Row((Cell(self.group_label(path[2:])), *row.cells[1:]))
            for path, row in zip([path for path in self.numbers if path[:2] == base], self.rows(base), strict=True)
        )
        table = self.table("fabric", rows)
        title = self.word("table-fabric-named", name=built.plan.name, topology=built.fabric.topology)
        return Table(f"fabric-{built.plan.name}", title, table.columns, table.rows)

    def group_label(self, path: Path) -> str:
        return ": ".join(self.label((step,)) for step in path)

    def site(self) -> Section | None:
        rows = tuple(self.rows(("site",)))
        if not rows:
            return None
        return Section("site", self.word("section-site"), tables=(self.table("site", rows),))

    def bill_table(self) -> Table:
        columns = (
            Column("fabric", self.word("column-fabric"), "text", 12),
            Column("role", self.word("column-role"), "text", 20),
            Column("sku", self.word("column-sku"), "text", 28),
            Column("description", self.word("column-description"), "text", 44),
            Column("quantity", self.word("column-quantity"), "number", 10),
            Column("spare", self.word("column-spare"), "number", 8),
            Column("unit_price", self.word("column-unit-price"), "money", 14),
            Column("discount", self.word("column-discount"), "share", 10),
            Column("amount", self.word("column-amount"), "money", 18),
            Column("explain", self.word("column-why"), "text", 60),
        )
        ordered = sorted(self.report.quote.lines, key=lambda line: CATEGORIES.index(line.line.category))
        return Table("bill", self.word("table-bill"), columns, tuple(self.bill_row(line) for line in ordered))

    def bill_row(self, priced: QuoteLine) -> Row:
        line, currency = priced.line, self.report.quote.totals.currency
        why = self.paths.of.get(id(line.quantity))
        why = why if why and "#" not in why and isinstance(line.quantity.origin, Derived) else None
        if (
            why is None
            and line.path in self.paths.figures
            and isinstance(self.paths.figures[line.path].origin, Derived)
        ):
            why = line.path
        cells = (
            Cell(line.fabric or ""),
            Cell(self.place(line.role or "")),
            Cell(line.sku or self.word("no-part-number")),
            Cell(line.description if line.vendor in (None, GENERIC) else f"{line.vendor} {line.description}"),
            Cell(line.quantity.value, "", why),
            Cell(line.spare.value if line.spare else 0),
            Cell(priced.price.amount if priced.price else None, currency),
            Cell(priced.discount, "share"),
            Cell(priced.amount, currency),
            Cell(one_line(line.quantity, self.shown)),
        )
        return Row(cells, self.word(f"category-{line.category}"))

    def assumption_section(self) -> Section:
        columns = (
            Column("name", self.word("column-assumption"), "text", 34),
            Column("value", self.word("column-value"), "number", 16),
            Column("why", self.word("column-why"), "text", 60),
            Column("source", self.word("column-source"), "text", 60),
        )
        rows = tuple(
            Row((Cell(origin.name), Cell(_shown(figure), figure.unit), Cell(origin.why), Cell(sources_text(origin))))
            for figure, origin in assumptions(self.report, self.numbers.values())
        )
        table = Table("assumptions", self.word("table-assumptions"), columns, rows)
        return Section(
            "assumptions", self.word("section-assumptions"), text=(self.word("assumptions-lead"),), tables=(table,)
        )

    def check_section(self) -> Section:
        columns = (
            Column("status", self.word("column-status"), "text", 10),
            Column("id", self.word("column-check"), "text", 22),
            Column("message", self.word("column-finding"), "text", 70),
            Column("path", self.word("column-path"), "text", 40),
        )
        rows = tuple(
            Row((Cell(self.word(f"status-{check.status}")), Cell(check.id), Cell(check.message), Cell(check.path)))
            for check in self.report.checks
        )
        return Section(
            "checks", self.word("section-checks"), tables=(Table("checks", self.word("table-checks"), columns, rows),)
        )

    def source_section(self) -> Section:
        columns = (
            Column("of", self.word("column-of"), "text", 40),
            Column("value", self.word("column-value"), "number", 16),
            Column("source", self.word("column-source"), "text", 60),
            Column("confidence", self.word("column-confidence"), "text", 14),
        )
        rows = []
        seen: set[tuple[str, str]] = set()
        for figure in walk(*self.numbers.values()):
            origin = figure.origin
            if not isinstance(origin, Cited) or (origin.of, str(figure.value)) in seen:
                continue
            seen.add((origin.of, str(figure.value)))
            confidence = self.word(f"confidence-{origin.confidence}") if origin.verified else self.word("unverified")
            rows.append(
                Row(
                    (
                        Cell(origin.of),
                        Cell(_shown(figure), figure.unit),
                        Cell(sources_text(origin)),
                        Cell(confidence),
                    )
                )
            )
        table = Table("sources", self.word("table-sources"), columns, tuple(rows))
        return Section("sources", self.word("section-sources"), text=(self.word("sources-lead"),), tables=(table,))

    def derivation_section(self) -> Section:
        derivations = tuple(
            Derivation(path, self.derivation_title(path), tuple(self.steps(path, figure)))
            for path, figure in self.paths.figures.items()
            if "#" not in path and isinstance(figure.origin, Derived)
        )
        return Section(
            "derivations",
            self.word("section-derivations"),
            text=(self.word("derivations-lead"),),
            derivations=derivations,
        )

    def derivation_title(self, path: str) -> str:
        steps = tuple(path.split("."))
        if steps[0] == "fabrics":
            return f"{steps[1]}: {self.group_label(steps[2:])}"
        return self.label(steps)

    def steps(self, path: str, figure: Figure) -> Iterator[Step]:
        """The derivation of a number; numbers that have a derivation of their own are named, not explained again."""
        name = figure.origin.formula.name if isinstance(figure.origin, Derived) else path.rpartition(".")[2]
        seen: set[int] = set()
        stack = [(0, name, figure)]
        while stack:
            depth, label, node = stack.pop()
            own = self.paths.of.get(id(node), "#")
            if depth and "#" not in own and isinstance(node.origin, Derived):
                yield Step(depth, label, _shown(node), node.unit, self.word("see", path=own))
                continue
            again = id(node) in seen and bool(node.inputs)
            yield Step(depth, label, _shown(node), node.unit, self.word("above") if again else origin_text(node))
            if not again:
                seen.add(id(node))
                stack.extend((depth + 1, parameter, value) for parameter, value in reversed(telling_inputs(node)))


def _shown(figure: Figure) -> Any:
    """A figure's value as a cell holds it."""
    return str(figure.value) if isinstance(figure.value, bool | tuple) else figure.value
