"""The wiring's formats by themselves: names of all sorts, no cable at all, cables of several links, equal bytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from io import BytesIO
from pathlib import Path

import pyarrow.parquet
import pytest
import yaml
from click.testing import CliRunner
from netbox_tables import rows_of
from openpyxl import load_workbook

from bomgen.cli.command import main
from bomgen.output.registry import WIRINGS
from bomgen.output.wiring import xlsx
from bomgen.output.writer import render, write_wiring
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

CHECKOUT = Path(__file__).parents[2]
HOSTILE = """
bomgen: 1
name: hostile
catalog: [parts]
cluster: {gpu: h100-sxm, servers: 4}
fabrics:
  compute:
    switch: {name: '=cmd|"x", y', ports: 64, port_gbps: 400}
    links:
      server-leaf: {medium: transceiver, module: odd, length: 10 m}
    hosts: [{name: '3 "odd", =names', count: 2, ports: 1}]
"""
FORMULA = '=1+1, "x"'
NOTHING = "bomgen: 1\nname: nothing\ncluster: {gpu: h100-sxm, servers: 4}\n"
ETHERNET = "bomgen: 1\nname: ethernet\ncluster: {gpu: h100-sxm, servers: 4}\nfabrics: {compute: {switch: sn5600}}\n"
SMALL = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 16}\nfabrics: {compute: {switch: qm9700}}\n"
SERVERS = "cluster.servers=8"
OF_ONE_FABRIC = ("ibnet", "topo")


def _plan(folder: Path, text: str) -> str:
    path = folder / "plan.yaml"
    if "catalog:" in text:
        (folder / "parts" / "transceiver").mkdir(parents=True)
        files = [CHECKOUT / "bomgen" / "data" / "transceiver" / f"generic-{rate}g.yaml" for rate in (100, 400)]
        base, generic = (yaml.safe_load(path.read_text("utf-8")) for path in files)
        assert generic.pop("extends") == files[0].stem
        odd = base | generic | {"part_number": FORMULA}
        (folder / "parts" / "transceiver" / "odd.yaml").write_text(yaml.safe_dump(odd), encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    return str(path)


def _text(value: object) -> str:
    """A value of Parquet as it stands in CSV."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(main, ["wiring", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


EVERY_WIRING = """
import sys
from bomgen.cli.command import main
plan, out, *forms = sys.argv[1:]
for form in forms:
    main.main(["wiring", plan, "-f", form, "-o", f"{out}/{form}/out"], standalone_mode=False)
"""


def test_two_runs_write_the_same_bytes(tmp_path):
    """A format is a function of the plan: nothing of clocks, memory addresses or the order of sets is in it."""
    plan = _plan(tmp_path, SMALL)
    for folder, seed in (("one", "1"), ("two", "2")):
        command = [sys.executable, "-c", EVERY_WIRING, plan, str(tmp_path / folder), *WIRINGS.names]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, check=True, capture_output=True, cwd=CHECKOUT, env=environment)
    for form in WIRINGS.names:
        assert _files(tmp_path / "one" / form) == _files(tmp_path / "two" / form), form
        assert all(_files(tmp_path / "one" / form).values()), form


@pytest.mark.parametrize("form", WIRINGS.names)
def test_hostile_names_stay_names(form, tmp_path):
    """Quotes, commas and equals signs in the names of parts and machines break no format."""
    _run(_plan(tmp_path, HOSTILE), "-f", form, "-o", str(tmp_path / "out" / "wiring"))
    out = tmp_path / "out" / "wiring"
    if form == "csv":
        rows = rows_of(out)
        assert {row["b_device"] for row in rows} == {"compute-leaf-01"}
        assert "3-odd-names-01" in {row["a_device"] for row in rows}
        assert {row["b_module"] for row in rows} == {FORMULA}
    elif form == "netbox":
        types = rows_of(tmp_path / "out" / "wiring-device-types.csv")
        assert '=cmd|"x", y' in {row["model"] for row in types}
    elif form == "infragraph":
        assert '=cmd|"x", y' in {device["description"] for device in json.loads(out.read_text("utf-8"))["devices"]}
    elif form == "xlsx":
        book = load_workbook(BytesIO(out.read_bytes()))
        cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
        assert not any(cell.data_type == "f" for cell in cells)
        assert FORMULA in {cell.value for cell in cells}
    elif form == "topo":
        systems = {path.stem for path in (tmp_path / "out").glob("*.ibnl")}
        named = {line.split()[0] for line in out.read_text("utf-8").splitlines() if line[:1].isalpha()}
        assert systems == named
        assert all(word.replace("_", "").isalnum() and word[0].isalpha() for word in systems)
    elif form == "parquet":
        rows = [
            {name: _text(value) for name, value in row.items()} for row in pyarrow.parquet.read_table(out).to_pylist()
        ]
        _run(str(tmp_path / "plan.yaml"), "-f", "csv", "-o", str(tmp_path / "wiring.csv"))
        assert rows == rows_of(tmp_path / "wiring.csv")
        assert {row["b_module"] for row in rows} == {FORMULA}
    elif form == "dot":
        nodes = re.findall(r'^  "((?:[^"\\]|\\.)*)" \[label="((?:[^"\\]|\\.)*)"', out.read_text("utf-8"), re.MULTILINE)
        labels = {name: re.sub(r"\\(.)", r"\1", label) for name, label in nodes}
        assert {"3-odd-names-01", "3-odd-names-02", "compute-leaf-01"} <= set(labels)
        assert '=cmd|"x", y' in labels["compute-leaf-01"]
    elif form == "ibnet":
        assert '"3-odd-names-01 compute1"' in out.read_text("utf-8")


@pytest.mark.parametrize("form", [form for form in WIRINGS.names if form not in OF_ONE_FABRIC])
def test_a_plan_without_fabrics_has_no_cables(form, tmp_path):
    """Without a fabric there are headers and no rows."""
    _run(_plan(tmp_path, NOTHING), "-f", form, "-o", str(tmp_path / "out" / "wiring"))
    out = tmp_path / "out" / "wiring"
    if form in ("csv", "netbox"):
        assert len(out.read_text("utf-8").splitlines()) == 1
    elif form == "infragraph":
        assert json.loads(out.read_text("utf-8"))["edges"] == []
    elif form == "xlsx":
        assert load_workbook(BytesIO(out.read_bytes())).sheetnames == ["Cover"]
    elif form == "parquet":
        assert pyarrow.parquet.read_table(out).num_rows == 0


@pytest.mark.parametrize("form", OF_ONE_FABRIC)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NOTHING, "no InfiniBand fabric"),
        (ETHERNET, "are Ethernet"),
        (SMALL.replace("qm9700", "{name: box, ports: 512, port_gbps: 400}"), "at most 254"),
        (SMALL.replace("{compute", "{compute2: {role: storage, switch: qm9700}, compute"), None),
    ],
)
def test_formats_of_one_subnet_say_what_they_need(form, text, message, tmp_path):
    """A plan without an InfiniBand fabric is wrong usage, and nothing is left; of several, compute is taken."""
    out = tmp_path / "out" / "wiring"
    done = CliRunner().invoke(main, ["wiring", _plan(tmp_path, text), "-f", form, "-o", str(out)])
    if message is None:
        assert done.exit_code == 0, done.output
        assert "compute2-" not in out.read_text("utf-8")
        return
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "out").exists()


def test_several_subnets_are_asked_about(tmp_path):
    """Two fabrics by name in a format of one are refused with what to do."""
    plan = str(CHECKOUT / "plans" / "superpod-h100-4su.yaml")
    out = str(tmp_path / "wiring")
    names = ["--fabric", "compute", "--fabric", "storage"]
    done = CliRunner().invoke(main, ["wiring", plan, "-f", "ibnet", "-o", out, *names])
    assert done.exit_code == 2
    assert "name one of compute, storage with --fabric" in done.output


def test_what_is_written_to_stays_what_it_is(tmp_path):
    """A link still points where it did, a pipe is still a pipe, and the plan is never written over."""
    wiring = list_cables(work_out(open_plan(str(CHECKOUT / "plans" / "a100-32-zh.yaml"), None)))
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    write_wiring(wiring, "csv", link, lambda _: None)
    assert link.is_symlink()
    assert len(rows_of(target)) == 32
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write_wiring(wiring, "csv", pipe, lambda _: None)
    assert len(reader.communicate()[0].splitlines()) == 33
    assert pipe.is_fifo()
    plan = tmp_path / "plan.yaml"
    plan.write_text("bomgen: 1\nname: mine\ncluster: {gpu: h100-sxm, servers: 2}\n")
    asked = CliRunner().invoke(main, ["wiring", str(plan), "-o", str(plan)])
    assert asked.exit_code == 2
    assert plan.read_text().startswith("bomgen: 1")


def test_ports_of_a_switch_with_several_groups(tmp_path):
    """Cages of one and of two links: every port of the subnet has one cable, and both ends name each other."""
    groups = [{"ports": 2, "port_gbps": 200}, {"ports": 8, "port_gbps": 400, "split": 2}]
    plan = {
        **{"bomgen": 1, "name": "groups", "cluster": {"server": "dgx-h100", "servers": 1}},
        "fabrics": {"compute": {"switch": {"protocol": "infiniband", "port_groups": groups}, "link": "200G"}},
    }
    content = json.dumps(plan).encode()
    report = work_out(PlanFile("plan.yaml", content, tmp_path, tmp_path))
    write_wiring(list_cables(report), "ibnet", tmp_path / "groups.net", lambda _: None)
    text = (tmp_path / "groups.net").read_text(encoding="utf-8")
    switch = text[text.index("Switch\t") :]
    ports = re.findall(r"^\[(\d+)\]", switch, re.MULTILINE)
    assert len(ports) == len(set(ports)) == 8


def test_cables_of_several_links(tmp_path):
    """A breakout is one row of CSV, Parquet and workbook with all its ends, and a row a link for NetBox."""
    report = work_out(open_plan(str(CHECKOUT / "plans" / "hpn-like.yaml"), None), [SERVERS])
    wiring = list_cables(report)
    assert len(wiring) > wiring.pieces
    for form in ("csv", "parquet", "xlsx", "netbox"):
        write_wiring(wiring, form, tmp_path / f"wiring.{form}", lambda _: None)
    rows = rows_of(tmp_path / "wiring.csv")
    assert len(rows) == wiring.pieces
    apart = next(row for row in rows if ";" in row["a_device"])
    assert len(apart["a_device"].split(";")) == len(apart["b_port"].split(";")) == 4
    ends = [f"{end}_{what}" for end in "ab" for what in ("device", "port", "cage", "module")]
    assert {len(apart[name].split(";")) for name in ends if apart[name]} <= {1, 4}
    assert {len(apart[f"{end}_port"].split(";")) for end in "ab"} == {4}
    assert not any(apart[f"{end}_{what}"] for end in "ab" for what in ("site", "row", "rack", "unit"))
    table = pyarrow.parquet.read_table(tmp_path / "wiring.parquet").to_pylist()
    written = [
        {
            name: "" if value is None else f"{value:g}" if name == "length_m" else str(value)
            for name, value in row.items()
        }
        for row in table
    ]
    assert written == rows
    book = load_workbook(tmp_path / "wiring.xlsx", read_only=True)
    assert sum(len(list(sheet.iter_rows(min_row=2))) for sheet in book.worksheets[1:]) == wiring.pieces
    links = rows_of(tmp_path / "wiring.netbox")
    assert len(links) == len(wiring)
    assert [row["description"] for row in links if row["label"] == apart["label"]] == [
        f"link {number} of 4" for number in range(1, 5)
    ]


@pytest.mark.parametrize("plan", ["superpod-h100-4su", "superpod-h100-floor", "fire-flyer-2-zone"])
def test_netbox_has_every_rack_of_the_floor(plan, tmp_path):
    """The racks are those of the elevations in bom.json, as high as there; a device stands in none beyond its top."""
    report = work_out(open_plan(str(CHECKOUT / "plans" / f"{plan}.yaml"), None))
    site = json.loads(render(report, ("json",))["bom.json"])["site"]
    write_wiring(list_cables(report), "netbox", tmp_path / "wiring.csv", lambda _: None)
    racks = rows_of(tmp_path / "wiring-racks.csv")
    last = site["rows"][-1][-1]
    assert [int(row["name"]) for row in racks] == list(range(1, last["first"] + last["racks"]))
    assert {int(row["u_height"]) for row in racks} == {each["units"] for each in site["elevations"]}


def test_netbox_refuses_the_racks_of_a_second_import(tmp_path):
    """NetBox keeps the names of racks unique within a location (constraint unique_location_name of dcim.Rack).

    Racks without one are there twice after a second import, and no row of a device says which of them is meant.
    """
    report = work_out(open_plan(str(CHECKOUT / "plans" / "superpod-h100-4su.yaml"), None))
    write_wiring(list_cables(report), "netbox", tmp_path / "wiring.csv", lambda _: None)
    locations = [(row["site"], row["name"]) for row in rows_of(tmp_path / "wiring-locations.csv")]
    racks = [(row["site"], row["location"], row["name"]) for row in rows_of(tmp_path / "wiring-racks.csv")]
    assert {rack[:2] for rack in racks} == set(locations)
    assert len(set(racks)) == len(racks)
    placed = [row for row in rows_of(tmp_path / "wiring-devices.csv") if row["rack"]]
    assert placed
    assert {(row["site"], row["location"], row["rack"]) for row in placed} <= set(racks)


def test_netbox_knows_what_a_rack_takes(tmp_path):
    """Where the rack is a part its outer sizes stand beside the 19 inches between its rails."""
    report = work_out(
        open_plan(str(CHECKOUT / "plans" / "superpod-h100-4su.yaml"), None),
        ["site.rack.part=ar3350", "site.rack.units=42"],
    )
    write_wiring(list_cables(report), "netbox", tmp_path / "wiring.csv", lambda _: None)
    sizes = {(row["width"], row["outer_width"], row["outer_unit"]) for row in rows_of(tmp_path / "wiring-racks.csv")}
    assert sizes == {("19", "750", "mm")}


def test_edges_count_cables(tmp_path):
    """The numbers at the edges of the graph are cables: those of the CSV between the same two devices."""
    report = work_out(open_plan(str(CHECKOUT / "plans" / "hpn-like.yaml"), None), [SERVERS])
    wiring = list_cables(report)
    for form in ("csv", "dot"):
        write_wiring(wiring, form, tmp_path / f"wiring.{form}", lambda _: None)
    cables = Counter[tuple[str, str]]()
    for row in rows_of(tmp_path / "wiring.csv"):
        below, above = (set(row[f"{end}_device"].split(";")) for end in ("a", "b"))
        cables.update((upper, lower) for upper in above for lower in below)
    edges = re.findall(r'"([^"]+)" -[->] "([^"]+)" \[label="([^"]+)"', (tmp_path / "wiring.dot").read_text("utf-8"))
    drawn = {(a, b): sum(int(each.split()[0].rstrip(":")) for each in text.split(", ")) for a, b, text in edges}
    assert drawn == cables


def test_numbers_are_numbers(tmp_path):
    """Rows, racks, units and cages are integers in Parquet and numbers in the workbook; without a site all are null."""
    report = work_out(open_plan(str(CHECKOUT / "plans" / "superpod-h100-floor.yaml"), None))
    wiring = list_cables(report).select_fabrics(["compute"])
    numbers = [f"{end}_{what}" for end in "ab" for what in ("row", "rack", "unit", "cage")]
    for form in ("csv", "parquet", "xlsx"):
        write_wiring(wiring, form, tmp_path / f"wiring.{form}", lambda _: None)
    table = pyarrow.parquet.read_table(tmp_path / "wiring.parquet")
    assert {str(table.schema.field(name).type) for name in numbers} == {"int64"}
    rows = rows_of(tmp_path / "wiring.csv")
    assert [{name: _text(value) for name, value in row.items()} for row in table.to_pylist()] == rows
    sheet = load_workbook(tmp_path / "wiring.xlsx").worksheets[1]
    header, first, *_ = sheet.iter_rows(values_only=True)
    shown = dict(zip(header, first, strict=False))
    assert (shown["A rack"], shown["B unit"]) == (int(rows[0]["a_rack"]), int(rows[0]["b_unit"]))
    without = list_cables(work_out(open_plan(_plan(tmp_path, SMALL), None)))
    write_wiring(without, "parquet", tmp_path / "without.parquet", lambda _: None)
    nothing = pyarrow.parquet.read_table(tmp_path / "without.parquet")
    unknown = [f"{end}_{what}" for end in "ab" for what in ("site", "row", "rack", "unit")]
    assert {nothing[name].null_count for name in unknown} == {nothing.num_rows}


def test_sheets_go_on_where_one_is_full(tmp_path, monkeypatch):
    """A sheet that has no more rows is followed by another with the same header; too many cables are refused."""
    monkeypatch.setattr(xlsx, "LAST_ROW", 101)
    wiring = list_cables(work_out(open_plan(_plan(tmp_path, SMALL), None)))
    write_wiring(wiring, "xlsx", tmp_path / "wiring.xlsx", lambda _: None)
    sheets = load_workbook(tmp_path / "wiring.xlsx").worksheets[1:]
    assert [sheet.title for sheet in sheets] == [
        "compute",
        *(f"compute ({number})" for number in range(2, len(sheets) + 1)),
    ]
    assert [sheet.max_row for sheet in sheets[:-1]] == [101] * (len(sheets) - 1)
    numbers = [row[0].value for sheet in sheets for row in sheet.iter_rows(min_row=2)]
    assert numbers == list(range(1, wiring.pieces + 1))
    monkeypatch.setattr(xlsx, "MOST_CABLES", wiring.pieces - 1)
    done = CliRunner().invoke(main, ["wiring", _plan(tmp_path, SMALL), "-f", "xlsx", "-o", str(tmp_path / "no.xlsx")])
    assert done.exit_code == 2
    assert "take csv or parquet" in done.output
    assert not (tmp_path / "no.xlsx").exists()


def test_workbook_speaks_the_language_of_the_quote(tmp_path):
    """With `quote: {language: zh}` no English word stands in the cover or the header."""
    plan = _plan(tmp_path, SMALL + "quote: {language: zh}\n")
    _run(plan, "-f", "xlsx", "-o", str(tmp_path / "wiring.xlsx"))
    cover, sheet, *_ = load_workbook(tmp_path / "wiring.xlsx").worksheets
    assert cover.title == "封面"
    header = [cell.value for cell in sheet[1]]
    assert header[:3] == ["序号", "标签", "类型"]
    assert not any(word in " ".join(header) for word in ("Plugged", "rack", "device", "Part"))
    assert sheet.data_validations.dataValidation[0].formula1 == '"是,否"'


def test_labels_do_not_depend_on_other_fabrics(tmp_path):
    """A cable has the same label whether all fabrics are listed or its own alone."""
    plan = str(CHECKOUT / "plans" / "superpod-h100-4su.yaml")
    _run(plan, "-o", str(tmp_path / "all.csv"))
    _run(plan, "--fabric", "storage", "-o", str(tmp_path / "storage.csv"))
    every = (tmp_path / "all.csv").read_text("utf-8").splitlines()
    assert [line for line in every if line.startswith("storage,")] == (tmp_path / "storage.csv").read_text(
        "utf-8"
    ).splitlines()[1:]


def test_labels_are_spelt_as_devices_are(tmp_path):
    """A label begins with what the names of the fabric's switches begin with."""
    plan = _plan(tmp_path, SMALL.replace("{compute", "{out_of_band: {role: storage, switch: qm9700}, compute"))
    _run(plan, "-o", str(tmp_path / "cables.csv"))
    for row in rows_of(tmp_path / "cables.csv"):
        assert row["label"].rpartition("-")[0].removesuffix("-SL").removesuffix("-LS") + "-" in row["b_device"]
    assert "out-of-band-SL-01" in {row["label"] for row in rows_of(tmp_path / "cables.csv")}


@pytest.mark.parametrize("form", WIRINGS.names)
def test_nothing_is_left_where_nothing_can_be_written(form, tmp_path):
    """An output that cannot be written is exit code 3; a file that was there before is as it was."""
    (tmp_path / "file").write_text("before", encoding="utf-8")
    done = CliRunner().invoke(
        main, ["wiring", _plan(tmp_path, SMALL), "-f", form, "-o", str(tmp_path / "file" / "wiring")]
    )
    assert done.exit_code == 3
    assert "not written" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "plan.yaml"]
    assert (tmp_path / "file").read_text("utf-8") == "before"


def test_help_says_what_every_format_is() -> None:
    """`--help` lists what each module says of itself, and does not load PyArrow, which an extra installs, for it."""
    code = (
        "import sys\nfrom bomgen.cli.command import main\n"
        "try:\n    main(['wiring', '--help'])\nexcept SystemExit:\n    pass\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    said = " ".join(done.stdout.split())
    for form in WIRINGS.names:
        module = WIRINGS.module(form)
        assert WIRINGS.constant(form, "ABOUT") == module.ABOUT
        assert f"{form} {' '.join(module.ABOUT.split())}" in said
        assert {type(module.BINARY), type(module.SEVERAL_FILES), type(module.ONE_FABRIC)} == {bool}
