"""The lines of somebody's bill: what each names, how many pieces, at which price, and where it says it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.amounts import POINT, TENTHS, read_amount, read_share
from bomgen.reading.cells import Cell, RawTable
from bomgen.reading.list_words import YEN, find_currencies, language_of, read_heading, yen_of
from bomgen.reading.part_numbers import PartIndex, Recognition, kinds, recognize, words_of

MAX_HEADER = 40
"""Rows from the top in which the header is looked for."""
LEAST_COLUMNS = 2
MAX_LINES = 20_000
MAX_PIECES = 10**9
"""More pieces on a line are taken for something else, such as a part number."""
_PERCENT = 100
_TWIN = re.compile(r"[a-z]+(?:_[a-z]+)+_([a-d])")
NET = "net"
"""Columns of prices that have their discount in them."""
MAYBE_PART = "maybe_part"
"""Columns of price lists that are those of part numbers where no other is."""
SHARED = {
    **{"part": "part", "description": "description", "quantity": "quantity", "price": "price"},
    **{
        "list_price": "price",
        "net_price": "price",
        "discount": "discount",
        "discount_or_paid": "discount",
        "amount": "amount",
        "currency": "currency",
    },
    **{"vendor": "vendor", "line": "line"},
}
"""What columns of price lists are to a bill."""
GENERIC_NAMES = ("no part number", "n/a", "-", "–", "tbd", "无", "无料号")


ANY_SWITCH = "switch"
"""The tier of a module that is plugged in at a switch, where the line does not say at which."""


class Place(NamedTuple):
    """Where in a cluster a line says that it belongs; empty: it does not say."""

    fabric: str = ""
    """The name or the role of a network."""
    links: str = ""
    """The kind of link, such as leaf-spine."""
    tier: str = ""
    """Of a switch its tier, of a module the end that it is plugged in at."""


class SentLine(NamedTuple):
    """A line of the bill."""

    mark: Mark
    part: str
    """What stands where its number belongs."""
    description: str
    notes: str
    """All other words of the line."""
    recognition: Recognition
    place: Place
    quantity: int | None
    """Pieces, without the spares where these have a column of their own; None: the line does not say."""
    spare: int | None = None
    """None: the bill has no column of spares."""
    unit_price: Decimal | None = None
    discount: Decimal | None = None
    """As a share."""
    amount: Decimal | None = None
    in_stock: bool = False
    cluster: str = ""
    """The cluster that it is for, where a bill of several says so."""

    @property
    def kind(self) -> str:
        """The kind of the part that it names; empty where it names none."""
        return self.recognition.named.kind if self.recognition.named else ""

    @property
    def id(self) -> str:
        """The catalogue id of that part; empty where it names none."""
        return self.recognition.named.id if self.recognition.named else ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of the part that it names; where it names none, those that its words say."""
        if self.kind:
            return (self.kind,)
        text = f"{self.part} {self.description} {self.notes}".lower().replace("_", " ")
        return tuple(kind for kind, words in kinds().items() if any(word.search(text) for word in words))

    @property
    def shown(self) -> str:
        """What the reader finds the line by."""
        return self.part or self.description

    @property
    def pieces(self) -> int:
        """Pieces with spares; 0 where the line does not say."""
        return (self.quantity or 0) + (self.spare or 0)


class Sum(NamedTuple):
    """A row below lines: a subtotal, a tax, a total."""

    mark: Mark
    kind: str
    amount: Decimal
    share: Decimal | None
    """The rate of a tax or a discount that the row names."""
    lines: int
    """Lines above it."""


class SentBill(NamedTuple):
    """A bill as it was sent."""

    file: str
    lines: tuple[SentLine, ...]
    sums: tuple[Sum, ...]
    currency: str
    """Empty: it says none."""
    columns: Mapping[str, str]
    """What was taken for what: the heading of each column that is used."""
    left_out: tuple[str, ...] = ()
    """Sheets that were not read."""

    @property
    def has_spares(self) -> bool:
        """Whether spares have a column of their own."""
        return any(line.spare is not None for line in self.lines)


def read_bill(tables: Sequence[RawTable], file: str, index: PartIndex) -> SentBill:
    """The bill in the tables of a file: that with the most lines, and others with the same columns.

    Raises PlanErrors when no table has a column of quantities and one of parts or descriptions.
    """
    found = [(table, *header) for table in tables if not table.hidden and (header := _header(table))]
    if not found:
        message = "no bill is found in it; a row must name its columns: a quantity, and a part number or a description"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "no-bill")])
    counted = [
        (sum(1 for row in table.rows[at + 1 :] if _pieces(row, columns)), table, at, columns)
        for table, at, columns in found
    ]
    best = max(counted, key=lambda each: each[0])
    taken = [each for each in counted if each[3].keys() == best[3].keys() and each[0]]
    taken = taken if best in taken else [best]
    lines, sums = list[SentLine](), list[Sum]()
    for _, table, at, columns in taken:
        _read_table(table, at, columns, index, lines, sums)
    if len(lines) > MAX_LINES:
        message = f"more than {MAX_LINES} lines; give the bill alone"
        raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "table-limit")])
    top = best[1].rows[best[2]]
    names = {column: str(top[places[0]].value) for column, places in best[3].items() if column != NET}
    used = {table.name for _, table, _, _ in taken}
    left = tuple(table.name for table in tables if table.name not in used)
    return SentBill(file, tuple(lines), tuple(sums), _currency_of(taken), names, left)


Columns = dict[str, list[int]]


def _header(table: RawTable) -> tuple[int, Columns] | None:
    """The row that names the columns, and which are which; None where no row does."""
    best: tuple[int, Columns] | None = None
    for at, row in enumerate(table.rows[:MAX_HEADER]):
        columns = _columns(row)
        named = {"part", "description"} & columns.keys()
        if "quantity" in columns and named and (best is None or len(columns) > len(best[1])):
            best = at, columns
    return best


def _columns(row: Sequence[Cell]) -> Columns:
    """The columns that the cells of a row name: those of bills by their own words, others as price lists call them."""
    found: Columns = {}
    maybe = list[int]()
    for at, cell in enumerate(row):
        text = " ".join(cell.value.split()) if isinstance(cell.value, str) else ""
        bare = re.sub(r"\s*[(\[（].*$", "", text.lower()).rstrip(": ")
        own = next((name for name, words in _headings().items() if any(word.fullmatch(bare) for word in words)), None)
        roles = (own,) if own else read_heading(text).roles
        name = next((SHARED[role] for role in roles if role in SHARED), own)
        if bare and not own and roles[:1] == (MAYBE_PART,):
            maybe.append(at)
        elif bare and name:
            found.setdefault(name, []).append(at)
            if "net_price" in roles:
                found.setdefault(NET, []).append(at)
    if maybe:
        found.setdefault("part", maybe)
    return found


@cache
def _headings() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    return words_of("columns")


def _read_table(
    table: RawTable, at: int, columns: Columns, index: PartIndex, lines: list[SentLine], sums: list[Sum]
) -> None:
    """Read the rows below a header."""
    section = ""
    of_lines = {place for places in columns.values() for place in places}
    for row in table.rows[at + 1 :]:
        filled = [cell for cell in row if cell.filled]
        if not filled or str(filled[0].value).startswith("#") or _columns(row).keys() == columns.keys():
            continue
        text = {name: _joined(row, places) for name, places in columns.items()}
        first = str(filled[0].value).strip()
        quantity = _pieces(row, columns)
        if total := _sum_row(row, columns, quantity, len(lines)):
            sums.append(total)
            continue
        words = [cell for cell in filled if isinstance(cell.value, str)]
        if quantity is None and len(filled) == 1 and words:
            section = first
            continue
        if not text.get("part") and not text.get("description"):
            continue
        lines.append(_line(row, columns, text, quantity, section, of_lines, index))


def _line(
    row: Sequence[Cell],
    columns: Columns,
    text: Mapping[str, str],
    quantity: int | None,
    section: str,
    of_lines: set[int],
    index: PartIndex,
) -> SentLine:
    part = _first(row, columns.get("part", ()))
    description = text.get("description", "")
    others = " ".join(
        str(cell.value) for at, cell in enumerate(row) if at not in of_lines and isinstance(cell.value, str)
    )
    if part.lower() in GENERIC_NAMES:
        part = ""
    numbers = " ".join(_texts(row, columns.get("part", ())))
    notes = " ; ".join(
        each
        for each in (text.get("fabric", ""), text.get("role", ""), text.get("category", ""), section, others)
        if each
    )
    recognition = recognize(part, f"{description} ; {numbers}" if numbers != part else description, index)
    spare = _whole(_cell(row, columns, "spare")) if "spare" in columns else None
    mark = next(cell.mark for cell in row if cell.filled)
    return SentLine(
        mark=mark,
        part=part,
        description=description,
        notes=notes,
        recognition=recognition,
        place=_place(
            text.get("fabric", ""),
            text.get("role", ""),
            f"{section} ; {text.get('category', '')} ; {description} ; {others}",
        ),
        quantity=quantity,
        spare=(spare or 0) if "spare" in columns else None,
        unit_price=_amount(_cell(row, columns, NET) or _cell(row, columns, "price")),
        discount=None if _cell(row, columns, NET) else _share(_cell(row, columns, "discount")),
        amount=_amount(_cell(row, columns, "amount")),
        in_stock=_first(row, columns.get("in_stock", ())).lower() == "true",
        cluster=_first(row, columns.get("cluster", ())) or _twin(row),
    )


def _twin(row: Sequence[Cell]) -> str:
    """The letter behind a name of several equal clusters, such as `scale_out_leaf_a`."""
    found = [match.group(1) for cell in row if isinstance(cell.value, str) and (match := _TWIN.fullmatch(cell.value))]
    return found[0] if len(found) == 1 else ""


def _place(fabric: str, role: str, words: str) -> Place:
    """Where a line belongs: by columns that say it, else by its words."""
    text = f" {words.lower()} ".replace("_", " ")
    found = fabric or next(
        (name for name, each in words_of("fabrics").items() if any(w.search(text) for w in each)), ""
    )
    if role:
        links, _, tier = role.partition("/")
        if "-" in links:
            return Place(found, links, tier)
        return Place(found, "", links)
    said = [name for name, each in words_of("links").items() if any(w.search(text) for w in each)]
    links = said[0] if len(said) == 1 else ""
    ends = [name for name, each in words_of("ends").items() if any(w.search(text) for w in each)]
    if len(ends) == 1:
        return Place(found, links, ends[0])
    tiers = [name for name, each in words_of("tiers").items() if any(w.search(text) for w in each)]
    switches = [tier for tier in tiers if tier != "server"]
    return Place(found, links, switches[0] if len(switches) == 1 and not said else "")


def _sum_row(row: Sequence[Cell], columns: Columns, quantity: int | None, above: int) -> Sum | None:
    """The row of a subtotal, a tax or a total; None for any other."""
    if quantity is not None and _cell(row, columns, "part"):
        return None
    texts = [text.lower() for cell in row if isinstance(cell.value, str) and (text := cell.value.strip())]
    said = (kind for text in texts[:LEAST_COLUMNS] for kind, each in words_of("sums").items() if _any(each, text))
    kind = next(said, None)
    numbers = [amount for cell in row if (amount := _amount(cell)) is not None]
    if kind is None or not numbers:
        return None
    percent = re.search(r"(\d+(?:[.,]\d+)?)\s*%", " ".join(texts))
    share = Decimal(percent.group(1).replace(",", ".")) / _PERCENT if percent else None
    if any(_any(words_of("rates")["rate"], text) for text in texts[:1]):
        return None
    place = columns.get("amount", ())
    at = _amount(row[place[0]]) if place and place[0] < len(row) else None
    mark = next(cell.mark for cell in row if cell.filled)
    return Sum(mark, kind, at if at is not None else numbers[-1], share, above)


def _any(words: Sequence[re.Pattern[str]], text: str) -> bool:
    return any(word.search(text) for word in words)


def _joined(row: Sequence[Cell], places: Sequence[int]) -> str:
    return " ; ".join(_texts(row, places))


def _texts(row: Sequence[Cell], places: Sequence[int]) -> Iterator[str]:
    for at in places:
        if at < len(row) and row[at].filled:
            value = row[at].value
            yield " ".join((f"{value:f}" if isinstance(value, Decimal) else str(value)).split())


def _first(row: Sequence[Cell], places: Sequence[int]) -> str:
    return next(_texts(row, places), "")


def _cell(row: Sequence[Cell], columns: Columns, name: str) -> Cell | None:
    places = [at for at in columns.get(name, ()) if at < len(row) and row[at].filled]
    return row[places[0]] if places else None


def _pieces(row: Sequence[Cell], columns: Columns) -> int | None:
    return _whole(_cell(row, columns, "quantity"))


def _whole(cell: Cell | None) -> int | None:
    """The whole number of a cell; None where it has none."""
    number = _amount(cell)
    if number is None or number != number.to_integral_value() or not 0 <= number < MAX_PIECES:
        return None
    return int(number)


def _amount(cell: Cell | None) -> Decimal | None:
    """The number of a cell, whatever currency and separators it is written with; None where it is none."""
    if cell is None or isinstance(cell.value, bool):
        return None
    if isinstance(cell.value, Decimal):
        return cell.value
    written = read_amount(cell.value) if isinstance(cell.value, str) else None
    if written is None:
        return None
    # 1,234 is a thousand on a bill, and 1.234 a unit price with three places: few bills have decimal commas alone.
    return written.value(written.point or POINT)


def _share(cell: Cell | None) -> Decimal | None:
    """A discount as a share: `15 %` and 15 are 0.15, 8.5折 too."""
    share = read_share(cell.value) if cell else None
    if share is None:
        return None
    if share.paid:
        return 1 - share.value / TENTHS
    return share.value / _PERCENT if share.percent or share.value > 1 else share.value


def _currency_of(taken: Sequence[tuple[int, RawTable, int, Columns]]) -> str:
    """The currency that cells or headings name, where it is one alone."""
    found = set[str]()
    for _, table, at, columns in taken:
        priced = {place for name in ("currency", "price", "amount") for place in columns.get(name, ())}
        for row in table.rows:
            for place, cell in enumerate(row):
                if isinstance(cell.value, str) and (place in priced or row is table.rows[at]):
                    found.update(find_currencies(cell.value))
    if YEN in found:  # yuan or yen, as the language of the headings says
        headings = (read_heading(str(cell.value)) for _, table, at, _ in taken for cell in table.rows[at])
        named = {yen_of(language_of(headings))} - {None}
        found = {str(code) for code in (found - {YEN}) | named}
    return found.pop() if len(found) == 1 else ""
