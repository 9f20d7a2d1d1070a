"""Price books of every kind of file: read or refused at a cell; written in any form and read again they are equal."""

from __future__ import annotations

import io
from binascii import crc32
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from oracles import well_told
from written_plans import open_book

from bomgen.core.diagnostics import PlanErrors
from bomgen.output.price_lists import written
from bomgen.pricing.price_book import check_price_book, entries, price_book

PRICES = Path(__file__).parents[2] / "prices"
MOST_BYTES = 12_288
NAMES = {ord("y"): "book.yaml", ord("c"): "book.csv", ord("t"): "book.tsv", ord("x"): "book.xlsx"}
"""The name of the file by the first byte."""
BINARY = "book.xlsx"
TOKENS = (
    *("part", "price", "currency", "min", "max", "from_quantity", "date", "valid_until", "estimate", "source", "USD"),
    *("description", "bomgen_prices: 1\n", "prices:\n", "  - {part: a, price: 1, currency: EUR}\n", "true", "no", "\t"),
    *('"', '""', ",", ";", "\r\n", "\r", "'=", "=1+1", "@", "1,234.50", "1.234,50", "1e5", "2026-02-30", "1899-12-31"),
    *('t="s"', 't="d"', 't="b"', 't="e"', 't="inlineStr"', "<f>A1</f>", "<v>", "</v>", 'r="XFD1048576"', "1E+308"),
)
SELDOM = 16
"""One book of so many, by its own bytes, is also written as a workbook, which is slow."""
HEAD = "part,price,min,max,currency,from_quantity,date,valid_until,estimate,source,description\r\n"
ROWS = "qm9700,28500.50,20000,30000,USD,10,2026-11-20,2027-01-01,true,a list,a switch\r\nb,1,,,EUR,,,,no,'=x,\r\n"


def seeds() -> Iterator[bytes]:
    """The example books, and one book in every form."""
    for path in sorted(PRICES.glob("*.yaml")):
        yield b"y" + path.read_bytes()[: MOST_BYTES // 4]
    yield b"c" + (HEAD + ROWS).encode()
    yield b"t" + (HEAD + ROWS).replace(",", "\t").encode()
    yield b"c" + (HEAD + ROWS).replace(",", ";").encode()
    source = open_book((HEAD + ROWS).encode(), "book.csv")
    yield b"x" + _repacked(written(entries(source), "xlsx"), lambda _, content: content)


def run(data: bytes) -> None:
    """Read the bytes behind the first one, which says the kind of file."""
    name = NAMES.get(data[0] if data else 0)
    if name is None:
        return
    content = data[1:]
    texts = {} if name == BINARY else {name: content.decode("utf-8", "replace").removeprefix("\ufeff")}
    try:
        source = open_book(content, name)
        book = price_book(source)
    except PlanErrors as errors:
        well_told(errors.problems, texts)
        return
    assert book == price_book(open_book(content, name))
    for price in book.prices:
        assert price.part == price.part.strip().lower()
        assert price.part
        assert price.low is not None
        assert price.high is not None
        assert 0 <= price.low <= (price.low if price.amount is None else price.amount) <= price.high
        assert price.from_quantity >= 1
        assert price.currency
    found = entries(source)
    for form in ("csv", "yaml", *(["xlsx"] if crc32(data) % SELDOM == 0 else [])):
        again = open_book(written(found, form), f"book.{form}")
        if form == "yaml" or found:
            check_price_book(again)
            assert entries(again) == found, form


def mutated(data: bytes, most: int, random: Random, other: Callable[[bytes, int], bytes]) -> bytes:
    """Other bytes: of a workbook those of one file in it, unpacked."""
    if NAMES.get(data[0] if data else 0) != BINARY:
        return other(data, most)
    try:
        names = ZipFile(io.BytesIO(data[1:])).namelist()
        chosen = next((name for name in names if "sheet1" in name and random.random() < 0.7), None)
        chosen = chosen or random.choice(names)
        return b"x" + _repacked(
            data[1:], lambda name, content: other(content, len(content) + 64) if name == chosen else content
        )
    except (BadZipFile, IndexError, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        return other(data, most)


def _repacked(package: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """A package with its files changed and stored as they are."""
    stream = io.BytesIO()
    with ZipFile(io.BytesIO(package)) as old, ZipFile(stream, "w", ZIP_STORED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()
