"""Where the processes that bomgen starts find modules and programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bomgen.core import jobs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("entry", ["", ".", "HERE", "LINK", "SCRIPT"])
def test_a_folder_of_plans_is_not_imported_from(entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, whatever it is called, and the folder of the script are left out; all else stays in order."""
    here, scripts = tmp_path / "here", tmp_path / "scripts"
    here.mkdir()
    (tmp_path / "link").symlink_to(here)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(scripts / "run.py"), raising=False)
    named = {"HERE": str(here), "LINK": str(tmp_path / "link"), "SCRIPT": str(scripts)}.get(entry, entry)
    monkeypatch.setattr(sys, "path", ["/first", named, "/last"])
    assert jobs.import_path() == ["/first", "/last"]


def test_the_folder_of_bomgen_is_imported_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout bomgen itself comes from the current folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", "/last"])
    assert jobs.import_path() == [str(ROOT), "/last"]


def test_programs_are_those_of_full_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an empty nor a relative entry of PATH, nor a file that nobody may run, is a program."""
    monkeypatch.chdir(tmp_path)
    for folder, mode in (("relative", 0o755), ("plain", 0o644), ("full", 0o755)):
        place = tmp_path / folder / "tool"
        place.parent.mkdir()
        place.write_text("#!/bin/sh\n", "utf-8")
        place.chmod(mode)
    (tmp_path / "tool").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(("", "relative", str(tmp_path / "plain"), str(tmp_path / "full"))))
    assert jobs.find_program("tool") == str(tmp_path / "full" / "tool")
    with pytest.raises(FileNotFoundError):
        jobs.find_program("another")
