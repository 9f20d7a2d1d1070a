"""Child processes that bomgen starts: its own Python, and programs of the machine.

The current folder is often that of a plan, which a stranger may have sent together with a `json.py`, a package `bomgen`
or a program `git`. `python -m` and `python -c` import from the current folder first, multiprocessing starts its
processes the same way, and an empty entry of PATH means that folder too. No process started here looks there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, NamedTuple

import bomgen

if TYPE_CHECKING:
    from concurrent.futures import Executor

ISOLATED = ("-I", "-S", "-B", "-X", "utf8")
"""No environment variables, user folder, start-up files or bytecode files; UTF-8 everywhere."""
PROGRAM = "import sys; sys.path[:] = {path}; from {module} import {function}; {function}()"
SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable that keeps the current folder out of the path of any Python."""
SUFFIXES = (".exe", "") if sys.platform == "win32" else ("",)
"""Suffixes of program names."""

NEEDED_VARIABLES = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables without which some Pythons cannot start; everything else in the environment is the user's."""

Child = subprocess.Popen[bytes]
PIPE = subprocess.PIPE


class CompletedProgram(NamedTuple):
    """The exit code of a program, and what it wrote to standard output and standard error."""

    code: int
    output: bytes
    errors: bytes


class TimedOut(Exception):
    """A program that did not end within its time."""


def start_python(
    module: str,
    function: str,
    arguments: Sequence[str] = (),
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.PIPE,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
    folder: str | None = None,
    environment: dict[str, str] | None = None,
) -> Child:
    """Start a function of bomgen in a separate Python, by default with the current folder and environment."""
    command = python_command(module, function, arguments)
    return subprocess.Popen(  # noqa: S603 - this Python, with arguments of ours
        command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=folder, env=environment
    )


def python_command(module: str, function: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command that runs a function of bomgen in a Python that imports from `import_path` alone."""
    program = PROGRAM.format(path=ascii(import_path()), module=module, function=function)
    return [sys.executable, *ISOLATED, "-c", program, *arguments]


def import_path() -> list[str]:
    """Return the import path of this process, without the current folder and the folder of its script.

    Either is kept if bomgen itself was imported from it: anyone who can write there can change bomgen.
    """
    script = getattr(sys.modules["__main__"], "__file__", None)
    unsafe = {os.path.realpath(folder) for folder in (os.curdir, *([os.path.dirname(script)] if script else []))}
    unsafe.discard(os.path.realpath(Path(bomgen.__file__).parents[1]))
    return [os.path.abspath(entry) for entry in sys.path if os.path.realpath(entry) not in unsafe]


def bare_environment(*more: str) -> dict[str, str]:
    """Return the environment of a process that reads untrusted files: what Python needs, and `more` variables."""
    return {name: os.environ[name] for name in (*NEEDED_VARIABLES, *more) if name in os.environ}


class Lifeline:
    """A tie from the processes of a pool to this one: they end when it is cut or this process ends.

    They wait for the end of a pipe whose other end only this process holds, so that it also closes when this process is
    killed.
    """

    def __init__(self) -> None:
        from multiprocessing import Pipe

        self._end, self._held = Pipe(duplex=False)

    def hold(self) -> None:
        """Tie this process, a member of the pool, to its parent.

        Ctrl-C reaches every process of a terminal; the parent process handles it.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._held.close()  # the copy that it inherited
        Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        with suppress(EOFError, OSError):
            self._end.recv_bytes()
        os._exit(1)

    def cut(self) -> None:
        """End the processes of the pool."""
        self._held.close()
        self._end.close()


def process_pool(jobs: int, lifeline: Lifeline) -> Executor:
    """Return a pool of `jobs` processes, tied to this one.

    They are started as needed, so the variable that keeps the current folder out of their path stays set.
    """
    from concurrent.futures import ProcessPoolExecutor

    os.environ[SAFE_PATH] = "1"
    return ProcessPoolExecutor(jobs, initializer=lifeline.hold)


def run_program(
    name: str, arguments: Sequence[str], folder: Path, seconds: int, given: bytes | None, variables: dict[str, str]
) -> CompletedProgram:
    """Run a program of the machine with `given` as its standard input, and return its exit code and output.

    `variables` are added to the environment. Raises FileNotFoundError for a program that is not installed, and
    TimedOut.
    """
    environment = {**os.environ, **variables}
    command = [find_program(name), *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a program of the machine by its full path, without a shell
            command, cwd=folder, input=given, env=environment, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimedOut from None
    return CompletedProgram(done.returncode, done.stdout, done.stderr)


def find_program(name: str) -> str:
    """Return the full path of a program in a folder that PATH names in full. Raises FileNotFoundError."""
    for folder in os.get_exec_path():
        for suffix in SUFFIXES:
            place = os.path.join(folder, name + suffix)
            if os.path.isabs(folder) and os.path.isfile(place) and os.access(place, os.X_OK):
                return place
    raise FileNotFoundError(name)
