"""Bills named by the user, and the text of the plan that rebuilds one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.yaml_source import encoded
from bomgen.reading.bills import SentBill, read_bill, require_whole
from bomgen.reading.list_columns import NOTHING, RequestedColumns
from bomgen.reading.part_numbers import PartIndex
from bomgen.reading.tables import is_pdf, read_pdf, read_tables
from bomgen.workflow.plan_files import PlanFile
from bomgen.xray.forward import PlacedPart, build_design, list_slots
from bomgen.xray.inspection import Explained, Inspection, inspect
from bomgen.xray.laws import SPARED
from bomgen.xray.types import NOTHING as TYPES_NOTHING
from bomgen.xray.types import name_place

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9 ._/+-]*")
PERCENT = 100
SHARE_STEPS = (PERCENT, 10 * PERCENT, PERCENT * PERCENT)
"""Denominators of spare shares to try: whole per cent, then tenths and hundredths of one."""
_WORDS = ("true", "false", "yes", "no", "on", "off", "null")


def plan_text(inspection: Inspection, name: str, catalog: Catalog) -> str:
    """Return the plan that rebuilds a bill. Raises PlanErrors if no fabric is explained, or it differs."""
    bill = inspection.found.bill
    fabrics = [fabric for fabric in inspection.fabrics if fabric.explains != TYPES_NOTHING]
    if not fabrics:
        message = "no plan is written: no plan that was tried explains a fabric of this bill"
        raise PlanErrors([Problem(Mark(bill.file, 1, 1), "error", message, "not-explained")])
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
        _compare(fabrics, cluster, bill.file, catalog)
    comments = [f"# Made from {bill.file}: what explains its fabrics.", *_comments(inspection), *other_spares]
    return "\n".join([*comments, *_lines(whole, 0)]) + "\n"


def _cluster(fabrics: list[Explained], cluster: str, inline: bool) -> dict[str, Any]:
    own = [fabric for fabric in fabrics if fabric.cluster == cluster]
    servers = dict(own[0].best[0].candidate.cluster)
    networks = {fabric.role: _fabric(fabric) for fabric in own}
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
    found, comments = dict[str, int | str](), list[str]()
    for kind, parts in pieces.items():
        if any(spare for _, spare in parts.values()):
            rule = _spare_rule(list(parts.values()))
            if rule is None:
                spared = ", ".join(f"{spare} x {name}" for name, (_, spare) in parts.items() if spare)
                comments.append(f"# spares of kind {kind} follow no rule: {spared}")
            else:
                found[kind] = rule
    return found, comments


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
    found = explained.best[0]
    fabric, kinds = dict(found.candidate.fabric), {links.kind for links in found.design.fabrics[0].fabric.links}
    if "links" in fabric:
        fabric["links"] = {kind: each for kind, each in fabric["links"].items() if kind in kinds}
    return fabric


def _compare(fabrics: list[Explained], cluster: str, file: str, catalog: Catalog) -> None:
    """Build a cluster with all its fabrics. Raises PlanErrors unless each equals its individual explanation."""
    built = build_design({"bomgen": 1, "name": "x-ray", **_cluster(fabrics, cluster, inline=False)}, catalog)
    slots = [*list_slots(built[1])] if built else []
    for fabric in (fabric for fabric in fabrics if fabric.cluster == cluster):
        counted = _count_pieces(slot for slot in slots if slot.fabric == fabric.role)
        wanted = _count_pieces(slot for part in fabric.best[0].fit.parts for slot in part.slots if slot.fabric)
        if any(counted[id] != pieces for id, pieces in wanted.items()):
            message = f"no plan is written: {fabric.name} has a different result together with the other fabrics"
            raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "not-explained")])


def _count_pieces(slots: Iterable[PlacedPart]) -> Counter[str]:
    pieces = Counter[str]()
    for slot in slots:
        pieces[slot.id] += slot.pieces
    return pieces


def _comments(inspection: Inspection) -> Iterator[str]:
    found = inspection.found
    for fabric in found.fabrics:
        for design in fabric.designs[1:]:
            tiers = " + ".join(f"{count} {tier}" for tier, count in design.tiers)
            homing = f", {design.homing}" if design.homing else ""
            yield f"# {fabric.title}: as well {design.topology}{homing} with {tiers} for {design.servers} servers"
    for figure, origin in found.assumptions:
        yield f"# assumed: {_bare(f'{origin.name}, {figure.value} {figure.unit}')}"
    for finding in found.findings:
        if finding.severity != "unknown":
            yield f"# {_place(finding.mark)}: {finding.severity}: {_bare(str(finding.message))}"
    seen = {line.mark for line in found.left}
    unknown = [line for line in found.bill.lines if line.recognition.named is None and line.quantity]
    for line in (*found.left, *(each for each in unknown if each.mark not in seen)):
        yield f"# {_place(line.mark)}: not explained: {line.quantity} x {_bare(line.shown)}"


def _place(mark: Mark) -> str:
    return _bare(name_place(mark)) if mark.sheet else f"line {mark.line}"


def _bare(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _lines(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the YAML lines of a mapping: one per key, deeper levels in braces."""
    indent = "  " * depth
    for key, value in data.items():
        if (isinstance(value, Mapping) and depth == 0) or key == "fabrics":
            yield f"{indent}{key}:"
            yield from (f"{indent}  {name}: {_flow(each)}" for name, each in value.items())
        elif isinstance(value, list) and depth == 0:
            yield f"{indent}{key}:"
            for each in value:
                first, *rest = _lines(each, depth + 2)
                yield f"{indent}  - {first.strip()}"
                yield from rest
        else:
            yield f"{indent}{key}: {_flow(value)}"


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


# bill files ---------------------------------------------------------------------------------------------------------
# The bills that a user names: their bytes read as tables, and as lines.


def plan_name(file: str) -> str:
    """Return the name of a plan for a file name."""
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") or "bill"


def rebuild_plan(content: bytes, file: str) -> PlanFile:
    """Return the plan that rebuilds a bill, named like its file. Raises PlanErrors as `open_bill` and `plan_text`."""
    catalog = Catalog()
    text = plan_text(inspect(require_whole(open_bill(content, file, catalog)), catalog), plan_name(file), catalog)
    folder = Path().resolve()
    return PlanFile(file, encoded(text, file), folder, folder)


def open_bill(content: bytes, file: str, catalog: Catalog, asked: RequestedColumns = NOTHING) -> SentBill:
    """Return the bill in a file, by requested columns. Raises PlanErrors for other files, and with a question."""
    tables = read_pdf(content, file) if is_pdf(content) else read_tables(content, file)
    return read_bill(tables, file, PartIndex(catalog), asked)
