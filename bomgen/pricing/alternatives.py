"""Alternatives of a plan with other parts or values: selection of substitute parts, and a check that they are used.

An alternative is the plan calculated again from its source, with other values or with a catalogue in which substitute
parts replace others, so that the connection rules apply to it as to the plan. A substitute that is not on the final
bill is an error, because the comparison would be misleading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.core.diagnostics import PlanErrors, Problem, error_at
from bomgen.core.messages import message, suggestion
from bomgen.core.yaml_source import Source, overlay
from bomgen.plan.commercial_terms import Alternative
from bomgen.plan.types import Phase
from bomgen.pricing.bill import Bill
from bomgen.pricing.bill_line import Line

COMPATIBLE = "compatible"
ALTERNATIVES = ("quote", "alternatives")

FIXED = (
    *("bomgen", "name", "title", "catalog", "templates"),
    *("quote.currency", "quote.language", "quote.alternatives", "quote.customer", "quote.vendor", "quote.date"),
)
"""Keys that an alternative may not set, because results would not be comparable or a quote has them once."""
WHOLE = ("quote", "workload", "cluster", "fabrics")
"""Sections whose keys are set one by one."""
MEDIUM, OF_MEDIUM = "medium", ("module", "fibre")
"""The key for the medium of a kind of link, and the keys for its parts."""

OF_QUOTE = {"firm-estimate"}
"""Rules about the quotation as a whole, whose warnings appear once."""

Instead = Mapping[tuple[str, str], str]
"""Ids of substitute parts, by kind and id of the parts they replace."""


def varied(source: Source, index: int) -> Source:
    """Return the plan's source with the values of one alternative, and without a list of alternatives.

    Setting a medium removes the parts that the plan names for the previous one, unless they are set as well. Raises
    PlanErrors for a key that cannot be set.
    """
    settings = source.data["quote"]["alternatives"][index].get("set") or {}
    for key in settings:
        if key.startswith(FIXED) or key in WHOLE:
            mark = source.key_mark((*ALTERNATIVES, index, "set", key))
            message = f"{key} is the same in every alternative; set other keys"
            raise error_at(mark, message, "set", ".".join(ALTERNATIVES))
    laid = overlay(source, (*ALTERNATIVES, index, "set")) if settings else source
    for key in settings:
        *link, last = key.split(".")
        if last == MEDIUM:
            for part in OF_MEDIUM:
                if ".".join((*link, part)) not in settings:
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
    """Return the substitute parts of an alternative for a bill.

    `cheapest` selects one of several compatible ids of a kind. Raises PlanErrors for parts that are not on the bill or
    not in the catalogue.
    """
    instead: dict[tuple[str, str], str] = {}
    for wanted, substitute in alternative.substitute.items():
        parts = [line for line in bill.lines if line.identity and not line.identity.inline]
        lines = [line for line in parts if line.category == wanted or wanted.lower() in line.names]
        if not lines:
            ids = [line.identity.id for line in bill.lines if line.identity]
            hint = suggestion(wanted.lower(), ids, "specify a category or a part on the bill")
            raise _wrong(alternative, f"no part of the bill is '{wanted}'; {hint}", "unknown-part")
        chosen = {line.identity: _other(alternative, line, substitute, catalog, cheapest) for line in lines}
        instead |= {(identity.kind, identity.id): id for identity, id in chosen.items() if identity and id}
        if not any(chosen.values()):
            message = f"no part in the catalogue `replaces:` {wanted}; add one, or specify the part"
            raise _wrong(alternative, message, "no-compatible")
    return instead


def _other(
    alternative: Alternative,
    line: Line,
    substitute: str,
    catalog: Catalog,
    cheapest: Callable[[Line, Sequence[str]], str],
) -> str | None:
    """Return the id of the substitute for the part of a line; None if the catalogue has no compatible part."""
    if line.identity is None:
        return None
    kind = line.identity.kind
    if substitute == COMPATIBLE:
        fitting = catalog.replacements(kind, {line.identity.id, *line.names})
        return cheapest(line, fitting) if fitting else None
    try:
        return catalog.find_original(kind, substitute).id
    except UnknownPart as error:
        raise _wrong(alternative, str(error), "unknown-part") from None


def unused(alternative: Alternative, instead: Instead, bill: Bill) -> Iterator[Problem]:
    """Yield errors for substitute parts that are not on the bill, because no link or position uses them."""
    there = {(line.identity.kind, line.identity.id) for line in bill.lines if line.identity}
    for (kind, id), substitute in instead.items():
        if (kind, substitute) not in there:
            message = f"{substitute} cannot replace {id}: the cage or the module at the other end does not match"
            yield _problem(alternative, f"{message}; specify another part", "substitute")


def problems_of(variant: Alternative | Phase, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems of an alternative or a phase, marked as such: its errors if there are any, else warnings."""
    errors = [problem for problem in problems if problem.severity == "error"]
    kind = "phase" if isinstance(variant, Phase) else "alternative"
    return [
        problem._replace(message=message(kind, name=variant.name, text=problem.message))
        for problem in errors or problems
    ]


def warnings_of(
    alternative: Alternative | Phase, problems: Sequence[Problem], planned: Sequence[Problem]
) -> tuple[Problem, ...]:
    """Return the warnings of an alternative or a phase that the plan itself does not have."""
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
