"""Outside programs as judges of what bomgen writes.

Each plan of the checkout is built once a session. A judge that is not installed skips its tests on a user's machine
and fails them where the environment says CI; `.ci/run` installs all of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PLANS = sorted((CHECKOUT / "plans").glob("*.yaml"))
NODE_MODULES = CHECKOUT / ".ci" / "node_modules"
TIMEOUT = 300

Judge = Callable[[str], Path]
Run = Callable[..., subprocess.CompletedProcess[str]]


def _installed(name: str) -> Path | None:
    """Where a judge lies: a program, `npm:PACKAGE`, `python:MODULE` or `ci:FOLDER`."""
    kind, _, rest = name.rpartition(":")
    if kind == "ci":
        return place if (place := CHECKOUT / ".ci" / rest).is_dir() else None
    if kind == "npm":
        place = NODE_MODULES / rest
        return place if place.exists() and shutil.which("node") else None
    if kind == "python":
        found = find_spec(rest)
        return Path(found.origin) if found and found.origin else None
    program = shutil.which(rest)
    return Path(program) if program else None


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Where a judge lies. One that is missing skips the test, or fails it on a continuous-integration machine."""

    def find(name: str) -> Path:
        place = _installed(name)
        if place is None:
            message = f"the judge {name} is not installed; .ci/run installs it on Debian"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        return place

    return find


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
            timeout=TIMEOUT,
        )

    return start


@pytest.fixture(scope="session")
def quotes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of results by plan, for every plan of the checkout."""
    results = tmp_path_factory.mktemp("built")
    plans = [f"plans/{plan.name}" for plan in PLANS]
    formats = "md,html,xlsx,json,csv,cdx"
    command = [sys.executable, "-m", "bomgen.cli", "build", *plans, "-o", str(results), "-f", formats, "--root", "."]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return {plan.stem: results / plan.stem.lower() for plan in PLANS}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `plan` once for every plan of the checkout, by name."""
    if "plan" in metafunc.fixturenames:
        metafunc.parametrize("plan", [plan.stem for plan in PLANS])
