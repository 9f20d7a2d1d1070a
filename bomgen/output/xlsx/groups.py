"""The bill by fabric and role: what the lines of the bill come to, by formulas, checked against its net amount."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import zip_longest

from openpyxl.formatting.rule import Rule
from openpyxl.styles import PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter

from bomgen.core.document import Column
from bomgen.output.xlsx.bill import BillReferences, BillRow, results_of
from bomgen.output.xlsx.cells import (
    AMBER,
    GRAND,
    GRAND_TEXT,
    LABEL,
    NUMBER,
    SHARE_FORMAT,
    TEXT,
    TOTAL_LABEL,
    WHOLE,
    Look,
    decimals_of,
    fixed,
)
from bomgen.output.xlsx.inputs import one_of
from bomgen.output.xlsx.package import Result
from bomgen.output.xlsx.sheet import Sheet

_PIECES, _NET, _SHARE = 3, 4, 5
"""The columns of the table by role behind fabric and role."""
_NAME_WIDTH, _ROLE_WIDTH, _AMOUNT_WIDTH = 26, 24, 16
_WIDTHS_BY_ROLE = (_NAME_WIDTH, _ROLE_WIDTH, *(_AMOUNT_WIDTH,) * 3)
_SUM = NUMBER._replace(bold=True)


def groups(sheet: Sheet, live: BillReferences) -> None:
    """Write the table of fabrics by categories, and that of fabrics and roles."""
    word, currency = sheet.book.language.word, sheet.book.language.unit_of(sheet.book.document.totals.currency)
    by_category = (_NAME_WIDTH, *(_AMOUNT_WIDTH for _ in (*live.subtotals, "sum")))
    sheet.widths = [max(widths) for widths in zip_longest(by_category, _WIDTHS_BY_ROLE, fillvalue=0)]
    texts = word("xlsx-currency", currency=currency), word("xlsx-groups-text")
    sheet.heading(sheet.title, word("list-sentences").join(texts))
    sheet.row += 1
    # What belongs to no fabric comes last, so that the fabrics are one area, which is offered as a list.
    fabrics = sorted(dict.fromkeys(line.fabric for line in live.lines), key=lambda fabric: not fabric)
    if live.lines:
        _category_table(sheet, live, fabrics)
        _role_table(sheet, live, fabrics)


def _category_table(sheet: Sheet, live: BillReferences, fabrics: Sequence[str]) -> None:
    """A row for each fabric and one for what belongs to none, a column for each category."""
    word, form, start = sheet.book.language.word, _amounts(sheet), sheet.row
    categories = list(live.subtotals)
    sheet.subheading(word("xlsx-by-category"))
    titles = [Column(category, category, "money") for category in categories]
    sheet.header((Column("fabric", word("column-fabric")), *titles, Column("sum", word("xlsx-sum"), "money")))
    header, first = sheet.row - 1, sheet.row
    for fabric in fabrics:
        chosen, of_fabric = _fabric(sheet, fabric), [line for line in live.lines if line.fabric == fabric]
        for position, category in enumerate(categories, 2):
            formula = f"SUMPRODUCT({chosen}*EXACT(bom_categories,{get_column_letter(position)}${header}),bom_amounts)"
            amount = _sum(line for line in of_fabric if line.category == category)
            sheet.calculate(position, formula, amount, NUMBER, form)
        formula = f"SUM(B{sheet.row}:{get_column_letter(1 + len(categories))}{sheet.row})"
        sheet.calculate(2 + len(categories), formula, _sum(of_fabric), _SUM, form)
        sheet.row += 1
    sheet.put(1, word("xlsx-sum"), GRAND_TEXT)
    for position, category in enumerate(categories, 2):
        _column_sum(sheet, position, first, _sum(line for line in live.lines if line.category == category), form)
    _column_sum(sheet, 2 + len(categories), first, _sum(live.lines), form)
    sheet.row += 1
    check_sum(sheet, 2 + len(categories))
    sheet.together[start] = sheet.row - 1
    sheet.row += 1
    if named := [row for row, fabric in enumerate(fabrics, first) if fabric]:
        choices = f"{sheet.quoted}!$A${named[0]}:$A${named[-1]}"
        one_of(live.sheet, live.areas["fabric"], word("column-fabric"), choices)


def _role_table(sheet: Sheet, live: BillReferences, fabrics: Sequence[str]) -> None:
    """A row for each role in a fabric: pieces bought, what they come to, and their share."""
    word, form, net = sheet.book.language.word, _amounts(sheet), results_of(sheet.book.document.totals)["net"]
    sheet.subheading(word("xlsx-by-role"))
    sheet.header(
        (
            Column("fabric", word("column-fabric")),
            Column("role", word("column-role")),
            Column("pieces", word("xlsx-pieces"), "number"),
            Column("net", word("xlsx-net"), "money"),
            Column("share", word("xlsx-share"), "share"),
        )
    )
    first, share = sheet.row, f"IF(bom_net=0,0,{get_column_letter(_NET)}{{}}/bom_net)"
    for fabric in fabrics:
        for role in dict.fromkeys(line.role for line in live.lines if line.fabric == fabric):
            lines = [line for line in live.lines if (line.fabric, line.role) == (fabric, role)]
            chosen, amount = _fabric(sheet, fabric), _sum(lines)
            sheet.put(2, role, TEXT)
            chosen += f"*EXACT(bom_roles,B{sheet.row})"
            pieces = f"SUMPRODUCT({chosen}*(bom_quantities+bom_spares))"
            sheet.calculate(_PIECES, pieces, sum(line.pieces for line in lines), NUMBER, WHOLE)
            sheet.calculate(_NET, f"SUMPRODUCT({chosen},bom_amounts)", amount, NUMBER, form)
            sheet.calculate(_SHARE, share.format(sheet.row), float(amount / net) if net else 0, NUMBER, SHARE_FORMAT)
            sheet.row += 1
    sheet.put(1, word("xlsx-sum"), GRAND_TEXT)
    sheet.put(2, None, GRAND_TEXT)
    _column_sum(sheet, _PIECES, first, sum(line.pieces for line in live.lines), WHOLE)
    _column_sum(sheet, _NET, first, _sum(live.lines), form)
    sheet.calculate(_SHARE, share.format(sheet.row), 1 if net else 0, GRAND, SHARE_FORMAT)
    sheet.together[sheet.row] = sheet.row + 1
    sheet.row += 1
    check_sum(sheet, _NET)


def _fabric(sheet: Sheet, fabric: str) -> str:
    """Write the name of a fabric, or that there is none, and return the formula that finds its lines."""
    if not fabric:
        sheet.put(1, sheet.book.language.word("xlsx-no-fabric"), LABEL)
        return 'EXACT(bom_fabrics,"")'
    sheet.put(1, fabric, LABEL)
    return f"EXACT(bom_fabrics,$A{sheet.row})"


def _column_sum(sheet: Sheet, position: int, first: int, result: Result, form: str) -> None:
    """Write the sum of a column from row `first` to the row above."""
    letter = get_column_letter(position)
    sheet.calculate(position, f"SUM({letter}{first}:{letter}{sheet.row - 1})", result, GRAND, form)


def check_sum(sheet: Sheet, position: int) -> None:
    """Write what the sum above and the net amount of the bill differ by: nothing, unless a table lacks lines."""
    decimals = decimals_of(sheet.book.document.totals)
    difference = f"ROUND({get_column_letter(position)}{sheet.row - 1}-bom_net,{decimals})"
    sheet.put(position - 1, sheet.book.language.word("xlsx-difference"), TOTAL_LABEL)
    sheet.mark(position, "xlsx-difference")
    place = sheet.calculate(position, difference, Decimal(0), Look(right=True, wrap=False), fixed(decimals))
    mark = DifferentialStyle(fill=PatternFill(bgColor=AMBER))
    sheet.page.conditional_formatting.add(place, Rule("expression", dxf=mark, formula=[f"{place}<>0"]))
    sheet.row += 1


def _sum(lines: Iterable[BillRow]) -> Decimal:
    return sum((line.amount for line in lines), Decimal(0))


def _amounts(sheet: Sheet) -> str:
    """The format of amounts, nothing as a dash."""
    form = fixed(decimals_of(sheet.book.document.totals))
    return f'{form};-{form};"–"'
