"""The text of a lock, and warnings about changes since it was written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from bomgen import __version__
from bomgen.cabling.devices import number_devices
from bomgen.core.diagnostics import Problem
from bomgen.core.money import rounded
from bomgen.output.price_lists.yaml import scalar
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.price_book import Price
from bomgen.results.result import Report, lines_data
from bomgen.results.result import digest as result_digest
from bomgen.workflow.inputs import Inputs, PriceBooks
from bomgen.workflow.lock import FORMAT, RULE, Lock, LockedBill, family, names_of, sets_rate
from bomgen.workflow.plan_files import LOCK_KEY

LOCKED = ("id", "part", "quantity", "spare", "unit_price", "discount", "amount", "in_stock")
"""Keys of a bill line that its digest covers."""
OF_LINE = 16
"""Hexadecimal digits of a line's digest, which only locates a change that the full digest reports."""


def text(report: Report, files: Sequence[tuple[str, bytes]], digits: Mapping[str, int]) -> str:
    """Return the lock of a result that was calculated without one; `files` are those that the plan extends.

    `digits` are those of an earlier lock for device names, so that a growing cluster keeps its names.
    """
    quote = report.plan.quote
    known = names_of(report.records) | _named_on_lines(report)
    lines = [
        f"# Written by `bomgen lock`: the inputs of the quote of {report.plan.name}. While this file is next to the",
        "# plan, its prices and rates apply. Commit it; `bomgen check` reports when it is stale.",
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
    """Return the digits of the numbers in device names, by name prefix."""
    return {kind.stem: kind.digits for cluster in report.each_cluster for kind in number_devices(cluster.design).kinds}


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
    """Return the digest of a plan and the files that it extends."""
    return result_digest("\n".join(result_digest(each) for each in (content, *(inner for _, inner in files))).encode())


def digest_of_lines(report: Report) -> str:
    """Return the digest of the bill lines and totals, including those of alternatives."""
    return result_digest(json.dumps(list(_lines(report)), ensure_ascii=False).encode())


def bills_of(report: Report) -> dict[str, LockedBill]:
    """Return the totals and line digests of the plan and its alternatives, by name."""
    names = ("", *(alternative.name for alternative in report.plan.quote.alternatives))
    return {
        name: LockedBill(
            each.quote.totals.amount,
            {
                str(line["id"]): result_digest(json.dumps(_locked(line), ensure_ascii=False).encode())[:OF_LINE]
                for line in lines_data(each)
            },
        )
        for name, each in zip(names, (report, *report.alternatives), strict=True)
    }


def digests(report: Report) -> dict[str, str]:
    """Return the digests of the catalogue records that a result uses, by kind and id."""
    return {f"{record.kind}/{record.id}": result_digest(record.source.text.encode()) for record in report.records}


def defaults(report: Report) -> dict[str, str]:
    """Return the values of the assumptions that a result uses, by id, as their records write them."""
    return {record.id: str(record.value("value")) for record in report.records if record.kind == "assumption"}


def _locked(line: Mapping[str, Any]) -> list[Any]:
    return [line[key] for key in LOCKED]


def _lines(report: Report) -> Iterator[Any]:
    for each in (report, *report.alternatives):
        yield [_locked(line) for line in lines_data(each)]
        yield [str(each.quote.totals.amount)]


# lock staleness -----------------------------------------------------------------------------------------------------
# Changes since a lock was written.

ASSUMPTION = "assumption/"
"""Prefix of the records whose values a lock contains."""
MAX_NAMED = 5
"""Maximum number of names in a message."""


def stale(lock: Lock, inputs: Inputs, report: Report, books: PriceBooks) -> list[Problem]:
    """Return warnings about everything that has changed since the lock was written.

    If no setting overrides the plan, and the plan and all inputs are unchanged, the quote must be unchanged too.
    """
    keys = inputs.keys
    given = report.plan.quote._replace(exchange=books.rates)
    found = [
        *_defaults(lock, defaults(report)),
        *_records(lock, digests(report), _changed_defaults(lock, defaults(report))),
        *_books(lock, books, report),
        *_rates(lock, given, keys),
        *_unpinned(lock, report),
    ]
    same_plan = lock.plan == digest_of_plan(report.content, inputs.source.files) and not keys
    if same_plan and not found and lock.lines != digest_of_lines(report):
        was = "" if lock.version == __version__ else f", which bomgen {lock.version} wrote"
        found.append(f"the bill is not the one of this lock{was}: {_differs(lock, report)}")
    remedy = f"`bomgen lock {report.plan_file}` updates it"
    return [Problem(lock.mark, "warning", f"{message}; {remedy}", f"stale-{RULE}") for message in found]


def _differs(lock: Lock, report: Report) -> str:
    """Return a text of changed totals of bills, and of changed lines of bills with equal totals."""
    currency = lock.currency
    bills = bills_of(report)
    locked = lock.bills or {"": LockedBill(lock.amount, bills[""].lines)}
    found = []
    for name, then in locked.items():
        now = bills.get(name)
        if now is None:
            continue
        of = f"alternative '{name}' " if name else ""
        if then.amount != now.amount:
            amounts = [f"{rounded(Fraction(each.amount), currency)} {currency}" for each in (now, then)]
            found.append(f"{of}{amounts[0]} now, {amounts[1]} then")
        elif changed := [id for id in (then.lines | now.lines) if then.lines.get(id) != now.lines.get(id)]:
            found.append(f"{of}the same amount, with other lines: {_listed(changed)}")
    return "; ".join(found) or "the same amount, with other lines"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _defaults(lock: Lock, now: Mapping[str, str]) -> Iterator[str]:
    """Yield changed defaults, and defaults that the locked result did not use."""
    if not lock.defaults:
        return
    changed = [f"{id} {lock.defaults[id]} -> {now[id]}" for id in _changed_defaults(lock, now)]
    added = [f"{id} {value}" for id, value in now.items() if id not in lock.defaults]
    if changed:
        yield f"defaults have changed: {_listed(changed)}"
    if added:
        yield f"the plan uses defaults that are not pinned: {_listed(added)}"


def _changed_defaults(lock: Lock, now: Mapping[str, str]) -> list[str]:
    return [id for id, value in now.items() if lock.defaults.get(id, value) != value]


def _records(lock: Lock, records: Mapping[str, str], named: Sequence[str]) -> Iterator[str]:
    """Yield catalogue records that changed or were not used before, except the defaults in `named`."""
    said = {ASSUMPTION + id for id in named}
    changed = [
        name for name, digest in records.items() if lock.records.get(name, digest) != digest and name not in said
    ]
    told = bool(lock.defaults)
    added = [name for name in records if name not in lock.records and not (told and name.startswith(ASSUMPTION))]
    by = f"bomgen {lock.version} had other values" if lock.version != __version__ else "their values were different"
    if changed:
        yield f"the catalogue has changed: {_listed(changed)}: {by}"
    if added:
        yield f"the plan uses records that are not pinned: {_listed(added)}"


def _books(lock: Lock, books: PriceBooks, report: Report) -> Iterator[str]:
    """Yield price books that are missing or new, and changed prices."""
    in_all_planes = (file for each in (report, *report.alternatives) for file, _ in each.plan.quote.price_books)
    sold = (book.file for each in (report, *report.alternatives) for book in each.books if book.categories is not None)
    named = list(dict.fromkeys((*in_all_planes, *sold)))
    for file, pinned in lock.books.items():
        if file not in named:
            yield f"the plan no longer names the price book {file}"
        elif file not in books.current:
            yield f"the price book {file} cannot be read any more: its pinned prices are used"
        else:
            then = _prices_by_tier(pinned.book.prices)
            now = _prices_by_tier(price for price in books.current[file].prices if lock.covers(price.part))
            tiers = [tier for tier in sorted(then | now) if _fields(then.get(tier)) != _fields(now.get(tier))]
            changed = [_change(tier, then.get(tier), now.get(tier)) for tier in tiers]
            if changed:
                yield f"{file} has changed; the pinned prices are used: {_listed(changed)}"
    for file in named:
        if file not in lock.books:
            yield f"the prices of {file} are not pinned"


Tier = tuple[str, int]
"""A part, and the smallest quantity of one of its prices."""


def _prices_by_tier(prices: Iterable[Price]) -> dict[Tier, Price]:
    return {(price.part, price.from_quantity): price for price in prices}


def _fields(price: Price | None) -> tuple[object, ...] | None:
    return price.fields if price else None


def _change(tier: Tier, then: Price | None, now: Price | None) -> str:
    part, quantity = tier
    name = part if quantity <= 1 else f"{part} from {quantity}"
    old, new = _amount(then), _amount(now)
    return f"{name} {old} -> {new}" if old != new else f"{name} (date, source or validity)"


def _amount(price: Price | None) -> str:
    if price is None:
        return "no price"
    if price.amount is None or (price.low, price.high) != (price.amount, price.amount):
        shown = f"{price.low} to {price.high}"
        return f"{price.amount} ({shown}) {price.currency}" if price.amount is not None else f"{shown} {price.currency}"
    return f"{price.amount} {price.currency}"


def _rates(lock: Lock, quote_plan: QuotePlan, keys: Sequence[str]) -> Iterator[str]:
    if quote_plan.currency != lock.currency:
        yield f"the quote is in {quote_plan.currency}, the pinned rates are for {lock.currency}: they are not used"
        return
    for currency, exchange in quote_plan.exchange.items():
        pinned = lock.rates.get(currency)
        if pinned is None:
            yield f"the rate of {currency} is not pinned"
        elif (pinned.rate, pinned.date) != (exchange.rate, exchange.date):
            is_set = sets_rate(keys, currency)
            where, taken = ("by --set", "is not taken") if is_set else ("in the plan", "is taken")
            yield (
                f"a {currency} is worth {exchange.rate} {quote_plan.currency} of {exchange.date} "
                f"{where}, and the pinned"
                f" {pinned.rate} of {pinned.date} {taken}"
            )


def _unpinned(lock: Lock, report: Report) -> Iterator[str]:
    """Yield parts that are priced from a book because the lock does not cover them."""
    found: dict[str, None] = {}
    for each in (report, *report.alternatives):
        for line in each.quote.lines:
            if line.price and line.book and line.book.file in lock.books and not lock.covers(line.price.part):
                found[line.price.part] = None
    if found:
        yield f"prices that are not pinned: {_listed(list(found))}"
