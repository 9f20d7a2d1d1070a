"""What `bomgen check` passes, `build` and `wiring` write in every format; what it refuses, it refuses at a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

from any_plans import SERVERS, changed_plans, draw_plans
from depth import DEEP

from bomgen.core.diagnostics import OutputError, PlanErrors
from bomgen.output.registry import DOCUMENTS, WIRINGS, Unsuitable
from bomgen.output.writer import render, write_files, write_wiring
from bomgen.results.result import Report
from bomgen.workflow.pipeline import compute_fabric, list_cables, work_out
from bomgen.workflow.plan_files import PlanFile

SEED = SystemRandom().randrange(10**6) if DEEP else 57
PLANS, CHANGED = (2000, 500) if DEEP else (20, 3)
PIECE = min(PLANS, 100)
"""Plans that are drawn at a time: drawing many takes longer than as many pieces."""
PRINTED = 60
"""One plan in so many is also printed, which takes seconds."""
FORMATS = tuple(form for form in DOCUMENTS.names if form != "pdf")


def problems_at_lines(errors: PlanErrors) -> str:
    """The rule of a refusal, all of whose problems are at a line."""
    assert errors.problems
    assert all(problem.mark.line >= 1 and str(problem).strip() for problem in errors.problems)
    return errors.problems[0].rule


def written(file: PlanFile, folder: Path, printed: bool) -> str:
    """Write every file of a plan that passes its check; return "built", or the rule that refuses it."""
    try:
        report = work_out(file)
    except PlanErrors as errors:
        return problems_at_lines(errors)
    assert write_files(render(report, FORMATS), folder / "built")
    if printed:
        with suppress(OutputError):  # without the library or a font
            render(report, ("pdf",))
    for each in report.clusters or (report,):
        for form in WIRINGS.names:
            write_cables(each, form, folder)
    return "built"


def write_cables(report: Report, form: str, folder: Path) -> None:
    """Write the cables of a cluster in a format that can hold them."""
    module = WIRINGS.module(form)
    try:
        cables = list_cables(report, compute_fabric(report) if module.ONE_FABRIC else ())
        write_wiring(cables, form, folder / f"cables.{form}", lambda _: None)
    except PlanErrors as errors:
        problems_at_lines(errors)
    except Unsuitable:
        return


def look_at(files: Iterator[PlanFile], folder: Path) -> Counter[str]:
    """How many plans are built, and how many are refused by each rule."""
    found: Counter[str] = Counter()
    for number, file in enumerate(files):
        try:
            found[written(file, folder, number % PRINTED == 0)] += 1
        except Exception as error:
            error.add_note(f"plan {number}:\n{file.content.decode()}")
            raise
    return found


def test_what_is_checked_is_written(tmp_path: Path) -> None:
    """Every workload on every machine, in every format."""
    drawn = [whole for first in range(SEED, SEED + PLANS, PIECE) for whole in draw_plans(PIECE, first)]
    if DEEP:
        assert {whole.plan["cluster"].get("server") for whole in drawn} >= set(SERVERS)
    found = look_at((whole.file(tmp_path) for whole in drawn), tmp_path)
    assert found["built"] >= PLANS / 2, found


def test_shipped_plans_with_one_key_changed(tmp_path: Path) -> None:
    """A number of a shipped plan, or a key of it, is another or is missing."""
    found = look_at(changed_plans(CHANGED, SEED), tmp_path)
    assert found["built"], found
