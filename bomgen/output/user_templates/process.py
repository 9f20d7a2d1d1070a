"""Templates in a process of their own: what it is given, how long it is waited for, and how it may end.

The sandbox of Jinja2 keeps a template from the program's objects, but not from time and memory: loops in loops,
`'x' * 10 ** 10`, `10 ** (10 ** 10)` and `'%1000000000d' % 1` are all innocent to it. Only a process can be stopped in
the middle of one multiplication; and whoever got out of the sandbox finds neither files nor an environment there.

A template is a program that came with a plan, and whoever checks a merge request runs it. Holes in the sandbox have
been found before. `child.py` is the program of the process, `sandbox.py` has the templates themselves.

The process gets the text and the data on its standard input and returns a text; it never sees a path. Before it looks
at the template it loads what it will need and gives up the rest: no environment, an empty folder, limits of processor
time, memory, files and processes by the operating system, and an audit hook that refuses to open, import, connect and
start. The parent holds a clock and reads no more than a result may be long. Windows has no such limits: there the
clock, the length and the hook remain.

The signal of the processor time is raised as an exception in the template, so that the line of an endless loop is
known; a single long operation is ended a second later without a line. Memory has a reserve to report the line with.
`check` only parses, in the same process with the same limits, because a parser can be kept busy too. Without templates
no process is started. A process takes a fifth of a second, most of it for importing Jinja2; each template has one for
itself, so that none takes another's time. Results are equal for equal plans: random filters are left out of Jinja2, and
objects, whose text is their address, are not printed.
"""

from __future__ import annotations

import json
import signal
import struct
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event, Timer
from typing import IO, Any, NamedTuple

from bomgen.core.children import Child, bare_environment, start_python
from bomgen.core.signals import held_back

LIMIT = "template-limit"
"""The rule of a template that takes more than it may."""
CPU_SECONDS = 4
"""Processor time of all templates of a plan together, without the start of their process: one that groups and lists
10 000 lines takes 0.7 s."""
WALL_SECONDS = 30
"""How long they are waited for: their processor time on a machine that is busy with six times as much."""
MEMORY_BYTES = 512 << 20
"""Address space of the process: 50 MiB with the data of 10 000 lines, and some times the longest result."""
OUTPUT_BYTES = 16 << 20
"""The longest result: an order of 10 000 lines has half a MiB, a page with pictures in it a few."""
HEAD = struct.Struct(">?Q")
"""What stands before each answer: whether it is faults in place of a text, and its bytes."""


class Limits(NamedTuple):
    """What templates may take: processor time and clock all of a plan together, the rest each."""

    cpu_seconds: int
    wall_seconds: int
    memory_bytes: int
    output_bytes: int


LIMITS = Limits(CPU_SECONDS, WALL_SECONDS, MEMORY_BYTES, OUTPUT_BYTES)


class Fault(NamedTuple):
    """What is wrong with a template; line 0: nobody knows where."""

    line: int
    message: str
    rule: str


def too_slow(limits: Limits) -> str:
    """What is said of a template that takes more processor time than it may."""
    most = "the templates of a plan may take no more together"
    return f"not done after {limits.cpu_seconds} s of processor time; {most}: infinite loop?"


def too_long(limits: Limits) -> str:
    """What is said of a template whose result is longer than it may be."""
    return f"the result is too long; a template may write at most {limits.output_bytes} bytes"


def too_large(limits: Limits) -> str:
    """What is said of a template that needs more memory than it may."""
    return f"out of memory; a template may take at most {limits.memory_bytes >> _MEBI} MiB"


_MEBI = 20


Answer = tuple[bytes, list[Fault]]
"""The text that a template gives, empty without data, when it is only parsed; or what is wrong with it."""


def run(templates: Sequence[tuple[str, str]], given: Mapping[str, Any], limits: Limits) -> list[Answer]:
    """The answers of templates, given as name and text; none is begun after one that has reached a limit.

    One process does one after the other: each of its own would take longer to start than most take to fill in.
    """
    late = Event()
    with held_back() as let_through, TemporaryDirectory(prefix="bomgen-") as empty, TemporaryFile() as asked:
        asked.write(json.dumps({**given, "templates": templates, "limits": limits}, allow_nan=False).encode())
        asked.seek(0)
        process = _started(empty, asked)
        timer = Timer(limits.wall_seconds, _stop, (process, late))
        timer.start()
        try:
            with let_through():
                return list(_answers(process, len(templates), late, limits))
        finally:
            with process:
                process.kill()
            timer.cancel()
            timer.join()


def _answers(process: Child, count: int, late: Event, limits: Limits) -> Iterator[Answer]:
    """The answers of a process as they come; where it ends before, that is the fault of the template it was at."""
    for _ in range(count):
        answer = _answer(process.stdout, limits) if process.stdout else None
        if answer is None:
            answer = b"", [Fault(0, _ended(process.wait(), late.is_set(), limits), LIMIT)]
        yield answer
        if any(fault.rule == LIMIT for fault in answer[1]):
            return


def _answer(stream: IO[bytes], limits: Limits) -> Answer | None:
    """The next answer; None where the process ended before it was whole."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    faulty, length = HEAD.unpack(head)
    if length > limits.output_bytes:
        return b"", [Fault(0, too_long(limits), LIMIT)]
    body = stream.read(length)
    if len(body) < length:
        return None
    return (b"", [Fault(*fault) for fault in json.loads(body)]) if faulty else (body, [])


def _started(folder: str, asked: IO[bytes]) -> Child:
    """The process, in a folder where nothing is. It finds the libraries where this process found them."""
    module = "bomgen.output.user_templates.child"
    return start_python(module, "main", stdin=asked, folder=folder, environment=bare_environment())


def _stop(process: Child, late: Event) -> None:
    late.set()
    process.kill()


def _ended(code: int, late: bool, limits: Limits) -> str:
    """Why a process ended without an answer."""
    if late:
        return f"not done after {limits.wall_seconds} s; the templates of a plan are waited for no longer"
    if -code in {getattr(signal, name, 0) for name in ("SIGPROF", "SIGXCPU")} - {0}:
        return too_slow(limits)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
    return f"its process ended with {name}; it must do with {limits.memory_bytes >> _MEBI} MiB and Jinja's own means"
