"""Laws of storage systems of several parts: none is ordered without the parts that complete it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors

Built = Callable[[dict[str, Any]], dict[str, Any]]

CBOX, DBOXES, SWITCH = "vast-cbox-gen6", ("vast-dbox-df3015v2", "vast-dbox-df5630"), "sn3700"
CABLES = ("generic-100g-aoc", "generic-200g-aoc")
"""Cables behind CBoxes and DBoxes; no source says that they are sold apart, so the bill names them aside."""
READ_OF_CBOX, READ_OF_DBOXES = 29 * 10**9, (58 * 10**9, 56 * 10**9)
COUNTS = st.one_of(st.just("auto"), st.integers(1, 60))
PARTS = st.lists(st.sampled_from([CBOX, *DBOXES]), min_size=1, max_size=3, unique=True)


@given(PARTS, st.lists(COUNTS, min_size=3, max_size=3), st.integers(1, 20_000))
def test_a_system_is_complete_or_refused(built: Built, named: list[str], counts: list[Any], terabytes: int) -> None:
    """Whatever parts of it a plan names, and how many: with flash, servers and enough switch ports, or not at all."""
    asked = dict(zip(named, counts, strict=False))
    servers = [{"part": part, "count": count} for part, count in asked.items()]
    plan = {
        "bomgen": 1,
        "name": "law",
        "cluster": {"gpu": "h200-sxm", "server": "dell-xe9680-h200", "servers": 4},
        "storage": {"dataset": f"{terabytes} TB", "servers": servers},
    }
    if set(named) == {CBOX} or [part for part in DBOXES if asked.get(part) == "auto"] == [*DBOXES]:
        with pytest.raises(PlanErrors, match=r"incomplete-storage|storage-counts"):
            built(plan)
        return
    bom = built(plan)
    pieces = {line["part"]: line["quantity"] for line in bom["lines"] if line["role"] == "storage"}
    boxes = sum(pieces.get(part, 0) for part in DBOXES)
    assert pieces[CBOX] >= 1
    assert boxes >= 1
    assert pieces[SWITCH] % 2 == 0
    assert pieces[SWITCH] * 32 >= 2 * pieces[CBOX] + 4 * boxes
    if any(asked.get(part) == "auto" for part in DBOXES):
        assert bom["storage"]["sold_capacity_bytes"] >= terabytes * 10**12
    cables = [item["quantity"] for item in bom["not_on_bill"] if item.get("part") in CABLES]
    assert sum(cables) == 2 * pieces[CBOX] + 4 * boxes
    behind = sum(pieces.get(part, 0) * read for part, read in zip(DBOXES, READ_OF_DBOXES, strict=True))
    assert bom["storage"]["delivered_read_bytes_per_second"] == min(pieces[CBOX] * READ_OF_CBOX, behind)
