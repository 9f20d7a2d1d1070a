"""Formats of the cable list for the site: cable validation, PTM, label printers, and topologies with true speeds."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner

from bomgen.cabling.types import Wiring
from bomgen.cli.command import main
from bomgen.output.writer import write_wiring
from bomgen.results.result import Report
from bomgen.verify.findings import USUAL_ERROR_RATE, verify
from bomgen.verify.reading import read_outputs
from bomgen.workflow.pipeline import list_cables

HALL: Mapping[str, Any] = {
    "bomgen": 1,
    "name": "hall",
    "cluster": {"gpu": "h100-sxm", "server": "dgx-h100", "servers": 4},
    "fabrics": {"compute": {"topology": "fat-tree", "switch": "qm9700", "tiers": 2}},
    "site": {"rack": {"units": 48, "power": "44 kW"}, "layout": "auto"},
}
Worked = Callable[[Mapping[str, Any]], Report]


@pytest.fixture(scope="module")
def infiniband(worked: Worked) -> Wiring:
    """The compute cables of four servers on InfiniBand."""
    return list_cables(worked(HALL), ["compute"])


def written(wiring: Wiring, form: str, folder: Path, suffix: str) -> Path:
    """The main file of a format."""
    return write_wiring(wiring, form, folder / f"cables{suffix}", lambda _: None)[0].with_name(f"cables{suffix}")


@pytest.mark.parametrize(("form", "suffix"), [("p2p", ".xlsx"), ("topo", ".topo")])
def test_what_is_exported_is_verified_as_planned(form: str, suffix: str, infiniband: Wiring, tmp_path: Path) -> None:
    """The reader of other people's files takes every link of it for the planned one, at its speed."""
    content = written(infiniband, form, tmp_path, suffix).read_bytes()
    verification = verify(read_outputs([("", f"a{suffix}", content)]), infiniband, {}, USUAL_ERROR_RATE)
    assert verification.counts == {"as-planned": 48}
    assert (verification.names.votes, verification.names.unnamed) == ({}, ())


def test_point_to_point_names_adapters_of_linux(infiniband: Wiring, tmp_path: Path) -> None:
    """The eight compute NICs of a DGX H100, a sheet a fabric, with rack and unit."""
    book = openpyxl.load_workbook(written(infiniband, "p2p", tmp_path, ".xlsx"))
    rows = [tuple(cell.value for cell in row) for row in book["compute"].rows]
    assert rows[0] == ("Rack", "U", "Name", "HCA/Port", "Rack", "U", "Name", "Port")
    assert [row[3] for row in rows[1:9]] == [f"mlx5_{number}" for number in (0, 3, 4, 5, 6, 9, 10, 11)]
    assert rows[8] == (2, 1, "server-01", "mlx5_11", 1, 1, "compute-leaf-01", "4/2")


def test_a_topology_has_the_speed_of_its_lanes(infiniband: Wiring, tmp_path: Path) -> None:
    """NDR is 100 Gb/s a lane."""
    text = written(infiniband, "topo", tmp_path, ".topo").read_text("utf-8")
    assert {*re.findall(r"-4x-\d+G->", text)} == {"-4x-100G->"}


def test_labels_have_a_row_per_end(infiniband: Wiring, tmp_path: Path) -> None:
    """The near end first."""
    text = written(infiniband, "labels", tmp_path, ".csv").read_text("utf-8")
    rows = list(csv.DictReader(StringIO(text)))
    assert len(rows) == 2 * infiniband.pieces
    ends = ("2-1 server-01 nic1", "1-1 compute-leaf-01 1/1")
    assert [(row["label"], row["near"], row["far"]) for row in rows[:2]] == [
        ("compute-SL-01", *ends),
        ("compute-SL-01", *ends[::-1]),
    ]


def test_ptm_with_the_names_of_sonic(worked: Worked, tmp_path: Path) -> None:
    """The second half of cage 5 with eight lanes is `Ethernet36`, a whole cage its first lane."""
    names = {"cage": "Ethernet{switch_lane}", "split": "Ethernet{switch_lane}"}
    switch = {"ports": 64, "port_gbps": 800, "ports_per_cage": 1, "split": 2, "port_names": names}
    fabrics = {"compute": {"topology": "fat-tree", "switch": switch}}
    wiring = list_cables(worked({**HALL, "fabrics": fabrics}), ["compute"])
    lines = written(wiring, "ptm", tmp_path, ".dot").read_text("utf-8").splitlines()
    assert (lines[0], lines[-1], len(lines)) == ('graph "hall" {', "}", len(wiring) + 2)
    assert lines[10].startswith('"server-02":"nic2" -- ')
    assert lines[10].endswith(':"Ethernet36";')


def test_a_workbook_by_its_suffix_is_that_of_installers(tmp_path: Path) -> None:
    """`-o cables.xlsx` without -f is not the file of cable validation."""
    plan = tmp_path / "hall.yaml"
    plan.write_text("bomgen: 1\nname: hall\ncluster: {gpu: h100-sxm, servers: 2}\n", "utf-8")
    done = CliRunner().invoke(main, ["wiring", str(plan), "-q", "-o", str(tmp_path / "cables.xlsx")])
    assert done.exit_code == 0, done.output
    assert openpyxl.load_workbook(tmp_path / "cables.xlsx").sheetnames[0] == "Cover"
