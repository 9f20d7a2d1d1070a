"""What holds for whatever comes in: how problems are told, where marks lie, what is written as it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from bomgen.cli.command import escape_controls
from bomgen.core.diagnostics import Problem, excerpt
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import MAX_DIGITS, MAX_EXPONENT, Source
from bomgen.output.price_lists import scalar

LINE_ENDS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Of YAML 1.1, which the parser counts."""
SHOWN = re.compile(r"[^\x00-\x1f\x7f-\x9f]*:[0-9]+:[0-9]+: (?:error|warning): [^\x00-\x1f\x7f-\x9f]+ \[[a-z][a-z-]*\]")
"""A problem as a terminal has it: one line without control characters."""
EXACT = Context(prec=400)
"""For decimals that end: those of no more than 40 digits with an exponent of at most 60."""


def well_told(problems: Iterable[Problem], texts: Mapping[str, str]) -> None:
    """Every problem is one line `FILE:LINE:COL: ...; what would be right [rule]`, its place within its file."""
    told = list(problems)
    assert told, "refused without a problem"
    for problem in told:
        shown = escape_controls(str(problem))
        assert SHOWN.fullmatch(shown), shown
        assert "; " in problem.message or ": " in problem.message or "?" in problem.message, shown
        if problem.mark.file in texts:
            text = texts[problem.mark.file]
            inside(problem.mark, text)
            for line in excerpt(problem, text):
                assert "\n" not in line


def inside(mark: Mark, text: str) -> None:
    """A mark lies within a text, or right behind its end or that of a line."""
    lines = LINE_ENDS.split(text)
    assert 1 <= mark.line <= len(lines), f"{mark}: there are {len(lines)} lines"
    assert 1 <= mark.column <= len(lines[mark.line - 1]) + 1, f"{mark}: the line has {len(lines[mark.line - 1])}"


def marks_inside(source: Source) -> None:
    """All marks of a source lie within its text."""
    for marks in (source.keys, source.values):
        for mark in marks.values():
            inside(mark, source.text)


def number(value: float | Fraction) -> str | None:
    """A number as YAML has it, exactly; None where it cannot be written in as few digits as are read."""
    value = Fraction(str(value)) if isinstance(value, float) else value
    exact = EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    digits = "".join(map(str, exact.as_tuple().digits)).lstrip("0") or "0"
    sign, power = "-" if value < 0 else "", int(exact.as_tuple().exponent)
    bare = digits.rstrip("0") or "0"
    power += len(digits) - len(bare)
    forms = (
        [str(value.numerator)] if value.denominator == 1 else [f"{exact:f}", re.sub(r"^(-?)0\.", r"\1.", f"{exact:f}")]
    )
    forms += [f"{sign}{bare}e{power}", f"{sign}{bare[0]}.{bare[1:] or '0'}e{power + len(bare) - 1}"]
    powers = ((form, abs(int(form.partition("e")[2] or 0))) for form in forms)
    return min(
        (form for form, power in powers if len(form) <= MAX_DIGITS and power <= MAX_EXPONENT), key=len, default=None
    )


class Unwritten(Exception):
    """A number that was read and has no short form."""


def dumped(data: Any, indent: str = "\n") -> str:
    """Plain data as YAML in flow style, a key a line, texts as the program itself writes them.

    Raises Unwritten for a number that has no form of few digits.
    """
    inner = f"{indent} "
    if isinstance(data, dict):
        each = (f"? {scalar(key)}{inner} : {dumped(value, inner)}" for key, value in data.items())
        return "{" + inner + f",{inner}".join(each) + indent + "}" if data else "{}"
    if isinstance(data, list):
        return "[" + inner + f",{inner}".join(dumped(value, inner) for value in data) + indent + "]" if data else "[]"
    if isinstance(data, bool) or data is None or isinstance(data, str):
        return scalar(data)
    written = number(data)
    if written is None:
        raise Unwritten
    return written


def held(condition: bool, message: Callable[[], str] | str) -> None:
    """Raise AssertionError unless a condition holds; the message may be costly."""
    if not condition:
        raise AssertionError(message if isinstance(message, str) else message())
