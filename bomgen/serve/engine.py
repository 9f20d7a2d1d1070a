"""What the page asks for while a plan is typed: its problems, its result, and the change since it was saved.

Each call takes the workspace and a request, data as JSON has them, and returns data as JSON has them. None knows of
HTTP or of processes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.document import QUOTE
from bomgen.core.language import Language
from bomgen.documents.chapters.contents import headline
from bomgen.documents.chapters.writer import Writer
from bomgen.documents.diff.difference import Difference, compare, split_line
from bomgen.documents.diff.side import ComparedResult, compared_result_of
from bomgen.documents.totals import headline_total
from bomgen.output.registry import DocumentInputs
from bomgen.results.result import Report, result
from bomgen.serve.problems import problems_data
from bomgen.serve.requests import language_of, plan_of
from bomgen.serve.tabs import TABS
from bomgen.serve.workspace import Refused, Request, Workspace
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import check_plan, work_out
from bomgen.workflow.plan_files import PlanFile

Data = dict[str, Any]

FIRST = (("cluster", "gpus"), ("cluster", "servers"), ("site", "power_w"))
"""The numbers that stand beside the total; the other key figures are folded."""


def check(workspace: Workspace, request: Request) -> Data:
    """Return the problems of a plan."""
    try:
        found = check_plan(plan_of(workspace, request))
    except PlanErrors as errors:
        found = errors.problems
    return {"problems": problems_data(found, request["path"], request["text"])}


def build(workspace: Workspace, request: Request) -> Data:
    """Return problems, key figures, the change since the last saved state, and the tabs that are asked for."""
    path, text = request["path"], request["text"]
    tabs = request.get("tabs") or ()
    if unknown := [tab for tab in tabs if tab not in TABS]:
        raise Refused(f"no tab '{unknown[0]}'; there are {', '.join(TABS)}")
    words = language_of(request)
    try:
        built = _built("current", plan_of(workspace, request))
        report = built.report
        shown = {tab: TABS[tab](DocumentInputs(report, (), None if tab == QUOTE else words)) for tab in tabs}
    except PlanErrors as errors:
        found = problems_data(errors.problems, path, text)
        return {"problems": found, "headline": [], "figures": [], "delta": None, "tabs": {}}
    headline, figures = _headline(report, words)
    return {
        "problems": problems_data((*report.problems, *report.stale), path, text, words.message),
        "headline": headline,
        "figures": figures,
        "delta": _delta(workspace, request, built, words),
        "tabs": shown,
        "name": report.plan.name,
    }


def _headline(report: Report, words: Language) -> tuple[list[list[str]], list[list[str]]]:
    """Return labels and values of total, GPUs, servers and power, and those of the other key figures."""
    writer, quote = Writer(report, words), report.quote
    amount = headline_total(quote.totals, quote.lines, quote.indications, words)[1]
    figures = [[label, words.cell(cell)] for label, cell in headline(writer, writer.cluster_writers())]
    first = {writer.label(path) for path in FIRST}
    leading = [figure for figure in figures if figure[0] in first]
    return [[words.word("ui-total"), amount], *leading], [figure for figure in figures if figure[0] not in first]


class _Built:
    """A plan and its result."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.report = inputs, work_out(inputs)

    @cached_property
    def side(self) -> ComparedResult:
        """Return the result as a side of a comparison."""
        return compared_result_of(result(self.report), self.inputs.file.name, self.inputs.source)

    def is_of(self, inputs: Inputs) -> bool:
        """Return whether the result is that of the same files."""
        known = self.inputs
        return known.file == inputs.file and known.contents == inputs.contents and not inputs.catalog.folders


_last: dict[str, _Built] = {}
"""The current state of the plan and the last saved one, by `current` and `base`."""


def _built(state: str, file: PlanFile) -> _Built:
    """Return a plan and its result; what is known of the same files, as after a save, is not calculated again."""
    inputs = read_all(file, costs=True)
    found = next((known for known in _last.values() if known.is_of(inputs)), None) or _Built(inputs)
    _last[state] = found
    return found


def _delta(workspace: Workspace, request: Request, built: _Built, words: Language) -> Data | None:
    """Return the change of the bill since the last saved state; None without one, or where it cannot be built."""
    base = request.get("base")
    if not isinstance(base, str):
        return None
    try:
        before = _built("base", workspace.plan_file(request["path"], base))
    except PlanErrors:
        return None
    return delta_data(compare(before.side, built.side), words)


def delta_data(difference: Difference, words: Language) -> Data:
    """Return a difference as data: its lines with pieces before and after, and amounts as decimal texts."""
    currency = difference.currency
    lines = []
    for pair in difference.pairs:
        priced = any(item is not None and item.amount is not None for item in (pair.old, pair.new))
        amount = sum(split_line(pair, currency).values()) if currency and priced else None
        lines.append(
            {
                "description": words.message(pair.item.description),
                "before": pair.old.pieces if pair.old else 0,
                "after": pair.new.pieces if pair.new else 0,
                "amount": None if amount is None else f"{amount:f}",
            }
        )
    known = difference.money and not (difference.old.totals.is_unknown and difference.new.totals.is_unknown)
    change = difference.money.change if difference.money and known else None
    return {"lines": lines, "amount": None if change is None else f"{change:f}", "currency": currency}
