"""Derivations as trees of plain data: figures, bill lines, totals and reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.core.diagnostics import nearest
from bomgen.core.language import Language
from bomgen.core.provenance import (
    Assumed,
    Cited,
    Derived,
    Figure,
    Given,
    Mark,
    Reference,
    informative_inputs,
    json_value,
    origin_text,
)
from bomgen.core.units import MONEY, minor_unit
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.price_book import Price, PriceBook, discount_given
from bomgen.pricing.quote import QuoteLine
from bomgen.results.numbers import Paths, dotted
from bomgen.results.reasons import Reason
from bomgen.results.result import Report, numbers_of, share_text


class Node(NamedTuple):
    """A number, its origin, and its inputs."""

    name: str
    shown: str
    """Value with unit, as text."""
    value: Any
    """Value as in bom.json."""
    unit: str
    kind: str
    """derived, given, cited, assumed, chosen (by a search of the program) or priced."""
    origin: str
    """Its origin on one line: formula, place or documents."""
    rests_on: str | None = None
    """Source of the formula: paper, equation or rule."""
    place: Mark | None = None
    """Place in the plan or in a price book that sets it."""
    documents: tuple[Reference, ...] = ()
    confidence: str | None = None
    notes: tuple[str, ...] = ()
    """Remarks: the reason for an assumption, the scope of a document, the age of a price."""
    inputs: tuple[Node, ...] = ()
    see: str | None = None
    """The number below which it was explained before; None if it is explained here."""
    left_out: int = 0
    """Number of inputs omitted because of the depth limit."""


class Trees:
    """Builder of trees that explains each derivation once and refers to it afterwards."""

    def __init__(self, show: Callable[[Figure], str], depth: int | None = None, currency: str = MONEY) -> None:
        self.show, self.depth, self.currency = show, depth, currency
        self.explained: dict[int, str] = {}
        """The number below which a derived figure was explained, by the figure's identity."""

    def tree(self, path: str, figure: Figure, name: str | None = None, level: int = 0) -> Node:
        """Return the tree of a number at a path; `level` is its depth below the requested number."""
        return self._node(path, name or path.rpartition(".")[2], figure, level, whole=not level)

    def _node(self, path: str, name: str, figure: Figure, level: int, whole: bool = False) -> Node:
        unit = self.currency if figure.unit == MONEY else figure.unit
        node = _origin_node(name, self.show(replace(figure, unit=unit)), figure)._replace(unit=unit)
        if not figure.inputs:
            return node
        before = self.explained.get(id(figure))
        if before is not None and not whole:
            return node._replace(see=before)
        inputs = informative_inputs(figure)
        if self.depth is not None and level >= self.depth:
            return node._replace(left_out=len(inputs))
        self.explained.setdefault(id(figure), path)
        return node._replace(inputs=tuple(self._node(path, key, value, level + 1) for key, value in inputs))


def _origin_node(name: str, shown: str, figure: Figure) -> Node:
    node = Node(name, shown, json_value(figure.value), figure.unit, "", origin_text(figure))
    match figure.origin:
        case Derived(formula=derivation):
            return node._replace(kind="derived", rests_on=derivation.source)
        case Given(mark=mark):
            return node._replace(kind="given", place=mark)
        case Assumed() as assumed:
            return node._replace(
                kind="chosen" if assumed.chosen else "assumed",
                documents=assumed.references,
                confidence=assumed.confidence,
                notes=() if assumed.chosen else (f"{assumed.name}: {assumed.why}",),
            )
        case Cited() as cited:
            return node._replace(
                kind="cited",
                documents=cited.references,
                confidence=cited.confidence,
                notes=(cited.note,) if cited.note else (),
            )


def is_below(name: str, path: str) -> bool:
    """Return whether a dotted name is a path or is below it."""
    return name == path or name.startswith(f"{path}.")


# money --------------------------------------------------------------------------------------------------------------
# The amounts of bill lines and totals as trees: quantity, unit price, discount, tax.

TOTALS = "totals"
"""Path of the totals in bom.json."""
PRICED = "priced"
"""The kind of a node that depends on a price."""


class AmountTrees:
    """Builder of trees for the amounts of a report."""

    def __init__(self, report: Report, trees: Trees, words: Language) -> None:
        self.report, self.trees, self.words = report, trees, words
        self.plan: QuotePlan = report.plan.quote

    def line(self, priced: QuoteLine) -> Node:
        """Return the tree of a line's amount: quantity, spares, unit price and discount."""
        line = priced.line
        inputs = [self.trees.tree(line.id, line.quantity, "quantity", 1)]
        if line.spare:
            inputs.append(self.trees.tree(line.id, line.spare, "spare", 1))
        inputs.append(self._unit_price(priced))
        if taken_off := discount_given(line, self.plan):
            inputs.append(self.trees.tree(line.id, taken_off, "discount", 1))
        node = self._amount(line.id, priced.amount, self._how(priced))
        if self.trees.depth == 0:
            return node._replace(left_out=len(inputs))
        return node._replace(inputs=tuple(inputs), notes=(line.description,) if line.description else ())

    def _how(self, priced: QuoteLine) -> str:
        if priced.line.in_stock:
            return "in stock: not charged"
        if priced.amount is None:
            return "no price: the line is excluded from the total"
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
            return node._replace(origin="parts in stock are not charged")
        if priced.of is not None and line.charge and line.charge.share:
            share = share_text(Fraction(line.charge.share.value))
            of_hardware = self.words.money(priced.of, currency)
            return node._replace(origin=f"{share} * {of_hardware} of hardware after discount", place=line.charge.mark)
        if line.charge and line.charge.part is None and unit.amount is not None:
            notes = self._exchanged(line.charge.price, line.charge.currency or currency)
            return node._replace(origin=str(line.charge.mark), place=line.charge.mark, notes=tuple(notes))
        if priced.price and priced.book:
            return self._book_node(node, priced.price, priced.book)
        return node

    def _book_node(self, node: Node, price: Price, book: PriceBook) -> Node:
        notes = [f"as of {price.date}"] if price.date else []
        notes += [f"valid until {price.valid_until}"] if price.valid_until else []
        notes += [f"from {price.from_quantity} pieces on"] if price.from_quantity > 1 else []
        if price.low != price.high:
            ends = [self.words.unit_price(end, price.currency) for end in (price.low, price.high) if end is not None]
            notes.append(f"between {' and '.join(ends)} {price.currency}")
        notes += ["an estimate"] if price.estimate else []
        notes += [f"source: {price.source}"] if price.source else []
        notes += self._exchanged(price.amount, price.currency)
        origin = f"{price.part} in {book.name} ({price.mark})"
        return node._replace(origin=origin, place=price.mark, notes=tuple(notes))

    def _exchanged(self, amount: Decimal | None, currency: str) -> list[str]:
        """Return a note on the exchange rate of an amount in another currency."""
        if amount is None or currency == self.plan.currency:
            return []
        rate = self.plan.exchange[currency]
        of_rate = f", {rate.source}" if rate.source else ""
        shown = self.words.unit_price(amount, currency)
        return [f"{shown} {currency} * {rate.rate} as of {rate.date}{of_rate} ({rate.mark})"]

    def totals(self, path: str) -> Iterator[tuple[str, Node]]:
        """Yield the totals at a path and below it."""
        totals = self.report.quote.totals
        least = "" if totals.complete else f"at least: {totals.lines - totals.priced_lines} lines have no price"
        lines = [
            self._amount(line.line.id, line.list_amount, f"{line.line.pieces} * {price}{off}; {line.line.description}")
            for line in self.report.quote.lines
            if line.list_amount is not None
            for price in [self.words.unit_price(line.unit.amount or Decimal(0), self.plan.currency)]
            for off in [f", less {self.words.share(line.discount)} discount" if line.discount else ""]
        ]
        listed = self._amount("list", totals.list, "sum of all lines before discount")._replace(inputs=tuple(lines))
        off = self._amount("discount", totals.discount, "list - sum of all lines after discount")
        how_taxed = "(list - discount) * tax_share" if totals.taxed else "no tax is set"
        if len(totals.taxes) > 1:
            nets = " + ".join(f"{share_text(part.share)} * {part.net:f}" for part in totals.taxes)
            how_taxed = f"{nets}, each rounded half up to {minor_unit(self.plan.currency)}"
        tax = self._amount("tax", totals.tax, how_taxed)
        rates = {Fraction(rate.value): rate for rate in reversed(list(self.plan.tax.values()))}
        shares = (self.trees.tree(f"{TOTALS}.tax", rates[part.share], "tax_share", 1) for part in totals.taxes)
        tax = tax._replace(inputs=tuple(shares))
        amount = self._amount("amount", totals.amount, "list - discount + tax")
        amount = amount._replace(inputs=(listed, off, tax), notes=(least,) if least else ())
        for node in (listed, off, tax, amount):
            if is_below(f"{TOTALS}.{node.name}", path):
                yield f"{TOTALS}.{node.name}", self._cut(node, 0)

    def _cut(self, node: Node, level: int) -> Node:
        if self.trees.depth is not None and level >= self.trees.depth:
            return node._replace(inputs=(), left_out=len(node.inputs))
        return node._replace(inputs=tuple(self._cut(each, level + 1) for each in node.inputs))


# explanation --------------------------------------------------------------------------------------------------------
# Derivations of numbers and reasons for choices, as trees of plain data, for the paths that a reader asks about.
#
# A path is that of a number of bom.json, the id of a bill line, the start of either, or a total.

SUGGESTED = 3
"""Number of paths suggested for one that does not exist."""


class NotKnown(Exception):
    """The result has nothing at a path; the message suggests similar paths."""


class Explanation(NamedTuple):
    """Trees of numbers and amounts by path or line id, and reasons."""

    trees: dict[str, Node]
    reasons: tuple[Reason, ...]


def explained(
    report: Report,
    path: str | None,
    words: Language,
    depth: int | None = None,
    reasons: Sequence[Reason] = (),
    trees: bool = True,
) -> Explanation:
    """Return the explanation of everything at a path and below it; of every number without a path.

    `reasons` are those for the choices at the path; `trees`: with derivations, of at most `depth` levels.

    Raises NotKnown if there is nothing at the path.
    """
    making = Trees(words.shown, depth, report.plan.quote.currency)
    money = AmountTrees(report, making, words)
    found: dict[str, Node] = {}
    figures = {dotted(steps): figure for steps, figure in numbers_of(report).items()}
    if path and "#" in path:
        figures = Paths(numbers_of(report)).figures
    if trees:
        for name, figure in figures.items():
            if path is None or is_below(name, path):
                found[name] = making.tree(name, figure)
        for line in report.quote.all_lines if path else ():
            if is_below(line.line.id, path or ""):
                found[line.line.id] = money.line(line)
        if path and is_below(path, TOTALS):
            found |= dict(money.totals(path))
    known = [*figures, *_bill_paths(report)]
    subjects = (reason.subject for reason in reasons)
    if path is not None and not any(is_below(name, path) for name in (*known, *subjects)):
        close = nearest(path, known, count=SUGGESTED)
        sections = dict.fromkeys([*(name.partition(".")[0] for name in figures), TOTALS])
        near = f"near: {', '.join(close)}" if close else f"there are {', '.join(sections)} and ids of lines"
        raise NotKnown(f"the result has no number '{path}'; {near}")
    return Explanation(found, tuple(reasons))


def names(report: Report) -> list[str]:
    """Return all names that can be explained: paths of numbers, ids of bill lines, totals."""
    return [*map(dotted, numbers_of(report)), *_bill_paths(report)]


def _bill_paths(report: Report) -> list[str]:
    return [*(line.line.id for line in report.quote.all_lines), *_TOTALS]


_TOTALS = [f"{TOTALS}.{name}" for name in ("list", "discount", "tax", "amount")]


# forms --------------------------------------------------------------------------------------------------------------
# Explanations as text, Markdown and JSON.

NAME, VALUE, ORIGIN, NOTE, PLAIN = "name", "value", "origin", "note", "plain"
"""Kinds of text pieces."""
BY = {
    "plan": "set in the plan",
    "default": "a default",
    "rule": "by rule",
    "search": "found by a search",
}


class Piece(NamedTuple):
    """A piece of a text line and its kind, which determines its colour."""

    kind: str
    text: str


Line = tuple[Piece, ...]


class Branches(NamedTuple):
    """Tree characters: before an input, before the last one, and below each."""

    input: str
    last: str
    below: str
    below_last: str


DRAWN = Branches("├── ", "└── ", "│   ", "    ")
INDENTED = Branches("  ", "  ", "  ", "  ")
"""Plain indentation, for terminals that cannot draw trees."""


def explanation_lines(explanation: Explanation, branches: Branches = DRAWN) -> Iterator[Line]:
    """Yield the lines of an explanation: a tree per number, then the reasons."""
    seen: set[Reference] = set()
    several = len(explanation.trees) > 1
    for position, (path, node) in enumerate(explanation.trees.items()):
        if several:
            if position:
                yield ()
            yield (Piece(NAME, f"{path}:"),)
        yield from _tree(node, branches, "  " if several else "", "", seen)
    for position, reason in enumerate(explanation.reasons):
        if explanation.trees or position:
            yield ()
        yield from _reason(reason, branches)


def _tree(node: Node, branches: Branches, lead: str, branch: str, seen: set[Reference]) -> Iterator[Line]:
    drawn = Piece(PLAIN, lead + branch)
    yield (
        drawn,
        Piece(NAME, node.name),
        Piece(PLAIN, " = "),
        Piece(VALUE, node.shown),
        Piece(ORIGIN, f"    {_origin(node)}"),
    )
    below = lead + (branches.below_last if branch == branches.last else branches.below if branch else "")
    inputs = node.inputs if node.see is None else ()
    beside = branches.below if inputs else branches.below_last
    for note in _notes(node, seen):
        yield Piece(PLAIN, below + beside), Piece(NOTE, note)
    for position, each in enumerate(inputs, 1):
        yield from _tree(each, branches, below, branches.last if position == len(inputs) else branches.input, seen)


def _origin(node: Node) -> str:
    if node.see is not None:
        return f"(explained above: {node.see})"
    if node.left_out:
        return f"{node.origin}    ({node.left_out} more below)"
    return node.origin


def _notes(node: Node, seen: set[Reference]) -> Iterator[str]:
    """Yield the notes below a number: its rule, remarks, and each document on its first occurrence."""
    if node.see is not None:
        return
    if node.rests_on:
        yield f"rests on: {node.rests_on}"
    yield from node.notes
    for document in node.documents:
        if document not in seen and (document.url or document.read):
            seen.add(document)
            url = f": {document.url}" if document.url else ""
            yield f"{document.title}{url}{f' (read {document.read})' if document.read else ''}"


def _reason(reason: Reason, branches: Branches) -> Iterator[Line]:
    place = f" ({reason.place})" if reason.place else ""
    yield Piece(NAME, f"why {reason.subject}:"), Piece(VALUE, f" {reason.chosen}")
    yield Piece(PLAIN, "  "), Piece(ORIGIN, f"{BY[reason.by]}{place}: {reason.because}")
    for position, other in enumerate(reason.others, 1):
        branch = branches.last if position == len(reason.others) else branches.input
        yield Piece(PLAIN, f"  {branch}not "), Piece(NAME, other.name), Piece(ORIGIN, f": {other.reason}")


def below_branch(lead: str) -> str:
    """Return the tree characters below those of a line, for the rest of its text."""
    below = lead.replace(DRAWN.input, DRAWN.below).replace(DRAWN.last, DRAWN.below_last)
    return below + DRAWN.below_last


def text(explanation: Explanation) -> str:
    """Return an explanation as text without colours."""
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in explanation_lines(explanation))


def markdown(explanation: Explanation) -> str:
    """Return an explanation as Markdown with nested lists."""
    seen: set[Reference] = set()
    written: list[str] = []
    for path, node in explanation.trees.items():
        written += ["", f"## {_escaped(path)}", "", *_items(node, "", seen)]
    for reason in explanation.reasons:
        place = f" ({_code(str(reason.place))})" if reason.place else ""
        written += ["", f"## Why {_escaped(reason.subject)}", ""]
        written.append(f"**{_escaped(reason.chosen)}**, {BY[reason.by]}{place}: {_escaped(reason.because)}")
        if reason.others:
            written += ["", *(f"- not **{_escaped(each.name)}**: {_escaped(each.reason)}" for each in reason.others)]
    return "\n".join(written[1:]) + "\n"


def _items(node: Node, lead: str, seen: set[Reference]) -> Iterator[str]:
    origin = _origin(node)
    said = _code(origin) if node.kind in ("derived", "given") and node.see is None else _escaped(origin)
    yield f"{lead}- **{_escaped(node.name)}** = {_escaped(node.shown)}: {said}"
    for note in _notes(node, seen):
        yield f"{lead}  - *{_escaped(note)}*"
    for each in node.inputs if node.see is None else ():
        yield from _items(each, f"{lead}  ", seen)


def _code(text: str) -> str:
    return f"`{text}`"


def _escaped(text: str) -> str:
    for sign in "\\`*_[]<>#|":
        text = text.replace(sign, f"\\{sign}")
    return text


def to_data(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data."""
    return {
        "explained": {path: _node_data(node) for path, node in explanation.trees.items()},
        "why": [
            {
                **{key: getattr(reason, key) for key in ("subject", "chosen", "by", "because")},
                "place": _place_data(reason.place),
                "others": [other._asdict() for other in reason.others],
            }
            for reason in explanation.reasons
        ],
    }


def data(explanation: Explanation) -> str:
    """Return an explanation as JSON."""
    return json.dumps(to_data(explanation), ensure_ascii=False, indent=1) + "\n"


def _node_data(node: Node) -> dict[str, Any]:
    return {
        **{key: getattr(node, key) for key in ("name", "value", "unit", "shown", "kind", "origin", "rests_on")},
        "place": _place_data(node.place),
        "documents": [{key: getattr(document, key) for key in ("title", "url", "read")} for document in node.documents],
        "confidence": node.confidence,
        "notes": list(node.notes),
        "explained_at": node.see,
        "inputs_left_out": node.left_out,
        "inputs": [_node_data(step) for step in node.inputs],
    }


def _place_data(mark: Mark | None) -> dict[str, Any] | None:
    return None if mark is None else {"file": mark.file, "line": mark.line, "column": mark.column}
