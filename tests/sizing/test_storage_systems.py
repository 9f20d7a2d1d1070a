"""Storage systems of the catalogue: how many units, where they are plugged in, and what their order needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.report.result import Report

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]


def plan(stored: Mapping[str, Any], server: str = "dell-xe9680-h200", **fabrics: Any) -> dict[str, Any]:
    """Thirty-two servers with storage on a fabric of their own."""
    cluster = {"gpu": "h200-sxm", "server": server, "servers": 32}
    named = {"storage": {"switch": "sn5600", "homing": "dual"}, "out_of_band": "default", **fabrics}
    return {"bomgen": 1, "name": "stored", "cluster": cluster, "fabrics": named, "storage": stored}


@pytest.mark.parametrize(
    ("needs", "units"),
    [
        ({"read_per_server": "40 GB/s", "write_per_server": "5 GB/s"}, 19),
        ({"read_per_server": "5 GB/s", "write_per_server": "20 GB/s"}, 20),
        ({"read_per_server": "5 GB/s", "write_per_server": "5 GB/s", "dataset": "3 PB"}, 25),
        ({"read_per_server": "5 GB/s", "write_per_server": "5 GB/s"}, 8),
        ({"read_per_server": "5 GB/s", "write_per_server": "5 GB/s", "servers": {"count": 10}}, 10),
    ],
)
def test_units_carry_what_is_read_written_and_stored(built: Built, needs: Mapping[str, Any], units: int) -> None:
    """WEKApod Nitro: 71 GB/s read, 32 GB/s written and 121 TB a node, eight nodes at least."""
    system = {"part": "wekapod-nitro-15t", **needs.get("servers", {})}
    bom = built(plan({**needs, "servers": system}))
    (line,) = [line for line in bom["lines"] if line["category"] == "storage"]
    assert (line["quantity"], line["sku"], line["part"]) == (units, "WPS175-SAE", "wekapod-nitro-15t")
    for fabric in ("storage", "out_of_band"):
        hosts = bom["fabrics"][fabric]["hosts"]
        assert [hosts[name] for name in hosts if name.startswith("wekapod")] == [{"count": units, "ports": 2}]
    assert "weka-licence" in [item.get("part") for item in bom["not_on_bill"]]


@pytest.mark.parametrize(
    ("system", "switch", "server"),
    [
        ({"part": "vast-cbox-gen6", "count": 4}, "sn5600", "dell-xe9680-h200"),
        ("ddn-ai400x3", "qm9700", "dgx-h200"),
        ("wekapod-nitro-8t", "sn5600", "dell-xe9680-h200"),
    ],
)
def test_systems_are_plugged_in_with_parts_that_exist(worked: Worked, system: Any, switch: str, server: str) -> None:
    """VAST on Ethernet, DDN on InfiniBand and WEKA beside servers with ports of another rate."""
    storage = {"switch": switch, "homing": "dual", "ports_per_server": 2}
    report = worked(plan({"dataset": "1 PB", "servers": system}, server, storage=storage))
    assert not {"no-part-known", "generic", "foreign-module"} & {problem.rule for problem in report.problems}


def test_other_parts_take_idle_cages_of_a_leaf(built: Built) -> None:
    """Splitters of servers and straight links of storage share no cage: a leaf has idle ones for the last of them."""
    needs = {"read_per_server": "40 GB/s", "write_per_server": "20 GB/s", "dataset": "5 PB"}
    bom = built(plan({**needs, "servers": "wekapod-nitro-15t"}, storage="default"))
    storage = bom["fabrics"]["storage"]
    assert storage["switches"]["leaf"] == 2
    assert storage["endpoints"] == 32 * 2 + 42 * 2 + 5 * 2


def test_a_system_without_bandwidth_asks_for_its_number(built: Built) -> None:
    """Nobody publishes what a CBox of VAST carries."""
    with pytest.raises(PlanErrors, match="give count, capacity, read or write"):
        built(plan({"dataset": "1 PB", "servers": "vast-cbox-gen6"}))


def test_an_unknown_system_is_refused_where_it_is_named(built: Built) -> None:
    """With the nearest one."""
    with pytest.raises(PlanErrors, match="no storage 'ddn-ai400x4'; did you mean"):
        built(plan({"servers": "ddn-ai400x4"}))
    with pytest.raises(PlanErrors, match="no storage 'ddn-ai400x4'; did you mean"):
        built(plan({"servers": {"part": "ddn-ai400x4"}}))
