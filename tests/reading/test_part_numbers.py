"""Which part a number names: judged by numbers from vendors' documents, frozen before, and by slips of the pen."""

from __future__ import annotations

import string
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from bomgen.catalog.files import Catalog, id_at_length
from bomgen.core.messages import read_language
from bomgen.core.yaml_source import read
from bomgen.reading.part_numbers import PartIndex, recognize

NUMBERS = Path(__file__).with_name("part_numbers.yaml")
IN_WORDS = {
    "100 Gbps QSFP to QSFP AOC": "mfa1a00-c030",
    "100 Gbps QSFP CWDM4": "100g-cwdm4",
    "100 Gbps QSFP Passive Copper": "mcp1600-e001",
    "Ethernet Module SFP BaseT 1G": "1g-rj45-sfp",
    "NDR Cables, 400 Gbps": "mfp7e10-n030",
    "NDR Cables, 200 Gbps": "mfp7e20-n030",
    "Switch OSFP Transceivers": "mma4z00-ns",
    "System OSFP Transceivers": "mma4z00-ns-flt",
    "MCX75310AAS-HEAT": "cx7-200-osfp",
    "MQM8700": "qm8700",
    "QM9700": "qm9700",
    "ConnectX-8 8240": "cx8-2x400",
    "MCX556A-EDAT": "cx5-edr-2",
    "MSB7800-ES2F": "sb7800",
}
"""The catalogue's ids of models that documents call otherwise, by hand."""
NOT_LISTED = ("P45642-H23", "P45642-B22", "P45642-H22", "980-9I042-00C000", "MCP7H50-H003")
"""Numbers of parts of the catalogue that it does not have: HPE's, one of MMS1V70-CM, and a length."""
MUTATIONS = 1000


@pytest.fixture(scope="module")
def index() -> PartIndex:
    """The parts of the catalogue."""
    return PartIndex(Catalog())


def frozen() -> dict[str, str]:
    """The frozen numbers with the model that their document gives."""
    groups = read(NUMBERS.read_text(encoding="utf-8"), NUMBERS.name).data
    return {str(number): str(model) for group in groups for number, model in group["numbers"].items()}


def expected(model: str, index: PartIndex) -> str | None:
    """The catalogue's id of a model, by its own name alone; None where the catalogue does not have it."""
    if model in IN_WORDS:
        return IN_WORDS[model]
    name, _, length = model.lower().partition(" ")
    name = name.replace("e0xxeyy", "exxx")
    ids = {id for kind in ("cable", "transceiver", "switch", "nic", "pdu") for id in index.catalog.ids(kind)}
    if length.endswith(" m"):
        return id_at_length(name, Fraction(length.removesuffix(" m"))) if name in ids else None
    found = [id for id in (f"{name}-{length}".strip("-"), f"{name}-xxxx") if id in ids]
    return found[0] if found else None


def test_numbers_of_vendors_documents(index: PartIndex) -> None:
    """At least 95 % of those that the catalogue knows are found, and 99 % of those that are named are right."""
    known = {number: id for number, model in frozen().items() if (id := expected(model, index))}
    named = {number: each.named for number in frozen() if (each := recognize(number, "", index)).named}
    found = [number for number in known if number in named]
    assert len(found) >= 0.95 * len(known), sorted(set(known) - set(found))
    wrong = [n for n, part in named.items() if not _same(part.part if part else "", known.get(n))]
    assert len(wrong) <= 0.01 * len(named), wrong
    assert set(known) - set(found) <= set(NOT_LISTED)


def _same(part: str, id: str | None) -> bool:
    """Whether a part is that of an id; of families whose document gives no length any length of them."""
    return id is not None and (part == id or (id.endswith("-xxxx") and part.startswith(id.removesuffix("xxxx"))))


def test_slips_are_not_taken_for_another_part(index: PartIndex) -> None:
    """None of 1 000 numbers with one wrong character names a part, unless they are the number of another."""
    numbers = [number for number in frozen() if recognize(number, "", index).named]
    others = set(index.names)
    for record in index.catalog.all("cable"):
        for length in record.value("lengths_m") or ():
            at_length = id_at_length(record.id, Fraction(str(length)))
            others |= {at_length, *(f"{at_length}{wire}{gauge}" for wire in "er" for gauge in (26, 28, 30))}
    random, wrong, tried = Random(5), [], 0  # noqa: S311
    while tried < MUTATIONS:
        number = random.choice(numbers)
        at = random.randrange(len(number))
        slip = number[:at] + random.choice(string.ascii_uppercase + string.digits) + number[at + 1 :]
        if slip.lower() in others:
            continue
        tried += 1
        if (found := index.find(slip)) is not None:
            wrong.append((number, slip, found.part))
    assert wrong == []


@pytest.mark.parametrize(
    ("part", "text", "id", "certain"),
    [
        ("MFP7E10-N07", "Fiber cable 7m", "mfp7e10-n007", True),
        ("MFP7E20-N005-P", "Proficium MPO splitter", "mfp7e20-n005", True),
        ("MMA4Z00-NS-AX", "", "mma4z00-ns", True),
        ("QDD-400G-DR4-S=", "", "qdd-400g-dr4-s", True),
        ("P45645-001", "HPE InfiniBand NDR PCIe5 x16 MCX75310AAS-NEAT Adapter", "cx7-400-osfp", True),
        ("", "800G OSFP SR8 MMA4Z00-NS NVIDIA (ETH) 850nm 50m", "mma4z00-ns", True),
        ("MQM9700-NS2F / 920-9B210-00FN-0M0", "QM9700", "qm9700", True),
        ("", "800G OSFP 2xSR4", "800g-2xsr4", False),
        ("", "HGX H100 SXM5 8-GPU server", "hgx-h100-8-generic", False),
        ("BlueField-3 2x200G", "", "bf3-b3220", False),
        ("SYS-821GE-TNHR", "Supermicro SYS-821GE-TNHR, 8 x NVIDIA H200 SXM", "smc-sys-821ge-tnhr-h200", True),
        ("AS-4124GO-NART", "A800 80GB x8", "smc-as-4124go-nart-a800-sxm-80", True),
        ("SYS-421GE-TNRT", "8 x NVIDIA L20 48GB", "smc-sys-421ge-tnrt-l20", True),
        ("AS-8126GS-TNMR", "8x MI350X", "smc-as-8126gs-tnmr-mi350x", True),
        ("210-BHCG", "PowerEdge XE9680, 8x NVIDIA HGX H200 141GB SXM", "dell-xe9680-h200", True),
        ("", "Dell PowerEdge XE9680 with 8x H200", "dell-xe9680-h200", True),
        ("", "GPU server, 8 x NVIDIA H200 SXM, 2 x Xeon", "hgx-h200-8-generic", False),
        ("", "H100 8-GPU node", "hgx-h100-8-generic", False),
        ("", "8x H800 server", "hgx-h800-8-generic", False),
        ("", "AI训练服务器 (H800*8)", "hgx-h800-8-generic", False),
        ("", "八卡 H20 服务器", "hgx-h20-8-generic", False),
        ("", "HGX H20 8-GPU", "hgx-h20-8-generic", False),
        ("", "HGX H20", "h20", False),
        ("", "Rack A: NVIDIA DGX H100", "dgx-h100", False),
        ("", "ConnectX-9 C9240 network adapter", "cx9-2x400", False),
    ],
)
def test_one_line(index: PartIndex, part: str, text: str, id: str, certain: bool) -> None:
    """Lengths of two digits, suffixes, numbers in a sentence; by words a part is only taken as."""
    named = recognize(part, text, index).named
    assert named is not None
    assert (named.part, named.certain) == (id, certain)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("MFP7E10-N07", ""),
        ("MMA4Z00-NS-P", ""),
        ("MCP4Y10-N003-AX", "Axiom 3m passive copper DAC"),
        ("", "HGX server with 8 x MCX75310AAS-NEAT"),
        ("", "Power cord for NVIDIA DGX H100"),
        ("SYS-821GE-TNHR", "Supermicro server, 8 x H20"),
        ("G593-SD0", "8 x H200"),
        ("MMS8X00-NS800", "NVIDIA single port transceiver, 800Gbps, XDR, OSFP"),
    ],
)
def test_no_wrong_part(index: PartIndex, part: str, text: str) -> None:
    """What is not certain names no part: a length too short, a suffix without its vendor, a card in a server."""
    named = recognize(part, text, index).named
    assert named is None or not named.certain


def test_words_of_the_catalogue(index: PartIndex) -> None:
    """What bomgen itself calls a part is taken for that part, or for the generic one if several vendors call it so."""
    texts = read_language("zh")["records"]
    wrong, tried = list[str](), 0
    names = Counter(record.data["name"] for kind in ("transceiver", "cable") for record in index.catalog.all(kind))
    for kind in ("server", "nic", "switch", "transceiver", "cable"):
        for record in index.catalog.all(kind):
            added = ", 30 m, server to leaf" if kind in ("transceiver", "cable") else ""
            for title in (record.data["name"], texts.get(f"{kind}/{record.id}")):
                if title:
                    found = recognize("", f"{title}{added}", index)
                    tried += 1
                    named = (found.named.kind, found.named.id) if found.named else None
                    if named and names[record.data["name"]] > 1:
                        assert index.catalog.find_original(*named).data.get("generic") or named[1] == record.id, title
                    elif (kind, record.id) not in (*found.may_be, named):
                        wrong.append(record.id)
    assert tried
    assert wrong == []


def test_one_number_of_several_servers(index: PartIndex) -> None:
    """A chassis whose GPUs the line does not say is a question that lists what it may be."""
    found = recognize("SYS-821GE-TNHR", "Supermicro server", index)
    assert found.named is None
    assert found.may_be == (("server", "smc-sys-821ge-tnhr-h100"), ("server", "smc-sys-821ge-tnhr-h200"))
    assert recognize("", "DGX A100", index).may_be == (("server", "dgx-a100-320"), ("server", "dgx-a100-640"))


def test_length_that_is_not_sold(index: PartIndex) -> None:
    """A family at another length is no part, and what the line is read as where a design needs it."""
    found = recognize("MFP7E10-N100", "fibre", index)
    assert found.named is None
    assert found.unsold is not None
    assert (found.unsold.id, found.unsold.length_m) == ("mfp7e10-nxxx", 100)
    assert index.find("MFP7E10-N100") is None


def test_number_with_a_slip(index: PartIndex) -> None:
    """What comes near is a guess; where the words name that part, the number is shown beside it."""
    found = recognize("MMA4Z00-SN-FLT", "NVIDIA twin port transceiver, 800Gbps, flat top", index)
    assert found.named is None
    assert found.closest is not None
    assert (found.closest.id, found.closest.certain) == ("mma4z00-ns-flt", False)
    found = recognize("MQM9070-NS2F", "QM9700", index)
    assert found.named is not None
    assert found.named.id == "qm9700"
    assert "mqm9700-ns2f" in found.nearest


@pytest.mark.parametrize(
    ("part", "text", "id"),
    [
        ("", "RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-bse"),
        ("", "RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-max-q"),
        ("RTX-PRO-6000", "Max-Q", None),
        ("", "RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-workstation"),
        ("RTX 4090 Super", "", None),
        ("GB200 NVL72", "", "dgx-gb200-nvl72"),
        ("GB300 NVL144", "", None),
        ("", "NVIDIA GB300 Grace Blackwell Ultra Superchip", "gb300"),
        # sizes of other things than the GPU's memory, and the memory of a whole board or by another document
        ("SYS-821GE-TNHR", "8x NVIDIA H100 80GB, 32x 64GB DDR5, 8x 3840GB NVMe", "smc-sys-821ge-tnhr-h100"),
        ("", "8x H100, 2048GB RAM server", "hgx-h100-8-generic"),
        ("DGX H100 640GB", "", "dgx-h100"),
        ("", "HGX B200 192GB", "hgx-b200-8-generic"),
        ("RTX 4090 48GB", "", None),
        ("MI300X 256GB", "", None),
        ("SYS-821GE-TNHR", "8x NVIDIA H20 141GB", None),
        ("", "PowerEdge XE9680 with 8x H20 (141GB)", None),
        ("", "PowerEdge XE9680 with 8x H20 (96GB)", "dell-xe9680-h20"),
    ],
)
def test_another_edition_is_another_part(part: str, text: str, id: str | None, index: PartIndex) -> None:
    """A line that names an edition, memory or NVLink domain which a GPU does not have does not name that GPU."""
    found = recognize(part, text, index)
    assert (found.named.id if found.named else None) == id
    assert id or found.nearest


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("H20 141GB", "h20"),
        ("HGX H20 141GB", "h20"),
        ("Rubin Ultra", "rubin"),
        ("RTX 4090 Super", "rtx4090"),
        ("H100 96GB", "h100-sxm"),
        ("GH200 144GB", "gh200"),
        ("GB300 NVL144", "gb300"),
        ("NVL144 CPX", "rubin-cpx"),
    ],
)
def test_a_name_of_another_product_finds_none(text: str, nearest: str, index: PartIndex) -> None:
    """The word that tells them apart is not dropped; the part that has it not is the nearest."""
    found = index.look_up(text)
    assert not found.parts
    assert nearest in [id for _, id in found.contradicting]


@pytest.mark.parametrize(
    ("text", "id"),
    [("H20 96GB", "h20"), ("B300 288GB", "b300-sxm"), ("GB300 288GB", "gb300"), ("MI300X 192GB", "mi300x")],
)
def test_a_name_with_the_memory_of_a_part_finds_it(text: str, id: str, index: PartIndex) -> None:
    """Of several published sizes, usable and physical, each is the part's."""
    assert id in [found for _, found in index.look_up(text).parts]
