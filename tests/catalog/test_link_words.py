"""The grammar of optics and cables: what engineers write, in English and Chinese, and the parts that it means."""

from __future__ import annotations

import pytest

from bomgen.catalog.files import Catalog
from bomgen.catalog.link_words import read_link_words
from bomgen.reading.part_words import fitting_records

CATALOG = Catalog()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("800G OSFP 2xDR4", {"gbps": 800, "ports": 2, "optic": "dr4", "cage": "osfp", "fibre": "single-mode"}),
        ("2 x 400G DR8 twin-port OSFP, finned", {"gbps": 800, "ports": 2, "optic": "dr4", "cage": "osfp-finned"}),
        ("800G OSFP DR8", {"gbps": 800, "ports": 1, "optic": "dr8"}),
        ("1.6T OSFP224-RHS 2xDR4", {"gbps": 1600, "ports": 2, "cage": "osfp-flat"}),
        ("400G DR4 LPO, QSFP112, MPO12/APC", {"gbps": 400, "ports": 1, "cage": "qsfp112", "connector": "mpo-12"}),
        ("ACME-Q112-400G-VR4-XY", {"gbps": 400, "optic": "vr4", "cage": "qsfp112", "fibre": "multimode"}),
        ("100G SR 光模块，QSFP28 封装，传输距离 100m", {"gbps": 100, "optic": "sr4", "cage": "qsfp28", "reach_m": 100}),
        ("10G SFP+ SR", {"gbps": 10, "optic": "sr", "cage": "sfp"}),
        ("Cisco QDD-400G-FR4", {"gbps": 400, "optic": "fr4", "cage": "qsfp-dd"}),
        ("2xNDR twin port transceiver, OSFP", {"gbps": 800, "ports": 2, "optic": ""}),
        ("MPO8/APC-MPO8/APC OS2 50m", {"kind": "cable", "fibre": "single-mode", "polish": "apc", "length_m": 50}),
        ("LC 双芯多模光纤跳线，OM3，长度 30m", {"kind": "cable", "fibre": "multimode", "connector": "lc-duplex"}),
        ("DAC splitter 800G OSFP to 2x400G OSFP, 2 m", {"kind": "cable", "medium": "dac", "ends": 2, "length_m": 2}),
        # a device with ports is no module, even if cables are in its box
        ("Leaf switch, 64 x 400G QSFP112", {"kind": ""}),
        ("RX-64 主机，固化 64 口 400G QSFP112 接口。含 100G AOC 线缆 2 条", {"kind": ""}),
        ("Power cord C13 to C14", {"kind": ""}),
    ],
)
def test_words(text: str, said: dict[str, object]) -> None:
    """Rate, engines, form factor, reach class, fibre, connector, length and breakout, as the trade writes them."""
    words = read_link_words(text)
    assert {name: getattr(words, name) for name in said} == said


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("800G OSFP 2xDR4", ["800g-2xdr4"]),
        ("400G QSFP112 DR4", ["qsfp112-400g-dr4"]),
        ("400G OSFP DR4 RHS", ["400g-dr4"]),
        ("MPO-12 single-mode patch cord", ["generic-mpo12-os2"]),
        ("100G MPO OM4 jumper", ["generic-mpo12-upc-om4"]),
        ("DAC splitter 800G OSFP to 2x400G OSFP", ["mcp7y00-nxxx"]),
        ("400G QSFP112 SR4 AOC cable", ["generic-400g-aoc"]),
        ("900G OSFP SR4", []),
    ],
)
def test_parts_of_words(text: str, parts: list[str]) -> None:
    """The generic part that the words describe, or the only part of a vendor."""
    assert [record.id for record in fitting_records(read_link_words(text), CATALOG)] == parts
