"""What the reader of a workbook may type, and the names and prices that formulas follow from it."""

from __future__ import annotations

from openpyxl.worksheet.datavalidation import DataValidation

from bomgen.core.language import Language
from bomgen.output.xlsx.cells import cut
from bomgen.output.xlsx.sheet import Sheet

_MAX_TITLE = 32
_MAX_TEXT = 225
"""What Excel takes as the title and the text of a prompt or refusal."""


def whole_numbers(sheet: Sheet, area: str, title: str) -> None:
    """Let an area take whole numbers of 0 or more."""
    rule = DataValidation("whole", operator="greaterThanOrEqual", formula1="0")
    _add(sheet, area, rule, title, "pieces")


def amounts(sheet: Sheet, area: str, title: str) -> None:
    """Let an area take amounts of 0 or more."""
    _add(sheet, area, DataValidation("decimal", operator="greaterThanOrEqual", formula1="0"), title, "price")


def shares(sheet: Sheet, area: str, title: str, of: str) -> None:
    """Let an area take shares of 0 to 1; `of` is the word for what they are taken of."""
    _add(sheet, area, DataValidation("decimal", operator="between", formula1="0", formula2="1"), title, of)


def one_of(sheet: Sheet, area: str, title: str, choices: str) -> None:
    """Let an area take what stands in the cells of another, which are offered as a list."""
    _add(sheet, area, DataValidation("list", formula1=choices), title, "choice")


def _add(sheet: Sheet, area: str, rule: DataValidation, title: str, of: str) -> None:
    words, currency = sheet.book.language, sheet.book.document.totals.currency
    rule.allow_blank = rule.showInputMessage = rule.showErrorMessage = True
    rule.promptTitle = rule.errorTitle = cut(title, _MAX_TITLE)
    rule.prompt = _text(words, f"xlsx-prompt-{of}", currency)
    rule.error = _text(words, f"xlsx-error-{of}", currency)
    rule.add(area)
    sheet.page.add_data_validation(rule)


def _text(words: Language, key: str, currency: str) -> str:
    return cut(words.word(key, currency=currency), _MAX_TEXT)
