"""The registry of numbers: a row per property of `schemas/bom.schema.json`, at its path in bom.json.

In addition to its type and description a row may state how documents use the number:

- `title`: its name in `bomgen diff`
- `x-unit`: its unit, except for counts
- `x-better`: the better direction, `less` or `more`
- `x-rank`: its rank in a diff, 1 first
- `x-sum`: whether it adds up over clusters, or over fabrics of a role: over `all`, or over those where it is `known`
- `x-compare`: its row in `bomgen compare`: true, or the key of the row
- `x-table`: the report table that shows it and everything below it
- `x-search`: its rank and name as a measure of `bomgen search`
- `x-quote`: its rank among the site numbers of a quote
- `x-power`: whether it is a lower bound where the power of a machine is not known

Labels are in `data/language/`, by the end of the path. To add a number, add its row, and a field of its name to the
record that `results/numbers.py` reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from bomgen.core.resources import folder, text, unfold

Path = tuple[str, ...]
Better = Literal["less", "more", ""]
"""Better direction; empty for neither."""
LESS: Better = "less"
MORE: Better = "more"
NEITHER: Better = ""
KNOWN = "known"
"""Value of `x-sum` that skips unknown numbers; otherwise all must be known."""
EACH = "*"
"""Placeholder in a row's path for names that plans choose, such as those of fabrics."""


class Number(NamedTuple):
    """A registry row: how documents use a number, or a word among numbers."""

    path: Path
    title: str
    unit: str
    better: Better
    rank: int | None
    summed: str
    compared: str
    """Key of its comparison row; empty without one."""
    table: str
    searched: tuple[int, str] | None
    """Its rank and name as a measure of a search."""
    quoted: int | None
    """Its rank in a quote."""
    needs_power: bool
    """Whether it depends on the power of every machine."""


@cache
def registry() -> Mapping[Path, Number]:
    """Return every row by its path, in the order of the schema."""
    whole = json.loads(text(folder("schemas") / "bom.schema.json"))
    rows = dict[Path, Number]()
    for row in _rows_below(whole, whole, ()):
        rows.setdefault(row.path, row)
    return rows


def _rows_below(whole: dict[str, Any], schema: dict[str, Any], path: Path, table: str = "") -> Iterator[Number]:
    for part in unfold(whole, schema):
        named, named_freely = part.get("properties", {}), part.get("additionalProperties")
        for key, row in (*named.items(), *([(EACH, named_freely)] if isinstance(named_freely, dict) else ())):
            at = (*path, key)
            compared, shown_in = row.get("x-compare", ""), row.get("x-table", table)
            yield Number(
                at,
                row.get("title", ""),
                row.get("x-unit", ""),
                row.get("x-better", NEITHER),
                row.get("x-rank"),
                row.get("x-sum", ""),
                compared if isinstance(compared, str) else ".".join(at),
                shown_in,
                tuple(row["x-search"]) if "x-search" in row else None,
                row.get("x-quote"),
                row.get("x-power", False),
            )
            yield from _rows_below(whole, row, at, shown_in)


def measures() -> Mapping[str, str]:
    """Return the measures of a search by rank, with their units; `count` for those without a unit."""
    rows = {row.searched: row.unit or "count" for row in registry().values() if row.searched}
    return {name: unit for (_, name), unit in sorted(rows.items())}


def row_at(path: Path) -> Number | None:
    """Return the row of a number; None if the schema does not have it."""
    rows, paths = registry(), list[Path]([()])
    for step in path:
        paths = [at for before in paths for at in ((*before, step), (*before, EACH)) if at in rows]
    return rows[paths[0]] if paths else None


def rows_below(*path: str) -> Iterator[Number]:
    """Yield the rows below a path, in the order of the schema."""
    return (row for at, row in registry().items() if at[: len(path)] == path)
