"""The connection rules of the catalogue as tables."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from bomgen.catalog.files import Catalog
from bomgen.core.units import parse
from bomgen.optics.compatibility import Adapter, Breakout, NicReach, PlanningFibre, Rules, Splitter


def rules(catalog: Catalog) -> Rules:
    """All connection rules of a catalogue; where several files give a table, later keys win."""
    tables: dict[str, Any] = {}
    for record in catalog.all("connection"):
        for key, table in record.data.items():
            known = tables.get(key)
            tables[key] = {**known, **table} if isinstance(known, dict) and isinstance(table, dict) else table
    reach, splitter, breakout = tables["nic_reach"], tables["splitter"], tables["breakout"]
    return Rules(
        plugs=_lists(tables["plugs"]),
        adapters=tuple(Adapter(**each) for each in tables["adapters"]),
        receptacles=int(tables["receptacles"]),
        foreign_modules=dict(tables["foreign_modules"]),
        partners=_lists(tables["partners"]),
        lane_fibres={int(lane): fibres for lane, fibres in _lists(tables["lane_fibres"]).items()},
        polarities=dict(tables["polarities"]),
        in_a_row={tuple(each["fibres"]): each["together"] for each in tables["in_a_row"]},
        nic_reach=NicReach(reach["optic"], int(reach["lane_gbps"]), Fraction(parse(reach["reach"], "m"))),
        splitter=Splitter(tuple(splitter["optics"]), int(splitter["lane_gbps"]), int(splitter["legs"])),
        breakout=Breakout(breakout["optic"], breakout["partner"], int(breakout["lane_gbps"]), int(breakout["legs"])),
        planning={fibre: PlanningFibre(**each) for fibre, each in tables["planning"].items()},
        order=tuple(tables["order"]),
    )


def _lists(table: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """A table of lists; each list is plain or has its own source."""
    return {key: tuple(each["value"] if isinstance(each, dict) else each) for key, each in table.items()}
