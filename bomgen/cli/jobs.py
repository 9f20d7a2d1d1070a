"""Several commands of bomgen at a time, each in a process of its own."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from bomgen.core.children import Child, start_python


class _Job(NamedTuple):
    process: Child
    out: IO[bytes]
    errors: IO[bytes]


def run_jobs(commands: Iterable[Sequence[str]], jobs: int) -> int:
    """Run commands of bomgen, so many at a time; the worst exit code comes out.

    What they write follows in the order of the commands. Whatever ends this process ends them as well.
    """
    running: deque[_Job] = deque()
    code = 0
    with ExitStack() as files:
        try:
            for command in commands:
                if len(running) == jobs:
                    code = max(code, _finish(running[0]))
                    running.popleft()
                running.append(_start(command, files))
            while running:
                code = max(code, _finish(running[0]))
                running.popleft()
        except BaseException:
            for job in running:
                job.process.terminate()
            for job in running:
                job.process.wait()
            raise
    return code


def _start(command: Sequence[str], files: ExitStack) -> _Job:
    out = files.enter_context(TemporaryFile())  # noqa: SIM115 - the stack closes it
    errors = files.enter_context(TemporaryFile())  # noqa: SIM115 - likewise
    return _Job(start_python("bomgen.cli.command", "run", command, stdout=out, stderr=errors), out, errors)


def _finish(job: _Job) -> int:
    """Wait for a command, and pass on what it wrote."""
    code = job.process.wait()
    for written, stream in ((job.out, sys.stdout), (job.errors, sys.stderr)):
        written.seek(0)
        encoding = stream.encoding or "utf-8"
        stream.write(written.read().decode("utf-8", "replace").encode(encoding, "replace").decode(encoding))
        stream.flush()
    return code
