"""The forward model: the parts that bomgen bills for a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Identity
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.work_budget import OF_BILL_PLAN, spend
from bomgen.core.yaml_source import read
from bomgen.design.assembly import Design
from bomgen.plan.binding.bind import bind
from bomgen.pricing.bill import Bill, bill
from bomgen.pricing.bill_line import Line
from bomgen.workflow.pipeline import design_cluster

Plan = dict[str, Any]
"""Data of a plan, or of a part of one."""
Designs = dict[str, tuple[Design, Bill] | None]
"""Designs and their bills by plan; None for a plan that cannot be built."""
NAME = "<x-ray>"
COMPARED = ("server", "nic", "switch", "transceiver", "cable")
"""Categories whose counts follow from the fabrics."""


class PlacedPart(NamedTuple):
    """A part in one position of a design, with its pieces."""

    category: str
    kind: str
    id: str
    """Catalogue id; for a cable that of its family."""
    name: str
    fabric: str
    links: str
    tier: str
    pieces: int


def build_design(plan: Mapping[str, Any], catalog: Catalog) -> tuple[Design, Bill] | None:
    """Return the design and bill of a valid generated plan, without checks; None if it cannot be built.

    Raises TooMuch if the designs of a bill take more steps than its budget has.
    """
    spend(OF_BILL_PLAN)
    source = read(json.dumps(plan), NAME, trusted=True)
    try:
        designed = design_cluster(bind(source, catalog), catalog)
        return designed, bill(catalog, designed)
    except PlanErrors:
        return None


def list_slots(billed: Bill) -> Iterator[PlacedPart]:
    """Yield the pieces of each part in each position of a design, without spares."""
    for line in billed.lines:
        if line.category in COMPARED and line.required_by is None:
            yield slot_of(line)


def slot_of(line: Line) -> PlacedPart:
    """Return part and position of a line."""
    links, _, tier = (line.role or "").partition("/")
    if "-" not in links:
        links, tier = "", links
    identity: Identity | None = line.identity
    id = identity.id if identity else line.part or ""
    kind = identity.kind if identity else line.category
    return PlacedPart(
        line.category, kind, id, str(line.description), line.fabric or "", links, tier, int(line.quantity.value)
    )
