"""fabric-NAME.svg: a drawing of each fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "A drawing of each fabric."
FILE = "fabric-{name}.svg"
BINARY = False


def write(source: DocumentInputs) -> dict[str, bytes]:
    """Return the drawings by fabric name."""
    from bomgen.output.drawing.fabrics import fabric_svg

    return {
        fabric.name: fabric_svg(
            fabric.fabric, fabric.name, source.language, fabric.servers, True, fabric.existing
        ).encode()
        for fabric in source.fabrics
    }
