"""An environment of its own that holds bomgen, as a user installs it; without network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Installation:
    """An environment of its own that holds bomgen, and a folder outside the checkout to work in."""

    kind: str
    programs: Path
    packages: Path
    work: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its programs: none that lead Python to the checkout."""
        return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment in the work folder; its standard output."""
        done = subprocess.run(
            [self.programs / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.work,
            env=self.environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _run(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stdout + done.stderr


def wheel_in(folder: Path) -> Path:
    """The wheel built from the checkout."""
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", folder)
    [path] = folder.glob("*.whl")
    return path


def editable_in(folder: Path) -> Path:
    """The wheel that an editable install makes: it points at the checkout."""
    _run(sys.executable, "-c", f"from hatchling.build import build_editable; build_editable({str(folder)!r})")
    [path] = folder.glob("*.whl")
    return path


def installed(kind: str, wheel: Path, place: Path) -> Installation:
    """A fresh environment with a wheel installed; what bomgen depends on is lent by the environment of the tests."""
    environment = place / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    _run(*pip, "install", "--no-deps", "--no-index", wheel)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    # Only after the install, so that pip never sees the bomgen that is lent too; .pth files in there are not followed.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    work = place / "work"
    work.mkdir()
    return Installation(kind, environment / "bin", packages, work)
