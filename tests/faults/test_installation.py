"""An installation that lacks a file of its own, or has a broken one: one line that names it, and no wrong result."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from children import NEW
from depth import DEEP

Change = Callable[[Path], object]
EVERYWHERE = ("check", "plan.yaml", "-q")


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer makes of the wheel: it is unpacked, with a list of its files and their digests."""
    place = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def run(packages: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program that is unpacked."""
    (folder / "plan.yaml").write_text(NEW + "quote: {language: zh}\n", encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "bomgen", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )


def emptied(path: Path) -> None:
    """A file of which nothing came to the disk."""
    path.write_bytes(b"")


def halved(path: Path) -> None:
    """A file of which only a part came to the disk, up to the end of a line: it still looks like a whole one."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))


def spoilt(path: Path) -> None:
    """A file with other bytes in it."""
    path.write_bytes(b"\xff" + path.read_bytes()[1:])


CHANGES = {"missing": Path.unlink, "empty": emptied, "half": halved, "spoilt": spoilt}
FILES = {
    "data/gpu/h100-sxm.yaml": EVERYWHERE,
    "data/switch/qm9700.yaml": EVERYWHERE,
    "data/language/zh.yaml": ("build", "plan.yaml", "-q"),
    "schemas/plan.schema.json": EVERYWHERE,
    "templates/report.html.j2": ("build", "plan.yaml", "-q"),
    "templates/quote.css": ("build", "plan.yaml", "-q"),
    "templates/starter.yaml": ("init", "begun"),
    "schemas/bom.schema.json": ("build", "plan.yaml", "-q"),
    "schemas/prices.schema.json": ("schema", "prices"),
}
QUICK = (
    ("data/gpu/h100-sxm.yaml", "half"),
    ("data/language/zh.yaml", "empty"),
    ("schemas/plan.schema.json", "spoilt"),
    ("templates/report.html.j2", "half"),
)
CASES = [(file, how) for file in FILES for how in CHANGES] if DEEP else QUICK


def test_it_is_whole(unpacked: Path, tmp_path: Path) -> None:
    """Unchanged it builds."""
    done = run(unpacked, tmp_path, "build", "plan.yaml", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("file", "how"), CASES)
def test_a_file_that_is_not_as_it_was_installed(file: str, how: str, unpacked: Path, tmp_path: Path) -> None:
    """Code 1, one line with the file and what to do, and no result that rests on what is left of it."""
    path = unpacked / "bomgen" / file
    content = path.read_bytes()
    CHANGES[how](path)
    try:
        done = run(unpacked, tmp_path, *FILES[file])
    finally:
        path.write_bytes(content)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("bomgen: the installation is broken: ")
    assert line.endswith("; install bomgen again")
    assert str(path) in line
    assert [each.name for each in tmp_path.iterdir()] == ["plan.yaml"]


def test_a_file_that_nothing_asks_for(unpacked: Path, tmp_path: Path) -> None:
    """A file that is gone is missed though no plan names it: with a part fewer another one could be chosen."""
    path = unpacked / "bomgen" / "data" / "transceiver" / "mma4z00-ns400.yaml"
    content = path.read_bytes()
    path.unlink()
    try:
        done = run(unpacked, tmp_path, *EVERYWHERE)
    finally:
        path.write_bytes(content)
    assert (1, f"bomgen: the installation is broken: there is no file {path}; install bomgen again\n") == (
        done.returncode,
        done.stderr,
    )


@pytest.mark.parametrize("gone", ["bomgen/schemas", "bomgen/output/xlsx/workbook.py"])
def test_a_part_of_the_program_that_is_gone(gone: str, unpacked: Path, tmp_path: Path) -> None:
    """A folder or a module."""
    place = unpacked / gone
    place.rename(unpacked / "aside")
    try:
        done = run(unpacked, tmp_path, "build", "plan.yaml", "-q")
    finally:
        (unpacked / "aside").rename(place)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("bomgen: the installation is broken: ")
