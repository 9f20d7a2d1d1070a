"""The open connections of the server: how long each may take, which one makes room for another, and who has left.

Any program of the machine can connect. One that sends nothing, or a byte at a time, holds a place until its time is
over or somebody else needs the place; those that have shown the token keep theirs.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from selectors import EVENT_READ, DefaultSelector
from socket import MSG_PEEK, SHUT_RDWR, socket
from threading import Event, Lock
from time import monotonic

MOST_CONNECTIONS = 256
"""Open connections; a new one takes the place of the oldest that has not shown the token."""
MOST_HEAD_S, MOST_BODY_S = 5, 30
"""Seconds in which the head of a request must be there, and then its body, however often a part of it comes."""
MOST_PIECE_S, PIECE = 30, 1 << 20
"""Seconds in which each piece of an answer must be taken, and its bytes; over a forwarded port 60 MB take a minute."""


class Connection:
    """An open connection, with the head of its request on the way."""

    def __init__(self, stream: socket) -> None:
        self.known = False
        """Whether it has shown the token."""
        self.gone = Event()
        """Whether its client has left before there was an answer."""
        self._stream, self._due = stream, monotonic() + MOST_HEAD_S

    def allow(self, seconds: int) -> None:
        """Close the connection in so many seconds, whatever was allowed before."""
        self._due = monotonic() + seconds

    def wait(self) -> None:
        """Leave the connection open as long as the server works on the answer."""
        self._due = inf

    def close(self) -> None:
        """Close the connection; whoever reads or writes there gets an end or an error."""
        with suppress(OSError):
            self._stream.shutdown(SHUT_RDWR)

    @property
    def is_late(self) -> bool:
        """Return whether the time of the connection is over."""
        return monotonic() >= self._due

    @property
    def waits(self) -> bool:
        """Return whether the client waits for the answer to a whole request."""
        return self._due == inf

    def look(self) -> None:
        """Find out whether the client, of which there is something to read, has left: then it is the end."""
        with suppress(OSError):
            if self._stream.recv(1, MSG_PEEK):
                return
        self.gone.set()


class Connections:
    """The open connections, the oldest first."""

    def __init__(self) -> None:
        self._open, self._lock = dict[socket, Connection](), Lock()

    def enter(self, stream: socket) -> bool:
        """Take in a connection, if need be in place of another one; return whether there is a place."""
        with self._lock:
            if len(self._open) >= MOST_CONNECTIONS:
                stranger = next((each for each, connection in self._open.items() if not connection.known), None)
                if stranger is None:
                    return False
                self._open.pop(stranger).close()
            self._open[stream] = Connection(stream)
            return True

    def leave(self, stream: socket) -> None:
        """Make room for another connection."""
        with self._lock:
            self._open.pop(stream, None)

    def of(self, stream: socket) -> Connection:
        """Return the connection of a socket, a closed one if it had to make room."""
        with self._lock:
            return self._open.get(stream) or Connection(stream)

    def tend(self) -> None:
        """Close connections whose time is over, and mark those whose clients have left."""
        with self._lock:
            connections = [*self._open.items()]
        for _, connection in connections:
            if connection.is_late:
                connection.close()
        if waiting := [each for each in connections if each[1].waits]:
            with suppress(OSError), DefaultSelector() as selector:
                for stream, connection in waiting:
                    with suppress(ValueError, KeyError):  # closed meanwhile
                        selector.register(stream, EVENT_READ, connection)
                for key, _ in selector.select(0):
                    key.data.look()
