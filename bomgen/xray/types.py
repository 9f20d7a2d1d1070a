"""Records of the findings of an x-ray."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

from bomgen.core.messages import Message, Parameter, message
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.core.units import ANY_AMOUNT
from bomgen.reading.bill_columns import SheetCable
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.quote_workbook import name_cell

Severity = Literal["error", "doubt", "unknown"]
SEVERITIES: tuple[Severity, ...] = ("error", "doubt", "unknown")
"""Wrong under any reading of the bill; in conflict with the best-matching design; not known from the bill."""
TELLING = ("missing", "swapped", "instead", "probable", "mistyped")
"""Findings from which others may follow."""
PINPOINTED, LIKELY, GENERAL = 0, 1, 2
"""How precisely a finding identifies the wrong line."""


class Finding(NamedTuple):
    """A finding about a bill."""

    severity: Severity
    message: Message
    mark: Mark
    line: SentLine | None = None
    pieces: int = 0
    """Surplus pieces (positive) or missing pieces (negative)."""
    money: Decimal | None = None
    """Cost of these pieces at the bill's price, or the error of an amount."""
    weight: int = LIKELY
    part: str = ""

    @property
    def code(self) -> str:
        """Return the code of the finding for programs."""
        return self.message.code.removeprefix("xray-")


def name_place(mark: Mark) -> str:
    """Return the place of a line: `quote.csv:7`, or `Compute!A7` on a sheet of a workbook."""
    return name_cell(mark.sheet, mark) if mark.sheet else f"{mark.file}:{mark.line}"


def at_cable(cable: SheetCable, code: str, **parameters: Parameter) -> Finding:
    """Return an error at a row of a point-to-point sheet."""
    return Finding("error", message(f"xray-{code}", **parameters), cable.mark, weight=PINPOINTED)


def at_line(
    severity: Severity, line: SentLine, code: str, off: int = 0, weight: int = LIKELY, **parameters: Parameter
) -> Finding:
    """Return a finding at a line; the pieces it is `off` by are priced as on the line."""
    said = message(f"xray-{code}", **parameters)
    return Finding(severity, said, line.mark, line, off, money_of(line, off), weight, line.id)


def money_of(line: SentLine | None, pieces: int) -> Decimal | None:
    """Return the cost of pieces at the price of a line; None if it has none."""
    if line is None or line.unit_price is None or not pieces:
        return None
    price = ANY_AMOUNT.multiply(line.unit_price, 1 - (line.discount or Decimal(0)))
    return ANY_AMOUNT.multiply(price, Decimal(pieces))


def ordered(findings: list[Finding]) -> list[Finding]:
    """Return findings by severity, precision and pieces; missing and replaced parts before counts that may follow."""

    def place(finding: Finding) -> tuple[int, int, bool, int, int]:
        telling = finding.code in TELLING
        return SEVERITIES.index(finding.severity), finding.weight, not telling, -abs(finding.pieces), finding.mark.line

    return sorted(findings, key=place)


# types --------------------------------------------------------------------------------------------------------------
# The findings of an x-ray of a bill.

WHOLE, SWITCHES, NOTHING = "whole", "switches", "nothing"
"""How much of a fabric the designs explain: every part, the switches, or neither."""


class CountedLinks(NamedTuple):
    """Links of a kind by their cables, or by their modules where no cables are listed."""

    kind: str
    """Kind of link, such as leaf-spine; empty if the lines do not state it."""
    links: int
    gbps: int
    """Rate of a link; 0 if unknown."""


class CountedNetwork(NamedTuple):
    """A network by the counts of its lines alone."""

    switches: tuple[tuple[str, int], ...]
    """Switches by stated tier, recognised or not."""
    links: tuple[CountedLinks, ...]


class DesignFound(NamedTuple):
    """A design that explains a fabric."""

    servers: int
    topology: str
    tiers: tuple[tuple[str, int], ...]
    """Switches by tier."""
    switch: str
    ratio: str
    """Downlink to uplink bandwidth of a leaf, as built; empty without uplinks."""
    planes: int
    homing: str
    repeats: bool
    """Whether it repeats a count of the bill that no rule implies."""
    carries: int = 0
    """Servers that its leaves have ports for, if these are many more than on the bill."""


class FabricFound(NamedTuple):
    """A fabric of the bill, and the designs that explain it equally well."""

    name: str
    cluster: str
    lines: tuple[SentLine, ...]
    explains: str
    designs: tuple[DesignFound, ...]
    counted: CountedNetwork | None = None
    """What counts and roles alone say of it, if no design explains all of it."""

    @property
    def title(self) -> str:
        """Return the name, with that of its cluster if a bill has several."""
        return f"{self.cluster}.{self.name}" if self.cluster else self.name


class Xray(NamedTuple):
    """The findings about a bill."""

    bill: SentBill
    fabrics: tuple[FabricFound, ...]
    findings: tuple[Finding, ...]
    left: tuple[SentLine, ...]
    """Network lines that no fabric claims."""
    assumptions: tuple[tuple[Figure, Assumed], ...] = ()
    """Assumptions of the designs that the bill does not state."""
    servers: tuple[Message, ...] = ()
    """The servers that the bill lists."""
