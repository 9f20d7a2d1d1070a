"""Human quantities of every kind: exact, signed, larger with a larger suffix, and the same when written out."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from oracles import held, number

from bomgen.core.language import language
from bomgen.core.units import _UNITS, Exact, parse
from bomgen.core.yaml_source import MAX_DIGITS

MOST_BYTES = 96
UNITS = tuple(sorted(_UNITS))
TOKENS = (
    *sorted({suffix for unit in _UNITS.values() for suffix in unit.scales if suffix}),
    *("1e60", "1e-60", "1_000", " ", "_", ".", ":", "3:2", "+", "-", "\u0661", "\u00b2", "\u066a", "\u00a0", "9" * 41),
)
ROUGH = Fraction(6, 1000)
"""What is shown has four digits."""
GROUPED = ","


def seeds() -> Iterator[bytes]:
    """Every unit with every suffix that it has, and the examples of its messages."""
    for at, unit in enumerate(UNITS):
        for suffix in _UNITS[unit].scales:
            yield bytes([at]) + f"1.5 {suffix}".encode()
        for example in _UNITS[unit].example.replace(", ", " or ").split(" or "):
            yield bytes([at]) + example.encode()


def run(data: bytes) -> None:
    """Parse the text behind the first byte, which says the unit."""
    if not data:
        return
    unit = UNITS[data[0] % len(UNITS)]
    text = data[1:].decode("utf-8", "replace")
    try:
        value = parse(text, unit)
    except ValueError as error:
        held("; " in str(error), str(error))
        return
    _exact(value)
    held(parse(f"  {text} ", unit) == value, "blanks around it change it")
    if text.lstrip()[:1].isdigit() and ":" not in text and len(text) < MAX_DIGITS:
        held(parse(f"-{text.lstrip()}", unit) == -value, "the sign is lost")
    held(value >= 0 or text.lstrip().startswith("-"), "a sign from nowhere")
    _written_out(value, unit)
    _shown(value, unit)


def _exact(value: Exact) -> None:
    held(type(value) in (int, Fraction), f"{value!r} is not exact")
    held(not isinstance(value, Fraction) or value.denominator > 1, f"{value!r} is a whole number")
    float(value)


def _written_out(value: Exact, unit: str) -> None:
    """Written in any of its units a quantity is the same again; a larger unit means more."""
    parsed = []
    for suffix, scale in sorted(_UNITS[unit].scales.items(), key=lambda entry: entry[1]):
        share = Fraction(value) / scale
        if set(_primes(share.denominator)) <= {2, 5} and (written := number(share)):
            held(parse(f"{written}{suffix}", unit) == value, lambda: f"{written}{suffix} is not {value}")  # noqa: B023
        parsed.append(parse(f"2 {suffix}", unit))
    held(parsed == sorted(parsed), "a larger unit means less")


def _primes(number: int) -> Iterator[int]:
    """2 and 5 as far as they divide a number, and what is left of it."""
    for prime in (2, 5):
        while number % prime == 0:
            yield prime
            number //= prime
    if number > 1:
        yield number


def _shown(value: Exact, unit: str) -> None:
    """What is shown to people can be typed again, as far as it is a quantity of its unit; it is about the same."""
    shown = language("en").value(value, unit).replace(GROUPED, "")
    try:
        again = parse(shown, unit)
    except ValueError:
        return
    held(abs(again - value) <= ROUGH * abs(value), lambda: f"{value} is shown as {shown}, which is {again}")
