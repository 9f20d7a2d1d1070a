"""Ten whole plans of late 2026: every link has parts, and every line that can have a number has one."""

from __future__ import annotations

from pathlib import Path

import pytest

import bomgen
from bomgen.catalog.files import built_in

ROOT = Path(__file__).parents[2]
PLANS = (
    *("h200-xe9680-vast", "mi355x-arista", "gb300-nvl72-xdr", "gb300-nvl72-spectrum", "rubin-nvl8"),
    *("deepseek-r1-h20-zh", "gaudi3-64", "ascend-910c", "rtx-pro-6000-2", "llama65b-h100"),
)
WITHOUT_NUMBERS = ("rack", "pdu", "management")
"""Any vendor's rack, rack PDU and management server may be taken."""


def number_is_known_to_be_missing(part: str) -> bool:
    """Whether the catalogue says that a part has no number, or that any vendor's may be taken."""
    (path,) = (ROOT / "bomgen" / "data").glob(f"*/{part}.yaml")
    record = built_in(path.parent.name, part).data
    given = record.get("part_number")
    return bool(record.get("generic")) or (isinstance(given, dict) and given["value"] is None and bool(given["note"]))


@pytest.mark.parametrize("name", PLANS)
def test_every_part_of_a_whole_plan_exists(name: str) -> None:
    """Nothing is without a known part or a planning part, and lines without a number are those that have none."""
    result = bomgen.build(ROOT / "plans" / f"{name}.yaml")
    assert not {"no-part-known", "generic"} & {problem.rule for problem in result.warnings}
    for line in result.lines:
        if line["sku"] is None and line["category"] not in WITHOUT_NUMBERS:
            assert number_is_known_to_be_missing(line["part"]), line


COUNTS = {
    "h200-xe9680-vast": {"fabrics.compute.switches.leaf": 4, "fabrics.compute.switches.spine": 2},
    "mi355x-arista": {"fabrics.compute.switches.leaf": 8, "fabrics.compute.switches.spine": 2},
    "rubin-nvl8": {"fabrics.compute.switches.leaf": 4, "fabrics.compute.switches.spine": 2},
    "gb300-nvl72-xdr": {"cluster.gpus": 576, "fabrics.compute.links.server-leaf": 576},
    "gb300-nvl72-spectrum": {"cluster.gpus": 576, "fabrics.compute.planes": 2},
    "gaudi3-64": {"cluster.gpus": 64, "fabrics.compute.switches.leaf": 1},
    "ascend-910c": {"cluster.gpus": 384, "fabrics.compute.endpoints": 384},
    "rtx-pro-6000-2": {"fabrics.compute.switches.leaf": 1, "fabrics.compute.endpoints": 8},
}
"""What follows by hand from ports and servers: non-blocking leaves of 64 or 72 servers' ports down, or 2:1 of 85."""


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_the_whole_plans(name: str) -> None:
    """Switches and endpoints are those that ports and servers give by hand."""
    result = bomgen.build(ROOT / "plans" / f"{name}.yaml")
    assert {path: result.number(path) for path in COUNTS[name]} == COUNTS[name]
