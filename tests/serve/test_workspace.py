"""The folder of the page: plans are saved in place, and what is none is not read, written, waited for or cut off."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from bomgen.core.yaml_source import MAX_BYTES
from bomgen.serve import calls
from bomgen.serve.calls import NO_VERSION, FileChanged, Refused, Workspace
from bomgen.serve.engine import complete
from bomgen.workflow import plan_files

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
    assert [(each["path"], each["title"]) for each in Workspace(folder).plans()[0]] == [("plan.yaml", "two words")]


@pytest.mark.parametrize(
    "path",
    [
        *("git.yaml", "hidden.yaml", "text.yaml", "con.yaml", "a\nb.yaml", "a\x1b[31m.yaml", "x\0.yaml"),
        *("", "../x.yaml", "/etc/x.yaml", "a/../../x.yaml", "x.txt", ".git/x.yaml", "a\\b.yaml", "C:x.yaml"),
    ],
)
def test_what_is_no_plan_is_neither_read_nor_written(path: str, folder: Path) -> None:
    """Paths outside, links to hidden and other files, names of devices, and characters that cannot be seen."""
    workspace = Workspace(folder)
    with pytest.raises(Refused):
        workspace.read(path)
    with pytest.raises(Refused):
        workspace.save(path, PLAN, NO_VERSION)
    with pytest.raises(Refused):
        workspace.plan_file(path, PLAN)


def test_a_link_that_leads_outside_is_refused(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It is not listed, either."""
    outside = tmp_path_factory.mktemp("outside") / "x.yaml"
    outside.write_text(PLAN, "utf-8")
    (folder / "link.yaml").symlink_to(outside)
    with pytest.raises(Refused, match="leads out"):
        Workspace(folder).read("link.yaml")
    assert [plan["path"] for plan in Workspace(folder).plans()[0]] == ["plan.yaml"]


def test_a_file_is_saved_in_place(folder: Path) -> None:
    """It then has another version; saving what is there already, as by pressing a key twice, is no conflict."""
    workspace = Workspace(folder)
    text, version = workspace.read("plan.yaml")
    assert text == PLAN
    saved = workspace.save("plan.yaml", f"{PLAN}# more\n", version)
    assert workspace.read("plan.yaml") == (f"{PLAN}# more\n", saved)
    assert workspace.save("plan.yaml", f"{PLAN}# more\n", version) == saved


@pytest.mark.parametrize("version", [NO_VERSION, "read"])
def test_what_someone_else_has_written_is_kept(folder: Path, version: str) -> None:
    """Whether the page read the file before or names a new one so."""
    workspace = Workspace(folder)
    read = workspace.read("plan.yaml")[1]
    (folder / "plan.yaml").write_text("other", "utf-8")
    with pytest.raises(FileChanged) as changed:
        workspace.save("plan.yaml", PLAN, version and read)
    assert changed.value.text == workspace.read("plan.yaml")[0] == "other"


def test_a_conflict_offers_no_text_that_the_file_has_not(folder: Path) -> None:
    """Bytes that are no UTF-8 have no text, so that nothing else is saved in their place unasked."""
    workspace = Workspace(folder)
    read = workspace.read("plan.yaml")[1]
    (folder / "plan.yaml").write_bytes("name: Müller\n".encode("latin-1"))
    with pytest.raises(FileChanged) as changed:
        workspace.save("plan.yaml", PLAN, read)
    assert changed.value.text is None
    assert workspace.save("plan.yaml", PLAN, changed.value.version) == read


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_FOLDERS"])
def test_a_list_that_is_not_whole_says_so(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it ends after so many files, or after so many folders."""
    monkeypatch.setattr(calls if limit == "MOST_FILES" else plan_files, limit, 2)
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.yaml").write_text(PLAN, "utf-8")
        plans, whole = Workspace(tmp_path).plans()
        assert whole == (len(plans) == ord(name) - ord("a") + 1), plans


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
        Workspace(tmp_path).locate("a.txt")
    assert said in refused.value.said({"language": language})


def test_the_next_number_follows_the_last_of_the_usual_scheme(tmp_path: Path) -> None:
    """The scheme of most quotes counts on, a new year begins anew, and a folder without numbers has the usual one."""
    year, plans = date.today().year, Workspace(tmp_path)
    assert plans.next_number() == f"Q-{year}-001"
    for at, number in enumerate((f"AB-{year - 1}-0217", f"AB-{year - 1}-0218", "X7")):
        text = f"bomgen: 1\nname: p{at}\ncluster: {{gpu: h100-sxm}}\nquote:\n  number: {number}\n"
        (tmp_path / f"p{at}.yaml").write_text(text, "utf-8")
    assert plans.next_number() == f"AB-{year}-001"
    (tmp_path / "p3.yaml").write_text(text.replace("X7", f"AB-{year}-0099"), "utf-8")
    assert plans.next_number() == f"AB-{year}-0100"
