"""Hostile plans as text, and what bomgen says of each. `python tests/hostile/cases.py` writes what it says anew.

A file of cases (`signs.txt`, ...) has them one behind the other:

    # name of the case
    $ bomgen build plan.yaml             the command, where it is not `check plan.yaml`
    title: a{U+202E}b                    the plan; added to BASE, unless `bomgen:` begins it, or behind `@ plan.yaml`
    @ books/a.csv                        another file of the case, and what stands in it
    > plan.yaml:6:9: error: ...          what must stand on standard error, excerpts left out

`{U+202E}` is the sign itself, which nobody would see here; `{300*a}` is `a` 300 times.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from click.testing import CliRunner

from bomgen.cli.command import main

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.txt"))
PLAN = "plan.yaml"
BASE = """bomgen: 1
name: x
cluster: {gpu: h100-sxm, server: dgx-h100, servers: 4}
"""
_SIGN = re.compile(r"\{U\+([0-9A-F]{4,6})\}")
_TIMES = re.compile(r"\{([0-9]+)\*([^}]+)\}")
_EXCERPT = re.compile(r" +[0-9]* \| ")


class Case(NamedTuple):
    """A hostile plan, with the files beside it, and what must be said of it."""

    name: str
    command: list[str]
    files: dict[str, str]
    said: list[str]


def written_out(text: str) -> str:
    """A text of a case with its signs and repetitions."""
    text = _TIMES.sub(lambda found: found[2] * int(found[1]), text)
    return _SIGN.sub(lambda found: chr(int(found[1], 16)), text)


def listed(form: str, count: int, between: str = ", ") -> str:
    """A form so many times, each with its number in place of `#`."""
    return between.join(form.replace("#", str(number)) for number in range(count))


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file."""
    for block in re.split(r"^# ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, *lines = block.splitlines()
        command, files, said, file, base = ["check", PLAN], dict[str, str](), list[str](), PLAN, BASE
        for line in lines:
            if line.startswith("$ bomgen "):
                command = shlex.split(written_out(line))[2:]
            elif line.startswith("@ "):
                file = line[2:]
                files[file] = ""
                base = "" if file == PLAN else base
            elif line.startswith("> "):
                said.append(line[2:])
            elif line or file != PLAN:
                files[file] = files.get(file, "") + written_out(line) + "\n"
        plan = files.get(PLAN, "")
        files[PLAN] = plan if plan.startswith("bomgen:") else base + plan
        yield Case(name, command, files, said)


def lay(files: dict[str, str], folder: Path) -> None:
    """Write the files of a case."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8", "surrogatepass"))


def said_of(case: Case, folder: Path) -> tuple[int, list[str]]:
    """The exit code of a case's command in a folder, and what stands on standard error, without excerpts."""
    lay(case.files, folder)
    with chdir(folder):
        outcome = CliRunner().invoke(main, case.command, catch_exceptions=False)
    return outcome.exit_code, [line for line in outcome.stderr.splitlines() if not _EXCERPT.match(line)]


def main_() -> None:
    """Write what is said of every case anew."""
    for path in [Path(name) for name in sys.argv[1:]] or FILES:
        text = path.read_text(encoding="utf-8")
        head, *blocks = re.split(r"^# ", text, flags=re.MULTILINE)
        for case, (number, block) in zip(list(cases(path)), list(enumerate(blocks)), strict=True):
            kept = [line for line in block.rstrip("\n").splitlines() if not line.startswith("> ")]
            with TemporaryDirectory() as folder:
                code, said = said_of(case, Path(folder))
            if code != 1:
                sys.stderr.write(f"{path.name}: {case.name}: exit code {code}\n")
            blocks[number] = "\n".join([*kept, *(f"> {line}" for line in said)]) + "\n\n"
        path.write_text("# ".join([head, *blocks]).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main_()
