"""The wiring as the point-to-point file of NVIDIA's cable validation: a sheet a fabric, a row a link.

Adapters have the names of Linux where they are known for a server.
"""

from __future__ import annotations

from typing import Any, BinaryIO

from openpyxl import Workbook

from bomgen.cabling.types import Wiring
from bomgen.core.yaml_source import read_data
from bomgen.output.registry import Progress, Unsuitable
from bomgen.output.wiring.columns import batches
from bomgen.output.wiring.xlsx import LAST_ROW, create_sheet, safe_cell
from bomgen.output.xlsx.cells import pack

ABOUT = "Point-to-point workbook of NVIDIA's cable validation: one row per link."
SUFFIXES = (".xlsx",)
BINARY = True
SEVERAL_FILES = False
ONE_FABRIC = False
HEADINGS = ("Rack", "U", "Name", "HCA/Port", "Rack", "U", "Name", "Port")
COLUMNS = tuple(f"{end}_{what}" for end in ("a", "b") for what in ("rack", "unit", "device", "port"))
ADAPTERS = "adapter-names.yaml"


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every link. Raises Unsuitable when a sheet cannot hold them."""
    if len(wiring) >= LAST_ROW:
        raise Unsuitable(f"{len(wiring)} links are too many for a sheet; take ptm or csv, or one --fabric")
    book, sheets = Workbook(write_only=True), dict[str, Any]()
    adapters = read_data(ADAPTERS)
    names = [adapters.get(kind.identity.id if kind.identity else "", {}).get("ports", {}) for kind in wiring.kinds]
    for links, table in batches(wiring):
        kinds = wiring.kind_numbers[wiring.a_device[links]].tolist()
        rows = zip(*(table[name].tolist() for name in COLUMNS), strict=True)
        for fabric, kind, (rack, unit, device, port, *far) in zip(table["fabric"].tolist(), kinds, rows, strict=True):
            if fabric not in sheets:
                sheets[fabric] = create_sheet(book, fabric, wiring)
                sheets[fabric].append(HEADINGS)
            values = (rack, unit, device, names[kind].get(port, port), *far)
            sheets[fabric].append([safe_cell(sheets[fabric], value) for value in values])
        progress(len(kinds))
    if not sheets:
        create_sheet(book, wiring.site, wiring).append(HEADINGS)
    pack(book, out)
