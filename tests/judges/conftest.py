"""Outside programs as judges of what bomgen writes.

Each plan is built once a session, and its workbooks are saved by LibreOffice once, whatever the number of workers.
`.ci/run` installs all judges; `judging.py` says what happens where one is missing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from depth import DEEP, JUDGED_PLANS
from judging import Judge
from processor import PATIENCE

CHECKOUT = Path(__file__).parents[2]
PLANS = [path for path in sorted((CHECKOUT / "plans").glob("*.yaml")) if DEEP or path.stem in JUDGED_PLANS]

Run = Callable[..., subprocess.CompletedProcess[str]]
Resave = Callable[[Path, Path], None]
ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Misc">
<prop oor:name="FirstRun" oor:op="fuse"><value>false</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""


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
def resave(judge: Judge, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Resave:
    """Have LibreOffice recalculate the workbooks of a folder and save them into another, in one start."""
    soffice = judge("soffice")

    def save(source: Path, target: Path) -> None:
        profile = tmp_path_factory.mktemp("profile")
        (profile / "user").mkdir()
        (profile / "user" / "registrymodifications.xcu").write_text(ALWAYS_RECALCULATE, encoding="utf-8")
        done = run(
            soffice,
            f"-env:UserInstallation=file://{profile}",
            *("--headless", "--norestore", "--nologo", "--nodefault", "--nofirststartwizard"),
            *("--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", target),
            *sorted(source.iterdir()),
            environment={"HOME": str(profile)},
        )
        assert done.returncode == 0, done.stderr
        assert len(list(target.iterdir())) == len(list(source.iterdir())), done.stderr

    return save


def _made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first worker which asks for it fills, and the others wait for."""
    place = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / name).exists():
            unfinished = factory.mktemp(name)
            make(unfinished)
            unfinished.rename(place / name)
    return place / name


@pytest.fixture(scope="session")
def quotes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of results by plan, for every plan that is judged."""

    def build(results: Path) -> None:
        plans = [f"plans/{plan.name}" for plan in PLANS]
        formats = "md,html,xlsx,json,csv,cdx"
        command = [sys.executable, "-m", "bomgen", "build", *plans, "-o", str(results), "-f", formats]
        command += ["--root", "."]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr

    built = _made_once(tmp_path_factory, "built", build)
    return {plan.stem: built / plan.stem.lower() for plan in PLANS}


@pytest.fixture(scope="session")
def resaved(quotes: dict[str, Path], resave: Resave, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both workbooks as LibreOffice saves them, PLAN.report and PLAN.quote, for every plan that is judged."""

    def save(target: Path) -> None:
        source = tmp_path_factory.mktemp("workbooks")
        for plan, folder in quotes.items():
            for workbook in folder.glob("*.xlsx"):
                shutil.copy(workbook, source / f"{plan}.{workbook.name}")
        resave(source, target)

    saved = _made_once(tmp_path_factory, "saved", save)
    return {f"{plan}.{kind}": saved / f"{plan}.{kind}.xlsx" for plan in quotes for kind in ("report", "quote")}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `plan` once for every plan that is judged, all of a plan before the next."""
    if "plan" in metafunc.fixturenames:
        metafunc.parametrize("plan", [plan.stem for plan in PLANS], scope="module")
