"""What the sheets of a workbook hold besides the tables of a document: sums, subtotals and groups of its bill.

A cell has the formula by which it follows what the reader changes in the bill, and the value of the document. Formulas
refer to columns and sums of the bill by their defined names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.document import Cell, Column, Document, Row, Section, Table, group_by, row_of
from bomgen.core.language import Language
from bomgen.core.units import Tax, Totals
from bomgen.documents.tables import (
    HEADING,
    NET,
    TAX,
    TOTAL,
    amount_of,
    columns_of,
    decimal_places,
    literal,
    make_table,
    rate_names,
    reference,
    splice,
)
from bomgen.plan.commercial_terms import CHARGED
from bomgen.pricing.quote import MIN_PRICED, WITH_GPUS
from bomgen.reading.quote_workbook import INCLUSIVE

HARDWARE = "hardware"
"""The column of what each line adds to the hardware, where a charge is a share of that."""
COLUMN_NAMES = {
    "category": "bom_categories",
    "fabric": "bom_fabrics",
    "role": "bom_roles",
    "sku": "bom_part_numbers",
    "description": "bom_descriptions",
    "quantity": "bom_quantities",
    "spare": "bom_spares",
    "unit_price": "bom_prices",
    "discount": "bom_discounts",
    "amount": "bom_amounts",
    HARDWARE: "bom_hardware_amounts",
}
"""The defined names of columns of the bill."""
HARDWARE_NAME, SHARE_NAME = "bom_hardware", "bom_share_{}"
"""The defined names of what the hardware comes to, and of the numbered shares of it that are charged."""
TAX_NAME = "bom_tax"
"""The defined name of the tax; several are numbered."""
UNPRICED, RATE = "unpriced", "rate"
"""Keys of sums that only a workbook has: the lines without a price, and a tax rate, which its reader may change."""
SUBTOTAL = "subtotal"
"""Key of what a category comes to; its name is this with the number of the category."""
MAY_BE_UNKNOWN = ("list", NET, TOTAL)
"""Keys of the sums that are no price while no line has one."""
_SUM_OF_SHOWN = 109
"""The function number of SUBTOTAL for the sum of rows that no filter hides and nobody hid by hand."""
_DESCRIBED = ("vendor", "part", "description")
"""The columns by which a part is the same on two lists."""


class BillLine(NamedTuple):
    """A line of the bill, as its sheet shows it; the amount is None without a price."""

    category: str
    fabric: str
    role: str
    pieces: int
    amount: Decimal | None
    share: Fraction | None
    """The share of the hardware that is charged; None for other lines."""
    hardware: bool
    """Whether percentage charges apply to it."""


def bill_lines(table: Table, language: Language) -> list[BillLine]:
    """Return the lines of a bill."""
    charges = {language.word(f"category-{category}") for category in CHARGED}
    keys, lines = [column.key for column in table.columns], []
    for row in table.rows:
        cells = dict(zip(keys, row.cells, strict=True))
        amount = cells["amount"].value if isinstance(cells["amount"].value, Decimal) else None
        share = cells["unit_price"].share_of_hardware
        hardware = share is None and amount is not None and row.group not in charges and not row.in_stock
        pieces = sum(int(value) for key in ("quantity", "spare") if isinstance(value := cells[key].value, int))
        fabric, role = (str(cells[key].value or "") if key in cells else "" for key in ("fabric", "role"))
        lines.append(BillLine(row.group or "", fabric, role, pieces, amount, share, hardware))
    return lines


def sum_of(lines: Iterable[BillLine]) -> Decimal:
    """Return what the priced lines come to."""
    return sum((line.amount for line in lines if line.amount is not None), Decimal(0))


# below the bill -----------------------------------------------------------------------------------------------------


def subtotals(lines: Sequence[BillLine], language: Language) -> Iterator[LiveSum]:
    """Yield the sum of the visible lines, and that of each category.

    They stand below the lines, not between them, so that the lines can be sorted and filtered.
    """
    word = language.word
    visible = Cell(sum_of(lines), formula=f"SUBTOTAL({_SUM_OF_SHOWN},bom_amounts)")
    yield LiveSum("shown", "", Cell(word("xlsx-shown")), visible, "xlsx-shown")
    its = f"EXACT(bom_categories,{reference('label')})"
    known = f"SUMPRODUCT(--{its},bom_amounts)"
    unpriced = f"SUMPRODUCT({its}*ISNUMBER(bom_amounts))<SUMPRODUCT(--{its})"
    formula = f"IF(AND({known}=0,{unpriced}),{literal(word('xlsx-no-price'))},{known})"
    for number, (category, of_category) in enumerate(group_by(lines, lambda line: line.category).items()):
        # What is in stock costs nothing, whether or not the rest has a price.
        amount, lacking = sum_of(of_category), any(line.amount is None for line in of_category)
        result = word("xlsx-no-price") if lacking and not amount else amount
        yield LiveSum(SUBTOTAL, f"{SUBTOTAL}-{number}", Cell(category), Cell(result, formula=formula))


def hardware_shares(table: Table, lines: Sequence[BillLine], language: Language) -> Iterator[LiveSum]:
    """Yield what the hardware comes to, and the share of it that each charge is, such as freight.

    What the hardware comes to must not be taken of the column of amounts, which the charges themselves stand in: a
    formula would depend on itself. It has a column of its own, which is empty at charges and folded away.
    """
    hardware = Cell(sum_of(line for line in lines if line.hardware), formula=f"SUM({COLUMN_NAMES[HARDWARE]})")
    yield LiveSum(HARDWARE, HARDWARE_NAME, Cell(language.word("xlsx-hardware")), hardware)
    name = [column.key for column in table.columns].index("description")
    charged = ((row, line.share) for row, line in zip(table.rows, lines, strict=True) if line.share is not None)
    for number, (row, share) in enumerate(charged, 1):
        label = Cell(language.word("xlsx-share-of-hardware", name=row.cells[name].value))
        of_charge = "xlsx-share-of-hardware", (row.id or "", "share")
        yield LiveSum("share", SHARE_NAME.format(number), label, Cell(share, "share"), *of_charge)


def line_hardware(language: Language, in_stock: bool = False) -> str:
    """Return the formula of what a line adds to the hardware; nothing if it is in stock and nobody gave it a price."""
    amount, category = reference("amount"), reference("category")
    others = [f"EXACT({category},{literal(language.word(f'category-{charged}'))})" for charged in CHARGED]
    others += [f"{reference('unit_price')}=0"] if in_stock else []
    return f'IF(OR(NOT(ISNUMBER({amount})),{",".join(others)}),"",{amount})'


def share_price(number: int, currency: str) -> str:
    """Return the formula of the price of a charge that is a numbered share of the hardware."""
    share = SHARE_NAME.format(number)
    unknown = f'OR({share}="",COUNT({COLUMN_NAMES[HARDWARE]})=0)'
    return f'IF({unknown},"",ROUND({share}*{HARDWARE_NAME},{decimal_places(currency)}))'


class LiveSum(NamedTuple):
    """A line below the bill of a workbook: a sum, or a share that its reader may change."""

    key: str
    name: str
    """Its defined name, or that by which other formulas refer to it."""
    label: Cell
    cell: Cell
    """Without a formula it is an input."""
    mark: str = ""
    """What `bomgen apply` knows it by: a key of `CELLS`."""
    steps: tuple[str | int, ...] = ()
    """The steps behind its path in the plan."""


def live_sums(document: Document, language: Language, listed: int) -> Iterator[LiveSum]:
    """Yield the sums below the bill of a workbook, also those that are 0; `listed` are the lines of the bill.

    Of several tax rates, each has its own input, net amount and tax; the first is that of all lines that no other has.
    """
    totals, word, currency = document.totals, language.word, document.totals.currency
    decimals, rates, several = decimal_places(currency), rate_names(totals), len(totals.taxes) > 1
    unpriced = 'SUMPRODUCT((bom_quantities<>"")*(bom_prices=""))'
    # A price may be an empty text, which no product can take: each line is looked at before it is multiplied.
    of_list = f"SUM(IF(ISNUMBER(bom_prices),ROUND((bom_quantities+bom_spares)*bom_prices,{decimals}),0))"
    discount, net = f"ROUND(bom_list-SUM(bom_amounts),{decimals})", f"ROUND(bom_list-bom_discount,{decimals})"
    amount = f"ROUND(bom_net+bom_tax,{decimals})"
    count = Cell(totals.lines - totals.priced_lines, formula=unpriced)
    yield LiveSum(UNPRICED, "bom_unpriced", Cell(word("xlsx-unpriced")), count)
    whole = _least_label(word("xlsx-list"), totals, language)
    yield LiveSum("list", "bom_list", whole, Cell(totals.list, currency, formula=f"{{{of_list}}}"))
    less = Cell(totals.discount, currency, formula=discount)
    yield LiveSum("discount", "bom_discount", Cell(word("xlsx-discount")), less)
    label = _least_label(word("xlsx-net"), totals, language)
    yield LiveSum(NET, "bom_net", label, Cell(totals.net, currency, formula=net))
    names = [
        word("list-comma").join(word(f"category-{category}") for category in part.categories)
        or word("xlsx-other-lines")
        for part in totals.taxes
    ]
    for index, name in enumerate(rates):
        rate = Cell(totals.taxes[index].share if totals.taxes else None, "share")
        label = Cell(word("xlsx-rate-of", names=names[index]) if several else word("xlsx-rate"))
        yield LiveSum(RATE, name, label, rate, "xlsx-rate", (index,) if several else ())
    label = _least_label(word("xlsx-tax"), totals, language)
    if several:
        taxes = [f"{TAX_NAME}_{number}" for number in range(1, len(rates) + 1)]
        for index, part in enumerate(totals.taxes):
            taxed = f"ROUND({rates[index]}*ROUND({_net_at(part, totals, language)},{decimals}),{decimals})"
            cell = Cell(part.tax, currency, formula=taxed)
            yield LiveSum(TAX, taxes[index], Cell(word("xlsx-tax-of", names=names[index])), cell)
        tax = "+".join(taxes)
    else:
        missing, tax = word("xlsx-no-tax"), f"ROUND(bom_tax_rate*bom_net,{decimals})"
        text = label.value if totals.taxes else missing
        label = Cell(text, formula=f'IF(bom_tax_rate="",{literal(missing)},{label.formula})')
    yield LiveSum(TAX, TAX_NAME, label, Cell(totals.tax, currency, formula=tax))
    label = _live_total_label(document, language, listed)
    yield LiveSum(TOTAL, "bom_amount", label, Cell(totals.amount, currency, formula=amount))


def _least_label(plain: str, totals: Totals, language: Language) -> Cell:
    """Return the label of a sum, which says that it is a lower bound while lines have no price."""
    least = language.word("xlsx-at-least", label=plain)
    formula = f'IF(AND(bom_unpriced>0,COUNTIF(bom_prices,">0")>0),{literal(least)},{literal(plain)})'
    return Cell(least if totals.lines > totals.priced_lines and totals.list else plain, formula=formula)


def _live_total_label(document: Document, language: Language, listed: int) -> Cell:
    """Return the label of the total: with or without tax, a lower bound, or so few lines that the sum is no total.

    `listed` are the lines of the bill: those from stock are not charged.
    """
    totals, word = document.totals, language.word
    label = _least_label(word("xlsx-amount"), totals, language)
    if document.cover:
        labels = [word("quote-total-with-tax"), word("ui-total")]
        limits = [word("xlsx-at-least", label=each) for each in labels]
        rate = "+".join(f"N({name})" for name in rate_names(totals))
        least, complete = (f"IF({rate}>0,{literal(taxed)},{literal(untaxed)})" for taxed, untaxed in (limits, labels))
        text = (limits if totals.lines > totals.priced_lines else labels)[not totals.taxed]
        label = Cell(text, formula=f"IF(bom_unpriced>0,{least},{complete})")
    lines = f'(SUMPRODUCT(--(bom_quantities<>""))-{listed - totals.lines})'
    said = splice(
        word("quote-priced-only", priced="{priced}", lines="{lines}"), priced=f"({lines}-bom_unpriced)", lines=lines
    )
    names = (literal(word(f"category-{category}")) for category in WITH_GPUS)
    gpus = "+".join(f"EXACT(bom_categories,{name})" for name in names)
    without = f'SUMPRODUCT(({gpus})*(bom_quantities<>"")*(bom_prices=""))'
    few = f"AND({lines}>bom_unpriced,OR(bom_unpriced>{lines}*{float(1 - MIN_PRICED)},{without}>0))"
    shown = document.sums[-1] if document.sums else None
    return Cell(shown.label if shown and not shown.final else label.value, formula=f"IF({few},{said},{label.formula})")


def _net_at(part: Tax, totals: Totals, language: Language) -> str:

    def net_of(category: str) -> str:
        name = literal(language.word(f"category-{category}"))
        return f"SUMPRODUCT(--EXACT(bom_categories,{name}),bom_amounts)"

    if part.categories:
        return "+".join(map(net_of, part.categories))
    return "-".join(["bom_net", *(net_of(category) for each in totals.taxes for category in each.categories)])


# groups -------------------------------------------------------------------------------------------------------------
# The bill by fabric and role: what its lines come to, by formulas.


def groups(document: Document, lines: Sequence[BillLine], language: Language) -> tuple[Table, ...]:
    """Return the tables of fabrics by categories, and of fabrics by roles."""
    # What belongs to no fabric comes last, so that the fabrics are one area, which is offered as a list.
    fabrics = sorted(dict.fromkeys(line.fabric for line in lines), key=lambda fabric: not fabric)
    return _by_category(document, lines, fabrics, language), _by_role(document, lines, fabrics, language)


def _by_category(document: Document, lines: Sequence[BillLine], fabrics: Sequence[str], language: Language) -> Table:
    currency, kind = document.totals.currency, "groups-by-category"
    categories = list(dict.fromkeys(line.category for line in lines))
    keys = [f"category-{number}" for number in range(len(categories))]
    headings = {key: f"EXACT(bom_categories,{reference(HEADING + key)})" for key in keys}
    first, last = columns_of(kind, language)
    titled = (Column(key, category, "money", last.width) for key, category in zip(keys, categories, strict=True))
    rows = []
    for fabric in fabrics:
        label, of_fabric = _fabric(fabric, language), [line for line in lines if line.fabric == fabric]
        amounts = [
            Cell(
                sum_of(line for line in of_fabric if line.category == category),
                currency,
                formula=f"SUMPRODUCT({_in_fabric(fabric)}*{headings[key]},bom_amounts)",
            )
            for key, category in zip(keys, categories, strict=True)
        ]
        whole = f"SUM({reference(keys[0])}:{reference(keys[-1])})" if keys else "0"
        rows.append(row_of(label, *amounts, Cell(sum_of(of_fabric), currency, formula=whole)))
    sums = [*(sum_of(line for line in lines if line.category == category) for category in categories), sum_of(lines)]
    totals = (
        Cell(amount, currency, formula=f"SUM({reference(key, kind)})")
        for key, amount in zip((*keys, last.key), sums, strict=True)
    )
    rows.append(row_of(language.word("xlsx-sum"), *totals, id=TOTAL))
    return make_table(kind, language, rows, columns=(first, *titled, last))


def _by_role(document: Document, lines: Sequence[BillLine], fabrics: Sequence[str], language: Language) -> Table:
    """Return a row for each role in a fabric: pieces bought, what they come to, and their share."""
    totals, kind = document.totals, "groups-by-role"
    of_net = f"IF(bom_net=0,0,{reference('net')}/bom_net)"

    def row(name: str, role: str, of_role: Sequence[BillLine], pieces: str, net: str, id: str | None = None) -> Row:
        count, amount = Cell(sum(line.pieces for line in of_role), formula=pieces), sum_of(of_role)
        share = float(amount / totals.net) if totals.net else 0
        cells = Cell(amount, totals.currency, formula=net), Cell(share, "share", formula=of_net)
        return row_of(name, role, count, *cells, id=id)

    rows = []
    for fabric in fabrics:
        of_fabric = [line for line in lines if line.fabric == fabric]
        for role, of_role in group_by(of_fabric, lambda line: line.role).items():
            chosen = f"{_in_fabric(fabric)}*EXACT(bom_roles,{reference('role')})"
            pieces = f"SUMPRODUCT({chosen}*(bom_quantities+bom_spares))"
            rows.append(row(_fabric(fabric, language), role, of_role, pieces, f"SUMPRODUCT({chosen},bom_amounts)"))
    whole = f"SUM({reference('pieces', kind)})", f"SUM({reference('net', kind)})"
    rows.append(row(language.word("xlsx-sum"), "", lines, *whole, TOTAL))
    return make_table(kind, language, rows)


def _fabric(fabric: str, language: Language) -> str:
    return fabric or language.word("xlsx-no-fabric")


def _in_fabric(fabric: str) -> str:
    """Return the formula that finds the lines of the fabric of a row, or of none."""
    return f"EXACT(bom_fabrics,${reference('fabric')})" if fabric else 'EXACT(bom_fabrics,"")'


# cover --------------------------------------------------------------------------------------------------------------


def totals_table(document: Document, sums: Iterable[LiveSum], language: Language) -> Table:
    """Return the sums of the bill for the cover, without its inputs."""
    several, rows = len(document.totals.taxes) > 1, []
    for total in sums:
        if total.key not in (UNPRICED, RATE) and not (several and total.name == TAX_NAME):
            label = Cell(total.label.value, formula=reference("label", total.name))
            rows.append(row_of(label, replace(total.cell, formula=total.name), id=total.key))
    return make_table("totals", language, rows)


def categories_table(document: Document, lines: Sequence[BillLine], language: Language) -> Table:
    """Return what each category comes to, its share, and how many of its lines have no price."""
    totals, rows = document.totals, []
    its = f"EXACT(bom_categories,{reference('category')})"
    unpriced = f'SUMPRODUCT({its}*(bom_quantities<>"")*(bom_prices=""))'
    of_net = f"IF(bom_net=0,0,SUM({reference('net')})/bom_net)"
    for number, (category, of_category) in enumerate(group_by(lines, lambda line: line.category).items()):
        amount, lacking = sum_of(of_category), sum(line.amount is None for line in of_category)
        known, address = amount if amount or not lacking else None, reference("amount", f"{SUBTOTAL}-{number}")
        share = Cell(float(amount / totals.net) if totals.net else 0, "share", formula=of_net)
        cells = Cell(known, totals.currency, formula=address), share, Cell(lacking, formula=unpriced)
        rows.append(row_of(category, *cells))
    name, net, *others = columns_of("categories", language)
    net = replace(net, title=language.beside(net.title, language.unit_of(totals.currency)))
    return make_table("categories", language, rows, columns=(name, net, *others))


def alternatives_tables(section: Section, document: Document, language: Language) -> tuple[Table, ...]:
    """Return the totals of the alternatives in a row each, for which a cover has room, and what each changes."""
    [table, *changes], currency = section.tables, language.unit_of(document.totals.currency)
    sums = [row for row in table.rows if row.id]
    titles = (language.beside(f"{row.cells[0].value}", currency) for row in sums)
    columns = (
        *columns_of("alternatives-by-plan", language),
        *(Column(f"amount-{at}", title, "money") for at, title in enumerate(titles)),
    )
    by_plan = (row_of(column.title, *(row.cells[at] for row in sums)) for at, column in enumerate(table.columns[1:], 1))
    tables = [make_table("alternatives-by-plan", language, by_plan, columns=columns)]
    for change in changes:
        rows = []
        for row in change.rows:
            part, description, *cells = row.cells
            names = language.word("list-semicolon").join(str(cell.value) for cell in (description, part) if cell.value)
            rows.append(row_of(names, *cells))
        tables.append(replace(change, columns=change.columns[1:], rows=tuple(rows)))
    return tuple(tables)


# order --------------------------------------------------------------------------------------------------------------


def order_tables(section: Section, document: Document, language: Language) -> tuple[Table, ...]:
    """Return the order list with its sum, and the required parts with the amounts of their lines in the bill, if any.

    A required part has no price; the bill may get a line with its price from the reader. Where parts of its name are
    ordered as well, the list of those has the line.
    """
    (table, *others), word, currency = section.tables, language.word, document.totals.currency
    keys = [column.key for column in table.columns]
    priced = "+".join(f"SUM({reference('amount', each.id)})" for each in section.tables)
    of_sum: dict[str, Cell | str] = {
        "description": word("xlsx-net"),
        "amount": Cell(document.totals.net, currency, formula=priced),
    }
    total = row_of(*(of_sum.get(key, "") for key in keys), id=TOTAL)
    ordered = {tuple(cell.value for cell in row.cells[: len(_DESCRIBED)]) for row in table.rows}
    number, description = (f"${reference(key)}" for key in ("part", "description"))
    named = f'(EXACT(bom_part_numbers,{number})+(bom_part_numbers=""))'
    formula = amount_of(f"EXACT(bom_descriptions,{description})*{named}", language)
    tables = [replace(table, rows=(*table.rows, total))]
    for other in others:
        rows = []
        for row in other.rows:
            is_ordered = tuple(cell.value for cell in row.cells[: len(_DESCRIBED)]) in ordered
            amount = Cell(None, currency, formula="" if is_ordered else formula)
            rows.append(replace(row, cells=(*row.cells, amount)))
        caption = word("list-sentences").join((str(other.caption), word("xlsx-required-hint")))
        columns = (*other.columns, table.columns[-1])
        tables.append(replace(other, columns=columns, rows=tuple(rows), caption=caption))
    return tuple(tables)


def omit_tax(section: Section) -> Section:
    """Return a section without the prices including tax: formulas add the tax below the lines."""
    tables = (
        pick_columns(table, [at for at, column in enumerate(table.columns) if column.key not in INCLUSIVE])
        for table in section.tables
    )
    return replace(section, tables=tuple(tables))


def pick_columns(table: Table, places: Sequence[int]) -> Table:
    """Return a table with the columns of some places, from 0, in this order."""
    rows = tuple(replace(row, cells=tuple(row.cells[at] for at in places)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in places), rows=rows)
