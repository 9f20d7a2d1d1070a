"""What a run says of itself on standard error: with --verbose each file and stage, on a terminal where it is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from bomgen.cli.messages import VERBOSE, complain, is_set, on_terminal, plain

ERASE = "\r\x1b[K"
"""To the start of the line, and nothing to its right."""


class _Watch:
    """Told by `bomgen.core.progress`: stages with their times, files with their sizes."""

    def __init__(self, label: str) -> None:
        self._label = plain(label)
        self._verbose = is_set(VERBOSE)
        self._drawn = on_terminal() and not self._verbose
        self._stage, self._since = "", time.perf_counter()
        self._begun = self._since

    def stage(self, name: str) -> None:
        """Say how long the stage before took, or show the one that begins."""
        now = time.perf_counter()
        if self._verbose and self._stage:
            complain(f"bomgen: {self._stage} {now - self._since:.3f} s")
        self._stage, self._since = name, now
        if self._drawn and name:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
            click.echo(f"{ERASE}{f'{self._label}: {name}'[: max(columns - 1, 0)]}", err=True, nl=False, color=True)

    def read(self, name: str, size: int) -> None:
        if self._verbose:
            complain(f"bomgen: read {name}, {size} bytes")

    def count(self, what: str, done: int, size: int) -> None:
        """Ignore counts: a single plan has none."""

    def over(self) -> None:
        """Say how long all took, or take the line away."""
        staged = bool(self._stage)
        self.stage("")
        if self._drawn and staged:
            click.echo(ERASE, err=True, nl=False, color=True)
        elif self._verbose and staged:
            complain(f"bomgen: {self._label} {time.perf_counter() - self._begun:.3f} s in all")


@contextmanager
def watched(name: str, number: int = 1, of: int = 1) -> Iterator[None]:
    """Say what goes on with a plan, one of several, as long as this lasts; what else is printed waits until then."""
    from bomgen.core import progress

    watch = _Watch(f"[{number}/{of}] {name}" if of > 1 else name)
    with progress.heard_by(watch):
        try:
            yield
        finally:
            watch.over()
