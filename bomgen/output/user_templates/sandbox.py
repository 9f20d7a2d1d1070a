"""A template inside its process: what it may say, the filters that it has, and its faults with their lines."""

from __future__ import annotations

import codecs
import difflib
import html
import pprint
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import wraps
from itertools import islice
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, NoReturn, TypeVar, cast

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.runtime import BlockReference, Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, missing

from bomgen.core.csv_fields import escape_formula
from bomgen.core.diagnostics import suggestion
from bomgen.core.language import Language, language
from bomgen.core.money import minor_units
from bomgen.output.user_templates.process import LIMIT, Fault, Limits, too_large, too_long, too_slow

PRELOADED = (difflib, html, pprint, textwrap, *map(codecs.lookup, ("ascii", "unicode-escape", "utf-8")))
"""What Jinja2 and messages load when they come to use it: in a process that has given up, nothing can be loaded."""
ESCAPED = (".html", ".htm", ".xml", ".svg")
"""Results whose text is escaped as markup on the way out."""
LEFT_OUT = ("lipsum", "random")
"""What gives other text each time: equal plans give equal bytes."""
NAMES = ("bom", "plan")
"""The data of a template."""
MOST_SHOWN = 12
"""Keys that a message lists."""
QUOTED = 40
"""Characters of a value that a message repeats."""
MOST_FAULTS = 20
"""Faults of one template that are told at a time."""
MESSAGE = 300
"""Characters of a message that may hold text of the template."""
SYNTAX, RUNTIME = "template-syntax", "template"
_METHODS = (BuiltinMethodType, FunctionType, MethodType, BlockReference)
"""What a template can call, beside its own macros."""
_FILE = "<template>"
"""What Jinja2 calls the file of a template that has none."""
_QUOTED = (",", ";", '"', "\n", "\r")
"""What a field of CSV is put in quotes for; semicolons separate fields where commas separate decimals."""

Filters = Mapping[str, Callable[..., str]]
Wrapped = TypeVar("Wrapped")


class Slow(BaseException):
    """The processor time is over; no `except Exception` on the way catches it."""


class _Long(Exception):
    """The result is as long as it may be."""


class _Missing(StrictUndefined):
    """A name that is not there: whatever is done with it is an error that names what is."""

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
            return f"{super()._undefined_message}; its place in `bomgen schema bom` says what it is"
        hint = suggestion(name, known, f"there are {_listed(known)}")
        return f"there is no '{name}'; {hint}"


def _called(name: str) -> Callable[[type[Wrapped]], type[Wrapped]]:
    """A class under the name that messages shall call it, of Python's and Jinja2's, which look it up by themselves."""

    def called(wrapper: type[Wrapped]) -> type[Wrapped]:
        wrapper.__name__ = wrapper.__qualname__ = name
        wrapper.__module__ = "builtins"
        return wrapper

    return called


class _Textless:
    """What has no text of its own: Python would write its address in memory, another one each time."""

    __slots__ = ("_held",)

    def __init__(self, held: Any) -> None:
        self._held = held

    def __repr__(self) -> str:
        raise ValueError(_unprinted(type(self._held).__name__))

    __html__ = __repr__


@_called("function")
class _Method(_Textless):
    """What can be called."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._held(*arguments, **named)


@_called("generator")
class _Walk(_Textless):
    """What can be walked through once, such as the result of `map`."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return cast(Iterator[Any], self._held)

    def __next__(self) -> Any:
        return next(self._held)


class _Unprinted:
    """What Jinja2 has, and has no text of its own."""

    def __repr__(self) -> str:
        raise ValueError(_unprinted(type(self).__name__))


@_called("cycler")
class _Cycler(_Unprinted, Cycler):
    """Jinja's."""


@_called("joiner")
class _Joiner(_Unprinted, Joiner):
    """Jinja's."""


def _hide_address(value: Any) -> Any:
    """A value whose text, if it has any, is the same each time."""
    if isinstance(value, _METHODS):
        return _Method(value)
    if isinstance(value, Iterator) and not isinstance(value, LoopContext | _Walk):
        return _Walk(value)
    return value


def _filtering(filter: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose result has no address in its text."""

    @wraps(filter)
    def filtered(*arguments: Any, **named: Any) -> Any:
        return _hide_address(filter(*arguments, **named))

    return filtered


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox; exceptions keep the lines of the compiled template, which `_line` reads."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return _hide_address(super().getattr(obj, attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return _hide_address(super().getitem(obj, argument))

    def call(self, context: Context, obj: Any, /, *arguments: Any, **named: Any) -> Any:
        return _hide_address(super().call(context, obj, *arguments, **named))

    def handle_exception(self, source: str | None = None) -> NoReturn:  # noqa: ARG002 - Jinja2's
        raise


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
    environment.filters = {each: _filtering(filter) for each, filter in environment.filters.items()}
    environment.globals |= {"cycler": _Cycler, "joiner": _Joiner, "range": _Method(safe_range)}
    for each in LEFT_OUT:
        environment.filters.pop(each, None)
        environment.globals.pop(each, None)
    return environment


def writer(code: str, currency: str) -> Filters:
    """The filters that bomgen adds to Jinja's: they write values as the quote does in its language."""
    minor_units()  # read now, while files may be
    words = language(code)

    def money(amount: object, currency: str = currency) -> str:
        return words.value(None if amount is None else _decimal(amount), currency)

    def quantity(value: object, unit: str = "") -> str:
        return words.value(None if value is None else _number(value), unit)

    return {
        "money": money,
        "number": quantity,
        "share": lambda value: quantity(value, "share"),
        "date": lambda iso: words.value(None) if iso is None else _date(words, str(iso)),
        "category": lambda key: words.words.get(f"category-{key}", str(key)),
        "csv": _csv,
    }


def render(
    text: str, name: str, filters: Filters, data: Mapping[str, Any], limits: Limits, reserve: Callable[[Limits], None]
) -> tuple[bytes, list[Fault]]:
    """The result of a template, empty without data; or its faults, which `reserve` gives the memory to name."""
    template = None
    try:
        environment = _environment(name, filters)
        tree, faults = _parsed(text, environment)
        if faults or tree is None or not data:
            return b"", faults
        template = Template.from_code(environment, environment.compile(tree), environment.make_globals(None))
        return _written(template, template.new_context(dict(data)), limits), []
    except (Exception, Slow) as error:
        if isinstance(error, MemoryError):
            reserve(limits)
        return b"", [_fault(error, template, limits)]


def _parsed(text: str, environment: _Environment) -> tuple[nodes.Template | None, list[Fault]]:
    """A template as a tree, and what is wrong with it."""
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
    """A fault for everything that takes in other files, and every filter and test that nobody knows."""
    for taking in tree.find_all((nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport)):
        word = type(taking).__name__.lower().removeprefix("from")
        yield Fault(taking.lineno, f"{word}: a template cannot include other files; write one file", SYNTAX)
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        is_filter = isinstance(node, nodes.Filter)
        word, known = ("filter", environment.filters) if is_filter else ("test", environment.tests)
        if node.name not in known:
            hint = suggestion(node.name, known, "see docs/templates.md")
            yield Fault(node.lineno, _shortened(f"no {word} '{node.name}'; {hint}"), SYNTAX)


def _written(template: Template, context: Context, limits: Limits) -> bytes:
    """The result, piece by piece up to its limit. What is wrong with a piece is thrown to the line that gave it."""
    pieces, length = [], 0
    stream = cast(Generator[str, None, None], template.root_render_func(context))
    for piece in stream:
        try:
            pieces.append(piece.encode("utf-8"))
        except UnicodeEncodeError as error:
            stream.throw(ValueError(f"{error.object[error.start]!a} is not valid UTF-8"))
        length += len(pieces[-1])
        if length > limits.output_bytes:
            stream.throw(_Long())
    return b"".join(pieces)


def _fault(error: BaseException, template: Template | None, limits: Limits) -> Fault:
    """What an exception says of the template, at the last of its lines that was on the way there."""
    line = _line(error, template)
    match error:
        case Slow():
            return Fault(line, too_slow(limits), LIMIT)
        case _Long():
            return Fault(line, too_long(limits), LIMIT)
        case MemoryError():
            return Fault(line, too_large(limits), LIMIT)
        case RecursionError():
            return Fault(
                line, "nested too deep; a macro must not call itself without end, nor an expression be so long", LIMIT
            )
    text = _shortened(str(error).rstrip(".") or type(error).__name__)
    return Fault(line, text if "; " in text else f"{text}; see docs/templates.md", RUNTIME)


def _line(error: BaseException, template: Template | None) -> int:
    line, trace = 0, error.__traceback__
    while trace and template:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


@pass_context  # without it Jinja2 prints constants while it compiles, where a fault has no line yet
def _printed(_context: Context, value: object) -> object:
    """What `{{ }}` prints: nothing for nothing; objects are refused, whose text is an address in memory."""
    if value is None:
        return ""
    if isinstance(value, str | int | float | Decimal | list | tuple | dict | Undefined):
        return value
    if isinstance(value, _Textless | _Unprinted):
        str(value)
    raise ValueError(_unprinted(type(value).__name__))


def _unprinted(kind: str) -> str:
    """What is said of an object that stands where text must."""
    return f"a {kind} cannot be printed; print text or numbers, and add `| list` after `map`"


def _decimal(value: object) -> Decimal:
    """An amount or number of bom.json, exactly; of a name that is not there its own fault."""
    if isinstance(value, Undefined):
        str(value)
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InvalidOperation
        number = Decimal(str(value))
        if not number.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise ValueError(f"{_quoted(value)} is not a number; give a number, or text such as '12.50'") from None
    return number


def _number(value: object) -> int | Fraction:
    number = Fraction(_decimal(value))
    return number.numerator if number.denominator == 1 else number


def _date(words: Language, iso: str) -> str:
    try:
        return words.date(iso)
    except (KeyError, ValueError):
        raise ValueError(f"{_quoted(iso)} is not a date; write it as 2026-11-20") from None


def _csv(value: object) -> str:
    """A field of CSV (RFC 4180): text that a spreadsheet would run as a formula is kept text, as in bom.csv."""
    text = "" if value is None else str(escape_formula(value))
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in _QUOTED) else text


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= QUOTED else text[:QUOTED] + "..."


def _listed(known: list[str]) -> str:
    return ", ".join([*known[:MOST_SHOWN], *(["..."] if len(known) > MOST_SHOWN else [])]) or "none"


def _shortened(text: str) -> str:
    """Text on one line that can be shown, cut where it gets long."""
    text = " ".join(text[: MESSAGE + 1].split())
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text if len(text) <= MESSAGE else text[:MESSAGE] + "..."
