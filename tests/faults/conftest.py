"""Disks of the size that a test needs, and the program started from a shell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from children import Outcome
from judging import skip_or_fail

CHECKOUT = Path(__file__).parents[2]
Disk = Callable[[str], Path]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk in memory, mounted with options, and mounted anew with others when it is asked for again.

    Mounting takes root; elsewhere the test is skipped, and fails on a continuous-integration machine.
    """
    place = tmp_path / "disk"

    def mounted(options: str) -> Path:
        there = place.is_mount()
        place.mkdir(exist_ok=True)
        how = ["-o", f"remount,{options}"] if there else ["-t", "tmpfs", "-o", options, "tmpfs"]
        done = subprocess.run(["mount", *how, place], capture_output=True, text=True, check=False)
        if done.returncode:
            message = f"no disk can be mounted here: {done.stderr.strip()}; it takes root"
            skip_or_fail(message)
        return place

    yield mounted
    if place.is_mount():
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def bomgen() -> Callable[..., Outcome]:
    """Run the installed program in a folder from a shell, with redirections of the shell."""

    def run(arguments: str, folder: Path, redirected: str = "", before: str = "", **environment: str) -> Outcome:
        line = f"{before} exec {sys.executable} -m bomgen {arguments} {redirected}"
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=folder,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
        )
        return Outcome(done.returncode, done.stdout, done.stderr.decode())

    return run
