"""The wiring as a topology file of PTM, the Prescriptive Topology Manager of Cumulus Linux and SONiC: a line a link."""

from __future__ import annotations

from typing import BinaryIO

from bomgen.cabling.types import Wiring
from bomgen.output.registry import Progress
from bomgen.output.wiring.columns import batches
from bomgen.output.wiring.dot import quote

ABOUT = "Topology file of PTM, by which Cumulus Linux and SONiC check their neighbours."
BINARY = False
SEVERAL_FILES = False
ONE_FABRIC = False
COLUMNS = ("a_device", "a_port", "b_device", "b_port")


def write(wiring: Wiring, out: BinaryIO, progress: Progress) -> None:
    """Write every link."""
    out.write(f"graph {quote([wiring.site])} {{\n".encode())
    for _, table in batches(wiring):
        ends = zip(*(table[name].tolist() for name in COLUMNS), strict=True)
        lines = ("{}:{} -- {}:{};".format(*(quote([text]) for text in link)) for link in ends)
        out.write(("\n".join(lines) + "\n").encode())
        progress(len(table["label"]))
    out.write(b"}\n")
