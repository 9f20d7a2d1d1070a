"""Outputs of every form against their plan, with the faults that are planted in them."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from plan_reports import report_of

from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.verify import reading
from bomgen.verify.findings import RIGHT, USUAL_ERROR_RATE, Verification, list_rows, verify, work_csv
from bomgen.verify.reading import read_outputs
from bomgen.workflow.pipeline import list_cables

SAMPLES = Path(__file__).parent / "samples"
"""Outputs of a hall of four servers, in two of which faults are planted."""
EXCHANGED = {"compute-SL-10": "other-port", "compute-SL-11": "other-port"}
FAULTS = {**EXCHANGED, "compute-SL-17": "missing"}
SLOW = {"compute-SL-32": "speed"}
FORMS = {
    **{f"{name}/*": name for name in ("cumulus", "eos", "h3c", "junos", "nxos")},
    **{"nvue/*": "cumulus", "sonic/*": "cumulus", "huawei/*": "h3c", "os10/*": "h3c"},
    **dict.fromkeys(("ib/ibnetdiscover.txt", "ib/ibnetdiscover-unnamed.txt", "ib/iblinkinfo.txt"), "ib"),
    **dict.fromkeys(("ib/ibdiagnet2.topo", "ib/ibdiagnet2.lst", "ib/ufm-links.json"), "ib"),
}
"""The files of each form, and the plan of the hall with their port names."""


def compared(plan: str, files: dict[str, str], error_rate: float = USUAL_ERROR_RATE) -> Verification:
    """Outputs, by the name of their file, against a plan of the hall."""
    wiring = list_cables(report_of(SAMPLES / f"hall-{plan}.yaml"), ["compute"])
    return verify(read_outputs(("", name, text.encode()) for name, text in files.items()), wiring, {}, error_rate)


def sample(pattern: str) -> dict[str, str]:
    """Sample files by name."""
    return {path.name: path.read_text("utf-8") for path in sorted(SAMPLES.glob(pattern))}


def findings(verification: Verification) -> dict[str, str]:
    """What was found of each cable that is not right, by label; cables without one by their number."""
    found = [row for row in list_rows(verification) if row["found"] not in RIGHT]
    return {row["label"] or f"unplanned {number}": row["found"] for number, row in enumerate(found)}


@pytest.mark.parametrize("pattern", FORMS)
def test_planted_faults_are_found_in_every_form(pattern: str) -> None:
    """Each has the same faults; only InfiniBand states rates; those of its topology are right, and UFM has none."""
    slow = SLOW if pattern.startswith("ib/") and not pattern.endswith((".topo", ".json")) else {}
    assert findings(compared(FORMS[pattern], sample(pattern))) == FAULTS | slow


def test_the_form_of_a_whole_file_names_its_lines() -> None:
    """A finding leads to the line of the output."""
    text = sample("ib/iblinkinfo.txt")
    row = next(row for row in list_rows(compared("ib", text)) if row["label"] == "compute-SL-32")
    file, line = row["seen_in"].split("; ")[0].split(":")
    assert "53.125 Gbps" in text[file].splitlines()[int(line) - 1]


def test_lists_of_json_that_wrap_every_value() -> None:
    """`-f json0` of six ports of the leaf and of the spine: all of them are as planned."""
    verification = compared("cumulus", sample("json0/*"))
    assert verification.counts["assumed"] + verification.counts["as-planned"] == 9
    assert {*findings(verification).values()} == {"missing"}


def test_ports_without_neighbours_join_their_links() -> None:
    """Ibstat and mlxlink state rates of ports that the LLDP of no switch has."""
    named = {"mlxlink-server-01-mlx5_0.json": sample("ib/mlxlink*")["mlxlink-server-04-mlx5_11.json"]}
    fabric = sample("ib/ibnetdiscover.txt")
    assert findings(compared("ib", fabric | named))["compute-SL-01"] == "speed"
    fast = named["mlxlink-server-01-mlx5_0.json"].replace("IB-HDR", "IB-NDR")
    for old, new, found in (
        ("15E-255", "2E-9", "errors"),
        ("MMA4Z00-NS-FLT", "MMA4Z00-NS", "wrong-part"),
        ('"4x"', '"2x"', "width"),
    ):
        changed = {"mlxlink-server-01-mlx5_0.json": fast.replace(old, new)}
        assert findings(compared("ib", fabric | changed))["compute-SL-01"] == found
    for sound in (fast, fast.replace('"4x"', '"1e999x"')):
        assert "compute-SL-01" not in findings(compared("ib", fabric | {"mlxlink-server-01-mlx5_0.json": sound}))
    ibstat = {"server-02.txt": sample("ib/ibstat*")["ibstat-server-02.txt"].replace("Rate: 400", "Rate: 200", 1)}
    assert findings(compared("ib", fabric | ibstat))["compute-SL-09"] == "speed"


def test_a_cable_of_another_length_is_another_part() -> None:
    """The number of an active cable has its length: 30 m are planned."""
    wiring = list_cables(report_of(SAMPLES.parents[2] / "plans" / "a100-32-zh.yaml"), ["compute"])
    state = {"State": "Active", "Speed": "IB-HDR", "Width": "4x"}
    for part, found in (("MFS1S00-H030V", "as-planned"), ("MFS1S00-H020V", "wrong-part")):
        port = json.dumps({"Operational Info": state, "Module Info": {"Vendor Part Number": part}}).encode()
        cable = b"a device,a port,b device,b port\nserver-01,nic1,compute-leaf-01,1/1\n"
        files = [("server-01:nic1", "mlxlink.json", port), ("", "built.csv", cable)]
        verification = verify(read_outputs(files), wiring, {}, USUAL_ERROR_RATE)
        assert verification.counts[found] == 1


def test_further_neighbours_of_a_port_are_left_out() -> None:
    """The firmware of a NIC answers with its MAC address, a neighbour that left is still listed, as is management."""
    leaf = json.loads(sample("eos/compute-leaf-01.json")["compute-leaf-01.json"])
    entries = leaf["lldpNeighbors"]["Ethernet1/1"]["lldpNeighborInfo"]
    firmware = {"systemName": "", "neighborInterfaceInfo": {"interfaceId": '"946d.ae99.8204"'}}
    left = {"systemName": "server-04", "neighborInterfaceInfo": {"interfaceId_v2": "ens26np0"}}
    entries[:0] = [firmware, left]
    office = {"systemName": "office-sw", "neighborInterfaceInfo": {"interfaceId_v2": "gi1/0/4"}}
    leaf["lldpNeighbors"]["Management1"] = {"lldpNeighborInfo": [office]}
    files = sample("eos/*") | {"compute-leaf-01.json": json.dumps(leaf)}
    assert findings(compared("eos", files)) == FAULTS


def test_servers_that_exchanged_places_are_one_finding() -> None:
    """All cables of two servers are those of the other: the names are wrong, or the servers."""
    text = sample("ib/ibnetdiscover.txt")["ibnetdiscover.txt"]
    for old, new in (("server-01", "server-0X"), ("server-04", "server-01"), ("server-0X", "server-04")):
        text = text.replace(old, new)
    verification = compared("ib", {"f.txt": text})
    planned = verification.planned.names
    assert [[planned[device] for device in pair] for pair in verification.names.exchanged] == [
        ["server-01", "server-04"]
    ]
    assert verification.counts["exchanged"] == 15
    assert findings(verification)["compute-SL-32"] == "speed"


def test_what_was_not_asked_is_not_missing() -> None:
    """Without an output of either device nothing is said of a cable."""
    files = sample("eos/*")
    spine = compared("eos", {"compute-spine-01.json": files["compute-spine-01.json"]})
    assert spine.counts == {"as-planned": 32, "not-asked": 32}
    assert not spine.has_findings


def test_a_ring_is_unplugged_once() -> None:
    """The two cables that have each other's ports: one is unplugged, the other moved, then the first plugged in."""
    rows = list(csv.DictReader(StringIO(work_csv(compared("ib", sample("ib/ibnetdiscover.txt"))).decode())))
    work = [(row["action"], row["label"]) for row in rows if row["action"] != "keep"]
    assert work == [
        *(("unplug", "compute-SL-10"), ("move", "compute-SL-11"), ("move", "compute-SL-10")),
        *(("add", "compute-SL-17"), ("check", "compute-SL-32")),
    ]
    assert (rows[0]["today_a_port"], rows[0]["today_b_port"], rows[0]["b_port"]) == ("nic2", "6/1", "5/2")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("nothing of any form\n", "f.txt:1:1: error: no form of output is recognised; give that of ibnetdiscover"),
        ('{"a":\n[', "f.txt:2:2: error: not valid JSON; save the output of the command again [as-built]"),
        ("[" * 100_000, "f.txt:1:1: error: not valid JSON"),
        ('{"lldp": {}}', "f.txt:1:1: error: no form of output is recognised"),
    ],
)
def test_other_content_is_refused(content: str, said: str) -> None:
    """Each with its file, and what would be right."""
    with pytest.raises(PlanErrors) as refused:
        compared("ib", {"f.txt": content})
    assert str(refused.value.problems[0]).startswith(said.replace(":2:2", ":2:1"))


@pytest.mark.parametrize(("limit", "said"), [("MOST_BYTES", "bytes of outputs"), ("MOST_PORTS", "ports of outputs")])
def test_outputs_are_limited(limit: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In all files together."""
    monkeypatch.setattr(reading, limit, 100)
    with pytest.raises(PlanErrors, match=f"more than 100 {said}; verify one fabric at a time"):
        compared("ib", sample("ib/ibnetdiscover*"))


def test_the_command_tells_and_ends_with_its_code(tmp_path: Path) -> None:
    """Exit code 4 with findings, 0 without; FILE may name its device, and names may be given."""

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["verify", str(SAMPLES / "hall-ib.yaml"), *arguments, "-q"])
        assert isinstance(done.exception, SystemExit | None), done.exception
        return done.exit_code, done.stdout

    built = tmp_path / "built.csv"
    report = report_of(SAMPLES / "hall-ib.yaml")
    names = {work.piece for work in compared("ib", sample("ib/ibnetdiscover.txt")).work}
    assert len(names) == 48
    listed = CliRunner().invoke(main, ["wiring", str(SAMPLES / "hall-ib.yaml"), "-q", "-o", str(built)])
    assert (listed.exit_code, report.plan.name) == (0, "hall-ib")
    assert run(str(built), "--fabric", "compute")[0] == 0
    built.write_text(built.read_text("utf-8").replace("server-01", "alpha"), "utf-8")
    (tmp_path / "names.csv").write_text("built,planned\nalpha.example.net,server-01\n", "utf-8")
    code, out = run(str(built), "--names", str(tmp_path / "names.csv"), "-f", "json")
    assert (code, json.loads(out)["cables"], json.loads(out)["named_by_cables"]) == (0, {"as-planned": 48}, [])
    code, out = run(str(SAMPLES / "ib" / "ibnetdiscover-unnamed.txt"), "--language", "zh")
    assert code == 4
    assert "48 根线缆中 44 根符合方案，3 根有误，1 根缺失" in out
    code, out = run(f"compute-leaf-01={SAMPLES / 'ib' / 'iblinkinfo.txt'}", "-f", "html", "--all")
    assert code == 4
    assert "check seat, polarity and dirt" in out


def test_a_point_to_point_sheet_is_checked_against_a_plan(tmp_path: Path) -> None:
    """What `bomgen wiring` writes is as planned; another module, length or port, and what has no cable, are named."""
    plan, sheet = str(SAMPLES / "hall-ib.yaml"), tmp_path / "sheet.csv"
    written = CliRunner().invoke(main, ["wiring", plan, "-f", "csv"]).stdout
    header, *lines = written[written.index("fabric,kind") :].splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]

    def found() -> dict[str, str]:
        sheet.write_text("\n".join([header, *(",".join(row.values()) for row in rows)]), encoding="utf-8")
        done = CliRunner().invoke(main, ["xray", str(sheet), "--plan", plan, "-f", "json", "--fail-on", "error"])
        data = json.loads(done.stdout)
        assert (done.exit_code == 4) == any(row["label"] for row in data["verification"]["work"])
        return {row["label"]: row["found"] for row in data["verification"]["work"]}

    assert found() == {}
    rows[0]["b_module"] = "MMA4Z00-NS400"
    rows[1]["length_m"] = "5"
    rows[2]["sku"] = "MFP7E10-N005"
    rows[3]["b_port"], rows[4]["b_port"] = rows[4]["b_port"], rows[3]["b_port"]
    rows[5]["b_port"] = rows[6]["b_port"]
    lost = rows.pop(40)
    assert found() == {
        **{f"compute-SL-0{number}": "wrong-part" for number in (1, 2, 3)},
        **{f"compute-SL-0{number}": "other-port" for number in (4, 5)},
        **{"compute-SL-06": "missing", lost["label"]: "missing"},
    }
    bill = tmp_path / "bill.csv"
    bill.write_text("Part,Qty\nMQM9700-NS2F,2\n", encoding="utf-8")
    refused = CliRunner().invoke(main, ["xray", str(bill), "--plan", plan])
    assert (refused.exit_code, "no sheet with a device and a port at both ends" in refused.output) == (1, True)
