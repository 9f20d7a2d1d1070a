"""What `make fit` found: inverse efficiencies of the terms, and how far predictions of unseen clusters were off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from math import exp, sqrt
from typing import Any, NamedTuple

from bomgen.sizing.prediction.rows import facts, file
from bomgen.sizing.prediction.terms import HIDING, Terms

FILE = "fit.json"
TERMS = Terms._fields
COVERAGES = (50, 90)
"""Percent of unseen clusters that an interval holds."""


class Stack(NamedTuple):
    """A software stack, and how it runs a step."""

    name: str
    kernel: str
    """Of attention."""
    sequence_parallel: bool
    overlapped: bool
    """Collectives of replicas run beside matrix products."""
    messages: int
    """Collectives that the weights of a layer are gathered in."""


@cache
def fit() -> Mapping[str, Any]:
    """The file of the fit."""
    loaded: dict[str, Any] = json.loads(file(FILE))
    return loaded


def stack_names() -> list[str]:
    """The stacks and versions that a plan may name."""
    return sorted(fit()["stack"])


def stack_of(name: str) -> Stack:
    """A stack by its name, or that of one of its versions."""
    found = next(
        each for each in facts()["stacks"].values() if name == each["stack"] or _is_version(name, each["stack"])
    )
    return Stack(
        name,
        str(found["kernel"]),
        bool(found["sequence_parallel"]),
        bool(found["overlapped"]),
        int(found.get("messages", 1)),
    )


def _is_version(name: str, stack: str) -> bool:
    return name.startswith(f"{stack}-") and name[len(stack) + 1 :][:1].isdigit()


def newest_stack(generation: str | None) -> str:
    """The newest stack with rows of a generation; of all, where there is none of that generation."""
    known: list[Mapping[str, Any]] = list(facts()["stacks"].values())
    seen: Mapping[str, list[str]] = fit()["stacks_of_generation"]
    names = seen.get(generation or "", [str(each["stack"]) for each in known])
    years = {str(each["stack"]): int(each["year"]) for each in known}
    return max(names, key=lambda name: (years[name], name))


def inverse_efficiencies(generation: str | None, precision: str, stack: str) -> Terms[float]:
    """Inverse efficiency of each term; of a generation without rows as of an average one."""
    found = fit()
    rows = [found["base"], found["stack"][stack]]
    rows += [
        found[level][name]
        for level, name in (("generation", generation), ("precision", precision))
        if name in found[level]
    ]
    inverse = Terms(*(exp(sum(logs)) for logs in zip(*rows, strict=True)))
    return inverse._replace(launches=min(inverse.launches, *(getattr(inverse, name) for name in HIDING)))


def spread(shares: Terms[float], generation: str | None) -> float:
    """Standard deviation of the log of a step on an unseen cluster, from the shares of its terms."""
    found = fit()["spread"]
    parts = [(found["overall"], found["terms"])]
    if generation not in fit()["generation"]:
        parts.append((found["unseen"]["generation"]["overall"], found["unseen"]["generation"]["terms"]))
    variance = 0.0
    for overall, terms in parts:
        variance += overall**2 + sum((share * each) ** 2 for share, each in zip(shares, terms, strict=True))
    return sqrt(variance)


def factor(moe: bool, coverage: int) -> float:
    """Spreads that an interval reaches to either side."""
    return float(fit()["factors"]["moe" if moe else "dense"][str(coverage)])


def within(moe: bool) -> float:
    """The spread that is left on a cluster whose deviation is known."""
    return float(fit()["within"]["moe" if moe else "dense"])
