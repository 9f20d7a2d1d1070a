"""The result as data: every number at its path.

`numbers` is what bom.json says, as figures; `result` adds lines, checks, derivations and assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.bill import Bill, Line, cable_id
from bomgen.design import BuiltFabric, Design
from bomgen.figures import Assumed, Cited, Derived, Figure, Given, formula, origin_text, walk
from bomgen.plan import Plan
from bomgen.problems import Problem
from bomgen.proof import Check
from bomgen.quote import Quote, QuoteLine
from bomgen.sizing.memory import Memory

FORMAT = 1
"""Version of bom.json's format."""
Path = tuple[str, ...]


class Input(NamedTuple):
    """A file that was read, or an override."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The digest of its bytes."""
        return digest(self.content)


class Report(NamedTuple):
    """Everything that was worked out for one plan."""

    plan: Plan
    plan_file: str
    content: bytes
    """The plan's bytes."""
    inputs: tuple[Input, ...]
    design: Design
    bill: Bill
    quote: Quote
    checks: tuple[Check, ...]
    problems: tuple[Problem, ...]

    @property
    def sha256(self) -> str:
        """The digest of the plan's bytes."""
        return digest(self.content)


def digest(content: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal. Its library is loaded when somebody asks: `check` does without."""
    from hashlib import sha256

    return sha256(content).hexdigest()


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
    return list(value) if isinstance(value, tuple) else value


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
        """Name the derived steps below a figure that have no path of their own."""
        place = path.partition("#")[0]
        waiting = [figure]
        while waiting:
            for name, step in waiting.pop().inputs:
                if id(step) in self.of or not step.inputs:
                    continue
                wanted, number = f"{place}#{name}", 2
                while wanted in self.figures:
                    wanted, number = f"{place}#{name}-{number}", number + 1
                self.figures[wanted], self.of[id(step)] = step, wanted
                waiting.append(step)


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
        {"name": origin.name, "value": plain(figure.value), "unit": figure.unit, "source": sources_text(origin)}
        for figure, origin in assumptions(report, found.values())
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
    return one_line(line.quantity, lambda figure: str(plain(figure.value)))


def one_line(figure: Figure, show: Callable[[Figure], str]) -> str:
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


def assumptions(report: Report, found: Iterable[Figure]) -> list[tuple[Figure, Assumed]]:
    """The assumptions that the result rests on, each once, by name; `found` are the figures of `numbers`."""
    figures = [*found, *_choices(report)]
    by_name = {node.origin.name: (node, node.origin) for node in walk(*figures) if isinstance(node.origin, Assumed)}
    return [by_name[name] for name in sorted(by_name)]


def _choices(report: Report) -> Iterator[Figure]:
    """Words that decide without entering a formula: topology, build-out, rounding, media and their lengths."""
    plan = report.plan
    if plan.quote.assumed_currency:
        yield plan.quote.assumed_currency
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


def sources_text(origin: Assumed | Cited) -> str:
    """The documents of an origin in one line."""
    return "; ".join(str(reference) for reference in origin.references) or "unverified"
