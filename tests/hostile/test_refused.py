"""Each hostile plan of the files of cases is refused in the words that stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cases import FILES, Case, cases, said_of

CASES = [pytest.param(case, id=f"{path.stem}-{case.name}") for path in FILES for case in cases(path)]
ERROR = re.compile(r"(.+:[0-9]+:[0-9]+): error: .+(; |: ).+ \[[a-z0-9-]+\]")


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_plan_is_refused_in_these_words(case: Case, tmp_path: Path) -> None:
    """Exit code 1, and on standard error what the case says: a place, what is wrong, what would be right."""
    code, said = said_of(case, tmp_path)
    assert (1, case.said) == (code, said)
    assert any(ERROR.fullmatch(line) for line in said)
    assert all(line.isprintable() for line in said)
