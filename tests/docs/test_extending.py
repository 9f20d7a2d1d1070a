"""docs/extending.md as somebody follows it: in a copy of the checkout files are added, and bomgen finds them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from blocks import Step, Written, blocks, run
from installed import CHECKOUT

COPIED = ("bomgen", "schemas", "templates")
BLOCKS = list(blocks((CHECKOUT / "docs" / "extending.md").read_text("utf-8")))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program in a folder of its own, with a command that runs it."""
    place = tmp_path_factory.mktemp("extending")
    for name in COPIED:
        shutil.copytree(CHECKOUT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    (place / ".git").mkdir()
    program = place / "bin" / "bomgen"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bomgen.cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return place


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block-{number}" for number in range(len(BLOCKS))])
def test_each_addition_works(block: list[Step] | Written, copy: Path) -> None:
    """Files are added as shown, and the commands below them use them."""
    if isinstance(block, Written):
        block.take(copy)
        return
    for step in block:
        run(step, copy, str(copy / "bin"), {**os.environ, "PYTHONPATH": str(copy)})
