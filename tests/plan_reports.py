"""The plans of `plans/`, each worked out once a process, and what holds of every report."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bomgen.core.document import registry, row_at
from bomgen.results.result import Report, numbers_of
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

PLANS = sorted((Path(__file__).parents[1] / "plans").glob("*.yaml"))
UNITS = {row.unit for row in registry().values()} - {""}


@cache
def report_of(plan: Path) -> Report:
    """The report of a plan of `plans/`."""
    return work_out(open_plan(str(plan), None))


def unregistered(report: Report) -> list[str]:
    """Paths of numbers without a row, or with another unit than their row's; the unit of a count is what is counted."""
    found = ((path, figure.unit if figure.unit in UNITS else "") for path, figure in numbers_of(report).items())
    return [path for path, unit in found if (row := row_at(path)) is None or row.unit != unit]
