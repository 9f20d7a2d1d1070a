"""`bomgen wiring --from OLD` as an installer and a script see it."""

from __future__ import annotations

import csv
import subprocess
from collections import Counter
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner, Result

from bomgen.cli.command import main

PLAN = """bomgen: 1
name: grows
cluster: {gpu: h100-sxm, servers: SERVERS}
fabrics:
  compute: {topology: fat-tree, switch: qm9700, build_out: full}
"""
OLD, NEW = "64", "128"
WORK = {"keep": 768, "move": 256, "add": 1024}
"""512 of the 512 links of servers stay, and 256 of the 512 above them; the other 256 move. As many again are new."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan of today and a larger one, in the current folder."""
    for name, servers in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.yaml").write_text(PLAN.replace("SERVERS", servers), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def run(*arguments: str) -> Result:
    """The outcome of the command, which is never a traceback."""
    outcome = CliRunner().invoke(main, ["wiring", *arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), repr(outcome.exception)
    return outcome


def actions(path: Path) -> dict[str, int]:
    """How many cables of a CSV are kept, moved, added and removed."""
    return dict(Counter(row["action"] for row in csv.DictReader(path.read_text("utf-8").splitlines())))


def test_a_list_of_work_says_what_to_do_with_every_cable(folder: Path) -> None:
    """From plan to plan, and from a revision of the plan."""
    assert run("new.yaml", "--from", "old.yaml", "-o", "work.csv").exit_code == 0
    assert actions(folder / "work.csv") == WORK
    for words in (
        ["init", "-q"],
        ["add", "old.yaml"],
        ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], check=True, cwd=folder)
    assert run("new.yaml", "--from", "HEAD:old.yaml", "-o", "again.csv").exit_code == 0
    assert (folder / "again.csv").read_bytes() == (folder / "work.csv").read_bytes()


@pytest.mark.parametrize(("language", "words"), [("en", ("move", "A port today")), ("zh", ("改接", "A 端现端口"))])
def test_the_workbook_has_the_work_in_words(folder: Path, language: str, words: tuple[str, str]) -> None:
    """What is to be done, and where a cable is today, in the language of the plan."""
    for name in ("old", "new"):
        path = folder / f"{name}.yaml"
        path.write_text(f"{path.read_text('utf-8')}quote: {{language: {language}}}\n", "utf-8")
    assert run("new.yaml", "--from", "old.yaml", "-f", "xlsx", "-o", "work.xlsx").exit_code == 0
    book = openpyxl.load_workbook(folder / "work.xlsx", read_only=True)
    rows = list(book["compute"].iter_rows(values_only=True))
    head = list(rows[0])
    assert words[1] in head
    assert Counter(row[1] for row in rows[1:])[words[0]] == WORK["move"]
    assert len(rows) - 1 == sum(WORK.values())


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (None, 2, "cannot read 'old.yaml'"),
        ("bomgen: 1\nname: x\ncluster: {gpu: nope, servers: 1}\n", 1, "old.yaml:3:16"),
    ],
)
def test_a_plan_of_today_that_is_none(folder: Path, text: str | None, code: int, said: str) -> None:
    """What is wrong with OLD is said at its place, and nothing is written."""
    path = folder / "old.yaml"
    path.unlink()
    if text is not None:
        path.write_text(text, "utf-8")
    outcome = run("new.yaml", "--from", "old.yaml", "-o", "work.csv")
    assert (outcome.exit_code, said in outcome.output) == (code, True), outcome.output
    assert not (folder / "work.csv").exists()


def test_the_work_of_one_fabric(folder: Path) -> None:
    """`--fabric` lists the work of that fabric alone, in the order and with the labels of the whole list."""
    for path in folder.glob("*.yaml"):
        path.write_text(path.read_text("utf-8") + "  storage: {switch: qm9700, ports_per_server: 2}\n", "utf-8")
    assert run("new.yaml", "--from", "old.yaml", "-o", "all.csv").exit_code == 0
    for fabric in ("compute", "storage"):
        assert run("new.yaml", "--from", "old.yaml", "--fabric", fabric, "-o", "one.csv").exit_code == 0
        every, one = (
            list(csv.DictReader((folder / name).read_text("utf-8").splitlines())) for name in ("all.csv", "one.csv")
        )
        assert one == [row for row in every if row["fabric"] == fabric]
        assert {row["action"] for row in one} >= {"keep", "move", "add"}


def test_sheets_keep_the_order_over_all_fabrics(folder: Path) -> None:
    """Each fabric has one sheet, whose first column numbers the rows as the CSV has them."""
    for path in folder.glob("*.yaml"):
        path.write_text(path.read_text("utf-8") + "  storage: {switch: qm9700, ports_per_server: 2}\n", "utf-8")
    assert run("new.yaml", "--from", "old.yaml", "-o", "work.csv").exit_code == 0
    assert run("new.yaml", "--from", "old.yaml", "-f", "xlsx", "-o", "work.xlsx").exit_code == 0
    labels = [row["label"] for row in csv.DictReader((folder / "work.csv").read_text("utf-8").splitlines())]
    book = openpyxl.load_workbook(folder / "work.xlsx", read_only=True)
    assert book.sheetnames[1:] == ["compute", "storage"]
    numbered = dict[object, object]()
    for fabric in book.sheetnames[1:]:
        head, *rows = book[fabric].iter_rows(values_only=True)
        numbered |= {row[0]: row[head.index("Label")] for row in rows}
    assert [numbered[number] for number in range(1, len(labels) + 1)] == labels
