"""The evidence: assumptions, checks, cited figures, derivations, rejected options, and a simulation of the workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import Any, NamedTuple

from bomgen.core.document import Cell, Column, Derivation, Document, Note, Path, Row, Section, Step, row_of
from bomgen.core.language import Language, name_input
from bomgen.core.provenance import Cited, Derived, Figure, informative_inputs, walk
from bomgen.documents.tables import Writer, columns_of, make_table
from bomgen.plan.schema import CLUSTERS
from bomgen.results.numbers import dotted
from bomgen.results.reasons import ReasonInputs, reasons
from bomgen.results.result import assumptions
from bomgen.sizing.serving.capacity import SECONDS_A_MINUTE, Demand
from bomgen.sizing.serving.simulation import PERCENTILES, Outcome


def assumption_section(writer: Writer) -> Section:
    """Return the chapter of defaults used where the plan has no value."""
    rows = tuple(
        row_of(
            writer.language.message(origin.name),
            Cell(writer.held(figure), writer.unit(figure)),
            writer.language.message(origin.why),
            writer.sources(origin),
        )
        for figure, origin in assumptions(writer.report, writer.numbers.values())
    )
    table = make_table("assumptions", writer.language, rows)
    return Section(
        "assumptions", writer.word("section-assumptions"), text=(writer.word("assumptions-lead"),), tables=(table,)
    )


def check_section(writer: Writer) -> Section:
    """Return the chapter of checks that the program made on its own result."""
    rows = tuple(
        row_of(writer.word(f"status-{check.status}"), check.id, writer.language.message(check.message), check.path)
        for check in writer.report.checks
    )
    return Section("checks", writer.word("section-checks"), tables=(make_table("checks", writer.language, rows),))


def source_section(writer: Writer) -> Section:
    """Return the chapter of every catalogue figure that the result uses."""
    rows = []
    seen: set[tuple[str, str]] = set()
    for figure in walk(*writer.numbers.values()):
        origin = figure.origin
        if not isinstance(origin, Cited) or (origin.of, str(figure.value)) in seen:
            continue
        seen.add((origin.of, str(figure.value)))
        confidence = writer.word(f"confidence-{origin.confidence}") if origin.verified else writer.word("unverified")
        rows.append(
            row_of(
                writer.cited(origin), Cell(writer.held(figure), writer.unit(figure)), writer.sources(origin), confidence
            )
        )
    table = make_table("sources", writer.language, rows)
    return Section("sources", writer.word("section-sources"), text=(writer.word("sources-lead"),), tables=(table,))


def derivation_section(writer: Writer, clusters: Sequence[Writer]) -> Section:
    """Return the chapter of derivations of all numbers; those of one of several clusters name it."""
    titles = {dotted(path): derivation_title(writer, path) for path in writer.numbers if path[0] != CLUSTERS}
    for cluster in clusters:
        titles |= {dotted((*cluster.within, *path)): derivation_title(cluster, path) for path in cluster.numbers}
    derivations = tuple(
        Derivation(path, titles[path], tuple(steps(writer, path, figure, titles)))
        for path, figure in writer.paths.figures.items()
        if "#" not in path and isinstance(figure.origin, Derived)
    )
    return Section(
        "derivations",
        writer.word("section-derivations"),
        text=(writer.word("derivations-lead"),),
        derivations=derivations,
    )


def derivation_title(writer: Writer, path: Path) -> str:
    """Return the title of a derivation: its number, and the fabric if it belongs to one."""
    if path[0] == "fabrics":
        return writer.named(writer.joined(writer.fabric_name(path[1]), writer.group_label(path[2:])))
    return writer.named(writer.label(path))


def steps(writer: Writer, path: str, figure: Figure, titles: Mapping[str, str]) -> Iterator[Step]:
    """Yield the derivation steps of a number; inputs with their own derivation are referenced, not repeated.

    Numbers of the result have their titles as names, other inputs the words of the formula that they belong to.
    """
    seen: set[int] = set()
    stack = [(0, "", figure)]
    while stack:
        depth, parameter, node = stack.pop()
        own = writer.paths.of.get(id(node), "#") if depth else path
        name = titles.get(own) or name_input(parameter, node, writer.language, writer.shown)
        again, see, expression = id(node) in seen and bool(node.inputs), None, ""
        if depth and "#" not in own and isinstance(node.origin, Derived):
            origin, see = writer.word("see", path=own), own
        elif again:
            origin = writer.word("above")
        else:
            origin = writer.origin(node)
            expression = node.origin.formula.text if isinstance(node.origin, Derived) else ""
            seen.add(id(node))
            stack.extend((depth + 1, parameter, value) for parameter, value in reversed(informative_inputs(node)))
        value, unit = writer.held(node), writer.unit(node)
        yield Step(depth, name, value, unit, origin, see, expression, node.bounds, "" if own in titles else parameter)


# choices ------------------------------------------------------------------------------------------------------------
# The chapter of rejected options: parts and designs, each with the reason or the difference.


def choices(writer: Writer) -> Section | None:
    """Return the chapter of every choice that had alternatives; None if there were none."""
    chosen = [reason for reason in reasons(ReasonInputs(writer.report, writer.language), None) if reason.others]
    if not chosen:
        return None
    say, rows = writer.language.message, list[Row]()
    for reason in chosen:
        taken = say(reason.title), writer.word("taken-because", taken=say(reason.chosen), why=say(reason.because))
        for other in reason.others:
            rows.append(row_of(*taken, say(other.name), say(other.reason)))
            taken = "", ""
    table = make_table("choices", writer.language, rows)
    return Section("choices", writer.word("section-choices"), text=(writer.word("choices-lead"),), tables=(table,))


# simulation ---------------------------------------------------------------------------------------------------------
# The document of a simulated workload: percentiles of its times beside its targets.

PERCENT = 100
TIMES = ("ttft", "tpot", "request")


class Simulated(NamedTuple):
    """A simulated workload and what it came to."""

    plan: str
    split: str
    """The split of a replica."""
    replicas: int
    demand: Demand
    """The targets, and the rate of the requests."""
    outcome: Outcome
    requests: int
    seed: int
    trace: str | None
    """The file that the requests are of; None: they are drawn with the seed."""


def simulation_document(simulated: Simulated, language: Language) -> Document:
    """Return the percentiles of a simulated workload, its targets, and whether they hold."""
    demand, outcome = simulated.demand, simulated.outcome
    word, number = language.word, language.number
    time, *judgement = columns_of("simulation", language)
    columns = (time, *(Column(f"p{share:.0%}", f"{share:.0%}") for share in PERCENTILES), *judgement)
    judged = judgements(demand, outcome)
    rows = []
    for name in TIMES:
        values = [language.value(getattr(outcome, name)[share], "s") for share in PERCENTILES]
        target = getattr(demand, name, float("inf"))
        shown = "" if isinf(target) else language.value(target, "s")
        verdict = word("simulate-holds" if judged[name] else "simulate-fails") if name in judged else ""
        rows.append(row_of(word(f"simulate-{name}"), *values, shown, verdict))
    facts = {
        "plan": simulated.plan,
        "replicas": number(simulated.replicas),
        "split": simulated.split,
        "rate": number(round(demand.per_second * SECONDS_A_MINUTE, 1)),
        "in_flight": number(round(outcome.in_flight, 1)),
        "seed": str(simulated.seed),
        "requests": number(simulated.requests),
        "trace": simulated.trace or "",
    }
    notes = [word("simulate-trace" if simulated.trace else "simulate-load", **facts)]
    if not outcome.stable:
        notes.append(word("simulate-unstable"))
    table = make_table("simulation", language, rows, columns=columns)
    info = tuple(Note("info", text) for text in notes)
    return Document("", language.code, (Section("simulation", "", tables=(table,), notes=info),))


def judgements(demand: Demand, outcome: Outcome) -> dict[str, bool]:
    """Return whether each target of a demand holds; those that the plan does not set are left out."""
    found = {}
    if not isinf(demand.ttft):
        found["ttft"] = outcome.stable and outcome.ttft_kept >= demand.percentile
    if not isinf(demand.tpot):
        found["tpot"] = outcome.stable and outcome.tpot_mean <= demand.tpot
    return found


def simulation_data(simulated: Simulated) -> dict[str, Any]:
    """Return the same as plain data; times in seconds."""
    demand, outcome = simulated.demand, simulated.outcome
    return {
        "plan": simulated.plan,
        "split": simulated.split,
        "replicas": simulated.replicas,
        "requests_per_second": demand.per_second,
        "requests": simulated.requests,
        **({"trace": simulated.trace} if simulated.trace else {"seed": simulated.seed}),
        "in_flight_per_replica": outcome.in_flight,
        "stable": outcome.stable,
        **{
            name: {f"p{round(share * PERCENT)}": value for share, value in getattr(outcome, name).items()}
            for name in TIMES
        },
        "targets": judgements(demand, outcome),
        "holds": outcome.holds(demand),
    }
