"""Required parts of an order: cords, kits and licences that catalogue parts need in addition.

A requirement without a choice becomes a line of the bill; one with a choice of part or of years is an open item, and so
is one that may be included with the part that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.identity import CORDS, RAILS, identity
from bomgen.catalog.parts import FABRIC, YEAR, Identity, Requirement
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Figure, formula
from bomgen.design.assembly import Design
from bomgen.design.attached_hosts import sum_of_boxes
from bomgen.plan.commercial_terms import SUPPORT
from bomgen.pricing.bill_line import CATEGORY_OF_KIND, GPU, SERVER, Line, count_units, line_of_part, over_years

PER_MACHINE = (*CORDS, RAILS)
"""Parts that each kind of machine needs for itself."""
CLUSTER_UNITS = ("server", "gpu", "switch", "rack")
"""Units that a requirement can be counted by, besides the part itself."""
MAX_DEPTH = 10
"""Maximum length of a chain of required parts; a longer one is taken as circular."""


class OpenItem(NamedTuple):
    """A required part that still has to be selected, or that may be included with the part that requires it."""

    parts: tuple[Identity, ...]
    """The part, or the parts to select from."""
    quantity: Figure | None
    """None if it depends on the choice, or if what it is counted by is unknown."""
    per: str
    required_by: Identity
    source: str
    """Titles of the source documents."""
    cluster: str = ""
    included: bool | None = False
    """None if it is not known whether it is included."""

    @property
    def any_cord(self) -> bool:
        """Return whether the part is the power cords of a machine, whose inlets may be unknown."""
        return not {part.id for part in self.parts}.difference(CORDS)


@formula("pieces")
def required_pieces(pieces: int, each: Fraction) -> int:
    """Pieces of a required part for a number of pieces of another."""
    return ceil(pieces * each)


class _Use(NamedTuple):
    """A part to buy: its pieces on all lines, and the number of fabrics that use it."""

    part: Identity
    pieces: Figure
    fabrics: int


def required_parts(
    design: Design, lines: Sequence[Line], existing: Sequence[Line], catalog: Catalog
) -> tuple[list[Line], list[OpenItem]]:
    """Return the lines that the parts on `lines` require, directly or indirectly, and the open items.

    A requirement is met if one of its parts is included or on the plan, or the customer has one in use on the lines
    `existing`; support also by a charge of the quote. A requirement counted by the cluster, or not counted at all,
    applies once, however many parts have it; that of a server also covers its GPUs.

    Raises PlanErrors for a part that requires an unknown part or itself.
    """
    required, items = list[Line](), list[OpenItem]()
    planned = {line.identity.id for line in (*lines, *existing) if line.identity}
    counted: set[tuple[str, ...]] = set()
    sold = {SUPPORT} & {charge.kind for charge in design.plan.quote.charges}
    uses = [*_uses(lines), *_gpus_of_servers(design, lines, existing)]
    for _ in range(MAX_DEPTH):
        new = list[Line]()
        for bought, need in [(use, need) for use in uses for need in use.part.requires]:
            parts = tuple(_find(name, need, bought.part, design, catalog) for name in need.parts)
            ids = tuple(part.id for part in parts)
            if planned.intersection(ids) or ids in counted or sold.issuperset(part.category for part in parts):
                continue
            if need.per in CLUSTER_UNITS or (need.quantity is None and parts[0].id not in PER_MACHINE):
                counted.add(ids)
            if need.included:
                continue
            quantity = _quantity(need, bought, design, existing)
            open_years = need.per == YEAR and design.plan.operation is None
            ordered = design.plan.complete_order and need.included is False and len(parts) == 1 and not open_years
            if quantity and ordered:
                new.append(_line(parts[0], quantity, bought.part))
            else:
                source = "; ".join(reference.title for reference in need.references)
                items.append(OpenItem(parts, quantity, need.per, bought.part, source, included=need.included))
        if not new:
            return required, items
        required += new
        uses = _uses(new)
    circle = uses[0].part
    raise _wrong(
        f"{circle.name} requires itself, directly or indirectly; remove it from `requires`",
        circle.requires[0],
        design,
    )


def _uses(lines: Sequence[Line]) -> list[_Use]:
    uses: dict[str, _Use] = {}
    fabrics: dict[str, set[str | None]] = {}
    for line in lines:
        if line.identity is None or not line.identity.requires:
            continue
        id = line.identity.id
        fabrics.setdefault(id, set()).add(line.fabric)
        pieces = sum_of_boxes(uses[id].pieces, line.quantity) if id in uses else line.quantity
        uses[id] = _Use(line.identity, pieces, len(fabrics[id]))
    return list(uses.values())


def _gpus_of_servers(design: Design, lines: Sequence[Line], existing: Sequence[Line]) -> Iterator[_Use]:
    """Yield the GPUs that come with the servers on the lines and have no line of their own."""
    cluster, gpus = design.plan.cluster, count_units(GPU, design, existing)
    if cluster.server and cluster.server.gpus_included and gpus and any(line.category == SERVER for line in lines):
        yield _Use(cluster.gpu.identity, gpus, 1)


def _find(name: str, need: Requirement, required_by: Identity, design: Design, catalog: Catalog) -> Identity:
    try:
        return identity(catalog.find_part(name))
    except UnknownPart as error:
        raise _wrong(f"{required_by.name} requires an unknown part: {error}", need, design) from None


def _wrong(message: str, need: Requirement, design: Design) -> PlanErrors:
    return PlanErrors([Problem(need.mark or design.plan.mark, "error", message, "requires")])


def _quantity(need: Requirement, use: _Use, design: Design, existing: Sequence[Line]) -> Figure | None:
    """Return the required pieces; None if they depend on a choice, or on an unknown count."""
    if need.quantity is None:
        return None
    if need.per == FABRIC:
        return reduce(sum_of_boxes, [need.quantity] * use.fabrics)
    if need.per in CLUSTER_UNITS:
        counted = count_units(need.per, design, existing)
        return required_pieces(counted, need.quantity) if counted else None
    pieces = required_pieces(use.pieces, need.quantity)
    years = design.plan.operation.years if design.plan.operation else None
    return over_years(pieces, years) if need.per == YEAR and years else pieces


def _line(part: Identity, quantity: Figure, required_by: Identity) -> Line:
    category = part.category or CATEGORY_OF_KIND.get(part.kind, part.kind)
    line = line_of_part(f"required.{required_by.id}.{part.id}", category, part, quantity)
    return line._replace(required_by=required_by)
