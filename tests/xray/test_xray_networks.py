"""X-rays of bills that name no network, or name it in a heading alone: most bills of the world are such."""

from __future__ import annotations

from pathlib import Path

import pytest
from bills_with_errors import CATALOG, Row, look, rows_of
from depth import DEEP

from bomgen.xray.contents import open_bill
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
