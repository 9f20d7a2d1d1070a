"""The tutorial as a new user walks through it: from the wheel, in an empty folder, block after block."""

from __future__ import annotations

from pathlib import Path

import pytest
from blocks import Step, Written, blocks, run
from installed import CHECKOUT, Installation, installed

ENGLISH = (CHECKOUT / "docs" / "tutorial.md").read_text("utf-8")
CHINESE = (CHECKOUT / "docs" / "zh" / "tutorial.md").read_text("utf-8")
BLOCKS = list(blocks(ENGLISH))


def _line(block: list[Step] | Written) -> str:
    return f"line-{block.line if isinstance(block, Written) else block[0].line}"


@pytest.fixture(scope="module")
def new_user(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Bomgen from its wheel, and an empty folder."""
    return installed("wheel", wheel, tmp_path_factory.mktemp("tutorial"))


@pytest.mark.parametrize("block", BLOCKS, ids=map(_line, BLOCKS))
def test_each_step_does_what_the_tutorial_says(block: list[Step] | Written, new_user: Installation) -> None:
    """Files are written and changed as shown, and commands print what is shown below them."""
    if isinstance(block, Written):
        block.take(new_user.work)
    else:
        for step in block:
            run(step, new_user.work, str(new_user.programs), new_user.environment)


def test_the_quote_is_there(new_user: Installation) -> None:
    """In the end there are plan, prices and lock, and a quote without a missing price."""
    written = {path.name for path in (new_user.work / "dist" / "acme").iterdir()}
    assert written == {
        *("quote.md", "quote.html", "quote.xlsx", "report.md", "report.html", "report.xlsx", "bom.json", "bom.csv")
    }
    assert {"acme.yaml", "vendor.csv", "acme.lock"} <= {path.name for path in new_user.work.iterdir()}
    assert "at least" not in (new_user.work / "dist" / "acme" / "report.md").read_text("utf-8").partition("## ")[0]


def test_the_chinese_tutorial_has_the_same_steps() -> None:
    """Its commands, outputs and files are those of the English one, which the test above walks through."""
    assert [_said(each) for each in blocks(CHINESE)] == [_said(each) for each in BLOCKS]


def _said(block: list[Step] | Written) -> list[tuple[str, ...]]:
    if isinstance(block, Written):
        return [(block.file, block.text)]
    return [(step.command, *step.shown) for step in block]
