"""A program at a terminal of its own: what is typed reaches it, and what it shows is read."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

PATIENCE = 30
"""Seconds that what is waited for may take."""


class Terminal:
    """A program on a terminal of 200 columns."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, pack("HHHH", 50, 200, 0, 0))
        self.shown = ""
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={"TERM": "xterm", **environment},
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._ours, text.encode())

    def until(self, words: str) -> str:
        """What is shown until some words are, from where the last reading ended."""
        end = time.monotonic() + PATIENCE
        while words not in self.shown:
            assert time.monotonic() < end, f"{words!r} is not shown: {self.shown!r}"
            if not self._read():
                raise AssertionError(f"ended without {words!r}: {self.shown!r}")
        found, _, self.shown = self.shown.partition(words)
        return found

    def to_end(self) -> tuple[int, str]:
        """Exit code and all that is shown until the program ends."""
        while self._read():
            pass
        return self.process.wait(PATIENCE), self.shown

    def close(self) -> None:
        """End the program and its terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], PATIENCE)[0]:
            return False
        try:
            more = os.read(self._ours, 65536)
        except OSError:  # the program has ended
            return False
        self.shown += more.decode("utf-8", "replace")
        return bool(more)
