"""fabric-NAME.svg: a drawing of each fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.source import Source

ABOUT = "A drawing of each fabric."
FILE = "fabric-{name}.svg"
BINARY = False


def write(source: Source) -> dict[str, bytes]:
    """The drawings by the names of the fabrics."""
    from bomgen.output.drawing.fabrics import fabric_svg

    return {
        each.name: fabric_svg(each.fabric, each.name, source.language, each.servers, True).encode()
        for each in source.fabrics
    }
