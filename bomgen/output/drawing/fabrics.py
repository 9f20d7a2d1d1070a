"""A drawing of a fabric: as tiers, groups of switches, or a grid."""

from __future__ import annotations

from bomgen.core.language import Language
from bomgen.fabric.declaration import NodeGrid, SwitchGroups
from bomgen.fabric.types import Fabric
from bomgen.output.drawing.arrangement import find_arrangement
from bomgen.output.drawing.canvas import Canvas
from bomgen.output.drawing.grid import draw_grid
from bomgen.output.drawing.groups import draw_groups
from bomgen.output.drawing.tiers import draw_tiers
from bomgen.output.drawing.wording import Wording


def fabric_svg(fabric: Fabric, name: str, language: Language, servers: int | None = None, alone: bool = False) -> str:
    """A fabric as the text of an SVG element: scalable, described for readers who do not see it.

    `name` is the fabric's name in the plan; it makes the ids in the drawing unique within a page. `servers` is how many
    are attached, where that is known; the other endpoints then count as other machines'. `alone`: the element is a file
    of its own, which brings size, ground and colours.
    """
    wording, canvas = Wording(fabric, name, language, servers), Canvas()
    canvas.header(wording.plane())
    arrangement = find_arrangement(wording.drawn)
    if isinstance(arrangement, NodeGrid):
        draw_grid(canvas, wording, arrangement.axes)
    elif isinstance(arrangement, SwitchGroups):
        draw_groups(canvas, wording)
    else:
        draw_tiers(canvas, wording)
    return canvas.text(name, wording.title(), alone)
