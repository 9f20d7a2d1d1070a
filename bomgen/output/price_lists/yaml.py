"""Prices as a YAML price book, a line per price; values common to all are at the top."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from bomgen.core.yaml_edit import quote_double, write_scalar
from bomgen.output.price_list_reading import Entry
from bomgen.pricing.price_book import FORMAT, FORMAT_KEY
from bomgen.reading.price_table import DESCRIPTION

SUFFIXES = (".yml",)
BINARY = False
SHARED = ("currency", "date", "source", "estimate")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/()+-]*(?: [A-Za-z0-9._/()+-]+)*")
_RESERVED = ("null", "true", "false")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def write(entries: Sequence[Entry], name: str | None = None) -> bytes:
    """Return the book. A description is a comment after its price."""
    shared = {
        key: entries[0][key]
        for key in SHARED
        if entries and all(key in entry and entry[key] == entries[0][key] for entry in entries)
    }
    head = {FORMAT_KEY: FORMAT, "name": name, **shared}
    lines = [f"{key}: {scalar(value)}" for key, value in head.items() if value is not None]
    lines.append("prices:" if entries else "prices: []")
    for entry in entries:
        own = (f"{key}: {scalar(entry[key])}" for key in entry if key not in shared and key != DESCRIPTION)
        comment = "".join(letter if letter.isprintable() else " " for letter in entry.get(DESCRIPTION, ""))
        lines.append(f"  - {{{', '.join(own)}}}" + (f" # {comment}" if comment else ""))
    return ("\n".join(lines) + "\n").encode()


def scalar(value: str | int | bool | Decimal | None) -> str:
    """Return a value as YAML on one line."""
    if not isinstance(value, str):
        return write_scalar(value)
    if _DATE.fullmatch(value) or (_PLAIN.fullmatch(value) and value.lower() not in _RESERVED):
        return value
    return quote_double(value)
