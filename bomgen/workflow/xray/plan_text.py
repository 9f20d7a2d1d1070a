"""The plan that rebuilds a bill, as text: what explains its fabrics, and as comments what it cannot explain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.reading.bills import SentLine
from bomgen.report.xray.types import NOTHING
from bomgen.workflow.xray.forward import build, slots_of
from bomgen.workflow.xray.inspection import Explained, Inspection

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9 ._/+-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null")


def plan_text(inspection: Inspection, name: str, catalog: Catalog) -> str:
    """The plan, after it was built and compared with the bill.

    Raises PlanErrors where no fabric of the bill is explained, or the plan is not what explains them.
    """
    bill = inspection.found.bill
    fabrics = [fabric for fabric in inspection.fabrics if fabric.explains != NOTHING]
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
    whole = {"bomgen": 1, "name": name, **data}
    for cluster in clusters:
        _compare(fabrics, cluster, bill.file, catalog)
    comments = [f"# Made from {bill.file}: what explains its fabrics.", *_comments(inspection)]
    return "\n".join([*comments, *_lines(whole, 0)]) + "\n"


def _cluster(fabrics: list[Explained], cluster: str, inline: bool) -> dict[str, Any]:
    """The keys of a cluster and its fabrics."""
    own = [fabric for fabric in fabrics if fabric.cluster == cluster]
    servers = dict(own[0].best[0].candidate.cluster)
    networks = {fabric.role: _fabric(fabric) for fabric in own}
    return {**servers, "fabrics": networks} if inline else {"cluster": servers, "fabrics": networks}


def _fabric(explained: Explained) -> dict[str, Any]:
    """A fabric as the plan says it, without links that it does not have."""
    found = explained.best[0]
    fabric, kinds = dict(found.candidate.fabric), {links.kind for links in found.design.fabrics[0].fabric.links}
    if "links" in fabric:
        fabric["links"] = {kind: each for kind, each in fabric["links"].items() if kind in kinds}
    return fabric


def _compare(fabrics: list[Explained], cluster: str, file: str, catalog: Catalog) -> None:
    """Build a cluster with all its fabrics: each must come to what explained it alone."""
    built = build({"bomgen": 1, "name": "x-ray", **_cluster(fabrics, cluster, inline=False)}, catalog)
    counted: dict[tuple[str, str], int] = {}
    for slot in slots_of(built[1]) if built else ():
        key = slot.fabric, slot.id
        counted[key] = counted.get(key, 0) + slot.pieces
    for fabric in (each for each in fabrics if each.cluster == cluster):
        wanted: dict[tuple[str, str], int] = {}
        for part in fabric.best[0].fit.parts:
            for slot in part.slots:
                if slot.fabric:
                    wanted[fabric.role, slot.id] = wanted.get((fabric.role, slot.id), 0) + slot.pieces
        if any(counted.get(key) != pieces for key, pieces in wanted.items()):
            message = f"no plan is written: {fabric.name} comes out otherwise beside the other fabrics"
            raise PlanErrors([Problem(Mark(file, 1, 1), "error", message, "not-explained")])


def _comments(inspection: Inspection) -> Iterator[str]:
    """What the plan does not explain: other designs, findings and lines."""
    found = inspection.found
    for fabric in found.fabrics:
        for design in fabric.designs[1:]:
            tiers = " + ".join(f"{count} {tier}" for tier, count in design.tiers)
            yield f"# {fabric.name}: as well {design.topology} with {tiers} for {design.servers} servers"
    for each in found.findings:
        if each.severity != "unknown":
            yield f"# line {each.mark.line}: {each.severity}: {_bare(str(each.message))}"
    seen = {id(line) for line in found.left}
    unknown = [line for line in found.bill.lines if line.recognition.named is None and line.quantity]
    for line in (*found.left, *(each for each in unknown if id(each) not in seen)):
        yield f"# line {line.mark.line}: not explained: {_shown(line)}"


def _shown(line: SentLine) -> str:
    return f"{line.quantity} x {_bare(line.shown)}"


def _bare(text: str) -> str:
    """A text as a comment holds it: on one line, without what controls a terminal."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _lines(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    """A mapping as YAML: a line a key, deeper ones in braces."""
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
    """A value as YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
