"""A wire that is tripped by files that are written, programs that are started and doors to the network."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TRIPS = ("ctypes.", "os.", "shutil.", "signal.", "socket.", "subprocess.", "tempfile.", "winreg.")
"""Beginnings of audit events that nothing needs which only reads."""
READING = ("os.listdir", "os.scandir")
"""Those among them that read."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
_NOTHING, _READING, _ALL = "nothing", "reading", "all"


class _Wire:
    """What is watched at the moment, and what tripped."""

    watched = _NOTHING
    tripped: list[str]
    hooked = False


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _Wire.watched == _NOTHING:
        return
    if event == "open":
        _, _, flags = arguments
        if _Wire.watched == _ALL or (isinstance(flags, int) and flags & WRITING):
            _Wire.tripped.append(f"{event} {arguments!r}")
    elif event.startswith(TRIPS) and not (event in READING and _Wire.watched == _READING):
        _Wire.tripped.append(f"{event} {arguments!r}")


@contextmanager
def nothing_touched(reading: bool = False) -> Iterator[None]:
    """Fail when what runs inside opens a file, starts a program or reaches for the network; `reading` may be."""
    if not _Wire.hooked:
        sys.addaudithook(_hook)
        _Wire.hooked = True
    _Wire.tripped, _Wire.watched = [], _READING if reading else _ALL
    try:
        yield
    finally:
        _Wire.watched = _NOTHING
    assert _Wire.tripped == [], "; ".join(_Wire.tripped)
