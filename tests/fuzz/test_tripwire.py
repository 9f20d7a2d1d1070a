"""The wire trips at what it watches, and at nothing else: an oracle that sees nothing holds everything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tripwire import nothing_touched

Deed = Callable[[Path], object]
WRITES: dict[str, Deed] = {
    "open": lambda path: path.open("w").close(),
    "open-to-append": lambda path: path.open("a").close(),
    "open-to-read-and-write": lambda _: Path(__file__).open("r+").close(),
    "os-open": lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)),
    "mkdir": lambda path: path.mkdir(),
    "start": lambda _: subprocess.run([sys.executable, "-c", ""], check=True),
}
READS: dict[str, Deed] = {
    "open": lambda _: Path(__file__).open("rb").close(),
    "os-open": lambda _: os.close(os.open(__file__, os.O_RDONLY)),
    "list": lambda path: os.listdir(path.parent),
}


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize("deed", [pytest.param(deed, id=name) for name, deed in WRITES.items()])
def test_whatever_writes_or_starts_trips(deed: Deed, reading: bool, tmp_path: Path) -> None:
    """Whether files may be read or not, and whichever way one is opened."""
    with pytest.raises(AssertionError, match=r"open|mkdir|subprocess"), nothing_touched(reading):
        deed(tmp_path / "made")


@pytest.mark.parametrize("deed", [pytest.param(deed, id=name) for name, deed in READS.items()])
def test_what_reads_trips_where_nothing_may_be_read(deed: Deed, tmp_path: Path) -> None:
    """Reading is let through where it may be, and there alone."""
    with nothing_touched(reading=True):
        deed(tmp_path / "made")
    with pytest.raises(AssertionError, match=r"open|listdir"), nothing_touched():
        deed(tmp_path / "made")
