"""What lists call the parts of the catalogue: ids, part numbers, ordering numbers, numbers of other makers, aliases."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from bomgen.catalog.files import ANY_LENGTH, KINDS, LENGTH_CODE, NOT_PARTS, Catalog, id_at_length, named_length
from bomgen.core.diagnostics import nearest

SHOWN = 3
"""Parts that are proposed for a name that none has."""


class KnownParts(NamedTuple):
    """The parts of a catalogue by their names."""

    ids: dict[str, tuple[str, ...]]
    """The ids of the parts that a name fits, by the name in lower case."""

    def find(self, name: str) -> tuple[str, ...]:
        """The ids of the parts that a name fits, cables at the length that it says; several: it is not exact."""
        wanted = name.strip().lower()
        if found := self.ids.get(wanted):
            return found
        family = self.ids.get(LENGTH_CODE.sub(ANY_LENGTH, wanted), ())
        lengths = ((id, named_length(id, wanted)) for id in family)
        return tuple(id_at_length(id, length) for id, length in lengths if length is not None)

    def count(self, names: Iterable[str]) -> int:
        """How many of some names are those of parts."""
        return sum(bool(self.find(name)) for name in names)

    def nearest(self, name: str) -> list[str]:
        """The names of parts that are like one that no part has, the most alike first."""
        return nearest(name.strip().lower(), self.ids, count=SHOWN)


def known_parts(catalog: Catalog) -> KnownParts:
    """The parts of a catalogue by their names.

    A name that is the id or the number of a part is that part's, whatever part has it as an alias.
    """
    exact, others = dict[str, set[str]](), dict[str, set[str]]()
    for kind in KINDS:
        if kind in NOT_PARTS:
            continue
        for record in catalog.all(kind):
            aliases = {str(alias).lower() for alias in record.data.get("aliases", ())}
            for name in record.names:
                named = others if name in aliases else exact
                named.setdefault(name, set()).add(record.id)
    return KnownParts({name: tuple(sorted(ids)) for name, ids in (others | exact).items()})


@cache
def built_in_parts() -> KnownParts:
    """The parts of the catalogue that comes with bomgen, which does not change while it runs."""
    return known_parts(Catalog())
