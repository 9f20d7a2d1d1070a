"""Calculations: functions of plain numbers and arrays that also run on figures, whose results keep their derivation.

    def states(s: Sizes) -> States:
        share = step("share", "parameters", s.parameters / s.replicas, "Parameters whose states a GPU holds.")
        return States(step("states", "bytes", share * s.state_bytes, "Optimizer states of a GPU."))

`states(Sizes(8e9, 4, 12))` is arithmetic: a search calls it a million times. `trace(states, Sizes(*figures))` runs it
on the values of figures, with the same operations in the same order. Each `step` then becomes a figure, whose formula
is the expression between it and the steps and fields that it uses; these names are words of the language files.

An `if` on a traced number is not part of the expression; `where` is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple, TypeVar

from bomgen.core.provenance import Derived, Figure, Formula

Result = TypeVar("Result", bound=NamedTuple)

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
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}.items():
    _define_operator(_name, f"({{}} {_sign} {{}})")


def _divide_up(a: Any, b: Any) -> Any:
    return -(-a // b)


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
    return _perform(_divide_up, "ceil(Fraction({}) / {})", a, b) if _TRACING.get() else -(-a // b)


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
    return _perform(function, f"{name}({', '.join(['{}'] * len(arguments))})", *arguments)


def step(name: str, unit: str, value: Any, why: str = "", source: str | None = None) -> Any:
    """Name a number of a calculation, with its unit, its meaning and the document of its expression.

    An argument or a step that is named again is the same figure. Raises TypeError when two of the figures in the
    expression have the same name.
    """
    if not _TRACING.get():
        return value
    if type(value) is not Traced:
        value = Traced(value, None, repr(value), ())
    inputs = dict(value.inputs)
    if len(set(value.inputs)) > len(inputs):
        raise TypeError(f"{name}: two of {', '.join(inputs)} have the same name")
    if value.written in inputs:
        return _named(name, inputs[value.written])
    origin = Derived(_formula(name, unit, value.written, tuple(inputs), why, source), tuple(inputs.items()))
    return _named(name, Figure(value.value, unit, origin, value.estimate))


def _named(name: str, number: Any) -> Any:
    return Traced(number.value, number.estimate, name, ((name, number),)) if isinstance(number, Figure) else number


@lru_cache(maxsize=MOST_FORMULAS)
def _formula(name: str, unit: str, written: str, inputs: tuple[str, ...], why: str, source: str | None) -> Formula:
    function = eval(f"lambda {', '.join(inputs)}: {written}", _FUNCTIONS)  # noqa: S307 - written by `_perform`
    function.__doc__ = why
    return Formula(function, name, __name__, inputs, unit, source, False, written)


def trace(calculation: Callable[..., Result], *records: Any) -> Result:
    """Return the result of a calculation as figures; its arguments are records of figures and plain numbers."""
    before = _TRACING.set(True)
    try:
        result = calculation(*[record._make(map(_named, record._fields, record)) for record in records])
    finally:
        _TRACING.reset(before)
    return result._make([number.inputs[0][1] if type(number) is Traced else number for number in result])
