"""Limits of processor time and memory: of a command, a call of the page, and children for untrusted files.

A command or a call limits its own process, and ends with one line. What no library bounds gets a child: PDFs that are
read or printed, Excel 97 workbooks, templates. A PDF decides what it unpacks to, and a template is a program:
`'x' * 10 ** 10` and `10 ** (10 ** 10)` are innocent to any sandbox, and only a process can be stopped in the middle of
one multiplication.

The child reads its input from standard input and never sees a path. It has no environment and starts in an empty
folder; the system limits its processor time and memory. The parent waits for a limited time and reads an answer of
limited length. Windows limits neither processor time nor memory, and macOS no memory: there, the limits are wall time,
the length of the answer and, in a sealed child, the ban on opening and starting anything.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Timer
from types import FrameType
from typing import IO, TYPE_CHECKING, NamedTuple, NoReturn, cast

from bomgen.core.signals import defer_signals

if TYPE_CHECKING:
    from bomgen.core.children import Child

OUT_OF_MEMORY, OUT_OF_TIME = 10, 11
"""Exit codes of a child that reached a limit and could still report it."""
KILLED_AFTER = 1
"""Seconds of processor time between the exception, which one long operation delays, and the kill."""
REFUSED = ("ctypes.", "import", "open", "os.", "shutil.", "signal.", "socket.", "subprocess.", "winreg.")
"""Prefixes of the audit events of files, processes, the network and modules."""
_BY_THE_SYSTEM = ("SIGKILL", "SIGABRT")
"""Signals that end a process out of time or memory that cannot report it; a Rust library aborts when out of memory."""
NEARLY_ALL = 0.8
"""Share of its limit at which a process that fails has run out of memory.

It then ends with SIGSEGV, without a page for its stack, or with exit code 1, without one to report the MemoryError.
"""
COLLECT_AFTER = 1_000_000
"""New objects between two runs of the garbage collector of a process that does one thing and ends."""
_NOT_FINISHED = "not finished after {} s of processor time"
_MEBI = 20
_KIBI = 10
_seconds: int | None = None
"""The limit of `limit_processor_time`."""


class Limits(NamedTuple):
    """The limits of a child; its start does not count as processor time."""

    cpu_seconds: int
    wall_seconds: int
    memory_bytes: int
    output_bytes: int
    file_bytes: int = 0
    """The length of a file that it may write into its folder; most children write none."""

    @property
    def out_of_time(self) -> str:
        """The error for exceeded processor time."""
        return _NOT_FINISHED.format(self.cpu_seconds)

    @property
    def out_of_memory(self) -> str:
        """The error for exceeded memory."""
        return f"not finished with {self.memory_bytes >> _MEBI} MiB of memory"


class ChildOutput(NamedTuple):
    """The output of a child, and why it ended early; empty if it did not."""

    answer: bytes
    reason: str = ""
    failed: bool = False
    """Whether the child ended for a reason other than its limits."""


class OutOfTime(BaseException):
    """The processor time of this process is used up; no `except Exception` catches it."""


def run_limited(
    module: str, arguments: Sequence[str], content: bytes, limits: Limits, variables: Sequence[str] = ()
) -> ChildOutput:
    """Run `main` of a module in a child with `content` as its standard input, and `variables` of the environment."""
    from bomgen.core.children import bare_environment, start_python  # a Python in a browser has no processes

    with defer_signals() as let_through, TemporaryDirectory(prefix="bomgen-") as empty, TemporaryFile() as given:
        given.write(content)
        given.seek(0)
        environment = {**bare_environment(*variables), "TMPDIR": empty}  # removed with what it leaves
        process = start_python(module, "main", arguments, stdin=given, folder=empty, environment=environment)
        begun, clock = time.monotonic(), Timer(limits.wall_seconds, process.kill)
        with process:
            try:
                clock.start()
                with let_through():
                    answer = cast(IO[bytes], process.stdout).read(limits.output_bytes + 1)
                    if len(answer) > limits.output_bytes:
                        return ChildOutput(b"", f"wrote more than {limits.output_bytes} bytes")
                    code, peak = wait_for(process)
            finally:
                process.kill()
                clock.cancel()
    late = time.monotonic() - begun >= limits.wall_seconds
    return ChildOutput(answer, *_ended_early(code, peak, late, limits)) if code else ChildOutput(answer)


def _ended_early(code: int, peak: int, late: bool, limits: Limits) -> tuple[str, bool]:
    """Return why a child ended early, given its exit code and memory, and whether the reason is not its limits."""
    if code == OUT_OF_MEMORY:
        return limits.out_of_memory, False
    if code == OUT_OF_TIME or -code == getattr(signal, "SIGXCPU", 0):
        return limits.out_of_time, False
    if late:
        return f"not finished after {limits.wall_seconds} s", False
    if peak >= NEARLY_ALL * limits.memory_bytes:
        return limits.out_of_memory, False
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
    if name in _BY_THE_SYSTEM:
        return (
            f"its process ended with {name}, beyond {limits.cpu_seconds} s or {limits.memory_bytes >> _MEBI} MiB",
            False,
        )
    return f"its process ended with {name}", True


def wait_for(process: Child) -> tuple[int, int]:
    """Wait for a child; return its exit code and its peak memory in bytes, 0 where that is not known."""
    if sys.platform != "linux":
        return process.wait(), 0
    import resource

    try:
        _, status, used = os.wait4(process.pid, 0)
    except ChildProcessError:  # the timer has reaped it
        return process.wait(), 0
    process.returncode = os.waitstatus_to_exitcode(status)
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # Linux counts a child's peak from its parent's
    return process.returncode, used.ru_maxrss << _KIBI if used.ru_maxrss > inherited else 0


@contextmanager
def within_limits(limits: Limits, *, sealed: bool) -> Iterator[None]:
    """Limit this child from now on; on reaching a limit, end it with the exit code of that limit.

    A sealed child also cannot open, import, connect or start anything, even by code that escaped from a sandbox.
    """
    cpu = ceil(time.process_time() + limits.cpu_seconds)
    _lower("RLIMIT_CPU", cpu + KILLED_AFTER, cpu + KILLED_AFTER)
    limit_processor_time(limits.cpu_seconds)
    for kind, most in (("RLIMIT_AS", limits.memory_bytes), ("RLIMIT_FSIZE", limits.file_bytes), ("RLIMIT_CORE", 0)):
        _lower(kind, most, most)
    if sealed:
        _lower("RLIMIT_NOFILE", 0, 0)
        _lower("RLIMIT_NPROC", 0, 0)
        sys.addaudithook(_refuse)
    try:
        yield
        if time.process_time() >= cpu:  # a library caught the exception
            raise OutOfTime
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except OutOfTime:
        sys.exit(OUT_OF_TIME)


def limit_processor_time(seconds: int | None) -> None:
    """Raise OutOfTime once this process has used so many more seconds of processor time, or never."""
    global _seconds
    _seconds = seconds
    if hasattr(signal, "SIGXCPU"):
        signal.signal(signal.SIGXCPU, _raise_out_of_time)
        _lower("RLIMIT_CPU", ceil(time.process_time() + seconds) if seconds else None)


def renew_processor_time() -> None:
    """Give this process the time that it had at first, if that is limited."""
    if _seconds:
        limit_processor_time(_seconds)


def limit_memory(bytes: int) -> None:
    """Limit the memory of this process and those that it starts, where the system can."""
    _lower("RLIMIT_AS", bytes, bytes)


def _lower(kind: str, soft: int | None, hard: int | None = None) -> None:
    """Set the limits of this process, without one or beyond it to the hard limit that it has."""
    try:
        import resource

        number = getattr(resource, kind)
        most = resource.getrlimit(number)[1]
        soft, hard = (most if limit is None or limit > most >= 0 else limit for limit in (soft, hard))
        resource.setrlimit(number, (soft, hard))
    except (ImportError, AttributeError, ValueError, OSError):  # Windows, unknown there, or macOS and address space
        return


def _raise_out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    _lower("RLIMIT_CPU", None)  # cleaning up is not interrupted
    raise OutOfTime(_NOT_FINISHED.format(_seconds))


def _refuse(event: str, _arguments: tuple[object, ...]) -> None:
    if event.startswith(REFUSED):
        raise PermissionError(f"{event} is refused")
