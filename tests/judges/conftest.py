"""Outside programs as judges of what bomgen writes.

Each plan of the checkout is built once a session. `.ci/run` installs all judges; `judging.py` says what happens where
one is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from judging import find_judge
from processor import PATIENCE

CHECKOUT = Path(__file__).parents[2]
PLANS = sorted((CHECKOUT / "plans").glob("*.yaml"))

Judge = Callable[[str], Path]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Where a judge is. One that is missing skips the test, or fails it on a continuous-integration machine."""
    return find_judge


def _without_network() -> list[str]:
    """The start of a command line that cuts the network off, where the machine lets us."""
    command = ["unshare", "--net"]
    if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
        return command
    return []


@pytest.fixture(scope="session")
def offline() -> list[str]:
    """What a command line begins with to run without network."""
    return _without_network()


@pytest.fixture(scope="session")
def run(offline: list[str]) -> Run:
    """Run a program without network, with its output as text; the exit code is the caller's to judge."""

    def start(*command: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*offline, *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            cwd=CHECKOUT,
            env={**os.environ, **(environment or {})},
            timeout=PATIENCE,
        )

    return start


@pytest.fixture(scope="session")
def quotes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of results by plan, for every plan of the checkout."""
    results = tmp_path_factory.mktemp("built")
    plans = [f"plans/{plan.name}" for plan in PLANS]
    formats = "md,html,xlsx,json,csv,cdx"
    command = [sys.executable, "-m", "bomgen.cli", "build", *plans, "-o", str(results), "-f", formats, "--root", "."]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return {plan.stem: results / plan.stem.lower() for plan in PLANS}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `plan` once for every plan of the checkout, by name."""
    if "plan" in metafunc.fixturenames:
        metafunc.parametrize("plan", [plan.stem for plan in PLANS])
