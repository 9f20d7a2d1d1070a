"""Blocks of a page as a reader takes them: commands with what they print, files to write, lines to change."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from click.testing import CliRunner
from processor import PATIENCE

from bomgen.cli.command import main

FENCE = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```\s*$", re.M | re.S)
SHELLS = ("console", "sh")
AT_END = ", at the end"
"""Behind the title of a block whose lines are added to a file."""
ANYTHING = "..."


@dataclass(frozen=True)
class Step:
    """A command of a page and the lines shown below it."""

    line: int
    """Of its page."""
    command: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """What a reader does to a file: writes it, adds lines to its end, or changes lines."""

    line: int
    file: str
    language: str
    text: str

    def take(self, folder: Path) -> None:
        """Do it."""
        name = self.file.removesuffix(AT_END)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        before = place.read_text("utf-8") if place.is_file() else ""
        if self.language == "diff":
            place.write_text(changed(before, self.text), "utf-8")
        else:
            place.write_text(before + self.text if name != self.file else self.text, "utf-8")


def changed(text: str, lines: str) -> str:
    """A text with the lines behind `-`, which it must have once, replaced by those behind `+`."""
    old = "".join(f"{line[1:]}\n" for line in lines.splitlines() if line.startswith("-"))
    new = "".join(f"{line[1:]}\n" for line in lines.splitlines() if line.startswith("+"))
    assert text.count(old) == 1, f"once in the file: {old}"
    return text.replace(old, new)


def blocks(text: str) -> Iterator[list[Step] | Written]:
    """The blocks of a page that ask the reader for something, in their order."""
    for block in FENCE.finditer(text):
        first = text.count("\n", 0, block.start("text")) + 1
        if block["title"]:
            yield Written(first, block["title"], block["language"], block["text"])
        elif block["language"] in SHELLS and (steps := _steps(block["text"], first)):
            yield steps


def commands(text: str) -> list[list[Step]]:
    """The steps of every block that has commands."""
    return [each for each in blocks(text) if isinstance(each, list)]


def _steps(text: str, first: int) -> list[Step]:
    """The steps of a block. A command goes on after a backslash at its end."""
    steps: list[Step] = []
    continued = False
    for number, line in enumerate(text.splitlines(), start=first):
        if continued or line.startswith("$ "):
            if not continued:
                steps.append(Step(number, "", ()))
            part = re.sub(r"^> ?", "", line) if continued else line[2:]
            continued = part.endswith("\\")
            steps[-1] = replace(steps[-1], command=steps[-1].command + part.removesuffix("\\"))
        elif steps:
            steps[-1] = replace(steps[-1], shown=(*steps[-1].shown, line))
    return steps


def matches(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Whether printed lines are those shown, `...` alone on a line standing for any lines, within one for any text."""
    pattern = ""
    for line in shown:
        if line.strip() == ANYTHING:
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*".join(map(re.escape, line.rstrip().split(ANYTHING))) + r"[ \t]*\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def stripped(lines: list[str]) -> list[str]:
    """Lines without empty ones at the end."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def run(step: Step, folder: Path, programs: str, environment: Mapping[str, str] = os.environ) -> None:
    """Run a step with programs of a folder before all others, and hold what it prints against what is shown."""
    path = os.pathsep.join([programs, environment["PATH"]])
    done = subprocess.run(
        ["bash", "-c", step.command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=folder,
        env={**environment, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8"},
        timeout=PATIENCE,
    )
    compare(step, done.stdout)


def run_in_process(step: Step, words: list[str], folder: Path) -> None:
    """Run a step that is one bomgen command, as `run` does, in this process, which has loaded the program."""
    with contextlib.chdir(folder):
        done = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8"}).invoke(
            main, words[1:], prog_name="bomgen"
        )
    assert isinstance(done.exception, SystemExit | None), done.exception
    compare(step, done.output)


def compare(step: Step, output: str) -> None:
    """Hold what a step prints against what is shown."""
    printed = stripped(output.splitlines())
    assert matches(tuple(stripped(list(step.shown))), printed), f"line {step.line}: $ {step.command}\n" + "\n".join(
        printed
    )


def follow(block: list[Step] | Written, folder: Path, package: Path) -> None:
    """Write a file, or run steps with a `bomgen` command of the package in a folder."""
    if isinstance(block, Written):
        block.take(folder)
        return
    program = folder / "bin" / "bomgen"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bomgen "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    for step in block:
        run(step, folder, str(program.parent), {**os.environ, "PYTHONPATH": str(package)})
