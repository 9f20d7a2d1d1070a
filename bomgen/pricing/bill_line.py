"""A line of the bill: parts, charges and spare pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog.files import id_at_length
from bomgen.catalog.parts import Cable, Identity, Module, Switch
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Figure, difference, formula, minimum, sum_of
from bomgen.design.assembly import Design
from bomgen.design.attached_hosts import boxes_of, sum_of_boxes
from bomgen.plan.clusters import KEY, together
from bomgen.plan.commercial_terms import ORDER, Charge

CATEGORIES = (
    *("gpu", "server", "nic", "switch", "transceiver", "cable", "storage"),
    *("rack", "pdu", "cooling", "management", "accessory", "software", "support", "service"),
)
"""The order of a bill."""


class Line(NamedTuple):
    """One part in one place: fabric, kind of link, end."""

    id: str
    category: str
    fabric: str | None
    role: str | None
    part: str | None
    sku: str | None
    vendor: str | None
    description: str
    quantity: Figure
    spare: Figure | None = None
    path: str | None = None
    """The bom.json path that the quantity stands at; of a line partly in stock, the quantity of both parts."""
    identity: Identity | None = None
    charge: Charge | None = None
    """What the plan says of a line that is no part."""
    in_stock: bool = False
    """Whether the customer has it: it is shown and not charged."""
    cluster: str = ""
    """The cluster that it is for, of a plan with several."""
    required_by: Identity | None = None
    """The part that needs it, where the plan does not ask for it."""
    length_m: Fraction | None = None
    """Of a cable [m]."""

    def in_cluster(self, cluster: str) -> Line:
        """The line as one of several clusters: its id and its path begin with the cluster's name."""
        path = self.path and ".".join((*cluster_path(cluster), self.path))
        return self._replace(id=f"{cluster}.{self.id}", path=path, cluster=cluster) if cluster else self

    def alone(self) -> Line:
        """The line as if its cluster were the only one of the plan."""
        place = "".join(f"{step}." for step in cluster_path(self.cluster))
        path = self.path and self.path.removeprefix(place)
        return self._replace(id=self.id.removeprefix(f"{self.cluster}."), path=path, cluster="")

    @property
    def pieces(self) -> int:
        """Pieces of the line: installed and spare."""
        pieces: int = self.quantity.value + (self.spare.value if self.spare else 0)
        return pieces

    @property
    def names(self) -> list[str]:
        """What a price book may call the part of the line, the most exact first, in lower case."""
        names = [self.charge.part if self.charge else self.part, *(self.sku or "").split(" / ")]
        if self.length_m is not None and self.identity:
            names.insert(0, _at_length(self.identity.id, self.length_m))
        if self.identity:
            names += [self.identity.id, self.identity.part_number, self.identity.ordering_number]
        return _lower(names)


def cluster_path(cluster: str) -> tuple[str, ...]:
    """Where the numbers of a cluster begin in bom.json, of a plan with several; nothing where there is one."""
    return (KEY, cluster) if cluster else ()


def cable_id(cable: Cable | None, length_m: Fraction) -> str:
    """The id of a cable at its length, or what stands for one that nobody knows."""
    return id_at_length(cable.identity.id, length_m) if cable else "unknown"


def names_of(part: Module | Cable | Switch, length_m: Fraction | None) -> list[str]:
    """What a price book may call a part, a cable at one length [m]: the most exact name first, in lower case."""
    identity = part.identity
    names = [identity.id, identity.part_number, identity.ordering_number]
    if isinstance(part, Cable) and length_m is not None:
        numbers = (cable_sku(part, length_m) or "").split(" / ")
        names = [_at_length(identity.id, length_m), id_at_length(identity.id, length_m), *numbers, *names]
    return _lower(names)


def _at_length(id: str, length_m: Fraction) -> str:
    """What a price book calls one length [m] of a cable: `mfp7e10-n030`; `cat6-rj45-20m` where the id has no length."""
    named = id_at_length(id, length_m)
    return named if named != id else f"{id}-{float(length_m):g}m"


def cable_sku(cable: Cable, length_m: Fraction) -> str | None:
    """Part number with the length in it, and the ordering number of that length where it is known."""
    if cable.identity.part_number is None:
        return None
    number = id_at_length(cable.identity.part_number, length_m).upper()
    ordering = cable.ordering_numbers.get(f"{float(length_m):g}")
    return f"{number} / {ordering}" if ordering else number


def _lower(names: Sequence[str | None]) -> list[str]:
    return list(dict.fromkeys(name.lower() for name in names if name))


# charges ------------------------------------------------------------------------------------------------------------
# Lines beside the parts: freight, installation, support, software, counted by what the plan says.
#
# Charges are lines. One that is a share of the hardware is worked out after all other lines, and once more for the low
# and the high end of the prices.

UNKNOWN = ("server", "rack")
"""What a cluster always has, though its plan may leave open how many."""


@formula("pieces")
def over_years(pieces: int, years: Fraction) -> int:
    """Pieces that are bought anew for each year begun."""
    return pieces * ceil(years)


def charges(designs: Sequence[Design]) -> Iterator[Line]:
    """A line for each charge of a plan with these designs.

    Raises PlanErrors for a charge that is counted by what the plan does not have.
    """
    for charge in designs[0].plan.quote.charges:
        counted = _counted(charge, designs)
        if counted is None or not counted.value:
            message = f"nothing to charge by the {charge.per}: the plan has none; count it by the {ORDER}"
            raise PlanErrors([Problem(charge.mark, "error", message, "charge", "quote.charges")])
        quantity = over_years(counted, charge.years) if charge.years else counted
        yield Line(
            id=charge.id,
            category=charge.category,
            fabric=None,
            role=charge.kind,
            part=charge.part,
            sku=None,
            vendor=None,
            description=charge.name or charge.kind,
            quantity=quantity,
            charge=charge,
        )


def _counted(charge: Charge, designs: Sequence[Design]) -> Figure | None:
    """How many of what a charge is counted by; None where the plan does not have it."""
    if charge.per == ORDER:
        return charge.once
    counted = [count_units(charge.per, design) for design in designs]
    if charge.per in UNKNOWN and any(counted):
        for design, figure in zip(designs, counted, strict=True):
            if figure is None:
                message = (
                    f"the {charge.per}s of cluster {design.plan.cluster_name} are not known; count it by the {ORDER}"
                )
                raise PlanErrors([Problem(charge.mark, "error", message, "charge", "quote.charges")])
    return together(counted)


def count_units(per: str, design: Design) -> Figure | None:
    """How many GPUs, servers, racks or switches a design has; None where it is not known, or it has none."""
    if per == "gpu":
        return design.sizing.gpus
    if per == "server":
        return design.sizing.servers
    if per == "rack":
        return design.facility.racks
    boxes = [boxes_of(tier) for built in design.fabrics for tier in built.fabric.tiers]
    return reduce(sum_of_boxes, boxes) if boxes else None


# spares -------------------------------------------------------------------------------------------------------------
# Spare pieces, and pieces that the customer has: what is bought on top of what is installed, and what is not.
#
# What the customer has becomes a line of its own at a unit price of 0, so that the formula of an amount holds for every
# line and the pieces of a part still add up to those installed.


@formula("pieces")
def share_of(quantity: int, share: Fraction) -> int:
    """Spare pieces: a share of all pieces of a part, rounded up."""
    return ceil(quantity * share)


sum_of_spares = sum_of("sum_of_spares", "pieces", "pieces", "more_pieces")
"""Spare pieces asked for in two places of the plan."""
sum_of_quantities = sum_of("sum_of_quantities", "pieces", "quantity", "more")
"""Pieces of one part over several lines."""
from_stock = minimum("from_stock", "pieces", "pieces", "stock")
"""Pieces that are taken from what the customer has."""
rest_of = difference("rest_of", "pieces", "pieces", "taken")
"""Pieces that are left when some are taken away."""


def add_spares(lines: Sequence[Line], spares: Mapping[str, Figure]) -> Iterator[Line]:
    """The lines with the spares of each part on the first line that it stands on."""
    totals: dict[tuple[str, str], Figure] = {}
    for line in lines:
        key = part_key(line)
        totals[key] = sum_of_quantities(totals[key], line.quantity) if key in totals else line.quantity
    given: set[tuple[str, str]] = set()
    for line in lines:
        wanted = spares.get(line.category)
        key = part_key(line)
        if wanted is None or key in given:
            yield line
            continue
        given.add(key)
        pieces = share_of(totals[key], wanted) if wanted.unit == "share" else wanted
        yield line._replace(spare=sum_of_spares(line.spare, pieces) if line.spare else pieces)


def part_key(line: Line) -> tuple[str, str]:
    """Return what is one part: of cables, one length of it, which the id of a generic one does not say."""
    return line.category, line.description if line.category == "cable" else line.part or line.description


def subtract_stock(lines: Sequence[Line], stock: Mapping[str, Figure]) -> Iterator[Line]:
    """The lines less what the customer has; that follows each of them as a line of its own.

    `stock` has pieces by the names of parts. Lines that come first are served first, installed pieces before spares.
    """
    left = dict(stock)
    for line in lines:
        bought, number = line, 0
        owned: list[Line] = []
        for name in line.names:
            if name not in left or not left[name].value or not bought.pieces:
                continue
            number += 1
            taken = from_stock(bought.quantity, left[name])
            left[name] = rest_of(left[name], taken)
            own = line._replace(id=f"{line.id}.stock" + (f".{number}" if number > 1 else ""), in_stock=True)
            own, bought = own._replace(quantity=taken, spare=None), _less(bought, taken)
            if bought.spare and left[name].value:
                spare = from_stock(bought.spare, left[name])
                left[name] = rest_of(left[name], spare)
                own, bought = own._replace(spare=spare), bought._replace(spare=rest_of(bought.spare, spare))
            owned.append(own)
        yield from (each for each in (bought, *owned) if each.pieces)


def _less(line: Line, taken: Figure) -> Line:
    return line._replace(quantity=rest_of(line.quantity, taken)) if taken.value else line
