"""The same plan with other parts or values: which parts stand in for which, and whether they did.

An alternative is the plan worked out from its source once more, with other values laid over it or with a catalogue in
which parts replace others, so that the connection rules judge it as they judge the plan. A replacement that is not on
the bill in the end is an error, because the reader would compare with something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.core.diagnostics import PlanErrors, Problem, suggestion
from bomgen.core.messages import message
from bomgen.core.yaml_source import Source, overlay
from bomgen.plan.commercial_terms import Alternative
from bomgen.pricing.bill import Bill
from bomgen.pricing.bill_line import Line

COMPATIBLE = "compatible"
ALTERNATIVES = ("quote", "alternatives")

FIXED = (
    *("bomgen", "name", "title", "catalog", "templates"),
    *("quote.currency", "quote.language", "quote.alternatives", "quote.customer", "quote.vendor", "quote.date"),
)
"""Keys that an alternative may not set: what it could not be compared with, and what no quote has twice."""
WHOLE = ("quote", "workload", "cluster", "fabrics")
"""Keys that are set one by one."""
MEDIUM, OF_MEDIUM = "medium", ("module", "fibre")
"""How a kind of link is built, and what names the parts of that."""

OF_QUOTE = {"firm-estimate"}
"""Rules about the quotation as a whole; what they find is said once."""

Instead = Mapping[tuple[str, str], str]
"""Ids of the parts that stand in for others, by kind and id of these."""


def varied(source: Source, place: int) -> Source:
    """The plan's source with the values of one of its alternatives, and without alternatives of its own.

    A medium that is set takes away the parts that the plan names for the one before, unless they are set as well.
    Raises PlanErrors for a key that nothing can be set at.
    """
    given = source.data["quote"]["alternatives"][place].get("set") or {}
    for key in given:
        if key.startswith(FIXED) or key in WHOLE:
            mark = source.key_mark((*ALTERNATIVES, place, "set", key))
            message = f"{key} is the same in every alternative; set other keys"
            raise PlanErrors([Problem(mark, "error", message, "set", ".".join(ALTERNATIVES))])
    laid = overlay(source, (*ALTERNATIVES, place, "set")) if given else source
    for key in given:
        *link, last = key.split(".")
        if last == MEDIUM:
            for part in OF_MEDIUM:
                if ".".join((*link, part)) not in given:
                    _at(laid.data, link).pop(part, None)
    return drop_alternatives(laid)


def drop_alternatives(source: Source) -> Source:
    """Return the plan's source without its alternatives."""
    quoted, key = ALTERNATIVES
    if key not in (source.data.get(quoted) or {}):
        return source
    kept = {name: value for name, value in source.data[quoted].items() if name != key}
    return source._replace(data={**source.data, quoted: kept})


def _at(data: Any, path: Sequence[str]) -> Any:
    for step in path:
        data = data[int(step) if isinstance(data, list) else step]
    return data


def substitutes(
    alternative: Alternative, bill: Bill, catalog: Catalog, cheapest: Callable[[Line, Sequence[str]], str]
) -> Instead:
    """Which parts stand in for those of a bill.

    `cheapest` chooses from ids of a kind where several are compatible. Raises PlanErrors for parts that are not on the
    bill or not in the catalogue.
    """
    found: dict[tuple[str, str], str] = {}
    for wanted, other in alternative.substitute.items():
        lines = [line for line in bill.lines if line.identity and not line.identity.inline and _is(line, wanted)]
        if not lines:
            raise _wrong(alternative, f"no part of the bill is '{wanted}'; {_hint(wanted, bill)}", "unknown-part")
        others = {line.identity: _other(alternative, line, other, catalog, cheapest) for line in lines}
        found |= {(identity.kind, identity.id): id for identity, id in others.items() if identity and id}
        if not any(others.values()):
            message = f"the catalogue has no part that `replaces:` {wanted}; add one, or name the part"
            raise _wrong(alternative, message, "no-compatible")
    return found


def _is(line: Line, wanted: str) -> bool:
    return line.category == wanted or wanted.lower() in line.names


def _hint(wanted: str, bill: Bill) -> str:
    known = [line.identity.id for line in bill.lines if line.identity]
    return suggestion(wanted.lower(), known, "name a category or a part of it")


def _other(
    alternative: Alternative,
    line: Line,
    other: str,
    catalog: Catalog,
    cheapest: Callable[[Line, Sequence[str]], str],
) -> str | None:
    """The id of what stands in for the part of a line; None where the catalogue has nothing compatible."""
    if line.identity is None:
        return None
    kind = line.identity.kind
    if other == COMPATIBLE:
        fitting = catalog.replacements(kind, {line.identity.id, *line.names})
        return cheapest(line, fitting) if fitting else None
    try:
        return catalog.find_original(kind, other).id
    except UnknownPart as error:
        raise _wrong(alternative, str(error), "unknown-part") from None


def unused(alternative: Alternative, instead: Instead, bill: Bill) -> Iterator[Problem]:
    """Parts that stand in for others and are not on the bill: no link or place takes them."""
    there = {(line.identity.kind, line.identity.id) for line in bill.lines if line.identity}
    for (kind, id), other in instead.items():
        if (kind, other) not in there:
            message = (
                f"{other} cannot take the place of {id}: what it would be plugged into, or its partner, does not fit"
            )
            yield _problem(alternative, f"{message}; name another part", "substitute")


def alternative_problems(alternative: Alternative, problems: Sequence[Problem]) -> list[Problem]:
    """Problems of an alternative, said to be so: its errors where there are any, else its warnings."""
    errors = [problem for problem in problems if problem.severity == "error"]
    return [
        problem._replace(message=message("alternative", name=alternative.name, text=problem.message))
        for problem in errors or problems
    ]


def warnings_of(
    alternative: Alternative, problems: Sequence[Problem], planned: Sequence[Problem]
) -> tuple[Problem, ...]:
    """What is to be said of an alternative that is not said of the plan."""
    said = {(problem.rule, problem.message) for problem in planned}
    of_quote = {problem.rule for problem in planned} & OF_QUOTE
    return tuple(
        problem._replace(mark=alternative.mark)
        for problem in problems
        if (problem.rule, problem.message) not in said and problem.rule not in of_quote
    )


def _wrong(alternative: Alternative, message: str, rule: str) -> PlanErrors:
    return PlanErrors([_problem(alternative, message, rule)])


def _problem(alternative: Alternative, message: str, rule: str) -> Problem:
    return Problem(alternative.mark, "error", message, rule, ".".join(ALTERNATIVES))
