"""The result as data: every number at its path, and the document that readers get.

`numbers` is what bom.json says, as figures; `result` adds lines, checks and derivations; `document` puts the same
numbers into chapters and tables, in the language of the quote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from bomgen import __version__
from bomgen.bill import Bill, Line, cable_id
from bomgen.design import BuiltFabric, Design
from bomgen.document import (
    Cell,
    Column,
    Derivation,
    Document,
    Drawing,
    Note,
    Row,
    Section,
    Step,
    Table,
)
from bomgen.figures import Assumed, Cited, Derived, Figure, Given, formula, origin_text, walk
from bomgen.language import Language
from bomgen.plan import Plan
from bomgen.problems import Problem
from bomgen.proof import Check
from bomgen.quote import Quote, QuoteLine
from bomgen.sizing.memory import Memory

GENERIC = "generic"
FORMAT = 1
"""Version of bom.json's format."""
Path = tuple[str, ...]
CATEGORIES = ("gpu", "server", "nic", "switch", "transceiver", "cable", "rack", "pdu")


@dataclass(frozen=True, slots=True)
class Input:
    """A file that was read, or an override, with the digest of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was worked out for one plan."""

    plan: Plan
    plan_file: str
    sha256: str
    inputs: tuple[Input, ...]
    design: Design
    bill: Bill
    quote: Quote
    checks: tuple[Check, ...]
    problems: tuple[Problem, ...]


def numbers(report: Report) -> dict[Path, Figure]:
    """Every number of the result by its path in bom.json."""
    found: dict[Path, Figure | None] = {}
    sizing, design = report.design.sizing, report.design
    if run := sizing.run:
        found |= {
            ("workload", "flops"): run.flops,
            ("workload", "hardware_flops"): run.hardware_flops,
            ("workload", "mfu"): run.mfu,
            ("workload", "hfu"): run.hfu,
            ("workload", "peak_flops_per_gpu"): run.peak_flops_per_gpu,
            ("workload", "achieved_flops_per_gpu"): run.achieved_flops_per_gpu,
            ("workload", "tokens_per_second"): sizing.tokens_per_second,
            ("workload", "gpus_required"): run.gpus_required,
            ("workload", "days"): sizing.days,
            ("workload", "parameters"): run.parameters,
            ("workload", "active_parameters"): run.active_parameters,
        }
    if fit := sizing.fit:
        found |= _memory(("workload", "memory"), fit.replica)
        found |= _memory(("workload", "memory", "per_gpu"), fit.per_gpu)
        found |= {
            ("workload", "memory", "gpu"): fit.gpu_memory,
            ("workload", "parallelism", "tensor"): fit.split.tensor,
            ("workload", "parallelism", "pipeline"): fit.split.pipeline,
            ("workload", "parallelism", "data"): fit.split.data,
            ("workload", "parallelism", "context"): fit.split.context,
            ("workload", "parallelism", "expert"): fit.split.expert,
            ("workload", "parallelism", "interleave"): fit.split.interleave,
        }
    found |= {
        ("cluster", "gpus"): sizing.gpus,
        ("cluster", "servers"): sizing.servers,
        ("cluster", "spare_servers"): report.plan.cluster.spare_servers,
        ("cluster", "nics"): design.nics,
        ("cluster", "power_w"): design.power_w,
    }
    for built in design.fabrics:
        found |= _fabric_numbers(built)
    site = design.facility
    found |= {
        ("site", "racks"): site.racks,
        ("site", "compute_racks"): site.compute_racks,
        ("site", "management_racks"): site.management_racks,
        ("site", "servers_per_rack"): site.servers_per_rack,
        ("site", "compute_pdus"): site.compute_pdus,
        ("site", "management_pdus"): site.management_pdus,
        ("site", "power_w"): site.power_w,
        ("site", "facility_power_w"): site.facility_power_w,
        ("site", "energy_cost_per_year"): site.energy_cost_per_year,
        ("site", "run_energy_kwh"): site.run_energy_kwh,
        ("site", "run_energy_cost"): site.run_energy_cost,
    }
    return {path: figure for path, figure in found.items() if figure is not None}


def _memory(path: Path, memory: Memory) -> dict[Path, Figure | None]:
    return {
        (*path, "weights"): memory.weights,
        (*path, "gradients"): memory.gradients,
        (*path, "optimizer"): memory.optimizer,
        (*path, "activations"): memory.activations,
        (*path, "total"): memory.total,
    }


@formula("pieces")
def sum_of_pieces(pieces: int, more_pieces: int) -> int:
    """Pieces in two places."""
    return pieces + more_pieces


def _fabric_numbers(built: BuiltFabric) -> dict[Path, Figure | None]:
    base: Path = ("fabrics", built.plan.name)
    fabric = built.fabric
    found: dict[Path, Figure | None] = {
        (*base, "tiers"): fabric.tier_count,
        (*base, "endpoints"): fabric.endpoints,
        (*base, "link_gbps"): fabric.links[0].rate_gbps,
        (*base, "pods"): fabric.pods,
        (*base, "largest_endpoints"): fabric.largest,
    }
    for tier in fabric.tiers:
        found[(*base, "switches", tier.name)] = tier.count
        found[(*base, "ports", tier.name, "down")] = tier.down
        found[(*base, "ports", tier.name, "up")] = tier.up
        found[(*base, "ports", tier.name, "radix")] = tier.radix
        found[(*base, "oversubscription", tier.name)] = tier.oversubscription
    found[(*base, "switches", "total")] = fabric.switches
    for link in fabric.links:
        found[(*base, "links", link.kind)] = link.count
    found[(*base, "bisection_gbps")] = fabric.bisection_gbps
    modules: dict[str, Figure] = {}
    for use in built.interconnect.modules:
        for key in (use.device, "total"):
            modules[key] = sum_of_pieces(modules[key], use.quantity) if key in modules else use.quantity
    for device, quantity in sorted(modules.items(), key=lambda item: item[0] == "total"):
        found[(*base, "transceivers", device)] = quantity
    for cable in built.interconnect.cables:
        found[(*base, "cables", cable.kind, cable_id(cable))] = cable.quantity
    return found


def plain(value: Any) -> Any:
    """A value as JSON holds it: fractions become whole numbers or floats."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def dotted(path: Path) -> str:
    """A path as it is written: with dots."""
    return ".".join(path)


class Paths:
    """The path of every figure: its place in bom.json, or for steps on the way the step's name behind a `#`."""

    def __init__(self, found: Mapping[Path, Figure]) -> None:
        self.figures: dict[str, Figure] = {}
        self.of: dict[int, str] = {}
        for steps, figure in found.items():
            self.figures[dotted(steps)] = figure
            self.of.setdefault(id(figure), dotted(steps))
        for path, figure in list(self.figures.items()):
            self._name_steps(path, figure)

    def _name_steps(self, path: str, figure: Figure) -> None:
        for name, step in figure.inputs:
            if id(step) in self.of or not step.inputs:
                continue
            wanted = f"{path.partition('#')[0]}#{name}"
            number = 2
            while wanted in self.figures:
                wanted = f"{path.partition('#')[0]}#{name}-{number}"
                number += 1
            self.figures[wanted], self.of[id(step)] = step, wanted
            self._name_steps(wanted, step)


def result(report: Report) -> dict[str, Any]:
    """The result as bom.json holds it: plain data in a fixed order."""
    found = numbers(report)
    data: dict[str, Any] = {
        "bomgen": FORMAT,
        "version": __version__,
        "plan": {
            "name": report.plan.name,
            "title": report.plan.title,
            "sha256": report.sha256,
            "inputs": [{"name": entry.name, "sha256": entry.sha256} for entry in report.inputs],
        },
        "cluster": {"gpu": report.plan.cluster.gpu.identity.id, "server": None},
        "fabrics": {},
    }
    if report.plan.cluster.server:
        data["cluster"]["server"] = report.plan.cluster.server.identity.id
    for built in report.design.fabrics:
        data["fabrics"][built.plan.name] = {
            "role": built.plan.role,
            "topology": built.fabric.topology,
            "planes": 1,
        }
    for path, figure in found.items():
        place = data
        for step in path[:-1]:
            place = place.setdefault(step, {})
        place[path[-1]] = plain(figure.value)
    _name_what_is_not_there(data)
    data["cluster"].setdefault("spare_servers", 0)
    data["cluster"].setdefault("nics", 0)
    paths = Paths(found)
    data["lines"] = [line_data(line, report.quote.totals.currency) for line in report.quote.lines]
    totals = report.quote.totals
    data["totals"] = {
        "list": str(totals.list),
        "discount": str(totals.discount),
        "tax": str(totals.tax),
        "amount": str(totals.amount),
        "currency": totals.currency,
        "complete": totals.complete,
    }
    data["alternatives"] = []
    data["checks"] = [
        {"id": check.id, "status": check.status, "message": check.message, "path": check.path}
        for check in report.checks
    ]
    data["derivations"] = {
        path: _derivation_data(figure, paths)
        for path, figure in paths.figures.items()
        if figure.inputs or isinstance(figure.origin, Derived)
    }
    data["assumptions"] = [
        {"name": origin.name, "value": plain(figure.value), "unit": figure.unit, "source": _sources_text(origin)}
        for figure, origin in assumptions(report)
    ]
    return data


TIERS = ("leaf", "spine", "core")
LINKS = ("server-leaf", "leaf-spine", "spine-core")


def _name_what_is_not_there(data: dict[str, Any]) -> None:
    """Nought for the tiers, links and ports that a fabric does without, so that programs find every key."""
    for fabric in data["fabrics"].values():
        for tier in TIERS:
            fabric["switches"].setdefault(tier, 0)
        for tier in fabric["ports"].values():
            tier.setdefault("up", 0)
        for kind in LINKS:
            fabric["links"].setdefault(kind, 0)
        modules = fabric.setdefault("transceivers", {})
        for device in ("server", *TIERS, "total"):
            modules.setdefault(device, 0)
        fabric.setdefault("cables", {})


def line_data(priced: QuoteLine, currency: str) -> dict[str, Any]:
    """A line as bom.json and bom.csv hold it."""
    line = priced.line
    return {
        "id": line.id,
        "category": line.category,
        "fabric": line.fabric,
        "role": line.role,
        "part": line.part,
        "sku": line.sku,
        "vendor": line.vendor,
        "description": line.description,
        "quantity": plain(line.quantity.value),
        "spare": plain(line.spare.value) if line.spare else 0,
        "unit_price": None if priced.price is None else str(priced.price.amount),
        "discount": share_text(priced.discount),
        "amount": None if priced.amount is None else str(priced.amount),
        "currency": currency,
        "explain": explain_line(line),
    }


def share_text(share: Fraction) -> str:
    """A share as a decimal string."""
    return str(Decimal(share.numerator) / Decimal(share.denominator))


def explain_line(line: Line) -> str:
    """Why a line has its quantity, in one line: the formula and what went into it."""
    return _one_line(line.quantity, lambda figure: str(plain(figure.value)))


def _one_line(figure: Figure, show: Callable[[Figure], str]) -> str:
    """A figure's formula and what went into it, or where it comes from; `show` writes a value."""
    text = origin_text(figure)
    inputs = ", ".join(f"{name} = {show(step)}" for name, step in figure.inputs)
    return f"{text}; {inputs}" if inputs else text


def _derivation_data(figure: Figure, paths: Paths) -> dict[str, Any]:
    origin = figure.origin
    if not isinstance(origin, Derived):
        raise ValueError("only derived figures have a derivation")
    inputs = {name: _input_data(step, paths) for name, step in origin.inputs}
    return {
        "value": plain(figure.value),
        "unit": figure.unit,
        "formula": origin.formula.text,
        "inputs": inputs,
        "source": origin.formula.source,
    }


def _input_data(figure: Figure, paths: Paths) -> dict[str, Any]:
    data: dict[str, Any] = {"value": plain(figure.value), "unit": figure.unit}
    if id(figure) in paths.of:
        data["path"] = paths.of[id(figure)]
    elif isinstance(figure.origin, Given):
        data["place"] = str(figure.origin.mark)
    else:
        data["source"] = origin_text(figure)
    return data


def assumptions(report: Report) -> list[tuple[Figure, Assumed]]:
    """The assumptions that the result rests on, each once, by name."""
    figures = [*numbers(report).values(), *_choices(report)]
    found = {node.origin.name: (node, node.origin) for node in walk(*figures) if isinstance(node.origin, Assumed)}
    return [found[name] for name in sorted(found)]


def _choices(report: Report) -> Iterator[Figure]:
    """Words that decide without entering a formula: topology, build-out, rounding, media and their lengths."""
    plan = report.plan
    if report.design.sizing.run and plan.training:
        training = plan.training
        yield from (training.precision, training.attention, training.recompute)
        if training.target_days and not (plan.cluster.gpus or plan.cluster.servers):
            yield plan.cluster.round_up_to
    for built in report.design.fabrics:
        yield from (built.plan.topology, built.plan.build_out)
        for use in built.interconnect.cables:
            wish = built.plan.links[use.kind]
            yield from (wish.medium, wish.length_m)


def _sources_text(origin: Assumed | Cited) -> str:
    return "; ".join(str(reference) for reference in origin.references) or "unverified"


# The document ------------------------------------------------------------------------------------------------------


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
        return self.language.value(_shown(figure), figure.unit)

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
        notes = tuple(Note("warning", problem.message, str(problem.mark)) for problem in self.report.problems) + tuple(
            Note("warning", check.message)
            for check in self.report.checks
            if check.status == "warn" and check.id in ("over-built", "oversubscription", "missing-price")
        )
        return Section("summary", self.word("section-summary"), text=tuple(self.sentences()), notes=notes)

    def sentences(self) -> Iterator[str]:
        sizing, cluster = self.report.design.sizing, self.report.plan.cluster
        number = self.language.number
        values = {"gpus": number(sizing.gpus.value), "gpu": cluster.gpu.identity.name}
        if cluster.server and cluster.server.trays:
            racks = sizing.servers.value / cluster.server.trays.value
            values |= {"servers": number(sizing.servers.value), "racks": number(ceil(racks))}
            yield self.word("sentence-racks", server=cluster.server.identity.name, **values)
        elif cluster.server:
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
                unit = "" if figure.unit == "share" else self.language.unit(figure.unit)
                yield Row((Cell(self.label(path)), value, Cell(unit), Cell(_one_line(figure, self.shown))))

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
            Cell(_one_line(line.quantity, self.shown)),
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
            Row((Cell(origin.name), Cell(_shown(figure), figure.unit), Cell(origin.why), Cell(_sources_text(origin))))
            for figure, origin in assumptions(self.report)
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
                        Cell(_sources_text(origin)),
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
                stack.extend((depth + 1, parameter, value) for parameter, value in reversed(node.inputs))


def _shown(figure: Figure) -> Any:
    """A figure's value as a cell holds it."""
    return str(figure.value) if isinstance(figure.value, bool | tuple) else figure.value
