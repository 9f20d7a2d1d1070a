"""Rebuilds after file changes, and parallel builds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TextIO

from bomgen.cli.messages import complain
from bomgen.core.children import PIPE, Child, start_python
from bomgen.core.limits import limit_processor_time

READ = (".yaml", ".yml", ".lock", ".csv", ".xlsx", ".j2", ".svg", ".png", ".jpg", ".jpeg")
"""Suffixes of files that a plan reads: plans and their locks, parts, price books, templates, logos."""
INTERVAL_S = 0.3
"""Seconds between two checks of the files, shorter than switching from the editor to the page."""

State = dict[str, tuple[int, int]]
"""Modification time [ns] and size [bytes] of each file by path."""


def rebuild(run: Callable[[], int], folders: Iterable[Path], written: Path) -> None:
    """Run a build, and again after each change below `folders`, until the program is ended.

    Files below `written`, the folder of results, and in hidden folders are ignored.
    """
    limit_processor_time(None)
    below = sorted({folder.resolve() for folder in folders})
    while True:
        before = _state(below, written.resolve())
        run()
        complain(f"bomgen: watching {len(before)} files; Ctrl-C ends")
        while _state(below, written.resolve()) == before:
            time.sleep(INTERVAL_S)


def _state(folders: Iterable[Path], written: Path) -> State:
    """Return the current state of all files that plans can name."""
    return {entry.path: (seen.st_mtime_ns, seen.st_size) for entry, seen in _files(folders, str(written))}


def _files(folders: Iterable[Path], written: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    waiting = [str(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.path == written:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.lower().endswith(READ):
                        yield entry, entry.stat()
        except OSError:  # removed meanwhile; the next check omits it
            continue


# jobs ---------------------------------------------------------------------------------------------------------------
# Several bomgen commands in parallel, each in a separate process.


def run_jobs(commands: Iterable[Sequence[str]], jobs: int) -> int:
    """Run bomgen commands, a number of them in parallel, and return the worst exit code.

    Their output follows in the order of the commands. If this process ends, so do they.
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
