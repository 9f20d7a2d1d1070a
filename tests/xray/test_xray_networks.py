"""X-rays of bills that name no network, or name it in a heading alone: most bills of the world are such."""

from __future__ import annotations

from pathlib import Path

import pytest
from bills_with_errors import CATALOG, Row, look, rows_of
from depth import DEEP

from bomgen.core.language import language
from bomgen.xray.contents import answer, open_bill
from bomgen.xray.inspection import Inspection, inspect

PLANS = Path(__file__).parents[2] / "plans"
SECTIONS = {
    "compute": "Compute network",
    "storage": "Storage network",
    "in_band": "In-band management network",
    "out_of_band": "Out-of-band management network",
}
NETWORKS = {
    # plan: servers, and the networks that are found where the bill names none
    "1000P-dense": (128, {"compute"}),
    "a100-32-zh": (4, {"compute"}),
    "rubin-nvl8": (32, {"compute", "storage"}),
    "superpod-a100-140": (140, {"compute", "storage", "in_band"}),
    "superpod-b200-16su": (512, {"compute", "storage", "in_band"}),
    "superpod-gb200-su": (144, {"compute", "storage", "in_band"}),
    "h100-127": (127, {"compute", "storage", "in_band"}),
    "gb300-nvl72-xdr": (144, {"compute", "storage"}),
}
EVERY_DAY = ("a100-32-zh", "superpod-a100-140")


def merge_rows(rows: list[Row]) -> list[Row]:
    """A bill of number, description and quantity, each part on one line, without spares."""
    merged: dict[str, Row] = {}
    for row in rows:
        name = row["sku"].split(" / ")[0] or row["part"] or row["description"]
        found = merged.setdefault(name, {"P/N": name, "Description": row["description"], "Qty": "0"})
        found["Qty"] = str(int(found["Qty"]) + int(row["quantity"]))
    return list(merged.values())


def divide_into_sections(rows: list[Row]) -> Inspection:
    """The x-ray of a bill with a heading above the lines of each network, and nothing else that says the place."""
    lines, last = ["P/N,Description,Qty"], ""
    for row in rows:
        if row["fabric"] != last:
            last = row["fabric"]
            lines.append(f"{SECTIONS.get(last, 'Systems and others')},,")
        name = row["sku"].split(" / ")[0] or row["part"]
        lines.append(f'{name},"{row["description"]}",{row["quantity"]}')
    return inspect(open_bill("\n".join(lines).encode(), "bill.csv", CATALOG))


def list_certain(found: Inspection) -> list[str]:
    """Its errors and doubts."""
    return [str(each.message) for each in found.found.findings if each.severity != "unknown"]


@pytest.mark.parametrize("name", NETWORKS if DEEP else EVERY_DAY)
def test_networks_that_share_lines(name: str) -> None:
    """The networks of a correct bill are told from each other by counts alone, and nothing is wrong with it."""
    found = look(merge_rows(rows_of(str(PLANS / f"{name}.yaml"))))
    servers, networks = NETWORKS[name]
    assert list_certain(found) == []
    assert {fabric.name for fabric in found.found.fabrics if fabric.explains == "whole"} == networks
    assert {design.servers for fabric in found.found.fabrics for design in fabric.designs} == {servers}


@pytest.mark.parametrize("name", NETWORKS if DEEP else EVERY_DAY)
def test_networks_that_headings_name(name: str) -> None:
    """Headings say the network of a line, and not the tier or the links: nothing is wrong with a correct bill."""
    assert list_certain(divide_into_sections(rows_of(str(PLANS / f"{name}.yaml")))) == []


def test_wrong_count_on_a_shared_line() -> None:
    """Fibres of two networks on one line, of which some are missing."""
    plan = {
        "bomgen": 1,
        "name": "shared",
        "cluster": {"server": "dgx-h100", "servers": 32},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}, "storage": "default"},
    }
    rows = merge_rows(rows_of(plan))
    at = next(at for at, row in enumerate(rows) if row["P/N"].startswith("MFP7E10"))
    given = int(rows[at]["Qty"])
    rows[at]["Qty"] = str(given - 40)
    first = look(rows).found.findings[0]
    assert (first.mark.line, first.code, first.pieces) == (at + 2, "few", -40)


@pytest.mark.deep
def test_spare_switch_among_the_pieces() -> None:
    """A spare switch is no doubt where modules and fibres have spares, too; without them its missing cords are one."""
    plan = {
        "bomgen": 1,
        "name": "spared",
        "cluster": {"server": "dgx-h100", "servers": 32},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}},
    }
    rows = merge_rows(rows_of(plan))
    for row in rows:
        if row["P/N"].startswith("MQM9700"):
            row["Qty"] = str(int(row["Qty"]) + 1)
    rows.append({"P/N": "cord-c14", "Description": "Power cord C13 to C14", "Qty": "24"})
    assert "few" not in {each.code for each in look(rows).found.findings}
    assert "many" in {each.code for each in look(rows).found.findings}
    for row in rows:
        if row["P/N"].startswith(("MFP7E10", "MMA4Z00")):
            row["Qty"] = str(round(int(row["Qty"]) * 1.03))
    assert not {"few", "many"} & {each.code for each in look(rows).found.findings}


@pytest.mark.deep
def test_missing_modules_are_no_thinner_network() -> None:
    """64 of 384 modules are gone: what is missing is 64, not 32 with a ratio and 32 spare fibres."""
    rows = merge_rows(
        rows_of(
            {
                "bomgen": 1,
                "name": "short",
                "cluster": {"server": "dgx-h100", "servers": 32},
                "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}},
            }
        )
    )
    at = next(at for at, row in enumerate(rows) if row["P/N"] == "MMA4Z00-NS")
    rows[at]["Qty"] = str(int(rows[at]["Qty"]) - 64)
    first = look(rows).found.findings[0]
    assert (first.mark.line, first.pieces) == (at + 2, -64)


def test_one_server_too_many() -> None:
    """33 servers beside the network of 32: the line of the servers is the one that is wrong."""
    rows = merge_rows(
        rows_of(
            {
                "bomgen": 1,
                "name": "many",
                "cluster": {"server": "dgx-h100", "servers": 32},
                "fabrics": {"compute": {"topology": "rail-optimized", "switch": "qm9700"}},
            }
        )
    )
    rows[0]["Qty"] = "33"
    first = look(rows).found.findings[0]
    assert (first.mark.line, first.code, first.pieces) == (2, "many", 1)


def test_network_without_servers() -> None:
    """A quote of the network alone: the links say how many servers it is for."""
    rows = [row for row in merge_rows(rows_of(str(PLANS / "1000P-dense.yaml"))) if not row["P/N"].startswith("DGX")]
    found = look(rows).found
    assert [(fabric.explains, fabric.designs[0].servers) for fabric in found.fabrics] == [("whole", 128)]
    assert {each.code for each in found.findings if each.severity != "unknown"} <= {"required"}


RACKS = """Item,Qty,Notes
GB300 NVL72 rack,8,72 GPUs each
Quantum-X800 Q3400-RA leaf,8,
Quantum-X800 Q3400-RA spine,4,
MMS4A00-XM 1.6T 2xDR4 twin port OSFP,864,switch side
MMS4A20-XM800 800G DR4 single port,576,for ConnectX-8
MPO-12/APC SMF 10 m,576,tray to leaf
MPO-12/APC SMF 30 m,576,leaf to spine
SN2201,16,OOB
"""
TENDER = """序号,货物名称,技术参数要求,单位,数量
1,计算网络接入交换机（Leaf）,64个400G QSFP-DD端口,台,16
2,计算网络汇聚交换机（Spine）,64个400G QSFP-DD端口,台,8
3,400G光模块（交换机侧）,"400G QSFP-DD DR4，MPO12，500m",个,1536
4,400G光模块（服务器侧）,"400G QSFP112 DR4，MPO12，500m",个,512
5,MPO光跳线,MPO12-MPO12 单模 OS2 30米,根,1024
6,存储网络交换机,48*25G+8*100G,台,4
"""
OPTICS = """品名,规格,数量
光模块,800G OSFP 2xDR4 双MPO12 1310nm 500m 带散热鳍,384
光模块,400G OSFP DR4 平顶 MPO12/APC 500m,256
跳线,MPO12/APC-MPO12/APC 单模 OS2 B类极性 30m,512
"""
SPREAD = """SKU;Description;Quantity
DCS-7060DX5-64S-F;leaf;8
DCS-7060DX5-64S-F;spine;4
QDD-400G-DR4;400GBASE-DR4 QSFP-DD;512
OSFP-400G-DR4;400G DR4 OSFP flat top for NIC;256
CAB-30;MPO12/APC-MPO12/APC SMF 30m;384
"""


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (RACKS, "144 compute trays); compute: rail-optimized, 8 leaf + 4 spine (Quantum-X800 Q3400-RA), 1:1."),
        (
            TENDER,
            "compute: 16 leaf + 8 spine, 512 server-leaf links (400G), 512 fabric links (400G); storage: 4 switch",
        ),
        (OPTICS, "256 server-leaf links (400G), the ports of 256 GPUs with one each, 256 fabric links (400G)."),
        (
            SPREAD,
            "compute: rail-optimized, 8 leaf + 4 spine (DCS-7060DX5-64S), 2:1, with quantities taken from the bill",
        ),
    ],
    ids=["management-alone-named", "unknown-switches", "optics-alone", "more-spines-than-needed"],
)
def test_answers_of_strangers(text: str, first: str) -> None:
    """What an engineer reads in a bill by its words, roles and counts is the first sentence, and nothing is wrong."""
    found = inspect(open_bill(text.encode(), "bill.csv", CATALOG)).found
    assert first in answer(found, language("en"))[0]
    assert list_certain(Inspection(found, ())) == []
