"""Charts of what is built: lengths of cables, power of racks, and what supplies what."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from bomgen.core.document import Cell, Column, Row, Table
from bomgen.report.chapters.writer import SITE, Writer
from bomgen.report.charts.types import Bar, Bars, Box, Chart, HeatMap, OneLine
from bomgen.report.metrics import Path

MEDIA = ("dac", "acc", "aec", "copper", "aoc", "fibre", "trunk", "")
"""Of cables, from the shortest reach on; empty where no part is known."""


def cable_lengths(writer: Writer) -> Iterator[Chart]:
    """How many cables are so long, by medium; nothing where all fabrics have none."""
    pieces: dict[Fraction, dict[str, int]] = {}
    for built in writer.report.design.fabrics:
        for use in built.interconnect.cables:
            of_length = pieces.setdefault(Fraction(use.length_m), {})
            medium = use.cable.medium if use.cable else ""
            of_length[medium] = of_length.get(medium, 0) + int(use.quantity.value)
    if not any(count for each in pieces.values() for count in each.values()):
        return
    word, language = writer.word, writer.language
    media = [medium for medium in MEDIA if any(medium in each for each in pieces.values())]
    lengths = sorted(pieces)
    bars = tuple(
        Bar(
            language.value(length, "m"),
            language.integer(sum(pieces[length].values())),
            tuple(pieces[length].get(medium, 0) for medium in media),
        )
        for length in lengths
    )
    names = [word(f"medium-{medium or 'unknown'}") for medium in media]
    counts = [sum(each.get(medium, 0) for each in pieces.values()) for medium in media]
    key = tuple(f"{name} {language.integer(count)}" for name, count in zip(names, counts, strict=True))
    columns = (
        Column("length", word("column-length"), "text", 16),
        *(
            Column(f"pieces-{medium or 'unknown'}", name, "number", 16)
            for medium, name in zip(media, names, strict=True)
        ),
    )
    rows = tuple(
        Row((Cell(language.value(length, "m")), *(Cell(pieces[length].get(medium, 0)) for medium in media)))
        for length in lengths
    )
    data = Table("cable-lengths", word("chart-cables"), columns, rows)
    yield Chart("cable-lengths", data.title, word("chart-cables-text"), Bars(bars, key), data)


def rack_power(writer: Writer) -> Iterator[Chart]:
    """The floor with the power of each rack; nothing where the power of none is known."""
    found = writer.report.elevations
    if found and any(group.sums.power_w and group.sums.power_w.value for group in found.groups):
        yield Chart("rack-power", writer.word("chart-rack-power"), writer.word("chart-rack-power-text"), HeatMap(found))


LEVELS = (
    (("facility_power_w", None),),
    (("power_w", None),),
    (("feeds", "feed_power_w"),),
    (("compute_pdus", "compute_pdu_load_w"), ("management_pdus", None)),
    (("compute_racks", "compute_rack_power_w"), ("management_racks", None)),
)
"""From the facility to its racks: the number that a box is named for, and a second one of what it stands for."""
SERVERS: Path = ("cluster", "power_w")
GPUS: Path = (SITE, "gpu_power_w")
OTHERS = ("network_power_w", "storage_power_w")


def power_line(writer: Writer) -> Iterator[Chart]:
    """What supplies what, with watts; nothing where the power is not known."""
    of_levels = (*(tuple(_boxes(writer, level)) for level in LEVELS), tuple(_machines(writer)))
    levels = tuple(boxes for boxes in of_levels if boxes)
    if (SITE, "power_w") in writer.numbers and len(levels) > 1:
        word = writer.word
        yield Chart("power-line", word("chart-power"), word("chart-power-text"), OneLine(levels))


def _boxes(writer: Writer, level: tuple[tuple[str, str | None], ...]) -> Iterator[Box]:
    """The boxes of a level, as far as their numbers are known."""
    for name, other in level:
        if (SITE, name) not in writer.numbers:
            continue
        text = writer.language.cell(writer.number((SITE, name)))
        if other and (SITE, other) in writer.numbers:
            of_each = writer.language.cell(writer.number((SITE, other)))
            text = writer.word(f"chart-{other}", number=text, power=of_each)
        yield Box(writer.label((SITE, name)), text)


def _machines(writer: Writer) -> Iterator[Box]:
    """Servers with their GPUs, or the GPUs alone where no more is known, and all other machines."""
    gpus = writer.language.cell(writer.number(GPUS)) if GPUS in writer.numbers else None
    if SERVERS in writer.numbers:
        power = writer.language.cell(writer.number(SERVERS))
        text = writer.word("chart-of-gpus", power=power, gpus=gpus) if gpus else power
        yield Box(writer.word("category-server"), text)
    elif gpus:
        yield Box(writer.label(GPUS), gpus)
    yield from _boxes(writer, tuple((name, None) for name in OTHERS))
