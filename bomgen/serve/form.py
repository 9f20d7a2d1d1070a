"""The form of ten questions: the answers that a plan holds, and a plan's text with other answers.

A question is a key of the plan, so that form and editor cannot differ. Writing an answer changes that key alone;
comments and other keys stay. The workload is the exception: another purpose is another block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.yaml_edit import NotEditable, set_value
from bomgen.core.yaml_source import read
from bomgen.plan.schema_keys import schemas_at, values_of
from bomgen.serve.engine import text_of
from bomgen.serve.workspace import Refused, Workspace

Data = dict[str, Any]

PURPOSE, WORKLOAD, NONE = "purpose", "workload", "none"
DAYS, SEQUENCE, REQUESTS = 30, 8192, 1000
"""Values of a new block: those of templates/starter.yaml, and a round number of requests."""
PURPOSES: Mapping[str, Mapping[str, Any]] = {
    "training": {"model": "llama-3.1-70b", "tokens": "2T", "target_days": DAYS, "mfu": "40%", "sequence": SEQUENCE},
    "inference": {"model": "llama-3.1-70b", "requests_per_minute": REQUESTS},
}
"""The blocks that a purpose starts with: that of the starter, and the least that a service needs."""
TRAINING, INFERENCE = PURPOSES


class Question(NamedTuple):
    """A question of the form, and the key of its answer."""

    id: str
    path: tuple[str, ...]
    kind: str
    """choice, number or text."""
    purpose: str = ""
    """The purpose that it belongs to; empty for all."""


QUESTIONS = (
    Question("model", (WORKLOAD, TRAINING, "model"), "choice", TRAINING),
    Question("tokens", (WORKLOAD, TRAINING, "tokens"), "text", TRAINING),
    Question("days", (WORKLOAD, TRAINING, "target_days"), "number", TRAINING),
    Question("model", (WORKLOAD, INFERENCE, "model"), "choice", INFERENCE),
    Question("requests", (WORKLOAD, INFERENCE, "requests_per_minute"), "number", INFERENCE),
    Question("gpu", ("cluster", "gpu"), "choice"),
    Question("servers", ("cluster", "servers"), "number"),
    Question("network", ("fabrics", "compute", "switch"), "choice"),
    Question("topology", ("fabrics", "compute", "topology"), "choice"),
    Question("storage", ("storage", "dataset"), "text"),
    Question("power", ("site", "rack", "power"), "text"),
    Question("prices", ("quote", "price_book"), "text"),
    Question("currency", ("quote", "currency"), "text"),
    Question("years", ("operation", "years"), "number"),
)


def form(_workspace: Workspace, request: Mapping[str, Any]) -> Data:
    """Return the questions with the answers of a plan; with `answers` also its text with these answers."""
    text = text_of(request, "text")
    answers = request.get("answers")
    if answers is not None:
        if not isinstance(answers, Mapping):
            raise Refused("`answers` must be an object")
        text = _answered(text, answers)
    try:
        data = read(text, "plan").data
    except PlanErrors:
        raise Refused("the plan is not valid YAML; fix it in the editor first") from None
    return {"text": text, "questions": [*_questions(data if isinstance(data, dict) else {})]}


def _questions(data: Data) -> list[Data]:
    purpose = _purpose(data)
    choices = [{"value": value, "label": value} for value in (*PURPOSES, NONE)]
    asked = [{"id": PURPOSE, "key": WORKLOAD, "kind": "choice", "title": "", "value": purpose, "choices": choices}]
    for question in QUESTIONS:
        if question.purpose in ("", purpose):
            schemas = schemas_at(question.path)
            words = values_of(schemas) if question.kind == "choice" else ()
            title = next((str(schema["title"]) for schema in schemas if "title" in schema), "")
            asked.append(
                {
                    "id": question.id,
                    "key": ".".join(question.path),
                    "kind": question.kind,
                    "title": title,
                    "value": _value(data, question.path),
                    "choices": [{"value": word, "label": word} for word in dict.fromkeys(words)],
                }
            )
    return asked


def _purpose(data: Data) -> str:
    workload = data.get(WORKLOAD)
    named = [*workload] if isinstance(workload, dict) else []
    return str(named[0]) if named else NONE


def _value(data: Any, path: tuple[str, ...]) -> Any:
    """Return the answer as a number or text, None without one; what the form cannot show is left to the editor."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    if data is None or isinstance(data, int):
        return data
    return str(data) if not isinstance(data, dict | list) else None


def _answered(text: str, answers: Mapping[str, Any]) -> str:
    """Return the text with answers by dotted key, or by `purpose`. Raises Refused where one cannot be written."""
    keys = {".".join(question.path): question.path for question in QUESTIONS}
    for key, answer in answers.items():
        if key != PURPOSE and key not in keys:
            raise Refused(f"the form has no question '{key}'")
        if answer in (None, "") or isinstance(answer, dict | list):
            raise Refused(f"`{key}` needs a number or text; remove the key in the editor")
        try:
            if key != PURPOSE:
                text = set_value(text, keys[key], _as_typed(answer))
            elif answer in PURPOSES and answer != _purpose(read(text, "plan").data):
                text = set_value(text, (WORKLOAD,), {answer: dict(PURPOSES[answer])})
        except NotEditable as error:
            raise Refused(f"{error}; edit it by hand") from None
        except PlanErrors:
            raise Refused("the plan is not valid YAML; fix it in the editor first") from None
    return text


def _as_typed(answer: Any) -> Any:
    """Return a text that is a whole number as one."""
    return int(answer) if isinstance(answer, str) and answer.isascii() and answer.isdecimal() else answer
