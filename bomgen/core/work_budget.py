"""The work budget of a plan, counted in steps: the same plan always ends the same way, on any machine.

A service that builds plans of others must know that each one ends. The size of a plan is limited where it is read; the
work that it causes (alternatives of clusters of fabrics, and the shapes and cables of each) is counted here as it is
done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MAX_STEPS = 3_400_000
"""Maximum steps of a plan with all its alternatives, of 1 to 2 microseconds each: under ten seconds of one processor.

One step is a listed cable, for its route along the floor or its row in a table; a compute fabric over a million GPUs
has three million.
"""
OF_SHAPE = 2
"""Steps of a fabric shape that is tried."""
OF_FABRIC = 5_000
"""Steps of a fabric that is designed, whatever its size: its parts, links, checks and lines take some 20 ms."""
OF_HOST = 100
"""Steps of an entry of `hosts`."""
OF_PRICE = 90
"""Steps of a line of a price book; 20 000 prices are read and checked within some seconds."""
OF_PART = 120
"""Steps of a user's part file that is read and checked."""
OF_PART_LOOKUP = 3
"""Steps of a user's part, each time that the parts of a kind are searched for those that fit."""
OF_LINK_PART = 30
"""Steps of a module or cable that a design considers, from the catalogue or the user."""
OF_PAIR = 8
"""Steps of a pair of modules tried at the ends of a link."""
OF_NAME = 10
"""Steps of a part name that is compared with a misspelt one."""
OF_TAG = 2
"""Steps of an XML tag of a workbook: a cell has four, and takes some microseconds in any format."""
OF_BILL_PLAN = 1_000
"""Steps of a plan that a bill may be for, which is read and designed."""
OF_BILL_FIT = 10
"""Steps of a line of a bill that is compared with a design."""
OF_BILL_LINE = 15_000
"""Steps of a line of a bill for each network that it may belong to, which is looked for among all lines."""
BYTES_A_STEP = 50
"""Bytes of an unpacked workbook, tags and text alike, per step: they are searched and copied several times."""


class _Count:
    def __init__(self, most: int) -> None:
        self.left, self.known = most, set[Hashable]()


_count: ContextVar[_Count | None] = ContextVar("count", default=None)


class TooMuch(Exception):
    """Work that takes more steps than its budget has."""


@contextmanager
def budget(most: int = MAX_STEPS) -> Iterator[None]:
    """Count the steps of the work within this context, of which there may be `most`."""
    before = _count.set(_Count(most))
    try:
        yield
    finally:
        _count.reset(before)


def spend(steps: int, of: Hashable = None) -> None:
    """Count steps as done; work named by `of`, whose result is kept, counts once.

    Raises TooMuch when the budget is used up.
    """
    count = _count.get()
    if count is None or (of is not None and of in count.known):
        return
    count.known.add(of)
    count.left -= steps
    if count.left < 0:
        raise TooMuch
