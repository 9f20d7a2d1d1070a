"""Languages: the words, sentences and number formats of a document; a language is one file in `data/language/`.

Chapters are written with the words of a language. The output of other stages (warnings, checks, reasons, names of
generic parts) are messages, for which a language has a sentence by their code.

Formulas are put into words with the numbers and units of their inputs, as a reader checks them by hand:
`ceil(units / group_leaves) * rails` becomes `(16 units / 32 leaves per group, rounded up) × 8 rails`. The names of
inputs are in the language file, below `inputs`: `#` is the number, `{value}` the number with its unit, and `|`
separates singular from plural. An expression that is more than arithmetic, such as a search, is described by its inputs
alone.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil, floor, lcm
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from bomgen.core.document import Cell, Table, Value, currency_of
from bomgen.core.messages import ENGLISH, Message, fill, group_digits, message, read_language
from bomgen.core.provenance import Derived, Figure, informative_inputs
from bomgen.core.units import ANY_AMOUNT, JOULES_OF_A_BTU, SECONDS_AN_HOUR, minor_unit

SIGNIFICANT_DIGITS = 4
ROUGH_DIGITS = 2
"""Digits of amounts that are only indications."""
BEST = "★"
"""The sign before the best value of a row."""
LARGE = 10**9
"""Numbers from this one on are written with a power of ten, because their digits carry no information."""
SMALL = Fraction(1, 10**6)
"""Numbers below this one are written with a power of ten as well."""
_SYMBOLS = {"bytes": "B", "bytes/s": "B/s", "FLOP/s": "FLOP/s"}
_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
PREFIXED: Mapping[str, tuple[str, ...]] = {
    **{unit: tuple(prefix + symbol for prefix in _PREFIXES) for unit, symbol in _SYMBOLS.items()},
    "W": ("W", "kW"),
    "kg": ("kg", "t"),
}
"""Units whose values are divided by powers of 1000, and the unit for each power."""
HEAT = "BTU/h"
"""The unit of heat in results: documents show kW, and this unit after it in languages whose readers use it."""
PARTS_OF_A_DAY = {"h": 24, "min": 24 * 60, "s": 24 * 60 * 60}
"""Units for times of less than a day, and how many of them make a day."""
COUNTED = ("parameters", "tokens")
"""Units whose values are abbreviated as is usual in the field: 65B, 1.4T."""
_STEP = 1000
_PREFIXED_FROM: Mapping[str, int] = {"kg": 10**4}
"""The smallest value that is divided, where it is not 1000: scales and load limits of floors are in kg."""
_PREFIX_DIGITS = 3
_PERCENT, _LAST_DIGIT = 100, Decimal("0.0001")
_FINITE = 10**100
"""A share has finitely many digits if its denominator divides this number."""
_HALF = Fraction(1, 2)
_BASE = 10
_DAYS = "days"
_SHARE = "share"
_POINTS = "points"
_WORD = "word"
"""The unit of values that are words of the plan, which a language may translate; other text is kept."""
NOTE = "note-"
"""Prefix of the code of a sentence for the customer about a warning."""
_KEPT = ("key", "id", "cell")
"""Names of message parameters that are never translated, because they are text of the plan or of a table."""
_FABRIC = "fabric"
"""The name of message parameters that are fabrics, which documents name by their role."""
_BETWEEN_IDEOGRAPHS = re.compile("(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
"""A space between two ideographs: sentences put one around Latin letters, but Chinese and Japanese names need none."""
_BESIDE_LATIN = re.compile("(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[\u4e00-\u9fff])")
"""Where an ideograph meets a Latin letter or a digit, which stand apart, whether or not the sentence knew of them."""
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Language(NamedTuple):
    """Words by key, words for units, and how numbers and dates are written."""

    code: str
    words: Mapping[str, str]
    units: Mapping[str, str]
    thousands: str
    point: str
    date_format: str
    month_format: str
    messages: Mapping[str, str] = MappingProxyType({})
    """The sentences of messages, by code."""
    records: Mapping[str, str] = MappingProxyType({})
    """The translated texts of records, by their path in the record."""
    inputs: Mapping[str, str] = MappingProxyType({})
    """The names of the inputs and constants of formulas."""
    font: str | None = None
    """The font of workbooks, where a language needs a special one."""
    one: Mapping[str, str] = MappingProxyType({})
    """The singular form of a unit, for the number 1."""
    percent: str = " %"
    """The sign after a percentage, with the space before it."""
    short: Mapping[str, int] = MappingProxyType({})
    """The abbreviations of large counts, and what each stands for."""
    day_places: int | None = None
    """Decimal places of a number of days; None for as many as other numbers have."""
    currencies: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """Of currencies that are not written with their code: the `sign` before an amount and the `unit` of a column."""
    heat: bool = False
    """Whether heat is shown in BTU/h beside kW."""
    large: Mapping[str, int] = MappingProxyType({})
    """The words for large amounts, and the factor of each."""

    def word(self, key: str, **values: object) -> str:
        """Return the text of a key with `values` filled in. Raises KeyError for a key that the language file lacks."""
        return self.words[key].format(**values)

    def message(self, text: str) -> str:
        """Return a message in this language; other text, such as a user's or a proper name, is returned unchanged.

        Raises KeyError for a message that the language has no sentence for.
        """
        if not isinstance(text, Message) or self.code == ENGLISH:
            return text
        if "/" in text.code:
            return self.records.get(text.code, text)
        comma = self.words["list-comma"]
        sentence = fill(self.messages[text.code], text.parameters, self._filled, comma, self.thousands, self.point)
        return spaced(sentence)

    def note(self, text: str) -> str | None:
        """Return the sentence for the customer about a warning; None for warnings that concern the seller alone.

        A warning is for the customer if the language has a sentence for it, under the warning's code with a prefix.
        """
        if not isinstance(text, Message) or (sentence := self.messages.get(f"{NOTE}{text.code}")) is None:
            return None
        comma = self.words["list-comma"]
        return fill(sentence, text.parameters, self._filled, comma, self.thousands, self.point)

    def _filled(self, parameter: str, text: str) -> str:
        if isinstance(text, Message):
            return self.message(text)
        if parameter in _KEPT:
            return text
        named = self.words.get(f"compare-{text}") if parameter == _FABRIC else None
        return str(named or self.words.get(f"value-{text}", text))

    def unit(self, unit: str, value: Value = None) -> str:
        """Return the form of a unit that follows a value."""
        if value == 1 and unit in self.one:
            return self.one[unit]
        return self.units.get(unit, unit)

    def integer(self, number: int) -> str:
        """Return an integer, its thousands separated."""
        return group_digits(number, self.thousands)

    def number(self, value: int | float | Fraction) -> str:
        """Return a readable number: integers exactly, huge ones as a power of ten, others to four digits.

        A half is rounded up, as in a workbook.
        """
        size = -value if value < 0 else value
        if isinstance(value, int) and size < LARGE:
            return self.integer(value)
        if size >= LARGE or 0 < size < SMALL:
            mantissa, _, exponent = _scientific(value).partition("e")  # 5.46 × 10²³
            digits = mantissa.rstrip("0").rstrip(".").replace(".", self.point)
            return f"{digits} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}"
        if value == int(value):
            return self.integer(int(value))
        places = max(SIGNIFICANT_DIGITS - 1 - _magnitude(value), 0)
        text = f"{Decimal(floor(Fraction(size) * _BASE**places + _HALF)).scaleb(-places):,f}"
        text = f"-{text}" if value < 0 else text
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return self._grouped(text)

    def share(self, value: int | float | Fraction) -> str:
        """Return a share as a percentage."""
        return f"{self.number(Fraction(value) * _PERCENT)}{self.percent}"

    def rough_share(self, value: Fraction) -> str:
        """Return a share as a percentage to one decimal; smaller ones are written as less than the smallest."""
        steps = round(value * _STEP)
        smaller = "< " if value and not steps else ""
        return smaller + self.share(Fraction(max(steps, 1 if smaller else 0), _STEP))

    def relative(self, change: Fraction, base: Fraction) -> str:
        """Return a change relative to its base as a percentage to one decimal; empty where the base is 0."""
        if not base:
            return ""
        tenths = round(abs(change / base) * _STEP)
        if not tenths and change:
            return f"< 0{self.point}1{self.percent}"
        return f"{_sign(change)}{tenths // _BASE}{self.point}{tenths % _BASE}{self.percent}"

    def exact_share(self, share: Fraction) -> str:
        """Return a share as a percentage with all its digits; if they are infinite, with four of them."""
        percent = Decimal(share.numerator) * _PERCENT / Decimal(share.denominator)
        if _FINITE % share.denominator:
            percent = percent.quantize(_LAST_DIGIT)
        return f"{percent.normalize():f}{self.percent}".replace(".", self.point)

    def money(self, amount: Decimal, currency: str) -> str:
        """Return an amount with its currency, to the minor unit."""
        if sign := self.sign_of(currency):
            return f"{'-' if amount < 0 else ''}{sign}{self.amount(abs(amount), currency)}"
        return f"{self.amount(amount, currency)} {currency}".rstrip()

    def sign_of(self, currency: str) -> str:
        """Return the sign before amounts of a currency; empty where its code stands behind them."""
        return self.currencies.get(currency, {}).get("sign", "")

    def unit_of(self, currency: str) -> str:
        """Return what names a currency in the heading of its amounts."""
        return self.currencies.get(currency, {}).get("unit", currency)

    def heading(self, table: Table, index: int) -> str:
        """Return the title of a column, with its currency where it has one."""
        title, currency = table.columns[index].title, currency_of(table, index)
        return self.beside(title, self.unit_of(currency))

    def rough_range(self, low: Decimal, high: Decimal, currency: str) -> str:
        """Return a range of amounts, widened to two digits: `0.56 to 2.5 million USD`; one alone if both are equal."""
        outwards = (ROUND_HALF_UP, ROUND_HALF_UP) if low == high else (ROUND_FLOOR, ROUND_CEILING)
        ends = list[Fraction]()
        for end, rounding in zip((low, high), outwards, strict=True):
            step = Decimal(1).scaleb(end.adjusted() + 1 - ROUGH_DIGITS)
            ends.append(Fraction((end / step).to_integral_value(rounding) * step))
        fitting = (scale_and_size for scale_and_size in self.large.items() if scale_and_size[1] <= ends[1])
        scale, size = max(fitting, key=itemgetter(1), default=("", 1))
        low_text, high_text = (self.number(end / size) for end in ends)
        text = low_text if low_text == high_text else self.word("range-ends", low=low_text, high=high_text)
        return spaced(f"{text}{scale} {self.unit_of(currency)}")

    def amount(self, amount: Decimal, currency: str) -> str:
        """Return an amount to the minor unit of a currency that is named elsewhere."""
        return self._grouped(f"{amount.quantize(minor_unit(currency), ROUND_HALF_UP, ANY_AMOUNT):,f}")

    def unit_price(self, amount: Decimal, currency: str) -> str:
        """Return a unit price to the minor unit of a currency that is named elsewhere, or finer if the price is."""
        exact = Decimal(1).scaleb(int(amount.normalize(ANY_AMOUNT).as_tuple().exponent))
        return self._grouped(f"{amount.quantize(min(minor_unit(currency), exact), context=ANY_AMOUNT):,f}")

    def beside(self, text: str, more: str) -> str:
        """Return a text with more in brackets behind it, if there is more."""
        return self.word("in-brackets", text=text, more=more) if more else text

    def date(self, iso: str) -> str:
        """Return a date, given in ISO form."""
        return self._dated(iso, self.date_format)

    def ages(self, dates: Sequence[str]) -> str:
        """Return the months of the median and of the oldest of ISO dates in order; one alone if they are the same."""
        oldest, middle = (self._dated(iso, self.month_format) for iso in (dates[0], dates[len(dates) // 2]))
        return oldest if oldest == middle else self.word("median-and-oldest", median=middle, oldest=oldest)

    def _dated(self, iso: str, form: str) -> str:
        year, month, day = iso.split("-")
        month_name = self.words[f"month-{month}"]
        return form.format(year=int(year), month=int(month), day=int(day), month_name=month_name)

    def value(self, value: Value, unit: str = "", estimate: tuple[Value, Value] | None = None) -> str:
        """Return any value with its unit, an estimate with its range; an unknown value is a dash."""
        text = self.bare(value, unit) if estimate and unit == HEAT else self._plain(value, unit)
        return self.about(text, estimate, lambda end: self.bare(end, unit))

    def bare(self, value: Value, unit: str) -> str:
        """Return a value without its unit, which the text around it names, unless the number is scaled by it."""
        if isinstance(value, Decimal):
            return self.amount(value, unit)
        return self._plain(*as_power(value, unit)) if unit in PREFIXED or unit == HEAT else self._plain(value, "")

    def about(self, text: str, estimate: tuple[Value, Value] | None, write: Callable[[Any], str]) -> str:
        """Return the text of a value; for an estimate with its range, whose ends `write` formats."""
        if estimate is None:
            return text
        low, high = map(write, estimate)
        if low == high:  # to the digits shown
            return text
        return self.message(message("estimate", amount=text, low=low, high=high))

    def _plain(self, value: Value, unit: str) -> str:
        if value is None:
            return "–"
        if isinstance(value, str):
            return self.words.get(f"value-{value}", value) if unit == _WORD else value
        if isinstance(value, Decimal):
            return self.money(value, unit)
        if unit == _SHARE:
            return self.share(value)
        if unit == HEAT:
            power = self._plain(*as_power(value, unit))
            return self.beside(power, f"{self.number(round(value))} {unit}" if self.heat else "")
        if is_prefixed(value, unit):
            step = steps_of(value, unit)
            symbol = PREFIXED[unit][step]
            return f"{self.number(Fraction(value) / _STEP**step)} {self.units.get(symbol, symbol)}"
        if unit == _DAYS and 0 < value < 1:
            fitting = (part for part, parts in PARTS_OF_A_DAY.items() if value * parts >= 1)
            part = next(fitting, list(PARTS_OF_A_DAY)[-1])
            return f"{self.number(Fraction(value) * PARTS_OF_A_DAY[part])} {self.unit(part)}"
        if unit == _DAYS and self.day_places is not None:
            value = round(Fraction(value), self.day_places)
        if unit in COUNTED and value >= _STEP**2:
            return f"{self._short(value)} {self.unit(unit)}".rstrip()
        return f"{self.number(value)} {self.unit(unit, value)}".rstrip()

    def shown(self, figure: Figure) -> str:
        """Return a figure's value with its unit; words and shapes unchanged."""
        if isinstance(figure.value, bool | str | tuple):
            return str(figure.value)
        return self.value(figure.value, figure.unit, figure.bounds)

    def cell(self, cell: Cell, named: bool = True) -> str:
        """Return a cell's value with its unit; an amount has its currency only if `named`."""
        if cell.base is not None and not isinstance(cell.value, str | None):
            return self._change(cell, cell.value, cell.base, named)
        if isinstance(cell.value, Decimal) and not named:
            text = self.about(self.amount(cell.value, cell.unit), cell.estimate, lambda end: self.bare(end, cell.unit))
        else:
            text = self.value(cell.value, cell.unit, cell.estimate)
        text = self.word("ui-at-least", amount=text) if cell.least and cell.value is not None else text
        return f"{BEST} {text}" if cell.best else text

    def figure(self, cell: Cell) -> tuple[str, str]:
        """Return a cell's value with its unit, and the range of an estimate, which is empty for other values."""
        value = self.cell(replace(cell, estimate=None))
        if cell.estimate is None:
            return value, ""
        low, high = (self.value(end, cell.unit) for end in cell.estimate)
        return value, "" if low == high else self.word("range-ends", low=low, high=high)

    def _change(self, cell: Cell, change: int | float | Fraction | Decimal, base: Value, named: bool) -> str:
        """Return a change with its sign and relative to its base; that of a percentage in percentage points."""
        if cell.unit == _SHARE:
            return f"{_sign(change)}{self._plain(abs(Fraction(change)) * _PERCENT, _POINTS)}"
        text = _sign(change) + self.cell(replace(cell, value=-change if change < 0 else change, base=None), named)
        share = "" if isinstance(base, str | None) else self.relative(Fraction(change), Fraction(base))
        return self.beside(text, share)

    def _grouped(self, text: str) -> str:
        whole, _, decimals = text.partition(".")
        return whole.replace(",", self.thousands) + (self.point + decimals if decimals else "")

    def _short(self, value: int | float | Fraction) -> str:
        """`65B`."""
        rounded = Fraction(_scientific(value))
        sign, size = max((scale for scale in self.short.items() if scale[1] <= rounded), key=lambda scale: scale[1])
        return f"{self.number(Fraction(value) / size)}{sign}"


def spaced(sentence: str) -> str:
    """Return a sentence with the spaces of Chinese: one beside Latin letters, none between ideographs."""
    return _BESIDE_LATIN.sub(" ", _BETWEEN_IDEOGRAPHS.sub("", sentence))


def is_prefixed(value: Value, unit: str) -> bool:
    """Return whether a value is shown with a prefixed unit such as GB, so that the unit follows the number."""
    if unit not in PREFIXED or not isinstance(value, int | float | Fraction):
        return unit == HEAT
    start = _PREFIXED_FROM.get(unit, _STEP)
    return not -start < value < start


def steps_of(value: int | float | Fraction, unit: str) -> int:
    """Return the power of 1000 that a value with a prefixed unit is divided by."""
    return min(_magnitude(value) // _PREFIX_DIGITS, len(PREFIXED[unit]) - 1)


def as_power(value: Value, unit: str) -> tuple[Value, str]:
    """Return heat as power in W, and any other value and unit unchanged."""
    if unit != HEAT or not isinstance(value, int | float | Fraction):
        return value, unit
    return Fraction(value) * JOULES_OF_A_BTU / SECONDS_AN_HOUR, "W"


def _sign(change: int | float | Fraction | Decimal) -> str:
    return "+" if change > 0 else "-" if change < 0 else ""


def _scientific(value: int | float | Fraction) -> str:
    """Return `1.234e+5`, for numbers beyond the range of a float as well."""
    exact = Fraction(value)
    quotient = Decimal(exact.numerator) / Decimal(exact.denominator)
    return f"{quotient:.{SIGNIFICANT_DIGITS - 1}e}"


def _magnitude(value: int | float | Fraction) -> int:
    """Return the power of ten of a number's first digit, after rounding."""
    return int(_scientific(value).partition("e")[2])


def language(code: str = ENGLISH) -> Language:
    """Return the language of a code. Raises BrokenInstallation when its file is missing or incomplete."""
    data = read_language(code)
    return Language(code=code, **{"large": data["short"], **data})


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
            case ast.IfExp(test=ast.Compare(left=left, ops=[sign], comparators=[right]), body=body, orelse=other) if (
                type(sign) in _COMPARED
            ):
                holds = _COMPARED[type(sign)](self.term(left).value, self.term(right).value)
                return self.term(body if holds else other)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.term(body if self.term(test).value else other)
            case ast.Call(func=ast.Name(id=name), args=[only]) if name in _ROUNDED:
                key, rounding = _ROUNDED[name]
                return self._rounded(key, self.term(only), rounding)
            case ast.Call(func=ast.Name(id=name), args=[first, *others]) if name in _NAMED:
                return self._named(name, self.term(first), [self.term(operand) for operand in others])
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
