"""What bomgen says of the plans in cases/. `python tests/errors/transcripts.py NAME...` writes it anew.

A plan is checked, unless its first line is a comment with the command that brings its mistake up: `# $ bomgen ...`,
where OUT stands for a folder to write into. Workbooks that plans name are in books/, other files with their plan.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from click.testing import CliRunner

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from plan_cases import read_cases, write_cases, write_plans  # noqa: E402 - of the folder above

from bomgen.cli.command import main  # noqa: E402

ROOMS = sorted((HERE / "cases").glob("*.yaml"))
"""Files of cases, by the room that finds the mistake."""
CASES = read_cases(*ROOMS)
COMMAND = "# $ bomgen "
OUT = "OUT"


class Said(NamedTuple):
    """What came of a plan's command."""

    exit_code: int
    stdout: str
    stderr: str


def write_all(folder: Path) -> None:
    """Write every plan, and the files that they name, into a folder."""
    shutil.copytree(HERE / "books", folder / "books")
    write_plans(CASES, folder)


def command_of(name: str) -> list[str]:
    """The words of the command that a plan is shown to, after `bomgen`."""
    first = str(CASES[name]["plan"]).partition("\n")[0]
    return shlex.split(first.removeprefix(COMMAND)) if first.startswith(COMMAND) else ["check", f"{name}.yaml"]


def said_of(name: str) -> Said:
    """What bomgen says of a plan in the folder of all plans, which must be the working one."""
    with TemporaryDirectory() as out:
        outcome = CliRunner().invoke(main, [out if word == OUT else word for word in command_of(name)])
    return Said(outcome.exit_code, outcome.stdout, outcome.stderr)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        write_all(Path(folder))
        os.chdir(folder)
        for name in sys.argv[1:] or CASES:
            CASES[name]["says"] = said_of(name).stderr
    for room in ROOMS:
        write_cases(room, {name: CASES[name] for name in read_cases(room)})
