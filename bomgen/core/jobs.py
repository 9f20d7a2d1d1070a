"""Jobs: what a run may take and what it reports: processes, processor time, memory and steps; progress and stop.

The current folder is often that of a plan, which a stranger may have sent together with a `json.py`, a package `bomgen`
or a program `git`. `python -m` and `python -c` import from the current folder first, multiprocessing starts its
processes the same way, and an empty entry of PATH means that folder too. No process started here looks there.

A command or a call limits its own process, and ends with one line. What no library bounds gets a child: PDFs that are
read or printed, Excel 97 workbooks, templates. A PDF decides what it unpacks to, and a template is a program:
`'x' * 10 ** 10` and `10 ** (10 ** 10)` are innocent to any sandbox, and only a process can be stopped in the middle of
one multiplication.

The child reads its input from standard input and never sees a path. It has no environment and starts in an empty
folder; the system limits its processor time and memory. The parent waits for a limited time and reads an answer of
limited length. Windows limits neither processor time nor memory, and macOS no memory: there, the limits are wall time,
the length of the answer and, in a sealed child, the ban on opening and starting anything.

A service that builds plans of others must know that each one ends. The size of a plan is limited where it is read; the
work that it causes (alternatives of clusters of fabrics, and the shapes and cables of each) is counted in steps as it
is done: the same plan always ends the same way, on any machine.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Thread, Timer
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import bomgen

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from subprocess import Popen

    Child = Popen[bytes]

ISOLATED = ("-I", "-S", "-B", "-X", "utf8")
"""No environment variables, user folder, start-up files or bytecode files; UTF-8 everywhere."""
PROGRAM = "import sys; sys.path[:] = {path}; from {module} import {function}; {function}()"
SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable that keeps the current folder out of the path of any Python."""
SUFFIXES = (".exe", "") if sys.platform == "win32" else ("",)
"""Suffixes of program names."""

NEEDED_VARIABLES = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables without which some Pythons cannot start; everything else in the environment is the user's."""

PIPE, DEVNULL = -1, -3
"""As in `subprocess`, which is loaded with the first process: a Python in a browser has none."""


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
    stdin: IO[bytes] | int = DEVNULL,
    stderr: IO[bytes] | int = DEVNULL,
    folder: str | None = None,
    environment: dict[str, str] | None = None,
) -> Child:
    """Start a function of bomgen in a Python that imports from `import_path` alone; read its output through a pipe.

    By default it has the current folder and environment.
    """
    import subprocess

    program = PROGRAM.format(path=ascii(import_path()), module=module, function=function)
    command = [sys.executable, *ISOLATED, "-c", program, *arguments]
    return subprocess.Popen(  # noqa: S603 - this Python, with arguments of ours
        command, stdin=stdin, stdout=PIPE, stderr=stderr, cwd=folder, env=environment
    )


def bare_environment(*more: str) -> dict[str, str]:
    """Return the environment of a process that reads untrusted files: what Python needs, and `more` variables."""
    return {name: os.environ[name] for name in (*NEEDED_VARIABLES, *more) if name in os.environ}


def import_path() -> list[str]:
    """Return the import path of this process, without the current folder and the folder of its script.

    Either is kept if bomgen itself was imported from it: anyone who can write there can change bomgen.
    """
    script = getattr(sys.modules["__main__"], "__file__", None)
    unsafe = {os.path.realpath(folder) for folder in (os.curdir, *([os.path.dirname(script)] if script else []))}
    unsafe.discard(os.path.realpath(Path(bomgen.__file__).parents[1]))
    return [os.path.abspath(entry) for entry in sys.path if os.path.realpath(entry) not in unsafe]


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
    name: str, arguments: Sequence[str], folder: Path, seconds: int, stdin: bytes | None, variables: dict[str, str]
) -> CompletedProgram:
    """Run a program of the machine with `stdin` as its standard input, and return its exit code and output.

    `variables` are added to the environment. Raises FileNotFoundError for a program that is not installed, and
    TimedOut.
    """
    import subprocess

    environment = {**os.environ, **variables}
    command = [find_program(name), *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a program of the machine by its full path, without a shell
            command, cwd=folder, input=stdin, env=environment, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimedOut from None
    return CompletedProgram(done.returncode, done.stdout, done.stderr)


def find_program(name: str) -> str:
    """Return the full path of a program in a folder that PATH names in full. Raises FileNotFoundError."""
    for folder in os.get_exec_path():
        for suffix in SUFFIXES:
            program = os.path.join(folder, name + suffix)
            if os.path.isabs(folder) and os.path.isfile(program) and os.access(program, os.X_OK):
                return program
    raise FileNotFoundError(name)


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
    with defer_signals() as let_through, TemporaryDirectory(prefix="bomgen-") as empty, TemporaryFile() as stdin:
        stdin.write(content)
        stdin.seek(0)
        environment = bare_environment(*variables) | {"TMPDIR": empty}  # removed with what it leaves
        process = start_python(module, "main", arguments, stdin=stdin, folder=empty, environment=environment)
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


class Listener:
    """The receiver of progress, which ignores what it does not override."""

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


def report_stage(name: str) -> None:
    """Report that a stage begins."""
    if listener := _listener.get():
        listener.stage(name)


def report_count(what: str, done: int, size: int) -> None:
    """Report `done` of `size` pieces of work."""
    if listener := _listener.get():
        listener.count(what, done, size)


def report_read(name: str, content: bytes) -> bytes:
    """Report that a file of the user was read, and return its content."""
    if listener := _listener.get():
        listener.read(name, len(content))
    return content


MAX_STEPS = 3_400_000
"""Maximum steps of a plan with all its alternatives, of 1 to 2 microseconds each: under ten seconds of one processor.

One step is a listed cable, for its route along the floor or its row in a table; a compute fabric over a million GPUs
has three million.
"""
OF_SHAPE = 2
"""Steps of a fabric shape that is tried."""
OF_FABRIC = 5_000
"""Steps of a fabric that is designed, whatever its size: its parts, links, checks and lines take some 20 ms."""
OF_HOST = 100
"""Steps of an entry of `hosts`."""
OF_PRICE = 90
"""Steps of a line of a price book; 20 000 prices are read and checked within some seconds."""
OF_PART = 120
"""Steps of a user's part file that is read and checked."""
OF_PART_LOOKUP = 3
"""Steps of a user's part, each time that the parts of a kind are searched for those that fit."""
OF_LINK_PART = 30
"""Steps of a module or cable that a design considers, from the catalogue or the user."""
OF_PAIR = 8
"""Steps of a pair of modules tried at the ends of a link."""
OF_NAME = 10
"""Steps of a part name that is compared with a misspelt one."""
OF_TAG = 2
"""Steps of an XML tag of a workbook: a cell has four, and takes some microseconds in any format."""
OF_BILL_PLAN = 1_000
"""Steps of a plan that a bill may be for, which is read and designed."""
OF_BILL_FIT = 10
"""Steps of a line of a bill that is compared with a design."""
OF_BILL_LINE = 15_000
"""Steps of a line of a bill for each network that it may belong to, which is looked for among all lines."""
BYTES_A_STEP = 50
"""Bytes of an unpacked workbook, tags and text alike, per step: they are searched and copied several times."""


class _Count:
    def __init__(self, most: int) -> None:
        self.left, self.known = most, set[Hashable]()


_count: ContextVar[_Count | None] = ContextVar("count", default=None)


class TooMuch(Exception):
    """Work that takes more steps than its budget has."""


@contextmanager
def budget(most: int = MAX_STEPS) -> Iterator[None]:
    """Count the steps of the work within this context, of which there may be `most`."""
    before = _count.set(_Count(most))
    try:
        yield
    finally:
        _count.reset(before)


def spend(steps: int, of: Hashable = None) -> None:
    """Count steps as done; work named by `of`, whose result is kept, counts once.

    Raises TooMuch when the budget is used up.
    """
    count = _count.get()
    if count is None or (of is not None and of in count.known):
        return
    count.known.add(of)
    count.left -= steps
    if count.left < 0:
        raise TooMuch
