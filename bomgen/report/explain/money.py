"""What a line of the bill comes to, and what all lines do, as trees: quantity, unit price, discount, tax."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from bomgen.core.language import Language
from bomgen.core.money import minor_unit
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.price_book import Price, PriceBook
from bomgen.pricing.quote import QuoteLine
from bomgen.pricing.unit_prices import discount_given
from bomgen.report.explain.tree import Node, Trees, is_below
from bomgen.report.result import Report, share_text

TOTALS = "totals"
"""Where the totals stand in bom.json."""
PRICED = "priced"
"""The kind of what rests on a price."""


class Money:
    """Makes trees of the amounts of a report."""

    def __init__(self, report: Report, trees: Trees, words: Language) -> None:
        self.report, self.trees, self.words = report, trees, words
        self.plan: QuotePlan = report.plan.quote

    def lines_below(self, path: str) -> list[QuoteLine]:
        """The lines whose id is a path or begins with it."""
        return [line for line in self.report.quote.all_lines if is_below(line.line.id, path)]

    def line(self, priced: QuoteLine) -> Node:
        """What a line comes to: quantity, spares, unit price and discount."""
        line = priced.line
        inputs = [self.trees.tree(line.id, line.quantity, "quantity", 1)]
        if line.spare:
            inputs.append(self.trees.tree(line.id, line.spare, "spare", 1))
        inputs.append(self._unit_price(priced))
        if taken_off := discount_given(line, self.plan):
            inputs.append(self.trees.tree(line.id, taken_off, "discount", 1))
        if self.trees.depth == 0:
            return self._amount(line.id, priced.amount, self._how(priced))._replace(left_out=len(inputs))
        notes = (line.description,) if line.description else ()
        return self._amount(line.id, priced.amount, self._how(priced))._replace(inputs=tuple(inputs), notes=notes)

    def _how(self, priced: QuoteLine) -> str:
        if priced.line.in_stock:
            return "the customer has it: it is not charged"
        if priced.amount is None:
            return "no price is known: the line is left out of the total"
        pieces = "(quantity + spare)" if priced.line.spare else "quantity"
        discounted = " * (1 - discount)" if priced.discount else ""
        return f"{pieces} * unit_price{discounted}, rounded half up to {minor_unit(self.plan.currency)}"

    def _amount(self, name: str, amount: Decimal | None, origin: str) -> Node:
        currency = self.plan.currency
        shown = "unknown" if amount is None else self.words.money(amount, currency)
        return Node(name, shown, None if amount is None else f"{amount:f}", currency, PRICED, origin)

    def _unit_price(self, priced: QuoteLine) -> Node:
        line, unit, currency = priced.line, priced.unit, self.plan.currency
        node = self._amount("unit_price", None, f"no price book has a price for {', '.join(line.names) or line.id}")
        if unit.amount is not None:
            shown = f"{self.words.unit_price(unit.amount, currency)} {currency}"
            node = node._replace(shown=shown, value=f"{unit.amount:f}")
        if line.in_stock:
            return node._replace(origin="nothing is charged for what is in stock")
        if priced.of is not None and line.charge and line.charge.share:
            share = share_text(Fraction(line.charge.share.value))
            of_hardware = self.words.money(priced.of, currency)
            return node._replace(origin=f"{share} * {of_hardware} of hardware after discount", place=line.charge.mark)
        if line.charge and line.charge.price is not None:
            return node._replace(origin=str(line.charge.mark), place=line.charge.mark)
        if priced.price and priced.book:
            return self._book_node(node, priced.price, priced.book)
        return node

    def _book_node(self, node: Node, price: Price, book: PriceBook) -> Node:
        notes = []
        if price.date:
            notes.append(f"as of {price.date}")
        if price.valid_until:
            notes.append(f"valid until {price.valid_until}")
        if price.from_quantity > 1:
            notes.append(f"from {price.from_quantity} pieces on")
        if price.low != price.high:
            ends = [self.words.unit_price(end, price.currency) for end in (price.low, price.high) if end is not None]
            notes.append(f"between {' and '.join(ends)} {price.currency}")
        if price.estimate:
            notes.append("an estimate")
        if price.source:
            notes.append(f"source: {price.source}")
        if price.currency != self.plan.currency and price.amount is not None:
            rate = self.plan.exchange[price.currency]
            amount = self.words.unit_price(price.amount, price.currency)
            of_rate = f", {rate.source}" if rate.source else ""
            notes.append(f"{amount} {price.currency} * {rate.rate} as of {rate.date}{of_rate} ({rate.mark})")
        origin = f"{price.part} in {book.name} ({price.mark})"
        return node._replace(origin=origin, place=price.mark, notes=tuple(notes))

    def totals(self, path: str) -> Iterator[tuple[str, Node]]:
        """The totals at a path and below it."""
        totals = self.report.quote.totals
        least = "" if totals.complete else f"at least: {totals.lines - totals.priced_lines} lines have no price"
        lines = [
            self._amount(each.line.id, each.list_amount, self._how_listed(each))
            for each in self.report.quote.lines
            if each.list_amount is not None
        ]
        listed = self._amount("list", totals.list, "sum of all lines before discount")._replace(inputs=tuple(lines))
        off = self._amount("discount", totals.discount, "list - sum of all lines after discount")
        tax = self._amount(
            "tax", totals.tax, "(list - discount) * tax_share" if totals.tax_share else "no tax is asked"
        )
        if self.plan.tax:
            tax = tax._replace(inputs=(self.trees.tree(f"{TOTALS}.tax", self.plan.tax, "tax_share", 1),))
        amount = self._amount("amount", totals.amount, "list - discount + tax")
        amount = amount._replace(inputs=(listed, off, tax), notes=(least,) if least else ())
        for node in (listed, off, tax, amount):
            if is_below(f"{TOTALS}.{node.name}", path):
                yield f"{TOTALS}.{node.name}", self._cut(node, 0)

    def _how_listed(self, priced: QuoteLine) -> str:
        pieces = f"{priced.line.pieces} * {self.words.unit_price(priced.unit.amount or Decimal(0), self.plan.currency)}"
        off = f", less {self.words.share(priced.discount)} discount" if priced.discount else ""
        return f"{pieces}{off}; {priced.line.description}"

    def _cut(self, node: Node, level: int) -> Node:
        """A tree of amounts as deep as was asked for."""
        if self.trees.depth is not None and level >= self.trees.depth:
            return node._replace(inputs=(), left_out=len(node.inputs))
        return node._replace(inputs=tuple(self._cut(each, level + 1) for each in node.inputs))
