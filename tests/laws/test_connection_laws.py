"""Laws of modules and cables: cages suffice on every switch, every link is lit, and no cable parts ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Built = Callable[[Mapping[str, Any]], dict[str, Any]]

CAGES = 32
"""Of a QM9700 (NVIDIA QM97X0 manual)."""
TWO_LINKS = ("mcp4y10", "mca4j80")
"""Cables with both links in one plug at both ends (NVIDIA LinkX guide)."""
LENGTHS = ("1 m", "2 m", "4 m", "30 m", "80 m")
NICS = st.sampled_from(["cx7-400-osfp", "cx7-2x200", "cx7-200-osfp"])


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Servers on QM9700 with cables of all lengths, at odd numbers and ratios."""
    fabric = {
        "switch": "qm9700",
        "topology": draw(st.sampled_from(["fat-tree", "rail-optimized"])),
        "gpus_per_nic": 1,
        "oversubscription": draw(st.sampled_from([1, 1.1, 1.5, 2, 3])),
        "build_out": draw(st.sampled_from(["full", "exact"])),
        "links": {kind: {"length": draw(st.sampled_from(LENGTHS))} for kind in ("server-leaf", "leaf-spine")},
    }
    server = {"name": "server", "gpus": 4, "nics": 4, "nic": draw(NICS)}
    cluster = {"gpu": "h100-sxm", "servers": draw(st.integers(1, 300)), "server": server}
    return {"bomgen": 1, "name": "law", "cluster": cluster, "fabrics": {"compute": fabric}}


def filled(bom: Mapping[str, Any], tier: str) -> int:
    """Cages that modules and plugs fill in all switches of a tier."""
    found: int = bom["fabrics"]["compute"]["transceivers"][tier]
    for line in bom["lines"]:
        kind = line["role"]
        if (
            line["category"] == "cable"
            and tier in kind.split("-")
            and line["part"]
            and line["part"][:3] in ("mcp", "mca")
        ):
            found += line["quantity"]
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=plans())
def test_parts_find_cages_and_links_their_ends(built: Built, plan: dict[str, Any]) -> None:
    """No tier holds more parts than it has cages, and copper of two links joins two switches by pairs."""
    bom = built(plan)
    compute = bom["fabrics"]["compute"]
    for tier in ("leaf", "spine"):
        assert filled(bom, tier) <= CAGES * compute["switches"][tier]
    cables = compute["cables"].get("leaf-spine", {})
    if any(part.startswith(TWO_LINKS) for part in cables):
        assert compute["links"]["leaf-spine"] == 2 * sum(cables.values())
        assert compute["links"]["leaf-spine"] % (2 * (compute["switches"]["spine"] // compute.get("pods", 1))) == 0
    lower = compute["links"]["server-leaf"]
    for part, pieces in compute["cables"]["server-leaf"].items():
        links = (
            4 if part.startswith(("mcp7y4", "mcp7y5")) else 2 if part.startswith(("mcp7", "mfp7e20", "mfp7e40")) else 1
        )
        assert ceil(lower / links) <= pieces <= lower
