"""The engine of the page: data in and out, without a server."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bomgen.cli.command import main
from bomgen.serve import engine
from bomgen.serve.calls import Refused, Workspace, gallery, unpack
from bomgen.serve.engine import Place, complete, place_at

PLAN = """bomgen: 1
name: small
cluster:
  gpu: h100-sxm
  servers: 4
fabrics:
  compute: {switch: qm9700}
quote:
  price_book: indicative
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a folder with one plan."""
    (tmp_path / "small.yaml").write_text(PLAN, "utf-8")
    return Workspace(tmp_path)


def asked(**more: Any) -> dict[str, Any]:
    """Return a request about the plan of the folder."""
    return {"path": "small.yaml", "text": PLAN, **more}


def offered(workspace: Workspace, **more: Any) -> list[str]:
    """Return the files that are offered for download, reader by reader."""
    return [file["format"] for files in engine.formats(workspace, asked(**more))["formats"].values() for file in files]


def test_a_mistake_is_underlined_with_its_remedy(workspace: Workspace) -> None:
    """A mistake is underlined with its remedy."""
    text = PLAN.replace("h100-sxm", "h100-sxn")
    [problem] = engine.check(workspace, asked(text=text))["problems"]
    place = [problem[key] for key in ("line", "column", "end_line", "end_column")]
    assert place == [4, 8, 4, 16]
    assert (problem["severity"], problem["rule"]) == ("error", "unknown-part")
    assert "h100-sxm" in problem["remedy"]
    assert (problem["key"], problem["fixes"][0]) == ("cluster.gpu", "h100-sxm")


def test_a_plan_with_errors_has_no_result(workspace: Workspace) -> None:
    """A plan with errors has no result."""
    found = engine.build(workspace, asked(text="bomgen: 1\nname: [", base=PLAN, tabs=["quote"]))
    assert found["problems"]
    assert (found["headline"], found["delta"], found["tabs"]) == ([], None, {})


@pytest.mark.parametrize("code", ["en", "zh"])
def test_four_key_figures_stand_first(workspace: Workspace, code: str) -> None:
    """Total, GPUs, servers and power; the others follow apart."""
    found = engine.build(workspace, asked(language=code))
    total, gpus, servers, power = (value for _, value, _ in found["headline"])
    assert (gpus.split()[0], servers, "USD" in total, "W" in power) == ("32", "4", True, True)
    assert len(found["figures"]) >= 3


def test_a_sum_without_the_gpu_servers_is_no_key_figure(workspace: Workspace) -> None:
    """In its place stands what has a price."""
    (workspace.root / "own.csv").write_text("part,price,currency\nqm9700,25000,USD\n", "utf-8")
    found = engine.build(workspace, asked(text=PLAN.replace("indicative", "own.csv")))
    assert found["headline"][0][1].endswith("lines priced, without the GPU servers")


def test_the_bill_is_compared_with_the_saved_state(workspace: Workspace) -> None:
    """The bill is compared with the saved state."""
    text = PLAN.replace("servers: 4", "servers: 6")
    delta = engine.build(workspace, asked(text=text, base=PLAN))["delta"]
    servers = next(line for line in delta["lines"] if (line["before"], line["after"]) == (4, 6))
    assert float(servers["amount"]) > 0
    assert float(delta["amount"]) == pytest.approx(sum(float(line["amount"] or 0) for line in delta["lines"]), abs=0.01)
    same = engine.build(workspace, asked(base=PLAN))["delta"]
    assert (same["lines"], float(same["amount"])) == ([], 0)


SHOWN = {
    "quote": "32 × H100 SXM5 80GB in 4 × DGX H100",
    "report": "Maximum power 42.52 kW 40.8 kW + 1.72 kW",
    "network": "Switches: leaf 1 switch 32 endpoints / 64 ports per switch, rounded up",
    "racks": "Maximum power of the GPUs alone 22.4 kW 32 GPUs × 700 W each",
    "bill": "MQM9700-NS2F / 920-9B210-00FN-0M0 NVIDIA QM9700 Compute network · leaf",
    "cables": "compute server-04 nic8 compute-leaf-01 16/2 transceiver",
    "prices": "Price indications of the catalogue",
}
"""What each tab says of the plan: figures by hand, names of its parts."""


def text_of(html: str) -> str:
    """Return the text of a page."""
    return " ".join(unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


@pytest.mark.parametrize("tab", engine.TABS)
def test_a_tab_shows_the_plan_and_has_no_scripts(workspace: Workspace, tab: str) -> None:
    """Look at what it says."""
    found = engine.build(workspace, asked(tabs=[tab]))
    json.dumps(found)
    assert [*found["tabs"]] == [tab]
    assert SHOWN[tab] in text_of(found["tabs"][tab])
    assert "<script" not in found["tabs"][tab]


def test_the_quote_keeps_its_language(workspace: Workspace) -> None:
    """The other tabs have that of the page."""
    found = engine.build(workspace, asked(tabs=["quote", "bill"], language="zh"))["tabs"]
    assert ["Bill of materials" in text_of(found[tab]) for tab in found] == [True, False]
    assert ["配置清单" in text_of(found[tab]) for tab in found] == [False, True]


def test_the_first_cables_are_listed(workspace: Workspace) -> None:
    """Of 512 to the leaves and as many to the spines, with the number of all."""
    found = engine.build(workspace, asked(text=PLAN.replace("servers: 4", "servers: 64"), tabs=["cables"]))
    text = text_of(found["tabs"]["cables"])
    assert f"First {engine.CABLES_SHOWN} of 1,024 cables; download the list for all" in text
    assert text.count("compute-SL-") == engine.CABLES_SHOWN
    found = engine.build(
        workspace, asked(text=PLAN.replace("servers: 4", "servers: 2"), tabs=["cables"], language="zh")
    )
    assert "16 根线缆" in text_of(found["tabs"]["cables"])


def test_an_empty_tab_says_why(workspace: Workspace) -> None:
    """Without prices and networks."""
    text = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 4}\n"
    found = engine.build(workspace, asked(text=text, tabs=["prices", "network"]))["tabs"]
    said = {"prices": "lines has a price yet", "network": "has no fabrics"}
    assert [tab for tab, word in said.items() if word not in text_of(found[tab])] == []


def test_an_unknown_tab_is_refused(workspace: Workspace) -> None:
    """An unknown tab is refused."""
    with pytest.raises(Refused, match="no tab 'costs'"):
        engine.build(workspace, asked(tabs=["costs"]))


@pytest.mark.parametrize("form", ["quote.xlsx", "bom.json", "quote.md", "report.html"])
def test_a_download_has_the_bytes_of_the_command(workspace: Workspace, form: str, tmp_path: Path) -> None:
    """A download has the bytes of the command."""
    arguments = ["build", str(tmp_path / "small.yaml"), "-o", str(tmp_path / "out"), "-f", form]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    found = engine.download(workspace, asked(format=form))
    assert found["name"] == form
    assert base64.b64decode(found["base64"]) == (tmp_path / "out" / "small" / form).read_bytes()


def test_costs_are_in_their_own_tab_and_nowhere_else(workspace: Workspace) -> None:
    """Without a cost book the tab says how to get one; with it no other tab and no file names a cost."""
    empty = engine.build(workspace, asked(tabs=["margin"], language="en"))["tabs"]["margin"]
    assert "no cost book" in empty
    (workspace.root / "own.csv").write_text("part,price,currency\ndgx-h100,123457,USD\n", "utf-8")
    request = asked(text=f"{PLAN}  cost_book: own.csv\n", language="en")
    tabs = engine.build(workspace, {**request, "tabs": [*engine.TABS, "margin"]})["tabs"]
    cost = "493,828.00"  # of four servers
    assert {tab for tab, shown in tabs.items() if cost in shown or "123,457" in shown} == {"margin"}
    quote = base64.b64decode(engine.download(workspace, {**request, "format": "quote.html"})["base64"]).decode()
    assert "123,457" not in quote
    assert cost not in quote


def test_every_format_can_be_named(workspace: Workspace) -> None:
    """Every format can be named."""
    names = offered(workspace)
    assert {"quote.xlsx", "report.xlsx", "bom.json", "wiring-csv"} <= {*names}
    assert engine.download(workspace, asked(format="wiring-csv"))["type"] == "text/csv"
    assert engine.download(workspace, asked(format="fabric-NAME.svg"))["name"] == "fabric-compute.svg"
    with pytest.raises(Refused, match="no format"):
        engine.download(workspace, asked(format="doc"))


def test_only_formats_that_a_plan_can_have_are_offered(workspace: Workspace) -> None:
    """Subnets of InfiniBand fabrics only, and drawings and cables only where there are fabrics."""
    ethernet = PLAN[: PLAN.index("fabrics:")] + "fabrics: {compute: {topology: fat-tree, switch: sn5600}}\n"
    alone = PLAN[: PLAN.index("fabrics:")]
    managed = PLAN[: PLAN.index("fabrics:")] + "fabrics: {compute: default, in_band: default}\n"
    found = []
    for text in (PLAN, managed, ethernet, alone):
        names = offered(workspace, text=text)
        found.append([name in names for name in ("fabric-NAME.svg", "wiring-csv", "wiring-ibnet")])
    assert found == [[True, True, True]] * 2 + [[True, True, False], [False] * 3]
    assert engine.download(workspace, asked(text=managed, format="wiring-ibnet"))["base64"]


def test_each_phase_has_its_quote_and_its_list_of_work(workspace: Workspace) -> None:
    """The files of a phase are named after it."""
    text = PLAN + "phases: [{name: first}, {name: second, cluster: {servers: 6}}]\n"
    assert {"first/quote.xlsx", "second/quote.xlsx", "second/wiring-xlsx"} <= {*offered(workspace, text=text)}
    written = engine.download(workspace, asked(text=text, format="second/quote.md"))
    assert written["name"] == "small-second-quote.md"
    assert "from 4 to 6 servers" in base64.b64decode(written["base64"]).decode()
    second, whole = (engine.build(workspace, asked(text=text, tabs=["quote"], phase=name)) for name in ("second", ""))
    assert second["phases"] == whole["phases"] == ["first", "second"]
    assert second["headline"][0] != whole["headline"][0]
    assert ["from 4 to 6 servers" in text_of(built["tabs"]["quote"]) for built in (second, whole)] == [True, False]


def test_formats_without_their_package_are_not_offered(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that can only fail is none; the browser prints instead."""
    monkeypatch.setattr(engine, "find_spec", {}.get)
    names = {*offered(workspace)}
    assert not names & {"quote.pdf", "wiring-parquet"}
    assert {"quote.xlsx", "quote.html", "wiring-csv"} < names


def test_what_a_quote_does_not_say_is_named(workspace: Workspace) -> None:
    """A quote can be written without, and not sent."""
    assert engine.formats(workspace, asked())["missing"] == ["customer", "vendor", "date"]
    text = f"{PLAN}  customer: A\n  vendor: B\n"
    assert engine.formats(workspace, asked(text=text))["missing"] == ["date"]


def test_a_plan_travels_in_a_link(workspace: Workspace) -> None:
    """A plan travels in a link."""
    found = engine.share(workspace, asked())
    assert SHOWN["report"] in text_of(found["html"])
    assert unpack(found["packed"]) == PLAN
    for broken in (found["packed"][:-9], "§", ""):
        with pytest.raises(Refused):
            unpack(broken)


def test_plans_stand_side_by_side(workspace: Workspace) -> None:
    """Plans stand side by side."""
    other = asked(text=PLAN.replace("servers: 4", "servers: 8").replace("small", "large"))
    text = text_of(engine.compare_plans(workspace, {"plans": [asked(), other]})["html"])
    assert "Value small large Better" in text
    assert "GPUs 32 64 Servers 4 8 NICs 32 64" in text


# completion ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("clu", Place((), False, "clu")),
        ("cluster:\n  gpu: h", Place(("cluster", "gpu"), True, "h")),
        ("cluster: {gpu: h200, ser", Place(("cluster",), False, "ser")),
        ("cluster: {servers: {a: 1}, g", Place(("cluster",), False, "g")),
        ("fabrics:\n  compute: {a: b}\n  sto", Place(("fabrics",), False, "sto")),
        ("fabrics:\n  compute: {\n    switch: qm9", Place(("fabrics", "compute", "switch"), True, "qm9")),
        ("quote:\n  charges:\n  - name: x\n  - pri", Place(("quote", "charges", None), False, "pri")),
        ("quote:\n  charges:\n    - name: x\n      pri", Place(("quote", "charges", None), False, "pri")),
        ("quote:\n  price_book: [ind", Place(("quote", "price_book", None), True, "ind")),
        ("title: one [two\nclu", Place((), False, "clu")),
        ("a: b # clu", None),
    ],
)
def test_a_place_is_found_in_text_that_is_not_complete(text: str, place: Place | None) -> None:
    """A place is found in text that is not complete."""
    last = text.rpartition("\n")[2]
    assert place_at(text, text.count("\n") + 1, len(last) + 1) == place


def test_keys_and_parts_are_completed(workspace: Workspace) -> None:
    """Keys and parts are completed."""
    keys = complete(workspace, {"text": "cluster:\n  g", "line": 2, "column": 4})
    assert keys["from"] == 3
    assert "gpu" in {option["label"] for option in keys["options"] if option["type"] == "key"}
    parts = complete(workspace, {"text": "cluster: {gpu: h", "line": 1, "column": 17})
    [h100] = [option for option in parts["options"] if option["label"] == "h100-sxm"]
    assert (h100["type"], bool(h100["detail"]), bool(h100["info"])) == ("part", True, True)


def test_each_design_of_the_gallery_has_a_drawing(workspace: Workspace) -> None:
    """Of its network, of a rack, or a chart; and its copy is a plan that builds."""
    for design in gallery():
        assert engine.picture(workspace, {"name": design["name"]})["svg"].startswith("<svg"), design["name"]


def test_the_engine_needs_neither_network_nor_processes() -> None:
    """It loads nothing that a Python in a browser lacks, and NumPy only for a plan that needs it."""
    lacking = {"socket", "http", "urllib.request", "subprocess", "multiprocessing", "numpy"}
    program = "import sys, bomgen.serve.engine, bomgen.serve.form, bomgen.serve.engine, bomgen.serve.calls\n"
    program += f"print(*({lacking!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("wrong", "fixes"), [("gpus: 30", ["24", "32"]), ("servers: 0", ["1"]), ("servers: 4\nsite: {pue: 0.5}", ["1"])]
)
def test_a_value_out_of_range_has_those_that_would_be_right(wrong: str, fixes: list[str], workspace: Workspace) -> None:
    """A number that no whole servers have, and one below a limit, which the page says in its language."""
    [problem, *_] = engine.build(workspace, asked(text=PLAN.replace("servers: 4", wrong), language="zh"))["problems"]
    assert problem["fixes"] == fixes
    assert re.search("[\u4e00-\u9fff]", problem["message"] + problem["remedy"])


def test_drawings_name_devices_whose_links_stay_in_their_pods() -> None:
    """Rail groups of a SuperPOD: what is drawn in one pod is cabled to spines of this pod alone, by the cable list."""
    text = (Path(__file__).parents[2] / "plans" / "superpod-a100-140.yaml").read_text("utf-8")
    workspace = Workspace(Path(__file__).parents[2] / "plans")
    request = {"path": "superpod-a100-140.yaml", "text": text}
    network = engine.build(workspace, {**request, "tabs": ["network"]})["tabs"]["network"]
    pods = re.findall(r'data-device="compute leaf (\d+)"', network), re.findall(r"compute spine (\d+)\"", network)
    spines, leaves = ([int(number) for number in numbers] for numbers in reversed(pods))
    assert (leaves[:3], spines[:3]) == ([1, 9, 17], [1, 2, 3])
    found = engine.device(workspace, {**request, "device": "compute leaf 9"})
    assert found["name"] == "compute-leaf-09"
    above = {int(link["at"].rpartition(" ")[2]) for link in found["links"] if " spine " in link["at"]}
    assert above == {*range(1, 11)}
    below = [link for link in found["links"] if " server " in link["at"]]
    assert {link["rail"] for link in below} == {0}
    server = engine.device(workspace, {**request, "device": "server-021"})
    assert {"device": found["name"], "port": "nic1"}.items() <= server["links"][0].items()
    for absent in ("compute leaf 999", "power 9 1", "power 1"):
        with pytest.raises(Refused, match="no device"):
            engine.device(workspace, {**request, "device": absent})


def test_boxes_of_the_power_supply_and_nodes_of_a_torus_are_devices(workspace: Workspace) -> None:
    """A box leads to those above and below it; a node is the server of its place in the grid."""
    grid = "{topology: torus, link: 400G, torus: {dimensions: [2, 2]}}"
    text = PLAN.replace("{switch: qm9700}", grid)
    request = asked(text=f"{text}site: {{rack: {{power: 44 kW}}, layout: auto}}\n")
    tabs = engine.build(workspace, {**request, "tabs": ["network", "racks"]})["tabs"]
    nodes = re.findall(r'data-device="compute server (\d)"', tabs["network"])
    assert nodes == ["1", "2", "3", "4"]
    assert engine.device(workspace, {**request, "device": "compute server 3"})["name"] == "server-03"
    boxes = re.findall(r'data-device="(power [^"]+)"', tabs["racks"])
    found = [engine.device(workspace, {**request, "device": box}) for box in boxes]
    assert [[link["at"] for link in box["links"]] for box in found[:2]] == [[boxes[1]], [boxes[0], boxes[2]]]
    assert found[1]["facts"]["supplied"] == f"{found[0]['name']}: {found[0]['facts']['power']}"
