"""The prediction coefficients that `make fit` found, the facts about measured rows, and the rows nearest to a run.

The rows that were fitted, and their facts, are in `data/measured/`; `tools/fit` reads them as inputs of the terms.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from math import exp, log2
from typing import Any, NamedTuple

from bomgen.core.resources import content, folder
from bomgen.sizing.prediction.terms import EXPERTS, HIDDEN, HIDING, Terms
from bomgen.sizing.training.states import FULL

ROWS, FACTS, FIT = "training-steps.csv", "facts.json", "fit.json"
SERVING_FACTS, SERVING_FIT = "serving-facts.json", "serving-fit.json"
ALL_GATHERS = 3.0
PLAIN, DEEPEP, OVERLAPPED = "plain", "deepep", "overlapped"
"""How a stack exchanges tokens with experts: one all-to-all, kernels that send a token once per GPU, the same while
another micro-batch computes."""
SENT_ONCE = (DEEPEP, OVERLAPPED)


@cache
def file(name: str) -> bytes:
    """Return a file of the measurements."""
    return content(folder("data") / "measured" / name)


@cache
def load(name: str) -> dict[str, Any]:
    """Return the facts about measured rows that they lack, or what was fitted to them, by file name."""
    loaded: dict[str, Any] = json.loads(file(name))
    return loaded


def numbered_rows(name: str = ROWS) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the raw rows of a file, with their lines."""
    yield from enumerate(csv.DictReader(io.StringIO(file(name).decode("utf-8")), restval=""), start=2)


def adapts(fields: Mapping[str, str]) -> bool:
    """Return whether a row trains adapters and leaves weights frozen."""
    return fields["tuning"] not in ("", FULL)


def family(precision: str) -> str:
    """Return the family of a precision."""
    if precision.startswith("mxfp8") or precision == "fp8-mx":
        return "mxfp8"
    if precision.startswith("fp8"):
        return "fp8"
    return "nvfp4" if precision in ("nvfp4", "fp4") else "16-bit"


def member(moe: bool, model: str) -> str:
    """Return the member of the level of models: each mixture of experts is its own, all dense models are one."""
    return model if moe else "dense"


def generation(gpu: str, facts: str = FACTS) -> str | None:
    """Return the generation of an accelerator by its id, by the facts of a file; None: it has no measurements."""
    generations: dict[str, list[str]] = load(facts)["generations"]
    return next((name for name, ids in generations.items() if gpu in ids), None)


def generation_name(generation: str) -> str:
    """Return the name of a generation as its vendor writes it."""
    return str(load(FACTS)["generation_names"][generation])


def stack_name(stack: Mapping[str, Any]) -> str:
    """Return the name of a stack in plans, with its variant if it has one."""
    return f"{stack['stack']}-{stack['variant']}" if "variant" in stack else str(stack["stack"])


# coefficients --------------------------------------------------------------------------------------------------------


class SoftwareStack(NamedTuple):
    """A software stack, and its effect on a step."""

    name: str
    kernel: str
    """The attention kernel."""
    sequence_parallel: bool
    overlapped: bool
    """Whether collectives of replicas overlap matrix products."""
    messages: int
    """Collectives in which the weights of a layer are gathered."""
    exchange: str
    """How tokens are exchanged with experts; see `docs/training.md`."""


class Members(NamedTuple):
    """What a run is among the measured rows, by level of the fit."""

    generation: str | None
    precision: str
    stack: str
    model: str


def stack_of(name: str) -> SoftwareStack:
    """Return a stack by its name, or that of one of its versions."""
    stacks = load(FACTS)["stacks"].values()
    stack = next(stack for stack in stacks if re.fullmatch(rf"{re.escape(stack_name(stack))}(-[0-9].*)?", name))
    sequence_parallel, overlapped = bool(stack["sequence_parallel"]), bool(stack["overlapped"])
    messages, exchange = int(stack.get("messages", 1)), str(stack.get("exchange", PLAIN))
    return SoftwareStack(name, str(stack["kernel"]), sequence_parallel, overlapped, messages, exchange)


def newest_stack(generation: str | None, moe: bool) -> str:
    """Return the newest stack with rows of a generation and a kind of model, in its newest version.

    Of several as new it is the one with the most rows. Without rows of the kind those of the generation count, without
    rows of the generation all.
    """
    years = {str(stack["stack"]): int(stack["year"]) for stack in load(FACTS)["stacks"].values()}
    measured, rows = load(FIT)["measured"], Counter[str]()
    for kinds in [measured[generation]] if generation in measured else measured.values():
        kind = kind_of_model(moe)
        for steps in [kinds[kind]] if kind in kinds else kinds.values():
            rows.update(steps["stacks"])
    newest = max((name for name in years if name in rows), key=lambda name: (years[name], rows[name]))
    versions = [name for name in rows if re.fullmatch(rf"{re.escape(newest)}-[0-9].*", name)]
    return max(versions, default=newest)


def inverse_efficiencies(members: Members) -> Terms[float]:
    """Return the prediction coefficients: the inverse efficiency of each term.

    A generation or a mixture of experts without rows has those of an average one.
    """
    fitted = load(FIT)
    of_all = sum(fitted[level].get(name, 0.0) for level, name in members._asdict().items())
    of_experts = fitted["experts"].get(members.stack, 0.0)
    logs = zip(Terms._fields, fitted["base"], strict=True)
    inverse = Terms(*(exp(base + of_all + (of_experts if name in EXPERTS else 0.0)) for name, base in logs))
    most = min(getattr(inverse, name) for name in HIDING)
    return inverse._replace(**{name: min(getattr(inverse, name), most) for name in HIDDEN})


def kind_of_model(moe: bool) -> str:
    """Return the kind of a model, as the fit names it."""
    return "moe" if moe else "dense"


# nearest ------------------------------------------------------------------------------------------------------------
# The measured steps nearest to a run, for comparison with its prediction.

NEAREST = 5
OTHER_GENERATION = 3.0
OTHER_KIND = 4.0
OTHER_PRECISION = 1.5
OTHER_TUNING = 2.0
"""Distance of rows of another generation, kind of model, precision or frozen weights, in doublings of the rest."""
COMPARED = ("gpus", "layers", "hidden", "seq", "tp", "pp")


class Nearest(NamedTuple):
    """A measured step near a run."""

    fields: Mapping[str, str]
    distance: float
    """Doublings between the row and the run, over all quantities compared."""


def nearest_steps(
    born: str | None, precision: str, moe: bool, frozen: bool, compared: Mapping[str, float]
) -> list[Nearest]:
    """Return the nearest rows, each model, cluster and split once; `compared` has a number for each of `COMPARED`."""
    nearest: dict[tuple[str, ...], Nearest] = {}
    for _, fields in numbered_rows():
        cluster = load(FACTS)["clusters"].get(fields["cluster"])
        if cluster is None or not fields["iter_s"] or not all(fields[name] for name in COMPARED):
            continue
        distance = sum(abs(log2(float(fields[name]) / compared[name])) for name in COMPARED)
        distance += OTHER_GENERATION * (generation(cluster["gpu"]) != born)
        distance += OTHER_PRECISION * (family(fields["precision"]) != precision)
        distance += OTHER_KIND * ((fields["moe"] == "1") != moe)
        distance += OTHER_TUNING * (adapts(fields) != frozen)
        key = (fields["cluster"], fields["model"])
        if key not in nearest or distance < nearest[key].distance:
            nearest[key] = Nearest(fields, distance)
    return sorted(nearest.values(), key=lambda near: near.distance)[:NEAREST]
