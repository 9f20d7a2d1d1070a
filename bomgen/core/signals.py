"""What would end the program, Ctrl-C and the like, held back while files or processes must not be left half-way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK", "SIGINT") if hasattr(signal, name))
"""The signals that ask a program to end; SIGINT last, so that it is the last that is given back."""

LettingThrough = Callable[[], AbstractContextManager[None]]


class Stopped(BaseException):
    """A signal came while it was let through: what it broke off is not done, and all is tidy.

    It goes on to the caller where the handler of the signal does not end the program, as those of servers.
    """


class _Held:
    """Signals that came, and whether one may break off what runs now."""

    def __init__(self) -> None:
        self.came: list[int] = []
        self._open = False

    def note(self, number: int, _frame: FrameType | None) -> None:
        self.came.append(number)
        if self._open:
            self._open = False
            raise Stopped

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Let a signal, also one that came already, break off what runs meanwhile with Stopped."""
        try:
            self._open = True
            if self.came:
                raise Stopped
            yield
        finally:
            self._open = False


@contextmanager
def held_back() -> Iterator[LettingThrough]:
    """Hold signals back as long as this lasts, and hand on the first that came at its end.

    What is given is a context in which a signal breaks off after all, once: what tidies up is not broken off again.
    Signals that are ignored stay ignored. Only the main thread is ever interrupted; in others this does nothing.
    Raises Stopped when something was broken off and the signal's own handler returns.
    """
    if threading.current_thread() is not threading.main_thread():
        yield nullcontext
        return
    held, before = _Held(), dict[int, Any]()
    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if handler not in (signal.SIG_IGN, None):
                before[number] = handler
                signal.signal(number, held.note)
        yield held.let_through
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held.came:
            signal.raise_signal(held.came[0])
