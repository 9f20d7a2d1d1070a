"""Timing commands: one run, runs that take turns with a base, and the middle of many with how sure it is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from statistics import median
from typing import NamedTuple

CHECKOUT = Path(__file__).parents[1]
BOMGEN = str(Path(sys.executable).with_name("bomgen"))
CONFIDENCE = 0.95
KIB_A_GIB = 1024**2
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
"""Without the variables of Python: one that forbids byte code would have every run compile what it imports."""


class Run(NamedTuple):
    """What one run of a command took: seconds by the clock, GiB at most, and what it printed."""

    seconds: float
    gib: float
    said: str


class Failed(Exception):
    """A command ended with an error, or took too long; the text says which, and its last words."""


def run(command: Sequence[str], given: str = "", most: float | None = None) -> Run:
    """Run a command with `given` on its standard input, for `most` seconds at most.

    The memory is that of the command and its children. A program cannot be told smaller than the one that starts it:
    so this one loads little.
    """
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as wrong:
        source.write(given.encode())
        source.seek(0)
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                command, stdin=source, stdout=said, stderr=wrong, cwd=CHECKOUT, env=ENVIRONMENT, start_new_session=True
            )
        except OSError as error:
            raise Failed(f"cannot be started: {error.strerror}") from None
        status, usage = _ended(process.pid, None if most is None else start + most)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            wrong.seek(0)
            last = wrong.read().decode(errors="replace").strip().splitlines()[-1:]
            over = most is not None and seconds >= most
            raise Failed(f"more than {most:g} s" if over else f"exit code {process.returncode}: {' '.join(last)}")
        said.seek(0)
        return Run(seconds, usage.ru_maxrss / KIB_A_GIB, said.read().decode())


def _ended(pid: int, until: float | None) -> tuple[int, object]:
    """Wait for a process, whose whole session is killed when its time is up: its status and what it used."""
    while until is not None:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage
        if time.perf_counter() >= until:
            os.killpg(pid, 9)
            break
        time.sleep(0.005)
    _, status, usage = os.wait4(pid, 0)
    return status, usage


class Middle(NamedTuple):
    """The median of several values, and an interval that holds that of all possible ones."""

    value: float
    low: float
    high: float


def middle(values: Sequence[float]) -> Middle:
    """The median with its interval of 95 % confidence by order statistics; of fewer than six values, all of them.

    Of n values k lie below the median of their distribution with the probability C(n, k) / 2^n, whatever the
    distribution is (the interval of the sign test).
    """
    ordered = sorted(values)
    count, cut, outside = len(ordered), 0, 0.0
    while cut < (count - 1) // 2:
        outside += 2 * comb(count, cut) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        cut += 1
    at = max(cut - 1, 0)
    return Middle(median(ordered), ordered[at], ordered[-1 - at])


class Raced(NamedTuple):
    """A work and its base, run in turns: seconds of both, and the ratio of the two runs of a turn."""

    seconds: Middle
    base: Middle
    ratio: Middle


def race(take: Callable[[], float], modules: str, runs: int) -> Raced:
    """Time a work against the import of modules. A first turn, which may write byte code, does not count.

    A turn's two runs lie side by side, so that what else the machine does falls on both.
    """
    base = [sys.executable, "-c", f"import {modules}"]
    turns = [(take(), run(base).seconds) for _ in range(runs + 1)][1:]
    return Raced(
        middle([taken for taken, _ in turns]),
        middle([taken for _, taken in turns]),
        middle([taken / of_base for taken, of_base in turns]),
    )
