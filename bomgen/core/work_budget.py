"""How much work a plan may ask for, counted in steps: the same plan always ends the same way, on any machine.

Whoever builds plans of others must know that each one ends. What a plan may hold is limited where it is read; what that
comes to (alternatives of clusters of fabrics, and the shapes and cables of each) is counted here as it is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MAX_STEPS = 3_400_000
"""Steps of a plan with all its alternatives, of 1 to 2 microseconds each: under ten seconds of one processor. One is a
cable that is listed, for its way along the floor or its row in a table; a compute fabric over a million GPUs has three
million."""
OF_SHAPE = 2
"""Steps of a shape of a fabric that is tried."""
OF_FABRIC = 5_000
"""Steps of a fabric that is designed, whatever its size: its parts, links, checks and lines take some 20 ms."""
OF_HOST = 100
"""Steps of an entry of `hosts`."""
OF_PRICE = 90
"""Steps of a line of a price book; 20 000 prices are read and checked within some seconds."""
OF_PART = 120
"""Steps of a part file of the user's own that is read and checked."""
OF_PART_LOOKUP = 3
"""Steps of a part of the user's own, each time that the parts of a kind are searched for those that fit."""
OF_LINK_PART = 30
"""Steps of a module or cable that a design looks at, whoever's it is."""
OF_PAIR = 8
"""Steps of two modules that are tried at the ends of a link."""
OF_NAME = 10
"""Steps of a name of a part that is compared with a misspelt one."""
OF_TAG = 2
"""Steps of a tag in the XML of a workbook: a cell has four, and takes some microseconds in any format."""
BYTES_A_STEP = 50
"""Bytes of a workbook once it is unpacked, tags and text alike: they are searched and copied some times."""


class _Count:
    def __init__(self) -> None:
        self.left, self.known = MAX_STEPS, set[Hashable]()


_count: ContextVar[_Count | None] = ContextVar("count", default=None)


class TooMuch(Exception):
    """A plan asks for more than `MAX_STEPS`."""


@contextmanager
def budget() -> Iterator[None]:
    """Count the steps of what is done meanwhile."""
    before = _count.set(_Count())
    try:
        yield
    finally:
        _count.reset(before)


def spend(steps: int, of: Hashable = None) -> None:
    """Some steps are done; where it is said of what, and its result is kept, they count once.

    Raises TooMuch when there are no more.
    """
    count = _count.get()
    if count is None or (of is not None and of in count.known):
        return
    count.known.add(of)
    count.left -= steps
    if count.left < 0:
        raise TooMuch
