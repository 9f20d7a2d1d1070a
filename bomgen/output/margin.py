"""Margins as a document, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from bomgen.core.document import Column, Document, Note, Row, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.core.safety import escape_formula
from bomgen.pricing.costs import AT_LEAST, AT_MOST, EXACT, TOTAL, Earned, Margin, MarginTotal

SHARE = Decimal("0.0001")
"""Precision of shares: a hundredth of a per cent."""
LINE, CATEGORY = "line", "category"
COLUMNS = (
    *("of", "category", "id", "part", "description", "pieces", "unit_cost", "amount", "cost", "margin", "share"),
    *("bound", "missing", "currency"),
)
NOTHING = "-"
LEAST, MOST = "≥ ", "≤ "


def to_data(margin: Margin) -> dict[str, Any]:
    """Return the margins as data: amounts and shares are decimal strings, null if unknown."""
    return {
        "currency": margin.currency,
        "lines": [_line_data(line) for line in margin.lines],
        "categories": [_sum_data(category) for category in margin.categories],
        "total": _sum_data(margin.total),
    }


def to_json(margin: Margin) -> str:
    """Return the margins as JSON."""
    return json.dumps(to_data(margin), ensure_ascii=False, indent=1) + "\n"


def to_csv(margin: Margin) -> str:
    """Return the margins as CSV: a row per line, per category, and the total; `of` says which."""
    rows = [{"of": LINE, **_line_data(line), "bound": EXACT if not line.missing else ""} for line in margin.lines]
    for each in (*margin.categories, margin.total):
        data = _sum_data(each)
        missing = [word for word in ("price", "cost") if data[f"lines_without_{word}"]]
        kind = TOTAL if each is margin.total else CATEGORY
        rows.append({"of": kind, "category": "" if kind == TOTAL else each.name, **data, "missing": missing})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([escape_formula(_amount_or(row, name, margin.currency)) for name in COLUMNS])
    return stream.getvalue()


def _amount_or(row: Mapping[str, Any], name: str, currency: str) -> object:
    """Return a CSV field; a loss remains a number rather than being escaped as a formula."""
    value = currency if name == "currency" else row.get(name)
    return Decimal(value) if name in ("margin", "share") and value is not None else value


def margin_document(margin: Margin, language: Language) -> Document:
    """Return the margins as a document: bill lines, then category totals."""
    word, currency = language.word, margin.currency
    columns = (
        Column("line", word("diff-line")),
        Column("pieces", word("xray-pieces"), "number"),
        *(Column(key, language.beside(word(f"margin-{key}"), currency), "number") for key in ("net", "cost", "margin")),
        Column("share", word("margin-share"), "number"),
    )
    rows = []
    for line in margin.lines:
        amounts = _amounts(line.priced.amount, line.cost, currency, language)
        earned = NOTHING if line.margin is None else language.amount(line.margin, currency)
        texts = (*amounts, earned, _percent(line.share))
        rows.append(row_of(line.priced.line.id, line.priced.line.pieces, *texts, group=word("margin-lines")))
    table = Table("margin", "", columns, (*rows, *_sum_rows(margin, language)))
    # What the totals exclude.
    missing = {"margin-without-price": margin.total.without_price, "margin-without-cost": margin.total.without_cost}
    notes = (Note("info", word(key, count=count, lines=margin.total.lines)) for key, count in missing.items() if count)
    return Document("", language.code, (Section("margin", "", tables=(table,), notes=tuple(notes)),))


def _sum_rows(margin: Margin, language: Language) -> Iterator[Row]:
    for each in (*margin.categories, margin.total):
        sign = {AT_LEAST: LEAST, AT_MOST: MOST}.get(each.bound, "")
        net, cost = _amounts(each.amount, each.cost, margin.currency, language)
        net = f"{LEAST}{net}" if each.without_price and each.amount is not None else net
        cost = f"{LEAST}{cost}" if each.without_cost and each.cost is not None else cost
        earned = NOTHING if each.margin is None else sign + language.amount(each.margin, margin.currency)
        share = _percent(each.share)
        name = language.words.get(f"category-{each.name}", each.name)
        if each is margin.total:
            name = language.word("ui-total")
        texts = (net, cost, earned, share if share == NOTHING else sign + share)
        yield row_of(name, "", *texts, group=language.word("margin-categories"))


def _amounts(net: Decimal | None, cost: Decimal | None, currency: str, language: Language) -> tuple[str, str]:
    """Return the net amount and the cost as text, or notes that they are missing."""
    return (
        language.word("ui-no-price") if net is None else language.amount(net, currency),
        language.word("margin-no-cost") if cost is None else language.amount(cost, currency),
    )


def _percent(share: Fraction | None) -> str:
    return NOTHING if share is None else f"{_decimal(share):.2%}"


def _line_data(line: Earned) -> dict[str, Any]:
    of = line.priced.line
    return {
        "id": of.id,
        "category": of.category,
        "part": of.part,
        "description": of.description,
        "pieces": of.pieces,
        "unit_cost": _amount(line.unit.amount),
        "amount": _amount(line.priced.amount),
        "cost": _amount(line.cost),
        "margin": _amount(line.margin),
        "share": _rounded(line.share),
        "missing": list(line.missing),
    }


def _sum_data(margin_total: MarginTotal) -> dict[str, Any]:
    return {
        "name": margin_total.name,
        "lines": margin_total.lines,
        "lines_without_price": margin_total.without_price,
        "lines_without_cost": margin_total.without_cost,
        "amount": _amount(margin_total.amount),
        "cost": _amount(margin_total.cost),
        "margin": _amount(margin_total.margin),
        "share": _rounded(margin_total.share),
        "bound": margin_total.bound,
    }


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


def _rounded(share: Fraction | None) -> str | None:
    return None if share is None else f"{_decimal(share):f}"


def _decimal(share: Fraction) -> Decimal:
    return (Decimal(share.numerator) / Decimal(share.denominator)).quantize(SHARE, ROUND_HALF_UP)
