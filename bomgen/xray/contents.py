"""Bills named by the user, and the x-ray of one: as a document, as data, and as the plan that rebuilds it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from bomgen import __version__
from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import error_at
from bomgen.core.document import Cell, Column, Document, Row, Section, Table, row_of
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH, message
from bomgen.core.provenance import Assumed, Figure, Mark, json_value
from bomgen.core.yaml_edit import write_scalar
from bomgen.core.yaml_source import encoded
from bomgen.fabric.types import topology
from bomgen.reading.bills import SentBill, SentLine, read_bill, require_whole
from bomgen.reading.columns import NOTHING, RequestedColumns
from bomgen.reading.part_numbers import Named, PartIndex
from bomgen.reading.point_to_point import TIERS
from bomgen.reading.tables import is_pdf, read_pdf, read_tables
from bomgen.results.result import sources_text
from bomgen.workflow.plan_files import PlanFile, content_of
from bomgen.xray.inspection import DesignFound, Explained, Inspection, Xray, inspect
from bomgen.xray.laws import SEVERITIES, SPARED, Finding, name_place
from bomgen.xray.lines import SERVER_LEAF, CountedNetwork, PlacedPart, build_design, list_slots

WIDE, MIDDLE, NARROW = 80, 30, 10
MOST_SHOWN = 10
"""Doubts, and unknowns, that are shown unless all are asked for."""
NOTED = ("without-racks", "without-pdus", "without-spares", "choose", "choose-pieces", "required")
"""Findings on what a bill need not have, which are one line of notes."""


def xray_document(xray: Xray, language: Language, every: bool = False, compared: Document | None = None) -> Document:
    """Return the findings about a bill as a document; all of them, or at most `MOST_SHOWN` doubts and unknowns each.

    `compared` says what differs between its cables and a plan.
    """
    word = language.word
    counts = {severity: sum(1 for finding in xray.findings if finding.severity == severity) for severity in SEVERITIES}
    return Document(
        title=word("xray-heading", file=xray.bill.file),
        language=language.code,
        headline=tuple((word(f"xray-{severity}s"), Cell(count)) for severity, count in counts.items()),
        sections=tuple(
            section for section in _sections(xray, language, every, compared) if section.tables or section.text
        ),
        footer=word("compare-footer", version=__version__),
    )


def _sections(xray: Xray, language: Language, every: bool, compared: Document | None) -> Iterator[Section]:
    word = language.word
    shown, hidden = _shown_findings(xray.findings, every)
    table = _findings(shown, xray.bill.currency, language)
    first, wrong = answer(xray, language)
    of_plan = [text for section in compared.sections[:1] for text in section.text] if compared else []
    is_wrong = wrong != word("xray-nothing-wrong")
    said = [first, *of_plan, *([wrong] if is_wrong or not of_plan else []), *_read(xray, language)]
    if noted := list(_notes(xray.findings, language)):
        said.append(word("xray-not-listed", parts=word("list-comma").join(dict.fromkeys(noted))))
    if hidden:
        said.append(word("xray-more", count=hidden))
    yield Section("findings", word("xray-findings"), tuple(said), (table,) if table.rows else ())
    fabrics = _fabrics(xray, language)
    assumed = tuple(_assumption(figure, origin, language) for figure, origin in xray.assumptions)
    yield Section("fabrics", word("xray-fabrics"), assumed, (fabrics,) if fabrics.rows else ())
    yield Section("lines", word("xray-lines"), (), (_lines(xray, language),))
    yield from compared.sections if compared else ()


def _assumption(figure: Figure, origin: Assumed, language: Language) -> str:
    return language.word(
        "xray-assumed",
        name=language.message(origin.name),
        value=str(figure.value),
        unit=figure.unit,
        why=language.message(origin.why),
        sources=sources_text(origin),
    )


def _read(xray: Xray, language: Language) -> Iterator[str]:
    word = language.word
    columns = word("list-comma").join(f"{name} = {heading}" for name, heading in xray.bill.columns.items())
    yield word("xray-read-as", columns=columns)
    if xray.bill.repeating:
        yield word("xray-repeating", sheets=word("list-comma").join(xray.bill.repeating))
    if xray.bill.left_out:
        names = (word("xray-hidden", sheet=name) if name in xray.bill.hidden else name for name in xray.bill.left_out)
        yield word("xray-left-out", sheets=word("list-comma").join(names))


def answer(xray: Xray, language: Language) -> tuple[str, str]:
    """Return the answer in two sentences: what the bill is of, and what is wrong with it."""
    word = language.word
    said = [language.message(servers) for servers in xray.servers]
    for fabric in xray.fabrics:
        shown = _describe(fabric.designs[0], language) if fabric.designs else ""
        if fabric.designs and not xray.servers:
            shown += word("list-comma") + word("xray-for-servers", servers=fabric.designs[0].servers)
        if not shown and fabric.counted:
            shown = _describe_counts(fabric.counted, language)
        if shown:
            said.append(f"{fabric.title}{word('name-in')}{shown}")
    first = word("xray-is", parts=word("list-semicolon").join(said)) if said else word("xray-is-unknown")
    wrong = [finding for finding in xray.findings if finding.severity != "unknown" and finding.code not in NOTED]
    if not wrong:
        return first, word("xray-nothing-wrong")
    shown = f"{name_place(wrong[0].mark)}{word('name-in')}{language.message(wrong[0].message)}"
    more = word("xray-others", count=len(wrong) - 1) if len(wrong) > 1 else ""
    code = "xray-wrong" if wrong[0].severity == "error" else "xray-doubtful"
    return first, word(code, first=language.beside(shown, more))


def _shown_findings(findings: Sequence[Finding], every: bool) -> tuple[list[Finding], int]:
    """Return the findings of the first screen, and the number of others."""
    if every:
        return list(findings), 0
    table = [finding for finding in findings if finding.code not in NOTED]
    shown = list[Finding]()
    for severity in SEVERITIES:
        alike = [finding for finding in table if finding.severity == severity]
        shown += alike if severity == "error" else alike[:MOST_SHOWN]
    return shown, len(table) - len(shown)


def _notes(findings: Sequence[Finding], language: Language) -> Iterator[str]:
    """Yield what a bill need not have, such as racks, cords and cleaners, by name."""
    for finding in findings:
        if finding.code in NOTED:
            parameters = finding.message.parameters
            parts = parameters.get("parts", parameters.get("part", ()))
            first = parts if isinstance(parts, str) else next(iter(parts), "") if isinstance(parts, tuple) else ""
            named = language.message(first) if first else language.word(f"xray-{finding.code}-short")
            pieces = parameters.get("pieces")
            yield f"{pieces} x {named}" if pieces else named


def _findings(findings: Sequence[Finding], currency: str, language: Language) -> Table:
    word = language.word
    columns = (
        Column("place", word("xray-place"), "text", MIDDLE),
        Column("finding", word("xray-finding"), "text", WIDE),
        Column("pieces", word("xray-pieces"), "number", NARROW),
        Column("money", word("column-amount"), "money", NARROW),
    )
    rows = tuple(
        row_of(
            name_place(finding.mark),
            language.message(finding.message),
            Cell(finding.pieces or ""),
            Cell("") if finding.money is None else Cell(finding.money, currency),
            group=word(f"xray-{finding.severity}"),
        )
        for finding in findings
    )
    used = [at for at in range(len(columns)) if any(row.cells[at].value != "" for row in rows)]
    rows = tuple(Row(tuple(row.cells[at] for at in used), row.group) for row in rows)
    return Table("findings", word("xray-findings"), tuple(columns[at] for at in used), rows, open=True)


def _fabrics(xray: Xray, language: Language) -> Table:
    word = language.word
    columns = (
        Column("design", word("xray-design"), "text", WIDE),
        Column("servers", word("xray-servers"), "number", NARROW),
        Column("lines", word("xray-claimed"), "number", NARROW),
    )
    rows = list[Row]()
    for fabric in xray.fabrics:
        title = f"{fabric.title}{word('name-in')}{word(f'xray-explains-{fabric.explains}')}"
        for design in fabric.designs:
            rows.append(row_of(_describe(design, language), design.servers, len(fabric.lines), group=title))
        if fabric.counted and (counts := _describe_counts(fabric.counted, language)):
            rows.append(row_of(word("xray-by-counts", counts=counts), "", "", group=title))
        elif not fabric.designs:
            rows.append(row_of(word("xray-explains-nothing"), "", 0, group=title))
    return Table("fabrics", word("xray-fabrics"), columns, tuple(rows), open=True)


def _describe(design: DesignFound, language: Language) -> str:
    word = language.word
    tiers = ((language.value(tier, "word"), count) for tier, count in design.tiers)
    switches = " + ".join(word("xray-tier", count=count, tier=tier) for tier, count in tiers)
    # Planes of one switch each are no planes to a reader, but switches that nothing connects.
    alone = design.planes > 1 and design.planes == sum(count for _, count in design.tiers)
    separate = alone and not topology(design.topology).isolated_rails
    kind = word("xray-separate") if separate else language.value(design.topology, "word")
    said = [kind, language.beside(switches, design.switch)]
    if design.ratio:
        said.append(word("xray-ratio", ratio=design.ratio))
    elif len(design.tiers) > 1:
        said.append(word("xray-ratio-unknown"))
    said += [word("xray-planes", planes=design.planes)] if design.planes > 1 and not separate else []
    said += [language.value(design.homing, "word")] if design.homing else []
    said += [word("xray-repeats")] if design.repeats else []
    said += [word("xray-carries", servers=design.carries)] if design.carries else []
    return word("list-comma").join(said)


def _describe_counts(network: CountedNetwork, language: Language) -> str:
    """Return the switches and links of a network that are counted alone, in words."""
    tiers = (
        language.word("xray-tier", count=count, tier=language.value(tier, "word"))
        if tier in TIERS
        else language.message(message("xray-has-switches", count=count))
        for tier, count in network.switches
    )
    said = [" + ".join(tiers)] if network.switches else []
    for links in network.links:
        kind = language.word(f"label-{links.kind}") if links.kind else language.word("xray-links-of-any-kind")
        rate = f" ({links.gbps}G)" if links.gbps else ""
        said.append(language.word("xray-has-links", links=links.links, kind=kind, rate=rate))
        if links.kind == SERVER_LEAF and links.gbps and not network.switches:
            said.append(language.word("xray-as-gpus", links=links.links))
    return language.word("list-comma").join(said)


def _lines(xray: Xray, language: Language) -> Table:
    word = language.word
    is_workbook = any(line.mark.sheet for line in xray.bill.lines)
    columns = (
        Column("line", word("xray-line"), "text" if is_workbook else "number", NARROW),
        Column("shown", word("xray-shown"), "text", MIDDLE),
        Column("pieces", word("xray-pieces"), "number", NARROW),
        Column("part", word("xray-part"), "text", MIDDLE),
        Column("reason", word("xray-reason"), "text", WIDE),
        Column("fabric", word("column-fabric"), "text", NARROW),
    )
    claimed: dict[Mark, dict[str, None]] = {}
    for fabric in xray.fabrics:
        for line in fabric.lines:
            claimed.setdefault(line.mark, {})[fabric.title] = None
    rows = (
        row_of(
            name_place(line.mark) if line.mark.sheet else line.mark.line,
            line.shown,
            Cell(None if line.quantity is None else line.pieces),
            _part(named := line.recognition.named, language),
            language.message(named.reason) if named else "",
            word("list-comma").join(claimed.get(line.mark, ())),
        )
        for line in xray.bill.lines
    )
    return Table("lines", word("xray-lines"), columns, tuple(rows), folded=True)


def _part(named: Named | None, language: Language) -> str:
    if named is None:
        return language.word("xray-not-known")
    return named.part if named.certain else language.word("xray-taken", part=named.part)


# data ---------------------------------------------------------------------------------------------------------------
# The x-ray of a bill as data.

FORMAT = 1


def to_data(xray: Xray) -> dict[str, Any]:
    """Return the findings as data: numbers as numbers, amounts as text."""
    left = {line.mark for line in xray.left}
    return {
        "bomgen_xray": FORMAT,
        "file": xray.bill.file,
        "summary": list(answer(xray, language(ENGLISH))),
        "currency": xray.bill.currency or None,
        "columns": dict(xray.bill.columns),
        "left_out": list(xray.bill.left_out),
        "repeating": list(xray.bill.repeating),
        "findings": [
            {
                "severity": finding.severity,
                "code": finding.code,
                "file": finding.mark.file,
                "sheet": finding.mark.sheet or None,
                "line": finding.mark.line,
                "message": str(finding.message),
                "part": finding.part or None,
                "pieces": finding.pieces or None,
                "money": None if finding.money is None else f"{finding.money:f}",
            }
            for finding in xray.findings
        ],
        "fabrics": [
            {
                "name": fabric.name,
                "cluster": fabric.cluster or None,
                "explains": fabric.explains,
                "lines": [line.mark.line for line in fabric.lines],
                "places": [name_place(line.mark) for line in fabric.lines],
                "designs": [
                    {
                        **design._asdict(),
                        "tiers": dict(design.tiers),
                        "ratio": design.ratio or None,
                        "homing": design.homing or None,
                    }
                    for design in fabric.designs
                ],
                "counted": _counted(fabric.counted),
            }
            for fabric in xray.fabrics
        ],
        "assumptions": [
            {
                "name": str(origin.name),
                "value": json_value(figure.value),
                "unit": figure.unit,
                "source": sources_text(origin),
            }
            for figure, origin in xray.assumptions
        ],
        "lines": [{**_line(line), "explained": line.mark not in left} for line in xray.bill.lines],
    }


def _counted(counted: CountedNetwork | None) -> dict[str, Any] | None:
    if counted is None:
        return None
    links = [{**links._asdict(), "kind": links.kind or None, "gbps": links.gbps or None} for links in counted.links]
    return {"switches": dict(counted.switches), "links": links}


def _line(line: SentLine) -> dict[str, Any]:
    named = line.recognition.named
    return {
        "place": name_place(line.mark),
        "sheet": line.mark.sheet or None,
        "line": line.mark.line,
        "part": line.part or None,
        "description": line.description or None,
        "quantity": line.quantity,
        "spare": line.spare,
        "unit_price": None if line.unit_price is None else f"{line.unit_price:f}",
        "amount": None if line.amount is None else f"{line.amount:f}",
        "kind": named.kind if named else None,
        "id": named.part if named else None,
        "certain": named.certain if named else None,
        "reason": str(named.reason) if named else None,
        "nearest": list(line.recognition.nearest),
    }


PERCENT = 100
SHARE_STEPS = (PERCENT, 10 * PERCENT, PERCENT * PERCENT)
"""Denominators of spare shares to try: whole per cent, then tenths and hundredths of one."""


def plan_text(inspection: Inspection, name: str) -> str:
    """Return the plan that rebuilds a bill. Raises PlanErrors if no fabric is explained, or it differs."""
    bill = inspection.found.bill
    fabrics = [fabric for fabric in inspection.fabrics if fabric.explains != "nothing"]
    if not fabrics:
        wrong = "no plan is written: no plan that was tried explains a fabric of this bill"
        raise error_at(bill.file, wrong, "not-explained")
    clusters = dict.fromkeys(fabric.cluster for fabric in fabrics)
    if len(clusters) > 1:
        data: dict[str, Any] = {
            "clusters": [{"name": cluster, **_cluster(fabrics, cluster, inline=True)} for cluster in clusters]
        }
    else:
        data = _cluster(fabrics, next(iter(clusters)), inline=False)
    spares, other_spares = _spares(fabrics)
    whole = {"bomgen": 1, "name": name, **data, **({"spares": spares} if spares else {})}
    for cluster in clusters:
        _compare(fabrics, cluster, bill)
    comments = [f"# Made from {bill.file}: what explains its fabrics.", *_comments(inspection), *other_spares]
    return "\n".join([*comments, *_yaml_lines(whole, 0)]) + "\n"


def _cluster(fabrics: list[Explained], cluster: str, inline: bool) -> dict[str, Any]:
    explained = [fabric for fabric in fabrics if fabric.cluster == cluster]
    servers = dict(explained[0].best[0].candidate.cluster)
    networks = {fabric.role: _fabric(fabric) for fabric in explained}
    return {**servers, "fabrics": networks} if inline else {"cluster": servers, "fabrics": networks}


def _spares(fabrics: list[Explained]) -> tuple[dict[str, int | str], list[str]]:
    """Return the spares of the bill as plan rules by category, and comments on those without a rule."""
    pieces: dict[str, dict[str, tuple[int, int]]] = {}
    """Pieces and spares by part, by category."""
    for part in (part for fabric in fabrics for part in fabric.best[0].fit.parts):
        among = part.spares  # those that the bill has among the pieces, not in a column
        for line in part.lines:
            if line.kind not in SPARED or line.recognition.named is None:
                continue
            counts, name = pieces.setdefault(line.kind, {}), line.recognition.named.part
            quantity, spare = counts.get(name, (0, 0))
            counts[name] = quantity + (line.quantity or 0) - among, spare + (line.spare or 0) + among
            among = 0
    rules, comments = dict[str, int | str](), list[str]()
    for kind, parts in pieces.items():
        if any(spare for _, spare in parts.values()):
            rule = _spare_rule(list(parts.values()))
            if rule is None:
                spared = ", ".join(f"{spare} x {name}" for name, (_, spare) in parts.items() if spare)
                comments.append(f"# spares of kind {kind} follow no rule: {spared}")
            else:
                rules[kind] = rule
    return rules, comments


def _spare_rule(parts: list[tuple[int, int]]) -> int | str | None:
    """Return a number or a share that gives the spares of each part; None if there is none.

    `parts` has pieces and spares of each. The simplest share is selected; shares are rounded up to whole pieces.
    """
    if len({spare for _, spare in parts}) == 1:
        return parts[0][1]
    if any(quantity <= 0 for quantity, _ in parts):
        return None
    least = max(Fraction(spare - 1, quantity) for quantity, spare in parts)
    most = min(Fraction(spare, quantity) for quantity, spare in parts)
    for steps in SHARE_STEPS:
        share = Fraction(int(most * steps), steps)
        if share > least and share > 0:
            return f"{float(share * PERCENT):g}%"
    return None


def _fabric(explained: Explained) -> dict[str, Any]:
    plan = explained.best[0]
    fabric, kinds = dict(plan.candidate.fabric), {links.kind for links in plan.design.fabrics[0].fabric.links}
    if "links" in fabric:
        fabric["links"] = {kind: medium for kind, medium in fabric["links"].items() if kind in kinds}
    return fabric


def _compare(fabrics: list[Explained], cluster: str, bill: SentBill) -> None:
    """Build a cluster with all its fabrics. Raises PlanErrors unless each equals its individual explanation."""
    built = build_design({"bomgen": 1, "name": "x-ray", **_cluster(fabrics, cluster, inline=False)}, bill.catalog)
    slots = [*list_slots(built[1])] if built else []
    for fabric in (fabric for fabric in fabrics if fabric.cluster == cluster):
        counted = _count_pieces(slot for slot in slots if slot.fabric == fabric.role)
        wanted = _count_pieces(slot for part in fabric.best[0].fit.parts for slot in part.slots if slot.fabric)
        if any(counted[id] != pieces for id, pieces in wanted.items()):
            wrong = f"no plan is written: {fabric.name} has a different result together with the other fabrics"
            raise error_at(bill.file, wrong, "not-explained")


def _count_pieces(slots: Iterable[PlacedPart]) -> Counter[str]:
    pieces = Counter[str]()
    for slot in slots:
        pieces[slot.id] += slot.pieces
    return pieces


def _comments(inspection: Inspection) -> Iterator[str]:
    xray = inspection.found
    for fabric in xray.fabrics:
        for design in fabric.designs[1:]:
            tiers = " + ".join(f"{count} {tier}" for tier, count in design.tiers)
            homing = f", {design.homing}" if design.homing else ""
            yield f"# {fabric.title}: as well {design.topology}{homing} with {tiers} for {design.servers} servers"
    for figure, origin in xray.assumptions:
        yield f"# assumed: {_bare(f'{origin.name}, {figure.value} {figure.unit}')}"
    for finding in xray.findings:
        if finding.severity != "unknown":
            yield f"# {_place(finding.mark)}: {finding.severity}: {_bare(str(finding.message))}"
    seen = {line.mark for line in xray.left}
    unknown = [line for line in xray.bill.lines if line.recognition.named is None and line.quantity]
    for line in (*xray.left, *(line for line in unknown if line.mark not in seen)):
        yield f"# {_place(line.mark)}: not explained: {line.quantity} x {_bare(line.shown)}"


def _place(mark: Mark) -> str:
    return _bare(name_place(mark)) if mark.sheet else f"line {mark.line}"


def _bare(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _yaml_lines(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the YAML lines of a mapping: one per key, deeper levels in braces."""
    indent = "  " * depth
    for key, value in data.items():
        if (isinstance(value, Mapping) and depth == 0) or key == "fabrics":
            yield f"{indent}{key}:"
            yield from (f"{indent}  {name}: {write_scalar(below)}" for name, below in value.items())
        elif isinstance(value, list) and depth == 0:
            yield f"{indent}{key}:"
            for entry in value:
                first, *rest = _yaml_lines(entry, depth + 2)
                yield f"{indent}  - {first.strip()}"
                yield from rest
        else:
            yield f"{indent}{key}: {write_scalar(value)}"


# bill files ---------------------------------------------------------------------------------------------------------
# The bills that a user names: their bytes read as tables, and as lines.


def plan_name(file: str) -> str:
    """Return the name of a plan for a file name."""
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") or "bill"


def rebuild_plan(content: bytes, file: str) -> PlanFile:
    """Return the plan that rebuilds a bill, named like its file. Raises PlanErrors as `open_bill` and `plan_text`."""
    text = plan_text(inspect(require_whole(open_bill(content, file, Catalog()))), plan_name(file))
    folder = Path().resolve()
    return PlanFile(file, encoded(text, file), folder, folder)


def inspect_bill(file: str | PathLike[str]) -> list[dict[str, Any]]:
    """Return the findings about a vendor's bill, a row each, errors first, as `bomgen xray -f json` has them.

    Raises PlanErrors for a file that cannot be read as a bill, and OSError for one that cannot be opened.
    """
    bill = open_bill(content_of(Path(file)), fspath(file), Catalog())
    findings: list[dict[str, Any]] = to_data(inspect(bill).found)["findings"]
    return findings


def open_bill(content: bytes, file: str, catalog: Catalog, asked: RequestedColumns = NOTHING) -> SentBill:
    """Return the bill in a file, by requested columns. Raises PlanErrors for other files, and with a question."""
    tables = read_pdf(content, file) if is_pdf(content) else read_tables(content, file)
    return read_bill(tables, file, PartIndex(catalog), asked)
