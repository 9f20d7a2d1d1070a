"""Progress of a run, reported to a listener if there is one: each stage as it begins, each file as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """The receiver of progress."""

    def stage(self, name: str) -> None:
        """Note that a stage begins, and that the one before it is over."""

    def read(self, name: str, size: int) -> None:
        """Note that a file of the user was read; `size` in bytes."""

    def count(self, what: str, done: int, size: int) -> None:
        """Note that `done` of `size` equal pieces of work, named by `what`, are done."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Report progress to a listener within this context."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def stage(name: str) -> None:
    """Report that a stage begins."""
    if listener := _listener.get():
        listener.stage(name)


def count(what: str, done: int, size: int) -> None:
    """Report `done` of `size` pieces of work."""
    if listener := _listener.get():
        listener.count(what, done, size)


def read(name: str, content: bytes) -> bytes:
    """Report that a file of the user was read, and return its content."""
    if listener := _listener.get():
        listener.read(name, len(content))
    return content
