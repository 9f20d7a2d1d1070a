"""Outside programs read the wiring in the formats that are theirs, and find what the CSV has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from depth import DEEP
from netbox_tables import rows_of

from bomgen.core.language import language
from bomgen.output.wiring.xlsx import columns

CHECKOUT = Path(__file__).parents[2]
NETBOX = yaml.safe_load((Path(__file__).parent / "netbox.yaml").read_text("utf-8"))
DESIGNS = ("superpod-h100-4su", "hpn-like", *(("fire-flyer-2-zone", "superpod-a100-140") if DEEP else ()))
"""Racks and four fabrics; cables of two networks; three tiers; planes, and cables of several links."""
FEWER = {"hpn-like": ("--set", "cluster.servers=256")}
"""Two segments have every kind of device and link that fifteen have."""
SVG = "{http://www.w3.org/2000/svg}"
SWITCH = re.compile("-(leaf|spine|core)-")
SLUG = re.compile(r"[-a-zA-Z0-9_]+")
COLOR = re.compile(r"[0-9a-f]{6}|")
NAME_LETTERS = {"devices": 64, "interfaces": 64, "sites": 100, "manufacturers": 100, "device-roles": 100, "racks": 100}
"""Letters of a `name` at most, as NetBox's models have it."""


def _written(plan: str, form: str, out: Path, *more: str) -> Path:
    command = [sys.executable, "-m", "bomgen", "wiring", f"plans/{plan}.yaml", "-f", form, "-o", str(out), *more]
    command += FEWER.get(plan, ())
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return out


def _built(plan: str, out: Path) -> Path:
    command = [sys.executable, "-m", "bomgen", "build", f"plans/{plan}.yaml", "-f", "json", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return next(out.rglob("bom.json"))


@pytest.mark.parametrize("design", DESIGNS[:1])
def test_infragraph_accepts_the_infrastructure(design, judge, tmp_path):
    """InfraGraph validates it, and its graph has a node a device and port and an edge a cable, port to port."""
    judge("python:infragraph")
    from infragraph import Infrastructure
    from infragraph.infragraph_service import InfraGraphService

    fabric = ("--fabric", "compute")
    cables = rows_of(_written(design, "csv", tmp_path / "cables.csv", *fabric))
    text = _written(design, "infragraph", tmp_path / "wiring.json", *fabric).read_text("utf-8")
    service = InfraGraphService()
    service.set_graph(Infrastructure().deserialize(text))
    graph = service.get_networkx_graph()
    edges = {frozenset((a, b)) for a, b, data in graph.edges(data=True) if data["link"] != "internal"}
    expected = {frozenset(_component(row[f"{end}_device"], row[f"{end}_port"]) for end in ("a", "b")) for row in cables}
    assert len(expected) == len(cables)
    assert edges == expected
    devices = {row[f"{end}_device"] for row in cables for end in ("a", "b")}
    middles = {node for node, data in graph.nodes(data=True) if data["type"] in ("cpu", "switch")}
    assert middles == {f"{_instance(name)}.{'asic' if SWITCH.search(name) else 'host'}.0" for name in devices}
    assert graph.number_of_edges() == len(cables) + graph.number_of_nodes() - len(middles)


def _instance(device: str) -> str:
    stem, _, number = device.rpartition("-")
    return f"{stem}.{int(number) - 1}"


def _component(device: str, port: str) -> str:
    return f"{_instance(device)}.{port.replace('/', '_')}.0"


@pytest.mark.parametrize("design", DESIGNS)
def test_graphviz_draws_the_wiring(design, judge, run, tmp_path):
    """Graphviz draws every device and bundle, or the switches alone where there are many devices."""
    path = _written(design, "dot", tmp_path / "wiring.dot")
    done = run(judge("dot"), "-Tsvg", path)
    assert done.returncode == 0, done.stderr
    assert "Warning:" not in done.stderr
    groups = list(ElementTree.fromstring(done.stdout).iter(f"{SVG}g"))  # noqa: S314 - drawn from our own graph
    drawn = {group.findtext(f"{SVG}title") for group in groups if group.attrib.get("class") == "node"}
    rows = rows_of(_written(design, "csv", tmp_path / "cables.csv"))
    ends = [[row[f"{end}_device"].split(";") for end in ("a", "b")] for row in rows]
    devices = {name for pair in ends for names in pair for name in names}
    switches = {name for name in devices if SWITCH.search(name)}
    assert drawn == (devices if len(devices) <= 512 else switches)
    pairs = {(a, b) for lower, upper in ends for a in lower for b in upper if a in drawn and b in drawn}
    assert sum(group.attrib.get("class") == "edge" for group in groups) == len(pairs)


@pytest.mark.parametrize("design", DESIGNS)
def test_netbox_takes_the_files(design, tmp_path):
    """Columns and words are those of NetBox's import, names are unique, and every file finds what it refers to."""
    cables = _written(design, "netbox", tmp_path / "wiring.csv")
    tables = {name: tmp_path / f"wiring-{name}.csv" for name in NETBOX if name != "cables"} | {"cables": cables}
    found = {name: rows_of(path) if path.exists() else [] for name, path in tables.items()}
    for name, rows in found.items():
        known = NETBOX[name]
        assert rows or name in ("locations", "racks"), name
        for row in rows[:1]:
            assert set(row) <= set(known["columns"]), name
            assert set(row) >= set(known["required"]), name
        for column, words in known.get("choices", {}).items():
            assert {row[column] for row in rows} <= set(words), f"{name} {column}"
        for row in rows:
            assert all(row[column] for column in known["required"]), (name, row)
            assert SLUG.fullmatch(row.get("slug", "x")), (name, row)
            assert COLOR.fullmatch(row.get("color", "")), (name, row)
            assert len(row.get("name", "")) <= NAME_LETTERS.get(name, 100), (name, row)
    names = {name: [row["name"] for row in rows] for name, rows in found.items() if rows and "name" in rows[0]}
    for name in ("sites", "manufacturers", "device-roles", "racks", "devices"):
        assert len(set(names.get(name, []))) == len(names.get(name, []))
    assert {row["manufacturer"] for row in found["device-types"]} <= set(names["manufacturers"])
    models = [(row["manufacturer"], row["model"]) for row in found["device-types"]]
    assert len(set(models)) == len(models)
    bill = json.loads(_built(design, tmp_path / "bill").read_text("utf-8"))
    elevations = bill.get("site", {}).get("elevations", [])
    assert len(found["racks"]) == sum(each["number"] for each in elevations)
    assert {int(row["u_height"]) for row in found["racks"]} == {each["units"] for each in elevations}
    heights = {(row["manufacturer"], row["model"]): float(row["u_height"]) for row in found["device-types"]}
    assert all((2 * height).is_integer() for height in heights.values())
    racks = {(row["location"], row["name"]) for row in found["racks"]}
    assert {location for location, _ in racks} == set(names.get("locations", ()))
    taken = set()
    for row in found["devices"]:
        model = row["manufacturer"], row["device_type"]
        assert model in heights
        assert row["role"] in names["device-roles"]
        assert not row["rack"] or (row["location"], row["rack"]) in racks
        assert bool(row["position"]) == bool(row["face"])
        units = range(
            int(row["position"] or 0), int(row["position"] or 0) + (int(heights[model]) if row["face"] else 0)
        )
        assert not taken & {(row["rack"], unit) for unit in units}, row
        taken |= {(row["rack"], unit) for unit in units}
    ports = [(row["device"], row["name"]) for row in found["interfaces"]]
    assert len(set(ports)) == len(ports)
    assert {device for device, _ in ports} == set(names["devices"])
    ends = [(row[f"side_{end}_device"], row[f"side_{end}_name"]) for row in found["cables"] for end in ("a", "b")]
    assert sorted(ends) == sorted(ports)
    labels = {row["label"] for row in rows_of(_written(design, "csv", tmp_path / "cables.csv"))}
    assert {row["label"] for row in found["cables"]} == labels


@pytest.mark.parametrize("design", DESIGNS[:1])
def test_libreoffice_reads_the_rows_of_the_csv(design, judge, run, tmp_path):
    """LibreOffice opens the workbook, and its sheets have the rows of the CSV in the order of the CSV."""
    office = judge("soffice")
    path = _written(design, "xlsx", tmp_path / "wiring.xlsx")
    rows = rows_of(_written(design, "csv", tmp_path / "cables.csv"))
    every_sheet_as_shown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"
    done = run(
        office,
        f"-env:UserInstallation=file://{tmp_path / 'profile'}",
        *("--headless", "--norestore", "--nologo", "--nodefault", "--nofirststartwizard"),
        *("--convert-to", every_sheet_as_shown, "--outdir", tmp_path / "out"),
        path,
        environment={"HOME": str(tmp_path / "profile")},
    )
    assert done.returncode == 0, done.stderr
    fabrics = list(dict.fromkeys(row["fabric"] for row in rows))
    sheets = {fabric: rows_of(tmp_path / "out" / f"wiring-{fabric}.csv") for fabric in fabrics}
    assert (tmp_path / "out" / "wiring-Cover.csv").exists()
    read = [row for fabric in fabrics for row in sheets[fabric]]
    assert [int(row["No."]) for row in read] == list(range(1, len(rows) + 1))
    shown = [
        (column.title, column.source)
        for column in columns(language("en"))
        if column.source and column.source != "length_m"
    ]
    for got, wanted in zip(read, rows, strict=True):
        assert {title: got[title] for title, _ in shown} == {title: wanted[source] for title, source in shown}
        assert float(got["Length m"]) == float(wanted["length_m"])
        near, far = ((wanted[f"{end}_device"], wanted[f"{end}_port"]) for end in ("a", "b"))
        assert got["Flag at A"].endswith(" ".join(far))
        assert " ".join(near) in got["Flag at A"]
        assert got["Flag at B"].endswith(" ".join(near))
        assert not got["Plugged"] + got["Tested"]
