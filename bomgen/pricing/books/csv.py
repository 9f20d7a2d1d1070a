"""CSV text as rows of cells, each with the line and column that it begins at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bomgen.core.csv_fields import FORMULA_STARTS
from bomgen.core.diagnostics import LINE_END, PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.pricing.books.table import Cell

SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"')
_BLANKS = re.compile(" *")


def rows(text: str, file: str) -> Iterator[Sequence[Cell]]:
    """The rows of CSV (RFC 4180), separated by what its first row is: a comma, a semicolon or a tab.

    Blanks around a field are left out, and the apostrophe that keeps a text from being run as a formula. Raises
    PlanErrors for quotes that do not match.
    """
    text = text.removeprefix("\ufeff")
    separator = _separator(text)
    plain = re.compile(rf"[^{separator}\r\n]*")
    at, line, start = 0, 1, 0
    row: list[Cell] = []
    while at < len(text):
        at = _end(_BLANKS, text, at)
        mark = Mark(file, line, at - start + 1)
        if text[at : at + 1] == '"':
            found = _QUOTED.match(text, at)
            if found is None:
                raise _broken(mark, 'an unclosed quote "; close it, or write it twice to mean itself')
            value = found[1].replace('""', '"')
            for end in LINE_END.finditer(text, at, found.end()):
                line, start = line + 1, end.end()
            at = _end(_BLANKS, text, found.end())
        else:
            end_of_field = _end(plain, text, at)
            value, at = text[at:end_of_field], end_of_field
        row.append(Cell(_unescape_formula(value.replace("\r\n", "\n").strip()), mark))
        if text[at : at + 1] == separator:
            at += 1
            if at < len(text):
                continue
        end_of_line = LINE_END.match(text, at)
        if end_of_line is None and at < len(text):
            message = 'text after a closing quote "; write a quote within quotes twice'
            raise _broken(Mark(file, line, at - start + 1), message)
        yield row
        row = []
        if end_of_line:
            at = end_of_line.end()
            line, start = line + 1, at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what a pattern finds at a place ends."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _separator(text: str) -> str:
    """What stands most often between the words of the first row that has any."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(SEPARATORS, key=first.count)


def _unescape_formula(text: str) -> str:
    """A text without the apostrophe that keeps it text in a spreadsheet."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA_STARTS) else text


def _broken(mark: Mark, message: str) -> PlanErrors:
    return PlanErrors([Problem(mark, "error", message, "csv")])
