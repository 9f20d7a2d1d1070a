"""Machines beside the servers: their own cages, modules and cables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

Built = Callable[[Mapping[str, Any]], dict[str, Any]]

ASSUMED = "Cages of other hosts"


def plan(fabrics: Mapping[str, Any], servers: int = 127, **more: Any) -> dict[str, Any]:
    """A plan of DGX H100 servers."""
    cluster = {"gpu": "h100-sxm", "servers": servers}
    return {"bomgen": 1, "name": "hosts", "cluster": cluster, "fabrics": fabrics, **more}


def pieces(bom: Mapping[str, Any], fabric: str, category: str) -> Counter[str]:
    """The pieces of a category by part."""
    found: Counter[str] = Counter()
    for line in bom["lines"]:
        if line["fabric"] == fabric and line["category"] == category:
            found[line["part"]] += line["quantity"]
    return found


def assumed(bom: Mapping[str, Any]) -> bool:
    """Whether a cage is taken for the servers'."""
    return ASSUMED in [each["name"] for each in bom["assumptions"]]


def test_fabric_managers_take_the_modules_of_their_own_cages(built: Built) -> None:
    """A UFM appliance has flat single-port cages: on compute as on storage it takes MMA4Z00-NS400, one a port."""
    hosts = [{"name": "UFM", "count": 2, "ports": 2, "part": "ufm-ndr"}]
    fabrics = {
        "compute": {"switch": "qm9700", "topology": "rail-optimized", "hosts": hosts},
        "storage": {"switch": "qm9700", "ports_per_server": 2, "hosts": [{**hosts[0], "ports": 1}]},
    }
    bom = built(plan(fabrics))
    compute = pieces(bom, "compute", "transceiver")
    assert (compute["mma4z00-ns-flt"], compute["mma4z00-ns400"]) == (127 * 4, 4)
    storage = pieces(bom, "storage", "transceiver")
    assert (storage["mma1z00-ns400"], storage["mma4z00-ns400"]) == (127 * 2, 2)
    assert not assumed(bom)


def test_machines_on_two_fabrics_are_bought_once(built: Built) -> None:
    """Two UFM appliances with ports on compute and on storage are two, in bill, power and weight: 2 x 689 W, 2 x 17 kg.

    Power and weight of one are those of its data sheet, with ports on storage as without.
    """
    hosts = [{"name": "ufm", "count": 2, "part": "ufm-ndr"}]
    fabrics = {"compute": {"switch": "qm9700"}, "storage": {"switch": "qm9700", "ports_per_server": 2}}
    both = {name: {**fabric, "hosts": hosts} for name, fabric in fabrics.items()}
    one = {**fabrics, "storage": both["storage"]}
    unnamed = {**one, "compute": {**fabrics["compute"], "hosts": [{"name": "ufm", "count": 2}]}}
    power, weight = (built(plan(fabrics, site={}))["site"][key] for key in ("power_w", "weight_kg"))
    for wanted in (both, one, unnamed):
        bom = built(plan(wanted, site={}))
        bought = [(line["part"], line["quantity"]) for line in bom["lines"] if line["category"] == "management"]
        assert bought == [("ufm-ndr", 2)]
        assert (bom["site"]["power_w"] - power, round(bom["site"]["weight_kg"] - weight, 3)) == (2 * 689, 2 * 17)


def test_numbers_sum_up_what_lines_keep_apart(built: Built) -> None:
    """Modules of servers and of other machines are lines of their own under ids of their own, and one number."""
    hosts = [{"name": "UFM", "count": 3, "ports": 1, "part": "ufm-ndr"}]
    bom = built(plan({"compute": {"switch": "qm9700", "hosts": hosts}}))
    ids = [line["id"] for line in bom["lines"]]
    assert len(ids) == len(set(ids))
    lines = [line["quantity"] for line in bom["lines"] if line["role"] == "server-leaf/server"]
    assert sorted(lines) == [3, 127 * 4]
    compute = bom["fabrics"]["compute"]
    assert compute["transceivers"]["server"] == sum(lines)
    assert sum(compute["cables"]["server-leaf"].values()) == 127 * 8 + 3
    assert {check["status"] for check in bom["checks"] if check["id"] in ("cables", "optical-ends")} == {"pass"}


def test_the_nic_of_a_machine_says_its_cage_and_is_not_bought(built: Built) -> None:
    """With a `nic:` a machine takes the modules that fit it; nothing else changes, and no NIC is on the bill."""
    hosts = [{"name": "login", "count": 4, "ports": 1}]
    silent = built(plan({"compute": {"switch": "qm9700", "hosts": hosts}}))
    assert assumed(silent)
    assert pieces(silent, "compute", "transceiver")["mma4z00-ns-flt"] == 127 * 4 + 4
    hosts[0]["nic"] = "cx7-400-osfp"
    told = built(plan({"compute": {"switch": "qm9700", "hosts": hosts}}))
    assert not assumed(told)
    assert pieces(told, "compute", "transceiver")["mma4z00-ns400"] == 4
    assert not pieces(told, "compute", "nic")
    assert told["fabrics"]["compute"]["switches"] == silent["fabrics"]["compute"]["switches"]


def test_leaves_linked_into_another_fabric_use_their_fast_ports(built: Built) -> None:
    """An SN2201 is linked with its QSFP28 cages, whatever cages the servers have."""
    fabrics = {"in_band": "default", "out_of_band": "default"}
    server = {"gpus": 8, "nics": 8, "nic": "cx7-400-osfp", "bmc_ports": 1, "storage_ports": 2}
    server |= {"storage_port_gbps": 200, "storage_cage": "osfp-flat"}
    given = plan(fabrics)
    given["cluster"]["server"] = server
    bom = built(given)
    leaves = bom["fabrics"]["in_band"]["hosts"]["out-of-band-leaf"]["count"]
    ends = [line for line in bom["lines"] if line["role"] == "server-leaf/server" and line["fabric"] == "in_band"]
    of_leaves = [line for line in ends if line["part"] == "mms1v70-cm"]
    assert [line["quantity"] for line in of_leaves] == [leaves * 2]


def test_modules_at_the_leaf_differ_only_where_the_machines_need_it(built: Built) -> None:
    """Where other machines need another module at the leaf, it takes the place of one of the servers'."""
    hosts = [{"name": "login", "count": 4, "ports": 1, "nic": {"ports": 1, "port_gbps": 400, "cage": "osfp-flat"}}]
    links = {"server-leaf": {"medium": "dac", "length": "1 m"}}
    server = {"gpus": 8, "nics": 8, "port_gbps": 400, "cage": "qsfp112"}
    fabric = {"switch": "qm9700", "hosts": hosts, "links": links | {"leaf-spine": {"module": "mma4z00-ns"}}}
    given = plan({"compute": fabric}, servers=8)
    given["cluster"]["server"] = server
    bom = built(given)
    assert {check["status"] for check in bom["checks"]} <= {"pass", "warn"}
    cables = bom["fabrics"]["compute"]["cables"]["server-leaf"]
    assert sum(cables.values()) <= 8 * 8 + 4
    assert len(cables) == 2


def test_storage_servers_have_cages_of_their_own(built: Built) -> None:
    """The NIC of storage servers says what their links are built of."""
    servers = {"count": 8, "ports": 2, "nic": "cx7-400-osfp"}
    bom = built(plan({"storage": {"switch": "qm9700", "ports_per_server": 2}}, storage={"servers": servers}))
    assert pieces(bom, "storage", "transceiver")["mma4z00-ns400"] == 16
    assert not pieces(bom, "storage", "nic")


def test_slow_machines_take_modules_of_their_own_rate(built: Built) -> None:
    """A machine whose port is slower than the links gets no module of their rate, and every line its own id."""
    hosts = [
        {"name": "slow", "count": 3, "nic": {"ports": 1, "port_gbps": 200, "cage": "qsfp56"}},
        {"name": "UFM", "count": 2, "ports": 2, "part": "ufm-ndr"},
    ]
    links = {"server-leaf": {"medium": "transceiver", "module": "generic-400g"}}
    fabric = {"switch": "qm9700", "topology": "rail-optimized", "hosts": hosts, "links": links}
    bom = built(plan({"compute": fabric}, servers=31))
    ids = [line["id"] for line in bom["lines"]]
    assert len(ids) == len(set(ids))
    ends = [line for line in bom["lines"] if line["role"] == "server-leaf/server"]
    assert {line["part"]: line["quantity"] for line in ends} == {"generic-400g": 31 * 8 + 4, "generic-200g": 3}


QSFP112_OF_200G = {"ports": 1, "port_gbps": 200, "cage": "qsfp112"}


@pytest.mark.parametrize(
    ("servers", "part", "count", "fabric", "switches"),
    [
        # 60 ports down in place of 62: with 64 there would be 9 leaves, but 8 spines.
        (127, "wekapod-nitro-8t", 25, {"link": "200G"}, 10 + 5),
        (600, "wekapod-prime-2118", 40, {"link": "200G", "oversubscription": 3}, 35),
        (492, 2, 43, {"switch": "sn5600", "oversubscription": 2, "homing": "single"}, 36),
        (121, 4, 98, {"topology": "rail-optimized", "build_out": "full"}, 46),
    ],
)
def test_leaves_have_cages_for_the_parts_of_other_machines(
    built: Built, servers: int, part: str | int, count: int, fabric: dict[str, Any], switches: int
) -> None:
    """The division with the fewest switches has too few cages: a plan that leaves it open is not refused for that."""
    fabrics = {"storage": {"switch": "qm9700", **fabric}}
    described = {"part": part} if isinstance(part, str) else {"ports": part, "nic": QSFP112_OF_200G}
    bom = built(plan(fabrics, servers, storage={"servers": {**described, "count": count}}))
    assert bom["fabrics"]["storage"]["switches"]["total"] == switches
    assert all(check["status"] != "fail" for check in bom["checks"])
    assert "Downlink ports per leaf" in [each["name"] for each in bom["assumptions"]]


def test_a_host_may_be_any_machine_of_the_catalogue_with_ports(built: Built) -> None:
    """Storage nodes and servers are bought, racked and billed in their own categories, and have their own plugs."""
    hosts = [
        {"name": "scratch", "count": 8, "ports": 2, "part": "wekapod-nitro-15t"},
        {"name": "login", "count": 2, "ports": 2, "part": "dgx-h100"},
    ]
    bom = built(plan({"storage": {"switch": "qm9700", "hosts": hosts}}, 31))
    lines = {line["part"]: (line["category"], line["quantity"]) for line in bom["lines"] if line["role"] == "host"}
    assert lines == {"wekapod-nitro-15t": ("storage", 8), "dgx-h100": ("server", 2)}
    assert bom["site"]["storage_power_w"] == 8 * 800
    assert all(check["status"] != "fail" for check in bom["checks"])


OF_100G = {"switch": "sn4600c", "link": "100G", "nic": "cx6dx-2x100", "ports_per_server": 2}


@pytest.mark.parametrize(
    ("part", "ports", "fabric"),
    [
        ("fortigate-4801f", 2, {"switch": "sn5600", "ports_per_server": 2}),
        ("fortigate-3701f", 4, {"switch": "sn5600", "ports_per_server": 2}),
        ("juniper-srx4700", 2, {"switch": "sn5600", "ports_per_server": 2}),
        ("palo-alto-pa-5440", 4, OF_100G),
        ("palo-alto-pa-5450", 2, OF_100G),
    ],
)
def test_a_pair_of_firewalls_is_bought_racked_and_cabled(
    built: Built, part: str, ports: int, fabric: dict[str, Any]
) -> None:
    """On the leaves of the in-band network with their own cages, with power and weight, and with what they require."""
    hosts = [{"name": "firewall", "part": part, "count": 2, "ports": ports}]
    cluster = {"gpu": "h200-sxm", "server": "dell-xe9680-h200", "servers": 16}
    fabrics = {"in_band": {**fabric, "hosts": hosts}, "out_of_band": "default"}
    bom = built({**plan(fabrics, 16), "cluster": cluster, "operation": {"years": 3}})
    assert bom["fabrics"]["in_band"]["hosts"]["firewall"] == {"count": 2, "ports": ports}
    (line,) = [line for line in bom["lines"] if line["part"] == part]
    assert (line["quantity"], line["role"]) == (2, "host")
    warned = [check["message"] for check in bom["checks"] if check["status"] == "warn"]
    assert not [message for message in warned if message.startswith("no part is known") and "firewall" in message]
    assert not [message for message in warned if "unknown" in message and line["name"] in message]
    assert [item for item in (*bom["lines"], *bom["not_on_bill"]) if item.get("required_by") == part]


def test_campus_core_and_uplinks_of_the_customer_take_ports(built: Built) -> None:
    """Two core switches of the customer with two ports of 100G each are hosts without a part; uplinks need no host."""
    hosts = [{"name": "campus core", "count": 2, "ports": 2, "rate": "100G"}]
    cluster = {"gpu": "h200-sxm", "server": "dell-xe9680-h200", "servers": 16}
    with_core, with_uplinks = (
        built({**plan({"in_band": {**OF_100G, **more}}, 16), "cluster": cluster})["fabrics"]["in_band"]
        for more in ({"hosts": hosts}, {"uplink": {"count": 4, "rate": "100G"}})
    )
    assert [hosts["ports"] for hosts in with_core["hosts"].values()] == [2]
    assert with_core["endpoints"] == 16 * 2 + 4
    assert with_uplinks["switches"] == with_core["switches"]
