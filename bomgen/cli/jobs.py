"""Several commands of bomgen at a time, each in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TextIO

from bomgen.core.children import PIPE, Child, start_python


def run_jobs(commands: Iterable[Sequence[str]], jobs: int) -> int:
    """Run commands of bomgen, so many at a time; the worst exit code comes out.

    What they write follows in the order of the commands. Whatever ends this process ends them as well.
    """
    started: list[Child] = []
    over = Event()

    def run(command: Sequence[str]) -> tuple[int, bytes, bytes]:
        process = start_python("bomgen.cli.command", "run", command, stderr=PIPE)
        started.append(process)
        if over.is_set():
            process.terminate()
        out, errors = process.communicate()
        return process.returncode, out, errors

    worst = 0
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for code, out, errors in pool.map(run, commands):
                worst = max(worst, code)
                _pass_on(out, sys.stdout)
                _pass_on(errors, sys.stderr)
        except BaseException:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in started:
                process.terminate()
            raise
    return worst


def _pass_on(written: bytes, stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(written.decode("utf-8", "replace").encode(encoding, "replace").decode(encoding))
    stream.flush()
