"""The document of a simulated workload: percentiles of its times beside its targets."""

from __future__ import annotations

from math import isinf
from typing import Any, NamedTuple

from bomgen.core.document import Column, Document, Note, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.sizing.serving.capacity import SECONDS_A_MINUTE, Demand
from bomgen.sizing.serving.simulation import PERCENTILES, Outcome

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
    columns = (
        Column("time", word("simulate-time")),
        *(Column(f"p{share:.0%}", f"{share:.0%}", "text") for share in PERCENTILES),
        Column("target", word("simulate-target"), "text"),
        Column("judgement", word("simulate-judgement"), "text"),
    )
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
    table = Table("simulation", "", columns, tuple(rows))
    notes_of = tuple(Note("info", text) for text in notes)
    return Document("", language.code, (Section("simulation", "", tables=(table,), notes=notes_of),))


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
