"""What parts cost by rule: prices of like parts that a source has, USD, and how these grow with rate, length and ports.

Sources are public web pages and lists of 2026, most of them read through a research note that quotes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Known(NamedTuple):
    """What a source says that a part costs, in USD."""

    price: float
    day: str | None
    source: str


class Cable(NamedTuple):
    """What a cable of a rate costs at the length at which it was seen."""

    price: float
    metres: float
    day: str
    source: str


DATACENTRE = "BINGO Backend Cluster, Design D-lite: bill of materials at market prices of 2026-09"
"""A public design of a Brazilian radio telescope: servers, a switch, racks and PDUs."""
CONTRACTOR = "price list of a cabling contractor, USA (Panduit, Corning, Belden and Tripp Lite at purchase prices)"
HPE = "HPE list, DL380a Gen12 of 2026-10-03"
FS = "FS.com"
RACK_MOUNTED = "FS.com, FHD enclosures and adapters"

BRL_A_USD = 5.30
BRAZIL = f"bills of materials of Brazilian public contracts, at {BRL_A_USD:.2f} BRL a USD"
FOOT = 0.3048
"""Metres."""

# racks, power, management ------------------------------------------------------------------------------------------

RACK = Known(1_150, "2026-09-01", f"{DATACENTRE}; a rack of 42 units, 895 USD in a {CONTRACTOR}")
"""A rack of 19 inches for servers; racks with busbars cost something else."""
RACK_UNITS = range(42, 53)
OPEN_RACK = "open units"
POWER_CORD = Known(20, "2026-10-03", f"{HPE}: C19 to C20, 2.5 m; 102 USD as an option of its own")
DEAREST_POWER_CORD = 102
GPU_CABLE = Known(114, "2026-10-03", f"{HPE}: power cable kit of a GPU")
MANAGEMENT_SWITCH = Known(22_500 / BRL_A_USD, None, f"Dell N3248TE-ON with 48 ports of 1G; {BRAZIL}")
"""Switches of copper ports for management cost by their number, not by capacity."""
MANAGEMENT_GBPS = 10
SN3700C_GBPS, CE6881_GBPS = 32 * 100, 48 * 25 + 6 * 100
"""Gb/s of all ports of the two switches that have a price."""
ETHERNET_GBPS = Known(
    9_843 / SN3700C_GBPS, "2026-09-01", f"{DATACENTRE}: SN3700C of 32 ports of 100G at 9,843 USD, 6,800 to 11,400"
)
"""USD for each Gb/s of switches with ports of 25 to 200 Gb/s."""
CHEAPEST_ETHERNET_GBPS = 2_630 / CE6881_GBPS
"""A Huawei CE6881-48S6CQ in marketplaces, 2026-09: IDC and marketplace listings of switches, second hand."""
SERVER_OF_EIGHT, RTX_PRO_6000 = 265_928, 16_000
HOST_OF_EIGHT = Known(
    SERVER_OF_EIGHT - 8 * RTX_PRO_6000,
    "2026-07-16",
    "AMD, AAI 2026, note 8: OEM list price of a server with eight RTX PRO 6000, less the cards at 16,000 USD",
)
"""What a server with eight GPUs on a board costs beside them.

https://ir.amd.com/news-events/press-releases/detail/1294/aai-2026-amd-delivers-full-stack-compute-for-the-agentic-ai-era
(quoted by a cost comparison of 2026-10-10, read 2026-11-30)
"""
CHASSIS, MEMORY, DRIVES, BOOT_DRIVES = 11_500, 4_250, 2_200, 225
CARD_SERVER = Known(
    CHASSIS + MEMORY + DRIVES + BOOT_DRIVES, "2026-09-01", f"{DATACENTRE}: a server of two sockets without its GPUs"
)
"""Chassis with two processors, 512 GB, four NVMe drives and two boot drives, for fewer than eight cards."""

CARD_HOST = Known(
    round((CARD_SERVER.price * HOST_OF_EIGHT.price) ** 0.5),
    HOST_OF_EIGHT.day,
    f"for the rest the geometric middle of {CARD_SERVER.price:,} and {HOST_OF_EIGHT.price:,} USD: "
    f"{CARD_SERVER.source}; {HOST_OF_EIGHT.source}",
)
"""What a server with slots for eight cards costs beside them, however many it has."""

# modules -----------------------------------------------------------------------------------------------------------
# The prices that are known are of compatible modules.

MODULES_OF_THEIR_OWN = frozenset(("Arista", "Cisco", "H3C", "Huawei", "Juniper", "NVIDIA", "Ruijie"))
"""Vendors of switches that sell modules under their own names."""
LIST_PRICE, SAVED = 1_500_000, 850_000
"""USD: what the modules of 128 servers cost at list price, and how much less compatible ones cost."""
LIST_TO_COMPATIBLE = Known(
    LIST_PRICE / (LIST_PRICE - SAVED),
    "2026-05-14",
    "modules of 128 DGX H100 at NVIDIA's list prices and compatible ones, AscentOptics, OSFP NVIDIA InfiniBand",
)
"""What a module costs at list price, for each USD of a compatible one.

https://ascentoptics.com/blog/osfp-nvidia-infiniband-ndr/ (read 2026-11-28)
"""

# direct-attach cables ----------------------------------------------------------------------------------------------

CABLES: Mapping[str, Mapping[int, Cable]] = {
    "dac": {
        10: Cable(14, 1, "2026-09-22", f"{FS}, DAC of SFP+"),
        25: Cable(33, 1, "2026-09-22", f"{FS}, DAC of SFP28"),
        100: Cable(40, 1, "2026-07-01", f"{FS}, category 100g-qsfp28-dac; 39 USD at 3 m at QSFPTEK"),
        200: Cable(99, 0.4, "2026-05-04", f"{FS}, DAC of QSFP56"),
        400: Cable(209, 3, "2026-04-01", "Optcore, QDD-400G-DAC-P3M"),
        800: Cable(186, 1, "2026-07-01", f"{FS}, category 800g-dac-aoc"),
    },
    "acc": {800: Cable(1_136, 3, "2026-07-01", f"{FS}, category 800g-dac-aoc")},
    "aec": {
        400: Cable(170, 2, "2026-07-01", "notes on Credo: what buyers of many pay; 85 USD of 100G"),
        800: Cable(500, 2, "2026-07-01", "notes on Credo: 320 USD to buyers of many; 1,870 USD of 3 m at a retailer"),
    },
    "aoc": {
        10: Cable(33, 1, "2026-09-22", f"{FS}, AOC of SFP+"),
        25: Cable(65, 1, "2026-09-22", f"{FS}, AOC of SFP28"),
        100: Cable(204, 3, "2026-07-01", f"{FS}, category 100g-qsfp28-dac"),
        400: Cable(705, 3, "2026-09-01", "DataInterfaces; 1,011 USD at FS.com"),
    },
}
"""By kind and Gb/s."""
METRE = {
    "dac": {
        10: (71 - 33) / (5 - 1) * 10 / 25,
        25: (71 - 33) / (5 - 1),
        100: ((66 + 39) / 2 - 40) / (3 - 1),
        800: (186 - 161) / (1 - 0.5),
    },
    "acc": {800: (1_536 - 1_136) / (5 - 3)},
    "aec": {800: 500 * (2_503.51 / 1_869.93 - 1) / (7 - 3)},
}
"""USD a metre by kind and Gb/s: DACs of 25G at 1 and 5 m, of 100G at 1 and 3 m, there between FS.com and QSFPTEK,
and cables of 800G at two lengths, active electrical ones by the share at a retailer; same sources. One of 10G grows by
its share of one of 25G."""
CAGE_ADAPTER = Known(40, "2026-07-01", f"its two connectors as those of a DAC of 100G at 1 m; {FS}")
AOC_METRE = (22 - 15) / (3 - 1)
"""USD a metre at any rate, as of a duplex jumper of OM4."""
STRAIGHT = 186 + 50
"""USD: a passive cable of 800G at 1 m, and a further metre."""
SPLITTERS = {2: 299 / STRAIGHT, 4: 461 / STRAIGHT}
"""What a passive cable of 800G with so many ends costs in units of a straight one of 2 m; FS.com, 2026-07."""
SLOW, SLOW_SPLITTER = 100, 99 / ((66 + 39) / 2)
"""What one of up to 100G costs with any number of ends: 100G to 4 x 25G at 3 m; DataInterfaces, 2026-09."""


def _metre_price(kind: str, rate: float) -> float:
    """Return the price of a further metre of a copper cable."""
    nearest = max((known for known in METRE[kind] if known <= rate), default=min(METRE[kind]))
    return METRE[kind][nearest] * rate / nearest


def cable_price(record: dict[str, Any], rate: float, metres: float) -> Known | None:
    """Return the price of a cable with electronics at its ends, or none if no cable of its kind has a price."""
    kind = record["kind"]
    if kind not in CABLES or not rate:
        return None
    nearest = max((known for known in CABLES[kind] if known <= rate), default=min(CABLES[kind]))
    seen = CABLES[kind][nearest]
    scale = rate / nearest
    metre = AOC_METRE if kind == "aoc" else _metre_price(kind, rate)
    price = seen.price * scale + metre * (metres - seen.metres)
    ends = record["b"]["ends"]
    if kind == "dac" and ends > 1:
        price *= SLOW_SPLITTER if rate <= SLOW else SPLITTERS[min(ends, max(SPLITTERS))]
    return Known(round(price, 2), seen.day, f"{kind.upper()} of {nearest}G at {seen.metres:g} m; {seen.source}")


# copper and fibres -------------------------------------------------------------------------------------------------

PATCH_CORD = Known(5, None, f"Cat6A of 0.3 m at 5 USD and 7.6 m at 18 USD; {CONTRACTOR}")
PATCH_CORD_METRE = (18 - 5) / (25 - 1) / FOOT
"""USD a metre, of cords of 1 and 25 feet."""
LC_METRE = 7.70 - 5.30
LC_JUMPERS = {"single-mode": (5.30 - LC_METRE, LC_METRE), "multimode": (6.55 - LC_METRE, LC_METRE)}
"""USD: duplex jumpers of 1 m, and a further metre: of OS2 at 2 m and 3 m, of OM4 at 2 m."""
LC_SOURCE = "LC duplex of 2 m and 3 m; FS.com and a reseller"
FIBRE_DATE = "2026-09-22"
MTP = "FS.com, MTP cables"
MPO_JUMPERS = {"multimode": (59, (116 - 59) / (5 - 1)), "single-mode": (105.08, (116 - 59) / (5 - 1))}
"""USD: MTP-12 of 1 m, and a further metre up to 5 m, which is a price of OM4."""
SEEN_METRES = 5
REEL = 1_000 * FOOT
"""Metres."""
REEL_METRE = {"multimode": 895 / REEL, "single-mode": 695 / REEL}
"""USD: a metre of cable with 12 fibres, of a reel of 1,000 feet; the contractor's price list."""
FIBRES_OF_REEL, FIBRES_OF_DUPLEX = 12, 2
MPO_SPLITTERS = {"multimode": 122, "single-mode": 150}
"""USD: MTP-12 to 2 x MTP-4 of 1 m, as for InfiniBand."""
MPO16_SPLITTERS = {"multimode": 150, "single-mode": 249}
"""USD: MTP-16 to 2 x MTP-8 of 1 m."""
MPO_TO_LC = {"multimode": 59, "single-mode": 78}
"""USD: MTP-8 to 4 x LC duplex of 1 m."""
MPO_TRUNKS = {"multimode": 85.08, "single-mode": 105.08}
"""USD: a trunk of one MTP-12 at 1 m."""
ENCLOSURE = 74
MPO_ADAPTER = 14
LC_PORTS = 24
LC_ADAPTER = 95 / LC_PORTS
"""USD: of an adapter panel with 24 duplex ports; the contractor's price list."""


def fibre_price(record: dict[str, Any], metres: float) -> Known:
    """Return the price of a jumper, splitter or trunk of fibre."""
    fibre, connector = record["fibre"], str(record["connector"])
    reel = REEL_METRE[fibre]
    if record["kind"] == "trunk":
        first, named = (MPO_TRUNKS[fibre], MTP) if connector.startswith("mpo") else (LC_JUMPERS[fibre][0], LC_SOURCE)
        fibres = 1 if connector.startswith("mpo") else FIBRES_OF_DUPLEX / FIBRES_OF_REEL
        links = record["links"]["value"] if isinstance(record["links"], dict) else record["links"]
        return Known(
            round(links * (first + reel * fibres * (metres - 1)), 2), FIBRE_DATE, f"{named}, and cable by the reel"
        )
    if connector.startswith("lc"):
        first, metre = LC_JUMPERS[fibre]
        return Known(round(first + metre * (metres - 1), 2), FIBRE_DATE, LC_SOURCE)
    first, metre = MPO_JUMPERS[fibre]
    ends = record["b"]["ends"]
    if ends > 1 and str(record.get("far_connector")).startswith("lc"):
        first = MPO_TO_LC[fibre]
    elif ends > 1:
        two = MPO16_SPLITTERS if connector.startswith("mpo-16") else MPO_SPLITTERS
        first = two[fibre] * ends / 2
    price = first + metre * (min(metres, SEEN_METRES) - 1) + reel * max(metres - SEEN_METRES, 0)
    return Known(round(price, 2), FIBRE_DATE, f"{MTP} of 1 m and 5 m, beyond it cable by the reel")


def patch_cord_price(metres: float) -> Known:
    """Return the price of a copper patch cord."""
    return PATCH_CORD._replace(price=round(PATCH_CORD.price + PATCH_CORD_METRE * (metres - FOOT), 2))


def panel_price(ports: int, connectors: list[str]) -> Known:
    """Return the price of a patch panel with its adapters."""
    adapter = LC_ADAPTER if connectors[0].startswith("lc") else MPO_ADAPTER
    return Known(
        round(ENCLOSURE + adapter * ports, 2), FIBRE_DATE, f"an enclosure and {ports} adapters; {RACK_MOUNTED}"
    )


# services ----------------------------------------------------------------------------------------------------------

RACK_HOURS, CABLE_HOURS, HOURLY = 8, 8, 100
"""Hours to build a rack and to dress its cables, and USD an hour."""
INSTALLATION = {
    "installation-server": Known(507, "2026-10-03", f"{HPE}: installation of a server with eight GPUs"),
    "installation-rack": Known(
        (RACK_HOURS + CABLE_HOURS) * HOURLY,
        None,
        f"{RACK_HOURS} hours to build a rack and {CABLE_HOURS} to dress its cables at {HOURLY} USD; {CONTRACTOR}",
    ),
}
"""For charges with `part`, per server or per rack."""
