"""How the links of a fabric are built, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.core.money import rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.optics.counting.uses import Chosen
from bomgen.optics.types import MediumOption
from bomgen.report.chapters.writer import Writer
from bomgen.report.reasons.links import rejection


def links_table(writer: Writer, built: BuiltFabric) -> Table:
    """A row for each kind of link: what it is built of, why, and the other ways with the reason why not."""
    columns = (
        Column("link", writer.word("column-link"), "text", 20),
        Column("way", writer.word("column-way"), "text", 30),
        Column("reason", writer.word("column-why"), "text", 40),
        Column("others", writer.word("column-others"), "text", 60),
    )
    rows = tuple(
        row
        for chosen in built.interconnect.choices
        for row in (_row(writer, chosen), *_short_rows(writer, built, chosen))
    )
    name = built.plan.name
    return Table(f"links-{name}", writer.word("table-links", name=writer.fabric_title(name)), columns, rows)


def _row(writer: Writer, chosen: Chosen) -> Row:
    option = writer.language.value(chosen.option, "word")
    parts = writer.word("link-parts", names=writer.word("list-comma").join(chosen.parts)) if chosen.parts else ""
    reason = writer.word(f"chosen-{chosen.reason}")
    others = writer.word("list-semicolon").join(_other(writer, each) for each in chosen.others)
    cells = (writer.place(chosen.kind), f"{option}{parts}", f"{reason}{_cost(writer, chosen.cost)}", others)
    return Row(tuple(Cell(text) for text in cells))


def _short_rows(writer: Writer, built: BuiltFabric, chosen: Chosen) -> Iterator[Row]:
    """What short links of a kind are built of instead."""
    for short in built.interconnect.short_links(chosen.kind):
        names = writer.word("list-comma").join(short.medium.part_ids)
        length = writer.language.value(short.longest_m, "m")
        links = writer.language.number(short.links.value)
        cells = (
            writer.word("short-links", kind=writer.place(chosen.kind), length=length),
            f"{writer.language.value(short.medium.option, 'word')}{writer.word('link-parts', names=names)}",
            writer.word("chosen-short", links=links),
            "",
        )
        yield Row(tuple(Cell(text) for text in cells))


def _other(writer: Writer, option: MediumOption) -> str:
    """Why a way was not taken."""
    reason = writer.language.message(rejection(option))
    return writer.joined(writer.language.value(option.name, "word"), f"{reason}{_cost(writer, option.cost)}")


def _cost(writer: Writer, cost: Fraction | None) -> str:
    """What a link costs, behind a text; nothing when nobody knows."""
    if cost is None:
        return ""
    currency = writer.report.quote.totals.currency
    return writer.word("cost-of-link", amount=writer.language.money(rounded(cost, currency), currency))
