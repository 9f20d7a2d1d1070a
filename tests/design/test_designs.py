"""Designs that once came out wrong, each as the smallest plan that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render
from bomgen.results.result import Report

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]


def plan(fabrics: Mapping[str, Any], **cluster: Any) -> dict[str, Any]:
    """A plan of H100 servers, four unless said otherwise."""
    given = {"gpu": "h100-sxm", "servers": 4} | cluster
    return {
        "bomgen": 1,
        "name": "small",
        "cluster": {key: value for key, value in given.items() if value is not None},
        "fabrics": fabrics,
    }


def rules_of(report: Report) -> list[str]:
    """The rules of a report's warnings."""
    return [problem.rule for problem in report.problems]


def switches_of(report: Report) -> int:
    """The switches of all fabrics."""
    return sum(built.fabric.switches.value for built in report.design.fabrics)


def modules_of(report: Report) -> int:
    """The modules of all fabrics."""
    return sum(use.quantity.value for built in report.design.fabrics for use in built.interconnect.modules)


def test_an_inline_server_takes_rate_and_ports_from_its_nic(built: Built) -> None:
    """The inline server of the plan format needs no rate of its own; a card of two ports gives two endpoints."""
    server = {"gpus": 8, "nics": 8, "nic": "cx7-400-osfp", "rack_units": 8, "power": "10.2 kW"}
    fabric = built(plan({"compute": {"switch": "qm9700"}}, server=server))["fabrics"]["compute"]
    assert (fabric["endpoints"], fabric["link_gbps"], fabric["transceivers"]["server"]) == (32, 400, 32)
    server = {"gpus": 8, "nics": 4, "nic": {"ports": 2, "port_gbps": 200}}
    result = built(plan({"compute": {"switch": "qm9700"}}, server=server))
    assert (result["fabrics"]["compute"]["endpoints"], result["cluster"]["nics"]) == (32, 16)


def test_the_servers_own_card_is_not_bought_again(built: Built, worked: Worked) -> None:
    """Naming the card that a server comes with buys nothing; another card is bought with a warning."""
    own = built(plan({"compute": {"switch": "qm9700", "nic": "cx7-400-osfp"}}))
    assert [line["id"] for line in own["lines"] if line["category"] == "nic"] == []
    other = worked(plan({"compute": {"switch": "sn5400", "nic": "bf3-b3140l"}}))
    assert "own-nics" in rules_of(other)


def test_exact_build_out_leaves_no_module_behind(built: Built) -> None:
    """Spine modules follow the links of a leaf that is not full: 72 links, 72 engines at the spines."""
    links = {"leaf-spine": {"module": "generic-400g"}}
    fabric = built(plan({"compute": {"switch": "qm9700", "build_out": "exact", "links": links}}, servers=9))
    compute = fabric["fabrics"]["compute"]
    assert compute["links"]["leaf-spine"] == compute["transceivers"]["spine"]


def test_ports_of_a_server_are_used_once(worked: Worked) -> None:
    """Two fabrics on a server's own storage ports need not more of them than there are."""
    with pytest.raises(PlanErrors, match=r"use 8 ports per server; DGX H100 has 4.*\[ports\]"):
        worked(plan({"storage": {"switch": "qm9700"}, "in_band": {"switch": "qm9700"}}))


def test_each_kind_of_link_has_its_own_rate(built: Built) -> None:
    """A faster kind of link leaves the others at the fabric's rate."""
    fabric = {"switch": "qm9700", "link": "200G", "links": {"leaf-spine": {"rate": "400G"}}}
    compute = built(plan({"compute": fabric}, servers=64))["fabrics"]["compute"]
    assert (compute["link_gbps"], compute["ports"]["spine"]["radix"]) == (200, 64)


def test_links_between_switches_take_the_cheaper_rate(worked: Worked) -> None:
    """400G NICs on 800G switches: 800G between the switches needs less of everything, and what is asked for stands."""
    found = {
        rate: worked(plan({"compute": {"switch": "q3400-ra", **links}}, servers=64))
        for rate, links in (
            ("silent", {}),
            *((each, {"links": {"leaf-spine": {"rate": each}}}) for each in ("400G", "800G")),
        )
    }
    switches, modules = ({rate: count(each) for rate, each in found.items()} for count in (switches_of, modules_of))
    assert switches["silent"] == switches["800G"] < switches["400G"]
    assert modules["silent"] == modules["800G"] <= modules["400G"]


def test_faster_links_that_cost_more_are_not_taken(worked: Worked) -> None:
    """Copper between the switches that would become modules at a faster rate is left alone."""
    copper = {"leaf-spine": {"medium": "dac", "length": "2 m"}}
    found = worked(plan({"compute": {"switch": "7060x6-64pe", "link": "400G", "links": copper}}, servers=64))
    assert {"400"} == {str(links.rate_gbps.value) for links in found.design.fabrics[0].fabric.links}


def test_links_between_switches_take_a_rate_that_is_sold(worked: Worked) -> None:
    """No 200G module joins two SN5600: links between them run at 400G, as many as the ratio asks."""
    report = worked(plan({"compute": {"switch": "sn5600", "nic": "cx6-hdr"}}, servers=64))
    [built] = report.design.fabrics
    rates = {links.kind: links.rate_gbps.value for links in built.fabric.links}
    assert rates == {"server-leaf": 200, "leaf-spine": 400}
    assert [group.medium for group in built.interconnect.groups_of_kind("leaf-spine")] != [None]
    leaf = built.fabric.tiers[0]
    assert leaf.down.value * rates["server-leaf"] <= leaf.up.value * rates["leaf-spine"]


def test_groups_of_ports_serve_the_links_that_they_can_carry(worked: Worked) -> None:
    """48 x 100G and 8 x 400G with 8 links up: all 48 are left for links down, at 4800 to 3200 Gb/s."""
    switch = {"port_groups": [{"ports": 48, "port_gbps": 100}, {"ports": 8, "port_gbps": 400}]}
    fabric = {"switch": switch, "leaf": {"uplinks": 8}, "nic": {"ports": 1, "port_gbps": 100}, "oversubscription": 1.5}
    [built] = worked(
        plan({"compute": {**fabric, "links": {"leaf-spine": {"rate": "400G"}}}}, servers=24)
    ).design.fabrics
    leaf, spine = built.fabric.tiers
    assert (leaf.count.value, leaf.down.value, leaf.up.value) == (4, 48, 8)
    assert spine.count.value * 8 >= leaf.count.value * leaf.up.value


@pytest.mark.parametrize(
    ("fabric", "key"),
    [
        ({"switch": "qm9700", "spine": {"count": 9}, "topology": "single-switch"}, "spine"),
        ({"switch": "qm9700", "topology": "single-switch", "oversubscription": 3}, "oversubscription"),
        ({"switch": "qm9700", "core": {"switch": "qm9700"}}, "core"),
        ({"switch": "qm9700", "topology": "mesh", "tiers": 2}, "tiers"),
        ({"switch": "qm9700", "topology": "dragonfly", "tiers": 3}, "tiers"),
    ],
)
def test_what_has_no_effect_is_said(worked: Worked, fabric: dict[str, Any], key: str) -> None:
    """A key of the plan that changes nothing brings a warning."""
    found = [problem.path for problem in worked(plan({"compute": fabric})).problems if problem.rule == "no-effect"]
    assert f"fabrics.compute.{key}" in found


def test_what_a_mesh_reads_has_an_effect(worked: Worked) -> None:
    """The ratio and the ports down of a mesh decide its peer links: nothing is said against them."""
    fabric = {"switch": "qm9700", "topology": "mesh", "oversubscription": 2, "leaf": {"downlinks": 34}}
    report = worked(plan({"compute": fabric}, servers=8))
    assert [built.fabric.links_of("leaf-leaf").count.value for built in report.design.fabrics] == [17]
    assert [problem.path for problem in report.problems if problem.rule == "no-effect"] == []


def test_racks_and_bill_agree_on_rack_scale_systems(built: Built) -> None:
    """Spare trays are bought and racked in racks of their own."""
    result = built(
        plan({"compute": {"switch": "q3400-ra"}}, gpu="gb200", servers=None, gpus=80, spare_servers=18) | {"site": {}}
    )
    line = next(line for line in result["lines"] if line["category"] == "server")
    assert line["quantity"] + line["spare"] == result["site"]["compute_racks"] == 3


@pytest.mark.parametrize("servers", [17, 65, 70, 73, 81, 257, 300])
def test_twin_port_modules_of_odd_numbers_of_links(built: Built, servers: int) -> None:
    """Half-used twin-port modules are counted on one kind of link, and the result is still proved."""
    checks = built(plan({"compute": {"switch": "qm9700"}}, servers=servers))["checks"]
    assert {check["status"] for check in checks if check["id"] == "optical-ends"} == {"pass"}


def test_a_named_length_of_cable_is_taken(built: Built) -> None:
    """A cable named with its length is bought in that length, whatever length is assumed for the link."""
    fabric = {"switch": "qm9700", "links": {"leaf-spine": {"medium": "dac", "module": "mcp4y10-n001"}}}
    compute = built(plan({"compute": fabric}, servers=16))["fabrics"]["compute"]
    assert list(compute["cables"]["leaf-spine"]) == ["mcp4y10-n001"]


PODS = {"topology": "fat-tree", "switch": "qm9700", "tiers": 2, "pod": {"leaves": 4}}
"""64 servers of eight ports in pods of 128 ports whose spines nothing connects."""


def test_pods_that_nothing_connects_are_refused(worked: Worked) -> None:
    """The message names two machines that share no path."""
    with pytest.raises(PlanErrors) as errors:
        worked(plan({"compute": PODS}, servers=64))
    [problem] = errors.value.problems
    assert (problem.severity, problem.rule) == ("error", "unreachable")
    assert problem.message.startswith("server 1 and server 64 share no path: nothing connects the 4 pods")


def test_pods_that_nothing_connects_can_be_meant(worked: Worked) -> None:
    """With `allow_islands: true` they are built and said to be so, in the quote too; whoever has none is not told."""
    report = worked(plan({"compute": PODS | {"allow_islands": True}}, servers=64))
    [said] = [problem for problem in report.problems if problem.rule == "unreachable"]
    assert said.severity == "warning"
    assert said.message.startswith("4 pods are not connected to each other")
    assert str(said.message) in render(report, ("md",))["report.md"].decode()
    assert "unreachable" not in rules_of(worked(plan({"compute": {"switch": "qm9700", "allow_islands": True}})))


def hosts_called(*names: str) -> dict[str, Any]:
    """A storage fabric with hosts, each a machine that the plan describes."""
    parts = [{"name": name, "rack_units": units} for units, name in enumerate(names, start=1)]
    hosts = [{"name": f"h{place}", "count": 2, "part": part} for place, part in enumerate(parts)]
    return {"storage": {"switch": "qm9700", "ports_per_server": 1, "nic": "cx7-400-osfp", "hosts": hosts}}


@pytest.mark.parametrize("names", [("全闪存储", "登录服务器"), ("全闪存储 A", "全闪存储 B"), ("Ärger", "Arger")])
def test_parts_described_in_the_plan_have_ids_of_their_own(built: Built, names: tuple[str, str]) -> None:
    """Letters of any script tell them apart, so that each has a line and a price of its own."""
    result = built(plan(hosts_called(*names)))
    lines = {line["description"]: line["part"] for line in result["lines"] if line["category"] == "storage"}
    found = [line["part"] for line in result["lines"] if line["description"] in names]
    assert len(set(found)) == len(names), lines


@pytest.mark.parametrize("names", [("全闪存储", "全闪存储"), ("全闪 存储", "全闪-存储"), ("ＡＢ", "ab")])
def test_parts_that_would_have_one_id_are_refused(worked: Worked, names: tuple[str, str]) -> None:
    """Two machines of other figures whose names become the same id: the second is pointed out."""
    with pytest.raises(PlanErrors) as errors:
        worked(plan(hosts_called(*names)))
    [problem] = errors.value.problems
    assert (problem.severity, problem.rule) == ("error", "same-id")


@pytest.mark.parametrize(
    ("cluster", "trays", "rules"),
    [
        ({"racks": 2}, 36, set()),
        ({"gpus": 144}, 36, set()),
        ({"gpus": 100}, 25, {"part-of-a-rack"}),
    ],
    ids=["racks", "gpus", "part of a rack"],
)
def test_rack_scale_systems_are_planned_by_the_rack(
    worked: Worked, cluster: dict[str, Any], trays: int, rules: set[str]
) -> None:
    """Two NVL72 are 36 trays of 4 GPUs; 100 GPUs use a part of the second, which is bought whole."""
    report = worked(plan({"compute": {"switch": "q3400-ra"}}, gpu="gb200", servers=None, **cluster))
    assert report.design.sizing.servers.value == trays
    assert set(rules_of(report)) & {"part-of-a-rack"} == rules
    [bought] = [line.quantity.value for line in report.bill.lines if line.category == "server"]
    assert bought == 2


def test_a_rack_scale_system_is_held_against_the_racks_of_the_site(worked: Worked) -> None:
    """120 kW under racks of 40 kW, or where 40 kW are cooled, is refused unless the plan allows it."""
    for rack, rules in (
        ({"power": "40 kW"}, {"rack-power"}),
        ({"power": "120 kW", "cooling": "40 kW"}, {"rack-cooling"}),
        ({"power": "120 kW", "cooling": "120 kW"}, set()),
    ):
        site = {"site": {"rack": {"units": 48, **rack}}}
        cluster = {"gpu": "gb200", "servers": None, "racks": 1}
        described = plan({"compute": {"switch": "q3400-ra"}}, **cluster)
        allowed = worked(described | {"site": site["site"] | {"allow_overload": True}})
        assert set(rules_of(allowed)) & {"rack-power", "rack-cooling"} == rules
        if rules:
            with pytest.raises(PlanErrors) as raised:
                worked(described | site)
            assert {problem.rule for problem in raised.value.problems} == rules
        else:
            worked(described | site)


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ({"switch": "qm9700", "ports_per_server": 2}, "is a single point of failure: it has one switch"),
        ({"switch": "qm9700", "ports_per_server": 2, "tiers": 2}, "takes 2 + 1 switches instead of 1 + 1"),
        (
            {"switch": "qm9700", "ports_per_server": 2, "tiers": 2, "homing": "single"},
            "connect to one module of one leaf",
        ),
        ({"switch": "qm9700", "ports_per_server": 2, "planes": 2}, None),
        (
            {"switch": "qm9700", "planes": 2, "hosts": [{"name": "ufm", "count": 1, "ports": 2, "part": "ufm-ndr"}]},
            "is managed by one",
        ),
        ({"switch": "qm9700", "ports_per_server": 2, "topology": "mesh", "homing": "dual"}, None),
        ({"switch": "qm9700", "ports_per_server": 1, "leaf": {"servers": 4}}, "has a single spine"),
        ({"switch": "qm9700", "ports_per_server": 2, "homing": "dual", "tiers": 2}, None),
    ],
    ids=["one switch", "one leaf", "one module", "planes", "one manager", "dual homing", "one spine", "two leaves"],
)
def test_single_points_of_failure_are_said(worked: Worked, storage: dict[str, Any], said: str | None) -> None:
    """What machines lose the storage with: the only switch, or the module of both ports. Two planes survive it."""
    found = [
        str(problem.message)
        for problem in worked(plan({"storage": storage}, servers=8)).problems
        if problem.rule == "single-point"
    ]
    assert len(found) == (said is not None)
    assert all(said in message for message in found if said)


def test_a_ratio_of_a_mesh_has_an_effect(worked: Worked) -> None:
    """It decides the peer links; on a single switch it has none."""
    for fabric, said in (({"topology": "mesh"}, False), ({"topology": "single-switch"}, True)):
        report = worked(plan({"compute": {"switch": "qm9700", "oversubscription": 3, **fabric}}, servers=4))
        assert ("no-effect" in rules_of(report)) == said


def test_a_named_rate_without_a_part_between_switches_steps_up(worked: Worked) -> None:
    """200G links of servers stay; no part carries 200G between SN5600s, so those run at 400G."""
    storage = {"switch": "sn5600", "ports_per_server": 2, "homing": "dual", "link": "200G", "topology": "mesh"}
    report = worked(plan({"storage": storage}, servers=8))
    assert "no-part-known" not in rules_of(report)
    [built] = report.design.fabrics
    assert {links.kind: links.rate_gbps.value for links in built.fabric.links} == {"server-leaf": 200, "leaf-leaf": 400}


def test_fixed_counts_are_refused_rather_than_given_a_third_tier(worked: Worked) -> None:
    """Five uplinks do not spread over three spines, and two tiers would do."""
    with pytest.raises(PlanErrors, match="uplinks cannot be distributed evenly"):
        worked(plan({"compute": {"switch": "sn5600", "leaf": {"uplinks": 5}, "spine": {"count": 3}}}, servers=12))


SLOW_NIC = {"gpus": 8, "nics": 8, "nic": {"ports": 1, "port_gbps": 200}}


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        (
            "h3c-s9825-64d",
            "no source states whether the ports of S9825-64D can be split: 8 + 2 switches are needed with 1 link of "
            "200 Gb/s per port, 4 + 2 with 2 links; ask the vendor, or set `split` in a part file",
        ),
        (
            {"name": "Bare", "ports": 64, "port_gbps": 400},
            "no source states whether the ports of Bare can be split: 8 + 2 switches are needed with 1 link of "
            "200 Gb/s per port, 4 + 2 with 2 links; ask the vendor, or set `split` in a part file",
        ),
        ({"name": "Whole", "ports": 64, "port_gbps": 400, "split": 1}, None),
        ({"name": "Split", "ports": 64, "port_gbps": 400, "split": 2}, None),
        ({"name": "Table", "ports": 64, "port_gbps": 400, "modes": {"200G": 128}}, None),
        ({"name": "Slow", "ports": 64, "port_gbps": 200}, None),
    ],
    ids=["not read", "not said", "whole", "split", "table", "no rate to split for"],
)
def test_a_split_that_nobody_read_is_said(worked: Worked, switch: Any, said: str | None) -> None:
    """With the number of switches either way, where the two differ, at the line of the fabric."""
    report = worked(plan({"compute": {"switch": switch, "topology": "fat-tree"}}, servers=32, server=SLOW_NIC))
    found = [problem for problem in report.problems if problem.rule == "split-unread"]
    assert [problem.message for problem in found] == ([said] if said else [])
    assert all(problem.mark == report.plan.fabrics[0].mark for problem in found)


def test_a_split_that_nobody_read_and_that_changes_nothing_is_not_said(worked: Worked) -> None:
    """Four servers take one switch whether its ports can be split or not."""
    report = worked(plan({"compute": {"switch": "h3c-s9825-64d", "topology": "fat-tree"}}, server=SLOW_NIC))
    assert "split-unread" not in rules_of(report)
