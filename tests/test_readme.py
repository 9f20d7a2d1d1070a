"""What README.md and pages of docs/ show is what happens: their commands are run and their output compared."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
README = (CHECKOUT / "README.md").read_text("utf-8")
PAGES = ("README.md", "docs/wiring.md", "docs/templates.md", "docs/quote.md", "docs/prices.md", "docs/shell.md")
EMPTY_UP_TO = 20
"""A README of at most so many lines is not written yet."""
COPIED = ("plans", "prices", "parts", "schemas")
"""What the commands work on, as far as the checkout has it."""
FENCE = re.compile(r"^```(?:console|sh)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
ANYTHING = "..."


@dataclass(frozen=True)
class Step:
    """A command of the README and the lines shown below it."""

    line: int
    """Of its page."""
    command: str
    shown: tuple[str, ...]


def _blocks(text: str) -> list[list[Step]]:
    """The steps of every block that has commands. A command goes on after a backslash at its end."""
    blocks = []
    for block in FENCE.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        steps: list[Step] = []
        continued = False
        for number, line in enumerate(block[1].splitlines(), start=first):
            if continued or line.startswith("$ "):
                if not continued:
                    steps.append(Step(number, "", ()))
                part = re.sub(r"^> ?", "", line) if continued else line[2:]
                continued = part.endswith("\\")
                steps[-1] = replace(steps[-1], command=steps[-1].command + part.removesuffix("\\"))
            elif steps:
                steps[-1] = replace(steps[-1], shown=(*steps[-1].shown, line))
        if steps:
            blocks.append(steps)
    return blocks


def _matches(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Whether printed lines are those shown, `...` alone on a line standing for any lines, within one for any text."""
    pattern = ""
    for line in shown:
        if line.strip() == ANYTHING:
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*".join(map(re.escape, line.rstrip().split(ANYTHING))) + r"[ \t]*\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def _stripped(lines: list[str]) -> list[str]:
    """Lines without empty ones at the end."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (CHECKOUT / "Makefile").read_text("utf-8"), re.MULTILINE))


BLOCKS = [(page, steps) for page in PAGES for steps in _blocks((CHECKOUT / page).read_text("utf-8"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the commands work on; later blocks see what earlier ones wrote."""
    place = tmp_path_factory.mktemp("readme")
    for name in COPIED:
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, place / name)
    (place / ".venv").symlink_to(sys.prefix)
    (place / ".git").mkdir()  # a checkout: paths of a plan may lead to its root
    return place


def test_readme_has_commands() -> None:
    """A README that has been written shows commands."""
    assert BLOCKS or len(README.splitlines()) <= EMPTY_UP_TO


@pytest.mark.parametrize(("page", "steps"), BLOCKS, ids=[f"{page}-line-{steps[0].line}" for page, steps in BLOCKS])
def test_commands_print_what_is_shown(page: str, steps: list[Step], folder: Path) -> None:
    """The commands of a block print what the block shows; of a `make` command the target exists."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    for step in steps:
        words = shlex.split(step.command, comments=True)
        if words[:1] == ["make"]:
            assert {word for word in words[1:] if "=" not in word and not word.startswith("-")} <= _targets(), (
                step.command
            )
            continue
        if words[:1] == ["cd"] or words[:2] == ["git", "clone"]:
            continue
        done = subprocess.run(
            ["bash", "-c", step.command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=folder,
            env=environment,
            timeout=120,
        )
        printed = _stripped(done.stdout.splitlines())
        shown = _stripped(list(step.shown))
        assert _matches(tuple(shown), printed), f"{page}:{step.line}: $ {step.command}\n" + "\n".join(printed)


def test_reading_of_blocks() -> None:
    """Commands, their continuation lines and their output are told apart; other blocks are left alone."""
    text = "a\n```console\n$ one \\\n> two\nout\n...\n$ three\n```\n```yaml\n$ no\n```\n```sh\nplain\n```\n"
    assert _blocks(text) == [[Step(3, "one two", ("out", "...")), Step(7, "three", ())]]


def test_comparison_of_output() -> None:
    """Three dots stand for any lines or any part of a line, everything else for itself."""
    assert _matches(("a", "...", "d"), ["a", "b", "c", "d"])
    assert _matches(("a ... d",), ["a b c d"])
    assert _matches(("...",), [])
    assert not _matches(("a",), ["a", "b"])
    assert not _matches(("a", "...", "d"), ["a", "b"])
    assert not _matches((), ["a"])
