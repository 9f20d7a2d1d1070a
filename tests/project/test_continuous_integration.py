"""What continuous integration runs: the README's commands in a bare root, and each other test once outside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CHECKOUT = TESTS.parent
sys.path.append(str(TESTS / "everywhere"))
from bare import commands  # noqa: E402

INSTALLING = ("apt-get", "dpkg-query", "npm", "node")
"""Programs of `.ci/run` that install something, or say that it is there."""
SKIPPING = re.compile(r"\b(?:pytest\.skip\(|importorskip|skip_or_fail|find_judge)")
MAKE = """#!/bin/sh
for target; do
  test "$target" = "$FAILING" && exit 2
  case $target in bare|judged) seq --format '%g.50s call     tests/test_any.py::test' 15;; esac
done
"""


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_commands_of_a_readme_are_found(name: str) -> None:
    """As they stand there, with what is said of them."""
    found = commands((CHECKOUT / name).read_text("utf-8"))
    assert [line.partition("#")[0].strip() for line in found] == ["make build", "make test"]


@pytest.mark.parametrize(("failing", "passes"), [("", True), ("bare", False), ("judged", False)])
def test_each_part_must_pass(failing: str, passes: bool, tmp_path: Path) -> None:
    """No bare root is a failure, too, and the rest runs all the same. The slowest tests of both are told."""
    programs, ci = tmp_path / "bin", tmp_path / ".ci"
    programs.mkdir()
    (ci / "node_modules").mkdir(parents=True)
    shutil.copy(CHECKOUT / ".ci" / "run", ci)
    (ci / "package-lock.json").touch()
    for program in INSTALLING:
        (programs / program).write_text("#!/bin/sh\n", encoding="utf-8")
    (programs / "make").write_text(MAKE, encoding="utf-8")
    for program in programs.iterdir():
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "FAILING": failing}
    done = subprocess.run(
        ["bash", ci / "run"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) is passes, done.stderr
    slowest = done.stdout.partition("slowest twenty tests")[2].splitlines()[1:-2]
    assert slowest[0].startswith("15.50s")
    assert len(slowest) == (20 if passes else 15)


def test_what_is_skipped_in_the_bare_root_runs_outside(request: pytest.FixtureRequest) -> None:
    """A test that may be skipped says so by its fixture, which marks it `judged`, or is marked `long`."""
    own, marking = Path(__file__), request.config.pluginmanager.getplugin(str(TESTS / "conftest.py"))
    assert [
        place
        for path in sorted(TESTS.rglob("*.py"))
        if not (place := path.relative_to(TESTS).as_posix()).startswith((*marking.LONG, "judging.py", "conftest.py"))
        if path != own and SKIPPING.search(path.read_text("utf-8"))
    ] == []
