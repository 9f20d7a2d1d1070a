"""The kinds of file that a price book may be, by suffix: YAML, CSV, or the sheet of a workbook."""

from __future__ import annotations

from pathlib import PurePath

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import MAX_CHARACTERS, Source, decoded, read
from bomgen.pricing.books import csv
from bomgen.pricing.books.table import source_of

SEPARATED = (".csv", ".tsv")
XLSX = ".xlsx"
REFUSED = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
"""Price lists come as these, too, and none is YAML."""


def open_book(content: bytes, file: str) -> Source:
    """The data of a price book, with marks; `file` is its name, by whose suffix it is read.

    Raises PlanErrors when the file is not what its suffix says, or of a kind that is not read.
    """
    suffix = PurePath(file).suffix.lower()
    if suffix == XLSX:
        from bomgen.pricing.books import xlsx

        return source_of(xlsx.rows(content, file), file)
    if suffix in REFUSED:
        message = f"'{suffix}' is not a format of price books; save it as .csv, .xlsx or .yaml"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "price-book")])
    text = decoded(content, file)
    if suffix not in SEPARATED:
        return read(text, file)
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text)} characters; a file of at most {MAX_CHARACTERS} is read"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "table-limit")])
    return source_of(csv.rows(text, file), file, text)
