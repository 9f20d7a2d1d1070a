"""The child process that renders templates: Jinja's sandbox, bomgen's filters, and errors with template lines.

The sandbox keeps a template from the objects of the program; `core/jobs.py` limits its time and memory, and
leaves code that escapes the sandbox, in which holes have been found before, without files and environment. `check` only
parses, in the same child, because a parser can be overloaded too. Equal plans give equal results: filters with random
text are removed from Jinja, and objects, whose text is their memory address, are not printed.
"""

from __future__ import annotations

import codecs
import difflib
import gc
import html
import json
import pprint
import re
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple, NoReturn, cast

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from bomgen.core.jobs import Limits, OutOfTime, within_limits
from bomgen.core.language import language
from bomgen.core.messages import suggestion
from bomgen.core.safety import escape_formula
from bomgen.core.units import minor_units

PRELOADED = (difflib, html, pprint, textwrap, *map(codecs.lookup, ("ascii", "unicode-escape", "utf-8")))
"""Modules that Jinja and messages import on demand: a sealed child cannot import."""
ESCAPED = (".html", ".htm", ".xml", ".svg")
"""Result suffixes whose text is escaped as markup."""
LEFT_OUT = ("lipsum", "random")
"""Functions with random results."""
NAMES = ("bom", "plan")
"""Variables of a template."""
RESULT_BYTES = 16 << 20
"""Maximum size of a result: an order of 10,000 lines has half a MiB, a page with images a few."""
MOST_SHOWN = 12
"""Maximum number of keys in a message."""
QUOTED = 40
"""Maximum length of a value in a message."""
MOST_FAULTS = 20
"""Maximum number of errors reported per template."""
MESSAGE = 300
"""Maximum length of a message with template text."""
LIMIT, SYNTAX, RUNTIME = "template-limit", "template-syntax", "template"
_FILE = "<template>"
"""Jinja's file name for a template without one."""
_PRINTED = (str, int, float, Decimal, list, tuple, dict, Undefined)
"""Types that `{{ }}` prints."""
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+", re.IGNORECASE)
"""Python's text for an object without its own, also in a list."""
_QUOTED = (",", ";", '"', "\n", "\r")
"""Characters that require quotes in CSV; semicolons are separators where commas are decimal signs."""

Filters = Mapping[str, Callable[..., str]]


class Fault(NamedTuple):
    """An error of a template; line 0 if unknown."""

    line: int
    message: str
    rule: str


class _TooLong(Exception):
    """The result exceeds its maximum size."""


class _Missing(StrictUndefined):
    """An undefined name; any use of it is an error that lists the defined names."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        name = str(self._undefined_name)
        if self._undefined_hint:
            return f"{self._undefined_hint.rstrip('.')}; a template may only read its data"
        if self._undefined_obj is missing:
            known = list(NAMES)
        elif isinstance(self._undefined_obj, Mapping):
            known = [str(key) for key in self._undefined_obj]
        else:
            return f"{super()._undefined_message}; `bomgen schema bom` describes it"
        hint = suggestion(name, known, f"there are {_listed(known)}")
        return f"there is no '{name}'; {hint}"


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox; exceptions keep the lines of the compiled template, without importing a module to rewrite them."""

    def handle_exception(self, source: str | None = None) -> NoReturn:  # noqa: ARG002 - Jinja2's
        raise


def main() -> None:
    """Render, or without data parse, the templates on standard input; write a line of JSON each: text or errors.

    No template is started after one that reached a limit.
    """
    asked = json.load(sys.stdin.buffer)
    limits, data = Limits(*asked["limits"]), asked["data"]
    filters = writer(asked["language"], data["bom"]["totals"]["currency"] if data else "")
    with within_limits(limits, sealed=True):
        for name, text in asked["templates"]:
            answer = render(text, name, filters, data, limits)
            sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            sys.stdout.buffer.flush()
            if any(fault.rule == LIMIT for fault in answer if isinstance(fault, Fault)):
                return
            del answer
            gc.collect()  # objects of a template, including cycles, take memory that the next one may need


def _environment(name: str, filters: Filters) -> _Environment:
    environment = _Environment(
        autoescape=name.lower().endswith(ESCAPED),
        undefined=_Missing,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        optimized=False,
    )
    environment.filters |= filters
    for each in LEFT_OUT:
        environment.filters.pop(each, None)
        environment.globals.pop(each, None)
    return environment


def writer(code: str, currency: str) -> Filters:
    """Return bomgen's Jinja filters, which format values as the quote does in its language."""
    minor_units()  # read now, while file access is permitted
    words = language(code)

    def money(amount: object, currency: str = currency) -> str:
        return words.value(None if amount is None else _decimal(amount), currency)

    def quantity(value: object, unit: str = "") -> str:
        return words.value(None if value is None else _number(value), unit)

    def date(iso: object) -> str:
        try:
            return words.value(None) if iso is None else words.date(str(iso))
        except (KeyError, ValueError):
            raise ValueError(f"{_quoted(str(iso))} is not a date; write it as 2026-11-20") from None

    return {
        "money": money,
        "number": quantity,
        "share": lambda value: quantity(value, "share"),
        "date": date,
        "category": lambda key: words.words.get(f"category-{key}", str(key)),
        "csv": _csv,
    }


def render(text: str, name: str, filters: Filters, data: Mapping[str, Any], limits: Limits) -> str | list[Fault]:
    """Return the result of a template, empty without data, or its errors."""
    template = None
    try:
        environment = _environment(name, filters)
        tree, faults = _parsed(text, environment)
        if faults or tree is None or not data:
            return faults or ""
        template = Template.from_code(environment, environment.compile(tree), environment.make_globals(None))
        return _written(template, template.new_context(dict(data)))
    except (Exception, OutOfTime) as error:
        return [_fault(error, template, limits)]


def _parsed(text: str, environment: _Environment) -> tuple[nodes.Template | None, list[Fault]]:
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError as error:
        message = (
            f"not a valid template: {(error.message or '').rstrip('.')}; check braces, quotes and `end` up to here"
        )
        return None, [Fault(error.lineno, _shortened(message), SYNTAX)]
    except RecursionError:
        return None, [Fault(0, "nested too deep to be read; write shorter expressions", SYNTAX)]
    except ValueError:
        return None, [Fault(0, "not a valid template: a number of thousands of digits; write a shorter one", SYNTAX)]
    return tree, sorted(set(islice(_unknown(tree, environment), MOST_FAULTS)))


def _unknown(tree: nodes.Template, environment: _Environment) -> Iterator[Fault]:
    """Yield errors for includes of other files, and for unknown filters and tests."""
    for taking in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        word = type(taking).__name__.lower().removeprefix("from")
        yield Fault(taking.lineno, f"{word}: a template cannot include other files; write one file", SYNTAX)
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        is_filter = isinstance(node, nodes.Filter)
        word, known = ("filter", environment.filters) if is_filter else ("test", environment.tests)
        if node.name not in known:
            hint = suggestion(node.name, known, "see docs/templates.md")
            yield Fault(node.lineno, _shortened(f"no {word} '{node.name}'; {hint}"), SYNTAX)


def _written(template: Template, context: Context) -> str:
    """Return the result, up to its size limit. An error in a piece is raised at its template line."""
    pieces, length = [], 0
    stream = cast(Generator[str, None, None], template.root_render_func(context))
    for piece in stream:
        try:
            length += len(piece.encode("utf-8"))
        except UnicodeEncodeError as error:
            stream.throw(ValueError(f"{error.object[error.start]!a} is not valid UTF-8"))
        if length > RESULT_BYTES:
            stream.throw(_TooLong)
        pieces.append(piece)
    return "".join(pieces)


def _fault(error: BaseException, template: Template | None, limits: Limits) -> Fault:
    """Return the error for an exception, at the innermost template line involved."""
    rule = LIMIT
    match error:
        case OutOfTime():
            text = limits.out_of_time
        case MemoryError():
            text = limits.out_of_memory
        case RecursionError():
            text = "nested too deep; avoid endless macro recursion and long expressions"
        case _TooLong():
            text = f"the result is longer than {RESULT_BYTES} bytes"
        case _:
            text, rule = _shortened(str(error).rstrip(".") or type(error).__name__), RUNTIME
    return Fault(_line(error, template), text if "; " in text else f"{text}; see docs/templates.md", rule)


def _line(error: BaseException, template: Template | None) -> int:
    line, trace = 0, error.__traceback__
    while trace and template:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


@pass_context  # without it Jinja2 prints constants at compile time, when an error has no line yet
def _printed(_context: Context, value: object) -> object:
    if value is None:
        return ""
    if not isinstance(value, _PRINTED) or (isinstance(value, list | tuple | dict) and _ADDRESS.search(str(value))):
        kind = type(value).__name__
        raise ValueError(f"this {kind} cannot be printed; print text or numbers, and add `| list` after `map`")
    return value


def _decimal(value: object) -> Decimal:
    """Return an amount or number of bom.json exactly; an undefined name raises its own error."""
    if isinstance(value, Undefined):
        str(value)
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidOperation
        number = Decimal(str(value))
        if not number.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise ValueError(f"{_quoted(value)} is not a number; use a number, or text such as '12.50'") from None
    return number


def _number(value: object) -> int | Fraction:
    number = Fraction(_decimal(value))
    return number.numerator if number.denominator == 1 else number


def _csv(value: object) -> str:
    """Return a CSV field (RFC 4180); text that a spreadsheet would run as a formula is escaped, as in bom.csv."""
    text = "" if value is None else str(escape_formula(value))
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in _QUOTED) else text


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= QUOTED else text[:QUOTED] + "..."


def _listed(known: list[str]) -> str:
    return ", ".join([*known[:MOST_SHOWN], *(["..."] if len(known) > MOST_SHOWN else [])]) or "none"


def _shortened(text: str) -> str:
    """Return text on one line, truncated to the maximum length."""
    text = " ".join(_ADDRESS.sub("", text[: MESSAGE + 1]).split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text if len(text) <= MESSAGE else text[:MESSAGE] + "..."
