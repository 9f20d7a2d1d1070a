"""Edits of a customer's workbook as people make them, for the tests that apply them: each in openpyxl's hands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from openpyxl import load_workbook
from openpyxl.cell import Cell
from openpyxl.formula.translate import Translator
from openpyxl.worksheet.worksheet import Worksheet

from bomgen.output.writer import render
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

WORKBOOK = "quote.xlsx"
TITLES = {
    "en": {
        "category": "Category",
        "sku": "Part number",
        "description": "Description",
        "quantity": "Quantity",
        "spare": "Spare",
        "unit_price": "Unit price",
        "discount": "Discount",
        "amount": "Amount",
    },
    "zh": {
        "category": "类别",
        "description": "规格描述",
        "quantity": "数量",
        "spare": "备件",
        "unit_price": "未税单价",
        "discount": "优惠率（下浮）",
    },
}


def plan_without_alternatives() -> PlanFile:
    """The plan of the edits, with cords sold apart; alternatives, which end it, would have each worked out thrice."""
    file = open_plan(str(Path(__file__).parents[1] / "plans" / f"{QUOTE}.yaml"), None)
    kept = file.content.partition(b"  alternatives:")[0]
    return file._replace(content=kept.replace(b"catalog: [parts/]", b"catalog: [parts/, ../tests/apply/parts/]"))


def workbook_of(file: PlanFile) -> bytes:
    """The customer's workbook of a plan."""
    return render(work_out(file)._replace(templates=()), [WORKBOOK])[WORKBOOK]


class Quote:
    """A customer's workbook whose cells are found as a reader finds them: by titles and labels."""

    def __init__(self, content: bytes, language: str = "en") -> None:
        self.book = load_workbook(BytesIO(content))
        self.titles = TITLES[language]
        self.cover, self.bill, self.terms = (self.book.worksheets[at] for at in (0, 1, -1))

    @property
    def lines(self) -> dict[str, int]:
        """The rows of the bill by the ids of their lines."""
        ids = self.column("id")
        rows = range(self.header + 1, self.bill.max_row + 1)
        found = {self.bill.cell(row, ids).value: row for row in rows}
        return {str(line): row for line, row in found.items() if line is not None}

    @property
    def header(self) -> int:
        """The row of the titles of the bill."""
        return next(row[0].row for row in self.bill.iter_rows() if any(cell.value == "id" for cell in row))

    def column(self, title: str) -> int:
        """The column of the bill with a title."""
        return next(cell.column for cell in self.bill[self.header] if cell.value == title)

    def cell(self, line: str, key: str) -> Cell:
        """A cell of a line of the bill."""
        return self.bill.cell(self.lines[line], self.column(self.titles[key]))

    def labelled(self, sheet: Worksheet, label: str, beside: int = 1) -> Cell:
        """The cell beside a label."""
        [found] = [cell for row in sheet.iter_rows() for cell in row if cell.value == label]
        return sheet.cell(found.row, found.column + beside)

    def total(self, name: str) -> Cell:
        """The cell of a defined name."""
        [(sheet, place)] = self.book.defined_names[name].destinations
        return self.book[sheet][place.replace("$", "")]

    def saved(self) -> bytes:
        """The workbook as openpyxl saves it: formulas without values."""
        stream = BytesIO()
        self.book.save(stream)
        return stream.getvalue()


class Edited(NamedTuple):
    """An edit, and what comes of it."""

    edit: Callable[[Quote], Any]
    gives: str = ""
    """A line that the plan or its price book has afterwards; empty where the edit is refused."""
    refused: str = ""
    """What is said where it is refused."""


def _set(line: str, key: str, value: Any) -> Callable[[Quote], Any]:
    return lambda quote: setattr(quote.cell(line, key), "value", value)


def _add(quote: Quote, **values: Any) -> None:
    """Fill in the first empty line of the bill."""
    row = max(quote.lines.values()) + 1
    for key, value in values.items():
        quote.bill.cell(row, quote.column(quote.titles[key])).value = value


def _discount_modules(quote: Quote) -> None:
    for line in quote.lines:
        if ".transceiver." in line:
            quote.cell(line, "discount").value = 0.2


def _sort(quote: Quote) -> None:
    """Turn the lines of the bill round, as sorting by a column does, and hide two of them."""
    rows = list(quote.lines.values())
    columns = range(1, quote.bill.max_column + 1)
    values = [[quote.bill.cell(row, column).value for column in columns] for row in rows]
    for row, origin, turned in zip(rows, reversed(rows), reversed(values), strict=True):
        for column, value in zip(columns, turned, strict=True):
            place = quote.bill.cell(row, column).coordinate
            if str(value).startswith("="):
                value = Translator(value, quote.bill.cell(origin, column).coordinate).translate_formula(place)
            quote.bill[place].value = value
    for row in rows[2:4]:
        quote.bill.row_dimensions[row].hidden = True


def _append_term(quote: Quote) -> None:
    cell = quote.labelled(quote.terms, "Delivery within 16 weeks of the order.", 0)
    quote.terms.cell(cell.row + 1, 1).value = "Warranty of three years."


def _change_term(quote: Quote) -> None:
    quote.labelled(quote.terms, "Delivery within 16 weeks of the order.", 0).value = "Delivery in 12 weeks."


def _replace(quote: Quote, label: str, before: str, after: str) -> None:
    cell = quote.labelled(quote.cover, label)
    cell.value = cell.value.replace(before, after)


def _duplicate(quote: Quote) -> None:
    row = max(quote.lines.values()) + 1
    for column in range(1, quote.bill.max_column + 1):
        value = quote.bill.cell(quote.lines["compute.nic"], column).value
        if not str(value).startswith("="):
            quote.bill.cell(row, column).value = value


def _filter(quote: Quote) -> None:
    """Leave the transceivers in sight, as a filter of the first column does, and give the first one a discount."""
    rows = quote.lines
    quote.bill.auto_filter.add_filter_column(0, ["Transceivers"])
    for line, row in rows.items():
        quote.bill.row_dimensions[row].hidden = ".transceiver." not in line
    quote.cell("compute.transceiver.leaf-spine.leaf", "discount").value = 0.05


def _delete_row(line: str) -> Callable[[Quote], Any]:
    """Empty the row of a line: openpyxl deletes rows without moving what formulas name."""
    return lambda quote: [setattr(cell, "value", None) for cell in quote.bill[quote.lines[line]]]


def _hide(quote: Quote) -> None:
    quote.bill.row_dimensions[quote.lines["server"]].hidden = True
    quote.cell("server", "quantity").value = 264


def _rename_terms(quote: Quote) -> None:
    quote.terms.title = "Bedingungen"
    quote.total("bom_tax_rate").value = 0.19


def _rename_list(quote: Quote) -> None:
    quote.book["By part number"].title = "Parts"
    quote.total("bom_tax_rate").value = 0.19


def _rename_sheets(quote: Quote) -> None:
    for number, sheet in enumerate((quote.cover, quote.terms)):
        sheet.title = f"Renamed {number}"


QUOTE = "llama65b-quote"
"""The plan that the edits are of."""
EDITS = {
    "price": Edited(_set("server", "unit_price", 180000.5), "  - {part: dgx-a100-640, price: 180000.5}"),
    "price-of-a-charge": Edited(
        _set("service.installation", "unit_price", 2000), "    - {kind: installation, per: rack, price: 2000}"
    ),
    "price-of-one-of-two-lines": Edited(
        _set("compute.transceiver.leaf-spine.leaf", "unit_price", 800), refused="a part has one price"
    ),
    "price-deleted": Edited(_set("server", "unit_price", None), refused="price books cannot say that a part has none"),
    "price-in-words": Edited(
        _set("server", "unit_price", "on request"), refused="'on request' is text and not a number"
    ),
    "price-in-stock": Edited(
        _set("compute.switch.leaf.stock", "unit_price", 5),
        refused="'compute.switch.leaf.stock' is in stock",
    ),
    "discount-of-a-line": Edited(
        _set("compute.switch.leaf", "discount", 0.07),
        "  discount: {default: 0%, transceiver: 15%, parts: {qm9700: 10%}, "
        "lines: {compute.switch.spine: 12%, compute.switch.leaf: 7%}}",
    ),
    "discount-of-a-category": Edited(
        _discount_modules,
        "  discount: {default: 0%, transceiver: 20%, parts: {qm9700: 10%}, lines: {compute.switch.spine: 12%}}",
    ),
    "discount-too-large": Edited(
        _set("server", "discount", 5), refused="Discount 5; shares are 0 % to 100 %: type 5% or 5 / 100"
    ),
    "tax": Edited(lambda quote: setattr(quote.total("bom_tax_rate"), "value", 0.19), "  tax: 19%"),
    "share-of-a-charge": Edited(
        lambda quote: setattr(quote.total("bom_share_1"), "value", 0.02), "    - {kind: freight, share: 2%}"
    ),
    "servers": Edited(_set("server", "quantity", 264), "  servers: 264"),
    "servers-on-one-switch": Edited(_set("server", "quantity", 8), "  servers: 8"),
    "spare-servers": Edited(_set("server", "spare", 2), "  spare_servers: 2"),
    "spare-switches": Edited(
        _set("compute.switch.leaf", "spare", 4), "spares: {transceiver: 2%, cable: 2%, switch: 4}"
    ),
    "two-spines-more": Edited(
        _set("compute.switch.spine", "quantity", 18),
        refused="llama65b-quote.yaml --set spares.switch=3`, bought as spares instead",
    ),
    "title": Edited(lambda quote: setattr(quote.cover["A1"], "value", "A new title"), "title: A new title"),
    "customer": Edited(
        lambda quote: setattr(
            quote.labelled(quote.cover, "Customer"),
            "value",
            quote.labelled(quote.cover, "Customer").value.replace("Example Research", "Other, Inc."),
        ),
        '  customer: {name: "Other, Inc.", address: [1 Example Street, 12345 Example Town], contact: A. Example, '
        "reference: RFQ 17}",
    ),
    "address-longer": Edited(
        lambda quote: _replace(quote, "Customer", "12345 Example Town", "12345 Example Town\nExample Land"),
        "  customer: {name: Example Research, address: [1 Example Street, 12345 Example Town, Example Land], "
        "contact: A. Example, reference: RFQ 17}",
    ),
    "customer-deleted": Edited(
        lambda quote: setattr(quote.labelled(quote.cover, "Customer"), "value", None), refused="were deleted"
    ),
    "date-of-the-calendar": Edited(
        lambda quote: setattr(quote.labelled(quote.cover, "Valid until"), "value", date(2027, 1, 31)),
        "  valid_days: 72",
    ),
    "date-of-two-days": Edited(
        lambda quote: setattr(quote.labelled(quote.cover, "Valid until"), "value", "01/02/2027"),
        refused="write a day after the quote's date, YYYY-MM-DD",
    ),
    "date": Edited(
        lambda quote: setattr(quote.labelled(quote.cover, "Valid until"), "value", "20 January 2027"),
        "  valid_days: 61",
    ),
    "term-changed": Edited(
        lambda quote: setattr(
            quote.labelled(quote.terms, "Delivery within 16 weeks of the order.", 0), "value", "Delivery in 12 weeks."
        ),
        "  terms: [Delivery in 12 weeks.]",
    ),
    "term-added": Edited(_append_term, "  terms: [Delivery within 16 weeks of the order., Warranty of three years.]"),
    "term-changed-and-added": Edited(
        lambda quote: (_append_term(quote), _change_term(quote)),
        "  terms: [Delivery in 12 weeks., Warranty of three years.]",
    ),
    "signed": Edited(
        lambda quote: setattr(quote.labelled(quote.terms, "For the vendor", 0).offset(3), "value", "A. Example"),
        refused="'A. Example' was added, but the plan has no key for it",
    ),
    "text-on-the-cover": Edited(
        lambda quote: setattr(quote.cover["B3"], "value", "Please call."), refused="write it below the terms"
    ),
    "charge-added": Edited(
        lambda quote: _add(quote, category="Services", description="Training", quantity=1, unit_price=5000),
        "    - {kind: other, name: Training, price: 5000}",
    ),
    "required-part": Edited(
        lambda quote: _add(quote, category="Cables", description="Power cord C19 to C20", quantity=1536, unit_price=8),
        "  - {part: cord-c20, price: 8}",
    ),
    "required-part-too-few": Edited(
        lambda quote: _add(quote, category="Cables", description="Power cord C19 to C20", quantity=9, unit_price=8),
        refused="the order needs 1536 pieces of 'Power cord C19 to C20'",
    ),
    "cable-added": Edited(
        lambda quote: _add(quote, category="Cables", description="A cable", quantity=2, unit_price=5),
        refused="the parts follow from the plan",
    ),
    "line-duplicated": Edited(_duplicate, refused="a copy of the line 'compute.nic'"),
    "line-deleted": Edited(_delete_row("pdu.management"), refused="the row of 'pdu.management'"),
    "charge-deleted": Edited(_delete_row("service.installation"), "    - {kind: freight, share: 1.5%}"),
    "price-as-text": Edited(_set("server", "unit_price", "180,000.50"), refused="is text and not a number"),
    "spare-as-text": Edited(_set("compute.switch.spine", "spare", "two"), refused="'two' is text and not a number"),
    "spare-in-part": Edited(_set("compute.switch.spine", "spare", 0.5), refused="pieces are whole numbers"),
    "error-in-spares": Edited(_set("compute.switch.spine", "spare", "#N/A"), refused="Spare: the cell shows #N/A"),
    "quantity-as-text": Edited(_set("server", "quantity", "264"), refused="'264' is text and not a number"),
    "tax-of-nineteen": Edited(
        lambda quote: setattr(quote.total("bom_tax_rate"), "value", 19), refused="type 19% or 19 / 100"
    ),
    "hidden-row": Edited(_hide, "  servers: 264"),
    "filtered": Edited(
        _filter,
        "  discount: {default: 0%, transceiver: 15%, parts: {qm9700: 10%}, "
        "lines: {compute.switch.spine: 12%, compute.transceiver.leaf-spine.leaf: 5%}}",
    ),
    "sheet-renamed": Edited(_rename_terms, "  tax: 19%"),
    "list-renamed": Edited(_rename_list, "  tax: 19%"),
    "sheets-renamed": Edited(_rename_sheets, refused="the sheet 'Quotation' was deleted or renamed"),
    "sheet-deleted": Edited(
        lambda quote: quote.book.remove(quote.terms), refused="the sheet 'Terms' was deleted or renamed"
    ),
    "part-number": Edited(_set("server", "sku", "OTHER-1"), refused="what a line is comes from the plan"),
    "total-typed": Edited(
        lambda quote: setattr(quote.total("bom_amount"), "value", 76000000), refused="the total 76000000 was typed"
    ),
    "amount-typed": Edited(_set("server", "amount", 50000000), refused="the amount 50000000 of 'server' was typed"),
    "note-beside": Edited(
        lambda quote: setattr(quote.bill["R5"], "value", "cheaper, please"), refused="text was added next to"
    ),
    "spare-of-another-line": Edited(
        _set("compute.switch.spine", "spare", 1), refused="spares of a part are purchased on its first line"
    ),
    "spare-of-one-of-two-parts": Edited(
        _set("compute.transceiver.leaf-spine.spine", "spare", 3),
        refused="llama65b-quote.yaml --set spares.transceiver=34` (also changes "
        "compute.transceiver.server-leaf.server 1024 + 21 -> 1024 + 34; total 76,238,178.74 -> 76,257,038.64 USD)",
    ),
    "error-in-a-term": Edited(
        lambda quote: setattr(
            quote.labelled(quote.terms, "Delivery within 16 weeks of the order.", 0), "value", "#N/A"
        ),
        refused="the cell shows #N/A; write the text of `quote.terms` itself",
    ),
    "error-in-a-price": Edited(_set("server", "unit_price", "#REF!"), refused="Unit price: the cell shows #REF!"),
    "truth-in-the-title": Edited(
        lambda quote: setattr(quote.cover["A1"], "value", True), refused="TRUE is a boolean, not text"
    ),
    "date-as-a-number": Edited(
        lambda quote: setattr(quote.total("bom_tax_rate"), "value", date(2027, 1, 31)),
        refused="is a date or a time, not a number",
    ),
    "formula-of-the-total": Edited(
        lambda quote: setattr(quote.total("bom_amount"), "value", "=bom_net*2"), refused="formula"
    ),
    "name-deleted": Edited(
        lambda quote: quote.book.defined_names.pop("bom_tax_rate"),
        refused="the defined name 'bom_tax_rate' was deleted",
    ),
    "name-redirected": Edited(
        lambda quote: setattr(quote.book.defined_names["bom_tax_rate"], "attr_text", "'Bill of materials'!$I$40"),
        refused="the defined name 'bom_tax_rate' refers to other cells",
    ),
    "sentence-of-bomgen": Edited(
        lambda quote: setattr(
            quote.labelled(quote.terms, "Tax is calculated on the sum after discount.", 0), "value", "Soon."
        ),
        refused="'Soon.': this cell is calculated",
    ),
}
TOGETHER = {
    "charge-added-and-price": ("charge-added", "price"),
    "charge-added-and-discount": ("charge-added", "discount-of-a-line"),
    "charge-added-and-share": ("charge-added", "share-of-a-charge"),
    "charge-added-and-tax": ("charge-added", "tax"),
    "charge-added-and-list-renamed": ("charge-added", "list-renamed"),
    "required-part-and-price": ("required-part", "price"),
}
"""Edits that are made in one workbook, by their names: what lists leave out of the one shows in the sums of both."""


def edit_together(quote: Quote, names: tuple[str, ...]) -> None:
    """Make several edits in one workbook."""
    for name in names:
        EDITS[name].edit(quote)


def type_listed_sum(quote: Quote, value: Any) -> None:
    """Type over the sum of the parts by number, which stands above what it differs from the bill by."""
    sheet = quote.book["By part number"]
    quote.labelled(sheet, "Difference from the net amount of the bill").offset(-1).value = value


SORTED = _sort
"""An edit that changes nothing that a plan says."""
FORMULA_CHANGED = Edited(
    lambda quote: setattr(quote.cell("server", "amount"), "value", f"={quote.cell('server', 'amount').value[1:]}*2"),
    refused="the amount 101888000 of 'server' was typed, or its formula was changed",
)
"""An edit that is seen once a program has computed it."""
