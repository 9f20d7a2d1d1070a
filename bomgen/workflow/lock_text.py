"""A lock as text, and what is no longer as it was when one was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bomgen import __version__
from bomgen.cabling.devices import number_devices
from bomgen.output.price_lists.yaml import scalar
from bomgen.pricing.price_book import Price
from bomgen.results.result import Report, digest, lines_data
from bomgen.workflow.lock import FORMAT, LockedBill, family, names_of
from bomgen.workflow.plan_files import LOCK_KEY

LOCKED = ("id", "part", "quantity", "spare", "unit_price", "discount", "amount", "in_stock")
"""The keys of a line that make it another when they change."""
OF_LINE = 16
"""Hexadecimal digits of the digest of one line: it only says which line it is that the whole digest misses."""


def text(report: Report, files: Sequence[tuple[str, bytes]], digits: Mapping[str, int]) -> str:
    """The lock of a result that was worked out without one; `files` are those that the plan extends.

    `digits` are those that an earlier lock has for names of devices: a cluster that grows keeps its names.
    """
    quote = report.plan.quote
    known = names_of(report.records) | _named_on_lines(report)
    lines = [
        f"# Written by `bomgen lock`: what the quote of {report.plan.name} rests on. While this file lies beside the",
        "# plan, its prices and rates hold. Commit it; `bomgen check` says when it is stale.",
        f"{LOCK_KEY}: {FORMAT}",
        f"version: {scalar(__version__)}",
        f"plan: {scalar(digest_of_plan(report.content, files))}",
        f"lines: {scalar(digest_of_lines(report))}",
        f"currency: {quote.currency}",
        f"amount: {scalar(str(report.quote.totals.amount))}",
    ]
    lines.append("bills:")
    for name, (amount, below) in bills_of(report).items():
        named = [f"alternative: {scalar(name)}"] if name else []
        first, *others = (*named, f"amount: {scalar(str(amount))}", "lines:" if below else "lines: {}")
        lines += [f"  - {first}", *(f"    {other}" for other in others)]
        lines += [f"      {scalar(id)}: {scalar(found)}" for id, found in below.items()]
    lines.append("rates:" if quote.exchange else "rates: {}")
    for currency, given in quote.exchange.items():
        fields = {"rate": str(given.rate), "date": given.date, "source": given.source}
        lines.append(f"  {currency}: {_mapping(fields)}")
    books = {book.file: book for each in (report, *report.alternatives) for book in each.books}
    lines.append("books:" if books else "books: []")
    for book in books.values():
        lines += [f"  - file: {scalar(book.file)}", "    book:", f"      name: {scalar(book.name)}"]
        priced = [price for price in book.prices if {price.part, family(price.part)} & known]
        lines.append("      prices:" if priced else "      prices: []")
        lines += [f"        - {_mapping(_entry(price))}" for price in priced]
    lines.append("digits:")
    lines += [f"  {scalar(stem)}: {digits.get(stem, found)}" for stem, found in _digits(report).items()]
    lines.append("parts:")
    lines += [f"  - {scalar(name)}" for name in sorted(known)]
    lines.append("defaults:" if defaults(report) else "defaults: {}")
    lines += [f"  {id}: {scalar(value)}" for id, value in defaults(report).items()]
    lines.append("records:")
    lines += [f"  {name}: {scalar(found)}" for name, found in digests(report).items()]
    return "\n".join(lines) + "\n"


def _digits(report: Report) -> dict[str, int]:
    """The digits of the numbers in names of devices, by what these begin with."""
    return {kind.stem: kind.digits for each in report.each_cluster for kind in number_devices(each.design).kinds}


def _named_on_lines(report: Report) -> set[str]:
    return {name for each in (report, *report.alternatives) for line in each.quote.lines for name in line.line.names}


def _mapping(fields: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {scalar(value)}" for key, value in fields.items() if value is not None) + "}"


def _entry(price: Price) -> dict[str, Any]:
    ranged = (price.low, price.high) != (price.amount, price.amount)
    return {
        "part": price.part,
        "price": price.amount,
        "min": price.low if ranged else None,
        "max": price.high if ranged else None,
        "from_quantity": price.from_quantity if price.from_quantity > 1 else None,
        "currency": price.currency,
        "date": price.date,
        "valid_until": price.valid_until,
        "source": price.source,
        "estimate": price.estimate or None,
        "lead_time": f"{price.lead_days} days" if price.lead_days else None,
    }


def digest_of_plan(content: bytes, files: Sequence[tuple[str, bytes]]) -> str:
    """The digest of a plan and the files that it extends."""
    return digest("\n".join(digest(each) for each in (content, *(inner for _, inner in files))).encode())


def digest_of_lines(report: Report) -> str:
    """The digest of what stands on the bill and what it comes to, those of the alternatives too."""
    return digest(json.dumps(list(_lines(report)), ensure_ascii=False).encode())


def bills_of(report: Report) -> dict[str, LockedBill]:
    """What the plan and its alternatives come to, by the names of these, with the digests of their lines."""
    names = ("", *(alternative.name for alternative in report.plan.quote.alternatives))
    return {
        name: LockedBill(
            each.quote.totals.amount,
            {
                str(line["id"]): digest(json.dumps(_locked(line), ensure_ascii=False).encode())[:OF_LINE]
                for line in lines_data(each)
            },
        )
        for name, each in zip(names, (report, *report.alternatives), strict=True)
    }


def digests(report: Report) -> dict[str, str]:
    """The digests of the records of the catalogue that a result rests on, by kind and id."""
    return {f"{record.kind}/{record.id}": digest(record.source.text.encode()) for record in report.records}


def defaults(report: Report) -> dict[str, str]:
    """What the assumptions come to that a result rests on, by their ids, as their records write it."""
    return {record.id: str(record.value("value")) for record in report.records if record.kind == "assumption"}


def _locked(line: Mapping[str, Any]) -> list[Any]:
    return [line[key] for key in LOCKED]


def _lines(report: Report) -> Iterator[Any]:
    for each in (report, *report.alternatives):
        yield [_locked(line) for line in lines_data(each)]
        yield [str(each.quote.totals.amount)]
