"""The chapter of the site: racks, power, weight and heat, and how the racks are supplied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bomgen.core.document import Cell, Row, Section
from bomgen.report.chapters.writer import SITE, Writer
from bomgen.report.metrics import Path

RACKS, POWER = "site", "site-power"
TABLE_OF = {
    **dict.fromkeys(("racks", "compute_racks", "management_racks", "servers_per_rack"), RACKS),
    **dict.fromkeys(("compute_pdus", "management_pdus"), RACKS),
    **dict.fromkeys(("weight_kg", "heat_btu_per_hour"), "site-load"),
    **dict.fromkeys(("compute_rack_power_w", "compute_rack_heat_btu_per_hour"), "site-load"),
    **dict.fromkeys(("compute_rack_weight_kg", "compute_rack_floor_load_kg_per_m2"), "site-load"),
    **dict.fromkeys(("compute_rack_outlets", "compute_rack_pdu_outlets", "compute_rack_feeds"), "site-supply"),
    **dict.fromkeys(("feeds", "compute_pdu_load_w", "feed_power_w"), "site-supply"),
}
"""The table of a number of the site; every other one is about power and energy."""
FEEDS = "compute_rack_feeds"


def site(writer: Writer) -> Section | None:
    """Racks, power, weight, heat and supply; None when the plan asks for none of them."""
    tables: dict[str, list[Row]] = {}
    for path, row in zip(_paths(writer), writer.rows((SITE,)), strict=True):
        tables.setdefault(TABLE_OF.get(path[1], POWER), []).append(_named(writer, path, row))
    if not tables:
        return None
    alone = not writer.report.design.fabrics and (SITE, "power_w") in writer.numbers
    text = (writer.word("site-servers-alone"),) if alone else ()
    shown = tuple(writer.table(id, tuple(rows)) for id, rows in tables.items())
    return Section(SITE, writer.word("section-site"), text=text, tables=shown)


def _paths(writer: Writer) -> Iterator[Path]:
    return (path for path in writer.numbers if path[0] == SITE)


def _named(writer: Writer, path: Path, row: Row) -> Row:
    if path[1] != FEEDS:
        return row
    return replace(row, cells=(Cell(writer.word("label-feed", feed=path[-1])), *row.cells[1:]))
