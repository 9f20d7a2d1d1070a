"""The answer of an x-ray in two sentences, networks by their counts alone, pasted text and point-to-point sheets."""

from __future__ import annotations

from time import process_time

import pytest
from bills_with_errors import CATALOG

from bomgen.core.language import language
from bomgen.xray.contents import answer, open_bill, xray_document
from bomgen.xray.inspection import Xray, inspect

ENGLISH = language("en")
MOST_SECONDS = 20


def look_at(text: str) -> Xray:
    """The x-ray of a bill."""
    return inspect(open_bill(text.encode(), "bill.csv", CATALOG)).found


def test_network_that_is_larger_than_its_servers_need() -> None:
    """Twice the leaves of 16 servers: the answer says how many they carry, and no ratio, since no link is counted."""
    found = look_at(
        "model,role,quantity\nQM9700,Spine Switch,8\nQM9700,Leaf Switch,16\nHGX H100 SXM5,Compute Node,32\n"
    )
    assert answer(found, ENGLISH) == (
        "The bill lists 32 x HGX H100 8-GPU server (generic) (256 GPUs); compute: rail-optimized, 16 leaf + 8 spine "
        "(QM9700), oversubscription cannot be told, with ports for 64 servers.",
        "Nothing on it contradicts the rest.",
    )


def test_servers_alone() -> None:
    """Racks of a rack-scale system, with their GPUs and trays, and no network."""
    found = look_at("Item,Qty\nNVIDIA GB300 NVL72,3\n")
    assert "3 x" in answer(found, ENGLISH)[0]
    assert "216 GPUs in 54 compute trays" in answer(found, ENGLISH)[0]
    assert found.fabrics == ()


def test_optics_without_a_switch() -> None:
    """An order of modules and fibres in words: the links of as many GPUs."""
    found = look_at(
        "Item,Qty,Seats in\nSingle-port 400G OSFP,64,ConnectX-7 SuperNICs\nTwin-port 800G OSFP,32,Leaf access cages\n"
        "MPO single-mode assemblies,64,Leaf cage to NIC\n"
    )
    [fabric] = found.fabrics
    assert fabric.explains == "nothing"
    assert fabric.counted is not None
    assert [tuple(links) for links in fabric.counted.links] == [("server-leaf", 64, 400)]
    assert "64 GPUs with one each" in answer(found, ENGLISH)[0]


PAIR = """Item,Part,4 nodes
DGX H100,,4
QM9700 switch,,2
"NDR fibre, DGX to IB switches",MFP7E10-N010,{fibres}
flat-top modules on DGX,MMA4Z00-NS-FLT,16
finned modules on switches,MMA4Z00-NS,16
NDR DAC for switch ISL,{isl},8
"SN4600C, 64 QSFP28",,2
"100GbE AOC 30 m, DGX to in-band",980-9I13N-00C030,8
"100G QSFP passive, in-band ISL",980-9I54C-00V001,2
"""


@pytest.mark.parametrize(
    ("fibres", "isl", "said"),
    [
        (32, "980-9IA0I-00N002", set()),
        (16, "980-9IA0I-00N002", {(4, "few")}),
        # a flat top does not fit a switch with finned cages
        (32, "980-9IA0J-00N002", {(7, "flat-top")}),
    ],
)
def test_pairs_of_switches(fibres: int, isl: str, said: set[tuple[int, str]]) -> None:
    """Two networks, each of two linked switches, whose lines name one of them in words."""
    found = look_at(PAIR.format(fibres=fibres, isl=isl))
    assert {(fabric.name, fabric.explains) for fabric in found.fabrics} == {("compute", "whole"), ("in_band", "whole")}
    assert all("mesh" in {design.topology for design in fabric.designs} for fabric in found.fabrics)
    certain = {(each.mark.line, each.code) for each in found.findings if each.severity != "unknown"}
    assert {each for each in certain if each[1] != "end-of-sale"} == said


def test_planes_that_the_words_need() -> None:
    """No server on the bill, but modules for NICs of B300: 8 servers with eight NICs of two ports, in two planes."""
    found = look_at(
        "network,item,model,qty\n"
        "compute,leaf switch,RG-S6990-64QC2XS,4\ncompute,spine switch,RG-S6990-64QC2XS,2\n"
        "compute,leaf-spine modules,400G-Q112-DR4-L,256\ncompute,leaf-spine fibre,MPO-MPO-SM-50M(APC),128\n"
        "compute,server side modules for CX8 of B300 (two planes),800G-OSFP-RHS-2VR4-MM850,64\n"
        "compute,leaf side modules of server-leaf links,400G-Q112-VR4-MM850,128\n"
        "compute,fibre server-leaf,MPO-MPO-OM4-30M(APC),128\n"
    )
    [fabric] = found.fabrics
    assert fabric.explains == "whole"
    assert {(design.servers, design.planes) for design in fabric.designs} == {(8, 2)}


def test_at_most_ten_doubts() -> None:
    """The first screen has ten unknown lines and says how many there are; all of them are asked for."""
    found = look_at("Part,Qty\n" + "".join(f"XYZ-{number}A,{number}\n" for number in range(11, 31)))
    short, whole = (xray_document(found, ENGLISH, every) for every in (False, True))
    assert len(short.sections[0].tables[0].rows) == 10
    assert len(whole.sections[0].tables[0].rows) == 20
    assert any("further findings" in text for text in short.sections[0].text)
    assert not any("further findings" in text for text in whole.sections[0].text)


def test_pasted_text() -> None:
    """Lines of a mail name pieces before or behind a part; a rate is no number of pieces."""
    text = "Hi,\nplease quote:\n- 32x SN5600\n- MMA4Z00-NS *200\n100 pcs MFP7E10-N010\n2x400G OSFP\nThanks\n"
    bill = open_bill(text.encode(), "<stdin>", CATALOG)
    assert [(line.id, line.quantity, line.mark.line) for line in bill.lines] == [
        ("sn5600", 32, 3),
        ("mma4z00-ns", 200, 4),
        ("mfp7e10-nxxx", 100, 5),
    ]


SHEET = """rack,name,HCA/port,Transceiver,rack,name,port,Transceiver,Cable Length,Cable Type
R1,LEAF-01,41/1,MMA4Z00-NS,R1,SPINE-01,1/1,MMA4Z00-NS,7,MFP7E10-N007
R1,LEAF-01,41/2,N/A,R1,SPINE-01,1/2,N/A,7,MFP7E10-N007
R1,LEAF-01,42/1,MMA4Z00-NS,R1,SPINE-02,{port},MMA4Z00-NS,7,MFP7E10-N007
"""


def test_point_to_point_sheet() -> None:
    """A row a cable, with two columns of each name: devices, modules and cables are counted."""
    found = look_at(SHEET.format(port="1/1"))
    counts = [(line.shown, line.quantity, line.place.tier) for line in found.bill.lines]
    assert ("leaf switch", 1, "leaf") in counts
    assert ("spine switch", 2, "spine") in counts
    assert sum(line.quantity or 0 for line in found.bill.lines if line.kind == "transceiver") == 4
    assert [line.quantity for line in found.bill.lines if line.kind == "cable"] == [3]
    assert [each.code for each in found.findings if each.severity != "unknown"] == []


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        (SHEET.format(port=""), (4, "cable-without-end")),
        (SHEET.format(port="1/1").replace("SPINE-02", "SPINE-01"), (4, "port-used-twice")),
        (
            "a_device,a_port,b_device,b_port,sku\n"
            + "".join(f"server-{at},nic1,leaf-1,{at},MFP7E10-N007\n" for at in range(20))
            + "server-20,nic2,leaf-1,20,MFP7E10-N007\n",
            (22, "crossed-rail"),
        ),
    ],
)
def test_errors_of_a_point_to_point_sheet(sheet: str, said: tuple[int, str]) -> None:
    """Missing ends, ports used twice and crossed rails, at the row of the cable."""
    errors = [(each.mark.line, each.code) for each in look_at(sheet).findings if each.severity == "error"]
    assert said in errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # three networks without a tier, or with one: what has no tier is a number of switches
        ("id,name,totalcount\n1,QM9700,24\n2,MFP7E10-N010,100\n", "network: 24 switches, 100 fabric links."),
        ("id,name,totalcount\n1,QM9700,1\n2,MFP7E10-N010,30\n", "1 switch, 30 fabric links"),
        ("model,role,quantity\nHGX H100 SXM5,Compute Node,8\nQM9700,Leaf Switch,4\n", "(64 GPUs); network: 4 leaf."),
        # compatible makers beside NVIDIA, and modules in the words of the trade
        ("Part number,Qty\nMMA4Z00-NS-LU,18\nMMA4Z00-NS,18\nMFP7E10-N005,36\n", "36 fabric links (400G)"),
        (
            'Description,Qty\n"2x400G OSFP DR8 twin port 800G",128\n"MPO-12/APC to MPO-12/APC OS2 10m",128\n',
            "128 fabric",
        ),
        # text out of a PDF, whose columns are gaps; NDR is the rate of each port of a twin-port module
        (
            "Item  Description                        Qty\n1     HGX H100 8-GPU server              16\n"
            "2     QM9790 switch, leaf                4\n3     QM9790 switch, spine               2\n"
            "4     NDR twin-port OSFP 2xSR4, switch   192\n5     NDR single-port OSFP SR4, HCA      128\n"
            "6     MPO-12/APC multimode fiber, 10 m   256\n",
            "compute: rail-optimized, 4 leaf + 2 spine (QM9790), 1:1.",
        ),
        # specifications under a heading that nobody knows
        (
            "设备名称,规格要求,单位,数量\n参数面接入交换机,64*400G,台,16\n参数面汇聚交换机,64*400G,台,8\n"
            "交换机侧光模块,400G QSFP112 DR4 单模,个,1536\n光模块,400G QSFP112 DR4 服务器网卡侧,个,512\n"
            "参数面光纤,MPO-12/APC 单模跳线 30m,根,1024\n",
            "compute: 16 leaf + 8 spine, 512 server-leaf links (400G), 512 fabric links (400G).",
        ),
    ],
)
def test_bills_of_strangers(text: str, said: str) -> None:
    """Headings and words of bills that nobody here has written: what they are of, and that nothing is wrong."""
    first, second = answer(look_at(text), ENGLISH)
    assert said in first
    assert second == "Nothing on it contradicts the rest."


def test_management_of_rack_scale_systems() -> None:
    """Eight racks of 18 trays with a management switch for nine of them: 16 switches are as many as usual."""
    rows = "Part,Fabric,Role,Qty\ndgx-gb200-nvl72,,,8\nSN2201,out_of_band,leaf,{}\ncat6-rj45-20m,out_of_band,,401\n"
    doubted = [
        [each.pieces for each in look_at(rows.format(count)).findings if each.code in ("few", "many")]
        for count in (16, 15)
    ]
    assert doubted == [[], [-1]]


@pytest.mark.parametrize(
    "rows",
    [
        # spares of what needs cords, hosts at idle ends of breakout cables, switches of two tiers on one line
        "".join(f"{part},,,{9_000_000 + at}\n" for at, part in enumerate(("SN4600C", "SN5600", "SN3700", "CORD-C14"))),
        "SN5600,storage,leaf,{0}\nMCP7Y40-N002,storage,server-leaf,{0}\nDGXH100,,,16\nPower node,,storage host,11\n",
        "QM9700,storage,,{0}\nMFP7E10-N010,storage,,9000008\nMMA4Z00-NS,storage,,{0}\nDGXH100,,,4\n",
        # lines of their own words, each of which several parts have
        "".join(f"800G OSFP 2xDR4 module {at},,,{at}\n" for at in range(1, 400)),
    ],
)
def test_any_number_of_pieces_is_answered(rows: str) -> None:
    """What is tried is bounded whatever the quantities."""
    started = process_time()
    look_at("Part,Fabric,Role,Qty\n" + rows.format(3_000_000))
    assert process_time() - started < MOST_SECONDS


def test_two_switches_that_nothing_connects() -> None:
    """They are no planes to a reader."""
    found = look_at(
        "network,part,role,qty\ncompute,DGXH100,server,16\nstorage,MQM9700-NS2F,leaf,2\nstorage,MMA4Z00-NS,leaf,16\n"
        "storage,MFP7E10-N010,server to leaf,32\nstorage,MMA4Z00-NS400,server,32\n"
    )
    text = "".join(str(cell) for cell in xray_document(found, ENGLISH, False).sections)
    assert "separate switches, 2 leaf (QM9700)" in text
    assert "plane" not in text
