"""Signals that end the program, such as Ctrl-C, deferred while files or processes must not be left half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK", "SIGINT") if hasattr(signal, name))
"""The signals that ask a program to end; SIGINT last, so that it is the last to be restored."""

LettingThrough = Callable[[], AbstractContextManager[None]]


class Stopped(BaseException):
    """A signal interrupted the work during which it was let through; the work is not done, and all is cleaned up.

    It propagates to the caller where the handler of the signal does not end the program, as in servers.
    """


class _Held:
    """Signals received, and whether one may interrupt the current work."""

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
        """Let a signal, including one received earlier, interrupt the work inside with Stopped."""
        try:
            self._open = True
            if self.came:
                raise Stopped
            yield
        finally:
            self._open = False


@contextmanager
def defer_signals() -> Iterator[LettingThrough]:
    """Defer signals within this context, and raise the first received at its end.

    The value is a context in which a signal may interrupt once: cleaning up is not interrupted again. Ignored signals
    stay ignored. Only the main thread is ever interrupted; in others this does nothing. Raises Stopped when work was
    interrupted and the signal's own handler returns.
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
