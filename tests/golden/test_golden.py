"""Every plan comes to what it came to; `outcomes.py` says what that proves."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from outcomes import PLANS, expected, outcome

MOST_SHOWN = 40


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_a_plan_comes_to_what_it_came_to(plan: Path) -> None:
    """No number, part, price or remark is another; `python tests/golden/outcomes.py` writes them when one is to be."""
    was, now = expected(plan).read_text(encoding="utf-8"), outcome(plan)
    changed = list(difflib.unified_diff(was.splitlines(), now.splitlines(), "was", "is", lineterm="", n=0))
    assert not changed, "\n".join(changed[:MOST_SHOWN])
