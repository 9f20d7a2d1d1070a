"""What an x-ray of a bill found."""

from __future__ import annotations

from typing import NamedTuple

from bomgen.core.provenance import Assumed, Figure
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.findings import Finding

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
