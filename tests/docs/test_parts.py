"""docs/parts.md as somebody follows it: in an empty folder files are written, checked and used."""

from __future__ import annotations

from pathlib import Path

import pytest
from blocks import Step, Written, blocks, follow
from installed import CHECKOUT

ENGLISH, CHINESE = (list(blocks((CHECKOUT / "docs" / name).read_text("utf-8"))) for name in ("parts.md", "zh/parts.md"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder."""
    return tmp_path_factory.mktemp("parts")


@pytest.mark.parametrize("block", ENGLISH, ids=[f"block-{number}" for number in range(len(ENGLISH))])
def test_each_example_does_what_the_page_says(block: list[Step] | Written, place: Path) -> None:
    """Parts are corrected and added, checked, and used by a plan."""
    follow(block, place, CHECKOUT)


def test_the_chinese_page_has_the_same_steps() -> None:
    """Files, commands and outputs."""
    assert [_said(each) for each in CHINESE] == [_said(each) for each in ENGLISH]


def _said(block: list[Step] | Written) -> list[tuple[str, ...]]:
    if isinstance(block, Written):
        return [(block.file, block.text)]
    return [(step.command, *step.shown) for step in block]
