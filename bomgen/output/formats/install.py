"""install.html: what those who build a cluster need, without prices: racks, ports, cables, versions and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from bomgen.core.document import Column, Row, Section, Table, row_of
from bomgen.core.language import Language
from bomgen.core.units import NO_TOTALS
from bomgen.results.result import Report

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "The installation pack: racks, port map, cables, versions to agree on, acceptance tests; without prices."
FILE = "install.html"
BINARY = False
NETWORK = "network"
CHAPTERS = (NETWORK, "site", "racks", "installation", "acceptance")
"""The chapters of the report that it has."""
MOST_CABLES = 2_000
"""Cables of the port map, which a page still shows at once; a longer one is a file of `bomgen wiring`."""
ENDS = ("rack", "unit", "device", "port")


def write(source: DocumentInputs) -> bytes:
    """Return the page."""
    from bomgen.output.markdown_html import html

    page = source.chapters(CHAPTERS)
    maps = (section for report in source.report.each_cluster for section in _port_map(report, source.language))
    title, sections = source.language.word("install-pack"), (*map(_without_money, page.sections), *maps)
    return html(
        replace(page, subtitle=title, facts=(), headline=(), sections=sections, sums=(), totals=NO_TOTALS),
        source.language,
    )


def _without_money(section: Section) -> Section:
    """Return a chapter without the rows of amounts; of the networks, whose reasons are prices, the drawings alone."""
    drawings = tuple(drawing for drawing in section.drawings if drawing.data is None)
    if section.id.startswith(NETWORK):
        return replace(section, tables=(), text=(), notes=(), drawings=drawings)
    tables = (
        replace(
            table,
            rows=tuple(row for row in table.rows if not any(isinstance(cell.value, Decimal) for cell in row.cells)),
        )
        for table in section.tables
    )
    return replace(section, tables=tuple(table for table in tables if table.rows), drawings=drawings)


def _port_map(report: Report, words: Language) -> Iterator[Section]:
    """Yield the chapter with both ends of each cable of a cluster, by the rack of the first."""
    from bomgen.cabling.wiring import wire  # needs NumPy
    from bomgen.output.wiring.columns import tables

    wiring = wire(report.design).each_cable
    if not wiring.pieces:
        return
    name = f"ports-{report.plan.cluster_name}" if report.plan.cluster_name else "ports"
    title = words.word("section-ports")
    if wiring.pieces > MOST_CABLES:
        text = words.word("ports-too-many", cables=words.integer(wiring.pieces), plan=report.plan_file)
        yield Section(name, title, text=(text,))
        return
    keys = ("label", *(f"{end}_{key}" for end in "ab" for key in ENDS), "sku", "length_m")
    cables = [cable for part in tables(wiring) for cable in zip(*(part[key] for key in keys), strict=True)]
    columns = tuple(Column(key, _title(key, words), "text", 12, main=key.endswith(("device", "port"))) for key in keys)
    rows = tuple(_row(cable, words) for cable in sorted(cables, key=_place))
    yield Section(name, title, tables=(Table(name, title, columns, rows),))


def _place(cable: tuple[object, ...]) -> tuple[int, str, str, int, str]:
    """Return what cables are sorted by: rack, device and port of their first end, numbers by their size."""
    _, rack, _, device, port, *_ = map(str, cable)
    return len(rack), rack, device, len(port), port


def _title(key: str, words: Language) -> str:
    end, _, what = key.partition("_")
    if end in ("a", "b"):
        return words.word("wiring-end", end=end.upper(), what=words.word(f"wiring-{what}"))
    return words.word(f"wiring-{end}")


def _row(cable: tuple[object, ...], words: Language) -> Row:
    *texts, length = ("" if value is None else value for value in cable)
    shown = words.value(float(str(length)), "m") if length != "" else ""
    return row_of(*(str(text) for text in texts), shown)
