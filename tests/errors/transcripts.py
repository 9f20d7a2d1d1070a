"""What bomgen says of the plans of this folder. `python tests/errors/transcripts.py NAME...` writes transcripts anew.

A plan is checked, unless its first line is a comment with the command that brings its mistake up: `# $ bomgen ...`,
where OUT stands for a folder to write into.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from click.testing import CliRunner

from bomgen.cli.command import main

HERE = Path(__file__).parent
PLANS = sorted(HERE.glob("*.yaml"))
COMMAND = "# $ bomgen "
OUT = "OUT"


class Said(NamedTuple):
    """What came of a plan's command."""

    exit_code: int
    stdout: str
    stderr: str


def command_of(plan: Path) -> list[str]:
    """The words of the command that a plan is shown to, after `bomgen`."""
    first = plan.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
    return shlex.split(first.removeprefix(COMMAND)) if first.startswith(COMMAND) else ["check", plan.name]


def said_of(plan: Path) -> Said:
    """What bomgen says in this folder, which must be the working one."""
    with TemporaryDirectory() as out:
        outcome = CliRunner().invoke(main, [out if word == OUT else word for word in command_of(plan)])
    return Said(outcome.exit_code, outcome.stdout, outcome.stderr)


if __name__ == "__main__":
    os.chdir(HERE)
    for name in sys.argv[1:] or [path.stem for path in PLANS]:
        (HERE / f"{name}.txt").write_text(said_of(HERE / f"{name}.yaml").stderr, encoding="utf-8")
