"""Formulas in words: an expression with the numbers and units of its inputs, as a reader checks it by hand.

`ceil(units / group_leaves) * rails` becomes `(16 units / 32 leaves per group, rounded up) × 8 rails`. The names of
inputs are in the language file, below `inputs`: `#` is the number, `{value}` the number with its unit, and `|`
separates singular from plural. An expression that is more than arithmetic, such as a search, is described by its inputs
alone.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any, NamedTuple

from bomgen.core.language import Language, spaced
from bomgen.core.provenance import Derived, Figure, informative_inputs

SEVERAL = "|"
NUMBER = "#"
VALUE = "{value}"

LOOSE, SUM, PRODUCT, ATOM = range(4)
"""Precedence of the parts of an expression; an operand of lower precedence than its neighbour gets brackets."""


class _Term(NamedTuple):
    """A part of an expression: its text, its precedence and its value."""

    text: str
    binding: int
    value: Any


class _NotArithmetic(Exception):
    """An expression that is more than arithmetic."""


_SIGNS: Mapping[type[ast.operator], tuple[str, int, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", SUM, operator.add),
    ast.Sub: ("−", SUM, operator.sub),
    ast.Mult: ("×", PRODUCT, operator.mul),
    ast.Div: ("/", PRODUCT, lambda a, b: Fraction(a) / Fraction(b)),
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ROUNDED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "ceil": ("formula-rounded-up", ceil),
    "int": ("formula-rounded-down", floor),
}
_CHOSEN: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "max": ("formula-largest", max),
    "min": ("formula-smallest", min),
    "lcm": ("formula-common-multiple", lcm),
}
_NAMED: Mapping[str, str] = {"round_up_to_divisor": "formula-divisor", "square_root": "formula-square-root"}
"""Functions of formulas that have words in the language files."""


class Described(NamedTuple):
    """A formula in words, and the value it gives when followed; None where only its inputs are named."""

    text: str
    value: Any


def describe_formula(figure: Figure, language: Language, show: Callable[[Figure], str]) -> Described:
    """Return the formula of a derived figure with its inputs; `show` writes the value of a figure with its unit.

    Raises ValueError for a figure that is not derived.
    """
    origin = figure.origin
    if not isinstance(origin, Derived):
        raise ValueError("only derived figures have a formula")
    try:
        written = _ExpressionWriter(origin, language, show).term(origin.formula.expression)
    except _NotArithmetic:
        inputs = [
            name_input(name, value, language, show)
            for name, value in informative_inputs(figure)
            if type(value.value) is not tuple
        ]
        if not inputs:
            return Described(language.word("formula-program"), None)
        text = language.word("formula-calculated", inputs=language.word("list-comma").join(inputs))
        return Described(spaced(text), None)
    return Described(written.text, written.value)


def name_input(name: str, figure: Figure, language: Language, show: Callable[[Figure], str]) -> str:
    """Return the value of a formula's input with the words for it, as the formula shows them."""
    one, _, several = language.inputs[name].partition(SEVERAL)
    text = one if figure.value == 1 or not several else several
    if NUMBER in text and isinstance(figure.value, int | float | Fraction):
        return text.replace(NUMBER, language.number(figure.value))
    return text.replace(NUMBER, VALUE).replace(VALUE, show(figure))


class _ExpressionWriter:
    """The words of an expression, with the inputs of one figure."""

    def __init__(self, origin: Derived, language: Language, show: Callable[[Figure], str]) -> None:
        self.inputs = dict(origin.inputs)
        self.constants = origin.formula.function.__globals__
        self.language, self.show = language, show

    def term(self, node: ast.expr) -> _Term:
        """Return a part of the expression. Raises _NotArithmetic."""
        match node:
            case ast.Name(id=name):
                return self._name(name)
            case ast.Constant(value=int() | float() as value):
                return _Term(self.language.number(value), ATOM, value)
            case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
                return self._rounded("formula-rounded-down", self._operation(left, ast.Div, right), floor)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                quotient = self._operation(left, ast.Div, right)
                return self._worded("formula-remainder", quotient.text, self.term(left).value % self.term(right).value)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
                return self._operation(left, type(sign), right)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.term(body if self._holds(test) else other)
            case ast.Call(func=ast.Name(id=name), args=[only]) if name in _ROUNDED:
                key, rounding = _ROUNDED[name]
                return self._rounded(key, self.term(only), rounding)
            case ast.Call(func=ast.Name(id=name), args=[first, *others]) if name in _NAMED:
                return self._named(name, self.term(first), [self.term(each) for each in others])
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                name in _CHOSEN and len(arguments) > 1
            ):
                key, chosen = _CHOSEN[name]
                parts = [self.term(argument) for argument in arguments]
                items = self.language.word("formula-and").join(
                    _bracketed(part, part.binding == LOOSE) for part in parts
                )
                return self._worded(key, items, chosen(*(part.value for part in parts)))
        raise _NotArithmetic

    def _name(self, name: str) -> _Term:
        if name in self.inputs:
            figure = self.inputs[name]
            return _Term(name_input(name, figure, self.language, self.show), ATOM, figure.value)
        value = self.constants.get(name)
        if not isinstance(value, int | float | Fraction | str):
            raise _NotArithmetic
        text = value if isinstance(value, str) else self.language.number(value)
        return _Term(self.language.inputs.get(name, NUMBER).replace(NUMBER, text), ATOM, value)

    def _operation(self, left: ast.expr, sign: type[ast.operator], right: ast.expr) -> _Term:
        mark, binding, calculate = _SIGNS[sign]
        first, second = self.term(left), self.term(right)
        if not all(isinstance(part.value, int | float | Fraction) for part in (first, second)):
            raise _NotArithmetic
        before = _bracketed(first, first.binding < binding)
        after = _bracketed(second, second.binding < binding or (second.binding == binding and mark in "−/"))
        return _Term(f"{before} {mark} {after}", binding, calculate(first.value, second.value))

    def _holds(self, test: ast.expr) -> bool:
        match test:
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARED:
                return _COMPARED[type(sign)](self.term(left).value, self.term(right).value)
        return bool(self.term(test).value)

    def _rounded(self, key: str, part: _Term, rounding: Callable[[Any], int]) -> _Term:
        """Return a part that is rounded; the rounding is mentioned where it changes the number."""
        whole = rounding(part.value)
        return part if part.value == whole else self._worded(key, part.text, whole)

    def _named(self, name: str, part: _Term, rest: Sequence[_Term]) -> _Term:
        """Apply a function of the formula's module to a part; it is mentioned where it changes the number."""
        value = self.constants[name](part.value, *(term.value for term in rest))
        if value == part.value:
            return part
        numbers = self.language.word("formula-and").join(term.text for term in rest)
        return _Term(self.language.word(_NAMED[name], items=part.text, numbers=numbers), LOOSE, value)

    def _worded(self, key: str, items: str, value: Any) -> _Term:
        return _Term(self.language.word(key, items=items), LOOSE, value)


def _bracketed(part: _Term, needed: bool) -> str:
    return f"({part.text})" if needed else part.text
