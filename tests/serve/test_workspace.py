"""The folder of the page: what a stranger put there is not read, written, waited for or cut off."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bomgen.core.yaml_source import MAX_BYTES
from bomgen.serve.completion import complete
from bomgen.serve.workspace import NO_VERSION, Refused, Workspace

PLAN = "bomgen: 1\nname: 'two words'  # and a comment\ncluster: {gpu: h100-sxm, servers: 2}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with a plan, links to what is none, a pipe, and a file that is larger than a plan."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    (tmp_path / ".hidden.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "notes.txt").write_text(PLAN, encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "large.yaml").write_text(PLAN + "#" * MAX_BYTES, encoding="utf-8")
    for name, target in (("git", ".git/config"), ("hidden", ".hidden.yaml"), ("text", "notes.txt")):
        (tmp_path / f"{name}.yaml").symlink_to(target)
    os.mkfifo(tmp_path / "pipe.yaml")
    return tmp_path


def test_only_plans_are_listed(folder: Path) -> None:
    """With their titles, and without waiting for a pipe."""
    assert [(each["path"], each["title"]) for each in Workspace(folder).plans()] == [("plan.yaml", "two words")]


@pytest.mark.parametrize("path", ["git.yaml", "hidden.yaml", "text.yaml", "con.yaml", "a\nb.yaml", "a\x1b[31m.yaml"])
def test_what_is_no_plan_is_neither_read_nor_written(path: str, folder: Path) -> None:
    """Links to hidden files and files of another kind, names of devices, and characters that cannot be seen."""
    workspace = Workspace(folder)
    with pytest.raises(Refused):
        workspace.read(path)
    with pytest.raises(Refused):
        workspace.save(path, PLAN, NO_VERSION)


@pytest.mark.parametrize("path", ["pipe.yaml", "large.yaml"])
def test_a_file_that_is_not_read_whole_is_not_written(path: str, folder: Path) -> None:
    """A pipe is not waited for; the end of a large file is not lost."""
    workspace = Workspace(folder)
    with pytest.raises(OSError, match=r"regular|larger"):
        workspace.read(path)
    with pytest.raises(OSError, match=r"regular|larger"):
        workspace.save(path, PLAN, NO_VERSION)


def test_a_long_line_is_completed_at_its_end(folder: Path) -> None:
    """Half a million words before the place of the cursor cost nothing."""
    text = "x: " + "a " * 500_000
    assert complete(Workspace(folder), {"path": "a.yaml", "text": text, "line": 1, "column": len(text)})


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "'a.txt' is not a plan"),
        ("zh", "不是方案文件；文件名须以"),
        ("xx", "'a.txt' is not a plan"),
        (None, "'a.txt'"),
    ],
)
def test_a_refusal_is_said_in_the_language_of_the_page(tmp_path: Path, language: str | None, said: str) -> None:
    """English where the page has another one that is not known."""
    with pytest.raises(Refused, match="is not a plan") as refused:
        Workspace(tmp_path).place("a.txt")
    assert said in refused.value.said({"language": language})
