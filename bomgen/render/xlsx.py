"""The report as an Excel workbook that goes on calculating: change a quantity or a price, and the totals follow."""

from __future__ import annotations

from collections.abc import Sequence

from bomgen.document import Cell, Column, Derivation, Document, Note, Section, Step, Table
from bomgen.language import Language
from bomgen.render.xlsx_bill import Bill, bill, summary
from bomgen.render.xlsx_finish import package
from bomgen.render.xlsx_sheet import (
    CAPTION,
    GROUP,
    HEADING,
    LABEL,
    NUMBER,
    PARAGRAPH,
    PATH,
    TABLE_BAND,
    TEXT,
    WARNING,
    Book,
    Look,
    Sheet,
)
from bomgen.render.xlsx_text import number_format

_BILL = "bill"
"""The section whose one table is the bill."""
_SUMMARY_WIDTHS = (34, 26, 16, 24)
_MAX_INDENT = 15


def workbook(document: Document, language: Language) -> bytes:
    """A document with a summary, a bill and derivations in; the bytes of an .xlsx file out.

    Equal documents give equal bytes.
    """
    book = Book(document, language)
    cover = book.sheet(document.section("summary").title)
    pages = [(section, book.sheet(section.title)) for section in document.sections if section.tables]
    derivations = document.section("derivations")
    _derivations(book.sheet(derivations.title), derivations)
    live = next(bill(sheet, section) for section, sheet in pages if section.id == _BILL)
    for section, sheet in pages:
        if section.id != _BILL:
            _tables(sheet, section)
    _summary(cover, document.section("summary"), live)
    for sheet in book.sheets:
        sheet.finish()
    return package(book.workbook, book.results)
