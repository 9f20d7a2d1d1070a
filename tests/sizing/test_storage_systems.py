"""Storage systems of the catalogue: how many units, where they are plugged in, and what their order needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from written_plans import plan_file

from bomgen.cabling.devices import number_devices
from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.documents.chapters.contents import sentences, summarize_cluster
from bomgen.documents.tables import Writer
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out

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
        ({"read_per_server": "40 GB/s", "write_per_server": "5 GB/s"}, 26),
        ({"read_per_server": "5 GB/s", "write_per_server": "20 GB/s"}, 20),
        ({"read_per_server": "5 GB/s", "write_per_server": "5 GB/s", "dataset": "3 PB"}, 25),
        ({"read_per_server": "5 GB/s", "write_per_server": "5 GB/s"}, 8),
        ({"read_per_server": "5 GB/s", "write_per_server": "5 GB/s", "servers": {"count": 10}}, 10),
    ],
)
def test_units_carry_what_is_read_written_and_stored(built: Built, needs: Mapping[str, Any], units: int) -> None:
    """WEKApod Nitro: 50 GB/s read by two ports at 200 Gb/s, 32 GB/s written, 121 TB a node, eight nodes at least."""
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
        (["vast-cbox-gen6", "vast-dbox-df3015v2"], "sn5600", "dell-xe9680-h200"),
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
    assert storage["endpoints"] == 32 * 2 + 42 * 2


def pieces(bom: Mapping[str, Any]) -> dict[str, int]:
    """The quantity of each part of the storage system on the bill."""
    return {line["part"]: line["quantity"] for line in bom["lines"] if line["role"] == "storage"}


@pytest.mark.parametrize(
    "named",
    ["vast-dbox-df3015v2", ["vast-dbox-df3015v2"], [{"part": "vast-cbox-gen6", "count": "auto"}, "vast-dbox-df3015v2"]],
)
def test_a_system_of_several_parts_is_completed(built: Built, named: Any) -> None:
    """500 TB take two DBoxes of 276 TB, two CBoxes for each of them, and a pair of switches for 8 + 8 links."""
    bom = built(plan({"dataset": "500 TB", "servers": named}))
    assert pieces(bom) == {"vast-cbox-gen6": 4, "vast-dbox-df3015v2": 2, "sn3700": 2}
    assert bom["storage"]["sold_capacity_bytes"] == 552 * 10**12
    assert bom["storage"]["servers"] == 6
    assert bom["storage"]["parts"]["sn3700"] == {"servers": 2}
    assert bom["storage"]["parts"]["vast-dbox-df3015v2"] == {
        "servers": 2,
        "capacity_bytes": 552 * 10**12,
        "read_bytes_per_second": 116 * 10**9,
        "write_bytes_per_second": 17 * 10**9,
    }
    on_storage = bom["fabrics"]["storage"]["hosts"]
    assert on_storage == {"cbox-1u-1n-gen6": {"count": 4, "ports": 2}}
    managed = bom["fabrics"]["out_of_band"]["hosts"]
    assert {name: managed[name]["count"] for name in managed if name != "switches"} == {
        "cbox-1u-1n-gen6": 4,
        "dbox-df-3015v2": 2,
        "sn3700": 2,
    }


def test_parts_are_sized_by_what_they_have(built: Built) -> None:
    """CBoxes follow from their bandwidth, at least two for each DBox; DBoxes from capacity and bandwidth."""
    parts = [{"part": "vast-cbox-gen6", "read": "20 GB/s", "write": "10 GB/s"}, "vast-dbox-df5630"]
    needs = {"dataset": "3 PB", "read_per_server": "5 GB/s", "write_per_server": "1 GB/s"}
    bom = built(plan({**needs, "servers": parts}))
    assert pieces(bom) == {"vast-cbox-gen6": 8, "vast-dbox-df5630": 4, "sn3700": 2}
    assert bom["storage"]["delivered_read_bytes_per_second"] == 160 * 10**9
    mixed = [*parts[:1], {"part": "vast-dbox-df5630", "count": 2}, "vast-dbox-df3015v2"]
    assert pieces(built(plan({**needs, "servers": mixed})))["vast-dbox-df3015v2"] == 3
    assert pieces(built(plan({"dataset": "3 PB", "servers": mixed})))["vast-cbox-gen6"] == 2 * (2 + 3)


def test_a_part_alone_is_refused_where_its_partner_is_a_choice(built: Built) -> None:
    """CBoxes hold no data; which flash they take is for the plan to say."""
    for named in ("vast-cbox-gen6", {"part": "vast-cbox-gen6", "count": 8}):
        with pytest.raises(PlanErrors, match=r"add \{part: vast-dbox-df3015v2\} or \{part: vast-dbox-df3060v2\}"):
            built(plan({"dataset": "1 PB", "servers": named}))


def test_powerscale_brings_its_switches(built: Built) -> None:
    """Three nodes at least, with a pair of switches behind them."""
    bom = built(plan({"dataset": "500 TB", "servers": {"part": "powerscale-f910", "capacity": "300 TB"}}))
    assert pieces(bom) == {"powerscale-f910": 3, "dell-s5232f": 2}


def test_a_system_without_a_known_capacity_asks_for_it(tmp_path: Path) -> None:
    """A system sized for its bandwidth alone might not hold the data; one of the user's own may have neither."""
    (tmp_path / "parts" / "storage").mkdir(parents=True)
    (tmp_path / "parts" / "storage" / "acme.yaml").write_text("name: Acme 1\nread: 50 GB/s\n", encoding="utf-8")
    with pytest.raises(PlanErrors, match="no capacity of Acme 1 is known"):
        work_out(plan_file({**plan({"dataset": "500 TB", "servers": "acme"}), "catalog": ["parts/"]}, tmp_path))


SYSTEMS = sorted(record.id for record in Catalog().all("storage"))
LEAVES = {"qsfp28": "sn4600c", "qsfp56": "sn3700"}
"""Leaves with the cages of a storage system, where the usual one has no module for both ends."""


@pytest.mark.parametrize("id", SYSTEMS)
def test_every_system_is_a_complete_order(worked: Worked, id: str) -> None:
    """A plan that names a system needs no more: capacity, rates, ports, height, power and weight, or an estimate."""
    system = part_records.storage_system(Catalog().find("storage", id))
    storage = {"switch": LEAVES.get(system.cage, "sn5600"), "homing": "dual", "ports_per_server": 2}
    if system.cage == "qsfp28":
        storage |= {"link": "100G", "nic": "cx6dx-2x100"}
    named = [id, "vast-dbox-df3015v2"] if id == "vast-cbox-gen6" else id
    site = {"rack": {"units": 48, "power": "44 kW"}}
    report = worked(
        {**plan({"dataset": "2 PB", "servers": named}, storage=storage), "site": site, "operation": {"years": 3}}
    )
    rules = {problem.rule for problem in report.problems}
    assert not {"storage-unrated", "unknown-power", "no-part-known"} & rules
    weights = [problem for problem in report.problems if problem.rule == "unknown-weight"]
    assert not [problem for problem in weights if system.identity.name in str(problem.message)]
    bom = result(report)
    assert bom["storage"]["sold_capacity_bytes"] >= 2 * 10**15
    assert bom["storage"]["delivered_read_bytes_per_second"] > bom["storage"]["delivered_write_bytes_per_second"] > 0
    assert bom["site"]["storage_power_w"] > 0
    front = [hosts for name, hosts in bom["fabrics"]["storage"]["hosts"].items()]
    assert sum(hosts["count"] * hosts["ports"] for hosts in front) >= 2
    ordered = {line["part"] for line in bom["lines"] if line.get("required_by")} | {
        part for item in bom["not_on_bill"] for part in [item.get("part")]
    }
    for unit in report.design.sizing.stored.units:
        for need in unit.of.identity.requires:
            assert need.quantity is None or ordered & set(need.parts), need.parts


def test_boxes_of_flash_limit_what_servers_deliver(built: Built) -> None:
    """Eight CBoxes read 232 GB/s, but a DBox gives 58: the system delivers the less of both, never their sum."""
    counts = [{"part": "vast-cbox-gen6", "count": 8}, {"part": "vast-dbox-df3015v2", "count": 1}]
    storage = built(plan({"servers": counts}))["storage"]
    assert storage["delivered_read_bytes_per_second"] == 58 * 10**9
    assert storage["delivered_write_bytes_per_second"] == 8.5 * 10**9


def test_cables_and_licences_of_a_system_are_counted(built: Built) -> None:
    """Two cables for each CBox, four for each DBox, and the licence by terabyte and year, named beside the bill."""
    bom = built({**plan({"dataset": "500 TB", "servers": "vast-dbox-df3015v2"}), "operation": {"years": 3}})
    required = [(item.get("part"), item["quantity"]) for item in bom["not_on_bill"] if item["included"] is None]
    assert sorted(quantity for part, quantity in required if part == "generic-200g-aoc") == [4 * 2, 2 * 4]
    assert ("vast-licence", 2 * 276 * 3) in required


@pytest.mark.parametrize(
    ("named", "parts", "sold"),
    [
        ("wekapod-nitro-15t", {"wekapod-nitro-15t": 8}, 968),
        ("vast-dbox-df3015v2", {"vast-dbox-df3015v2": 2, "vast-cbox-gen6": 4, "sn3700": 2}, 552),
    ],
)
def test_half_a_petabyte_for_sixteen_hgx_b300(worked: Worked, named: str, parts: Mapping[str, int], sold: int) -> None:
    """The whole system is on the bill, in the racks and on the cables, and its cords are required."""
    cluster = {"gpu": "b300-sxm", "server": "hgx-b300-8-generic", "servers": 16}
    site = {"rack": {"units": 48, "power": "44 kW"}, "layout": "auto"}
    report = worked({**plan({"dataset": "500 TB", "servers": named}), "cluster": cluster, "site": site})
    bom = result(report)
    assert pieces(bom) == parts
    assert bom["storage"]["sold_capacity_bytes"] == sold * 10**12
    machines = {kind.identity.id: kind for kind in number_devices(report.design).kinds if kind.identity}
    assert {id: machines[id].number for id in parts} == parts
    assert all(machines[id].height_u for id in parts)


def test_the_offer_states_what_is_sold_and_what_was_asked_for(worked: Worked) -> None:
    """WEKA for 500 TB: eight nodes at least, 968 TB."""
    report = worked(plan({"dataset": "500 TB", "servers": "wekapod-nitro-15t"}))
    for text in (summarize_cluster, sentences):
        assert [line for line in text(Writer(report, language("en"))) if line.startswith("Storage:")] == [
            "Storage: 8 × WEKApod Nitro node, 14 x 15.36 TB; 968 TB usable sold, 500 TB requested; "
            "400 GB/s read, 256 GB/s write."
        ]


def test_an_unknown_system_is_refused_where_it_is_named(built: Built) -> None:
    """With the nearest one."""
    with pytest.raises(PlanErrors, match="no storage 'ddn-ai400x4'; did you mean"):
        built(plan({"servers": "ddn-ai400x4"}))
    with pytest.raises(PlanErrors, match="no storage 'ddn-ai400x4'; did you mean"):
        built(plan({"servers": {"part": "ddn-ai400x4"}}))


def test_a_storage_server_counts_with_the_rate_of_its_ports_as_cabled(built: Built) -> None:
    """1280 GB/s take 19 WEKApods of 71 GB/s each, but 26 with two ports of 200 Gb/s: 50 GB/s, half of their 400."""
    fabric = {"switch": "sn5600", "homing": "dual", "ports_per_server": 2}
    stored = {"read_per_server": "40 GB/s", "write_per_server": "5 GB/s", "servers": "wekapod-nitro-15t"}
    faster = {**fabric, "nic": {"ports": 2, "port_gbps": 400}}
    fast, slow = (built(plan(stored, storage=each)) for each in (faster, fabric))
    assert [bom["storage"]["servers"] for bom in (fast, slow)] == [19, 26]
    rated = [bom["storage"]["rated_read_per_storage_server"] for bom in (fast, slow)]
    delivered = [bom["storage"]["delivered_read_bytes_per_second"] for bom in (fast, slow)]
    assert (rated, delivered) == ([71 * 10**9] * 2, [19 * 71 * 10**9, 26 * 50 * 10**9])
    assert "storage-ports" in [check["id"] for check in slow["checks"] if check["status"] == "warn"]
    assert "storage-ports" not in [check["id"] for check in fast["checks"] if check["status"] == "warn"]


@pytest.mark.parametrize(("rate", "ports", "carried"), [("200G", 2, 50), ("200G", 1, 25), ("100G", 2, 25)])
def test_servers_write_checkpoints_at_the_rate_of_their_ports(
    built: Built, rate: str, ports: int, carried: int
) -> None:
    """What 32 servers are said to write, 80 GB/s each, is no more than their ports on the storage network carry."""
    training = {"model": "llama-3.1-70b", "tokens": "1T"}
    asked = plan(
        {"read_per_server": "20 GB/s", "write_per_server": "80 GB/s"},
        storage={"switch": "sn5600", "homing": "single", "ports_per_server": ports, "link": rate},
    )
    found = built({**asked, "workload": {"training": training}})["storage"]
    assert found["write_per_server"] == carried * 10**9
    assert found["read_per_server"] == min(carried, 20) * 10**9
    assert found["write_bytes_per_second"] == 32 * carried * 10**9
    assert found["checkpoint_write_seconds"] == pytest.approx(found["checkpoint_bytes"] / (32 * carried * 10**9))
