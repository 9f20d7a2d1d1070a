"""An installed bomgen finds its schemas, templates and data, from a wheel as from a checkout."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from installed import CHECKOUT, Installation, editable_in, installed

from bomgen.plan.schema import with_defaults

CARRIED = {"bomgen": "bomgen", "plans": "bomgen/plans", "schemas": "bomgen/schemas", "templates": "bomgen/templates"}
"""The folders that a wheel carries, and where in it they lie."""
SOURCES = "bomgen/serve/editor/"
"""What a file of the page is bundled from."""
COMMIT = "bomgen/data/commit.txt"
"""The commit of the checkout, which only a package has as a file."""
FOLDERS = """
import json, bomgen.core.resources
print(json.dumps([str(bomgen.core.resources.folder(name)) for name in ("schemas", "templates", "data")]))
"""


@pytest.fixture(scope="session", params=["wheel", pytest.param("editable", marks=pytest.mark.deep)])
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A fresh environment with bomgen installed from either wheel, and a plan in its folder."""
    kind = request.param
    wheel = request.getfixturevalue("wheel") if kind == "wheel" else editable_in(tmp_path_factory.mktemp("editable"))
    found = installed(kind, wheel, tmp_path_factory.mktemp(f"installed-{kind}"))
    (found.work / "llama65b.yaml").write_bytes((CHECKOUT / "plans" / "llama65b.yaml").read_bytes())
    return found


def _files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_carries_everything_and_nothing_else(wheel: Path) -> None:
    """A wheel holds every file of the package, the plans, the schemas and the templates, and no other file."""
    files = {f"{place}/{name}" for folder, place in CARRIED.items() for name in _files(CHECKOUT / folder)}
    carried = {name for name in files if not name.startswith(SOURCES)}
    assert carried < files
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    pages = {f"bomgen/docs/{page.name}" for page in (CHECKOUT / "docs").glob("*.md")}
    assert names == carried | pages | {COMMIT}


def test_resources_lie_where_they_should(installation: Installation) -> None:
    """A wheel uses what it carries, an editable install what lies in the checkout."""
    folders = [Path(place) for place in json.loads(installation.run("python", "-c", FOLDERS))]
    package = installation.packages / "bomgen"
    expected = {
        "wheel": [package / "schemas", package / "templates", package / "data"],
        "editable": [CHECKOUT / "schemas", CHECKOUT / "templates", CHECKOUT / "bomgen" / "data"],
    }
    assert folders == expected[installation.kind]


def test_schema_is_found(installation: Installation) -> None:
    """`bomgen schema plan` prints the plan schema of the checkout, with the topologies that there are."""
    printed = json.loads(installation.run("bomgen", "schema", "plan"))
    assert printed == with_defaults("plan")
    assert printed != json.loads((CHECKOUT / "schemas" / "plan.schema.json").read_text("utf-8"))


def test_catalogue_is_found(installation: Installation) -> None:
    """`bomgen catalog switch qm9700` shows the switch."""
    assert "QM9700" in installation.run("bomgen", "catalog", "switch", "qm9700")


def test_plan_is_built(installation: Installation) -> None:
    """`bomgen build` writes all its files outside the checkout, with the published numbers."""
    installation.run("bomgen", "build", "llama65b.yaml", "-o", "out")
    written = installation.work / "out" / "llama65b"
    assert _files(written) == {
        *("quote.md", "quote.html", "quote.xlsx", "report.md", "report.html", "report.xlsx", "bom.json", "bom.csv")
    }
    bom = json.loads((written / "bom.json").read_text("utf-8"))
    assert bom["cluster"]["gpus"] == 2048
    assert bom["fabrics"]["compute"]["transceivers"]["total"] == 4096


def test_plan_is_begun(installation: Installation) -> None:
    """`bomgen init` finds its starter and its designs, and what it writes can be built."""
    installation.run("bomgen", "init", "own")
    installation.run("bomgen", "init", "pod", "--from", "superpod-h100-4su")
    own, pod = installation.run("bomgen", "check", "own.yaml", "pod.yaml").splitlines()
    assert own.startswith("own.yaml: buildable")
    assert pod.startswith("pod.yaml: buildable, ")
    assert "superpod-b300-xdr-8su" in installation.run("bomgen", "init", "--list")


def test_template_is_filled_in(installation: Installation) -> None:
    """The process of a template of one's own finds the package, its data and Jinja2."""
    (installation.work / "order.txt.j2").write_text(
        "{{ bom.cluster.gpus | number }} {{ plan.title }}\n", encoding="utf-8"
    )
    installation.run("bomgen", "build", "llama65b.yaml", "-f", "json", "-o", "order", "--template", "order.txt.j2")
    written = (installation.work / "order" / "llama65b" / "order.txt").read_text("utf-8")
    assert written == "2,048 LLaMA-65B pre-training cluster\n"


@pytest.mark.parametrize("installation", ["wheel"], indirect=True)
def test_types_are_those_of_the_package(wheel: Path, installation: Installation) -> None:
    """A program that uses the library is checked against the types that come with it; `make types` has a checkout's."""
    assert "bomgen/py.typed" in zipfile.ZipFile(wheel).namelist()
    (installation.work / "program.py").write_text(
        "from bomgen import PlanErrors, Problem, Result, build, check\n\n"
        "result: Result = build('llama65b.yaml', set={'cluster.gpus': 2048})\n"
        "problems: list[Problem] = check('llama65b.yaml')\n"
        "lines: list[int] = [problem.line for problem in problems]\n"
        "half: float = result.number('cluster.gpus') / 2\n"
        "prices: list[str] = [row['unit_price'] for row in result.lines]\n",
        encoding="utf-8",
    )
    python = installation.programs / "python"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "program.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=installation.work,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_version_is_that_of_the_package(installation: Installation) -> None:
    """`bomgen --version` names the version in the package."""
    version = installation.run("python", "-c", "import bomgen; print(bomgen.__version__)").strip()
    printed = installation.run("bomgen", "--version")
    assert version in printed
    assert bool(re.search(r"\([0-9a-f]{12}\)", printed)) == (installation.kind == "wheel")
    assert installation.run("bomgen", "help", "glossary") == (CHECKOUT / "docs" / "glossary.md").read_text("utf-8")
