"""What README.md and pages of docs/ show is what happens: their commands are run and their output compared."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from blocks import Step, Written, blocks, changed, commands, matches, run, run_in_process

CHECKOUT = Path(__file__).parents[2]
WALKED = {"tutorial.md", "extending.md", "parts.md"}
"""Pages whose blocks rest on each other, and which tests of their own walk through."""
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((CHECKOUT / "docs").glob("*.md"))))
PAGES_OF_ROLES = tuple(f"docs/{role}.md" for role in ("sellers", "engineers", "buyers", "planners"))
COPIED = ("plans", "prices", "parts", "schemas")
"""What the commands work on, as far as the checkout has it."""
APART = re.compile(r"[|&;<>$*?~`]|--help")
"""What only a shell understands, and help, whose width click sets itself: commands that have a process of their own."""


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE))


BLOCKS = [
    (page, steps)
    for page in PAGES
    if Path(page).name not in WALKED
    for steps in commands((CHECKOUT / page).read_text("utf-8"))
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """For each page a copy of what its commands work on; later blocks of a page see what earlier ones wrote."""

    @cache
    def of(page: str) -> Path:
        place = tmp_path_factory.mktemp(Path(page).stem)
        for name in COPIED:
            if (CHECKOUT / name).is_dir():
                shutil.copytree(CHECKOUT / name, place / name)
        (place / ".venv").symlink_to(sys.prefix)
        (place / ".git").mkdir()  # a checkout: paths of a plan may lead to its root
        return place

    return of


def test_readme_and_pages_of_roles_have_commands() -> None:
    """The README shows commands, and the pages of the roles the rest."""
    pages = [page for page, _ in BLOCKS]
    assert pages.count("README.md") > 1
    assert sum(page in PAGES_OF_ROLES for page in pages) > 15


@pytest.mark.parametrize(("page", "steps"), BLOCKS, ids=[f"{page}-line-{steps[0].line}" for page, steps in BLOCKS])
def test_commands_print_what_is_shown(page: str, steps: list[Step], folders: Callable[[str], Path]) -> None:
    """The commands of a block print what the block shows; of a `make` command the target exists."""
    for step in steps:
        words = shlex.split(step.command, comments=True)
        if words[:1] == ["make"]:
            assert {word for word in words[1:] if "=" not in word and not word.startswith("-")} <= _targets(), page
        elif words[:1] in (["bomgen"], [".venv/bin/bomgen"]) and not APART.search(step.command):
            run_in_process(step, words, folders(page))
        elif words[:1] != ["cd"] and words[:2] != ["git", "clone"]:
            run(step, folders(page), sysconfig.get_path("scripts"))


def test_reading_of_blocks() -> None:
    """Commands, their continuation lines and their output are told apart; files have titles; others are left alone."""
    text = "a\n```console\n$ one \\\n> two\nout\n...\n$ three\n```\n```yaml\n$ no\n```\n```sh\nplain\n```\n"
    assert list(blocks(text)) == [[Step(3, "one two", ("out", "...")), Step(7, "three", ())]]
    assert list(blocks('```yaml title="a.yaml"\na: 1\n```\n')) == [Written(2, "a.yaml", "yaml", "a: 1\n")]


def test_changes_of_files(tmp_path: Path) -> None:
    """A file is written, added to and changed."""
    Written(1, "a/b.txt", "text", "one\ntwo\n").take(tmp_path)
    Written(1, "a/b.txt, at the end", "text", "three\n").take(tmp_path)
    Written(1, "a/b.txt", "diff", "-two\n+2\n").take(tmp_path)
    assert (tmp_path / "a" / "b.txt").read_text("utf-8") == "one\n2\nthree\n"
    with pytest.raises(AssertionError):
        changed("one\none\n", "-one\n+1\n")


def test_comparison_of_output() -> None:
    """Three dots stand for any lines or any part of a line, everything else for itself."""
    assert matches(("a", "...", "d"), ["a", "b", "c", "d"])
    assert matches(("a ... d",), ["a b c d"])
    assert matches(("...",), [])
    assert not matches(("a",), ["a", "b"])
    assert not matches(("a", "...", "d"), ["a", "b"])
    assert not matches((), ["a"])
