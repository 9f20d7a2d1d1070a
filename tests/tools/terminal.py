"""A program at a terminal of its own: what is typed reaches it, and what it shows is read."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import NoReturn

from processor import PATIENCE

from bomgen.cli import command as bomgen
from bomgen.output import writer
from bomgen.results import explain
from bomgen.workflow import pipeline

FAILED = 99
"""The exit code of a run that ended as the program never does."""
LOADED = (writer, pipeline, explain)
"""What a run takes from this process instead of loading it."""


class Bomgen:
    """The command in a copy of this process, which has it loaded: with streams, environment and an end of its own."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, streams: Sequence[int]
    ) -> None:
        self.returncode: int | None = None
        self._number = os.fork()
        if not self._number:
            self._run(arguments, environment, folder, streams)

    def wait(self, _: float = 0) -> int:
        """Its exit code; a signal that ended it is negative."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        return self.returncode

    def kill(self) -> None:
        """End it."""
        if self.returncode is None:
            os.kill(self._number, signal.SIGKILL)

    def _run(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, streams: Sequence[int]
    ) -> NoReturn:
        code = FAILED
        try:
            os.setsid()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            encoding = environment.get("PYTHONIOENCODING", "utf-8")
            sys.stdin, sys.stdout, sys.stderr = (
                open(number, "w" if number else "r", encoding=encoding, buffering=1 if number > 1 else -1)  # noqa: SIM115
                for number in range(len(streams))
            )
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            sys.argv = ["bomgen", *arguments]
            bomgen.limit_memory = lambda _: None  # this copy holds the memory of the tests before it
            try:
                bomgen.run()
                code = 0
            except SystemExit as done:
                code = int(done.code or 0)
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:  # a copy of the tests must not go on with them
            traceback.print_exc()
        finally:
            os._exit(code)


class Terminal:
    """A program on a terminal, usually of 200 columns; without a command bomgen with `arguments`."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        arguments: Sequence[str] | None = None,
        columns: int = 200,
    ) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, pack("HHHH", 50, columns, 0, 0))
        self.shown = ""
        self.process: Bomgen | subprocess.Popen[bytes]
        environment = {"TERM": "xterm", **environment}
        if arguments is not None:
            self.process = Bomgen(arguments, environment, folder, (theirs, theirs, theirs))
        else:
            self.process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                cwd=folder,
                env=environment,
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
