"""The lines of a bill: parts, quantities, prices and stated positions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog, Record
from bomgen.core.diagnostics import error_at
from bomgen.core.provenance import Mark
from bomgen.reading.bill_columns import (
    LEAST_COLUMNS,
    BillTable,
    Columns,
    ask,
    find_blocks,
    find_counted_rows,
    read_pasted,
)
from bomgen.reading.cells import (
    POINT,
    TENTHS,
    YEN,
    Broken,
    RawTable,
    Share,
    TableCell,
    Value,
    custom_of,
    find_currencies,
    language_of,
    prove_points,
    read_amount,
    read_heading,
    read_share,
    shorten_texts,
)
from bomgen.reading.columns import DIGIT, NOTHING, RequestedColumns, choose_sheet
from bomgen.reading.part_numbers import PartIndex, Recognition, words_of
from bomgen.reading.point_to_point import SheetCable, count_cables, read_cables

MAX_LINES = 5000
"""Maximum number of bill lines that are read; a cluster has about a hundred."""
MAX_PIECES = 10**7
"""Quantity above which a number is taken for something else, such as a part number."""
_PERCENT = 100
_ROLE = re.compile(r"[a-z]+(-[a-z]+)?(/[a-z]+)?")
"""A role as bomgen writes it; others are words."""
_TWIN = re.compile(r"[a-z]+(?:_[a-z]+)+_([a-d])")
STORAGE, IN_BAND = "storage", "in_band"
"""Networks by their names in `bill-words.yaml`."""
PLUGGED_INTO = {"server", "switch", "nic"}
"""Kinds of parts that a module's line may name as its host."""


class StatedPlace(NamedTuple):
    """The position in a cluster that a line states; empty if it does not."""

    fabric: str = ""
    """Name or role of a network."""
    links: str = ""
    """Kind of link, such as leaf-spine."""
    tier: str = ""
    """Tier of a switch; for a module, the end at which it is plugged in: `switch` if it is of no stated tier."""


class Listed(NamedTuple):
    """A list price and its discount next to a net price."""

    price: Decimal
    discount: Share


class SentLine(NamedTuple):
    """A line of the bill."""

    mark: Mark
    part: str
    """Text in the part number column."""
    description: str
    notes: str
    """All other text of the line."""
    recognition: Recognition
    catalog: Catalog
    """The catalogue that its part was recognised in."""
    place: StatedPlace
    quantity: int | None
    """Pieces, without spares if these have a separate column; None if not stated."""
    spare: int | None = None
    """None if the bill has no column of spares."""
    unit_price: Decimal | None = None
    """Net unit price if the bill has it."""
    discount: Decimal | None = None
    """Discount on the unit price, as a share."""
    listed: Listed | None = None
    """List price and discount of a net price."""
    amount: Decimal | None = None
    in_stock: bool = False
    cluster: str = ""
    """Its cluster, if a bill of several states it."""
    currency: str = ""
    """Currency of its price; empty if not stated."""
    unread: tuple[tuple[str, Value], ...] = ()
    """Unreadable values of numeric columns, by role."""

    @property
    def kind(self) -> str:
        """Return the kind of the recognised part; empty without one."""
        return self.recognition.named.kind if self.recognition.named else ""

    @property
    def id(self) -> str:
        """Return the catalogue id of the recognised part; empty without one."""
        return self.recognition.named.id if self.recognition.named else ""

    @property
    def record(self) -> Record:
        """Return the record of the recognised part."""
        return self.catalog.find_original(self.kind, self.id)

    @property
    def is_fibre(self) -> bool:
        """Return whether it is of fibres between modules."""
        return self.kind == "cable" and self.record.value("kind") == "fibre"

    @property
    def links_per_piece(self) -> int:
        """Return the links that a cable carries, or that a module serves, by its words if they say so."""
        if self.kind == "cable":
            return int(part_records.cable(self.record, self.catalog).links.value)
        return self.recognition.words.ports or int(self.record.value("ports") or 1)

    @property
    def links(self) -> int:
        """Return the links that its pieces carry or serve."""
        return (self.quantity or 0) * self.links_per_piece

    @property
    def link_gbps(self) -> int:
        """Return the rate of such a link [Gb/s]; 0 if unknown."""
        if self.kind == "cable":
            return int(self.record.value("link_gbps") or 0)
        return int(self.record.value("rate_gbps") or 0) // self.links_per_piece

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kind of the recognised part, or else the kinds that the text suggests."""
        if self.kind:
            return (self.kind,)
        return tuple(kind for kind, words in words_of("kinds").items() if _any(words, self._words))

    @property
    def _words(self) -> str:
        return f"{self.part} {self.description} {self.notes}".lower().replace("_", " ")

    def may_be(self, kind: str) -> bool:
        """Return whether an unrecognised line may be of a kind; "plug for the switch" only says where an optic goes."""
        if self.kind:
            return False
        said = set(self.kinds)
        if kind == "transceiver" and said <= PLUGGED_INTO and _any(words_of("plugs")["plug"], self._words):
            return True
        return not said or kind in said

    @property
    def shown(self) -> str:
        """Return the text by which a reader finds the line."""
        return self.part or self.description

    @property
    def pieces(self) -> int:
        """Return the pieces including spares; 0 if not stated."""
        return (self.quantity or 0) + (self.spare or 0)


class SumRow(NamedTuple):
    """A row below lines: a subtotal, a tax, a total."""

    mark: Mark
    kind: str
    amount: Decimal
    share: Decimal | None
    """Rate of a tax or a discount that the row states."""
    lines: int
    """Number of lines above it."""


class SentBill(NamedTuple):
    """A bill as received."""

    file: str
    catalog: Catalog
    lines: tuple[SentLine, ...]
    sums: tuple[SumRow, ...]
    currency: str
    """Empty if not stated."""
    columns: Mapping[str, str]
    """Headings of the columns in use, by role."""
    left_out: tuple[str, ...] = ()
    """Sheets that were not read."""
    hidden: tuple[str, ...] = ()
    """Hidden sheets among them."""
    repeating: tuple[str, ...] = ()
    """Sheets that repeat the parts of others and are not counted."""
    unread: int = 0
    """Number of lines beyond `MAX_LINES`."""
    cables: tuple[SheetCable, ...] = ()
    """The rows of point-to-point sheets, whose counts are the lines."""

    @property
    def has_spares(self) -> bool:
        """Return whether spares have a separate column."""
        return any(line.spare is not None for line in self.lines)

    def has_uncounted(self, kind: str) -> bool:
        """Return whether a line that is or may be of a kind has a quantity that is not a number."""
        uncounted = (line for line in self.lines if line.quantity is None and line.unread)
        return any(line.kind == kind or line.may_be(kind) for line in uncounted)


def read_bill(tables: Sequence[RawTable], file: str, index: PartIndex, asked: RequestedColumns = NOTHING) -> SentBill:
    """Return the bill in the tables of a file, without tables that repeat the parts of others.

    Raises PlanErrors if no table has a column of quantities and one of parts or descriptions, and with a question if
    several columns may be the quantities or the prices.
    """
    tables = choose_sheet([*map(shorten_texts, tables)], file, asked)
    seen = [table for table in tables if not table.hidden or asked.sheet]
    cables = {table.name: listed for table in seen if not asked.columns and (listed := read_cables(table))}
    seen = [count_cables(cables[table.name], table.name, index) if table.name in cables else table for table in seen]
    blocks = [block for table in seen for block in find_blocks(table, file, asked)]
    counted = [] if blocks else [block for table in seen for block in find_counted_rows(table, file, asked)]
    blocks = blocks or counted
    if not blocks:
        pasted = [pasted for table in seen if (pasted := read_pasted(table)).rows]
        blocks = counted = [block for table in pasted for block in find_counted_rows(table, file, asked)]
    if not blocks:
        raise ask(seen, file, asked)
    point = asked.decimal or _point(blocks)
    read, section, left_lines = list[_Read](), "", MAX_LINES
    for block in blocks:
        reader = _BlockReader(block, index, point, section if block.continues else "")
        read.append(reader.read(left_lines))
        section, left_lines = reader.section, left_lines - len(read[-1].lines)
    if counted and not any(line.kinds for reading in read for line in reading.lines):
        raise ask(seen, file, asked)
    repeating = _drop_repeated(read)
    lines, sums = list[SentLine](), list[SumRow]()
    for reading in read:
        sums += [total._replace(lines=total.lines + len(lines)) for total in reading.sums]
        lines += reading.lines
    best = max(read, key=lambda reading: len(reading.lines)).block
    used = {*repeating, *(reading.block.table.name for reading in read if reading.lines or reading.sums)}
    left = [table for table in tables if table.name and table.name not in used]
    return SentBill(
        file=file,
        catalog=index.catalog,
        lines=tuple(lines),
        sums=tuple(sums),
        currency=asked.currency or _currency_of(blocks),
        columns=best.headings,
        left_out=tuple(table.name for table in left),
        hidden=tuple(table.name for table in left if table.hidden),
        repeating=tuple(repeating),
        unread=sum(reading.unread for reading in read),
        cables=tuple(cable for listed in cables.values() for cable in listed),
    )


def require_whole(bill: SentBill) -> SentBill:
    """Return a bill for comparison. Raises PlanErrors for one that was not read completely."""
    if bill.unread:
        raise error_at(bill.file, f"more than {MAX_LINES} lines; give the bill alone", "table-limit")
    return bill


def _point(blocks: Sequence[BillTable]) -> str | None:
    columns = (
        (block, column)
        for block in blocks
        for name in ("price", "amount", "quantity")
        for column in block.columns.get(name, ())
    )
    rows = ((row, column) for block, column in columns for row in block.table.rows[block.start : block.end])
    texts = (row[column].value for row, column in rows if column < len(row))
    points = prove_points(text for text in texts if isinstance(text, str))
    return next(iter(points)) if len(points) == 1 else None


class _Read(NamedTuple):
    block: BillTable
    lines: list[SentLine]
    sums: list[SumRow]
    unread: int = 0


def _drop_repeated(read: list[_Read]) -> list[str]:
    """Drop the lines of blocks that repeat the parts of all others, and return the names of their sheets.

    For most of its parts such a block has as many pieces as the other blocks together; other parts are kept. Blocks
    with the same columns are never dropped if another is equal, or if there are only two tables: they may be of equal
    clusters.
    """
    names = list[str]()
    counts = [_count(reading.lines) for reading in read]
    whole = Counter[_Counted]()
    for count in counts:
        whole.update(count)
    alike = Counter(
        (*sorted(reading.block.columns), *sorted(count.items())) for reading, count in zip(read, counts, strict=True)
    )
    filled = [reading.block.columns.keys() for reading in read if reading.lines]
    pair = len(filled) == 2 and filled[0] == filled[1]
    for reading, count in sorted(
        zip(read, counts, strict=True), key=lambda both: (len(both[0].block.columns), -len(both[0].lines))
    ):
        if pair or alike[(*sorted(reading.block.columns), *sorted(count.items()))] > 1:
            continue
        parts = {part for part, _ in count}
        equal = {
            part
            for part, spares in count
            if count[part, spares] in (whole[part, True] - count[part, True], whole[part, False] - count[part, False])
        }
        if 2 * len(equal) > len(parts):
            rest = whole - count
            elsewhere = {part for part, _ in rest}
            reading.lines[:] = [
                line for line in reading.lines if line.quantity is not None and _name(line) not in elsewhere
            ]
            reading.sums.clear()
            whole = rest + _count(reading.lines)
            names.append(reading.block.table.name)
    return list(dict.fromkeys(names))


_Counted = tuple[str, bool]
"""A part, and whether its pieces include spares."""


def _count(lines: Iterable[SentLine]) -> Counter[_Counted]:
    counts = Counter[_Counted]()
    for line in lines:
        if line.quantity:
            counts[_name(line), True] += line.pieces
            counts[_name(line), False] += line.quantity
    return counts


def _name(line: SentLine) -> str:
    return line.recognition.named.part if line.recognition.named else line.shown.lower()


class _BlockReader:
    def __init__(self, block: BillTable, index: PartIndex, point: str | None, section: str) -> None:
        self.block, self.columns, self.point, self.section = block, block.columns, point, section
        self.index = index
        self.of_lines = {column for columns in block.columns.values() for column in columns}
        self.fabric = _fabric_in(block.table.name)
        header = block.table.rows[block.start - 1] if block.start else ()
        self.headings = [str(cell.value or "") for cell in header]
        self.yen = _yen_of(self.headings)
        fabrics = {value for row in block.table.rows for value in _texts(row, self.columns.get("fabric", ()))}
        self.is_storage_apart = any(map(_is_storage, fabrics))
        networks = Counter(map(_fabric_in, fabrics))
        self.networks = {text: network for text in fabrics if networks[network := _fabric_in(text)] == 1}
        """Networks by the words that alone name them; `compute-a` and `compute-b` are two."""

    def read(self, most: int) -> _Read:
        reading = _Read(self.block, [], [])
        rows, ids = self.block.table.rows[self.block.start : self.block.end], self.index.ids
        for at, row in enumerate(rows):
            if len(reading.lines) == most:
                return reading._replace(unread=sum(any(cell.filled for cell in row) for row in rows[at:]))
            filled = [cell for cell in row if cell.filled]
            if not filled or str(filled[0].value).startswith("#"):
                continue
            text = {name: " ; ".join(_texts(row, columns)) for name, columns in self.columns.items()}
            quantity = self._whole(row, "quantity")
            if total := self._sum(row, quantity, len(reading.lines)):
                reading.sums.append(total)
            elif quantity is None and len(filled) == 1 and isinstance(title := filled[0].value, str) and not ids(title):
                self.section = title.strip()
            elif text.get("part") or text.get("description"):
                reading.lines.append(self._line(row, text, quantity))
        return reading

    def _mark(self, row: Sequence[TableCell]) -> Mark:
        mark = next(cell.mark for cell in row if cell.filled)
        return mark._replace(sheet=self.block.table.name)

    def _line(self, row: Sequence[TableCell], text: Mapping[str, str], quantity: int | None) -> SentLine:
        part = _first(row, self.columns.get("part", ()))
        description = text.get("description", "")
        beside = (cell.value for at, cell in enumerate(row) if at not in self.of_lines)
        remarks = " ".join(value for value in beside if isinstance(value, str))
        if _any(words_of("unnumbered")["part"], part.lower()):
            part = ""
        numbers = " ".join(_texts(row, self.columns.get("part", ())))
        whole = f"{description} ; {numbers}" if numbers != part else description
        notes = (text.get("fabric", ""), text.get("role", ""), text.get("category", ""), self.section, remarks)
        words = f"{self.section} ; {text.get('category', '')} ; {description}"
        fabric = text.get("fabric", "")
        fabric = self.networks.get(fabric) or fabric
        stated = _place(fabric, text.get("role", ""), words)
        if not any(stated[1:]):  # a remark beside a description that states the place may name other devices
            stated = _place(fabric, text.get("role", ""), f"{words} ; {remarks}")
        if self.is_storage_apart and stated.fabric == STORAGE and not _is_storage(text.get("fabric", "storage")):
            stated = stated._replace(fabric=IN_BAND)  # a front end, without the storage
        recognition = self.index.recognize(part, whole)
        if remarks and not (recognition.named or recognition.may_be or recognition.closest or recognition.unsold):
            described = self.index.recognize(part, f"{whole} ; {remarks}")  # a column without a known heading
            recognition = described if described.named else recognition
        spare = self._whole(row, "spare")
        net = _cell(row, self.columns, "net")
        return SentLine(
            mark=self._mark(row),
            part=part,
            description=description,
            notes=" ; ".join(filter(None, notes)),
            recognition=recognition,
            catalog=self.index.catalog,
            place=stated._replace(fabric=stated.fabric or self.fabric),
            quantity=quantity,
            spare=(spare or 0) if "spare" in self.columns else None,
            unit_price=self._amount(net or _cell(row, self.columns, "price")),
            discount=None if net else _share(_cell(row, self.columns, "discount")),
            listed=self._listed(row) if net else None,
            amount=self._amount(_cell(row, self.columns, "amount")),
            in_stock=_first(row, self.columns.get("in_stock", ())).lower() == "true",
            cluster=_first(row, self.columns.get("cluster", ())) or _twin(row),
            currency=self._currency(row),
            unread=tuple(self._unread(row, quantity)),
        )

    def _listed(self, row: Sequence[TableCell]) -> Listed | None:
        columns = [
            at for at in self.columns.get("price", ()) if at not in self.columns.get("net", ()) and at < len(row)
        ]
        price = self._amount(row[columns[0]]) if len(columns) == 1 else None
        cell = _cell(row, self.columns, "discount")
        discount = read_share(cell.value) if cell else None
        return None if price is None or discount is None else Listed(price, discount)

    def _unread(self, row: Sequence[TableCell], quantity: int | None) -> Iterator[tuple[str, Value]]:
        """Yield the values in the columns of quantities and prices that are not readable as numbers."""
        cell = _cell(row, self.columns, "quantity")
        if cell and quantity is None:
            yield "quantity", cell.value
        for name in ("price", "amount"):
            cell = _cell(row, self.columns, name)
            value = cell.value if cell and self._amount(cell) is None else None
            # Words without a digit, such as "included", mean that there is no price.
            if isinstance(value, Broken) or (value is not None and DIGIT.search(str(value))):
                yield name, value

    def _currency(self, row: Sequence[TableCell]) -> str:
        for name in ("currency", "price", "amount"):
            cell = _cell(row, self.columns, name)
            texts = [str(cell.value)] if cell and isinstance(cell.value, str) else []
            for text in (*texts, *(self.headings[at] for at in self.columns.get(name, ()) if at < len(self.headings))):
                if len(currencies := find_currencies(text)) == 1:
                    [code] = currencies
                    return self.yen if code == YEN else code
        return ""

    def _whole(self, row: Sequence[TableCell], name: str) -> int | None:
        """Return the integer of a cell; None if it has none, or if it is ambiguous."""
        cell = _cell(row, self.columns, name)
        number = self._amount(cell)
        if cell is None or number is None or number != number.to_integral_value() or not 0 <= number < MAX_PIECES:
            return None
        written = read_amount(cell.value) if isinstance(cell.value, str) else None
        # 1.000 is one or a thousand; with a comma it is a thousand on most bills.
        unclear = written and written.unclear and POINT in written.digits and self.point is None
        return None if unclear else int(number)

    def _amount(self, cell: TableCell | None) -> Decimal | None:
        if cell is None or isinstance(cell.value, bool):
            return None
        if isinstance(cell.value, Decimal):
            return cell.value
        written = read_amount(cell.value) if isinstance(cell.value, str) else None
        # Without other evidence 1,234 is a thousand, and 1.234 a unit price with three places.
        return written.value(written.point or self.point or POINT) if written else None

    def _sum(self, row: Sequence[TableCell], quantity: int | None, above: int) -> SumRow | None:
        if quantity is not None and _cell(row, self.columns, "part"):
            return None
        texts = [text.lower() for cell in row if isinstance(cell.value, str) and (text := cell.value.strip())]
        said = (kind for text in texts[:LEAST_COLUMNS] for kind, words in words_of("sums").items() if _any(words, text))
        kind = next(said, None)
        numbers = [amount for cell in row if (amount := self._amount(cell)) is not None] if kind else ()
        if kind is None or not numbers or any(_any(words_of("rates")["rate"], text) for text in texts[:1]):
            return None
        percent = re.search(r"(\d+(?:[.,]\d+)?)\s*%", " ".join(texts))
        share = Decimal(percent.group(1).replace(",", ".")) / _PERCENT if percent else None
        columns = self.columns.get("amount", ())
        at = self._amount(row[columns[0]]) if columns and columns[0] < len(row) else None
        return SumRow(self._mark(row), kind, at if at is not None else numbers[-1], share, above)


def _twin(row: Sequence[TableCell]) -> str:
    """Return the final letter in names of equal clusters, such as `scale_out_leaf_a`."""
    letters = [match.group(1) for cell in row if isinstance(cell.value, str) and (match := _TWIN.fullmatch(cell.value))]
    return letters[0] if len(letters) == 1 else ""


def _fabric_in(text: str) -> str:
    text = f" {text.lower()} ".replace("_", " ")
    return next((name for name, words in words_of("fabrics").items() if _any(words, text)), "")


def _is_storage(fabric: str) -> bool:
    return _any(words_of("apart")[STORAGE], fabric.lower())


def _place(fabric: str, role: str, words: str) -> StatedPlace:
    text = f" {words} ; {role} ".lower().replace("_", " ")
    fabric = (fabric.isalpha() and _fabric_in(fabric)) or fabric or _fabric_in(text)
    if _ROLE.fullmatch(role):
        links, _, tier = role.partition("/")
        if "-" in links:
            return StatedPlace(fabric, links, tier)
        return StatedPlace(fabric, "", links)
    said, ends, tiers = (
        [name for name, patterns in words_of(group).items() if _any(patterns, text)]
        for group in ("links", "ends", "tiers")
    )
    links = said[0] if len(said) == 1 else ""
    if len(ends) == 1:
        return StatedPlace(fabric, links, ends[0])
    switches = [tier for tier in tiers if tier != "server"]
    return StatedPlace(fabric, links, switches[0] if len(switches) == 1 and not said else "")


def _any(words: Sequence[re.Pattern[str]], text: str) -> bool:
    return any(word.search(text) for word in words)


def _texts(row: Sequence[TableCell], columns: Sequence[int]) -> Iterator[str]:
    for at in columns:
        if at < len(row) and row[at].filled:
            value = row[at].value
            yield " ".join((f"{value:f}" if isinstance(value, Decimal) else str(value)).split())


def _first(row: Sequence[TableCell], columns: Sequence[int]) -> str:
    return next(_texts(row, columns), "")


def _cell(row: Sequence[TableCell], columns: Columns, name: str) -> TableCell | None:
    filled = [at for at in columns.get(name, ()) if at < len(row) and row[at].filled]
    return row[filled[0]] if filled else None


def _share(cell: TableCell | None) -> Decimal | None:
    """Return a discount as a share: 0.15 for `15 %`, 15 and 8.5折."""
    share = read_share(cell.value) if cell else None
    if share is None:
        return None
    if share.paid:
        return 1 - share.value / TENTHS
    return share.value / _PERCENT if share.percent or share.value > 1 else share.value


def _currency_of(blocks: Sequence[BillTable]) -> str:
    currencies, headings = set[str](), list[str]()
    ends: dict[int, int] = {}
    """End of the previous block in each table."""
    for block in blocks:
        begin, ends[id(block.table)] = ends.get(id(block.table), 0), block.end
        priced = {column for name in ("currency", "price", "amount") for column in block.columns.get(name, ())}
        header = block.table.rows[block.start - 1] if block.start else ()
        headings += _texts(header, range(len(header)))
        for row in block.table.rows[begin : block.end]:
            cells = (row[column].value for column in priced if column < len(row))
            currencies.update(code for value in cells if isinstance(value, str) for code in find_currencies(value))
    currencies.update(code for text in headings for code in find_currencies(text))
    if YEN in currencies:
        currencies = (currencies - {YEN}) | ({yen} if (yen := _yen_of(headings)) else set())
    return currencies.pop() if len(currencies) == 1 else ""


def _yen_of(headings: Sequence[str]) -> str:
    return custom_of(language_of(map(read_heading, headings)), "yen")
