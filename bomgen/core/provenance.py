"""Numbers that know where they come from.

A figure is a value with a unit and an origin. The origin says whether the value was given in a file, cited from a
document, assumed (cited, and marked as an assumption) or derived by a formula from other figures. Nothing else is
possible, so every number of a result can be explained down to the lines and documents it rests on.

Formulas are plain functions of plain numbers under `@formula`. Applied to figures they give a figure; the text shown
for it is the function's own return expression, read from the source file the first time somebody asks. A formula that
is one operator on its inputs is declared by that `Operation` instead, with its name, its unit and its inputs:

    ports_of_servers = product("ports_of_servers", "ports", "servers", "ports_per_server")

Longer calculations are declared as in `core/provenance.py`.

A figure without a published value is an estimate and has a range; so has every figure calculated from it. A formula
that `decides`, such as how many servers fill a rack, ends this: a purchased quantity is not an estimate.

Given and catalogue numbers are exact (integers or fractions), so that rounding up to whole GPUs or switches never
depends on floating point. `Fraction(a)` around a dividend keeps a division exact and is left out of the text shown. A
formula whose choice is a search (the uplinks of a leaf where more than the ratio needs save switches) calls the search
by name with all that it depends on.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, reduce
from math import ceil
from operator import add, mul
from threading import Lock
from typing import Any, NamedTuple, Self, TypeVar

Number = int | float | Fraction
Value = Number | str
Known = TypeVar("Known")

_PARSING = Lock()
"""Held while source is parsed: in Python 3.11, parsing in two threads at a time can end in a SystemError."""

UNIT_OF_SUFFIX = {
    "_gbps": "Gb/s",
    "_w": "W",
    "_m": "m",
    "_days": "days",
    "_bytes": "bytes",
    "_flops": "FLOPs",
    "_u": "U",
}
"""Units promised by the suffix of a parameter's name; `formula` refuses a figure in another unit."""


class FileName(str):
    """The name of a file: in messages as the user gave it, in results its path from the plan's root."""

    recorded: str

    def __new__(cls, shown: str, recorded: str) -> Self:
        """Create a name from both forms."""
        name = super().__new__(cls, shown)
        name.recorded = recorded
        return name

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments of a copy in another process."""
        return str(self), self.recorded


class Mark(NamedTuple):
    """A place in a file written by a person; line and column start at 1."""

    file: str
    line: int
    column: int
    sheet: str = ""
    """The title of the sheet, where a workbook has several; empty for text."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def recorded(self) -> str:
        """The place as results name it, the same on every machine and from every current folder."""
        file = self.file.recorded if isinstance(self.file, FileName) else self.file
        return f"{file}:{self.line}:{self.column}"


class Reference(NamedTuple):
    """A document that a value was taken from."""

    title: str
    url: str | None = None
    read: str | None = None

    def __str__(self) -> str:
        return self.title if self.url is None else f"{self.title} ({self.url})"


class Given(NamedTuple):
    """A value written by the user, in a plan or a file that the plan names."""

    mark: Mark
    key: str = ""
    """The name of the value there: the last keys of its path."""


class Cited(NamedTuple):
    """A value taken from a document; `of` names the part or model that it describes."""

    of: str
    references: tuple[Reference, ...]
    confidence: str
    note: str | None = None

    @property
    def verified(self) -> bool:
        """Whether the value has a reference."""
        return bool(self.references)


class Assumed(NamedTuple):
    """A default used where the plan gives no value; `name` is its name in the assumptions chapter."""

    name: str
    why: str
    references: tuple[Reference, ...]
    confidence: str
    chosen: bool = False
    """Whether the value was found by a search of the program; the references then describe what it searches."""


class Derived(NamedTuple):
    """A value calculated by a formula from other figures, in the order of the formula's parameters."""

    formula: Formula
    inputs: tuple[tuple[str, Figure], ...]


Origin = Given | Cited | Assumed | Derived


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A value, its unit and its origin; two figures are the same only when they are one object."""

    value: Any
    unit: str
    origin: Origin
    estimate: tuple[Any, Any] | None = None
    """The values with all underlying estimates at their low ends and at their high ends; None without estimates."""

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """The range of an estimate; None if the figure depends on no estimate."""
        if self.estimate is None or self.estimate[0] == self.estimate[1]:
            return None
        low, high = sorted(self.estimate)
        return low, high

    def between(self, low: Value, high: Value) -> Figure:
        """Return the figure as an estimate with this range."""
        return Figure(self.value, self.unit, self.origin, (low, high))

    @property
    def inputs(self) -> tuple[tuple[str, Figure], ...]:
        """The figures from which the value was calculated; empty unless derived."""
        return self.origin.inputs if isinstance(self.origin, Derived) else ()


class Formula:
    """A function of plain numbers that, applied to figures, gives a figure.

    `unit` is the unit of the result, or the name of a parameter in angle brackets whose unit the result takes over.
    `source` is the paper, equation or table of the expression. `decides` marks the result as a decision: it is not an
    estimate, even if it depends on some. `written` is the expression where that is not the function's return
    expression.
    """

    def __init__(
        self,
        function: Callable[..., Value],
        name: str,
        module: str,
        parameters: tuple[str, ...],
        unit: str,
        source: str | None,
        decides: bool,
        written: str = "",
    ) -> None:
        self.function = function
        self.unit = unit
        self.source = source
        self.decides = decides
        self.name = name
        self.__name__ = name
        self.__doc__ = function.__doc__
        self.__module__ = module
        self.parameters = parameters
        self.written = written
        self._promised_units = tuple(
            (index, promised)
            for index, name in enumerate(parameters)
            for suffix, promised in UNIT_OF_SUFFIX.items()
            if name.endswith(suffix)
        )
        self._unit_from = self.parameters.index(unit[1:-1]) if unit.startswith("<") else None

    def __call__(self, *positional: Figure, **named: Figure) -> Figure:
        """Return the figure that the formula gives for these figures.

        Raises TypeError when an argument is missing, not a figure, or in a unit other than its name promises.
        """
        figures = positional
        if named:
            inputs = dict(zip(self.parameters, positional, strict=False)) | named
            figures = tuple([inputs[name] for name in self.parameters if name in inputs])
        if len(figures) != len(self.parameters) or len(positional) + len(named) != len(self.parameters):
            names = ", ".join([*self.parameters[: len(positional)], *named])
            raise TypeError(f"{self.name} takes {', '.join(self.parameters)}; got {names}")
        for name, figure in zip(self.parameters, figures, strict=True):
            if not isinstance(figure, Figure):
                raise TypeError(f"{self.name}: {name} must be a figure, not {figure!r}")
        for index, unit in self._promised_units:
            if figures[index].unit != unit:
                name, unit_given = self.parameters[index], figures[index].unit
                raise TypeError(f"{self.name}: {name} is in {unit}, the figure given in {unit_given}")
        value = self.function(*[figure.value for figure in figures])
        unit = self.unit if self._unit_from is None else figures[self._unit_from].unit
        origin = Derived(self, tuple(zip(self.parameters, figures, strict=True)))
        if self.decides or not any(figure.estimate for figure in figures):
            return Figure(value, unit, origin)
        low, high = (
            self.function(*[figure.estimate[end] if figure.estimate else figure.value for figure in figures])
            for end in (0, 1)
        )
        return Figure(value, unit, origin, (low, high))

    def plain(self, *arguments: Any) -> Any:
        """Call the plain function, for a search that needs numbers before it has figures."""
        return self.function(*arguments)

    @property
    def text(self) -> str:
        """The expression of the formula, on one line; `Fraction` for exact division is left out."""
        return ast.unparse(self.expression)

    @property
    def expression(self) -> ast.expr:
        """The syntax tree of `text`, which callers must not change."""
        if self.written:
            with _PARSING:
                tree = ast.parse(self.written, mode="eval")
            plain: ast.expr = _Plain().visit(tree.body)
            return plain
        code = self.function.__code__
        return _return_expression(code.co_filename, code.co_firstlineno)


def formula(unit: str, source: str | None = None, decides: bool = False) -> Callable[[Callable[..., Any]], Formula]:
    """Declare a function of plain numbers as a `Formula` whose results have `unit` and are based on `source`.

    `decides`: the results are decisions, not estimates.
    """

    def declare(function: Callable[..., Any]) -> Formula:
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        return Formula(function, function.__name__, function.__module__, parameters, unit, source, decides)

    return declare


class Operator:
    """An operator that declares formulas: `sign` is written between their inputs, `function` before them."""

    def __init__(self, calculate: Callable[..., Any], sign: str, function: str = "") -> None:
        self.calculate, self.sign, self.function = calculate, sign, function

    def __call__(self, name: str, unit: str, *inputs: str, source: str | None = None, decides: bool = False) -> Formula:
        """Declare the formula that applies the operator to its inputs in this order; the rest is as in `formula`."""
        items = self.sign.join(inputs)
        written = f"{self.function}({items})" if self.function else items
        module = sys._getframe(1).f_globals["__name__"]  # the declaring module, as for a `NamedTuple`
        return Formula(self.calculate, name, module, inputs, unit, source, decides, written)


def constant(name: str, unit: str, value: Value) -> Formula:
    """Declare a formula without inputs, whose value is the same for every plan."""
    return Formula(lambda: value, name, sys._getframe(1).f_globals["__name__"], (), unit, None, False, repr(value))


product = Operator(lambda *factors: reduce(mul, factors), " * ")
sum_of = Operator(lambda *terms: reduce(add, terms), " + ")
difference = Operator(lambda a, b: a - b, " - ")
quotient = Operator(lambda a, b: Fraction(a) / b, " / ")
floor_div = Operator(lambda a, b: a // b, " // ")
ceil_div = Operator(lambda a, b: ceil(a / b), " / ", "ceil")
minimum = Operator(lambda *values: min(values), ", ", "min")
maximum = Operator(lambda *values: max(values), ", ", "max")


class _Plain(ast.NodeTransformer):
    """Rewrite `Fraction(a)` as `a` and `Fraction(a, b)` as `a / b`: the same number, easier to read."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id != Fraction.__name__:
            return node
        numerator, *denominator = node.args
        return ast.BinOp(numerator, ast.Div(), denominator[0]) if denominator else numerator


@cache
def _return_expression(file: str, first_line: int) -> ast.expr:
    """Return the return expression of the top-level function whose decorators start at a line of a source file.

    Only the function's own lines are parsed, which is faster than parsing the module.
    """
    with open(file, encoding="utf-8") as stream:
        lines = stream.readlines()[first_line - 1 :]
    start = next(number for number, line in enumerate(lines) if line.startswith("def "))
    body = [number for number, line in enumerate(lines) if number > start and line[:1] not in (" ", ")", "\n")]
    with _PARSING:
        tree = ast.parse("".join(lines[start : body[0] if body else len(lines)]))
    returned = next(node for node in ast.walk(tree) if isinstance(node, ast.Return))
    if returned.value is None:
        raise ValueError(f"the function at line {first_line} of {file} returns nothing")
    plain: ast.expr = _Plain().visit(returned.value)
    return plain


def assume(name: str, why: str, value: Number, unit: str, reference: Reference) -> Figure:
    """Return a default of medium confidence with its source."""
    return Figure(value, unit, Assumed(name, why, (reference,), "medium"))


def require(value: Known | None, otherwise: str) -> Known:
    """Return a value that an earlier stage guarantees. Raises ValueError with the text `otherwise` for None."""
    if value is None:
        raise ValueError(otherwise)
    return value


def function_of(result: Figure, inputs: Sequence[Figure]) -> Callable[..., Any]:
    """Return a result as a function of some of the figures it depends on; all other inputs are constant.

    Its arguments are values of `inputs`, in this order. It is valid as long as the code that called the formulas does
    not choose among them by those values.
    """
    places: dict[int, int | None] = {id(figure): index for index, figure in enumerate(inputs)}
    steps: list[tuple[Callable[..., Value], list[tuple[int | None, Value]]]] = []

    def place_of(figure: Figure) -> int | None:
        """Return the index of a figure's value; None if the figure depends on none of the inputs."""
        key = id(figure)
        if key not in places:
            places[key] = None
            origin = figure.origin
            if isinstance(origin, Derived):
                arguments = [(place_of(argument), argument.value) for _, argument in origin.inputs]
                if [index for index, _ in arguments if index is not None]:
                    places[key] = len(inputs) + len(steps)
                    steps.append((origin.formula.function, arguments))
        return places[key]

    last = place_of(result)

    def function(*values: Value) -> Any:
        results = list(values)
        for step, arguments in steps:
            results.append(step(*[value if index is None else results[index] for index, value in arguments]))
        return result.value if last is None else results[last]

    return function


def walk(*figures: Figure) -> Iterator[Figure]:
    """Yield these figures and all their inputs, each once, inputs after the figures that depend on them."""
    seen: set[int] = set()
    stack = list(reversed(figures))
    while stack:
        figure = stack.pop()
        if id(figure) in seen:
            continue
        seen.add(id(figure))
        yield figure
        stack.extend(value for _, value in reversed(figure.inputs))


def first_given(figure: Figure) -> Mark | None:
    """Return the first place in a plan that a figure depends on, or None."""
    for node in walk(figure):
        if isinstance(node.origin, Given):
            return node.origin.mark
    return None


def origin_text(figure: Figure) -> str:
    """Return the origin of a figure in one line: its formula, its place in the plan, or its document."""
    match figure.origin:
        case Derived(formula=derivation):
            return derivation.text
        case Given(mark=mark):
            return mark.recorded
        case Assumed() as assumed:
            return f"chosen: {assumed.why}" if assumed.chosen else f"assumed: {_reference_text(assumed.references)}"
        case Cited() as cited:
            mark_of_confidence = "" if cited.confidence == "high" else f" [{cited.confidence} confidence]"
            return f"{cited.of}: {_reference_text(cited.references)}{mark_of_confidence}"


def _reference_text(references: tuple[Reference, ...]) -> str:
    return "; ".join(reference.title for reference in references) or "unverified"


def informative_inputs(figure: Figure) -> tuple[tuple[str, Figure], ...]:
    """Return the inputs of a figure that explain something, without constant zeros."""
    return tuple(
        (name, value)
        for name, value in figure.inputs
        if value.value != 0 or value.inputs or not isinstance(value.origin, Derived)
    )


def json_value(value: Any) -> Any:
    """Return a value as JSON data: fractions become integers or floats, shapes become words."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return str(value) if isinstance(value, tuple) else value


def range_data(bounds: tuple[Any, Any]) -> dict[str, Any]:
    """Return the range of an estimate as in bom.json."""
    low, high = bounds
    return {"low": json_value(low), "high": json_value(high)}


Result = TypeVar("Result")
Fields = TypeVar("Fields", bound=NamedTuple)

MOST_FORMULAS = 10_000
_TRACING: ContextVar[bool] = ContextVar("_TRACING", default=False)
_FUNCTIONS: dict[str, Callable[..., Any]] = {"ceil": ceil, "Fraction": Fraction}
"""Functions that expressions name."""


@dataclass(slots=True, eq=False)
class Traced:
    """A number within a calculation on figures, with the expression that gives it."""

    value: Any
    estimate: tuple[Any, Any] | None
    written: str
    inputs: tuple[tuple[str, Figure], ...]
    """The figures that the expression names."""

    def __bool__(self) -> bool:
        return bool(self.value)

    def __getattr__(self, name: str) -> Any:
        return _perform(operator.attrgetter(name), f"{{}}.{name}", self)

    def __getitem__(self, index: int) -> Any:
        return _perform(operator.getitem, "{}[{}]", self, index)

    def __ceil__(self) -> Any:
        return applied(ceil, self)


def _perform(calculate: Callable[..., Any], form: str, *operands: Any) -> Traced:
    """Return the result of an operation, and of both ends of an estimate."""
    traced = [term if type(term) is Traced else Traced(term, None, repr(term), ()) for term in operands]
    estimate = None
    if any(term.estimate for term in traced):
        low, high = (
            calculate(*[term.estimate[end] if term.estimate else term.value for term in traced]) for end in (0, 1)
        )
        estimate = low, high
    value = calculate(*[term.value for term in traced])
    written = form.format(*[term.written for term in traced])
    return Traced(value, estimate, written, sum([term.inputs for term in traced], ()))


def _define_operator(name: str, form: str) -> None:
    calculate = getattr(operator, name)
    setattr(Traced, f"__{name}__", lambda self, other: _perform(calculate, form, self, other))
    setattr(Traced, f"__r{name}__", lambda self, other: _perform(calculate, form, other, self))


for _name, _sign in {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}.items():
    _define_operator(_name, f"({{}} {_sign} {{}})")


def _least(a: Any, b: Any) -> Any:
    return _choose(a <= b, a, b)


def _greatest(a: Any, b: Any) -> Any:
    return _choose(a >= b, a, b)


def _choose(condition: Any, one: Any, otherwise: Any) -> Any:
    if type(condition) is bool:
        return one if condition else otherwise
    return condition * one + (condition == 0) * otherwise


def divided_up(a: Any, b: Any) -> Any:
    """Return a quotient rounded up, exact for integers and fractions."""
    return _perform(lambda c, d: -(-c // d), "ceil(Fraction({}) / {})", a, b) if _TRACING.get() else -(-a // b)


def least(a: Any, b: Any) -> Any:
    """Return the lesser of two numbers, or of two arrays element by element."""
    return _perform(_least, "min({}, {})", a, b) if _TRACING.get() else _least(a, b)


def greatest(a: Any, b: Any) -> Any:
    """Return the greater of two numbers, or of two arrays element by element."""
    return _perform(_greatest, "max({}, {})", a, b) if _TRACING.get() else _greatest(a, b)


def where(condition: Any, one: Any, otherwise: Any) -> Any:
    """Return one number where a condition holds and the other elsewhere."""
    if _TRACING.get():
        return _perform(_choose, "({1} if {0} else {2})", condition, one, otherwise)
    return _choose(condition, one, otherwise)


def applied(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function that is more than arithmetic; the expression names it and its arguments."""
    if not _TRACING.get():
        return function(*arguments)
    name = function.__name__
    _FUNCTIONS[name] = function

    def calculate(*values: Any) -> Any:
        before = _TRACING.set(False)
        try:
            return function(*values)
        finally:
            _TRACING.reset(before)

    return _perform(calculate, f"{name}({', '.join(['{}'] * len(arguments))})", *arguments)


def step(name: str, unit: str, value: Any, why: str = "", source: str | None = None, decides: bool = False) -> Any:
    """Name a number of a calculation, with its unit, its meaning and the document of its expression.

    `decides`: it is a decision, not an estimate. An argument or a step that is named again in the same unit is the same
    figure. Raises TypeError when two of the figures in the expression have the same name.
    """
    if not _TRACING.get():
        return value
    if type(value) is not Traced:
        value = Traced(value, None, repr(value), ())
    inputs = dict(value.inputs)
    if len(set(value.inputs)) > len(inputs):
        raise TypeError(f"{name}: two of {', '.join(inputs)} have the same name")
    same = inputs.get(value.written)
    if same is not None and same.unit == unit:
        return named(name, same)
    origin = Derived(_formula(name, unit, value.written, tuple(inputs), why, source), tuple(inputs.items()))
    return named(name, Figure(value.value, unit, origin, None if decides else value.estimate))


def named(name: str, number: Any) -> Any:
    """Return a figure as a number of a calculation, with a name; what is no figure as it is."""
    return Traced(number.value, number.estimate, name, ((name, number),)) if isinstance(number, Figure) else number


@lru_cache(maxsize=MOST_FORMULAS)
def _formula(name: str, unit: str, written: str, inputs: tuple[str, ...], why: str, source: str | None) -> Formula:
    function = eval(f"lambda {', '.join(inputs)}: {written}", _FUNCTIONS)  # noqa: S307 - written by `_perform`
    function.__doc__ = why
    return Formula(function, name, __name__, inputs, unit, source, False, written)


def trace(calculation: Callable[..., Result], *records: Any) -> Result:
    """Return the record that a calculation gives, with figures; its arguments are records of figures and numbers."""
    before = _TRACING.set(True)
    try:
        result = calculation(*[record._make(map(named, record._fields, record)) for record in records])
    finally:
        _TRACING.reset(before)
    shown: Result = _as_figures(result)
    return shown


def values_of(record: Fields) -> Fields:
    """Return a record of figures as one of their values."""
    return record._make(field.value if isinstance(field, Figure) else field for field in record)


def _as_figures(value: Any) -> Any:
    """Return a record, or what it holds, with figures in place of traced numbers. Raises TypeError for one unnamed."""
    if type(value) is Traced:
        [(name, figure)] = value.inputs or (("", None),)
        if name != value.written:
            raise TypeError(f"{value.written} is the result of no step")
        return figure
    if isinstance(value, dict):
        return {key: _as_figures(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [_as_figures(item) for item in value]
        if all(map(operator.is_, items, value)):
            return value
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    if is_dataclass(value) and not isinstance(value, Figure | type):
        return replace(value, **{field.name: _as_figures(getattr(value, field.name)) for field in fields(value)})
    return value
