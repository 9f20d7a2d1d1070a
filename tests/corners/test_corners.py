"""Plans that take the ways that no example takes: each is built, or refused by the rules that it is there for.

What their numbers are is for the published tables, the laws and the judges; `make same` shows what a change alters.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from plan_cases import read_cases
from plan_reports import unregistered

from bomgen.core.diagnostics import PlanErrors
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

HERE = Path(__file__).parent
CORNERS = read_cases(HERE / "corners.yaml")
BUILT = "built"


@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_comes_to_what_it_is_there_for(name: str) -> None:
    """It is built, and each of its numbers is in the registry; or the rules of its errors are those."""
    try:
        report = work_out(PlanFile(f"{name}.yaml", CORNERS[name]["plan"].encode(), HERE, HERE))
    except PlanErrors as errors:
        rules = {problem.rule for problem in errors.problems if problem.severity == "error"}
        assert CORNERS[name]["comes to"] == ", ".join(sorted(rules))
    else:
        assert CORNERS[name]["comes to"] == BUILT
        assert unregistered(report) == []


def test_there_are_corners_of_each_kind() -> None:
    """Hundreds that are built, and some that are refused."""
    refused = [name for name, case in CORNERS.items() if case["comes to"] != BUILT]
    assert len(CORNERS) - len(refused) > 300
    assert len(refused) > 40
