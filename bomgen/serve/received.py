"""Files that are dropped on the page: price lists, bills of others, outputs of devices, and edited quotes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from bomgen.apply.application import STALE, apply_quote, choose_book, name_book, named_books
from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.document import Cell, Document
from bomgen.core.language import Language
from bomgen.core.safety import MAX_FILE
from bomgen.core.units import Totals
from bomgen.core.yaml_source import Source, value_at
from bomgen.output.markdown_html import html
from bomgen.output.price_lists import Entry, describe, use_of, write_yaml
from bomgen.pricing.price_book import MISSING, entries
from bomgen.reading.bill_columns import ROLES
from bomgen.reading.columns import NO_PARTS, NOTHING, RequestedColumns, read_asked
from bomgen.reading.part_numbers import built_in_parts
from bomgen.reading.price_lists import is_table, own_book, read_list
from bomgen.results.result import Report
from bomgen.serve.calls import (
    NO_VERSION,
    Data,
    Refused,
    Request,
    Workspace,
    language_of,
    plan_of,
    questions_data,
    texts_of,
    version_of,
)
from bomgen.serve.form import USUAL_CURRENCY, data_of, with_values
from bomgen.workflow.inputs import read_all
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import COST_BOOKS, PlanFile, content_of
from bomgen.xray.contents import open_bill, plan_name, plan_text, xray_document
from bomgen.xray.inspection import inspect

NAMES = "names.csv"
"""The dropped file with the planned names of devices, as `bomgen verify --names` takes it."""
MOST_NAME = 200
"""Characters of the name of a file."""
KEEP, FORCE = "plan", "force"
"""Choices of a conflict: to leave the plan as it is and take the other edits; to take a workbook of another state."""


def file_of(request: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return name and content of a file that was dropped. Raises Refused if it is none, or too large."""
    name = Path(request["name"]).name[:MOST_NAME]
    try:
        content = b64decode(request["base64"], validate=True)
    except ValueError:
        raise Refused("`base64` is not the content of a file") from None
    if not name or len(content) > MAX_FILE:
        raise Refused(f"a file needs a name, and has at most {MAX_FILE} bytes")
    return name, content


def _asked(request: Request, roles: Sequence[str] = ()) -> RequestedColumns:
    """Return the settings that answer questions about columns, as `--columns` has them."""
    answers = request.get("answers") or {}
    try:
        return read_asked(",".join(answers.values()), roles)
    except ValueError as error:
        raise Refused(str(error)) from None


def _asking(errors: PlanErrors, words: Language, first: str = "") -> Data:
    """Return the problems of a file, and the questions among them; the setting `first` is offered first."""
    questions = [asked for problem in errors.problems for asked in questions_data(problem, words.message, first)]
    return {"questions": questions, "problems": texts_of(errors.problems)}


# prices -------------------------------------------------------------------------------------------------------------


def prices(workspace: Workspace, request: Request) -> Data:
    """Return how a price list is understood, what it must be asked, and what it changes for the plan.

    With the `path` and `text` of a plan, `text` is the plan that names the new price book, and `file` the book to save.
    """
    name, content = file_of(request)
    words, sent = language_of(request), None
    try:
        asked = _asked(request)
        source = _own_book(content, name) if asked._replace(parts=NO_PARTS) == NOTHING else None
        if source is None:
            sent = read_list(content, name, asked)
            source = sent.source
    except PlanErrors as errors:
        return _asking(errors, words, f"currency={_currency_of(request)}")
    answer = {
        "questions": [],
        "problems": texts_of(sent.warnings if sent else (), words.message),
        "html": html(describe(sent, built_in_parts(), words=words), words, alone=False).decode() if sent else "",
    }
    if not request.get("text"):
        return answer
    return answer | _use(plan_of(workspace, request), name, entries(source), request.get("entered", False), words)


def _currency_of(request: Request) -> str:
    """Return the currency of the quote of a plan, by default the usual one; empty without a plan."""
    text = request.get("text")
    if not isinstance(text, str):
        return ""
    try:
        currency = value_at(data_of(text), ("quote", "currency"))
    except Refused:
        currency = None
    return currency if isinstance(currency, str) else USUAL_CURRENCY


def _own_book(content: bytes, name: str) -> Source | None:
    """Return the data of a price book; None for a list, also an incomplete book in the form of a table."""
    try:
        return own_book(content, name)
    except PlanErrors as errors:
        if is_table(name) and all(problem.rule == MISSING for problem in errors.problems):
            return None
        raise


def _use(file: PlanFile, name: str, priced: Sequence[Entry], entered: bool, words: Language) -> Data:
    """Return the plan with a price book, the book to save beside it, coverage before and after, and unused rows.

    `as_costs` is the plan with the book as that of the seller's costs.

    Prices that were `entered` come after those of earlier times, a list in place of the one of its name.
    """
    book = write_yaml(priced, Path(name).stem)
    folder, inputs = Path(file.name).parent, read_all(file)
    beside = choose_book(file, plan_name(name), () if entered else named_books(inputs.source.data))
    before = work_out(inputs)
    plain = file.content.decode("utf-8")
    text = name_book(plain, inputs.source.data, beside)
    path = file.folder / beside
    edited = file._replace(content=text.encode(), unwritten=((path, book),))
    version = version_of(content_of(path)) if path.exists() else NO_VERSION
    use = use_of(priced, before, built_in_parts())
    return {
        "as_costs": name_book(plain, inputs.source.data, beside, COST_BOOKS),
        "unused": [*use.unused],
        "near": [{"part": part, "parts": [*near]} for part, near in use.near],
        "coverage": {"before": _coverage(before, words), "after": _coverage(work_out(edited), words)},
        "text": text,
        "file": {"path": (folder / beside).as_posix(), "text": book.decode(), "version": version},
    }


def _coverage(report: Report, words: Language) -> Data:
    totals = report.quote.totals
    return {"priced": totals.priced_lines, "lines": totals.lines, "amount": _amount(totals, words)}


def _amount(totals: Totals, words: Language) -> str:
    return words.cell(Cell(totals.amount, totals.currency, least=not totals.complete))


# bills --------------------------------------------------------------------------------------------------------------


def xray(workspace: Workspace, request: Request) -> Data:
    """Return what is found about a bill, as a page, and the plan that explains it, None without one.

    `plan` is what the cables of a point-to-point sheet are compared with; `has_cables` says whether it is one.
    """
    name, content = file_of(request)
    words, catalog = language_of(request), Catalog()
    try:
        inspection = inspect(open_bill(content, name, catalog, _asked(request, ROLES)))
    except PlanErrors as errors:
        return _asking(errors, words) | {"plan": None}
    has_cables, plan_file = bool(inspection.found.bill.cables), request.get("plan")
    compared = _verified(workspace, plan_file, [("", name, content)], words, True) if plan_file and has_cables else None
    answer: Data = {
        "questions": [],
        "problems": [],
        "html": html(xray_document(inspection.found, words, compared=compared), words, alone=False).decode(),
        "plan": None,
        "has_cables": has_cables,
    }
    try:
        plan = plan_name(name)
        answer["plan"] = {"path": f"{plan}.yaml", "text": plan_text(inspection, plan), "version": NO_VERSION}
    except PlanErrors as errors:
        answer["problems"] = texts_of(errors.problems)
    return answer


# outputs ------------------------------------------------------------------------------------------------------------


def verify(workspace: Workspace, request: Request) -> Data:
    """Return, as a page, what differs between a plan and the network whose devices printed the `files`.

    The file NAMES has the planned names of devices by those that they have.
    """
    words, files = language_of(request), [("", *file_of(file)) for file in request["files"]]
    return {"html": html(_verified(workspace, request, files, words), words, alone=False).decode()}


def _verified(
    workspace: Workspace,
    plan: Request,
    files: Sequence[tuple[str, str, bytes]],
    words: Language,
    are_whole: bool = False,
) -> Document:
    from bomgen.verify.findings import USUAL_ERROR_RATE, verification_document  # which load NumPy
    from bomgen.verify.findings import verify as compare
    from bomgen.verify.reading import read_names, read_outputs

    report = work_out(plan_of(workspace, plan))
    if report.clusters:
        raise Refused("the plan has several clusters; verify one of them with `bomgen verify --cluster`")
    names = dict(chain.from_iterable(read_names(text, name).items() for _, name, text in files if name == NAMES))
    as_built = read_outputs((file for file in files if file[1] != NAMES), are_whole)
    verification = compare(as_built, list_cables(report), names, USUAL_ERROR_RATE)
    return verification_document(verification, report.plan.name, words)


# edited quotes ------------------------------------------------------------------------------------------------------


def apply(workspace: Workspace, request: Request) -> Data:
    """Return the plan with the edits of a quote that came back, and the conflicts to choose about.

    A conflict offers `plan`, which leaves the plan as it is there, and what gives the edited value: a setting, or one
    price for all lines of a part. `choices` has the chosen one by the key of the conflict. Once all have one, the other
    edits are taken. A workbook of another plan or an older state is a conflict, too: `force` takes it.
    """
    name, content = file_of(request)
    file, words = plan_of(workspace, request), language_of(request)
    choices = request.get("choices") or {}
    chosen = [*choices.values()]
    try:
        applied = apply_quote(content, name, file, FORCE in chosen, chosen)
    except PlanErrors as errors:
        stale = [problem for problem in errors.problems if problem.rule == STALE]
        if not stale:
            raise
        conflicts = [_conflict(stale[0], choices, words, (FORCE,))]
        return _edited(file, ()) | {"changes": [], "follows": [], "passed_over": [], "conflicts": conflicts}
    conflicts = [_conflict(problem, choices, words) for problem in applied.problems]
    taken = all(conflict["chosen"] for conflict in conflicts)
    edited = _edited(file, applied.files if taken else ())
    settings = {conflict["chosen"] for conflict in conflicts} - {KEEP}
    if taken:
        edited["text"] = with_values(edited["text"], dict(setting.split("=", 1) for setting in sorted(settings)))
    return {
        "changes": [*map(words.message, applied.differences)],
        "follows": [*map(words.message, applied.follows)],
        "conflicts": conflicts,
        "passed_over": [*applied.passed_over],
        **edited,
        "before": _amount(applied.before, words),
        "after": _amount(applied.after, words) if applied.after and not settings else None,
    }


def _conflict(problem: Problem, choices: Mapping[str, Any], words: Language, offered: Sequence[str] = (KEEP,)) -> Data:
    [said] = texts_of([problem], words.message)
    key = f"{problem.line}:{problem.column}:{problem.path or problem.rule}"
    may = [{"value": value, "label": ""} for value in offered]
    may += [choice for question in said["questions"] for choice in question["choices"]]
    chosen = choices.get(key)
    return {
        "key": key,
        "message": said["questions"][0]["message"] if said["questions"] else said["message"],
        "remedy": said["remedy"],
        "choices": may,
        "chosen": chosen if chosen in [choice["value"] for choice in may] else "",
    }


def _edited(file: PlanFile, files: Sequence[Any]) -> Data:
    text, saved, folder = file.content.decode("utf-8"), [], Path(file.name).parent
    for edited in files:
        if edited.name == Path(file.name).name:
            text = edited.after.decode("utf-8")
        else:
            version = version_of(edited.before) if edited.before else NO_VERSION
            path = (folder / edited.name).as_posix()
            saved.append({"path": path, "text": edited.after.decode("utf-8"), "version": version})
    return {"text": text, "files": saved}
