"""What a program uses of processor and memory, and what a known amount of work takes on this machine at the moment.

A busy machine lends a program less of its processor, and shares caches and clock: seconds mean something only beside a
reference that is measured in the same minute.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
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
MOST_REFERENCES = 40
"""References that any input may take: the 20 s of docs/limits.md on a machine that does one in half a second."""
CI_SECONDS = 20
"""The bound itself, held where the machine is known."""
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
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = int(most_seconds) + 1 if hard == resource.RLIM_INFINITY else min(int(most_seconds) + 1, hard)
    with TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return Used(process.returncode, text, used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def most_seconds(folder: Path) -> float:
    """Return the processor time that a hostile input may take here and now."""
    return MOST_REFERENCES * run([sys.executable, "-c", WORK], folder, PATIENCE).seconds


def run_bomgen(arguments: Sequence[str], folder: Path) -> Used:
    """Run bomgen in a folder, and check that it keeps the bounds of time and memory and ends without a traceback."""
    before = most_seconds(folder)
    used = run([sys.executable, "-m", "bomgen.cli", *arguments], folder, 4 * before)
    # Whatever made the machine slow may have begun in between.
    most = before if used.seconds < before else max(before, most_seconds(folder))
    print(f"{' '.join(arguments)}: {used.seconds:.1f} s of at most {most:.1f} s, {used.bytes >> 20} MiB")
    assert "Traceback" not in used.said
    assert used.seconds < most, used
    assert used.seconds < CI_SECONDS or not os.environ.get("CI"), used
    assert used.bytes < MOST_BYTES, used
    return used
