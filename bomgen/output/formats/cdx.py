"""bom.cdx.json: the bill as a CycloneDX 1.6 hardware BOM (ECMA-424), for inventory programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.source import DocumentInputs

ABOUT = "The bill as a CycloneDX hardware BOM."
FILE = "bom.cdx.json"
BINARY = False


def write(source: DocumentInputs) -> bytes:
    """Return the file, byte-identical for the same result."""
    from bomgen.output.cyclonedx import bom_cdx

    return bom_cdx(source.report)
