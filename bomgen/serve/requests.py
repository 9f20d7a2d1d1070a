"""What the page sends with each call: the check that a request is such, and the plan and language that it names.

Each class has the fields of a request. `read_request` compares them with what came, whoever sent it, before a call
reads any of them. A field that may be missing may also be null; fields that the call does not have are ignored.
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from bomgen.core.diagnostics import unknown
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH
from bomgen.core.resources import languages
from bomgen.serve.workspace import Refused, Request, Workspace
from bomgen.workflow.plan_files import PlanFile

Scalar = str | int | float | bool | None
"""A plain value of a plan."""
WORDS: dict[Any, str] = {
    Scalar: "a plain value",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
MOST_NAME = 64
"""Characters of the id of a page."""


class Sent(TypedDict):
    """Any request: the `page` that sends it, its language, and its `turn`: a newer one ends older calls of the page."""

    page: NotRequired[str]
    language: NotRequired[str]
    turn: NotRequired[int]


class Plan(Sent):
    """A plan: its path below the folder, and its text in the editor."""

    path: str
    text: str


class Build(Plan):
    """A plan, its text as it was last saved, and the tabs that are shown."""

    base: NotRequired[str]
    tabs: NotRequired[list[str]]


class Complete(Plan):
    """A plan, and the line and column of the cursor, both from 1 on."""

    line: int
    column: int


class Form(Sent):
    """A plan, and answers to write into it, by the keys of the questions; its path names one that they begin."""

    path: NotRequired[str]
    text: str
    answers: NotRequired[dict[str, Scalar]]


class Space(Sent):
    """A plan to search."""

    text: str


class Set(Sent):
    """A plan, and values to set, by dotted key."""

    text: str
    set: dict[str, Scalar]


class Search(Plan):
    """A plan, the values or the range of each key that varies, the measures, and the most of a measure."""

    over: NotRequired[dict[str, list[Scalar] | str | int | float]]
    minimise: NotRequired[list[str] | str]
    within: NotRequired[dict[str, str | int | float]]


class Download(Plan):
    """A plan, and the format of its file."""

    format: str


class Compare(Sent):
    """Two or more plans."""

    plans: list[Plan]


class Picture(Sent):
    """The name of a design."""

    name: str


class Dropped(Sent):
    """A file that was dropped on the page."""

    name: str
    base64: str


class Bill(Dropped):
    """A bill, and answers to the questions about its columns."""

    answers: NotRequired[dict[str, str]]


class Prices(Bill):
    """A price list, answers about its columns, and the plan that it is for."""

    path: NotRequired[str]
    text: NotRequired[str]
    entered: NotRequired[bool]
    """Whether its prices were entered on the page, not read from a file."""


class Apply(Dropped):
    """A quote that came back, the plan that it is from, and what was chosen for each conflict."""

    path: str
    text: str
    choices: NotRequired[dict[str, str]]


class Open(Sent):
    """One of a plan below the folder, the name of a design, and a plan packed into a link."""

    path: NotRequired[str]
    gallery: NotRequired[str]
    packed: NotRequired[str]


class Save(Plan):
    """A plan to write, and the version of the file that was read; empty for a new file."""

    version: str


def read_request(sent: type, data: Any) -> dict[str, Any]:
    """Return the fields that came with a request. Raises Refused if one is missing or of another type."""
    if wrong := _wrong(sent, data, ""):
        raise Refused(wrong)
    request = {name: data[name] for name in _fields(sent) if data.get(name) is not None}
    if len(request.get("page", "")) > MOST_NAME or request.get("turn", 0) < 0:
        raise Refused(f"`page` has at most {MOST_NAME} characters, and `turn` is not negative")
    return request


def _wrong(kind: Any, value: Any, place: str) -> str:
    """Return what is wrong with a value at a place of a request; empty for one of this kind."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        kinds = [each for each in inner if type(value) is (get_origin(each) or each)]
        return _wrong(kinds[0], value, place) if kinds else _must_be(kind, place)
    if is_typeddict(kind) and type(value) is dict:
        found = (_wrong_field(*field, value, place) for field in _fields(kind).items())
    elif origin is list and type(value) is list:
        found = (_wrong(inner[0], each, f"{place}.{at}") for at, each in enumerate(value))
    elif origin is dict and type(value) is dict:
        found = (_wrong(inner[1], each, f"{place}.{key}") for key, each in value.items())
    else:
        return "" if type(value) is kind and (kind is not float or isfinite(value)) else _must_be(kind, place)
    return next(filter(None, found), "")


def _wrong_field(name: str, kind: Any, value: dict[str, Any], place: str) -> str:
    given = value.get(name)
    if get_origin(kind) is not NotRequired:
        return _wrong(kind, given, f"{place}.{name}")
    return "" if given is None else _wrong(get_args(kind)[0], given, f"{place}.{name}")


@cache
def _fields(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _must_be(kind: Any, place: str) -> str:
    return f"`{place.removeprefix('.')}` must be {_named(kind)}" if place else f"a request is {_named(kind)}"


def _named(kind: Any) -> str:
    """Return the words for a kind of values."""
    if kind not in WORDS and get_origin(kind) is UnionType:
        return " or ".join(map(_named, get_args(kind)))
    return f"a list of {_named(*get_args(kind))}" if get_origin(kind) is list else WORDS.get(kind, "an object")


def plan_of(workspace: Workspace, request: Request) -> PlanFile:
    """Return the plan of a request. Raises Refused, and PlanErrors for text that no file can hold."""
    return workspace.plan_file(request["path"], request["text"])


def language_of(request: Request, otherwise: str = ENGLISH) -> Language:
    """Return the language of a request. Raises Refused for an unknown one."""
    code = request.get("language") or otherwise
    if code not in languages():
        raise Refused(unknown("language", code, languages()))
    return language(code)
