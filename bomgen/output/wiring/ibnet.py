"""An InfiniBand fabric in the format that `ibnetdiscover` prints and `ibsim` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from bomgen.cabling.types import Wiring
    from bomgen.output.registry import Progress

ABOUT = "InfiniBand fabric for ibsim, as ibnetdiscover prints it."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = True


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every node with its cabled ports. Raises Unsuitable if the wiring is not a single subnet."""
    from bomgen.output.cables import ibnet

    ibnet.write(wiring, out, progress)
