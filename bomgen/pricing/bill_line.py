"""A line of the bill: parts, charges and spare pieces."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.files import id_at_length
from bomgen.catalog.parts import Cable, Identity, Module, Switch
from bomgen.core.provenance import Figure
from bomgen.plan.clusters import KEY
from bomgen.plan.commercial_terms import Charge

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
