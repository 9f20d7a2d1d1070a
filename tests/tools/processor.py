"""What a program uses of processor and memory, and what a known amount of work takes on this machine at the moment.

A busy machine lends a program less of its processor, and shares caches and clock: seconds mean something only beside a
reference that is measured in the same minute.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 900
"""Seconds after which what has not happened never will. It guards against waiting for ever, and bounds no speed."""
WORK = """
found = {}
for number in range(500_000):
    found[str(number)] = number * 7 % 1013
sorted(found, key=found.get)
"""
"""The reference: numbers, texts, a dictionary and a sort, half a second of a processor of 2023."""
MEASURE = """
import json, os, resource, sys
most, *command = sys.argv[1:]
hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
limit = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
child = os.fork()
if not child:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(command[0], command)
status, used = os.wait4(child, 0)[1:]
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss << 10]))
"""
"""The program that runs the one to be measured: its peak of memory begins with that of the process which starts it, and
one that runs tests has more than any of them."""
MOST_REFERENCES = 40
"""References that any input may take: the 20 s of docs/limits.md on a machine that does one in half a second."""
FASTER = 5
"""How much faster a machine becomes at most while tests run."""
KILLED = 4
"""Times the bound after which a program is ended from outside."""
CI_SECONDS = 20
"""The bound itself, held where the machine is known."""
KNOWN = {"CI", "KNOWN_MACHINE"}
"""Variables of which one is set there: by continuous integration, and by `.ci/run` for its bare root."""
ENDED_BY_SECONDS = "[read-limit]"
"""What is said of a file whose reading the system ended."""
MOST_BYTES = 1 << 30


class Used(NamedTuple):
    """How a program ended, what it said on standard error, and what it used with all that it started."""

    code: int
    said: str
    seconds: float
    """Of processor time."""
    bytes: int
    """Of memory, at its peak."""


def run(command: Sequence[str], folder: Path, most_seconds: float) -> Used:
    """Run a program of this checkout in a folder; it is killed after `most_seconds` of processor time."""
    with TemporaryFile() as said:
        measured = subprocess.run(
            [sys.executable, "-I", "-S", "-c", MEASURE, str(int(most_seconds) + 1), *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            check=True,
        )
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    code, seconds, bytes_ = json.loads(measured.stdout)
    return Used(code, text, seconds, bytes_)


def most_seconds(folder: Path) -> float:
    """Return the processor time that a hostile input may take here and now."""
    return MOST_REFERENCES * run([sys.executable, "-c", WORK], folder, PATIENCE).seconds


@cache
def usual_most_seconds() -> float:
    """Return what `most_seconds` was when it was first asked for."""
    return most_seconds(CHECKOUT)


def run_bomgen(arguments: Sequence[str], folder: Path) -> Used:
    """Run bomgen in a folder, and check that it keeps the bounds of time and memory and ends without a traceback."""
    usual = usual_most_seconds()
    used = run([sys.executable, "-m", "bomgen", *arguments], folder, KILLED * usual)
    # No machine becomes so much faster: only what takes long is held against a reference of the same minute.
    most = usual if used.seconds < usual / FASTER else most_seconds(folder)
    print(f"{' '.join(arguments)}: {used.seconds:.1f} s of at most {most:.1f} s, {used.bytes >> 20} MiB")
    assert "Traceback" not in used.said
    # Reading a file apart ends after so many seconds, not references: a fast processor does more than 40 in these.
    most_here = max(most, CI_SECONDS) if ENDED_BY_SECONDS in used.said else most
    assert used.seconds < most_here, used
    assert used.seconds < CI_SECONDS or not KNOWN & os.environ.keys(), used
    assert used.bytes < MOST_BYTES, used
    return used
