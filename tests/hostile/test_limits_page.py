"""The numbers of docs/limits.md are those of the program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.part_records import MAX_GPUS as GPUS_OF_A_SERVER
from bomgen.cli import command
from bomgen.core import diagnostics, document, jobs, safety, yaml_source
from bomgen.fabric.clos import search
from bomgen.output import pdf
from bomgen.output import user_templates as templates
from bomgen.plan import schema as plan_schema
from bomgen.reading import bills, cells, price_table, tables, workbooks
from bomgen.serve import pages
from bomgen.sizing.servers import MAX_GPUS
from bomgen.verify import reading as as_built
from bomgen.workflow import plan_files
from bomgen.xray import inspection

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"
ROWS = dict(re.findall(r"^\| (.+?) \| ([0-9]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


SCHEMA = plan_schema.document("plan")
DEFINITIONS = SCHEMA["$defs"]


def most(*path: str) -> Any:
    """The most entries that the plan's schema allows at a key; of a reference, where it leads."""
    place: Any = SCHEMA
    for step in path:
        place = (
            place["items"] if step == "[]" else DEFINITIONS["fabric"] if step == "fabric" else place["properties"][step]
        )
        if "$ref" in place:
            place = {**DEFINITIONS[place["$ref"].rpartition("/")[2]], **place}
    return place.get("maxItems") or place["maxProperties"]


QUOTE = "quote"
WANTED = {
    "characters of a file": [yaml_source.MAX_CHARACTERS],
    "bytes of a plan or lock that are read": [yaml_source.MAX_BYTES],
    "bytes of another file used by a plan or a command": [safety.MAX_FILE],
    "levels of nesting": [yaml_source.MAX_DEPTH],
    "values, aliases expanded": [yaml_source.MAX_NODES],
    "characters of a key": [yaml_source.MAX_KEY],
    "characters of a text": [yaml_source.MAX_TEXT],
    "characters of a number": [yaml_source.MAX_DIGITS],
    "exponent of a number": [yaml_source.MAX_EXPONENT],
    "characters of a path": [plan_files.MAX_PATH],
    "problems reported": [diagnostics.MAX_PROBLEMS],
    "`clusters`": [most("clusters")],
    "`fabrics`": [most("fabrics")],
    "`hosts` of a fabric": [most("fabric", "hosts")],
    "`quote.alternatives`": [most(QUOTE, "alternatives")],
    "`quote.charges`": [most(QUOTE, "charges")],
    "`quote.terms`": [most(QUOTE, "terms")],
    "`price_book`, `cost_book`, `catalog`, `templates`, `extends`": [
        *(most(QUOTE, "price_book"), most(QUOTE, "cost_book"), most("catalog"), most("templates"), most("extends")),
        plan_files.MAX_BASES,
    ],
    "lines of an address": [most(QUOTE, "customer", "address"), most(QUOTE, "vendor", "address")],
    "`stock`, `discount.parts`, `discount.lines`": [
        *(most("stock"), most(QUOTE, "discount", "parts"), most(QUOTE, "discount", "lines"))
    ],
    "`quote.exchange`": [most(QUOTE, "exchange")],
    "rows of `site.layout`": [most("site", "layout", "rows")],
    "blocks of a row": [most("site", "layout", "rows", "[]")],
    "GPUs": [MAX_GPUS],
    "ports of a switch": [part_records.MAX_PORTS],
    "GPUs of a server": [GPUS_OF_A_SERVER],
    "steps of work": [jobs.MAX_STEPS],
    "steps of one search for a fabric": [search.MAX_STEPS],
    "steps of checking whether a fabric exists": [search.MAX_STEPS_TO_FIT],
    "rows of a price table": [price_table.MAX_ROWS],
    "bytes of the outputs of devices": [as_built.MOST_BYTES],
    "ports in the outputs of devices": [as_built.MOST_PORTS],
    "columns": [cells.MAX_COLUMNS],
    "bytes of a text table": [tables.MAX_BYTES],
    "sheets": [workbooks.MAX_SHEETS],
    "cells spanned by the sheets": [workbooks.MAX_SPAN],
    "cells of a table": [cells.MAX_CELLS],
    "characters read from a cell": [cells.LONGEST],
    "lines of a bill": [bills.MAX_LINES],
    "steps of comparing a bill with designs": [inspection.MAX_STEPS],
    "pages of a PDF": [tables.MAX_PAGES],
    "lines on a page of a PDF": [tables.MAX_EDGES],
    "bytes of a workbook": [workbooks.MAX_BYTES],
    "bytes after unpacking": [workbooks.MAX_EXPANDED],
    "tags of its XML": [workbooks.MAX_TAGS],
    "bytes of its texts shown by many cells": [workbooks.MAX_TEXT],
    "files in a workbook": [workbooks.MAX_ENTRIES],
    "bytes of a picture": [document.MOST_LOGO],
    "bytes of a template": [templates.TEMPLATE_BYTES],
}


def test_no_limit_is_left_out() -> None:
    """Page and table have the same limits."""
    assert sorted(ROWS) == sorted(WANTED)


@pytest.mark.parametrize("limit", WANTED)
def test_the_page_has_the_number(limit: str) -> None:
    """What the page says is what holds."""
    assert {int(ROWS[limit])} == set(WANTED[limit])


def test_the_process_that_the_page_tells() -> None:
    """What a file that is read apart may take."""
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"may use {tables.LIMITS.cpu_seconds} s of one processor and {tables.LIMITS.memory_bytes >> 20} MiB" in text
    assert tables.LIMITS.wall_seconds == 60
    assert f"| printing a PDF | {pdf.LIMITS.cpu_seconds} s | {pdf.LIMITS.memory_bytes >> 30} GiB |" in text
    assert f"| a command | {command.SECONDS} s for each plan | {command.MEMORY >> 30} GiB |" in text
    assert f"| `wiring` | {command.SECONDS} s | {command.MEMORY_OF['wiring'] >> 30} GiB |" in text
    hours, memory = command.SECONDS_OF["search"] // 3600, command.MEMORY_OF["search"]
    assert f"| `search`, for each process | {hours} h | {memory >> 30} GiB |" in text
    seconds, minutes = pages.SECONDS, pages.SECONDS_WHEN_LONG // 60
    assert f"{seconds} s; {minutes} min for searches and files | {pages.MEMORY >> 30} GiB |" in text


def test_the_steps_that_the_page_tells() -> None:
    """What fabrics and machines beside them count as."""
    text = PAGE.read_text(encoding="utf-8")
    counted = (
        f"counts as {jobs.OF_SHAPE}, a designed fabric as {jobs.OF_FABRIC}, an entry of "
        f"`hosts` as {jobs.OF_HOST}, a line of a price book as "
        f"{jobs.OF_PRICE}. A tag of a workbook counts as {jobs.OF_TAG}, "
        f"{jobs.BYTES_A_STEP} bytes of it after unpacking as 1. One of your own part files "
        f"counts as {jobs.OF_PART} when it is read, and as {jobs.OF_PART_LOOKUP} each time the parts of "
        f"its kind are searched; a module or cable considered by a design counts as {jobs.OF_LINK_PART}, two "
        f"modules tried at the ends of a link as {jobs.OF_PAIR}, a part name compared with a "
        f"misspelt one as {jobs.OF_NAME}."
    )
    assert counted in " ".join(text.split())
    of_bill = (
        f"a plan that is tried counts as {jobs.OF_BILL_PLAN}, a line of the bill that is compared with its "
        f"design as {jobs.OF_BILL_FIT}, and a line as {jobs.OF_BILL_LINE} for each network"
    )
    assert of_bill in " ".join(text.split())
