"""What plans come to, line by line: `python tests/golden/outcomes.py` writes the files anew.

The plans of `plans/`, and in `corners/` small ones that take the ways that no example takes. A result that is written
here proves that nothing changed, not that it is right: that is for the published tables, the laws and the judges. A
change of a file here is read like a change of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLANS = [*sorted((ROOT / "plans").glob("*.yaml")), *sorted((HERE / "corners").glob("*.yaml"))]
# Left out: how each number came about, which `explain` and the laws look at, and what names files and versions.
LEFT_OUT = ("bomgen", "version", "plan", "derivations", "assumptions")
OF_LINES = ("part", "fabric", "role", "quantity", "spare", "unit_price", "discount", "amount", "doubts", "explain")
OF_SITE = ("elevations",)
"""Left out of a site: who stands where, which has judges of its own and would be half of every file."""
UNSAID = (None, "", [], {})


def expected(plan: Path) -> Path:
    """The file that has what a plan comes to."""
    return HERE / "corners" / f"{plan.stem}.txt" if plan.parent.name == "corners" else HERE / f"{plan.stem}.txt"


def outcome(plan: Path) -> str:
    """What a plan comes to: every value of its bom.json and every remark, or the problems that refuse it."""
    folder = plan.parent
    file = PlanFile(plan.name, plan.read_bytes(), folder, ROOT)
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


def main() -> None:
    """Write what every plan comes to, and drop files of plans that are gone."""
    wanted = {expected(plan): outcome(plan) for plan in PLANS}
    for file in [*HERE.glob("*.txt"), *(HERE / "corners").glob("*.txt")]:
        if file not in wanted:
            file.unlink()
    for file, text in wanted.items():
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
