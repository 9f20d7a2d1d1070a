"""A topology and a format of the cable list, each one module that is added to a copy of the checkout: everything works.

`additions/full_mesh.py` is a topology with a kind of link of its own. No command may know it from anywhere else.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from depth import few
from installed import CHECKOUT

COPIED = ("bomgen", "schemas", "templates")
MESH = CHECKOUT / "tests" / "additions" / "full_mesh.py"
LEAVES, PEER_LINKS, SERVER_LINKS = 6, 15, 320
DOCUMENTS = ("md", "html", "xlsx", "json", "csv", "cdx", "svg", "install")
CABLE_LISTS = ("csv", "xlsx", "p2p", "labels", "parquet", "netbox", "dot", "infragraph", "ibnet", "topo", "ptm")


def plan(name: str = "mesh", servers: int = 40, switch: str = "qm9700", **link: Any) -> dict[str, Any]:
    """A plan with the added topology, on a floor."""
    compute = {"topology": "full-mesh", "switch": switch, "links": {"peer": {"rate": "400G"} | link}}
    return {
        "bomgen": 1,
        "name": name,
        "cluster": {"gpu": "h100-sxm", "servers": servers},
        "fabrics": {"compute": compute},
        "site": {"layout": "auto"},
    }


class Copy:
    """A copy of the checkout with added modules, and a folder with plans."""

    def __init__(self, place: Path, added: Mapping[str, str]) -> None:
        self.program, self.folder = place / "program", place / "plans"
        for name in COPIED:
            shutil.copytree(CHECKOUT / name, self.program / name, ignore=shutil.ignore_patterns("__pycache__"))
        (self.program / ".git").mkdir()
        self.folder.mkdir()
        for name, text in added.items():
            (self.program / "bomgen" / name).write_text(text, "utf-8")
        bare = {key: value for key, value in plan("bare").items() if key != "site"}
        for each in (bare, plan(), plan("small", 16), plan("panels", panels=True), plan("ethernet", switch="sn5600")):
            (self.folder / f"{each['name']}.yaml").write_text(json.dumps(each), "utf-8")

    def run(self, *arguments: str, code: int = 0) -> str:
        """What Python prints, run in the folder of the plans; it ends with `code`."""
        environment = {**os.environ, "PYTHONPATH": str(self.program)}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert code or "Traceback" not in done.stderr
        return done.stdout if not code else done.stderr

    def bomgen(self, *arguments: str, code: int = 0) -> str:
        """What bomgen prints."""
        return self.run("-m", "bomgen", *arguments, code=code)


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy with the added topology."""
    return Copy(tmp_path_factory.mktemp("mesh"), {"fabric/topologies/full_mesh.py": MESH.read_text("utf-8")})


def cables(mesh: Copy, name: str = "mesh") -> list[dict[str, str]]:
    """The cable list of a plan."""
    return list(csv.DictReader(io.StringIO(mesh.bomgen("wiring", f"{name}.yaml"))))


@pytest.fixture(scope="module")
def documents(mesh: Copy) -> list[Path]:
    """All documents of a plan with the added topology."""
    mesh.bomgen("build", "mesh.yaml", "-f", ",".join(DOCUMENTS), "-o", "documents")
    return [path for path in (mesh.folder / "documents").rglob("*") if path.is_file()]


@pytest.mark.parametrize("form", DOCUMENTS)
def test_every_document_is_written(form: str, documents: list[Path]) -> None:
    """Counts, names of the kind of link and drawings come from the module alone."""
    files = [path for path in documents if form in (*path.suffixes[0].split("."), path.stem)]
    assert files
    assert all(path.stat().st_size for path in files)
    written = max(files)
    if form == "json":
        compute = json.loads(written.read_text("utf-8"))["fabrics"]["compute"]
        assert (compute["switches"]["total"], compute["links"]["peer"]) == (LEAVES, PEER_LINKS)
        assert compute["links"] | {"spine-core": 0, "leaf-spine": 0, "server-leaf": SERVER_LINKS} == compute["links"]
        assert sum(compute["cables"]["peer"].values()) == PEER_LINKS
    elif form in ("md", "html", "csv", "install"):
        assert "peer" in written.read_text("utf-8")
    elif form == "svg":
        text = written.read_text("utf-8")
        assert f"{PEER_LINKS} links, 400 Gb/s" in text
        assert f"{LEAVES} × QM9700" in text


@pytest.mark.parametrize("form", few(CABLE_LISTS, 3))
def test_every_cable_list_is_written(form: str, mesh: Copy) -> None:
    """Every format takes the links of the added kind."""
    out = mesh.folder / f"cables.{form}"
    mesh.bomgen("wiring", "mesh.yaml", "-f", form, "-o", out.name)
    assert out.stat().st_size


@pytest.mark.parametrize("form", ["ibnet", "topo"])
def test_a_format_that_cannot_hold_it_refuses_clearly(form: str, mesh: Copy) -> None:
    """Ethernet switches are no InfiniBand subnet."""
    printed = mesh.bomgen("wiring", "ethernet.yaml", "-f", form, "-o", "refused", code=2)
    assert "Ethernet, no InfiniBand subnet" in printed
    assert not (mesh.folder / "refused").exists()


def test_all_formats_are_tried(mesh: Copy) -> None:
    """The lists of this test are those of the program; only the PDF, which needs WeasyPrint, is left out."""
    program = "from bomgen.output.registry import DOCUMENTS, WIRINGS; print(*DOCUMENTS.names, *WIRINGS.names)"
    assert sorted(mesh.run("-c", program).split()) == sorted((*DOCUMENTS, "pdf", *CABLE_LISTS))


def test_the_cables_are_those_that_the_module_connects(mesh: Copy) -> None:
    """One cable between every two leaves, with the module's code in its label and a length of the drawn floor."""
    own = [row for row in cables(mesh) if row["kind"] == "peer"]
    pairs = {frozenset((row["a_device"], row["b_device"])) for row in own}
    assert (len(own), len(pairs)) == (PEER_LINKS, PEER_LINKS)
    assert all(len(pair) == 2 for pair in pairs)
    assert [row["label"] for row in own] == [f"compute-PE-{number:03}" for number in range(1, PEER_LINKS + 1)]
    assert {float(row["length_m"]) for row in own} < {3.0, 5.0, 7.0, 10.0, 15.0, 20.0}
    over_panels = [row for row in cables(mesh, "panels") if row["kind"] == "peer"]
    assert sum(row["a_device"] != row["b_device"] for row in over_panels) >= PEER_LINKS


def test_the_plan_may_describe_its_links(mesh: Copy) -> None:
    """The schema has the kind, and a slip in its name is found."""
    links = json.loads(mesh.bomgen("schema", "plan"))["$defs"]["fabric"]["properties"]["links"]["properties"]
    assert links["peer"]["description"] == "Topology full-mesh: links between every two leaves."
    assert "topology full-mesh" in mesh.bomgen("catalog", "topology", "full-mesh")
    assert "buildable" in mesh.bomgen("check", "mesh.yaml")
    wrong = plan("wrong")
    wrong["fabrics"]["compute"]["links"] = {"peers": {"rate": "400G"}}
    (mesh.folder / "wrong.yaml").write_text(json.dumps(wrong), "utf-8")
    assert "did you mean 'peer'?" in mesh.bomgen("check", "wrong.yaml", code=1)


def test_it_is_explained_and_compared(mesh: Copy) -> None:
    """explain, diff, compare and lock take it like any other."""
    assert "peer = 15 links    leaves * (leaves - 1) // 2" in mesh.bomgen(
        "explain", "mesh.yaml", "fabrics.compute.links.peer"
    )
    assert mesh.bomgen("explain", "mesh.yaml").count("\n") > 100
    changed = mesh.bomgen("diff", "small.yaml", "mesh.yaml")
    assert "peer" in changed
    assert "+3 leaf" in changed
    assert "full-mesh" in mesh.bomgen("compare", "small.yaml", "mesh.yaml", "--all")
    mesh.bomgen("lock", "small.yaml")


@pytest.mark.parametrize(
    ("line", "changed", "said"),
    [
        (
            "least(attached // 2, half * half) * peer_gbps",
            "attached // 2 * peer_gbps",
            "bisection: the stated bisection bandwidth is 64,000 Gb/s, but the links between the halves carry "
            "4,400 Gb/s",
        ),
        (
            "pairs = list(combinations(range(int(plane.switches.value)), 2))",
            "pairs = list(combinations(range(int(plane.switches.value)), 2))[1:]",
            "connections: the topology connects 14 peer links but counts 15",
        ),
        ("link_kinds=(SERVER_LEAF, PEER)", "link_kinds=(SERVER_LEAF,)", "declares no peer links from leaf to leaf"),
    ],
)
def test_what_a_module_invents_is_found(line: str, changed: str, said: str, tmp_path: Path) -> None:
    """A bisection that the links do not carry, links that are not connected, a kind of link that is not declared."""
    text = MESH.read_text("utf-8")
    assert text.count(line) == 1
    copy = Copy(tmp_path, {"fabric/topologies/full_mesh.py": text.replace(line, changed)})
    if "declares" in said:
        (copy.program / "bomgen" / "fabric" / "topologies" / "other.py").write_text(
            text.replace("full-mesh", "other"), "utf-8"
        )
    assert said in copy.bomgen("check", "bare.yaml", code=1)


def test_a_format_of_the_cable_list_is_one_module(tmp_path: Path) -> None:
    """A format of `bomgen wiring` that is one file is known to the command, its help, the library and the docs."""
    page = (CHECKOUT / "docs" / "extending.md").read_text("utf-8")
    [module] = [
        each.partition("\n```\n")[0] for each in page.split('```python title="bomgen/output/wiring/jsonl.py"\n')[1:]
    ]
    copy = Copy(
        tmp_path,
        {"fabric/topologies/full_mesh.py": MESH.read_text("utf-8"), "output/wiring/jsonl.py": module + "\n"},
    )
    rows = [json.loads(line) for line in copy.bomgen("wiring", "mesh.yaml", "-f", "jsonl").splitlines()]
    assert (len(rows), sum(row["kind"] == "peer" for row in rows)) == (SERVER_LINKS + PEER_LINKS, PEER_LINKS)
    about = "An object a line and cable, for scripts."
    assert about in copy.bomgen("wiring", "--help")
    program = "import bomgen; print(*bomgen.build('mesh.yaml').write_wiring('cables.jsonl', 'jsonl'))"
    assert copy.run("-c", program) == "cables.jsonl\n"
    assert rows == [json.loads(line) for line in (copy.folder / "cables.jsonl").read_text("utf-8").splitlines()]
    folder = str(CHECKOUT / "tools" / "pages")
    program = f"import sys; sys.path.insert(0, {folder!r}); import commands; print(dict(commands.pages()))"
    assert about in copy.run("-c", program)
