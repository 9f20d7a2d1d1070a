"""Mutants are given to the tests that reach their lines today, and to none while the tests fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from freshness import TIMES, measured_anew

ROOM, TEST = Path("bomgen/fabric/tree.py"), Path("tests/fabric/test_tree.py")


class Tests:
    """A run of the tests that ends with an exit code, and writes times as pytest does, also when tests fail."""

    __test__ = False

    def __init__(self, exit_code: int = 0) -> None:
        self.exit_code, self.runs = exit_code, 0

    def __call__(self, _root: Path, build: Path) -> int:
        """The exit code."""
        self.runs += 1
        build.mkdir(exist_ok=True)
        (build / TIMES).write_text("<testsuites/>", encoding="utf-8")
        return self.exit_code


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one room and one test."""
    for path in (ROOM, TEST):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x = 1\n", encoding="utf-8")
    return tmp_path


def test_what_was_measured_is_measured_once(checkout: Path) -> None:
    """A run that was interrupted goes on without the tests."""
    tests = Tests()
    assert [measured_anew(checkout, checkout / "build", tests) for _ in range(2)] == [True, True]
    assert tests.runs == 1


def test_tests_that_fail_are_run_again(checkout: Path) -> None:
    """Their times are no measurement, however often one tries."""
    tests = Tests(exit_code=1)
    assert [measured_anew(checkout, checkout / "build", tests) for _ in range(2)] == [False, False]
    assert (tests.runs, (checkout / "build" / TIMES).exists()) == (2, False)


EDITS: dict[str, Callable[[Path], object]] = {
    "room": lambda root: (root / ROOM).write_text("\nx = 1\n", encoding="utf-8"),
    "test": lambda root: (root / TEST).write_text("y = 1\n", encoding="utf-8"),
    "new-test": lambda root: (root / TEST).with_name("test_other.py").touch(),
    "renamed": lambda root: (root / ROOM).rename((root / ROOM).with_name("other.py")),
    "times-removed": lambda root: (root / "build" / TIMES).unlink(),
}


@pytest.mark.parametrize("edit", [pytest.param(edit, id=name) for name, edit in EDITS.items()])
def test_after_an_edit_it_is_measured_anew(edit: Callable[[Path], object], checkout: Path) -> None:
    """Old numbers of lines would choose the wrong tests; failing tests are not passed over either."""
    passing, failing = Tests(), Tests(exit_code=1)
    assert measured_anew(checkout, checkout / "build", passing)
    edit(checkout)
    assert not measured_anew(checkout, checkout / "build", failing)
    assert measured_anew(checkout, checkout / "build", passing)
    assert passing.runs == 2


def test_survivors_are_explained_without_another_run(checkout: Path) -> None:
    """What stands beside the tool is no test of a room."""
    tests = Tests()
    assert measured_anew(checkout, checkout / "build", tests)
    (checkout / "tests" / "tools" / "mutation").mkdir(parents=True)
    (checkout / "tests" / "tools" / "mutation" / "survivors.yaml").write_text("a: b\n", encoding="utf-8")
    assert measured_anew(checkout, checkout / "build", tests)
    assert tests.runs == 1
