"""What the page asks for of a plan: its problems, its result in tabs, what changed in it, its files and its words.

Each call takes the workspace and a request, data as JSON has them, and returns data as JSON has them. None knows of
HTTP or of processes. The quote is in its own language, everything else in that of the page.

What may be typed at a place of a plan (keys, permitted words, parts and models of the catalogue) is completed in a text
that is itself rarely complete, so the place is found by indentation and brackets, not by parsing.
"""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from bomgen.core.diagnostics import LINE_END, OutputError, PlanErrors
from bomgen.core.document import QUOTE, Cell, Column, Document, Drawing, Row, Section, Table
from bomgen.core.language import Language
from bomgen.core.messages import message, unknown
from bomgen.documents.chapters.contents import headline
from bomgen.documents.charts import POWER, OneLine, name_box, power_line
from bomgen.documents.diff.difference import Difference, compare, split_line
from bomgen.documents.diff.side import ComparedResult, compared_result_of
from bomgen.documents.tables import Writer, headline_total
from bomgen.fabric.types import SERVER
from bomgen.output.markdown_html import html
from bomgen.output.price_lists import PRICE_LISTS, margin_document, written
from bomgen.output.registry import DOCUMENTS, WIRINGS, DocumentInputs, Unsuitable, choose_documents
from bomgen.output.writer import render, write_wiring
from bomgen.plan.schema import declaration_at
from bomgen.results.result import Report, result
from bomgen.results.warnings import INFINIBAND
from bomgen.serve.calls import Data, Refused, Request, Workspace, language_of, open_design, pack, plan_of, problems_data
from bomgen.workflow.catalog_listing import part_descriptions
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import (
    check_plan,
    compute_fabric,
    list_cables,
    list_unpriced_parts,
    margin_of,
    select_phase,
    work_out,
)
from bomgen.workflow.plan_files import PlanFile

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring

Step = str | None
"""A key, or None for an item of a list."""

MOST_LINE = 2_000
"""Characters of a line in which brackets are read."""
_LINE = re.compile(r"( *)((?:- +)*)(.*)", re.DOTALL)
_KEY = re.compile(r"([\w.-]+|\"[^\"]*\"|'[^']*'):(?=\s|$)")
_WORD = re.compile(r"[\w.+-]*\Z")


class Place(NamedTuple):
    """The place of a cursor."""

    steps: tuple[Step, ...]
    """The path of the mapping, or with `value` that of the value."""
    value: bool
    word: str
    """What was typed of the word so far."""


def complete(_workspace: Workspace, request: Request) -> dict[str, Any]:
    """Return what may be typed at a line and column, both from 1 on, and the column from which it replaces text."""
    line, column = request["line"], request["column"]
    cursor = place_at(request["text"], line, column)
    if cursor is None:
        return {"from": column, "options": []}
    return {"from": column - len(cursor.word), "options": [*_options(cursor)]}


def _options(cursor: Place) -> Iterable[dict[str, str]]:
    declared = declaration_at(cursor.steps)
    if not cursor.value:
        keys = {name: declared.at(name) for name in declared.keys}
        return [
            {**_option(name, key.title, key.description, "key"), "opens": "yes" if key.has_keys else ""}
            for name, key in keys.items()
        ]
    parts = {id: named for kind in declared.kinds for id, named in part_descriptions(kind).items()}
    return [
        _option(word, *parts[word], "part") if word in parts else _option(word, "", "", "value")
        for word in declared.words
    ]


def _option(label: str, detail: str, info: str, kind: str) -> dict[str, str]:
    return {"label": label, "detail": detail, "info": info, "type": kind}


# place --------------------------------------------------------------------------------------------------------------


def place_at(text: str, line: int, column: int) -> Place | None:
    """Return the place of a cursor; None in a comment, and outside the text."""
    lines = LINE_END.split(text)
    if not 1 <= line <= len(lines):
        return None
    above, current = lines[: line - 1], lines[line - 1][: column - 1]
    opened = _opened_at([*above, current])
    if opened is None:
        return None
    start = line - 1 if opened < 0 else opened
    match = _LINE.match("\n".join([*lines[start : line - 1], current]))
    if match is None:
        return None
    indent, dashes, rest = match.groups()
    steps = _block_steps(lines[:start], len(indent), dashes)
    return _inner(steps, rest)


def _opened_at(lines: Sequence[str]) -> int | None:
    """Return the line of the outermost bracket that is open at the end, -1 without one, None if in a comment."""
    open_at, quote = list[int](), ""
    for number, line in enumerate(lines):
        quote, before, last = "", " ", ""
        for sign in line:
            if quote:
                quote = "" if sign == quote else quote
            elif sign == "#" and before.isspace():
                if number == len(lines) - 1:
                    return None
                break
            elif sign in "\"'" and (before.isspace() or before in "[{,"):
                quote = sign
            elif sign in "[{" and (open_at or last in ("", ":", "-")):
                open_at.append(number)
            elif sign in "]}" and open_at:
                open_at.pop()
            before, last = sign, last if sign.isspace() else sign
    return open_at[0] if open_at else -1


def _block_steps(above: Sequence[str], indent: int, dashes: str) -> list[Step]:
    """Return the path of a line from the lines above it, by their indentation."""
    steps: list[Step] = [None] * dashes.count("-")
    bound, dash_bound = (indent + 1, indent) if dashes else (indent, indent)
    for line in reversed(above):
        match = _LINE.match(line)
        if match is None or not match[3].strip() or match[3].startswith("#"):
            continue
        margin, items = len(match[1]), len(match[2])
        key = _KEY.match(match[3])
        if key and margin + items < bound:
            steps.insert(0, key[1].strip("\"'"))
            bound = dash_bound = margin + items
        if items and margin < dash_bound:
            steps[:0] = [None] * match[2].count("-")
            bound, dash_bound = margin + 1, margin
        if bound <= 0:
            break
    return steps


def _inner(steps: list[Step], rest: str) -> Place:
    """Return the place at the end of a line, which may have brackets; only the end of a long line is read."""
    path, start = list(steps), 0
    rest = rest[-MOST_LINE:]
    opened = list[tuple[str | None, str]]()
    """The open brackets, each with the key whose value it is."""
    current: str | None = None
    at = 0
    while at < len(rest):
        if match := _KEY.match(rest, at) if not rest[start:at].strip() and current is None else None:
            current, at = match[1].strip("\"'"), match.end()
            start = at
            continue
        sign = rest[at]
        if sign in "\"'" and not rest[start:at].strip():
            end = rest.find(sign, at + 1)
            at = len(rest) if end < 0 else end
        elif sign in "{[" and not rest[start:at].strip():
            opened.append((current, sign))
            if current is not None:
                path.append(current)
            if sign == "[":
                path.append(None)
            current, start = None, at + 1
        elif sign in "}]" and opened:
            current, bracket = opened.pop()
            if bracket == "[":
                path.pop()
            if current is not None:
                path.pop()
            start = at + 1
            rest = rest[: at + 1] + "x" + rest[at + 1 :] if at + 1 == len(rest) else rest
        elif sign == "," and opened:
            current, start = None, at + 1
        at += 1
    typed = _WORD.search(rest[start:])
    word = typed[0] if typed else ""
    if current is not None:
        return Place((*path, current), True, word)
    return Place(tuple(path), bool(opened) and opened[-1][1] == "[", word)


FIRST = (("cluster", "gpus"), ("cluster", "servers"), ("site", "power_w"))
"""The numbers that stand beside the total; the other key figures are folded."""


def check(workspace: Workspace, request: Request) -> Data:
    """Return the problems of a plan."""
    try:
        problems = check_plan(plan_of(workspace, request))
    except PlanErrors as errors:
        problems = errors.problems
    return {"problems": problems_data(problems, request["path"], request["text"])}


def build(workspace: Workspace, request: Request) -> Data:
    """Return problems, key figures, the change since the last saved state, and the tabs that are asked for.

    Of a plan with phases, figures and tabs are those of a `phase`, or of the whole without one.
    """
    path, text = request["path"], request["text"]
    tabs = request.get("tabs") or ()
    if strange := [tab for tab in tabs if tab not in (*TABS, MARGIN)]:
        raise Refused(unknown("tab", strange[0], (*TABS, MARGIN)))
    words = language_of(request)
    try:
        built = _built("current", plan_of(workspace, request))
        report, phases = built.report, [phase.name for phase in built.report.plan.phases]
        if request.get("phase") in phases:
            report = select_phase(report, request["phase"])
        shown = {
            tab: TABS[tab](DocumentInputs(report, (), None if tab == QUOTE else words))
            if tab in TABS
            else _margin_tab(built.inputs, report, words)
            for tab in tabs
        }
    except PlanErrors as errors:
        problems = problems_data(errors.problems, path, text, words.message)
        return {"problems": problems, "headline": [], "figures": [], "delta": None, "tabs": {}, "phases": None}
    headline, figures = _headline(report, words)
    return {
        "problems": problems_data((*built.report.problems, *built.report.stale), path, text, words.message),
        "headline": headline,
        "figures": figures,
        "delta": _delta(workspace, request, built, words),
        "tabs": shown,
        "name": report.plan.name,
        "phases": phases,
    }


def _headline(report: Report, words: Language) -> tuple[list[list[str]], list[list[str]]]:
    """Return the total, GPUs, servers and power, and the other key figures: label, value and, of an estimate, range."""
    writer, quote = Writer(report, words), report.quote
    total = [*headline_total(quote.totals, quote.lines, quote.indications, words), ""]
    figures = [[label, *words.figure(cell)] for label, cell in headline(writer, writer.cluster_writers())]
    first = {writer.label(path) for path in FIRST}
    leading = [figure for figure in figures if figure[0] in first]
    return [total, *leading], [figure for figure in figures if figure[0] not in first]


class _Built:
    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.report = inputs, work_out(inputs)

    @cached_property
    def side(self) -> ComparedResult:
        """Return the result as a side of a comparison."""
        return compared_result_of(result(self.report), self.inputs.file.name, self.inputs.source)

    @cached_property
    def wirings(self) -> list[tuple[str, Wiring]]:
        """Return the links of each cluster, and how the names of its fabrics begin in drawings."""
        named = ((cluster, cluster.plan.cluster_name) for cluster in self.report.each_cluster)
        return [(f"{name}." if name else "", list_cables(cluster)) for cluster, name in named]

    def is_of(self, inputs: Inputs) -> bool:
        """Return whether the result is that of the same files."""
        built_from = self.inputs
        return built_from.file == inputs.file and built_from.contents == inputs.contents and not inputs.catalog.folders


_last: dict[str, _Built] = {}
"""The current state of the plan and the last saved one, by `current` and `base`."""


def _built(state: str, file: PlanFile) -> _Built:
    """Return a plan and its result; the result for the same files, as after a save, is reused."""
    inputs = read_all(file, costs=True)
    built = next((earlier for earlier in _last.values() if earlier.is_of(inputs)), None) or _Built(inputs)
    _last[state] = built
    return built


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
    is_priced = difference.money and not (difference.old.totals.is_unknown and difference.new.totals.is_unknown)
    change = difference.money.change if difference.money and is_priced else None
    return {"lines": lines, "amount": None if change is None else f"{change:f}", "currency": currency}


CHAPTERS = {
    "network": ("network",),
    "racks": ("site", "racks", "installation"),
    "bill": ("bill", "costs", "order"),
    "prices": ("prices",),
}
EMPTY = "ui-nothing-{tab}"
"""The word for a tab that has nothing to show."""
MARGIN = "margin"
CABLES_SHOWN = 500
"""Cables that the list shows of each cluster; a download has all."""
CABLE_COLUMNS = ("fabric", "a_device", "a_port", "b_device", "b_port", "medium", "sku", "length_m", "label")
DRAWN, KINDS = ("network", "racks", "serving", "sizing"), ("drawing", "racks")
"""The chapters that may have a drawing of a design, and the kinds that are shown rather than a chart."""


def _chapter_tab(tab: str) -> Callable[[DocumentInputs], str]:
    """Return the function that shows some chapters of the report."""

    def show(source: DocumentInputs) -> str:
        page, words = source.chapters(CHAPTERS[tab]), source.language
        said = words.word(EMPTY.format(tab=tab), lines=source.report.quote.totals.lines)
        sections = page.sections or [Section(tab, words.word("ui-nothing"), text=(said,))]
        return _page(replace(_part(source, sections), sums=page.sums), words)

    return show


def _part(source: DocumentInputs, sections: Sequence[Section]) -> Document:
    return Document(source.report.plan.title, source.language.code, tuple(sections), totals=source.report.quote.totals)


def _page(document: Document, words: Language) -> str:
    return html(document, words, alone=False).decode("utf-8")


def _cables(report: Report, words: Language) -> Section:
    from bomgen.output.wiring.columns import tables
    from bomgen.output.wiring.xlsx import columns as titled_columns

    wiring = list_cables(report).each_cable
    rows = list[Row]()
    for table in tables(wiring):
        columns = [table[name][: CABLES_SHOWN - len(rows)].tolist() for name in CABLE_COLUMNS]
        rows += (Row(tuple(map(Cell, values))) for values in zip(*columns, strict=True))
        if len(rows) >= CABLES_SHOWN:
            break
    titles = {column.source: column.title for column in titled_columns(words)} | {"fabric": words.word("wiring-fabric")}
    head = tuple(Column(name, titles[name], "number" if name == "length_m" else "text") for name in CABLE_COLUMNS)
    key = "ui-cables-first" if len(rows) < wiring.pieces else "ui-cables-all"
    title = words.word(key, shown=words.integer(len(rows)), all=words.integer(wiring.pieces))
    name = report.plan.cluster_name or ""
    listed = Table(f"cables.{name}" if name else "cables", title, head, tuple(rows), open=True)
    return Section(listed.id, name or words.word("wiring-cables"), tables=(listed,))


def _margin_tab(inputs: Inputs, report: Report, words: Language) -> str:
    """Return cost, price and margin of every line, which no file for the customer has."""
    margin = margin_of(inputs, report)
    if margin is not None:
        return _page(margin_document(margin, words), words)
    empty = Section(MARGIN, words.word("ui-nothing"), text=(words.word(EMPTY.format(tab=MARGIN)),))
    return _page(_part(DocumentInputs(report, (), words), [empty]), words)


TABS: dict[str, Callable[[DocumentInputs], str]] = {
    QUOTE: lambda source: _page(source.quote, source.language),
    "report": lambda source: _page(source.page, source.language),
    **{tab: _chapter_tab(tab) for tab in CHAPTERS},
    "cables": lambda source: _page(
        _part(source, [_cables(cluster, source.language) for cluster in source.report.each_cluster]), source.language
    ),
}


# devices --------------------------------------------------------------------------------------------------------------


def device(workspace: Workspace, request: Request) -> Data:
    """Return name and facts of a device of a drawing, and its links: `at` is what a drawing calls their other ends.

    `rail` numbers the planes of a network, and the NICs of a server where it has one plane. Raises Refused for a device
    that the design does not have.
    """
    from bomgen.cabling.types import NOWHERE
    from bomgen.output.wiring.columns import list_links

    built, words = _built("current", plan_of(workspace, request)), language_of(request)
    if request["device"].startswith(f"{POWER} "):
        return _power_box(built.report, words, request["device"])
    for prefix, wiring in built.wirings:
        number = _device_number(wiring, prefix, request["device"])
        if number is not None:
            break
    else:
        raise Refused(message("refused-device", device=request["device"]))
    kind, places = wiring.kind_of(number), wiring.places
    rack, unit = (int(places.rack[number]), int(places.unit[number])) if places else (NOWHERE, NOWHERE)
    where = words.word("ui-rack-number", racks=rack) + ("" if unit == NOWHERE else f", U{unit}")
    facts = {
        "model": words.message(kind.identity.name) if kind.identity else "",
        "place": "" if rack == NOWHERE else where,
        "power": words.shown(kind.power_w) if kind.power_w else "",
    }
    links, (rows, table) = list[Data](), list_links(wiring, number)
    for at, row in enumerate(rows.tolist()):
        lower, upper = int(wiring.a_device[row]), int(wiring.b_device[row])
        own, other, peer = ("a", "b", upper) if lower == number else ("b", "a", lower)
        of_upper, of_peer = wiring.kind_of(upper), wiring.kind_of(peer)
        plane, is_of_server = (upper - of_upper.start) // of_upper.per_plane, wiring.kind_of(lower).device == SERVER
        cells = {name: column[at] for name, column in table.items()}
        links.append(
            {
                "port": cells[f"{own}_port"],
                "device": cells[f"{other}_device"],
                "device_port": cells[f"{other}_port"],
                "at": f"{prefix}{cells['fabric']} {of_peer.device} {peer - of_peer.start + 1}",
                "rail": plane if of_upper.planes > 1 else int(wiring.a_cage[row]) if is_of_server else None,
                "label": cells["label"],
                "cable": cells["sku"],
                "length": words.value(Fraction(str(cells["length_m"])), "m"),
            }
        )
    return {"name": kind.name(number - kind.start), "facts": facts, "links": links}


def _power_box(report: Report, words: Language, device: str) -> Data:
    """Return name and facts of a box of the power supply, and links to those that supply it and that it supplies."""
    charts = power_line(Writer(report, words))
    levels = next((chart.shape.levels for chart in charts if isinstance(chart.shape, OneLine)), ())
    named = {name_box(at, of): (at, box) for at, level in enumerate(levels, 1) for of, box in enumerate(level, 1)}
    if device not in named:
        raise Refused(message("refused-device", device=device))
    depth, (name, text) = named[device]
    facts, links = {"power": text}, list[Data]()
    for fact, near in (("supplied", depth - 1), ("supplies", depth + 1)):
        boxes = levels[near - 1] if 0 < near <= len(levels) else ()
        facts[fact] = words.word("list-semicolon").join(words.word("name-in").join(box) for box in boxes)
        links += [{"at": name_box(near, at), "rail": None} for at in range(1, len(boxes) + 1)]
    return {"name": name, "facts": facts, "links": links}


def _device_number(wiring: Wiring, prefix: str, device: str) -> int | None:
    """Return the number of a device by its name, or by its fabric, tier and number there, as a drawing has it."""
    fabric, *place = device.split(" ")
    if not place:
        return wiring.names.index(device) if device in wiring.names else None
    tier, count = place[0], int(place[1]) if len(place) > 1 and place[1].isdecimal() else 0
    of_fabric = (None, fabric.removeprefix(prefix)) if fabric.startswith(prefix) else ()
    kinds = (kind for kind in wiring.kinds if kind.device == tier and kind.fabric in of_fabric)
    return next((kind.start + count - 1 for kind in kinds if 0 < count <= kind.number), None)


# other views ---------------------------------------------------------------------------------------------------------


def compare_plans(workspace: Workspace, request: Request) -> Data:
    """Return a comparison of plans as a page. Raises PlanErrors for an invalid one."""
    from bomgen.documents.comparison import compared, document
    from bomgen.output.drawing.charts import comparison_drawing

    if len(request["plans"]) < 2:
        raise Refused("name two or more plans to compare")
    reports = [work_out(plan_of(workspace, plan)) for plan in request["plans"]]
    words = language_of(request, reports[0].plan.quote.language)
    comparison = compared(reports, words, False)
    return {"html": _page(document(comparison, words, comparison_drawing(comparison, words)), words)}


def picture(workspace: Workspace, request: Request) -> Data:
    """Return the drawing of a design as the report has it: of its network, else of a rack, else its first chart."""
    opened, words = open_design(request["name"]), language_of(request)
    report = work_out(workspace.plan_file(opened["path"], opened["text"]))
    sections = DocumentInputs(report, (), words).chapters(DRAWN).sections
    drawings = [drawing for section in sections for drawing in section.drawings]
    return {"svg": min(drawings, key=_rank).svg if drawings else ""}


def _rank(drawing: Drawing) -> int:
    """Return the rank of a drawing by its kind; a chart comes last."""
    kind = drawing.id.partition("-")[0]
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


WIRING = "wiring-"
"""Prefix of the formats of cable lists, as in wiring-csv."""
UNPRICED = "unpriced-"
"""Prefix of the forms of price lists, as in unpriced-csv: the parts without a price, to be filled in."""
READERS: Mapping[str, Sequence[str]] = {
    "customer": ("quote.pdf", "quote.xlsx", "quote.html", "quote.md"),
    "engineer": ("report.html", "report.xlsx", "report.md", "bom.csv", "fabric-NAME.svg"),
    "installer": ("install.html", "wiring-xlsx", "wiring-csv"),
}
"""Who a file is for, first the customer, so that a quote is not sent with the report of the engineer."""
OF_PHASE = (("customer", "quote.pdf"), ("customer", "quote.xlsx"), ("installer", "wiring-xlsx"))
"""The files of each phase of a plan, behind its name."""
PROGRAMS = "programs"
"""The reader of all other files."""
ADDRESSED = ("customer", "vendor", "date")
"""What a quote says of whose it is and of when, without which it can be written and not sent."""
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can hold, so that equal files give equal archives."""


def download(workspace: Workspace, request: Request) -> Data:
    """Return the file of a format, as `bomgen build`, `wiring` or `prices` writes it; several files as an archive.

    Raises PlanErrors, and Refused for an unknown format and one that cannot hold this result.
    """
    phase, _, form = request["format"].rpartition("/")
    report = work_out(plan_of(workspace, request))
    report = select_phase(report, phase) if phase else report
    try:
        if form.startswith(WIRING):
            files = wiring_files(report, form.removeprefix(WIRING))
        elif form.startswith(UNPRICED):
            files = _unpriced(report, form.removeprefix(UNPRICED))
        else:
            choose_documents([form])
            files = render(report._replace(templates=()), [form])
    except (ValueError, Unsuitable, OutputError) as error:
        raise Refused(str(error)) from None
    if len(files) == 1:
        [(name, content)] = files.items()
        name = name if name.startswith(report.plan.name) or not phase else f"{report.plan.name}-{name}"
    else:
        name, content = f"{report.plan.name}-{form.rpartition('.')[2]}.zip", archive(files)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return {"name": name, "type": kind, "base64": b64encode(content).decode("ascii")}


def formats(workspace: Workspace, request: Request) -> Data:
    """Return the files that a plan can have, each with its description, by reader.

    A file of `bomgen build` has its name, one of `bomgen wiring` its format, one of a phase the name of that before it.
    `missing` has what a customer needs and the quote does not say. Raises PlanErrors for an invalid plan.
    """
    report = work_out(plan_of(workspace, request))
    offered = [(file, form) for form in DOCUMENTS.names if _can_have(report, form) for file in DOCUMENTS.files(form)]
    about = {file: DOCUMENTS.constant(form, "ABOUT") for file, form in offered}
    about |= {WIRING + name: text for name, text in WIRINGS.described() if _can_have(report, WIRING + name)}
    read = {reader: [file for file in files if file in about] for reader, files in READERS.items()}
    read[PROGRAMS] = [file for file in about if all(file not in files for files in READERS.values())]
    for phase in report.plan.phases:
        for reader, file in OF_PHASE:
            if file in about:
                read[reader].append(f"{phase.name}/{file}")
                about[read[reader][-1]] = about[file]
    quote = report.plan.quote
    listed = {reader: [{"format": file, "about": about[file]} for file in files] for reader, files in read.items()}
    return {
        "formats": {reader: files for reader, files in listed.items() if files},
        "missing": [name for name in ADDRESSED if getattr(quote, name) is None],
    }


def _can_have(report: Report, form: str) -> bool:
    """Return whether a format can hold a result, and has the package that it needs."""
    formats = WIRINGS if form.startswith(WIRING) else DOCUMENTS
    package = formats.constant(form.removeprefix(WIRING), "PACKAGE")
    if package and find_spec(package) is None:
        return False
    fabrics = [fabric for cluster in report.each_cluster for fabric in cluster.design.fabrics]
    if not form.startswith(WIRING):
        of_fabrics = "{name}" in DOCUMENTS.constant(form, "FILE")
        return bool(fabrics or not of_fabrics)
    if report.clusters or not fabrics:
        return False
    if not WIRINGS.constant(form.removeprefix(WIRING), "ONE_FABRIC"):
        return True
    one = [fabric for fabric in fabrics if fabric.plan.name in compute_fabric(report)]
    return bool(one) and all(tier.switch.protocol == INFINIBAND for tier in one[0].fabric.tiers)


def wiring_files(report: Report, form: str) -> dict[str, bytes]:
    """Return the files of a cable list. Raises Refused for an unknown format."""
    if form not in WIRINGS.names:
        raise Refused(unknown("format of cable lists", form, WIRINGS.names))
    cables = list_cables(report, compute_fabric(report) if WIRINGS.constant(form, "ONE_FABRIC") else ())
    with TemporaryDirectory(prefix="bomgen-") as folder:
        target = Path(folder, f"{report.plan.name}-wiring.{form}")
        return {path.name: path.read_bytes() for path in write_wiring(cables, form, target, lambda _: None)}


def _unpriced(report: Report, form: str) -> dict[str, bytes]:
    if form not in PRICE_LISTS.names:
        raise Refused(unknown("form of price lists", form, PRICE_LISTS.names))
    if not (entries := list_unpriced_parts(report)):
        raise Refused(message("refused-all-priced"))
    return {f"{report.plan.name}-prices.{form}": written(entries, form)}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return files as one archive, with equal bytes for equal files."""
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archived:
        for name, content in files.items():
            archived.writestr(ZipInfo(name, ZIP_TIME), content, ZIP_DEFLATED)
    return out.getvalue()


def share(workspace: Workspace, request: Request) -> Data:
    """Return the report as a file to send, and the plan packed into text for the fragment of a link."""
    report = work_out(plan_of(workspace, request))
    source = DocumentInputs(report, ("html",))
    return {"html": source.html("report").decode("utf-8"), "packed": pack(request["text"])}
