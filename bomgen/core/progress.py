"""What a run is at, told to whoever listens: each stage as it begins, each file as it is read. Mostly nobody does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Who is told."""

    def stage(self, name: str) -> None:
        """A stage begins, and the one before is over."""

    def read(self, name: str, size: int) -> None:
        """A file of the user's was read; its size in bytes."""

    def count(self, what: str, done: int, size: int) -> None:
        """Hear how many of many equal pieces of work are done; `what` names them."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell a listener, as long as this lasts."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def stage(name: str) -> None:
    """A stage begins."""
    if listener := _listener.get():
        listener.stage(name)


def count(what: str, done: int, size: int) -> None:
    """Tell the listener how many of many equal pieces of work are done."""
    if listener := _listener.get():
        listener.count(what, done, size)


def read(name: str, content: bytes) -> bytes:
    """A file of the user's was read: its content."""
    if listener := _listener.get():
        listener.read(name, len(content))
    return content
