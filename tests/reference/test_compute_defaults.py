"""`compute: default` for every accelerator of the catalogue, and the ports of every server and NIC."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from compute_defaults import CSV, Choice, as_csv, choices

import bomgen
from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.cli.command import main
from bomgen.core.provenance import Assumed

NO_SERVER = {
    *("k80", "mi430x", "mi440x", "p100-sxm2", "rubin-cpx", "v100-sxm2-16", "v100-sxm2-32"),
    *("tpu-8i", "tpu-8t", "tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x"),
}
"""Accelerators that no server of the catalogue has: of the past, not yet sold, or rented by the pod."""
OWN_NETWORK = {"mi250x", "trainium2", "trainium3"}
"""Accelerators in machines with a network of their maker, for which the catalogue has no switches."""
UNPUBLISHED_CAGE = {"mi455x"}
"""Accelerators in a system whose cages are not published, so that no cable can be named."""


@pytest.mark.parametrize("gpu", [record.id for record in Catalog().all("gpu")])
def test_the_default_is_built_at_the_full_rate_of_the_ports_or_refused_for_a_reason(gpu: str) -> None:
    """A fabric that the ports speak to at their rate, with parts for each link; none for one server; or a refusal."""
    choices_of_gpu = [choice for choice in choices() if choice.gpu == gpu]
    assert choices_of_gpu
    for choice in choices_of_gpu:
        _check_choice(choice)


def _check_choice(choice: Choice) -> None:
    if choice.gpu in NO_SERVER:
        assert choice.rule == "unknown-server"
        return
    if choice.size == "1 server":
        assert (choice.refusal, choice.rate) == ("", None), choice
        return
    if choice.gpu in OWN_NETWORK:
        assert choice.rule == "protocol"
        return
    assert choice.refusal == "", choice
    own = _own_port(choice.gpu)
    assert choice.port == own
    assert choice.rate in (own, own / 2 if choice.gpu == "gb300" else own)
    assert choice.known == (choice.gpu not in UNPUBLISHED_CAGE)


def _own_port(gpu: str) -> int:
    """Return the rate of a compute port of the default server [Gb/s]."""
    record = Catalog().default_server(gpu)
    assert record is not None
    ports = part_records.server(record).compute
    assert ports is not None
    assert ports.gbps is not None
    return int(ports.gbps.value)


def test_the_file_is_as_the_program_writes_it() -> None:
    """docs/evidence/compute-defaults.csv is up to date."""
    assert as_csv() == CSV.read_text(encoding="utf-8")


def test_every_server_and_nic_says_which_protocols_its_ports_speak() -> None:
    """By itself, or by the NIC that it has."""
    catalog = Catalog()
    nics = {record.id: part_records.nic(record).protocols for record in catalog.all("nic")}
    assert [id for id, protocols in nics.items() if not protocols] == []
    servers = [part_records.server(record) for record in catalog.all("server")]
    silent = [server.identity.id for server in servers if not (server.protocols or nics.get(server.nic or ""))]
    assert silent == []


@pytest.mark.parametrize(
    ("cluster", "switch", "confidence"),
    [
        ({"gpu": "rubin", "server": "vr-nvl72", "racks": 2}, "q3400-ra", "low"),
        ({"gpu": "h20", "servers": 8}, "sn5600", "low"),
        ({"gpu": "h800-sxm", "servers": 8}, "sn5600", "low"),
        ({"gpu": "a800-sxm-80", "servers": 8}, "qm8700", "low"),
        ({"gpu": "h200-sxm", "servers": 8}, "qm9700", "high"),
    ],
)
def test_a_design_is_high_for_the_platforms_that_it_is_published_for(
    cluster: dict[str, object], switch: str, confidence: str
) -> None:
    """A choice by analogy, and one for Vera Rubin NVL72, of which no table is published, has low confidence."""
    plan = {"bomgen": 1, "name": "a", "cluster": cluster, "fabrics": {"compute": "default"}}
    [chosen] = [fabric.plan.switch_by_default for fabric in bomgen.build(plan)._report.design.fabrics]
    assert chosen is not None
    assert isinstance(chosen.origin, Assumed)
    assert (chosen.value, chosen.origin.confidence) == (switch, confidence)


def test_a_topology_alone_is_enough() -> None:
    """The switch is that of the platform, and the report says so."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "b300-sxm", "servers": 72}}
    built = bomgen.build({**plan, "fabrics": {"compute": {"topology": "rail-optimized"}}})
    assert built.number("fabrics.compute.switches.leaf") == 8
    assert built.number("fabrics.compute.link_gbps") == 800
    assert [
        each["value"] for each in built.data["assumptions"] if each["name"] == "Default compute fabric: switch"
    ] == ["q3400-ra"]


def test_a_nic_of_the_plan_decides_on_the_switch() -> None:
    """An InfiniBand NIC in a server with Ethernet ones takes an InfiniBand switch, as in Azure's ND MI300X v5."""
    fabric = {"topology": "fat-tree", "nic": "cx7-400-osfp", "gpus_per_nic": 1}
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "mi300x", "servers": 8}, "fabrics": {"compute": fabric}}
    assert {line["part"] for line in bomgen.build(plan).lines if line["category"] == "switch"} == {"qm9700"}


@pytest.mark.parametrize(
    ("gpu", "modules", "nics"), [("h100-sxm", 8, 0), ("l40s", 8, 4), ("b300-sxm", 16, 0), ("rtx4090", 0, 2)]
)
def test_two_servers_are_joined_port_to_port(gpu: str, modules: int, nics: int) -> None:
    """One cable a rail, in twin-port modules, single ones or none, is on the bill, in the cable list and the quote."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": gpu, "servers": 2}, "site": {"layout": "auto"}}
    built = bomgen.build({**plan, "fabrics": {"compute": "none", "in_band": "default"}})
    bought = Counter[str]()
    for line in built.lines:
        if line["fabric"] == "compute":
            bought[line["category"]] += line["quantity"]
    links = built.data["fabrics"]["compute"]["links"]["server-server"]
    assert (bought["transceiver"], bought["nic"], bought["cable"]) == (modules, nics, links)
    rows = [row for row in built.wiring() if row["fabric"] == "compute"]
    assert [(row["a_device"], row["b_device"]) for row in rows] == [("server-01", "server-02")] * links
    assert all(row["a_port"] == row["b_port"] for row in rows)
    assert b"both servers joined port to port" in built.files("md")["quote.md"]
    assert not [problem for problem in built.warnings if problem.rule == "not-connected"]


@pytest.mark.parametrize(
    ("gpu", "switches"), [("rtx-pro-6000-bse", 0), ("gb10", 0), ("h100-sxm", 2), ("mi300x", 1), ("gaudi3", 1)]
)
def test_two_servers_have_switches_where_a_design_has_them(gpu: str, switches: int) -> None:
    """The BasePOD of two, AMD's switch for 1 to 16 servers; where designs begin at four servers: port to port."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": gpu, "servers": 2}, "fabrics": {"compute": "default"}}
    built = bomgen.build(plan)
    assert built.number("fabrics.compute.switches.total") == switches
    files = built.files("md")
    assert (b"both servers joined port to port" in files["quote.md"]) == (not switches)
    assert (b"connect both servers port to port, without a switch" in files["report.md"]) == (not switches)


def test_two_servers_with_more_than_their_own_links_have_a_switch() -> None:
    """Port to port has no port for the uplinks of management switches; two servers of different kinds are two."""
    card = {"bomgen": 1, "name": "a", "cluster": {"gpu": "rtx-pro-6000-bse", "servers": 2}}
    uplink = {"topology": "access", "switch": "sn2201", "uplink": {"fabric": "compute", "ports": 2}}
    linked = bomgen.build({**card, "fabrics": {"compute": "default", "out_of_band": uplink}})
    assert linked.number("fabrics.compute.switches.total") == 1
    groups = [{"name": "other", "server": "dell-xe7745-h200-nvl", "servers": 1}]
    cluster = {"server": "dell-xe7745-rtx-pro-6000", "servers": 1, "groups": groups}
    mixed = bomgen.build({**card, "cluster": cluster, "fabrics": {"compute": "default"}})
    assert mixed.number("fabrics.compute.links.server-leaf") == 8


def test_links_of_two_servers_have_the_rate_that_the_plan_gives() -> None:
    """By kind of link, as in fabrics with switches; half a GPU a NIC is two NICs a GPU."""
    pair = {"topology": "port-to-port", "links": {"server-server": {"rate": "200G"}}}
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "h100-sxm", "servers": 2}, "fabrics": {"compute": pair}}
    assert bomgen.build(plan).number("fabrics.compute.link_gbps") == 200
    doubled = {"switch": "qm9700", "nic": "cx7-400-osfp", "gpus_per_nic": 0.5}
    cluster = {"gpu": "h100-sxm", "server": "hgx-h100-8-generic", "servers": 4}
    assert bomgen.build({**plan, "cluster": cluster, "fabrics": {"compute": doubled}}).number("cluster.nics") == 64


@pytest.mark.parametrize(
    ("gpu", "servers", "switches", "managers"),
    [
        ("l40s", 1, ["sn3700", "sn2201"], 0),
        ("h100-sxm", 1, ["sn3700", "sn2201", "sn2201"], 0),
        ("b200-sxm", 3, ["sn3700", "sn4600c", "sn2201"], 1),
        ("b200-sxm", 4, ["qm9700", "sn4600c", "sn2201"], 5),
        ("ascend-910b1", 1, ["huawei-ce8851", "sn2201"], 0),
        ("metax-c550", 3, ["ruijie-s6990-64qc", "sn2201"], 0),
        ("gb10", 1, ["sn2201", "sn2201"], 0),
        ("mi355x", 3, ["7050dx4-32s", "7010tx-48"], 0),
    ],
)
def test_few_servers_take_small_switches(gpu: str, servers: int, switches: list[str], managers: int) -> None:
    """Below the four servers with which the designs begin; of the compute leaves' vendor, and with fewer managers."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": gpu, "servers": servers}}
    built = bomgen.build(
        {**plan, "fabrics": dict.fromkeys(("compute", "storage", "in_band", "out_of_band"), "default")}
    )
    bought = [line["part"] for line in built.lines if line["category"] == "switch" and line["fabric"] != "compute"]
    assert bought == switches
    assert sum(line["quantity"] for line in built.lines if line["category"] == "management") == managers
    hosts = built.data["fabrics"].get("in_band", {}).get("hosts", {})
    assert hosts.get("management-servers", {"count": 0})["count"] == managers
    assert not [problem for problem in built.warnings if problem.rule == "no-part-known"]


def test_the_bill_of_two_servers_is_consistent(tmp_path: Path) -> None:
    """An x-ray of it misses no switch."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "h100-sxm", "servers": 2}, "fabrics": {"compute": "none"}}
    sent = tmp_path / "bom.csv"
    sent.write_bytes(bomgen.build(plan).files("csv")["bom.csv"])
    shown = CliRunner().invoke(main, ["xray", str(sent)], catch_exceptions=False)
    assert "Nothing on it contradicts the rest." in shown.output


def test_more_servers_are_not_joined_port_to_port() -> None:
    """The warning says that they are not connected, and a topology that the plan names is refused."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "h100-sxm", "servers": 3}}
    alone = {**plan, "fabrics": {"compute": "none"}}
    assert [problem.rule for problem in bomgen.check(alone)].count("not-connected") == 1
    own_ports = {**plan, "cluster": {"gpu": "gaudi3", "servers": 3}}
    assert [problem.rule for problem in bomgen.check(own_ports)].count("not-connected") == 1
    with pytest.raises(bomgen.PlanErrors, match="joins two servers, not 3"):
        bomgen.build({**plan, "fabrics": {"compute": {"topology": "port-to-port"}}})


def test_one_server_says_why_it_has_no_compute_fabric() -> None:
    """The assumption is printed, and a fabric that is described is built."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "mi300x", "servers": 1}}
    alone = bomgen.build({**plan, "fabrics": {"compute": "default"}})
    said = [each["name"] for each in alone.data["assumptions"]]
    assert "Servers from which the default compute fabric is built" in said
    assert not [line for line in alone.lines if line["category"] in ("switch", "nic", "transceiver", "cable")]
    described = bomgen.build({**plan, "fabrics": {"compute": {"topology": "fat-tree"}}})
    assert described.number("fabrics.compute.switches.total") == 1
