"""The form: the answers that a plan holds, a plan's text with other answers, and searches over its keys.

A question is a key of the plan, so that form and editor cannot differ. Writing an answer changes that key alone, and an
empty one removes it; comments and other keys stay. There are eight exceptions: another purpose is another block of the
workload, and a cluster of a fixed size has a size; a size takes the place of another one and of a bound, a bound that
of a size; a server that does not have a chosen GPU goes; a storage system gets a network; support is a charge with
years and a share, or none; a second phase follows a first one; servers that exist and are extended are groups
of the cluster; and the first answer to an empty text begins a plan with a quote in the language of the page. Blocks
that an answer begins have comments in that language, from the descriptions in the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.core.diagnostics import PlanErrors, nearest
from bomgen.core.language import Language
from bomgen.core.messages import ENGLISH, message, unknown
from bomgen.core.resources import folder
from bomgen.core.yaml_edit import CommentOn, NotEditable, append_item, remove_item, set_value
from bomgen.core.yaml_source import Path, own, read, value_at
from bomgen.documents.offers import Offer, offers_table
from bomgen.plan.schema import PHASES, Declaration, catalog_ids, declaration_at
from bomgen.plan.search_space import DEFAULT_MINIMISE, LARGER_IS_BETTER, MEASURES, SOLD
from bomgen.plan.search_space import KEY as SEARCH_KEY
from bomgen.pricing.price_book import INDICATIVE
from bomgen.reading.cells import PERCENT
from bomgen.serve.calls import Data, Refused, Request, Workspace, language_of, plan_of
from bomgen.workflow.catalog_listing import part_descriptions
from bomgen.workflow.inputs import source_of
from bomgen.workflow.starters import (
    DEFAULT,
    STARTER_NAME,
    USUAL_GPU,
    Inquiry,
    answer_inquiry,
    comments_in,
    inquired,
    nearest_name,
    server_of,
)

INVALID = "refused-no-yaml"
"""The message about text that cannot be read."""


def set_values(_workspace: Workspace, request: Request) -> Data:
    """Return the text of a plan with values set by dotted key, such as those of a design that was picked.

    Comments and all other keys stay as they are. A value that is text is read as YAML. A server comes with its GPU.
    """
    values = dict(request["set"])
    with suppress(UnknownPart):
        server = Catalog().find("server", str(values.get(".".join(SERVER))))
        values = {".".join(GPU): server.value("gpu")} | values
    return {"text": with_values(request["text"], values)}


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Return the text of a plan with values by dotted key. Raises Refused where one cannot be set alone."""
    for key, value in values.items():
        try:
            data = read(f"[{value}]", key).data[0] if isinstance(value, str) else value
            text = set_value(text, tuple(int(step) if step.isdecimal() else step for step in key.split(".")), data)
        except NotEditable as error:
            raise Refused(f"{error}; edit it by hand") from None
        except (LookupError, ValueError):
            raise Refused(message("refused-value", key=key)) from None
    return text


def without(text: str, path: Path) -> str:
    """Return the text without a key, and without the mapping that would be empty without it."""
    data = read(text, "").data
    holder = value_at(data, path[:-1])
    if not isinstance(holder, dict) or path[-1] not in holder:
        return text
    while len(path) > 1 and len(value_at(data, path[:-1])) == 1:
        path = path[:-1]
    return remove_item(text, path)


def data_of(text: str) -> Data:
    """Return the data of a plan; none if it is not a mapping. Raises Refused for invalid YAML."""
    try:
        data = read(text, "plan").data
    except PlanErrors:
        raise Refused(message(INVALID)) from None
    return data if isinstance(data, dict) else {}


PURPOSE, WORKLOAD, FABRICS, NONE = "purpose", "workload", "fabrics", "none"
FILE = "page-questions.yaml"
GPU, SERVER, SERVERS = ("cluster", "gpu"), ("cluster", "server"), ("cluster", "servers")
BOUNDS = ("cluster", "power"), ("cluster", "budget")
"""What the largest cluster has to fit within."""
SIZES = SERVERS, ("cluster", "gpus"), *BOUNDS
STORAGE, STORAGE_NETWORK = ("storage", "servers"), ("fabrics", "storage")
EXTEND, EXISTING, GROUPS = "extend", "existing", ("cluster", "groups")
INQUIRY = "inquiry"
"""The group of questions that only inquiries ask."""
FIRST_SERVERS = 4
"""The servers of a fixed size: those of a scalable unit."""
CHARGES, SUPPORT = ("quote", "charges"), "support"
SUPPORT_CHARGE: Mapping[str, Any] = {"kind": SUPPORT, "years": 3}
"""A new charge, until its years are others: a contract of three years; its share is an assumption until it is given."""
SHARE = "share"
PRICED_BY = {"price", "part", "cost"}
"""What a charge may have in place of a share."""
USUAL_CURRENCY = "USD"
"""The currency of a quote whose plan names none, a stated assumption (schemas/plan.schema.json)."""
PARTS = "parts"
"""The kind of a question about quantities by part."""
MOST_DIGITS = 30
"""Digits of an answer that is taken as a number."""
_NUMBER = re.compile(r"[0-9]+([.][0-9]+)?")
_PARTS = re.compile(rf"([0-9]{{1,{MOST_DIGITS}}}) (?:[x×] )?(.+)")
_COMMAS = re.compile("[,，、]")


NETWORK_WORDS = (DEFAULT, NONE)
"""What a network may be besides a mapping: that of the platform, or none."""


AHEAD = (PHASES, "0", "ahead")
NEW_PHASES = ({"name": "phase-1"}, {"name": "phase-2"})
"""The phases of a plan that gets a second one: the first is the plan as it is."""


class Question(NamedTuple):
    """A question of the form, and the key of its answer, as data/page-questions.yaml declares it."""

    id: str
    path: tuple[str, ...]
    kind: str
    group: str
    proposed: tuple[str, ...] = ()
    title: str = ""
    """What is asked, where that is not the title of the key in the schema."""

    @property
    def purpose(self) -> str:
        """Return the purpose that it belongs to; empty for all."""
        return self.path[1] if self.path[0] == WORKLOAD else ""


QUOTE, LANGUAGE = "quote", "language"
NUMBER = (QUOTE, "number")
PRICE_BOOK, DATE, CURRENCY = (QUOTE, "price_book"), (QUOTE, "date"), (QUOTE, "currency")
RATE = (QUOTE, "exchange", USUAL_CURRENCY, "rate")
"""The rate of the currency that most prices are in; one that is answered has the date of the quote."""
_DECLARED = own(folder("data") / FILE, FILE).data
PURPOSES: Mapping[str, Mapping[str, Any]] = _DECLARED["purposes"]
GOALS: Mapping[str, Mapping[str, Sequence[str]]] = _DECLARED["goals"]
QUESTIONS = tuple(
    Question(
        entry["id"],
        tuple(entry["key"].split(".")),
        entry["kind"],
        group,
        tuple(entry.get("proposed", ())),
        entry.get("title", ""),
    )
    for group, entries in _DECLARED["questions"].items()
    for entry in entries
)
OF_SUPPORT = frozenset(question for question in QUESTIONS if question.path[: len(CHARGES)] == CHARGES)


def form(workspace: Workspace, request: Request) -> Data:
    """Return the questions with the answers of a plan; with `answers` also its text with these answers.

    With a `goal` the questions are those of an inquiry, which has prices and any GPU to begin with.
    """
    text, goal = request["text"], request.get("goal")
    answers = request.get("answers")
    if goal is not None and goal not in GOALS:
        raise Refused(unknown("goal", goal, GOALS))
    if goal and not text:
        purpose = next(iter(GOALS[goal]))
        answers = {PURPOSE: purpose, ".".join(PRICE_BOOK): INDICATIVE, ".".join(GPU): "", **(answers or {})}
    if answers is not None:
        former = _servers_there(data_of(text))
        name = nearest_name(str(request.get("path"))) or STARTER_NAME
        words, begun = language_of(request), not text.strip()
        text = _answered(text, answers, name, words)
        if begun and text:
            text = set_value(text, NUMBER, workspace.next_number(), comments_in(words))
        if goal and answers.get(PURPOSE) in PURPOSES:  # which has the size that its workload needs
            for size in SIZES:
                text = without(text, size)
        if goal == EXTEND or (former and former == value_at(data_of(text), GROUPS)):
            text = _beside_servers(text, former)
    questions = _questions(data_of(text), workspace.price_books(request["path"]) if "path" in request else ())
    shown = [question for question in questions if question["group"] != INQUIRY]
    return {"text": text, "questions": _of_inquiry(GOALS[goal], questions) if goal else shown}


def _of_inquiry(purposes: Mapping[str, Sequence[str]], questions: Sequence[Data]) -> list[Data]:
    asked = {question["id"]: question for question in questions}
    purpose = asked[PURPOSE]
    purpose["choices"] = [choice for choice in purpose["choices"] if choice["value"] in purposes]
    return [asked[id] for id in purposes.get(purpose["value"], ())]


def _questions(data: Data, books: Sequence[str]) -> list[Data]:
    purpose = _purpose(data)
    choices = [{"value": value, "label": value} for value in (*PURPOSES, NONE)]
    asked: list[Data] = [
        {
            **{"id": PURPOSE, "key": WORKLOAD, "kind": "choice", "group": WORKLOAD, "title": "", "held": False},
            **{"value": purpose if data else None, "default": None, "choices": choices, "unit": ""},
        }
    ]
    charge = _support(data)[1]
    for question in QUESTIONS:
        if question.purpose in ("", purpose):
            if question in OF_SUPPORT:
                key = question.path[-1]
                declared, value = declaration_at((*CHARGES, None, key)), charge.get(key)
                held = key == SHARE and bool(charge.keys() & PRICED_BY)
            else:
                declared = declaration_at([None if step.isdecimal() else step for step in question.path])
                value = value_at(data, _path_of(question, data))
                held = isinstance(value, dict | list) and question.kind != PARTS
            words = (*question.proposed, *(books if question.path == PRICE_BOOK else ()))
            if question.path == AHEAD:
                words = tuple(_paths_ahead(data))
                if not words:
                    continue
            if question.path == SERVER:  # those with the GPU of the plan, the usual one first; all for an unknown GPU
                try:
                    usual, rest = server_of(str(value_at(data, GPU))) or ("", ())
                    words = tuple(filter(None, (usual, *rest)))
                except UnknownPart:
                    words = tuple(declaration_at(SERVER).words)
            elif question.kind == "choice" and not words:
                words = tuple(declared.words)
            asked.append(
                {
                    "id": question.id,
                    "key": ".".join(question.path),
                    "kind": question.kind,
                    "group": question.group,
                    "title": question.title or declared.title,
                    "value": None if held else _shown(value, question.kind),
                    "held": held,
                    "default": _default(declared, question.kind),
                    "unit": declared.unit if question.kind == "number" else "",
                    "choices": _choices(words, declared.kinds),
                }
            )
    return asked


def _paths_ahead(data: Data) -> Iterator[str]:
    """Yield what the first of several phases may buy ahead: fabrics, the spines of those described, and racks."""
    fabrics = data.get(FABRICS) if data.get(PHASES) else None
    if isinstance(fabrics, dict):
        for name, fabric in fabrics.items():
            yield from (f"{FABRICS}.{name}", f"{FABRICS}.{name}.spine")[: 1 + isinstance(fabric, dict)]
        yield from ("site.rack",) if data.get("site") else ()


def _choices(words: Iterable[str], kinds: Iterable[str]) -> list[Data]:
    """Return words to choose from; a part or a model has its name and what tells it apart."""
    parts = {id: ": ".join(described) for kind in kinds for id, described in part_descriptions(kind).items()}
    return [{"value": word, "label": parts.get(word, word)} for word in dict.fromkeys(words)]


def _path_of(question: Question, data: Data) -> Path:
    """Return the path of an answer: a party may be a mapping with a name, and a list has positions."""
    named = question.kind == "party" and isinstance(value_at(data, question.path), dict)
    return tuple(int(step) if step.isdecimal() else step for step in (*question.path, *(["name"] if named else [])))


def _default(declared: Declaration, kind: str) -> Any:
    """Return what applies where a plan lacks a key, as it would be typed; None if that depends on the rest."""
    value = declared.default
    if declared.assumption:
        value = Catalog().find("assumption", declared.assumption).value("value")
    return None if isinstance(value, dict | list) else _shown(value, kind)


def _shown(value: Any, kind: str) -> Any:
    """Return a plain value as it is typed; numbers of a plan are fractions."""
    if kind == PARTS and isinstance(value, dict):
        return ", ".join(f"{count} {part}" for part, count in value.items())
    if kind == "percent" and isinstance(value, int | Fraction):
        return f"{float(PERCENT * value):g}%"
    if isinstance(value, int | None):
        return value
    return f"{float(value):g}" if isinstance(value, Fraction) else str(value)


def _purpose(data: Data) -> str:
    workload = data.get(WORKLOAD)
    named = [*workload] if isinstance(workload, dict) else []
    return str(named[0]) if named else NONE


def _answered(text: str, answers: Mapping[str, Any], name: str, words: Language) -> str:
    """Return the text with answers by dotted key, or by `purpose`; an empty one begins a plan of this name.

    Raises Refused where an answer cannot be written.
    """
    comment_on = comments_in(words)
    asked = {".".join(question.path): question for question in QUESTIONS}
    for key, answer in answers.items():
        if key != PURPOSE and key not in asked:
            raise Refused(f"the form has no question '{key}'")
        try:
            data = read(text, "").data
            if data is None:
                comments = f"{text.rstrip()}\n\n" if text.strip() else ""
                quote = (
                    {}
                    if words.code == ENGLISH
                    else {LANGUAGE: words.code, **_DECLARED["currencies"].get(words.code, {})}
                )
                inquiry = Inquiry({"gpu": USUAL_GPU, "servers": FIRST_SERVERS}, {}, quote)
                text = comments + inquired(name, inquiry, words=words)
                text = without(text, SERVERS) if key == PURPOSE and answer in PURPOSES else text
            elif not isinstance(data, dict):
                raise Refused(message(INVALID))
            if key == PURPOSE:
                text = _for_purpose(text, str(answer), comment_on)
            else:
                text = _with_answer(text, asked[key], answer, comment_on)
        except NotEditable as error:
            raise Refused(f"{error}; edit it by hand") from None
        except PlanErrors:
            raise Refused(message(INVALID)) from None
    return text


def _with_answer(text: str, question: Question, answer: Any, comment_on: CommentOn) -> str:
    if question.kind == "percent" and str(answer or "").strip():
        answer = f"{str(answer).strip().removesuffix('%').strip()}%"
    if question in OF_SUPPORT:
        return _with_support(text, question.path[-1], answer, comment_on)
    path, data = question.path, read(text, "").data
    if path[0] == PHASES:
        return _with_phase(text, _path_of(question, data), answer)
    if answer in (None, ""):
        above = value_at(data, path[:-1])
        if len(path) > len(STORAGE_NETWORK) and path[0] == FABRICS and [*(above or ())] == [path[-1]]:
            return set_value(text, path[:-1], DEFAULT)
        return without(text, path)
    if question.kind == PARTS:
        return _with_parts(text, path, str(answer), comment_on)
    value = _as_typed(answer) if question.kind in ("number", "choice") else str(answer)
    if value_at(data, path[:-1]) in NETWORK_WORDS:
        return set_value(text, path[:-1], {path[-1]: value})
    if path == RATE:
        if not (date := value_at(data, DATE)):
            raise Refused(message("refused-rate"))
        return set_value(text, path[:-1], {path[-1]: value, "date": str(date)}, comment_on)
    if path == CURRENCY and value_at(data, path) not in (None, value):
        text = without(text, RATE[:-1])
    text = set_value(text, _path_of(question, data), value, comment_on)
    if path == STORAGE and not value_at(data, STORAGE_NETWORK):
        text = set_value(text, STORAGE_NETWORK, DEFAULT)
    if path in SIZES:
        for other in SIZES:
            if other != path and not {path, other} <= {*BOUNDS}:
                text = without(text, other)
    return _with_fitting_server(text) if path == GPU else text


def _with_phase(text: str, path: Path, answer: Any) -> str:
    """Return the text with a key of a second phase; one that has only a name goes, and the first one with it."""
    phases = value_at(read(text, "").data, (PHASES,)) or []
    if answer in (None, ""):
        text = without(text, path)
        later = value_at(read(text, "").data, (PHASES,)) or []
        return without(text, (PHASES,)) if [{*phase} - {*AHEAD} for phase in later] == [{"name"}] * 2 else text
    text = text if len(phases) > 1 else set_value(text, (PHASES,), [*NEW_PHASES])
    return set_value(text, path, _as_typed(answer))


def _with_parts(text: str, path: Path, answer: str, comment_on: CommentOn) -> str:
    """Return the text with quantities by part such as `8 dgx-h100, 2 qm9700`. Raises Refused for another answer."""
    former = value_at(read(text, "").data, path) or {}
    parts = dict[str, int]()
    for named in _COMMAS.split(answer):
        if not (match := _PARTS.fullmatch(named.strip())):
            raise Refused(message("refused-parts"))
        parts[match[2]] = int(match[1])
        text = set_value(text, (*path, match[2]), parts[match[2]], lambda at: comment_on(at) if at == path else "")
    for part in former.keys() - parts:
        text = remove_item(text, (*path, part))
    return text


def _servers_there(data: Data) -> list[Data]:
    """Return the servers among the existing equipment as groups of a cluster."""
    existing, catalog, groups = data.get(EXISTING), Catalog(), list[Data]()
    for name, count in existing.items() if isinstance(existing, dict) else ():
        with suppress(UnknownPart):
            part = catalog.find_part(str(name))
            if part.kind == SERVER[-1]:
                groups.append({"name": part.id, "server": part.id, "servers": count})
    return groups


def _beside_servers(text: str, former: Sequence[Data]) -> str:
    """Return the text with the servers that exist as groups, and with the first of them to be added if nothing else is.

    `former` are those of the text before. Raises Refused for equipment that the catalogue does not have.
    """
    data = data_of(text)
    existing = data.get(EXISTING)
    for name in existing if isinstance(existing, dict) else ():
        try:
            Catalog().find_part(str(name))
        except UnknownPart:
            close = nearest(str(name), [*catalog_ids("server"), *catalog_ids("switch")])
            raise Refused(message("refused-part", part=str(name), near=", ".join(close) or "–")) from None
    if not (groups := _servers_there(data)):
        return without(text, GROUPS)
    if not value_at(data, GPU) and value_at(data, SERVER) in (None, *(group["server"] for group in former)):
        text = set_value(text, SERVER, groups[0]["server"])
    return set_value(text, GROUPS, groups)


def _for_purpose(text: str, purpose: str, comment_on: CommentOn) -> str:
    """Return the text with the workload of a purpose, unless it has one."""
    data = read(text, "").data
    if purpose == _purpose(data):
        return text
    if purpose not in PURPOSES:
        sized = any(value_at(data, size) for size in SIZES)
        return without(text if sized else set_value(text, SERVERS, FIRST_SERVERS), (WORKLOAD,))
    text = set_value(text, (WORKLOAD, purpose), dict(PURPOSES[purpose]), comment_on)
    for former in read(text, "").data[WORKLOAD].keys() - {purpose}:
        text = remove_item(text, (WORKLOAD, former))
    return text


def _with_support(text: str, key: str, answer: Any, comment_on: CommentOn) -> str:
    """Return the text with years or share of its support; without years there is no charge."""
    data = read(text, "").data
    at, charge = _support(data)
    charges = value_at(data, CHARGES) or []
    if answer in (None, ""):
        if key not in charge:
            return text
        if key == SHARE:
            return remove_item(text, (*CHARGES, at, key))
        return remove_item(text, (*CHARGES, at)) if len(charges) > 1 else without(text, CHARGES)
    value = answer if key == SHARE else _as_typed(answer)
    if charge:
        return set_value(text, (*CHARGES, at, key), value)
    added = {**SUPPORT_CHARGE, key: value}
    return append_item(text, CHARGES, added) if charges else set_value(text, CHARGES, [added], comment_on)


def _support(data: Any) -> tuple[int, Mapping[str, Any]]:
    """Return the position of the first charge for support, and the charge; without one, the end and an empty one."""
    charges = value_at(data, CHARGES)
    charges = charges if isinstance(charges, list) else []
    contracts = (
        (at, charge) for at, charge in enumerate(charges) if isinstance(charge, dict) and charge.get("kind") == SUPPORT
    )
    return next(contracts, (len(charges), {}))


def _with_fitting_server(text: str) -> str:
    """Return the text without a server for another GPU; the usual server of the GPU then applies."""
    data, catalog = read(text, "").data, Catalog()
    server, gpu = value_at(data, SERVER), value_at(data, GPU)
    try:
        fits = not isinstance(server, str) or catalog.find("server", server).value("gpu") == catalog.find("gpu", gpu).id
    except UnknownPart:
        return text
    return text if fits else without(text, SERVER)


def _as_typed(answer: Any) -> Any:
    if not isinstance(answer, str) or len(answer) > MOST_DIGITS or not _NUMBER.fullmatch(answer):
        return answer
    return Decimal(answer) if "." in answer else int(answer)


# inquiries -----------------------------------------------------------------------------------------------------------


def offers(workspace: Workspace, request: Request) -> Data:
    """Return the designs that answer an inquiry, and those with other GPUs, each with its plan.

    Raises PlanErrors if nothing can be built for it.
    """
    answer, words = answer_inquiry(plan_of(workspace, request)), language_of(request)
    [_, *others] = _offers_data((answer.offers[0], *answer.others), request["text"], words)
    return {
        "offers": _offers_data(answer.offers, request["text"], words),
        "recommended": answer.recommended,
        "others": others,
    }


def _offers_data(designs: Sequence[Offer], text: str, words: Language) -> list[Data]:
    table = offers_table(designs, words)
    return [
        {
            "title": column.title,
            "text": with_values(text, design.changes),
            "rows": [
                [row.id, words.cell(row.cells[0]), *words.figure(row.cells[at])]
                for row in table.rows
                if row.cells[at].value is not None
            ],
        }
        for at, (design, column) in enumerate(zip(designs, table.columns[1:], strict=True), 1)
    ]


# searches -------------------------------------------------------------------------------------------------------------
# What may vary and be compared, and the designs of the front.

SERVICE = ("cost", "requests", "ttft")
"""The measures that designs of a service are compared by, until others are chosen."""
MEASURE = "search-{name}"
"""The word for a measure."""
SEARCHED = tuple(("fabrics", "compute", key) for key in ("oversubscription", "tiers", "gpus_per_nic", "planes"))
"""Keys that are proposed beside those of the form and of the plan."""
NAMES, APART = ("bomgen", "name", "title", "catalog", "extends"), ("quote", SEARCH_KEY)
"""Keys of a plan that no design depends on, and blocks of such keys."""


def space(_workspace: Workspace, request: Request) -> Data:
    """Return what a search of a plan may vary and compare, and its own search: the keys of the form and of the plan.

    A key has its value in the plan, choices if it takes words, and the id of the first question that asks for it, if
    any. Without a search of its own a plan is searched over the servers that are sold, with their GPUs.
    """
    words, data = language_of(request), data_of(request["text"])
    asked = {
        question.path: question.id
        for question in reversed(QUESTIONS)
        if question.group != QUOTE and question.kind != PARTS and question not in OF_SUPPORT
    }
    keys = dict.fromkeys([*asked, *SEARCHED, *_scalars(data)])
    workload = data.get(WORKLOAD)
    workload = workload if isinstance(workload, dict) else {}
    found = (path for path in keys if (path[0] != WORKLOAD or path[1] in workload) and _has_place(data, path))
    own = data.get(SEARCH_KEY) or {"over": {".".join(SERVER): SOLD}}
    return {
        "keys": [_key(data, path) | {"id": asked.get(path)} for path in found],
        "measures": [_measure(name, words) for name in MEASURES],
        "minimise": [*(SERVICE if "inference" in workload else DEFAULT_MINIMISE)],
        "own": json.loads(json.dumps(own, default=float)),
    }


def _has_place(data: Data, path: tuple[str, ...]) -> bool:
    """Return whether a key can be set: not below a plain value, such as a fabric that is `default`."""
    return all(isinstance(value_at(data, path[:depth]), dict | None) for depth in range(1, len(path)))


def _key(data: Data, path: tuple[str, ...]) -> Data:
    declared, value = declaration_at(path), value_at(data, path)
    return {
        "key": ".".join(path),
        "title": declared.title,
        "value": None if isinstance(value, dict | list) else value if isinstance(value, int | None) else str(value),
        "choices": [
            *([{"value": SOLD, "label": SOLD}] if path == SERVER else []),
            *_choices(declared.words, declared.kinds),
        ],
    }


def _scalars(data: Data, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _scalars(value, (*above, key))
        elif not isinstance(value, list) and (above or key not in NAMES) and (*above, key)[0] not in APART:
            yield (*above, key)


def _measure(name: str, words: Language) -> Data:
    label, more = words.word(MEASURE.format(name=name)), name in LARGER_IS_BETTER
    return {"name": name, "label": label, "unit": MEASURES[name], "more": more}


def search(workspace: Workspace, request: Request) -> Data:
    """Return the Pareto-optimal designs; one that is stopped, those among the designs that were tried.

    `over` has a list of values or a range such as 8..512 by key, `within` the most of a measure. Without `over` the
    search is that of the plan.
    """
    from bomgen.output.writer import render_search
    from bomgen.workflow.design_search import find_front, open_search

    words, text = language_of(request), request["text"]
    file = plan_of(workspace, {**request, "text": without(text, (SEARCH_KEY,)) if request.get("over") else text})
    over, within, minimise = request.get("over") or {}, request.get("within") or {}, request.get("minimise") or ()
    space = open_search(
        file,
        (),
        [f"{key}={_listed(values)}" for key, values in over.items()],
        [minimise] if isinstance(minimise, str) else minimise,
        [f"{name}={most}" for name, most in within.items()],
    )
    front, stopped = find_front(file, (), space)
    name = str(source_of(file).data["name"])
    result = json.loads(render_search(front, name, words, "json"))
    for refused in result["refused"]:
        refused["reason"] = words.message(refused["reason"])
    return {
        "points": result.pop("front"),
        "measures": [_measure(name, words) for name in front.minimised],
        "stopped": stopped is not None,
        "search": result,
    }


def _listed(values: Any) -> str:
    listed = values if isinstance(values, list) else [values]
    return ",".join(value if isinstance(value, str) else json.dumps(value) for value in listed)
