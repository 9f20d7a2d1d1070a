"""The form: the answers that a plan holds, and a plan's text with other answers.

A question is a key of the plan, so that form and editor cannot differ. Writing an answer changes that key alone, and an
empty one removes it; comments and other keys stay. There are three exceptions: another purpose is another block of the
workload, a server that does not have a chosen GPU goes, and support is a charge with years and a share, or none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.yaml_edit import NotEditable, append_item, remove_item, set_value
from bomgen.core.yaml_source import read
from bomgen.plan.schema_keys import schemas_at, title_of, values_of
from bomgen.reading.amounts_and_dates import PERCENT
from bomgen.serve.workspace import Refused, Request, Workspace, text_of

Data = dict[str, Any]

PURPOSE, WORKLOAD, NONE = "purpose", "workload", "none"
DAYS, SEQUENCE = 30, 8192
REQUESTS, PROMPT, OUTPUT = 1000, 1000, 500
"""Values of a new block: those of templates/starter.yaml, and round numbers for a service."""
PURPOSES: Mapping[str, Mapping[str, Any]] = {
    "training": {"model": "llama-3.1-70b", "tokens": "2T", "target_days": DAYS, "mfu": "40%", "sequence": SEQUENCE},
    "inference": {
        "model": "llama-3.1-70b",
        "requests_per_minute": REQUESTS,
        "prompt_tokens": PROMPT,
        "output_tokens": OUTPUT,
    },
}
"""The blocks that a purpose starts with: that of the starter, and the least that a service needs."""
TRAINING, INFERENCE = PURPOSES
GPU, SERVER = ("cluster", "gpu"), ("cluster", "server")
CHARGES, SUPPORT = ("quote", "charges"), "support"
SUPPORT_CHARGE: Mapping[str, Any] = {"kind": SUPPORT, "years": 3}
"""A new charge, until its years are others: a contract of three years; its share is an assumption until it is given."""
YEARS, SHARE = "years", "share"
PRICED_BY = {"price", "part", "cost"}
"""What a charge may have in place of a share."""
MOST_DIGITS = 30
"""Digits of an answer that is taken as a number."""
_NUMBER = re.compile(r"[0-9]+([.][0-9]+)?")
INVALID = "the plan is not valid YAML; fix it in the editor first"


class Question(NamedTuple):
    """A question of the form, and the key of its answer."""

    id: str
    path: tuple[str, ...]
    kind: str
    """choice, number, percent or text."""
    purpose: str = ""
    """The purpose that it belongs to; empty for all."""


QUESTIONS = (
    Question("model", (WORKLOAD, TRAINING, "model"), "choice", TRAINING),
    Question("tokens", (WORKLOAD, TRAINING, "tokens"), "text", TRAINING),
    Question("days", (WORKLOAD, TRAINING, "target_days"), "number", TRAINING),
    Question("model", (WORKLOAD, INFERENCE, "model"), "choice", INFERENCE),
    Question("requests", (WORKLOAD, INFERENCE, "requests_per_minute"), "number", INFERENCE),
    Question("gpu", GPU, "choice"),
    Question("server", SERVER, "choice"),
    Question("gpus", ("cluster", "gpus"), "number"),
    Question("servers", ("cluster", "servers"), "number"),
    Question("network", ("fabrics", "compute", "switch"), "choice"),
    Question("topology", ("fabrics", "compute", "topology"), "choice"),
    Question("storage", ("storage", "dataset"), "text"),
    Question("power", ("site", "rack", "power"), "text"),
    Question("prices", ("quote", "price_book"), "text"),
    Question("currency", ("quote", "currency"), "text"),
    Question("years", ("operation", "years"), "number"),
)
OF_SUPPORT = (
    Question("support", (*CHARGES, SUPPORT, YEARS), "number"),
    Question("support-share", (*CHARGES, SUPPORT, SHARE), "percent"),
)
"""Questions about the charge of this kind, whose kind stands in the path in place of its position."""


def form(_workspace: Workspace, request: Request) -> Data:
    """Return the questions with the answers of a plan; with `answers` also its text with these answers."""
    text = text_of(request, "text")
    answers = request.get("answers")
    if answers is not None:
        if not isinstance(answers, Mapping):
            raise Refused("`answers` must be an object")
        text = _answered(text, answers)
    return {"text": text, "questions": _questions(data_of(text))}


def data_of(text: str) -> Data:
    """Return the data of a plan; none if it is not a mapping. Raises Refused for invalid YAML."""
    try:
        data = read(text, "plan").data
    except PlanErrors:
        raise Refused(INVALID) from None
    return data if isinstance(data, dict) else {}


def _questions(data: Data) -> list[Data]:
    purpose = _purpose(data)
    choices = [{"value": value, "label": value} for value in (*PURPOSES, NONE)]
    asked: list[Data] = [
        {"id": PURPOSE, "key": WORKLOAD, "kind": "choice", "title": "", "value": purpose, "choices": choices}
    ]
    charge = _support(data)[1]
    for question in (*QUESTIONS, *OF_SUPPORT):
        if question.purpose in ("", purpose):
            if question in OF_SUPPORT:
                key = question.path[-1]
                schemas, value = schemas_at((*CHARGES, None, key)), charge.get(key)
                held = key == SHARE and bool(charge.keys() & PRICED_BY)
            else:
                schemas, value = schemas_at(question.path), value_at(data, question.path)
                held = isinstance(value, dict | list)
            words = values_of(schemas) if question.kind == "choice" else ()
            asked.append(
                {
                    "id": question.id,
                    "key": ".".join(question.path),
                    "kind": question.kind,
                    "title": title_of(schemas),
                    "value": None if held else _shown(value, question.kind),
                    "held": held,
                    "choices": [{"value": word, "label": word} for word in dict.fromkeys(words)],
                }
            )
    return asked


def _shown(value: Any, kind: str) -> Any:
    """Return a plain value as it is typed; numbers of a plan are fractions."""
    if kind == "percent" and isinstance(value, int | Fraction):
        return f"{float(PERCENT * value):g}%"
    if isinstance(value, int | None):
        return value
    return f"{float(value):g}" if isinstance(value, Fraction) else str(value)


def _purpose(data: Data) -> str:
    workload = data.get(WORKLOAD)
    named = [*workload] if isinstance(workload, dict) else []
    return str(named[0]) if named else NONE


def value_at(data: Any, path: tuple[str, ...]) -> Any:
    """Return the value at a path of a plan's data; None where there is none."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _answered(text: str, answers: Mapping[str, Any]) -> str:
    """Return the text with answers by dotted key, or by `purpose`. Raises Refused where one cannot be written."""
    keys = {".".join(question.path): question.path for question in QUESTIONS}
    support = {".".join(question.path): question.path for question in OF_SUPPORT}
    for key, answer in answers.items():
        if key != PURPOSE and key not in keys and key not in support:
            raise Refused(f"the form has no question '{key}'")
        if isinstance(answer, dict | list):
            raise Refused(f"`{key}` needs a number or text")
        try:
            if key == PURPOSE:
                text = _for_purpose(text, str(answer))
            elif key in support:
                text = _with_support(text, support[key][-1], answer)
            elif answer in (None, ""):
                text = without(text, keys[key])
            else:
                text = set_value(text, keys[key], _as_typed(answer))
                text = _with_fitting_server(text) if keys[key] == GPU else text
        except NotEditable as error:
            raise Refused(f"{error}; edit it by hand") from None
        except PlanErrors:
            raise Refused(INVALID) from None
    return text


def _for_purpose(text: str, purpose: str) -> str:
    """Return the text with the workload of a purpose, unless it has one."""
    data = read(text, "").data
    if not isinstance(data, dict):
        raise Refused(INVALID)
    if purpose == _purpose(data):
        return text
    if purpose not in PURPOSES:
        return without(text, (WORKLOAD,))
    text = set_value(text, (WORKLOAD, purpose), dict(PURPOSES[purpose]))
    for other in read(text, "").data[WORKLOAD].keys() - {purpose}:
        text = remove_item(text, (WORKLOAD, other))
    return text


def _with_support(text: str, key: str, answer: Any) -> str:
    """Return the text with years or share of its support; an empty answer removes the charge."""
    data = read(text, "").data
    at, charge = _support(data)
    charges = value_at(data, CHARGES) or []
    if answer in (None, ""):
        if key not in charge:
            return text
        return remove_item(text, (*CHARGES, at)) if len(charges) > 1 else without(text, CHARGES)
    value = f"{answer}%" if key == SHARE and not str(answer).strip().endswith("%") else _as_typed(answer)
    if charge:
        return set_value(text, (*CHARGES, at, key), value)
    added = {**SUPPORT_CHARGE, key: value}
    return append_item(text, CHARGES, added) if charges else set_value(text, CHARGES, [added])


def _support(data: Any) -> tuple[int, Mapping[str, Any]]:
    """Return the position of the first charge for support and the charge; an empty one behind the last without one."""
    charges = value_at(data, CHARGES)
    charges = charges if isinstance(charges, list) else []
    found = (
        (at, charge) for at, charge in enumerate(charges) if isinstance(charge, dict) and charge.get("kind") == SUPPORT
    )
    return next(found, (len(charges), {}))


def _with_fitting_server(text: str) -> str:
    """Return the text without a server that has another GPU; the one that is usual for the GPU is then taken."""
    data, catalog = read(text, "").data, Catalog()
    server, gpu = value_at(data, SERVER), value_at(data, GPU)
    try:
        fits = not isinstance(server, str) or catalog.find("server", server).value("gpu") == catalog.find("gpu", gpu).id
    except PlanErrors:
        return text
    return text if fits else without(text, SERVER)


def without(text: str, path: tuple[str, ...]) -> str:
    """Return the text without a key, and without the mapping that would be empty without it."""
    data = read(text, "").data
    holder = value_at(data, path[:-1])
    if not isinstance(holder, dict) or path[-1] not in holder:
        return text
    while len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return remove_item(text, path)


def _as_typed(answer: Any) -> Any:
    """Return a text that is a number as one."""
    if not isinstance(answer, str) or len(answer) > MOST_DIGITS or not _NUMBER.fullmatch(answer):
        return answer
    return Decimal(answer) if "." in answer else int(answer)
