"""docs/extending.md as somebody follows it: in a copy of the checkout files are added, and bomgen finds them."""

from __future__ import annotations

import os
import shutil
import subprocess
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


DOCUMENT = '''"""The bill as a list for people."""

from bomgen.output.source import Source

ABOUT = "A line for each part, as a list."
FILE = "list.txt"
BINARY = False


def write(source: Source) -> bytes:
    """A line for each part."""
    return "".join(f"{each.line.pieces} {each.line.description}\\n" for each in source.report.quote.lines).encode()
'''


def python(copy: Path, *arguments: str, folder: Path | None = None) -> str:
    """What Python prints that runs in the copy."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(folder or "")))}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_document_format_is_one_module(copy: Path) -> None:
    """A format that is one file is known to `build -f`, help, completion, the library and the page of the commands."""
    (copy / "bomgen" / "output" / "documents" / "list.py").write_text(DOCUMENT, "utf-8")
    plan = str(CHECKOUT / "plans" / "llama65b.yaml")
    bomgen = ("-m", "bomgen.cli")
    printed = python(copy, *bomgen, "build", plan, "--root", str(CHECKOUT), "-f", "list", "-o", "-")
    assert printed.startswith("256 DGX A100 640GB\n1024 ConnectX-7 NDR single\n")
    assert "  list  list.txt: A line for each part, as a list.\n" in python(copy, *bomgen, "build", "--help")
    program = f"import bomgen; print(bomgen.build({plan!r}).files('list')['list.txt'].decode(), end='')"
    assert printed == python(copy, "-c", program)
    program = "import commands; [(_, page)] = commands.pages(); print(page)"
    page = python(copy, "-c", program, folder=CHECKOUT / "pages")
    assert "<code>list</code>" in page
    assert "list.txt: A line for each part, as a list." in page
    program = (
        "import click; from bomgen.cli import proposals; print([i.value for i in proposals.documents(None, 'md,l')])"
    )
    assert python(copy, "-c", program) == "['md,list']\n"
