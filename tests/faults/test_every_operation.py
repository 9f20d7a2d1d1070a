"""A fault at every single operation on a file: the earlier set of files or the new one, whole, and nothing else."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from children import ENDINGS, ERRORS, NEW, OLD, Faults, Outcome, State, outcome, remember, restore, state
from depth import DEEP

from bomgen.cli.command import main
from bomgen.output.writer import UNFINISHED

FORMATS = "csv,json,svg"
"""Formats that take little time and are several files."""
MOST = 400
"""Operations that no run comes near."""
COMMANDS = {
    "build": ("build", "plan.yaml", "-q", "-f", FORMATS, "-o", "out"),
    "wiring": ("wiring", "plan.yaml", "-q", "-f", "topo", "-o", "out/fabric.topo"),
    "lock": ("lock", "plan.yaml", "-q"),
    "init": ("init", "begun", "-q"),
    "prices": ("prices", "--for", "plan.yaml", "-q", "-o", "list.csv"),
}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}


def made(work: Path, command: str, text: str) -> State:
    """What a folder holds after a command without a fault."""
    (work / "plan.yaml").write_text(text, encoding="utf-8")
    assert outcome(COMMANDS[command], work) == Outcome(0, b"", "")
    return state(work)


def swept(work: Path, command: str, earlier: bool, fault: int, for_good: bool = False) -> Iterator[tuple[int, Outcome]]:
    """Run a command with a fault at its first operation, at its second (every day at its fourth), while there is one.

    The folder is as it was before each run, with or without earlier results, and holds what the run left afterwards.
    """
    if earlier:
        made(work, command, OLD)
    (work / "plan.yaml").write_text(NEW, encoding="utf-8")
    before = state(work)
    for at in range(1, MOST, 1 if DEEP else 3):
        restore(work, before)
        faults = Faults(work, at, fault, fault in CODES, for_good)
        done = outcome(COMMANDS[command], work, faults.arm)
        if not faults.happened:
            assert at > 10
            return
        yield at, done
    raise AssertionError("no end")


@pytest.fixture(scope="module", autouse=True)
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What both plans come to is worked out before the first child."""
    with pytest.MonkeyPatch.context() as patch:
        remember(patch)
        patch.chdir(tmp_path_factory.mktemp("known"))
        for text in (OLD, NEW):
            Path("plan.yaml").write_text(text, encoding="utf-8")
            for words in COMMANDS.values():
                with suppress(SystemExit, click.UsageError):
                    main.main(list(words), standalone_mode=False)
        yield


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder that a command runs in."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def sets(work: Path, command: str, earlier: bool) -> tuple[State, State]:
    """What the folder holds before and after a command to which nothing happens."""
    if earlier:
        made(work, command, OLD)
    (work / "plan.yaml").write_text(NEW, encoding="utf-8")
    before = state(work)
    after = made(work, command, NEW)
    restore(work, {})
    return before, after


QUICK = [("build", True), ("init", False)]
"""Commands, each with or without results of an earlier run."""
ALL = [(command, earlier) for command in COMMANDS for earlier in (True, False) if (command, earlier) != ("init", True)]
CASES = pytest.mark.parametrize(("command", "earlier"), ALL if DEEP else QUICK)


@CASES
@pytest.mark.parametrize("error", ERRORS if DEEP else ["no space"])
def test_an_error_at_every_operation(command: str, earlier: bool, error: str, work: Path) -> None:
    """Either the earlier files are there, with exit code 3 and one line, or the new ones, and nothing is left over."""
    before, after = sets(work, command, earlier)
    for at, done in swept(work, command, earlier, ERRORS[error]):
        left = {name: content for name, content in state(work).items() if UNFINISHED not in name}
        if done.code == 0:  # what could not be locked, or taken away
            assert (after, "") == (left, done.said), at
        else:
            assert before == state(work), at
            assert done.code == 3, (at, done)
            assert len(done.said.splitlines()) == 1, (at, done)
            assert done.said.startswith("bomgen: not written: "), (at, done)
            assert UNFINISHED not in done.said, (at, done)


@CASES
@pytest.mark.parametrize("ending", [name for name in ENDINGS if name != "kill"] if DEEP else ["interrupt"])
def test_a_signal_at_every_operation(command: str, earlier: bool, ending: str, work: Path) -> None:
    """Either set is whole, nothing is left over, and the exit code says which signal it was."""
    before, after = sets(work, command, earlier)
    seen = set()
    for at, done in swept(work, command, earlier, ENDINGS[ending]):
        left = state(work)
        assert left in (before, after), at
        seen.add(left == after)
        assert CODES[ENDINGS[ending]] == done.code, (at, done)
        assert done.said in ("", "Interrupted\n"), (at, done)
    assert {True, False} == seen


@pytest.mark.parametrize(("command", "earlier"), ALL if DEEP else QUICK[:1])
def test_an_end_at_every_operation(command: str, earlier: bool, work: Path) -> None:
    """Whatever is killed, each file is whole, the old one or the new one; the next run clears what is left over."""
    before, after = sets(work, command, earlier)
    for at, done in swept(work, command, earlier, signal.SIGKILL):
        assert done.code == -signal.SIGKILL
        left = {name: content for name, content in state(work).items() if UNFINISHED not in name}
        for name, content in left.items():
            assert content in [each[name] for each in (before, after) if name in each], (at, name)
        assert before.keys() <= left.keys(), at
        if "begun.yaml" not in left:
            assert outcome(COMMANDS[command], work)[::2] == (0, ""), at
        assert after == {name: content for name, content in state(work).items() if UNFINISHED not in name}, at
        if command != "init":
            assert after == state(work), at


@pytest.mark.deep
@pytest.mark.parametrize("error", ERRORS)
def test_a_disk_that_goes_for_good(error: str, work: Path) -> None:
    """Nothing works from an operation on: what cannot be put back is named, and every file is whole."""
    before, after = sets(work, "build", True)
    for at, done in swept(work, "build", True, ERRORS[error], for_good=True):
        left = {name: content for name, content in state(work).items() if UNFINISHED not in name}
        for name, content in left.items():
            assert content in (before.get(name), after.get(name)), (at, name)
        assert len(done.said.splitlines()) <= 1, (at, done)
        if done.code == 0:
            assert after == left
        elif left != before:
            assert done.code == 3
            mixed = done.said.partition("could not be put back as it was: ")[2]
            assert mixed, (at, done)
