"""What every plan comes to, held against what it comes to without a mutant: no number, part, price or remark differs.

`run.py` writes that down before the first mutant. The file is no part of `make test`: a result proves that nothing
changed, not that it is right, and `make same` shows a change to who makes one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from plan_cases import read_cases

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).resolve().parents[3]
CORNERS = ROOT / "tests" / "corners"
PLANS = {
    path.stem: PlanFile(path.name, path.read_bytes(), path.parent, ROOT) for path in (ROOT / "plans").glob("*.yaml")
}
PLANS |= {
    name: PlanFile(f"{name}.yaml", case["plan"].encode(), CORNERS, ROOT)
    for name, case in read_cases(CORNERS / "corners.yaml").items()
}
KEPT = Path("build/mutation/plan-outcomes.json")
"""What every plan comes to, in a checkout or a copy of it."""
# Left out: how each number came about, which `explain` and the laws look at, and what names files and versions.
LEFT_OUT = ("bomgen", "version", "plan", "derivations", "assumptions")
OF_LINES = ("part", "fabric", "role", "quantity", "spare", "unit_price", "discount", "amount", "doubts", "explain")
OF_SITE = ("elevations",)
"""Left out of a site: who stands where, which has judges of its own and would be half of every file."""
UNSAID = (None, "", [], {})


def outcome(file: PlanFile) -> str:
    """What a plan comes to: every value of its bom.json and every remark, or the problems that refuse it."""
    try:
        report = work_out(file)
    except PlanErrors as errors:
        return "".join(f"{problem}\n" for problem in errors.problems)
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    for key, value in result(report).items():
        if key not in LEFT_OUT:
            yield from _flat(key, value)
    yield from (str(problem) for problem in report.problems)


def _flat(path: str, value: Any) -> Iterator[str]:
    if path.endswith("lines") and isinstance(value, list):
        for line in value:
            said = (f"{key} {line[key]}" for key in OF_LINES if line[key] not in UNSAID)
            yield f"{path}[{line['id']}]: {', '.join(said)}"
    elif path.endswith("checks") and isinstance(value, list):
        yield from (f"{path}[{check['id']}]: {check['status']}, {check['message']}" for check in value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in OF_SITE:
                yield from _flat(f"{path}.{key}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _flat(f"{path}[{place}]", inner)
    elif value not in UNSAID:
        yield f"{path}: {value}"


def keep_outcomes() -> None:
    """Write down what every plan comes to."""
    (ROOT / KEPT).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / KEPT).write_text(json.dumps({name: outcome(file) for name, file in PLANS.items()}), encoding="utf-8")


@cache
def kept_outcomes() -> dict[str, str]:
    """What every plan came to."""
    kept: dict[str, str] = json.loads((ROOT / KEPT).read_bytes())
    return kept


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_comes_to_what_it_came_to(name: str) -> None:
    """Every value of its bom.json and every remark is that of the unchanged program."""
    assert outcome(PLANS[name]) == kept_outcomes()[name]
