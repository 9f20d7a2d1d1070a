"""The library interface for notebooks and services: plans in, results and problems out.

Nothing is printed, and no function ends the process. The names and meanings here are stable between versions, as those
in bom.json are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from html import escape
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bomgen.catalog.files import KINDS, Catalog
from bomgen.core.diagnostics import PlanErrors, Problem, nearest
from bomgen.core.language import Language, language
from bomgen.core.messages import unknown
from bomgen.core.provenance import json_value
from bomgen.core.yaml_source import encoded
from bomgen.output import writer
from bomgen.output.registry import DEFAULT_DOCUMENTS, WIRINGS
from bomgen.results.numbers import dotted
from bomgen.results.result import Report, numbers_of, result
from bomgen.workflow import pipeline
from bomgen.workflow.inputs import read_all
from bomgen.workflow.plan_files import STANDARD_INPUT, PlanFile, open_plan

if TYPE_CHECKING:
    from bomgen.documents.diff.side import ComparedResult

Plan = str | PathLike[str] | Mapping[str, Any]
"""A plan as a path, as YAML text (a string of several lines), or as data."""
Row = dict[str, Any]
"""A row of an answer, by column: numbers as numbers, amounts as decimal strings, None for unknown values."""
Settings = Mapping[str, Any] | Sequence[str]
"""Settings that override a plan: by dotted key, or as `KEY=VALUE`."""

TEXT_NAME, DATA_NAME = "<text>", "<data>"
"""Names in problems for a plan that is text or data."""
SUGGESTED = 3


def build(plan: Plan, *, set: Settings = (), root: str | PathLike[str] | None = None) -> Result:
    """Calculate a plan and return its result.

    `set` overrides values, as `--set` does; paths in the plan must stay below `root`, by default its checkout. Paths in
    a plan that is text or data start at `root`, by default the current folder.

    Raises PlanErrors with every problem of an invalid or impossible plan, OSError for an unreadable file, and
    ValueError for an invalid path and for data or settings that are not plain data: keys that are not text, or endless
    nesting.
    """
    file, settings = _opened(plan, root), _settings(set)
    return Result(pipeline.work_out(file, settings), file, settings)


def check(plan: Plan, *, set: Settings = (), root: str | PathLike[str] | None = None) -> list[Problem]:
    """Return the problems of a plan: errors if it is invalid or impossible, and warnings.

    The parameters are those of `build`. Raises OSError and ValueError as `build`.
    """
    try:
        return list(pipeline.check_plan(_opened(plan, root), _settings(set)))
    except PlanErrors as errors:
        return list(errors.problems)


def find_parts(text: str = "", *, where: str = "") -> list[Row]:
    """Return the parts of the catalogue that a number, an alias or words denote, or those that meet conditions.

    Conditions are written as `rate=800G fibre=single-mode`. A single part has a row for each figure, with its source.
    Raises ValueError if there is none, with what comes nearest.
    """
    from bomgen.workflow import catalog_listing

    catalog = Catalog()
    listing = catalog_listing.parts_where(catalog, KINDS, where) if where else None
    return (listing or catalog_listing.parts_named(catalog, text)[0]).rows()


def search(
    plan: Plan,
    over: Sequence[str] = (),
    minimise: Sequence[str] = (),
    within: Sequence[str] = (),
    *,
    set: Settings = (),
    root: str | PathLike[str] | None = None,
) -> list[Row]:
    """Return the Pareto-optimal designs of a plan, a row each, as `bomgen search` shows them.

    `over`, `minimise` and `within` are written as the options of the command: `cluster.servers=6..16`, `cost`,
    `power=5MW`. The other parameters are those of `build`. Raises as `build`.
    """
    from bomgen.documents.search import search_document
    from bomgen.workflow.design_search import find_front, open_search

    file, settings = _opened(plan, root), _settings(set)
    front, stopped = find_front(file, settings, open_search(file, settings, over, minimise, within))
    if stopped:
        raise stopped
    return search_document(front, file.name, language()).rows()


def diff(old: Plan, new: Plan, *, set: Settings = (), root: str | PathLike[str] | None = None) -> list[Row]:
    """Return what changed from one plan to another: keys, money by cause, numbers and lines of the bill.

    `set` overrides values of the new plan; `root` is that of `build`. Raises as `build`.
    """
    from bomgen.documents.diff.contents import review_document
    from bomgen.documents.diff.difference import compare

    sides = ((old, ()), (new, _settings(set)))
    before, after = (compared_result(_opened(plan, root), settings)[0] for plan, settings in sides)
    return review_document(compare(before, after), language()).rows()


def compared_result(
    file: PlanFile, settings: Sequence[str], today: Mapping[str, Report] = MappingProxyType({})
) -> tuple[ComparedResult, Report]:
    """Return a plan as a side of a difference, with the machines of today where they stand, and its result.

    Raises PlanErrors with its problems.
    """
    from bomgen.documents.diff.side import compared_result_of

    report = pipeline.work_out_around(inputs := read_all(file, settings), today, allow_moves=True)
    side = compared_result_of(result(report), file.name, inputs.source)
    rates = {category: Fraction(rate.value) for category, rate in report.plan.quote.tax.items()}
    totals = side.totals._replace(rates=rates)
    shares = {charge.id: Fraction(charge.share.value) for charge in report.plan.quote.charges if charge.share}
    return side._replace(totals=totals, shares=shares), report


class Result:
    """The result of a plan, made by `build`. Treat its contents as read-only."""

    def __init__(self, report: Report, file: PlanFile, settings: Sequence[str]) -> None:
        self._report, self._file, self._settings = report, file, tuple(settings)

    @property
    def name(self) -> str:
        """Return the name of the plan."""
        return self._report.plan.name

    @property
    def title(self) -> str:
        """Return the title of the plan."""
        return self._report.plan.title

    @cached_property
    def data(self) -> dict[str, Any]:
        """Return the contents of bom.json, as described by `bomgen schema bom`."""
        return result(self._report)

    @property
    def lines(self) -> list[Row]:
        """Return the lines of the bill: quantities as integers, amounts as decimal strings, None if not priced."""
        lines: list[Row] = self.data["lines"]
        return lines

    @property
    def totals(self) -> dict[str, Any]:
        """Return the totals as decimal strings; `complete` says whether every line is priced."""
        totals: dict[str, Any] = self.data["totals"]
        return totals

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings, each with its place in the plan, and with a stale lock also what has changed since."""
        return (*self._report.problems, *self._report.stale)

    @cached_property
    def numbers(self) -> Row:
        """Return every calculated number by its dotted path in bom.json."""
        return {dotted(steps): json_value(figure.value) for steps, figure in numbers_of(self._report).items()}

    def number(self, path: str) -> Any:
        """Return the number at a dotted path, such as fabrics.compute.switches.leaf. Raises KeyError if missing."""
        if path not in self.numbers:
            near = ", ".join(nearest(path, self.numbers, count=SUGGESTED))
            raise KeyError(f"{path}; near: {near}" if near else path)
        return self.numbers[path]

    def explain(self, path: str | None = None, *, depth: int | None = None, why: bool = True) -> str:
        """Return the derivation of everything at a path, as a tree of text; `why` adds the reasons for choices.

        The path is that of a number, a bill line, a total, or the start of one; without it all numbers are explained.
        Raises KeyError if there is nothing at the path.
        """
        from bomgen.results.explain import NotKnown, explained, text
        from bomgen.results.reasons import find_reasons

        words = language()
        reasons = find_reasons(self._report, words, path, False) if why and path else []
        try:
            return text(explained(self._report, path, words, depth, reasons))
        except NotKnown as error:
            raise KeyError(str(error)) from None

    def files(self, *formats: str) -> dict[str, bytes]:
        """Return the files of quote and report by name, in formats or files as `bomgen build -f` takes them.

        Files of the plan's templates are always included. Raises ValueError for an unknown format, PlanErrors for an
        invalid template, OutputError for a PDF without WeasyPrint.
        """
        return writer.render(self._report, formats)

    def write(self, folder: str | PathLike[str], *formats: str) -> list[Path]:
        """Write files of the quote into a folder, all or none; the default formats are those of `bomgen build`.

        Return the paths written. Raises as `files`, and OutputError if a file cannot be written.
        """
        return writer.write_files(self.files(*(formats or DEFAULT_DOCUMENTS)), Path(folder))

    @property
    def summary(self) -> Row:
        """Return what a reader asks first: key figures, the bill in short, its totals, and the warnings."""
        figures, head, rows = self._shown()
        return {
            "name": self.name,
            "title": self.title,
            "figures": dict(figures),
            "bill": [dict(zip(head, row, strict=True)) for row in rows],
            "totals": self.totals,
            "warnings": [str(warning) for warning in self.warnings],
        }

    def wiring(self, fabrics: Sequence[str] = ()) -> Iterator[Row]:
        """Yield every cable, port to port, with the columns of `bomgen wiring -f csv`; optionally of some fabrics only.

        Raises ValueError for a plan with several clusters, and PlanErrors if links fill more cages than a switch has.
        """
        from bomgen.output.wiring.columns import tables

        for table in tables(pipeline.list_cables(self._report, fabrics).each_cable):
            for values in zip(*(column.tolist() for column in table.values()), strict=True):
                yield dict(zip(table, values, strict=True))

    def write_wiring(self, file: str | PathLike[str], form: str = "csv", fabrics: Sequence[str] = ()) -> list[Path]:
        """Write every cable, port to port, in a format of `bomgen wiring`, optionally of some fabrics only.

        Return the paths written: some formats write further files next to the named one. Raises ValueError for an
        unknown format and for a plan with several clusters, PlanErrors if links fill more cages than a switch has,
        Unsuitable for a format that cannot represent these cables, and OutputError if a file cannot be written.
        """
        if form not in WIRINGS.names:
            raise ValueError(unknown("format", form, WIRINGS.names))
        return writer.write_wiring(pipeline.list_cables(self._report, fabrics), form, Path(file), lambda _: None)

    def __repr__(self) -> str:
        return f"<bomgen.Result of {self.name}: {len(self._report.quote.all_lines)} lines>"

    def _repr_html_(self) -> str:
        figures, head, rows = self._shown()
        facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in figures)
        above = "".join(f"<th>{escape(name)}</th>" for name in head)
        below = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        table = f"<table><thead><tr>{above}</tr></thead><tbody>{below}</tbody></table>"
        return f"<h3>{escape(self.title)}</h3><table>{facts}</table>{table}"

    def _shown(self) -> tuple[list[tuple[str, str]], list[str], list[list[str]]]:
        """Return key figures, heading and rows of the bill in the language of the quote."""
        from bomgen.documents.chapters.contents import document

        words: Language = language(self._report.plan.quote.language)
        page = document(self._report, words)
        figures = [(label, words.cell(cell)) for label, cell in page.headline]
        head = [words.word(f"column-{key}") for key in ("quantity", "description", "sku", "amount")]
        rows = []
        for priced in self._report.quote.all_lines:
            amount = "–" if priced.amount is None else words.money(priced.amount, self._report.plan.quote.currency)
            line = priced.line
            rows.append([words.integer(line.pieces), words.message(line.description), line.sku or "–", amount])
        return figures, head, rows


def _opened(plan: Plan, root: str | PathLike[str] | None) -> PlanFile:
    top = None if root is None else fspath(root)
    if isinstance(plan, Mapping):
        return _in_memory(_json(plan, indent=1), DATA_NAME, top)
    if isinstance(plan, str) and "\n" in plan:
        return _in_memory(plan, TEXT_NAME, top)
    path = fspath(plan)
    return open_plan(f"./{path}" if path == STANDARD_INPUT else path, top)


def _in_memory(text: str, name: str, root: str | None) -> PlanFile:
    folder = Path(root or ".").resolve()
    return PlanFile(name, encoded(text, name), folder, folder)


def _json(data: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(data, indent=indent, default=str, ensure_ascii=False)
    except TypeError as error:
        raise ValueError(f"not plain data: {error}") from None
    except RecursionError:
        raise ValueError("not plain data: nested too deeply") from None


def _settings(settings: Settings) -> list[str]:
    """Return settings in the command line's form; values are written as JSON, which is valid YAML."""
    if isinstance(settings, Mapping):
        return [f"{key}={_json(value)}" for key, value in settings.items()]
    if isinstance(settings, str):
        raise TypeError("set takes a mapping, or a list of KEY=VALUE")
    return list(settings)
