"""What is no longer as it was when a lock was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from bomgen import __version__
from bomgen.core.diagnostics import Problem
from bomgen.core.money import rounded
from bomgen.plan.commercial_terms import QuotePlan
from bomgen.pricing.price_book import Price
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, PriceBooks
from bomgen.workflow.lock import RULE, Lock, LockedBill, sets_rate
from bomgen.workflow.lock_text import bills_of, defaults, digest_of_lines, digest_of_plan, digests

ASSUMPTION = "assumption/"
"""How the records begin whose values a lock names."""
MAX_NAMED = 5
"""Names that a message lists at most."""


def stale(lock: Lock, inputs: Inputs, report: Report, books: PriceBooks) -> list[Problem]:
    """Warnings about all that has changed since the lock was written.

    Where nothing is set over the plan, it is the one that was locked, and all it rests on is unchanged, its quote must
    be the same too.
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
    """What bills came to and come to; of those that come to the same the lines that differ."""
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
    """Defaults that are not what they were, and those that the result did not rest on then."""
    if not lock.defaults:
        return
    changed = [f"{id} {lock.defaults[id]} -> {now[id]}" for id in _changed_defaults(lock, now)]
    added = [f"{id} {value}" for id, value in now.items() if id not in lock.defaults]
    if changed:
        yield f"defaults have changed: {_listed(changed)}"
    if added:
        yield f"the plan rests on defaults that it did not rest on: {_listed(added)}"


def _changed_defaults(lock: Lock, now: Mapping[str, str]) -> list[str]:
    return [id for id, value in now.items() if lock.defaults.get(id, value) != value]


def _records(lock: Lock, records: Mapping[str, str], named: Sequence[str]) -> Iterator[str]:
    """Records of the catalogue that say something else, or were not asked for then; but for defaults `named` before."""
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
        yield f"the plan rests on records that are not pinned: {_listed(added)}"


def _books(lock: Lock, books: PriceBooks, report: Report) -> Iterator[str]:
    """Price books that are gone or new, and prices that are not what they were."""
    in_all_planes = (file for each in (report, *report.alternatives) for file, _ in each.plan.quote.price_books)
    named = list(dict.fromkeys(in_all_planes))
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
"""A part, and the quantity that a price of it holds from."""


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


def _rates(lock: Lock, given: QuotePlan, keys: Sequence[str]) -> Iterator[str]:
    """Exchange rates that are not what they were."""
    if given.currency != lock.currency:
        yield f"the quote is in {given.currency}, the pinned rates are for {lock.currency}: they are not used"
        return
    for currency, exchange in given.exchange.items():
        pinned = lock.rates.get(currency)
        if pinned is None:
            yield f"the rate of {currency} is not pinned"
        elif (pinned.rate, pinned.date) != (exchange.rate, exchange.date):
            is_set = sets_rate(keys, currency)
            where, taken = ("by --set", "is not taken") if is_set else ("in the plan", "is taken")
            yield (
                f"a {currency} is worth {exchange.rate} {given.currency} of {exchange.date} {where}, and the pinned"
                f" {pinned.rate} of {pinned.date} {taken}"
            )


def _unpinned(lock: Lock, report: Report) -> Iterator[str]:
    """Parts whose price comes from a book because the lock knows nothing of them."""
    found: dict[str, None] = {}
    for each in (report, *report.alternatives):
        for line in each.quote.lines:
            if line.price and line.book and line.book.file in lock.books and not lock.covers(line.price.part):
                found[line.price.part] = None
    if found:
        yield f"prices that are not pinned: {_listed(list(found))}"
