"""What can be said of a line of somebody's bill, and what an x-ray found."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

from bomgen.core.messages import Message, Parameter, message
from bomgen.core.money import ANY_AMOUNT
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.quote_workbook import name_cell

Severity = Literal["error", "doubt", "unknown"]
SEVERITIES: tuple[Severity, ...] = ("error", "doubt", "unknown")
"""Wrong under any reading of the bill; in conflict with the best-matching design; not known from the bill."""
TELLING = ("missing", "swapped", "instead", "probable", "mistyped")
"""Findings that others may follow from."""
PINPOINTED, LIKELY, GENERAL = 0, 1, 2
"""How exactly a finding names the line that is to blame."""


class Finding(NamedTuple):
    """Something to be said of a bill."""

    severity: Severity
    message: Message
    mark: Mark
    line: SentLine | None = None
    pieces: int = 0
    """Pieces too many (more than 0) or too few."""
    money: Decimal | None = None
    """What these pieces cost at the price of the bill, or what an amount is off by."""
    weight: int = LIKELY
    part: str = ""
    """The id of the part that it is about."""

    @property
    def code(self) -> str:
        """By which programs tell findings apart."""
        return self.message.code.removeprefix("xray-")


def name_place(mark: Mark) -> str:
    """Where a line is: `quote.csv:7`, or `Compute!A7` on a sheet of a workbook."""
    return name_cell(mark.sheet, mark) if mark.sheet else f"{mark.file}:{mark.line}"


def at_line(
    severity: Severity, line: SentLine, code: str, off: int = 0, weight: int = LIKELY, **parameters: Parameter
) -> Finding:
    """A finding at a line; what pieces it is `off` by cost is priced as the line prices them."""
    said = message(f"xray-{code}", **parameters)
    return Finding(severity, said, line.mark, line, off, money_of(line, off), weight, line.id)


def money_of(line: SentLine | None, pieces: int) -> Decimal | None:
    """What pieces come to at the price of a line; None where it has none."""
    if line is None or line.unit_price is None or not pieces:
        return None
    price = ANY_AMOUNT.multiply(line.unit_price, 1 - (line.discount or Decimal(0)))
    return ANY_AMOUNT.multiply(price, Decimal(pieces))


def ordered(findings: list[Finding]) -> list[Finding]:
    """Findings as a reader wants them: the surest first, then what names its line exactly, then the most pieces.

    What is missing or stands in another's place comes before counts that are off: these may follow from it.
    """

    def place(finding: Finding) -> tuple[int, int, bool, int, int]:
        telling = finding.code in TELLING
        return SEVERITIES.index(finding.severity), finding.weight, not telling, -abs(finding.pieces), finding.mark.line

    return sorted(findings, key=place)


# types --------------------------------------------------------------------------------------------------------------
# What an x-ray of a bill found.

WHOLE, SWITCHES, NOTHING = "whole", "switches", "nothing"
"""How much of a fabric the designs explain: every part, the switches, or neither."""


class DesignFound(NamedTuple):
    """A design that explains a fabric."""

    servers: int
    topology: str
    tiers: tuple[tuple[str, int], ...]
    """Switches by tier."""
    switch: str
    ratio: str
    """Of bandwidth down to bandwidth up at the leaf, as it is built; empty where there is no uplink."""
    planes: int
    homing: str
    """As far as the design says it."""
    repeats: bool
    """Whether it repeats a count of the bill, which no rule asks for."""


class FabricFound(NamedTuple):
    """A fabric of the bill, and the designs that explain it equally well."""

    name: str
    cluster: str
    lines: tuple[SentLine, ...]
    """The lines that the designs claim."""
    explains: str
    designs: tuple[DesignFound, ...]


class Xray(NamedTuple):
    """What was found in a bill."""

    bill: SentBill
    fabrics: tuple[FabricFound, ...]
    findings: tuple[Finding, ...]
    left: tuple[SentLine, ...]
    """Lines of parts of networks that no fabric claims."""
    assumptions: tuple[tuple[Figure, Assumed], ...] = ()
    """What the designs rest on and the bill does not say."""
