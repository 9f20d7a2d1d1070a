"""Margins as text for a terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from bomgen.core.document import TextTable
from bomgen.core.language import Language, language
from bomgen.core.safety import escape_formula
from bomgen.pricing.margin import AT_LEAST, AT_MOST, EXACT, TOTAL, Earned, Margin, Sum

SHARE = Decimal("0.0001")
"""Shares are written to a hundredth of a per cent."""
LINE, CATEGORY = "line", "category"
COLUMNS = (
    *("of", "category", "id", "part", "description", "pieces", "unit_cost", "amount", "cost", "margin", "share"),
    *("bound", "missing", "currency"),
)
WIDEST = 40
"""Letters of a name in the text."""
GAP = "  "
NOTHING = "-"


def to_data(margin: Margin) -> dict[str, Any]:
    """The margins as JSON holds them: amounts and shares are decimal text, null where nobody knows."""
    return {
        "currency": margin.currency,
        "lines": [_line_data(line) for line in margin.lines],
        "categories": [_sum_data(each) for each in margin.categories],
        "total": _sum_data(margin.total),
    }


def _json(margin: Margin) -> str:
    return json.dumps(to_data(margin), ensure_ascii=False, indent=1) + "\n"


def _csv(margin: Margin) -> str:
    """A row a line, then a row a category, then the total; `of` says which."""
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
    """A field of the CSV; a loss stays a number, and is no formula."""
    value = currency if name == "currency" else row.get(name)
    return Decimal(value) if name in ("margin", "share") and value is not None else value


def table(margin: Margin) -> TextTable:
    """The margins as rows: a header, a row per line of the bill, a gap, then the sums."""
    words = language("en")
    header = ("line", "pieces", f"net {margin.currency}", "cost", "margin", "share")
    rows = [header, *(_line_row(line, words, margin.currency) for line in margin.lines), ("",) * len(header)]
    rows += [_sum_row(each, words, margin.currency) for each in (*margin.categories, margin.total)]
    return TextTable(rows, right=range(1, len(header)))


def _text(margin: Margin) -> str:
    rows = table(margin).rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_aligned(row, widths) for row in rows]
    return "\n".join([*lines, *notes(margin)]) + "\n"


SHOWN: Mapping[str, Callable[[Margin], str]] = {"text": _text, "csv": _csv, "json": _json}
"""What writes each form."""


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return GAP.join(cells).rstrip()


def _line_row(line: Earned, words: Language, currency: str) -> tuple[str, ...]:
    def shown(amount: Decimal | None, otherwise: str) -> str:
        return otherwise if amount is None else words.amount(amount, currency)

    net = shown(line.priced.amount, "no price")
    cost, margin = shown(line.cost, "no cost"), shown(line.margin, NOTHING)
    name = line.priced.line.id
    name = name if len(name) <= WIDEST else name[: WIDEST - len(NOTHING)] + "…"
    return (name, words.integer(line.priced.line.pieces), net, cost, margin, _percent(line.share))


def _sum_row(each: Sum, words: Language, currency: str) -> tuple[str, ...]:
    def shown(amount: Decimal | None, least: int, otherwise: str) -> str:
        return otherwise if amount is None else ("≥ " if least else "") + words.amount(amount, currency)

    sign = {AT_LEAST: "≥ ", AT_MOST: "≤ "}.get(each.bound, "")
    share = _percent(each.share)
    return (
        each.name,
        "",
        shown(each.amount, each.without_price, "no price"),
        shown(each.cost, each.without_cost, "no cost"),
        NOTHING if each.margin is None else sign + words.amount(each.margin, currency),
        share if share == NOTHING else sign + share,
    )


def _percent(share: Fraction | None) -> str:
    return NOTHING if share is None else f"{_decimal(share):.2%}"


def notes(margin: Margin) -> Iterator[str]:
    """What the sums leave out."""
    total = margin.total
    for count, word in ((total.without_price, "price"), (total.without_cost, "cost")):
        if count:
            of = f"{count} of {total.lines} lines {'has' if count == 1 else 'have'} no {word}"
            yield f"{of}; sums leave {'it' if count == 1 else 'them'} out (≥ at least, ≤ at most)"


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


def _sum_data(each: Sum) -> dict[str, Any]:
    return {
        "name": each.name,
        "lines": each.lines,
        "lines_without_price": each.without_price,
        "lines_without_cost": each.without_cost,
        "amount": _amount(each.amount),
        "cost": _amount(each.cost),
        "margin": _amount(each.margin),
        "share": _rounded(each.share),
        "bound": each.bound,
    }


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"


def _rounded(share: Fraction | None) -> str | None:
    return None if share is None else f"{_decimal(share):f}"


def _decimal(share: Fraction) -> Decimal:
    return (Decimal(share.numerator) / Decimal(share.denominator)).quantize(SHARE, ROUND_HALF_UP)
