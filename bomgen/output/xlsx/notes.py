"""Notes of cells: the derivation of a number in short, for readers who do not follow its link."""

from __future__ import annotations

from openpyxl.comments import Comment

from bomgen.core.document import Derivation, Step
from bomgen.core.language import Language
from bomgen.output.xlsx.cells import clean, cut, more_lines

AUTHOR = "bomgen"
_MOST_STEPS = 8
"""Longer derivations are for the sheet of derivations."""
_MOST_LETTERS = 140
"""Of a step: formulas are shorter, sources of figures are named on the sheet in full."""
_INDENT = "   "
_WIDTH = 420
"""[pixels]"""
_LETTERS = 56
"""What a line of that width holds."""
_LINE = 17
"""The height of a line [pixels]."""


def comment(text: str) -> Comment:
    """A note large enough for its text."""
    shown = clean(text)
    return Comment(shown, AUTHOR, (more_lines(shown, _LETTERS) + 2) * _LINE, _WIDTH)


def summarize(derivation: Derivation, language: Language) -> str:
    """The first steps of a derivation, one a line: name, value and where it comes from."""
    steps = [_step(step, language) for step in derivation.steps[:_MOST_STEPS]]
    missing = len(derivation.steps) - len(steps)
    more = [language.word("xlsx-more-steps", count=missing)] if missing else []
    return "\n".join((derivation.title, *steps, *more))


def _step(step: Step, language: Language) -> str:
    text = f"{_INDENT * step.depth}{step.name} = {language.value(step.value, step.unit, step.estimate)}: {step.origin}"
    return cut(text, _MOST_LETTERS)
