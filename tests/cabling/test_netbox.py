"""The files for NetBox of a large cluster: small enough to be imported, in an order in which each finds the others."""

from __future__ import annotations

import csv

import pytest
from click.testing import CliRunner

from bomgen.cli.command import main
from bomgen.output.wiring.netbox import ORDER

PLAN = """bomgen: 1
name: large
cluster: {gpu: h100-sxm, servers: 256}
fabrics: {compute: {switch: qm9700}, storage: {switch: qm9700}}
"""
"""256 servers with eight compute links and two storage links each."""
MOST_ROWS = 1000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[dict[str, str]]]]:
    """The rows of each table, file by file in the order of their numbers."""
    folder = tmp_path_factory.mktemp("netbox")
    (folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    command = ["wiring", str(folder / "plan.yaml"), "-f", "netbox", "-o", str(folder / "w.csv"), "-q"]
    outcome = CliRunner().invoke(main, command)
    assert outcome.exit_code == 0, outcome.stderr
    found: dict[str, list[list[dict[str, str]]]] = {}
    for name in (*ORDER, "cables"):
        first = folder / ("w.csv" if name == "cables" else f"w-{name}.csv")
        number, place = 1, first
        while place.exists():
            with place.open(encoding="utf-8", newline="") as stream:
                found.setdefault(name, []).append(list(csv.DictReader(stream)))
            place.unlink()
            number += 1
            place = first.with_name(f"{first.stem}-{number}.csv")
    assert [path.name for path in folder.iterdir()] == ["plan.yaml"]
    return found


def test_no_file_has_more_rows_than_an_import_takes(tables: dict[str, list[list[dict[str, str]]]]) -> None:
    """All files of a table but the last are full, and each has the columns."""
    assert max(map(len, tables.values())) > 2
    for files in tables.values():
        assert {len(rows) for rows in files[:-1]} <= {MOST_ROWS}
        assert 0 < len(files[-1]) <= MOST_ROWS
        assert len({tuple(row) for rows in files for row in rows}) == 1


def test_files_find_what_was_imported_before(tables: dict[str, list[list[dict[str, str]]]]) -> None:
    """In the order of tables and numbers no row names what comes later; nothing is lost or there twice."""
    known: dict[str, set[str]] = {"site": set(), "manufacturer": set(), "role": set(), "device": set()}
    names = {"sites": "site", "manufacturers": "manufacturer", "device-roles": "role", "devices": "device"}
    ports = set[tuple[str, str]]()
    for table, files in tables.items():
        for row in (row for rows in files for row in rows):
            for column, found in known.items():
                assert row.get(column, "") in {"", *found}, (table, row)
            if table in names:
                known[names[table]].add(row["name"])
            elif table == "interfaces":
                ports.add((row["device"], row["name"]))
    cables = [row for rows in tables["cables"] for row in rows]
    ends = [(row[f"side_{end}_device"], row[f"side_{end}_name"]) for row in cables for end in ("a", "b")]
    assert sorted(ends) == sorted(ports)
    servers = 256
    assert len(cables) >= servers * 10


def test_infiniband_ports_have_four_lanes(tables: dict[str, list[list[dict[str, str]]]]) -> None:
    """NetBox has NDR 4X (400 Gbps) for a port of QM9700 or ConnectX-7; NDR alone is a lane of 100 Gb/s."""
    ports = [row for rows in tables["interfaces"] for row in rows]
    assert {(row["type"], row["speed"]) for row in ports} == {("infiniband-ndr-4x", "400000000")}
