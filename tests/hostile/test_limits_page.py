"""The numbers of docs/limits.md are those of the program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bomgen import effort, logo, own_templates, plan_schema, problems, source
from bomgen.fabric import search
from bomgen.inputs import bases, files
from bomgen.prices import table, xlsx
from bomgen.records import MAX_GPUS as GPUS_OF_A_SERVER
from bomgen.records import switches
from bomgen.sizing.counts import MAX_GPUS

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"
ROWS = dict(re.findall(r"^\| (.+?) \| ([0-9]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def most(*path: str) -> Any:
    """The most entries that the plan's schema allows at a key; of a reference, where it leads."""
    place: Any = plan_schema.document("plan")
    for step in path:
        place = (
            place["items"]
            if step == "[]"
            else place["$defs"]["fabric"]
            if step == "fabric"
            else place["properties"][step]
        )
    return place.get("maxItems") or place["maxProperties"]


QUOTE = "quote"
WANTED = {
    "characters of a file": [source.MAX_CHARACTERS],
    "bytes of a plan or lock that are read": [source.MAX_BYTES],
    "bytes of another file that a plan names": [files.MAX_FILE],
    "levels of nesting": [source.MAX_DEPTH],
    "values, aliases written out": [source.MAX_NODES],
    "characters of a key": [source.MAX_KEY],
    "characters of a text": [source.MAX_TEXT],
    "characters of a number": [source.MAX_DIGITS],
    "exponent of a number": [source.MAX_EXPONENT],
    "characters of a path": [files.MAX_PATH],
    "problems that are told": [problems.MAX_PROBLEMS],
    "`clusters`": [most("clusters")],
    "`fabrics`": [most("fabrics")],
    "`hosts` of a fabric": [most("fabric", "hosts")],
    "`quote.alternatives`": [most(QUOTE, "alternatives")],
    "`quote.charges`": [most(QUOTE, "charges")],
    "`quote.terms`": [most(QUOTE, "terms")],
    "`price_book`, `cost_book`, `catalog`, `templates`, `extends`": [
        *(most(QUOTE, "price_book"), most(QUOTE, "cost_book"), most("catalog"), most("templates"), most("extends")),
        bases.MAX_BASES,
    ],
    "lines of an address": [most(QUOTE, "customer", "address"), most(QUOTE, "vendor", "address")],
    "`stock`, `discount.parts`, `discount.lines`": [
        *(most("stock"), most(QUOTE, "discount", "parts"), most(QUOTE, "discount", "lines"))
    ],
    "`quote.exchange`": [most(QUOTE, "exchange")],
    "rows of `site.layout`": [most("site", "layout", "rows")],
    "blocks of a row": [most("site", "layout", "rows", "[]")],
    "GPUs": [MAX_GPUS],
    "ports of a switch": [switches.MAX_PORTS],
    "GPUs of a server": [GPUS_OF_A_SERVER],
    "steps of work": [effort.MAX_STEPS],
    "steps of one search for a fabric": [search.MAX_STEPS],
    "steps of asking whether there is a fabric": [search.MAX_STEPS_TO_FIT],
    "rows of a price table": [table.MAX_ROWS],
    "columns": [table.MAX_COLUMNS],
    "bytes of a workbook": [xlsx.MAX_BYTES],
    "bytes once it is unpacked": [xlsx.MAX_EXPANDED],
    "files in a workbook": [xlsx.MAX_ENTRIES],
    "bytes of a picture": [logo.MOST_LOGO],
    "bytes of a template": [own_templates.TEMPLATE_BYTES],
}


def test_no_limit_is_left_out() -> None:
    """Page and table have the same limits."""
    assert sorted(ROWS) == sorted(WANTED)


@pytest.mark.parametrize("limit", WANTED)
def test_the_page_has_the_number(limit: str) -> None:
    """What the page says is what holds."""
    assert {int(ROWS[limit])} == set(WANTED[limit])


def test_the_steps_that_the_page_tells() -> None:
    """What fabrics and machines beside them count as."""
    text = PAGE.read_text(encoding="utf-8")
    counted = (
        f"counts as {effort.OF_SHAPE}, a fabric that is designed as {effort.OF_FABRIC}, an entry of `hosts` as "
        f"{effort.OF_HOST}, a line of a price book as "
        f"{effort.OF_PRICE}. Two bytes of an unpacked workbook are a step."
    )
    assert effort.BYTES_A_STEP == 2
    assert counted in " ".join(text.split())
