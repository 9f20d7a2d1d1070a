"""A child process for work on files of strangers that no library bounds: PDFs, workbooks of Excel 97, templates.

A PDF decides what it unpacks to, and a template is a program: `'x' * 10 ** 10` and `10 ** (10 ** 10)` are innocent to
any sandbox, and only a process can be stopped in the middle of one multiplication.

The child reads its input from standard input and never sees a path. It has no environment and starts in an empty
folder; the system limits its processor time and memory. The parent waits for a limited time and reads an answer of
limited length. Windows limits neither processor time nor memory, and macOS no memory: what remains there is the clock,
the length of the answer and, in a sealed child, the refusal to open and start anything.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Timer
from types import FrameType
from typing import IO, NamedTuple, NoReturn, cast

from bomgen.core.children import bare_environment, start_python
from bomgen.core.signals import held_back

OUT_OF_MEMORY, OUT_OF_TIME = 10, 11
"""Exit codes of a child that reached a limit and could still say so."""
KILLED_AFTER = 1
"""Seconds of processor time from the exception, which one long operation delays, to the end of the child."""
REFUSED = ("ctypes.", "import", "open", "os.", "shutil.", "signal.", "socket.", "subprocess.", "winreg.")
"""Beginnings of the audit events of files, processes, the network and modules."""
_BY_THE_SYSTEM = ("SIGKILL", "SIGABRT")
"""How a process ends that is out of time or memory and cannot say so; a library in Rust aborts without memory."""
_MEBI = 20


class Limits(NamedTuple):
    """What a child may take; its start does not count as processor time."""

    cpu_seconds: int
    wall_seconds: int
    memory_bytes: int
    output_bytes: int

    @property
    def out_of_time(self) -> str:
        """Say that the processor time is over."""
        return f"not done after {self.cpu_seconds} s of processor time"

    @property
    def out_of_memory(self) -> str:
        """Say that there is no more memory."""
        return f"not done with {self.memory_bytes >> _MEBI} MiB of memory"


class Ended(NamedTuple):
    """What a child wrote, and why it ended early; empty if it did not."""

    answer: bytes
    reason: str = ""
    failed: bool = False
    """Whether it ended for another reason than its limits."""


class OutOfTime(BaseException):
    """The processor time of this child is over; no `except Exception` catches it."""


def run_limited(module: str, arguments: Sequence[str], content: bytes, limits: Limits) -> Ended:
    """Run `main` of a module in a child with `content` as its standard input."""
    with held_back() as let_through, TemporaryDirectory(prefix="bomgen-") as empty, TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        process = start_python(module, "main", arguments, stdin=given, folder=empty, environment=bare_environment())
        begun, clock = time.monotonic(), Timer(limits.wall_seconds, process.kill)
        with process:
            try:
                clock.start()
                with let_through():
                    answer = cast(IO[bytes], process.stdout).read(limits.output_bytes + 1)
                    if len(answer) > limits.output_bytes:
                        return Ended(b"", f"wrote more than {limits.output_bytes} bytes")
                    code = process.wait()
            finally:
                process.kill()
                clock.cancel()
    late = time.monotonic() - begun >= limits.wall_seconds
    return Ended(answer, *_ended_early(code, late, limits)) if code else Ended(answer)


def _ended_early(code: int, late: bool, limits: Limits) -> tuple[str, bool]:
    """Return why a child ended that has an exit code, and whether that is another reason than its limits."""
    if code == OUT_OF_MEMORY:
        return limits.out_of_memory, False
    if code == OUT_OF_TIME or -code == getattr(signal, "SIGXCPU", 0):
        return limits.out_of_time, False
    if late:
        return f"not done after {limits.wall_seconds} s", False
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
    if name in _BY_THE_SYSTEM:
        return (
            f"its process ended with {name}, beyond {limits.cpu_seconds} s or {limits.memory_bytes >> _MEBI} MiB",
            False,
        )
    return f"its process ended with {name}", True


@contextmanager
def within_limits(limits: Limits, *, sealed: bool) -> Iterator[None]:
    """Limit this child from now on; where it reaches a limit, end it with the exit code that says which.

    A sealed child can also open, import, connect and start nothing, even by code that got out of a sandbox.
    """
    if hasattr(signal, "SIGXCPU"):
        signal.signal(signal.SIGXCPU, _raise_out_of_time)
    cpu = ceil(time.process_time() + limits.cpu_seconds)
    _lower("RLIMIT_CPU", cpu, cpu + KILLED_AFTER)
    for kind, most in (("RLIMIT_AS", limits.memory_bytes), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        _lower(kind, most, most)
    if sealed:
        _lower("RLIMIT_NOFILE", 0, 0)
        _lower("RLIMIT_NPROC", 0, 0)
        sys.addaudithook(_refuse)
    try:
        yield
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except OutOfTime:
        sys.exit(OUT_OF_TIME)


def _lower(kind: str, soft: int, hard: int) -> None:
    """Lower a limit of this process where the platform has it."""
    try:
        import resource

        number = getattr(resource, kind)
        most = resource.getrlimit(number)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(number, (soft, hard))
    except (ImportError, AttributeError, ValueError, OSError):  # Windows, a kind unknown there, macOS and address space
        return


def _raise_out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise OutOfTime


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(REFUSED):
        raise PermissionError(f"{event} is refused")
