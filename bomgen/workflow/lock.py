"""The lock of a plan: the prices, exchange rates and catalogue records of a quote, for reproducible results.

While a lock lies next to its plan, its prices and rates replace those of the price books. The catalogue is pinned by
digests of the records that were read: their contents belong to a version of bomgen, or to a part folder in the plan's
own repository, and are not copied.

A lock has all prices of the parts of a plan, and lists parts without a price: a price that is added later must not
change the quote. A copy of the catalogue would also have to pin the code that reads it, which is what a version of
bomgen does; the digests identify that version. Stale records are reported on standard error and by `check`, never in a
document, because documents would then differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from operator import eq
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.cabling.devices import list_installed, list_kinds, number_devices
from bomgen.catalog.files import ANY_LENGTH, KINDS, LENGTH_CODE, NOT_PARTS, Record
from bomgen.core import schema
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.units import decimal, rounded
from bomgen.core.yaml_edit import write_block
from bomgen.core.yaml_source import Source, below, decoded, read
from bomgen.output.price_lists import scalar
from bomgen.plan.commercial_terms import Exchange, QuotePlan
from bomgen.plan.types import Installed, Place
from bomgen.pricing import price_book as prices
from bomgen.pricing.price_book import Price, PriceBook, price_book
from bomgen.results.result import Report, lines_data
from bomgen.results.result import digest as result_digest
from bomgen.workflow.plan_files import LOCK_KEY

RULE = "lock"
FORMAT = 1
EXCHANGE = ("quote", "exchange")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


class LockedBook(NamedTuple):
    """The pinned prices of one price book."""

    book: PriceBook
    mark: Mark


class LockedBill(NamedTuple):
    """The totals of a bill, and the digests of its lines by id."""

    amount: Decimal
    lines: dict[str, str]


class Lock(NamedTuple):
    """The contents of a lock file."""

    file: str
    content: bytes
    mark: Mark
    version: str
    plan: str
    lines: str
    currency: str
    amount: Decimal
    rates: dict[str, Exchange]
    books: dict[str, LockedBook]
    """Price books by their path in the plan."""
    parts: frozenset[str]
    """Names of the parts with pinned prices; cable families without length."""
    records: dict[str, str]
    bills: dict[str, LockedBill]
    """Bills by name of the alternative; the plan's own under the empty name. Empty in an older lock."""
    digits: dict[str, int]
    """Digits of the numbers in device names, by name prefix. Empty in an older lock."""
    defaults: dict[str, str]
    """Values of the assumptions used, by id. Empty in an older lock."""
    installed: dict[str, Installed]
    """The places of machines, by cluster. Empty in an older lock, and without a layout."""

    def is_of(self, content: bytes, files: Sequence[tuple[str, bytes]]) -> bool:
        """Return whether a plan, with the files that it extends, is unchanged since the lock was written."""
        return self.plan == digest_of_plan(content, files)

    def covers(self, part: str) -> bool:
        """Return whether the lock has a part's price, or states that it has none."""
        return part in self.parts or family(part) in self.parts

    def pin(self, file: str, book: PriceBook) -> PriceBook:
        """Return a price book with its pinned prices; parts that the lock does not cover keep their current prices."""
        pinned = self.books[file].book
        unpinned = tuple(price for price in book.prices if not self.covers(price.part))
        return pinned._replace(prices=(*pinned.prices, *unpinned), currencies=_currencies(pinned, unpinned))

    def rates_for(self, quote: QuotePlan, keys: Iterable[str] = ()) -> dict[str, Exchange]:
        """Return the exchange rates of a quote, with the pinned rates of its currencies.

        A rate set by one of `keys` is kept: --set and alternatives override the lock.
        """
        if quote.currency != self.currency:
            return dict(quote.exchange)
        return {
            currency: exchange if sets_rate(keys, currency) else self.rates.get(currency, exchange)
            for currency, exchange in quote.exchange.items()
        }


def sets_rate(keys: Iterable[str], currency: str) -> bool:
    """Return whether one of the dotted keys sets an exchange rate, a part of one, or a section that contains it."""
    wanted = (*EXCHANGE, currency)
    return any(all(map(eq, key.split("."), wanted)) for key in keys)


def family(part: str) -> str:
    """Return the name of a part; for a cable, without its length."""
    return LENGTH_CODE.sub(ANY_LENGTH, part)


def names_of(records: Iterable[Record]) -> set[str]:
    """Return the lower-case names of records that price books may use."""
    names = set[str]()
    for record in records:
        if record.kind in NOT_PARTS or record.kind not in KINDS:
            continue
        numbers = (record.value(key) for key in ("part_number", "ordering_number"))
        names |= {str(name).lower() for name in (record.id, *numbers) if name}
    return names


def lock_of(name: str, content: bytes) -> Lock:
    """Return the lock in a file's bytes. Raises PlanErrors for an invalid lock."""
    source = read(decoded(content, name), name)
    if newer := schema.newer(source, LOCK_KEY, "a lock", FORMAT, RULE):
        raise PlanErrors([newer])  # writing it again with this version would lose the prices that it pins
    problems = schema.check_schema(source, "lock") or list(_slips(source))
    if problems:
        raise PlanErrors([_as_lock(problem) for problem in problems[:1]])
    data = source.data
    rates = {
        currency: Exchange(
            decimal(entry["rate"]), str(entry["date"]), entry.get("source"), source.mark(("rates", currency))
        )
        for currency, entry in data["rates"].items()
    }
    return Lock(
        file=name,
        content=content,
        mark=source.mark(()),
        version=data["version"],
        plan=data["plan"],
        lines=data["lines"],
        currency=data["currency"],
        amount=decimal(data["amount"]),
        rates=rates,
        books={entry["file"]: _book(source, at) for at, entry in enumerate(data["books"])},
        parts=frozenset(data["parts"]),
        records=data["records"],
        bills={
            bill.get("alternative", ""): LockedBill(decimal(bill["amount"]), bill["lines"])
            for bill in data.get("bills", ())
        },
        digits=data.get("digits", {}),
        defaults=data.get("defaults", {}),
        installed={cluster.get("cluster", ""): _installed(cluster) for cluster in data.get("installed", ())},
    )


def _installed(data: Mapping[str, Any]) -> Installed:
    """Return what stands in a cluster: machines in the order of their numbers, those without a place in rack 0."""
    rows = tuple(tuple((kind, racks) for kind, racks in row) for row in data.get("rows", ()))
    places = {kind: enumerate(_places(runs)) for kind, runs in data.get("places", {}).items()}
    return Installed(
        rows=rows,
        places={kind: {number: at for number, at in found if at[0]} for kind, found in places.items()},
        names={stem: tuple(names) for stem, names in data.get("names", {}).items()},
        labels=tuple((label, cables) for label, cables in data.get("labels", ())),
        ends=tuple(map(tuple, data.get("ends", ()))),
    )


def _places(runs: Iterable[Sequence[int]]) -> Iterator[Place]:
    for rack, unit, machines, step in runs:
        yield from ((rack, unit + number * step) for number in range(machines))


def _runs(places: Sequence[Place]) -> Iterator[list[int]]:
    """Yield machines at equal distances in a rack: rack, lowest unit, machines, and units from each to the next."""
    for _, in_rack in groupby(places, lambda place: place[0]):
        run = list[int]()
        for rack, unit in in_rack:
            if run and run[2] == 1:
                run[3] = unit - run[1]
            if run and run[3] >= 0 and unit == run[1] + run[2] * run[3] and run[2] < MOST_IN_RUN:
                run[2] += 1
                continue
            if run:
                yield run if run[2] > 1 else [*run[:3], 0]
            run = [rack, unit, 1, 0]
        yield run if run[2] > 1 else [*run[:3], 0]


def _slips(source: Source) -> Iterable[Problem]:
    """Yield invalid amounts, exchange rates of 0, days that are not in the calendar, and floors beyond any site."""
    for at, cluster in enumerate(source.data.get("installed", ())):
        racks = sum(run[1] for row in cluster.get("rows", ()) for run in row)
        if racks > MOST_RACKS:
            message = f"{racks} racks on one floor; at most {MOST_RACKS}"
            yield Problem(source.mark(("installed", at, "rows")), "error", message, "range")
    amount = source.data["amount"]
    if isinstance(amount, str) and not _NUMBER.fullmatch(amount):
        message = f"'{amount}' is not an amount; a decimal number is expected"
        yield Problem(source.mark(("amount",)), "error", message, "number")
    for currency, entry in source.data["rates"].items():
        if not decimal(entry["rate"]):
            message = f"a rate of 0 for {currency}; more than 0"
            yield Problem(source.mark(("rates", currency, "rate")), "error", message, "range")
        try:
            date.fromisoformat(entry["date"])
        except ValueError:
            message = f"{entry['date']} is not a date; write YYYY-MM-DD"
            yield Problem(source.mark(("rates", currency, "date")), "error", message, "date")


def _as_lock(problem: Problem) -> Problem:
    message = f"{problem.fault}; write the lock again with `bomgen lock`, or remove it"
    return problem._replace(message=message, rule=RULE)


def _book(source: Source, at: int) -> LockedBook:
    """Return a pinned price book; the marks of its prices refer to the lock."""
    inner = below(source, ("books", at, "book"))
    inner = inner._replace(data={prices.FORMAT_KEY: prices.FORMAT, **inner.data}, file=source.data["books"][at]["file"])
    try:
        return LockedBook(price_book(inner), inner.mark(()))
    except PlanErrors as errors:
        raise PlanErrors([_as_lock(problem) for problem in errors.problems[:1]]) from None


def _currencies(book: PriceBook, unpinned: Sequence[Price]) -> tuple[tuple[str, Mark], ...]:
    """Return the currencies of a pinned book, each with the place that names it first."""
    currencies = dict(book.currencies)
    for price in unpinned:
        currencies.setdefault(price.currency, price.mark)
    return tuple(currencies.items())


# text of a lock -------------------------------------------------------------------------------------------------------

NOTHING = Installed((), {})
NO_PLACE = (0, 0)
"""The place of a machine that stands in no rack."""
MOST_IN_RUN = 100
"""Maximum machines in one entry of the places."""
MOST_RACKS = 1_000_000
LOCKED = ("id", "part", "quantity", "spare", "unit_price", "discount", "amount", "in_stock")
"""Keys of a bill line that its digest covers."""
OF_LINE = 16
"""Hexadecimal digits of a line's digest, which only locates a change that the full digest reports."""


def lock_text(
    report: Report,
    files: Sequence[tuple[str, bytes]],
    digits: Mapping[str, int],
    networks: Mapping[str, Installed],
) -> str:
    """Return the lock of a result that was calculated without one; `files` are those that the plan extends.

    `digits` are those of an earlier lock for device names, so that a growing cluster keeps its names, and `networks`
    are the names, labels and ports of each cluster.
    """
    quote = report.plan.quote
    results = (report, *report.alternatives)
    names = names_of(report.records)
    names |= {name for result in results for line in result.quote.lines for name in line.line.names}
    books = {book.file: book for result in results for book in result.books}
    kinds = (kind for cluster in report.each_cluster for kind in number_devices(cluster.design).kinds)
    found_digits = {kind.stem: kind.digits for kind in kinds}
    tree = {
        LOCK_KEY: str(FORMAT),
        "version": scalar(__version__),
        "plan": scalar(digest_of_plan(report.content, files)),
        "lines": scalar(digest_of_lines(report)),
        "currency": quote.currency,
        "amount": scalar(str(report.quote.totals.amount)),
        "bills": [
            {
                **({"alternative": scalar(name)} if name else {}),
                "amount": scalar(str(bill.amount)),
                "lines": _scalars(bill.lines),
            }
            for name, bill in bills_of(report).items()
        ],
        "rates": {
            currency: _mapping({"rate": str(exchange.rate), "date": exchange.date, "source": exchange.source})
            for currency, exchange in quote.exchange.items()
        },
        "books": [
            {
                "file": scalar(book.file),
                "book": {
                    "name": scalar(book.name),
                    "prices": [
                        _mapping(_entry(price)) for price in book.prices if {price.part, family(price.part)} & names
                    ],
                },
            }
            for book in books.values()
        ],
        "digits": {scalar(stem): str(digits.get(stem, default)) for stem, default in found_digits.items()},
        "installed": [
            _installed_tree(cluster, networks.get(cluster.plan.cluster_name, NOTHING))
            for cluster in report.each_cluster
        ],
        "parts": [scalar(name) for name in sorted(names)],
        "defaults": _scalars(defaults(report)),
        "records": _scalars(digests(report)),
    }
    head = [
        f"# Written by `bomgen lock`: the inputs of the quote of {report.plan.name}. While this file is next to the",
        "# plan, its prices and rates apply. Commit it; `bomgen check` reports when it is stale.",
    ]
    return "\n".join([*head, *write_block(tree)]) + "\n"


def _installed_tree(cluster: Report, network: Installed) -> dict[str, Any]:
    """Return where the machines of a cluster stand, and what its network is called."""
    name, stands = cluster.plan.cluster_name, list_installed(cluster.design)
    tree: dict[str, Any] = {"cluster": scalar(name)} if name else {}
    if stands:
        tree["rows"] = _flow(_flow(f"[{kind}, {racks}]" for kind, racks in row) for row in stands.rows)
        tree["places"] = {
            scalar(kind): _flow(_runs([places.get(at, NO_PLACE) for at in range(max(places, default=-1) + 1)]))
            for kind, places in stands.places.items()
        }
    return tree | {
        "names": {scalar(stem): _flow(map(scalar, names)) for stem, names in network.names.items()},
        "labels": [_flow((scalar(label), cables)) for label, cables in network.labels],
        "ends": [_flow(scalar(part) for part in link) for link in network.ends],
    }


def _scalars(texts: Mapping[str, str]) -> dict[str, str]:
    return {scalar(key): scalar(text) for key, text in texts.items()}


def _flow(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def _mapping(fields: Mapping[str, Any]) -> str:
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
    return result_digest("\n".join(result_digest(data) for data in (content, *(inner for _, inner in files))).encode())


def digest_of_lines(report: Report) -> str:
    """Return the digest of the bill lines and totals, including those of alternatives."""
    bills = list[list[Any]]()
    for result in (report, *report.alternatives):
        bills += [[_locked(line) for line in lines_data(result)], [str(result.quote.totals.amount)]]
    return result_digest(json.dumps(bills, ensure_ascii=False).encode())


def bills_of(report: Report) -> dict[str, LockedBill]:
    """Return the totals and line digests of the plan and its alternatives, by name."""
    names = ("", *(alternative.name for alternative in report.plan.quote.alternatives))
    return {
        name: LockedBill(
            result.quote.totals.amount,
            {
                str(line["id"]): result_digest(json.dumps(_locked(line), ensure_ascii=False).encode())[:OF_LINE]
                for line in lines_data(result)
            },
        )
        for name, result in zip(names, (report, *report.alternatives), strict=True)
    }


def digests(report: Report) -> dict[str, str]:
    """Return the digests of the catalogue records that a result uses, by kind and id."""
    return {f"{record.kind}/{record.id}": result_digest(record.source.text.encode()) for record in report.records}


def defaults(report: Report) -> dict[str, str]:
    """Return the values of the assumptions that a result uses, by id, as their records write them."""
    return {record.id: str(record.value("value")) for record in report.records if record.kind == "assumption"}


def _locked(line: Mapping[str, Any]) -> list[Any]:
    return [line[key] for key in LOCKED]


# lock staleness -----------------------------------------------------------------------------------------------------
# Changes since a lock was written.

ASSUMPTION = "assumption/"
"""Prefix of the records whose values a lock contains."""
MAX_NAMED = 5


def stale(
    lock: Lock,
    report: Report,
    keys: Sequence[str],
    files: Sequence[tuple[str, bytes]],
    rates: Mapping[str, Exchange],
    current: Mapping[str, PriceBook],
) -> list[Problem]:
    """Return warnings about everything that has changed since the lock was written.

    `keys` are those that settings override, `files` those that the plan extends, `rates` the exchange rates of the plan
    and `current` the price books of today. If no setting overrides the plan, and the plan and all inputs are unchanged,
    the quote must be unchanged too.
    """
    quote = report.plan.quote._replace(exchange=rates)
    changes = [
        *_defaults(lock, defaults(report)),
        *_records(lock, digests(report), _changed_defaults(lock, defaults(report))),
        *_books(lock, current, report),
        *_rates(lock, quote, keys),
        *_unpinned(lock, report),
        *_moved(lock, report),
    ]
    same_plan = lock.is_of(report.content, files) and not keys
    if same_plan and not changes and lock.lines != digest_of_lines(report):
        was = "" if lock.version == __version__ else f", which bomgen {lock.version} wrote"
        changes.append(f"the bill is not the one of this lock{was}: {_differs(lock, report)}")
    remedy = f"`bomgen lock {report.plan_file}` updates it"
    return [Problem(lock.mark, "warning", f"{message}; {remedy}", f"stale-{RULE}") for message in changes]


def _differs(lock: Lock, report: Report) -> str:
    currency = lock.currency
    bills = bills_of(report)
    locked = lock.bills or {"": LockedBill(lock.amount, bills[""].lines)}
    differences = []
    for name, then in locked.items():
        now = bills.get(name)
        if now is None:
            continue
        of = f"alternative '{name}' " if name else ""
        if then.amount != now.amount:
            amounts = [f"{rounded(Fraction(bill.amount), currency)} {currency}" for bill in (now, then)]
            differences.append(f"{of}{amounts[0]} now, {amounts[1]} then")
        elif changed := [id for id in (then.lines | now.lines) if then.lines.get(id) != now.lines.get(id)]:
            differences.append(f"{of}the same amount, with other lines: {_listed(changed)}")
    return "; ".join(differences) or "the same amount, with other lines"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _defaults(lock: Lock, now: Mapping[str, str]) -> Iterator[str]:
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


def _books(lock: Lock, current: Mapping[str, PriceBook], report: Report) -> Iterator[str]:
    results = (report, *report.alternatives)
    bought = (file for result in results for file, _ in result.plan.quote.price_books)
    sold = (book.file for result in results for book in result.books if book.categories is not None)
    named = list(dict.fromkeys((*bought, *sold)))
    for file, pinned in lock.books.items():
        if file not in named:
            yield f"the plan no longer names the price book {file}"
        elif file not in current:
            yield f"the price book {file} cannot be read any more: its pinned prices are used"
        else:
            then = _prices_by_tier(pinned.book.prices)
            now = _prices_by_tier(price for price in current[file].prices if lock.covers(price.part))
            pairs = {tier: (then.get(tier), now.get(tier)) for tier in sorted(then | now)}
            changed = [
                _change(tier, old, new)
                for tier, (old, new) in pairs.items()
                if old is None or new is None or old.fields != new.fields
            ]
            if changed:
                yield f"{file} has changed; the pinned prices are used: {_listed(changed)}"
    for file in named:
        if file not in lock.books:
            yield f"the prices of {file} are not pinned"


Tier = tuple[str, int]
"""A part, and the smallest quantity of one of its prices."""


def _prices_by_tier(prices: Iterable[Price]) -> dict[Tier, Price]:
    return {(price.part, price.from_quantity): price for price in prices}


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
            rate = f"{exchange.rate} {quote_plan.currency} of {exchange.date}"
            yield f"a {currency} is worth {rate} {where}, and the pinned {pinned.rate} of {pinned.date} {taken}"


def _moved(lock: Lock, report: Report) -> Iterator[str]:
    """Yield the machines that no longer stand where the lock says, while they are laid out at all."""
    names = list[str]()
    for cluster in report.each_cluster:
        then, now = lock.installed.get(cluster.plan.cluster_name), list_installed(cluster.design)
        if then is None or now is None or not then.rows:
            continue
        for kind, machines in list_kinds(number_devices(cluster.design)).items():
            stay = now.places.get(kind, {})
            gone = (box for box, place in then.places.get(kind, {}).items() if box in stay and stay[box] != place)
            names += [machines.name(box * machines.of_box) for box in gone]
    if names:
        yield f"machines no longer fit where they are installed: {_listed(names)}"


def _unpinned(lock: Lock, report: Report) -> Iterator[str]:
    """Yield parts that are priced from a book because the lock does not cover them."""
    lines = (line for result in (report, *report.alternatives) for line in result.quote.lines)
    priced = (line.price.part for line in lines if line.price and line.book and line.book.file in lock.books)
    if parts := [part for part in dict.fromkeys(priced) if not lock.covers(part)]:
        yield f"prices that are not pinned: {_listed(parts)}"
